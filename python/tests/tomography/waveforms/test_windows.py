"""Windows: where they are looked for, how they are cut, what is measured in them, and what makes one acceptable."""

import dataclasses

import numpy as np
import pytest
from craton.tomography.waveforms.config import PHASES, PhaseConfig, WindowsConfig
from craton.tomography.waveforms.records.processing import Displacement
from craton.tomography.waveforms.windows import (
    Candidate,
    agreement,
    correlation_time_s,
    expected_windows,
    noise_before,
    verdict,
    without_shared_samples,
)

LOVE = tuple(phase for phase in PHASES if "T" in phase.components)
EARTH_CIRCUMFERENCE_KM = 2 * np.pi * 6371.0


def test_windows_are_where_group_velocities_put_them():
    """By hand: 60 degrees are 6672 km, 300 degrees 33359 km."""
    phase = PhaseConfig("slow", ("T",), 5.0, 4.0, 100.0)
    minor, major = expected_windows(60.0, "T", [phase], ("minor", "major"), 10.0)
    length = EARTH_CIRCUMFERENCE_KM / 6
    assert (minor.first, minor.last) == (int((length / 5 - 100) // 10), int(-((-(length / 4 + 100)) // 10)))
    assert (major.first, major.last) == (int((5 * length / 5 - 100) // 10), int(-((-(5 * length / 4 + 100)) // 10)))
    assert (minor.arc, major.arc, minor.phase) == ("minor", "major", "slow")
    assert minor.arc_overlap == major.arc_overlap == 0.0


def test_a_window_begins_at_time_zero_at_the_earliest():
    phase = PhaseConfig("early", ("T",), 9.0, 4.0, 1000.0)
    assert expected_windows(5.0, "T", [phase], ("minor",), 10.0)[0].first == 0


def test_arcs_overlap_near_the_antipode():
    """By counting seconds: at 150 degrees both arcs' windows are long and near each other."""
    windows = expected_windows(150.0, "T", LOVE, ("minor", "major"), 1.0)
    for window in windows:
        mine = set(range(window.first, window.last + 1))
        others = set().union(*(range(w.first, w.last + 1) for w in windows if w.arc != window.arc))
        assert window.arc_overlap == pytest.approx(len(mine & others) / len(mine))
    assert max(window.arc_overlap for window in windows) > 0.3
    assert all(window.arc_overlap == 0.0 for window in expected_windows(90.0, "T", LOVE, ("minor", "major"), 1.0))


def test_no_sample_is_in_two_windows():
    rng = np.random.default_rng(8)
    for _ in range(50):
        begins = rng.integers(0, 300, 6)
        windows = [
            Candidate("T", "minor", str(k), int(b), int(b + n))
            for k, (b, n) in enumerate(zip(begins, rng.integers(5, 90, 6), strict=True))
        ]
        cut = without_shared_samples(windows)
        used = [sample for window in cut for sample in range(window.first, window.last + 1)]
        assert len(used) == len(set(used))
        assert set(used) <= {s for w in windows for s in range(w.first, w.last + 1)}
    left, right = without_shared_samples([Candidate("T", "minor", "a", 0, 20), Candidate("T", "minor", "b", 10, 50)])
    assert (left.last, right.first, right.last) == (15, 16, 50)


def wave(times, at):
    return np.exp(-(((times - at) / 150.0) ** 2)) * np.sin(2 * np.pi * (times - at) / 120.0)


@pytest.mark.parametrize("shift_s", [0.0, 17.0, -23.4, 38.0])
@pytest.mark.parametrize("amplitude", [1.0, 0.6, 1.8])
def test_shift_and_amplitude_are_found(shift_s, amplitude):
    times = 5.0 * np.arange(-100, 500)
    trace = Displacement(-100, 1e-4 * amplitude * wave(times, 1200.0 + shift_s))
    synthetic = 1e-4 * wave(5.0 * np.arange(500), 1200.0)
    found = agreement(trace, synthetic, Candidate("T", "minor", "x", 160, 320), 1e-6, 5.0, 40.0)
    assert found.shift_s == pytest.approx(shift_s, abs=0.3)
    assert found.amplitude_ratio == pytest.approx(amplitude, rel=0.02)
    assert 0.995 < found.correlation <= 1.0
    assert found.signal_to_noise == pytest.approx(found.observed_rms_m / 1e-6)


def test_agreement_is_that_of_plain_loops():
    """On noise: the best correlation over all shifts, summed by hand."""
    rng = np.random.default_rng(2)
    observed, synthetic = rng.standard_normal(400), rng.standard_normal(300)
    window = Candidate("T", "minor", "x", 100, 160)
    best = (-2.0, 0)
    for lag in range(-8, 9):
        d = [observed[50 + j + lag] for j in range(100, 161)]
        g = [synthetic[j] for j in range(100, 161)]
        c = sum(a * b for a, b in zip(d, g, strict=True)) / (sum(a * a for a in d) * sum(b * b for b in g)) ** 0.5
        best = max(best, (c, lag))
    found = agreement(Displacement(-50, observed), synthetic, window, 1.0, 10.0, 40.0)
    assert best[0] <= found.correlation <= best[0] + 0.2  # the parabola's top is above its largest sample
    assert abs(found.shift_s - 10.0 * best[1]) <= 5.0


def test_shifts_that_leave_the_record_are_not_tried():
    trace = Displacement(0, wave(5.0 * np.arange(330), 1200.0))
    found = agreement(trace, trace.samples, Candidate("T", "minor", "x", 160, 329), 1e-6, 5.0, 40.0)
    assert found.shift_s == 0.0
    assert found.correlation == pytest.approx(1.0)


def test_noise_ends_before_anything_arrives():
    trace = Displacement(-30, np.arange(500.0))
    windows = [Candidate("T", "minor", "x", 90, 200)]
    settings = WindowsConfig(fastest_arrival_km_s=10.0)
    noise = noise_before(trace, 50.0, windows, settings, 10.0)  # 5560 km / 10 km/s = 556 s
    assert len(noise) == 30 + 55
    early = noise_before(trace, 50.0, [Candidate("T", "minor", "x", 20, 200)], settings, 10.0)
    assert len(early) == 30 + 20


def test_correlation_time_of_a_known_process():
    """First-order autoregressive noise, correlated by exp(-10 / 35) from sample to sample."""
    rng = np.random.default_rng(6)
    noise = np.zeros(200_000)
    for j in range(1, len(noise)):
        noise[j] = np.exp(-10.0 / 35.0) * noise[j - 1] + rng.standard_normal()
    assert correlation_time_s(noise, 10.0) == pytest.approx(35.0, rel=0.03)
    assert correlation_time_s(np.array([1.0, -1.0, 1.0]), 10.0) == 0.0
    assert correlation_time_s(np.zeros(1), 10.0) == 0.0


GOOD = {
    "noise_rms_m": 1e-6, "observed_rms_m": 1e-5, "synthetic_rms_m": 1e-5, "signal_to_noise": 10.0, "correlation": 0.9,
    "shift_s": 5.0, "amplitude_ratio": 1.1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({}, "", ""),
        ({"signal_to_noise": 2.5}, "noise", "signal to noise 2.5; allowed: at least 3"),
        ({"signal_to_noise": float("nan")}, "noise", "allowed: at least 3"),
        ({"correlation": 0.7}, "correlation", "correlation 0.700; allowed: at least 0.75"),
        ({"shift_s": -41.0}, "time shift", "time shift -41.0 s; allowed: 40 s either way"),
        ({"amplitude_ratio": 2.6}, "amplitude", "amplitude ratio 2.6; allowed: 0.4 to 2.5"),
        ({"amplitude_ratio": 0.3}, "amplitude", "amplitude ratio 0.3; allowed: 0.4 to 2.5"),
        ({"synthetic_rms_m": 0.0}, "no synthetic", "zero"),
    ],
)
def test_each_criterion(change, code, words):
    from craton.tomography.waveforms.windows import Agreement

    found, reason = verdict(Agreement(**{**GOOD, **change}), WindowsConfig())
    assert found == code
    assert words in reason


def test_criteria_are_settings():
    from craton.tomography.waveforms.windows import Agreement

    strict = dataclasses.replace(WindowsConfig(), min_correlation=0.95)
    assert verdict(Agreement(**GOOD), strict)[0] == "correlation"
