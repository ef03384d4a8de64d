"""What a run leaves opens in other programs: xarray, XDMF, ObsPy and pyasdf; with places, units and times."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI")

from craton.errors import UserError
from craton.seismology.geometry.grid import Grid
from craton.seismology.geometry.projection import projection_about
from craton.seismology.sources.source_time import KINDS, source_time
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import read_seismograms
from craton.seismology.wave_run.setup import Setup, grid_of
from craton.waves.labelled import _degrees_of
from craton.waves.start import run
from readers import CMT
from scipy.stats import norm
from sw4_models import write_rfile
from wave_config import craton, here, write_config

PLACED = (
    ("spacing_m = 100.0", "spacing_m = 100.0\norigin_lon_lat = [-118.0, 34.0]\nazimuth_deg = 30.0"),
    ("duration_s = 0.9", "duration_s = 0.9\norigin_time = 2019-07-05T20:19:53.25-07:00"),
    ("mw = 4.0", "mw = 4.0\nstart_s = 0.05"),
)
ORIGIN = "2019-07-06T03:19:53.250000"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with a place on the Earth and a time."""
    place = tmp_path_factory.mktemp("waves")
    config = load_config(write_config(place, *PLACED), directory=place / "run")
    run(config, MPI.COMM_SELF, report=False)
    return WavesFolder(place / "run")


def grid(folder):
    return grid_of(load_config(folder.config))


# ------------------------------------------------------------------------------------------------------------ HDF5, xarray


def test_xarray_finds_dimensions_coordinates_and_units(folder):
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(folder.surface, engine="h5netcdf") as found, h5py.File(folder.surface) as file:
        assert found.attrs["Conventions"].startswith("CF-")
        assert found.vx.dims == ("time", "z", "y", "x_face") and found.vz.dims == ("time", "z_face", "y", "x")
        assert found.vx.units == "m/s" and found.time.units == "s" and found.time.origin_time == ORIGIN
        assert (found.x.units, found.x.axis, found.z.positive) == ("m", "X", "down")
        np.testing.assert_array_equal(found.vz.values, file["vz"])
        np.testing.assert_allclose(found.x, 100 * (np.arange(30) + 0.5))
        np.testing.assert_allclose(found.x_face, 100 * np.arange(30))
        np.testing.assert_allclose(found.z_face, [0.0])
        facts = file["vz"].attrs
        np.testing.assert_allclose(found.time, facts["first_time_s"] + facts["dt_s"] * np.arange(5))
        one = found.vz.sel(x=1260, y=1430, method="nearest")
        assert (float(one.x), float(one.y)) == (1250.0, 1450.0)
        longitude, latitude = grid(folder).lon_lat(1250.0, 1450.0)
        assert float(one.longitude) == pytest.approx(float(longitude), abs=1e-9)
        assert float(one.latitude) == pytest.approx(float(latitude), abs=1e-9)
        assert (found.longitude.units, found.latitude.units) == ("degrees_east", "degrees_north")
        longitude, _ = grid(folder).lon_lat(300.0, 1450.0)
        assert float(found.longitude_x_face.sel(x_face=300, y=1450)) == pytest.approx(float(longitude), abs=1e-9)


def test_every_third_cell_of_a_volume_has_its_own_coordinates(folder):
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(folder.snapshots, engine="h5netcdf") as found:
        assert found.zz.dims == ("time_stress", "z", "y", "x") and found.zz.units == "Pa"
        np.testing.assert_allclose(found.z, 50 + 300 * np.arange(8))
        half = 0.5 * folder.read_record().dt_s
        np.testing.assert_allclose(found.time_stress.values - found.time.values, half, rtol=1e-9)


