"""Inputs that `make fuzz` found once are refused in one line, or read. Each failed before, or takes a way that others do not."""

import pytest
import readers
from craton.errors import UserError

pytest.importorskip("obspy", reason="ObsPy, with which some of the files are made, is not installed")

KEPT = [(name, kept) for name in readers.READERS for kept in sorted((readers.CORPORA / readers.slug(name)).glob("*"))]


@pytest.mark.parametrize(("name", "kept"), KEPT, ids=lambda each: getattr(each, "name", each))
def test_refused_in_one_line_or_read(name, kept, tmp_path):
    reader = readers.READERS[name]
    path = reader.make(tmp_path)
    path.write_bytes(kept.read_bytes())
    try:
        reader.read(path)
    except UserError as problem:
        assert "\n" not in str(problem)


def test_every_folder_belongs_to_a_reader():
    known = {readers.slug(name) for name in readers.READERS}
    assert {folder.name for folder in readers.CORPORA.iterdir()} <= known
