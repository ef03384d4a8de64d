"""What an inversion has left in its folder, as arrays."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.described import Described
from craton.errors import UserError
from craton.regional.comparison import resolved_knots
from craton.regional.config import load_config
from craton.regional.folder import RegionalFolder, RegionalRecord
from craton.regional.measurements import Misfit
from craton.regional.observations import Observations, Predicted, parts, read_data
from craton.regional.predictions import predicted_of_state
from craton.regional.study import Pairing, Study
from craton.regional.windows import Window
from craton.runs.files import read_hdf5

__all__ = ["Results", "read_results"]

f64 = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Results(Described):
    """The model of a run, and how its data fit. Arrays (parameter, x, y, z) are of knots."""

    folder: RegionalFolder
    record: RegionalRecord
    study: Study
    change: f64
    """of ln vp, ln vs or ln rho"""
    deviation: f64 | None
    """standard deviations of change, as data and prior together leave them; None where no step was taken"""
    resolution: f64 | None
    """diagonal of the resolution: 0 where the data say nothing, 1 where they say all"""
    coverage: f64 | None
    """how many windows see each knot"""
    corrections: f64
    """of earthquakes and stations, in the order of study.corrections"""
    corrections_deviation: f64 | None
    state: int
    """number of its folder in states/"""
    data: Observations
    first: Predicted
    """by the starting model"""
    last: Predicted
    """and of this one"""

    def _facts(self) -> dict[str, object]:
        return {
            "parameters": ", ".join(self.parameters),
            "knots": " x ".join(map(str, self.record.knots)),
            "largest change": f"{100 * np.abs(self.change).max():.3g} %",
            "2 chi / N": f"{self.fit(self.first):.3g} to {self.fit(self.last):.3g}",
        }

    @property
    def parameters(self) -> tuple[str, ...]:
        """Those of vp, vs and rho that were sought, in the order of arrays."""
        return self.study.config.model.parameters

    def fit(self, by: Predicted) -> float:
        """2 chi / N of the data: 1 where they fit as well as their noise lets them."""
        found = Misfit(self.study, self.data)
        return 2.0 * found.chi(by.samples) / found.size

    @property
    def resolved(self) -> NDArray[np.bool_] | None:
        """Knots at which the data leave less than a third of the standard deviation before; None where no step was taken."""
        return (
            None if self.deviation is None else resolved_knots(self.study, self.deviation).reshape(self.deviation.shape)
        )

    def motion(self, by: Predicted, one: Pairing, window: Window) -> f64:
        """The predicted motion of one station and component, filtered, at the times of any window."""
        return self.study.synthesis(window) @ parts(by.transforms[one.number])

    def field(self, parameter: str, points_m: ArrayLike, values: f64 | None = None) -> f64:
        """A parameter's change at points (n, 3) in m; UserError for one that was not sought.

        values: of knots instead, such as resolution.
        """
        if parameter not in self.parameters:
            raise UserError(f"parameter {parameter}; allowed: {', '.join(self.parameters)}, which the run has sought")
        number = self.parameters.index(parameter)
        return self.study.knots.field((self.change if values is None else values)[number].ravel(), points_m)


def read_results(path: str | os.PathLike[str]) -> Results:
    """The results of the run in a folder. UserError where it has not come to an end, or files are not whole. Not collective."""
    folder = RegionalFolder(path)
    record = folder.read_record()
    if not folder.model.is_file():
        raise UserError(
            f"{folder.model}: no such file; allowed: the folder of a run of `craton regional run` that has ended"
        )
    study = Study(load_config(folder.config).replaced("run", **folder.read_run()))
    content = read_hdf5(folder.model)
    shape = (len(study.config.model.parameters), *study.knots.counts)

    def of_knots(name: str) -> f64 | None:
        found = content.get(name)
        if found is not None and np.shape(found) != shape:
            raise UserError(
                f"{folder.model}: {name} of shape {np.shape(found)}; allowed: {shape}, what craton regional run wrote"
            )
        return None if found is None else np.asarray(found, np.float64)

    change = of_knots("change")
    if change is None:
        raise UserError(f"{folder.model}: no dataset change; allowed: what craton regional run wrote")
    states = [folder.state(number) for number in (0, int(content["state"]))]
    first, last = (predicted_of_state(study, at, at.read_model(study.unknowns)["model"]) for at in states)
    known = [of_knots(name) for name in ("deviation", "resolution", "coverage")]
    data, state = read_data(folder.data, study), int(content["state"])
    corrections = np.asarray(content.get("corrections", np.zeros(0)), np.float64)
    if corrections.shape != (study.corrections.size,):
        raise UserError(f"{folder.model}: {corrections.size} corrections; allowed: {study.corrections.size}")
    errors = content.get("corrections_deviation")
    return Results(
        folder, record, study, change, known[0], known[1], known[2], corrections, errors, state, data, first, last
    )
