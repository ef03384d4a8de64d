"""The files that a run writes as it goes on, and finds again when it is resumed.

Each phase leaves its result in the run folder before the next begins, and looks there first when a run is resumed:

    data                    data.h5
    assembly, now and then  hessian.checkpoint.h5      with the list of the paths in it (assembly.py)
    assembly, a long one    hessian.h5                 its linearised_at_iteration tells whether it is the one that is wanted
    step                    step.h5                    with the misfits that the line search has found so far
    line search             model.h5                   all models and their misfits in one file; the iteration is done
    the end                 hessian.h5                 the last one

An assembly is long where it took [assembly] checkpoint_minutes or more: a killed run then does it again at most once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.inverse.prior import Step
from craton.runs import running
from craton.runs.agreement import on_root
from craton.runs.files import read_hdf5, remove, replaced, write_hdf5
from craton.tomography.data.data_file import load_observations, save_observations
from craton.tomography.data.sources import shared_observations
from craton.tomography.folder import IterationRecord, RunFolder, RunRecord, StartRecord
from craton.tomography.inversion.hessian_file import (
    Linearised,
    complete,
    linearised_at_of,
    of_iteration,
    read_linearised,
    write_hessian,
)
from craton.tomography.model.splines import splines_of
from craton.tomography.theory.crust import WITH_CRUST

if TYPE_CHECKING:
    from craton import SymmetricMatrix
    from craton._craton import ModelBasis
    from craton.tomography.config.tables import EarthConfig
    from craton.tomography.data.observations import Observations
    from craton.tomography.inversion.context import RunContext

f64 = NDArray[np.float64]


@dataclass
class State:
    """All models so far, their misfits, and what belongs to the latest."""

    models: list[f64]
    prior_weights: f64
    """C_m^-1 (m - m^p) of the latest model."""
    iterations: list[IterationRecord] = field(default_factory=list)
    data_norm: float = 1.0
    period_s: float = 0.0
    """The next iteration fits periods beyond this one; 0: all."""
    corrections: int = 0
    """Unknowns of earthquakes and stations, the last ones of every model."""

    @property
    def latest(self) -> f64:
        """The coefficients of the latest model."""
        return self.models[-1]

    @property
    def linearised_at(self) -> int:
        """The number of the latest model, with which the iteration under way begins."""
        return len(self.models) - 1


@dataclass
class FoundStep:
    """A step whose length is being sought: step.h5."""

    step: Step
    longest: float
    """The first length to be tried: 1, or less where [inversion] step_percent says so."""
    assemble_s: float
    solve_s: float
    chi: float
    """Equation 1 at the model that it begins from, of the periods and windows that the iteration fits."""
    misfit_s: float = 0.0
    solved_in: str = ""
    """In which precision equation 2 was solved, in words."""
    tried: list[float] = field(default_factory=list)
    """chi_data of the lengths longest, longest / 2, ... so far."""


NUMBERS = ("longest", "assemble_s", "solve_s", "chi", "misfit_s")
"""Attributes of step.h5."""

Left = TypeVar("Left")


class RunFiles:
    """What a run has on disk. All calls are collective; rank 0 reads and writes, and all ranks raise where it cannot."""

    def __init__(self, run: RunContext) -> None:
        self.run = run
        self.record: RunRecord
        """Is made when the data are there."""

    def _left(self, read: Callable[[RunFolder], Left | None]) -> Left | None:
        """What rank 0 reads of an earlier session; None for a run that is not resumed."""
        run = self.run
        return on_root(run.comm, lambda: read(run.place)) if run.resuming else None

    def check_earth(self, name: str) -> None:
        """UserError where a resumed run's Earth is not the one that it began with: its table or grid has changed."""
        before = self._left(lambda place: place.read_record().earth if place.record.is_file() else "")
        check_same_earth(before or "", name, self.run.config.earth)

    # ------------------------------------------------------------------------------------------------------------ data.h5

    def data(self) -> Observations | None:
        """The data of a run that is resumed; None where it had not come so far."""
        run = self.run
        if not self._left(lambda place: place.data.is_file()):
            return None
        return shared_observations(run.comm, run.nodes, lambda: load_observations(run.place.data))

    def save_data(self, observations: Observations) -> None:
        """Writes data.h5, the first file of a run."""
        run = self.run
        on_root(run.comm, lambda: save_observations(run.place.data, observations, run.config.data.filter_periods_s))

    # --------------------------------------------------------------------------------------------------------- hessian.h5

    def linearised(self, hessian: SymmetricMatrix, state: State) -> Linearised | None:
        """What was assembled at the latest model, and its Hessian loaded; None where the run had not come so far."""
        run = self.run
        found = self._left(lambda place: read_linearised(place, state.linearised_at))
        if found is not None:
            with run.phases("load"):
                hessian.load(str(run.place.hessian), "hessian")
            run.say(f"iteration {len(state.models)}: the Hessian is in {run.place.hessian}")
        return found

    def saves_now(self, found: Linearised) -> bool:
        """Whether a Hessian is written before its step is sought.

        It is where each is to be kept, where it took longer than a checkpoint may lose (without checkpoints always), and where its
        memory is needed for the factor. Otherwise it stays in memory, and the last one is written at the end.
        """
        settings, longest_s = self.run.config.inversion, 60.0 * self.run.config.assembly.checkpoint_minutes
        return settings.in_place or settings.keep_hessians == "all" or longest_s <= found.assemble_s

    def has_hessian(self, linearised_at: int) -> bool:
        """Whether hessian.h5 is there, of this model."""
        run = self.run
        return on_root(run.comm, lambda: linearised_at_of(run.place.hessian) == linearised_at)

    def save_hessian(
        self, hessian: SymmetricMatrix, found: Linearised, model: f64, linearised_at: int, more: dict[str, Any]
    ) -> None:
        """Writes a Hessian, and what it was assembled for. more: arrays and attributes."""
        with self.run.phases("save"):
            write_hessian(self.run, hessian, found, model, linearised_at, more)

    def discard_checkpoint(self) -> None:
        """Drops the checkpoint of an assembly that is complete."""
        self.run.discard_checkpoint()

    def discard_hessian(self) -> None:
        """Drops hessian.h5 where [inversion] keep_hessians = "none"."""
        if self.run.config.inversion.keep_hessians == "none":
            on_root(self.run.comm, lambda: remove(self.run.place.hessian))

    # ------------------------------------------------------------------------------------------------------------ step.h5

    def step(self, state: State) -> FoundStep | None:
        """The step from the latest model; None where the run had not come so far."""
        run = self.run
        found = self._left(lambda place: read_step(place, state.linearised_at))
        if found is not None:
            run.say(f"iteration {len(state.models)}: the step is in {run.place.step}")
        return found

    def save_step(self, found: FoundStep, state: State) -> None:
        """Writes the step, with the misfits of the lengths tried so far."""
        on_root(self.run.comm, lambda: write_step(self.run.place, found, state.linearised_at))

    # --------------------------------------------------------------------------------------------- model.h5 and record.json

    def state(self, basis: ModelBasis) -> State | None:
        """The models of a run that is resumed; None where it has none yet."""
        found = self._left(read_state)
        if found is not None and any(len(model) - found.corrections != basis.size for model in found.models):
            raise UserError(
                f"{self.run.place.model}: models of {len(found.latest) - found.corrections} parameters; allowed: {basis.size}, as "
                "the configuration of its run says"
            )
        return found

    def start(self) -> tuple[f64, StartRecord] | None:
        """The starting model that an earlier session has read from a file; None where it had not come so far."""
        return self._left(lambda place: read_start(place) if place.start.is_file() else None)

    def save_start(self, model: f64, record: StartRecord) -> None:
        """Keeps it: another session must begin at the same bits."""
        content = {"model": model, "record": json.dumps(asdict(record))}

        def write() -> None:
            with replaced(self.run.place.start) as aside:
                write_hdf5(aside, content)

        on_root(self.run.comm, write)

    def target(self) -> f64 | None:
        """The target of synthetic data, as an earlier session has made it."""
        return self._left(lambda place: read_hdf5(place.model).get("target") if place.model.is_file() else None)

    def save(self, state: State, basis: ModelBasis, target: f64 | None, more: dict[str, Any] | None = None) -> None:
        """Writes models and record as they stand. From the moment that model.h5 has a model its iteration is done."""
        run, record = self.run, self.record
        with run.phases("save"):
            record.iterations = state.iterations
            run.progress.save()
            record.sessions = run.progress.sessions()
            for name, values in run.phases.of_all_ranks(run.comm).items():
                setattr(record, name, values)
            content: dict[str, Any] = {
                **of_models(state),
                **splines_of(basis),
                "prior_weights": state.prior_weights,
                "iterations": json.dumps([asdict(entry) for entry in state.iterations]),
                "data_norm": state.data_norm,
                "period_s": state.period_s,
                **({} if target is None else {"target": target}),
                **(more or {}),
            }

            def write() -> None:
                run.place.write_model(content)
                run.place.write_record(record)

            on_root(run.comm, write)

    def drop_linearised(self) -> None:
        """Drops step and Hessian of the latest model, which the next iteration begins from again with other periods."""
        place = self.run.place

        def drop() -> None:
            remove(place.step)
            remove(place.hessian)

        on_root(self.run.comm, drop)
        self.discard_checkpoint()

    def drop_iteration(self) -> None:
        """Drops what is not needed any more once the iteration's model is found."""
        on_root(self.run.comm, lambda: remove(self.run.place.step))
        self.discard_hessian()

    def take_place(self) -> None:
        """From now on the results of an earlier run are replaced: there is a whole set of new ones."""
        run = self.run
        run.place = running.take_place(run.comm, run.folder, run.place, run.progress)

    def close(self) -> None:
        """Ends the run: what only an unfinished one needs goes."""
        run = self.run
        on_root(run.comm, run.folder.discard_working)
        run.progress.file = None


