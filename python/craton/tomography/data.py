"""Paths, time windows, observed seismograms and their uncertainty; data.h5."""

from __future__ import annotations

import json
import pathlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from craton.errors import UserError
from craton.tomography.catalogue import Events, Stations, read_events, read_stations
from craton.tomography.prior import EARTH_RADIUS_KM, unit_vectors
from craton.tomography.run_folder import on_root, replaced

if TYPE_CHECKING:
    from craton._craton import ForwardProblem, PathSet
    from craton.tomography.config import Config

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

FLATTENING = 1.0 / 298.257223563
QUIETEST_TRACE = 0.1
"""A trace's rms counts as at least this fraction of its event's median: a nodal trace gets no undue weight."""
CHOICE_STREAM, NOISE_STREAM = 1, 2
"""Keep the random choice of paths and the noise independent of each other."""


@dataclass(frozen=True)
class PathTable:
    """Which event-station pairs are used, and the time window of each."""

    events: Events
    stations: Stations
    event: i64
    station: i64
    t_first_s: f64
    samples: i64
    sample_interval_s: float

    def __len__(self) -> int:
        return len(self.event)

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
        cosine = np.sum(
            geocentric_vectors(self.events.latitude_deg, self.events.longitude_deg)[self.event]
            * geocentric_vectors(self.stations.latitude_deg, self.stations.longitude_deg)[self.station],
            axis=1,
        )
        return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))

    def path_set(self, forward: ForwardProblem) -> PathSet:
        """The same for the compiled kernels."""
        from craton._craton import PathSet

        return PathSet(
            forward,
            self.events.latitude_deg,
            self.events.longitude_deg,
            1e3 * self.events.depth_km,
            np.ascontiguousarray(self.events.moment_tensor_Nm),
            self.events.half_duration_s,
            self.stations.latitude_deg,
            self.stations.longitude_deg,
            self.event,
            self.station,
            self.t_first_s,
            self.sample_interval_s,
            self.samples,
        )


@dataclass(frozen=True)
class Observations:
    """Seismograms of all paths, one after the other, and the standard deviation of each path's noise, in metres."""

    paths: PathTable
    observed: f64
    sigma: f64
    attributes: dict[str, Any]
    """kind ("synthetic" or "file") and where the samples come from."""


def geocentric_vectors(latitude_deg: f64, longitude_deg: f64) -> f64:
    """Unit vectors of places that are given by geographic latitude."""
    geocentric = np.degrees(np.arctan((1.0 - FLATTENING) ** 2 * np.tan(np.radians(latitude_deg))))
    return unit_vectors(geocentric, longitude_deg)


