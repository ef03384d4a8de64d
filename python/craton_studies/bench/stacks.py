"""What stacking the windows of a path and compressing their panels saves in assembling a Hessian of coupled modes."""

from __future__ import annotations

from collections.abc import Iterator

import craton
import numpy as np
from craton import _craton

from craton_studies.bench.paths import Case, random_paths
from craton_studies.bench.registry import Measurement, Option, Run, benchmark

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
    """Modes above 80 s; random paths of 40 to 140 degrees. Windows apart have a station each, at the same place. Rates are
    paths per second that threads of all ranks spend on products, on adding them to the Hessian and on what other ranks
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
    """Collective: what assemble() says, summed over ranks, and the bytes that were sent."""
    samples, size = int(paths.offsets[-1]), forward.basis.size
    before = world.stats()["bytes_sent"]
    found = _craton.assemble(
        world, forward, paths, np.zeros(samples), np.ones(len(paths)), np.zeros(size), hessian, gradient, run.threads, 1,
        compress=compress,
    )  # fmt: skip
    found["bytes_sent"] = world.stats()["bytes_sent"] - before
    return {name: float(run.comm.allreduce(value)) for name, value in sorted(found.items())}
