"""A small inversion from end to end, its data file, its run folder, and the second solution under another prior."""

import dataclasses
import json
import shutil

import h5py
import numpy as np
import pytest
from craton import UserError
from helpers import replaced_dataset

MPI = pytest.importorskip("mpi4py.MPI")

from craton.inverse.comparison import correlation
from craton.runs.agreement import on_root, share
from craton.runs.files import replaced
from craton.runs.progress import make_console
from craton.tomography import start as inversion
from craton.tomography.config.load import load_config
from craton.tomography.config.prior import PriorConfig
from craton.tomography.data.catalogue import read_events, read_stations
from craton.tomography.data.data_file import load_observations
from craton.tomography.data.noise import add_noise, noise_deviation
from craton.tomography.data.observations import Observations
from craton.tomography.data.paths import build_paths
from craton.tomography.data.sources import without_near_paths
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.assembly import Assembly
from craton.tomography.inversion.forward import ModeTheory
from craton.tomography.inversion.hessian_file import whole_hessian
from craton.tomography.model.splines import make_basis
from craton.tomography.prior.gaussian import gaussian_prior
from craton.tomography.stored.solve import solve_again, solve_all
from craton.tomography.theory.modes import cache_file, cache_folder, mode_catalogue, mode_options


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
        gradient, model = file["gradient"][:], file["model"][:]
        at = int(file.attrs["linearised_at_iteration"])
    hessian = whole_hessian(folder.hessian).astype(np.float64)
    prior = gaussian_prior(make_basis(small_config, _earth(small_config)), small_config.prior)
    precision = np.kron(prior.parts[0].lateral_inverse, prior.parts[0].radial_inverse)
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
    summary = solve_again(folder.hessian, small_config.prior, tmp_path / "again", MPI.COMM_SELF)
    models = folder.read_model()["models"]
    again = RunFolder(tmp_path / "again").read_model()["models"][-1]
    if record.iterations[-1].step_length == 1.0 and summary.linearised_at_iteration == len(models) - 2:
        np.testing.assert_allclose(again, models[-1], atol=1e-6 * np.abs(models[-1]).max())
        assert summary.correlation_with_run == pytest.approx(1.0, abs=1e-6)
    assert (tmp_path / "again" / "maps.png").stat().st_size > 10000


def test_a_weaker_prior_gives_a_weaker_model(small_config, folder, tmp_path):
    weaker = dataclasses.replace(small_config.prior, strength=0.002)
    summary = solve_again(folder.hessian, weaker, tmp_path / "weaker", MPI.COMM_SELF)
    assert summary.rms_model < summary.rms_run_model


def test_a_prior_that_is_given_twice_gives_one_model_twice(small_config, folder, tmp_path):
    solve_all(folder.hessian, [small_config.prior] * 2, tmp_path / "twice", MPI.COMM_SELF)
    _, first, second = RunFolder(tmp_path / "twice").read_model()["models"]
    np.testing.assert_allclose(second, first, rtol=1e-12, atol=1e-15)


def test_solve_refuses_what_is_not_a_runs_hessian(folder, tmp_path):
    with pytest.raises(UserError, match="no such file"):
        solve_again(tmp_path / "hessian.h5", PriorConfig(), tmp_path / "out", MPI.COMM_SELF)
    with pytest.raises(UserError, match="is missing; allowed: hessian.h5 of a run"):
        solve_again(folder.model, PriorConfig(), tmp_path / "out", MPI.COMM_SELF)
    with pytest.raises(UserError, match="holds the run itself"):
        solve_again(folder.hessian, PriorConfig(), folder.path, MPI.COMM_SELF)


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


