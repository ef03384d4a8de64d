"""The tables of a wave run's configuration: every setting with its default, what is allowed, and its help."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from craton.errors import UserError
from craton.seismology.geometry.projection import PROJECTIONS
from craton.seismology.ground.media import Layers, quality_rule
from craton.seismology.ground.near_surface import FASTEST, SLOWEST
from craton.seismology.sources.point_sources import MODES
from craton.seismology.sources.source_time import KINDS
from craton.seismology.wave_run.refinement import COARSER
from craton.settings import REQUIRED, Reader, boolean, choice, directory_setting, finite, integer, number, setting, text

Numbers = tuple[float, ...]
FIELDS = ("vx", "vy", "vz", "xx", "yy", "zz", "xy", "xz", "yz")


def listed(item: Reader, allowed: str, counts: tuple[int, ...] = ()) -> Reader:
    """Reads a list whose items `item` reads, as a tuple. counts: how many there may be; any number where it is empty."""

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or (counts and len(value) not in counts):
            raise ValueError(allowed)
        try:
            return tuple(item(one) for one in value)
        except ValueError:
            raise ValueError(allowed) from None

    return read


def numbers(*counts: int, within: tuple[float, float], unit: str) -> Reader:
    """A list of so many numbers in a range; 0 among the counts: or none."""
    wanted = " or ".join(str(count) for count in counts if count)
    allowed = f"a list of {wanted} numbers in [{within[0]:g}, {within[1]:g}] {unit}" + (
        ", or []" if 0 in counts else ""
    )
    return listed(number(*within), allowed, counts)


def _degrees(count: int) -> Reader:
    return numbers(count, 0, within=(-360, 360), unit="degrees")


def _metres(low: float, high: float, unit: str = "m") -> Reader:
    return numbers(3, 0, within=(low, high), unit=unit)


parts = listed(integer(1, 10**6), "a list of 3 whole numbers above 0, [px, py, pz], or []", (0, 3))


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
    rows: tuple[tuple[float, ...], ...] = listed(listed(finite, allowed), allowed)(value)
    try:
        return Layers(rows=rows).rows if rows else rows
    except UserError:
        raise ValueError(allowed) from None


def _vs30(value: Any) -> float:
    found = finite(value)
    if found and not SLOWEST <= found <= FASTEST:
        raise ValueError(f"{SLOWEST:g} to {FASTEST:g} m/s, or 0")
    return found


STRIPE_MB, MOST_STRIPE_MB = 1 / 16, 4096.0
"""64 KiB, of which Lustre's stripes are multiples; 4 GiB, below which they are."""


def _stripe(value: Any) -> float:
    found = finite(value)
    if found % STRIPE_MB or not 0 <= found < MOST_STRIPE_MB:
        raise ValueError(f"0, or a multiple of {STRIPE_MB:g} MB (64 KiB) below {MOST_STRIPE_MB:g}")
    return found


UTC_TIME = 'a date and time in UTC, as in "2019-07-06T03:19:53.04", or ""'


def utc_time(value: Any) -> str:
    """ISO 8601 without a zone. TOML's own dates and times do too."""
    if value == "":
        return ""
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(text(value))
        if found.tzinfo is not None:
            found = found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise ValueError(UTC_TIME) from None
    return found.isoformat()


STATION = 'a list of stations ["name", x_m, y_m] or ["name", x_m, y_m, z_m]'


def _station(row: Any) -> tuple[Any, ...]:
    if not isinstance(row, list | tuple) or len(row) not in (3, 4) or not isinstance(row[0], str):
        raise ValueError(STATION)
    if not all(type(item) in (int, float) for item in row[1:]):
        raise ValueError(STATION)
    return tuple(row)


def some(names: tuple[str, ...]) -> Reader:
    """Reads a list of one or more names, each once."""
    allowed = f"a list of one or more of {', '.join(names)}"

    def read(value: Any) -> tuple[str, ...]:
        found: tuple[str, ...] = listed(choice(*names), allowed)(value)
        if not found or len(set(found)) < len(found):
            raise ValueError(allowed)
        return found

    return read


def read_bits(value: Any) -> int:
    """Reads 16 or 32."""
    found: int = integer(16, 32)(value)
    if found not in (16, 32):
        raise ValueError("16 or 32")
    return found


