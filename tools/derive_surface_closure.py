"""Derives the table of include/craton/apps/waves/kernels/surface_closure.hpp and says how good it is.

    python tools/derive_surface_closure.py             # the table, then its figures beside those of two simpler closures
    python tools/derive_surface_closure.py --search    # where the seven free coefficients come from

Planes: faces f_m = m, centres c_k = k + 1/2, m, k = 0, 1, ...; h = 1. Sought are plus (faces -> centres), minus
(centres -> faces) and diagonal norms F, C with

    F minus = -(C plus)^T                    summation by parts, the work of the centre field on the surface left out
    plus z^j = j z^(j-1),  j = 0, 1, 2       exact to second order
    minus z^j = j z^(j-1), j = 0, 1, 2       likewise; on face 0 only j = 1, 2: it acts on zz alone, which vanishes there

that differ from the interior formulas (9/8, -1/24) on the first 5 planes only. With Q = C plus all of this is linear in
(Q, F, C) and leaves seven coefficients free. They were chosen (--search) to make Rayleigh waves and waves reflected at
normal incidence as exact as possible at 5 to 30 points per wavelength. That is in speed, in phase and plane by plane, while
no eigenvalue exceeds the interior's. Here they are rounded and the rest is solved for in rationals.

Plane by plane matters. Third order for plus exists on 5 planes too, and three free coefficients give Rayleigh waves their
speed. But the best ones have a mode of their own near the surface, hardly coupled to the interior, which rings at 12 points
per wavelength. 4 planes leave two free coefficients, and Rayleigh waves five times worse; 6 planes gain nothing.

One pair serves all fields: minus on vx, vy acts on faces 1, 2, ... only (plane 0 of xz and yz is zero), plus on xz and
yz never sees plane 0.

Velocity at the surface. A traction put into xz on face 0 does the work xz (sum_k C_k plus_k0 vx_k - F_0 dvz/dx). So the
scheme's own vx at z = 0 is F_0 (sum_k minus_0k vx_k + dvz/dx). It converges faster than the planes themselves.

Summation by parts on staggered grids: O'Reilly, Lundquist, Dunham and Petersson, J. Comput. Phys. 346 (2017).
"""

from __future__ import annotations

import argparse
import textwrap
from fractions import Fraction

import numpy as np
import scipy.linalg
import scipy.optimize

PLANES = 5
INTERIOR = {
    -1: Fraction(1, 24),
    0: Fraction(-9, 8),
    1: Fraction(9, 8),
    2: Fraction(-1, 24),
}  # face m - centre's k -> weight
FREE = {
    ("Q", 1, 1): Fraction(-788, 1000),
    ("Q", 1, 3): Fraction(-123, 1000),
    ("Q", 3, 1): Fraction(45, 1000),
    ("Q", 3, 3): Fraction(-1080, 1000),
    ("F", 2): Fraction(622, 1000),
    ("C", 1): Fraction(590, 1000),
    ("C", 2): Fraction(1390, 1000),
}


def unknowns():
    blocks = [("Q", k, m) for k in range(PLANES) for m in range(PLANES)]
    return blocks + [("F", m) for m in range(PLANES)] + [("C", k) for k in range(PLANES)]


def conditions():
    """Rows (coefficients by unknown, right-hand side) of the linear system."""
    beyond = range(PLANES, PLANES + 3)
    for k in range(PLANES):
        z = Fraction(2 * k + 1, 2)
        for j in range(3):
            row = {("Q", k, m): Fraction(m) ** j for m in range(PLANES)}
            if j:
                row["C", k] = -j * z ** (j - 1)
            yield row, -sum(INTERIOR.get(m - k, 0) * Fraction(m) ** j for m in beyond)
    for m in range(PLANES):
        for j in range(1 if m == 0 else 0, 3):
            row = {("Q", k, m): Fraction(2 * k + 1, 2) ** j for k in range(PLANES)}
            if j:
                row["F", m] = j * Fraction(m) ** (j - 1)
            yield row, -sum(INTERIOR.get(m - k, 0) * Fraction(2 * k + 1, 2) ** j for k in beyond)


