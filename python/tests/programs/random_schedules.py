"""Random schedules of the runtime on as many ranks as the job has, against NumPy; started by test_random_schedules.py.

mpiexec -n 3 python random_schedules.py EXAMPLES [SEED]

Rank 0 draws them with hypothesis and hands each to all. A schedule says how the world is made, and in each epoch what every thread
of every rank does, and how long it waits between. All numbers are whole, so that any order of the same updates gives the same sums.
One that fails is made small, and printed.
"""

import sys
import threading
import time
from functools import partial

import craton
import numpy as np
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from mpi4py import MPI

COMM = MPI.COMM_WORLD
EXAMPLES = int(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else None

OPERATIONS = ("block", "triangle", "element", "vector", "array", "count", "wait", "poll", "flush")
NUMBERS = st.integers(0, 2**31)


def operations():
    return st.lists(st.tuples(st.sampled_from(OPERATIONS), NUMBERS), max_size=6)


@st.composite
def schedules(draw):
    """What a world does; the same on every rank once it has been handed out."""
    ranks = COMM.size
    block = draw(st.integers(1, 20))
    threads_of_a_rank = st.lists(operations(), min_size=1, max_size=3)
    return {
        "ranks_per_node": draw(st.integers(0, ranks)),
        "ranks_per_row": draw(st.integers(1, ranks)),
        "bytes_in_flight": draw(st.sampled_from([1, 5000, 1 << 26])),
        "progress_threads": draw(st.lists(st.booleans(), min_size=ranks, max_size=ranks)),
        "order": draw(st.integers((ranks - 1) * block + 1, 70)),  # a block for each rank
        "block": block,
        "dtype": draw(st.sampled_from(["int64", "float32", "complex128"])),
        "epochs": draw(
            st.lists(
                st.fixed_dictionaries(
                    {
                        "threads": st.lists(threads_of_a_rank, min_size=ranks, max_size=ranks),
                        "tasks": st.integers(0, 20),
                        "end": st.sampled_from(["commit", "reset", "scale", "read"]),
                    }
                ),
                min_size=1,
                max_size=3,
            )
        ),
    }


def drawn(number, order, dtype):
    """The rows, columns and block of an update."""
    rng = np.random.default_rng(number)
    rows, cols = (rng.integers(0, order, rng.integers(1, order + 1)) for _ in range(2))
    return rows, cols, rng.integers(-9, 10, (rows.size, cols.size)).astype(dtype)


class Run:
    """The arrays of a schedule, and what they must be."""

    def __init__(self, schedule):
        self.order, self.dtype = schedule["order"], schedule["dtype"]
        self.world = craton.World(
            COMM, schedule["ranks_per_node"], schedule["bytes_in_flight"], schedule["ranks_per_row"]
        )
        order, block = self.order, schedule["block"]
        self.matrix = craton.ConvergentMatrix(self.world, order, order, dtype=self.dtype, block=block)
        self.vector = craton.ConvergentVector(self.world, order, block, dtype=self.dtype)
        self.array = craton.DistArray(self.world, (order, order), self.dtype, tiles=block)
        self.counter = craton.Counter(self.world, COMM.size - 1)
        self.wanted = {name: np.zeros(shape, self.dtype) for name, shape in self.shapes().items()}
        self.counts = 0
        self.seen = []  # of the counter, by this rank
        self.wrong = []  # told at the end: the other ranks go on, in collective calls

    def shapes(self):
        return {"matrix": (self.order,) * 2, "vector": (self.order,), "array": (self.order,) * 2}

    def do(self, operation, number):
        """One operation, by any thread."""
        rows, cols, block = drawn(number, self.order, self.dtype)
        match operation:
            case "block":
                self.matrix.update(block, rows, cols)
            case "triangle":
                self.matrix.update_symmetric(*self.symmetric(number))
            case "element":
                self.matrix.update(block[0, 0], int(rows[0]), int(cols[0]))
            case "vector":
                self.vector.update(block[:, 0], rows)
            case "array":
                low, high = self.rectangle(number)
                part = np.resize(block, high - low)
                self.array[low[0] : high[0], low[1] : high[1]] += part
            case "count":
                self.seen.append(self.counter.fetch_add())
            case "wait":
                time.sleep(number % 3000 * 1e-6)
            case "poll":
                self.world.poll()
            case "flush":
                self.world.flush()

    def expect(self, operation, number):
        """The same with NumPy, of every rank."""
        rows, cols, block = drawn(number, self.order, self.dtype)
        match operation:
            case "block":
                np.add.at(self.wanted["matrix"], np.ix_(rows, cols), block)
            case "triangle":
                block, indices = self.symmetric(number)
                upper = indices[:, None] <= indices[None, :]
                np.add.at(self.wanted["matrix"], np.ix_(indices, indices), np.where(upper, block, 0))
            case "element":
                self.wanted["matrix"][rows[0], cols[0]] += block[0, 0]
            case "vector":
                np.add.at(self.wanted["vector"], rows, block[:, 0])
            case "array":
                low, high = self.rectangle(number)
                self.wanted["array"][low[0] : high[0], low[1] : high[1]] += np.resize(block, high - low)
            case "count":
                self.counts += 1

    def symmetric(self, number):
        indices, _, _ = drawn(number, self.order, self.dtype)
        if number % 2:
            indices = np.unique(indices)
        half = np.random.default_rng(number + 1).integers(-9, 10, (indices.size,) * 2).astype(self.dtype)
        return half + half.T, indices

    def rectangle(self, number):
        ends = np.sort(np.random.default_rng(number + 2).integers(0, self.order + 1, (2, 2)), axis=0)
        return ends[0], ends[1]

    def epoch(self, epoch):
        mine = epoch["threads"][COMM.rank]

        def work(todo):
            try:
                for operation, number in todo:
                    self.do(operation, number)
            except BaseException as error:
                self.wrong.append(repr(error))

        team = [threading.Thread(target=partial(work, todo)) for todo in mine[1:]]
        for thread in team:
            thread.start()
        work(mine[0])
        while any(thread.is_alive() for thread in team):  # others may need this rank
            self.world.poll()
            time.sleep(0.0002)
        queue = craton.WorkQueue(self.world, epoch["tasks"])
        while (task := queue.next()) is not None:
            self.matrix.update(task + 1, task % self.order, 0)
        for task in range(epoch["tasks"]):
            self.wanted["matrix"][task % self.order, 0] += task + 1
        for threads in epoch["threads"]:
            for todo in threads:
                for operation, number in todo:
                    self.expect(operation, number)
        self.end(epoch["end"])

    def end(self, how):
        if how == "reset":
            self.matrix.reset()
            self.vector.reset()
            self.array.fill(0)
            for wanted in self.wanted.values():
                wanted[...] = 0
        elif how == "scale":
            self.matrix.scale(2)
            self.vector.scale(2)
            self.array.scale(2)
            for wanted in self.wanted.values():
                wanted *= 2
        else:
            self.matrix.commit()
            self.vector.commit()
            self.array.sync()
        if how == "read":
            rows, cols, _ = drawn(self.counts + COMM.rank, self.order, self.dtype)
            found = self.matrix.read_slice(rows, cols)
            self.expect_equal(found, self.wanted["matrix"][np.ix_(rows, cols)], "a slice of the matrix")
            self.world.barrier()

    def compare(self):
        for name, wanted in self.wanted.items():
            self.expect_equal(getattr(self, name).gather(), wanted, name)
        numbers = sorted(number for seen in COMM.allgather(self.seen) for number in seen)
        self.expect_equal(numbers, list(range(self.counts)), "numbers of the counter")

    def expect_equal(self, found, wanted, what):
        if not np.array_equal(found, wanted):
            self.wrong.append(f"{what}: {found} instead of {wanted}")


def run(schedule):
    """What of a schedule was wrong on this rank."""
    made = Run(schedule)
    helper = craton.ProgressThread(made.world)
    if schedule["progress_threads"][COMM.rank]:
        helper.start()
    for epoch in schedule["epochs"]:
        made.epoch(epoch)
        made.compare()
    helper.stop()
    made.world.barrier()
    return made.wrong


def hand_out(schedule):
    """On rank 0: runs it on all."""
    schedule = COMM.bcast(schedule)
    wrong = COMM.gather(run(schedule))
    assert not any(wrong), wrong


def main():
    if COMM.rank > 0:
        while (schedule := COMM.bcast(None)) is not None:
            COMM.gather(run(schedule))
        return 0
    count = 0

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=SEED is None,
        suppress_health_check=list(HealthCheck),
    )
    @given(schedules())
    def every_schedule(schedule):
        nonlocal count
        count += 1
        hand_out(schedule)

    if SEED is not None:
        every_schedule = seed(SEED)(every_schedule)
    try:
        every_schedule()
    finally:
        COMM.bcast(None)
    print(f"{count} schedules on {COMM.size} ranks: each sum as NumPy's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
