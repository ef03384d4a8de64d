"""From counts to displacement: the filter is the inversion's, the instrument goes, channels of any orientation make Z, R, T."""

import numpy as np
import pytest
from craton import _craton

pytest.importorskip("obspy", reason="ObsPy is not installed")

from craton.tomography.config.tables import DataConfig
from craton.tomography.data.band import band_pass_gain
from craton.tomography.waveforms.config import ProcessingConfig
from craton.tomography.waveforms.records.channels import Unusable, whole_channel
from craton.tomography.waveforms.records.processing import component_of, displacement_of
from craton.tomography.waveforms.records.responses import Instruments
from craton.tomography.waveforms.records.rotation import (
    back_azimuth_deg,
    channel_vector,
    channel_weights,
    component_vector,
)
from craton.tomography.waveforms.records.spectra import in_band, triangle_gain, with_ends_tapered
from obspy import UTCDateTime
from waveform_files import CENTROID, counts_of, inventory, trace, wave_train

PERIODS = (400.0, 250.0, 100.0, 80.0)
MOMENT = np.array([[0.3e20, -1.1e20, 0.8e20, 1.2e20, -0.7e20, 0.5e20]])


def mode_sum(periods_s, times, shortest_period_s, attenuation, distance_deg=70.0, half_duration_s=0.0):
    """Transverse displacement of the compiled forward problem, reference Earth."""
    earth = _craton.EarthModel.prem_isotropic()
    modes = _craton.ModeCatalogue.solve(earth, shortest_period_s, dispersion=False, attenuation=attenuation)
    basis = _craton.ModelBasis(1, np.linspace(earth.cmb_radius_m, earth.surface_radius_m, 4))
    forward = _craton.ForwardProblem(modes, basis, periods_s)
    one, zero = np.zeros(1, np.int64), np.zeros(1)
    paths = _craton.PathSet(
        forward, zero, zero, np.array([3e4]), MOMENT, np.array([half_duration_s]), zero, np.array([distance_deg]),
        one, one, times[:1], times[1] - times[0], np.array([len(times)]),
    )  # fmt: skip
    return modes, np.asarray(forward.seismograms(paths, 0, 1, np.zeros(basis.size), 1))


def test_gain_is_that_of_the_compiled_forward_problem():
    """The amplitude of each mode with the filter, over that without: from fits of the modes' cosines to a very long seismogram."""
    times = np.arange(0.0, 4e6, 500.0)
    periods = (1500.0, 900.0, 500.0, 420.0)
    modes, narrow = mode_sum(periods, times, 400.0, False)
    _, wide = mode_sum((1e5, 9e4, 400.002, 400.001), times, 400.0, False)
    omega = modes.arrays()["omega_rad_s"]
    cosines = np.cos(np.outer(times, omega))
    fits = [np.linalg.lstsq(cosines, series, rcond=None)[0] for series in (wide, narrow)]
    strong = np.abs(fits[0]) > 1e-4 * np.abs(fits[0]).max()
    ours = band_pass_gain(periods, omega / (2 * np.pi))
    assert strong.sum() > 15
    assert np.any((ours[strong] > 0.05) & (ours[strong] < 0.95))
    assert fits[1][strong] / fits[0][strong] == pytest.approx(ours[strong], abs=1e-7)


def test_gain_at_its_corners():
    f = 1 / np.array(PERIODS)
    assert band_pass_gain(
        PERIODS, [0.0, f[0], 0.5 * (f[0] + f[1]), f[1], 0.005, f[2], 0.5 * (f[2] + f[3]), f[3], 1.0]
    ) == (pytest.approx([0, 0, 0.5, 1, 1, 1, 0.5, 0, 0], abs=1e-12))
    assert band_pass_gain(PERIODS, -0.005) == 1.0


@pytest.mark.parametrize(("attenuation", "bar"), [(False, 2e-4), (True, 1e-2)])
def test_filtered_wide_seismogram_is_the_mode_sum_of_the_band(attenuation, bar):
    """The filter of observed data on a mode sum of all periods.

    With attenuation they differ by 0.6% of the largest value: a decaying oscillation is not at one frequency, and the mode sum
    weighs it as if it were.
    """
    fine = np.arange(0.0, 9000.0, 2.0)
    _, wide = mode_sum((1e5, 9e4, 65.0, 62.0), fine, 60.0, attenuation)
    times = np.arange(1200.0, 5000.0, 10.0)
    _, wanted = mode_sum(PERIODS, times, 60.0, attenuation)
    found = in_band(with_ends_tapered(wide, 0, 1000), 0.0, 2.0, PERIODS, times, lambda f: 1.0)
    assert np.max(np.abs(found - wanted)) < bar * np.max(np.abs(wanted))


