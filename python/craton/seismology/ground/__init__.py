"""What the ground is made of, at any point: layers, gridded files, one file per brick."""
