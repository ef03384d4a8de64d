"""The configuration of `craton waves run CONFIG`: what may be written in it, its defaults, and what is allowed.

`craton waves template` prints all of it. Everything a configuration names is made from it by `setup.py`.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.seismology.geometry.grid import THINNEST
from craton.seismology.geometry.projection import PROJECTIONS
from craton.seismology.ground.media import Layers, quality_rule
from craton.seismology.sources.point_sources import MODES
from craton.seismology.sources.source_time import KINDS, source_time
from craton.settings import (
    Reader,
    boolean,
    check_keys,
    choice,
    finite,
    integer,
    number,
    read_table,
    read_toml,
    setting,
    shown,
    table_to_toml,
    text,
    toml_value,
)

__all__ = ["SAFETY", "STABILITY", "TABLES", "Config", "SourceConfig", "load_config", "template"]

STABILITY = 6 / (7 * math.sqrt(3)) / (1 + 2**-10)
"""vp dt / h must stay below it: the scheme's limit in three dimensions, 1 / (sqrt(3) (c1 - c2)) with c1 = 9/8, c2 = -1/24,
for media of which some are rounded up by 2^-10."""
SAFETY = 0.95
"""Of that limit, the step that is chosen where none is given."""

FIELDS = ("vx", "vy", "vz", "xx", "yy", "zz", "xy", "xz", "yz")


def _numbers(counts: tuple[int, ...], low: float, high: float, unit: str, *, empty: bool = False) -> Reader:
    """A list of so many numbers in a range."""
    wanted = " or ".join(str(count) for count in counts)
    allowed = f"a list of {wanted} numbers in [{low:g}, {high:g}] {unit}".rstrip() + (", or []" if empty else "")

    def read(value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple) or not (len(value) in counts or (empty and not value)):
            raise ValueError(allowed)
        try:
            found = tuple(finite(item) for item in value)
        except ValueError:
            raise ValueError(allowed) from None
        if not all(low <= item <= high for item in found):
            raise ValueError(allowed)
        return found

    return read


def parts(value: Any) -> tuple[int, ...]:
    """Reads a number of bricks, or of cells, along each axis."""
    allowed = "a list of 3 whole numbers above 0, [px, py, pz], or []"
    if not isinstance(value, list | tuple) or len(value) not in (0, 3):
        raise ValueError(allowed)
    if not all(isinstance(item, int) and not isinstance(item, bool) and 0 < item <= 10**6 for item in value):
        raise ValueError(allowed)
    return tuple(value)


def _rule(name: str) -> Reader:
    def read(value: Any) -> float | str:
        try:
            if value != "":
                quality_rule(name, value if isinstance(value, str) else finite(value))
        except UserError as error:
            raise ValueError(str(error).partition("allowed: ")[2]) from None
        return value if isinstance(value, str) else float(value)

    return read


def _rows(value: Any) -> tuple[tuple[float, ...], ...]:
    allowed = "a list of layers [thickness_m, vp, vs, rho] or [thickness_m, vp, vs, rho, qp, qs], from the top down"
    if not isinstance(value, list | tuple) or not all(isinstance(row, list | tuple) for row in value):
        raise ValueError(allowed)
    try:
        rows = tuple(tuple(finite(item) for item in row) for row in value)
        if rows:
            Layers(rows=rows)
    except (ValueError, UserError):
        raise ValueError(allowed) from None
    return rows


def _stations(value: Any) -> tuple[tuple[Any, ...], ...]:
    allowed = 'a list of stations ["name", x_m, y_m] or ["name", x_m, y_m, z_m]'
    if not isinstance(value, list | tuple) or not all(isinstance(row, list | tuple) for row in value):
        raise ValueError(allowed)
    for row in value:
        if (
            len(row) not in (3, 4)
            or not isinstance(row[0], str)
            or any(isinstance(item, str | bool) for item in row[1:])
        ):
            raise ValueError(allowed)
    return tuple(tuple(row) for row in value)


def _fields(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value or not all(item in FIELDS for item in value):
        raise ValueError(f"a list of one or more of {', '.join(FIELDS)}")
    return tuple(value)


def _moment(value: Any) -> tuple[float, ...]:
    return _numbers((6,), -1e30, 1e30, "N m: xx, yy, zz, xy, xz, yz", empty=True)(value)


@dataclass(frozen=True)
class RunConfig:
    """Where results go, and how the work is shared out."""

    directory: str = setting(
        "",
        text,
        'folder of the results, relative to where you start craton; "" is <name of this file>-run',
        path="output",
    )
    ranks: int = setting(0, integer(0, 10**6), "processes, if --ranks does not say; 0: one")
    threads: int = setting(1, integer(1, 1024), "of each rank")
    device: str = setting(
        "cpu", choice("cpu", "cuda"), '"cpu", or "cuda": a GPU for each rank, those of a machine in turn'
    )
    decomposition: tuple[int, ...] = setting(
        (), parts, "[px, py, pz] bricks; [] takes what has the least area between bricks"
    )


@dataclass(frozen=True)
class GridConfig:
    """Cells of side spacing_m; x north (turned by azimuth_deg), y east, z down; its corner is (0, 0, 0)."""

    size_km: tuple[float, ...] = setting(
        (), _numbers((3,), 1e-6, 1e6, "km", empty=True), "km; [x, y, z], or give size_m"
    )
    size_m: tuple[float, ...] = setting((), _numbers((3,), 1e-3, 1e9, "m", empty=True), "m; [x, y, z], or give size_km")
    spacing_m: float = setting("<required>", number(1e-3, 1e6, "m"), "m; side of a cell")
    origin_lon_lat: tuple[float, ...] = setting(
        (),
        _numbers((2,), -360, 360, "degrees", empty=True),
        "degrees; where the grid lies, for sources and stations in degrees",
    )
    origin_at: str = setting(
        "corner", choice("corner", "centre"), 'what lies there: the "corner" x = y = 0, or the "centre"'
    )
    azimuth_deg: float = setting(
        0.0, number(-360, 360, "degrees"), "degrees clockwise from north; direction of the x axis"
    )
    projection: str = setting(
        "azimuthal_equidistant", choice(*PROJECTIONS), "about the origin: azimuthal_equidistant, or transverse_mercator"
    )
    points_per_wavelength: float = setting(
        5.0, number(0, 100), "a source must not have shorter waves than so many cells; 0 does not check"
    )


@dataclass(frozen=True)
class TimeConfig:
    """How long, and in what steps."""

    duration_s: float = setting("<required>", number(1e-9, 1e7, "s"), "s")
    dt_s: float = setting(0.0, number(0, 1e5, "s"), "s; 0 takes 0.95 of the largest stable step")


@dataclass(frozen=True)
class MediaConfig:
    """The ground: the same everywhere, flat layers, or a gridded model in a file."""

    kind: str = setting("constant", choice("constant", "layers", "file"), '"constant", "layers" or "file"')
    vp: float = setting(6000.0, number(1e-3, 1e5, "m/s"), "m/s (constant)")
    vs: float = setting(3464.0, number(0, 1e5, "m/s"), "m/s (constant)")
    rho: float = setting(2700.0, number(-1e5, 1e5, "kg/m^3"), "kg/m^3 (constant)")
    layers: tuple[tuple[float, ...], ...] = setting(
        (), _rows, "[[thickness_m, vp, vs, rho(, qp, qs)], ...] from the top down; the last has no bottom"
    )
    file: str = setting(
        "", text, "layers: rows as above; file: the model; relative to this file's folder", path="input"
    )
    format: str = setting(
        "auto",
        choice("auto", "netcdf", "hdf5", "awp"),
        "auto goes by the file's ending; awp: float32 vp, vs, rho (qp, qs)",
    )
    file_spacing_m: float = setting(0.0, number(0, 1e6, "m"), "m; of an awp file's cells; 0: as the grid's")
    file_cells: tuple[int, ...] = setting((), parts, "[nx, ny, nz] of an awp file; []: as the grid's")
    read: str = setting(
        "parallel",
        choice("parallel", "serial", "partitioned"),
        "each rank its part; one rank deals out; file is the media.json of media written in parts",
    )
    outside: str = setting(
        "refuse", choice("refuse", "nearest"), "where a file ends inside the grid: refuse, or go on as at its end"
    )
    water: bool = setting(False, boolean, "vs = 0 is meant where it stands")
    slowest_vs: float = setting(0.0, number(0, 1e4, "m/s"), "m/s; slower rock (not water) is raised to it, vp with it")
    subsamples: int = setting(
        0, integer(0, 64), "parts of a cell along each side that are averaged; 0 takes what the medium needs"
    )


@dataclass(frozen=True)
class AttenuationConfig:
    """Quality factors: numbers or rules, or "" for those of the model's file. Without this table the ground is elastic."""

    qp: float | str = setting(
        "2 qs", _rule("qp"), 'a number, or as in "2 qs", "0.1 vs" (vs in m/s); "" is the model\'s own'
    )
    qs: float | str = setting("0.05 vs", _rule("qs"), 'a number, or as in "0.05 vs"; "" is the model\'s own')
    reference_frequency_hz: float = setting(1.0, number(1e-6, 1e6, "Hz"), "Hz; at it the model's velocities hold")
    band_hz: tuple[float, ...] = setting((0.01, 25.0), _numbers((2,), 1e-6, 1e6, "Hz"), "Hz; where Q is as wished")
    exponent: float = setting(
        0.0, number(0, 0.99), "Q grows as (f / reference)^exponent above the reference; 0: constant"
    )


