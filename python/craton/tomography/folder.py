"""The folder that an inversion leaves behind: data.h5, hessian.h5, model.h5, record.json, report.html.

While a run goes on there are also progress.json (where it is), start.h5 (a starting model from a file), step.h5 (the step whose
length is being sought) and hessian.checkpoint.h5 (the assembly so far). With them `craton tomography resume` goes on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from craton.runs import folder as run_folders
from craton.runs.files import read_hdf5, remove, replaced, write_hdf5
from craton.runs.folder import RunFile
from craton.runs.record import Record
from craton.runs.words import counted
from craton.tomography.config.load import Config, as_it_was

FREE = (
    ("run", "directory"), ("modes", "cache"), ("inversion", "max_iterations"), ("inversion", "tolerance"),
    ("inversion", "keep_hessians"), ("inversion", "step_halvings"), ("inversion", "in_place"), ("inversion", "solve_precision"),
    ("assembly", "subset"), ("assembly", "threads"), ("assembly", "compress"), ("assembly", "checkpoint_minutes"),
    ("assembly", "checkpoint_local"),
    ("report", "resolution"), ("synthetics", "command"), ("synthetics", "together"), ("synthetics", "engine"),
    ("synthetics", "parsl_config"), ("synthetics", "cores"), ("synthetics", "step_deg"),
    ("synthetics", "depth_step_km"),
    ("theory", "check_windows"),
)  # fmt: skip
"""Settings that may be others when a run is resumed: nothing that has been computed depends on them."""


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
    solved_in: str = ""
    """In which precision equation 2 was solved, in words."""
    period_s: float = 0.0
    """The iteration fitted periods beyond this one; 0: all. Misfits are of all, and of all windows."""
    misfit: str = "waveform"
    """What of a window it compared; chi_data is of waveforms all the same."""
    left_out: int = 0
    """Windows that this iteration did not fit: their cycles were skipped, or no shift made them like the prediction."""
    chi_fitted: float | None = None
    """chi_data of the periods and windows that the next iteration fits, as its hessian.h5 has it; None where there is none."""
    fall: float = 1.0
    """By which fraction the iteration lowered equation 1, of the periods and windows that it fitted."""
    fitted: float | None = None
    """2 chi/N of these at its model; None for the starting model."""

    @property
    def chi(self) -> float:
        """Equation 1."""
        return self.chi_data + self.chi_prior


@dataclass(frozen=True)
class StartRecord:
    """The starting model, where it is from a file; sizes are rms of dlnVs over the mantle."""

    file: str
    kind: str
    """Of the file, in words."""
    rms: float
    lost: float
    """Of what the run's splines cannot hold of it."""
    most_lost: float
    """The largest rms at a depth of that."""
    most_lost_km: float
    """At this depth."""
    prior_mean: bool = False
    """Whether the prior expects it, too."""

    @property
    def text(self) -> str:
        """One sentence."""
        mean = ", which the prior expects" if self.prior_mean else ""
        return (
            f"starting model{mean}: {self.file} ({self.kind}); its dlnVs has an rms of {100 * self.rms:.3g}%, of which the "
            f"splines miss {100 * self.lost:.2g}% ({100 * self.most_lost:.2g}% at {self.most_lost_km:.0f} km)"
        )


@dataclass
class CoverageCorrelation:
    """How well the target is recovered at the lateral knots whose path coverage is above the median."""

    overall: float
    depth_km: list[float]
    by_depth: list[float]
    knots: int
    all_knots: float
    """The same over all knots, covered or not."""


@dataclass(frozen=True)
class Outlier:
    """An earthquake or a station whose windows disagree more than the others'."""

    kind: str
    name: str
    windows: int
    misfit: float
    """2 chi / N of its windows."""


@dataclass(frozen=True)
class PeriodBand:
    """How a band of the filter's periods fits."""

    longest_s: float
    shortest_s: float
    samples: float
    """Independent samples: the squared residuals that noise alone would leave there, in its variances."""
    misfit: float
    """2 chi / N of the band, 1 where what is left is noise."""

    @property
    def text(self) -> str:
        """Which periods."""
        return f"{self.shortest_s:.0f} to {self.longest_s:.0f} s"


SEEN_DEVIATIONS = 5.0
"""A part of a richer theory is in the data where it is so many times its standard deviation, ..."""
SEEN_PART = 0.05
"""... and this much of what the theory adds."""


