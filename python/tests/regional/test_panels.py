"""Panels beside finite differences of real wave runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import h5py
import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

import command_line
from craton import UserError
from craton.regional.forces import force_spectrum
from craton.regional.knots import Knots
from craton.regional.panels import KnotWeights, Pair, panel
from craton.regional.windows import Band, Window, filtered
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import read_seismograms, read_spectra
from craton.seismology.wave_run.setup import Setup
from craton.seismology.wave_run.spectra import lattice_of

BAND = Band(0.08, 0.12, 0.3, 0.4)
WINDOW = Window(2.0, 16.0, 0.25, BAND)
SOURCE, STATION = (7000.0, 8200.0, 4600.0), (14200.0, 12600.0, 0.0)
MOMENT = [0.3e17, -0.5e17, 0.2e17, 1e17, 0.4e17, -0.6e17]
SIZE_M = (20000.0, 20000.0, 10000.0)
BESIDE_M = 5200.0
"""Of the ends of the path, within which kernels change too much from point to point."""

CONFIG = """
[grid]
size_m = [20000.0, 20000.0, 10000.0]
spacing_m = {h}
points_per_wavelength = 4

[time]
duration_s = 30.0
dt_s = {dt}

[media]
kind = "file"
file = "{media}.h5"
outside = "nearest"
subsamples = 1

[boundary]
width_cells = {width}
damping_speed_m_s = 5760.0
frequency_shift_per_s = {shift}

[receivers]
stations = [["S", 14200.0, 12600.0, 0.0]]

[spectra]
band_hz = {band}
fields = ["strain", "velocity"]

