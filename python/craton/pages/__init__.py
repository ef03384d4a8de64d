"""Reports and figures: one look for every application."""
