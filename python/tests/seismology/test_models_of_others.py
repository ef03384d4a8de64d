"""Velocity models of UCVM, AWP and SW4: sampled, they equal a gridded twin; what cannot be is refused in a line."""

from __future__ import annotations

import struct

import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.seismology.geometry.grid import Grid
from craton.seismology.geometry.projection import TransverseMercator, projection_about
from craton.seismology.ground.media import Layers
from craton.seismology.ground.media_files import open_awp, open_hdf5, write_awp
from craton.seismology.ground.media_partition import open_partitions, write_partitions
from craton.seismology.ground.sw4_files import open_rfile, open_sfile
from craton.seismology.ground.ucvm_text import open_ucvm_text
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.setup import Setup
from sw4_models import PROJECTION, Frame, write_rfile, write_sfile, write_ucvm_text
from wave_config import write_config

GRID = Grid((9, 7, 6), 100.0, projection_about("azimuthal_equidistant", -118.0, 34.0), 20.0)
FRAME = Frame()
FLAT = (lambda x, y: 0 * x, lambda x, y: 0 * x + 600.0, lambda x, y: 0 * x + 2000.0)
REFINED = [(100.0, 50.0, 0.0, 13), (200.0, 200.0, 600.0, 8)]


def linear(x, y, z):
    """What linear interpolation reproduces."""
    vs = 1500 + 0.05 * x - 0.03 * y + 0.4 * z
    return 1.8 * vs, vs, 0.5 * vs + 1000, 0.1 * vs, 0.05 * vs


def rough(x, y, z):
    """A value of its own at each point."""
    vs = 2000 + 300 * np.sin(0.013 * x + 1) * np.cos(0.017 * y) * np.sin(0.021 * z + 0.3)
    return 1.9 * vs, vs, 0.4 * vs + 1200, 0.1 * vs, 0.05 * vs


def no_height(x, y):
    return 0 * x


def hills(x, y):
    """Above sea level, m: also below it."""
    return 150 + 0.05 * x - 0.06 * y


def in_frame(grid, x, y):
    """File's x and y of places in the solver's grid, by the projection of the file: computed apart."""
    plane = TransverseMercator(-119.0, 35.0)
    east, north = (0.9996 * np.asarray(w) for w in plane.forward(*grid.lon_lat(x, y)))
    east_0, north_0 = (0.9996 * float(w) for w in plane.forward(FRAME.longitude, FRAME.latitude))
    turn = np.exp(1j * np.radians(FRAME.azimuth))
    along = ((north - north_0) + 1j * (east - east_0)) / turn
    return along.real, along.imag


def points(grid):
    x, y, z = (grid.axis(0, n) for n in grid.cells)
    return np.meshgrid(x, y, z, indexing="ij")


def assert_near(found, wanted, rtol=3e-6):
    names = list(found.fields())
    for name, values in zip(names, wanted, strict=False):
        np.testing.assert_allclose(found.fields()[name], values, rtol=rtol, err_msg=name)


# ------------------------------------------------------------------------------------------------------------------ rfile


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("precision", [4, 8])
@pytest.mark.parametrize("attenuation", [False, True])
def test_an_rfile_is_sampled_where_its_projection_says(tmp_path, order, precision, attenuation):
    path = write_rfile(
        tmp_path / "m.rfile", linear, no_height, REFINED, order=order, precision=precision, attenuation=attenuation
    )
    found = open_rfile(path).sample(GRID, GRID.box)
    x, y, z = points(GRID)
    u, v = in_frame(GRID, x, y)
    assert len(found.fields()) == (5 if attenuation else 3)
    assert_near(found, linear(u, v, z))


