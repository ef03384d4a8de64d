"""A run's life: begun, killed, failed, resumed, finished, replaced; who may use its folder; what status says at each moment."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
import toy_run
from craton.errors import UserError
from craton.runs.agreement import ALONE
from craton.runs.folder import RunFile, RunFolder
from craton.runs.progress_file import read_progress
from craton.runs.status import STATES, find_status
from helpers import environment_without_mpi
from rich.console import Console
from toy_run import ToyFolder

SELF = ALONE


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


FINISHED = {"names.csv", "numbers.txt", "pictures", "record.json"}


@contextmanager
def another(*words: object):
    """The toy in a process of its own, which can be killed."""
    process = subprocess.Popen(
        [sys.executable, toy_run.__file__, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment_without_mpi(),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def killed_once(tmp_path_factory):
    path = tmp_path_factory.mktemp("killed") / "run"
    with another("new", path, "kill", 7) as process:
        assert process.wait(60) == -9
    return path


@pytest.fixture
def killed(killed_once, tmp_path):
    """The folder of a run that was killed after its checkpoint: a copy of one's own."""
    return Path(shutil.copytree(killed_once, tmp_path / "run"))


def test_a_run_leaves_its_results_and_a_record(tmp_path):
    record = toy_run.run(SELF, tmp_path)
    assert names(tmp_path) == FINISHED
    read = ToyFolder(tmp_path).read_record()
    assert read == record and read.finished and read.counted == 10 and len(read.sessions) == 1
    found = find_status(ToyFolder(tmp_path))
    assert (found.state, found.app, found.spent_s) == ("finished", "toy", read.spent_s)
    assert found.command == record.command and not found.owner
    assert found.files["numbers.txt"] == 3 and found.files["pictures"] == len("picture")


def test_a_killed_run_is_interrupted_and_goes_on(killed):
    found = find_status(ToyFolder(killed))
    assert found.state == "interrupted" and found.owner == "" and found.failure == ""
    assert (found.phase, found.where, found.done, found.total, found.unit, found.saved) == (
        *("counting", "round 1 of at most 2"),
        *(3, 10, "numbers", 3),
    )
    assert found.files.keys() == {"names.csv", "state.h5", "progress.json"}
    assert ("to go on", f"craton toy resume {killed}") in found.lines()
    record = toy_run.resume(SELF, killed)
    assert names(killed) == FINISHED
    assert [session.at for session in record.sessions] == ["", "round 1 of at most 2, counting"]
    assert [session["at"] for session in find_status(ToyFolder(killed)).sessions] == [
        "",
        "round 1 of at most 2, counting",
    ]


def test_a_failed_run_says_why(tmp_path):
    with pytest.raises(UserError, match="the numbers ran out"):
        toy_run.run(SELF, tmp_path, act="fail", at=5)
    found = find_status(ToyFolder(tmp_path))
    assert (found.state, found.failure) == ("failed", "the numbers ran out")
    with pytest.raises(ZeroDivisionError):
        toy_run.resume(SELF, tmp_path, act="bug", at=6)
    assert find_status(ToyFolder(tmp_path)).failure == "ZeroDivisionError: of nothing"
    toy_run.resume(SELF, tmp_path)
    assert names(tmp_path) == FINISHED


def test_a_run_that_fails_before_it_has_anything_leaves_nothing_to_resume(tmp_path):
    with pytest.raises(UserError):
        toy_run.run(SELF, tmp_path, act="fail", at=2)
    assert names(tmp_path) == {"names.csv"}
    toy_run.run(SELF, tmp_path)


def test_a_run_under_way_is_seen_and_its_folder_refused(tmp_path):
    path = tmp_path / "run"
    with another("new", path, "hold", 5) as process:
        assert process.stdout.readline() == "held\n"
        found = find_status(ToyFolder(path))
        assert found.state == "running" and found.owner.startswith(f"{process.pid} on ")
        assert found.to_dict()["phases"] == ["set-up", "counting"]
        with pytest.raises(UserError, match=rf"run folder \S+ is in use by another run \(pid {process.pid} on "):
            toy_run.run(SELF, path, overwrite=True)
        with pytest.raises(UserError, match="is in use by another run"):
            ToyFolder(path).to_resume()
    assert find_status(ToyFolder(path)).state == "interrupted"


def test_who_looks_keeps_no_run_out(tmp_path):
    """A shared lock for a moment, as `owner` takes it."""
    with (tmp_path / ".lock").open("w") as looked_at:
        fcntl.flock(looked_at, fcntl.LOCK_SH)
        threading.Timer(0.03, fcntl.flock, (looked_at, fcntl.LOCK_UN)).start()
        toy_run.run(SELF, tmp_path)
    assert names(tmp_path) == FINISHED


