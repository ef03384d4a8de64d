"""A point double couple in a full space against Aki and Richards: to 1 % at 10 points per wavelength, better on finer grids."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from mpi4py import MPI
from reference.waves_reference import Medium, force_motion, gaussian, misfit, moment_tensor_motion
from wave_runs import Case, run

MEDIUM = Medium(6000.0, 3464.0, 2700.0)
EXACT = Medium(float(np.sqrt(4395 * 2**24 / 2048)), float(np.sqrt(1465 * 2**24 / 2048)), 2048.0)
"""As fast, of moduli and a density that media in 16 bits (11 significant ones) hold without rounding."""
SIGMA = 0.06
SHORTEST_S = 500.0
"""S waves of 6.9 Hz, where the spectrum of the moment rate has fallen to 3 %, are so long, in m."""
RECEIVERS = [(300.0, 400.0, 1000.0), (600.0, 800.0, 2000.0), (900.0, 1200.0, 500.0)]


def full_space(h: float, courant: float, width: int = 10, medium: Medium = MEDIUM, **source) -> Case:
    around = (width + 8) * h
    corner = np.round((np.array([600.0, 600.0, 600.0]) + around) / h) * h + np.array([0.0, 0.0, 0.5]) * h
    dt = courant * h / medium.vp
    cells = tuple(int(round((length + 2 * around) / h)) for length in (2100.0, 2400.0, 3200.0))
    return Case(
        cells,
        h,
        dt,
        int(1.5 / dt),
        lambda x, y, z: (medium.vp, medium.vs, medium.rho),
        rate=lambda t: gaussian(t - 5 * SIGMA, SIGMA, 0),
        stations=[corner + np.array(each) for each in RECEIVERS],
        free_surface=False,
        width=width,
        samples_per_side=1,
        **{name: [corner] if name.endswith("at") else value for name, value in source.items()},
    )


def misfits(case: Case, exact, tmp_path) -> np.ndarray:
    """[receiver][component]."""
    found = run(case, tmp_path, MPI.COMM_SELF)
    t = found["t_velocity"] - 5 * SIGMA
    return np.array(
        [
            [misfit(velocity[c], wanted[c]) for c in range(3)]
            for velocity, wanted in zip(
                found["velocity"], [exact(np.array(each), t) for each in RECEIVERS], strict=True
            )
        ]
    )


def double_couple(h, courant, tmp_path, medium=MEDIUM, **sides):
    moment = np.zeros((3, 3))
    moment[0, 1] = moment[1, 0] = 1e18
    case = full_space(h, courant, medium=medium, moment_at=[], moments=[[0, 0, 0, 1e18, 0, 0]], **sides)
    return misfits(case, lambda at, t: moment_tensor_motion(medium, moment, at, t, SIGMA, 1), tmp_path)


def test_double_couple_at_ten_points_per_wavelength(tmp_path):
    found = double_couple(SHORTEST_S / 10, 0.45, tmp_path)
    print(np.round(found, 4))
    assert found.max() <= 0.01


def test_force_at_ten_points_per_wavelength(tmp_path):
    force = np.array([1e12, -2e12, 3e12])
    case = full_space(SHORTEST_S / 10, 0.45, force_at=[], forces=[force])
    found = misfits(case, lambda at, t: force_motion(MEDIUM, force, at, t, SIGMA, 1), tmp_path)
    assert found.max() <= 0.01


@pytest.mark.long
def test_the_error_falls_with_the_square_of_the_step_and_the_fourth_power_of_the_cell(tmp_path):
    """Steps go with the square of cells, so that both errors fall as the fourth power: 16 times from 100 to 50 m.

    Layers are twice as thick as usual, for what they send back is no smaller on the finer grid. The ground is one that needs no
    rounding; what rounding adds to another's error does not fall with the cells (a source's strength lies in the media of few
    cells) and is below 0.1 %.
    """
    sides = {"width": 20, "settings": {"multiaxial_ratio": 0.0}}
    coarse = double_couple(100.0, 0.4, tmp_path, EXACT, **sides)
    fine = double_couple(50.0, 0.2, tmp_path, EXACT, **sides)
    order = np.log2(coarse / fine)
    print(np.round(order, 2))
    assert order.min() >= 3.7
    rounded = double_couple(50.0, 0.2, tmp_path, **sides)
    print(np.round(rounded, 5))
    assert np.sqrt(np.abs(rounded**2 - fine**2)).max() <= 1e-3


@pytest.mark.parametrize(
    "steps", [(0.45, 0.225, 0.1125), pytest.param((0.45, 0.225, 0.1125, 0.05625), marks=pytest.mark.long)]
)
def test_time_steps_are_of_second_order(tmp_path, steps):
    """Between runs whose steps differ by two, on the same grid: what changes falls by four."""
    found = {}
    for c in steps:
        case = full_space(100.0, c, moment_at=[], moments=[[0, 0, 0, 1e18, 0, 0]])
        result = run(case, tmp_path, MPI.COMM_SELF)
        t = np.arange(0.1, 1.4, 0.01)
        found[c] = np.array([[np.interp(t, result["t_velocity"], v) for v in s] for s in result["velocity"]])
    changes = [np.linalg.norm(found[one] - found[two]) for one, two in itertools.pairwise(steps)]
    for coarse, fine in itertools.pairwise(changes):
        assert 3.2 < coarse / fine < 4.8
