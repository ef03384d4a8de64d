"""Response spectra and other intensity measures against analysis and against packages that share no code with them."""

from __future__ import annotations

import numpy as np
import pytest
from craton import UserError
from craton.hazard import measure_records, response_spectra

PERIODS_S = np.array([2.0, 3.0, 5.0, 10.0])


def one(acceleration, dt, periods=PERIODS_S, damping=0.05):
    """PSA of a series."""
    return response_spectra(np.asarray(acceleration)[None, None], dt, periods, damping=damping, rotated=False)[0][0, 0]


def ricker(frequency, t):
    a = (np.pi * frequency * t) ** 2
    return (1 - 2 * a) * np.exp(-a)


def shaken(random, dt, seconds=120.0):
    """Three components of made-up ground motion, m/s^2.

    Noise with a spectrum that falls off on both sides (Brune's, and a low cut) under an envelope of its own, some longer some
    shorter, at rest before and after.
    """
    t = np.arange(0, seconds, dt)
    corner, top = 10 ** random.uniform(-1.2, 0.3), 10 ** random.uniform(0.0, 0.7)
    start, rise, fall = random.uniform(2, 10), random.uniform(1, 8), random.uniform(3, 12)
    since = np.maximum(t - start, 0) / rise
    envelope = since * np.exp(1 - since) ** (rise / fall)
    frequency = np.fft.rfftfreq(2 * len(t), dt)
    shape = (
        frequency**2 / (frequency**2 + corner**2) / (1 + (frequency / top) ** 4) * (frequency / (frequency + 0.02)) ** 2
    )
    noise = np.fft.rfft(random.standard_normal((3, len(t))) * envelope, 2 * len(t)) * shape
    return np.fft.irfft(noise, axis=1)[:, : len(t)] * np.clip((t - start + 1) / 1, 0, 1) * np.clip((80 - t) / 5, 0, 1)


RECORDS, DT_S = 50, 0.01
REST = 24000
"""Samples after a record, in which oscillators come to rest: pyrotd works in frequency, where what swings on comes
round."""


@pytest.fixture(scope="module")
def records():
    random = np.random.default_rng(2026)
    return np.array([shaken(random, DT_S) for _ in range(RECORDS)])


def test_a_step_overshoots_as_analysis_says():
    assert one(np.ones(40000), 0.001) == pytest.approx(1.854468, abs=2e-6)


def test_what_is_missed_between_samples():
    """The same straight lines with sixteen times as many samples: what the coarse ones miss is within what intensity.py says."""
    random, dt, fine = np.random.default_rng(4), 0.2, 16
    worst = 0.0
    for _ in range(40):
        coarse = shaken(random, dt)[0]
        at = np.arange((len(coarse) - 1) * fine + 1) / fine
        lines = np.interp(at, np.arange(len(coarse)), coarse)
        psa, all_of_it = one(coarse, dt), one(lines, dt / fine)
        bound = (1 - np.cos(np.pi * dt / PERIODS_S)) * (1 + np.abs(coarse).max() / all_of_it)
        missed = 1 - psa / all_of_it
        assert np.all(missed >= -1e-12) and np.all(missed <= 1.05 * bound)
        worst = max(worst, float(missed[0]))
    print(f"10 samples in 2 s: up to {100 * worst:.2g} % missed")
    assert worst > 0.01


def test_of_a_ricker_wavelet():
    """Sampled every 0.05 s, and straight between."""
    t = np.arange(-20, 40, 0.05)
    assert one(ricker(0.25, t), 0.05) == pytest.approx([1.705496, 2.371027, 1.522752, 0.350462], abs=1e-6)


@pytest.mark.parametrize("count", [5, pytest.param(RECORDS, marks=pytest.mark.long)])
def test_psa_is_what_eqsig_says(records, count):
    eqsig = pytest.importorskip("eqsig", reason="eqsig is not installed: pip install 'craton[test]'")
    some = records[:count]
    found, _, _ = response_spectra(some, DT_S, PERIODS_S, rotated=False)
    wanted = np.array(
        [[eqsig.sdof.pseudo_response_spectra(a, DT_S, PERIODS_S, 0.05)[2] for a in record] for record in some]
    )
    difference = np.abs(found / wanted - 1).max()
    print(f"PSA of {count} records, 3 components, 4 periods: at most {difference:.2e} from eqsig's")
    assert difference <= 1e-3


