"""Results of the applications are plain data: what comes back from pickle is what went in."""

import pickle

import craton
import numpy as np
import pytest
from craton import hazard, scf, tasks
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
