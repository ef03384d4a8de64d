"""What the ground is made of: layers, gridded models in files, and what cannot be."""

from __future__ import annotations

import itertools
from pathlib import Path

import h5netcdf
import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.seismology.geometry.grid import Box, Grid, bricks, decompose
from craton.seismology.geometry.projection import projection_about
from craton.seismology.ground.media import Constant, Layers, Material, QualityRules, quality_rule, read_layers
from craton.seismology.ground.media_files import open_awp, open_hdf5, open_netcdf, write_awp
from craton.seismology.ground.media_partition import open_partitions, write_partitions
from craton.seismology.wave_run.sampling import Asked
from scipy.io import netcdf_file

GRID = Grid((12, 10, 8), 100.0, projection_about("azimuthal_equidistant", -118.0, 34.0))
LOH1 = Layers(rows=((1000.0, 4000, 2000, 2600), (0.0, 6000, 3464, 2700)))
LON, LAT, DEPTH = np.linspace(-118.02, -117.98, 9), np.linspace(33.99, 34.02, 7), np.linspace(-0.1, 1.0, 12)


def linear(lon, lat, depth_km, a=1.0):
    """km/s: what linear interpolation reproduces."""
    return a * (5.0 + 20 * (lon + 118) + 10 * (lat - 34) + 0.5 * depth_km)


FIELDS = {"vp": 1.0, "vs": 0.5, "rho": 0.45}


def write_netcdf(
    path: Path, order=("depth", "latitude", "longitude"), *, classic=False, flip=(), units=True, change=None
):
    """In the convention of IRIS EMC, in km, km/s and g/cm^3."""
    axes = {"longitude": LON, "latitude": LAT, "depth": DEPTH}
    axes = {name: values[::-1] if name in flip else values for name, values in axes.items()}
    grids = np.meshgrid(*(axes[name] for name in order), indexing="ij")
    at = dict(zip(order, grids, strict=True))
    fields = {name: linear(at["longitude"], at["latitude"], at["depth"], a).astype("f4") for name, a in FIELDS.items()}
    if change:
        change(axes, fields)
    file = netcdf_file(path, "w") if classic else h5netcdf.File(path, "w")
    for name in order:
        if classic:
            file.createDimension(name, len(axes[name]))
        else:
            file.dimensions[name] = len(axes[name])
    named = {"longitude": "degrees_east", "latitude": "degrees_north", "depth": "km"}
    named |= {"vp": "km.s-1", "vs": "km/s", "rho": "g.cm-3"}
    for name, values in {**{n: axes[n] for n in order}, **fields}.items():
        dimensions = (name,) if name in order else tuple(order)
        kind = values.dtype.char
        variable = (
            file.createVariable(name, kind, dimensions) if classic else file.create_variable(name, dimensions, kind)
        )
        variable[...] = values
        if units:
            if classic:
                variable.units = named[name].encode()
            else:
                variable.attrs["units"] = named[name]
        if name in FIELDS and not classic:
            variable.attrs["missing_value"] = np.float32(99999.0)
    file.close()


def expected(grid: Grid, box: Box, subsamples=(1, 1, 1)) -> Material:
    """Point by point."""
    x, y, z = (
        (np.arange(box.first[d] * s, box.last[d] * s) + 0.5) * grid.spacing_m / s for d, s in enumerate(subsamples)
    )
    x, y, z = np.meshgrid(x, y, z, indexing="ij")
    lon, lat = grid.lon_lat(x, y)
    return Material(**{name: linear(lon, lat, z * 1e-3, a) * 1e3 for name, a in FIELDS.items()})


def assert_alike(found: Material, wanted: Material, rtol=1e-5):
    for name in FIELDS:
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=rtol)


