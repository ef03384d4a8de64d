"""What befalls a run from outside, and when: drawn from a seed, done to its processes and its folder, and taken back.

A fault comes after the first file that the run has saved, at a random moment of one of its phases.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SIGNALS = ("SIGKILL", "SIGSTOP", "SIGTERM", "SIGINT")
OF_FOLDERS = ("full disk", "read-only folder", "deleted folder")
MEMORY = "memory limit"
KINDS = (*SIGNALS, *OF_FOLDERS, MEMORY)
TARGETS = ("command", "launcher", "rank")
DELETIONS = ("removed", "renamed")
STOPPED_S = 1.0
MORE_MEMORY = 1 << 20
"""Bytes that a process still gets, at most, once its memory is limited."""
MORE_FILE = 1 << 14
"""Bytes of the longest file where a limit on file sizes stands for a full disk."""


@dataclass(frozen=True)
class Fault:
    """One fault of a plan."""

    number: int
    case: str
    phase: str
    kind: str
    target: str
    """Of a signal or a limit of memory: TARGETS. Where the run has none such at the moment, it meets another of its processes."""
    deletion: str
    """Of a folder: DELETIONS."""
    at: float
    """Where in the time that an undisturbed run spends in the phase: 0 to 1."""
    which: float
    """Of several targets: 0 to 1."""

    @property
    def what(self) -> str:
        """In words."""
        if self.kind in SIGNALS:
            return f"{self.kind} to the {self.target}"
        if self.kind == "deleted folder":
            return f"folder {self.deletion}"
        return f"{self.kind} of the {self.target}" if self.kind == MEMORY else self.kind


def plan(seed: int, phases: Mapping[str, Sequence[str]]) -> Iterator[Fault]:
    """Faults without end, the same for the same seed. phases: of each case. In turn every kind meets every phase."""
    pairs = [(case, phase, kind) for case, its in phases.items() for phase in its for kind in KINDS]
    number = 0
    while True:
        order = random.Random(f"{seed} {number}").sample(pairs, len(pairs))
        for case, phase, kind in order:
            draw = random.Random(f"{seed} {number} {case} {phase} {kind}")
            target, deletion = draw.choice(TARGETS), draw.choice(DELETIONS)
            yield Fault(number, case, phase, kind, target, deletion, draw.random(), draw.random())
            number += 1


# ----------------------------------------------------------------------------------------------------------------- processes


def children(process: int) -> list[int]:
    """Processes that it has started, and orphans that it has taken."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):
                found += [int(word) for word in (task / "children").read_text().split()]
    return found


def descendants(process: int) -> list[int]:
    """With their children and so on; parents before their children."""
    found = children(process)
    for one in found:
        found += children(one)
    return found


def state_of(process: int) -> str:
    """A letter, as ps has it; "" where it is gone."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def words_of(process: int) -> str:
    """Its command line."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


LAUNCHERS = ("mpiexec", "mpirun", "orterun", "prterun", "hydra")


def kind_of(process: int) -> str:
    """launcher, rank, or job: any other process of a run but its command."""
    with contextlib.suppress(OSError):
        if os.path.basename(os.readlink(f"/proc/{process}/exe")).startswith(LAUNCHERS):
            return "launcher"
        if b"OMPI_COMM_WORLD_RANK=" in Path(f"/proc/{process}/environ").read_bytes():
            return "rank"
    return "job"


def chosen(command: int, fault: Fault) -> tuple[int, str]:
    """The process that it meets, and which that is."""
    if fault.target == "command":
        return command, "the command"
    found = {one: kind_of(one) for one in descendants(command) if state_of(one) not in ("", "Z")}
    for wanted in dict.fromkeys((fault.target, "rank", "job")):
        those = sorted(one for one, kind in found.items() if kind == wanted)
        if those:
            one = those[int(fault.which * len(those))]
            return one, f"a {wanted} ({words_of(one)[-60:]})" if wanted == "job" else f"a {wanted}"
    return command, "the command"


# -------------------------------------------------------------------------------------------------------------------- faults


