"""A hazard run: its folder, its work, its jobs."""
