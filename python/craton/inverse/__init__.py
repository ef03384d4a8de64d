"""What inversions have in common: priors known by their inverse, and the systems of Gauss-Newton steps.

    C_m^-1 = one part for each block of unknowns        parts.py, prior.py
    (H + d 1 + C_m^-1) x = b                            normal_equations.py

Imported from its modules.
"""
