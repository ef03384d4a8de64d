"""Windows of observed seismograms: one `Window`, and a `WindowTable` of accepted and rejected ones, which is data.h5.

docs/tomography_data.md has the file's layout.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.hdf5_files import opened_hdf5
from craton.tomography.data.catalogue import Events, Stations
from craton.tomography.data.data_file import ALLOWED, load_observations, save_observations
from craton.tomography.data.observations import Observations
from craton.tomography.data.paths import PathTable

f64 = NDArray[np.float64]

QUALITY = (
    "distance_deg",
    "noise_rms_m",
    "noise_correlation_s",
    "observed_rms_m",
    "synthetic_rms_m",
    "signal_to_noise",
    "correlation",
    "shift_s",
    "amplitude_ratio",
    "arc_overlap",
)
"""Numbers that a window was judged by; NaN where it was rejected before they were known."""
KIND = ("component", "arc", "phase")
"""What windows of a path differ by."""


@dataclass(frozen=True)
class Window:
    """A stretch of one component of one path, accepted or rejected."""

    event: int
    """row of the events' table"""
    station: int
    """row of the stations' table"""
    component: str
    """Z (up), R (away from the source) or T (transverse, clockwise about the source)"""
    arc: str
    """minor (the short way round the Earth) or major"""
    phase: str
    """fundamental, overtones, or what else [[phases]] names"""
    t_first_s: float
    """of the first sample after the centroid time"""
    samples: int
    code: str = ""
    """why it was rejected, in a word or two; empty for an accepted one"""
    reason: str = ""
    """the same with values and limits"""
    quality: dict[str, float] = field(default_factory=dict)
    observed: f64 | None = None
    """metres; of an accepted window"""
    sigma_m: float = np.nan
    """standard deviation of the noise, metres"""

    @property
    def accepted(self) -> bool:
        """Whether the inversion reads it."""
        return not self.code


@dataclass(frozen=True)
class WindowTable:
    """All windows of a data set. Rows of `accepted` are the paths that the inversion reads."""

    events: Events
    stations: Stations
    windows: tuple[Window, ...]
    sample_interval_s: float
    filter_periods_s: tuple[float, ...]
    provenance: tuple[str, ...] = ()
    """one JSON text per trace: event, station, component, files, spans, responses, steps"""
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def accepted(self) -> tuple[Window, ...]:
        """Windows that the inversion reads, in their order."""
        return tuple(window for window in self.windows if window.accepted)

    @property
    def rejected(self) -> tuple[Window, ...]:
        """All others, in their order."""
        return tuple(window for window in self.windows if not window.accepted)

    def paths(self) -> PathTable:
        """The accepted windows, in their order."""
        return self._paths(self.accepted)

    def observations(self) -> Observations:
        """The accepted windows as the inversion takes them. UserError where there is none."""
        kept = self.accepted
        if not kept:
            raise UserError(f"none of {len(self.windows)} windows was accepted; allowed: data of which at least one is")
        return Observations(
            self._paths(kept),
            np.concatenate([window.observed for window in kept]),
            np.array([window.sigma_m for window in kept]),
            {"kind": "file", **self.attributes},
        )

    def save(self, file_name: str | os.PathLike[str]) -> None:
        """Writes data.h5; replaces the file when complete. UserError where no window was accepted, or it cannot be written."""
        rejected, paths = self.rejected, self._paths(self.rejected)
        left_out: dict[str, Any] = {
            "event": [self.events.name[row] for row in paths.event],
            "station": [self.stations.name[row] for row in paths.station],
            **{name: list(getattr(paths, name)) for name in KIND},
            "t_first_s": paths.t_first_s,
            "samples": paths.samples,
            "code": [window.code for window in rejected],
            "reason": [window.reason for window in rejected],
            **_quality(rejected),
        }
        more = {"provenance": list(self.provenance), **_quality(self.accepted)}
        more |= {f"rejected/{name}": values for name, values in left_out.items()}
        save_observations(Path(file_name), self.observations(), self.filter_periods_s, more)

    @classmethod
    def load(cls, file_name: str | os.PathLike[str]) -> WindowTable:
        """Any data.h5, also one without windows of several kinds. UserError for a file that is damaged or something else."""
        file_name = Path(file_name)
        data = load_observations(file_name)
        paths = data.paths
        with opened_hdf5(file_name, ALLOWED, wrong="not a complete table of windows") as file:
            provenance = tuple(file["provenance"].asstr()[:]) if "provenance" in file else ()
            quality = _read_quality(file, len(paths))
            left_out = _read_rejected(file["rejected"], paths) if "rejected" in file else ()
        numbers = {name: getattr(paths, name).tolist() for name in ("event", "station", "t_first_s", "samples")}
        observed = {"observed": np.split(data.observed, paths.offsets[1:-1]), "sigma_m": data.sigma.tolist()}
        windows = _windows({**numbers, **{name: getattr(paths, name) for name in KIND}, "quality": quality, **observed})
        own = ("kind", "sample_interval_s", "filter_periods_s", "units")
        attributes = {name: value for name, value in data.attributes.items() if name not in own}
        sampling = paths.sample_interval_s, tuple(data.attributes.get("filter_periods_s", ()))
        return cls(paths.events, paths.stations, windows + left_out, *sampling, provenance, attributes)

    def _paths(self, windows: Sequence[Window]) -> PathTable:
        whole = [(one.event, one.station, one.samples) for one in windows]
        event, station, samples = np.array(whole, np.int64).reshape(-1, 3).T.copy()
        t_first_s = np.array([one.t_first_s for one in windows], np.float64)
        labels: dict[str, Any] = {name: tuple(getattr(one, name) for one in windows) for name in KIND}
        return PathTable(
            self.events, self.stations, event, station, t_first_s, samples, self.sample_interval_s, **labels
        )


def _quality(windows: Sequence[Window]) -> dict[str, f64]:
    """Datasets of what windows were judged by; NaN for what a window does not have."""
    return {
        f"quality/{name}": np.array([window.quality.get(name, np.nan) for window in windows], np.float64)
        for name in QUALITY
    }


def _read_quality(group: h5py.Group, count: int) -> list[dict[str, float]]:
    """The same of each window, of the datasets that there are."""
    columns = {name: group[f"quality/{name}"][:] for name in QUALITY if f"quality/{name}" in group}
    return [{name: float(values[row]) for name, values in columns.items()} for row in range(count)]


def _read_rejected(group: h5py.Group, paths: PathTable) -> tuple[Window, ...]:
    columns = {name: group[name].asstr()[:] for name in ("event", "station", *KIND, "code", "reason")}
    columns["event"] = [paths.events.name.index(name) for name in columns["event"]]
    columns["station"] = [paths.stations.name.index(name) for name in columns["station"]]
    columns |= {name: group[name][:].tolist() for name in ("t_first_s", "samples")}
    return _windows({**columns, "quality": _read_quality(group, len(columns["event"]))})


def _windows(columns: Mapping[str, Sequence[Any]]) -> tuple[Window, ...]:
    """Windows from the values of each field."""
    return tuple(Window(**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))


def provenance_text(event: str, station: str, trace: dict[str, Any]) -> str:
    """What was done with one trace, as JSON, for `WindowTable.provenance`."""
    return json.dumps({"event": event, "station": station, **trace}, allow_nan=False)
