"""A model in NetCDF as the Earth Model Collaboration has it: fields over depth, latitude and longitude, classic or HDF5.

dlnVs comes from the first of these that the file has:

    dvs                     percent of the file's own reference, which is taken for the run's
    dvsv and dvsh           the same: (2 dvsv + dvsh) / 3
    vs                      km/s or m/s, relative to the run's reference Earth at that depth
    vsv and vsh             the same of Voigt's average, Vs^2 = (2 Vsv^2 + Vsh^2) / 3

Between the points it is linear. Beyond the first and the last depth it is as there. Where the file has no value, a speed of 0, or a
change of more than half, as of water, it is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.hdf5_files import opened_hdf5, refused
from craton.seismology import classic_netcdf
from craton.seismology.geometry.latitudes import geographic_deg
from craton.tomography.model.reference import voigt_vs_km_s
from craton.tomography.model.sphere import EARTH_RADIUS_KM

if TYPE_CHECKING:
    from craton._craton import EarthModel

f64 = NDArray[np.float64]

AXES = ("depth", "latitude", "longitude")
SOURCES = (("dvs",), ("dvsv", "dvsh"), ("vs",), ("vsv", "vsh"))
"""Variables that make dlnVs, the first that are there."""
LARGEST_CHANGE = 0.5
"""A dlnVs beyond this is water, or a hole; where most are, a wrong unit."""
PLACES = 4096
"""At a time."""


@dataclass(frozen=True)
class GridModel:
    """dlnVs over depth, geographic latitude and longitude; the longitudes go once round."""

    depth_km: f64
    latitude_deg: f64
    longitude_deg: f64
    values: f64
    of: str
    """Which variables it is made from."""
    missing: int
    """Points without a value, which are 0."""

    def sampled(self, latitude_deg: f64, longitude_deg: f64, radius_m: f64) -> f64:
        """dlnVs, shape (places, radii). Latitudes are geocentric."""
        axes = (self.depth_km, self.latitude_deg, self.longitude_deg)
        between = scipy.interpolate.RegularGridInterpolator(axes, self.values)
        depth = np.clip(EARTH_RADIUS_KM - radius_m / 1e3, self.depth_km[0], self.depth_km[-1])
        latitude = np.clip(geographic_deg(latitude_deg), self.latitude_deg[0], self.latitude_deg[-1])
        longitude = self.longitude_deg[0] + np.mod(longitude_deg - self.longitude_deg[0], 360.0)
        found = np.empty((len(latitude), len(depth)))
        for first in range(0, len(found), PLACES):
            some = slice(first, first + PLACES)
            points = np.broadcast_arrays(depth[None, :], latitude[some, None], longitude[some, None])
            found[some] = between(np.stack(points, axis=-1))
        return found


def read_netcdf(file: Path, earth: EarthModel) -> GridModel:
    """UserError names what is missing or wrong. earth: of which speeds are relative."""
    with variables_of(file) as found:
        return grid_model(file, found, earth)


def grid_model(
    file: Path, found: Mapping[str, Any], earth: EarthModel, sources: Sequence[tuple[str, ...]] = SOURCES
) -> GridModel:
    """The model of some variables by name, each with dimensions and attributes. file: what errors call them."""
    axes = {name: axis(file, found, name) for name in AXES}
    names = next((each for each in sources if set(each) <= set(found)), None)
    if names is None:
        raise UserError(f"{file}: none of {', '.join(' with '.join(each) for each in sources)}; allowed: one of these")
    fields = [field(file, found, name) for name in names]
    axes["depth"] = depth_in_km(file, axes["depth"])
    order = {name: np.argsort(values) for name, values in axes.items()}
    axes = {name: values[order[name]] for name, values in axes.items()}
    fields = [values[np.ix_(*(order[each] for each in AXES))] for values in fields]
    check_poles(file, axes["latitude"])
    values, of = relative_change(names, fields, earth, axes["depth"]), " and ".join(names)
    known = np.isfinite(values)
    if not known.any():
        raise UserError(f"{file}: {of} has no value anywhere; allowed: a model of the mantle")
    if (usual := float(np.median(np.abs(values[known])))) > LARGEST_CHANGE:
        raise UserError(
            f"{file}: half of dlnVs from {of} is above {usual:.3g}; allowed: {LARGEST_CHANGE:g}. Is it in another unit?"
        )
    lost = ~(np.abs(values) <= LARGEST_CHANGE)
    values[lost] = 0.0
    longitude, whole = once_round(file, axes["longitude"], values)
    return GridModel(axes["depth"], axes["latitude"], longitude, whole, of, int(lost.sum()))


def depth_in_km(file: Path, depth: f64) -> f64:
    """Depths of a file, which may be in metres. UserError where they are heights."""
    kilometres = depth / 1e3 if np.abs(depth).max() > 1e4 else depth
    if kilometres.min() < -20.0:
        raise UserError(f"{file}: depth begins at {kilometres.min():g} km; allowed: depths that grow downwards")
    return kilometres


def check_poles(file: Path, latitude_deg: f64) -> None:
    """UserError for a part of the Earth: the last ring of points stands for what is beyond it, which must not be much."""
    step = float(np.diff(latitude_deg).max())
    if latitude_deg[0] > -90.0 + step + 1e-3 or latitude_deg[-1] < 90.0 - step - 1e-3:
        raise UserError(
            f"{file}: latitude from {latitude_deg[0]:g} to {latitude_deg[-1]:g} degrees; allowed: the whole Earth, to within a "
            "step of both poles"
        )


@contextmanager
def variables_of(file: Path) -> Iterator[Mapping[str, Any]]:
    """The variables of a NetCDF file, classic or HDF5. UserError for a file that is neither."""
    import h5netcdf

    wrong, allowed = "cannot be read", "a NetCDF file"
    with refused(file, wrong, allowed):
        if classic_netcdf.is_classic(file):
            with classic_netcdf.variables(file) as found:
                yield found
        else:
            with opened_hdf5(file, allowed, wrong=wrong) as hdf5, h5netcdf.File(hdf5, "r") as modern:
                yield modern.variables


def axis(file: Path, found: Mapping[str, Any], name: str) -> f64:
    """The points of depth, latitude or longitude."""
    if name not in found:
        raise UserError(f"{file}: no variable {name!r}; allowed: fields over {', '.join(AXES)}")
    values = np.asarray(found[name][:], float)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all() or len(np.unique(values)) < len(values):
        raise UserError(f"{file}: {name} has shape {values.shape}; allowed: two or more different numbers")
    return values


def field(file: Path, found: Mapping[str, Any], name: str, axes: Sequence[str] = AXES) -> f64:
    """A variable over (depth, latitude, longitude), or other axes, NaN where it has no value, in percent or km/s."""
    variable = found[name]
    if sorted(variable.dimensions) != sorted(axes):
        raise UserError(f"{file}: {name} is over {', '.join(variable.dimensions)}; allowed: {', '.join(axes)}")
    values = np.array(variable[...], float).transpose([list(variable.dimensions).index(each) for each in axes])
    attributes = variable.attrs if hasattr(variable, "attrs") else variable._attributes
    for key in ("_FillValue", "missing_value"):
        mark = np.ravel(attributes.get(key, np.nan))[0]
        if isinstance(mark, float | int | np.number):
            values[values == float(mark)] = np.nan
    values = values * float(np.ravel(attributes.get("scale_factor", 1.0))[0])
    values += float(np.ravel(attributes.get("add_offset", 0.0))[0])
    units = attributes.get("units", b"")
    units = np.ravel(units)[0] if isinstance(units, np.ndarray) else units
    units = units.decode() if isinstance(units, bytes) else str(units)
    if units.strip().lower() in ("m/s", "m.s-1", "m s-1", "meters/second"):
        values /= 1e3
    if units.strip().lower() in ("1", "fraction", "ratio"):
        values *= 100.0
    return values


def relative_change(names: Sequence[str], fields: Sequence[f64], earth: EarthModel, depth_km: f64) -> f64:
    """The dlnVs that some of SOURCES make, NaN where there is none."""
    if names[0].startswith("d"):
        return fields[0] / 100.0 if len(fields) == 1 else (2.0 * fields[0] + fields[1]) / 300.0
    speed = fields[0] if len(fields) == 1 else np.sqrt((2.0 * fields[0] ** 2 + fields[1] ** 2) / 3.0)
    radius_m = 1e3 * (EARTH_RADIUS_KM - depth_km)
    solid = (radius_m > earth.cmb_radius_m - 1e4) & (radius_m < earth.solid_surface_radius_m + 1e4)
    inside = np.clip(radius_m, earth.cmb_radius_m, earth.solid_surface_radius_m)
    found = np.where(speed > 0.0, speed / voigt_vs_km_s(earth, inside)[:, None, None] - 1.0, np.nan)
    found[~solid] = np.nan
    return found


def once_round(file: Path, longitude_deg: f64, values: f64) -> tuple[f64, f64]:
    """Longitudes and values with the first meridian again at the end. UserError where they do not go round."""
    turn = longitude_deg[-1] - longitude_deg[0]
    step = np.diff(longitude_deg).max()
    if turn > 360.0 + 1e-3 or turn + step < 360.0 - 1e-3:
        raise UserError(
            f"{file}: longitude from {longitude_deg[0]:g} to {longitude_deg[-1]:g} degrees; allowed: once round the Earth"
        )
    if turn > 360.0 - 1e-3:
        return longitude_deg, values
    return np.append(longitude_deg, longitude_deg[0] + 360.0), np.concatenate([values, values[:, :, :1]], axis=2)
