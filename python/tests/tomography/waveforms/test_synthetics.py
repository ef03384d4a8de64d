"""Synthetic seismograms from outside: what another solver has written comes back in the band, on the inversion's times."""

import dataclasses
import functools
import sys
from pathlib import Path

import numpy as np
import pytest

obspy = pytest.importorskip("obspy", reason="ObsPy is not installed")

from craton import _craton
from craton.errors import UserError
from craton.tomography.data.catalogue import Events, Stations
from craton.tomography.data.paths import PathTable
from craton.tomography.waveforms.config import load_waveform_config
from craton.tomography.waveforms.records.rotation import back_azimuth_deg, component_vector
from craton.tomography.waveforms.records.spectra import in_band, triangle_gain
from craton.tomography.waveforms.synthetics import predicted, synthetic_source
from obspy import Stream, UTCDateTime
from waveform_files import CENTROID, trace, wave_train

PERIODS = (400.0, 250.0, 100.0, 80.0)
PLACE, STATION = (54.54, 153.94), (32.77, -113.77)
TOWARD = back_azimuth_deg(PLACE, STATION)
EVENTS = Events(
    ("E1",), (CENTROID,), np.array([PLACE[0]]), np.array([PLACE[1]]), np.array([100.0]), np.array([30.0]),
    np.array([[-1.75e21, 4.11e20, 1.34e21, -8.96e20, -3.69e21, 1.99e20]]), ("",),
)  # fmt: skip
STATIONS = Stations(("AE.113A",), np.array([STATION[0]]), np.array([STATION[1]]), np.zeros(1))
FINE_S = np.arange(-100.0, 5000.0, 0.5)
RADIAL, TRANSVERSE, UP = (
    wave_train(FINE_S, 1800.0),
    wave_train(FINE_S, 1500.0, 110.0),
    wave_train(FINE_S, 2000.0, 200.0),
)
SAMPLES = 450


@pytest.fixture
def source(tmp_path):
    """A function: settings of [synthetics] to a source."""
    (tmp_path / "a.toml").write_text("")

    def make(**settings):
        config = load_waveform_config(tmp_path / "a.toml").replaced("synthetics", **settings)
        return synthetic_source(config, EVENTS, STATIONS, SAMPLES)

    return make


def components():
    """Z, N and E of the ground motion."""
    ground = np.outer(RADIAL, component_vector("R", TOWARD)) + np.outer(TRANSVERSE, component_vector("T", TOWARD))
    return {"Z": UP, "N": ground[:, 1].copy(), "E": ground[:, 2].copy()}


def write_ascii(folder: Path, **more: np.ndarray) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for letter, samples in {**components(), **more}.items():
        np.savetxt(folder / f"AE.113A.MX{letter}.sem.ascii", np.column_stack([FINE_S, samples]))
    return folder


def in_the_band(samples, transfer=lambda f: 1.0):
    return in_band(samples, -100.0, 0.5, PERIODS, 10.0 * np.arange(SAMPLES), transfer)


def check(found, wanted, bar=1e-6):
    good = np.isfinite(found)
    assert good.sum() > 400
    assert np.max(np.abs(found - wanted)[good]) < bar * np.max(np.abs(wanted))


def test_specfem_ascii(source, tmp_path):
    """Z as it is, R and T from N and E; nothing where the solver has ended."""
    write_ascii(tmp_path / "E1")
    made = source(kind="folder", folder="{event}")
    for component, wanted in (("Z", UP), ("R", RADIAL), ("T", TRANSVERSE)):
        found = made.trace(0, 0, component)
        assert len(found) == SAMPLES
        check(found, in_the_band(wanted))
    cut = tmp_path / "short"
    cut.mkdir()
    end = np.searchsorted(FINE_S, 3000.0)
    np.savetxt(cut / "AE.113A.MXT.sem.ascii", np.column_stack([FINE_S, TRANSVERSE])[:end])
    short = source(kind="folder", folder="short").trace(0, 0, "T")
    assert np.isfinite(short[:280]).all()
    assert np.isnan(short[300:]).all()
    assert source(kind="folder", folder="short").trace(0, 0, "Z") is None


def test_older_specfem_names_begin_with_the_station(source, tmp_path):
    for file in list(write_ascii(tmp_path / "syn").iterdir()):
        file.rename(file.with_name(file.name.replace("AE.113A", "113A.AE")))
    check(source(kind="folder", folder="syn").trace(0, 0, "T"), in_the_band(TRANSVERSE))


