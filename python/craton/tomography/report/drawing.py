"""`craton tomography slice`, `section`, `profile` and `fit`: what a run has found, as pictures or as tables of numbers.

Each function returns a picture and its numbers; `save` writes one or the other, as the file's ending says. Nothing is
collective. Colour scales are symmetric and in percent.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from numpy.typing import NDArray

from craton._craton import ModelBasis
from craton.errors import UserError
from craton.pages import maps, projection
from craton.pages.figures import new_figure, save_picture
from craton.pages.style import ACCENT, INK, MUTED, OBSERVED, SECOND, drawing
from craton.runs.words import place_text
from craton.seismology.geometry.latitudes import geocentric_deg, geographic_deg
from craton.tomography.data.paths import geocentric_vectors
from craton.tomography.model.export import write_csv
from craton.tomography.model.fields import Fields, colour_limit, quantity_of
from craton.tomography.results import Results, waveform_reduction

__all__ = ["Drawing", "PICTURES", "fit", "parse_place", "profile", "save", "section", "slices"]

f64 = NDArray[np.float64]
Place: TypeAlias = tuple[float, float]
"""Geographic latitude and longitude, degrees."""

PICTURES = (".png", ".pdf", ".svg")
MAP_STEP_DEG = 1.0
LINE_COLOURS = (ACCENT, SECOND, "#6aa57a", "#9a7fb5", "#c7a252", "#7fa7bf")
MOST_MAPS = 24
TRACES: tuple[dict[str, Any], ...] = (
    {"color": OBSERVED, "linewidth": 2.2, "alpha": 0.8},
    {"color": SECOND, "linewidth": 1.0, "linestyle": "--"},
    {"color": ACCENT, "linewidth": 1.2},
)
"""Lines of data, starting model and final model."""


@dataclass(frozen=True)
class Drawing:
    """A picture, and the numbers in it."""

    figure: Figure
    header: tuple[str, ...]
    columns: tuple[Any, ...]
    """As many as the header has names; numbers or text, all of one length."""


def save(drawing: Drawing, path: Path) -> Path:
    """.csv holds the numbers, .png, .pdf and .svg the picture. UserError for another ending, or a file that cannot be written."""
    ending = path.suffix.lower()
    if ending == ".csv":
        write_csv(path, drawing.header, drawing.columns)
    elif ending in PICTURES:
        save_picture(drawing.figure, path)
    else:
        raise UserError(f"--output {path}: ends in '{path.suffix}'; allowed: {', '.join(PICTURES)} or .csv")
    return path


def parse_place(text: str, option: str) -> Place:
    """LAT,LON in degrees; the longitude found is in [-180, 180)."""
    try:
        latitude, longitude = (float(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"{option} {text!r}; allowed: LAT,LON in degrees, as 19.4,-155.3") from None
    if not (-90.0 <= latitude <= 90.0 and -180.0 <= longitude <= 360.0):
        raise UserError(f"{option} {text!r}; allowed: latitude from -90 to 90, longitude from -180 to 360 degrees")
    return latitude, float(projection.relative_longitude(np.float64(longitude), 0.0))


def parse_depths(text: str) -> list[float]:
    """Depths in km separated by commas, such as 100,300."""
    try:
        depths = [float(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--depth {text!r}; allowed: depths in km separated by commas, as 100,300") from None
    if len(depths) > MOST_MAPS:
        raise UserError(f"--depth: {len(depths)} depths; allowed: at most {MOST_MAPS}")
    return depths


# ---------------------------------------------------------------------------------------------------------------- maps


def slices(fields: Fields, depths_km: Sequence[float], parameters: str = "", centre_deg: float = 0.0) -> Drawing:
    """Maps of each parameter at each depth; one colour scale for each parameter.

    Numbers: parameter, depth_km, latitude_deg, longitude_deg (centres of cells of one degree), percent.
    """
    for depth in depths_km:
        fields.check_depth(depth, "--depth")
    names = fields.chosen(parameters)
    cells = projection.cells(centre_deg, MAP_STEP_DEG)
    values = {name: [fields.percent(name, *cells, depth) for depth in depths_km] for name in names}
    header = ("parameter", "depth_km", "latitude_deg", "longitude_deg", "percent")
    rows = [
        (name, depth, *cells, field) for name in names for depth, field in zip(depths_km, values[name], strict=True)
    ]
    return Drawing(map_gallery(values, depths_km, fields.label, centre_deg), header, stacked(rows))


def stacked(pieces: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Columns of a table from pieces of each, which are broadcast together, one piece below the other."""
    columns = zip(*(np.broadcast_arrays(*piece) for piece in pieces), strict=True)
    return tuple(np.concatenate([part.ravel() for part in parts]) for parts in columns)


