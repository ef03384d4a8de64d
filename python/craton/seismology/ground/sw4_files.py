"""Velocity models of SW4: raster files (rfile) and files in HDF5 (sfile), with topography (SW4 User's Guide, chapter of formats).

- rfile: a header, then blocks of points, finer near the surface. The first block is the topography. Numbers are of either order of
  bytes. The frame is a plane of the projection that the header names, turned by its azimuth.
- sfile: groups Z_interfaces and Material_model in an HDF5 file. Blocks lie between surfaces. There is no projection in it: its
  origin, azimuth and metres count in the plane of the solver's grid.

Both need a grid with a place on the Earth. x of the file points towards its azimuth, y 90 degrees clockwise of it, z down.
"""

from __future__ import annotations

import math
import os
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.foreign_text import quoted
from craton.runs.hdf5_files import hdf5_file, refused
from craton.seismology.files import present, readable
from craton.seismology.geometry.grid import Grid
from craton.seismology.geometry.projection import TransverseMercator
from craton.seismology.ground.blocked import Block, BlockedMedium, Surface, Window

__all__ = ["open_rfile", "open_sfile"]

Array = NDArray[np.float64]
Field = NDArray[np.float32]
HEADER = "iiidddi"
"""magic, bytes of a number, attenuation, azimuth, longitude, latitude, length of the projection's text; no gaps between them."""
BLOCK = "dddiiii"
"""Horizontal and vertical spacing, depth of the top, components, points along x, y, z."""
LONGEST_TEXT = 10_000
MOST_BLOCKS = 1000
SAME = 1e-6
"""Extents of blocks differ by less than this part of them."""
RFILE_COLUMNS = (1, 2, 0, 3, 4)
"""Where vp, vs, rho, qp, qs are in rho, vp, vs, qp, qs."""
SFILE_NAMES = ("Cp", "Cs", "Rho", "Qp", "Qs")


@dataclass(frozen=True)
class _Raster:
    """A block of a raster file, as its header has it."""

    spacing_m: float
    step_m: float
    top_m: float
    components: int
    shape: tuple[int, int, int]

    @property
    def values(self) -> int:
        return math.prod(self.shape) * self.components

    @property
    def bottom_m(self) -> float:
        return self.top_m + (self.shape[2] - 1) * self.step_m

    @property
    def size_m(self) -> tuple[float, float]:
        return (self.shape[0] - 1) * self.spacing_m, (self.shape[1] - 1) * self.spacing_m


# ------------------------------------------------------------------------------------------------------------------ rfile


def open_rfile(
    path: str | os.PathLike[str], *, outside: str = "refuse", depth_from: str = "surface", **common: Any
) -> BlockedMedium:
    """A raster file. UserError where it is missing, cut short, or its header cannot be.

    depth_from: "surface" where depth counts from the file's topography, or "sea_level". outside, common: as of open_netcdf.
    """
    path = present(path, "a raster file of SW4")
    wrong = partial(_wrong, path, "raster file")
    with readable(path, "a raster file of SW4", "not a raster file of SW4"):
        order, attenuation, frame, rasters, begins, kind = _rfile_header(path, wrong)
    expected = begins + kind.itemsize * sum(raster.values for raster in rasters)
    if path.stat().st_size != expected:
        raise wrong(f"{path.stat().st_size} bytes", f"{expected} bytes, as its header says")
    mapped = []
    for raster in rasters:
        shape = (*raster.shape, raster.components)
        mapped.append(np.memmap(path, kind.newbyteorder(order), "r", offset=begins, shape=shape))
        begins += kind.itemsize * raster.values
    height = np.asarray(mapped[0][:, :, 0, 0], np.float64)
    if not np.isfinite(height).all():
        raise wrong("its topography is not finite everywhere", "numbers in m")
    blocks = []
    for raster, values in zip(rasters[1:], mapped[1:], strict=True):
        top, bottom = (_flat(raster.size_m, depth) for depth in (raster.top_m, raster.bottom_m))
        read = partial(_rfile_part, values, 5 if attenuation else 3)
        blocks.append(Block(raster.spacing_m, raster.shape, top, bottom, read))
    return BlockedMedium(
        path=path,
        blocks=tuple(blocks),
        ground=Surface(rasters[0].spacing_m, -height),
        size_m=rasters[0].size_m,
        place=frame,
        outside=outside,
        depth_from=depth_from,
        **common,
    )


