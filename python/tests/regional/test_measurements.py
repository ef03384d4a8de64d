"""Travel times and amplitudes of windows: what is measured of shifted and enlarged waves, and derivatives by samples."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

from craton.regional.config import load_config
from craton.regional.measurements import Misfit
from craton.regional.observations import Observations, make_data, noise_of
from craton.regional.study import Study
from regional_config import written

KINDS = ("waveform", "cross_correlation", "gsdf")


def misfit(tmp_path, kind: str, *more: str) -> Misfit:
    """Of one window of a study; its data are a wave packet in the middle of the window."""
    text = "\n".join(["noise = 0.05", f'measure = "{kind}"', *more])
    study = Study(load_config(written(tmp_path, ("noise = 0.05", text))))
    whole = np.concatenate([packet(one.window.times_s, one.window) for one in study.pairings])
    return Misfit(study, make_data(study, whole, add_noise=False))


def packet(times_s: np.ndarray, window, shift_s: float = 0.0, size: float = 1.0) -> np.ndarray:
    """Of the filter's frequencies, quiet at the window's ends."""
    at = times_s - 0.5 * (window.first_s + window.last_s) - shift_s
    return size * np.exp(-((at / 3.0) ** 2)) * np.cos(2 * np.pi * 0.17 * at + 0.4)


def of_window(found: Misfit, shift_s: float, size: float) -> np.ndarray:
    """Samples of all windows: as the data, the first one shifted and enlarged."""
    one = found.study.pairings[0]
    u = found.data.observed.copy()
    u[one.samples] = packet(one.window.times_s, one.window, shift_s, size)
    return u


@pytest.mark.parametrize("kind", ["cross_correlation", "gsdf"])
@pytest.mark.parametrize("shift_s, size", [(0.3, 1.0), (-0.5, 1.4), (0.0, 0.7), (1.2, 1.1)])
def test_a_shifted_wave_is_measured(kind, shift_s, size, tmp_path):
    found = misfit(tmp_path, kind, "measured_hz = [0.14, 0.17, 0.2]" if kind == "gsdf" else "")
    one = found.study.pairings[0]
    u = of_window(found, -shift_s, 1 / size)  # the data arrive shift_s later than this, and are larger
    d = found.data.observed[one.samples]
    rows = found._rows(one.window, u[one.samples])
    missed = found.residual_of(one, u) * found._sigma(one, rows)
    print(missed)
    assert len(missed) == found.count(one) and len(d) == rows.shape[1]
    assert np.allclose(missed[0::2], shift_s, atol=0.07) and np.allclose(missed[1::2], np.log(size), atol=0.07)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_small_changes(kind, tmp_path):
    found = misfit(tmp_path, kind)
    one, random = found.study.pairings[0], np.random.default_rng(3)
    u = found.data.observed.copy()
    change = np.zeros_like(u)
    change[one.samples] = noise_of(random, found.study, one.window) * np.abs(u[one.samples]).max()
    rows = found.rows_of(one, u)
    by_rows = rows @ change[one.samples]
    # prediction less data: of a prediction that is the data and a little of the change
    step = 1e-4
    differences = -(found.residual_of(one, u + step * change) - found.residual_of(one, u - step * change)) / (2 * step)
    assert np.allclose(differences, by_rows, rtol=0.02, atol=0.02 * np.abs(by_rows).max())


@pytest.mark.parametrize("kind", KINDS)
def test_noise_makes_residuals_of_one(kind, tmp_path):
    found = misfit(tmp_path, kind)
    quiet, sums = found.data.observed, []
    for seed in range(40):
        random = np.random.default_rng(seed)
        noise = [
            found.data.sigma[one.first] * noise_of(random, found.study, one.window) for one in found.study.pairings
        ]
        noisy = Misfit(found.study, Observations(quiet + np.concatenate(noise), found.data.sigma))
        sums.append(2 * noisy.chi(quiet) / noisy.size)
    print(kind, np.mean(sums))
    assert 0.85 < np.mean(sums) < 1.15


def test_floors_widen_what_is_expected(tmp_path):
    sharp, wide = (
        misfit(tmp_path, "cross_correlation", f"delay_floor_s = {floor}", f"amplitude_floor = {floor}")
        for floor in (0.0, 5.0)
    )
    one, u = sharp.study.pairings[0], of_window(sharp, 0.4, 1.0)
    assert np.all(np.abs(wide.residual_of(one, u)) < 0.2 * np.abs(sharp.residual_of(one, u)) + 0.1)
