"""The smallest application of craton.runs: it counts, and can be killed or fail on the way.

As a program:

toy_run.py new|resume FOLDER [kill|fail|hold AT] [overwrite]
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.runs.agreement import ALONE
from craton.runs.checkpoints import opened_checkpoint, written_checkpoint
from craton.runs.files import write_text
from craton.runs.folder import RunFile, RunFolder
from craton.runs.progress_file import ProgressFile, Start
from craton.runs.record import Record, facts_of
from craton.runs.running import begun, finished, resumed

PHASES = ("set-up", "counting")
TOTAL = 10


@dataclass(kw_only=True)
class ToyRecord(Record):
    counted: int


class ToyFolder(RunFolder[ToyRecord]):
    app, record_type = "toy", ToyRecord

    numbers = RunFile("numbers.txt")
    pictures = RunFile("pictures")
    names = RunFile("names.csv", "input")
    checkpoint = RunFile("state.h5", "working")


def start(text: str = "a", threads: int = 1) -> Start:
    return Start("toy", {"run": {"threads": threads}, "count": {"text": text}}, "toy.toml", PHASES, 1, threads)


def run(comm: Any, path: Path, *, text: str = "a", overwrite: bool = False, act: str = "", at: int = -1) -> ToyRecord:
    return count(comm, path, begun(comm, ToyFolder(path), start(text), overwrite), 0, act, at)


def resume(comm: Any, path: Path, *, act: str = "", at: int = -1) -> ToyRecord:
    folder = ToyFolder(path)
    folder.to_resume()
    place = folder.unfinished
    assert place is not None
    with opened_checkpoint(place.checkpoint, {"app": "toy"}, "one of toy") as file:
        done = int(file.attrs["done"])
    return count(comm, path, resumed(comm, folder, start()), done, act, at)


def count(
    comm: Any, path: Path, session: AbstractContextManager[tuple[ToyFolder, ProgressFile]], done: int, act: str, at: int
) -> ToyRecord:
    with session as (place, progress):
        write_text(place.names, "one,two\n")
        progress.enter("counting", where="round 1 of at most 2", done=done, total=TOTAL, unit="numbers", mood="good")
        for number in range(done, TOTAL):
            if number == at:
                misfortune(act)
            if number == 3:
                with written_checkpoint(place.checkpoint, {"app": "toy"}) as file:
                    file.attrs["done"] = number
                progress.saved(number)
            progress.update(number + 1)
        write_text(place.numbers, f"{TOTAL}\n")
        place.pictures.mkdir(exist_ok=True)
        write_text(place.pictures / "one.txt", "picture")
        record = ToyRecord(counted=TOTAL, **facts_of("toy", Path("toy.toml"), {}))
        finished(comm, ToyFolder(path), place, progress, record)
    return record


def misfortune(act: str) -> None:
    if act == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if act == "fail":
        raise UserError("the numbers ran out")
    if act == "bug":
        raise ZeroDivisionError("of nothing")
    if act == "hold":
        print("held", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    what, where, *rest = sys.argv[1:]
    misfortune_at = {"act": rest[0], "at": int(rest[1])} if len(rest) > 1 else {}
    if what == "new":
        run(ALONE, Path(where), overwrite=rest[-1:] == ["overwrite"], **misfortune_at)
    else:
        resume(ALONE, Path(where), **misfortune_at)
