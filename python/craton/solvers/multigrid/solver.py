"""A user's own problem on a grid of boxes, with NumPy arrays in and out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

import craton
from craton import _craton
from craton.described import Described
from craton.errors import UserError
from craton.runs.agreement import on_all
from craton.solvers.multigrid.boundary import Boundary, BoundaryValues, Side, Sides, SideValues, sides
from craton.solvers.multigrid.functions import FacesOfFunction, Function, in_cells
from craton.solvers.multigrid.values import Faces, Field, number, spacing_of, to_be_cut, triple, whole_number

Result = TypeVar("Result")

METHODS = ("cycles", "cg")
UNCONVERGED = ("warn", "raise", "ignore")
OPERATORS = ("7pt", "fv2", "fv4")
SMOOTHERS = ("chebyshev", "gsrb", "jacobi")
ORDERS = ("lexicographic", "morton", "hilbert")


@dataclass(frozen=True, repr=False)
class Solution(Described):
    """What a solve has found."""

    u: Field
    """The solution, on the whole grid or on this rank's boxes, as f was given."""
    residuals: tuple[float, ...]
    """Largest |f - A u| over the largest |f| as it was given: after the F-cycle, then after each V-cycle or step."""
    converged: bool

    def _facts(self) -> dict[str, object]:
        state = "converged" if self.converged else "not converged"
        shape = " x ".join(map(str, self.u.shape))
        return {
            "residual": f"{self.residuals[-1]:.3g}",
            "after": f"{self.cycles} cycles, {state}",
            "u": f"{shape} cells",
        }

    @property
    def cycles(self) -> int:
        """V-cycles, or steps of conjugate gradients, after the F-cycle."""
        return len(self.residuals) - 1