def test_xarray_selects_a_station_by_its_name(folder):
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(folder.seismograms, engine="h5netcdf") as found:
        series = found.velocity.sel(station="FAR", component="y")
        np.testing.assert_array_equal(series, read_seismograms(folder).velocity[1, 1])
        assert found.coordinates.sel(station="FAR", component="z") == 730.0 and series.units == "m/s"
        longitude, latitude = grid(folder).lon_lat(2210.0, 1950.0)
        assert float(series.longitude) == pytest.approx(float(longitude), abs=1e-9)
        assert float(series.latitude) == pytest.approx(float(latitude), abs=1e-9)


def test_labels_survive_an_interrupted_run_and_do_not_depend_on_ranks(tmp_path, folder):
    """Three ranks, ended after their first checkpoint, resumed: the same names, shapes and coordinates as of one rank."""
    xarray = pytest.importorskip("xarray")
    path = write_config(tmp_path, *PLACED)
    done = craton("run", path, "--ranks", 3, "--no-report", "--directory", "three", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("snapshots.h5", "surface.h5", "seismograms.h5"):
        with (
            xarray.open_dataset(tmp_path / "three" / name, engine="h5netcdf") as found,
            xarray.open_dataset(folder.path / name, engine="h5netcdf") as wanted,
        ):
            assert found.sizes == wanted.sizes
            for coordinate in wanted.coords:
                np.testing.assert_array_equal(found[coordinate], wanted[coordinate])


def test_a_grid_without_a_place_has_no_degrees(tmp_path):
    xarray = pytest.importorskip("xarray")
    here("run", write_config(tmp_path), "--no-report", cwd=tmp_path)
    with xarray.open_dataset(tmp_path / "small-run" / "surface.h5", engine="h5netcdf") as found:
        assert not {"longitude", "latitude"} & set(found.coords) and "origin_time" not in found.time.attrs


# ------------------------------------------------------------------------------------------------------------------- XDMF


def numbers(text):
    return [float(word) for word in text.split()]


@pytest.mark.parametrize("name", ["snapshots", "surface"])
def test_xdmf_leads_to_the_values(folder, name):
    """Every reference is followed: file, dataset, shape, part, place and time."""
    root = ElementTree.parse(folder.path / f"{name}.xdmf").getroot()
    seen = []
    with h5py.File(folder.path / f"{name}.h5") as file:
        for series in root.find("Domain"):
            assert (series.get("GridType"), series.get("CollectionType")) == ("Collection", "Temporal")
            for sample, one in enumerate(series):
                shape = tuple(map(int, numbers(one.find("Topology").get("Dimensions"))))
                origin, spacing = (numbers(item.text) for item in one.find("Geometry"))
                for field in one.iter("Attribute"):
                    part = field.find("DataItem")
                    chosen, stored = part
                    start, stride, count = np.array(numbers(chosen.text), int).reshape(3, 4)
                    name_of_file, _, dataset = stored.text.partition(":/")
                    assert name_of_file == f"{name}.h5" and (folder.path / name_of_file).is_file()
                    data = file[dataset]
                    assert data.shape == tuple(map(int, numbers(stored.get("Dimensions"))))
                    assert tuple(count) == (1, *shape) and tuple(map(int, numbers(part.get("Dimensions")))) == shape
                    assert list(start) == [sample, 0, 0, 0] and list(stride) == [1, 1, 1, 1]
                    assert origin == data.attrs["origin_xyz_m"][::-1].tolist()
                    assert spacing == data.attrs["spacing_xyz_m"][::-1].tolist()
                    time_s = data.attrs["first_time_s"] + sample * data.attrs["dt_s"]
                    assert float(one.find("Time").get("Value")) == pytest.approx(time_s, rel=1e-8)
                    seen.append((dataset, sample))
        fields = [field for field, item in file.items() if item.ndim == 4]
        assert sorted(seen) == sorted((field, sample) for field in fields for sample in range(len(file[field])))


def test_fields_of_one_place_share_a_grid(tmp_path):
    change = ('fields = ["vx", "zz"]', 'fields = ["vx", "xx", "zz", "xy"]')
    here("run", write_config(tmp_path, change), "--no-report", cwd=tmp_path)
    root = ElementTree.parse(tmp_path / "small-run" / "snapshots.xdmf").getroot()
    assert sorted(series.get("Name") for series in root.find("Domain")) == ["vx", "xx zz", "xy"]


def test_a_run_is_not_lost_where_xdmf_cannot_be_written(tmp_path, monkeypatch):
    def full(path, _fields):
        raise UserError(f"{path}: No space left on device; allowed: a place with room")

    monkeypatch.setattr("craton.waves.start.write_xdmf", full)
    told = here("run", write_config(tmp_path), "--no-report", cwd=tmp_path)
    assert "warning: " in told and "No space left on device" in told
    assert WavesFolder(tmp_path / "small-run").read_record().finished


@pytest.mark.parametrize("projection", ["azimuthal_equidistant", "transverse_mercator"])
@pytest.mark.parametrize(("latitude", "spacing_m"), [(34.0, 1000.0), (-65.0, 4000.0), (79.5, 500.0)])
def test_degrees_between_nodes_are_those_of_the_projection(projection, latitude, spacing_m):
    """Of 100 x 90 points, up to 400 km; beyond 80 degrees each point is projected by itself."""
    place = Grid((100, 90, 8), spacing_m, projection_about(projection, 179.0, latitude), 30.0)
    x, y = place.axis(0, 100), place.axis(0, 90)
    found = _degrees_of(place, x, y)(y[10:30])
    for one, wanted in zip(found, place.lon_lat(x[None, :], y[10:30, None]), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=0, atol=2e-9)


def test_degrees_of_large_planes_are_left_out(tmp_path, monkeypatch):
    xarray = pytest.importorskip("xarray")
    monkeypatch.setattr("craton.waves.labelled.MOST_PLACES", 500)
    here("run", write_config(tmp_path, *PLACED), "--no-report", cwd=tmp_path)
    with xarray.open_dataset(tmp_path / "small-run" / "surface.h5", engine="h5netcdf") as found:
        assert "longitude" not in found.coords and found.vz.dims == ("time", "z_face", "y", "x")
    with xarray.open_dataset(tmp_path / "small-run" / "snapshots.h5", engine="h5netcdf") as found:
        assert found.longitude.shape == (10, 10)


# ------------------------------------------------------------------------------------------------------------- seismology


def test_miniseed_has_real_times_with_stations_and_event_beside(folder, tmp_path):
    obspy = pytest.importorskip("obspy")
    out = tmp_path / "all.mseed"
    told = json.loads(here("export", folder.path, "--format", "mseed", "-o", out, "--json", cwd=tmp_path))
    assert told["notes"] == [] and told["beside"] == [
        str(tmp_path / f"all.{name}.xml") for name in ("stations", "event")
    ]
    record, found = folder.read_record(), read_seismograms(folder)
    stream = obspy.read(str(out))
    start = obspy.UTCDateTime(ORIGIN) + found.first_time_s
    assert all(abs(trace.stats.starttime - start) < 2e-6 for trace in stream)
    inventory = obspy.read_inventory(told["beside"][0])
    for trace in stream:
        coordinates = inventory.get_coordinates(trace.id, trace.stats.starttime)
        n = found.names.index(trace.stats.station)
        assert [coordinates["longitude"], coordinates["latitude"]] == pytest.approx(
            found.longitude_latitude_deg[n].tolist(), abs=1e-8
        )
        assert coordinates["local_depth"] == found.position_m[n, 2]
        response = inventory.get_response(trace.id, trace.stats.starttime).instrument_sensitivity
        assert (response.value, response.input_units, response.output_units) == (1.0, "M/S", "M/S")
        letter = trace.stats.channel[-1]
        turned = inventory.get_orientation(trace.id, trace.stats.starttime)
        assert turned["dip"] == (-90.0 if letter == "Z" else 0.0)
        if letter != "Z":
            assert turned["azimuth"] == pytest.approx({"1": 30.0, "2": 120.0}[letter], abs=0.05)
    (event,) = obspy.read_events(told["beside"][1])
    x, y, z = 1250.0, 1430.0, 800.0
    longitude, latitude = (float(p) for p in grid(folder).lon_lat(x, y))
    origin = event.preferred_origin()
    assert (origin.longitude, origin.latitude, origin.depth) == (
        pytest.approx(longitude, abs=1e-8),
        pytest.approx(latitude, abs=1e-8),
        z,
    )
    cut = norm.pdf(-2.5) / norm.sf(-2.5)  # a bell of sigma 0.12 about 0.3 that begins at 0
    assert (
        abs(origin.time - (obspy.UTCDateTime(ORIGIN) + 0.05 + 0.3 + 0.12 * cut)) < 1e-5 and record.origin_time == ORIGIN
    )
    assert event.preferred_magnitude().mag == pytest.approx(4.0, abs=1e-9)
    # The tensor comes back through the reader of catalogues: strike, dip and rake were of true north.
    from craton.seismology.sources.moment_tensor_events import moment_tensor_event
    from craton.seismology.sources.point_sources import double_couple, from_r_theta_phi, moment_of_magnitude

    tensor = from_r_theta_phi(moment_tensor_event(event).tensor_r_theta_phi)
    wanted = moment_of_magnitude(4.0) * double_couple(30.0, 60.0, 90.0)
    np.testing.assert_allclose(tensor, wanted, atol=1e-6 * np.abs(wanted).max())


def test_sac_knows_times_and_event(folder, tmp_path):
    obspy = pytest.importorskip("obspy")
    here("export", folder.path, "--format", "sac", "-o", tmp_path / "sac", cwd=tmp_path)
    assert {path.suffix for path in (tmp_path / "sac").iterdir()} == {".sac", ".xml"}
    (one,) = obspy.read(str(tmp_path / "sac" / "*FAR*X1*.sac"))
    sac = one.stats.sac
    assert abs(one.stats.starttime - (obspy.UTCDateTime(ORIGIN) + read_seismograms(folder).first_time_s)) < 2e-3
    assert sac.cmpaz == pytest.approx(30.0, abs=0.05) and sac.cmpinc == 90.0 and sac.evdp == 800.0
    assert sac.dist == pytest.approx(1e-3 * np.hypot(2210 - 1250, 1950 - 1430), rel=1e-3)


def test_asdf_has_the_event_and_the_stations(folder, tmp_path):
    pyasdf = pytest.importorskip("pyasdf")
    here("export", folder.path, "--format", "asdf", "-o", tmp_path / "all.h5", cwd=tmp_path)
    with pyasdf.ASDFDataSet(str(tmp_path / "all.h5"), mode="r", mpi=False) as file:
        (event,) = file.events
        assert event.preferred_magnitude().mag == pytest.approx(4.0, abs=1e-9)
        station = file.waveforms["SY.FAR"]
        (tag,) = station.get_waveform_tags()
        assert all(trace.stats.asdf.event_ids == [event.resource_id] for trace in station[tag])
        assert station.StationXML[0][0].code == "FAR" and len(station.StationXML[0][0]) == 3
        assert file.get_all_coordinates()["SY.FAR"]["longitude"] == pytest.approx(
            read_seismograms(folder).longitude_latitude_deg[1, 0], abs=1e-8
        )


def test_files_beside_are_not_replaced_without_being_asked(folder, tmp_path):
    (tmp_path / "all.event.xml").write_text("mine")
    with pytest.raises(UserError, match=r"all\.event\.xml: exists; allowed: --overwrite"):
        here("export", folder.path, "--format", "mseed", "-o", tmp_path / "all.mseed", cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["all.event.xml"]
    here("export", folder.path, "--format", "mseed", "-o", tmp_path / "all.mseed", "--overwrite", cwd=tmp_path)
    assert (tmp_path / "all.event.xml").read_text() != "mine"


# ------------------------------------------------------------------------------------------------------------------- time


def configured(tmp_path, time):
    return load_config(write_config(tmp_path, ("duration_s = 0.9", f"duration_s = 0.9\norigin_time = {time}")))


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ('""', ""),
        ('"2019-07-06T03:19:53"', "2019-07-06T03:19:53"),
        ('"2019-07-06 03:19:53.04Z"', "2019-07-06T03:19:53.040000"),
        ("2019-07-06T03:19:53+01:00", "2019-07-06T02:19:53"),
    ],
)
def test_an_origin_time_is_utc(tmp_path, written, kept):
    assert configured(tmp_path, written).time.origin_time == kept


