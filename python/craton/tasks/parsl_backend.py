"""Tasks through Parsl (Babuji et al. 2019, HPDC): on the nodes of a cluster, as a configuration of the user's own describes it.

The file of a task stays the truth. Parsl is told of a task when it may begin, and asked for nothing but that it runs; its own
checkpoints and dependencies are not used. The workers see the same file system as this process, and the same Python.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import signal
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from craton import _with_parent
from craton._launch import SETTINGS
from craton.described import Described
from craton.errors import UserError
from craton.tasks.backend import Ended
from craton.tasks.graph import Task
from craton.tasks.in_worker import LEASE, Lease, Sent, revoke, run_sent
from craton.tasks.parsl_places import Place, first_line, load_parsl_config, place_for, places_of

__all__ = ["ParslBackend"]

SECONDS_TO_SEE = 30.0
"""In which a file that a node has left must be seen here: file systems over a network keep what they knew for some seconds."""
SECONDS_TO_END = 60.0
"""For blocks to be given back; what is left then ends when it misses this process."""
LOOK_EVERY_S = 5.0
"""At processes of Parsl that nobody else would miss."""


class ParslBackend(Described):
    """A Backend. Each task goes to the executor whose workers have the fewest cores that are enough.

    file: the configuration, Python as Parsl has it. folder: for Parsl's own logs and the word of this run, on the shared file
    system. UserError for a configuration that cannot be used. Nothing is started before `prepare`.
    """

    def __init__(self, file: Path, folder: Path) -> None:
        self.file, self.folder = file, folder
        self._config = load_parsl_config(file)
        self.places: list[Place] = places_of(self._config, file)
        self._lease = Lease(folder.absolute() / LEASE, uuid.uuid4().hex)
        self._tries: Counter[str] = Counter()
        self._modules: dict[str, frozenset[str]] = {}
        """of the tasks of each executor"""
        self.kernel: Any = None
        """Parsl, once it has started"""
        self._news: queue.SimpleQueue[tuple[Task, Future[Ended]]] = queue.SimpleQueue()
        self._retries = 0
        self._unseen: list[tuple[float, Task, Ended]] = []
        self._looked = 0.0

    def _facts(self) -> dict[str, object]:
        return {"configuration": self.file, "folder": self.folder}

    @property
    def cores(self) -> int:
        """Of all executors, once all their blocks are there."""
        return sum(one.all_cores for one in self.places)

    def check(self, tasks: Sequence[Task]) -> None:
        """Refuses a task for which there is no place. UserError."""
        for task in tasks:
            place_for(task, self.places)

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Starts Parsl, which asks its providers for the first blocks. UserError if it does not start."""
        self.check(tasks)
        for task in tasks:
            if task.module:
                on = place_for(task, self.places).executor
                self._modules[on] = self._modules.get(on, frozenset()) | {task.module}
        import parsl

        self._lease.take()
        self._find_programs()
        config = self._config
        if config.run_dir == "runinfo":
            config.run_dir = str(self.folder / "parsl")
        self._retries, config.retries = config.retries, 0  # a task that is begun again may have other words
        with_parent = [sys.executable, "-P", "-s", "-S", _with_parent.__file__, str(os.getpid())]
        for one in self._executors:  # what they start here ends with this process
            one.interchange_launch_cmd = [*with_parent, *one.interchange_launch_cmd]
        logging.getLogger("parsl").propagate = False  # it has a file of its own
        try:
            self.kernel = parsl.DataFlowKernel(config)
        except Exception as problem:  # of a provider or an executor, of any kind
            raise UserError(
                f"{self.file}: Parsl does not start: {first_line(problem)}; allowed: a configuration that Parsl runs; its logs: "
                f"{config.run_dir}"
            ) from None
        # Else the first blocks are asked for strategy_period later. What fails here Parsl's own poll tells then.
        with contextlib.suppress(Exception):
            self.kernel.job_status_poller.poll()

    def begin(self, task: Task, cores: Sequence[int]) -> None:  # noqa: ARG002 - Parsl chooses them
        """Sends the task to its executor, which may have to wait for a node. UserError if there is no place for it."""
        place = place_for(task, self.places)
        by_launcher = place.nodes > 0
        words = task.command() if by_launcher else task.words()
        sent = Sent(
            task.name,
            tuple(words),
            task.log.absolute(),
            task.module,
            self._modules.get(place.executor, frozenset()),
            task.shares_process,
            by_launcher,
            _settings(),
            self._lease,
        )
        wanted = {"parsl_resource_specification": place.nodes_for(task)} if by_launcher else {}
        future = self.kernel.submit(
            run_sent,
            app_args=(sent,),
            executors=[place.executor],
            cache=False,
            ignore_for_cache=None,
            app_kwargs=wanted,
        )
        future.add_done_callback(lambda done: self._news.put((task, done)))

    def ended(self, wait_s: float) -> list[Ended]:
        """Tasks that have ended since the last call. Waits for the first of them, up to wait_s. UserError if Parsl has died."""
        self._check_alive()
        with contextlib.suppress(queue.Empty):
            task, done = self._news.get(timeout=wait_s)
            while True:
                self._hear(task, done)
                task, done = self._news.get_nowait()
        found = [one for until, task, one in self._unseen if _seen(task, one) or time.monotonic() > until]
        names = {one.name for one in found}
        self._unseen = [waits for waits in self._unseen if waits[2].name not in names]
        return found

    def _hear(self, task: Task, done: Future[Ended]) -> None:
        """A task that has ended; one whose worker or node has died is begun again, as often as the configuration allows."""
        problem = done.exception()
        if problem is None:
            ended = done.result()
        elif self._tries[task.name] < self._retries:
            self._tries[task.name] += 1
            self.begin(task, [])
            return
        else:
            ended = Ended(task.name, -signal.SIGKILL, why=f"Parsl: {first_line(problem)}")
        self._unseen.append((time.monotonic() + SECONDS_TO_SEE, task, ended))

    def end(self) -> None:
        """Ends workers and blocks, and with them all tasks that still run."""
        if self.kernel is None:
            return
        revoke(self.folder, wait=False)
        kernel, self.kernel = self.kernel, None
        with _deaf():
            for one in self._executors:
                if _code(one) is not None:  # Parsl would ask it for ever which blocks are idle
                    if not one.bad_state_is_set:
                        one.set_bad_state_and_fail_all(RuntimeError("its interchange has ended"))
                    one.provider.cancel(list(one.blocks_to_job_id.values()))
            ending = threading.Thread(target=kernel.cleanup, daemon=True)
            ending.start()
            ending.join(SECONDS_TO_END)
        atexit.unregister(kernel.atexit_cleanup)

    @property
    def _executors(self) -> Sequence[Any]:
        """Which kinds they are was checked."""
        return self._config.executors

    def _find_programs(self) -> None:
        """Parsl starts programs that were installed beside this Python, by name."""
        beside = str(Path(sys.executable).parent)
        if beside not in os.environ.get("PATH", "").split(os.pathsep):
            os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), beside])

    def _check_alive(self) -> None:
        """Parsl does not miss its own process between this one and the workers; tasks would wait for ever."""
        if time.monotonic() < self._looked + LOOK_EVERY_S:
            return
        self._looked = time.monotonic()
        for one in self._executors:
            if (code := _code(one)) is not None:
                raise UserError(
                    f"{self.file}: Parsl's interchange of executor '{one.label}' has ended with code {code}; finished tasks are "
                    f"kept; its logs: {self.kernel.run_dir}"
                )


def _code(executor: Any) -> int | None:
    """With which its own process here has ended."""
    process = executor.interchange_proc
    return process.poll() if process is not None else None


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """A second Ctrl-C would leave blocks behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {
        number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _settings() -> frozenset[tuple[str, str]]:
    return frozenset((name, value) for name, value in os.environ.items() if name.startswith(SETTINGS))


def _seen(task: Task, ended: Ended) -> bool:
    if ended.code or task.result.is_file():
        return True
    with contextlib.suppress(OSError):
        os.scandir(task.result.parent).close()  # a network file system asks its server again
    return False
