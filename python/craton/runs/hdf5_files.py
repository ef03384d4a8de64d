"""HDF5 files, opened behind one guard.

Whatever is wrong with a file becomes one line that names it: no such file, another kind of file, half a file, and what a reader
finds within the block, such as a dataset of another type. Files that Craton wrote have a seal, which is compared as they are read.
Before anything is allocated, what a file says of its datasets is compared with its size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from craton.errors import UserError, words_of
from craton.runs.probe import survives
from craton.runs.seals import sealed

__all__ = ["check_claim", "hdf5_file", "opened_hdf5", "refused"]

ALWAYS_ALLOWED = 1 << 28
"""Bytes that a dataset may have however small its file is: 256 MiB."""


@contextmanager
def opened_hdf5(
    path: str | os.PathLike[str],
    allowed: str,
    *,
    called: str = "",
    wrong: str = "not a complete HDF5 file",
    look_at_all: bool = True,
) -> Iterator[h5py.File]:
    """An HDF5 file, open to be read. UserError for all that is wrong with it, also where the block finds that. Not collective.

    allowed: what would do, as the error says. called: a word before the path. wrong: what is said first.

    A child process first reads a file without a seal, which is of another program or was changed: some end a process that reads
    them, or keep it for ever.

    look_at_all: False for files of very many datasets; the reader then calls `check_claim` for those that it reads.
    """
    with (
        hdf5_file(path, allowed, called=called, wrong=wrong, look_at_all=look_at_all) as file,
        refused(f"{called}{path}", wrong, allowed),
    ):
        yield file


def hdf5_file(
    path: str | os.PathLike[str],
    allowed: str,
    *,
    called: str = "",
    wrong: str = "not a complete HDF5 file",
    look_at_all: bool = True,
) -> h5py.File:
    """The same to be closed by whoever asks for it; what he finds wrong later he refuses himself."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{called}{path}: no such file; allowed: {allowed}")
    with refused(f"{called}{path}", wrong, allowed):
        checked = sealed(path)
        if checked is None:
            survives(path)
        file = h5py.File(checked or path, "r")
        if look_at_all:
            try:
                _look_at_all(path, file)
            except BaseException:
                file.close()
                raise
        return file


@contextmanager
def refused(path: str | Path, wrong: str, allowed: str) -> Iterator[None]:
    """Turns whatever is raised within the block into a UserError of one line: "<path>: <wrong> (<why>); allowed: <allowed>".

    Without `wrong` the reason stands alone. Too little memory, and a reader of the output that is gone, are no fault of the file.
    """
    try:
        yield
    except (UserError, MemoryError, BrokenPipeError):
        raise
    except Exception as problem:  # readers raise exceptions of many kinds
        why = words_of(problem)
        raise UserError(f"{path}: {f'{wrong} ({why})' if wrong else why}; allowed: {allowed}") from problem


def _look_at_all(path: Path, file: h5py.File) -> None:
    """Every dataset once, and no link out of the file."""
    seen: set[int] = set()
    groups: list[h5py.Group] = [file]
    while groups:
        group = groups.pop()
        for name in group:
            if isinstance(group.get(name, getlink=True), h5py.ExternalLink):
                raise ValueError(f"{group.name}: {name} is a link to another file")
            item = group.get(name)  # None where a link leads to nothing
            if isinstance(item, h5py.Dataset):
                check_claim(path, item)
            elif isinstance(item, h5py.Group):
                address = int(h5py.h5o.get_info(item.id).addr)
                if address not in seen:
                    seen.add(address)
                    groups.append(item)


def check_claim(path: Path, dataset: h5py.Dataset) -> None:
    """ValueError for a dataset that says it is larger than what the file has of it: reading it would take that much memory.

    Of a compressed one all chunks must be there.
    """
    create = dataset.id.get_create_plist()
    if create.get_layout() == h5py.h5d.VIRTUAL or create.get_external_count() > 0:
        raise ValueError(f"{dataset.name} is stored in other files")
    claimed = int(dataset.nbytes)
    if claimed <= 2 * path.stat().st_size + ALWAYS_ALLOWED:
        return
    stored = int(dataset.id.get_storage_size())
    if dataset.chunks is not None and create.get_nfilters() > 0:
        per_chunk = dataset.dtype.itemsize
        for n in dataset.chunks:
            per_chunk *= n
        if int(dataset.id.get_num_chunks()) * per_chunk >= claimed:
            return
    elif claimed <= stored:
        return
    raise ValueError(f"{dataset.name} of {claimed} bytes, of which the file has {stored}")
