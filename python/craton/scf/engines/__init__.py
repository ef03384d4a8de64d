"""Integrals, J and K and linear algebra, for matrices in one process or over all ranks of a world."""
