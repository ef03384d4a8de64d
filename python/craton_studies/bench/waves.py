"""Steps of the wave solver beside the memory's speed, caches and Devito; ranks beside threads; what recording strains costs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import craton
import numpy as np
from craton import _craton
from craton.errors import UserError

from craton_studies.bench.devito_steps import steps_of_devito
from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.multigrid.timing import alone

LEAST_BYTES = {"elastic": 120, "anelastic": 176}
"""Read and written of a cell in a step of two sweeps, each array once (density and moduli at one place each)."""
TARGETS = {"elastic": 0.60, "anelastic": 0.55}
"""Fractions of bandwidth / LEAST_BYTES that are to be reached with absorbing layers."""
OF_DEVITO = {"elastic": 3.5, "anelastic": 5.0}
IN_CACHE, OF_IN_CACHE = 80, 0.85
"""Cells along each side of a brick that caches hold, and what larger ones are to reach of its rate."""
OF_NO_LAYERS = 0.75
SMALL, THREADS_OF_SMALL = 64, 1.6
"""Cells along each side of a small brick, and what two threads are to gain over one."""
RANKS_OF_THREADS = 0.90
STRAIN_COST = 1.05
STRAIN_POINTS, STRAIN_EVERY = 10_000, 10
SPACING_M, DT_S = 100.0, 0.007


@benchmark(
    "waves",
    "steps of the wave solver: cells per second beside the memory's rate, in caches, with absorbing layers and without; Devito's",
    limit="in place / least bytes, M cells/s",
    ranks=2,
    options={
        "cells": Option("200,320", "of the grid along each side, comma separated"),
        "ground": Option("elastic,anelastic", "elastic, anelastic or both"),
        "width": Option(10, "cells of the absorbing layers"),
        "steps": Option(16, "of each contender in each repeat"),
        "devito": Option(1, "1: the same equations by Devito, where it is installed; 0: leave it out"),
    },
)
def waves(run: Run) -> Iterator[Measurement]:
    """A cube of two kinds of rock under a free surface, and a force; with perfectly matched layers on the other sides or without.

    All contenders take turns with the memory: as many threads as there are ranks change large arrays in place (bytes read and
    written). The limit is that rate over the least bytes of a cell: 120 elastic, 176 anelastic (each field and medium once, media
    at one place in the cell). Steps that share a passage through memory may exceed it.

    "in caches": 80^3 cells. "Devito": its operators of the same equations, without surface, layers or force, by as many threads;
    pip install devito.

    "SGT": six strains at 10,000 cell centres scattered over the grid, every 10 steps, into a file, over the same without.
    """
    o = run.options
    for ground in o["ground"].split(","):
        if ground not in LEAST_BYTES:
            raise UserError(f"--set ground={ground}; allowed: elastic, anelastic")
        for cells in _numbers(o["cells"]):
            run.say(f"{cells}^3 {ground} ...")
            yield from _one(run, cells, ground, o["width"], o["steps"])
        run.say(f"{SMALL}^3 {ground} ...")
        yield from _small(run, ground, o["steps"])


@dataclass(frozen=True)
class Contender:
    """A way to step: a cube, on the first `ranks` of the job, by `threads` each."""

    name: str
    ranks: int
    threads: int
    cells: int
    width: int = 0
    """Cells of absorbing layers; 0: none."""
    strains: bool = False


def _one(run: Run, cells: int, ground: str, width: int, steps: int) -> Iterator[Measurement]:
    comm, size = run.comm, run.comm.size
    ways = [(f"{size} ranks", size, 1)] + ([(f"1 rank x {size} threads", 1, size)] if size > 1 else [])
    bare = [Contender(name, ranks, threads, cells) for name, ranks, threads in ways]
    layered = [Contender(f"{name}, layers", ranks, threads, cells, width) for name, ranks, threads in ways]
    one_thread = Contender("1 rank x 1 thread", 1, 1, cells)
    cached = Contender("in caches", *ways[-1][1:], IN_CACHE)
    wanted = run.options["devito"] == 1
    with tempfile.TemporaryDirectory() as folder:
        everybody = [*bare, *layered, one_thread, cached]
        rates, bandwidth, devito = _rates(run, everybody, cells, ground, steps, Path(folder), with_devito=wanted)
    group = f"{ground}, {cells}^3 cells, "
    if comm.rank == 0:
        memory = [1e3 * each / LEAST_BYTES[ground] for each in bandwidth]

        def line(
            of: Contender, limit: list[float], named: str | None = None, target: float | None = None
        ) -> Measurement:
            name = of.name.removesuffix(", layers") + ("" if named is None else f" / {named}")
            note = f"in place {max(bandwidth):.1f} GB/s" if named is None else ""
            there = group + (f"layers of {width}" if of in layered else "no layers")
            return Measurement(name, rates[of.name], "M cells/s", limit, named, target, note=note, group=there)

        yield line(one_thread, memory)
        yield from (line(each, memory) for each in bare)
        yield from (line(each, rates[cached.name], "in caches", OF_IN_CACHE) for each in bare)
        if devito:
            yield from (line(each, devito, "Devito", OF_DEVITO[ground]) for each in bare)
        elif wanted:
            note = "Devito is not installed (pip install devito)"
            yield Measurement("Devito", [], "M cells/s", note=note, group=f"{group}no layers")
        yield from (line(each, memory, target=TARGETS[ground]) for each in layered)
        yield from (
            line(each, rates[same.name], "no layers", OF_NO_LAYERS) for each, same in zip(layered, bare, strict=True)
        )
        if size > 1:
            yield line(layered[0], rates[layered[1].name], ways[1][0], RANKS_OF_THREADS)
    if cells > 256:  # strains cost the same there, of a longer step
        return
    with tempfile.TemporaryDirectory() as folder:
        shared = Path(comm.bcast(folder))
        both = [Contender("without", size, 1, cells, width), Contender("SGT", size, 1, cells, width, strains=True)]
        rates, _, _ = _rates(run, both, cells, ground, STRAIN_EVERY, shared)
        if comm.rank == 0:
            seconds = {name: [1e-6 * cells**3 / each for each in values] for name, values in rates.items()}
            yield Measurement(
                f"SGT, {STRAIN_POINTS} points every {STRAIN_EVERY} steps",
                seconds["SGT"],
                "s/step",
                seconds["without"],
                "without",
                STRAIN_COST,
                less_is_better=True,
                group=f"{group}layers of {width}",
            )
        comm.barrier()


def _small(run: Run, ground: str, steps: int) -> Iterator[Measurement]:
    size = run.comm.size
    if size == 1:
        return
    one, more = Contender("1 thread", 1, 1, SMALL), Contender(f"{size} threads", 1, size, SMALL)
    with tempfile.TemporaryDirectory() as folder:
        rates, _, _ = _rates(run, [one, more], SMALL, ground, 10 * steps, Path(folder))
    if run.comm.rank == 0:
        group = f"{ground}, {SMALL}^3 cells, no layers"
        target = THREADS_OF_SMALL if size == 2 else None
        yield Measurement(
            f"1 rank x {more.name}", rates[more.name], "M cells/s", rates[one.name], one.name, target, group=group
        )


def _rates(
    run: Run,
    contenders: list[Contender],
    cells: int,
    ground: str,
    steps: int,
    folder: Path,
    *,
    with_devito: bool = False,
) -> tuple[dict[str, list[float]], list[float], list[float]]:
    """M cells/s of each, GB/s of the memory, and M cells/s of Devito, repeat by repeat, all in turn. On rank 0."""
    comm = run.comm
    made = []
    for each in contenders:
        team = comm.Split(0 if comm.rank < each.ranks else 1)
        made.append(_solver(each, team, run, ground, folder) if comm.rank < each.ranks else None)
    of_devito = None
    if with_devito and comm.rank == 0:
        of_devito = steps_of_devito(cells, ground == "anelastic", SPACING_M, DT_S, comm.size)
    comm.barrier()
    rates: dict[str, list[float]] = {each.name: [] for each in contenders}
    bandwidth: list[float] = []
    devito: list[float] = []
    for repeat in range(-1, run.repeats):
        measured: list[float] = []

        def measure(to: list[float] = measured) -> None:
            to.append(_craton.memory_in_place_rate(comm.size))
            if of_devito is not None:
                to.append(1e-6 * cells**3 * steps / of_devito(steps))

        alone(comm, 1, measure)
        if repeat >= 0:
            bandwidth += measured[:1]
            devito += measured[1:]
        for each, solver in zip(contenders, made, strict=True):
            times: list[float] = []
            alone(comm, each.ranks, _timed(solver, steps, times))
            if repeat >= 0:
                rates[each.name] += [1e-6 * each.cells**3 * steps / t for t in times]
    for each, solver in zip(contenders, made, strict=True):
        if solver is not None and each.strains:
            solver[1].finish()
    return rates, bandwidth, devito


def _timed(solver: Any, steps: int, times: list[float]) -> Callable[[], None]:
    def work() -> None:
        world, waves = solver
        world.barrier()
        begun = time.perf_counter()
        waves.advance(steps)
        world.barrier()
        times.append(time.perf_counter() - begun)

    return work


def _solver(what: Contender, team: Any, run: Run, ground: str, folder: Path) -> tuple[Any, Any]:
    world = craton.World(team, run.ranks_per_node)
    o = _craton.WaveOptions()
    o.spacing_m, o.dt_s, o.threads, o.samples_per_side = SPACING_M, DT_S, what.threads, 1
    sides = o.absorbing
    if what.width > 0:
        sides.width = what.width
    else:
        sides.kind = "none"
    o.absorbing = sides
    if ground == "anelastic":
        o.attenuation = _craton.WaveRelaxation(0.05, 5.0, 1.0)
    shape = (what.cells,) * 3
    waves = _craton.WaveRun(world, shape, _craton.best_process_grid(shape, team.size), o, _rock)
    middle = 0.5 * what.cells * SPACING_M
    waves.set_sources(np.zeros((0, 3)), np.zeros((0, 6)), np.array([[middle, middle, 0.0]]), np.array([[0, 0, 1e12]]))
    waves.set_force_series(0, np.ones((1, 10_000), np.float32))
    if what.strains:
        places = np.random.default_rng(1).integers(what.width, what.cells - what.width, (STRAIN_POINTS, 3))
        steps = (run.repeats + 1) * STRAIN_EVERY
        when = _craton.WaveSchedule(0, STRAIN_EVERY, steps)
        path = str(folder / f"sgt_{ground}.h5")
        points = np.asarray((places + 0.5) * SPACING_M, np.float64)
        waves.write_strains(path, when, points, samples_at_once=max(1, (run.repeats + 1) // 2))
    return world, waves


def _rock(_x: float, _y: float, z: float, _spacing: float, _nx: int, _ny: int) -> list[float]:
    return [5000.0, 2800.0, 2600.0, 200.0, 100.0] if z < 3000 else [6000.0, 3400.0, 2700.0, 200.0, 100.0]


def _numbers(text: str) -> list[int]:
    try:
        found = [int(each) for each in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 48:
        raise UserError(f"--set cells={text}; allowed: numbers of cells, 48 or more, such as 200,320")
    return found
