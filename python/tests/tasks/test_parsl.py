"""Tasks through Parsl with workers of this machine: as the local backend does them, and after every part of it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import parsl_here
import pytest
from craton.errors import UserError
from craton.tasks import Engine, Graph, ParslBackend, Task, run_tasks
from parsl_here import configuration

psutil = pytest.importorskip("psutil", reason="psutil is not installed: pip install 'craton[cluster]'")
pytest.importorskip("parsl", reason="parsl is not installed: pip install 'craton[cluster]'")

from craton.tasks.parsl_places import Place, place_for


def program(folder, name, script, after=(), **more):
    words = [sys.executable, "-S", "-c", script, str(folder / name)]
    return Task(name, folder / name, lambda: words, folder / f"{name}.log", after=after, **more)


LEAVE = "import sys; print('says', sys.argv[1]); open(sys.argv[1], 'w').close()"


def test_a_graph_as_the_local_backend_does_it(tmp_path, monkeypatch):
    (tmp_path / "served_here.py").write_text(
        "import os\nbegun = os.getpid()\ndef main(words):\n    assert os.getpid() != begun\n    open(words[0], 'w').close()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("CRATON_A_SETTING", "travels")
    served = [
        Task(
            f"s{n}", tmp_path / f"s{n}", lambda n=n: [str(tmp_path / f"s{n}")], tmp_path / "s.log", module="served_here"
        )
        for n in range(4)
    ]
    tasks = [
        program(tmp_path, "a", "import os; assert os.environ['CRATON_A_SETTING'] == 'travels'; " + LEAVE),
        program(tmp_path, "b", "import sys; sys.exit('craton: error: a line that says why')", after=("a",)),
        program(tmp_path, "c", LEAVE, after=("b",)),
        program(tmp_path, "d", LEAVE, after=("a",)),
        program(tmp_path, "e", "pass", after=("d",)),
        program(tmp_path, "f", "import os; os.abort()"),
        Task("g", tmp_path / "g", lambda: ["no-such-program"], tmp_path / "g.log"),
        *served,
    ]
    monkeypatch.setattr("craton.tasks.parsl_backend.SECONDS_TO_SEE", 0.2)
    backend = ParslBackend(configuration(tmp_path), tmp_path / "engine")
    assert backend.cores == 2
    found = run_tasks(tasks, cores=2, jobs=20, backend=backend)
    assert found.left == ["c"] and {one.name for one in found.records} == {task.name for task in tasks} - {"c"}
    said = "\n".join(sorted(found.failures))
    assert "b: a line that says why" in said and "e: ended with code 0 and left no e" in said
    assert "f: ended by SIGABRT" in said and "g: cannot begin" in said and len(found.failures) == 4
    assert (tmp_path / "a.log").read_text() == f"says {tmp_path / 'a'}\n"
    assert all(one.host for one in found.records) and all((tmp_path / f"s{n}").is_file() for n in range(4))
    assert run_tasks(served, cores=2, jobs=2).records == []


def workers_of(folder):
    """Processes that belong to an engine whose logs are in the folder."""
    found = []
    for one in psutil.process_iter(["cmdline"]):
        words = " ".join(one.info["cmdline"] or [])
        if str(folder) in words and "process_worker_pool" in words:
            found.append(one)
    return found


def wait_until(what, within_s=60.0):
    until = time.monotonic() + within_s
    while not (found := what()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return found


KILLS_ITS_WORKER = """
import os, pathlib, signal, sys
once = pathlib.Path(sys.argv[1] + ".tried")
if not once.exists():
    once.touch()
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()
open(sys.argv[1], "w").close()
"""


@pytest.mark.parametrize("retries", [0, 1])
def test_a_worker_that_dies(tmp_path, retries):
    """Its task fails, or is done by another one where the configuration says so; others go on."""
    tasks = [program(tmp_path, "kills", KILLS_ITS_WORKER), *(program(tmp_path, f"t{n}", LEAVE) for n in range(4))]
    backend = ParslBackend(configuration(tmp_path, retries=retries), tmp_path / "engine")
    found = run_tasks(tasks, cores=2, jobs=2, backend=backend)
    assert all((tmp_path / f"t{n}").is_file() for n in range(4))
    assert (tmp_path / "kills").is_file() == (retries == 1)
    assert [line[:28] for line in found.failures] == ([] if retries else ["kills: Parsl: WorkerLost: Ta"])
    assert run_tasks(tasks, cores=2, jobs=2).failures == [] and (tmp_path / "kills").is_file()


KILLS_THE_INTERCHANGE = """
import os, pathlib, signal, sys
for one in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        words = one.read_bytes()
        parent = (one.parent / "stat").read_text().rpartition(")")[2].split()[1]
    except OSError:
        continue
    if parent == sys.argv[2] and b"interchange" in words:
        os.kill(int(one.parent.name), signal.SIGKILL)
