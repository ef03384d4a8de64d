"""How an inversion ended, in plain words: whether the data are fitted, whether the prior admits the model, who disagrees.

    2 chi_data / N         1 where what is left is noise of the given sigma; less by the part of N that the model has fitted.
                           N counts samples that are independent: of noise in a band fewer than there are
    2 chi_prior / n        at most 1 for a model that the prior admits; n unknowns, of which the data resolve some
    cycle skips            windows whose predicted waves fit best when shifted by more than half a period
    reversed               windows that fit best with the other sign
    outliers               earthquakes and stations whose windows are worse than the others'
    periods                bands of the filter that are worse than its others (period_bands.py)
    theory                 what of a richer theory the residuals hold (theory_check.py)

A fit to the noise does not make a theory right: what a poor theory does wrong, structure can explain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.runs.words import counted
from craton.tomography.data.observations import Observations
from craton.tomography.folder import Judgement, Outlier, PeriodBand, TheoryCheck
from craton.tomography.inversion.period_bands import bands_of_periods

if TYPE_CHECKING:
    from mpi4py import MPI

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

DEVIATIONS = 5.0
"""A misfit of noise alone scatters by sqrt(2 / N) about 1; beyond so many of these it is no scatter."""
SLACK = 0.03
"""What sigma, which is an estimate, may be wrong by in a misfit before it is worth a word."""
ALIKE = 0.7
"""A window whose waves, shifted, are less alike than this is bad in another way than by a skipped cycle or a reversed sign."""
OUTLIER = 2.0
"""An earthquake or station is an outlier where its misfit per sample is so many times the whole one, and above this itself."""
WORSE_PERIODS = 3.0
"""The same of a band of periods, beside the filter's other bands. Where noise of a filter counts as noise of a correlation time,
the shortest third of the filter's periods has up to 2.9 times what the others have, by C_d alone."""
MOST_NAMED = 3
OF = {"earthquake": "event", "station": "station"}
UNKNOWNS = {"earthquake": "origin times, centroids and moment tensors", "station": "times and gains of stations"}


def judge(
    data: Observations,
    predicted: f64,
    chi_prior: float,
    unknowns: int,
    longest_s: float,
    filter_periods_s: Sequence[float],
    theory: TheoryCheck | None = None,
    unknown: Set[str] = frozenset(),
    comm: MPI.Comm | None = None,
) -> Judgement:
    """Of a run's last model. Collective where there is a comm, whose ranks then share out the windows.

    predicted: its g, all windows one after the other. longest_s: half a period, where cycles skip. filter_periods_s: of the data.
    theory: what a richer one adds. unknown: event and station, where [corrections] has unknowns of them.
    """
    table, per_window = data.paths, data.of_windows(Observations.white_squares, predicted, comm)
    samples, total = data.independent, float(data.independent.sum())
    fit = float(per_window.sum()) / total
    skipped = data.of_windows(lambda some, g: skipped_windows(some, some.observed, g, longest_s), predicted, comm)
    found = Judgement(fit, 2.0 * chi_prior / unknowns, int(skipped.sum()), len(table), theory=theory)
    inverse = data.of_windows(lambda some, g: reversed_windows(some, some.observed, g, longest_s), predicted, comm)
    found.reversed = int(inverse.sum())
    found.reversed_stations = mostly(inverse, table.station, table.stations.name)
    for kind, of, names in (
        ("earthquake", table.event, table.events.name),
        ("station", table.station, table.stations.name),
    ):
        found.outliers += outliers(kind, of, names, per_window, samples, fit)
    found.periods = bands_of_periods(data, predicted, filter_periods_s, comm)
    found.warnings = list(warnings(found, total, unknowns, unknown))
    return found


