"""ds.craton of a model: slices, sections, maps, and back onto splines; of the whole Earth and of a region."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from craton import UserError, tomography
from craton._craton import ModelBasis
from craton.tomography.model.earth_table import reference_earth
from craton.tomography.model.export import export
from craton.tomography.model.fields import Fields

xarray = pytest.importorskip("xarray")
import craton.xarray  # registers the accessor

JAPAN, HAWAII = (36.0, 140.0), (20.0, -155.0)


def plane(longitude):
    """A field that is linear in depth, latitude and longitude: interpolation gives it back. In percent, over those longitudes."""
    depth, latitude = np.arange(50.0, 2851.0, 100.0), np.arange(-90.0, 91.0, 5.0)
    axes = {"depth": depth, "latitude": latitude, "longitude": longitude}
    values = 1e-3 * depth[:, None, None] + 0.02 * latitude[:, None] + 0 * longitude
    attributes = {
        "depth": {"units": "km", "positive": "down", "standard_name": "depth"},
        "latitude": {"units": "degrees_north"},
        "longitude": {"units": "degrees_east"},
    }
    coordinates = {name: (name, points, attributes[name]) for name, points in axes.items()}
    return xarray.Dataset({"dvs": (tuple(axes), values, {"units": "percent"})}, coordinates, {"title": "a plane"})


@pytest.fixture(scope="module")
def whole():
    return plane(np.arange(0.0, 360.0, 5.0))


@pytest.fixture(scope="module")
def region(whole):
    """Of Japan."""
    return whole.sel(latitude=slice(20, 50), longitude=slice(120, 160))


def great_circle_km(a, b):
    """Between geographic places, on geocentric latitudes, by Haversine's formula."""
    (lat_a, lon_a), (lat_b, lon_b) = (
        (np.arctan((1 - 1 / 298.257) ** 2 * np.tan(np.radians(p[0]))), np.radians(p[1])) for p in (a, b)
    )
    square = np.sin((lat_b - lat_a) / 2) ** 2 + np.cos(lat_a) * np.cos(lat_b) * np.sin((lon_b - lon_a) / 2) ** 2
    return 6371.0 * 2 * np.arcsin(np.sqrt(square))


def test_a_slice_lies_between_two_depths(whole):
    found = whole.craton.depth_slice(175.0)
    assert found.dvs.dims == ("latitude", "longitude") and found.dvs.units == "percent"
    assert float(found.depth) == 175.0 and found.depth.attrs == whole.depth.attrs
    np.testing.assert_allclose(found.dvs, 0.175 + 0.02 * whole.latitude + 0 * whole.longitude, atol=1e-12)


def test_metres_are_kilometres_and_any_order_will_do(whole):
    """As of another hand: depth upwards in metres, latitudes from north to south."""
    other = whole.isel(depth=slice(None, None, -1), latitude=slice(None, None, -1)).transpose()
    other = other.assign_coords(depth=("depth", 1e3 * other.depth.values, {"units": "m"}))
    found = other.craton.depth_slice(175.0)
    assert found.depth.units == "km" and bool((found.latitude.diff("latitude") > 0).all())
    np.testing.assert_allclose(found.dvs.sel(latitude=30), 0.175 + 0.6)


def test_a_section_follows_a_great_circle_across_the_date_line(whole):
    found = whole.craton.section(JAPAN, HAWAII)
    assert found.dvs.dims == ("depth", "distance") and found.depth.units == "km"
    assert (found.distance.units, found.distance_km.units, found.latitude.units) == ("degrees", "km", "degrees_north")
    assert float(found.distance[0]) == 0.0
    assert float(found.distance_km[-1]) == pytest.approx(great_circle_km(JAPAN, HAWAII), rel=1e-5)
    for end, place in ((0, JAPAN), (-1, HAWAII)):
        assert (float(found.latitude[end]), float(found.longitude[end])) == pytest.approx(place, abs=1e-9)
    assert float(np.abs(found.longitude).max()) > 179.0
    np.testing.assert_allclose(found.dvs, 1e-3 * found.depth + 0.02 * found.latitude, atol=1e-12)


@pytest.mark.parametrize(
    "longitude", [np.arange(0.0, 360.0, 5.0), np.linspace(-180.0, 180.0, 73), np.arange(-177.5, 180, 5.0)]
)
def test_every_meridian_is_reached(longitude):
    """Where longitudes end, they begin again."""
    found = plane(longitude).craton.section((10.0, -179.0), (10.0, 178.0))
    np.testing.assert_allclose(found.dvs, 1e-3 * found.depth + 0.02 * found.latitude, atol=1e-12)


