"""The demo, through Python, on two ranks: what its README promises of it."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from craton._launch import run_under_mpi

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "global"


@pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are not beside the tests")
def test_demo_finds_its_target_again(tmp_path, monkeypatch):
    for file in EXAMPLE.iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run_under_mpi([str(tmp_path / "demo.py")], 2, program=[sys.executable]) == 0
    folder = tmp_path / "demo-python-run"
    record = json.loads((folder / "record.json").read_text())
    iterations = record["iterations"]
    assert record["paths"] >= 800 and record["lateral_knots"] == 642 and record["radial_knots"] >= 8
    assert len(iterations) - 1 <= 5
    assert iterations[0]["variance_reduction"] < 0.8  # the target must leave something to explain
    assert iterations[-1]["variance_reduction"] >= 0.90
    assert iterations[-1]["residual_reduction"] >= 0.90
    assert record["correlation"]["overall"] >= 0.80
    # the noise is all that is left: chi_data is half the number of independent samples, some of which the model has fitted
    assert record["independent_samples"] < 0.2 * record["samples"]
    assert iterations[-1]["chi_data"] == pytest.approx(0.5 * record["independent_samples"], rel=0.03)
    report = (folder / "report.html").read_text()
    assert "synthetic" in report and "http://" not in report and 'src="http' not in report
    assert len(report) < 2_000_000
    # what the inversion did not make is said, and what the data resolve is drawn
    assert "with another theory (mode sums with coupled branches, NACT)" in report and "half as far apart" in report
    assert "noise in the filter" in report and (folder / "posterior").is_dir()
