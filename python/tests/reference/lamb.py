"""Lamb's problem: a vertical point force on the surface of a Poisson solid (vp = sqrt(3) vs), vertical motion of the surface, in closed form (Pekeris 1955)."""

from __future__ import annotations

import numpy as np

_P, _M = np.sqrt(3 * np.sqrt(3) + 5), np.sqrt(3 * np.sqrt(3) - 5)
_RAYLEIGH = 0.5 * np.sqrt(3 + np.sqrt(3))  # vs over the Rayleigh wave's speed
_B = 0.75 - np.sqrt(3) / 4


def response(tau):
    """G(tau), tau = vs t / r: a force F that begins at t = 0 moves the surface at distance r by 3 F / (pi^2 mu r) G, downwards as the force."""
    tau = np.asarray(tau, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        falling = _P / np.sqrt(_RAYLEIGH**2 - tau**2)
        early = (6 - np.sqrt(3) / np.sqrt(tau**2 - 0.25) - falling + _M / np.sqrt(tau**2 - _B)) / 32
        middle = (6 - falling) / 16
    pieces = [tau < 1 / np.sqrt(3), tau < 1, tau < _RAYLEIGH]
    return np.pi / 3 * np.select(pieces, [0 * tau, early, middle], 3 / 8)


def _integral(tau):
    """Of response() from 0 to tau."""

    def early(x):
        return (6 * x - np.sqrt(3) * np.arccosh(2 * x) - _P * np.arcsin(x / _RAYLEIGH) + _M * np.log(x + np.sqrt(x**2 - _B))) / 32

    def middle(x):
        return (6 * x - _P * np.arcsin(x / _RAYLEIGH)) / 16

    start = 1 / np.sqrt(3)
    a = np.clip(tau, start, 1)
    b = np.clip(tau, 1, _RAYLEIGH)
    c = np.maximum(tau, _RAYLEIGH)
    return np.pi / 3 * (early(a) - early(start) + middle(b) - middle(1.0) + 3 / 8 * (c - _RAYLEIGH))


def vertical_velocity(force, r, t, vs, rho, sigma):
    """m/s, downwards, at times t (s) after the middle of a step of the downward force (N) that is smoothed by a Gaussian of width sigma (s)."""
    s = np.linspace(-8 * sigma, 8 * sigma, 4001)
    gauss = np.exp(-0.5 * (s / sigma) ** 2) / (np.sqrt(2 * np.pi) * sigma)
    curvature = (s**2 / sigma**2 - 1) / sigma**2 * gauss
    step = s[1] - s[0]
    smoothed = np.array([np.sum(_integral(vs * (each - s) / r) * curvature) * step for each in t])
    return 3 * force / (np.pi**2 * rho * vs**2 * r) * smoothed * r / vs
