"""Pictures of a run, from what is in its folder: record section, map, snapshots of the surface, a movie of it."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image, features

from craton.errors import UserError
from craton.pages.figures import Figures, new_figure
from craton.pages.maps import label_axes
from craton.pages.style import ACCENT, INK, OBSERVED, drawing, styled
from craton.seismology.ground.topography import Topography
from craton.seismology.wave_run.config import build
from craton.seismology.wave_run.config_tables import BoundaryConfig
from craton.seismology.wave_run.folder import WavesFolder, WavesRecord
from craton.seismology.wave_run.refinement import COARSER
from craton.seismology.wave_run.results import Seismograms, Snapshots, read_seismograms, read_snapshots
from craton.seismology.wave_run.setup import grid_of, topography_of

__all__ = ["figures", "map_figure", "movie", "record_section_figure", "snapshots_figure"]

MOST_TRACES = 60
MOST_FRAMES = 120
MOST_SNAPSHOTS = 6
MOST_NAMES = 12
"""Stations of a map, at most, that have names."""
LEAST_HEIGHT = 1 / 25
"""Of a record section, that its largest trace has."""
MOST_LABELS = 36
"""Beside a record section; each has the names of stations that are too close to have their own."""
MOST_TOGETHER = 3
SAME_DISTANCE = 0.05
"""Stations whose distances differ by such a part are at one distance."""
SAME_AZIMUTH_DEG = 5.0
KM_PER_DEG = 111.195
FAR_DEG = 10.0
"""From here on distances are in degrees."""
SATURATED = 0.997
"""Share of pixels within the colours; larger values, next to the source, have the last one."""
FRAME_MS = 80
WEBP_QUALITY = 85
WEBP_METHOD = 2
"""4, the usual one, makes files that are a tenth smaller in twice the time."""
STAR = "#ffd34d"
Extent = tuple[float, float, float, float]
"""y from, to, x from, to, km"""


def topography_of_run(folder: WavesFolder, record: WavesRecord) -> Topography | None:
    """Read once more; None for flat ground, or where its file is no longer there."""
    try:
        config = build(record.config, folder.config)
        return topography_of(config, grid_of(config))
    except UserError:
        return None


def figures(folder: str | os.PathLike[str]) -> Figures:
    """map, and as far as the run has recorded them seismograms and snapshots. Not collective.

    UserError for a folder without the record of a run that has ended.
    """
    place = WavesFolder(folder)
    record = place.read_record()
    stations = read_seismograms(place) if place.seismograms.is_file() else None
    found = Figures(map=map_figure(record, stations, topography_of_run(place, record)))
    if stations is not None:
        found["seismograms"] = record_section_figure(stations, record)
    if place.snapshots.is_file():
        found["snapshots"] = snapshots_figure(read_snapshots(place.snapshots), record, stations)
    return found


@drawing
def record_section_figure(found: Seismograms, record: WavesRecord) -> Figure:
    """A panel for each component: traces over time, where they are from the first source, all of a panel in one scale.

    Up the axis goes the distance along the surface. Stations of one distance lie by their azimuths from the source, and those below
    each other by their depths.
    """
    places, words = _places(found, record)
    order = np.argsort(places, kind="stable")
    order = order[np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_TRACES)).astype(int))]
    places = places[order]
    height = _trace_height(places)
    figure = new_figure(10.0, float(np.clip(2.2 + 0.35 * len(order), 4.0, 8.0)))
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (letter, values) in zip(panels, found.components().items(), strict=True):
        largest = float(np.abs(values[order]).max())
        for at, trace in zip(places, values[order], strict=True):
            axes.plot(found.time_s, at + height * trace / (largest or 1.0), color=OBSERVED, linewidth=0.8)
        axes.set(title=f"{DIRECTIONS[letter]}: largest {largest:.3g} m/s", xlabel="time, s", xlim=(0, found.time_s[-1]))
    panels[0].set_ylabel(words)
    panels[0].set_ylim(places[0] - 1.1 * height, places[-1] + 1.1 * height)
    groups = _apart(places, (places[-1] - places[0] + 2.2 * height) / MOST_LABELS)
    ends = panels[-1].secondary_yaxis("right")
    words_of = [", ".join(found.names[n] for n in order[group][:MOST_TOGETHER]) for group in groups]
    ends.set_yticks([float(places[group[0]]) for group in groups], words_of, fontsize=8)
    return figure


@drawing
def map_figure(
    record: WavesRecord, stations: Seismograms | None = None, topography: Topography | None = None
) -> Figure:
    """Sources and stations from above; elevations where the ground's surface is no plane."""
    figure = new_figure(6.0, 4.8)
    axes = figure.subplots()
    x, y = (1e-3 * record.spacing_m * cells for cells in record.cells[:2])
    if topography is not None and np.ptp(topography.surface_m) > 0:
        elevation = topography.z0_elevation_m - topography.surface_m
        image = axes.imshow(elevation, origin="lower", extent=(0.0, y, 0.0, x), cmap="gist_earth", alpha=0.6)
        figure.colorbar(image, ax=axes, label="elevation, m")
    axes.set(xlim=(0.0, y), ylim=(0.0, x), aspect="equal")
    _draw_places(axes, record, stations)
    return figure


