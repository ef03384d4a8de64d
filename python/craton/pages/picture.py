"""A figure of matplotlib that a notebook shows, whether or not pyplot has been imported."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

__all__ = ["Picture"]

NOTEBOOK_DPI = 100
CSS_PIXELS_PER_INCH = 80
"""Fewer than the picture has, for screens with finer pixels."""


class Picture(Figure):
    """A Figure that IPython turns into a PNG by itself."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture, and how wide a page shows it."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=NOTEBOOK_DPI)
        return buffer.getvalue(), {"width": round(CSS_PIXELS_PER_INCH * float(self.get_figwidth()))}
