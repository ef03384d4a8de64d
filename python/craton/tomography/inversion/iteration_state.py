"""What an unfinished run finds of itself in its folder: the models so far, this iteration's Hessian, its step.

Each is one file that is replaced as a whole, and says to which iteration it belongs; what belongs to another is as if it
were not there. Rank 0's business, all of it.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.files import read_hdf5, replaced, write_hdf5
from craton.tomography.inversion.folder import IterationRecord, RunFolder
from craton.tomography.prior.prior import Step

f64 = NDArray[np.float64]


@dataclass
class Linearised:
    """What an assembly finds besides the Hessian."""

    gradient: f64
    chi_data: float
    data_norm: float
    assemble_s: float


@dataclass
class FoundStep:
    """A step whose length is being sought: step.h5."""

    step: Step
    longest: float
    """The first length to be tried: 1, or less where [inversion] step_percent says so."""
    chi_data: float
    """Without the step."""
    data_norm: float
    assemble_s: float
    solve_s: float
    misfit_s: float = 0.0
    tried: list[float] = dataclasses.field(default_factory=list)
    """chi_data of the lengths longest, longest / 2, ... so far."""


@dataclass
class FoundModels:
    """All models so far, and what belongs to the latest."""

    models: list[f64]
    prior_weights: f64
    iterations: list[IterationRecord]
    data_norm: float


NUMBERS = ("longest", "chi_data", "data_norm", "assemble_s", "solve_s", "misfit_s")
"""Of FoundStep, kept as attributes."""


def write_step(place: RunFolder, found: FoundStep, linearised_at: int) -> None:
    """step.h5"""
    content: dict[str, Any] = {
        "model": found.step.model,
        "weights": found.step.weights,
        "tried": np.array(found.tried, np.float64),
        "linearised_at_iteration": linearised_at,
        **{name: getattr(found, name) for name in NUMBERS},
    }
    with replaced(place.step) as aside:
        write_hdf5(aside, content)


def read_step(place: RunFolder, linearised_at: int) -> FoundStep | None:
    """step.h5 of this iteration, or None."""
    stored = of_iteration(place.step, linearised_at)
    if stored is None:
        return None
    with complete(place.step):
        return FoundStep(
            Step(np.ascontiguousarray(stored["model"]), np.ascontiguousarray(stored["weights"])),
            tried=[float(value) for value in stored["tried"]],
            **{name: float(stored[name]) for name in NUMBERS},
        )


def read_linearised(place: RunFolder, linearised_at: int) -> Linearised | None:
    """What hessian.h5 says of this iteration besides the matrix, or None."""
    stored = of_iteration(place.hessian, linearised_at)
    if stored is None or "chi_data" not in stored:
        return None
    with complete(place.hessian):
        numbers = {name: float(stored[name]) for name in ("chi_data", "data_norm", "assemble_s")}
        return Linearised(np.ascontiguousarray(stored["gradient"]), **numbers)


def read_models(place: RunFolder) -> FoundModels | None:
    """What model.h5 has of a run that was resumed or may be, or None where there is none yet."""
    if not place.model.is_file():
        return None
    stored = read_hdf5(place.model)
    with complete(place.model):
        return FoundModels(
            [np.ascontiguousarray(model) for model in stored["models"]],
            np.ascontiguousarray(stored["prior_weights"]),
            [IterationRecord(**entry) for entry in json.loads(stored["iterations"])],
            float(stored["data_norm"]),
        )


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