def test_an_rfile_equals_a_gridded_twin(tmp_path):
    """The same rough values in an HDF5 file over the grid's x and y. The file's frame is the grid's, to a centimetre."""
    place = projection_about("transverse_mercator", -118.0, 34.0)
    grid = Grid((9, 7, 6), 100.0, place, 20.0, origin_m=(300.0, 200.0))
    corner = [float(w) for w in grid.lon_lat(-1000.0, -800.0)]
    frame = Frame(*corner, 20.0)
    text = "+proj=tmerc +lon_0=-118.0 +lat_0=34.0 +k=1"
    write_rfile(tmp_path / "m.rfile", rough, no_height, [(100.0, 50.0, 0.0, 41)], frame, projection=text, precision=8)
    with h5py.File(tmp_path / "m.h5", "w") as file:
        axes = [-1000 + 100.0 * np.arange(41), -800 + 100.0 * np.arange(33), 50.0 * np.arange(41)]
        for name, values in zip("xyz", axes, strict=True):
            file[name] = values
        at = np.meshgrid(axes[0] + 1000, axes[1] + 800, axes[2], indexing="ij")
        for name, values in zip(("vp", "vs", "rho"), rough(*at), strict=False):
            file[name] = values.astype("f4")
            file[name].attrs["axes"] = "x y z"
    found, wanted = (
        m.sample(grid, grid.box, (2, 2, 2)) for m in (open_rfile(tmp_path / "m.rfile"), open_hdf5(tmp_path / "m.h5"))
    )
    assert_near(found, wanted.fields().values(), rtol=2e-6)


@pytest.mark.parametrize("depth_from", ["surface", "sea_level"])
def test_depth_counts_from_the_ground_or_from_the_sea(tmp_path, depth_from):
    blocks = [(100.0, 50.0, -400.0, 21), (200.0, 200.0, 600.0, 8)]
    path = write_rfile(tmp_path / "m.rfile", linear, hills, blocks, air=depth_from == "surface")
    # points above the ground are filled from below, so a place is exact from one spacing below the surface on
    grid = Grid((9, 7, 8), 100.0, GRID.projection, 20.0)
    found = open_rfile(path, depth_from=depth_from).sample(grid, grid.box)
    x, y, z = points(grid)
    u, v = in_frame(grid, x, y)
    wanted = linear(u, v, z - hills(u, v) if depth_from == "surface" else z)
    deep = (slice(None), slice(None), slice(1, None))
    np.testing.assert_allclose(found.vs[deep], wanted[1][deep], rtol=3e-6)
    np.testing.assert_allclose(found.vs[:, :, 0], wanted[1][:, :, 0], rtol=0.02)


def test_air_and_water_take_the_ground_below_them(tmp_path):
    """Where all of the first block is water the ground comes from the second."""

    def half(x, y, z):
        vs = np.where((x > 2000) & (z < 700), -999.0, 1500 + z)
        return 5000.0 + 0 * x, vs, 1000 + 0 * x

    path = write_rfile(tmp_path / "m.rfile", half, no_height, REFINED, air=False)
    medium = open_rfile(path)
    block = medium._ground_in(0, (slice(0, 41), slice(0, 33), slice(0, 4)))
    assert np.all(block[1][22:] == 1500 + 800) and np.all(block[1][:20, :, 2] == 1600)
    found = medium.sample(GRID, GRID.box)
    assert np.all(found.vs > 1400)


def test_an_rfile_over_the_whole_grid_or_not_at_all(tmp_path):
    path = write_rfile(tmp_path / "m.rfile", linear, no_height, REFINED)
    far = Grid((9, 7, 6), 1000.0, GRID.projection, 20.0)
    deep = Grid((9, 7, 30), 100.0, GRID.projection, 20.0)
    with pytest.raises(
        UserError, match=r"4000 m along its x axis, but the grid needs .* allowed: a grid inside the file, or"
    ):
        open_rfile(path).sample(far, far.box)
    with pytest.raises(UserError, match=r"the grid goes 950 m below its bottom; allowed"):
        open_rfile(path).sample(deep, deep.box)
    found = open_rfile(path, outside="nearest").sample(deep, deep.box)
    np.testing.assert_array_equal(found.vs[:, :, 20], found.vs[:, :, 29])
    assert open_rfile(path, outside="nearest").sample(far, far.box).vs.shape == (9, 7, 6)


def test_utm_is_a_projection_too(tmp_path):
    zone = "+proj=utm +zone=11 +ellps=GRS80 +units=m +no_defs"
    path = write_rfile(tmp_path / "m.rfile", linear, no_height, REFINED, projection=zone)
    plane = TransverseMercator(-117.0, 0.0)
    medium = open_rfile(path)
    u, v = medium.place(GRID, np.array([450.0]), np.array([350.0]))
    east, north = (0.9996 * w for w in plane.forward(*GRID.lon_lat(450.0, 350.0)))
    east_0, north_0 = (0.9996 * w for w in plane.forward(FRAME.longitude, FRAME.latitude))
    assert np.hypot(u, v) == pytest.approx(np.hypot(east - east_0, north - north_0), rel=1e-9)


