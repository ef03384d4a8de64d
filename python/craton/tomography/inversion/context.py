"""What all parts of a run share on one rank: its settings, its ranks, its folder, and whom it tells how far it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from craton.runs.agreement import on_root
from craton.tomography.inversion.accounting import Phases
from craton.tomography.inversion.say import say

if TYPE_CHECKING:
    from mpi4py import MPI

    from craton import _craton
    from craton.runs.progress_file import ProgressFile
    from craton.tomography.config.load import Config
    from craton.tomography.folder import RunFolder

PHASES = ("set-up", "data", "assembly", "step", "line search", "finish")
"""In their order. Iterations repeat the three in the middle."""


@dataclass
class RunContext:
    """The same on every rank but for `console`, which is rank 0's."""

    config: Config
    comm: MPI.Comm
    world: _craton.World
    console: Any
    folder: RunFolder
    place: RunFolder
    """Where files are written: the folder, or one inside until there are results to put in the place of earlier ones."""
    progress: ProgressFile
    command: str
    """That repeats the run."""
    resuming: bool = False
    """Files that are there already are of this run."""
    phases: Phases = field(init=False)

    def __post_init__(self) -> None:
        self.console = self.console if self.comm.rank == 0 else None
        self.phases = Phases(lambda: self.world.stats()["bytes_sent"])

    @property
    def threads(self) -> int:
        return self.config.assembly.threads

    def say(self, text: str) -> None:
        """Prints on rank 0."""
        say(self.console, text)

    def enter(self, phase: str, iteration: int, done: int = 0, total: int = 0) -> None:
        """Collective: begins a phase, with `done` of `total` paths from a checkpoint. UserError where the disk is full."""
        most = self.config.inversion.max_iterations
        where = f"iteration {iteration} of at most {most}"
        on_root(
            self.comm,
            lambda: self.progress.enter(
                phase,
                where=where,
                done=done,
                total=total,
                unit="paths" if total else "",
                iteration=iteration,
                most=most,
            ),
        )
