"""Catalogues and inventories of ObsPy into the inversion's tables and back; what an event without a moment tensor is told."""

import numpy as np
import pytest

obspy = pytest.importorskip("obspy")

from craton.errors import UserError
from craton.seismology.sources.point_sources import read_catalogue_event
from craton.tomography import waveforms
from craton.tomography.data.catalogue import Events, Stations, read_events, read_stations
from craton.tomography.waveforms.records.earthquakes import usual_half_duration_s, write_events, write_stations
from readers import earthquake
from waveform_files import cmtsolution

TENSORS = np.array([[-1.67e18, 3.82e17, 1.29e18, -7.85e17, -3.57e18, 8.95e17], [1e20, -1e20, 0, 2e20, 0, -3e19]])
EVENTS = Events(
    name=("C201305240544A", "second"),
    origin_time=("2013-05-24T05:44:59.6", "2014-01-02T03:04:05.25"),
    latitude_deg=np.array([33.95, -60.0]),
    longitude_deg=np.array([-118.05, 179.5]),
    depth_km=np.array([9.0, 610.5]),
    half_duration_s=np.array([2.0, 5.5]),
    moment_tensor_Nm=TENSORS,
    region=("SOMEWHERE", ""),
)
STATIONS = Stations(
    ("II.AAK", "IU.ANMO", "II.BFO"),
    np.array([42.6, 34.9, 48.3]),
    np.array([74.5, 253.5, 8.3]),
    np.array([1645.0, 1820, 589]),
)


def test_a_catalogue_comes_in(tmp_path):
    found = waveforms.events_from_catalog(earthquake())
    assert found.origin_time == ("2013-05-24T05:44:59.600000",)
    assert (found.latitude_deg[0], found.longitude_deg[0], found.depth_km[0]) == pytest.approx((33.95, -118.05, 9.0))
    assert found.half_duration_s[0] == pytest.approx(2.0)
    np.testing.assert_allclose(found.moment_tensor_Nm, TENSORS[:1])
    write_events(tmp_path / "earthquakes.csv", found)
    again = read_events(tmp_path / "earthquakes.csv")
    np.testing.assert_allclose(again.moment_tensor_Nm, TENSORS[:1])


def test_events_go_out_and_come_back_through_quakeml(tmp_path):
    catalog = waveforms.events_to_catalog(EVENTS)
    assert catalog[1].preferred_magnitude().mag == pytest.approx((np.log10(np.sqrt(1e40 + 4e40 + 9e38)) - 9.1) / 1.5)
    catalog.write(str(tmp_path / "quakes.xml"), format="QUAKEML", validate=True)
    again = waveforms.events_from_catalog(obspy.read_events(str(tmp_path / "quakes.xml")))
    assert again.name[0] == "C201305240544A" and again.region == EVENTS.region
    for found, wanted in zip(again.origin_time, EVENTS.origin_time, strict=True):
        assert obspy.UTCDateTime(found) == obspy.UTCDateTime(wanted)
    for column in ("latitude_deg", "longitude_deg", "depth_km", "half_duration_s", "moment_tensor_Nm"):
        np.testing.assert_allclose(getattr(again, column), getattr(EVENTS, column), rtol=1e-12)
    assert read_catalogue_event(tmp_path / "quakes.xml").depth_m == 9000  # what a wave run reads as event_file


def test_stations_go_out_and_come_back_through_stationxml(tmp_path):
    waveforms.stations_to_inventory(STATIONS).write(str(tmp_path / "stations.xml"), format="STATIONXML", validate=True)
    again = waveforms.stations_from_inventory(obspy.read_inventory(str(tmp_path / "stations.xml")))
    assert sorted(again.name) == sorted(STATIONS.name)
    for n, name in enumerate(again.name):
        at = STATIONS.name.index(name)
        found = again.latitude_deg[n], again.longitude_deg[n] % 360, again.elevation_m[n]
        assert found == pytest.approx((STATIONS.latitude_deg[at], STATIONS.longitude_deg[at], STATIONS.elevation_m[at]))
    write_stations(tmp_path / "stations.csv", again)
    assert read_stations(tmp_path / "stations.csv").name == again.name


def without_tensor():
    """Two events, of which the second has none."""
    catalog = obspy.Catalog([earthquake()[0], earthquake()[0]])
    catalog[1].focal_mechanisms = []
    return catalog


def test_an_event_without_a_moment_tensor_is_told_what_gives_it_one(tmp_path):
    with pytest.raises(UserError) as caught:
        waveforms.events_from_catalog(without_tensor())
    said = str(caught.value)
    assert said.startswith("catalogue: event 2 (smi:local/") and "\n" not in said
    for words in (
        "2013-05-24T05:44:",
        "mw 6.34",
        "it has no moment tensor; allowed:",
        "Global CMT",
        ".ndk",
        "CMTSOLUTION",
        "[input] events",
        "event_file",
    ):
        assert words in said
    without_tensor()[1:].write(str(tmp_path / "bare.xml"), format="QUAKEML")
    with pytest.raises(
        UserError, match=r"bare\.xml: its first event \(smi:.*2013-05-24T.*\): it has no moment tensor; .*\.ndk"
    ):
        read_catalogue_event(tmp_path / "bare.xml")
    # the cure
    (tmp_path / "CMTSOLUTION").write_text(cmtsolution())
    cured = without_tensor()[:1] + obspy.read_events(str(tmp_path / "CMTSOLUTION"))
    assert len(waveforms.events_from_catalog(cured)) == 2


def test_a_missing_half_duration_is_the_usual_one():
    bare = earthquake()
    bare[0].focal_mechanisms[0].moment_tensor.source_time_function = None
    assert waveforms.events_from_catalog(bare).half_duration_s[0] == usual_half_duration_s(TENSORS[0])


def test_what_is_refused():
    deep = earthquake()
    for origin in deep[0].origins:
        origin.depth = 900e3
    far = waveforms.stations_to_inventory(STATIONS)
    far[0][0].elevation = 20000.0
    for call, given, words in (
        (waveforms.events_from_catalog, obspy.Catalog(), "Catalog without events; allowed"),
        (waveforms.events_from_catalog, earthquake()[0], "Event without events; allowed"),
        (waveforms.events_from_catalog, earthquake() + earthquake(), "event 2 .* twice; allowed: each event once"),
        (waveforms.events_from_catalog, deep, r"event 1 .*depth_km = 900; allowed: a number in \[0, 800\] km"),
        (waveforms.stations_from_inventory, [], "object of type list; allowed: an ObsPy Inventory"),
        (waveforms.stations_from_inventory, obspy.Inventory(), "no stations; allowed: one or more"),
        (waveforms.stations_from_inventory, far, r"elevation_m = 20000; allowed: a number in \[-12000, 9000\] m"),
    ):
        with pytest.raises(UserError, match=words):
            call(given)
