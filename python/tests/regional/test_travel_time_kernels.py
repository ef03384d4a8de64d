"""Travel-time kernels of vp in a homogeneous medium, of P waves of an explosion: beside the analytic ones.

    dilatation of an explosion M s(t) at r':      w^2 M S exp(-i k r') / (4 pi rho v^4 r')
    dilatation of a force F h(t) along c at r'':  F H c.r'' exp(-i k r'') (-i k - 1/r'') / (4 pi rho v^2 r'')

(Aki & Richards 2002, section 4.2). Their product is the kernel; far from both ends it is the banana-doughnut kernel of Dahlen, Hung
& Nolet (2000), which is 0 on the ray.
"""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

import command_line
from craton.regional.forces import force_spectrum
from craton.regional.knots import Knots
from craton.regional.panels import KnotWeights, Pair, panel, volumes_m3
from craton.regional.windows import Band, Window, filtered
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import read_seismograms, read_spectra
from craton.seismology.wave_run.setup import Setup

VP, VS, RHO = 6000.0, 3464.0, 2700.0
SOURCE, STATION = (9000.0, 12000.0, 12000.0), (27000.0, 12000.0, 12000.0)
LENGTH_M = 18000.0
BAND = Band(0.25, 0.4, 0.8, 1.0)
WINDOW = Window(1.5, 9.5, 0.25, BAND)
BESIDE_M = 4200.0
"""Of both ends, within which kernels change too much from point to point."""

CONFIG = f"""
[grid]
size_m = [36000.0, 24000.0, 24000.0]
spacing_m = 400.0
points_per_wavelength = 4

[time]
duration_s = 12.0
path_error = 0.01

[media]
kind = "constant"
vp = {VP}
vs = {VS}
rho = {RHO}

[boundary]
width_cells = 10
top = "absorbing"

[receivers]
stations = [["S", {STATION[0]}, {STATION[1]}, {STATION[2]}]]

[spectra]
band_hz = [0.25, 1.0]

[[source]]
"""
EXPLOSION = f"position_m = {list(SOURCE)}\nmoment_Nm = [1e17, 1e17, 1e17, 0.0, 0.0, 0.0]\n"
FORCE = f'mode = "force_x"\nposition_m = {list(STATION)}\nforce_N = [1e12]\n'
PULSE = 'time_function = "gaussian"\nsigma_s = 0.3\n'


