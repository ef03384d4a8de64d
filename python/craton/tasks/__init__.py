"""Commands whose results are files, and the cores they run on."""
