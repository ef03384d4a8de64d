"""A checkpoint is an HDF5 file that says whose it is: written beside its name and renamed, read only by what it fits.

    with written_checkpoint(path, {"app": "scf", "version": 1}) as file:
        file["densities"] = densities
    with opened_checkpoint(path, {"app": "scf", "version": 1}, "a checkpoint of craton scf") as file:
        densities = file["densities"][()]

The identity is a few facts: strings and numbers. What reads gives its own, and a file with another is refused in a line.

These stay apart, each for its reason:

    hessian.checkpoint.h5      The assembly of an inversion: all ranks write it together in C++ (`_craton.Checkpoint`), with the
                               list of counted paths in it, so that it resumes on any number of ranks.
    checkpoint.h5, .layers ... The fields of a wave run: all ranks write them together in C++ (`WaveRun.save`), for the same bricks.
    step.h5, hessian.h5        Results of an inversion's phases, which others read too: they name their iteration, and those of
                               another iteration are as if they were not there (tomography/inversion/hessian_file.py).

All are written aside and renamed. The first two are working files of a RunFolder, whose progress.json has the configuration: that
is their identity. A hazard run has no checkpoint: its tasks' results are its state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from craton.errors import UserError
from craton.runs.files import check_room, replaced, strict_json
from craton.runs.hdf5_files import opened_hdf5
from craton.runs.hdf5_writing import written_hdf5

__all__ = ["Identity", "identity_of", "opened_checkpoint", "written_checkpoint"]

IDENTITY = "identity"
"""The file's attribute that has it, as JSON."""
Identity = Mapping[str, str | int | float]
"""Facts by name."""


@contextmanager
def written_checkpoint(path: Path, identity: Identity, size: int = 0) -> Iterator[h5py.File]:
    """An open file, which becomes `path` when the block ends well; what was there stays until then. Not collective.

    size: bytes that will be written, for a look at the disk first. UserError where it cannot be written.
    """
    path = path.absolute()
    check_room(path, size)
    with replaced(path) as aside, written_hdf5(aside) as file:
        file.attrs[IDENTITY] = strict_json(dict(identity))
        yield file


@contextmanager
def opened_checkpoint(path: Path, identity: Identity, allowed: str) -> Iterator[h5py.File]:
    """A checkpoint, open to be read, whose identity has all of `identity`. Not collective.

    UserError for a file that is missing, damaged (also where the block finds that), or of another identity. allowed: what such an
    error allows.
    """
    with opened_hdf5(path, allowed, called="checkpoint ", wrong="not whole or not one") as file:
        _check(path, identity, identity_of(file), allowed)
        yield file


def identity_of(file: h5py.File) -> dict[str, Any]:
    """The identity in an open checkpoint. KeyError or ValueError where there is none."""
    if IDENTITY not in file.attrs:
        raise KeyError("it does not say whose it is")
    return dict(json.loads(file.attrs[IDENTITY]))


def _check(path: Path, ours: Identity, theirs: Mapping[str, Any], allowed: str) -> None:
    for name, value in ours.items():
        if theirs.get(name) != value:
            raise UserError(
                f"checkpoint {path}: its {name} is {theirs.get(name, 'missing')}, but this run's is {value}; allowed: {allowed}"
            )