def test_data_of_a_run_can_be_read_as_observed_data(small_config, folder, record, tmp_path, capsys):
    config = small_config.replaced("data", kind="file", file=str(folder.data)).replaced(
        "run", directory=str(tmp_path / "r")
    )
    once = config.replaced("inversion", max_iterations=1)
    again = inversion.run(once, MPI.COMM_SELF, console=make_console(), report=False)
    assert f"{folder.data} brings its own paths, windows and sigma: [paths], and noise" in capsys.readouterr().out
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
        (lambda file: file["observed"].__setitem__(slice(None), 0.0), r"observed: all \d+ samples are 0; allowed"),
        (
            lambda file: file["observed"].__setitem__(4, 1e200),
            r"path 0 .*sample 4: 1e\+200; allowed: .* at most 1e\+06",
        ),
        (lambda file: file["sigma"].__setitem__(5, 1e-300), r"path 5 .*sigma = 1e-300; allowed: .*1e-18 to 1e\+06"),
        (lambda file: file["sigma"].__setitem__(1, np.inf), r"path 1 .*sigma = inf"),
        (lambda file: file["paths/t_first_s"].__setitem__(1, np.nan), r"path 1 .*t_first_s = nan"),
        (lambda file: file["paths/samples"].__setitem__(0, 2**62), r"paths/samples add up to 46\d+"),
        (
            replaced_dataset("observed", np.zeros((3, 4))),
            r"observed is float64 of shape \(3, 4\); allowed: numbers in one",
        ),
        (replaced_dataset("observed", np.zeros(4, complex)), r"observed is complex128"),
        (replaced_dataset("observed", [b"a"]), r"observed is text of shape \(1,\); allowed: numbers"),
        (replaced_dataset("sigma", 1.0), r"sigma is float64 of shape \(\)"),
        (replaced_dataset("paths/samples", np.full(200, 30.0)), r"paths/samples is float64 .*allowed: whole numbers"),
        (replaced_dataset("paths/event", np.arange(200)), r"paths/event is int64 .*allowed: text"),
        (
            replaced_dataset("events/moment_tensor_Nm", np.ones((60, 5))),
            r"events/moment_tensor_Nm is .*allowed: .*6 columns",
        ),
        (replaced_dataset("stations/latitude_deg", np.ones(3)), r"/stations: .*latitude_deg has 3.* rows"),
        (lambda file: file.__delitem__("sigma") or file.create_group("sigma"), r"sigma is a group"),
        (lambda file: file.attrs.__delitem__("sample_interval_s"), r"attribute sample_interval_s is missing"),
        (lambda file: file.attrs.__setitem__("sample_interval_s", "10"), r"attribute sample_interval_s = '10'"),
        (
            lambda file: file.attrs.__setitem__("sample_interval_s", [1.0, 2.0]),
            r"attribute sample_interval_s = \[1.0, 2.0\]",
        ),
        (
            lambda file: file.attrs.__setitem__("filter_periods_s", "x"),
            r"attribute filter_periods_s = 'x'; allowed: four",
        ),
        (lambda file: file.attrs.__setitem__("noise_fraction", h5py.Empty("f8")), r"attribute noise_fraction = "),
        (lambda file: file.attrs.__setitem__("kind", 3), r"attribute kind = 3; allowed: text"),
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


def test_numbers_that_overflow_are_a_matter_of_the_data(small_config, tmp_path, monkeypatch):
    fill = Assembly.fill

    def overflow(self, state):
        sums = fill(self, state)
        self.hessian.update(np.array([[np.inf]], np.float32), np.array([3]), np.array([3]))
        self.hessian.commit()
        return sums

    monkeypatch.setattr(Assembly, "fill", overflow)
    config = small_config.replaced("run", directory=str(tmp_path / "r")).replaced("paths", maximum=20)
    with pytest.raises(
        UserError, match=r"noise = 0.1: the Hessian's diagonal is inf \(element 3\); allowed: finite .*sigma is"
    ):
        inversion.run(config, MPI.COMM_SELF, report=False)


def test_noise_without_a_sigma_that_can_be_used(small_config, tmp_path):
    data = dataclasses.replace(small_config.data, noise=1e-300)
    config = dataclasses.replace(small_config.replaced("run", directory=str(tmp_path / "r")), data=data)
    with pytest.raises(
        UserError, match=r"\[data\] noise = 1e-300 makes sigma = .* for path 0 \(event \S+, station \S+\)"
    ):
        inversion.run(config, MPI.COMM_SELF, report=False)