def test_a_run_that_has_not_begun_is_waiting(tmp_path):
    folder = ToyFolder(tmp_path)
    folder.lock()
    assert find_status(ToyFolder(tmp_path)).state == "waiting"
    folder.release()
    with pytest.raises(
        UserError, match=r"record\.json: No such file or directory; allowed: the folder of a run of `crat"
    ):
        find_status(folder)


def test_the_results_of_a_run_are_kept_unless_told_otherwise(tmp_path):
    toy_run.run(SELF, tmp_path)
    with pytest.raises(UserError, match=r"numbers\.txt is there already; allowed: another folder, or --overwrite"):
        toy_run.run(SELF, tmp_path)
    before = (tmp_path / "record.json").read_text()
    with pytest.raises(UserError, match="ran out"):
        toy_run.run(SELF, tmp_path, overwrite=True, act="fail", at=2)
    assert (tmp_path / "record.json").read_text() == before and names(tmp_path) == FINISHED
    toy_run.run(SELF, tmp_path, overwrite=True)
    assert (tmp_path / "record.json").read_text() != before or names(tmp_path) == FINISHED


def test_a_killed_run_that_was_to_replace_another_goes_on_inside(tmp_path):
    toy_run.run(SELF, tmp_path)
    (tmp_path / "report.html").write_text("of the earlier run")
    with pytest.raises(UserError):
        toy_run.run(SELF, tmp_path, overwrite=True, act="fail", at=8)
    assert names(tmp_path) == {*FINISHED, "report.html", ".next-run"}
    assert find_status(ToyFolder(tmp_path)).state == "failed"
    toy_run.resume(SELF, tmp_path)
    assert names(tmp_path) == FINISHED
    assert len(ToyFolder(tmp_path).read_record().sessions) == 2


def test_an_unfinished_run_is_not_begun_anew_by_mistake(killed):
    with pytest.raises(
        UserError,
        match=r"holds a run that has not finished; allowed: `craton toy resume \S+`, another folder, or --overwrite",
    ):
        toy_run.run(SELF, killed)
    (killed / "state.h5").unlink()
    with pytest.raises(UserError, match="has not finished; allowed: another folder, or --overwrite"):
        toy_run.run(SELF, killed)
    toy_run.run(SELF, killed, overwrite=True)
    assert names(killed) == FINISHED


def test_resume_is_refused_in_a_line(tmp_path):
    folder = ToyFolder(tmp_path / "run")
    with pytest.raises(UserError, match=r"no such folder; allowed: the folder of a run that has not finished"):
        folder.to_resume()
    folder.make()
    for call in (folder.to_resume, folder.place_to_resume):
        with pytest.raises(UserError, match=r"no progress\.json to go on from; allowed"):
            call()
    toy_run.run(SELF, folder.path)
    with pytest.raises(UserError, match=r"run folder \S+: its run has finished; allowed"):
        folder.to_resume()


def test_only_free_settings_may_differ_when_a_run_is_resumed(killed):
    folder = ToyFolder(killed)
    stored = folder.to_resume()
    assert (stored.source, stored.configuration["count"]) == ("toy.toml", {"text": "a"})
    free = [("run", "threads")]
    folder.check_resume({"run": {"threads": 8}, "count": {"text": "a"}}, "my.toml", free)
    folder.check_resume({"run": {"nodes": 8}, "count": {"text": "a"}}, "my.toml", [("run", "*")])
    with pytest.raises(
        UserError, match=r"my\.toml: \[count\] text = b; allowed: a, as the run in \S+ has it, or anoth"
    ):
        folder.check_resume({"run": {"threads": 1}, "count": {"text": "b"}}, "my.toml", free)
    with pytest.raises(UserError, match=r"my\.toml: \[count\] text = missing; allowed: a, as the run"):
        folder.check_resume({"run": {"threads": 1}}, "my.toml", free)
    with pytest.raises(UserError, match=r"my\.toml: \[more\] x = 1; allowed: missing, as the run"):
        folder.check_resume({**stored.configuration, "more": {"x": 1}}, "my.toml", free)


def test_what_a_killed_process_left_half_written_goes(killed):
    (killed / "state.h5.123.new").write_text("half")
    (killed / "mine.new").write_text("the user's")
    toy_run.resume(SELF, killed)
    assert names(killed) == {*FINISHED, "mine.new"}


