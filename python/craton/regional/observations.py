"""Observed windows, and what a model's wave runs predict of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.regional.corrections import Corrections
from craton.regional.study import Study
from craton.regional.windows import Window
from craton.runs.files import read_hdf5, replaced, write_hdf5
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import Seismograms, read_seismograms

__all__ = [
    "Observations",
    "Predicted",
    "make_data",
    "parts",
    "predicted",
    "read_data",
    "samples_of",
]

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
    if not np.isfinite(found.observed).all() or not (found.sigma > 0).all():
        raise UserError(
            f"{path}: samples or standard deviations that are no numbers; allowed: what craton regional run wrote"
        )
    return found


@dataclass(frozen=True)
class Predicted:
    """What wave runs say of all windows."""

    transforms: NDArray[np.complex128]
    """(window, frequency), of velocity, with corrections"""
    samples: f64
    """filtered, of all windows, one after the other"""


def predicted(study: Study, folders: Sequence[Path], corrections: Corrections, values: f64) -> Predicted:
    """What the seismograms in a folder for each earthquake predict, with corrections of some values.

    UserError where stations of the configuration are missing in one.
    """
    found = np.zeros((len(study.pairings), len(study.frequencies_hz)), np.complex128)
    for event, folder in enumerate(folders):
        seismograms = read_seismograms(WavesFolder(folder))
        _predicted_of(study, event, seismograms, str(folder), corrections, values, found)
    return Predicted(found, samples_of(study, found))


def _predicted_of(
    study: Study,
    event: int,
    seismograms: Seismograms,
    where: str,
    corrections: Corrections,
    values: f64,
    found: NDArray[np.complex128],
) -> None:
    """Fills transforms, (window, frequency), of an earthquake."""
    rows = {name: at for at, name in enumerate(seismograms.names)}
    turned = seismograms.dt_s * np.exp(-2j * np.pi * np.outer(seismograms.time_s, study.frequencies_hz))
    for number, one in enumerate(study.pairings):
        name = study.receivers.names[one.station]
        if one.event != event:
            continue
        if name not in rows:
            raise UserError(f"{where}: no station {name}; allowed: seismograms of all stations of [receivers]")
        trace = seismograms.velocity[rows[name], "xyz".index(one.component)].astype(np.float64)
        found[number] = corrections.factor(values, event, one.station, study.frequencies_hz) * (trace @ turned)


def samples_of(study: Study, transforms: NDArray[np.complex128]) -> f64:
    """Filtered samples of all windows of transforms of velocity, (window, frequency)."""
    return np.concatenate(
        [study.synthesis(one.window) @ parts(row) for one, row in zip(study.pairings, transforms, strict=True)]
    )


def parts(transform: NDArray[np.complex128]) -> f64:
    """Real and imaginary parts in turn, along the last axis."""
    return np.ascontiguousarray(transform).view(np.float64)


def make_data(study: Study, quiet: f64, *, add_noise: bool) -> Observations:
    """Data of samples: their standard deviations, and with add_noise that of the filter's band.

    Windows of samples that are no numbers are left out: their standard deviation is infinite.
    """
    data, sigma, observed = study.config.data, np.full(study.samples, np.inf), quiet.copy()
    for event in range(len(study.config.events)):
        own = [one for one in study.pairings_of(event) if np.isfinite(quiet[one.samples]).all()]
        if not own:
            continue
        sizes = np.array([np.sqrt(np.mean(quiet[one.samples] ** 2)) for one in own])
        together = float(np.sqrt(np.mean(sizes**2)))
        if not together > 0:
            raise UserError(
                f"the windows of [[event]] {study.config.events[event].name} are all 0; allowed: motion within [data] filter_hz"
            )
        for one, size in zip(own, sizes, strict=True):
            sigma[one.samples] = data.noise * max(size, data.noise_floor * together)
            if add_noise:
                random = np.random.default_rng([data.seed, event, one.station, "xyz".index(one.component)])
                observed[one.samples] += sigma[one.samples] * noise_of(random, study, one.window)
    return Observations(np.nan_to_num(observed), sigma)


def noise_of(random: np.random.Generator, study: Study, window: Window) -> f64:
    """Samples of variance 1 that hold the filter's frequencies and no others, evenly."""
    synthesis = window.synthesis(study.frequencies_hz)
    made = synthesis @ random.standard_normal(synthesis.shape[1])
    return np.asarray(made / np.sqrt(np.sum(synthesis[0] ** 2)), np.float64)
