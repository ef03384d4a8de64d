"""`craton hazard run` with its jobs through Parsl: the same results, killed and resumed too, and what is said of a wrong engine."""

from __future__ import annotations

import pytest
from craton.errors import UserError
from craton.hazard.config import load_config
from craton.hazard.folder import HazardFolder
from craton.seismology.wave_run.folder import WavesFolder
from hazard_config import write_config
from hazard_pipeline import assert_refused, command, craton, kill_when, run_here, same_results
from parsl_here import configuration

pytest.importorskip("parsl", reason="parsl is not installed: pip install 'craton[cluster]'")


def test_a_run_through_parsl_that_is_killed_and_resumed(tmp_path):
    config, engine, run = write_config(tmp_path), configuration(tmp_path), tmp_path / "run"
    folder = HazardFolder(run)
    waves = [WavesFolder(str(folder.waves("A", direction))) for direction in "xy"]
    words = command("run", config, "--directory", run, "--parsl-config", engine)
    kill_when(words, tmp_path, lambda: all(one.record.is_file() for one in waves))
    assert folder.read_run()["engine"] == "parsl" and not folder.record.is_file()
    done = craton("resume", run, cwd=tmp_path)  # as it was started: through Parsl
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    record = folder.read_record()
    names = {task["name"] for task in record.tasks}
    assert record.resumed >= 2 and not names & {"A: waves x", "A: waves y"} and record.finished
    assert all(task["host"] for task in record.tasks)
    run_here(config, tmp_path / "whole")
    same_results(run, tmp_path / "whole")


def test_what_is_said_of_a_wrong_engine(tmp_path):
    config = write_config(tmp_path)
    (tmp_path / "wrong.py").write_text("config = 1")
    words = ("run", config, "--directory", "run")
    assert_refused(craton(*words, "--engine", "parsl", cwd=tmp_path), 'engine = "parsl" without parsl_config; allowed:')
    done = craton(*words, "--parsl-config", "none.py", cwd=tmp_path)
    assert_refused(done, "[run] parsl_config = ", "no such file", "allowed: a file")
    done = craton(*words, "--parsl-config", "wrong.py", cwd=tmp_path)
    assert_refused(done, "wrong.py: config is of type int; allowed: config = parsl.Config(executors=[...])")
    done = craton(*words, "--cores", "4000", cwd=tmp_path)
    assert_refused(
        done, "[run] cores = 4000: this machine has", "allowed: at most", 'an engine that has more (engine = "parsl")'
    )
    assert not (tmp_path / "run").exists()
    wide = load_config(config, parsl_config=str(configuration(tmp_path)), engine="parsl", cores=2, threads=2)
    with pytest.raises(UserError, match=r"A: waves x: needs 2 cores for 1 ranks; allowed: .* 1 \(here\), or fewer"):
        from craton.hazard.start import run

        run(wide.replaced("run", directory=str(tmp_path / "run")))
    assert not (tmp_path / "run").exists()
