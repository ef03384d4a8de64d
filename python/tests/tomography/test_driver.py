"""The parts of an inversion by themselves: when it stops, what theory gives it, and that the driver takes other synthetics."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI")

from command_line import craton
from craton.tomography import start
from craton.tomography.config.tables import InversionConfig
from craton.tomography.folder import IterationRecord, RunFolder
from craton.tomography.inversion import driver
from craton.tomography.inversion.forward import ModeTheory
from craton.tomography.inversion.step import StepSearch
from craton.tomography.inversion.stopping import no_step_helps, reason_to_stop


def entry(number, fall, period_s=0.0):
    return IterationRecord(number, 1.0, 0.0, 0.0, 0.0, fall=fall, period_s=period_s)


def test_reasons_to_stop():
    settings = InversionConfig(max_iterations=2, tolerance=0.01)
    start, good, bad, long = entry(0, 1.0), entry(1, 0.5), entry(1, 0.005), entry(1, 0.001, 250.0)
    assert reason_to_stop([start], 0.0, settings) == ""
    assert reason_to_stop([start, good], 0.0, settings) == ""
    assert reason_to_stop([start, bad], 0.0, settings) == "the misfit fell by less than 1%"
    assert reason_to_stop([start, good, good], 0.0, settings).startswith("all 2 iterations")
    assert reason_to_stop([start, good], 0.0, InversionConfig(max_iterations=1)).startswith("one")
    for period_s in (250.0, 0.0):  # iterations of long periods end nothing, and do not count
        assert reason_to_stop([start, long, long, long], period_s, settings) == ""
    assert reason_to_stop([start, long, good], 0.0, settings) == ""
    some, fewer = entry(1, 0.005), entry(2, 0.005)
    some.left_out, fewer.left_out = 5, 2  # those that have come back are still to be fitted
    assert reason_to_stop([start, some, fewer], 0.0, InversionConfig(max_iterations=9)) == ""
    assert reason_to_stop([start, some, some], 0.0, InversionConfig(max_iterations=9)).startswith("the misfit fell")


def test_no_length_of_the_step_helps():
    text = no_step_helps(1.0, [4.0, 2.0], [0.5, 0.25])
    assert "it is 1 without, 4 with 0.5 of the step, 2 with 0.25 of it" in text
    assert "4 with the whole step" in no_step_helps(1.0, [4.0], [1.0])


@dataclass
class Elsewhere:
    """Synthetics of another solver: here of the same theory, counted."""

    theory: ModeTheory
    calls: int = 0

    def seismograms(self, model):
        return self.theory.seismograms(model)

    def chi_data(self, model):
        """From g(m) of all windows, as who has nothing but seismograms does it."""
        self.calls += 1
        data = self.theory.observations
        residual = data.whitened(data.observed - self.seismograms(model))
        return 0.5 * float(residual @ residual)


def test_the_step_search_takes_other_synthetics(small_config, tmp_path, monkeypatch):
    """What gives g(m) is a protocol: the same model whoever computes it."""
    once = small_config.replaced("inversion", max_iterations=1, precision="float64").replaced("paths", maximum=40)
    start.run(once.replaced("run", directory=str(tmp_path / "own")), MPI.COMM_SELF, report=False)
    given = []

    def elsewhere(run, files, basis, prior, synthetics, corrections):
        given.append(Elsewhere(synthetics))
        return StepSearch(run, files, basis, prior, given[0], corrections)

    monkeypatch.setattr(driver, "StepSearch", elsewhere)
    record = start.run(once.replaced("run", directory=str(tmp_path / "other")), MPI.COMM_SELF, report=False)
    own, other = (RunFolder(tmp_path / name).read_model() for name in ("own", "other"))
    assert given[0].calls >= 1
    np.testing.assert_allclose(other["models"], own["models"], rtol=0, atol=1e-12)
    assert record.iterations[1].chi_data == pytest.approx(json.loads(own["iterations"])[1]["chi_data"], rel=1e-6)


def test_check_foretells_a_run(small_config, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(small_config.to_toml(), encoding="utf-8")
    done = craton("tomography", "check", str(file), "--json", seconds=200)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    told = json.loads(done.stdout)
    assert told["paths"] == small_config.paths.maximum and told["parameters"] > 0
    assert told["memory_of_a_node"] and told["time"] and told["config"]["run"]["seed"] == 2015
    file.write_text(small_config.to_toml().replace("seed = 2015", "seed = -1"), encoding="utf-8")
    refused = craton("tomography", "check", str(file))
    assert refused.returncode == 2 and "[run] seed = -1" in refused.stderr and len(refused.stderr.splitlines()) == 1
