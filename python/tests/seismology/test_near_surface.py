"""The taper from Vs30 (Ely et al. 2010) against its formulas, written out; maps of Vs30; what cannot be."""

from __future__ import annotations

import h5netcdf
import numpy as np
import pytest
from craton.errors import UserError
from craton.seismology.geometry.grid import Grid
from craton.seismology.geometry.projection import projection_about
from craton.seismology.ground.media import Constant, Layers, QualityRules
from craton.seismology.ground.media_partition import open_partitions, write_partitions
from craton.seismology.ground.near_surface import NearSurface, constant_vs30, open_vs30
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.setup import Setup
from scipy.io import netcdf_file
from wave_config import write_config

GRID = Grid((6, 5, 10), 50.0, projection_about("azimuthal_equidistant", -118.0, 34.0))
ROCK = Constant(vp=4000.0, vs=2000.0, rho=2500.0)


def published(depth_m, vs30, vp_t, vs_t, z_t=350.0):
    """Point by point, as the abstract and Brocher (2005) print them."""
    z = depth_m / z_t
    f = z + 2 / 3 * (z - z**2)
    g = 1 / 2 - 1 / 2 * z + 3 / 2 * (z**2 + 2 * z**0.5 - 3 * z)
    s = vs30 / 1000
    p = 0.9409 + 2.0947 * s - 0.8206 * s**2 + 0.2683 * s**3 - 0.0251 * s**4
    vs = f * vs_t + g * vs30
    vp = f * vp_t + g * 1000 * p
    k = vp / 1000
    rho = 1000 * (1.6612 * k - 0.4721 * k**2 + 0.0671 * k**3 - 0.0043 * k**4 + 0.000106 * k**5)
    return vp, vs, rho


def test_the_taper_is_the_published_formula():
    medium = NearSurface(below=ROCK, vs30=constant_vs30(300.0))
    found = medium.sample(GRID, GRID.box, (1, 1, 4))
    depth = GRID.axis(0, 10, 4)
    for k, z in enumerate(depth):
        wanted = published(z, 300.0, 4000.0, 2000.0) if z < 350 else (4000.0, 2000.0, 2500.0)
        for values, one in zip((found.vp, found.vs, found.rho), wanted, strict=True):
            np.testing.assert_allclose(values[:, :, k], one, rtol=1e-6)


def test_a_number_by_hand():
    """Vs30 of 400 m/s over rock of 2000 m/s, a quarter down: f = 0.375, g = 0.84375."""
    medium = NearSurface(below=ROCK, vs30=constant_vs30(400.0))
    found = medium.at(GRID, [10.0], [10.0], [87.5])
    assert float(found.vs[0]) == pytest.approx(0.375 * 2000 + 0.84375 * 400, rel=1e-6)
    surface = medium.at(GRID, [10.0], [10.0], [0.0])
    assert float(surface.vs[0]) == pytest.approx(200.0, rel=1e-6)


def test_it_joins_the_model_at_its_depth_and_keeps_its_layers_below():
    layers = Layers(rows=((200.0, 3000, 1500, 2300), (225.0, 3600, 1800, 2400), (0.0, 6000, 3464, 2700)))
    medium = NearSurface(below=layers, vs30=constant_vs30(760.0))
    near = medium.at(GRID, [0.0, 0.0], [0.0, 0.0], [349.999, 350.0])
    assert float(near.vs[0]) == pytest.approx(1800, rel=1e-4) and near.vs[1] == 1800
    assert medium.at(GRID, [0.0], [0.0], [430.0]).vs[0] == 3464
    assert medium.subsamples(GRID) == (1, 1, max(4, layers.subsamples(GRID)[2]))


def test_rules_and_the_slowest_speed_see_the_new_ground():
    medium = NearSurface(
        below=ROCK, vs30=constant_vs30(300.0), slowest_vs=250.0, rules=QualityRules.of("2 qs", "0.05 vs")
    )
    found = medium.at(GRID, [0.0, 0.0], [0.0, 0.0], [0.0, 100.0])
    vp, vs, _ = published(0.0, 300.0, 4000.0, 2000.0)
    np.testing.assert_allclose([found.vs[0], found.vp[0]], [250.0, vp * 250 / vs], rtol=1e-6)
    np.testing.assert_allclose(found.qs, 0.05 * found.vs, rtol=1e-6)
    assert found.vs[1] == pytest.approx(published(100.0, 300.0, 4000.0, 2000.0)[1], rel=1e-6)


def test_water_stays_water():
    sea = Layers(rows=((100.0, 1500, 0, 1000), (0.0, 4000, 2000, 2500)), water=True)
    found = NearSurface(below=sea, vs30=constant_vs30(300.0), water=True).at(GRID, [0.0] * 2, [0.0] * 2, [50.0, 150.0])
    assert (found.vs[0], found.vp[0], found.rho[0]) == (0, 1500, 1000)
    assert found.vs[1] == pytest.approx(published(150.0, 300.0, 4000.0, 2000.0)[1], rel=1e-6)


def test_parts_of_a_medium_have_the_taper(tmp_path):
    medium = NearSurface(below=ROCK, vs30=constant_vs30(300.0))
    manifest = write_partitions(medium, GRID, (1, 1, 1), tmp_path / "media")
    found, wanted = (m.sample(GRID, GRID.box, (1, 1, 4)) for m in (open_partitions(manifest), medium))
    np.testing.assert_array_equal(found.vs, wanted.vs)


# ------------------------------------------------------------------------------------------------------------------- maps

LON, LAT = np.linspace(-118.02, -117.98, 5), np.linspace(33.98, 34.02, 3)


def field(longitude, latitude):
    return 500 + 4000 * (longitude + 118) - 3000 * (latitude - 34)


