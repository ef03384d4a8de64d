"""Earthquakes and stations as unknowns of an inversion: what it finds, what it leaves, and where it goes on."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from craton import SymmetricMatrix, UserError, World
from craton._launch import run_under_mpi
from craton.tomography.config.load import Config
from craton.tomography.config.tables import CorrectionsConfig
from craton.tomography.data.catalogue import read_events, read_stations
from craton.tomography.data.corrections import Corrections, scalar_moment_Nm, true_corrections
from craton.tomography.data.data_file import load_observations, save_observations
from craton.tomography.data.paths import build_paths, geocentric_vectors
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.forward import CorrectedTooFar
from craton.tomography.inversion.step import StepSearch
from craton.tomography.posterior.strength import choose_strength
from craton.tomography.results import read_results
from craton.tomography.stored.marginal import without_corrections
from craton.tomography.stored.run import read_data, read_problem
from craton.tomography.stored.solve import solve_again
from interrupted_inversion import run_one_iteration

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start

PROGRAM = Path(__file__).parents[1] / "programs" / "marginal_structure.py"
EVERY = CorrectionsConfig(2.0, 15.0, 0.1, 1.0, 0.2)


@pytest.fixture(scope="module")
def table(small_config):
    events, stations = read_events(small_config.events.file), read_stations(small_config.stations.file)
    return build_paths(small_config, events, stations)


def wrong(config: Config, directory, **more) -> Config:
    """Two seconds and a tenth of the tensor, and what is asked for besides."""
    found = config.replaced("run", directory=str(directory)).replaced("paths", maximum=400)
    found = found.replaced("target", wrong_origin_time_s=2.0, wrong_moment_tensor=0.1, wrong_station_time_s=1.0)
    return found.replaced("inversion", precision="float64", max_iterations=6).replaced("corrections", **more)


ASKED = {"origin_time_s": 2.0, "moment_tensor": 0.1, "station_time_s": 1.0}
LEFT = {"origin_time_s": 0.4, "moment_tensor": 0.6, "station_time_s": 0.5}
"""Of the errors, at most. All station times together can take the place of all origin times."""


@pytest.fixture(scope="module")
def solved(small_config, tmp_path_factory):
    config = wrong(small_config, tmp_path_factory.mktemp("corrections") / "run", **ASKED)
    return config, start.run(config, MPI.COMM_SELF, report=True)


def test_unknowns_have_places_of_their_own(table):
    corrections = Corrections(table, EVERY)
    events, stations = len(table.event_rows), len(table.station_rows)
    assert corrections.size == 9 * events + 2 * stations
    numbers = np.arange(corrections.size, dtype=float)
    found = np.concatenate([corrections.of(kind.name, numbers).ravel() for kind in corrections.kinds])
    assert sorted(found) == numbers.tolist()
    assert corrections.of("origin_time_s", numbers)[1, 0] == 9.0
    assert corrections.of("station_gain", numbers)[0, 0] == 9 * events + 1
    np.testing.assert_array_equal(corrections.precision[:9], [2.0**-2] + 3 * [15.0**-2] + 5 * [0.1**-2])
    nothing = Corrections(table)
    assert not nothing.size and nothing.applied(np.zeros(0)) is table
    assert not Corrections(table, CorrectionsConfig(station_gain=0.1)).of("centroid_km", np.zeros(stations)).any()


def test_values_go_into_earthquakes_and_windows(table):
    corrections = Corrections(table, EVERY)
    values = corrections.drawn(np.random.default_rng(0))
    found, event, station = corrections.applied(values), table.event[7], table.station[7]
    row, column = np.searchsorted(table.event_rows, event), np.searchsorted(table.station_rows, station)
    later = corrections.of("origin_time_s", values)[row, 0] + corrections.of("station_time_s", values)[column, 0]
    assert found.t_first_s[7] == pytest.approx(table.t_first_s[7] - later)
    assert found.gain[7] == pytest.approx(np.exp(corrections.of("station_gain", values)[column, 0]))
    north_km, east_km, down_km = corrections.of("centroid_km", values)[row]
    moved, before = found.events, table.events
    assert moved.depth_km[event] == pytest.approx(max(before.depth_km[event] + down_km, 0.0))
    places = [
        geocentric_vectors(each.latitude_deg[[event]], each.longitude_deg[[event]])[0] for each in (before, moved)
    ]
    assert 6371.0 * np.arccos(places[0] @ places[1]) == pytest.approx(np.hypot(north_km, east_km))
    turned = np.radians(moved.longitude_deg[event] - before.longitude_deg[event])
    assert 6371.0 * np.hypot(*places[0][:2]) * turned == pytest.approx(east_km, abs=0.02 * abs(north_km) + 1e-3)
    changed = replace(before, moment_tensor_Nm=moved.moment_tensor_Nm - before.moment_tensor_Nm)
    sizes = np.linalg.norm(corrections.of("moment_tensor", values), axis=1)
    np.testing.assert_allclose(
        scalar_moment_Nm(changed)[table.event_rows], sizes * scalar_moment_Nm(before)[table.event_rows]
    )
    np.testing.assert_allclose(
        changed.moment_tensor_Nm[:, :3].sum(axis=1), 0.0, atol=1e-6 * scalar_moment_Nm(before).max()
    )


def test_nothing_moves_beyond_the_pole_or_above_the_ground(table):
    events = replace(table.events, latitude_deg=np.full(len(table.events), 89.9), depth_km=np.zeros(len(table.events)))
    corrections = Corrections(replace(table, events=events), CorrectionsConfig(centroid_km=10.0))
    values = np.tile([100.0, 0.0, -5.0], len(table.event_rows))
    moved, rows = corrections.moved_events(values), table.event_rows
    assert np.all(moved.latitude_deg <= 90.0) and np.all(moved.depth_km == 0.0)
    over = (moved.longitude_deg - events.longitude_deg - 180.0 + 180.0) % 360.0 - 180.0
    np.testing.assert_allclose(over[rows], 0.0, atol=1e-6)  # on the other side of the pole
    bounded = corrections.bounded(values)
    np.testing.assert_array_equal(bounded.reshape(-1, 3), np.tile([100.0, 0.0, 0.0], (len(rows), 1)))
    np.testing.assert_array_equal(corrections.bounded(bounded), bounded)


def test_errors_are_found(solved):
    config, record = solved
    assert record.judgement.fit == pytest.approx(1.0, abs=0.05)
    assert [one.kind for one in record.corrections] == list(ASKED)
    for one in record.corrections:  # transverse waves know nothing of one of a tensor's five parts
        assert one.left_rms < LEFT[one.kind] * one.true_rms, one.sentence
    results = read_results(config.run.directory)
    corrections, values = results.corrections
    assert len(results.recovered) == results.basis.size and corrections.size == len(values)
    errors, true = results.errors
    found, expected = (each.of("moment_tensor", own) for each, own in ((corrections, values), (errors, true)))
    assert np.abs(found[:, 0]).max() < 0.03
    assert np.corrcoef(found[:, 1:].ravel(), expected[:, 1:].ravel())[0, 1] > 0.9


def test_the_model_is_better_for_them(solved, small_config, tmp_path):
    _, record = solved
    without = start.run(wrong(small_config, tmp_path / "run"), MPI.COMM_SELF, report=False)
    assert record.correlation.overall > without.correlation.overall + 0.2
    assert without.judgement.fit > 5.0 and not without.corrections


def test_corrected_catalogues_can_be_read_again(solved):
    config, _ = solved
    folder = RunFolder(config.run.directory)
    corrections, values = read_results(folder).corrections
    events, stations = read_events(folder.earthquakes), read_stations(folder.stations)
    moved, rows = corrections.moved_events(values), corrections.rows["event"]
    np.testing.assert_allclose(events.moment_tensor_Nm, moved.moment_tensor_Nm[rows], rtol=1e-8)
    assert events.origin_time == tuple(np.asarray(moved.origin_time)[rows]) and len(stations) == len(
        corrections.rows["station"]
    )
    head = folder.stations.read_text(encoding="utf-8").splitlines()[0]
    assert head == "name,latitude_deg,longitude_deg,elevation_m,later_s"
    page = folder.report.read_text(encoding="utf-8")
    assert "Earthquakes and stations" in page and "The inversion was given wrong values of: origin time" in page


def test_structure_alone_is_the_marginal():
    """A step of the Hessian without its corrections is the structure's part of the step of the whole."""
    world, size = World(MPI.COMM_SELF), 37
    random = np.random.default_rng(2)
    root = random.standard_normal((60, size))
    whole, gradient, values = root.T @ root, random.standard_normal(size), random.standard_normal(6)
    precision, structure = random.uniform(1.0, 3.0, 6), size - 6
    matrix = SymmetricMatrix(world, size, dtype="float64", block=4)
    matrix.update_symmetric(whole, range(size))
    matrix.commit()
    found, own, change = without_corrections(matrix, gradient, values, precision, 4, world, MPI.COMM_SELF)
    prior = np.diag([*np.full(structure, 0.5), *precision])
    step = np.linalg.solve(whole + prior, gradient - np.concatenate([np.zeros(structure), precision * values]))
    alone = found.read_slice(range(structure), range(structure))
    np.testing.assert_allclose(np.linalg.solve(alone + prior[:structure, :structure], own), step[:structure], rtol=1e-9)
    after = values + step[structure:]
    expected = -gradient @ step + 0.5 * step @ whole @ step + 0.5 * after @ (precision * after)
    got = change - own @ step[:structure] + 0.5 * step[:structure] @ alone @ step[:structure]
    assert got == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [pytest.param(2, None, marks=pytest.mark.long), (3, 2)])