@pytest.mark.parametrize("order", list(itertools.permutations(("depth", "latitude", "longitude"))))
@pytest.mark.parametrize("classic", [True, False])
def test_netcdf_with_axes_in_any_order(tmp_path, order, classic):
    write_netcdf(tmp_path / "m.nc", order, classic=classic)
    medium = open_netcdf(tmp_path / "m.nc")
    box = Box((2, 0, 3), (9, 10, 8))
    assert_alike(medium.sample(GRID, box), expected(GRID, box))


@pytest.mark.parametrize("flip", [("latitude",), ("depth", "longitude")])
def test_netcdf_with_decreasing_axes_and_no_units(tmp_path, flip):
    write_netcdf(tmp_path / "m.nc", flip=flip, units=False)
    found = open_netcdf(tmp_path / "m.nc").sample(GRID, GRID.box, (2, 1, 3))
    assert found.vp.shape == (24, 10, 24) and found.vp.flags.f_contiguous and found.vp.dtype == np.float32
    assert_alike(found, expected(GRID, GRID.box, (2, 1, 3)))


def test_units_and_turns_of_longitude(tmp_path):
    def change(axes, fields):
        axes["longitude"] = axes["longitude"] + 360
        fields["vp"] = fields["vp"] * 1000

    write_netcdf(tmp_path / "m.nc", change=change)
    with h5netcdf.File(tmp_path / "m.nc", "a") as file:
        file["vp"].attrs["units"] = "m s^-1"
    assert_alike(open_netcdf(tmp_path / "m.nc").sample(GRID, GRID.box), expected(GRID, GRID.box))


def test_each_reads_only_its_part(tmp_path, monkeypatch):
    """Bricks together are the whole, and of the file they read what lies about them."""
    write_netcdf(tmp_path / "m.nc")
    medium = open_netcdf(tmp_path / "m.nc")
    whole = medium.sample(GRID, GRID.box)
    joined = np.zeros_like(whole.vs)
    for box in bricks(GRID.cells, (2, 2, 2)):
        part = tuple(slice(a, b) for a, b in zip(box.first, box.last, strict=True))
        joined[part] = medium.sample(GRID, box).vs
    np.testing.assert_array_equal(joined, whole.vs)
    asked = []
    variable, factor, order = medium.variables["vp"]
    spied = type(variable)(
        variable.dimensions, variable.shape, variable.attributes, lambda part: asked.append(part) or variable.read(part)
    )
    monkeypatch.setitem(medium.variables, "vp", (spied, factor, order))
    medium.sample(GRID, Box((0, 0, 0), (3, 3, 2)))
    assert len(asked) == 1 and all(part.stop - part.start <= 4 for part in asked[0])


def test_points_in_any_arrangement(tmp_path):
    """Planes along any dimension, which are interpolated level by level, and points one by one."""
    write_netcdf(tmp_path / "m.nc")
    medium = open_netcdf(tmp_path / "m.nc")
    wanted = medium.sample(GRID, GRID.box)
    x, y, z = ((np.arange(n) + 0.5) * 100 for n in GRID.cells)
    planes = medium.at(GRID, x[None, None, :], y[None, :, None], z[:, None, None])
    np.testing.assert_array_equal(planes.vp.transpose(2, 1, 0), wanted.vp)
    across = medium.at(GRID, x[:, None, None], y[None, None, :], z[None, :, None])
    np.testing.assert_array_equal(across.vs.transpose(0, 2, 1), wanted.vs)
    i, j, k = np.indices(GRID.cells).reshape(3, -1)
    np.testing.assert_allclose(medium.at(GRID, x[i], y[j], z[k]).rho.reshape(GRID.cells), wanted.rho, rtol=1e-6)
    # another grid's points at the same metres are elsewhere
    turned = Grid(GRID.cells, 100.0, GRID.projection, azimuth_deg=5.0)
    box = Box((3, 0, 0), (6, 2, 2))
    assert_alike(medium.sample(turned, box), expected(turned, box))
    assert_alike(medium.sample(GRID, box), expected(GRID, box))


