"""Media on grids in files: NetCDF in the convention of IRIS EMC, HDF5, and the binary triple of AWP.

- NetCDF, classic or 4: three-dimensional variables vp, vs, rho and perhaps qp, qs over longitude, latitude and depth. The names of
  the dimensions say which is which. Without the attribute `units`: km/s, g/cm^3, km, degrees.
- HDF5: datasets vp, vs, rho ... whose attribute `axes` names their dimensions, as "x y z", and one-dimensional datasets of those
  names: x, y, z in m of the grid, or longitude, latitude, depth. Without the attribute `units`: SI.
- AWP, and the meshes of ucvm2mesh: float32 vp, vs, rho (and qp, qs) of each cell together, x fastest, then y, then z downwards, in
  SI. There is no header, so the size of the file must be that of its grid. A value fills its cell. With five values there may be
  three int32 before them, the cell's numbers from 1 on (IJK-32). axes = "yx" where y of the grid is fastest.

Each rank reads the part it needs. Values of NetCDF and HDF5 are interpolated linearly between the points.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.files import replaced
from craton.runs.hdf5_files import hdf5_file, refused
from craton.seismology import classic_netcdf
from craton.seismology.files import present, readable
from craton.seismology.geometry.grid import Grid
from craton.seismology.ground.media import NAMES, Material, Medium, parts_holding

Array = NDArray[np.float64]
Weights = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Of values along an axis: the point below each, and how far it is from there to the next one, 0 to 1."""

ALIASES = {"density": "rho", "qmu": "qs", "q_s": "qs", "q_p": "qp", "qkappa": ""}
AXES = {"longitude": "longitude", "lon": "longitude", "latitude": "latitude", "lat": "latitude", "depth": "depth"} | {
    name: name for name in ("x", "y", "z")
}
MAP_AXES = {**AXES, "x": "longitude", "y": "latitude"}
KINDS = (("longitude", "latitude", "depth"), ("longitude", "latitude", "z"), ("x", "y", "z"), ("x", "y", "depth"))
UNITS = {
    "velocity": {"km/s": 1e3, "m/s": 1.0},
    "density": {"g/cm3": 1e3, "kg/m3": 1.0},
    "length": {"km": 1e3, "m": 1.0},
    "angle": {"degrees": 1.0},
    "factor": {"": 1.0},
}
SPELLINGS = (
    (re.compile(r"[\s*^._]"), ""),
    (re.compile(r"kilomet(er|re)s?"), "km"),
    (re.compile(r"met(er|re)s?"), "m"),
    (re.compile(r"(per)?sec(ond)?s?"), "s"),
    (re.compile(r"(k?m)/?s-?1?"), r"\1/s"),
    (re.compile(r"(k?g)/?(c?m)-?3"), r"\1/\2"),
    (re.compile(r"(k?g/c?m)$"), r"\g<1>3"),
    (re.compile(r"degrees?(north|east|[ne])?"), "degrees"),
    (re.compile(r"^(1|none|count|unitless|dimensionless)$"), ""),
)
KIND_OF = {"vp": "velocity", "vs": "velocity", "rho": "density", "qp": "factor", "qs": "factor"}
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"
"""How NetCDF 4 marks a dataset that stands for the length of a dimension alone."""
DEFAULT_EMC = {"velocity": "km/s", "density": "g/cm3", "length": "km", "angle": "degrees", "factor": ""}
DEFAULT_SI = {"velocity": "m/s", "density": "kg/m3", "length": "m", "angle": "degrees", "factor": ""}


