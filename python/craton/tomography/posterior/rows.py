"""A parameter's field at places, as combinations of a model's coefficients: what a posterior is asked about."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from craton._craton import ModelBasis
from craton.inverse.blocks import ParameterBlock
from craton.inverse.posterior import Rows, placed
from craton.tomography.model.splines import lateral_matrix, splines_at_knots

f64 = NDArray[np.float64]


def field_rows(
    block: ParameterBlock, basis: ModelBasis, order: int, latitude_deg: f64, longitude_deg: f64, radius_m: f64
) -> Rows:
    """The field of one parameter at points, as combinations of the whole model's coefficients, shape (points, order)."""
    lateral = lateral_matrix(basis, latitude_deg, longitude_deg)
    radial = scipy.sparse.csr_matrix(basis.radial_values(radius_m))
    rows = [scipy.sparse.kron(lateral[point], radial[point], format="csr") for point in range(lateral.shape[0])]
    return placed(scipy.sparse.vstack(rows, format="csr"), block, order)


def knot_rows(block: ParameterBlock, basis: ModelBasis, order: int) -> Rows:
    """The same at every lateral and radial knot, the radial one fastest."""
    return placed(scipy.sparse.kron(*splines_at_knots(basis), format="csr"), block, order)


def column_rows(
    parameters: list[tuple[ParameterBlock, ModelBasis]], order: int, latitude_deg: float, longitude_deg: float
) -> Rows:
    """All parameters at all their radial knots below one place, parameter after parameter, the core first."""
    rows = []
    for block, basis in parameters:
        latitude, longitude = (np.full(block.radial, at) for at in (latitude_deg, longitude_deg))
        rows.append(field_rows(block, basis, order, latitude, longitude, np.asarray(basis.radial_knots_m)))
    return scipy.sparse.vstack(rows, format="csr")
