"""How far waves run ahead or behind on the grid, and the step that is chosen for the longest path."""

from __future__ import annotations

import math

import numpy as np
import pytest
from craton.seismology.sources.source_time import Gaussian
from craton.seismology.wave_run.check import examine
from craton.seismology.wave_run.config import SAFETY, load_config
from craton.seismology.wave_run.dispersion import error_per_wavelength, path_of, step_for_path
from craton.seismology.wave_run.setup import Setup

CONFIG = """
[grid]
size_m = [16000, 4000, 4000]
spacing_m = 100
[time]
duration_s = 2
{time}
[receivers]
stations = [["far", {far}, 2000.0]]
[[source]]
mode = "force_z"
position_m = [1500.0, 2000.0, 0.0]
force_N = [1e12]
time_function = "gaussian"
sigma_s = 0.1
"""


def written(folder, far=15000.0, time=""):
    (folder / "long.toml").write_text(CONFIG.format(far=far, time=time))
    return load_config(folder / "long.toml")


def speed_on_a_line(cells: int, courant: float, periods: int) -> float:
    """Of a wave of one wavelength in a ring of cells, by stepping: staggered, of fourth order in space and second in time."""
    steps = round(periods * cells / courant)
    x = 2 * math.pi * np.arange(cells) / cells
    v, s = np.exp(1j * x), np.zeros(cells, complex)

    def difference(f, shift):
        near, far = np.roll(f, -shift) - np.roll(f, 1 - shift), np.roll(f, -1 - shift) - np.roll(f, 2 - shift)
        return 9 / 8 * near - far / 24

    # half a step first, so that s lies where it belongs in time; a wave that goes one way
    half = math.pi / cells
    turn = math.asin(courant * (9 / 8 * math.sin(half) - math.sin(3 * half) / 24))
    s = -v * np.exp(1j * (half - turn))
    first = v[0]
    for _ in range(steps):
        v = v + courant * difference(s, 0)
        s = s + courant * difference(v, 1)
    turned = -np.angle(v[0] / first) % (2 * math.pi)
    wanted = 2 * math.pi * courant * steps / cells
    off = (turned - wanted + math.pi) % (2 * math.pi) - math.pi
    return 1 + off / wanted


@pytest.mark.parametrize(("cells", "courant"), [(6, 0.2), (8, 0.1), (10, 0.05)])
def test_a_wave_along_an_axis_is_as_slow_as_said(cells, courant):
    """With small steps the axis is the worst direction."""
    speed = speed_on_a_line(cells, courant, 4)
    assert speed < 1
    assert error_per_wavelength(cells, courant) == pytest.approx(2 * math.pi * (1 - speed), rel=2e-3)


def test_errors_are_those_of_the_series_in_fine_grids():
    """They are (w dt)^2 / 24 - 3/640 (k h)^4, a quarter of the latter at 45 degrees."""
    cells, courant = 40.0, 0.25
    turn = 2 * math.pi / cells
    wanted = 2 * math.pi * ((courant * turn) ** 2 / 24 - 3 / 640 * turn**4 / 4)
    assert error_per_wavelength(cells, courant) == pytest.approx(wanted, rel=2e-3)


def test_the_step_is_the_largest_that_is_enough():
    h, vs, largest = 50.0, 3464.0, 0.0039
    path = path_of(60e3, vs, Gaussian(0.06))
    assert path.wavelengths == pytest.approx(60e3 * Gaussian(0.06).highest_frequency_hz / vs)
    assert path.error(h, largest) > 0.1
    chosen = step_for_path(path, h, largest, 0.1)
    assert chosen < largest and path.error(h, chosen) <= 0.1 < path.error(h, chosen + largest / 32)
    assert step_for_path(path_of(1e3, vs, Gaussian(0.06)), h, largest, 0.1) == largest
    # where none is enough, that of the least error
    least = step_for_path(path, h, largest, 1e-3)
    errors = [path.error(h, dt) for dt in np.linspace(0.001, largest, 400)]
    assert path.error(h, least) <= min(errors) * 1.001
    # coarse cells: space makes waves slow, and the largest step makes up for some of it
    assert step_for_path(path, 4 * h, 4 * largest, 1e-3) == 4 * largest


def test_the_default_step_follows_from_the_longest_path(tmp_path):
    near, far = Setup(written(tmp_path, 3000.0)), Setup(written(tmp_path))
    found = near.range
    limit = SAFETY * near.largest_step_s
    assert near.step_s() == limit
    assert far.longest_path(found).length_m == pytest.approx(13500.0)
    strict = Setup(written(tmp_path, time="path_error = 0.01"))
    assert strict.step_s() < 0.9 * limit
    assert strict.longest_path(found).error(100.0, strict.step_s()) <= 0.01
    assert Setup(written(tmp_path, time="path_error = 0.0")).step_s() == limit
    assert Setup(written(tmp_path, time="path_error = 0.01\ndt_s = 0.006")).step_s() == 0.006


def test_check_says_what_the_longest_path_comes_to(tmp_path):
    found = examine(written(tmp_path))
    assert found.path_m == pytest.approx(13500.0) and not found.warnings
    (text,) = [text for label, text in found.rows() if label == "dispersion"]
    assert "% per wavelength" in text and "longest path: 13.5 km, 15.2 wavelengths at most" in text
    assert found.to_dict()["path_error"] == found.path_error > 0
    (note,) = examine(written(tmp_path, time="path_error = 1e-4")).warnings
    assert "whatever the step: more than [time] path_error = 0.0001; smaller cells" in note
    (note,) = examine(written(tmp_path, time="path_error = 1e-4\ndt_s = 0.006")).warnings
    assert "of this dt_s" in note
