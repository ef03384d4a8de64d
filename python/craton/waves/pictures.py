"""Pictures of a run, from the files in its folder: record section, snapshots of the surface, a movie of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.pages.figures import save_picture
from craton.seismology.wave_run.folder import WavesFolder, WavesRecord
from craton.seismology.wave_run.results import Seismograms, Snapshots, read_seismograms, read_snapshots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "draw_movie", "draw_record_section", "draw_snapshots"]

MOST_TRACES = 60
MOST_FRAMES = 120
MOST_SNAPSHOTS = 6
SATURATED = 0.997
"""Of all pixels; larger values, next to the source, have the last colour."""
FRAME_MS = 80


def draw(folder: WavesFolder) -> str:
    """Whatever the run's files allow, into pictures/; returns what to tell."""
    record = folder.read_record()
    try:
        folder.pictures.mkdir(exist_ok=True)
    except OSError as problem:
        raise UserError(f"{folder.pictures}: {problem.strerror}; allowed: a folder that can be made") from None
    stations = read_seismograms(folder) if folder.seismograms.is_file() else None
    drawn: list[Path] = []
    if stations is not None:
        drawn.append(draw_record_section(folder.pictures / "seismograms.png", stations, record))
    for source, name in ((folder.snapshots, "snapshots.png"), (folder.surface, "movie.gif")):
        if source.is_file():
            shots = read_snapshots(source)
            paint = draw_snapshots if name.endswith(".png") else draw_movie
            drawn.append(paint(folder.pictures / name, shots, record, stations))
    return f"{folder.pictures}: {', '.join(path.name for path in drawn)}" if drawn else ""


def draw_record_section(path: Path, found: Seismograms, record: WavesRecord) -> Path:
    """A panel for each component: traces over time, at their distances from the first source, all of a panel in one scale."""
    from matplotlib.figure import Figure

    distance = _distances_km(found, record)
    order = np.argsort(distance, kind="stable")
    order = order[np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_TRACES)).astype(int))]
    places, labels = _places(distance[order])
    gap = (places[-1] - places[0]) / max(len(places) - 1, 1) or 1.0
    figure = Figure(figsize=(14, 7), layout="constrained")
    for number, (letter, values) in enumerate(found.components().items(), 1):
        axes = figure.add_subplot(1, 3, number)
        largest = float(np.abs(values[order]).max())
        for at, trace in zip(places, values[order], strict=True):
            axes.plot(found.time_s, at + 0.9 * gap * trace / (largest or 1.0), color="black", linewidth=0.8)
        axes.set_title(f"{_NAMES[letter]}: largest {largest:.3g} m/s", fontsize=11)
        axes.set_xlabel("time (s)")
        axes.set_xlim(0, found.time_s[-1])
        if number == 1:
            axes.set_ylabel("distance from the source (km)")
        axes.set_yticks(places, labels)
    ends = axes.secondary_yaxis("right")
    ends.set_yticks(places, [found.names[n] for n in order], fontsize=8)
    figure.suptitle(f"{record.title}: velocity")
    save_picture(figure, path)
    return path


