"""A small inversion from end to end, its data file, its run folder, and the second solution under another prior."""

import dataclasses
import json
import shutil

import h5py
import numpy as np
import pytest
from craton import UserError

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import inversion  # noqa: E402
from craton.tomography.catalogue import read_events, read_stations  # noqa: E402
from craton.tomography.config import PriorConfig  # noqa: E402
from craton.tomography.data import add_noise, build_paths, load_observations, noise_deviation, share  # noqa: E402
from craton.tomography.modes import cache_file, mode_catalogue  # noqa: E402
from craton.tomography.prior import make_prior  # noqa: E402
from craton.tomography.run_folder import RunFolder, on_root, replaced  # noqa: E402
from craton.tomography.solve import solve  # noqa: E402


@pytest.fixture(scope="module")
def record(small_config):
    return inversion.run(small_config, MPI.COMM_SELF, overwrite=True, report=False)


@pytest.fixture(scope="module")
def folder(small_config, record):
    return RunFolder(small_config.run.directory)


@pytest.fixture(scope="module")
def paths(small_config):
    events, stations = read_events(small_config.events.file), read_stations(small_config.stations.file)
    return build_paths(small_config, events, stations)


# ------------------------------------------------------------------------------------------------------------ the run


def test_misfit_falls_and_data_are_explained(record):
    chi = [entry.chi for entry in record.iterations]
    assert all(later < earlier for earlier, later in zip(chi, chi[1:], strict=False))
    assert record.iterations[-1].variance_reduction > 0.9
    assert record.iterations[0].residual_reduction == 0.0
    assert record.finished and record.stopped_because


def test_target_is_found_where_paths_are_many(record):
    assert record.correlation.overall > 0.8


def test_run_folder_is_complete(folder, record):
    assert folder.read_record() == record
    model = folder.read_model()
    assert model["models"].shape == (len(record.iterations), record.lateral_knots * record.radial_knots)
    assert model["waveforms/final"].shape == (record.samples,)
    assert not list(folder.path.glob("*.new"))
    json.loads(folder.record.read_text())


def test_step_solves_equation_2(small_config, folder, record):
    """The last step again by dense linear algebra on what hessian.h5 holds."""
    with h5py.File(folder.hessian) as file:
        upper = np.triu(file["hessian"][:].astype(np.float64))
        gradient, model = file["gradient"][:], file["model"][:]
        at = int(file.attrs["linearised_at_iteration"])
    hessian = upper + upper.T - np.diag(np.diag(upper))
    prior = make_prior(inversion.make_basis(small_config, _earth(small_config)), small_config.prior)
    precision = np.kron(prior.lateral_inverse, prior.radial_inverse)
    step = np.linalg.solve(hessian + precision, gradient - precision @ model)
    models = folder.read_model()["models"]
    if at + 1 < len(models):
        taken = models[at + 1] - models[at]
        expected = record.iterations[at + 1].step_length * step
        np.testing.assert_allclose(taken, expected, atol=1e-6 * np.abs(expected).max())


def _earth(config):
    from craton._craton import EarthModel

    return EarthModel.by_name(config.earth.model)


def test_results_are_not_overwritten_by_accident(small_config, record):
    with pytest.raises(UserError, match="is there already"):
        inversion.run(small_config, MPI.COMM_SELF, report=False)


# -------------------------------------------------------------------------------------------------------- other prior


def test_solve_under_the_same_prior_finds_the_same_model(small_config, folder, record, tmp_path):
    summary = solve(folder.hessian, small_config.prior, tmp_path / "again", MPI.COMM_SELF)
    models = folder.read_model()["models"]
    again = RunFolder(tmp_path / "again").read_model()["models"][-1]
    if record.iterations[-1].step_length == 1.0 and summary.linearised_at_iteration == len(models) - 2:
        np.testing.assert_allclose(again, models[-1], atol=1e-6 * np.abs(models[-1]).max())
        assert summary.correlation_with_run == pytest.approx(1.0, abs=1e-6)
    assert (tmp_path / "again" / "maps.png").stat().st_size > 10000


def test_a_weaker_prior_gives_a_weaker_model(small_config, folder, tmp_path):
    weaker = dataclasses.replace(small_config.prior, strength=0.002)
    summary = solve(folder.hessian, weaker, tmp_path / "weaker", MPI.COMM_SELF)
    assert summary.rms_model < summary.rms_run_model


def test_solve_refuses_what_is_not_a_runs_hessian(folder, tmp_path):
    with pytest.raises(UserError, match="no such file"):
        solve(tmp_path / "hessian.h5", PriorConfig(), tmp_path / "out", MPI.COMM_SELF)
    with pytest.raises(UserError, match="is missing; allowed: hessian.h5 of a run"):
        solve(folder.model, PriorConfig(), tmp_path / "out", MPI.COMM_SELF)
    with pytest.raises(UserError, match="holds the run itself"):
        solve(folder.hessian, PriorConfig(), folder.path, MPI.COMM_SELF)


# --------------------------------------------------------------------------------------------------------------- data


