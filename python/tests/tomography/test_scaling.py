"""Vp and density that follow Vs: against the modes of an Earth that has been changed so."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from craton import UserError, _craton
from craton.tomography.config.tables import TheoryConfig
from mode_paths import EVENTS, KNOTS_M, STATIONS

VP, DENSITY, CHANGE = 0.55, 0.35, 2e-3
SHORTEST_S, BAND_S = 200.0, (900.0, 600.0, 250.0, 200.0)
ROWS = [(3480e3, VP, DENSITY), (6368e3, VP, DENSITY)]


def earth_with(change, vp, density):
    """PREM as a table, its mantle and crust faster by `change`."""
    prem, rows = _craton.EarthModel.prem_isotropic(), []
    ends = [0.0, *np.asarray(prem.discontinuities_m), prem.surface_radius_m]
    for below, above in zip(ends, ends[1:], strict=False):
        for radius in np.linspace(below, above, 7):
            rho, vp_m_s, vs_m_s, q = prem.evaluate(radius, below=bool(radius == above))
            if below >= prem.cmb_radius_m:
                rho, vp_m_s, vs_m_s = rho * (1 + density * change), vp_m_s * (1 + vp * change), vs_m_s * (1 + change)
            rows.append((radius, rho, vp_m_s, vs_m_s, 57823.0, 0.0 if np.isinf(q) else q, vp_m_s, vs_m_s, 1.0))
    return _craton.EarthModel.from_table("changed PREM", np.array(rows))


def solved(kind, earth, dispersion=False):
    options = {} if kind is _craton.ModeCatalogue else {"gravity": "none"}
    return kind.solve(earth, SHORTEST_S, dispersion=dispersion, attenuation=False, **options)


QUICK = [("T", False, VP, DENSITY), ("Z", False, VP, DENSITY)]
EVERY = list(itertools.product("ZT", (False, True), (0.0, VP), (0.0, DENSITY)))


@pytest.mark.parametrize(
    ("component", "dispersion", "vp", "density"),
    [pytest.param(*case, marks=[] if case in QUICK else pytest.mark.long) for case in EVERY],
)
def test_frequencies_are_those_of_the_changed_earth(component, dispersion, vp, density):
    """By differences of the frequencies of modes of Earths that are changed to both sides."""
    kind = _craton.ModeCatalogue if component == "T" else _craton.SpheroidalCatalogue
    toroidal = solved(_craton.ModeCatalogue, earth_with(0.0, vp, density), dispersion)
    ours = toroidal if component == "T" else solved(kind, earth_with(0.0, vp, density), dispersion)
    sides = [solved(kind, earth_with(sign * CHANGE, vp, density), dispersion) for sign in (1, -1)]
    more, less = (dict(zip(zip(each.n, each.l, strict=True), each.period_s, strict=True)) for each in sides)
    spheroidal = None if component == "T" else ours
    rows = [(3480e3, vp, density), (6368e3, vp, density)]
    forward = _craton.ForwardProblem(toroidal, _craton.ModelBasis(1, KNOTS_M), BAND_S, "pava", spheroidal, scaling=rows)
    omega, kernels = forward.kernels_of(component)
    by_omega = {
        2 * np.pi / period: key for key, period in zip(zip(ours.n, ours.l, strict=True), ours.period_s, strict=True)
    }
    every = np.array(sorted(by_omega))
    apart = []
    for own, row in zip(omega, kernels, strict=True):
        key = by_omega[every[int(np.argmin(np.abs(every - own)))]]
        if key in more and key in less:
            expected = (2 * np.pi / more[key] - 2 * np.pi / less[key]) / (2 * CHANGE)
            apart.append((row.sum() - expected) / own)
    assert len(apart) > 40
    # of omega, which dlnVs = 1 changes by about as much
    assert np.quantile(np.abs(apart), 0.97) < (6e-3 if dispersion else 2e-3)
    if not dispersion:
        assert np.median(np.abs(apart)) < 3e-4


def test_derivatives_have_it(small_config):
    modes = solved(_craton.ModeCatalogue, _craton.EarthModel.prem_isotropic())
    basis = _craton.ModelBasis(1, KNOTS_M, 2)
    one, random = np.zeros(1, int), np.random.default_rng(2)
    for theory in ("pava", "nact"):
        forward = _craton.ForwardProblem(modes, basis, BAND_S, theory, scaling=ROWS)
        plain = _craton.ForwardProblem(modes, basis, BAND_S, theory)
        path = _craton.PathSet(
            forward, *{**EVENTS, **STATIONS}.values(), one, one, np.array([600.0]), 10.0, np.array([200])
        )[0]
        model, direction = (random.normal(0.0, size, basis.size) for size in (0.01, 1.0))
        panel, touched = forward.panel(path, model)
        ahead, behind = (np.asarray(forward.seismogram(path, model + sign * 1e-4 * direction)) for sign in (1, -1))
        wanted = (ahead - behind) / 2e-4
        np.testing.assert_allclose(panel @ direction[touched], wanted, rtol=0, atol=5e-4 * np.abs(wanted).max())
        other, _ = plain.panel(path, model)
        half = len(touched) // 2  # dlnxi moves neither
        assert np.linalg.norm(panel[:, :half] - other[:, :half]) > 1e-3 * np.linalg.norm(other[:, :half])


def test_of_theory_keeps_it():
    modes = solved(_craton.ModeCatalogue, _craton.EarthModel.prem_isotropic())
    forward = _craton.ForwardProblem(modes, _craton.ModelBasis(1, KNOTS_M), BAND_S, scaling=ROWS)
    finer = _craton.ModelBasis(2, KNOTS_M)
    again = forward.of_theory("pava", finer)
    assert again.basis.size == finer.size
    ours, theirs = (each.kernels_of("T")[1] for each in (again, forward))
    np.testing.assert_array_equal(ours, theirs)
    plain = _craton.ForwardProblem(modes, forward.basis, BAND_S)
    assert np.abs(plain.kernels_of("T")[1] - theirs).max() > 0.0


def test_settings_become_rows(small_config):
    assert TheoryConfig().scaling() == []
    assert small_config.replaced("theory", vp_over_vs=0.5).theory.scaling() == [(6371e3, 0.5, 0.0)]
    both = small_config.replaced(
        "theory", vp_over_vs=[[0.0, 0.6], [1000.0, 0.4]], density_over_vs=[[660.0, 0.3], [2891.0, 0.0]]
    )
    rows = both.theory.scaling()
    assert [row[0] for row in rows] == [3480e3, 5371e3, 5711e3, 6371e3]
    np.testing.assert_allclose(
        [row[1:] for row in rows], [(0.4, 0.0), (0.4, 0.3 * (1 - 340 / 2231)), (0.468, 0.3), (0.6, 0.3)]
    )


@pytest.mark.parametrize(
    ("name", "value"), [("vp_over_vs", 3.0), ("density_over_vs", "all"), ("vp_over_vs", [[100.0, 0.5], [50.0, 0.5]])]
)
def test_wrong_settings(small_config, name, value):
    with pytest.raises(
        UserError, match=rf"\[theory\] {name} = .*allowed: a number in \[-2, 2\], or a list of \[depth_km, ratio\]"
    ):
        small_config.replaced("theory", **{name: value})


@pytest.mark.parametrize("rows", [[(6e6, 0.5, 0.1), (5e6, 0.5, 0.1)], [(6e6, float("nan"), 0.1)]])
def test_wrong_rows(rows):
    modes = solved(_craton.ModeCatalogue, _craton.EarthModel.prem_isotropic())
    with pytest.raises(UserError, match=r"scaling: row \d has .* allowed: finite numbers, radii that increase"):
        _craton.ForwardProblem(modes, _craton.ModelBasis(1, KNOTS_M), BAND_S, scaling=rows)
