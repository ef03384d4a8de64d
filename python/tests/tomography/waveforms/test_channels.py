"""What becomes of channels that are not as they should be: each a decision with a reason, never an end of the run."""

import numpy as np
import pytest

obspy = pytest.importorskip("obspy", reason="ObsPy is not installed")

from craton.errors import UserError
from craton.tomography.waveforms.config import load_waveform_config
from craton.tomography.waveforms.decisions import Ledger
from craton.tomography.waveforms.records.archive import open_archive
from craton.tomography.waveforms.records.channels import Unusable, whole_channel
from craton.tomography.waveforms.records.earthquakes import read_earthquakes
from craton.tomography.waveforms.records.responses import Instruments, read_instruments
from craton.tomography.waveforms.records.stations import StationReader
from obspy import Stream, UTCDateTime
from waveform_files import CENTROID, cmtsolution, counts_of, inventory, okhotsk_files, trace, wave_train

START = UTCDateTime(CENTROID) - 1000
ORDINARY = np.round(counts_of(wave_train(np.arange(-1000.0, 6000.0), 2500.0), 1.0) + 37 * np.sin(np.arange(7000.0)))
HORIZONTALS = {".LHZ": (0.0, -90.0), ".LHN": (0.0, 0.0), ".LHE": (90.0, 0.0)}
EVENT = (54.54, 153.94)


def unusable(traces, largest_gap_s=10.0):
    with pytest.raises(Unusable) as caught:
        whole_channel(traces, largest_gap_s)
    assert "\n" not in str(caught.value)
    assert str(caught.value) == f"{caught.value.code}: {caught.value.reason}"
    return caught.value.code, caught.value.reason


def piece(first, last, samples=ORDINARY, delta_s=1.0):
    return trace("XX.AAA..LHN", samples[first:last], START + first * delta_s, delta_s)


def test_a_short_gap_is_bridged_by_a_line():
    found = whole_channel([piece(0, 3000), piece(3006, 7000)], 10.0)
    assert len(found.counts) == 7000
    assert found.counts[2999:3007] == pytest.approx(np.linspace(ORDINARY[2999], ORDINARY[3006], 8))
    assert any("bridged 1 gaps, the longest 6 s" in step for step in found.steps)


def test_a_long_gap_is_a_reason():
    code, reason = unusable([piece(0, 3000), piece(3040, 7000)])
    assert code == "gap"
    assert "the longest 40 s; allowed: 10 s" in reason


def test_overlaps_that_agree_are_merged_and_those_that_do_not_are_gaps():
    found = whole_channel([piece(0, 3000), piece(2900, 7000)], 10.0)
    assert np.array_equal(found.counts, ORDINARY)
    assert "merged pieces that overlap by 100 s" in found.steps
    code, reason = unusable([piece(0, 3000), piece(2900, 7000, ORDINARY + 50)])
    assert code == "gap"
    assert "overlaps that differ" in reason


def test_the_same_piece_twice_counts_once():
    assert np.array_equal(whole_channel([piece(0, 7000), piece(0, 7000)], 10.0).counts, ORDINARY)


def test_dead_and_clipped_channels():
    assert unusable([piece(0, 7000, np.full(7000, 12))])[0] == "dead"
    stuck = ORDINARY.copy()
    stuck[200:] = 3
    assert unusable([piece(0, 7000, stuck)])[0] == "dead"
    clipped = np.clip(ORDINARY, -0.6 * ORDINARY.max(), 0.6 * ORDINARY.max())
    code, reason = unusable([piece(0, 7000, clipped)])
    assert code == "clipped"
    assert "samples in flat tops" in reason


def test_samples_that_are_no_numbers_and_rates_that_differ():
    holes = ORDINARY.copy()
    holes[[5, 9]] = np.nan
    assert unusable([piece(0, 7000, holes)]) == ("not finite", "2 samples are NaN or infinite")
    slow = trace("XX.AAA..LHN", ORDINARY[:100], START + 6000, 2.0)
    assert unusable([piece(0, 3000), slow]) == ("sampling rates", "pieces of 0.5 and 1 Hz")
    assert unusable([piece(0, 1)])[0] == "too short"


