"""Seismograms and snapshots of a wave run that are Datasets: as ObsPy's Stream, and as the pictures of its report.

Values are the Dataset's own, so what has been selected in time, or filtered, is what one sees. Sources and absorbing layers are
those of the run's folder.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray
from numpy.typing import NDArray

from craton.errors import UserError
from craton.seismology.files import need_obspy
from craton.seismology.wave_run.folder import WavesFolder, WavesRecord
from craton.seismology.wave_run.results import Seismograms, Snapshots, read_seismograms
from craton.waves.labelled import COMPONENTS
from craton.waves.metadata import stream_of
from craton.waves.pictures import DIRECTIONS, record_section_figure, snapshots_figure
from craton.xarray.models import told

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["fields_of", "has_seismograms", "record_section", "snapshot", "station", "stream"]

DIMENSIONS = ("station", "component", "time")
FIELDS = ("time", "z", "y", "x")
UNEVEN = 1e-6
"""Of a step in time."""
MOST_NAMES = 6


def has_seismograms(dataset: xarray.Dataset) -> bool:
    """Whether there is velocity over station, component and time."""
    return "velocity" in dataset.data_vars and set(dataset.velocity.dims) == set(DIMENSIONS)


def fields_of(dataset: xarray.Dataset) -> list[str]:
    """Names of variables over time, z, y and x, whichever points of the grid these are of."""
    return [str(name) for name, one in dataset.data_vars.items() if sorted(map(_axis, one.dims)) == sorted(FIELDS)]


def station(dataset: xarray.Dataset, name: str) -> xarray.Dataset:
    """CratonAccessor.station."""
    found = _seismograms(dataset, "station")
    if name not in found.names:
        near = difflib.get_close_matches(name, found.names, MOST_NAMES, 0.3) or found.names[:MOST_NAMES]
        more = f" ... ({len(found.names)} in all)" if len(found.names) > len(near) else ""
        raise UserError(f"ds.craton.station: {name!r} is not there; allowed: {', '.join(near)}{more}")
    at = found.names.index(name)
    series = {
        letter: ("time", values[at], {"units": "m/s", "long_name": f"velocity {_along(letter)}"})
        for letter, values in found.components().items()
    }
    coordinates: dict[str, Any] = {"time": dataset.time, "station": name}
    for axis, value in zip(COMPONENTS, found.position_m[at], strict=True):
        coordinates[axis] = (
            (),
            float(value),
            {"units": "m", "long_name": f"position along {axis} from the grid's corner"},
        )
    for degrees in ("longitude", "latitude"):
        if degrees in dataset.coords:
            coordinates[degrees] = ((), float(dataset[degrees].values[at]), dict(dataset[degrees].attrs))
    return xarray.Dataset(series, coordinates, dict(dataset.attrs))


def stream(dataset: xarray.Dataset) -> Any:
    """CratonAccessor.stream."""
    need_obspy("ds.craton.stream")
    return stream_of(_seismograms(dataset, "stream"), str(dataset.time.attrs.get("origin_time", "")))


def record_section(dataset: xarray.Dataset, run: str | os.PathLike[str] | None = None) -> Figure:
    """CratonAccessor.record_section."""
    found = _seismograms(dataset, "record_section")
    return record_section_figure(found, _folder(dataset, run, "record_section").read_record())


def snapshot(
    dataset: xarray.Dataset,
    times_s: float | Sequence[float],
    field: str = "",
    run: str | os.PathLike[str] | None = None,
) -> Figure:
    """CratonAccessor.snapshot."""
    call = "snapshot"
    names = fields_of(dataset)
    if not names:
        raise UserError(
            f"ds.craton.{call}: {told(dataset)}; allowed: snapshots.h5 or surface.h5 of a wave run, with fields over time, z, y, x"
        )
    if field and field not in names:
        raise UserError(f"ds.craton.{call}: field {field!r}; allowed: {', '.join(names)}")
    name = field or ("vz" if "vz" in names else names[0])
    folder = _folder(dataset, run, call)
    record = folder.read_record()
    shots, z_m = _snapshots(dataset[name], record, call)
    first, last = (float(shots.time_s[end]) for end in (0, -1))
    times = [float(at) for at in np.atleast_1d(times_s)]
    for at in times:
        if not first - shots.dt_s <= at <= last + shots.dt_s:
            raise UserError(f"ds.craton.{call}: {at:g} s is outside the run; allowed: {first:.4g} to {last:.4g} s")
    stations = read_seismograms(folder) if folder.seismograms.is_file() else None
    return snapshots_figure(shots, record, stations, times_s=times, z_m=z_m)


# ------------------------------------------------------------------------------------------------------------- the Dataset


def _seismograms(dataset: xarray.Dataset, call: str) -> Seismograms:
    """UserError for a Dataset that has none, or not all that a seismogram needs."""
    allowed = "seismograms.h5 of a wave run"
    if not has_seismograms(dataset):
        raise UserError(
            f"ds.craton.{call}: {told(dataset)}; allowed: {allowed}, with velocity over {', '.join(DIMENSIONS)}"
        )
    if "coordinates" not in dataset or "station" not in dataset.coords:
        lost = "coordinates" if "coordinates" not in dataset else "station"
        raise UserError(f"ds.craton.{call}: no variable {lost!r}, which has the stations; allowed: {allowed}, with it")
    missing = set(COMPONENTS) - set(map(str, dataset.component.values))
    if missing:
        raise UserError(
            f"ds.craton.{call}: no component {', '.join(sorted(missing))}; allowed: {', '.join(COMPONENTS)}"
        )
    velocity = dataset.velocity.sel(component=list(COMPONENTS)).transpose(*DIMENSIONS)
    position = dataset.coordinates.sel(component=list(COMPONENTS)).transpose("station", "component")
    first_s, dt_s = _times(dataset.time, call)
    placed = None
    if {"longitude", "latitude"} <= set(dataset.coords):
        placed = np.stack([dataset.longitude.values, dataset.latitude.values], axis=1).astype(np.float64)
    return Seismograms(
        [str(name) for name in dataset.station.values],
        np.asarray(position.values, np.float64),
        placed,
        np.asarray(velocity.values, np.float32),
        first_s,
        dt_s,
        _attribute(dataset.velocity, "azimuth_deg", call),
    )


def _snapshots(field: xarray.DataArray, record: WavesRecord, call: str) -> tuple[Snapshots, float]:
    """A field as its file has it, and the depth of its first plane, m."""
    order = sorted(field.dims, key=lambda name: FIELDS.index(_axis(name)))
    field = field.transpose(*order)
    h_m = _attribute(field, "h_m", call)
    spacing = np.broadcast_to(field.attrs.get("spacing_xyz_m", np.nan), 3)
    if not np.isfinite(spacing).all():
        raise UserError(f"ds.craton.{call}: {field.name} has no attribute spacing_xyz_m; allowed: that of the file")
    a, b, c = (round(float(by) / h_m) for by in spacing)
    wanted = tuple(math.ceil(cells / by) for cells, by in zip(record.cells[1::-1], (b, a), strict=True))
    if field.shape[2:] != wanted:
        points = " x ".join(map(str, field.shape[2:]))
        raise UserError(
            f"ds.craton.{call}: {points} points along y and x; allowed: {wanted[0]} x {wanted[1]}, all of the plane"
        )
    first_s, dt_s = _times(field[order[0]], call)
    depth_m = float(field[order[1]].values[0])
    plane_m = 0.0 if depth_m < h_m * max(c, 1) else depth_m
    values = np.asarray(field.values, np.float32)
    return Snapshots({str(field.name): values}, first_s, dt_s, h_m, (a, b, c)), plane_m


def _times(time: xarray.DataArray, call: str) -> tuple[float, float]:
    """The first sample and the step, s. UserError where steps differ."""
    values: NDArray[np.float64] = np.asarray(time.values, np.float64)
    if len(values) < 2:
        raise UserError(f"ds.craton.{call}: {len(values)} samples in time; allowed: at least 2")
    steps = np.diff(values)
    dt_s = float(values[-1] - values[0]) / len(steps)
    if not dt_s > 0 or np.abs(steps - dt_s).max() > UNEVEN * dt_s:
        raise UserError(
            f"ds.craton.{call}: steps in time from {steps.min():.4g} to {steps.max():.4g} s; allowed: all of one length"
        )
    return float(values[0]), dt_s


def _attribute(values: xarray.DataArray, name: str, call: str) -> float:
    if name not in values.attrs:
        raise UserError(
            f"ds.craton.{call}: {values.name} has no attribute {name}; allowed: that of the file "
            "(xarray.set_options(keep_attrs=True) keeps it)"
        )
    return float(values.attrs[name])


def _folder(dataset: xarray.Dataset, run: str | os.PathLike[str] | None, call: str) -> WavesFolder:
    """Of the run that a Dataset is from."""
    if run is not None:
        return WavesFolder(run)
    source = dataset.encoding.get("source")
    if not source:
        raise UserError(
            f"ds.craton.{call}: the Dataset does not say which file it is from; allowed: run=..., the folder of its run"
        )
    return WavesFolder(Path(source).parent)


def _axis(name: Any) -> str:
    """time, z, y or x, of time_stress and x_face too."""
    return str(name).partition("_")[0]


def _along(letter: str) -> str:
    direction = DIRECTIONS[letter]
    return f"along {direction}" if direction in COMPONENTS else f"to {direction}" if direction != "up" else "up"
