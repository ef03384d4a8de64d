"""Source and receiver swapped, and strains against differences of displacements, under a free surface in rough rock."""

from __future__ import annotations

import numpy as np
import pytest
from craton import _craton
from mpi4py import MPI
from reference.waves_reference import gaussian, misfit
from wave_runs import Case, run

H, SIGMA = 100.0, 0.1
CELLS = (44, 40, 36)


def rough(x, y, z):
    """A step, and bumps of a few cells."""
    bump = np.sin(x / 230) * np.cos(y / 310) * np.sin(z / 270 + 1)
    vs = 1900 + 350 * bump + (1100 if z > 1420 else 0)
    return 1.7 * vs + 300, vs, 1900 + 0.25 * vs, 60 + 40 * bump, 30 + 20 * bump


def shaken(tmp_path, at, force, to, attenuation=None, ground=rough, **more):
    dt = 0.45 * H / 6400.0
    case = Case(
        CELLS,
        H,
        dt,
        int(2.0 / dt),
        ground,
        force_at=[at],
        forces=[force],
        rate=lambda t: gaussian(t - 5 * SIGMA, SIGMA, 0),
        stations=[to],
        absorbing="none",
        attenuation=attenuation,
        **more,
    )
    return run(case, tmp_path, MPI.COMM_SELF)


@pytest.mark.parametrize(
    ("one", "other"),
    [((1210.0, 1340.0, 0.0), (2777.0, 2222.0, 1234.0)), ((1050.0, 1650.0, 40.0), (3000.0, 2050.0, 0.0))],
)
@pytest.mark.parametrize("lossy", [False, True])
def test_source_and_receiver_can_be_swapped(tmp_path, one, other, lossy):
    """G_ij(a, b) = G_ji(b, a): nine pairs of directions, at the surface and below, to 1e-5."""
    relaxation = _craton.WaveRelaxation(0.1, 10.0, 1.0) if lossy else None
    axes = np.eye(3) * 1e12
    there = np.array([shaken(tmp_path, one, f, other, relaxation)["velocity"][0] for f in axes])  # [i][j]
    back = np.array([shaken(tmp_path, other, f, one, relaxation)["velocity"][0] for f in axes])
    scale = np.abs(there).max()
    assert scale > 0
    difference = np.abs(there - back.transpose(1, 0, 2)).max() / scale
    print(difference)
    assert difference <= 1e-5


def gentle(x, y, z):
    """Fast rock, so that waves are long beside a cell."""
    vs = 3300 + 0 * x * y + 0.05 * z
    return 1.75 * vs, vs, 2700.0


def test_strains_are_differences_of_displacements(tmp_path):
    """At a cell's centre and off it: strains from stress against fourth-order differences of displacements at stations, to 1e-4."""
    dt, sigma = 0.45 * H / 6400.0, 0.25
    points = [(2250.0, 2050.0, 1450.0), (2310.0, 2080.0, 1420.0)]
    offsets = [-1.5, -0.5, 0.5, 1.5]
    weights = np.array([1, -27, 27, -1]) / 24 / H
    stations = [np.array(p) + o * H * np.eye(3)[axis] for p in points for axis in range(3) for o in offsets]
    found = run(
        Case(
            CELLS,
            H,
            dt,
            int(3.0 / dt),
            gentle,
            moment_at=[(1000.0, 1100.0, 900.0)],
            moments=[[1e15, -2e15, 2e15, 1e15, 3e15, -1e15]],
            rate=lambda t: gaussian(t - 5 * sigma, sigma, 0),
            stations=stations,
            strains=points,
            absorbing="none",
        ),
        tmp_path,
        MPI.COMM_SELF,
    )
    displacement = np.cumsum(found["velocity"].astype(np.float64), axis=2) * dt  # at the times of stress
    d = displacement.reshape(len(points), 3, len(offsets), 3, -1)
    gradient = np.einsum("o,paoct->pact", weights, d)  # [point][axis][component]
    for p in range(len(points)):
        e = 0.5 * (gradient[p] + gradient[p].transpose(1, 0, 2))
        wanted = np.array([e[0, 0], e[1, 1], e[2, 2], e[0, 1], e[0, 2], e[1, 2]])
        errors = [misfit(found["sgt"][p][c], wanted[c]) for c in range(6)]
        print(np.array(errors))
        assert max(errors) <= 1e-4
