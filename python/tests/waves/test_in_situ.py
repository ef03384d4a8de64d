"""A module inside a wave run: peak velocity at the surface, beside a field of seismograms."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import read_snapshots
from craton.waves import in_situ
from craton.waves.in_situ import PeakVelocity, costs_of_modules, peak_of_files
from craton.waves.in_situ_costs import peak_picture
from craton.waves.start import run
from mpi4py import MPI
from wave_config import craton

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
    return load_config(folder / "small.toml", directory=folder / "run")


def test_peaks_are_those_of_the_snapshots(config):
    """Which another module has written, at the same steps."""
    found = costs_of_modules(config, MPI.COMM_SELF, config.path.parent, every=5, repeats=1)
    costs, peak = found.costs, found.peak
    run(config, MPI.COMM_SELF, report=False)
    fields = read_snapshots(WavesFolder(config.run.directory).snapshots).fields
    expected = np.hypot(fields["vx"][:, 0], fields["vy"][:, 0]).max(axis=0)
    assert peak.shape == expected.shape == (24, 28) and peak.max() > 1e-6
    np.testing.assert_allclose(peak, expected, rtol=1e-6, atol=1e-7 * peak.max())
    assert found.difference == 0
    assert [cost.modules for cost in costs] == ["none", "SGT writer", "peak velocity", "both", "snapshot files"]
    assert all(cost.seconds > 0 for cost in costs)
    assert costs[0].module_seconds < costs[3].module_seconds
    assert [cost.afterwards_s > 0 for cost in costs] == [False] * 4 + [True]
    assert not list(config.path.parent.glob("in-situ-*.h5*"))


def test_a_map_from_files_is_made_piece_by_piece(tmp_path, monkeypatch):
    """Beside a plain loop; a difference between the two maps would be seen."""
    random = np.random.default_rng(1)
    vx, vy = random.standard_normal((2, 7, 1, 3, 4)).astype(np.float32)
    with h5py.File(tmp_path / "surface.h5", "w") as file:
        file["vx"], file["vy"] = vx, vy
    monkeypatch.setattr(in_situ, "AT_ONCE_BYTES", 4 * 12 * 2)
    found = peak_of_files(tmp_path / "surface.h5")
    for j in range(3):
        for i in range(4):
            wanted = max(float(np.sqrt(vx[t, 0, j, i] ** 2 + vy[t, 0, j, i] ** 2)) for t in range(7))
            assert found[j, i] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.long
def test_the_command_on_two_ranks(config, tmp_path):
    """Prints what it found; its map is that of one rank."""
    alone = costs_of_modules(config, MPI.COMM_SELF, tmp_path, every=5, repeats=1).peak
    path = tmp_path / "peak.csv"
    done = craton("in-situ", config.path, "--ranks", "2", "--output", path, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "on 2 ranks" in done.stdout and "in place and from files the same within 0 of it" in done.stdout
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    assert rows[0, :2] == pytest.approx([250, 250]) and rows[-1, :2] == pytest.approx([13750, 11750])
    np.testing.assert_allclose(rows[:, 2].reshape(alone.shape), alone, rtol=1e-5, atol=1e-7 * alone.max())
    refused = craton("in-situ", config.path, "--output", "peak.xyz", cwd=tmp_path)
    assert refused.returncode == 2 and "'.xyz'" in refused.stderr and ".csv, .png" in refused.stderr
    as_json = craton("in-situ", config.path, "--json", cwd=tmp_path)
    found = json.loads(as_json.stdout)
    assert [cost["modules"] for cost in found["costs"]][:2] == ["none", "SGT writer"] and found["difference"] == 0


def test_the_picture_leaves_out_what_is_no_ground(config):
    peak = np.arange(24 * 28, dtype=np.float32).reshape(24, 28)
    (image,) = peak_picture(config, peak).axes[0].get_images()
    assert np.array_equal(image.get_array(), 100 * peak[4:20, 4:24].T)
    assert image.get_extent() == pytest.approx([2.0, 10.0, 2.0, 12.0])


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
    with pytest.raises(UserError, match="in-situ every 5000 steps, but the run has"):
        costs_of_modules(config, MPI.COMM_SELF, config.path.parent, every=5000)
    with pytest.raises(UserError, match="every 0 steps; allowed"):
        costs_of_modules(config, MPI.COMM_SELF, config.path.parent, every=0)
