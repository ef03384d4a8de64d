"""The synthetic benchmark of French et al. (2015, section IV-A): strong scaling, weak scaling, parts of update()."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton.pages.figures import save_picture

from craton_studies.bench.assembly import cases, whole_numbers
from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.extension import extension as _studies

BY = {"direct": 0, "messages": 1, "MPI-3 RMA": 2}
PARTS = ("binning", "waiting", "copying")


@dataclass(frozen=True)
class Strong:
    """One column of table I: T(P) and its parallel efficiency."""

    title: str
    ranks: list[int]
    seconds: list[float]

    @property
    def efficiency(self) -> list[float]:
        """E_R(P) = T(P_min) P_min / (T(P) P)."""
        first = self.seconds[0] * self.ranks[0]
        return [first / (seconds * ranks) for ranks, seconds in zip(self.ranks, self.seconds, strict=True)]


@benchmark(
    "scaling",
    "streams of updates at a uniform rate from thread teams: tables I and II and figure 4 of French et al. (2015)",
    limit="fewest ranks",
    ranks=8,
    options={
        "cases": Option("4096:512,8192:512", "matrix side : update side of table I; the last is table II's too"),
        "strong": Option("128,512", "updates of all ranks together, table I"),
        "weak": Option(128, "updates of each rank, table II"),
        "producers": Option(2, "threads of each rank that make updates"),
        "making": Option(0.02, "seconds that a thread takes to make one"),
        "rma": Option(1, "1: table II for the MPI-3 RMA version too"),
        "picture": Option("", "file of the picture; by default beside the JSON file, with .png"),
    },
)
def scaling(run: Run) -> Iterator[Measurement]:
    """Teams of threads on each of P = 1, 2, 4 ... ranks make updates, all in step, each thread one in 20 ms.

    That is the worst case for whoever moves them (section IV-A). A thread that makes an update sleeps for as long as computing it
    would take, as if it had a core of its own. So P beyond the cores of this machine shows how updates scale, until their own work
    fills the cores.

    - Strong scaling (table I): the number of updates is fixed. T(P) runs from the start of the teams until commit returns; E_R(P) =
      T(P_min) P_min / (T(P) P).
    - Weak scaling (table II): the number per rank is fixed, with the MPI-3 RMA version beside.
    - Figure 4C: seconds in update() on each rank. Binning finds which element goes where. Waiting is for a lock or for room in the
      bounded buffers, where the original allocates memory at the target. The rest is copying.
    """
    numbers = [p for p in (2**k for k in range(32)) if p < run.comm.size] + [run.comm.size]
    strong, weak, parts = [], {}, {}
    for matrix_side, update_side in cases(run.options["cases"]):
        for updates in whole_numbers(run.options["strong"], "strong"):
            for by in ("direct", "messages"):
                run.say(f"strong scaling, {by}, N = {matrix_side}, {updates} updates ...")
                shape = (matrix_side, update_side)
                times = [_seconds(run, shape, updates, p, by)[0] for p in numbers]
                column = Strong(f"N={matrix_side}, {updates} updates, {by}", numbers, [min(t) for t in times if t])
                if run.comm.rank == 0:
                    strong.append(column)
                    yield from _efficiencies(column, times)
    for by in BY if run.options["rma"] else ("direct", "messages"):
        run.say(f"weak scaling, {by} ...")
        measured = [_seconds(run, shape, run.options["weak"] * p, p, by) for p in numbers]
        if run.comm.rank == 0:
            weak[by] = [min(times) if times else None for times, _ in measured]
            parts[by] = measured[-1][1]
            yield from _weak_rows(run, by, numbers, measured)
    if run.comm.rank == 0:
        file = run.options["picture"] or (run.output.with_suffix(".png") if run.output else "")
        if file:
            draw(Path(file), strong, numbers, weak, parts)
            run.say(f"picture: {file}")


def _seconds(run: Run, shape: tuple[int, int], updates: int, ranks: int, by: str) -> tuple[list[float], dict[str, Any]]:
    """T of every repeat (none where MPI has no windows), and all figures of the last."""
    o = run.options
    times, found = [], {}
    for _ in range(run.repeats):
        found = _studies.scaling(run.comm, *shape, updates, ranks, o["producers"], o["making"], BY[by])
        times += found.get("seconds", [])
    return times, found


def _efficiencies(column: Strong, times: Sequence[Sequence[float]]) -> Iterator[Measurement]:
    """One row for each P: its time, and beside it the time that perfect scaling from the fewest ranks would give."""
    for ranks, values, efficiency in zip(column.ranks, times, column.efficiency, strict=True):
        perfect = [seconds * column.ranks[0] / ranks for seconds in times[0]]
        limit, note = f"T({column.ranks[0]}) / {ranks}", f"E_R = {efficiency:.1%}"
        yield _time_row(ranks, values, perfect, limit, note, f"strong: {column.title}")


def _weak_rows(
    run: Run, by: str, numbers: Sequence[int], measured: Sequence[tuple[list[float], dict[str, Any]]]
) -> Iterator[Measurement]:
    group = f"weak: {by}, {run.options['weak']} updates of each rank"
    for ranks, (times, found) in zip(numbers, measured, strict=True):
        note = "" if times else "fail: MPI offers no windows here"
        if times and all(part in found for part in PARTS):
            typical = {part: 1e3 * statistics.median(found[part]) for part in ("update", *PARTS)}
            note = ", ".join(f"{part} {ms:.0f}" for part, ms in typical.items()) + " ms per rank"
        yield _time_row(ranks, times, measured[0][0], f"T({numbers[0]})", note, group)


def _time_row(
    ranks: int, seconds: Sequence[float], limit_s: Sequence[float], limit: str, note: str, group: str
) -> Measurement:
    return Measurement(
        f"T({ranks})", seconds, "s", limit_s, limit, less_is_better=True, ranks=ranks, note=note, group=group
    )


def draw(
    file: Path,
    strong: Sequence[Strong],
    numbers: Sequence[int],
    weak: dict[str, list[float | None]],
    parts: dict[str, dict[str, Any]],
) -> None:
    """Figure 4 of the paper: efficiency, time to solution with the number of updates, and where update() spends its time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4), layout="constrained")
    a, b, c = figure.subplots(1, 3)
    for column in strong:
        a.plot(column.ranks, [100 * e for e in column.efficiency], "o-", label=column.title)
    a.set(title="A  strong scaling", ylabel="parallel efficiency (%)", ylim=(0, 110))
    for by, seconds in weak.items():
        shown = [(p, t) for p, t in zip(numbers, seconds, strict=True) if t is not None]
        b.plot([p for p, _ in shown], [t for _, t in shown], "o-", label=by)
    b.set(title="B  weak scaling", ylabel="T(P) (s)")
    b.set_ylim(bottom=0)
    for axes in (a, b):
        axes.set_xscale("log", base=2)
        axes.set_xticks(list(numbers), [str(p) for p in numbers])
        axes.set_xlabel("ranks P")
        axes.legend(fontsize="small")
    _draw_parts(c, {by: found for by, found in parts.items() if all(part in found for part in PARTS)})
    save_picture(figure, file)


def _draw_parts(axes: Any, parts: dict[str, dict[str, Any]]) -> None:
    """Stacked bars, one for each rank, a group of them for each delivery."""
    colours = {"binning": "tab:blue", "waiting": "tab:red", "copying": "tab:green"}
    bars = [(by, rank, found) for by, found in parts.items() for rank in range(len(found["update"]))]
    places = list(range(len(bars)))
    base = [0.0] * len(bars)
    for part, colour in colours.items():
        seconds = [found[part][rank] for _, rank, found in bars]
        axes.bar(places, seconds, bottom=base, color=colour, label=part)
        base = [below + own for below, own in zip(base, seconds, strict=True)]
    axes.set_xticks(places, [f"{by} {rank}" for by, rank, _ in bars], rotation=90, fontsize="x-small")
    axes.set(title="C  update() on each rank, weak scaling", ylabel="wall-clock time (s)")
    axes.legend(fontsize="small")
