"""What an outside solver brings, the table of docs/hybrid.md: hybrid_table.py FOLDER [--in-band] [--paths N].

Data of coupled branches are inverted in five ways. A: with path averages. B: with seismograms of coupled branches and derivatives
of path averages. C: with coupled branches for both. B outside: with solver.py as the outside command. B wrong start: from minus
half of the target, in twelve iterations instead of six. --in-band gives the noise the band of the data. Prints a row for each: the
correlation with the target after each iteration and by depth, 2 chi/N and the time.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from shutil import copyfile

import h5py
from craton._craton import ModelBasis
from craton.tomography.folder import RunFolder
from craton.tomography.model.knots import coverage_correlation
from example_runs import EXAMPLES, run_example

DEPTHS_KM = (400, 1000, 1900, 2800)


def wrong_start(of: Path, target: Path) -> Path:
    """A model file whose last model is minus half of a run's target."""
    target.mkdir(parents=True, exist_ok=True)
    copyfile(of / "model.h5", target / "model.h5")
    with h5py.File(target / "model.h5", "r+") as file:
        file["models"][-1] = -0.5 * file["target"][:]
    return target / "model.h5"


def print_row(name: str, folder: Path) -> None:
    """What a run has found, after each of its iterations."""
    record, found = RunFolder(folder).read_record(), RunFolder(folder).read_model()
    basis = ModelBasis(record.config["basis"]["lateral_level"], found["radial_knots_m"])
    each = [coverage_correlation(basis, model, found["target"], found["coverage"]) for model in found["models"][1:]]
    last = dict(zip(each[-1].depth_km, each[-1].by_depth, strict=True))
    after = " | ".join(f"{one.overall:.3f}" for one in each)
    by_depth = " | ".join(f"{last[depth]:.2f}" for depth in DEPTHS_KM)
    misfit = 2.0 * record.iterations[-1].chi_data / record.independent_samples
    seconds = sum(session.seconds for session in record.sessions)
    print(f"| {name} | {after} | {by_depth} | {misfit:.3f} | {seconds:.0f} s |", flush=True)


options = argparse.ArgumentParser(description=__doc__)
options.add_argument("folder", type=Path)
options.add_argument("--in-band", action="store_true")
options.add_argument("--paths", type=int, default=3000)
given = options.parse_args()
common = {
    "paths": {"maximum": given.paths},
    "data": {"noise_in_band": given.in_band},
    "target": {"theory": "nact"},
    "inversion": {"max_iterations": 6, "tolerance": 0.0},
}
hybrid = {"theory": {"kind": "nact", "derivatives": "pava"}}
command = "{python} " + f"{EXAMPLES / 'solver.py'} " + "{folder} --theory nact --threads 2"
print(
    f"| | {' | '.join(map(str, range(1, 7)))} | {' | '.join(f'{depth} km' for depth in DEPTHS_KM)} | 2 chi/N | time |"
)
for name, changes in {
    "A": {"theory": {"kind": "pava"}},
    "B": hybrid,
    "B wrong start": hybrid,
    "B outside": {"theory": {"kind": "pava"}, "synthetics": {"kind": "command", "command": command}},
    "C": {"theory": {"kind": "nact"}},
}.items():
    changes = common | changes
    if name == "B wrong start":
        changes["start"] = {"file": str(wrong_start(given.folder / "B", given.folder / "start"))}
        changes["inversion"] = {"max_iterations": 12, "tolerance": 0.0}
    run_example("checkerboard.toml", given.folder / name.replace(" ", "-"), changes)
    print_row(name, given.folder / name.replace(" ", "-"))
