"""Elastic waves in ground under a hilly surface, by spectral elements (Komatitsch and Vilotte 1998): a plain NumPy reference.

Another method than that of `craton waves`: hexahedra that follow the surface, polynomials of degree 4 at the points of Gauss,
Lobatto and Legendre, a diagonal mass matrix. The free surface is the natural condition of the weak form: nothing is staggered, and
nothing a staircase. Homogeneous ground, no absorbing sides: choose a box whose sides answer after the last sample. It is there to
be compared with, not to be fast.

    python spectral_elements.py gaussian_hill.npz      # an explosion below a hill, as test_topography.py has it: 20 min

Positions and components are x, y, z (down), in m; the surface is z = surface(x, y). float64.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

Array = NDArray[np.float64]
Surface = Callable[[Array, Array], Array]

DEGREE = 4


def lobatto() -> tuple[Array, Array]:
    """Points in [-1, 1] and their weights."""
    polynomial = np.zeros(DEGREE + 1)
    polynomial[DEGREE] = 1
    points = np.concatenate([[-1.0], np.sort(legendre.legroots(legendre.legder(polynomial))), [1.0]])
    weights = 2 / (DEGREE * (DEGREE + 1) * legendre.legval(points, polynomial) ** 2)
    return points, weights


def lagrange(points: Array, at: float) -> tuple[Array, Array]:
    """Values and first derivatives at one place of the polynomials that are 1 at one point and 0 at the others."""
    values, slopes = np.ones(points.size), np.zeros(points.size)
    for i, own in enumerate(points):
        others = np.delete(points, i)
        factors = (at - others) / (own - others)
        values[i] = factors.prod()
        slopes[i] = sum(np.delete(factors, m).prod() / (own - each) for m, each in enumerate(others))
    return values, slopes


@dataclass(frozen=True)
class Box:
    """first <= x < first + count * side, likewise y; from the surface down to `bottom` in count[2] layers of elements."""

    first: tuple[float, float]
    side_m: float
    count: tuple[int, int, int]
    bottom_m: float
    surface: Surface


@dataclass(frozen=True)
class Place:
    """A point of an element: its number, and 1-D polynomials along the element's axes there (3, degree + 1), and their slopes."""

    element: int
    values: Array
    slopes: Array