@dataclass(frozen=True)
class BoundaryConfig:
    """The top, and the sides that waves leave by."""

    top: str = setting("free", choice("free", "absorbing"), '"free" or "absorbing"')
    absorbing: str = setting("pml", choice("pml", "sponge", "none"), '"pml", "sponge" (Cerjan), or "none": closed')
    width_cells: int = setting(0, integer(0, 1000), "cells; 0: 10 of a pml, 20 of a sponge")
    multi_axial_ratio: float = setting(
        0.02, number(0, 1), "pml: a loss in all directions, as a part of the damping; 0 is a plain PML"
    )
    multi_axial_power: float = setting(10.0, number(0, 100), "pml: how that loss grows with depth in the layer")

    @property
    def layer_cells(self) -> int:
        """Cells of a layer, by choice or by default."""
        return self.width_cells or {"pml": 10, "sponge": 20, "none": 0}[self.absorbing]


@dataclass(frozen=True)
class SourceConfig:
    """A source; any number of tables [[source]]."""

    mode: str = setting(
        "moment_rate", choice(*MODES), "moment_rate, force_x, force_y, force_z, force_xyz, traction_xz, ..."
    )
    position_m: tuple[float, ...] = setting(
        (), _numbers((3,), -1e9, 1e9, "m", empty=True), "m; [x, y, z], or lon_lat and depth_m"
    )
    lon_lat: tuple[float, ...] = setting((), _numbers((2,), -360, 360, "degrees", empty=True), "degrees")
    depth_m: float = setting(0.0, number(-1e7, 1e7, "m"), "m; with lon_lat")
    moment_Nm: tuple[float, ...] = setting((), _moment, "N m; [xx, yy, zz, xy, xz, yz] along the grid's axes")
    strike_dip_rake_deg: tuple[float, ...] = setting(
        (), _numbers((3,), -360, 360, "degrees", empty=True), "degrees from true north, with m0_Nm or mw"
    )
    m0_Nm: float = setting(0.0, number(0, 1e30, "N m"), "N m; seismic moment")
    mw: float = setting(-99.0, number(-99, 12), "moment magnitude; -99: not given")
    force_N: tuple[float, ...] = setting(
        (),
        _numbers((1, 3), -1e30, 1e30, "N", empty=True),
        "N; [F] of force_* and traction_*, [Fx, Fy, Fz] of force_xyz",
    )
    time_function: str = setting(
        "", choice("", *KINDS, "file"), "gaussian, brune, triangle, cosine, liu, step, ricker or file"
    )
    sigma_s: float = setting(0.0, number(0, 1e6, "s"), "s; gaussian")
    period_s: float = setting(0.0, number(0, 1e6, "s"), "s; brune")
    duration_s: float = setting(0.0, number(0, 1e6, "s"), "s; triangle, cosine, liu, step")
    frequency_hz: float = setting(0.0, number(0, 1e6, "Hz"), "Hz; ricker's peak")
    centre_s: float = setting(
        -1.0, number(-1, 1e6, "s"), "s; gaussian's and ricker's middle; -1 takes what begins quietly"
    )
    time_file: str = setting("", text, "rows of time in s and rate", path="input")
    start_s: float = setting(0.0, number(0, 1e7, "s"), "s; when the source begins")
    event_file: str = setting("", text, "CMTSOLUTION, QuakeML, ... instead of position and moment", path="input")
    fault_file: str = setting("", text, "SRF file, its HDF5 form, or a partitioned source", path="input")
    memory_mb: float = setting(256.0, number(1, 1e6, "MB"), "MB that a fault's source may take on each rank")