def _rfile_header(path: Path, wrong: Callable[[str, str], UserError]) -> tuple[str, int, Any, list[_Raster], int, Any]:
    """Order of bytes, attenuation, frame, blocks, where values begin, their type."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(struct.calcsize(f"<{HEADER}"))
        orders = [order for order in "<>" if head[:4] == struct.pack(f"{order}i", 1)]
        if not orders or len(head) < struct.calcsize(f"<{HEADER}"):
            raise wrong("its first number is not 1", "a file that begins with it")
        order = orders[0]
        _, precision, attenuation, azimuth, longitude, latitude, length = struct.unpack(order + HEADER, head)
        if precision not in (4, 8):
            raise wrong(f"numbers of {precision} bytes", "4 or 8")
        if attenuation not in (0, 1):
            raise wrong(f"attenuation = {attenuation}", "0 or 1")
        if not (abs(azimuth) <= 720 and abs(longitude) <= 360 and abs(latitude) <= 90):
            raise wrong(f"azimuth {azimuth:g}, origin {longitude:g}, {latitude:g}", "degrees of a place on the Earth")
        if not 0 <= length <= LONGEST_TEXT:
            raise wrong(f"a projection of {length} characters", f"0 to {LONGEST_TEXT}")
        text = stream.read(length).split(b"\0")[0].decode("ascii", "replace")
        (count,) = struct.unpack(order + "i", stream.read(4))
        begins = stream.tell() + count * struct.calcsize(f"<{BLOCK}")
        if not 2 <= count <= MOST_BLOCKS or begins > size:
            raise wrong(f"{count} blocks", f"2 to {MOST_BLOCKS} that fit the file: topography, and ground")
        rasters = [
            _raster(struct.unpack(order + BLOCK, stream.read(struct.calcsize(f"<{BLOCK}")))) for _ in range(count)
        ]
    _check_rasters(rasters, attenuation, wrong)
    frame = _Projected(*_meridian(text, wrong), longitude, latitude, azimuth)
    return order, attenuation, frame, rasters, begins, np.dtype(f"f{precision}")


def _raster(numbers: tuple[Any, ...]) -> _Raster:
    spacing, step, top, components, ni, nj, nk = numbers
    return _Raster(spacing, step, top, components, (ni, nj, nk))


def _check_rasters(rasters: list[_Raster], attenuation: int, wrong: Callable[[str, str], UserError]) -> None:
    for number, one in enumerate(rasters, 1):
        components = 1 if number == 1 else 5 if attenuation else 3
        if one.components != components:
            raise wrong(f"block {number} has {one.components} components", f"{components}")
        a, b, c = one.shape
        if a < 2 or b < 2 or (c != 1 if number == 1 else c < 2):
            levels = "1 level" if number == 1 else "2 levels or more"
            raise wrong(f"block {number} has {a} x {b} x {c} points", f"2 or more along x and y, and {levels}")
        if not (0 < one.spacing_m < math.inf):
            raise wrong(f"block {number} has points every {one.spacing_m:g} m", "above 0 m")
        if number == 1:
            continue
        if not (0 < one.step_m < math.inf and math.isfinite(one.top_m)):
            raise wrong(f"block {number} has levels every {one.step_m:g} m from {one.top_m:g} m on", "above 0 m")
        for length, first in zip(one.size_m, rasters[0].size_m, strict=True):
            if abs(length - first) > SAME * first:
                raise wrong(f"block {number} is {length:g} m long, block 1 {first:g} m", "blocks of one size")
        above = rasters[number - 2]
        if number > 2 and abs(one.top_m - above.bottom_m) > SAME * max(1.0, abs(above.bottom_m)):
            raise wrong(
                f"block {number} begins at {one.top_m:g} m, the one above ends at {above.bottom_m:g} m", "no gap"
            )


def _rfile_part(values: Any, count: int, window: Window) -> list[Field]:
    part = np.asarray(values[window])
    return [part[..., column].astype(np.float32) for column in RFILE_COLUMNS[:count]]


# ------------------------------------------------------------------------------------------------------------------ sfile


def open_sfile(
    path: str | os.PathLike[str], *, outside: str = "refuse", depth_from: str = "surface", **common: Any
) -> BlockedMedium:
    """An HDF5 file of SW4. UserError and settings as of open_rfile."""
    allowed = "an sfile of SW4"
    path = present(path, allowed)
    told = "not a complete sfile of SW4"
    file = hdf5_file(path, allowed, wrong=told)
    try:
        with refused(path, told, allowed):
            blocks, frame = _sfile_content(file, partial(_wrong, path, "sfile"))
    except BaseException:
        file.close()
        raise
    return BlockedMedium(
        path=path,
        blocks=blocks,
        ground=blocks[0].top,
        size_m=tuple((n - 1) * blocks[0].spacing_m for n in blocks[0].shape[:2]),  # type: ignore[arg-type]
        place=frame,
        outside=outside,
        depth_from=depth_from,
        **common,
    )


def _sfile_content(file: h5py.File, wrong: Callable[[str, str], UserError]) -> tuple[tuple[Block, ...], Any]:
    longitude, latitude, azimuth = _numbers(file, "Origin longitude, latitude, azimuth", 3, wrong)
    if not (abs(azimuth) <= 720 and abs(longitude) <= 360 and abs(latitude) <= 90):
        raise wrong(f"azimuth {azimuth:g}, origin {longitude:g}, {latitude:g}", "degrees of a place on the Earth")
    (count,) = _numbers(file, "ngrids", 1, wrong)
    if count != round(count) or not 1 <= count <= MOST_BLOCKS:
        raise wrong(f"ngrids = {count:g}", f"1 to {MOST_BLOCKS}")
    size_m: tuple[float, float] | None = None
    blocks: list[tuple[float, list[h5py.Dataset]]] = []
    for number in range(int(count)):
        group = _item(file, f"Material_model/grid_{number}", h5py.Group, wrong)
        (spacing,) = _numbers(group, "Horizontal grid size", 1, wrong)
        first = _item(group, SFILE_NAMES[0], h5py.Dataset, wrong)
        if first.ndim != 3 or min(first.shape) < 2 or not 0 < spacing < math.inf:
            raise wrong(
                f"{group.name} of {first.shape} points every {spacing:g} m", "2 or more along each axis, above 0 m"
            )
        data = [first, *(_item(group, name, h5py.Dataset, wrong) for name in SFILE_NAMES[1:3])]
        if "Qp" in group and "Qs" in group:
            data += [_item(group, name, h5py.Dataset, wrong) for name in SFILE_NAMES[3:]]
        if blocks and len(data) != len(blocks[0][1]):
            raise wrong(f"{group.name} has {len(data)} fields, grid_0 {len(blocks[0][1])}", "as many")
        if any(one.shape != first.shape for one in data):
            raise wrong(f"fields of {group.name} have several shapes", "one shape")
        size = tuple((n - 1) * spacing for n in first.shape[:2])
        size_m = size_m or (size[0], size[1])
        if not np.allclose(size, size_m, rtol=SAME, atol=0):
            raise wrong(
                f"{group.name} is {size[0]:g} x {size[1]:g} m, grid_0 {size_m[0]:g} x {size_m[1]:g} m", "one size"
            )
        blocks.append((spacing, data))
    assert size_m is not None
    surfaces = [_interface(file, number, size_m, wrong) for number in range(int(count) + 1)]
    made = tuple(
        Block(spacing, data[0].shape, top, bottom, partial(_sfile_part, data))
        for (spacing, data), top, bottom in zip(blocks, surfaces[:-1], surfaces[1:], strict=True)
    )
    return made, _InGrid(longitude, latitude, azimuth)


def _interface(
    file: h5py.File, number: int, size_m: tuple[float, float], wrong: Callable[[str, str], UserError]
) -> Surface:
    data = _item(file, f"Z_interfaces/z_values_{number}", h5py.Dataset, wrong)
    if data.ndim != 2 or min(data.shape) < 2:
        raise wrong(f"{data.name} of {data.shape} points", "2 or more along x and y")
    spacings = [size / (n - 1) for size, n in zip(size_m, data.shape, strict=True)]
    if abs(spacings[0] - spacings[1]) > SAME * spacings[0]:
        raise wrong(
            f"{data.name} of {data.shape} points on {size_m[0]:g} x {size_m[1]:g} m", "one spacing along x and y"
        )
    depth = np.asarray(data, np.float64)
    if not np.isfinite(depth).all():
        raise wrong(f"{data.name} is not finite everywhere", "depths in m")
    return Surface(spacings[0], depth)


def _sfile_part(data: list[h5py.Dataset], window: Window) -> list[Field]:
    return [np.asarray(one[window], np.float32) for one in data]


def _item(group: Any, name: str, kind: type, wrong: Callable[[str, str], UserError]) -> Any:
    found = group.get(name)
    if not isinstance(found, kind):
        raise wrong(f"no {kind.__name__.lower()} {name}", "a file that has it")
    return found


def _numbers(item: Any, name: str, count: int, wrong: Callable[[str, str], UserError]) -> list[float]:
    if name not in item.attrs:
        raise wrong(f"no attribute '{name}'", "a file that has it")
    values = np.ravel(np.asarray(item.attrs[name], np.float64))
    if len(values) != count or not np.isfinite(values).all():
        raise wrong(f"attribute '{name}' of {len(values)} numbers", f"{count} finite number{'s' * (count > 1)}")
    return [float(value) for value in values]


# ----------------------------------------------------------------------------------------------------------------- frames


@dataclass(frozen=True)
class _Projected:
    """The plane of a transverse Mercator projection about an origin, turned by an azimuth."""

    meridian_deg: float
    scale: float
    longitude_deg: float
    latitude_deg: float
    azimuth_deg: float

    def __call__(self, grid: Grid, x: Array, y: Array) -> tuple[Array, Array]:
        plane = TransverseMercator(self.meridian_deg, 0.0)
        east, north = plane.forward(*grid.lon_lat(x, y))
        east_0, north_0 = plane.forward(self.longitude_deg, self.latitude_deg)
        return _turned(self.scale * (north - north_0), self.scale * (east - east_0), self.azimuth_deg)


@dataclass(frozen=True)
class _InGrid:
    """The plane of the solver's grid about an origin, turned by an azimuth from true north there."""

    longitude_deg: float
    latitude_deg: float
    azimuth_deg: float

    def __call__(self, grid: Grid, x: Array, y: Array) -> tuple[Array, Array]:
        x_0, y_0 = grid.x_y(self.longitude_deg, self.latitude_deg)
        return _turned(x - x_0, y - y_0, float(grid.north_deg(x_0, y_0)) + self.azimuth_deg)


