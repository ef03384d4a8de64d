"""What checkpoints take from an assembly: by ranks that wait for the file, and in two levels."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from craton import Checkpoint, ConvergentMatrix, World
from craton._launch import usable_cores
from craton.errors import UserError

from craton_studies.bench.registry import Measurement, Option, Run, benchmark

GB, MIB = 1e9, 2**20
SIDE = 512
"""Of an update."""
LOST_PERCENT = 5.0
"""Of a run, at most."""
LEVELS = {"one level": False, "two levels": True}


@benchmark(
    "checkpoint",
    "time that checkpoints take from an assembly, in one level and in two; scaled to a Hessian of terabytes",
    limit="5 %",
    ranks=2,
    options={
        "mib": Option(512, "MiB of the matrix, all ranks together"),
        "seconds": Option(20.0, "s of updates beside which one checkpoint is made"),
        "folder": Option("", "where the file goes; by default a temporary folder"),
        "local": Option("", "where the ranks' parts go; by default a temporary folder"),
        "tb": Option(1.34, "TB (1e12 bytes) of the Hessian that the figures are scaled to"),
        "nodes": Option(512, "nodes that have it"),
        "cores": Option(24, "cores of such a node"),
        "disk": Option(48.0, "GB/s of their file system, all nodes together"),
        "minutes": Option(10.0, "minutes from one checkpoint to the next"),
    },
)
def checkpoint(run: Run) -> Iterator[Measurement]:
    """A stream of updates on every rank, as many with a checkpoint at its beginning as without, in turn.

    "lost": how much longer the updates take with it, s, until the last one is added. What is still on its way to the file then
    does not count. "save": that much of it before the first update could go on. The rest is lost to the thread that brings the
    parts to the file: it wants cores, of which the updates use all. "drain": s from save() to the file, with nothing beside it.

    The updates should use all cores, as those of a run do, and last longer than a drain: a note says where they do not.

    Then the figures are scaled to a larger Hessian. Each node writes its parts at this machine's rate. What the drain takes from
    updates is cores' time by the byte, and a node has more cores; what its ranks take while they wait for a slower file system is
    not in it. The file takes its bytes over the file system's stated rate, or the measured seconds of a save in one level over the
    bytes of a node, whichever is longer. With one level the ranks wait so long. With two it must be done before the next one. The
    default is the Hessian of French et al. (2015) on 512 nodes of Edison.
    """
    size = int((run.options["mib"] * MIB / 4) ** 0.5) // 64 * 64
    if size < SIDE:
        raise UserError(f"--set mib={run.options['mib']}: a matrix of side {size}; allowed: a side of {SIDE} and more")
    with tempfile.TemporaryDirectory() as own:
        folders = {name: _folder(run, name, own) for name in ("folder", "local")}
        stream = _Stream(run, size, folders)
        try:
            yield from _measured(run, stream, size)
        finally:
            stream.discard()


def _folder(run: Run, name: str, own: str) -> Path:
    given = run.options[name]
    path = Path(run.comm.bcast(given or str(Path(own) / name))) / "craton-bench-checkpoint"
    path.mkdir(parents=True, exist_ok=True)
    run.comm.barrier()
    return path


class _Stream:
    """The same updates again and again, and a checkpoint of the matrix that they go to."""

    def __init__(self, run: Run, size: int, folders: dict[str, Path]) -> None:
        self.run, self.folders = run, folders
        self.world = World(run.comm, run.ranks_per_node)
        self.matrix = ConvergentMatrix(self.world, size, size, dtype="float32")
        random = np.random.default_rng(run.comm.rank)
        self.at = [np.sort(random.choice(size, SIDE, replace=False)) for _ in range(8)]
        self.block = np.ones((SIDE, SIDE), dtype=np.float32)
        self.file = str(folders["folder"] / "assembly.checkpoint.h5")
        self.updates = 8

    def bytes(self) -> float:
        """Of the matrix."""
        return 4.0 * float(np.prod(self.matrix.shape))

    def calibrate(self, seconds: float) -> None:
        """Chooses as many updates as take so long."""
        self.updates = max(8, round(self.updates * seconds / max(self.seconds(None)[0], 1e-3)))

    def opened(self, two_levels: bool) -> Checkpoint:
        """Collective: a checkpoint that has not been saved."""
        local = str(self.folders["local"]) if two_levels else ""
        saved = Checkpoint(self.world, self.file, keep_previous=False, local_folder=local)
        saved.add("matrix", self.matrix)
        saved.resume()
        return saved

    def seconds(self, two_levels: bool | None) -> tuple[float, float]:
        """Collective: s of all updates and commit, the slowest rank's, with a checkpoint at the beginning or none; s of save()."""
        saved = None if two_levels is None else self.opened(two_levels)
        self.world.barrier()
        start = time.perf_counter()
        save_s = 0.0
        if saved is not None:
            saved.save()
            save_s = time.perf_counter() - start
        for k in range(self.updates):
            self.matrix.update_symmetric(self.block, self.at[k % len(self.at)])
        self.matrix.commit()
        took_s = time.perf_counter() - start
        if saved is not None:
            saved.drain()
            saved.close()
        self.discard()
        return self.slowest(took_s), self.slowest(save_s)

    def drain_s(self) -> float:
        """Collective: s from save() to the file, with nothing beside it."""
        saved = self.opened(True)
        self.world.barrier()
        start = time.perf_counter()
        saved.save()
        saved.drain()
        took_s = time.perf_counter() - start
        saved.close()
        self.discard()
        return self.slowest(took_s)

    def slowest(self, seconds: float) -> float:
        """Collective."""
        from mpi4py import MPI

        return float(self.run.comm.allreduce(seconds, MPI.MAX))

    def discard(self) -> None:
        """Collective: removes what checkpoints have left."""
        Checkpoint.discard(self.world, self.file, str(self.folders["local"]))
        self.run.comm.barrier()
        if self.run.comm.rank == 0:
            shutil.rmtree(self.folders["folder"], ignore_errors=True)
        self.run.comm.barrier()
        self.folders["folder"].mkdir(parents=True, exist_ok=True)
        self.run.comm.barrier()


