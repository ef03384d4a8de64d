"""What is wrong with a configuration of a regional inversion is said in one line, with exit code 2."""

from __future__ import annotations

import pytest

pytest.importorskip("mpi4py.MPI")

import command_line
from regional_config import CONFIG, written

EVENTS = CONFIG[CONFIG.index("[[event]]") : CONFIG.index("[[perturbation]]")]
MOMENT = "moment_Nm = [0.3e16, -0.5e16, 0.2e16, 1e16, 0.4e16, -0.6e16]"
KNOTS = "spacing_m = [2000.0, 2000.0, 2000.0]"

WRONG = {
    "no event": (
        (CONFIG[CONFIG.index("[[event]]") : CONFIG.index("[[perturbation]]")], ""),
        "no [[event]]; allowed: one earthquake",
    ),
    "force": (
        ("moment_Nm = [0.3e16, -0.5e16, 0.2e16, 1e16, 0.4e16, -0.6e16]", 'mode = "force_z"\nforce_N = [1e12]'),
        "allowed: moment_rate",
    ),
    "target too fast": (("dlnvs = -0.12", "dlnvs = 0.9"), "waves cannot run in this ground: vp = "),
    "target's Poisson ratio": (("dlnvs = -0.12", "dlnvs = 0.01\ndlnvp = -0.5"), "vp / vs ="),
    "one plane": (
        (KNOTS, "spacing_m = 3e3\ncoarsen = 6"),
        "two points of coarsen = 6 cells",
    ),
    "turned box": (
        (KNOTS, "spacing_m = 3e3\nlow_m = [9e3, 9e3, 0.0]\nhigh_m = [8e3, 8e3, 7e3]"),
        "[model] a box of -1000 m along x",
    ),
    "box in the sides": (
        (KNOTS, "spacing_m = 3e3\nlow_m = [0.0, 0.0, 0.0]"),
        "[model] low_m = [0.0, 0.0, 0.0]",
    ),
    "errors": (("noise = 0.05", 'folder = "."\n[errors]\nevent_time_s = 1.0'), "[[perturbation]] with [data] folder"),
    "measured": (("noise = 0.05", "measured_hz = [0.15]"), '[data] measured_hz with measure = "waveform"'),
    "measured outside": (
        ("noise = 0.05", 'measure = "gsdf"\nmeasured_hz = [0.9]'),
        "[data] measured_hz has 0.9",
    ),
    "no folder": (("noise = 0.05", 'folder = "nowhere"'), "no such folder"),
    "ranks": (("[inversion]", "[run]\ncores = 1\nranks = 2\n[inversion]"), "a wave run: needs 2 cores"),
    "step's ranks": (("[inversion]", "[run]\nstep_ranks = 64\n[inversion]"), "a step: needs 64 cores"),
    "twice": (('name = "two"', 'name = "one"'), '[[event]] 2 name = "one" again; allowed: a name of its own for each'),
    "name": (('name = "two"', 'name = "t/wo"'), "because a folder is called so"),
    "no stations": (
        ('stations = [["A", 8000.0, 8000.0], ["B", 16000.0, 13000.0]]', ""),
        "has no stations; allowed: stations",
    ),
    "filter": (
        ("filter_hz = [0.06, 0.1, 0.25, 0.3]", "filter_hz = [0.1, 0.06, 0.25, 0.3]"),
        "4 increasing frequencies",
    ),
    "filter missing": (("filter_hz = [0.06, 0.1, 0.25, 0.3]", ""), "filter_hz is missing"),
    "components": (('components = ["x", "z"]', 'components = ["x", "x"]'), "one or more of x, y, z"),
    "noise": (("noise = 0.05", "noise = 0.0"), "[data] noise = 0.0"),
    "motion": (("noise = 0.05", 'motion = "acceleration"'), '"velocity" or "displacement"'),
    "sample": (("noise = 0.05", "sample_s = 3.0"), "too seldom for 0.3 Hz; allowed: up to 1.667 s"),
    "folder": (("noise = 0.05", 'folder = "."'), "[[perturbation]] with [data] folder; allowed: one of them"),
    "no data": (
        (CONFIG[CONFIG.index("[[perturbation]]") :], ""),
        "no data; allowed: [data] folder, or [[perturbation]]",
    ),
    "parameters": (
        (KNOTS, 'spacing_m = 3e3\nparameters = ["qs"]'),
        "one or more of vp, vs, rho",
    ),
    "spacing": ((KNOTS, "spacing_m = [3000.0, 0.0, 1.0]"), "a list of 3 of them"),
    "far knots": ((KNOTS, "spacing_m = 30000.0"), "[model] spacing_m: knots 30000 m apart in a box"),
    "bits": (
        (KNOTS, "spacing_m = 3e3\nbits = 24"),
        "[model] bits = 24; allowed: 16 or 32",
    ),
    "length": (("length_m = 4000.0", "length_m = [4000.0, 1.0]"), "[prior] length_m"),
    "long": (("length_m = 4000.0", "length_m = 4e6\nnugget = 1e-8"), "numerically singular"),
    "strength": (("length_m = 4000.0", "length_m = 4e3\nstrength = 0.0"), "[prior] strength = 0.0"),
    "iterations": (("iterations = 2", "iterations = 0"), "[inversion] iterations = 0"),
    "precision": (("iterations = 2", 'solve_precision = "half"'), '"refined" or "float64" or "float32"'),
    "station's name": (('["A", 8000.0, 8000.0]', '["../A", 8000.0, 8000.0]'), "because a folder is called so"),
    "event in the sides": (
        ("position_m = [15000.0, 8000.0, 5000.0]", "position_m = [2000.0, 8000.0, 5000.0]"),
        "the box of knots",
    ),
    "station in the sides": (
        ('["A", 8000.0, 8000.0]', '["A", 1000.0, 8000.0]'),
        "station A at (1000, 8000, 0) m; allowed: x in",
    ),
    "event outside": (
        ("position_m = [15000.0, 8000.0, 5000.0]", "position_m = [95000.0, 8000.0, 5000.0]"),
        "outside the grid",
    ),
    "coarser": (("spacing_m = 1000.0\n", "spacing_m = 1000.0\ncoarser_below_m = 6000.0\n"), "cells that are all alike"),
    "short": (
        ("duration_s = 24.0", "duration_s = 0.5"),
        "too short for the filter, 0.06 to 0.3 Hz; allowed: 8.33 s or more",
    ),
    "unresolved": (("filter_hz = [0.06, 0.1, 0.25, 0.3]", "filter_hz = [0.06, 0.1, 2.5, 3.0]"), "filter_hz up to 3 Hz"),
    "unknown key": (("noise = 0.05", "nois = 0.02"), "did you mean 'noise'?"),
    "unknown table": (("[inversion]", "[inversions]"), "did you mean [inversion]?"),
    "radius": (("radius_m = [4000.0, 4000.0, 3000.0]", "radius_m = -1.0"), "[[perturbation]] 1 radius_m"),
    "perturbation": (("dlnvs = -0.12", "dlnvs = -2.0"), "[[perturbation]] 1 dlnvs = -2.0"),
    "mask": ((KNOTS, "spacing_m = 3e3\nmask_m = -1.0"), "[model] mask_m = -1.0"),
    "box": (
        (KNOTS, "spacing_m = 3e3\nlow_m = [9e4, 9e4, 0.0]"),
        "[model] low_m = [90000.0, 90000.0, 0.0]; allowed: without",
    ),
    "sides": ((KNOTS, 'spacing_m = 3e3\nsides = "open"'), '[model] sides = "open"; allowed: "fixed" or "free"'),
    "engine": (("[inversion]", '[run]\nengine = "slurm"\n[inversion]'), '[run] engine = "slurm"'),
    "cores": (("[inversion]", "[run]\ncores = 4096\n[inversion]"), "[run] cores = 4096"),
}


