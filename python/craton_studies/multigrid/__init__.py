"""HPGMG-FV's test problems, the ladder of halo exchanges, and weak scaling by model."""