def _measured(run: Run, stream: _Stream, size: int) -> Iterator[Measurement]:
    run.say(f"a matrix of {size} x {size}, float32, {stream.bytes() / MIB:.0f} MiB ...")
    stream.seconds(None)  # touches all memory
    stream.calibrate(run.options["seconds"])
    without: list[float] = []
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in LEVELS}
    drains = []
    for number in range(run.repeats):
        run.say(f"repeat {number + 1} of {run.repeats}: {stream.updates} updates by each rank ...")
        without.append(stream.seconds(None)[0])
        for name, two in LEVELS.items():
            took[name].append(stream.seconds(two))
        drains.append(stream.drain_s())
    if run.comm.rank:
        return
    group = f"{stream.bytes() / MIB:.0f} MiB on {run.comm.size} ranks"
    yield Measurement("updates without checkpoint", without, "s", less_is_better=True, group=group)
    lost = {name: [seconds - quiet for (seconds, _), quiet in zip(took[name], without, strict=True)] for name in LEVELS}
    saves = {name: [save for _, save in took[name]] for name in LEVELS}
    for name in LEVELS:
        yield Measurement(f"lost, {name}", lost[name], "s", less_is_better=True, group=group)
        yield Measurement(f"save, {name}", saves[name], "s", less_is_better=True, group=group)
    yield Measurement("drain", drains, "s", less_is_better=True, group=group)
    cores = usable_cores()
    note = ""
    if run.comm.size * run.threads < cores:
        note = f"cores are idle: of {cores} the updates use {run.comm.size * run.threads}"
    if statistics.median(drains) > statistics.median(without):
        note = "updates are over before the drain: more seconds"
    yield from _scaled(run, stream.bytes(), lost["two levels"], saves, note)


def _scaled(
    run: Run, here: float, lost: list[float], saves: dict[str, list[float]], note: str
) -> Iterator[Measurement]:
    """To the Hessian, nodes and file system of the options. here: bytes of the matrix. lost: with two levels."""
    chosen: dict[str, Any] = dict(run.options)
    every_s, of_node = 60.0 * chosen["minutes"], 1e12 * chosen["tb"] / chosen["nodes"]
    cores = min(run.comm.size * run.threads, usable_cores())
    file_s = [max(1e12 * chosen["tb"] / (GB * chosen["disk"]), save / here * of_node) for save in saves["one level"]]
    group = (
        f"{chosen['tb']:g} TB on {chosen['nodes']} nodes of {chosen['cores']} cores, every {chosen['minutes']:g} min"
    )

    def percent(values: list[float]) -> list[float]:
        return [100.0 * seconds / every_s for seconds in values]

    two = [
        (save + max(whole - save, 0.0) * cores / chosen["cores"]) / here * of_node
        for whole, save in zip(lost, saves["two levels"], strict=True)
    ]
    limit = f"{LOST_PERCENT:g} %"
    for name, values, target, words in (
        ("lost, two levels", percent(two), 1.0, note),
        ("lost, one level", percent(file_s), None, ""),
    ):
        yield Measurement(
            name, values, "%", [LOST_PERCENT], limit, target=target, less_is_better=True, note=words, group=group
        )
    yield Measurement(
        "to the file", file_s, "s", [every_s], "next checkpoint", target=1.0, less_is_better=True, group=group
    )
