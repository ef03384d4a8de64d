"""The Matern prior: its covariance beside the theory, equation 2 beside dense algebra, an inversion, and every error."""

import dataclasses
import json
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from craton import UserError
from craton._launch import run_under_mpi
from scipy.spatial.distance import cdist

MPI = pytest.importorskip("mpi4py.MPI")

import craton
from craton._craton import ModelBasis
from craton.inverse import parts
from craton.inverse.normal_equations import NormalEquations
from craton.runs.progress import make_console
from craton.tomography import start as inversion
from craton.tomography.config.load import load_config, load_prior
from craton.tomography.config.matern_grid import box_side, cells_needed, check_resolution
from craton.tomography.config.prior import PriorConfig, prior_from_dict
from craton.tomography.config.values import at_depth
from craton.tomography.folder import RunFolder
from craton.tomography.model.parameters import only_block
from craton.tomography.model.sphere import unit_vectors
from craton.tomography.model.splines import lateral_matrix, make_basis
from craton.tomography.prior import matern as matern_prior
from craton.tomography.prior import matern_near
from craton.tomography.prior.make import make_prior
from craton.tomography.prior.matern import MaternPrior, gmres
from craton.tomography.prior.matern_field import KnotSplines, MaternField
from craton.tomography.stored.solve import solve_again

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "global" / "checkerboard.toml"
EARTH_KM = 6371.0
KNOTS_M = np.linspace(3480e3, 6368e3, 4)
SMALL = PriorConfig(
    kind="matern", correlation_km=3000.0, strength=((0.0, 0.05), (800.0, 0.05), (2000.0, 0.02), (2891.0, 0.02))
)


@pytest.fixture(scope="module")
def world():
    return craton.World(MPI.COMM_SELF)


@pytest.fixture(scope="module")
def basis():
    return ModelBasis(2, KNOTS_M)


@pytest.fixture(scope="module")
def prior(basis, world):
    return MaternPrior(basis, SMALL, world, MPI.COMM_SELF)


@pytest.fixture(scope="module")
def covariance(basis, prior):
    """C_m, column by column."""
    return np.stack([prior.covariance_times(unit) for unit in np.eye(basis.size)], axis=1)


# -------------------------------------------------------------------------------------------------------- the theory


def points_round(centre_km, distances_km, each):
    """`each` points in random directions at each distance from a centre."""
    directions = np.random.default_rng(3).standard_normal((len(distances_km), each, 3))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    return (centre_km + np.asarray(distances_km)[:, None, None] * directions).reshape(-1, 3)


@pytest.mark.parametrize(
    ("correlation_km", "cells", "centre_km"),
    [
        (1000.0, 48, (130.0, -70.0, 410.0)),
        (1000.0, 64, (2000.0, 900.0, -1500.0)),
        (2500.0, 48, (0.0, 0.0, 0.0)),
        pytest.param(500.0, 96, (300.0, 200.0, 100.0), marks=pytest.mark.long),
    ],
)
def test_deviation_and_correlation_are_the_theorys(world, correlation_km, cells, centre_km):
    """A column of the covariance at a point inside: 1 at the point, exp(-r / correlation_km) at distance r, all to 5%."""
    distances_km = correlation_km * np.array([0.36, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0])
    distances_km = distances_km[distances_km < EARTH_KM - np.linalg.norm(centre_km)]  # inside the Earth
    points = np.vstack([centre_km, points_round(np.array(centre_km), distances_km, 12)])
    field = MaternField(world, MPI.COMM_SELF, points, correlation_km, cells)
    column = field.covariance_times(np.eye(1, len(points))[0])
    assert np.sqrt(column[0]) == pytest.approx(1.0, rel=0.001)
    found = column[1:].reshape(len(distances_km), -1)
    expected = np.exp(-distances_km / correlation_km)[:, None]
    far = distances_km > 1.5 * field.cell_km
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=0.05)
    np.testing.assert_allclose(found[far], np.broadcast_to(expected[far], found[far].shape), rtol=0.01)
    slope = np.polyfit(distances_km, np.log(found.mean(axis=1)), 1)[0]
    assert -1.0 / slope == pytest.approx(correlation_km, rel=0.02)
    assert field.unresolved.min() > 0.0 and field.unresolved.max() < 0.3


