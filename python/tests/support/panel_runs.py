"""What changes of the ground do to seismograms: by two wave runs of every earthquake, and by an inversion's panels."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from craton.regional.assembly import Kernels
from craton.regional.folder import StateFolder
from craton.regional.panels import KnotWeights
from craton.regional.predictions import predicted_by_events
from craton.regional.study import Study
from craton.regional.wave_runs import event_config, wave_task, write_ground
from craton.tasks import run_tasks


def by_runs(study: Study, change: np.ndarray, place: Path) -> np.ndarray:
    """(g(d) - g(-d)) / 2, by wave runs."""
    found = []
    for sign in (1, -1):
        shutil.rmtree(place, ignore_errors=True)
        state = StateFolder(place, 0)
        (place / "events").mkdir(parents=True)
        write_ground(state.ground, study.config, study.planes(sign * change))
        tasks = []
        for event, one in enumerate(study.config.events):
            config = event_config(study.config, event, state.ground, study.steady, state.event(one.name), spectra=False)
            tasks.append(wave_task(one.name, config, state.event(one.name), 1, study.steps, "earthquake"))
        outcome = run_tasks(tasks, cores=2, jobs=2)
        assert not outcome.failures, outcome.failures
        found.append(predicted_by_events(study, state, np.zeros(study.unknowns)).samples)
    shutil.rmtree(place)
    return (found[0] - found[1]) / 2


def by_panels(study: Study, state: StateFolder, changes: np.ndarray) -> np.ndarray:
    """G times each column."""
    kernels, found = (
        Kernels(study, state, np.zeros(study.corrections.size)),
        np.zeros((study.samples, changes.shape[1])),
    )
    sources, last, weights = {}, None, None
    for one in sorted(study.pairings, key=lambda each: (each.station, each.component)):
        if one.event not in sources:
            sources[one.event] = kernels.of_event(one.event)
        if last != (one.station, one.component):
            last, receiver = (one.station, one.component), kernels.of_receiver(one.station, one.component)
        weights = weights or KnotWeights.of(receiver[0], study.knots)
        values, numbers = kernels.panel(one, sources[one.event], receiver, weights)
        found[one.samples] = values @ changes[numbers]
    return found
