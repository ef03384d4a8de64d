"""Surface topography: beside the free surface of flat ground, tilted, and a run over a hill from its configuration.

tests/mpi/waves/solver_test.cpp has rough ground: energy, ranks, restarts.
"""

from __future__ import annotations

import time
from pathlib import Path

import craton
import numpy as np
import pytest
from craton import _craton, waves
from craton.seismology.ground.topography import Topography
from mpi4py import MPI
from reference.spectral_elements import Box, Hill, Mesh
from reference.waves_reference import Medium, gaussian, lamb_vertical_motion, misfit
from scipy.interpolate import CubicSpline
from wave_config import here
from wave_runs import Case, run

ROCK = Medium(3464.0 * np.sqrt(3), 3464.0, 2700.0)
SHORTEST_M, SIGMA = 500.0, 0.06
"""The shortest S waves of the pulse, where its spectrum falls below 5 % of its largest value."""
DISTANCES = (1000.0, 1500.0)
DEPTH_M = 250.0


def ground(x, y, z):
    return ROCK.vp, ROCK.vs, ROCK.rho


def under_a_plane(points: int, slope: float, tmp_path: Path, *, air: float = 0.0, pad_m: float = 0.0):
    """Motion along and across a plane that falls along x, by an explosion below it: times, (station, along/across, time).

    points: to the shortest S wave. air: cells above the highest ground; 0: the flat free surface at z = 0.
    """
    h, width = SHORTEST_M / points, 10
    margin = (width + 6) * h + pad_m
    cosine, sine = np.cos(np.arctan(slope)), np.sin(np.arctan(slope))
    across, along = np.array([-sine, 0, cosine]), np.array([cosine, 0, sine])
    x0, length, breadth = margin + 200, DISTANCES[-1] * cosine + 2 * margin + 400, 2 * margin + 900

    def surface(x, y):
        return air * h + slope * x + 0 * y

    foot = np.array([x0, breadth / 2, surface(x0, 0)])
    size = (length, breadth, surface(length, 0) + 700 + pad_m + (width + 4) * h)
    dt = 0.45 * h / ROCK.vp
    cells = tuple(round(each / h) for each in size)
    found = run(
        Case(
            cells,
            h,
            dt,
            int(1.15 / dt),
            ground,
            moment_at=[foot + DEPTH_M * across],
            moments=[[1e15, 1e15, 1e15, 0, 0, 0]],
            rate=lambda t: gaussian(t - 5 * SIGMA, SIGMA, 0),
            stations=[foot + each * along for each in DISTANCES],
            width=width,
            samples_per_side=1,
            surface_m=surface if air else None,
        ),
        tmp_path,
        MPI.COMM_SELF,
    )
    return found["t_velocity"], np.einsum("sct,pc->spt", found["velocity"].astype(float), np.array([along, across]))


def differences(found, wanted) -> np.ndarray:
    """Relative L2, (station, along/across)."""
    (t, motion), (t_wanted, expected) = found, wanted
    t = t[t < t_wanted[-1]]
    expected = CubicSpline(t_wanted, expected, axis=2)(t)
    return np.array(
        [
            [misfit(a[: len(t)], b) for a, b in zip(*pair, strict=True)]
            for pair in zip(motion[..., : len(t)], expected, strict=True)
        ]
    )


@pytest.mark.parametrize(
    ("points", "allowed"),
    [(10, 0.04), pytest.param(15, 0.02, marks=pytest.mark.long), pytest.param(20, 0.015, marks=pytest.mark.long)],
)
def test_flat_ground_below_air_moves_as_below_the_free_surface(tmp_path, points, allowed):
    """Rayleigh and body waves of an explosion at 250 m, at 2 and 3 of the shortest S wavelengths."""
    found = differences(under_a_plane(points, 0, tmp_path, air=4), under_a_plane(points, 0, tmp_path))
    print(points, np.round(found, 4).tolist())
    assert found.max() <= allowed


def test_flat_ground_may_lie_between_faces(tmp_path):
    """The first cell of a column counts with its thickness; as a whole cell the surface would be 0.4 cells off."""
    found = differences(under_a_plane(10, 0, tmp_path, air=4.4), under_a_plane(10, 0, tmp_path))
    print(np.round(found, 4).tolist())
    assert found.max() <= 0.06


@pytest.mark.parametrize(
    ("points", "slope", "allowed"),
    [
        (10, 0.25, 0.25),
        (10, 0.5, 0.2),
        pytest.param(15, 0.25, 0.12, marks=pytest.mark.long),
        pytest.param(15, 0.5, 0.12, marks=pytest.mark.long),
        pytest.param(20, 0.25, 0.12, marks=pytest.mark.long),
        pytest.param(20, 0.5, 0.12, marks=pytest.mark.long),
    ],
)
def test_tilted_ground_moves_as_flat_ground_turned(tmp_path, points, slope, allowed):
    """Slopes of 14 and 27 degrees; a staircase whose shear stresses end at air was wrong by 40 to 84 % at 10 points.

    Ground is level in the absorbing sides: what their kinks send back within the time is part of the misfit.
    """
    found = differences(
        under_a_plane(points, slope, tmp_path, air=4, pad_m=500), under_a_plane(10, 0, tmp_path, pad_m=500)
    )
    print(points, slope, np.round(found, 4).tolist())
    assert found.max() <= allowed


