"""Starts a command on several ranks, and gives each of them the communicator."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypedDict, TypeVar

import typer

import craton
from craton._launch import checked_ranks, launched_size, run_under_mpi
from craton._mpi_folders import folders_until_exit
from craton.cli.output import print_json
from craton.errors import UserError

if TYPE_CHECKING:
    from mpi4py import MPI
    from rich.console import Console

    from craton.runs.folder import RunFolder


DRAWN_LATER = "CRATON_REPORT_DRAWN_LATER"
"""Set for ranks that this process starts: it draws the report when they have ended."""

NOT_CONVERGED = 3
"""The exit code where iterations end before they converge."""


class _RunTable(Protocol):
    """The table [run] of a configuration."""

    @property
    def directory(self) -> str: ...
    @property
    def ranks(self) -> int: ...
    @property
    def threads(self) -> int: ...


class _Runnable(Protocol):
    @property
    def run(self) -> _RunTable: ...


Loaded = TypeVar("Loaded", bound=_Runnable)


def must_launch(ranks: int | None) -> bool:
    """Whether this process should start the ranks: --ranks asks for several and no mpirun or srun has started them."""
    wanted = checked_ranks(ranks)
    return wanted is not None and wanted > 1 and launched_size() is None


def launch(
    ranks: int | None,
    ranks_per_node: int | None,
    results: Path | None,
    threads: int = 1,
    report: RunReport | None = None,
) -> None:
    """Runs this command line on `ranks` ranks and ends with their exit code.

    report: of the folder `results`. It is drawn here when the ranks have ended, so that none of them waits for it.
    """
    assert ranks is not None
    if report is not None:
        os.environ[DRAWN_LATER] = "1"
    try:
        code = run_under_mpi(sys.argv[1:], ranks, ranks_per_node, results, threads=threads)
    finally:
        os.environ.pop(DRAWN_LATER, None)
    if report is not None and report.wanted and results is not None and code in (0, NOT_CONVERGED):
        report.draw_after(results, code)
    raise typer.Exit(code)


@dataclass(frozen=True)
class RunReport:
    """The report of a run, and who draws it: the ranks together if there is one, or the process that started several."""

    application: str
    module: str
    """Has write_report(directory)."""
    wanted: bool
    as_json: bool

    def draw_after(self, directory: Path, code: int) -> None:
        """Writes report.html of a run whose ranks have ended with this code, and says so.

        A run that ended with 0 but waits for files of others has no results yet, and gets no report. What goes wrong is
        told in a line; the run stays as it is.
        """
        from craton.runs.folder import RunFolder

        folder: RunFolder[Any] = RunFolder(directory)
        if not folder.record.is_file() or (code == 0 and folder.unfinished is not None):
            return
        try:
            written = import_module(self.module).write_report(directory)
        except Exception as error:
            what = " ".join(str(error).split()) or type(error).__name__
            print(
                f"craton: the run has ended, but its report was not drawn: {what}; to draw it: {self.command(directory)}",
                file=sys.stderr,
                flush=True,
            )
            return
        print(f"report: {written}", file=sys.stderr if self.as_json else sys.stdout, flush=True)

    def command(self, directory: str | Path) -> str:
        """What draws it."""
        return shlex.join(["craton", self.application, "report", str(directory)])

    def by_ranks(self, comm: MPI.Comm, directory: str | Path, console: Console | None) -> bool:
        """Whether the ranks draw it. Where mpirun or srun started several they do not, and rank 0 says how it is drawn."""
        later = os.environ.pop(DRAWN_LATER, "")  # not for commands that this rank starts
        if later or not self.wanted:
            return False
        if comm.size > 1 and console is not None:
            console.print(f"Several ranks draw no report. To draw it: {self.command(directory)}", highlight=False)
        return comm.size == 1


class Means(TypedDict):
    """Keywords of every application's run() and resume()."""

    ranks_per_node: int
    console: Console | None


@dataclass(frozen=True)
class Started(Generic[Loaded]):
    """What the ranks of a command know when they begin to compute."""

    settings: Loaded
    comm: MPI.Comm
    means: Means
    report: bool = False
    """Whether these ranks draw the report."""


