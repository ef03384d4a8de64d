"""The Hessian and the gradient of a model from its wave runs: panel after panel, added by one-sided updates.

    H = G^T C_d^-1 G        G^T C_d^-1 (d - g)

Stations are dealt over the ranks. A rank reads the spectra of some earthquakes at a time, as [run] memory_mb has room for, and
those of its stations' forces one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from craton import SymmetricMatrix
from craton.errors import UserError
from craton.regional.absorbing import complex_volumes
from craton.regional.folder import StateFolder
from craton.regional.forces import force_spectrum
from craton.regional.measurements import Misfit
from craton.regional.observations import Predicted, parts
from craton.regional.panels import KnotWeights, Pair, panel
from craton.regional.study import Pairing, Study
from craton.regional.wave_runs import receiver_force
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import Spectra, read_spectra

__all__ = ["Kernels", "add_panels"]

f64 = NDArray[np.float64]
i32 = NDArray[np.int32]

SECONDS_PER_PRODUCT = 7e-8
"""Of a core, for a point and a frequency of two runs: kernels, and their sum at knots, about."""


@dataclass(frozen=True)
class Kernels:
    """Panels of a model, from the wave runs in its folder."""

    study: Study
    state: StateFolder
    corrections: f64
    """of the model, values of study.corrections"""

    def spectra(self, folder: WavesFolder) -> tuple[Spectra, Spectra | None]:
        """Strains, and velocities where density changes."""
        velocity = read_spectra(folder.spectra("velocity")) if "rho" in self.study.config.changed else None
        return read_spectra(folder.spectra("strain")), velocity

    def of_event(self, event: int) -> tuple[Spectra, Spectra | None]:
        """Spectra of an earthquake's run."""
        found = self.spectra(WavesFolder(self.state.event(self.study.config.events[event].name)))
        for one in found:
            if one is not None and self.volumes is not None:
                one.values[:] *= self.volumes[:, None, :]
        return found

    def of_receiver(self, station: int, component: str) -> tuple[Spectra, Spectra | None]:
        """Spectra of the run of a station's force."""
        return self.spectra(WavesFolder(self.state.receiver(self.study.receivers.names[station], component)))

    @cached_property
    def points_m(self) -> f64:
        """(n, 3), where kernels are summed."""
        return self.study.lattice.points_m

    @cached_property
    def volumes(self) -> NDArray[np.complex64] | None:
        """(point, frequency): of one of two runs, where the ground changes in the absorbing sides too."""
        study = self.study
        return (
            complex_volumes(study.config, study.steady, self.points_m, study.frequencies_hz)
            if study.knots.free
            else None
        )

    @cached_property
    def forces(self) -> dict[str, NDArray[np.complex128]]:
        """Spectra of stations' forces, N s."""
        study = self.study
        return {
            axis: force_spectrum(receiver_force(study.config, axis), study.dt_s, study.steps, study.frequencies_hz)[1]
            for axis in study.config.data.components
        }

    def masked(self, weights: KnotWeights, one: Pairing) -> KnotWeights:
        """Weights without the points near the source and the station of a window."""
        points, ends = self.points_m, (self.study.sources_m[one.event], self.study.receivers.position_m[one.station])
        near = np.zeros(len(points), bool)
        for end in ends:
            near |= np.sum((points - end) ** 2, axis=1) < self.study.mask_m**2
        return replace(weights, weight=np.where(np.repeat(near, np.diff(weights.first)), np.float32(0), weights.weight))

    def panel(
        self,
        one: Pairing,
        source: tuple[Spectra, Spectra | None],
        receiver: tuple[Spectra, Spectra | None],
        weights: KnotWeights,
    ) -> tuple[f64, i32]:
        """(sample, unknown): derivatives of a window by the model, and the numbers of the unknowns that it sees."""
        study, config = self.study, self.study.config
        touched = study.touched_by(one)
        factor = study.corrections.factor(self.corrections, one.event, one.station, study.frequencies_hz)
        pair = Pair(source[0], receiver[0], self.forces[one.component] / factor, source[1], receiver[1])
        found = panel(
            pair, self.masked(weights, one), touched, one.window, config.changed, config.data.motion == "velocity"
        )
        of = dict(zip(config.changed, np.split(found, len(config.changed), axis=1), strict=True))
        columns = [sum(ratio * of[name] for name, ratio in scaled.items()) for scaled in config.scaling.values()]
        numbers = [number * len(study.knots) + touched for number in range(len(columns))]
        return np.hstack(columns), np.concatenate(numbers).astype(np.int32)

    def with_corrections(self, one: Pairing, predicted: Predicted, values: f64, numbers: i32) -> tuple[f64, i32]:
        """The same panel, and columns for the corrections that act on the window."""
        study = self.study
        transform = predicted.transforms[one.number]
        more = study.corrections.derivatives(transform, one.event, one.station, study.frequencies_hz)
        if not more:
            return values, numbers
        synthesis = study.synthesis(one.window)
        columns = np.stack([synthesis @ parts(each) for each in more.values()], axis=1)
        return np.hstack([values, columns]), np.concatenate(
            [numbers, study.unknowns_of_ground + np.array(list(more))]
        ).astype(np.int32)


