"""`--json` of commands that draw, write or list: one JSON object, with the files that were written and the numbers in them."""

import csv
import json
from pathlib import Path

import pytest

MPI = pytest.importorskip("mpi4py.MPI")

from craton.commands import main as cli
from craton.tomography import start
from craton.tomography.results import read_results


@pytest.fixture(scope="module")
def run(small_config, tmp_path_factory):
    """The folder of a run of one iteration."""
    place = tmp_path_factory.mktemp("json") / "run"
    config = small_config.replaced("run", directory=str(place)).replaced("inversion", max_iterations=1)
    start.run(config.replaced("paths", maximum=40), MPI.COMM_SELF, report=False)
    return place


@pytest.fixture
def told(capsys):
    """Calls a command with --json; returns the object on standard output, of whose files all are there."""

    def call(*words):
        capsys.readouterr()
        assert cli.invoke(["tomography", *map(str, words), "--json"]) == 0
        found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        assert isinstance(found, dict) and all(Path(file).stat().st_size for file in found.get("files", ()))
        return found

    return call


def test_maps_and_sections(run, told, tmp_path):
    found = told("slice", run, "--depth", "100,300", "-o", tmp_path / "maps.csv")
    assert found["files"] == [str(tmp_path / "maps.csv")] and found["model"].endswith("final model")
    assert [(one["parameter"], one["depth_km"]) for one in found["fields"]] == [("dlnVs", 100.0), ("dlnVs", 300.0)]
    with (tmp_path / "maps.csv").open() as stream:
        drawn = [float(row["percent"]) for row in csv.DictReader(stream) if float(row["depth_km"]) == 300.0]
    assert found["fields"][1]["least_percent"] == pytest.approx(min(drawn))
    assert found["fields"][1]["greatest_percent"] == pytest.approx(max(drawn))
    found = told("section", run, "--from", "0,0", "--to", "0,90", "--iteration", "0")
    assert found["files"] == [str(run / "section.png")] and "90°" in found["section"]
    assert len(found["fields"]) == 91 and all(one["greatest_percent"] == 0.0 for one in found["fields"])


def test_curves(run, told):
    found = told("profile", run, "--at", "10,20")
    columns = found["columns"]
    assert found["files"] == [str(run / "profile.png")] and set(columns["latitude_deg"]) == {10.0}
    assert len(columns["depth_km"]) == len(columns["dlnVs_percent"]) == len(columns["vs_km_s"])
    table = read_results(run).observations.paths
    event, station = table.events.name[table.event[0]], table.stations.name[table.station[0]]
    found = told("fit", run, "--path", f"{event},{station}")
    assert found["path"] == f"path 0 (event {event}, station {station})"
    assert len(found["columns"]["time_s"]) == len(found["columns"]["observed_m"])


def test_exported_models(run, told, tmp_path):
    found = told("export", run, "--step", "30", "--depth-step", "500", "-o", tmp_path / "model.vtu")
    assert found["longitude_deg"][0] == -180.0 and found["depth_km"][-1] == pytest.approx(2891.0)
    assert found["variables"]["dvs"]["units"] == "percent"
    assert 0.0 < found["variables"]["vs"]["least"] < found["variables"]["vs"]["greatest"] < 10.0


def test_other_priors(run, told, tmp_path):
    found = told("solve", run, "--prior", "strength=0.01", "--directory", tmp_path / "solved")
    assert len(found["files"]) == 3 and [one["prior"]["strength"] for one in found["solutions"]] == [0.01]
    found = told("strength", run, "--strengths", "0.01,0.02,0.04", "--directory", tmp_path / "strength")
    assert len(found["files"]) == 2 and [one["strength"] for one in found["trials"]] == [0.01, 0.02, 0.04]
    found = told("posterior", run, "--directory", tmp_path / "posterior")
    assert str(tmp_path / "posterior" / "posterior.h5") in found["files"] and found["resolved"] > 0


def test_modes_and_kernels(told, tmp_path):
    found = told("modes", "--shortest-period", "1000", "--csv", tmp_path / "modes.csv", "--cache", tmp_path)
    by_name = {one["name"]: one for one in found["modes"]}
    assert by_name["0S2"]["period_s"] == pytest.approx(1e3 / by_name["0S2"]["frequency_mHz"])
    assert by_name["0S0"]["phase_velocity_km_s"] is None and by_name["0T2"]["phase_velocity_km_s"] > 0
    words = ("--periods", "1000,600,300,250", "--times", "1500", "--theory", "pava", "--cache", tmp_path)
    found = told("kernel", "-o", tmp_path / "kernel.png", *words)
    (kernel,) = found["kernels"]
    assert kernel["theory"] == "pava" and kernel["times"][0]["time_s"] == pytest.approx(1500.0, abs=5.0)
    assert kernel["times"][0]["least_m_per_km_deg"] < kernel["times"][0]["greatest_m_per_km_deg"]
    assert len(found["seismogram"]["time_s"]) == len(found["seismogram"]["displacement_m"])


def test_observed_data(told, tmp_path):
    pytest.importorskip("obspy")
    from waveform_files import OKHOTSK, okhotsk_files

    folder = okhotsk_files(tmp_path)
    (folder / "okhotsk.toml").write_text(OKHOTSK)
    found = told("data", "check", folder / "okhotsk.toml")
    assert len(found["earthquakes"]) == 1 and "TA.POKR" in found["stations"] and found["channels_with_response"] > 0
    words = ("--directory", tmp_path / "out", "--no-pictures")
    found = told("data", "windows", folder / "okhotsk.toml", *words)
    assert str(tmp_path / "out" / "data.h5") in found["files"] and found["accepted"] == 4
    assert sum(one["count"] for one in found["left_out"]) >= found["rejected"]


def test_fetched_data(told, tmp_path, monkeypatch):
    pytest.importorskip("obspy")
    from craton.tomography.waveforms.records import fetch

    def fetched(config, _console):
        place = fetch.FetchFolder(config.fetch.directory)
        for file in (place.events, place.waveforms("A", "II.KDAK")):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("as the server gave it")
        return fetch.Fetched(earthquakes=1, stations=1, new=1)

    monkeypatch.setattr(fetch, "fetch", fetched)
    (tmp_path / "data.toml").write_text("")
    found = told("data", "fetch", tmp_path / "data.toml", "--directory", tmp_path / "fetched")
    assert [Path(file).name for file in found["files"]] == ["events.xml", "II.KDAK.mseed"]
    assert (found["earthquakes"], found["new"], found["failed"]) == (1, 1, 0)
