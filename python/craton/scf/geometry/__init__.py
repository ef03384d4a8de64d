"""Structures of molecules: optimised geometries, vibrations."""
