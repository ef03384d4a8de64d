"""`craton tomography posterior` and `solve` under several priors, on a run of 210 parameters."""

import json

import command_line
import numpy as np
import pytest
from craton import UserError
from craton.runs.files import read_hdf5

MPI = pytest.importorskip("mpi4py.MPI")

import craton
from craton._launch import run_under_mpi
from craton.inverse.posterior import Posterior, quadratic_forms
from craton.runs.progress import make_console
from craton.tomography import start as inversion
from craton.tomography.config.prior import PriorConfig
from craton.tomography.config.values import at_depth, multiplied
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.hessian_file import whole_hessian
from craton.tomography.posterior.findings import PosteriorFolder, posterior_folder
from craton.tomography.posterior.questions import Place, Questions, nearest_spike, read_place
from craton.tomography.posterior.run import posterior_of_run
from craton.tomography.prior.gaussian import gaussian_prior
from craton.tomography.prior.words import changes, explained
from craton.tomography.stored.run import read_data, read_problem
from craton.tomography.stored.solve import solve_again, solve_all

PLACE = Place(19.4, -155.3, 300.0)


@pytest.fixture(scope="module")
def folder(small_config, tmp_path_factory):
    config = small_config.replaced("run", directory=str(tmp_path_factory.mktemp("posterior") / "run"))
    config = config.replaced("basis", lateral_level=2, radial=5)
    inversion.run(config.replaced("inversion", max_iterations=3), MPI.COMM_SELF, report=False)
    return RunFolder(config.run.directory)


@pytest.fixture(scope="module")
def problem(folder):
    return read_problem(folder.hessian, MPI.COMM_SELF)


@pytest.fixture(scope="module")
def dense(folder, problem):
    """H, C_m^-1, A^-1, mean."""
    hessian = whole_hessian(folder.hessian).astype(np.float64)
    prior = gaussian_prior(problem.basis, problem.prior)
    precision = np.stack([prior.precision_times(unit) for unit in np.eye(problem.basis.size)], axis=1)
    covariance = np.linalg.inv(hessian + precision)
    mean = problem.model + covariance @ (problem.gradient - precision @ problem.model)
    return hessian, precision, covariance, mean


@pytest.fixture(scope="module", params=[1, 3, *(pytest.param(ranks, marks=pytest.mark.long) for ranks in (2, 4))])
def results(request, folder, tmp_path_factory):
    """What the command leaves, on so many ranks."""
    out = tmp_path_factory.mktemp("out") / "posterior"
    arguments = [
        "tomography",
        "posterior",
        str(folder.path),
        "--at",
        "19.4,-155.3,300",
        "--at",
        "-40,20,1500",
        "--trade-off",
    ]
    arguments += ["--samples", "40", "--seed", "9", "--shuttle", f"{folder.model}/target", "--directory", str(out)]
    if request.param > 1:
        arguments.append("--no-pictures")  # rank 0 draws them, from numbers that are compared
    assert run_under_mpi(arguments, request.param) == 0
    return out, read_hdf5(out / "posterior.h5"), json.loads((out / "posterior.json").read_text())


def near(one, other, tolerance=1e-7):
    np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * np.abs(other).max())


def row_of(basis, place):
    """DlnVs at a place (geographic) as a combination of coefficients, by evaluating each."""
    latitude = np.degrees(np.arctan((1 - 1 / 298.257223563) ** 2 * np.tan(np.radians(place.latitude_deg))))
    where = [np.array([value]) for value in (latitude, place.longitude_deg, 1e3 * (6371.0 - place.depth_km))]
    return np.array([basis.evaluate(unit, *where)[0] for unit in np.eye(basis.size)])


def test_arrays_are_those_of_dense_algebra(results, problem, dense):
    hessian, precision, covariance, mean = dense
    _, found, summary = results
    near(found["mean"], mean)
    np.testing.assert_allclose(found["variance"], np.diag(covariance), rtol=1e-5)
    near(found["resolution_diagonal"], np.diag(covariance @ hessian))
    assert summary["resolved"] == pytest.approx(np.trace(covariance @ hessian), rel=1e-6)
    basis = problem.basis
    places = (np.repeat(basis.latitude_deg, 5), np.repeat(basis.longitude_deg, 5), np.tile(basis.radial_knots_m, 42))
    rows = np.stack([basis.evaluate(unit, *places) for unit in np.eye(basis.size)], axis=1)
    deviation = np.sqrt(np.einsum("pi,ij,pj->p", rows, covariance, rows))
    np.testing.assert_allclose(found["dlnVs/deviation"].ravel(), deviation, rtol=1e-5)
    before = np.sqrt(np.einsum("pi,ij,pj->p", rows, np.linalg.inv(precision), rows))
    np.testing.assert_allclose(found["dlnVs/prior_deviation"].ravel(), before, rtol=1e-5)
    assert summary["rms_deviation"] == pytest.approx(np.sqrt(np.mean(deviation**2)))
    assert summary["log_determinant"] == pytest.approx(np.linalg.slogdet(hessian + precision)[1])


