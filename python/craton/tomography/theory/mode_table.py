"""The modes of an Earth as a table and as a dispersion diagram."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from craton._craton import EarthModel, ModeCatalogue, SpheroidalCatalogue
from craton.pages.figures import new_figure
from craton.pages.style import MUTED, drawing
from craton.runs.files import replaced

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ModeRow", "diagram", "rows_of", "table", "write_csv"]

COLUMNS = ("type", "n", "l", "period_s", "frequency_mHz", "q", "group_velocity_km_s", "phase_velocity_km_s")


@dataclass(frozen=True)
class ModeRow:
    """One multiplet. Velocities are those at the solid surface; radial modes have none."""

    type: str
    n: int
    l: int  # noqa: E741 (the field's name)
    period_s: float
    q: float
    group_velocity_km_s: float
    phase_velocity_km_s: float

    @property
    def name(self) -> str:
        """As the literature writes it, 0S2."""
        return f"{self.n}{self.type}{self.l}"

    def to_dict(self) -> dict[str, Any]:
        """Name, period and the rest as JSON takes them: None for a velocity that there is not."""
        values = {name: None if value != value else value for name, value in vars(self).items()}
        return {"name": self.name, **values, "frequency_mHz": 1e3 / self.period_s}


def rows_of(modes: ModeCatalogue | SpheroidalCatalogue, earth: EarthModel) -> list[ModeRow]:
    """The multiplets of a catalogue, by degree, then overtone."""
    letter = "S" if isinstance(modes, SpheroidalCatalogue) else "T"
    radius_km = 1e-3 * earth.solid_surface_radius_m
    return [
        ModeRow(
            letter,
            int(n),
            int(l),
            float(period),
            float(q),
            float(group) if l else math.nan,
            2 * math.pi * radius_km / (period * (l + 0.5)) if l else math.nan,
        )
        for n, l, period, q, group in zip(  # noqa: E741
            modes.n, modes.l, modes.period_s, modes.q, modes.group_velocity_km_s, strict=True
        )
    ]


def table(rows: Sequence[ModeRow], title: str) -> Table:
    """A table for a terminal."""
    out = Table(title=title)
    for heading in ("mode", "period (s)", "frequency (mHz)", "Q", "group velocity (km/s)", "phase velocity (km/s)"):
        out.add_column(heading, justify="right")
    for row in rows:
        out.add_row(
            row.name,
            f"{row.period_s:.3f}",
            f"{1e3 / row.period_s:.5f}",
            f"{row.q:.1f}",
            _velocity(row.group_velocity_km_s),
            _velocity(row.phase_velocity_km_s),
        )
    return out


def write_csv(rows: Sequence[ModeRow], path: Path) -> None:
    """Writes COLUMNS, a line for each multiplet. UserError where the file cannot be written."""
    with replaced(path) as aside, aside.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for row in rows:
            velocities = (row.group_velocity_km_s, row.phase_velocity_km_s)
            writer.writerow(
                [row.type, row.n, row.l, f"{row.period_s:.9g}", f"{1e3 / row.period_s:.9g}", f"{row.q:.6g}"]
                + ["" if math.isnan(v) else f"{v:.6g}" for v in velocities]
            )


@drawing
def diagram(rows: Sequence[ModeRow], title: str) -> Figure:
    """Draws frequency against degree; branches of equal overtone number are joined."""
    kinds = [(letter, [row for row in rows if row.type == letter]) for letter in "ST"]
    kinds = [(letter, mine) for letter, mine in kinds if mine]
    figure = new_figure(7 * len(kinds), 6)
    for place, (letter, mine) in enumerate(kinds, start=1):
        axes = figure.add_subplot(1, len(kinds), place)
        for n in sorted({row.n for row in mine}):
            branch = [row for row in mine if row.n == n]
            axes.plot(
                [row.l for row in branch], [1e3 / row.period_s for row in branch], "-", color=MUTED, alpha=0.4, lw=0.6
            )
        points = axes.scatter(
            [row.l for row in mine],
            [1e3 / row.period_s for row in mine],
            c=[row.group_velocity_km_s for row in mine],
            s=6,
            cmap="viridis",
            zorder=2,
        )
        figure.colorbar(points, ax=axes, label="group velocity, km/s")
        axes.set(xlabel="angular degree l", ylabel="frequency, mHz", ylim=(0, None), xlim=(-1, None))
        axes.set_title("spheroidal" if letter == "S" else "toroidal")
    figure.suptitle(title)
    return figure


def _velocity(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"
