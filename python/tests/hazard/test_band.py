"""Which periods the waves of a hazard run resolve, and that others are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from craton.errors import UserError
from craton.hazard.check import examine
from craton.hazard.config import load_config
from craton.hazard.curves.curves import HazardCurve
from craton.hazard.curves.disaggregation import disaggregate
from craton.hazard.motion.pulses import flat_pulse
from craton.hazard.pipeline.band import band_of, check_periods
from craton.hazard.report import pictures
from hazard_config import write_config
from hazard_curves import forecast_of
from hazard_pipeline import assert_refused, craton

EXAMPLE = Path(__file__).parents[3] / "examples" / "hazard" / "basin.toml"
FLAT = ("sigma_s = 1.0", "highest_hz = 0.5")


def spectrum(times: np.ndarray, values: np.ndarray, frequency_hz: float) -> float:
    """Of a series, as a part of that at frequency 0, by the integral itself."""
    turns = np.exp(-2j * np.pi * frequency_hz * times)
    return float(abs((values * turns).sum()) / values.sum())


def test_the_band_begins_where_the_pulse_leaves_95_percent(tmp_path):
    flat = band_of(load_config(write_config(tmp_path, FLAT)))
    assert spectrum(*flat_pulse(0.5), 1 / flat.shortest_s) == pytest.approx(0.95, abs=2e-3)
    times = np.arange(-8, 8, 0.01)
    gaussian = band_of(load_config(write_config(tmp_path, ("sigma_s = 1.0", "sigma_s = 0.4"))))
    assert spectrum(times, np.exp(-0.5 * (times / 0.4) ** 2), 1 / gaussian.shortest_s) == pytest.approx(0.95, abs=1e-4)
    for band in (flat, gaussian):
        assert band.why_not(1.001 * band.shortest_s) == band.why_not(0.999 * band.longest_s) == ""
        assert "the pulse leaves 9" in band.why_not(0.98 * band.shortest_s)
    # the middle of the pulse is where seismograms begin
    assert flat.longest_s == pytest.approx(20.0 - flat_pulse(0.5)[0][-1] / 2)
    assert gaussian.longest_s == pytest.approx(20.0 - 6 * 0.4, abs=1e-3)
    assert flat.why_not(1.001 * flat.longest_s) == f"seismograms last {flat.longest_s:.3g} s"


def test_the_band_begins_where_the_grid_is_fine_enough(tmp_path):
    """Where nobody asks how many cells a wave of the pulse's highest frequency has."""
    slow = ("[green]", '[media]\nkind = "constant"\nvp = 1500.0\nvs = 800.0\nrho = 2000.0\n\n[green]')
    path = write_config(tmp_path, FLAT, slow, ("points_per_wavelength = 3.0", "points_per_wavelength = 0.0"))
    band = band_of(load_config(path))
    assert band.shortest_s == pytest.approx(5 * 1000.0 / 800.0)
    assert band.why_not(5.0) == "its slowest S wave is 4 cells long" and band.why_not(6.3) == ""


def test_periods_outside_the_band_are_refused(tmp_path):
    unwanted = ("unresolved_periods_s = [3.0, 5.0]\n", "")
    path = write_config(tmp_path, FLAT, unwanted)
    done = craton("check", path, cwd=tmp_path)
    assert_refused(done, "[measures] periods_s: the waves do not resolve 3 s", "unresolved_periods_s = [3]")
    assert_refused(craton("run", path, cwd=tmp_path), "the waves do not resolve 3 s, because the pulse leaves 7")
    assert not (tmp_path / "small-run").exists()
    config = load_config(path)
    wanted = examine(load_config(write_config(tmp_path, FLAT)))
    assert list(wanted.unresolved) == [3.0] and wanted.shortest_resolved_s < 5.0
    labels = [cell for column in wanted.table().columns for cell in column.cells]
    assert any(str(cell).startswith("3 s: the pulse leaves") for cell in labels)
    check_periods(replace(config, measures=replace(config.measures, periods_s=(5.0, 8.0))))
    with pytest.raises(UserError, match=r"resolve 40 s, because seismograms last"):
        check_periods(replace(config, measures=replace(config.measures, periods_s=(5.0, 40.0))))


def test_the_example_shows_what_its_waves_resolve():
    assert examine(load_config(EXAMPLE)).unresolved == {}


def unresolved(figure) -> list[str]:
    return [artist.get_hatch() for artist in figure.findobj(lambda one: one.get_gid() == "unresolved")]


def test_only_what_is_not_resolved_is_hatched():
    levels = np.array([0.1, 0.2, 0.4])
    curves = [HazardCurve("A", "SA(3.0)", 50.0, levels, np.array([0.3, 0.2, 0.1]), note) for note in ("", "so")]
    assert unresolved(pictures.curves_figure(curves[:1])) == []
    figure = pictures.curves_figure(curves)
    assert unresolved(figure) == ["////"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "SA(3.0)",
        "SA(3.0): not resolved, so",
    ]


@pytest.mark.parametrize("note", ["", "the pulse leaves 11 % of it"])
def test_a_disaggregation_is_hatched_with_its_curve(note):
    found = replace(disaggregate(forecast_of(0.01, 0.02), [1.0, 0.5], [1e4, 2e4], 0.1), note=note)
    figure = pictures.disaggregation_figure(found)
    assert unresolved(figure) == ["//"] * bool(note)
    assert any(note in text.get_text() for text in figure.texts) or not note