[[source]]
{source}
time_function = "gaussian"
sigma_s = 0.35
"""
EVENT = f'mode = "moment_rate"\nposition_m = {list(SOURCE)}\nmoment_Nm = {MOMENT}'


def force(axis: str) -> str:
    return f'mode = "force_{axis}"\nposition_m = {list(STATION)}\nforce_N = [1e12]'


@dataclass(frozen=True)
class Runs:
    """Wave runs in a folder, with cells of one side."""

    folder: Path
    h: float

    @property
    def dt_s(self) -> float:
        return 0.03 * self.h / 400.0

    @property
    def axes_m(self) -> list[np.ndarray]:
        return [(np.arange(round(size / self.h)) + 0.5) * self.h for size in SIZE_M]

    @property
    def points_m(self) -> np.ndarray:
        return np.stack(np.meshgrid(*self.axes_m, indexing="ij"), axis=-1).reshape(-1, 3)

    def ground(self) -> dict[str, np.ndarray]:
        """vp, vs, rho at the middles of all cells, growing with depth."""
        z = self.points_m[:, 2]
        return {"vp": 3600 + 0.216 * z, "vs": 2000 + 0.12 * z, "rho": 2200 + 0.04 * z}

    def write_ground(self, name: str, values: dict[str, np.ndarray]) -> None:
        shape = [len(axis) for axis in self.axes_m]
        with h5py.File(self.folder / f"{name}.h5", "w") as file:
            for key, field in values.items():
                file.create_dataset(key, data=field.reshape(shape).astype(np.float32)).attrs["axes"] = "x y z"
            for key, axis in zip("xyz", self.axes_m, strict=True):
                file[key] = axis

    def ran(self, name: str, media: str, source: str, band: str = "[]") -> WavesFolder:
        path, width = self.folder / f"{name}.toml", round(4000.0 / self.h)
        values = {"media": media, "source": source, "band": band, "width": width, "shift": 320.0 / self.h}
        path.write_text(CONFIG.format(h=self.h, dt=self.dt_s, **values))
        run = ("run", path, "--directory", self.folder / name, "--no-report", "--overwrite")
        done = command_line.craton("waves", *run, cwd=self.folder, seconds=300)
        assert done.returncode == 0, done.stderr
        return WavesFolder(self.folder / name)

    def pair(self, component: str) -> Pair:
        """The spectra of the earthquake and of the force along a component."""
        event, receiver = WavesFolder(self.folder / "event"), WavesFolder(self.folder / component)
        frequencies = read_spectra(event.strain_spectra).frequencies_hz
        setup = Setup(load_config(self.folder / f"{component}.toml"))
        axis, spectrum = force_spectrum(setup.points[0], self.dt_s, setup.steps(self.dt_s), frequencies)
        assert "xyz"[axis] == component
        strains, velocities = (
            [read_spectra(one.spectra(field)) for one in (event, receiver)] for field in ("strain", "velocity")
        )
        return Pair(*strains, spectrum, *velocities)

    def knots(self, spacing_m: float = 2000.0) -> Knots:
        return Knots.over(lattice_of(load_config(self.folder / "event.toml")).axes_m, spacing_m)

    def differences(self, change: dict[str, np.ndarray], frequencies: np.ndarray, size: float = 0.04) -> np.ndarray:
        """Of filtered velocities, by the size of a change of ln vp, ln vs, ln rho at all cells: (axis, sample).

        The solver keeps media in 16 bits: a change must be large beside 1/2000.
        """
        found = []
        for sign in (1, -1):
            changed = {name: field * (1 + sign * size * change.get(name, 0.0)) for name, field in self.ground().items()}
            self.write_ground("changed", changed)
            s = read_seismograms(self.ran("changed", "changed", EVENT))
            found.append(filtered(s.velocity[0], s.first_time_s, s.dt_s, frequencies, WINDOW))
        return (found[0] - found[1]) / (2 * size)


@pytest.fixture(scope="module", params=[400.0, pytest.param(250.0, marks=pytest.mark.long)])
def runs(request, tmp_path_factory):
    """The spectra of the earthquake, and of two forces at the station."""
    made = Runs(tmp_path_factory.mktemp("panels"), request.param)
    made.write_ground("ground", made.ground())
    for name, source in (("event", EVENT), ("x", force("x")), ("z", force("z"))):
        made.ran(name, "ground", source, "[0.08, 0.4]")
    return made


@pytest.mark.parametrize("parameter", ["vp", "vs", "rho"])
def test_a_panel_is_the_derivative_of_real_wave_runs(runs, parameter):
    """Of a random change of all knots that are not beside the source or the station; better with smaller cells."""
    knots = runs.knots()
    away = np.min([np.linalg.norm(knots.position_m - end, axis=1) for end in (SOURCE, STATION)], axis=0)
    touched = np.flatnonzero(away > BESIDE_M).astype(np.int32)
    coefficients = np.zeros(len(knots))
    coefficients[touched] = np.random.default_rng(5).uniform(-1, 1, len(touched))
    frequencies = runs.pair("x").frequencies_hz
    right = runs.differences({parameter: knots.field(coefficients, runs.points_m)}, frequencies)
    for component, axis in (("x", 0), ("z", 2)):
        pair = runs.pair(component)
        ours = panel(pair, KnotWeights.of(pair.source, knots), touched, WINDOW, [parameter]) @ coefficients[touched]
        off = np.linalg.norm(ours - right[axis]) / np.linalg.norm(right[axis])
        print(f"cells of {runs.h:g} m, {parameter}, {component}: {100 * off:.2f} %")
        assert off < {400.0: 0.04, 250.0: 0.02}[runs.h]


def test_columns_are_those_of_single_knots_and_parameters(runs):
    pair = runs.pair("z")
    weights = KnotWeights.of(pair.source, runs.knots())
    some = np.array([7, 2, 11], np.int32)
    together = panel(pair, weights, some, WINDOW, ["vs", "vp"])
    assert together.shape == (len(WINDOW.times_s), 6)
    alone = [panel(pair, weights, some[n : n + 1], WINDOW, [name]) for name in ("vs", "vp") for n in range(3)]
    assert np.allclose(together, np.hstack(alone), rtol=1e-5, atol=1e-7 * np.abs(together).max())
    fine = replace(WINDOW, step_s=0.02)
    displacement = panel(pair, weights, some, fine, ["vs"], velocity=False)
    speed = np.gradient(displacement, fine.step_s, axis=0)
    assert np.allclose(speed[1:-1], panel(pair, weights, some, fine, ["vs"])[1:-1], atol=1e-3 * np.abs(speed).max())


def test_what_does_not_fit_is_refused(runs):
    pair = runs.pair("z")
    weights = KnotWeights.of(pair.source, runs.knots())
    some = np.arange(3, dtype=np.int32)
    with pytest.raises(UserError, match="parameters none; allowed: one or more of vp, vs, rho"):
        panel(pair, weights, some, WINDOW, [])
    with pytest.raises(UserError, match="parameters qs; allowed"):
        panel(pair, weights, some, WINDOW, ["qs"])
    still = Pair(pair.source, pair.receiver, pair.force)
    with pytest.raises(UserError, match="parameter rho without spectra of velocity"):
        panel(still, weights, some, WINDOW, ["rho"])
    wide = Window(2.0, 16.0, 0.25, Band(0.08, 0.12, 0.5, 0.9))
    with pytest.raises(UserError, match="over the whole filter, 0.08 to 0.9 Hz"):
        panel(still, weights, some, wide, ["vs"])
    for other, what in (
        (replace(pair.receiver, frequencies_hz=1.1 * pair.receiver.frequencies_hz), "frequencies"),
        (replace(pair.receiver, frequencies_hz=pair.receiver.frequencies_hz[1:]), "frequencies"),
        (replace(pair.receiver, position_m=pair.receiver.position_m + 1), "points"),
        (replace(pair.receiver, moduli=1.01 * pair.receiver.moduli), "ground"),
    ):
        with pytest.raises(UserError, match=f"spectra of other {what} than the source's; allowed: runs with the same"):
            Pair(pair.source, other, pair.force)
    with pytest.raises(UserError, match="a force at 2 frequencies; allowed: at 20, those of the spectra"):
        Pair(pair.source, pair.receiver, pair.force[:2])
