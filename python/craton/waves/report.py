"""report.html of a wave run: what was computed, sources and stations, seismograms, the surface as it moves."""

from __future__ import annotations

import os
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from craton.errors import UserError
from craton.pages.figures import png, smallest
from craton.pages.page import (
    Block,
    Details,
    Link,
    Links,
    Numbers,
    Page,
    Picture,
    Section,
    Table,
    Text,
    how_to_go_on,
    made_by,
    name_of,
    provenance,
    render,
    summary,
)
from craton.runs.files import replaced, write_text
from craton.runs.words import counted
from craton.seismology.wave_run.check import examine
from craton.seismology.wave_run.config import build
from craton.seismology.wave_run.folder import WavesFolder, WavesRecord
from craton.seismology.wave_run.refinement import COARSER
from craton.seismology.wave_run.results import Seismograms, read_seismograms, read_snapshots
from craton.waves.pictures import (
    gif_of,
    map_figure,
    movie_frames,
    record_section_figure,
    smallest_movie,
    snapshots_figure,
    topography_of_run,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["page_of", "write_report"]

MOST_ROWS = 100
"""Rows of a table of sources or stations."""
MOST_CELLS = 2e8
"""The largest grid whose medium is read once more for the report."""
LARGEST_MOVIE = 8e6
"""Bytes of one inside the page; a larger one is linked to."""


def write_report(path: str | os.PathLike[str]) -> Path:
    """Draws pictures/ and report.html from the other files of a run's folder.

    Not collective. UserError for a folder without the record of a run that has ended.
    """
    folder = WavesFolder(path)
    record = folder.read_record()
    page = render(page_of(folder, record))
    write_text(folder.report, page)
    return folder.report


def page_of(folder: WavesFolder, record: WavesRecord) -> Page:
    """The report as data; writes its pictures beside it, too."""
    stations = read_seismograms(folder) if folder.seismograms.is_file() else None
    blocks: list[Block] = [
        summary([_words(record, stations)], _key_numbers(record, stations)),
        _settings(folder, record),
        Section("Sources and stations", _sources_and_stations(folder, record, stations), "sources", "Sources"),
        *_motion(folder, record, stations),
        Section("Files", [_files(folder)], "files", "Files"),
        Section("Where the time went", [_timing(record)], "time", "Time"),
        _next(folder, stations),
        provenance(record),
    ]
    return Page(record.title, "a wave run", f"{made_by(record.versions, record.started)}.", blocks)


def _words(record: WavesRecord, stations: Seismograms | None) -> Text:
    """What was computed, and what moved most."""
    size = " × ".join(f"{1e-3 * record.spacing_m * cells:.3g}" for cells in record.cells)
    waves = f"Seismic waves of {counted(len(record.sources_m), 'source point')} through {size} km of ground for "
    waves += f"{record.steps * record.dt_s:.4g} s"
    peak, where = _peak(record, stations)
    if stations is None:
        return Text(f"{waves}, without stations. The {where} is {peak}.")
    at = where.replace(": ", ", at ", 1)
    return Text(f"{waves}, recorded at {counted(len(stations.names), 'station')}. The {at}, is {peak}.")


def _next(folder: WavesFolder, stations: Seismograms | None) -> Section:
    """Commands for this folder."""
    name = name_of(folder.path)
    export = [("Seismograms for other programs", f"craton waves export {name} --format mseed")] if stations else []
    return how_to_go_on(
        [
            *export,
            ("Draw pictures and this page again", f"craton waves report {name}"),
            ("A configuration of your own, with every key explained", "craton waves template > my.toml"),
        ]
    )


def _key_numbers(record: WavesRecord, stations: Seismograms | None) -> Numbers:
    cells = f"{' × '.join(map(str, record.cells))}, {record.spacing_m:g} m wide"
    if record.lower_cells:
        cells += f"; below them {' × '.join(map(str, record.lower_cells))}, {COARSER * record.spacing_m:g} m wide"
    steps_s = record.seconds.get("steps", 0.0)
    part = f", {record.memory_fraction:.0%} of the memory's bandwidth" if record.memory_gb_s else ""
    return Numbers(
        [
            (f"{record.steps * record.dt_s:.4g} s", f"of waves in {record.steps:,} steps of {record.dt_s:.4g} s"),
            (f"{record.points:,}", f"cells: {cells}"),
            (
                f"{steps_s:.3g} s",
                f"for the steps on {counted(record.ranks, 'rank')} × {counted(record.threads, 'thread')}",
            ),
            (f"{1e-6 * record.points_per_s:.3g} million", f"points per second{part}"),
            _peak(record, stations),
        ]
    )


def _peak(record: WavesRecord, stations: Seismograms | None) -> tuple[str, str]:
    """The largest horizontal velocity of all stations; without any, what moves at the end."""
    if stations is None:
        return f"{record.peak_velocity_m_s:.3g} m/s", "largest velocity anywhere at the end"
    peaks = np.hypot(stations.velocity[:, 0], stations.velocity[:, 1]).max(axis=1)
    most = int(np.argmax(peaks))
    return f"{peaks[most]:.3g} m/s", f"largest horizontal velocity of all stations: {stations.names[most]}"


def _files(folder: WavesFolder) -> Table:
    """What is there, and what opens it."""
    told = (
        (folder.seismograms, "velocity at the stations", "xarray, h5py; craton waves export for ObsPy, SAC, Pyasdf"),
        (folder.sgt, "strains at the points of [sgt]", "h5py; craton hazard"),
        (folder.strain_spectra, "Fourier transforms of strains", "craton.waves.read_spectra, h5py"),
        (folder.velocity_spectra, "Fourier transforms of velocities", "craton.waves.read_spectra, h5py"),
        (folder.snapshots, "fields of [snapshots]", "xarray, h5py"),
        (folder.snapshots_xdmf, "the same", "ParaView, VisIt"),
        (folder.surface, "velocity at the surface, for the movie", "xarray, h5py"),
        (folder.surface_xdmf, "the same", "ParaView, VisIt"),
    )
    rows = [[path.name, what, opens] for path, what, opens in told if path.is_file()]
    return Table(["file", "what", "opens with"], rows, words=True)


def _settings(folder: WavesFolder, record: WavesRecord) -> Section:
    """What `craton waves check` says."""
    blocks: list[Block]
    if record.points > MOST_CELLS:
        blocks = [Text("The medium is large: craton waves check says what the grid resolves.", muted=True)]
    else:
        try:
            found = examine(build(record.config, folder.config), record.ranks, record.points_per_s or None)
        except UserError as problem:
            blocks = [Text(f"Not checked again: {problem}.", muted=True)]
        else:
            notes = [("note", warning) for warning in found.warnings]
            blocks = [Table((), [list(row) for row in [*found.rows(), *notes]], words=True)]
    return Section("What was computed", blocks, "settings", "Settings")


def _sources_and_stations(folder: WavesFolder, record: WavesRecord, stations: Seismograms | None) -> list[Block]:
    """A map; tables."""
    rows = [
        [str(number), *_position(at), *_strength(source)]
        for number, (source, at) in enumerate(_told(record), 1)
        if number <= MOST_ROWS
    ]
    header = ["source", "x, km", "y, km", "depth, km", "kind", "strength", "time function"]
    caption = "Stars: sources. Triangles: stations. x is up, y to the right."
    number = 0 if stations is None else len(stations.names)
    y_km, x_km = (1e-3 * record.spacing_m * cells for cells in record.cells[1::-1])
    seen = f"A map of {y_km:.3g} by {x_km:.3g} km with {counted(len(record.sources_m), 'star')} and {counted(number, 'triangle')}."
    figure = map_figure(record, stations, topography_of_run(folder, record))
    blocks: list[Block] = [Picture(figure, caption, seen, narrow=True)]
    if rows:
        blocks.append(Table(header, rows))
    if len(record.sources_m) > len(rows):
        blocks.append(Text(f"The first {len(rows)} of {len(record.sources_m)} points.", muted=True))
    if stations is not None:
        table = _table_of(stations)
        more = (
            [Text(f"The first {MOST_ROWS}; all are in stations.csv.", muted=True)]
            if len(stations.names) > MOST_ROWS
            else []
        )
        blocks.append(Details(f"{counted(len(stations.names), 'station')}", [table, *more]))
    return blocks


def _table_of(stations: Seismograms) -> Table:
    """Places and peak velocities: of the horizontal vector, and up."""
    header = ["station", "x, km", "y, km", "depth, km", "peak horizontal, m/s", "peak vertical, m/s"]
    placed = stations.longitude_latitude_deg
    if placed is not None:
        header[1:1] = ["longitude", "latitude"]
    rows = []
    for n, (name, at) in enumerate(zip(stations.names[:MOST_ROWS], stations.position_m, strict=False)):
        x, y, z = stations.velocity[n]
        peaks = [f"{float(np.hypot(x, y).max()):.3g}", f"{float(np.abs(z).max()):.3g}"]
        degrees = [] if placed is None else [f"{angle:.4f}" for angle in placed[n].tolist()]
        rows.append([name, *degrees, *_position(at), *peaks])
    return Table(header, rows)


def _told(record: WavesRecord) -> list[tuple[dict[str, Any], list[float]]]:
    """The settings and the place of each point; settings are empty for those of faults, which are files of many."""
    points = [source for source in record.config.get("source", []) if not source.get("fault_file")]
    return list(zip(chain(points, repeat({})), record.sources_m, strict=False))


def _position(at: Any) -> list[str]:
    return [f"{1e-3 * float(value):.4g}" for value in at]


def _strength(source: dict[str, Any]) -> list[str]:
    """Kind, strength, time function."""
    if source.get("force_N"):
        strength = f"{' '.join(f'{value:.4g}' for value in source['force_N'])} N"
    elif source.get("m0_Nm"):
        strength = f"{source['m0_Nm']:.4g} N m"
    elif source.get("mw", -99.0) > -99.0:
        strength = f"Mw {source['mw']:g}"
    else:
        strength = "moment tensor" if source.get("moment_Nm") else ""
    return [str(source.get("mode", "")).replace("_", " "), strength, str(source.get("time_function", ""))]


def _motion(folder: WavesFolder, record: WavesRecord, stations: Seismograms | None) -> list[Section]:
    """Seismograms, snapshots, movie: what the run has recorded."""
    sections = []
    if stations is not None:
        drawn = _drawn(folder, "seismograms.png", record_section_figure(stations, record))
        text = (
            "Velocity at the stations over time, each at its distance along the surface from the first source (at its azimuth or "
            "depth where all are at one distance); a scale for each panel."
        )
        peak, _ = _peak(record, stations)
        seen = (
            f"Three panels of wiggly lines, one for each component, of {counted(len(stations.names), 'station')}; at most {peak} "
            "horizontally."
        )
        sections.append(Section("Seismograms", [Picture(drawn, text, seen)], "seismograms", "Seismograms"))
    if folder.snapshots.is_file():
        shots = read_snapshots(folder.snapshots)
        figure = snapshots_figure(shots, record, stations)
        drawn = _drawn(folder, "snapshots.png", figure)
        text = "The surface at several times, within the absorbing sides. Stars: sources; triangles: stations."
        maps = [axes for axes in figure.axes if axes.images]
        first, last = (axes.get_title(loc="left").removeprefix("t = ") for axes in (maps[0], maps[-1]))
        _, limit = maps[0].images[0].get_clim()
        times = f"from {first} to {last}" if len(maps) > 1 else f"at {first}"
        seen = (
            f"{counted(len(maps), 'map')} of the surface {times}: red and blue bands, the waves, in colours up to "
            f"{limit:.2g} {'m/s' if 'vz' in shots.fields or next(iter(shots.fields)).startswith('v') else 'Pa'}."
        )
        sections.append(Section("Snapshots", [Picture(drawn, text, seen)], "snapshots", "Snapshots"))
    if folder.surface.is_file():
        shots = read_snapshots(folder.surface)
        frames = movie_frames(shots, record, stations)
        drawn = smallest_movie(frames, _written(folder, "movie.gif", gif_of(frames)))
        text = "Speed at the surface, within the absorbing sides; colours follow its square root."
        largest = np.sqrt(sum(np.square(values[:, 0]) for values in shots.fields.values())).max(axis=(1, 2))
        seen = (
            f"A moving map of the surface over {shots.time_s[-1]:.3g} s: bright rings of motion spread from the sources, at most "
            f"{largest.max():.2g} m/s, at {shots.time_s[int(np.argmax(largest))]:.3g} s."
        )
        shown: Block = Details(
            "The movie plays while this is open", [Picture(drawn, text, seen, narrow=True)], shown=True
        )
        if len(drawn) > LARGEST_MOVIE:
            size = (folder.pictures / "movie.gif").stat().st_size
            shown = Links([Link(f"pictures/movie.gif ({1e-6 * size:.1f} MB)", "pictures/movie.gif")])
        sections.append(Section("Movie", [shown], "movie", "Movie"))
    return sections


def _drawn(folder: WavesFolder, name: str, figure: Figure) -> bytes:
    """The figure for the page; it is written as a PNG file, too."""
    _written(folder, name, png(figure))
    return smallest(figure)


def _written(folder: WavesFolder, name: str, content: bytes) -> bytes:
    """pictures/<name>, whole or not at all. UserError where it cannot be written."""
    try:
        folder.pictures.mkdir(exist_ok=True)
    except OSError as problem:
        raise UserError(f"{folder.pictures}: {problem.strerror}; allowed: a folder that can be made") from None
    with replaced(folder.pictures / name) as aside:
        aside.write_bytes(content)
    return content


def _timing(record: WavesRecord) -> Table:
    return Table(["of rank 0", "s"], [[name, f"{seconds:.3g}"] for name, seconds in record.seconds.items()])
