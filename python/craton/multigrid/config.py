"""The configuration of `craton multigrid run CONFIG`: what may be written in it, its defaults, and what is allowed.

`craton multigrid template` prints all of it. An HDF5 file of a problem is a configuration too, with options for the rest.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.runs.iterative import with_options
from craton.settings import (
    Configuration,
    choice,
    directory_setting,
    integer,
    number,
    read_toml,
    setting,
    shown,
    template_of,
    text,
)

__all__ = ["TABLES", "Config", "load_config", "template"]

HDF5 = (".h5", ".hdf5")
"""Endings of problem files."""
LARGEST = 1e30
"""Sides of cells are between 1 over it and it."""
RIGHT_HAND_SIDES = ("sines", "charges", "constant")


def _cells(value: Any) -> tuple[int, int, int]:
    three = [value] * 3 if isinstance(value, int) else value
    whole = isinstance(three, list | tuple) and all(isinstance(n, int) and not isinstance(n, bool) for n in three)
    if not whole or len(three) != 3 or not all(2 <= n <= 10**5 for n in three):
        raise ValueError("a whole number in [2, 100000], or three of them")
    return three[0], three[1], three[2]


def _spacing(value: Any) -> tuple[float, float, float]:
    three = [value] * 3 if isinstance(value, int | float) else value
    numbers = isinstance(three, list | tuple) and all(
        isinstance(h, int | float) and not isinstance(h, bool) and 0 <= h <= LARGEST for h in three
    )
    if not numbers or len(three) != 3 or (any(three) and min(three) < 1 / LARGEST):
        raise ValueError(f"a number in [{1 / LARGEST:g}, {LARGEST:g}], or three of them, or 0 for all")
    return float(three[0]), float(three[1]), float(three[2])


@dataclass(frozen=True)
class ProblemConfig:
    """a alpha u - b div(beta grad u) = f on a grid of equal cells.

    Fields of your own are in an HDF5 file, which says all of this table; without one alpha and beta are constant.
    """

    file: str = setting(
        "", text, 'HDF5 file with f and coefficients (docs/multigrid.md); "": what follows', path="input"
    )
    cells: tuple[int, int, int] = setting((64, 64, 64), _cells, "cells along x, y, z, or one number for a cube")
    spacing: tuple[float, float, float] = setting(
        (0.0, 0.0, 0.0),
        _spacing,
        "sides of a cell along x, y, z, or one number; 0: cubes, and the longest dimension is 1",
    )
    right_hand_side: str = setting(
        "sines",
        choice(*RIGHT_HAND_SIDES),
        'f: "sines", of one period along each dimension; "charges", two opposite ones; or "constant", 1',
    )
    boundary: str = setting(
        "dirichlet",
        text,
        '"dirichlet", "neumann", "robin(A,C)" (A u + C beta du/dn = 0) or "periodic"; or three, each of which may be a pair: '
        '"dirichlet neumann:dirichlet periodic"',
    )
    a: float = setting(0.0, number(0, 1e30), "factor of u; alpha is 1")
    b: float = setting(1.0, number(1e-30, 1e30), "factor of the divergence")
    beta: float = setting(1.0, number(1e-30, 1e30), "the coefficient, everywhere")


@dataclass(frozen=True)
class SolverConfig:
    """How it is solved: one F-cycle, then V-cycles or steps of conjugate gradients."""

    operator: str = setting(
        "",
        choice("", "7pt", "fv2", "fv4"),
        '"7pt": point values, second order; "fv2", "fv4": averages over cells, second and fourth order; "": the file\'s, else 7pt',
    )
    smoother: str = setting("gsrb", choice("gsrb", "chebyshev", "jacobi"), "of every level")
    method: str = setting(
        "cycles",
        choice("cycles", "cg"),
        '"cycles": V-cycles; "cg": conjugate gradients preconditioned by a V-cycle, for beta that jumps by orders of magnitude',
    )
    tolerance: float = setting(
        1e-8, number(1e-16, 0.999), "largest residual over the largest |f| as it is given, at which it ends"
    )
    cycles: int = setting(50, integer(0, 10**6), "V-cycles or steps after the F-cycle, at most")


@dataclass(frozen=True)
class GridConfig:
    """How the grid is cut into boxes, and the boxes are dealt to ranks."""

    box: int = setting(
        16, integer(2, 10**4), "cells of a box along each dimension; the last box has the rest of the grid's"
    )
    order: str = setting(
        "morton", choice("morton", "hilbert", "lexicographic"), "the curve along which boxes are dealt to ranks"
    )


@dataclass(frozen=True)
class RunConfig:
    """Where results go, and how the work is shared out."""

    directory: str = directory_setting()
    ranks: int = setting(0, integer(0, 10**6), "processes, if --ranks does not say; 0: one")
    threads: int = setting(1, integer(1, 1024), "of each rank; they share its boxes")


@dataclass(frozen=True, kw_only=True, repr=False)
class Config(Configuration):
    """A whole configuration, checked. Paths in it are absolute."""

    tables = {"problem": ProblemConfig, "solver": SolverConfig, "grid": GridConfig, "run": RunConfig}
    problem: ProblemConfig
    solver: SolverConfig
    grid: GridConfig
    run: RunConfig

    def check(self) -> None:
        """A file of a problem says all of [problem]."""
        if not self.problem.file:
            return
        for item in dataclasses.fields(ProblemConfig):
            value = getattr(self.problem, item.name)
            if item.name != "file" and value != item.default:
                raise self.wrong(
                    f"[problem] {item.name} = {shown(value)} with file; allowed: file alone, which says what is solved"
                )


TABLES = Config.tables


def load_config(path: str | os.PathLike[str], options: Mapping[tuple[str, str], Any] | None = None) -> Config:
    """Reads and checks a TOML file; or the name of an HDF5 file, which is the configuration of its problem. Not collective.

    options: (table, key) -> value: what the command line says instead of the file; None says nothing. UserError names the key, the
    value and what is allowed.
    """
    path = Path(path)
    if path.suffix.lower() in HDF5:
        if not path.is_file():
            raise UserError(f"{path}: no such file; allowed: a TOML file, or an HDF5 file of a problem")
        raw: dict[str, Any] = {"problem": {"file": str(path.absolute())}}
    else:
        raw = read_toml(path, "craton multigrid template")
    return Config.build(with_options(raw, options), path)


def template() -> str:
    """A commented TOML file with every table, key and default."""
    return template_of(
        "A multigrid solve. Look at it with: craton multigrid check THIS_FILE; start it with: craton multigrid run THIS_FILE",
        TABLES,
        width=32,
    )
