"""Noise that is correlated in time: what is added, how it is weighed, and what a run makes of it."""

import dataclasses

import h5py
import numpy as np
import pytest
import scipy.linalg
from craton import UserError

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start as inversion
from craton.tomography.data.data_file import load_observations
from craton.tomography.data.noise import add_noise, independent_part, neighbour_correlation
from craton.tomography.folder import RunFolder

CORRELATION_S = 45.0


@pytest.fixture(scope="module")
def run(small_config, tmp_path_factory):
    config = small_config.replaced("run", directory=str(tmp_path_factory.mktemp("correlated") / "run"))
    config = config.replaced("data", correlation_s=CORRELATION_S).replaced("inversion", max_iterations=2)
    record = inversion.run(config, MPI.COMM_SELF, report=False)
    folder = RunFolder(config.run.directory)
    return record, folder, load_observations(folder.data)


def test_the_file_holds_the_correlation(run):
    found = run[2]
    np.testing.assert_array_equal(found.correlation_s, CORRELATION_S)
    np.testing.assert_allclose(found.correlation, np.exp(-15.0 / CORRELATION_S))


def test_independent_samples_have_none(small_config):
    assert small_config.data.correlation_s == 0.0
    np.testing.assert_array_equal(neighbour_correlation(np.array([0.0, 10.0]), 10.0), [0.0, np.exp(-1.0)])


def test_whitening_is_a_root_of_the_inverse_covariance(run):
    """Against the covariance itself, sigma^2 rho^|t - u| within a path."""
    found = run[2]
    traces = np.random.default_rng(1).standard_normal(len(found.observed))
    white, offsets = found.whitened(traces), found.paths.offsets
    for path in (0, 7):
        own = slice(offsets[path], offsets[path + 1])
        rho, count = np.exp(-15.0 / CORRELATION_S), found.paths.samples[path]
        covariance = found.sigma[path] ** 2 * scipy.linalg.toeplitz(rho ** np.arange(count))
        weighed = traces[own] @ np.linalg.solve(covariance, traces[own])
        assert white[own] @ white[own] == pytest.approx(weighed, rel=1e-9)


def test_noise_has_the_correlation_and_the_deviation(run):
    found = run[2]
    paths, ones = found.paths, np.ones(len(found.paths))
    noise = add_noise(paths, np.zeros(paths.offsets[-1]), ones, 5, 0.8 * ones)
    inside = np.ones(len(noise) - 1, bool)
    inside[paths.offsets[1:-1] - 1] = False  # pairs of one path only
    assert np.std(noise) == pytest.approx(1.0, rel=0.03)
    for lag in (1, 3):
        pairs = [
            (noise[low : high - lag], noise[low + lag : high])
            for low, high in zip(paths.offsets[:-1], paths.offsets[1:], strict=True)
        ]
        one, other = (np.concatenate(part) for part in zip(*pairs, strict=True))
        assert np.mean(one * other) == pytest.approx(0.8**lag, abs=0.04)
    assert np.array_equal(
        add_noise(paths, np.zeros(len(noise)), ones, 5), add_noise(paths, np.zeros(len(noise)), ones, 5, 0 * ones)
    )


def test_misfits_of_the_run_are_those_of_whitened_residuals(run):
    record, folder, found = run
    model = folder.read_model()
    for name, entry in (("initial", record.iterations[0]), ("final", record.iterations[-1])):
        white = found.whitened(found.observed - model[f"waveforms/{name}"])
        assert entry.chi_data == pytest.approx(
            0.5 * white @ white, rel=2e-4
        )  # the waveforms are kept in single precision
    assert 2.0 * record.iterations[-1].chi_data / record.samples == pytest.approx(1.0, abs=0.15)


def test_what_hessian_h5_says_of_the_misfit(run):
    record, folder, _ = run
    with h5py.File(folder.hessian) as file:
        at = int(file.attrs["linearised_at_iteration"])
        assert file.attrs["chi_data"] == pytest.approx(record.iterations[at].chi_data)
        assert file.attrs["samples"] == record.samples


def test_a_file_may_bring_its_own_correlation(small_config, run, tmp_path):
    """correlation_s of the file goes before the configuration's, which is for files without."""
    config = small_config.replaced("data", kind="file", file=str(run[1].data), correlation_s=5.0)
    config = config.replaced("run", directory=str(tmp_path / "r")).replaced("inversion", max_iterations=1)
    record = inversion.run(config, MPI.COMM_SELF, report=False)
    assert record.iterations[0].chi_data == pytest.approx(run[0].iterations[0].chi_data, rel=1e-6)
    bare = tmp_path / "bare.h5"
    bare.write_bytes(run[1].data.read_bytes())
    with h5py.File(bare, "a") as file:
        del file["correlation_s"]
    config = config.replaced("data", file=str(bare)).replaced("run", directory=str(tmp_path / "s"))
    inversion.run(config, MPI.COMM_SELF, report=False)
    np.testing.assert_array_equal(load_observations(tmp_path / "s" / "data.h5").correlation_s, 5.0)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (np.full(200, -1.0), r"path 0 .*correlation_s = -1.0; allowed: 0 to 10000 seconds"),
        (np.full(200, np.nan), r"correlation_s = nan; allowed: 0 to 10000"),
        (np.full(3, 1.0), r"correlation_s has 3 entries"),
        (np.array([b"a"] * 200), r"correlation_s is .*allowed: numbers"),
    ],
)
def test_damaged_correlations_are_named(run, tmp_path, values, complaint):
    copy = tmp_path / "data.h5"
    copy.write_bytes(run[1].data.read_bytes())
    with h5py.File(copy, "a") as file:
        del file["correlation_s"]
        file["correlation_s"] = values
    with pytest.raises(UserError, match=complaint):
        load_observations(copy)


