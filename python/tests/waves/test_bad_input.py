"""What a refused run leaves alone, and what is said of broken files."""

from __future__ import annotations

import warnings

import pytest
from craton import UserError

pytest.importorskip("mpi4py.MPI")

from craton.seismology.geometry.grid import Grid
from craton.seismology.sources.srf import iterate_srf
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.receivers import read_points
from craton.waves.start import run
from mpi4py import MPI
from wave_config import write_config

GRID = Grid((30, 28, 24), 100.0, None, 0.0)
WRONG_OUTPUTS = {
    "a point that is no number": ('"points.txt"', '"nan.txt"'),
    "a station outside": ("1300.0, 1480.0", "1300.0, -1.0"),
    "a movie never drawn": ("every = 20", "every = 2000"),
}


@pytest.mark.parametrize("what", WRONG_OUTPUTS)
def test_a_refused_run_leaves_the_folder_as_it_was(tmp_path, what):
    """Even with --overwrite: the configuration that is there belongs to the results beside it."""
    (tmp_path / "nan.txt").write_text("1 2 3\n100 nan 5\n")
    folder = tmp_path / "kept"
    folder.mkdir()
    names = ("config.toml", "seismograms.h5", "checkpoint.h5", "sgt.h5.partial")
    for name in names:
        (folder / name).write_text("of the run before")
    config = load_config(write_config(tmp_path, WRONG_OUTPUTS[what]), directory=folder)
    with pytest.raises(UserError, match="allowed"):
        run(config, MPI.COMM_WORLD, overwrite=True, report=False)
    assert {file.name: file.read_text() for file in folder.iterdir()} == dict.fromkeys(names, "of the run before")


def test_an_empty_list_of_points_is_one_line(tmp_path):
    path = tmp_path / "empty.txt"
    path.write_text("")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserError, match="an empty file; allowed: rows of x y z"):
            read_points(path, GRID)


def test_a_slip_rate_that_is_no_number_is_named_so(tmp_path):
    path = tmp_path / "bad.srf"
    path.write_text("1.0\nPOINTS 1\n0.01 0.01 0.5 0 90 1e6 0.0 0.01\n0 100 5 0 0 0 0\n0 50 xx 50 0\n")
    with pytest.raises(UserError, match="bad.srf:5: a slip rate that is no finite number; allowed: 5 finite"):
        list(iterate_srf(path))
