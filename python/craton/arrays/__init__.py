"""Distributed arrays: matrices that many ranks add to, arrays of tiles with any owners, shared memory."""

from typing import TYPE_CHECKING

from craton.lazy import lazy_names

if TYPE_CHECKING:
    from craton.arrays.convergent_matrix import ConvergentMatrix
    from craton.arrays.convergent_vector import ConvergentVector
    from craton.arrays.dist_array import DistArray, LocalTile
    from craton.arrays.gram import GramReport
    from craton.arrays.matrix import Matrix
    from craton.arrays.reproducible_matrix import ReproducibleMatrix
    from craton.arrays.segment import Segment
    from craton.arrays.strided_view import StridedView
    from craton.arrays.symmetric_matrix import SymmetricMatrix
    from craton.arrays.views import ArrayView, JudgedPiece, Transfer

__all__ = [
    "ArrayView",
    "ConvergentMatrix",
    "ConvergentVector",
    "DistArray",
    "GramReport",
    "JudgedPiece",
    "LocalTile",
    "Matrix",
    "ReproducibleMatrix",
    "Segment",
    "StridedView",
    "SymmetricMatrix",
    "Transfer",
]

_, __getattr__, __dir__ = lazy_names(__name__)
