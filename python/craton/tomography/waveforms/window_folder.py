"""The folder that `craton tomography data windows` leaves, and what it says at the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from craton.errors import UserError
from craton.pages.figures import save_picture
from craton.runs.files import write_text
from craton.runs.folder import Folder, RunFile
from craton.tomography.waveforms.config import WaveformConfig
from craton.tomography.waveforms.pictures import reasons_figure, record_section_figure
from craton.tomography.waveforms.preparation import Preparation, most_frequent, prepare
from craton.tomography.waveforms.records.earthquakes import write_events, write_stations
from craton.tomography.waveforms.table import Window


class WindowFolder(Folder):
    """What `craton tomography data windows` leaves."""

    data = RunFile("data.h5")
    record = RunFile("windows.json")
    events = RunFile("earthquakes.csv")
    stations = RunFile("stations.csv")
    picture = RunFile("record_section.png")
    reasons_picture = RunFile("reasons.png")

    @property
    def files(self) -> tuple[Path, ...]:
        """All of them."""
        return self.data, self.record, self.events, self.stations, self.picture, self.reasons_picture


def make_windows(
    config: WaveformConfig, console: Any = None, overwrite: bool = False, pictures: bool = True
) -> Preparation:
    """Everything, with files: data.h5, earthquakes.csv, stations.csv, windows.json and pictures in the folder of [output].

    Not collective. windows.json and reasons.png are written also where no window was accepted, which is a UserError at the end.
    """
    folder = WindowFolder(config.output.directory)
    folder.make()
    folder.lock()
    try:
        folder.check(overwrite)
        prepared = prepare(config, console)
        write(folder, prepared, pictures)
    finally:
        folder.release()
    return prepared


def write(folder: WindowFolder, prepared: Preparation, pictures: bool) -> None:
    """Replaces the results of an earlier run by these. UserError where no window was accepted, after the record is written."""
    for file in folder.results:
        file.unlink()
    write_text(folder.record, one_entry_per_line(prepared.record()))
    if pictures:
        save_picture(reasons_figure(prepared), folder.reasons_picture)
    if not prepared.table.accepted:
        raise UserError(
            f"{prepared.config.path}: none of {len(prepared.table.windows)} windows was accepted"
            f"{most_frequent(prepared.ledger)}; all reasons are in {folder.record}"
        )
    write_events(folder.events, prepared.table.events)
    write_stations(folder.stations, prepared.table.stations)
    if pictures:
        save_picture(record_section_figure(prepared), folder.picture)
    prepared.table.save(folder.data)


def one_entry_per_line(record: dict[str, Any]) -> str:
    """Strict JSON whose lists have a line per entry: there may be hundreds of thousands, for grep and for people."""

    def text(value: Any) -> str:
        if isinstance(value, list) and value:
            return "[\n" + ",\n".join(json.dumps(entry, allow_nan=False) for entry in value) + "\n]"
        return json.dumps(value, allow_nan=False)

    return "{\n" + ",\n".join(f"{json.dumps(key)}: {text(value)}" for key, value in record.items()) + "\n}\n"


def summary(prepared: Preparation) -> str:
    """What was accepted, in a few lines, and a table of the reasons for what was not."""
    table = prepared.table
    rows = [("stage", "reason", "count"), *((s, c, str(n)) for (s, c), n in prepared.ledger.counts().items())]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        f"{len(table.accepted)} windows accepted, {len(table.rejected)} rejected, on {len(prepared.traces)} seismograms of "
        f"{len(table.events)} earthquakes; synthetics: {prepared.synthetics}"
    ]
    kinds: dict[str, list[Window]] = {}
    for one in table.windows:
        kinds.setdefault(f"{one.component} {one.arc} {one.phase}", []).append(one)
    for kind, windows in kinds.items():
        good = [one.quality for one in windows if one.accepted]
        text = f"  {kind}: {len(good)} of {len(windows)}"
        if good:
            names = ("correlation", "shift_s", "amplitude_ratio")
            correlation, shift_s, ratio = (float(np.median([q[name] for q in good])) for name in names)
            text += f", median correlation {correlation:.3f}, shift {shift_s:+.1f} s, amplitude {ratio:.2f}"
        lines.append(text)
    if len(rows) > 1:
        lines.append("left out:")
        lines += [f"  {row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}" for row in rows]
    return "\n".join(lines)
