"""An inversion on ranks that are started for it."""

import os
import subprocess
import sys
from pathlib import Path

from craton._launch import mpiexec_command
from helpers import OF_OPEN_MPI, environment_without_mpi

RANK = """
import json, sys
from craton._launch import main_guard
with main_guard():
    from mpi4py import MPI
    from craton.tomography.config.load import load_config
    from craton.tomography.start import run
    record = run(load_config(sys.argv[1]), MPI.COMM_WORLD, report=False)
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps({"ranks": record.ranks, "nodes": record.nodes}))
"""

SECONDS_ALLOWED = 240


def launch(config: Path, ranks: int, ranks_per_node: int, blas_threads: int = 1) -> None:
    """Runs a configuration. ranks_per_node: of ranks that pretend to be several machines, 0 for one."""
    threads = str(blas_threads)
    environment = environment_without_mpi(OMP_NUM_THREADS=threads, OPENBLAS_NUM_THREADS=threads)
    if os.geteuid() == 0:
        environment |= OF_OPEN_MPI
    if ranks_per_node:
        environment["CRATON_RANKS_PER_NODE"] = str(ranks_per_node)
    command = [*mpiexec_command(), "--oversubscribe", "-n", str(ranks), sys.executable, "-c", RANK, str(config)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=SECONDS_ALLOWED, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    nodes = ranks // ranks_per_node if ranks_per_node else 1
    assert f'{{"ranks": {ranks}, "nodes": {nodes}}}' in done.stdout
