"""Stations and lists of points, in the forms they come in."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.seismology.geometry.grid import Grid
from craton.seismology.geometry.projection import projection_about
from craton.seismology.wave_run.receivers import read_points, read_stations

GRID = Grid((20, 30, 10), 100.0, projection_about("azimuthal_equidistant", -118.0, 34.0))


def test_stations_in_metres_and_degrees(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("# ours\nname,x_m,y_m,owner\na,100,200,us\nb,300.5,0,\n")
    found = read_stations(path, GRID)
    assert found.names == ("a", "b") and len(found) == 2
    np.testing.assert_array_equal(found.position_m, [[100, 200, 0], [300.5, 0, 0]])
    lon, lat = (float(p) for p in GRID.lon_lat(1000.0, 2000.0))
    path.write_text(f"name,latitude_deg,longitude_deg,elevation_m,depth_m\na,{lat},{lon},1500,20\n")
    np.testing.assert_allclose(read_stations(path, GRID).position_m, [[1000, 2000, 20]], atol=1e-6)


@pytest.mark.parametrize(
    "header", ["name,longitude,latitude", "station,lon,lat", "Code, Longitude ,LATITUDE", "lat_of,code,Lon,Lat"]
)
def test_columns_may_have_the_names_of_other_programs(tmp_path, header):
    extra = "9," if header.startswith("lat_of") else ""
    (tmp_path / "s.csv").write_text(f"{header}\n{extra}PAS,-117.99,34.01\n")
    found = read_stations(tmp_path / "s.csv", GRID)
    assert found.names == ("PAS",)
    np.testing.assert_allclose(found.position_m[0, :2], GRID.x_y(-117.99, 34.01))


def test_stations_from_stationxml(tmp_path):
    pytest.importorskip("obspy")
    from obspy.core.inventory import Inventory, Network, Station

    lon, lat = (float(p) for p in GRID.lon_lat(1000.0, 2000.0))
    twice = [Station("PAS", lat, lon, 300.0), Station("PAS", lat, lon, 300.0)]
    Inventory([Network("CI", stations=twice)], source="test").write(str(tmp_path / "s.xml"), "STATIONXML")
    found = read_stations(tmp_path / "s.xml", GRID)
    assert found.names == ("CI.PAS",)
    np.testing.assert_allclose(found.position_m, [[1000, 2000, 0]], atol=1e-3)
    (tmp_path / "bad.xml").write_text("<nothing/>")
    with pytest.raises(UserError, match="bad.xml: .*; allowed: StationXML") as caught:
        read_stations(tmp_path / "bad.xml", GRID)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"columns none; allowed: name and x_m, y_m"),
        ("name,x\na,1\n", r"columns 'name, x'; allowed"),
        ("name,x_m,y_m\n", r"no stations; allowed"),
        ("name,x_m,y_m\na,1,b\n", r"station 1: y_m = 'b'; allowed: a finite number"),
        ("name,x_m,y_m\na,1\n", r"station 1: y_m = ''; allowed"),
        ("name,x_m,y_m\n,1,2\n", r"station '' without a name"),
        ("name,x_m,y_m\n@SUM(1),1,2\n", r"station '@SUM\(1\)'; allowed: a name that does not begin with =, \+, - or @"),
        (
            "name,x_m,y_m\na,1,2\nb,inf,3\n",
            r"receiver 2 \(b\) at \(x, y, z\) = \(inf, 3, 0\) m, and 0 others; allowed: finite",
        ),
        ("name,x_m,y_m\na,1,2\nb,2001,3\n", r"receiver 2 \(b\) .* inside the grid: x in \[0, 2000\], y in \[0, 3000\]"),
        ("name,longitude_deg,latitude_deg\na,34,-118\n", r"station a at longitude 34, latitude -118; allowed: degrees"),
    ],
)
def test_wrong_stations(tmp_path, text, message):
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        read_stations(tmp_path / "s.csv", GRID)
    assert "\n" not in str(caught.value)


def test_points_in_every_form(tmp_path):
    points = np.random.default_rng(1).uniform(0, 1000, (50, 3)).round(3)
    np.save(tmp_path / "p.npy", points)
    np.savetxt(tmp_path / "p.txt", points, fmt="%.3f")
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file["position_m"] = points
    for name in ("p.npy", "p.txt", "p.h5"):
        np.testing.assert_array_equal(read_points(tmp_path / name, GRID), points)
    (tmp_path / "awp.txt").write_text("2\n1 1 1\n20 30 3\n")
    np.testing.assert_array_equal(read_points(tmp_path / "awp.txt", GRID), [[50, 50, 0], [1950, 2950, 200]])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.txt", "1 2 3\n4 nan 6\n", r"receiver 2 at \(x, y, z\) = \(4, nan, 6\) m, and 0 others; allowed: finite x"),
        ("p.txt", "1 2 3\n4 5\n", r"p.txt: .*; allowed: rows of x y z in m"),
        ("p.txt", "1 2 3\n4 -5 6\n", r"receiver 2 .*; allowed: inside the grid"),
        ("p.txt", "1 2\n4 5\n", r"an array of shape \(2, 2\); allowed: \(n, 3\)"),
        ("p.txt", "3\n1 1 1\n2 2 2\n", r"2 rows of 3 numbers after the count 3; allowed: 3 rows"),
        ("p.txt", "²\n1 1 1\n", r"p.txt: .*; allowed: rows of x y z in m"),
        ("p.txt", 5000 * "9" + "\n1 1 1\n", r"p.txt: .*; allowed: rows of x y z in m"),
        ("p.txt", "1\n1 1 1.5\n", r"allowed: 1 rows of three whole numbers"),
        ("p.npy", "text", r"p.npy: .*; allowed: a NumPy array"),
        ("p.h5", "text", r"p.h5: .*; allowed: an HDF5 file with position_m"),
    ],
)
def test_wrong_points(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        read_points(tmp_path / name, GRID)
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    for read in (read_points, read_stations):
        with pytest.raises(UserError, match="no such file; allowed: a list of receivers"):
            read(tmp_path / "none.csv", GRID)