def solve(free):
    """The unknowns, by exact elimination."""
    names = unknowns()
    rows = [[row.get(n, Fraction(0)) for n in names] + [right] for row, right in conditions()]
    rows += [[Fraction(int(n == name)) for n in names] + [value] for name, value in free.items()]
    pivots = []
    for column in range(len(names)):
        pivot = next((r for r in range(len(pivots), len(rows)) if rows[r][column]), None)
        if pivot is None:
            raise ValueError(f"not determined: {names[column]}")
        done = len(pivots)
        rows[done], rows[pivot] = rows[pivot], rows[done]
        rows[done] = [v / rows[done][column] for v in rows[done]]
        for r in range(len(rows)):
            if r != done and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[done], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        raise ValueError("contradictory conditions")
    return {name: rows[i][-1] for i, name in enumerate(names)}


def extended(solution, planes):
    """plus, minus (planes x planes arrays), F, C on so many planes; below them everything counts as 0."""
    weights = np.array([[float(INTERIOR.get(m - k, 0)) for m in range(planes)] for k in range(planes)])
    face, centre = np.ones(planes), np.ones(planes)
    for name, value in solution.items():
        if name[0] == "Q":
            weights[name[1:]] = float(value)
        else:
            (face if name[0] == "F" else centre)[name[1]] = float(value)
    return weights / centre[:, None], -weights.T / face[:, None], face, centre


def second_order(planes):
    """The interior formulas next to a surface where they turn into the second-order ones of half a cell."""
    q = {("Q", k, m): Fraction(0) for k in range(2) for m in range(2)} | {
        ("F", 0): Fraction(1, 2),
        ("C", 0): Fraction(1),
    }
    q |= {
        ("Q", 0, 0): Fraction(-1),
        ("Q", 0, 1): Fraction(25, 24),
        ("Q", 1, 0): Fraction(0),
        ("Q", 1, 1): Fraction(-13, 12),
    }
    return extended(q, planes)


def images(planes):
    """Stress images (zz, xz, yz odd about the surface), velocities by second-order formulas there: not self-adjoint."""
    plus, minus, face, centre = extended({}, planes)
    c1, c2 = 9 / 8, -1 / 24
    minus[0, :2] = 2 * c1, 2 * c2
    minus[1, :3] = -c1 + c2, c1, c2  # on zz; the surface mirrors zz_0 to -zz_0
    minus_v = minus.copy()
    minus_v[1, :3] = -1, 1, 0
    plus_v, plus_s = plus.copy(), plus.copy()
    plus_v[0, :3] = -1, 1, 0
    plus_s[0, :3] = 0, c1 + c2, c2  # xz_-1 = -xz_1
    return plus_v, plus_s, minus, minus_v


def rayleigh_speed(vs_over_vp_squared):
    """Over vs."""
    r = vs_over_vp_squared
    roots = np.roots([1, -8, 24 - 16 * r, -16 * (1 - r)])
    return np.sqrt(min(s.real for s in roots if abs(s.imag) < 1e-9 and 0 < s.real < 1))


def rayleigh(plus_v, plus_s, minus_s, minus_v, points, vp_over_vs):
    """Relative error of the speed of a Rayleigh wave, and those of vx and vz on the first six planes.

    The latter are over their values at the surface. Horizontal derivatives are exact, time is continuous.
    """
    n = len(plus_v)
    a = 2 * np.pi / points
    big = vp_over_vs**2
    eye, off = np.eye(n), np.zeros((n, n))
    below = np.ones((n, 1))
    below[0] = 0
    xx, zz = np.hstack([a * eye, off]), np.hstack([off, plus_v])  # vx = u cos, vz = w sin
    xz = np.hstack([minus_v, -a * eye]) * below
    stress_x, stress_z = big * xx + (big - 2) * zz, big * zz + (big - 2) * xx
    operator = np.vstack([a * stress_x - plus_s @ xz, -minus_s @ stress_z - a * xz])
    c = rayleigh_speed(1 / big)
    values, vectors = np.linalg.eig(operator)
    nearest = np.argmin(np.abs(values - (c * a) ** 2))
    q, s = a * np.sqrt(1 - c * c / big), a * np.sqrt(1 - c * c)
    z = np.arange(n)
    u = a * (np.exp(-q * (z + 0.5)) - 2 * q * s / (a * a + s * s) * np.exp(-s * (z + 0.5)))
    w = q * (np.exp(-q * z) - 2 * a * a / (a * a + s * s) * np.exp(-s * z))
    exact, found = np.r_[u, w], vectors[:, nearest].real
    found = (
        found * np.sign(found[:n] @ u) * np.r_[np.ones(n), np.full(n, np.sign(found[:n] @ u) * np.sign(found[n:] @ w))]
    )
    found *= (exact @ found) / (found @ found)
    u_0 = a * (1 - 2 * q * s / (a * a + s * s))
    planes = np.r_[(found[:6] - u[:6]) / u_0, (found[n : n + 6] - w[:6]) / w[0]]
    return np.sqrt(values[nearest].real) / (c * a) - 1, planes


