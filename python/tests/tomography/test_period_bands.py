"""Misfits by period: what a band holds, what noise leaves there, and which bands are told at the end of a run."""

from __future__ import annotations

import dataclasses
import json

import h5py
import numpy as np
import pytest
from craton.tomography.data.data_file import load_observations
from craton.tomography.data.noise import add_noise, independent_part
from craton.tomography.data.observations import Observations
from craton.tomography.folder import Judgement, RunFolder
from craton.tomography.inversion.context import RunContext
from craton.tomography.inversion.judgement import judge, worse_periods
from craton.tomography.inversion.period_bands import (
    bands_of_periods,
    expected_squares,
    spectrum_of_piece,
    squares_by_band,
)
from craton.tomography.report.page import verdict
from craton.tomography.results import read_results
from wave_packets import FILTER_S, HALF_PERIOD_S, SAMPLES, STEP_S, observations, table, waves

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start

EDGES_S = np.geomspace(400.0, 80.0, 4)


def with_noise(part: float | None = None, correlation_s: float | None = None) -> Observations:
    """Waves of which half of the windows are an odd number of samples long, and noise as C_d has it."""
    paths = table()
    paths = dataclasses.replace(paths, samples=SAMPLES - np.arange(len(paths)) % 2)
    sigma, count = np.full(len(paths), 0.1), len(paths)
    correlation = None if correlation_s is None else np.full(count, np.exp(-STEP_S / correlation_s))
    noise = add_noise(paths, np.zeros(paths.offsets[-1]), sigma, 5, correlation, None if part is None else FILTER_S)
    attributes = {"kind": "synthetic"} if part is None else {"kind": "synthetic", "independent_part": part}
    lengths_s = None if correlation_s is None else np.full(count, correlation_s)
    return Observations(paths, noise, sigma if part is None else sigma / np.sqrt(part), attributes, lengths_s)


@pytest.mark.parametrize("correlation_s", [None, 30.0])
def test_bands_add_up_to_the_window(correlation_s):
    """Parseval: squares of all bands are the squared residuals, of windows of even and odd length."""
    data = with_noise(correlation_s=correlation_s)
    nothing = np.zeros(len(data.observed))
    found = squares_by_band(data, nothing, EDGES_S)
    assert found.shape == (len(data.paths), 5) and np.all(found > 0.0)
    np.testing.assert_allclose(found.sum(axis=1), data.white_squares(nothing), rtol=1e-12)
    assert expected_squares(data, EDGES_S, FILTER_S).sum() == pytest.approx(data.independent.sum(), rel=1e-12)


def test_a_wave_is_in_the_band_of_its_period():
    data = with_noise()
    times = STEP_S * np.arange(SAMPLES)
    waves_of = np.concatenate([np.cos(2 * np.pi * times[:each] / 200.0) for each in data.paths.samples])
    found = squares_by_band(dataclasses.replace(data, observed=waves_of), 0.0 * waves_of, EDGES_S).sum(axis=0)
    assert EDGES_S[2] < 200.0 < EDGES_S[1] and found[2] > 0.98 * found.sum()


def test_noise_of_the_band_is_expected_as_it_is():
    """Against 3000 pieces of noise, with what their ends bring to frequencies that the filter lets nothing through of."""
    samples, part = 60, independent_part(FILTER_S, STEP_S)
    paths = dataclasses.replace(table().rows(np.zeros(3000, np.int64)), samples=np.full(3000, samples))
    noise = add_noise(paths, np.zeros(3000 * samples), np.ones(3000), 7, band=FILTER_S)
    data = Observations(paths, noise, np.full(3000, 1.0 / np.sqrt(part)), {"independent_part": part})
    found = squares_by_band(data, 0.0 * noise, EDGES_S).sum(axis=0)
    expected = expected_squares(data, EDGES_S, FILTER_S)
    assert expected.sum() == pytest.approx(data.independent.sum(), rel=1e-9)
    np.testing.assert_allclose(found, expected, rtol=0.05)


def test_the_spectrum_of_a_piece_is_its_covariance_s():
    """Diagonal of F C F^H / n for a covariance that is written out."""
    correlations = 0.7 ** np.arange(9.0)
    covariance = correlations[np.abs(np.subtract.outer(np.arange(9), np.arange(9)))]
    transform = np.fft.fft(np.eye(9))[:5]
    expected = np.einsum("ij,jk,ik->i", transform, covariance, transform.conj()).real / 9
    np.testing.assert_allclose(spectrum_of_piece(correlations), expected, rtol=1e-12)


