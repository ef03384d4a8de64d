"""Equation 2 in its symmetric positive-definite form, iterated until the misfit of equation 1 stops falling.

    (H + C_m^-1) dm = G^T C_d^-1 (d - g(m^i)) - C_m^-1 (m^i - m^p),    H = G^T C_d^-1 G,    m^(i+1) = m^i + s dm

The step length s is 1, or less where [inversion] step_percent bounds the step, and is halved while the misfit would rise.
Every rank runs the same lines below; what a rank computes alone (its share of the paths, its blocks of the Hessian) is
hidden in the collective calls.

Each phase leaves its result in the run folder before the next begins, and looks there first when a run is resumed:

    data                    data.h5
    assembly, now and then  hessian.checkpoint.h5      with the list of the paths in it
    assembly                hessian.h5                 its linearised_at_iteration tells whether it is the one that is wanted
    step                    step.h5                    with the misfits that the line search has found so far
    line search             model.h5                   all models and their misfits in one file; the iteration is done
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import craton
from craton import _craton
from craton.errors import UserError
from craton.runs import process_memory
from craton.runs.agreement import on_root
from craton.runs.files import aside_of, replaced, write_hdf5
from craton.runs.folder import reserved
from craton.runs.progress import ProgressBar
from craton.tomography.config.load import config_from_dict, load_config
from craton.tomography.data.data_file import load_observations, save_observations
from craton.tomography.data.observations import Observations
from craton.tomography.data.paths import PathTable, build_paths
from craton.tomography.data.sources import file_observations, read_catalogues, synthetic_observations
from craton.tomography.inversion.folder import IterationRecord, RunFolder, RunRecord
from craton.tomography.inversion.iteration_state import (
    FoundStep,
    Linearised,
    linearised_at_of,
    read_linearised,
    read_models,
    read_step,
    write_step,
)
from craton.tomography.inversion.progress_file import Progress, ProgressFile, Session, now, read_progress
from craton.tomography.inversion.recovery import coverage_correlation
from craton.tomography.inversion.step import solve_step
from craton.tomography.model.knots import largest_at_knots
from craton.tomography.model.sphere import EARTH_RADIUS_KM
from craton.tomography.model.splines import make_basis
from craton.tomography.model.target import make_target
from craton.tomography.prior.make import make_prior
from craton.tomography.prior.prior import AnyPrior, Step, misfit
from craton.tomography.prior.words import about_lengths, explained
from craton.tomography.theory.modes import shared_mode_catalogue, shared_spheroidal_catalogue
from craton.tomography.theory.seismograms import predict

if TYPE_CHECKING:
    from craton._craton import ForwardProblem, ModelBasis, PathSet
    from craton.tomography.config.load import Config


f64 = NDArray[np.float64]

RESOLVED_DEPTHS_KM = (300.0, 2000.0)

ASSEMBLY_PHASES = ("panel_s", "product_s", "update_s", "poll_s", "commit_s", "wall_s", "paths", "updates", "rows")


class Phases:
    """Wall-clock seconds, memory and messages by name of what a rank spends them on. Phases follow each other."""

    def __init__(self, sent: Callable[[], int] = lambda: 0) -> None:
        """sent: bytes sent so far."""
        self.seconds: dict[str, float] = defaultdict(float)
        self.peak_bytes: dict[str, int] = defaultdict(int)
        self.shared_bytes: dict[str, int] = defaultdict(int)
        self.sent_bytes: dict[str, int] = defaultdict(int)
        self.sent = sent

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        process_memory.reset_peak()
        before, start = self.sent(), time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - start
        self.sent_bytes[name] += self.sent() - before
        self.peak_bytes[name] = max(self.peak_bytes[name], process_memory.peak_bytes())
        self.shared_bytes[name] = max(self.shared_bytes[name], process_memory.shared_bytes())


@dataclass
class Inversion:
    """The state of a run on one rank; `run` below puts it through its paces."""

    config: Config
    comm: MPI.Comm
    world: _craton.World
    console: Any
    folder: RunFolder
    ranks_per_node: int = 0
    resuming: bool = False
    """Files that are there already are of this run."""
    phases: Phases = field(init=False)
    models: list[f64] = field(default_factory=list)
    iterations: list[IterationRecord] = field(default_factory=list)
    assembly_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    target: f64 | None = None
    data_norm: float = 1.0

    place: RunFolder = field(init=False)
    """Where files are written: the folder, or one inside until there are results to put in the place of earlier ones."""
    forward: ForwardProblem = field(init=False)
    basis: ModelBasis = field(init=False)
    prior: AnyPrior = field(init=False)
    prior_weights: f64 = field(init=False)
    """C_m^-1 (m - m^p) of the latest model."""
    observations: Observations = field(init=False)
    paths: PathSet = field(init=False)
    hessian: Any = field(init=False)
    gradient: Any = field(init=False)
    record: RunRecord = field(init=False)
    progress: ProgressFile = field(init=False)

    def __post_init__(self) -> None:
        self.phases = Phases(lambda: self.world.stats()["bytes_sent"])

    @property
    def threads(self) -> int:
        return self.config.assembly.threads

    def say(self, text: str) -> None:
        """Prints on rank 0."""
        if self.comm.rank == 0 and self.console is not None:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    # ------------------------------------------------------------------------------------------------ preparation

    def begin_session(self) -> None:
        """Collective: progress.json says from now on where the run is."""
        folder = self.folder
        progress, place = on_root(self.comm, self.taken_up if self.resuming else self.begun_anew)
        self.place, self.progress = RunFolder(place), ProgressFile(progress, self.comm.rank == 0)
        self.progress.file = self.place.progress
        if place != str(folder.path) and self.resuming:
            self.say(f"{folder.path} still has the results of an earlier run, which this one replaces later on")
        on_root(self.comm, lambda: self.progress.enter("set-up", progress.iteration))

    def session(self) -> Session:
        return Session(now(), self.comm.size, self.threads)

    def begun_anew(self) -> tuple[Progress, str]:
        """On rank 0."""
        config = self.config
        place = self.folder.place_to_write()
        progress = Progress(
            json.loads(json.dumps(config.to_dict())),
            str(config.source),
            command_line(config, self.comm.size, self.ranks_per_node),
            [self.session()],
            most_iterations=config.inversion.max_iterations,
        )
        return progress, str(place.path)

    def taken_up(self) -> tuple[Progress, str]:
        """On rank 0."""
        place = self.folder.place_to_resume()
        progress = read_progress(place.progress)
        session = self.session()
        session.at = f"iteration {progress.iteration}, {progress.phase}"
        progress.sessions.append(session)
        progress.config = json.loads(json.dumps(self.config.to_dict()))
        progress.most_iterations = self.config.inversion.max_iterations
        return progress, str(place.path)

    def take_up_models(self) -> None:
        """Collective: the models of a run that is resumed."""
        found = on_root(self.comm, lambda: read_models(self.place)) if self.resuming else None
        if found is None:
            return
        if any(len(model) != self.basis.size for model in found.models):
            raise UserError(
                f"{self.place.model}: models of {len(found.models[-1])} parameters; allowed: {self.basis.size}, as "
                "the configuration of its run says"
            )
        self.models, self.prior_weights = found.models, found.prior_weights
        self.iterations, self.data_norm = found.iterations, found.data_norm

    def prepare(self) -> None:
        """Modes, basis, prior, paths and data."""
        self.begin_session()
        with self.phases("modes"):
            earth = _craton.EarthModel.by_name(self.config.earth.model)
            modes = shared_mode_catalogue(earth, self.config, self.comm, self.say)
        with self.phases("kernels"):
            self.basis = make_basis(self.config, earth)
            spheroidal = shared_spheroidal_catalogue(earth, self.config, self.comm, self.say)
            self.forward = _craton.ForwardProblem(
                modes, self.basis, self.config.data.filter_periods_s, self.config.theory.kind, spheroidal
            )
        with self.phases("prior"):
            self.prior = make_prior(self.basis, self.config.prior, self.world, self.comm, self.console, self.threads)
        with self.phases("set-up"):
            self.models, self.prior_weights = [self.prior.mean.copy()], np.zeros(self.basis.size)
            self.take_up_models()
            settings, size = self.config.inversion, self.basis.size
            self.hessian = craton.ConvergentMatrix(
                self.world, size, size, dtype=settings.precision, block=settings.block
            )
            self.gradient = craton.ConvergentVector(self.world, size, settings.block)
        self.say(
            f"{len(modes)} toroidal modes with T > {self.config.modes.shortest_period_s:g} s; "
            + ("" if spheroidal is None else f"{len(spheroidal)} spheroidal; ")
            + f"{self.basis.size} parameters = {self.basis.n_lateral} lateral knots x {self.basis.n_radial} radial"
            + (" x dlnVs and dlnxi" if self.basis.parameters == 2 else "")
        )
        self.say(explained(self.config.prior))
        self.say(about_lengths(self.basis))
        with self.phases("data"):
            on_root(self.comm, lambda: self.progress.enter("data", len(self.models)))
            if self.config.data.kind == "synthetic":
                assert self.config.target is not None
                self.target = make_target(self.basis, self.config.target)
            there = self.resuming and on_root(self.comm, self.place.data.is_file)
            if there:
                self.observations = on_root(self.comm, lambda: load_observations(self.place.data))
            else:
                self.observations = self.first_observations()
        with self.phases("paths"):
            self.paths = self.table.path_set(self.forward)
        if not there:
            with self.phases("save"):
                on_root(self.comm, self.save_data)
        kind = "data from a file" if self.target is None else "synthetic data: target model + noise"
        self.say(
            f"{len(self.table)} paths between {len(self.table.event_rows)} earthquakes and "
            f"{len(self.table.station_rows)} stations, {len(self.observations.observed)} samples ({kind})"
        )

    def first_observations(self) -> Observations:
        """Collective: synthetic data, or those of a file."""
        events, stations = read_catalogues(self.config, self.comm)
        if self.target is None:
            return on_root(self.comm, lambda: file_observations(self.config, events, stations, self.say))
        table = build_paths(self.config, events, stations, self.say)
        traces = predict(self.forward, table.path_set(self.forward), self.target, self.comm, self.threads)
        return synthetic_observations(self.config, table, traces)

    def save_data(self) -> None:
        """data.h5, the first file of the run."""
        save_observations(self.place.data, self.observations, self.config.data.filter_periods_s)

    @property
    def table(self) -> PathTable:
        return self.observations.paths

    # ------------------------------------------------------------------------------------------------- one iteration

    @property
    def linearised_at(self) -> int:
        """The number of the latest model, which this iteration begins with."""
        return len(self.models) - 1

    def assemble(self) -> dict[str, float]:
        """Collective: H and G^T C_d^-1 (d - g) at the latest model. Returns chi_data, data_norm, and assemble_s, what all
        sessions have spent on it; the same on every rank."""
        self.hessian.reset()
        self.gradient.reset()
        total, minutes = len(self.table), self.config.assembly.checkpoint_minutes
        sums = {"chi_data": 0.0, "data_norm": 0.0, "assemble_s": 0.0}
        saved, done = None, 0
        if minutes or on_root(self.comm, self.place.checkpoint.is_file):
            saved = self.resumed_checkpoint(sums)
            done = total - len(saved.missing(total))
        on_root(self.comm, lambda: self.progress.enter("assembly", len(self.models), done, total))
        bar = ProgressBar("assembling", total, "paths", self.console if self.comm.rank == 0 else None)
        try:
            with bar:
                if done:
                    bar.begin_at(done)
                while (left := self.assemble_until_pause(sums, saved, 60.0 * minutes, bar)) > 0:
                    assert saved is not None
                    self.save_checkpoint(saved, sums, total - left)
        finally:
            if saved is not None:
                saved.close()
        return sums

    def assemble_until_pause(self, sums: dict[str, float], saved: Any, pause_after_s: float, bar: ProgressBar) -> int:
        """Collective: adds to `sums`, and returns how many paths are left."""

        def tell(done: int, total: int) -> None:
            bar.update(done, total)
            self.progress.update(done, total)

        before_s = self.phases.seconds["assemble"]
        with self.phases("assemble"):
            found = _craton.assemble(
                self.world, self.forward, self.paths, self.observations.observed, self.observations.sigma,
                self.models[-1], self.hessian, self.gradient, self.threads, self.config.assembly.subset, tell,
                self.observations.correlation,
                saved, pause_after_s, self.config.assembly.compress,
            )  # fmt: skip
        for name in ASSEMBLY_PHASES:
            self.assembly_s[name] += float(found.get(name, 0.0))
        took_s = self.phases.seconds["assemble"] - before_s
        more = {"chi_data": found["chi_data"], "data_norm": found["data_norm"], "assemble_s": took_s}
        more = self.comm.bcast(more)  # not all ranks took as long
        for name, value in more.items():
            sums[name] += value
        return int(found["left"])

    def resumed_checkpoint(self, sums: dict[str, float]) -> Any:
        """Collective: the assembly's checkpoint, with Hessian, gradient and `sums` as they were when it was saved."""
        with self.phases("checkpoint"):
            for _ in range(2):
                saved = craton.Checkpoint(self.world, str(self.place.checkpoint), keep_previous=False)
                saved.add("hessian", self.hessian)
                saved.add("gradient", self.gradient)
                found = saved.resume()
                if found is None or found[0]["linearised_at"] == self.linearised_at:
                    break
                saved.close()  # of an iteration that is over
                on_root(self.comm, self.place.discard_checkpoint)
                self.hessian.reset()
                self.gradient.reset()
        if found is not None:
            sums.update({name: float(found[0][name]) for name in sums})
        return saved

    def save_checkpoint(self, saved: Any, sums: dict[str, float], paths: int) -> None:
        """Collective: a UserError on every rank where it cannot be written; the one before is in place then."""
        with self.phases("checkpoint"):
            saved.save({**sums, "linearised_at": self.linearised_at})
        self.progress.checkpoint_saved(paths)

    def linearise(self) -> Linearised:
        """Collective: Hessian, gradient and misfit at the latest model; from hessian.h5 where the run had come so far."""
        found = on_root(self.comm, lambda: read_linearised(self.place, self.linearised_at)) if self.resuming else None
        if found is not None:
            with self.phases("load"):
                self.hessian.load(str(self.place.hessian), "hessian")
            self.say(f"iteration {len(self.models)}: the Hessian is in {self.place.hessian}")
        else:
            sums = self.assemble()
            gradient = np.asarray(self.gradient.gather())
            self.check_finite(sums, gradient)
            self.save_hessian(gradient, sums)
            found = Linearised(gradient, **sums)
        on_root(self.comm, self.place.discard_checkpoint)
        return found

    def check_finite(self, sums: dict[str, float], gradient: f64) -> None:
        """Collective: numbers that overflowed are a matter of the data's scale. The diagonal bounds the whole Hessian."""
        diagonal = np.asarray(self.hessian.diagonal())
        smallest, largest = float(self.observations.sigma.min()), float(self.observations.sigma.max())
        for name, values in (
            ("misfit", np.array([sums["chi_data"], sums["data_norm"]])),
            ("gradient", gradient),
            ("Hessian's diagonal", diagonal),
        ):
            wrong = np.flatnonzero(~np.isfinite(values))
            if len(wrong):
                raise UserError(
                    f"{self.data_source}: the {name} is {values[wrong[0]]} (element {wrong[0]}); allowed: finite numbers of "
                    f"{self.config.inversion.precision}; sigma is {smallest:.3g} to {largest:.3g} m and the largest sample "
                    f"{np.abs(self.observations.observed).max():.3g} m: is one of them in another unit?"
                )

    @property
    def data_source(self) -> str:
        """What an error about the data names."""
        data = self.config.data
        return data.file if data.kind == "file" else f"{self.config.source}: [data] noise = {data.noise:g}"

    def chi_data(self, model: f64) -> float:
        """The first part of equation 1."""
        with self.phases("misfit"):
            sums = _craton.evaluate_misfit(
                self.world, self.forward, self.paths, self.observations.observed, self.observations.sigma, model,
                self.threads, self.config.assembly.subset, None, self.observations.correlation,
            )  # fmt: skip
        return float(sums["chi_data"])

    def gauss_newton_step(self, gradient: f64) -> Step:
        """dm of equation 2. The Hessian is saved by now; unless a wider copy is wanted it is factorised in place."""
        system = self.hessian
        with self.phases("factorise"):
            if self.config.inversion.solve_precision == "float64" and system.dtype == np.float32:
                system = system.copy_as_f64()
            return solve_step(system, self.prior, gradient, self.models[-1], self.config.inversion.damping)

    def find_step(self) -> FoundStep:
        """Collective: the step from the latest model; from step.h5 where the run had come so far."""
        found = on_root(self.comm, lambda: read_step(self.place, self.linearised_at)) if self.resuming else None
        if found is not None:
            self.say(f"iteration {len(self.models)}: the step is in {self.place.step}")
            return found
        at = self.linearise()
        if not self.iterations:
            self.start_table(at.chi_data, at.data_norm)
        on_root(self.comm, lambda: self.progress.enter("step", len(self.models)))
        before_s = self.phases.seconds["factorise"]
        step = self.gauss_newton_step(at.gradient)
        found = FoundStep(
            step,
            longest=on_root(self.comm, lambda: self.longest_length(step)),
            chi_data=at.chi_data,
            data_norm=at.data_norm,
            assemble_s=at.assemble_s,
            solve_s=self.phases.seconds["factorise"] - before_s,
        )
        on_root(self.comm, lambda: write_step(self.place, found, self.linearised_at))
        return found

    def longest_length(self, step: Step) -> float:
        """Of a step, so that dlnVs changes nowhere at the knots by more than [inversion] step_percent; at most 1."""
        limit = self.config.inversion.step_percent / 100.0
        if not limit:
            return 1.0
        largest = largest_at_knots(self.basis, step.model)
        if largest <= limit:
            return 1.0
        self.say(
            f"the step changes dlnVs by up to {100 * largest:.3g}%; [inversion] step_percent = {100 * limit:g} "
            f"shortens it to {limit / largest:.3g} of that"
        )
        return limit / largest

    def line_search(self, found: FoundStep, chi: float) -> tuple[float, f64, f64, float]:
        """Step length, model, its prior_weights and its chi_data; length 0 where no fraction of the step lowers the misfit."""
        halvings, totals = self.config.inversion.step_halvings, []
        on_root(self.comm, lambda: self.progress.enter("line search", len(self.models)))
        for halving in range(halvings + 1):
            length = found.longest * 0.5**halving
            model = self.models[-1] + length * found.step.model
            weights = self.prior_weights + length * (found.step.weights - self.prior_weights)
            if halving == len(found.tried):
                self.try_length(found, model)
            totals.append(found.tried[halving] + misfit(model - self.prior.mean, weights))
            if totals[-1] < chi:
                return length, model, weights, found.tried[halving]
        whole = "the whole step" if found.longest == 1.0 else f"{found.longest:g} of the step"
        self.record.stopped_because = (
            f"no fraction of the Gauss-Newton step lowers the misfit: it is {chi:.6g} without, {totals[0]:.6g} with "
            f"{whole}, {totals[-1]:.6g} with {length:g} of it; a smaller [prior] strength, [inversion] damping or "
            "longer periods make smaller steps"
        )
        return 0.0, self.models[-1], self.prior_weights, float("nan")

    def try_length(self, found: FoundStep, model: f64) -> None:
        """Collective: one more misfit, kept in step.h5."""
        before_s = self.phases.seconds["misfit"]
        found.tried.append(self.comm.bcast(self.chi_data(model)))
        found.misfit_s += self.phases.seconds["misfit"] - before_s
        on_root(self.comm, lambda: write_step(self.place, found, self.linearised_at))

    # ------------------------------------------------------------------------------------------------------- the loop

    def iterate(self) -> None:
        """Gauss-Newton until the misfit stops falling, or the iterations are used up."""
        if self.iterations:
            self.begin_table()
            for entry in self.iterations:
                self.print_iteration(entry)
        while not self.has_converged():
            found = self.find_step()
            length, model, weights, chi_data = self.line_search(found, self.iterations[-1].chi)
            if length == 0.0:
                break
            self.accept(found, length, model, weights, chi_data)
        self.take_place()
        self.say(f"stopped: {self.record.stopped_because}")

    def has_converged(self) -> bool:
        """Whether there is a reason to stop, which the record then has."""
        settings, done = self.config.inversion, self.iterations
        if len(done) > 1 and 1.0 - done[-1].chi / done[-2].chi < settings.tolerance:
            self.record.stopped_because = f"the misfit fell by less than {100 * settings.tolerance:g}%"
            return True
        most = settings.max_iterations
        self.record.stopped_because = (
            f"all {most} iterations allowed were used up" if most > 1 else "one iteration was allowed"
        )
        return len(self.models) > most

    def accept(self, found: FoundStep, length: float, model: f64, weights: f64, chi_data: float) -> None:
        """Collective: the step is taken. From the moment that model.h5 has the model the iteration is done."""
        self.models.append(model)
        self.prior_weights = weights
        spent = {"assemble": found.assemble_s, "factorise": found.solve_s, "misfit": found.misfit_s}
        self.iterations.append(self.iteration_record(len(self.models) - 1, chi_data, length, spent))
        self.print_iteration(self.iterations[-1])
        self.save_progress()
        on_root(self.comm, self.drop_iteration)
        self.take_place()

    def drop_iteration(self) -> None:
        """On rank 0: what the model that has been found does without."""
        self.place.step.unlink(missing_ok=True)
        if self.config.inversion.keep_hessians == "none":
            self.place.hessian.unlink(missing_ok=True)

    def take_place(self) -> None:
        """From now on the results of an earlier run are replaced: there is a whole set of new ones."""
        on_root(self.comm, lambda: self.folder.adopt(self.place))
        self.place = self.folder
        self.progress.file = self.folder.progress

    def start_table(self, chi_data: float, data_norm: float) -> None:
        """Iteration 0: the starting model."""
        self.data_norm = data_norm
        self.iterations.append(self.iteration_record(0, chi_data, 0.0, {}))
        self.begin_table()
        self.print_iteration(self.iterations[-1])
        self.save_progress()

    def begin_table(self) -> None:
        """The heads of its columns."""
        self.say(
            "\n iteration      chi_data     chi_prior   variance    residual   step"
            "   assemble   solve   misfit   paths/s\n"
            "                                         reduction   reduction              s       s        s"
        )

    def iteration_record(self, index: int, chi_data: float, length: float, spent: dict[str, float]) -> IterationRecord:
        chi_start = self.iterations[0].chi_data if self.iterations else chi_data
        return IterationRecord(
            iteration=index,
            chi_data=chi_data,
            chi_prior=misfit(self.models[-1] - self.prior.mean, self.prior_weights),
            variance_reduction=1.0 - chi_data / self.data_norm,
            residual_reduction=1.0 - chi_data / chi_start if chi_start else 0.0,
            step_length=length,
            assemble_s=spent.get("assemble", 0.0),
            solve_s=spent.get("factorise", 0.0),
            misfit_s=spent.get("misfit", 0.0),
            paths_per_s=len(self.table) / spent["assemble"] if spent.get("assemble") else 0.0,
        )

    def print_iteration(self, it: IterationRecord) -> None:
        """One line of the table."""
        line = f"{it.iteration:10d} {it.chi_data:13.6g} {it.chi_prior:13.6g}"
        line += f" {100 * it.variance_reduction:8.2f} % {100 * it.residual_reduction:9.2f} %"
        if it.iteration:
            line += f" {it.step_length:6.3g} {it.assemble_s:10.2f} {it.solve_s:7.2f} {it.misfit_s:8.2f}"
            line += f" {it.paths_per_s:9.0f}"
        self.say(line)

    # ---------------------------------------------------------------------------------------------------------- files

    def save_hessian(self, gradient: f64, sums: dict[str, float]) -> None:
        """Collective: hessian.h5 with all that `craton tomography solve` needs; replaces the last one when complete, which
        is kept beside it where [inversion] keep_hessians = "all"."""
        with self.phases("save"):
            aside = on_root(self.comm, lambda: str(aside_of(self.place.hessian)))
            self.hessian.save(aside, "hessian", symmetric=True)
            content = {
                "gradient": gradient,
                "model": self.models[-1],
                "prior_mean": self.prior.mean,
                "radial_knots_m": np.asarray(self.basis.radial_knots_m),
                "lateral_level": self.config.basis.lateral_level,
                "parameters": self.basis.parameters,
                "precision": self.config.inversion.precision,
                "linearised_at_iteration": self.linearised_at,
                "samples": len(self.observations.observed),
                **sums,
                "config": json.dumps(self.config.to_dict()),
            }

            def complete() -> None:
                before = linearised_at_of(self.place.hessian)
                if self.config.inversion.keep_hessians == "all" and before not in (None, self.linearised_at):
                    os.replace(self.place.hessian, self.place.hessian_of(before + 1))
                with replaced(self.place.hessian) as same:
                    write_hdf5(same, content, mode="a")

            on_root(self.comm, complete)

    def save_progress(self, more: dict[str, Any] | None = None) -> None:
        """Collective: model.h5 and record.json as they stand."""
        with self.phases("save"):
            self.record.iterations = self.iterations
            self.progress.save()
            self.record.sessions = [asdict(session) for session in self.progress.progress.sessions]
            self.record.phase_s = self.comm.allgather(dict(self.phases.seconds))
            self.record.assembly_s = self.comm.allgather(dict(self.assembly_s))
            self.record.peak_bytes = self.comm.allgather(dict(self.phases.peak_bytes))
            self.record.shared_bytes = self.comm.allgather(dict(self.phases.shared_bytes))
            self.record.sent_bytes = self.comm.allgather(dict(self.phases.sent_bytes))
            content: dict[str, Any] = {
                "models": np.stack(self.models),
                "radial_knots_m": np.asarray(self.basis.radial_knots_m),
                "lateral_level": self.config.basis.lateral_level,
                "parameters": self.basis.parameters,
                "parameter_order": "(parameter * n_lateral + lateral_knot) * n_radial + radial_spline",
                "prior_weights": self.prior_weights,
                "iterations": json.dumps([asdict(entry) for entry in self.iterations]),
                "data_norm": self.data_norm,
                **({} if self.target is None else {"target": self.target}),
                **(more or {}),
            }

            def write() -> None:
                self.place.write_model(content)
                self.place.write_record(self.record)

            on_root(self.comm, write)

    def begin_record(self) -> None:
        """What is known before the first iteration."""
        config = self.config
        build = _craton.build_info()
        self.record = RunRecord(
            title=config.source.stem.replace("_", " ").replace("-", " "),
            folder=self.folder.path.name,
            config=json.loads(json.dumps(config.to_dict())),
            versions={**build, "numpy": np.__version__, "python": platform.python_version()},
            command=self.progress.progress.command,
            started=self.progress.progress.sessions[0].started,
            data_kind=str(self.observations.attributes["kind"]),
            ranks=self.comm.size,
            nodes=self.world.node_count,
            threads=self.threads,
            events=len(self.table.event_rows),
            stations=len(self.table.station_rows),
            paths=len(self.table),
            samples=len(self.observations.observed),
            lateral_knots=self.basis.n_lateral,
            radial_knots=self.basis.n_radial,
            modes=len(self.forward.modes),
        )

    def finish(self) -> None:
        """Predicted waveforms, path coverage, and the comparison with the target where there is one."""
        on_root(self.comm, lambda: self.progress.enter("finish", len(self.models) - 1))
        if self.config.inversion.keep_hessians == "none":
            on_root(self.comm, lambda: self.folder.hessian.unlink(missing_ok=True))
        with self.phases("waveforms"):
            fits = {
                f"waveforms/{name}": predict(self.forward, self.paths, model, self.comm, self.threads).astype(
                    np.float32
                )
                for name, model in (("initial", self.models[0]), ("final", self.models[-1]))
            }
            coverage = np.asarray(self.paths.coverage(self.basis))
        if self.target is not None:
            self.record.correlation = on_root(
                self.comm, lambda: coverage_correlation(self.basis, self.models[-1], self.target, coverage)
            )
            found = self.record.correlation
            self.say(
                f"correlation of the recovered dlnVs with the filtered target: {found.overall:.3f} "
                f"at the {found.knots} lateral knots whose path coverage is in the upper half, "
                f"{found.all_knots:.3f} at all"
            )
        if self.config.report.resolution:
            with self.phases("resolution"):
                self.resolve()
        self.record.finished = True
        self.save_progress({**fits, "coverage": coverage})

    def resolve(self) -> None:
        """Collective: the posterior of the last Hessian, in the run's folder, for the report: resolution, standard
        deviations, and a point below where the cross-section goes through, high and low in the mantle."""
        from craton.tomography.posterior.findings import posterior_folder
        from craton.tomography.posterior.questions import Place, Questions
        from craton.tomography.posterior.run import posterior_of_run
        from craton.tomography.results import section_place

        self.hessian = self.gradient = None  # the file has them: their memory is wanted
        there = on_root(
            self.comm, lambda: section_place(self.config.to_dict(), self.basis, self.models[-1], self.target)
        )
        top_km, bottom_km = (EARTH_RADIUS_KM - self.basis.radial_knots_m[end] / 1e3 for end in (-1, 0))
        depths_km = [depth for depth in RESOLVED_DEPTHS_KM if top_km <= depth <= bottom_km]
        places = [Place(there["latitude"], there["longitude"], depth) for depth in depths_km]
        folder = posterior_folder(self.folder.path)
        found = posterior_of_run(
            self.folder.hessian, self.config.prior, folder.path, Questions(places), self.comm, Quiet(), overwrite=True,
            world=self.world, pictures=False,
        )  # fmt: skip
        self.say(
            f"{found.resolved:.1f} of {found.parameters} parameters are determined by the data; standard deviations "
            f"and resolution: {folder.path}"
        )