def largest_elastic_eigenvalue(plus, face, centre, vp_over_vs):
    """Of plane-strain motion with any horizontal wavenumber, over the interior's limit (7/3)^2 vp^2 (1 + horizontal part)."""
    n, big = len(plus), vp_over_vs**2
    minus = -(plus * centre[:, None]).T / face[:, None]
    eye, off = np.eye(n), np.zeros((n, n))
    below = np.ones((n, 1))
    below[0] = 0
    scale = 1 / np.sqrt(np.concatenate([centre, face]))
    worst = 0
    for horizontal in np.linspace(0, 2, 9):
        a = 7 / 3 * np.sqrt(horizontal)
        xx, zz, xz = np.hstack([a * eye, off]), np.hstack([off, plus]), np.hstack([minus, -a * eye]) * below
        cross = (xx.T * centre) @ zz
        energy = (
            big * ((xx.T * centre) @ xx + (zz.T * centre) @ zz) + (big - 2) * (cross + cross.T) + (xz.T * face) @ xz
        )
        worst = max(
            worst, np.linalg.eigvalsh(energy * scale * scale[:, None])[-1] / (big * (1 + horizontal) * (7 / 3) ** 2)
        )
    return worst


def reflections(plus, minus, points):
    """Of a vertical P and S wave of amplitude 1 reflected at the surface: phase error (rad), errors on the first six planes."""
    theta = 2 * np.pi / points
    frequency = 2 * (9 / 8 * np.sin(theta / 2) - 1 / 24 * np.sin(3 * theta / 2))
    # The evanescent companion s^2 of exp(i theta): (9/8) (s - 1/s) - (s^3 - 1/s^3) / 24 = i frequency.
    roots = np.roots([-1 / 24, 0, 9 / 8, -1j * frequency, -9 / 8, 0, 1 / 24])
    decay = min((s * s for s in roots), key=abs).real
    errors = []
    for field in ("vz", "vx"):
        first = 0 if field == "vz" else 1
        operator = minus @ plus if field == "vz" else plus[:, first:] @ minus[first:]
        z = np.arange(len(plus)) + (0 if field == "vz" else 0.5)
        n, reach = 16, 22
        rows = operator[: n + 2, :reach] + frequency**2 * np.eye(n + 2, reach)
        tails = [
            rows[:, n:] @ tail[n:reach] for tail in (np.cos(theta * z), np.sin(theta * z), decay ** (z - z[n - 2]))
        ]
        found = np.linalg.solve(np.column_stack([rows[:, :n], tails[1], tails[2]]), -tails[0])
        phase = np.arctan(found[n])
        errors.append((phase, found[:6] * np.cos(phase) - np.cos(theta * z[:6])))
    return errors


def largest_difference(plus, face, centre):
    return np.linalg.norm(np.sqrt(centre)[:, None] * plus / np.sqrt(face), 2)