@dataclass(frozen=True)
class RunConfig:
    """Where results go, and how the work is shared out."""

    directory: str = directory_setting()
    ranks: int = setting(0, integer(0, 10**6), "processes, if --ranks does not say; 0: one")
    threads: int = setting(1, integer(1, 1024), "of each rank")
    device: str = setting(
        "cpu", choice("cpu", "cuda"), '"cpu", or "cuda": a GPU for each rank, those of a machine in turn'
    )
    decomposition: tuple[int, ...] = setting(
        (), parts, "[px, py, pz] bricks; [] takes what has the least area between bricks"
    )
    striping_factor: int = setting(
        0, integer(0, 10**5), "storage targets that each file is spread over; 0: as the file system has it"
    )
    striping_unit_mb: float = setting(0.0, _stripe, "MB on each target before the next; 0: as the file system has it")
    cb_nodes: int = setting(0, integer(0, 10**6), "ranks that write files for all the others; 0: every rank writes")


@dataclass(frozen=True)
class GridConfig:
    """Cells of side spacing_m; x north (turned by azimuth_deg), y east, z down; its corner is (0, 0, 0)."""

    size_km: Numbers = setting((), _metres(1e-6, 1e6, "km"), "km; [x, y, z], or give size_m")
    size_m: Numbers = setting((), _metres(1e-3, 1e9), "m; [x, y, z], or give size_km")
    spacing_m: float = setting(REQUIRED, number(1e-3, 1e6, "m"), "m; side of a cell")
    coarser_below_m: float = setting(
        0.0, number(0, 1e7, "m"), "m; below this depth cells have three times the side; 0: all cells are alike"
    )
    origin_lon_lat: Numbers = setting(
        (), _degrees(2), "degrees; where the grid lies, for sources and stations in degrees"
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

    @property
    def extent_m(self) -> tuple[float, ...]:
        """size_m, however it was given."""
        return self.size_m or tuple(1e3 * size for size in self.size_km)

    @property
    def cells(self) -> tuple[int, int, int]:
        """Along x, y and z."""
        a, b, c = (round(size / self.spacing_m) for size in self.extent_m)
        return a, b, c

    @property
    def upper_cells(self) -> tuple[int, int, int]:
        """Along x, y and z, above coarser_below_m: all of them where it is 0."""
        a, b, c = self.cells
        return a, b, round(self.coarser_below_m / self.spacing_m) or c

    @property
    def lower_cells(self) -> tuple[int, int, int]:
        """Of three times the side, below coarser_below_m; none along z where it is 0."""
        a, b, c = self.cells
        return a // COARSER, b // COARSER, (c - self.upper_cells[2]) // COARSER


@dataclass(frozen=True)
class TimeConfig:
    """How long, and in what steps."""

    duration_s: float = setting(REQUIRED, number(1e-9, 1e7, "s"), "s")
    dt_s: float = setting(
        0.0, number(0, 1e5, "s"), "s; 0 takes 0.95 of the largest stable step, or less for path_error"
    )
    path_error: float = setting(
        0.05,
        number(0, 100),
        "where dt_s is 0: the part of a motion that may be wrong at the end of the longest path; 0: whatever it is",
    )
    origin_time: str = setting(
        "",
        utc_time,
        'UTC of t = 0, as in "2019-07-06T03:19:53.04"; "" takes that of the first event_file, if there is one',
    )


HILL = "an inline table {height_m, radius_m, centre_m = [x, y]}, a list [height_m, radius_m, x_m, y_m], or []"


def _hill(value: Any) -> Numbers:
    if isinstance(value, dict):
        if set(value) != {"height_m", "radius_m", "centre_m"} or not isinstance(value["centre_m"], list | tuple):
            raise ValueError(HILL)
        value = [value["height_m"], value["radius_m"], *value["centre_m"]]
    found: Numbers = listed(number(-1e9, 1e9), HILL, (0, 4))(value)
    if found and not (found[1] > 0 and abs(found[0]) <= 1e5):
        raise ValueError(f"{HILL}, with a radius above 0 and a height in [-1e5, 1e5] m")
    return found


def _elevation(value: Any) -> float | str:
    return "" if value == "" else number(-1e5, 1e5, 'm, or ""')(value)


@dataclass(frozen=True)
class TopographyConfig:
    """The ground's surface, from a file, as a hill or at one elevation. Without this table it is z = 0."""

    file: str = setting(
        "", text, "elevations in m: NetCDF (GMT), ESRI ASCII grid (.asc), or rows of x, y, elevation", path="input"
    )
    file_axes: str = setting(
        "auto",
        choice("auto", "degrees", "grid"),
        'of the file: "degrees" (longitude, latitude), or "grid" (x, y in m); auto: degrees where the grid has origin_lon_lat',
    )
    outside: str = setting(
        "refuse", choice("refuse", "nearest"), "where the file ends inside the grid: refuse, or go on as at its end"
    )
    hill: Numbers = setting(
        (), _hill, "[height_m, radius_m, x_m, y_m], or {height_m, radius_m, centre_m}: height exp(-(r/radius)^2)"
    )
    elevation_m: float = setting(0.0, number(-1e5, 1e5, "m"), "m; of the ground, or of the plain round the hill")
    z0_elevation_m: float | str = setting("", _elevation, 'm; elevation of z = 0; "": 4 cells above the highest ground')
    depth_from: str = setting(
        "ground",
        choice("ground", "level", "sea_level"),
        'what depths of [media] count from: the "ground", the "level" z = 0, or "sea_level", elevation 0',
    )


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
        choice("auto", "netcdf", "hdf5", "awp", "ucvm", "rfile", "sfile"),
        "auto goes by the file's ending; awp: float32 vp, vs, rho (qp, qs), as ucvm2mesh writes; ucvm: rows of ucvm_query; rfile, "
        "sfile: of SW4",
    )
    file_spacing_m: float = setting(0.0, number(0, 1e6, "m"), "m; of an awp file's cells; 0: as the grid's")
    file_cells: tuple[int, ...] = setting(
        (), parts, "[nx, ny, nz] of an awp file, along the grid's axes; []: as the grid's"
    )
    file_axes: str = setting(
        "xy",
        choice("xy", "yx"),
        "horizontal axes of an awp file, the fastest first: xy, or yx as of ucvm2mesh with rot = -azimuth_deg",
    )
    depth_from: str = setting(
        "surface",
        choice("surface", "sea_level"),
        "what z = 0 is in an rfile or sfile: the ground's surface, which the model follows, or sea level",
    )
    read: str = setting(
        "parallel",
        choice("parallel", "serial", "partitioned"),
        "each rank its part; one rank deals out; file is the media.json of media written in parts",
    )
    outside: str = setting(
        "refuse", choice("refuse", "nearest"), "where a file ends inside the grid: refuse, or go on as at its end"
    )
    vs30: float = setting(
        0.0,
        _vs30,
        "m/s; near the surface vs, vp, rho from Vs30 (Ely et al. 2010); 0: those of the model",
    )
    vs30_file: str = setting(
        "", text, "instead of vs30 a map: NetCDF, or rows of longitude, latitude and Vs30", path="input"
    )
    vs30_depth_m: float = setting(350.0, number(1, 1e4, "m"), "m; down to here")
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
    band_hz: Numbers = setting((0.01, 25.0), numbers(2, within=(1e-6, 1e6), unit="Hz"), "Hz; where Q is as wished")
    exponent: float = setting(
        0.0, number(0, 0.99), "Q grows as (f / reference)^exponent above the reference; 0: constant"
    )


