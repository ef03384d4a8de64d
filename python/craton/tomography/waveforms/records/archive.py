"""Files of waveforms, indexed by station and read when they are needed.

MiniSEED, SAC and what else ObsPy reads, and ASDF through pyasdf. A file that cannot be read is a decision of the ledger. Only when
nothing at all can be read there is an error.
"""

from __future__ import annotations

import glob
import importlib.util
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py

from craton.errors import UserError, words_of
from craton.runs.hdf5_files import opened_hdf5
from craton.tomography.waveforms.decisions import Ledger

RAW_TAG = "raw_recording"
"""What ASDF files call unprocessed data, by convention."""
MARGIN_S = 1.0


def matching_files(patterns: Iterable[str], folder: Path, setting: str) -> list[Path]:
    """All files of all patterns, sorted, each once. UserError for a pattern that matches nothing."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        wanted = folder / Path(pattern).expanduser()
        names = sorted(glob.glob(str(wanted), recursive=True))
        files = [Path(name) for name in names if Path(name).is_file()]
        if not files and wanted.is_dir():
            raise UserError(
                f"{setting} = {pattern!r} is a folder; allowed: a pattern, such as {Path(pattern) / '**/*'}"
            )
        if not files:
            raise UserError(
                f"{setting} = {pattern!r}: no file in {folder} matches; allowed: a pattern that finds files"
            )
        found.update(dict.fromkeys(files))
    return list(found)


def read_by_obspy(reader: Callable[[str], Any], files: Iterable[Path], ledger: Ledger) -> Iterator[tuple[Path, Any]]:
    """Each file with what ObsPy makes of it; one that cannot be read goes to the ledger."""
    for file in files:
        try:
            with warnings.catch_warnings(action="ignore"):
                found = reader(str(file))
        except Exception as error:  # of many readers
            ledger.reject("file", str(file), "unreadable", words_of(error))
        else:
            yield file, found


@dataclass(frozen=True)
class Piece:
    """A contiguous part of a channel's record in a file."""

    file: Path
    id: str
    """NET.STA.LOC.CHA"""
    start: Any
    end: Any
    """UTCDateTime of the first and last sample"""
    asdf_name: str = ""
    """of the dataset in an ASDF file"""

    @cached_property
    def _span_ns(self) -> tuple[int, int]:
        """Whole numbers compare a hundred times faster, and every earthquake asks every piece of a station."""
        return self.start.ns, self.end.ns

    def meets(self, start: Any, end: Any) -> bool:
        """Has samples between two times."""
        first_ns, last_ns = self._span_ns
        return bool(last_ns >= start.ns and first_ns <= end.ns)


