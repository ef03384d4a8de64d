"""Great-circle asymptotics of mode coupling against the exact first Born integral over the sphere, in plain NumPy."""

import numpy as np
import pytest
from command_line import craton
from craton import _craton
from scipy.special import lpmv

FILTER_S = (1e5, 5e4, 61.0, 60.0)  # as good as none
LEVEL = 4
SAMPLES, INTERVAL_S = 400, 20.0


@pytest.fixture(scope="module")
def earth():
    return _craton.EarthModel.prem_isotropic()


@pytest.fixture(scope="module")
def fundamentals(earth):
    """All fundamental modes above 60 s, elastic: one mode a degree."""
    return _craton.ModeCatalogue.solve(earth, 60.0, dispersion=False, attenuation=False)


def of_degrees(earth, catalogue, degrees):
    """The fundamental modes of some degrees as a catalogue of their own."""
    stored = catalogue.arrays()
    keep = (stored["n"] == 0) & np.isin(stored["l"], list(degrees))
    per_mode = {name: stored[name][keep] for name in ("n", "l", "omega_rad_s", "q", "group_velocity_m_s")}
    vectors = np.ascontiguousarray(stored["eigenvectors"].reshape(len(keep), -1)[keep]).ravel()
    return _craton.ModeCatalogue.from_arrays(earth, {**stored, **per_mode, "eigenvectors": vectors})


def heterogeneity(basis, degree, rng):
    """DlnVs that is a random spherical harmonic of one degree at the knots, the same at all depths, 1% there at most."""
    colatitude = np.radians(90.0 - basis.latitude_deg)
    longitude = np.radians(basis.longitude_deg)
    field = np.zeros(basis.n_lateral)
    for m in range(degree + 1):
        a, b = rng.normal(size=2) / np.sqrt(np.prod(np.arange(degree - m + 1.0, degree + m + 1.0)))
        field += lpmv(m, degree, np.cos(colatitude)) * (a * np.cos(m * longitude) + b * np.sin(m * longitude))
    return np.repeat(0.01 * field / np.abs(field).max(), basis.n_radial)


class Potential:
    """F(gamma) of order m about an axis, F = P_lm without Condon and Shortley's phase, with two derivatives, for many degrees."""

    def __init__(self, degrees, m, gamma):
        ell, x = degrees[:, None], np.cos(gamma)[None, :]
        sine = np.sin(gamma)[None, :]
        plain = lambda order: (-1.0) ** order * lpmv(order, ell, x)  # noqa: E731
        self.value = plain(m)
        self.slope = 0.5 * ((ell + m) * (ell - m + 1) * plain(m - 1) - plain(m + 1))
        self.curvature = -self.slope / np.tan(gamma) - (ell * (ell + 1) - m * m / sine**2) * self.value
        self.m, self.sine, self.cotangent = m, sine, 1 / np.tan(gamma)[None, :]

    def gradient_and_hessian(self, along, across):
        """Of F(gamma) T(m beta): T at the points, and T' / m. Of the Hessian half the diagonal's difference, and the rest."""
        m = self.m
        gradient = np.stack([self.slope * along, m * self.value / self.sine * across])
        tension = self.curvature * along
        spread = -(m * m) * self.value / self.sine**2 * along + self.cotangent * self.slope * along
        shear = m * (self.slope / self.sine - self.value * self.cotangent / self.sine) * across
        return gradient, np.stack([0.5 * (tension - spread), shear])


