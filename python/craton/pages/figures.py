"""Pictures in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from craton.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_picture(figure: Figure, path: Path) -> None:
    """UserError where it cannot be written, or the ending names no kind of picture."""
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise UserError(
            f"picture {path}: cannot be written: {error}; allowed: a .png file in a folder that exists"
        ) from None
