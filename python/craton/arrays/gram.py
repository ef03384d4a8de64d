"""Sums of products G^T W G and of Kronecker products, added to the upper triangle of a distributed matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.arrays.matrix import Indices
from craton.errors import UserError


@dataclass(frozen=True)
class GramReport:
    """What one update_gram did."""

    samples: int
    """Rows of all panels together."""
    rank: int
    """Rows that were multiplied: samples, or fewer after compression."""
    targets_at_origin: int
    """Ranks whose part was multiplied here."""
    targets_at_owner: int
    """Ranks that multiplied their part themselves."""


class Gram:
    """What ConvergentMatrix and SymmetricMatrix of real numbers have in common."""

    __slots__ = ()
    _core: Any
    dtype: np.dtype[Any]

    def update_gram(
        self,
        panel: NDArray[Any] | Sequence[NDArray[Any]],
        indices: Indices,
        weights: NDArray[Any] | Sequence[NDArray[Any] | None] | None = None,
        tolerance: float = 0.0,
        method: Literal["auto", "origin", "owner"] = "auto",
        always_compress: bool = False,
    ) -> GramReport:
        """Adds G^T W G to the upper triangle without forming it; float32 and float64 only.

        panel: G, k x n, whose column b belongs to indices[b], any strides. weights: of its k rows (None: one). A list of panels
        with the same indices, and of their weights, is stacked. `tolerance` above 0: the panel may first be compressed to its
        numerical rank; the trace norm of what is lost is at most tolerance * trace(G^T W G). `method`: where products for other
        nodes are made; "auto" asks the cost model. Any thread, not collective, blocks as update.

        UserError: shapes that do not match, indices out of range, negative weights, a matrix that is not square or whose merge is
        not "add".
        """
        done = self._real("update_gram").update_gram(panel, indices, weights, tolerance, method, always_compress)
        return GramReport(done.samples, done.rank, done.targets_at_origin, done.targets_at_owner)

    def update_kronecker(
        self, lateral: ArrayLike, radial: ArrayLike, indices: Indices, weights: ArrayLike | None = None
    ) -> None:
        """As update_gram for a panel that is a Kronecker product, which is never expanded.

        G[t, a * n_radial + i] = lateral[a] * radial[t, i], with len(lateral) * radial.shape[1] indices in that order.
        """
        self._real("update_kronecker").update_kronecker(lateral, radial, indices, weights)

    def explain_gram(
        self, n: int, k: int, tolerance: float = 0.0, method: Literal["auto", "origin", "owner"] = "auto"
    ) -> str:
        """What update_gram's cost model expects of n columns and k samples: a line per way, and the choice. Not collective."""
        text: str = self._real("explain_gram").explain_gram(n, k, tolerance, method)
        return text

    @property
    def gram_wire_bytes_per_s(self) -> float:
        """Bytes per second between nodes that the cost model of update_gram takes; above 0."""
        rate: float = self._real("gram_wire_bytes_per_s").gram_wire_bytes_per_s
        return rate

    @gram_wire_bytes_per_s.setter
    def gram_wire_bytes_per_s(self, rate: float) -> None:
        self._real("gram_wire_bytes_per_s").gram_wire_bytes_per_s = rate

    def add_kronecker(self, lateral: ArrayLike, radial: ArrayLike, scale: float = 1.0, offset: int = 0) -> None:
        """Adds `scale` times the Kronecker product of two square factors to a diagonal block, upper triangle only.

        To element (offset + a * nr + i, offset + b * nr + j) goes scale * lateral[a, b] * radial[i, j], where nr = len(radial).
        Local: every rank calls it for its own part; commit() again before the next update or read. float32 and float64 only.
        UserError where the product does not lie within the matrix.
        """
        self._real("add_kronecker").add_kronecker(lateral, radial, scale, offset)

    def _real(self, call: str) -> Any:
        if self.dtype.kind != "f" or not hasattr(self._core, call):
            raise UserError(f"{call}: a {type(self).__name__} of {self.dtype}; allowed: float32 or float64")
        return self._core