@dataclass
class Archive:
    """What the waveform files hold. Not thread-safe: ASDF files stay open."""

    pieces: dict[str, list[Piece]] = field(default_factory=lambda: defaultdict(list))
    """by NET.STA"""
    inventories: list[Any] = field(default_factory=list)
    """of ASDF files"""
    events: list[tuple[Path, Any]] = field(default_factory=list)
    """of ASDF files"""
    _open: dict[Path, Any] = field(default_factory=dict)

    @property
    def stations(self) -> list[str]:
        """Names, sorted."""
        return sorted(self.pieces)

    def add(self, file: Path, ledger: Ledger) -> None:
        """Indexes a file; a damaged one goes to the ledger."""
        try:
            is_asdf = h5py.is_hdf5(file)  # opens it, which the file's permissions may forbid
        except OSError as error:
            ledger.reject("file", str(file), "unreadable", words_of(error))
            return
        if is_asdf:
            need_pyasdf(file)
        try:
            with warnings.catch_warnings(action="ignore"):  # readers warn of what the checks below find anyway
                found = self._asdf_pieces(file, ledger) if is_asdf else self._obspy_pieces(file)
        except Exception as error:  # of many readers, and of the guard
            ledger.reject("file", str(file), "unreadable", words_of(error))
            return
        if not found:
            ledger.reject("file", str(file), "empty", "no waveform in it")
        for piece in found:
            network, station = piece.id.split(".")[:2]
            if not station:
                ledger.reject("file", str(file), "no station", f"channel '{piece.id}' names no station")
                continue
            self.pieces[f"{network}.{station}"].append(piece)

    def read(self, station: str, start: Any, end: Any, ledger: Ledger) -> Any:
        """An ObsPy Stream of all that a station recorded between two times; `stats.craton_file` names each trace's file.

        A file whose samples cannot be read goes to the ledger.
        """
        from obspy import Stream, read

        stream = Stream()
        for piece in self.pieces.get(station, ()):
            if not piece.meets(start, end):
                continue
            try:
                with warnings.catch_warnings(action="ignore"):
                    if piece.asdf_name:
                        part = self._asdf(piece.file).waveforms[station][piece.asdf_name].copy()
                    else:
                        part = read(str(piece.file), starttime=start - MARGIN_S, endtime=end + MARGIN_S)
                    part.trim(start, end)
            except Exception as error:  # of many readers: the header was whole, the samples are not
                ledger.reject("file", str(piece.file), "unreadable", words_of(error), station=station)
                continue
            for trace in part:
                if trace.id == piece.id and len(trace):
                    trace.stats.craton_file = str(piece.file)
                    stream.append(trace)
        # a file with several pieces of a channel was read once per piece
        unique = {
            (trace.id, str(trace.stats.starttime), len(trace), trace.stats.craton_file): trace for trace in stream
        }
        return Stream(list(unique.values()))

    @staticmethod
    def _obspy_pieces(file: Path) -> list[Piece]:
        from obspy import read

        stream = read(str(file), headonly=True)
        return [
            Piece(file, trace.id, trace.stats.starttime, trace.stats.endtime) for trace in stream if trace.stats.npts
        ]

    def _asdf_pieces(self, file: Path, ledger: Ledger) -> list[Piece]:
        data = self._asdf(file)
        pieces = []
        for station in data.waveforms.list():
            group = data.waveforms[station]
            names = [name for name in group.list() if name != "StationXML"]
            tag, *others = sorted({name.rpartition("__")[2] for name in names}, key=lambda t: (t != RAW_TAG, t)) or [""]
            for other in others:
                ledger.reject("file", f"{file} {station}", "other tag", f"tag {other} is not used, because {tag} is")
            for name in names:
                if name.endswith(f"__{tag}"):
                    trace = group[name][0]
                    pieces.append(Piece(file, trace.id, trace.stats.starttime, trace.stats.endtime, name))
            if "StationXML" in group.list():
                self.inventories.append(group.StationXML)
        self.events.extend((file, event) for event in data.events)
        return pieces

    def _asdf(self, file: Path) -> Any:
        if file not in self._open:
            from pyasdf import ASDFDataSet

            with opened_hdf5(file, "ASDF", look_at_all=False):
                pass
            self._open[file] = ASDFDataSet(str(file), mode="r", mpi=False)
        return self._open[file]


def need_pyasdf(file: Path) -> None:
    """UserError where the package that reads ASDF is not installed."""
    if importlib.util.find_spec("pyasdf") is None:
        raise UserError(
            f"{file}: pyasdf is needed to read ASDF; allowed: pip install 'craton[seismology]', or MiniSEED"
        )


def open_archive(
    files: Iterable[Path],
    ledger: Ledger,
    progress: Callable[[int], None] = lambda _: None,
    setting: str = "[input] waveforms",
) -> Archive:
    """Indexes all files. UserError, which names the `setting`, where none holds a waveform."""
    archive = Archive()
    count = 0
    for count, file in enumerate(files, 1):
        archive.add(file, ledger)
        progress(count)
    if not archive.pieces:
        rejected = ledger.decisions[-1] if ledger.decisions else None
        what = f"; the last: {rejected.subject}: {rejected.reason}" if rejected else ""
        raise UserError(
            f"{setting}: none of {count} files holds a waveform{what}; allowed: "
            "MiniSEED, SAC, ASDF, or what else ObsPy reads"
        )
    return archive
