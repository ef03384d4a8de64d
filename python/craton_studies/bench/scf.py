"""Fock builds beside PySCF's, and how their work is shared by ranks and threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import craton
import numpy as np
from craton.errors import UserError
from numpy.typing import NDArray

from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.multigrid.timing import alone

if TYPE_CHECKING:
    from craton.scf import DistributedFock, Molecule
    from mpi4py import MPI

Matrix = NDArray[np.float64]

DIMER_BASIS = "cc-pvtz"
WATER_DIMER = """O -1.551007 -0.114520 0.000000
H -1.934259 0.762503 0.000000
H -0.599677 0.040712 0.000000
O 1.350625 0.111469 0.000000
H 1.680398 -0.373741 -0.758561
H 1.680398 -0.373741 0.758561
"""
"""Angstrom."""
FASTER_THAN_PYSCF = 1.0
"""What a build may take at most, in times of PySCF's."""
EFFICIENCY = 0.95
"""Parallel efficiency from one thread to all, at least."""
IDLE = 0.03
"""Idle part of a build, at most, when tasks are stolen."""
MIB = 1 << 20


@dataclass(frozen=True)
class Contender:
    """A way to build: on the first `ranks` of the job, by `threads` each."""

    name: str
    ranks: int
    threads: int = 1
    strategy: str = "stealing"
    ranks_per_node: int | None = None
    progress: bool | None = None
    uneven: bool = False
    """Rank 0 leaves all integrals to libcint, which is slower, and nothing predicts it."""


@dataclass
class Built:
    """What repeats of one contender took. On rank 0; statistics of every rank."""

    seconds: list[float] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)
    """Percent of the build, mean of the threads of all ranks."""
    statistics: list[dict[str, float]] = field(default_factory=list)
    """Statistics of the last repeat, by rank."""


@benchmark(
    "scf",
    "Fock builds of an alkane, cc-pVDZ: seconds beside PySCF's; parallel efficiency; idle time by three ways to share the work",
    limit="PySCF",
    ranks=2,
    options={
        "carbons": Option(10, "of the alkane: 10 is C10H22 with 250 functions, 20 is C20H42 with 490"),
        "xyz": Option("", "file of another molecule"),
        "basis": Option("cc-pvdz", "name of the basis set"),
        "threshold": Option(1e-12, "hartree: of integrals times densities, Craton's and PySCF's"),
        "messages": Option(1, "1: also by messages, with a busy victim that is stolen from"),
        "memory": Option(0, "for large molecules, without PySCF: 1: one build, by all ranks; 2: a whole calculation"),
        "conv_tol": Option(1e-8, "hartree, of the whole calculation"),
        "cycles": Option(50, "of the whole calculation, at most"),
    },
)
def scf(run: Run) -> Iterator[Measurement]:
    """J and K of the density that PySCF starts from (superposed atoms, minao), directly from integrals.

    All contenders take turns in each repeat:

    - PySCF's direct J and K (pyscf.scf.hf.get_jk), with as many threads of its own as the job has ranks;
    - one rank of one thread, and one rank of as many threads;
    - as many ranks of one thread, sharing the work in three ways.

    Seconds run from a common start to the last rank's end. What either prepares once for all builds (bounds, for screening) is left
    out. The matrices are compared at the end: they may differ by what screening leaves out, and the figure says by how much.

    Idle is the time from a thread's last task until the last rank had ended, mean of all threads, beside the whole build. In "busy
    victim" every rank is a node of its own, so that stealing is a message that the victim must see. Rank 0 leaves all integrals to
    libcint, which nothing predicts, and is stolen from while it computes. With a progress thread it answers at once; without, it
    answers between tasks.

    "whole calculation": restricted, of the water dimer, from geometry to energy by one process of as many threads, each with its
    own settings; both keep integrals in memory. "fitted": with fitted densities, both by cc-pvtz-jkfit.

    With memory=2: seconds per iteration of a restricted calculation, and the most that memory of a rank grows by, from before it is
    made until it has ended. Memory is its own pages, and of shared ones its part (Linux's Pss). Also how much of density blocks was
    fetched, and how much was spared, since screening leaves it out.
    """
    o, size = run.options, run.comm.size
    if o["memory"] not in (0, 1, 2):
        raise UserError(f"--set memory={o['memory']}; allowed: 0, 1 or 2")
    if o["memory"] == 2:
        yield from _whole(run)
        return
    problem = _problem(run)
    title = f"{problem.name}, {o['basis']}, {problem.density.shape[0]} functions, threshold {o['threshold']:g}"
    if o["memory"]:
        ranks = Contender(f"{size} ranks x 1 thread", size)
        found, _, _ = _in_turn(run, problem, [ranks], beside_pyscf=False)
        if run.comm.rank == 0:
            built = found[ranks.name]
            yield Measurement(
                ranks.name, built.seconds, "s", note=_parts(built), group=f"{title}: seconds", less_is_better=True
            )
            yield from _memory(built, title)
        return
    contenders = [
        Contender("1 rank x 1 thread", 1),
        Contender(f"1 rank x {size} threads", 1, size),
        Contender(f"{size} ranks x 1 thread", size),
    ]
    if size > 1:
        contenders += [
            Contender(f"{size} ranks, static", size, strategy="static"),
            Contender(f"{size} ranks, counter", size, strategy="counter"),
        ]
        if o["messages"]:
            contenders += [
                Contender(f"{size} ranks x 1 thread, messages", size, ranks_per_node=1),
                Contender("busy victim, direct", size, uneven=True),
                Contender("busy victim, progress thread", size, ranks_per_node=1, progress=True, uneven=True),
                Contender("busy victim, no progress thread", size, ranks_per_node=1, progress=False, uneven=True),
            ]
    found, pyscf_s, difference = _in_turn(run, problem, contenders)
    dimer = _dimer(run)
    if run.comm.rank != 0:
        return
    yield from dimer
    yield from _speeds(found, pyscf_s, size, title, difference)
    if size > 1:
        yield from _balance(found, size, title)
    yield from _memory(found[f"{size} ranks x 1 thread"], title)