# -------------------------------------------------------------------------------------------------------- instruments


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"start_date": UTCDateTime(2014, 1, 1)}, "no response: none of its 1 epochs holds"),
        ({"end_date": UTCDateTime(2012, 1, 1)}, "no response: none of its 1 epochs holds"),
        ({"response": None}, "no response: the inventory has the channel, but not its response"),
    ],
)
def test_no_response_at_that_time(more, reason):
    instruments = Instruments([inventory("XX.AAA", (10.0, 20.0), HORIZONTALS, **more)])
    with pytest.raises(ValueError, match=reason):
        instruments.find(piece(0, 10), UTCDateTime(CENTROID))


def test_unknown_channels_and_other_instruments():
    with pytest.raises(ValueError, match="no response: no file has this channel"):
        Instruments([]).find(piece(0, 10), UTCDateTime(CENTROID))
    barometer = inventory("XX.AAA", (10.0, 20.0), HORIZONTALS)
    for channel in barometer[0][0]:
        channel.response.response_stages[0].input_units = "PA"
    with pytest.raises(ValueError, match="not a seismometer: its input is PA"):
        Instruments([barometer]).find(piece(0, 10), UTCDateTime(CENTROID))


def test_orientation_and_place_from_wherever_they_are():
    station = inventory("XX.AAA", (0.0, 0.0), {".LHN": (0.0, 0.0), ".LH1": (0.0, 0.0)}, azimuth=None, dip=None)
    instruments, time = Instruments([station]), UTCDateTime(CENTROID)
    with pytest.raises(ValueError, match="no coordinates"):
        instruments.find(piece(0, 10), time)
    sac = piece(0, 10)
    sac.stats.sac = {"stla": 5.0, "stlo": 6.0, "cmpaz": 12.0, "cmpinc": 90.0}
    found = instruments.find(sac, time)
    assert (found.latitude_deg, found.longitude_deg, found.azimuth_deg, found.dip_deg) == (5.0, 6.0, 12.0, 0.0)
    assert found.orientation_from == "SAC header"
    del sac.stats.sac["cmpaz"]
    assert instruments.find(sac, time).orientation_from == "channel code"
    odd = trace("XX.AAA..LH1", ORDINARY[:10], START)
    odd.stats.sac = sac.stats.sac
    with pytest.raises(ValueError, match="no orientation: no azimuth and dip, and the letter 1 does not say"):
        instruments.find(odd, time)


@pytest.mark.parametrize("kind", ["RESP", "dataless"])
def test_responses_of_older_formats(kind):
    """ObsPy's own files of IU.ANMO: RESP has neither place nor orientation, dataless SEED has both."""
    from pathlib import Path

    folder = Path(obspy.__file__).parent / "signal" / "tests" / "data"
    file = folder / {"RESP": "IUANMO.resp", "dataless": "IUANMO.dataless"}[kind]
    if not file.exists():
        pytest.skip(f"this ObsPy comes without {file}")
    ledger = Ledger()
    instruments = read_instruments([file], (), ledger)
    assert not ledger.decisions
    record = trace("IU.ANMO.00.LHZ", ORDINARY[:10], "2010-02-27")
    if kind == "RESP":
        with pytest.raises(ValueError, match="no coordinates"):
            instruments.find(record, UTCDateTime("2010-02-27"))
        record.stats.sac = {"stla": 34.95, "stlo": -106.46}
    found = instruments.find(record, UTCDateTime("2010-02-27"))
    assert found.latitude_deg == pytest.approx(34.95, abs=0.01)
    assert found.dip_deg == -90.0
    size = np.abs(found.displacement_response(np.array([0.01])))[0]
    assert size == pytest.approx(2 * np.pi * 0.01 * 3.25e9, rel=0.3)  # about flat to velocity


# ------------------------------------------------------------------------------------------------ a station's channels


