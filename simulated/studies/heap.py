"""The heap of a rank that sends a small update to every rank."""

from __future__ import annotations

from typing import Any

from studies.machine import run_program


HEAP_IN_FLIGHT, HEAP_ALLOWED = 1 << 20, 5 << 20  # bytes: the bound that is set, and what a rank may take with it


def simulate_heap(ranks: int) -> dict[str, Any]:
    """The largest heap of a rank, in bytes: made, and at its peak."""
    values: dict[str, float] = {"bytes_in_flight": HEAP_IN_FLIGHT}
    return run_program("small_updates", ranks, values, clocks=False)[-1]


def print_heaps(heaps: list[dict[str, Any]]) -> None:
    """The heap of a rank beside what it may take."""
    print(
        f"\na small update to every rank, {HEAP_IN_FLIGHT >> 20} MiB in flight allowed: heap of the rank with the largest"
    )
    print("  ranks   made, kB   peak, kB   allowed, kB   sums")
    for found in sorted(heaps, key=lambda each: int(each["ranks"])):
        sums = "right" if found["sums_right"] else "WRONG"
        made, peak = found["setup_bytes"] / 1000, found["peak_bytes"] / 1000
        print(f"  {found['ranks']:5d} {made:10.1f} {peak:10.1f} {HEAP_ALLOWED / 1000:13.1f}   {sums}")
