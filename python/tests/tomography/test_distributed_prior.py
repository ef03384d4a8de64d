"""The Gaussian prior's lateral part dealt over ranks: the same as whole, and no rank has it whole."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from craton import SymmetricMatrix, World
from craton._craton import ModelBasis
from craton._launch import mpiexec_command
from craton.tomography.folder import RunFolder
from craton.tomography.model.sphere import even_points
from craton.tomography.model.splines import lateral_matrix, parts_of
from craton.tomography.prior import make
from craton.tomography.prior.distributed import DistributedSeparable
from craton.tomography.prior.distributed_layers import DistributedLayered
from craton.tomography.prior.gaussian import lateral_covariance
from craton.tomography.prior.lateral import LateralCovariance
from helpers import OF_OPEN_MPI, environment_without_mpi
from started_ranks import launch

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start

PROGRAM = Path(__file__).parents[1] / "programs" / "dealt_prior.py"


@functools.cache
def on_ranks(ranks, ranks_per_node, program=PROGRAM, *arguments):
    """What a program prints."""
    environment = environment_without_mpi(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if os.geteuid() == 0:
        environment |= OF_OPEN_MPI
    if ranks_per_node:
        environment["CRATON_RANKS_PER_NODE"] = str(ranks_per_node)
    command = [*mpiexec_command(), "--oversubscribe", "-n", str(ranks), sys.executable, str(program), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


ALL = [(1, 0), (2, 0), (3, 0), (4, 0), (2, 1), (4, 2), (4, 1)]
EACH = [pytest.param(*case, marks=[] if case in ((4, 2),) else pytest.mark.long) for case in ALL]


@pytest.mark.parametrize(("ranks", "ranks_per_node"), EACH)
def test_dealt_is_whole(ranks, ranks_per_node):
    """On ranks of one machine, and of several that read each other's elements by messages."""
    told = on_ranks(ranks, ranks_per_node)
    assert set(told["found"]) == {"one length", "by depth", "in one order"}
    for form, found in told["found"].items():
        assert told["shares"][form] < {1: 0.53, 2: 0.28, 3: 0.21, 4: 0.16}[ranks]
        assert {name: value for name, value in found.items() if not value < 1e-10} == {}, form
    assert len(told["told"]) == 6
    for line in told["told"]:
        assert (
            line.startswith("[prior] correlation_km = ") and "numerically singular" in line and "allowed: up to" in line
        )


@pytest.mark.parametrize(("ranks", "ranks_per_node"), EACH)
def test_the_inverse_in_one_order_has_the_same_bits_on_any_ranks(ranks, ranks_per_node):
    """300 knots, in two rows of tiles; the inverse, and its products."""
    assert on_ranks(ranks, ranks_per_node)["bits"] == on_ranks(1, 0)["bits"]


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
    """Each parameter by its own knots; lengths that vary with depth wherever sums may have any order."""
    radii_m = np.linspace(3480e3, 6368e3, 5)
    basis, chosen = ModelBasis(ModelBasis(2, radii_m), ModelBasis(1, radii_m)), []

    def choose(all_of, _config, _share, deal):
        chosen.append([[deal.deals(part, one_length=one) for one in (True, False)] for part in parts_of(all_of)])

    monkeypatch.setattr(make, "gaussian_prior", choose)
    monkeypatch.setattr(make, "around", lambda prior, mean: prior)
    for most, in_one_order in ((10, False), (20, False), (10, True), (1000, False)):
        monkeypatch.setattr(make, "KNOTS_ON_EACH_NODE", most)
        make.make_prior(basis, small_config.prior, None, MPI.COMM_SELF, in_one_order=in_one_order)
    assert chosen == [[[True, True]] * 2, [[True, True], [False, False]], [[True, False]] * 2, [[False, False]] * 2]


