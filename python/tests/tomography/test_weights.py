"""Weights of windows: those that tell the same, and those that fit much worse than the others."""

from __future__ import annotations

import dataclasses

import h5py
import numpy as np
import pytest
from craton.tomography.data.data_file import load_observations
from craton.tomography.data.redundancy import redundancy
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.robust import robust_weights
from craton.tomography.model.sphere import EARTH_RADIUS_KM, unit_vectors
from craton.tomography.stored.run import read_data, read_problem

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start


@pytest.fixture(scope="module")
def clean(small_config, tmp_path_factory):
    """A run with neither."""
    config = small_config.replaced("run", directory=str(tmp_path_factory.mktemp("clean") / "run"))
    start.run(config, MPI.COMM_SELF, report=False)
    return config, RunFolder(config.run.directory)


def test_redundancy_is_a_count(clean):
    """Pair by pair."""
    paths = load_observations(clean[1].data).paths
    events, stations = paths.events, paths.stations
    depth_km = np.asarray(events.depth_km)[:, None]
    sources = (EARTH_RADIUS_KM - depth_km) * unit_vectors(events.latitude_deg, events.longitude_deg)
    receivers = EARTH_RADIUS_KM * unit_vectors(stations.latitude_deg, stations.longitude_deg)
    for within_km in (1.0, 600.0, 2500.0):
        counts = redundancy(paths, within_km)
        for row in range(0, len(paths), 17):
            near = np.linalg.norm(sources[paths.event] - sources[paths.event[row]], axis=1) <= within_km
            near &= np.linalg.norm(receivers[paths.station] - receivers[paths.station[row]], axis=1) <= within_km
            assert counts[row] == near.sum()
        assert counts.min() >= 1.0
    assert (redundancy(paths, 1.0) == 1.0).all() and redundancy(paths, 2500.0).max() > 1.0
    others = dataclasses.replace(paths, component=("Z", *paths.component[1:]))
    assert redundancy(others, 20000.0)[0] == 1.0 and redundancy(others, 20000.0)[1] == len(paths) - 1


def test_robust_weights():
    misfit = np.array([1.0, 1.0, 1.0, 4.0, 16.0, 400.0])
    np.testing.assert_allclose(robust_weights("huber", misfit), [1, 1, 1, 1, 0.75, 0.15])
    student = robust_weights("student", misfit)
    assert (np.diff(student) <= 0.0).all() and student[-1] < 0.03 and student[0] > 1.0
    same = robust_weights("huber", 25.0 * misfit[:3])  # all are as bad: nobody is an outlier
    np.testing.assert_array_equal(same, 1.0)


def test_the_hessian_is_of_the_weights(clean, tmp_path):
    """And solve, posterior and strength know them."""
    config = clean[0].replaced("data", redundancy_km=2500.0).replaced("run", directory=str(tmp_path / "run"))
    config = config.replaced("inversion", max_iterations=1, precision="float64")
    start.run(config, MPI.COMM_SELF, report=False)
    folder = RunFolder(config.run.directory)
    problem = read_problem(folder.hessian, MPI.COMM_SELF)
    data = read_data(problem)
    counts = redundancy(data.observations.paths, 2500.0)
    np.testing.assert_allclose(data.observations.emphasis.weights, 1.0 / counts)
    assert problem.samples == data.observations.counted_samples < data.observations.independent.sum()
    again, gradient, chi = data.assemble(problem.world, problem.model, problem.hessian)
    np.testing.assert_allclose(again.diagonal(), problem.hessian.diagonal(), rtol=1e-10)
    np.testing.assert_allclose(gradient, problem.gradient, atol=1e-10 * np.abs(gradient).max())
    whole = dataclasses.replace(
        data, observations=dataclasses.replace(data.observations, emphasis=type(data.observations.emphasis)())
    )
    assert chi < whole.assemble(problem.world, problem.model, problem.hessian)[2]


def apart(clean, tmp_path, spoil, **inversion):
    """How far the model of spoiled data lies from that of the right ones, relative to it; and the run's folder.

    spoil: what each eighth window is multiplied by.
    """
    config, folder = clean
    spoiled = tmp_path / "data.h5"
    spoiled.write_bytes(folder.data.read_bytes())
    with h5py.File(spoiled, "r+") as file:
        ends = np.concatenate([[0], np.cumsum(file["paths/samples"])])
        for window in range(0, len(ends) - 1, 8):
            file["observed"][ends[window] : ends[window + 1]] *= spoil
    made = config.replaced("data", kind="file", file=str(spoiled))
    made = made.replaced("run", directory=str(tmp_path / "-".join(map(str, inversion.values()))))
    made = dataclasses.replace(made, target=None).replaced("inversion", max_iterations=4, **inversion)
    start.run(made, MPI.COMM_SELF, report=False)
    truth, of = folder.read_model()["models"][-1], RunFolder(made.run.directory)
    return float(np.linalg.norm(of.read_model()["models"][-1] - truth) / np.linalg.norm(truth)), of


@pytest.mark.parametrize("robust", ["student", pytest.param("huber", marks=pytest.mark.long)])
def test_windows_of_a_wrong_gain_do_little_harm(clean, tmp_path, robust):
    """A response that is wrong by a factor."""
    found = {kind: apart(clean, tmp_path, 5.0, robust=kind, long_periods_first=False)[0] for kind in ("none", robust)}
    print(found)
    assert found[robust] < {"huber": 0.75, "student": 0.5}[robust] * found["none"]


def test_windows_of_the_wrong_sign_are_left_out(clean, tmp_path):
    """A seismometer with its poles exchanged. The end says how many windows there are."""
    found, folder = apart(clean, tmp_path, -1.0, robust="none")
    windows = len(load_observations(clean[1].data).paths)
    told = folder.read_record().judgement
    print(found, told.reversed, told.warnings)
    assert told.reversed == -(-windows // 8) and found < 0.4
    assert any(
        f"{told.reversed} windows of {windows} fit best with their sign reversed" in each for each in told.warnings
    )
