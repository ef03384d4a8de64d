"""Files that are whole or not there; records; checkpoints; what ranks agree on; numbers in words."""

from __future__ import annotations

import collections
import errno
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
import pytest
import toy_run
from craton.errors import UserError
from craton.runs import files
from craton.runs.agreement import on_all, on_root, on_some
from craton.runs.checkpoints import identity_of, opened_checkpoint, written_checkpoint
from craton.runs.files import (
    read_hdf5,
    read_json,
    remove,
    replaced,
    strict_json,
    write_hdf5,
    write_json,
    write_text,
    writing_to,
)
from craton.runs.record import Record, Session, facts_of, title_of
from craton.runs.words import counted, duration, forecast_duration, forecast_size, range_text, rate_text, size_text
from toy_run import ToyFolder, ToyRecord

MPI = pytest.importorskip("mpi4py.MPI")


def test_a_file_is_replaced_when_it_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "first ä\n")

    def fail():
        with replaced(path) as aside:
            aside.write_text("half")
            assert aside.name == f"a.txt.{os.getpid()}.new"
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert path.read_text(encoding="utf-8") == "first ä\n" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(UserError, match=r"a\.txt: cannot be written: No such file or directory"):
        write_text(tmp_path / "none" / "a.txt", "")


def test_what_is_removed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for name in ("link", "folder", "none"):
        remove(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def read_only(monkeypatch):
    """A function after which nothing can be removed, as in a folder that has become read-only; of files that are missing too."""

    def refuse(path, *_args, **_named):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    return lambda: monkeypatch.setattr(os, "unlink", refuse)


def test_a_folder_that_becomes_read_only_is_told_in_a_line(tmp_path, read_only):
    (tmp_path / "file").write_text("")
    read_only()
    with pytest.raises(UserError, match=r"a\.txt: cannot be written: No space left on device; allowed"), replaced(
        tmp_path / "a.txt"
    ):  # fmt: skip
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(UserError, match=r"file: cannot be removed: Read-only file system; allowed"):
        remove(tmp_path / "file")
    remove(tmp_path / "none")
    with pytest.raises(UserError, match=rf"{tmp_path}: cannot be written to: Permission denied; allowed"), writing_to(
        tmp_path
    ):  # fmt: skip
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


def test_a_folder_that_becomes_read_only_is_free_again(tmp_path, read_only):
    folder = ToyFolder(tmp_path)
    folder.lock()
    folder.progress.write_text("{}")
    read_only()
    folder.release()
    assert folder.owner is None
    ToyFolder(tmp_path).lock()


def test_a_folder_that_has_gone_has_no_room(tmp_path):
    with pytest.raises(
        UserError, match=r"a\.h5: cannot be written: No such file or directory; allowed: a file in a fo"
    ):
        files.check_room(tmp_path / "gone" / "a.h5", 1)


def test_json_is_strict_both_ways(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"a": np.float32(0.5), "b": np.arange(3), "c": Path("x"), "d": np.bool_(True)})
    assert read_json(path, "a table", "one") == {"a": 0.5, "b": [0, 1, 2], "c": "x", "d": True}
    for value in (np.nan, np.array([1.0, np.inf])):
        with pytest.raises(ValueError, match="not JSON compliant"):
            strict_json({"a": value})
    with pytest.raises(TypeError, match="set is no JSON"):
        strict_json({"a": {1}})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "No such file or directory; allowed: one"),
        (b"{", "not a table (Expecting"),
        (b"\xff", "not a table ('utf-8'"),
        (b"3", "not a table (int instead of an object); allowed: one"),
        (b'{"a": NaN}', "not a table (NaN is no number of JSON)"),
        (b'{"a": -Infinity}', "not a table (-Infinity is no number of JSON)"),
        (b'{"a":' + b"[" * 100000, "not a table ("),
    ],
)
def test_damaged_json_is_named(tmp_path, content, problem):
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError) as failure:
        read_json(path, "a table", "one")
    assert str(failure.value).startswith(f"{path}: {problem}")


def test_hdf5_and_back(tmp_path):
    path = tmp_path / "a.h5"
    content = {"x": np.arange(4.0), "g/y": np.ones((2, 3), np.float32), "text": "a", "number": 3}
    write_hdf5(path, content)
    read = read_hdf5(path)
    np.testing.assert_array_equal(read["g/y"], content["g/y"])
    assert read["text"] == "a" and read["number"] == 3 and "x" not in read_hdf5(path, leave_out=("x",))
    with pytest.raises(UserError, match=r"none\.h5: no such file"):
        read_hdf5(tmp_path / "none.h5")
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(UserError, match=r"a\.h5: not a complete HDF5 file"):
        read_hdf5(path)


