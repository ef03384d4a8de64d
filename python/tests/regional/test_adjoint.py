"""Panels beside time-reversed wave runs: both give the gradient of the misfit."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

import command_line
from adjoint_runs import gradient
from craton.regional.config import load_config
from craton.regional.folder import RegionalFolder
from craton.regional.measurements import Misfit
from craton.regional.observations import read_data
from craton.regional.predictions import predicted_of_state
from craton.regional.study import Study
from craton.runs.files import read_hdf5
from regional_config import written


@pytest.mark.long
@pytest.mark.parametrize("measure", ["waveform", "gsdf"])
def test_panels_times_residuals_are_the_gradient_of_reversed_runs(tmp_path, measure):
    """The run is long enough for the filter, and no point is masked: one reversed run cannot mask for one window alone."""
    config = written(
        tmp_path,
        ("duration_s = 24.0", "duration_s = 40.0"),
        ("noise = 0.05", f'noise = 0.05\nslowest_m_s = 2500.0\nafter_s = 2.0\nmeasure = "{measure}"'),
        ("spacing_m = [2000.0, 2000.0, 2000.0]", "spacing_m = [2000.0, 2000.0, 2000.0]\nmask_m = 1.0\nbits = 32"),
        ("iterations = 2", "iterations = 1"),
        ("[inversion]", "[run]\nkeep_spectra = true\n[inversion]"),
    )
    done = command_line.craton("regional", "run", config, "--no-report", cwd=tmp_path, seconds=300)
    assert done.returncode == 0, done.stderr
    folder, study = RegionalFolder(tmp_path / "small-run"), Study(load_config(config))
    state, misfit = folder.state(0), Misfit(study, read_data(folder.data, study))
    predicted = predicted_of_state(study, state, np.zeros(study.unknowns)).samples
    by_panels = read_hdf5(state.step)["gradient"]
    by_reversal = -gradient(study, misfit, predicted, state, mask=False)
    error = np.linalg.norm(by_reversal - by_panels) / np.linalg.norm(by_panels)
    print(
        f"{measure}: differ by {100 * error:.2f} %, largest {np.abs(by_reversal - by_panels).max() / np.abs(by_panels).max():.4f}"
    )
    assert error < 0.01
