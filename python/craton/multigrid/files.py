"""Problems and fields in HDF5 files, of which every rank reads and writes the parts of its own boxes."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import h5py
import numpy as np

from craton import _craton
from craton.errors import UserError
from craton.runs.agreement import on_all
from craton.runs.hdf5_files import hdf5_file, opened_hdf5, refused
from craton.runs.hdf5_writing import written_hdf5
from craton.runs.seals import seal
from craton.solvers.multigrid.boundary import KINDS, BoundaryValues, Side, sides
from craton.solvers.multigrid.faces import harmonic_means
from craton.solvers.multigrid.solver import OPERATORS, Solver
from craton.solvers.multigrid.values import Faces, Field

Result = TypeVar("Result")

ALLOWED = "an HDF5 file"
AXES = "xyz"
ENDS = ("before", "behind")
DATASETS = ("f", "alpha", "beta", *(f"beta_{axis}" for axis in AXES))
SIDES = tuple(f"{axis}_{end}" for axis in AXES for end in ENDS)
ATTRIBUTES = ("a", "b", "beta", "boundary", "operator", "spacing")


@dataclass(frozen=True)
class Problem:
    """What a file says, but for its fields."""

    path: Path
    cells: tuple[int, int, int]
    boundary: tuple[Side, Side, Side]
    boundary_values: BoundaryValues
    operator: str
    a: float | None
    b: float
    beta: float | str
    """A number, or "cells" or "faces": there are datasets."""
    has_alpha: bool
    spacing: tuple[float, float, float] | None = None
    """Sides of a cell; None: cubes, and the longest dimension has length 1."""

    @property
    def periodic(self) -> tuple[bool, bool, bool]:
        """Whether each dimension is periodic."""
        return sides(self.boundary).periodic

    def solver(self, world: _craton.World, box: int, *, operator: str | None = None, **settings: Any) -> Solver:
        """Collective: the solver of this problem. Coefficients are read by each rank for its own boxes."""
        with _shared(world, self.path) as file:
            return Solver(
                world,
                self.cells,
                box,
                beta=_beta(self, file),
                alpha=_Field(self.path, file["alpha"]) if self.has_alpha else None,  # type: ignore[arg-type]
                a=self.a,
                b=self.b,
                boundary=self.boundary,
                spacing=self.spacing,
                operator=operator or self.operator,  # type: ignore[arg-type]
                **settings,
            )

    def right_hand_side(self, solver: Solver, operator: str = "") -> Field:
        """Collective: f of this rank's boxes, as the file has it for whatever operator."""
        del operator
        return read_field(self.path, "f", solver)


def read_problem(path: str | os.PathLike[str]) -> Problem:
    """Reads what a file says, but for its fields. Not collective.

    The file's root has the dataset f (nx, ny, nz). It may have alpha of that shape, and beta of that shape, or beta_x, beta_y and
    beta_z of faces. A group boundary_values may have any of x_before, x_behind, y_before, ...: a number or an array of the side's
    faces.

    It may have the attributes a, b, beta (a number), operator, and spacing (sides of a cell: one number or three). The attribute
    boundary is "neumann", or one for each dimension as in "dirichlet neumann:dirichlet periodic". On a side "robin(2,0.5)"
    2 u + 0.5 beta du/dn is given. UserError for what is missing, unknown or of the wrong shape.
    """
    path = Path(path)
    with opened_hdf5(path, ALLOWED) as file:
        _no_others(path, "dataset", list(file), [*DATASETS, "boundary_values"])
        _no_others(path, "attribute", list(file.attrs), ATTRIBUTES)
        f = _dataset(path, file, "f")
        if f.ndim != 3:
            raise UserError(f"{path}: f of shape {f.shape}; allowed: three dimensions")
        cells = (int(f.shape[0]), int(f.shape[1]), int(f.shape[2]))
        if "alpha" in file:
            _dataset(path, file, "alpha", cells)
        boundary = boundary_of(path, _attribute(path, file, "boundary", "dirichlet", str))
        operator = _attribute(path, file, "operator", "7pt", str)
        if operator not in OPERATORS:
            raise UserError(f"{path}: attribute operator = '{operator}'; allowed: {', '.join(OPERATORS)}")
        a = _attribute(path, file, "a", None, float)
        if a is not None and not (a >= 0 and math.isfinite(a)):
            raise UserError(f"{path}: attribute a = {a:g}; allowed: 0 or more, and finite")
        b = _above_0(path, file, "b")
        return Problem(
            path,
            cells,
            boundary,
            _side_values(path, file),
            operator,
            a,
            b,
            _kind_of_beta(path, file, cells),
            "alpha" in file,
            _spacing(path, file),
        )


