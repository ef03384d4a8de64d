"""Ground that changes beyond the box of knots too: what it counts for in the absorbing sides."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

import command_line
from craton import regional
from craton.regional.absorbing import complex_volumes
from craton.regional.folder import RegionalFolder
from craton.regional.study import Study
from panel_runs import by_panels, by_runs
from regional_config import written

FREE = ("spacing_m = [2000.0, 2000.0, 2000.0]", 'spacing_m = [2000.0, 2000.0, 2000.0]\nmask_m = 1.0\nsides = "free"')


def test_volumes_are_stretched_in_the_sides_alone(tmp_path):
    study = Study(regional.load_config(written(tmp_path, FREE)))
    points, frequencies = study.lattice.points_m, study.frequencies_hz
    assert study.lattice.counts == (20, 18, 12) and study.knots.counts == (7, 6, 5)
    found = complex_volumes(study.config, study.steady, points, frequencies)
    inside = np.all((points > [6000, 6000, 0]) & (points < [18000, 16000, 8000]), axis=1)
    assert (found[inside] == 1).all() and (np.abs(found[~inside]) > 1).all()
    # a face: waves go on, and their amplitude falls; an edge has both factors
    at = np.array([[2500.0, 11000.0, 500.0], [12000.0, 19500.0, 500.0], [2500.0, 19500.0, 500.0]])
    x, y, both = complex_volumes(study.config, study.steady, at, frequencies)
    assert (x.imag < 0).all() and np.abs(x).max() > 2
    assert np.allclose(both, x * y, rtol=0.05)


@pytest.mark.parametrize("kind", ["none", "sponge"])
def test_other_sides_have_no_stretched_waves(tmp_path, kind):
    config = written(tmp_path, FREE, ("width_cells = 6", f'width_cells = 6\nabsorbing = "{kind}"'))
    study = Study(regional.load_config(config))
    found = complex_volumes(study.config, study.steady, study.lattice.points_m, study.frequencies_hz)
    assert np.allclose(found.real, 1.0) and (found.imag <= 0).all()
    assert (found.imag < 0).any() == (kind == "sponge")


@pytest.mark.long
def test_panels_of_the_sides_are_derivatives_of_real_wave_runs(tmp_path):
    """Of knots on one face, and of a whole plane, as wrong layers are. Without the absorbing sides a face is off by 90 %.

    Cells are coarse here, and the plane holds the points beside sources and stations, where kernels change within a cell.
    """
    keeps = ("[inversion]", "[run]\nkeep_spectra = true\n[inversion]")
    config = written(tmp_path, FREE, ("iterations = 2", "iterations = 1"), keeps)
    done = command_line.craton("regional", "run", config, "--no-report", cwd=tmp_path, seconds=300)
    assert done.returncode == 0, done.stderr
    study, folder = Study(regional.load_config(config)), RegionalFolder(tmp_path / "small-run")
    changes = np.zeros((3, *study.knots.counts))
    changes[0, 0] = changes[1, :, :, -1] = changes[2, :, :, 1] = 0.03
    columns = changes.reshape(3, -1).T
    panels = by_panels(study, folder.state(0), columns)
    for number, name in enumerate(("the face at low x", "the bottom", "a plane 2 km deep")):
        right = by_runs(study, columns[:, number], tmp_path / "changed")
        off = np.linalg.norm(panels[:, number] - right) / np.linalg.norm(right)
        print(f"{name}: {100 * off:.1f} %")
        assert off < (0.3 if "plane" in name else 0.2)
