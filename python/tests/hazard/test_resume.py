"""A hazard run that is killed inside its waves goes on from their checkpoint, and with another [run] if that is wished."""

from __future__ import annotations

import re

import h5py
import numpy as np
import pytest
from craton.hazard.folder import HazardFolder
from craton.seismology.wave_run.folder import WavesFolder
from hazard_config import one_site
from hazard_pipeline import command, contents, craton, kill_when, run_here


def killed_in_waves(config, run) -> None:
    """By kill -9, once a wave run has a checkpoint."""
    waves = [WavesFolder(str(HazardFolder(run).waves("A", direction))) for direction in "xy"]
    kill_when(command("run", config, "--directory", run), config.parent, lambda: waves[0].checkpoint.is_file())
    assert waves[0].checkpoint.is_file() and not waves[0].record.is_file()


def resumed_at(run) -> int:
    """By what the wave run says."""
    said = re.search(r"going on from step (\d+)", (HazardFolder(run).site("A") / "waves-x.log").read_text())
    assert said is not None
    return int(said[1])


def test_waves_go_on_from_their_checkpoint(tmp_path):
    config, run = one_site(tmp_path), tmp_path / "run"
    killed_in_waves(config, run)
    done = craton("resume", run, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    step = resumed_at(run)
    print(f"killed in 767 steps, gone on from step {step}")
    assert 100 <= step < 767 and step % 100 == 0
    assert not WavesFolder(str(HazardFolder(run).waves("A", "x"))).working
    run_here(config, tmp_path / "whole")
    a, b = contents(run), contents(tmp_path / "whole")
    assert a.keys() == b.keys() and [name for name in a if a[name] != b[name]] == []


@pytest.mark.long
def test_another_way_of_running_may_finish_it(tmp_path):
    """One rank instead of two, which begins the waves anew, as checkpoints are of bricks; ruptures are shared out otherwise."""
    run, longer = tmp_path / "run", ("duration_s = 60.0", "duration_s = 1000.0")  # ranks take a moment to end
    config = one_site(tmp_path, longer, ("variations_per_task = 4", "variations_per_task = 100\nranks = 2"))
    killed_in_waves(config, run)
    config = one_site(tmp_path, longer)
    done = craton("resume", run, config, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "going on" not in (HazardFolder(run).site("A") / "waves-x.log").read_text()
    run_here(config, tmp_path / "whole")
    psa = []
    for folder in (run, tmp_path / "whole"):
        with h5py.File(HazardFolder(folder).finished("A")) as file:
            psa.append(file["measures/psa"][()])
    np.testing.assert_allclose(psa[0], psa[1], rtol=1e-5)
    # and once all is done another portion size does no harm
    config = one_site(tmp_path, longer, ("variations_per_task = 4", "variations_per_task = 100"))
    done = craton("resume", run, config, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
