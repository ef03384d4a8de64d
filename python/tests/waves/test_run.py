"""`craton waves run`: the same results on any number of ranks and after a restart, its files and pictures, and bad input."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from craton import UserError
from helpers import environment_without_mpi

pytest.importorskip("mpi4py.MPI")

from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import read_seismograms
from craton.waves.placement import read_placement
from wave_config import CONFIG, craton, here, write_config

XDMF = {"snapshots.xdmf", "surface.xdmf"}
FILES = {"seismograms.h5": "velocity", "sgt.h5": "sgt", "snapshots.h5": "vx", "surface.h5": "vz"}


def results(folder: Path) -> dict[str, np.ndarray]:
    found = {}
    for name, dataset in FILES.items():
        with h5py.File(folder / name) as file:
            found[name] = np.asarray(file[dataset])
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run on one rank: its folder."""
    folder = tmp_path_factory.mktemp("waves")
    done = craton("run", write_config(folder), "--directory", "one", cwd=folder)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "points/s" in done.stdout and "of the" in done.stdout
    return folder / "one"


def test_a_run_leaves_whole_files(finished):
    names = {file.name for file in finished.iterdir()}
    assert names == {*FILES, *XDMF, "config.toml", "stations.csv", "record.json", "report.html", "pictures"}
    assert {file.name for file in (finished / "pictures").iterdir()} == {
        "seismograms.png",
        "snapshots.png",
        "movie.gif",
    }
    record = json.loads((finished / "record.json").read_text())
    assert pickle.loads(pickle.dumps(read_seismograms(finished))).velocity.shape == (2, 3, record["steps"])
    assert record["app"] == "waves" and record["finished"] and len(record["sessions"]) == 1
    steps = record["steps"]
    assert record["cells"] == [30, 28, 24] and record["files"] == list(FILES)
    assert steps == int(np.ceil(0.9 / record["dt_s"]))
    found = results(finished)
    assert found["seismograms.h5"].shape == (2, 3, steps)
    assert found["sgt.h5"].shape == (3, 6, steps // 10)
    assert found["snapshots.h5"].shape == (steps // 40, 8, 10, 10)
    assert found["surface.h5"].shape == (steps // 20, 1, 28, 30)
    for values in found.values():
        assert np.isfinite(values).all() and np.abs(values).max() > 0
    # the largest motion is the nearer station's
    assert np.abs(found["seismograms.h5"][0]).max() > np.abs(found["seismograms.h5"][1]).max()


def test_snapshots_and_stations_see_the_same_field(finished):
    """A station on a cell's own vz reads what the movie has there."""
    with h5py.File(finished / "surface.h5") as file:
        frames = np.asarray(file["vz"])[:, 0]
        assert file["vz"].attrs["dt_s"] == pytest.approx(
            20 * json.loads((finished / "record.json").read_text())["dt_s"]
        )
    with h5py.File(finished / "seismograms.h5") as file:
        series = np.asarray(file["velocity"])[0, 2]
    # (1300, 1480) m lies between vz of cells 12 and 13 along x and 14 along y and the next: bounded by its neighbours, roughly
    at = series[19::20][: len(frames)]
    near = frames[:, 13:16, 11:15]
    scale = np.abs(frames).max()
    assert (at <= near.max(axis=(1, 2)) + 0.05 * scale).all() and (at >= near.min(axis=(1, 2)) - 0.05 * scale).all()


@pytest.fixture(scope="module")
def on_two(finished):
    """The same run on two ranks: its folder."""
    done = craton("run", "small.toml", "--directory", "two", "--no-report", "--ranks", 2, cwd=finished.parent)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return finished.parent / "two"


def same(found: Path, expected: Path, within: float = 1e-6) -> None:
    """Of the largest value of each file."""
    those = results(found)
    for name, values in results(expected).items():
        assert np.abs(those[name] - values).max() <= within * np.abs(values).max(), name


def test_two_ranks_give_the_same(finished, on_two):
    same(on_two, finished)


@pytest.mark.parametrize("options", [("--ranks", 2, "--ranks-per-node", 1), ("--ranks", 3, "--threads", 2)])
def test_any_number_of_ranks_gives_the_same(finished, tmp_path, options):
    done = craton("run", write_config(tmp_path), "--directory", "run", "--no-report", *options, cwd=tmp_path)
    assert (done.returncode, done.stderr.replace("craton: warning", "")[:1] in ("", ":")) == (0, True), done.stderr
    same(tmp_path / "run", finished)


def test_media_read_by_one_rank_are_the_same(finished, tmp_path):
    path = write_config(tmp_path, ('kind = "layers"', 'kind = "layers"\nread = "serial"'))
    done = craton("run", path, "--directory", "serial", "--no-report", "--ranks", 2, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    same(tmp_path / "serial", finished, 1e-5)


def test_one_rank_can_write_for_all(finished, tmp_path):
    striped = "[run]\nstriping_factor = 4\nstriping_unit_mb = 1.0\ncb_nodes = 1\n\n[grid]\nsize_km"
    path = write_config(tmp_path, ("[grid]\nsize_km", striped))
    done = craton("run", path, "--directory", "one-writer", "--no-report", "--ranks", 3, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    same(tmp_path / "one-writer", finished)


@pytest.mark.long
def test_media_written_in_parts_are_the_same(finished, tmp_path):
    whole = write_config(tmp_path)
    told = here("partition", whole, "--ranks", 3, "--directory", tmp_path / "media", "--json", cwd=tmp_path)
    assert json.loads(told)["file"] == f"{tmp_path}/media/media.json" and len(json.loads(told)["bricks"]) == 3
    assert len(list((tmp_path / "media").glob("media-*.h5"))) == 3
    layers = CONFIG[CONFIG.index("[media]") : CONFIG.index("[attenuation]")]
    path = write_config(
        tmp_path, (layers, f'[media]\nkind = "file"\nfile = "{tmp_path}/media/media.json"\nread = "partitioned"\n\n')
    )
    done = craton("run", path, "--directory", "parts", "--no-report", "--ranks", 3, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    same(tmp_path / "parts", finished, 1e-5)
    wrong = craton("run", path, "--directory", "other", "--no-report", "--ranks", 2, cwd=tmp_path)
    assert wrong.returncode == 2 and "allowed: that decomposition" in wrong.stderr and wrong.stderr.count("\n") == 1
    with pytest.raises(UserError, match="not in parts yet"):
        here("partition", path, "--ranks", 2, "--directory", tmp_path / "media", cwd=tmp_path)


def test_gridded_media_are_the_same_however_they_are_read(tmp_path):
    """Of a model that varies up to the edges: the same step, the same samples, the same seismograms."""
    axes = [np.linspace(0, size, 15) for size in (3000.0, 2800.0, 2400.0)]
    x, y, z = np.meshgrid(*axes, indexing="ij")
    vs = 2200 + 0.4 * z + 300 * np.cos(x / 700) * np.cos(y / 500)
    with h5py.File(tmp_path / "model.h5", "w") as file:
        for name, values in zip("xyz", axes, strict=True):
            file[name] = values
        for name, values in (("vp", 1.8 * vs), ("vs", vs), ("rho", 2000 + 0.2 * vs)):
            file[name] = values
            file[name].attrs["axes"] = "x y z"
    layers = CONFIG[CONFIG.index("[media]") : CONFIG.index("[attenuation]")]
    found, steps = {}, {}
    for read in ("parallel", "serial", "partitioned"):
        file = "media/media.json" if read == "partitioned" else "model.h5"
        media = f'[media]\nkind = "file"\nfile = "{file}"\nread = "{read}"\n\n'
        path = write_config(tmp_path, (layers, media))
        if read == "parallel":
            here("partition", path, "--ranks", 2, "--directory", "media", cwd=tmp_path)
        done = craton("run", path, "--directory", read, "--no-report", "--ranks", 2, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        steps[read] = json.loads((tmp_path / read / "record.json").read_text())["dt_s"]
        found[read] = read_seismograms(tmp_path / read).velocity
    assert steps["parallel"] == steps["serial"] == steps["partitioned"]
    np.testing.assert_array_equal(found["partitioned"], found["serial"])
    assert np.abs(found["parallel"] - found["serial"]).max() <= 1e-3 * np.abs(found["serial"]).max()


ENDED = """
import sys
from pathlib import Path

from craton._launch import main_guard
from craton.seismology.wave_run.config import load_config
from craton.waves import run, simulation
from mpi4py import MPI


def advance(self, steps, whole=simulation.Simulation.advance):
    whole(self, steps)
    if self.step >= 80:
        raise RuntimeError("ended")


simulation.Simulation.advance = advance
with main_guard():
    run(load_config("small.toml", directory=Path(sys.argv[1])), MPI.COMM_WORLD, overwrite=True, report=False)
"""


def ended_run(folder: Path, ranks: int, directory: str) -> subprocess.CompletedProcess[str]:
    """A run that a module ends after step 80, so that its last checkpoint is of step 50."""
    from craton._launch import mpiexec_command

    (folder / "ended.py").write_text(ENDED)
    start = [*mpiexec_command(), "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
    return subprocess.run(
        [*start, sys.executable, str(folder / "ended.py"), directory],
        env=environment_without_mpi(
            OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"
        ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
    )


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_resumed_run_equals_the_undisturbed_one(finished, on_two, tmp_path, ranks):
    path = write_config(tmp_path)
    ended = ended_run(tmp_path, ranks, "ended")
    assert ended.returncode != 0 and "ended" in ended.stderr
    names = {file.name for file in (tmp_path / "ended").iterdir()} - {".lock"}
    assert names == {
        *(f"{name}.partial" for name in FILES),
        "config.toml",
        "stations.csv",
        "checkpoint.h5",
        "checkpoint.h5.layers",
        "progress.json",
    }
    found = json.loads(here("status", "ended", "--json", cwd=tmp_path))
    assert found["state"] in ("failed", "interrupted") and (found["phase"], found["saved"]) == ("steps", 50)
    assert found["total"] > 80 and found["unit"] == "steps" and found["rows"]["grid"].startswith("30 x 28 x 24 cells")
    assert "craton waves resume ended" in here("status", "ended", cwd=tmp_path)
    with pytest.raises(
        UserError, match=r"not finished; allowed: `craton waves resume \S+ended`, another folder, or --ove"
    ):
        here("run", path, "--directory", "ended", cwd=tmp_path)

    changed = write_config(tmp_path, ("duration_s = 0.9", "duration_s = 0.8"))
    with pytest.raises(
        UserError, match=r"\[time\] duration_s = 0.8; allowed: 0.9, as the run in ended has it, or anothe"
    ):
        here("resume", "ended", changed, cwd=tmp_path)
    other = write_config(tmp_path, ("every_steps = 50", "every_steps = 40"))
    resumed = craton("resume", "ended", other, "--no-report", cwd=tmp_path)
    assert (resumed.returncode, resumed.stderr) == (0, "")
    assert "going on from step 50" in resumed.stdout and f"{ranks} rank" in resumed.stdout
    found, expected = results(tmp_path / "ended"), results(finished if ranks == 1 else on_two)
    for name in FILES:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    assert {file.name for file in (tmp_path / "ended").iterdir()} == {
        *FILES,
        *XDMF,
        "config.toml",
        "stations.csv",
        "record.json",
    }
    assert [
        session["ranks"] for session in json.loads(here("status", "ended", "--json", cwd=tmp_path))["sessions"]
    ] == [
        ranks,
        ranks,
    ]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_that_ended_between_its_files_and_its_record_is_resumed(finished, on_two, tmp_path, ranks, monkeypatch):
    """Its files have their names already, and no .partial one is there."""
    write_config(tmp_path)
    last = """def advance(self, steps, whole=simulation.Simulation.advance):
    whole(self, steps)
    if self.step >= 80:
        raise RuntimeError("ended")


simulation.Simulation.advance = advance
"""
    assert last in ENDED
    monkeypatch.setattr(
        sys.modules[__name__],
        "ENDED",
        ENDED.replace(
            last,
            "def ended(*_):\n    raise RuntimeError('ended')\n\n\nimport craton.waves.start\ncraton.waves.start.finished = ended\n",
        ),
    )
    assert ended_run(tmp_path, ranks, "ended").returncode != 0
    names = {file.name for file in (tmp_path / "ended").iterdir()}
    assert names >= {*FILES, "checkpoint.h5"} and not any(name.endswith(".partial") for name in names)
    resumed = craton("resume", "ended", "--no-report", cwd=tmp_path)
    assert (resumed.returncode, resumed.stderr) == (0, "")
    found, expected = results(tmp_path / "ended"), results(finished if ranks == 1 else on_two)
    for name in FILES:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    left = {file.name for file in (tmp_path / "ended").iterdir()}
    assert left >= {*FILES, "config.toml", "stations.csv", "record.json"}
    assert not [name for name in left if name.startswith(("checkpoint", "progress")) or name.endswith(".partial")]


def test_a_run_that_replaces_another_is_resumed_beside_it(finished, tmp_path):
    """The earlier results stay until the new ones are whole."""
    write_config(tmp_path)
    shutil.copytree(finished, tmp_path / "again")
    before = results(tmp_path / "again")
    assert ended_run(tmp_path, 1, "again").returncode != 0
    assert (tmp_path / "again" / "record.json").is_file() and (tmp_path / "again" / "pictures").is_dir()
    for name, values in results(tmp_path / "again").items():
        np.testing.assert_array_equal(values, before[name])
    assert "going on from step 50" in here("resume", "again", "--no-report", cwd=tmp_path)
    assert not (tmp_path / "again" / "pictures").exists() and not (tmp_path / "again" / ".next-run").exists()
    for name, values in results(tmp_path / "again").items():
        np.testing.assert_array_equal(values, before[name])


BAD = {
    "an unstable step": (("duration_s = 0.9", "duration_s = 0.9\ndt_s = 0.05"), "unstable"),
    "vs = 0 without water": (("2000.0, 2600.0]", "0.0, 2600.0]"), "water"),
    "a negative density": (("2600.0]", "-2600.0]"), "rho"),
    "a source outside": (("1250.0, 1430.0, 800.0", "1250.0, 14300.0, 800.0"), "outside the grid"),
    "a source too fast for the grid": (("sigma_s = 0.12", "sigma_s = 0.01"), "points per wavelength"),
    "a receiver that is no number": (('"points.txt"', '"nan.txt"'), "receiver 2"),
    "a station outside": (("1300.0, 1480.0", "1300.0, -1.0"), "NEAR"),
    "a module never called": (("every = 20", "every = 2000"), "[movie] every 2000 steps"),
    "an absorbing side too wide": (("width_cells = 5", "width_cells = 20"), "2 absorbing layers"),
}


ON_RANKS = ("an unstable step", "vs = 0 without water", "a receiver that is no number", "a module never called")
"""One of each part that finds an error: settings, media, files, modules. The others take the same way out."""


@pytest.mark.parametrize(
    ("what", "ranks"),
    [(what, 1) for what in BAD]
    + [pytest.param(what, 3, marks=() if what in ON_RANKS else pytest.mark.long) for what in BAD],
)
def test_bad_input_is_told_in_a_line(tmp_path, what, ranks):
    change, expected = BAD[what]
    (tmp_path / "nan.txt").write_text("1 2 3\n100 nan 5\n")
    arguments = ("run", write_config(tmp_path, change), "--directory", "run", "--ranks", ranks)
    if ranks == 1:
        with pytest.raises(UserError) as refused:
            here(*arguments, cwd=tmp_path)
        told = f"craton: error: {refused.value}\n"
    else:
        done = craton(*arguments, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        told = done.stderr
    assert told.count("\n") == 1 and told.startswith("craton: error:"), told
    assert expected in told and "allowed" in told, told
    left = {file.name for file in (tmp_path / "run").iterdir()} if (tmp_path / "run").exists() else set()
    assert not left & {*FILES, "record.json", "pictures", "progress.json"}


def test_results_are_kept_unless_told_otherwise(tmp_path):
    path = write_config(tmp_path, ("duration_s = 0.9", "duration_s = 0.4"), ("every_steps = 50", "every_steps = 0"))
    here("run", path, "--no-report", cwd=tmp_path)
    folder = tmp_path / "small-run"
    before = results(folder)
    with pytest.raises(UserError, match=r"seismograms\.h5 is there already; allowed: another folder, or --overwrite"):
        here("run", path, cwd=tmp_path)
    write_config(
        tmp_path, ("duration_s = 0.9", "duration_s = 0.4"), ("mw = 4.0", "mw = 4.5"), ('points = "points.txt"\n', "")
    )
    here("run", path, "--no-report", "--overwrite", cwd=tmp_path)
    assert not (folder / "sgt.h5").exists()
    with h5py.File(folder / "seismograms.h5") as file:
        assert np.abs(np.asarray(file["velocity"])).max() > 2 * np.abs(before["seismograms.h5"]).max()
    written = (folder / "record.json").read_bytes()
    assert here("resume", "small-run", cwd=tmp_path) == "small-run: its run has finished\n"
    assert json.loads(here("resume", "small-run", "--json", cwd=tmp_path)) == json.loads(written)
    assert (folder / "record.json").read_bytes() == written


def test_ranks_of_another_launcher(tmp_path, monkeypatch):
    """Mpirun has started three."""
    path = write_config(tmp_path)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    with pytest.raises(
        UserError, match="--ranks 2, but this job was started with 3 ranks; allowed: --ranks 3, or none"
    ):
        here("run", path, "--ranks", 2, cwd=tmp_path)


def test_a_run_without_a_checkpoint_cannot_go_on(tmp_path):
    path = write_config(tmp_path, ("every_steps = 50", "every_steps = 0"))
    assert ended_run(tmp_path, 1, "ended").returncode != 0
    with pytest.raises(
        UserError, match=r"no checkpoint\.h5 to go on from; allowed: a run with \[checkpoint\] that has com"
    ):
        here("resume", "ended", cwd=tmp_path)
    with pytest.raises(UserError, match="has not finished; allowed: another folder, or --overwrite"):
        here("run", path, "--directory", "ended", cwd=tmp_path)
    here("run", path, "--directory", "ended", "--no-report", "--overwrite", cwd=tmp_path)
    assert not list((tmp_path / "ended").glob("*.partial"))


def test_status_of_what_is_no_run(tmp_path):
    with pytest.raises(UserError, match="run folder none: no such folder"):
        here("status", "none", cwd=tmp_path)
    with pytest.raises(
        UserError, match=r"record\.json: No such file or directory; allowed: the folder of a run of `crato"
    ):
        here("status", ".", cwd=tmp_path)


def test_check_says_what_the_run_does(tmp_path):
    found = json.loads(here("check", write_config(tmp_path), "--ranks", 2, "--json", cwd=tmp_path))
    assert found["cells"] == [30, 28, 24] and found["stations"] == 2 and found["sgt_points"] == 3
    assert "stable below" in here("check", "small.toml", cwd=tmp_path)


def test_a_placement_is_found_and_used(finished, tmp_path):
    path = write_config(tmp_path)
    (tmp_path / "nodes.txt").write_text("torus 2 2\nn0 0 0\nn1 1 1\nn2 0 1\nn3 1 0\n")
    assert "hop-bytes" in here("place", "nodes.txt", path, "--ranks", 4, "--output", "p.json", cwd=tmp_path)
    told = json.loads(here("place", "nodes.txt", path, "--ranks", 4, "--json", cwd=tmp_path))
    assert told == json.loads((tmp_path / "p.json").read_text())
    done = craton(
        "run", path, "--ranks", 4, "--placement", "p.json", "--directory", "placed", "--no-report", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    same(tmp_path / "placed", finished)
    wrong = craton("run", path, "--ranks", 3, "--placement", "p.json", "--directory", "other", cwd=tmp_path)
    assert wrong.returncode == 2 and "for 4 ranks, but the run has 3" in wrong.stderr


@pytest.mark.parametrize("bricks", ["[0.5, 1.2]", '["0", "1"]', "[0, 1e999]", "[1, 1]", "3"])
def test_a_placement_has_each_brick_once(tmp_path, bricks):
    file = tmp_path / "p.json"
    file.write_text(f'{{"brick_of_rank": {bricks}}}')
    with pytest.raises(
        UserError, match=r"p.json: not a placement \(.*\); allowed: what craton waves place --output wrote"
    ):
        read_placement(file)


@pytest.mark.parametrize("kind", ["sac", "mseed"])
def test_seismograms_for_other_programs(finished, tmp_path, kind):
    obspy = pytest.importorskip("obspy")
    out = tmp_path / ("sac" if kind == "sac" else "all.mseed")
    told = json.loads(here("export", finished, "--format", kind, "--output", out, "--json", cwd=tmp_path))
    assert (told["file"], told["beside"]) == (str(out), [])
    assert [note.partition(";")[0] for note in told["notes"]] == [
        "times count from 1970-01-01",
        "without StationXML and QuakeML",
    ]
    stream = obspy.read(str(out / "*.sac" if kind == "sac" else out))
    assert len(stream) == 6
    (up,) = stream.select(station="NEAR", channel="?XZ")
    with h5py.File(finished / "seismograms.h5") as file:
        values = np.asarray(file["velocity"])
        np.testing.assert_array_equal(up.data, -values[0, 2])
        # obspy.read rounds what SAC has to microseconds
        assert up.stats.delta == pytest.approx(
            file["velocity"].attrs["dt_s"], rel=1e-6, abs=1e-6 if kind == "sac" else 0
        )
    np.testing.assert_array_equal(stream.select(station="FAR", channel="?XN")[0].data, values[1, 0])
    with pytest.raises(UserError, match="--overwrite"):
        here("export", finished, "--format", kind, "--output", out, cwd=tmp_path)


def test_seismograms_as_asdf(finished, tmp_path):
    pyasdf = pytest.importorskip("pyasdf")
    out = tmp_path / "all.h5"
    here("export", finished, "--format", "asdf", "--output", out, cwd=tmp_path)
    with pyasdf.ASDFDataSet(str(out), mode="r", mpi=False) as file:
        assert sorted(name.partition(".")[2] for name in file.waveforms.list()) == ["FAR", "NEAR"]
        (near,) = (station for station in file.waveforms if station._station_name.endswith(".NEAR"))
        (tag,) = near.get_waveform_tags()
        assert tag.endswith("_synthetic")
        (up,) = near[tag].select(channel="?XZ")
    with h5py.File(finished / "seismograms.h5") as file:
        np.testing.assert_array_equal(up.data, -np.asarray(file["velocity"])[0, 2])
    with pytest.raises(UserError, match="--overwrite"):
        here("export", finished, "--format", "asdf", "--output", out, cwd=tmp_path)


def test_asdf_without_its_package_is_refused_in_a_line(finished, monkeypatch):
    import importlib.util

    from craton.waves.export import export

    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyasdf" else known(name))
    with pytest.raises(UserError, match="the package pyasdf is not installed; allowed: pip install pyasdf"):
        export(finished, "asdf", None)


def test_export_of_what_is_no_run(tmp_path):
    done = craton("export", tmp_path, cwd=tmp_path)
    assert done.returncode == 2 and "record.json" in done.stderr and done.stderr.count("\n") == 1


def test_the_folder_is_that_of_the_configuration(tmp_path):
    path = write_config(tmp_path)
    assert WavesFolder(load_config(path).run.directory).path.name == "small-run"
    assert WavesFolder(load_config(path, directory=tmp_path / "other").run.directory).path == tmp_path / "other"
    assert load_config(path, threads=3).run.threads == 3
