"""A wave run of one rank in a process forked from one that has imported this: short runs would else spend half of it on imports.

    run CONFIG THREADS                  resume DIRECTORY CONFIG THREADS

MPI starts in the process that was forked, alone, and ends in it. Results are those of `craton waves run` without a report. See
tasks/forked.py.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import craton.waves.simulation  # noqa: F401 - loaded once, before any run begins
from craton._launch import environment_of_a_program
from craton._mpi_folders import own_folders
from craton.cli.launching import communicator, console_of
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.folder import WavesFolder
from craton.waves import start as waves

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["main"]


def main(words: Sequence[str]) -> None:
    """Does the run that the words name. UserError for what cannot be computed."""
    sys.argv = ["craton", "waves", *words[:-1], "--threads", words[-1], "--no-report"]  # what would repeat it
    what, *paths, threads = words
    with _mpi_alone() as comm:
        config = load_config(Path(paths[-1]), threads=int(threads))
        if what == "run":
            waves.run(config, comm, console=console_of(comm), overwrite=True, report=False)
        elif what == "resume":
            settings = waves.settings_to_resume(WavesFolder(paths[0]), config, int(threads))
            waves.resume(paths[0], comm, config=settings, console=console_of(comm), report=False)
        else:
            raise ValueError(what)


@contextlib.contextmanager
def _mpi_alone() -> Iterator[MPI.Comm]:
    """MPI of one rank, whoever has started the process that this one comes from."""
    from mpi4py import MPI

    assert not MPI.Is_initialized(), "the process that forks must not start MPI"
    with own_folders() as settings:
        own = environment_of_a_program() | settings | {"OMPI_MCA_ess_singleton_isolated": "1"}
        for name in set(os.environ) - set(own):
            del os.environ[name]
        os.environ.update(own)
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
        yield communicator()
        gc.collect()  # what holds windows and communicators goes before MPI does
        MPI.Finalize()