def test_the_field_at_the_knots_is_as_strong_and_as_long_as_asked(basis, prior, covariance):
    """DlnVs at all knots, by the splines' own values there."""
    lateral = lateral_matrix(basis, np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg)).toarray()
    at_knots = np.kron(lateral, basis.radial_values(KNOTS_M))
    of_field = at_knots @ covariance @ at_knots.T
    deviation = np.sqrt(np.diag(of_field))
    strength = np.tile([at_depth(SMALL.strength, EARTH_KM - radius / 1e3) for radius in KNOTS_M], basis.n_lateral)
    np.testing.assert_allclose(deviation, strength, rtol=0.01)
    directions = unit_vectors(np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))
    distance_km = cdist(*[(directions[:, None, :] * KNOTS_M[None, :, None] / 1e3).reshape(-1, 3)] * 2)
    correlation, expected = of_field / np.outer(deviation, deviation), np.exp(-distance_km / SMALL.correlation_km)
    near = distance_km < 2 * SMALL.correlation_km
    np.testing.assert_allclose(correlation[near], expected[near], rtol=0.05)
    np.testing.assert_allclose(correlation, expected, atol=0.025)  # antipodes: exp(-4) from the periodic image


def test_the_covariance_is_symmetric_and_positive_definite(covariance):
    assert np.abs(covariance - covariance.T).max() < 1e-9 * np.abs(covariance).max()
    assert np.linalg.eigvalsh(covariance)[0] > 0.0


def test_the_roots_transpose_is_its_transpose(basis, prior):
    random = np.random.default_rng(4)
    cells, knots, weights = (random.standard_normal(n) for n in (prior.field.own_shape, basis.size, basis.size))
    forth = prior.root_times(cells, knots) @ weights
    back_cells, back_knots = prior.root_transposed_times(weights)
    assert forth == pytest.approx(np.vdot(cells, back_cells) + knots @ back_knots, rel=1e-8)


def test_no_noise_makes_no_field(basis, prior):
    assert not prior.root_times(np.zeros(prior.field.own_shape), np.zeros(basis.size)).any()


def test_threads_do_not_show(world):
    points = points_round(np.zeros(3), [500.0, 2500.0], 6)
    one, two = (MaternField(world, MPI.COMM_SELF, points, 3000.0, 32, threads) for threads in (1, 12))
    values = np.arange(len(points)) - 4.0
    np.testing.assert_allclose(two.covariance_times(values), one.covariance_times(values), rtol=1e-9)


def test_close_points_get_finer_cells():
    far, near = np.array([[0.0, 0, 0], [800.0, 0, 0]]), np.array([[0.0, 0, 0], [200.0, 0, 0]])
    assert cells_needed(far, 1000.0) == 48
    assert cells_needed(near, 1000.0) == 80
    assert cells_needed(1e-3 * near, 1000.0) == 160
    assert cells_needed(1e-3 * near, 320.0) == 192


# --------------------------------------------------------------------------------------------------------- equation 2


def hessian_of(world, dense):
    matrix = craton.SymmetricMatrix(world, len(dense), dtype="float64", block=32)
    matrix.update_symmetric(np.asfortranarray(dense), np.arange(len(dense)))
    matrix.commit()
    return matrix


@pytest.mark.parametrize("damping", [0.0, 0.01])
def test_step_solves_equation_2(world, basis, prior, covariance, damping):
    """Beside dense algebra: data that outweigh the prior by orders of magnitude in some directions, say nothing in others."""
    random = np.random.default_rng(5)
    jacobian = random.standard_normal((60, basis.size)) * np.logspace(0, 4, 60)[:, None]
    hessian = jacobian.T @ jacobian
    model = 0.02 * random.standard_normal(basis.size)
    gradient = jacobian.T @ random.standard_normal(60)
    inverse = np.linalg.inv(covariance)
    damped = hessian + damping * np.mean(np.diag(hessian)) * np.eye(basis.size)
    expected = np.linalg.solve(damped + inverse, gradient - inverse @ model)
    equations = NormalEquations(hessian_of(world, hessian), MPI.COMM_SELF, damping=damping)
    step = prior.step(equations, gradient, model)
    difference, total = step.model - expected, model + expected
    assert difference @ inverse @ difference < 1e-8 * (total @ inverse @ total)
    np.testing.assert_allclose(step.weights, inverse @ total, atol=1e-4 * np.abs(inverse @ total).max())
    steps, residual = prior.steps[-1]
    assert steps < 40 and residual <= matern_prior.TOLERANCE