HEADER_AT = {"magic": 0, "precision": 4, "attenuation": 8, "azimuth": 12, "length": 36, "blocks": 40 + len(PROJECTION)}
BLOCK_AT = 44 + len(PROJECTION)


@pytest.mark.parametrize(
    ("at", "form", "value", "message"),
    [
        (0, "<i", 2, r"its first number is not 1"),
        (4, "<i", 16, r"numbers of 16 bytes; allowed: 4 or 8"),
        (4, "<i", 8, r"bytes; allowed: \d+ bytes, as its header says"),
        (8, "<i", 7, r"attenuation = 7; allowed: 0 or 1"),
        (8, "<i", 1, r"block 2 has 3 components; allowed: 5"),
        (12, "<d", float("nan"), r"azimuth nan"),
        (28, "<d", 300.0, r"origin -118.01, 300"),
        (36, "<i", -5, r"a projection of -5 characters"),
        (36, "<i", 2**31 - 1, r"a projection of 2147483647 characters"),
        (HEADER_AT["blocks"], "<i", 2**31 - 1, r"2147483647 blocks"),
        (HEADER_AT["blocks"], "<i", 999, r"block 4 has"),
        (HEADER_AT["blocks"], "<i", -1, r"-1 blocks"),
        (BLOCK_AT, "<d", 0.0, r"block 1 has points every 0 m"),
        (BLOCK_AT + 24, "<i", 3, r"block 1 has 3 components; allowed: 1"),
        (BLOCK_AT + 36, "<i", 2, r"block 1 has 41 x 33 x 2 points"),
        (BLOCK_AT + 40 + 28, "<i", 2**31 - 1, r"block 2 is .* m long, block 1 4000 m"),
        (BLOCK_AT + 40 + 28, "<i", -41, r"block 2 has -41 x 33 x 13 points"),
        (BLOCK_AT + 40 + 36, "<i", 2**31 - 1, r"block 3 begins at 600 m, the one above ends at"),
        (BLOCK_AT + 80 + 36, "<i", 2**31 - 1, r"bytes; allowed: \d+ bytes, as its header says"),
        (BLOCK_AT + 40 + 8, "<d", float("inf"), r"block 2 has levels every inf m"),
        (BLOCK_AT + 80 + 16, "<d", 700.0, r"block 3 begins at 700 m, the one above ends at 600 m"),
        (40, "<6s", b"xx\n\x1b[1", r"projection 'xx.*'; allowed: \+proj=tmerc"),
    ],
)
def test_a_header_that_cannot_be_is_refused_in_a_line(tmp_path, at, form, value, message):
    """Before anything is allocated: some of these say that they have terabytes."""
    path = write_rfile(tmp_path / "m.rfile", linear, no_height, REFINED)
    content = bytearray(path.read_bytes())
    struct.pack_into(form, content, at, value)
    path.write_bytes(content)
    with pytest.raises(UserError, match=message) as refused:
        open_rfile(path)
    told = str(refused.value)
    assert "\n" not in told and "\x1b" not in told and "allowed:" in told and str(path) in told


@pytest.mark.parametrize("kept", [0, 3, 40, 60, 120, 150, 4000])
def test_an_rfile_cut_short_is_refused(tmp_path, kept):
    path = write_rfile(tmp_path / "m.rfile", linear, no_height, REFINED)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(UserError, match="allowed:") as refused:
        open_rfile(path)
    assert "\n" not in str(refused.value)


# ------------------------------------------------------------------------------------------------------------------ sfile


