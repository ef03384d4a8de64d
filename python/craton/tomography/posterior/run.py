"""`craton tomography posterior`: what a finished run knows and what it does not, in a folder of its own."""

from __future__ import annotations

import os
import pathlib
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from rich.console import Console

from craton import World, linalg
from craton._craton import ModelBasis
from craton.errors import UserError
from craton.inverse.parts import PriorPart
from craton.inverse.posterior import Posterior, trade_off
from craton.runs.agreement import on_root
from craton.runs.files import check_room, read_hdf5, replaced, write_hdf5, write_json
from craton.runs.folder import reserved
from craton.runs.progress import make_console
from craton.tomography.config.prior import PriorConfig
from craton.tomography.inversion.say import say
from craton.tomography.model.knots import field_at_knots, knot_depths_km, rms
from craton.tomography.model.parameters import blocks_in
from craton.tomography.model.splines import parts_of, splines_at_knots, splines_of
from craton.tomography.posterior.findings import PointFindings, PosteriorFolder, PosteriorSummary, ShuttleFindings
from craton.tomography.posterior.questions import (
    MOST_SAMPLES,
    Place,
    Questions,
    at_place,
    check_depths,
    nearest_spike,
)
from craton.tomography.posterior.rows import column_rows, field_rows, knot_rows
from craton.tomography.prior.make import explicit_prior
from craton.tomography.prior.words import about_lengths, explained
from craton.tomography.stored.run import LinearisedProblem, read_problem

f64 = NDArray[np.float64]


def posterior_of_run(
    hessian_file: str | os.PathLike[str],
    prior_config: PriorConfig,
    output: str | os.PathLike[str],
    questions: Questions | None = None,
    comm: MPI.Comm | None = None,
    console: Console | None = None,
    overwrite: bool = False,
    world: World | None = None,
    pictures: bool = True,
) -> PosteriorSummary:
    """Collective, on any number of ranks: writes posterior.h5, posterior.json and pictures to the output folder.

    Writes samples.h5, too, where samples are asked for. world: of comm; None makes one. pictures: drawing them takes longer than
    a small problem.
    """
    comm = comm or MPI.COMM_WORLD
    questions = questions or Questions()
    if not 0 <= questions.samples <= MOST_SAMPLES:
        raise UserError(f"--samples {questions.samples}; allowed: 0 to {MOST_SAMPLES}")
    if questions.trade_off and not questions.places:
        raise UserError("--trade-off without a place; allowed: --trade-off with --at LAT,LON,DEPTH")
    folder = PosteriorFolder(output)
    console = (console or make_console()) if comm.rank == 0 else None
    problem = read_problem(pathlib.Path(hessian_file), comm, world)
    check_depths(questions.places, problem.basis)
    given = None
    if questions.shuttle:
        given = on_root(comm, lambda: read_model(questions.shuttle, problem.basis.size))
    with reserved(comm, folder, lambda: folder.check(overwrite)):
        say_what_is_believed(console, problem, prior_config)
        asking = Asking(problem, prior_config, questions, folder)
        summary = asking.answers(given)
        on_root(comm, lambda: asking.write(summary, pictures))
        show(console, summary, folder)
    return summary


def say_what_is_believed(console: Console | None, problem: LinearisedProblem, prior: PriorConfig) -> None:
    """The prior in words, and that a run's damping is none of it."""
    say(console, explained(prior))
    say(console, about_lengths(problem.basis))
    say_what_is_compared(console, problem)
    if problem.damping > 0.0:
        damping = f"damping {problem.damping:g} of the run is left out"
        say(console, f"{damping}: it belongs to the steps, not to what is believed")


def say_what_is_compared(console: Console | None, problem: LinearisedProblem) -> None:
    """That a Hessian which a run kept of its first iterations is of something else than the data's waveforms."""
    if problem.compared:
        say(console, f"{problem.source.name} is of {problem.compared}: so are its misfit and what its data resolve")


def read_model(name: str, size: int) -> f64:
    """The last of `models` in an HDF5 file, or the dataset that is named after the file."""
    file, dataset = pathlib.Path(name), "models"
    if not file.is_file() and file.parent.is_file():
        file, dataset = file.parent, file.name
    content = read_hdf5(file)
    if dataset not in content:
        raise UserError(f"--shuttle {name}: {file} has no dataset '{dataset}'; allowed: {', '.join(sorted(content))}")
    values = np.asarray(content[dataset])
    if values.ndim == 2 and len(values):
        values = values[-1]
    if values.shape != (size,) or values.dtype.kind != "f" or not np.isfinite(values).all():
        raise UserError(
            f"--shuttle {name}: {values.dtype} of shape {values.shape}; allowed: {size} finite numbers, the model's coefficients"
        )
    return np.ascontiguousarray(values, dtype=np.float64)


