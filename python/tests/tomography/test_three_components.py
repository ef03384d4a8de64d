"""Inversions of vertical, radial and transverse motion for dlnVs and dlnxi, by path averages and by NACT."""

import json
import pathlib

import command_line
import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.tomography import load_config
from craton.tomography.model.earth_table import reference_earth
from craton.tomography.model.fields import read_fields
from craton.tomography.model.sphere import even_points
from craton.tomography.model.splines import make_basis
from craton.tomography.model.starting import read_start
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


OF_ITS_OWN = "xi = true\nxi_level = 1\nxi_depths_km = [0, 400, 1000, 1900, 2891]"


def test_anisotropy_on_knots_of_its_own(tmp_path):
    """Run, start again from it, solve, posterior, export and pictures of a model whose parameters have different splines."""
    file = written(tmp_path, "pava")
    file.write_text(file.read_text().replace("xi = true", OF_ITS_OWN))
    config = load_config(file).replaced("run", directory=str(tmp_path / "run"))
    record = run(config, report=False)
    assert record.iterations[-1].residual_reduction > 0.9
    vs, xi = 42 * 5, 12 * 5
    with h5py.File(tmp_path / "run" / "model.h5") as stored:
        assert stored["models"].shape[1] == vs + xi == config.basis.unknowns
        assert len(stored["xi_radial_knots_m"]) == 5

    problem = read_problem(tmp_path / "run" / "hessian.h5", MPI.COMM_SELF)
    assert [block.size for block, _ in problem.parameters] == [vs, xi]
    assert [splines.n_lateral for _, splines in problem.parameters] == [42, 12]
    assert read_data(problem).misfit(problem.world, problem.model) == pytest.approx(problem.chi_data, rel=1e-5)
    del problem

    fields = read_fields(tmp_path / "run")
    assert [fields.bases[name].n_lateral for name in ("dlnVs", "dlnxi")] == [42, 12]
    assert 0.0 < abs(float(fields.percent("dlnxi", [0.0], [0.0], [100.0])[0])) < 100.0
    again = config.replaced("start", file=str(tmp_path / "run" / "model.h5")).replaced(
        "basis", xi_level=0, xi_depths_km=()
    )
    basis = make_basis(again, reference_earth(again.earth))
    start, lost = read_start(tmp_path / "run" / "model.h5", basis, reference_earth(again.earth))
    assert len(start) == basis.size == 2 * vs
    assert lost.lost < 1e-12  # dlnVs has the same splines
    places = (*even_points(300), np.full(300, 5400e3))
    theirs = fields.bases["dlnxi"].evaluate(fields.parameters["dlnxi"], *places)
    assert np.corrcoef(basis.evaluate(start, *places, 1), theirs)[0, 1] > 0.97

    craton("solve", tmp_path / "run", "--prior", "xi_strength=0.005", "--directory", tmp_path / "weaker")
    with h5py.File(next((tmp_path / "weaker").rglob("model.h5"))) as stored:
        weaker = stored["models"][-1]
    with h5py.File(tmp_path / "run" / "model.h5") as stored:
        assert np.linalg.norm(weaker[vs:]) < np.linalg.norm(stored["models"][-1][vs:])
    craton("posterior", tmp_path / "run", "--at", "10,20,100", "--trade-off")
    with h5py.File(next((tmp_path / "run").rglob("posterior.h5"))) as stored:
        assert stored["dlnxi/deviation"].shape == (12, 5)
        assert stored["dlnxi/latitude_deg"].shape == (12,)
        assert stored["points/0/trade_off"].shape == (10, 10)
    craton("report", tmp_path / "run")
    report = (tmp_path / "run" / "report.html").read_text()
    assert "42 lateral knots × 5 radial of dlnVs + 12 lateral knots × 5 radial of dlnxi" in report
    craton("export", tmp_path / "run", "--output", tmp_path / "model.nc")
    craton(
        "section",
        tmp_path / "run",
        "--through",
        "10,20",
        "--azimuth",
        "30",
        "--parameter",
        "dlnxi",
        "--output",
        tmp_path / "section.png",
    )


@pytest.mark.parametrize(
    ("basis", "said"),
    [
        ("xi_level = 2", "[basis] xi_level = 2 with xi = false; allowed: 0, or xi = true"),
        ("xi = true\nxi_level = 9", "[basis] xi_level = 9; allowed"),
        ("xi = true\nxi_depths_km = [0, 1, 900, 2891]", "[basis] xi_depths_km = [0.0, 1.0, 900.0, 2891.0]; allowed"),
    ],
)
def test_knots_that_are_refused(tmp_path, basis, said):
    file = written(tmp_path, "pava")
    file.write_text(
        file.read_text().replace("xi = true", basis).replace("[theory]", '[earth]\nmodel = "prem"\n[theory]')
    )
    with pytest.raises(UserError) as refused:
        config = load_config(file)
        make_basis(config, reference_earth(config.earth))
    assert said in str(refused.value)


@pytest.mark.long
def test_own_knots_on_ranks(tmp_path):
    """The same model on 1 to 4 ranks."""
    file = written(tmp_path, "pava")
    file.write_text(file.read_text().replace("xi = true", OF_ITS_OWN) + "[corrections]\norigin_time_s = 1.0\n")
    models = []
    for ranks in (1, 2, 3, 4):
        craton("run", file, "--ranks", ranks, "--directory", tmp_path / f"on{ranks}")
        with h5py.File(tmp_path / f"on{ranks}" / "model.h5") as stored:
            models.append(stored["models"][-1])
    for model in models[1:]:
        assert np.linalg.norm(model - models[0]) < 1e-7 * np.linalg.norm(models[0])
