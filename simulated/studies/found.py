"""What a comparison has found: its rows for a file, its curves for a picture, and what has to hold."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Curve:
    """A figure over ranks; `reference`: what the simulated ones are beside, such as the paper's."""

    label: str
    over_ranks: dict[int, float]
    reference: bool = False


@dataclass(frozen=True)
class Panel:
    """Curves of one picture; `log`: of figures, as ranks always."""

    title: str
    unit: str
    curves: list[Curve]
    log: bool = False


@dataclass
class Found:
    """A comparison, as it is printed, written and drawn."""

    what: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    holds: dict[str, bool] = field(default_factory=dict)

    def curve(self, label: str, key: str, *, reference: bool = False, factor: float = 1.0, **only: object) -> Curve:
        """A figure of the rows that have what `only` says."""
        rows = [row for row in self.rows if all(row.get(name) == value for name, value in only.items())]
        return Curve(label, {row["ranks"]: factor * row[key] for row in rows}, reference)

    def code(self) -> int:
        """Says what holds; the exit status."""
        print("; ".join(f"{what}: {'yes' if held else 'NO'}" for what, held in self.holds.items()))
        return 0 if all(self.holds.values()) else 1

    def write(self, file: Path) -> None:
        """As JSON."""
        file.write_text(json.dumps(asdict(self), indent=1) + "\n")

    def draw(self, file: Path) -> None:
        """A PNG: curves over ranks, references dashed."""
        import matplotlib as mpl

        mpl.use("Agg")
        from matplotlib import pyplot as plt

        figure, axes = plt.subplots(
            1, len(self.panels), figsize=(5.5 * len(self.panels), 4.2), layout="constrained", squeeze=False
        )
        for panel, ax in zip(self.panels, axes[0], strict=True):
            for curve in panel.curves:
                ax.plot(
                    list(curve.over_ranks),
                    list(curve.over_ranks.values()),
                    "--s" if curve.reference else "-o",
                    label=curve.label,
                )
            ranks = sorted({count for curve in panel.curves for count in curve.over_ranks})
            ax.set_xscale("log", base=2)
            ax.set_xticks(ranks, [f"{count:,}" for count in ranks])
            if panel.log:
                ax.set_yscale("log")
            else:
                ax.set_ylim(bottom=0)
            ax.set_xlabel("ranks")
            ax.set_ylabel(panel.unit)
            ax.set_title(panel.title)
            ax.legend(fontsize="small")
        figure.savefig(file, dpi=150)
