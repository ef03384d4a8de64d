"""A user's own problem on a grid of boxes, with NumPy arrays in and out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

import craton
from craton import _craton
from craton.errors import UserError

Field = NDArray[np.float64]
Faces = tuple[Field, Field, Field]
Boundary = Literal["dirichlet", "neumann", "periodic"]
Side = Boundary | tuple[Boundary, Boundary]

KINDS = ("dirichlet", "neumann", "periodic")
METHODS = ("cycles", "cg")


@dataclass(frozen=True)
class Solution:
    """What a solve has found."""

    u: Field
    """As f was given: of the whole grid, or of this rank's boxes."""
    residuals: tuple[float, ...]
    """Largest |f - A u| over the largest |f|: after the F-cycle, then after each V-cycle or step."""
    converged: bool

    @property
    def cycles(self) -> int:
        """V-cycles, or steps of conjugate gradients, after the F-cycle."""
        return len(self.residuals) - 1


class Solver:
    """a u - b div(beta grad u) = f by full multigrid. The longest dimension of the grid has length 1.

    Fields are arrays [i, j, k] of cells: point values for the operator 7pt, averages over cells for fv2 and fv4. A field is
    given for the whole grid (shape `cells`, the same on every rank) or for this rank's boxes (shape `own_shape`:
    (boxes, box, box, box), in the order of `first_cells`), and comes back likewise.

    Everything but the attributes is collective: every rank of the world must call. What is wrong raises UserError, on every rank
    even if only one has it in its arrays.
    """

    cells: tuple[int, int, int]
    box: int
    own_shape: tuple[int, int, int, int]
    """Of a field on this rank's boxes."""
    first_cells: NDArray[np.int64]
    """(boxes of this rank, 3): i, j, k of the first cell of each."""

    def __init__(
        self,
        world: _craton.World,
        cells: int | Sequence[int],
        box: int,
        *,
        beta: float | Sequence[ArrayLike] = 1.0,
        a: float = 0.0,
        b: float = 1.0,
        boundary: Boundary | Sequence[Side] = "dirichlet",
        operator: Literal["7pt", "fv2", "fv4"] = "7pt",
        smoother: Literal["gsrb", "chebyshev", "jacobi"] = "gsrb",
        order: Literal["morton", "hilbert", "lexicographic"] = "morton",
    ) -> None:
        """cells: along each dimension; one number for a cube. box: cells of a box along each dimension; `cells` are multiples of
        it, and both should have many factors of 2. There must be at least as many boxes as ranks.

        beta: a positive number, or three arrays of the whole grid: on the faces normal to each dimension, so of shapes
        (nx + 1, ny, nz), (nx, ny + 1, nz) and (nx, ny, nz + 1); `faces_of_cells` makes them from values of cells. On sides
        with Neumann's condition no flux passes, whatever beta is there; round a periodic boundary the first face counts.

        boundary: "dirichlet" (u = 0), "neumann" (du/dn = 0) or "periodic"; or one per dimension, each of which may be a pair
        (before the first cell, behind the last). Where a = 0 and no side is Dirichlet, f must have mean 0, and u has.

        operator: 7pt and fv2 are of second order, fv4 of fourth. order: the curve along which boxes are dealt to ranks."""
        self.cells = _triple(cells)
        self.box = int(box)
        if self.box < 1 or any(n < 1 or n % self.box for n in self.cells):
            shape = " x ".join(map(str, self.cells))
            raise UserError(f"multigrid: cells = {shape} with box = {box}; allowed: multiples of the box's side")
        sides, periodic = _sides(boundary)
        boxes = cast(tuple[int, int, int], tuple(n // self.box for n in self.cells))
        if boxes[0] * boxes[1] * boxes[2] < world.size:
            count = boxes[0] * boxes[1] * boxes[2]
            raise UserError(f"multigrid: boxes = {count} on {world.size} ranks; allowed: at least one box per rank")
        # which boxes are this rank's follows from the layout alone
        craton.check_mpi()
        self.first_cells = _craton.boxes_of_rank(world, boxes, self.box, order)
        own_beta = self._own_faces(beta)
        self._solver = _craton.MultigridSolver(
            world, boxes, self.box, periodic, order, operator, smoother, float(a), float(b), sides, own_beta
        )
        self.own_shape = (len(self.first_cells), self.box, self.box, self.box)

    @property
    def singular(self) -> bool:
        """Whether u is fixed up to a constant only."""
        return self._solver.singular

    @property
    def levels(self) -> list[tuple[int, tuple[int, int, int], int]]:
        """Per level, the finest first: side of a box in cells, boxes along each dimension, ranks that have some."""
        return self._solver.levels

    def solve(
        self, f: ArrayLike, *, tolerance: float = 1e-8, most: int = 50, method: Literal["cycles", "cg"] = "cycles"
    ) -> Solution:
        """An F-cycle, then at most so many V-cycles until the largest residual is at most `tolerance` times the largest |f|.

        method "cg": conjugate gradients with a V-cycle as preconditioner instead, for coefficients that jump by orders of
        magnitude. Not to have converged is no error: see Solution.converged."""
        if method not in METHODS:
            raise UserError(f"multigrid: method = '{method}'; allowed: {', '.join(METHODS)}")
        values, whole = self._own(f, "right-hand side")
        self._solver.set_right_hand_side(values)
        step = self._solver.solve if method == "cycles" else self._solver.solve_by_conjugate_gradients
        residuals, converged = step(tolerance, most)
        return Solution(self._field(self._solver.solution(), whole), tuple(residuals), converged)

    def apply(self, u: ArrayLike) -> Field:
        """A u."""
        values, whole = self._own(u, "u")
        return self._field(self._solver.apply(values), whole)

    def precondition(self, r: ArrayLike) -> Field:
        """One V-cycle from zero for right-hand side r: close to the inverse of A, for a Krylov method of your own."""
        values, whole = self._own(r, "r")
        return self._field(self._solver.precondition(values), whole)

    def record_times(self, on: bool = True) -> None:
        """From now on the seconds of every level and phase are counted, from zero; or no more."""
        self._solver.record_times(on)

    def longest_times(self) -> list[dict[str, float]]:
        """Per level, the finest first: seconds by phase since they are recorded, of the rank that has spent most. Phases do not
        overlap; "ghost exchange" has the waiting for other ranks in it."""
        return [dict(phases) for phases in self._solver.longest_times()]

    def own_part(self, field: ArrayLike) -> Field:
        """This rank's boxes of a field of the whole grid; shape `own_shape`. Not collective."""
        whole = np.asarray(field, dtype=np.float64)
        s = self.box
        parts = [whole[i : i + s, j : j + s, k : k + s] for i, j, k in self.first_cells]
        return np.stack(parts)

    def whole(self, own: ArrayLike) -> Field:
        """The whole grid, on every rank, from every rank's own part."""
        values, _ = self._own(own, "field")
        return self._field(values, whole=True)

    def _own(self, field: ArrayLike, what: str) -> tuple[Field, bool]:
        """As the extension wants it (box after box, i fastest), and whether it was the whole grid's."""
        try:
            given = np.asarray(field, dtype=np.float64)
        except (TypeError, ValueError):
            raise UserError(f"multigrid: {what} is no array of numbers; allowed: {self._shapes()}") from None
        if given.shape not in (self.cells, self.own_shape):
            raise UserError(f"multigrid: {what} of shape {given.shape}; allowed: {self._shapes()}")
        whole = given.shape == self.cells
        own = self.own_part(given) if whole else given
        return np.ascontiguousarray(own.transpose(0, 3, 2, 1)).reshape(-1), whole

    def _shapes(self) -> str:
        return f"{self.cells}, or {self.own_shape} of this rank's boxes"

    def _field(self, values: Field, whole: bool) -> Field:
        boxes, s = self.own_shape[0], self.box
        own = values.reshape(boxes, s, s, s).transpose(0, 3, 2, 1)
        if not whole:
            return np.ascontiguousarray(own)
        field = np.zeros(self.cells)
        for (i, j, k), part in zip(self.first_cells, own, strict=True):
            field[i : i + s, j : j + s, k : k + s] = part
        return self._solver.sum_over_ranks(field.reshape(-1)).reshape(self.cells)

    def _own_faces(self, beta: float | Sequence[ArrayLike]) -> Faces:
        """Per dimension: the faces of this rank's boxes, those that two boxes share in both."""
        if not isinstance(beta, (list, tuple)) and np.ndim(cast(ArrayLike, beta)) == 0:
            everywhere = float(cast(float, beta))
            faces = [np.full(shape, everywhere) for shape in self._face_shapes()]
        else:
            given = cast(Sequence[ArrayLike], beta)
            faces = [np.asarray(values, dtype=np.float64) for values in given]
            shapes = [values.shape for values in faces]
            if shapes != self._face_shapes():
                allowed = ", ".join(map(str, self._face_shapes()))
                raise UserError(
                    f"multigrid: beta of shapes {', '.join(map(str, shapes))}; allowed: a number, or arrays {allowed}"
                )
        own = []
        for axis, values in enumerate(faces):
            sides = [self.box] * 3
            sides[axis] += 1
            parts = [
                values[tuple(slice(at, at + n) for at, n in zip(first, sides, strict=True))]
                for first in self.first_cells
            ]
            own.append(np.concatenate([part.transpose(2, 1, 0).reshape(-1) for part in parts]))
        return own[0], own[1], own[2]

    def _face_shapes(self) -> list[tuple[int, ...]]:
        return [tuple(n + (d == axis) for d, n in enumerate(self.cells)) for axis in range(3)]


def faces_of_cells(values: ArrayLike) -> Faces:
    """Beta on faces from beta in cells, shape (nx, ny, nz): harmonic means of the two cells, which keep the flux through a jump
    right; on the grid's boundary the cell's own value. UserError unless all are positive."""
    cells = np.asarray(values, dtype=np.float64)
    if cells.ndim != 3 or not np.all((cells > 0) & np.isfinite(cells)):
        raise UserError(
            f"multigrid: beta of cells of shape {cells.shape}, least {np.min(cells, initial=np.inf)}; "
            "allowed: three dimensions, positive and finite"
        )
    faces = []
    for axis in range(3):
        padded = np.pad(cells, [(1, 1) if d == axis else (0, 0) for d in range(3)], mode="edge")
        n = cells.shape[axis]
        low = np.take(padded, range(n + 1), axis=axis)
        high = np.take(padded, range(1, n + 2), axis=axis)
        faces.append(2.0 / (1.0 / low + 1.0 / high))
    return faces[0], faces[1], faces[2]


def _triple(cells: int | Sequence[int]) -> tuple[int, int, int]:
    try:
        along = [int(cells)] * 3 if np.ndim(cells) == 0 else [int(n) for n in cast(Sequence[int], cells)]
    except (TypeError, ValueError):
        along = []
    if len(along) != 3:
        raise UserError(f"multigrid: cells = {cells!r}; allowed: a whole number, or three")
    return along[0], along[1], along[2]


def _sides(boundary: Boundary | Sequence[Side]) -> tuple[list[tuple[str, str]], tuple[bool, bool, bool]]:
    """Per dimension: before the first cell and behind the last; and whether it is periodic."""
    per_dimension = [boundary] * 3 if isinstance(boundary, str) else list(boundary)
    pairs = [(side, side) if isinstance(side, str) else tuple(side) for side in per_dimension]
    flat = [side for pair in pairs for side in pair]
    odd = [pair for pair in pairs if len(pair) != 2 or (pair[0] == "periodic") != (pair[1] == "periodic")]
    if len(pairs) != 3 or odd or any(side not in KINDS for side in flat):
        raise UserError(
            f"multigrid: boundary = {boundary!r}; allowed: {', '.join(KINDS)}, or three of them, each of which may be "
            "a pair of dirichlet and neumann"
        )
    periodic = [pair[0] == "periodic" for pair in pairs]
    named = [("dirichlet", "dirichlet") if pair[0] == "periodic" else (str(pair[0]), str(pair[1])) for pair in pairs]
    return named, (periodic[0], periodic[1], periodic[2])
