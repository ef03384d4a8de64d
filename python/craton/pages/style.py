"""Colours and matplotlib settings of every figure, so that all applications look alike."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, ParamSpec

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.category import StrCategoryFormatter
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, Formatter, FuncFormatter

__all__ = ["ACCENT", "COLOURS", "INK", "LINE", "MUTED", "OBSERVED", "SECOND", "SETTINGS", "drawing", "styled"]

P = ParamSpec("P")

INK, MUTED, LINE = "#1d2a33", "#5d6d79", "#dfe4e7"
"""Text and outlines; what stands back; hairlines. report.css has the same."""
ACCENT, SECOND, OBSERVED = "#0b6e99", "#d9822b", "#111111"
"""What a figure is about; what it is compared with (the starting model, the prior); measured data."""
COLOURS = (ACCENT, SECOND, "#6aa57a", "#9a7fb5", "#c7a252", "#b05c5c", "#5b6c75", "#7fa7bf")
"""Of lines that stand side by side, in this order."""
SETTINGS: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "figure.titlesize": 10.0,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}
WRITTEN_BY_MATPLOTLIB = r"$\mathdefault{"
"""Begins the labels of logarithmic axes."""
NAMING = (FixedFormatter, FuncFormatter, StrCategoryFormatter)
"""Formatters whose labels may be names from data."""


def styled() -> AbstractContextManager[None]:
    """A context in which matplotlib has these settings."""
    return matplotlib.rc_context(SETTINGS)


def drawing(function: Callable[P, Figure]) -> Callable[P, Figure]:
    """Decorates a function that draws a figure: it draws with these settings.

    Names from data are shown as they are written, dollar signs and all.
    """

    @functools.wraps(function)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with styled():
            figure = function(*args, **kwargs)
            as_written(figure)
        return figure

    return drawn


def as_written(figure: Figure) -> None:
    """Formulas between dollar signs are not set: no title of ours has one, and a station's name may look like one."""
    for part in _shown(figure):
        if isinstance(part, Text) and not part.get_text().startswith(WRITTEN_BY_MATPLOTLIB):
            part.set_text(_escaped(part.get_text()))
        elif isinstance(part, Axis) and isinstance(part.get_major_formatter(), NAMING):
            part.set_major_formatter(_escaping(part.get_major_formatter()))


def _shown(artist: Artist) -> Iterator[Artist]:
    """An artist and all that it is made of, but for the x and y axis of plots without any, as maps.

    Looking at their ticks would make them.
    """
    yield artist
    for child in artist.get_children():
        if not (isinstance(child, Axis) and child.axes is not None and not child.axes.axison):
            yield from _shown(child)


def _escaping(formatter: Formatter) -> FuncFormatter:
    return FuncFormatter(lambda value, position: _escaped(formatter(value, position)))


def _escaped(text: str) -> str:
    return re.sub(r"(?<!\\)\$", r"\\$", text)
