"""Densities from Fock matrices by matrix products alone, without eigenvectors.

Both methods begin with a linear function of the Fock matrix in an orthonormal basis that turns its spectrum round into [0, 1],
occupied orbitals first, with bounds of the spectrum by Gershgorin's circles, and make every eigenvalue 0 or 1 while the order
is kept.
"""

from __future__ import annotations

from typing import Any

from craton.errors import UserError

IDEMPOTENT = 1e-11
"""||P - P^2|| at which a density is pure."""
ROUNDING = 1e-7
"""Two steps of either method square an error: one below this that two steps do not shrink is rounding."""
MOST_STEPS = 120
METHODS = ("canonical", "sp2")


def purified(fock: Any, occupied: int, method: str, algebra: Any) -> tuple[Any, int]:
    """The projector on the `occupied` lowest eigenvectors of a symmetric matrix, and the number of matrix products it took.
    UserError where it does not become idempotent: there is no gap above them."""
    size = fock.shape[0]
    if occupied in (0, size):
        return algebra.plus_identity(0.0 * fock, float(occupied == size)), 0
    low, high = algebra.spectrum_bounds(fock)
    high += 1e-9 * (1 + abs(high))  # a range that is not empty
    if method == "canonical":
        density, step = _canonical_start(fock, occupied, low, high, algebra), _canonical_step
    else:
        density, step = algebra.plus_identity(-1.0 / (high - low) * fock, high / (high - low)), _sp2_step
    products, errors = 0, []
    for _ in range(MOST_STEPS):
        square = density @ density
        products += 1
        excess = density - square
        errors.append(algebra.dot(excess, excess) ** 0.5)
        if errors[-1] < IDEMPOTENT or (len(errors) > 2 and errors[-3] <= errors[-1] < ROUNDING):
            return 0.5 * (density + algebra.transposed(density)), products
        density, more = step(density, square, excess, occupied, algebra)
        products += more
    raise UserError(
        f"purification ({method}): ||P - P^2|| is {errors[-1]:.2g} after {MOST_STEPS} steps, as it is without a gap "
        "between occupied and virtual orbitals; allowed: density_by = 'diagonalisation', or a level shift"
    )


def _canonical_start(fock: Any, occupied: int, low: float, high: float, algebra: Any) -> Any:
    """Equation 24 of A. H. R. Palser and D. E. Manolopoulos, Phys. Rev. B 58, 12704 (1998)."""
    size = fock.shape[0]
    mean = algebra.trace(fock) / size
    slope = min(occupied / (high - mean), (size - occupied) / (mean - low)) / size
    return algebra.plus_identity(-slope * fock, slope * mean + occupied / size)


def _canonical_step(density: Any, square: Any, excess: Any, occupied: int, algebra: Any) -> tuple[Any, int]:
    """Their equations 16 to 18: the trace is kept."""
    del occupied
    cube = square @ density
    fixed_point = algebra.dot(density, excess) / algebra.trace(excess)  # tr(P^2 - P^3) / tr(P - P^2)
    if fixed_point >= 0.5:
        return 1 / fixed_point * ((1 + fixed_point) * square - cube), 1
    return 1 / (1 - fixed_point) * ((1 - 2 * fixed_point) * density + (1 + fixed_point) * square - cube), 1


def _sp2_step(density: Any, square: Any, excess: Any, occupied: int, algebra: Any) -> tuple[Any, int]:
    """A. M. N. Niklasson, Phys. Rev. B 66, 155115 (2002): of P^2 and 2 P - P^2 what brings the trace nearer."""
    trace, lost = algebra.trace(density), algebra.trace(excess)
    if abs(trace - lost - occupied) < abs(trace + lost - occupied):
        return square, 0
    return density + excess, 0