@pytest.mark.parametrize("ending", ["_disp_post_mij_conv0000", "_disp_post"])
def test_axisem_text(source, tmp_path, ending):
    """Its names say the station first, and the motion; velocities are none of ours."""
    for file in list(write_ascii(tmp_path / "syn").iterdir()):
        file.rename(file.with_name(f"113A_AE{ending}_{file.name.split('.')[2][-1]}.dat"))
    (tmp_path / "syn" / "113A_AE_velo_post_Z.dat").write_text("not displacement\n")
    for component, wanted in (("Z", UP), ("R", RADIAL), ("T", TRANSVERSE)):
        check(source(kind="folder", folder="syn").trace(0, 0, component), in_the_band(wanted))


def test_an_impulse_is_convolved_with_the_moment_rate(source, tmp_path):
    write_ascii(tmp_path / "syn", T=TRANSVERSE)
    found = source(kind="folder", folder="syn", convolve=True).trace(0, 0, "T")
    check(found, in_the_band(TRANSVERSE, lambda f: triangle_gain(30.0, f)))


@pytest.mark.parametrize("kind", ["MSEED", "SAC", "SAC with origin"])
def test_files_of_obspy(source, tmp_path, kind):
    folder = tmp_path / "syn"
    folder.mkdir()
    for letter, samples in components().items():
        one = trace(f"AE.113A..MX{letter}", samples, UTCDateTime(CENTROID) - 100, 0.5)
        if kind == "SAC with origin":  # seconds from an origin that has no date
            one.stats.starttime = UTCDateTime(1970, 1, 1) - 100
            one.stats.sac = {
                "b": -100.0,
                "o": 0.0,
                "nzyear": 1970,
                "nzjday": 1,
                "nzhour": 0,
                "nzmin": 0,
                "nzsec": 0,
                "nzmsec": 0,
            }
        name = f"AE.113A.MX{letter}.sem.sac" if kind != "MSEED" else f"{letter}.mseed"
        Stream([one]).write(str(folder / name), format="MSEED" if kind == "MSEED" else "SAC")
    (folder / "notes.txt").write_text("other things may lie there")
    made = source(kind="folder", folder="syn")
    for component, wanted in (("Z", UP), ("R", RADIAL), ("T", TRANSVERSE)):
        check(made.trace(0, 0, component), in_the_band(wanted), 1e-5)  # SAC is in single precision


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "allowed: two columns, seconds and metres"),
        ("1 2 3\n4 5 6\n", "allowed: two columns, seconds (evenly spaced) and metres"),
        ("0 1\n1 1\n5 1\n6 1\n", "allowed: two columns, seconds (evenly spaced) and metres"),
        ("0 1\n1 nan\n2 1\n3 1\n", "holds samples that are not finite"),
        ("0 1\n50 1\n100 1\n150 1\n", "samples every 50 s; allowed: 40 s"),
        ("0 1\n1e-9 1\n2e-9 1\n3e-9 1\n", "samples every 1e-09 s; allowed: 40 s"),
        ("0 1\n1e-320 1\n2e-320 1\n", "or less, down to 0.001 s"),
        ("0 1\ninf 1\n2 1\n3 1\n", "allowed: two columns, seconds (evenly spaced) and metres"),
        ("0 1\n1 -1e300\n2 1\n3 1\n", "holds samples that are not finite, or above 1e+30; allowed: metres"),
        ("time u\n", "allowed: two columns, seconds and metres"),
    ],
)
@pytest.mark.filterwarnings("error")  # another line on the terminal
def test_damaged_ascii(source, tmp_path, text, words):
    folder = tmp_path / "syn"
    folder.mkdir()
    (folder / "AE.113A.MXT.sem.ascii").write_text(text)
    with pytest.raises(UserError) as caught:
        source(kind="folder", folder="syn").trace(0, 0, "T")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_folders(source):
    with pytest.raises(UserError, match="no folder .*E1; allowed: a folder of seismograms"):
        source(kind="folder", folder="{event}").trace(0, 0, "T")
    with pytest.raises(UserError, match="folder is missing; allowed: a folder"):
        source(kind="folder")
    with pytest.raises(UserError, match="database is missing; allowed: a folder"):
        source(kind="instaseis")


