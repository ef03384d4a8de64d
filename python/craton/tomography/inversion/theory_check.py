"""Whether the data ask for a richer theory than the run's: what the next richer one would add, and how much of that they hold.

A theory that is too poor can fit to the noise: structure takes the place of what it leaves out, and 2 chi/N says nothing. The
end of a run therefore computes a sample of windows by a richer theory too. With

    r = W (d - g(m))                what the run leaves of the data, C_d^-1 = W^T W
    a = W (g_richer(m) - g(m))      what the richer theory adds

the part of `a` that the residual holds is p = r . a / |a|^2. Where the Earth follows the run's theory, r is noise and knows
nothing of `a`: p is 0, give or take 1 / |a|. Where it follows the richer one, structure imitates some of `a`, and the rest stays
in r. The noise of a sample averages out and `a` does not: p sees what is far below the noise of any window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.tomography.folder import TheoryCheck
from craton.tomography.inversion.forward import predict
from craton.tomography.theory.coupling_tables import coupling_bytes, modes_within

if TYPE_CHECKING:
    from craton._craton import ForwardProblem, SpheroidalCatalogue
    from craton.runs.node_copies import NodeCopies
    from craton.tomography.data.observations import Observations

f64 = NDArray[np.float64]

RICHER = {"pava": "nact", "nact_in_plane": "nact"}
"""The next richer theory of each that has one."""
MOST_BYTES = 2**30
"""Tables of coupled modes that take more on each rank are not made for this check."""
SAMPLE_STREAM = 3
"""The random stream of the windows; the noise and the choice of paths have others."""


def check_theory(
    problem: ForwardProblem,
    spheroidal: SpheroidalCatalogue | None,
    filter_periods_s: tuple[float, float, float, float],
    data: Observations,
    model: f64,
    predicted: f64,
    windows: int,
    seed: int,
    nodes: NodeCopies,
    threads: int,
    say: Callable[[str], None] = lambda _: None,
    wrong: NDArray[np.bool_] | None = None,
) -> TheoryCheck | None:
    """Collective: of a random sample of so many windows.

    None where there is no richer theory, nothing added, no window, or no room for the theory's tables (MOST_BYTES).
    predicted: g(m) of all windows by the theory of `problem`. say: is told where there is no room. wrong: windows that are not
    taken, because their residuals say nothing of the theory: cycles are skipped, or the sign is reversed.
    """
    richer = RICHER.get(problem.theory)
    if richer is None or not windows:
        return None
    needed = needed_bytes(problem, spheroidal, filter_periods_s)
    if needed > MOST_BYTES:
        say(
            f"not compared with {richer}: its tables would take {needed / 2**30:.3g} GiB on each rank; at most 1 GiB is taken"
        )
        return None
    keep = sampled(len(data.paths), windows, seed, wrong)
    if not keep.any():
        return None
    some = data.where(keep)
    by = np.repeat(keep, data.paths.samples)
    better = problem.of_theory(richer)
    g = predict(better, some.paths.path_set(better), model, nodes, threads)
    added = some.whitened(g - predicted[by])
    left = some.whitened(some.observed - predicted[by])
    return compared(richer, len(some.paths), left, added, float(some.independent.sum()))


def needed_bytes(
    problem: ForwardProblem, spheroidal: SpheroidalCatalogue | None, filter_periods_s: tuple[float, float, float, float]
) -> float:
    """What tables of coupled modes take on each rank."""
    types = [each for each in (problem.modes, spheroidal) if each is not None]
    columns = problem.basis.columns
    return coupling_bytes(columns, [modes_within(filter_periods_s, each) for each in types])


def compared(richer: str, windows: int, left: f64, added: f64, independent: float = 0.0) -> TheoryCheck | None:
    """Of a sample's r (left) and a (added), all samples of all windows; None where `a` is 0, as it is without structure.

    independent: how many samples are; 0: all.
    """
    power = float(added @ added)
    if not power:
        return None
    return TheoryCheck(richer, windows, power / (independent or len(added)), float(left @ added) / power, power**-0.5)


def sampled(windows: int, wanted: int, seed: int, wrong: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """Which of all windows are in the sample: as many as wanted, if there are, of those that are not wrong."""
    order = np.random.default_rng([seed, SAMPLE_STREAM]).permutation(windows)
    keep = np.zeros(windows, bool)
    keep[(order if wrong is None else order[~wrong[order]])[:wanted]] = True
    return keep
