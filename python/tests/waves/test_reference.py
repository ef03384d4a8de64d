"""The exact solutions themselves: published figures, and each beside another way to the same number."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "reference"))

from waves_reference import (
    Medium,
    force_motion,
    gaussian,
    lamb_step,
    lamb_step_integral,
    lamb_vertical_motion,
    loh1_velocity,
    misfit,
    moment_tensor_motion,
    rayleigh_displacement,
    rayleigh_speed,
)

ROCK = Medium(6000, 3464, 2700)
POISSON = Medium(1000 * math.sqrt(3), 1000, 2000)
RECEIVER = np.array([600.0, 800.0, 2000.0])
M_XY = 1e18 * np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
SHARED = Path(os.environ.get("CRATON_SHARED", Path(__file__).resolve().parents[3].parent / "shared"))
LOH1 = SHARED / "data/loh1"


def test_gaussian_and_its_integrals():
    t = np.linspace(-1, 1, 4001)
    for n in (2, 1, 0, -1, -2):
        change = np.gradient(gaussian(t, 0.1, n - 1), t)[1:-1]
        assert np.abs(change - gaussian(t, 0.1, n)[1:-1]).max() < 1e-4 * np.abs(gaussian(t, 0.1, n)).max()


def test_double_couple_has_the_known_figures():
    t = np.linspace(-0.5, 3, 35001)
    velocity = moment_tensor_motion(ROCK, M_XY, RECEIVER, t, 0.06, derivatives=1)
    assert np.abs(velocity).max(axis=1) == pytest.approx([7.3711, 4.7457, 4.6108], rel=5e-5)
    final = moment_tensor_motion(ROCK, M_XY, RECEIVER, np.array([3.0]), 0.06)[:, 0]
    assert np.abs(final) == pytest.approx([8.3891e-2, 7.7682e-2, 8.4364e-2], rel=2e-5)


def test_a_moment_tensor_is_the_derivative_of_forces():
    rng = np.random.default_rng(5)
    moment = rng.normal(size=(3, 3)) * 1e17
    moment += moment.T
    t, step = np.linspace(-0.3, 1.5, 400), 0.5
    # A moment whose rate is g is a couple whose rate is g: velocities of the one are displacements by couples of forces g.
    wanted = np.zeros((3, len(t)))
    for q, axis in enumerate(np.eye(3)):
        wanted += force_motion(ROCK, moment[:, q], RECEIVER - step * axis, t, 0.06) / (2 * step)
        wanted -= force_motion(ROCK, moment[:, q], RECEIVER + step * axis, t, 0.06) / (2 * step)
    found = moment_tensor_motion(ROCK, moment, RECEIVER, t, 0.06, derivatives=1)
    assert misfit(found, wanted) < 1e-5


def test_velocity_is_the_rate_of_displacement():
    t = np.linspace(-0.3, 1.5, 20001)
    for motion, source in ((moment_tensor_motion, M_XY), (force_motion, np.array([1e12, -2e12, 3e12]))):
        rate = np.gradient(motion(ROCK, source, RECEIVER, t, 0.06), t, axis=1)[:, 1:-1]
        assert misfit(motion(ROCK, source, RECEIVER, t, 0.06, derivatives=1)[:, 1:-1], rate) < 1e-5


def test_lamb_has_the_known_figures():
    assert lamb_step(np.array([0.5, 0.8, 1.05, 1.2, 5])) == pytest.approx(
        [0, -0.010717, -0.343838, math.pi / 8, math.pi / 8], abs=1e-6
    )


def test_lamb_integral():
    for low, high in ((0.3, 0.9), (0.3, 1.05), (1.0, 1.08), (1.1, 3.0)):
        tau = np.linspace(low, high, 400_001)
        between = 0.5 * (tau[1:] + tau[:-1])
        direct = lamb_step(between).sum() * (tau[1] - tau[0])
        assert lamb_step_integral(high) - lamb_step_integral(low) == pytest.approx(direct, abs=6e-4)


def test_lamb_of_a_gaussian():
    t = np.linspace(0, 3, 301)
    displacement = lamb_vertical_motion(POISSON, 1e12, 1000, t, 0.1)
    steps = np.arange(-3, 6, 1e-4) + 3e-5  # 1 s is 1 unit of tau
    size = 3e12 / (math.pi**2 * POISSON.mu * 1000)
    slow = [size * np.sum(lamb_step(steps) * gaussian(at - steps, 0.1, 1)) * 1e-4 for at in t[::50]]
    assert displacement[::50] == pytest.approx(slow, abs=3e-3 * np.abs(displacement).max())
    rate = np.gradient(lamb_vertical_motion(POISSON, 1e12, 1000, np.linspace(0, 3, 1501), 0.1), 2e-3)
    assert lamb_vertical_motion(POISSON, 1e12, 1000, t, 0.1, derivatives=1) == pytest.approx(
        rate[::5], abs=1e-3 * np.abs(rate).max()
    )
    with pytest.raises(ValueError, match="3 vs"):
        lamb_vertical_motion(Medium(2000, 1000, 2000), 1, 1, t, 0.1)


def test_rayleigh_wave():
    assert rayleigh_speed(POISSON) == pytest.approx(1000 * math.sqrt(2 - 2 / math.sqrt(3)), rel=1e-12)
    for medium in (POISSON, Medium(4000, 2000, 2600)):
        k, h = 2 * math.pi / 500, 1e-3
        (u0, u1), (w0, w1) = rayleigh_displacement(medium, 500, np.array([0, h]))
        # u_x = u sin, u_z = w cos: no traction on the surface.
        lam = medium.rho * medium.vp**2 - 2 * medium.mu
        assert w0 == pytest.approx(1)
        assert (u1 - u0) / h - k * w0 == pytest.approx(0, abs=1e-5 * k)
        assert (lam + 2 * medium.mu) * (w1 - w0) / h + lam * k * u0 == pytest.approx(0, abs=1e-4 * medium.mu * k)


@pytest.mark.skipif(not LOH1.is_dir(), reason="needs shared/data/loh1 beside the repository")
def test_loh1_is_read_in_ground_motion():
    t, velocity = loh1_velocity(LOH1, 0.12)
    assert len(t) == 2000 and t[1] - t[0] == pytest.approx(0.008, rel=1e-4)
    # The first P waves run along the top of the half-space; the source's Gaussian is centred at 0.72 s.
    assert np.abs(velocity).max(axis=1) == pytest.approx([0.6654, 0.4709, 0.6141], rel=1e-3)
    vertical = np.abs(velocity[2])
    assert 2.1 < t[np.argmax(vertical > 0.01 * vertical.max())] < 2.3

    # What the radial component does before anything can arrive.
    early = t < 2
    _, at_rest = loh1_velocity(LOH1, 0.12, without_drift=True)
    assert np.abs(velocity[0][early]).max() > 0.014
    assert np.abs(at_rest[0][early]).max() < 0.004
    assert np.array_equal(at_rest[1:], velocity[1:])
    assert 0.09 < misfit(velocity[0], at_rest[0]) < 0.11
