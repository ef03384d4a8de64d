"""Raw records: found, fetched, read, freed of their instruments and turned to the components of windows."""
