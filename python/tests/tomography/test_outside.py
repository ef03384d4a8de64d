"""g(m) from a solver that is not the inversion's: started as a command, or waited for. The solver is the example's."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import command_line
import h5py
import numpy as np
import pytest
from craton import UserError
from craton.tasks.marked import run_marked
from helpers import OF_OPEN_MPI, environment_without_mpi
from parsl_here import configuration

MPI = pytest.importorskip("mpi4py.MPI")
pytest.importorskip("obspy")

from craton.tomography import start as inversion
from craton.tomography.data.catalogue import Events, Stations, read_events
from craton.tomography.data.corrections import Corrections
from craton.tomography.data.data_file import load_observations
from craton.tomography.data.paths import PathTable
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.context import RunContext
from craton.tomography.inversion.forward import ModeTheory
from craton.tomography.inversion.status import status as find_status
from craton.tomography.outside.exchange import ExchangeFolder, check_names, check_times, cmtsolution
from craton.tomography.outside.reading import read_windows
from craton.tomography.posterior.strength import choose_strength
from craton.tomography.report.page import statement
from craton.tomography.results import read_results
from craton.tomography.stored.run import read_data, read_problem

SOLVER = Path(__file__).parents[3] / "examples" / "global" / "solver.py"
OPTIONS = "--theory pava --period 200 --level 2 --radial 4"
COMMAND = f"{{python}} {SOLVER} {{folder}} {OPTIONS}"


@pytest.fixture
def config(small_config, tmp_path):
    """42 x 4 parameters, T > 200 s, 20 paths of three earthquakes and one iteration, with a file of its own."""
    return tiny(small_config, tmp_path)


def tiny(small_config, folder):
    config = (
        small_config.replaced("run", directory=str(folder / "run"))
        .replaced("data", filter_periods_s=(600.0, 400.0, 250.0, 200.0), sample_interval_s=20.0)
        .replaced("modes", shortest_period_s=200.0)
        .replaced("basis", lateral_level=2, radial=4)
        .replaced("target", checkerboard_degree=3)
        .replaced("events", maximum=3)
        .replaced("paths", maximum=20)
        .replaced("inversion", max_iterations=1)
    )
    return dataclasses.replace(config, path=folder / "hybrid.toml")


def run(config, **more):
    config.path.write_text(config.to_toml(), encoding="utf-8")
    return inversion.run(config, MPI.COMM_SELF, report=False, **more)


def commanded(config):
    return config.replaced("synthetics", kind="command", command=COMMAND)


def test_a_command_of_the_same_theory_finds_the_same_model(config, tmp_path, monkeypatch):
    lines = []
    monkeypatch.setattr(RunContext, "say", lambda _, text: lines.append(text))
    own = run(config.replaced("run", directory=str(tmp_path / "own")))
    found = run(commanded(config))
    recoveries = [
        line for line in lines if line.startswith("correlation of the recovered dlnVs with the filtered target: 0.")
    ]
    sums = "path-average mode sums"
    assert [line.partition(" (")[2] for line in recoveries] == [
        f"data by {sums}; inverted by {sums})",
        f"data by {sums}; inverted by an outside solver (Craton's modes, pava), with derivatives of {sums})",
    ]
    assert found.finished and found.synthetics.startswith("command: ") and own.synthetics == "modes, pava"
    assert (found.solver, own.solver) == ("Craton's modes, pava", "")
    assert json.loads(RunFolder(config.run.directory).record.read_text())["solver"] == found.solver
    assert (
        "an outside solver's (Craton's modes, pava)." in statement(read_results(RunFolder(config.run.directory))).text
    )
    assert "outside" not in statement(read_results(RunFolder(tmp_path / "own"))).text
    folder = RunFolder(config.run.directory)
    models, expected = folder.read_model()["models"], RunFolder(tmp_path / "own").read_model()["models"]
    assert np.linalg.norm(models[1] - expected[1]) < 0.15 * np.linalg.norm(expected[1])  # found: 0.11, of a few paths
    for mine, theirs in zip(found.iterations, own.iterations, strict=True):
        assert mine.chi_data == pytest.approx(theirs.chi_data, rel=0.15)  # 2% of g beside a noise of 10%
        assert mine.variance_reduction == pytest.approx(theirs.variance_reduction, abs=0.003)
    # Seismograms of one theory, through grids, files and a filter. What differs is the filter: a decaying oscillation has no single
    # frequency, and the mode sum weighs it as if it had.
    problem = read_problem(folder.hessian, MPI.COMM_SELF)
    theory = read_data(problem).theory(problem.world)
    for number, model in enumerate(models, 1):
        with h5py.File(folder.path / "synthetics" / str(number) / "g.h5") as file:
            g, solver = file["g"][:], file.attrs["solver"]
        assert solver == "Craton's modes, pava"
        exact = theory.seismograms(model)
        assert np.linalg.norm(g - exact) < 0.06 * np.linalg.norm(exact)  # less in wider bands: docs/hybrid.md
    assert folder.read_model()["waveforms/final"] == pytest.approx(g, rel=1e-5, abs=1e-12)


def test_earthquakes_are_corrected_for_the_solver_too(config, tmp_path):
    """Sources, times and gains that the inversion has found are in what the solver gets, and in what is read of its files."""
    spoilt = config.replaced("target", wrong_origin_time_s=4.0, wrong_moment_tensor=0.2, wrong_station_gain=0.2)
    spoilt = spoilt.replaced("corrections", origin_time_s=4.0, moment_tensor=0.2, centroid_km=5.0, station_gain=0.2)
    own = run(spoilt.replaced("run", directory=str(tmp_path / "own")))
    found = run(commanded(spoilt))
    assert found.iterations[1].variance_reduction > found.iterations[0].variance_reduction + 0.01
    for mine, theirs in zip(found.iterations, own.iterations, strict=True):
        assert mine.variance_reduction == pytest.approx(theirs.variance_reduction, abs=0.005)
    folder = RunFolder(config.run.directory)
    event = read_events(folder.earthquakes).name[0]
    sources = [folder.path / "synthetics" / number / "sources" / f"CMTSOLUTION_{event}" for number in "12"]
    assert sources[0].read_text() != sources[1].read_text()
    problem = read_problem(folder.hessian, MPI.COMM_SELF)
    data = read_data(problem)
    with h5py.File(folder.path / "synthetics" / "2" / "coefficients.h5") as file:
        model = file["model"][:]
    corrections = Corrections(data.observations.paths, spoilt.corrections)
    assert len(model) == problem.basis.size + corrections.size
    with h5py.File(folder.path / "synthetics" / "2" / "g.h5") as file:
        g = file["g"][:]
    observed = load_observations(folder.data)
    theory = ModeTheory(
        data.forward,
        observed,
        problem.world,
        MPI.COMM_SELF,
        config.assembly,
        Corrections(observed.paths, spoilt.corrections),
    )
    exact = theory.seismograms(model)
    assert np.linalg.norm(g - exact) < 0.06 * np.linalg.norm(exact)


def test_data_of_a_richer_theory(config):
    """The target's seismograms by coupled branches; by path averages they are others."""
    observed = {}
    for theory in ("", "nact"):
        here = config.replaced("target", theory=theory).replaced("run", directory=f"{config.run.directory}-{theory}")
        run(here)
        with h5py.File(RunFolder(here.run.directory).data) as file:
            observed[theory], origin = file["observed"][:], file.attrs["origin"]
    difference = np.linalg.norm(observed["nact"] - observed[""]) / np.linalg.norm(observed[""])
    assert 0.01 < difference < 1.0 and "nact" in origin


