"""Transverse seismograms against an AxiSEM database of Green's functions: another method, another code, another group.

The database (prem_iso_light, no attenuation, 100 s) is read with the instaseis package. Both records go through the same steps: the
displacement of a Gaussian moment rate, cut and tapered alike, band-passed alike between 120 and 500 s.
"""
import os
from pathlib import Path

import numpy as np
import pytest

from craton import _craton

instaseis = pytest.importorskip("instaseis", reason="the instaseis package is not installed")

SHARED = Path(os.environ.get("CRATON_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
DATABASE = SHARED / "data" / "instaseis_100s"
PAIRS = 10
FINE = 5  # our samples per sample of the database
FLATTENING = 1 / 298.257


def geographic_deg(geocentric_deg):
    return np.degrees(np.arctan(np.tan(np.radians(geocentric_deg)) / (1 - FLATTENING) ** 2))


def gaussian_moment_rate(dt_s, dominant_period_s=100.0):
    """AxiSEM's 'errorf' source: a slip of (1 + erf(3.5 t / T)) / 2."""
    t = dt_s * np.arange(-int(150 / dt_s), int(150 / dt_s) + 1)
    rate = np.exp(-((3.5 * t / dominant_period_s) ** 2))
    return rate / rate.sum()


def band_passed(record, dt_s, periods_s=(600.0, 500.0, 120.0, 100.0)):
    """Cosine taper over the last 300 s, then zero-phase cosine taper in frequency; padded to four times the length."""
    end = int(300 / dt_s)
    cut = record.copy()
    cut[-end:] *= 0.5 * (1 + np.cos(np.linspace(0, np.pi, end)))
    padded = 4 * len(cut)
    f = np.fft.rfftfreq(padded, dt_s)
    f1, f2, f3, f4 = 1 / np.asarray(periods_s)
    gain = np.interp(f, [f1, f2, f3, f4], [0, 1, 1, 0], left=0, right=0)
    gain = 0.5 * (1 - np.cos(np.pi * gain))
    return np.fft.irfft(np.fft.rfft(cut, padded) * gain, padded)[: len(cut)]


def random_pairs():
    """Distances of 45 to 57 degrees: the Love wave has passed when the database's record of 1600 s ends.

    At shorter distances spheroidal modes, which a toroidal sum leaves out, show on the transverse component: they are smaller than the
    toroidal ones by 1 / (l sin(distance)), 4% at 35 degrees and 200 s, and arrive with the Rayleigh wave.
    """
    rng = np.random.default_rng(20150611)
    lat, lon = rng.uniform(-60, 60, PAIRS), rng.uniform(-180, 180, PAIRS)
    depth_m = rng.uniform(20e3, 360e3, PAIRS)
    moment = 1e20 * rng.normal(size=(PAIRS, 6))
    azimuth, distance = rng.uniform(0, 2 * np.pi, PAIRS), np.radians(rng.uniform(45, 57, PAIRS))
    a = np.radians(lat)
    b = np.arcsin(np.sin(a) * np.cos(distance) + np.cos(a) * np.sin(distance) * np.cos(azimuth))
    step = np.arctan2(np.sin(azimuth) * np.sin(distance) * np.cos(a), np.cos(distance) - np.sin(a) * np.sin(b))
    return lat, lon, depth_m, moment, np.degrees(b), (lon + np.degrees(step) + 180) % 360 - 180


@pytest.fixture(scope="module")
def records():
    if not DATABASE.is_dir():
        pytest.skip(f"the database of Green's functions is not at {DATABASE} (set CRATON_SHARED)")
    database = instaseis.open_db(str(DATABASE))
    dt, shift, samples = database.info.dt, database.info.src_shift, database.info.npts
    lat, lon, depth_m, moment, station_lat, station_lon = random_pairs()

    earth = _craton.EarthModel.prem_iso_light()
    modes = _craton.ModeCatalogue.solve(earth, 55.0, dispersion=False, attenuation=False)
    basis = _craton.ModelBasis(1, np.linspace(earth.cmb_radius_m, earth.surface_radius_m, 4))
    # Wide open towards long periods, and closed only where the Gaussian has left nothing.
    forward = _craton.ForwardProblem(modes, basis, (1e5, 9e4, 60.0, 55.0))
    count = FINE * samples
    index = np.arange(PAIRS)
    paths = _craton.PathSet(forward, geographic_deg(lat), lon, depth_m, moment, np.zeros(PAIRS), geographic_deg(station_lat), station_lon,
                            index, index, np.full(PAIRS, -shift), dt / FINE, np.full(PAIRS, count))
    # The step response from rest: g lacks the static offset, which without attenuation is -g(0).
    origin = _craton.PathSet(forward, geographic_deg(lat), lon, depth_m, moment, np.zeros(PAIRS), geographic_deg(station_lat), station_lon,
                             index, index, np.zeros(PAIRS), 1.0, np.ones(PAIRS, dtype=np.int64))
    model = np.zeros(basis.size)
    ours = forward.seismograms(paths, 0, PAIRS, model).reshape(PAIRS, count)
    ours = ours - forward.seismograms(origin, 0, PAIRS, model)[:, None]
    ours[:, -shift + dt / FINE * np.arange(count) < 0] = 0

    out = []
    rate = gaussian_moment_rate(dt / FINE)
    for i in range(PAIRS):
        names = ("m_rr", "m_tt", "m_pp", "m_rt", "m_rp", "m_tp")
        source = instaseis.Source(lat[i], lon[i], depth_m[i], **dict(zip(names, moment[i], strict=True)))
        receiver = instaseis.Receiver(station_lat[i], station_lon[i])  # geocentric, as the source's
        theirs = database.get_seismograms(source, receiver, components=("T",), remove_source_shift=False, return_obspy_stream=False)["T"]
        mine = np.convolve(ours[i], rate, mode="same")[::FINE]
        out.append((band_passed(mine, dt), band_passed(np.asarray(theirs, dtype=float), dt)))
    return out


@pytest.mark.parametrize("pair", range(PAIRS))
def test_transverse_seismogram_agrees_with_axisem(records, pair, record_property):
    mine, theirs = records[pair]
    correlation = mine @ theirs / np.sqrt((mine @ mine) * (theirs @ theirs))
    amplitude = np.sqrt((mine @ mine) / (theirs @ theirs))
    record_property("correlation", correlation)
    record_property("amplitude", amplitude)
    print(f"pair {pair}: correlation {correlation:.5f}, amplitude ratio {amplitude:.4f}")
    assert correlation >= 0.98
    assert abs(amplitude - 1) <= 0.05
