"""A regional inversion of a few seconds: two earthquakes, two stations, one anomaly."""

from __future__ import annotations

from pathlib import Path

CONFIG = """
[grid]
size_m = [24000.0, 22000.0, 14000.0]
spacing_m = 1000.0
points_per_wavelength = 4.0

[time]
duration_s = 24.0

[media]
kind = "layers"
layers = [[4000.0, 5200.0, 3000.0, 2500.0], [0.0, 6000.0, 3500.0, 2700.0]]

[boundary]
width_cells = 6

[receivers]
stations = [["A", 8000.0, 8000.0], ["B", 16000.0, 13000.0]]

[data]
filter_hz = [0.06, 0.1, 0.25, 0.3]
components = ["x", "z"]
noise = 0.05

[model]
spacing_m = [2000.0, 2000.0, 2000.0]

[prior]
length_m = 4000.0

[inversion]
iterations = 2

[[event]]
name = "one"
position_m = [15000.0, 8000.0, 5000.0]
moment_Nm = [0.3e16, -0.5e16, 0.2e16, 1e16, 0.4e16, -0.6e16]
time_function = "gaussian"
sigma_s = 1.2

[[event]]
name = "two"
position_m = [8500.0, 14000.0, 6000.0]
strike_dip_rake_deg = [30.0, 60.0, 80.0]
mw = 4.6
time_function = "gaussian"
sigma_s = 1.2

[[perturbation]]
centre_m = [12000.0, 11000.0, 3000.0]
radius_m = [4000.0, 4000.0, 3000.0]
dlnvs = -0.12
"""


def written(folder: Path, *changes: tuple[str, str], name: str = "small.toml") -> Path:
    """The configuration with some lines changed, as a file."""
    text = CONFIG
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = folder / name
    path.write_text(text)
    return path