def test_cells_outside_the_grid_are_as_its_faces():
    found = LOH1.sample(GRID, Box((-1, -2, -2), (2, 2, 2)))
    assert np.all(found.vp == 4000)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ("a", "latitude", "longitude"),
            r"vp over the dimensions \(a, latitude, longitude\), which do not say which axis",
        ),
        (("x", "latitude", "longitude"), r"vp over the dimensions \(x, latitude, longitude\)"),
        (("lat", "latitude", "longitude"), r"vp over the dimensions \(lat, latitude, longitude\)"),
    ],
)
def test_axes_that_do_not_say_which_is_which(tmp_path, names, message):
    with h5netcdf.File(tmp_path / "m.nc", "w") as file:
        for name in names:
            file.dimensions[name] = 3
            file.create_variable(name, (name,), "f8")[...] = np.arange(3.0)
        for name in FIELDS:
            file.create_variable(name, names, "f4")[...] = np.ones((3, 3, 3))
    with pytest.raises(
        UserError, match=message + r".*; allowed: longitude, latitude and depth, or x, y and z"
    ) as caught:
        open_netcdf(tmp_path / "m.nc")
    assert "\n" not in str(caught.value)


def spoilt(path: Path, change) -> Path:
    write_netcdf(path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f["latitude"].__setitem__(3, 33.0), r"axis latitude is not in order; allowed"),
        (
            lambda f: f["latitude"].__setitem__(slice(None), np.linspace(100, 110, 7)),
            r"axis latitude from 100 to 110; allowed",
        ),
        (lambda f: f.__delitem__("rho"), r"no variable rho; allowed: a file with vp, vs, rho"),
        (lambda f: f["vp"].attrs.__setitem__("units", "furlongs"), r"vp in 'furlongs'; allowed: km/s, m/s"),
        (lambda f: f["depth"].attrs.__setitem__("units", "degrees"), r"depth in 'degrees'; allowed: km, m"),
    ],
)
def test_netcdf_that_cannot_be_read(tmp_path, change, message):
    with pytest.raises(UserError, match=message) as caught:
        open_netcdf(spoilt(tmp_path / "m.nc", change))
    assert str(caught.value).startswith(str(tmp_path / "m.nc")) and "\n" not in str(caught.value)


def test_files_that_are_missing_or_cut_short(tmp_path):
    with pytest.raises(UserError, match="no such file; allowed: a NetCDF file"):
        open_netcdf(tmp_path / "none.nc")
    write_netcdf(tmp_path / "m.nc", classic=True)
    whole = (tmp_path / "m.nc").read_bytes()
    for text in (whole[:60], b"\x89HDF\r\n\x1a\nand then nothing", b"text"):
        (tmp_path / "m.nc").write_bytes(text)
        with pytest.raises(UserError, match="not a complete NetCDF file.*; allowed: one$") as caught:
            open_netcdf(tmp_path / "m.nc")
        assert "\n" not in str(caught.value)


def test_a_model_must_cover_the_grid(tmp_path):
    write_netcdf(tmp_path / "m.nc")
    deep = Grid((12, 10, 20), 100.0, GRID.projection)
    with pytest.raises(
        UserError, match=r"depth from -100 to 1000 m, but the grid needs .* to 1950; allowed: .*outside"
    ):
        open_netcdf(tmp_path / "m.nc").sample(deep, deep.box)
    found = open_netcdf(tmp_path / "m.nc", outside="nearest").sample(deep, deep.box)
    np.testing.assert_array_equal(found.vp[:, :, 12], found.vp[:, :, 19])
    away = Grid((12, 10, 8), 100.0, projection_about("azimuthal_equidistant", -110.0, 34.0))
    with pytest.raises(UserError, match=r"longitude from -118.02 to -117.98 degrees, but the grid needs -1"):
        open_netcdf(tmp_path / "m.nc").sample(away, away.box)
    with pytest.raises(UserError, match="the grid has no place on the Earth"):
        open_netcdf(tmp_path / "m.nc").sample(Grid((2, 2, 2), 100.0), Box((0, 0, 0), (2, 2, 2)))


