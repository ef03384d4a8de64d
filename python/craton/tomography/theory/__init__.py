"""Modes of the reference Earth and the kernels made of them."""