@dataclass
class Asking:
    """One pass over the questions, in the order that the factor, and then the inverse in its place, can answer them."""

    problem: LinearisedProblem
    prior_config: PriorConfig
    questions: Questions
    folder: PosteriorFolder
    arrays: dict[str, Any] = field(default_factory=dict)
    """What posterior.h5 gets."""
    few_samples: f64 = field(default_factory=lambda: np.empty((0, 0)))
    """For the picture, on rank 0."""

    def answers(self, given: f64 | None) -> PosteriorSummary:
        """Collective. given: a model whose part that the data do not see is wanted."""
        problem, basis = self.problem, self.problem.basis
        prior = explicit_prior(
            basis, self.prior_config, problem.hessian, problem.world, problem.comm, problem.prior_mean
        )
        system = problem.taken()
        seen = None  # H (given - m^i), while there is an H
        if given is not None:
            seen = np.asarray(linalg.matvec(system, given - problem.model))
        found = Posterior(system, prior, problem.gradient, problem.model, problem.comm)
        chi = problem.chi_data
        if self.questions.samples:
            self.draw_samples(found)
        points = [self.ask_place(number, place, found) for number, place in enumerate(self.questions.places)]
        shuttle = None if given is None or seen is None else self.shuttle(given, seen, found)
        self.arrays |= {"mean": found.mean, "variance": found.variance()}
        self.arrays["resolution_diagonal"] = found.resolution_diagonal()
        deviations = [self.deviations(number, part, found) for number, part in enumerate(prior.parts)]
        return PosteriorSummary(
            linearised_at_iteration=problem.linearised_at,
            chi_data_there=chi,
            prior=asdict(self.prior_config),
            parameters=basis.size,
            resolved=float(self.arrays["resolution_diagonal"].sum()),
            rms_deviation=rms(deviations[0][0]),
            rms_prior_deviation=rms(deviations[0][1]),
            log_determinant=found.log_determinant,
            chi_prior=found.chi_prior,
            chi_data=None if chi is None else found.chi_data(chi),
            log_evidence=None if chi is None else found.log_evidence(chi),
            samples=self.questions.samples,
            seed=self.questions.seed,
            points=points,
            shuttle=shuttle,
        )

    def deviations(self, number: int, part: PriorPart, found: Posterior) -> tuple[f64, f64]:
        """Standard deviation of one parameter at its knots, (lateral, radial), after the data and before."""
        block, basis = self.problem.parameters[number]
        after = np.sqrt(found.variances(knot_rows(block, basis, len(self.problem.model))))
        after = after.reshape(block.lateral, block.radial)
        before = part.knot_deviation(*splines_at_knots(basis))
        self.arrays |= {f"{block.name}/deviation": after, f"{block.name}/prior_deviation": before}
        return after, before

    def draw_samples(self, found: Posterior) -> None:
        """Writes samples.h5: mean + draws, a model in each column, by all ranks from where the columns lie."""
        problem, count, file = self.problem, self.questions.samples, self.folder.samples
        size = problem.basis.size
        on_root(problem.comm, lambda: check_room(file, 8 * count * size))
        draws = found.samples(count, self.questions.seed)
        draws.local[:] += found.mean[np.asarray(draws.local_rows_global)][:, None]
        draws.commit()

        whole = draws.shape[1] == count
        if problem.comm.rank == 0:
            read = np.ascontiguousarray(draws.read_slice(range(size), range(min(3, count) if whole else count)))
            self.few_samples = np.ascontiguousarray(read[:, :3].T)
        draws.world.barrier()  # while they wait there, owners on other nodes answer rank 0

        def write_few() -> None:
            with replaced(file) as aside:
                write_hdf5(aside, {"samples": read})

        if whole:
            draws.save(str(file), "samples")
        else:  # a few columns, fewer than there are process columns
            on_root(problem.comm, write_few)

    def ask_place(self, number: int, place: Place, found: Posterior) -> PointFindings:
        """Covariance, resolution and point spread of one place, and the trade-offs below it."""
        problem, basis = self.problem, self.problem.basis
        at = at_place(basis, place)
        row = field_rows(problem.parameters[0][0], basis, basis.size, *at).toarray()[0]
        covariance, prior_covariance = found.covariance_times(row), found.prior.covariance_times(row)
        spike, knot = nearest_spike(basis, place)
        image = found.resolution_times(spike)
        name = f"points/{number}"
        self.arrays |= {
            f"{name}/at": np.array([place.latitude_deg, place.longitude_deg, place.depth_km]),
            f"{name}/covariance": covariance,
            f"{name}/prior_covariance": prior_covariance,
            f"{name}/resolution_row": found.resolution_transposed_times(row),
            f"{name}/spike": spike,
            f"{name}/point_spread": image,
        }
        if self.questions.trade_off:
            rows = column_rows(problem.parameters, len(problem.model), float(at[0][0]), place.longitude_deg)
            depths_km = [knot_depths_km(splines) for _, splines in problem.parameters]
            self.arrays[f"{name}/trade_off"] = trade_off(found, rows)
            self.arrays[f"{name}/trade_off_depths_km"] = np.concatenate(depths_km)
        return PointFindings(
            **asdict(place),
            mean=float(row @ found.mean),
            deviation=float(np.sqrt(row @ covariance)),
            prior_deviation=float(np.sqrt(row @ prior_covariance)),
            spread_latitude_deg=knot.latitude_deg,
            spread_longitude_deg=knot.longitude_deg,
            spread_depth_km=knot.depth_km,
            recovered=float(basis.evaluate(image, *at_place(basis, knot))[0]),
        )

    def shuttle(self, given: f64, seen: f64, found: Posterior) -> ShuttleFindings:
        """Mean + (1 - R)(given - mean); seen: H (given - m^i).

        Adding v to the mean changes chi_data by -g . v + v . H v / 2, where g = C_m^-1 (mean - m^p) is the data's gradient at the
        mean. H step = gradient - weights, as in equation 2.
        """
        basis, difference = self.problem.basis, given - found.mean
        unseen = found.null_space(difference)
        of_unseen = found.hessian_times_null_space(difference)
        of_difference = seen - (self.problem.gradient - found.weights)
        self.arrays |= {"shuttle/given": given, "shuttle/unseen": unseen, "shuttle/model": found.mean + unseen}
        return ShuttleFindings(
            file=self.questions.shuttle,
            rms_difference=rms(field_at_knots(basis, difference)),
            rms_unseen=rms(field_at_knots(basis, unseen)),
            chi_data_change=-float(found.weights @ unseen) + 0.5 * float(unseen @ of_unseen),
            chi_data_change_whole=-float(found.weights @ difference) + 0.5 * float(difference @ of_difference),
        )

    def write(self, summary: PosteriorSummary, pictures: bool) -> None:
        """Everything but the samples, on rank 0."""
        basis, folder = self.problem.basis, self.folder
        with replaced(folder.arrays) as aside:
            write_hdf5(aside, {**self.arrays, **knots_of(basis), **splines_of(basis)})
        write_json(folder.summary, asdict(summary))
        self.remove_earlier_results()
        if not pictures:
            return
        from craton.pages.figures import png
        from craton.tomography.posterior.pictures import all_pictures  # only the rank that draws loads matplotlib

        for name, figure in all_pictures(basis, summary, self.arrays, self.few_samples):
            with replaced(folder.path / name) as aside:
                aside.write_bytes(png(figure))

    def remove_earlier_results(self) -> None:
        """Pictures of a posterior that this one replaces, and its samples where none are asked for now."""
        for file in self.folder.results:
            if file.suffix == ".png" or (file == self.folder.samples and not self.questions.samples):
                file.unlink()


