"""Tasks shared out, and counters asked (Ozog et al. 2016)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from studies.machine import MESSAGE_S, RECEIVES, finer, run_program

# Tasks: so many in all, of so many seconds each on the mean, as coarse and as fine as a Fock build's on these ranks.
TASKS = ((65536, 0.01), (524288, 0.001))
WAYS = ("own tasks only", "stealing, thread answers", "stealing, between tasks", "one counter")  # programs/stealing.cpp
STEALING_RANKS = (16, 64, 256, 1024)
COUNTER_RANKS, CALLS, COUNTERS = (16, 64, 256), 300, 64  # counters: at so many ranks, or at all if they are fewer
PAPER_CALLS = 10**6  # of each process, in figure 5


def compare_ways(ranks: list[int], jobs: int) -> int:
    """Efficiency of each way to share tasks out: their seconds over those of all ranks."""

    def found(tasks: int, mean_s: float, ranks: int, way: int) -> dict[str, Any]:
        values = {"tasks": tasks, "mean_s": mean_s, "way": way, "message_s": MESSAGE_S}
        return run_program("stealing", ranks, values)[-1]

    right = True
    with ThreadPoolExecutor(jobs) as pool:
        for tasks, mean_s in TASKS:
            print(f"\n{tasks} tasks of {1e3 * mean_s:g} ms on the mean: efficiency, and tasks stolen")
            print("  ranks  " + "".join(f"{way:>26}" for way in WAYS))
            for count in ranks:
                rows = list(pool.map(partial(found, tasks, mean_s, count), range(len(WAYS))))
                right &= all(row["each_once"] for row in rows)
                words = [
                    f"{row['work_seconds'] / count / row['seconds']:.1%}"
                    + (f" ({row['stolen'] / tasks:.0%})" if row["stolen"] else "")
                    for row in rows
                ]
                print(f"  {count:5d}  " + "".join(f"{word:>26}" for word in words), flush=True)
    print(f"each task done once: {'yes' if right else 'NO'}")
    return 0 if right else 1


def compare_counters(ranks: list[int], jobs: int) -> int:
    """Seconds of a million increments of counters of other ranks, as in figure 5: many counters, and one for all."""

    def found(case: tuple[int, int]) -> dict[str, Any]:
        count, counters = case
        values = {"calls": CALLS, "counters": counters, "message_s": MESSAGE_S, "receives": RECEIVES}
        return run_program("counters", count, values, clocks=False, settings=finer(1e-8))[-1]

    right = True
    print(f"\nincrements, one after the other, of counters drawn at random from up to {COUNTERS}, and of one for all:")
    print("  ranks  each, us   a million, s     one for all: each, us")
    with ThreadPoolExecutor(jobs) as pool:
        for count in ranks:
            many, one = pool.map(found, ((count, COUNTERS), (count, 1)))
            right &= many["all_counted"] and one["all_counted"]
            each = many["call_seconds"]
            print(f"  {count:5d} {1e6 * each:9.2f} {PAPER_CALLS * each:14.1f} {1e6 * one['call_seconds']:25.2f}", flush=True)
    print(f"each increment counted: {'yes' if right else 'NO'}")
    return 0 if right else 1
