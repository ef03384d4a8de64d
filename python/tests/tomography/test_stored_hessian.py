"""The packed Hessian in a file: read whole and in products, and compared with its checksum."""

from __future__ import annotations

import craton
import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.tomography.inversion.hessian_file import whole_hessian
from craton.tomography.inversion.stored_hessian import StoredHessian
from mpi4py import MPI

ORDER = 50


@pytest.fixture(params=["float32", "float64"])
def saved(request, tmp_path):
    draw = np.random.default_rng(3).normal(size=(ORDER, ORDER)).astype(request.param)
    whole = draw + draw.T
    matrix = craton.SymmetricMatrix(craton.World(MPI.COMM_SELF), ORDER, request.param, block=8)
    matrix.update_symmetric(whole, np.arange(ORDER))
    matrix.commit()
    matrix.save(str(tmp_path / "hessian.h5"), "hessian")
    return tmp_path / "hessian.h5", whole


def test_read_whole_and_in_products(saved):
    file, whole = saved
    np.testing.assert_array_equal(whole_hessian(file), whole)
    stored, vector = StoredHessian(file, MPI.COMM_SELF), np.arange(float(ORDER))
    for _ in range(2):
        np.testing.assert_allclose(stored.times(vector), whole.astype(float) @ vector, rtol=1e-12, atol=1e-9)


def test_an_element_that_was_changed_is_refused(saved):
    file, _ = saved
    with h5py.File(file, "r") as opened:
        assert "craton_checksum" in opened["hessian"].attrs
        at = opened["hessian"].id.get_offset() + 1000
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)
    for read in (lambda: whole_hessian(file), lambda: StoredHessian(file, MPI.COMM_SELF).times(np.ones(ORDER))):
        with pytest.raises(UserError, match=r"hessian\.h5: not a complete file of a run \(the checksum of /hessian is"):
            read()