def test_modes_are_the_inversions_own(tmp_path):
    """The very samples that the compiled forward problem gives, on each component."""
    made = long_periods(tmp_path)
    earth, toroidal, spheroidal = modes_of_prem()
    basis = _craton.ModelBasis(2, np.linspace(earth.cmb_radius_m, earth.surface_radius_m, 5))
    forward = _craton.ForwardProblem(toroidal, basis, LONG_PERIODS, "pava", spheroidal)
    table = PathTable(
        EVENTS, STATIONS, np.zeros(3, int), np.zeros(3, int), np.array([800.0, 1500.0, 1200.0]), np.array([50, 70, 60]),
        10.0, ("T", "Z", "R"),
    )  # fmt: skip
    wanted = np.asarray(forward.seismograms(table.path_set(forward), 0, 3, np.zeros(basis.size), 1))
    for part in (slice(0, 50), slice(50, 120), slice(120, 180)):
        assert np.abs(wanted[part]).max() > 1e-7
        assert predicted(made, table)[part] == pytest.approx(wanted[part], abs=1e-9 * np.abs(wanted[part]).max())
    assert made.describe() == "toroidal modes of prem_isotropic"  # of a configuration that asks for T


def test_complete_modes_are_all_of_them(tmp_path):
    """Each component is the whole sum.

    Z has no toroidal part, and a seismometer feels 0.3% of gravity there; R and T of the inversion lack the other type's part.
    """
    _, toroidal, spheroidal = modes_of_prem()
    own, made = long_periods(tmp_path), long_periods(tmp_path, complete=True)
    whole = _craton.ModeSynthetics(spheroidal, toroidal, LONG_PERIODS, seismometer=True)
    place = (np.array([value]) for value in STATION)
    wanted = whole.seismograms(*PLACE, 100e3, EVENTS.moment_tensor_Nm[0], *place, 0.0, 10.0, SAMPLES, 30.0)[0]
    for row, (component, least, most) in enumerate((("Z", 1e-4, 0.01), ("R", 0.02, 0.3), ("T", 0.01, 0.3))):
        found = made.trace(0, 0, component)
        assert found == pytest.approx(wanted[row], abs=1e-9 * np.abs(wanted[row]).max())
        off = np.linalg.norm(own.trace(0, 0, component) - found) / np.linalg.norm(found)
        assert least < off < most, component
    assert made.describe() == "all modes of prem_isotropic, as a seismometer shows them"


LONG_PERIODS = (800.0, 500.0, 200.0, 160.0)


def long_periods(folder, **settings):
    """A source of modes whose spheroidal ones take a second."""
    (folder / "a.toml").write_text("")
    config = load_waveform_config(folder / "a.toml").replaced("processing", filter_periods_s=LONG_PERIODS)
    config = config.replaced("modes", shortest_period_s=160.0, cache=str(folder))
    return synthetic_source(config.replaced("synthetics", kind="modes", **settings), EVENTS, STATIONS, SAMPLES)


@functools.cache
def modes_of_prem():
    """Isotropic PREM with both types of modes as the inversion's configuration has them."""
    earth = _craton.EarthModel.prem_isotropic()
    return earth, _craton.ModeCatalogue.solve(earth, 160.0), _craton.SpheroidalCatalogue.solve(earth, 160.0)


def test_predicted_windows_from_a_folder(source, tmp_path):
    write_ascii(tmp_path / "syn")
    made = source(kind="folder", folder="syn")
    columns = (np.array([0, 0]), np.array([0, 0]), np.array([1200.0, 1500.0]), np.array([40, 60]), 10.0, ("T", "Z"))
    found = predicted(made, PathTable(EVENTS, STATIONS, *columns))
    wanted = np.concatenate([in_the_band(TRANSVERSE)[120:160], in_the_band(UP)[150:210]])
    assert found == pytest.approx(wanted, abs=1e-6 * np.abs(wanted).max())
    late = PathTable(EVENTS, STATIONS, columns[0], columns[1], np.array([1200.0, 4900.0]), *columns[3:])
    with pytest.raises(
        UserError, match=r"no Z seismogram for path 1 \(event E1, station AE.113A\) at 4900 s and the 60 samples"
    ):
        predicted(made, late)


# ---------------------------------------------------------------------------------------------------------- Instaseis


