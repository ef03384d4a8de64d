"""HDF5 files on disks that become full, at any moment of the writing."""

from __future__ import annotations

import subprocess
import sys

import h5py
import numpy as np
import pytest
from craton.runs.hdf5_writing import written_hdf5

FILLED = """
import errno, resource, signal, sys
from pathlib import Path
import h5py, numpy as np
from craton.runs.hdf5_writing import written_hdf5

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = Path(sys.argv[1])
whole = failed = 0
for limit in range(0, 1_000_000, 4096):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        with written_hdf5(file) as content:
            content["a"] = np.ones(30_000)
            content.create_dataset("text", data=["abc" * 50] * 2000, dtype=h5py.string_dtype())
            content["b"] = np.ones(10_000)
    except OSError as problem:
        assert problem.errno == errno.EFBIG, problem
        failed += 1
    else:
        with h5py.File(file) as content:
            assert all((content[name][()] == 1).all() for name in "ab")
            assert content["text"].asstr()[1999] == "abc" * 50
        whole += 1
assert failed > 100 and whole > 10, (failed, whole)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the size of files")
def test_a_file_is_whole_or_its_failure_is_told(tmp_path):
    """h5py alone prints tracebacks of objects that it lets go, and for some sizes ends by a segmentation fault."""
    done = subprocess.run(
        [sys.executable, "-c", FILLED, str(tmp_path / "a.h5")], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_block_raises_is_raised(tmp_path):
    with pytest.raises(ZeroDivisionError), written_hdf5(tmp_path / "a.h5"):
        print(1 / 0)


def test_a_file_that_is_there_is_changed(tmp_path):
    file = tmp_path / "a.h5"
    with h5py.File(file, "w") as content:
        content["a"] = np.zeros(3)
    with written_hdf5(file, "r+") as content:
        content["a"][1] = 2.0
        content["b"] = [1, 2]
    with h5py.File(file) as content:
        assert content["a"][()].tolist() == [0.0, 2.0, 0.0] and content["b"][()].tolist() == [1, 2]
    with pytest.raises(FileNotFoundError), written_hdf5(tmp_path / "none.h5", "r+"):
        pass
