"""From raw counts to accepted windows, and on into an inversion: real records, real responses, a real moment tensor.

The earthquake is the one of 24 May 2013 below the Sea of Okhotsk (Mw 8.3, 607 km), recorded in Arizona and Alaska; MiniSEED,
StationXML and QuakeML are those that pyasdf brings. ObsPy itself brings three more. The earthquake of 9 June 1994 below Bolivia
(Mw 8.2) on a vertical seismometer in the Arctic, with the instrument in the record's header, goes all the way. A long-period record
of one horizontal channel with its StationXML goes to displacement. One of three channels has no response.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import craton

obspy = pytest.importorskip("obspy", reason="ObsPy is not installed")

from craton.errors import UserError
from craton.tomography.waveforms.config import load_waveform_config
from craton.tomography.waveforms.decisions import Ledger
from craton.tomography.waveforms.preparation import prepare
from craton.tomography.waveforms.table import WindowTable
from craton.tomography.waveforms.window_folder import make_windows, summary
from helpers import environment_without_mpi
from waveform_files import CENTROID, OKHOTSK, cmtsolution, okhotsk_files, wave_train


@pytest.fixture(scope="module")
def okhotsk(tmp_path_factory):
    """A folder with the records and okhotsk.toml."""
    folder = okhotsk_files(tmp_path_factory.mktemp("okhotsk"))
    (folder / "okhotsk.toml").write_text(OKHOTSK)
    return folder


@pytest.fixture(scope="module")
def prepared(okhotsk):
    """The command's own work, once."""
    config = load_waveform_config(okhotsk / "okhotsk.toml").replaced("output", directory=str(okhotsk / "out"))
    return make_windows(config)


def test_raw_counts_to_accepted_windows(prepared):
    """Four windows on two stations, which the mode sum of PREM predicts: nothing was fitted to them."""
    table = prepared.table
    assert [(table.stations.name[w.station], w.arc, w.phase) for w in table.accepted] == [
        ("AE.113A", "minor", "overtones"),
        ("AE.113A", "minor", "fundamental"),
        ("TA.POKR", "minor", "overtones"),
        ("TA.POKR", "minor", "fundamental"),
    ]
    for window in table.accepted:
        assert window.quality["correlation"] > 0.8
        assert abs(window.quality["shift_s"]) < 20
        assert 0.7 < window.quality["amplitude_ratio"] < 1.4
        assert window.quality["signal_to_noise"] > 5
        rms = np.sqrt(np.mean(window.observed**2))
        assert window.sigma_m == pytest.approx(np.hypot(window.quality["noise_rms_m"], 0.05 * rms))
    near = [w.quality for w in table.accepted if table.stations.name[w.station] == "TA.POKR"]
    assert min(q["correlation"] for q in near) > 0.99
    assert all(0.9 < q["amplitude_ratio"] < 1.0 for q in near)
    # the record ends before anything comes the long way round
    assert {w.code for w in table.rejected} == {"not recorded"}
    assert {w.arc for w in table.rejected} == {"major"}


def test_every_step_is_in_the_file(prepared, okhotsk):
    """Provenance: files, spans, responses, steps; the rotation of a channel that is not quite east."""
    with h5py.File(okhotsk / "out" / "data.h5") as file:
        traces = [json.loads(text) for text in file["provenance"].asstr()[:]]
        assert file.attrs["filter_periods_s"].tolist() == [400.0, 250.0, 100.0, 80.0]
        assert "toroidal modes" in file.attrs["origin"]
    by_station = {trace["station"]: trace for trace in traces}
    east, north = by_station["AE.113A"]["channels"]
    assert (east["channel"], east["azimuth_deg"], north["azimuth_deg"]) == ("AE.113A..BHE", 84.7, 354.7)
    assert Path(east["files"][0]).name == "AE.113A..BHE.mseed"
    assert east["span"] == ["2013-05-24T05:40:00.000000Z", "2013-05-24T06:50:00.000000Z"]
    assert "6.30907e+08 counts per M/S" in east["response"]
    assert [step.split()[0] for step in east["steps"]] == ["linear", "tapered", "response", "band-pass", "evaluated"]
    record = json.loads((okhotsk / "out" / "windows.json").read_text())
    assert record["accepted_windows"] == 4
    assert {"stage": "window", "code": "not recorded", "count": 4} in record["reasons"]
    assert any(d["subject"] == "TA.POKR..BHZ" and d["accepted"] for d in record["decisions"])


