"""The configuration of `craton waves run CONFIG`. `craton waves template` prints all of it.

config_tables has the settings; what they must be together is checked here. What a configuration names is made by setup.py.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.seismology.geometry.grid import THINNEST
from craton.seismology.ground.media import wrong_unit
from craton.seismology.sources.source_time import KINDS, source_time
from craton.seismology.wave_run.config_tables import (
    TABLES,
    AttenuationConfig,
    BoundaryConfig,
    CheckpointConfig,
    GridConfig,
    MediaConfig,
    MovieConfig,
    ReceiversConfig,
    RunConfig,
    SgtConfig,
    SnapshotsConfig,
    SourceConfig,
    SpectraConfig,
    TimeConfig,
    TopographyConfig,
)
from craton.seismology.wave_run.refinement import wrong_refinement
from craton.seismology.wave_run.spectra import wrong_spectra
from craton.settings import Configuration, read_toml, shown, template_of

__all__ = ["SAFETY", "STABILITY", "TABLES", "Config", "build", "load_config", "template"]

STABILITY = 6 / (7 * math.sqrt(3)) / (1 + 2**-10)
"""vp dt / h must stay below it: the scheme's limit in three dimensions, 1 / (sqrt(3) (c1 - c2)) with c1 = 9/8, c2 = -1/24,
for media of which some are rounded up by 2^-10."""
SAFETY = 0.95
"""Of that limit, the step that is chosen where none is given."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Config(Configuration):
    """A whole configuration, checked. Paths in it are absolute."""

    tables = TABLES
    listed = {"source": SourceConfig}
    optional = ("topography", "attenuation")

    run: RunConfig
    grid: GridConfig
    time: TimeConfig
    topography: TopographyConfig | None
    media: MediaConfig
    attenuation: AttenuationConfig | None
    boundary: BoundaryConfig
    receivers: ReceiversConfig
    sgt: SgtConfig
    spectra: SpectraConfig
    snapshots: SnapshotsConfig
    movie: MovieConfig
    checkpoint: CheckpointConfig
    sources: tuple[SourceConfig, ...]

    @property
    def cells(self) -> tuple[int, int, int]:
        """Along x, y and z."""
        return self.grid.cells

    def check(self) -> None:
        """Refuses tables that do not go together. UserError."""
        for line in self._wrong_lines():
            raise self.wrong(line)

    def _wrong_lines(self) -> Iterator[str]:
        """Lines that say what is wrong; only the first is shown, so later checks may rely on earlier ones."""
        yield from self._wrong_grid()
        yield from self._wrong_media()
        yield from self._wrong_topography()
        yield from wrong_spectra(self)
        for at, source in enumerate(self.sources, 1):
            yield from (f"[[source]] {at} {line}" for line in self._wrong_source(source))

    def _wrong_grid(self) -> Iterator[str]:
        """Sizes, absorbing sides, the place on the Earth and the bricks."""
        grid, boundary, run = self.grid, self.boundary, self.run
        if bool(grid.size_km) == bool(grid.size_m):
            yield f"[grid] {'both size_km and size_m' if grid.size_km else 'no size'}; allowed: size_km or size_m, [x, y, z]"
        for axis, size, n in zip("xyz", grid.extent_m, grid.cells, strict=True):
            if n < 1 or abs(size / grid.spacing_m - n) > 1e-6 * n:
                yield f"[grid] size along {axis} = {size:g} m; allowed: a whole number of cells of spacing_m = {grid.spacing_m:g} m"
        yield from wrong_refinement(self) if grid.coarser_below_m else self._wrong_cells()
        if boundary.top == "absorbing" and boundary.absorbing == "none":
            yield '[boundary] top = "absorbing" with absorbing = "none"; allowed: absorbing = "pml" or "sponge"'
        if grid.origin_lon_lat and abs(grid.origin_lon_lat[1]) > 89:
            yield f"[grid] origin_lon_lat = {shown(grid.origin_lon_lat)}; allowed: a latitude in [-89, 89] degrees"
        parts, ranks = run.decomposition, run.ranks
        if parts and ranks and math.prod(parts) != ranks:
            yield f"[run] decomposition = {shown(parts)} of {math.prod(parts)} bricks; allowed: ranks = {ranks} of them"

    def _wrong_cells(self) -> Iterator[str]:
        """Numbers of cells, where all are alike."""
        grid, boundary, parts = self.grid, self.boundary, self.run.decomposition
        sides = 2 if boundary.absorbing != "none" else 0
        for axis, n in zip("xyz", grid.cells, strict=True):
            layers = (1 + (boundary.top == "absorbing")) * sides // 2 if axis == "z" else sides
            needed = layers * boundary.layer_cells + 8
            if n < needed:
                yield (
                    f"[grid] {n} cells along {axis}; allowed: {needed} or more, {layers} absorbing layers of width_cells = "
                    f"{boundary.layer_cells} and 8 between"
                )
        if any(n // p < THINNEST for p, n in zip(parts, grid.cells, strict=False)):
            most = [n // THINNEST for n in grid.cells]
            yield f"[run] decomposition = {shown(parts)}; allowed: at most {shown(most)}, for bricks of {THINNEST} cells a side"

    def _wrong_media(self) -> Iterator[str]:
        """The ground and its quality factors."""
        media, attenuation = self.media, self.attenuation
        if media.kind == "layers" and bool(media.layers) == bool(media.file):
            yield f"[media] {'both layers and file' if media.file else 'no layers'}; allowed: layers, or a file of them"
        if media.kind == "file" and not media.file:
            yield '[media] file is missing; allowed: a model\'s file, because kind = "file"'
        if media.kind == "constant" and (media.file or media.layers):
            yield f'[media] {"file" if media.file else "layers"} with kind = "constant"; allowed: kind = "layers" or "file"'
        for number, row in enumerate(media.layers, 1):
            if wrong := wrong_unit(row):
                yield f"[media] layers: layer {number} has {wrong}"
        if media.read == "partitioned" and media.kind != "file":
            yield '[media] read = "partitioned"; allowed: with kind = "file"'
        if media.vs30 and media.vs30_file:
            yield "[media] both vs30 and vs30_file; allowed: one of them"
        if media.read == "partitioned" and (media.vs30 or media.vs30_file):
            yield '[media] vs30 with read = "partitioned"; allowed: neither, because the parts were written with it'
        if media.vs30_file and not self.grid.origin_lon_lat:
            yield "[media] vs30_file needs a place on the Earth; allowed: [grid] origin_lon_lat = [lon, lat]"
        if attenuation is None:
            return
        low, high = attenuation.band_hz
        if not 3 * low < high:
            given = shown(attenuation.band_hz)
            yield f"[attenuation] band_hz = {given}; allowed: [lower, higher] Hz, more than a factor of 3 apart"
        if (attenuation.qp == "") != (attenuation.qs == ""):
            yield '[attenuation] only one of qp and qs is ""; allowed: both (the model\'s own), or rules for both'
        if attenuation.qp == "" and media.kind == "constant":
            yield '[attenuation] qp = "" with constant media; allowed: a number or a rule'

    def _wrong_topography(self) -> Iterator[str]:
        """What does not go with a surface that is no plane."""
        land, media = self.topography, self.media
        if land is None:
            return
        if land.file and land.hill:
            yield "[topography] both file and hill; allowed: one of them"
        if land.file_axes == "degrees" and not self.grid.origin_lon_lat:
            yield '[topography] file_axes = "degrees" needs a place on the Earth; allowed: [grid] origin_lon_lat = [lon, lat]'
        if self.boundary.top != "free":
            yield f'[boundary] top = "{self.boundary.top}" with [topography]; allowed: top = "free"'
        if self.run.device != "cpu":
            yield f'[run] device = "{self.run.device}" with [topography]; allowed: device = "cpu"'
        if (media.vs30 or media.vs30_file) and land.depth_from != "ground":
            name = "vs30" if media.vs30 else "vs30_file"
            yield f'[media] {name} with [topography] depth_from = "{land.depth_from}"; allowed: depth_from = "ground"'
        for at, source in enumerate(self.sources, 1):
            if source.mode.startswith("traction"):
                yield f"[[source]] {at} {source.mode} with [topography]; allowed: force_* on the ground's surface"

    def _wrong_source(self, source: SourceConfig) -> Iterator[str]:
        """Where a source is, what it is, and how it acts in time."""
        grid, boundary = self.grid, self.boundary
        given = [name for name in ("event_file", "fault_file") if getattr(source, name)]
        moments = [name for name in ("moment_Nm", "strike_dip_rake_deg") if getattr(source, name)]
        point = [name for name in ("position_m", "lon_lat") if getattr(source, name)]
        if given:
            others = [
                *given[1:],
                *moments,
                *point,
                *(name for name in ("force_N", "stress_Nm") if getattr(source, name)),
            ]
            if others or source.mode != "moment_rate":
                yield f"{given[0]} with {', '.join(others) or source.mode}; allowed: {given[0]} alone says where and what"
            if given[0] == "fault_file" and source.time_function:
                yield "fault_file with time_function; allowed: neither, because the file has slip rates"
        elif len(point) != 1:
            yield f"{'both' if point else 'neither'} position_m and lon_lat; allowed: position_m, or lon_lat and depth_m"
        elif source.mode == "moment_rate":
            others = [name for name in ("force_N", "stress_Nm") if getattr(source, name)]
            if len(moments) != 1 or others:
                found = ", ".join([*moments, *others]) or "no moment"
                yield f"moment_rate with {found}; allowed: moment_Nm, or strike_dip_rake_deg with m0_Nm or mw"
            if source.strike_dip_rake_deg and (source.m0_Nm > 0) == (source.mw > -99):
                yield "strike_dip_rake_deg needs a moment; allowed: one of m0_Nm (above 0) and mw"
        elif source.mode.startswith("stress"):
            others = [*moments, *(["force_N"] if source.force_N else [])]
            if others or len(source.stress_Nm) != 1:
                found = ", ".join([f"stress_Nm = {shown(source.stress_Nm)}", *others])
                yield f"{source.mode} with {found}; allowed: stress_Nm = [S] in N m"
            depth = source.position_m[2] if source.position_m else source.depth_m
            if source.mode != "stress_zz" and boundary.top == "free" and depth == 0:
                yield (
                    f"{source.mode} at z = 0; allowed: below the free surface, on which that stress is 0, or traction_"
                    f"{source.mode.partition('_')[2]}"
                )
        elif moments or source.stress_Nm or len(source.force_N) != (3 if source.mode == "force_xyz" else 1):
            count = "[Fx, Fy, Fz]" if source.mode == "force_xyz" else "[F]"
            more = " and more" * bool(moments or source.stress_Nm)
            yield f"{source.mode} with force_N = {shown(source.force_N)}{more}; allowed: {count} in N"
        if source.mode.startswith("traction") and boundary.top != "free":
            yield f'{source.mode} with [boundary] top = "{boundary.top}"; allowed: on a free surface'
        if (grid.origin_lon_lat == ()) and (source.lon_lat or given):
            yield f"{(given or ['lon_lat'])[0]} needs a place on the Earth; allowed: [grid] origin_lon_lat = [lon, lat]"
        if source.lon_lat and abs(source.lon_lat[1]) > 90:
            yield f"lon_lat = {shown(source.lon_lat)}; allowed: a latitude in [-90, 90] degrees"
        yield from _wrong_time(source, bool(given))


def _wrong_time(source: SourceConfig, from_file: bool) -> Iterator[str]:
    kind = source.time_function
    if not kind and not from_file:
        yield f"time_function is missing; allowed: {', '.join(KINDS)}, file"
    if kind == "file" and not source.time_file:
        yield 'time_file is missing; allowed: rows of time and rate, because time_function = "file"'
    needed = KINDS[kind][1] if kind in KINDS else ""
    for name in sorted({parameter for _, parameter in KINDS.values()}):
        if (getattr(source, name) > 0) != (name == needed):
            what = "missing" if name == needed else "not of it"
            yield f'time_function = "{kind}": {name} is {what}; allowed: {f"{needed} above 0" if needed else "none"}'
    if kind in KINDS:
        try:
            source_time(kind, getattr(source, needed), source.centre_s if source.centre_s >= 0 else None)
        except UserError as error:
            yield str(error)


build = Config.build


def load_config(path: str | os.PathLike[str], **run: Any) -> Config:
    """Reads and checks a configuration file. UserError names the key, the value and what is allowed.

    run: settings of [run] that replace the file's, such as threads and directory; None leaves the file's.
    """
    path = Path(path)
    config = build(read_toml(path, "craton waves template"), path)
    given = {name: str(value) if name == "directory" else value for name, value in run.items() if value is not None}
    return config.replaced("run", **given) if given else config


def template() -> str:
    """A commented TOML file with every table, key and default."""
    heading = "A run of the wave solver. Look at it with: craton waves check THIS_FILE; start it with: craton waves run THIS_FILE"
    examples = {
        "grid.spacing_m": 100.0,
        "grid.size_km": [12.0, 12.0, 6.0],
        "time.duration_s": 10.0,
        "receivers.stations": [["A", 6000.0, 8000.0], ["B", 9000.0, 9000.0]],
        "snapshots.every": 100,
        "movie.every": 20,
        "source.position_m": [6000.0, 6000.0, 2000.0],
        "source.moment_Nm": [0.0, 0.0, 0.0, 1e18, 0.0, 0.0],
        "source.time_function": "gaussian",
        "source.sigma_s": 0.2,
    }
    return template_of(heading, {**TABLES, "[source]": SourceConfig}, examples, commented=("topography",))
