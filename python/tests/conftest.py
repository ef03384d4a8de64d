"""What several test files share: a configuration small enough to be inverted in seconds."""

import os

for library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(library, "1")  # read when NumPy is loaded: files of tests run side by side

import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "global" / "checkerboard.toml"

# Instaseis would compile functions, and keep them in a cache that fails now and then (ReferenceError: underlying object has
# vanished). Interpreted they take less time than compiling them.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")


DEAR = (
    "tomography/test_inversion.py",
    "tomography/test_inversion_resume.py",
    "tomography/test_report.py",
    "tomography/test_posterior_run.py",
    "commands/test_verbs.py",
    "hazard/test_run.py",
    "studies/test_bench.py",
    "waves/test_run.py",
    "tomography/test_matern.py",
    "tomography/test_demo.py",
    "scf/test_world.py",
    "commands/test_bad_input.py",
    "arrays/test_checkpoint.py",
    "waves/test_half_space.py",
    "waves/test_full_space.py",
)
"""Files that take longest: with several processes (pytest -n 2 --dist loadfile) they begin first, so that none ends alone."""


def pytest_collection_modifyitems(items):
    """Files of DEAR, then the others; the tests of a file stay in their order."""
    begin = {name: number for number, name in enumerate(DEAR)}
    items.sort(key=lambda item: begin.get("/".join(item.path.parts[-2:]), len(DEAR)))


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """One folder of all processes of this session of pytest, for files that are written whole or not at all."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def small_config(tmp_path_factory, shared_folder):
    """The checkerboard at a quarter of its resolution: 162 x 6 parameters, T > 120 s, 200 paths."""
    from craton.tomography.config.load import load_config

    return (
        load_config(EXAMPLE)
        .replaced("run", directory=str(tmp_path_factory.mktemp("runs") / "small-run"))
        .replaced("data", filter_periods_s=(400.0, 250.0, 150.0, 120.0), sample_interval_s=15.0)
        .replaced("modes", shortest_period_s=120.0, cache=str(shared_folder / "modes"))
        .replaced("basis", lateral_level=3, radial=6, radial_depths_km=())
        .replaced("paths", maximum=200)
        .replaced("target", checkerboard_degree=5, checkerboard_depth_nodes=1, plume_radius_km=1200.0)
        .replaced("prior", correlation_km=1500.0, correlation_depth_km=500.0)
        .replaced("inversion", max_iterations=3)
    )


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """Ctrl-C reaches what the tests start, even where they run in the background of a shell that ignores it.

    An ignored signal is inherited by every process started.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def rank_processes():
    """A function: the process of each rank that a launcher has started."""
    return processes_of_ranks


def processes_of_ranks(launcher: int) -> dict[int, int]:
    """Process of each rank that a launcher has started."""
    found: dict[int, int] = {}
    for mpiexec in children(launcher):
        for process in children(mpiexec):
            for entry in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(entry.partition(b"=")[2])] = process
    return found


def children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]
