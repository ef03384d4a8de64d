"""The model that an inversion begins at: the reference Earth, or one from a file, projected onto the run's splines.

    model.h5     the last model of an earlier run, or of `craton tomography solve`
    NAME.nc      NetCDF as the Earth Model Collaboration has it (netcdf_model.py)
    any other    spherical-harmonic coefficients as of S40RTS (harmonics.py)

Splines hold no more than they can: the least-squares projection leaves a misfit, which is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.tomography.folder import RunFolder, StartRecord
from craton.tomography.model.harmonics import read_harmonics
from craton.tomography.model.netcdf_model import LARGEST_CHANGE, read_netcdf
from craton.tomography.model.parameters import blocks_in
from craton.tomography.model.sphere import EARTH_RADIUS_KM
from craton.tomography.model.splines import lateral_matrix, parts_of
from craton.tomography.model.target import project, sample_points

if TYPE_CHECKING:
    from craton._craton import EarthModel, ModelBasis

f64 = NDArray[np.float64]


class Sampled(Protocol):
    """A model of a file."""

    def sampled(self, latitude_deg: f64, longitude_deg: f64, radius_m: f64) -> f64:
        """A relative change, shape (places, radii). Latitudes are geocentric."""


@dataclass(frozen=True)
class SplineModel:
    """One parameter on splines of its own."""

    basis: ModelBasis
    coefficients: f64

    def sampled(self, latitude_deg: f64, longitude_deg: f64, radius_m: f64) -> f64:
        """As Sampled says."""
        bottom_m, top_m = self.basis.radial_knots_m[0], self.basis.radial_knots_m[-1]
        radial = self.basis.radial_values(np.clip(radius_m, bottom_m, top_m))
        blocks = self.coefficients.reshape(self.basis.n_lateral, -1)
        return np.asarray(lateral_matrix(self.basis, latitude_deg, longitude_deg) @ (blocks @ radial.T))


def read_start(file: Path, basis: ModelBasis, earth: EarthModel) -> tuple[f64, StartRecord]:
    """Coefficients of a file's model in a basis, and what is lost on the way. Not collective.

    What the file does not have of dlnxi is 0. UserError where the file cannot be read.
    """
    parts, kind = read_parts(file, earth)
    found, record = np.zeros(basis.size), None
    for block, ours in zip(blocks_in(basis), parts_of(basis), strict=True):
        name = block.name
        if name not in parts:
            continue
        latitude_deg, longitude_deg, radius_m = sample_points(ours)
        field = parts[name].sampled(latitude_deg, longitude_deg, radius_m)
        if not np.abs(field).max() <= LARGEST_CHANGE:  # nor NaN
            raise UserError(
                f"[start] file {file}: {name} reaches {np.abs(field).max():.3g}; allowed: at most {LARGEST_CHANGE:g}"
            )
        found[block.within] = project(ours, field, latitude_deg, longitude_deg, radius_m)
        if record is None:
            held = SplineModel(ours, found[block.within]).sampled(latitude_deg, longitude_deg, radius_m)
            record = lost_by_splines(str(file), kind, field, field - held, radius_m)
    assert record is not None
    return found, record


def read_parts(file: Path, earth: EarthModel) -> tuple[dict[str, Sampled], str]:
    """The parameters of a file by name, and what kind of file it is, in words."""
    if file.suffix.lower() in (".h5", ".hdf5"):
        from craton.tomography.model.fields import pick, read_models

        content, theirs = read_models(file)
        check_earth(file, earth)
        vector, label = pick(file, content, None, False)
        parts: dict[str, Sampled] = {
            block.name: SplineModel(part, np.ascontiguousarray(vector[block.within]))
            for block, part in zip(blocks_in(theirs), parts_of(theirs), strict=True)
        }
        return parts, f"{label} of a run, {theirs.n_lateral} x {theirs.n_radial} splines"
    if file.suffix.lower() in (".nc", ".nc4", ".netcdf", ".grd"):
        grid = read_netcdf(file, earth)
        holes = f", {grid.missing} points without a value taken as 0" if grid.missing else ""
        depths = f"{grid.depth_km[0]:g} to {grid.depth_km[-1]:g} km"
        kind = f"NetCDF, {grid.of} on {' x '.join(map(str, grid.values.shape))} points, {depths}{holes}"
        return {"dlnVs": grid}, kind
    harmonics = read_harmonics(file)
    return {"dlnVs": harmonics}, f"spherical harmonics up to degree {harmonics.degree}"


def check_earth(file: Path, earth: EarthModel) -> None:
    """UserError for the model of a run about another reference Earth, where the record beside it tells."""
    folder = RunFolder(file.parent)
    if not folder.record.is_file():
        return
    theirs = folder.read_record().config.get("earth", {}).get("model", earth.name)
    if theirs != earth.name:
        raise UserError(
            f"[start] file {file}: changes from {theirs}; allowed: from {earth.name}, as [earth] model says"
        )


def lost_by_splines(file: str, kind: str, field: f64, lost: f64, radius_m: f64) -> StartRecord:
    """Sizes of dlnVs and of what the splines cannot hold. Both over (places, radii), the places evenly spread."""
    by_radius = np.sqrt(np.mean(lost**2, axis=0))
    worst = int(np.argmax(by_radius))
    volume = radius_m**2 / np.sum(radius_m**2)

    def rms(values: f64) -> float:
        return float(np.sqrt(np.mean(values**2, axis=0) @ volume))

    worst_km = EARTH_RADIUS_KM - radius_m[worst] / 1e3
    return StartRecord(file, kind, rms(field), rms(lost), float(by_radius[worst]), float(worst_km))