def check_same_earth(before: str, name: str, settings: EarthConfig) -> None:
    """UserError where a run's Earth, by its name in the record ("": not known), is another one now."""
    if not before or before == name:
        return
    of_table = before.partition(WITH_CRUST)[0] != name.partition(WITH_CRUST)[0]
    file = settings.file if of_table else settings.crust
    raise UserError(
        f"{file or name}: the reference Earth is {name}, and the run began with {before}; allowed: the same "
        f"{'table' if of_table else 'grid'}"
    )


def of_models(state: State) -> dict[str, f64]:
    """All models as model.h5 has them: coefficients of the structure, and corrections where there are some."""
    models, beside = np.split(np.stack(state.models), [len(state.latest) - state.corrections], axis=1)
    return {"models": models, **({"corrections": beside} if state.corrections else {})}


def write_step(place: RunFolder, found: FoundStep, linearised_at: int) -> None:
    """Writes step.h5. Not collective."""
    content: dict[str, Any] = {
        "model": found.step.model,
        "weights": found.step.weights,
        "tried": np.array(found.tried, np.float64),
        "linearised_at_iteration": linearised_at,
        "solved_in": found.solved_in,
        **{name: getattr(found, name) for name in NUMBERS},
    }
    with replaced(place.step) as aside:
        write_hdf5(aside, content)


