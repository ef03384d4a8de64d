"""The configuration of a small hazard run, written with changes: two sites, two faults, a grid of 1 km."""

from __future__ import annotations

from pathlib import Path

CONFIG = """
[grid]
size_km = [30.0, 26.0, 14.0]
spacing_m = 1000.0
origin_lon_lat = [10.0, 45.0]
points_per_wavelength = 3.0

[time]
duration_s = 20.0

[boundary]
absorbing = "sponge"
width_cells = 4

[green]
sigma_s = 1.0
every = 2

[forecast]
years = 50.0
subfault_m = 2000.0

[variations]
slips = 2
strike_spacing_km = 5.0

[measures]
periods_s = [3.0, 5.0]
unresolved_periods_s = [3.0, 5.0]

[hazard]
levels_g = [1e-5, 1e-4, 3e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1.0]
probabilities = [0.1]

[run]
variations_per_task = 4
cores = 2

[[site]]
name = "A"
position_m = [9000.0, 9000.0]

[[site]]
name = "B"
position_m = [20000.0, 12000.0]

[[fault]]
name = "north"
trace_m = [[8000.0, 16000.0], [20000.0, 18000.0]]
upper_depth_km = 1.0
lower_depth_km = 7.0
rake_deg = 180.0
slip_rate_mm_yr = 5.0

[[fault]]
name = "south"
trace_m = [[8000.0, 12000.0], [16000.0, 13000.0]]
upper_depth_km = 1.0
lower_depth_km = 5.0
dip_deg = 60.0
rake_deg = 90.0
annual_rate = 0.01
"""


def write_config(folder: Path, *changes: tuple[str, str]) -> Path:
    text = CONFIG
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "small.toml"
    path.write_text(text)
    return path


LONG_WAVES = (
    ("duration_s = 20.0", "duration_s = 60.0"),
    ("cores = 2", "cores = 2\ncheckpoint_s = 0.01"),
)


def one_site(folder: Path, *changes: tuple[str, str]) -> Path:
    """A configuration of one site, whose wave runs have 767 steps and a checkpoint every hundred."""
    path = write_config(folder, *LONG_WAVES, *changes)
    text = path.read_text()
    second = text.index("[[site]]", text.index("[[site]]") + 1)
    path.write_text(text[:second] + text[text.index("[[fault]]") :])
    return path
