"""An assembly that is killed again and again, and resumed each time on another number of ranks, loses and doubles nothing.

The program is tests/mpi/io/killed_assembly.cpp, from the build that `make test` makes for the C++ tests. It adds up real
numbers in a reproducible matrix, so that the end must be the same to the last bit.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
import pytest
from helpers import OF_OPEN_MPI, environment_without_mpi

ROOT = Path(__file__).resolve().parents[3]
MPI = {
    **OF_OPEN_MPI,
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}


@pytest.fixture(scope="session")
def program() -> Path:
    built = ROOT / "build" / "audit" / "tests" / "mpi" / "killed_assembly"
    if not built.exists():
        pytest.skip("the C++ tests are not built (make test builds them)")
    return built


@dataclass
class Job:
    """One launch of the program on some ranks; its lines land in a file, whatever becomes of it."""

    program: Path
    folder: Path
    ranks: int
    settings: dict[str, int] = field(default_factory=dict)
    what: str = "run"
    environment: dict[str, str] = field(default_factory=dict)
    local: Path | None = None

    def __enter__(self) -> Job:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "log.txt"
        arguments = [f"{name}={value}" for name, value in self.settings.items()]
        arguments += [] if self.local is None else [f"local={self.local}"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                ["mpiexec", "--oversubscribe", "-n", str(self.ranks)]
                + [str(self.program), self.what, f"folder={self.folder}", *arguments],
                env=environment_without_mpi(**(MPI | self.environment)),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill([*self.rank_processes().values(), self.process.pid])
        self.process.wait()

    def wait(self, seconds: float) -> int:
        return self.process.wait(timeout=seconds)

    def text(self) -> str:
        return self.log.read_text()

    def rank_processes(self) -> dict[int, int]:
        found: dict[int, int] = {}
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{self.process.pid}/task").iterdir():
                for child in (task / "children").read_text().split():
                    with contextlib.suppress(OSError):
                        for entry in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
                            if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                                found[int(entry.partition(b"=")[2])] = int(child)
        return found

    def kill(self, processes: list[int]) -> None:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def finished(
    program: Path, folder: Path, ranks: int, settings: dict[str, int], local: Path | None = None
) -> tuple[float, str]:
    """Runs to the end; its seconds and its lines."""
    start = time.monotonic()
    with Job(program, folder, ranks, settings, local=local) as job:
        code = job.wait(240)
        assert code == 0, job.text()
        assert "done, equal to the reference" in job.text()
        return time.monotonic() - start, job.text()


def bits(path: Path) -> dict[str, bytes]:
    with h5py.File(path) as file:
        return {name: file[name][...].tobytes() for name in file}


def where(text: str) -> str:
    """In the middle of what the job was, by the last line of rank 0."""
    lines = [line for line in text.splitlines() if line.startswith(("resumed", "saving", "saved", "done"))]
    if not lines:
        return "start or resume"
    return {"resumed": "assembly", "saving": "save", "saved": "assembly", "done": "end"}[lines[-1].split()[0]]


def killed_and_resumed(program: Path, folder: Path, kills: int, settings: dict[str, int], seed: int) -> None:
    choose = random.Random(seed)
    seconds, _ = finished(program, folder / "undisturbed", 3, settings)
    # All kills together come before the end, even on a machine that has become twice as fast, and most after some progress.
    longest_s = 0.5 * seconds / kills
    most_saves = max(1, settings["subsets"] // settings["every"] // (kills + 1))
    killed: Counter[str] = Counter()
    victims: Counter[str] = Counter()
    rank_counts: list[int] = []
    counted = -1
    launchers_left = 0
    while sum(killed.values()) < kills:
        ranks = choose.choice([n for n in (1, 2, 3, 4) if n != (rank_counts[-1] if rank_counts else 0)])
        with Job(program, folder / "killed", ranks, settings, environment=delivery(choose)) as job:
            rank_counts.append(ranks)
            counted = wait_and_check(job, choose, counted, longest_s, most_saves)
            victim = choose.choice(("all ranks", "one rank", "all ranks and mpiexec"))
            processes = list(job.rank_processes().values())
            if victim == "one rank":
                processes = [choose.choice(processes)] if processes else []
            elif victim == "all ranks and mpiexec":
                processes.append(job.process.pid)
            assert job.process.poll() is None, f"it ended before it was killed: {job.text()}"
            moment = where(job.text())
            job.kill(processes or [job.process.pid])
            launchers_left += 0 if ended(job) else 1
            killed[moment] += 1
            victims[victim] += 1
    _, text = finished(program, folder / "killed", 1 + rank_counts[-1] % 4, settings)
    print(f"\n{kills} kills of {settings['subsets']} subsets ({seconds:.1f} s undisturbed), on {rank_counts} ranks:")
    print(f"  in the middle of {dict(killed)}; killed {dict(victims)}; last: {text.splitlines()[0]}")
    print(f"  {launchers_left} times mpiexec was still there {ALONE_S:g} s after its last rank had gone")
    assert bits(folder / "killed" / "result.h5") == bits(folder / "undisturbed" / "result.h5")
    print("  the final matrix (real numbers, reproducible sums) and vector equal the undisturbed ones bit for bit")


ALONE_S = 5.0


def ended(job: Job) -> bool:
    """False when mpiexec has not ended in 30 s, or in ALONE_S without ranks; it is then killed.

    No rank may be left by that time.
    """
    last_rank = start = time.monotonic()
    while (now := time.monotonic()) < min(start + 30, last_rank + ALONE_S):
        if job.process.poll() is not None:
            return True
        if job.rank_processes():
            last_rank = now
        time.sleep(0.02)
    left = job.rank_processes()
    assert not left, f"ranks {left} outlived the kill:\n{backtraces(left)}\n{job.text()}"
    job.kill([job.process.pid])
    job.wait(30)
    return False


def backtraces(ranks: dict[int, int]) -> str:
    """What they wait for, where gdb is installed."""
    if shutil.which("gdb") is None:
        return "(no gdb)"
    commands = [["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt"] for pid in ranks.values()]
    return "\n".join(subprocess.run(c, capture_output=True, text=True, check=False).stdout for c in commands)


def delivery(choose: random.Random) -> dict[str, str]:
    ranks_per_node = choose.choice(("", "1", "2"))
    return {"CRATON_RANKS_PER_NODE": ranks_per_node} if ranks_per_node else {}


def wait_and_check(job: Job, choose: random.Random, counted: int, longest_s: float, most_saves: int) -> int:
    """Waits for a random moment. Every attempt must begin with no less than the one before had."""
    moment = choose.choice(("launch", "assembly", "assembly", "save"))
    if moment == "launch":
        time.sleep(choose.uniform(0.0, 0.8))
    else:
        deadline = time.monotonic() + 60
        word = "resumed" if moment == "assembly" else "saving"
        wanted = 1 if moment == "assembly" else choose.randint(1, most_saves)
        while job.text().count(word) < wanted and job.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(choose.uniform(0.0, longest_s if moment == "assembly" else 0.03))
    for line in job.text().splitlines():
        if line.startswith("resumed with"):
            now = int(line.split()[2])
            assert now >= counted, f"{counted} subsets were counted, and now {now}"
            counted = now
        if line.startswith("saved "):
            counted = int(line.split()[1])
    return counted


def test_killed_twice_and_resumed_on_other_numbers_of_ranks(program: Path, tmp_path: Path) -> None:
    settings = {"subsets": 160, "size": 600, "every": 12, "work_ms": 30}
    killed_and_resumed(program, tmp_path, 2, settings, seed=int.from_bytes(os.urandom(4), "little"))


@pytest.mark.long
def test_killed_twenty_times_and_resumed_on_other_numbers_of_ranks(program: Path, tmp_path: Path) -> None:
    settings = {"subsets": 1500, "size": 1000, "every": 16, "work_ms": 40, "threads": 2}
    killed_and_resumed(program, tmp_path, 20, settings, seed=int.from_bytes(os.urandom(4), "little"))


# ---------------------------------------------------------------------------------------------------------- two levels


def killed_after(program: Path, folder: Path, saves: int, settings: dict[str, int]) -> int:
    """Kills rank 1 after so many saves; the number of subsets that were counted by then."""
    with Job(program, folder, 3, settings, local=folder / "local") as job:
        deadline = time.monotonic() + 60
        while job.text().count("saved ") < saves and job.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        assert job.process.poll() is None, f"it ended before it was killed: {job.text()}"
        job.kill([job.rank_processes()[1]])
        ended(job)
        return int([line for line in job.text().splitlines() if line.startswith("saved ")][-1].split()[1])


TWO_LEVELS = {"subsets": 120, "size": 600, "every": 10, "work_ms": 20}


def test_a_killed_rank_costs_nothing_that_was_saved_on_the_nodes(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    counted = killed_after(program, folder, 4, TWO_LEVELS)
    _, text = finished(program, folder, 3, TWO_LEVELS, local=folder / "local")
    first = next(line for line in text.splitlines() if line.startswith("resumed with"))
    assert int(first.split()[2]) >= counted
    assert "of no use" not in text


def test_a_node_that_is_lost_with_its_level_costs_what_the_file_has_not(program: Path, tmp_path: Path) -> None:
    """The other two nodes still have their parts, and a save may have been half way to the file. Another number of ranks too."""
    for ranks in (3, 2):
        folder = tmp_path / f"on-{ranks}"
        counted = killed_after(program, folder, 4, TWO_LEVELS)
        shutil.rmtree(folder / "local" / "node1")
        _, text = finished(program, folder, ranks, TWO_LEVELS, local=folder / "local")
        first = next(line for line in text.splitlines() if line.startswith("resumed with"))
        assert int(first.split()[2]) <= counted
        assert "the parts in the nodes' folders are of no use" in text
        with h5py.File(folder / "checkpoint.h5") as file:
            assert file["counted"][...].tolist() == [[0, 119]]


# ------------------------------------------------------------------------------------------------------------ no room


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    folder.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("needs to mount a small file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def one_line_on_every_rank(text: str, ranks: int, folder: Path) -> None:
    lines = [line for line in text.splitlines() if line.startswith("craton: error: ")]
    assert len(lines) == ranks, text
    assert {line.partition(": rank ")[2].split(":")[0] for line in lines} == {str(rank) for rank in range(ranks)}
    for line in lines:
        assert f"cannot save checkpoint to '{folder / 'checkpoint.h5'}'" in line
        assert "allowed: a folder that exists, may be written and has room" in line


SMALL = {"subsets": 60, "size": 600, "every": 20, "work_ms": 3}  # a checkpoint is 2.9 MB


def saves_before_the_disk_is_full(job: Job) -> int:
    assert job.wait(60) == 2, job.text()
    one_line_on_every_rank(job.text(), job.ranks, job.folder)
    return job.text().count("saved ")


def test_a_full_disk_keeps_the_checkpoint_before(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    with small_disk(folder, "7m"):  # the third checkpoint has no room beside the last and the one before
        with Job(program, folder, 3, SMALL) as job:
            assert saves_before_the_disk_is_full(job) == 2
        assert not list(folder.glob("*.partial*"))
        subprocess.run(["mount", "-o", "remount,size=40m", str(folder)], check=True)
        _, text = finished(program, folder, 2, SMALL)
        assert text.startswith("resumed with 40 of 60 subsets on 2 ranks")


def test_what_a_killed_save_reserved_is_room_for_the_next(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    with small_disk(folder, "7m"):
        for name in ("checkpoint.h5.partial", "checkpoint.h5.partial.room"):
            (folder / name).write_bytes(bytes(3_000_000))
        _, text = finished(program, folder, 2, {**SMALL, "subsets": 20})
        assert "saved 20" in text
        assert sorted(path.name for path in folder.glob("*.partial*")) == []


def test_a_limit_on_file_sizes_is_as_a_full_disk(program: Path, tmp_path: Path) -> None:
    with Job(program, tmp_path, 3, {**SMALL, "limit": 1_400_000, "limited": 3}) as job:
        assert saves_before_the_disk_is_full(job) == 1
    assert not list(tmp_path.glob("*.partial*"))
    _, text = finished(program, tmp_path, 2, SMALL)
    assert text.startswith("resumed with 20 of 60 subsets on 2 ranks")


def test_a_disk_that_fails_under_one_rank_ends_the_job_and_keeps_the_checkpoint_before(
    program: Path, tmp_path: Path
) -> None:
    """The last rank may write 100 kB and no more. MPI may or may not lead the others out of the transfer."""
    with Job(program, tmp_path, 3, {**SMALL, "limit": 100_000}) as job:
        assert job.wait(60) == 2, job.text()
        errors = [line for line in job.text().splitlines() if line.startswith("craton: error: ")]
        assert 1 <= len(errors) <= 3, job.text()
        assert all("has room" in line for line in errors)
        assert job.text().count("saved ") == 1
    _, text = finished(program, tmp_path, 2, SMALL)
    assert text.startswith("resumed with 20 of 60 subsets on 2 ranks")


def test_a_file_that_one_rank_cannot_open_ends_the_job_and_keeps_the_checkpoint_before(
    program: Path, tmp_path: Path
) -> None:
    """As where a folder becomes read-only while the ranks open a file in it, one after the other."""
    with Job(program, tmp_path, 3, {**SMALL, "closed": 1}) as job:
        assert job.wait(60) == 2, job.text()
        errors = [line for line in job.text().splitlines() if line.startswith("craton: error: ")]
        assert 1 <= len(errors) <= 3, job.text()
        assert all("the opening of" in line or "cannot save" in line for line in errors), job.text()
        assert job.text().count("saved ") == 1
    _, text = finished(program, tmp_path, 2, SMALL)
    assert text.startswith("resumed with 20 of 60 subsets on 2 ranks")


# ---------------------------------------------------------------------------------------------------- for other readers


def test_files_are_what_h5py_expects(program: Path, tmp_path: Path) -> None:
    with Job(program, tmp_path, 3, what="types") as job:
        assert job.wait(60) == 0, job.text()
    real = np.arange(13)[:, None] * 100 + np.arange(9)[None, :]
    with h5py.File(tmp_path / "types.h5") as file:
        for name in ("float32", "float64", "complex64", "complex128", "int64"):
            data = file[name]
            assert data.dtype == np.dtype(name)
            wanted = real - 1j * np.arange(13)[:, None] if "complex" in name else real
            np.testing.assert_array_equal(data[...], wanted.astype(name))


def test_a_checkpoint_says_what_it_holds(program: Path, tmp_path: Path) -> None:
    finished(program, tmp_path, 2, {**SMALL, "subsets": 20})
    with h5py.File(tmp_path / "checkpoint.h5") as file, h5py.File(tmp_path / "result.h5") as result:
        assert file.attrs["craton_checkpoint"] == 1
        assert file["counted"][...].tolist() == [[0, 19]]
        assert dict(file["numbers"].attrs) == {"attempt": 1}
        assert set(file["arrays"]) == {"hessian", "gradient"}
        sums = file["arrays/hessian"]
        assert sums.attrs["largest"] == 60.0  # 20 subsets of 3 paths
        assert 0 < sums.attrs["magnitude"] < 60.0
        np.testing.assert_array_equal(sums[...] * sums.attrs["resolution"], result["hessian"][...])
        np.testing.assert_array_equal(file["arrays/gradient"][...], result["gradient"][...])
