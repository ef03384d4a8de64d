"""The folder that an inversion leaves behind: data.h5, hessian.h5, model.h5, record.json, report.html.

While a run goes on there are also progress.json (where it is), step.h5 (the step whose length is being sought) and
hessian.checkpoint.h5 (the assembly so far); with them `craton tomography resume` goes on where a run was killed.

Every file is written beside its final name and then renamed, so that a folder never holds half a file under a name that
somebody will read: a run that is killed leaves the last complete one. A run that is to replace the results of an earlier
one writes to a folder inside until it has results of its own, so that a run that fails early costs nothing. One run at a
time uses a folder.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from craton.errors import UserError
from craton.runs.files import read_hdf5, replaced, write_hdf5
from craton.runs.folder import Folder


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
    peak_bytes: list[dict[str, int]] = field(default_factory=list)
    """Largest resident set in each phase, one dictionary per rank; what ranks share is in each one's."""
    shared_bytes: list[dict[str, int]] = field(default_factory=list)
    """Of that, at the phase's end, memory that several ranks of a node may map."""
    sent_bytes: list[dict[str, int]] = field(default_factory=list)
    """Bytes of updates and other messages that went to other nodes in each phase, one dictionary per rank."""
    correlation: CoverageCorrelation | None = None
    sessions: list[dict[str, Any]] = field(default_factory=list)
    """When the run was started and resumed, on how many ranks, and how long each session took. phase_s and assembly_s above
    are the last session's."""

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


class RunFolder(Folder):
    """Names of the files, and how to write them."""

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
    def progress(self) -> pathlib.Path:
        return self.path / "progress.json"

    @property
    def step(self) -> pathlib.Path:
        return self.path / "step.h5"

    @property
    def checkpoint(self) -> pathlib.Path:
        return self.path / "hessian.checkpoint.h5"

    def hessian_of(self, iteration: int) -> pathlib.Path:
        """Where the Hessian of an iteration before the last is kept, if it is."""
        return self.path / f"hessian-{iteration}.h5"

    @property
    def earlier_hessians(self) -> list[pathlib.Path]:
        """Those that are there, in the order of their iterations."""
        numbers = [re.fullmatch(r"hessian-(\d+)\.h5", file.name) for file in self.path.glob("hessian-*.h5")]
        return [self.hessian_of(number) for number in sorted(int(found[1]) for found in numbers if found)]

    @property
    def files(self) -> tuple[pathlib.Path, ...]:
        kept = (self.data, self.hessian, self.model, self.record, self.report)
        return *kept, *self.earlier_hessians, self.checkpoint, self.step, self.progress

    def check(self, overwrite: bool, inputs: Mapping[str, str] | None = None) -> None:
        if not overwrite and self.unfinished is not None:
            raise UserError(
                f"output folder {self.path}: holds a run that has not finished; allowed: `craton tomography resume "
                f"{self.path}`, another folder, or --overwrite"
            )
        super().check(overwrite, inputs)

    # -------------------------------------------------------------------------------------------------- unfinished runs

    @property
    def unfinished(self) -> RunFolder | None:
        """Where a run that has not finished has its files: here, or inside while it has not yet taken an earlier one's place."""
        inside = RunFolder(self._inside)
        return next((place for place in (inside, self) if place.progress.is_file()), None)

    def place_to_resume(self) -> RunFolder:
        """The same, with what a killed process left half written cleared away; a UserError where there is nothing to resume."""
        self._finish_adopting()
        place = self.unfinished
        if place is None:
            raise UserError(
                f"run folder {self.path}: no {self.progress.name} to go on from; allowed: the folder of a run that has not finished"
            )
        for file in place.files:
            for left_behind in place.path.glob(f"{file.name}.*.new*"):
                left_behind.unlink(missing_ok=True)
        return place

    def discard_checkpoint(self) -> None:
        """With what belongs to it."""
        for file in self.path.glob(f"{self.checkpoint.name}*"):
            file.unlink(missing_ok=True)

    def discard_progress(self) -> None:
        """What only an unfinished run needs; progress.json goes last, because without it nothing would clear the rest away."""
        self.discard_checkpoint()
        self.step.unlink(missing_ok=True)
        self.progress.unlink(missing_ok=True)

    # ------------------------------------------------------------------------------------------ in place of earlier results

    def _clear(self) -> None:
        """A run that has assembled something is kept, however it failed: `resume` may go on with it. One that has no data yet
        leaves nothing."""
        if self.results == [self.progress]:
            self.progress.unlink(missing_ok=True)
        inside = RunFolder(self._inside)
        if not any(file.is_file() for file in (inside.checkpoint, inside.hessian, inside._adopting)):
            shutil.rmtree(self._inside, ignore_errors=True)

    @property
    def _inside(self) -> pathlib.Path:
        return self.path / ".next-run"

    def place_to_write(self) -> RunFolder:
        """The folder itself; or, while it holds results of an earlier run, an empty one inside."""
        self._finish_adopting()
        shutil.rmtree(self._inside, ignore_errors=True)
        if not self.results:
            return self
        self._inside.mkdir()
        return RunFolder(self._inside)

    def adopt(self, place: RunFolder) -> None:
        """Puts what `place` holds where the earlier results are; those without a successor go first."""
        if place.path == self.path:
            return
        names = [file.name for file in place.results]
        with replaced(place._adopting) as aside:
            aside.write_text("\n".join(names), encoding="utf-8")
        self._finish_adopting()

    @property
    def _adopting(self) -> pathlib.Path:
        """Of the folder inside: the names of the files that are on their way out of it."""
        return self.path / "adopting"

    def _finish_adopting(self) -> None:
        """Also what a process did not come to that was killed meanwhile: whatever has happened already is not done again."""
        inside = RunFolder(self._inside)
        if not inside._adopting.is_file():
            return
        names = inside._adopting.read_text(encoding="utf-8").split("\n")
        for file in (self.report, self.record, *self.results):
            if file.name not in names:
                file.unlink(missing_ok=True)
        for name in names:
            if (inside.path / name).is_file():
                os.replace(inside.path / name, self.path / name)
        shutil.rmtree(inside.path, ignore_errors=True)

    # ----------------------------------------------------------------------------------------------------- reading, writing

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
