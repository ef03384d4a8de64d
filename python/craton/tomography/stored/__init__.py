"""A run that has ended, asked again: its Hessian read back, and solved under other priors."""
