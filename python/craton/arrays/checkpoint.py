"""Named arrays in one file that survives any kill."""

from __future__ import annotations

from typing import Any

from craton import _craton
from craton.arrays.products import core_of


class Checkpoint(_craton.Checkpoint):
    __doc__ = _craton.Checkpoint.__doc__

    def add(self, name: str, array: Any) -> None:
        """Names a matrix or a vector: the same names in the same order on every rank, before resume(). A SymmetricMatrix is
        resumed with the block size it was saved with. UserError: a name given twice, empty or with '/'; after resume()."""
        super().add(name, core_of(array))
