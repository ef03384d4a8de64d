"""A run in a notebook: lines below the cell, and one bar that changes in place. IPython is used where it is running already.

rich draws a bar in a notebook too, but with ipywidgets only, and warns where they are missing.
"""

from __future__ import annotations

import sys
import time
from html import escape
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from craton.runs.agreement import Communicator

__all__ = ["Meter", "NotebookConsole", "console_or_notebook"]

WIDTH = 140
SECONDS_BETWEEN_LOOKS = 0.25
"""A browser shows no more, and a stored notebook need not have seen more."""


class NotebookConsole(Console):
    """Prints plain text into the cell's output. Bars share one display, which shows the last of them."""

    def __init__(self) -> None:
        super().__init__(force_terminal=False, force_jupyter=False, color_system=None, highlight=False, width=WIDTH)
        self.meter = Meter()


class Meter:
    """One display in a cell's output, which is replaced as often as something is shown."""

    def __init__(self) -> None:
        self._display: Any = None
        self._shown_at = 0.0

    def show(self, label: str, text: str, part: float, *, last: bool = False) -> None:
        """Shows how far something is; but for the `last` one, not more than a few times a second. part: 0 to 1."""
        now = time.monotonic()
        if self._display is not None and not last and now - self._shown_at < SECONDS_BETWEEN_LOOKS:
            return
        self._shown_at = now
        shown = _Shown(label, text, min(max(part, 0.0), 1.0))
        if self._display is None:
            from IPython import display

            display_of_ipython: Any = display.display  # it has no types
            sys.stdout.flush()  # lines before it are to stand above it
            self._display = display_of_ipython(shown, display_id=True)
        else:
            self._display.update(shown)


class _Shown:
    def __init__(self, label: str, text: str, part: float) -> None:
        self._label, self._text, self._part = label, text, part

    def __repr__(self) -> str:
        return f"{self._label}: {100 * self._part:3.0f}%  {self._text}"

    def _repr_html_(self) -> str:
        bar = f'<progress max="1" value="{self._part:.3f}"></progress>'
        return f"<div>{escape(self._label)} {bar} {escape(self._text)}</div>"


def console_or_notebook(comm: Communicator, console: Console | None) -> Console | None:
    """The console that a run is given; without one that of the notebook, on rank 0. None elsewhere: the run prints nothing.

    An engine of ipyparallel gets plain lines: its client shows no display that changes.
    """
    if console is not None or comm.rank != 0:
        return console
    kernel = _kernel()
    if kernel is None:
        return None
    if type(kernel).__module__.startswith("ipyparallel"):
        return Console(force_terminal=False, force_jupyter=False, color_system=None, highlight=False, width=WIDTH)
    return NotebookConsole()


def _kernel() -> Any:
    """What executes a notebook's cells, in this process; None where nothing does, as at a prompt of IPython."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None)
