"""Full geometric multigrid for  a u - b div(beta grad u) = f  on the unit cube, u = 0 on its faces: a plain NumPy reference.

One global grid of n^3 cells, n a power of two; no boxes, no processes. It repeats the numerics of the HPGMG-FV benchmark (operators
`7pt`, `fv2` and `fv4`) and reproduces its published residuals and errors (`--check`); it is there to be compared with, not to be
fast.

Every field is an array [i, j, k] of cell values, or of cell averages for fv2 and fv4. Face fields along axis d have n + 1 entries
along d: entry i is the face between cells i - 1 and i.

    python multigrid_reference.py --operator fv4 --smoother gsrb --cells 64
    python multigrid_reference.py --check --cells 128
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float64]
Weights = tuple[float, ...]
Point = tuple[Field, Field, Field]  # coordinates
Profile = Callable[[Field], Field]

AXES = (0, 1, 2)


# ---------------------------------------------------------------------------------------------------------------------------------
# Slices


def along(axis: int, part: slice | int) -> tuple[slice | int, ...]:
    """An index that takes `part` along one axis and everything along the others."""
    return tuple(part if d == axis else slice(None) for d in AXES)


def interior(padded: Field, depth: int) -> Field:
    """The cells of a field without its ghosts."""
    return padded[(slice(depth, -depth),) * 3]


# ---------------------------------------------------------------------------------------------------------------------------------
# Ghost cells outside the domain: weights of the cells counted inwards from the boundary, nearest ghost first.
# Filling one axis after the other makes edges and corners the tensor products of these formulas. A layer without a formula stays 0.

# The point value at the mirrored centre changes sign: u = 0 half way. Also the order-one formula for averages.
MIRROR: tuple[Weights, ...] = ((-1.0,),)
# Average over the ghost of the parabola through zero on the boundary with the given averages in two cells. The parabola has a value
# for a second layer (-21/2, 5/2), but the benchmark leaves that layer 0, which shows in the fourth-order stencil on the 2^3 grid.
PARABOLA: tuple[Weights, ...] = ((-5 / 2, 1 / 2),)
# The same for the quartic with the given averages in four cells.
QUARTIC: tuple[Weights, ...] = (
    (-77 / 12, 43 / 12, -17 / 12, 3 / 12),
    (-505 / 12, 335 / 12, -145 / 12, 27 / 12),
)


def ghost_weights(order: int, cells: int) -> tuple[Weights, ...]:
    """The formula of the wanted order, or the highest one below it that has enough cells."""
    if order >= 4 and cells >= 4:
        return QUARTIC
    if order >= 2 and cells >= 2:
        return PARABOLA
    return MIRROR


def with_ghosts(u: Field, depth: int, order: int) -> Field:
    """A copy of u with `depth` layers of ghost cells around it that make u vanish on the boundary to the given order."""
    n = u.shape[0]
    formula = ghost_weights(order, n)
    padded = np.zeros((n + 2 * depth,) * 3)
    interior(padded, depth)[...] = u
    for axis in AXES:
        for layer, weights in enumerate(formula[:depth]):
            for first, step in ((depth, 1), (depth + n - 1, -1)):
                ghost = first - step * (layer + 1)
                padded[along(axis, ghost)] = sum(
                    w * padded[along(axis, first + step * m)] for m, w in enumerate(weights)
                )
    return padded


def extrapolated(values: Field, axis: int) -> Field:
    """One more layer at both ends of an axis, from the polynomial through the nearest 5, 4 or 2 (for 2 or 3) layers."""
    n = values.shape[axis]
    weights: Weights
    if n >= 5:
        weights = (5.0, -10.0, 10.0, -5.0, 1.0)
    elif n == 4:
        weights = (4.0, -6.0, 4.0, -1.0)
    else:
        weights = (2.0, -1.0)
    low = sum(w * values[along(axis, slice(m, m + 1))] for m, w in enumerate(weights))
    high = sum(w * values[along(axis, slice(n - 1 - m, n - m))] for m, w in enumerate(weights))
    return np.concatenate([low, values, high], axis=axis)


# ---------------------------------------------------------------------------------------------------------------------------------
# Operators


def flux_two_point(padded: Field, depth: int, beta: Field, axis: int) -> Field:
    """H times beta du/dx on the faces normal to `axis`, to second order."""
    n = padded.shape[0] - 2 * depth
    faces = [slice(depth, depth + n)] * 3
    faces[axis] = slice(depth - 1, depth + n + 1)
    return beta * np.diff(padded[tuple(faces)], axis=axis)


def flux_fourth_order(padded: Field, depth: int, beta: Field, axis: int) -> Field:
    """H times the face average of beta du/dx, to fourth order; beta has one ghost layer in each tangential direction.

    The average of a product is the product of averages plus h^2/12 times the product of the tangential gradients.
    """
    n = padded.shape[0] - 2 * depth
    inner = slice(1, n + 1)

    def beside(offset: int) -> Field:
        cells = [slice(depth - 1, depth + n + 1)] * 3
        cells[axis] = slice(depth - 1 + offset, depth + n + offset)
        return padded[tuple(cells)]

    def tangential(values: Field, normal_to: int, offset: int) -> Field:
        part = [inner] * 3
        part[axis] = slice(None)
        part[normal_to] = slice(1 + offset, n + 1 + offset)
        return values[tuple(part)]

    jump = beside(1) - beside(0)
    other = next(d for d in AXES if d != axis)
    flux = (
        tangential(beta, other, 0)
        * (15.0 * tangential(jump, other, 0) - tangential(beside(2), other, 0) + tangential(beside(-1), other, 0))
        / 12.0
    )
    for d in AXES:
        if d != axis:
            slope_of_beta = tangential(beta, d, 1) - tangential(beta, d, -1)
            flux += slope_of_beta * (tangential(jump, d, 1) - tangential(jump, d, -1)) / 48.0
    return flux


@dataclass(frozen=True)
class Discretisation:
    """What distinguishes the three operators."""

    name: str
    depth: int  # ghost layers that the stencil reads
    ghost_order: int
    flux: Callable[[Field, int, Field, int], Field]
    extrapolate_beta: bool
    probe_colours: int  # per axis: cells of one colour do not meet the diagonal of each other's rows
    coarsest: int  # cells per axis where the cycle ends
    gsrb_pairs: int
    chebyshev_degree: int
    v_prolongation: str
    f_prolongation: str


DISCRETISATIONS = {
    d.name: d
    for d in (
        Discretisation("7pt", 1, 1, flux_two_point, False, 2, 1, 2, 4, "constant", "linear"),
        Discretisation("fv2", 1, 2, flux_two_point, False, 2, 1, 3, 6, "second", "second"),
        Discretisation("fv4", 2, 4, flux_fourth_order, True, 4, 2, 3, 6, "second", "fourth"),
    )
}


@dataclass
class Level:
    """One grid of the hierarchy with its operator."""

    kind: Discretisation
    n: int
    beta: tuple[Field, Field, Field]  # on faces, without ghosts
    a: float
    b: float
    f: Field

    @property
    def h(self) -> float:
        return 1.0 / self.n

    @cached_property
    def beta_with_ghosts(self) -> tuple[Field, Field, Field]:
        """Beta as the flux wants it: extended across the tangential boundaries where it takes tangential differences."""
        if not self.kind.extrapolate_beta:
            return self.beta
        extended = []
        for axis, values in enumerate(self.beta):
            for d in AXES:
                if d != axis:
                    values = extrapolated(values, d)
            extended.append(values)
        return extended[0], extended[1], extended[2]

    def apply(self, u: Field) -> Field:
        """A u."""
        kind = self.kind
        padded = with_ghosts(u, kind.depth, kind.ghost_order)
        divergence = sum(
            np.diff(kind.flux(padded, kind.depth, self.beta_with_ghosts[axis], axis), axis=axis) for axis in AXES
        )
        return self.a * u - (self.b / self.h**2) * divergence

    def residual(self, u: Field, f: Field) -> Field:
        return f - self.apply(u)

    @cached_property
    def _probed(self) -> tuple[Field, float]:
        """1 / diagonal, and Gershgorin's bound of the largest eigenvalue of D^-1 A, from A applied to each colour's indicator."""
        colours = self.kind.probe_colours
        diagonal = np.zeros((self.n,) * 3)
        off_diagonal = np.zeros((self.n,) * 3)
        for colour in product(range(min(colours, self.n)), repeat=3):
            part = tuple(slice(c, None, colours) for c in colour)
            indicator = np.zeros((self.n,) * 3)
            indicator[part] = 1.0
            image = self.apply(indicator)
            diagonal[part] = image[part]
            image[part] = 0.0
            off_diagonal += np.abs(image)
        return 1.0 / diagonal, float(np.max((diagonal + off_diagonal) / diagonal))

    @property
    def inverse_diagonal(self) -> Field:
        return self._probed[0]

    @property
    def lambda_max(self) -> float:
        return self._probed[1]


# ---------------------------------------------------------------------------------------------------------------------------------
# Smoothers: each takes (level, u, f) and returns a better u


def gsrb(level: Level, u: Field, f: Field) -> Field:
    """Red-black Gauss-Seidel; a half sweep takes every value, also those of its own colour, from before it."""
    i = np.arange(level.n)
    parity = (i[:, None, None] + i[:, None] + i) % 2
    masks = [level.inverse_diagonal * (parity == colour) for colour in (0, 1)]
    for _ in range(level.kind.gsrb_pairs):
        for mask in masks:
            u = u + mask * level.residual(u, f)
    return u


def chebyshev(level: Level, u: Field, f: Field) -> Field:
    """Chebyshev iteration on D^-1 A for the interval [lambda / 8, lambda]."""
    largest = level.lambda_max
    smallest = largest / 8.0
    theta = (largest + smallest) / 2.0
    delta = (largest - smallest) / 2.0
    sigma = theta / delta
    rho = 1.0 / sigma
    step = level.inverse_diagonal * level.residual(u, f) / theta
    u = u + step
    for _ in range(1, level.kind.chebyshev_degree):
        previous = rho
        rho = 1.0 / (2.0 * sigma - previous)
        step = rho * previous * step + (2.0 * rho / delta) * level.inverse_diagonal * level.residual(u, f)
        u = u + step
    return u


def jacobi(level: Level, u: Field, f: Field) -> Field:
    """Six sweeps of Jacobi damped by 2/3."""
    for _ in range(6):
        u = u + (2.0 / 3.0) * level.inverse_diagonal * level.residual(u, f)
    return u


SMOOTHERS: dict[str, Callable[[Level, Field, Field], Field]] = {"gsrb": gsrb, "chebyshev": chebyshev, "jacobi": jacobi}


# ---------------------------------------------------------------------------------------------------------------------------------
# Between grids


def halves(values: Field, axis: int) -> Field:
    """Mean of neighbouring pairs along an axis."""
    return 0.5 * (values[along(axis, slice(0, None, 2))] + values[along(axis, slice(1, None, 2))])


def restrict_cells(fine: Field) -> Field:
    """Mean of the 8 cells."""
    return halves(halves(halves(fine, 0), 1), 2)


def restrict_faces(fine: Field, axis: int) -> Field:
    """Mean of the 4 faces, normal to `axis`, that make up the coarse one."""
    coarse = fine[along(axis, slice(0, None, 2))]
    for d in AXES:
        if d != axis:
            coarse = halves(coarse, d)
    return coarse


# Lower child of a coarse cell from the cells -2, -1, 0, 1, 2 around it; the upper child mirrors it.
LOWER_CHILD: dict[str, tuple[int, Weights]] = {  # name: (order of the ghosts, weights)
    "constant": (1, (0.0, 0.0, 1.0, 0.0, 0.0)),
    "linear": (1, (0.0, 1 / 4, 3 / 4, 0.0, 0.0)),
    "second": (2, (0.0, 1 / 8, 1.0, -1 / 8, 0.0)),
    "fourth": (4, (-3 / 128, 22 / 128, 1.0, -22 / 128, 3 / 128)),
}


def prolong(coarse: Field, formula: str) -> Field:
    """Fine values from coarse ones by the tensor product of a one-dimensional formula."""
    order, lower = LOWER_CHILD[formula]
    n = coarse.shape[0]
    values = with_ghosts(coarse, 2, order)
    for axis in AXES:
        shape = list(values.shape)
        shape[axis] = 2 * n
        fine = np.zeros(shape)
        for child, weights in enumerate((lower, lower[::-1])):
            for offset, w in enumerate(weights):
                if w != 0.0:
                    fine[along(axis, slice(child, None, 2))] += w * values[along(axis, slice(offset, offset + n))]
        values = fine
    return values


# ---------------------------------------------------------------------------------------------------------------------------------
# Bottom solver


def max_norm(u: Field) -> float:
    return float(np.max(np.abs(u)))


def bicgstab(level: Level, u: Field, f: Field, tolerance: float = 1e-3, most: int = 200) -> Field:
    """BiCGStab, preconditioned from the right by D^-1, until the residual's max norm has fallen by `tolerance`."""
    inverse_diagonal = level.inverse_diagonal
    shadow = level.residual(u, f)
    goal = tolerance * max_norm(shadow)
    r = shadow
    p = r
    rho = float(np.vdot(r, shadow))
    if rho == 0.0:
        return u
    for _ in range(most):
        q = inverse_diagonal * p
        a_q = level.apply(q)
        a_q_shadow = float(np.vdot(a_q, shadow))
        if a_q_shadow == 0.0:
            break
        alpha = rho / a_q_shadow
        u = u + alpha * q
        s = r - alpha * a_q
        if max_norm(s) <= goal:
            break
        t = inverse_diagonal * s
        a_t = level.apply(t)
        a_t_a_t = float(np.vdot(a_t, a_t))
        if a_t_a_t == 0.0:
            break
        omega = float(np.vdot(a_t, s)) / a_t_a_t
        u = u + omega * t
        r = s - omega * a_t
        if max_norm(r) <= goal:
            break
        new_rho = float(np.vdot(r, shadow))
        if new_rho == 0.0 or omega == 0.0:
            break
        p = r + (new_rho / rho) * (alpha / omega) * (p - omega * a_q)
        rho = new_rho
    return u


