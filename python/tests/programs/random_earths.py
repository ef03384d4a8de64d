"""Inversions of random Earths, the tables of docs/tomography.md: random_earths.py FOLDER RMS... [--theory] [--seeds N].

RMS: of dlnVs, 0.01 for 1 %. Earths are drawn from the prior, with [run] seed 1 to N (10), and inverted in the geometry and periods
of examples/global/checkerboard.toml, noise 10 %. Prints a row for each, and how many converged: 2 chi/N within 0.95 and 1.05, and a
correlation with the target of at least 0.9 in the half of the knots that more paths see.

--theory: hybrid.toml with [synthetics] kind = "modes" instead, inverted with path averages, from data by path averages and by
coupled branches. Prints whether the run says that its theory is too poor.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from example_runs import run_example, skipped_windows

NONE = {"checkerboard_amplitude": 0.0, "plume_amplitude": 0.0}

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("folder", type=Path)
options.add_argument("rms", type=float, nargs="+")
options.add_argument("--theory", action="store_true")
options.add_argument("--seeds", type=int, default=10)
given = options.parse_args()


def converging(rms: float, seed: int) -> bool:
    """One Earth, inverted by the theory of its data: whether it converged."""
    changes = {"run": {"seed": seed}, "target": NONE | {"random_rms": rms}, "inversion": {"max_iterations": 8}}
    record, lines = run_example("checkerboard.toml", given.folder / f"{100 * rms:g}-percent-{seed}", changes)
    judged, correlation = record.judgement, record.correlation.overall
    good = 0.95 <= judged.fit <= 1.05 and correlation >= 0.9
    print(
        f"{100 * rms:g} %, seed {seed}: skipped at first {skipped_windows(lines)}, {len(record.iterations) - 1} iterations, "
        f"2 chi/N {judged.fit:.3f}, correlation {correlation:.3f}, {len(judged.warnings)} warnings: {'yes' if good else 'NO'}",
        flush=True,
    )
    return good


def told(rms: float, seed: int, theory: str) -> bool:
    """One Earth, inverted with path averages: whether the run warns that the data ask for a richer theory."""
    changes = {
        "run": {"seed": seed},
        "target": NONE | {"random_rms": rms, "theory": theory},
        "synthetics": {"kind": "modes"},
    }
    record, _ = run_example("hybrid.toml", given.folder / f"{theory}-{100 * rms:g}-percent-{seed}", changes)
    judged, check = record.judgement, record.judgement.theory
    warned = any("ask for a richer theory" in line for line in judged.warnings)
    print(
        f"data by {theory}, {100 * rms:g} %, seed {seed}: 2 chi/N {judged.fit:.3f}, added {check.added**0.5:.2f} of the noise, "
        f"part {check.part:.3f} +- {check.deviation:.3f}, correlation {record.correlation.overall:.3f}, "
        f"{'warned' if warned else 'not warned'}",
        flush=True,
    )
    return warned


for rms in given.rms:
    seeds = range(1, given.seeds + 1)
    if given.theory:
        for theory in ("pava", "nact"):
            print(f"data by {theory}: {sum([told(rms, seed, theory) for seed in seeds])} of {given.seeds} warned")
    else:
        print(f"{100 * rms:g} %: {sum([converging(rms, seed) for seed in seeds])} of {given.seeds} converged")