def test_places(results, problem, dense):
    hessian, precision, covariance, mean = dense
    _, found, summary = results
    row = row_of(problem.basis, PLACE)
    near(found["points/0/covariance"], covariance @ row)
    near(found["points/0/prior_covariance"], np.linalg.solve(precision, row))
    near(found["points/0/resolution_row"], row @ covariance @ hessian)
    near(found["points/0/point_spread"], covariance @ hessian @ found["points/0/spike"])
    point = summary["points"][0]
    assert point["mean"] == pytest.approx(row @ mean)
    assert point["deviation"] == pytest.approx(np.sqrt(row @ covariance @ row), rel=1e-5)
    knot = Place(point["spread_latitude_deg"], point["spread_longitude_deg"], point["spread_depth_km"])
    assert row_of(problem.basis, knot) @ found["points/0/spike"] == pytest.approx(1.0)
    assert point["recovered"] == pytest.approx(row_of(problem.basis, knot) @ found["points/0/point_spread"])
    depths = found["points/1/trade_off_depths_km"]
    rows = np.stack([row_of(problem.basis, Place(-40.0, 20.0, depth)) for depth in depths])
    near(found["points/1/trade_off"], rows @ covariance @ rows.T)


def test_shuttle(results, folder, problem, dense):
    """What is unseen is (1 - R)(given - mean); both changes of the misfit are those of the quadratic."""
    hessian, precision, covariance, mean = dense
    _, found, summary = results
    difference = folder.read_model()["target"] - mean
    unseen = covariance @ precision @ difference
    near(found["shuttle/unseen"], unseen)
    near(found["shuttle/model"], mean + unseen)
    gradient = precision @ mean
    for name, change in (("chi_data_change", unseen), ("chi_data_change_whole", difference)):
        expected = -gradient @ change + 0.5 * change @ hessian @ change
        assert summary["shuttle"][name] == pytest.approx(expected, rel=1e-4)


def test_samples_are_models(results, dense):
    hessian, precision, _, mean = dense
    out = results[0]
    samples = read_hdf5(out / "samples.h5")["samples"]
    upper = np.linalg.cholesky(hessian + precision).T
    noise = np.stack([np.random.default_rng([9, 3, k]).standard_normal(len(mean)) for k in range(40)], axis=1)
    near(samples - mean[:, None], np.linalg.solve(upper, noise), 1e-6)


@pytest.mark.parametrize(("samples", "ranks"), [("5", 2), ("1", 3)])
def test_samples_from_ranks_on_other_nodes(folder, dense, tmp_path, samples, ranks):
    """Which answer rank 0 while it reads a few."""
    words = ["posterior", str(folder.path), "--samples", samples, "--no-pictures", "--ranks", str(ranks)]
    done = command_line.craton("tomography", *words, "--directory", tmp_path / "out", CRATON_RANKS_PER_NODE="1")
    assert (done.returncode, done.stderr) == (0, "")
    found = read_hdf5(tmp_path / "out" / "samples.h5")["samples"]
    upper = np.linalg.cholesky(dense[0] + dense[1]).T
    noise = np.random.default_rng([1, 3, 0]).standard_normal(210)
    assert found.shape == (210, int(samples))
    near(found[:, 0] - dense[3], np.linalg.solve(upper, noise), 1e-6)


def test_fewer_samples_than_process_columns(folder, problem, dense, tmp_path):
    arguments = [
        "tomography",
        "posterior",
        str(folder.path),
        "--samples",
        "1",
        "--seed",
        "9",
        "--no-pictures",
        "--directory",
        str(tmp_path / "out"),
    ]
    assert run_under_mpi(arguments, 4) == 0
    samples = read_hdf5(tmp_path / "out" / "samples.h5")["samples"]
    upper = np.linalg.cholesky(dense[0] + dense[1]).T
    assert samples.shape == (210, 1)
    noise = np.random.default_rng([9, 3, 0]).standard_normal(210)
    near(samples[:, 0] - dense[3], np.linalg.solve(upper, noise), 1e-6)


@pytest.mark.parametrize("results", [1], indirect=True)
def test_pictures(results):
    names = {file.name for file in results[0].glob("*.png")}
    of_points = {f"{name}-{number}.png" for name in ("point", "trade-off") for number in (0, 1)}
    assert names == {"deviation.png", "samples.png", "shuttle.png"} | of_points
    assert all((results[0] / name).stat().st_size > 10000 for name in names)