@drawing
def snapshots_figure(
    shots: Snapshots,
    record: WavesRecord,
    stations: Seismograms | None = None,
    *,
    times_s: Sequence[float] = (),
    z_m: float | None = None,
) -> Figure:
    """Some of the snapshots of the surface, spread over the run, without absorbing layers, on one scale for all of the run.

    The vertical velocity if it is there, else the first field. times_s: those next to these times instead. z_m: depth of their
    plane, which the title says; that of [snapshots] where it is not given.
    """
    name = "vz" if "vz" in shots.fields else next(iter(shots.fields))
    rows, columns, extent = _inner(shots, record)
    surface = shots.fields[name][:, 0, rows, columns] * (-1 if name == "vz" else 1)
    if len(times_s):
        chosen = np.unique([np.abs(shots.time_s - at).argmin() for at in times_s])
    else:
        chosen = np.unique(np.linspace(0, len(surface), min(MOST_SNAPSHOTS, len(surface)) + 1).astype(int)[1:] - 1)
    limit = _limit(np.abs(surface))
    across = min(3, len(chosen))
    figure = new_figure(3.4 * across + 0.8, 3.0 * -(-len(chosen) // across) + 0.3)
    places = np.ravel(figure.subplots(-(-len(chosen) // across), across, squeeze=False))
    for axes in places[len(chosen) :]:
        axes.set_axis_off()
    for axes, n in zip(places, chosen, strict=False):
        span: dict[str, Any] = {"vmin": -limit, "vmax": limit, "cmap": "seismic"}
        image = axes.imshow(surface[n].T, origin="lower", extent=extent, aspect="equal", **span)
        axes.set_title(f"t = {shots.time_s[n]:.3g} s")
        _draw_places(axes, record, stations)
    label = _UNITS.get(name, f"{name}, Pa")
    figure.colorbar(image, ax=list(places), shrink=0.8, label=label, extend="both")
    z_m = record.config["snapshots"].get("z_m", 0.0) if z_m is None else z_m
    figure.suptitle(f"{_TITLES.get(name, name)} at {f'z = {z_m:g} m' if z_m else 'the surface'}", weight="bold")
    return figure


def movie(shots: Snapshots, record: WavesRecord, stations: Seismograms | None = None) -> bytes:
    """A GIF of the speed at the surface, without absorbing layers.

    Colours go up to [movie] largest_m_s, or to what the run reaches.
    """
    return gif_of(movie_frames(shots, record, stations))


def gif_of(frames: Sequence[Image.Image]) -> bytes:
    """A file that everything shows."""
    buffer = io.BytesIO()
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:], duration=FRAME_MS, loop=0)
    return buffer.getvalue()


def smallest_movie(frames: Sequence[Image.Image], gif: bytes) -> bytes:
    """The movie as a page has it: WebP, which browsers have shown since 2020, a quarter of the GIF's size; else that GIF.

    Waves are smooth, which suits WebP; a GIF stores each of their colours. Few builds of Pillow lack WebP.
    """
    if not features.check("webp"):
        return gif
    buffer = io.BytesIO()
    how: dict[str, Any] = {"quality": WEBP_QUALITY, "method": WEBP_METHOD, "duration": FRAME_MS, "loop": 0}
    coloured = [frame.convert("RGB") for frame in frames]
    coloured[0].save(buffer, "WEBP", save_all=True, append_images=coloured[1:], **how)
    return min(buffer.getvalue(), gif, key=len)


def movie_frames(shots: Snapshots, record: WavesRecord, stations: Seismograms | None = None) -> list[Image.Image]:
    """The pictures of `movie`, on one palette."""
    rows, columns, extent = _inner(shots, record)
    speed = np.sqrt(sum(np.square(shots.fields[name][:, 0, rows, columns]) for name in ("vx", "vy", "vz")))
    frames = np.unique(np.linspace(0, len(speed) - 1, min(len(speed), MOST_FRAMES)).astype(int))
    limit = record.config["movie"]["largest_m_s"] or _limit(speed)
    figure = _frame(speed.shape[1:], extent, record, stations, limit)
    axes, canvas = figure.axes[0], FigureCanvasAgg(figure)
    image = axes.images[0]

    def painted(values: NDArray[np.float32]) -> Image.Image:
        image.set_data(values)
        canvas.draw()  # type: ignore[no-untyped-call]  # of matplotlib
        return Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())  # type: ignore[no-untyped-call]

    ramp = np.broadcast_to(np.linspace(0, 1, 256, dtype=np.float32), (64, 256))
    colours = painted(ramp).quantize(256)  # of all frames
    pictures = []
    for n in frames:
        with styled():
            axes.set_title(f"t = {shots.time_s[n]:.2f} s")
        pictures.append(painted(np.sqrt(speed[n].T / limit)).quantize(palette=colours, dither=Image.Dither.NONE))
    return pictures


@drawing
def _frame(
    shape: tuple[int, int], extent: Extent, record: WavesRecord, stations: Seismograms | None, limit: float
) -> Figure:
    """What all frames share: axes, scale, stations and sources; its image has colours from 0 to 1, of a square root."""
    figure = new_figure(6.4, 5.6)
    figure.set_dpi(90)
    axes = figure.add_subplot()
    span: dict[str, Any] = {"vmin": 0, "vmax": 1, "cmap": "inferno"}
    image = axes.imshow(np.zeros(shape[::-1]), origin="lower", extent=extent, aspect="equal", **span)
    bar = figure.colorbar(image, ax=axes, label="speed, m/s", extend="max")
    ticks = np.array([0, 0.01, 0.05, 0.2, 0.5, 1])
    bar.set_ticks(np.sqrt(ticks), labels=[f"{limit * part:.2g}" for part in ticks])
    _draw_places(axes, record, stations, light=True)
    return figure


DIRECTIONS = {"Z": "up", "N": "north", "E": "east", "1": "x", "2": "y"}
"""Of a seismogram's components."""
_TITLES = {"vz": "vertical velocity (up)", "vx": "velocity along x", "vy": "velocity along y"}
_UNITS = {"vz": "m/s, up", "vx": "m/s", "vy": "m/s"}


def _draw_places(axes: Axes, record: WavesRecord, stations: Seismograms | None, *, light: bool = False) -> None:
    """Axes, stations and sources; y to the right, x upwards, as on a map where x points north."""
    label_axes(axes, record.config["grid"]["azimuth_deg"])
    ink = "white" if light else INK
    edge: dict[str, Any] = {"markeredgecolor": ink, "markeredgewidth": 0.6, "linestyle": "none"}
    limits = axes.get_xlim(), axes.get_ylim()
    if stations is not None:
        x, y = 1e-3 * stations.position_m[:, 0], 1e-3 * stations.position_m[:, 1]
        axes.plot(y, x, "^", color=ACCENT, markersize=5, **edge)
        if len(stations.names) <= MOST_NAMES:
            for name, at in zip(stations.names, zip(y, x, strict=True), strict=True):
                axes.annotate(name, at, (3, 3), textcoords="offset points", fontsize=7, color=ink)
    if record.sources_m:
        points = 1e-3 * np.asarray(record.sources_m)
        axes.plot(points[:, 1], points[:, 0], "*", color=STAR, markersize=11 if len(points) < 20 else 3, **edge)
    axes.set(xlim=limits[0], ylim=limits[1])


def _places(found: Seismograms, record: WavesRecord) -> tuple[NDArray[np.float64], str]:
    """Where traces are drawn, and what the axis says. Without a source, from the grid's corner."""
    source = np.asarray(record.sources_m[0] if record.sources_m else [0.0, 0.0, 0.0])
    away = found.position_m - source
    distance_km, depth_km = 1e-3 * np.hypot(away[:, 0], away[:, 1]), 1e-3 * found.position_m[:, 2]
    if len(distance_km) > 1 and np.ptp(distance_km) <= SAME_DISTANCE * distance_km.max():
        azimuth = np.degrees(np.arctan2(away[:, 1], away[:, 0])) + found.azimuth_deg
        middle = np.degrees(np.angle(np.exp(1j * np.radians(azimuth)).mean()))
        azimuth = middle + (azimuth - middle + 180) % 360 - 180  # no jump within the stations
        if np.ptp(azimuth) > SAME_AZIMUTH_DEG and distance_km.max() > 0:
            return azimuth, f"azimuth from the source, degrees; all at {distance_km.mean():.4g} km"
        if np.ptp(depth_km) > 0:
            return depth_km, f"depth, km; all at {distance_km.mean():.4g} km from the source"
    if found.longitude_latitude_deg is not None and distance_km.max() > FAR_DEG * KM_PER_DEG:
        return distance_km / KM_PER_DEG, "distance from the source, degrees"
    return distance_km, "distance from the source, km"


def _trace_height(places: NDArray[np.float64]) -> float:
    """Of the largest motion. Most traces stay clear of the next one; where they are crowded they may cross."""
    span = float(places[-1] - places[0])
    if span == 0:
        return 1.0
    return max(0.9 * float(np.median(np.diff(places))), LEAST_HEIGHT * span)


def _apart(places: NDArray[np.float64], least: float) -> list[list[int]]:
    """Groups of ascending places, whose first ones are so far apart that each has room for its names."""
    groups: list[list[int]] = []
    for n, place in enumerate(places):
        if not groups or place - places[groups[-1][0]] >= least:
            groups.append([n])
        else:
            groups[-1].append(n)
    return groups


def _inner(shots: Snapshots, record: WavesRecord) -> tuple[slice, slice, Extent]:
    """Rows (y) and columns (x) of snapshots that have no cell of an absorbing layer, and their extent in km."""
    boundary = BoundaryConfig(**record.config["boundary"])
    width = boundary.layer_cells if boundary.absorbing != "none" else 0
    width *= COARSER if record.lower_cells else 1
    _, _, ny, nx = next(iter(shots.fields.values())).shape
    parts, ends = [], []
    for n, stride, cells in ((ny, shots.stride[1], record.cells[1]), (nx, shots.stride[0], record.cells[0])):
        first, last = -(-width // stride), (cells - width) // stride
        if last <= first:  # coarser than what lies between the layers
            first, last = 0, n
        parts.append(slice(first, last))
        ends += [1e-3 * shots.h_m * stride * first, 1e-3 * shots.h_m * stride * last]
    return parts[0], parts[1], (ends[0], ends[1], ends[2], ends[3])


def _limit(values: NDArray[np.float32]) -> float:
    return float(np.quantile(values, SATURATED)) or float(values.max()) or 1.0
