"""What `tools/simulate` runs on simulated ranks, a file for each comparison (docs/simulation.md)."""