def read_field(path: str | os.PathLike[str], dataset: str, solver: Solver) -> Field:
    """Collective: this rank's boxes (shape solver.own_shape) of a dataset of shape solver.cells; each rank reads its own.

    UserError on every rank for a file or dataset that is missing, damaged or of another shape.
    """
    path = Path(path)
    with _shared(solver.world, path) as file:
        field = solver.together(lambda: _Field(path, _dataset(path, file, dataset, solver.cells)))
        return solver.together(lambda: solver.own_part(field))  # type: ignore[arg-type]


def write_field(
    path: str | os.PathLike[str],
    dataset: str,
    solver: Solver,
    own: Field,
    attributes: Mapping[str, Any] | None = None,
) -> None:
    """Collective: writes a file with one dataset of shape solver.cells, from the parts of all ranks (shape solver.own_shape).

    The ranks write one after the other. The file replaces what was there once it is complete. UserError on every rank when it
    cannot be written.
    """
    path = Path(path)
    aside = path.with_name(f"{path.name}.ranks.new")  # as aside_of, but the same for all ranks
    world = solver.world

    def create() -> None:
        with written_hdf5(aside) as file:
            file.create_dataset(dataset, solver.cells, dtype="f8")
            file.attrs.update(attributes or {})

    def write() -> None:
        with written_hdf5(aside, "r+") as file:
            for of_box, (nx, ny, nz), part in zip(solver.box_slices(), solver.box_cells, own, strict=True):
                file[dataset][of_box] = part[:nx, :ny, :nz]

    def check() -> None:
        if own.shape != solver.own_shape:
            raise UserError(
                f"multigrid: {dataset} of shape {own.shape}; allowed: {solver.own_shape} of this rank's boxes"
            )

    def in_turn(rank: int, work: Callable[[], None]) -> None:
        solver.together(
            lambda: _told(path, "cannot be written", "a file that can", work) if world.rank == rank else None
        )

    solver.together(check)
    try:
        in_turn(0, create)
        for rank in range(world.size):
            in_turn(rank, write)
        in_turn(0, lambda: seal(aside))
        in_turn(0, lambda: os.replace(aside, path))
    finally:
        if world.rank == 0:
            with suppress(OSError):  # of a folder that is read-only by now
                aside.unlink()


@contextmanager
def _shared(world: _craton.World, path: Path) -> Iterator[h5py.File]:
    """A file that every rank has open to read, or none."""
    with ExitStack() as own:
        yield on_all(world, lambda: own.enter_context(hdf5_file(path, ALLOWED)), "multigrid")


class _Field:
    """A dataset that is read in parts."""

    def __init__(self, path: Path, dataset: h5py.Dataset) -> None:
        self._path, self._dataset = path, dataset
        self.shape, self.dtype = dataset.shape, np.dtype(np.float64)

    def __getitem__(self, part: tuple[slice, ...]) -> Field:
        read = _told(self._path, f"{self._dataset.name} cannot be read", "one that can", lambda: self._dataset[part])
        return np.asarray(read, dtype=np.float64)


class _LazyFaces:
    """Faces normal to one dimension from a dataset of cells, whose part round a box is read when the box's faces are asked for."""

    def __init__(self, cells: _Field, axis: int, periodic: bool) -> None:
        self._cells, self._axis, self._periodic = cells, axis, periodic
        self.shape = tuple(n + (d == axis) for d, n in enumerate(cells.shape))
        self.dtype = np.dtype(np.float64)

    def __getitem__(self, part: tuple[slice, slice, slice]) -> Field:
        n = self._cells.shape[self._axis]
        first, last = part[self._axis].start, part[self._axis].stop - 1
        own = self._read(part, slice(first, last))
        low = self._read(part, self._beside(first - 1, n))
        high = self._read(part, self._beside(last, n))
        return harmonic_means(np.concatenate([low, own, high], axis=self._axis), self._axis)

    def _beside(self, cell: int, n: int) -> slice:
        beside = cell % n if self._periodic else min(max(cell, 0), n - 1)
        return slice(beside, beside + 1)

    def _read(self, part: tuple[slice, slice, slice], along: slice) -> Field:
        wanted = list(part)
        wanted[self._axis] = along
        return self._cells[tuple(wanted)]


def _told(path: Path, what: str, allowed: str, work: Callable[[], Result]) -> Result:
    """HDF5's complaints are the user's business here: a full disk, a damaged file."""
    with refused(path, what, allowed):
        return work()


def _dataset(path: Path, file: h5py.Group, name: str, shape: Sequence[int] | None = None) -> h5py.Dataset:
    found = _told(path, f"dataset {name}", "one that can be read", lambda: file.get(name))
    if not isinstance(found, h5py.Dataset):
        raise UserError(f"{path}: no dataset {name}; allowed: a file that has one")
    if found.dtype.kind not in "fiu":
        raise UserError(f"{path}: {name} of type {found.dtype}; allowed: numbers")
    if shape is not None and found.shape != tuple(shape):
        raise UserError(f"{path}: {name} of shape {found.shape}; allowed: {tuple(shape)}")
    return found