def test_a_run_waits_and_is_resumed(config, tmp_path, capsys):
    other = run(commanded(config.replaced("run", directory=str(tmp_path / "other"))))
    waiting = config.replaced("synthetics", kind="wait")
    record = run(waiting)
    folder = RunFolder(config.run.directory)
    assert not record.finished and not folder.model.exists()
    found = find_status(folder.path)
    assert (found.state, found.phase) == ("awaiting", "synthetics")
    assert "awaiting seismograms of" in found.rows["awaits"] and str(folder.path) in found.rows["awaits"]
    text = command_line.craton("tomography", "status", str(folder.path), COLUMNS="300")
    assert "awaiting seismograms" in text.stdout and f"craton tomography resume {folder.path}" in text.stdout
    again = inversion.resume(folder.path, None, MPI.COMM_SELF, report=False)  # nothing has come
    assert not again.finished and find_status(folder.path).state == "awaiting"
    for number in (1, 2):
        theirs = tmp_path / "other" / "synthetics" / str(number) / "seismograms"
        for name in ("model.csv", "STATIONS", "windows.csv"):
            mine = (folder.path / "synthetics" / str(number) / name).read_text()
            if name != "model.csv" or number == 1:
                assert mine == (theirs.parent / name).read_text()
        shutil.copytree(theirs, folder.path / "synthetics" / str(number) / "seismograms", dirs_exist_ok=True)
        (folder.path / "synthetics" / str(number) / "solver.txt").write_text(f"SOLVER 1.{number}\n")
        record = inversion.resume(folder.path, None, MPI.COMM_SELF, report=False)
    assert record.finished and record.iterations[-1].chi_data == pytest.approx(other.iterations[-1].chi_data, rel=1e-6)
    assert record.solver == folder.read_record().solver == "SOLVER 1.1; SOLVER 1.2"
    assert [session.at for session in record.sessions][:2] == ["", "iteration 1 of at most 1, synthetics"]


