"""A model as an xarray Dataset with CF coordinates, and back onto splines."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from craton import UserError, tomography
from craton._craton import ModelBasis
from craton.tomography.model.earth_table import reference_earth
from craton.tomography.model.fields import Fields

xarray = pytest.importorskip("xarray")


@pytest.fixture(scope="module")
def model():
    """Smooth dlnVs and dlnxi of up to two percent, on splines of 162 knots."""
    earth = reference_earth({"model": "prem_isotropic"})
    knots_m = np.linspace(earth.cmb_radius_m, earth.solid_surface_radius_m, 6)
    basis = ModelBasis(3, knots_m)
    latitude = np.repeat(np.asarray(basis.latitude_deg), basis.n_radial)
    longitude = np.repeat(np.asarray(basis.longitude_deg), basis.n_radial)
    coefficients = 0.02 * np.sin(np.radians(latitude)) + 0.01 * np.cos(np.radians(longitude)) * np.cos(
        np.radians(latitude)
    )
    parameters = {"dlnVs": coefficients, "dlnxi": -0.5 * coefficients}
    return Fields({name: basis for name in parameters}, parameters, "a model", earth, SimpleNamespace())


@pytest.fixture(scope="module")
def dataset(model):
    return tomography.to_dataset(model, 5.0, 100.0)


def test_coordinates_are_those_of_cf(dataset, model):
    assert dataset.attrs["Conventions"] == "CF-1.8" and set(dataset.data_vars) == {"dvs", "vs", "dxi"}
    assert dataset.dvs.dims == ("depth", "latitude", "longitude")
    wanted = {"depth": ("km", "depth", "Z"), "latitude": ("degrees_north", "latitude", "Y")}
    wanted["longitude"] = ("degrees_east", "longitude", "X")
    for name, told in wanted.items():
        attributes = dataset[name].attrs
        assert (attributes["units"], attributes["standard_name"], attributes["axis"]) == told
        assert bool((dataset[name].diff(name) > 0).all())
    assert dataset.depth.attrs["positive"] == "down"
    assert (dataset.dvs.attrs["units"], dataset.vs.attrs["units"]) == ("percent", "km s-1")
    at = {"latitude": 20.0, "longitude": -160.0}
    value = float(dataset.dvs.sel(at).interp(depth=400))
    assert value == pytest.approx(float(model.percent("dlnVs", 20.0, -160.0, 400.0)), abs=1e-3)
    reference = float(model.reference("Vs", 400.0))
    assert float(dataset.vs.sel(at).interp(depth=400)) == pytest.approx(reference * (1 + value / 100), rel=1e-5)


def test_there_and_back(dataset, model):
    again = tomography.from_dataset(dataset, model)
    latitude, longitude, depth = np.meshgrid([-70.0, -10, 35], [-150.0, 0, 100], [60.0, 500, 1700, 2800], indexing="ij")
    for name in ("dlnVs", "dlnxi"):
        found, wanted = (one.percent(name, latitude, longitude, depth) for one in (again, model))
        assert np.abs(found - wanted).max() < 0.02 * np.abs(wanted).max()


def test_a_constant_of_another_hand(model):
    """Speeds alone, other orders of axes, metres: 3 % above the reference everywhere, and no dlnxi."""
    depth_m = np.arange(2800e3, 30e3, -50e3)
    longitude, latitude = np.arange(0.0, 360.0, 10.0), np.arange(90.0, -91.0, -10.0)
    speed = 1030.0 * model.reference("Vs", depth_m / 1e3)  # m/s
    values = np.broadcast_to(speed, (len(longitude), len(latitude), len(depth_m)))
    made = xarray.Dataset(
        {"vs": (("longitude", "latitude", "depth"), values, {"units": "m/s"})},
        {"depth": depth_m, "latitude": latitude, "longitude": longitude},
    )
    found = tomography.from_dataset(made, model)
    np.testing.assert_allclose(
        found.percent("dlnVs", [-80.0, 0, 45], [10.0, 200, 359], [300.0, 1000, 2500]), 3.0, atol=0.15
    )
    assert not found.parameters["dlnxi"].any()


def test_through_a_file(dataset, model, tmp_path):
    """The file is what `[start] file` reads."""
    from craton.tomography.model.starting import read_start

    dataset.to_netcdf(tmp_path / "mine.nc", engine="h5netcdf")
    found, record = read_start(tmp_path / "mine.nc", model.basis, model.earth)
    again = tomography.from_dataset(dataset, model)
    np.testing.assert_allclose(found, again.parameters["dlnVs"], atol=1e-6)
    assert "NetCDF, dvs" in record.kind


def test_what_is_refused(dataset, model, monkeypatch):
    for given, words in (
        (dataset.dvs, "object of type DataArray; allowed: an xarray Dataset"),
        (dataset.isel(depth=0), r"depth has shape \(1,\); allowed: two or more"),
        (dataset.drop_vars(["dvs", "vs"]), "none of dvs, dvsv with dvsh, vs, vsv with vsh; allowed"),
        (dataset.rename(depth="z"), "no variable 'depth'; allowed: fields over depth, latitude, longitude"),
        (dataset.sel(latitude=slice(0, 90)), "latitude from 0 to 90 degrees; allowed: the whole Earth"),
        (dataset.sel(longitude=slice(0, 90)), "longitude from 0 to 90 degrees; allowed: once round the Earth"),
        (dataset.mean("longitude"), "no variable 'longitude'"),
        (dataset * 100, "is above .*; allowed: 0.5"),
    ):
        with pytest.raises(UserError, match=words):
            tomography.from_dataset(given, model)
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(UserError, match="xarray is not installed; allowed: pip install xarray"):
        tomography.to_dataset(model)
