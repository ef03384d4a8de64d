"""Inversions of vertical, radial and transverse motion for dlnVs and dlnxi, by path averages and by NACT."""

import json
import pathlib

import command_line
import h5py
import numpy as np
import pytest
from craton.tomography import load_config
from craton.tomography.start import run
from craton.tomography.stored.run import read_data, read_problem
from mpi4py import MPI

ROOT = pathlib.Path(__file__).parents[3]

CONFIG = """
[run]
directory = "run"
[theory]
kind = "{theory}"
[modes]
shortest_period_s = 200
[basis]
lateral_level = 2
radial = 5
xi = true
[events]
file = "{root}/examples/global/earthquakes.csv"
[stations]
file = "{root}/examples/global/stations.csv"
[paths]
maximum = 16
[data]
components = "ZRT"
filter_periods_s = [800, 600, 250, 200]
sample_interval_s = 20
[target]
checkerboard_degree = 4
[inversion]
max_iterations = 2
precision = "float64"
"""


def craton(*words):
    """Craton tomography in a process of its own."""
    done = command_line.craton("tomography", *words, seconds=300)
    assert done.returncode == 0, done.stderr


def written(tmp_path, theory):
    file = tmp_path / "zrt.toml"
    file.write_text(CONFIG.format(theory=theory, root=ROOT))
    return file


@pytest.mark.parametrize("theory", ["pava", "nact"])
def test_three_components_recover_vs_and_no_anisotropy(tmp_path, theory):
    config = load_config(written(tmp_path, theory)).replaced("run", directory=str(tmp_path / "run"))
    record = run(config, report=False)
    assert record.paths == 48
    assert record.iterations[-1].residual_reduction > 0.9
    # About half of N: what is left is the noise.
    assert 0.8 < record.iterations[-1].chi_data / (0.5 * record.samples) < 1.1
    with h5py.File(tmp_path / "run" / "model.h5") as file:
        models, target = file["models"][:], file["target"][:]
        assert int(file.attrs["parameters"]) == 2
    half = models.shape[1] // 2
    assert np.all(target[half:] == 0)
    found = models[-1]
    assert np.linalg.norm(found[half:]) < np.linalg.norm(found[:half])
    with h5py.File(tmp_path / "run" / "data.h5") as file:
        letters = [letter.decode() for letter in file["paths/component"][:]]
    assert letters[:3] == ["Z", "R", "T"]
    problem = read_problem(tmp_path / "run" / "hessian.h5", MPI.COMM_SELF)
    # What cross-validation begins with is the run's own theory.
    assert read_data(problem).misfit(problem.world, problem.model) == pytest.approx(problem.chi_data, rel=1e-5)


@pytest.mark.long
def test_two_ranks_find_the_same_and_solve_again(tmp_path):
    file = written(tmp_path, "nact")
    for ranks in (1, 2):
        craton("run", file, "--ranks", ranks, "--directory", tmp_path / f"on{ranks}")
    models = []
    for ranks in (1, 2):
        with h5py.File(tmp_path / f"on{ranks}" / "model.h5") as stored:
            models.append(stored["models"][-1])
    assert np.linalg.norm(models[0] - models[1]) < 1e-7 * np.linalg.norm(models[0])
    craton("solve", tmp_path / "on2", "--prior", "xi_strength=0.005", "--directory", tmp_path / "weaker")
    with h5py.File(next((tmp_path / "weaker").rglob("model.h5"))) as stored:
        again = stored["models"][-1]
    half = len(again) // 2
    assert np.linalg.norm(again[half:]) < np.linalg.norm(models[1][half:])
    assert json.loads((tmp_path / "on2" / "record.json").read_text())["config"]["basis"]["xi"] is True