def test_values_that_are_missing(tmp_path):
    path = spoilt(tmp_path / "m.nc", lambda f: f["vs"].__setitem__((5, 3, 4), 99999.0))
    with pytest.raises(UserError, match=r"media: vs = nan at \(x, y, z\) = .* allowed: a finite number everywhere"):
        open_netcdf(path).sample(GRID, GRID.box)


def test_hdf5_in_the_grids_own_frame(tmp_path):
    x, y, z = np.arange(0, 1301, 100.0), np.arange(0, 1101, 50.0), np.array([0, 100, 300, 900.0])
    with h5py.File(tmp_path / "m.h5", "w") as file:
        for name, axis in (("x", x), ("y", y), ("z", z)):
            file[name] = axis
        for name, a in (("vp", 1.0), ("vs", 0.5), ("rho", 0.4), ("qp", 0.02), ("qs", 0.01)):
            file[name] = a * (5000 + x[:, None] + 2 * y[None, :] + 0.5 * z[:, None, None])
            file[name].attrs["axes"] = "z x y"
    found = open_hdf5(tmp_path / "m.h5").sample(GRID, GRID.box)
    i, j, k = np.meshgrid(*((np.arange(n) + 0.5) * 100 for n in GRID.cells), indexing="ij")
    np.testing.assert_allclose(found.vp, 5000 + i + 2 * j + 0.5 * k, rtol=1e-6)
    np.testing.assert_allclose(found.qs, 0.01 * (5000 + i + 2 * j + 0.5 * k), rtol=1e-6)
    with h5py.File(tmp_path / "m.h5", "r+") as file:
        del file["vp"].attrs["axes"]
    with pytest.raises(UserError, match=r"vp over the dimensions \(\?, \?, \?\), which do not say"):
        open_hdf5(tmp_path / "m.h5")
    with h5py.File(tmp_path / "m.h5", "r+") as file:
        file["vp"].attrs["axes"] = "z y x"
    with pytest.raises(UserError, match=r"axis y has 23 values for 14 points|axis x has 14 values for 23 points"):
        open_hdf5(tmp_path / "m.h5")


def test_awps_triple(tmp_path):
    """X fastest, then y, then z downwards, each cell's values together."""
    i, j, k = np.meshgrid(*map(np.arange, GRID.cells), indexing="ij")
    vp = (5000 + 100 * i + 10 * j + k).astype("f4")
    with (tmp_path / "m.bin").open("wb") as stream:
        for c, b, a in np.ndindex(8, 10, 12):
            np.array([vp[a, b, c], vp[a, b, c] / 2, 2700], "<f4").tofile(stream)
    medium = open_awp(tmp_path / "m.bin", GRID.cells, 100.0)
    box = Box((3, 2, 1), (12, 9, 8))
    np.testing.assert_array_equal(medium.sample(GRID, box).vp, vp[3:12, 2:9, 1:8])
    half = Grid((24, 20, 16), 50.0)
    np.testing.assert_array_equal(medium.sample(half, half.box).vp, vp.repeat(2, 0).repeat(2, 1).repeat(2, 2))
    assert medium.range(GRID).fastest_vp == vp.max()
    write_awp(tmp_path / "again.bin", medium, GRID)
    assert (tmp_path / "again.bin").read_bytes() == (tmp_path / "m.bin").read_bytes()
    with pytest.raises(UserError, match=r"11520 bytes; allowed for 12 x 10 x 9 cells: 12960 .* or 21600"):
        open_awp(tmp_path / "m.bin", (12, 10, 9), 100.0)
    with pytest.raises(UserError, match=r"12 cells of 100 m along x, but the grid is 1300 m"):
        medium.sample(Grid((13, 10, 8), 100.0), Box((0, 0, 0), (1, 1, 1)))


