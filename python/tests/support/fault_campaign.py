"""The campaign of faults: a run meets one, ends in a line or by the signal, goes on, and ends as if nothing had happened.

As a program it does faults of a plan and says of each, in a line of JSON, how it went; see tools/faults.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from faults import DELETIONS, Done, Fault, Impossible, children, descendants, do, state_of, words_of
from helpers import environment_without_mpi
from saving_runs import CASES, Case, Place, differences

SECONDS_TO_END = 60.0
"""For a run that has met a fault; longer is a hang. What a run takes without one comes on top of it."""
PATIENCE_S = 30.0
"""With transfers to files: shorter than a hang. Open MPI may come back on no rank where one cannot open a file."""
SECONDS_ALONE = 15.0
"""For processes of a run whose command is gone."""
LOOK_EVERY_S = 0.002
TRIES, EARLIER = 3, 0.7
"""For a fault that came too late, because the machine has become faster: tries, and by how much each is earlier."""
DISK = "256m"
"""Size of the disk that becomes full."""
SHARED_MEMORY = Path("/dev/shm")

RESUMED, WENT_ON, TOO_LATE, IMPOSSIBLE, WRONG = "resumed", "went on", "too late", "impossible", "wrong"
ENDS = (RESUMED, WENT_ON, TOO_LATE, IMPOSSIBLE, WRONG)


@dataclass
class End:
    """How a fault ended."""

    fault: Fault
    end: str
    """Of ENDS."""
    what: str = ""
    """The fault, and when it came."""
    lines: list[str] = field(default_factory=list)
    """What is wrong."""
    said: str = ""
    """The run's own line about its end."""


class Wrong(Exception):
    """What must not be; the text says what."""


# ----------------------------------------------------------------------------------------------------------------- processes


SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Linux: processes whose parents have gone become children of this one, however they have left them."""
    ctypes.CDLL(None, use_errno=True).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Job:
    """A command that runs, with what it says in files."""

    def __init__(self, words: list[str], place: Place, name: str) -> None:
        self.out, self.err = (place.path / f"{name}.{stream}" for stream in ("out", "err"))
        environment = environment_without_mpi(
            TMPDIR=str(place.temporary),
            OMP_NUM_THREADS="1",
            OPENBLAS_NUM_THREADS="1",
            COLUMNS="200",
            CRATON_IO_PATIENCE=str(PATIENCE_S),
        )
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                words, cwd=place.inputs, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                start_new_session=True,
            )  # fmt: skip

    @property
    def is_over(self) -> bool:
        """Whether the command has ended."""
        return self.process.poll() is not None

    def ended(self, within_s: float) -> int:
        """Its code. Wrong if it takes longer, with what it waits for."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            those = [self.process.pid, *descendants(self.process.pid)]
            found = [f"not over after {within_s:.0f} s; it said: {self.lines[-3:]}"]
            for one in those:
                found += [f"{one} {state_of(one)} {words_of(one)[-90:]}", *backtrace(one)]
            raise Wrong("\n".join(found)) from None

    @property
    def lines(self) -> list[str]:
        """Of standard error."""
        return [line for line in self.err.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]


def backtrace(process: int) -> list[str]:
    """What the threads of a process wait for, where gdb is installed: a line for each of their innermost calls."""
    if shutil.which("gdb") is None:
        return []
    words = ["gdb", "-p", str(process), "-batch", "-ex", "thread apply all bt 12"]
    said = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, timeout=60).stdout
    return [f"  {line[:150]}" for line in said.splitlines() if line.startswith(("#", "Thread"))]


def left(within_s: float) -> list[str]:
    """Descendants of this process that are still there after so many seconds; those that have ended are buried."""
    until = time.monotonic() + within_s
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        found = children(os.getpid())
        if not found or time.monotonic() > until:
            return [words_of(one) for one in found]
        time.sleep(0.01)


