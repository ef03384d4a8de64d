"""`craton tomography posterior`: what a finished run knows and what it does not, in a folder of its own."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from craton import linalg
from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.runs.files import check_room, read_hdf5, replaced, write_hdf5
from craton.runs.folder import Folder, reserved
from craton.runs.progress import make_console
from craton.seismology.geometry.latitudes import geocentric_deg, geographic_deg
from craton.tomography.inversion.solve import say
from craton.tomography.inversion.stored_run import LinearisedProblem, read_problem
from craton.tomography.model.parameters import ParameterBlock
from craton.tomography.posterior.analysis import (
    Posterior,
    column_rows,
    correlation_of,
    field_rows,
    knot_rows,
    trade_off,
)
from craton.tomography.prior.gaussian import EARTH_RADIUS_KM, explicit_prior, lateral_matrix, unit_vectors
from craton.tomography.prior.parts import PriorPart
from craton.tomography.prior.words import about_lengths, explained

if TYPE_CHECKING:
    from craton._craton import ModelBasis
    from craton.tomography.config import PriorConfig

f64 = NDArray[np.float64]

MOST_SAMPLES = 10**6


@dataclass(frozen=True)
class Place:
    """A point in the mantle."""

    latitude_deg: float
    """Geographic."""
    longitude_deg: float
    depth_km: float

    @property
    def text(self) -> str:
        return f"{self.latitude_deg:g} N, {self.longitude_deg:g} E, {self.depth_km:g} km"


@dataclass(frozen=True)
class Questions:
    """What is asked of a posterior beyond its variances."""

    places: Sequence[Place] = ()
    """Covariance with each, its row of the resolution, a point spread."""
    samples: int = 0
    seed: int = 1
    trade_off: bool = False
    """Correlations below each place."""
    shuttle: str = ""
    """A model whose part that the data do not see is wanted: FILE, or FILE/DATASET in HDF5."""


@dataclass
class PointFindings:
    """What is known at one place."""

    latitude_deg: float
    longitude_deg: float
    depth_km: float
    mean: float
    """dlnVs"""
    deviation: float
    prior_deviation: float
    spread_latitude_deg: float
    """Of the spike whose image was made: the nearest knot."""
    spread_longitude_deg: float
    spread_depth_km: float
    recovered: float
    """The image there, of a spike of 1."""


@dataclass
class ShuttleFindings:
    """The part of a model that the data do not see."""

    file: str
    rms_difference: float
    """Of the given model from the posterior mean, dlnVs at the knots."""
    rms_unseen: float
    """Of its part that is unseen."""
    chi_data_change: float
    """What adding that part to the mean changes of the data's misfit, by the tangent."""
    chi_data_change_whole: float
    """What the whole difference would."""


@dataclass
class PosteriorSummary:
    """posterior.json. Deviations are of dlnVs at the knots, root mean square."""

    linearised_at_iteration: int
    """Of the run: whose model the Hessian belongs to."""
    chi_data_there: float | None
    """That model's misfit."""
    prior: dict[str, Any]
    parameters: int
    resolved: float
    """trace R"""
    rms_deviation: float
    rms_prior_deviation: float
    log_determinant: float
    chi_prior: float
    chi_data: float | None
    log_evidence: float | None
    samples: int
    seed: int
    points: list[PointFindings] = field(default_factory=list)
    shuttle: ShuttleFindings | None = None


class PosteriorFolder(Folder):
    """The results."""

    PICTURES = ("deviation.png", "samples.png", "shuttle.png")

    @property
    def arrays(self) -> pathlib.Path:
        return self.path / "posterior.h5"

    @property
    def samples(self) -> pathlib.Path:
        return self.path / "samples.h5"

    @property
    def summary(self) -> pathlib.Path:
        return self.path / "posterior.json"

    @property
    def files(self) -> tuple[pathlib.Path, ...]:
        pictures = [self.path / name for name in self.PICTURES]
        of_points = [
            file for name in ("point", "trade-off", "deviation") for file in sorted(self.path.glob(f"{name}-*.png"))
        ]
        return self.arrays, self.samples, self.summary, *pictures, *of_points


def posterior_folder(run: str | os.PathLike[str]) -> PosteriorFolder:
    """Where the posterior of a run is kept unless somebody names another folder: its report finds it there."""
    return PosteriorFolder(pathlib.Path(run) / "posterior")


def read_place(text: str) -> Place:
    """LAT,LON,DEPTH in degrees north and east and kilometres. UserError for what is none."""
    try:
        numbers = [float(item) for item in text.split(",")]
        latitude, longitude, depth = numbers
    except ValueError:
        numbers, latitude, longitude, depth = [], np.nan, np.nan, np.nan
    if not (abs(latitude) <= 90.0 and -180.0 <= longitude <= 360.0 and 0.0 <= depth <= EARTH_RADIUS_KM):
        raise UserError(
            f"--at {text!r}; allowed: LATITUDE,LONGITUDE,DEPTH: -90 to 90 and -180 to 360 degrees, and kilometres, such as "
            "19.4,-155.3,300"
        )
    return Place(latitude, longitude, depth)


def check_depths(places: Sequence[Place], basis: ModelBasis) -> None:
    knots_km = EARTH_RADIUS_KM - np.asarray(basis.radial_knots_m) / 1e3
    for place in places:
        if not knots_km[-1] - 1e-6 <= place.depth_km <= knots_km[0] + 1e-6:
            raise UserError(
                f"--at {place.latitude_deg:g},{place.longitude_deg:g},{place.depth_km:g}: outside the model; allowed: depths "
                f"from {max(knots_km[-1], 0.0):g} to {knots_km[0]:g} km"
            )


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
    problem."""
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
        the whole resolution, for the picture."""
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
        """mean + (1 - R)(given - mean); seen: H (given - m^i). Adding v to the mean changes chi_data by -g . v + v . H v / 2, where
        g = C_m^-1 (mean - m^p) is the data's gradient at the mean. H step = gradient - weights, as in equation 2."""
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


def nearest_spike(basis: ModelBasis, place: Place) -> tuple[f64, Place]:
    """The spline whose knot is nearest to a place, scaled to 1 at the knot, and where that is."""
    latitude, longitude = np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg)
    towards = unit_vectors(*at_place(basis, place)[:2])[0]
    lateral = int(np.argmax(unit_vectors(latitude, longitude) @ towards))
    knots_km = EARTH_RADIUS_KM - np.asarray(basis.radial_knots_m) / 1e3
    radial = int(np.argmin(np.abs(knots_km - place.depth_km)))
    knot = Place(float(geographic_deg(latitude[lateral])), float(longitude[lateral]), float(knots_km[radial]))
    spike = np.zeros(basis.size)
    spike[lateral * basis.n_radial + radial] = 1.0
    return spike / basis.evaluate(spike, *at_place(basis, knot))[0], knot


def at_place(basis: ModelBasis, place: Place) -> tuple[f64, f64, f64]:
    """Geocentric latitude and longitude, degrees, and radius, metres, as arrays of one: what splines are evaluated
    at."""
    radius_m = np.array([1e3 * (EARTH_RADIUS_KM - place.depth_km)])
    radius_m = np.clip(radius_m, basis.radial_knots_m[0], basis.radial_knots_m[-1])  # rounding at the ends
    return geocentric_deg(np.array([place.latitude_deg])), np.array([place.longitude_deg]), radius_m


def at_knots(basis: ModelBasis, model: f64) -> f64:
    from craton.tomography.inversion.solve import field_at_knots

    return field_at_knots(basis, model)


def rms(values: f64) -> float:
    return float(np.sqrt(np.mean(values**2)))
