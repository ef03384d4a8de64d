"""data.h5: written, read and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.files import check_room, replaced
from craton.runs.hdf5_files import opened_hdf5
from craton.runs.hdf5_writing import written_hdf5
from craton.tomography.data.catalogue import Events, Stations
from craton.tomography.data.noise import SIGMA_TEXT, noise_deviation, out_of_range
from craton.tomography.data.observations import Observations
from craton.tomography.data.paths import LABEL_TEXT, LABELS, PathTable

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

ALLOWED = "a data.h5, as docs/tomography.md says what it holds"
LARGEST_SAMPLE_M = 1e6
LONGEST_CORRELATION_S = 1e4


def save_observations(
    file_name: Path,
    observations: Observations,
    filter_periods_s: tuple[float, ...],
    more: Mapping[str, Any] | None = None,
) -> None:
    """Writes data.h5: one file with everything needed to plot the data or to invert them again.

    filter_periods_s: corners of the taper. more: datasets by name, arrays or lists of texts. UserError where there is no room.
    """
    paths = observations.paths
    text = h5py.string_dtype()
    names = sum(
        len(paths.events.name[e]) + len(paths.stations.name[s]) for e, s in zip(paths.event, paths.station, strict=True)
    )
    check_room(file_name, observations.observed.nbytes + 100 * len(paths) + names)
    with replaced(file_name) as aside, written_hdf5(aside) as file:
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


COLUMNS = {
    "paths/event": "text",
    "paths/station": "text",
    "paths/t_first_s": "numbers",
    "paths/samples": "whole numbers",
}
"""An entry per path in each."""
OPTIONAL = {**{f"paths/{name}": "text" for name in LABELS}, "sigma": "numbers", "correlation_s": "numbers"}
"""The same, where the file has them."""


def load_observations(
    file_name: str | Path, events: Events | None = None, stations: Stations | None = None
) -> Observations:
    """Reads and checks data.h5. Not collective. UserError that names what is wrong.

    events, stations: the catalogues in which names are looked up; None for the file's own.
    """
    with opened_hdf5(file_name, ALLOWED, wrong="not a complete data.h5") as file:
        attributes = {name: plain(value) for name, value in file.attrs.items()}
        events = events or Events(**table_columns(file_name, file["events"], 6))
        stations = stations or Stations(**table_columns(file_name, file["stations"], 0))
        found = {name: column(file_name, file, name, kind) for name, kind in COLUMNS.items()}
        found |= {name: column(file_name, file, name, kind) for name, kind in OPTIONAL.items() if name in file}
        observed = column(file_name, file, "observed", "numbers")
    check_attributes(attributes, file_name)
    check_lengths(found, len(observed), file_name)
    labels: dict[str, Any] = {name: tuple(found[f"paths/{name}"]) for name in LABELS if f"paths/{name}" in found}
    table = PathTable(
        events, stations,
        rows_of(found["paths/event"], events.name, "event", file_name),
        rows_of(found["paths/station"], stations.name, "station", file_name),
        found["paths/t_first_s"], found["paths/samples"], float(attributes["sample_interval_s"]), **labels,
    )  # fmt: skip
    check_labels(table, file_name)
    check_samples(table, observed, file_name)
    sigma, correlation_s = found.get("sigma"), found.get("correlation_s")
    if sigma is None:
        sigma = noise_deviation(table, observed, attributes.get("noise_fraction", 0.05))
    t_first_s, none = table.t_first_s, np.zeros(0)
    lengths_s = none if correlation_s is None else correlation_s
    for name, values, good, allowed in (
        ("sigma", sigma, ~out_of_range(sigma), SIGMA_TEXT),
        ("t_first_s", t_first_s, (t_first_s >= 0.0) & (t_first_s < 1e7), "seconds after the origin time"),
        (
            "correlation_s",
            lengths_s,
            (lengths_s >= 0.0) & (lengths_s <= LONGEST_CORRELATION_S),
            f"0 to {LONGEST_CORRELATION_S:g} seconds",
        ),
    ):
        if not good.all():
            path = int(np.argmin(good))
            raise UserError(f"{file_name}: {table.describe(path)}: {name} = {values[path]}; allowed: {allowed}")
    return Observations(table, observed, sigma, attributes, correlation_s)


def check_lengths(found: dict[str, NDArray[Any]], observed: int, file_name: str | Path) -> None:
    """UserError unless all columns have an entry per path, and the paths' samples add up to those observed."""
    samples = found["paths/samples"]
    if len({len(values) for values in found.values()}) != 1 or not len(samples):
        listed = ", ".join(f"{name} has {len(values)}" for name, values in found.items())
        raise UserError(f"{file_name}: {listed} entries; allowed: one per path in each, and at least one path")
    total = sum(samples.tolist())
    if np.any(samples < 1) or total != observed:
        raise UserError(
            f"{file_name}: observed has {observed} samples, while paths/samples add up to {total} "
            f"(smallest: {samples.min()}); allowed: at least one sample per path, and the same total"
        )


