"""From a configuration to what the solver is given: grid, medium, sources, receivers, and the step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.hdf5_files import opened_hdf5
from craton.seismology.geometry.grid import Box, Grid, bricks, decompose
from craton.seismology.geometry.projection import projection_about
from craton.seismology.ground.media import Constant, Layers, Medium, QualityRules, Range, Subsamples, read_layers
from craton.seismology.ground.media_files import open_awp, open_hdf5, open_netcdf
from craton.seismology.ground.media_partition import open_partitions
from craton.seismology.ground.near_surface import NearSurface, constant_vs30, open_vs30
from craton.seismology.ground.sw4_files import open_rfile, open_sfile
from craton.seismology.ground.topography import (
    BelowGround,
    Elevation,
    Topography,
    gaussian_hill,
    open_elevation,
    with_sea_level,
)
from craton.seismology.ground.ucvm_text import open_ucvm_text
from craton.seismology.sources.kinematic import read_kinematic
from craton.seismology.sources.point_sources import (
    PointSource,
    PointSources,
    Source,
    box_metres,
    catalogue_point,
    double_couple,
    moment_of_magnitude,
    point_source,
    read_catalogue_event,
)
from craton.seismology.sources.source_time import KINDS, SourceTime, read_series, source_time
from craton.seismology.sources.streamed_source import StreamedSource
from craton.seismology.sources.subfaults import Rigidity
from craton.seismology.wave_run.config import SAFETY, STABILITY, Config
from craton.seismology.wave_run.config_tables import SourceConfig
from craton.seismology.wave_run.dispersion import Path as WavePath
from craton.seismology.wave_run.dispersion import path_of, step_for_path
from craton.seismology.wave_run.receivers import (
    Receivers,
    below_ground,
    read_points,
    read_stations,
    stations_from_list,
)
from craton.seismology.wave_run.refinement import COARSER, GridPart, parts_of
from craton.seismology.wave_run.spectra import QUIET, SpectraPlan, spectra_of

Array = NDArray[np.float64]
MARGIN_CELLS = 4
"""Round a brick, from which a source reaches into it: half the interpolation's width, and the half cell between fields."""
MOST_ENDS = 64
"""Of paths: so many places of sources are looked at one by one."""
SHIFT = 0.16
"""Of the slowest vs over the side of a cell: the frequency shift of a PML (absorbing_layers.hpp)."""
IN_THE_AIR = 1e-3
"""Of a cell, that rounding may lift a point above the ground."""
LOWEST_Q = 5.0
"""Less counts as this (relaxation.hpp)."""
FORMATS = {
    **dict.fromkeys((".nc", ".nc4", ".cdf", ".grd"), "netcdf"),
    **dict.fromkeys((".h5", ".hdf5"), "hdf5"),
    **dict.fromkeys((".bin", ".media"), "awp"),
    ".rfile": "rfile",
    ".sfile": "sfile",
}
OPENERS: dict[str, Callable[..., Medium]] = {"netcdf": open_netcdf, "hdf5": open_hdf5, "ucvm": open_ucvm_text}


class AbsorbingSides(NamedTuple):
    """What a PML is made for. 0: the solver's own, of the ground it has."""

    speed_m_s: float
    shift_per_s: float


