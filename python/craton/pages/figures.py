"""Figures without a window: made, turned into bytes, saved, shown in a notebook. Functions that draw return a Figure.

A page takes of each figure the smaller of two files: lines and letters (svg.py), or pixels with a palette (palettes.py).
"""

from __future__ import annotations

import base64
import contextlib
import io
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from craton.errors import UserError
from craton.pages.palettes import with_palette
from craton.pages.svg import svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DPI", "Figures", "new_figure", "png", "save_picture", "smallest"]

DPI = 130
"""Pixels per inch of pictures in a page."""
CELLS_DPI = 100
"""Of cells of maps in an SVG file, which are larger than pixels."""
SAVED_DPI = 120
COMPRESSION = 4
"""Of PNG files: three quarters of the time of level 6, matplotlib's own, for files that are 2% larger."""


class Figures(dict[str, "Figure"]):
    """Figures by name. A notebook shows all of them, one below the other."""

    def __repr__(self) -> str:
        return f"<Figures: {', '.join(self) or 'none'}>"

    def _repr_html_(self) -> str:
        return "".join(
            f'<figure><img style="max-width:100%" alt="{escape(name)}" '
            f'src="data:image/png;base64,{base64.b64encode(png(figure)).decode()}">'
            f"<figcaption>{escape(name)}</figcaption></figure>"
            for name, figure in self.items()
        )


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches; no global state, no window system."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from craton.pages.picture import Picture  # loads matplotlib

    figure = Picture(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def png(figure: Figure) -> bytes:
    """The figure as a PNG file."""
    with _laid_out(figure, DPI):
        return _png(figure)


def smallest(figure: Figure) -> bytes:
    """The figure as a page has it: an SVG file, or a PNG file with a palette where that is no larger."""
    with _laid_out(figure, DPI):
        pixels = with_palette(_png(figure))
        lines = svg(figure, len(pixels) * 4 // 3, CELLS_DPI)  # a page needs four characters for three bytes of pixels
    return lines.encode() or pixels


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, pil_kwargs={"compress_level": COMPRESSION})
    return buffer.getvalue()


@contextlib.contextmanager
def _laid_out(figure: Figure, dpi: float) -> Iterator[None]:
    """Room is made for labels once; savefig would draw the whole figure for that, and once more to have it."""
    import matplotlib

    engine, before = figure.get_layout_engine(), figure.dpi
    if engine is None or not figure.axes:
        yield
        return
    try:
        figure.set_dpi(dpi)
        engine.execute(figure)
        # matplotlib takes None for what the user's settings ask for; here it is to mean no engine.
        with matplotlib.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
            figure.set_layout_engine(None)
        yield
    finally:
        figure.set_layout_engine(engine)
        figure.set_dpi(before)


def save_picture(figure: Figure, path: Path) -> Path:
    """Writes a .png, .svg or .pdf file. UserError where it cannot be written, or its ending names no kind of picture."""
    try:
        figure.savefig(path, dpi=SAVED_DPI)
    except (OSError, ValueError) as error:
        raise UserError(
            f"picture {path}: cannot be written: {error}; allowed: a .png file in a folder that exists"
        ) from None
    return path