signal.pause()
"""


def test_an_engine_that_dies_is_missed(tmp_path, monkeypatch):
    """Parsl itself would wait for ever."""
    monkeypatch.setattr("craton.tasks.parsl_backend.LOOK_EVERY_S", 0.2)
    words = [sys.executable, "-S", "-c", KILLS_THE_INTERCHANGE, "", str(os.getpid())]
    tasks = [program(tmp_path, "first", LEAVE)]
    tasks.append(Task("kills", tmp_path / "kills", lambda: words, tmp_path / "kills.log", after=("first",)))
    tasks.append(program(tmp_path, "last", LEAVE, after=("kills",)))
    backend = ParslBackend(configuration(tmp_path), tmp_path / "engine")
    with pytest.raises(
        UserError, match="here.py: Parsl's interchange of executor 'here' has ended with code -9; finished"
    ):
        run_tasks(tasks, cores=2, jobs=2, backend=backend)
    assert (tmp_path / "first").is_file() and not (tmp_path / "last").exists()


CONTROLLER = """
import sys
from pathlib import Path
from craton.tasks import Engine, ParslBackend, run_tasks
sys.path[:0] = {tests!r}
from test_parsl import LEAVE, program
folder = Path({folder!r})
tasks = [program(folder, "quick", LEAVE)]
tasks.append(program(folder, "slow", {slow!r}, after=("quick",)))
tasks.append(program(folder, "last", LEAVE, after=("slow",)))
found = run_tasks(tasks, cores=2, jobs=2, backend=ParslBackend(folder / "here.py", folder / "engine"))
print(*(one.name for one in found.records), *found.failures)
"""

SLOW = """
import os, pathlib, sys, time
begun = pathlib.Path(sys.argv[1] + ".begun")
with begun.open("a") as file:
    file.write(f"{os.getpid()}\\n")
if len(begun.read_text().split()) == 1:
    time.sleep(600)