def test_the_marginal_of_several_ranks(ranks, ranks_per_node, capfd):
    code = run_under_mpi([str(PROGRAM)], ranks, ranks_per_node=ranks_per_node, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, err
    found = json.loads(out.splitlines()[-1])
    assert found.pop("refused").startswith("the Hessian of the earthquakes' and stations' corrections is not positive")
    assert found.pop("ranks") == 0.0 and max(found.values()) < 1e-10, found


def test_a_stored_hessian_goes_on_without_them(solved, tmp_path):
    config, _ = solved
    folder = RunFolder(config.run.directory)
    problem = read_problem(folder.hessian, MPI.COMM_SELF)
    assert len(problem.gradient) == problem.basis.size and len(problem.corrections)
    data = read_data(problem)
    assert data.misfit(problem.world, problem.model) < 1.2 * 0.5 * data.observations.counted_samples
    assert data.observations.paths.gain is not None
    summary = solve_again(folder.hessian, problem.prior, tmp_path / "again", MPI.COMM_SELF)
    assert summary.correlation_with_run > 0.9999
    assert summary.rms_difference < 1e-3 * summary.rms_model


def test_a_run_that_was_ended_goes_on(solved, tmp_path):
    config, record = solved
    config = config.replaced("run", directory=str(tmp_path / "run"))
    run_one_iteration(config)
    resumed = start.resume(tmp_path / "run", None, MPI.COMM_SELF, report=False)
    mine, theirs = (RunFolder(each.run.directory).read_model() for each in (config, solved[0]))
    for name in ("models", "corrections"):
        np.testing.assert_allclose(mine[name], theirs[name], rtol=0, atol=1e-9 * np.abs(theirs[name]).max())
    assert resumed.corrections[0].rms == pytest.approx(record.corrections[0].rms)


def test_folds_are_refused(solved, tmp_path):
    config, _ = solved
    hessian = RunFolder(config.run.directory).hessian
    with pytest.raises(UserError, match=r"--folds of a run with \[corrections\]; allowed: no --folds"):
        choose_strength(hessian, config.prior, [0.02, 0.03], tmp_path / "strength", MPI.COMM_SELF, folds=2)
    found = choose_strength(hessian, config.prior, [0.001, 0.01], tmp_path / "strength", MPI.COMM_SELF)
    assert found.trials[1].log_evidence > found.trials[0].log_evidence


def test_other_data_are_refused(solved, tmp_path):
    config, _ = solved
    folder = RunFolder(config.run.directory)
    (tmp_path / "hessian.h5").write_bytes(folder.hessian.read_bytes())
    data = load_observations(folder.data)
    save_observations(
        tmp_path / "data.h5", data.where(data.paths.event == data.paths.event[0]), (400.0, 250.0, 150.0, 120.0)
    )
    with pytest.raises(UserError, match="earthquakes and stations have .* unknowns; allowed: "):
        read_data(read_problem(tmp_path / "hessian.h5", MPI.COMM_SELF))


WAYS = {
    "reproducible": {"inversion": {"reproducible": True, "precision": "float64"}},
    "in place": {"inversion": {"in_place": True, "precision": "float32"}},
    "damped": {"inversion": {"damping": 0.01, "precision": "float64"}},
    "matern": {"prior": {"kind": "matern"}},
}


@pytest.mark.parametrize(
    "way",
    [pytest.param(way, id=name, marks=[] if name == "damped" else pytest.mark.long) for name, way in WAYS.items()],
)
def test_other_ways_to_a_step(small_config, tmp_path, way):
    """Each finds the errors, and `solve` the run's own model."""
    config = wrong(small_config, tmp_path / "run", **ASKED).replaced("inversion", max_iterations=3)
    config = config.replaced("basis", lateral_level=2, radial=5).replaced("paths", maximum=150)
    for name, changed in way.items():
        config = config.replaced(name, **changed)
    record = start.run(config, MPI.COMM_SELF, report=False)
    by_kind = {one.kind: one for one in record.corrections}
    assert by_kind["origin_time_s"].left_rms < 0.6 * by_kind["origin_time_s"].true_rms
    summary = solve_again(RunFolder(config.run.directory).hessian, config.prior, tmp_path / "again", MPI.COMM_SELF)
    assert summary.rms_difference < 2e-3 * summary.rms_model


def test_a_step_that_no_path_can_take_is_halved(small_config, tmp_path, monkeypatch):
    """A station that the step would put onto its earthquake makes the step shorter, and ends no run."""
    config = wrong(small_config, tmp_path / "run", **ASKED).replaced("inversion", max_iterations=1)
    config = config.replaced("basis", lateral_level=2, radial=4).replaced("paths", maximum=60)
    search, longest = StepSearch.try_length, []

    def refusing(self, found, model, state):
        if not found.tried:
            longest.append(model)

            def too_far(_):
                raise CorrectedTooFar(
                    "with the corrections found so far: path 3: distance is 0.4; allowed: 0.5 to 179.5 degrees"
                )

            monkeypatch.setattr(self.synthetics, "chi_data", too_far)
        search(self, found, model, state)
        monkeypatch.undo()
        monkeypatch.setattr(StepSearch, "try_length", refusing)

    monkeypatch.setattr(StepSearch, "try_length", refusing)
    record = start.run(config, MPI.COMM_SELF, report=False)
    assert longest and record.iterations[1].step_length == 0.5


def test_true_errors_depend_on_the_seed_alone(table):
    errors = Corrections(table, EVERY)
    np.testing.assert_array_equal(true_corrections(errors, 3), true_corrections(errors, 3))
    assert not np.array_equal(true_corrections(errors, 3), true_corrections(errors, 4))


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("origin_time_s", -1.0, r"0, or a number in \[0.01, 100\] s"),
        ("centroid_km", 1e4, r"\[0.1, 500\] km"),
        ("moment_tensor", "much", r"\[0.001, 10\] of the moment"),
        ("station_time_s", float("nan"), r"\[0.01, 100\] s"),
        ("station_gain", 5.0, r"\[0.001, 3\] of the amplitude"),
    ],
)
def test_wrong_settings(small_config, name, value, allowed):
    with pytest.raises(UserError, match=rf"\[corrections\] {name} = .*allowed: .*{allowed}"):
        small_config.replaced("corrections", **{name: value})
