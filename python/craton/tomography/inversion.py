"""Equation 2 in its symmetric positive-definite form, iterated until the misfit of equation 1 stops falling.

    (H + C_m^-1) dm = G^T C_d^-1 (d - g(m^i)) - C_m^-1 (m^i - m^p),    H = G^T C_d^-1 G,    m^(i+1) = m^i + s dm

The step length s is 1 unless the misfit would rise; then it is halved. Every rank runs the same lines below; what a
rank computes alone (its share of the paths, its blocks of the Hessian) is hidden in the collective calls.
"""

from __future__ import annotations

import datetime
import json
import platform
import shlex
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import craton
from craton import _craton
from craton.errors import UserError
from craton.progress import ProgressBar
from craton.run_folder import aside_of, on_root, replaced, reserved, write_hdf5
from craton.tomography import data as observations_module
from craton.tomography.config import load_config
from craton.tomography.data import Observations, PathTable, predict
from craton.tomography.modes import shared_mode_catalogue
from craton.tomography.prior import EARTH_RADIUS_KM, AnyPrior, Step, make_prior, misfit
from craton.tomography.run_folder import CoverageCorrelation, IterationRecord, RunFolder, RunRecord
from craton.tomography.target import make_target

if TYPE_CHECKING:
    from craton._craton import ForwardProblem, ModelBasis, PathSet
    from craton.tomography.config import Config

f64 = NDArray[np.float64]

HALVINGS = 5
CORRELATION_DEPTHS_KM = tuple(float(depth) for depth in range(100, 2801, 150))
ASSEMBLY_PHASES = ("panel_s", "product_s", "update_s", "poll_s", "commit_s", "wall_s", "paths")


