"""Observed windows, and what a model's wave runs predict of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.regional.study import Study
from craton.regional.windows import Window
from craton.runs.files import read_hdf5, replaced, write_hdf5
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import Seismograms, read_seismograms

__all__ = ["Observations", "make_data", "predicted", "read_data", "transforms"]

f64 = NDArray[np.float64]


@dataclass(frozen=True)
class Observations:
    """Samples of all windows, one after the other: m/s, or m of displacement."""

    observed: f64
    sigma: f64
    """Standard deviation of each."""

    def write(self, path: Path) -> None:
        """UserError where it cannot be written."""
        with replaced(path) as aside:
            write_hdf5(aside, {"observed": self.observed, "sigma": self.sigma})


NO_DATA = Observations(np.zeros(0), np.zeros(0))


def read_data(path: Path, study: Study) -> Observations:
    """The data of a run. UserError where they are not there, not whole, or of other windows."""
    content = read_hdf5(path)
    try:
        found = Observations(np.asarray(content["observed"], np.float64), np.asarray(content["sigma"], np.float64))
    except (KeyError, TypeError, ValueError) as problem:
        raise UserError(f"{path}: no data of a run ({problem}); allowed: what craton regional run wrote") from None
    if found.observed.shape != (study.samples,) or found.sigma.shape != (study.samples,):
        raise UserError(
            f"{path}: {found.observed.shape} samples; allowed: {study.samples}, those of the configuration's windows"
        )
    return found


def predicted(study: Study, event: int, folder: Path) -> f64:
    """Filtered samples of an earthquake's windows, one after the other, of the seismograms in a folder.

    UserError where stations of the configuration are missing in it.
    """
    return windows_of(study, event, read_seismograms(WavesFolder(folder)), str(folder))


def windows_of(study: Study, event: int, seismograms: Seismograms, where: str) -> f64:
    """The same of seismograms that were read."""
    rows = {name: at for at, name in enumerate(seismograms.names)}
    found = []
    for one in study.pairings_of(event):
        name = study.receivers.names[one.station]
        if name not in rows:
            raise UserError(f"{where}: no station {name}; allowed: seismograms of all stations of [receivers]")
        samples = seismograms.velocity[rows[name], "xyz".index(one.component)]
        found.append(study.synthesis(one.window) @ transforms(study, seismograms, samples))
    return np.concatenate(found) if found else np.zeros(0)


def transforms(study: Study, seismograms: Seismograms, samples: NDArray[np.float32]) -> f64:
    """The Fourier transform of a trace at the study's frequencies: real and imaginary parts in turn."""
    turned = seismograms.dt_s * np.exp(-2j * np.pi * np.outer(seismograms.time_s, study.frequencies_hz))
    return np.ascontiguousarray(samples.astype(np.float64) @ turned).view(np.float64)


def make_data(study: Study, quiet: f64, *, add_noise: bool) -> Observations:
    """Data of samples: their standard deviations, and with add_noise that of the filter's band."""
    data, sigma, observed = study.config.data, np.empty(study.samples), quiet.copy()
    for event in range(len(study.config.events)):
        own = study.pairings_of(event)
        if not own:
            continue
        sizes = np.array([np.sqrt(np.mean(quiet[one.samples] ** 2)) for one in own])
        together = float(np.sqrt(np.mean(quiet[own[0].first : own[-1].samples.stop] ** 2)))
        if not together > 0:
            raise UserError(
                f"the windows of [[event]] {study.config.events[event].name} are all 0; allowed: motion within [data] filter_hz"
            )
        for one, size in zip(own, sizes, strict=True):
            sigma[one.samples] = data.noise * max(size, data.noise_floor * together)
            if add_noise:
                random = np.random.default_rng([data.seed, event, one.station, "xyz".index(one.component)])
                observed[one.samples] += sigma[one.samples] * noise_of(random, study, one.window)
    return Observations(observed, sigma)


def noise_of(random: np.random.Generator, study: Study, window: Window) -> f64:
    """Samples of variance 1 that hold the filter's frequencies and no others, evenly."""
    synthesis = window.synthesis(study.frequencies_hz)
    made = synthesis @ random.standard_normal(synthesis.shape[1])
    return np.asarray(made / np.sqrt(np.sum(synthesis[0] ** 2)), np.float64)
