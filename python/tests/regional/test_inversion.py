"""A small inversion from its configuration to its report: what it finds, that ranks agree, that kills cost nothing."""

from __future__ import annotations

import json
import shutil

import h5py
import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

import command_line
from craton import regional
from craton.regional.folder import RegionalFolder
from craton.runs.files import read_hdf5
from hazard_pipeline import kill_when
from helpers import command_of
from regional_config import written

KEPT = ("[inversion]\n", "[run]\nkeep_spectra = true\nstep_ranks = 1\n[inversion]\nkeep_hessian = true\n")


def craton(*words, cwd, seconds=300):
    done = command_line.craton("regional", *words, cwd=cwd, seconds=seconds)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that kept its spectra, with a report."""
    place = tmp_path_factory.mktemp("regional")
    craton("run", written(place, KEPT), cwd=place)
    return place


def test_it_finds_what_made_the_data(whole):
    results = regional.read_results(whole / "small-run")
    record = results.record
    print([f"{2 * one.chi_data / record.samples:.3f}" for one in record.iterations], record.correlation)
    assert record.finished and len(record.iterations) >= 2
    assert results.fit(results.first) > 5.0 and results.fit(results.last) < 0.3 * results.fit(results.first)
    assert -0.2 < results.field("vs", [[12000.0, 11000.0, 3000.0]])[0] < -0.02
    assert results.resolution.min() > -1e-6 and results.resolution.max() < 1.0
    assert results.deviation.max() <= 0.05 * 1.001 and results.deviation.min() > 0
    # what is predicted is what the folder's wave runs say; equation 1 falls
    assert record.reciprocity < 1e-3
    totals = [one.chi_data + one.chi_prior for one in record.iterations]
    assert all(a > b for a, b in zip(totals, totals[1:], strict=False))


def test_the_report_and_the_status_say_so(whole):
    page = (whole / "small-run" / "report.html").read_text()
    for words in ("A test of the method", "hatched", "2 χ / N", "resolution", "craton regional report"):
        assert words in page, words
    found = json.loads(craton("status", "small-run", "--json", cwd=whole).stdout)
    assert found["state"] == "finished"
    assert set(regional.figures(whole / "small-run")) == {"misfit", "slices-vs", "sections-vs", "resolution-vs", "fits"}


def hessian_of(folder, *options):
    """What `craton regional step` makes of the first model's wave runs: the Hessian, and the step."""
    state = RegionalFolder(folder).state(0)
    state.step.unlink(missing_ok=True)
    state.hessian.unlink(missing_ok=True)
    craton("step", folder, 0, *options, cwd=folder.parent)
    with h5py.File(state.hessian) as file:
        found = file["hessian"][()]
    return found, read_hdf5(state.step)


LONG = pytest.mark.long


@pytest.mark.parametrize(
    "options",
    [("--ranks", 2), pytest.param(("--ranks", 4), marks=LONG), ("--ranks", 3, "--ranks-per-node", 1)],
    ids=str,
)
def test_ranks_and_deliveries_agree(whole, tmp_path, options):
    shutil.copytree(whole / "small-run", tmp_path / "run")
    one, alone = hessian_of(tmp_path / "run")
    several, together = hessian_of(tmp_path / "run", *options)
    assert np.abs(several - one).max() <= 1e-5 * np.abs(one).max()
    assert np.abs(together["step"] - alone["step"]).max() <= 1e-5 * np.abs(alone["step"]).max()
    assert np.allclose(together["gradient"], alone["gradient"], rtol=1e-5, atol=1e-5 * np.abs(alone["gradient"]).max())


def test_a_finished_run_is_left_as_it_is(whole):
    before = (whole / "small-run" / "model.h5").stat().st_mtime_ns
    states = sorted((whole / "small-run" / "states").rglob("record.json"))
    times = [path.stat().st_mtime_ns for path in states]
    craton("resume", "small-run", cwd=whole)
    assert [path.stat().st_mtime_ns for path in states] == times
    assert (whole / "small-run" / "model.h5").stat().st_mtime_ns >= before


