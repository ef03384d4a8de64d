"""What the scaling model says, for people: its assumptions, tables, the paper's figures beside, a picture."""

from __future__ import annotations

from pathlib import Path

from craton.pages.figures import save_picture

from craton_studies.multigrid.scaling_machine import BANDWIDTHS, COUNTS, EVERYWHERE, SECONDS, words
from craton_studies.multigrid.scaling_model import (
    BASELINE_OVER_BULK,
    PARTS,
    RUNGS,
    TABLE_I,
    TABLE_I_MPI,
    Counted,
    Scaling,
    cycle,
)


def assumptions(found: Scaling) -> str:
    """Every number of the model, its unit and where it is from."""
    m, method = found.machine, found.method
    lines = [
        f"Weak scaling of one F-cycle by model, {method.operator} {method.smoother}: {m.name}",
        "",
        f"  one box of {found.side}^3 cells per rank, dealt in {found.order} order; ranks fill nodes one after the other",
        f"  {method.traits.sweeps[method.smoother]} sweeps before and after"
        + (
            ", two for one exchange where boxes have 16 cells a side or more, as the library"
            if method.by_pairs(found.side)
            else ", an exchange for each"
        )
        + f"; bottom of {method.traits.coarsest}^3 cells, {method.traits.bottom_steps:g} steps of BiCGStab",
        "  coarser levels: boxes halved down to 8 cells a side, then 8 gathered into 1; owner: floor(ranks x position / boxes)",
        "  a phase takes as long as its slowest rank: processor, network of its node, latency, waits; no overlap, no noise",
        "",
        "  figure                          value  unit   meaning; where it is from",
    ]
    for name, meaning in EVERYWHERE.items():
        figure = m.figures[name]
        if name in COUNTS:
            value, unit = f"{figure.value:.0f}", ""
        elif name in BANDWIDTHS:
            value, unit = f"{figure.value / 1e9:.3g}", "GB/s"
        else:
            value, unit = f"{figure.value * 1e6:.3g}", "us"
        lines.append(f"  {name:24} {value:>12}  {unit:5}  {meaning}; {figure.source}")
    for n, seconds in sorted(m.seconds_per_cell.items(), reverse=True):
        per_cell = f"computing, {n}^3 cells"
        lines.append(
            f"  {per_cell:24} {seconds * 1e9:12.3g}  ns     per cell and visit of a level; {m.computing_source}"
        )
    lines.append(
        f"  {'barrier of all ranks':24} {m.barrier(found.ranks[-1]) * 1e6:12.3g}  us     follows from the above"
    )
    share = words(method)
    parts = ", ".join(f"{part} {share[part] / sum(share.values()):.0%}" for part in PARTS)
    lines += [f"  work of a visit by doubles moved: {parts}", "", "  rung, and what distinguishes it"]
    lines += [f"  {rung:14} {what}" for rung, what in RUNGS.items()]
    return "\n".join(lines)


def table(found: Scaling) -> str:
    """Seconds, rates, efficiencies and counts; counts are of the busiest rank."""
    lines = [
        "  rung              ranks  seconds    G DOF/s  efficiency  communication"
        "    messages  acknowledged  signals  waits  MB sent"
    ]
    for rung, cycles in found.cycles.items():
        for at, one in enumerate(cycles):
            t = one.total
            lines.append(
                f"  {rung if at == 0 else '':14} {one.ranks:8} {one.seconds:8.4f} {one.cells / one.seconds * 1e-9:10.4g}"
                f" {found.efficiency(rung, at):11.1%} {one.share:14.1%} {t.messages.max():11.0f} {t.acknowledgements.max():13.0f}"
                f" {t.signals.max():8.0f} {t.waits:6.0f} {t.bytes.max() * 1e-6:8.2f}"
            )
    return "\n".join(lines)


def by_level_and_part(found: Scaling, rung: str = "one wait") -> str:
    """Where the time goes on the most ranks, in milliseconds; what goes between two levels is the finer one's."""
    one = found.cycles[rung][-1]
    lines = [f"  {rung}, {one.ranks} ranks, ms   box side      boxes   ranks  computing  communication"]
    for number, (side, boxes, busy, computing, communication) in enumerate(one.by_level):
        level = f"level {number}"
        lines.append(f"  {level:25} {side:9} {boxes:10} {busy:7} {computing * 1e3:10.3f} {communication * 1e3:14.3f}")
    for part in one.computing:
        lines.append(f"  {part:54} {one.computing[part] * 1e3:10.3f} {one.communication[part] * 1e3:14.3f}")
    return "\n".join(lines)