@pytest.fixture
def station(tmp_path):
    """A function: writes traces, reads the station of the first, returns its components and the ledger's decisions by subject."""
    (tmp_path / "event.cmt").write_text(cmtsolution())
    (tmp_path / "a.toml").write_text('[input]\nwaveforms = ["*.mseed"]\n')

    def read(traces, instruments, **windows):
        config = load_waveform_config(tmp_path / "a.toml").replaced("windows", **windows)
        for number, one in enumerate(traces):
            Stream([one]).write(str(tmp_path / f"{number}.mseed"), format="MSEED")
        ledger = Ledger()
        archive = open_archive(sorted(tmp_path.glob("*.mseed")), ledger)
        reader = StationReader(archive, Instruments(instruments), config, ledger)
        _, found = reader.components("E", UTCDateTime(CENTROID), EVENT, archive.stations[0])
        return found, {item.subject: item for item in ledger.decisions}

    return read


def channels(location, band, letters="ZNE", counts=ORDINARY):
    return [trace(f"XX.AAA.{location}.{band}{letter}", counts.astype(np.int32), START) for letter in letters]


def sites(*groups):
    listed = {}
    for location, band in groups:
        listed |= {f"{location}{name[:1]}{band}{name[-1]}": at for name, at in HORIZONTALS.items()}
    return inventory("XX.AAA", (10.0, 20.0), listed)


def test_two_location_codes(station):
    found, decisions = station(channels("00", "LH") + channels("10", "LH"), [sites(("00", "LH"), ("10", "LH"))])
    used = [part["channel"] for part in found["T"].provenance["channels"]]
    assert used == ["XX.AAA.00.LHE", "XX.AAA.00.LHN"]
    assert decisions["XX.AAA.10.LHN"].code == "not preferred"


def test_the_other_location_steps_in(station):
    """A dead horizontal at 00: both horizontals of 10 are used, and all is said."""
    dead = channels("00", "LH", "ZN") + channels("00", "LH", "E", np.zeros(7000))
    found, decisions = station(dead + channels("10", "LH"), [sites(("00", "LH"), ("10", "LH"))])
    assert [part["channel"] for part in found["T"].provenance["channels"]] == ["XX.AAA.10.LHE", "XX.AAA.10.LHN"]
    assert decisions["XX.AAA.00.LHE"].code == "dead"
    assert decisions["XX.AAA.00.LHN"].accepted


def test_bands_and_missing_components(station):
    found, decisions = station(
        channels("", "LH", "ZN") + channels("", "EH"), [sites(("", "LH"), ("", "EH"))], components=["Z", "T"]
    )
    assert list(found) == ["Z"]
    assert decisions["XX.AAA..EHZ"].code == "other band"
    assert decisions["XX.AAA T"].code == "no component"
    assert decisions["XX.AAA Z"].accepted


def test_missing_responses_of_one_channel(station):
    found, decisions = station(
        channels("", "LH"), [inventory("XX.AAA", (10.0, 20.0), {".LHZ": (0.0, -90.0)})], components=["Z"]
    )
    assert list(found) == ["Z"]
    assert decisions["XX.AAA..LHN"].code == "no response"


def test_nothing_recorded_at_that_time(station):
    late = [trace("XX.AAA..LHZ", ORDINARY, UTCDateTime(CENTROID) + 1e6)]
    found, decisions = station(late, [sites(("", "LH"))])
    assert not found
    assert decisions["XX.AAA"].code == "no data"


# -------------------------------------------------------------------------------------------------------------- files


def test_damaged_files_are_decisions(tmp_path):
    good = tmp_path / "good.mseed"
    Stream([piece(0, 100, ORDINARY.astype(np.int32))]).write(str(good), format="MSEED")
    bad, xml = tmp_path / "bad.mseed", tmp_path / "bad.xml"
    bad.write_bytes(b"no waveform at all" * 20)
    xml.write_text("<no/>")
    ledger = Ledger()
    archive = open_archive([bad, good], ledger)
    read_instruments([xml], (), ledger)
    assert archive.stations == ["XX.AAA"]
    assert [(item.stage, item.code) for item in ledger.decisions] == [("file", "unreadable")] * 2
    with pytest.raises(UserError, match="none of 1 files holds a waveform") as caught:
        open_archive([bad], Ledger())
    assert "\n" not in str(caught.value)