PHASES = {
    "data": "target/events/one/record.json",
    "earthquakes": "states/000/events/one/record.json",
    "stations": "states/000/stations/A-x/record.json",
    "step": "states/000/step.log",
    "trial": "states/001/ground.h5",
    "second": "states/001/stations/A-z/record.json",
}


@pytest.mark.parametrize(
    "reached", [pytest.param(at, marks=[LONG] * (name != "step")) for name, at in PHASES.items()], ids=PHASES.keys()
)
def test_a_run_that_was_killed_goes_on_to_the_same_model(whole, tmp_path, reached):
    config = written(tmp_path, ("[inversion]\n", "[run]\nstep_ranks = 1\n[inversion]\n"))
    words = command_of("regional", "run", config, "--no-report")
    run = tmp_path / "small-run"
    kill_when(words, tmp_path, (run / reached).is_file)
    assert not (run / "record.json").is_file() or not json.loads((run / "record.json").read_text())["finished"]
    craton("resume", run, "--no-report", cwd=tmp_path)
    here, there = (read_hdf5(RegionalFolder(at).model)["change"] for at in (run, whole / "small-run"))
    print(f"{np.abs(here - there).max() / np.abs(there).max():.1e} of the largest change")
    assert np.abs(here - there).max() <= 1e-6 * np.abs(there).max()
    assert not list(run.rglob("spectra-*.h5"))


@LONG
def test_what_a_wave_run_refuses_is_said_and_the_rest_is_kept(tmp_path):
    """Spectra are a file that somebody has cut short."""
    config = written(tmp_path)
    words = command_of("regional", "run", config, "--no-report")
    run = tmp_path / "small-run"
    kill_when(words, tmp_path, (run / "states/000/stations/A-x/record.json").is_file)
    spectra = run / "states/000/stations/A-x/spectra-strain.h5"
    spectra.write_bytes(spectra.read_bytes()[:-1000])
    done = command_line.craton("regional", "resume", run, "--no-report", cwd=tmp_path, seconds=300)
    assert done.returncode == 2 and "spectra-strain.h5" in done.stderr and "allowed" in done.stderr
    assert done.stderr.strip().count("\n") == 0
    spectra.unlink()  # the run whose spectra are gone is done again
    craton("resume", run, "--no-report", cwd=tmp_path)


def test_data_of_another_place_may_be_given(whole, tmp_path):
    """The folders of the target's wave runs as records."""
    shutil.copytree(whole / "small-run" / "target" / "events", tmp_path / "records")
    text = (whole / "small.toml").read_text()
    text = text[: text.index("[[perturbation]]")].replace("[data]", f'[data]\nfolder = "{tmp_path / "records"}"')
    (tmp_path / "own.toml").write_text(text.replace("iterations = 2", "iterations = 1"))
    craton("run", "own.toml", "--no-report", cwd=tmp_path)
    record = RegionalFolder(tmp_path / "own-run").read_record()
    assert record.correlation is None and record.fit < 5.0
    shutil.rmtree(tmp_path / "records" / "two")
    shutil.rmtree(tmp_path / "own-run")
    done = command_line.craton("regional", "run", "own.toml", cwd=tmp_path)
    assert done.returncode == 2 and "two" in done.stderr and "allowed" in done.stderr


@LONG
def test_stations_may_predict(whole, tmp_path):
    """By reciprocity: the same models within what the wave runs are right to."""
    config = written(tmp_path, ("iterations = 2", 'iterations = 1\npredicted_by = "stations"'))
    craton("run", config, cwd=tmp_path)
    by_stations = RegionalFolder(tmp_path / "small-run")
    first = [RegionalFolder(at).read_record().iterations[0].chi_data for at in (by_stations.path, whole / "small-run")]
    steps = [read_hdf5(RegionalFolder(at).state(0).step)["step"] for at in (by_stations.path, whole / "small-run")]
    print(first, np.abs(steps[0] - steps[1]).max() / np.abs(steps[1]).max())
    assert abs(first[0] / first[1] - 1) < 0.02
    assert np.abs(steps[0] - steps[1]).max() < 0.05 * np.abs(steps[1]).max()
