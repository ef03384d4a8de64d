"""What a posterior answers, and the folder that has it."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass, field
from typing import Any

from craton.runs.folder import Folder


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
    """Of the spike whose image was made: the nearest knot."""
    spread_longitude_deg: float
    spread_depth_km: float
    recovered: float
    """The image there, of a spike of 1."""


@dataclass
class ShuttleFindings:
    """The part of a model that the data do not see."""

    file: str
    rms_difference: float
    """Of the given model from the posterior mean, dlnVs at the knots."""
    rms_unseen: float
    """Of its part that is unseen."""
    chi_data_change: float
    """What adding that part to the mean changes of the data's misfit, by the tangent."""
    chi_data_change_whole: float
    """What the whole difference would."""


@dataclass
class PosteriorSummary:
    """posterior.json. Deviations are of dlnVs at the knots, root mean square."""

    linearised_at_iteration: int
    """Of the run: whose model the Hessian belongs to."""
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
    """The results."""

    PICTURES = ("deviation.png", "samples.png", "shuttle.png")

    @property
    def arrays(self) -> pathlib.Path:
        return self.path / "posterior.h5"

    @property
    def samples(self) -> pathlib.Path:
        return self.path / "samples.h5"

    @property
    def summary(self) -> pathlib.Path:
        return self.path / "posterior.json"

    @property
    def files(self) -> tuple[pathlib.Path, ...]:
        pictures = [self.path / name for name in self.PICTURES]
        of_points = [
            file for name in ("point", "trade-off", "deviation") for file in sorted(self.path.glob(f"{name}-*.png"))
        ]
        return self.arrays, self.samples, self.summary, *pictures, *of_points


def posterior_folder(run: str | os.PathLike[str]) -> PosteriorFolder:
    """Where the posterior of a run is kept unless somebody names another folder: its report finds it there."""
    return PosteriorFolder(pathlib.Path(run) / "posterior")
