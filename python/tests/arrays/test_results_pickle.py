"""Results of the applications are plain data: what comes back from pickle is what went in."""

import dataclasses
import importlib
import pickle
from pathlib import Path

import craton
import numpy as np
import pytest
from craton import hazard, scf, tasks, waves
from craton.multigrid import MultigridRecord
from craton.runs.record import Record, Session
from craton.runs.status import Status
from craton.solvers.multigrid import Solution
from craton.tomography.folder import RunRecord
from mpi4py import MPI


def again(result):
    return pickle.loads(pickle.dumps(result))


def test_measures_of_records():
    velocity = np.random.default_rng(0).standard_normal((2, 3, 200)).astype(np.float32)
    found = hazard.measure_records(velocity, 0.02, [0.5, 1.0])
    for name, values in vars(again(found)).items():
        np.testing.assert_array_equal(values, getattr(found, name))


def test_a_solution():
    found = again(Solution(np.ones((2, 2, 2)), (1.0, 1e-8), True))
    assert found.cycles == 1 and found.converged and found.u.sum() == 8


def test_records_of_tasks_and_runs():
    outcome = tasks.Outcome([tasks.TaskRecord("a", "b", "c", [1], 0.0, 2.0)], ["failed"], ["left"], 3.0)
    assert again(outcome) == outcome
    common = {"app": "tomography", "title": "t", "command": "c", "config": {}, "versions": {}, "started": "now"}
    counts = {"events": 4, "stations": 5, "paths": 6, "samples": 7, "lateral_knots": 8, "radial_knots": 9, "modes": 10}
    record = RunRecord(**common, **counts, ranks=1, nodes=2, threads=3, folder="f", data_kind="synthetic")
    assert again(record) == record


def example_of(kind):
    """An object of a dataclass, with some value of its type for each field that has no default."""
    some = {"int": 3, "float": 0.5, "str": "a", "bool": True}
    given = {
        field.name: some.get(field.type.partition(" |")[0], {} if field.type.startswith("dict") else [])
        for field in dataclasses.fields(kind)
        if field.default is field.default_factory is dataclasses.MISSING
    }
    return kind(**given)


@pytest.mark.parametrize("kind", [Status, scf.ScfRecord, waves.WavesRecord, MultigridRecord, RunRecord])
def test_records_and_states(kind):
    found = example_of(kind)
    assert again(found) == found and again(found).to_dict() == found.to_dict()
    if issubclass(kind, Record):
        found.sessions.append(Session("now", 2))
        assert kind.from_dict(again(found).to_dict()) == found


def test_seismograms_and_snapshots():
    found = waves.Seismograms(["a"], np.ones((1, 3)), None, np.ones((1, 3, 4), np.float32), 0.0, 0.1, 0.0)
    assert again(found).components()["Z"].tolist() == [[-1.0] * 4]
    shots = waves.Snapshots({"vx": np.ones((2, 3, 4, 5), np.float32)}, 0.0, 0.5, 100.0, (1, 1, 1))
    assert again(shots).extent_km == shots.extent_km and again(shots).time_s.tolist() == [0.0, 0.5]


@pytest.mark.parametrize(
    "module",
    ["seismology.wave_run.config", "hazard.config", "multigrid.config"],
)
def test_configurations(module, tmp_path):
    config = importlib.import_module(f"craton.{module}")
    file = tmp_path / "a.toml"
    file.write_text(config.template(), encoding="utf-8")
    found = config.load_config(file)
    assert again(found) == found and again(found).path == Path(file)


def test_a_hartree_fock_calculation():
    molecule = scf.Molecule.from_xyz_text("2\n\nH 0 0 0\nH 0 0 0.74\n")
    found = scf.RHF(molecule, "sto-3g").run()
    copy = again(found)
    assert copy.e_tot == found.e_tot and copy.iterations == found.iterations and copy.converged
    np.testing.assert_array_equal(copy.make_rdm1(), found.make_rdm1())
    assert copy.kernel() == pytest.approx(found.e_tot, abs=1e-9)
    with_world = scf.RHF(molecule, "sto-3g", world=craton.World(MPI.COMM_SELF))
    with pytest.raises(craton.UserError, match="RHF: with a world it cannot be pickled.*; allowed: without a world"):
        pickle.dumps(with_world)