@dataclass(frozen=True)
class Setup:
    """Everything that a configuration names, read when it is first asked for.

    Every rank makes its own; none of it is collective.
    """

    config: Config
    grid: Grid = field(init=False)
    medium: Medium = field(init=False)
    topography: Topography | None = field(init=False)
    """None where the ground's surface is z = 0"""

    def __post_init__(self) -> None:
        grid = grid_of(self.config)
        land = topography_of(self.config, grid)
        if land is not None:
            grid = with_sea_level(grid, land)
        object.__setattr__(self, "grid", grid)
        object.__setattr__(self, "topography", land)
        object.__setattr__(self, "medium", medium_of(self.config, grid, land))

    @cached_property
    def points(self) -> tuple[PointSource, ...]:
        """The sources at points. UserError for one outside the grid."""
        numbered = [(n, one) for n, one in enumerate(self.config.sources, 1) if not one.fault_file]
        made = tuple(_point(source, self.grid) for _, source in numbered)
        places = np.array([one.position_m for one in made], float).reshape(-1, 3)
        self.grid.check_inside(places, lambda at: f"{self.config.path}: [[source]] {numbered[at][0]}:")
        self._check_ground(places, lambda at: f"{self.config.path}: [[source]] {numbered[at][0]}:")
        return made

    def _check_ground(self, places: Array, name: Callable[[int], str]) -> None:
        """UserError for the first of some points, (n, 3), that lies in the air."""
        if self.topography is None or not len(places):
            return
        surface = self.topography.depth_at(places[:, 0], places[:, 1])
        above = places[:, 2] < surface - IN_THE_AIR * self.grid.spacing_m
        if above.any():
            at = int(np.argmax(above))
            x, y, z = places[at]
            raise UserError(
                f"{name(at)} at (x, y, z) = ({x:.6g}, {y:.6g}, {z:.6g}) m, in the air; allowed: z of {surface[at]:.6g} m, the "
                "ground's surface there, or more"
            )

    @cached_property
    def origin_time(self) -> str:
        """UTC of t = 0 in ISO 8601: the configuration's, or such that the first event of a file has its centroid time.

        "" where neither is given.
        """
        if self.config.time.origin_time:
            return self.config.time.origin_time
        points = [one for one in self.config.sources if not one.fault_file]
        for source, point in zip(points, self.points, strict=True):
            if source.event_file:
                centroid_s = point.start_s + point.time_function.centroid_s
                at = datetime.fromisoformat(read_catalogue_event(source.event_file).time)
                return (at - timedelta(seconds=centroid_s)).isoformat()
        return ""

    @cached_property
    def receivers(self) -> Receivers | None:
        """Stations of the list and of the file; None without any. UserError for one outside the grid."""
        given = self.config.receivers
        if given.file and given.stations:
            raise self.config.wrong("[receivers] both file and stations; allowed: one of them")
        where = f"{self.config.path}: [receivers] stations" if given.stations else given.file
        if given.stations:
            found = stations_from_list(given.stations, self.grid, where)
        elif given.file:
            found = read_stations(given.file, self.grid)
        else:
            return None
        return found if self.topography is None else below_ground(found, self.topography, self.grid, where)

    @cached_property
    def sgt_points(self) -> Array | None:
        """Points of strain Green's tensors, (n, 3), m; None without any. UserError for one outside the grid."""
        if not self.config.sgt.points:
            return None
        found = read_points(self.config.sgt.points, self.grid)
        self._check_ground(found, lambda at: f"{self.config.sgt.points}: receiver {at + 1}")
        return found

    @property
    def subsamples(self) -> Subsamples:
        """Parts of a cell along x, y and z for its effective media."""
        return self.subsamples_of(self.grid)

    def subsamples_of(self, grid: Grid) -> Subsamples:
        """The same of another grid's cells."""
        given = self.config.media.subsamples
        return (given, given, given) if given else self.medium.subsamples(grid)

    @cached_property
    def parts(self) -> tuple[GridPart, ...]:
        """The solver's grids, the uppermost first: one, or two with [grid] coarser_below_m."""
        return parts_of(self.config)

    @cached_property
    def ranges(self) -> tuple[Range, ...]:
        """Of the ground in each part. Reads all of it once."""
        if len(self.parts) == 1:
            return (self.medium.range(self.grid),)
        return tuple(part.range(self.medium, self.grid) for part in self.parts)

    @property
    def range(self) -> Range:
        """Of all the ground in the grid."""
        return Range.over(self.ranges)

    def per_cell(self, of: Callable[[Range], float], most: Callable[..., float]) -> float:
        """Of each part a speed over the side of its cells, 1/s; of these the largest or the smallest (most: max or min)."""
        return most(of(found) / part.spacing_m for part, found in zip(self.parts, self.ranges, strict=True))

    @property
    def least_resolved(self) -> tuple[float, float]:
        """The slowest waves, m/s, and the side of their cells, m, where that side is largest beside their length."""
        return min(
            ((_slowest(of), part.spacing_m) for part, of in zip(self.parts, self.ranges, strict=True)),
            key=lambda one: one[0] / one[1],
        )

    @property
    def equivalent_spacing_m(self) -> float:
        """Side of the cells that would resolve the slowest S waves of all the ground as the least resolved ones are."""
        speed, h = self.least_resolved
        return h * _slowest(self.range) / speed

    @property
    def largest_step_s(self) -> float:
        """The step at which the scheme becomes unstable."""
        return STABILITY / self.per_cell(self._fastest, max)

    @property
    def sides_of_ground(self) -> AbsorbingSides:
        """A PML as the configuration has it, or for the ground.

        The shift is that of the coarse cells with the slowest ground: fine cells' own is higher than the frequencies of most waves,
        and absorbs them badly.
        """
        given, found = self.config.boundary, self.range
        shift = SHIFT * found.slowest_vs / self.parts[-1].spacing_m if math.isfinite(found.slowest_vs) else 0.0
        return AbsorbingSides(given.damping_speed_m_s or found.fastest_vp, given.frequency_shift_per_s or shift)

    @property
    def sides(self) -> AbsorbingSides:
        """What the solver is told; 0 for what one grid finds. Two have the same: layers that differ send back what crosses."""
        if len(self.parts) > 1:
            return self.sides_of_ground
        given = self.config.boundary
        return AbsorbingSides(given.damping_speed_m_s, given.frequency_shift_per_s)

    def _fastest(self, found: Range) -> float:
        """P waves of infinite frequency, m/s."""
        return found.fastest_vp * unrelaxed_factor(self.config, found)

    def step_s(self) -> float:
        """The step, s: the configuration's, or 0.95 of the largest stable one, or less for a long path.

        Not collective; reads medium, sources and receivers. UserError for one that is unstable.
        """
        found, largest, given = self.range, self.largest_step_s, self.config.time.dt_s
        if not given:
            path, wanted = (
                self.longest_path(found) if self.config.time.path_error else None,
                self.config.time.path_error,
            )
            if path is None:
                return SAFETY * largest
            return step_for_path(path, self.equivalent_spacing_m, SAFETY * largest, wanted)
        if given >= largest:
            speed, h = max(
                ((self._fastest(of), part.spacing_m) for part, of in zip(self.parts, self.ranges, strict=True)),
                key=lambda one: one[0] / one[1],
            )
            raise self.config.wrong(
                f"[time] dt_s = {given:g}: unstable, because vp dt / h = {speed:.6g} m/s x {given:g} s / {h:g} m = "
                f"{speed * given / h:.4g} is not below {STABILITY:.4g}; allowed: below {largest:.6g} s, or 0 to have "
                f"{SAFETY * largest:.6g} s chosen"
            )
        return given

    def longest_path(self, found: Range) -> WavePath | None:
        """From a source at a point to a station or a point of strain Green's tensors; None without any, or without solid ground."""
        stations, tensors = self.receivers, self.sgt_points
        places = [*([stations.position_m] if stations else []), *([tensors] if tensors is not None else [])]
        if not places or not self.points or not math.isfinite(found.slowest_vs):
            return None
        fastest = max((point.time_function for point in self.points), key=lambda one: one.highest_frequency_hz)
        ends = np.unique([point.position_m for point in self.points], axis=0)
        if len(ends) > MOST_ENDS:  # the corners of the box that they are in: no shorter
            ends = np.array(list(itertools.product(*zip(ends.min(axis=0), ends.max(axis=0), strict=True))))
        length_m = max(float(np.linalg.norm(at - end, axis=1).max()) for at in places for end in ends)
        return path_of(length_m, found.slowest_vs, fastest) if length_m else None

    def steps(self, dt_s: float) -> int:
        """Steps of dt_s that last as long as the configuration says."""
        return max(1, math.ceil(self.config.time.duration_s / dt_s - 1e-9))

    def spectra(self, dt_s: float) -> SpectraPlan | None:
        """Fourier transforms that [spectra] asks for; None without any. UserError for samples that do not carry the band."""
        known = [point.time_function.frequency_above_hz(QUIET) for point in self.points]
        highest_hz = max(known) if known and len(known) == len(self.config.sources) else math.nan
        return spectra_of(self.config, highest_hz, dt_s, self.steps(dt_s))

    def decomposition(self, ranks: int) -> tuple[int, int, int]:
        """Bricks along x, y and z for so many ranks."""
        return process_grid(self.config, ranks)

    def boxes(self, ranks: int, part: GridPart | None = None) -> list[Box]:
        """The brick of each rank, in the cells of a part; without one, of the whole grid where all cells are alike."""
        if part is None:
            return list(bricks(self.grid.cells, self.decomposition(ranks)))
        return list(bricks(part.cells, self.decomposition(ranks), COARSER if part.below else 1))

    def sources(self, box: Box, dt_s: float) -> list[Source]:
        """Sources that reach into a brick: points' moments, points' forces, and faults. Empty ones are left out."""
        points = PointSources.of(self.points, *box_metres(box, self.grid, MARGIN_CELLS))
        faults = [self.fault(source, box, dt_s) for source in self.config.sources if source.fault_file]
        return [one for one in (*points, *faults) if len(one.position_m)]

    def fault(self, source: SourceConfig, box: Box, dt_s: float) -> Source:
        """A kinematic source within a brick: read whole, or streamed where it was partitioned."""
        file, start_s = source.fault_file, source.start_s
        part: dict[str, Any] = {"box": box, "margin_cells": MARGIN_CELLS, "memory_bytes": int(source.memory_mb * 2**20)}
        if not _is_partitioned(file):
            return read_kinematic(file, self.grid, rigidity_of(self.medium, self.grid), start_s=start_s, **part)
        if start_s:
            raise self.config.wrong(
                "[[source]] start_s of a partitioned fault; allowed: 0; it was set when it was written"
            )
        return StreamedSource(file, self.grid, dt_s, **part)


