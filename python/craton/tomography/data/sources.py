"""Where the observed data of a run come from: a file, or synthetic seismograms and noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.tomography.data.catalogue import Events, Stations, read_events, read_stations
from craton.tomography.data.data_file import load_observations
from craton.tomography.data.noise import (
    SIGMA_TEXT,
    add_noise,
    independent_part,
    neighbour_correlation,
    noise_deviation,
    out_of_range,
)
from craton.tomography.data.observations import Observations
from craton.tomography.data.paths import NEAREST_DEG, PathTable, left_out, too_near

if TYPE_CHECKING:
    from craton.runs.node_copies import NodeCopies
    from craton.tomography.config.load import Config

f64 = NDArray[np.float64]


def read_catalogues(config: Config, comm: MPI.Comm) -> tuple[Events, Stations]:
    """Collective: rank 0 reads, every rank gets them."""
    return on_root(
        comm,
        lambda: (
            read_events(config.events.file, config.events.maximum),
            read_stations(config.stations.file, config.stations.maximum),
        ),
    )


def shared_observations(comm: MPI.Comm, nodes: NodeCopies, make: Callable[[], Observations]) -> Observations:
    """Collective: what rank 0 makes or reads, with the samples once in each node's memory. Raises as on_root."""
    samples: f64 | None = None

    def without_samples() -> Observations:
        nonlocal samples
        made = make()
        samples = made.observed
        return replace(made, observed=np.empty(0))

    found = on_root(comm, without_samples)
    return replace(found, observed=nodes.of_root(samples))


def synthetic_observations(config: Config, paths: PathTable, traces: f64) -> Observations:
    """Synthetic data: traces, which are g(target), plus noise; sigma is the standard deviation of the noise that is added.

    UserError where [data] noise makes a sigma that is out of range.
    """
    sigma = noise_deviation(paths, traces, config.data.noise)
    wrong = np.flatnonzero(out_of_range(sigma))
    if len(wrong):
        raise UserError(
            f"{config.path}: [data] noise = {config.data.noise:g} makes sigma = {sigma[wrong[0]]:.3g} m for "
            f"{paths.describe(int(wrong[0]))}; allowed: {SIGMA_TEXT}"
        )
    correlation_s = np.full(len(paths), config.data.correlation_s)
    rho = neighbour_correlation(correlation_s, paths.sample_interval_s) if config.data.correlation_s else None
    band = config.data.filter_periods_s if config.data.noise_in_band else None
    observed = add_noise(paths, traces, sigma, config.run.seed, rho, band)
    theory = "" if config.target is None else config.target.theory
    by = "the same theory" if theory in ("", config.theory.kind) else f"another theory than the inversion's, {theory}"
    attributes = {
        "kind": "synthetic",
        "origin": f"seismograms of the target model by {by}, plus Gaussian noise{' of the band' if band else ''}",
        "noise_fraction": config.data.noise,
        "seed": config.run.seed,
    }
    return in_band(config, Observations(paths, observed, sigma, attributes, correlation_s))


def in_band(config: Config, data: Observations) -> Observations:
    """The same, with sigma and counts of noise in the filter's band where the configuration says so (noise.independent_part)."""
    if not config.data.noise_in_band or "independent_part" in data.attributes:
        return data
    part = independent_part(config.data.filter_periods_s, data.paths.sample_interval_s)
    attributes = {**data.attributes, "independent_part": part}
    return replace(data, sigma=data.sigma / np.sqrt(part), attributes=attributes, correlation_s=None)


def without_other_windows(
    data: Observations, components: str, file_name: str, note: Callable[[str], None]
) -> Observations:
    """The windows of the components that are asked for; `note` is told of the others. UserError where none is left."""
    table = data.paths
    keep = np.array([letter in components for letter in table.component])
    if keep.all():
        return data
    first = int(np.argmin(keep))
    what = f"{np.sum(~keep)} windows, the first on {table.component[first]}"
    if not keep.any():
        raise UserError(f"{file_name}: {what}; allowed: some on {components}, as [data] components says")
    note(f"left out: {what}; [data] components = {components}")
    return data.where(keep)


def file_observations(
    config: Config, events: Events, stations: Stations, note: Callable[[str], None] = lambda _: None
) -> Observations:
    """Observed data of a run whose configuration says kind = "file". UserError for settings that contradict the file.

    note: is told of windows that are left out.
    """
    note(
        f"{config.data.file} brings its own paths, windows and sigma: [paths], and noise, speeds and pad of [data], are not used"
    )
    found = without_other_windows(
        load_observations(config.data.file, events, stations), config.data.components, config.data.file, note
    )
    for name, wanted in (
        ("sample_interval_s", config.data.sample_interval_s),
        ("filter_periods_s", list(config.data.filter_periods_s)),
    ):
        stored = found.attributes.get(name, wanted)
        if not np.allclose(stored, wanted, rtol=1e-6):
            raise UserError(f"{config.path}: [data] {name} = {wanted}; allowed: {stored}, as in {config.data.file}")
    origin = found.attributes.get("origin", "unknown")
    attributes = {"kind": "file", **found.attributes, "file": config.data.file, "origin": str(origin)}
    correlation_s = found.correlation_s
    of_band = config.data.noise_in_band or "independent_part" in attributes
    for what, lengths in (
        ("its noise is correlated", correlation_s),
        ("[data] correlation_s", config.data.correlation_s),
    ):
        if of_band and lengths is not None and np.any(lengths):
            raise UserError(
                f"{config.data.file}: {what}, over {np.max(lengths):g} s, and it is noise of the filter's band (noise_in_band); "
                "allowed: one of the two"
            )
    if "independent_part" in attributes and not config.data.noise_in_band:
        note(f"{config.data.file}: its noise is of the filter's band, and is counted so")
    if correlation_s is None:
        correlation_s = np.full(len(found.paths), config.data.correlation_s)
    found = Observations(found.paths, found.observed, found.sigma, attributes, correlation_s)
    return without_near_paths(in_band(config, found), note)


def without_near_paths(data: Observations, note: Callable[[str], None]) -> Observations:
    """The paths that the theory can handle; `note` is told of the others. UserError where none is left."""
    table = data.paths
    near = too_near(table.distance_deg())
    if not near.any():
        return data
    note(left_out(table.describe(int(np.argmax(near))), int(near.sum())))
    if near.all():
        raise UserError(
            f"{data.attributes['file']}: no path is left; allowed: stations more than {NEAREST_DEG:g} degrees from the event"
        )
    return data.where(~near)
