"""What data and prior know together: posterior and the strength of the prior."""