def _slowest(found: Range) -> float:
    """Of S waves; of P waves where there is nothing but water."""
    return found.slowest_vs if math.isfinite(found.slowest_vs) else found.fastest_vp


def process_grid(config: Config, ranks: int) -> tuple[int, int, int]:
    """Bricks along x, y and z: the configuration's, or those with the least area between them."""
    given = config.run.decomposition
    if not given:
        if not config.grid.coarser_below_m:
            return decompose(config.cells, ranks)
        return decompose(config.grid.lower_cells, ranks, (0, 0, 1))
    if math.prod(given) != ranks:
        raise config.wrong(f"[run] decomposition = {list(given)}; allowed: {ranks} bricks, for {ranks} ranks")
    a, b, c = given
    return a, b, c


def grid_of(config: Config) -> Grid:
    """The grid, with its place on the Earth where it has one."""
    given = config.grid
    grid = Grid(config.cells, given.spacing_m, None, given.azimuth_deg)
    if not given.origin_lon_lat:
        return grid
    at = (0.5 * grid.size_m[0], 0.5 * grid.size_m[1]) if given.origin_at == "centre" else (0.0, 0.0)
    return replace(grid, projection=projection_about(given.projection, *given.origin_lon_lat), origin_m=at)


def topography_of(config: Config, grid: Grid) -> Topography | None:
    """The ground's surface that [topography] names, at the grid's columns; None without the table. UserError of its file."""
    given = config.topography
    if given is None:
        return None
    height_m, radius_m, x_m, y_m = given.hill or (0.0, 1.0, 0.0, 0.0)
    elevation: Elevation = gaussian_hill(height_m, radius_m, x_m, y_m, given.elevation_m)
    if given.file:
        degrees = given.file_axes == "degrees" or (given.file_axes == "auto" and bool(config.grid.origin_lon_lat))
        elevation = open_elevation(given.file, degrees=degrees, outside=given.outside)
    z0 = None if isinstance(given.z0_elevation_m, str) else given.z0_elevation_m
    layer_cells = config.boundary.layer_cells if config.boundary.absorbing != "none" else 0
    return Topography.of(elevation, grid, z0, f"{config.path}: [topography]", layer_cells)