open(sys.argv[1], "w").close()
"""


@pytest.mark.parametrize("engine", ["parsl", "local"])
def test_the_controller_is_killed_and_the_next_one_does_what_is_missing(tmp_path, engine):
    """A task that a worker still runs is ended before it is begun again, by whatever runs it then."""
    configuration(tmp_path)
    script = CONTROLLER.format(
        tests=[str(Path(__file__).parent), str(Path(parsl_here.__file__).parent)], folder=str(tmp_path), slow=SLOW
    )
    words = [sys.executable, "-c", script]
    first = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    wait_until(lambda: (tmp_path / "slow.begun").exists() and (tmp_path / "slow.begun").read_text())
    first.kill()
    first.wait()
    (left,) = (tmp_path / "slow.begun").read_text().split()
    assert psutil.pid_exists(int(left)), "workers go on where nobody told them to end"
    if engine == "local":
        here = 'Engine("local").backend(folder / "engine")'
        words[-1] = script.replace('ParslBackend(folder / "here.py", folder / "engine")', here)
        assert here in words[-1]
    second = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert second.stdout == "slow last\n", second.stderr
    begun = (tmp_path / "slow.begun").read_text().split()
    assert len(begun) == 2 and begun[0] == left and not psutil.pid_exists(int(left))
    for one in workers_of(
        tmp_path
    ):  # of the first; on a cluster they end with their job, or when they miss its heartbeats
        os.kill(one.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file; allowed: a Python file with a variable config"),
        ("import no_such_module", "line 1: ModuleNotFoundError: No module named 'no_such_module'; allowed"),
        ("x = 1\nconfig = (", "line 2: SyntaxError"),
        ("x = 1", "no variable config; allowed: config = parsl.Config"),
        ("config = 3", "config is of type int; allowed"),
        ("import parsl\nconfig = parsl.Config()", "is a ThreadPoolExecutor; allowed: HighThroughputExecutor"),
        (
            "import parsl\nfrom parsl.providers import SlurmProvider\n"
            "config = parsl.Config([parsl.HighThroughputExecutor('a', provider=SlurmProvider())])",
            "executor 'a' does not tell how many workers a node has; allowed: max_workers_per_node=N",
        ),
        (
            "import parsl\nfrom parsl.executors import MPIExecutor\nfrom parsl.providers import SlurmProvider\n"
            "from parsl.launchers import SimpleLauncher\n"
            "config = parsl.Config([MPIExecutor('a', provider=SlurmProvider(launcher=SimpleLauncher()))])",
            "executor 'a' does not tell how many cores a node has; allowed: a provider with cores_per_node=N",
        ),
    ],
)
def test_configurations_that_cannot_be_used(tmp_path, text, said):
    file = tmp_path / "wrong.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UserError) as problem:
        ParslBackend(file, tmp_path / "engine")
    assert said in str(problem.value) and str(problem.value).startswith(str(file))
    assert not (tmp_path / "engine").exists()


def test_an_engine_without_its_file():
    with pytest.raises(UserError, match='engine = "parsl" without parsl_config; allowed: parsl_config = "FILE"'):
        _ = Engine("parsl").cores


def test_parsl_that_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "parsl", None)
    with pytest.raises(UserError, match="the package parsl is not installed; allowed: pip install 'parsl"):
        ParslBackend(configuration(tmp_path), tmp_path / "engine")


def test_a_parsl_that_does_not_start(tmp_path):
    file = configuration(tmp_path)
    file.write_text(file.read_text().replace("retries=0,", 'retries=0, run_dir="/proc/no-such",'))
    backend = ParslBackend(file, tmp_path / "engine")
    with pytest.raises(
        UserError, match="Parsl does not start: .*; allowed: a configuration that Parsl runs; its logs: "
    ):
        run_tasks([program(tmp_path, "a", LEAVE)], cores=2, jobs=2, backend=backend)


NODES = """
import parsl
from parsl.executors import MPIExecutor
from parsl.launchers import SimpleLauncher
from parsl.providers import SlurmProvider

