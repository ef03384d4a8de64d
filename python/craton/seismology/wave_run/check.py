"""`craton waves check CONFIG`: what the grid resolves, whether the step is stable, and what memory and time the run takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

from craton.runs.words import counted, duration
from craton.seismology.geometry.grid import Box, Grid
from craton.seismology.ground.media import Layers, Range
from craton.seismology.ground.topography import Topography
from craton.seismology.sources.source_time import check_frequency
from craton.seismology.wave_run.config import STABILITY, Config
from craton.seismology.wave_run.dispersion import Path
from craton.seismology.wave_run.refinement import GridPart, parts_of
from craton.seismology.wave_run.setup import Setup, unrelaxed_factor
from craton.seismology.wave_run.spectra import SpectraPlan

POINTS_PER_S = {"elastic": 60e6, "anelastic": 40e6}
"""Of one thread: an order of magnitude for one core of today, where nobody has measured."""
FIELDS, MEMORY_VARIABLES = 9, 6
"""float32 of each cell: velocities and stresses; anelastic r (kernels/fields.hpp)."""
MEDIA, WEIGHTS = 8, 2
"""16 bits each: buoyancy, lambda and mu where they act; anelastic W."""
PML_FIELDS = 6
"""float32 of each cell of an absorbing side: one psi for each difference across it (3 velocities, 3 stresses)."""
SURFACE_POINTS = 15.0
"""Cells in the shortest S wave that surface waves under topography need: docs/waves.md has what they are wrong by then."""
CLEAR_OF_PLANE = 6
"""Cells from the plane that two grids share, within which a jump of the ground makes motion less right: docs/waves.md."""
OTHERWISE = ("grid", "parts", "range", "memory_of_rank", "measured", "topography", "spectra")
"""Fields of Findings that its dictionary has by other names, or not at all."""
DERIVED = ("points", "courant", "carried_hz", "source_points_per_wavelength", "time_s")
"""Properties of Findings that its dictionary has."""
HALO, LINE = 2, 16
"""Planes round a brick; floats of a cache line, to whose multiples rows are padded."""


@dataclass(frozen=True)
class Findings:
    """Figures in SI."""

    grid: Grid
    parts: tuple[GridPart, ...]
    """the solver's grids, the uppermost first"""
    range: Range
    ranks: tuple[int, int, int]
    threads: int
    anelastic: bool
    dt_s: float
    largest_dt_s: float
    fastest_m_s: float
    """of waves of infinite frequency"""
    fastest_per_cell: float
    """the largest speed of these over the side of its cells, 1/s"""
    slowest_per_cell: float
    """the smallest speed of S waves over the side of its cells, 1/s"""
    steps: int
    points_per_wavelength: float
    highest_source_hz: float
    """NaN where no source says it"""
    memory_of_rank: int
    """the largest of all ranks', bytes"""
    path_m: float
    """the longest from a point source to a station or point; 0 without one"""
    path_wavelengths: float
    """in it, of the slowest S waves of the sources' highest frequency: at most"""
    path_error: float
    """what a motion at its end is off by through dispersion, as a part of it (relative L2): at most"""
    points_per_s: float
    measured: bool
    """whether somebody gave points_per_s"""
    sources: int
    stations: int
    sgt_points: int
    spectra: SpectraPlan | None
    """None where no Fourier transforms are summed"""
    origin_time: str
    """UTC of t = 0; "" where nothing says it"""
    topography: Topography | None
    """None where the ground's surface is z = 0"""
    warnings: tuple[str, ...]

    @property
    def points(self) -> int:
        """Cells of all grids."""
        return sum(math.prod(part.cells) for part in self.parts)

    @property
    def courant(self) -> float:
        """Vp dt / h."""
        return self.fastest_per_cell * self.dt_s

    @property
    def carried_hz(self) -> float:
        """The frequency whose slowest S wave is points_per_wavelength cells long (5 where that is 0)."""
        return self.slowest_per_cell / (self.points_per_wavelength or 5)

    @property
    def source_points_per_wavelength(self) -> float:
        """Cells in the shortest S wave of the sources."""
        return self.slowest_per_cell / self.highest_source_hz

    @property
    def time_s(self) -> float:
        """That the steps take, s."""
        return self.points * self.steps / self.points_per_s

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers; None where there is none."""
        plain = {
            "cells": list(self.grid.cells),
            "spacing_m": self.grid.spacing_m,
            "courant_limit": STABILITY,
            "memory_of_rank_bytes": self.memory_of_rank,
            **vars(self.range),
            **{name: value for name, value in vars(self).items() if name not in OTHERWISE},
            **{name: getattr(self, name) for name in DERIVED},
        }
        if len(self.parts) > 1:
            plain["grids"] = [
                {"cells": list(part.cells), "spacing_m": part.spacing_m, "from_m": part.top_m, "to_m": part.bottom_m}
                for part in self.parts
            ]
        if self.topography is not None:
            plain |= self.topography.facts()
        if self.spectra is not None:
            plain["spectra_file_bytes"] = self.spectra.file_bytes
            plain["spectra_points"] = len(self.spectra.lattice)
            plain["spectra_frequencies_hz"] = self.spectra.frequencies_hz.tolist()
        plain |= {name: list(plain[name]) for name in ("ranks", "warnings")}
        return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in plain.items()}

    def table(self) -> Table:
        """For a console of rich, which would take a table's name in brackets for a style of its own."""
        table = Table(title="What the run does", show_header=False, title_justify="left")
        table.add_column(style="bold")
        table.add_column()
        for name, value in self.rows():
            table.add_row(name, escape(value))
        for warning in self.warnings:
            table.add_row("note", escape(warning), style="yellow")
        return table

    def rows(self) -> list[tuple[str, str]]:
        """Label and text of each line of the table."""
        grid, r = self.grid, self.range
        highest, per_wavelength = self.highest_source_hz, self.points_per_wavelength or 5
        courant, limit = f"vp dt / h = {self.courant:.4f}", f"{STABILITY:.4f} ({self.largest_dt_s:.6g} s)"
        size = _by(f"{side / 1e3:g}" for side in grid.size_m)
        guess = "" if self.measured else f", a guess for {math.prod(self.ranks)} x {self.threads} cores"
        q = f"Qs from {r.lowest_qs:.3g}, Qp from {r.lowest_qp:.3g}; P waves to {self.fastest_m_s:.5g} m/s"
        reach = f"{highest:.3g} Hz: {self.source_points_per_wavelength:.1f} points per wavelength"
        velocities = f"vs from {r.slowest_vs:g}, vp to {r.fastest_vp:g} m/s"
        return [
            *self._grids(size),
            ("ground", f"{velocities}, rho {r.lightest:g} to {r.heaviest:g} kg/m^3"),
            *self._topography(),
            *([("attenuation", q)] if self.anelastic else []),
            ("step", f"{self.dt_s:.6g} s; {courant}, stable below {limit}"),
            ("steps", f"{self.steps:,}: {self.steps * self.dt_s:g} s"),
            (
                "resolves",
                f"{self.carried_hz:.3g} Hz at {per_wavelength:g} points per wavelength of the slowest S waves",
            ),
            *([("sources reach", reach)] if math.isfinite(highest) else []),
            *([("dispersion", self._dispersion())] if self.path_m else []),
            (
                "sources",
                f"{self.sources}; {counted(self.stations, 'station')}, {self.sgt_points:,} points of strain Green's tensors",
            ),
            *([("spectra", self.spectra.text)] if self.spectra else []),
            *([("t = 0", f"{self.origin_time} UTC")] if self.origin_time else []),
            ("memory", f"{self.memory_of_rank / 2**30:.3g} GiB on each of {_by(self.ranks)} ranks"),
            ("time", f"{duration(self.time_s)} at {self.points_per_s / 1e6:g} million points/s{guess}"),
        ]

    def _grids(self, size: str) -> list[tuple[str, str]]:
        """Cells, and what coarser ones below save."""
        cells = [f"{_by(part.cells)} cells of {part.spacing_m:g} m" for part in self.parts]
        if len(self.parts) == 1:
            return [("grid", f"{cells[0]}: {self.points:,} points, {size} km")]
        grid, spared = self.grid, math.prod(self.grid.cells) / self.points
        return [
            (
                "grid",
                f"{size} km: {self.points:,} points; cells of {grid.spacing_m:g} m everywhere were {spared:.3g} times as many",
            ),
            *((f"{part.top_m:g} to {part.bottom_m:g} m", text) for part, text in zip(self.parts, cells, strict=True)),
        ]

    def _topography(self) -> list[tuple[str, str]]:
        """Where the ground's surface lies, and what depths count from."""
        land = self.topography
        if land is None:
            return []
        air, least, most = land.air_fraction(self.grid), *sorted((land.highest_top, land.lowest_top))
        return [
            (
                "topography",
                f"elevations from {land.lowest_m:.1f} to {land.highest_m:.1f} m, z = 0 at {land.z0_elevation_m:.1f} m; "
                f"{100 * air:.2g} % of the cells are air, {least} to {most} at the top of each column: memory as of ground, next "
                "to no time",
            ),
            (
                "depths",
                "of stations below the ground's surface; of position_m and points of strain Green's tensors below z = 0; of "
                "events, faults and lon_lat below elevation 0",
            ),
        ]

    def _dispersion(self) -> str:
        """Along the longest path."""
        return (
            f"off by {100 * self.path_error / self.path_wavelengths:.2g} % per wavelength, {100 * self.path_error:.2g} % at the "
            f"end of the longest path: {self.path_m / 1e3:.3g} km, {self.path_wavelengths:.3g} wavelengths at most"
        )


