"""Molecules and calculations of other programs."""
