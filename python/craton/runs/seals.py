"""Checksums behind the end of an HDF5 file, so that bytes which a disk or a cable has changed are refused instead of read.

A sealed file ends with a table, a CRC-32 of each piece of what stands before it, and 32 bytes that say so. HDF5 does not read
beyond its own end, so every program reads a sealed file. It cuts off what is there when it opens a file to change it, so whoever
changes one with HDF5 takes its seal off. Pieces are compared when they are first read, by whoever reads through `sealed`.
"""

from __future__ import annotations

import io
import os
import struct
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError

__all__ = ["SealedFile", "seal", "sealed"]

Pieces = NDArray[np.int64]

PIECE = 1 << 16
"""Bytes that one checksum is of."""
AT_ONCE = 1 << 22
LARGEST = 1 << 32
"""Bytes of a file that are read for its seal: four seconds or so. Where it would be more there is none; but see seal(leave_out)."""
SIGNATURE = b"\x89HDF\r\n\x1a\n"
MARK = b"CrSeal01"
FOOTER = struct.Struct("<8sQQII")
"""Mark, bytes of the content, bytes of the table, ranges of pieces without a checksum, CRC-32 of the table."""


def seal(path: Path, leave_out: Sequence[str] = ()) -> None:
    """Appends the checksums to a file that HDF5 has written and closed. Not collective.

    What is no HDF5 file stays as it is, and a copy of a sealed one. leave_out: names of datasets with checksums of their own. Where
    they lie in one piece, as C++ writes matrices, they are not read. OSError where there is no room, or what HDF5 cannot read.
    """
    with path.open("rb+") as file:
        if file.read(len(SIGNATURE)) != SIGNATURE or _footer(file) is not None:
            return
        size = file.seek(0, os.SEEK_END)
        without = _without(_stored_in_one_piece(path, leave_out))
        if size - PIECE * int(np.diff(without).sum()) > LARGEST:
            return
        checksums = _checksums(file, _covered(size, without), size)
        table = without.tobytes() + checksums.tobytes()
        try:
            file.seek(size)
            file.write(table + FOOTER.pack(MARK, size, len(table), len(without), zlib.crc32(table)))
            file.flush()
        except OSError:
            file.truncate(size)
            raise


def _stored_in_one_piece(path: Path, names: Sequence[str]) -> list[tuple[int, int]]:
    """First byte and the one behind the last, of each of these datasets."""
    found: list[tuple[int, int]] = []
    if not names:
        return found
    try:
        with h5py.File(path, "r") as file:
            for name in names:
                if name in file and (offset := file[name].id.get_offset()) is not None:
                    found.append((offset, offset + file[name].id.get_storage_size()))
    except (RuntimeError, KeyError, ValueError) as problem:
        raise OSError(str(problem)) from problem
    return found


