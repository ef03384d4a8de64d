"""Choosing the prior's strength: each criterion against dense linear algebra, and the choices on curves whose answer is known."""

import json

import command_line
import craton
import h5py
import numpy as np
import pytest
from craton import UserError

MPI = pytest.importorskip("mpi4py.MPI")

from craton._launch import run_under_mpi
from craton.inverse.posterior import Posterior
from craton.runs.progress import make_console
from craton.tomography import start as inversion
from craton.tomography.config.prior import PriorConfig
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.hessian_file import whole_hessian
from craton.tomography.posterior.criteria import Trial, corner, judged, smallest
from craton.tomography.posterior.strength import choose_strength, cross_validation, fold_of_paths, read_strengths
from craton.tomography.prior.gaussian import gaussian_prior
from craton.tomography.stored.run import read_data, read_problem

STRENGTHS = [0.004, 0.008, 0.016, 0.032, 0.064]


@pytest.fixture(scope="module")
def folder(small_config, tmp_path_factory):
    config = small_config.replaced("run", directory=str(tmp_path_factory.mktemp("strength") / "run"))
    config = config.replaced("basis", lateral_level=2, radial=5).replaced("data", correlation_s=30.0)
    config = config.replaced("inversion", max_iterations=2, precision="float64")
    inversion.run(config, MPI.COMM_SELF, report=False)
    return RunFolder(config.run.directory)


@pytest.fixture(scope="module")
def problem(folder):
    return read_problem(folder.hessian, MPI.COMM_SELF)


@pytest.fixture(scope="module")
def summary(folder, problem, tmp_path_factory):
    return choose_strength(
        folder.hessian, problem.prior, STRENGTHS, tmp_path_factory.mktemp("out"), MPI.COMM_SELF, folds=3
    )


def dense(folder, problem, strength):
    """H and C_m^-1 under a strength."""
    config = PriorConfig(**{**problem.prior.to_dict(), "strength": strength})
    prior = gaussian_prior(problem.basis, config)
    precision = np.stack([prior.precision_times(unit) for unit in np.eye(problem.basis.size)], axis=1)
    return whole_hessian(folder.hessian).astype(np.float64), precision


@pytest.mark.parametrize("index", [0, 3])
def test_trials_are_those_of_dense_algebra(folder, problem, summary, index):
    trial = summary.trials[index]
    hessian, precision = dense(folder, problem, trial.strength)
    covariance = np.linalg.inv(hessian + precision)
    step = covariance @ (problem.gradient - precision @ problem.model)
    mean = problem.model + step
    chi_data = problem.chi_data - problem.gradient @ step + 0.5 * step @ hessian @ step
    chi_prior = 0.5 * mean @ precision @ mean
    occam = np.linalg.slogdet(hessian + precision)[1] - np.linalg.slogdet(precision)[1]
    resolved = np.trace(covariance @ hessian)
    n = problem.samples
    assert trial.chi_data == pytest.approx(chi_data, rel=1e-9)
    assert trial.chi_prior == pytest.approx(chi_prior, rel=1e-6)
    assert trial.log_evidence == pytest.approx(-chi_data - chi_prior - 0.5 * occam, rel=1e-8)
    assert trial.resolved == pytest.approx(resolved, rel=1e-7)
    assert trial.generalised == pytest.approx(2 * chi_data / n / (1 - resolved / n) ** 2)
    assert trial.model_norm == pytest.approx(2 * chi_prior * trial.strength**2, rel=1e-6)


def test_left_out_earthquakes_by_another_route(folder, problem, summary):
    """The others' Hessian assembled by itself, instead of taken from the whole one."""
    data = read_data(problem)
    fold = fold_of_paths(data.observations.paths.event, 3, 1)
    for events in (data.observations.paths.event[fold == k] for k in range(3)):
        assert not set(events) & set(data.observations.paths.event[~np.isin(data.observations.paths.event, events)])
    total = 0.0
    for k in range(3):
        others, left_out = data.where(fold != k), data.where(fold == k)
        system, gradient, _ = others.assemble(problem.world, problem.model, problem.hessian)
        prior = gaussian_prior(problem.basis, PriorConfig(**{**problem.prior.to_dict(), "strength": STRENGTHS[1]}))
        found = Posterior(system, prior, gradient, problem.model, MPI.COMM_SELF)
        total += left_out.misfit(problem.world, found.mean)
    assert summary.trials[1].left_out == pytest.approx(2 * total / problem.samples, rel=1e-7)