def rows():
    return [f"{a} {b} {field(a, b)}" for a in LON for b in LAT]


def written(path, kind):
    """Latitude first, as maps have it; GMT's names and order of rows are others."""
    values = field(LON[None, :], LAT[:, None]).astype("f4")
    if kind == "rows":
        path = path.with_suffix(".txt")
        path.write_text("# longitude latitude vs30\n" + "\n".join(rows()[::-1]) + "\n")
        return path
    path = path.with_suffix(".grd" if kind == "classic" else ".nc")
    names = ("y", "x") if kind == "classic" else ("lat", "lon")
    lat = LAT[::-1] if kind == "netcdf4" else LAT
    values = values[::-1] if kind == "netcdf4" else values
    with netcdf_file(path, "w") if kind == "classic" else h5netcdf.File(path, "w") as file:
        for name, axis in zip(names, (lat, LON), strict=True):
            if kind == "classic":
                file.createDimension(name, len(axis))
                file.createVariable(name, "d", (name,))[:] = axis
            else:
                file.dimensions[name] = len(axis)
                file.create_variable(name, (name,), "f8")[...] = axis
        if kind == "classic":
            file.createVariable("z", "f", names)[:] = values
        else:
            file.create_variable("vs30", names, "f4")[...] = values
    return path


@pytest.mark.parametrize("kind", ["rows", "classic", "netcdf4"])
def test_a_map_is_read_where_the_grid_lies(tmp_path, kind):
    medium = NearSurface(below=ROCK, vs30=open_vs30(written(tmp_path / "vs30", kind)))
    found = medium.sample(GRID, GRID.box)
    x, y = (GRID.axis(0, n) for n in GRID.cells[:2])
    longitude, latitude = GRID.lon_lat(x[:, None], y[None, :])
    _, vs, _ = published(25.0, field(longitude, latitude), 4000.0, 2000.0)
    np.testing.assert_allclose(found.vs[:, :, 0], vs, rtol=1e-6)
    points = medium.at(GRID, x[:4], y[:4], np.full(4, 25.0))
    np.testing.assert_allclose(points.vs, np.diag(found.vs[:4, :4, 0]), rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda some: some[:-1], r"14 points, but 5 longitudes x 3 latitudes; allowed: a regular mesh"),
        (lambda some: [*some[:-1], "a b c"], r"vs30.txt:15: 'a b c'; allowed: longitude, latitude and Vs30"),
        (
            lambda some: [row.replace("-118.0 ", "-117.0 ") for row in some[6:]],
            r"the grid needs .*; allowed: a map of all",
        ),
        (
            lambda some: [" ".join([*row.split()[:2], "3"]) for row in some],
            r"Vs30 from 3 to 3 in the grid; allowed: 50 to 4000",
        ),
    ],
)
def test_a_map_that_cannot_be_is_refused_in_a_line(tmp_path, change, message):
    (tmp_path / "vs30.txt").write_text("\n".join(change(rows())))
    with pytest.raises(UserError, match=message) as refused:
        NearSurface(below=ROCK, vs30=open_vs30(tmp_path / "vs30.txt")).sample(GRID, GRID.box)
    assert "\n" not in str(refused.value)


def test_a_file_without_a_map_is_refused(tmp_path):
    with h5netcdf.File(tmp_path / "m.nc", "w") as file:
        file.dimensions["lon"] = 3
        file.create_variable("lon", ("lon",), "f8")[...] = [1.0, 2.0, 3.0]
    with pytest.raises(UserError, match=r"fields none of two dimensions; allowed: one, over longitude and latitude"):
        open_vs30(tmp_path / "m.nc")


# ---------------------------------------------------------------------------------------------------------- configuration


def configured(tmp_path, media, grid=""):
    changes = (
        ("[0.0, 6000.0, 3464.0, 2700.0]]", f"[0.0, 6000.0, 3464.0, 2700.0]]\n{media}"),
        ("spacing_m = 100.0", f"spacing_m = 100.0\n{grid}"),
    )
    return load_config(write_config(tmp_path, *changes))


def test_a_configuration_asks_for_it(tmp_path):
    setup = Setup(configured(tmp_path, "vs30 = 800.0\nvs30_depth_m = 300.0"))
    found = setup.medium.at(setup.grid, [100.0], [100.0], [30.0])
    assert float(found.vs[0]) == pytest.approx(published(30.0, 800.0, 4000.0, 2000.0, 300.0)[1], rel=1e-6)
    assert found.qs[0] == pytest.approx(0.05 * found.vs[0], rel=1e-6) and setup.subsamples == (1, 1, 4)


@pytest.mark.parametrize(
    ("media", "message"),
    [
        ("vs30 = 10.0", r"vs30 = 10.0; allowed: 50 to 4000 m/s, or 0"),
        ('vs30 = 300.0\nvs30_file = "m.txt"', r"both vs30 and vs30_file"),
        ('vs30_file = "m.txt"', r"vs30_file needs a place on the Earth"),
        ("vs30_depth_m = 0.0", r"vs30_depth_m = 0"),
    ],
)
def test_settings_that_do_not_go_together(tmp_path, media, message):
    (tmp_path / "m.txt").write_text("\n".join(rows()))
    with pytest.raises(UserError, match=message):
        configured(tmp_path, media)


def test_parts_are_not_tapered_twice(tmp_path):
    (tmp_path / "media.json").write_text("{}")
    path = write_config(
        tmp_path,
        (
            'kind = "layers"\nlayers = [[450.0, 4000.0, 2000.0, 2600.0], [0.0, 6000.0, 3464.0, 2700.0]]',
            'kind = "file"\nfile = "media.json"\nread = "partitioned"\nvs30 = 300.0',
        ),
    )
    with pytest.raises(UserError, match=r"the parts were written with it"):
        load_config(path)