def test_paths_keep_the_limits(small_config, paths):
    distance = paths.distance_deg()
    assert len(paths) == small_config.paths.maximum
    assert distance.min() >= small_config.paths.min_distance_deg
    assert distance.max() <= small_config.paths.max_distance_deg
    end_s = paths.t_first_s + paths.sample_interval_s * (paths.samples - 1)
    assert np.all(end_s >= np.radians(distance) * 6371.0 / small_config.data.slowest_km_s)


def test_no_path_left_is_the_users_fault(small_config, paths):
    narrow = small_config.replaced("paths", min_distance_deg=179.9, max_distance_deg=180.0)
    with pytest.raises(UserError, match=r"\[paths\] min_distance_deg = 179.9"):
        build_paths(narrow, paths.events, paths.stations)


def test_noise_is_as_strong_as_asked_and_does_not_depend_on_the_order(paths):
    traces = np.ones(paths.offsets[-1])
    sigma = noise_deviation(paths, traces, 0.05)
    np.testing.assert_allclose(sigma, 0.05)
    noise = add_noise(paths, traces, sigma, seed=7) - traces
    assert np.std(noise) == pytest.approx(0.05, rel=0.02)
    first = np.random.default_rng([7, 2, 0]).standard_normal(paths.samples[0])
    np.testing.assert_allclose(noise[: paths.samples[0]], 0.05 * first, atol=1e-15)


def test_a_nodal_trace_gets_no_undue_weight(paths):
    traces = np.ones(paths.offsets[-1])
    traces[: paths.samples[0]] = 1e-9
    sigma = noise_deviation(paths, traces, 0.05)
    if np.count_nonzero(paths.event == paths.event[0]) > 2:
        assert sigma[0] == pytest.approx(0.005)


def test_shares_cover_everything_once():
    for total in (0, 1, 7, 200):
        for size in (1, 3, 4):
            bounds = [share(total, size, rank) for rank in range(size)]
            assert bounds[0][0] == 0 and bounds[-1][1] == total
            assert all(one[1] == other[0] for one, other in zip(bounds, bounds[1:], strict=False))


def test_data_of_a_run_can_be_read_as_observed_data(small_config, folder, record, tmp_path):
    config = small_config.replaced("data", kind="file", file=str(folder.data)).replaced(
        "run", directory=str(tmp_path / "r")
    )
    again = inversion.run(config.replaced("inversion", max_iterations=1), MPI.COMM_SELF, report=False)
    assert again.data_kind == "synthetic"
    assert again.correlation is None
    assert again.iterations[1].chi_data == pytest.approx(record.iterations[1].chi_data, rel=1e-4)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            lambda file: file["observed"].__setitem__(3, np.nan),
            r"path 0 \(event \S+, station \S+\), sample 3: nan; allowed: a finite",
        ),
        (lambda file: file["sigma"].__setitem__(5, -1.0), r"path 5 .*sigma = -1"),
        (
            lambda file: file["paths/samples"].__setitem__(0, 9999),
            r"observed has \d+ samples, while paths/samples add up to",
        ),
        (
            lambda file: file["paths/event"].__setitem__(2, "nowhere"),
            r"path 2 names event 'nowhere', which is not in the catalogue",
        ),
        (lambda file: file.__delitem__("paths/t_first_s"), r"not a complete data.h5"),
    ],
)
def test_damaged_data_are_named(folder, tmp_path, change, complaint):
    copy = tmp_path / "data.h5"
    shutil.copy(folder.data, copy)
    with h5py.File(copy, "a") as file:
        change(file)
    with pytest.raises(UserError, match=complaint):
        load_observations(copy)


def test_missing_and_short_data_files_are_named(folder, tmp_path):
    with pytest.raises(UserError, match="no such file"):
        load_observations(tmp_path / "absent.h5")
    short = tmp_path / "short.h5"
    short.write_bytes(folder.data.read_bytes()[:1000])
    with pytest.raises(UserError, match="not a complete data.h5"):
        load_observations(short)


# ------------------------------------------------------------------------------------------------------- small parts


def test_mode_cache_is_used_and_a_damaged_one_is_replaced(small_config, record):
    earth, notes = _earth(small_config), []
    file = cache_file(earth, small_config)
    assert file.exists()
    period_s = mode_catalogue(earth, small_config, notes.append).period_s
    assert not notes
    file.write_bytes(file.read_bytes()[:200])
    # computed anew: LAPACK may round the last digit differently where its buffers lie otherwise in memory
    np.testing.assert_allclose(mode_catalogue(earth, small_config, notes.append).period_s, period_s, rtol=1e-12)
    assert len(notes) == 1 and "damaged" in notes[0]
    mode_catalogue(earth, small_config, notes.append)
    assert len(notes) == 1


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path):
    target = tmp_path / "record.json"
    target.write_text("old")
    with pytest.raises(RuntimeError), replaced(target) as aside:
        aside.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["record.json"]


def test_failure_of_rank_0_is_raised():
    def fail():
        raise UserError("bad")

    with pytest.raises(UserError, match="bad"):
        on_root(MPI.COMM_SELF, fail)


def test_correlation_is_pearsons():
    random = np.random.default_rng(5)
    a, b = random.standard_normal((2, 100))
    assert inversion.correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert inversion.correlation(a, np.zeros(100)) == 0.0
