"""`craton tomography posterior`: what a finished run knows and what it does not, in a folder of its own."""

from __future__ import annotations

import json
import os
import pathlib
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from craton import linalg
from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.runs.files import check_room, read_hdf5, replaced, write_hdf5
from craton.runs.folder import reserved
from craton.runs.progress import make_console
from craton.tomography.inversion.say import say
from craton.tomography.inversion.stored_run import LinearisedProblem, read_problem
from craton.tomography.model.parameters import ParameterBlock
from craton.tomography.model.splines import lateral_matrix
from craton.tomography.posterior.analysis import (
    Posterior,
    column_rows,
    correlation_of,
    field_rows,
    knot_rows,
    trade_off,
)
from craton.tomography.posterior.findings import PointFindings, PosteriorFolder, PosteriorSummary, ShuttleFindings
from craton.tomography.posterior.questions import MOST_SAMPLES, Place, Questions, at_place, check_depths, nearest_spike
from craton.tomography.prior.make import explicit_prior
from craton.tomography.prior.parts import PriorPart
from craton.tomography.prior.words import about_lengths, explained

if TYPE_CHECKING:
    from craton._craton import ModelBasis
    from craton.tomography.config.prior import PriorConfig


f64 = NDArray[np.float64]


def posterior_of_run(
    hessian_file: str | os.PathLike[str],
    prior_config: PriorConfig,
    output: str | os.PathLike[str],
    questions: Questions | None = None,
    comm: MPI.Comm | None = None,
    console: Any = None,
    overwrite: bool = False,
    world: Any = None,
    pictures: bool = True,
) -> PosteriorSummary:
    """Collective, on any number of ranks: writes posterior.h5, posterior.json and pictures to the output folder, and samples.h5
    where samples are asked for. world: of comm; None makes one. pictures: drawing them takes longer than a small
    problem.
    """
    comm = comm or MPI.COMM_WORLD
    questions = questions or Questions()
    if not 0 <= questions.samples <= MOST_SAMPLES:
        raise UserError(f"--samples {questions.samples}; allowed: 0 to {MOST_SAMPLES}")
    if questions.trade_off and not questions.places:
        raise UserError("--trade-off without a place; allowed: --trade-off with --at LAT,LON,DEPTH")
    folder, source = PosteriorFolder(output), pathlib.Path(hessian_file)
    console = (console or make_console()) if comm.rank == 0 else None
    problem = read_problem(source, comm, world)
    check_depths(questions.places, problem.basis)
    given = None
    if questions.shuttle:
        given = on_root(comm, lambda: read_model(questions.shuttle, problem.basis.size))
    with reserved(comm, folder, lambda: folder.check(overwrite)):
        say(console, explained(prior_config))
        say(console, about_lengths(problem.basis))
        if problem.damping > 0.0:
            say(
                console,
                f"damping {problem.damping:g} of the run is left out: it belongs to the steps, not to what is believed",
            )
        return Asking(problem, prior_config, questions, given, folder, console, pictures).run()


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
    given: f64 | None
    folder: PosteriorFolder
    console: Any
    draws: bool = True
    """Whether pictures are wanted."""
    content: dict[str, Any] = field(default_factory=dict)
    points: list[PointFindings] = field(default_factory=list)
    pictures: dict[str, Any] = field(default_factory=dict)
    """File name: a function that draws it."""

    def run(self) -> PosteriorSummary:
        """Collective."""
        problem, basis = self.problem, self.problem.basis
        prior = explicit_prior(basis, self.prior_config, problem.hessian, problem.world, problem.comm)
        self.block: ParameterBlock = prior.blocks[0]
        system = problem.taken()
        seen = None  # H (given - m^i), while there is an H
        if self.given is not None:
            seen = np.asarray(linalg.matvec(system, self.given - problem.model, symmetric=True))
        self.found = Posterior(system, prior, problem.gradient, problem.model, problem.comm)
        chi_data = None if problem.chi_data is None else self.found.chi_data(problem.chi_data)
        evidence = None if problem.chi_data is None else self.found.log_evidence(problem.chi_data)
        if self.questions.samples:
            self.draw_samples()
        for number, place in enumerate(self.questions.places):
            self.ask_place(number, place)
        shuttle = None if self.given is None or seen is None else self.shuttle(self.given, seen)

        diagonal = self.found.resolution_diagonal()
        deviations = [self.deviations(*parameter, diagonal) for parameter in enumerate(prior.parts)]
        self.content |= {
            "mean": self.found.mean,
            "variance": self.found.variance(),
            "resolution_diagonal": diagonal,
        }
        summary = PosteriorSummary(
            linearised_at_iteration=problem.linearised_at,
            chi_data_there=problem.chi_data,
            prior=asdict(self.prior_config),
            parameters=basis.size,
            resolved=float(diagonal.sum()),
            rms_deviation=rms(deviations[0][0]),
            rms_prior_deviation=rms(deviations[0][1]),
            log_determinant=self.found.log_determinant,
            chi_prior=self.found.chi_prior,
            chi_data=chi_data,
            log_evidence=evidence,
            samples=self.questions.samples,
            seed=self.questions.seed,
            points=self.points,
            shuttle=shuttle,
        )
        on_root(problem.comm, lambda: self.write(summary))
        self.show(summary)
        return summary

    def deviations(self, number: int, part: PriorPart, diagonal: f64) -> tuple[f64, f64]:
        """Standard deviation of one parameter at its knots, (lateral, radial), after the data and before. diagonal: of
        the whole resolution, for the picture.
        """
        block, basis = self.problem.parameters[number]
        after = np.sqrt(self.found.variances(knot_rows(block, basis, len(self.problem.model))))
        after = after.reshape(block.lateral, block.radial)
        lateral = lateral_matrix(basis, np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))
        before = part.knot_deviation(lateral, basis.radial_values(np.asarray(basis.radial_knots_m)))
        self.content |= {f"{block.name}/deviation": after, f"{block.name}/prior_deviation": before}
        from craton.tomography.posterior.pictures import deviation_figure

        name = "deviation.png" if number == 0 else f"deviation-{block.name}.png"
        resolved = diagonal[block.offset : block.offset + after.size].reshape(after.shape)
        self.pictures[name] = lambda: deviation_figure(basis, after, before, resolved, block.name)
        return after, before

    def draw_samples(self) -> None:
        """samples.h5: mean + draws, a model in each column, written by all ranks from where the columns lie."""
        problem, count = self.problem, self.questions.samples
        on_root(problem.comm, lambda: check_room(self.folder.samples, 8 * count * problem.basis.size))
        draws = self.found.samples(count, self.questions.seed)
        draws.local[:] += self.found.mean[np.asarray(draws.local_rows_global)][:, None]
        draws.commit()
        size = problem.basis.size
        if draws.shape[1] == count:
            draws.save(str(self.folder.samples), "samples")
        else:  # a few columns, fewer than there are process columns
            on_root(problem.comm, lambda: write_few(self.folder.samples, draws.read_slice(range(size), range(count))))
        few = np.asarray(draws.read_slice(range(size), range(min(3, count)))) if problem.comm.rank == 0 else None
        problem.comm.Barrier()
        if few is not None:
            from craton.tomography.posterior.pictures import samples_figure

            self.pictures["samples.png"] = lambda: samples_figure(problem.basis, self.found.mean, few.T)

    def ask_place(self, number: int, place: Place) -> None:
        """Covariance, resolution and point spread of one place, and the trade-offs below it."""
        basis, found = self.problem.basis, self.found
        at = at_place(basis, place)
        row = field_rows(self.block, basis, basis.size, *at).toarray()[0]
        covariance = found.covariance_times(row)
        prior_covariance = found.prior.covariance_times(row)
        spike, knot = nearest_spike(basis, place)
        image = found.resolution_times(spike)
        resolution_row = found.resolution_transposed_times(row)
        deviation, before = float(np.sqrt(row @ covariance)), float(np.sqrt(row @ prior_covariance))
        recovered = float(basis.evaluate(image, *at_place(basis, knot))[0])
        self.points.append(
            PointFindings(
                **asdict(place),
                mean=float(row @ found.mean),
                deviation=deviation,
                prior_deviation=before,
                spread_latitude_deg=knot.latitude_deg,
                spread_longitude_deg=knot.longitude_deg,
                spread_depth_km=knot.depth_km,
                recovered=recovered,
            )
        )
        name = f"points/{number}"
        self.content |= {
            f"{name}/at": np.array([place.latitude_deg, place.longitude_deg, place.depth_km]),
            f"{name}/covariance": covariance,
            f"{name}/prior_covariance": prior_covariance,
            f"{name}/resolution_row": resolution_row,
            f"{name}/spike": spike,
            f"{name}/point_spread": image,
        }
        from craton.tomography.posterior.pictures import knot_depths_km, point_figure, trade_off_figure

        self.pictures[f"point-{number}.png"] = lambda: point_figure(
            basis, place, knot, covariance / deviation, prior_covariance / before, image, resolution_row
        )
        if self.questions.trade_off:
            rows = column_rows(self.problem.parameters, len(self.problem.model), float(at[0][0]), place.longitude_deg)
            below = trade_off(found, rows)
            each = [
                (block.name, depth) for block, splines in self.problem.parameters for depth in knot_depths_km(splines)
            ]
            depths_km = np.array([depth for _, depth in each])
            self.content |= {f"{name}/trade_off": below, f"{name}/trade_off_depths_km": depths_km}
            labels = [f"{name}, {depth:.0f} km" for name, depth in each]
            self.pictures[f"trade-off-{number}.png"] = lambda: trade_off_figure(correlation_of(below), labels, place)

    def shuttle(self, given: f64, seen: f64) -> ShuttleFindings:
        """Mean + (1 - R)(given - mean); seen: H (given - m^i). Adding v to the mean changes chi_data by -g . v + v . H v / 2, where
        g = C_m^-1 (mean - m^p) is the data's gradient at the mean. H step = gradient - weights, as in equation 2.
        """
        found, basis = self.found, self.problem.basis
        difference = given - found.mean
        unseen = found.null_space(difference)
        of_unseen = found.hessian_times_null_space(difference)
        of_difference = seen - (self.problem.gradient - found.weights)
        self.content |= {"shuttle/given": given, "shuttle/unseen": unseen, "shuttle/model": found.mean + unseen}
        from craton.tomography.posterior.pictures import shuttle_figure

        self.pictures["shuttle.png"] = lambda: shuttle_figure(basis, given, found.mean, unseen)
        return ShuttleFindings(
            file=self.questions.shuttle,
            rms_difference=rms(at_knots(basis, difference)),
            rms_unseen=rms(at_knots(basis, unseen)),
            chi_data_change=-float(found.weights @ unseen) + 0.5 * float(unseen @ of_unseen),
            chi_data_change_whole=-float(found.weights @ difference) + 0.5 * float(difference @ of_difference),
        )

    # ------------------------------------------------------------------------------------------------------------- output

    def write(self, summary: PosteriorSummary) -> None:
        """Everything but the samples, on rank 0."""
        from craton.pages.figures import png

        basis = self.problem.basis
        with replaced(self.folder.arrays) as aside:
            write_hdf5(
                aside,
                {
                    **self.content,
                    "radial_knots_m": np.asarray(basis.radial_knots_m),
                    "latitude_deg": np.asarray(basis.latitude_deg),
                    "longitude_deg": np.asarray(basis.longitude_deg),
                    "lateral_level": int(self.problem.config["basis"]["lateral_level"]),
                    "parameter_order": "lateral_knot * n_radial + radial_spline",
                },
            )
        with replaced(self.folder.summary) as aside:
            aside.write_text(json.dumps(asdict(summary), indent=1, allow_nan=False) + "\n", encoding="utf-8")
        for name, draw in self.pictures.items() if self.draws else ():
            with replaced(self.folder.path / name) as aside:
                aside.write_bytes(png(draw()))

    def show(self, summary: PosteriorSummary) -> None:
        """What was found, with what it means."""

        def tell(text: str) -> None:
            say(self.console, text)

        tell(
            f"{summary.resolved:.1f} of {summary.parameters} parameters are determined by the data (trace of the resolution)"
        )
        tell(
            f"standard deviation of dlnVs at the knots: {100 * summary.rms_deviation:.3f}% after the data, "
            f"{100 * summary.rms_prior_deviation:.3f}% before (root mean square)"
        )
        for place, point in zip(self.questions.places, summary.points, strict=True):
            tell(
                f"at {place.text}: dlnVs = {100 * point.mean:.3f} +- {100 * point.deviation:.3f}% (before the data +- "
                f"{100 * point.prior_deviation:.3f}%); of a spike at the nearest knot ({point.spread_latitude_deg:.1f} N, "
                f"{point.spread_longitude_deg:.1f} E, {point.spread_depth_km:.0f} km) {100 * point.recovered:.0f}% is found there"
            )
        if summary.shuttle is not None:
            one = summary.shuttle
            tell(
                f"{one.file} differs from the most probable model by {100 * one.rms_difference:.3f}% (root mean square at the "
                f"knots); {100 * one.rms_unseen:.3f}% of it is not seen by the data: adding that part changes chi_data by "
                f"{one.chi_data_change:.4g}, adding all of it by {one.chi_data_change_whole:.4g}"
            )
        tell(f"written: {self.folder.path}: " + ", ".join(file.name for file in self.folder.results))


def write_few(file: pathlib.Path, samples: f64) -> None:
    with replaced(file) as aside:
        write_hdf5(aside, {"samples": np.ascontiguousarray(samples)})


def at_knots(basis: ModelBasis, model: f64) -> f64:
    from craton.tomography.model.knots import field_at_knots

    return field_at_knots(basis, model)


def rms(values: f64) -> float:
    return float(np.sqrt(np.mean(values**2)))
