"""Builds of J and K on more and more cores (Ozog et al. 2016, figure 6)."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from studies.found import Found, Panel
from studies.machine import MESSAGE_S, ROOT, SETTINGS, run_program

CORES_OF_NODE = 24  # a rank is a core
RANKS = (24, 96, 384)
MOLECULES = ("C40H82", "DNA 5-mer")  # the paper's, the second in a smaller basis set
SEQUENCE = "ATGCA"
BASES = {"C40H82": "cc-pvdz", "DNA 5-mer": "sto-3g"}
CALIBRATED_BY = ("C10H22", "cc-pvdz")
THRESHOLD = 1e-10  # hartree
WAYS = {"own tasks only": 0, "stealing": 2}  # scf::fock_strategy
BYTE_S = 1e-10  # to pack a byte of a message, or to merge it
OF_MANY = ["maxmin/precision:1e-3", "smpi/allgatherv:ompi_bruck"]  # links that many share are full to so many bytes a second


@dataclass(frozen=True)
class Calibration:
    """Of Craton's kernels, by a build on one core of this machine."""

    scale: float
    """By what the nanoseconds that quartets are predicted to take are to be multiplied."""
    spread: float
    """Of the logarithms of tasks' times over predicted ones."""
    seconds: float


def xyz_of(name: str) -> str:
    """A molecule as an XYZ file."""
    from craton_studies.bench.scf import alkane

    if name.startswith("C"):
        return alkane(int(name[1 : name.index("H")]))
    command = [sys.executable, str(ROOT / "examples/scf/make_dna.py"), SEQUENCE]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def write_shells(name: str, basis: str, path: Path) -> None:
    """What programs/fock.cpp reads."""
    from craton.scf import Molecule, placed_shells

    molecule = Molecule.from_xyz_text(xyz_of(name))
    words: list[Any] = [len(molecule.symbols)]
    for charge, position in zip(molecule.charges, molecule.positions_bohr, strict=True):
        words += [charge, *position]
    shells = placed_shells(molecule, basis)
    words.append(len(shells))
    for each in shells:
        words += [each.atom, each.momentum, len(each.exponents), len(each.contractions), *each.exponents]
        words += [x for row in each.contractions for x in row]
    path.write_text("\n".join(map(str, words)) + "\n")


def calibrate() -> Calibration:
    """One build, densities 1 everywhere, here and as it is simulated."""
    import numpy as np
    from mpi4py import MPI

    import craton
    from craton.scf import DistributedFock, Molecule, make_basis, open_libcint

    name, basis = CALIBRATED_BY
    functions = make_basis(Molecule.from_xyz_text(xyz_of(name)), basis)
    fock = DistributedFock(craton.World(MPI.COMM_SELF), open_libcint(), functions, threshold=THRESHOLD)
    fock.build(np.ones((1, functions.size, functions.size)))  # warms up
    begin = time.process_time()
    fock.build(np.ones((1, functions.size, functions.size)))
    spent = time.process_time() - begin  # whatever else the machine does
    timeline = np.asarray(fock.timeline)
    seconds, predicted = timeline[:, 3] - timeline[:, 2], timeline[:, 4]
    there = predicted > 0
    ratios = np.log(seconds[there] / predicted[there])
    mean = np.average(ratios, weights=predicted[there])
    spread = math.sqrt(np.average((ratios - mean) ** 2, weights=predicted[there]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shells"
        write_shells(name, basis, file)
        foretold = build(file, 1, WAYS["stealing"], 1.0, 0.0)["work_seconds"]
    return Calibration(spent / foretold, spread, spent)


def build(file: Path, ranks: int, way: int, scale: float, spread: float) -> dict[str, Any]:
    """One, simulated."""
    values = {
        "threshold": THRESHOLD, "strategy": way, "scale": scale, "spread": spread, "message_s": MESSAGE_S,
        "pack_s": BYTE_S, "merge_s": BYTE_S,
    }  # fmt: skip
    told = {"CRATON_SHELLS": str(file)}
    hosts = {"ranks_per_host": min(CORES_OF_NODE, ranks), "settings": [*SETTINGS, *OF_MANY]}
    return run_program("fock", ranks, values, environment=told, **hosts)[-1]


def compare_builds(ranks: list[int], jobs: int) -> Found:
    """Seconds and efficiency of a build on more and more cores, each with its own tasks alone, or stealing others."""
    measured = calibrate()
    print(
        f"on this machine: {CALIBRATED_BY[0]} in {CALIBRATED_BY[1]} in {measured.seconds:.2f} s on one core, "
        f"{measured.scale:.3g} of what is predicted, tasks with a spread of {measured.spread:.2f}"
    )
    found = Found("a build of J and K on more and more cores: seconds, and their part that is spent on integrals")
    right = True
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        for name in MOLECULES:
            file = Path(folder) / f"{name}.shells"
            write_shells(name, BASES[name], file)

            def run(count: int, way: int, file: Path = file) -> dict[str, Any]:
                return build(file, count, way, measured.scale, measured.spread)

            print(f"\n{name} in {BASES[name]}: seconds of a build, efficiency, and tasks stolen")
            print("  cores  " + "".join(f"{way:>26}" for way in WAYS) + "     fetched and added by a core, MB")
            known: dict[str, Any] = {}
            for count in ranks:
                rows = list(pool.map(partial(run, count), WAYS.values()))
                known = known or rows[0]
                right &= all(row["done"] == row["tasks"] and row["quartets"] == known["quartets"] for row in rows)
                words = []
                for way, row in zip(WAYS, rows, strict=True):
                    part = row["work_seconds"] / count / row["seconds"]
                    told = {"seconds": row["seconds"], "efficiency": part, "stolen": row["stolen"] / row["tasks"]}
                    found.rows.append({"molecule": name, "ranks": count, "way": way} | told)
                    stolen = f" ({told['stolen']:.0%})" if way == "stealing" else ""
                    words.append(f"{row['seconds']:.3f} {part:6.1%}{stolen}")
                moved = rows[1]["fetched_bytes"] / count, rows[1]["added_bytes"] / count
                print(
                    f"  {count:5d}  " + "".join(f"{word:>26}" for word in words)
                    + f"{moved[0] / 1e6:14.2f} {moved[1] / 1e6:8.2f}",
                    flush=True,
                )  # fmt: skip
            print(
                f"  {known['functions']} functions, {known['quartets']:.3g} quartets of shells, "
                f"{known['work_seconds']:.1f} s on one core"
            )
    found.holds = {"each task done once, and the same quartets on any ranks": right}
    found.panels = [
        Panel(
            f"{name}, {BASES[name]}",
            "seconds of a build",
            [found.curve(way, "seconds", molecule=name, way=way) for way in WAYS],
            log=True,
        )
        for name in MOLECULES
    ]
    return found
