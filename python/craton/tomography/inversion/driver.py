"""An inversion, from where its folder says it is to its end: the loop of Gauss-Newton iterations.

    preparation.py    modes, basis, prior, data
    forward.py        what gives g(m), and what gives the panels G_(i)
    assembly.py       H and G^T C_d^-1 (d - g) at a model
    step.py           equation 2, and the length of its step
    schedule.py       which periods an iteration fits, and which windows
    stopping.py       when there is no further iteration
    persistence.py    what each phase leaves in the folder, and what a resumed run finds there

Every rank runs the same lines; what a rank computes alone (its share of the paths, its blocks of the Hessian) is hidden in the
collective calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton.inverse.prior import misfit
from craton.runs.agreement import on_root
from craton.runs.record import facts_of
from craton.runs.words import counted
from craton.tomography.data.corrected_catalogues import summarised, write_tables
from craton.tomography.data.corrections import Corrections, true_corrections
from craton.tomography.data.emphasis import COMPARED
from craton.tomography.data.redundancy import redundancy
from craton.tomography.folder import IterationRecord, Judgement, RunRecord, TheoryCheck
from craton.tomography.inversion.assembly import Assembly
from craton.tomography.inversion.exact_sums import AS_THEY_CAME, EXACT
from craton.tomography.inversion.forward import Synthetics
from craton.tomography.inversion.hessian_file import Linearised
from craton.tomography.inversion.judgement import judge
from craton.tomography.inversion.persistence import FoundStep, RunFiles, State
from craton.tomography.inversion.preparation import prepare
from craton.tomography.inversion.robust import robust_weights
from craton.tomography.inversion.say import TABLE_HEAD, about_recovery, iteration_line
from craton.tomography.inversion.schedule import Schedule
from craton.tomography.inversion.step import Accepted, StepSearch
from craton.tomography.inversion.stopping import reason_to_stop
from craton.tomography.model.knots import coverage_correlation
from craton.tomography.model.splines import splines_of
from craton.tomography.theory.names import inverted_by, theory_name

if TYPE_CHECKING:
    from craton.tomography.data.observations import Observations
    from craton.tomography.inversion.context import RunContext
    from craton.tomography.model.fields import Fields
    from craton.tomography.outside.solver import OutsideSynthetics

f64 = NDArray[np.float64]

AtTheEnd = Callable[["Inversion"], Any]


class Inversion:
    """An inversion under way. All calls are collective."""

    def __init__(self, run: RunContext) -> None:
        self.run = run
        self.files = RunFiles(run)
        found = prepare(run, self.files)
        self.basis, self.prior, self.theory, self.panels = found.basis, found.prior, found.theory, found.panels
        self.observations, self.target, self.state = found.observations, found.target, found.state
        self.spheroidal, self.start, self.earth = found.spheroidal, found.start, found.earth
        self.corrections = found.corrections
        self.outside = None if run.config.synthetics.kind == "modes" else self.outside_synthetics()
        self.synthetics: Synthetics = self.outside or self.theory
        self.assembly = Assembly(run, self.panels, self.synthetics, self.observations, len(self.prior.mean))
        self.steps = StepSearch(run, self.files, self.basis, self.prior, self.synthetics, self.corrections)
        self.schedule = Schedule(run.config, self.observations, run.comm)
        within_km = run.config.data.redundancy_km
        self.redundancy = 1.0 / redundancy(self.observations.paths, within_km) if within_km else None
        """Weights of windows that tell the same."""
        self.files.record = self.first_record()
        self.first_g: f64 | None = None
        """Seismograms of the starting model, of a run that began in this process."""
        self.at: tuple[int, Linearised] | None = None
        """What the assembly's Hessian is of: the number of a model, and what was found there besides; None where of none."""

    def outside_synthetics(self) -> OutsideSynthetics:
        """What starts an outside solver for a model, or waits for it."""
        from craton.tomography.outside.solver import OutsideSynthetics  # which most runs need not load

        run, files = self.run, self.files

        def fields(model: f64, label: str) -> Fields:
            from craton.tomography.model.fields import fields_of

            return fields_of(self.basis, model[: self.basis.size], label, files.record, run.place.record)

        return OutsideSynthetics(
            run.config,
            run.nodes,
            lambda: run.place.synthetics,
            self.observations,
            fields,
            run.say,
            run.enter_outside,
            run.await_outside,
            lambda model: self.corrections.applied(model[self.basis.size :]),
        )

    @property
    def record(self) -> RunRecord:
        """What was run, and how far it came."""
        return self.files.record

    def go(self, at_the_end: AtTheEnd | None = None) -> RunRecord:
        """Does the whole run, or what is left of it. at_the_end: makes what a finished run needs beyond its model."""
        state = self.state
        self.begin()
        last = max(state.linearised_at - 1, 0)  # the model of the last Hessian
        while not (reason := reason_to_stop(state.iterations, state.period_s, self.run.config.inversion)):
            last = state.linearised_at
            self.count_long_periods()
            self.emphasise(state)
            step = self.files.step(state) or self.find_step()
            state.iterations[-1].chi_fitted = step.chi - state.iterations[-1].chi_prior
            found = self.steps.line_search(step, state)
            if found.why_not and not state.period_s:
                reason = found.why_not
                break
            if found.why_not:
                self.files.drop_linearised()
                self.fit_shorter_periods()
            else:
                self.accept(step, found)
        self.record.stopped_because = reason
        self.files.take_place()
        self.run.say(f"stopped: {reason}")
        self.keep_hessian(last)
        self.finish(at_the_end)
        return self.record

    def save(self, more: dict[str, Any] | None = None) -> None:
        """Models and record as they stand. more: for model.h5."""
        if self.outside is not None:
            self.record.solver = self.outside.solvers()
        self.files.save(self.state, self.basis, self.target, more)

    def find_step(self) -> FoundStep:
        """The Gauss-Newton step from the latest model."""
        return self.steps.solve(self.assembly.hessian, self.linearise(), self.state)

    def count_long_periods(self) -> None:
        """For those who ask how far the run is."""
        state = self.state
        done = sum(bool(entry.period_s) for entry in state.iterations)
        self.run.long_period_iterations = done + bool(state.period_s)

    def emphasise(self, state: State) -> None:
        """Makes the misfit look at what an iteration fits: its periods, windows whose cycles are not skipped, weights."""
        of, settings = self.observations.emphasis, self.run.config.inversion
        of.clear()
        if settings.long_periods_first or settings.robust != "none":
            g = self.synthetics.seismograms(state.latest)
        of.weights = self.redundancy
        if settings.long_periods_first:
            of.misfit, of.furthest_s = self.schedule.misfit(state.period_s)
            skipped = self.schedule.left_out(g, state.period_s)
            of.left_out = skipped if skipped.any() else None
        if settings.robust != "none" and of.misfit == "waveform":  # late waves are no outliers among arrival times
            found = robust_weights(settings.robust, self.observations.window_misfits(g, self.run.comm))
            of.weights = found if self.redundancy is None else self.redundancy * found
            if few := int(np.sum(found < 0.5)):
                self.run.say(
                    f"{counted(few, 'window')} of {len(found)} weigh less than half: they fit much worse than the others"
                )
        of.period_s = state.period_s

    def fit_shorter_periods(self) -> None:
        """From the next iteration on."""
        state = self.state
        state.period_s = self.schedule.after(state.period_s)
        compared = COMPARED[self.schedule.misfit(state.period_s)[0]]
        self.run.say(
            f"now {compared} beyond {state.period_s:.0f} s" if state.period_s else "now waveforms of all periods"
        )
        self.save()

    def linearise(self) -> Linearised:
        """Hessian, gradient and misfit at the latest model; from hessian.h5 where an earlier session has left them."""
        found = self.files.linearised(self.assembly.hessian, self.state)
        loaded = found is not None
        if found is None:
            found = self.assembly.at(self.state)
        self.at = self.state.linearised_at, found
        if not loaded and self.files.saves_now(found):
            self.save_hessian(self.state.latest)
        self.files.discard_checkpoint()
        return found

    def save_hessian(self, model: f64) -> None:
        """Writes hessian.h5. model: at which the assembly's Hessian was found."""
        assert self.at is not None
        data = self.observations
        of_run = {"prior_mean": self.prior.mean, "samples": data.counted_samples, **data.emphasis.stored()}
        of_run |= splines_of(self.basis)
        if self.corrections.size:
            of_run["corrections_precision"] = self.corrections.precision
        self.files.save_hessian(self.assembly.hessian, self.at[1], model, self.at[0], of_run)

    def keep_hessian(self, wanted: int) -> None:
        """Writes hessian.h5 where the run is to leave one; it is of the model with that number."""
        if self.run.config.inversion.keep_hessians == "none" or self.files.has_hessian(wanted):
            return
        if self.at is None or self.at[0] != wanted:  # an earlier session had it in memory
            self.run.say(f"hessian.h5: assembled again at the model of iteration {wanted}")
            there = replace(self.state, models=self.state.models[: wanted + 1])
            self.emphasise(there)
            self.at = wanted, self.assembly.at(there)
            self.files.discard_checkpoint()
        self.save_hessian(self.state.models[wanted])

    def accept(self, step: FoundStep, found: Accepted) -> None:
        """Takes the step. From the moment that model.h5 has the model the iteration is done."""
        state, of = self.state, self.observations.emphasis
        left_out = 0 if of.left_out is None else int(of.left_out.sum())
        state.models.append(found.model)
        state.prior_weights = found.weights
        entry = self.iteration_record(found.length)
        entry.period_s, entry.misfit, entry.left_out = of.period_s, of.misfit, left_out
        entry.fall = 1.0 - (found.chi_data + entry.chi_prior) / step.chi
        if (samples := self.observations.counted_samples) > 0:
            entry.fitted = 2.0 * found.chi_data / samples
        entry.assemble_s, entry.solve_s, entry.misfit_s = step.assemble_s, step.solve_s, step.misfit_s
        entry.solved_in = step.solved_in
        entry.paths_per_s = len(self.observations.paths) / step.assemble_s if step.assemble_s else 0.0
        state.iterations.append(entry)
        self.run.say(iteration_line(entry))
        self.save()
        self.files.drop_iteration()
        self.files.take_place()
        if self.schedule.is_done_with(state.period_s, state.iterations):
            self.fit_shorter_periods()

    def finish(self, at_the_end: AtTheEnd | None) -> None:
        """Adds predicted waveforms, path coverage, and the comparison with the target where there is one."""
        run, state = self.run, self.state
        run.enter("finish", state.linearised_at)
        self.files.discard_hessian()
        self.observations.emphasis.clear()
        with run.phases("waveforms"):
            last, first = self.synthetics.seismograms(state.latest), self.first_g
            if first is None:
                first = self.synthetics.seismograms(state.models[0])
            more = dict[str, Any]()
            if run.comm.rank == 0:  # who writes them
                more = {"waveforms/initial": first.astype(np.float32), "waveforms/final": last.astype(np.float32)}
            coverage = self.panels.coverage(self.basis)
        theory = self.checked_theory(last)
        found = self.judgement(last, theory)
        self.record.judgement = found
        run.say(found.text)
        if (target := self.target) is not None:
            recovered = on_root(run.comm, lambda: coverage_correlation(self.basis, self.structure, target, coverage))
            self.record.correlation = recovered
            run.say(about_recovery(recovered, *self.theories()))
        if self.corrections.size:
            self.tell_of_corrections()
        if at_the_end is not None:
            at_the_end(self)
        self.record.finished = True
        self.save({**more, "coverage": coverage})

    def theories(self) -> tuple[str, str]:
        """What made the data of the target, and what inverts them, in words. Collective."""
        config, of = self.run.config, self.run.config.theory
        made = (config.target.theory if config.target is not None else "") or of.kind
        by = theory_name(of.kind)
        if self.outside is not None:
            name = self.outside.solvers()
            by = f"an outside solver{f' ({name})' if name else ''}"
        return theory_name(made), inverted_by(by, of.of_panels)

    def tell_of_corrections(self) -> None:
        """What was found of earthquakes and stations: in the record, and as tables."""
        run, values, found, errors = self.run, self.state.latest[self.basis.size :], self.corrections, None
        if self.target is not None and run.config.target is not None:
            errors = Corrections(found.table, run.config.target.errors)
        true = None if errors is None else true_corrections(errors, run.config.run.seed)
        self.record.corrections = summarised(found, values, errors, true)
        on_root(run.comm, lambda: write_tables(found, values, run.place.earthquakes, run.place.stations))
        for entry in self.record.corrections:
            run.say(entry.sentence)

    def checked_theory(self, predicted: f64) -> TheoryCheck | None:
        """What a richer theory adds; None where g is not of the run's own theory. predicted: g of the last model."""
        run, config = self.run, self.run.config
        if self.outside is not None or not config.theory.check_windows:
            return None
        from craton.tomography.inversion.theory_check import check_theory

        fitted = not config.inversion.long_periods_first
        with run.phases("theory"):
            return check_theory(
                self.theory.problem, self.spheroidal, config.data.filter_periods_s, self.corrected_observations(), self.structure,
                predicted, config.theory.check_windows, config.run.seed, run.nodes, run.threads, run.say,
                None if fitted else self.schedule.left_out(predicted, 0.0),
            )  # fmt: skip

    @property
    def structure(self) -> f64:
        """The coefficients of the latest model, without its corrections."""
        return np.ascontiguousarray(self.state.latest[: self.basis.size])

    def corrected_observations(self) -> Observations:
        """The data, between earthquakes and stations as the latest model has them."""
        table = self.corrections.applied(self.state.latest[self.basis.size :])
        return replace(self.observations, paths=table)

    def judgement(self, predicted: f64, theory: TheoryCheck | None) -> Judgement:
        """What the end is worth. predicted: g of the last model."""
        chi_prior, half_s = self.state.iterations[-1].chi_prior, self.schedule.half_period_s(0.0)
        unknown = {kind.of for kind in self.corrections.kinds}
        periods_s = self.run.config.data.filter_periods_s
        return judge(
            self.observations,
            predicted,
            chi_prior,
            len(self.prior.mean),
            half_s,
            periods_s,
            theory,
            unknown,
            self.run.comm,
        )

    # ---------------------------------------------------------------------------------------------- table and record

    def begin(self) -> None:
        """Records iteration 0, the starting model, and chooses the periods of the first; prints the iterations that are done."""
        state, data = self.state, self.observations
        if not state.iterations:
            with self.run.phases("misfit"):
                g = self.first_g = self.synthetics.seismograms(state.latest)
                state.data_norm = data.plain.weighted_norm(self.run.comm)
                state.iterations.append(self.iteration_record(0.0))
                state.period_s, why = self.schedule.first(g)
            if why:
                self.run.say(why)
            self.save()
        elif self.schedule.is_done_with(state.period_s, state.iterations):  # killed before it could say so
            self.fit_shorter_periods()
        self.count_long_periods()
        self.print_table()

    def print_table(self) -> None:
        """Prints the iterations that are done."""
        self.run.say(TABLE_HEAD)
        for entry in self.state.iterations:
            self.run.say(iteration_line(entry))

    def iteration_record(self, length: float) -> IterationRecord:
        """Misfits of the latest model, of all windows and periods, without what it took. length: of the step to it."""
        state, data = self.state, self.observations
        chi_data = data.plain.chi(self.synthetics.seismograms(state.latest), self.run.comm)
        chi_start = state.iterations[0].chi_data if state.iterations else chi_data
        return IterationRecord(
            iteration=state.linearised_at,
            chi_data=chi_data,
            chi_prior=misfit(state.latest - self.prior.mean, state.prior_weights),
            variance_reduction=1.0 - chi_data / state.data_norm,
            residual_reduction=1.0 - chi_data / chi_start if chi_start else 0.0,
            step_length=length,
        )

    def first_record(self) -> RunRecord:
        """What is known before the first iteration."""
        run, table = self.run, self.observations.paths
        facts = facts_of(
            "tomography", run.config.path, run.config.to_dict(), run.comm.size, run.world.node_count, run.threads
        )
        facts |= {"command": run.command, "started": run.progress.progress.sessions[0].started}
        return RunRecord(
            **facts,
            folder=run.folder.path.name,
            data_kind=str(self.observations.attributes["kind"]),
            events=len(table.event_rows),
            stations=len(table.station_rows),
            paths=len(table),
            samples=len(self.observations.observed),
            independent_samples=self.observations.counted_samples,
            lateral_knots=self.basis.n_lateral,
            radial_knots=self.basis.n_radial,
            modes=len(self.theory.problem.modes),
            sums=EXACT if run.config.inversion.reproducible else AS_THEY_CAME[run.config.inversion.precision],
            earth=self.earth,
            start=self.start,
            synthetics=self.described_synthetics(),
        )

    def described_synthetics(self) -> str:
        """What makes g, and the derivatives where that is something else."""
        of = self.run.config.theory
        made = self.outside.describe() if self.outside else f"modes, {of.kind}"
        return made if self.synthetics is self.panels else f"{made}; derivatives of modes, {of.of_panels}"
