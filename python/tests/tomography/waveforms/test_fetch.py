"""Fetching from an FDSN web service: a small one on the loopback that serves the records of an earthquake."""

import pytest

obspy = pytest.importorskip("obspy", reason="ObsPy is not installed")

from craton.errors import UserError
from craton.tomography.waveforms.config import load_waveform_config
from craton.tomography.waveforms.records.fetch import MOST_FAILURES, fetch
from craton.tomography.waveforms.window_folder import make_windows
from fdsn_server import WADL, Service, serving
from waveform_files import okhotsk_files


@pytest.fixture
def service(tmp_path):
    """Two stations that recorded, and one that the server has no data of. 5 Hz: the server's business, and smaller."""
    missing = [file for file in WADL.values() if not file.exists()]
    if missing:
        pytest.skip(f"this ObsPy comes without {missing[0]}")
    source = okhotsk_files(tmp_path / "source")
    inventory = obspy.read_inventory(str(source / "AE.113A..BH_.xml")) + obspy.read_inventory(
        str(source / "TA.POKR..BH_.xml")
    )
    silent = inventory.select(station="POKR").copy()
    silent[0][0].code = "MUTE"
    (inventory + silent).write(str(tmp_path / "stations.xml"), format="STATIONXML")
    waveforms = obspy.read(str(source / "*.mseed")).decimate(8, no_filter=True)
    return Service(source / "quake.xml", tmp_path / "stations.xml", waveforms)


@pytest.fixture
def configured(tmp_path):
    """A function: the configuration for a server's address."""

    def make(address, **settings):
        file = tmp_path / "okhotsk.toml"
        file.write_text(
            f'[output]\ndirectory = "{tmp_path}/data"\n'
            f'[fetch]\nserver = "{address}"\ndirectory = "{tmp_path}/fetched"\nstart = "2013-05-24T00:00:00"\n'
            'end = "2013-05-25T00:00:00"\nchannels = ["BH*"]\nnetworks = ["AE", "TA"]\ntimeout_s = 10\n'
        )
        return load_waveform_config(file).replaced("fetch", **settings)

    return make


def test_fetch_then_windows(service, configured, tmp_path):
    """Everything once; the second time nothing is asked; windows are then found in what was fetched."""
    with serving(service) as address:
        config = configured(address)
        first = fetch(config)
        assert (first.earthquakes, first.stations, first.new, first.no_data, first.failed) == (1, 3, 2, 1, 0)
        assert first.bytes > 1e5
        asked = list(service.asked)
        assert sorted(asked) == ["dataselect 113A", "dataselect MUTE", "dataselect POKR", "event", "station"]
        again = fetch(config)
        assert (again.new, again.there_before) == (0, 3)
        assert service.asked == asked
    files = sorted(str(file.relative_to(tmp_path / "fetched")) for file in (tmp_path / "fetched").rglob("*.*"))
    folder = "waveforms/C201305240544A"
    assert files == [
        "events.xml", "fetch.json", "stations.xml", f"{folder}/AE.113A.mseed", f"{folder}/TA.MUTE.nodata",
        f"{folder}/TA.POKR.mseed",
    ]  # fmt: skip
    prepared = make_windows(config, pictures=False)
    assert len(prepared.table.accepted) == 4


@pytest.mark.parametrize("kind", ["failing", "cut_short"])
def test_what_failed_is_tried_again(service, configured, kind):
    """A station whose request fails, or whose answer is cut short, leaves no file; the rest is kept."""
    with serving(service) as address:
        config = configured(address)
        getattr(service, kind).add("POKR")
        first = fetch(config)
        assert (first.new, first.no_data, first.failed) == (1, 1, 1)
        assert "TA.POKR of C201305240544A" in str(first)
        getattr(service, kind).clear()
        service.asked.clear()
        second = fetch(config)
        assert (second.new, second.there_before, second.failed) == (1, 2, 0)
        assert service.asked == ["dataselect POKR"]


def test_too_many_failures_end_it(service, configured, monkeypatch):
    monkeypatch.setattr("craton.tomography.waveforms.records.fetch.MOST_FAILURES", 2)
    assert MOST_FAILURES > 2
    service.failing.add("dataselect")
    with serving(service) as address, pytest.raises(UserError, match="2 requests in a row failed") as caught:
        fetch(configured(address))
    assert "allowed: the same command again" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["event", "station"])
def test_a_service_that_fails(service, configured, kind):
    service.failing.add(kind)
    with serving(service) as address, pytest.raises(UserError, match=rf"\[fetch\] {kind}s: ") as caught:
        fetch(configured(address))
    assert "allowed: a request that the server answers" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_server(configured):
    with pytest.raises(UserError, match=r"\[fetch\] server = .*allowed: an FDSN web service that answers") as caught:
        fetch(configured("http://127.0.0.1:9"))
    assert "\n" not in str(caught.value)


def test_another_request_in_the_same_folder(service, configured):
    with serving(service) as address:
        fetch(configured(address))
        with pytest.raises(UserError, match=r"channels = \[\"LH\*\"\], but .* was fetched with \[\"BH\*\"\]"):
            fetch(configured(address, channels=["LH*"]))


@pytest.mark.parametrize(
    ("name", "words"), [("stations.xml", "allowed: StationXML"), ("fetch.json", "allowed: the file that")]
)
def test_damaged_files_of_an_earlier_fetch(service, configured, tmp_path, name, words):
    with serving(service) as address:
        config = configured(address)
        fetch(config)
        (tmp_path / "fetched" / name).write_text("damaged")
        with pytest.raises(UserError, match=words) as caught:
            fetch(config)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_interruption_leaves_no_half_file(service, configured, tmp_path, monkeypatch):
    """Ctrl-C in the middle of an answer; the next fetch goes on."""
    from obspy.clients.fdsn import Client

    def interrupted(self, *_, filename, **__):
        with open(filename, "wb") as file:
            file.write(b"half an answer")
        raise KeyboardInterrupt

    with serving(service) as address:
        config = configured(address)
        with monkeypatch.context() as patch:
            patch.setattr(Client, "get_waveforms", interrupted)
            with pytest.raises(KeyboardInterrupt):
                fetch(config)
        assert [file for file in (tmp_path / "fetched").rglob("waveforms/**/*") if file.is_file()] == []
        assert fetch(config).new == 2


def test_times_are_needed(service, configured):
    with serving(service) as address, pytest.raises(UserError, match="start and end are missing; allowed: a date"):
        fetch(configured(address, start=""))


def test_earthquakes_from_a_file(service, configured, tmp_path):
    """As of the Global CMT project, whose tensors FDSN servers do not give: the event service is not asked."""
    with serving(service) as address:
        config = configured(address).replaced("input", events=[str(tmp_path / "source" / "quake.xml")])
        assert fetch(config).new == 2
        assert "event" not in service.asked
