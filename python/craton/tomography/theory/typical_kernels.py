"""Sensitivity kernels of typical windows of a run: of each component one near the median distance. Not collective."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from mpi4py import MPI

from craton._craton import ForwardProblem
from craton.errors import UserError
from craton.tomography.config.load import theory_settings
from craton.tomography.data.observations import Observations
from craton.tomography.model.earth_table import reference_earth
from craton.tomography.theory.modes import shared_mode_catalogue, shared_spheroidal_catalogue
from craton.tomography.theory.plane_kernels import PlaneKernel, kernel_of_path, small_basis

MOST_MODES = 2500
"""Of one type, in the band: memory and time go with their square (some 10 s and half a GB at 2000)."""
NEAR_THE_MEDIAN = 10
"""One part in so many of the windows is near enough to the median distance to be chosen from."""


def typical_windows(data: Observations) -> list[int]:
    """A row of the path table for each component that has windows along the minor arc.

    Of the tenth of them that is nearest to the median distance it is the strongest: the one whose largest motion is largest beside
    the median of its earthquake's (the source radiates well toward it), times beside its noise.
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
    """Kernels of each typical window at the reference Earth, by path averages and by NACT.

    config: of the run, as in its record; `where` names it in errors. UserError where there are too many modes, or no window along
    the minor arc.
    """
    settings, table = theory_settings(config, where), data.paths
    chosen = typical_windows(data)
    if not chosen:
        raise UserError("no window is along the minor arc; allowed: one that is")
    earth = reference_earth(settings.earth)
    toroidal = shared_mode_catalogue(earth, settings, MPI.COMM_SELF, lambda _: None)
    spheroidal = shared_spheroidal_catalogue(earth, settings, MPI.COMM_SELF, lambda _: None)
    periods_s, basis = settings.data.filter_periods_s, small_basis(earth)
    for modes in (toroidal, spheroidal):
        count = 0 if modes is None else int(np.sum(np.asarray(modes.period_s) >= periods_s[3]))
        if count > MOST_MODES:
            raise UserError(f"{count} modes in the band; allowed: {MOST_MODES} of one type")
    scaling = settings.theory.scaling()
    forwards = {
        kind: ForwardProblem(toroidal, basis, periods_s, kind, spheroidal, scaling=scaling) for kind in ("pava", "nact")
    }
    found = []
    for row in chosen:
        depth_km = float(table.events.depth_km[table.event[row]])
        names = f"{table.events.name[table.event[row]]} to {table.stations.name[table.station[row]]}"
        alone, component = table.rows(np.array([row])), table.component[row]
        found.append(
            [
                kernel_of_path(earth, forward, alone.path_set(forward)[0], kind, component, depth_km, periods_s, names)
                for kind, forward in forwards.items()
            ]
        )
    return found
