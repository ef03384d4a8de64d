"""What the runtime offers to Python, on one rank; test_many_ranks.py has it on several."""

import threading

import craton
import numpy as np
import pytest
from mpi4py import MPI


@pytest.fixture(scope="module")
def world():
    return craton.World(MPI.COMM_SELF)


def test_the_bound_on_bytes_in_flight(world):
    assert world.max_bytes_in_flight == 64 << 20 and world.bytes_in_flight == 0
    world.max_bytes_in_flight = 1 << 20
    assert world.max_bytes_in_flight == 1 << 20
    for wrong in (0, -1):
        with pytest.raises(craton.UserError, match=f"max_bytes_in_flight is {wrong}; allowed: 1 or more"):
            world.max_bytes_in_flight = wrong
    assert craton.World(MPI.COMM_SELF, max_bytes_in_flight=12345).max_bytes_in_flight == 12345
    assert world.shares_memory_with(0) and not world.shares_memory_with(1)
    world.flush()
    assert {"messages_sent", "transfers_sent", "peak_bytes_in_flight"} <= set(world.stats())


@pytest.mark.parametrize("rows", [-1, "rows", ""])
def test_rows_that_there_are_not(rows):
    words = repr(rows) if isinstance(rows, str) else rows
    with pytest.raises(craton.UserError, match=f"World: ranks_per_row is {words}; allowed: 'node', 0 or more"):
        craton.World(MPI.COMM_SELF, ranks_per_row=rows)


def test_progress_thread(world):
    thread = craton.ProgressThread(world)
    assert not thread.running
    with thread as entered:
        assert entered is thread and thread.running
        thread.pause()
        assert not thread.running
        thread.resume()
        assert thread.running
    assert not thread.running
    thread.start()
    thread.stop()
    with pytest.raises(ZeroDivisionError), craton.ProgressThread(world) as other:
        raise ZeroDivisionError
    assert not other.running
    craton.ProgressThread(world).start()  # stopped when it is collected


