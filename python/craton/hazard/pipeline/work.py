"""From a configuration to what is to be done: sites, ruptures and their variations, points of tensors, portions of work."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.hazard.config import Config, SiteConfig
from craton.hazard.curves.curves import levels_g
from craton.hazard.curves.export import Site
from craton.hazard.forecast import variations as random
from craton.hazard.forecast.config import forecast_of, variation_rules
from craton.hazard.forecast.forecast import Forecast
from craton.hazard.forecast.rupture import Rupture, Variation
from craton.hazard.motion.green_tensors import GreenTensors
from craton.hazard.pipeline.band import Band, band_of
from craton.seismology.geometry.grid import Grid
from craton.seismology.wave_run.setup import grid_of, medium_of

__all__ = ["Work"]

Array = NDArray[np.float64]
APART_M = 1e-3
"""Subfaults nearer to each other than that share a point."""
PORTIONS, SMALLEST_PORTION = 4, 1000
"""Of a site's post-processing, where the configuration does not say: so many, but none of fewer variations, which cost less than
the beginning of a task."""


@dataclass(frozen=True)
class Work:
    """All that follows from a configuration, without files of a run. Every process makes its own, the same."""

    config: Config
    grid: Grid
    forecast: Forecast
    position_m: tuple[tuple[float, float, float], ...]
    """of the sites"""

    @staticmethod
    def of(config: Config) -> Work:
        """The work of a configuration. UserError for what cannot be computed, such as a site in the absorbing sides."""
        grid = grid_of(config.ground)
        forecast = forecast_of(config.forecast, config.faults, config.models, grid, config.path)
        forecast = forecast.without(i for i, one in enumerate(forecast.ruptures) if not one.annual_rate > 0)
        work = Work(config, grid, forecast, tuple(_position(site, grid) for site in config.all_sites))
        work._check_inside()
        return work

    @property
    def volume_m(self) -> tuple[Array, Array]:
        """What is between the absorbing sides: the lowest and the highest x, y and z."""
        boundary, size = self.config.ground.boundary, np.asarray(self.grid.size_m)
        layer = self.grid.spacing_m * boundary.layer_cells * (boundary.absorbing != "none")
        top = layer * (boundary.top == "absorbing")
        return np.array([layer, layer, top]), size - layer

    def surface_vs(self, x: Array, y: Array) -> Array:
        """Shear velocity (n,) of the ground at the surface, m/s."""
        below = np.full(len(x), 0.25 * self.grid.spacing_m)
        material = medium_of(self.config.ground, self.grid).at(self.grid, x, y, below)
        return np.sqrt(material.mu / material.rho)

    def _check_inside(self) -> None:
        low, high = self.volume_m
        ranges = ", ".join(f"{axis} in [{a:g}, {b:g}]" for axis, a, b in zip("xyz", low, high, strict=True))
        allowed = f"; allowed: {ranges} m, without absorbing sides"
        for site, at in zip(self.config.all_sites, self.position_m, strict=True):
            if np.any(np.asarray(at) < low) or np.any(np.asarray(at) > high):
                raise self.config.wrong(f"[[site]] {site.name} at {_triple(at)} m{allowed}")
        for one in self.forecast.ruptures:
            wrong = one.surface.outside(low, high)
            if wrong.any():
                worst = int(np.argmax(wrong))
                raise self.config.wrong(
                    f"{one.name} (M {one.magnitude:.2f}) is outside the volume of the Green's tensors: subfault {worst} at "
                    f"{_triple(one.surface.positions[worst])} m{allowed}"
                )

    @cached_property
    def points_m(self) -> Array:
        """(n, 3): where Green's tensors are wanted, each place once, from the top down."""
        every = np.concatenate([one.surface.positions for one in self.forecast.ruptures])
        _, first = np.unique(np.round(every[:, ::-1] / APART_M), axis=0, return_index=True)
        return np.ascontiguousarray(every[first])

    @cached_property
    def varied(self) -> random.VariationRules:
        """How ruptures vary."""
        return variation_rules(self.config.variations)

    @cached_property
    def own_variations(self) -> dict[int, tuple[Variation, ...]]:
        """Variations that came with slip of their own, by the rupture's index."""
        found: dict[int, tuple[Variation, ...]] = {}
        for one in self.forecast.variations:
            found[one.rupture] = (*found.get(one.rupture, ()), one)
        return found

    def variations(self, rupture: int, green: GreenTensors) -> Iterator[Variation]:
        """Variations of the rupture with that index, one after the other. green: of any site; it knows the ground's rigidity."""
        if rupture in self.own_variations:
            return iter(self.own_variations[rupture])
        one = self.forecast.ruptures[rupture]
        return random.variations(rupture, one, self.varied, self._rigidity_Pa(one, green))

    def variation(self, rupture: int, number: int, green: GreenTensors) -> Variation:
        """One of variations(), by its number."""
        if rupture in self.own_variations:
            return next(one for one in self.own_variations[rupture] if one.number == number)
        one = self.forecast.ruptures[rupture]
        return random.variation(rupture, one, number, self.varied, self._rigidity_Pa(one, green))

    def _rigidity_Pa(self, rupture: Rupture, green: GreenTensors) -> Array | None:
        """Of the ground; None where the configuration has one."""
        if self.config.variations.rigidity_Pa:
            return None
        return green.rigidity_Pa(rupture.surface.positions, rupture.name)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many variations each rupture has."""
        return tuple(
            len(self.own_variations.get(i, ())) or random.count(one, self.varied)
            for i, one in enumerate(self.forecast.ruptures)
        )

    @cached_property
    def portions(self) -> tuple[tuple[int, ...], ...]:
        """Ruptures by their indices, in portions of about as many variations."""
        wanted = self.config.run.variations_per_task or max(SMALLEST_PORTION, math.ceil(sum(self.counts) / PORTIONS))
        found: list[list[int]] = [[]]
        held = 0
        for rupture, count in enumerate(self.counts):
            if held and held + count > wanted:
                found.append([])
                held = 0
            found[-1].append(rupture)
            held += count
        return tuple(tuple(portion) for portion in found)

    @cached_property
    def band(self) -> Band:
        """The periods that the waves resolve."""
        return band_of(self.config)

    def note(self, period_s: float) -> str:
        """Why the waves do not resolve a period; "" where they do. What is shown of it is hatched then, and says so."""
        return self.band.why_not(period_s)

    @property
    def sites(self) -> list[Site]:
        """The sites, for exports."""
        found = []
        for site, at in zip(self.config.all_sites, self.position_m, strict=True):
            lon, lat = self.grid.lon_lat(at[0], at[1])
            found.append(Site(site.name, float(lon), float(lat), at[2]))
        return found

    def levels_g(self) -> Array:
        """Levels of curves: those of the configuration, or 51 from 1e-4 to 10."""
        return np.asarray(self.config.hazard.levels_g, float) if self.config.hazard.levels_g else levels_g()


def _position(site: SiteConfig, grid: Grid) -> tuple[float, float, float]:
    if site.lon_lat:
        if not abs(site.lon_lat[1]) <= 90:
            raise UserError(f"[[site]] {site.name}: latitude {site.lon_lat[1]:g}; allowed: -90 to 90 degrees")
        x, y = grid.x_y(*site.lon_lat)
        return float(x), float(y), 0.0
    north, east, *down = site.position_m
    return float(north), float(east), float(down[0]) if down else 0.0


def _triple(at: Sequence[float] | Array) -> str:
    return "({:.0f}, {:.0f}, {:.0f})".format(*at)