def test_chi_of_the_noise_is_half_the_number_of_samples(folder):
    """Sigma is the standard deviation of the noise that was added, on weak traces too."""
    found, target = load_observations(folder.data), folder.read_model()["target"]
    assert target.ndim == 1
    noise = np.concatenate(
        [
            found.sigma[path] * np.random.default_rng([2015, 2, path]).standard_normal(found.paths.samples[path])
            for path in range(len(found.paths))
        ]
    )
    weighted = noise / np.repeat(found.sigma, found.paths.samples)
    assert weighted @ weighted == pytest.approx(len(noise), rel=0.03)
    clean = found.observed - noise
    np.testing.assert_allclose(noise_deviation(found.paths, clean, 0.1), found.sigma, rtol=1e-9)


def test_a_line_search_without_success_gives_its_numbers(small_config, tmp_path, monkeypatch):
    monkeypatch.setattr(ModeTheory, "chi_data", lambda *_: 1e9)
    config = small_config.replaced("run", directory=str(tmp_path / "r")).replaced("paths", maximum=20)
    record = inversion.run(config, MPI.COMM_SELF, report=False)
    assert record.finished and len(record.iterations) == 1
    for words in (
        "no fraction",
        f"it is {record.iterations[0].chi:.6g} without",
        "1e+09 with the whole",
        "0.0625",
        "damping",
    ):
        assert words in record.stopped_because


# ---------------------------------------------------------------------------------------------------------- near paths


@pytest.fixture
def near(paths):
    """A table of the same paths, in which path 3 has its station at its event."""
    stations = dataclasses.replace(
        paths.stations,
        name=(*paths.stations.name, "NEAR"),
        latitude_deg=np.append(paths.stations.latitude_deg, paths.events.latitude_deg[paths.event[3]]),
        longitude_deg=np.append(paths.stations.longitude_deg, paths.events.longitude_deg[paths.event[3]] + 0.1),
        elevation_m=np.append(paths.stations.elevation_m, 0.0),
    )
    station = paths.station.copy()
    station[3] = len(stations) - 1
    return dataclasses.replace(paths, stations=stations, station=station)


def test_a_station_at_an_event_makes_no_path(small_config, near):
    notes = []
    everywhere = small_config.replaced("paths", min_distance_deg=0.0, maximum=0)
    table = build_paths(everywhere, near.events, near.stations, notes.append)
    assert table.distance_deg().min() > 0.5
    assert len(notes) == 1 and "station NEAR" in notes[0] and "left out" in notes[0]


def test_observed_data_of_such_a_path_are_left_out(near, tmp_path):
    notes, samples = [], int(near.samples.sum())
    data = Observations(near, np.arange(samples) + 1.0, np.ones(len(near)), {"file": "x"})
    kept = without_near_paths(data, notes.append)
    assert len(kept.paths) == len(near) - 1 and len(kept.sigma) == len(near) - 1
    assert set(data.observed) - set(kept.observed) == set(data.observed[near.offsets[3] : near.offsets[4]])
    assert len(notes) == 1 and near.describe(3) in notes[0]


def test_an_error_of_a_path_names_its_event_and_station(small_config, near):
    from craton._craton import ForwardProblem

    modes = mode_catalogue(_earth(small_config), small_config)
    forward = ForwardProblem(modes, make_basis(small_config, _earth(small_config)), (400.0, 250.0, 150.0, 120.0))
    with pytest.raises(UserError) as caught:
        near.path_set(forward)
    assert near.describe(3) in str(caught.value) and "distance" in str(caught.value)


# ------------------------------------------------------------------------------------------------------- small parts


def test_the_command_repeats_the_run(small_config, tmp_path, monkeypatch):
    file = tmp_path / "a b.toml"
    file.write_text(small_config.to_toml())
    config = load_config(file)
    assert config.command_line(2) == f"craton tomography run '{file}' --ranks 2"
    changed = config.replaced("assembly", threads=3).replaced("inversion", max_iterations=7)
    monkeypatch.chdir(tmp_path)
    changed = changed.replaced("run", directory=str(tmp_path / "out" / "r"))
    assert changed.command_line(2, 1).endswith(
        "--ranks 2 --ranks-per-node 1 --threads 3 --iterations 7 --directory out/r"
    )


def test_mode_cache_is_used_and_a_damaged_one_is_replaced(small_config, record):
    from craton._craton import ModeCatalogue

    earth, notes = _earth(small_config), []
    file = cache_file(ModeCatalogue, earth, cache_folder(small_config), mode_options(small_config))
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
    assert correlation(a, b) == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert correlation(a, np.zeros(100)) == 0.0
