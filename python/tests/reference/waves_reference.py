"""Exact and published solutions of elastic waves that the solver is compared with. NumPy, SciPy; SI units throughout.

Axes: x north, y east, z down. Sources act at the origin with a Gaussian in time, centred at t = 0,

    g(t) = exp(-t^2 / (2 sigma^2)) / (sqrt(2 pi) sigma);

for moment tensors it is the moment rate, so that the moment goes from 0 to M; for forces it is the force itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Medium:
    """vp and vs in m/s, density in kg/m^3."""

    vp: float
    vs: float
    rho: float

    @property
    def mu(self) -> float:
        return self.rho * self.vs**2


def gaussian(t: Array, sigma: float, derivatives: int) -> Array:
    """G (0), its derivative (1), second derivative (2), or its integrals from -infinity (-1, -2, -3). t in s."""
    x = np.asarray(t, float)
    g = np.exp(-0.5 * (x / sigma) ** 2) / (math.sqrt(2 * math.pi) * sigma)
    step = ndtr(x / sigma)
    return {
        2: lambda: (x**2 / sigma**2 - 1) / sigma**2 * g,
        1: lambda: -x / sigma**2 * g,
        0: lambda: g,
        -1: lambda: step,
        -2: lambda: x * step + sigma**2 * g,
        -3: lambda: 0.5 * ((x**2 + sigma**2) * step + x * sigma**2 * g),
    }[derivatives]()


def _near_field(t: Array, first: float, last: float, sigma: float, derivatives: int) -> Array:
    """The integral of tau f(t - tau) over first < tau < last, f the Gaussian so many times differentiated."""
    once, twice = derivatives - 1, derivatives - 2
    return (
        first * gaussian(t - first, sigma, once)
        - last * gaussian(t - last, sigma, once)
        + gaussian(t - first, sigma, twice)
        - gaussian(t - last, sigma, twice)
    )


def moment_tensor_motion(
    medium: Medium, moment: Array, receiver: Array, t: Array, sigma: float, derivatives: int = 0
) -> Array:
    """Displacement (derivatives = 0, m) or velocity (1, m/s) in a full space: array (3, len(t)).

    moment: symmetric 3 x 3, N m; receiver: m from the source. Aki and Richards (2002), equation 4.29, all terms.
    """
    r = float(np.linalg.norm(receiver))
    c = np.asarray(receiver, float) / r
    m = np.asarray(moment, float)
    a, b = medium.vp, medium.vs
    along, trace, mc = c @ m @ c, np.trace(m), m @ c
    order = derivatives - 1  # moment from moment rate
    near = _near_field(t, r / a, r / b, sigma, order) / r**4
    of_p = gaussian(t - r / a, sigma, order) / (a**2 * r**2)
    of_s = gaussian(t - r / b, sigma, order) / (b**2 * r**2)
    far_p = gaussian(t - r / a, sigma, order + 1) / (a**3 * r)
    far_s = gaussian(t - r / b, sigma, order + 1) / (b**3 * r)
    motion = (
        np.outer(15 * c * along - 3 * c * trace - 6 * mc, near)
        + np.outer(6 * c * along - c * trace - 2 * mc, of_p)
        - np.outer(6 * c * along - c * trace - 3 * mc, of_s)
        + np.outer(c * along, far_p)
        - np.outer(c * along - mc, far_s)
    )
    return motion / (4 * math.pi * medium.rho)


def force_motion(medium: Medium, force: Array, receiver: Array, t: Array, sigma: float, derivatives: int = 0) -> Array:
    """Displacement (m) or velocity (m/s) of a point force in a full space: array (3, len(t)).

    force: N s, as it multiplies the Gaussian. Aki and Richards (2002), equation 4.23, all terms.
    """
    r = float(np.linalg.norm(receiver))
    c = np.asarray(receiver, float) / r
    f = np.asarray(force, float)
    a, b = medium.vp, medium.vs
    near = _near_field(t, r / a, r / b, sigma, derivatives) / r**3
    far_p = gaussian(t - r / a, sigma, derivatives) / (a**2 * r)
    far_s = gaussian(t - r / b, sigma, derivatives) / (b**2 * r)
    motion = np.outer(3 * c * (c @ f) - f, near) + np.outer(c * (c @ f), far_p) - np.outer(c * (c @ f) - f, far_s)
    return motion / (4 * math.pi * medium.rho)


# Lamb's problem: Pekeris (1955); Poisson solid, vp^2 = 3 vs^2. tau = vs t / r.
_P_ARRIVAL = 1 / math.sqrt(3)
_RAYLEIGH_ARRIVAL = math.sqrt(3 + math.sqrt(3)) / 2
_A, _B = math.sqrt(3 * math.sqrt(3) + 5), math.sqrt(3 * math.sqrt(3) - 5)
_POLE = (3 - math.sqrt(3)) / 4


def lamb_step(tau: Array) -> Array:
    """G of u_z = 3 F / (pi^2 mu r) G(tau).

    u_z is the vertical displacement of the surface at distance r from a vertical force F on it that sets in at t = 0.
    """
    tau = np.asarray(tau, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        rayleigh = _A / np.sqrt(_RAYLEIGH_ARRIVAL**2 - tau**2)
        first = math.pi / 96 * (6 - math.sqrt(3) / np.sqrt(tau**2 - 0.25) + _B / np.sqrt(tau**2 - _POLE) - rayleigh)
        second = math.pi / 48 * (6 - rayleigh)
    late = np.where(tau < _RAYLEIGH_ARRIVAL, second, math.pi / 8)
    return np.where(tau <= _P_ARRIVAL, 0, np.where(tau < 1, first, late))


def lamb_step_integral(tau: Array) -> Array:
    """The integral of lamb_step from 0 to tau: finite and continuous, also at the Rayleigh wave."""

    def first(s):
        return (
            math.pi
            / 96
            * (
                6 * s
                - math.sqrt(3) * np.arccosh(2 * s)
                + _B * np.log(s + np.sqrt(s**2 - _POLE))
                - _A * np.arcsin(s / _RAYLEIGH_ARRIVAL)
            )
        )

    def second(s):
        return math.pi / 48 * (6 * s - _A * np.arcsin(s / _RAYLEIGH_ARRIVAL))

    tau = np.asarray(tau, float)
    to_s = first(np.clip(tau, _P_ARRIVAL, 1)) - first(_P_ARRIVAL)
    to_rayleigh = second(np.clip(tau, 1, _RAYLEIGH_ARRIVAL)) - second(1)
    return to_s + to_rayleigh + math.pi / 8 * np.maximum(tau - _RAYLEIGH_ARRIVAL, 0)


def lamb_vertical_motion(
    medium: Medium, force: float, distance: float, t: Array, sigma: float, derivatives: int = 0
) -> Array:
    """Vertical displacement (m) or velocity (m/s) on the surface of a half-space, so many m from a vertical point force there.

    force: N s, as it multiplies the Gaussian. Both positive downwards. A Poisson solid only.
    """
    if abs(medium.vp**2 / medium.vs**2 - 3) > 1e-3:
        raise ValueError("vp^2 must be 3 vs^2")
    t = np.asarray(t, float)
    unit = distance / medium.vs  # s per tau
    # The step response convolved with g' is its integral convolved with g''.
    step = sigma / 100
    past = np.arange(-8 * sigma, 8 * sigma + step, step)
    weights = (
        gaussian(past, sigma, 2)
        if derivatives == 0
        else (3 * past / sigma**4 - past**3 / sigma**6) * gaussian(past, sigma, 0)
    )
    integral = unit * lamb_step_integral((t[:, None] - past[None, :]) / unit)
    return 3 * force / (math.pi**2 * medium.mu * distance) * (integral @ weights) * step


def rayleigh_speed(medium: Medium) -> float:
    """m/s, by bisection of Rayleigh's equation."""

    def excess(c: float) -> float:
        x, y = (c / medium.vs) ** 2, (c / medium.vp) ** 2
        return (2 - x) ** 2 - 4 * math.sqrt(1 - x) * math.sqrt(1 - y)

    low, high = 0.5 * medium.vs, (1 - 1e-12) * medium.vs
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return 0.5 * (low + high)