KINDS = {"text": "OS", "numbers": "fiu", "whole numbers": "iu"}
"""NumPy's letters for what a column may hold."""


def column(path: str | Path, file: h5py.Group, name: str, kind: str, width: int = 0) -> NDArray[Any]:
    """A dataset of a kind in KINDS, of one dimension or of `width` columns. UserError, which says what it is, for anything else."""
    item = file[name]
    text = isinstance(item, h5py.Dataset) and h5py.check_string_dtype(item.dtype) is not None
    right_kind = isinstance(item, h5py.Dataset) and text == (kind == "text") and item.dtype.kind in KINDS[kind]
    if not right_kind or len(item.shape or ()) != (2 if width else 1) or (width and item.shape[1] != width):
        found = (
            f"{'text' if text else item.dtype} of shape {item.shape}" if isinstance(item, h5py.Dataset) else "a group"
        )
        where = name if file.name == "/" else f"{file.name.lstrip('/')}/{name}"
        raise UserError(
            f"{path}: {where} is {found}; allowed: {kind} in {f'{width} columns' if width else 'one dimension'}"
        )
    if text:
        return np.asarray(item.asstr()[:])
    return np.asarray(item[:], np.int64 if kind == "whole numbers" else np.float64)


def table_columns(path: str | Path, group: h5py.Group, width: int) -> dict[str, Any]:
    """Columns of a catalogue, all of one length: text as tuples, numbers as arrays, of `width` for the moment tensor."""
    found: dict[str, Any] = {}
    for name, item in group.items():
        text = isinstance(item, h5py.Dataset) and h5py.check_string_dtype(item.dtype) is not None
        values = column(path, group, name, "text" if text else "numbers", width if name == "moment_tensor_Nm" else 0)
        found[name] = tuple(values) if text else values
    if len({len(values) for values in found.values()}) > 1:
        listed = ", ".join(f"{name} has {len(values)}" for name, values in found.items())
        raise ValueError(f"{group.name}: {listed} rows")
    return found


def plain(value: Any) -> Any:
    """An attribute as JSON would hold it."""
    return json.loads(json.dumps(value, default=lambda item: item.tolist() if hasattr(item, "tolist") else str(item)))


def is_number(value: Any) -> bool:
    """Whether a value of JSON is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def check_attributes(attributes: dict[str, Any], file_name: str | Path) -> None:
    """UserError unless attributes that are used have the right type; only sample_interval_s must be there."""
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
        ("independent_part", lambda value: is_number(value) and 0.0 < value <= 1.0, "a number above 0 and at most 1"),
        ("kind", lambda value: isinstance(value, str), "text"),
        ("origin", lambda value: isinstance(value, str), "text"),
    ):
        if name in attributes and not good(attributes[name]):
            raise UserError(f"{file_name}: attribute {name} = {attributes[name]!r}; allowed: {allowed}")


def rows_of(names: NDArray[Any], catalogue: tuple[str, ...], kind: str, file_name: str | Path) -> i64:
    """The row of each path's event or station in its catalogue. UserError for one that is not in it."""
    rows = {name: row for row, name in enumerate(catalogue)}
    for path, name in enumerate(names):
        if name not in rows:
            raise UserError(f"{file_name}: path {path} names {kind} '{name}', which is not in the catalogue of {kind}s")
    return np.array([rows[name] for name in names], np.int64)


def check_labels(paths: PathTable, file_name: str | Path) -> None:
    """UserError for a component or arc that there is not."""
    for name, allowed in LABEL_TEXT.items():
        for path, value in enumerate(getattr(paths, name)):
            if value not in allowed:
                raise UserError(
                    f"{file_name}: {paths.describe(path)}: {name} = '{value}'; allowed: {', '.join(allowed)}"
                )


def check_samples(paths: PathTable, observed: f64, file_name: str | Path) -> None:
    """UserError unless every sample is finite, and not all are zero."""
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
