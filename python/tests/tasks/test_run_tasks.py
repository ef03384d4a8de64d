"""Tasks that do nothing but leave their file: their order, their cores, what failed, and what each of very many takes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from craton.errors import UserError
from craton.tasks import Ended, Graph, Task, run_tasks, utilisation
from helpers import environment_without_mpi

JOB = "import sys, time; time.sleep(float(sys.argv[2])); open(sys.argv[1], 'w').close()"


def job(
    folder,
    name,
    *,
    seconds=0.05,
    cores=1,
    after=(),
    phase=0,
    script=JOB,
    leading=False,
    group="A",
    kind="work",
    cost=1.0,
):
    return Task(
        name=name,
        kind=kind,
        group=group,
        phase=phase,
        cores=cores,
        result=folder / name,
        command=lambda: [sys.executable, "-S", "-c", script, str(folder / name), str(seconds)],
        log=folder / f"{name}.log",
        after=after,
        leading=leading,
        cost=cost,
    )


def most_at_once(records, cores=False):
    weigh = (lambda one: len(one.cores)) if cores else (lambda one: 1)
    return max(sum(weigh(b) for b in records if b.begun_s <= a.begun_s < b.ended_s) for a in records)


@pytest.mark.parametrize(("cores", "jobs", "expected"), [(3, 2, 2), (2, 5, 2), (4, 4, 4)])
def test_no_more_jobs_than_allowed(tmp_path, cores, jobs, expected):
    tasks = [job(tmp_path, f"t{n}", seconds=0.3) for n in range(8)]
    found = run_tasks(tasks, cores=cores, jobs=jobs)
    assert len(found.records) == 8 and not found.failures and not found.left
    assert most_at_once(found.records) <= expected
    assert all(set(one.cores) <= set(range(cores)) for one in found.records)


def test_wide_jobs_have_their_cores_alone(tmp_path):
    tasks = [job(tmp_path, f"t{n}", cores=1 + n % 3, seconds=0.1) for n in range(7)]
    found = run_tasks(tasks, cores=3, jobs=9)
    assert len(found.records) == 7 and most_at_once(found.records, cores=True) <= 3
    for one in found.records:
        for other in found.records:
            if one is not other and one.begun_s < other.ended_s and other.begun_s < one.ended_s:
                assert not set(one.cores) & set(other.cores)
    given, computed = utilisation(found.records, 3, found.seconds)
    assert 0 < given <= 1 and 0 < computed <= 1.01


def test_what_is_there_is_not_done_again(tmp_path):
    (tmp_path / "a").write_text("kept")
    tasks = [job(tmp_path, "a"), job(tmp_path, "b", after=("a",)), job(tmp_path, "c", after=("a", "b"))]
    found = run_tasks(tasks, cores=2, jobs=2)
    assert [one.name for one in found.records] == ["b", "c"] and (tmp_path / "a").read_text() == "kept"
    assert run_tasks(tasks, cores=2, jobs=2).records == []


def test_what_a_killed_writer_has_left_beside_a_missing_result_goes(tmp_path):
    """As one whose folder was renamed while it wrote: it could not take it away itself."""
    (tmp_path / "a").write_text("kept")
    names = ["a.12.new", "b.12.new", "b.x.34.new", "other.5.new", "b.new"]
    for name in names:
        (tmp_path / name).write_text("half")
    run_tasks([job(tmp_path, "a"), job(tmp_path, "b")], cores=1, jobs=1)
    left = {path.name for path in tmp_path.iterdir()}
    assert left >= {"a", "b", "a.12.new", "b.x.34.new", "other.5.new", "b.new"}  # not this run's to take
    assert "b.12.new" not in left


@pytest.mark.parametrize("sequential", [False, True])
def test_a_failure_holds_up_only_what_needs_it(tmp_path, sequential):
    wrong = "import sys; sys.exit('craton: error: a line that says why')"
    silent = "pass"
    tasks = [
        job(tmp_path, "bad", script=wrong),
        job(tmp_path, "needs-bad", after=("bad",), phase=1),
        job(tmp_path, "needs-that", after=("needs-bad",), phase=2),
        job(tmp_path, "good", phase=10),
        job(tmp_path, "needs-good", after=("good",), phase=11),
        job(tmp_path, "leaves-nothing", script=silent, phase=12),
    ]
    found = run_tasks(tasks, cores=2, jobs=2, sequential=sequential)
    assert {one.name for one in found.records} == {"bad", "good", "needs-good", "leaves-nothing"}
    assert found.left == ["needs-bad", "needs-that"]
    assert found.failures[0] == "bad: a line that says why"
    assert "leaves-nothing: ended with code 0 and left no leaves-nothing" in found.failures[1]


def test_a_sequence_is_phase_after_phase(tmp_path):
    tasks = [job(tmp_path, f"t{n}", phase=n // 2, seconds=0.1) for n in range(6)]
    found = run_tasks(tasks, cores=2, jobs=4, sequential=True)
    ended = {one.name: one for one in found.records}
    for phase in (1, 2):
        begin = min(ended[f"t{n}"].begun_s for n in (2 * phase, 2 * phase + 1))
        assert begin >= max(ended[f"t{n}"].ended_s for n in range(2 * phase))


def test_one_leading_job_is_kept_going_and_others_fill_the_cores(tmp_path):
    """As waves do, with the post-processing of the site before, while there are waves for long."""
    tasks = []
    for site in "ABCDEFGH":
        tasks.append(job(tmp_path, f"{site}-waves", leading=True, group=site, seconds=0.4))
        tasks += [job(tmp_path, f"{site}-{n}", after=(f"{site}-waves",), group=site, seconds=0.15) for n in range(3)]
    found = run_tasks(tasks, cores=2, jobs=5)
    order = sorted(found.records, key=lambda one: one.begun_s)
    assert {one.name for one in order[:2]} == {"A-waves", "B-waves"}, (
        "a free core takes further waves where nothing else is ready"
    )
    again = [job(tmp_path / "x", task.name, after=task.after, leading=task.leading) for task in tasks]
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "A-waves").touch()
    order = sorted(run_tasks(again, cores=2, jobs=5).records, key=lambda one: one.begun_s)
    assert [one.name for one in order[:2]] == ["B-waves", "A-0"]


def test_at_the_end_long_chains_go_first(tmp_path):
    """Waves before post-processing that takes little beside them, and portions before what their site makes of them."""
    tasks = []
    for site in "ABC":
        tasks.append(job(tmp_path, f"{site}-waves", leading=True, group=site, seconds=0.6, cost=0.6))
        portions = [f"{site}-{n}" for n in range(2)]
        tasks += [job(tmp_path, name, after=(f"{site}-waves",), group=site, cost=0.02) for name in portions]
        tasks.append(job(tmp_path, f"{site}-curves", after=tuple(portions), group=site, cost=0.02))
    order = [one.name for one in sorted(run_tasks(tasks, cores=2, jobs=5).records, key=lambda one: one.begun_s)]
    assert {name for name in order[:3]} == {"A-waves", "B-waves", "C-waves"}
    assert {name for name in order[3:7]} <= {"A-0", "A-1", "B-0", "B-1", "A-curves", "B-curves"}
    for site in "ABC":
        assert order.index(f"{site}-curves") > max(order.index(f"{site}-{n}") for n in range(2))


@pytest.mark.parametrize(("cost", "first"), [(0.02, "C-waves"), (3.0, "A-0")])
def test_others_go_first_as_long_as_no_core_is_idle_for_it_in_the_end(tmp_path, cost, first):
    """Post-processing of a site whose waves have ended, or further waves: by what there is left to do."""
    tasks = []
    for site, seconds in (("A", 0.2), ("B", 0.8), ("C", 0.2)):
        tasks.append(job(tmp_path, f"{site}-waves", leading=True, group=site, seconds=seconds, cost=5.0))
        portions = [f"{site}-{n}" for n in range(2)]
        tasks += [job(tmp_path, name, after=(f"{site}-waves",), group=site, cost=cost) for name in portions]
        tasks.append(job(tmp_path, f"{site}-curves", after=tuple(portions), group=site, cost=cost))
    order = [one.name for one in sorted(run_tasks(tasks, cores=2, jobs=5).records, key=lambda one: one.begun_s)]
    assert set(order[:2]) == {"A-waves", "B-waves"} and order[2] == first


def test_a_job_that_needs_more_than_there_is(tmp_path):
    with pytest.raises(UserError, match=r"wide: needs 3 cores; allowed: 2"):
        run_tasks([job(tmp_path, "wide", cores=3)], cores=2, jobs=1)


def test_an_interrupt_ends_the_jobs(tmp_path):
    def interrupt(_ended, running):
        if len(running) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tasks([job(tmp_path, f"t{n}", seconds=60) for n in range(2)], cores=2, jobs=2, progress=interrupt)
    assert not list(tmp_path.glob("t?"))


TERMINATED = """
import os, signal, sys
from pathlib import Path
from craton._launch import main_guard
from craton.tasks import Task, run_tasks