# ---------------------------------------------------------------------------------------------------------------------------------
# Problems


def cell_centres(n: int) -> Field:
    return (np.arange(n) + 0.5) / n


def spread(coordinates: list[Field]) -> Point:
    """One-dimensional coordinates, each along its own axis, so that they broadcast to a grid."""
    x, y, z = coordinates
    return x[:, None, None], y[None, :, None], z[None, None, :]


def averaged_product(
    x: Point, h: float, directions: tuple[int, ...], values: Profile, second_derivatives: Profile
) -> Field:
    """The average, over intervals of length h in the given directions, of a product of one function of each coordinate.

    To fourth order it is the value in the middle plus h^2/24 times the exact second derivatives.
    """
    factors = [values(c) for c in x]
    average = factors[0] * factors[1] * factors[2]
    for d in directions:
        bent = [second_derivatives(c) if e == d else factors[e] for e, c in enumerate(x)]
        average = average + h**2 / 24.0 * (bent[0] * bent[1] * bent[2])
    return average


def sine(x: Field) -> Field:
    return np.sin(2 * np.pi * x)


def sine_second(x: Field) -> Field:
    return -((2 * np.pi) ** 2) * np.sin(2 * np.pi * x)


def sine_to_the_7th(x: Field) -> Field:
    return np.sin(2 * np.pi * x) ** 7