def test_awp_with_quality_factors(tmp_path):
    write_awp(tmp_path / "m.bin", Constant(qp=200, qs=100), GRID)
    found = open_awp(tmp_path / "m.bin", GRID.cells, 100.0).sample(GRID, Box((0, 0, 0), (1, 2, 3)))
    assert np.all(found.qp == 200) and np.all(found.qs == 100) and found.qs.shape == (1, 2, 3)


def test_media_written_for_each_brick(tmp_path):
    grid, parts = Grid((12, 10, 16), 100.0), (2, 1, 2)
    manifest = write_partitions(LOH1, grid, parts, tmp_path / "media", subsamples=(1, 1, 4), margin=2)
    medium = open_partitions(manifest)
    for box in bricks(grid.cells, parts):
        for part in (box, box.grown(2)):
            found, wanted = medium.sample(grid, part, (1, 1, 4)), LOH1.sample(grid, part, (1, 1, 4))
            np.testing.assert_array_equal(found.vs, wanted.vs)
            assert found.vs.flags.f_contiguous
    assert medium.range(grid) == LOH1.range(grid)
    with pytest.raises(
        UserError, match=r"written for 2 x 1 x 2 bricks and 2 cells round each, none of which holds cells"
    ):
        medium.sample(grid, grid.box)
    # one value stands for all that is nearer to it than to others
    coarse = medium.sample(grid, Box((0, 0, 8), (1, 1, 11)), (1, 1, 8))
    np.testing.assert_array_equal(
        coarse.vs[0, 0], LOH1.sample(grid, Box((0, 0, 8), (1, 1, 11)), (1, 1, 4)).vs[0, 0].repeat(2)
    )
    with pytest.raises(UserError, match="written for another grid"):
        medium.sample(GRID, Box((0, 0, 0), (1, 1, 1)))
    (tmp_path / "media" / "media-1-0-0.h5").unlink()
    with pytest.raises(UserError, match="media-1-0-0.h5: no such file; allowed: write the media again"):
        medium.sample(grid, list(bricks(grid.cells, parts))[1])
    with pytest.raises(UserError, match="allowed: media.json"):
        open_partitions(tmp_path / "none.json")


def test_parts_have_the_range_of_their_medium(tmp_path):
    """Of a model that varies up to the edge, what the margins outside the grid hold does not count, nor how cells are cut."""
    grid = Grid((8, 8, 8), 100.0)
    axis = np.linspace(-100.0, 900.0, 41)
    with h5py.File(tmp_path / "m.h5", "w") as file:
        for name in "xyz":
            file[name] = axis
        x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
        edge = np.minimum.reduce([x, 800 - x, y, 800 - y, z, 800 - z]).clip(0)
        for name, inside in (("vp", 4000.0), ("vs", 2000.0), ("rho", 2500.0), ("qp", 100.0), ("qs", 50.0)):
            # fast at some faces, slow at others
            file[name] = inside * (1 + np.where(x < z, 0.4, -0.4) * np.exp(-edge / 80))
            file[name].attrs["axes"] = "x y z"
    whole = open_hdf5(tmp_path / "m.h5")
    for subsamples in ((2, 2, 2), (1, 1, 1)):
        manifest = write_partitions(whole, grid, (2, 1, 2), tmp_path / "media", subsamples=subsamples, margin=2)
        assert open_partitions(manifest).range(grid) == whole.range(grid)


def test_one_rank_can_deal_out_slabs():
    whole = LOH1.sample(Grid((12, 10, 16), 100.0), Box((0, 0, 0), (12, 10, 16)))
    slabs = list(LOH1.slabs(Grid((12, 10, 16), 100.0), Box((0, 0, 0), (12, 10, 16)), planes=5))
    assert [planes for planes, _ in slabs] == [(0, 5), (5, 10), (10, 15), (15, 16)]
    np.testing.assert_array_equal(np.concatenate([m.vp for _, m in slabs], axis=2), whole.vp)


