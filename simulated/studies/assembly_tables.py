"""Tables I and II of French et al. (2015), ours beside theirs, printed and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from studies.assembly import LONG, SIDES, WEAK, WEAK_MPI, WEAK_SIDE, Point





def print_point(point: Point) -> None:
    """One line as soon as a job is done."""
    sums = "right" if point.sums_right else "WRONG"
    how = f"{point.messages:8d} messages" if point.by == "craton" else "by MPI-3's accumulate"
    print(
        f"  N = {point.side:.2g}, {point.ranks:5d} ranks: {point.updates} updates in {point.seconds:7.3f} s,"
        f" {point.update_s:6.3f} s of each in update, {how}, sums {sums}   (took {point.host_s:.0f} s)",
        flush=True,
    )


def weak_rows(points: list[Point]) -> list[dict[str, Any]]:
    """Table II: seconds of 64 updates by each rank, and how much more than on the fewest ranks."""
    points = sorted((point for point in points if point.side == WEAK_SIDE), key=lambda point: point.ranks)
    mpi = {point.ranks: point for point in points if point.by == "mpi3"}
    points = [point for point in points if point.by == "craton"]
    rows = []
    for point in points:
        first = points[0]
        ours = point.seconds_of(LONG)
        row = {"ranks": point.ranks, "seconds": ours, "growth": ours / first.seconds_of(LONG) - 1}
        if point.ranks in mpi:
            row |= {"update_seconds": point.update_s, "mpi_update_seconds": mpi[point.ranks].update_s}
        if point.ranks in WEAK and first.ranks in WEAK:
            row |= {"paper_seconds": WEAK[point.ranks], "paper_growth": WEAK[point.ranks] / WEAK[first.ranks] - 1}
        rows.append(row)
    return rows


def strong_rows(points: list[Point]) -> list[dict[str, Any]]:
    """Table I: efficiency of a fixed number of updates beside the fewest ranks."""
    rows = []
    for side, paper in SIDES.items():
        here = sorted(
            (point for point in points if (point.by, point.side) == ("craton", side)), key=lambda point: point.ranks
        )
        first = next((point for point in here if point.ranks in paper.seconds), here[0] if here else None)
        for point in here:
            assert first is not None
            ours = point.seconds_of(paper.updates / point.ranks)
            cost = first.seconds_of(paper.updates / first.ranks) * first.ranks
            row = {"side": side, "ranks": point.ranks, "updates": paper.updates, "seconds": ours}
            row["efficiency"] = cost / (ours * point.ranks)
            if point.ranks in paper.seconds and first.ranks in paper.seconds:
                row["paper_seconds"] = paper.seconds[point.ranks]
                row["paper_efficiency"] = (
                    paper.seconds[first.ranks] * first.ranks / (paper.seconds[point.ranks] * point.ranks)
                )
            rows.append(row)
    return rows


def print_tables(weak: list[dict[str, Any]], strong: list[dict[str, Any]]) -> None:
    """Both tables beside the paper's."""
    if weak:
        print(f"\nweak scaling, N = {WEAK_SIDE:.2g}, {LONG} updates by each rank (the paper's table II)")
        print("  ranks     seconds   growth   the paper's: seconds   growth   its MPI-3's seconds")
    for row in weak:
        paper = f"{row['paper_seconds']:20.2f} {row['paper_growth']:+8.2%}" if "paper_growth" in row else f"{'-':>29}"
        mpi = f"{WEAK_MPI[row['ranks']]:.2f}" if row["ranks"] in WEAK_MPI else "-"
        print(f"  {row['ranks']:5d} {row['seconds']:11.3f} {row['growth']:+8.2%}   {paper} {mpi:>21}")
    if any("mpi_update_seconds" in row for row in weak):
        print(
            "\nan update in its rank, seconds: by Craton and by MPI-3's one-sided operations (Craton's has what arrives meanwhile)"
        )
    for row in weak:
        if "mpi_update_seconds" in row:
            print(f"  {row['ranks']:5d} {row['update_seconds']:11.3f} {row['mpi_update_seconds']:11.3f}")
    if strong:
        print("\nstrong scaling (the paper's table I)")
        print("        N  updates  ranks     seconds  efficiency   the paper's: seconds  efficiency")
    for row in strong:
        paper = (
            f"{row['paper_seconds']:20.2f} {row['paper_efficiency']:11.1%}" if "paper_seconds" in row else f"{'-':>32}"
        )
        print(
            f"  {row['side']:7.2g} {row['updates']:8d} {row['ranks']:6d} {row['seconds']:11.2f} {row['efficiency']:11.1%}   {paper}"
        )


def draw(file: Path, weak: list[dict[str, Any]], strong: list[dict[str, Any]]) -> None:
    """Growth and efficiency over ranks, ours and the paper's."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for rows, axes, key in ((weak, left, "growth"), (strong, right, "efficiency")):
        sides = sorted({row.get("side", WEAK_SIDE) for row in rows})
        for colour, side in enumerate(sides):
            here = [row for row in rows if row.get("side", WEAK_SIDE) == side]
            for name, label, style in ((key, "simulated", "-o"), (f"paper_{key}", "French et al. (2015)", "--s")):
                known = [row for row in here if name in row]
                axes.plot(
                    [row["ranks"] for row in known], [100 * row[name] for row in known], style, color=f"C{colour}",
                    label=f"N = {side:.2g}, {label}",
                )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_xlabel("ranks")
        axes.legend()
    left.set_ylabel(f"time of {LONG} updates by each rank, % more")
    left.set_title("Weak scaling")
    right.set_ylabel("efficiency, %")
    right.set_title("Strong scaling")
    figure.savefig(file, dpi=150)
