"""Seismograms of one theory, derivatives of another: the hybrid method in one process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from craton import ConvergentVector, SymmetricMatrix, UserError, World
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.forward import ModeTheory, forward_problems, predicted_elsewhere
from craton.tomography.stored.run import read_data, read_problem
from interrupted_inversion import run_one_iteration

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start


@pytest.fixture(scope="module")
def hybrid(small_config, tmp_path_factory):
    """Data of coupled modes, 120 paths."""
    config = small_config.replaced("run", directory=str(tmp_path_factory.mktemp("hybrid") / "run"))
    config = config.replaced("theory", kind="nact", derivatives="pava").replaced("target", theory="nact")
    config = config.replaced("paths", maximum=120).replaced("inversion", precision="float64", max_iterations=5)
    return config, start.run(config, MPI.COMM_SELF, report=False)


def test_one_problem_or_two(hybrid):
    config, _ = hybrid
    folder = RunFolder(config.run.directory)
    data = read_data(read_problem(folder.hessian, MPI.COMM_SELF))
    modes, basis = data.forward.modes, data.forward.basis
    assert (data.forward.theory, data.derivatives.theory) == ("nact", "pava")
    one, same = forward_problems(config.replaced("theory", derivatives=""), basis, modes, None)
    assert one is same and one.theory == "nact"
    one, same = forward_problems(config.replaced("theory", derivatives="nact"), basis, modes, None)
    assert one is same


def test_the_gradient_is_of_both(hybrid):
    """G of path averages times what coupled modes leave of the data; the Hessian is that of path averages."""
    config, _ = hybrid
    folder, world = RunFolder(config.run.directory), World(MPI.COMM_SELF)
    problem = read_problem(folder.hessian, MPI.COMM_SELF)
    data, model = read_data(problem), folder.read_model()["models"][1]
    found, gradient, chi = data.assemble(world, model, problem.hessian)
    rich, cheap = (
        ModeTheory(each, data.observations, world, MPI.COMM_SELF, config.assembly)
        for each in (data.forward, data.derivatives)
    )
    g, own_g = rich.seismograms(model), cheap.seismograms(model)
    assert np.linalg.norm(g - own_g) > 0.02 * np.linalg.norm(g)
    assert chi == pytest.approx(rich.chi_data(model), rel=1e-6) and data.misfit(world, model) == rich.chi_data(model)
    hessian, other = SymmetricMatrix(world, len(model)), ConvergentVector(world, len(model), 64)
    apart = replace(
        data.observations, observed=data.observations.observed - g + own_g
    )  # of which cheap g leaves as much
    ModeTheory(data.derivatives, apart, world, MPI.COMM_SELF, config.assembly).assemble(model, hessian, other)
    np.testing.assert_allclose(gradient, other.gather(), rtol=1e-9, atol=1e-9 * np.abs(gradient).max())
    np.testing.assert_allclose(found.diagonal(), hessian.diagonal(), rtol=1e-9)
    assert predicted_elsewhere(rich, rich, model) is None and predicted_elsewhere(rich, cheap, model) is g


def test_seismograms_of_the_richer_theory_find_a_better_earth(hybrid, small_config, tmp_path):
    """Path averages alone cannot fit these data."""
    config, record = hybrid
    cheap = config.replaced("theory", kind="pava", derivatives="").replaced("run", directory=str(tmp_path / "cheap"))
    other = start.run(cheap, MPI.COMM_SELF, report=False)
    assert record.judgement is not None and other.judgement is not None
    assert record.judgement.fit - 1.0 < 0.6 * (other.judgement.fit - 1.0)
    assert record.correlation is not None and other.correlation is not None
    assert record.correlation.overall > other.correlation.overall
    assert record.synthetics == "modes, nact; derivatives of modes, pava" and other.synthetics == "modes, pava"


def test_a_resumed_run_goes_on_with_both(hybrid, tmp_path):
    config, _ = hybrid
    run_one_iteration(config.replaced("run", directory=str(tmp_path / "run")))
    start.resume(tmp_path / "run", None, MPI.COMM_SELF, report=False)
    found, whole = (RunFolder(place).read_model()["models"] for place in (tmp_path / "run", config.run.directory))
    assert np.abs(found - whole).max() < 1e-8 * np.abs(whole).max()


def test_the_plan_counts_both(hybrid):
    from craton.tomography.plan.work import count_work

    config, _ = hybrid
    work, geometry = count_work(config)
    assert not work.coupled and work.coupled_synthetics and work.coupling_bytes > 0 and not work.checked
    assert (geometry.synthetics.theory, geometry.forward.theory) == ("nact", "pava")
    alone, _ = count_work(config.replaced("theory", kind="pava", derivatives=""))
    assert alone.product_flop == work.product_flop and not alone.coupled_synthetics


def test_a_theory_of_derivatives_that_is_none(small_config):
    with pytest.raises(UserError, match=r'\[theory\] derivatives = "ray"; allowed: .*"nact_in_plane"'):
        small_config.replaced("theory", derivatives="ray")
