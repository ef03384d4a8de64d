"""Theories of seismograms in words, for the console and the report."""

from __future__ import annotations

THEORIES = {
    "pava": "path-average mode sums",
    "nact": "mode sums with coupled branches, NACT",
    "nact_in_plane": "mode sums with branches coupled in the plane of the great circle, NACT",
}


def theory_name(kind: str) -> str:
    """In words; a record of another hand may have any."""
    return THEORIES.get(kind, kind)


def inverted_by(seismograms: str, derivatives: str) -> str:
    """What an inversion takes. seismograms: their theory or solver, in words; derivatives: as [theory] names theirs."""
    of_derivatives = theory_name(derivatives)
    return seismograms if seismograms == of_derivatives else f"{seismograms}, with derivatives of {of_derivatives}"
