"""Halos of boxes, and the multigrid that needs them (Shan et al. 2015)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from studies.found import Found, Panel
from studies.machine import MESSAGE_S, NODE, RECEIVES, finer, run_program

# Steps of the ladder of Shan et al. (2015), figure 6, by their number in simulated/programs. Ranks here share no memory.
LADDER = {0: "baseline", 2: "+ strided", 3: "+ neighbour sync", 4: "+ one wait", 5: "bulk"}
NATURAL, BULK = 4, 5
HALO_BOX, HALO_RANKS, PRECISION_S = 32, (8, 64, 512), 1e-8
NATURAL_WITHIN = 1.03  # the last step's time, in times of packed buffers'
# Table I: seconds of a solve with a box of 128^3 cells on each core, by MPI and by UPC++ with packed buffers; 32,768 cores took
# 0.409 and 0.405 s.
PAPER_BOX = 128
PAPER_S = {8: (0.351, 0.348), 64: (0.373, 0.366), 512: (0.387, 0.382), 4096: (0.388, 0.385)}
FEWEST = 8
SOLVE_BOX, SOLVE_RANKS = 32, (8, 64, 512)
EQUAL_WITHIN = 1.02  # a solve with naturally grained halos, in times of packed buffers'


def compare_halos(ranks: list[int], jobs: int) -> Found:
    """Milliseconds of an exchange by each step of the ladder, and by buffers that are packed by hand."""

    def run(ranks: int, step: int) -> dict[str, Any]:
        values = {"step": step, "box": HALO_BOX, "message_s": MESSAGE_S, "receives": RECEIVES}
        return run_program("halo", ranks, values, clocks=False, settings=finer(PRECISION_S))[-1]

    right = in_order = as_packed = True
    found = Found("halos of boxes: seconds of an exchange by each step of the ladder")
    print(f"\nfaces of a box of {HALO_BOX}^3 float64 on each rank, every rank a node: ms of an exchange")
    print("  ranks  " + "".join(f"{name:>18}" for name in LADDER.values()))
    with ThreadPoolExecutor(jobs) as pool:
        for count in ranks:
            rows = list(pool.map(partial(run, count), LADDER))
            found.rows.append(
                {"ranks": count} | {name: row["seconds"] for name, row in zip(LADDER.values(), rows, strict=True)}
            )
            right &= all(row["all_right"] for row in rows)
            *natural, packed = (row["seconds"] for row in rows)
            in_order &= natural == sorted(natural, reverse=True)
            as_packed &= natural[-1] <= NATURAL_WITHIN * packed
            print(f"  {count:5d}  " + "".join(f"{1e3 * row['seconds']:18.4f}" for row in rows), flush=True)
    found.holds = {
        "all halos right": right,
        "each step at most as long": in_order,
        "the last within 3% of bulk": as_packed,
    }
    steps = [found.curve(name, name, factor=1e3) for name in LADDER.values()]
    found.panels = [Panel(f"Faces of a box of {HALO_BOX}^3 cells", "ms of an exchange", steps, log=True)]
    return found


def solve(ranks: int, box: int, **values: float) -> dict[str, Any]:
    """One F-cycle; 16 ranks share a node's bandwidth. A smaller box stands for the paper's, its bandwidths folded alike."""
    settings, fold = finer(PRECISION_S), PAPER_BOX / box
    given = {"box": box, "fold": fold, "message_s": MESSAGE_S, "receives": RECEIVES, **values}
    return run_program("multigrid", ranks, given, fold, clocks=False, settings=settings, ranks_per_host=NODE)[-1]


def compare_solves(ranks: list[int], jobs: int, box: int) -> Found:
    """A multigrid solve on more ranks, each with its box, beside the paper's table I.

    The kernels' work is what the paper's packed buffers leave of their time on 8 ranks, spread evenly over the cells that kernels
    go over. It is the same on any number of ranks but for the coarse levels.
    """
    cells = solve(FEWEST, box, measure=1)["cells"] / FEWEST
    cell_s = (PAPER_S[FEWEST][1] - solve(FEWEST, box, step=BULK)["seconds"]) / cells
    steps = {"natural": NATURAL, "bulk": BULK}
    print(f"\na multigrid solve, a box of {PAPER_BOX}^3 cells on each rank (simulated: {box}^3): seconds, and growth")
    print("  ranks  levels            natural               bulk    the paper's UPC++, bulk          its MPI")
    first: dict[str, float] = {}
    found = Found(f"a multigrid solve, a box of {PAPER_BOX}^3 cells on each rank (simulated: {box}^3): seconds")
    residuals_alike = equal = no_worse = True
    with ThreadPoolExecutor(jobs) as pool:
        for count in ranks:
            rows = list(pool.map(lambda step, count=count: solve(count, box, cell_s=cell_s, step=step), steps.values()))
            seconds = {name: row["seconds"] for name, row in zip(steps, rows, strict=True)}
            first = first or seconds
            growth = {name: took / first[name] - 1 for name, took in seconds.items()}
            residuals_alike &= rows[0]["residual"] == rows[1]["residual"] and rows[0]["residual"] < 0.01
            equal &= seconds["natural"] <= EQUAL_WITHIN * seconds["bulk"]
            words = "".join(f"{seconds[name]:10.4f} {growth[name]:+7.1%} " for name in steps)
            mpi, upcxx = PAPER_S[count]
            found.rows.append(
                {"ranks": count, "levels": rows[0]["levels"], **seconds, "paper_bulk": upcxx, "paper_mpi": mpi}
            )
            paper_growth = upcxx / PAPER_S[ranks[0]][1] - 1
            no_worse &= growth["natural"] <= paper_growth
            words += f"{upcxx:18.3f} {paper_growth:+7.1%} {mpi:8.3f} {mpi / PAPER_S[ranks[0]][0] - 1:+7.1%}"
            print(f"  {count:5d} {rows[0]['levels']:7d} {words}", flush=True)
    found.holds = {
        "the same residual by both": residuals_alike,
        "natural within 2% of bulk": equal,
        "growth at most the paper's": no_worse,
    }
    curves = [found.curve(f"simulated, {name}", name) for name in steps]
    curves += [found.curve("Shan et al. (2015), UPC++, bulk", "paper_bulk", reference=True)]
    curves += [found.curve("Shan et al. (2015), MPI", "paper_mpi", reference=True)]
    found.panels = [Panel(f"A multigrid solve, {PAPER_BOX}^3 cells on each rank", "s", curves)]
    return found
