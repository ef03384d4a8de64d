"""What a run has found of earthquakes and stations: figures for the record, and their catalogues corrected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.tomography.data.catalogue import EVENT_COLUMNS, MOMENT_COLUMNS, STATION_COLUMNS, Events, Stations
from craton.tomography.data.corrections import Corrections
from craton.tomography.folder import FoundCorrections
from craton.tomography.model.export import write_csv
from craton.tomography.model.knots import rms

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]


def summarised(
    corrections: Corrections, values: f64, errors: Corrections | None = None, true: f64 | None = None
) -> list[FoundCorrections]:
    """What was found of each kind, beside the errors that synthetic data were made with, where they are known."""
    found = []
    for kind in corrections.kinds:
        own, rows = corrections.of(kind.name, values), corrections.rows[kind.of]
        names = corrections.table.events.name if kind.of == "event" else corrections.table.stations.name
        row, column = np.unravel_index(int(np.argmax(np.abs(own))), own.shape)
        known: tuple[float, ...] = ()
        if errors is not None and true is not None:
            wrong = errors.of(kind.name, true)
            known = rms(wrong), rms(own - wrong)
        found.append(
            FoundCorrections(
                kind.name,
                kind.text,
                kind.of,
                len(rows),
                kind.unit,
                corrections.deviations[kind.name],
                rms(own),
                float(own[row, column]),
                names[rows[row]],
                *known,
            )  # fmt: skip
        )
    return found


def write_tables(corrections: Corrections, values: f64, earthquakes: Path, stations: Path) -> None:
    """The corrected catalogues, as [events] and [stations] read them, with columns of what was found. Not collective.

    Only catalogues with corrections are written. Origin times are as they were: the data's windows are counted from them.
    """
    table = corrections.table
    ours = {of: [kind for kind in corrections.kinds if kind.of == of] for of in ("event", "station")}

    def found(of: str) -> tuple[list[str], list[f64]]:
        names, columns = [], []
        for kind in ours[of]:
            names += list(kind.labels)
            columns += list(corrections.of(kind.name, values).T)
        return names, columns

    if ours["event"]:
        events, rows = corrections.moved_events(values), corrections.rows["event"]
        more, more_columns = found("event")
        names, of_catalogue = columns_of(events, EVENT_COLUMNS, rows)
        write_csv(earthquakes, [*names, *more], [*of_catalogue, *more_columns])
    if ours["station"]:
        more, more_columns = found("station")
        names, of_catalogue = columns_of(table.stations, STATION_COLUMNS, corrections.rows["station"])
        write_csv(stations, [*names, *more], [*of_catalogue, *more_columns])


def columns_of(catalogue: Events | Stations, names: tuple[str, ...], rows: i64) -> tuple[list[str], list[Any]]:
    """Some rows of a catalogue, column by column."""
    tensor = dict(zip(MOMENT_COLUMNS, getattr(catalogue, "moment_tensor_Nm", np.empty((0, 6))).T, strict=True))
    columns = [tensor[name] if name in tensor else np.asarray(getattr(catalogue, name)) for name in names]
    return list(names), [column[rows] for column in columns]
