"""A crust of one's own, with the frequencies that modes have in it: exact local frequencies, not a perturbation to first order.

Below a place the Earth is the reference Earth with another crust: as thick as the grid has it there, its speeds of shear and
compression changed alike where the grid has Vs. Modes are solved for below crusts of DEPTHS_KM (and of CHANGES of Vs). Between them
frequencies are interpolated, by cubic splines in depth and a polynomial in Vs. A path takes the mean of its places' frequencies:
the weights of the solved crusts, averaged along it, times their frequencies (Jordan 1978; Woodhouse & Dziewonski 1984, for strong
lateral changes).

A grid is a text file with a line for each point, longitude latitude moho_depth_km [vs_km_s], degrees and km below the sea, lines
with # are comments; or NetCDF with `moho` and perhaps `vs` over latitude and longitude.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from craton._craton import EarthModel, ModeCatalogue
from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.seismology.geometry.latitudes import geographic_deg
from craton.tomography.data.paths import PathTable, geocentric_vectors
from craton.tomography.model.netcdf_model import axis, field, variables_of
from craton.tomography.theory.figure import names_of, of_spheroidal
from craton.tomography.theory.modes import cache_folder, frequencies, mode_options

if TYPE_CHECKING:
    from mpi4py import MPI

    from craton._craton import SpheroidalCatalogue
    from craton.tomography.config.load import Config, TheorySettings

f64 = NDArray[np.float64]
Note = Callable[[str], None]

DEPTHS_KM = (7.0, 10.0, 14.0, 19.0, 25.0, 32.0, 40.0, 50.0, 62.0, 76.0)
"""Of the Moho, below the sea. Thinner and thicker crusts count as the first and the last."""
CHANGES = (-0.12, -0.06, 0.0, 0.06, 0.12)
"""Of the crust's Vs. Beyond them a change counts as the first or the last."""
STEP_DEG = 0.5
"""Between places of a path."""
SLOWEST_MANTLE_KM_S = 4.2
"""Vs below the Moho is above it, in the crust below it."""
WITH_CRUST = ", crust of "
SHORTER = 0.85
"""Modes of other crusts are solved for to periods so much shorter, so that none is missing."""
PATHS = 1000
"""At a time."""


@dataclass(frozen=True)
class CrustGrid:
    """Over geographic latitudes and longitudes that go once round."""

    latitude_deg: f64
    longitude_deg: f64
    moho_km: f64
    vs_km_s: f64 | None
    name: str

    def at(self, latitude_deg: f64, longitude_deg: f64) -> tuple[f64, f64 | None]:
        """Depth of the Moho and Vs at places: linear between points. Latitudes are geographic."""
        latitude = np.clip(latitude_deg, self.latitude_deg[0], self.latitude_deg[-1])
        longitude = self.longitude_deg[0] + np.mod(longitude_deg - self.longitude_deg[0], 360.0)
        axes, places = (self.latitude_deg, self.longitude_deg), np.stack([latitude, longitude], axis=-1)
        moho, vs = (
            None if values is None else scipy.interpolate.RegularGridInterpolator(axes, values)(places)
            for values in (self.moho_km, self.vs_km_s)
        )
        assert moho is not None
        return moho, vs