config = parsl.Config([
    parsl.HighThroughputExecutor("ones", max_workers_per_node=64, provider=SlurmProvider(nodes_per_block=2, max_blocks=3)),
    parsl.HighThroughputExecutor("wide", cores_per_worker=16, provider=SlurmProvider(cores_per_node=64, max_blocks=2)),
    parsl.HighThroughputExecutor("pool", cores_per_worker=2, mem_per_worker=3,
        provider=SlurmProvider(cores_per_node=64, mem_per_node=32, nodes_per_block=4, max_blocks=2, launcher=SimpleLauncher())),
    MPIExecutor("nodes", max_workers_per_block=2, mpi_launcher="srun",
                provider=SlurmProvider(cores_per_node=64, nodes_per_block=4, max_blocks=3, launcher=SimpleLauncher())),
])
"""


def test_places_of_a_cluster(tmp_path):
    file = tmp_path / "cluster.py"
    file.write_text(NODES)
    places = ParslBackend(file, tmp_path / "engine").places
    nodes = Place("nodes", 256, 3, nodes=4, tasks=2, launcher="srun")
    assert places == [Place("ones", 1, 192), Place("wide", 16, 8), Place("pool", 2, 20), nodes]
    engine = Engine("parsl", str(file))
    assert engine.cores == 192 + 128 + 40 + 3 * 256 and engine.task_cores == 64

    def chosen(cores, ranks=1):
        task = Task("t", tmp_path / "t", lambda: [], tmp_path / "log", cores=cores, ranks=ranks)
        return place_for(task, places).executor

    found = [chosen(1), chosen(2), chosen(3), chosen(16, 4), chosen(64, 2), chosen(128, 64)]
    assert found == ["ones", "pool", "wide", "wide", "nodes", "nodes"]
    # more than all nodes, one process on several, one process that no worker has cores for, five nodes of four
    for cores, ranks in ((300, 300), (128, 1), (64, 1), (200, 5)):
        said = rf"t: needs {cores} cores for {ranks} ranks; allowed: .* 1 \(ones\), 16 \(wide\), .* 256 \(nodes, several ranks\)"
        with pytest.raises(UserError, match=said):
            chosen(cores, ranks)
    with pytest.raises(
        UserError, match="t: takes 4 nodes of executor 'nodes', which begins 2 tasks on 4 nodes; .*block=1$"
    ):
        chosen(256, 4)


@pytest.mark.parametrize(
    ("cores", "ranks", "wanted"),
    [(128, 64, (2, 64, 32, 2)), (96, 3, (2, 3, 2, 32)), (256, 4, (4, 4, 1, 64)), (6, 6, (1, 6, 6, 1))],
)
def test_ranks_take_as_few_nodes_as_hold_them(tmp_path, cores, ranks, wanted):
    task = Task("t", tmp_path / "t", lambda: [], tmp_path / "log", cores=cores, ranks=ranks)
    found = Place("nodes", 256, 2, nodes=4, launcher="srun").nodes_for(task)
    *counts, threads = wanted
    assert found == {
        **dict(zip(("num_nodes", "num_ranks", "ranks_per_node"), counts, strict=True)),
        "launcher_options": f"--cpus-per-task={threads}",
    }
    assert "launcher_options" not in Place("nodes", 256, 2, nodes=4, launcher="mpiexec").nodes_for(task)


def test_a_task_sees_nothing_of_the_job_of_its_worker(monkeypatch):
    """Else MPI in it takes itself for a rank of the worker's job, and an mpiexec of its own for one of all its nodes."""
    from craton.tasks.in_worker import _backend

    for name in (
        "SLURM_STEP_NUM_TASKS",
        "SLURM_PROCID",
        "SLURM_JOB_ID",
        "PMIX_RANK",
        "PMI_RANK",
        "PBS_NODEFILE",
        "OTHER",
    ):
        monkeypatch.setenv(name, "2")
    settings = frozenset({("CRATON_A", "b")})
    alone, ranks = (_backend(settings, by_launcher)._environment for by_launcher in (False, True))
    _backend.cache_clear()
    assert alone["CRATON_A"] == ranks["CRATON_A"] == "b" and alone["OTHER"] == "2"
    assert not [name for name in alone if name.startswith(("SLURM", "PMI", "PBS"))]
    assert ranks["SLURM_JOB_ID"] == ranks["PMIX_RANK"] == "2"


def test_more_cores_than_there_are(tmp_path):
    graph = Graph([program(tmp_path, "a", LEAVE)])
    with pytest.raises(
        UserError, match=r"\[run\] cores = 100000: this machine has \d+; allowed: at most \d+, or an engine"
    ):
        Engine("local").check(graph.tasks, 100_000)
    engine = Engine("parsl", str(configuration(tmp_path)))
    with pytest.raises(UserError, match=r"cores = 3: the executors of .*here.py have 2; allowed: at most 2$"):
        engine.check(graph.tasks, 3)
    engine.check(graph.tasks, 2)