@pytest.mark.parametrize("change, words", WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_one_line(change, words, tmp_path):
    """With exit code 2, and nothing of an earlier run is touched."""
    config, earlier = written(tmp_path, change), tmp_path / "small-run"
    earlier.mkdir()
    (earlier / "record.json").write_text("{}")
    (earlier / "model.h5").write_text("a model")
    done = command_line.craton("regional", "run", config, "--overwrite", cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    line = done.stderr.strip()
    assert "\n" not in line and words in line and "allowed" in line, line
    assert sorted(path.name for path in earlier.iterdir()) == ["model.h5", "record.json"]
    assert (earlier / "model.h5").read_text() == "a model"


def test_check_tells_what_a_run_needs(tmp_path):
    done = command_line.craton("regional", "check", written(tmp_path), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    import json

    found = json.loads(done.stdout)
    assert (found["events"], found["stations"], found["windows"], found["wave_runs"]) == (2, 2, 8, 6)
    assert found["unknowns"] == found["knots"][0] * found["knots"][1] * found["knots"][2]
    shown = command_line.craton("regional", "check", written(tmp_path), cwd=tmp_path)
    assert "8 windows of 2 earthquakes at 2 stations" in shown.stdout and "6 an iteration" in shown.stdout
    assert not any("absorbing sides" in note for note in found["notes"])


def test_check_tells_of_sides_that_long_waves_come_back_from(tmp_path):
    done = command_line.craton(
        "regional", "check", written(tmp_path, ("width_cells = 6", "width_cells = 4")), "--json", cwd=tmp_path
    )
    assert "sides are 4 km wide, and S waves up to 34.6 km long" in done.stdout
    assert "width_cells = 5 would do" in done.stdout


def test_the_template_is_a_configuration(tmp_path):
    text = command_line.craton("regional", "template").stdout
    (tmp_path / "own.toml").write_text(text)
    done = command_line.craton("regional", "check", tmp_path / "own.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
