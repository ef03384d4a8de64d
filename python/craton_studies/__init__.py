"""Measurements: benchmarks of Craton and the figures of the papers. May use all of craton; nothing uses it."""