def read_crust(file: Path) -> CrustGrid:
    """A grid of the whole Earth. UserError names file, line and value. Not collective."""
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}; allowed: a grid of the crust, text or NetCDF") from None
    read = _from_netcdf if file.suffix in (".nc", ".grd") else _from_text
    latitude, longitude, moho, vs = read(file)
    for what, values, low, high in (("moho", moho, 3.0, 120.0), ("vs", vs, 1.0, 5.0)):
        if values is None:
            continue
        bad = ~((values >= low) & (values <= high))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise UserError(
                f"{file}: {what} = {values[row, column]:g} at {latitude[row]:g} N, {longitude[column]:g} E; allowed: "
                f"{low:g} to {high:g} {'km' if what == 'moho' else 'km/s'}. Is it in another unit?"
            )
    steps = np.diff(np.append(longitude, longitude[0] + 360.0)), np.diff(latitude)
    pole = float(np.median(steps[1])) + 1e-6
    uneven = any(step.max() > 2.1 * step.min() for step in steps)
    if uneven or not (-90.001 <= latitude[0] <= pole - 90.0 and 90.0 - pole <= latitude[-1] <= 90.001):
        raise UserError(
            f"{file}: latitudes from {latitude[0]:g} to {latitude[-1]:g}, longitudes from {longitude[0]:g} to {longitude[-1]:g} "
            "degrees; allowed: the whole Earth in even steps"
        )
    once = np.append(longitude, longitude[0] + 360.0)
    moho = np.hstack([moho, moho[:, :1]])
    vs = None if vs is None else np.hstack([vs, vs[:, :1]])
    return CrustGrid(latitude, once, moho, vs, f"{file.name} ({digest})")


def _from_text(file: Path) -> tuple[f64, f64, f64, f64 | None]:
    rows = list[list[float]]()
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise UserError(f"{file}: not text; allowed: lines of longitude latitude moho_depth_km [vs_km_s]") from None
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].replace(",", " ").split()
        if not words:
            continue
        try:
            row = [float(word) for word in words]
        except ValueError:
            row = []
        if len(row) not in (3, 4) or (rows and len(row) != len(rows[0])) or not np.all(np.isfinite(row)):
            raise UserError(
                f"{file}:{number}: {line.strip()[:60]!r}; allowed: longitude latitude moho_depth_km [vs_km_s]"
            )
        rows.append(row)
    if not rows:
        raise UserError(f"{file}: no point in it; allowed: lines of longitude latitude moho_depth_km [vs_km_s]")
    table = np.array(rows)
    table[:, 0] %= 360.0
    longitude, column = np.unique(table[:, 0], return_inverse=True)
    latitude, row_of = np.unique(table[:, 1], return_inverse=True)
    pairs = np.unique(np.stack([row_of.ravel(), column.ravel()]), axis=1).shape[1]
    if not len(table) == pairs == len(latitude) * len(longitude) or min(len(latitude), len(longitude)) < 2:
        raise UserError(
            f"{file}: {len(table)} points of {len(latitude)} latitudes and {len(longitude)} longitudes; allowed: one for each pair"
        )
    grids = [np.empty((len(latitude), len(longitude))) for _ in range(table.shape[1] - 2)]
    for grid, values in zip(grids, table[:, 2:].T, strict=True):
        grid[row_of, column] = values
    return latitude, longitude, grids[0], grids[1] if len(grids) > 1 else None


def _from_netcdf(file: Path) -> tuple[f64, f64, f64, f64 | None]:
    with variables_of(file) as found:
        for name in ("moho", "latitude", "longitude"):
            if name not in found:
                raise UserError(f"{file}: no variable {name}; allowed: moho, depth in km over latitude and longitude")
        latitude, longitude = (axis(file, found, name) for name in ("latitude", "longitude"))
        over = ("latitude", "longitude")
        moho, vs = (field(file, found, name, over) if name in found else None for name in ("moho", "vs"))
    longitude = longitude % 360.0
    longitude, keep = np.unique(longitude, return_index=True)
    order = np.argsort(latitude)
    moho, vs = (None if values is None else np.asarray(values)[np.ix_(order, keep)] for values in (moho, vs))
    assert moho is not None
    return latitude[order], longitude, moho, vs