@dataclass
class Problem:
    """The same on every rank, but for PySCF's part, which rank 0 has."""

    name: str
    molecule: Molecule
    density: Matrix
    pyscf_jk: Callable[[int], tuple[Matrix, Matrix]] | None = None


def _molecule(run: Run) -> tuple[str, Molecule]:
    from craton.scf import Molecule

    o = run.options
    if o["carbons"] < 1:
        raise UserError(f"--set carbons={o['carbons']}; allowed: at least 1")
    if not o["threshold"] > 0:
        raise UserError(f"--set threshold={o['threshold']}; allowed: above 0")
    if o["xyz"]:
        return o["xyz"], Molecule.from_xyz(o["xyz"])
    return f"C{o['carbons']}H{2 * o['carbons'] + 2}", Molecule.from_xyz_text(alkane(o["carbons"]), origin="alkane")


def _problem(run: Run) -> Problem:
    from craton.scf import shells_of

    o = run.options
    name, molecule = _molecule(run)
    try:
        from pyscf import gto
        from pyscf import scf as pyscf_scf
    except ImportError:
        raise UserError(
            "bench scf: the package pyscf is not installed; allowed: pip install 'craton[chemistry]'"
        ) from None
    shells = shells_of(o["basis"], set(molecule.symbols))
    printed = {
        symbol: [
            [momentum, *([a, *(row[p] for row in rows)] for p, a in enumerate(exponents))]
            for momentum, exponents, rows in some
        ]
        for symbol, some in shells.items()
    }
    atoms = list(zip(molecule.symbols, molecule.positions_bohr.tolist(), strict=True))
    of_pyscf = gto.M(atom=atoms, unit="Bohr", basis=printed, charge=molecule.charge, verbose=0)
    density = run.comm.bcast(
        np.ascontiguousarray(pyscf_scf.hf.init_guess_by_minao(of_pyscf)) if run.comm.rank == 0 else None
    )
    if run.comm.rank != 0:
        return Problem(name, molecule, density)
    prepared: dict[str, Any] = {}

    def jk(threads: int) -> tuple[Matrix, Matrix]:
        from pyscf import lib

        with lib.with_omp_threads(threads):
            if not prepared:  # its bounds, as our constructor's, are made once
                calculation = pyscf_scf.RHF(of_pyscf)
                calculation.direct_scf_tol = o["threshold"]
                prepared["screening"] = calculation.init_direct_scf(of_pyscf)
            coulomb, exchange = pyscf_scf.hf.get_jk(of_pyscf, density, hermi=1, vhfopt=prepared["screening"])
            return coulomb, exchange

    return Problem(name, molecule, density, jk)


