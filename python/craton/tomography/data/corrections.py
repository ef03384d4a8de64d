"""What may be wrong with earthquakes and stations, as further unknowns of the inversion.

The model vector has them behind the coefficients of the structure: those of each earthquake (origin time, centroid, moment tensor),
then those of each station (time, gain). A path touches those of its own earthquake and station: a small, irregular set of rows and
columns of the Hessian. Their values go into the earthquakes and windows that seismograms are computed for, so g(m) follows them
exactly; _craton.Corrections has the derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton import _craton
from craton.runs.words import counted
from craton.tomography.config.tables import CorrectionsConfig
from craton.tomography.data.catalogue import Events
from craton.tomography.model.sphere import EARTH_RADIUS_KM

if TYPE_CHECKING:
    from craton._craton import PathSet
    from craton.tomography.data.paths import PathTable

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

DEEPEST_KM = 2891.0


@dataclass(frozen=True)
class Kind:
    """One kind of unknowns."""

    name: str
    """As CorrectionsConfig has it; its value is the prior's standard deviation."""
    of: str
    """event or station"""
    labels: tuple[str, ...]
    """What each number is, with its unit."""
    text: str
    """In words."""
    unit: str


KINDS = (
    Kind("origin_time_s", "event", ("later_s",), "origin time", "s"),
    Kind("centroid_km", "event", ("north_km", "east_km", "down_km"), "centroid", "km"),
    Kind(
        "moment_tensor", "event", tuple(f"tensor_{number}" for number in range(1, 6)), "moment tensor", "of the moment"
    ),
    Kind("station_time_s", "station", ("later_s",), "station time", "s"),
    Kind("station_gain", "station", ("log_gain",), "station gain", "of the amplitude"),
)
"""In the order in which an earthquake's, and then a station's, unknowns follow each other."""
BY_NAME = {kind.name: kind for kind in KINDS}


ERROR_STREAM = 4
"""The random stream of a target's errors; noise, choice of paths and sampled windows have others."""


def scalar_moment_Nm(events: Events) -> f64:
    """Root of half the tensor's squared elements, of each earthquake (Silver & Jordan 1982)."""
    tensor = events.moment_tensor_Nm
    return np.asarray(np.sqrt(0.5 * np.sum(tensor[:, :3] ** 2, axis=1) + np.sum(tensor[:, 3:] ** 2, axis=1)))