def test_a_model_of_splines_has_its_own_values_in_a_section(model, tmp_path):
    """As an xarray Dataset, and as a NetCDF file of the kind that the EMC keeps: the same, and near the splines."""
    dataset = tomography.to_dataset(model, 3.0, 100.0)
    found = dataset.craton.section(JAPAN, HAWAII)
    export(model, tmp_path / "model.nc", 3.0, 100.0)
    with xarray.open_dataset(tmp_path / "model.nc", engine="h5netcdf") as file:
        assert file.craton.section(JAPAN, HAWAII).vs.units == "km.s-1"
        np.testing.assert_allclose(file.craton.section(JAPAN, HAWAII).dvs, found.dvs, atol=1e-5)
    at = found.sel(depth=500.0)
    wanted = model.percent("dlnVs", at.latitude, at.longitude, 500.0)
    assert np.abs(at.dvs.values - wanted).max() < 0.02 * np.abs(wanted).max()
    assert set(found.data_vars) == {"dvs", "vs", "dxi"}


@pytest.fixture(scope="module")
def model():
    """Smooth dlnVs and dlnxi of up to two percent, on splines of 162 knots."""
    earth = reference_earth({"model": "prem_isotropic"})
    basis = ModelBasis(3, np.linspace(earth.cmb_radius_m, earth.solid_surface_radius_m, 6))
    latitude = np.radians(np.repeat(np.asarray(basis.latitude_deg), basis.n_radial))
    record = SimpleNamespace(data_kind="observed", paths=2, events=1, stations=2)
    parameters = {"dlnVs": 0.02 * np.sin(latitude), "dlnxi": -0.01 * np.sin(latitude)}
    return Fields({name: basis for name in parameters}, parameters, "a model", earth, record)


def test_to_a_model_and_back(model):
    dataset = tomography.to_dataset(model, 5.0, 100.0)
    again = dataset.craton.to_model(model)
    wanted = tomography.from_dataset(dataset, model)
    np.testing.assert_array_equal(again.parameters["dlnVs"], wanted.parameters["dlnVs"])


def maps_of(figure):
    """Titles, colours (latitude, longitude) and their limits, of each map."""
    shown = [(axes.get_title(loc="left"), axes.collections[0]) for axes in figure.findobj(match=type(figure.axes[0]))]
    return [(title, mesh.get_array(), mesh.get_clim()) for title, mesh in shown if title]


def test_maps_of_a_change_are_in_its_percent(whole):
    maps = maps_of(whole.craton.figure([150.0, 2000.0], centre_deg=180.0))
    assert [title for title, _, _ in maps] == ["dlnVs at 150 km", "dlnVs at 2000 km"]
    middle = np.arange(-89.5, 90.0)
    for (_, values, limits), depth in zip(maps, (150.0, 2000.0), strict=True):
        np.testing.assert_allclose(values, np.repeat(1e-3 * depth + 0.02 * middle, 360).reshape(180, 360), atol=1e-9)
        assert limits == (-4.0, 4.0)


def test_maps_of_a_speed_are_changes_from_its_mean(region):
    """Of a region: the rest of the map has no value."""
    speed = xarray.Dataset(
        {"vs": (4.5 + 0.01 * (region.dvs.longitude - 140) + 0 * region.dvs).assign_attrs(units="km/s")}
    )
    [(title, values, limits)] = maps_of(speed.craton.figure(100.0))
    assert title == "Vs from its mean at 100 km" and limits == (-4.5, 4.5)
    shown = np.ma.masked_invalid(values)
    assert shown.count() == 30 * 40  # 20 to 50 N, 120 to 160 E
    np.testing.assert_allclose(shown[120, 300:340], 100 * 0.01 * (np.arange(120.5, 160) - 140) / 4.5, atol=1e-9)


def test_a_section_within_a_region(region):
    found = region.craton.section((22.0, 122.0), (48.0, 158.0))
    np.testing.assert_allclose(found.dvs, 1e-3 * found.depth + 0.02 * found.latitude, atol=1e-12)


