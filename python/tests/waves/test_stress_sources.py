"""Stresses as sources: on the grid the velocities are those of the forces that their divergence is, to rounding."""

from __future__ import annotations

import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI")

from craton import World, _craton
from craton.seismology.sources.point_sources import PointSources, point_source
from craton.seismology.sources.source_time import Gaussian
from craton.waves import Simulation, load_config

CELLS, H, DT, STEPS = (24, 22, 20), 100.0, 0.008, 60
DIFFERENCE = {-1: 9 / 8, 1: -9 / 8, -3: -1 / 24, 3: 1 / 24}
"""Forces beside a stress of 1, in halves of a cell along the axis of a difference of fourth order; to be divided by h."""
FORCES = {"xz": (("x", 2), ("z", 0)), "yz": (("y", 2), ("z", 1)), "zz": (("z", 2),)}
"""Of each stress: forces along which axis, and along which one they are spread."""
OWN_POINT = {"xz": (0.0, 0.5, 0.0), "yz": (0.5, 0.0, 0.0), "zz": (0.5, 0.5, 0.5)}
"""Where in its cell each stress lies, in cells."""


def rough(x0, y0, z, spacing, nx, ny):
    x, y = x0 + spacing * np.arange(nx), (y0 + spacing * np.arange(ny))[:, None]
    vs = 2000 + 200 * np.sin(x / 300) * np.cos(y / 200) + 0.2 * z
    return 1.8 * vs, vs, np.full((ny, nx), 2500.0)


def solver() -> _craton.WaveRun:
    options = _craton.WaveOptions()
    sides = _craton.WaveAbsorbing()
    sides.kind = "none"
    options.absorbing, options.spacing_m, options.dt_s = sides, H, DT
    return _craton.WaveRun(World(MPI.COMM_SELF), CELLS, (1, 1, 1), options, rough, [])


NOWHERE, NOTHING = np.empty((0, 3)), np.empty((0, 6))


@pytest.mark.parametrize("which", ["xz", "yz", "zz"])
def test_a_stress_moves_the_ground_as_its_divergence_does(which):
    strength, cell = 1e15, np.array([12, 11, 9])
    at = H * (cell + OWN_POINT[which])
    source = PointSources("moment", (point_source(f"stress_{which}", at, strength, Gaussian(0.04)),))
    rates = source.rates(0, STEPS, DT)
    stressed = solver()
    stressed.set_sources(source.position_m, source.pattern, NOWHERE, NOWHERE)
    stressed.set_moment_rates(0, rates)
    stressed.advance(STEPS)

    places, forces = [], []
    for axis, along in FORCES[which]:
        for halves, weight in DIFFERENCE.items():
            place, force = at.copy(), np.zeros(3)
            place[along] += 0.5 * H * halves
            force["xyz".index(axis)] = strength * weight / H
            places.append(place)
            forces.append(force)
    # a velocity's step sees the stress of all steps before
    history = np.concatenate([[0.0], np.cumsum(rates[0].astype(float))[:-1]]) * DT
    forced = solver()
    forced.set_sources(NOWHERE, NOTHING, np.array(places), np.array(forces))
    forced.set_force_series(0, np.tile(history.astype(np.float32), (len(places), 1)))
    forced.advance(STEPS)

    for name in ("vx", "vy", "vz"):
        one, other = stressed.field(name), forced.field(name)
        assert np.abs(other).max() > 0
        np.testing.assert_allclose(one, other, rtol=0, atol=2e-5 * np.abs(other).max())
    assert np.array(forces).sum(axis=0) == pytest.approx([0, 0, 0], abs=1e-3)


@pytest.mark.parametrize("which", ["xz", "yz", "zz"])
def test_a_stress_at_its_own_point_changes_one_value(which):
    cell = np.array([12, 11, 9])
    source = PointSources(
        "moment", (point_source(f"stress_{which}", H * (cell + OWN_POINT[which]), 1e15, Gaussian(0.04)),)
    )
    waves = solver()
    waves.set_sources(source.position_m, source.pattern, NOWHERE, NOWHERE)
    waves.set_moment_rates(0, np.array([[2.0]], np.float32))
    waves.advance(1)
    stress = waves.field(which)
    assert np.flatnonzero(stress).tolist() == [np.ravel_multi_index(tuple(cell[::-1]), stress.shape)]
    assert stress[tuple(cell[::-1])] == pytest.approx(1e15 * 2.0 * DT / H**3, rel=1e-6)
    others = {"xx", "yy", "zz", "xy", "xz", "yz"} - {which}
    assert not any(waves.field(name).any() for name in others)


def test_a_configuration_of_a_stress(tmp_path):
    """Is that of the moment of the other sign."""
    text = """
[grid]
size_m = [2000, 1800, 1600]
spacing_m = 100
[time]
duration_s = 0.4
[boundary]
width_cells = 4
[[source]]
mode = "stress_yz"
position_m = [1010, 930, 600]
stress_Nm = [2e15]
time_function = "gaussian"
sigma_s = 0.1
centre_s = 0.2
"""
    moved = []
    for change in ("", "moment_Nm = [0, 0, 0, 0, 0, -2e15]"):
        (tmp_path / "small.toml").write_text(
            text.replace("stress_Nm = [2e15]", change).replace("stress_yz", "moment_rate") if change else text
        )
        simulation = Simulation(load_config(tmp_path / "small.toml"), World(MPI.COMM_SELF), MPI.COMM_SELF)
        simulation.advance(simulation.steps)
        moved.append(simulation.run.field("vz"))
    assert np.abs(moved[0]).max() > 0
    np.testing.assert_array_equal(*moved)