def exact_born(earth, catalogue, event, delta, azimuth, frame, basis, model, times):
    """First-order displacement by the integral over the whole sphere, and the zeroth-order one's amplitudes for a check.

    frame: unit vectors south, east and up at the source, as columns. All coordinates below are about the source: Delta from it,
    Phi from south toward east.
    """
    stored = catalogue.arrays()
    degrees, omega = stored["l"].astype(float), stored["omega_rad_s"]
    k2 = degrees * (degrees + 1)
    # Radial integrals.
    even = np.linspace(earth.cmb_radius_m, earth.surface_radius_m, 60)
    edges = np.unique(np.concatenate([earth.discontinuities_m, even]))
    edges = edges[edges >= earth.cmb_radius_m]
    points, weights = np.polynomial.legendre.leggauss(8)
    radius = (0.5 * (edges[1:] + edges[:-1])[:, None] + 0.5 * np.diff(edges)[:, None] * points).ravel()
    weight = (0.5 * np.diff(edges)[:, None] * weights).ravel()
    modulus = np.array([2 * density * vs**2 for density, _, vs, _ in map(earth.evaluate, radius)])
    w = np.empty((len(degrees), len(radius)))
    x = np.empty_like(w)
    for index in range(len(degrees)):
        value, slope = catalogue.eigenfunction(index, radius)
        w[index], x[index] = value, radius * slope - value
    i_x = (x * weight * modulus) @ x.T
    i_w = (w * weight * modulus) @ w.T
    # Source and receiver.
    source_radius = 6371e3 - event["depth_m"]
    at_source = [catalogue.eigenfunction(index, np.array([source_radius])) for index in range(len(degrees))]
    w_s = np.array([value[0] for value, _ in at_source])
    x_s = np.array([slope[0] for _, slope in at_source]) - w_s / source_radius
    w_a = np.array([catalogue.eigenfunction(i, np.array([earth.surface_radius_m]))[0][0] for i in range(len(degrees))])
    _, tt, pp, rt, rp, tp = event["moment_tensor_Nm"]
    phi_path = np.pi - azimuth
    # The grid.
    top = int(degrees.max())
    nodes, node_weights = np.polynomial.legendre.leggauss(top + 24)
    turns = 2 * top + 48
    d_grid, p_grid = np.meshgrid(np.arccos(nodes), 2 * np.pi * np.arange(turns) / turns, indexing="ij")
    area = (node_weights[:, None] * np.full(turns, 2 * np.pi / turns)).ravel()
    d, p = d_grid.ravel(), p_grid.ravel()
    xyz = np.stack([np.sin(d) * np.cos(p), np.sin(d) * np.sin(p), np.cos(d)])
    world = frame @ xyz
    latitude, longitude = np.degrees(np.arcsin(np.clip(world[2], -1, 1))), np.degrees(np.arctan2(world[1], world[0]))
    dlnv = basis.evaluate(model, latitude, longitude, np.full(len(d), 5000e3))
    # Source potentials, -(2l+1)/(4 pi k^2) {...}: the transverse displacement is -d/dDelta of them.
    norm = (2 * degrees + 1) / (4 * np.pi * k2)
    parts = []
    for m, depth, cosine, sine in ((1, x_s, rp, -rt), (2, w_s / source_radius, tp, -0.5 * (tt - pp))):
        trig = cosine * np.cos(m * p) + sine * np.sin(m * p)
        turned = -cosine * np.sin(m * p) + sine * np.cos(m * p)
        gradient, hessian = Potential(degrees, m, d).gradient_and_hessian(trig, turned)
        scale = (-norm * depth)[:, None]
        parts.append((gradient * scale, hessian * scale))
    gradient_s = parts[0][0] + parts[1][0]
    hessian_s = parts[0][1] + parts[1][1]
    # Receiver: polar coordinates about it, beta from the direction away from the source toward growing Phi.
    up = np.array([np.sin(delta) * np.cos(phi_path), np.sin(delta) * np.sin(phi_path), np.cos(delta)])
    ahead = np.array([np.cos(delta) * np.cos(phi_path), np.cos(delta) * np.sin(phi_path), -np.sin(delta)])
    aside = np.array([-np.sin(phi_path), np.cos(phi_path), 0.0])
    gamma = np.arccos(np.clip(up @ xyz, -1, 1))
    beta = np.arctan2(aside @ xyz, ahead @ xyz)
    e_gamma = (np.cos(gamma) * (np.cos(beta) * ahead[:, None] + np.sin(beta) * aside[:, None])) - np.sin(gamma) * up[
        :, None
    ]
    e_delta = np.stack([np.cos(d) * np.cos(p), np.cos(d) * np.sin(p), -np.sin(d)])
    e_phi = np.stack([-np.sin(p), np.cos(p), np.zeros_like(p)])
    cos_psi, sin_psi = np.sum(e_gamma * e_delta, axis=0), np.sum(e_gamma * e_phi, axis=0)
    gradient_r, hessian_r = Potential(degrees, 1, gamma).gradient_and_hessian(np.cos(beta), -np.sin(beta))
    scale = (-w_a * norm)[:, None]
    gradient_r, hessian_r = gradient_r * scale, hessian_r * scale
    turn = lambda v, c, s: np.stack([v[0] * c - v[1] * s, v[0] * s + v[1] * c])  # noqa: E731
    gradient_r = turn(gradient_r, cos_psi, sin_psi)
    hessian_r = turn(hessian_r, cos_psi**2 - sin_psi**2, 2 * sin_psi * cos_psi)

    def coupled(field):
        over = area * field
        z = i_x * sum((gradient_r[c] * over) @ gradient_s[c].T for c in range(2))
        return z + 2 * i_w * 2 * sum((hessian_r[c] * over) @ hessian_s[c].T for c in range(2))

    z = coupled(dlnv)
    flat = coupled(np.ones_like(dlnv))
    # Zeroth order: amplitude of -cos(w t) / w^2, as a field of the uniform Earth must give it.
    slope_1 = Potential(degrees, 1, np.array([delta])).slope[:, 0]
    slope_2 = Potential(degrees, 2, np.array([delta])).slope[:, 0]
    order_1 = rp * np.cos(phi_path) - rt * np.sin(phi_path)
    order_2 = tp * np.cos(2 * phi_path) - 0.5 * (tt - pp) * np.sin(2 * phi_path)
    amplitude = w_a * norm * (x_s * order_1 * slope_1 + w_s / source_radius * order_2 * slope_2)
    out = np.zeros_like(times)
    for i in range(len(degrees)):
        for j in range(len(degrees)):
            out += z[i, j] * response(omega[i], omega[j], event["half_duration_s"], times)
    return out, flat, amplitude, i_x + (k2 - 2)[:, None] * i_w


