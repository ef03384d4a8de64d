"""What test files call by name; fixtures are in conftest.py."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import h5py
from numpy.typing import ArrayLike

LEFT_BY_MPI = ("OMPI_", "PMI", "ORTE_")
OF_OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_odls_base_sigkill_timeout": "0",
    "EVENT_NOEPOLL": "1",
}
"""Settings of mpiexec, as Craton's launcher makes them: root may start ranks, ranks that are ended are not waited for,
and libevent has nothing to say."""


def command_of(*words: object) -> list[str]:
    """The command line `craton WORDS`, by this interpreter."""
    return [sys.executable, "-m", "craton.commands.main", *map(str, words)]


def environment_without_mpi(*without: str, **settings: str) -> dict[str, str]:
    """The environment of a process of its own, without what MPI left in this one.

    That would make it look as if mpiexec had started it. Craton's own settings are left out as well, and what begins with one of
    `without`.
    """
    prefixes = (*LEFT_BY_MPI, "CRATON_", *without)
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)} | settings


def replaced_dataset(name: str, values: ArrayLike) -> Callable[[h5py.File], None]:
    """A change of an open HDF5 file."""

    def change(file: h5py.File) -> None:
        del file[name]
        file[name] = values

    return change