def rayleigh_displacement(medium: Medium, wavelength: float, depth: Array) -> tuple[Array, Array]:
    """Amplitudes (horizontal, vertical) of a Rayleigh wave at depths (m), the vertical one 1 at the surface.

    u_x = horizontal(z) sin(k x - omega t), u_z = vertical(z) cos(k x - omega t), z and u_z downwards.
    """
    k, c = 2 * math.pi / wavelength, rayleigh_speed(medium)
    q, s = k * math.sqrt(1 - (c / medium.vp) ** 2), k * math.sqrt(1 - (c / medium.vs) ** 2)
    p_part, s_part = np.exp(-q * np.asarray(depth, float)), np.exp(-s * np.asarray(depth, float))
    share = 2 / (k**2 + s**2)
    top = q * (share * k**2 - 1)
    return -k * (p_part - share * q * s * s_part) / top, q * (share * k**2 * s_part - p_part) / top


def loh1_velocity(folder: Path, sigma: float, without_drift: bool = False) -> tuple[Array, Array]:
    """LOH.1 at (6000, 8000, 0) m from the epicentre, moment M_xy = 1e18 N m at 2000 m: times and velocities.

    Times in s, the source's Gaussian centred at 6 sigma. Velocities in m/s in rows: radial (away from the source), transverse
    (clockwise of radial, seen from above), vertical (downwards). From the frequency-wavenumber response in shared/data/loh1, by
    its README.

    The radial response oscillates by 0.017 m/s at 3 / 16.384 s, the third frequency of its own transform. It does so from
    t = 0 on, before any wave can arrive, and for ever after. This alone gives an exact solution a misfit of 0.1.
    without_drift removes that term, fitted where the response must be at rest (before 1.6 s and after 11 s).
    """
    t, vertical, radial, transverse = np.loadtxt(folder / "LOH.1_prose3").T
    dt = (t[-1] - t[0]) / (len(t) - 1)
    if without_drift:
        phase = 2 * math.pi * 3 * t / (len(t) * dt)
        terms = np.array([np.cos(phase), np.sin(phase), (-1.0) ** np.arange(len(t))])  # the last: its cut-off frequency
        rest = (t < 1.6) | (t > 11)
        cosine, sine, _ = np.linalg.lstsq(terms[:, rest].T, radial[rest], rcond=None)[0]
        radial = radial - cosine * terms[0] - sine * terms[1]
    t, vertical, radial, transverse = (column[:2000] for column in (t, vertical, radial, transverse))
    brune, centre = 0.1, 6 * sigma
    pulse = t / brune**2 * np.exp(-t / brune)
    x = (t - centre) / sigma
    change = (1 - 2 * brune / sigma * x - (brune / sigma) ** 2 * (1 - x**2)) * gaussian(t - centre, sigma, 0)

    def convolved(response: Array) -> Array:
        return np.convolve(np.convolve(response, pulse)[: len(t)], change)[: len(t)] * dt**2

    return t, np.array([convolved(1e5 * radial), convolved(1e5 * transverse), convolved(-1e5 * vertical)])


def misfit(found: Array, wanted: Array) -> float:
    """Relative L2: sqrt(sum (found - wanted)^2 / sum wanted^2)."""
    return float(np.sqrt(np.sum((found - wanted) ** 2) / np.sum(wanted**2)))
