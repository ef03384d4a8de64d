"""report.html and pictures of an inversion."""