@dataclass(frozen=True)
class Crusts:
    """The crusts that modes are solved for, and the parts that places and paths have of each."""

    grid: CrustGrid
    earth: EarthModel

    @property
    def text(self) -> str:
        """One sentence."""
        return (
            f"crust of {self.grid.name}: Moho at {self.grid.moho_km.min():.3g} to {self.grid.moho_km.max():.3g} km; modes of "
            f"{self.count} crusts are solved for once, and their frequencies kept in the cache"
        )

    @property
    def changes(self) -> tuple[float, ...]:
        """Of Vs."""
        return (0.0,) if self.grid.vs_km_s is None else CHANGES

    @property
    def count(self) -> int:
        """How many there are."""
        return len(DEPTHS_KM) * len(self.changes)

    @property
    def earths(self) -> list[EarthModel]:
        """The reference Earth with each of them."""
        return [earth_with_crust(self.earth, depth, change) for depth in DEPTHS_KM for change in self.changes]

    def parts_of_places(self, latitude_deg: f64, longitude_deg: f64) -> f64:
        """Weights of the solved crusts at places, shape (places, count). Latitudes are geographic."""
        moho, vs = self.grid.at(latitude_deg, longitude_deg)
        moho = np.clip(moho, DEPTHS_KM[0], DEPTHS_KM[-1])
        splines = scipy.interpolate.CubicSpline(DEPTHS_KM, np.eye(len(DEPTHS_KM)))(moho)
        if vs is None:
            return np.asarray(splines)
        change = np.clip(np.log(vs / mean_crust_vs_km_s(self.earth)), CHANGES[0], CHANGES[-1])
        lagrange = np.stack(
            [
                np.prod([(change - other) / (own - other) for other in CHANGES if other != own], axis=0)
                for own in CHANGES
            ],
            axis=-1,
        )
        return np.asarray(splines[:, :, None] * lagrange[:, None, :]).reshape(len(moho), -1)

    def parts_of_paths(self, table: PathTable) -> f64:
        """The same, averaged along each path, shape (paths, count)."""
        long_way = np.array([arc == "major" for arc in table.arc])
        keys = np.stack([table.event, table.station, long_way.astype(np.int64)])
        _, first, which = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        source = geocentric_vectors(table.events.latitude_deg, table.events.longitude_deg)[table.event[first]]
        receiver = geocentric_vectors(table.stations.latitude_deg, table.stations.longitude_deg)[table.station[first]]
        across = np.linalg.norm(np.cross(source, receiver), axis=1)
        distance = np.arctan2(across, np.sum(source * receiver, axis=1))
        ahead = (receiver - np.cos(distance)[:, None] * source) / np.sin(distance)[:, None]
        begin = np.where(long_way[first], distance, 0.0)
        length = np.where(long_way[first], 2.0 * np.pi - distance, distance)
        out = np.empty((len(first), self.count))
        for some in np.array_split(np.arange(len(first)), -(-len(first) // PATHS)):
            count = np.maximum(2, np.ceil(np.degrees(length[some]) / STEP_DEG).astype(int))
            starts, path = np.cumsum(count) - count, np.repeat(some, count)
            step = np.repeat(length[some] / count, count)
            angle = begin[path] + (np.arange(len(path)) - np.repeat(starts, count) + 0.5) * step
            place = np.cos(angle)[:, None] * source[path] + np.sin(angle)[:, None] * ahead[path]
            latitude = geographic_deg(np.degrees(np.arcsin(np.clip(place[:, 2], -1.0, 1.0))))
            longitude = np.degrees(np.arctan2(place[:, 1], place[:, 0]))
            sums = np.add.reduceat(self.parts_of_places(latitude, longitude), starts, axis=0)
            out[some] = sums / count[:, None]
        return out[which.reshape(-1)]


def moho_m(earth: EarthModel) -> float:
    """The radius of the reference Earth's Moho. UserError where it has none."""
    for radius in reversed(np.asarray(earth.discontinuities_m).tolist()):
        above, below = (earth.evaluate(radius, below=side)[2] for side in (False, True))
        if above < 1e3 * SLOWEST_MANTLE_KM_S <= below:
            return float(radius)
    raise UserError(
        f"[earth] crust: the reference Earth {earth.name} has no Moho; allowed: one with a crust, as prem_isotropic"
    )


def mean_crust_vs_km_s(earth: EarthModel) -> float:
    """Of the reference Earth, by travel time."""
    radii = np.linspace(moho_m(earth), earth.solid_surface_radius_m, 401)
    middle = 0.5 * (radii[1:] + radii[:-1])
    return 1e-3 / float(np.mean([1.0 / earth.evaluate(radius)[2] for radius in middle]))


def earth_with_crust(earth: EarthModel, depth_km: float, change: float = 0.0) -> EarthModel:
    """The reference Earth with its Moho at another depth, and ln Vs and ln Vp of the crust changed.

    The crust's layers are as thick in proportion; the mantle goes on as it is below the reference Moho.
    """
    new_m = 6371e3 - 1e3 * depth_km
    if not new_m < earth.solid_surface_radius_m - 1e3:
        raise UserError(f"crust: a Moho at {depth_km:g} km; allowed: at least 1 km below the solid surface")
    return earth.with_crust(moho_m(earth), new_m, change)


def crust_rates(
    crusts: Crusts, config: Config | TheorySettings, modes: ModeCatalogue | SpheroidalCatalogue, note: Note
) -> f64:
    """What each crust changes a mode's frequency by, rad/s, shape (modes, crusts): from the cache, or by solving for the modes.

    By the ratio to the frequencies of the reference crust.
    """
    options, folder = mode_options(config), cache_folder(config)
    shortest_s = SHORTER * options.pop("shortest_period_s")
    own = options if isinstance(modes, ModeCatalogue) else of_spheroidal(options)

    def solved(earth: EarthModel) -> dict[tuple[int, int], float]:
        return frequencies(type(modes), earth, folder, note, shortest_period_s=shortest_s, **own)

    reference = solved(crusts.earth)
    names, omega = names_of(modes), 2.0 * np.pi / np.asarray(modes.period_s)
    rates = np.empty((len(names), crusts.count))
    for column, earth in enumerate(crusts.earths):
        there = solved(earth)
        ratio = np.array([there.get(name, np.nan) / reference.get(name, np.nan) for name in names])
        ratio[np.isnan(ratio)] = np.nanmedian(ratio)
        rates[:, column] = omega * (ratio - 1.0)
    return rates


def shared_crusts(earth: EarthModel, config: Config | TheorySettings, comm: MPI.Comm) -> Crusts | None:
    """Collective: the crust that [earth] names, on every rank; None where it names none."""
    if not config.earth.crust:
        return None
    moho_m(earth)  # refuses one without a crust before anything is solved for
    return Crusts(on_root(comm, lambda: read_crust(Path(config.earth.crust))), earth)


def crust_effects(
    crusts: Crusts | None,
    config: Config | TheorySettings,
    modes: ModeCatalogue,
    spheroidal: SpheroidalCatalogue | None,
    comm: MPI.Comm,
    note: Note = lambda _: None,
) -> dict[str, f64]:
    """Collective: what ForwardProblem takes, beside figure_effects."""
    if crusts is None:
        return {}

    def found() -> dict[str, f64]:
        rates = {"toroidal_crust": crust_rates(crusts, config, modes, note).ravel()}
        if spheroidal is not None:
            rates["spheroidal_crust"] = crust_rates(crusts, config, spheroidal, note).ravel()
        return rates

    return on_root(comm, found)


def on_crust(table: PathTable, crusts: Crusts | None) -> PathTable:
    """The paths with their weights of each crust, if they have none yet. Not collective."""
    if crusts is None or table.crust is not None:
        return table
    return replace(table, crust=crusts.parts_of_paths(table))


def earth_name(earth: EarthModel, crusts: Crusts | None) -> str:
    """For the record, and for whoever goes on with a run."""
    return earth.name if crusts is None else f"{earth.name}{WITH_CRUST}{crusts.grid.name}"
