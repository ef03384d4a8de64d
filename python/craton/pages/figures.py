"""Figures without a window: made, turned into bytes or a data URI, saved. Functions that draw return a Figure; writing it is
the caller's.
"""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING

from craton.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DPI", "data_uri", "new_figure", "png", "save_picture", "svg"]

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


def png(figure: Figure, dpi: float = DPI) -> bytes:
    """The figure as a PNG file."""
    return _bytes(figure, "png", dpi)


def svg(figure: Figure) -> bytes:
    """The figure as an SVG file."""
    return _bytes(figure, "svg", DPI)


def _bytes(figure: Figure, kind: str, dpi: float) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=dpi)
    return buffer.getvalue()


def data_uri(content: bytes, kind: str = "image/png") -> str:
    """A picture for the `src` of an <img>."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def save_picture(figure: Figure, path: Path) -> Path:
    """Writes .png, .svg or .pdf. UserError where the file cannot be written, or its ending names no kind of picture."""
    try:
        figure.savefig(path, dpi=SAVED_DPI)
    except (OSError, ValueError) as error:
        raise UserError(
            f"picture {path}: cannot be written: {error}; allowed: a .png file in a folder that exists"
        ) from None
    return path