def test_instaseis_agrees_with_modes(tmp_path, shared_database):
    """The transverse component of a database of 100 s in its band, against the mode sum of the same Earth.

    Its source divided out and a triangle put in; no attenuation; at 50 degrees, where the spheroidal motion on T is small.
    """
    (tmp_path / "a.toml").write_text("")
    config = load_waveform_config(tmp_path / "a.toml")
    config = config.replaced("processing", filter_periods_s=(600.0, 400.0, 140.0, 110.0), taper_s=300.0)
    config = config.replaced("earth", model="prem_iso_light", dispersion=False, attenuation=False)
    station = Stations(("AE.113A",), np.array([54.54 - 50.0]), np.array([153.94]), np.zeros(1))
    modes, database = (
        synthetic_source(config.replaced("synthetics", kind=kind, database=str(shared_database)), EVENTS, station, 130)
        for kind in ("modes", "instaseis")
    )
    mine, theirs = modes.trace(0, 0, "T"), database.trace(0, 0, "T")
    part = slice(70, 125)
    a, b = mine[part], theirs[part]
    assert np.isfinite(b).all()
    assert a @ b / np.sqrt((a @ a) * (b @ b)) > 0.98
    assert np.sqrt((a @ a) / (b @ b)) == pytest.approx(1.0, abs=0.05)
    for component in ("Z", "R"):
        assert np.isfinite(database.trace(0, 0, component)[part]).all()


def test_instaseis_errors(tmp_path, shared_database):
    (tmp_path / "a.toml").write_text("")
    config = load_waveform_config(tmp_path / "a.toml").replaced("modes", shortest_period_s=50.0)
    config = config.replaced("processing", filter_periods_s=(400.0, 200.0, 60.0, 50.0))
    with pytest.raises(
        UserError, match="of 100 s, while .* ends at 50 s; allowed: a band that ends at 100 s or above"
    ) as caught:
        synthetic_source(
            config.replaced("synthetics", kind="instaseis", database=str(shared_database)), EVENTS, STATIONS, 100
        )
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match="allowed: a folder of AxiSEM's"):
        synthetic_source(config.replaced("synthetics", kind="instaseis", database="none"), EVENTS, STATIONS, 100)


def test_without_instaseis(source, monkeypatch):
    monkeypatch.setitem(sys.modules, "instaseis", None)
    with pytest.raises(
        UserError, match="the package instaseis is not installed; allowed: pip install instaseis, or kind"
    ):
        source(kind="instaseis", database="somewhere")


@pytest.fixture(scope="module")
def shared_database():
    import os

    pytest.importorskip("instaseis", reason="the instaseis package is not installed")
    shared = Path(os.environ.get("CRATON_SHARED", Path(__file__).resolve().parents[4].parent / "shared"))
    folder = shared / "data" / "instaseis_100s"
    if not folder.is_dir():
        pytest.skip(f"the database of Green's functions is not at {folder} (set CRATON_SHARED)")
    return folder


class Wavelet:
    """A source of one smooth pulse, known at any time."""

    def __init__(self, samples):
        self.samples = samples

    def at(self, time_s):
        return np.exp(-(((time_s - 400.0) / 60.0) ** 2)) * np.cos(time_s / 20.0)

    def describe(self):
        return "a wavelet"

    def trace(self, event, station, component):
        return self.at(10.0 * np.arange(self.samples))


def test_windows_between_samples():
    """Times that corrections have moved, also to before the source, and gains."""
    first_s, count = np.array([200.0, 203.7, 296.2, -13.0]), np.array([30, 30, 20, 40])
    gain = np.array([1.0, 2.0, 0.5, 3.0])
    table = PathTable(EVENTS, STATIONS, np.zeros(4, int), np.zeros(4, int), first_s, count, 10.0, gain=gain)
    source = Wavelet(100)
    found = np.split(predicted(source, table), table.offsets[1:-1])
    for window, begin_s, factor in zip(found, first_s, gain, strict=True):
        np.testing.assert_allclose(window, factor * source.at(begin_s + 10.0 * np.arange(len(window))), atol=1e-6)
    late = Wavelet(100)
    late.trace = lambda *of: np.where(np.arange(100) < 15, np.nan, source.trace(*of))  # a record that begins at 150 s
    window = predicted(late, dataclasses.replace(table, t_first_s=np.array([200.0, 203.7, 296.2, 250.5])))
    np.testing.assert_allclose(window[30:60], 2.0 * source.at(203.7 + 10.0 * np.arange(30)), atol=1e-4)
    with pytest.raises(UserError, match=r"at 203.7 s and the 90 samples"):
        predicted(source, dataclasses.replace(table, samples=np.array([30, 90, 20, 40])))