def test_an_interface_inside_a_cell_counts_by_its_part():
    """At 0.75 of a cell: rho the arithmetic mean, mu and lambda + 2 mu harmonic ones."""
    layers = Layers(rows=((275.0, 4000, 2000, 2600), (0.0, 6000, 3464, 2700)))
    cut = layers.subsamples(GRID)
    assert cut == (1, 1, 4)
    ground = Asked(layers, GRID, cut[2], anelastic=False)
    upper, lower = 2600 * 2000.0**2, 2700 * 3464.0**2
    vp, vs, rho = (values.astype(float) for values in ground(50.0, 50.0, 250.0, 100.0, 4, 4))
    assert rho[3, 3] == pytest.approx(0.75 * 2600 + 0.25 * 2700)
    assert (rho * vs**2)[3, 3] == pytest.approx(1 / (0.75 / upper + 0.25 / lower), rel=1e-6)
    both = 2600 * 4000.0**2, 2700 * 6000.0**2
    assert (rho * vp**2)[3, 3] == pytest.approx(1 / (0.75 / both[0] + 0.25 / both[1]), rel=1e-6)
    for depth, mu in ((150.0, upper), (350.0, lower)):
        _, vs, rho = (values.astype(float) for values in ground(50.0, 50.0, depth, 100.0, 1, 1))
        assert (rho * vs**2)[0, 0] == pytest.approx(mu, rel=1e-6)
    # where no number of parts fits, as many as there may be
    assert Layers(rows=((271.3, 4000, 2000, 2600), (0.0, 6000, 3464, 2700))).subsamples(GRID) == (1, 1, 16)


def test_attenuation_needs_quality_factors():
    for medium in (Constant(), Layers(rows=((300.0, 4000, 2000, 2600), (0.0, 6000, 3464, 2700)))):
        ground = Asked(medium, GRID, medium.subsamples(GRID)[2], anelastic=True)
        with pytest.raises(UserError, match=r"no quality factors in the model; allowed: \[attenuation\] qp and qs"):
            ground(50.0, 50.0, 250.0, 100.0, 4, 4)


def test_a_layer_that_cannot_be_is_named():
    rows = ((100.0, 3000.0, 1700.0, 2300.0), (0.0, 5000.0, 0.0, 2600.0))
    with pytest.raises(
        UserError, match=r"layers: layer 2: vs = 0 at \(x, y, z\) = \(0, 0, 100\) m; allowed: above 0 m/s"
    ):
        Layers(rows=rows).range(GRID)
    assert Layers(rows=rows, water=True).range(GRID)


def test_layers_from_a_file(tmp_path):
    path = tmp_path / "layers.txt"
    path.write_text("# thickness vp vs rho qp qs\n1000 4000 2000 2600 80 40\n0, 6000, 3464, 2700, 200, 100\n")
    found = read_layers(path).sample(Grid((2, 2, 20), 100.0), Box((0, 0, 9), (1, 1, 11)))
    assert found.vs.ravel().tolist() == [2000, 3464] and found.qs.ravel().tolist() == [40, 100]
    for text, message in (
        ("1000 4000 2000\n", r"layers.txt:1: '1000 4000 2000'; allowed: thickness in m"),
        ("1000 4000 nan 2600\n", r"layers.txt:1: "),
        ("1000 4000 2000 2600\n0 1 1 1 1 1\n", r"rows of 4, 6 numbers; allowed"),
        ("0 4000 2000 2600\n0 4000 2000 2600\n", r"layer 1 is 0 m thick; allowed: above 0"),
        ("# none\n", r"no layers; allowed"),
        ("# km, km/s, g/cm3\n1 4 2 2.6\n", r"layers.txt:2: vp = 4 m/s; allowed: 20 or more \(m/s, not km/s\?\)"),
    ):
        path.write_text(text)
        with pytest.raises(UserError, match=message):
            read_layers(path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"vs": 0.0}, r"media: vs = 0 at \(x, y, z\) = .*; allowed: above 0 m/s, or \[media\] water = true"),
        ({"rho": -1.0}, r"media: rho = -1 at .*; allowed: a density above 0"),
        ({"vs": 4500.0}, r"media: vs = 4500 \(vp = 6000\) at .*; allowed: at most vp / sqrt\(2\)"),
        ({"vs": -1.0}, r"media: vs = -1 at"),
        ({"vp": 0.0, "vs": 0.0}, r"media: vp = 0 at"),
        ({"vp": np.nan}, r"media: vp = nan at .*; allowed: a finite number"),
        ({"qp": 0.0, "qs": 1.0}, r"media: qp = 0 at .*; allowed: a quality factor above 0"),
    ],
)
def test_ground_that_cannot_be(values, message):
    with pytest.raises(UserError, match=message) as caught:
        Constant(**values).sample(GRID, Box((0, 0, 0), (2, 2, 2)))
    assert "\n" not in str(caught.value)