class Mesh:
    """Elements and points of a box, and the steps of waves in it."""

    def __init__(self, box: Box, vp: float, vs: float, rho: float) -> None:
        self.box, self.rho = box, rho
        self.mu = rho * vs**2
        self.lam = rho * vp**2 - 2 * self.mu
        self.points, self.weights = lobatto()
        self.slopes = np.array([lagrange(self.points, each)[1] for each in self.points])  # [at, of]
        nx, ny, nz = box.count
        along = [
            np.add.outer(np.arange(n), (self.points + 1) / 2) for n in (nx, ny, nz)
        ]  # [element, point], in elements
        x = box.first[0] + box.side_m * along[0]
        y = box.first[1] + box.side_m * along[1]
        top = box.surface(x[:, None, :, None], y[None, :, None, :])  # [ex, ey, i, j]
        depth = along[2] / nz
        z = top[:, :, None, :, :, None] * (1 - depth[:, None, None, :]) + box.bottom_m * depth[:, None, None, :]
        shape = z.shape  # [ex, ey, ez, i, j, k]
        places = np.stack(
            [
                np.broadcast_to(x[:, None, None, :, None, None], shape),
                np.broadcast_to(y[None, :, None, None, :, None], shape),
                z,
            ]
        )
        self.shape = shape
        self.place = places.reshape(3, -1, *shape[3:])
        number = [DEGREE * np.arange(n)[:, None] + np.arange(DEGREE + 1) for n in (nx, ny, nz)]
        size = [DEGREE * n + 1 for n in (nx, ny, nz)]
        self.number = (
            (number[0][:, None, None, :, None, None] * size[1] + number[1][None, :, None, None, :, None]) * size[2]
            + number[2][None, None, :, None, None, :]
        ).reshape(self.place.shape[1:])
        self.unknowns = int(np.prod(size))
        self._geometry()

    def _derivatives(self, field: Array) -> Array:
        """[..., element, i, j, k] -> along the element's axes [3, ..., element, i, j, k]."""
        d = self.slopes
        return np.stack(
            [np.einsum("ai,...ijk->...ajk", d, field), np.einsum("bj,...ijk->...ibk", d, field), field @ d.T]
        )  # fmt: skip

    def _geometry(self) -> None:
        jacobian = np.moveaxis(self._derivatives(self.place), (0, 1), (-1, -2))  # [..., of x, along]
        self.inverse = np.moveaxis(np.linalg.inv(jacobian), (-2, -1), (0, 1))  # [along, of x, element, i, j, k]
        volume = np.abs(np.linalg.det(jacobian))
        w = self.weights
        self.volume = volume * w[:, None, None] * w[:, None] * w
        self.mass = np.bincount(self.number.ravel(), (self.rho * self.volume).ravel(), self.unknowns)

    def forces(self, displacement: Array) -> Array:
        """Of the ground on each point, N: [3, unknowns] of displacements [3, unknowns] in m."""
        along = self._derivatives(displacement[:, self.number])  # [along, component, ...]
        gradient = np.einsum("ac...,ad...->cd...", along, self.inverse)  # du_c / dx_d
        stress = self.mu * (gradient + gradient.swapaxes(0, 1))
        trace = self.lam * np.einsum("cc...->...", gradient)
        for c in range(3):
            stress[c, c] += trace
        flux = np.einsum("cd...,ad...->ac...", stress, self.inverse) * self.volume
        d = self.slopes
        sums = (
            np.einsum("ai,cnajk->cnijk", d, flux[0]) + np.einsum("bj,cnibk->cnijk", d, flux[1]) + flux[2] @ d
        )  # fmt: skip
        return -np.stack([np.bincount(self.number.ravel(), each.ravel(), self.unknowns) for each in sums])

    @cached_property
    def _polynomials_of_surface(self) -> Array:
        return self.place[2].reshape(self.shape)[:, :, 0, :, :, 0]  # [ex, ey, i, j]

    def locate(self, x: float, y: float, below_surface: float) -> Place:
        """The point so far below the surface. It must lie in the box."""
        box = self.box
        position = [(x - box.first[0]) / box.side_m, (y - box.first[1]) / box.side_m]
        cell = [min(int(each), n - 1) for each, n in zip(position, box.count, strict=False)]
        local = [2 * (each - n) - 1 for each, n in zip(position, cell, strict=True)]
        polynomials = [lagrange(self.points, each) for each in local]
        top = polynomials[0][0] @ self._polynomials_of_surface[cell[0], cell[1]] @ polynomials[1][0]
        depth = below_surface / (box.bottom_m - top) * box.count[2]
        layer = min(int(depth), box.count[2] - 1)
        polynomials.append(lagrange(self.points, 2 * (depth - layer) - 1))
        element = (cell[0] * box.count[1] + cell[1]) * box.count[2] + layer
        return Place(element, np.array([v for v, _ in polynomials]), np.array([s for _, s in polynomials]))

    def values_at(self, place: Place, fields: Array) -> Array:
        """Of fields [..., unknowns] at a point."""
        own = fields[..., self.number[place.element]]
        return np.asarray(np.einsum("...ijk,i,j,k->...", own, *place.values))

    def moment_forces(self, place: Place, moment: Array) -> Array:
        """Of a moment tensor (3, 3) in N m: M_cd dphi / dx_d of each point, N, [3, unknowns]."""
        v, s = place.values, place.slopes
        along = np.stack(
            [np.einsum("i,j,k->ijk", *each) for each in ((s[0], v[1], v[2]), (v[0], s[1], v[2]), (v[0], v[1], s[2]))]
        )
        jacobian = np.einsum("aijk,cijk->ca", along, self.place[:, place.element])
        gradient = np.einsum("aijk,ad->dijk", along, np.linalg.inv(jacobian))
        sums = np.einsum("cd,dijk->cijk", moment, gradient)
        return self._scattered(place, sums)

    def point_forces(self, place: Place, force: Array) -> Array:
        """Of a force in N, [3, unknowns]."""
        return self._scattered(place, np.einsum("c,i,j,k->cijk", force, *place.values))

    def _scattered(self, place: Place, sums: Array) -> Array:
        found = np.zeros((3, self.unknowns))
        found[:, self.number[place.element].ravel()] = sums.reshape(3, -1)
        return found

    @property
    def largest_step_s(self) -> float:
        """Half of the shortest time in which P waves pass from point to point."""
        vp = np.sqrt((self.lam + 2 * self.mu) / self.rho)
        shortest = min(np.linalg.norm(np.diff(self.place, axis=axis), axis=0).min() for axis in (2, 3, 4))
        return float(0.5 * shortest / vp)

    def run(
        self, source: Array, strength: Callable[[float], float], dt: float, steps: int, receivers: list[Place]
    ) -> Array:
        """Velocities (receiver, component, step) in m/s at times (n + 1/2) dt of forces source * strength(t), from rest."""
        before = np.zeros((3, self.unknowns))
        now = np.zeros_like(before)
        found = np.zeros((len(receivers), 3, steps))
        for n in range(steps):
            after = 2 * now - before + dt**2 * (self.forces(now) + source * strength(n * dt)) / self.mass
            velocity = (after - now) / dt
            for m, each in enumerate(receivers):
                found[m, :, n] = self.values_at(each, velocity)
            before, now = now, after
        return found