def _attribute(path: Path, file: h5py.File, name: str, default: Any, kind: type) -> Any:
    if name not in file.attrs:
        return default
    value = file.attrs[name]
    try:
        if kind is float:
            if np.size(value) != 1 or np.asarray(value).dtype.kind not in "fiu":
                raise TypeError
            return float(np.asarray(value).item())
        return value.decode() if isinstance(value, bytes) else str(np.asarray(value).item())
    except (TypeError, ValueError, AttributeError):
        wanted = "a number" if kind is float else "a text"
        raise UserError(f"{path}: attribute {name} = {np.asarray(value).tolist()!r}; allowed: {wanted}") from None


def _above_0(path: Path, file: h5py.File, name: str) -> float:
    """A number, 1 unless the file has it."""
    number: float = _attribute(path, file, name, 1.0, float)
    if not (number > 0 and math.isfinite(number)):
        raise UserError(f"{path}: attribute {name} = {number:g}; allowed: above 0, and finite")
    return number


def _spacing(path: Path, file: h5py.File) -> tuple[float, float, float] | None:
    if "spacing" not in file.attrs:
        return None
    value = np.asarray(file.attrs["spacing"])
    real = value.dtype.kind in "fiu" and value.shape in ((), (1,), (3,))
    if not real or not np.all((value > 0) & np.isfinite(value)):
        raise UserError(f"{path}: attribute spacing = {value.tolist()!r}; allowed: a number above 0, or three")
    x, y, z = (float(h) for h in np.broadcast_to(value, 3))
    return x, y, z


def _no_others(path: Path, what: str, found: Sequence[str], known: Sequence[str]) -> None:
    for name in found:
        if name not in known:
            raise UserError(f"{path}: {what} '{name}'; allowed: {', '.join(known)}")


def boundary_of(path: Path, text: str, name: str = "attribute boundary") -> tuple[Side, Side, Side]:
    """Reads words such as "dirichlet neumann:robin(2,0.5) periodic", or one for all. UserError, which names `name`, for others."""
    words = text.split()
    found = [_side(word) for word in (words * 3 if len(words) == 1 else words)]
    if len(found) != 3 or None in found:
        raise UserError(
            f"{path}: {name} = '{text}'; allowed: {', '.join(KINDS)}, robin(A,C), or three of them, each of which may be a "
            "pair as in neumann:dirichlet"
        )
    return found[0], found[1], found[2]  # type: ignore[return-value]


def _side(word: str) -> Side | None:
    """None: there is none such."""
    ends = word.split(":")
    one = len(set(ends)) == 1
    conditions = [_condition(end) for end in ends]
    if len(ends) > 2 or None in conditions or ("periodic" in ends and not one):
        return None
    return conditions[0] if one else (conditions[0], conditions[1])


def _condition(word: str) -> Any:
    """None: there is none such."""
    robin = re.fullmatch(r"robin\(([^,()]+),([^,()]+)\)", word)
    if robin is None:
        return word if word in KINDS else None
    with suppress(ValueError):
        return "robin", float(robin[1]), float(robin[2])
    return None


def _side_values(path: Path, file: h5py.File) -> BoundaryValues:
    group = file.get("boundary_values")
    if group is None:
        return None
    if not isinstance(group, h5py.Group):
        raise UserError(f"{path}: boundary_values is no group; allowed: a group with any of {', '.join(SIDES)}")
    _no_others(path, "boundary value", list(group), SIDES)

    def value(name: str) -> Any:
        return np.asarray(_dataset(path, group, name)[()], dtype=np.float64) if name in group else None

    return [(value(f"{axis}_before"), value(f"{axis}_behind")) for axis in AXES]


def _kind_of_beta(path: Path, file: h5py.File, cells: tuple[int, int, int]) -> float | str:
    faces = [name for name in (f"beta_{axis}" for axis in AXES) if name in file]
    ways = ("beta" in file.attrs) + ("beta" in file) + bool(faces)
    if ways > 1:
        raise UserError(f"{path}: beta in several ways; allowed: an attribute, a dataset of cells, or three of faces")
    if faces:
        for d, axis in enumerate(AXES):
            _dataset(path, file, f"beta_{axis}", [n + (d == e) for e, n in enumerate(cells)])
        return "faces"
    if "beta" in file:
        _dataset(path, file, "beta", cells)
        return "cells"
    return _above_0(path, file, "beta")


def _beta(problem: Problem, file: h5py.File) -> float | Faces:
    if problem.beta == "faces":
        return tuple(_Field(problem.path, file[f"beta_{axis}"]) for axis in AXES)  # type: ignore[return-value]
    if problem.beta == "cells":
        cells = _Field(problem.path, file["beta"])
        return tuple(_LazyFaces(cells, axis, problem.periodic[axis]) for axis in range(3))  # type: ignore[return-value]
    return float(problem.beta)