def read_step(place: RunFolder, linearised_at: int) -> FoundStep | None:
    """step.h5; None where it is missing or of another iteration. Not collective."""
    stored = of_iteration(place.step, linearised_at)
    if stored is None:
        return None
    with complete(place.step):
        return FoundStep(
            Step(np.ascontiguousarray(stored["model"]), np.ascontiguousarray(stored["weights"])),
            solved_in=str(stored.get("solved_in", "")),
            tried=[float(value) for value in stored["tried"]],
            **{name: float(stored[name]) for name in NUMBERS},
        )


def read_start(place: RunFolder) -> tuple[f64, StartRecord]:
    """start.h5. Not collective."""
    stored = read_hdf5(place.start)
    with complete(place.start):
        return np.ascontiguousarray(stored["model"]), StartRecord(**json.loads(stored["record"]))


def read_state(place: RunFolder) -> State | None:
    """The models and misfits that an unfinished run has; None where it has no model.h5 yet. Not collective."""
    if not place.model.is_file():
        return None
    stored = read_hdf5(place.model)
    with complete(place.model):
        models = stored["models"]
        beside = np.asarray(stored.get("corrections", np.empty((len(models), 0))))
        return State(
            [np.ascontiguousarray(model) for model in np.hstack([models, beside])],
            np.ascontiguousarray(stored["prior_weights"]),
            [IterationRecord(**entry) for entry in json.loads(stored["iterations"])],
            float(stored["data_norm"]),
            float(stored.get("period_s", 0.0)),
            beside.shape[1],
        )
