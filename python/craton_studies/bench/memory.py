"""How much memory the ranks take while all of them add to one as fast as they can."""

from __future__ import annotations

from collections.abc import Iterator

from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.extension import extension as _studies

MIB = 1 << 20
SLACK_MIB = 64
"""Beyond storage and the bound: MPI's own buffers, the scratch of the threads."""


@benchmark(
    "memory",
    "peak resident set of each rank while 4 ranks all add to one, beside storage + bound + 64 MiB",
    limit="storage + bound + 64 MiB",
    ranks=4,
    options={
        "N": Option(4096, "side of the matrix"),
        "n": Option(256, "side of the updates"),
        "updates": Option(1000, "of each rank"),
        "bound": Option(16, "MiB that a rank may have in flight"),
    },
)
def memory(run: Run) -> Iterator[Measurement]:
    """Every rank adds blocks to elements of rank 0 alone, with nothing between the calls; the sums are checked.

    The figure is what the resident set has grown by since before the world was made (the interpreter and its libraries are left
    out): the kernel's high-water mark. By messages its limit is the rank's own storage + the bound + 64 MiB. By direct delivery the
    limit counts the storage of the whole node. The kernel counts pages of the neighbours' storage that a rank has written to as its
    own too, though they are in memory once.
    """
    o = run.options
    for name, ranks_per_node in run.deliveries("memory"):
        found = _studies.memory(run.comm, o["N"], o["n"], o["updates"], o["bound"] * MIB, ranks_per_node)
        group = f"{name}: bound {o['bound']} MiB, {o['updates']} updates of {o['n']} x {o['n']} of each rank"
        for rank in range(run.comm.size):
            mib = {key: values[rank] / MIB for key, values in found.items()}
            storage = mib["node storage" if name == "direct" else "own storage"]
            limit = storage + o["bound"] + SLACK_MIB
            note = (
                f"in all {mib['peak']:.0f}, anonymous {mib['peak anonymous']:.0f}, shared {mib['peak shared']:.0f}; "
                f"storage {storage:.0f}; in flight {mib['in flight']:.1f}; {found['seconds'][rank]:.2f} s"
            )
            grown = mib["peak"] - mib["before"]
            yield Measurement(
                f"rank {rank}", [grown], "MiB", [limit], target=1.0, less_is_better=True, note=note, group=group
            )