@pytest.mark.parametrize("results", [3], indirect=True)
def test_no_pictures_where_none_are_wanted(results):
    assert not list(results[0].glob("*.png"))


def test_what_is_replaced_leaves_no_pictures_and_samples(folder, problem, tmp_path):
    out = PosteriorFolder(tmp_path / "posterior")
    posterior_of_run(folder.hessian, problem.prior, out.path, Questions([PLACE], samples=2), MPI.COMM_SELF)
    assert {"deviation.png", "samples.png", "point-0.png", "samples.h5"} <= {file.name for file in out.results}
    posterior_of_run(folder.hessian, problem.prior, out.path, comm=MPI.COMM_SELF, overwrite=True, pictures=False)
    assert [file.name for file in out.results] == ["posterior.h5", "posterior.json"]


def test_the_unseen_part_changes_the_data_little(folder, problem, dense):
    """By the theory itself: the shuttled model fits the data as the mean does, and the given model is nearer than before."""
    _, precision, covariance, mean = dense
    data = read_data(problem)
    far = np.random.default_rng(2).multivariate_normal(np.zeros(len(mean)), np.linalg.inv(precision))
    unseen = covariance @ precision @ (far - mean)
    chi, shuttled, whole = (data.misfit(problem.world, model) for model in (mean, mean + unseen, far))
    assert shuttled - chi < 0.02 * (whole - chi)
    assert (far - mean - unseen) @ precision @ (far - mean - unseen) < (far - mean) @ precision @ (far - mean)


def test_words_and_a_folder_that_is_kept(folder, problem, tmp_path, capsys):
    summary = posterior_of_run(
        folder.hessian, problem.prior, tmp_path / "out", Questions([PLACE]), MPI.COMM_SELF, console=make_console()
    )
    said = capsys.readouterr().out
    assert f"{summary.resolved:.1f} of 210 parameters are determined by the data" in said
    assert "at 19.4°N 155.3°W, 300 km: dlnVs =" in said and "two places so far apart correlate by 0.61" in said
    assert not (tmp_path / "out" / "samples.h5").exists()
    with pytest.raises(UserError, match=r"posterior.h5 is there already; allowed: another folder, or --overwrite"):
        posterior_of_run(folder.hessian, problem.prior, tmp_path / "out", None, MPI.COMM_SELF)
    posterior_of_run(folder.hessian, problem.prior, tmp_path / "out", None, MPI.COMM_SELF, overwrite=True)


def test_the_command_writes_where_the_report_looks(folder):
    """Inside the run's folder, unless told otherwise."""
    assert run_under_mpi(["tomography", "posterior", str(folder.path)], 1) == 0
    assert posterior_folder(folder.path).path == folder.path / "posterior"
    summary = json.loads((folder.path / "posterior" / "posterior.json").read_text())
    last = folder.read_record().iterations[summary["linearised_at_iteration"]]
    assert summary["chi_data_there"] == pytest.approx(last.chi_data, rel=1e-5)


def test_a_matern_posterior(folder, tmp_path):
    config = PriorConfig(kind="matern", correlation_km=3000.0)
    found = posterior_of_run(folder.hessian, config, tmp_path / "out", None, MPI.COMM_SELF)
    assert found.rms_prior_deviation == pytest.approx(0.03)
    assert found.rms_deviation < 0.03 and 0.0 < found.resolved < 210.0


# ------------------------------------------------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    "text", ["", "1,2", "1,2,3,4", "a,b,c", "91,0,100", "0,361,100", "0,0,-1", "0,0,7000", "nan,0,0"]
)
def test_places_that_are_none(text):
    with pytest.raises(UserError, match=r"--at .*; allowed: LATITUDE,LONGITUDE,DEPTH"):
        read_place(text)


def test_nearest_spike(problem):
    spike, knot = nearest_spike(problem.basis, Place(90.0, 0.0, 2891.0))
    assert np.count_nonzero(spike) == 1 and knot.latitude_deg == pytest.approx(np.max(problem.basis.latitude_deg))
    assert knot.depth_km == pytest.approx(2891.0)