@pytest.mark.parametrize("noise", [{}, {"correlation_s": 30.0}, {"part": independent_part(FILTER_S, STEP_S)}])
def test_noise_alone_tells_no_band(noise):
    data = with_noise(**noise)
    bands = bands_of_periods(data, np.zeros(len(data.observed)), FILTER_S)
    assert len(bands) == 3 and (bands[0].longest_s, bands[-1].shortest_s) == pytest.approx((400.0, 80.0))
    for band in bands:
        assert abs(band.misfit - 1.0) < 4.0 * np.sqrt(2.0 / band.samples)
    assert not worse_periods(bands)


def in_band(paths, longest_s, shortest_s, deviation):
    """Noise of these periods alone, whose spectrum there is that of white noise of such a deviation per window."""
    found, random = np.empty(paths.offsets[-1]), np.random.default_rng(11)
    for window, (first, last) in enumerate(zip(paths.offsets[:-1], paths.offsets[1:], strict=True)):
        white = np.fft.rfft(deviation[window] * random.standard_normal(last - first))
        frequency_hz = np.fft.rfftfreq(last - first, paths.sample_interval_s)
        white[(frequency_hz < 1.0 / longest_s) | (frequency_hz >= 1.0 / shortest_s)] = 0.0
        found[first:last] = np.fft.irfft(white, last - first)
    return found


@pytest.mark.parametrize("band", [0, 1, 2])
def test_noise_three_times_as_strong_in_one_band_is_told(band):
    data = observations(waves())
    more = in_band(data.paths, EDGES_S[band], EDGES_S[band + 1], np.sqrt(8.0) * data.sigma)
    found = judge(
        dataclasses.replace(data, observed=data.observed + more), waves().ravel(), 20.0, 100, HALF_PERIOD_S, FILTER_S
    )
    [(told, others)] = worse_periods(found.periods)
    assert told is found.periods[band] and told.misfit == pytest.approx(9.0, rel=0.25) and others < 1.5
    [line] = [line for line in found.warnings if line.startswith("periods of")]
    assert line.startswith(f"periods of {told.text} fit worse: 2 chi/N {told.misfit:.2g} beside ")


def test_few_samples_make_fewer_bands_or_none():
    data = observations(waves())
    one = data.part(0, 1)
    counts = [len(bands_of_periods(each, np.zeros(len(each.observed)), FILTER_S)) for each in (data, one)]
    assert counts == [3, 1]  # three frequencies, six samples, between 400 and 234 s in a window of 1200 s
    short = dataclasses.replace(one.paths, samples=np.full(1, 3))
    assert not bands_of_periods(Observations(short, np.ones(3), one.sigma, {}), np.zeros(3), FILTER_S)


@pytest.fixture(scope="module")
def right(small_config, tmp_path_factory):
    """A run whose data are by its own theory, with noise of the filter's band."""
    config = small_config.replaced("run", directory=str(tmp_path_factory.mktemp("right") / "run"))
    config = config.replaced("data", noise_in_band=True, noise=0.1).replaced("theory", check_windows=0)
    return config, start.run(config, MPI.COMM_SELF, report=False)


def test_a_run_of_the_right_theory_tells_no_band(right):
    config, record = right
    found = record.judgement
    assert len(found.periods) == 3 and not found.warnings
    for band in found.periods:
        assert band.misfit < 1.0 + 4.0 * np.sqrt(2.0 / band.samples)
    kept = json.loads((RunFolder(config.run.directory).record).read_text())["judgement"]["periods"]
    assert [band["misfit"] for band in kept] == [band.misfit for band in found.periods]
    read = RunFolder(config.run.directory).read_record().judgement
    assert isinstance(read, Judgement) and read.periods == found.periods


def test_a_run_tells_the_band_that_an_error_is_in(right, tmp_path, monkeypatch):
    """On the console, in record.json and at the head of the report."""
    config, record = right
    band = record.judgement.periods[1]
    file = tmp_path / "data.h5"
    file.write_bytes(RunFolder(config.run.directory).data.read_bytes())
    known = load_observations(file)
    with h5py.File(file, "r+") as held:
        held["observed"][:] += in_band(known.paths, band.longest_s, band.shortest_s, np.sqrt(8.0) * known.sigma)
    spoilt = config.replaced("data", kind="file", file=str(file)).replaced("run", directory=str(tmp_path / "run"))
    lines = []
    monkeypatch.setattr(RunContext, "say", lambda _, text: lines.append(text))
    found = start.run(dataclasses.replace(spoilt, target=None), MPI.COMM_SELF, report=False).judgement
    told = [each.text for each, _ in worse_periods(found.periods)]
    assert told == [band.text]
    words = f"periods of {band.text} fit worse: 2 chi/N "
    folder = RunFolder(tmp_path / "run")
    assert any(f"warning: {words}" in line for line in lines)
    assert any(line.startswith(words) for line in json.loads(folder.record.read_text())["judgement"]["warnings"])
    head = verdict(read_results(folder))
    assert head.strong == "Read with care." and f"P{words[1:]}" in head.text and "2χ/N by period: " in head.text
