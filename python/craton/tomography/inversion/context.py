"""What all parts of a run share on one rank: settings, ranks, folder, what each phase takes, and whom it tells how far it is."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from craton.runs import process_memory
from craton.runs.agreement import on_root
from craton.tomography.inversion.say import say

if TYPE_CHECKING:
    from mpi4py import MPI
    from rich.console import Console

    from craton import _craton
    from craton.runs.node_copies import NodeCopies
    from craton.runs.progress_file import ProgressFile
    from craton.tomography.config.load import Config
    from craton.tomography.folder import RunFolder

PHASES = ("set-up", "data", "assembly", "step", "line search", "finish")
"""In their order. Iterations repeat the three in the middle."""
OUTSIDE = "synthetics"
"""The phase in which an outside solver computes seismograms, or is waited for; of runs that have one."""

ASSEMBLY = ("panel_s", "product_s", "update_s", "poll_s", "commit_s", "wall_s", "paths", "updates", "rows")
"""What an assembly tells of itself: seconds of its threads and of the whole, and counts."""


class Phases:
    """Wall-clock seconds, memory and messages by name of what a rank spends them on. Phases follow each other."""

    def __init__(self, sent: Callable[[], int] = lambda: 0) -> None:
        """sent: tells the bytes sent so far."""
        self.seconds: dict[str, float] = defaultdict(float)
        self.peak_bytes: dict[str, int] = defaultdict(int)
        self.shared_bytes: dict[str, int] = defaultdict(int)
        self.sent_bytes: dict[str, int] = defaultdict(int)
        self.assembly: dict[str, float] = defaultdict(float)
        """Sums of what the assemblies told."""
        self.sent = sent

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Adds what the block takes to a phase."""
        process_memory.reset_peak()
        before, start = self.sent(), time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - start
        self.sent_bytes[name] += self.sent() - before
        self.peak_bytes[name] = max(self.peak_bytes[name], process_memory.peak_bytes())
        self.look_at_shared(name)

    def look_at_shared(self, name: str) -> None:
        """Notes what the rank maps of others' memory, where a phase has most of it: at its end, if nothing else is called."""
        self.shared_bytes[name] = max(self.shared_bytes[name], process_memory.shared_bytes())

    def add_assembly(self, told: dict[str, Any]) -> None:
        """Adds what one assembly told."""
        for name in ASSEMBLY:
            self.assembly[name] += float(told.get(name, 0.0))

    def of_all_ranks(self, comm: MPI.Comm) -> dict[str, list[dict[str, Any]]]:
        """Collective: the record's fields, a dictionary per rank in each; on the other ranks nothing."""
        fields: dict[str, dict[str, Any]] = {
            "phase_s": self.seconds,
            "assembly_s": self.assembly,
            "peak_bytes": self.peak_bytes,
            "shared_bytes": self.shared_bytes,
            "sent_bytes": self.sent_bytes,
        }
        found = {name: comm.gather(dict(values)) for name, values in fields.items()}
        return {name: values for name, values in found.items() if values is not None}


class Awaited(Exception):
    """The run cannot go on until somebody has computed seismograms; the text says which, and where they belong."""


@dataclass
class RunContext:
    """The same on every rank but for `console`, which is rank 0's. Its making is collective."""

    config: Config
    comm: MPI.Comm
    world: _craton.World
    console: Console | None
    folder: RunFolder
    place: RunFolder
    """Where files are written: the folder, or one inside until there are results to put in the place of earlier ones."""
    progress: ProgressFile
    command: str
    """That repeats the run."""
    resuming: bool = False
    """Files that are there already are of this run."""
    long_period_iterations: int = 0
    """Of the iterations so far; max_iterations does not count them."""
    phases: Phases = field(init=False)
    nodes: NodeCopies = field(init=False)
    """What makes vectors that all ranks read."""

    def __post_init__(self) -> None:
        from craton.runs.node_copies import NodeCopies  # starts MPI

        self.console = self.console if self.comm.rank == 0 else None
        self.nodes = NodeCopies(self.world, self.comm)
        self.phases = Phases(lambda: self.world.stats()["bytes_sent"])

    @property
    def threads(self) -> int:
        """Threads of each rank."""
        return self.config.assembly.threads

    def say(self, text: str) -> None:
        """Prints on rank 0."""
        say(self.console, text)

    def discard_checkpoint(self) -> None:
        """Collective: drops the checkpoint of an assembly, from the folder and from the nodes."""
        from craton import Checkpoint  # starts MPI

        if local := self.config.assembly.checkpoint_local:
            Checkpoint.discard(self.world, str(self.place.checkpoint), local)
        on_root(self.comm, self.place.discard_checkpoint)

    def enter_outside(self, awaited: str = "") -> None:
        """Collective: begins the phase of outside seismograms. awaited: what the run ends to wait for."""
        self.enter(OUTSIDE, int(self.comm.bcast(self.progress.progress.facts.get("iteration", 0))), awaited=awaited)

    def await_outside(self, what: str) -> NoReturn:
        """Collective: raises Awaited, when `status` can tell what is awaited."""
        self.enter_outside(what)
        raise Awaited(what)

    def enter(self, phase: str, iteration: int, done: int = 0, total: int = 0, **facts: Any) -> None:
        """Collective: begins a phase, with `done` of `total` paths from a checkpoint. UserError where the disk is full.

        facts: more to note for `status`.
        """
        facts = {"awaited": "", **facts}
        most = self.config.inversion.max_iterations + self.long_period_iterations
        where, unit = f"iteration {iteration} of at most {most}", "paths" if total else ""

        def begin() -> None:
            self.progress.enter(
                phase, where=where, done=done, total=total, unit=unit, iteration=iteration, most=most, **facts
            )

        on_root(self.comm, begin)