def terminate(_ended, running):
    if running:
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))

folder = Path(sys.argv[1])
with main_guard():
    run_tasks([Task("a", folder / "a", lambda: ["sleep", "60"], folder / "a.log")], cores=1, jobs=1, progress=terminate)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_code_tells_which_signal_has_ended_it(tmp_path, name):
    command = [sys.executable, "-c", TERMINATED, str(tmp_path), name]
    done = subprocess.run(
        command, env=environment_without_mpi(), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (128 + getattr(signal, name), "craton: interrupted\n")


def test_a_program_that_does_not_start(tmp_path):
    absent = Task("absent", result=tmp_path / "x", log=tmp_path / "log", command=lambda: [str(tmp_path / "nothing")])
    found = run_tasks([absent, job(tmp_path, "good"), job(tmp_path, "later", after=("absent",))], cores=2, jobs=2)
    assert (tmp_path / "good").is_file() and found.left == ["later"]
    (line,) = found.failures
    assert line.startswith("absent: cannot begin: ") and "No such file" in line


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((("a", ()), ("a", ())), "two tasks are called 'a'"),
        ((("a", ("b",)),), "a: after 'b', which is no task"),
        ((("a", ("c",)), ("b", ("a",)), ("c", ("b",))), "waits for itself"),
    ],
)
def test_tasks_that_are_no_graph(tmp_path, names, words):
    with pytest.raises(ValueError, match=words):
        run_tasks([job(tmp_path, name, after=after) for name, after in names], cores=1, jobs=1)
    assert not list(tmp_path.iterdir())


