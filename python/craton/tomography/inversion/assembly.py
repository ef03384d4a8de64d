"""The assembly of H and G^T C_d^-1 (d - g), with checkpoints of the paths that are in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton import Checkpoint, ConvergentVector, SymmetricMatrix
from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.runs.progress import ProgressBar
from craton.tomography.config.load import hessian_block
from craton.tomography.inversion.exact_sums import ROOM, Quanta
from craton.tomography.inversion.forward import ROUNDED, predicted_elsewhere
from craton.tomography.inversion.hessian_file import Linearised

if TYPE_CHECKING:
    from craton.tomography.data.observations import Observations
    from craton.tomography.inversion.context import RunContext
    from craton.tomography.inversion.forward import Panels, Synthetics
    from craton.tomography.inversion.persistence import State

f64 = NDArray[np.float64]


class Assembly:
    """The distributed Hessian and gradient, and how they are filled. All calls are collective."""

    def __init__(
        self,
        run: RunContext,
        panels: Panels,
        synthetics: Synthetics,
        observations: Observations,
        size: int,
    ) -> None:
        """synthetics: what gives g(m): the panels' own theory, or another. size: of the model."""
        self.run, self.panels, self.synthetics, self.observations = run, panels, synthetics, observations
        settings = run.config.inversion
        block = hessian_block(settings.block, size)
        self.hessian = SymmetricMatrix(run.world, size, dtype=settings.precision, block=block)
        self.gradient = ConvergentVector(run.world, size, block)

    def release(self) -> None:
        """Gives the memory of Hessian and gradient back; hessian.h5 has them."""
        del self.hessian, self.gradient

    def at(self, state: State) -> Linearised:
        """Hessian, gradient and misfit at the latest model; from a checkpoint where an earlier session has left one.

        assemble_s is what all sessions have spent on it, the same on every rank. UserError where numbers overflow.
        """
        sums = self.fill(state)
        gradient = np.asarray(self.gradient.gather())
        self.check_finite(sums, gradient)
        return Linearised(gradient, **sums)

    def fill(self, state: State) -> dict[str, float]:
        """Adds all paths to Hessian and gradient. Returns chi_data, data_norm and assemble_s."""
        with self.run.phases("misfit"):
            predicted = predicted_elsewhere(self.synthetics, self.panels, state.latest)
        if not self.run.config.inversion.reproducible:
            return self.add_all(state, predicted, ROUNDED)
        with self.run.phases("misfit"):
            chi_data = self.synthetics.chi_data(state.latest)
        found = {"chi_data": chi_data, "data_norm": self.observations.weighted_norm(self.run.comm)}
        self.check_finite(found, np.zeros(0))
        quanta = self.panels.quanta(state.latest, chi_data)
        while True:
            sums = {**self.add_all(state, predicted, quanta), **found}
            largest = float(np.max(self.hessian.diagonal()))
            if not np.isfinite(largest) or quanta.hold(largest, chi_data):
                return sums  # what is not finite is told by who asked
            quanta = Quanta.of(ROOM * largest, chi_data)
            self.run.say(
                "the Hessian is larger than a few windows let expect: it is assembled again, rounded more coarsely"
            )
            self.run.discard_checkpoint()

    def add_all(self, state: State, predicted: f64 | None, quanta: Quanta) -> dict[str, float]:
        """The same, with these quanta."""
        run = self.run
        self.hessian.reset()
        self.gradient.reset()
        total, minutes = len(self.observations.paths), run.config.assembly.checkpoint_minutes
        sums = {"chi_data": 0.0, "data_norm": 0.0, "assemble_s": 0.0}
        saved, done = None, 0
        if minutes or on_root(run.comm, lambda: run.place.has_checkpoint):
            saved = self.resumed_checkpoint(state, sums, quanta)
            done = total - len(saved.missing(total))
        run.enter("assembly", len(state.models), done, total)
        bar = ProgressBar("assembling", total, "paths", run.console)
        try:
            with bar:
                if done:
                    bar.begin_at(done)
                while (left := self.until_pause(state, predicted, sums, saved, 60.0 * minutes, bar, quanta)) > 0:
                    assert saved is not None
                    self.save_checkpoint(saved, state, sums, total - left, quanta)
        except BaseException:
            if saved is not None:
                saved.close()
            raise
        if saved is not None:
            saved.close(wait=False)  # all paths are added: nobody will ask the file for those of the last checkpoint
        return sums

    def until_pause(
        self,
        state: State,
        predicted: f64 | None,
        sums: dict[str, float],
        saved: Checkpoint | None,
        pause_after_s: float,
        bar: ProgressBar,
        quanta: Quanta,
    ) -> int:
        """Adds paths to Hessian, gradient and `sums`, and returns how many are left."""
        run = self.run

        def told(done: int, total: int) -> None:
            bar.update(done, total)
            run.progress.update(done, total)

        before_s = run.phases.seconds["assemble"]
        with run.phases("assemble"):
            found = self.panels.assemble(
                state.latest, self.hessian, self.gradient, predicted, told, saved, pause_after_s, quanta
            )
        run.phases.add_assembly(found)
        took_s = run.phases.seconds["assemble"] - before_s
        more = {"chi_data": found["chi_data"], "data_norm": found["data_norm"], "assemble_s": took_s}
        more = run.comm.bcast(more)  # not all ranks took as long
        for name, value in more.items():
            sums[name] += value
        return int(found["left"])

    def resumed_checkpoint(self, state: State, sums: dict[str, float], quanta: Quanta) -> Checkpoint:
        """The assembly's checkpoint; Hessian, gradient and `sums` become what they were when it was saved."""
        run = self.run
        with run.phases("checkpoint"):
            for _ in range(2):
                saved = Checkpoint(
                    run.world,
                    str(run.place.checkpoint),
                    keep_previous=False,
                    local_folder=run.config.assembly.checkpoint_local,
                )
                saved.add("hessian", self.hessian)
                saved.add("gradient", self.gradient)
                found = saved.resume()
                if found is None or (
                    found[0]["linearised_at"] == state.linearised_at and found[0].get("quantum", 0.0) == quanta.hessian
                ):
                    break
                saved.close()  # of an iteration that is over, or of other quanta
                run.discard_checkpoint()
                self.hessian.reset()
                self.gradient.reset()
        if found is not None:
            sums.update({name: float(found[0][name]) for name in sums})
        return saved

    def save_checkpoint(
        self, saved: Checkpoint, state: State, sums: dict[str, float], paths: int, quanta: Quanta
    ) -> None:
        """Saves Hessian, gradient and `sums`. UserError on every rank where it cannot be written; the one before then stays.

        With checkpoint_local it only leaves them on the nodes, and what could not be written is told by the next one.
        """
        with self.run.phases("checkpoint"):
            saved.save({**sums, "linearised_at": state.linearised_at, "quantum": quanta.hessian})
        self.run.progress.saved(paths)

    def check_finite(self, sums: dict[str, float], gradient: f64) -> None:
        """UserError for numbers that overflowed, which is a matter of the data's scale. The diagonal bounds the whole Hessian."""
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
                    f"{self.run.config.inversion.precision}; sigma is {smallest:.3g} to {largest:.3g} m and the largest sample "
                    f"{np.abs(self.observations.observed).max():.3g} m: is one of them in another unit?"
                )

    @property
    def data_source(self) -> str:
        """What an error about the data names."""
        config = self.run.config
        return (
            config.data.file if config.data.kind == "file" else f"{config.path}: [data] noise = {config.data.noise:g}"
        )
