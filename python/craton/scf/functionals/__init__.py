"""Density functionals: libxc, integration grids, the exchange-correlation matrix."""
