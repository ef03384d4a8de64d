"""Matrices to PETSc and back on as many ranks as the job has; started by interchange/test_petsc.py.

mpiexec -n 3 python petsc_matrices.py
"""

import craton
import numpy as np
import pytest
from craton._launch import main_guard
from craton.arrays.interchange import petsc as interchange
from mpi4py import MPI
from petsc4py import PETSc

WORLD = craton.World(MPI.COMM_WORLD)
RANK, SIZE = WORLD.rank, WORLD.size
SHAPE = (17, 11)
WHOLE = np.random.default_rng(5).standard_normal(SHAPE)


def layouts():
    yield {}
    yield {"tiles": 3, "grid": (SIZE, 1)}
    yield {"tiles": 4, "grid": (1, SIZE)}
    owners = np.random.default_rng(2).integers(0, SIZE, (3, 3))
    yield {"boundaries": [[0, 1, 9, 17], [0, 5, 6, 11]], "owners": owners}


def rows_of(mat):
    """This rank's rows, as PETSc itself reads them."""
    first, last = mat.getOwnershipRange()
    return mat.getValues(range(first, last), range(mat.getSize()[1])), slice(first, last)


def dense():
    for layout in layouts():
        array = craton.DistArray.from_array(WORLD, WHOLE, **layout)
        mat = interchange.to_mat(array)
        assert mat.getSize() == SHAPE and mat.assembled and "dense" in mat.type
        values, own = rows_of(mat)
        np.testing.assert_array_equal(values, WHOLE[own])
        mat.scale(2.0)  # the Mat's own memory
        np.testing.assert_array_equal(array.gather(), WHOLE)
        back = interchange.from_mat(WORLD, mat, **layout)
        assert back.dtype == np.float64
        np.testing.assert_array_equal(back.gather(), 2 * WHOLE)
        x, y = mat.createVecs()
        x.set(1.0)
        mat.mult(x, y)
        np.testing.assert_allclose(y.getArray(), 2 * WHOLE.sum(axis=1)[own], rtol=1e-13)


def other_elements():
    whole = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    for dtype in ("float32", "int32", "int64"):
        values, own = rows_of(interchange.to_mat(craton.DistArray.from_array(WORLD, whole.astype(dtype), tiles=5)))
        np.testing.assert_array_equal(values, whole[own])
    matrix = craton.ConvergentMatrix(WORLD, *SHAPE, block=2)
    if RANK == SIZE - 1:
        matrix.update(WHOLE, range(SHAPE[0]), range(SHAPE[1]))  # to_mat commits
    values, own = rows_of(interchange.to_mat(matrix))
    np.testing.assert_array_equal(values, WHOLE[own])


def ranks_in_another_order():
    turned = MPI.COMM_WORLD.Split(0, -RANK)
    mat = interchange.to_mat(craton.DistArray.from_array(WORLD, WHOLE), PETSc.Comm(turned))
    values, own = rows_of(mat)
    np.testing.assert_array_equal(values, WHOLE[own])
    np.testing.assert_array_equal(interchange.from_mat(WORLD, mat, tiles=2).gather(), WHOLE)


def sparse():
    n = 29
    mat = PETSc.Mat().createAIJ((n, n), nnz=3, comm=PETSc.COMM_WORLD)
    first, last = mat.getOwnershipRange()
    for i in range(first, last):
        for j, value in ((i - 1, -1.0), (i, 2.0 + i), (i + 1, -0.5)):
            if 0 <= j < n:
                mat.setValue(i, j, value)
    with pytest.raises(craton.UserError, match="not assembled; allowed: assemble"):
        interchange.from_mat(WORLD, mat)
    mat.assemble()
    wanted = np.diag(2.0 + np.arange(n)) - np.eye(n, k=-1) - 0.5 * np.eye(n, k=1)
    for layout in ({}, {"tiles": 4}):
        np.testing.assert_array_equal(interchange.from_mat(WORLD, mat, **layout).gather(), wanted)
    blocked = mat.convert("baij", PETSc.Mat())
    np.testing.assert_array_equal(interchange.from_mat(WORLD, blocked).gather(), wanted)


def more_ranks_than_rows():
    whole = np.arange(6.0).reshape(2, 3)
    mat = interchange.to_mat(craton.DistArray.from_array(WORLD, whole))
    np.testing.assert_array_equal(interchange.from_mat(WORLD, mat).gather(), whole)


class Shell:
    """What a Mat without elements is made of."""


def mistakes():
    array = craton.DistArray.from_array(WORLD, WHOLE)
    with pytest.raises(craton.UserError, match="an array of 3 dimensions; allowed: a DistArray of two"):
        interchange.to_mat(craton.DistArray(WORLD, (2, 2, 2)))
    with pytest.raises(craton.UserError, match="of type ndarray; allowed"):
        interchange.to_mat(WHOLE)
    if np.dtype(PETSc.ScalarType).kind != "c":
        with pytest.raises(craton.UserError, match="elements of complex128; allowed: what becomes float64"):
            interchange.to_mat(craton.DistArray(WORLD, SHAPE, "complex128"))
    shell = PETSc.Mat().createPython(((None, 5), (None, 5)), Shell(), comm=PETSc.COMM_WORLD)
    shell.setUp()
    shell.assemble()
    with pytest.raises(craton.UserError, match="a Mat of type python.*; allowed: dense, aij"):
        interchange.from_mat(WORLD, shell)
    if SIZE > 1:
        with pytest.raises(craton.UserError, match=f"a Mat of 1 and a world of {SIZE} ranks; allowed"):
            interchange.to_mat(array, PETSc.COMM_SELF)
        own = PETSc.Mat().createDense((3, 3), comm=PETSc.COMM_SELF)
        own.setUp()
        own.assemble()
        with pytest.raises(craton.UserError, match=f"a Mat of 1 and a world of {SIZE} ranks; allowed"):
            interchange.from_mat(WORLD, own)


with main_guard():
    for check in (dense, other_elements, ranks_in_another_order, sparse, more_ranks_than_rows, mistakes):
        check()
if RANK == 0:
    print(f"matrices agree on {SIZE} ranks")