@pytest.fixture
def sparse(basis, world, monkeypatch):
    """The same prior with the P of many knots."""
    monkeypatch.setattr(matern_near, "KNOTS_OF_DENSE", 10)
    return MaternPrior(basis, SMALL, world, MPI.COMM_SELF)


def test_the_step_does_not_depend_on_the_form_of_p(world, basis, prior, sparse, covariance):
    """Of few knots and of many; steps of GMRES are about as many."""
    random = np.random.default_rng(8)
    jacobian = random.standard_normal((60, basis.size)) * np.logspace(0, 4, 60)[:, None]
    hessian, gradient = jacobian.T @ jacobian, jacobian.T @ random.standard_normal(60)
    model = 0.02 * random.standard_normal(basis.size)
    ours, theirs = (
        each.step(NormalEquations(hessian_of(world, hessian), MPI.COMM_SELF), gradient, model)
        for each in (sparse, prior)
    )
    assert type(sparse.approximation).__name__ == "Sparse" and type(prior.approximation).__name__ == "Dense"
    inverse, total = np.linalg.inv(covariance), model + theirs.model
    difference = ours.model - theirs.model
    assert difference @ inverse @ difference < 1e-8 * (total @ inverse @ total)
    assert sparse.steps[-1][0] <= 1.3 * prior.steps[-1][0] + 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_p_is_the_matrix_that_a_system_gets(world, basis, prior, sparse, dtype):
    """Symmetric, positive definite, and in the system's first rows and columns alone."""
    vector = np.random.default_rng(9).standard_normal(basis.size)
    for each in (sparse, prior):
        system = craton.SymmetricMatrix(world, basis.size + 5, dtype=dtype, block=8)
        each.approximation.add_to(system)
        whole = np.triu(system.gather().astype(float))
        whole += np.triu(whole, 1).T
        assert not whole[basis.size :].any()
        expected = each.approximation.times(vector)
        close = 1e-5 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(
            whole[: basis.size, : basis.size] @ vector, expected, atol=close * np.abs(expected).max()
        )
        assert np.linalg.eigvalsh(whole[: basis.size, : basis.size])[0] > 0.0


@pytest.mark.parametrize("level", [1, 3])
def test_finite_elements_know_spherical_harmonics(level):
    """A harmonic of degree 1 has k^2 = 2 / R^2 and is linear in space; areas add up, and a constant has no Laplacian."""
    knots = ModelBasis(level, KNOTS_M)
    points = 4300.0 * unit_vectors(np.asarray(knots.latitude_deg), np.asarray(knots.longitude_deg))
    stiffness, areas = matern_near.finite_elements(points)
    assert areas.sum() == pytest.approx(4.0 * np.pi * 4300.0**2) and areas.min() > 0.0
    assert np.abs(stiffness @ np.ones(len(points))).max() < 1e-12
    assert np.abs((stiffness - stiffness.T).toarray()).max() < 1e-12
    for harmonic in points.T:
        quotient = (harmonic @ stiffness @ harmonic) / (areas @ harmonic**2)
        assert quotient == pytest.approx(2.0 / 4300.0**2, rel={1: 0.3, 3: 0.03}[level])


