"""Paths, time windows, observed seismograms and their uncertainty; data.h5."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import scipy.signal
from mpi4py import MPI
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.runs.files import check_room, replaced
from craton.seismology.geometry.latitudes import geocentric_deg
from craton.tomography.data.catalogue import Events, Stations, read_events, read_stations
from craton.tomography.prior.gaussian import EARTH_RADIUS_KM, unit_vectors

if TYPE_CHECKING:
    from craton._craton import ForwardProblem, PathSet
    from craton.tomography.config import Config

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

QUIETEST_TRACE = 0.1
"""A trace's rms counts as at least this fraction of its event's median: a nodal trace gets no undue weight."""
NEAREST_DEG = 0.5
"""Nearer than this to the source, or to its antipode, the minor arc has no direction."""
LARGEST_SAMPLE_M = 1e6
SIGMA_RANGE_M = (1e-18, 1e6)
"""Far beyond any seismogram; their squares and quotients still are numbers of single precision."""
LONGEST_CORRELATION_S = 1e4
CHOICE_STREAM, NOISE_STREAM = 1, 2
"""Keep the random choice of paths and the noise independent of each other."""


LABELS = {"component": "T", "arc": "minor", "phase": ""}
"""Of windows, and what they are where a table or file does not say."""
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

    def __post_init__(self) -> None:
        for name, usual in LABELS.items():
            if not getattr(self, name):
                object.__setattr__(self, name, (usual,) * len(self.event))
            if len(getattr(self, name)) != len(self.event):
                raise ValueError(f"{len(self.event)} paths with {len(getattr(self, name))} entries of {name}")

    def __len__(self) -> int:
        return len(self.event)

    def rows(self, keep: NDArray[np.bool_]) -> PathTable:
        """Some of the paths, in the same order."""
        chosen = np.flatnonzero(keep)
        labels = {name: tuple(getattr(self, name)[row] for row in chosen) for name in LABELS}
        return dataclasses.replace(
            self, event=self.event[chosen], station=self.station[chosen], t_first_s=self.t_first_s[chosen],
            samples=self.samples[chosen], **labels,
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
        cosine = np.sum(
            geocentric_vectors(self.events.latitude_deg, self.events.longitude_deg)[self.event]
            * geocentric_vectors(self.stations.latitude_deg, self.stations.longitude_deg)[self.station],
            axis=1,
        )
        return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))

    def path_set(self, forward: ForwardProblem) -> PathSet:
        """The same for the compiled kernels."""
        from craton._craton import PathSet

        try:
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
                list(self.arc),
                list(self.component),
            )
        except UserError as problem:
            named = re.sub(
                r"path (\d+) \(event \d+, station \d+\)", lambda found: self.describe(int(found[1])), str(problem)
            )
            raise UserError(named) from None


@dataclass(frozen=True)
class Observations:
    """Seismograms of all paths, one after the other, and the standard deviation of each path's noise, in metres."""

    paths: PathTable
    observed: f64
    sigma: f64
    attributes: dict[str, Any]
    """kind ("synthetic" or "file") and where the samples come from."""
    correlation_s: f64 | None = None
    """Per path, over how many seconds the noise's correlation falls to 1/e; None: independent samples."""

    def where(self, keep: NDArray[np.bool_]) -> Observations:
        """Those of some paths."""
        lengths_s = None if self.correlation_s is None else self.correlation_s[keep]
        samples = np.repeat(keep, self.paths.samples)
        return Observations(self.paths.rows(keep), self.observed[samples], self.sigma[keep], self.attributes, lengths_s)

    @property
    def correlation(self) -> f64 | None:
        """rho of neighbouring samples of each path: C_d[t, u] = sigma^2 rho^|t - u|."""
        if self.correlation_s is None or not self.correlation_s.any():
            return None
        return neighbour_correlation(self.correlation_s, self.paths.sample_interval_s)

    def whitened(self, traces: f64) -> f64:
        """W of C_d^-1 = W^T W times samples of all paths: what the misfit is the squared norm of."""
        scaled = traces / np.repeat(self.sigma, self.paths.samples)
        if self.correlation is None:
            return scaled
        rho = np.repeat(self.correlation, self.paths.samples)
        white = np.empty_like(scaled)
        white[1:] = (scaled[1:] - rho[1:] * scaled[:-1]) / np.sqrt(1.0 - rho[1:] ** 2)
        white[self.paths.offsets[:-1]] = scaled[self.paths.offsets[:-1]]
        return white


