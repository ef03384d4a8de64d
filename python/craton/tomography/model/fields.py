"""The fields of a model: one for each named parameter, anywhere in the mantle.

A model vector holds the parameters one after the other, a block each: dlnVs, and dlnxi where model.h5 says in its attribute
`parameters` that there are two. Not collective; fields may be read from any thread.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton._craton import EarthModel
from craton.described import Described
from craton.errors import UserError
from craton.pages import projection
from craton.runs.files import read_hdf5
from craton.seismology.geometry.latitudes import geocentric_deg
from craton.tomography.folder import RunFolder, RunRecord
from craton.tomography.model.earth_table import reference_earth
from craton.tomography.model.parameters import NAMES, blocks_in
from craton.tomography.model.reference import voigt_vs_km_s
from craton.tomography.model.splines import basis_of, parts_of

if TYPE_CHECKING:
    from craton._craton import ModelBasis

__all__ = ["Fields", "read_fields"]

f64 = NDArray[np.float64]

SYMBOL = "dln"
"""A parameter is a relative change of the quantity after these letters."""


@dataclass(frozen=True, repr=False)
class Fields(Described):
    """A model on its basis. Latitudes are geographic, as on maps and in catalogues; depths are below 6371 km."""

    bases: dict[str, ModelBasis]
    """The splines of each parameter, in order."""
    parameters: dict[str, f64]
    """Coefficients of each."""
    label: str
    """Which model it is, in a title's words."""
    earth: EarthModel
    """The reference from which changes are relative."""
    record: RunRecord

    def _facts(self) -> dict[str, object]:
        top_km, bottom_km = self.depth_range_km
        return {
            "model": self.label,
            "parameters": ", ".join(self.parameters),
            "depths": f"{top_km:.0f} to {bottom_km:.0f} km",
        }

    @property
    def basis(self) -> ModelBasis:
        """The splines of the first parameter, dlnVs."""
        return next(iter(self.bases.values()))

    @property
    def depth_range_km(self) -> tuple[float, float]:
        """From the solid surface to the core."""
        bottom_m, top_m = self.basis.radial_knots_m[0], self.basis.radial_knots_m[-1]
        return (projection.EARTH_RADIUS_M - top_m) / 1e3, (projection.EARTH_RADIUS_M - bottom_m) / 1e3

    def chosen(self, names: str = "") -> list[str]:
        """Names of parameters, separated by commas in `names`; all where nothing is named. UserError for another name."""
        wanted = [name.strip() for name in names.split(",")] if names else list(self.parameters)
        for name in wanted:
            if name not in self.parameters:
                raise UserError(f"--parameter {name}: not in this model; allowed: {', '.join(self.parameters)}")
        return wanted

    def check_depth(self, depth_km: float, option: str) -> None:
        """UserError outside the model."""
        top, bottom = self.depth_range_km
        if not top - 1e-6 <= depth_km <= bottom + 1e-6:
            raise UserError(f"{option} {depth_km:g}: outside the model; allowed: {top:g} to {bottom:g} km")

    def percent(self, parameter: str, latitude_deg: ArrayLike, longitude_deg: ArrayLike, depth_km: ArrayLike) -> f64:
        """The relative change in percent at points; arguments are broadcast together, and the result has their shape."""
        latitude, longitude, depth = np.broadcast_arrays(
            geocentric_deg(np.asarray(latitude_deg, float)),
            np.asarray(longitude_deg, float),
            np.asarray(depth_km, float),
        )
        bottom_m, top_m = self.basis.radial_knots_m[0], self.basis.radial_knots_m[-1]
        radius_m = np.clip(projection.EARTH_RADIUS_M - 1e3 * depth, bottom_m, top_m)  # rounding at the ends
        places = np.stack([latitude, projection.relative_longitude(longitude, 0.0), radius_m]).reshape(3, -1)
        values = self.bases[parameter].evaluate(self.parameters[parameter], places[0], places[1], places[2])
        return 100.0 * values.reshape(depth.shape)

    def reference(self, quantity: str, depth_km: f64) -> f64 | None:
        """The reference Earth's value in km/s at depths, below a discontinuity there; None for a quantity that it has not."""
        if quantity != "Vs":
            return None
        bottom_m, top_m = self.earth.cmb_radius_m, self.basis.radial_knots_m[-1]
        radius_m = np.clip(projection.EARTH_RADIUS_M - 1e3 * np.asarray(depth_km, float), bottom_m, top_m)
        return voigt_vs_km_s(self.earth, radius_m)


