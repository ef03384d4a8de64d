"""A user's own problem on a grid of boxes, with NumPy arrays in and out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

import craton
from craton import _craton
from craton.errors import UserError

Field = NDArray[np.float64]
Faces = tuple[Field, Field, Field]
Boundary = Literal["dirichlet", "neumann", "periodic"]
Side = Boundary | tuple[Boundary, Boundary]
OnSide = float | ArrayLike | Callable[[Field, Field, Field], ArrayLike] | None
"""What is given on a side: a number, an array of its faces, or a function of x, y, z."""
BoundaryValues = OnSide | Sequence[OnSide | tuple[OnSide, OnSide]]
Result = TypeVar("Result")

KINDS = ("dirichlet", "neumann", "periodic")
METHODS = ("cycles", "cg")
OPERATORS = ("7pt", "fv2", "fv4")
SMOOTHERS = ("chebyshev", "gsrb", "jacobi")
ORDERS = ("lexicographic", "morton", "hilbert")


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
    """a alpha u - b div(beta grad u) = f by full multigrid. The longest dimension of the grid has length 1.

    Fields are arrays [i, j, k] of cells: point values for the operator 7pt, averages over cells for fv2 and fv4. A field is
    given for the whole grid (shape `cells`, the same on every rank) or for this rank's boxes (shape `own_shape`:
    (boxes, box, box, box), in the order of `first_cells`), and comes back likewise.

    Everything but the attributes is collective: every rank of the world must call. What is wrong raises UserError, on every rank
    even if only one has it in its arrays.
    """

    world: _craton.World
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
        alpha: ArrayLike | None = None,
        a: float | None = None,
        b: float = 1.0,
        boundary: Boundary | Sequence[Side] = "dirichlet",
        operator: Literal["7pt", "fv2", "fv4"] = "7pt",
        smoother: Literal["gsrb", "chebyshev", "jacobi"] = "gsrb",
        order: Literal["morton", "hilbert", "lexicographic"] = "morton",
        threads: int = 1,
    ) -> None:
        """cells: along each dimension; one number for a cube. box: cells of a box along each dimension; `cells` are multiples of
        it, and both should have many factors of 2. There must be at least as many boxes as ranks.

        beta: a positive number, or three arrays of the whole grid: on the faces normal to each dimension, so of shapes
        (nx + 1, ny, nz), (nx, ny + 1, nz) and (nx, ny, nz + 1); `faces_of_cells` makes them from values of cells. On sides
        with Neumann's condition no flux passes, whatever beta is there; round a periodic boundary the first face counts.

        alpha: a field (of cells), at least 0 everywhere and above 0 somewhere; left out it is 1. a: left out it is 0, with alpha 1.

        boundary: "dirichlet" (u is given), "neumann" (the flux beta du/dn is) or "periodic"; or one per dimension, each of
        which may be a pair (before the first cell, behind the last). What is given is 0 unless `solve` is told something else.
        Where a = 0 and no side is Dirichlet, f must have mean 0, and u has.

        operator: 7pt and fv2 are of second order, fv4 of fourth. order: the curve along which boxes are dealt to ranks.
        threads: of each rank, which share its boxes."""
        craton.check_mpi()
        self.world = world

        def checked() -> tuple[tuple[int, int, int], list[tuple[str, str]], float, float, int]:
            self.cells, self.box = _triple(cells), _whole("box", box)
            sides, self._periodic = _sides(boundary)
            for name, given, known in (
                ("operator", operator, OPERATORS),
                ("smoother", smoother, SMOOTHERS),
                ("order", order, ORDERS),
            ):
                if given not in known:
                    raise UserError(f"multigrid: {name} = {given!r}; allowed: {', '.join(known)}")
            factor = (0.0 if alpha is None else 1.0) if a is None else _number("a", a)
            return self._boxes(), sides, factor, _number("b", b), _whole("threads", threads)

        boxes, sides, factor, b, threads = self.together(checked)
        # which boxes are this rank's follows from the layout alone
        self.first_cells = _craton.boxes_of_rank(world, boxes, self.box, order)
        self.own_shape = (len(self.first_cells), self.box, self.box, self.box)
        self._averages = operator != "7pt"
        own_beta, own_alpha = self.together(
            lambda: (self._own_faces(beta), np.zeros(0) if alpha is None else self._own_values(alpha, "alpha")[0])
        )
        self._solver = _craton.MultigridSolver(
            world,
            boxes,
            self.box,
            self._periodic,
            order,
            operator,
            smoother,
            factor,
            b,
            sides,
            own_beta,
            own_alpha,
            threads,
        )

    @property
    def singular(self) -> bool:
        """Whether u is fixed up to a constant only."""
        return self._solver.singular

    @property
    def levels(self) -> list[tuple[int, tuple[int, int, int], int]]:
        """Per level, the finest first: side of a box in cells, boxes along each dimension, ranks that have some."""
        return self._solver.levels

    def solve(
        self,
        f: ArrayLike,
        *,
        boundary_values: BoundaryValues = None,
        tolerance: float = 1e-8,
        most: int = 50,
        method: Literal["cycles", "cg"] = "cycles",
        progress: Callable[[int, float], object] | None = None,
    ) -> Solution:
        """An F-cycle, then at most so many V-cycles until the largest residual is at most `tolerance` times the largest |f|.

        boundary_values: u on Dirichlet sides and the flux beta du/dn on Neumann sides (n outwards; fv4 takes only 0), for every
        side that is not periodic, or one per dimension, each of which may be a pair (before the first cell, behind the last).
        Each is None (0), a number, an array of the side's faces (say (ny, nz) for the first dimension), or a function of x, y,
        z that takes and gives arrays. An array has values at the faces' centres for 7pt, averages over faces for fv2 and fv4.
        The "f" that residuals are compared with is then the right-hand side of the cells' equations, of the order of the values
        / h^2.

        method "cg": conjugate gradients with a V-cycle as preconditioner instead, for coefficients that jump by orders of
        magnitude. progress(step, residual) is called on every rank as they come. Not to have converged is no error: see
        Solution.converged."""

        def checked() -> tuple[float, int]:
            if method not in METHODS:
                raise UserError(f"multigrid: method = {method!r}; allowed: {', '.join(METHODS)}")
            if progress is not None and not callable(progress):
                raise UserError(f"multigrid: progress = {progress!r}; allowed: a function of step and residual")
            return _number("tolerance", tolerance), _whole("most", most)

        tolerance, most = self.together(checked)
        values, whole = self._own(f, "right-hand side")
        self._solver.set_right_hand_side(values, self.together(lambda: self._sides(boundary_values)))
        step = self._solver.solve if method == "cycles" else self._solver.solve_by_conjugate_gradients
        residuals, converged = step(tolerance, most, progress)
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
        whole = _to_be_cut(field, "field", str(self.cells))
        if whole.shape != self.cells:
            raise UserError(f"multigrid: field of shape {whole.shape}; allowed: {self.cells}")
        s = self.box
        parts = [whole[i : i + s, j : j + s, k : k + s] for i, j, k in self.first_cells]
        return np.stack(parts, dtype=np.float64)

    def whole(self, own: ArrayLike) -> Field:
        """The whole grid, on every rank, from every rank's own part."""
        values, _ = self._own(own, "field")
        return self._field(values, whole=True)

    def together(self, work: Callable[[], Result]) -> Result:
        """Collective: every rank does its work; an error of one is raised on all as UserError, so that nobody waits for one that is
        gone."""
        return together(self.world, work)

    def _boxes(self) -> tuple[int, int, int]:
        """Along each dimension."""
        if self.box < 1 or any(n < 1 or n % self.box for n in self.cells):
            shape = " x ".join(map(str, self.cells))
            raise UserError(f"multigrid: cells = {shape} with box = {self.box}; allowed: multiples of the box's side")
        x, y, z = (n // self.box for n in self.cells)
        if x * y * z < self.world.size:
            raise UserError(
                f"multigrid: boxes = {x * y * z} on {self.world.size} ranks; allowed: at least one box per rank"
            )
        return x, y, z

    def _own(self, field: ArrayLike, what: str) -> tuple[Field, bool]:
        """_own_values, agreed on by all ranks."""
        values, whole = self.together(lambda: self._own_values(field, what))
        if self._solver.sum_over_ranks(np.array([float(whole)]))[0] not in (0, self.world.size):
            raise UserError(f"multigrid: {what} of the whole grid on some ranks only; allowed: on all, or on none")
        return values, whole

    def _own_values(self, field: ArrayLike, what: str) -> tuple[Field, bool]:
        """As the extension wants it (box after box, i fastest), and whether it was the whole grid's."""
        given = _to_be_cut(field, what, self._shapes())
        if given.shape not in (self.cells, self.own_shape):
            raise UserError(f"multigrid: {what} of shape {given.shape}; allowed: {self._shapes()}")
        whole = given.shape == self.cells
        own = self.own_part(given) if whole else np.asarray(given, dtype=np.float64)
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
        allowed = "a number, or arrays " + ", ".join(map(str, self._face_shapes()))
        if not isinstance(beta, (list, tuple)) and np.ndim(cast(ArrayLike, beta)) == 0:
            everywhere = _number("beta", beta, allowed)
            faces = [np.full(shape, everywhere) for shape in self._face_shapes()]
        else:
            three = cast(Sequence[ArrayLike], beta)
            faces = [_to_be_cut(values, f"beta[{n}]", allowed) for n, values in enumerate(three)]
            shapes = [values.shape for values in faces]
            if shapes != self._face_shapes():
                raise UserError(f"multigrid: beta of shapes {', '.join(map(str, shapes))}; allowed: {allowed}")
        own = []
        for axis, values in enumerate(faces):
            sides = [self.box] * 3
            sides[axis] += 1
            parts = [
                values[tuple(slice(at, at + n) for at, n in zip(first, sides, strict=True))]
                for first in self.first_cells
            ]
            own.append(np.concatenate([part.transpose(2, 1, 0).reshape(-1) for part in parts], dtype=np.float64))
        return own[0], own[1], own[2]

    def _sides(self, given: BoundaryValues) -> list[tuple[Field, Field]]:
        """As the extension wants them."""
        if isinstance(given, (list, tuple)):
            three: list[Any] = list(given)
        else:
            three = [None if round_about else given for round_about in self._periodic]
        pairs = [tuple(each) if isinstance(each, (list, tuple)) else (each, each) for each in three]
        if len(pairs) != 3 or any(len(pair) != 2 for pair in pairs):
            raise UserError(
                f"multigrid: boundary_values of lengths {[len(pair) for pair in pairs]}; allowed: one for all sides, or three, "
                "each of which may be a pair"
            )
        return [(self._on_side(pair[0], axis, 0), self._on_side(pair[1], axis, 1)) for axis, pair in enumerate(pairs)]

    def _on_side(self, given: OnSide, axis: int, end: int) -> Field:
        """The lower of the side's dimensions fastest."""
        if given is None:
            return np.zeros(0)
        shape = tuple(n for d, n in enumerate(self.cells) if d != axis)
        name = f"the side {'behind the last' if end else 'before the first'} {'xyz'[axis]}"
        wrong, allowed = f"values on {name} are no real numbers", f"a number, or {shape}"
        if callable(given):
            side = self._face_means(given, axis, end, lambda values: _numbers(values, wrong, allowed))
        else:
            side = _numbers(given, wrong, allowed)
        if side.ndim == 0:
            side = np.broadcast_to(side, shape)
        if side.shape != shape:
            raise UserError(f"multigrid: values on {name} of shape {side.shape}; allowed: {allowed}")
        return np.ascontiguousarray(side.T).reshape(-1)

    def _face_means(
        self,
        of: Callable[[Field, Field, Field], ArrayLike],
        axis: int,
        end: int,
        checked: Callable[[ArrayLike], Field],
    ) -> Field:
        """A function at the centres of a side's faces, or by two points of Gauss along each of its dimensions."""
        h = 1.0 / max(self.cells)
        offsets = (-(12**-0.5), 12**-0.5) if self._averages else (0.0,)
        total: Any = 0.0
        for p in offsets:
            for q in offsets:
                shifts = iter((p, q))
                x = [
                    np.array([end * n * h]) if d == axis else (np.arange(n) + 0.5 + next(shifts)) * h
                    for d, n in enumerate(self.cells)
                ]
                grid = [np.squeeze(each, axis) for each in np.meshgrid(*x, indexing="ij")]
                total = total + checked(of(*grid)) / len(offsets) ** 2
        return np.asarray(total)

    def _face_shapes(self) -> list[tuple[int, ...]]:
        return [tuple(n + (d == axis) for d, n in enumerate(self.cells)) for axis in range(3)]


def together(world: _craton.World, work: Callable[[], Result]) -> Result:
    """Collective: see Solver.together."""
    result, failure, cause = None, "", None
    try:
        result = work()
    except UserError as error:
        failure = str(error)
    except Exception as error:
        cause = error
        what = " ".join(f"{type(error).__name__}: {error}".split())
        failure = f"multigrid: {what} on rank {world.rank}; allowed: arguments and functions that work on every rank"
    try:
        _craton.agree(world, failure)
    except UserError as told:
        raise told from cause
    return cast(Result, result)


def _to_be_cut(field: ArrayLike, what: str, allowed: str) -> Field:
    """An array of numbers, or what gives parts of one by slices, such as a dataset of an HDF5 file: only what is wanted is read."""
    kind = getattr(getattr(field, "dtype", None), "kind", "")
    if kind in ("f", "i", "u") and hasattr(field, "shape"):
        return cast(Field, field)
    return _numbers(field, f"{what} is no array of real numbers", allowed)


def _numbers(given: ArrayLike, wrong: str, allowed: str) -> Field:
    """UserError (what is wrong, what is allowed) unless they are, and real."""
    try:
        values = np.asarray(given)
        of_objects = values.dtype.kind == "O" and not any(
            isinstance(v, (complex, str, bytes, NoneType)) for v in values.flat
        )
        if values.dtype.kind in "fiub" or of_objects:
            return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    raise UserError(f"multigrid: {wrong}; allowed: {allowed}")


def _number(name: str, given: Any, allowed: str = "a number") -> float:
    """UserError unless it is one, and real."""
    number = _numbers(given, f"{name} = {given!r}", allowed)
    if number.ndim != 0:
        raise UserError(f"multigrid: {name} = {given!r}; allowed: {allowed}")
    return float(number)


def _whole(name: str, given: Any) -> int:
    """UserError unless it is a whole number, and one that the extension takes."""
    number = _number(name, given, "a whole number")
    if not (abs(number) < 2**31 and number == int(number)):
        raise UserError(f"multigrid: {name} = {given!r}; allowed: a whole number")
    return int(number)


def faces_of_cells(values: ArrayLike, periodic: Sequence[bool] = (False, False, False)) -> Faces:
    """Beta on faces from beta in cells, shape (nx, ny, nz): harmonic means of the two cells, which keep the flux through a jump
    right; on the grid's boundary the cell's own value, or round a periodic dimension the mean of both ends'. UserError unless all
    are positive."""
    cells = _numbers(values, "beta of cells is no array of real numbers", "one of three dimensions")
    faces = []
    if cells.ndim != 3 or not cells.size:
        raise UserError(f"multigrid: beta of cells of shape {cells.shape}; allowed: three dimensions")
    if np.shape(periodic) != (3,):
        raise UserError(f"multigrid: periodic = {periodic!r}; allowed: three of True or False")
    for axis in range(3):
        width = [(1, 1) if d == axis else (0, 0) for d in range(3)]
        padded = np.pad(cells, width, mode="wrap" if periodic[axis] else "edge")
        faces.append(harmonic_means(padded, axis))
    return faces[0], faces[1], faces[2]


def harmonic_means(cells: Field, axis: int) -> Field:
    """Of neighbours along an axis, one less than there are. UserError unless all are positive."""
    if not np.all((cells > 0) & np.isfinite(cells)):
        wrong = cells[~((cells > 0) & np.isfinite(cells))][0]
        raise UserError(f"multigrid: beta of a cell = {wrong:g}; allowed: positive and finite")
    n = cells.shape[axis]
    low = np.take(cells, range(n - 1), axis=axis)
    high = np.take(cells, range(1, n), axis=axis)
    return cast(Field, 2.0 / (1.0 / low + 1.0 / high))


def _triple(cells: int | Sequence[int]) -> tuple[int, int, int]:
    if np.ndim(cells) == 0:
        n = _whole("cells", cells)
        return n, n, n
    if np.shape(cells) != (3,):
        raise UserError(f"multigrid: cells = {cells!r}; allowed: a whole number, or three")
    x, y, z = (_whole("cells", n) for n in cast(Sequence[int], cells))
    return x, y, z


def _sides(boundary: Boundary | Sequence[Side]) -> tuple[list[tuple[str, str]], tuple[bool, bool, bool]]:
    """Per dimension: before the first cell and behind the last; and whether it is periodic."""
    per_dimension = [boundary] * 3 if isinstance(boundary, str) else boundary
    pairs = per_dimension if isinstance(per_dimension, (list, tuple)) else []
    pairs = [pair if isinstance(pair, (list, tuple)) else (pair, pair) for pair in pairs]
    flat = [side for pair in pairs for side in pair]
    odd = [pair for pair in pairs if len(pair) != 2 or (pair[0] == "periodic") != (pair[1] == "periodic")]
    if len(pairs) != 3 or odd or any(not isinstance(side, str) or side not in KINDS for side in flat):
        raise UserError(
            f"multigrid: boundary = {boundary!r}; allowed: {', '.join(KINDS)}, or three of them, each of which may be "
            "a pair of dirichlet and neumann"
        )
    periodic = [pair[0] == "periodic" for pair in pairs]
    named = [("dirichlet", "dirichlet") if pair[0] == "periodic" else (str(pair[0]), str(pair[1])) for pair in pairs]
    return named, (periodic[0], periodic[1], periodic[2])
