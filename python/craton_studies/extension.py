"""The compiled extension of the studies. It uses the objects inside craton's, which is loaded first."""

from __future__ import annotations

import craton  # noqa: F401

try:
    from craton_studies import _studies as extension
except ImportError as error:
    raise ImportError(
        f"craton_studies' compiled extension cannot be loaded: {error}; build it with `CRATON_STUDIES=ON pip install .` in "
        "Craton's source folder"
    ) from error

__all__ = ["extension"]
