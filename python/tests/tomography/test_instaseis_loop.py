"""The loop with an outside solver, with Instaseis as the solver: another code's seismograms of a one-dimensional Earth.

The database (AxiSEM, prem_iso_light, no attenuation) has records of 1600 s, so paths are of 15 to 25 degrees. The data are made by
the mode sum, with both types of modes. What is divided out of the database's records makes g from outside differ from it by a few
percent.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import os
from pathlib import Path

import command_line
import h5py
import numpy as np
import pytest
from craton.tomography.data.data_file import load_observations
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.status import status as find_status
from helpers import OF_OPEN_MPI

MPI = pytest.importorskip("mpi4py.MPI")
instaseis = pytest.importorskip("instaseis", reason="the instaseis package is not installed")
pytest.importorskip("obspy")

from craton.tomography import start
from craton.tomography.outside.exchange import ExchangeFolder

SHARED = Path(os.environ.get("CRATON_SHARED", Path(__file__).resolve().parents[3].parent / "shared"))
DATABASE = SHARED / "data" / "instaseis_100s"
PROGRAM = Path(__file__).parents[1] / "programs" / "ended_inversion.py"
ENVIRONMENT = {**OF_OPEN_MPI, "OMPI_MCA_mpi_yield_when_idle": "1"}
RISE_S = 100.0 / 3.5
"""Of the database's source: a slip of (1 + erf(t / RISE_S)) / 2."""
DEEPEST_KM = 360.0
SHORTEST_S = 110.0
"""Periods below it are beyond the data's filter, and beyond the database."""


@pytest.fixture
def database():
    if not DATABASE.is_dir():
        pytest.skip(f"the database of Green's functions is not at {DATABASE} (set CRATON_SHARED)")
    return instaseis.open_db(str(DATABASE))


@pytest.fixture
def config(small_config, tmp_path):
    """One iteration, from the data of a one-dimensional Earth without attenuation; no source below the database's deepest."""
    lines = Path(small_config.events.file).read_text(encoding="utf-8").splitlines()
    head = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
    depth = lines[head].split(",").index("depth_km")
    kept = [line for line in lines[head + 1 :] if float(line.split(",")[depth]) < DEEPEST_KM]
    (tmp_path / "events.csv").write_text("\n".join([*lines[: head + 1], *kept]) + "\n", encoding="utf-8")
    made = (
        small_config.replaced("run", directory=str(tmp_path / "run"))
        .replaced("earth", model="prem_iso_light", dispersion=False, attenuation=False)
        .replaced("modes", shortest_period_s=120.0)
        .replaced("basis", lateral_level=2, radial=4)
        .replaced("events", file=str(tmp_path / "events.csv"))
        .replaced(
            "data", filter_periods_s=(300.0, 250.0, 150.0, 130.0), sample_interval_s=10.0, slowest_km_s=4.0, pad_s=50.0
        )
        .replaced("target", checkerboard_amplitude=0.0, plume_amplitude=0.0)
        .replaced("paths", min_distance_deg=15.0, max_distance_deg=25.0, maximum=20)
        .replaced("inversion", max_iterations=1)
        .replaced("synthetics", kind="wait", convolve=True)
        .replaced("theory", complete="always")
    )
    made = dataclasses.replace(made, path=tmp_path / "case.toml")
    made.path.write_text(made.to_toml(), encoding="utf-8")
    return made


def impulse_response(record, dt_s):
    """Displacement for a moment rate that is an impulse, below SHORTEST_S nothing: the Gaussian one is divided out."""
    padded = 4 * len(record)
    tapered = record * np.minimum(1.0, (np.arange(len(record), 0, -1) / (100.0 / dt_s)))
    frequency_hz = np.fft.rfftfreq(padded, dt_s)
    gaussian = np.exp(-((np.pi * frequency_hz * RISE_S) ** 2))
    low = 0.5 * (1.0 + np.cos(np.pi * np.clip((frequency_hz * SHORTEST_S - 1.0) / 0.15, 0.0, 1.0)))
    return np.fft.irfft(np.fft.rfft(tapered, padded) * low / gaussian, padded)[: len(record)]


