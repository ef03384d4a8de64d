"""[grid] coarser_below_m: larger cells below a depth, beside cells that are all alike; and what does not go with it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import command_line
import h5py
import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

from craton import UserError
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.results import read_seismograms
from craton.seismology.wave_run.setup import Setup
from html_pages import checked
from reference.waves_reference import loh1_velocity, misfit
from scipy.interpolate import CubicSpline
from wave_config import changed, craton, here

SHARED = Path(os.environ.get("CRATON_SHARED", Path(__file__).resolve().parents[3].parent / "shared"))
LOH1 = SHARED / "data" / "loh1"

CONFIG = """
[grid]
size_m = [4800, 4500, 4050]
spacing_m = 50.0
coarser_below_m = 750

[time]
duration_s = 1.5
dt_s = 0.0045

[media]
kind = "layers"
layers = [[750.0, 3000.0, 1600.0, 2300.0], [0.0, 5000.0, 2900.0, 2600.0]]

[boundary]
width_cells = 3

[receivers]
stations = [["NEAR", 2500.0, 2300.0], ["FAR", 3110.0, 2950.0, 130.0]]

[movie]
every = 50

[checkpoint]
every_steps = 50

[[source]]
position_m = [1850.0, 2030.0, 1400.0]
moment_Nm = [1e15, 0, -1e15, 2e15, 1e15, 0]
time_function = "gaussian"
sigma_s = 0.13

[[source]]
mode = "force_z"
position_m = [2420.0, 2210.0, 700.0]
force_N = [1e12]
time_function = "gaussian"
sigma_s = 0.13
"""
ANELASTIC = ("[boundary]", '[attenuation]\nqs = "0.03 vs"\nqp = "2 qs"\nband_hz = [0.1, 10.0]\n\n[boundary]')


def write(folder: Path, *changes: tuple[str, str], name: str = "run.toml") -> Path:
    (folder / name).write_text(changed(CONFIG, *changes))
    return folder / name


def ran(path: Path, *options: object) -> Path:
    folder = path.with_suffix("")
    done = craton("run", path, "--directory", folder, "--no-report", *options, cwd=path.parent)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """An anelastic run on one rank: its folder."""
    return ran(write(tmp_path_factory.mktemp("refined"), ANELASTIC))


@pytest.mark.parametrize(("attenuation", "within"), [((), 0.015), ((ANELASTIC,), 0.03)])
def test_seismograms_are_those_of_fine_cells_everywhere(tmp_path, attenuation, within):
    """To 1.5 %, with a source a fine cell above the plane: fine cells have 10 to the shortest S waves, coarse ones 6.

    With Q to 3 %: its mechanisms are spread over 2 x 2 x 2 cells, which is coarse for cells of 6 to a wavelength.
    """
    both = (("width_cells = 3", "width_cells = 6"), *attenuation)
    refined = read_seismograms(ran(write(tmp_path, *both))).velocity
    alike = (("coarser_below_m = 750", ""), ("width_cells = 6", "width_cells = 18"))
    fine = read_seismograms(ran(write(tmp_path, *both, *alike, name="alike.toml"))).velocity
    assert np.abs(fine).max() > 0
    for station in range(2):
        off = misfit(refined[station], fine[station])
        print(off)
        assert off < within


@pytest.mark.parametrize(
    "options", [("--ranks", 2), ("--ranks", 3, "--threads", 2), ("--ranks", 4, "--ranks-per-node", 2)]
)
def test_any_number_of_ranks_gives_the_same(finished, tmp_path, options):
    found = read_seismograms(ran(write(tmp_path, ANELASTIC), *options)).velocity
    expected = read_seismograms(finished).velocity
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()  # what ranks share at a station is a sum


ENDED = """
import sys
from pathlib import Path
from craton.seismology.wave_run.config import load_config
from craton.waves import run
from craton.waves.simulation import Simulation
from mpi4py import MPI
before = Simulation.advance
def advance(self, steps):
    if self.step >= 130:
        raise RuntimeError("ended")
    before(self, steps)
