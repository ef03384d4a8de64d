"""Whether a richer theory is found in the data: where it made them, and where it did not."""

from __future__ import annotations

import numpy as np
import pytest
from craton.tomography.folder import CoverageCorrelation, RunFolder
from craton.tomography.inversion import theory_check
from craton.tomography.inversion.context import RunContext
from craton.tomography.inversion.judgement import judge
from craton.tomography.inversion.say import about_recovery
from craton.tomography.inversion.theory_check import compared, sampled
from craton.tomography.theory.names import inverted_by, theory_name
from wave_packets import FILTER_S, HALF_PERIOD_S, observations, waves

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start


def test_the_part_is_found_below_the_noise():
    """A signal of a tenth of the noise in 20,000 samples: |a| is 14, and half of the signal is 7 deviations."""
    random = np.random.default_rng(5)
    noise, added = random.standard_normal(20000), 0.1 * random.standard_normal(20000)
    without, half = compared("nact", 100, noise, added), compared("nact", 100, noise + 0.5 * added, added)
    assert without is not None and half is not None
    assert without.added == pytest.approx(0.01, rel=0.05) and without.deviation == pytest.approx(1 / 14.1, rel=0.02)
    assert abs(without.part) < 3 * without.deviation and not without.seen
    assert half.part - without.part == pytest.approx(0.5) and half.seen
    assert compared("nact", 1, np.ones(3), np.zeros(3)) is None
    assert (
        "nact would change the seismograms by 0.0992 of the noise (rms of 100 windows)" in half.text
        and "+- 0.07" in half.text
    )


def test_the_sample_is_the_seed_s():
    assert sampled(1000, 100, 1).sum() == 100 and sampled(50, 100, 1).all()
    assert np.array_equal(sampled(1000, 100, 1), sampled(1000, 100, 1))
    assert not np.array_equal(sampled(1000, 100, 1), sampled(1000, 100, 2))
    wrong = np.arange(1000) % 3 == 0
    few = sampled(1000, 700, 1, wrong)
    assert few.sum() == 666 and not few[wrong].any()
    assert np.array_equal(sampled(1000, 100, 1, np.zeros(1000, bool)), sampled(1000, 100, 1))


def test_the_judgement_says_it():
    found = compared("nact", 5, np.ones(100), np.ones(100))
    judged = judge(observations(waves()), waves().ravel(), 20.0, 100, HALF_PERIOD_S, FILTER_S, found)
    assert len(judged.warnings) == 1 and "the data ask for a richer theory than the run's" in judged.warnings[0]
    assert 'take [theory] kind = "nact"' in judged.text


def test_recovery_names_both_theories():
    """The demo's: one theory has made the data, two invert them."""
    found = CoverageCorrelation(0.8404, [300.0], [0.8], 321, 0.7)
    line = about_recovery(found, theory_name("nact"), inverted_by(theory_name("nact_in_plane"), "pava"))
    assert line == (
        "correlation of the recovered dlnVs with the filtered target: 0.840 at the 321 lateral knots whose path coverage is in the "
        "upper half, 0.700 at all (data by mode sums with coupled branches, NACT; inverted by mode sums with branches coupled in "
        "the plane of the great circle, NACT, with derivatives of path-average mode sums)"
    )
    assert inverted_by(theory_name("pava"), "pava") == "path-average mode sums" and theory_name("other") == "other"


@pytest.mark.parametrize(("by", "windows", "seen"), [("pava", 60, False), ("nact", 60, True), ("nact", 0, None)])
def test_runs_know_which_theory_made_their_data(small_config, tmp_path, by, windows, seen):
    """Noise of 5 %: the fit is a matter of the noise, and says little."""
    config = small_config.replaced("run", directory=str(tmp_path / by)).replaced("target", theory=by)
    config = config.replaced("theory", check_windows=windows)
    judged = start.run(config, MPI.COMM_SELF, report=False).judgement
    assert judged is not None
    if seen is None:
        assert judged.theory is None
        return
    assert judged.theory is not None and judged.theory.windows == windows
    assert judged.theory.seen == seen
    assert any("ask for a richer theory" in line for line in judged.warnings) == seen


def test_tables_without_room_are_told(small_config, tmp_path, monkeypatch):
    monkeypatch.setattr(theory_check, "MOST_BYTES", 1)
    config = small_config.replaced("run", directory=str(tmp_path / "run")).replaced("inversion", max_iterations=1)
    lines = []
    monkeypatch.setattr(RunContext, "say", lambda _, text: lines.append(text))
    judged = start.run(config, MPI.COMM_SELF, report=False).judgement
    assert judged is not None and judged.theory is None
    assert any(line.startswith("not compared with nact: its tables would take") for line in lines)


def test_the_richest_theory_has_none_beyond(small_config, tmp_path):
    config = small_config.replaced("run", directory=str(tmp_path / "run")).replaced("theory", kind="nact")
    config = config.replaced("paths", maximum=20).replaced("inversion", max_iterations=1)
    judged = start.run(config, MPI.COMM_SELF, report=False).judgement
    assert judged is not None and judged.theory is None


@pytest.mark.long
def test_data_of_finer_splines_are_not_a_matter_of_theory(small_config, tmp_path):
    """They hold structure that the model cannot have: it is compared with what its splines can hold."""
    config = small_config.replaced("run", directory=str(tmp_path / "run")).replaced("target", finer=True)
    record = start.run(config, MPI.COMM_SELF, report=True)
    same = start.run(small_config.replaced("run", directory=str(tmp_path / "same")), MPI.COMM_SELF, report=False)
    assert record.judgement is not None and record.judgement.theory is not None and not record.judgement.theory.seen
    assert record.iterations[0].chi_data != same.iterations[0].chi_data
    assert record.correlation is not None and record.correlation.overall > 0.6
    page = RunFolder(tmp_path / "run").report.read_text()
    assert "on splines half as far apart as the model" in page and "on the same spline basis" not in page
