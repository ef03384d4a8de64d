"""What applications on seismic waves share: places, the ground, sources, and the description of a wave run."""
