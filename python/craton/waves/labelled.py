"""Dimensions, coordinates and units in the HDF5 files of a wave run, as netCDF-4 and the CF conventions have them.

    xarray.open_dataset("layer-run/snapshots.h5", engine="h5netcdf").vz.sel(time=2.0, method="nearest").plot()

Fields are staggered, so each has the coordinates of its own points. x, y and z are the middles of cells; x_face, y_face and z_face
lie between cells. Stress is half a step later than velocity and has the dimension time_stress. Only root calls these functions,
with files that nobody else has open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RectBivariateSpline

from craton.errors import UserError
from craton.runs.hdf5_writing import written_hdf5
from craton.seismology.geometry.grid import Grid
from craton.seismology.wave_run.receivers import Receivers

__all__ = ["Place", "label_fields", "label_seismograms"]

CONVENTIONS = "CF-1.8"
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable. {:9d}"
"""How netCDF-4 marks a dimension without coordinates."""
MOST_PLACES = 2**24
"""Points of a plane whose longitudes and latitudes are written, 128 MiB each. Larger planes have metres alone."""
NODES = 33
"""Along each axis, between which longitudes and latitudes are splines of degree 5: right to 1e-9 degrees, and quickly there."""
HIGHEST_DEG = 80.0
"""Of latitude: beyond it meridians come too close for that."""
ROWS_AT_ONCE = 2**18
"""Points whose longitudes and latitudes are computed together."""
WORDS = {
    "vx": "velocity along x",
    "vy": "velocity along y",
    "vz": "velocity along z, downwards",
    **{name: f"stress {name}" for name in ("xx", "yy", "zz", "xy", "xz", "yz")},
}
COMPONENTS = "x", "y", "z"
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """Where and when a run takes place. origin_time: UTC of t = 0, ISO 8601, or ""."""

    grid: Grid
    origin_time: str = ""


def label_fields(path: Path, place: Place) -> None:
    """A file of snapshots gets them. UserError where it cannot be written."""
    _changed(path, lambda file: _label_fields(file, place))


def label_seismograms(path: Path, place: Place, stations: Receivers) -> None:
    """A file of seismograms gets them: dimensions station, component and time. UserError where it cannot be written."""
    _changed(path, lambda file: _label_seismograms(file, place, stations))


def _changed(path: Path, change: Callable[[h5py.File], None]) -> None:
    try:
        with written_hdf5(path, "r+") as file:
            if "Conventions" not in file.attrs:  # else of a run that goes on
                change(file)
                file.attrs["Conventions"] = CONVENTIONS
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written: {' '.join(str(error).split())}; allowed: a file that can"
        ) from None


def _label_fields(file: h5py.File, place: Place) -> None:
    for name in [name for name, item in file.items() if item.ndim == 4]:
        field = file[name]
        facts, (samples, *counts) = field.attrs, field.shape
        stress = not name.startswith("v")
        axes = [_time(file, "time_stress" if stress else "time", facts, samples, place)]
        for axis, count in zip("zyx", counts, strict=True):
            axes.append(_axis(file, axis, count, facts, place))
        for at, scale in enumerate(axes):
            field.dims[at].attach_scale(scale)
        field.attrs["units"] = facts["unit"]
        field.attrs["long_name"] = WORDS[name]
        if place.grid.projection is not None and counts[1] * counts[2] <= MOST_PLACES:
            field.attrs["coordinates"] = " ".join(_degrees_over(file, axes[3], axes[2], place.grid))
    _rest(file)


def _label_seismograms(file: h5py.File, place: Place, stations: Receivers) -> None:
    velocity = file["velocity"]
    names = _scale(
        file, "station", np.array(stations.names, object), h5py.string_dtype(), long_name="name of the station"
    )
    component = _scale(
        file, "component", np.array(COMPONENTS, object), h5py.string_dtype(), long_name="direction: x, y, z downwards"
    )
    time = _time(file, "time", velocity.attrs, velocity.shape[2], place)
    for at, scale in enumerate((names, component, time)):
        velocity.dims[at].attach_scale(scale)
    velocity.attrs["units"], velocity.attrs["long_name"] = velocity.attrs["unit"], "velocity at the stations"
    for at, scale in enumerate((names, component)):
        file["coordinates"].dims[at].attach_scale(scale)
    file["coordinates"].attrs["units"] = "m"
    file["coordinates"].attrs["long_name"] = "position along x, y, z from the corner of the grid"
    if place.grid.projection is not None:
        degrees = place.grid.lon_lat(stations.position_m[:, 0], stations.position_m[:, 1])
        for name, unit, values in zip(
            ("longitude", "latitude"), ("degrees_east", "degrees_north"), degrees, strict=True
        ):
            file[name] = np.asarray(values, float)
            file[name].attrs.update({"units": unit, "standard_name": name})
            file[name].dims[0].attach_scale(names)
        velocity.attrs["coordinates"] = "longitude latitude"
    _rest(file)


def _time(file: h5py.File, name: str, facts: Any, samples: int, place: Place) -> h5py.Dataset:
    """Seconds from t = 0, not dates: a run's samples are not at whole nanoseconds."""
    if name in file:
        return file[name]
    values = float(facts["first_time_s"]) + float(facts["dt_s"]) * np.arange(samples)
    more = {"origin_time": place.origin_time} if place.origin_time else {}
    return _scale(file, name, values, "f8", units="s", axis="T", long_name="time since the run's beginning", **more)


