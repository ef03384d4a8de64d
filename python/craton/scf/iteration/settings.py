"""Names that settings of an iteration may have."""

from __future__ import annotations

GUESSES = ("sad", "core")
"""Where an iteration begins: a superposition of atomic densities, or no repulsion of electrons."""
PURIFICATIONS = ("canonical", "sp2")
DENSITY_BY = ("diagonalisation", *PURIFICATIONS)
"""Where each density comes from: eigenvectors, or purification by matrix products."""