@dataclass(frozen=True)
class TheoryCheck:
    """What a richer theory would add to the seismograms of the last model, and how much of it the data hold (theory_check.py)."""

    richer: str
    """The other theory, as [theory] kind names it."""
    windows: int
    """That were computed by both."""
    added: float
    """Mean square of what the richer theory adds, where the noise's is 1."""
    part: float
    """Of that, what the residuals hold: 0 where the data know nothing of it."""
    deviation: float
    """Standard deviation of `part` by noise alone."""

    @property
    def seen(self) -> bool:
        """Whether the data ask for the richer theory."""
        return self.part > max(SEEN_PART, SEEN_DEVIATIONS * self.deviation)

    @property
    def text(self) -> str:
        """One sentence."""
        return (
            f"{self.richer} would change the seismograms by {self.added**0.5:.3g} of the noise (rms of {self.windows} windows); "
            f"the residuals hold {self.part:.3f} +- {self.deviation:.3f} of that"
        )


@dataclass
class Judgement:
    """What the end of a run is worth."""

    fit: float
    """2 chi_data / N, 1 where what is left is the noise."""
    prior: float
    """2 chi_prior / n, at most 1 where the prior admits the model."""
    skipped: int = 0
    """Windows that are off by more than half a period."""
    windows: int = 0
    reversed: int = 0
    """Windows that fit best with their sign reversed."""
    reversed_stations: list[str] = field(default_factory=list)
    """Those with more than half of their windows among them."""
    outliers: list[Outlier] = field(default_factory=list)
    periods: list[PeriodBand] = field(default_factory=list)
    """Bands of the filter, the longest periods first; none of too few samples."""
    theory: TheoryCheck | None = None
    """None where no richer theory was compared."""
    warnings: list[str] = field(default_factory=list)
    """In words; none where all is as it should be."""

    @property
    def by_period(self) -> str:
        """Misfits of the bands, in one line."""
        return "2 chi/N by period: " + ", ".join(f"{band.misfit:.3g} at {band.text}" for band in self.periods)

    @property
    def text(self) -> str:
        """One paragraph."""
        found = (
            f"2 chi/N = {self.fit:.3f} (1: what is left is noise), 2 chi_prior/n = {self.prior:.3f} (at most 1: the prior admits "
            "the model)"
        )
        lines = [found, *([self.by_period] if self.periods else []), *([self.theory.text] if self.theory else [])]
        return "\n".join([*lines, *(f"warning: {line}" for line in self.warnings)])


@dataclass(frozen=True)
class FoundCorrections:
    """What a run has found of one kind of unknowns of earthquakes or stations."""

    kind: str
    """As [corrections] names it."""
    text: str
    """The same in words."""
    of: str
    """event or station"""
    number: int
    """Of events or stations."""
    unit: str
    prior: float
    """Standard deviation."""
    rms: float
    largest: float
    largest_name: str
    """The event or station that it is of."""
    true_rms: float | None = None
    """Of the errors that synthetic data were made with."""
    left_rms: float | None = None
    """Of what is found less those."""

    @property
    def sentence(self) -> str:
        """One line."""
        known = ""
        if self.true_rms is not None and self.left_rms is not None:
            known = f"; it was wrong by {self.true_rms:.3g}, and is by {self.left_rms:.2g} now"
        return (
            f"{self.text}: rms {self.rms:.3g} {self.unit} (prior {self.prior:g}), at most {self.largest:.3g} "
            f"({self.largest_name}){known}"
        )