# ---------------------------------------------------------------------------------------------------------------------------------
# The case that is compared.


@dataclass(frozen=True)
class Hill:
    """An explosion below the side of a Gaussian hill, and stations on the ground: at its top, on its sides, in the plain."""

    vp: float = 1800.0
    vs: float = 1000.0
    rho: float = 2000.0
    height_m: float = 180.0
    radius_m: float = 400.0
    source: tuple[float, float] = (-300.0, 0.0)
    below_surface_m: float = 150.0
    moment_Nm: float = 1e15
    sigma_s: float = 0.12
    duration_s: float = 1.95
    stations: tuple[tuple[float, float], ...] = (
        (0.0, 0.0),
        (200.0, 100.0),
        (400.0, -300.0),
        (500.0, 0.0),
        (0.0, 600.0),
    )

    def surface(self, x: Array, y: Array) -> Array:
        """z, 0 in the plain."""
        return np.asarray(-self.height_m * np.exp(-(x**2 + y**2) / self.radius_m**2))

    def moment(self, t: float) -> float:
        """Part of the moment at a time: the integral of a Gaussian pulse about 5 sigma."""
        return 0.5 * (1 + math.erf((t - 5 * self.sigma_s) / (self.sigma_s * math.sqrt(2))))

    def velocities(self, side_m: float) -> tuple[Array, float]:
        """(station, component, step) at times (n + 1/2) dt, and dt, by elements of about that side."""
        half, bottom = 1700.0, 2000.0
        count = (round(2 * half / side_m), round(2 * half / side_m), round(bottom / side_m))
        box = Box((-half, -half), 2 * half / count[0], count, bottom, self.surface)
        mesh = Mesh(box, self.vp, self.vs, self.rho)
        dt = 0.6 * mesh.largest_step_s
        source = mesh.moment_forces(mesh.locate(*self.source, self.below_surface_m), self.moment_Nm * np.eye(3))
        receivers = [mesh.locate(*each, 0.0) for each in self.stations]
        return mesh.run(source, self.moment, dt, int(self.duration_s / dt), receivers), dt


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("spectral_elements: allowed: python spectral_elements.py FILE.npz")
    velocity, dt_s = Hill().velocities(3400 / 24)
    np.savez_compressed(sys.argv[1], velocity=velocity.astype(np.float32), dt_s=dt_s)
