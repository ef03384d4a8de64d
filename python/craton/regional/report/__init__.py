"""The report of an inversion of regional waveforms: pictures, and the page that has them."""