def _turned(along: Array, across: Array, degrees: float) -> tuple[Array, Array]:
    """To axes turned clockwise."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return along * cosine + across * sine, across * cosine - along * sine


def _meridian(text: str, wrong: Callable[[str, str], UserError]) -> tuple[float, float]:
    """Central meridian in degrees and scale there, of a projection as PROJ writes it."""
    words: dict[str, str] = dict(re.findall(r"\+?(\w+)=([^\s+]+)", text))
    try:
        if words.get("units", "m") != "m":
            raise ValueError
        if words.get("proj") == "tmerc":
            meridian, scale = float(words.get("lon_0", 0)), float(words.get("k", words.get("k_0", 1)))
        elif words.get("proj") == "utm":
            zone = int(words["zone"])
            if not 1 <= zone <= 60:
                raise ValueError
            meridian, scale = 6.0 * zone - 183, 0.9996
        else:
            raise ValueError
        if not (abs(meridian) <= 360 and 0.5 < scale < 2):
            raise ValueError
    except (ValueError, KeyError):
        raise wrong(
            f"projection {quoted(ascii(text)[1:-1])}", "+proj=tmerc with lon_0 and k, or +proj=utm with zone, in m"
        ) from None
    return meridian, scale


def _flat(size_m: tuple[float, float], depth_m: float) -> Surface:
    """Level everywhere."""
    return Surface(max(size_m), np.full((2, 2), depth_m))


def _wrong(path: Path, kind: str, what: str, allowed: str) -> UserError:
    return UserError(f"{path}: {kind} of SW4: {what}; allowed: {allowed}")
