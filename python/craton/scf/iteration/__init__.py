"""The iteration of Hartree-Fock: restricted and unrestricted, from a first density to orbitals."""

GUESSES = ("sad", "core")
"""Where an iteration begins: a superposition of atomic densities, or no repulsion of electrons."""
DENSITY_BY = ("diagonalisation", "canonical", "sp2")
"""Where each density comes from: eigenvectors, or purification by matrix products."""
