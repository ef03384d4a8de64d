"""What a run folder holds, read back: for reports, pictures and programs that go on with a run's model."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton.described import Described
from craton.errors import UserError
from craton.pages import projection
from craton.seismology.geometry.latitudes import geographic_deg
from craton.tomography.config.tables import CorrectionsConfig, TargetConfig
from craton.tomography.data.corrections import Corrections, true_corrections
from craton.tomography.data.data_file import load_observations
from craton.tomography.data.observations import Observations
from craton.tomography.folder import RunFolder, RunRecord
from craton.tomography.model.fields import Fields, fields_of, read_models

if TYPE_CHECKING:
    from craton._craton import ModelBasis

__all__ = ["Results", "read_results", "section_place", "waveform_reduction"]

f64 = NDArray[np.float64]

MAP_DEPTHS_KM = (100.0, 300.0, 600.0, 1200.0, 2000.0, 2700.0)


@dataclass(repr=False)
class Results(Described):
    """What a run folder holds, ready to draw."""

    record: RunRecord
    basis: ModelBasis
    model: dict[str, Any]
    observations: Observations
    folder: pathlib.Path

    def _facts(self) -> dict[str, object]:
        return {"run": self.record.title, **self.record.told, "folder": self.folder}

    @property
    def finished(self) -> bool:
        """Whether the run came to its end: only then it has waveforms and coverage."""
        return self.record.finished and {"coverage", "waveforms/initial", "waveforms/final"} <= self.model.keys()

    @property
    def path_averages(self) -> bool:
        """Whether seismograms and derivatives are of path averages, PAVA."""
        return {self.record.config.get("theory", {}).get("kind", "pava"), self.theory_of_derivatives} == {"pava"}

    @property
    def theory_of_derivatives(self) -> str:
        """What the Hessian is made of."""
        of = self.record.config.get("theory", {})
        return str(of.get("derivatives") or of.get("kind", "pava"))

    @property
    def noise_ceiling(self) -> float:
        """The variance reduction of a model that leaves exactly the noise: 1 - N / (weighted sum of squared data).

        N counts independent samples.
        """
        data = self.observations
        weighted = data.whitened(data.observed)
        return 1.0 - float(data.independent.sum()) / float(weighted @ weighted)

    @property
    def recovered(self) -> f64:
        """The model of the last iteration, shape (parameters,)."""
        return np.ascontiguousarray(self.model["models"][-1])

    @property
    def corrections(self) -> tuple[Corrections, f64] | None:
        """Unknowns of earthquakes and stations, and what was found; None where there are none."""
        if "corrections" not in self.model:
            return None
        settings = CorrectionsConfig(**self.record.config.get("corrections", {}))
        return Corrections(self.observations.paths, settings), np.ascontiguousarray(self.model["corrections"][-1])

    @property
    def errors(self) -> tuple[Corrections, f64] | None:
        """What was wrong with the catalogues of synthetic data; None where nothing is known."""
        target = self.record.config.get("target")
        if self.target is None or target is None:
            return None
        errors = Corrections(self.observations.paths, TargetConfig(**target).errors)
        return errors, true_corrections(errors, int(self.record.config["run"]["seed"]))

    @property
    def target(self) -> f64 | None:
        """The input model of a run on synthetic data, shape (parameters,); None where there is none."""
        return self.model.get("target")

    @property
    def fields(self) -> Fields:
        """The recovered model, parameter by parameter."""
        return fields_of(self.basis, self.recovered, self.record.title, self.record, RunFolder(self.folder).record)

    @property
    def shown(self) -> list[tuple[str, f64]]:
        """Names and coefficients of the models that stand side by side in the report."""
        pairs = [] if self.target is None else [("input", np.ascontiguousarray(self.target))]
        return [*pairs, ("output" if pairs else "model", self.recovered)]

    @property
    def plume(self) -> dict[str, Any]:
        """The middle of the cross-section: the target's plume, or the slowest place at 300 km. Its latitude is geographic."""
        return section_place(self.record.config, self.basis, self.recovered, self.target)

    @property
    def centre_deg(self) -> float:
        """The maps' central meridian, near Greenwich or in the Pacific, which keeps the plume away from the edge."""
        return -160.0 if abs(projection.relative_longitude(self.plume["longitude"], 0.0)) > 100.0 else 10.0

    @property
    def map_depths_km(self) -> list[float]:
        """The MAP_DEPTHS_KM that lie in the mantle."""
        bottom_m, top_m = self.basis.radial_knots_m[0], self.basis.radial_knots_m[-1]
        return [depth for depth in MAP_DEPTHS_KM if bottom_m <= projection.EARTH_RADIUS_M - 1e3 * depth <= top_m]


def section_place(config: dict[str, Any], basis: ModelBasis, recovered: f64, target: f64 | None) -> dict[str, Any]:
    """The middle of the cross-section: latitude (geographic) and longitude in degrees, name.

    It is the target's plume, or the slowest place at 300 km where there is no target.
    """
    wanted = config.get("target")
    if target is not None and wanted:
        name = wanted.get("plume_name") or "plume"
        return {"latitude": wanted["plume_latitude_deg"], "longitude": wanted["plume_longitude_deg"], "name": name}
    latitude, longitude = np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg)
    layer = basis.evaluate(recovered, latitude, longitude, np.full(len(latitude), projection.EARTH_RADIUS_M - 3e5))
    slowest = int(np.argmin(layer))
    there = {"latitude": float(geographic_deg(latitude[slowest])), "longitude": float(longitude[slowest])}
    return {**there, "name": "slowest place at 300 km"}


def read_results(folder: RunFolder | str | os.PathLike[str]) -> Results:
    """What a run's folder holds, whether or not the run came to its end. Not collective.

    UserError for a folder that holds no run, or one that is damaged.
    """
    folder = folder if isinstance(folder, RunFolder) else RunFolder(folder)
    model, basis = read_models(folder.model)
    record = folder.read_record()
    if not record.iterations:
        raise UserError(f"{folder.record}: no iteration in it; allowed: the record of a run that has saved a model")
    return Results(record, basis, model, load_observations(folder.data), folder.path)


def waveform_reduction(results: Results, name: str) -> f64:
    """The variance reduction 1 - ||d - g||^2 / ||d||^2 of every path. name: of the waveforms, "initial" or "final"."""
    observed, offsets = results.observations.observed, results.observations.paths.offsets[:-1]
    residual = observed - results.model[f"waveforms/{name}"]
    power = np.add.reduceat(observed**2, offsets)
    return 1.0 - np.add.reduceat(residual**2, offsets) / np.where(power > 0.0, power, np.inf)
