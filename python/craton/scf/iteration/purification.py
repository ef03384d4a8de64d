"""Densities from Fock matrices: by eigenvectors, or by matrix products alone.

Purification begins with a linear function of the Fock matrix in an orthonormal basis. It turns the spectrum round into [0, 1],
occupied orbitals first, with bounds of the spectrum by Gershgorin's circles. Then it makes every eigenvalue 0 or 1 while the order
is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from craton.errors import UserError
from craton.scf.engines.algebra import NumpyAlgebra

IDEMPOTENT = 1e-11
"""||P - P^2|| at which a density is pure."""
ROUNDING = 1e-7
"""Two steps of either method square an error: one below this that two steps do not shrink is rounding."""
MOST_STEPS = 120


def write_projector(fock: Any, occupied: int, method: str, algebra: Any, into: Any) -> None:
    """`into` becomes the projector on the `occupied` lowest eigenvectors of a symmetric matrix.

    method: one of DENSITY_BY. UserError as purify().
    """

    def alone(whole: Any) -> Any:
        numpy = NumpyAlgebra()
        found = numpy.take(whole)
        write_projector(whole, occupied, method, numpy, found)
        return found

    if algebra.done_by_one(alone, fock, into):
        return
    if method == "diagonalisation":
        _, vectors = algebra.eigh(fock)
        algebra.project_on_first(vectors, occupied, into)
        algebra.give(vectors)
    else:
        purify(fock, occupied, method, algebra, into)


def purify(fock: Any, occupied: int, method: str, algebra: Any, density: Any) -> int:
    """`density` becomes the projector on the `occupied` lowest eigenvectors of a symmetric matrix, by "canonical" or "sp2".

    Returns the number of matrix products. UserError where it does not become idempotent: there is no gap above them.
    """
    size = fock.shape[0]
    if occupied in (0, size):
        algebra.combine(density, [], identity=float(occupied == size))
        return 0
    low, high = algebra.spectrum_bounds(fock)
    high += 1e-9 * (1 + abs(high))  # a range that is not empty
    start = _canonical_start if method == "canonical" else _sp2_start
    start(fock, occupied, (low, high), algebra, density)
    products = 0
    errors: list[float] = []
    for _ in range(MOST_STEPS):
        error, more = _step(density, occupied, method, errors, algebra)
        errors.append(error)
        products += more
        if _is_pure(errors):
            return products
    raise UserError(
        f"purification ({method}): ||P - P^2|| is {errors[-1]:.2g} after {MOST_STEPS} steps, as it is without a gap "
        "between occupied and virtual orbitals; allowed: density_by = 'diagonalisation', or a level shift"
    )


def _is_pure(errors: Sequence[float]) -> bool:
    return errors[-1] < IDEMPOTENT or (len(errors) > 2 and errors[-3] <= errors[-1] < ROUNDING)


def _step(density: Any, occupied: int, method: str, errors: Sequence[float], algebra: Any) -> tuple[float, int]:
    """||P - P^2||, and the products that it took. P is symmetric to the last bit if it was pure, else one step nearer."""
    with algebra.work(density, 3) as [square, excess, cube]:
        algebra.product(density, density, square)
        algebra.combine(excess, [(1.0, density), (-1.0, square)])
        distance, trace, lost, shared = algebra.inner(
            [(excess, excess), (density, None), (excess, None), (density, excess)]
        )
        error = distance**0.5
        if _is_pure([*errors, error]):
            algebra.transpose(density, square)
            algebra.combine(density, [(0.5, square)], keep=0.5)
            return error, 1
        if method == "sp2":
            _sp2_step(density, square, excess, trace - occupied, lost, algebra)
            return error, 1
        algebra.product(square, density, cube)
        _canonical_step(density, square, cube, shared / lost, algebra)
        return error, 2


def _canonical_start(fock: Any, occupied: int, bounds: tuple[float, float], algebra: Any, density: Any) -> None:
    """Equation 24 of A. H. R. Palser and D. E. Manolopoulos, Phys. Rev. B 58, 12704 (1998)."""
    size, (low, high) = fock.shape[0], bounds
    mean = algebra.inner([(fock, None)])[0] / size
    slope = min(occupied / (high - mean), (size - occupied) / (mean - low)) / size
    algebra.combine(density, [(-slope, fock)], identity=slope * mean + occupied / size)


def _canonical_step(density: Any, square: Any, cube: Any, fixed_point: float, algebra: Any) -> None:
    """Their equations 16 to 18: the trace is kept. fixed_point: tr(P^2 - P^3) / tr(P - P^2)."""
    if fixed_point >= 0.5:
        algebra.combine(density, [((1 + fixed_point) / fixed_point, square), (-1 / fixed_point, cube)])
    else:
        rest = 1 - fixed_point
        terms = [((1 + fixed_point) / rest, square), (-1 / rest, cube)]
        algebra.combine(density, terms, keep=(1 - 2 * fixed_point) / rest)


def _sp2_start(fock: Any, occupied: int, bounds: tuple[float, float], algebra: Any, density: Any) -> None:
    del occupied
    low, high = bounds
    algebra.combine(density, [(-1 / (high - low), fock)], identity=high / (high - low))


def _sp2_step(density: Any, square: Any, excess: Any, surplus: float, lost: float, algebra: Any) -> None:
    """A. M. N. Niklasson, Phys. Rev. B 66, 155115 (2002): of P^2 and 2 P - P^2 what brings the trace nearer."""
    if abs(surplus - lost) < abs(surplus + lost):
        algebra.combine(density, [(1.0, square)])
    else:
        algebra.combine(density, [(1.0, excess)], keep=1.0)