@pytest.fixture(scope="module")
def answered(small_config, tmp_path_factory):
    """A run that waits, and its exchange folder with the solver's files."""
    config = tiny(small_config, tmp_path_factory.mktemp("answered"))
    run(config.replaced("synthetics", kind="wait"))
    folder = ExchangeFolder(Path(config.run.directory) / "synthetics" / "1")
    done = command_line.program(SOLVER, str(folder.path), *OPTIONS.split())
    assert done.returncode == 0, done.stderr
    return config, folder


def asdf_of(folder, events):
    """Each event's text files as one ASDF file, with absolute times."""
    for place in sorted(folder.iterdir()):
        files = sorted(place.glob("*.sem.ascii"))
        origin = events.origin_time[list(events.name).index(place.name)]
        with h5py.File(place / "synthetic.h5", "w") as out:
            out.attrs["file_format"] = "ASDF"
            for file in files:
                network, station, channel, *_ = file.name.split(".")
                table = np.loadtxt(file)
                of = f"{network}.{station}"
                name = f"Waveforms/{of}/{of}..{channel}__2018-01-01T00:00:00__2018-01-01T01:00:00__synthetic"
                trace = out.create_dataset(name, data=table[:, 1].astype(np.float32))
                start = np.datetime64(origin.rstrip("Z"), "ns").astype(np.int64) + round(1e9 * table[0, 0])
                trace.attrs["starttime"], trace.attrs["sampling_rate"] = start, 1.0 / (table[1, 0] - table[0, 0])
            out.create_dataset("Waveforms/XX.NONE/StationXML", data=np.zeros(3, np.uint8))
        for file in files:
            file.unlink()


def test_asdf_is_read_as_text_is(answered, tmp_path):
    config, folder = answered
    observations = load_observations(RunFolder(config.run.directory).data)
    expected = read_windows(folder, observations.paths, config)
    copy = ExchangeFolder(tmp_path / "asdf")
    shutil.copytree(folder.path, copy.path)
    asdf_of(copy.seismograms, observations.paths.events)
    found = read_windows(copy, observations.paths, config)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    [file, *_] = sorted(copy.seismograms.glob("*/synthetic.h5"))
    with h5py.File(file, "r+") as held:
        station = next(iter(held["Waveforms"].values()))
        for trace in station.values():
            del trace.attrs["sampling_rate"]
    with pytest.raises(
        UserError, match=r"synthetic.h5: Waveforms/.*: not a trace with starttime and sampling_rate; allowed: ASDF"
    ):
        read_windows(copy, observations.paths, config)
    file.write_bytes(b"no HDF5")
    with pytest.raises(UserError, match=r"synthetic.h5: not a complete HDF5 file \(.*; allowed: ASDF"):
        read_windows(copy, observations.paths, config)


