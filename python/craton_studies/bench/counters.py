"""Counters that share out work: fetch-and-add beside MPI's own."""

from __future__ import annotations

from collections.abc import Iterator

from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.extension import extension as _studies

ON_A_NODE = 100.0
"""Million per second of a rank's own counter."""


@benchmark(
    "counters",
    "fetch-and-add of each rank's own and of other ranks' counters, by shared memory and by messages, beside MPI_Fetch_and_op",
    limit="MPI_Fetch_and_op",
    options={"increments": Option(1_000_000, "of each rank; a twentieth where each takes microseconds")},
)
def counters(run: Run) -> Iterator[Measurement]:
    """The flood of Ozog et al. 2016, figure 5: each rank has a counter, and every rank fetches and adds one after the other.

    Own: each rank its own counter, an atomic addition in shared memory whatever the delivery. Others: of ranks drawn at
    random, by shared memory (direct) or a message and its answer (messages: every rank a node of its own). Million per second
    of one rank, the slowest. MPI's: MPI_Fetch_and_op and MPI_Win_flush on a window. The sums are checked.
    """
    for name, ranks_per_node in run.deliveries("counters"):
        found = _studies.flood(run.comm, run.options["increments"], run.repeats, ranks_per_node)
        if name == "direct":
            yield Measurement("own", found["own"], "M/s", [ON_A_NODE], "100 M/s", target=1.0, group=name)
            yield Measurement(
                "own beside an atomic", found["own"], "M/s", found["plain"], "addition to memory", group=name
            )
            if "MPI own" in found:
                yield Measurement("own beside MPI", found["own"], "M/s", found["MPI own"], group=name)
        if "others" in found:
            yield Measurement("others", found["others"], "M/s", found.get("MPI others", ()), group=name)