def test_files_that_may_not_be_opened_are_decisions(tmp_path):
    """HDF5 raises OSError for them before any reader of seismograms comes to see them; so does a folder."""
    good, bad = tmp_path / "good.mseed", tmp_path / "locked.mseed"
    Stream([piece(0, 100, ORDINARY.astype(np.int32))]).write(str(good), format="MSEED")
    bad.mkdir()
    ledger = Ledger()
    assert open_archive([bad, good], ledger).stations == ["XX.AAA"]
    assert [(item.subject, item.code) for item in ledger.decisions] == [(str(bad), "unreadable")]


@pytest.mark.parametrize("kind", ["CMTSOLUTION", "QUAKEML", "NDK", "SPUD"])
def test_earthquakes_of_all_formats(tmp_path, kind):
    """The centroid and its time, wherever the file keeps them."""
    from pathlib import Path

    file = tmp_path / "event"
    file.write_text(cmtsolution())
    wanted = ("C201305240544A", CENTROID, 54.54, 153.94, 607.4, 36.2)
    if kind == "QUAKEML":
        obspy.read_events(str(file)).write(str(tmp_path / "event.xml"), format="QUAKEML")
        file = tmp_path / "event.xml"
    elif kind == "NDK":
        file = Path(obspy.__file__).parent / "io" / "ndk" / "tests" / "data" / "C200604092050A.ndk"
        wanted = ("C200604092050A", "2006-04-09T20:50:51.3", -20.46, -70.73, 39.0, 1.8)
        if not file.exists():
            pytest.skip(f"this ObsPy comes without {file}")
    elif kind == "SPUD":
        file = okhotsk_files(tmp_path / "okhotsk") / "quake.xml"
    events = read_earthquakes([file], (), Ledger())
    assert UTCDateTime(events.origin_time[0]) == UTCDateTime(wanted[1])
    found = (events.latitude_deg[0], events.longitude_deg[0], events.depth_km[0])
    assert found == pytest.approx(wanted[2:5], abs=0.01)
    assert events.half_duration_s[0] == pytest.approx(wanted[5], abs=0.06)
    assert events.name[0] == wanted[0]
    if kind != "NDK":
        assert events.moment_tensor_Nm[0] == pytest.approx(
            [-1.75e21, 4.11e20, 1.34e21, -8.96e20, -3.69e21, 1.99e20], rel=1e-6
        )


def test_a_missing_half_duration_comes_from_the_moment(tmp_path):
    """The relation that the Global CMT project uses, on one of its own: 36.2 s for Mw 8.3."""
    (tmp_path / "event").write_text(cmtsolution())
    bare = obspy.read_events(str(tmp_path / "event"))
    bare[0].focal_mechanisms[0].moment_tensor.source_time_function = None
    bare.write(str(tmp_path / "bare.xml"), format="QUAKEML")
    ledger = Ledger()
    events = read_earthquakes([tmp_path / "bare.xml"], (), ledger)
    assert events.half_duration_s[0] == pytest.approx(36.2, abs=0.1)
    assert "from the moment, because the file gives none" in ledger.decisions[0].reason


def test_earthquakes_that_cannot_be_used(tmp_path):
    event = tmp_path / "event"
    event.write_text(cmtsolution())
    whole = obspy.read_events(str(event))
    whole[0].focal_mechanisms = []
    whole.write(str(tmp_path / "bare.xml"), format="QUAKEML")
    with pytest.raises(
        UserError, match="no usable earthquake among 1 in 1 files; .* it has no moment tensor"
    ) as caught:
        read_earthquakes([tmp_path / "bare.xml"], (), Ledger())
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith("; allowed: QuakeML, NDK or CMTSOLUTION, with a moment tensor")
    ledger = Ledger()
    assert len(read_earthquakes([tmp_path / "bare.xml", event, event], (), ledger)) == 1
    assert [item.code for item in ledger.decisions if not item.accepted] == ["not usable", "twice"]