@dataclass(frozen=True)
class ReceiversConfig:
    """Stations, whose seismograms are written."""

    file: str = setting("", text, "CSV or StationXML, relative to this file's folder", path="input")
    stations: tuple[tuple[Any, ...], ...] = setting((), _stations, '[["name", x_m, y_m(, z_m)], ...]')
    every: int = setting(1, integer(1, 10**6), "steps between samples")


@dataclass(frozen=True)
class SgtConfig:
    """Strain Green's tensors: six strains at many points."""

    points: str = setting("", text, "file of points, relative to this file's folder", path="input")
    every: int = setting(10, integer(1, 10**6), "steps between samples")
    aggregate: int = setting(
        0, integer(0, 10**6), "samples that are gathered before they are written; 0 takes what 64 MB hold"
    )
    stripe_mb: float = setting(
        0.0, number(0, 1e5, "MB"), "MB; the file system's stripe that pieces are cut to; 0: none"
    )


@dataclass(frozen=True)
class SnapshotsConfig:
    """Fields on the surface, or in a part of the volume, now and then."""

    every: int = setting(0, integer(0, 10**7), "steps; 0: none")
    fields: tuple[str, ...] = setting(("vx", "vy", "vz"), _fields, "of vx, vy, vz, xx, yy, zz, xy, xz, yz")
    volume: bool = setting(False, boolean, "true: everywhere; false: on the surface")
    coarsen: int = setting(1, integer(1, 1000), "every so many cells along each side")