def test_source_and_receiver_can_be_swapped_over_rough_ground(tmp_path):
    """Along x at one place and along z at another, both on the ground."""
    h, cells = 50.0, (30, 28, 26)
    depth = h * np.random.default_rng(5).uniform(4, 9, (28, 30))
    depth[12:17, :] = 6.3 * h  # a valley, along which both lie
    places = [np.array([437.0, 730.0, 6.3 * h]), np.array([1021.0, 705.0, 6.3 * h + 30])]
    forces = [np.array([1e12, 0, 0]), np.array([0, 0, 1e12])]
    found = [
        run(
            Case(
                cells,
                h,
                0.4 * h / ROCK.vp,
                150,
                ground,
                force_at=[places[n]],
                forces=[forces[n]],
                rate=lambda t: gaussian(t - 5 * SIGMA, SIGMA, 0),
                stations=[places[1 - n]],
                width=6,
                samples_per_side=1,
                surface_m=lambda x, y: depth,
            ),
            tmp_path,
            MPI.COMM_SELF,
        )["velocity"][0, 2 - 2 * n]
        for n in (0, 1)
    ]
    print(np.abs(found[0] - found[1]).max() / np.abs(found[0]).max())
    assert np.abs(found[0] - found[1]).max() <= 1e-4 * np.abs(found[0]).max()


HILL_MOTION = Path(__file__).parents[1] / "reference" / "gaussian_hill.npz"
"""What `python spectral_elements.py` wrote there."""


def motion_on_a_hill(h: float, tmp_path: Path):
    """Of the reference's case: times, velocity (station, component, time), and seconds for each of the ground's cells and steps."""
    hill, half = Hill(), 1200.0
    dt, cells = 0.45 * h / hill.vp, (round(2 * half / h),) * 2
    middles = (np.arange(cells[0]) + 0.5) * h - half
    top = hill.height_m + 4 * h
    land = Topography(top + hill.surface(middles[:, None], middles[None, :]), h, top)

    def at(x, y, below):
        depth = float(land.depth_at(np.array([x + half]), np.array([y + half]))[0])
        return np.array([x + half, y + half, depth + below + 1e-6])

    depth = round((top + 1000) / h)
    case = Case(
        (*cells, depth),
        h,
        dt,
        int(hill.duration_s / dt),
        lambda x, y, z: (hill.vp, hill.vs, hill.rho),
        moment_at=[at(*hill.source, hill.below_surface_m)],
        moments=[[hill.moment_Nm] * 3 + [0, 0, 0]],
        rate=lambda t: gaussian(t - 5 * hill.sigma_s, hill.sigma_s, 0),
        stations=[at(*each, 0.0) for each in hill.stations],
        width=10,
        samples_per_side=1,
        surface_m=lambda x, y: land.surface_m.T,
    )
    begin = time.perf_counter()
    found = run(case, tmp_path, MPI.COMM_SELF)
    spent = time.perf_counter() - begin
    return found["t_velocity"], found["velocity"].astype(float), spent / (cells[0] * cells[1] * depth * case.steps)


@pytest.mark.parametrize(
    ("h", "allowed"), [(30.0, 0.2), (20.0, 0.1), pytest.param(40.0 / 3, 0.09, marks=pytest.mark.long)]
)
def test_a_hill_moves_as_by_spectral_elements(tmp_path, h, allowed):
    """Explosion below its side, stations at the top, on the sides and in the plain: 10, 15 and 23 points to the shortest S wave."""
    stored = np.load(HILL_MOTION)
    expected, dt = stored["velocity"].astype(float), float(stored["dt_s"])
    t, found, cost = motion_on_a_hill(h, tmp_path)
    times = (np.arange(expected.shape[2]) + 0.5) * dt
    inside = times < t[-1]
    motion = CubicSpline(t, found, axis=2)(times[inside])
    off = np.sqrt(
        ((motion - expected[..., inside]) ** 2).sum(axis=(1, 2)) / (expected[..., inside] ** 2).sum(axis=(1, 2))
    )
    print(f"{h:.1f} m: {np.round(off, 3).tolist()}, {1e9 * cost:.1f} ns for a cell and step")
    assert off.max() <= allowed


