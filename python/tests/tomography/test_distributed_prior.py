"""The Gaussian prior's lateral part dealt over ranks: the same as whole, and no rank has it whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from craton._craton import ModelBasis
from craton._launch import mpiexec_command
from craton.tomography.folder import RunFolder
from craton.tomography.model.sphere import even_points
from craton.tomography.model.splines import lateral_matrix, parts_of
from craton.tomography.prior import make
from craton.tomography.prior.gaussian import lateral_covariance
from craton.tomography.prior.lateral import LateralCovariance
from helpers import OF_OPEN_MPI, environment_without_mpi
from started_ranks import launch

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start

PROGRAM = Path(__file__).parents[1] / "programs" / "dealt_prior.py"


def on_ranks(ranks, ranks_per_node):
    """What the program prints."""
    environment = environment_without_mpi(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if os.geteuid() == 0:
        environment |= OF_OPEN_MPI
    if ranks_per_node:
        environment["CRATON_RANKS_PER_NODE"] = str(ranks_per_node)
    command = [*mpiexec_command(), "--oversubscribe", "-n", str(ranks), sys.executable, str(PROGRAM)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


ALL = [(1, 0), (2, 0), (3, 0), (4, 0), (2, 1), (4, 2)]


@pytest.mark.parametrize(
    ("ranks", "ranks_per_node"),
    [pytest.param(*case, marks=[] if case in ((4, 2),) else pytest.mark.long) for case in ALL],
)
def test_dealt_is_whole(ranks, ranks_per_node):
    """On ranks of one machine, and of several that read each other's elements by messages."""
    told = on_ranks(ranks, ranks_per_node)
    found = told["found"]
    assert found.pop("share") < {1: 0.53, 2: 0.28, 3: 0.21, 4: 0.16}[ranks]
    assert {name: value for name, value in found.items() if not value < 1e-10} == {}
    assert len(told["told"]) == 2
    for line in told["told"]:
        assert (
            line.startswith("[prior] correlation_km = ") and "numerically singular" in line and "allowed: up to" in line
        )


def test_elements_are_those_of_the_whole():
    basis = ModelBasis(2, np.linspace(3480e3, 6368e3, 5))
    whole, by_element = lateral_covariance(basis, 2000.0, 0.01), LateralCovariance.of(basis, 2000.0, 0.01)
    rows, cols = np.array([3, 5, 5, 41]), np.array([5, 0])
    np.testing.assert_allclose(by_element.elements(rows, cols), whole[np.ix_(rows, cols)], rtol=1e-12)
    np.testing.assert_allclose(by_element.at(rows[:2], cols), whole[rows[:2], cols], rtol=1e-12)
    splines = lateral_matrix(basis, *even_points(4 * basis.n_lateral))
    variance = by_element.variance(splines)
    np.testing.assert_allclose(
        variance, np.einsum("pa,ab,pb->p", splines.toarray(), whole, splines.toarray()), rtol=1e-10
    )
    assert variance.mean() == pytest.approx(1.0, rel=1e-12)


def test_runs_of_many_knots_have_it_dealt(small_config, monkeypatch):
    """Each parameter by its own knots."""
    radii_m = np.linspace(3480e3, 6368e3, 5)
    basis, chosen = ModelBasis(ModelBasis(2, radii_m), ModelBasis(1, radii_m)), []
    monkeypatch.setattr(make, "distributed_lateral", lambda part, *_: part.n_lateral)
    monkeypatch.setattr(
        make,
        "gaussian_prior",
        lambda all_of, _, __, deal: chosen.append([deal(part, 1e3, 0.1) for part in parts_of(all_of)]),
    )
    monkeypatch.setattr(make, "around", lambda prior, mean: prior)
    for most, alone in ((10, False), (20, False), (10, True), (1000, False)):
        monkeypatch.setattr(make, "KNOTS_ON_EACH_NODE", most)
        make.make_prior(basis, small_config.prior, None, MPI.COMM_SELF, alone=alone)
    assert chosen == [[42, 12], [42, None], [None, None], [None, None]]


def test_one_parameter_dealt_and_the_other_whole(small_config, tmp_path, monkeypatch):
    config = small_config.replaced("basis", lateral_level=2, xi=True, xi_level=1).replaced("paths", maximum=60)
    config = config.replaced("inversion", max_iterations=1, precision="float64")
    models = []
    for most in (20, 1000):
        monkeypatch.setattr(make, "KNOTS_ON_EACH_NODE", most)
        here = config.replaced("run", directory=str(tmp_path / f"{most}"))
        start.run(here, MPI.COMM_SELF, report=False)
        models.append(RunFolder(tmp_path / f"{most}").read_model()["models"][-1])
    assert np.abs(models[0] - models[1]).max() < 1e-7 * np.abs(models[1]).max()


@pytest.mark.long
def test_a_run_ends_with_the_same_model(small_config, tmp_path, monkeypatch):
    """2,562 knots: by one rank, dealt over two, and over four of two machines; and whole, as one rank alone wants it."""
    config = small_config.replaced("basis", lateral_level=5, radial=4).replaced("inversion", max_iterations=2)
    models = []
    for ranks, ranks_per_node in ((1, 0), (2, 0), (4, 2)):
        here = config.replaced("run", directory=str(tmp_path / f"{ranks}"))
        (tmp_path / "case.toml").write_text(here.to_toml(), encoding="utf-8")
        launch(tmp_path / "case.toml", ranks, ranks_per_node)
        models.append(RunFolder(tmp_path / f"{ranks}").read_model()["models"][-1])
    monkeypatch.setattr(make, "KNOTS_ON_EACH_NODE", 10**6)
    start.run(config.replaced("run", directory=str(tmp_path / "whole")), MPI.COMM_SELF, report=False)
    models.append(RunFolder(tmp_path / "whole").read_model()["models"][-1])
    for other in models[1:]:
        assert np.abs(other - models[0]).max() < 1e-4 * np.abs(models[0]).max()
