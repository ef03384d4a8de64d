"""What running a task costs beside the work in it: in the schedule, and at the start of its process."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from craton.tasks import Ended, Graph, LocalBackend, Task, run_tasks

from craton_studies.bench.registry import Measurement, Option, Run, benchmark

FEW = 1000
SAME = 3.0
"""Time of a task among many, in times of that among FEW, at most."""


@benchmark(
    "tasks",
    "ms for an empty task of a graph, among many and among few; ms from the beginning to the end of a process",
    limit=f"among {FEW} tasks",
    options={
        "tasks": Option(100_000, "empty ones"),
        "starts": Option(40, "processes of each kind, one after the other"),
    },
)
def tasks(run: Run) -> Iterator[Measurement]:
    """Tasks in chains of ten, of two widths, on eight cores, through a backend that does nothing but leave the file of each.

    They run in the order of a pipeline and in that of a sequence; "restart" has all files already and looks at each.

    Processes: a job forked by craton.tasks' server and one of multiprocessing's forkserver, in turn, both with SciPy imported
    before; and a program, which imports nothing. Rank 0 alone works.
    """
    if run.comm.rank:
        return
    group = f"{run.options['tasks']} empty tasks"
    for order in ("pipeline", "sequence", "restart"):
        run.say(f"{group}, {order} ...")
        many, few = (
            [1e3 * _seconds(count, order) / count for _ in range(run.repeats)] for count in (run.options["tasks"], FEW)
        )
        yield Measurement(order, many, "ms per task", few, target=SAME, less_is_better=True, ranks=1, group=group)
    run.say("processes ...")
    yield from _starts(run.options["starts"])


class _Leaves:
    """A backend that makes the file of each task and does nothing else."""

    def __init__(self) -> None:
        self._ended: list[Ended] = []

    def prepare(self, tasks: Sequence[Task]) -> None:
        pass

    def begin(self, task: Task, _cores: Sequence[int]) -> None:
        task.result.touch()
        self._ended.append(Ended(task.name, 0))

    def ended(self, _wait_s: float) -> Sequence[Ended]:
        found, self._ended = self._ended, []
        return found

    def end(self) -> None:
        pass


def _seconds(count: int, order: str) -> float:
    with tempfile.TemporaryDirectory() as own:
        folder = Path(own)
        for n in range(0, count, FEW):
            (folder / str(n // FEW)).mkdir()
        made = [_empty(folder, n) for n in range(count)]
        if order == "restart":
            for task in made:
                task.result.touch()
        begun = time.perf_counter()
        outcome = run_tasks(Graph(made), cores=8, jobs=6, sequential=order == "sequence", backend=_Leaves())
        seconds = time.perf_counter() - begun
    assert len(outcome.records) == count * (order != "restart") and not outcome.failures
    return seconds


def _empty(folder: Path, n: int) -> Task:
    return Task(
        f"t{n}",
        result=folder / str(n // FEW) / str(n),
        log=folder / "log",
        command=lambda: [],
        after=(f"t{n - 1}",) if n % 10 else (),
        cores=1 + n % 2,
        cost=1.0 + n % 7,
        leading=n % 10 == 0,
        phase=n // 10,
    )


def main(words: Sequence[str]) -> None:
    """The job of a server: makes a file."""
    Path(words[0]).touch()


def _starts(count: int) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as own:
        folder, backend = Path(own), LocalBackend()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, "scipy.interpolate"])

        def forked(n: int) -> None:
            _through(backend, _task(folder, n, "craton_studies.bench.tasks", [str(folder / f"{n}")]))

        def forkserver(n: int) -> None:
            process = context.Process(target=main, args=([str(folder / f"{n}")],))
            process.start()
            process.join()

        def program(n: int) -> None:
            _through(backend, _task(folder, n, "", ["touch", str(folder / f"{n}")]))

        group = "processes, begun to ended"
        kinds: dict[str, Callable[[int], None]] = {"forked": forked, "forkserver": forkserver, "program": program}
        times: dict[str, list[float]] = {name: [] for name in kinds}
        for n in range(-1, count):  # the first starts the servers
            for name, begin in kinds.items():
                before = time.perf_counter()
                begin(n)
                times[name].append(1e3 * (time.perf_counter() - before))
        backend.end()
    for name, taken in times.items():
        limit = times["forkserver"][1:] if name == "forked" else ()
        yield Measurement(
            name, taken[1:], "ms", limit, limit="multiprocessing", less_is_better=True, ranks=1, group=group
        )


def _task(folder: Path, n: int, module: str, words: Sequence[str]) -> Task:
    return Task(f"{module}{n}", folder / f"{n}", lambda: words, Path(os.devnull), module=module)


def _through(backend: LocalBackend, task: Task) -> None:
    backend.begin(task, [0])
    while not backend.ended(1.0):
        pass