Simulation.advance = advance
run(load_config(sys.argv[1], directory=Path(sys.argv[2])), MPI.COMM_WORLD, overwrite=True, report=False)
"""


def test_a_resumed_run_equals_the_undisturbed_one(finished, tmp_path):
    path, folder = write(tmp_path, ANELASTIC), tmp_path / "ended"
    (tmp_path / "ended.py").write_text(ENDED)
    ended = subprocess.run(
        [sys.executable, str(tmp_path / "ended.py"), str(path), str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode != 0 and "ended" in ended.stderr
    # a state of the grid below for the last checkpoint, and none of those before
    assert {file.name for file in folder.glob("checkpoint*")} == {
        "checkpoint.h5",
        "checkpoint.h5.layers",
        "checkpoint.h5.layers.previous",
        "checkpoint.h5.below.100",
        "checkpoint.h5.below.100.layers",
    }
    assert "going on from step 100" in here("resume", folder, "--no-report", cwd=tmp_path)
    np.testing.assert_array_equal(read_seismograms(folder).velocity, read_seismograms(finished).velocity)
    assert not list(folder.glob("checkpoint*"))


def test_check_tells_of_both_grids(tmp_path):
    path = write(tmp_path)
    told = json.loads(here("check", path, "--json", cwd=tmp_path))
    assert told["grids"] == [
        {"cells": [96, 90, 15], "spacing_m": 50.0, "from_m": 0.0, "to_m": 750.0},
        {"cells": [32, 30, 22], "spacing_m": 150.0, "from_m": 750.0, "to_m": 4050.0},
    ]
    assert told["points"] == 96 * 90 * 15 + 32 * 30 * 22
    # the layer's waves have as many points as those in coarse cells would need: 2900 / 150 is less than 1600 / 50
    assert told["carried_hz"] == pytest.approx(2900 / 150 / 5)
    text = " ".join(here("check", path, cwd=tmp_path).split())
    assert "750 to 4050 m" in text and "32 x 30 x 22 cells of 150 m" in text


def test_the_step_is_that_of_the_grid_which_needs_the_smaller(tmp_path):
    """Fine cells in fast rock bound it, and coarse cells in rock three times as fast."""

    def step(fine: float, coarse: float) -> float:
        layers = f"layers = [[750.0, {fine}, 1000.0, 2300.0], [0.0, {coarse}, 2000.0, 2600.0]]"
        config = load_config(
            write(tmp_path, ("layers = [[750.0, 3000.0, 1600.0, 2300.0], [0.0, 5000.0, 2900.0, 2600.0]]", layers))
        )
        return Setup(config).largest_step_s

    assert step(2000.0, 5900.0) == pytest.approx(step(2000.0, 4000.0), rel=1e-9)
    assert step(2000.0, 7200.0) == pytest.approx(step(2000.0, 4000.0) * 6000 / 7200, rel=1e-3)
    # a third of a metre does not put the rock below into the upper grid
    thirds = write(
        tmp_path,
        ("spacing_m = 50.0\ncoarser_below_m = 750", f"spacing_m = {100 / 3!r}\ncoarser_below_m = 1000"),
        ("4800, 4500, 4050", "4800, 4500, 4000"),
        ("[[750.0, 3000.0, 1600.0", "[[1000.0, 3000.0, 1600.0"),
    )
    assert Setup(load_config(thirds)).ranges[0].fastest_vp == 3000
    # at once in the upper grid
    assert step(4000.0, 5000.0) == pytest.approx(step(2000.0, 4000.0) / 2, rel=1e-9)


def test_a_report_and_status_tell_of_both_grids(finished):
    text = "96 x 90 x 15 cells of 50 m above 32 x 30 x 22 of 150 m"
    assert text in here("status", finished, cwd=finished.parent)
    here("report", finished, cwd=finished.parent)
    cells = "150,720 cells: 96 × 90 × 15, 50 m wide; below them 32 × 30 × 22, 150 m wide"
    assert cells in checked((finished / "report.html").read_text(encoding="utf-8")).text


def test_check_notes_layers_that_end_close_to_the_plane(tmp_path):
    any_waves = ("spacing_m = 50.0", "spacing_m = 50.0\npoints_per_wavelength = 0")
    for end, cells in ((600, 3), (900, 1)):
        told = json.loads(here("check", write(tmp_path, any_waves, ("[[750.0", f"[[{end}.0")), "--json", cwd=tmp_path))
        assert any(
            f"a layer ends at z = {end} m, {cells} cells from coarser_below_m" in one for one in told["warnings"]
        )
    for end in (750, 450, 1650):
        told = json.loads(here("check", write(tmp_path, any_waves, ("[[750.0", f"[[{end}.0")), "--json", cwd=tmp_path))
        assert not any("a layer ends" in one for one in told["warnings"])


def test_a_thin_layer_in_coarse_cells_counts(tmp_path):
    """Of 20 m, between the middles of coarse cells."""
    layers = (
        "layers = [[750.0, 3000.0, 1600.0, 2300.0], [200.0, 5000.0, 2900.0, 2600.0], [20.0, 1500.0, 700.0, 2000.0], "
    )
    path = write(tmp_path, ("layers = [[750.0, 3000.0, 1600.0, 2300.0], ", layers))
    assert [one.slowest_vs for one in Setup(load_config(path)).ranges] == [1600, 700]


def test_strains_below_have_their_own_depths(tmp_path):
    """Beside those of cells that are all alike, and their positions as they were given."""
    (tmp_path / "points.txt").write_text("3300 2900 1800\n2900 3050 1200\n")
    sgt = ("[checkpoint]", '[sgt]\npoints = "points.txt"\nevery = 10\n\n[checkpoint]')
    alike = (("coarser_below_m = 750", ""), ("width_cells = 6", "width_cells = 18"))
    wide = ("width_cells = 3", "width_cells = 6")
    found = []
    for name, changes in (("refined.toml", ()), ("alike.toml", alike)):
        with h5py.File(ran(write(tmp_path, sgt, wide, *changes, name=name)) / "sgt.h5") as file:
            np.testing.assert_array_equal(file["coordinates"], [[3300, 2900, 1800], [2900, 3050, 1200]])
            found.append(np.asarray(file["sgt"]))
            moduli = file["mu_Pa"][:]
        np.testing.assert_allclose(moduli, 2600 * 2900.0**2, rtol=1e-6)
    off = misfit(found[0], found[1])
    print(off)
    assert off < 0.02


WRONG = {
    "a depth between coarse cells": (
        ("coarser_below_m = 750", "coarser_below_m = 800"),
        "whole number of the coarse cells' side, 150 m",
    ),
    "a size between coarse cells": (
        ("4800, 4500", "4850, 4500"),
        r"size along x = 4850 m; allowed: a whole number",
    ),
    "too little above": (("coarser_below_m = 750", "coarser_below_m = 600"), "14 cells of spacing_m or more, 700 m"),
    "too little below": (
        ("coarser_below_m = 750", "coarser_below_m = 1950"),
        "14 coarse cells below .*allowed: 17 or more",
    ),
    "too narrow": (("4800, 4500", "1950, 4500"), "13 coarse cells along x; allowed: 14 or more"),
    "an absorbing top": (
        ("width_cells = 3", 'width_cells = 3\ntop = "absorbing"'),
        'top = "absorbing" with .grid. coarser_below_m',
    ),
    "topography": (
        ("[boundary]", "[topography]\nhill = [100, 500, 1000, 1000]\n[boundary]"),
        "topography. with .grid. coarser_below_m",
    ),
    "a device": (("[grid]", '[run]\ndevice = "cuda"\n[grid]'), 'device = "cuda" with'),
    "media by one rank": (('kind = "layers"', 'kind = "layers"\nread = "serial"'), 'read = "serial" with'),
    "bricks along z": (("[grid]", "[run]\ndecomposition = [1, 1, 2]\n[grid]"), "1 brick along z"),
    "thin bricks": (("[grid]", "[run]\ndecomposition = [9, 1, 1]\n[grid]"), r"at most \[8, 7\] along x and y"),
    "stations in both": (("130.0]", "1300.0]"), r"\[receivers\] points at z = 0 m and at 1300 m, in both grids"),
    "a movie below": (
        ("every = 50\n\n[checkpoint]", "every = 50\nz_m = 900\n\n[checkpoint]"),
        r"\[movie\] z_m = 900 m; allowed: above",
    ),
    "a volume": (("[movie]", "[snapshots]\nevery = 50\nvolume = true\n[movie]"), "allowed: the plane z_m"),
    "a step that is not stable": (
        ("dt_s = 0.0045", "dt_s = 0.02"),
        "unstable, because vp dt / h = 3000 m/s x 0.02 s / 50 m",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_go_with_it_is_one_line(tmp_path, what):
    change, said = WRONG[what]
    with pytest.raises(UserError, match=said):
        here("check", write(tmp_path, change), cwd=tmp_path)


def test_media_of_two_grids_are_not_partitioned(tmp_path):
    with pytest.raises(UserError, match="coarser_below_m: its media are read with"):
        here("partition", write(tmp_path), "--ranks", 2, "--directory", "media", cwd=tmp_path)
    assert not (tmp_path / "media").exists()


@pytest.mark.long
@pytest.mark.skipif(not LOH1.exists(), reason=f"the LOH.1 reference is not there: {LOH1}")
def test_loh1_with_refinement(tmp_path):
    """A layer of 1 km in cells of 33.3 m over cells of 100 m: beside cells of 100 m everywhere, and the reference."""
    h, sigma, width = 100.0 / 3, 0.12, 10
    low = 1500.0 + width * 100.0
    size = [math.ceil((high + low + 1500.0 + width * 100.0) / 300.0) * 300.0 for high in (6000.0, 8000.0)]

    def misfits(spacing: float, coarser: float, layers: int) -> dict[str, float]:
        path = tmp_path / f"{spacing:.0f}-{coarser:.0f}.toml"
        path.write_text(f"""