def _in_turn(
    run: Run, problem: Problem, contenders: list[Contender], beside_pyscf: bool = True
) -> tuple[dict[str, Built], list[float], dict[str, float]]:
    """Every contender and PySCF in each of the repeats: what was built, PySCF's seconds, the largest difference of J and K.

    One repeat more warms up, where there is PySCF.
    """
    builders = [_builder(run, problem, each) for each in contenders]
    found = {each.name: Built() for each in contenders}
    pyscf_s: list[float] = []
    difference = {"J": 0.0, "K": 0.0}
    expected: tuple[Matrix, Matrix] | None = None
    for repeat in range(-1 if beside_pyscf else 0, run.repeats):
        run.say(f"{problem.name}: repeat {repeat + 1} of {run.repeats} ...")

        def pyscf(repeat: int = repeat) -> None:
            nonlocal expected
            assert problem.pyscf_jk is not None
            if repeat < 0:
                expected = problem.pyscf_jk(run.comm.size)
            begun = time.perf_counter()
            problem.pyscf_jk(run.comm.size)
            if repeat >= 0:
                pyscf_s.append(time.perf_counter() - begun)

        if beside_pyscf:
            alone(run.comm, 1, pyscf)
        for each, builder in zip(contenders, builders, strict=True):

            def work(each: Contender = each, builder: Any = builder, repeat: int = repeat) -> None:
                comm, fock = builder
                coulomb, exchange = fock.build(problem.density[None])
                every = comm.gather(fock.statistics)
                if every is None:
                    return
                if repeat >= 0:
                    slowest = max(one["build_s"] for one in every)
                    found[each.name].seconds.append(slowest)
                    found[each.name].idle.append(100 * sum(one["idle_s"] for one in every) / len(every) / slowest)
                    found[each.name].statistics = every
                if expected is None:
                    return
                difference["J"] = max(difference["J"], float(np.abs(coulomb - expected[0]).max()))
                difference["K"] = max(difference["K"], float(np.abs(exchange[0] - expected[1]).max()))

            alone(run.comm, each.ranks, work)
    return found, pyscf_s, difference


def _builder(run: Run, problem: Problem, contender: Contender) -> tuple[MPI.Comm, DistributedFock] | None:
    """The contender's ranks and what builds on them; None on ranks that do not take part. Collective."""
    from craton.scf import DistributedFock, make_basis, open_libcint

    comm = run.comm.Split(0 if run.comm.rank < contender.ranks else 1)
    if run.comm.rank >= contender.ranks:
        return None
    nodes = run.ranks_per_node if contender.ranks_per_node is None else contender.ranks_per_node
    return (
        comm,
        DistributedFock(
            craton.World(comm, nodes),
            open_libcint(),
            make_basis(problem.molecule, run.options["basis"]),
            run.options["threshold"],
            contender.threads,
            contender.strategy,
            own_kernels=not (contender.uneven and comm.rank == 0),
            progress=contender.progress,
        ),
    )


def _speeds(
    found: dict[str, Built], pyscf_s: list[float], size: int, title: str, difference: dict[str, float]
) -> Iterator[Measurement]:
    group = f"{title}: seconds"
    note = f"J and K differ from Craton's by at most {difference['J']:.1e} and {difference['K']:.1e} hartree"
    yield Measurement(f"PySCF, {size} threads", pyscf_s, "s", ranks=1, note=note, group=group, less_is_better=True)
    alone_s = found["1 rank x 1 thread"].seconds
    yield Measurement("1 rank x 1 thread", alone_s, "s", ranks=1, group=group, less_is_better=True)
    for name in dict.fromkeys((f"1 rank x {size} threads", f"{size} ranks x 1 thread")):
        built = found[name]
        yield Measurement(
            name,
            built.seconds,
            "s",
            pyscf_s,
            target=FASTER_THAN_PYSCF,
            group=group,
            less_is_better=True,
            note=_parts(built),
        )
    if size == 1:
        return
    perfect = [seconds / size for seconds in alone_s]
    for name in (f"1 rank x {size} threads", f"{size} ranks x 1 thread"):
        efficiency = min(perfect) / min(found[name].seconds)
        yield Measurement(
            f"{name} / perfect",
            found[name].seconds,
            "s",
            perfect,
            f"1 thread / {size}",
            1 / EFFICIENCY,
            group=group,
            less_is_better=True,
            note=f"parallel efficiency of the bests {efficiency:.1%}",
        )