def gain(omega, half_duration):
    """Moment rate and 1 / w^2; the filter lets all pass."""
    x = 0.5 * omega * half_duration
    return np.sinc(x / np.pi) ** 2 / omega**2


def response(a, b, half_duration, t):
    q_a, q_b = gain(a, half_duration), gain(b, half_duration)
    if a == b:
        step = 1e-5 * a
        slope = (gain(a + step, half_duration) - gain(a - step, half_duration)) / (2 * step)
        return (slope * np.cos(a * t) - q_a * t * np.sin(a * t)) / (2 * a)
    return (q_a * np.cos(a * t) - q_b * np.cos(b * t)) / (a * a - b * b)


def frame_at(latitude_deg, longitude_deg):
    """South, east and up, as columns, at a geographic latitude's place on the sphere."""
    geocentric = np.arctan((1 - 1 / 298.257) ** 2 * np.tan(np.radians(latitude_deg)))
    lam = np.radians(longitude_deg)
    up = np.array([np.cos(geocentric) * np.cos(lam), np.cos(geocentric) * np.sin(lam), np.sin(geocentric)])
    east = np.array([-np.sin(lam), np.cos(lam), 0.0])
    return np.stack([np.cross(east, up), east, up], axis=1)


def station_at(azimuth, distance):
    """Geographic latitude and longitude of a place so far (radians) from 0 N 0 E."""
    geocentric = np.arcsin(np.sin(distance) * np.cos(azimuth))
    longitude = np.degrees(np.arctan2(np.sin(azimuth) * np.sin(distance), np.cos(distance)))
    return np.degrees(np.arctan(np.tan(geocentric) / (1 - 1 / 298.257) ** 2)), longitude


