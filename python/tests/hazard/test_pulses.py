"""The flat pulse's spectrum, by a sum over its samples."""

from __future__ import annotations

import numpy as np
import pytest
from craton.hazard.motion.pulses import flat_pulse, flat_spectrum, flat_text
from craton.seismology.sources.source_time import read_series


@pytest.mark.parametrize("highest", [0.4, 7.0])
def test_the_spectrum_is_flat_and_ends(highest):
    time, value = flat_pulse(highest)
    assert time[0] == 0 and value.max() == 1 and value[len(value) // 2] == 1
    frequency = highest * np.array([0.1, 0.29, 0.4, 0.5, 0.753, 1.0, 1.5])
    middle = 0.5 * time[-1]
    found = np.array([np.sum(value * np.cos(2 * np.pi * f * (time - middle))) for f in frequency]) / value.sum()
    np.testing.assert_allclose(found, flat_spectrum(frequency, highest), atol=2e-4)
    assert abs(found[0] - 1) < 1e-4 and found[1] > 0.9985 and found[2] > 0.99 and found[3] > 0.95
    assert (
        found[4] == pytest.approx(0.5, abs=0.01) and found[5] == pytest.approx(0.05, abs=1e-3) and abs(found[6]) < 1e-3
    )


def test_waves_read_it(tmp_path):
    """With the highest frequency that it was made for, an integral and its middle as the centre."""
    (tmp_path / "pulse.txt").write_text(flat_text(0.5))
    series = read_series(tmp_path / "pulse.txt")
    assert series.highest_frequency_hz == pytest.approx(0.5, rel=0.02)
    integral, centre = series.pulse_s
    time, value = flat_pulse(0.5)
    assert integral == pytest.approx(value.sum() * (time[1] - time[0]), rel=1e-3)
    assert centre == pytest.approx(0.5 * time[-1], rel=1e-6)