def _without(ranges: list[tuple[int, int]]) -> Pieces:
    """(n, 2): the pieces that lie in these ranges of bytes with all that they have, ascending: first, and behind the last."""
    pieces = [(-(-begin // PIECE), end // PIECE) for begin, end in sorted(ranges)]
    return np.array([(first, last) for first, last in pieces if first < last], np.int64).reshape(-1, 2)


def _covered(size: int, without: Pieces) -> Pieces:
    """The numbers of the pieces that have a checksum."""
    ends = [0, *without.ravel().tolist(), -(-size // PIECE)]
    return np.concatenate([np.arange(first, last) for first, last in zip(ends[::2], ends[1::2], strict=True)])


def _checksums(file: io.BufferedRandom, pieces: Pieces, size: int) -> NDArray[np.uint32]:
    found = np.empty(len(pieces), np.uint32)
    block, held = b"", -1
    for at, piece in enumerate(pieces.tolist()):
        group, within = divmod(piece * PIECE, AT_ONCE)
        if group != held:
            file.seek(group * AT_ONCE)
            block, held = file.read(min(AT_ONCE, size - group * AT_ONCE)), group
        found[at] = zlib.crc32(memoryview(block)[within : within + PIECE])
    return found


def _footer(file: io.BufferedIOBase) -> tuple[int, int, int, int] | None:
    """Bytes of the content and of the table, ranges, checksum, of a file that ends with them; None for another."""
    end = file.seek(0, os.SEEK_END)
    if end < FOOTER.size:
        return None
    file.seek(end - FOOTER.size)
    mark, size, table, ranges, checksum = FOOTER.unpack(file.read(FOOTER.size))
    if mark != MARK:
        return None
    if size + table + FOOTER.size != end or 16 * ranges > table:
        return 0, 0, 0, 1
    return size, table, ranges, checksum


def sealed(path: Path) -> SealedFile | None:
    """A file with a seal, open to be read; None for one without. UserError for a seal that is damaged. OSError as of open()."""
    file = path.open("rb")
    try:
        found = _footer(file)
        if found is not None:
            size, bytes_of_table, ranges, checksum = found
            file.seek(size)
            table = file.read(bytes_of_table)
            if zlib.crc32(table) != checksum:
                raise UserError(f"{path}: its checksums are damaged; allowed: the file as it was written")
            without = np.frombuffer(table, np.int64, 2 * ranges).reshape(-1, 2)
            checksums = np.frombuffer(table, np.uint32, offset=16 * ranges)
            return SealedFile(path, file, size, without, checksums)
    except BaseException:
        file.close()
        raise
    file.close()
    return None


_compared: dict[tuple[int, ...], NDArray[np.bool_]] = {}
"""Of files that were opened lately: pieces that are still to be compared. Who reads a few rows at a time opens a file often."""
MOST_FILES = 64
OLD_ENOUGH_NS = 2_000_000_000
"""A file that was changed within so long may have been changed again without another time."""


def _not_compared(file: io.BufferedReader, pieces: int) -> NDArray[np.bool_]:
    state = os.fstat(file.fileno())
    if time.time_ns() - state.st_mtime_ns < OLD_ENOUGH_NS:
        return np.ones(pieces, bool)
    which = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    while which not in _compared and len(_compared) >= MOST_FILES:
        _compared.pop(next(iter(_compared)))
    return _compared.setdefault(which, np.ones(pieces, bool))


class SealedFile(io.RawIOBase):
    """What stands before a seal, to be read: h5py.File takes it as a file. One thread at a time."""

    def __init__(
        self, path: Path, file: io.BufferedReader, size: int, without: Pieces, checksums: NDArray[np.uint32]
    ) -> None:
        self._path, self._file, self._size = path, file, size
        self._without, self._checksums = without, checksums
        self._unseen = _not_compared(file, len(checksums))
        self._at = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As of any file."""
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        """As of any file."""
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fills what it can. UserError for bytes that are not those that were sealed, OSError for a file that is shorter now."""
        view = memoryview(buffer).cast("B")[: max(0, self._size - self._at)]
        self._fill(view, self._at)
        for piece in range(self._at // PIECE, -(-(self._at + len(view)) // PIECE)):
            self._check(piece, view)
        self._at += len(view)
        return len(view)

    def _fill(self, view: memoryview, at: int) -> None:
        """By position: a forked process has the same place in the file."""
        done = 0
        while done < len(view):
            count = os.preadv(self._file.fileno(), [view[done:]], at + done)
            if count == 0:
                raise OSError(f"{self._path} has become shorter")
            done += count

    def _check(self, piece: int, read: memoryview) -> None:
        before = int(np.searchsorted(self._without[:, 0], piece, side="right"))
        if before and piece < self._without[before - 1, 1]:
            return
        number = piece - int(np.diff(self._without[:before]).sum())
        if not self._unseen[number]:
            return
        first, last = piece * PIECE, min((piece + 1) * PIECE, self._size)
        if self._at <= first and last <= self._at + len(read):
            content = read[first - self._at : last - self._at]
        else:
            content = memoryview(bytearray(last - first))
            self._fill(content, first)
        if zlib.crc32(content) != self._checksums[number]:
            raise UserError(
                f"{self._path}: bytes {first} to {last - 1} are not those that were written; allowed: the file as it was, from "
                "another copy, or what made it run again"
            )
        self._unseen[number] = False

    def close(self) -> None:
        """As of any file."""
        self._file.close()
        super().close()