def test_p_of_many_knots_takes_no_square_of_them(world, monkeypatch):
    """2,562 knots: knots^2 would be 52 MB. Neither making P nor its product, nor adding it to a system takes half of that."""
    monkeypatch.setattr(parts, "CHUNK_BYTES", 1 << 20)
    basis = ModelBasis(5, KNOTS_M)
    system = craton.SymmetricMatrix(world, basis.size, dtype="float32", block=64)
    splines = KnotSplines(basis)
    square = 8 * basis.n_lateral**2
    tracemalloc.start()
    try:
        near = matern_near.near_precision(only_block(basis), splines, KNOTS_M / 1e3, np.full(4, 0.02), 1000.0)
        product = near.times(np.ones(basis.size))
        made = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        near.add_to(system)
        added = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert made[0] < 0.25 * square and made[1] < 0.5 * square
    assert added[0] < 0.25 * square and added[1] < 0.5 * square
    system.commit()
    row = system.read_slice(np.array([7]), np.arange(7, basis.size))
    assert np.count_nonzero(row) < 0.2 * basis.size and np.abs(product).max() > 0.0


def test_nothing_to_do(world, basis, prior):
    equations = NormalEquations(hessian_of(world, np.eye(basis.size)), MPI.COMM_SELF)
    step = prior.step(equations, np.zeros(basis.size), np.zeros(basis.size))
    assert not step.model.any() and not step.weights.any()


def test_gmres_beside_a_direct_solution():
    random = np.random.default_rng(6)
    matrix, root = np.eye(30) + 0.1 * random.standard_normal((30, 30)), random.standard_normal((30, 30))
    metric, right_hand_side, seen = root @ root.T + np.eye(30), random.standard_normal(30), []

    def go_on(steps, residual):
        seen.append(residual)
        return residual > 1e-12

    found = gmres(lambda v, _: matrix @ v, right_hand_side, lambda v: metric @ v, go_on)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right_hand_side), rtol=1e-8)
    assert all(later <= earlier for earlier, later in zip(seen, seen[1:], strict=False)) and len(seen) <= 30
    rest = right_hand_side - matrix @ gmres(
        lambda v, _: matrix @ v, right_hand_side, lambda v: metric @ v, lambda n, _: n < 5
    )
    size = right_hand_side @ metric @ right_hand_side
    assert seen[4] == pytest.approx(np.sqrt(rest @ metric @ rest / size), rel=1e-6)
    one = gmres(lambda v, _: 2 * v, np.ones(3), lambda v: v, lambda *_: True)  # exhausted after one step
    np.testing.assert_allclose(one, 0.5)


SEVERAL = """
import json
import numpy as np
from craton._launch import main_guard
with main_guard():
    import craton
    from craton._craton import ModelBasis
    from craton.tomography.config.prior import PriorConfig
    from craton.tomography.prior.make import make_prior
    from craton.inverse.normal_equations import NormalEquations
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    world = craton.World(comm)
    basis = ModelBasis(2, np.linspace(3480e3, 6368e3, 4))
    prior = make_prior(basis, PriorConfig(kind="matern", correlation_km=3000.0), world, comm)
    random = np.random.default_rng(7)
    jacobian = 100.0 * random.standard_normal((50, basis.size))
    matrix = craton.SymmetricMatrix(world, basis.size, dtype="float64", block=8)
    matrix.update_symmetric(np.asfortranarray(jacobian.T @ jacobian / world.size), np.arange(basis.size))
    matrix.commit()
    step = prior.step(NormalEquations(matrix, comm), jacobian.T @ random.standard_normal(50), np.zeros(basis.size))
    product = prior.covariance_times(np.arange(basis.size) % 3.0)
    found = np.stack([step.model / np.abs(step.model).max(), product / np.abs(product).max()])
    everyone = comm.gather(found)
    if comm.rank == 0:
        assert all(np.array_equal(one, found) for one in everyone)
        print(json.dumps(found.tolist()))
"""


@pytest.mark.long
def test_ranks_do_not_show(tmp_path, capfd):
    (tmp_path / "program.py").write_text(SEVERAL)
    found = []
    for ranks in (1, 2, 3):
        assert run_under_mpi([str(tmp_path / "program.py")], ranks, program=[sys.executable]) == 0
        found.append(np.array(json.loads(capfd.readouterr().out)))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=0, atol=1e-7)