def rows(file, change):
    table = np.loadtxt(file)
    np.savetxt(file, change(table), fmt="%.9g")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda file: file.unlink(), "no T seismogram for path"),
        (lambda file: rows(file, lambda table: table[:100]), "no T seismogram for path"),
        (
            lambda file: rows(file, lambda table: np.where(np.arange(2) == 1, np.nan, table)),
            "holds samples that are not finite",
        ),
        (lambda file: rows(file, lambda table: table[::12]), "samples every 120 s; allowed: 100 s"),
        (lambda file: rows(file, lambda table: table + [1e7, 0.0]), "no T seismogram for path"),
        (lambda file: file.write_text("<html>not found</html>\n"), "two columns"),
    ],
    ids=["missing", "short", "not a number", "sampling", "of another time", "another file"],
)
def test_seismograms_that_are_not_right_are_named(answered, change, words):
    config, folder = answered
    observations = load_observations(RunFolder(config.run.directory).data)
    whole = read_windows(folder, observations.paths, config)
    file = sorted(folder.seismograms.glob("*/*.sem.ascii"))[0]
    kept = file.read_bytes()
    change(file)
    try:
        with pytest.raises(UserError) as problem:
            read_windows(folder, observations.paths, config)
    finally:
        file.write_bytes(kept)
    text = str(problem.value)
    assert words in text and "\n" not in text and (file.name in text or file.parent.name in text)
    np.testing.assert_array_equal(read_windows(folder, observations.paths, config), whole)


@pytest.mark.parametrize(
    ("date_s", "header", "refused"),
    [
        (0.0, {}, ""),  # as SPECFEM3D_GLOBE writes it: the centroid time, o = 0
        (-600.0, {"o": 600.0}, ""),  # counted from ten minutes before
        (50.0, {}, ""),  # a hypocentre's time
        (86400.0, {}, "one day"),
        (-600.0, {}, "ten minutes"),
        (0.0, {"o": 7200.0}, "two hours"),
        (86400.0, {"nzyear": None}, ""),
        (86400.0, {name: None for name in ("nzyear", "nzjday", "nzhour", "nzmin", "nzsec", "nzmsec")}, ""),
        (86400.0, {"nzyear": 0, "nzjday": 1, "nzhour": 0, "nzmin": 0, "nzsec": 0, "nzmsec": 0}, ""),
        (86400.0, {"nzyear": 1970, "nzjday": 1, "nzhour": 0, "nzmin": 0, "nzsec": 0, "nzmsec": 0}, ""),
    ],
    ids=[
        "centroid", "from earlier", "hypocentre", "a day later", "ten minutes earlier", "two hours later", "without a year",
        "without a date", "year 0", "epoch",
    ],
)  # fmt: skip
def test_sac_files_of_another_event_are_refused(answered, tmp_path, date_s, header, refused):
    """By the origin that a file states, date and o; a file that states none is read as it counts."""
    config, folder = answered
    table = load_observations(RunFolder(config.run.directory).data).paths
    expected = read_windows(folder, table, config)
    copy = ExchangeFolder(tmp_path / "sac")
    shutil.copytree(folder.path, copy.path)
    file = sorted(copy.seismograms.glob("*/*.sem.ascii"))[0]
    sac = as_sac(file, table.events, date_s, header)
    if not refused:
        found = read_windows(copy, table, config)
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
        return
    event = list(table.events.name).index(file.parent.name)
    most_s = table.events.half_duration_s[event] + 60.0
    with pytest.raises(UserError) as problem:
        read_windows(copy, table, config)
    text = str(problem.value)
    assert text.startswith(f"{sac}: its origin time is 20") and "\n" not in text
    assert f"of event {file.parent.name} {table.events.origin_time[event][:19]}" in text
    assert text.endswith(f"; allowed: at most {most_s:.0f} s apart, or no date")


def as_sac(file, events, date_s, header):
    """A text file's seismogram as SAC in its place. date_s: of the reference time, after the centroid; header: what is other."""
    from obspy import UTCDateTime
    from obspy.io.sac import SACTrace

    seconds, metres = np.loadtxt(file).T
    network, station, channel, *_ = file.name.split(".")
    date = UTCDateTime(events.origin_time[list(events.name).index(file.parent.name)]) + date_s
    sac = SACTrace(
        b=seconds[0] + header.get("o", 0.0), o=header.get("o", 0.0), delta=seconds[1] - seconds[0], data=metres.astype(np.float32),
        knetwk=network, kstnm=station, kcmpnm=channel, nzyear=date.year, nzjday=date.julday, nzhour=date.hour, nzmin=date.minute,
        nzsec=date.second, nzmsec=date.microsecond // 1000,
    )  # fmt: skip
    for name, value in header.items():
        if name.startswith("nz"):
            setattr(sac, name, value)
    file.unlink()
    out = file.with_name(f"{network}.{station}.{channel}.sem.sac")
    sac.write(str(out))
    return out