def examine(config: Config, ranks: int = 0, points_per_s: float | None = None) -> Findings:
    """Reads the whole medium once, part by part, and all sources and receivers. Not collective.

    ranks: 0 for those of the configuration. points_per_s: of all ranks together, as measured. UserError for what would keep the run
    from working.
    """
    setup = Setup(config)
    ranks = ranks or config.run.ranks or math.prod(config.run.decomposition) or 1
    check_planes(setup)
    check_outputs_of_parts(setup)
    found = setup.range
    dt_s = setup.step_s()
    anelastic = math.isfinite(found.lowest_qp)
    guess = POINTS_PER_S["anelastic" if anelastic else "elastic"] * ranks * config.run.threads
    points, receivers = setup.sgt_points, setup.receivers
    path, h = setup.longest_path(found), setup.equivalent_spacing_m
    spectra = setup.spectra(dt_s)
    return Findings(
        grid=setup.grid,
        parts=setup.parts,
        range=found,
        ranks=setup.decomposition(ranks),
        threads=config.run.threads,
        anelastic=anelastic,
        dt_s=dt_s,
        largest_dt_s=setup.largest_step_s,
        fastest_m_s=found.fastest_vp * unrelaxed_factor(config, found),
        fastest_per_cell=STABILITY / setup.largest_step_s,
        slowest_per_cell=setup.per_cell(lambda one: one.slowest_vs, min),
        steps=setup.steps(dt_s),
        points_per_wavelength=config.grid.points_per_wavelength,
        highest_source_hz=check_sources(setup),
        memory_of_rank=max(memory_of_ranks(setup, ranks, anelastic, spectra)),
        path_m=path.length_m if path else 0.0,
        path_wavelengths=path.wavelengths if path else 0.0,
        path_error=path.error(h, dt_s) if path else 0.0,
        points_per_s=points_per_s or guess,
        measured=points_per_s is not None,
        sources=len(config.sources),
        stations=len(receivers) if receivers else 0,
        sgt_points=len(points) if points is not None else 0,
        spectra=spectra,
        origin_time=setup.origin_time,
        topography=setup.topography,
        warnings=(
            *_warnings(setup, dt_s),
            *_dispersed(setup, path, dt_s),
            *_coarse_surface(setup, found),
            *_near_shared_plane(setup),
        ),
    )


