"""What the tables of a wave run's configuration must be together. Each check raises what `wrong` makes of its line."""

from __future__ import annotations

import math
from collections.abc import Callable

from craton.errors import UserError
from craton.seismology.geometry.grid import THINNEST
from craton.seismology.sources.source_time import KINDS, source_time
from craton.seismology.wave_run.config_tables import (
    AttenuationConfig,
    BoundaryConfig,
    GridConfig,
    MediaConfig,
    RunConfig,
    SourceConfig,
)
from craton.settings import shown

Wrong = Callable[[str], UserError]
"""Makes an error of a line that says what is wrong."""


def check_grid(grid: GridConfig, boundary: BoundaryConfig, run: RunConfig, wrong: Wrong) -> None:
    """Sizes, absorbing sides, the place on the Earth and the bricks."""
    if bool(grid.size_km) == bool(grid.size_m):
        raise wrong(
            f"[grid] {'both size_km and size_m' if grid.size_km else 'no size'}; allowed: size_km or size_m, [x, y, z]"
        )
    for axis, size, n in zip("xyz", grid.extent_m, grid.cells, strict=True):
        if n < 1 or abs(size / grid.spacing_m - n) > 1e-6 * n:
            raise wrong(
                f"[grid] size along {axis} = {size:g} m; allowed: a whole number of cells of spacing_m = {grid.spacing_m:g} m"
            )
    sides = 2 if boundary.absorbing != "none" else 0
    for axis, n in zip("xyz", grid.cells, strict=True):
        layers = (1 + (boundary.top == "absorbing")) * sides // 2 if axis == "z" else sides
        needed = layers * boundary.layer_cells + 8
        if n < needed:
            raise wrong(
                f"[grid] {n} cells along {axis}; allowed: {needed} or more, {layers} absorbing layers of width_cells = "
                f"{boundary.layer_cells} and 8 between"
            )
    if boundary.top == "absorbing" and boundary.absorbing == "none":
        raise wrong('[boundary] top = "absorbing" with absorbing = "none"; allowed: absorbing = "pml" or "sponge"')
    if grid.origin_lon_lat and abs(grid.origin_lon_lat[1]) > 89:
        raise wrong(f"[grid] origin_lon_lat = {shown(grid.origin_lon_lat)}; allowed: a latitude in [-89, 89] degrees")
    parts, ranks = run.decomposition, run.ranks
    if parts and ranks and math.prod(parts) != ranks:
        raise wrong(
            f"[run] decomposition = {shown(parts)} of {math.prod(parts)} bricks; allowed: ranks = {ranks} of them"
        )
    if any(n // p < THINNEST for p, n in zip(parts, grid.cells, strict=False)):
        most = [n // THINNEST for n in grid.cells]
        raise wrong(
            f"[run] decomposition = {shown(parts)}; allowed: at most {shown(most)}, for bricks of {THINNEST} cells a side"
        )


def check_media(media: MediaConfig, attenuation: AttenuationConfig | None, wrong: Wrong) -> None:
    """The ground and its quality factors."""
    if media.kind == "layers" and bool(media.layers) == bool(media.file):
        raise wrong(
            f"[media] {'both layers and file' if media.file else 'no layers'}; allowed: layers, or a file of them"
        )
    if media.kind == "file" and not media.file:
        raise wrong('[media] file is missing; allowed: a model\'s file, because kind = "file"')
    if media.kind == "constant" and (media.file or media.layers):
        raise wrong(
            f'[media] {"file" if media.file else "layers"} with kind = "constant"; allowed: kind = "layers" or "file"'
        )
    if media.read == "partitioned" and media.kind != "file":
        raise wrong('[media] read = "partitioned"; allowed: with kind = "file"')
    if attenuation is None:
        return
    low, high = attenuation.band_hz
    if not 3 * low < high:
        raise wrong(
            f"[attenuation] band_hz = {shown(attenuation.band_hz)}; allowed: [lower, higher] Hz, more than a factor of 3 apart"
        )
    if (attenuation.qp == "") != (attenuation.qs == ""):
        raise wrong('[attenuation] only one of qp and qs is ""; allowed: both (the model\'s own), or rules for both')
    if attenuation.qp == "" and media.kind == "constant":
        raise wrong('[attenuation] qp = "" with constant media; allowed: a number or a rule')


def check_source(source: SourceConfig, grid: GridConfig, boundary: BoundaryConfig, wrong: Wrong) -> None:
    """A source: wrong() names the table."""
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
    if source.mode.startswith("traction") and boundary.top != "free":
        raise wrong(f'{source.mode} with [boundary] top = "{boundary.top}"; allowed: on a free surface')
    if (grid.origin_lon_lat == ()) and (source.lon_lat or given):
        raise wrong(
            f"{(given or ['lon_lat'])[0]} needs a place on the Earth; allowed: [grid] origin_lon_lat = [lon, lat]"
        )
    if source.lon_lat and abs(source.lon_lat[1]) > 90:
        raise wrong(f"lon_lat = {shown(source.lon_lat)}; allowed: a latitude in [-90, 90] degrees")
    _check_time(source, wrong, bool(given))


def _check_time(source: SourceConfig, wrong: Wrong, from_file: bool) -> None:
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
