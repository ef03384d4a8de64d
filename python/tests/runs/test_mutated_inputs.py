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
