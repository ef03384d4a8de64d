"""Priors of equation 1: Gaussian and Matern."""