def medium_of(config: Config, grid: Grid, topography: Topography | None = None) -> Medium:
    """The ground that [media] names. Files are opened and checked; values are read when they are asked for.

    Under topography depths count from the ground's surface, or from where [topography] depth_from says; parts were written so.
    """
    found = _flat_medium_of(config, grid)
    if topography is None or config.topography is None or config.media.read == "partitioned":
        return found
    return BelowGround.around(found, topography, config.topography.depth_from)


def _flat_medium_of(config: Config, grid: Grid) -> Medium:
    media, attenuation = config.media, config.attenuation
    rules = None
    if attenuation is not None and attenuation.qs != "":
        rules = QualityRules.of(attenuation.qp, attenuation.qs)
    common: dict[str, Any] = {"water": media.water, "slowest_vs": media.slowest_vs, "rules": rules}
    found = _model_of(config, grid, common)
    if not (media.vs30 or media.vs30_file):
        return found
    vs30 = open_vs30(media.vs30_file, outside=media.outside) if media.vs30_file else constant_vs30(media.vs30)
    return NearSurface(below=found, vs30=vs30, depth_m=media.vs30_depth_m, **common)


def _model_of(config: Config, grid: Grid, common: dict[str, Any]) -> Medium:
    media = config.media
    if media.kind == "constant":
        return Constant(vp=media.vp, vs=media.vs, rho=media.rho, **common)
    if media.kind == "layers":
        if media.file:
            return read_layers(media.file, **common)
        return Layers(rows=media.layers, where=f"{config.path}: [media] layers", **common)
    if media.read == "partitioned":
        return open_partitions(media.file)
    kind = media.format if media.format != "auto" else FORMATS.get(Path(media.file).suffix.lower(), "")
    if kind == "awp":
        a, b, c = media.file_cells or grid.cells
        return open_awp(media.file, (a, b, c), media.file_spacing_m or grid.spacing_m, axes=media.file_axes, **common)
    if not kind:
        raise config.wrong(f'[media] file = "{media.file}": unknown ending; allowed: {", ".join(FORMATS)}, or a format')
    if kind in ("rfile", "sfile"):
        opener = open_rfile if kind == "rfile" else open_sfile
        return opener(media.file, outside=media.outside, depth_from=media.depth_from, **common)
    return OPENERS[kind](media.file, outside=media.outside, **common)