def start_ranks(
    load: Callable[[], Loaded],
    ranks: int | None,
    ranks_per_node: int | None,
    as_json: bool,
    check: Callable[[Loaded, int], object] = lambda _settings, _ranks: None,
    report: RunReport | None = None,
) -> Started[Loaded]:
    """Collective: the beginning of a command that computes. load: reads the configuration, on rank 0.

    Where nobody has started the ranks, and --ranks or [run] ranks asks for several, this process starts them and ends with their
    exit code. It calls `check` before, with the configuration and the number of ranks, so that an error costs no start.
    """
    checked_ranks(ranks)
    if launched_size() is None:
        planned = load()
        wanted = ranks or planned.run.ranks or 1
        if wanted > 1:
            check(planned, wanted)
            launch(wanted, ranks_per_node, Path(planned.run.directory), planned.run.threads, report)
    from craton.runs.agreement import on_root

    comm = communicator()
    means = Means(ranks_per_node=ranks_per_node or 0, console=console_of(comm, as_json=as_json))
    settings = on_root(comm, load)
    drawn = report is not None and report.by_ranks(comm, settings.run.directory, means["console"])
    return Started(settings, comm, means, drawn)


def finished_already(folder: RunFolder[Any], as_json: bool) -> bool:
    """Whether the run in a folder has finished: then nothing is to be resumed. Rank 0 says so, or prints the record as JSON."""
    if folder.owner is not None or folder.unfinished is not None or not folder.record.is_file():
        return False
    record = folder.read_record()
    if record.finished and (launched_size() is None or communicator().rank == 0):
        if as_json:
            print_json(record.to_dict())
        else:
            typer.echo(f"{folder.path}: its run has finished")
    return bool(record.finished)


def end_run(record: Any, comm: MPI.Comm, as_json: bool, complaint: str = "") -> None:
    """Prints the record if asked to. complaint: of a run that has not converged; it is printed, and the exit code is 3."""
    if comm.rank == 0:
        if as_json:
            print_json(record.to_dict())
        if complaint:
            print(f"craton: {complaint}", file=sys.stderr, flush=True)
    if complaint:
        raise typer.Exit(NOT_CONVERGED)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Settings for a process that nobody has started as a rank: folders of its own, and no daemon of Open MPI 4's beside it.

    Processes that this one starts later do not inherit them.
    """
    given = {}
    if launched_size() is None and "mpi4py.MPI" not in sys.modules:
        given = folders_until_exit() | {"OMPI_MCA_ess_singleton_isolated": "1"}
    own = {name: value for name, value in given.items() if name not in os.environ}
    os.environ.update(own)
    try:
        yield
    finally:
        for name in own:
            os.environ.pop(name, None)


def communicator() -> MPI.Comm:
    """All ranks. Starts MPI."""
    try:
        with _alone():
            craton.check_mpi()
    except ImportError as error:
        raise UserError(str(error)) from None
    from mpi4py import MPI

    comm, launched = MPI.COMM_WORLD, launched_size()
    if launched and launched != comm.size:
        raise UserError(
            f"mpiexec or srun started {launched} ranks, but this one sees {comm.size}; allowed: the launcher "
            "that belongs to the MPI library that craton was built with (craton doctor names both)"
        )
    return comm


def console_of(comm: MPI.Comm, *, as_json: bool = False) -> Console | None:
    """Rank 0's console; None on the others, which print nothing. Standard output is left to JSON where that is asked for."""
    from craton.runs.progress import make_console

    return make_console(stderr=as_json) if comm.rank == 0 else None


def check_alone(command: str, instead: str = "one") -> None:
    """UserError where mpirun or srun started several ranks of a command that is one process's work."""
    if (launched_size() or 1) > 1:
        raise UserError(f"{command}: started on {launched_size()} ranks; allowed: {instead}")


def keep_mpi_off() -> None:
    """Modules that this process imports do not start MPI, whose traces the processes it starts would inherit."""
    import mpi4py

    mpi4py.rc.initialize = False
