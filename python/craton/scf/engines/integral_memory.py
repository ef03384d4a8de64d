"""How much memory of a rank two-electron integrals may take."""

from __future__ import annotations

import os
from pathlib import Path

MB = 1_000_000
MOST_MB = 4000
"""Of a machine's ranks together where the user does not say."""
PART_OF_MEMORY = 4


def integral_bytes(asked_mb: float | None, ranks_of_node: int) -> int:
    """Bytes for each rank: what is asked for, or a quarter of the machine's memory over its ranks, 4000 MB of it at most."""
    if asked_mb is not None:
        return int(asked_mb * MB)
    return min(MOST_MB * MB, machine_memory() // PART_OF_MEMORY) // ranks_of_node


def machine_memory() -> int:
    """Bytes that processes of this machine, or of this container, may have; 0 where the system does not tell."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return 0
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return found
    return min(found, int(limit)) if limit.isdecimal() else found
