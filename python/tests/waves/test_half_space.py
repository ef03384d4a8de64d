"""A free surface: Lamb's problem in closed form, and LOH.1, a layer over a half-space, against the frequency-wavenumber method."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from craton.seismology.sources.source_time import Gaussian
from craton.seismology.wave_run.dispersion import path_of
from mpi4py import MPI
from reference.waves_reference import Medium, gaussian, lamb_vertical_motion, loh1_velocity, misfit
from scipy.interpolate import CubicSpline
from wave_runs import Case, run

ROCK = Medium(3464.0 * np.sqrt(3), 3464.0, 2700.0)
SHARED = Path(os.environ.get("CRATON_SHARED", Path(__file__).resolve().parents[3].parent / "shared"))
LOH1 = SHARED / "data" / "loh1"


H, SIGMA = 50.0, 0.06
"""Of Lamb's problem: cells of which the shortest S waves have 10."""


def lamb_misfits(distances: list[float], courant: float, beside_the_grid: float, tmp_path: Path) -> list[float]:
    """Of vertical motion by a vertical force, both on the surface."""
    h, sigma, width = H, SIGMA, 10
    around = (width + 8) * h
    source = np.array([around + 225.0, around + 825.0, 0.0]) + beside_the_grid * h * np.array([1, 1, 0])
    dt = courant * h / ROCK.vp
    found = run(
        Case(
            (int((distances[-1] + 700 + 2 * around) / h), int((1650 + 2 * around) / h), int((1200 + around) / h)),
            h,
            dt,
            int((0.8 + distances[-1] / 3000) / dt),
            lambda x, y, z: (ROCK.vp, ROCK.vs, ROCK.rho),
            force_at=[source],
            forces=[[0, 0, 1e12]],
            rate=lambda t: gaussian(t - 5 * sigma, sigma, 0),
            stations=[source + np.array([each, 0, 0]) for each in distances],
            width=width,
            samples_per_side=1,
        ),
        tmp_path,
        MPI.COMM_SELF,
    )
    t = found["t_velocity"] - 5 * sigma
    errors = [
        misfit(velocity[2], lamb_vertical_motion(ROCK, 1e12, each, t, sigma, 1))
        for each, velocity in zip(distances, found["velocity"], strict=True)
    ]
    print(dict(zip(distances, np.round(errors, 5).tolist(), strict=True)))
    return errors


@pytest.mark.parametrize("beside_the_grid", [0.0, 0.3])
def test_lamb(tmp_path, beside_the_grid):
    """At 500, 1000 and 1500 m, to 1 %."""
    assert max(lamb_misfits([500.0, 1000.0, 1500.0], 0.45, beside_the_grid, tmp_path)) <= 0.01


@pytest.mark.parametrize("courant", [0.45, pytest.param(0.3, marks=pytest.mark.long)])
def test_errors_of_surface_waves_grow_as_dispersion_says(tmp_path, courant):
    """Of Rayleigh waves, from 1 to 4 km: in proportion to the distance, by 0.15 % for each of the shortest S waves at 0.45."""
    distances = [1000.0, 2000.0, 3000.0, 4000.0]
    found = np.array(lamb_misfits(distances, courant, 0.0, tmp_path))
    path = path_of(1000.0, ROCK.vs, Gaussian(SIGMA))
    foretold = path.error(H, courant * H / ROCK.vp)
    growth = np.diff(found)
    print(courant, growth / path.wavelengths, foretold / path.wavelengths)
    assert growth == pytest.approx(np.full(3, growth.mean()), rel=0.25)
    # Rayleigh waves are 0.92 times as long as S waves
    assert 0.9 * foretold <= growth.mean() <= 1.5 * foretold


def layer_over_half_space(x, y, z):
    return (4000.0, 2000.0, 2600.0) if z < 1000 else (6000.0, 3464.0, 2700.0)


def loh1_misfits(h: float, tmp_path: Path, duration: float = 12.0) -> tuple[dict[str, float], dict[str, float]]:
    """Of radial, transverse and vertical velocity at (6000, 8000, 0) m; the source's Gaussian has sigma = 0.12 s.

    Against the reference as it is, and without the drift of its radial component, a sinusoid that begins before any wave can
    arrive.
    """
    sigma, width = 0.12, int(1000.0 / h)  # layers of one thickness: waves graze them
    low = -np.ceil((1500.0 + width * h) / h) * h
    cells = [int((high + 1500.0 + width * h - low) / h) for high in (6000.0, 8000.0)]
    dt = 0.45 * h / 6000.0
    source = np.array([-low, -low, 2000.0])
    found = run(
        Case(
            (*cells, int((5500.0 + width * h) / h)),
            h,
            dt,
            int(duration / dt),
            layer_over_half_space,
            moment_at=[source],
            moments=[[0, 0, 0, 1e18, 0, 0]],
            rate=lambda t: gaussian(t - 6 * sigma, sigma, 0),
            stations=[source * [1, 1, 0] + [6000.0, 8000.0, 0.0]],
            width=width,
        ),
        tmp_path,
        MPI.COMM_SELF,
    )
    north, east, down = found["velocity"][0]
    components = {"radial": 0.6 * north + 0.8 * east, "transverse": -0.8 * north + 0.6 * east, "vertical": down}

    def misfits(without_drift: bool) -> dict[str, float]:
        t, wanted = loh1_velocity(LOH1, sigma, without_drift=without_drift)
        inside = t <= found["t_velocity"][-1]
        return {
            name: misfit(CubicSpline(found["t_velocity"], velocity)(t[inside]), reference[inside])
            for (name, velocity), reference in zip(components.items(), wanted, strict=True)
        }

    return misfits(False), misfits(True)


needs_reference = pytest.mark.skipif(not LOH1.exists(), reason=f"the LOH.1 reference is not there: {LOH1}")


@pytest.mark.long
@needs_reference
def test_loh1_with_cells_of_100_m(tmp_path):
    """AWP-ODC with the same cells: 0.21, 0.36, 0.063 (perfectly matched layers of 20 cells)."""
    found, without_drift = loh1_misfits(100.0, tmp_path)
    print(found, without_drift)
    assert found["radial"] <= 0.15
    assert found["transverse"] <= 0.20
    assert found["vertical"] <= 0.06


@pytest.mark.long
@needs_reference
def test_loh1_with_cells_of_50_m(tmp_path):
    """To 0.05. The reference's radial drift alone is a misfit of 0.07 for an exact solution: it is compared without."""
    found, without_drift = loh1_misfits(50.0, tmp_path)
    print(found, without_drift)
    assert max(without_drift.values()) <= 0.05
    assert found["transverse"] <= 0.05
    assert found["vertical"] <= 0.05
