"""Files that are whole or not there.

Every file is written beside its final name and then renamed, so that nobody finds half a file under a name that he reads: a run
that is killed leaves the last complete one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from craton.errors import UserError, words_of
from craton.runs.hdf5_files import opened_hdf5
from craton.runs.hdf5_writing import written_hdf5
from craton.runs.seals import seal

__all__ = [
    "aside_of",
    "check_room",
    "read_hdf5",
    "read_json",
    "remove",
    "remove_half_written",
    "replaced",
    "seal_files",
    "strict_json",
    "write_hdf5",
    "write_json",
    "write_text",
    "writing_to",
]

ROOM_FOR_HEADERS = 1 << 16
"""Bytes that HDF5 needs beside the arrays, generously."""


def aside_of(path: Path) -> Path:
    """The name beside `path` that this process writes to."""
    return path.with_name(f"{path.name}.{os.getpid()}.new")


@contextmanager
def replaced(path: Path, own_checksums: Sequence[str] = ()) -> Iterator[Path]:
    """Gives a name beside `path` to write to; renames it to `path` when the block ends well, else removes it.

    An HDF5 file is sealed before; own_checksums: datasets that have checksums of their own, see seal(). UserError where the file
    cannot be written.
    """
    aside = aside_of(path)
    try:
        yield aside
        seal(aside, own_checksums)
        with aside.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as problem:
        raise UserError(
            f"{path}: cannot be written: {problem.strerror or ' '.join(str(problem).split())}; "
            "allowed: a file in a folder that may be written to, on a disk with room"
        ) from problem
    finally:
        with contextlib.suppress(OSError):  # of a folder that is read-only by now; `problem` says so
            aside.unlink()


def seal_files(paths: Iterable[Path]) -> str:
    """Seals files that were written under their own names; returns in one line what could not be sealed, or "". They stay whole."""
    left = []
    for path in paths:
        try:
            seal(path)
        except OSError as problem:
            left.append(f"{path}: its checksums cannot be written: {words_of(problem)}")
    return "; ".join(left)


def remove_half_written(folders: Iterable[Path]) -> None:
    """In folders to which nobody else writes: what processes that were killed have left of files that they wanted to replace."""
    for folder in folders:
        for left_behind in folder.glob("*.new"):
            remove(left_behind)


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """What the file system refuses in the block is a UserError that names the folder."""
    try:
        yield
    except OSError as problem:
        raise UserError(
            f"{folder}: cannot be written to: {words_of(problem)}; allowed: a folder that may be written to, on a disk with room"
        ) from problem


def remove(path: Path) -> None:
    """A file, or a folder with all that is in it; nothing where neither is. UserError for a file that cannot be removed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    try:
        path.unlink()
    except OSError as problem:  # in a read-only folder also of one that is not there
        if os.path.lexists(path):
            raise UserError(
                f"{path}: cannot be removed: {words_of(problem)}; allowed: a file in a folder that may be written to"
            ) from problem


def check_room(path: Path, size: int) -> None:
    """UserError if the disk has no room for `size` bytes, or the folder has gone: its words are clearer than HDF5's."""
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError as problem:
        raise UserError(
            f"{path}: cannot be written: {words_of(problem)}; allowed: a file in a folder that exists"
        ) from problem
    if free < size + ROOM_FOR_HEADERS:
        raise UserError(f"{path}: needs {size + ROOM_FOR_HEADERS} bytes but {free} are free; allowed: a disk with room")


# ------------------------------------------------------------------------------------------------------------ text, JSON


def write_text(path: Path, text: str) -> None:
    """Replaces the file by one of this text, in UTF-8. UserError where it cannot be written."""
    with replaced(path) as aside:
        aside.write_text(text, encoding="utf-8")


def strict_json(content: Any) -> str:
    """Strict JSON, indented; NumPy's numbers and arrays as Python's, paths as text. ValueError for NaN and infinity."""
    return json.dumps(content, indent=1, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    """A plain value for one that json does not know. TypeError where there is none."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def write_json(path: Path, content: Any) -> None:
    """As strict_json. UserError where the file cannot be written."""
    write_text(path, strict_json(content) + "\n")


def read_json(path: Path, what: str, allowed: str) -> dict[str, Any]:
    """A file that holds one JSON object. UserError where it is missing, cannot be read, or is none: it then is "not <what>".

    Strict: NaN and Infinity, which Python's json takes, are refused.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
        if not isinstance(content, dict):
            raise ValueError(f"{type(content).__name__} instead of an object")
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror or problem}; allowed: {allowed}") from None
    except (ValueError, RecursionError) as problem:
        raise UserError(f"{path}: not {what} ({problem}); allowed: {allowed}") from None
    return content


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


# ------------------------------------------------------------------------------------------------------------------ HDF5


def write_hdf5(path: Path, content: dict[str, Any], mode: str = "w") -> None:
    """Arrays become datasets ('group/name' makes groups); text and plain numbers become attributes of the file.

    Writes to `path` itself: use it inside `replaced`. UserError where there is no room.
    """
    check_room(path, sum(value.nbytes for value in content.values() if isinstance(value, np.ndarray)))
    with written_hdf5(path, mode) as file:
        for name, value in content.items():
            if isinstance(value, np.ndarray):
                file.create_dataset(name, data=value)
            else:
                file.attrs[name] = value


def read_hdf5(path: Path, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """The inverse of write_hdf5; a UserError names the file that is missing or damaged."""
    content: dict[str, Any] = {}
    with opened_hdf5(path, "a file of a run") as file:

        def collect(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and name not in leave_out:
                content[name] = item[()]

        file.visititems(collect)
        content.update(file.attrs.items())
    return content
