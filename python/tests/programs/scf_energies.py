"""Energies of many molecules over all ranks; started by test_scf_world.py.

mpiexec -n 3 python scf_energies.py small ENERGIES.json TURN | known NAME,NAME... WAY,WAY...

small: compares with the energies of PySCF in the file. First come twelve molecules in the smallest basis by each way to a density;
all ranks compute the first ones together. Then each way computes one molecule in every basis. Four TURNs cover all molecules in all
bases.
known: larger molecules in cc-pvdz, purification by all ranks together.
"""

import json
import sys
import time
from pathlib import Path

import craton
from craton._launch import main_guard, usable_cores
from craton.scf import RHF
from mpi4py import MPI
from scf_molecules import BASES, KNOWN, SMALL, known, molecule_of, spread_over_ranks

WAYS = ("diagonalisation", "canonical", "sp2")
COMM = MPI.COMM_WORLD
THREADS = max(1, usable_cores() // COMM.size)
CLOSE = 1e-8
TOGETHER = 3
"""Molecules of which all ranks compute a density together, though one would do it sooner: where ranks share cores it takes long."""


def small(energies, turn):
    """Name, molecule, basis, way to a density, whether all ranks compute that together, known energy."""
    for way in WAYS:
        for m, name in enumerate(SMALL):
            yield name, molecule_of(SMALL[name]), BASES[0], way, m < TOGETHER, energies[BASES[0]][name]
    for b, basis in enumerate(BASES):
        for w in range(len(WAYS)):
            name = list(SMALL)[(len(WAYS) * turn + w) % len(SMALL)]
            way = WAYS[(w + b + turn) % len(WAYS)]
            yield name, molecule_of(SMALL[name]), basis, way, False, energies[basis][name]


def larger(names, ways):
    for name in names:
        for way in ways:
            yield name, known(name), "cc-pvdz", way, way != "diagonalisation", KNOWN[name]


def cases():
    if sys.argv[1] == "small":
        return small(json.loads(Path(sys.argv[2]).read_text()), int(sys.argv[3]))
    return larger(sys.argv[2].split(","), sys.argv[3].split(","))


def main():
    world = craton.World(COMM)
    count, worst = 0, 0.0
    for name, molecule, basis, way, spread, wanted in cases():
        started = time.perf_counter()
        with spread_over_ranks(spread):
            found = RHF(molecule, basis, world=world).run(conv_tol=1e-10, density_by=way, threads=THREADS)
        away = found.e_tot - wanted
        if COMM.rank == 0:
            seconds = time.perf_counter() - started
            where = "all ranks" if spread else "as sizes say"
            print(f"{name} {basis} {way} ({where}): {found.e_tot:.10f}, {away:+.1e}, {seconds:.2f} s", flush=True)
        assert found.converged, (name, basis, way)
        assert abs(away) < CLOSE, (name, basis, way, away)
        count, worst = count + 1, max(worst, abs(away))
    if COMM.rank == 0:
        print(f"{count} energies are right, the worst to {worst:.1e} hartree", flush=True)


if __name__ == "__main__":
    with main_guard():
        main()
