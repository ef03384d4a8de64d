"""What an inversion works with: modes, basis, prior and data, made or read again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.inverse.prior import Prior
from craton.runs.agreement import on_root
from craton.tomography.data.corrections import Corrections, about_unknowns, true_corrections
from craton.tomography.data.paths import build_paths
from craton.tomography.data.sources import (
    file_observations,
    read_catalogues,
    shared_observations,
    synthetic_observations,
)
from craton.tomography.inversion.forward import ModeTheory, forward_problems, predict
from craton.tomography.inversion.persistence import RunFiles, State
from craton.tomography.model.earth_table import reference_earth
from craton.tomography.model.splines import described, make_basis
from craton.tomography.model.target import finer_basis, make_target, projected
from craton.tomography.prior.draw import drawn_model
from craton.tomography.prior.make import make_prior, with_corrections
from craton.tomography.prior.words import about_lengths, explained
from craton.tomography.theory.crust import Crusts, crust_effects, earth_name, on_crust, shared_crusts
from craton.tomography.theory.figure import shared_figure
from craton.tomography.theory.modes import shared_mode_catalogue, shared_spheroidal_catalogue

if TYPE_CHECKING:
    from craton._craton import EarthModel, ForwardProblem, ModelBasis, SpheroidalCatalogue
    from craton.inverse.prior import AnyPrior
    from craton.tomography.data.observations import Observations
    from craton.tomography.folder import StartRecord
    from craton.tomography.inversion.context import RunContext

f64 = NDArray[np.float64]


@dataclass
class Prepared:
    """The same on every rank."""

    basis: ModelBasis
    prior: AnyPrior
    observations: Observations
    theory: ModeTheory
    """Synthetics."""
    panels: ModeTheory
    """The same, or another theory's."""
    target: f64 | None
    """Of synthetic data."""
    state: State
    spheroidal: SpheroidalCatalogue | None
    """Modes of vertical and radial motion, where they are asked for."""
    start: StartRecord | None
    """Of a starting model from a file."""
    earth: str
    """The reference Earth's name."""
    corrections: Corrections
    """Unknowns of earthquakes and stations."""


def prepare(run: RunContext, files: RunFiles) -> Prepared:
    """Collective: makes what the configuration names; data and models of a run that is resumed come from its folder."""
    config = run.config
    with run.phases("modes"):
        earth = reference_earth(config.earth)
        crusts = shared_crusts(earth, config, run.comm)
        files.check_earth(earth_name(earth, crusts))
        modes = shared_mode_catalogue(earth, config, run.comm, run.say)
    with run.phases("kernels"):
        basis = make_basis(config, earth)
        spheroidal = shared_spheroidal_catalogue(earth, config, run.comm, run.say)
        if crusts is not None:
            run.say(crusts.text)
        figure = shared_figure(earth, config, modes, spheroidal, run.comm, run.say)
        figure |= crust_effects(crusts, config, modes, spheroidal, run.comm, run.say)
        problem, derivatives = forward_problems(config, basis, modes, spheroidal, figure)
    with run.phases("set-up"):
        state = files.state(basis)
        first, start = first_model(run, files, basis, earth)
    with run.phases("prior"):
        mean = first if config.start.prior_mean else np.zeros(basis.size)
        prior = make_prior(
            basis,
            config.prior,
            run.world,
            run.comm,
            run.console,
            run.threads,
            mean,
            in_one_order=config.inversion.reproducible,
        )
        weights = prior_weights_of(prior, first)
    tell_of_model(run, len(modes), None if spheroidal is None else len(spheroidal), basis)
    if start is not None:
        run.say(start.text)
    with run.phases("data"):
        run.enter("data", 1 if state is None else len(state.models))
        source, target, there = None, files.target(), files.data()
        if config.data.kind == "synthetic" and (there is None or target is None):
            source, true_model = true_earth(run, basis)
            target = true_model if source is basis else projected(source, true_model, basis)
        if there is not None:
            observations = there
        elif source is None:
            observations = observations_of_file(run)
        else:
            observations = synthetic_data(run, problem, source, true_model, crusts)
    with run.phases("paths"):
        observations = replace(observations, paths=on_crust(observations.paths, crusts))
        corrections = Corrections(observations.paths, config.corrections)
        prior = with_corrections(prior, corrections.precision)
        none = np.zeros(corrections.size)
        state = state or State([np.concatenate([first, none])], np.concatenate([weights, none]), corrections=len(none))
        theory = panels = ModeTheory(
            problem, observations, run.world, run.comm, config.assembly, corrections, run.nodes
        )
        if derivatives is not problem:
            panels = ModeTheory(derivatives, observations, run.world, run.comm, config.assembly, corrections, run.nodes)
    if there is None:
        with run.phases("save"):
            files.save_data(observations)
    tell_of_data(run, observations, target)
    if corrections.size:
        run.say(about_unknowns(corrections))
    return Prepared(
        basis,
        prior,
        observations,
        theory,
        panels,
        target,
        state,
        spheroidal,
        start,
        earth_name(earth, crusts),
        corrections,
    )