def test_a_full_disk_is_told_before_hdf5_meets_it(tmp_path, monkeypatch):
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(files.shutil, "disk_usage", lambda _: usage(10**6, 10**6 - 100, 100))
    with pytest.raises(UserError, match=r"a\.h5: needs \d+ bytes but 100 are free; allowed: a disk with room"):
        write_hdf5(tmp_path / "a.h5", {"x": np.zeros(10)})
    with (
        pytest.raises(UserError, match=r"a\.h5: needs \d+ bytes but 100 are free"),
        written_checkpoint(tmp_path / "a.h5", {}, 8),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------------- records


@dataclass
class Part:
    name: str
    value: float = 0.0


@dataclass(kw_only=True)
class Whole(Record):
    parts: list[Part] = field(default_factory=list)
    best: Part | None = None
    count: int = 0


def test_a_record_and_back():
    record = Whole(**facts_of("toy", Path("my_first-run.toml"), {"a": (1, 2)}, 4, 2, 3), parts=[Part("x", 0.5)])
    record.sessions.append(Session("2026-01-01T00:00:00+00:00", 4, 3, seconds=2.5))
    assert (record.title, record.config, record.ranks, record.nodes, record.threads) == (
        *("my first run", {"a": [1, 2]}),
        *(4, 2, 3),
    )
    assert record.command.startswith("craton") and "python" in record.versions and "numpy" in record.versions
    content = json.loads(record.to_json())
    assert Whole.from_dict(content | {"of a later version": 1}) == record and record.spent_s == 2.5
    assert Whole.from_dict(content | {"best": {"name": "y"}}).best == Part("y")
    record.seconds["steps"] = float("nan")
    with pytest.raises(ValueError, match="JSON"):
        record.to_json()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"counted": "ten"}, "'ten' instead of int"),
        ({"counted": True}, "True instead of int"),
        ({"sessions": 3}, "3 instead of list"),
        ({"sessions": [3]}, "Session from int"),
        ({"seconds": []}, "instead of dict"),
        ({"title": None}, "None instead of str"),
        ({"finished": 1}, "1 instead of bool"),
        ({"app": ...}, "missing 1 required keyword-only argument: 'app'"),
    ],
)
def test_a_damaged_record_is_named(tmp_path, change, problem):
    toy_run.run(MPI.COMM_SELF, tmp_path)
    folder = ToyFolder(tmp_path)
    content = json.loads(folder.record.read_text()) | change
    content = {key: value for key, value in content.items() if value is not ...}
    folder.record.write_text(json.dumps(content))
    with pytest.raises(UserError) as failure:
        folder.read_record()
    assert "record.json: not a run's record (" in str(failure.value) and problem in str(failure.value)
    assert str(failure.value).endswith("allowed: what `craton toy run` wrote")
    folder.record.write_text("{")
    with pytest.raises(UserError, match=r"record\.json: not a run's record \(Expecting"):
        folder.read_record()


def test_the_record_of_another_application_is_named(tmp_path):
    toy_run.run(MPI.COMM_SELF, tmp_path)
    folder = ToyFolder(tmp_path)
    folder.record.write_text(json.dumps(json.loads(folder.record.read_text()) | {"app": "waves"}))
    with pytest.raises(UserError, match=r"the record of a run of `craton waves`; allowed: what `craton toy run` wrote"):
        folder.read_record()


def test_title():
    assert title_of(Path("a/global_small.toml")) == "global small"
    assert ToyRecord.__mro__[1] is Record


# --------------------------------------------------------------------------------------------------------- checkpoints


def test_a_checkpoint_says_whose_it_is(tmp_path):
    path = tmp_path / "c.h5"
    with written_checkpoint(path, {"basis": "sto-3g", "iteration": 2}) as file:
        file["x"] = np.arange(3)
    with opened_checkpoint(path, {"basis": "sto-3g"}, "mine") as file:
        assert list(file["x"]) == [0, 1, 2] and identity_of(file) == {"basis": "sto-3g", "iteration": 2}
    for ours, problem in (
        ({"basis": "6-31g"}, "its basis is sto-3g, but this run's is 6-31g; allowed: mine"),
        ({"app": "scf"}, "its app is missing, but this run's is scf; allowed: mine"),
    ):
        with pytest.raises(UserError) as failure, opened_checkpoint(path, ours, "mine"):
            pass
        assert str(failure.value) == f"checkpoint {path}: {problem}"

    def fail():
        with written_checkpoint(path, {"iteration": 9}):
            raise ValueError("half")

    with pytest.raises(ValueError, match="half"):
        fail()
    with opened_checkpoint(path, {"iteration": 2}, "mine"):
        assert list(tmp_path.iterdir()) == [path]


def test_checkpoints_that_are_none(tmp_path):
    with pytest.raises(UserError, match=r"checkpoint \S+none\.h5: no such file; allowed: mine"):
        opened_checkpoint(tmp_path / "none.h5", {}, "mine").__enter__()
    damaged, stranger = tmp_path / "damaged.h5", tmp_path / "stranger.h5"
    damaged.write_text("text")
    with h5py.File(stranger, "w") as file:
        file["x"] = 1
    for path in (damaged, stranger):
        with pytest.raises(UserError, match=rf"{path.name}: not whole or not one \(.*; allowed: mine"):
            opened_checkpoint(path, {}, "mine").__enter__()
    with written_checkpoint(tmp_path / "c.h5", {}) as file:
        file["x"] = 1
    with (
        pytest.raises(UserError, match=r"c\.h5: not whole or not one \(.*y"),
        opened_checkpoint(tmp_path / "c.h5", {}, "mine") as file,
    ):
        file["y"][()]
    with (
        pytest.raises(UserError, match=r"No such file or directory; allowed: a file in a folder that exists"),
        written_checkpoint(tmp_path / "no" / "c.h5", {}),
    ):
        pass