@pytest.mark.parametrize(
    ("degree", "structure", "paths", "anywhere", "theory", "allowed"),
    [
        (30, 4, 6, False, "born", 0.05),
        (30, 8, 12, False, "born", 0.15),
        (30, 4, 6, True, "born", 0.13),
        (30, 4, 6, False, "born_in_plane", 0.15),
        pytest.param(100, 4, 10, False, "born", 0.008, marks=pytest.mark.long),
        pytest.param(100, 4, 10, True, "born", 0.015, marks=pytest.mark.long),
        pytest.param(30, 4, 40, False, "born", 0.05, marks=pytest.mark.long),
        pytest.param(30, 8, 40, False, "born", 0.15, marks=pytest.mark.long),
        pytest.param(30, 4, 40, True, "born", 0.15, marks=pytest.mark.long),
        pytest.param(30, 8, 40, True, "born", 0.35, marks=pytest.mark.long),
    ],
)
def test_couplings_are_the_integral_over_the_sphere(
    earth, fundamentals, degree, structure, paths, anywhere, theory, allowed
):
    """Waves follow the great circle the better the shorter they are beside the structure.

    At 90 degrees and where the source radiates most, or anywhere between 40 and 140 degrees and with any source.
    """
    catalogue = of_degrees(earth, fundamentals, range(degree - structure, degree + structure + 1))
    basis = _craton.ModelBasis(LEVEL, np.linspace(earth.cmb_radius_m, earth.surface_radius_m, 5))
    forward = _craton.ForwardProblem(catalogue, basis, FILTER_S, theory)
    rng = np.random.default_rng(degree + structure)
    wrong = size = 0.0
    for _ in range(paths):
        azimuth = rng.uniform(0, 2 * np.pi)
        phi = np.pi - azimuth
        distance = np.radians(rng.uniform(40, 140)) if anywhere else 0.5 * np.pi
        moment = 1e20 * np.array([0, -np.sin(2 * phi), np.sin(2 * phi), -np.sin(phi), np.cos(phi), np.cos(2 * phi)])
        if anywhere:
            moment = 1e20 * rng.normal(size=6)
        event = {"depth_m": 35e3, "moment_tensor_Nm": moment, "half_duration_s": 12.0}
        latitude, longitude = station_at(azimuth, distance)
        one = [np.array([value]) for value in (0.0, 0.0, event["depth_m"])]
        path = _craton.PathSet(
            forward, *one, moment[None, :], np.array([event["half_duration_s"]]), np.array([latitude]),
            np.array([longitude]), np.array([0]), np.array([0]), np.array([500.0]), INTERVAL_S, np.array([SAMPLES]),
            ["whole"],
        )[0]  # fmt: skip
        model = heterogeneity(basis, structure, rng)
        ours = forward.seismogram(path, model) - forward.seismogram(path, np.zeros(basis.size))
        exact, flat, amplitude, energy = exact_born(
            earth, catalogue, event, path.distance_rad, path.azimuth_rad, frame_at(0.0, 0.0), basis, model, path.times_s
        )
        # The reference itself: a uniform change couples no two degrees, and shifts each mode by its energy.
        expected = np.diag(amplitude * np.diag(energy))
        assert np.abs(flat - expected).max() < 1e-6 * np.abs(expected).max()
        wrong += np.sum((ours - exact) ** 2)
        size += np.sum(exact**2)
    rms = np.sqrt(wrong / size)
    print(f"l = {degree}, heterogeneity of degree {structure}, {theory}: rms {rms:.4f} of the exact integral's")
    assert rms <= allowed


