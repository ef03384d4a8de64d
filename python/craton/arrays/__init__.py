"""Distributed arrays: matrices that many ranks add to, arrays of tiles with any owners, shared memory."""

from craton.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "craton.arrays.convergent_matrix": ["ConvergentMatrix", "GramReport"],
        "craton.arrays.convergent_vector": ["ConvergentVector"],
        "craton.arrays.dist_array": ["DistArray", "LocalTile"],
        "craton.arrays.matrix": ["Matrix"],
        "craton.arrays.reproducible_matrix": ["ReproducibleMatrix"],
        "craton.arrays.segment": ["Segment"],
        "craton.arrays.symmetric_matrix": ["SymmetricMatrix"],
        "craton.arrays.views": ["ArrayView", "JudgedPiece", "Transfer"],
    },
)