def search():
    """Least squares over the free coefficients, from the rounded ones and from others."""

    def misfits(values):
        plus, minus, face, centre = extended(solve({n: Fraction(v) for n, v in zip(FREE, values, strict=True)}), 45)
        out = [
            3000 * max(0, largest_difference(plus, face, centre) - 7 / 3),
            *(300 * np.maximum(0, 0.3 - np.r_[face, centre])),
        ]
        if min(face.min(), centre.min()) <= 0.05:
            return np.full(len(out) + 14 * 14 + 5 * 13, 1e2)
        for points in np.geomspace(4.6, 30, 14):
            weight = 10 * (min(points, 16) / 6) ** 2
            for phase, planes in reflections(plus, minus, points):
                out += [weight * phase, *(weight / np.sqrt(6) * planes)]
        for points in (5, 6.5, 8.5, 11, 15):
            weight = 10 * (points / 6) ** 2
            speed, planes = rayleigh(plus, plus, minus, minus, points, 1.732)
            out += [weight * 75 * speed, *(weight / 2.4 * planes)]  # 75 radians: twelve wavelengths
        return np.array(out)

    start = np.array([float(v) for v in FREE.values()])
    for shift in (0, 0.02):
        best = scipy.optimize.least_squares(misfits, start + shift, x_scale=0.1, max_nfev=20)
        print(
            "cost", 2 * best.cost, {"".join(map(str, n)): round(float(v), 4) for n, v in zip(FREE, best.x, strict=True)}
        )


def braces(name, rows):
    print(f"    .{name} = {{{{")
    for row in rows:
        print(
            "        {" + textwrap.fill(", ".join(repr(float(v)) for v in row) + "},", 118, subsequent_indent=9 * " ")
        )
    print("    }},")


def table(solution):
    width = PLANES + 2
    face, centre = ([solution[name, i] for i in range(PLANES)] for name in ("F", "C"))

    def weight(k, m):
        return solution["Q", k, m] if k < PLANES and m < PLANES else INTERIOR.get(m - k, Fraction(0))

    braces("plus", [[weight(k, m) / centre[k] for m in range(width)] for k in range(PLANES)])
    braces("minus", [[-weight(k, m) / face[m] for k in range(width)] for m in range(PLANES)])
    for name, norms in (("face_norm", face), ("centre_norm", centre)):
        print(f"    .{name} = {{" + ", ".join(repr(float(v)) for v in norms) + "},")


def report(solution):
    planes = 60
    plus, minus, face, centre = extended(solution, planes)
    rough_plus, rough_minus, rough_face, rough_centre = second_order(planes)
    print(f"largest difference in the norm {largest_difference(plus, face, centre):.6f}, interior 7/3 = {7 / 3:.6f}")
    ratios = (1.45, 1.6, 1.732, 2.5, 4)
    worst = [
        largest_elastic_eigenvalue(p[:30, :30], f[:30], c[:30], r)
        for p, f, c in ((plus, face, centre), (rough_plus, rough_face, rough_centre))
        for r in ratios
    ]
    print(
        f"largest elastic eigenvalue over the interior's limit {max(worst[:5]):.4f}; second-order closure {max(worst[5:]):.4f}"
    )
    print("points per wavelength        " + "".join(f"{p:>10}" for p in (5, 6, 8, 10, 15)))
    for vp_over_vs in (1.6, 1.732, 2.5):
        for name, four in (
            ("this closure", (plus, plus, minus, minus)),
            ("second order", (rough_plus, rough_plus, rough_minus, rough_minus)),
            ("stress images", images(planes)),
        ):
            errors = [100 * rayleigh(*four, p, vp_over_vs)[0] for p in (5, 6, 8, 10, 15)]
            print(f"Rayleigh % {vp_over_vs:<6}{name:<13}" + "".join(f"{e:>+10.3f}" for e in errors))
    for wave, field in enumerate("PS"):
        for name, p, m in (("this closure", plus, minus), ("second order", rough_plus, rough_minus)):
            found = [reflections(p, m, points)[wave] for points in (5, 6, 8, 10, 15)]
            print(f"{field} phase, rad    {name:<13}" + "".join(f"{phase:>+10.4f}" for phase, _ in found))
            print(f"{field} planes, %     {name:<13}" + "".join(f"{100 * np.abs(e).max():>10.2f}" for _, e in found))
        scan = 2 * np.pi / np.linspace(0.1, 1.25, 2000)
        errors = [np.abs(reflections(plus, minus, points)[wave][1]).max() for points in scan]
        print(
            f"{field} planes, worst of 2000 wavelengths: {100 * max(errors):.1f}% at {scan[np.argmax(errors)]:.1f} points"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--search", action="store_true", help="optimise the three free coefficients (a minute)")
    if parser.parse_args().search:
        search()
    else:
        solution = solve(FREE)
        table(solution)
        report(solution)