def test_counter(world):
    counter = craton.Counter(world)
    team = [threading.Thread(target=lambda: [counter.fetch_add(3) for _ in range(500)]) for _ in range(4)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert counter.read() == 6000
    for wrong in (-1, 1):
        with pytest.raises(craton.UserError, match=f"Counter: owner is {wrong}; allowed: 0 to 0"):
            craton.Counter(world, wrong)


def test_work_queue(world):
    queue = craton.WorkQueue(world, 5)
    assert queue.own == (0, 5) and list(queue) == [0, 1, 2, 3, 4] and queue.next() is None and queue.stolen == 0
    queue.reset()
    assert queue.next() == 0
    assert sorted(craton.WorkQueue(world, [1, 5, 2])) == [0, 1, 2]
    queue = craton.WorkQueue(world, np.ones(2000, np.float32)[::2])
    taken, lock = [], threading.Lock()

    def work():
        for task in queue:
            with lock:
                taken.append(task)

    team = [threading.Thread(target=work) for _ in range(4)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert sorted(taken) == list(range(1000))
    assert list(craton.WorkQueue(world, 0)) == []
    for wrong in ([1, -1], [np.nan], -3):
        with pytest.raises(craton.UserError):
            craton.WorkQueue(world, wrong)
    with pytest.raises(craton.UserError, match="allowed: a one-dimensional float64 array"):
        craton.WorkQueue(world, np.ones((2, 2)))


def test_neighbour_sync(world):
    sync = craton.NeighbourSync(world)
    sync.signal([0, 0])
    sync.wait([0])
    sync.wait([0])
    sync.synchronise([0])
    for call in (sync.signal, sync.wait, sync.synchronise):
        for wrong in (-1, 1):
            with pytest.raises(craton.UserError):
                call([wrong])


RECORD = np.dtype([("x", "f4"), ("n", "i2")])


@pytest.mark.parametrize("dtype", ["float64", "complex64", "int8", RECORD, "S5"], ids=str)
def test_segment(world, dtype):
    dtype = np.dtype(dtype)
    segment = craton.Segment(world, 60, dtype)
    values = np.frombuffer(np.random.default_rng(1).integers(65, 90, 60 * dtype.itemsize, np.uint8).tobytes(), dtype)
    assert segment.dtype == dtype and segment.size_of(0) == 60 and segment.world is world
    assert segment.local.shape == (60,) and not np.frombuffer(segment.local.tobytes(), np.uint8).any()
    segment.rput(values.reshape(6, 10).T[::-1], 0)  # C order of what is put
    np.testing.assert_array_equal(segment.local, values.reshape(6, 10).T[::-1].ravel())
    segment.rput(values[:40], 0, 20)
    np.testing.assert_array_equal(segment.rget(0, 20), values[:40])
    np.testing.assert_array_equal(segment.rget(0, 20, (5, 8)), values[:40].reshape(5, 8))
    segment.rput(values.reshape(6, 10), 0, strides=(1, 6))  # to Fortran order
    np.testing.assert_array_equal(segment.rget(0, 0, (10, 6)), values.reshape(6, 10).T)
    np.testing.assert_array_equal(segment.rget(0, 59, 60, strides=[-1]), segment.local[::-1])
    out = np.zeros((4, 20), dtype)[::2, 1::2]
    assert segment.rget(0, 7, out=out) is out
    np.testing.assert_array_equal(out.ravel(), segment.local[7:27])
    copy = segment.start_rget(0, 3, 4)
    assert copy.test()
    np.testing.assert_array_equal(copy.wait(), segment.local[3:7])
    assert segment.start_rput(values[:1], 0).wait() is None
    other = craton.Segment(world, 100, dtype)
    segment.copy_to(0, 10, other, 0, 5, (3, 4), strides=(10, 2), to_strides=(1, 20)).wait()
    for i in range(3):
        np.testing.assert_array_equal(other.local[5 + i : 5 + i + 80 : 20], segment.local[10 + 10 * i :: 2][:4])


def test_a_view_keeps_the_segment(world):
    segment = craton.Segment(world, 10, "int64")
    view = segment.local
    del segment
    view[...] = 4
    assert view.sum() == 40


def test_errors_of_segments(world):
    segment = craton.Segment(world, 10)
    with pytest.raises(craton.UserError, match="rput: float32 array; allowed: float64, the segment's element type"):
        segment.rput(np.ones(3, np.float32), 0)
    with pytest.raises(craton.UserError, match="rget: int64 array"):
        segment.rget(0, out=np.zeros(3, int))
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(craton.UserError, match="out is read-only"):
        segment.rget(0, out=frozen)
    for rank in (-1, 1):
        for call in (lambda r: segment.rput([1.0], r), lambda r: segment.rget(r, 0, 1), segment.view):
            with pytest.raises(craton.UserError, match=f"rank {rank}; allowed: 0 to 0"):
                call(rank)
    with pytest.raises(craton.UserError, match="offset is -8 bytes"):
        segment.rput([1.0], 0, -1)
    for beyond in (
        lambda: segment.rput(np.ones(11), 0),
        lambda: segment.rget(0, 5, 6),
        lambda: segment.rget(0, 0, 3, [-1]),
    ):
        with pytest.raises(craton.UserError):
            beyond()
    with pytest.raises(craton.UserError, match="1 strides for 2 dimensions"):
        segment.rput(np.ones((2, 2)), 0, strides=[1])
    with pytest.raises(craton.UserError, match="copy_to: from float64 to int64"):
        segment.copy_to(0, 0, craton.Segment(world, 10, "int64"), 0)
    with pytest.raises(craton.UserError, match="Segment: dtype = object"):
        craton.Segment(world, 10, object)
    with pytest.raises(craton.UserError, match="Segment: size is -1"):
        craton.Segment(world, -1)
    records = np.zeros(4, [("byte", "i1"), ("value", "f8")])
    with pytest.raises(craton.UserError, match="a stride of 9 bytes between elements of 8"):
        segment.rput(records["value"], 0)
