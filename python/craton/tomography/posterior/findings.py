"""What a posterior answers, and the folder that has it."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass, field
from typing import Any

from craton.runs.folder import Folder, RunFile
from craton.tomography.posterior.questions import Place


@dataclass
class PointFindings:
    """What is known at one place."""

    latitude_deg: float
    longitude_deg: float
    depth_km: float
    mean: float
    """dlnVs"""
    deviation: float
    prior_deviation: float
    spread_latitude_deg: float
    """Where the spike is whose image was made: at the nearest knot."""
    spread_longitude_deg: float
    spread_depth_km: float
    recovered: float
    """The image of a spike of 1 at its place."""

    @property
    def place(self) -> Place:
        """What was asked about."""
        return Place(self.latitude_deg, self.longitude_deg, self.depth_km)

    @property
    def knot(self) -> Place:
        """Where the spike is."""
        return Place(self.spread_latitude_deg, self.spread_longitude_deg, self.spread_depth_km)


@dataclass
class ShuttleFindings:
    """The part of a model that the data do not see."""

    file: str
    rms_difference: float
    """Difference of the given model from the posterior mean, dlnVs at the knots."""
    rms_unseen: float
    """Its part that is unseen."""
    chi_data_change: float
    """What adding that part to the mean changes of the data's misfit, by the tangent."""
    chi_data_change_whole: float
    """What the whole difference would."""


@dataclass
class PosteriorSummary:
    """The content of posterior.json. Deviations are of dlnVs at the knots, root mean square."""

    linearised_at_iteration: int
    """The run's iteration to whose model the Hessian belongs."""
    chi_data_there: float | None
    """That model's misfit."""
    prior: dict[str, Any]
    parameters: int
    resolved: float
    """trace R"""
    rms_deviation: float
    rms_prior_deviation: float
    log_determinant: float
    chi_prior: float
    chi_data: float | None
    log_evidence: float | None
    samples: int
    seed: int
    points: list[PointFindings] = field(default_factory=list)
    shuttle: ShuttleFindings | None = None


class PosteriorFolder(Folder):
    """The folder of a posterior's results."""

    arrays = RunFile("posterior.h5")
    samples = RunFile("samples.h5")
    summary = RunFile("posterior.json")

    @property
    def files(self) -> tuple[pathlib.Path, ...]:
        """Arrays, samples, summary, and pictures: those of places are as many as there are."""
        pictures = [self.path / f"{name}.png" for name in ("deviation", "samples", "shuttle")]
        for name in ("point", "trade-off", "deviation"):
            pictures += sorted(self.path.glob(f"{name}-*.png"))
        return self.arrays, self.samples, self.summary, *pictures


def posterior_folder(run: str | os.PathLike[str]) -> PosteriorFolder:
    """Where the posterior of a run is kept unless somebody names another folder: its report finds it there."""
    return PosteriorFolder(pathlib.Path(run) / "posterior")