@pytest.mark.parametrize("written", ['"yesterday"', "3.5", "true", '"2019-13-01"', '"0001-01-01T00:00:00+10:00"'])
def test_what_is_no_time_is_refused(tmp_path, written):
    with pytest.raises(UserError, match=r"origin_time = .*; allowed: a date and time in UTC, as in \"2019") as refused:
        configured(tmp_path, written)
    assert "\n" not in str(refused.value)


def test_an_event_of_a_file_says_when_the_run_takes_place(tmp_path):
    """Its centroid time is the middle of the source's pulse; the run begins before it."""
    obspy = pytest.importorskip("obspy")
    (tmp_path / "event.cmt").write_text(CMT)
    here_lies = (PLACED[0][0], 'spacing_m = 100.0\norigin_lon_lat = [-118.05, 33.95]\norigin_at = "centre"')
    deep = ("size_km = [3.0, 2.8, 2.4]", "size_km = [3.0, 2.8, 13.0]")
    text = write_config(tmp_path, here_lies, deep).read_text().partition("[[source]]")[0]
    text += '[[source]]\nevent_file = "event.cmt"\nstart_s = 0.1\n'
    (tmp_path / "small.toml").write_text(text)
    setup = Setup(load_config(tmp_path / "small.toml"))
    (event,) = obspy.read_events(str(tmp_path / "event.cmt"))
    centroid = [origin for origin in event.origins if origin.origin_type == "centroid"][0].time.datetime
    begins = datetime.fromisoformat(setup.origin_time)
    half_s = 0.5 * setup.points[0].time_function.end_s
    assert (centroid - begins).total_seconds() == pytest.approx(0.1 + half_s, abs=1e-5)
    assert begins.replace(tzinfo=UTC).year == centroid.year


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ricker"])
def test_the_centroid_of_a_pulse_is_where_its_moment_lies(kind):
    pulse = source_time(kind, 2.0)
    t, step = np.linspace(0, pulse.end_s, 200_001, retstep=True)
    rate = pulse.rate(t)
    assert pulse.centroid_s == pytest.approx(float((rate * t).sum() / rate.sum()), rel=1e-4) and step > 0