def beside_the_paper(found: Scaling) -> str:
    """The paper's figures, the model's and their relative difference; where two of the model's were fitted, it is marked."""
    lines = ["  of the paper              ranks    paper    model  difference"]
    rows = [(f"table I, {by}, s", p, value, "bulk") for by, given in _TABLES.items() for p, value in given.items()]
    at = {p: number for number, p in enumerate(found.ranks)}
    shown = 0
    for what, p, value, rung in rows:
        if p in at:
            lines.append(_line(found, what, p, value, found.cycles[rung][at[p]].seconds))
            shown += 1
    for p, value in BASELINE_OVER_BULK.items():
        if p in at:
            ratio = found.cycles["baseline"][at[p]].seconds / found.cycles["bulk"][at[p]].seconds
            lines.append(_line(found, "figure 6, baseline / bulk", p, value, ratio))
            shown += 1
    if 64 in at:
        ratio = found.cycles["local loops"][at[64]].seconds / found.cycles["bulk"][at[64]].seconds
        lines.append(f"  local loops / bulk     {64:8} 'parity' {ratio:8.3f}")
    if 32768 in at:
        ratio = found.cycles["neighbours"][at[32768]].seconds / found.cycles["bulk"][at[32768]].seconds
        lines.append(f"  neighbours / bulk      {32768:8} 'comparable' {ratio:5.3f}")
    if not shown:
        return "  The paper begins at 8 ranks."
    if _is_fitted(found):
        lines.append("  * fitted to this figure.")
    else:
        lines.append("  The machine is another than the paper's: ratios of steps may be compared, seconds may not.")
    lines.append("  Words in quotes: what the paper says of curves that it draws without numbers.")
    return "\n".join(lines)


_TABLES = {"UPC++ bulk": TABLE_I, "MPI": TABLE_I_MPI}


def _is_fitted(found: Scaling) -> bool:
    return found.machine.computing_source.startswith("fitted")


def _line(found: Scaling, what: str, ranks: int, paper: float, model: float) -> str:
    is_fitted = ranks == 8 and "MPI" not in what and _is_fitted(found)
    return f"  {what:25} {ranks:5} {paper:8.3f} {model:8.3f} {model / paper - 1:+11.1%}{' *' if is_fitted else ''}"


MOST_RANKS_TO_TRY = 32768


def sensitivity(found: Scaling) -> str:
    """What the F-cycle's time becomes when one figure is doubled, the others as they are: how much an assumption matters."""
    ranks = max(p for p in found.ranks if p <= MOST_RANKS_TO_TRY)
    counted = Counted.of(round(ranks ** (1 / 3)), found.side, ranks, found.order, found.method)
    rungs = ("baseline", "strided", "one wait", "bulk")
    now = {rung: cycle(found.machine, counted, rung).seconds for rung in rungs}
    lines = [f"  doubled, on {ranks} ranks    " + "".join(f"{rung:>12}" for rung in rungs)]
    for name in (*SECONDS, *BANDWIDTHS):
        other = found.machine.with_figures(**{name: 2 * found.machine[name]})
        changes = (cycle(other, counted, rung).seconds / now[rung] - 1 for rung in rungs)
        lines.append(f"  {name:25}" + "".join(f"{change:+12.1%}" for change in changes))
    return "\n".join(lines)


def draw(file: Path, found: Scaling) -> None:
    """Draws seconds over ranks as figure 6 does: a line per rung, the paper's figures as crosses."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for rung, cycles in found.cycles.items():
        style = {"marker": "o", "markersize": 4, "linestyle": "--" if rung == "bulk" else "-"}
        left.plot(found.ranks, [one.seconds for one in cycles], label=rung, **style)
        right.plot(found.ranks, [100 * one.share for one in cycles], label=rung, **style)
    paper = {"paper, bulk (table I)": TABLE_I, "paper, baseline (VI-B)": _paper_baseline()}
    for marker, (label, given) in zip("x+", paper.items(), strict=True):
        shown = [p for p in given if p in found.ranks]
        if shown:
            left.plot(shown, [given[p] for p in shown], marker, color="black", markersize=9, label=label)
    left.set(title="F-cycle, one box per rank", ylabel="seconds")
    left.set_ylim(bottom=0)
    right.set(title="communication", ylabel="% of the time", ylim=(0, 100))
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xticks(found.ranks, [str(p) for p in found.ranks])
        axes.set_xlabel("ranks")
    figure.legend(*left.get_legend_handles_labels(), fontsize="small", loc="outside right upper")
    figure.suptitle(
        f"{found.method.operator} {found.method.smoother}, by model: {found.machine.name}", fontsize="medium"
    )
    save_picture(figure, file)


def _paper_baseline() -> dict[int, float]:
    return {p: factor * TABLE_I[p] for p, factor in BASELINE_OVER_BULK.items()}


def report(found: Scaling, picture: Path | None = None, *, doubled: bool = False) -> str:
    """What is printed: assumptions, tables, the paper's figures beside. doubled: with what each figure matters."""
    parts = [assumptions(found), table(found), by_level_and_part(found), beside_the_paper(found)]
    if doubled:
        parts.append(sensitivity(found))
    if picture is not None:
        parts.append(f"picture: {picture}")
    return "\n\n".join(parts)