def test_what_knots_have_in_common_is_made_once(monkeypatch):
    radii_m, made = np.linspace(3480e3, 6368e3, 5), []
    one, other = ModelBasis(2, radii_m), ModelBasis(1, radii_m)
    monkeypatch.setattr(make, "distributed_lateral", lambda basis, *_: made.append(basis.n_lateral) or object())
    deal = make.DealtOverRanks(None, MPI.COMM_SELF, 1, False)
    same = [deal.inverse(each, km, 0.1) for each, km in ((one, 1e3), (other, 1e3), (one, 1e3), (one, 2e3))]
    assert made == [42, 12, 42] and same[0] is same[2] and same[0] is not same[1]


def test_the_posterior_has_it_dealt(small_config, monkeypatch):
    """Posterior and strength take explicit_prior."""
    world = World(MPI.COMM_SELF)
    monkeypatch.setattr(make, "KNOTS_ON_EACH_NODE", 20)
    basis = ModelBasis(2, np.linspace(3480e3, 6368e3, 5))
    system = SymmetricMatrix(world, basis.size, dtype="float64", block=16)
    (part,) = make.explicit_prior(basis, small_config.prior, system, world, MPI.COMM_SELF).parts
    assert isinstance(part, DistributedSeparable)
    by_depth = replace(small_config.prior, correlation_km=((0.0, 1000.0), (2891.0, 2000.0)))
    (part,) = make.explicit_prior(basis, by_depth, system, world, MPI.COMM_SELF).parts
    assert isinstance(part, DistributedLayered)


@pytest.mark.parametrize("correlation_km", [1500.0, ((0.0, 1200.0), (2891.0, 2000.0))], ids=["one length", "by depth"])
def test_one_parameter_dealt_and_the_other_whole(small_config, tmp_path, monkeypatch, correlation_km):
    small_config = small_config.replaced("prior", correlation_km=correlation_km)
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


REPRODUCIBLE = """
import hashlib
import json
import sys
from craton._launch import main_guard
with main_guard():
    from craton.tomography.config.load import load_config
    from craton.tomography.folder import RunFolder
    from craton.tomography.prior import make
    from craton.tomography.start import run
    from mpi4py import MPI
    make.KNOTS_ON_EACH_NODE = 20
    comm = MPI.COMM_WORLD
    directory = f"{sys.argv[2]}-{comm.size}"
    run(load_config(sys.argv[1]).replaced("run", directory=directory), comm, report=False)
    if comm.rank == 0:
        stored = RunFolder(directory).read_model()
        print(json.dumps([hashlib.sha256(stored[name].tobytes()).hexdigest() for name in ("models", "prior_weights")]))
"""


@pytest.mark.long
def test_a_reproducible_run_with_a_dealt_prior_has_the_same_bits_on_any_ranks(small_config, tmp_path):
    config = small_config.replaced("basis", lateral_level=2).replaced("paths", maximum=60)
    config = config.replaced("inversion", max_iterations=2, precision="float64", reproducible=True)
    (tmp_path / "case.toml").write_text(config.to_toml(), encoding="utf-8")
    (tmp_path / "program.py").write_text(REPRODUCIBLE)
    found = [
        on_ranks(*case, tmp_path / "program.py", str(tmp_path / "case.toml"), str(tmp_path / "run"))
        for case in ((1, 0), (2, 0), (3, 0), (4, 2))
    ]
    assert all(other == found[0] for other in found[1:])


def test_an_inverse_and_a_root_of_one_length_are_two():
    """As of two parameters with the same lateral knots, one with several lengths over depth."""
    basis = ModelBasis(2, np.linspace(3480e3, 6371e3, 5))
    dealt = make.DealtOverRanks(World(MPI.COMM_SELF), MPI.COMM_SELF, 1, False)
    inverse, root = (give(basis, 2000.0, 1e-3) for give in (dealt.inverse, dealt.root))
    assert type(inverse) is not type(root)
    assert dealt.inverse(basis, 2000.0, 1e-3) is inverse and dealt.root(basis, 2000.0, 1e-3) is root
