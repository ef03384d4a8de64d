"""Hazard curves do not depend on how the ground is cut for the wave runs (within 0.006 %)."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from craton.hazard.config import load_config
from craton.hazard.folder import HazardFolder
from craton.hazard.pipeline.work import Work
from craton.hazard.results import read_results
from hazard_config import write_config
from hazard_pipeline import craton, run_here

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "hazard" / "basin.toml"
LARGEST = 6e-5
"""Of the difference between two curves, relative."""
LEVELS = [round(float(level), 9) for level in np.geomspace(1e-4, 1e-2, 81)]
VARIED = (
    ("slips = 2", "slips = 20"),
    ("levels_g = [1e-5, 1e-4, 3e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1.0]", f"levels_g = {LEVELS}"),
)
"""More variations, and levels that are near to each other."""


def difference(one: Path, other: Path) -> float:
    """Between the curves of two runs at all levels, relative."""
    pairs = zip(*(read_results(HazardFolder(folder)).all_curves() for folder in (one, other)), strict=True)
    worst, levels = 0.0, 0
    for a, b in pairs:
        assert (a.site, a.measure) == (b.site, b.measure) and np.array_equal(a.levels, b.levels)
        some = np.maximum(a.probability, b.probability) > 0
        relative = np.abs(a.probability - b.probability)[some] / np.maximum(a.probability, b.probability)[some]
        worst = max(worst, float(relative.max(initial=0.0)))
        levels += int(np.count_nonzero(some & (a.probability < a.probability.max())))
    assert levels > 20, "curves that fall"
    return worst


def shaking(folder: Path, site: str) -> np.ndarray:
    with h5py.File(HazardFolder(folder).finished(site)) as file:
        return file["measures/psa"][()]


@pytest.mark.long
def test_two_ranks_give_the_curves_of_one(tmp_path):
    """Of a small example, with wave runs of two ranks that the command starts."""
    text = write_config(tmp_path, *VARIED).read_text()
    second = text.index("[[site]]", text.index("[[site]]") + 1)
    text = text[:second] + text[text.index("[[fault]]") :]
    config = tmp_path / "small.toml"
    config.write_text(text)
    run_here(config, tmp_path / "one")
    config.write_text(text.replace("cores = 2", "cores = 2\nranks = 2\ndecomposition = [1, 2, 1]"))
    done = craton("run", config, "--directory", "two", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "1 x 2 x 1 bricks, 2 ranks" in (tmp_path / "two" / "sites" / "A" / "waves-x.log").read_text()
    worst = difference(tmp_path / "one", tmp_path / "two")
    psa = np.abs(shaking(tmp_path / "two", "A") / shaking(tmp_path / "one", "A") - 1).max()
    print(f"1 rank and 1 x 2 x 1: curves differ by at most {100 * worst:.2g} %, PSA by {100 * psa:.2g} %")
    assert worst <= LARGEST and psa <= LARGEST


@pytest.mark.long
def test_any_bricks_give_the_same_curves(tmp_path):
    """Of the three named sites of the example of docs/hazard.md, 980 variations, 51 levels, with 1, 2 and 4 ranks."""
    runs = {"one": (1, ""), "two": (2, "[2, 1, 1]"), "four": (4, "[1, 2, 2]")}
    for name, (ranks, bricks) in runs.items():
        config = tmp_path / f"{name}.toml"
        ways = f"[run]\nranks = {ranks}\ncores = {max(ranks, 2)}\n" + (f"decomposition = {bricks}\n" if bricks else "")
        text = EXAMPLE.read_text().replace('"basin.h5"', f'"{EXAMPLE.parent / "basin.h5"}"')
        for left_out in (r"\[site_grid\](.*\n)+?\n", r"(?m)^models = .*\n"):
            text, count = re.subn(left_out, "", text)
            assert count == 1
        config.write_text(text + ways)
        work = Work.of(load_config(config))
        assert (sum(work.counts), len(work.position_m)) == (980, 3)
        done = craton("run", config, "--directory", name, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    for name in ("two", "four"):
        worst = difference(tmp_path / "one", tmp_path / name)
        psa = np.abs(shaking(tmp_path / name, "basin") / shaking(tmp_path / "one", "basin") - 1).max()
        print(f"1 rank and {runs[name][1]}: curves differ by at most {100 * worst:.2g} %, PSA by {100 * psa:.2g} %")
        assert worst <= LARGEST and psa <= LARGEST