def test_an_sfile_follows_its_curved_surfaces(tmp_path):
    """Refined: interfaces have the spacing of the block above. Linear in depth, so that it is exact at every place."""
    interfaces = (lambda x, y: -hills(x, y), lambda x, y: 500 + 0.02 * x, lambda x, y: 0 * x + 2000.0)
    path = write_sfile(tmp_path / "m.sfile", linear, interfaces, [(100.0, 15), (200.0, 9)], attenuation=True)
    found = open_sfile(path).sample(GRID, GRID.box, (1, 1, 2))
    x, y = (GRID.axis(0, n) for n in GRID.cells[:2])
    x, y, z = np.meshgrid(x, y, GRID.axis(0, GRID.cells[2], 2), indexing="ij")
    x_0, y_0 = (float(w) for w in GRID.x_y(FRAME.longitude, FRAME.latitude))
    turn = np.exp(1j * np.radians(FRAME.azimuth + float(GRID.north_deg(x_0, y_0))))
    along = ((x - x_0) + 1j * (y - y_0)) / turn
    u, v = along.real, along.imag
    assert_near(found, linear(u, v, z - hills(u, v)))
    at_sea = open_sfile(path, depth_from="sea_level").sample(GRID, GRID.box, (1, 1, 2))
    assert_near(at_sea, linear(u, v, np.maximum(z, -hills(u, v))))


def test_an_sfile_equals_an_rfile_of_the_same_points(tmp_path):
    """In a grid of the same projection, whose corner is the origin of both, rough values are the same."""
    place = projection_about("transverse_mercator", FRAME.longitude, FRAME.latitude)
    grid = Grid((9, 7, 6), 100.0, place, FRAME.azimuth, origin_m=(-700.0, -500.0))
    text = f"+proj=tmerc +lon_0={FRAME.longitude} +lat_0={FRAME.latitude} +k=1"
    rfile = write_rfile(tmp_path / "m.rfile", rough, no_height, REFINED, projection=text)
    sfile = write_sfile(tmp_path / "m.sfile", rough, FLAT, [(100.0, 13), (200.0, 8)])
    found, wanted = (medium.sample(grid, grid.box, (2, 2, 2)) for medium in (open_sfile(sfile), open_rfile(rfile)))
    assert_near(found, wanted.fields().values(), rtol=2e-6)
    parts = write_partitions(open_sfile(sfile), grid, (1, 1, 1), tmp_path / "media")
    np.testing.assert_array_equal(open_partitions(parts).sample(grid, grid.box, (2, 2, 2)).vs, found.vs)


def changed(path, change):
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def replaced(file, name, values):
    del file[name]
    file[name] = values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.attrs.pop("ngrids"), r"no attribute 'ngrids'"),
        (lambda f: f.attrs.update({"ngrids": np.int32(2**31 - 1)}), r"ngrids = 2.14748e\+09; allowed: 1 to 1000"),
        (lambda f: f.attrs.update({"ngrids": np.int32(3)}), r"no group Material_model/grid_2"),
        (lambda f: f.attrs.update({"Origin longitude, latitude, azimuth": [0.0, 91.0, 0.0]}), r"origin 0, 91"),
        (lambda f: f.attrs.update({"Origin longitude, latitude, azimuth": [0.0, 91.0]}), r"of 2 numbers; allowed: 3"),
        (lambda f: f.pop("Z_interfaces/z_values_2"), r"no dataset Z_interfaces/z_values_2"),
        (lambda f: f.pop("Material_model/grid_1/Rho"), r"no dataset Rho"),
        (lambda f: replaced(f, "Material_model/grid_1/Rho", np.ones((3, 3, 3))), r"several shapes"),
        (lambda f: replaced(f, "Z_interfaces/z_values_1", np.full((41, 33), np.nan)), r"is not finite everywhere"),
        (lambda f: replaced(f, "Z_interfaces/z_values_1", np.ones((41, 5))), r"one spacing along x and y"),
        (lambda f: replaced(f, "Z_interfaces/z_values_1", np.ones(41)), r"2 or more along x and y"),
        (lambda f: f["Material_model/grid_0"].attrs.update({"Horizontal grid size": 50.0}), r"allowed: one size"),
        (lambda f: f["Material_model/grid_0"].attrs.update({"Horizontal grid size": -1.0}), r"every -1 m"),
    ],
)
def test_an_sfile_that_cannot_be_is_refused_in_a_line(tmp_path, change, message):
    path = changed(write_sfile(tmp_path / "m.sfile", linear, FLAT, [(100.0, 13), (200.0, 8)]), change)
    with pytest.raises(UserError, match=message) as refused:
        open_sfile(path)
    assert "\n" not in str(refused.value) and "allowed:" in str(refused.value)