def _dispersed(setup: Setup, path: Path | None, dt_s: float) -> list[str]:
    """A note where the longest path is too long for the cells, or for the step that was given."""
    wanted, h = setup.config.time.path_error, setup.equivalent_spacing_m
    off = path.error(h, dt_s) if path else 0.0
    if not wanted or off <= wanted * (1 + 1e-6):
        return []
    why = "of this dt_s" if setup.config.time.dt_s else "whatever the step"
    return [
        f"dispersion makes motion wrong by up to {100 * off:.2g} % at the end of the longest path, {why}: more than [time] "
        f"path_error = {wanted:g}; smaller cells make it less"
    ]


def _near_shared_plane(setup: Setup) -> list[str]:
    """A note where the ground jumps close to the plane that two grids share."""
    if len(setup.parts) == 1 or not isinstance(setup.medium, Layers):
        return []
    plane, (upper, lower) = setup.parts[0].bottom_m, setup.parts
    notes = []
    for z in setup.medium.interfaces_m.tolist():
        cells = (plane - z) / upper.spacing_m if z < plane else (z - plane) / lower.spacing_m
        if 1e-6 < cells < CLEAR_OF_PLANE:
            notes.append(
                f"a layer ends at z = {z:g} m, {cells:.3g} cells from coarser_below_m = {plane:g} m: motion is wrong by a few "
                f"per cent more than with the plane at its end, or {CLEAR_OF_PLANE} cells from it"
            )
    return notes