def test_plane_kernel_integrates_to_the_panel(earth):
    """Of one lateral and radial spline: its values along the great circle, times the kernel."""
    catalogue = _craton.ModeCatalogue.solve(earth, 150.0)
    basis = _craton.ModelBasis(3, np.linspace(earth.cmb_radius_m, earth.surface_radius_m, 7))
    forward = _craton.ForwardProblem(catalogue, basis, (800.0, 500.0, 180.0, 150.0), "nact_in_plane")
    path = one_path(forward, np.pi / 3, np.radians(80.0), samples=60, interval_s=15.0)
    panel, indices = forward.panel(path, np.zeros(basis.size))
    points, weights = np.polynomial.legendre.leggauss(6)
    cells = np.linspace(0.0, path.distance_rad, 41)
    angles = (0.5 * (cells[1:] + cells[:-1])[:, None] + 0.5 * np.diff(cells)[:, None] * points).ravel()
    d_angle = (0.5 * np.diff(cells)[:, None] * weights).ravel()
    edges = np.unique(np.concatenate([np.linspace(earth.cmb_radius_m, earth.surface_radius_m, 25), basis.radial_knots_m,
                                      earth.discontinuities_m[earth.discontinuities_m >= earth.cmb_radius_m]]))  # fmt: skip
    radii = (0.5 * (edges[1:] + edges[:-1])[:, None] + 0.5 * np.diff(edges)[:, None] * points[None, :]).ravel()
    d_radius = (0.5 * np.diff(edges)[:, None] * weights).ravel()
    kernel = forward.plane_kernel(path, angles, radii)
    assert kernel.shape == (60, len(angles), len(radii))
    # The great circle from 0 N 0 E.
    latitude = np.degrees(np.arcsin(np.sin(angles) * np.cos(np.pi / 3)))
    longitude = np.degrees(np.arctan2(np.sin(np.pi / 3) * np.sin(angles), np.cos(angles)))
    offsets, knots, values = basis.lateral_weights(latitude, longitude)
    radial = basis.radial_values(radii) * d_radius[:, None]
    by_spline = np.einsum("tar,ri->tai", kernel, radial)
    lateral = np.zeros((len(angles), basis.n_lateral))
    for a in range(len(angles)):
        lateral[a, knots[offsets[a] : offsets[a + 1]]] = values[offsets[a] : offsets[a + 1]]
    ours = np.einsum("tai,ab->tbi", by_spline, lateral * d_angle[:, None]).reshape(60, -1)[:, indices]
    # Splines cut off couplings of widely different degrees, which the kernel has.
    assert np.linalg.norm(ours - panel) < 0.01 * np.linalg.norm(panel)
    with pytest.raises(_craton.UserError, match="radius 3400000"):
        forward.plane_kernel(path, angles, np.array([3400e3]))


@pytest.mark.parametrize("level", [4, 6])
def test_structure_across_the_path_leaves_columns_in_bounds(earth, level):
    """The curvature of a spline narrower than a Fresnel zone would be many times the spline itself."""
    catalogue = _craton.ModeCatalogue.solve(earth, 150.0)
    basis = _craton.ModelBasis(level, np.linspace(earth.cmb_radius_m, earth.surface_radius_m, 5))
    zero, panels = np.zeros(basis.size), {}
    for theory in ("pava", "nact", "nact_in_plane"):
        forward = _craton.ForwardProblem(catalogue, basis, (400.0, 300.0, 180.0, 150.0), theory)
        path = one_path(forward, 1.0, np.radians(100.0), samples=60, interval_s=20.0)
        panels[theory] = forward.panel(path, zero)[0].astype(float)
    coupled = {theory: np.linalg.norm(panels[theory] - panels["pava"]) for theory in ("nact", "nact_in_plane")}
    print(f"level {level}: {coupled['nact'] / coupled['nact_in_plane']:.3f} of the panel in the plane")
    assert 0.8 < coupled["nact"] / coupled["nact_in_plane"] < 1.6
    assert not np.array_equal(panels["nact"], panels["nact_in_plane"])
    # Of a model that is the same everywhere, or nearly so: splines sum to 2.14 +- 0.09.
    uniform = {theory: panel.sum(axis=1) for theory, panel in panels.items()}
    assert np.linalg.norm(uniform["nact"] - uniform["nact_in_plane"]) < 0.02 * np.linalg.norm(uniform["nact_in_plane"])