# ----------------------------------------------------------------------------------------------------------- inversions


@pytest.fixture(scope="module")
def config(small_config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("matern") / "run"
    rough = {"kind": "matern", "correlation_km": 3000.0, "strength": 0.02}
    return (
        small_config.replaced("prior", **rough)
        .replaced("run", directory=str(folder))
        .replaced("inversion", max_iterations=2)
    )


@pytest.fixture(scope="module")
def record(config):
    return inversion.run(config, MPI.COMM_SELF, console=make_console(), report=True)


def test_an_inversion_explains_the_data_and_finds_the_target(config, record, small_config, tmp_path):
    """As well as the Gaussian prior does, given a longer length: with the same one it is rougher."""
    chi = [entry.chi for entry in record.iterations]
    assert all(later < earlier for earlier, later in zip(chi, chi[1:], strict=False)) and record.finished
    two = small_config.replaced("run", directory=str(tmp_path / "gaussian")).replaced("inversion", max_iterations=2)
    gaussian = inversion.run(two, MPI.COMM_SELF, report=False)
    ours, theirs = record.iterations[-1], gaussian.iterations[-1]
    assert ours.variance_reduction > 0.9
    assert ours.variance_reduction == pytest.approx(theirs.variance_reduction, abs=0.01)
    assert record.correlation.overall > gaussian.correlation.overall - 0.05
    assert '"kind": "matern"' in RunFolder(config.run.directory).report.read_text().replace("&#34;", '"')


def test_the_printed_misfit_is_the_priors(config, record, world):
    """chi_prior of the last model, which the iterations carry along, beside C_m y = m solved for y by conjugate gradients."""
    from craton._craton import EarthModel
    from scipy.sparse.linalg import LinearOperator, cg

    basis = make_basis(config, EarthModel.by_name(config.earth.model))
    prior = make_prior(basis, config.prior, world, MPI.COMM_SELF)
    model = RunFolder(config.run.directory).read_model()["models"][-1]
    covariance = LinearOperator((basis.size, basis.size), matvec=prior.covariance_times)
    near = LinearOperator((basis.size, basis.size), matvec=prior.approximation.times)
    weights, failed = cg(covariance, model, M=near, rtol=1e-6)
    assert not failed
    assert record.iterations[-1].chi_prior == pytest.approx(0.5 * model @ weights, rel=1e-3)


def test_solving_again_finds_the_same_model(config, record, tmp_path, capsys):
    folder = RunFolder(config.run.directory)
    summary = solve_again(folder.hessian, config.prior, tmp_path / "again", MPI.COMM_SELF)
    said = capsys.readouterr().out
    assert "Matern prior: correlation_km = 3000 on a grid of" in said and "steps to a residual of" in said
    models = folder.read_model()["models"]
    assert summary.prior["kind"] == "matern" and summary.linearised_at_iteration == len(models) - 2
    again = RunFolder(tmp_path / "again").read_model()["models"][-1]
    if record.iterations[-1].step_length == 1.0:
        np.testing.assert_allclose(again, models[-1], atol=1e-5 * np.abs(models[-1]).max())
    other = solve_again(
        folder.hessian, dataclasses.replace(config.prior, kind="gaussian"), tmp_path / "o", MPI.COMM_SELF
    )
    assert 0.5 < other.correlation_with_run < 0.9999


DEMO = """
import sys
from craton._launch import main_guard
with main_guard():
    from craton.tomography.config.load import load_config
    from craton.tomography.start import run
    from mpi4py import MPI
    config = load_config(sys.argv[1]).replaced("prior", kind="matern").replaced("run", directory=sys.argv[2])
    run(config, MPI.COMM_WORLD, report=False)
"""


@pytest.mark.long
def test_the_demo_under_it(tmp_path):
    """On two ranks, nothing but the kind of the prior changed."""
    (tmp_path / "program.py").write_text(DEMO)
    command = [str(tmp_path / "program.py"), str(EXAMPLE), str(tmp_path / "run")]
    assert run_under_mpi(command, 2, program=[sys.executable]) == 0
    record = RunFolder(tmp_path / "run").read_record()
    last = record.iterations[-1]
    assert len(record.iterations) <= 5 and last.variance_reduction > 0.98
    assert last.chi_data == pytest.approx(0.5 * record.samples, rel=0.02)
    assert record.correlation.overall > 0.9


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"correlation_km": 100.0}, r"correlation_km = 100 .*more than 192 cells .*allowed: 139 km or more"),
        ({"cells": 40}, r"cells = 40; allowed: 0 \(chosen for you\), or a multiple of 16 from 32 to 192"),
        ({"cells": 16}, r"cells = 16; allowed"),
        ({"cells": 208}, r"cells = 208; allowed"),
        (
            {"cells": 32, "correlation_km": 500.0},
            r"cells = 32 makes cells of 461 km, .*correlation_km = 500; allowed: 64",
        ),
    ],
)
def test_grids_that_cannot_be(world, basis, change, words):
    config = dataclasses.replace(SMALL, **change)
    with pytest.raises(UserError, match=rf"\[prior\] {words}"):
        make_prior(basis, config, world, MPI.COMM_SELF)


