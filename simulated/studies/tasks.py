"""Tasks shared out, among ranks and on one node, and counters asked (Ozog et al. 2016)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from studies.found import Found, Panel
from studies.machine import MESSAGE_S, RECEIVES, finer, run_program

# Tasks: so many in all, of so many seconds each on the mean, as coarse and as fine as a Fock build's on these ranks.
TASKS = ((65536, 0.01), (524288, 0.001))
WAYS = ("own tasks only", "stealing, thread answers", "stealing, between tasks", "one counter")  # programs/stealing.cpp
STEALING_RANKS = (16, 64, 256, 1024)
# Figure 3: one node of two sockets with 12 cores each, shared out among processes and their threads.
CORES, NODE_TASKS = 24, (16384, 0.01)
OWN, ATTENTIVE = 0, 1  # of WAYS
COUNTER_RANKS, CALLS, COUNTERS = (16, 64, 256), 300, 64  # counters: at so many ranks, or at all if they are fewer
PAPER_CALLS = 10**6  # of each process, in figure 5


def compare_ways(ranks: list[int], jobs: int) -> Found:
    """Efficiency of each way to share tasks out: their seconds over those of all ranks."""

    def run(tasks: int, mean_s: float, ranks: int, way: int) -> dict[str, Any]:
        values = {"tasks": tasks, "mean_s": mean_s, "way": way, "message_s": MESSAGE_S}
        return run_program("stealing", ranks, values)[-1]

    right = True
    found = Found("tasks of unknown cost, shared out: their seconds over those of all ranks")
    with ThreadPoolExecutor(jobs) as pool:
        for tasks, mean_s in TASKS:
            print(f"\n{tasks} tasks of {1e3 * mean_s:g} ms on the mean: efficiency, and tasks stolen")
            print("  ranks  " + "".join(f"{way:>26}" for way in WAYS))
            for count in ranks:
                rows = list(pool.map(partial(run, tasks, mean_s, count), range(len(WAYS))))
                right &= all(row["each_once"] for row in rows)
                spent = [row["work_seconds"] / count / row["seconds"] for row in rows]
                found.rows.append({"ranks": count, "tasks": tasks} | dict(zip(WAYS, spent, strict=True)))
                words = [
                    f"{part:.1%}" + (f" ({row['stolen'] / tasks:.0%})" if row["stolen"] else "")
                    for part, row in zip(spent, rows, strict=True)
                ]
                print(f"  {count:5d}  " + "".join(f"{word:>26}" for word in words), flush=True)
    found.holds = {"each task done once": right}
    found.panels = [
        Panel(
            f"{tasks} tasks of {1e3 * mean_s:g} ms",
            "efficiency, %",
            [found.curve(way, way, factor=100, tasks=tasks) for way in WAYS],
        )
        for tasks, mean_s in TASKS
    ]
    return found


def compare_processes(jobs: int) -> Found:
    """One node: processes beside threads, as in figure 3. Efficiency of all cores."""
    tasks, mean_s = NODE_TASKS
    shapes = [count for count in range(1, CORES + 1) if CORES % count == 0]

    def run(case: tuple[int, int]) -> dict[str, Any]:
        processes, way = case
        values = {"tasks": tasks, "mean_s": mean_s, "way": way, "threads": CORES // processes, "message_s": MESSAGE_S}
        return run_program("stealing", processes, values, ranks_per_host=processes)[-1]

    right = True
    found = Found("one node: tasks shared out among processes, and by each among its threads: efficiency of all cores")
    print(f"\n{tasks} tasks of {1e3 * mean_s:g} ms on a node of {CORES} cores: efficiency, and tasks stolen")
    print(f"  processes x threads{WAYS[OWN]:>20}{WAYS[ATTENTIVE]:>28}")
    with ThreadPoolExecutor(jobs) as pool:
        for count in shapes:
            own, attentive = pool.map(run, ((count, OWN), (count, ATTENTIVE)))
            right &= own["each_once"] and attentive["each_once"]
            parts = [row["work_seconds"] / CORES / row["seconds"] for row in (own, attentive)]
            found.rows.append({"ranks": count, "threads": CORES // count, "own": parts[0], "stealing": parts[1]})
            stolen = f"({attentive['stolen'] / tasks:.0%})"
            print(f"  {count:9d} x {CORES // count:<7d}{parts[0]:20.1%}{parts[1]:22.1%}{stolen:>6}", flush=True)
    found.holds = {"each task done once": right}
    curves = [found.curve(WAYS[OWN], "own", factor=100), found.curve(WAYS[ATTENTIVE], "stealing", factor=100)]
    found.panels = [Panel(f"{CORES} cores, shared out among so many processes", "efficiency, %", curves)]
    return found


def compare_counters(ranks: list[int], jobs: int) -> Found:
    """Seconds of a million increments of counters of other ranks, as in figure 5: many counters, and one for all."""

    def run(case: tuple[int, int]) -> dict[str, Any]:
        count, counters = case
        values = {"calls": CALLS, "counters": counters, "message_s": MESSAGE_S, "receives": RECEIVES}
        return run_program("counters", count, values, clocks=False, settings=finer(1e-8))[-1]

    right = True
    found = Found("increments of counters, one after the other: seconds of each")
    print(f"\nincrements, one after the other, of counters drawn at random from up to {COUNTERS}, and of one for all:")
    print("  ranks  each, us   a million, s     one for all: each, us")
    with ThreadPoolExecutor(jobs) as pool:
        for count in ranks:
            many, one = pool.map(run, ((count, COUNTERS), (count, 1)))
            right &= many["all_counted"] and one["all_counted"]
            each = many["call_seconds"]
            found.rows.append({"ranks": count, "many": each, "one": one["call_seconds"]})
            print(
                f"  {count:5d} {1e6 * each:9.2f} {PAPER_CALLS * each:14.1f} {1e6 * one['call_seconds']:25.2f}",
                flush=True,
            )
    found.holds = {"each increment counted": right}
    curves = [
        found.curve(f"of up to {COUNTERS} counters", "many", factor=1e6),
        found.curve("of one", "one", factor=1e6),
    ]
    found.panels = [Panel("Increments of other ranks' counters", "us for each", curves, log=True)]
    return found