def end_all() -> None:
    """Ends what is left of runs."""
    for one in reversed(descendants(os.getpid())):
        with contextlib.suppress(OSError):
            os.kill(one, signal.SIGKILL)
    left(SECONDS_ALONE)


# ------------------------------------------------------------------------------------------------------- where a run is


class Watch:
    """The phases that a run has gone through since its first save."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder
        self.saved_at: float | None = None
        self.done_s = 0.0
        """Seconds after the first save at which the last file was there; 0: not yet."""
        self.phases: list[tuple[str, float]] = []
        """With the seconds after the first save at which each was seen first."""

    @property
    def since(self) -> float:
        """Seconds since the first save; below 0 before it."""
        return -1.0 if self.saved_at is None else time.monotonic() - self.saved_at

    def look(self) -> None:
        """Looks where it is now."""
        if self.saved_at is None:
            if not self.case.saved(self.folder):
                return
            self.saved_at = time.monotonic()
        phase = self._phase() if self.case.done is None else "" if not self.case.done(self.folder) else None
        if phase is None:
            self.done_s = self.done_s or self.since
        elif not self.phases or self.phases[-1][0] != phase:
            self.phases.append((phase, self.since))

    def _phase(self) -> str | None:
        """As progress.json has it; None where that has gone."""
        try:
            return str(json.loads((self.folder / "progress.json").read_text(encoding="utf-8"))["phase"])
        except OSError:
            return None if self.phases else ""

    @property
    def timeline(self) -> Timeline:
        """Of a run that has ended."""
        return Timeline(self.phases, self.done_s or self.since)


@dataclass
class Timeline:
    """When a run that nobody disturbs is where."""

    phases: list[tuple[str, float]]
    """As Watch has them."""
    saved_s: float
    """From the first save to the last."""

    def moment(self, phase: str, at: float) -> tuple[int, float]:
        """Where a fault falls: the place in `phases`, and seconds after its beginning. at: 0 to 1, of all time in the phase."""
        ends = [begun for _, begun in self.phases[1:]] + [self.saved_s]
        spans = [(n, end - begun) for n, ((_, begun), end) in enumerate(zip(self.phases, ends, strict=True))]
        those = [(n, length) for n, length in spans if self.phases[n][0] == phase] or spans
        left_s = at * sum(length for _, length in those)
        for number, length in those:
            if left_s < length:
                return number, left_s
            left_s -= length
        return those[-1]


@dataclass
class Undisturbed:
    """A run that nobody has disturbed."""

    folder: Path
    seconds: float
    timeline: Timeline
    """Of the last run of the case that nobody has disturbed: other work on the machine changes it."""


LATE_S = 1.0
"""A phase that was so short that nobody has seen it is waited for so long."""


def at_the_moment(job: Job, watch: Watch, timeline: Timeline, fault: Fault, haste: float) -> bool:
    """Waits for the moment of a fault; False where the run was over before. haste: less than 1 brings the moment forward."""
    number, after_s = timeline.moment(fault.phase, fault.at)
    begun_s, after_s = timeline.phases[number][1], haste * after_s
    while not job.is_over:
        watch.look()
        seen = len(watch.phases) > number
        if seen and watch.since >= watch.phases[number][1] + after_s:
            return True
        if not seen and watch.since > begun_s + after_s + LATE_S:
            return True
        time.sleep(LOOK_EVERY_S)
    return False


# ------------------------------------------------------------------------------------------------------------------ campaign


class Campaign:
    """Faults one after the other, in a folder of their own. mounts: this process has a space of mounts to itself."""

    def __init__(self, path: Path, mounts: bool) -> None:
        self.place, self.mounts = Place(path), mounts
        self.known: dict[str, Undisturbed] = {}
        for folder in (self.place.cache, self.place.path / "undisturbed"):
            folder.mkdir(parents=True)
        adopt_orphans()
        if mounts:
            subprocess.run(["mount", "-t", "tmpfs", "none", SHARED_MEMORY], check=True)
        self._clear()

    def undisturbed(self, name: str) -> Undisturbed:
        """The run of a case that nobody disturbs. Wrong where it fails."""
        if name not in self.known:
            case, place = CASES[name], self.place
            self._clear()
            case.write(place)
            begun = time.monotonic()
            job, watch = Job(case.start(place), place, "undisturbed"), Watch(case, place.folder)
            while not job.is_over and time.monotonic() < begun + 2 * SECONDS_TO_END:
                watch.look()
                time.sleep(LOOK_EVERY_S)
            seconds = time.monotonic() - begun
            code = job.ended(1.0)
            if code or job.lines or watch.saved_at is None:
                raise Wrong(f"{name}, undisturbed: ended with {code}: {job.lines}")
            self._nothing_left("the undisturbed run")
            kept = place.path / "undisturbed" / name.replace(" ", "-")
            shutil.move(place.folder, kept)
            self.known[name] = Undisturbed(kept, seconds, watch.timeline)
        return self.known[name]

    def do(self, fault: Fault) -> End:
        """One fault of the plan."""
        for attempt in range(TRIES):
            found = self._try(fault, EARLIER**attempt)
            if found.end != TOO_LATE:
                break
        return found

    def _try(self, fault: Fault, haste: float) -> End:
        found = End(fault, WRONG, fault.what)
        done: Done | None = None
        try:
            undisturbed = self.undisturbed(fault.case)
            self._clear()
            CASES[fault.case].write(self.place)
            if fault.kind == "full disk" and self.mounts:
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", self.place.disk], check=True)
            job = Job(CASES[fault.case].start(self.place), self.place, "disturbed")
            watch = Watch(CASES[fault.case], self.place.folder)
            if not at_the_moment(job, watch, undisturbed.timeline, fault, haste):
                undisturbed.timeline = watch.timeline
            else:
                since, phase = watch.since, watch.phases[-1][0] if watch.phases else ""
                done = do(fault, job.process.pid, self.place.folder, self.mounts)
                what = fault.what if done is None else done.what
                found.what = f"{what}, {since:.2f} s after the first save" + (f", in {phase}" if phase else "")
            found.end = self._after(fault, job, done, found, was_done=bool(watch.done_s))
        except Impossible as why:
            found.end, found.lines = IMPOSSIBLE, [str(why)]
        except Wrong as wrong:
            found.lines = str(wrong).splitlines()
        finally:
            end_all()
            if done is not None:
                with contextlib.suppress(OSError, subprocess.CalledProcessError):
                    done.undo()
        return found

    def _after(self, fault: Fault, job: Job, done: Done | None, found: End, was_done: bool) -> str:
        """The end of the run, and of the one that goes on. Wrong where one of them is not as it must be.

        was_done: whether all files were there when the fault came.
        """
        case, place, undisturbed = CASES[fault.case], self.place, self.known[fault.case]
        limit_s = SECONDS_TO_END + undisturbed.seconds
        code = job.ended(limit_s)
        found.said = " | ".join(job.lines)
        if those := left(SECONDS_ALONE):
            raise Wrong(f"{SECONDS_ALONE:.0f} s after its end there are still: {'; '.join(those)}")
        if done is not None:
            done.undo()
        if code == 0:
            if said := [line for line in job.lines if not line.startswith("craton: warning")]:
                raise Wrong(f"ended with 0, and said: {said}")
            self._same(case, undisturbed, "ended with 0, and")
            self._nothing_left("a run that ended with 0")
            return TOO_LATE if done is None or was_done else WENT_ON
        if done is None:
            raise Wrong(f"ended with {code} before the fault: {job.lines}")
        if complaint := wrong_end(fault, done, code, job.lines):
            raise Wrong(complaint)
        words = case.resume(place)
        if fault.kind == "deleted folder" and fault.deletion == DELETIONS[0]:
            shutil.rmtree(place.folder)
            words = case.start(place)
        again = Job(words, place, "resumed")
        code = again.ended(limit_s)
        if code == 2 and case.starts_again and case.starts_again in " ".join(again.lines):
            again = Job(case.start(place), place, "resumed")
            code = again.ended(limit_s)
        if code or any(not line.startswith("craton: ") for line in again.lines):
            raise Wrong(f"resumed, it ended with {code}: {again.lines}; before: {found.said}")
        if done.what == "SIGKILL to the command":
            self._next_job()
        self._same(case, undisturbed, "resumed:")
        self._nothing_left("the resumed run")
        return RESUMED

    def _next_job(self) -> None:
        """Any job removes what Open MPI has left of one whose launcher was killed; to resume a finished run starts none."""
        words = [
            sys.executable,
            "-c",
            "from craton._launch import run_under_mpi; run_under_mpi([], 1, program=['true'])",
        ]
        Job(words, self.place, "next").ended(SECONDS_TO_END)

    def _same(self, case: Case, undisturbed: Undisturbed, when: str) -> None:
        if lines := list(differences(case, self.place.folder, undisturbed.folder)):
            raise Wrong("\n".join(f"{when} {line}" for line in lines))

    def _nothing_left(self, of: str) -> None:
        place = self.place
        found = [f"process {one}" for one in left(SECONDS_ALONE)]
        for folder in (place.temporary, place.nodes):
            found += [str(path.relative_to(place.path)) for path in folder.rglob("*")]
        if self.mounts:  # else others have theirs there too
            found += sorted(str(path) for path in SHARED_MEMORY.iterdir())
        found += [path.name for path in place.disk.iterdir() if path not in (place.folder, place.disk / "filler")]
        if found:
            raise Wrong(f"left of {of}: {', '.join(found[:8])}")

    def _clear(self) -> None:
        """For the next run."""
        place = self.place
        if os.path.ismount(place.disk):
            subprocess.run(["umount", place.disk], check=True)
        for folder in (place.inputs, place.disk, place.temporary, place.nodes):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)
        if self.mounts:
            for path in SHARED_MEMORY.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()


CODES = {"SIGTERM": (143, -signal.SIGTERM), "SIGINT": (130, -signal.SIGINT), "SIGKILL": (-signal.SIGKILL,)}
"""Of a command that a signal has ended."""


def wrong_end(fault: Fault, done: Done, code: int, lines: list[str]) -> str:
    """What is wrong with how a run has ended that met a fault, by its code and standard error; "" where nothing is."""
    said = [line for line in lines if not line.startswith("craton: warning")]
    if others := [line for line in said if not line.startswith("craton: ")]:
        return f"ended with {code}, and said: {others[:3]} (of {len(said)} lines)"
    if done.what.endswith("to the command"):
        if code not in CODES[fault.kind]:
            return f"ended with {code}; allowed: {CODES[fault.kind]}; it said: {said}"
        return f"several lines: {said}" if len(said) > 1 else ""
    if len(said) != 1:
        return f"ended with {code}, and said {len(said)} lines: {said[:3]}"
    allowed = (2,) if fault.kind in ("full disk", "read-only folder", "deleted folder") else (1, 2, 130, 143)
    return "" if code in allowed else f"ended with {code}; allowed: {allowed}; it said: {said}"


@contextlib.contextmanager
def campaign(mounts: bool) -> Iterator[Campaign]:
    """A campaign in a folder that goes with it."""
    with tempfile.TemporaryDirectory(prefix="craton-faults-", ignore_cleanup_errors=True) as path:
        made = Campaign(Path(path), mounts)
        try:
            yield made
        finally:
            end_all()
            with contextlib.suppress(subprocess.CalledProcessError):
                made._clear()


def ends_of(faults: Iterable[Fault], mounts: bool) -> Iterator[End]:
    """Does faults, one after the other."""
    with campaign(mounts) as made:
        for fault in faults:
            yield made.do(fault)
