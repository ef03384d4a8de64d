"""Earthquakes from QuakeML, NDK and CMTSOLUTION files as the catalogue that the inversion reads."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from craton.errors import UserError
from craton.runs.files import write_text
from craton.seismology.sources.moment_tensor_events import MomentTensorEvent, moment_tensor_event, named_event
from craton.tomography.data.catalogue import EVENT_COLUMNS, RANGES, STATION_COLUMNS, Events, Stations
from craton.tomography.waveforms.decisions import Ledger
from craton.tomography.waveforms.records.archive import read_by_obspy


def read_earthquakes(
    files: Sequence[Path], more: Iterable[tuple[Path, Any]], ledger: Ledger, setting: str = "[input] events"
) -> Events:
    """All usable events, by time. `more`: events of ASDF files. UserError, which names the `setting`, where none is left."""
    from obspy import read_events

    catalogues = read_by_obspy(read_events, files, ledger)
    listed = [*more, *((file, event) for file, catalogue in catalogues for event in catalogue)]
    found: dict[str, MomentTensorEvent] = {}
    for file, event in listed:
        try:
            one = moment_tensor_event(event)
            check(one)
        except ValueError as error:
            ledger.reject("event", f"{file}: {named_event(event)}", "not usable", str(error))
            continue
        if one.name in found:
            ledger.reject("event", one.name, "twice", f"{file} has it again; the first is used")
            continue
        centroid = "centroid" if one.is_centroid else "hypocentre, because the file has no centroid"
        lasts = f"half duration {one.half_duration_s:g} s"
        if not one.half_duration_s:
            one = dataclasses.replace(one, half_duration_s=usual_half_duration_s(one.tensor_r_theta_phi))
            lasts = f"half duration {one.half_duration_s:.1f} s, from the moment, because the file gives none"
        found[one.name] = one
        ledger.accept("event", one.name, "read", f"{one.time}: {centroid}; {lasts}", event=one.name)
    if not found:
        last = ledger.decisions[-1] if ledger.decisions else None
        what = f"; the last: {last.subject}: {last.reason}" if last else ""
        raise UserError(
            f"{setting}: no usable earthquake among {len(listed)} in {len(files)} files{what}; allowed: QuakeML, NDK or "
            "CMTSOLUTION, with a moment tensor"
        )
    return as_events(sorted(found.values(), key=lambda item: item.time))


def usual_half_duration_s(tensor_Nm: Sequence[float]) -> float:
    """What the Global CMT project assumes: 1.05e-8 M0^(1/3) with M0 in dyn cm.

    Ekström, Nettles and Dziewonski 2012, doi:10.1016/j.pepi.2012.04.002.
    """
    diagonal, others = np.array(tensor_Nm[:3]), np.array(tensor_Nm[3:])
    moment_Nm = np.sqrt(0.5 * np.sum(diagonal**2) + np.sum(others**2))
    return float(1.05e-8 * np.cbrt(1e7 * moment_Nm))


def check(event: MomentTensorEvent) -> None:
    """Refuses what does not fit the inversion's table of earthquakes. ValueError says what does not."""
    values = {
        "latitude_deg": event.latitude_deg,
        "longitude_deg": event.longitude_deg,
        "depth_km": event.depth_m / 1e3,
        "half_duration_s": event.half_duration_s,
        "Mrr_Nm": max(event.tensor_r_theta_phi, key=abs),
    }
    for name, value in values.items():
        low, high, unit = RANGES[name]
        if not low <= value <= high:
            raise ValueError(f"{name} = {value:g}; allowed: a number in [{low:g}, {high:g}] {unit}")
    if not any(event.tensor_r_theta_phi):
        raise ValueError("the moment tensor is all zeros; allowed: at least one component that is not zero")


def as_events(found: list[MomentTensorEvent]) -> Events:
    """The inversion's table; its origin_time is the centroid time, on which the moment rate is centred."""
    return Events(
        name=tuple(event.name for event in found),
        origin_time=tuple(event.time for event in found),
        latitude_deg=np.array([event.latitude_deg for event in found]),
        longitude_deg=np.array([event.longitude_deg for event in found]),
        depth_km=np.array([event.depth_m / 1e3 for event in found]),
        half_duration_s=np.array([event.half_duration_s for event in found]),
        moment_tensor_Nm=np.array([event.tensor_r_theta_phi for event in found]),
        region=tuple(event.region.replace("\n", " ") for event in found),
    )


def write_events(file: Path, events: Events) -> None:
    """A table that `[events] file` of the inversion reads."""
    columns = [events.name, events.origin_time, events.latitude_deg, events.longitude_deg, events.depth_km]
    columns += [events.half_duration_s, *events.moment_tensor_Nm.T, events.region]
    note = "Times are centroid times. r is up, t south, p east."
    write_table(file, note, EVENT_COLUMNS, columns)


def write_stations(file: Path, stations: Stations) -> None:
    """A table that `[stations] file` of the inversion reads."""
    columns = [stations.name, stations.latitude_deg, stations.longitude_deg, stations.elevation_m]
    write_table(file, "Latitudes are geographic.", STATION_COLUMNS, columns)


def write_table(file: Path, note: str, header: Iterable[str], columns: list[Any]) -> None:
    """CSV below a line with a note; numbers with ten digits."""
    text = io.StringIO()
    text.write(f"# {note}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in zip(*columns, strict=True):
        writer.writerow([cell if isinstance(cell, str) else f"{cell:.10g}" for cell in row])
    write_text(file, text.getvalue())