class Quiet:
    """A console of nobody."""

    def print(self, *_: Any, **__: Any) -> None: ...


def run(
    config: Config,
    comm: MPI.Comm | None = None,
    ranks_per_node: int = 0,
    console: Any = None,
    overwrite: bool = False,
    report: bool = True,
) -> RunRecord:
    """Collective: a whole inversion as the configuration describes it; leaves a run folder and returns its record."""
    comm = comm or MPI.COMM_WORLD
    craton.check_mpi()
    folder = RunFolder(config.run.directory)
    inputs = {
        "the configuration": str(config.source),
        "[data] file": config.data.file,
        "[events] file": config.events.file,
        "[stations] file": config.stations.file,
    }
    with reserved(comm, folder, lambda: folder.check(overwrite, inputs)):
        inversion = Inversion(config, comm, craton.World(comm, ranks_per_node), console, folder, ranks_per_node)
        go_through(inversion, report)
    return inversion.record


def resume(
    directory: str | os.PathLike[str],
    config: Config | None = None,
    comm: MPI.Comm | None = None,
    ranks_per_node: int = 0,
    console: Any = None,
    report: bool = True,
) -> RunRecord:
    """Collective, on any number of ranks: goes on with a run that was ended, and returns its record; that of a run which has
    finished as it is. config: what differs from the run's own may be what `FREE` names; None for its own."""
    comm = comm or MPI.COMM_WORLD
    craton.check_mpi()
    folder = RunFolder(directory)
    config = on_root(comm, lambda: config_to_resume(folder, config))
    if config is None:
        return on_root(comm, folder.read_record)
    with reserved(comm, folder, lambda: None):
        inversion = Inversion(
            config, comm, craton.World(comm, ranks_per_node), console, folder, ranks_per_node, resuming=True
        )
        go_through(inversion, report)
    return inversion.record


