"""The forecast of a run's cost."""
