"""From a configuration to what is to be done: grid, ground, knots, earthquakes, stations, windows. Every process makes its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.regional.config import AXES, Config, source_of
from craton.regional.corrections import Corrections, drawn
from craton.regional.knots import Knots
from craton.regional.wave_runs import Steady, receiver_force, spectra_table
from craton.regional.windows import Window
from craton.seismology.ground.media import Material, Range
from craton.seismology.wave_run import config as waves
from craton.seismology.wave_run.config import STABILITY
from craton.seismology.wave_run.setup import Setup, medium_of, unrelaxed_factor
from craton.seismology.wave_run.spectra import QUIET, Lattice, SpectraPlan, frequencies_of, lattice_of, spectra_of
from craton.settings import folder_name, shown

if TYPE_CHECKING:
    from craton.seismology.wave_run.receivers import Receivers

__all__ = ["Pairing", "Study"]

f64 = NDArray[np.float64]
LEAST_RATIO_SQUARED = 4 / 3
"""Of vp over vs: of a ground without resistance to pressure."""
SLOWER, CELLS_MASKED = 0.8, 3
"""Of the slowest S waves: surface waves that end a window. Cells about source and station, whose kernels are not right."""


@dataclass(frozen=True)
class Pairing:
    """A window of one component of a station, of one earthquake."""

    number: int
    event: int
    station: int
    component: str
    window: Window
    first: int
    """Of its samples, among those of all windows."""

    @property
    def samples(self) -> slice:
        """Where its samples are among those of all windows."""
        return slice(self.first, self.first + len(self.window.times_s))


class Study:
    """All that follows from a configuration, without files of a run. UserError for what cannot be computed."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.setup = Setup(config.ground)
        receivers = self.setup.receivers
        assert receivers is not None
        self.receivers: Receivers = receivers
        self.sources_m: f64 = np.array([one.position_m for one in self.setup.points], float).reshape(-1, 3)
        self._check_names()
        self._check_inside()

    def _check_names(self) -> None:
        """UserError for a station whose name no folder can have."""
        for name in self.receivers.names:
            try:
                folder_name(name)
            except ValueError as problem:
                raise self.config.wrong(f"[receivers] station {shown(name)}; allowed: {problem}") from None

    def _check_inside(self) -> None:
        """UserError for a source or a station in the absorbing sides."""
        low, high = (np.asarray(corner) for corner in self.config.box_m)
        places = [(f"[[event]] {one.name}", at) for one, at in zip(self.config.events, self.sources_m, strict=True)]
        places += [
            (f"station {name}", at) for name, at in zip(self.receivers.names, self.receivers.position_m, strict=True)
        ]
        for what, at in places:
            if np.any(at < low - 1e-6) or np.any(at > high + 1e-6):
                ranges = ", ".join(f"{axis} in [{a:g}, {b:g}]" for axis, a, b in zip(AXES, low, high, strict=True))
                where = ", ".join(f"{one:g}" for one in at)
                raise self.config.wrong(f"{what} at ({where}) m; allowed: {ranges} m, the box of knots")

    @cached_property
    def _waves(self) -> waves.Config:
        """A wave run with spectra."""
        tables = self.config.wave_tables() | {
            "spectra": spectra_table(self.config),
            "source": [source_of(self.config.events[0])],
        }
        return waves.Config.build(tables, self.config.path)

    @cached_property
    def lattice(self) -> Lattice:
        """Where spectra are kept, and kernels summed."""
        return lattice_of(self._waves)

    @cached_property
    def knots(self) -> Knots:
        """What the model is made of."""
        try:
            if self.config.model.sides == "free":
                x, y, z = (np.array(ends, np.float64) for ends in zip(*self.config.box_m, strict=True))
                return Knots.over((x, y, z), self.config.model.spacing_m, free=True)
            return Knots.over(self.lattice.axes_m, self.config.model.spacing_m)
        except UserError as problem:
            raise self.config.wrong(f"[model] spacing_m: {problem}") from None

    @property
    def unknowns_of_ground(self) -> int:
        """Knots of each parameter."""
        return len(self.knots) * len(self.config.model.parameters)

    @property
    def unknowns(self) -> int:
        """Of the model: of the ground, then corrections."""
        return self.unknowns_of_ground + self.corrections.size

    @property
    def corrections(self) -> Corrections:
        """Unknowns of earthquakes and stations."""
        return Corrections(self.config.corrections, len(self.config.events), len(self.receivers))

    @property
    def errors(self) -> f64:
        """Of the catalogue that data made for a target have, as values of `catalogue`."""
        return drawn(self.catalogue, self.config.data.seed)

    @property
    def catalogue(self) -> Corrections:
        """How such errors act."""
        return Corrections(self.config.errors, len(self.config.events), len(self.receivers))

    @property
    def dt_s(self) -> float:
        """The step of all wave runs: a tenth less than the ground's largest, so that faster models fit."""
        return self.config.time.dt_s or 0.9 * self.setup.step_s()

    @cached_property
    def steady(self) -> Steady:
        """What wave runs in all grounds have alike."""
        return Steady(self.dt_s, self.setup.sides_of_ground)

    @property
    def steps(self) -> int:
        """Of each wave run."""
        return self.setup.steps(self.dt_s)

    def planes(self, model: f64 | None) -> Iterator[dict[str, f64]]:
        """vp, vs, rho (m/s, kg/m^3), and qp and qs where they are, at the middles of all cells: (x, y), plane after plane.

        model: whose ground; None: that for which data are made.
        """
        (nx, ny, nz), h = self.config.grid.cells, self.config.grid.spacing_m
        x, y = np.meshgrid((np.arange(nx) + 0.5) * h, (np.arange(ny) + 0.5) * h, indexing="ij")
        for plane in range(nz):
            points = np.stack([x.ravel(), y.ravel(), np.full(nx * ny, (plane + 0.5) * h)], axis=1)
            found = self.ground_at(points, target=model is None)
            if model is not None:
                changes = self.changes(model, points)
                found = {name: field * np.exp(changes.get(name, 0.0)) for name, field in found.items()}
            yield {name: field.reshape(nx, ny) for name, field in found.items()}

    def ground_at(self, points_m: f64, *, target: bool) -> dict[str, f64]:
        """vp, vs, rho, and qp and qs where they are, at points (n, 3).

        Of the starting model, or of the ground for which data are made.
        """
        config, x, y, z = self.config, *points_m.T
        if not target:
            return speeds(self.setup.medium.at(self.setup.grid, x, y, z))
        medium = self.setup.medium
        if config.target is not None:
            tables = config.wave_tables() | {"media": config.to_dict()["target"]}
            medium = medium_of(waves.Config.build(tables, config.path), self.setup.grid)
        changes = self.target_change(points_m)
        found = speeds(medium.at(self.setup.grid, x, y, z))
        return {name: field * np.exp(changes.get(name, 0.0)) for name, field in found.items()}

    def target_change(self, points_m: f64) -> dict[str, f64]:
        """Ln of what [[perturbation]]s multiply vp, vs and rho with at points (n, 3)."""
        found = {name: np.zeros(len(points_m)) for name in ("vp", "vs", "rho")}
        for one in self.config.perturbations:
            distance = (points_m - np.asarray(one.centre_m)) / np.asarray(one.radius_m)
            shape = np.exp(-np.sum(distance**2, axis=1))
            given = {"vp": one.dlnvp, "vs": one.dlnvs, "rho": one.dlnrho}
            if not one.dlnvp and not one.dlnrho:
                given |= {
                    name: ratio * one.dlnvs
                    for name, ratio in (("vp", self.config.model.vp_per_vs), ("rho", self.config.model.rho_per_vs))
                }
            for name, size in given.items():
                found[name] += np.log1p(size * shape)
        return found

    def changes(self, model: f64, points_m: f64) -> dict[str, f64]:
        """Changes of ln vp, ln vs and ln rho at points (n, 3) that a model makes."""
        values, found = self.knots.values(points_m), {name: np.zeros(len(points_m)) for name in ("vp", "vs", "rho")}
        for part, scaled in zip(self.parts(model), self.config.scaling.values(), strict=True):
            field = np.asarray(values @ part)
            for name, ratio in scaled.items():
                found[name] += ratio * field
        return found

    def parts(self, model: f64) -> list[f64]:
        """A model's coefficients of the ground, parameter after parameter."""
        return list(model[: self.unknowns_of_ground].reshape(len(self.config.model.parameters), len(self.knots)))

    def spectra_plan(self) -> SpectraPlan:
        """What a wave run sums, and what it takes. UserError for samples that do not carry the band."""
        known = [one.time_function for one in self.setup.points]
        known.append(receiver_force(self.config, self.config.data.components[0]).time_function)
        found = spectra_of(self._waves, max(one.frequency_above_hz(QUIET) for one in known), self.dt_s, self.steps)
        assert found is not None
        return found

    def wrong_ground(self, model: f64 | None) -> str:
        """Why waves cannot run in the ground of a model, or (None) in that for which data are made; "" where they can."""
        h, fastest, slowest, q = self.config.grid.spacing_m, 0.0, np.inf, [np.inf, np.inf]
        ratio = np.inf
        for plane in self.planes(model):
            solid = plane["vs"] > 0
            if not all(np.isfinite(field).all() for field in plane.values()) or not (plane["rho"] > 0).all():
                return "vp, vs or density is no number above 0 somewhere"
            fastest = max(fastest, float(plane["vp"].max()))
            if solid.any():
                slowest = min(slowest, float(plane["vs"][solid].min()))
                ratio = min(ratio, float((plane["vp"][solid] / plane["vs"][solid]).min()))
            q = [
                min(one, float(plane[name].min())) if name in plane else one
                for one, name in zip(q, ("qp", "qs"), strict=True)
            ]
        found = Range(slowest, fastest, 1.0, 1.0, q[0], q[1])
        speed = fastest * unrelaxed_factor(self.config.ground, found)
        if speed * self.dt_s / h >= STABILITY:
            return f"vp = {speed:.0f} m/s there, and steps of {self.dt_s:.4g} s carry {STABILITY * h / self.dt_s:.0f} m/s at most"
        if ratio**2 <= LEAST_RATIO_SQUARED:
            return f"vp / vs = {ratio:.3g} somewhere, and a solid has more than {LEAST_RATIO_SQUARED**0.5:.3g}"
        return ""

    def touched_by(self, one: Pairing) -> NDArray[np.int32]:
        """Numbers of the knots that a window sees."""
        ends = self.sources_m[one.event], self.receivers.position_m[one.station]
        begins_s = self.setup.points[one.event].start_s
        return self.knots.within_reach(*ends, one.window.reach_s - begins_s, self.fastest_m_s)

    @cached_property
    def ground_range(self) -> Range:
        """Of the starting model."""
        return self.setup.range

    @cached_property
    def fastest_m_s(self) -> float:
        """P waves, that bound the reach of windows: 10 % above those of the starting model."""
        return 1.1 * self.ground_range.fastest_vp

    @cached_property
    def pairings(self) -> tuple[Pairing, ...]:
        """All windows: earthquake after earthquake, station after station. UserError where none is left."""
        found: list[Pairing] = []
        first = 0
        for event, source in enumerate(self.sources_m):
            for station, at in enumerate(self.receivers.position_m):
                window = self.window(source, at, self.origin_s(event))
                if window is None:
                    continue
                for component in self.config.data.components:
                    found.append(Pairing(len(found), event, station, component, window, first))
                    first += len(window.times_s)
        if not found:
            raise self.config.wrong(
                f"[time] duration_s = {self.config.time.duration_s:g}: no window is a period long; allowed: a longer run"
            )
        return tuple(found)

    def origin_s(self, event: int) -> float:
        """When an earthquake's moment rate has its middle, s."""
        point = self.setup.points[event]
        return float(point.start_s + point.time_function.centroid_s)

    def pairings_of(self, event: int) -> tuple[Pairing, ...]:
        """The windows of an earthquake."""
        return tuple(one for one in self.pairings if one.event == event)

    @cached_property
    def frequencies_hz(self) -> f64:
        """Of spectra, kernels and filtered samples."""
        return frequencies_of(self._waves)

    def synthesis(self, window: Window) -> f64:
        """What makes samples of the motion that is compared of a transform of velocity."""
        if self.config.data.motion == "velocity":
            return window.synthesis(self.frequencies_hz)
        return window.synthesis(
            self.frequencies_hz, np.asarray(1.0 / (2j * np.pi * self.frequencies_hz), np.complex128)
        )

    @property
    def measured_hz(self) -> tuple[float, ...]:
        """Frequencies at which gsdf measures."""
        _, f2, f3, _ = self.config.data.filter_hz
        return self.config.data.measured_hz or (f2, float(np.sqrt(f2 * f3)), f3)

    @property
    def samples(self) -> int:
        """Of all windows."""
        last = self.pairings[-1]
        return last.first + len(last.window.times_s)

    def window(self, source_m: f64, station_m: f64, origin_s: float) -> Window | None:
        """The window of a path: from fast waves to slow ones; None where less than a period of it is left before the run's end."""
        data, (_, f2, f3, _) = self.config.data, self.config.data.filter_hz
        period_s = 1.0 / np.sqrt(f2 * f3)
        length_m = float(np.linalg.norm(source_m - station_m))
        fastest = data.fastest_m_s or self.ground_range.fastest_vp
        slowest = data.slowest_m_s or SLOWER * self.ground_range.slowest_vs
        first = max(0.0, origin_s + length_m / fastest - (data.before_s or 0.5 * period_s))
        last = min(self.config.time.duration_s, origin_s + length_m / slowest + (data.after_s or 2.0 * period_s))
        return Window(first, last, self.config.sample_s, self.config.band) if last - first >= period_s else None

    @property
    def mask_m(self) -> float:
        """About source and station."""
        return self.config.model.mask_m or CELLS_MASKED * self.config.grid.spacing_m


def speeds(material: Material) -> dict[str, f64]:
    """vp, vs (m/s), rho (kg/m^3), and qp and qs where the ground has them."""
    return {name: np.asarray(values, np.float64) for name, values in material.fields().items()}