def _coarse_surface(setup: Setup, found: Range) -> list[str]:
    """A note where the ground's surface is no plane and cells are too large for the surface waves along it."""
    land = setup.topography
    highest = max((point.time_function.highest_frequency_hz for point in setup.points), default=math.nan)
    points = found.slowest_vs / (setup.grid.spacing_m * highest)
    if land is None or not points < SURFACE_POINTS:
        return []
    return [
        f"{points:.3g} points per wavelength of the slowest S waves: surface waves under topography need {SURFACE_POINTS:g}, so "
        f"cells of {found.slowest_vs / (SURFACE_POINTS * highest):.3g} m"
    ]


def check_planes(setup: Setup) -> None:
    """UserError where pictures of a plane would show nothing but air, or lie outside the grid."""
    config, land = setup.config, setup.topography
    h, bottom = config.grid.spacing_m, setup.grid.size_m[2]
    top = 0.0 if land is None else land.highest_top * h
    for name, wanted, z in (
        ("snapshots", config.snapshots.every > 0 and not config.snapshots.volume, config.snapshots.z_m),
        ("movie", config.movie.every > 0, config.movie.z_m),
    ):
        if wanted and not (top <= z + 1e-6 * h and z < bottom):
            what = "air everywhere" if z < top else "below the grid"
            raise config.wrong(f"[{name}] z_m = {z:g} m: {what}; allowed: {top:g} m or more, below {bottom:g} m")


def check_outputs_of_parts(setup: Setup) -> None:
    """UserError where what is recorded does not lie in one of the solver's grids: a file has places of one."""
    if len(setup.parts) == 1:
        return
    config, h = setup.config, setup.grid.spacing_m
    depth = setup.parts[0].bottom_m
    stations, points = setup.receivers, setup.sgt_points
    for name, places in (
        ("receivers", None if stations is None else stations.position_m),
        ("sgt", points),
    ):
        if places is None or not len(places):
            continue
        above = places[:, 2] < depth
        if above.any() and not above.all():
            high, low = places[above][:, 2].max(), places[~above][:, 2].min()
            raise config.wrong(
                f"[{name}] points at z = {high:g} m and at {low:g} m, in both grids; allowed: all above [grid] coarser_below_m = "
                f"{depth:g} m, or none"
            )
    for name, wanted, z in (
        ("snapshots", config.snapshots.every > 0, config.snapshots.z_m),
        ("movie", config.movie.every > 0, config.movie.z_m),
    ):
        if wanted and name == "snapshots" and config.snapshots.volume:
            raise config.wrong("[snapshots] volume = true with [grid] coarser_below_m; allowed: the plane z_m")
        if wanted and z >= depth - 1e-6 * h:
            raise config.wrong(f"[{name}] z_m = {z:g} m; allowed: above [grid] coarser_below_m = {depth:g} m")


def check_sources(setup: Setup, setting: str = "", slower: str = "a slower time function") -> float:
    """The highest frequency of all point sources, Hz (NaN without one).

    UserError where it is more than the grid carries, and for a source outside the grid. setting: what gave the sources their time
    function, where no [[source]] did; slower: what to write there.
    """
    grid, path = setup.config.grid, setup.config.path
    slowest, h = setup.least_resolved
    frequencies = [point.time_function.highest_frequency_hz for point in setup.points]
    for number, frequency in enumerate(frequencies, 1):
        if grid.points_per_wavelength:
            where = f"{path}: {setting or f'point source {number}'}"
            check_frequency(frequency, slowest, h, grid.points_per_wavelength, where, slower)
    return max(frequencies, default=math.nan)