class Corrections:
    """The unknowns of the earthquakes and stations of some paths. Immutable; not collective."""

    def __init__(self, table: PathTable, settings: CorrectionsConfig | None = None) -> None:
        """settings: which there are, by the standard deviations of the prior; None: none."""
        deviations = vars(settings or CorrectionsConfig())
        self.table = table
        self.kinds = tuple(kind for kind in KINDS if deviations[kind.name])
        self.deviations = {kind.name: float(deviations[kind.name]) for kind in self.kinds}
        self.rows = {"event": table.event_rows, "station": table.station_rows}
        """Events and stations that have unknowns, as rows of their catalogues."""
        self._shapes, self._places, start = dict[str, tuple[int, int]](), dict[str, i64](), 0
        for of, rows in self.rows.items():
            own = [kind for kind in self.kinds if kind.of == of]
            width, column = sum(len(kind.labels) for kind in own), 0
            grid = start + np.arange(len(rows) * width).reshape(len(rows), width)
            for kind in own:
                self._places[kind.name] = grid[:, column : column + len(kind.labels)]
                column += len(kind.labels)
            start += grid.size
        self.size = start

    @property
    def precision(self) -> f64:
        """Diagonal of the inverse of the prior's covariance."""
        out = np.empty(self.size)
        for kind in self.kinds:
            out[self._places[kind.name]] = self.deviations[kind.name] ** -2.0
        return out

    def of(self, kind: str, values: f64) -> f64:
        """One kind's numbers, a row for each event or station; zeros where it is not among the unknowns."""
        if kind in self._places:
            return np.asarray(values[self._places[kind]])
        found = BY_NAME[kind]
        return np.zeros((len(self.rows[found.of]), len(found.labels)))

    def drawn(self, random: np.random.Generator) -> f64:
        """Values as the prior expects them."""
        return random.standard_normal(self.size) / np.sqrt(self.precision)

    def applied(self, values: f64) -> PathTable:
        """The paths with other earthquakes, later windows and gains: what seismograms are to be computed for."""
        if not self.size:
            return self.table
        later_s = np.zeros(len(self.table.events))
        later_s[self.rows["event"]] = self.of("origin_time_s", values)[:, 0]
        of_station_s, log_gain = (np.zeros(len(self.table.stations)) for _ in range(2))
        of_station_s[self.rows["station"]] = self.of("station_time_s", values)[:, 0]
        log_gain[self.rows["station"]] = self.of("station_gain", values)[:, 0]
        table = self.table
        shift_s = later_s[table.event] + of_station_s[table.station]
        return replace(
            table,
            events=self.moved_events(values),
            t_first_s=table.t_first_s - shift_s,
            gain=np.exp(log_gain)[table.station],
        )

    def moved_events(self, values: f64) -> Events:
        """The catalogue with other centroids and moment tensors. Times are as they were: windows are counted from them."""
        events, rows = self.table.events, self.rows["event"]
        north_km, east_km, down_km = self.of("centroid_km", values).T
        latitude, longitude = events.latitude_deg.copy(), events.longitude_deg.copy()
        depth_km, tensor_Nm = events.depth_km.copy(), events.moment_tensor_Nm.copy()
        across_km = EARTH_RADIUS_KM * np.maximum(np.cos(np.radians(latitude[rows])), 1e-6)
        longitude[rows] += np.degrees(east_km / across_km)
        latitude[rows] += np.degrees(north_km / EARTH_RADIUS_KM)
        over = np.abs(latitude) > 90.0  # beyond a pole
        latitude[over] = np.sign(latitude[over]) * 180.0 - latitude[over]
        longitude[over] += 180.0
        longitude[rows] = (longitude[rows] + 180.0) % 360.0 - 180.0
        depth_km[rows] = np.clip(depth_km[rows] + down_km, 0.0, DEEPEST_KM)
        change = self.of("moment_tensor", values) @ np.asarray(_craton.Corrections.tensor_change)
        tensor_Nm[rows] += scalar_moment_Nm(events)[rows, None] * change
        return replace(
            events, latitude_deg=latitude, longitude_deg=longitude, depth_km=depth_km, moment_tensor_Nm=tensor_Nm
        )

    def derivatives(self, paths: PathSet) -> _craton.Corrections | None:
        """What assemble() needs of them; None where there are none. paths: of a table that they were applied to."""
        if not self.size:
            return None
        wanted = {kind.name.removesuffix("_s").removesuffix("_km"): True for kind in self.kinds}
        moments_Nm = np.maximum(scalar_moment_Nm(self.table.events), np.finfo(float).tiny)
        return _craton.Corrections(paths, moments_Nm, **wanted)


def true_corrections(errors: Corrections, seed: int) -> f64:
    """What is wrong with the catalogues of synthetic data, drawn by the errors' standard deviations."""
    return errors.drawn(np.random.default_rng([seed, ERROR_STREAM]))


def about_unknowns(corrections: Corrections) -> str:
    """How many there are, and of what, in words."""
    listed = ", ".join(
        f"{kind.text} (prior {corrections.deviations[kind.name]:g} {kind.unit})" for kind in corrections.kinds
    )
    counts = " and ".join(
        counted(len(corrections.rows[of]), what)
        for of, what in (("event", "earthquake"), ("station", "station"))
        if any(kind.of == of for kind in corrections.kinds)
    )
    return f"{corrections.size} unknowns of {counts} besides: {listed}"
