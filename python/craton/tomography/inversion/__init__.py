"""One inversion, its iterations and its folder."""