@dataclass(kw_only=True, repr=False)
class RunRecord(Record):
    """What was run, how far it came and how long it took: record.json."""

    folder: str
    data_kind: str
    events: int
    stations: int
    paths: int
    samples: int
    """All that there are."""
    lateral_knots: int
    radial_knots: int
    modes: int
    independent_samples: int = 0
    """Those that noise in a band leaves independent; 0: all of them (as of earlier versions)."""
    iterations: list[IterationRecord] = field(default_factory=list)
    phase_s: list[dict[str, float]] = field(default_factory=list)
    """Wall-clock seconds of each phase in the last session, one dictionary per rank."""
    assembly_s: list[dict[str, float]] = field(default_factory=list)
    """What the assemblies of the last session told, summed, one dictionary per rank."""
    peak_bytes: list[dict[str, int]] = field(default_factory=list)
    """Largest resident set in each phase, one dictionary per rank; what ranks share is in each one's."""
    shared_bytes: list[dict[str, int]] = field(default_factory=list)
    """Of that, at the phase's end, memory that several ranks of a node may map."""
    sent_bytes: list[dict[str, int]] = field(default_factory=list)
    """Bytes of updates and other messages that went to other nodes in each phase, one dictionary per rank."""
    synthetics: str = ""
    """What has computed the seismograms g(m)."""
    solver: str = ""
    """How the outside solver names itself in solver.txt; where it has changed, all names in order."""
    sums: str = ""
    """How far another run of the same configuration may end from this one."""
    earth: str = ""
    """The reference Earth's name; of a table the file's, and a digest of what is in it."""
    start: StartRecord | None = None
    """None where the run begins at the reference Earth."""
    correlation: CoverageCorrelation | None = None
    corrections: list[FoundCorrections] = field(default_factory=list)
    """Of earthquakes and stations, where they are unknowns."""
    judgement: Judgement | None = None
    """What the end of the run is worth; None until there is one."""

    @property
    def told(self) -> dict[str, str]:
        """Data, unknowns, and how well the last model explains the data."""
        found = {
            "data": f"{counted(self.paths, 'window')} of {counted(self.events, 'event')} at {counted(self.stations, 'station')}",
            "unknowns": f"{self.lateral_knots} x {self.radial_knots} knots",
        }
        if self.iterations:
            last = self.iterations[-1]
            found["iterations"] = f"{last.iteration}, variance reduction {100 * last.variance_reduction:.1f}%"
        if self.judgement is not None:
            found["fit"] = f"2 chi/N = {self.judgement.fit:.3f}"
        return found


class RunFolder(run_folders.RunFolder[RunRecord]):
    """The folder of an inversion."""

    app, record_type = "tomography", RunRecord

    data = RunFile("data.h5")
    hessian = RunFile("hessian.h5")
    synthetics = RunFile("synthetics")
    """What an outside solver was given, and what came back: a folder for each model."""
    model = RunFile("model.h5")
    earthquakes = RunFile("corrected_earthquakes.csv")
    stations = RunFile("corrected_stations.csv")
    start = RunFile("start.h5", "working")
    step = RunFile("step.h5", "working")
    checkpoint = RunFile("hessian.checkpoint.h5", "working")
    levels = RunFile("hessian.checkpoint.h5.levels", "working")
    """Which parts of a checkpoint on the nodes belong to it."""

    def hessian_of(self, iteration: int) -> Path:
        """Where the Hessian of an iteration before the last is kept, if it is."""
        return self.path / f"hessian-{iteration}.h5"

    @property
    def earlier_hessians(self) -> list[Path]:
        """Those that are there, in the order of their iterations."""
        numbers = [re.fullmatch(r"hessian-(\d+)\.h5", file.name) for file in self.path.glob("hessian-*.h5")]
        return [self.hessian_of(number) for number in sorted(int(found[1]) for found in numbers if found)]

    def more_results(self) -> list[Path]:
        """Hessians of iterations before the last."""
        return self.earlier_hessians

    @property
    def worth_resuming(self) -> bool:
        """Whether an unfinished run has left a Hessian, part of one, a step, or seismograms from outside."""
        return self.has_checkpoint or any(file.exists() for file in (self.hessian, self.step, self.synthetics))

    @property
    def has_checkpoint(self) -> bool:
        """Whether an assembly has left a checkpoint, in a file or on the nodes."""
        return self.checkpoint.is_file() or self.levels.is_file()

    def config_to_resume(self, config: Config | None = None) -> Config | None:
        """The configuration of the unfinished run here, with the settings in FREE as `config` has them.

        None where the run has finished. UserError where no run is, one goes on, and for any other difference. Not collective.
        """
        ended = self.path.is_dir() and self.owner is None and self.unfinished is None and self.record.is_file()
        if ended and self.read_record().finished:
            return None
        if config is None:
            stored = self.to_resume()
            config = Config.build(as_it_was(stored.configuration), Path(stored.source))
        else:
            path = config.path
            self.check_resume(
                config.to_dict(), str(path), FREE, lambda known: Config.build(as_it_was(known), path).to_dict()
            )
        return config.replaced("run", directory=str(self.path.absolute()))

    def discard_checkpoint(self) -> None:
        """Drops the checkpoint of an assembly, with what belongs to it."""
        for file in self.path.glob(f"{self.checkpoint.name}*"):
            remove(file)

    def write_model(self, content: dict[str, Any]) -> None:
        """Writes model.h5: arrays and attributes, see write_hdf5."""
        with replaced(self.model) as aside:
            write_hdf5(aside, content)

    def read_model(self) -> dict[str, Any]:
        """Everything in model.h5. UserError where it is missing or damaged."""
        return read_hdf5(self.model)
