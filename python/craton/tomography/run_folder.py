"""The folder that an inversion leaves behind: data.h5, hessian.h5, model.h5, record.json, report.html.

Every file is written beside its final name and then renamed, so that a folder never holds half a file under a name that
somebody will read: a run that is killed leaves the last complete one.
"""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

import h5py
import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from craton.errors import UserError

f64 = NDArray[np.float64]
Result = TypeVar("Result")


@dataclass
class IterationRecord:
    """One model of the inversion; iteration 0 is the starting model."""

    iteration: int
    chi_data: float
    """Half the squared residual, weighted by C_d^-1: the first part of equation 1."""
    chi_prior: float
    """Half the squared deviation from the prior mean, weighted by C_m^-1: the second part of equation 1."""
    variance_reduction: float
    """1 - ||d - g(m)||^2 / ||d||^2, weighted by C_d^-1."""
    residual_reduction: float
    """1 - ||d - g(m)||^2 / ||d - g(m^0)||^2, weighted by C_d^-1."""
    step_length: float = 0.0
    """1 for a full Gauss-Newton step; 1/2, 1/4, ... where the misfit would have risen; 0 for the starting model."""
    assemble_s: float = 0.0
    solve_s: float = 0.0
    misfit_s: float = 0.0
    paths_per_s: float = 0.0

    @property
    def chi(self) -> float:
        """Equation 1."""
        return self.chi_data + self.chi_prior


@dataclass
class CoverageCorrelation:
    """How well the target is recovered at the lateral knots whose path coverage is above the median."""

    overall: float
    depth_km: list[float]
    by_depth: list[float]
    knots: int
    all_knots: float
    """The same over all knots, covered or not."""


@dataclass
class RunRecord:
    """What was run, how far it came and how long it took: record.json."""

    title: str
    folder: str
    config: dict[str, Any]
    versions: dict[str, str]
    command: str
    started: str
    data_kind: str
    ranks: int
    nodes: int
    threads: int
    events: int
    stations: int
    paths: int
    samples: int
    lateral_knots: int
    radial_knots: int
    modes: int
    iterations: list[IterationRecord] = field(default_factory=list)
    stopped_because: str = ""
    finished: bool = False
    phase_s: list[dict[str, float]] = field(default_factory=list)
    """Wall-clock seconds of each phase, one dictionary per rank."""
    assembly_s: list[dict[str, float]] = field(default_factory=list)
    """What assemble() reported, summed over the iterations, one dictionary per rank."""
    correlation: CoverageCorrelation | None = None

    def to_json(self) -> str:
        """Strict JSON, indented."""
        return json.dumps(asdict(self), indent=1, allow_nan=False, default=str)

    @classmethod
    def from_json(cls, text: str) -> RunRecord:
        """The inverse of to_json; ValueError, KeyError or TypeError where the text is something else."""
        content = json.loads(text)
        known = {entry.name for entry in fields(cls)}
        content = {key: value for key, value in content.items() if key in known}
        content["iterations"] = [IterationRecord(**entry) for entry in content["iterations"]]
        if content.get("correlation") is not None:
            content["correlation"] = CoverageCorrelation(**content["correlation"])
        return cls(**content)


class RunFolder:
    """Names of the files, and how to write them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)

    @property
    def data(self) -> pathlib.Path:
        return self.path / "data.h5"

    @property
    def hessian(self) -> pathlib.Path:
        return self.path / "hessian.h5"

    @property
    def model(self) -> pathlib.Path:
        return self.path / "model.h5"

    @property
    def record(self) -> pathlib.Path:
        return self.path / "record.json"

    @property
    def report(self) -> pathlib.Path:
        return self.path / "report.html"

    @property
    def files(self) -> tuple[pathlib.Path, ...]:
        return self.data, self.hessian, self.model, self.record, self.report

    def check(self, overwrite: bool) -> None:
        """Makes the folder and sees that it can be written to. Results in it are a UserError unless `overwrite`."""
        present = [file for file in self.files if file.exists()]
        if present and not overwrite:
            raise UserError(
                f"output folder {self.path}: {present[0].name} is there already; "
                "allowed: another folder, or --overwrite"
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UserError(
                f"output folder {self.path}: {problem.strerror or problem}; allowed: a folder that can be made"
            ) from problem
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise UserError(f"output folder {self.path}: no permission to write; allowed: a folder of your own")

    def clear(self) -> None:
        """Removes the results of an earlier run, once it is certain that there will be new ones."""
        for file in self.files:
            file.unlink(missing_ok=True)

    def write_record(self, record: RunRecord) -> None:
        """record.json"""
        with replaced(self.record) as aside:
            aside.write_text(record.to_json() + "\n", encoding="utf-8")

    def read_record(self) -> RunRecord:
        """record.json, or a UserError that names it."""
        try:
            return RunRecord.from_json(self.record.read_text(encoding="utf-8"))
        except OSError as problem:
            raise UserError(f"{self.record}: {problem.strerror or problem}; is this the folder of a run?") from problem
        except (ValueError, KeyError, TypeError) as problem:
            raise UserError(f"{self.record}: not a run's record ({problem})") from problem

    def write_model(self, content: dict[str, Any]) -> None:
        """model.h5: arrays and attributes, see write_hdf5."""
        with replaced(self.model) as aside:
            write_hdf5(aside, content)

    def read_model(self) -> dict[str, Any]:
        """Everything in model.h5."""
        return read_hdf5(self.model)


@contextmanager
def replaced(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives a name beside `path` to write to; renames it to `path` when the block ends well, else removes it."""
    aside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        yield aside
        with aside.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as problem:
        raise UserError(f"{path}: cannot be written: {problem.strerror or problem}") from problem
    finally:
        aside.unlink(missing_ok=True)


def write_hdf5(path: pathlib.Path, content: dict[str, Any], mode: str = "w") -> None:
    """Arrays become datasets ('group/name' makes groups); text and plain numbers become attributes of the file."""
    with h5py.File(path, mode) as file:
        for name, value in content.items():
            if isinstance(value, np.ndarray):
                file.create_dataset(name, data=value)
            else:
                file.attrs[name] = value


def read_hdf5(path: pathlib.Path, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """The inverse of write_hdf5; a UserError names the file that is missing or damaged."""
    content: dict[str, Any] = {}
    try:
        with h5py.File(path, "r") as file:

            def collect(name: str, item: Any) -> None:
                if isinstance(item, h5py.Dataset) and name not in leave_out:
                    content[name] = item[()]

            file.visititems(collect)
            content.update(file.attrs.items())
    except FileNotFoundError as problem:
        raise UserError(f"{path}: no such file") from problem
    except (OSError, RuntimeError, KeyError) as problem:
        raise UserError(f"{path}: not a complete HDF5 file ({problem})") from problem
    return content


def on_root(comm: MPI.Comm, work: Callable[[], Result]) -> Result:
    """Rank 0 does the work, every rank gets the result. If it fails all ranks raise: none waits for another."""
    outcome: tuple[Any, str | None, bool] = (None, None, False)
    failure: Exception | None = None
    if comm.rank == 0:
        try:
            outcome = (work(), None, False)
        except Exception as problem:
            failure = problem
            outcome = (None, str(problem), isinstance(problem, UserError))
    result, complaint, by_user = comm.bcast(outcome, root=0)
    if failure is not None:
        raise failure
    if complaint is not None:
        raise UserError(complaint) if by_user else RuntimeError(f"rank 0 failed: {complaint}")
    return result  # type: ignore[no-any-return]
