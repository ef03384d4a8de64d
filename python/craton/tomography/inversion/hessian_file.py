"""hessian.h5 of a run: the linearised problem, written by the run, found again by it, and checked for whatever follows.

Files of a run under way say to which iteration they belong: what belongs to another is as if it were not there.
"""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton.arrays.symmetric_matrix import parts_of_packed
from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.runs.files import aside_of, read_hdf5, replaced, write_hdf5
from craton.runs.hdf5_files import opened_hdf5, refused
from craton.tomography.config.prior import PriorConfig, prior_from_dict
from craton.tomography.config.values import knots_of_level

if TYPE_CHECKING:
    from craton import SymmetricMatrix
    from craton.tomography.folder import RunFolder
    from craton.tomography.inversion.context import RunContext

f64 = NDArray[np.float64]

NOT_COMPLETE = "not a complete file of a run"
LEFT = "what the run left, or to remove it, so that its phase is done again"
NEEDED = ("gradient", "model", "prior_mean", "radial_knots_m", "lateral_level", "precision", "linearised_at_iteration")


def read_system(file_name: pathlib.Path, precision: str = "refined") -> dict[str, Any]:
    """Everything in hessian.h5 but the matrix itself, checked. Not collective.

    `inversion` has block and damping of the run's configuration. UserError for what is not a run's, and for a `precision` that is
    coarser than the file's.
    """

    def wrong(what: str, allowed: str) -> UserError:
        return UserError(f"{file_name}: {what}; allowed: {allowed}")

    stored = read_hdf5(file_name, leave_out=("hessian",))
    stored["packed_block"] = packed_block(file_name)
    missing = [name for name in NEEDED if name not in stored]
    if missing:
        raise wrong(f"'{missing[0]}' is missing", "hessian.h5 of a run")
    at = stored["linearised_at_iteration"]
    if not isinstance(at, int | np.integer) or not 0 <= at <= 10**6:
        raise wrong(f"linearised_at_iteration = {at!r}", "a whole number from 0 to 1000000")
    if stored["precision"] not in ("float32", "float64"):
        raise wrong(f"precision = {stored['precision']!r}", "float32 or float64")
    if (precision, stored["precision"]) == ("float32", "float64"):
        raise UserError(f"--precision float32: the Hessian in {file_name} is float64; allowed: refined or float64")
    size, splines = 0, [("lateral_level", "radial_knots_m"), ("xi_lateral_level", "xi_radial_knots_m")]
    if splines[1][1] not in stored:
        splines = splines[:1]
    for level, radii in splines:
        if not isinstance(stored.get(level), int | np.integer) or not 1 <= stored[level] <= 8:
            raise wrong(f"{level} = {stored.get(level)!r}", "a whole number from 1 to 8")
        knots = stored[radii] = checked_numbers(stored, radii, None, wrong)
        if len(knots) < 4 or np.any(np.diff(knots) <= 0.0) or knots[0] <= 0.0:
            raise wrong(f"{radii} = {knots.tolist()}"[:200], "at least 4 radii in metres, increasing")
        size += knots_of_level(int(stored[level])) * len(knots)
    if len(splines) == 1:
        size *= int(stored.get("parameters", 1))
    stored.setdefault("corrections_precision", np.empty(0))
    stored["corrections_precision"] = precision_of = checked_numbers(stored, "corrections_precision", None, wrong)
    if np.any(precision_of <= 0.0):
        raise wrong(f"corrections_precision has {precision_of.min()}", "numbers above 0")
    for name in ("gradient", "model", "prior_mean"):
        stored[name] = checked_numbers(stored, name, size + len(precision_of), wrong)
    stored["inversion"] = inversion_settings(stored.get("config", "{}"), wrong)
    if not plain_number(stored.get("chi_data", 0.0), 0.0) or not plain_number(stored.get("samples", 1), 1):
        raise wrong(
            f"chi_data = {stored.get('chi_data')!r}, samples = {stored.get('samples')!r}",
            "a misfit and a number of samples",
        )
    size += len(precision_of)
    if stored["packed_block"] is not None and not 1 <= stored["packed_block"] <= size:
        raise wrong(f"hessian is in blocks of {stored['packed_block']}", f"a whole number from 1 to {size}")
    return stored