class Phases:
    """Wall-clock seconds by name of what a rank spends them on."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - start


@dataclass
class Inversion:
    """The state of a run on one rank; `run` below puts it through its paces."""

    config: Config
    comm: MPI.Comm
    world: _craton.World
    console: Any
    folder: RunFolder
    ranks_per_node: int = 0
    phases: Phases = field(default_factory=Phases)
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

    @property
    def threads(self) -> int:
        return self.config.assembly.threads

    def say(self, text: str) -> None:
        """Prints on rank 0."""
        if self.comm.rank == 0 and self.console is not None:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    # ------------------------------------------------------------------------------------------------ preparation

    def prepare(self) -> None:
        """Modes, basis, prior, paths and data."""
        self.place = RunFolder(on_root(self.comm, lambda: str(self.folder.place_to_write().path)))
        with self.phases("set-up"):
            earth = _craton.EarthModel.by_name(self.config.earth.model)
            modes = shared_mode_catalogue(earth, self.config, self.comm, self.say)
            self.basis = make_basis(self.config, earth)
            self.forward = _craton.ForwardProblem(modes, self.basis, self.config.data.filter_periods_s)
            self.prior = make_prior(self.basis, self.config.prior, self.world, self.comm, self.console, self.threads)
            self.models, self.prior_weights = [self.prior.mean.copy()], np.zeros(self.basis.size)
            events, stations = observations_module.read_catalogues(self.config, self.comm)
            settings, size = self.config.inversion, self.basis.size
            self.hessian = craton.ConvergentMatrix(
                self.world, size, size, dtype=settings.precision, block=settings.block
            )
            self.gradient = craton.ConvergentVector(self.world, size, settings.block)
        self.say(
            f"{len(modes)} toroidal modes with T > {self.config.modes.shortest_period_s:g} s; "
            f"{self.basis.size} parameters = {self.basis.n_lateral} lateral knots x {self.basis.n_radial} radial"
        )
        with self.phases("data"):
            if self.config.data.kind == "synthetic":
                assert self.config.target is not None
                table = observations_module.build_paths(self.config, events, stations, self.say)
                self.target = make_target(self.basis, self.config.target)
                self.observations = observations_module.synthetic_observations(
                    self.config, table, self.forward, self.target, self.comm, self.threads
                )
            else:
                self.observations = on_root(
                    self.comm, lambda: observations_module.file_observations(self.config, events, stations, self.say)
                )
            self.paths = self.table.path_set(self.forward)
            on_root(self.comm, self.save_data)
        kind = "data from a file" if self.target is None else "synthetic data: target model + noise"
        self.say(
            f"{len(self.table)} paths between {len(self.table.event_rows)} earthquakes and "
            f"{len(self.table.station_rows)} stations, {len(self.observations.observed)} samples ({kind})"
        )

    def save_data(self) -> None:
        """data.h5, the first file of the run."""
        observations_module.save_observations(self.place.data, self.observations, self.config.data.filter_periods_s)

    @property
    def table(self) -> PathTable:
        return self.observations.paths

    # ------------------------------------------------------------------------------------------------- one iteration

    def assemble(self) -> dict[str, float]:
        """H, G^T C_d^-1 (d - g) and the misfit at the latest model."""
        self.hessian.reset()
        self.gradient.reset()
        bar = ProgressBar("assembling", len(self.table), "paths", self.console if self.comm.rank == 0 else None)
        with self.phases("assemble"), bar:
            sums = _craton.assemble(
                self.world, self.forward, self.paths, self.observations.observed, self.observations.sigma,
                self.models[-1], self.hessian, self.gradient, self.threads, self.config.assembly.subset, bar.update,
            )  # fmt: skip
        for name in ASSEMBLY_PHASES:
            self.assembly_s[name] += float(sums.get(name, 0.0))
        return sums

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
                self.threads, self.config.assembly.subset,
            )  # fmt: skip
        return float(sums["chi_data"])

    def gauss_newton_step(self, gradient: f64) -> Step:
        """dm of equation 2. The Hessian is saved by now; unless a wider copy is wanted it is factorised in place."""
        system = self.hessian
        with self.phases("factorise"):
            if self.config.inversion.solve_precision == "float64" and system.dtype == np.float32:
                system = system.copy_as_f64()
            return solve_step(system, self.prior, gradient, self.models[-1], self.config.inversion.damping)

    def line_search(self, step: Step, chi: float) -> tuple[float, f64, f64, float]:
        """Step length, model, its prior_weights and its chi_data; length 0 where no fraction of the step lowers the misfit."""
        tried = []
        for halvings in range(HALVINGS):
            length = 0.5**halvings
            model = self.models[-1] + length * step.model
            weights = self.prior_weights + length * (step.weights - self.prior_weights)
            chi_data = self.chi_data(model)
            tried.append(chi_data + misfit(model - self.prior.mean, weights))
            if tried[-1] < chi:
                return length, model, weights, chi_data
        self.record.stopped_because = (
            f"no fraction of the Gauss-Newton step lowers the misfit: it is {chi:.6g} without, {tried[0]:.6g} with the "
            f"whole step, {tried[-1]:.6g} with {length:g} of it; a smaller [prior] strength, [inversion] damping or "
            "longer periods make smaller steps"
        )
        return 0.0, self.models[-1], self.prior_weights, float("nan")

    # ------------------------------------------------------------------------------------------------------- the loop

    def iterate(self) -> None:
        """Gauss-Newton until the misfit stops falling, or the iterations are used up."""
        settings = self.config.inversion
        most = settings.max_iterations
        self.record.stopped_because = (
            f"all {most} iterations allowed were used up" if most > 1 else "one iteration was allowed"
        )
        for index in range(1, settings.max_iterations + 1):
            before = dict(self.phases.seconds)
            sums = self.assemble()
            gradient = np.asarray(self.gradient.gather())
            self.check_finite(sums, gradient)
            if index == 1:
                self.start_table(float(sums["chi_data"]), float(sums["data_norm"]))
            self.save_hessian(gradient, index - 1)
            step = self.gauss_newton_step(gradient)
            length, model, weights, chi_data = self.line_search(step, self.iterations[-1].chi)
            if length == 0.0:
                break
            self.models.append(model)
            self.prior_weights = weights
            spent = {name: seconds - before.get(name, 0.0) for name, seconds in self.phases.seconds.items()}
            self.iterations.append(self.iteration_record(index, chi_data, length, spent))
            self.print_iteration()
            self.save_progress()
            self.take_place()
            fall = 1.0 - self.iterations[-1].chi / self.iterations[-2].chi
            if fall < settings.tolerance:
                self.record.stopped_because = f"the misfit fell by less than {100 * settings.tolerance:g}%"
                break
        self.take_place()
        self.say(f"stopped: {self.record.stopped_because}")

    def take_place(self) -> None:
        """From now on the results of an earlier run are replaced: there is a whole set of new ones."""
        on_root(self.comm, lambda: self.folder.adopt(self.place))
        self.place = self.folder

    def start_table(self, chi_data: float, data_norm: float) -> None:
        """Iteration 0: the starting model."""
        self.data_norm = data_norm
        self.iterations.append(self.iteration_record(0, chi_data, 0.0, {}))
        self.say(
            "\n iteration      chi_data     chi_prior   variance    residual   step"
            "   assemble   solve   misfit   paths/s\n"
            "                                         reduction   reduction              s       s        s"
        )
        self.print_iteration()
        self.save_progress()

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

    def print_iteration(self) -> None:
        """One line of the table."""
        it = self.iterations[-1]
        line = f"{it.iteration:10d} {it.chi_data:13.6g} {it.chi_prior:13.6g}"
        line += f" {100 * it.variance_reduction:8.2f} % {100 * it.residual_reduction:9.2f} %"
        if it.iteration:
            line += f" {it.step_length:6.3g} {it.assemble_s:10.2f} {it.solve_s:7.2f} {it.misfit_s:8.2f}"
            line += f" {it.paths_per_s:9.0f}"
        self.say(line)

    # ---------------------------------------------------------------------------------------------------------- files

    def save_hessian(self, gradient: f64, linearised_at: int) -> None:
        """Collective: hessian.h5 with all that `craton tomography solve` needs; replaces the last one when complete."""
        with self.phases("save"):
            aside = on_root(self.comm, lambda: str(aside_of(self.place.hessian)))
            self.hessian.save(aside, "hessian", symmetric=True)
            content = {
                "gradient": gradient,
                "model": self.models[-1],
                "prior_mean": self.prior.mean,
                "radial_knots_m": np.asarray(self.basis.radial_knots_m),
                "lateral_level": self.config.basis.lateral_level,
                "precision": self.config.inversion.precision,
                "linearised_at_iteration": linearised_at,
                "config": json.dumps(self.config.to_dict()),
            }

            def complete() -> None:
                with replaced(self.place.hessian) as same:
                    write_hdf5(same, content, mode="a")

            on_root(self.comm, complete)

    def save_progress(self, more: dict[str, Any] | None = None) -> None:
        """Collective: model.h5 and record.json as they stand."""
        with self.phases("save"):
            self.record.iterations = self.iterations
            self.record.phase_s = self.comm.allgather(dict(self.phases.seconds))
            self.record.assembly_s = self.comm.allgather(dict(self.assembly_s))
            content: dict[str, Any] = {
                "models": np.stack(self.models),
                "radial_knots_m": np.asarray(self.basis.radial_knots_m),
                "lateral_level": self.config.basis.lateral_level,
                "parameter_order": "lateral_knot * n_radial + radial_spline",
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
            command=on_root(self.comm, lambda: command_line(config, self.comm.size, self.ranks_per_node)),
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
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
        self.record.finished = True
        self.save_progress({**fits, "coverage": coverage})


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
        inversion.prepare()
        inversion.begin_record()
        inversion.iterate()
        inversion.finish()
        if report:
            from craton.tomography.report import write_report

            on_root(comm, lambda: write_report(folder.path))
            inversion.say(f"report: {folder.report}")
    return inversion.record


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


def make_basis(config: Config, earth: _craton.EarthModel) -> ModelBasis:
    """The model's splines; radial knots are even unless their depths are given."""
    bottom_m, top_m = earth.cmb_radius_m, earth.surface_radius_m
    depths_km = np.asarray(config.basis.radial_depths_km)
    knots_m = np.linspace(bottom_m, top_m, config.basis.radial)
    if len(depths_km):
        knots_m = np.sort(1e3 * (EARTH_RADIUS_KM - depths_km))
        knots_m[0], knots_m[-1] = bottom_m, top_m
        if np.any(np.diff(knots_m) <= 0.0):
            raise UserError(
                f"{config.source}: [basis] radial_depths_km = {list(config.basis.radial_depths_km)}; allowed: all but "
                f"the first and last between the solid surface, {EARTH_RADIUS_KM - top_m / 1e3:g} km, and the core, "
                f"{EARTH_RADIUS_KM - bottom_m / 1e3:g} km"
            )
    return _craton.ModelBasis(config.basis.lateral_level, knots_m)