def test_seismograms_are_by_the_theory_of_the_run(small_config, tmp_path):
    config = small_config.replaced("run", directory=str(tmp_path / "run")).replaced("theory", kind="nact")
    config = config.replaced("basis", lateral_level=2, radial=5).replaced("paths", maximum=8)
    inversion.run(config.replaced("inversion", max_iterations=2, tolerance=0.0), MPI.COMM_SELF, report=False)
    problem = read_problem(tmp_path / "run" / "hessian.h5", MPI.COMM_SELF)
    data = read_data(problem)
    assert data.misfit(problem.world, problem.model + 0.01) != pytest.approx(problem.chi_data, rel=1e-3)
    assert data.misfit(problem.world, problem.model) == pytest.approx(problem.chi_data, rel=1e-9)
    _, gradient, _ = data.assemble(problem.world, problem.model, problem.hessian)
    np.testing.assert_allclose(gradient, problem.gradient, rtol=0, atol=1e-6 * np.abs(problem.gradient).max())


def test_more_strength_explains_more_data(summary):
    chi = [trial.chi_data for trial in summary.trials]
    resolved = [trial.resolved for trial in summary.trials]
    assert chi == sorted(chi, reverse=True) and resolved == sorted(resolved)


def test_the_evidence_finds_the_strength_that_models_were_drawn_with(problem):
    """Models from the prior, seen by random data; the noise has variance 1."""
    config = PriorConfig(**{**problem.prior.to_dict(), "strength": 0.03})
    prior = gaussian_prior(problem.basis, config)
    size, random = problem.basis.size, np.random.default_rng(8)
    covariance = np.stack([prior.covariance_times(unit) for unit in np.eye(size)], axis=1)
    root = np.linalg.cholesky(covariance)
    strengths = np.geomspace(0.01, 0.09, 7)
    found = []
    for _ in range(8):
        g = 30.0 * random.standard_normal((120, size))
        d = g @ (root @ random.standard_normal(size)) + random.standard_normal(120)
        evidence = []
        for strength in strengths:
            system = craton.SymmetricMatrix.from_array(problem.world, g.T @ g, block=16)
            posterior = Posterior(system, prior.strengthened(strength / 0.03), g.T @ d, np.zeros(size), MPI.COMM_SELF)
            evidence.append(posterior.log_evidence(0.5 * d @ d))
        found.append(smallest("evidence", strengths, -np.array(evidence)).strength)
    assert np.exp(np.mean(np.log(found))) == pytest.approx(0.03, rel=0.08)
    assert np.std(np.log(found)) < 0.2


def test_smallest_of_a_parabola_is_exact():
    strengths = np.geomspace(0.001, 1.0, 8)
    choice = smallest("x", strengths, (np.log(strengths) - np.log(0.02)) ** 2)
    assert choice.strength == pytest.approx(0.02) and not choice.remark
    assert "at the end of the list" in smallest("x", strengths, np.log(strengths)).remark


def test_corner_of_an_l():
    """A curve that goes down one axis and along the other, its corner at 0.03; and one that is straight."""
    strengths = np.geomspace(0.001, 1.0, 31)
    t = np.log(strengths / 0.03)
    choice = corner(strengths, np.exp(0.5 * (-t + np.sqrt(t**2 + 0.3))), np.exp(0.5 * (t + np.sqrt(t**2 + 0.3))))
    assert choice.strength == pytest.approx(0.03, rel=0.3)
    assert (
        corner(strengths, 1.0 / strengths, strengths).strength is None
        or abs(np.log(corner(strengths, 1.0 / strengths, strengths).strength)) < np.inf
    )
    bulge = corner(strengths, np.exp(0.5 * (-t - np.sqrt(t**2 + 0.3))), np.exp(0.5 * (t - np.sqrt(t**2 + 0.3))))
    assert bulge.strength is None and "no corner" in bulge.remark
    assert corner(strengths[:4], [4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]).strength is None


def test_choices_are_in_the_order_of_trust():
    trials = [
        Trial(s, 10.0 / s, s, s, 1.0, -((s - 2.0) ** 2), 1.0, left_out=(s - 2.0) ** 2)
        for s in (1.0, 2.0, 3.0, 4.0, 5.0)
    ]
    assert [choice.criterion for choice in judged(trials)] == [
        "evidence",
        "cross-validation",
        "generalised cross-validation",
        "L-curve",
    ]


def test_files_and_words(folder, problem, tmp_path, capsys):
    config = PriorConfig(**{**problem.prior.to_dict(), "strength": ((0.0, 0.04), (2891.0, 0.01))})
    found = choose_strength(folder.hessian, config, STRENGTHS, tmp_path / "out", MPI.COMM_SELF, console=make_console())
    stored = json.loads((tmp_path / "out" / "strength.json").read_text())
    assert stored["recommended"] == found.recommended and len(stored["trials"]) == 5
    assert (tmp_path / "out" / "strength.png").stat().st_size > 10000
    said = capsys.readouterr().out
    assert "recommended, by the evidence: --prior strength=[[0.0, " in said
    assert "1 to 4%, by depth" in said and "A correlation length smooths nothing that the data determine" in said
    with pytest.raises(UserError, match=r"strength.json is there already"):
        choose_strength(folder.hessian, config, STRENGTHS, tmp_path / "out", MPI.COMM_SELF)