PAGE = Path(__file__).resolve().parents[4] / "docs" / "tomography_data.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_snippet_of_the_page(prepared, okhotsk, monkeypatch):
    """D - g(m), as docs/tomography_data.md has it."""
    import re

    [snippet] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(okhotsk)
    names = {"my.toml": "okhotsk.toml", "my-data": "out"}
    for name, mine in names.items():
        snippet = snippet.replace(name, mine)
    exec(compile(snippet, "tomography_data.md", "exec"), found := {})
    assert len(found["residual"]) == 161
    assert 0.1 < found["residual"].std() / found["data"].observed.std() < 0.5


def test_pictures(prepared, okhotsk):
    from matplotlib.image import imread

    for name in ("record_section.png", "reasons.png"):
        picture = imread(okhotsk / "out" / name)
        assert min(picture.shape[:2]) > 100
        assert picture.std() > 0.02


def test_windows_go_into_an_inversion(prepared, okhotsk, small_config, tmp_path):
    """The folder's tables and data.h5 as an inversion's input: a step that explains more of the four windows."""
    from craton.tomography.start import run

    out = okhotsk / "out"
    periods = (400.0, 250.0, 100.0, 80.0)
    config = (
        small_config.replaced("run", directory=str(tmp_path / "run"))
        .replaced("modes", shortest_period_s=80.0)
        .replaced("data", kind="file", file=str(out / "data.h5"), filter_periods_s=periods, sample_interval_s=10.0)
        .replaced("events", file=str(out / "earthquakes.csv"))
        .replaced("stations", file=str(out / "stations.csv"))
        .replaced("inversion", max_iterations=1, block=16)
    )
    record = run(config, report=False)
    assert record.paths == 4
    first, last = record.iterations[0], record.iterations[-1]
    assert first.variance_reduction > 0.5  # PREM explains most of them already
    assert last.variance_reduction > first.variance_reduction + 0.01


