"""Slices, sections and maps of a model that is a Dataset over depth, latitude and longitude, of the whole Earth or of a region.

A speed has no reference here, so a map of it shows changes from its mean at that depth. Everything is linear between points.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray
from numpy.typing import NDArray

from craton.errors import UserError
from craton.pages.projection import EARTH_RADIUS_M, cells
from craton.seismology.geometry.latitudes import geographic_deg
from craton.tomography.model.dataset import AXES, Variable, from_dataset
from craton.tomography.model.netcdf_model import axis, depth_in_km
from craton.tomography.report.drawing import MAP_STEP_DEG, MOST_MAPS, arc_between, map_gallery

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from craton.tomography.model.fields import Fields

__all__ = ["depth_slice", "figure", "section", "to_model", "variables_of"]

f64 = NDArray[np.float64]

ROUNDING_DEG = 1e-6
ROUNDING_KM = 1e-3
"""Files have depths in float32."""
LONGEST_TITLE = 80
FRACTIONS = ("1", "fraction", "ratio")
PERCENT = ("percent", "%")
RELATIVE = ("dvs", "dvsv", "dvsh", "dvp", "dvpv", "dvph", "dxi", "drho")
"""Names of changes relative to a reference."""


def variables_of(dataset: xarray.Dataset) -> list[str]:
    """Names of those over depth, latitude and longitude."""
    return [str(name) for name, one in dataset.data_vars.items() if set(one.dims) == set(AXES)]


def depth_slice(dataset: xarray.Dataset, depth_km: float) -> xarray.Dataset:
    """CratonAccessor.depth_slice."""
    return _at_depth(_model(dataset, "depth_slice"), depth_km, "depth_slice")


def section(dataset: xarray.Dataset, start: tuple[float, float], end: tuple[float, float]) -> xarray.Dataset:
    """CratonAccessor.section."""
    call = "section"
    model = _model(dataset, call)
    arc = arc_between(
        _place(start, call, "start"), _place(end, call, "end"), f"ds.craton.{call}: start and end", "1 to 179.9"
    )
    latitude, longitude = geographic_deg(arc.latitude_deg), arc.longitude_deg
    whole = _once_round(model)
    at = _targets(whole, latitude, longitude)
    for name, wanted, asked in (("latitude", at[0], latitude), ("longitude", at[1], longitude)):
        values = whole[name].values
        outside = ~((wanted >= values[0]) & (wanted <= values[-1]))
        if outside.any():
            raise UserError(
                f"ds.craton.{call}: {name} {asked[outside][0]:.4g} is outside the model; allowed: {values[0]:g} to {values[-1]:g} "
                "degrees"
            )
    along = [xarray.DataArray(one, dims="distance") for one in at]
    found = whole.interp(latitude=along[0], longitude=along[1]).transpose("depth", "distance")
    distance = arc.angle_deg - arc.angle_deg[0]
    told = {
        "distance": (distance, "degrees", "distance from the start, at the Earth's centre"),
        "distance_km": (
            np.radians(distance) * EARTH_RADIUS_M / 1e3,
            "km",
            "distance from the start, at a radius of 6371 km",
        ),
    }
    coordinates: dict[str, Any] = {
        name: ("distance", values, {"units": units, "long_name": words})
        for name, (values, units, words) in told.items()
    }
    coordinates |= {
        name: ("distance", values, dict(model[name].attrs))
        for name, values in (("latitude", latitude), ("longitude", longitude))
    }
    return found.assign_coords(coordinates)


def figure(
    dataset: xarray.Dataset, depths_km: float | Sequence[float], variable: str = "", centre_deg: float = 0.0
) -> Figure:
    """CratonAccessor.figure."""
    call = "figure"
    model = _model(dataset, call)
    names = [str(name) for name in model.data_vars]
    if variable and variable not in names:
        raise UserError(f"ds.craton.{call}: variable {variable!r}; allowed: {', '.join(names)}")
    name = variable or names[0]
    depths = [float(depth) for depth in np.atleast_1d(depths_km)]
    if not 0 < len(depths) <= MOST_MAPS:
        raise UserError(f"ds.craton.{call}: {len(depths)} depths; allowed: 1 to {MOST_MAPS}")
    whole = _once_round(model[[name]])
    latitude, longitude = (one.ravel() for one in cells(centre_deg, MAP_STEP_DEG))
    rows, columns = _targets(whole, latitude, longitude)
    maps = [
        _percent(_at_depth(whole, depth, call)[name].interp(latitude=rows, longitude=columns), name) for depth in depths
    ]
    for depth, values in zip(depths, maps, strict=True):
        if not np.isfinite(values).any():
            raise UserError(
                f"ds.craton.{call}: {name} has no value at {depth:g} km; allowed: a depth where it has some"
            )
    title = textwrap.shorten(str(dataset.attrs.get("title", "")), LONGEST_TITLE, placeholder=" ...")
    return map_gallery({_shown_as(model[name]): maps}, depths, title, centre_deg)


def to_model(dataset: xarray.Dataset, like: Fields) -> Fields:
    """CratonAccessor.to_model."""
    _model(dataset, "to_model")
    return from_dataset(dataset, like)


# ------------------------------------------------------------------------------------------------------------- the Dataset


def _model(dataset: xarray.Dataset, call: str) -> xarray.Dataset:
    """Variables over the three axes, which ascend, depth in km. UserError where there are none."""
    names = variables_of(dataset)
    if not names:
        raise UserError(f"ds.craton.{call}: {told(dataset)}; allowed: a model, with variables over {', '.join(AXES)}")
    where = Path(f"ds.craton.{call}")
    found = {name: Variable.of(dataset[name]) for name in AXES if name in dataset.coords}
    points = {name: axis(where, found, name) for name in AXES}
    points["depth"] = depth_in_km(where, points["depth"])
    told_of = {
        name: (name, values, {**dataset[name].attrs, **({"units": "km"} if name == "depth" else {})})
        for name, values in points.items()
    }
    return dataset[names].reset_coords(drop=True).assign_coords(told_of).sortby(list(AXES))


def told(dataset: xarray.Dataset) -> str:
    """What a Dataset has, for an error."""
    variables = [f"{name} over {', '.join(map(str, one.dims)) or 'nothing'}" for name, one in dataset.data_vars.items()]
    return f"a Dataset of {'; '.join(variables[:4])}" if variables else "a Dataset without variables"


def _place(given: tuple[float, float], call: str, name: str) -> tuple[float, float]:
    try:
        latitude, longitude = (float(one) for one in given)
    except (TypeError, ValueError):
        raise UserError(f"ds.craton.{call}: {name} = {given!r}; allowed: (latitude, longitude) in degrees") from None
    if not (-90.0 <= latitude <= 90.0 and -180.0 <= longitude <= 360.0):
        raise UserError(
            f"ds.craton.{call}: {name} = {given!r}; allowed: latitude from -90 to 90, longitude from -180 to 360 degrees"
        )
    return latitude, longitude


# ----------------------------------------------------------------------------------------------------------- interpolation


def _at_depth(model: xarray.Dataset, depth_km: float, call: str) -> xarray.Dataset:
    """UserError outside."""
    top, bottom = (float(model.depth.values[end]) for end in (0, -1))
    if not top - ROUNDING_KM <= depth_km <= bottom + ROUNDING_KM:
        raise UserError(f"ds.craton.{call}: depth {depth_km:g} is outside the model; allowed: {top:g} to {bottom:g} km")
    at = xarray.DataArray(float(np.clip(depth_km, top, bottom)), attrs=model.depth.attrs)
    return model.interp(depth=at)


def _once_round(model: xarray.Dataset) -> xarray.Dataset:
    """With the first meridian again at the end, where a step from the last one leads to it; else a region from west to east."""
    longitude = model.longitude.values
    steps = np.diff(longitude)
    gap = 360.0 - (longitude[-1] - longitude[0])
    usual = 1.5 * float(np.median(steps))
    if steps.max() > max(gap, usual):  # across the meridian at which longitudes begin
        last = longitude[int(steps.argmax())]
        model = model.assign_coords(longitude=model.longitude.where(model.longitude <= last, model.longitude - 360.0))
        return model.sortby("longitude")
    if gap < 1e-3 or gap > usual:
        return model
    first = model.isel(longitude=[0]).assign_coords(longitude=[longitude[0] + 360.0])
    return xarray.concat([model, first], dim="longitude")


def _targets(model: xarray.Dataset, latitude_deg: f64, longitude_deg: f64) -> tuple[f64, f64]:
    """The same places in the model's own degrees. Its outermost parallels stand for poles that are no more than a step beyond."""
    first, last = model.latitude.values[[0, -1]]
    step = float(np.diff(model.latitude.values).max()) + 1e-3
    latitude = latitude_deg.copy()
    if first <= -90.0 + step:
        latitude = np.maximum(latitude, first)
    if last >= 90.0 - step:
        latitude = np.minimum(latitude, last)
    west = model.longitude.values[0]
    longitude = west + np.mod(longitude_deg - west + ROUNDING_DEG, 360.0) - ROUNDING_DEG
    for name, values in (("latitude", latitude), ("longitude", longitude)):
        ends = model[name].values[[0, -1]]
        near = (values > ends[0] - 2 * ROUNDING_DEG) & (values < ends[1] + 2 * ROUNDING_DEG)
        values[near] = np.clip(values[near], *ends)
    return latitude, longitude


def _percent(field: xarray.DataArray, name: str) -> f64:
    """A map (latitude, longitude) in percent, NaN where it has no value."""
    values = np.asarray(field.transpose("latitude", "longitude").values, np.float64)
    if _is_relative(name, field):
        return values * (100.0 if field.attrs.get("units", "") in FRACTIONS else 1.0)
    weights = np.broadcast_to(np.cos(np.radians(field.latitude.values))[:, None], values.shape)
    known = np.isfinite(values)
    mean = float((weights * values)[known].sum() / (weights[known].sum() or np.nan))
    return 100.0 * (values / mean - 1.0)


def _is_relative(name: str, field: xarray.DataArray) -> bool:
    return name in RELATIVE or field.attrs.get("units", "") in PERCENT


def _shown_as(field: xarray.DataArray) -> str:
    """In the words of the house: dvs is dlnVs, and vs is Vs from its mean."""
    name = str(field.name)
    if not _is_relative(name, field):
        return f"{name.capitalize()} from its mean"
    of = name.removeprefix("d")
    return f"dln{of.capitalize() if of.startswith('v') else of}"
