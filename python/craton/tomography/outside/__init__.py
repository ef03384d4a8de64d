"""Seismograms g(m) from a solver that is not part of Craton: what it is given, how it is started or awaited, what is read back."""
