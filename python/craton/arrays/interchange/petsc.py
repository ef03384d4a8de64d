"""PETSc, through petsc4py: a dense Mat of a DistArray or ConvergentMatrix, and a DistArray of any assembled Mat.

PETSc gives each rank consecutive rows. A rank fetches its own, or puts them, one-sided; so both sides may have any layout. petsc4py
and mpi4py are to be built for one MPI library.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from craton.arrays.convergent_matrix import ConvergentMatrix
from craton.arrays.dist_array import DistArray
from craton.errors import UserError, words_of

if TYPE_CHECKING:
    from craton._craton import World

__all__ = ["from_mat", "to_mat"]

SLAB_BYTES = 2**26
"""Of rows that a rank has at a time beside the two matrices."""
DENSE = ("seqdense", "mpidense")
SPARSE = ("seqaij", "mpiaij")
"""Those whose rows PETSc gives out; block forms, whose names end alike, are converted."""


def to_mat(array: DistArray | ConvergentMatrix, comm: Any = None) -> Any:
    """A new dense petsc4py Mat with the elements of a matrix. Collective, blocking.

    comm: of as many ranks as hold the matrix, in any order; None for PETSc.COMM_WORLD. UserError on every rank: another number of
    ranks, an array that is no matrix, complex elements where PETSc was built for real ones.
    """
    petsc = _petsc()
    if not isinstance(array, DistArray | ConvergentMatrix) or array.ndim != 2:
        what = f"{array.ndim} dimensions" if isinstance(array, DistArray) else f"type {type(array).__name__}"
        raise UserError(f"to_mat: an array of {what}; allowed: a DistArray of two dimensions or a ConvergentMatrix")
    scalar = np.dtype(petsc.ScalarType)
    if not np.can_cast(array.dtype, scalar, "same_kind"):
        raise UserError(f"to_mat: elements of {array.dtype}; allowed: what becomes {scalar}, for which PETSc was built")
    comm = petsc.COMM_WORLD if comm is None else comm
    _check_ranks("to_mat", comm, array.world)
    if isinstance(array, ConvergentMatrix):
        array.commit()
    else:
        array.sync()
    mat = petsc.Mat().createDense(size=array.shape, comm=comm)
    mat.setUp()
    first, last = mat.getOwnershipRange()
    rows = mat.getDenseArray()
    for some in _slabs(first, last, array.shape[1], scalar.itemsize):
        rows[some.start - first : some.stop - first] = array[some, :].get()
    del rows  # PETSc does not assemble what is still lent
    array.world.barrier()  # this one answers ranks of other nodes that still read; PETSc's collective calls do not
    mat.assemble()
    return mat


def from_mat(world: World, mat: Any, **layout: Any) -> DistArray:
    """A DistArray with the elements of an assembled petsc4py Mat, dense or sparse. Collective, blocking.

    layout: what DistArray takes after dtype. UserError on every rank: a Mat of another number of ranks, one that is not assembled
    or has no elements to be had (a shell).
    """
    petsc = _petsc()
    _check_ranks("from_mat", mat.comm, world)
    if not mat.assembled:
        raise UserError("from_mat: a Mat that is not assembled; allowed: assemble() first")
    scalar = np.dtype(petsc.ScalarType)
    if mat.type not in (*DENSE, *SPARSE):
        try:
            mat = mat.convert("mpiaij" if world.size > 1 else "seqaij", petsc.Mat())
        except petsc.Error as error:
            raise UserError(
                f"from_mat: a Mat of type {mat.type}: {words_of(error)}; allowed: dense, aij, or what PETSc converts to it"
            ) from None
    made = DistArray(world, mat.getSize(), scalar, **layout)
    first, last = mat.getOwnershipRange()
    if mat.type in DENSE:
        rows: Any = mat.getDenseArray(readonly=True)
    else:
        from scipy.sparse import csr_array

        starts, columns, values = mat.getValuesCSR()
        rows = csr_array((values, columns, starts), shape=(last - first, made.shape[1]))
    for some in _slabs(first, last, made.shape[1], scalar.itemsize):
        part = rows[some.start - first : some.stop - first]
        made[some, :] = part if isinstance(part, np.ndarray) else part.toarray()
    made.sync()
    return made


def _slabs(first: int, last: int, cols: int, itemsize: int) -> Iterator[slice]:
    step = max(1, SLAB_BYTES // (cols * itemsize))
    return (slice(begin, min(begin + step, last)) for begin in range(first, last, step))


def _check_ranks(call: str, comm: Any, world: World) -> None:
    if comm.size != world.size:
        raise UserError(
            f"{call}: a Mat of {comm.size} and a world of {world.size} ranks; allowed: a communicator of the same ranks"
        )


def _petsc() -> Any:
    try:
        from petsc4py import PETSc
    except ImportError:
        raise UserError(
            "PETSc: petsc4py is not installed; allowed: apt-get install python3-petsc4py, or pip install petsc4py, for the MPI "
            "library that mpi4py has"
        ) from None
    return PETSc