def build_paths(config: Config, events: Events, stations: Stations) -> PathTable:
    """All event-station pairs within the distance limits, or a random subset of them."""
    cosine = (
        geocentric_vectors(events.latitude_deg, events.longitude_deg)
        @ geocentric_vectors(stations.latitude_deg, stations.longitude_deg).T
    )
    distance_deg = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
    limits = config.paths
    event, station = np.nonzero((distance_deg >= limits.min_distance_deg) & (distance_deg <= limits.max_distance_deg))
    if not len(event):
        raise UserError(
            f"{config.source}: no event-station pair has a distance between [paths] min_distance_deg = "
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
    return PathTable(
        events, stations, event.astype(np.int64), station.astype(np.int64),
        first * interval, (last - first + 1).astype(np.int64), interval,
    )  # fmt: skip


def share(total: int, size: int, rank: int) -> tuple[int, int]:
    """The contiguous part of range(total) that falls to a rank."""
    return total * rank // size, total * (rank + 1) // size


def predict(forward: ForwardProblem, paths: PathSet, model: f64, comm: MPI.Comm, threads: int) -> f64:
    """Collective: g(m) of all paths on every rank; each rank computes a contiguous share."""
    bounds = [share(len(paths), comm.size, rank) for rank in range(comm.size)]
    first, last = bounds[comm.rank]
    mine = np.ascontiguousarray(forward.seismograms(paths, first, last, model, threads))
    offsets = np.asarray(paths.offsets)
    everything = np.empty(offsets[-1])
    counts = [int(offsets[end] - offsets[begin]) for begin, end in bounds]
    starts = [int(offsets[begin]) for begin, _ in bounds]
    comm.Allgatherv(mine, [everything, counts, starts, MPI.DOUBLE])
    return everything


def noise_deviation(paths: PathTable, traces: f64, fraction: float) -> f64:
    """sigma per path: a fraction of the trace's rms, with a floor for traces much weaker than their event's median."""
    rms = np.sqrt(np.add.reduceat(traces**2, paths.offsets[:-1]) / paths.samples)
    for event in paths.event_rows:
        rows = paths.event == event
        rms[rows] = np.maximum(rms[rows], QUIETEST_TRACE * np.median(rms[rows]))
    silent = np.flatnonzero(~(rms > 0.0))
    if len(silent):
        raise UserError(f"{paths.describe(int(silent[0]))}: all samples are zero; allowed: seismograms with a signal")
    return fraction * rms


def add_noise(paths: PathTable, traces: f64, sigma: f64, seed: int) -> f64:
    """Gaussian noise, independent from sample to sample; each path has its own stream, whoever computes it."""
    noisy = traces.copy()
    offsets = paths.offsets
    for path in range(len(paths)):
        random = np.random.default_rng([seed, NOISE_STREAM, path])
        noisy[offsets[path] : offsets[path + 1]] += sigma[path] * random.standard_normal(paths.samples[path])
    return noisy


def read_catalogues(config: Config, comm: MPI.Comm) -> tuple[Events, Stations]:
    """Collective: rank 0 reads, every rank gets them."""
    return on_root(
        comm,
        lambda: (
            read_events(config.events.file, config.events.maximum),
            read_stations(config.stations.file, config.stations.maximum),
        ),
    )


def synthetic_observations(
    config: Config, paths: PathTable, forward: ForwardProblem, target: f64, comm: MPI.Comm, threads: int
) -> Observations:
    """Collective: d = g(target) + noise."""
    traces = predict(forward, paths.path_set(forward), target, comm, threads)
    sigma = noise_deviation(paths, traces, config.data.noise)
    observed = add_noise(paths, traces, sigma, config.run.seed)
    attributes = {
        "kind": "synthetic",
        "origin": "seismograms of the target model by the same theory, plus Gaussian noise",
        "noise_fraction": config.data.noise,
        "seed": config.run.seed,
    }
    return Observations(paths, observed, sigma, attributes)


# ----------------------------------------------------------------------------------------------------------- data.h5


def save_observations(file_name: pathlib.Path, observations: Observations, filter_periods_s: tuple[float, ...]) -> None:
    """data.h5: one file with everything needed to plot the data or to invert them again."""
    paths = observations.paths
    text = h5py.string_dtype()
    with replaced(file_name) as aside, h5py.File(aside, "w") as file:
        file.attrs.update(observations.attributes)
        file.attrs["sample_interval_s"] = paths.sample_interval_s
        file.attrs["filter_periods_s"] = filter_periods_s
        file.attrs["units"] = "transverse displacement in metres; times after the origin time"
        file["observed"] = observations.observed
        file["sigma"] = observations.sigma
        table = file.create_group("paths")
        table.create_dataset("event", data=[paths.events.name[row] for row in paths.event], dtype=text)
        table.create_dataset("station", data=[paths.stations.name[row] for row in paths.station], dtype=text)
        table["t_first_s"] = paths.t_first_s
        table["samples"] = paths.samples
        for name, catalogue in (("events", paths.events), ("stations", paths.stations)):
            group = file.create_group(name)
            for column, values in vars(catalogue).items():
                group.create_dataset(column, data=values, dtype=text if isinstance(values, tuple) else None)


def load_observations(
    file_name: str | pathlib.Path, events: Events | None = None, stations: Stations | None = None
) -> Observations:
    """Reads and checks data.h5. Events and stations are looked up in the catalogues given, else in the file's own."""
    try:
        with h5py.File(file_name, "r") as file:
            events = events or Events(**table_columns(file["events"]))
            stations = stations or Stations(**table_columns(file["stations"]))
            event_name, station_name = file["paths/event"].asstr()[:], file["paths/station"].asstr()[:]
            t_first_s = np.asarray(file["paths/t_first_s"][:], np.float64)
            samples = np.asarray(file["paths/samples"][:], np.int64)
            observed = np.asarray(file["observed"][:], np.float64)
            sigma = np.asarray(file["sigma"][:], np.float64) if "sigma" in file else None
            interval = float(file.attrs["sample_interval_s"])
            attributes = {name: plain(value) for name, value in file.attrs.items()}
    except FileNotFoundError as problem:
        raise UserError(f"{file_name}: no such file; allowed: a data.h5") from problem
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as problem:
        raise UserError(
            f"{file_name}: not a complete data.h5 ({problem}); see docs/tomography.md for what it holds"
        ) from problem
    lengths = {
        "paths/event": len(event_name),
        "paths/station": len(station_name),
        "paths/t_first_s": len(t_first_s),
        "paths/samples": len(samples),
    }
    if sigma is not None:
        lengths["sigma"] = len(sigma)
    if len(set(lengths.values())) != 1 or not len(samples):
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise UserError(f"{file_name}: {listed} entries; allowed: one per path in each, and at least one path")
    if np.any(samples < 1) or samples.sum() != len(observed):
        raise UserError(
            f"{file_name}: observed has {len(observed)} samples, while paths/samples add up to {samples.sum()} "
            f"(smallest: {samples.min()}); allowed: at least one sample per path, and the same total"
        )
    table = PathTable(
        events, stations,
        rows_of(event_name, events.name, "event", file_name),
        rows_of(station_name, stations.name, "station", file_name),
        t_first_s, samples, interval,
    )  # fmt: skip
    check_samples(table, observed, sigma, file_name)
    if sigma is None:
        sigma = noise_deviation(table, observed, attributes.get("noise_fraction", 0.05))
    return Observations(table, observed, sigma, attributes)


def file_observations(config: Config, events: Events, stations: Stations) -> Observations:
    """Observed data of a run whose configuration says kind = "file"; settings that contradict the file are errors."""
    found = load_observations(config.data.file, events, stations)
    for name, wanted in (
        ("sample_interval_s", config.data.sample_interval_s),
        ("filter_periods_s", list(config.data.filter_periods_s)),
    ):
        stored = found.attributes.get(name, wanted)
        if not np.allclose(stored, wanted):
            raise UserError(f"{config.source}: [data] {name} = {wanted}; allowed: {stored}, as in {config.data.file}")
    origin = found.attributes.get("origin", "unknown")
    return Observations(
        found.paths, found.observed, found.sigma,
        {"kind": "file", **found.attributes, "file": config.data.file, "origin": str(origin)},
    )  # fmt: skip


def table_columns(group: h5py.Group) -> dict[str, Any]:
    """Columns of a catalogue: text as tuples, numbers as arrays."""
    return {
        name: tuple(column.asstr()[:]) if h5py.check_string_dtype(column.dtype) else np.asarray(column[:], np.float64)
        for name, column in group.items()
    }


def plain(value: Any) -> Any:
    """An attribute as JSON would hold it."""
    return json.loads(json.dumps(value, default=lambda item: item.tolist()))


def rows_of(names: NDArray[Any], catalogue: tuple[str, ...], kind: str, file_name: str | pathlib.Path) -> i64:
    """Where each path's event or station stands in its catalogue."""
    rows = {name: row for row, name in enumerate(catalogue)}
    for path, name in enumerate(names):
        if name not in rows:
            raise UserError(f"{file_name}: path {path} names {kind} '{name}', which is not in the catalogue of {kind}s")
    return np.array([rows[name] for name in names], np.int64)


def check_samples(paths: PathTable, observed: f64, sigma: f64 | None, file_name: str | pathlib.Path) -> None:
    """Every sample finite, every sigma positive, every window after the origin time."""
    bad = np.flatnonzero(~np.isfinite(observed))
    if len(bad):
        path = int(np.searchsorted(paths.offsets, bad[0], side="right")) - 1
        sample = int(bad[0] - paths.offsets[path])
        raise UserError(
            f"{file_name}: {paths.describe(path)}, sample {sample}: {observed[bad[0]]}; allowed: a finite number "
            f"({len(bad)} samples in all are not)"
        )
    positive = np.ones(len(paths)) if sigma is None else sigma
    for name, values, good, allowed in (
        ("sigma", positive, positive > 0.0, "a positive number of metres"),
        ("t_first_s", paths.t_first_s, paths.t_first_s >= 0.0, "seconds after the origin time"),
    ):
        wrong = np.flatnonzero(~(good & np.isfinite(values)))
        if len(wrong):
            path = int(wrong[0])
            raise UserError(f"{file_name}: {paths.describe(path)}: {name} = {values[path]}; allowed: {allowed}")