def test_triangle_is_that_of_the_compiled_forward_problem():
    times = np.arange(1200.0, 5000.0, 10.0)
    fine = np.arange(0.0, 9000.0, 2.0)
    _, impulse = mode_sum((1e5, 9e4, 65.0, 62.0), fine, 60.0, False)
    _, wanted = mode_sum(PERIODS, times, 60.0, False, half_duration_s=40.0)
    found = in_band(with_ends_tapered(impulse, 0, 1000), 0.0, 2.0, PERIODS, times, lambda f: triangle_gain(40.0, f))
    assert np.max(np.abs(found - wanted)) < 2e-4 * np.max(np.abs(wanted))


def processed(samples, start_s=-1000.0, delta_s=1.0, azimuth=0.0, dip=0.0, **settings):
    """A channel's samples through the whole processing; the first is at start_s."""
    centroid = UTCDateTime(CENTROID)
    raw = whole_channel([trace("XX.AAA..LHN", samples, centroid + start_s, delta_s)], 10.0)
    station = inventory("XX.AAA", (10.0, 20.0), {".LHN": (azimuth, dip)})
    instrument = Instruments([station]).find(trace("XX.AAA..LHN", samples, centroid), centroid)
    return instrument, displacement_of(raw, instrument, centroid, ProcessingConfig(**settings))


@pytest.mark.parametrize(
    "settings",
    [{}, {"water_level_dB": 60.0}, {"pre_filter_periods_s": (800.0, 450.0, 70.0, 50.0)}, {"sample_interval_s": 7.3}],
)
def test_counts_of_a_known_displacement_give_it_back(settings):
    """The instrument is applied by formula, an offset and a trend are added; what comes back is the displacement in the band."""
    times = np.arange(-1000.0, 6000.0)
    ground = wave_train(times, 2500.0)
    counts = counts_of(ground, 1.0) + 5e3 + 0.3 * np.arange(len(times))
    _, found = processed(counts, **settings)
    interval = settings.get("sample_interval_s", 10.0)
    at = interval * np.arange(found.first, found.end)
    wanted = in_band(ground, -1000.0, 1.0, PERIODS, at, lambda f: 1.0)
    assert at[0] == pytest.approx(-880.0, abs=interval)
    assert at[-1] == pytest.approx(5879.0, abs=interval)
    assert np.max(np.abs(found.samples - wanted)) < 1e-3 * np.max(np.abs(wanted))


def test_water_level_raises_what_is_weak():
    times = np.arange(-1000.0, 6000.0)
    counts = counts_of(wave_train(times, 2500.0, period_s=200.0), 1.0)
    exact, raised = (processed(counts, water_level_dB=level)[1].samples for level in (0.0, 3.0))
    assert np.max(np.abs(raised)) < 0.6 * np.max(np.abs(exact))


def test_channels_of_different_rates_and_starts_come_out_alike():
    centre = 2500.0
    results = []
    for start_s, delta_s in ((-1000.0, 1.0), (-987.654321, 0.5), (-1003.3, 3.7)):
        times = start_s + delta_s * np.arange(int(7000 / delta_s))
        results.append(processed(counts_of(wave_train(times, centre), delta_s), start_s, delta_s)[1])
    first, end = max(r.first for r in results), min(r.end for r in results)
    parts = [r.part(first, end - first) for r in results]
    for other in parts[1:]:
        assert np.max(np.abs(other - parts[0])) < 1e-3 * np.max(np.abs(parts[0]))


ORIENTATIONS = {
    "ZNE": [(0.0, -90.0), (0.0, 0.0), (90.0, 0.0)],
    "Z12": [(0.0, -90.0), (37.0, 0.0), (127.0, 0.0)],
    "turned over": [(0.0, 90.0), (200.0, 0.0), (110.0, 0.0)],
    "UVW": [(90.0, -35.26439), (330.0, -35.26439), (210.0, -35.26439)],
    "not orthogonal": [(12.0, -80.0), (5.0, 3.0), (80.0, -10.0)],
}


@pytest.mark.parametrize("kind", ORIENTATIONS)
@pytest.mark.parametrize("toward", [0.0, 33.0, 250.0])
def test_any_three_channels_make_all_components(kind, toward):
    """Against ObsPy's rotations of the same ground motion."""
    from obspy.signal.rotate import rotate2zne, rotate_ne_rt

    rng = np.random.default_rng(5)
    up, north, east = rng.standard_normal((3, 50))
    vectors = [channel_vector(*orientation) for orientation in ORIENTATIONS[kind]]
    recorded = [v @ np.stack([up, north, east]) for v in vectors]
    zne = rotate2zne(
        *(item for data, orientation in zip(recorded, ORIENTATIONS[kind], strict=True) for item in (data, *orientation))
    )
    radial, transverse = rotate_ne_rt(north, east, toward)
    for component, wanted in zip("ZNERT", (up, north, east, radial, transverse), strict=True):
        weights = channel_weights(vectors, component_vector(component, toward))
        found = weights @ np.stack(recorded)
        assert found == pytest.approx(wanted, abs=1e-5)
    assert zne[0] == pytest.approx(up, abs=1e-5)