def _parts(built: Built) -> str:
    """Where the last repeat's time went, on the mean of the ranks."""
    mean = {name: sum(one[name] for one in built.statistics) / len(built.statistics) for name in built.statistics[0]}
    parts = ("prepare", "compute", "get", "accumulate", "queue", "idle", "finish")
    return ", ".join(f"{part} {1e3 * mean[f'{part}_s']:.0f}" for part in parts) + " ms"


def _balance(found: dict[str, Built], size: int, title: str) -> Iterator[Measurement]:
    group = f"{title}: idle, % of the build"
    ways = {
        "stealing": f"{size} ranks x 1 thread",
        "static": f"{size} ranks, static",
        "counter": f"{size} ranks, counter",
    }
    if f"{size} ranks x 1 thread, messages" in found:
        ways["stealing, messages"] = f"{size} ranks x 1 thread, messages"
        for name in ("busy victim, direct", "busy victim, progress thread", "busy victim, no progress thread"):
            ways[name] = name
    for name, of in ways.items():
        built = found[of]
        tasks = " + ".join(f"{one['own_tasks']:.0f}" for one in built.statistics)
        stolen = " + ".join(f"{one['stolen_tasks']:.0f}" for one in built.statistics)
        yield Measurement(
            name,
            built.idle,
            "%",
            [100.0] * len(built.idle),
            "the build",
            IDLE if name == "stealing" else None,
            less_is_better=True,
            note=f"{min(built.seconds):.2f} s at best; tasks {tasks} own, {stolen} stolen",
            group=group,
        )


def _memory(built: Built, title: str) -> Iterator[Measurement]:
    for rank, one in enumerate(built.statistics):
        parts = {name: one[f"{name}_bytes"] / MIB for name in ("peak_buffer", "source", "pair")}
        note = f"buffers {parts['peak_buffer']:.1f}, expansions of pairs {parts['source']:.1f}, pairs and tasks {parts['pair']:.1f}"
        yield Measurement(
            f"rank {rank}",
            [sum(parts.values())],
            "MiB",
            note=note,
            less_is_better=True,
            group=f"{title}: memory beside matrices",
        )


def _dimer(run: Run) -> list[Measurement]:
    """A whole calculation of a small molecule, in turn with PySCF's, on rank 0 while the others sleep."""
    found: list[Measurement] = []

    def work() -> None:
        from craton.scf import RHF, Molecule
        from craton.scf.basis_sets import fitting_name
        from pyscf import gto, lib
        from pyscf import scf as pyscf_scf

        for fitted in (False, True):
            ours: list[float] = []
            theirs: list[float] = []
            for _ in range(run.repeats + 1):
                begun = time.perf_counter()
                molecule = Molecule.from_xyz_text(f"6\n\n{WATER_DIMER}")
                energy = RHF(molecule, DIMER_BASIS).run(threads=run.comm.size, df=fitted).e_tot
                ours.append(time.perf_counter() - begun)
                with lib.with_omp_threads(run.comm.size):
                    begun = time.perf_counter()
                    calculation = pyscf_scf.RHF(gto.M(atom=WATER_DIMER, basis=DIMER_BASIS, verbose=0))
                    if fitted:
                        calculation = calculation.density_fit(auxbasis=fitting_name(DIMER_BASIS, molecule.symbols))
                    difference = energy - calculation.kernel()
                    theirs.append(time.perf_counter() - begun)
            group = f"(H2O)2, {DIMER_BASIS}"
            note = f"energies differ by {abs(difference):.0e} hartree"
            name = f"whole calculation, {'fitted, ' if fitted else ''}{run.comm.size} threads"
            found.append(
                Measurement(name, ours[1:], "s", theirs[1:], target=1.0, less_is_better=True, note=note, group=group)
            )

    alone(run.comm, 1, work)
    return found


