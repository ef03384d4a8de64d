"""Ranks on hosts of their own: network namespaces that a cable or a hub joins (tools/two_hosts), or all on this one."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from craton._launch import mpiexec_command
from helpers import OF_OPEN_MPI, environment_without_mpi

TWO_HOSTS = Path(__file__).resolve().parents[3] / "tools" / "two_hosts"
SECONDS_ALLOWED = 300
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

Results = dict[str, np.ndarray]


@dataclass(frozen=True)
class Network:
    """What joins the hosts: milliseconds that a packet is on its way, and the per cent of packets that are lost."""

    delay_ms: float = 0.0
    loss_percent: float = 0.0


def why_not() -> str:
    """Why there can be no such hosts on this machine; empty if there can."""
    if not TWO_HOSTS.exists():
        return f"there is no {TWO_HOSTS}"
    for options in ([], ["--delay", "1"]):
        command = [str(TWO_HOSTS), *options, "--check"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            return (done.stderr.strip().splitlines() or [""])[-1] or f"{TWO_HOSTS} --check ended with {done.returncode}"
    return ""


def between_hosts(command: list[str], hosts: int, network: Network, cwd: Path) -> str:
    """Runs one rank on each host; what was said on standard error."""
    options = ["--hosts", str(hosts)]
    if network != Network():
        options += ["--delay", str(network.delay_ms), "--loss", str(network.loss_percent)]
    return _run([str(TWO_HOSTS), *options, *command], cwd)


def on_one_host(command: list[str], ranks: int, cwd: Path) -> str:
    """Runs as many ranks here."""
    return _run([*mpiexec_command(), "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *command], cwd)


def _run(command: list[str], cwd: Path) -> str:
    environment = environment_without_mpi(**ONE_THREAD)
    if os.geteuid() == 0:
        environment |= OF_OPEN_MPI
    # two_hosts ends what it has started when it is told to end, not when it is killed
    done = subprocess.run(
        ["timeout", "--kill-after=20", str(SECONDS_ALLOWED), *command], cwd=cwd, env=environment,
        capture_output=True, text=True, check=False, timeout=SECONDS_ALLOWED + 60,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stderr


def datasets(file: Path) -> Results:
    """All numbers of an HDF5 file, by name."""
    found: Results = {}

    def add(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu":
            found[f"{file.name}/{name}"] = item[()]

    with h5py.File(file) as opened:
        opened.visititems(add)
    return found