@pytest.mark.parametrize("count", [3, pytest.param(RECORDS, marks=pytest.mark.long)])
def test_rotated_measures_are_what_pyrotd_says(records, count):
    pyrotd = pytest.importorskip("pyrotd", reason="pyrotd is not installed: pip install 'craton[test]'")
    pyrotd.processes = 1
    some = records[:count]
    _, rotd50, rotd100 = response_spectra(some, DT_S, PERIODS_S)
    wanted = []
    for x, y, _ in np.pad(some, ((0, 0), (0, 0), (0, REST))):
        table = pyrotd.calc_rotated_spec_accels(DT_S, x, y, 1 / PERIODS_S, 0.05, percentiles=[50, 100])
        wanted.append(table["spec_accel"].reshape(len(PERIODS_S), 2))
    wanted = np.array(wanted)
    median, largest = (np.abs(found / wanted[:, :, n] - 1).max() for n, found in enumerate((rotd50, rotd100)))
    print(f"of {count} records, 4 periods: RotD50 at most {median:.2e}, RotD100 {largest:.2e} from pyrotd's")
    assert median <= 1e-3 and largest <= 1e-3


def test_all_measures_of_a_velocity():
    """A burst whose acceleration, peaks and duration are known."""
    dt = 0.005
    t = np.arange(0, 40, dt)
    envelope = np.exp(-0.5 * ((t - 20) / 2) ** 2)
    phase = 2 * np.pi * 3 * (t - 20)
    velocity = np.stack([envelope * np.sin(phase), 2 * envelope * np.cos(phase), 0 * t])
    acceleration = np.stack(
        [
            envelope * (6 * np.pi * np.cos(phase) - (t - 20) / 4 * np.sin(phase)),
            2 * envelope * (-6 * np.pi * np.sin(phase) - (t - 20) / 4 * np.cos(phase)),
            0 * t,
        ]
    )
    found = measure_records(velocity[None].astype(np.float32), dt, [0.0, 1.0])
    assert found.pga[0] == pytest.approx(np.abs(acceleration).max(axis=1), rel=1e-4)
    assert found.pgv[0] == pytest.approx(np.abs(velocity).max(axis=1), rel=1e-6)
    assert found.psa[0, :, 0] == pytest.approx(found.pga[0])
    assert found.psa[0, 1, 1] == pytest.approx(one(acceleration[1], dt, [1.0])[0], rel=1e-4)
    assert found.geometric_mean[0] == pytest.approx(np.sqrt(found.psa[0, 0] * found.psa[0, 1]))
    # the Arias integral of a Gaussian burst is an error function of deviation 2 / sqrt(2)
    assert found.duration_5_95[0, :2] == pytest.approx(2 * 1.644854 * 2 / np.sqrt(2), rel=0.02)
    assert found.duration_5_75[0, :2] == pytest.approx((1.644854 + 0.674490) * 2 / np.sqrt(2), rel=0.03)
    assert found.duration_5_95[0, 2] == 0
    table = found.table()
    assert table.shape == (1, len(found.columns()))
    at = dict(zip(found.columns(), table[0], strict=True))
    assert at["psa_y_1"] == found.psa[0, 1, 1] and at["rotd50_0"] == found.rotd50[0, 0] and at["pgv_z"] == 0
    assert at["rotd100_1"] >= at["rotd50_1"] > 0


def test_without_a_horizontal_component_nothing_is_rotated():
    found = measure_records(np.ones((2, 2, 10), np.float32), 0.1, PERIODS_S, components=("x", "z"))
    assert found.rotd50.shape == found.geometric_mean.shape == (2, 0)
    assert found.table().shape == (2, len(found.columns()))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"damping": 0.0}, "damping 0; allowed"),
        ({"damping": 1.5}, "damping 1.5; allowed"),
        ({"periods_s": [2.0, -1.0]}, "period -1 s; allowed"),
        ({"periods_s": [np.nan]}, "period nan s; allowed"),
        ({"dt_s": 0.0}, "every 0 s; allowed"),
        ({"velocity": np.ones((2, 3), np.float32)}, "velocities of shape (2, 3); allowed"),
        ({"velocity": np.full((1, 3, 9), np.nan, np.float32)}, "not finite; allowed"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, words):
    given = {"velocity": np.ones((1, 3, 9), np.float32), "dt_s": 0.1, "periods_s": [2.0]} | arguments
    with pytest.raises(UserError) as error:
        measure_records(**given)
    assert words in str(error.value)
