"""The folder that `craton regional run` leaves behind.

    config.toml             the configuration with every default written out, but for [run], which is in
    run.toml                    and may be another one when the run is resumed
    events.npy              places of the earthquakes, (n, 3) m
    data.h5                 windows: observed samples, and their standard deviation
    target/                 wave runs in the ground that made the data, where they were made
    states/000/             a model: model.h5 (its coefficients), ground.h5 (vp, vs, rho, as [media] file takes them)
      events/<name>/            wave runs of the earthquakes       stations/<name>-<axis>/    of forces at the stations
      step.h5                   what equation 2 gives there: the step, errors, resolution    step.log, hessian.h5
    states/001/ ...         models that were tried
    model.h5                the last model that was accepted, at all knots
    report.html             the same to be looked at
    record.json             what was done, and when              progress.json    where the run is, while it has not finished

A file has its name once it is whole; a task whose file is there is done. Spectra of wave runs go when they have served, unless
[run] keep_spectra.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from craton.errors import UserError
from craton.runs.files import read_hdf5, remove, replaced, write_hdf5
from craton.runs.folder import RunFile
from craton.runs.job_folder import JobFolder
from craton.runs.record import Record
from craton.seismology.wave_run.folder import WavesFolder

__all__ = ["IterationRecord", "RegionalFolder", "RegionalRecord", "StateFolder"]


@dataclass
class IterationRecord:
    """One model of the inversion; iteration 0 is the starting model."""

    iteration: int
    state: int
    """Number of its folder."""
    chi_data: float
    """Half the squared residual, weighted by C_d^-1: the first part of equation 1."""
    chi_prior: float
    """Half the squared deviation from the prior mean, weighted by C_m^-1: the second part."""
    step_length: float = 0.0
    """1 for a full Gauss-Newton step; 1/2, 1/4, ... where the misfit would have risen; 0 for the starting model."""
    simulations: int = 0
    """Wave runs up to it, but for those that made the data."""
    correlation: float | None = None
    """With the target at all knots, where there is one."""


@dataclass(kw_only=True, repr=False)
class RegionalRecord(Record):
    """record.json of an inversion of regional waveforms. Times in s."""

    cells: list[int]
    steps: int
    """of each wave run"""
    knots: list[int]
    parameters: list[str]
    events: list[str]
    stations: int
    windows: int
    samples: int
    """data in all: samples, or travel times and amplitudes"""
    simulations: int = 0
    """Wave runs so far."""
    iterations: list[IterationRecord] = field(default_factory=list)
    correlation: float | None = None
    """With the target, where there is one, at all knots."""
    resolved_correlation: float | None = None
    """The same at knots where the data leave less than a third of the standard deviation before."""
    reciprocity: float | None = None
    """By how much seismograms by reciprocity and by the earthquakes' own runs differ, as a part of them."""
    failures: list[str] = field(default_factory=list)

    @property
    def fit(self) -> float:
        """2 chi / N of the data at the last model: 1 where they fit as well as their noise lets them."""
        return 2.0 * self.iterations[-1].chi_data / self.samples if self.iterations else float("nan")

    @property
    def told(self) -> dict[str, str]:
        """What was inverted, and how it ended."""
        found = {
            "data": f"{self.windows:,} windows of {len(self.events)} earthquakes at {self.stations} stations",
            "model": f"{', '.join(self.parameters)} at {' x '.join(map(str, self.knots))} knots",
            "wave runs": f"{self.simulations}, of {' x '.join(map(str, self.cells))} cells and {self.steps:,} steps",
        }
        if self.iterations:
            found["fit"] = f"2 chi / N = {self.fit:.3f} after {len(self.iterations) - 1} iterations"
        return found | ({"failed": "; ".join(self.failures)} if self.failures else {})


class StateFolder:
    """A model that was tried, and the wave runs in its ground."""

    def __init__(self, path: Path, number: int) -> None:
        self.path, self.number = path, number
        self.model, self.ground, self.step = path / "model.h5", path / "ground.h5", path / "step.h5"
        self.hessian = path / "hessian.h5"

    def event(self, name: str) -> Path:
        """The folder of a wave run."""
        return self.path / "events" / name

    def receiver(self, station: str, component: str) -> Path:
        """The folder of a wave run."""
        return self.path / "stations" / f"{station}-{component}"

    def write_model(self, **content: Any) -> None:
        """model, weights and what led to it."""
        self.path.mkdir(parents=True, exist_ok=True)
        with replaced(self.model) as aside:
            write_hdf5(aside, content)

    def read_model(self, unknowns: int) -> dict[str, Any]:
        """Model and weights, as write_model was given them.

        UserError where they are not there, not whole, or not so many numbers.
        """
        content, found = read_hdf5(self.model), dict[str, Any]()
        for name in ("model", "weights"):
            values = np.asarray(content.get(name, ()))
            if values.shape != (unknowns,) or values.dtype.kind != "f" or not np.isfinite(values).all():
                raise UserError(
                    f"{self.model}: {name} of {values.dtype} {values.shape}; allowed: {unknowns} finite numbers, one for each "
                    "unknown of the configuration"
                )
            found[name] = values.astype(np.float64)
        return found

    @property
    def wave_runs(self) -> list[WavesFolder]:
        """Folders of wave runs that are there."""
        return [
            WavesFolder(folder) for kind in ("events", "stations") for folder in sorted((self.path / kind).glob("*/"))
        ]

    def drop_spectra(self) -> None:
        """Removes what only kernels need."""
        for waves in self.wave_runs:
            for file in (waves.spectra("strain"), waves.spectra("velocity")):
                remove(file)

    def forget_without_spectra(self) -> None:
        """Lets wave runs whose spectra are gone be done again: kernels need them."""
        for waves in self.wave_runs:
            if waves.record.is_file() and not waves.spectra("strain").is_file():
                remove(waves.record)


class RegionalFolder(JobFolder[RegionalRecord]):
    """Names of the files."""

    app, record_type = "regional", RegionalRecord

    points = RunFile("events.npy", "input")
    """Places of the earthquakes, (n, 3) m."""
    data = RunFile("data.h5")
    target = RunFile("target")
    states = RunFile("states")
    model = RunFile("model.h5")
    pictures = RunFile("pictures")

    def state(self, number: int) -> StateFolder:
        """A model that was tried."""
        return StateFolder(self.states / f"{number:03d}", number)

    @property
    def target_state(self) -> StateFolder:
        """The ground that made the data."""
        return StateFolder(self.target, -1)

    @property
    def worth_resuming(self) -> bool:
        """Whether a job has left something: files are all that a run goes on from."""
        return self.states.is_dir() or self.target.is_dir()