@dataclass(frozen=True)
class MovieConfig:
    """Pictures of the surface's speed while the run goes on."""

    every: int = setting(0, integer(0, 10**7), "steps; 0: none")
    largest_m_s: float = setting(0.0, number(0, 1e6, "m/s"), "m/s at the end of the colours; 0: as it comes")


@dataclass(frozen=True)
class CheckpointConfig:
    """From which a run goes on that was ended."""

    every_s: float = setting(0.0, number(0, 1e7, "s"), "s of wall clock; 0: none")
    every_steps: int = setting(0, integer(0, 10**9), "steps; 0: none")


@dataclass(frozen=True)
class Config:
    """A whole configuration, checked. Paths in it are absolute."""

    run: RunConfig
    grid: GridConfig
    time: TimeConfig
    media: MediaConfig
    attenuation: AttenuationConfig | None
    boundary: BoundaryConfig
    receivers: ReceiversConfig
    sgt: SgtConfig
    snapshots: SnapshotsConfig
    movie: MovieConfig
    checkpoint: CheckpointConfig
    sources: tuple[SourceConfig, ...]
    path: Path = Path("config.toml")

    @property
    def cells(self) -> tuple[int, int, int]:
        a, b, c = (round(size / self.grid.spacing_m) for size in self.size_m)
        return a, b, c

    @property
    def size_m(self) -> tuple[float, ...]:
        return self.grid.size_m or tuple(1e3 * size for size in self.grid.size_km)

    def wrong(self, message: str) -> UserError:
        return UserError(f"{self.path}: {message}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a TOML file holds them."""
        tables = {name: getattr(self, name) for name in TABLES}
        plain: dict[str, Any] = {name: dataclasses.asdict(table) for name, table in tables.items() if table is not None}
        return plain | {"source": [dataclasses.asdict(source) for source in self.sources]}

    def to_toml(self) -> str:
        """With every default written out; load_config reads it back, from any folder."""
        tables = ((name, getattr(self, name)) for name in TABLES)
        written = [table_to_toml(name, table) for name, table in tables if table is not None]
        return "\n".join([*written, *(table_to_toml("[source]", source) for source in self.sources)])

    def replaced(self, table: str, **values: Any) -> Config:
        """A copy with some settings of one table replaced, checked as if they had been written in the file."""
        raw = self.to_dict()
        raw.setdefault(table, {}).update(values)
        return build(raw, self.path)


TABLES: dict[str, type] = {
    "run": RunConfig,
    "grid": GridConfig,
    "time": TimeConfig,
    "media": MediaConfig,
    "attenuation": AttenuationConfig,
    "boundary": BoundaryConfig,
    "receivers": ReceiversConfig,
    "sgt": SgtConfig,
    "snapshots": SnapshotsConfig,
    "movie": MovieConfig,
    "checkpoint": CheckpointConfig,
}


def load_config(path: str | os.PathLike[str]) -> Config:
    """Reads and checks a configuration file. UserError names the key, the value and what is allowed."""
    path = Path(path)
    return build(read_toml(path, "craton waves template"), path)


def build(raw: Mapping[str, Any], path: Path) -> Config:
    """From what a TOML file holds."""
    check_keys(raw, {**TABLES, "source": SourceConfig}, f"{path}: unknown table", brackets=True)
    folder, where = path.absolute().parent, str(path)
    tables: dict[str, Any] = {
        name: None
        if name == "attenuation" and name not in raw
        else read_table(table, name, raw.get(name, {}), where, folder)
        for name, table in TABLES.items()
    }
    listed = raw.get("source", [])
    if not isinstance(listed, list):
        raise UserError(f"{path}: [source] is one table; allowed: [[source]], in double brackets, for each source")
    sources = tuple(
        read_table(SourceConfig, f"[[source]] {at}", one, where, folder) for at, one in enumerate(listed, 1)
    )
    config = Config(**tables, sources=sources, path=path)
    if not config.run.directory:
        default = dataclasses.replace(config.run, directory=str(Path.cwd() / f"{path.stem}-run"))
        config = dataclasses.replace(config, run=default)
    _check_grid(config)
    _check_media(config)
    for at, source in enumerate(config.sources, 1):
        _check_source(config, source, f"[[source]] {at}")
    return config


def template() -> str:
    """A commented TOML file with every table, key and default."""
    lines = [
        "# A run of the wave solver. Look at it with: craton waves check THIS_FILE; start it with: craton waves run THIS_FILE",
        "",
    ]
    examples = {"spacing_m": 100.0, "duration_s": 10.0, "size_km": [12.0, 12.0, 6.0]}
    at_source = {"position_m": [6000.0, 6000.0, 2000.0], "moment_Nm": [0.0, 0.0, 0.0, 1e18, 0.0, 0.0]} | {
        "time_function": "gaussian",
        "sigma_s": 0.2,
    }
    for name, table in [*TABLES.items(), ("source", SourceConfig)]:
        source = table is SourceConfig
        lines += [f"# {' '.join((table.__doc__ or '').split())}", f"[[{name}]]" if source else f"[{name}]"]
        given = at_source if source else examples if name in ("grid", "time") else {}
        for item in dataclasses.fields(table):
            value = given.get(item.name, item.default)
            lines.append(f"{f'{item.name} = {toml_value(value)}':<44} # {item.metadata['help']}")
        lines.append("")
    return "\n".join(lines)


def _check_grid(config: Config) -> None:
    grid, boundary = config.grid, config.boundary
    if bool(grid.size_km) == bool(grid.size_m):
        raise config.wrong(
            f"[grid] {'both size_km and size_m' if grid.size_km else 'no size'}; allowed: size_km or size_m, [x, y, z]"
        )
    for axis, size, n in zip("xyz", config.size_m, config.cells, strict=True):
        if n < 1 or abs(size / grid.spacing_m - n) > 1e-6 * n:
            raise config.wrong(
                f"[grid] size along {axis} = {size:g} m; allowed: a whole number of cells of spacing_m = {grid.spacing_m:g} m"
            )
    sides = 2 if boundary.absorbing != "none" else 0
    for axis, n in zip("xyz", config.cells, strict=True):
        layers = (1 + (boundary.top == "absorbing")) * sides // 2 if axis == "z" else sides
        needed = layers * boundary.layer_cells + 8
        if n < needed:
            raise config.wrong(
                f"[grid] {n} cells along {axis}; allowed: {needed} or more, {layers} absorbing layers of width_cells = "
                f"{boundary.layer_cells} and 8 between"
            )
    if boundary.top == "absorbing" and boundary.absorbing == "none":
        raise config.wrong(
            '[boundary] top = "absorbing" with absorbing = "none"; allowed: absorbing = "pml" or "sponge"'
        )
    if grid.origin_lon_lat and abs(grid.origin_lon_lat[1]) > 89:
        raise config.wrong(
            f"[grid] origin_lon_lat = {shown(grid.origin_lon_lat)}; allowed: a latitude in [-89, 89] degrees"
        )
    parts, ranks = config.run.decomposition, config.run.ranks
    if parts and ranks and math.prod(parts) != ranks:
        raise config.wrong(
            f"[run] decomposition = {shown(parts)} of {math.prod(parts)} bricks; allowed: ranks = {ranks} of them"
        )
    if any(n // p < THINNEST for p, n in zip(parts, config.cells, strict=False)):
        most = [n // THINNEST for n in config.cells]
        raise config.wrong(
            f"[run] decomposition = {shown(parts)}; allowed: at most {shown(most)}, for bricks of {THINNEST} cells a side"
        )


def _check_media(config: Config) -> None:
    media, attenuation = config.media, config.attenuation
    if media.kind == "layers" and bool(media.layers) == bool(media.file):
        raise config.wrong(
            f"[media] {'both layers and file' if media.file else 'no layers'}; allowed: layers, or a file of them"
        )
    if media.kind == "file" and not media.file:
        raise config.wrong('[media] file is missing; allowed: a model\'s file, because kind = "file"')
    if media.kind == "constant" and (media.file or media.layers):
        raise config.wrong(
            f'[media] {"file" if media.file else "layers"} with kind = "constant"; allowed: kind = "layers" or "file"'
        )
    if media.read == "partitioned" and media.kind != "file":
        raise config.wrong('[media] read = "partitioned"; allowed: with kind = "file"')
    if attenuation is None:
        return
    low, high = attenuation.band_hz
    if not 3 * low < high:
        raise config.wrong(
            f"[attenuation] band_hz = {shown(attenuation.band_hz)}; allowed: [lower, higher] Hz, more than a factor of 3 apart"
        )
    if (attenuation.qp == "") != (attenuation.qs == ""):
        raise config.wrong(
            '[attenuation] only one of qp and qs is ""; allowed: both (the model\'s own), or rules for both'
        )
    if attenuation.qp == "" and media.kind == "constant":
        raise config.wrong('[attenuation] qp = "" with constant media; allowed: a number or a rule')


def _check_source(config: Config, source: SourceConfig, where: str) -> None:
    def wrong(text: str) -> UserError:
        return config.wrong(f"{where} {text}")

    given = [name for name in ("event_file", "fault_file") if getattr(source, name)]
    moments = [name for name in ("moment_Nm", "strike_dip_rake_deg") if getattr(source, name)]
    point = [name for name in ("position_m", "lon_lat") if getattr(source, name)]
    if given:
        others = [*given[1:], *moments, *point, *(["force_N"] if source.force_N else [])]
        if others or source.mode != "moment_rate":
            raise wrong(
                f"{given[0]} with {', '.join(others) or source.mode}; allowed: {given[0]} alone says where and what"
            )
        if given[0] == "fault_file" and source.time_function:
            raise wrong("fault_file with time_function; allowed: neither, because the file has slip rates")
    elif len(point) != 1:
        raise wrong(
            f"{'both' if point else 'neither'} position_m and lon_lat; allowed: position_m, or lon_lat and depth_m"
        )
    elif source.mode == "moment_rate":
        if len(moments) != 1 or source.force_N:
            found = ", ".join([*moments, *(["force_N"] if source.force_N else [])]) or "no moment"
            raise wrong(f"moment_rate with {found}; allowed: moment_Nm, or strike_dip_rake_deg with m0_Nm or mw")
        if source.strike_dip_rake_deg and (source.m0_Nm > 0) == (source.mw > -99):
            raise wrong("strike_dip_rake_deg needs a moment; allowed: one of m0_Nm (above 0) and mw")
    elif moments or len(source.force_N) != (3 if source.mode == "force_xyz" else 1):
        count = "[Fx, Fy, Fz]" if source.mode == "force_xyz" else "[F]"
        raise wrong(
            f"{source.mode} with force_N = {shown(source.force_N)}{' and moments' * bool(moments)}; allowed: {count} in N"
        )
    if source.mode.startswith("traction") and config.boundary.top != "free":
        raise wrong(f'{source.mode} with [boundary] top = "{config.boundary.top}"; allowed: on a free surface')
    if (config.grid.origin_lon_lat == ()) and (source.lon_lat or given):
        raise wrong(
            f"{(given or ['lon_lat'])[0]} needs a place on the Earth; allowed: [grid] origin_lon_lat = [lon, lat]"
        )
    if source.lon_lat and abs(source.lon_lat[1]) > 90:
        raise wrong(f"lon_lat = {shown(source.lon_lat)}; allowed: a latitude in [-90, 90] degrees")
    _check_time(source, wrong, bool(given))


def _check_time(source: SourceConfig, wrong: Any, from_file: bool) -> None:
    kind = source.time_function
    if not kind and not from_file:
        raise wrong(f"time_function is missing; allowed: {', '.join(KINDS)}, file")
    if kind == "file" and not source.time_file:
        raise wrong('time_file is missing; allowed: rows of time and rate, because time_function = "file"')
    needed = KINDS[kind][1] if kind in KINDS else ""
    for name in sorted({parameter for _, parameter in KINDS.values()}):
        if (getattr(source, name) > 0) != (name == needed):
            what = "missing" if name == needed else "not of it"
            raise wrong(
                f'time_function = "{kind}": {name} is {what}; allowed: {f"{needed} above 0" if needed else "none"}'
            )
    if kind in KINDS:
        try:
            source_time(kind, getattr(source, needed), source.centre_s if source.centre_s >= 0 else None)
        except UserError as error:
            raise wrong(str(error)) from None
