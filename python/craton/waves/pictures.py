"""Pictures of a run, from what is in its folder: record section, map, snapshots of the surface, a movie of it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from craton.pages.figures import new_figure
from craton.pages.maps import label_axes
from craton.pages.style import ACCENT, INK, OBSERVED, drawing, styled
from craton.seismology.wave_run.folder import WavesRecord
from craton.seismology.wave_run.results import Seismograms, Snapshots

__all__ = ["map_figure", "movie", "record_section_figure", "snapshots_figure"]

MOST_TRACES = 60
MOST_FRAMES = 120
MOST_SNAPSHOTS = 6
MOST_NAMES = 12
"""Stations of a map, at most, that have names."""
SATURATED = 0.997
"""Share of pixels within the colours; larger values, next to the source, have the last one."""
FRAME_MS = 80
STAR = "#ffd34d"


@drawing
def record_section_figure(found: Seismograms, record: WavesRecord) -> Figure:
    """A panel for each component: traces over time, at their distances from the first source, all of a panel in one scale."""
    distance = _distances_km(found, record)
    order = np.argsort(distance, kind="stable")
    order = order[np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_TRACES)).astype(int))]
    places, labels = _places(distance[order])
    gap = (places[-1] - places[0]) / max(len(places) - 1, 1) or 1.0
    figure = new_figure(10.0, float(np.clip(2.2 + 0.35 * len(order), 4.0, 8.0)))
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (letter, values) in zip(panels, found.components().items(), strict=True):
        largest = float(np.abs(values[order]).max())
        for at, trace in zip(places, values[order], strict=True):
            axes.plot(found.time_s, at + 0.9 * gap * trace / (largest or 1.0), color=OBSERVED, linewidth=0.8)
        axes.set(title=f"{_NAMES[letter]}: largest {largest:.3g} m/s", xlabel="time, s", xlim=(0, found.time_s[-1]))
        axes.set_yticks(places, labels)
    panels[0].set_ylabel("distance from the source, km")
    ends = panels[-1].secondary_yaxis("right")
    ends.set_yticks(places, [found.names[n] for n in order], fontsize=8)
    return figure


@drawing
def map_figure(record: WavesRecord, stations: Seismograms | None = None) -> Figure:
    """Sources and stations from above."""
    figure = new_figure(6.0, 4.8)
    axes = figure.subplots()
    x, y = (1e-3 * record.spacing_m * cells for cells in record.cells[:2])
    axes.set(xlim=(0.0, y), ylim=(0.0, x), aspect="equal")
    _draw_places(axes, record, stations)
    return figure


@drawing
def snapshots_figure(shots: Snapshots, record: WavesRecord, stations: Seismograms | None = None) -> Figure:
    """Some of the snapshots of the surface, spread over the run; the vertical velocity if it is there, else the first field."""
    name = "vz" if "vz" in shots.fields else next(iter(shots.fields))
    surface = shots.fields[name][:, 0] * (-1 if name == "vz" else 1)
    chosen = np.unique(np.linspace(0, len(surface), min(MOST_SNAPSHOTS, len(surface)) + 1).astype(int)[1:] - 1)
    columns = min(3, len(chosen))
    figure = new_figure(3.6 * columns, 3.0 * -(-len(chosen) // columns) + 0.3)
    places = np.ravel(figure.subplots(-(-len(chosen) // columns), columns, squeeze=False))
    for axes in places[len(chosen) :]:
        axes.set_axis_off()
    for axes, n in zip(places, chosen, strict=False):
        limit = _limit(np.abs(surface[n]))
        span: dict[str, Any] = {"vmin": -limit, "vmax": limit, "cmap": "seismic"}
        image = axes.imshow(surface[n].T, origin="lower", extent=shots.extent_km, aspect="equal", **span)
        axes.set_title(f"t = {shots.time_s[n]:.3g} s")
        _draw_places(axes, record, stations)
        figure.colorbar(image, ax=axes, shrink=0.8, label=_UNITS.get(name, f"{name}, Pa"))
    figure.suptitle(f"{_TITLES.get(name, name)} at the surface", weight="bold")
    return figure


def movie(shots: Snapshots, record: WavesRecord, stations: Seismograms | None = None) -> bytes:
    """A GIF of the speed at the surface. Colours go up to [movie] largest_m_s, or to what the run reaches."""
    speed = np.sqrt(sum(np.square(shots.fields[name][:, 0]) for name in ("vx", "vy", "vz")))
    frames = np.unique(np.linspace(0, len(speed) - 1, min(len(speed), MOST_FRAMES)).astype(int))
    limit = record.config["movie"]["largest_m_s"] or _limit(speed)
    figure = _frame(shots, record, stations, limit)
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
    buffer = io.BytesIO()
    pictures[0].save(buffer, "GIF", save_all=True, append_images=pictures[1:], duration=FRAME_MS, loop=0)
    return buffer.getvalue()


@drawing
def _frame(shots: Snapshots, record: WavesRecord, stations: Seismograms | None, limit: float) -> Figure:
    """What all frames share: axes, scale, stations and sources; its image has colours from 0 to 1, of a square root."""
    figure = new_figure(6.4, 5.6)
    figure.set_dpi(90)
    axes = figure.add_subplot()
    _, _, ny, nx = shots.fields["vx"].shape
    span: dict[str, Any] = {"vmin": 0, "vmax": 1, "cmap": "inferno"}
    image = axes.imshow(np.zeros((nx, ny)), origin="lower", extent=shots.extent_km, aspect="equal", **span)
    bar = figure.colorbar(image, ax=axes, label="speed, m/s", extend="max")
    ticks = np.array([0, 0.01, 0.05, 0.2, 0.5, 1])
    bar.set_ticks(np.sqrt(ticks), labels=[f"{limit * part:.2g}" for part in ticks])
    _draw_places(axes, record, stations, light=True)
    return figure


_NAMES = {"Z": "up", "N": "north", "E": "east", "1": "x", "2": "y"}
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


def _distances_km(found: Seismograms, record: WavesRecord) -> NDArray[np.float64]:
    """Distances of stations along the surface, from the first source; without one, from the grid's corner."""
    source = np.asarray(record.sources_m[0] if record.sources_m else [0.0, 0.0, 0.0])
    away = found.position_m - source
    return np.asarray(1e-3 * np.hypot(away[:, 0], away[:, 1]))


def _places(distance_km: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[str]]:
    """Where traces are drawn, at their distances, or in turn where some of these are nearly the same; and the axis's words."""
    gaps = np.diff(distance_km)
    evenly = not len(gaps) or gaps.min() <= 0.2 * gaps.mean()
    places = np.arange(len(distance_km), dtype=float) if evenly else distance_km
    return places, [f"{km:.3g}" for km in distance_km]


def _limit(values: NDArray[np.float32]) -> float:
    return float(np.quantile(values, SATURATED)) or float(values.max()) or 1.0
