"""Mutated inputs: every reader reads damaged files, and refuses each in one line or reads what it says.

As a program, a worker: mutated_inputs.py READER FOLDER MODE FIRST COUNT; it prints a line of JSON for each input, before and after
it is read. Modes: "mutations" (of the file as it is), "unsealed" (of one whose seal is off) and "bits" (single bits flipped).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import readers
from mutations import flipped, mutated

MODES = ("mutations", "unsealed", "bits")
SECONDS = 90.0
"""Longer than that is a hang."""
BEYOND = 2, 1 << 28
"""So many times a file's size, and so many bytes more, may be allocated for it."""
OFFSET_OF_A_PLACE = 2_654_435_761
"""Spreads the bits that are flipped over a file: Knuth's multiplicative hash."""


# -------------------------------------------------------------------------------------------------------------------- worker


def digest(value: Any) -> str:
    """Of what a reader has read: alike for what is alike."""
    found = hashlib.sha256()
    _add(found.update, value, 0)
    return found.hexdigest()


def _add(add: Callable[[bytes], None], value: Any, depth: int) -> None:
    add(type(value).__name__.encode())
    if depth > 12:
        return
    if isinstance(value, np.ndarray):
        add(str(value.shape).encode() + str(value.dtype).encode())
        add(np.ascontiguousarray(value).tobytes() if value.dtype != object else repr(value.tolist()).encode())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for each in dataclasses.fields(value):
            _add(add, getattr(value, each.name), depth + 1)
    elif isinstance(value, dict):
        for key in sorted(value, key=repr):
            add(repr(key).encode())
            _add(add, value[key], depth + 1)
    elif isinstance(value, list | tuple):
        add(str(len(value)).encode())
        for each in value:
            _add(add, each, depth + 1)
    elif isinstance(value, int | float | str | bytes | bool | Path | np.generic | None):
        add(repr(value).encode())


def work(name: str, folder: Path, mode: str, first: int, count: int) -> None:
    """Reads inputs first .. first + count - 1."""
    from craton.errors import UserError, one_line
    from craton.runs.seals import sealed

    reader = readers.READERS[name]
    path = Path((folder / "path").read_text(encoding="utf-8"))
    whole = path.read_bytes()
    undisturbed = digest(reader.read(path))
    if mode == "unsealed" and (seal := sealed(path)) is not None:
        whole = whole[: seal.seek(0, os.SEEK_END)]
        seal.close()
    tracemalloc.start()
    for number in range(first, first + count):
        if mode == "bits":
            bit = number * OFFSET_OF_A_PLACE % (8 * len(whole))
            damaged, what = flipped(whole, bit), f"bit {bit}"
        else:
            damaged, what = mutated(whole, number)
        path.write_bytes(damaged)
        said: dict[str, Any] = {"number": number, "what": what}
        print(json.dumps(said), flush=True)
        begun = time.perf_counter()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            found = reader.read(path)
            said["end"] = "read" if mode != "bits" else "same" if digest(found) == undisturbed else "OTHER RESULT"
        except UserError as problem:
            line = one_line(str(problem))
            said |= {"end": "refused" if "\n" not in str(problem) else "SEVERAL LINES", "line": line[:300]}
        except BaseException as problem:  # what this looks for
            said |= {"end": "TRACEBACK", "line": f"{type(problem).__name__}: {problem}"[:300]}
        allocated = tracemalloc.get_traced_memory()[1] - before
        if allocated > BEYOND[0] * len(damaged) + BEYOND[1]:
            said |= {"end": "TOO MUCH MEMORY", "line": f"{allocated} bytes for {len(damaged)}: {said.get('line', '')}"}
        said["seconds"] = round(time.perf_counter() - begun, 3)
        print(json.dumps(said), flush=True)
    path.write_bytes(whole)


# ------------------------------------------------------------------------------------------------------------------ campaign


@dataclass
class Findings:
    """How the inputs of one reader ended."""

    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """What ended neither refused nor read."""
    lines: list[str] = field(default_factory=list)


GOOD = ("read", "refused", "same")
making = threading.Lock()


def modes_of(name: str) -> tuple[str, ...]:
    """What is done to the files of a reader: those that Craton writes are damaged with and without their seal too."""
    return MODES if readers.READERS[name].ours else MODES[:1]


def campaign(name: str, mode: str, first: int, count: int) -> Findings:
    """So many inputs of a reader, in processes of their own: one that dies or hangs is counted, and the next goes on."""
    found = Findings()
    with tempfile.TemporaryDirectory(prefix="craton-mutated-") as folder:
        place = Path(folder)
        with making:  # HDF5 and MPI serve one thread at a time
            made = readers.READERS[name].make(place)
        (place / "path").write_text(str(made), encoding="utf-8")
        kept = made.read_bytes()
        last = first + count
        while first < last:
            made.write_bytes(kept)
            first = _one_worker(found, [name, folder, mode, str(first), str(last - first)], first)
    return found


def _one_worker(found: Findings, arguments: list[str], first: int) -> int:
    """Runs a worker to its end, or until it dies; returns the number of the next input."""
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, stderr=complaints) as worker,
    ):
        current: dict[str, Any] = {"number": first, "what": "start"}
        for line in _lines(worker):
            if line is None:
                worker.kill()
                _count(found, current | {"end": "HANG"})
                return first + 1
            current = json.loads(line)
            if "end" in current:
                _count(found, current)
                first = current["number"] + 1
        code = worker.wait()
        if code == 0:
            return first
        complaints.seek(0)
        what = complaints.read().strip().splitlines()[-1:] or [""]
        _count(found, current | {"end": f"ENDED WITH {code}", "line": what[0][:300]})
        return first + 1


def _lines(worker: subprocess.Popen[bytes]) -> Iterator[bytes | None]:
    """What a worker prints, line by line; None and no more when it has printed nothing for too long."""
    assert worker.stdout is not None
    left = b""
    while True:
        ready, _, _ = select.select([worker.stdout], [], [], SECONDS)
        if not ready:
            yield None
            return
        read = os.read(worker.stdout.fileno(), 1 << 16)
        if not read:
            return
        *lines, left = (left + read).split(b"\n")
        yield from lines


def _count(found: Findings, said: dict[str, Any]) -> None:
    end = said["end"]
    found.ends[end] += 1
    if end not in GOOD:
        found.wrong.append(f"input {said['number']} ({said['what']}): {end}: {said.get('line', '')}")
    elif end == "refused":
        found.lines.append(said["line"])


if __name__ == "__main__":
    work(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
