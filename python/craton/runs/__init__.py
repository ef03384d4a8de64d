"""One run: its folder, what ranks agree on, progress, memory."""
