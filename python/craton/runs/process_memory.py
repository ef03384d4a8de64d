"""Memory of this process as the kernel counts it, in bytes: Linux's /proc/self; zeros where there is none."""

from __future__ import annotations

import contextlib
import os

from craton._extension import extension as _craton

__all__ = ["available_bytes", "peak_bytes", "reset_peak", "resident_bytes", "shared_bytes", "total_bytes"]

KIB = 1024


def peak_bytes() -> int:
    """Largest resident set since the start, or since reset_peak."""
    return _field("/proc/self/status", "VmHWM:")


def resident_bytes() -> int:
    """Resident set now."""
    return _field("/proc/self/status", "VmRSS:")


def shared_bytes() -> int:
    """The part of the resident set that other processes may map too: matrices of a node with several ranks."""
    return _field("/proc/self/status", "RssShmem:")


def available_bytes() -> int:
    """Memory that new processes may have: of this machine, or of the container or batch job that this one is in."""
    return max(0, int(_craton.available_memory()))


def total_bytes() -> int:
    """Memory of this machine in all."""
    return _field("/proc/meminfo", "MemTotal:")


def reset_peak() -> None:
    """Restarts peak_bytes, where the kernel allows it."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as marks:
        marks.write("5")


def _field(file: str, name: str) -> int:
    if not os.path.exists(file):
        return 0
    with open(file, encoding="ascii") as lines:
        return next((KIB * int(line.split()[1]) for line in lines if line.startswith(name)), 0)
