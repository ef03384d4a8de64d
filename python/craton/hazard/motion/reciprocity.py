"""All ruptures of a forecast at one site, shared out among ranks: seismograms are made, measured and forgotten.

A task is a rupture with all its variations. Ranks take tasks from a work queue, so that who computes what depends on how fast
each is; rank 0's result does not: it is in the order of ruptures and variations, with the same bits whatever the ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton import _craton
from craton.errors import UserError
from craton.hazard.forecast.rupture import Rupture, Variation
from craton.hazard.motion.green_tensors import GreenTensors
from craton.hazard.motion.intensity import Measures, measure_records
from craton.hazard.motion.seismograms import BATCH, How, seismograms

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["SiteMeasures", "VariationsOf", "measure", "measure_rupture"]

VariationsOf = Callable[[int], Iterable[Variation]]
"""The variations of a rupture, by its index; the same on every rank."""


@dataclass(frozen=True, eq=False)
class SiteMeasures:
    """A row per variation, sorted by rupture, variations in the order in which they were given."""

    rupture: NDArray[np.int64]
    """index of each row's rupture"""
    number: NDArray[np.int64]
    """of its variation"""
    measures: Measures

    def __len__(self) -> int:
        return len(self.rupture)

    @staticmethod
    def joined(parts: Sequence[SiteMeasures]) -> SiteMeasures:
        """Rows of one part or more, one after the other."""
        return SiteMeasures(
            np.concatenate([part.rupture for part in parts]),
            np.concatenate([part.number for part in parts]),
            Measures.joined([part.measures for part in parts]),
        )


def measure(
    green: GreenTensors,
    ruptures: Sequence[Rupture],
    variations: VariationsOf | Iterable[Variation],
    periods_s: ArrayLike,
    *,
    damping: float = 0.05,
    batch: int = BATCH,
    world: _craton.World | None = None,
    comm: MPI.Comm | None = None,
    costs: Sequence[float] | None = None,
    progress: Callable[[int], object] = lambda _rows: None,
    **how: Unpack[How],
) -> SiteMeasures:
    """Measures of all variations of all ruptures: of this process, or collective with world and comm.

    Collective: rank 0 gets all rows, with the same bits on any ranks; another rank gets those that it computed itself.

    variations: all of them in any order; or a function of a rupture's index, called by the rank that computes the rupture, so
        that only a batch is in memory.
    costs: predicted cost of each rupture, its subfaults times its variations; by default the subfaults.
    progress: called with the number of rows just done.

    UserError on every rank for what one refuses.
    """
    # here, not in a task: there a rank would fail alone, and the others wait for it
    if unknown := how.keys() - How.__annotations__.keys():
        raise TypeError(f"measure() has no argument {', '.join(sorted(unknown))}")
    of = variations if callable(variations) else _by_rupture(variations, len(ruptures))
    predicted = [float(cost) for cost in (costs if costs is not None else [len(one.surface) for one in ruptures])]
    done: dict[int, SiteMeasures] = {}

    def work(task: int) -> None:
        done[task] = measure_rupture(
            green,
            ruptures[task],
            of(task),
            periods_s,
            index=task,
            damping=damping,
            batch=batch,
            progress=progress,
            **how,
        )

    if world is None or comm is None:
        for task in range(len(ruptures)):
            work(task)
        return _sorted([done], green, periods_s, damping)
    failure = ""
    queue = _craton.WorkQueue(world, predicted)  # others may steal from it until all have agreed
    with _craton.ProgressThread(world):
        for task in queue:
            try:
                if not failure:
                    work(task)
            except UserError as error:
                failure = str(error)
    _craton.agree(world, failure)
    del queue
    return _sorted(comm.gather(done) or [done], green, periods_s, damping)


def measure_rupture(
    green: GreenTensors,
    rupture: Rupture,
    variations: Iterable[Variation],
    periods_s: ArrayLike,
    *,
    index: int = 0,
    damping: float = 0.05,
    batch: int = BATCH,
    progress: Callable[[int], object] = lambda _rows: None,
    **how: Unpack[How],
) -> SiteMeasures:
    """Measures of one rupture's variations, in this process. index: what rows say of their rupture."""
    numbers: list[int] = []

    def counted() -> Iterable[Variation]:
        for one in variations:
            numbers.append(one.number)
            yield one

    parts = []
    for velocity in seismograms(green, rupture, counted(), batch=batch, **how):
        parts.append(measure_records(velocity, green.dt_s, periods_s, components=green.directions, damping=damping))
        progress(len(velocity))
    measures = Measures.joined(parts or [_none(green, periods_s, damping)])
    return SiteMeasures(np.full(len(measures), index, np.int64), np.array(numbers, np.int64), measures)


def _by_rupture(variations: Iterable[Variation], count: int) -> VariationsOf:
    sorted_out: list[list[Variation]] = [[] for _ in range(count)]
    for one in variations:
        if one.rupture >= count:
            raise UserError(f"variation {one.number} of rupture {one.rupture}; allowed: ruptures 0 to {count - 1}")
        sorted_out[one.rupture].append(one)
    return sorted_out.__getitem__


def _sorted(
    done: Sequence[dict[int, SiteMeasures]], green: GreenTensors, periods_s: ArrayLike, damping: float
) -> SiteMeasures:
    """What ranks have done, in the order of the ruptures."""
    found = dict(item for some in done for item in some.items())
    nothing = SiteMeasures(np.empty(0, np.int64), np.empty(0, np.int64), _none(green, periods_s, damping))
    return SiteMeasures.joined([found[task] for task in sorted(found)] or [nothing])


def _none(green: GreenTensors, periods_s: ArrayLike, damping: float) -> Measures:
    empty = np.empty((0, len(green.directions), 1), np.float32)
    return measure_records(empty, green.dt_s, periods_s, components=green.directions, damping=damping)