def knots_of(basis: ModelBasis) -> dict[str, f64]:
    """Geocentric places of the lateral knots, in degrees: of dlnVs, and of dlnxi where they are others."""
    found: dict[str, f64] = {}
    for block, part in zip(blocks_in(basis), parts_of(basis), strict=True):
        if not block.offset or not basis.same_splines:
            within = f"{block.name}/" if block.offset else ""
            found |= {f"{within}latitude_deg": np.asarray(part.latitude_deg)}
            found |= {f"{within}longitude_deg": np.asarray(part.longitude_deg)}
    return found


def show(console: Console | None, summary: PosteriorSummary, folder: PosteriorFolder) -> None:
    """What was found, with what it means."""
    say(
        console,
        f"{summary.resolved:.1f} of {summary.parameters} parameters are determined by the data (trace of the resolution)\n"
        f"standard deviation of dlnVs at the knots: {100 * summary.rms_deviation:.3f}% after the data, "
        f"{100 * summary.rms_prior_deviation:.3f}% before (root mean square)",
    )
    for point in summary.points:
        say(
            console,
            f"at {point.place.text}: dlnVs = {100 * point.mean:.3f} +- {100 * point.deviation:.3f}% (before the data +- "
            f"{100 * point.prior_deviation:.3f}%); of a spike at the nearest knot "
            f"({point.knot.text}) {100 * point.recovered:.0f}% is found there",
        )
    if summary.shuttle is not None:
        one = summary.shuttle
        say(
            console,
            f"{one.file} differs from the most probable model by {100 * one.rms_difference:.3f}% (root mean square at the "
            f"knots); {100 * one.rms_unseen:.3f}% of it is not seen by the data: adding that part changes chi_data by "
            f"{one.chi_data_change:.4g}, adding all of it by {one.chi_data_change_whole:.4g}",
        )
    say(console, f"written: {folder.path}: " + ", ".join(file.name for file in folder.results))
