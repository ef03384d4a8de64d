"""Waves from a finite fault to a site, and the same by reciprocity: waves from the site to the fault."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

from craton.hazard import measure_records
from craton.hazard.motion.seismograms import seismograms
from hazard_runs import Basin, small_rupture, small_variation, through_pulse

PERIODS_S = [2.0, 3.0, 5.0, 10.0]


@pytest.fixture(scope="module")
def basin(tmp_path_factory):
    made = Basin(tmp_path_factory.mktemp("basin"))
    made.write_rock()
    return made


def test_a_rupture_by_reciprocity_is_the_rupture_itself(basin):
    """In rough rock under a free surface, seismograms to 1 % and PSA at 2, 3, 5 and 10 s to 1 %, each component."""
    assert_reciprocal(basin)


def test_so_it_is_on_a_turned_grid(tmp_path):
    """The fault's strikes in the SRF file are from north, those of its moment tensors from the x axis."""
    small = Basin(tmp_path, cells=(44, 36, 20), spacing=450.0, duration=22.0, sigma=0.7, azimuth=130.0)
    small.write_rock()
    assert_reciprocal(small)


def assert_reciprocal(basin):
    rupture = small_rupture(basin.azimuth)
    variation = small_variation(rupture)
    green = basin.green(rupture.surface.positions)
    assert green.directions == ("x", "y", "z") and green.pulse == "gaussian"
    found = next(seismograms(green, rupture, [variation], slip_rate="liu"))[0]
    times, forward = basin.forward(rupture, variation, "liu")
    at = green.dt_s * np.arange(found.shape[1])
    inside = at <= times[-1] - 7 * basin.sigma
    wanted = through_pulse(times, forward, basin.sigma, np.clip(at, times[0], times[-1]))
    error = np.linalg.norm((found - wanted)[:, inside], axis=1) / np.linalg.norm(wanted[:, inside], axis=1)
    both = [
        measure_records(series[None][:, :, inside].astype(np.float32), green.dt_s, PERIODS_S)
        for series in (found, wanted)
    ]
    psa = both[0].psa[0] / both[1].psa[0] - 1
    rotated = both[0].rotd50[0] / both[1].rotd50[0] - 1
    print(f"L2 of x, y, z: {error}; PSA: {np.abs(psa).max(axis=0)}; RotD50: {np.abs(rotated)}")
    assert np.abs(wanted).max() > 0.01
    assert error.max() <= 0.01
    assert np.abs(psa).max() <= 0.01
    assert np.abs(rotated).max() <= 0.01


def test_files_say_what_they_are_of(basin):
    """After the runs of the test before."""
    with h5py.File(basin.folder / "force_y" / "sgt.h5") as file:
        facts = dict(file["sgt"].attrs)
        assert list(facts["force_N"]) == [0, 1e15, 0] and list(facts["force_position_m"]) == list(basin.site)
        assert facts["force_pulse"] == b"gaussian"
        assert facts["force_pulse_integral_s"] == pytest.approx(np.sqrt(2 * np.pi) * basin.sigma, rel=1e-6)
        assert facts["force_pulse_centre_s"] == pytest.approx(6 * basin.sigma, rel=1e-6)
        assert file["mu_Pa"].shape == file["lambda_Pa"].shape == (24,)
        vs = np.fromfile(basin.folder / "rock.bin", "<f4").reshape(*basin.cells[::-1], 3)[..., 1]
        assert 1900 * vs.min() ** 2 < file["mu_Pa"][:].min() < file["mu_Pa"][:].max() < 3000 * vs.max() ** 2
