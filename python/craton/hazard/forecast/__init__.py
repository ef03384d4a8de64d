"""Ruptures with their annual rates, and the ways in which each may happen."""
