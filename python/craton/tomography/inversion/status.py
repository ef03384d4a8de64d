"""Where an inversion is, from what is in its folder. Starts no MPI, changes nothing."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from craton.errors import UserError
from craton.runs.hdf5_files import opened_hdf5
from craton.runs.status import Status, find_status
from craton.runs.words import duration
from craton.tomography.folder import IterationRecord, RunFolder
from craton.tomography.inversion.hessian_file import linearised_at_of


@dataclass
class InversionStatus(Status):
    """What `craton tomography status` prints."""

    iteration: int = 0
    """Under way; of a finished run its last."""
    most_iterations: int = 0
    iterations: list[dict[str, Any]] = field(default_factory=list)
    """Of the record: the models so far and their misfits."""
    hessian_of_iteration: int | None = None
    """Whose Hessian is on disk."""


def status(directory: str | os.PathLike[str]) -> InversionStatus:
    """Status of the run in a folder, whatever its state. UserError where there is none. Needs no MPI."""
    folder = RunFolder(directory)
    common = find_status(folder)
    found = InversionStatus(**vars(common))
    place = folder.unfinished or folder
    if found.state == "interrupted" and (awaited := found.facts.get("awaited")):
        found.state, found.rows["awaits"] = "awaiting", awaited
    found.iteration, found.most_iterations = common.facts.get("iteration", 0), common.facts.get("most", 0)
    if place.record.is_file():
        record = place.read_record()
        found.iterations = [asdict(entry) for entry in record.iterations]
        if not found.phase:
            found.iteration = record.iterations[-1].iteration if record.iterations else 0
            found.most_iterations = int(record.config.get("inversion", {}).get("max_iterations", 0))
            found.most_iterations += sum(bool(entry.period_s) for entry in record.iterations)  # which do not count
    if found.phase == "assembly":
        found.saved = paths_saved(place)
    at = linearised_at_of(place.hessian)
    found.hessian_of_iteration = None if at is None else at + 1
    found.left_s = time_left(found)
    for entry in found.iterations:
        it = IterationRecord(**entry)
        found.rows[f"model {it.iteration}"] = (
            f"misfit {it.chi:.6g}, variance reduction {100 * it.variance_reduction:.2f}%"
            + (f", step {it.step_length:.3g}, assembly {duration(it.assemble_s)}" if it.iteration else "")
        )
    if found.hessian_of_iteration is not None:
        found.rows["hessian.h5"] = f"of iteration {found.hessian_of_iteration}"
    return found


def time_left(found: InversionStatus) -> float | None:
    """Seconds left if all iterations allowed are needed; None where there is nothing to judge by.

    Each iteration to come takes the mean of those done; the present assembly goes on at its rate.
    """
    done = [entry for entry in found.iterations if entry["iteration"]]
    each = [entry["assemble_s"] + entry["solve_s"] + entry["misfit_s"] for entry in done]
    more = found.most_iterations - found.iteration
    if found.phase in ("", "finish"):
        return None
    if each:
        typical = float(np.mean(each))
        assembly = float(np.mean([entry["assemble_s"] for entry in done]))
        here = {
            "assembly": found.phase_left_s if found.phase_left_s is not None else assembly,
            "step": 0.0,
            "line search": 0.0,
        }
        return more * typical + here.get(found.phase, assembly) + (typical - assembly)
    if found.phase_left_s is not None:  # the first iteration: assemblies, which take most of the time
        return found.phase_left_s + more * found.total / found.rate
    return None


def paths_saved(place: RunFolder) -> int:
    """Paths in the checkpoint of the assembly; 0 where there is none."""
    try:
        with opened_hdf5(place.checkpoint, "a checkpoint") as file:
            runs = np.asarray(file["counted"], np.int64).reshape(-1, 2)
    except UserError:
        return 0
    return int(np.sum(runs[:, 1] - runs[:, 0] + 1))