@pytest.mark.long
def test_the_reference_of_the_hill():
    """Spectral elements of 200 m on flat ground are Lamb's to 1 %; on the hill they are those of 142 m to 9 %."""
    hill = Hill(height_m=0.0, moment_Nm=0.0)
    mesh = Mesh(Box((-1700.0, -1700.0), 200.0, (17, 17, 7), 1400.0, hill.surface), hill.vp, hill.vs, hill.rho)
    sources = mesh.point_forces(mesh.locate(0, 0, 0), np.array([0, 0, 1e12]))
    dt = 0.006
    receivers = [mesh.locate(x, 0, 0) for x in (400.0, 800.0)]
    found = mesh.run(sources, lambda t: gaussian(t - 5 * hill.sigma_s, hill.sigma_s, 0), dt, int(1.6 / dt), receivers)
    times = (np.arange(found.shape[2]) + 0.5) * dt - 5 * hill.sigma_s
    rock = Medium(hill.vp, hill.vs, hill.rho)
    for motion, x in zip(found, (400.0, 800.0), strict=True):
        off = misfit(motion[2], lamb_vertical_motion(rock, 1e12, x, times, hill.sigma_s, 1))
        print(x, off)
        assert off <= 0.012
    stored = np.load(HILL_MOTION)
    coarse, dt = Hill().velocities(200.0)
    times = (np.arange(stored["velocity"].shape[2]) + 0.5) * float(stored["dt_s"])
    motion = CubicSpline((np.arange(coarse.shape[2]) + 0.5) * dt, coarse, axis=2)(times[:-2])
    expected = stored["velocity"][..., :-2]
    off = np.sqrt(((motion - expected) ** 2).sum(axis=(1, 2)) / (expected**2).sum(axis=(1, 2)))
    print(off)
    assert off.max() <= 0.09


HILL = """
[grid]
size_m = [2400, 2400, 2000]
spacing_m = 100
points_per_wavelength = 0
[time]
duration_s = 0.4
[topography]
hill = {height_m = 400, radius_m = 500, centre_m = [1250, 1150]}
[media]
kind = "layers"
layers = [[300, 4000, 2300, 2500], [0, 5000, 2800, 2600]]
vs30 = 1500.0
[attenuation]
[boundary]
width_cells = 5
[receivers]
stations = [["TOP", 1250, 1150], ["DEEP", 700, 700, 150]]
[movie]
every = 4
z_m = 900
[[source]]
position_m = [1250, 1250, 1100]
moment_Nm = [0, 0, 0, 1e15, 0, 0]
time_function = "gaussian"
sigma_s = 0.12
centre_s = 0.2
"""


def test_a_run_over_a_hill_from_its_configuration(tmp_path):
    (tmp_path / "hill.toml").write_text(HILL)
    said = " ".join(here("check", "hill.toml", cwd=tmp_path).replace("│", " ").split())  # however wide the table is
    assert "elevations from" in said and "of the cells are air" in said
    here("run", "hill.toml", "--directory", "out", cwd=tmp_path)
    found = waves.read_seismograms(tmp_path / "out")
    surface = waves.Setup(waves.load_config(tmp_path / "hill.toml")).topography.depth_at(*found.position_m.T[:2])
    assert found.position_m[:, 2] == pytest.approx(surface + [0, 150])
    assert (np.abs(found.velocity).max(axis=(1, 2)) > 0).all() and np.isfinite(found.velocity).all()
    plane = waves.read_snapshots(tmp_path / "out" / "surface.h5")
    assert np.abs(plane.fields["vz"]).max() > 0
    assert "elevations from" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.long
def test_what_topography_costs():
    """Time per cell of the steps over a hill of 24 cells, beside the free surface of a grid without the air; in turns."""
    cells, h, air = (160, 160, 128), 50.0, 28
    x, y = ((np.arange(n) + 0.5) * h for n in cells[:2])
    hill = 24 * h * np.exp(-((x[None, :] - 4000) ** 2 + (y[:, None] - 4000) ** 2) / 1500.0**2)
    world, made = craton.World(MPI.COMM_SELF), {}
    for name, depth in (("free surface", 0), ("topography", air)):
        options = _craton.WaveOptions()
        options.spacing_m, options.dt_s, options.samples_per_side = h, 0.4 * h / ROCK.vp, 1
        shape = (*cells[:2], cells[2] - air + depth)
        if depth:
            options.set_topography(shape, np.ascontiguousarray(air * h - hill))

        def rock(_x, _y, _z, _spacing, nx, ny):
            return [np.full((ny, nx), value, np.float32) for value in (ROCK.vp, ROCK.vs, ROCK.rho)]

        made[name] = (_craton.WaveRun(world, shape, (1, 1, 1), options, rock), np.prod(shape), [])
    for turn in range(5):
        for run_of, _, seconds in made.values():
            begun_s = time.perf_counter()
            run_of.advance(8)
            if turn:
                seconds.append((time.perf_counter() - begun_s) / 8)
    flat, hilly = ((np.median(seconds), points) for _, points, seconds in made.values())
    ground = made["topography"][1] * (1 - np.mean(air - hill / h) / cells[2])
    print(
        f"free surface {1e9 * flat[0] / flat[1]:.2f} ns per cell; topography {1e9 * hilly[0] / hilly[1]:.2f} ns per cell, "
        f"{1e9 * hilly[0] / ground:.2f} ns per cell of ground"
    )
    assert hilly[0] / ground < 2 * flat[0] / flat[1]
