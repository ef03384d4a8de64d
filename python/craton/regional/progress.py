"""Where a run is: the bar of what runs now, and progress.json for those who look at its folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from craton.runs.progress import ProgressBar
from craton.runs.progress_file import ProgressFile
from craton.seismology.wave_run.started import part_done
from craton.tasks import Task, TaskRecord

__all__ = ["Display"]


class Display:
    """Follows some tasks: run_tasks calls it with what has ended and what runs, while its bar is shown."""

    def __init__(self, phase: str, where: str, tasks: Sequence[Task], file: ProgressFile, console: Any) -> None:
        self._tasks = {task.name: task for task in tasks}
        missing = [task for task in tasks if not task.result.is_file()]
        self._total = sum(task.cost for task in missing)
        self._present, self._file = len(tasks) - len(missing), file
        self._running: Sequence[TaskRecord] = ()
        self._ended = 0
        self.bar = ProgressBar(
            f"{where}: {phase}", max(1, round(100 * self._total)), "of the work", console, self._text
        )
        """A context, which shows it."""
        file.enter(phase, where=where, done=self._present, total=len(tasks), unit="tasks")

    def __call__(self, ended: Sequence[TaskRecord], running: Sequence[TaskRecord]) -> None:
        """Shows what has ended and what runs, and writes it to progress.json."""
        self._running, self._ended = running, len(ended)
        done = sum(self._tasks[one.name].cost for one in ended)
        going_on = sum(self._tasks[one.name].cost * part_done(self._tasks[one.name].log) for one in running)
        self.bar.update(round(100 * (done + going_on)))
        told = self._file.progress
        told.facts["now"] = [one.name for one in running]
        told.facts["part"] = (done + going_on) / self._total if self._total else 1.0
        told.saved = self._present + len(ended)  # as files
        self._file.update(told.saved)

    def _text(self, _per_s: float) -> str:
        now = ", ".join(one.name for one in self._running) or "nothing"
        return f"{self._present + self._ended} of {len(self._tasks)} tasks; now {now}"
