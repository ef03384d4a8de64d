"""Cells that are no cubes, Robin sides, coefficients given as functions, grids of any shape."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from craton import UserError, World, multigrid
from craton._launch import run_under_mpi
from craton.multigrid.check import grids_of
from craton.solvers.multigrid.boundary import sides
from mpi4py import MPI
from on_ranks import assert_ranks_do_not_show

CELLS = (16, 24, 8)
SPACING = (0.25, 0.5, 2.0)


@pytest.fixture(scope="module")
def world():
    return World(MPI.COMM_SELF)


def linear(x, y, z):
    return 1 + x + 2 * y - 3 * z


def centres(cells, spacing):
    return np.meshgrid(*((np.arange(n) + 0.5) * h for n, h in zip(cells, spacing, strict=True)), indexing="ij")


@pytest.mark.parametrize("operator", ["7pt", "fv2", "fv4"])
def test_linear_functions_are_exact_on_cells_of_any_sides(world, operator):
    """Functions see true coordinates, fluxes pass faces of the right size, Robin sides mix the two."""
    x, y, z = centres(CELLS, SPACING)
    expected = linear(x, y, z)

    def check(boundary, values, beta=1.0):
        solver = multigrid.Solver(
            world, CELLS, 8, operator=operator, boundary=boundary, spacing=SPACING, beta=beta, a=1.0
        )
        assert solver.spacing == SPACING
        found = solver.solve(linear, boundary_values=values, tolerance=1e-12, unconverged="ignore")
        np.testing.assert_allclose(found.u, expected, rtol=0, atol=1e-9)

    check("dirichlet", linear)
    if operator == "fv4":
        return  # takes neither fluxes nor Robin sides
    mixed = ("dirichlet", ("neumann", "dirichlet"), ("neumann", "neumann"))
    check(mixed, (linear, (-2, linear), (3.0, np.full((16, 24), -3.0))))
    slopes = ((-1, 1), (-2, 2), (3, -3))
    given = [
        [lambda *at, a=2 + axis, s=slope: a * linear(*at) + 5 * 0.7 * s for slope in pair]
        for axis, pair in enumerate(slopes)
    ]
    check([("robin", 2, 5), ("robin", 3, 5), ("robin", 4, 5)], given, beta=0.7)
    # both signs turned over; one coefficient alone
    turned = (("robin", -2, -5), ("robin", 3, 0))
    check([turned, "dirichlet", ("neumann", ("robin", 0, 4))], [
        (lambda *at: -2 * linear(*at) + 5 * 0.7, lambda *at: 3 * linear(*at)), linear, (3 * 0.7, -4 * 3 * 0.7)
    ], beta=0.7)  # fmt: skip


@pytest.mark.parametrize("operator", ["7pt", "fv2", "fv4"])
def test_scaling_all_lengths_scales_the_equation(world, operator):
    f = np.random.default_rng(1).normal(size=CELLS)
    plain = multigrid.Solver(world, CELLS, 8, operator=operator)
    assert plain.spacing == (1 / 24,) * 3
    large = multigrid.Solver(world, CELLS, 8, operator=operator, spacing=10 / 24)
    np.testing.assert_allclose(large.apply(f), plain.apply(f) / 100, rtol=1e-12, atol=1e-11)
    found = large.solve(f, tolerance=1e-10)
    np.testing.assert_allclose(found.u, 100 * plain.solve(f, tolerance=1e-10).u, rtol=0, atol=1e-8)


@pytest.mark.parametrize("operator", ["7pt", "fv2", "fv4"])
@pytest.mark.parametrize("spacing", [(1, 1, 1.4), (1, 4, 1), (4, 2, 1), (1, 1, 100)])
@pytest.mark.parametrize("boundary", ["dirichlet", "neumann", ("periodic", ("neumann", "dirichlet"), "neumann")])
def test_cells_of_any_sides_converge(world, operator, spacing, boundary):
    random = np.random.default_rng(3)
    cells = (32, 21, 26)
    beta = [1 + 0.5 * random.uniform(size=[n + (d == axis) for d, n in enumerate(cells)]) for axis in range(3)]
    solver = multigrid.Solver(world, cells, 16, operator=operator, boundary=boundary, spacing=spacing, beta=beta)
    f = random.normal(size=cells)
    f -= f.mean()
    found = solver.solve(f, tolerance=1e-10, most=12, unconverged="ignore")
    assert found.converged, found.residuals
    assert np.abs(f - solver.apply(found.u)).max() <= 1.1e-10 * np.abs(f).max()
    flat = sides(boundary).flat
    assert grids_of(cells, operator, solver.singular, spacing, flat) == solver.grids


@pytest.mark.parametrize("operator", ["7pt", "fv2", "fv4"])
@pytest.mark.parametrize("cells", [(4, 4, 1000), (4, 90, 70)])
@pytest.mark.parametrize("boundary", ["dirichlet", "neumann", "periodic"])
def test_grids_of_any_shape_converge(world, operator, cells, boundary):
    solver = multigrid.Solver(world, cells, 16, operator=operator, boundary=boundary)
    f = np.random.default_rng(4).normal(size=cells)
    found = solver.solve(f - f.mean(), tolerance=1e-10, most=12, unconverged="ignore")
    assert found.converged, found.residuals
    assert grids_of(cells, operator, solver.singular, None, sides(boundary).flat) == solver.grids


def beta_of(x, y, z):
    return 2 + np.sin(3 * x + y) * np.cos(2 * z)


@pytest.mark.parametrize("operator", ["7pt", "fv2", "fv4"])
def test_functions_are_values_at_faces_and_cells_or_averages_over_them(world, operator):
    cells, spacing = (8, 12, 10), (0.1, 0.05, 0.2)
    averages = operator != "7pt"

    def arrays(normal_to):
        nodes = np.polynomial.legendre.leggauss(2)[0] / 2 if averages else np.zeros(1)
        along = [
            (np.arange(n + 1)[:, None] if d == normal_to else np.arange(n)[:, None] + 0.5 + nodes) * h
            for d, (n, h) in enumerate(zip(cells, spacing, strict=True))
        ]
        x, y, z = along
        values = beta_of(
            x[:, None, None, :, None, None], y[None, :, None, None, :, None], z[None, None, :, None, None, :]
        )
        return values.mean(axis=(3, 4, 5))

    faces = [arrays(axis) for axis in range(3)]
    f = np.random.default_rng(5).normal(size=cells)
    given = {"operator": operator, "spacing": spacing, "a": 2.0}
    by_arrays = multigrid.Solver(world, cells, 4, beta=faces, alpha=arrays(None), **given)
    wanted = by_arrays.apply(f)
    for beta in (beta_of, (beta_of, beta_of, beta_of), (beta_of, faces[1], beta_of)):
        by_function = multigrid.Solver(world, cells, 4, beta=beta, alpha=beta_of, **given)
        np.testing.assert_allclose(by_function.apply(f), wanted, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(by_function.whole(by_function.own_part(beta_of)), arrays(None), rtol=1e-13)
    # f too; u is then that of the whole grid
    u = by_function.solve(beta_of).u
    np.testing.assert_allclose(u, by_arrays.solve(arrays(None)).u, rtol=0, atol=1e-12)
    assert by_function.solve(by_function.own_part(beta_of)).u.shape == by_function.own_shape
    # a number stands for an array of it
    one = multigrid.Solver(world, cells, 4, beta=lambda x, y, z: 3, alpha=lambda x, y, z: 1.0, **given)
    plain = multigrid.Solver(world, cells, 4, beta=3.0, **given)
    np.testing.assert_allclose(one.apply(f), plain.apply(f), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("operator", ["7pt", "fv2"])
@pytest.mark.parametrize("spacing", [None, (0.05, 0.1, 0.025)])
def test_robin_sides_are_of_second_order(world, operator, spacing):
    """A product of cosines and sines, beta of its own, a and c of each side."""

    def u(x, y, z):
        return np.cos(2 * x + 0.3) * np.sin(y + 1) * np.exp(z)

    def beta(x, y, z):
        return 1.5 + x + 0 * y + 0 * z

    def f(x, y, z):
        return 2 * np.sin(2 * x + 0.3) * np.sin(y + 1) * np.exp(z) + beta(x, y, z) * 4 * u(x, y, z)

    def gradient(axis, x, y, z):
        return (
            -2 * np.sin(2 * x + 0.3) * np.sin(y + 1) * np.exp(z),
            np.cos(2 * x + 0.3) * np.cos(y + 1) * np.exp(z),
            u(x, y, z),
        )[axis]

    coefficients = [((1, 2), (3, 0.5)), ((0.1, 1), (5, 5)), ((-2, -1), (1, 40))]
    boundary = [tuple(("robin", *pair) for pair in ends) for ends in coefficients]
    values = [
        tuple(
            lambda *at, axis=axis, sign=sign, a=a, c=c: a * u(*at) + c * sign * beta(*at) * gradient(axis, *at)
            for sign, (a, c) in zip((-1, 1), ends, strict=True)
        )
        for axis, ends in enumerate(coefficients)
    ]
    errors = []
    for n in (1, 2, 4):
        h = None if spacing is None else tuple(each / n for each in spacing)
        solver = multigrid.Solver(world, 12 * n, 6 * n, operator=operator, spacing=h, boundary=boundary, beta=beta)
        found = solver.solve(f, boundary_values=values, tolerance=1e-9)
        errors.append(np.abs(found.u - solver.whole(solver.own_part(u))).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert errors[0] < 0.05
    assert orders[0] > 1.6 and orders[1] > 1.8, (errors, orders)


def test_a_robin_side_fixes_u_unless_it_is_a_flux(world):
    free = multigrid.Solver(world, 16, 8, boundary=("robin", 0, 2))
    assert free.singular
    assert not multigrid.Solver(
        world, 16, 8, boundary=("neumann", "periodic", (("robin", 1e-3, 1), "neumann"))
    ).singular
    f = np.random.default_rng(6).normal(size=(16, 16, 16))
    f -= f.mean()
    flux = np.random.default_rng(7).normal(size=(16, 16))
    plain = multigrid.Solver(world, 16, 8, boundary="neumann")
    given = ((flux, flux), (1, -1), (0, 0))
    f -= plain.solve(f).u.mean()
    balanced = f - 2 * flux.mean() * 1.0
    doubled = tuple(tuple(2 * np.asarray(each) for each in pair) for pair in given)
    np.testing.assert_array_equal(
        free.solve(balanced, boundary_values=doubled).u, plain.solve(balanced, boundary_values=given).u
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"spacing": 0}, "spacing = 0; allowed: a number above 0, or three"),
        ({"spacing": (1, 2)}, r"spacing = \(1, 2\); allowed: a number above 0, or three"),
        ({"spacing": (1, -2, 1)}, r"spacing = \(1, -2, 1\); allowed"),
        ({"spacing": (1, np.nan, 1)}, r"spacing = \(1, nan, 1\); allowed"),
        ({"spacing": "x"}, "spacing = 'x'; allowed"),
        ({"spacing": (1, 1e-150, 1)}, "spacing = 1, 1e-150, 1; allowed: three numbers from 1e-100 to 1e[+]100"),
        (
            {"boundary": ("robin", 1, -2)},
            r"a = 1, c = -2 in a u \+ c beta du/dn on the side before the first x; allowed: both",
        ),
        ({"boundary": ("robin", 0, 0)}, "a = 0, c = 0 in a u"),
        ({"boundary": ("robin", np.inf, 0)}, "a = inf, c = 0 in a u"),
        ({"boundary": ("robin", 1, None)}, "c of a Robin side = None; allowed: a number"),
        ({"boundary": ("robin", 1, 2, 3)}, r"boundary = \('robin', 1, 2, 3\); allowed: dirichlet"),
        ({"boundary": ("robin", "dirichlet", "dirichlet")}, r"\('robin', a, c\), or three of them"),
        ({"boundary": ("dirichlet", "dirichlet", ("periodic", ("robin", 1, 2)))}, "allowed: dirichlet"),
        (
            {"boundary": ("robin", 1, 2), "operator": "fv4"},
            "Robin's condition on the side before the first x with fv4; allowed: with",
        ),
        ({"beta": lambda x, y, z: x[:3]}, r"values of beta of shape \(3, 8, 8\); allowed: a number, or \(9, 8, 8\)"),
        ({"beta": lambda x, y, z: "x"}, "values of beta are no real numbers; allowed: a number, or"),
        (
            {"beta": lambda x, y, z: -x},
            "beta on the face normal to x before cell .* = 0; allowed: positive and finite",
        ),
        ({"beta": (1.0, lambda x, y, z: x, 2.0)}, "beta of shapes"),
        ({"beta": lambda x: x}, "TypeError: .*; allowed: arguments and functions that work"),
        ({"alpha": lambda x, y, z: 0 * x - 1}, r"alpha at cell \(0, 0, 0\) = -1; allowed: 0 or more"),
    ],
)
def test_bad_problems(world, change, words):
    with pytest.raises(UserError, match=words):
        multigrid.Solver(world, **({"cells": 16, "box": 8} | change))


SEVERAL = """
import json
import numpy as np
from craton._launch import main_guard
with main_guard():
    import craton
    from craton import multigrid
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    world = craton.World(comm)
    found = []
    for operator in ("7pt", "fv2"):
        solver = multigrid.Solver(
            world, (20, 26, 34), 8, operator=operator, spacing=(1, 3, 0.5), a=0.1,
            beta=lambda x, y, z: 2 + np.sin(x + y + z),
            boundary=("periodic", (("robin", 1, 2), "neumann"), ("robin", 3, 1)),
        )
        u = solver.solve(lambda x, y, z: np.cos(x * y - z), boundary_values=(None, 1.0, (2.0, 0.5)), tolerance=1e-11).u
        found += [float(np.abs(u).sum()), float(u[19, 25, 33])]
    if comm.rank == 0:
        print(json.dumps(found))
"""


def test_ranks_do_not_show(tmp_path, capfd):
    assert_ranks_do_not_show(SEVERAL, tmp_path, capfd)


def test_one_rank_alone_may_have_a_function_that_fails(tmp_path, capfd):
    (tmp_path / "program.py").write_text("""
from craton._launch import main_guard
with main_guard():
    import craton
    from craton import multigrid
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    last = comm.rank + 1 == comm.size
    multigrid.Solver(craton.World(comm), 16, 8, beta=lambda x, y, z: 1 // (not last))
""")
    assert run_under_mpi([str(tmp_path / "program.py")], 3, program=[sys.executable]) == 2
    [line] = capfd.readouterr().err.splitlines()
    assert "ZeroDivisionError" in line and "on rank 2; allowed: arguments and functions that work" in line
