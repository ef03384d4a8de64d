"""What an inversion prints."""

from __future__ import annotations

from typing import Any


def say(console: Any, text: str) -> None:
    """Where there is somebody to read it."""
    if console is not None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)