@dataclass(frozen=True)
class Variable:
    """Of a file: its dimensions' names, and how to read a part of it."""

    dimensions: tuple[str, ...]
    shape: tuple[int, ...]
    attributes: Mapping[str, Any]
    read: Callable[[tuple[slice, ...]], NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class GriddedMedium(Medium):
    """Values on a grid of points with axes of any spacing, in a file that is read part by part."""

    path: Path
    axes: tuple[str, str, str]
    points: tuple[Array, ...]
    """Along each axis, increasing: degrees or m."""
    flipped: tuple[bool, ...]
    """Where the file has an axis decreasing."""
    variables: Mapping[str, tuple[Variable, float, tuple[int, ...]]]
    """With the factor to SI, and where in it the three axes are."""
    _kept: list[tuple[Grid, Array, Array, list[Weights]]] = field(default_factory=list, compare=False, repr=False)
    outside: str = "refuse"
    """or "nearest": beyond its ends the file goes on as at them"""

    def raw(self, grid: Grid, x: Array, y: Array, z: Array) -> Material:
        """Material at x, y, z in m, linear between the nodes of the file. UserError outside the file."""
        at = [*self._horizontal(grid, x, y), self._weights(2, z)]
        part = tuple(slice(int(low.min()), int(low.max()) + 2) for low, _ in at)
        fields = {name: self._between(name, part, at) for name in self.variables}
        return Material(**fields)

    def _horizontal(self, grid: Grid, x: Array, y: Array) -> list[Weights]:
        """Along the first two axes; kept, because one plane after the other is asked for and projecting takes longest."""
        for of_grid, old_x, old_y, found in self._kept:
            if of_grid == grid and np.array_equal(old_x, x) and np.array_equal(old_y, y):
                return found
        u, v = x, y
        if self.axes[0] == "longitude":
            longitude, v = grid.lon_lat(x, y)
            middle = 0.5 * (self.points[0][0] + self.points[0][-1])
            u = longitude - 360 * np.round((longitude - middle) / 360)  # by whole turns, to where the file has them
        found = [self._weights(0, u), self._weights(1, v)]
        self._kept[:] = [(grid, x.copy(), y.copy(), found)]
        return found

    def _weights(self, d: int, values: Array) -> Weights:
        """The point below each value, and how far it is to the next one. Half an interval beyond the ends is still inside."""
        points, low, high = self.points[d], float(np.min(values)), float(np.max(values))
        first = points[0] - 0.5 * (points[1] - points[0]) - 1e-9 * abs(points[0])
        last = points[-1] + 0.5 * (points[-1] - points[-2]) + 1e-9 * abs(points[-1])
        if self.outside != "nearest" and not (low >= first and high <= last):
            unit = "degrees" if self.axes[d] in ("longitude", "latitude") else "m"
            raise UserError(
                f"{self.path}: {self.axes[d]} from {points[0]:g} to {points[-1]:g} {unit}, but the grid needs {low:g} to {high:g}; "
                'allowed: a grid inside the file, or [media] outside = "nearest"'
            )
        below = np.clip(np.searchsorted(points, values, side="right") - 1, 0, len(points) - 2)
        weight = np.clip((values - points[below]) / (points[below + 1] - points[below]), 0, 1)
        return below, weight.astype(np.float32)

    def _between(self, name: str, part: tuple[slice, ...], at: list[Weights]) -> NDArray[np.float32]:
        block = self._block(name, part)
        near: list[Weights] = [(below - p.start, weight) for (below, weight), p in zip(at, part, strict=True)]
        (u, _), (v, _), (w, _) = near
        across = _across(u, v, w)
        if across is not None:
            moved = [tuple(np.moveaxis(values, across, 2) for values in one) for one in near]
            return np.moveaxis(_in_planes(block, *moved), 2, across)  # type: ignore[arg-type]
        return np.asarray(sum(_part(block, near, corner) for corner in np.ndindex(2, 2, 2)), dtype=np.float32)

    def _block(self, name: str, part: tuple[slice, ...]) -> NDArray[np.float32]:
        """In the order of the axes, increasing, in SI; NaN where the file has none."""
        variable, factor, order = self.variables[name]
        wanted = [slice(None)] * 3
        for d, where in enumerate(order):
            n = len(self.points[d])
            wanted[where] = slice(n - part[d].stop, n - part[d].start) if self.flipped[d] else part[d]
        with readable(self.path, "a whole file", f"{name} cannot be read: "):
            values = np.array(variable.read(tuple(wanted)))
        block = np.transpose(values, order).astype(np.float32)
        block = np.flip(block, tuple(d for d in range(3) if self.flipped[d]))
        for key in ("_FillValue", "missing_value"):
            if key in variable.attributes:
                block[block == np.float32(np.ravel(variable.attributes[key])[0])] = np.nan
        scale, offset = (
            float(np.ravel(variable.attributes.get(key, neutral))[0])
            for key, neutral in (("scale_factor", 1), ("add_offset", 0))
        )
        return np.asarray((block * np.float32(scale) + np.float32(offset)) * np.float32(factor))


def _part(block: NDArray[np.float32], near: list[Weights], corner: tuple[int, ...]) -> NDArray[np.float32]:
    """What one corner gives to values between all corners. Where its weight is 0 its value may be missing."""
    index = tuple(below + c for (below, _), c in zip(near, corner, strict=True))
    weight: Any = np.float32(1)
    for (_, w), c in zip(near, corner, strict=True):
        weight = weight * (w if c else 1 - w)
    values = block[index]
    return np.asarray(np.where(weight > 0, weight * values, 0), dtype=np.float32)


def _across(u: NDArray[np.int64], v: NDArray[np.int64], w: NDArray[np.int64]) -> int | None:
    """The dimension of three along which the third varies, if it varies along that alone and the others do not."""
    if not u.ndim == v.ndim == w.ndim == 3:
        return None
    for d in (2, 0, 1):
        if u.shape[d] == v.shape[d] == 1 and w.size == w.shape[d]:
            return d
    return None


def _in_planes(block: NDArray[np.float32], u: Weights, v: Weights, w: Weights) -> NDArray[np.float32]:
    """Values on planes of z: first between points of each level of the file, then between levels. i fastest in memory."""
    flat: list[Weights] = [(below[:, :, 0], weight) for below, weight in (u, v)]
    below, weight = w[0].ravel(), w[1].ravel()
    levels = np.union1d(below, below[weight > 0] + 1)
    planes: Any = sum(_part(block[:, :, levels], flat, corner) for corner in np.ndindex(2, 2))
    lower, upper = (planes[:, :, np.searchsorted(levels, at)] for at in (below, below + (weight > 0)))
    return np.asfortranarray(lower + (upper - lower) * weight)


def open_netcdf(path: str | os.PathLike[str], *, outside: str = "refuse", **common: Any) -> GriddedMedium:
    """A NetCDF file, classic or 4. UserError where it is missing, damaged, or its axes do not say which is which.

    outside: "nearest" where the file goes on beyond its ends as at them. common: settings of Medium.
    """
    path = present(path, "a NetCDF file")
    variables = _classic_variables(path) if classic_netcdf.is_classic(path) else _hdf5_variables(path, "NetCDF")
    return _gridded(path, variables, DEFAULT_EMC, outside, common)


def open_hdf5(path: str | os.PathLike[str], *, outside: str = "refuse", **common: Any) -> GriddedMedium:
    """An HDF5 file. UserError and settings as of open_netcdf."""
    path = present(path, "an HDF5 file")
    return _gridded(path, _hdf5_variables(path, "HDF5"), DEFAULT_SI, outside, common)


def read_map(path: Path) -> tuple[Array, Array, NDArray[np.float32]]:
    """The one field over longitude and latitude of a NetCDF file (GMT: x and y): both increasing, values (longitude, latitude).

    UserError where there is none, or more than one. NaN where the file has no value.
    """
    variables = _classic_variables(path) if classic_netcdf.is_classic(path) else _hdf5_variables(path, "NetCDF")
    fields = {name: variable for name, variable in variables.items() if len(variable.shape) == 2}
    if len(fields) != 1:
        raise UserError(
            f"{path}: fields {', '.join(fields) or 'none'} of two dimensions; allowed: one, over longitude and latitude"
        )
    ((name, field),) = fields.items()
    known = [MAP_AXES.get(dimension.lower(), "") for dimension in field.dimensions]
    if sorted(known) != ["latitude", "longitude"]:
        shown = ", ".join(dimension or "?" for dimension in field.dimensions)
        raise UserError(f"{path}: {name} over ({shown}); allowed: longitude and latitude, or x and y")
    places = [known.index(axis) for axis in ("longitude", "latitude")]
    (longitude, turned_x), (latitude, turned_y) = (
        _points(path, variables, field.dimensions[at], known[at], field, DEFAULT_EMC) for at in places
    )
    with readable(path, "a whole file", f"{name} cannot be read: "):
        values = np.transpose(np.array(field.read((slice(None), slice(None)))), places).astype(np.float32)
    values = np.flip(values, tuple(d for d, turned in enumerate((turned_x, turned_y)) if turned))
    for key in ("_FillValue", "missing_value"):
        if key in field.attributes:
            values[values == np.float32(np.ravel(field.attributes[key])[0])] = np.nan
    return longitude, latitude, values


def _hdf5_variables(path: Path, kind: str) -> dict[str, Variable]:
    """Also of NetCDF 4, which is HDF5 with dimension scales."""
    wrong = f"not a complete {kind} file"
    file = hdf5_file(path, "one", wrong=wrong)
    try:
        with refused(path, wrong, "one"):
            return {
                name: Variable(_dimensions(name, data), data.shape, dict(data.attrs), data.__getitem__)
                for name, data in file.items()
                if isinstance(data, h5py.Dataset) and not _text(data.attrs.get("NAME", "")).startswith(NO_VARIABLE)
            }
    except BaseException:
        file.close()
        raise


def _dimensions(name: str, data: h5py.Dataset) -> tuple[str, ...]:
    """As the attribute `axes` or dimension scales name them; an axis is its own."""
    if data.ndim == 1:
        return (name,)
    words = _text(data.attrs.get("axes", "")).replace(",", " ").split()
    return tuple(words) or tuple(one[0].name.rpartition("/")[2] if len(one) else "" for one in data.dims)


def _classic_variables(path: Path) -> dict[str, Variable]:
    try:
        variables = classic_netcdf.mapped(path)
    except Exception:  # whatever its parser stumbles over: it speaks of arrays, not of files
        what = f"cut short at {path.stat().st_size} bytes, or damaged"
        raise UserError(f"{path}: not a complete NetCDF file: {what}; allowed: one") from None

    return {
        name: Variable(tuple(v.dimensions), v.shape, dict(v._attributes), v.__getitem__)
        for name, v in variables.items()
    }


def _gridded(
    path: Path, variables: dict[str, Variable], default: Mapping[str, str], outside: str, common: Mapping[str, Any]
) -> GriddedMedium:
    found: dict[str, tuple[str, Variable]] = {}
    for name, variable in variables.items():
        known = ALIASES.get(name.lower(), name.lower())
        if known in NAMES and len(variable.shape) > 1:
            if known in found:
                raise UserError(f"{path}: {found[known][0]} and {name} are both {known}; allowed: one of them")
            found[known] = (name, variable)
    for known in ("vp", "vs", "rho"):
        if known not in found:
            raise UserError(
                f"{path}: no variable {known}; allowed: a file with {', '.join(NAMES[:3])} (and qp, qs); it has "
                f"{', '.join(variables) or 'none'}"
            )
    if ("qp" in found) != ("qs" in found):
        raise UserError(f"{path}: only one of qp and qs; allowed: both, or neither")
    axes, places = _axes(path, *found["vp"])
    points, flipped = zip(
        *(_points(path, variables, name, axis, found["vp"][1], default) for axis, name in places.items()), strict=True
    )
    read = {}
    for known, (name, variable) in found.items():
        if set(_axes(path, name, variable)[1].values()) != set(places.values()):
            raise UserError(
                f"{path}: {name} over ({', '.join(variable.dimensions)}), vp over ({', '.join(found['vp'][1].dimensions)}); "
                "allowed: the same dimensions"
            )
        order = tuple(variable.dimensions.index(places[axis]) for axis in axes)
        factor = _factor(path, name, KIND_OF[known], variable.attributes, default)
        read[known] = (variable, factor, order)
    return GriddedMedium(
        path=path, axes=axes, points=points, flipped=flipped, variables=read, outside=outside, **common
    )


def _axes(path: Path, name: str, variable: Variable) -> tuple[tuple[str, str, str], dict[str, str]]:
    """The three axes (horizontal ones first) and the dimension that each one is."""
    known = [AXES.get(dimension.lower(), "") for dimension in variable.dimensions]
    for kind in KINDS:
        if sorted(known) == sorted(kind):
            return kind, {axis: variable.dimensions[known.index(axis)] for axis in kind}
    shown = ", ".join(dimension or "?" for dimension in variable.dimensions)
    raise UserError(
        f"{path}: {name} over the dimensions ({shown}), which do not say which axis is which; allowed: longitude, latitude and "
        "depth, or x, y and z, in any order"
    )


def _points(
    path: Path, variables: dict[str, Variable], name: str, axis: str, over: Variable, default: Mapping[str, str]
) -> tuple[Array, bool]:
    """Of one axis: increasing, in degrees or m; and whether the file has them decreasing."""
    if name not in variables or len(variables[name].shape) != 1:
        raise UserError(f"{path}: no values of the axis {name}; allowed: a one-dimensional variable {name}")
    variable = variables[name]
    count = over.shape[over.dimensions.index(name)]
    if variable.shape != (count,):
        raise UserError(f"{path}: axis {name} has {variable.shape[0]} values for {count} points; allowed: as many")
    horizontal = axis in ("longitude", "latitude")
    factor = _factor(path, name, "angle" if horizontal else "length", variable.attributes, default)
    values = np.asarray(variable.read((slice(None),)), dtype=np.float64) * factor
    if not horizontal and axis in ("depth", "z") and _text(variable.attributes.get("positive", "down")) == "up":
        values = -values
    flipped = bool(len(values) > 1 and values[0] > values[-1])
    if flipped:
        values = values[::-1]
    if len(values) < 2 or not np.isfinite(values).all() or not (np.diff(values) > 0).all():
        raise UserError(f"{path}: axis {name} is not in order; allowed: two or more increasing or decreasing values")
    limit = {"latitude": 90, "longitude": 360}.get(axis)
    if limit and not np.abs(values).max() <= limit:
        raise UserError(
            f"{path}: axis {name} from {values[0]:g} to {values[-1]:g}; allowed: degrees of {axis}, at most {limit} in size"
        )
    return np.ascontiguousarray(values), flipped


def _factor(path: Path, name: str, kind: str, attributes: Mapping[str, Any], default: Mapping[str, str]) -> float:
    """To SI."""
    given = _text(attributes["units"]).strip().lower() if "units" in attributes else default[kind]
    unit = given
    for pattern, spelling in SPELLINGS:
        unit = pattern.sub(spelling, unit)
    if unit not in UNITS[kind]:
        if kind == "factor":
            return 1.0
        raise UserError(f"{path}: {name} in '{given}'; allowed: {', '.join(UNITS[kind])}")
    return UNITS[kind][unit]


def _text(value: Any) -> str:
    value = value.flat[0] if isinstance(value, np.ndarray) and value.size else value
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@dataclass(frozen=True, kw_only=True)
class AwpMedium(Medium):
    """Cells of a binary file, each of one value."""

    path: Path
    values: NDArray[np.float32]
    """[k, j, i, value], mapped; [k, i, j, value] with `transposed`"""
    spacing_m: float
    transposed: bool = False

    def raw(self, grid: Grid, x: Array, y: Array, z: Array) -> Material:
        """Material at x, y, z in m: that of the cell they are in. UserError outside the file."""
        values = self.values.swapaxes(1, 2) if self.transposed else self.values
        cells = values.shape[2::-1]
        for axis, n, size in zip("xyz", cells, grid.size_m, strict=True):
            if size > n * self.spacing_m * (1 + 1e-9):
                raise UserError(
                    f"{self.path}: {n} cells of {self.spacing_m:g} m along {axis}, but the grid is {size:g} m; allowed: a grid "
                    "inside the file"
                )
        box, (i, j, k) = parts_holding((x, y, z), [self.spacing_m] * 3, cells)
        block = np.asarray(values[box[::-1]])
        return Material(*(block[k, j, i, n].astype(np.float32) for n in range(values.shape[3])))

    def subsamples(self, grid: Grid) -> tuple[int, int, int]:
        """As many along each side as the file has cells there, and 2 at least, where they are smaller than the grid's."""
        many = max(2, math.ceil(grid.spacing_m / self.spacing_m * (1 - 1e-9)))
        return (1, 1, 1) if self.spacing_m >= grid.spacing_m * (1 - 1e-9) else (many, many, many)


def open_awp(
    path: str | os.PathLike[str], cells: tuple[int, int, int], spacing_m: float, *, axes: str = "xy", **common: Any
) -> AwpMedium:
    """A binary mesh. UserError unless it has the size of three or five values (or numbers and five values) for each of its cells.

    cells: along x, y and z of the grid. axes: its horizontal axes in the file, the fastest first: "xy" or "yx".
    """
    path = present(path, "a binary file of vp, vs, rho (and qp, qs)")
    size, (nx, ny, nz) = path.stat().st_size, cells
    transposed = axes == "yx"
    wanted = {count: 4 * count * nx * ny * nz for count in (3, 5, 8)}
    for count, expected in wanted.items():
        if size == expected:
            shape = (nz, nx, ny, count) if transposed else (nz, ny, nx, count)
            values: Any = np.memmap(path, np.dtype("<f4"), "r", shape=shape)
            if count == 8:
                first = values[0, 0, 0, :3].view("<i4").tolist()
                if first != [1, 1, 1]:
                    raise UserError(
                        f"{path}: its first cell has the numbers {first}; allowed: [1, 1, 1] before qp and qs (IJK-32 of ucvm2mesh)"
                    )
                values = values[..., 3:]
            return AwpMedium(path=path, values=values, spacing_m=spacing_m, transposed=transposed, **common)
    raise UserError(
        f"{path}: {size} bytes; allowed for {nx} x {ny} x {nz} cells: {wanted[3]} (vp, vs, rho as float32) or {wanted[5]} (and "
        f"qp, qs; {wanted[8]} after three int32)"
    )


def write_awp(path: str | os.PathLike[str], medium: Medium, grid: Grid) -> None:
    """Writes a medium at the middles of the grid's cells, plane by plane; under its name once it is whole."""
    with replaced(Path(path)) as aside, aside.open("wb") as stream:
        for _, material in medium.slabs(grid, grid.box):
            together = np.stack(list(material.fields().values()), axis=-1)
            stream.write(np.ascontiguousarray(together.transpose(2, 1, 0, 3), dtype="<f4").tobytes())
