"""How a model vector is made up: one block of spline coefficients for each physical parameter, one after the other.

Within a block the radial index is the fast one, as everywhere: coefficient a * radial + i belongs to lateral spline a and radial
spline i. Blocks may have lateral knots of their own; the prior does not correlate one block with another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from craton.errors import UserError
from craton.inverse.blocks import ParameterBlock
from craton.tomography.model.splines import parts_of

if TYPE_CHECKING:
    from craton._craton import ModelBasis


def blocks_of(bases: Sequence[tuple[str, ModelBasis]]) -> tuple[ParameterBlock, ...]:
    """The blocks of a model vector. bases: name and splines of each parameter, in order."""
    blocks: list[ParameterBlock] = []
    for name, basis in bases:
        offset = blocks[-1].offset + blocks[-1].size if blocks else 0
        blocks.append(ParameterBlock(name, offset, basis.n_lateral, basis.n_radial))
    return tuple(blocks)


NAMES = ("dlnVs", "dlnxi")
"""What a basis' parameters are, in their order."""


def blocks_in(basis: ModelBasis) -> tuple[ParameterBlock, ...]:
    """The blocks of all the parameters of one basis."""
    return blocks_of(list(zip(NAMES, parts_of(basis), strict=False)))


def only_block(basis: ModelBasis) -> ParameterBlock:
    """The block of a model that has one parameter. UserError where it has more."""
    if basis.parameters != 1:
        raise UserError('[prior] kind = "matern" with [basis] xi = true; allowed: "gaussian"')
    return blocks_in(basis)[0]
