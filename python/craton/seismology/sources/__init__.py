"""Seismic sources: time functions, points, finite faults, moment tensors of catalogues."""