def test_what_a_run_reads_is_not_replaced(tmp_path):
    toy_run.run(SELF, tmp_path)
    with pytest.raises(UserError, match=r"\[a\] file = \S+ is among the results in the output folder"):
        ToyFolder(tmp_path).check_new(True, {"[a] file": str(tmp_path / "numbers.txt")})


def test_a_move_that_was_cut_short_is_finished(tmp_path):
    """The list of names says what is on its way; whatever has moved already is not done again."""
    toy_run.run(SELF, tmp_path)
    inside = tmp_path / ".next-run"
    toy_run.run(SELF, inside)
    (inside / "numbers.txt").replace(tmp_path / "numbers.txt")  # before the process was killed
    (inside / "adopting").write_text("numbers.txt\npictures\nrecord.json\nnames.csv")
    ToyFolder(tmp_path).place_to_write()
    assert "adopting" not in names(tmp_path) and names(tmp_path) == {*FINISHED, ".next-run"}
    assert not list(inside.iterdir())


def test_a_folder_that_cannot_be_made_or_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        UserError, match=r"output folder \S+file/run: Not a directory; allowed: a folder that can be made"
    ):
        ToyFolder(tmp_path / "file" / "run").make()


def test_status_in_words_and_as_json(killed):
    found = find_status(ToyFolder(killed))
    found.rows["hostile"] = "[red]not markup[/red]"
    out = StringIO()
    Console(file=out, width=120).print(found.table())
    text = out.getvalue()
    for said in ("interrupted", "round 1 of at most 2", "counting (2 of 2), for", "3 of 10 (30%)", "3 numbers"):
        assert said in text
    assert "[red]not markup[/red]" in text and "1 session, the last on 1 rank x 1 thread" in text
    read = json.loads(found.to_json())
    assert read["state"] in STATES and read["done"] == 3 and read["files"]["state.h5"] > 0


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "not a run's progress"),
        ("[]", "not a run's progress (list instead of an object)"),
        ('{"app": "toy"}', "not a run's progress ('sessions')"),
        ('{"sessions": []}', "not a run's progress (no session)"),
        ('{"sessions": [{"started": "x"}], "done": NaN}', "NaN is no number of JSON"),
        ('{"sessions": [{"started": "x"}]}', "missing"),
    ],
)
def test_a_damaged_progress_is_named(killed, content, problem):
    (killed / "progress.json").write_text(content)
    for look in (lambda: find_status(ToyFolder(killed)), lambda: ToyFolder(killed).to_resume()):
        with pytest.raises(UserError) as failure:
            look()
        assert problem in str(failure.value) and "progress.json" in str(failure.value)
        assert "\n" not in str(failure.value)


def test_status_of_no_folder(tmp_path):
    with pytest.raises(UserError, match=r"run folder \S+: no such folder; allowed: the folder of a run"):
        find_status(ToyFolder(tmp_path / "none"))
    with pytest.raises(
        UserError, match=r"No such file or directory; allowed: the folder of a run that has not finished"
    ):
        read_progress(tmp_path / "progress.json")


def test_kinds_of_files():
    class Derived(ToyFolder):
        numbers = RunFile("other.txt", "working")

    assert ToyFolder.named("result") == ["numbers.txt", "pictures", "report.html", "record.json"]
    assert Derived.named("working") == ["other.txt", "state.h5", "progress.json"]
    assert RunFolder.named("input") == ["config.toml"]


def test_a_folder_of_other_files_is_left_alone(tmp_path):
    """Hidden files, and what a run that failed early has left, are no obstacle; a folder with the name of a result is."""
    (tmp_path / ".hidden").write_text("")
    (tmp_path / "names.csv").write_text("of a run that failed")
    (tmp_path / "state.h5.part").write_text("the same")
    toy_run.run(SELF, tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    toy_run.run(SELF, tmp_path, overwrite=True)
    assert (tmp_path / "mine.txt").read_text() == "mine"
    batch = tmp_path / "batch"
    batch.mkdir()
    (batch / "slurm-12.out").write_text("of the batch system")
    toy_run.run(SELF, batch)
    assert (batch / "slurm-12.out").exists()
    own = tmp_path / "own"
    (own / "pictures").mkdir(parents=True)
    for overwrite in (False, True):
        with pytest.raises(
            UserError, match="holds pictures, but no run; allowed: an empty or new folder, or that of a run"
        ):
            toy_run.run(SELF, own, overwrite=overwrite)
    assert [file.name for file in own.iterdir()] == ["pictures"]