def sine_to_the_7th_second(x: Field) -> Field:
    s = np.sin(2 * np.pi * x)
    return (2 * np.pi) ** 2 * (42.0 * s**5 - 49.0 * s**7)


def sine_beta(x: Point, h: float, directions: tuple[int, ...]) -> Field:
    """Averages of 1 + 1/4 sin sin sin."""
    return 1.0 + 0.25 * averaged_product(x, h, directions, sine, sine_second)


def sine_f(x: Point, h: float) -> Field:
    """Cell averages of the product of sin^7."""
    return averaged_product(x, h, AXES, sine_to_the_7th, sine_to_the_7th_second)


def radius(x: Point) -> Field:
    return np.sqrt((x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2 + (x[2] - 0.5) ** 2)


def step_beta(x: Point) -> Field:
    return 5.5 + 4.5 * np.tanh(10.0 * (radius(x) - 0.25))


def polynomial(x: Field) -> tuple[Field, Field, Field]:
    """X and its first two derivatives; the known solution is X(x) X(y) X(z)."""
    return (
        2 * x**6 - 6 * x**5 + 5 * x**4 - x**2,
        12 * x**5 - 30 * x**4 + 20 * x**3 - 2 * x,
        60 * x**4 - 120 * x**3 + 60 * x**2 - 2,
    )


def step_f(x: Point, a: float, b: float) -> Field:
    """A u - b (grad beta . grad u + beta laplace u) of the known solution."""
    r = radius(x)
    beta_slope_over_r = 45.0 / np.cosh(10.0 * (r - 0.25)) ** 2 / r
    (u0, u1, u2), (v0, v1, v2), (w0, w1, w2) = (polynomial(c) for c in x)
    slopes = (x[0] - 0.5) * u1 * v0 * w0 + (x[1] - 0.5) * u0 * v1 * w0 + (x[2] - 0.5) * u0 * v0 * w1
    laplacian = u2 * v0 * w0 + u0 * v2 * w0 + u0 * v0 * w2
    return a * u0 * v0 * w0 - b * (beta_slope_over_r * slopes + step_beta(x) * laplacian)


def finest_level(kind: Discretisation, n: int, a: float = 0.0, b: float = 1.0) -> Level:
    """The benchmark's coefficients and right-hand side for this operator."""
    if n < kind.coarsest or n & (n - 1):
        raise ValueError(f"cells per axis: {n}; a power of two from {kind.coarsest} up is needed")
    averages = kind.name != "7pt"
    beta = []
    for axis in AXES:
        coordinates = [cell_centres(n)] * 3
        coordinates[axis] = np.arange(n + 1) / n
        x = spread(coordinates)
        tangential = tuple(d for d in AXES if d != axis)
        beta.append(sine_beta(x, 1.0 / n, tangential) if averages else step_beta(x))
    x = spread([cell_centres(n)] * 3)
    f = sine_f(x, 1.0 / n) if averages else step_f(x, a, b)
    return Level(kind, n, (beta[0], beta[1], beta[2]), a, b, f)


# ---------------------------------------------------------------------------------------------------------------------------------
# Cycles


class Multigrid:
    """The grids from n down to the coarsest, the finest first; coefficients and right-hand sides come from the finest."""

    def __init__(self, finest: Level, smoother: str) -> None:
        self.smooth = SMOOTHERS[smoother]
        self.levels = [finest]
        while self.levels[-1].n > finest.kind.coarsest:
            fine = self.levels[-1]
            beta = tuple(restrict_faces(values, axis) for axis, values in enumerate(fine.beta))
            self.levels.append(
                Level(fine.kind, fine.n // 2, (beta[0], beta[1], beta[2]), fine.a, fine.b, restrict_cells(fine.f))
            )

    def v_cycle(self, depth: int, u: Field, f: Field) -> Field:
        level = self.levels[depth]
        if depth + 1 == len(self.levels):
            return bicgstab(level, u, f)
        u = self.smooth(level, u, f)
        coarse_f = restrict_cells(level.residual(u, f))
        correction = self.v_cycle(depth + 1, np.zeros_like(coarse_f), coarse_f)
        u = u + prolong(correction, level.kind.v_prolongation)
        return self.smooth(level, u, f)

    def f_cycle(self, depth: int = 0) -> Field:
        """Solve on one of the grids, from zero."""
        u = np.zeros_like(self.levels[-1].f)
        u = bicgstab(self.levels[-1], u, self.levels[-1].f)
        for d in reversed(range(depth, len(self.levels) - 1)):
            u = prolong(u, self.levels[d].kind.f_prolongation)
            u = self.v_cycle(d, u, self.levels[d].f)
        return u

    def relative_residual(self, u: Field, depth: int = 0) -> float:
        level = self.levels[depth]
        return max_norm(level.residual(u, level.f)) / max_norm(level.f)


@dataclass(frozen=True)
class Report:
    relative_residual: float
    error: float  # Richardson: max norm of u^2h - R u^h
    order: float  # log2 of the same error one grid coarser over this one

    def __str__(self) -> str:
        return f"({self.relative_residual:.6g}, {self.error:.6g}, {self.order:.4f})"


def solve(operator: str, smoother: str, cells: int, a: float = 0.0, b: float = 1.0) -> Report:
    """One F-cycle at h, at 2h and at 4h."""
    multigrid = Multigrid(finest_level(DISCRETISATIONS[operator], cells, a, b), smoother)
    u = [multigrid.f_cycle(depth) for depth in range(3)]
    errors = [max_norm(u[d + 1] - restrict_cells(u[d])) for d in range(2)]
    return Report(multigrid.relative_residual(u[0]), errors[0], math.log2(errors[1] / errors[0]))


# (operator, smoother, cells): what HPGMG-FV reports
PUBLISHED = {
    ("fv4", "gsrb", 64): Report(7.1714e-5, 2.88982e-6, 3.247),
    ("fv4", "gsrb", 128): Report(7.51792e-6, 2.34244e-7, 3.625),
    ("fv4", "gsrb", 256): Report(5.155e-7, 1.486e-8, 3.978),
    ("fv4", "chebyshev", 128): Report(2.698e-5, 5.627e-8, 5.670),
    ("fv2", "chebyshev", 128): Report(6.31867e-4, 9.08854e-6, 2.097),
    ("fv2", "gsrb", 128): Report(8.169e-4, 9.649e-6, 1.989),
    ("7pt", "chebyshev", 128): Report(3.45594e-3, 5.13368e-7, 1.935),
    ("7pt", "chebyshev", 256): Report(1.712e-3, 1.312e-7, 1.967),
    ("7pt", "gsrb", 128): Report(3.303e-3, 5.247e-7, 1.949),
}


def check(most_cells: int) -> bool:
    """Print the published figures up to a size beside ours; whether all agree to their printed digits (0.05 %, order 0.001)."""
    agree = True
    for (operator, smoother, cells), published in PUBLISHED.items():
        if cells > most_cells:
            continue
        ours = solve(operator, smoother, cells)
        same = (
            math.isclose(ours.relative_residual, published.relative_residual, rel_tol=5e-4)
            and math.isclose(ours.error, published.error, rel_tol=5e-4)
            and abs(ours.order - published.order) <= 1e-3
        )
        agree = agree and same
        print(
            f"{operator} {smoother} {cells}^3: {ours} {'agrees with' if same else 'DIFFERS from'} {published}",
            flush=True,
        )
    return agree


def describe(multigrid: Multigrid) -> None:
    """What each grid holds and how far one F-cycle that ends there gets: figures to test an implementation with, grid by grid."""
    print("cells  lambda_max  max |f|  max |1/diagonal|  relative residual  max |u|")
    for depth, level in enumerate(multigrid.levels):
        u = multigrid.f_cycle(depth)
        values = (
            level.lambda_max,
            max_norm(level.f),
            max_norm(level.inverse_diagonal),
            multigrid.relative_residual(u, depth),
            max_norm(u),
        )
        print(level.n, *(f"{value:.12e}" for value in values), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operator", choices=DISCRETISATIONS, default="fv4")
    parser.add_argument("--smoother", choices=SMOOTHERS, default="gsrb")
    parser.add_argument("--cells", type=int, default=64, help="per axis; a power of two, at least 16")
    parser.add_argument("--helmholtz", action="store_true", help="a = 1 instead of 0")
    parser.add_argument("--levels", action="store_true", help="also figures of every grid")
    parser.add_argument("--check", action="store_true", help="compare with the published figures up to --cells")
    options = parser.parse_args()
    if options.check:
        return 0 if check(options.cells) else 1
    a = 1.0 if options.helmholtz else 0.0
    report = solve(options.operator, options.smoother, options.cells, a)
    print(
        f"{options.operator} {options.smoother} {options.cells}^3: relative residual {report.relative_residual:.12e}, "
        f"error {report.error:.12e}, order {report.order:.6f}"
    )
    if options.levels:
        describe(Multigrid(finest_level(DISCRETISATIONS[options.operator], options.cells, a), options.smoother))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
