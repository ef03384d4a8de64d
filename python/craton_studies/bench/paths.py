"""Panels, the derivatives of one path's samples to the unknowns it touches: how fast they come, and what stacking them saves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import craton
import numpy as np
from craton import _craton

from craton_studies.bench.registry import Measurement, Option, Run, benchmark

PANELS_A_SECOND = 10.0
"""Panels of NACT per second and core that the project has promised."""


@dataclass(frozen=True)
class Case:
    """One theory with the problem it is measured on."""

    name: str
    theory: str
    shortest_period_s: float
    level: int
    radial: int
    paths: int
    degrees: tuple[float, float]
    t_first_s: float
    sample_interval_s: float
    samples: int
    target: float | None = None


PAVA = Case("PAVA", "pava", 120.0, 3, 10, 24, (40.0, 80.0), 500.0, 10.0, 180)
NACT = Case("NACT", "nact", 60.0, 5, 20, 12, (65.0, 95.0), 500.0, 12.0, 150, PANELS_A_SECOND)


@benchmark(
    "paths",
    "panels of random paths, by path averages and by coupling across branches; each rank one at a time",
    limit="the product G^T G",
    options={"theories": Option("pava,nact", "which to measure")},
)
def paths(run: Run) -> Iterator[Measurement]:
    """The limit is the rate of the product that every panel is made for, at the BLAS rate of this run.

    PAVA: modes above 120 s, 162 x 10 splines. NACT: modes above 60 s, 2562 x 20 splines, paths of 65 to 95 degrees, which touch
    about 1,800 of them, 150 samples over half an hour; in paths per second of one core, at least 10.
    """
    wanted = run.options["theories"].split(",")
    for case in (PAVA, NACT):
        if case.theory in wanted:
            yield from _panels(run, case)


def _panels(run: Run, case: Case) -> Iterator[Measurement]:
    earth = _craton.EarthModel.prem_isotropic()
    modes = _craton.ModeCatalogue.solve(earth, case.shortest_period_s)
    basis = _craton.ModelBasis(case.level, np.linspace(earth.cmb_radius_m, earth.surface_radius_m, case.radial))
    filter_periods_s = (400.0, 250.0, 1.25 * case.shortest_period_s, case.shortest_period_s)
    forward = _craton.ForwardProblem(modes, basis, filter_periods_s, case.theory)
    generator = np.random.default_rng(2015)
    chosen = random_paths(forward, generator, case)
    model = generator.normal(0.0, 0.01, basis.size)
    touched: list[int] = []

    def work() -> None:
        touched.clear()
        for index in range(case.paths):
            touched.append(len(forward.panel(chosen[index], model)[1]))

    _craton.set_blas_threads(1)
    seconds = run.seconds(work)
    rates = [case.paths / time for time in seconds]
    products = []
    for _ in range(run.repeats):
        run.comm.barrier()
        rate = 1e9 * _craton.gemm_gflops(1024, single=True, threads=1)
        # a symmetric product needs n (n + 1) k floating-point operations
        products.append(rate / float(np.mean([size * (size + 1.0) * case.samples for size in touched])))
    note = f"{len(modes)} modes, {np.mean(touched):.0f} parameters, {case.samples} samples"
    yield Measurement(f"panels, {case.name}", rates, "paths/s per core", products, note=note)
    if case.target is not None:
        yield Measurement(
            f"panels, {case.name}, beside what is promised",
            rates,
            "paths/s per core",
            [case.target],
            "promised",
            target=1.0,
        )


def random_paths(
    forward: _craton.ForwardProblem, generator: np.random.Generator, case: Case, windows: int = 1, apart: bool = False
) -> _craton.PathSet:
    """Events and stations anywhere, so many degrees apart: the i-th event to the i-th station, windows one after the other.

    apart: each window at a station of its own, in the same place.
    """
    event_latitude = np.degrees(np.arcsin(generator.uniform(-0.8, 0.8, case.paths)))
    event_longitude = generator.uniform(-180, 180, case.paths)
    distance = np.radians(generator.uniform(*case.degrees, case.paths))
    azimuth = generator.uniform(0.0, 2 * np.pi, case.paths)
    here = np.radians(event_latitude)
    there = np.arcsin(np.sin(here) * np.cos(distance) + np.cos(here) * np.sin(distance) * np.cos(azimuth))
    turned = np.arctan2(
        np.sin(azimuth) * np.sin(distance) * np.cos(here), np.cos(distance) - np.sin(here) * np.sin(there)
    )
    order = np.repeat(np.arange(case.paths, dtype=np.int64), windows)
    window = np.tile(np.arange(windows, dtype=np.int64), case.paths)
    return _craton.PathSet(
        forward,
        event_latitude,
        event_longitude,
        np.full(case.paths, 30e3),
        generator.normal(size=(case.paths, 6)) * 1e18,
        np.full(case.paths, 3.0),
        np.repeat(np.degrees(there), windows),
        np.repeat((event_longitude + np.degrees(turned) + 180.0) % 360.0 - 180.0, windows),
        order,
        windows * order + (window if apart else 0),
        np.asarray(case.t_first_s + case.samples * case.sample_interval_s * window, np.float64),
        case.sample_interval_s,
        np.full(len(order), case.samples, dtype=np.int64),
    )


# ------------------------------------------------------------------------------------- several windows of a path stacked

APART = "a window an update"
WAYS = ((APART, True, 0.0), ("stacked", False, 0.0), ("stacked, compressed", False, None))
"""Name, whether windows are kept apart, and what is left out of panels (None: what the option says)."""


@benchmark(
    "stacks",
    "assembly of NACT with several windows a path: apart, stacked, stacked and compressed; without the panels' own time",
    limit=APART,
    ranks=2,
    options={
        "level": Option(4, "of the lateral splines"),
        "radial": Option(20, "splines"),
        "paths": Option(20, "each of which has the windows"),
        "windows": Option(3, "one after the other"),
        "samples": Option(60, "of a window, 10 s apart"),
        "compress": Option(1e-4, "what may be left out, relative to a panel's norm"),
    },
)
def stacks(run: Run) -> Iterator[Measurement]:
    """Modes above 80 s; random paths of 40 to 140 degrees. Windows apart have a station each, at the same place.

    Rates are paths per second that threads of all ranks spend on products, on adding them to the Hessian and on what other ranks
    send; panels take as long in all three. Bytes are those that leave a node.
    """
    o = run.options
    case = Case("NACT", "nact", 80.0, o["level"], o["radial"], o["paths"], (40.0, 140.0), 500.0, 10.0, o["samples"])
    earth = _craton.EarthModel.prem_isotropic()
    modes = _craton.ModeCatalogue.solve(earth, case.shortest_period_s)
    basis = _craton.ModelBasis(case.level, np.linspace(earth.cmb_radius_m, earth.surface_radius_m, case.radial))
    forward = _craton.ForwardProblem(modes, basis, (400.0, 250.0, 100.0, 80.0), case.theory)
    for name, ranks_per_node in run.deliveries("stacks"):
        world = craton.World(run.comm, ranks_per_node)
        hessian = craton.ConvergentMatrix(world, basis.size, basis.size, dtype="float32", block=64)
        gradient = craton.ConvergentVector(world, basis.size, 64)
        hessian.reset()  # pages that are touched for the first time take longer
        group = f"{name}: {case.paths} paths of {o['windows']} windows, {case.samples} samples each, {basis.size} parameters"
        limit: tuple[list[float], list[float]] = ([], [])
        for way, apart, compress in WAYS:
            paths = random_paths(forward, np.random.default_rng(2015), case, o["windows"], apart)
            rates, megabytes, note = [], [], ""
            for _ in range(run.repeats):
                sums = assemble_once(
                    run, world, forward, paths, hessian, gradient, o["compress"] if compress is None else compress
                )
                rates.append(case.paths / (sums["product_s"] + sums["update_s"] + sums["poll_s"]))
                megabytes.append(1e-6 * sums["bytes_sent"] / case.paths)
                note = f"{sums['updates']:.0f} updates, {sums['rows']:.0f} rows, panels {sums['panel_s']:.2f} s"
            limit = (rates, megabytes) if way == APART else limit
            yield Measurement(way, rates, "paths/s", limit[0], note=note, group=group)
            if max(megabytes) > 0.0:
                yield Measurement(
                    f"sent, {way}", megabytes, "MB/path", limit[1], f"sent, {APART}", less_is_better=True, group=group
                )
        world.quiesce()


def assemble_once(
    run: Run,
    world: craton.World,
    forward: _craton.ForwardProblem,
    paths: _craton.PathSet,
    hessian: craton.ConvergentMatrix,
    gradient: craton.ConvergentVector,
    compress: float,
) -> dict[str, float]:
    """What assemble() says, summed over ranks, and the bytes that were sent. Collective."""
    samples, size = int(paths.offsets[-1]), forward.basis.size
    before = world.stats()["bytes_sent"]
    found = _craton.assemble(
        world, forward, paths, np.zeros(samples), np.ones(len(paths)), np.zeros(size), hessian, gradient, run.threads, 1,
        compress=compress,
    )  # fmt: skip
    found["bytes_sent"] = world.stats()["bytes_sent"] - before
    return {name: float(run.comm.allreduce(value)) for name, value in sorted(found.items())}