def draw_snapshots(path: Path, shots: Snapshots, record: WavesRecord, stations: Seismograms | None = None) -> Path:
    """Some of the snapshots of the surface, spread over the run; the vertical velocity if it is there, else the first field."""
    from matplotlib.figure import Figure

    name = "vz" if "vz" in shots.fields else next(iter(shots.fields))
    surface = shots.fields[name][:, 0] * (-1 if name == "vz" else 1)
    chosen = np.unique(np.linspace(0, len(surface), min(MOST_SNAPSHOTS, len(surface)) + 1).astype(int)[1:] - 1)
    figure = Figure(figsize=(13, 8.5), layout="constrained")
    columns = min(3, len(chosen))
    for number, n in enumerate(chosen, 1):
        axes = figure.add_subplot(-(-len(chosen) // columns), columns, number)
        limit = _limit(np.abs(surface[n]))
        image = axes.imshow(
            surface[n].T,
            origin="lower",
            extent=shots.extent_km,
            cmap="seismic",
            vmin=-limit,
            vmax=limit,
            aspect="equal",
        )
        axes.set_title(f"t = {shots.time_s[n]:.3g} s", fontsize=11)
        _map(axes, record, stations)
        figure.colorbar(image, ax=axes, shrink=0.8, label=_UNITS.get(name, f"{name} (Pa)"))
    figure.suptitle(f"{record.title}: {_TITLES.get(name, name)} at the surface")
    save_picture(figure, path)
    return path


def draw_movie(path: Path, shots: Snapshots, record: WavesRecord, stations: Seismograms | None = None) -> Path:
    """A GIF of the speed at the surface. Colours go up to [movie] largest_m_s, or to what the run reaches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    speed = np.sqrt(sum(np.square(shots.fields[name][:, 0]) for name in ("vx", "vy", "vz")))
    frames = np.unique(np.linspace(0, len(speed) - 1, min(len(speed), MOST_FRAMES)).astype(int))
    limit = record.config["movie"]["largest_m_s"] or _limit(speed)
    figure = Figure(figsize=(6.4, 5.6), dpi=90, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    image = axes.imshow(
        np.sqrt(speed[0].T / limit),
        origin="lower",
        extent=shots.extent_km,
        cmap="inferno",
        vmin=0,
        vmax=1,
        aspect="equal",
    )
    bar = figure.colorbar(image, ax=axes, label="speed (m/s)", extend="max")
    ticks = np.array([0, 0.01, 0.05, 0.2, 0.5, 1])
    bar.set_ticks(np.sqrt(ticks), labels=[f"{limit * part:.2g}" for part in ticks])
    _map(axes, record, stations, light=True)

    def painted(values: NDArray[np.float32]) -> Image.Image:
        image.set_data(values)
        canvas.draw()
        return Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())

    ramp = np.broadcast_to(np.linspace(0, 1, 256, dtype=np.float32), (64, 256))
    colours = painted(ramp).quantize(256)  # of all frames
    pictures = []
    for n in frames:
        axes.set_title(f"{record.title}: t = {shots.time_s[n]:.2f} s", fontsize=11)
        pictures.append(painted(np.sqrt(speed[n].T / limit)).quantize(palette=colours, dither=Image.Dither.NONE))
    try:
        pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=FRAME_MS, loop=0)
    except OSError as problem:
        raise UserError(f"picture {path}: cannot be written: {problem}; allowed: a folder with room") from None
    return path


_NAMES = {"Z": "up", "N": "north", "E": "east", "1": "x", "2": "y"}
_TITLES = {"vz": "vertical velocity (up)", "vx": "velocity along x", "vy": "velocity along y"}
_UNITS = {"vz": "m/s, up", "vx": "m/s", "vy": "m/s"}


def _map(axes: Axes, record: WavesRecord, stations: Seismograms | None, *, light: bool = False) -> None:
    """Axes, stations and sources; y to the right, x upwards, as on a map where x points north."""
    north = record.config["grid"]["azimuth_deg"]
    axes.set_xlabel("y (km)" if north else "east, y (km)")
    axes.set_ylabel("x (km)" if north else "north, x (km)")
    ink: dict[str, Any] = {"markeredgecolor": "white" if light else "black", "markeredgewidth": 0.6}
    limits = axes.get_xlim(), axes.get_ylim()
    if stations is not None:
        x, y = 1e-3 * stations.position_m[:, 0], 1e-3 * stations.position_m[:, 1]
        axes.plot(y, x, "^", color="dodgerblue", markersize=5, linestyle="none", **ink)
        if len(stations.names) <= 12:
            for name, at_x, at_y in zip(stations.names, x, y, strict=True):
                axes.annotate(
                    name,
                    (at_y, at_x),
                    (3, 3),
                    textcoords="offset points",
                    fontsize=7,
                    color="white" if light else "black",
                )
    if record.sources_m:
        at = 1e-3 * np.asarray(record.sources_m)
        axes.plot(at[:, 1], at[:, 0], "*", color="gold", markersize=11 if len(at) < 20 else 3, linestyle="none", **ink)
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])


def _distances_km(found: Seismograms, record: WavesRecord) -> NDArray[np.float64]:
    """Along the surface, from the first source; without one, from the grid's corner."""
    source = np.asarray(record.sources_m[0] if record.sources_m else [0.0, 0.0, 0.0])
    return 1e-3 * np.hypot(*(found.position_m[:, d] - source[d] for d in (0, 1)))


def _places(distance_km: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[str]]:
    """Where traces are drawn, at their distances, or in turn where some of these are nearly the same; and the axis's words."""
    gaps = np.diff(distance_km)
    evenly = not len(gaps) or gaps.min() <= 0.2 * gaps.mean()
    places = np.arange(len(distance_km), dtype=float) if evenly else distance_km
    return places, [f"{km:.3g}" for km in distance_km]


def _limit(values: NDArray[np.float32]) -> float:
    return float(np.quantile(values, SATURATED)) or float(values.max()) or 1.0
