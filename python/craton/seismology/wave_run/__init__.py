"""A wave run as a configuration and a folder: what may be written, what it costs, what it leaves."""
