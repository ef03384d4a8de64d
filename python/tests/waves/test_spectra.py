"""[spectra]: Fourier transforms summed while a run goes on, beside those of the time series that the same run writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

from craton import UserError
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import read_spectra
from craton.seismology.wave_run.setup import Setup
from craton.seismology.wave_run.spectra import lattice_of, sampling_steps
from wave_config import changed, craton

CONFIG = """
[grid]
size_m = [4000, 3800, 3200]
spacing_m = 100.0

[time]
duration_s = 2.0
dt_s = 0.008

[media]
kind = "layers"
layers = [[1000.0, 3000.0, 1700.0, 2300.0], [0.0, 5000.0, 2900.0, 2600.0]]

[boundary]
width_cells = 8

[spectra]
band_hz = [0.5, 3.0]
fields = ["strain", "velocity"]
coarsen = 5
every = 4

[sgt]
points = "points.npy"
every = 4

[receivers]
stations = STATIONS

[[source]]
position_m = [1850.0, 2030.0, 1400.0]
moment_Nm = [1e15, 0, -1e15, 2e15, 1e15, 0]
time_function = "gaussian"
sigma_s = 0.13
"""


def write(folder: Path, *changes: tuple[str, str]) -> Path:
    """The configuration, with the lattice as points of [sgt] and three of its points as stations."""
    path = folder / "run.toml"
    np.save(folder / "points.npy", np.ones((1, 3)))
    path.write_text(changed(CONFIG.replace("STATIONS", "[]"), *changes))
    points = lattice_of(load_config(path)).points_m
    np.save(folder / "points.npy", points)
    stations = [[f"S{n}", *points[n].tolist()] for n in (0, 40, len(points) - 1)]
    path.write_text(changed(CONFIG.replace("STATIONS", json.dumps(stations)), *changes))
    return path


def ran(path: Path, *options: object) -> WavesFolder:
    folder = path.with_suffix("")
    done = craton("run", path, "--directory", folder, "--no-report", *options, cwd=path.parent)
    assert done.returncode == 0, done.stderr
    return WavesFolder(folder)


def transform(values, times_s, frequencies_hz, step_s):
    """Sum of exp(-2 pi i f t) values dt over the last axis."""
    return step_s * np.asarray(values, float) @ np.exp(-2j * np.pi * np.outer(times_s, frequencies_hz))


def that_stays(values, times_s, frequencies_hz, step_s, turns):
    """The same of values whose last one goes on for ever: the mean of the partial sums over whole turns of all frequencies."""
    later_s = times_s[-1] + step_s * np.arange(1, turns + 1)
    phases = np.exp(-2j * np.pi * np.outer(later_s, frequencies_hz))
    assert np.allclose(turns * step_s * frequencies_hz, np.round(turns * step_s * frequencies_hz))
    tail = step_s * np.cumsum(phases, axis=0).mean(axis=0)
    return transform(values, times_s, frequencies_hz, step_s) + np.asarray(values, float)[..., -1:] * tail


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return ran(write(tmp_path_factory.mktemp("spectra")))


def test_strains_are_those_of_the_time_series(folder):
    found = read_spectra(folder.strain_spectra)
    with h5py.File(folder.sgt) as file:
        table, facts = file["sgt"][:], dict(file["sgt"].attrs)
        lam, mu, places = file["lambda_Pa"][:], file["mu_Pa"][:], file["coordinates"][:]
    times_s = facts["first_time_s"] + facts["dt_s"] * np.arange(table.shape[-1])
    right = that_stays(table, times_s, found.frequencies_hz, facts["dt_s"], turns=1000)
    assert np.abs(found.values - right).max() < 2e-6 * np.abs(right).max()
    assert np.array_equal(found.moduli[:2], [lam, mu]) and np.array_equal(found.position_m, places)
    assert set(found.moduli[2]) == {2300.0, 2600.0} and found.components == ("xx", "yy", "zz", "xy", "xz", "yz")
    assert np.allclose(found.frequencies_hz, np.arange(0.5, 3.01, 0.25))
    assert "lambda" not in repr(found) and "11, 0.5 to 3 Hz" in repr(found)


def test_velocities_are_those_of_stations(folder):
    found = read_spectra(folder.velocity_spectra)
    with h5py.File(folder.seismograms) as file:
        table, facts = file["velocity"][:], dict(file["velocity"].attrs)
    steps = np.arange(3, table.shape[-1], 4)
    times_s = facts["first_time_s"] + facts["dt_s"] * steps
    right = transform(table[..., steps], times_s, found.frequencies_hz, 4 * facts["dt_s"])
    ours = found.values[[0, 40, -1]]
    assert np.abs(ours - right).max() < 2e-6 * np.abs(right).max()


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_any_number_of_ranks_sums_the_same(folder, tmp_path, ranks):
    other = ran(write(tmp_path), "--ranks", ranks)
    for field in ("strain", "velocity"):
        ours, theirs = read_spectra(folder.spectra(field)), read_spectra(other.spectra(field))
        assert np.abs(ours.values - theirs.values).max() < 1e-5 * np.abs(ours.values).max()
        assert np.array_equal(ours.moduli, theirs.moduli)


def test_sixteen_bits_are_half_as_large_and_err_little(folder, tmp_path):
    half = ran(write(tmp_path, ("coarsen = 5", "coarsen = 5\nbits = 16")))
    for field in ("strain", "velocity"):
        ours, theirs = read_spectra(folder.spectra(field)).values, read_spectra(half.spectra(field)).values
        largest = np.maximum(np.abs(ours.real), np.abs(ours.imag)).max(axis=-1, keepdims=True)
        assert (np.abs(theirs - ours) <= 2 * largest / 2048).all()
        assert np.linalg.norm(theirs - ours) < 5e-4 * np.linalg.norm(ours)
    with h5py.File(half.strain_spectra) as file:
        assert file["spectra"].dtype == np.float16


def test_samples_by_default_are_as_right_as_all_of_them(tmp_path):
    """A triangle, whose spectrum falls slowly; a small box, of which three of four ranks have nothing.

    The run goes on until waves have gone: strains that stay are not those of a wave that happens to pass at the last sample.
    """
    alike = (
        ("duration_s = 2.0", "duration_s = 5.0"),
        ("coarsen = 5", "low_m = [900, 900, 800]\nhigh_m = [1500, 1400, 1300]"),
        ('time_function = "gaussian"\nsigma_s = 0.13', 'time_function = "triangle"\nduration_s = 0.6'),
        ('[sgt]\npoints = "points.npy"\nevery = 4\n', ""),
    )
    (tmp_path / "all").mkdir()
    every = write(tmp_path / "all", *alike, ("every = 4\n", "every = 1\n"))
    right = ran(every)
    some = ran(write(tmp_path, *alike, ("every = 4\n", "")), "--ranks", 4)
    for field in ("strain", "velocity"):
        ours, theirs = read_spectra(some.spectra(field)), read_spectra(right.spectra(field))
        assert ours.counts == (6, 5, 5)
        off = np.linalg.norm(ours.values - theirs.values) / np.linalg.norm(theirs.values)
        print(f"{field}: {off:.1e}")
        assert off < 2e-3


@pytest.mark.parametrize("bits", [16, 32])
def test_check_says_what_they_take(tmp_path, bits):
    path = write(
        tmp_path, ("coarsen = 5", f"coarsen = 2\nbits = {bits}"), ('[sgt]\npoints = "points.npy"\nevery = 4\n', "")
    )
    told = craton("check", path, "--json", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    facts = json.loads(told.stdout)
    folder = ran(path)
    size = sum(folder.spectra(field).stat().st_size for field in ("strain", "velocity"))
    assert size == pytest.approx(facts["spectra_file_bytes"], rel=0.1)
    lines = craton("check", path, cwd=tmp_path).stdout
    assert "strain and velocity at 11 frequencies, 0.5 to 3 Hz" in " ".join(lines.split())


@pytest.mark.long
def test_memory_is_what_check_counts(tmp_path):
    """What a run grows by once it has its fields, beside the same run without spectra."""
    at_all = ("coarsen = 5", "coarsen = 1"), ('[sgt]\npoints = "points.npy"\nevery = 4\n', "")
    path = write(tmp_path, *at_all)
    plan = Setup(load_config(path)).spectra(0.008)
    with_them = grown_bytes(path)
    path.write_text(
        path.read_text().replace('band_hz = [0.5, 3.0]\nfields = ["strain", "velocity"]\ncoarsen = 1\nevery = 4\n', "")
    )
    points = len(plan.lattice)
    grown = with_them - grown_bytes(path)
    print(f"{grown} bytes, {plan.memory_bytes(points)} counted")
    assert grown == pytest.approx(plan.memory_bytes(points), rel=0.1)
    boxes = Setup(load_config(path)).boxes(4)
    assert sum(plan.lattice.points_in(box) for box in boxes) == points


def grown_bytes(path: Path) -> int:
    """The peak of a run's steps over what it has before its files are opened, in a process of its own."""
    program = """
import sys
from craton import World, waves
from craton._launch import main_guard
from craton.runs.process_memory import peak_bytes, reset_peak, resident_bytes
from craton.waves.outputs import open_outputs
from mpi4py import MPI

with main_guard():
    s = waves.Simulation(waves.load_config(sys.argv[1]), World(MPI.COMM_WORLD), MPI.COMM_WORLD)
    folder = waves.WavesFolder(sys.argv[2])
    folder.path.mkdir(exist_ok=True)
    before = resident_bytes()
    reset_peak()
    open_outputs(s, folder)
    s.advance(s.steps)
    s.finish()
    print(peak_bytes() - before)
"""
    command = [sys.executable, "-c", program, str(path), str(path.with_name("grown"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


def test_samples_follow_from_what_the_sources_reach():
    assert sampling_steps(1.0, 5.0, 0.01) == 16  # 6 samples a second
    assert sampling_steps(1.0, 0.1, 0.01) == 50  # never fewer than two of the band's end
    assert sampling_steps(1.0, float("nan"), 0.01) == 10
    assert sampling_steps(100.0, 1.0, 0.01) == 1


WRONG = [
    (("band_hz = [0.5, 3.0]", "band_hz = [3.0, 0.5]"), "the lowest first"),
    (("band_hz = [0.5, 3.0]", "band_hz = [0.51, 0.52]"), "no multiple of spacing_hz = 0.25 Hz; allowed: a wider band"),
    (("band_hz = [0.5, 3.0]", "band_hz = [0.5]"), "a list of 2 numbers in [0, 1e+06] Hz, or []"),
    (("coarsen = 5", "coarsen = 0"), "a whole number in [1, 1000]"),
    (("coarsen = 5", "coarsen = 60"), "no point along x of every 60 cells"),
    (("coarsen = 5", "low_m = [3900, 0, 0]\nhigh_m = [3900, 3000, 3000]"), "no point along x of every 1 cells from low_m"),
    (("coarsen = 5", "high_m = [4000, 3900, 3000]"), "; allowed: inside the grid, up to"),
    (("coarsen = 5", "spacing_hz = 1e-9"), "2.5e+09 frequencies 1e-09 Hz apart; allowed: 100000 at most"),
    (("coarsen = 5", "spacing_hz = 1e-310"), "frequencies 1e-310 Hz apart; allowed: 100000 at most"),
    (("band_hz = [0.5, 3.0]", "band_hz = [0, 0]"), "the highest above 0"),
    (("coarsen = 5", "bits = 24"), "16 or 32"),
    (("every = 4\n\n[sgt]", "every = 21\n\n[sgt]"), "every = 21 steps, 0.168 s: too seldom for 3 Hz; allowed: at most 20"),
    (('["strain", "velocity"]', "[]"), "a list of one or more of strain, velocity"),
    (('["strain", "velocity"]', '["strain", "strain"]'), "a list of one or more of strain, velocity"),
    (("[sgt]", "[checkpoint]\nevery_steps = 50\n\n[sgt]"), "[spectra] with [checkpoint]; allowed: one of them"),
    (("[4000, 3800, 3200]", "[7200, 7200, 8100]\ncoarser_below_m = 1500"), "[spectra] with [grid] coarser_below_m"),
    (("[sgt]", "[topography]\nhill = [300, 500, 2000, 2000]\n\n[sgt]"), "[spectra] with [topography]"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), WRONG)
def test_what_is_wrong_is_one_line(tmp_path, change, words):
    path = write(tmp_path)
    path.write_text(changed(path.read_text(), change))
    told = craton("check", path, cwd=tmp_path)
    assert told.returncode == 2 and len(told.stderr.splitlines()) == 1, told.stderr
    assert words in told.stderr


def test_a_file_of_another_kind_is_refused(folder, tmp_path):
    with pytest.raises(UserError, match="no dataset spectra; allowed: what a run with"):
        read_spectra(folder.seismograms)
    with pytest.raises(UserError, match="no such file"):
        read_spectra(tmp_path / "none.h5")
    cut = tmp_path / "cut.h5"
    with h5py.File(folder.strain_spectra) as file, h5py.File(cut, "w") as other:
        for name in file:
            file.copy(name, other)
        del other["mu_Pa"]
        other["mu_Pa"] = np.ones(3)
    with pytest.raises(UserError, match="allowed"):
        read_spectra(cut)