def rigidity_of(medium: Medium, grid: Grid) -> Rigidity:
    """Lambda and mu of a medium at points, Pa."""

    def rigidity(x: Array, y: Array, z: Array) -> tuple[Array, Array]:
        material = medium.at(grid, x, y, z)
        return material.lam, material.mu

    return rigidity


def unrelaxed_factor(config: Config, found: Range) -> float:
    """How much faster P waves of infinite frequency, which limit the step, are at most than those of the reference frequency.

    To first order in 1/Q, from that (f0) to the band's end (f2), by the integral of df / (pi f Q(f)) (Kjartansson 1979). Beyond it
    relaxation that imitates Q within the band adds up to 2 / (pi Q(f2)). The exponential covers higher orders down to Q = 5. It is
    about 0.1% above what the mechanisms of relaxation.hpp give at Q = 50, 1% at 10. 1 without attenuation.
    """
    attenuation = config.attenuation
    # shear loss alone makes Qp at most 3/4 (vp / vs)^2 Qs, which is 1.5 Qs where lambda is 0
    lowest = min(found.lowest_qp, 1.5 * found.lowest_qs)
    if attenuation is None or not math.isfinite(lowest):
        return 1.0
    ratio, power = max(attenuation.band_hz[1] / attenuation.reference_frequency_hz, 1.0), attenuation.exponent
    span = math.log(ratio) if power == 0 else (1 - ratio**-power) / power
    return math.exp((span + 2 * ratio**-power) / (math.pi * max(lowest, LOWEST_Q)))


def _point(source: SourceConfig, grid: Grid) -> PointSource:
    series = _series(source)
    if source.event_file:
        return catalogue_point(read_catalogue_event(source.event_file), grid, series, source.start_s)
    assert series is not None
    place: tuple[float, ...] = source.position_m
    if source.lon_lat:
        x, y = grid.x_y(*source.lon_lat)
        place = (float(x), float(y), grid.sea_level_m + source.depth_m)
    amplitude: Any = source.stress_Nm if source.mode.startswith("stress") else source.force_N
    if source.mode == "moment_rate":
        amplitude = source.moment_Nm
        if source.strike_dip_rake_deg:
            moment = source.m0_Nm or moment_of_magnitude(source.mw)
            north = float(grid.north_deg(place[0], place[1]))
            strike, dip, rake = source.strike_dip_rake_deg
            amplitude = moment * double_couple(strike, dip, rake, north)
    return point_source(source.mode, place, amplitude, series, start_s=source.start_s)


def _series(source: SourceConfig) -> SourceTime | None:
    if source.time_function == "file":
        return read_series(source.time_file)
    if not source.time_function:
        return None
    parameter = getattr(source, KINDS[source.time_function][1])
    return source_time(source.time_function, parameter, source.centre_s if source.centre_s >= 0 else None)


def _is_partitioned(path: str) -> bool:
    """Whether partition_source wrote the file."""
    if not h5py.is_hdf5(path):
        return False
    with opened_hdf5(path, "a whole file", wrong="cannot be read") as file:
        return "pieces" in file
