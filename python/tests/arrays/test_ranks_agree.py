"""The same Hessian and the same model from 1, 2, 3 and 4 ranks, and from 4 ranks that pretend to be 4 machines."""

import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
from craton._launch import mpiexec_command
from craton.tomography.inversion.hessian_file import whole_hessian
from helpers import OF_OPEN_MPI, environment_without_mpi

RANK = """
import json, sys
from craton._launch import main_guard
with main_guard():
    from mpi4py import MPI
    from craton.tomography.config.load import load_config
    from craton.tomography.start import run
    record = run(load_config(sys.argv[1]), MPI.COMM_WORLD, report=False)
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps({"ranks": record.ranks, "nodes": record.nodes}))
"""

CASES = {"1": (1, 0), "2": (2, 0), "3": (3, 0), "4": (4, 0), "4 machines": (4, 1)}
SECONDS_ALLOWED = 240


@pytest.fixture(scope="module")
def results(small_config, tmp_path_factory):
    """Hessian, model, and what the run said of itself, for each case."""
    folder = tmp_path_factory.mktemp("ranks")
    found = {}
    for number, (name, (ranks, ranks_per_node)) in enumerate(CASES.items()):
        config = small_config.replaced("inversion", max_iterations=1, precision="float32", block=64)
        config = (
            config.replaced("basis", lateral_level=2)
            .replaced("run", directory=str(folder / f"run{number}"))
            .replaced("paths", maximum=100)
        )
        file = folder / f"case{number}.toml"
        file.write_text(config.to_toml(), encoding="utf-8")
        launch(file, ranks, ranks_per_node)
        hessian = np.triu(whole_hessian(folder / f"run{number}" / "hessian.h5"))
        with h5py.File(folder / f"run{number}" / "model.h5") as stored:
            model = stored["models"][-1]
        with h5py.File(folder / f"run{number}" / "data.h5") as stored:
            observed = stored["observed"][:]
        found[name] = {"hessian": hessian, "model": model, "observed": observed}
    return found


def launch(config, ranks, ranks_per_node):
    environment = environment_without_mpi(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if os.geteuid() == 0:
        environment |= OF_OPEN_MPI
    if ranks_per_node:
        environment["CRATON_RANKS_PER_NODE"] = str(ranks_per_node)
    command = [*mpiexec_command(), "--oversubscribe", "-n", str(ranks), sys.executable, "-c", RANK, str(config)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=SECONDS_ALLOWED, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    nodes = ranks // ranks_per_node if ranks_per_node else 1
    assert f'{{"ranks": {ranks}, "nodes": {nodes}}}' in done.stdout


def relative(one, other):
    return np.linalg.norm(one.astype(np.float64) - other) / np.linalg.norm(other)


@pytest.mark.parametrize("case", list(CASES)[1:])
def test_data_do_not_depend_on_the_ranks(results, case):
    np.testing.assert_allclose(results[case]["observed"], results["1"]["observed"], rtol=1e-12, atol=1e-20)


@pytest.mark.parametrize("case", list(CASES)[1:])
def test_hessian_does_not_depend_on_the_ranks(results, case):
    assert relative(results[case]["hessian"], results["1"]["hessian"]) < 1e-5


@pytest.mark.parametrize("case", list(CASES)[1:])
def test_model_does_not_depend_on_the_ranks(results, case):
    assert relative(results[case]["model"], results["1"]["model"]) < 1e-3
