"""Solvers that several applications use."""
