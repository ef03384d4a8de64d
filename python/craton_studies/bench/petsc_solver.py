"""PETSc's geometric multigrid, which F-cycles are measured beside. Through ctypes."""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton_studies.bench.debian_library import debian_library

if TYPE_CHECKING:
    from mpi4py import MPI

NO_BOUNDARY, STAR, INSERT = 0, 0, 1
OPTIONS = {
    "-ksp_type": "cg",
    "-ksp_norm_type": "unpreconditioned",
    "-pc_type": "mg",
    "-pc_mg_galerkin": "both",
    "-mg_levels_ksp_type": "chebyshev",
    "-mg_levels_ksp_max_it": "2",
    "-mg_levels_pc_type": "jacobi",
    "-mg_coarse_pc_type": "redundant",
}
"""V-cycles with Chebyshev smoothing in conjugate gradients; coarse operators are products with the interpolation, of 27 points."""
MOST_CYCLES = 50
MOST_CELLS_AT_LAST = 16
"""Along a side of the coarsest grid, which a direct solver takes."""


def petsc_library() -> ctypes.CDLL | None:
    """Debian's libpetsc-real, with numbers of 32 bits, not initialised; None where there is none."""
    return debian_library("petsc_real")


class GeometricMultigrid:
    """-div grad u = f on (cells + 1)^3 points of a unit cube, u = 0 on its sides; a slab of planes for each rank.

    Collective; comm: all ranks of the job. RuntimeError for cells that do not coarsen so often that it would be a multigrid.
    """

    def __init__(self, library: ctypes.CDLL, comm: MPI.Comm, cells: int) -> None:
        from mpi4py import MPI

        self._library, self._comm, self.points, self.unknowns = library, comm, cells + 1, (cells - 1) ** 3
        handle = ctypes.c_void_p(MPI._handleof(comm))
        levels, side = 1, cells  # halved while that is possible and leaves each rank a plane
        while side % 2 == 0 and side // 2 >= max(2, comm.size - 1):
            levels, side = levels + 1, side // 2
        if side > MOST_CELLS_AT_LAST:
            raise RuntimeError(f"PETSc: {cells} cells on {comm.size} ranks do not coarsen below {side}")
        self._call("PetscInitializeNoArguments")
        for name, value in OPTIONS.items():
            self._call("PetscOptionsSetValue", None, name.encode(), value.encode())
        self._call("PetscOptionsSetValue", None, b"-pc_mg_levels", str(levels).encode())
        n = self.points
        grid = ctypes.c_void_p()
        sides = [NO_BOUNDARY] * 3
        self._call(
            "DMDACreate3d", handle, *sides, STAR, n, n, n, 1, 1, comm.size, 1, 1, None, None, None, ctypes.byref(grid)
        )
        self._call("DMSetUp", grid)
        low, extent = [ctypes.c_int() for _ in range(3)], [ctypes.c_int() for _ in range(3)]
        self._call("DMDAGetCorners", grid, *map(ctypes.byref, low), *map(ctypes.byref, extent))
        planes = (low[2].value, low[2].value + extent[2].value)
        self._matrix = self._assembled(handle, planes)
        self._right, self._solution = self._made("DMCreateGlobalVector", grid), self._made("DMCreateGlobalVector", grid)
        self._fill(self._right, planes)
        self._solver = self._made("KSPCreate", handle)
        self._call("KSPSetDM", self._solver, grid)
        self._call("KSPSetDMActive", self._solver, 0)
        self._call("KSPSetOperators", self._solver, self._matrix, self._matrix)
        self._call("KSPSetFromOptions", self._solver)
        self._call("KSPSetUp", self._solver)

    def seconds(self, tolerance: float) -> tuple[float, int]:
        """Seconds until the relative residual (norm 2) is below, from zero, and how many cycles. Collective."""
        real = ctypes.c_double
        self._call("KSPSetTolerances", self._solver, real(tolerance), real(1e-50), real(1e5), MOST_CYCLES)
        self._comm.barrier()
        begun = time.perf_counter()
        self._call("KSPSolve", self._solver, self._right, self._solution)
        self._comm.barrier()
        taken = time.perf_counter() - begun
        cycles, reason = ctypes.c_int(), ctypes.c_int()
        self._call("KSPGetIterationNumber", self._solver, ctypes.byref(cycles))
        self._call("KSPGetConvergedReason", self._solver, ctypes.byref(reason))
        if reason.value <= 0:
            raise RuntimeError(
                f"PETSc: no convergence to {tolerance:g} in {MOST_CYCLES} cycles (reason {reason.value})"
            )
        return taken, cycles.value

    def _assembled(self, handle: ctypes.c_void_p, planes: tuple[int, int]) -> ctypes.c_void_p:
        """Rows of a side say u = 0, times the diagonal of the others; points are numbered x first, as DMDA numbers slabs."""
        n = self.points
        k, j, i = np.meshgrid(np.arange(*planes), np.arange(n), np.arange(n), indexing="ij", copy=False)
        inside = (i > 0) & (i < n - 1) & (j > 0) & (j < n - 1) & (k > 0) & (k < n - 1)
        number = (k * n + j) * n + i
        rows, cols, values = [number.ravel()], [number.ravel()], [np.full(number.size, 6.0)]
        for axis, step in ((k, n * n), (j, n), (i, 1)):
            for sign, last in ((-1, 1), (1, n - 2)):
                coupled = inside & (axis != last)  # a neighbour on a side is zero
                rows.append(number[coupled])
                cols.append(number[coupled] + sign * step)
                values.append(np.full(len(rows[-1]), -1.0))
        row, col, value = (
            np.concatenate(rows).astype(np.int32),
            np.concatenate(cols).astype(np.int32),
            np.concatenate(values),
        )
        matrix = self._made("MatCreate", handle)
        own = number.size
        self._call("MatSetSizes", matrix, own, own, n**3, n**3)
        self._call("MatSetType", matrix, b"aij")
        as_int = ctypes.POINTER(ctypes.c_int)
        entries = ctypes.c_int64(len(value))
        self._call("MatSetPreallocationCOO", matrix, entries, row.ctypes.data_as(as_int), col.ctypes.data_as(as_int))
        self._call("MatSetValuesCOO", matrix, value.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), INSERT)
        return matrix

    def _fill(self, vector: ctypes.c_void_p, planes: tuple[int, int]) -> None:
        x = np.linspace(0.0, 1.0, self.points)
        waves = [np.sin(number * np.pi * x) * (x > 0) * (x < 1) for number in (2, 6)]
        right: NDArray[np.float64] = sum(np.einsum("k,j,i->kji", w[slice(*planes)], w, w) for w in waves)
        into = ctypes.POINTER(ctypes.c_double)()
        self._call("VecGetArray", vector, ctypes.byref(into))
        np.ctypeslib.as_array(into, (right.size,))[:] = right.ravel()
        self._call("VecRestoreArray", vector, ctypes.byref(into))

    def _made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self._call(name, *arguments, ctypes.byref(made))
        return made

    def _call(self, name: str, *arguments: Any) -> None:
        if code := getattr(self._library, name)(*arguments):
            raise RuntimeError(f"PETSc: {name} says {code}")
