"""What a model's wave runs predict: by the earthquakes' own runs, or by reciprocity from those of forces at stations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from craton.regional.folder import StateFolder
from craton.regional.observations import Predicted, predicted
from craton.regional.reciprocity import predicted_by_stations
from craton.regional.study import Study

__all__ = ["predicted_by_events", "predicted_of_state", "reciprocity_error"]

f64 = NDArray[np.float64]


def predicted_of_state(study: Study, state: StateFolder, model: f64) -> Predicted:
    """g(m), as [inversion] predicted_by asks for it. model: for its corrections. UserError for wave runs that are not there."""
    by = predicted_by_events if study.config.inversion.predicted_by == "events" else predicted_by_stations
    return by(study, state, model)


def predicted_by_events(study: Study, state: StateFolder, model: f64) -> Predicted:
    """The same by the earthquakes' own runs."""
    folders = [state.event(one.name) for one in study.config.events]
    return predicted(study, folders, study.corrections, model[study.unknowns_of_ground :])


def reciprocity_error(study: Study, state: StateFolder, model: f64) -> float:
    """Root mean square of the difference of both, as a part of that of the samples: how far wave runs are from their equations."""
    by_events, by_stations = (by(study, state, model) for by in (predicted_by_events, predicted_by_stations))
    return float(np.linalg.norm(by_stations.samples - by_events.samples) / np.linalg.norm(by_events.samples))