def test_the_message_says_where():
    layers = Layers(rows=((300.0, 4000, 2000, 2600), (100.0, 4000, 2000, -5), (0.0, 6000, 3464, 2700)))
    with pytest.raises(UserError, match=r"rho = -5 at \(x, y, z\) = \(50, 50, 350\) m, and at 119 other points"):
        layers.sample(GRID, GRID.box)


def test_water_is_allowed_where_it_is_meant():
    sea = Layers(
        rows=((300.0, 1500, 0, 1000), (0.0, 6000, 3464, 2700)), water=True, rules=QualityRules.of("2 qs", "0.05 vs")
    )
    found = sea.sample(GRID, GRID.box)
    assert np.all(found.vs[:, :, :3] == 0) and np.all(found.qs > 0) and sea.range(GRID).slowest_vs == 3464
    ground = Asked(sea, GRID, 2, anelastic=False)
    assert all(np.all(ground(50.0, 50.0, depth, 100.0, 12, 10)[1] == 0) for depth in (50.0, 150.0, 250.0))


def test_slow_rock_is_raised():
    slow = Layers(rows=((300.0, 1500, 250, 2000), (0.0, 6000, 3464, 2700)), slowest_vs=500.0)
    found = slow.sample(GRID, GRID.box)
    assert (
        np.all(found.vs[:, :, :3] == 500) and np.all(found.vp[:, :, :3] == 3000) and np.all(found.vp[:, :, 3:] == 6000)
    )


def test_quality_rules():
    material = QualityRules.of("2 qs", "0.05 vs").applied(Constant().sample(GRID, Box((0, 0, 0), (1, 1, 1))))
    assert material.qs[0, 0, 0] == pytest.approx(173.2) and material.qp[0, 0, 0] == pytest.approx(346.4)
    assert QualityRules.of(100, "40").applied(material).qp[0, 0, 0] == 100
    for name, rule in (
        ("qs", "2 qp"),
        ("qs", "2 qs"),
        ("qp", "vs"),
        ("qp", "-2 qs"),
        ("qp", 0),
        ("qp", "2 rho"),
        ("qs", ""),
    ):
        with pytest.raises(UserError, match=r"allowed: a number above 0, or one times vp"):
            quality_rule(name, rule)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6, 8, 12, 30])
def test_bricks_fill_the_grid_once(ranks):
    cells = (26, 22, 17)
    parts = decompose(cells, ranks)
    count = np.zeros(cells, int)
    boxes = list(bricks(cells, parts))
    assert len(boxes) == ranks
    for box in boxes:
        count[tuple(slice(a, b) for a, b in zip(box.first, box.last, strict=True))] += 1
        assert all(n // p <= side <= n // p + 1 for n, p, side in zip(cells, parts, box.shape, strict=True))
    assert np.all(count == 1)
    with pytest.raises(UserError, match="9 ranks for 8 x 8 x 8 cells; allowed: .* bricks of 4 cells a side"):
        decompose((8, 8, 8), 9)