def packed_block(file_name: pathlib.Path) -> int | None:
    """Rows of a block of the packed Hessian; None where the file holds a full one, or none."""
    with opened_hdf5(file_name, LEFT, wrong=NOT_COMPLETE) as opened:
        attributes = opened["hessian"].attrs if "hessian" in opened else {}
        return int(attributes["block"]) if "block" in attributes else None


def whole_hessian(file_name: str | os.PathLike[str]) -> NDArray[Any]:
    """The Hessian in a file with both triangles, (order, order), for who has the memory. Not collective.

    In the file it is packed (symmetric_matrix.hpp). A11 has the first half of the rows and columns, in whole blocks, and A22 the
    rest. Rows 0, 1, ... hold A12 and then the upper triangle of A22; one block below where A22 begins stands A11, transposed.
    """
    with opened_hdf5(file_name, LEFT, wrong=NOT_COMPLETE) as opened:
        stored, attributes = opened["hessian"][...], opened["hessian"].attrs
        check_checksum(opened["hessian"], checksum_of_rows(stored, 0))
        order, block = int(attributes.get("order", len(stored))), int(attributes.get("block", len(stored)))
    whole = np.zeros((order, order), stored.dtype)
    every_row, every_col = np.arange(stored.shape[0]), np.arange(stored.shape[1])
    for part in parts_of_packed(stored, every_row, every_col, order, block):
        rows, cols = np.nonzero(part.taken())
        whole[part.rows[rows], part.cols[cols]] = part.local[rows, cols]
        whole[part.cols[cols], part.rows[rows]] = part.local[rows, cols]
    return whole


CHECKSUM = "craton_checksum"
"""Attribute of a dataset that C++ has saved (checked_content.hpp)."""
WEIGHT = np.uint64(0x9E3779B97F4A7C15)


def checksum_of_rows(rows: NDArray[Any], first: int) -> int:
    """The part that some whole rows have in a matrix's checksum, which is the sum of all parts modulo 2^64. first: their number.

    Of an element its bits, times an odd number that is its place's.
    """
    bits = np.ascontiguousarray(rows).view(f"u{rows.dtype.itemsize}")
    places = np.arange(first * rows.shape[1], (first + len(rows)) * rows.shape[1], dtype=np.uint64)
    return int(np.sum(bits.ravel() * (places * WEIGHT | np.uint64(1)), dtype=np.uint64))


def check_checksum(stored: Any, found: int) -> None:
    """ValueError where the elements of a dataset of h5py are not those that were saved."""
    wanted = int(stored.attrs.get(CHECKSUM, found))
    if found % 2**64 != wanted:
        raise ValueError(f"the checksum of {stored.name} is {found % 2**64:016x}, but the file says {wanted:016x}")


def plain_number(value: Any, least: float) -> bool:
    """Whether a value is a finite number of at least `least`."""
    return isinstance(value, int | float | np.integer | np.floating) and bool(np.isfinite(value) and value >= least)


def checked_numbers(stored: dict[str, Any], name: str, size: int | None, wrong: Callable[[str, str], UserError]) -> f64:
    """A vector of finite numbers; `size` is None where its length is not known."""
    values = np.asarray(stored[name])
    if values.ndim != 1 or values.dtype.kind not in "fiu" or size not in (None, len(values)):
        length = "" if size is None else f"{size} "
        raise wrong(f"{name} is {values.dtype} of shape {values.shape}", f"{length}numbers in one dimension")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise wrong(f"{name}[{bad[0]}] = {values[bad[0]]} ({len(bad)} in all)", "finite numbers")
    return np.asarray(values, np.float64)


