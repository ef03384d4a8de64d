"""Forecasts of what an inversion of a region takes."""
