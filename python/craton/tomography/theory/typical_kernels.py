"""Sensitivity kernels of typical windows of a run: of each component one near the median distance. Not collective."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from mpi4py import MPI

from craton._craton import EarthModel, ForwardProblem, PathSet
from craton.errors import UserError
from craton.tomography.config.stored import theory_settings
from craton.tomography.data.observations import Observations
from craton.tomography.theory.modes import shared_mode_catalogue, shared_spheroidal_catalogue
from craton.tomography.theory.plane_kernels import PlaneKernel, kernel_of_path, small_basis

MOST_MODES = 2500
"""Of one type, in the band: memory and time go with their square (some 10 s and half a GB at 2000)."""
NEAR_THE_MEDIAN = 10
"""One part in so many of the windows is near enough to the median distance to be chosen from."""


def typical_windows(data: Observations) -> list[int]:
    """A row of the path table for each component: of the tenth of its windows along the minor arc that are nearest to
    the median distance, the one whose largest motion is strongest, beside the median of its earthquake's (the source
    radiates well toward it) times beside its noise.
    """
    table, found = data.paths, list[int]()
    largest = np.maximum.reduceat(np.abs(data.observed), table.offsets[:-1])
    distance = table.distance_deg()
    for component in dict.fromkeys(table.component):
        of_kind = np.array([pair == (component, "minor") for pair in zip(table.component, table.arc, strict=True)])
        rows = np.flatnonzero(of_kind)
        if len(rows):
            off = np.abs(distance[rows] - np.median(distance[rows]))
            near = rows[np.argsort(off, kind="stable")[: -(-len(rows) // NEAR_THE_MEDIAN)]]
            usual = [np.median(largest[of_kind & (table.event == table.event[row])]) for row in near]
            found.append(int(near[np.argmax(largest[near] ** 2 / np.maximum(usual, 1e-300) / data.sigma[near])]))
    return found


def kernels_of_windows(config: Mapping[str, Any], data: Observations, where: str) -> list[list[PlaneKernel]]:
    """Of each typical window, by path averages and by NACT, at the reference Earth. config: of the run, as in its
    record; `where` names it in errors. UserError where there are too many modes, or no window along the minor arc.
    """
    settings, table = theory_settings(config, where), data.paths
    chosen = typical_windows(data)
    if not chosen:
        raise UserError("no window is along the minor arc; allowed: one that is")
    earth = EarthModel.by_name(settings.earth.model)
    toroidal = shared_mode_catalogue(earth, settings, MPI.COMM_SELF, lambda _: None)
    spheroidal = shared_spheroidal_catalogue(earth, settings, MPI.COMM_SELF, lambda _: None)
    periods_s, basis = settings.data.filter_periods_s, small_basis(earth)
    for modes in (toroidal, spheroidal):
        count = 0 if modes is None else int(np.sum(np.asarray(modes.period_s) >= periods_s[3]))
        if count > MOST_MODES:
            raise UserError(f"{count} modes in the band; allowed: {MOST_MODES} of one type")
    forwards = {kind: ForwardProblem(toroidal, basis, periods_s, kind, spheroidal) for kind in ("pava", "nact")}
    found = []
    for row in chosen:
        event, station = table.event[row], table.station[row]
        names = f"{table.events.name[event]} to {table.stations.name[station]}"
        pair = []
        for kind, forward in forwards.items():
            path = PathSet(
                forward, table.events.latitude_deg[[event]], table.events.longitude_deg[[event]],
                1e3 * table.events.depth_km[[event]], np.ascontiguousarray(table.events.moment_tensor_Nm[[event]]),
                table.events.half_duration_s[[event]], table.stations.latitude_deg[[station]],
                table.stations.longitude_deg[[station]], np.array([0]), np.array([0]), table.t_first_s[[row]],
                table.sample_interval_s, table.samples[[row]], component=[table.component[row]],
            )[0]  # fmt: skip
            depth_km = float(table.events.depth_km[event])
            pair.append(kernel_of_path(earth, forward, path, kind, table.component[row], depth_km, periods_s, names))
        found.append(pair)
    return found