@drawing
def map_gallery(
    values: dict[str, list[f64]], depths_km: Sequence[float], label: str, centre_deg: float, across: int = 0
) -> Figure:
    """Maps in rows of `across` (or as many as look well), parameter after parameter."""
    count = len(depths_km)
    across = across or (1 if count == 1 else 2 if count <= 6 else 3)
    down = -(-count // across)
    figure = new_figure(max(5.4, 4.6 * across), (2.55 * down + 0.55) * len(values) + 0.3)
    blocks = figure.subfigures(len(values), 1, squeeze=False)[:, 0]
    for block, (name, fields) in zip(blocks, values.items(), strict=True):
        block.set_facecolor("white")
        axes = block.subplots(down, across, squeeze=False)
        limit = colour_limit(np.concatenate([field.ravel() for field in fields]))
        for place in axes.flat[count:]:
            place.set_axis_off()
        for place, depth, field in zip(axes.flat, depths_km, fields, strict=False):
            mesh = maps.mesh_on_map(place, field, 180.0 / len(field), maps.VELOCITY_COLOURS, -limit, limit)
            maps.draw_globe(place, centre_deg)
            place.set_title(f"{name} at {depth:g} km", loc="left", pad=2.0)
        percent_bar(block, mesh, axes, name)
    if label:
        figure.suptitle(label)
    return figure


def percent_bar(figure: Any, mesh: Any, axes: Any, parameter: str) -> None:
    """The colour scale below."""
    bar = figure.colorbar(mesh, ax=axes, orientation="horizontal", shrink=0.45, aspect=40, pad=0.02, extend="both")
    hint = "    (red: slow, blue: fast)" if quantity_of(parameter).startswith("V") else ""
    bar.set_label(f"{parameter}, %{hint}")
    bar.outline.set_visible(False)


# ------------------------------------------------------------------------------------------------------ cross-sections


@dataclass(frozen=True)
class Arc:
    """Part of a great circle: geocentric latitudes and longitudes at angles from its middle, all in degrees."""

    latitude_deg: f64
    longitude_deg: f64
    angle_deg: f64

    @property
    def text(self) -> str:
        """Both ends and the length."""
        start, end = (place_text(*place) for place in self.places(0, -1))
        return f"{start} to {end}, {self.angle_deg[-1] - self.angle_deg[0]:.0f}°"

    def places(self, *points: int) -> list[Place]:
        """Some of the points."""
        latitude, longitude = geographic_deg(self.latitude_deg), self.longitude_deg
        return [(float(latitude[point]), float(longitude[point])) for point in points]

    def draw(self, axes: Axes, basis: ModelBasis, model: f64, limit_percent: float) -> QuadMesh:
        """The mantle below it."""
        places = self.latitude_deg, self.longitude_deg
        return maps.field_on_section(axes, basis, model, places, self.angle_deg, limit_percent)

    def locate(self, axes: Axes, centre_deg: float) -> None:
        """A small map of where it is."""
        maps.draw_globe(axes, centre_deg, coast_colour=MUTED)
        latitude = geographic_deg(self.latitude_deg)
        maps.draw_arc(axes, latitude, self.longitude_deg, centre_deg, colors=ACCENT, linewidths=2.0)


def angle_between(start: f64, end: f64) -> float:
    """Radians between two unit vectors."""
    return float(np.arctan2(np.linalg.norm(np.cross(start, end)), start @ end))


def points_towards(start: f64, end: f64, angle: f64) -> tuple[f64, f64]:
    """Geocentric latitudes and longitudes, degrees, at angles in radians from one unit vector towards another."""
    onwards = end - (start @ end) * start
    points = np.outer(np.cos(angle), start) + np.outer(np.sin(angle), onwards / np.linalg.norm(onwards))
    return np.degrees(np.arcsin(np.clip(points[:, 2], -1.0, 1.0))), np.degrees(np.arctan2(points[:, 1], points[:, 0]))


def arc_between(
    start: Place,
    end: Place,
    names: str = "--from and --to",
    allowed: str = "1 to 179.9 (or --through with --azimuth)",
) -> Arc:
    """The minor arc between two places (geographic). UserError where they do not define one; it calls them by `names`."""
    a, b = geocentric_vectors(*np.array([start, end]).T)
    distance = float(np.degrees(angle_between(a, b)))
    if not 1.0 <= distance <= 179.9:
        raise UserError(f"{names} are {distance:.3g} degrees apart; allowed: {allowed}")
    angle = np.linspace(0.0, distance, max(31, int(1.5 * distance) + 1))
    return Arc(*points_towards(a, b, np.radians(angle)), angle - 0.5 * distance)


def arc_through(place: Place, azimuth_deg: float, half_angle_deg: float = 60.0) -> Arc:
    """To both sides of a place (geographic), along its azimuth clockwise from north."""
    if not -360.0 <= azimuth_deg <= 360.0:
        raise UserError(f"--azimuth {azimuth_deg:g}; allowed: degrees clockwise from north, -360 to 360")
    if not 1.0 <= half_angle_deg <= 180.0:
        raise UserError(f"--half-angle {half_angle_deg:g}; allowed: 1 to 180 degrees")
    angle = np.linspace(-half_angle_deg, half_angle_deg, 2 * max(15, int(1.5 * half_angle_deg)) + 1)
    latitude, longitude = place
    return Arc(
        *projection.great_circle(float(geocentric_deg(np.float64(latitude))), longitude, azimuth_deg, angle), angle
    )


def section(fields: Fields, arc: Arc, parameters: str = "") -> Drawing:
    """The mantle below a great circle, each parameter beside a map that shows where it is.

    Numbers: parameter, angle_deg, latitude_deg, longitude_deg, depth_km, percent.
    """
    latitude, longitude = geographic_deg(arc.latitude_deg)[:, None], arc.longitude_deg[:, None]
    grid = latitude, longitude, np.linspace(*fields.depth_range_km, 91)[None, :]
    values = {name: fields.percent(name, *grid) for name in fields.chosen(parameters)}
    header = ("parameter", "angle_deg", "latitude_deg", "longitude_deg", "depth_km", "percent")
    rows = [(name, arc.angle_deg[:, None], *grid, field) for name, field in values.items()]
    return Drawing(section_picture(fields, arc, values), header, stacked(rows))


@drawing
def section_picture(fields: Fields, arc: Arc, values: dict[str, f64]) -> Figure:
    """A row for each parameter."""
    wide = arc.angle_deg[-1] - arc.angle_deg[0] > 200.0
    figure = new_figure(8.6, (5.6 if wide else 3.6) * len(values) + 0.3)
    places = figure.subplots(len(values), 2, squeeze=False, width_ratios=(1.0, 0.55))
    centre = float(arc.longitude_deg[len(arc.longitude_deg) // 2])
    latitude, longitude = np.array(arc.places(0, -1)).T
    for (place, locator), (name, field) in zip(places, values.items(), strict=True):
        mesh = arc.draw(place, fields.bases[name], fields.parameters[name], colour_limit(field))
        place.set_title(name)
        percent_bar(figure, mesh, place, name)
        arc.locate(locator, centre)
        maps.draw_points(locator, latitude, longitude, centre, s=(36, 14), c=ACCENT, linewidths=0)
        locator.set_title("from the large dot, left", fontsize=8, fontweight="normal")
    figure.suptitle(f"{fields.label}: {arc.text}")
    return figure


# ------------------------------------------------------------------------------------------------------------ profiles


def profile(fields: Fields, places: Sequence[Place], parameters: str = "") -> Drawing:
    """Each parameter below places, against depth; speeds beside the reference Earth's where it has them.

    Numbers: latitude_deg, longitude_deg, depth_km, then for each parameter its percent and, of a speed, km/s of the model
    and of the reference.
    """
    names = fields.chosen(parameters)
    depth = np.linspace(*fields.depth_range_km, 201)
    lines = {name: [fields.percent(name, *place, depth) for place in places] for name in names}
    references = {name: fields.reference(quantity_of(name), depth) for name in names}
    figure = profile_picture(fields.label, depth, places, lines, references)
    header = ["latitude_deg", "longitude_deg", "depth_km"]
    columns = [*np.repeat(np.array(places).T, len(depth), axis=1), np.tile(depth, len(places))]
    for name in names:
        percent, reference = np.concatenate(lines[name]), references[name]
        header.append(f"{name}_percent")
        columns.append(percent)
        if reference is not None:
            along = np.tile(reference, len(places))
            quantity = quantity_of(name).lower()
            header += [f"{quantity}_km_s", f"{quantity}_reference_km_s"]
            columns += [along * (1.0 + percent / 100.0), along]
    return Drawing(figure, tuple(header), tuple(columns))


@drawing
def profile_picture(
    label: str, depth_km: f64, places: Sequence[Place], lines: dict[str, list[f64]], references: dict[str, f64 | None]
) -> Figure:
    """Depth downwards; a second panel with speeds in km/s where there is a reference."""
    panels = [(name, False) for name in lines] + [(name, True) for name in lines if references[name] is not None]
    figure = new_figure(0.6 + 3.2 * len(panels), 5.0)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for place, (name, absolute) in zip(axes, panels, strict=True):
        reference = references[name]
        if absolute and reference is not None:
            place.plot(reference, depth_km, color=MUTED, linestyle="--", linewidth=1.0, label="reference Earth")
            place.set_xlabel(f"{quantity_of(name)}, km/s")
        else:
            place.axvline(0.0, color=MUTED, linewidth=0.8)
            largest = max(0.5, 1.05 * max(float(np.abs(line).max()) for line in lines[name]))
            place.set(xlabel=f"{name}, %", xlim=(-largest, largest))
        for number, (line, where) in enumerate(zip(lines[name], places, strict=True)):
            values = reference * (1.0 + line / 100.0) if absolute and reference is not None else line
            colour = LINE_COLOURS[number % len(LINE_COLOURS)]
            place.plot(values, depth_km, color=colour, linewidth=1.5, label=place_text(*where))
        for level in (410.0, 660.0):
            place.axhline(level, color=MUTED, linewidth=0.5, linestyle=":")
    axes[0].set(ylabel="depth, km", ylim=(float(depth_km[-1]), 0.0))
    axes[-1].legend(fontsize=8, loc="lower left")
    figure.suptitle(label)
    return figure


# ---------------------------------------------------------------------------------------------------------- waveforms


def find_path(results: Results, text: str, component: str = "") -> int:
    """The first window of "EVENT,STATION" in a run (of a component); UserError with the nearest names where there is none."""
    event, comma, station = (part.strip() for part in text.rpartition(","))
    if not comma or not event or not station:
        raise UserError(f"--path {text!r}; allowed: EVENT,STATION, names of the run's catalogues")
    table = results.observations.paths
    for kind, name, catalogue, rows in (
        ("event", event, table.events.name, table.event_rows),
        ("station", station, table.stations.name, table.station_rows),
    ):
        used = [catalogue[row] for row in rows]
        if name not in used:
            near = difflib.get_close_matches(name, used, 4, 0.3) or used[:4]
            raise UserError(
                f"--path {text}: no path of {kind} '{name}'; allowed: {', '.join(near)} ... ({len(used)} in all)"
            )
    of_event = table.event == table.events.name.index(event)
    found = np.flatnonzero(of_event & (table.station == table.stations.name.index(station)))
    if not len(found):
        others = [table.stations.name[row] for row in np.unique(table.station[of_event])]
        raise UserError(
            f"--path {text}: the run has no such path; allowed for this event: {', '.join(others[:6])} ... ({len(others)} in all)"
        )
    letters = [table.component[path] for path in found]
    if component and component not in letters:
        raise UserError(f"--component {component}: not of {text}; allowed: {', '.join(dict.fromkeys(letters))}")
    return int(found[letters.index(component) if component else 0])


def traces(results: Results, path: int) -> tuple[f64, list[f64]]:
    """Seconds after the origin time; data of a path of a finished run, seismograms of its starting and its final model."""
    table = results.observations.paths
    part = slice(table.offsets[path], table.offsets[path + 1])
    time_s = table.t_first_s[path] + table.sample_interval_s * np.arange(table.samples[path])
    models = [np.asarray(results.model[f"waveforms/{name}"][part], float) for name in ("initial", "final")]
    return time_s, [results.observations.observed[part], *models]


def draw_traces(axes: Axes, time_s: f64, values: Sequence[f64], labels: Sequence[str]) -> None:
    """Data, starting and final model in the same axes."""
    for one, label, style in zip(values, labels, TRACES, strict=True):
        axes.plot(time_s, one, label=label, **style)


def fit(results: Results, path: int) -> Drawing:
    """Data of one path, seismograms of the starting and of the final model, and what is left.

    Numbers: time_s after the origin time; observed_m, initial_m, final_m.
    """
    if not results.finished:
        raise UserError("the run has no waveforms: it did not come to its end; allowed: a run that has finished")
    time_s, seismograms = traces(results, path)
    figure = fit_picture(results, path, time_s, seismograms)
    return Drawing(figure, ("time_s", "observed_m", "initial_m", "final_m"), (time_s, *seismograms))


@drawing
def fit_picture(results: Results, path: int, time_s: f64, seismograms: Sequence[f64]) -> Figure:
    """Seismograms above, the residual below."""
    before, after = (float(waveform_reduction(results, name)[path]) for name in ("initial", "final"))
    figure = new_figure(9.0, 4.2)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2.0, 1.0))
    micrometres = [1e6 * values for values in seismograms]
    labels = ("data", f"starting model, fit {before:.0%}", f"final model, fit {after:.0%}")
    draw_traces(upper, time_s, micrometres, labels)
    upper.set_ylabel("displacement, µm")
    upper.legend(ncols=3)
    data = results.observations
    of_a_sample = np.sqrt(data.independent[path] / data.paths.samples[path])  # sigma of noise in a band is larger
    sigma = 1e6 * float(data.sigma[path] * of_a_sample)
    lower.axhspan(-sigma, sigma, color=MUTED, alpha=0.2, linewidth=0, label="±σ of the data")
    lower.plot(time_s, micrometres[0] - micrometres[2], color=ACCENT, linewidth=1.0, label="data − final model")
    lower.set(xlabel="seconds after the origin time", ylabel="residual, µm")
    lower.legend(ncols=2)
    lower.margins(x=0.01)
    table = results.observations.paths
    event, station = table.events.name[table.event[path]], table.stations.name[table.station[path]]
    figure.suptitle(
        f"{event} to {station}, {table.distance_deg()[path]:.1f}°, component {table.component[path]}", color=INK
    )
    return figure
