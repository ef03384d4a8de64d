"""Waves of a point source in a homogeneous full space, near field and all (Aki and Richards 2002, equations 4.23 and 4.29), for Gaussian
source-time functions. SI units; axes x, y, z in any right-handed order; t = 0 is the peak of the Gaussian of unit area and width sigma."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr


def gaussian(t, sigma):
    return np.exp(-0.5 * (t / sigma) ** 2) / (np.sqrt(2 * np.pi) * sigma)


def gaussian_rate(t, sigma):
    return -t / sigma**2 * gaussian(t, sigma)


def _near(t, r, vp, vs, sigma, of_step):
    """Integral of tau s(t - tau) over tau from r/vp to r/vs; s the Gaussian, or its integral (of_step)."""
    if of_step:  # integrate the Gaussian's own integral: by fine quadrature, it is smooth
        nodes, weights = np.polynomial.legendre.leggauss(200)
        low, high = r / vp, r / vs
        tau = 0.5 * (high - low) * nodes + 0.5 * (high + low)
        return 0.5 * (high - low) * np.sum(weights * tau * ndtr((t[:, None] - tau) / sigma), axis=1)
    early, late = t - r / vs, t - r / vp
    mass = ndtr(late / sigma) - ndtr(early / sigma)
    moment = -(sigma**2) * (gaussian(late, sigma) - gaussian(early, sigma))
    return t * mass - moment


def moment_velocity(moment, offset, t, vp, vs, rho, sigma):
    """Velocity (3, t) in m/s at `offset` (3) in m from a point of moment rate moment (3, 3) in N m times the Gaussian."""
    return _moment(moment, offset, t, vp, vs, rho, sigma, False)


def moment_displacement(moment, offset, t, vp, vs, rho, sigma):
    """Displacement (3, t) in m of the same."""
    return _moment(moment, offset, t, vp, vs, rho, sigma, True)


def _moment(moment, offset, t, vp, vs, rho, sigma, displacement):
    m, x, t = np.asarray(moment, float), np.asarray(offset, float), np.asarray(t, float)
    r = np.linalg.norm(x)
    g = x / r
    ggg = g * (g @ m @ g)
    trace, mg, gm = g * np.trace(m), m @ g, g @ m

    def s(at):
        return ndtr(at / sigma) if displacement else gaussian(at, sigma)

    def s_rate(at):
        return gaussian(at, sigma) if displacement else gaussian_rate(at, sigma)

    p, q = t - r / vp, t - r / vs
    near = np.outer(15 * ggg - 3 * trace - 3 * mg - 3 * gm, _near(t, r, vp, vs, sigma, displacement)) / r**4
    middle_p = np.outer(6 * ggg - trace - mg - gm, s(p)) / (vp**2 * r**2)
    middle_s = np.outer(6 * ggg - trace - gm - 2 * mg, s(q)) / (vs**2 * r**2)
    far_p = np.outer(ggg, s_rate(p)) / (vp**3 * r)
    far_s = np.outer(ggg - mg, s_rate(q)) / (vs**3 * r)
    return (near + middle_p - middle_s + far_p - far_s) / (4 * np.pi * rho)


def force_velocity(force, offset, t, vp, vs, rho, sigma):
    """Velocity (3, t) in m/s at `offset` in m from a point force (3) in N times the Gaussian's integral (a step of width sigma)."""
    f, x, t = np.asarray(force, float), np.asarray(offset, float), np.asarray(t, float)
    r = np.linalg.norm(x)
    g = x / r
    along = g * (g @ f)
    near = np.outer(3 * along - f, _near(t, r, vp, vs, sigma, False)) / r**3
    far_p = np.outer(along, gaussian(t - r / vp, sigma)) / (vp**2 * r)
    far_s = np.outer(along - f, gaussian(t - r / vs, sigma)) / (vs**2 * r)
    return (near + far_p - far_s) / (4 * np.pi * rho)
