"""A wave run as ObsPy's objects, and its strain Green's tensors in xarray."""

import h5py
import numpy as np
import pytest
from craton import waves
from craton.errors import UserError
from craton.seismology.wave_run.config import load_config
from craton.waves import run
from mpi4py import MPI
from wave_config import write_config


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("waves")
    placed = ("spacing_m = 100.0", "spacing_m = 100.0\norigin_lon_lat = [-118.0, 34.0]")
    run(load_config(write_config(place, placed), directory=place / "run"), MPI.COMM_SELF, report=False)
    return place / "run"


def test_obspys_objects(folder):
    pytest.importorskip("obspy")
    told, found = waves.read_metadata(folder), waves.read_seismograms(folder)
    stream, inventory, catalog = told.stream(), told.inventory(), told.catalogue()
    assert len(stream) == 3 * len(found.names)
    up = stream.select(component="Z")
    np.testing.assert_array_equal([trace.data for trace in up], -found.velocity[:, 2])
    assert up[0].stats.delta == pytest.approx(found.dt_s)
    stations = {station.description: station for network in inventory for station in network}
    for name, (longitude, latitude) in zip(found.names, found.longitude_latitude_deg, strict=True):
        assert (stations[name].longitude, stations[name].latitude) == pytest.approx((longitude, latitude))
    assert catalog[0].preferred_magnitude().mag == pytest.approx(4.0, abs=1e-6)
    assert len(inventory.select(channel="*Z").get_contents()["channels"]) == len(found.names)


def test_a_folder_without_a_run(tmp_path):
    pytest.importorskip("obspy")
    with pytest.raises(UserError, match="allowed"):
        waves.read_metadata(tmp_path)


def test_strain_greens_tensors_in_xarray(folder):
    xarray = pytest.importorskip("xarray")
    with (
        xarray.open_dataset(folder / "sgt.h5", engine="h5netcdf", phony_dims="sort") as found,
        h5py.File(folder / "sgt.h5") as file,
    ):
        np.testing.assert_array_equal(found.sgt, file["sgt"])
        assert found.sgt.ndim == 3 and found.sgt.attrs["unit"] == "1"  # a strain