def test_a_run_with_a_wrong_seismogram_loses_nothing(answered):
    config, folder = answered
    file = sorted(folder.seismograms.glob("*/*.sem.ascii"))[0]
    kept = file.read_bytes()
    file.unlink()
    with pytest.raises(UserError, match="no T seismogram for path"):
        inversion.resume(config.run.directory, None, MPI.COMM_SELF, report=False)
    file.write_bytes(kept)
    record = inversion.resume(config.run.directory, None, MPI.COMM_SELF, report=False)
    assert [entry.iteration for entry in record.iterations] == [0]
    assert find_status(config.run.directory).state == "awaiting"  # of the model that was found
    assert (folder.path.parent / "2" / "model.nc").is_file()


def test_a_command_that_fails_is_told_and_goes_on_where_it_was(config, tmp_path):
    script = tmp_path / "fails.py"
    script.write_text("import sys\nprint('no licence')\nsys.exit(7)\n")
    failing = config.replaced("synthetics", kind="command", command=f"{sys.executable} {script} {{event}}")
    with pytest.raises(UserError, match=r"\[synthetics\] command for event \S+: ended with 7; allowed: .*solver.log"):
        run(failing)
    log = Path(config.run.directory) / "synthetics" / "1" / "solver.log"
    assert "no licence" in log.read_text()
    with pytest.raises(UserError, match=r"command for event \S+: none-such: No such file or directory"):
        inversion.resume(
            config.run.directory, failing.replaced("synthetics", command="none-such {event}"), MPI.COMM_SELF
        )
    good = commanded(config)
    record = inversion.resume(config.run.directory, good, MPI.COMM_SELF, report=False)
    assert record.finished


def test_a_command_whose_mark_cannot_be_made_is_told(tmp_path):
    """In a folder that has become read-only, say; a traceback before."""
    mark = tmp_path / "gone" / "done"
    assert run_marked(["true"], tmp_path, [mark]) == f"{mark}: No such file or directory"


@pytest.mark.long
def test_a_run_killed_while_its_command_runs_leaves_none_and_goes_on(config, tmp_path):
    """Kill -9 of the run ends the command too; resume starts it again."""
    begun = tmp_path / "begun"
    script = tmp_path / "slow.py"
    script.write_text(
        f"import os, pathlib, time\npathlib.Path({str(begun)!r}).write_text(str(os.getpid()))\ntime.sleep(600)\n"
    )
    slow = config.replaced("synthetics", kind="command", command=f"{sys.executable} {script} {{folder}}")
    slow.path.write_text(slow.to_toml(), encoding="utf-8")
    environment = environment_without_mpi(**(OF_OPEN_MPI if os.geteuid() == 0 else {}))
    words = [sys.executable, "-m", "craton.commands.main", "tomography", "run", str(slow.path)]
    job = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: begun.is_file() and begun.read_text())
    assert find_status(Path(config.run.directory)).state == "running"
    job.kill()
    job.wait()
    command = Path(f"/proc/{begun.read_text()}")
    wait_until(lambda: not command.exists())
    assert find_status(Path(config.run.directory)).state == "interrupted"
    record = inversion.resume(config.run.directory, commanded(config), MPI.COMM_SELF, report=False)
    assert record.finished and len(record.sessions) == 2


def wait_until(due, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not due():
        assert time.monotonic() < deadline, "it has not come"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "command"}, "command is missing"),
        ({"kind": "command", "command": "solve {mesh}"}, r"names \{mesh\}; allowed: \{event\}, \{folder\}"),
        ({"kind": "command", "command": "solve '{folder}"}, "No closing quotation"),
        ({"kind": "command", "command": "solve", "engine": "parsl"}, 'engine = "parsl" without parsl_config'),
        ({"kind": "modal"}, 'kind = "modal"; allowed: "modes" or "command" or "wait"'),
    ],
)
def test_settings_that_are_wrong(config, settings, words):
    with pytest.raises(UserError, match=words):
        config.replaced("synthetics", **settings)