def go_through(inversion: Inversion, report: bool) -> None:
    """Collective: the whole run, or what is left of it."""
    comm, folder = inversion.comm, inversion.folder
    inversion.prepare()
    inversion.begin_record()
    inversion.iterate()
    inversion.finish()
    if report:
        from craton.tomography.report.page import write_report

        on_root(comm, lambda: write_report(folder.path))
        inversion.say(f"report: {folder.report}")
    on_root(comm, folder.discard_progress)


FREE = (
    ("run", "directory"), ("modes", "cache"), ("inversion", "max_iterations"), ("inversion", "tolerance"),
    ("inversion", "keep_hessians"), ("inversion", "step_halvings"), ("assembly", "subset"), ("assembly", "threads"),
    ("assembly", "compress"), ("assembly", "checkpoint_minutes"), ("report", "resolution"),
)  # fmt: skip
"""Settings that may be others when a run is resumed: nothing that has been computed depends on them."""


def config_to_resume(folder: RunFolder, config: Config | None = None) -> Config | None:
    """The configuration of the run in a folder, with the free settings of `config`; None where the run has finished. A UserError
    where no run is, and for any other difference. Not collective."""
    if not folder.path.is_dir():
        raise UserError(f"run folder {folder.path}: no such folder; allowed: the folder of a run that has not finished")
    place = folder.unfinished
    if place is None:
        if folder.record.is_file() and folder.read_record().finished:
            return None
        raise UserError(
            f"run folder {folder.path}: no {folder.progress.name} to go on from; allowed: the folder of a run that has "
            "not finished"
        )
    stored = read_progress(place.progress)
    known = config_from_dict(stored.config, stored.source).replaced("run", directory=str(folder.path.absolute()))
    if config is None:
        return known
    ours, theirs = (json.loads(json.dumps(each.to_dict())) for each in (config, known))
    for table in sorted(ours.keys() | theirs.keys()):
        given, used = ours.get(table, {}), theirs.get(table, {})
        for key in sorted(given.keys() | used.keys()):
            if given.get(key) != used.get(key) and (table, key) not in FREE:
                raise UserError(
                    f"{config.source}: [{table}] {key} = {given.get(key, 'missing')}; allowed: {used.get(key, 'missing')}, as the "
                    f"run in {folder.path} has it, or another folder"
                )
    return config.replaced("run", directory=str(folder.path.absolute()))


def command_line(config: Config, ranks: int, ranks_per_node: int = 0) -> str:
    """The command that repeats a run: options are what differs from the configuration file."""
    try:
        written = load_config(config.source)
    except UserError:
        written = config
    words = ["craton", "tomography", "run", str(config.source), "--ranks", str(ranks)]
    if ranks_per_node:
        words += ["--ranks-per-node", str(ranks_per_node)]
    if config.assembly.threads != written.assembly.threads:
        words += ["--threads", str(config.assembly.threads)]
    if config.inversion.max_iterations != written.inversion.max_iterations:
        words += ["--iterations", str(config.inversion.max_iterations)]
    if config.run.directory != written.run.directory:
        directory, here = Path(config.run.directory), Path.cwd()
        below = directory.relative_to(here) if directory.is_relative_to(here) else directory
        words += ["--directory", str(below)]
    return shlex.join(words)