def memory_of_ranks(setup: Setup, ranks: int, anelastic: bool, spectra: SpectraPlan | None = None) -> list[int]:
    """Bytes of each rank's bricks, one of each grid, and of what it sums of spectra."""
    boxes = [setup.boxes(ranks, part) for part in setup.parts]
    found = [
        sum(memory_bytes(box, setup.config, anelastic, part) for part, box in zip(setup.parts, own, strict=True))
        for own in zip(*boxes, strict=True)
    ]
    if spectra is None:
        return found
    of_spectra = [spectra.memory_bytes(spectra.lattice.points_in(box)) for box in boxes[0]]
    return [bricks + sums for bricks, sums in zip(found, of_spectra, strict=True)]


def memory_bytes(box: Box, config: Config, anelastic: bool, part: GridPart | None = None) -> int:
    """Bytes of a brick's fields, media and absorbing sides, with halos and padding. part: the grid it is of; None: the only one."""
    nx, ny, nz = box.shape
    pitch = -(-(nx + 2 * HALO) // LINE) * LINE
    each = 4 * FIELDS + 2 * MEDIA + (4 * MEMORY_VARIABLES + 2 * WEIGHTS if anelastic else 0)
    found = each * pitch * (ny + 2 * HALO) * (nz + 2 * HALO)
    if config.boundary.absorbing == "pml":
        found += 4 * PML_FIELDS * sum(_absorbing_cells(box, config, part or parts_of(config)[0]))
    return found


def _absorbing_cells(box: Box, config: Config, part: GridPart) -> list[int]:
    """Of each absorbing side, the cells of it in a brick."""
    found = []
    for d, (first, last, n) in enumerate(zip(box.first, box.last, part.cells, strict=True)):
        width = part.layer_cells
        across = box.cells // (last - first)
        if d < 2 or config.boundary.top == "absorbing":
            found.append(max(0, min(last, width) - first) * across)
        if d < 2 or not part.below:
            found.append(max(0, last - max(first, n - width)) * across)
    return found


def _warnings(setup: Setup, dt_s: float) -> list[str]:
    config, grid, notes = setup.config, setup.grid, []
    if not config.sources:
        notes.append("no [[source]]: nothing will move")
    series = config.receivers.stations or config.receivers.file or config.sgt.points
    if not (series or config.spectra.band_hz or config.snapshots.every or config.movie.every):
        notes.append(
            "nothing is recorded; allowed: [receivers] stations, [sgt] points, [spectra] band_hz, every of [snapshots] or [movie]"
        )
    if config.spectra.spacing_hz > 0.5 / config.time.duration_s * (1 + 1e-6):
        notes.append(
            f"[spectra] spacing_hz = {config.spectra.spacing_hz:g} Hz is more than 1 / (2 duration_s): products of two "
            "transforms wrap"
        )
    if config.boundary.absorbing != "none":
        edge = config.boundary.layer_cells * setup.parts[-1].spacing_m
        low = (edge, edge, edge if config.boundary.top == "absorbing" else 0.0)
        high = tuple(size - edge for size in grid.size_m)

        def inside(at: Any) -> bool:
            return all(a <= p <= b for a, p, b in zip(low, at, high, strict=True))

        for number, point in enumerate(setup.points, 1):
            if not inside(point.position_m):
                notes.append(f"point source {number} lies in an absorbing side ({edge:g} m wide)")
        stations = setup.receivers
        named = zip(stations.names, stations.position_m, strict=True) if stations else ()
        lost = [name for name, at in named if not inside(at)]
        if lost:
            some = f"{', '.join(lost[:3])}{' ...' * (len(lost) > 3)}"
            notes.append(f"{len(lost)} stations lie in an absorbing side: {some}")
    ends = [p.start_s + p.time_function.end_s for p in setup.points]
    if ends and max(ends) > config.time.duration_s + 0.5 * dt_s:
        notes.append(f"a source lasts to {max(ends):.3g} s, longer than the run")
    return notes


def _by(values: Any) -> str:
    return " x ".join(map(str, values))