[run]
threads = 2
[grid]
size_m = [{size[0]!r}, {size[1]!r}, 6500.0]
spacing_m = {spacing!r}
coarser_below_m = {coarser!r}
points_per_wavelength = 0
[time]
duration_s = 12.0
dt_s = {0.45 * 100.0 / 6000.0 if not coarser else 0.45 * 50.0 / 6000.0!r}
[media]
kind = "layers"
layers = [[1000.0, 4000.0, 2000.0, 2600.0], [0.0, 6000.0, 3464.0, 2700.0]]
[boundary]
width_cells = {layers}
[receivers]
stations = [["A", {low + 6000.0!r}, {low + 8000.0!r}, 0.0]]
[[source]]
position_m = [{low!r}, {low!r}, 2000.0]
moment_Nm = [0, 0, 0, 1e18, 0, 0]
time_function = "gaussian"
sigma_s = {sigma!r}
centre_s = {6 * sigma!r}
""")
        folder = path.with_suffix("")
        done = command_line.craton(
            "waves", "run", path, "--directory", folder, "--no-report", cwd=tmp_path, seconds=1800
        )
        assert (done.returncode, done.stderr) == (0, "")
        print(done.stdout)
        found = read_seismograms(folder)
        north, east, down = found.velocity[0]
        components = {"radial": 0.6 * north + 0.8 * east, "transverse": -0.8 * north + 0.6 * east, "vertical": down}
        t, wanted = loh1_velocity(LOH1, sigma, without_drift=True)
        inside = (t <= found.time_s[-1]) & (t >= found.time_s[0])
        return {
            name: misfit(CubicSpline(found.time_s, velocity)(t[inside]), reference[inside])
            for (name, velocity), reference in zip(components.items(), wanted, strict=True)
        }

    alike, refined = misfits(100.0, 0.0, width), misfits(h, 1000.0, width)
    print(alike, refined)
    # layers 1.5 km from the receiver bound what either reaches
    assert max(refined.values()) <= 0.035
    assert math.hypot(*refined.values()) <= math.hypot(*alike.values())
