"""The rate at which symmetric updates are added to a distributed matrix, from the first update to the end of commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from craton.errors import UserError

from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.extension import extension as _studies

BLOCK_ELEMENTS = 64 << 20
"""Elements of all updates together: 256 MiB of blocks, more than most caches hold."""

TARGETS = {
    (8192, 1024, 0): {"direct": 1.3, "messages": 0.8},
    (8192, 256, 0): {"direct": 1.0, "messages": 0.7},
    (16384, 1024, 0): {"direct": 1.2, "messages": 0.85},
    (8192, 1024, 1): {"direct": 2.5},
    (8192, 256, 1): {"direct": 2.5},
    (16384, 1024, 1): {"direct": 2.5},
}
"""What 2 ranks on 2 cores must reach, times the plain loop on 2 threads."""
OF_TOUCHED_LINES = {16384: 0.65}
"""What direct delivery on 2 ranks must reach, by the matrix's side, of touched lines read and written once; order 0, n = 1024."""
OF_TWO_RANKS = 0.75
"""What 4 ranks on the same 2 cores must reach of it."""
LOOP = "loop, own updates"
"""Each thread applies its own updates, as each rank does: the limit that ratios are of."""
LOOPS = (LOOP, "loop, own columns")


@benchmark(
    "assembly",
    "symmetric updates of float32 matrices by direct delivery and by messages, MPI-3 RMA, replication",
    limit="plain loop",
    ranks=4,
    options={
        "cases": Option("8192:1024,8192:256,16384:1024", "matrix side : update side, comma separated"),
        "orders": Option("0,1", "0 lateral index fastest (short runs), 1 radial index fastest (long runs), or both"),
        "updates": Option(0, "of all ranks together; 0: as many as make 256 MiB of blocks"),
        "passes": Option(4, "how often each update is applied: a run of milliseconds would measure the scheduler"),
        "peers": Option(1, "1: also the project's own MPI-3 RMA and replicated versions; 0: leave them out"),
    },
)
def assembly(run: Run) -> Iterator[Measurement]:
    """Updates n x n on the cells that a random great circle crosses, in 16 radial layers, upper triangle, float32 N x N.

    Blocks are 64 x 64. Updates are made beforehand and timed from the first to the end of commit; million elements per second of
    all ranks together. After every repeat the matrix is compared with what the updates must make of it.

    In turn with each repeat, rank 0 alone runs the plain loop A[ix[i] + ix[j] * N] += block(i, j) over the same updates in local
    memory on two threads, while the other ranks sleep. Each thread has its own updates, as the ranks have, and no lock (it may lose
    contributions where they meet): that is what ratios are of. A second line shows the loop with every second group of 64 columns
    to each thread, which is safe and quicker, but needs all updates in one memory.

    "touched lines": what the memory could do, changed in place by two threads in the same run, if each cache line that an update
    touches were read and written once, and each block read.

    Messages travel between two virtual nodes of this machine; with more than 2 ranks also between as many nodes as ranks.
    A job of more than 2 ranks measures its first 2 alone as well, so that `--ranks 4` shows what more ranks than cores cost.
    """
    for order in whole_numbers(run.options["orders"], "orders"):
        for matrix_side, update_side in cases(run.options["cases"]):
            run.say(f"N = {matrix_side}, n = {update_side}, order {order} ...")
            updates = run.options["updates"] or max(2 * run.comm.size, BLOCK_ELEMENTS // update_side**2)
            teams = sorted({min(2, run.comm.size), run.comm.size})
            found = _studies.assembly(
                run.comm,
                matrix_side,
                update_side,
                order,
                updates,
                run.options["passes"],
                run.repeats,
                teams,
                bool(run.options["peers"]),
            )
            if run.comm.rank == 0:
                yield from compared(found, (matrix_side, update_side, order))


def compared(found: dict[str, Any], case: tuple[int, int, int]) -> Iterator[Measurement]:
    """Every contender beside the loop, and many ranks beside two."""
    group = f"N={case[0]} n={case[1]} order {case[2]}"
    unit = "M/s"
    rates = {(each["name"], each["ranks"]): each for each in found["contenders"]}
    loop = rates[LOOP, 1]["rates"]
    for (name, ranks), each in rates.items():
        target = TARGETS.get(case, {}).get(name) if ranks == 2 else None
        label = name if name in LOOPS else f"{name}, {ranks} ranks"
        note = each["note"]
        if each["processor_rates"]:
            note = f"{max(each['processor_rates']):.0f} M per processor second"
        limits = loop if each["rates"] else ()
        yield Measurement(label, each["rates"], unit, limits, target=target, ranks=ranks, note=note, group=group)
    for name in ("direct", "messages"):
        for ranks in {ranks for of, ranks in rates if of == name and ranks > 2 and (name, 2) in rates}:
            values, two = rates[name, ranks]["rates"], rates[name, 2]["rates"]
            label = f"{name}, {ranks} ranks / 2 ranks"
            target = OF_TWO_RANKS if ranks == 4 else None
            yield Measurement(label, values, unit, two, "the same, 2 ranks", target, ranks=ranks, group=group)
    touched = 1e3 * found["in_place_gb_s"] / found["least_bytes"]
    for name, ranks in rates:
        if name == "direct" and ranks == 2:
            target = OF_TOUCHED_LINES.get(case[0]) if case[1:] == (1024, 0) else None
            note = f"{found['least_bytes']:.0f} bytes per element at {found['in_place_gb_s']:.1f} GB/s"
            values = rates[name, ranks]["rates"]
            label = f"{name}, 2 ranks / touched lines"
            yield Measurement(label, values, unit, [touched], "touched lines", target, ranks=2, note=note, group=group)
    # an element is read with its update and written: 12 bytes
    triad = found["triad_gb_s"][1] * 1e3 / 12
    machine = (
        f"at 12 bytes per element; memcpy {_pair(found['memcpy_gb_s'])}, triad {_pair(found['triad_gb_s'])} GB/s on 1 / 2 "
        f"threads; mean run of indices {found['mean_run']:.1f}"
    )
    yield Measurement("triad, 2 threads", [triad], unit, loop, ranks=1, note=machine, group=group)


def _pair(values: Sequence[float]) -> str:
    return f"{values[0]:.1f} / {values[1]:.1f}"


def whole_numbers(text: str, name: str) -> list[int]:
    """The value of a setting like "0,1"."""
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise UserError(f"--set {name}={text}; allowed: whole numbers, comma separated") from None


def cases(text: str) -> list[tuple[int, int]]:
    """The value of a setting like "8192:1024,8192:256"."""
    try:
        pairs = [[int(word) for word in pair.split(":")] for pair in text.split(",")]
        return [(matrix_side, update_side) for matrix_side, update_side in pairs]
    except ValueError:
        raise UserError(
            f"--set cases={text}; allowed: pairs matrix side : update side, such as 8192:1024,8192:256"
        ) from None