def test_the_shortest_length_that_is_named_is_allowed():
    check_resolution(0, 139.0)
    check_resolution(192, 139.0)
    with pytest.raises(UserError, match="more than 192 cells"):
        check_resolution(0, 138.0)


def test_more_ranks_than_boxes():
    assert [box_side(64, ranks) for ranks in (1, 8, 9, 65)] == [32, 32, 16, 8]
    with pytest.raises(
        UserError, match=r"cells = 32 make 512 boxes of 4 x 4 x 4 cells for 513 ranks; allowed: at least"
    ):
        box_side(32, 513)


def test_a_solution_that_does_not_converge_is_said_so(world, basis, prior, monkeypatch):
    monkeypatch.setattr(matern_prior, "MOST_STEPS", 2)
    hessian = hessian_of(world, 1e4 * np.diag(np.arange(basis.size) % 5.0))
    with pytest.raises(
        UserError, match=r"correlation_km = 3000 .*residual of equation 2 is .* after 2 steps; allowed: 1e-06"
    ):
        prior.step(NormalEquations(hessian, MPI.COMM_SELF), np.ones(basis.size), np.zeros(basis.size))


# ------------------------------------------------------------------------------------------------------------ settings


def test_ways_to_ask_for_it(tmp_path, small_config):
    text = small_config.to_toml()
    short = text[: text.index("[prior]")] + text[text.index("[inversion]") :]
    (tmp_path / "short.toml").write_text('prior = "matern"\n' + short)
    assert load_config(tmp_path / "short.toml").prior == PriorConfig(kind="matern")
    assert load_prior(str(tmp_path / "short.toml")) == PriorConfig(kind="matern")
    for spec in (
        "kind=matern,correlation_km=800",
        'kind="matern", correlation_km=800',
        "correlation_km=800, kind = matern",
    ):
        assert load_prior(spec) == PriorConfig(kind="matern", correlation_km=800.0)
    (tmp_path / "wrong.toml").write_text('prior = "mattern"\n' + short)
    with pytest.raises(UserError, match=r'\[prior\] kind = "mattern"; allowed: "gaussian" or "matern"'):
        load_config(tmp_path / "wrong.toml")
    with pytest.raises(UserError, match=r'kind = "mattern"; allowed: "gaussian" or "matern"'):
        load_prior("kind=mattern")
    with pytest.raises(UserError, match=r"--prior '.*': \[prior\] cells = 50; allowed: 0 .*multiple of 16"):
        load_prior("kind=matern,cells=50")
    with pytest.raises(UserError, match=r"checkerboard.toml: \[prior\] correlation_km = 20 .*allowed: 139 km or more"):
        small_config.replaced("prior", kind="matern", correlation_km=20.0)


def test_a_prior_stored_before_there_were_kinds_is_gaussian():
    old = {"correlation_km": 1000.0, "correlation_depth_km": 400.0, "strength": 0.03, "nugget": 1e-3}
    assert prior_from_dict(old, "hessian.h5") == PriorConfig(kind="gaussian")