def add_panels(
    kernels: Kernels,
    misfit: Misfit,
    predicted: Predicted,
    hessian: SymmetricMatrix,
    rank: int,
    ranks: int,
    told: Callable[[int, int], object] = lambda _done, _total: None,
) -> tuple[f64, f64]:
    """Adds the panels of a rank's stations to the Hessian. predicted: at the model.

    Returns the rank's part of G^T C_d^-1 (d - g), and of how many windows see each unknown. Not collective; commit() follows.
    told: called with how many windows are done, of how many. UserError for samples or panels that are not finite.
    """
    study, own = kernels.study, _own(kernels.study, rank, ranks)
    gradient, coverage = np.zeros(study.unknowns), np.zeros(study.unknowns)
    done, total = 0, sum(misfit.uses(one) for _, windows in own for one in windows)
    weights: KnotWeights | None = None
    for events in _groups(study):
        sources: dict[int, tuple[Spectra, Spectra | None]] = {}
        for (station, component), windows in own:
            wanted = [one for one in windows if one.event in events and misfit.uses(one)]
            if not wanted:
                continue
            receiver = kernels.of_receiver(station, component)
            weights = weights or KnotWeights.of(receiver[0], study.knots)
            for one in wanted:
                if one.event not in sources:
                    sources[one.event] = kernels.of_event(one.event)
                values, numbers = kernels.panel(one, sources[one.event], receiver, weights)
                values, numbers = kernels.with_corrections(one, predicted, values, numbers)
                scaled = misfit.rows_of(one, predicted.samples) @ values
                if not np.isfinite(scaled).all():
                    name = study.config.events[one.event].name
                    raise UserError(
                        f"the kernel of [[event]] {name} at station {study.receivers.names[station]}, {component}, is not finite; "
                        "allowed: spectra of finite wave runs, data above 0"
                    )
                hessian.update_gram(scaled, numbers)
                gradient[numbers] += scaled.T @ misfit.residual_of(one, predicted.samples)
                coverage[numbers] += 1.0
                done += 1
                told(done, total)
    return gradient, coverage


def _own(study: Study, rank: int, ranks: int) -> list[tuple[tuple[int, str], list[Pairing]]]:
    """Windows of a rank, by station and component."""
    found: dict[tuple[int, str], list[Pairing]] = {}
    for one in study.pairings:
        found.setdefault((one.station, one.component), []).append(one)
    return list(found.items())[rank::ranks]


def _groups(study: Study) -> Iterator[range]:
    """Earthquakes whose spectra a rank keeps at the same time."""
    values = 6 + 3 * ("rho" in study.config.changed)
    each = 8 * values * len(study.lattice) * len(study.frequencies_hz)
    most = max(1, int(study.config.run.memory_mb * 2**20 / each))
    events = len(study.config.events)
    return (range(first, min(first + most, events)) for first in range(0, events, most))
