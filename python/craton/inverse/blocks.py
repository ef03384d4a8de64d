"""How a model vector is made up: one block of coefficients for each physical parameter, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ParameterBlock"]


@dataclass(frozen=True)
class ParameterBlock:
    """One parameter's coefficients within the model vector: a table (lateral, radial), the second index the fast one."""

    name: str
    """What it is in the field's words: "dlnVs"."""
    offset: int
    """Of its first coefficient."""
    lateral: int
    """Functions across the ground."""
    radial: int
    """Functions along depth."""

    @property
    def size(self) -> int:
        """Number of its coefficients."""
        return self.lateral * self.radial

    @property
    def within(self) -> slice:
        """Where its coefficients are in the model vector."""
        return slice(self.offset, self.offset + self.size)
