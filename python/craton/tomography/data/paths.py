"""Which event-station pairs are used, and the time window of each."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.seismology.geometry.latitudes import geocentric_deg
from craton.tomography.data.catalogue import Events, Stations
from craton.tomography.model.sphere import EARTH_RADIUS_KM, unit_vectors

if TYPE_CHECKING:
    from craton._craton import ForwardProblem, PathSet, World
    from craton.tomography.config.load import Config

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

NEAREST_DEG = 0.5
"""Nearer than this to the source, or to its antipode, the minor arc has no direction."""

CHOICE_STREAM = 1
"""The random stream; the noise has another."""

LABELS = {"component": "T", "arc": "minor", "phase": ""}
"""Texts that a window has, and what they are where a table or file does not say."""

LABEL_TEXT = {"component": ("Z", "R", "T"), "arc": ("minor", "major")}


@dataclass(frozen=True)
class PathTable:
    """Which event-station pairs are used, and the time window of each. A pair may have several windows: a row for each."""

    events: Events
    stations: Stations
    event: i64
    station: i64
    t_first_s: f64
    samples: i64
    sample_interval_s: float
    component: tuple[str, ...] = ()
    """Z (up), R (away from the source) or T (transverse) of each; left out: T"""
    arc: tuple[str, ...] = ()
    """minor (the short way) or major; left out: minor"""
    phase: tuple[str, ...] = ()
    """what the window is to hold, such as fundamental; left out: nothing is said"""
    gain: f64 | None = None
    """that the station has, of each path; None: 1"""
    crust: f64 | None = None
    """weights of the solved crusts along each path (theory/crust.py), shape (paths, crusts); None: the reference Earth's alone"""

    def __post_init__(self) -> None:
        for name, usual in LABELS.items():
            if not getattr(self, name):
                object.__setattr__(self, name, (usual,) * len(self.event))
            if len(getattr(self, name)) != len(self.event):
                raise ValueError(f"{len(self.event)} paths with {len(getattr(self, name))} entries of {name}")

    def __len__(self) -> int:
        return len(self.event)

    def rows(self, keep: NDArray[np.bool_] | i64) -> PathTable:
        """Some of the paths. keep: of each path whether it is one; or their numbers."""
        chosen = np.arange(len(self))[keep]
        labels: dict[str, Any] = {name: tuple(getattr(self, name)[row] for row in chosen) for name in LABELS}
        return dataclasses.replace(
            self, event=self.event[chosen], station=self.station[chosen], t_first_s=self.t_first_s[chosen],
            samples=self.samples[chosen], gain=None if self.gain is None else self.gain[chosen],
            crust=None if self.crust is None else self.crust[chosen], **labels,
        )  # fmt: skip

    @property
    def offsets(self) -> i64:
        """Where each path's samples start in a concatenated vector; len + 1 entries."""
        return np.concatenate([[0], np.cumsum(self.samples)]).astype(np.int64)

    @property
    def event_rows(self) -> i64:
        """Events that at least one path uses."""
        return np.unique(self.event)

    @property
    def station_rows(self) -> i64:
        """Stations that at least one path uses."""
        return np.unique(self.station)

    def describe(self, path: int) -> str:
        """A path in the user's words."""
        event, station = self.events.name[self.event[path]], self.stations.name[self.station[path]]
        return f"path {path} (event {event}, station {station})"

    def distance_deg(self) -> f64:
        """Epicentral distance of every path."""
        sources = geocentric_vectors(self.events.latitude_deg, self.events.longitude_deg)[self.event]
        receivers = geocentric_vectors(self.stations.latitude_deg, self.stations.longitude_deg)[self.station]
        return angle_deg(np.sum(sources * receivers, axis=1))

    def path_set(self, forward: ForwardProblem, world: World | None = None) -> PathSet:
        """The paths as the compiled kernels take them. UserError, in names of this table, for a path that they cannot take.

        world: ranks that have the same table make it together, collectively: their nodes then have the knots of all paths once.
        """
        from craton._craton import PathSet

        try:
            events, stations = self.events, self.stations
            return PathSet(
                forward, events.latitude_deg, events.longitude_deg, 1e3 * events.depth_km,
                np.ascontiguousarray(events.moment_tensor_Nm), events.half_duration_s, stations.latitude_deg,
                stations.longitude_deg, self.event, self.station, self.t_first_s, self.sample_interval_s, self.samples,
                list(self.arc), list(self.component), self.gain, self.crust, world,
            )  # fmt: skip
        except UserError as problem:
            named = re.sub(
                r"path (\d+) \(event \d+, station \d+\)", lambda found: self.describe(int(found[1])), str(problem)
            )
            raise UserError(named) from None


def geocentric_vectors(latitude_deg: f64, longitude_deg: f64) -> f64:
    """Unit vectors, shape (n, 3), of places that are given by geographic latitude."""
    return unit_vectors(geocentric_deg(latitude_deg), longitude_deg)


def angle_deg(cosine: f64) -> f64:
    """The angle of a cosine, which rounding may have put beyond 1."""
    return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))


def too_near(distance_deg: f64) -> NDArray[np.bool_]:
    """Where source and station, or station and antipode, are too near for the minor arc to have a direction."""
    return (distance_deg <= NEAREST_DEG) | (distance_deg >= 180.0 - NEAREST_DEG)


def left_out(what: str, count: int) -> str:
    """A note about paths that are too near."""
    more = f" (and {count - 1} more)" if count > 1 else ""
    return f"left out: {what}{more}, nearer than {NEAREST_DEG:g} degrees to each other or to each other's antipode"


def build_paths(
    config: Config, events: Events, stations: Stations, note: Callable[[str], None] = lambda _: None
) -> PathTable:
    """All event-station pairs within the distance limits, or a random subset of them, with a window for each component.

    note: is told of pairs that are left out. UserError where none is left.
    """
    sources = geocentric_vectors(events.latitude_deg, events.longitude_deg)
    distance_deg = angle_deg(sources @ geocentric_vectors(stations.latitude_deg, stations.longitude_deg).T)
    limits = config.paths
    within = (distance_deg >= limits.min_distance_deg) & (distance_deg <= limits.max_distance_deg)
    near = np.argwhere(within & too_near(distance_deg))
    if len(near):
        note(left_out(f"event {events.name[near[0][0]]} with station {stations.name[near[0][1]]}", len(near)))
    event, station = np.nonzero(within & ~too_near(distance_deg))
    if not len(event):
        raise UserError(
            f"{config.path}: no event-station pair has a distance between [paths] min_distance_deg = "
            f"{limits.min_distance_deg:g} and max_distance_deg = {limits.max_distance_deg:g}; "
            "allowed: limits that leave at least one"
        )
    if 0 < limits.maximum < len(event):
        random = np.random.default_rng([config.run.seed, CHOICE_STREAM])
        chosen = np.sort(random.choice(len(event), limits.maximum, replace=False))
        event, station = event[chosen], station[chosen]
    distance_km = np.radians(distance_deg[event, station]) * EARTH_RADIUS_KM
    data = config.data
    interval = data.sample_interval_s
    first = np.maximum(0.0, np.floor((distance_km / data.fastest_km_s - data.pad_s) / interval))
    last = np.ceil((distance_km / data.slowest_km_s + data.pad_s) / interval)
    letters = data.components
    event, station, first, last = (np.repeat(column, len(letters)) for column in (event, station, first, last))
    return PathTable(
        events, stations, event.astype(np.int64), station.astype(np.int64),
        first * interval, (last - first + 1).astype(np.int64), interval,
        component=tuple(letters) * (len(event) // len(letters)),
    )  # fmt: skip
