"""Equation 2 solved from a float32 factor and refined, beside dense algebra in double precision and a float64 factor."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from craton import UserError
from craton._launch import run_under_mpi

MPI = pytest.importorskip("mpi4py.MPI")

import craton
from craton.inverse.normal_equations import (
    MOST_STEPS,
    ROUNDING,
    NormalEquations,
    add_to_diagonal,
    conjugate_gradients,
)
from craton.tomography.inversion.stored_hessian import StoredHessian

N = 150


@pytest.fixture(scope="module")
def world():
    return craton.World(MPI.COMM_SELF)


def problem(condition: float, seed: int = 1):
    """H of data that see few combinations, as its float32 elements; M with this condition; a right-hand side."""
    random = np.random.default_rng(seed)
    seen = 30.0 * random.standard_normal((60, N))
    hessian = (seen.T @ seen).astype(np.float32)
    turned = np.linalg.qr(random.standard_normal((N, N)))[0]
    prior = (turned * np.geomspace(1.0, condition, N)) @ turned.T
    return hessian, 0.5 * (prior + prior.T), seen.T @ random.standard_normal(60)


def added(dense):
    """What adds a dense matrix to a distributed one."""

    def add_to(system):
        for part in system.triangle:
            elements = np.where(part.taken(), dense[np.ix_(part.rows, part.cols)], 0.0)
            part.local[...] += elements.astype(system.dtype)

    return add_to


def solved(world, hessian, prior, right_hand_side, way, damping=0.0, say=lambda _: None):
    """The solution, its residual, and what is told of the way."""
    matrix = craton.SymmetricMatrix.from_array(world, hessian, block=16)
    equations = NormalEquations(matrix, MPI.COMM_SELF, way, damping, say)
    found = equations.factored(added(prior), lambda vector: prior @ vector).solve(right_hand_side)
    np.testing.assert_array_equal(matrix.gather(), hessian)  # H is left as it was
    whole = hessian.astype(np.float64) + prior + damping * np.mean(np.diag(hessian), dtype=np.float64) * np.eye(N)
    return found, np.linalg.norm(right_hand_side - whole @ found), equations.told, whole


@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("condition", [1e2, 1e6])
def test_a_refined_solution_is_as_good_as_one_in_float64(world, condition, damping):
    hessian, prior, right_hand_side = problem(condition)
    refined, residual, told, whole = solved(world, hessian, prior, right_hand_side, "refined", damping)
    wide, wide_residual, _, _ = solved(world, hessian, prior, right_hand_side, "float64", damping)
    rough, rough_residual, _, _ = solved(world, hessian, prior, right_hand_side, "float32", damping)
    expected = np.linalg.solve(whole, right_hand_side)
    print(told, residual, wide_residual, rough_residual)
    assert told.startswith("float32, refined in ")
    assert residual <= 5.0 * ROUNDING * np.max(np.diag(whole)) * np.linalg.norm(refined)
    assert residual < 2.0 * wide_residual and residual < 1e-4 * rough_residual
    for found in (refined, wide):
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    assert np.abs(rough - expected).max() > 1e-9 * np.abs(expected).max()


def test_a_prior_that_float32_does_not_carry_is_factored_in_float64(world):
    hessian, prior, right_hand_side = problem(1e13)
    said = []
    found, _, told, whole = solved(world, hessian, prior, right_hand_side, "refined", say=said.append)
    expected = np.linalg.solve(whole, right_hand_side)
    assert told == "float64" and len(said) == 1 and "factored in float64" in said[0]
    assert np.linalg.norm(whole @ (found - expected)) < 1e-9 * np.linalg.norm(whole) * np.linalg.norm(expected)
    with pytest.raises(UserError, match="not positive definite"):
        solved(world, hessian, -1e9 * np.eye(N), right_hand_side, "refined", say=said.append)
    assert "float32 does not carry the factor" in said[1]


def test_in_place_reads_the_hessian_from_its_file(world, tmp_path):
    hessian, prior, right_hand_side = problem(1e3)
    matrix = craton.SymmetricMatrix.from_array(world, hessian, block=16)
    matrix.save(str(tmp_path / "hessian.h5"), "hessian")
    stored = StoredHessian(tmp_path / "hessian.h5", MPI.COMM_SELF)
    vector = np.random.default_rng(3).standard_normal(N)
    np.testing.assert_allclose(stored.times(vector), hessian.astype(np.float64) @ vector, rtol=1e-12)
    equations = NormalEquations(matrix, MPI.COMM_SELF, stored_times=stored.times)
    found = equations.factored(added(prior), lambda vector: prior @ vector).solve(right_hand_side)
    expected = np.linalg.solve(hessian.astype(np.float64) + prior, right_hand_side)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    assert equations.told.startswith("float32, refined")
    assert not np.array_equal(matrix.gather(), hessian)  # the factor is in its place
    matrix.load(str(tmp_path / "hessian.h5"), "hessian")
    hard = problem(1e13)[1]
    with pytest.raises(UserError, match=r"equation 2: .*; allowed: \[inversion\] in_place = false"):
        equations.factored(added(hard), lambda vector: hard @ vector).solve(right_hand_side)


def test_nothing_asked_is_nothing_found(world):
    hessian, prior, right_hand_side = problem(1e2)
    for way in ("refined", "float32"):
        assert not solved(world, hessian, prior, 0.0 * right_hand_side, way)[0].any()


def test_conjugate_gradients_say_when_they_do_not_come_to_an_end():
    matrix = np.diag(np.geomspace(1.0, 1e8, N))

    def size(residual, _):
        return float(np.linalg.norm(residual)) / 1e-13

    assert conjugate_gradients(lambda v: matrix @ v, lambda v: v, np.ones(N), size, MOST_STEPS) is None
    found = conjugate_gradients(lambda v: matrix @ v, lambda v: v / np.diag(matrix), np.ones(N), size, MOST_STEPS)
    assert found is not None and found.steps <= 2
    np.testing.assert_allclose(found.solution, 1.0 / np.diag(matrix), rtol=1e-12)


def test_the_diagonal_of_a_packed_matrix(world):
    matrix = craton.SymmetricMatrix(world, 37, block=4)
    add_to_diagonal(matrix, 2.5)
    matrix.commit()
    np.testing.assert_array_equal(matrix.gather(), 2.5 * np.eye(37))


RANKS = """
import sys
import numpy as np
from craton._launch import main_guard
with main_guard():
    import craton
    from mpi4py import MPI
    sys.path.insert(0, sys.argv[1])
    from test_normal_equations import NormalEquations, StoredHessian, added, problem
    comm, folder = MPI.COMM_WORLD, sys.argv[2]
    hessian, prior, right_hand_side = problem(1e4)
    matrix = craton.SymmetricMatrix.from_array(craton.World(comm, ranks_per_node=int(sys.argv[3])), hessian, block=16)
    matrix.save(folder + "/hessian.h5", "hessian")
    stored = StoredHessian(folder + "/hessian.h5", comm)
    expected = np.linalg.solve(hessian.astype(np.float64) + prior, right_hand_side)
    for times in (None, stored.times):
        equations = NormalEquations(matrix, comm, damping=0.0, stored_times=times)
        found = equations.factored(added(prior), lambda vector: prior @ vector).solve(right_hand_side)
        assert all(np.array_equal(other, found) for other in comm.allgather(found))
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
        assert equations.told.startswith("float32, refined"), equations.told
"""


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(2, 2), (3, 1), (4, 2)])
def test_ranks_have_one_solution(tmp_path, ranks, ranks_per_node):
    (tmp_path / "program.py").write_text(RANKS)
    words = [tmp_path / "program.py", Path(__file__).parent, tmp_path, ranks_per_node]
    assert run_under_mpi([str(word) for word in words], ranks, program=[sys.executable]) == 0
