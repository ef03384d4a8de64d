"""Distributed arrays: matrices that many ranks add to, arrays of tiles with any owners, shared memory."""
