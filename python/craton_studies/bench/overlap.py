"""Whether updates cost the producers anything: total time beside computing alone, and a target that does not poll."""

from __future__ import annotations

from collections.abc import Iterator

from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.extension import extension as _studies

WITHIN = 1.03
"""Total time with updates, of computing alone, for producers that compute 95% of the time."""
LONGEST_UPDATE_MS = 5.0
"""While the bound on bytes in flight allows, however busy the target is."""


@benchmark(
    "overlap",
    "producers that compute 95% of the time, with and without updates; update() towards a rank that never polls",
    limit="computing alone",
    ranks=2,
    options={
        "N": Option(8192, "side of the matrix"),
        "n": Option(512, "side of the updates: one per rank and period, about 1 ms of work"),
        "periods": Option(30, "of computing and rest in each measurement"),
        "period": Option(0.1, "seconds"),
        "computing": Option(0.95, "fraction of a period that is computed; the rest of it is rest"),
        "busy": Option(1.0, "seconds for which the busy target computes"),
    },
)
def overlap(run: Run) -> Iterator[Measurement]:
    """One producer per rank, which computes for 95% of each period and rests for 5%, as one that waits for its data does.

    It computes multiply-adds in registers, always the same number. With updates it adds one at the end of each computation, and
    looks for arriving ones while it rests. Both are timed in turn, to the end of commit.

    "No rest" is the strict variant: the producers compute all the time, so that each instruction of an update must show;
    "processor" is what all ranks together used of their cores.

    The busy target: rank 0 adds blocks to elements of rank 1, which computes for a second and never polls; the figure is
    the longest of all calls of update(). The matrix is checked after each repeat.
    """
    o = run.options
    for name, ranks_per_node in run.deliveries("overlap"):
        found = _studies.overlap(
            run.comm, o["N"], o["n"], o["periods"], o["period"], o["computing"], run.repeats, ranks_per_node
        )
        group = f"{name}: {o['computing']:.0%} computing, periods of {o['period']:g} s, N={o['N']}, n={o['n']}"
        call = f"update() {sorted(found['update, ms'])[len(found['update, ms']) // 2]:.2f} ms"
        for label, with_updates, alone, target, note in (
            ("total time", "with updates", "alone", WITHIN, call),
            ("processor time", "processor with updates", "processor alone", None, ""),
            ("total time, no rest", "with updates, no rest", "alone, no rest", None, ""),
            ("processor time, no rest", "processor with updates, no rest", "processor alone, no rest", None, ""),
        ):
            yield Measurement(
                label,
                found[with_updates],
                "s",
                found[alone],
                target=target,
                less_is_better=True,
                note=note,
                group=group,
            )
    if run.comm.size < 2:
        return
    for name, ranks_per_node in run.deliveries("busy target"):
        updates, side, bound = 80, 256, 64 << 20
        found = _studies.busy_target(run.comm, o["busy"], updates, side, run.repeats, ranks_per_node, bound)
        if run.comm.rank == 0:
            group = f"{name}: {updates} updates of {side} x {side} towards a rank that computes for {o['busy']:g} s"
            longest = found["longest update, ms"]
            yield Measurement(
                "longest update()",
                longest,
                "ms",
                [LONGEST_UPDATE_MS] * len(longest),
                f"{LONGEST_UPDATE_MS:g} ms",
                1.0,
                less_is_better=True,
                group=group,
            )
            yield Measurement("median update()", found["median update, ms"], "ms", less_is_better=True, group=group)
            yield Measurement("until commit returned", found["applied, s"], "s", less_is_better=True, group=group)