@dataclass(frozen=True)
class BoundaryConfig:
    """The top, and the sides that waves leave by."""

    top: str = setting("free", choice("free", "absorbing"), '"free" or "absorbing"')
    absorbing: str = setting("pml", choice("pml", "sponge", "none"), '"pml", "sponge" (Cerjan), or "none": closed')
    width_cells: int = setting(
        0, integer(0, 1000), "cells, the coarse ones with coarser_below_m; 0: 10 of a pml, 20 of a sponge"
    )
    multi_axial_ratio: float = setting(
        0.02, number(0, 1), "pml: a loss in all directions, as a part of the damping; 0 is a plain PML"
    )
    multi_axial_power: float = setting(10.0, number(0, 100), "pml: how that loss grows with depth in the layer")
    damping_speed_m_s: float = setting(
        0.0,
        number(0, 1e5, "m/s"),
        "pml: P waves it damps, m/s; 0: the fastest of the ground. Give it to runs that are compared",
    )
    frequency_shift_per_s: float = setting(
        0.0, number(0, 1e6, "1/s"), "pml: its frequency shift, 1/s; 0: 0.16 of the slowest vs over the side of a cell"
    )

    @property
    def layer_cells(self) -> int:
        """Cells of a layer, by choice or by default."""
        return self.width_cells or {"pml": 10, "sponge": 20, "none": 0}[self.absorbing]