def first_model(
    run: RunContext, files: RunFiles, basis: ModelBasis, earth: EarthModel
) -> tuple[f64, StartRecord | None]:
    """Collective: the starting model, and where it comes from if it is of a file, which the first session reads and keeps."""
    settings = run.config.start
    if not settings.file:
        return np.zeros(basis.size), None
    there = files.start()
    if there is not None:
        return there
    from craton.tomography.model.starting import read_start

    found, record = on_root(run.comm, lambda: read_start(Path(settings.file), basis, earth))
    record = replace(record, prior_mean=settings.prior_mean)
    files.save_start(found, record)
    return found, record


def prior_weights_of(prior: AnyPrior, model: f64) -> f64:
    """C_m^-1 (m - m^p) of a starting model. Collective."""
    deviation = model - prior.mean
    if not deviation.any():
        return np.zeros(len(model))
    assert isinstance(prior, Prior)  # the configuration is checked for that
    return prior.precision_times(deviation)


def true_earth(run: RunContext, basis: ModelBasis) -> tuple[ModelBasis, f64]:
    """Collective: the model that synthetic data are made from, and its splines: the run's, or finer ones."""
    config = run.config
    assert config.target is not None
    source = finer_basis(basis) if config.target.finer else basis
    model = make_target(source, config.target)
    if config.target.random_rms:
        rms, seed = config.target.random_rms, config.run.seed
        drawn = on_root(run.comm, lambda: drawn_model(source, config.prior, rms, seed))
        model[: len(drawn)] += drawn
    return source, model


def observations_of_file(run: RunContext) -> Observations:
    """Collective: the data that [data] file names."""
    events, stations = read_catalogues(run.config, run.comm)
    return shared_observations(run.comm, run.nodes, lambda: file_observations(run.config, events, stations, run.say))


def synthetic_data(
    run: RunContext, problem: ForwardProblem, source: ModelBasis, model: f64, crusts: Crusts | None
) -> Observations:
    """Collective: seismograms of a model, and noise. source: the model's splines. problem: the inversion's theory."""
    config = run.config
    assert config.target is not None
    table = on_crust(build_paths(config, *read_catalogues(config, run.comm), run.say), crusts)
    theory = config.target.theory or config.theory.kind
    if config.target.finer or theory != config.theory.kind:
        problem = problem.of_theory(theory, source)
    errors = Corrections(table, config.target.errors)
    wrong = errors.applied(true_corrections(errors, config.run.seed))
    traces = predict(problem, wrong.path_set(problem, run.world), model, run.nodes, run.threads)
    return shared_observations(run.comm, run.nodes, lambda: synthetic_observations(config, table, traces))


def tell_of_model(run: RunContext, toroidal: int, spheroidal: int | None, basis: ModelBasis) -> None:
    """Prints numbers of modes and parameters, and what the prior says."""
    run.say(
        f"{toroidal} toroidal modes with T > {run.config.modes.shortest_period_s:g} s; "
        + ("" if spheroidal is None else f"{spheroidal} spheroidal; ")
        + f"{basis.size} parameters = {described(basis)}"
    )
    run.say(explained(run.config.prior))
    run.say(about_lengths(basis))


def tell_of_data(run: RunContext, observations: Observations, target: f64 | None) -> None:
    """Prints numbers of paths and samples."""
    table = observations.paths
    kind = "data from a file" if target is None else "synthetic data: target model + noise"
    run.say(
        f"{len(table)} paths between {len(table.event_rows)} earthquakes and "
        f"{len(table.station_rows)} stations, {len(observations.observed)} samples ({kind})"
    )
