"""craton.multigrid beside the NumPy twin, and with problems of a user's own."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from craton import UserError, World, multigrid
from craton._launch import run_under_mpi
from mpi4py import MPI

sys.path.insert(0, str(Path(__file__).parents[1] / "reference"))
import multigrid_reference as reference

CELLS = 32


@pytest.fixture(scope="module")
def world():
    return World(MPI.COMM_SELF)


def twin(operator: str, smoother: str, a: float) -> reference.Multigrid:
    return reference.Multigrid(reference.finest_level(reference.DISCRETISATIONS[operator], CELLS, a), smoother)


@pytest.mark.parametrize("smoother", ["gsrb", "chebyshev", "jacobi"])
@pytest.mark.parametrize("operator", ["7pt", "fv2", "fv4"])
def test_an_f_cycle_is_the_references(world, operator, smoother):
    """Its coefficients and right-hand side go in as arrays; every cell of u is compared."""
    other = twin(operator, smoother, 1.0)
    level = other.levels[0]
    solver = multigrid.Solver(world, CELLS, 16, a=1.0, beta=level.beta, operator=operator, smoother=smoother)
    expected = other.f_cycle()
    found = solver.solve(level.f, most=0)
    np.testing.assert_allclose(found.u, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert found.residuals[0] == pytest.approx(other.relative_residual(expected), rel=1e-8)
    np.testing.assert_allclose(solver.apply(expected), level.apply(expected), rtol=0, atol=1e-9 * np.abs(level.f).max())


def test_solves_to_a_tolerance(world):
    solver = multigrid.Solver(world, (16, 32, 32), 8, operator="fv2")
    f = np.random.default_rng(1).normal(size=(16, 32, 32))
    solution = solver.solve(f, tolerance=1e-9)
    assert solution.converged and solution.cycles == len(solution.residuals) - 1 < 20
    assert np.abs(f - solver.apply(solution.u)).max() <= 1.01e-9 * np.abs(f).max()
    own = solver.solve(solver.own_part(f), tolerance=1e-9)
    assert own.u.shape == solver.own_shape
    np.testing.assert_array_equal(solver.whole(own.u), solution.u)


def test_a_preconditioner_for_jumps_of_a_million(world):
    beta = multigrid.faces_of_cells(10.0 ** np.random.default_rng(2).uniform(0, 6, size=(16, 16, 16)))
    solver = multigrid.Solver(world, 16, 8, beta=beta)
    f = np.random.default_rng(3).normal(size=(16, 16, 16))
    solution = solver.solve(f, method="cg", most=200)
    assert solution.converged
    assert np.abs(f - solver.apply(solution.u)).max() <= 1.1e-8 * np.abs(f).max()
    better = f - solver.apply(solver.precondition(f))
    assert np.linalg.norm(better) < 2 * np.linalg.norm(f)


@pytest.mark.parametrize(
    "boundary", ["dirichlet", "neumann", "periodic", ("periodic", "neumann", ("neumann", "dirichlet"))]
)
@pytest.mark.parametrize("operator", ["7pt", "fv2", "fv4"])
@pytest.mark.parametrize("smoother", ["gsrb", "chebyshev"])
def test_jumps_of_a_million_from_cell_to_cell_whatever_the_boundary(world, boundary, operator, smoother):
    """Every cell with a beta of its own, and faces with one of theirs where constants are free."""
    random = np.random.default_rng(8)
    if boundary in ("neumann", "periodic"):
        shapes = [tuple(16 + (d == axis) for d in range(3)) for axis in range(3)]
        beta = [10.0 ** random.uniform(0, 6, size=shape) for shape in shapes]
    else:
        beta = multigrid.faces_of_cells(10.0 ** random.uniform(0, 6, size=(16, 16, 16)))
    solver = multigrid.Solver(world, 16, 8, beta=beta, boundary=boundary, operator=operator, smoother=smoother)
    f = random.normal(size=(16, 16, 16))
    f -= f.mean()
    solution = solver.solve(f, method="cg", most=300)
    assert solution.converged
    assert np.abs(f - solver.apply(solution.u)).max() <= 1.1e-8 * np.abs(f).max()


@pytest.mark.parametrize("operator", ["7pt", "fv2", "fv4"])
@pytest.mark.parametrize("boundary", ["neumann", "periodic", ("periodic", ("neumann", "neumann"), "periodic")])
def test_constants_are_free_without_a_dirichlet_side(world, boundary, operator):
    solver = multigrid.Solver(world, 16, 8, boundary=boundary, operator=operator)
    assert solver.singular
    f = np.random.default_rng(4).normal(size=(16, 16, 16))
    with pytest.raises(UserError, match="mean of the right-hand side"):
        solver.solve(f)
    solution = solver.solve(f - f.mean())
    assert solution.converged
    assert abs(solution.u.mean()) < 1e-12
    assert np.abs(solver.apply(np.ones((16, 16, 16)))).max() < 1e-9


@pytest.mark.parametrize("operator", ["7pt", "fv2"])
def test_alpha_multiplies_u(world, operator):
    alpha = np.random.default_rng(6).uniform(0, 5, size=(16, 16, 16))
    u = np.random.default_rng(7).normal(size=(16, 16, 16))
    plain = multigrid.Solver(world, 16, 8, operator=operator)
    solver = multigrid.Solver(world, 16, 8, operator=operator, alpha=alpha, a=1000.0)
    np.testing.assert_allclose(solver.apply(u) - plain.apply(u), 1000 * alpha * u, rtol=0, atol=1e-9)
    own = multigrid.Solver(world, 16, 8, operator=operator, alpha=plain.own_part(alpha), a=1000.0)
    np.testing.assert_array_equal(own.apply(u), solver.apply(u))
    found = solver.solve(1000 * alpha, method="cg")
    assert found.converged
    # a cell's own term is all there is where it outweighs its neighbours' sixfold thousandth of a square
    far = multigrid.Solver(world, 16, 8, operator=operator, alpha=1 + alpha, a=1e9).solve(1e9 * (1 + alpha) * u)
    np.testing.assert_allclose(far.u, u, rtol=0, atol=1e-4)


@pytest.mark.parametrize("a", [1e3, 1e6])
def test_an_alpha_that_jumps_is_no_harm_to_the_fourth_order(world, a):
    random = np.random.default_rng(9)
    alpha = np.where(random.uniform(size=(16, 16, 16)) < 0.5, 0.0, 10.0 ** random.uniform(-6, 0, size=(16, 16, 16)))
    solver = multigrid.Solver(world, 16, 8, operator="fv4", alpha=alpha, a=a)
    f = random.normal(size=(16, 16, 16))
    found = solver.solve(f, most=15)
    assert found.converged
    assert np.abs(f - solver.apply(found.u)).max() <= 1.1e-8 * np.abs(f).max()


def linear(x, y, z):
    return 1 + x + 2 * y - 3 * z


@pytest.mark.parametrize("operator", ["7pt", "fv2", "fv4"])
def test_linear_functions_are_exact_whatever_is_given_on_the_boundary(world, operator):
    cells = (16, 24, 8)
    h = 1 / 24
    x, y, z = np.meshgrid(*((np.arange(n) + 0.5) * h for n in cells), indexing="ij")
    f = np.zeros(cells)

    def check(boundary, values, **more):
        solver = multigrid.Solver(world, cells, 4, operator=operator, boundary=boundary, **more)
        given = f if not more else linear(x, y, z)  # rounding ends at 2e-12 of it
        found = solver.solve(given, boundary_values=values, tolerance=1e-12, unconverged="ignore")
        np.testing.assert_allclose(found.u, linear(x, y, z), rtol=0, atol=1e-9)

    check("dirichlet", linear)
    check("dirichlet", linear, a=1.0)
    sides = [(linear(0, y[0], z[0]), linear(16 * h, y[0], z[0])), linear, (linear, linear(x[..., 0], y[..., 0], 8 * h))]
    check("dirichlet", sides)
    if operator == "fv4":
        return  # takes no fluxes
    mixed = ("dirichlet", ("neumann", "dirichlet"), ("neumann", "neumann"))
    check(mixed, (linear, (-2, linear), (3.0, np.full((16, 24), -3.0))))
    # where constants are free fluxes that balance each other determine all but a constant
    free = multigrid.Solver(world, cells, 4, operator=operator, boundary="neumann")
    u = free.solve(f, boundary_values=((-1, 1), (-2, 2), (3, -3)), tolerance=1e-12).u
    expected = linear(x, y, z)
    np.testing.assert_allclose(u, expected - expected.mean(), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("boundary", "values", "words"),
    [
        ("dirichlet", (1, 2), r"boundary_values of lengths \[2, 2\]; allowed: one for all sides, or three"),
        ("dirichlet", (1, (1, 2, 3), 2), r"boundary_values of lengths \[2, 3, 2\]"),
        (
            "dirichlet",
            np.ones(16),
            r"values on the side before the first x of shape \(16,\); allowed: a number, or \(16, 16\)",
        ),
        ("dirichlet", (0, (0, "a"), 0), "values on the side behind the last y are no real numbers"),
        ("dirichlet", (0, (0, 1 + 2j), 0), "values on the side behind the last y are no real numbers"),
        (
            "dirichlet",
            lambda x, y, z: "hot",
            "values on the side before the first x are no real numbers; allowed: a number",
        ),
        ("dirichlet", lambda x, y, z: {}[1], "KeyError: 1 on rank 0; allowed: arguments and functions that work"),
        (
            "dirichlet",
            lambda x, y, z: np.where(x > 0.999, np.nan, 1),
            r"value on the side behind the last x, beside cell \(15, ",
        ),
        (("periodic", "dirichlet", "dirichlet"), (1, 0, 0), "side before the first x; allowed: none, it is periodic"),
        (
            ("dirichlet", "neumann", "dirichlet"),
            1.0,
            r"flux on the side before the first y, .* = 1; allowed: 0 with fv4",
        ),
    ],
)
def test_bad_boundary_values(world, boundary, values, words):
    solver = multigrid.Solver(world, 16, 8, operator="fv4", boundary=boundary)
    with pytest.raises(UserError, match=words):
        solver.solve(np.zeros((16, 16, 16)), boundary_values=values)


def test_times_by_level_and_phase_make_up_the_whole(world):
    solver = multigrid.Solver(world, 64, 32, operator="fv4")
    f = np.random.default_rng(5).normal(size=(64, 64, 64))
    solver.solve(f, most=0)
    assert not any(sum(level.values()) for level in solver.longest_times())
    solver.record_times()
    begun = time.perf_counter()
    solver.solve(f, most=2, tolerance=1e-12, unconverged="ignore")
    whole = time.perf_counter() - begun
    levels = solver.longest_times()
    assert len(levels) == len(solver.levels)
    assert 0.5 * whole < sum(sum(level.values()) for level in levels) <= whole
    assert [level["bottom solve"] > 0 for level in levels] == [False] * (len(levels) - 1) + [True]
    assert all(level[name] > 0 for level in levels[:-1] for name in ("smoothing", "ghost exchange", "restriction"))
    solver.record_times()
    assert not any(sum(level.values()) for level in solver.longest_times())


def test_faces_of_cells_are_harmonic_means():
    faces = multigrid.faces_of_cells(np.array([1.0, 3.0]).reshape(2, 1, 1))
    np.testing.assert_allclose(faces[0].ravel(), [1.0, 1.5, 3.0])
    assert [f.shape for f in faces] == [(3, 1, 1), (2, 2, 1), (2, 1, 2)]


@pytest.mark.parametrize(
    ("cells", "periodic", "words"),
    [
        ("x", (True,) * 3, "beta of cells is no array of real numbers"),
        (np.ones((2, 2, 2), dtype=complex), (True,) * 3, "beta of cells is no array of real numbers"),
        (np.ones((2, 2)), (True,) * 3, r"beta of cells of shape \(2, 2\); allowed: three"),
        (np.ones((0, 2, 2)), (True,) * 3, r"beta of cells of shape \(0, 2, 2\)"),
        (np.ones((2, 2, 2)), (True,), r"periodic = \(True,\); allowed: three"),
    ],
)
def test_faces_of_bad_cells(cells, periodic, words):
    with pytest.raises(UserError, match=words):
        multigrid.faces_of_cells(cells, periodic)


NAN = np.full((16, 16, 16), np.nan)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cells": 0}, "cells = 0 x 0 x 0 with box = 8; allowed: at least 1 of each"),
        ({"cells": (16, 16, 3), "operator": "fv4"}, "boxes of 3 cells a side; allowed: at least 4 with fv4"),
        ({"cells": (16, 16)}, r"cells = \(16, 16\); allowed: a whole number, or three"),
        ({"box": 0}, "box = 0"),
        ({"boundary": "robin"}, "boundary = 'robin'; allowed: dirichlet, neumann, periodic"),
        ({"boundary": ("periodic", "neumann")}, "allowed: dirichlet"),
        ({"boundary": 3}, "boundary = 3; allowed: dirichlet"),
        ({"boundary": (None,) * 3}, r"boundary = \(None, None, None\); allowed: dirichlet"),
        ({"boundary": ("dirichlet", "dirichlet", ("neumann",) * 3)}, "allowed: dirichlet"),
        ({"boundary": ("periodic", "neumann", ("periodic", "neumann"))}, "allowed: dirichlet"),
        ({"operator": "fv3"}, "'fv3'; allowed: 7pt, fv2, fv4"),
        ({"smoother": "sor"}, "'sor'; allowed: chebyshev"),
        ({"order": "peano"}, "'peano'; allowed: lexicographic"),
        ({"beta": 0.0}, "= 0; allowed: positive and finite"),
        ({"beta": float("nan")}, "= nan; allowed: positive and finite"),
        ({"beta": (NAN, NAN, NAN)}, "beta of shapes"),
        ({"beta": ("x", "y", "z")}, r"beta\[0\] is no array of real numbers; allowed: a number, or arrays"),
        ({"beta": "x"}, "beta = 'x'; allowed: a number, or arrays"),
        ({"beta": None}, "beta = None; allowed: a number, or arrays"),
        ({"beta": 2j}, "beta = 2j; allowed: a number, or arrays"),
        ({"beta": [np.ones((17, 16, 16), dtype=complex)] * 3}, r"beta\[0\] is no array of real numbers"),
        ({"alpha": NAN}, r"alpha at cell \(0, 0, 0\) = nan; allowed: 0 or more"),
        ({"alpha": -np.ones((16, 16, 16))}, r"alpha at cell \(0, 0, 0\) = -1"),
        ({"alpha": np.zeros((16, 16, 16))}, "alpha = 0 everywhere"),
        ({"alpha": np.ones((16, 16, 16)), "a": 0.0}, "alpha with a = 0"),
        ({"alpha": np.ones(3)}, r"alpha of shape \(3,\); allowed"),
        ({"alpha": "x"}, "alpha is no array of real numbers"),
        ({"alpha": np.ones((16, 16, 16), dtype=complex)}, "alpha is no array of real numbers"),
        ({"a": "x"}, "a = 'x'; allowed: a number"),
        ({"b": None}, "b = None; allowed: a number"),
        ({"threads": "x"}, "threads = 'x'; allowed: a whole number"),
        ({"threads": 1.5}, "threads = 1.5; allowed: a whole number"),
        ({"box": "8"}, "box = '8'; allowed: a whole number"),
        ({"cells": 2**40}, "cells = 1099511627776; allowed: a whole number"),
        ({"operator": None}, "operator = None; allowed: 7pt, fv2, fv4"),
        ({"a": -1.0}, "a = -1"),
        ({"b": 0.0}, "b = 0"),
    ],
)
def test_bad_problems(world, change, words):
    with pytest.raises(UserError, match=words):
        multigrid.Solver(world, **({"cells": 16, "box": 8} | change))


def test_bad_right_hand_sides(world):
    solver = multigrid.Solver(world, 16, 8)
    with pytest.raises(UserError, match=r"right-hand side at cell \(0, 0, 0\) = nan; allowed: a finite number"):
        solver.solve(NAN)
    with pytest.raises(UserError, match=r"right-hand side of shape \(3,\); allowed"):
        solver.solve([1, 2, 3])
    with pytest.raises(UserError, match="right-hand side is no array of real numbers"):
        solver.solve(np.full((16, 16, 16), 1j))
    with pytest.raises(UserError, match=r"field of shape \(3,\); allowed: \(16, 16, 16\)"):
        solver.own_part([1, 2, 3])
    with pytest.raises(UserError, match="tolerance = None; allowed: a number"):
        solver.solve(np.ones((16, 16, 16)), tolerance=None)
    with pytest.raises(UserError, match="most = 1.5; allowed: a whole number"):
        solver.solve(np.ones((16, 16, 16)), most=1.5)
    with pytest.raises(UserError, match="progress = 3; allowed: a function"):
        solver.solve(np.ones((16, 16, 16)), progress=3)
    with pytest.raises(UserError, match="unconverged = 3; allowed: warn, raise, ignore"):
        solver.solve(np.ones((16, 16, 16)), unconverged=3)
    with pytest.raises(UserError, match="tolerance = 2"):
        solver.solve(np.ones((16, 16, 16)), tolerance=2)
    with pytest.raises(UserError, match="method = 'lu'; allowed: cycles, cg"):
        solver.solve(np.ones((16, 16, 16)), method="lu")


SEVERAL = """
import json
import numpy as np
from craton._launch import main_guard
with main_guard():
    import craton
    from craton import multigrid
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    solver = multigrid.Solver(craton.World(comm), 16, 8, operator="fv4")
    f = np.arange(4096.0).reshape(16, 16, 16) % 7
    u = solver.solve(f).u
    own = solver.solve(solver.own_part(f)).u
    assert np.array_equal(solver.own_part(u), own)
    if comm.rank == 0:
        print(json.dumps(float(np.abs(u).sum())))