def rows_of_travel_time(u: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """-u' / sum u'^2, u' by the same transform as u."""
    step = WINDOW.step_s
    spectrum = np.fft.rfftfreq(len(u), step)
    rate = np.fft.irfft(2j * np.pi * spectrum * np.fft.rfft(u), len(u))
    return -rate / (rate @ rate)


def analytic(points: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """(point, frequency): of displacement along x at the station, by dln vp of a volume of 1, over the moment's transform."""
    k = 2 * np.pi * frequencies / VP
    ahead, behind = points - SOURCE, points - STATION
    r, back = (np.linalg.norm(one, axis=1)[:, None] for one in (ahead, behind))
    cosine = behind[:, :1] / back
    of_source = (2 * np.pi * frequencies) ** 2 * np.exp(-1j * k * r) / (4 * np.pi * RHO * VP**4 * r)
    of_force = cosine * np.exp(-1j * k * back) * (-1j * k - 1 / back) / (4 * np.pi * RHO * VP**2 * back)
    return -2 * RHO * VP**2 * of_source * of_force


@pytest.mark.long
def test_kernels_of_wave_runs_are_the_analytic_ones(tmp_path):
    runs = {}
    for name, source in (("event", EXPLOSION), ("force", FORCE)):
        path = tmp_path / f"{name}.toml"
        path.write_text(CONFIG + source + PULSE)
        done = command_line.craton(
            "waves", "run", path, "--directory", tmp_path / name, "--no-report", cwd=tmp_path, seconds=300
        )
        assert done.returncode == 0, done.stderr
        runs[name] = WavesFolder(tmp_path / name)
    event, force = (read_spectra(runs[name].strain_spectra) for name in ("event", "force"))
    frequencies = event.frequencies_hz
    setup, dt_s = Setup(load_config(tmp_path / "force.toml")), runs["force"].read_record().dt_s
    _, spectrum = force_spectrum(setup.points[0], dt_s, setup.steps(dt_s), frequencies)
    knots = Knots.over(tuple(np.unique(each) for each in event.position_m.T), 2000.0)
    weights = KnotWeights.of(event, knots)
    everywhere = np.arange(len(knots), dtype=np.int32)
    columns = panel(Pair(event, force, spectrum), weights, everywhere, WINDOW, ["vp"])
    seismograms = read_seismograms(runs["event"])
    u = filtered(seismograms.velocity[0, 0], seismograms.first_time_s, seismograms.dt_s, frequencies, WINDOW)
    row = rows_of_travel_time(u, frequencies)
    found = row @ columns
    # the same sum over points of the analytic kernel, with the moment's own transform
    source = Setup(load_config(tmp_path / "event.toml")).points[0]
    steps = setup.steps(dt_s)
    times_s = dt_s * (np.arange(steps) + 0.5)
    rate = dt_s * source.in_steps(0, steps, dt_s).astype(float) @ np.exp(-2j * np.pi * np.outer(times_s, frequencies))
    moment = 1e17 * rate / (2j * np.pi * frequencies)
    kernel = analytic(event.position_m, frequencies) * moment * volumes_m3(event)[:, None]
    summed = knots.values(event.position_m).T @ kernel
    right = row @ WINDOW.synthesis(frequencies, 2j * np.pi * frequencies) @ summed.view(float).T
    away = [np.linalg.norm(knots.position_m - end, axis=1) > BESIDE_M for end in (SOURCE, STATION)]
    inside = away[0] & away[1]
    error = np.linalg.norm(found[inside] - right[inside]) / np.linalg.norm(right[inside])
    print(f"kernels of {inside.sum()} knots differ by {100 * error:.2f} %, largest {np.abs(right[inside]).max():.3g} s")
    assert error < 0.03


def test_far_from_the_ends_the_analytic_kernel_is_dahlens():
    """At 8 Hz, across the middle of the ray: K = -(R / (2 pi v r' r'')) sum w^3 |a|^2 sin(w dT) / sum w^2 |a|^2."""
    frequencies = np.linspace(4.0, 12.0, 321)
    omega, amplitude = 2 * np.pi * frequencies, np.exp(-(((frequencies - 8.0) / 1.6) ** 2))
    across = np.linspace(0.0, 1800.0, 26)
    middle = 0.5 * (np.array(SOURCE) + np.array(STATION))
    points = middle + np.stack([np.zeros(26), across, np.zeros(26)], axis=1)
    # u of the explosion at the station, far field, of amplitude a: K = -Re sum (i w U)* dU / sum w^2 |U|^2
    moment = amplitude / omega
    arrival = 1j * omega / (4 * np.pi * RHO * VP**3 * LENGTH_M) * np.exp(-1j * omega * LENGTH_M / VP) * moment
    changed = analytic(points, frequencies) * moment
    ours = -np.real(np.sum(np.conj(1j * omega * arrival) * changed, axis=1)) / np.sum(np.abs(omega * arrival) ** 2)
    r, back = (np.linalg.norm(points - np.array(end), axis=1) for end in (SOURCE, STATION))
    late_s = (r + back - LENGTH_M) / VP
    sines = np.sin(np.outer(late_s, omega))
    dahlen = (
        -LENGTH_M
        / (2 * np.pi * VP * r * back)
        / VP
        * (sines @ (omega**3 * amplitude**2))
        / np.sum(omega**2 * amplitude**2)
    )
    error = np.linalg.norm(ours - dahlen) / np.linalg.norm(dahlen)
    print(f"differ by {100 * error:.2f} %; on the ray {ours[0] / np.abs(dahlen).max():.3f} of the largest")
    assert error < 0.03 and abs(ours[0]) < 0.05 * np.abs(dahlen).max()
