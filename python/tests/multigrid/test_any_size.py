"""Grids of any size: odd numbers of cells, boxes that are not all as large."""

from __future__ import annotations

import numpy as np
import pytest
from craton import UserError, World, _craton, multigrid
from mpi4py import MPI
from on_ranks import assert_ranks_do_not_show

OPERATORS = ("7pt", "fv2", "fv4")
BOUNDARIES = ("dirichlet", (("neumann", "neumann"), ("neumann", "dirichlet"), "dirichlet"))


@pytest.fixture(scope="module")
def world():
    return World(MPI.COMM_WORLD)


def converges(world, cells, operator, boundary, cycles=12):
    """Cycles that it took."""
    random = np.random.default_rng(sum(cells))
    beta = [1 + 0.5 * random.uniform(size=[n + (d == axis) for d, n in enumerate(cells)]) for axis in range(3)]
    solver = multigrid.Solver(world, cells, 16, operator=operator, boundary=boundary, beta=beta)
    f = random.normal(size=cells)
    found = solver.solve(f, tolerance=1e-10, most=cycles, unconverged="ignore")
    assert found.converged, (cells, operator, boundary, found.residuals[-1])
    assert np.abs(f - solver.apply(found.u)).max() <= 1.1e-10 * np.abs(f).max()
    return found.cycles


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("cells", [(50, 50, 50), (37, 41, 23), (10, 64, 33)])
def test_sizes_that_are_no_powers_of_two_converge(world, cells, operator):
    for boundary in BOUNDARIES:
        converges(world, cells, operator, boundary)


@pytest.mark.long
def test_a_hundred_sizes_converge(world):
    """With -s a line for each size: cycles of each operator, Dirichlet and mixed sides."""
    random = np.random.default_rng(200)
    for number, cells in enumerate(random.integers(10, 201, size=(100, 3)).tolist(), start=1):
        found = [
            [converges(world, tuple(cells), operator, boundary) for boundary in BOUNDARIES] for operator in OPERATORS
        ]
        print(number, cells, dict(zip(OPERATORS, found, strict=True)), flush=True)


HPGMG = {
    ("7pt", 5, 16): 5.190452561318260e-03,
    ("fv2", 5, 16): 1.892462347007863e-03,
    ("fv4", 5, 16): 3.822467091389680e-05,
    ("7pt", 3, 32): 4.503896918894991e-03,
    ("fv2", 3, 32): 1.382203486344957e-03,
    ("fv4", 3, 32): 2.040759939533389e-05,
    ("7pt", 6, 32): 2.212596042428398e-03,
    ("fv2", 6, 32): 3.769747726819093e-04,
    ("fv4", 6, 32): 1.623695629379214e-06,
}
"""Operator, boxes along each dimension, cells of each: the "rel" that HPGMG-FV prints (a93ff23, GSRB), as in any_size_test.cpp; at
192^3 on 6^3 boxes of 32^3, with fv4 on 2^3 of 96^3."""


@pytest.mark.long
@pytest.mark.parametrize(("operator", "boxes", "side"), HPGMG)
def test_an_f_cycle_ends_where_that_of_hpgmg_does(world, operator, boxes, side):
    solver = _craton.MultigridSolver(world, (boxes,) * 3, side, "morton", operator, "gsrb", 0.0, 1.0)
    solver.f_cycle()
    found, printed = solver.relative_residual(), HPGMG[operator, boxes, side]
    print(
        f"{operator} {boxes * side}^3: {found:.15e}, HPGMG-FV {printed:.15e}, {abs(found / printed - 1):.1e} of it apart"
    )
    assert found == pytest.approx(printed, rel=1e-6)


def test_own_parts_have_room_for_the_largest_box(world):
    solver = multigrid.Solver(world, (21, 16, 10), 8)
    assert solver.own_shape == (6, 8, 8, 10)
    short = solver.box_cells[:, 0].tolist().index(5)  # 21 = 8 + 8 + 5
    field = np.random.default_rng(1).normal(size=(21, 16, 10))
    own = solver.own_part(field)
    assert not own[short, 5:].any()
    np.testing.assert_array_equal(solver.whole(own), field)
    own[short, 5:] = np.nan  # counts for nothing
    np.testing.assert_array_equal(solver.whole(own), field)
    u = solver.solve(field).u
    part = solver.solve(own).u
    np.testing.assert_array_equal(part, solver.own_part(u))


def test_what_has_not_converged_is_told(world):
    solver = multigrid.Solver(world, 16, 8)
    f = np.random.default_rng(2).normal(size=(16, 16, 16))
    words = "residual .* after 1 steps of conjugate gradients; allowed: 1e-12"
    with pytest.warns(UserWarning, match=words):
        solver.solve(f, tolerance=1e-12, most=1, method="cg")
    with pytest.raises(UserError, match=words):
        solver.solve(f, tolerance=1e-12, most=1, method="cg", unconverged="raise")
    with pytest.raises(UserError, match="residual .* after 1 cycles; allowed: 1e-12"):
        solver.solve(f, tolerance=1e-12, most=1, unconverged="raise")
    assert not solver.solve(f, tolerance=1e-12, most=1, unconverged="ignore").converged


def test_the_tolerance_is_relative_to_f_as_it_was_given(world):
    solver = multigrid.Solver(world, 16, 8, operator="fv2")
    f = np.ones((16, 16, 16))
    zero = np.zeros_like(f)
    for method in ("cycles", "cg"):
        found = solver.solve(f, boundary_values=1000.0, tolerance=1e-6, method=method)
        assert found.converged
        # A u without the boundary's values, of which u = 1000 takes the part
        lifted = found.u - 1000.0
        assert np.abs(f - solver.apply(lifted)).max() <= 1.1e-6
    harmonic = solver.solve(zero, boundary_values=1000.0, tolerance=1e-10)
    np.testing.assert_allclose(harmonic.u, 1000.0, rtol=1e-8)


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
    random = np.random.default_rng(3)
    found = []
    for operator in ("7pt", "fv4"):
        cells = (33, 26, 45)
        f = random.normal(size=cells)
        solver = multigrid.Solver(world, cells, 12, operator=operator)
        own = solver.own_part(f)
        whole = solver.solve(f, tolerance=1e-10)
        parts = solver.solve(own, tolerance=1e-10)
        assert np.array_equal(solver.own_part(whole.u), parts.u)
        found += [float(np.abs(whole.u).sum()), float(whole.u[5, 25, 44]), whole.cycles]
    if comm.rank == 0:
        print(json.dumps(found))
"""


def test_ranks_do_not_show(tmp_path, capfd):
    assert_ranks_do_not_show(SEVERAL, tmp_path, capfd)
