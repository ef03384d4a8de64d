"""The iteration: wave runs of a model, the step that they lead to, and the length at which the misfit falls.

Each model that is tried has a folder. Whatever is there already is not done again, so a run that was ended goes on by going through
all of it once more: what follows from files is the same as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton._launch import CRATON
from craton.errors import UserError
from craton.inverse.prior import Prior, misfit
from craton.regional.assembly import SECONDS_PER_PRODUCT
from craton.regional.comparison import correlations
from craton.regional.folder import IterationRecord, RegionalFolder, StateFolder
from craton.regional.measurements import Misfit
from craton.regional.observations import Observations, make_data, predicted, read_data, samples_of
from craton.regional.predictions import predicted_of_state
from craton.regional.prior import prior_of
from craton.regional.progress import Display
from craton.regional.records import recorded
from craton.regional.study import Study
from craton.regional.wave_runs import event_config, receiver_config, wave_task, write_ground
from craton.runs.files import read_hdf5, replaced, write_hdf5
from craton.runs.progress_file import ProgressFile
from craton.seismology.wave_run.started import start_ranks
from craton.tasks import Outcome, Task, TaskRecord, run_tasks

__all__ = ["Inversion"]

f64 = NDArray[np.float64]


@dataclass
class Current:
    """The latest model that was accepted."""

    state: StateFolder
    model: f64
    weights: f64
    """C_m^-1 (m - m^p)"""
    predicted: f64


@dataclass
class Inversion:
    """The work of a run, in a folder that is locked."""

    study: Study
    folder: RegionalFolder
    progress: ProgressFile
    console: Any
    say: Callable[[str], None]
    saved: Callable[[], None] = lambda: None
    """called when iterations has grown"""
    iterations: list[IterationRecord] = field(default_factory=list)
    jobs: list[TaskRecord] = field(default_factory=list)
    stopped_because: str = ""
    states: int = 0
    """that were tried"""
    latest: int = 0
    """number of the last that was accepted"""

    def __post_init__(self) -> None:
        self.prior: Prior = prior_of(self.study)

    def go(self) -> Current:
        """All of it. UserError for what failed, when all that does not need it is done."""
        self.progress.enter("data")
        self.data = Misfit(self.study, self.observed())
        now = self.at(np.zeros(self.study.unknowns), np.zeros(self.study.unknowns), "earthquakes", 0)
        self.note(now, 0.0)
        settings = self.study.config.inversion
        while True:
            number = len(self.iterations)
            if number > settings.iterations:
                self.stopped_because = f"{settings.iterations} iterations, as [inversion] iterations says"
                break
            after = self.accepted(now, number)
            if after is None:
                break
            length, following = after
            if not self.study.config.run.keep_spectra:
                now.state.drop_spectra()
            now = following
            self.note(now, length)
            before, last = (one.chi_data + one.chi_prior for one in self.iterations[-2:])
            if before - last < settings.smallest_fall * before:
                self.stopped_because = (
                    f"the last iteration lowered the misfit by {100 * (before - last) / before:.2g} %, less than [inversion] "
                    f"smallest_fall = {settings.smallest_fall:g} asks for"
                )
                break
        return now

    # -------------------------------------------------------------------------------------------------------------- the data

    def observed(self) -> Observations:
        """Data of a folder, or made for the target; written to data.h5."""
        study, file = self.study, self.folder.data
        if file.is_file():
            return read_data(file, study)
        if study.config.is_synthetic:
            target = self.folder.target_state
            target.path.mkdir(parents=True, exist_ok=True)
            if not target.ground.is_file():
                write_ground(target.ground, study.config, study.planes(None))
            self.simulate(target, "data", "target", spectra=False)
            folders = [target.event(one.name) for one in study.config.events]
            found = make_data(study, predicted(study, folders, study.catalogue, study.errors).samples, add_noise=True)
        else:
            given = recorded(study, Path(study.config.data.folder))
            found = make_data(study, samples_of(study, given), add_noise=False)
        found.write(file)
        return found

    # ------------------------------------------------------------------------------------------------------------ wave runs

    def at(self, model: f64, weights: f64, phase: str, iteration: int) -> Current:
        """A model of its own folder, with the wave runs that predict its data."""
        state = self.folder.state(self.states)
        self.states += 1
        if not state.model.is_file():
            state.write_model(model=model, weights=weights)
        if not state.ground.is_file():
            write_ground(state.ground, self.study.config, self.study.planes(model))
        if self.study.config.inversion.predicted_by == "stations":
            self.do(phase, f"iteration {iteration}", self.receiver_tasks(state))
        else:
            self.simulate(state, phase, f"iteration {iteration}", spectra=True)
        return Current(state, model, weights, predicted_of_state(self.study, state, model).samples)

    def simulate(self, state: StateFolder, phase: str, where: str, *, spectra: bool) -> None:
        """Runs the earthquakes in a state's ground."""
        study = self.study
        self.do(phase, where, [self.event_task(state, at, spectra) for at in range(len(study.config.events))])

    def event_task(self, state: StateFolder, event: int, spectra: bool) -> Task:
        """The wave run of an earthquake."""
        study = self.study
        name = study.config.events[event].name
        config = event_config(study.config, event, state.ground, study.steady, state.event(name), spectra)
        state.event(name).parent.mkdir(parents=True, exist_ok=True)
        return wave_task(
            f"{state.path.name}: earthquake {name}",
            config,
            state.event(name),
            study.config.run.ranks,
            study.steps,
            "earthquake",
        )

    def receiver_tasks(self, state: StateFolder) -> list[Task]:
        """Wave runs of forces at all stations."""
        study, tasks = self.study, []
        state.receiver("", "").parent.mkdir(parents=True, exist_ok=True)
        for name, at in zip(study.receivers.names, study.receivers.position_m, strict=True):
            for component in study.config.data.components:
                folder = state.receiver(name, component)
                config = receiver_config(
                    study.config, at, component, state.ground, self.folder.points, study.steady, folder
                )
                label = f"{state.path.name}: station {name}, {component}"
                tasks.append(wave_task(label, config, folder, study.config.run.ranks, study.steps, "station"))
        return tasks

    def do(self, phase: str, where: str, tasks: Sequence[Task]) -> None:
        """Does tasks whose files are not there. UserError for the first that failed."""
        settings = self.study.config.run
        if all(task.result.is_file() for task in tasks):
            return
        settings.runs_on.check(tasks, settings.all_cores)
        display = Display(phase, where, tasks, self.progress, self.console)
        with display.bar:
            outcome = run_tasks(
                tasks,
                cores=settings.all_cores,
                jobs=settings.all_cores,
                backend=settings.runs_on.backend(self.folder.engine),
                progress=display,
            )
        self.jobs += outcome.records
        _complain(outcome, self.folder)

    # ------------------------------------------------------------------------------------------------------------- the step

    def step_of(self, now: Current, iteration: int) -> dict[str, Any]:
        """What step.h5 has of a model: stations' wave runs, then some ranks that assemble and solve."""
        state, study = now.state, self.study
        if not state.step.is_file():
            events = [self.event_task(state, at, spectra=True) for at in range(len(study.config.events))]
            receivers = [*events, *self.receiver_tasks(state)]
            state.forget_without_spectra()
            ranks = study.config.run.ranks_of_step
            frequencies = len(study.frequencies_hz)
            solve = Task(
                name=f"{state.path.name}: step",
                kind="step",
                result=state.step,
                command=lambda: [*CRATON, "regional", "step", str(self.folder.path), str(state.number)],
                log=state.step.with_suffix(".log"),
                after=tuple(task.name for task in receivers),
                cores=ranks,
                ranks=ranks,
                start_ranks=start_ranks(ranks),
                cost=1.0 + SECONDS_PER_PRODUCT * len(study.pairings) * len(study.lattice) * frequencies / ranks,
            )
            self.do("derivatives", f"iteration {iteration}", [*receivers, solve])
        return read_hdf5(state.step)

    def accepted(self, now: Current, iteration: int) -> tuple[float, Current] | None:
        """The first of the lengths 1, 1/2, ... at which the misfit is smaller, and the model there; None where none is."""
        found = self.step_of(now, iteration)
        step, after = np.asarray(found["step"]), np.asarray(found["weights"])
        before, totals = self.total(now), list[float]()
        for halving in range(self.study.config.inversion.step_halvings + 1):
            length = 0.5**halving
            model = now.model + length * step
            if wrong := self.study.wrong_ground(model):
                self.say(f"a step of {length:g} is too long: {wrong}")
                totals.append(np.inf)
                continue
            tried = self.at(model, now.weights + length * (after - now.weights), "earthquakes", iteration)
            totals.append(self.total(tried))
            if totals[-1] < before:
                return length, tried
            if not self.study.config.run.keep_spectra:
                tried.state.drop_spectra()
        self.stopped_because = (
            f"no step lowers the misfit of {before:.6g}: {', '.join(f'{one:.6g}' for one in totals)} at lengths from 1 on, each "
            "half of the one before"
        )
        return None

    def total(self, at: Current) -> float:
        """Equation 1."""
        return self.data.chi(at.predicted) + misfit(at.model - self.prior.mean, at.weights)

    # ------------------------------------------------------------------------------------------------------------ the table

    def note(self, now: Current, length: float) -> None:
        """One more accepted model: recorded and said."""
        study, self.latest = self.study, now.state.number
        found = correlations(study, now.model, None)[0] if study.config.is_synthetic else None
        entry = IterationRecord(
            iteration=len(self.iterations),
            state=now.state.number,
            chi_data=self.data.chi(now.predicted),
            chi_prior=misfit(now.model - self.prior.mean, now.weights),
            step_length=length,
            simulations=self.simulations,
            correlation=found,
        )
        self.iterations.append(entry)
        if not entry.iteration:
            self.say(
                f"{'iteration':>9} {'2 chi / N':>10} {'chi data':>12} {'chi prior':>10} {'length':>7} {'wave runs':>9}  correlation"
            )
        told = "" if found is None else f"{found:11.3f}"
        self.say(
            f"{entry.iteration:9d} {2 * entry.chi_data / self.data.size:10.4f} {entry.chi_data:12.5g} {entry.chi_prior:10.4g} "
            f"{length:7.3g} {entry.simulations:9d}  {told}"
        )
        self.saved()

    @property
    def simulations(self) -> int:
        """Wave runs up to now: the same when a run goes on that was ended. Those that made data do not count."""
        study = self.study
        events, forces = len(study.config.events), len(study.receivers) * len(study.config.data.components)
        first, second = (events, forces) if study.config.inversion.predicted_by == "events" else (forces, events)
        stepped = sum(self.folder.state(number).step.is_file() for number in range(self.latest))
        return self.states * first + stepped * second


