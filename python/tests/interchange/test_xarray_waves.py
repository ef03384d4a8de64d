"""ds.craton of a wave run's files: stations, ObsPy's Stream, record sections, snapshots."""

import numpy as np
import pytest
from craton import UserError, waves
from craton.seismology.wave_run.config import load_config
from craton.waves import run
from matplotlib.figure import Figure
from mpi4py import MPI
from wave_config import write_config

xarray = pytest.importorskip("xarray")
import craton.xarray  # noqa: F401  # registers the accessor

PLACED = (
    ("spacing_m = 100.0", "spacing_m = 100.0\norigin_lon_lat = [-118.0, 34.0]\nazimuth_deg = 30.0"),
    ("duration_s = 0.9", "duration_s = 0.9\norigin_time = 2019-07-06T03:19:53.25"),
    ('"NEAR"', '"Well 7, north"'),
)


def folder_of(place, *changes):
    run(load_config(write_config(place, *changes), directory=place / "run"), MPI.COMM_SELF, report=False)
    return waves.WavesFolder(place / "run")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run that has a place on the Earth, and x to 30 degrees."""
    return folder_of(tmp_path_factory.mktemp("waves"), *PLACED)


@pytest.fixture(scope="module")
def motion(folder):
    with xarray.open_dataset(folder.seismograms, engine="h5netcdf") as found:
        yield found


@pytest.fixture(scope="module")
def fields(folder):
    with xarray.open_dataset(folder.snapshots, engine="h5netcdf") as found:
        yield found


def test_a_station_has_components_and_a_place(folder, motion):
    found, wanted = motion.craton.station("FAR"), waves.read_seismograms(folder)
    assert set(found.data_vars) == {"Z", "1", "2"} and found.Z.units == "m/s" and found.Z.dims == ("time",)
    for letter, values in wanted.components().items():
        np.testing.assert_array_equal(found[letter], values[1])
    np.testing.assert_array_equal([found.x, found.y, found.z], wanted.position_m[1])
    at = [float(found.longitude), float(found.latitude)]
    np.testing.assert_allclose(at, wanted.longitude_latitude_deg[1], rtol=0, atol=1e-8)
    assert (found.x.units, found.longitude.units, str(found.station.values)) == ("m", "degrees_east", "FAR")
    np.testing.assert_allclose(found.time, wanted.time_s)


def test_a_stream_is_that_of_the_run(folder, motion):
    pytest.importorskip("obspy")
    found, wanted = motion.craton.stream(), waves.read_metadata(folder.path).stream()
    assert [trace.id for trace in found] == [trace.id for trace in wanted] and len(found) == 6
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.data, other.data)
        assert abs(one.stats.starttime - other.stats.starttime) < 1e-6
        assert one.stats.delta == pytest.approx(other.stats.delta, rel=1e-9)
    assert {trace.stats.station for trace in found} == {"FAR", "S0000"} and found[0].stats.starttime.year == 2019


def test_a_stream_is_of_what_is_left(motion):
    """Some time, one station, other values, components in another order."""
    pytest.importorskip("obspy")
    some = motion.isel(time=slice(10, 30), component=[2, 0, 1]).sel(station=["FAR"])
    some["velocity"] = some.velocity.copy(data=2 * some.velocity.values)
    found, whole = some.craton.stream(), motion.craton.stream()
    assert len(found) == 3 and all(trace.stats.npts == 20 for trace in found)
    for trace in found:
        other = whole.select(id=trace.id)[0]
        np.testing.assert_array_equal(trace.data, 2 * other.data[10:30])
        assert abs(trace.stats.starttime - other.times("utcdatetime")[10]) < 2e-6


def test_a_record_section_is_that_of_the_report(folder, motion):
    found = motion.craton.record_section()
    wanted = waves.record_section_figure(waves.read_seismograms(folder), folder.read_record())
    assert isinstance(found, Figure)
    for one, other in zip(found.axes[:3], wanted.axes[:3], strict=True):
        assert one.get_title(loc="left") == other.get_title(loc="left")
        for line, same in zip(one.lines, other.lines, strict=True):
            np.testing.assert_allclose(line.get_xydata(), same.get_xydata(), rtol=1e-9, atol=1e-12)
    elsewhere = xarray.Dataset(motion.variables).set_coords(["longitude", "latitude"])
    assert [axes.get_title(loc="left") for axes in elsewhere.craton.record_section(folder.path).axes[:3]] == [
        axes.get_title(loc="left") for axes in wanted.axes[:3]
    ]


def images_of(figure):
    return [(axes.get_title(loc="left"), axes.images[0]) for axes in figure.axes if axes.images]


def test_a_snapshot_is_the_one_next_to_a_time(folder, fields):
    shots = waves.read_snapshots(folder.snapshots)
    later = float(shots.time_s[1])
    [(title, image)] = images_of(fields.craton.snapshot(later - 0.01))
    assert title == f"t = {later:.3g} s"
    np.testing.assert_array_equal(image.get_array(), shots.fields["vx"][1, 0, 2:7, 2:8].T)
    both = images_of(fields.craton.snapshot([later, float(shots.time_s[0])]))
    assert len(both) == 2 and both[1][1].get_clim() == image.get_clim()
    stress = fields.craton.snapshot(later, "zz")
    np.testing.assert_array_equal(images_of(stress)[0][1].get_array(), shots.fields["zz"][1, 0, 2:7, 2:8].T)
    assert [axes.get_ylabel() for axes in stress.axes if not axes.images] == ["zz, Pa"]


def test_a_snapshot_of_the_movies_surface(folder):
    with xarray.open_dataset(folder.surface, engine="h5netcdf") as found:
        figure = found.craton.snapshot(0.5)
        assert figure.get_suptitle() == "vertical velocity (up) at the surface"
        with pytest.raises(UserError, match="28 x 20 points along y and x; allowed: 28 x 30, all of the plane"):
            found.isel(x=slice(0, 20)).craton.snapshot(0.5)


def test_the_title_says_which_plane(tmp_path):
    """Of the movie, which has a depth of its own; x points north and the run has no place."""
    change = ("[movie]\nevery = 20", "[movie]\nevery = 20\nz_m = 400.0")
    folder = folder_of(tmp_path, change)
    with xarray.open_dataset(folder.surface, engine="h5netcdf") as found:
        assert found.craton.snapshot(0.5).get_suptitle() == "vertical velocity (up) at z = 400 m"
    with xarray.open_dataset(folder.seismograms, engine="h5netcdf") as found:
        near = found.craton.station("NEAR")
        assert set(near.data_vars) == {"Z", "N", "E"} and near.N.long_name == "velocity to north"
        assert "longitude" not in near.coords


def test_it_says_what_it_is(motion, fields):
    assert repr(motion.craton) == "<CratonAccessor: seismograms velocity, methods station, stream, record_section>"
    assert repr(fields.craton) == "<CratonAccessor: snapshots vx, zz, methods snapshot>"


def bare(dataset):
    """Without what says where it is from."""
    return xarray.Dataset(dataset.variables)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda ds, _: ds.craton.station("FARR"), "station: 'FARR' is not there; allowed: FAR"),
        (lambda ds, _: ds.sel(component="x").craton.stream(), "velocity over station, time; allowed: seismograms.h5"),
        (lambda ds, _: ds.isel(component=[0, 2]).craton.stream(), "stream: no component y; allowed: x, y, z"),
        (
            lambda ds, _: ds[["velocity"]].craton.station("FAR"),
            "no variable 'coordinates', which has the stations; allowed",
        ),
        (lambda ds, _: ds.isel(time=[0]).craton.stream(), "1 samples in time; allowed: at least 2"),
        (
            lambda ds, _: ds.isel(time=[0, 1, 5]).craton.stream(),
            "steps in time from .* to .* s; allowed: all of one length",
        ),
        (
            lambda ds, _: bare(ds).craton.record_section(),
            "does not say which file it is from; allowed: run=..., the folder",
        ),
        (
            lambda ds, _: ds.drop_attrs().craton.stream(),
            "velocity has no attribute azimuth_deg; allowed: that of the file",
        ),
        (
            lambda ds, _: ds.craton.depth_slice(1),
            "depth_slice: a Dataset of .*velocity over station, .*; allowed: a model",
        ),
        (lambda ds, _: ds.craton.snapshot(1), "snapshot: a Dataset of .*; allowed: snapshots.h5 or surface.h5"),
        (lambda _, ds: ds.craton.snapshot(5.0), "snapshot: 5 s is outside the run; allowed: 0.* s"),
        (lambda _, ds: ds.craton.snapshot(0.5, "vz"), "snapshot: field 'vz'; allowed: vx, zz"),
        (lambda _, ds: bare(ds).craton.snapshot(0.5), "does not say which file it is from; allowed: run="),
        (lambda _, ds: ds.craton.station("FAR"), "station: a Dataset of .*; allowed: seismograms.h5 of a wave run"),
        (lambda _, ds: ds.craton.snapshot(0.5, run="nowhere"), r"nowhere.*record\.json"),
    ],
)
def test_what_is_refused(motion, fields, call, words):
    with pytest.raises(UserError, match=words) as refused:
        call(motion, fields)
    assert "\n" not in str(refused.value) and "allowed: " in str(refused.value)
