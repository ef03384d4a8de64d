"""Files that say to which iteration they belong: what belongs to another is as if it were not there. Rank 0's business."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import h5py

from craton.errors import UserError
from craton.runs.files import read_hdf5


def of_iteration(file: pathlib.Path, linearised_at: int) -> dict[str, Any] | None:
    """Everything in the file but a Hessian, if the file is there and of this iteration."""
    if linearised_at_of(file) != linearised_at:
        return None
    return read_hdf5(file, leave_out=("hessian",))


def linearised_at_of(file: pathlib.Path) -> int | None:
    """The model that a file belongs to; None where there is no such file."""
    if not file.is_file():
        return None
    try:
        with h5py.File(file, "r") as opened:
            return int(opened.attrs["linearised_at_iteration"])
    except (OSError, RuntimeError, KeyError, TypeError, ValueError) as problem:
        raise UserError(
            f"{file}: not a complete file of a run ({problem}); allowed: what the run left, or to remove it, "
            "so that its phase is done again"
        ) from problem


@contextmanager
def complete(file: pathlib.Path) -> Iterator[None]:
    """Whatever is missing in the file is a UserError that names it."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as problem:
        raise UserError(
            f"{file}: not a complete file of a run ({problem}); allowed: what the run left, or to remove it, so that its "
            "phase is done again"
        ) from problem
