"""Small updates of targets drawn at random: straight, and in two hops."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from studies.found import Found, Panel
from studies.machine import MESSAGE_S, NODE, RECEIVES, finer, run_program

SCATTERED_RANKS = (64, 256, 1024)
UPDATES, BYTES, IN_FLIGHT = 1000, 64, 1 << 20  # of each rank; of an update; that a rank may have under way
ROWS = (1, NODE, 2 * NODE)  # ranks of a row; 1: straight
RECORD_S = 6e-8  # a message among others of a transfer: 16 million a second (docs/benchmarks.md)


def compare_scattered(ranks: list[int], jobs: int) -> Found:
    """Seconds until all updates are made, by the ranks of a row; and how many travel together."""

    def run(case: tuple[int, int]) -> dict[str, Any]:
        count, row = case
        values = {"updates": UPDATES, "bytes": BYTES, "row": row, "bytes_in_flight": IN_FLIGHT, "receives": RECEIVES}
        work = {"message_s": RECORD_S, "hand_on_s": RECORD_S, "transfer_s": MESSAGE_S}
        settings = finer(1e-8)
        return run_program("scattered", count, values | work, clocks=False, settings=settings, ranks_per_host=NODE)[-1]

    found = Found("small updates of targets drawn at random, straight and in two hops")
    print(f"\n{UPDATES} updates of {BYTES} B by each rank, {IN_FLIGHT >> 20} MiB in flight, {NODE} ranks to a node:")
    print("  ranks   ranks of a row   all made, ms   updates in a transfer   transfers of a rank   at most in flight, kB")
    cases = [(count, row) for count in ranks for row in ROWS if row < count]
    with ThreadPoolExecutor(jobs) as pool:
        for (count, row), row_found in zip(cases, pool.map(run, cases), strict=True):
            together = (count * UPDATES + row_found["handed_on"]) / row_found["transfers"]  # those handed on go twice
            found.rows.append({"row": row, "together": together} | row_found)
            way = "straight" if row == 1 else str(row)
            print(
                f"  {count:5d} {way:>16} {1e3 * row_found['seconds']:14.3f} {together:23.1f}"
                f" {row_found['transfers'] / count:21.0f} {row_found['peak_bytes_in_flight'] / 1000:23.0f}",
                flush=True,
            )
    found.holds = {
        "all sums right": all(each["sums_right"] for each in found.rows),
        "bytes in flight within the bound": all(each["peak_bytes_in_flight"] <= IN_FLIGHT for each in found.rows),
    }
    if 1024 in ranks:
        seconds = {each["row"]: each["seconds"] for each in found.rows if each["ranks"] == 1024}
        found.holds["two hops sooner on 1,024 ranks"] = seconds[NODE] < seconds[1]
    labels = {row: "straight" if row == 1 else f"rows of {row}" for row in ROWS}
    rows = [row for row in ROWS if any(each["row"] == row for each in found.rows)]
    found.panels = [
        Panel(
            "Small updates of random targets",
            "ms until all are made",
            [found.curve(labels[row], "seconds", factor=1e3, row=row) for row in rows],
            log=True,
        ),
        Panel(
            "What travels together",
            "updates in a transfer",
            [found.curve(labels[row], "together", row=row) for row in rows],
            log=True,
        ),
    ]
    return found
