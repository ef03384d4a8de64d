"""Steps of the wave solver beside the memory's speed, two ranks beside two threads, and what recording strains costs."""

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

from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.multigrid.timing import alone

LEAST_BYTES = {"elastic": 120, "anelastic": 176}
"""Read and written of a cell in a step of two sweeps, each array once (density and moduli at one place each)."""
TARGETS = {"elastic": 0.60, "anelastic": 0.55}
"""Fractions of bandwidth / LEAST_BYTES that are to be reached."""
RANKS_OF_THREADS = 0.90
STRAIN_COST = 1.05
STRAIN_POINTS, STRAIN_EVERY = 10_000, 10
SPACING_M, DT_S = 100.0, 0.007


@benchmark(
    "waves",
    "steps of the wave solver with free surface and absorbing layers: cells per second beside the memory's rate; strain output",
    limit="in place / least bytes, M cells/s",
    ranks=2,
    options={
        "cells": Option("200,320", "of the grid along each side, comma separated"),
        "ground": Option("elastic,anelastic", "elastic, anelastic or both"),
        "width": Option(10, "cells of the absorbing layers"),
        "steps": Option(10, "of each contender in each repeat"),
    },
)
def waves(run: Run) -> Iterator[Measurement]:
    """A cube of two kinds of rock under a free surface, with perfectly matched layers on the other five sides, and a force.

    All contenders take turns with the memory: as many threads as there are ranks change large arrays in place (bytes read and
    written). The limit is that rate over the least bytes of a cell: 120 elastic, 176 anelastic (each field and medium once, media
    at one place in the cell).

    "SGT": six strains at 10,000 cell centres scattered over the grid, every 10 steps, into a file, over the same without.
    """
    o = run.options
    for cells in _numbers(o["cells"]):
        for ground in o["ground"].split(","):
            if ground not in LEAST_BYTES:
                raise UserError(f"--set ground={ground}; allowed: elastic, anelastic")
            run.say(f"{cells}^3 {ground} ...")
            yield from _one(run, cells, ground, o["width"], o["steps"])


@dataclass
class Contender:
    """A way to step: on the first `ranks` of the job, by `threads` each."""

    name: str
    ranks: int
    threads: int
    strains: bool = False


def _one(run: Run, cells: int, ground: str, width: int, steps: int) -> Iterator[Measurement]:
    comm, size = run.comm, run.comm.size
    contenders = [Contender(f"{size} ranks", size, 1)]
    if size > 1:
        contenders.append(Contender(f"1 rank x {size} threads", 1, size))
    with tempfile.TemporaryDirectory() as folder:
        rates, bandwidth = _rates(run, contenders, cells, ground, width, steps, Path(folder))
        if comm.rank == 0:
            least = LEAST_BYTES[ground]
            group = f"{ground}, {cells}^3 cells, layers of {width}"
            limit = [1e3 * each / least for each in bandwidth]
            for each in contenders:
                note = f"in place {max(bandwidth):.1f} GB/s"
                values, target = rates[each.name], TARGETS[ground]
                yield Measurement(each.name, values, "M cells/s", limit, target=target, note=note, group=group)
            if size > 1:
                ranks, threads = (rates[each.name] for each in contenders)
                name = f"{size} ranks / 1 rank x {size} threads"
                yield Measurement(name, ranks, "M cells/s", threads, f"{size} threads", RANKS_OF_THREADS, group=group)
    if cells > 256:  # strains cost the same there, of a longer step
        return
    with tempfile.TemporaryDirectory() as folder:
        shared = Path(comm.bcast(folder))
        both = [Contender("without", size, 1), Contender("SGT", size, 1, strains=True)]
        rates, _ = _rates(run, both, cells, ground, width, STRAIN_EVERY, shared)
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
                group=group,
            )
        comm.barrier()


def _rates(
    run: Run, contenders: list[Contender], cells: int, ground: str, width: int, steps: int, folder: Path
) -> tuple[dict[str, list[float]], list[float]]:
    comm = run.comm
    made = []
    for each in contenders:
        team = comm.Split(0 if comm.rank < each.ranks else 1)
        made.append(_solver(each, team, run, cells, ground, width, folder) if comm.rank < each.ranks else None)
    rates: dict[str, list[float]] = {each.name: [] for each in contenders}
    bandwidth: list[float] = []
    for repeat in range(-1, run.repeats):
        measured: list[float] = []

        def measure(to: list[float] = measured) -> None:
            to.append(_craton.memory_in_place_rate(comm.size))

        alone(comm, 1, measure)
        if repeat >= 0:
            bandwidth += measured
        for each, solver in zip(contenders, made, strict=True):
            times: list[float] = []
            alone(comm, each.ranks, _timed(solver, steps, times))
            if repeat >= 0:
                rates[each.name] += [1e-6 * cells**3 * steps / t for t in times]
    for each, solver in zip(contenders, made, strict=True):
        if solver is not None and each.strains:
            solver[1].finish()
    return rates, bandwidth


def _timed(solver: Any, steps: int, times: list[float]) -> Callable[[], None]:
    def work() -> None:
        world, waves = solver
        world.barrier()
        begun = time.perf_counter()
        waves.advance(steps)
        world.barrier()
        times.append(time.perf_counter() - begun)

    return work


def _solver(what: Contender, team: Any, run: Run, cells: int, ground: str, width: int, folder: Path) -> tuple[Any, Any]:
    world = craton.World(team, run.ranks_per_node)
    o = _craton.WaveOptions()
    o.spacing_m, o.dt_s, o.threads, o.samples_per_side = SPACING_M, DT_S, what.threads, 1
    sides = o.absorbing
    sides.width = width
    o.absorbing = sides
    if ground == "anelastic":
        o.attenuation = _craton.WaveRelaxation(0.05, 5.0, 1.0)
    shape = (cells,) * 3
    waves = _craton.WaveRun(world, shape, _craton.best_process_grid(shape, team.size), o, _rock)
    middle = 0.5 * cells * SPACING_M
    waves.set_sources(np.zeros((0, 3)), np.zeros((0, 6)), np.array([[middle, middle, 0.0]]), np.array([[0, 0, 1e12]]))
    waves.set_force_series(0, np.ones((1, 10_000), np.float32))
    if what.strains:
        places = np.random.default_rng(1).integers(width, cells - width, (STRAIN_POINTS, 3))
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
