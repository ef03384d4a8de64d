"""How the end of a run is judged: fits that are bad or too good, models beyond their prior, skipped cycles, outliers."""

from __future__ import annotations

import numpy as np
import pytest
from craton.tomography.folder import Judgement, Outlier
from craton.tomography.inversion.judgement import judge, reversed_windows, shifted_correlations, skipped_windows
from wave_packets import EVENTS, FILTER_S, HALF_PERIOD_S, PERIOD_S, SAMPLES, STATIONS, STEP_S, observations, waves


def judged(predicted, data, chi_prior=20.0, unknowns=100) -> Judgement:
    return judge(data, predicted.ravel(), chi_prior, unknowns, HALF_PERIOD_S, FILTER_S)


def test_a_good_end_has_no_warning():
    found = judged(waves(), observations(waves()))
    assert found.fit == pytest.approx(1.0, abs=0.05) and found.prior == pytest.approx(0.4)
    assert not found.warnings and not found.outliers and (found.skipped, found.windows) == (0, 48)
    whole, by_period = found.text.splitlines()
    assert (
        whole
        == f"2 chi/N = {found.fit:.3f} (1: what is left is noise), 2 chi_prior/n = 0.400 (at most 1: the prior admits the model)"
    )
    assert by_period == found.by_period and by_period.startswith("2 chi/N by period: ")


@pytest.mark.parametrize(
    ("noise", "chi_prior", "words"),
    [
        (0.2, 20.0, "the data are not fitted to their noise: 2 chi/N = 4"),
        (0.05, 20.0, "the data are fitted better than their noise allows: 2 chi/N = 0.25"),
        (0.1, 150.0, "the model is larger than its prior admits: 2 chi_prior/n = 3 where at most 1"),
    ],
)
def test_what_is_wrong_is_said_in_words(noise, chi_prior, words):
    found = judged(waves(), observations(waves(), noise), chi_prior)
    assert len(found.warnings) == 1 and words in found.warnings[0]
    assert f"warning: {words}" in found.text


def test_skipped_cycles_are_counted():
    """A third of the windows late by most of a period, a third by a little."""
    data = waves()
    data[::3], data[1::3] = waves(0.9 * PERIOD_S)[::3], waves(0.2 * PERIOD_S)[1::3]
    found = observations(data)
    skipped = skipped_windows(found, found.observed, waves().ravel(), HALF_PERIOD_S)
    assert skipped[::3].all() and not skipped[1::3].any() and not skipped[2::3].any()
    assert any(
        "16 windows of 48 are off by more than half a period" in line for line in judged(waves(), found).warnings
    )


def test_reversed_signs_are_counted_and_stations_named():
    """Two stations of the wrong polarity, and a window of another; waves that are late are not reversed."""
    data = waves()
    data[3::STATIONS] *= -1.0
    data[5::STATIONS] *= -1.0
    data[STATIONS] *= -1.0
    data[0] = waves(0.5 * PERIOD_S)[0]
    found = observations(data)
    inverse = reversed_windows(found, found.observed, waves().ravel(), HALF_PERIOD_S)
    assert set(np.flatnonzero(inverse)) == {*range(3, 48, STATIONS), *range(5, 48, STATIONS), STATIONS}
    judgement = judged(waves(), found)
    assert (judgement.reversed, judgement.reversed_stations) == (2 * EVENTS + 1, ["N.S3", "N.S5"])
    assert any(
        f"{2 * EVENTS + 1} windows of 48 fit best with their sign reversed, most windows of N.S3, N.S5. Look at" in line
        for line in judgement.warnings
    )


def test_noise_alone_skips_no_cycle_and_has_no_sign():
    data = np.random.default_rng(3).standard_normal((EVENTS * STATIONS, SAMPLES))
    found = observations(data)
    for tell in (skipped_windows, reversed_windows):
        assert not tell(found, found.observed, waves().ravel(), HALF_PERIOD_S).any()


def test_outliers_are_named():
    data = waves()
    data[2 * STATIONS : 3 * STATIONS] *= 2.0  # an earthquake that is stronger than its catalogue says
    data[5::STATIONS] = 0.0  # a station that is dead
    found = judged(waves(), observations(data))
    assert {(one.kind, one.name) for one in found.outliers} == {("earthquake", "E2"), ("station", "N.S5")}
    worst = next(one for one in found.outliers if one.kind == "station")
    assert isinstance(worst, Outlier) and worst.windows == EVENTS and worst.misfit > 2.0
    assert any(
        line.startswith("1 station fits much worse than the others, by 2 chi/N: N.S5 (") for line in found.warnings
    )


def test_correlations_of_shifts():
    d, g = waves(3 * STEP_S)[0], waves()[0]
    found = shifted_correlations(d, g, 6)
    assert len(found) == 13 and np.argmax(found) == 6 + 3 and found.max() == pytest.approx(1.0, abs=1e-6)
    assert not shifted_correlations(0 * d, g, 6).any()
