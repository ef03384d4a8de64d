"""Where a run is: the bar, and progress.json for those who look at its folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from craton.hazard.pipeline.work import Work
from craton.runs.progress import ProgressBar
from craton.runs.progress_file import ProgressFile
from craton.runs.words import rate_text
from craton.seismology.wave_run.started import part_done
from craton.tasks import Task, TaskRecord

__all__ = ["Display"]


class Display:
    """Follows the tasks of a run: run_tasks calls it with what has ended and what runs, while its bar is shown.

    The bar counts predicted work, progress.json tasks.
    """

    def __init__(self, work: Work, tasks: Sequence[Task], steps: int, file: ProgressFile, console: Any) -> None:
        """steps: of each wave run."""
        self._cost = {task.name: task.cost for task in tasks}
        self._log = {task.name: task.log for task in tasks}
        missing = [task for task in tasks if not task.result.is_file()]
        self._total = sum(task.cost for task in missing)
        self._file = file
        self._present = len(tasks) - len(missing)
        self._counted, self._done = 0, 0.0
        self._rates = _Rates(work, steps)
        total = max(1, round(100 * self._total))
        self.bar = ProgressBar("Hazard", total, "of the work", console, self._rates.text)
        """A context, which shows it."""
        file.enter("jobs", done=self._present, total=len(tasks), unit="tasks")

    def __call__(self, ended: Sequence[TaskRecord], running: Sequence[TaskRecord]) -> None:
        """Shows what has ended and what runs, and writes it to progress.json."""
        new = ended[self._counted :]
        self._counted += len(new)
        self._done += sum(self._cost[one.name] for one in new)
        self._rates.add(new, running)
        going_on = sum(self._cost[one.name] * part_done(self._log[one.name]) for one in running if one.kind == "waves")
        self.bar.update(round(100 * (self._done + going_on)))
        told, done = self._file.progress, self._present + self._counted
        told.facts["now"] = [one.name for one in running]
        told.facts["part"] = (self._done + going_on) / self._total if self._total else 1.0
        told.saved = done  # as files
        self._file.update(done)


class _Rates:
    """What the bar says: points per second of a wave run, variations per second of a core, and what runs."""

    def __init__(self, work: Work, steps: int) -> None:
        self._points = float(np.prod(work.config.ground.cells)) * steps
        self._variations = {
            f"{site.name}: measures {n}": sum(work.counts[i] for i in portion)
            for site in work.config.all_sites
            for n, portion in enumerate(work.portions)
        }
        self._waves = self._made = 0
        self._waves_s = self._measures_s = 0.0
        self._running: Sequence[TaskRecord] = ()

    def add(self, ended: Sequence[TaskRecord], running: Sequence[TaskRecord]) -> None:
        """ended: since the last call."""
        self._running = running
        for one in ended:
            if one.code == 0 and one.kind == "waves":
                self._waves, self._waves_s = self._waves + 1, self._waves_s + one.seconds
            elif one.code == 0 and one.kind == "measures":
                self._made += self._variations[one.name]
                self._measures_s += one.seconds

    def text(self, _per_s: float) -> str:
        said = []
        if self._waves:
            said.append(rate_text(self._points * self._waves / self._waves_s, "points"))
        if self._made:
            said.append(rate_text(self._made / self._measures_s, "variations"))
        said.append("now " + (", ".join(one.name for one in self._running) or "nothing"))
        return "; ".join(said)
