"""A small finite fault in rough rock, by waves from the fault and by waves from the site."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
from craton.hazard.forecast.rupture import Rupture, Surface, Variation
from craton.hazard.motion.green_tensors import GreenTensors, write_tensors
from craton.hazard.motion.slip_rates import time_function
from craton.seismology.sources.srf import Subfault, write_srf
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.setup import Setup
from craton.waves.start import run
from mpi4py import MPI
from scipy.interpolate import CubicSpline

CONFIG = """
[grid]
size_m = [{size}]
spacing_m = {spacing}
origin_lon_lat = [10.0, 0.0]
azimuth_deg = {azimuth}
points_per_wavelength = {shortest}

[time]
duration_s = {duration}

[media]
kind = "file"
file = "{folder}/rock.bin"

[boundary]
width_cells = 8
"""
FORCE = """
[sgt]
points = "{folder}/points.npy"
every = {every}

[[source]]
mode = "force_{axis}"
position_m = [{site}]
force_N = [1e15]
time_function = "gaussian"
sigma_s = {sigma}
"""
FAULT = """
[receivers]
stations = [["site", {site}]]

[[source]]
fault_file = "{folder}/fault.srf"
"""


@dataclass(frozen=True)
class Basin:
    """Slow ground in a bowl under the site, in rock that is rough at the scale of a few cells. m, s."""

    folder: Path
    cells: tuple[int, int, int] = (64, 52, 30)
    spacing: float = 300.0
    duration: float = 30.0
    site: tuple[float, float, float] = (12600.0, 7400.0, 0.0)
    sigma: float = 0.5
    every: int = 4
    shortest: float = 4.0
    azimuth: float = 0.0
    paths: dict[str, Path] = field(default_factory=dict)

    def write_rock(self) -> None:
        x, y, z = (self.spacing * (np.arange(n) + 0.5) for n in self.cells)
        x, y, z = x[None, None, :], y[None, :, None], z[:, None, None]
        bowl = 1 - ((x - 12000) / 6000) ** 2 - ((y - 8000) / 5000) ** 2 - (z / 1500) ** 2
        rough = np.sin(x / 900) * np.cos(y / 700) * np.sin(z / 800 + 1)
        vs = np.where(bowl > 0, 1300 + 0.2 * z + 50 * rough, np.minimum(2500 + 0.15 * z, 3300) + 150 * rough)
        np.stack([1.75 * vs + 200, vs, 1900 + 0.22 * vs], -1).astype("<f4").tofile(self.folder / "rock.bin")

    def run(self, name: str, source: str, **more: object) -> WavesFolder:
        """In this process."""
        values = {
            "size": ", ".join(f"{n * self.spacing:g}" for n in self.cells),
            "spacing": self.spacing,
            "duration": self.duration,
            "folder": self.folder,
            "site": ", ".join(f"{p:g}" for p in self.site),
            "sigma": self.sigma,
            "every": self.every,
            "shortest": self.shortest,
            "azimuth": self.azimuth,
        } | more
        config = self.folder / f"{name}.toml"
        config.write_text((CONFIG + source).format(**values))
        run(load_config(config, directory=self.folder / name, threads=1), MPI.COMM_SELF, report=False)
        return WavesFolder(str(self.folder / name))

    def green(self, points: np.ndarray) -> GreenTensors:
        """By three runs of a force at the site."""
        np.save(self.folder / "points.npy", points)
        paths = [self.run(f"force_{axis}", FORCE, axis=axis).sgt for axis in "yzx"]
        return GreenTensors.open(paths, self.site)

    def forward(self, rupture: Rupture, variation: Variation, slip_rate: str) -> tuple[np.ndarray, np.ndarray]:
        """Times and velocity (3, time) at the site, from the fault itself, as an SRF file."""
        config = self.folder / "grid.toml"
        config.write_text(
            CONFIG.format(
                size=", ".join(f"{n * self.spacing:g}" for n in self.cells),
                spacing=self.spacing,
                duration=self.duration,
                folder=self.folder,
                shortest=0,
                azimuth=self.azimuth,
            )
        )
        grid = Setup(load_config(config)).grid
        write_srf(self.folder / "fault.srf", subfaults(rupture, variation, slip_rate, grid))
        folder = self.run("fault", FAULT, shortest=0)
        with h5py.File(folder.seismograms) as file:
            velocity = file["velocity"]
            facts = dict(velocity.attrs)
            series = np.asarray(velocity[0], float)
        return facts["first_time_s"] + facts["dt_s"] * np.arange(series.shape[1]), series


def subfaults(rupture, variation, slip_rate, grid):
    """As an SRF file has them: slip rates every 20 ms."""
    surface, sample = rupture.surface, 0.02
    none = np.empty(0, np.float32)
    lon, lat = grid.lon_lat(surface.positions[:, 0], surface.positions[:, 1])
    for k in range(len(surface)):
        rise, slip = variation.rise[k], variation.slip[k]
        rates = slip * time_function(slip_rate, rise).rate(sample * np.arange(int(rise / sample) + 2))
        rates *= slip / (rates.sum() * sample)
        yield Subfault(
            float(lon[k]),
            float(lat[k]),
            float(surface.positions[k, 2]),
            float(surface.strike[k]),
            float(surface.dip[k]),
            float(surface.rake[k]),
            float(surface.area[k]),
            float(variation.onset[k]),
            sample,
            (rates.astype(np.float32), none, none),
            (float(slip), 0.0, 0.0),
        )


def small_rupture(azimuth: float = 0.0) -> Rupture:
    """4 by 6 subfaults, curved along strike, with a rake that changes; azimuth: of the x axis."""
    rows, columns = 4, 6
    row, column = (grid.ravel() for grid in np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    strike = 20.0 + 4 * column
    along = 800.0 * (column - 2.5)
    down = 700.0 * (row + 0.5)
    dip = np.radians(55.0)
    at = np.column_stack(
        [
            7000 + along * np.cos(np.radians(25)) - down * np.cos(dip) * np.sin(np.radians(25)),
            7600 + along * np.sin(np.radians(25)) + down * np.cos(dip) * np.cos(np.radians(25)),
            1400 + down * np.sin(dip),
        ]
    )
    full = np.ones(len(at))
    surface = Surface(at, strike + azimuth, 55 * full, 60 + 10 * row, 5.6e5 * full, rows, columns, azimuth)
    return Rupture("bent", 3, 6.1, 0.002, surface)


def small_variation(rupture: Rupture, seed: int = 5) -> Variation:
    random = np.random.default_rng(seed)
    at, count = rupture.surface.positions, len(rupture.surface)
    hypocentre = int(random.integers(count))
    onset = np.linalg.norm(at - at[hypocentre], axis=1) / 2500.0
    return Variation(0, seed, 0.3 + random.random(count), onset, 1.5 + 1.5 * random.random(count), hypocentre, seed)


def through_pulse(times: np.ndarray, velocity: np.ndarray, sigma: float, wanted: np.ndarray) -> np.ndarray:
    """A series through a Gaussian of unit integral, at other times."""
    dt = times[1] - times[0]
    half = int(np.ceil(7 * sigma / dt))
    bell = np.exp(-0.5 * (dt * np.arange(-half, half + 1) / sigma) ** 2)
    smooth = np.array([np.convolve(one, bell / bell.sum())[half:-half] for one in velocity])
    return CubicSpline(times, smooth, axis=1)(wanted)


def made_up(folder: Path, *, points: int = 40, samples: int = 300, dt: float = 0.1, axes: str = "xyz", **more):
    """Files of tensors that follow from no physics: smooth bursts, and the tensors (axis, point, 6, time).

    sigma of the pulse is 0.3 s.
    """
    random = np.random.default_rng(9)
    position = random.uniform(0, 10e3, (points, 3))
    t = dt * np.arange(samples)
    centre = 1.8
    tensors = []
    for _ in axes:
        arrival = 3 + random.uniform(0, 12, (points, 6, 4, 1))
        width = random.uniform(0.35, 1.0, arrival.shape)
        size = random.standard_normal(arrival.shape)
        tensors.append((1e-9 * size * np.exp(-0.5 * ((t - arrival) / width) ** 2)).sum(axis=2).astype(np.float32))
    facts = {
        "site_m": (1e3, 2e3, 0.0),
        "dt_s": dt,
        "first_time_s": 0.05,
        "h_m": 100.0,
        "lambda_Pa": 3e10,
        "mu_Pa": 2e10 + 1e9 * np.arange(points),
        "force_N": 1e15,
        "pulse": "gaussian",
        "pulse_integral_s": float(np.sqrt(2 * np.pi) * 0.3),
        "pulse_centre_s": centre,
    } | more
    paths = [
        write_tensors(folder / f"{axis}.h5", one, position, direction=axis, **facts)
        for axis, one in zip(axes, tensors, strict=True)
    ]
    return paths, np.array(tensors), position
