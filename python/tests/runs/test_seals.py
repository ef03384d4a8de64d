"""Checksums behind HDF5 files, and the guard that opens all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.runs import probe, seals
from craton.runs.files import replaced, seal_files, write_hdf5
from craton.runs.hdf5_files import hdf5_file, opened_hdf5
from mutations import flipped


def written(path, **content):
    with replaced(path) as aside:
        write_hdf5(aside, content or {"x": np.arange(30_000.0), "group/y": np.ones(5), "what": "a test"})
    return path


def test_every_program_reads_a_sealed_file(tmp_path):
    path = written(tmp_path / "a.h5")
    with h5py.File(path, "r") as plain, opened_hdf5(path, "one") as checked:
        assert plain["x"][:].tolist() == checked["x"][:].tolist() == list(range(30_000))
        assert checked.attrs["what"] == "a test"
    assert seals.sealed(path) is not None


def test_whoever_changes_a_file_with_hdf5_takes_its_seal_off(tmp_path):
    path = written(tmp_path / "a.h5")
    with h5py.File(path, "r+") as file:
        file["x"][3] = 7.0
    assert seals.sealed(path) is None
    with opened_hdf5(path, "one") as file:
        assert file["x"][3] == 7.0


@pytest.mark.parametrize("part", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_a_flipped_bit_is_refused(tmp_path, part):
    path = written(tmp_path / "a.h5")
    content = path.read_bytes()
    with seals.sealed(path) as file:
        size = file.seek(0, os.SEEK_END)
    path.write_bytes(flipped(content, int(8 * size * part)))
    with (
        pytest.raises(
            UserError, match=r"a\.h5: bytes \d+ to \d+ are not those that were written; allowed: "
        ) as refused,
        opened_hdf5(path, "one") as file,
    ):
        file["x"][:], file["group/y"][:], dict(file.attrs)
    assert "\n" not in str(refused.value)


def test_only_what_is_read_is_compared(tmp_path):
    path = written(tmp_path / "a.h5", first=np.zeros(100_000), last=np.zeros(100_000))
    with h5py.File(path, "r") as file:
        middle = file["last"].id.get_offset() + 400_000
    content = path.read_bytes()
    path.write_bytes(flipped(content, 8 * middle))
    with opened_hdf5(path, "one") as file:
        assert not file["first"][:].any()
        with pytest.raises(UserError, match="are not those that were written"):
            file["last"][:]


def test_a_damaged_table_of_checksums(tmp_path):
    path = written(tmp_path / "a.h5")
    content = path.read_bytes()
    with seals.sealed(path) as file:
        size = file.seek(0, os.SEEK_END)
    for at in (size + 1, len(content) - 20):
        path.write_bytes(flipped(content, 8 * at))
        with pytest.raises(UserError, match=r"a\.h5: its checksums are damaged; allowed: the file as it was written"):
            hdf5_file(path, "one")


def test_datasets_with_checksums_of_their_own_are_not_read(tmp_path):
    path = tmp_path / "a.h5"
    with replaced(path, own_checksums=("matrix", "none")) as aside:
        write_hdf5(aside, {"matrix": np.zeros(100_000), "x": np.arange(10.0)})
    with h5py.File(path, "r") as file:
        begin = file["matrix"].id.get_offset()
    content = path.read_bytes()
    path.write_bytes(flipped(content, 8 * (begin + 300_000)))
    with opened_hdf5(path, "one") as file:
        assert np.count_nonzero(file["matrix"][:]) == 1
    path.write_bytes(flipped(content, 8 * 40))
    with pytest.raises(UserError, match="are not those that were written"):
        hdf5_file(path, "one")


def test_what_is_no_hdf5_has_no_seal(tmp_path):
    path = tmp_path / "a.txt"
    with replaced(path) as aside:
        aside.write_text("text")
    assert path.read_text() == "text"


def test_large_files_have_none(tmp_path, monkeypatch):
    monkeypatch.setattr(seals, "LARGEST", 100_000)
    path = written(tmp_path / "a.h5")
    assert seals.sealed(path) is None
    with opened_hdf5(path, "one") as file:
        assert len(file["x"]) == 30_000


def test_a_seal_that_cannot_be_written(tmp_path):
    sealed = written(tmp_path / "a.h5")
    said = seal_files([tmp_path / "none.h5", sealed])
    assert said.endswith("none.h5: its checksums cannot be written: No such file or directory")


def test_a_copy_keeps_its_seal(tmp_path):
    path = written(tmp_path / "a.h5")
    damaged = flipped(path.read_bytes(), 8 * 100_000)
    with replaced(tmp_path / "b.h5") as aside:
        aside.write_bytes(damaged)
    assert (tmp_path / "b.h5").read_bytes() == damaged
    with (
        pytest.raises(UserError, match="are not those that were written"),
        opened_hdf5(tmp_path / "b.h5", "one") as file,
    ):
        file["x"][:]


# ----------------------------------------------------------------------------------------------------------------- the guard


def made(path, change):
    with h5py.File(path, "w") as file:
        change(file)
    return path


def beyond(file):
    file.create_dataset("x", (10**9,), "f8", chunks=(1000,))


def elsewhere(file):
    file["x"] = h5py.ExternalLink("/etc/passwd", "/y")


def raw_of_another(file):
    file.create_dataset("x", (10,), "f8", external=[("/etc/passwd", 0, 80)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (beyond, r"not a complete HDF5 file \(/x of 8000000000 bytes, of which the file has 0\)"),
        (elsewhere, r"\(/: x is a link to another file\)"),
        (raw_of_another, r"\(/x is stored in other files\)"),
    ],
)
def test_files_that_say_what_they_do_not_have(tmp_path, change, words):
    path = made(tmp_path / "a.h5", change)
    with pytest.raises(UserError, match=rf"a\.h5: .*{words}; allowed: one"):
        hdf5_file(path, "one")


def test_what_compresses_well_is_no_lie(tmp_path):
    path = made(
        tmp_path / "a.h5",
        lambda file: file.create_dataset("x", data=np.zeros(40_000_000), chunks=(1_000_000,), compression="gzip"),
    )
    assert path.stat().st_size < 1_000_000
    with opened_hdf5(path, "one") as file:
        assert not file["x"][::1000].any()


def test_a_link_to_nothing_is_no_fault(tmp_path):
    def link(file):
        file["x"] = h5py.SoftLink("/nowhere")
        file["y"] = 1.0

    with opened_hdf5(made(tmp_path / "a.h5", link), "one") as file:
        assert file["y"][()] == 1.0


def test_too_little_memory_is_no_fault_of_the_file(tmp_path):
    path = made(tmp_path / "a.h5", lambda file: file.create_group("x"))
    with pytest.raises(MemoryError), opened_hdf5(path, "one"):
        raise MemoryError


def test_what_a_reader_finds_is_one_line(tmp_path):
    path = made(tmp_path / "a.h5", lambda file: file.create_group("x"))
    for look in (lambda file: file["y"], lambda file: file["x"][0], lambda file: file.attrs["z"], lambda _: 1 / 0):
        with (
            pytest.raises(UserError, match=r"^\S+a\.h5: cannot be read \(.+\); allowed: one$"),
            opened_hdf5(path, "one", wrong="cannot be read") as file,
        ):
            look(file)


def test_a_group_that_holds_itself(tmp_path):
    def ring(file):
        file.create_group("a")["b"] = file["/"]

    hdf5_file(made(tmp_path / "a.h5", ring), "one").close()


def test_a_file_that_ends_the_process_which_reads_it(tmp_path, monkeypatch):
    path = made(tmp_path / "a.h5", lambda file: file.create_group("x"))

    def ends(command, **_):
        return subprocess.run([sys.executable, "-c", "import os; os.abort()"], check=False, stderr=subprocess.DEVNULL)

    real, calls = subprocess.run, []
    with monkeypatch.context() as patched:
        patched.setattr(probe, "subprocess", _Runs(ends))
        with pytest.raises(
            UserError, match=rf"\(HDF5 ends with {signal.SIGABRT.name} when it reads it\); allowed: one"
        ):
            hdf5_file(path, "one")
        hdf5_file(written(tmp_path / "sealed.h5"), "one").close()  # no child reads one with a seal first
        patched.setattr(probe, "subprocess", _Runs(hangs))
        path.touch()
        with pytest.raises(UserError, match=r"\(HDF5 has not read it within \d+ s\)"):
            hdf5_file(path, "one")
        patched.setattr(probe, "subprocess", _Runs(lambda *words, **more: calls.append(words) or real(*words, **more)))
        os.utime(path, ns=(1, 1))
        for _ in range(3):
            hdf5_file(path, "one").close()
    assert len(calls) == 1


def test_a_file_of_ours_without_its_seal_that_keeps_hdf5_for_ever(tmp_path, monkeypatch):
    path = endless(tmp_path / "a.h5")
    monkeypatch.setattr(probe, "LONGEST_S", 3.0)
    with pytest.raises(UserError, match=r"\(HDF5 has not read it within 3 s\); allowed: one"):
        hdf5_file(path, "one")


def test_a_child_whose_parent_was_killed_ends_by_itself(tmp_path):
    """Its minute, here a second, is over."""
    path = endless(tmp_path / "a.h5")
    code = f"import probe; probe.LONGEST_S = 0.5; probe.main({str(path)!r})"
    beside = Path(probe.__file__).parent
    child = subprocess.run([sys.executable, "-c", code], cwd=beside, timeout=60, check=False)
    assert child.returncode == -signal.SIGALRM


def endless(path):
    """A file that keeps HDF5 for ever: an object of no length, from which it steps to itself."""
    damaged = bytearray(made(path, lambda file: file.attrs.update(components="xyz")).read_bytes())
    heap = damaged.index(b"GCOL")
    damaged[heap + 24 : heap + 56] = bytes(32)
    path.write_bytes(damaged)
    return path


def hangs(command, *, timeout, **_):
    raise subprocess.TimeoutExpired(command, timeout)


class _Runs:
    DEVNULL, TimeoutExpired = subprocess.DEVNULL, subprocess.TimeoutExpired

    def __init__(self, run):
        self.run = run