def _axis(file: h5py.File, axis: str, count: int, facts: Any, place: Place) -> h5py.Dataset:
    """Middles of cells, or faces: as the origin of the field says."""
    at, h_m = "xyz".index(axis), float(facts["h_m"])
    origin, step = float(facts["origin_xyz_m"][at]), float(facts["spacing_xyz_m"][at])
    on_faces = abs(origin / h_m - round(origin / h_m)) < 0.25
    name = f"{axis}_face" if on_faces else axis
    if name in file:
        return file[name]
    turned = place.grid.azimuth_deg + (90 if axis == "y" else 0)
    words = {"long_name": "depth" if axis == "z" else f"distance towards {turned % 360:g} degrees from north"}
    more = {"positive": "down"} if axis == "z" else {}
    return _scale(file, name, origin + step * np.arange(count), "f8", units="m", axis=axis.upper(), **words, **more)


def _degrees_over(file: h5py.File, x: h5py.Dataset, y: h5py.Dataset, grid: Grid) -> tuple[str, str]:
    """Names of longitude and latitude (y, x) of points with these coordinates."""
    at_x, at_y = x[()], y[()]
    suffix = "".join(f"_{axis.name[1:]}" for axis in (x, y) if axis.name.endswith("_face"))
    names = f"longitude{suffix}", f"latitude{suffix}"
    if names[0] in file:
        return names
    for name, unit in zip(names, ("degrees_east", "degrees_north"), strict=True):
        made = file.create_dataset(name, (len(at_y), len(at_x)), "f8")
        made.attrs.update({"units": unit, "standard_name": name.partition("_")[0]})
        made.dims[0].attach_scale(y)
        made.dims[1].attach_scale(x)
    degrees = _degrees_of(grid, at_x, at_y)
    rows = max(1, ROWS_AT_ONCE // len(at_x))
    for first in range(0, len(at_y), rows):
        some = slice(first, first + rows)
        for name, values in zip(names, degrees(at_y[some]), strict=True):
            file[name][some] = values
    return names


def _degrees_of(grid: Grid, x: Array, y: Array) -> Callable[[Array], tuple[Array, Array]]:
    """For some of y (rows): longitude and latitude (rows, x)."""

    def projected(rows: Array) -> tuple[Array, Array]:
        return grid.lon_lat(x[None, :], rows[:, None])

    if min(len(x), len(y)) <= 2 * NODES:
        return projected
    nodes = [np.linspace(axis[0], axis[-1], NODES) for axis in (x, y)]
    longitude, latitude = grid.lon_lat(nodes[0][None, :], nodes[1][:, None])
    if np.abs(latitude).max() > HIGHEST_DEG:
        return projected
    smooth = [RectBivariateSpline(nodes[1], nodes[0], values, kx=5, ky=5) for values in (longitude, latitude)]
    return lambda rows: (smooth[0](rows, x), smooth[1](rows, x))


def _rest(file: h5py.File) -> None:
    """The number of samples has a dimension too: readers of netCDF-4 refuse a file in which anything has none."""
    count = file.create_dataset("written", (1,), ">f4")
    count.make_scale(NO_VARIABLE.format(1))
    file["samples_written"].dims[0].attach_scale(count)


def _scale(file: h5py.File, name: str, values: NDArray[Any], kind: Any, **attributes: str) -> h5py.Dataset:
    made = file.create_dataset(name, data=values, dtype=kind)
    made.make_scale(name)
    made.attrs.update(attributes)
    return made