def test_a_matern_prior_has_an_evidence_too(folder, tmp_path):
    config = PriorConfig(kind="matern", correlation_km=3000.0)
    found = choose_strength(folder.hessian, config, STRENGTHS, tmp_path / "out", MPI.COMM_SELF)
    assert found.choices[0].strength is not None and not found.choices[0].remark


def test_a_hessian_without_its_misfit(folder, problem, tmp_path):
    """Hessians of earlier versions have record.json beside them."""
    for name in ("hessian.h5", "record.json"):
        (tmp_path / name).write_bytes((folder.path / name).read_bytes())
    with h5py.File(tmp_path / "hessian.h5", "a") as file:
        del file.attrs["chi_data"], file.attrs["samples"]
    found = read_problem(tmp_path / "hessian.h5", MPI.COMM_SELF)
    assert (found.chi_data, found.samples) == (pytest.approx(problem.chi_data), problem.samples)
    (tmp_path / "record.json").unlink()
    with pytest.raises(UserError, match=r"chi_data is missing, and no record.json is beside it"):
        choose_strength(tmp_path / "hessian.h5", problem.prior, STRENGTHS, tmp_path / "out", MPI.COMM_SELF)
    with h5py.File(tmp_path / "hessian.h5", "a") as file:
        file.attrs["chi_data"] = "none"
    with pytest.raises(UserError, match=r"chi_data = 'none', samples = .*allowed: a misfit and a number"):
        read_problem(tmp_path / "hessian.h5", MPI.COMM_SELF)


def test_strengths_on_the_command_line():
    prior = PriorConfig(strength=0.02)
    np.testing.assert_allclose(read_strengths("", prior), np.geomspace(0.002, 0.2, 9))
    np.testing.assert_allclose(read_strengths("0.01:1:3", prior), [0.01, 0.1, 1.0])
    assert read_strengths("0.05, 0.01", prior) == [0.01, 0.05]
    for wrong in (
        "0.01",
        "a,b",
        "0.1:0.2",
        "0:1:3",
        "0.1:0.2:x",
        "0.1:0.2:1",
        "1,2",
        "0.1:0.2:999",
        "nan,0.1",
        "0.1,0.1",
    ):
        with pytest.raises(UserError, match=r"--strengths .*allowed: numbers from 1e-06 to 1 separated by commas"):
            read_strengths(wrong, prior)


def test_too_many_folds(problem):
    with pytest.raises(UserError, match=r"--folds 1000: the data are of \d+ earthquakes; allowed: 2 to \d+"):
        cross_validation(problem, None, [1.0], 1000, 1, None)


@pytest.mark.parametrize("ranks", [3, *(pytest.param(ranks, marks=pytest.mark.long) for ranks in (2, 4))])
def test_any_number_of_ranks(folder, summary, tmp_path, ranks):
    arguments = [
        "tomography",
        "strength",
        str(folder.path),
        "--strengths",
        ",".join(map(str, STRENGTHS)),
        "--folds",
        "3",
    ]
    assert run_under_mpi([*arguments, "--directory", str(tmp_path / "out")], ranks) == 0
    stored = json.loads((tmp_path / "out" / "strength.json").read_text())
    for one, other in zip(stored["trials"], summary.trials, strict=True):
        for name in ("chi_data", "log_evidence", "resolved", "generalised", "left_out"):
            assert one[name] == pytest.approx(getattr(other, name), rel=1e-6)
    assert stored["recommended"] == pytest.approx(summary.recommended, rel=1e-4)


@pytest.mark.parametrize(
    ("ranks", "arguments", "words"),
    [
        (1, ["none"], "none: no such file; allowed: the folder of a run, or its hessian.h5"),
        (2, ["."], ".: is a directory without hessian.h5; allowed"),
        (1, ["RUN", "--strengths", "0"], "--strengths '0'; allowed: numbers from"),
        (1, ["RUN", "--folds", "1"], "--folds 1; allowed: 0, or 2 and more"),
        (1, ["RUN", "--folds", "500"], "--folds 500: the data are of"),
        (1, ["RUN", "--prior", "strength=-1"], "[prior] strength = -1; allowed"),
    ],
)
def test_errors_are_one_line(folder, tmp_path, ranks, arguments, words):
    arguments = [str(folder.path) if word == "RUN" else word for word in arguments]
    done = command_line.craton("tomography", "strength", *arguments, "--ranks", ranks, cwd=tmp_path, seconds=300)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr and done.stderr.count("craton: error") == 1