def colour_limit(percent: f64) -> float:
    """The end of a symmetric scale, in percent: nearly all values stay within; rounded up to a half. NaN is no value."""
    return max(0.5, float(np.ceil(2.0 * np.nanquantile(np.abs(percent), 0.995)) / 2.0))


def quantity_of(parameter: str) -> str:
    """The quantity that a parameter is a relative change of: Vs of dlnVs."""
    return parameter.removeprefix(SYMBOL)


def fields_of(basis: ModelBasis, vector: f64, label: str, record: RunRecord, where: Path) -> Fields:
    """The fields of a model vector, of all the parameters of `basis`. where: the record's file, for errors."""
    names = NAMES[: basis.parameters]
    try:
        earth = reference_earth(record.config["earth"])
    except (KeyError, TypeError):
        raise UserError(f"{where}: names no reference Earth; allowed: the record of a run") from None
    blocks = {block.name: np.ascontiguousarray(vector[block.within]) for block in blocks_in(basis)}
    return Fields(dict(zip(names, parts_of(basis), strict=True)), blocks, label, earth, record)


def read_fields(
    run: str | os.PathLike[str],
    model: str | os.PathLike[str] | None = None,
    iteration: int | None = None,
    target: bool = False,
) -> Fields:
    """The last model of a run; or that of an iteration, its target, or the last one of another model.h5 (of a solve).

    Not collective. UserError for a folder that holds no run, a file that holds no model, an iteration that there is not.
    """
    if sum((model is not None, iteration is not None, target)) > 1:
        raise UserError("--model, --iteration and --target together; allowed: one of them")
    folder = RunFolder(run)
    record = folder.read_record()
    file = folder.model if model is None else Path(model)
    content, basis = read_models(file)
    vector, label = pick(file, content, iteration, target)
    label = f"{file.parent.name or file.name}, {label}" if model is not None else f"{record.title}, {label}"
    return fields_of(basis, vector, label, record, folder.record)


def read_models(file: Path) -> tuple[dict[str, Any], ModelBasis]:
    """Everything in model.h5 of a run or of a solution, checked, and the splines of all its parameters. Not collective."""
    content = read_hdf5(file)
    for name in ("models", "radial_knots_m", "lateral_level"):
        if name not in content:
            raise UserError(f"{file}: '{name}' is missing; allowed: model.h5 of a run or of a solution")
    models, basis = content["models"], basis_of(content)
    if models.ndim != 2 or not len(models) or models.shape[1] != basis.size:
        names = ", ".join(NAMES[: basis.parameters])
        raise UserError(f"{file}: models has shape {models.shape}; allowed: (models, {basis.size}) for {names}")
    return content, basis


def pick(file: Path, content: dict[str, Any], iteration: int | None, target: bool) -> tuple[f64, str]:
    """One of the models in a file, and what to call it. UserError for one that is not there."""
    models = content["models"]
    if target:
        if "target" not in content:
            raise UserError(f"--target: {file} holds none; allowed: a run on synthetic data")
        return content["target"], "input model"
    if iteration is not None:
        if not 0 <= iteration < len(models):
            raise UserError(f"--iteration {iteration}: not in {file}; allowed: 0 to {len(models) - 1}")
        return models[iteration], f"iteration {iteration}"
    return models[-1], "final model" if len(models) > 1 else "starting model"
