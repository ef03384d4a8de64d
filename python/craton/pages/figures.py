"""Figures without a window: made, turned into bytes, saved. Functions that draw return a Figure; writing it is the caller's."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from craton.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DPI", "new_figure", "png", "save_picture"]

DPI = 130
"""Pixels per inch of pictures in a page."""
SAVED_DPI = 120


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches; no global state, no window system."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def png(figure: Figure) -> bytes:
    """The figure as a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()


def save_picture(figure: Figure, path: Path) -> Path:
    """Writes a .png, .svg or .pdf file. UserError where it cannot be written, or its ending names no kind of picture."""
    try:
        figure.savefig(path, dpi=SAVED_DPI)
    except (OSError, ValueError) as error:
        raise UserError(
            f"picture {path}: cannot be written: {error}; allowed: a .png file in a folder that exists"
        ) from None
    return path
