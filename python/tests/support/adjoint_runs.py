"""Gradients of an inversion's misfit by time-reversed wave runs: one of each earthquake, with a force at every station.

The force of a station and component is its windows' weighted residuals, filtered and reversed in time,

    s(t) = 2 df sum over samples k of a_k g(t - (T - t_k)),      g(t) = integral of gain(|f|) exp(2 pi i f t) df

so that its transform is the windows' synthesis turned round (Tarantola 1984; Tromp et al. 2005). The gradient is the same product
of strains as in a panel, with this run in the place of a single force's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from craton.regional.assembly import Kernels
from craton.regional.folder import StateFolder
from craton.regional.measurements import Misfit
from craton.regional.panels import KnotWeights, Pair, panel
from craton.regional.study import Study
from craton.regional.wave_runs import spectra_table, tables_in, wave_task
from craton.seismology.wave_run import config as waves
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import Spectra, read_spectra
from craton.tasks import Task, run_tasks

SAMPLES = 4000
"""Of a force's series."""
PULSE_S = 0.1
"""Of the run's length: standard deviation of a pulse that makes a series' integral, and is taken off again."""


@dataclass(frozen=True)
class Reversed:
    """In the place of a window: all frequencies summed, at the time that the reversed run ends."""

    end_s: float

    def synthesis(self, frequencies_hz: np.ndarray, factor: np.ndarray) -> np.ndarray:
        turned = factor * np.exp(2j * np.pi * frequencies_hz * self.end_s)
        found = np.empty((1, 2 * len(frequencies_hz)))
        found[0, 0::2], found[0, 1::2] = turned.real, -turned.imag
        return found


def impulse(study: Study, t: np.ndarray) -> np.ndarray:
    """g(t) of the study's filter."""
    band = study.config.band
    f = np.linspace(band.f1, band.f4, 400)
    gain = band.gain(f)
    step = f[1] - f[0]
    return 2 * step * (np.cos(2 * np.pi * np.multiply.outer(t, f)) @ gain)


def forces(study: Study, misfit: Misfit, predicted: np.ndarray, event: int, folder: Path) -> list[dict]:
    """Tables [[source]] of an earthquake's reversed run: two for each station and component."""
    end_s = study.config.time.duration_s
    t = np.linspace(0.0, end_s, SAMPLES)
    spacing_hz = study.frequencies_hz[1] - study.frequencies_hz[0]
    series: dict[tuple[int, str], np.ndarray] = {}
    for one in study.pairings:
        if one.event == event:
            weighted = misfit.rows_of(one, predicted).T @ misfit.residual_of(one, predicted)
            late = t[:, None] - (end_s - one.window.times_s[None, :])
            made = 2 * spacing_hz * impulse(study, late) @ weighted
            series[one.station, one.component] = series.get((one.station, one.component), 0) + made
    pulse = np.exp(-0.5 * ((t - 0.5 * end_s) / (PULSE_S * end_s)) ** 2)
    tables = []
    for (station, component), values in series.items():
        lift = np.abs(values).max()
        for part, (rows, sign) in enumerate(((values + lift * pulse, 1), (pulse, -lift))):
            rows = rows.copy()
            rows[[0, -1]] *= 0.5
            file = folder / f"{station}-{component}-{part}.txt"
            np.savetxt(file, np.stack([t, rows], axis=1), fmt="%.10e")
            integral = float(np.sum(0.5 * (rows[1:] + rows[:-1]) * np.diff(t)))  # by which a series is divided
            size = float(np.abs(rows).max()) * (1 if part == 0 else sign) * float(np.sign(integral))
            tables.append(
                {
                    "mode": f"force_{component}",
                    "position_m": [float(at) for at in study.receivers.position_m[station]],
                    "force_N": [FORCE * size],
                    "time_function": "file",
                    "time_file": str(file),
                }
            )
    return tables


FORCE = 1e10
"""N of the series' unit."""


def reversed_task(study: Study, misfit: Misfit, predicted: np.ndarray, state: StateFolder, event: int) -> Task:
    """The reversed wave run of an earthquake in a state's ground."""
    name = study.config.events[event].name
    folder = state.path / "reversed" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    inputs = state.path / "reversed" / f"{name}-forces"
    inputs.mkdir(exist_ok=True)
    every = read_spectra(WavesFolder(state.event(name)).spectra("strain")).attributes.get("every", 0)
    spectra = spectra_table(study.config) | ({"every": int(every)} if every else {})
    made = waves.Config.build(
        tables_in(state.ground, study.config, study.steady)
        | {
            "spectra": spectra,
            "run": {"directory": str(folder)},
            "source": forces(study, misfit, predicted, event, inputs),
        },
        study.config.path,
    )
    return wave_task(f"{state.path.name}: reversed {name}", made, folder, 1, study.steps, "reversed")


def gradient(study: Study, misfit: Misfit, predicted: np.ndarray, state: StateFolder, mask: bool = True) -> np.ndarray:
    """Of the data's misfit, by the ground's unknowns. Runs waves where they are not there."""
    tasks = [reversed_task(study, misfit, predicted, state, event) for event in range(len(study.config.events))]
    outcome = run_tasks(tasks, cores=2, jobs=2)
    assert not outcome.failures, outcome.failures
    kernels = Kernels(study, state, np.zeros(study.corrections.size))
    total, everywhere = np.zeros(study.unknowns_of_ground), np.arange(len(study.knots), dtype=np.int32)
    for event, name in enumerate(one.name for one in study.config.events):
        source, _ = kernels.of_event(event)
        back = strains(WavesFolder(state.path / "reversed" / name))
        back = replace(back, values=back.values / np.float32(FORCE))
        weights = KnotWeights.of(source, study.knots)
        if mask:
            weights = masked(study, weights, event)
        pair = Pair(source, back, np.ones(len(study.frequencies_hz), np.complex128))
        window = Reversed(study.config.time.duration_s)
        row = panel(pair, weights, everywhere, window, study.config.changed, study.config.data.motion == "velocity")
        of = dict(zip(study.config.changed, np.split(row, len(study.config.changed), axis=1), strict=True))
        columns = [sum(ratio * of[name] for name, ratio in scaled.items()) for scaled in study.config.scaling.values()]
        total -= np.hstack(columns)[0]
    return total


def masked(study: Study, weights: KnotWeights, event: int) -> KnotWeights:
    """Without points near the source, and near any station."""
    points = study.lattice.points_m
    near = np.zeros(len(points), bool)
    for end in (study.sources_m[event], *study.receivers.position_m):
        near |= np.sum((points - end) ** 2, axis=1) < study.mask_m**2
    return replace(weights, weight=np.where(np.repeat(near, np.diff(weights.first)), np.float32(0), weights.weight))


def strains(folder: WavesFolder) -> Spectra:
    return read_spectra(folder.spectra("strain"))