def test_commands(okhotsk, tmp_path):
    """Check and windows, as they are typed; a folder with results is not overwritten."""
    config = okhotsk / "okhotsk.toml"
    shown = craton("tomography", "data", "check", config, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "TA.POKR..BHN       -308 to +3892 s, 30.2 degrees" in shown.stdout
    (tmp_path / "noise.mseed").write_bytes(b"nothing" * 50)
    wild = tmp_path / "wild.toml"
    wild.write_text(
        f'[input]\nwaveforms = ["{okhotsk}/*.mseed", "noise.mseed"]\nresponses = ["{okhotsk}/*.BH_.xml"]\n'
        f'events = ["{okhotsk}/quake.xml"]\n'
    )
    shown = craton("tomography", "data", "check", wild, cwd=tmp_path)
    assert f"left out: {tmp_path / 'noise.mseed'}: unreadable: " in shown.stdout
    made = craton("tomography", "data", "windows", config, "--no-pictures", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "4 windows accepted, 4 rejected" in made.stdout
    assert sorted(file.name for file in (tmp_path / "okhotsk-data").iterdir()) == [
        "data.h5", "earthquakes.csv", "stations.csv", "windows.json",
    ]  # fmt: skip
    again = craton("tomography", "data", "windows", config, cwd=tmp_path)
    assert again.returncode == 2
    assert again.stderr.count("\n") == 1
    assert "is there already; allowed: another folder, or --overwrite" in again.stderr


@pytest.mark.parametrize(
    ("responses", "wrong", "words"),
    [
        (
            "quake.xml",
            "",
            "no window can be cut, because no channel is usable; most often (6 of 6 times): no response: no file has this",
        ),
        ("*.BH_.xml", "[processing]\nbands = ['LH']\n", "(6 of 6 times): band not used"),
        ("*.BH_.xml", "[windows]\nmin_distance_deg = 150\n", "(6 of 6 times): [windows] allows 150 to 160 degrees"),
    ],
)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_check_says_that_no_window_can_be_cut(okhotsk, tmp_path, responses, wrong, words, options):
    config = okhotsk / "useless.toml"
    config.write_text(OKHOTSK.replace("*.BH_.xml", responses) + wrong)
    shown = craton("tomography", "data", "check", config, *options, cwd=tmp_path)
    assert shown.returncode == 2
    assert words in shown.stderr
    assert f"{config}: no window" in shown.stderr
    assert "; allowed: a channel with a response that recorded an earthquake" in shown.stderr
    assert ("channels with a response" in shown.stdout) == (not options)
    if options:
        assert json.loads(shown.stdout)["usable_channels"] == 0


def test_check_names_the_file_of_settings_that_find_no_earthquake(okhotsk, tmp_path):
    config = okhotsk / "table.toml"
    (okhotsk / "quake.csv").write_text("name,origin_time\n")
    config.write_text(OKHOTSK.replace("quake.xml", "quake.csv"))
    shown = craton("tomography", "data", "check", config, cwd=tmp_path)
    assert shown.returncode == 2
    assert f"{config}: [input] events: no usable earthquake among 0 in 1 files; the last: " in shown.stderr
    assert "; allowed: QuakeML, NDK or CMTSOLUTION, with a moment tensor" in shown.stderr


def test_nothing_accepted_is_one_line_and_a_record(okhotsk, tmp_path):
    config = load_waveform_config(okhotsk / "okhotsk.toml").replaced("output", directory=str(tmp_path / "out"))
    with pytest.raises(UserError, match="none of 8 windows was accepted; most often .* all reasons are in") as caught:
        make_windows(config.replaced("windows", min_correlation=1.0, min_signal_to_noise=1e5))
    assert "\n" not in str(caught.value)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["reasons.png", "windows.json"]


def test_vertical_and_radial_windows_against_sums_of_modes(okhotsk, tmp_path):
    """Rayleigh waves and what comes before them, of real records at both stations.

    Beyond 150 s, where spheroidal modes are few.
    """
    config = load_waveform_config(okhotsk / "okhotsk.toml").replaced("windows", components=["Z", "R"], arcs=["minor"])
    config = config.replaced("processing", filter_periods_s=(500.0, 350.0, 180.0, 150.0))
    config = config.replaced("modes", shortest_period_s=150.0, cache=str(tmp_path))
    prepared = prepare(config)
    windows = prepared.table.windows
    assert prepared.synthetics == "spheroidal modes of prem_isotropic"
    assert [w.component for w in windows if w.accepted].count("Z") == 4
    for window in windows:
        print(window.component, window.phase, window.code, window.reason, window.quality)
    for window in prepared.table.accepted:
        assert window.quality["correlation"] > 0.93
        assert abs(window.quality["shift_s"]) < 25
        assert 0.8 < window.quality["amplitude_ratio"] < 1.4


def test_components_that_the_synthetics_lack(okhotsk, tmp_path):
    """Vertical seismograms are processed; a folder of transverse ones has nothing to pick them against."""
    times_s = np.arange(-300.0, 9000.0, 5.0)
    for station in ("AE.113A", "TA.POKR"):
        np.savetxt(tmp_path / f"{station}.MXT.sem.ascii", np.column_stack([times_s, wave_train(times_s)]))
    config = load_waveform_config(okhotsk / "okhotsk.toml").replaced("windows", components=["Z", "T"], arcs=["minor"])
    found = prepare(config.replaced("synthetics", kind="folder", folder=str(tmp_path))).table
    codes = {letter: {w.code for w in found.windows if w.component == letter} for letter in "ZT"}
    assert codes["Z"] == {"no synthetic"} and codes["T"] and "no synthetic" not in codes["T"]


def test_too_far_and_no_noise(okhotsk):
    config = load_waveform_config(okhotsk / "okhotsk.toml")
    far = prepare(config.replaced("windows", min_distance_deg=40.0))
    assert ("station", "distance") in far.ledger.counts()
    late = prepare(config.replaced("windows", min_noise_s=1000.0, arcs=["minor"]))
    assert {w.code for w in late.table.windows} == {"no noise"}
    assert "left out:" in summary(late)


@pytest.mark.parametrize("kind", ["SAC", "ASDF"])
def test_the_same_from_other_formats(prepared, okhotsk, tmp_path, kind):
    """SAC with CMTSOLUTION, and one ASDF file with everything in it: the same windows, to what rounding leaves."""
    stream = obspy.read(str(okhotsk / "*.mseed")).decimate(8, no_filter=True)
    responses = [okhotsk / "AE.113A..BH_.xml", okhotsk / "TA.POKR..BH_.xml"]
    if kind == "SAC":
        for trace in stream:
            trace.write(str(tmp_path / f"{trace.id}.sac"), format="SAC")
        (tmp_path / "event.cmt").write_text(cmtsolution())
        names = f'waveforms = ["*.sac"]\nresponses = ["{okhotsk}/*.BH_.xml"]\nevents = ["event.cmt"]'
    else:
        from pyasdf import ASDFDataSet

        with ASDFDataSet(str(tmp_path / "all.h5"), mpi=False) as file:
            file.add_waveforms(stream, tag="raw_recording")
            for response in responses:
                file.add_stationxml(str(response))
            file.add_quakeml(str(okhotsk / "quake.xml"))
        names = 'waveforms = ["all.h5"]'
    (tmp_path / "a.toml").write_text(f"[input]\n{names}\n")
    found = prepare(load_waveform_config(tmp_path / "a.toml")).table
    assert found.events.origin_time[0].startswith(CENTROID)
    assert len(found.accepted) == 4
    for mine, theirs in zip(found.accepted, prepared.table.accepted, strict=True):
        assert (mine.t_first_s, mine.samples, mine.phase) == (theirs.t_first_s, theirs.samples, theirs.phase)
        assert np.max(np.abs(mine.observed - theirs.observed)) < 2e-3 * np.max(np.abs(theirs.observed))


def test_asdf_without_pyasdf(okhotsk, tmp_path, monkeypatch):
    with h5py.File(tmp_path / "all.h5", "w"):
        pass
    (tmp_path / "a.toml").write_text('[input]\nwaveforms = ["all.h5"]\n')
    monkeypatch.setitem(sys.modules, "pyasdf", None)
    with pytest.raises(UserError, match="pyasdf is needed to read ASDF; allowed: pip install"):
        prepare(load_waveform_config(tmp_path / "a.toml"))


def test_without_obspy(okhotsk, monkeypatch):
    monkeypatch.setitem(sys.modules, "obspy", None)
    with pytest.raises(UserError, match="ObsPy is needed; allowed: pip install 'craton"):
        prepare(load_waveform_config(okhotsk / "okhotsk.toml"))


@pytest.fixture
def ulan_bator(tmp_path):
    """What ObsPy itself brings: IU.ULN.00.LH1 (MiniSEED) with its StationXML.

    Three hours from the origin time of an earthquake of Mw 7.0 below the Santa Cruz Islands (18 July 2015). Its place is right;
    its moment tensor is not, and is not used.
    """
    folder = Path(obspy.__file__).parent / "core" / "tests" / "data"
    record, response = folder / "IU_ULN_00_LH1_2015-07-18T02.mseed", folder / "IU_ULN_00_LH1.xml"
    if not (record.exists() and response.exists()):
        pytest.skip(f"this ObsPy comes without {record}")
    lines = cmtsolution("ULN", 8.0).splitlines()
    lines[:7] = [
        " PDEW 2015  7 18  2 27 33.80 -10.40  165.14 11.0 0.0 7.0 SANTA CRUZ ISLANDS",
        "event name:     ULN", "time shift:     0.0000", "half duration:  8.0000",
        "latitude:      -10.4000", "longitude:     165.1400", "depth:          11.0000",
    ]  # fmt: skip
    (tmp_path / "event.cmt").write_text("\n".join(lines) + "\n")
    (tmp_path / "uln.toml").write_text(
        f'[input]\nwaveforms = ["{record}"]\nresponses = ["{response}"]\nevents = ["event.cmt"]\n'
    )
    return load_waveform_config(tmp_path / "uln.toml")


def test_the_long_period_record_that_obspy_brings(ulan_bator):
    """Raw counts to displacement in the band, against ObsPy's own removal of the response and a band-pass after it."""
    from craton.tomography.data.band import band_pass_gain
    from craton.tomography.waveforms.preparation import find_inputs
    from craton.tomography.waveforms.records.channels import whole_channel
    from craton.tomography.waveforms.records.processing import displacement_of

    inputs, settings = find_inputs(ulan_bator), ulan_bator.processing
    time = obspy.UTCDateTime(inputs.events.origin_time[0])
    [trace] = inputs.archive.read("IU.ULN", time - 60, time + 10800, Ledger())
    instrument = inputs.instruments.find(trace, time)
    found = displacement_of(whole_channel([trace], 0.0), instrument, time, settings)

    theirs = trace.copy().detrend("linear").taper(None, type="hann", max_length=settings.taper_s)
    wide = [1 / period for period in (900.0, 500.0, 60.0, 40.0)]
    theirs.remove_response(
        obspy.read_inventory(ulan_bator.input.responses[0]),
        output="DISP", water_level=None, pre_filt=wide, zero_mean=False, taper=False,
    )  # fmt: skip
    n = 2 * len(theirs)
    gain = band_pass_gain(settings.filter_periods_s, np.fft.rfftfreq(n, 1.0))
    fine = np.fft.irfft(np.fft.rfft(theirs.data, n) * gain, n)[: len(theirs)]
    at = 10.0 * np.arange(found.first, found.end)
    wanted = np.interp(at, float(theirs.stats.starttime - time) + np.arange(len(fine)), fine)
    assert len(found.samples) > 1000
    assert 1e-5 < np.max(np.abs(found.samples)) < 1e-3  # metres, of surface waves of Mw 7 at 77 degrees
    assert np.max(np.abs(found.samples - wanted)) < 5e-3 * np.max(np.abs(wanted))


def test_one_horizontal_channel_makes_no_component(ulan_bator):
    """LH1 points north, the earthquake lies to the southeast: no T, no R, and that is the reason given."""
    with pytest.raises(
        UserError, match="no channel is usable; most often .* the channels left do not make T"
    ) as caught:
        prepare(ulan_bator)
    assert "\n" not in str(caught.value)


def test_the_love_wave_of_a_record_that_obspy_brings(tmp_path):
    """IU.KONO's three long-period channels of an earthquake below El Salvador: the Love wave at 83 degrees is accepted.

    Mw 7.7, 13 January 2001; from ObsPy's SEISAN files, written as MiniSEED.

    ObsPy has no response of that station: the StationXML is made here, of an STS-1 as it stood there, its sensitivity assumed, so
    amplitudes are not judged. The source is a normal fault that dips 35 degrees trenchward, as published solutions have it to some
    degrees (Vallee et al. 2003, doi:10.1029/2002JB001922: 30). The record begins nine minutes late, so that little noise is left.
    """
    from waveform_files import double_couple, inventory

    source = Path(obspy.__file__).parent / "io" / "seisan" / "tests" / "data" / "2001-01-13-1742-24S.KONO__004"
    if not source.exists():
        pytest.skip(f"this ObsPy comes without {source}")
    for trace in obspy.read(str(source)).select(channel="L0?"):
        trace.stats.network, trace.stats.location, trace.stats.channel = "IU", "", f"LH{trace.stats.channel[-1]}"
        trace.write(str(tmp_path / f"{trace.stats.channel}.mseed"), format="MSEED")
    sites = {".LHZ": (0.0, -90.0), ".LHN": (0.0, 0.0), ".LHE": (90.0, 0.0)}
    inventory("IU.KONO", (59.6491, 9.5982), sites).write(str(tmp_path / "kono.xml"), format="STATIONXML")
    lines = [
        " PDE  2001  1 13 17 33 32.40  13.0500  -88.6600  60.0 0.0 7.7 EL SALVADOR",
        "event name: SALVADOR", "time shift: 13.0", "half duration: 17.4", "latitude: 12.97", "longitude: -89.13", "depth: 56.0",
    ]  # fmt: skip
    lines += [f"M{key}: {value:.6e}" for key, value in double_couple(121.0, 35.0, -95.0, 4.57e27).items()]
    (tmp_path / "event.cmt").write_text("\n".join(lines) + "\n")
    (tmp_path / "kono.toml").write_text(
        '[input]\nwaveforms = ["*.mseed"]\nresponses = ["kono.xml"]\nevents = ["event.cmt"]\n'
        '[windows]\narcs = ["minor"]\nmin_noise_s = 20.0\namplitude_ratio = [1e-6, 1e6]\n'
    )
    table = prepare(load_waveform_config(tmp_path / "kono.toml")).table
    found = {window.phase: window for window in table.windows}
    love = found["fundamental"]
    assert love.accepted
    assert love.quality["distance_deg"] == pytest.approx(83.3, abs=0.1)
    assert love.quality["correlation"] > 0.9
    assert abs(love.quality["shift_s"]) < 20
    assert love.quality["signal_to_noise"] > 50
    table.save(tmp_path / "data.h5")
    assert WindowTable.load(tmp_path / "data.h5").accepted[0].samples == love.samples


# --------------------------------------------------------------------------------------------- records made from the mode sum


@pytest.fixture(scope="module")
def made_records(tmp_path_factory):
    """Three hours of raw counts at 0.5 Hz from the mode sum of PREM itself, at two stations.

    One is 80 degrees away (LH1 and LH2, turned by 30 degrees), one 140 degrees away, where the arcs' windows meet. Counts are
    whole numbers, with noise of a few of them.
    """
    from craton.tomography.data.catalogue import Stations
    from craton.tomography.waveforms.records.earthquakes import read_earthquakes
    from craton.tomography.waveforms.records.rotation import back_azimuth_deg, channel_vector, component_vector
    from craton.tomography.waveforms.synthetics import synthetic_source
    from waveform_files import counts_of, inventory, trace

    folder = tmp_path_factory.mktemp("made")
    (folder / "event.cmt").write_text(cmtsolution())
    band = "sample_interval_s = 2.0\nfilter_periods_s = [1000.0, 900.0, 65.0, 62.0]\n"
    (folder / "fine.toml").write_text(f"[processing]\n{band}[modes]\nshortest_period_s = 60.0\n")
    text = '[input]\nwaveforms = ["*.mseed"]\nresponses = ["*.xml"]\nevents = ["event.cmt"]\n'
    (folder / "made.toml").write_text(text + "[modes]\nshortest_period_s = 60.0\n")
    events = read_earthquakes([folder / "event.cmt"], (), Ledger())
    places = {"XX.NEAR": (54.54 - 80.0, 153.94), "XX.FAR": (54.54 - 140.0, 153.94)}
    stations = Stations(tuple(places), *np.array(list(places.values())).T, np.zeros(2))
    fine = load_waveform_config(folder / "fine.toml")
    source = synthetic_source(fine, events, stations, 5400)
    rng = np.random.default_rng(4)
    for row, (name, place) in enumerate(places.items()):
        transverse = np.concatenate([np.zeros(900), source.trace(0, row, "T")])
        toward = back_azimuth_deg((54.54, 153.94), place)
        sites = {".LH1": (30.0, 0.0), ".LH2": (120.0, 0.0)}
        inventory(name, place, sites).write(str(folder / f"{name}.xml"), format="STATIONXML")
        for key, orientation in sites.items():
            ground = transverse * (component_vector("T", toward) @ channel_vector(*orientation))
            counts = np.rint(counts_of(ground, 2.0) + rng.normal(0, 3, len(ground))).astype(np.int32)
            one = trace(f"{name}.{key}", counts, obspy.UTCDateTime(CENTROID) - 1800, 2.0)
            one.write(str(folder / f"{name}{key}.mseed"), format="MSEED")
    return folder


def test_counts_of_the_mode_sum_come_back_as_the_mode_sum(made_records):
    """Times, sign, amplitude and both arcs, all the way through."""
    prepared = prepare(load_waveform_config(made_records / "made.toml"))
    found = [window for window in prepared.table.windows if prepared.table.stations.name[window.station] == "XX.NEAR"]
    assert [(window.arc, window.phase, window.code) for window in found] == [
        ("minor", "overtones", ""), ("minor", "fundamental", ""), ("major", "overtones", ""), ("major", "fundamental", ""),
    ]  # fmt: skip
    for window in found:
        assert window.quality["correlation"] > 0.9999
        assert abs(window.quality["shift_s"]) < 0.5
        assert window.quality["amplitude_ratio"] == pytest.approx(1.0, abs=0.01)


def test_predicted_windows_are_what_is_observed(made_records):
    """D - g(m) of the accepted windows, from the source that the hybrid method takes g(m) from."""
    from craton.tomography.waveforms.synthetics import predicted, synthetic_source

    config = load_waveform_config(made_records / "made.toml")
    table = prepare(config).table
    data = table.observations()
    g = predicted(synthetic_source(config, table.events, table.stations, 1081), data.paths)
    assert len(g) == len(data.observed)
    assert np.sum((data.observed - g) ** 2) < 1e-4 * np.sum(g**2)


def test_counts_of_three_components_come_back_as_the_mode_sum(tmp_path):
    """Z, N and E of one station from toroidal and spheroidal modes beyond 150 s: every window of Z, R and T, on both arcs."""
    from craton.tomography.data.catalogue import Stations
    from craton.tomography.waveforms.records.earthquakes import read_earthquakes
    from craton.tomography.waveforms.records.rotation import back_azimuth_deg, channel_vector, component_vector
    from craton.tomography.waveforms.synthetics import synthetic_source
    from waveform_files import counts_of, inventory, trace

    (tmp_path / "event.cmt").write_text(cmtsolution())
    modes = f'[modes]\nshortest_period_s = 150.0\ncache = "{tmp_path}"\n'
    wide = "[processing]\nsample_interval_s = 4.0\nfilter_periods_s = [1000.0, 900.0, 155.0, 152.0]\n"
    (tmp_path / "fine.toml").write_text(wide + modes)
    band = "[processing]\nfilter_periods_s = [500.0, 350.0, 180.0, 160.0]\n"
    files = '[input]\nwaveforms = ["*.mseed"]\nresponses = ["*.xml"]\nevents = ["event.cmt"]\n'
    (tmp_path / "made.toml").write_text(files + band + '[windows]\ncomponents = ["Z", "R", "T"]\n' + modes)
    events = read_earthquakes([tmp_path / "event.cmt"], (), Ledger())
    place = (54.54 - 80.0, 153.94)
    station = Stations(("XX.NEAR",), np.array([place[0]]), np.array([place[1]]), np.zeros(1))
    source = synthetic_source(load_waveform_config(tmp_path / "fine.toml"), events, station, 2700)
    toward = back_azimuth_deg((54.54, 153.94), place)
    motion = sum(np.outer(source.trace(0, 0, letter), component_vector(letter, toward)) for letter in "ZRT")
    motion = np.concatenate([np.zeros((450, 3)), motion])
    sites = {".LHZ": (0.0, -90.0), ".LHN": (0.0, 0.0), ".LHE": (90.0, 0.0)}
    inventory("XX.NEAR", place, sites).write(str(tmp_path / "near.xml"), format="STATIONXML")
    rng = np.random.default_rng(5)
    for key, orientation in sites.items():
        counts = counts_of(motion @ channel_vector(*orientation), 4.0) + rng.normal(0, 3, len(motion))
        one = trace(f"XX.NEAR.{key}", np.rint(counts).astype(np.int32), obspy.UTCDateTime(CENTROID) - 1800, 4.0)
        one.write(str(tmp_path / f"near{key}.mseed"), format="MSEED")
    prepared = prepare(load_waveform_config(tmp_path / "made.toml"))
    accepted = [(w.component, w.arc, w.phase) for w in prepared.table.accepted]
    assert {letter: sum(kind[0] == letter for kind in accepted) for letter in "ZRT"} == {"Z": 4, "R": 4, "T": 4}
    assert prepared.synthetics == "toroidal and spheroidal modes of prem_isotropic"
    for window in prepared.table.accepted:
        assert window.quality["correlation"] > 0.9995, window
        assert abs(window.quality["shift_s"]) < 0.5
        assert window.quality["amplitude_ratio"] == pytest.approx(1.0, abs=0.01)


def test_windows_of_the_other_arc_are_a_reason(made_records):
    """At 140 degrees by the limit that is set."""
    config = load_waveform_config(made_records / "made.toml")
    for limit, refused in ((1.0, False), (0.0, True)):
        table = prepare(config.replaced("windows", max_arc_overlap=limit)).table
        far = [window for window in table.windows if table.stations.name[window.station] == "XX.FAR"]
        assert any(window.quality["arc_overlap"] > 0.05 for window in far)
        assert any(window.code == "other arc" for window in far) == refused
        used = [
            sample
            for window in far
            if window.code != "other arc"
            for sample in range(int(window.t_first_s // 10), int(window.t_first_s // 10) + window.samples)
        ]
        assert len(used) == len(set(used))


EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "observed"


@pytest.mark.skipif(not EXAMPLES.exists(), reason="the examples are not beside the tests")
def test_the_example(tmp_path):
    """As its first lines say, without a network."""
    okhotsk_files(tmp_path / "there")
    program = [sys.executable, str(EXAMPLES / "records_of_pyasdf.py")]
    subprocess.run(program, cwd=tmp_path, env=environment_without_mpi(), check=True, capture_output=True, timeout=120)
    shown = craton("tomography", "data", "check", EXAMPLES / "okhotsk.toml", cwd=tmp_path)
    assert "1 earthquakes, 2 stations" in shown.stdout, shown.stderr
    made = craton("tomography", "data", "windows", EXAMPLES / "okhotsk.toml", cwd=tmp_path)
    assert "4 windows accepted" in made.stdout, made.stderr
    (tmp_path / "inversion.toml").write_bytes((EXAMPLES / "inversion.toml").read_bytes())
    done = craton("tomography", "run", "inversion.toml", "--no-report", cwd=tmp_path)
    assert "4 paths between 1 earthquakes and 2 stations" in done.stdout, done.stderr
    assert done.returncode == 0


@pytest.mark.skipif(not EXAMPLES.exists(), reason="the examples are not beside the tests")
def test_the_example_of_obspys_own_record(tmp_path):
    """Raw counts and poles and zeros to windows: R1, R2 and the overtones before R1.

    They are as spheroidal modes of PREM have them, to a tenth of their amplitude; the overtones of the long way round are as
    small as the noise.
    """
    if not (Path(obspy.__file__).parent / "io" / "ah" / "tests" / "data" / "st.ah").exists():
        pytest.skip("this ObsPy comes without its test data")
    program = [sys.executable, str(EXAMPLES / "records_of_obspy.py")]
    subprocess.run(program, cwd=tmp_path, env=environment_without_mpi(), check=True, capture_output=True, timeout=120)
    made = craton("tomography", "data", "windows", EXAMPLES / "bolivia.toml", cwd=tmp_path)
    assert "3 windows accepted, 1 rejected, on 1 seismograms" in made.stdout, made.stderr
    table = WindowTable.load(tmp_path / "bolivia-data" / "data.h5")
    found = {(w.arc, w.phase): w for w in table.accepted}
    assert set(found) == {("minor", "overtones"), ("minor", "fundamental"), ("major", "fundamental")}
    for (_, phase), window in found.items():
        assert window.quality["distance_deg"] == pytest.approx(96.2, abs=0.05)
        assert window.quality["correlation"] > 0.95
        assert abs(window.quality["shift_s"]) < (5 if phase == "fundamental" else 20)
        assert 0.9 < window.quality["amplitude_ratio"] < (1.1 if phase == "fundamental" else 1.2)
    record = json.loads((tmp_path / "bolivia-data" / "windows.json").read_text())
    assert {"stage": "window", "code": "noise", "count": 1} in record["reasons"]


def test_one_process_only(okhotsk, tmp_path):
    environment = environment_without_mpi(OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="0")
    command = [
        sys.executable,
        "-m",
        "craton.commands.main",
        "tomography",
        "data",
        "check",
        str(okhotsk / "okhotsk.toml"),
    ]
    shown = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert shown.returncode == 2
    assert "started on 2 ranks; allowed: one" in shown.stderr
    assert os.listdir(tmp_path) == []