def test_what_is_no_hdf5_is_no_sfile(tmp_path):
    (tmp_path / "m.sfile").write_bytes(b"\x89HDF nothing")
    with pytest.raises(UserError, match=r"not a complete sfile of SW4"):
        open_sfile(tmp_path / "m.sfile")


# ------------------------------------------------------------------------------------------------------------------- UCVM

LON, LAT, DEPTH = (
    np.array([-118.02, -118.0, -117.98]),
    np.array([33.98, 34.0, 34.02]),
    np.array([0.0, 100.0, 250.0, 800.0]),
)


def of_degrees(lon, lat, z):
    vs = np.round(1500 + 5000 * (lon + 118) - 3000 * (lat - 34) + 0.4 * z, 3)
    return np.round(1.8 * vs, 3), vs, np.round(0.5 * vs + 1000, 3)


def test_rows_of_ucvm_query_equal_a_gridded_twin(tmp_path):
    """In any order; bit for bit."""
    path = write_ucvm_text(tmp_path / "m.txt", (LON, LAT, DEPTH), of_degrees, shuffled=3)
    with h5py.File(tmp_path / "m.h5", "w") as file:
        for name, values in zip(("longitude", "latitude", "depth"), (LON, LAT, DEPTH), strict=True):
            file[name] = values
        for name, values in zip(
            ("vp", "vs", "rho"), of_degrees(*np.meshgrid(LON, LAT, DEPTH, indexing="ij")), strict=True
        ):
            file[name] = values.astype("f4")
            file[name].attrs["axes"] = "longitude latitude depth"
    found, twin = (m.sample(GRID, GRID.box, (2, 2, 2)) for m in (open_ucvm_text(path), open_hdf5(tmp_path / "m.h5")))
    for name, values in twin.fields().items():
        np.testing.assert_array_equal(found.fields()[name], values)


def test_a_plain_table_may_have_quality_factors(tmp_path):
    rows = [f"{a} {b} {c} 3600 2000 2100 200 100" for a in LON for b in LAT for c in DEPTH]
    (tmp_path / "m.txt").write_text("# lon lat depth vp vs rho qp qs\n" + "\n".join(rows))
    np.testing.assert_allclose(open_ucvm_text(tmp_path / "m.txt").sample(GRID, GRID.box).qs, 100, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda rows: rows[:-1],
            r"35 points, but 3 longitudes x 3 latitudes x 4 depths; allowed: a regular mesh",
        ),
        (lambda rows: [*rows[:-1], rows[0]], r"allowed: a regular mesh"),
        (lambda rows: [*rows, "1 2 3"], r"m.txt:37: '1 2 3'; allowed: the 17 columns of ucvm_query"),
        (lambda rows: [*rows, "1 2 3 4 5 6"], r"allowed: a regular mesh"),
        (lambda rows: [*rows, "1 2 3 4 5 6 7 8"], r"m.txt:37: .*in all rows alike"),
        (lambda rows: [rows[0].replace("33.98", "xy"), *rows[1:]], r"m.txt:1: "),
        (lambda rows: [rows[0].replace("33.98", "nan"), *rows[1:]], r"m.txt:1: "),
        (lambda rows: [], r"no rows; allowed"),
        (lambda rows: [row for row in rows if " 0.000" in row[:36]], r"depth from 0 to 0; allowed: two or more"),
    ],
)
def test_rows_that_make_no_model(tmp_path, change, message):
    path = write_ucvm_text(tmp_path / "m.txt", (LON, LAT, DEPTH), of_degrees)
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    with pytest.raises(UserError, match=message) as refused:
        open_ucvm_text(path)
    assert "\n" not in str(refused.value)


# -------------------------------------------------------------------------------------------------------------------- AWP


def test_a_mesh_of_ucvm_has_east_first(tmp_path):
    """Ucvm2mesh writes x (east of its turned grid) fastest, which is y of the grid: the same cells, transposed."""
    grid = Grid((4, 5, 3), 100.0)
    cells = np.random.default_rng(1).uniform(1, 2, (3, 4, 5, 3)).astype("<f4") * np.array([3000, 1000, 1200], "<f4")
    cells.tofile(tmp_path / "m.media")  # [k, i, j, value]: j fastest
    found = open_awp(tmp_path / "m.media", grid.cells, 100.0, axes="yx").sample(grid, grid.box)
    np.testing.assert_array_equal(found.vs, cells[..., 1].transpose(1, 2, 0))
    cells.transpose(0, 2, 1, 3).copy().tofile(tmp_path / "n.media")
    twin = open_awp(tmp_path / "n.media", grid.cells, 100.0).sample(grid, grid.box)
    np.testing.assert_array_equal(found.vp, twin.vp)


