"""An inversion with its jobs through Parsl, and what its spectra take."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

import command_line
from craton.regional.folder import RegionalFolder
from craton.runs.files import read_hdf5
from hazard_pipeline import kill_when
from helpers import command_of
from parsl_here import configuration
from regional_config import written


def craton(*words, cwd):
    done = command_line.craton("regional", *words, cwd=cwd, seconds=400)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.long
def test_the_same_model_through_parsl_killed_and_resumed(tmp_path):
    pytest.importorskip("parsl", reason="parsl is not installed: pip install 'craton[cluster]'")
    config = written(
        tmp_path, ("iterations = 2", "iterations = 1"), ("[inversion]", "[run]\nstep_ranks = 1\n[inversion]")
    )
    craton("run", config, "--no-report", cwd=tmp_path)
    there, engine = tmp_path / "through-parsl", configuration(tmp_path)
    words = command_of("regional", "run", config, "--directory", there, "--parsl-config", engine, "--no-report")
    kill_when(words, tmp_path, (there / "states/000/stations/A-x/record.json").is_file)
    assert RegionalFolder(there).read_run()["engine"] == "parsl"
    craton("resume", there, "--no-report", cwd=tmp_path)
    ours, theirs = (read_hdf5(RegionalFolder(at).model)["change"] for at in (tmp_path / "small-run", there))
    assert np.abs(ours - theirs).max() <= 1e-6 * np.abs(ours).max()


@pytest.mark.long
def test_16_bits_change_little_and_disk_is_as_foretold(tmp_path):
    gradients, hessians = [], []
    for bits in (32, 16):
        place = tmp_path / str(bits)
        place.mkdir()
        config = written(
            place,
            ("spacing_m = [2000.0, 2000.0, 2000.0]", f"spacing_m = [2000.0, 2000.0, 2000.0]\nbits = {bits}"),
            ("iterations = 2", "iterations = 1"),
            ("[inversion]", "[run]\nkeep_spectra = true\nstep_ranks = 1\n[inversion]\nkeep_hessian = true"),
        )
        foretold = json.loads(craton("check", config, "--json", cwd=place).stdout)["disk_bytes"]
        craton("run", config, "--no-report", cwd=place)
        folder = RegionalFolder(place / "small-run")
        taken = sum(path.stat().st_size for path in folder.states.rglob("spectra-*.h5"))
        print(f"{bits} bits: {taken / foretold:.3f} of what was foretold")
        assert 0.9 < taken / foretold < 1.1
        step = read_hdf5(folder.state(0).step)
        gradients.append(step["gradient"])
        hessians.append(read_hdf5(folder.state(0).hessian)["hessian"])
    for of, (one, other) in (("gradients", gradients), ("Hessians", hessians)):
        apart = np.linalg.norm(other - one) / np.linalg.norm(one)
        print(f"{of} differ by {apart:.1e}")
        assert apart < 1e-3
