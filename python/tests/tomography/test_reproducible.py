"""The same bits on any ranks, threads and deliveries, and what has to hold for that."""

from __future__ import annotations

import re

import numpy as np
import pytest
from craton import UserError
from craton.runs.files import read_hdf5
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.exact_sums import Quanta, above
from craton.tomography.inversion.hessian_file import whole_hessian
from started_ranks import launch

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start
from craton.tomography.inversion.forward import ModeTheory

CASES = {"1": (1, 0), "2": (2, 0), "3": (3, 0), "4": (4, 0), "4 machines": (4, 1)}


@pytest.fixture(scope="module")
def config(small_config):
    small = small_config.replaced("basis", lateral_level=2).replaced("paths", maximum=100)
    return small.replaced("inversion", max_iterations=2, precision="float64", reproducible=True)


def test_a_quantum_holds_what_it_is_made_for():
    assert above(1.0) == 2.0**-52 and above(3.0) == 2.0**-50 and above(0.0) > 0.0
    quanta = Quanta(above(100.0), above(200.0))
    assert quanta.hold(100.0, 150.0) and not quanta.hold(130.0, 1.0) and not quanta.hold(100.0, 1000.0)
    assert Quanta.of(130.0, 1000.0).hold(130.0, 1000.0)


FAR = "far: dlnxi on knots of its own, and arrival times first"


@pytest.mark.parametrize(
    "theory", ["pava", pytest.param("nact", marks=pytest.mark.long), pytest.param(FAR, marks=pytest.mark.long)]
)
def test_the_bits_do_not_depend_on_ranks(config, tmp_path, theory):
    """Nor on threads, of Craton's and of BLAS. Two iterations: the second begins with whatever the first has left."""
    found = {}
    if theory == FAR:
        config = config.replaced("basis", xi=True, xi_level=1).replaced("prior", strength=0.05)
        config = config.replaced("target", checkerboard_amplitude=0.0, plume_amplitude=0.0, random_rms=0.05)
        theory = "pava"
    for number, (name, (ranks, ranks_per_node)) in enumerate(CASES.items()):
        folder = tmp_path / f"run{number}"
        here = config.replaced("run", directory=str(folder)).replaced("assembly", threads=1 + (ranks == 2))
        here = here.replaced("theory", kind=theory)
        (tmp_path / "case.toml").write_text(here.to_toml(), encoding="utf-8")
        launch(tmp_path / "case.toml", ranks, ranks_per_node, blas_threads=3 - ranks % 2)
        stored = read_hdf5(folder / "model.h5")
        found[name] = stored["models"], whole_hessian(folder / "hessian.h5"), stored["prior_weights"]
        record = RunFolder(folder).read_record()
        assert "in one order" in record.iterations[-1].solved_in
        assert (record.iterations[1].misfit == "arrival_time") == config.basis.xi
    for name, arrays in found.items():
        for one, other in zip(arrays, found["1"], strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)


def test_rounding_changes_little(config, tmp_path):
    exact = start.run(config.replaced("run", directory=str(tmp_path / "a")), MPI.COMM_SELF, report=False)
    plain = config.replaced("inversion", reproducible=False).replaced("run", directory=str(tmp_path / "b"))
    usual = start.run(plain, MPI.COMM_SELF, report=False)
    ours, theirs = (RunFolder(tmp_path / name).read_model()["models"][-1] for name in "ab")
    assert (
        0.0 < np.abs(ours - theirs).max() < 1e-7 * np.abs(theirs).max()
    )  # panels are float32: a last digit changes one
    assert exact.sums == "exact: the same bits on any ranks" and usual.sums.startswith("as updates came, in float64")
    # The misfit follows the model: 1.03e-9 apart on a Zen 3 processor, less than 1e-9 on others.
    assert exact.iterations[-1].chi_data == pytest.approx(usual.iterations[-1].chi_data, rel=1e-8)


def test_quanta_that_are_too_fine_are_made_coarser(config, tmp_path, monkeypatch):
    """The model is nearly the same, and hessian.h5 holds the sum of one assembly."""
    monkeypatch.setattr(ModeTheory, "quanta", lambda *_: Quanta(2.0**-60, 2.0**-60))
    tried = []
    hold = Quanta.hold
    monkeypatch.setattr(Quanta, "hold", lambda self, *of: tried.append(self) or hold(self, *of))
    one = config.replaced("inversion", max_iterations=1)
    start.run(one.replaced("run", directory=str(tmp_path / "a")), MPI.COMM_SELF, report=False)
    assert len(tried) == 2 and tried[1].hessian > 2.0**-40
    monkeypatch.undo()
    start.run(one.replaced("run", directory=str(tmp_path / "b")), MPI.COMM_SELF, report=False)
    ours, theirs = (whole_hessian(tmp_path / name / "hessian.h5") for name in "ab")
    assert np.abs(ours - theirs).max() < 1e-9 * np.abs(theirs).max()


@pytest.mark.parametrize(
    ("table", "settings", "words"),
    [
        ("inversion", {"precision": "float32"}, '[inversion] precision = "float32"; allowed: "float64"'),
        ("inversion", {"in_place": True}, "[inversion] in_place = true; allowed: false"),
        ("prior", {"kind": "matern", "correlation_km": 3000.0}, '[prior] kind = "matern"; allowed: "gaussian"'),
    ],
)
def test_settings_that_cannot_be(config, table, settings, words):
    with pytest.raises(UserError, match=re.escape(f"[inversion] reproducible = true with {words}")):
        config.replaced(table, **settings)
