"""An assembly that saves itself with craton.Checkpoint, on two ranks that it starts: FOLDER [LOCAL]. Started again it goes on.

FOLDER gets checkpoint.h5 and, at the end, result.h5. LOCAL: the folder of checkpoints in two levels.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from craton._launch import launched_size, main_guard, run_under_mpi

RANKS, SUBSETS, IN_A_ROUND, SIDE = 2, 120, 8, 300
WORK_S = 0.03


def assemble(folder: Path, local: str) -> None:
    """Sums of real numbers in a reproducible matrix, of whole ones in a vector: the same bits whatever happens on the way."""
    import craton
    import numpy as np
    from craton.errors import UserError
    from craton.runs.agreement import on_root
    from craton.runs.files import replaced, write_hdf5
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    path, result = folder / "checkpoint.h5", folder / "result.h5"

    def is_done() -> bool:
        try:
            folder.mkdir(exist_ok=True)
        except OSError as problem:
            raise UserError(f"{folder}: {problem.strerror}; allowed: a folder that can be made") from None
        return result.exists()

    if on_root(comm, is_done):
        return
    world = craton.World(comm)
    sums = craton.ReproducibleMatrix(world, SIDE, SIDE, largest=1e4)
    counts = craton.ConvergentVector(world, SIDE, dtype="int64")
    with craton.Checkpoint(world, str(path), local_folder=local) as saved:
        saved.add("sums", sums)
        saved.add("counts", counts)
        saved.resume()
        left = saved.missing(SUBSETS)
        for first in range(0, len(left), IN_A_ROUND):
            for subset in left[first : first + IN_A_ROUND][world.rank :: world.size]:
                with saved.begin(int(subset)) as new:
                    assert new
                    draw = np.random.default_rng(int(subset))
                    rows = np.sort(draw.permutation(SIDE)[:60])
                    sums.update(draw.normal(size=(60, 60)), rows, rows)
                    counts.update(np.ones(60, np.int64), rows)
                    time.sleep(WORK_S)
            saved.save()
        saved.drain()
    whole, found = sums.gather(), counts.gather()

    def write() -> None:
        with replaced(result) as aside:
            write_hdf5(aside, {"sums": np.asarray(whole), "counts": np.asarray(found)})

    on_root(comm, write)
    craton.Checkpoint.discard(world, str(path), local)


def main(arguments: list[str]) -> int:
    """On each rank; in the process that nobody has started as a rank it starts them."""
    with main_guard():
        folder, *local = arguments
        if launched_size() is None:
            return run_under_mpi(arguments, RANKS, results=Path(folder), program=[sys.executable, __file__])
        assemble(Path(folder), *local or [""])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