def warnings(found: Judgement, samples: float, unknowns: int, unknown: Set[str] = frozenset()) -> list[str]:
    """What a reader has to know before the maps are looked at."""
    scatter = DEVIATIONS * np.sqrt(2.0 / samples) + SLACK
    lines = list[str]()
    if found.fit > 1.0 + scatter:
        lines.append(
            f"the data are not fitted to their noise: 2 chi/N = {found.fit:.3g} where 1 is expected. Cycles may be skipped (begin "
            "with longer periods), the theory too poor (docs/hybrid.md), or sigma too small"
        )
    if found.fit < 1.0 - unknowns / samples - scatter:
        lines.append(
            f"the data are fitted better than their noise allows: 2 chi/N = {found.fit:.3g} where at least "
            f"{1.0 - unknowns / samples:.3g} is expected. Sigma may be too large, or the noise not as independent as C_d says"
        )
    if found.prior > 1.0:
        lines.append(
            f"the model is larger than its prior admits: 2 chi_prior/n = {found.prior:.3g} where at most 1 is expected. The "
            "prior may be too weak, or the data want structure that is not there"
        )
    if found.skipped:
        lines.append(
            f"{counted(found.skipped, 'window')} of {found.windows} are off by more than half a period: their cycles are skipped, "
            "and they pull the model the wrong way"
        )
    if found.reversed:
        at = ", most windows of " + ", ".join(found.reversed_stations[:MOST_NAMED]) if found.reversed_stations else ""
        if (unnamed := len(found.reversed_stations) - MOST_NAMED) > 0:
            at += f" and {counted(unnamed, 'station')} more"
        lines.append(
            f"{counted(found.reversed, 'window')} of {found.windows} fit best with their sign reversed{at}. Look at the polarity "
            "of sensors, and at moment tensors; with long_periods_first such windows are left out"
        )
    if found.theory is not None and found.theory.seen:
        lines.append(
            f"the data ask for a richer theory than the run's: the residuals hold {found.theory.part:.2f} +- "
            f"{found.theory.deviation:.2f} of what {found.theory.richer} adds. Structure imitates the rest of it, however good the "
            f'fit: take [theory] kind = "{found.theory.richer}" (derivatives = "pava" keeps the Hessian of path averages), or '
            "seismograms from an outside solver ([synthetics])"
        )
    for kind in ("earthquake", "station"):
        worst = [one for one in found.outliers if one.kind == kind]
        if worst:
            named = ", ".join(
                f"{one.name} ({one.misfit:.3g} in {counted(one.windows, 'window')})" for one in worst[:MOST_NAMED]
            )
            more = f" and {len(worst) - MOST_NAMED} more" if len(worst) > MOST_NAMED else ""
            fits = "fits" if len(worst) == 1 else "fit"
            cure = "" if OF[kind] in unknown else f". [corrections] makes {UNKNOWNS[kind]} unknowns"
            lines.append(
                f"{counted(len(worst), kind)} {fits} much worse than the others, by 2 chi/N: {named}{more}{cure}"
            )
    for band, others in worse_periods(found.periods):
        lines.append(
            f"periods of {band.text} fit worse: 2 chi/N {band.misfit:.2g} beside {others:.2g} of the filter's others. The noise "
            "may be stronger there than sigma and its correlation say, or the theory poorer"
        )
    return lines


def worse_periods(bands: Sequence[PeriodBand]) -> list[tuple[PeriodBand, float]]:
    """Bands that fit much worse than the others, with 2 chi/N of those."""
    found = list[tuple[PeriodBand, float]]()
    for band in bands:
        others = [other for other in bands if other is not band]
        if not others:
            continue
        rest = sum(other.misfit * other.samples for other in others) / sum(other.samples for other in others)
        scatter = DEVIATIONS * np.sqrt(2.0 / band.samples)
        if band.misfit > max(WORSE_PERIODS * max(rest, 1.0), 1.0 + scatter):
            found.append((band, rest))
    return found