def solve_step(system: Any, prior: AnyPrior, gradient: f64, model: f64, damping: float = 0.0) -> Step:
    """Collective: dm of equation 2 from the Hessian in `system`, which is overwritten by its Cholesky factor."""
    if damping > 0.0:
        amount = damping * float(np.mean(system.diagonal()))
        lateral, radial = prior.shape
        system.add_kronecker(np.eye(lateral), np.eye(radial), amount)
    return prior.step(system, gradient, model)


def coverage_correlation(basis: ModelBasis, recovered: f64, target: f64 | None, coverage: f64) -> CoverageCorrelation:
    """Correlation of two fields at the well-covered lateral knots, over all depths together and by depth."""
    assert target is not None
    covered = coverage > np.median(coverage)
    places = (np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))

    def field_at_knots(model: f64) -> f64:
        layers = [
            basis.evaluate(model, *places, np.full(len(places[0]), 1e3 * (EARTH_RADIUS_KM - depth)))
            for depth in CORRELATION_DEPTHS_KM
        ]
        return np.stack(layers)

    ours, theirs = field_at_knots(recovered), field_at_knots(target)
    return CoverageCorrelation(
        overall=correlation(ours[:, covered], theirs[:, covered]),
        depth_km=list(CORRELATION_DEPTHS_KM),
        by_depth=[correlation(a[covered], b[covered]) for a, b in zip(ours, theirs, strict=True)],
        knots=int(np.count_nonzero(covered)),
        all_knots=correlation(ours, theirs),
    )


def correlation(a: f64, b: f64) -> float:
    """Pearson's correlation; 0 where one of them is constant."""
    a, b = a.ravel() - a.mean(), b.ravel() - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0.0 else 0.0