@dataclass
class Done:
    """A fault that has been done."""

    what: str
    """To whom, in words."""
    back: Callable[[], None] | None = None
    """What takes it back when the run has ended."""

    def undo(self) -> None:
        """Takes it back, once."""
        back, self.back = self.back, None
        if back is not None:
            back()


class Impossible(Exception):
    """A fault that cannot be made on this machine; the text says why."""


def do(fault: Fault, command: int, folder: Path, mounts: bool) -> Done | None:
    """Does a fault to the run of a command in a folder; None where the run is over already. Impossible where it cannot be made.

    mounts: this process may mount file systems that no other process sees.
    """
    if fault.kind in SIGNALS:
        return _signal(fault, command)
    if fault.kind == MEMORY:
        return _limit_memory(fault, command)
    if fault.kind == "full disk":
        return _fill(folder) if mounts else _limit_files(command)
    if fault.kind == "read-only folder":
        return _protect(folder, mounts)
    return _delete(folder, fault.deletion)


def _signal(fault: Fault, command: int) -> Done | None:
    process, what = chosen(command, fault)
    try:
        os.kill(process, signal.Signals[fault.kind])
        if fault.kind == "SIGSTOP":
            time.sleep(STOPPED_S)
            os.kill(process, signal.SIGCONT)
    except ProcessLookupError:
        return None
    return Done(f"{fault.kind} to {what}")


def _limit_memory(fault: Fault, command: int) -> Done | None:
    process, what = chosen(command, fault)
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + int(fault.which * MORE_MEMORY)
        resource.prlimit(process, resource.RLIMIT_AS, (limit, limit))
    except (OSError, IndexError):
        return None
    return Done(f"{MEMORY} of {what}: {limit >> 20} MiB of addresses")


def _fill(folder: Path) -> Done:
    """The disk that is mounted above the folder."""
    filler = folder.parent / "filler"
    with filler.open("wb", buffering=0) as file:
        size = 0
        while (free := os.statvfs(folder.parent).f_bavail * os.statvfs(folder.parent).f_frsize) > 0:
            try:
                os.posix_fallocate(file.fileno(), size, free)
            except OSError:
                continue  # the run has taken some meanwhile
            size += free
    return Done("full disk", lambda: filler.unlink(missing_ok=True))


def _limit_files(command: int) -> Done | None:
    """As a full disk, of all processes but the command, whose words go to a file."""
    met = 0
    for process in descendants(command):
        with contextlib.suppress(OSError):
            resource.prlimit(process, resource.RLIMIT_FSIZE, (MORE_FILE, MORE_FILE))
            met += 1
    return Done(f"files of at most {MORE_FILE} bytes") if met else None


def _protect(folder: Path, mounts: bool) -> Done | None:
    if not folder.is_dir():
        return None
    if mounts:  # read-only elsewhere first: over the folder it must be at once, or a file is opened between
        beside = folder.parent.with_name("read-only")
        beside.mkdir(exist_ok=True)
        for words in (["--bind", folder, beside], ["-o", "remount,bind,ro", beside], ["--bind", beside, folder]):
            subprocess.run(["mount", *words], check=True)
        return Done("read-only folder", lambda: _unmount(folder, beside))
    if os.geteuid() == 0:
        raise Impossible("a folder that root may not write to needs a mount, which is not allowed here")
    folders = [folder, *(one for one in folder.rglob("*") if one.is_dir())]
    for one in folders:
        one.chmod(0o555)
    return Done("read-only folder", lambda: [one.chmod(0o755) for one in folders] and None)


def _unmount(*folders: Path) -> None:
    for folder in folders:
        subprocess.run(["umount", folder], check=True)


def _delete(folder: Path, how: str) -> Done | None:
    """Renamed first, so that what was in it at that moment can be looked at."""
    aside = folder.with_name(f"{folder.name} aside")
    try:
        folder.rename(aside)
    except FileNotFoundError:
        return None

    def back() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        aside.rename(folder)

    if how == "renamed":
        return Done("folder renamed", back)
    kept = folder.with_name(f"{folder.name} kept")
    shutil.copytree(aside, kept, copy_function=os.link)
    shutil.rmtree(aside)
    aside = kept
    return Done("folder removed", back)
