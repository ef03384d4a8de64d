"""What speaks DLPack goes in by from_array, and a rank's own part goes out without a copy."""

import craton
import numpy as np
import pytest
from mpi4py import MPI

WHOLE = np.arange(12.0).reshape(3, 4)


class OfDevice:
    """An array that speaks DLPack alone, as other libraries' arrays do."""

    def __init__(self, values, device=None):
        self.values, self.device = values, device

    def __dlpack__(self, **options):
        if self.device is not None:
            raise BufferError("its memory is on a device")
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device or self.values.__dlpack_device__()


@pytest.fixture(scope="module")
def world():
    return craton.World(MPI.COMM_SELF)


def test_from_array_takes_what_speaks_dlpack_alone(world):
    for made in (
        craton.DistArray.from_array(world, OfDevice(WHOLE), tiles=2),
        craton.ConvergentMatrix.from_array(world, OfDevice(WHOLE)),
        craton.ReproducibleMatrix.from_array(world, OfDevice(WHOLE), largest=100.0),
    ):
        np.testing.assert_array_equal(made.gather(), WHOLE)
    np.testing.assert_array_equal(craton.ConvergentVector.from_array(world, OfDevice(WHOLE[0])).gather(), WHOLE[0])
    square = OfDevice(np.eye(3))
    np.testing.assert_array_equal(craton.SymmetricMatrix.from_array(world, square).gather(), np.eye(3))


def test_memory_of_a_device_is_refused(world):
    with pytest.raises(craton.UserError, match=r"OfDevice: DLPack device \(2, 0\): .*; allowed: memory of the host"):
        craton.DistArray.from_array(world, OfDevice(WHOLE, (2, 0)))


def test_a_ranks_own_part_goes_out_without_a_copy(world):
    array = craton.DistArray.from_array(world, WHOLE, tiles=2)
    for tile in array.local_tiles:
        other = np.from_dlpack(tile.array)
        np.testing.assert_array_equal(other, WHOLE[tile.slices])
        assert np.shares_memory(other, tile.array)
    matrix = craton.ConvergentMatrix.from_array(world, WHOLE)
    assert np.shares_memory(np.from_dlpack(matrix.local), matrix.local)


def test_a_whole_array_claims_neither_dlpack_nor_the_array_standard(world):
    array = craton.DistArray(world, (3, 3))
    assert not hasattr(array, "__dlpack__") and not hasattr(array, "__array_namespace__")
