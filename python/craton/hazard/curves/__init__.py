"""Hazard curves, maps and disaggregations, in files and tables."""
