"""Models of spherical harmonics as S20RTS and S40RTS are written (Ritsema et al. 2011, doi:10.1111/j.1365-246X.2010.04884.x).

    dlnVs(r, theta, phi) = sum over k, l, m of s_k(x) X_lm(theta) (a_klm cos m phi + b_klm sin m phi)

X_lm are Legendre functions that are normalised over the sphere, with (-1)^m, as in Dahlen & Tromp (1998, equation B.58). The s_k
are 21 cubic splines, 1 at their own knot and 0 at the others; x runs from -1 at the core to 1 at the Moho. The file has one line
with the largest degree, which may be missing, then k by k, the shallowest first, and l by l: a_l0, a_l1, b_l1, a_l2, ...
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.files import write_text

f64 = NDArray[np.float64]

KNOTS = np.array(
    [-1.0, -0.78631, -0.59207, -0.41550, -0.25499, -0.10909, 0.02353, 0.14409, 0.25367, 0.35329, 0.44384]
    + [0.52615, 0.60097, 0.66899, 0.73081, 0.78701, 0.83810, 0.88454, 0.92675, 0.96512, 1.0]
)
"""x of the splines, from the core up."""
CORE_M, MOHO_M = 3480e3, 6346.6e3
LARGEST_DEGREE = 200
NUMBERS_IN_A_LINE = 11
PLACES = 1024
"""At a time: the Legendre functions of many more would fill the memory."""


@dataclass(frozen=True)
class Harmonics:
    """Coefficients, shape (21, (L + 1)^2): the shallowest knot first, degree by degree, as in the file."""

    coefficients: f64

    @property
    def degree(self) -> int:
        """The largest one, L."""
        return math.isqrt(self.coefficients.shape[1]) - 1

    def sampled(self, latitude_deg: f64, longitude_deg: f64, radius_m: f64) -> f64:
        """dlnVs, shape (places, radii), at geocentric latitudes. Above the Moho it is as at the Moho."""
        radial = self.coefficients.T @ radial_splines(radius_m).T
        found = np.empty((len(latitude_deg), len(radius_m)))
        for first in range(0, len(found), PLACES):
            some = slice(first, first + PLACES)
            found[some] = surface_harmonics(latitude_deg[some], longitude_deg[some], self.degree) @ radial
        return found


def read_harmonics(file: Path) -> Harmonics:
    """UserError names what is wrong in the file."""
    try:
        lines = file.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise UserError(
            f"{file}: cannot be read ({problem}); allowed: a text of spherical-harmonic coefficients"
        ) from None
    wanted = None
    if lines and re.fullmatch(r"\s*\d+\s+1+(\s+\d+\s+[01]+)?\s*", lines[0]):
        wanted = int(lines.pop(0).split()[0])
    numbers = list[float]()
    for number, line in enumerate(lines, 1 + (wanted is not None)):
        try:
            numbers += [float(word) for word in re.sub(r"(?<=\d)-(?=\d+\.)", " -", line).split()]
        except ValueError:
            raise UserError(
                f"{file}, line {number}: {line.strip()[:40]!r}; allowed: numbers, after a line with the degree"
            ) from None
    layers = len(KNOTS)
    degree = math.isqrt(len(numbers) // layers) - 1 if wanted is None else wanted
    if len(numbers) != layers * (degree + 1) ** 2 or not 0 <= degree <= LARGEST_DEGREE:
        raise UserError(
            f"{file}: {len(numbers)} coefficients; allowed: {layers} splines times (L + 1)^2 up to a degree L of "
            + (
                f"at most {LARGEST_DEGREE}"
                if wanted is None
                else f"{wanted}, as its first line says: {layers * (wanted + 1) ** 2}"
            )
        )
    found = np.array(numbers).reshape(layers, -1)
    if not np.isfinite(found).all():
        raise UserError(f"{file}: a coefficient is not a finite number; allowed: finite ones")
    return Harmonics(found)


def write_harmonics(file: Path, harmonics: Harmonics) -> None:
    """The same file again. One that ends in .dat has no line with the degree: so SPECFEM3D_GLOBE wants its S40RTS.dat."""
    degree = harmonics.degree
    lines = (
        []
        if file.suffix.lower() == ".dat"
        else [f"{degree:15d} {'1' * (degree + 1)} {len(KNOTS) + 3:3d} 000{'1' * len(KNOTS)}"]
    )
    for layer in harmonics.coefficients:
        for order in range(degree + 1):
            row = layer[order**2 : (order + 1) ** 2]
            for first in range(0, len(row), NUMBERS_IN_A_LINE):
                lines.append("".join(f"{value:12.4E}" for value in row[first : first + NUMBERS_IN_A_LINE]))
    write_text(file, "\n".join(lines) + "\n")


def knot_radii_m() -> f64:
    """Of the splines, the shallowest first."""
    return CORE_M + 0.5 * (KNOTS[::-1] + 1.0) * (MOHO_M - CORE_M)


@cache
def _splines() -> scipy.interpolate.CubicSpline:
    values = np.eye(len(KNOTS))
    ends = [_three_point_slope(KNOTS[:3], values[:3]), _three_point_slope(KNOTS[:-4:-1], values[:-4:-1])]
    return scipy.interpolate.CubicSpline(KNOTS, values, bc_type=((1, ends[0]), (1, ends[1])))


def _three_point_slope(x: f64, y: f64) -> f64:
    """Of the parabola through three points, at the first."""
    near, far = x[1] - x[0], x[2] - x[0]
    return np.asarray(((y[1] - y[0]) * far**2 - (y[2] - y[0]) * near**2) / (near * far * (far - near)))


def radial_splines(radius_m: f64) -> f64:
    """The s_k at radii, shape (radii, 21), the shallowest first."""
    x = np.clip(2.0 * (radius_m - CORE_M) / (MOHO_M - CORE_M) - 1.0, -1.0, 1.0)
    return np.asarray(_splines()(x))[:, ::-1]


def surface_harmonics(latitude_deg: f64, longitude_deg: f64, degree: int) -> f64:
    """X_lm cos m phi and X_lm sin m phi at places, shape (places, (L + 1)^2), in the order of the file. Geocentric latitudes."""
    cosine, sine = np.sin(np.radians(latitude_deg)), np.cos(np.radians(latitude_deg))
    found = np.empty((len(cosine), (degree + 1) ** 2))
    first = np.full(len(cosine), np.sqrt(0.25 / np.pi))  # X_mm
    for order in range(degree + 1):
        if order:
            first = -np.sqrt(1.0 + 0.5 / order) * sine * first
        waves = np.cos(order * np.radians(longitude_deg)), np.sin(order * np.radians(longitude_deg))
        below, here = np.zeros_like(first), first
        for of in range(order, degree + 1):
            if of > order:
                step = np.sqrt((4.0 * of**2 - 1.0) / (of**2 - order**2))
                back = np.sqrt(((of - 1.0) ** 2 - order**2) / (4.0 * (of - 1.0) ** 2 - 1.0))
                below, here = here, step * (cosine * here - back * below)
            place = of**2 + max(0, 2 * order - 1)
            found[:, place] = here * waves[0]
            if order:
                found[:, place + 1] = here * waves[1]
    return found


def harmonics_on_sphere(degree: int) -> tuple[f64, f64, f64]:
    """Geocentric latitudes, longitudes and weights of points at which integrals of products of two such degrees are exact.

    Flat arrays of (L + 1) (2 L + 1) points; the weights add up to the sphere's 4 pi.
    """
    cosine, weight = np.polynomial.legendre.leggauss(degree + 1)
    turns = 2 * degree + 1
    latitude = np.repeat(np.degrees(np.arcsin(cosine)), turns)
    longitude = np.tile(360.0 * np.arange(turns) / turns, degree + 1)
    return latitude, longitude, np.repeat(weight * 2.0 * np.pi / turns, turns)


def expanded(field: f64, degree: int, sampled: int) -> Harmonics:
    """The coefficients up to a degree of dlnVs, shape (points, 21): at the points of harmonics_on_sphere(sampled), radii of knots.

    sampled: at least `degree`, and so large that the field has next to nothing beyond 2 sampled - degree.
    """
    latitude, longitude, weight = harmonics_on_sphere(sampled)
    found = np.zeros(((degree + 1) ** 2, field.shape[1]))
    for first in range(0, len(latitude), PLACES):
        some = slice(first, first + PLACES)
        harmonics = surface_harmonics(latitude[some], longitude[some], degree)
        found += harmonics.T @ (weight[some, None] * field[some])
    norms = np.full((degree + 1) ** 2, 2.0)  # 1 / the integral of the square: cos^2 takes half
    norms[np.arange(degree + 1) ** 2] = 1.0
    return Harmonics(np.ascontiguousarray((norms[:, None] * found).T))