@dataclass(frozen=True)
class SourceConfig:
    """A source; any number of tables [[source]]."""

    mode: str = setting(
        "moment_rate", choice(*MODES), "moment_rate, force_x, _y, _z, _xyz, stress_xz, _yz, _zz, traction_xz, _yz, _zz"
    )
    position_m: Numbers = setting((), _metres(-1e9, 1e9), "m; [x, y, z], or lon_lat and depth_m")
    lon_lat: Numbers = setting((), _degrees(2), "degrees")
    depth_m: float = setting(0.0, number(-1e7, 1e7, "m"), "m; with lon_lat")
    moment_Nm: Numbers = setting(
        (),
        numbers(6, 0, within=(-1e30, 1e30), unit="N m: xx, yy, zz, xy, xz, yz"),
        "N m; [xx, yy, zz, xy, xz, yz] along the grid's axes",
    )
    strike_dip_rake_deg: Numbers = setting((), _degrees(3), "degrees from true north, with m0_Nm or mw")
    m0_Nm: float = setting(0.0, number(0, 1e30, "N m"), "N m; seismic moment")
    mw: float = setting(-99.0, number(-99, 12), "moment magnitude; -99: not given")
    force_N: Numbers = setting(
        (),
        numbers(1, 3, 0, within=(-1e30, 1e30), unit="N"),
        "N; [F] of force_* and traction_*, [Fx, Fy, Fz] of force_xyz",
    )
    stress_Nm: Numbers = setting(
        (),
        numbers(1, 0, within=(-1e30, 1e30), unit="N m"),
        "N m; [S] of stress_*: stress times volume, which is added where that stress lies",
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

    file: str = setting(
        "",
        text,
        "StationXML, or CSV with name and x_m, y_m (z_m), or name and longitude, latitude (depth_m); instead of stations",
        path="input",
    )
    stations: tuple[tuple[Any, ...], ...] = setting((), listed(_station, STATION), '[["name", x_m, y_m(, z_m)], ...]')
    every: int = setting(1, integer(1, 10**6), "steps between samples")


@dataclass(frozen=True)
class SgtConfig:
    """Strain Green's tensors: six strains at many points."""

    points: str = setting("", text, "file of points, relative to this file's folder", path="input")
    every: int = setting(10, integer(1, 10**6), "steps between samples")
    aggregate: int = setting(
        0, integer(0, 10**6), "samples that are gathered before they are written; 0 takes what 64 MB hold"
    )
    stripe_mb: float = setting(0.0, _stripe, "MB; striping_unit_mb of this file; 0: that of [run]")


@dataclass(frozen=True)
class SpectraConfig:
    """Fourier transforms of strains and velocities at every so many cells, summed while the run goes on."""

    band_hz: Numbers = setting(
        (), numbers(2, 0, within=(0, 1e6), unit="Hz"), "Hz; [lowest, highest] frequency; []: no transforms"
    )
    spacing_hz: float = setting(
        0.0, number(0, 1e6, "Hz"), "Hz; between frequencies; 0: 1 / (2 duration_s), with which products do not wrap"
    )
    fields: tuple[str, ...] = setting(
        ("strain",), some(("strain", "velocity")), "of strain, which tells of speeds, and velocity, of density too"
    )
    coarsen: int = setting(1, integer(1, 1000), "every so many cells along each side")
    low_m: Numbers = setting((), _metres(0, 1e9), "m; corner of a box [x, y, z]; []: all but the absorbing sides")
    high_m: Numbers = setting((), _metres(0, 1e9), "m; its other corner")
    every: int = setting(0, integer(0, 10**6), "steps between samples; 0: as many as the sources' frequencies bear")
    bits: int = setting(32, read_bits, "of a number on disk: 32, or 16, which err by 1/2000 of the largest at a point")


@dataclass(frozen=True)
class SnapshotsConfig:
    """Fields on the surface, or in a part of the volume, now and then."""

    every: int = setting(0, integer(0, 10**7), "steps; 0: none")
    fields: tuple[str, ...] = setting(("vx", "vy", "vz"), some(FIELDS), "of vx, vy, vz, xx, yy, zz, xy, xz, yz")
    volume: bool = setting(False, boolean, "true: everywhere; false: one plane, the surface")
    z_m: float = setting(
        0.0, number(0, 1e9, "m"), "m; where that plane lies below z = 0, which under topography is air"
    )
    coarsen: int = setting(1, integer(1, 1000), "every so many cells along each side")


@dataclass(frozen=True)
class MovieConfig:
    """Pictures of the surface's speed while the run goes on."""

    every: int = setting(0, integer(0, 10**7), "steps; 0: none")
    largest_m_s: float = setting(0.0, number(0, 1e6, "m/s"), "m/s at the end of the colours; 0: as it comes")
    z_m: float = setting(0.0, number(0, 1e9, "m"), "m; of a plane below z = 0 instead, which under topography is air")


@dataclass(frozen=True)
class CheckpointConfig:
    """From which a run goes on that was ended."""

    every_s: float = setting(0.0, number(0, 1e7, "s"), "s of wall clock; 0: none")
    every_steps: int = setting(0, integer(0, 10**9), "steps; 0: none")


TABLES: dict[str, type] = {
    "run": RunConfig,
    "grid": GridConfig,
    "time": TimeConfig,
    "topography": TopographyConfig,
    "media": MediaConfig,
    "attenuation": AttenuationConfig,
    "boundary": BoundaryConfig,
    "receivers": ReceiversConfig,
    "sgt": SgtConfig,
    "spectra": SpectraConfig,
    "snapshots": SnapshotsConfig,
    "movie": MovieConfig,
    "checkpoint": CheckpointConfig,
}
"""All but [[source]], by name, in the order in which they are written."""
