"""Places: geographic and geocentric latitudes, projections, the grid of a wave run."""
