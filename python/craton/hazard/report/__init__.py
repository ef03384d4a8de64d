"""report.html of a hazard run."""
