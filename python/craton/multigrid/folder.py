"""The folder of a multigrid run, and its record."""

from __future__ import annotations

from dataclasses import dataclass, field

from craton.runs.folder import RunFile, RunFolder
from craton.runs.iterative import IterativeRecord

__all__ = ["LevelRow", "MultigridFolder", "MultigridRecord"]


@dataclass(frozen=True)
class LevelRow:
    """A grid of the hierarchy."""

    box: int
    """Cells of the longest box along its longest side."""
    boxes: list[int]
    """Boxes along each dimension."""
    ranks: int
    """Ranks that have some of the boxes."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Seconds by phase, of the rank that spent most."""
    grid: list[int] = field(default_factory=list)
    """Cells along each dimension; older records have none."""

    @property
    def cells(self) -> list[int]:
        """Cells along each dimension."""
        return self.grid or [self.box * n for n in self.boxes]


@dataclass(kw_only=True, repr=False)
class MultigridRecord(IterativeRecord):
    """What a solve found."""

    cells: list[int]
    box: int
    operator: str
    smoother: str
    method: str
    tolerance: float
    residuals: list[float]
    """Largest |f - A u| over the largest |f|: after the F-cycle, then after each cycle or step."""
    reached_s: list[float]
    """Seconds since the solve began at each of them."""
    levels: list[LevelRow]
    """The finest first."""
    unknowns_per_s: float
    """Speed of the F-cycle alone, all ranks together."""

    @property
    def told(self) -> dict[str, str]:
        """Grid and residual."""
        return {
            "grid": f"{' x '.join(map(str, self.cells))} cells, {self.operator}",
            "residual": f"{self.residuals[-1]:.3g} of {self.tolerance:g}",
        }


class MultigridFolder(RunFolder[MultigridRecord]):
    """Files of a run."""

    app, record_type = "multigrid", MultigridRecord

    solution = RunFile("solution.h5")