def test_a_correlation_out_of_range_is_refused(small_config):
    with pytest.raises(UserError, match=r"\[data\] correlation_s = -1.*allowed: a number in \[0, 10000\] s"):
        small_config.replaced("data", correlation_s=-1.0)
    assert dataclasses.replace(small_config.data, correlation_s=3.0).correlation_s == 3.0


# ---------------------------------------------------------------------------------------------------- noise of the band

BAND = (400.0, 250.0, 100.0, 80.0)


def test_noise_of_the_band_is_in_the_band(run):
    """Deviation 1, and spectra of its windows: next to nothing where the filter lets nothing through."""
    paths = run[2].paths
    noise = add_noise(paths, np.zeros(paths.offsets[-1]), np.ones(len(paths)), 5, band=BAND)
    assert np.std(noise) == pytest.approx(1.0, rel=0.03)
    interval_s, within, beyond = paths.sample_interval_s, 0.0, 0.0
    for first, last in zip(paths.offsets[:-1], paths.offsets[1:], strict=True):
        power = np.abs(np.fft.rfft(noise[first:last] * np.hanning(last - first))) ** 2
        frequency_hz = np.fft.rfftfreq(last - first, interval_s)
        outside = (frequency_hz < 0.6 / BAND[0]) | (frequency_hz > 1.2 / BAND[3])
        within, beyond = within + power[~outside].sum(), beyond + power[outside].sum()
    assert beyond < 2e-3 * within
    again = add_noise(paths, np.zeros(paths.offsets[-1]), np.ones(len(paths)), 5, band=BAND)
    np.testing.assert_array_equal(noise, again)


def test_independent_samples_of_a_band():
    """A gain of 1 over a bandwidth B leaves 2 B dt; cosine tapers count 3/8 in square."""
    f1, f2, f3, f4 = (1.0 / period_s for period_s in BAND)
    expected = 2.0 * 10.0 * ((f3 - f2) + 3.0 / 8.0 * (f2 - f1 + f4 - f3))
    assert independent_part(BAND, 10.0) == pytest.approx(expected, rel=1e-3)
    assert independent_part(BAND, 1000.0) == 1.0


def test_noise_of_the_band_counts_once(small_config, tmp_path):
    """The misfit of the truth, and of what a run ends with, is half the independent samples."""
    config = small_config.replaced("run", directory=str(tmp_path / "run")).replaced("data", noise_in_band=True)
    record = inversion.run(config, MPI.COMM_SELF, report=False)
    data = load_observations(RunFolder(config.run.directory).data)
    part = independent_part(config.data.filter_periods_s, config.data.sample_interval_s)
    assert data.attributes["independent_part"] == pytest.approx(part) and data.correlation is None
    assert record.independent_samples == data.counted_samples == round(part * record.samples)
    assert record.judgement is not None and record.judgement.fit == pytest.approx(1.0, abs=0.1)
    same = inversion.run(
        small_config.replaced("run", directory=str(tmp_path / "same")).replaced("inversion", max_iterations=1),
        MPI.COMM_SELF, report=False,
    )  # fmt: skip
    white = load_observations(RunFolder(tmp_path / "same").data)
    np.testing.assert_allclose(data.sigma, white.sigma / np.sqrt(part))
    assert same.independent_samples == same.samples
    # its own data.h5, read as a file, are not counted down twice
    again = config.replaced("run", directory=str(tmp_path / "again"))
    again = again.replaced("data", kind="file", file=str(RunFolder(config.run.directory).data))
    again = dataclasses.replace(again, target=None).replaced("inversion", max_iterations=1)
    found = inversion.run(again, MPI.COMM_SELF, report=False)
    assert found.independent_samples == record.independent_samples
    assert found.iterations[0].chi_data == pytest.approx(record.iterations[0].chi_data, rel=1e-9)


def test_one_of_two_kinds_of_correlation(small_config):
    with pytest.raises(
        UserError, match=r"\[data\] correlation_s = 30 with noise_in_band = true; allowed: one of the two"
    ):
        small_config.replaced("data", correlation_s=30.0, noise_in_band=True)
