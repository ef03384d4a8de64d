"""PFMG, the multigrid solver of hypre for structured grids, which F-cycles are measured beside. Through ctypes."""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from craton_studies.bench.debian_library import debian_library

if TYPE_CHECKING:
    from mpi4py import MPI

RED_BLACK_GAUSS_SEIDEL = 2
NON_GALERKIN = 1
"""Coarse operators of 7 points, as HPGMG's: faster for constant coefficients than products of 27."""


def hypre_library() -> ctypes.CDLL | None:
    """Debian's libhypre (libhypre-dev); None where there is none."""
    library = debian_library("HYPRE")
    if library is not None:
        library.HYPRE_Init()
    return library


class Pfmg:
    """-div grad u = f on a unit cube of cells, u = 0 on its sides, f smooth; a slab of planes for each rank. Collective."""

    def __init__(self, library: ctypes.CDLL, comm: MPI.Comm, cells: int) -> None:
        from mpi4py import MPI

        self._library = library
        self._comm = comm
        self.cells, self.unknowns = cells, cells**3
        handle = ctypes.c_void_p(MPI._handleof(comm))
        planes = [cells * rank // comm.size for rank in (comm.rank, comm.rank + 1)]
        self._low = (ctypes.c_int * 3)(0, 0, planes[0])
        self._high = (ctypes.c_int * 3)(cells - 1, cells - 1, planes[1] - 1)
        self._own = cells * cells * (planes[1] - planes[0])
        grid, stencil = self._made("StructGridCreate", handle, 3), self._made("StructStencilCreate", 3, 7)
        self._call("StructGridSetExtents", grid, self._low, self._high)
        self._call("StructGridAssemble", grid)
        offsets = [(0, 0, 0), (-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]
        for number, offset in enumerate(offsets):
            self._call("StructStencilSetElement", stencil, number, (ctypes.c_int * 3)(*offset))
        self._matrix = self._made("StructMatrixCreate", handle, grid, stencil)
        self._call("StructMatrixInitialize", self._matrix)
        values = self._stencils(planes)
        self._call(
            "StructMatrixSetBoxValues",
            self._matrix,
            self._low,
            self._high,
            7,
            (ctypes.c_int * 7)(*range(7)),
            _data(values),
        )
        self._call("StructMatrixAssemble", self._matrix)
        x = (np.arange(cells) + 0.5) / cells
        waves = [np.sin(number * np.pi * x) for number in (2, 6)]
        right = sum(np.einsum("k,j,i->kji", wave[planes[0] : planes[1]], wave, wave) for wave in waves)
        self._right = self._vector(handle, grid, right)
        self._solution = self._vector(handle, grid, np.zeros(self._own))
        self._solver = self._made("StructPFMGCreate", handle)
        self._call("StructPFMGSetRelaxType", self._solver, RED_BLACK_GAUSS_SEIDEL)
        self._call("StructPFMGSetRAPType", self._solver, NON_GALERKIN)
        self._call("StructPFMGSetMaxIter", self._solver, 50)
        self._call("StructPFMGSetup", self._solver, self._matrix, self._right, self._solution)

    def seconds(self, tolerance: float) -> tuple[float, int]:
        """Seconds until the relative residual (norm 2) is below, from zero, and how many V-cycles. Collective."""
        self._call("StructVectorSetConstantValues", self._solution, ctypes.c_double(0.0))
        self._call("StructPFMGSetTol", self._solver, ctypes.c_double(tolerance))
        self._comm.barrier()
        begun = time.perf_counter()
        self._call("StructPFMGSolve", self._solver, self._matrix, self._right, self._solution)
        self._comm.barrier()
        taken = time.perf_counter() - begun
        cycles = ctypes.c_int()
        self._call("StructPFMGGetNumIterations", self._solver, ctypes.byref(cycles))
        return taken, cycles.value

    def _stencils(self, planes: list[int]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Seven values per cell, x fastest; at a side the face's value counts twice (u = 0 half a cell away)."""
        n = self.cells
        values = np.full((planes[1] - planes[0], n, n, 7), -1.0)
        values[..., 0] = 6.0
        k = np.arange(planes[0], planes[1])
        for axis, (low, high) in ((2, (1, 2)), (1, (3, 4)), (0, (5, 6))):
            place = k if axis == 0 else np.arange(n)
            for side, entry in ((0, low), (n - 1, high)):
                index: list[Any] = [slice(None)] * 3
                index[axis] = place == side
                values[(*index, 0)] += 1.0
                values[(*index, entry)] = 0.0
        return values

    def _vector(self, handle: ctypes.c_void_p, grid: ctypes.c_void_p, values: np.ndarray[Any, Any]) -> ctypes.c_void_p:
        vector = self._made("StructVectorCreate", handle, grid)
        self._call("StructVectorInitialize", vector)
        self._call("StructVectorSetBoxValues", vector, self._low, self._high, _data(values))
        self._call("StructVectorAssemble", vector)
        return vector

    def _made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self._call(name, *arguments, ctypes.byref(made))
        return made

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, f"HYPRE_{name}")(*arguments)
        if code & ~256:  # 256: it has not converged, which is not asked for
            raise RuntimeError(f"hypre: HYPRE_{name} says {code}")


def _data(values: np.ndarray[Any, Any]) -> Any:
    return np.ascontiguousarray(values).ctypes.data_as(ctypes.POINTER(ctypes.c_double))