def _whole(run: Run) -> Iterator[Measurement]:
    """A whole calculation by all ranks: once, whatever the repeats."""
    from craton.scf import RHF

    name, molecule = _molecule(run)
    o = run.options
    before = _memory_now()
    with _PeakMemory() as peak:
        world = craton.World(run.comm, run.ranks_per_node)
        calculation = RHF(molecule, o["basis"], world=world)
        calculation.callback = lambda line: run.say(
            f"iteration {line.number}: {line.energy:.10f} hartree, gradient {line.gradient:.1e}, J and K {line.fock_s:.1f} s"
        )
        begun = time.perf_counter()
        settings = {"conv_tol": o["conv_tol"], "max_cycle": o["cycles"], "integral_memory_mb": 0.0}  # of matrices alone
        calculation.run(**settings, direct_scf_tol=o["threshold"], threads=run.threads)
        seconds = time.perf_counter() - begun
    grown = run.comm.gather((peak.most - before) / MIB)
    engine: Any = calculation.engine
    fetched, spared = (world.sum([engine.spent[f"{what}_bytes"]])[0] / 1e6 for what in ("fetched", "spared"))
    if grown is None:
        return
    count, functions = len(calculation.iterations), calculation.basis.size
    title = f"{name}, {o['basis']}, {functions} functions, threshold {o['threshold']:g}"
    state = "converged" if calculation.converged else "NOT converged"
    fock_s = sum(line.fock_s for line in calculation.iterations)
    yield Measurement(
        "an iteration",
        [seconds / count],
        "s",
        less_is_better=True,
        group=f"{title}: a whole calculation",
        note=f"{state} after {count}: {calculation.e_tot:.10f} hartree; J and K {fock_s / count:.2f} s of each",
    )
    matrix = 8 * functions**2 / MIB
    for rank, each in enumerate(grown):
        yield Measurement(
            f"rank {rank}",
            [each],
            "MiB",
            less_is_better=True,
            note=f"{each / matrix:.1f} matrices of {matrix:.1f} MiB",
            group=f"{title}: what memory grew by",
        )
    for what, value, note in (
        ("fetched", fetched, "elements, those of a rank's own tiles too"),
        ("spared", spared, "elements of blocks that screening leaves out: they did not travel"),
    ):
        yield Measurement(
            what, [value], "MB", note=note, less_is_better=True, group=f"{title}: density blocks, all ranks, all builds"
        )


def _memory_now() -> int:
    """Memory of this process in bytes: its own pages, and its part of those that it shares."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


class _PeakMemory:
    """The most that _memory_now() says, looked at many times a second while this is entered."""

    SECONDS_BETWEEN_LOOKS = 0.1

    def __enter__(self) -> _PeakMemory:
        self.most = _memory_now()
        self._ended = threading.Event()
        self._looks = threading.Thread(target=self._look)
        self._looks.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._looks.join()

    def _look(self) -> None:
        while not self._ended.wait(self.SECONDS_BETWEEN_LOOKS):
            self.most = max(self.most, _memory_now())


def alkane(carbons: int) -> str:
    """XYZ of an all-trans chain C(n)H(2n+2): C-C 1.54, C-H 1.09 Angstrom, all angles tetrahedral."""
    half = np.arccos(-1 / 3) / 2
    along, across = 1.54 * np.sin(half), 1.54 * np.cos(half) / 2
    out, up = 1.09 * np.sin(half), 1.09 * np.cos(half)
    lines = []
    for n in range(carbons):
        side = -1 if n % 2 == 0 else 1
        x, z = n * along, side * across
        lines.append(("C", x, 0.0, z))
        lines += [("H", x, y, z + side * up) for y in (out, -out)]
        if n == 0:
            lines.append(("H", x - out, 0.0, z - side * up))
        if n == carbons - 1:
            lines.append(("H", x + out, 0.0, z - side * up))
    atoms = [f"{symbol} {x:.10f} {y:.10f} {z:.10f}" for symbol, x, y, z in lines]
    return "\n".join([str(len(atoms)), f"C{carbons}H{2 * carbons + 2}", *atoms]) + "\n"