def _complain(outcome: Outcome, folder: RegionalFolder) -> None:
    if outcome.failures:
        left = f", {len(outcome.left)} tasks wait for it" if outcome.left else ""
        more = f" (and {len(outcome.failures) - 1} more)" if len(outcome.failures) > 1 else ""
        raise UserError(
            f"{outcome.failures[0]}{more}{left}; what is finished is kept, `craton regional resume {folder.path}` does the rest"
        )


def write_model(path: Path, study: Study, now: Current, step: dict[str, Any] | None) -> None:
    """model.h5: changes of the ground at knots (parameter, x, y, z), and what is known of them."""
    shape = (len(study.config.model.parameters), *study.knots.counts)
    content: dict[str, Any] = {"change": now.model[: study.unknowns_of_ground].reshape(shape)}
    for name in ("deviation", "resolution", "coverage"):
        if step is not None:
            content[name] = np.asarray(step[name])[: study.unknowns_of_ground].reshape(shape)
    content["corrections"] = now.model[study.unknowns_of_ground :]
    if step is not None:
        content["corrections_deviation"] = np.asarray(step["deviation"])[study.unknowns_of_ground :]
    content |= {f"{axis}_m": at for axis, at in zip("xyz", study.knots.axes_m, strict=True)}
    content |= {"parameters": " ".join(study.config.model.parameters), "state": now.state.number}
    with replaced(path) as aside:
        write_hdf5(aside, content)
