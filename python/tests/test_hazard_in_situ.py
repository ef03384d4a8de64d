"""Hazard's module inside a wave run: peak velocity at the surface, beside a field of seismograms."""

from __future__ import annotations

import numpy as np
import pytest
from craton.errors import UserError
from craton.hazard.in_situ import PeakVelocity, costs_of_modules
from craton.waves.command import loaded, run
from craton.waves.results import read_snapshots
from craton.waves.run_folder import WavesFolder
from mpi4py import MPI

CONFIG = """
[grid]
size_km = [14.0, 12.0, 8.0]
spacing_m = 500.0
points_per_wavelength = 0

[time]
duration_s = 6.0

[boundary]
absorbing = "sponge"
width_cells = 4

[sgt]
points = "points.txt"
every = 2

[snapshots]
every = 5
fields = ["vx", "vy"]

[[source]]
position_m = [6000.0, 5000.0, 2000.0]
moment_Nm = [1e16, 0.0, -1e16, 2e16, 0.0, 0.0]
time_function = "gaussian"
sigma_s = 0.3
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("in-situ")
    (folder / "points.txt").write_text("6000 5000 1000\n7000 6000 3000\n")
    (folder / "small.toml").write_text(CONFIG)
    return loaded(folder / "small.toml", directory=folder / "run")


def test_peaks_are_those_of_the_snapshots(config):
    """Which another module has written, at the same steps."""
    costs, peak = costs_of_modules(config, MPI.COMM_SELF, config.path.parent, every=5, repeats=1)
    run(config, MPI.COMM_SELF, pictures=False)
    fields = read_snapshots(WavesFolder(config.run.directory).snapshots).fields
    expected = np.hypot(fields["vx"][:, 0], fields["vy"][:, 0]).max(axis=0)
    assert peak.shape == expected.shape == (24, 28) and peak.max() > 1e-6
    np.testing.assert_allclose(peak, expected, rtol=1e-6, atol=1e-7 * peak.max())
    assert [cost.modules for cost in costs] == ["none", "SGT writer", "peak velocity", "both"]
    assert all(cost.seconds > 0 for cost in costs)
    assert costs[0].module_seconds < costs[3].module_seconds
    assert not list(config.path.parent.glob("in-situ-sgt*"))


def test_parts_of_ranks_come_together():
    one, other = PeakVelocity((4, 3, 2)), PeakVelocity((4, 3, 2))
    fields = {"vx": np.full((1, 3, 2), 3.0, np.float32), "vy": np.full((1, 3, 2), 4.0, np.float32)}
    one(0, 0.0, fields, (0, 0, 0))
    one(1, 0.1, {name: 0.5 * values for name, values in fields.items()}, (0, 0, 0))
    other(0, 0.0, {name: 2 * values for name, values in fields.items()}, (2, 0, 0))

    class Comm:
        @staticmethod
        def gather(part, root):
            return [part, (other.first, other.peak)]

    whole = one.gathered(Comm())
    np.testing.assert_array_equal(whole, [[5.0, 5.0, 10.0, 10.0]] * 3)


def test_without_points_there_is_nothing_to_compare(config):
    with pytest.raises(UserError, match=r"\[sgt\] points is missing; allowed"):
        costs_of_modules(config.replaced("sgt", points=""), MPI.COMM_SELF, config.path.parent, every=5)
    with pytest.raises(UserError, match="every 0 steps; allowed"):
        costs_of_modules(config, MPI.COMM_SELF, config.path.parent, every=0)