# ------------------------------------------------------------------------------------------------------------ agreement


class TwoRanks:
    """What rank 1 sees of rank 0's outcome."""

    rank, size = 1, 2

    def __init__(self, outcome):
        self.outcome = outcome

    def bcast(self, _mine, root):
        assert root == 0
        return self.outcome

    def Ibarrier(self):
        self.looks = 0
        return self

    def Test(self):
        self.looks += 1
        return self.looks == 3  # rank 0 takes a while


def test_rank_0_does_it():
    assert on_root(MPI.COMM_SELF, lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        on_root(MPI.COMM_SELF, lambda: 1 // 0)
    comm = TwoRanks((4, None, False))
    assert on_root(comm, lambda: pytest.fail("not on rank 1")) == 4 and comm.looks == 3
    with pytest.raises(UserError, match="bad file"):
        on_root(TwoRanks((None, "bad file", True)), lambda: None)
    with pytest.raises(RuntimeError, match="rank 0 failed: a bug"):
        on_root(TwoRanks((None, "a bug", False)), lambda: None)


class SecondOfTwo(TwoRanks):
    """Rank 1 of two; outcome: the first complaint, which rank 0 makes known."""

    def gather(self, mine):
        self.given = mine


def test_the_first_ranks_do_a_share_each():
    assert on_some(MPI.COMM_SELF, 1, lambda rank: rank + 3) == [3]
    with pytest.raises(ZeroDivisionError):
        on_some(MPI.COMM_SELF, 1, lambda rank: 1 // rank)
    comm = SecondOfTwo(None)
    assert on_some(comm, 2, lambda rank: 10 * rank) == [] and comm.given == (10, None) and comm.looks == 3
    assert on_some(comm, 1, lambda rank: pytest.fail("rank 1 has no share")) == [] and comm.given == (None, None)
    with pytest.raises(UserError, match="^bad file$"):
        on_some(SecondOfTwo((UserError, "bad file")), 2, lambda rank: rank)
    with pytest.raises(RuntimeError, match="^rank 0 failed: a bug$"):
        on_some(SecondOfTwo((RuntimeError, "rank 0 failed: a bug")), 1, lambda rank: rank)
    comm = SecondOfTwo((UserError, "no such place"))
    with pytest.raises(UserError, match="^no such place$") as raised:
        on_some(comm, 2, lambda rank: refuse("no such place"))
    assert comm.given == (None, (UserError, "no such place")) and raised.traceback[-1].name == "refuse"
    with pytest.raises(MemoryError):
        on_some(comm, 2, lambda rank: exhaust())
    assert comm.given == (None, (MemoryError, "8 TB"))
    with pytest.raises(KeyError):
        on_some(comm, 2, lambda rank: {}["place"])
    _, (kind, text) = comm.given
    assert kind is RuntimeError and re.match(r"rank 1 failed: KeyError: 'place'\nTraceback(.|\n)*test_files.py", text)


def exhaust():
    raise MemoryError("8 TB")


def refuse(text):
    raise UserError(text)


def test_every_rank_does_it():
    import craton

    world = craton.World(MPI.COMM_SELF)
    assert on_all(world, lambda: 3) == 3

    def wrong():
        raise UserError("no such file")

    with pytest.raises(UserError, match="no such file"):
        on_all(world, wrong)
    with pytest.raises(ZeroDivisionError):
        on_all(world, lambda: 1 // 0)
    with pytest.raises(
        UserError, match="toy: ZeroDivisionError: .* on rank 0; allowed: arguments and functions that wo"
    ):
        on_all(world, lambda: 1 // 0, "toy")


def test_numbers_in_words():
    assert [counted(1, "rank"), counted(2, "rank"), counted(1200, "path")] == ["1 rank", "2 ranks", "1,200 paths"]
    assert [duration(3.25), duration(75.0), duration(3725.0)] == ["3.2 s", "1:15 min", "1:02:05"]
    assert [size_text(12), size_text(1234567), size_text(2e13)] == ["12 B", "1.2 MB", "20.0 TB"]
    assert [forecast_duration(seconds) for seconds in (100.0, 3725.0, 9000.0, 864000.0)] == [
        "100 s",
        "62.1 min",
        "2.5 h",
        "10 days",
    ]
    assert [forecast_size(1234567), forecast_size(2**31), forecast_size(2**42)] == ["1.18 MiB", "2 GiB", "4 TiB"]
    assert [rate_text(1003.2, "paths"), rate_text(12345.6, "paths")] == ["1003 paths/s", "12.3k paths/s"]
    assert [range_text([2.0, -0.5], "%"), range_text([[1.0, 2.25]], "km")] == ["from -0.5% to 2%", "from 1 to 2.25 km"]
    assert [range_text([np.nan, 1234.5], "s", 4), range_text([np.nan])] == ["from 1234 to 1234 s", "without values"]
