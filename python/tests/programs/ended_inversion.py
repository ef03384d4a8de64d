"""An inversion that ends itself by kill -9 at a chosen moment: CONFIG MOMENT ITERATION [overwrite], on any number of ranks.

CONFIG is a TOML file, or the folder of a run, with which it then goes on. MOMENT "full-disk" is no kill: from there on no file may
grow beyond the size of the models.
"""

from __future__ import annotations

import inspect
import itertools
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from craton._launch import main_guard
from craton.runs.progress import make_console
from craton.runs.progress_file import ProgressFile
from craton.tomography import start as inversion
from craton.tomography.config.load import load_config
from craton.tomography.folder import RunFolder
from craton.tomography.inversion import hessian_file, theory_check
from craton.tomography.inversion.assembly import Assembly
from craton.tomography.inversion.context import RunContext
from craton.tomography.inversion.driver import Inversion
from craton.tomography.inversion.persistence import RunFiles, State
from craton.tomography.inversion.step import StepSearch
from craton.tomography.report import page
from craton.tomography.theory import crust, figure
from mpi4py import MPI

FULL_BYTES = 100_000


def end() -> None:
    """Kill -9 of this process; mpiexec ends the others."""
    os.kill(os.getpid(), signal.SIGKILL)


def at(owner: Any, name: str, due: Callable[..., bool], action: Callable[[], None] = end, after: bool = False) -> None:
    """Does the action when owner.name is called and `due` of its arguments; or when it has returned."""
    original = getattr(owner, name)

    def watched(*arguments: Any, **named: Any) -> Any:
        if after:
            result = original(*arguments, **named)
            if due(*arguments):
                action()
            return result
        if due(*arguments):
            action()
        return original(*arguments, **named)

    setattr(owner, name, watched)


def pause_after_every_subset() -> None:
    """However long a subset takes: there is a checkpoint after the first, and another follows it."""
    original = Assembly.until_pause
    place = list(inspect.signature(original).parameters).index("pause_after_s")

    def at_once(*arguments: Any) -> int:
        return original(*arguments[:place], 1e-9, *arguments[place + 1 :])

    Assembly.until_pause = at_once


def arrange(moment: str, iteration: int) -> None:
    """Iterations count from 1; those of the finish are not looked at. Of "other-earths" the number is that of an Earth."""
    if moment in ("assembly", "full-disk"):
        pause_after_every_subset()

    def on_root(*_: Any) -> bool:
        return MPI.COMM_WORLD.rank == 0

    def now(*arguments: Any) -> bool:
        state = next(one for one in arguments if isinstance(one, State))
        return on_root() and len(state.models) == iteration

    def of_model(_files: Any, _hessian: Any, _found: Any, _model: Any, linearised_at: int, _more: Any) -> bool:
        return on_root() and linearised_at + 1 == iteration

    def accepted(files: RunFiles) -> bool:
        return on_root() and len(files.record.iterations) == iteration + 1

    def in_assembly(file: ProgressFile, done: int, total: int) -> bool:
        found = file.progress
        mine = on_root() and (found.phase, found.facts.get("iteration")) == ("assembly", iteration)
        return mine and 0 < found.saved < done

    if moment == "data":
        at(RunFiles, "save_data", on_root)
    elif moment == "other-earths":
        solved = itertools.count(1)
        for module in (crust, figure):
            at(module, "frequencies", lambda *_: on_root() and next(solved) == iteration)
    elif moment == "assembly":
        at(ProgressFile, "update", in_assembly)
    elif moment == "hessian":
        # on rank 0, once the matrix is written and before hessian.h5 takes its name
        at(RunFiles, "save_hessian", of_model, lambda: at(hessian_file, "linearised_at_of", lambda *_: True))
    elif moment == "step":
        at(RunFiles, "save_step", now)
    elif moment == "step-found":
        at(StepSearch, "line_search", now)
    elif moment == "line-search":
        at(StepSearch, "try_length", now, after=True)
    elif moment == "model":
        at(RunFolder, "write_record", lambda _, record: len(record.iterations) == iteration + 1)
    elif moment == "accepted":
        at(RunFiles, "drop_iteration", accepted)
    elif moment == "finish":
        at(Inversion, "finish", on_root)
    elif moment == "theory-check":
        at(theory_check, "compared", on_root)  # which has computed by the richer theory
    elif moment == "awaiting":
        at(RunContext, "enter_outside", lambda *given: on_root() and len(given) > 1 and bool(given[1]), after=True)
    elif moment == "report":
        at(page, "write_sections", lambda *_: True)
    elif moment == "full-disk":
        limits = (FULL_BYTES, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        at(Assembly, "save_checkpoint", lambda *_: True, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits))
    else:
        raise ValueError(moment)


if __name__ == "__main__":
    with main_guard():
        what, moment, iteration, *options = sys.argv[1:]
        arrange(moment, int(iteration))
        console = make_console() if MPI.COMM_WORLD.rank == 0 else None
        if Path(what).is_dir():
            inversion.resume(what, console=console, report=False)
        else:
            inversion.run(
                load_config(what), console=console, overwrite="overwrite" in options, report=moment == "report"
            )