def test_samples_after_the_inverse(problem):
    world, n = problem.world, problem.basis.size
    system = problem.system()
    found = Posterior(
        system, gaussian_prior(problem.basis, problem.prior), problem.gradient, problem.model, MPI.COMM_SELF
    )
    found.variance()
    with pytest.raises(
        UserError, match="posterior samples: the factor was overwritten by the inverse; allowed: samples before"
    ):
        found.samples(3, 1)
    rows = craton.tomography.posterior.rows.knot_rows(found.prior.blocks[0], problem.basis, n)
    with pytest.raises(
        UserError, match=r"quadratic forms: rows of shape \(210, 210\) and \(5, 210\) for a matrix of order 210"
    ):
        quadratic_forms(system, rows, rows[:5], MPI.COMM_SELF)
    negative = craton.SymmetricMatrix.from_array(world, -1e12 * np.eye(n), block=16)
    with pytest.raises(UserError, match="not positive definite"):
        Posterior(negative, found.prior, problem.gradient, problem.model, MPI.COMM_SELF)


@pytest.mark.parametrize(
    ("ranks", "arguments", "words"),
    [
        (1, ["--at", "north"], "--at 'north'; allowed: LATITUDE,LONGITUDE,DEPTH"),
        (3, ["--at", "0,0,3000"], "--at 0,0,3000: outside the model; allowed: depths from"),
        (1, ["--trade-off"], "--trade-off without a place; allowed: --trade-off with --at"),
        (1, ["--shuttle", "none.h5"], "none.h5: no such file"),
        (1, ["--shuttle", "RUN/model.h5/nothing"], "has no dataset 'nothing'; allowed: "),
        (1, ["--shuttle", "RUN/model.h5/radial_knots_m"], "float64 of shape (5,); allowed: 210 finite numbers"),
        (
            1,
            ["--prior", "kind=matern,correlation_km=[[0,2000]]"],
            'correlation_km varies with depth and kind = "matern"',
        ),
        (1, ["--directory", "RUN/model.h5"], "output folder"),
    ],
)
def test_errors_are_one_line(folder, tmp_path, ranks, arguments, words):
    arguments = [word.replace("RUN", str(folder.path)) for word in arguments]
    arguments = [str(folder.path), *arguments, "--ranks", str(ranks)]
    done = command_line.craton("tomography", "posterior", *arguments, cwd=tmp_path, seconds=300)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr and done.stderr.count("craton: error") == 1


# ----------------------------------------------------------------------------------------------- solve under several priors


@pytest.mark.long
def test_solutions_are_those_of_one_at_a_time(folder, problem, tmp_path, capsys):
    configs = [
        problem.prior,
        PriorConfig(**{**problem.prior.to_dict(), "strength": 0.01}),
        PriorConfig(correlation_km=((0.0, 1000.0), (2891.0, 3000.0))),
    ]
    together = solve_all(folder.hessian, configs, tmp_path / "all", MPI.COMM_SELF, console=make_console())
    said = capsys.readouterr().out
    assert "as in the run" in said and "strength=0.01 " in said and "chi_prior" in said
    models = RunFolder(tmp_path / "all").read_model()["models"]
    stored = json.loads((tmp_path / "all" / "summary.json").read_text())["solutions"]
    assert len(models) == 4 and len(stored) == 3
    for number, config in enumerate(configs):
        alone = solve_again(folder.hessian, config, tmp_path / str(number), MPI.COMM_SELF)
        near(RunFolder(tmp_path / str(number)).read_model()["models"][-1], models[number + 1], 1e-12)
        assert together[number].chi_data == pytest.approx(alone.chi_data)
        assert stored[number]["chi_prior"] == pytest.approx(alone.chi_prior)
    with pytest.raises(UserError, match="no prior; allowed: one or more"):
        solve_all(folder.hessian, [], tmp_path / "none", MPI.COMM_SELF)


def test_misfit_by_the_tangent(folder, problem, dense, tmp_path):
    hessian, precision, _, mean = dense
    found = solve_again(folder.hessian, problem.prior, tmp_path / "out", MPI.COMM_SELF)
    step = mean - problem.model
    expected = problem.chi_data - problem.gradient @ step + 0.5 * step @ hessian @ step
    assert found.chi_data == pytest.approx(expected)
    assert found.chi_prior == pytest.approx(0.5 * mean @ precision @ mean)


def test_a_prior_in_words():
    base = PriorConfig()
    assert changes(PriorConfig(strength=0.01, kind="matern"), base) == "kind=matern,strength=0.01"
    assert changes(base, base) == "as in the run"
    assert "correlate by 0.37, twice as far by 0.14" in explained(PriorConfig(kind="matern"))
    assert "500 to 900 km, by depth laterally" in explained(PriorConfig(correlation_km=((0.0, 500.0), (600.0, 900.0))))
    profile = ((100.0, 1.0), (300.0, 3.0))
    assert [at_depth(profile, depth) for depth in (0.0, 200.0, 900.0)] == [1.0, 2.0, 3.0]
    assert multiplied(profile, 2.0) == ((100.0, 2.0), (300.0, 6.0)) and multiplied(0.5, 2.0) == 1.0