def test_sources_are_told_in_the_order_of_the_configuration(tmp_path):
    """They were once sorted by x, so that each had the strength of another."""
    swapped = (("1250.0, 1430.0, 800.0", "1950.0, 1430.0, 800.0"), ("1820.0, 1610.0, 0.0", "1020.0, 1610.0, 0.0"))
    here("run", write_config(tmp_path, *swapped), "--no-report", cwd=tmp_path)
    record = WavesFolder(tmp_path / "small-run").read_record()
    assert record.sources_m == [[1950.0, 1430.0, 800.0], [1020.0, 1610.0, 0.0]]
    assert record.strongest.position_m == [1950.0, 1430.0, 800.0]


# ------------------------------------------------------------------------------------------------------ models of others


def test_a_model_of_sw4_gives_the_same_waves_on_any_number_of_ranks(tmp_path):
    """Each rank reads what its brick needs: of a model with topography, tapered near the surface."""

    def ground(x, y, z):
        vs = 2500 + 0.1 * x - 0.05 * y + 0.3 * z
        return 1.8 * vs, vs, 2000 + 0.2 * vs

    blocks = [(100.0, 50.0, -400.0, 21), (200.0, 200.0, 600.0, 13)]
    write_rfile(tmp_path / "m.rfile", ground, lambda x, y: 100 + 0.05 * x, blocks)
    layers = 'kind = "layers"\nlayers = [[450.0, 4000.0, 2000.0, 2600.0], [0.0, 6000.0, 3464.0, 2700.0]]'
    place = "spacing_m = 100.0\norigin_lon_lat = [-118.006, 33.993]\nazimuth_deg = 20.0"
    changes = (layers, 'kind = "file"\nfile = "m.rfile"\nvs30 = 1500.0'), ("spacing_m = 100.0", place)
    path = write_config(tmp_path, *changes, ('points = "points.txt"\n', ""))
    found = []
    for ranks in (1, 2, 3, 4):
        done = craton("run", path, "--ranks", ranks, "--no-report", "--directory", f"on-{ranks}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found.append(read_seismograms(tmp_path / f"on-{ranks}").velocity)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=0, atol=1e-6 * np.abs(found[0]).max())


# ------------------------------------------------------------------------------------------------------ the documentation

PAGE = Path(__file__).resolve().parents[3] / "docs" / "waves.md"


def snippets():
    """What docs/waves.md says for other programs."""
    if not PAGE.exists():
        pytest.skip("the documentation is not beside the tests")
    return re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_snippet_for_xarray_runs(tmp_path, monkeypatch):
    pytest.importorskip("xarray")
    changes = (('["NEAR"', '["A3"'), ('fields = ["vx", "zz"]\nvolume = true', 'fields = ["vz"]'))
    here("run", write_config(tmp_path, *changes), "--no-report", "--directory", "layer-run", cwd=tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(snippets()[0], str(PAGE), "exec"), found := {})
    assert found["motion"].sel(station="A3", component="x").dims == ("time",)
    plotted = found["surface"].vz.sel(time=2.0, method="nearest")
    assert plotted.dims == ("z_face", "y", "x")


def test_the_snippet_for_a_dynamic_rupture_runs(tmp_path, monkeypatch):
    """Its slip rates come back from the SRF file, and their moment from the source."""
    from craton.seismology.sources.kinematic import read_kinematic
    from craton.seismology.sources.srf import iterate_srf

    n, samples, sample_s = 6, 40, 0.02
    onset = 0.05 * np.arange(n)[:, None]
    t = sample_s * np.arange(samples) - onset
    rates = np.where(t > 0, np.exp(-t / 0.1) / np.sqrt(np.maximum(t, 0.01)), 0).astype(np.float32)
    columns = {
        "longitude_deg": -117.985 + 1e-3 * np.arange(n),
        "latitude_deg": np.full(n, 34.005),
        "depth_m": 500 + 100.0 * np.arange(n),
        **{f"{name}_deg": np.full(n, angle) for name, angle in (("strike", 90.0), ("dip", 80.0), ("rake", 10.0))},
        "area_m2": np.full(n, 1e4),
    }
    np.savez(tmp_path / "rupture.npz", **columns, slip_rate_m_s=rates, sample_s=sample_s)
    monkeypatch.chdir(tmp_path)
    exec(compile(snippets()[1], str(PAGE), "exec"), {})
    found = list(iterate_srf("rupture.srf"))
    np.testing.assert_allclose([one.slip_rates_m_s[0] for one in found], rates, rtol=1e-4, atol=1e-6)
    place = grid_of(load_config(write_config(tmp_path, PLACED[0])))
    mu = 3e10
    source = read_kinematic("rupture.srf", place, lambda x, y, z: (0 * x + mu, 0 * x + mu))
    xx, yy, zz, xy, xz, yz = np.asarray(source.pattern).T
    moment = np.sqrt(0.5 * (xx**2 + yy**2 + zz**2) + xy**2 + xz**2 + yz**2)  # of a metre of slip
    total = float((source.rates(0, 100, 0.01).sum(axis=1) * 0.01 * moment).sum())
    assert total == pytest.approx(mu * 1e4 * rates.sum() * sample_s, rel=1e-3)
