"""Elevations of files, a hill, a plane; what depths count from; what a configuration with [topography] refuses."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.seismology.geometry.grid import Grid
from craton.seismology.geometry.projection import projection_about
from craton.seismology.ground.media import Constant, Layers
from craton.seismology.ground.near_surface import NearSurface, constant_vs30
from craton.seismology.ground.topography import BelowGround, Topography, gaussian_hill, open_elevation
from craton.seismology.sources.moment_tensor_events import MomentTensorEvent
from craton.seismology.sources.point_sources import catalogue_point
from craton.seismology.sources.source_time import Gaussian
from craton.seismology.wave_run.check import examine
from craton.seismology.wave_run.config import build, load_config
from craton.seismology.wave_run.setup import Setup
from scipy.io import netcdf_file

LON, LAT = 142.0, 38.0
GRID = Grid((20, 16, 30), 100.0, projection_about("azimuthal_equidistant", LON, LAT), 0.0, (1000.0, 800.0))
TABLE = """
[grid]
size_m = [2000, 1600, 3000]
spacing_m = 100
[time]
duration_s = 1.0
[boundary]
width_cells = 3
[topography]
hill = {height_m = 300, radius_m = 400, centre_m = [950, 850]}
[receivers]
stations = [["TOP", 950, 850], ["BELOW", 950, 850, 120], ["FAR", 50, 50]]
[[source]]
position_m = [1000, 800, 1500]
moment_Nm = [0, 0, 0, 1e15, 0, 0]
time_function = "gaussian"
sigma_s = 0.3
"""


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    text = TABLE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "hill.toml"
    path.write_text(text)
    return path


def elevation(longitude, latitude):
    return 500 + 3000 * (longitude - LON) - 2000 * (latitude - LAT)


LONGITUDES, LATITUDES = LON + np.linspace(-0.1, 0.1, 5), LAT + np.linspace(-0.1, 0.1, 6)


def written_map(path: Path, kind: str) -> Path:
    values = elevation(LONGITUDES[:, None], LATITUDES[None, :])
    if kind == "txt":
        rows = [f"{a} {b} {elevation(a, b)}" for b in LATITUDES for a in LONGITUDES]
        path.write_text("# x y z\n" + "\n".join(rows[::-1]))
    elif kind == "asc":
        side = 0.05
        x = LON + side * np.arange(-2, 3)
        y = LAT + side * np.arange(-2, 4)
        rows = [" ".join(f"{elevation(a, b)}" for a in x) for b in y[::-1]]
        head = f"NCOLS 5\nNROWS 6\nXLLCENTER {x[0]}\nYLLCORNER {y[0] - side / 2}\nCELLSIZE {side}\nNODATA_VALUE -9999\n"
        path.write_text(head + "\n".join(rows))
    elif kind == "grd":
        with netcdf_file(path, "w") as file:
            for name, axis in (("y", LATITUDES[::-1]), ("x", LONGITUDES)):
                file.createDimension(name, len(axis))
                file.createVariable(name, "d", (name,))[:] = axis
            file.createVariable("z", "f", ("y", "x"))[:] = values.T[::-1]
    else:
        with h5py.File(path, "w") as file:
            for name, axis in (("lon", LONGITUDES), ("lat", LATITUDES)):
                file[name] = axis
                file[name].make_scale(name)
            file["elevation"] = values.astype("f4")
            for d, name in enumerate(("lon", "lat")):
                file["elevation"].dims[d].attach_scale(file[name])
    return path


@pytest.mark.parametrize("kind", ["txt", "asc", "grd", "nc"])
def test_a_map_is_read_where_the_grid_lies(tmp_path, kind):
    found = open_elevation(written_map(tmp_path / f"dem.{kind}", kind), degrees=True)
    x, y = np.array([0.0, 700.0, 2000.0]), np.array([1600.0, 300.0, 0.0])
    assert found(GRID, x, y) == pytest.approx(elevation(*GRID.lon_lat(x, y)), abs=0.01)


def test_rows_may_be_metres_of_the_grid(tmp_path):
    (tmp_path / "plane.txt").write_text("0 0 100\n2000 0 300\n0 1600 100\n2000 1600 300\n")
    found = open_elevation(tmp_path / "plane.txt", degrees=False)
    assert found(GRID, np.array([500.0, 1000.0]), np.array([10.0, 900.0])).tolist() == [150.0, 200.0]
    (tmp_path / "plane.asc").write_text("ncols 2\nnrows 2\nxllcenter 0\nyllcenter 0\ncellsize 2000\n200 400\n100 300\n")
    found = open_elevation(tmp_path / "plane.asc", degrees=False)
    assert found(GRID, np.array([0.0, 2000.0, 1000.0]), np.array([0.0, 0.0, 2000.0])).tolist() == [100.0, 300.0, 300.0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "0 0 1\n1 0 2\n0 1 3\n", r"3 points, but .*; allowed: a regular mesh"),
        ("a.txt", "0 0 x\n", r"a.txt:1: '0 0 x'; allowed: longitude, latitude and elevation"),
        (
            "a.asc",
            "ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2\n",
            r"1 rows of 2 numbers, nrows 2; allowed",
        ),
        ("a.asc", "ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2 3\n1 2\n", r"a.asc:6: '1 2 3'; allowed"),
        ("a.asc", "1 2\n", r"a.asc:1: '1 2'; allowed: an ESRI ASCII grid"),
        ("a.asc", "ncols 2\nnrows 2\nxllcorner 0\ncellsize 1\n1 2\n1 2\n", r"y from nan in steps of 1; allowed"),
        (
            "a.asc",
            "ncols 2\nnrows 2\nxllcorner 500000\nyllcorner 4e6\ncellsize 30\n1 2\n1 2\n",
            r"x from 500015 .*allowed: degrees",
        ),
        ("a.nc", "CDF", r"not a complete NetCDF file"),
    ],
)
def test_what_is_no_map_is_refused_in_a_line(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=message) as refused:
        open_elevation(tmp_path / name, degrees=True)
    assert "\n" not in str(refused.value)


def test_places_without_an_elevation_are_refused(tmp_path):
    path = written_map(tmp_path / "dem.asc", "asc")
    with pytest.raises(UserError, match=r"longitude from .*but the grid needs .*; allowed: a map of all of the grid"):
        open_elevation(path, degrees=True)(GRID, np.array([0.0, 1000.0]), np.array([0.0, 1e5]))
    open_elevation(path, degrees=True, outside="nearest")(GRID, np.array([0.0, 1000.0]), np.array([0.0, 1e5]))
    path.write_text(path.read_text().replace(path.read_text().splitlines()[8].split()[2], "-9999"))
    with pytest.raises(UserError, match=r"no elevation at 1 of 3 places of the grid; allowed: a number"):
        open_elevation(path, degrees=True)(GRID, np.array([1000.0, 1001.0, -4000.0]), np.array([800.0, 801.0, -4000.0]))


def test_columns_have_the_nearest_whole_number_of_cells_of_air():
    land = Topography.of(gaussian_hill(300.0, 400.0, 950.0, 850.0), GRID, None, "here")
    assert land.z0_elevation_m == pytest.approx(700.0)  # four cells above the top
    assert land.tops[9, 8] == land.highest_top == 4
    assert land.tops[0, 0] == land.lowest_top == 7
    x, y = GRID.axis(0, 20)[:, None], GRID.axis(0, 16)[None, :]
    height = 300 * np.exp(-((x - 950) ** 2 + (y - 850) ** 2) / 400**2)
    assert np.abs(land.tops * 100 - (700 - height)).max() <= 50
    assert land.depth_at(x, y) == pytest.approx(700 - height)
    assert land.depth_at(np.array(-10.0), np.array(5000.0)) == pytest.approx(land.surface_m[0, -1])


def test_ground_must_leave_air_and_ground():
    hill = gaussian_hill(300.0, 400.0, 950.0, 850.0)
    with pytest.raises(
        UserError, match=r"2 cells of air above the highest ground at 300 m; allowed: 600 m or more, 3 cells of 100 m"
    ):
        Topography.of(hill, GRID, 500.0, "here")
    with pytest.raises(UserError, match=r"the lowest ground is at .*allowed: 3 cells of ground"):
        Topography.of(hill, GRID, 2900.0, "here")


def test_depths_of_media_count_from_where_it_is_said():
    land = Topography(np.full((20, 16), 700.0), 100.0, 1000.0)
    layers = Layers(rows=((200.0, 4000.0, 2000.0, 2500.0), (0.0, 6000.0, 3000.0, 2700.0)))
    at = np.array([850.0, 950.0, 1150.0, 1250.0])
    for depth_from, wanted in (
        ("ground", [2000, 3000, 3000, 3000]),
        ("level", [3000] * 4),
        ("sea_level", [2000, 2000, 2000, 3000]),
    ):
        found = BelowGround.around(layers, land, depth_from).at(GRID, at * 0, at * 0, at)
        assert found.vs.tolist() == wanted
    tapered = BelowGround.around(NearSurface(below=Constant(), vs30=constant_vs30(400.0)), land, "ground")
    flat = NearSurface(below=Constant(), vs30=constant_vs30(400.0))
    depths = np.array([0.0, 10.0, 100.0, 500.0])
    assert tapered.at(GRID, depths * 0, depths * 0, 700 + depths).vs == pytest.approx(
        flat.at(GRID, depths * 0, depths * 0, depths).vs
    )


def test_what_depths_of_stations_and_sources_count_from(tmp_path):
    setup = Setup(load_config(written(tmp_path)))
    land, stations = setup.topography, setup.receivers
    assert land is not None and stations is not None
    assert stations.position_m[:, 2] == pytest.approx([400, 520, 693.4], abs=0.1)  # FAR: in a side, level there
    assert setup.points[0].position_m[2] == 1500
    placed = Setup(
        load_config(written(tmp_path, ("spacing_m = 100\n", "spacing_m = 100\norigin_lon_lat = [142.0, 38.0]\n")))
    )
    event = MomentTensorEvent(
        "one", "2020-01-01T00:00:00", 142.005, 38.006, 900.0, (1e15, 0, 0, 0, 0, 0), 1.0, "here", True
    )
    assert catalogue_point(event, placed.grid, Gaussian(0.3)).position_m[2] == pytest.approx(700 + 900)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("position_m = [1000, 800, 1500]", "position_m = [1000, 800, 390]"),
            r"\[\[source\]\] 1: at .*390\) m, in the air; allowed: z of 4\d\d",
        ),
        (("hill = {", 'file = "hill.toml"\nhill = {'), r"\[topography\] both file and hill; allowed: one of them"),
        (("radius_m = 400", "radius = 400"), r"\[topography\] hill = .*; allowed: an inline table"),
        (("[topography]", "[topography]\nz0_elevation_m = 400"), r"1 cells of air above the highest ground"),
        (("[topography]", '[topography]\nfile_axes = "degrees"'), r"file_axes = \"degrees\" needs a place"),
        (("width_cells = 3", 'width_cells = 3\ntop = "absorbing"'), r"top = \"absorbing\" with \[topography\]; allowed"),
        (("[topography]", '[run]\ndevice = "cuda"\n[topography]'), r"device = \"cuda\" with \[topography\]; allowed: device"),
        (
            ("[topography]", '[media]\nvs30 = 400.0\n[topography]\ndepth_from = "level"'),
            r"vs30 with \[topography\] depth_from = \"level\"; allowed: depth_from = \"ground\"",
        ),
        (("[topography]", "[movie]\nevery = 2\n[topography]"), r"\[movie\] z_m = 0 m: air everywhere; allowed: 400 m or more"),
        (("[topography]", "[snapshots]\nevery = 2\nz_m = 4000\n[topography]"), r"\[snapshots\] z_m = 4000 m: below the grid"),
        (
            ('moment_Nm = [0, 0, 0, 1e15, 0, 0]', 'mode = "traction_zz"\nforce_N = [1e12]'),
            r"traction_zz with \[topography\]; allowed: force_\*",
        ),
        (('["FAR", 50, 50]', '["FAR", 50, 50, 2400]'), r"receiver 3 \(FAR\) .*allowed: inside the grid"),
        (('["FAR", 50, 50]', '["FAR", 50, 50, -20]'), r"receiver 3 \(FAR\) .*-20\) m.*allowed: inside the grid"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused_in_a_line(tmp_path, change, message):
    with pytest.raises(UserError, match=message) as refused:
        examine(load_config(written(tmp_path, change)))
    assert "\n" not in str(refused.value)


def test_check_says_where_the_ground_is(tmp_path):
    found = examine(load_config(written(tmp_path, ("sigma_s = 0.3", "sigma_s = 0.1"))))
    rows = dict(found.rows())
    assert (
        rows["topography"].startswith("elevations from ")
        and "to 300.0 m, z = 0 at 700.0 m; 22 % of the cells are air" in rows["topography"]
    )
    assert rows["depths"].startswith("of stations below the ground's surface")
    assert found.to_dict()["highest_ground_m"] == pytest.approx(300)
    assert any("surface waves under topography need 15" in note for note in found.warnings)


def test_a_configuration_survives_being_written_out(tmp_path):
    config = load_config(written(tmp_path))
    (tmp_path / "again.toml").write_text(config.to_toml())
    assert load_config(tmp_path / "again.toml").topography == config.topography
    assert build({**config.to_dict()}, tmp_path / "c.toml").topography == config.topography