def outliers(kind: str, of: i64, names: Sequence[str], per_window: f64, samples: f64, fit: float) -> list[Outlier]:
    """Those whose misfit per sample is far above the whole one, the worst first. of: the earthquake or station of each window."""
    chi, count = np.bincount(of, weights=per_window), np.bincount(of, weights=samples)
    windows = np.bincount(of)
    misfit = np.divide(chi, count, out=np.zeros_like(chi), where=count > 0.0)
    scatter = DEVIATIONS * np.sqrt(2.0 / np.maximum(count, 1.0))
    bad = np.flatnonzero(misfit > np.maximum(OUTLIER * max(fit, 1.0), 1.0 + scatter))
    ordered = bad[np.argsort(-misfit[bad])]
    return [Outlier(kind, names[row], int(windows[row]), float(misfit[row])) for row in ordered]


def mostly(which: NDArray[np.bool_], of: i64, names: Sequence[str]) -> list[str]:
    """Stations more than half of whose windows are among these, those with the most of them first."""
    count, among = np.bincount(of), np.bincount(of, weights=which)
    rows = np.flatnonzero(among > 0.5 * count)
    return [names[row] for row in rows[np.argsort(-among[rows], kind="stable")]]


def skipped_windows(data: Observations, observed: f64, predicted: f64, longest_s: float) -> NDArray[np.bool_]:
    """Windows whose predicted waves, shifted by more than longest_s, fit better than shifted by less, and well.

    observed: the data, or what a filter leaves of them, as of the predicted waves.
    """

    def skips(d: f64, g: f64) -> bool:
        near, far = _near_and_far(data, d, g, longest_s)
        return bool(far.max() > max(near.max(), ALIKE))

    return _of_each(data, observed, predicted, skips)


def reversed_windows(data: Observations, observed: f64, predicted: f64, longest_s: float) -> NDArray[np.bool_]:
    """Windows that fit well with their sign reversed, and better so than however shifted: of a sensor of the wrong polarity, say.

    Arguments as of skipped_windows.
    """

    def is_reversed(d: f64, g: f64) -> bool:
        near, far = _near_and_far(data, d, g, longest_s)
        return bool(-near.min() > max(far.max(), ALIKE))

    return _of_each(data, observed, predicted, is_reversed)


def unlike_windows(data: Observations, observed: f64, predicted: f64, furthest_s: float) -> NDArray[np.bool_]:
    """Windows whose predicted waves are unlike the data, whatever shift of at most furthest_s they are given."""
    reach = int(np.ceil(furthest_s / data.paths.sample_interval_s))
    return _of_each(
        data, observed, predicted, lambda d, g: shifted_correlations(d, g, min(reach, len(d) - 1)).max() < ALIKE
    )


def _of_each(data: Observations, observed: f64, predicted: f64, tell: Callable[[f64, f64], bool]) -> NDArray[np.bool_]:
    ends = data.paths.offsets
    windows = zip(ends[:-1], ends[1:], strict=True)
    return np.array([tell(observed[first:last], predicted[first:last]) for first, last in windows], bool)


def _near_and_far(data: Observations, d: f64, g: f64, longest_s: float) -> tuple[f64, f64]:
    """Correlations of a window for shifts of at most longest_s, and of at most twice as much."""
    interval_s = data.paths.sample_interval_s
    far = shifted_correlations(d, g, min(int(np.ceil(2.0 * longest_s / interval_s)), len(d) // 2))
    middle, near = len(far) // 2, int(np.floor(longest_s / interval_s))
    return far[max(0, middle - near) : middle + near + 1], far


def shifted_correlations(d: f64, g: f64, reach: int) -> f64:
    """Sum d(t + s) g(t) / (|d| |g|) over a window for shifts of -reach to reach samples; what is shifted out of it counts as 0."""
    size = float(np.linalg.norm(d) * np.linalg.norm(g))
    if size == 0.0:
        return np.zeros(2 * reach + 1)
    full = np.correlate(d, g, "full") / size
    middle = len(g) - 1
    return full[middle - reach : middle + reach + 1]
