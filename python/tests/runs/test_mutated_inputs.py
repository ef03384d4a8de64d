"""Damaged files of every kind that Craton reads: refused in one line, or read. `make mutate` goes further."""

from __future__ import annotations

import mutated_inputs
import pytest
import readers

FEW = 12


@pytest.mark.parametrize("name", readers.READERS)
def test_mutated_inputs(name):
    count = FEW // 3 if readers.READERS[name].foreign else FEW
    found = mutated_inputs.campaign(name, "mutations", 1000, count)
    assert not found.wrong
    assert sum(found.ends.values()) == count


@pytest.mark.parametrize("name", [name for name, reader in readers.READERS.items() if reader.ours])
def test_files_of_craton_without_their_seal_and_with_a_flipped_bit(name):
    for mode in mutated_inputs.modes_of(name)[1:]:
        found = mutated_inputs.campaign(name, mode, 2000, FEW)
        assert not found.wrong


FOUND = [
    ("partitioned source", "unsealed", 269),  # an index of 512 GiB
    ("receivers, CSV", "mutations", 191),  # a column's name of two lines
    ("ruptures, table", "mutations", 44),  # the same
    ("ruptures, NRML", "mutations", 76),  # a fault round half of the Earth
    ("media, NetCDF classic", "mutations", 22),  # names of half a gigabyte
    # HDF5 does not come back from these: they are refused after a minute.
    pytest.param("media, NetCDF 4", "mutations", 0, marks=pytest.mark.long),
    pytest.param("starting model, NetCDF 4", "mutations", 163, marks=pytest.mark.long),
]
"""Inputs that were once neither refused in one line nor read."""


@pytest.mark.parametrize(("name", "mode", "number"), FOUND)
def test_inputs_that_were_found(name, mode, number):
    found = mutated_inputs.campaign(name, mode, number, 1)
    assert not found.wrong
    assert found.ends["refused"] == 1