def test_tasks_may_be_given_before_what_they_need(tmp_path):
    found = run_tasks([job(tmp_path, "last", after=("first",)), job(tmp_path, "first")], cores=2, jobs=2)
    assert [one.name for one in found.records] == ["first", "last"]


class Nothing:
    """A backend whose tasks end at once, well but for those that it is told; the results of all are one file."""

    def __init__(self, result: Path, bad: frozenset[str] = frozenset()) -> None:
        self.result, self.bad = result, bad
        self.begun: list[str] = []
        self.told = 0

    def prepare(self, tasks):
        self.prepared = len(tasks)

    def begin(self, task, cores):
        if not self.begun:
            self.result.touch()
        self.begun.append(task.name)

    def ended(self, wait_s):
        new, self.told = self.begun[self.told :], len(self.begun)
        return [Ended(name, int(name in self.bad)) for name in new]

    def end(self):
        pass


def empty(folder, name, **more):
    return Task(name, result=folder / "result", log=folder / "log", command=lambda: [], **more)


def test_another_backend(tmp_path):
    """It is given what may begin, and what it tells is what is recorded."""
    tasks = [
        empty(tmp_path, "a"),
        empty(tmp_path, "b", after=("a",)),
        empty(tmp_path, "c"),
        empty(tmp_path, "d", after=("c",)),
    ]
    backend = Nothing(tmp_path / "result", bad=frozenset("c"))
    found = run_tasks(tasks, cores=1, jobs=1, backend=backend)
    assert (
        backend.prepared == 4 and found.left == ["d"] and [one.code for one in found.records if one.name == "c"] == [1]
    )
    assert backend.begun == [one.name for one in found.records] and sorted(backend.begun) == ["a", "b", "c"]


def seconds_per_task(folder, count, sequential):
    """Of tasks in chains of ten, of two widths, some of them leading; the best of three."""

    def made(n):
        after = (f"t{n - 1}",) if n % 10 else ()
        return empty(
            folder, f"t{n}", after=after, cores=1 + n % 2, leading=n % 10 == 0, cost=1.0 + n % 7, phase=n // 10
        )

    graph, best = Graph([made(n) for n in range(count)]), float("inf")
    for _ in range(3):
        (folder / "result").unlink(missing_ok=True)
        before = time.process_time()
        found = run_tasks(graph, cores=8, jobs=6, sequential=sequential, backend=Nothing(folder / "result"))
        best = min(best, (time.process_time() - before) / count)
        assert len(found.records) == count and not found.failures
    return best


@pytest.mark.parametrize("sequential", [False, True])
def test_a_task_takes_as_long_among_many(tmp_path, sequential):
    few, many = (seconds_per_task(tmp_path, count, sequential) for count in (1000, 10_000))
    print(f"{1e3 * few:.4f} ms for each of 1,000 tasks, {1e3 * many:.4f} ms of 10,000")
    assert many < 3 * few
