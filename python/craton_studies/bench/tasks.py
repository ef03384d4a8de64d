"""What running a task costs beside the work in it: in the schedule, and at the start of its process."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from craton.tasks import Backend, Ended, Graph, LocalBackend, ParslBackend, Task, run_tasks

from craton_studies.bench.registry import Measurement, Option, Run, benchmark

FEW = 1000
SAME = 3.0
"""Time of a task among many, in times of that among FEW, at most."""


@benchmark(
    "tasks",
    "ms for an empty task of a graph: its schedule alone, with a process of this machine, through Parsl; ms of a process",
    limit=f"among {FEW} tasks",
    options={
        "tasks": Option(100_000, "empty ones"),
        "parsl": Option(10_000, "of them through Parsl; 0: none"),
        "starts": Option(40, "processes of each kind, one after the other"),
    },
)
def tasks(run: Run) -> Iterator[Measurement]:
    """Tasks in chains of ten, of two widths, on eight cores, through a backend that does nothing but leave the file of each.

    They run in the order of a pipeline and in that of a sequence; "restart" has all files already and looks at each.

    "local": as many that create a file each, in processes that they share. "parsl": the same through Parsl's workers on this
    machine. Beside it stand functions that do nothing, through Parsl without Craton.

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
    yield from _empty_ones(run, group)
    run.say("processes ...")
    yield from _starts(run.options["starts"])


def _empty_ones(run: Run, group: str) -> Iterator[Measurement]:
    run.say(f"{group}, local ...")
    taken = [_whole(run.options["tasks"], lambda _folder: LocalBackend(), jobs=4)]
    yield Measurement(
        "local", taken, "ms per task", [1.0], limit="1 ms", target=1, less_is_better=True, ranks=1, group=group
    )
    if not run.options["parsl"] or importlib.util.find_spec("parsl") is None:
        run.say("no tasks through Parsl: " + ("--parsl 0" if not run.options["parsl"] else "it is not installed"))
        return
    run.say(f"{run.options['parsl']} through Parsl ...")
    through = [_whole(run.options["parsl"], _parsl, jobs=100)]
    alone = [_parsl_alone(run.options["parsl"])]
    group = f"{run.options['parsl']} empty tasks"
    yield Measurement(
        "parsl", through, "ms per task", alone, limit="Parsl alone", less_is_better=True, ranks=1, group=group
    )


PARSL = """
import parsl
from parsl.providers import LocalProvider

config = parsl.Config(
    [
        parsl.HighThroughputExecutor(
            "here", max_workers_per_node=2, cores_per_worker=0.5, address="127.0.0.1", encrypted=False,
            provider=LocalProvider(init_blocks=1, max_blocks=1),
        )
    ],
    strategy="none",
)
"""


def _parsl(folder: Path) -> ParslBackend:
    file = folder / "here.py"
    file.write_text(PARSL)
    return ParslBackend(file, folder / "engine")


def _whole(count: int, backend: Callable[[Path], Backend], jobs: int) -> float:
    """Milliseconds of one of so many tasks; that it takes to start the backend is not counted."""
    with tempfile.TemporaryDirectory() as own:
        folder = Path(own)
        first = _served(folder, "first")
        graph = Graph([first, *(_served(folder, f"{n}", after=("first",)) for n in range(count))])
        begun: list[float] = []

        def progress(ended: Sequence[object], _running: Sequence[object]) -> None:
            if ended and not begun:
                begun.append(time.perf_counter())

        outcome = run_tasks(graph, cores=jobs, jobs=jobs, backend=backend(folder), progress=progress)
        seconds = time.perf_counter() - begun[0]
        assert len(outcome.records) == count + 1 and not outcome.failures, outcome.failures
    return 1e3 * seconds / count


def _served(folder: Path, name: str, after: tuple[str, ...] = ()) -> Task:
    file = folder / name
    return Task(
        name,
        result=file,
        log=folder / f"{name}.log",
        command=lambda: [str(file)],
        module=__name__,
        shares_process=True,
        after=after,
    )


def _parsl_alone(count: int) -> float:
    """Milliseconds of one of so many functions that do nothing."""
    with tempfile.TemporaryDirectory() as own:
        backend = _parsl(Path(own))
        backend.prepare([])
        kernel = backend.kernel

        def submitted() -> Any:
            return kernel.submit(
                os.getpid, app_args=(), executors=["here"], cache=False, ignore_for_cache=None, app_kwargs={}
            )

        submitted().result()
        begun = time.perf_counter()
        for one in [submitted() for _ in range(count)]:
            one.result()
        seconds = time.perf_counter() - begun
        backend.end()
    return 1e3 * seconds / count


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
