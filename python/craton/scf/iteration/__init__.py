"""The iteration of Hartree-Fock: restricted and unrestricted, from a first density to orbitals."""
