"""The example of maps by GMT draws a model's slice and a hazard map."""

import csv
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "examples" / "maps" / "gmt_maps.py"


@pytest.fixture(scope="module")
def maps():
    try:
        import pygmt  # noqa: F401
    except Exception as error:  # its library, or one too old, is another type of exception
        pytest.skip(f"PyGMT cannot be used: {error}")
    return runpy.run_path(str(SCRIPT))


def test_a_slice_and_a_hazard_map(maps, tmp_path):
    xarray = pytest.importorskip("xarray")
    latitude, longitude, depth = np.linspace(-90, 90, 19), np.linspace(-180, 180, 37), np.array([50.0, 150])
    values = np.cos(np.radians(latitude))[:, None] * np.sin(np.radians(longitude)) * np.ones((2, 1, 1), np.float32)
    axes = {"depth": depth, "latitude": latitude, "longitude": longitude}
    xarray.Dataset({"dvs": (tuple(axes), values)}, axes).to_netcdf(tmp_path / "model.nc", engine="h5netcdf")
    rows = [["site", "longitude_deg", "latitude_deg", "SA(3.0) of 0.02 in 50 years"]]
    rows += [["A", -118.0, 34.0, 0.2], ["B", -117.5, 34.1, 0.4], ["C", -117.2, 34.6, "nan"]]
    with (tmp_path / "maps.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    for name, more in (("model.nc", ("--depth", "100")), ("maps.csv", ())):
        words = [sys.executable, str(SCRIPT), str(tmp_path / name), str(tmp_path / f"{name}.png"), *more]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_the_script_is_python():
    compile(SCRIPT.read_text(encoding="utf-8"), str(SCRIPT), "exec")
