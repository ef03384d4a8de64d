"""The configuration of a small wave run, written with changes; `craton waves` here and in processes of its own."""

from __future__ import annotations

import io
import subprocess
from contextlib import chdir, redirect_stdout
from pathlib import Path

import command_line

CONFIG = """
[grid]
size_km = [3.0, 2.8, 2.4]
spacing_m = 100.0

[time]
duration_s = 0.9

[media]
kind = "layers"
layers = [[450.0, 4000.0, 2000.0, 2600.0], [0.0, 6000.0, 3464.0, 2700.0]]

[attenuation]
qs = "0.05 vs"
qp = "2 qs"
band_hz = [0.1, 10.0]

[boundary]
width_cells = 5

[receivers]
stations = [["NEAR", 1300.0, 1480.0], ["FAR", 2210.0, 1950.0, 730.0]]

[sgt]
points = "points.txt"
every = 10

[snapshots]
every = 40
fields = ["vx", "zz"]
volume = true
coarsen = 3

[movie]
every = 20

[checkpoint]
every_steps = 50

[[source]]
position_m = [1250.0, 1430.0, 800.0]
strike_dip_rake_deg = [30.0, 60.0, 90.0]
mw = 4.0
time_function = "gaussian"
sigma_s = 0.12
centre_s = 0.3

[[source]]
mode = "force_z"
position_m = [1820.0, 1610.0, 0.0]
force_N = [1e12]
time_function = "cosine"
duration_s = 1.0
"""


def changed(text: str, *changes: tuple[str, str]) -> str:
    """The text with some parts replaced: (old, new). Each old one must be in it."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def write_config(folder: Path, *changes: tuple[str, str]) -> Path:
    (folder / "points.txt").write_text("1400 1500 600\n1450 1450 50\n2000 900 1234\n")
    path = folder / "small.toml"
    path.write_text(changed(CONFIG, *changes))
    return path


def craton(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own. A time-out is a failure: bad input must not hang."""
    return command_line.craton("waves", *arguments, cwd=cwd, seconds=120)


def here(*arguments: object, cwd: Path) -> str:
    """On one rank in this process: what the command prints. It must end with code 0; what it refuses is raised."""
    from craton.commands.main import invoke

    out = io.StringIO()
    with chdir(cwd), redirect_stdout(out):
        assert invoke(["waves", *map(str, arguments)]) == 0
    return out.getvalue()