def test_a_mesh_may_have_the_numbers_of_its_cells(tmp_path):
    grid = Grid((4, 5, 3), 100.0)
    layers = Layers(rows=((150.0, 4000, 2000, 2600, 80, 40), (0.0, 6000, 3464, 2700, 200, 100)))
    write_awp(tmp_path / "m.bin", layers, grid)
    values = np.fromfile(tmp_path / "m.bin", "<f4").reshape(-1, 5)
    numbers = np.stack(np.unravel_index(np.arange(60), (3, 5, 4))[::-1], axis=-1).astype("<i4") + 1
    np.concatenate([numbers.view("<f4"), values], axis=1).tofile(tmp_path / "n.bin")
    found, twin = (open_awp(tmp_path / f"{name}.bin", grid.cells, 100.0).sample(grid, grid.box) for name in "nm")
    for name, wanted in twin.fields().items():
        np.testing.assert_array_equal(found.fields()[name], wanted)
    np.zeros((60, 8), "<f4").tofile(tmp_path / "n.bin")
    with pytest.raises(UserError, match=r"its first cell has the numbers \[0, 0, 0\]; allowed: \[1, 1, 1\]"):
        open_awp(tmp_path / "n.bin", grid.cells, 100.0)


# ---------------------------------------------------------------------------------------------------------- configuration


@pytest.mark.parametrize("kind", ["rfile", "sfile", "ucvm", "awp"])
def test_a_configuration_names_the_model(tmp_path, kind):
    more = ""
    if kind == "rfile":
        write_rfile(tmp_path / "m.rfile", linear, hills, [(100.0, 50.0, -400.0, 21), (200.0, 200.0, 600.0, 13)])
    elif kind == "sfile":
        write_sfile(tmp_path / "m.sfile", linear, (*FLAT[:2], lambda x, y: 0 * x + 3000.0), [(100.0, 13), (200.0, 13)])
    elif kind == "ucvm":
        wide = (LON + [-0.1, 0, 0.1], LAT + [-0.1, 0, 0.1], np.array([0.0, 3000.0]))
        write_ucvm_text(tmp_path / "m.ucvm", wide, lambda lon, lat, z: [w + 0 * lon for w in (4000, 2000, 2600)])
        more = '\nformat = "ucvm"'
    else:
        ground = np.broadcast_to(np.array([4000, 2000, 2600], "<f4"), (24, 30, 28, 3))
        np.ascontiguousarray(ground).tofile(tmp_path / "m.awp")
        more = '\nformat = "awp"\nfile_axes = "yx"'
    path = write_config(
        tmp_path,
        ("spacing_m = 100.0", "spacing_m = 100.0\norigin_lon_lat = [-118.006, 33.993]\nazimuth_deg = 20.0"),
        (
            'kind = "layers"\nlayers = [[450.0, 4000.0, 2000.0, 2600.0], [0.0, 6000.0, 3464.0, 2700.0]]',
            f'kind = "file"\nfile = "m.{kind}"{more}',
        ),
    )
    setup = Setup(load_config(path))
    assert 1000 < setup.medium.range(setup.grid).slowest_vs <= 2000


@pytest.mark.parametrize("name", ["m.rfile", "m.sfile", "m.ucvm"])
def test_a_model_in_degrees_needs_a_place(tmp_path, name):
    if name == "m.rfile":
        write_rfile(tmp_path / name, linear, no_height, REFINED)
        medium = open_rfile(tmp_path / name)
    elif name == "m.sfile":
        medium = open_sfile(write_sfile(tmp_path / name, linear, FLAT, [(100.0, 13), (200.0, 8)]))
    else:
        medium = open_ucvm_text(write_ucvm_text(tmp_path / name, (LON, LAT, DEPTH), of_degrees))
    with pytest.raises(UserError, match=r"no place on the Earth; allowed: .*origin_lon_lat"):
        medium.sample(Grid((4, 4, 4), 100.0), Grid((4, 4, 4), 100.0).box)