def neighbour_correlation(correlation_s: f64, sample_interval_s: float) -> f64:
    """rho = exp(-dt / tau); 0 for tau = 0."""
    times = np.maximum(correlation_s, 1e-300)
    return np.where(correlation_s > 0.0, np.exp(-sample_interval_s / times), 0.0)


def geocentric_vectors(latitude_deg: f64, longitude_deg: f64) -> f64:
    """Unit vectors of places that are given by geographic latitude."""
    return unit_vectors(geocentric_deg(latitude_deg), longitude_deg)


def too_near(distance_deg: f64) -> NDArray[np.bool_]:
    """Where the path-average theory has no path."""
    return (distance_deg <= NEAREST_DEG) | (distance_deg >= 180.0 - NEAREST_DEG)


def left_out(what: str, count: int) -> str:
    """A note about paths that are too near."""
    more = f" (and {count - 1} more)" if count > 1 else ""
    return f"left out: {what}{more}, nearer than {NEAREST_DEG:g} degrees to each other or to each other's antipode"


def build_paths(
    config: Config, events: Events, stations: Stations, note: Callable[[str], None] = lambda _: None
) -> PathTable:
    """All event-station pairs within the distance limits, or a random subset of them."""
    cosine = (
        geocentric_vectors(events.latitude_deg, events.longitude_deg)
        @ geocentric_vectors(stations.latitude_deg, stations.longitude_deg).T
    )
    distance_deg = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
    limits = config.paths
    within = (distance_deg >= limits.min_distance_deg) & (distance_deg <= limits.max_distance_deg)
    near = np.argwhere(within & too_near(distance_deg))
    if len(near):
        note(left_out(f"event {events.name[near[0][0]]} with station {stations.name[near[0][1]]}", len(near)))
    event, station = np.nonzero(within & ~too_near(distance_deg))
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
    letters = data.components
    event, station, first, last = (np.repeat(column, len(letters)) for column in (event, station, first, last))
    return PathTable(
        events, stations, event.astype(np.int64), station.astype(np.int64),
        first * interval, (last - first + 1).astype(np.int64), interval,
        component=tuple(letters) * (len(event) // len(letters)),
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
    """sigma per path: a fraction of the trace's rms, which counts as at least QUIETEST_TRACE of its event's median."""
    rms = np.sqrt(np.add.reduceat(traces**2, paths.offsets[:-1]) / paths.samples)
    for event in paths.event_rows:
        rows = paths.event == event
        rms[rows] = np.maximum(rms[rows], QUIETEST_TRACE * np.median(rms[rows]))
    silent = np.flatnonzero(~(rms > 0.0))
    if len(silent):
        raise UserError(f"{paths.describe(int(silent[0]))}: all samples are zero; allowed: seismograms with a signal")
    return fraction * rms


def add_noise(paths: PathTable, traces: f64, sigma: f64, seed: int, correlation: f64 | None = None) -> f64:
    """Gaussian noise, of samples that are independent or (correlation: rho of neighbours, per path) an autoregressive process
    of order one; each path has its own stream, whoever computes it."""
    noisy = traces.copy()
    offsets = paths.offsets
    for path in range(len(paths)):
        random = np.random.default_rng([seed, NOISE_STREAM, path])
        noise = random.standard_normal(paths.samples[path])
        if correlation is not None:
            noise = autoregressive(noise, float(correlation[path]))
        noisy[offsets[path] : offsets[path + 1]] += sigma[path] * noise
    return noisy


def autoregressive(white: f64, correlation: float) -> f64:
    """e[0] = z[0], e[t] = rho e[t-1] + sqrt(1 - rho^2) z[t]: of variance one throughout."""
    driven = np.sqrt(1.0 - correlation**2) * white
    driven[0] = white[0]
    return np.asarray(scipy.signal.lfilter([1.0], [1.0, -correlation], driven))


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
    """Collective: d = g(target) + noise. sigma is the standard deviation of the noise that is added."""
    traces = predict(forward, paths.path_set(forward), target, comm, threads)
    sigma = noise_deviation(paths, traces, config.data.noise)
    wrong = np.flatnonzero(out_of_range(sigma))
    if len(wrong):
        raise UserError(
            f"{config.source}: [data] noise = {config.data.noise:g} makes sigma = {sigma[wrong[0]]:.3g} m for "
            f"{paths.describe(int(wrong[0]))}; allowed: {SIGMA_TEXT}"
        )
    correlation_s = np.full(len(paths), config.data.correlation_s)
    rho = neighbour_correlation(correlation_s, paths.sample_interval_s) if config.data.correlation_s else None
    observed = add_noise(paths, traces, sigma, config.run.seed, rho)
    attributes = {
        "kind": "synthetic",
        "origin": "seismograms of the target model by the same theory, plus Gaussian noise",
        "noise_fraction": config.data.noise,
        "seed": config.run.seed,
    }
    return Observations(paths, observed, sigma, attributes, correlation_s)


# ----------------------------------------------------------------------------------------------------------- data.h5


def save_observations(
    file_name: pathlib.Path,
    observations: Observations,
    filter_periods_s: tuple[float, ...],
    more: Mapping[str, Any] | None = None,
) -> None:
    """data.h5: one file with everything needed to plot the data or to invert them again.

    `more`: datasets by name, arrays or lists of texts."""
    paths = observations.paths
    text = h5py.string_dtype()
    names = sum(
        len(paths.events.name[e]) + len(paths.stations.name[s]) for e, s in zip(paths.event, paths.station, strict=True)
    )
    check_room(file_name, observations.observed.nbytes + 100 * len(paths) + names)
    with replaced(file_name) as aside, h5py.File(aside, "w") as file:
        file.attrs.update(observations.attributes)
        file.attrs["sample_interval_s"] = paths.sample_interval_s
        file.attrs["filter_periods_s"] = filter_periods_s
        file.attrs["units"] = "displacement in metres along each path's component; times after the origin time"
        file["observed"] = observations.observed
        file["sigma"] = observations.sigma
        if observations.correlation is not None:
            file["correlation_s"] = observations.correlation_s
        table = file.create_group("paths")
        table.create_dataset("event", data=[paths.events.name[row] for row in paths.event], dtype=text)
        table.create_dataset("station", data=[paths.stations.name[row] for row in paths.station], dtype=text)
        table["t_first_s"] = paths.t_first_s
        table["samples"] = paths.samples
        for name in LABELS:
            table.create_dataset(name, data=list(getattr(paths, name)), dtype=text)
        for name, values in (more or {}).items():
            file.create_dataset(name, data=values, dtype=None if isinstance(values, np.ndarray) else text)
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
            attributes = {name: plain(value) for name, value in file.attrs.items()}
            events = events or Events(**table_columns(file["events"], 6))
            stations = stations or Stations(**table_columns(file["stations"], 0))
            event_name, station_name = column(file, "paths/event", "text"), column(file, "paths/station", "text")
            t_first_s = column(file, "paths/t_first_s", "numbers")
            samples = column(file, "paths/samples", "whole numbers")
            labels = {name: tuple(column(file, f"paths/{name}", "text")) for name in LABELS if f"paths/{name}" in file}
            observed = column(file, "observed", "numbers")
            sigma = column(file, "sigma", "numbers") if "sigma" in file else None
            correlation_s = column(file, "correlation_s", "numbers") if "correlation_s" in file else None
    except FileNotFoundError as problem:
        raise UserError(f"{file_name}: no such file; allowed: a data.h5") from problem
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError) as problem:
        raise UserError(
            f"{file_name}: not a complete data.h5 ({problem}); see docs/tomography.md for what it holds"
        ) from problem
    check_attributes(attributes, file_name)
    lengths = {
        "paths/event": len(event_name),
        "paths/station": len(station_name),
        "paths/t_first_s": len(t_first_s),
        "paths/samples": len(samples),
    }
    lengths.update((f"paths/{name}", len(values)) for name, values in labels.items())
    if sigma is not None:
        lengths["sigma"] = len(sigma)
    if correlation_s is not None:
        lengths["correlation_s"] = len(correlation_s)
    if len(set(lengths.values())) != 1 or not len(samples):
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise UserError(f"{file_name}: {listed} entries; allowed: one per path in each, and at least one path")
    total = sum(samples.tolist())
    if np.any(samples < 1) or total != len(observed):
        raise UserError(
            f"{file_name}: observed has {len(observed)} samples, while paths/samples add up to {total} "
            f"(smallest: {samples.min()}); allowed: at least one sample per path, and the same total"
        )
    table = PathTable(
        events, stations,
        rows_of(event_name, events.name, "event", file_name),
        rows_of(station_name, stations.name, "station", file_name),
        t_first_s, samples, float(attributes["sample_interval_s"]), **labels,
    )  # fmt: skip
    check_labels(table, file_name)
    check_samples(table, observed, sigma, file_name)
    if correlation_s is not None:
        wrong = np.flatnonzero(~((correlation_s >= 0.0) & (correlation_s <= LONGEST_CORRELATION_S)))
        if len(wrong):
            raise UserError(
                f"{file_name}: {table.describe(int(wrong[0]))}: correlation_s = {correlation_s[wrong[0]]}; allowed: 0 to "
                f"{LONGEST_CORRELATION_S:g} seconds"
            )
    if sigma is None:
        sigma = noise_deviation(table, observed, attributes.get("noise_fraction", 0.05))
        check_samples(table, observed, sigma, file_name)
    return Observations(table, observed, sigma, attributes, correlation_s)


def without_other_windows(
    data: Observations, components: str, file_name: str, note: Callable[[str], None]
) -> Observations:
    """The windows of the components that are asked for. A note tells of the others."""
    table = data.paths
    keep = np.array([letter in components for letter in table.component])
    if keep.all():
        return data
    first = int(np.argmin(keep))
    what = f"{np.sum(~keep)} windows, the first on {table.component[first]}"
    if not keep.any():
        raise UserError(f"{file_name}: {what}; allowed: some on {components}, as [data] components says")
    note(f"left out: {what}; [data] components = {components}")
    return data.where(keep)


def file_observations(
    config: Config, events: Events, stations: Stations, note: Callable[[str], None] = lambda _: None
) -> Observations:
    """Observed data of a run whose configuration says kind = "file"; settings that contradict the file are errors."""
    note(
        f"{config.data.file} brings its own paths, windows and sigma: [paths], and noise, speeds and pad of [data], are not used"
    )
    found = without_other_windows(
        load_observations(config.data.file, events, stations), config.data.components, config.data.file, note
    )
    for name, wanted in (
        ("sample_interval_s", config.data.sample_interval_s),
        ("filter_periods_s", list(config.data.filter_periods_s)),
    ):
        stored = found.attributes.get(name, wanted)
        if not np.allclose(stored, wanted, rtol=1e-6):
            raise UserError(f"{config.source}: [data] {name} = {wanted}; allowed: {stored}, as in {config.data.file}")
    origin = found.attributes.get("origin", "unknown")
    attributes = {"kind": "file", **found.attributes, "file": config.data.file, "origin": str(origin)}
    correlation_s = found.correlation_s
    if correlation_s is None:
        correlation_s = np.full(len(found.paths), config.data.correlation_s)
    return without_near_paths(Observations(found.paths, found.observed, found.sigma, attributes, correlation_s), note)


def without_near_paths(data: Observations, note: Callable[[str], None]) -> Observations:
    """The paths that the theory can handle; a note tells of the others."""
    table = data.paths
    near = too_near(table.distance_deg())
    if not near.any():
        return data
    note(left_out(table.describe(int(np.argmax(near))), int(near.sum())))
    if near.all():
        raise UserError(
            f"{data.attributes['file']}: no path is left; allowed: stations more than {NEAREST_DEG:g} degrees from the event"
        )
    return data.where(~near)


KINDS = {"text": "OS", "numbers": "fiu", "whole numbers": "iu"}
"""NumPy's letters for what a column may hold."""


def column(file: h5py.Group, name: str, kind: str, width: int = 0) -> NDArray[Any]:
    """A dataset of one dimension, or of `width` columns; anything else is a UserError that says what it is."""
    item = file[name]
    text = isinstance(item, h5py.Dataset) and h5py.check_string_dtype(item.dtype) is not None
    right_kind = isinstance(item, h5py.Dataset) and text == (kind == "text") and item.dtype.kind in KINDS[kind]
    if not right_kind or len(item.shape or ()) != (2 if width else 1) or (width and item.shape[1] != width):
        found = (
            f"{'text' if text else item.dtype} of shape {item.shape}" if isinstance(item, h5py.Dataset) else "a group"
        )
        where = name if file.name == "/" else f"{file.name.lstrip('/')}/{name}"
        raise UserError(
            f"{file.file.filename}: {where} is {found}; allowed: {kind} in {f'{width} columns' if width else 'one dimension'}"
        )
    if text:
        return np.asarray(item.asstr()[:])
    return np.asarray(item[:], np.int64 if kind == "whole numbers" else np.float64)


def table_columns(group: h5py.Group, width: int) -> dict[str, Any]:
    """Columns of a catalogue, all of one length: text as tuples, numbers as arrays, of `width` for the moment tensor."""
    found: dict[str, Any] = {}
    for name, item in group.items():
        text = isinstance(item, h5py.Dataset) and h5py.check_string_dtype(item.dtype) is not None
        values = column(group, name, "text" if text else "numbers", width if name == "moment_tensor_Nm" else 0)
        found[name] = tuple(values) if text else values
    if len({len(values) for values in found.values()}) > 1:
        listed = ", ".join(f"{name} has {len(values)}" for name, values in found.items())
        raise ValueError(f"{group.name}: {listed} rows")
    return found


def plain(value: Any) -> Any:
    """An attribute as JSON would hold it."""
    return json.loads(json.dumps(value, default=lambda item: item.tolist() if hasattr(item, "tolist") else str(item)))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def check_attributes(attributes: dict[str, Any], file_name: str | pathlib.Path) -> None:
    """Those that are used have the right type; only sample_interval_s must be there."""
    if "sample_interval_s" not in attributes:
        raise UserError(f"{file_name}: not a complete data.h5 (attribute sample_interval_s is missing)")
    for name, good, allowed in (
        ("sample_interval_s", lambda value: is_number(value) and value > 0.0, "a positive number of seconds"),
        (
            "filter_periods_s",
            lambda value: isinstance(value, list) and len(value) == 4 and all(map(is_number, value)),
            "four numbers",
        ),
        ("noise_fraction", lambda value: is_number(value) and value > 0.0, "a positive number"),
        ("kind", lambda value: isinstance(value, str), "text"),
        ("origin", lambda value: isinstance(value, str), "text"),
    ):
        if name in attributes and not good(attributes[name]):
            raise UserError(f"{file_name}: attribute {name} = {attributes[name]!r}; allowed: {allowed}")


def rows_of(names: NDArray[Any], catalogue: tuple[str, ...], kind: str, file_name: str | pathlib.Path) -> i64:
    """Where each path's event or station stands in its catalogue."""
    rows = {name: row for row, name in enumerate(catalogue)}
    for path, name in enumerate(names):
        if name not in rows:
            raise UserError(f"{file_name}: path {path} names {kind} '{name}', which is not in the catalogue of {kind}s")
    return np.array([rows[name] for name in names], np.int64)


def check_labels(paths: PathTable, file_name: str | pathlib.Path) -> None:
    """Components and arcs are those that there are."""
    for name, allowed in LABEL_TEXT.items():
        for path, value in enumerate(getattr(paths, name)):
            if value not in allowed:
                raise UserError(
                    f"{file_name}: {paths.describe(path)}: {name} = '{value}'; allowed: {', '.join(allowed)}"
                )


SIGMA_TEXT = f"a number of metres from {SIGMA_RANGE_M[0]:g} to {SIGMA_RANGE_M[1]:g}"


def out_of_range(sigma: f64) -> NDArray[np.bool_]:
    """True for NaN too."""
    return ~((sigma >= SIGMA_RANGE_M[0]) & (sigma <= SIGMA_RANGE_M[1]))


def check_samples(paths: PathTable, observed: f64, sigma: f64 | None, file_name: str | pathlib.Path) -> None:
    """Every sample finite and not all zero, every sigma positive, every window after the origin time."""
    bad = np.flatnonzero(~(np.abs(observed) <= LARGEST_SAMPLE_M))
    if len(bad):
        path = int(np.searchsorted(paths.offsets, bad[0], side="right")) - 1
        sample = int(bad[0] - paths.offsets[path])
        raise UserError(
            f"{file_name}: {paths.describe(path)}, sample {sample}: {observed[bad[0]]}; allowed: a finite number of metres, "
            f"at most {LARGEST_SAMPLE_M:g} ({len(bad)} samples in all are not)"
        )
    if not observed.any():
        raise UserError(f"{file_name}: observed: all {len(observed)} samples are 0; allowed: seismograms with a signal")
    given = np.ones(len(paths)) if sigma is None else sigma
    for name, values, wrong_ones, allowed in (
        ("sigma", given, out_of_range(given), SIGMA_TEXT),
        (
            "t_first_s",
            paths.t_first_s,
            ~((paths.t_first_s >= 0.0) & (paths.t_first_s < 1e7)),
            "seconds after the origin time",
        ),
    ):
        wrong = np.flatnonzero(wrong_ones)
        if len(wrong):
            path = int(wrong[0])
            raise UserError(f"{file_name}: {paths.describe(path)}: {name} = {values[path]}; allowed: {allowed}")
