"""What a model predicts by reciprocity: from the wave runs of forces at stations alone, whose strains at the earthquakes are kept.

A force F(t) at a station along c makes strains e at an earthquake. Its moments M, of rate s(t), make at the station along c

    V(f) = S(f) M : e(f) / F(f)            (Aki & Richards 2002, equations 3.23 and 2.37)

which is what the earthquake's own run gives. Where there are fewer stations than earthquakes, these are the fewer runs. And both
together tell how right the wave runs are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.regional.folder import StateFolder
from craton.regional.forces import force_spectrum
from craton.regional.observations import Predicted, samples_of
from craton.regional.study import Study
from craton.regional.wave_runs import receiver_force
from craton.runs.hdf5_files import opened_hdf5
from craton.seismology.wave_run.folder import WavesFolder

__all__ = ["predicted_by_stations"]

f64 = NDArray[np.float64]
TWICE = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
"""xx, yy, zz, xy, xz, yz of a product of two symmetric tensors."""


def predicted_by_stations(study: Study, state: StateFolder, model: f64) -> Predicted:
    """g(m) of the stations' runs in a state's folder, with the model's corrections. UserError where one is not there."""
    found = np.zeros((len(study.pairings), len(study.frequencies_hz)), np.complex128)
    values, frequencies = model[study.unknowns_of_ground :], study.frequencies_hz
    times_s = study.dt_s * (np.arange(study.steps) + 0.5)
    turned = study.dt_s * np.exp(-2j * np.pi * np.outer(times_s, frequencies))
    rates = [point.in_steps(0, study.steps, study.dt_s).astype(np.float64) @ turned for point in study.setup.points]
    for component in study.config.data.components:
        _, force = force_spectrum(receiver_force(study.config, component), study.dt_s, study.steps, frequencies)
        for station, name in enumerate(study.receivers.names):
            own = [
                (n, one) for n, one in enumerate(study.pairings) if (one.station, one.component) == (station, component)
            ]
            if not own:
                continue
            strains = _strains(WavesFolder(state.receiver(name, component)), study)
            for number, one in own:
                moment = np.asarray(study.setup.points[one.event].tensor, np.float64)
                motion = rates[one.event] * ((TWICE * moment) @ strains[one.event]) / force
                found[number] = study.corrections.factor(values, one.event, station, frequencies) * motion
    return Predicted(found, samples_of(study, found))


def _strains(waves: WavesFolder, study: Study) -> NDArray[np.complex128]:
    """(earthquake, component, frequency): transforms of what a station's run has kept at the earthquakes."""
    allowed = "what a station's run of craton regional wrote"
    with opened_hdf5(waves.sgt, allowed) as file:
        if "sgt" not in file or file["sgt"].shape[:2] != (len(study.config.events), 6):
            raise UserError(f"{waves.sgt}: not strains at {len(study.config.events)} earthquakes; allowed: {allowed}")
        table = file["sgt"]
        samples = np.asarray(table, np.float64)
        first_s, step_s = float(table.attrs["first_time_s"]), float(table.attrs["dt_s"])
    times_s = first_s + step_s * np.arange(samples.shape[2])
    return np.asarray(samples @ (step_s * np.exp(-2j * np.pi * np.outer(times_s, study.frequencies_hz))), np.complex128)
