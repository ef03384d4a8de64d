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

if TYPE_CHECKING:
    from craton._craton import PathSet
    from craton.tomography.data.paths import PathTable

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

DEEPEST_KM = 2891.0
MOST_LOG_GAIN = 20.0


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


ERROR_STREAM = 5
"""The random stream of a target's errors; noise, choice of paths, sampled windows and folds have others."""


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

    def bounded(self, values: f64) -> f64:
        """The nearest values at which no centroid lies above the ground, or in the core."""
        if "centroid_km" not in self._places:
            return values
        out, down = values.copy(), self._places["centroid_km"][:, 2]
        depth_km = self.table.events.depth_km[self.rows["event"]]
        out[down] = np.clip(values[down], -depth_km, DEEPEST_KM - depth_km)
        return out

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
            gain=np.exp(np.clip(log_gain, -MOST_LOG_GAIN, MOST_LOG_GAIN))[table.station],
        )

    def moved_events(self, values: f64) -> Events:
        """The catalogue with other centroids and moment tensors. Times are as they were: windows are counted from them."""
        events, rows = self.table.events, self.rows["event"]
        latitude, longitude = events.latitude_deg.copy(), events.longitude_deg.copy()
        depth_km, tensor_Nm = events.depth_km.copy(), events.moment_tensor_Nm.copy()
        shift_km = self.of("centroid_km", values)
        moved = shift_km.any(axis=1)
        which = rows[moved]
        found = _craton.moved_places(
            latitude[which], longitude[which], 1e3 * depth_km[which], np.ascontiguousarray(1e3 * shift_km[moved])
        )
        latitude[which], longitude[which], depth_km[which] = found[0], found[1], found[2] / 1e3
        change = self.of("moment_tensor", values) @ np.asarray(_craton.tensor_changes())
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
