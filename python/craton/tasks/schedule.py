"""Which task begins next, and on which cores.

The ready tasks are kept in heaps, which each enters and leaves once: the time per task does not depend on how many wait.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from craton.tasks.graph import Graph, Task

__all__ = ["Schedule"]


class Schedule:
    """The order of a graph's tasks, whose done ones are known, on `cores` cores with at most `jobs` at a time.

    One leading task goes first, then others as they are given, then further leading ones. Where that would make the leading ones
    end too late, those on which most work waits go first, so that short tasks fill the cores to the last (list scheduling by the
    longest chain, Graham 1969). sequential: phase after phase.
    """

    def __init__(self, graph: Graph, cores: int, jobs: int, *, sequential: bool = False) -> None:
        self.graph, self.cores, self.jobs, self.sequential = graph, cores, jobs, sequential
        self.running: dict[int, tuple[float, list[int]]] = {}
        """by number: when it began, on which cores"""
        self.lost: list[int] = []
        """numbers of tasks that wait for one that failed"""
        self._free = list(range(cores))
        done = graph.done()
        self.waits = [not one for one in done]
        """neither done, nor begun, nor lost"""
        self._missing = [sum(not done[one] for one in after) for after in graph.after]
        self._leading_runs = 0
        self._work = self._leading_cores = 0.0
        self._costs, self._chains = _Heap(self.waits), _Heap(self.waits)
        self._open = Counter(task.phase for task, waits in zip(graph.tasks, self.waits, strict=True) if waits)
        self._phases = sorted(self._open, reverse=True)
        # of those that are ready, by how many cores they need
        self._by_phase: dict[int, _Heap] = {}
        self._by_chain: dict[int, _Heap] = {}
        self._leading: dict[int, _Heap] = {}
        self._others: dict[int, _Heap] = {}
        for number in self.waiting():
            self._count(number, 1)
            task = graph.tasks[number]
            if task.leading:
                self._costs.push(-task.cost, number)
                self._chains.push(-graph.chain[number], number)
            if not self._missing[number]:
                self._make_ready(number)

    def waiting(self) -> Iterable[int]:
        """Numbers of the tasks that are neither done, nor begun, nor lost."""
        return (number for number, waits in enumerate(self.waits) if waits)

    def next(self, now_s: float) -> tuple[Task, list[int]] | None:
        """Begins a task; returns it and its cores. None if none may begin now."""
        if len(self.running) >= self.jobs or not self._free:
            return None
        number = self._chosen(now_s)
        if number is None:
            return None
        task = self.graph.tasks[number]
        own = [heapq.heappop(self._free) for _ in range(task.cores)]
        self._leave(number)
        self.running[number] = now_s, own
        self._leading_runs += task.leading
        return task, own

    def ended(self, name: str, *, done: bool) -> None:
        """Ends a task that runs. If it is not done, what waits for it is lost."""
        number = self.graph.numbers[name]
        _, own = self.running.pop(number)
        for core in own:
            heapq.heappush(self._free, core)
        task = self.graph.tasks[number]
        self._leading_runs -= task.leading
        self._open[task.phase] -= 1
        if not done:
            self._lose(number)
            return
        for one in self.graph.followers[number]:
            self._missing[one] -= 1
            if not self._missing[one] and self.waits[one]:
                self._make_ready(one)

    def _chosen(self, now_s: float) -> int | None:
        if self.sequential:
            while self._phases and not self._open[self._phases[-1]]:
                self._phases.pop()
            first = self._first(self._by_phase)
            return first if first is not None and self.graph.tasks[first].phase == self._phases[-1] else None
        if self._no_slack(now_s):
            return self._first(self._by_chain)
        orders = (self._others, self._leading) if self._leading_runs else (self._leading, self._others)
        return next((found for order in orders if (found := self._first(order)) is not None), None)

    def _first(self, order: dict[int, _Heap]) -> int | None:
        """Of those for which there are enough cores."""
        tops = [top for cores, heap in order.items() if cores <= len(self._free) and (top := heap.first()) is not None]
        return min(tops)[1] if tops else None

    def _no_slack(self, now_s: float) -> bool:
        """Whether leading tasks not yet begun, and what follows the last of them, take as long as all that is left on all cores.

        Then anything else that went before them would leave cores idle in the end.
        """
        cost, chain = self._costs.first(), self._chains.first()
        if cost is None or chain is None:
            return True
        rounds = math.ceil(self._leading_cores / self.cores)
        longest = (rounds - 1) * -cost[0] - chain[0]
        left = self._work
        for number, (begun_s, _) in self.running.items():
            task = self.graph.tasks[number]
            left += max(0.0, task.cost - (now_s - begun_s)) * task.cores
        return bool(longest >= left / self.cores)

    def _make_ready(self, number: int) -> None:
        task = self.graph.tasks[number]
        if self.sequential:
            orders: list[tuple[dict[int, _Heap], Any]] = [(self._by_phase, (task.phase, number))]
        else:
            kind = self._leading if task.leading else self._others
            orders = [(self._by_chain, (-self.graph.chain[number], number)), (kind, number)]
        for order, key in orders:
            if task.cores not in order:
                order[task.cores] = _Heap(self.waits)
            order[task.cores].push(key, number)

    def _leave(self, number: int) -> None:
        self.waits[number] = False
        self._count(number, -1)

    def _count(self, number: int, sign: int) -> None:
        task = self.graph.tasks[number]
        self._work += sign * task.cost * task.cores
        self._leading_cores += sign * task.cores * task.leading

    def _lose(self, failed: int) -> None:
        """All that waits for it."""
        reached = [failed]
        for number in reached:  # grows
            for one in self.graph.followers[number]:
                if self.waits[one]:
                    self._leave(one)
                    self._open[self.graph.tasks[one].phase] -= 1
                    self.lost.append(one)
                    reached.append(one)


class _Heap:
    """Numbers of tasks by a key, the smallest first. One that no longer waits is dropped when it comes to the top."""

    def __init__(self, waits: list[bool]) -> None:
        self._waits = waits
        self._entries: list[tuple[Any, int]] = []

    def push(self, key: Any, number: int) -> None:
        heapq.heappush(self._entries, (key, number))

    def first(self) -> tuple[Any, int] | None:
        while self._entries and not self._waits[self._entries[0][1]]:
            heapq.heappop(self._entries)
        return self._entries[0] if self._entries else None