"""


def test_ranks_do_not_show(tmp_path, capfd):
    (tmp_path / "program.py").write_text(SEVERAL)
    sums = []
    for ranks in (1, 3):
        assert run_under_mpi([str(tmp_path / "program.py")], ranks, program=[sys.executable]) == 0
        sums.append(json.loads(capfd.readouterr().out))
    assert sums[0] == pytest.approx(sums[1], rel=1e-10)


FAULTS = """
import numpy as np
from craton._launch import main_guard
with main_guard():
    import craton
    from craton import multigrid
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    world = craton.World(comm)
    last = comm.rank + 1 == comm.size

    def field(fault):  # in the last cell, which is one rank's
        values = np.ones((16, 16, 16))
        values[15, 15, 15] = fault
        return values

    def solver(cells=16, **more):
        return multigrid.Solver(world, cells, 8, **more)

    plain = solver()
    faces = [np.ones([16 + (d == axis) for d in range(3)]) for axis in range(3)]
    bad_faces = [values.copy() for values in faces]
    bad_faces[1][15, 15, 15] = np.nan
    zero = [values.copy() for values in faces]
    zero[2][15, 15, 16] = 0
    good, none = field(1), np.zeros((16, 16, 16))
    part = plain.own_part(good)
    faults = [
        (lambda: solver(0), "cells = 0 x 0 x 0 with box = 8; allowed: at least 1 of each"),
        (lambda: solver(beta=bad_faces), "before cell (15, 15, 15) = nan; allowed: positive and finite"),
        (lambda: solver(beta=zero), "= 0; allowed: positive and finite"),
        (lambda: solver(beta=0.0), "= 0; allowed: positive and finite"),
        (lambda: solver(beta=faces[:2] if last else faces), "beta of shapes"),
        (lambda: solver(beta=("x", "y", "z") if last else faces), "beta[0] is no array of real numbers"),
        (lambda: solver(beta=None if last else faces), "beta = None; allowed: a number"),
        (lambda: solver(boundary=3 if last else "neumann"), "boundary = 3; allowed: dirichlet"),
        (lambda: plain.solve(good, boundary_values=lambda x, y, z: 1 // (not last)), "ZeroDivisionError: "),
        (lambda: solver(alpha=field(np.nan)), "alpha at cell (15, 15, 15) = nan; allowed: 0 or more"),
        (lambda: solver(alpha=field(-1)), "alpha at cell (15, 15, 15) = -1; allowed: 0 or more"),
        (lambda: solver(alpha=none), "alpha = 0 everywhere"),
        (lambda: solver(alpha=good[:3] if last else good), "alpha of shape (3, 16, 16)"),
        (lambda: solver(alpha=good, a=0.0), "alpha with a = 0"),
        (lambda: plain.solve(good[1:] if last else good), "right-hand side of shape (15, 16, 16)"),
        (lambda: plain.solve(part[1:] if last else part), "right-hand side of shape"),
        (lambda: plain.solve(field(np.inf)), "right-hand side at cell (15, 15, 15) = inf"),
        (lambda: plain.solve(good, boundary_values=good[0] if not last else good), "values on the side before the first x"),
        (lambda: plain.solve(good, boundary_values=field(np.nan)[15]), "= nan; allowed: a finite number"),
        (lambda: plain.solve(good, tolerance=0), "tolerance = 0"),
        (lambda: solver(boundary="neumann").solve(good), "mean of the right-hand side = 1"),
    ]
    if comm.size > 1:
        faults += [
            (lambda: multigrid.Solver(world, 8, 8), f"boxes = 1 on {comm.size} ranks; allowed: at least one box per rank"),
            (lambda: plain.solve(part if last else good), "right-hand side of the whole grid on some ranks only"),
            (lambda: solver(alpha=good if last else None, a=1.0), "alpha on some ranks; allowed: on all or on none"),
        ]
    for call, words in faults:
        try:
            call()
            told = "accepted"
        except craton.UserError as error:
            told = str(error)
        everywhere = comm.allgather(told)
        assert words in told and "\\n" not in told and set(everywhere) == {told}, (words, everywhere)
    # what is right still is
    u = plain.solve(good, tolerance=1e-9).u
    if comm.rank == 0:
        print(len(faults), flush=True)
    plain.solve(field(np.nan))
"""


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_faults_of_one_rank_are_told_by_all(tmp_path, capfd, ranks):
    """None hangs or goes on; unless it is caught the job ends with one line and code 2."""
    (tmp_path / "program.py").write_text(FAULTS)
    assert run_under_mpi([str(tmp_path / "program.py")], ranks, program=[sys.executable]) == 2
    out, err = capfd.readouterr()
    assert int(out) == (21 if ranks == 1 else 24)
    [line] = err.splitlines()
    assert line.startswith("craton: error: ")
    assert line.endswith("right-hand side at cell (15, 15, 15) = nan; allowed: a finite number")