def inversion_settings(config: Any, wrong: Callable[[str, str], UserError]) -> dict[str, Any]:
    """Block and damping of the run's [inversion] table; the defaults where the file holds no configuration."""
    try:
        table = json.loads(config).get("inversion", {})
        found = {"block": table.get("block", 64), "damping": table.get("damping", 0.0)}
    except (ValueError, TypeError, AttributeError):
        raise wrong("config is not a configuration in JSON", "hessian.h5 of a run") from None
    if not isinstance(found["block"], int) or not 1 <= found["block"] <= 4096:
        raise wrong(f"[inversion] block = {found['block']!r}", "a whole number from 1 to 4096")
    if not isinstance(found["damping"], int | float) or not 0.0 <= found["damping"] <= 1e6:
        raise wrong(f"[inversion] damping = {found['damping']!r}", "a number from 0 to 1e6")
    return found


def run_prior(stored: dict[str, Any]) -> PriorConfig | None:
    """The prior of the run that left the Hessian; None where the file does not say."""
    try:
        return prior_from_dict(json.loads(stored["config"])["prior"], "hessian.h5")
    except (KeyError, TypeError, ValueError):
        return None


# ------------------------------------------------------------------------------------------------------ of a run under way


@dataclass
class Linearised:
    """What an assembly finds besides the Hessian."""

    gradient: f64
    chi_data: float
    data_norm: float
    assemble_s: float


def write_hessian(
    run: RunContext, hessian: SymmetricMatrix, found: Linearised, model: f64, linearised_at: int, more: dict[str, Any]
) -> None:
    """Collective: writes hessian.h5, with all that `craton tomography solve` needs. It replaces the last one when complete.

    The last one is kept beside it where [inversion] keep_hessians = "all".
    """
    place, settings = run.place, run.config.inversion
    aside = on_root(run.comm, lambda: str(aside_of(place.hessian)))
    hessian.save(aside, "hessian")
    content = {
        "gradient": found.gradient,
        "model": model,
        "precision": settings.precision,
        "linearised_at_iteration": linearised_at,
        "chi_data": found.chi_data,
        "data_norm": found.data_norm,
        "assemble_s": found.assemble_s,
        "config": json.dumps(run.config.to_dict()),
        **more,
    }

    def complete_file() -> None:
        before = linearised_at_of(place.hessian)
        if settings.keep_hessians == "all" and before is not None and before != linearised_at:
            os.replace(place.hessian, place.hessian_of(before + 1))
        with replaced(place.hessian, own_checksums=("hessian",)) as same:
            write_hdf5(same, content, mode="r+")

    on_root(run.comm, complete_file)


def read_linearised(place: RunFolder, linearised_at: int) -> Linearised | None:
    """What hessian.h5 says of this iteration besides the matrix; None where it is of another. Not collective."""
    stored = of_iteration(place.hessian, linearised_at)
    if stored is None or "chi_data" not in stored or packed_block(place.hessian) is None:  # full: of an earlier version
        return None
    with complete(place.hessian):
        numbers = {name: float(stored[name]) for name in ("chi_data", "data_norm", "assemble_s")}
        return Linearised(np.ascontiguousarray(stored["gradient"]), **numbers)


def of_iteration(file: pathlib.Path, linearised_at: int) -> dict[str, Any] | None:
    """Everything in a file but a Hessian; None where it is missing or of another iteration."""
    if linearised_at_of(file) != linearised_at:
        return None
    return read_hdf5(file, leave_out=("hessian",))


def linearised_at_of(file: pathlib.Path) -> int | None:
    """The number of the model that a file belongs to; None where there is no such file. UserError for one that is damaged."""
    if not file.is_file():
        return None
    with opened_hdf5(file, LEFT, wrong=NOT_COMPLETE) as opened:
        return int(opened.attrs["linearised_at_iteration"])


def complete(file: pathlib.Path) -> AbstractContextManager[None]:
    """Turns what is missing or damaged in a file into a UserError that names it."""
    return refused(file, NOT_COMPLETE, LEFT)