def test_two_horizontals_make_horizontals_only():
    vectors = [channel_vector(20.0, 0.0), channel_vector(110.0, 0.0)]
    assert channel_weights(vectors, component_vector("T", 77.0)) is not None
    assert channel_weights(vectors, component_vector("Z", 77.0)) is None
    assert channel_weights(vectors[:1], component_vector("T", 77.0)) is None
    assert channel_weights(vectors[:1], component_vector("T", 110.0)) == pytest.approx([1.0])
    assert channel_weights([], component_vector("Z", 0.0)) is None
    nearly = [channel_vector(0.0, 0.0), channel_vector(5.0, 0.0)]
    assert channel_weights(nearly, component_vector("E", 0.0)) is None


def test_transverse_is_clockwise_about_the_source():
    """A source to the south: radial is north, transverse east. And the sign of the compiled forward problem's azimuth."""
    assert component_vector("R", 180.0) == pytest.approx([0, 1, 0], abs=1e-12)
    assert component_vector("T", 180.0) == pytest.approx([0, 0, 1], abs=1e-12)
    assert back_azimuth_deg((0.0, 0.0), (0.0, 50.0)) == pytest.approx(270.0)
    assert back_azimuth_deg((50.0, 10.0), (10.0, 10.0)) == pytest.approx(0.0, abs=1e-9)


def test_back_azimuth_is_the_compiled_forward_problems():
    """Its azimuth from an event to a station, with the two exchanged."""
    earth = _craton.EarthModel.prem_isotropic()
    modes = _craton.ModeCatalogue.solve(earth, 400.0)
    basis = _craton.ModelBasis(1, np.linspace(earth.cmb_radius_m, earth.surface_radius_m, 4))
    forward = _craton.ForwardProblem(modes, basis, (1000.0, 900.0, 500.0, 420.0))
    rng = np.random.default_rng(3)
    a, b = (np.stack([rng.uniform(-80, 80, 20), rng.uniform(-180, 180, 20)]) for _ in range(2))
    index, ones = np.arange(20), np.ones(20)
    paths = _craton.PathSet(
        forward, *b, 1e4 * ones, np.repeat(MOMENT, 20, axis=0), 0 * ones, *a, index, index, 0 * ones, 10.0, index + 1
    )  # fmt: skip
    for k in range(20):
        found = back_azimuth_deg(tuple(a[:, k]), tuple(b[:, k]))
        difference = (found - np.degrees(paths[k].azimuth_rad) + 180.0) % 360.0 - 180.0
        assert abs(difference) < 1e-6


def test_a_known_ground_motion_is_found_on_r_and_t():
    """Through instruments and odd orientations: R and T of the ground motion that was put in."""
    times = np.arange(-1000.0, 6000.0)
    radial, transverse = wave_train(times, 2000.0), wave_train(times, 2800.0, 120.0)
    toward = 123.0
    ground = radial[:, None] * component_vector("R", toward) + transverse[:, None] * component_vector("T", toward)
    parts = []
    for azimuth in (31.0, 121.0):
        counts = counts_of(ground @ channel_vector(azimuth, 0.0), 1.0)
        parts.append(processed(counts, azimuth=azimuth))
    for component, wanted in (("R", radial), ("T", transverse)):
        found = component_of(component, [part for _, part in parts], [item for item, _ in parts], toward)
        at = 10.0 * np.arange(found.first, found.end)
        exact = in_band(wanted, -1000.0, 1.0, PERIODS, at, lambda f: 1.0)
        assert np.max(np.abs(found.samples - exact)) < 1e-3 * np.max(np.abs(exact))
        assert [channel["channel"] for channel in found.provenance["channels"]] == ["XX.AAA..LHN"] * 2
        assert any("evalresp" in step for step in found.provenance["channels"][0]["steps"])


def test_records_that_cannot_be_processed():
    with pytest.raises(Unusable, match="allowed: 40 s, twice in the shortest period") as caught:
        processed(np.sin(np.arange(300.0)), delta_s=50.0)
    assert caught.value.code == "sampled too rarely"
    with pytest.raises(Unusable, match="200 s are left|199 s are left") as caught:
        processed(np.sin(np.arange(200.0)))
    assert caught.value.code == "too short"


def test_band_means_the_same_as_in_the_inversion():
    """One default, one check."""
    assert ProcessingConfig().filter_periods_s == DataConfig().filter_periods_s
    assert ProcessingConfig().sample_interval_s == DataConfig().sample_interval_s