def test_cmtsolution_is_what_obspy_reads(tmp_path):
    obspy = pytest.importorskip("obspy")
    events = Events(
        ("C201802021137A",), ("2018-02-02T11:37:53.3",), np.array([-12.3]), np.array([166.5]), np.array([63.0]), np.array([4.5]),
        np.array([[1.1e19, -2.2e18, -8.8e18, 3e18, 4e17, -5e18]]), ("Santa Cruz Islands",),
    )  # fmt: skip
    file = tmp_path / "CMTSOLUTION"
    file.write_text(cmtsolution(events, 0))
    found = obspy.read_events(str(file), format="CMTSOLUTION")[0]
    tensor = found.preferred_focal_mechanism().moment_tensor.tensor
    np.testing.assert_allclose(
        [tensor.m_rr, tensor.m_tt, tensor.m_pp, tensor.m_rt, tensor.m_rp, tensor.m_tp],
        events.moment_tensor_Nm[0],
        rtol=1e-8,
    )
    origin = found.preferred_origin()
    assert (origin.latitude, origin.longitude, origin.depth) == (-12.3, 166.5, 63000.0)
    assert abs(origin.time - obspy.UTCDateTime("2018-02-02T11:37:53.3")) < 1e-3


def test_windows_and_names_that_no_file_can_have():
    events = Events(("a b",), ("2018-02-02T11:37:53",), *(np.zeros(1) for _ in range(4)), np.ones((1, 6)), ("",))
    stations = Stations(("II.AAK", "other"), np.zeros(2), np.zeros(2), np.zeros(2))
    first = np.zeros(1, np.int64)
    table = PathTable(events, stations, first, first, np.array([613.7]), np.array([20]), 10.0)
    with pytest.raises(UserError, match=r"event 'a b': .*; allowed: names without spaces"):
        check_names(table)
    good = dataclasses.replace(table, events=dataclasses.replace(events, name=("ab",)))
    check_names(good)  # of a station that no window uses nothing is asked
    with pytest.raises(UserError, match=r"station 'other': has no network"):
        check_names(dataclasses.replace(good, station=first + 1))
    with pytest.raises(UserError, match=r"window begins at 613\.7 s; allowed, .*: multiples of .* = 10 s"):
        check_times(good)
    check_times(dataclasses.replace(good, t_first_s=np.array([620.0])))


def test_commands_one_for_each_earthquake(config, tmp_path):
    """Two at a time, of which one leaves nothing: it is named, done again after a change, and the others are not."""
    script = tmp_path / "one.py"
    script.write_text(
        f"import subprocess, sys, pathlib, shutil\n"
        f"out, event = pathlib.Path(sys.argv[1]), sys.argv[2]\n"
        f"folder = out.parents[1]\n"
        f"with (folder / 'started').open('a') as log: log.write(event + chr(10))\n"
        f"scratch = folder / ('scratch-' + event)\n"
        f"shutil.copytree(folder, scratch, ignore=shutil.ignore_patterns('seismograms', 'scratch-*', 'done'))\n"
        f"for name in (folder / 'seismograms').iterdir(): (scratch / 'seismograms' / name.name).mkdir(parents=True)\n"
        f"subprocess.run([sys.executable, {str(SOLVER)!r}, str(scratch), *{OPTIONS.split()!r}], check=True)\n"
        f"bad = sys.argv[3] == 'bad' and event == sorted(n.name for n in (folder / 'seismograms').iterdir())[0]\n"
        f"if not bad: shutil.copytree(scratch / 'seismograms' / event, out, dirs_exist_ok=True)\n"
    )
    command = f"{{python}} {script} {{seismograms}} {{event}}"
    bad = config.replaced("synthetics", kind="command", command=f"{command} bad", together=2)
    with pytest.raises(UserError, match="no T seismogram for path"):
        run(bad)
    folder = Path(config.run.directory) / "synthetics" / "1"
    events = sorted(name.name for name in (folder / "seismograms").iterdir())
    assert sorted((folder / "started").read_text().split()) == events
    assert sorted(name.name for name in (folder / "done").iterdir()) == events[1:]
    for left in folder.glob("scratch-*"):
        shutil.rmtree(left)
    good = bad.replaced("synthetics", command=f"{command} good")
    record = inversion.resume(config.run.directory, good, MPI.COMM_SELF, report=False)
    assert record.finished
    assert (folder / "started").read_text().split().count(events[0]) == 2
    assert all((folder / "started").read_text().split().count(event) == 1 for event in events[1:])