def one_path(forward, azimuth, distance, samples, interval_s):
    """From 0 N 0 E, where the source is a mixture of all that makes transverse motion."""
    latitude, longitude = station_at(azimuth, distance)
    moment = 1e20 * np.array([[0.2, 0.8, -1.0, 0.4, -0.7, 0.6]])
    place = [np.array([value]) for value in (0.0, 0.0, 35e3)]
    return _craton.PathSet(
        forward, *place, moment, np.array([10.0]), np.array([latitude]), np.array([longitude]), np.array([0]),
        np.array([0]), np.array([500.0]), interval_s, np.array([samples]),
    )[0]  # fmt: skip


def test_errors_name_what_is_allowed(earth):
    catalogue = _craton.ModeCatalogue.solve(earth, 200.0)
    knots = np.linspace(earth.cmb_radius_m, earth.surface_radius_m, 5)
    band = (800.0, 500.0, 250.0, 200.0)
    with pytest.raises(_craton.UserError, match="3 parameters; allowed: 1 .* or 2"):
        _craton.ModelBasis(1, knots, 3)
    basis = _craton.ModelBasis(1, knots)
    with pytest.raises(_craton.UserError, match="parameter 1 is not in the model; allowed: 0 to 0"):
        basis.evaluate(np.zeros(basis.size), np.zeros(1), np.zeros(1), np.array([6000e3]), 1)
    with pytest.raises(
        _craton.UserError, match="theory is 'rays'; allowed: pava, nact, nact_in_plane, born, born_in_plane"
    ):
        _craton.ForwardProblem(catalogue, basis, band, "rays")
    other = _craton.SpheroidalCatalogue.solve(_craton.EarthModel.prem_iso_light(), 200.0)
    with pytest.raises(_craton.UserError, match="'prem_iso_light' with .*'prem_isotropic'; allowed: one Earth"):
        _craton.ForwardProblem(catalogue, basis, band, "pava", other)
    forward = _craton.ForwardProblem(catalogue, basis, band)
    place = [np.array([value]) for value in (0.0, 0.0, 35e3)]
    rest = [np.ones((1, 6)), np.array([5.0]), np.array([0.0]), np.array([60.0]), np.array([0]), np.array([0])]
    window = [np.array([500.0]), 10.0, np.array([20])]
    for labels, words in (
        ((["long way"], []), "along is 'long way'; allowed: minor, major, whole"),
        (([], ["N"]), "component is 'N'; allowed: Z, R, T"),
        (([], ["Z"]), "path 0 .*need spheroidal modes.*; allowed: transverse"),
    ):
        with pytest.raises(_craton.UserError, match=words):
            _craton.PathSet(forward, *place, *rest, *window, *labels)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--periods", "1,2"], "--periods 1,2; allowed: four decreasing periods in seconds"),
        (["--periods", "a,b,c,d"], "--periods a,b,c,d; allowed: numbers with commas between them"),
        (["--distance", "200"], "distance 200 degrees; allowed: 1 to 179"),
        (["--times", "9"], "time 9 s; allowed: "),
        (["-o", "kernel.txt"], "--output kernel.txt: ends in '.txt'; allowed: .png, .pdf, .svg"),
        (
            ["-o", "/no/where/kernel.png"],
            "--output /no/where/kernel.png: no such folder /no/where; allowed: a file in a folder",
        ),
    ],
)
def test_the_command_refuses_in_one_line(tmp_path, words, said):
    usual = ["--periods", "500,400,250,200", "--theory", "pava", "--cache", tmp_path]
    done = craton("tomography", "kernel", "-o", tmp_path / "kernel.png", *usual, *words, seconds=120)
    assert done.returncode == 2
    assert said in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "kernel.png").exists()


def test_the_command_draws(tmp_path):
    usual = ["--periods", "500,400,250,200", "--cache", tmp_path]
    craton("tomography", "kernel", "-o", tmp_path / "kernel.png", *usual, seconds=120).check_returncode()
    assert (tmp_path / "kernel.png").stat().st_size > 10_000