def answer(folder, database):
    """What somebody does who has only Instaseis and the folder: sources, stations and windows in, text files out."""
    stations = {}
    for line in (folder.path / "STATIONS").read_text().splitlines():
        name, network, north, east, *_ = line.split()
        stations[f"{network}.{name}"] = float(north), float(east)
    wanted = {}
    with (folder.path / "windows.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            wanted.setdefault(row["event"], set()).add(row["station"])
    info = database.info
    for event, names in wanted.items():
        source = instaseis.Source.parse(str(folder.path / "sources" / f"CMTSOLUTION_{event}"))
        for name in names:
            north, east = stations[name]
            receiver = instaseis.Receiver(instaseis.helpers.elliptic_to_geocentric_latitude(north), east)
            found = database.get_seismograms(
                source, receiver, ("N", "E"), remove_source_shift=False, return_obspy_stream=False
            )
            for letter in "NE":
                motion = impulse_response(np.asarray(found[letter], float), info.dt)
                times = info.dt * np.arange(len(motion)) - info.src_shift
                place = folder.seismograms / event
                place.mkdir(parents=True, exist_ok=True)
                np.savetxt(place / f"{name}.LX{letter}.sem.ascii", np.column_stack([times, motion]), fmt="%.9g")
    (folder.path / "solver.txt").write_text("Instaseis, prem_iso_light, 100 s\n", encoding="utf-8")


@pytest.mark.long
def test_the_loop_with_instaseis(config, database, tmp_path, capsys):
    folder = RunFolder(config.run.directory)
    # killed while it waits; it still waits, and says for what
    done = command_line.program(PROGRAM, str(config.path), "awaiting", "1", **ENVIRONMENT)
    assert done.returncode == -9, done.stderr
    for _ in range(2):
        found = find_status(folder.path)
        assert (found.state, found.phase) == ("awaiting", "synthetics")
        assert "seismograms of" in found.rows["awaits"] and str(folder.path) in found.rows["awaits"]
        assert not start.resume(folder.path, None, MPI.COMM_SELF, report=False).finished
    record = None
    for number in range(1, 8):
        place = ExchangeFolder(folder.path / "synthetics" / str(number))
        assert place.ready
        answer(place, database)
        record = start.resume(folder.path, None, MPI.COMM_SELF, report=False)
        if record.finished:
            break
    assert record is not None and record.finished
    assert record.synthetics.startswith("files from outside; derivatives of modes, pava")
    assert record.solver == "Instaseis, prem_iso_light, 100 s"
    # g of the reference Earth beside the mode sum's: the theories' difference
    data = load_observations(folder.data)
    own = start.run(
        config.replaced("synthetics", kind="modes").replaced("run", directory=str(tmp_path / "own")),
        MPI.COMM_SELF,
        report=False,
    )
    theirs = ExchangeFolder(folder.path / "synthetics" / "1").load()
    with h5py.File(RunFolder(tmp_path / "own").path / "data.h5") as file:
        assert np.array_equal(file["observed"], data.observed)
    ours = np.asarray(RunFolder(tmp_path / "own").read_model()["waveforms/initial"], float)
    correlation = float(theirs @ ours / np.sqrt((theirs @ theirs) * (ours @ ours)))
    amplitude = float(np.sqrt((theirs @ theirs) / (ours @ ours)))
    white = data.whitened(theirs - ours)
    apart, samples = float(white @ white) / len(white), len(white)
    fit, own_fit = (2.0 * one.iterations[0].chi_data / samples for one in (record, own))
    with capsys.disabled():
        print(
            f"\n{len(data.paths)} paths: correlation {correlation:.5f}, amplitude {amplitude:.4f}; 2 chi/N {fit:.3f} from outside, "
            f"{own_fit:.3f} of the mode sum, difference of the theories alone {apart:.3f}"
        )
    assert correlation > 0.99 and abs(amplitude - 1.0) < 0.05
    assert fit == pytest.approx(own_fit + apart, rel=0.1)
    assert json.loads((folder.path / "record.json").read_text())["finished"]