class Solver(Described):
    """a alpha u - b div(beta grad u) = f by full multigrid. The first cell begins at x = y = z = 0.

    Fields are arrays [i, j, k] of cells: point values for the operator 7pt, averages over cells for fv2 and fv4. A field is
    given for the whole grid (shape `cells`, the same on every rank) or for this rank's boxes (shape `own_shape`:
    (boxes, box, box, box), in the order of `first_cells`), and comes back likewise. Where boxes are not all as large each has
    the room of the largest: its cells (`box_cells`) come first along each dimension, and what is behind them counts for nothing.
    Or it is a function of x, y, z, which takes and gives arrays: its values at the centres for 7pt, averages over cells for fv2
    and fv4. It counts as a field of the whole grid; `own_part` turns it into one of this rank's boxes.

    Everything but the attributes is collective: every rank of the world must call. What is wrong raises UserError, on every rank
    even if only one has it in its arrays.
    """

    world: _craton.World
    cells: tuple[int, int, int]
    spacing: tuple[float, float, float]
    """Sides of a cell along x, y, z."""
    box: int
    own_shape: tuple[int, int, int, int]
    """Shape of a field on this rank's boxes."""
    first_cells: NDArray[np.int64]
    """(boxes of this rank, 3): i, j, k of the first cell of each."""
    box_cells: NDArray[np.int64]
    """(boxes of this rank, 3): cells of each along i, j, k."""

    def __init__(
        self,
        world: _craton.World,
        cells: int | Sequence[int],
        box: int,
        *,
        spacing: float | Sequence[float] | None = None,
        beta: float | Function | Sequence[ArrayLike | Function] = 1.0,
        alpha: ArrayLike | Function | None = None,
        a: float | None = None,
        b: float = 1.0,
        boundary: Boundary | Sequence[Side] = "dirichlet",
        operator: Literal["7pt", "fv2", "fv4"] = "7pt",
        smoother: Literal["gsrb", "chebyshev", "jacobi"] = "gsrb",
        order: Literal["morton", "hilbert", "lexicographic"] = "morton",
        threads: int = 1,
    ) -> None:
        """cells: along each dimension; one number for a cube.

        box: cells of a box along each dimension. The last box is shorter or longer where `cells` are no multiple of it. There must
        be at least as many boxes as ranks. Any numbers will do; those with many factors of 2 are fastest.

        spacing: sides of a cell along x, y and z, or one number for cubes. Left out, cells are cubes and the longest dimension has
        length 1. Where sides differ by more than the root of 2, coarser grids first have longer cells along the shorter sides
        alone.

        beta: a positive number; or three arrays of the whole grid, on the faces normal to each dimension. Their shapes are
        (nx + 1, ny, nz), (nx, ny + 1, nz) and (nx, ny, nz + 1); `faces_of_cells` makes them from values of cells. Or a function of
        x, y, z, or one for the faces normal to each dimension: its values at their centres for 7pt, averages over faces for fv2
        and fv4. On sides with Neumann's condition no flux passes, whatever beta is there. Round a periodic boundary the first face
        counts.

        alpha: a field (of cells), at least 0 everywhere and above 0 somewhere; left out it is 1. a: left out it is 0, with alpha 1.

        boundary: "dirichlet" (u is given), "neumann" (the flux beta du/dn is), "periodic" or ("robin", a, c) (a u + c beta du/dn
        is given). Or one per dimension, each of which may be a pair (before the first cell, behind the last). What is given is 0
        unless `solve` is told something else. n points outwards. Both a and c of a Robin side are at least 0, or at most 0, and
        not both 0; fv4 has no such sides. Where a = 0 and no side fixes u, f must have mean 0, and u has.

        operator: 7pt and fv2 are of second order, fv4 of fourth. order: the curve along which boxes are dealt to ranks.
        threads: of each rank, which share its boxes.
        """
        craton.check_mpi()
        self.world, self._operator_name = world, operator

        def checked() -> tuple[tuple[int, int, int], Sides, float, float, int]:
            self.cells, self.box = triple(cells), whole_number("box", box)
            self.spacing = spacing_of(spacing, self.cells)
            of_sides = sides(boundary)
            for name, given, known in (
                ("operator", operator, OPERATORS),
                ("smoother", smoother, SMOOTHERS),
                ("order", order, ORDERS),
            ):
                if given not in known:
                    raise UserError(f"multigrid: {name} = {given!r}; allowed: {', '.join(known)}")
            factor = (0.0 if alpha is None else 1.0) if a is None else number("a", a)
            return self._largest_box(), of_sides, factor, number("b", b), whole_number("threads", threads)

        largest, of_sides, factor, b, threads = self.together(checked)
        # which boxes are this rank's follows from the layout alone
        own_boxes = _craton.boxes_of_rank(world, self.cells, self.box, order)
        self.first_cells = own_boxes[:, 0]
        self.box_cells = own_boxes[:, 1] - own_boxes[:, 0]
        self.own_shape = (len(own_boxes), *largest)
        self._averages = operator != "7pt"
        self._side_values = SideValues(self.cells, self.spacing, of_sides.periodic, self._averages)
        own_beta, own_alpha = self.together(
            lambda: (self._own_faces(beta), np.zeros(0) if alpha is None else self._own_values(alpha, "alpha")[0])
        )
        self._solver = _craton.MultigridSolver(
            world,
            self.cells,
            self.box,
            of_sides.periodic,
            order,
            operator,
            smoother,
            factor,
            b,
            of_sides.names,
            own_beta,
            own_alpha,
            threads,
            (0.0, 0.0, 0.0) if spacing is None else self.spacing,
            of_sides.robin,
        )

    @property
    def singular(self) -> bool:
        """Whether u is fixed up to a constant only."""
        return self._solver.singular

    @property
    def levels(self) -> list[tuple[int, tuple[int, int, int], int]]:
        """Per level, the finest first: longest side of a box in cells, boxes along each dimension, ranks that have some."""
        return self._solver.levels

    @property
    def grids(self) -> list[tuple[int, int, int]]:
        """Per level, the finest first: cells along each dimension."""
        return self._solver.grids

    def box_slices(self) -> list[tuple[slice, slice, slice]]:
        """Where each of this rank's boxes is in a field of the whole grid."""
        return [
            (slice(i, i + nx), slice(j, j + ny), slice(k, k + nz))
            for (i, j, k), (nx, ny, nz) in zip(self.first_cells.tolist(), self.box_cells.tolist(), strict=True)
        ]

    def solve(
        self,
        f: ArrayLike | Function,
        *,
        boundary_values: BoundaryValues = None,
        tolerance: float = 1e-8,
        most: int = 50,
        method: Literal["cycles", "cg"] = "cycles",
        unconverged: Literal["warn", "raise", "ignore"] = "warn",
        progress: Callable[[int, float], object] | None = None,
    ) -> Solution:
        """An F-cycle, then at most so many V-cycles until the largest residual is at most `tolerance` times the largest |f|.

        boundary_values: u on Dirichlet sides, the flux beta du/dn on Neumann sides (n outwards; fv4 takes only 0), and
        a u + c beta du/dn on Robin sides. One for every side that is not periodic, or one per dimension, each of which may be a
        pair (before the first cell, behind the last). Each is None (0), a number, an array of the side's faces (say (ny, nz) for
        the first dimension), or a function of x, y, z that takes and gives arrays. An array has values at the faces' centres for
        7pt, averages over faces for fv2 and fv4.
        Residuals are relative to the f given here, whatever the boundary adds to the cells' equations; where f is 0, to what it
        adds, of the order of the values / h^2.

        method "cg": flexible conjugate gradients with a V-cycle as preconditioner instead, for coefficients that jump by orders
        of magnitude; the V-cycle need not be symmetric. progress(step, residual) is called on every rank as they come.

        unconverged: where the tolerance has not been reached, "warn" warns on rank 0 (unless most = 0), "raise" raises UserError
        on every rank, and "ignore" says nothing: see Solution.converged.
        """

        def checked() -> tuple[float, int]:
            if method not in METHODS:
                raise UserError(f"multigrid: method = {method!r}; allowed: {', '.join(METHODS)}")
            if unconverged not in UNCONVERGED:
                raise UserError(f"multigrid: unconverged = {unconverged!r}; allowed: {', '.join(UNCONVERGED)}")
            if progress is not None and not callable(progress):
                raise UserError(f"multigrid: progress = {progress!r}; allowed: a function of step and residual")
            return number("tolerance", tolerance), whole_number("most", most)

        tolerance, most = self.together(checked)
        values, is_whole = self._own(f, "right-hand side")
        self._solver.set_right_hand_side(values, self.together(lambda: self._side_values.arrays(boundary_values)))
        step = self._solver.solve if method == "cycles" else self._solver.solve_by_conjugate_gradients
        residuals, converged = step(tolerance, most, progress)
        if not converged and unconverged != "ignore":
            steps = "cycles" if method == "cycles" else "steps of conjugate gradients"
            told = f"multigrid: residual {residuals[-1]:.3g} after {len(residuals) - 1} {steps}; allowed: {tolerance:g}"
            if unconverged == "raise":
                raise UserError(told)
            if self.world.rank == 0 and most > 0:
                warnings.warn(told, stacklevel=2)
        return Solution(self._field(self._solver.solution(), is_whole), tuple(residuals), converged)

    def apply(self, u: ArrayLike | Function) -> Field:
        """A u."""
        values, is_whole = self._own(u, "u")
        return self._field(self._solver.apply(values), is_whole)

    def precondition(self, r: ArrayLike | Function) -> Field:
        """One V-cycle from zero for right-hand side r: close to the inverse of A, for a Krylov method of your own."""
        values, is_whole = self._own(r, "r")
        return self._field(self._solver.precondition(values), is_whole)

    def record_times(self, on: bool = True) -> None:
        """Begins to count the seconds of every level and phase, from zero; or ends it."""
        self._solver.record_times(on)

    def longest_times(self) -> list[dict[str, float]]:
        """Per level, the finest first: seconds by phase since they are recorded, of the rank that has spent most.

        Phases do not overlap; "ghost exchange" has the waiting for other ranks in it.
        """
        return [dict(phases) for phases in self._solver.longest_times()]

    def own_part(self, field: ArrayLike | Function) -> Field:
        """This rank's boxes of a field of the whole grid, or of a function; shape `own_shape`. Not collective."""
        if callable(field):
            own = np.zeros(self.own_shape)
            for room, of_box in zip(self._rooms(own), self.box_slices(), strict=True):
                room[...] = in_cells(field, of_box, self.spacing, self._averages, "values of the function")
            return own
        whole = to_be_cut(field, "field", str(self.cells))
        if whole.shape != self.cells:
            raise UserError(f"multigrid: field of shape {whole.shape}; allowed: {self.cells}")
        own = np.zeros(self.own_shape)
        for room, of_box in zip(self._rooms(own), self.box_slices(), strict=True):
            room[...] = whole[of_box]
        return own

    def whole(self, own: ArrayLike) -> Field:
        """The whole grid, on every rank, from every rank's own part."""
        values, _ = self._own(own, "field")
        return self._field(values, whole=True)

    def together(self, work: Callable[[], Result]) -> Result:
        """Collective: every rank does its work. An error of one is raised on all as UserError, so that nobody waits for it."""
        return on_all(self.world, work, "multigrid")

    def _facts(self) -> dict[str, object]:
        return {
            "cells": " x ".join(map(str, self.cells)),
            "box": f"{self.box} cells",
            "operator": self._operator_name,
            "ranks": self.world.size,
        }

    def _largest_box(self) -> tuple[int, int, int]:
        """Cells of the longest box along each dimension."""
        if self.box < 1 or any(n < 1 for n in self.cells):
            shape = " x ".join(map(str, self.cells))
            raise UserError(f"multigrid: cells = {shape} with box = {self.box}; allowed: at least 1 of each")
        cuts = _craton.box_cuts(self.cells, self.box)
        boxes = math.prod(len(along) - 1 for along in cuts)
        if boxes < self.world.size:
            raise UserError(
                f"multigrid: boxes = {boxes} on {self.world.size} ranks; allowed: at least one box per rank"
            )
        x, y, z = (int(np.diff(along).max()) for along in cuts)
        return x, y, z

    def _rooms(self, own: Field) -> list[Field]:
        """Views of each box's cells in a field of this rank's boxes."""
        return [part[:nx, :ny, :nz] for part, (nx, ny, nz) in zip(own, self.box_cells.tolist(), strict=True)]

    def _own(self, field: ArrayLike | Function, what: str) -> tuple[Field, bool]:
        """_own_values, agreed on by all ranks."""
        values, whole = self.together(lambda: self._own_values(field, what))
        if self._solver.sum_over_ranks(np.array([float(whole)]))[0] not in (0, self.world.size):
            raise UserError(f"multigrid: {what} of the whole grid on some ranks only; allowed: on all, or on none")
        return values, whole

    def _own_values(self, field: ArrayLike | Function, what: str) -> tuple[Field, bool]:
        """The field as the extension takes it (box after box, i fastest), and whether it was the whole grid's."""
        if callable(field):
            whole, own = True, self.own_part(field)
        else:
            given = to_be_cut(field, what, self._shapes())
            if given.shape not in (self.cells, self.own_shape):
                raise UserError(f"multigrid: {what} of shape {given.shape}; allowed: {self._shapes()}")
            whole = given.shape == self.cells
            own = self.own_part(given) if whole else np.asarray(given, dtype=np.float64)
        if not own.size:
            return np.zeros(0), whole
        return np.concatenate([room.transpose(2, 1, 0).reshape(-1) for room in self._rooms(own)]), whole

    def _shapes(self) -> str:
        return f"{self.cells}, or {self.own_shape} of this rank's boxes"

    def _field(self, values: Field, whole: bool) -> Field:
        field = np.zeros(self.cells if whole else self.own_shape)
        rooms = [field[of_box] for of_box in self.box_slices()] if whole else self._rooms(field)
        ends = np.cumsum([room.size for room in rooms])
        for room, part in zip(rooms, np.split(values, ends[:-1]), strict=True):
            room[...] = part.reshape(room.shape[::-1]).transpose(2, 1, 0)
        if not whole:
            return field
        return self._solver.sum_over_ranks(field.reshape(-1)).reshape(self.cells)

    def _own_faces(self, beta: float | Function | Sequence[ArrayLike | Function]) -> Faces:
        """Per dimension: the faces of this rank's boxes, those that two boxes share in both."""
        allowed = f"a number, or arrays {', '.join(map(str, self._face_shapes()))}, or functions of x, y, z"
        if callable(beta):
            beta = (beta, beta, beta)
        if not isinstance(beta, (list, tuple)) and np.ndim(cast(ArrayLike, beta)) == 0:
            everywhere = number("beta", beta, allowed)
            faces = [np.full(shape, everywhere) for shape in self._face_shapes()]
        else:
            three = cast(Sequence[Any], beta)
            faces = [
                cast(Field, FacesOfFunction(values, n, self.cells, self.spacing, self._averages, "values of beta"))
                if callable(values)
                else to_be_cut(values, f"beta[{n}]", allowed)
                for n, values in enumerate(three)
            ]
            shapes = [values.shape for values in faces]
            if shapes != self._face_shapes():
                raise UserError(f"multigrid: beta of shapes {', '.join(map(str, shapes))}; allowed: {allowed}")
        own = []
        for axis, values in enumerate(faces):
            parts = [
                values[tuple(slice(each.start, each.stop + (d == axis)) for d, each in enumerate(of_box))]
                for of_box in self.box_slices()
            ]
            own.append(np.concatenate([part.transpose(2, 1, 0).reshape(-1) for part in parts], dtype=np.float64))
        return own[0], own[1], own[2]

    def _face_shapes(self) -> list[tuple[int, ...]]:
        return [tuple(n + (d == axis) for d, n in enumerate(self.cells)) for axis in range(3)]
