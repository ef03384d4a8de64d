"""Pictures of orbitals, and of who worked when."""
