"""Files of a calculation: checkpoints, and what other programs read."""
