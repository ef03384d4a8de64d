"""Updates G^T G per second: update_gram beside forming the product with BLAS and adding it."""

from __future__ import annotations

from collections.abc import Iterator

from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.extension import extension as _studies

FASTER = 1.8
"""update_gram with compression, times ssyrk + update_symmetric."""
STRONGEST = "ssyrk + update_symmetric"


@benchmark(
    "gram",
    "updates G^T G of panels 150 x 4060 of numerical rank 60: update_gram beside BLAS and update()",
    limit=STRONGEST,
    ranks=2,
    options={
        "cells": Option(406, "of the matrix, with 20 parameters each"),
        "touched": Option(203, "cells of each panel: n = 20 times as many"),
        "splines": Option(20, "parameters of a cell"),
        "k": Option(150, "samples of a panel"),
        "rank": Option(60, "numerical rank of a panel"),
        "noise": Option(1e-4, "beside that rank, relative to the panel's elements"),
        "tolerance": Option(1e-6, "trace norm that compression may lose, relative to the trace"),
        "updates": Option(4, "of each rank in each measurement"),
    },
)
def gram(run: Run) -> Iterator[Measurement]:
    """Four ways to add G^T G to the upper triangle of a float32 matrix, in turn in each repeat: ssyrk into a buffer, then
    update_symmetric (the strongest of the usual ways, to which the ratios refer); sgemm, then update of both triangles;
    update_gram; update_gram that first compresses the panel to its numerical rank. BLAS has one thread on each rank.

    After the last repeat the compressed matrix is compared with that of ssyrk: the Frobenius norm of the difference must
    be within tolerance x trace, which bounds its trace norm.
    """
    o = run.options
    for name, ranks_per_node in run.deliveries("gram"):
        found = _studies.gram(
            run.comm,
            o["cells"],
            o["touched"],
            o["splines"],
            o["k"],
            o["rank"],
            o["noise"],
            o["tolerance"],
            o["updates"],
            run.repeats,
            ranks_per_node,
        )
        group = f"{name}: n={o['touched'] * o['splines']}, k={o['k']}, rank {o['rank']}, N={o['cells'] * o['splines']}"
        for way in (STRONGEST, "sgemm + update", "update_gram", "update_gram, compressed"):
            compressed = way.endswith("compressed")
            note = f"{max(found[f'processor {way}']):.1f} per processor second"
            note += f", {found['rank'][0]:.0f} of {o['k']} rows" if compressed else ""
            target = FASTER if compressed else None
            yield Measurement(way, found[way], "updates/s", found[STRONGEST], target=target, note=note, group=group)
        yield Measurement(
            "error of the compressed",
            found["error"],
            "",
            [1.0],
            f"{o['tolerance']:g} x trace",
            1.0,
            less_is_better=True,
            group=group,
        )
