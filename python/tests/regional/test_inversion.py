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
from craton.regional.study import Study
from craton.runs.files import read_hdf5
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.setup import Setup
from hazard_pipeline import kill_when
from helpers import command_of
from regional_config import written

LONG = pytest.mark.long
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


def test_wave_runs_of_all_models_have_the_sides_of_the_first(whole):
    """Sides that followed the ground would send back something else, and kernels do not know of it."""
    configs = [load_config(path) for path in sorted((whole / "small-run").glob("states/*/*/*.toml"))]
    sides = {(one.boundary.damping_speed_m_s, one.boundary.frequency_shift_per_s) for one in configs}
    first = Study(regional.load_config(whole / "small.toml"))
    assert len(configs) == 14 and sides == {tuple(first.setup.sides_of_ground)}
    grounds = {round(Setup(one).range.slowest_vs, 1) for one in configs}
    assert len(grounds) == 3


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
    run = whole / "small-run"
    files = [run / "model.h5", run / "record.json", *sorted((run / "states").rglob("record.json"))]
    before = [path.stat().st_mtime_ns for path in files]
    assert "its run has finished" in craton("resume", "small-run", cwd=whole).stdout
    assert [path.stat().st_mtime_ns for path in files] == before


def test_a_model_that_was_deleted_is_made_again(whole, tmp_path):
    """From the states' files: no wave run is done again, and the table is the same."""
    shutil.copytree(whole / "small-run", tmp_path / "run")
    folder = RegionalFolder(tmp_path / "run")
    before, table = read_hdf5(folder.model)["change"], folder.read_record().iterations
    times = [path.stat().st_mtime_ns for path in sorted(folder.states.rglob("record.json"))]
    folder.model.unlink()
    craton("resume", folder.path, cwd=tmp_path)
    assert np.array_equal(read_hdf5(folder.model)["change"], before)
    assert folder.read_record().iterations == table and [one.simulations for one in table] == [2, 8, 14]
    assert [path.stat().st_mtime_ns for path in sorted(folder.states.rglob("record.json"))] == times


@LONG
def test_names_with_dots_and_a_coarser_lattice(tmp_path):
    """Stations of a network, as StationXML names them, on two cores; every second cell, with stations on the surface."""
    config = written(
        tmp_path,
        ('["A", ', '["XX.A", '),
        ('["B", ', '["XX.B", '),
        ('name = "one"', 'name = "2019.07.one"'),
        ('name = "two"', 'name = "2019.07.two"'),
        ("iterations = 2", "iterations = 1"),
        ("spacing_m = [2000.0, 2000.0, 2000.0]", "spacing_m = [2000.0, 2000.0, 2000.0]\ncoarsen = 2"),
    )
    craton("run", config, cwd=tmp_path)
    state = RegionalFolder(tmp_path / "small-run").state(0)
    assert len(list((state.path / "stations").glob("*.toml"))) == 4
    assert RegionalFolder(tmp_path / "small-run").read_record().fit < 5.0


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
    tables = [RegionalFolder(at).read_record().iterations for at in (run, whole / "small-run")]
    assert [one.simulations for one in tables[0]] == [one.simulations for one in tables[1]]
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


def own(whole, place, *more):
    """A configuration whose data are in the folder records."""
    text = (whole / "small.toml").read_text()
    text = text[: text.index("[[perturbation]]")].replace("[data]", '[data]\nfolder = "records"')
    for old, new in (("iterations = 2", "iterations = 1"), *more):
        assert old in text
        text = text.replace(old, new)
    (place / "own.toml").write_text(text)
    return place / "own.toml"


def test_data_of_ones_own(whole, tmp_path):
    """The folders of the target's wave runs as records; then one that lacks a station, and none at all."""
    shutil.copytree(whole / "small-run" / "target" / "events", tmp_path / "records")
    (tmp_path / "elsewhere").mkdir()  # the folder is relative to the configuration
    craton("run", own(whole, tmp_path), "--directory", tmp_path / "own-run", cwd=tmp_path / "elsewhere")
    record = RegionalFolder(tmp_path / "own-run").read_record()
    assert record.correlation is None and record.fit < 5.0 and record.windows == 8
    assert "A test of the method" not in (tmp_path / "own-run" / "report.html").read_text()
    table = tmp_path / "records" / "two" / "stations.csv"
    table.write_text(table.read_text().replace("\nB,", "\nBB,"))
    craton("run", "own.toml", "--overwrite", cwd=tmp_path)
    assert RegionalFolder(tmp_path / "own-run").read_record().windows == 6
    shutil.rmtree(tmp_path / "records" / "two")
    done = command_line.craton("regional", "run", "own.toml", "--overwrite", cwd=tmp_path)
    assert done.returncode == 2 and "nothing of [[event]] two; allowed: two.mseed" in done.stderr


def test_data_in_files_of_obspy(whole, tmp_path):
    """MiniSEED of the same runs: the same data. Then without the time of an earthquake, and a file that is none."""
    obspy = pytest.importorskip("obspy")
    (tmp_path / "records").mkdir()
    for name in ("one", "two"):
        run = whole / "small-run" / "target" / "events" / name
        to = tmp_path / "records" / f"{name}.mseed"
        done = command_line.craton("waves", "export", run, "--format", "mseed", "--output", to, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert {trace.stats.channel[-1] for trace in obspy.read(str(tmp_path / "records" / "one.mseed"))} == {"Z", "N", "E"}
    times = [(f'name = "{name}"', f'name = "{name}"\ntime_utc = "1970-01-01T00:00:07.2"') for name in ("one", "two")]
    craton("run", own(whole, tmp_path, *times), "--no-report", cwd=tmp_path)
    shutil.copytree(whole / "small-run" / "target" / "events", tmp_path / "other" / "records")
    craton("run", own(whole, tmp_path / "other"), "--no-report", cwd=tmp_path / "other")
    ours, theirs = (read_hdf5(RegionalFolder(at / "own-run").data)["observed"] for at in (tmp_path, tmp_path / "other"))
    assert np.abs(ours - theirs).max() < 1e-3 * np.abs(theirs).max()
    done = command_line.craton("regional", "run", own(whole, tmp_path), "--overwrite", cwd=tmp_path)
    assert done.returncode == 2 and "with time_utc" in done.stderr
    (tmp_path / "records" / "one.mseed").write_text("no seismogram")
    done = command_line.craton("regional", "run", own(whole, tmp_path, *times), "--overwrite", cwd=tmp_path)
    assert done.returncode == 2 and "one.mseed" in done.stderr and done.stderr.strip().count("\n") == 0


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