def test_a_region_across_the_date_line(whole):
    fiji = plane(np.array([*np.arange(-180.0, -169.0, 2.5), *np.arange(170.0, 179.0, 2.5)]))
    found = fiji.craton.section((-20.0, 172.0), (-15.0, -172.0))
    np.testing.assert_allclose(found.dvs, 1e-3 * found.depth + 0.02 * found.latitude, atol=1e-12)
    with pytest.raises(UserError, match="section: longitude .* is outside the model; allowed: -190 to -170 degrees"):
        fiji.craton.section((-20.0, 0.0), (-15.0, 60.0))
    [(_, values, _)] = maps_of(fiji.craton.figure(150.0))
    assert np.ma.masked_invalid(values).count() == 20 * 180


def test_a_density_is_no_relative_change(region):
    heavy = xarray.Dataset({"density": (3300 + 0 * region.dvs).assign_attrs(units="kg/m3")})
    [(title, values, _)] = maps_of(heavy.craton.figure(100.0))
    assert title == "Density from its mean at 100 km" and np.nanmax(np.abs(values)) < 1e-9


def test_it_says_what_it_is(whole):
    assert repr(whole.craton) == "<CratonAccessor: model dvs, methods depth_slice, section, figure, to_model>"
    assert "depth_slice" in whole.craton._repr_html_()
    assert "methods none for these" in repr(xarray.Dataset({"a": ("b", [1.0])}).craton)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda ds: ds.craton.depth_slice(3000),
            "depth_slice: depth 3000 is outside the model; allowed: 50 to 2850 km",
        ),
        (lambda ds: ds.craton.depth_slice(float("nan")), "depth nan is outside the model; allowed: 50 to"),
        (lambda ds: ds.craton.figure([100, 3000]), "figure: depth 3000 is outside the model; allowed: 50 to 2850 km"),
        (lambda ds: ds.craton.figure(100, "vp"), "figure: variable 'vp'; allowed: dvs"),
        (lambda ds: ds.craton.figure([]), "figure: 0 depths; allowed: 1 to 24"),
        (
            lambda ds: ds.where(ds.depth > 500).craton.figure(100),
            "dvs has no value at 100 km; allowed: a depth where it has",
        ),
        (lambda ds: ds.craton.section(JAPAN, JAPAN), "section: start and end are 0 degrees apart; allowed: 1 to 179.9"),
        (lambda ds: ds.craton.section((95, 0), JAPAN), r"start = \(95, 0\); allowed: latitude from -90 to 90"),
        (lambda ds: ds.craton.section(JAPAN, "Hawaii"), r"end = 'Hawaii'; allowed: \(latitude, longitude\) in degrees"),
        (lambda ds: ds.mean("depth").craton.section(JAPAN, HAWAII), "dvs over latitude, longitude; allowed: a model"),
        (lambda ds: ds.sel(depth=[150.0]).craton.depth_slice(150), r"depth has shape \(1,\); allowed: two or more"),
        (lambda ds: ds.assign_coords(depth=-ds.depth).craton.depth_slice(150), "depth begins at -2850 km; allowed"),
        (lambda ds: ds.drop_vars("depth").craton.depth_slice(150), "no variable 'depth'; allowed: fields over depth"),
        (lambda ds: ds.drop_vars("dvs").craton.depth_slice(150), "a Dataset without variables; allowed: a model"),
        (lambda ds: ds.craton.to_model(None), "latitude from 20 to 50"),
        (
            lambda ds: ds.craton.stream(),
            "stream: a Dataset of dvs over depth, latitude, longitude; allowed: seismograms.h5",
        ),
        (lambda ds: ds.craton.snapshot(1.0), "snapshot: a Dataset of dvs over .*; allowed: snapshots.h5 or surface.h5"),
    ],
)
def test_what_is_refused(whole, region, model, call, words):
    if "20 to 50" in words:

        def call(_):
            return region.craton.to_model(model)

    with pytest.raises(UserError, match=words) as refused:
        call(whole)
    assert "\n" not in str(refused.value) and "allowed: " in str(refused.value)


def test_a_section_that_leaves_its_region_is_refused(region):
    with pytest.raises(UserError, match="section: longitude .* is outside the model; allowed: 120 to 160 degrees"):
        region.craton.section((30.0, 130.0), (30.0, 170.0))
    with pytest.raises(UserError, match="section: latitude .* is outside the model; allowed: 20 to 50 degrees"):
        region.craton.section((30.0, 130.0), (10.0, 130.0))


def test_without_xarray_the_import_says_what_to_install():
    program = "import sys; sys.modules['xarray'] = None; import craton.xarray"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "UserError: craton.xarray: the package xarray is not installed; allowed: pip install xarray" in done.stderr


def test_one_import_registers_it():
    assert isinstance(xarray.Dataset().craton, craton.xarray.CratonAccessor)
