"""What a rank spends on each phase: wall clock, memory and messages."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from craton.runs import process_memory

if TYPE_CHECKING:
    from mpi4py import MPI

ASSEMBLY = ("panel_s", "product_s", "update_s", "poll_s", "commit_s", "wall_s", "paths", "updates", "rows")
"""What an assembly tells of itself."""


class Phases:
    """Wall-clock seconds, memory and messages by name of what a rank spends them on. Phases follow each other."""

    def __init__(self, sent: Callable[[], int] = lambda: 0) -> None:
        """sent: bytes sent so far."""
        self.seconds: dict[str, float] = defaultdict(float)
        self.peak_bytes: dict[str, int] = defaultdict(int)
        self.shared_bytes: dict[str, int] = defaultdict(int)
        self.sent_bytes: dict[str, int] = defaultdict(int)
        self.assembly: dict[str, float] = defaultdict(float)
        """Sums of what the assemblies told."""
        self.sent = sent

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        process_memory.reset_peak()
        before, start = self.sent(), time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - start
        self.sent_bytes[name] += self.sent() - before
        self.peak_bytes[name] = max(self.peak_bytes[name], process_memory.peak_bytes())
        self.shared_bytes[name] = max(self.shared_bytes[name], process_memory.shared_bytes())

    def add_assembly(self, told: dict[str, Any]) -> None:
        """Adds what one assembly told."""
        for name in ASSEMBLY:
            self.assembly[name] += float(told.get(name, 0.0))

    def of_all_ranks(self, comm: MPI.Comm) -> dict[str, list[dict[str, Any]]]:
        """Collective: the record's fields, a dictionary per rank in each."""
        fields: dict[str, dict[str, Any]] = {
            "phase_s": self.seconds,
            "assembly_s": self.assembly,
            "peak_bytes": self.peak_bytes,
            "shared_bytes": self.shared_bytes,
            "sent_bytes": self.sent_bytes,
        }
        return {name: comm.allgather(dict(values)) for name, values in fields.items()}