FAILS_ONCE = """
import pathlib, shutil, sys
out, event = pathlib.Path(sys.argv[1]), sys.argv[2]
folder = out.parents[1]
with (folder / "started").open("a") as log:
    log.write(event + chr(10))
events = sorted(name.name for name in (folder / "seismograms").iterdir())
print("solves", event, "of", len(events))
tried = folder.parent / "tried"
if event == events[0] and not tried.exists():
    tried.touch()
    {fails}
shutil.copytree(pathlib.Path(sys.argv[3]) / folder.name / "seismograms" / event, out, dirs_exist_ok=True)
"""


KILLS_ITS_WORKER = """
    import os, psutil, signal
    above = psutil.Process().parents()
    pool = next(n for n, one in enumerate(above) if "process_worker_pool" in " ".join(one.cmdline()))
    (folder / "left").write_text(str(os.getpid()))
    above[pool - 1].kill()
    signal.pause()
"""


@pytest.mark.parametrize(
    ("fails", "said"),
    [("sys.exit(3)", "ended with 3"), (KILLS_ITS_WORKER, "Parsl: WorkerLost.*")],
    ids=["ends badly", "worker dies"],
)
def test_commands_through_an_engine(config, tmp_path, fails, said):
    """One fails, or its worker dies: it is named, and only it starts again. The model is that of local commands, bit for bit."""
    pytest.importorskip("parsl", reason="parsl is not installed: pip install 'craton[cluster]'")
    psutil = pytest.importorskip("psutil", reason="psutil is not installed: pip install 'craton[cluster]'")
    run(commanded(config.replaced("run", directory=str(tmp_path / "here"))))
    here = RunFolder(tmp_path / "here")
    script = tmp_path / "copies.py"
    script.write_text(FAILS_ONCE.replace("{fails}", fails.strip()))
    command = f"{{python}} {script} {{seismograms}} {{event}} {here.path / 'synthetics'}"
    sent = config.replaced(
        "synthetics",
        kind="command",
        command=command,
        together=2,
        engine="parsl",
        parsl_config=str(configuration(tmp_path)),
    )
    with pytest.raises(
        UserError, match=rf"\[synthetics\] command for event \w+: {said}; allowed: .*resume` starts what is"
    ):
        run(sent)
    folder = Path(config.run.directory) / "synthetics" / "1"
    events = sorted(name.name for name in (folder / "seismograms").iterdir())
    assert sorted(name.name for name in (folder / "done").iterdir()) == events[1:]
    assert "solves" in (folder / "solver" / f"{events[0]}.log").read_text()
    record = inversion.resume(config.run.directory, sent, MPI.COMM_SELF, report=False)
    assert record.finished
    left = folder / "left"
    assert not left.exists() or not psutil.pid_exists(int(left.read_text())), "a command that was left behind goes on"
    started = (folder / "started").read_text().split()
    assert started.count(events[0]) == 2 and sorted(set(started)) == events and len(started) == len(events) + 1
    mine = RunFolder(config.run.directory).read_model()["models"]
    np.testing.assert_array_equal(mine, here.read_model()["models"])


def test_an_engine_that_cannot_be_used(config, tmp_path):
    pytest.importorskip("parsl", reason="parsl is not installed: pip install 'craton[cluster]'")
    sent = commanded(config).replaced("synthetics", engine="parsl", parsl_config=str(configuration(tmp_path)))
    with pytest.raises(UserError, match=r"parsl_config = .*: no such file .*none\.py; allowed: a file"):
        sent.replaced("synthetics", parsl_config=str(tmp_path / "none.py"))
    with pytest.raises(
        UserError, match=r"\[synthetics\] cores = 1000: workers of .* have at most \d+; allowed: 1 to \d+"
    ):
        run(sent.replaced("synthetics", cores=1000))


def test_folds_of_a_hybrid_run_are_refused(config, tmp_path):
    run(commanded(config))
    folder = RunFolder(config.run.directory)
    with pytest.raises(UserError, match="--folds of a run whose seismograms come from an outside solver"):
        choose_strength(folder.hessian, config.prior, [0.01, 0.03], tmp_path / "out", MPI.COMM_SELF, folds=2)
