"""Progress with rate and time left: a bar on a terminal or in a notebook, a line now and then elsewhere. Only rank 0 shows it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from craton._launch import TERMINAL
from craton.runs.notebook import Meter, NotebookConsole
from craton.runs.words import rate_text

__all__ = ["ProgressBar", "make_console"]

SECONDS_BETWEEN_LINES = 10.0


def make_console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console that knows whether a person watches: under `--ranks` the launcher says so; ranks cannot see it."""
    told = os.environ.get(TERMINAL)
    console = Console(stderr=stderr, quiet=quiet, force_terminal=None if told is None else told == "1", highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 140  # a file or a pipe has no edge to wrap at; tables need one
    return console


class ProgressBar:
    """Counts towards a total.

    with ProgressBar("Assembling", total=3000, unit="paths", console=console) as bar:
        assemble(..., progress=bar.update)

    With `console` None (ranks other than 0) it shows nothing. `update` takes (done, total), as the extension gives
    them, or (done). `rate`: what to show of a rate, instead of `unit` per second.
    """

    def __init__(
        self,
        label: str,
        total: int,
        unit: str = "items",
        console: Console | None = None,
        rate: Callable[[float], str] | None = None,
    ) -> None:
        self._label, self._total, self._unit, self._console = label, total, unit, console
        self._rate = rate or (lambda per_s: rate_text(per_s, unit))
        self._done = self._before = 0
        self._started = time.monotonic()
        self._last_line = self._started
        self._last_tenth = 0
        self._task: TaskID | None = None
        self._bar: Progress | None = None
        self._meter: Meter | None = None

    def __enter__(self) -> Self:
        self._started = self._last_line = time.monotonic()
        if isinstance(self._console, NotebookConsole):
            self._meter = self._console.meter
            self._show_in_notebook()
        elif self._console is not None and self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed:.0f}/{task.total:.0f}"),
                _RateColumn(self._rate),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=self._console,
            )
            self._bar.start()
            self._task = self._bar.add_task(self._label, total=self._total)
        return self

    def update(self, done: int, total: int | None = None) -> None:
        """Shows how many are done. total: where it has changed."""
        self._done = done
        self._total = self._total if total is None else total
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=self._total)
        elif self._meter is not None:
            self._show_in_notebook()
        elif self._console is not None:
            self._line_if_due()

    def begin_at(self, done: int) -> None:
        """Sets what an earlier session has done, which counts in no rate."""
        self._before = self._done = done
        if self._bar is not None and self._task is not None:
            self._bar.reset(self._task, completed=done)

    def advance(self, count: int = 1) -> None:
        """Shows so many more as done."""
        self.update(self._done + count)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._meter is not None:
            self._show_in_notebook(last=True)
        sys.stdout.flush()

    def _line_if_due(self) -> None:
        """A line at every tenth of the way, but not several a second, and after ten seconds without one."""
        now = time.monotonic()
        tenth = 10 * self._done // max(self._total, 1)
        waited = now - self._last_line
        finished = self._done >= self._total
        due = (tenth > self._last_tenth and (waited > 2.0 or finished)) or waited > SECONDS_BETWEEN_LINES
        if not due or self._console is None:
            return
        self._last_tenth, self._last_line = tenth, now
        percent = 100 * self._done // max(self._total, 1)
        self._console.print(f"{self._label}: {percent:3d}%  {self._text(now)}")

    def _show_in_notebook(self, *, last: bool = False) -> None:
        assert self._meter is not None
        self._meter.show(self._label, self._text(time.monotonic()), self._done / max(self._total, 1), last=last)

    def _text(self, now: float) -> str:
        """How many are done, how fast, and how long it takes still; or took."""
        elapsed = max(now - self._started, 1e-9)
        rate = (self._done - self._before) / elapsed
        finished = self._done >= self._total
        left = f"{(self._total - self._done) / rate:.0f} s left" if rate and not finished else f"{elapsed:.1f} s"
        return f"{self._done}/{self._total} {self._unit}  {self._rate(rate)}  {left}"


class _RateColumn(ProgressColumn):
    def __init__(self, rate: Callable[[float], str]) -> None:
        super().__init__()
        self._rate = rate

    def render(self, task: Task) -> Text:
        rate = task.finished_speed or task.speed
        return Text(self._rate(rate) if rate else "", style="progress.data.speed")
