"""A program that had mpi4py and threads before it had Craton: least squares from many small groups of observations.

    mpiexec -n 2 python assemble.py

The lines between "craton: begin" and "craton: end" are what the distributed normal matrix takes; docs/embedding.md
explains them. Each group of observations has a panel G of partial derivatives (samples x touched parameters) and data
d = G m. The normal equations are (sum of G^T G + damping) m = sum of G^T d. Every rank takes every so-manieth group, its
threads share them.
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from mpi4py import MPI

# craton: begin
import craton  # isort: skip

# craton: end

PARAMETERS, GROUPS, SAMPLES, TOUCHED = 240, 900, 6, 18
DAMPING = 0.02
THREADS = 3

true_model = np.sin(0.05 * np.arange(PARAMETERS)) + 0.3 * np.cos(0.31 * np.arange(PARAMETERS))


def compute_group(g: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Touched parameters, G^T G + damping, G^T d: what the host program computes, with no thought of who owns what."""
    half = PARAMETERS // 2
    first = g * 7 % (half - TOUCHED) + np.arange(TOUCHED // 2)
    second = half + g * 11 % (half - TOUCHED) + np.arange(TOUCHED // 2, TOUCHED)
    indices = np.concatenate([first, second])
    panel = np.sin((g + 1) * np.arange(1, SAMPLES + 1)[:, None] * 0.37 + np.arange(TOUCHED) * 0.9)
    return indices, panel.T @ panel + DAMPING * np.eye(TOUCHED), panel.T @ (panel @ true_model[indices])


def solve_serially() -> np.ndarray:
    """The same with NumPy alone, for the comparison at the end."""
    normal, gradient = DAMPING * np.eye(PARAMETERS), np.zeros(PARAMETERS)
    for g in range(GROUPS):
        indices, block, right = compute_group(g)
        normal[np.ix_(indices, indices)] += block
        gradient[indices] += right
    return np.linalg.solve(normal, gradient)


def main() -> int:
    comm = MPI.COMM_WORLD
    gradient, lock = np.zeros(PARAMETERS), threading.Lock()
    # craton: begin
    world = craton.World(comm)
    normal = craton.ConvergentMatrix(world, PARAMETERS, PARAMETERS, dtype="float64", block=32)
    if comm.rank == 0:
        normal.update_symmetric(DAMPING * np.eye(PARAMETERS), np.arange(PARAMETERS))
    # craton: end

    def work(g: int) -> None:
        indices, block, right = compute_group(g)
        with lock:
            gradient[indices] += right
        # craton: begin
        normal.update_symmetric(block, indices)  # releases the GIL
        world.poll()
        # craton: end

    # the host's own MPI goes on beside: its communicator and Craton's are different ones
    neighbour = comm.irecv(source=(comm.rank - 1) % comm.size)
    told = comm.isend(comm.rank, dest=(comm.rank + 1) % comm.size)
    with ThreadPoolExecutor(THREADS) as team:
        list(team.map(work, range(comm.rank, GROUPS, comm.size)))

    # craton: begin
    normal.commit()  # before the host's blocking collectives: whoever waits in them makes no progress for the others
    # craton: end
    told.wait()
    assert neighbour.wait() == (comm.rank - 1) % comm.size
    comm.Allreduce(MPI.IN_PLACE, gradient)

    # craton: begin
    model = craton.Cholesky(normal).solve(gradient)
    # craton: end

    largest = float(np.abs(model - solve_serially()).max())
    if comm.rank == 0:
        print(f"{comm.size} ranks x {THREADS} threads: largest difference from the serial solution {largest:.2e}")
    return int(comm.allreduce(largest, MPI.MAX) >= 1e-9)


if __name__ == "__main__":
    sys.exit(main())
