"""Earthquakes, stations, paths, observed seismograms."""
