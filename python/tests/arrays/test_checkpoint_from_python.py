"""craton.Checkpoint: saved, resumed, abandoned; test_checkpoint.py kills, test_many_ranks.py has several ranks."""

import threading

import craton
import numpy as np
import pytest
from mpi4py import MPI


@pytest.fixture(scope="module")
def world():
    return craton.World(MPI.COMM_SELF)


def arrays(world):
    return {
        "hessian": craton.ConvergentMatrix(world, 30, 30, dtype="float64", block=7),
        "counts": craton.ConvergentMatrix(world, 30, 20, dtype="int64"),
        "packed": craton.SymmetricMatrix(world, 30, block=4, dtype="complex64"),
        "sums": craton.ReproducibleMatrix(world, 30, 30, dtype="float32", largest=1e3),
        "gradient": craton.ConvergentVector(world, 30),
    }


def add_all(world, path, **options):
    made = arrays(world)
    checkpoint = craton.Checkpoint(world, str(path), **options)
    for name, array in made.items():
        checkpoint.add(name, array)
    return checkpoint, made


def contents(made):
    everything = range(30)
    return [
        made["hessian"].read_slice(everything, everything),
        made["counts"].read_slice(everything, range(20)),
        made["packed"].read_slice(everything, everything),
        made["sums"].read_slice(everything, everything),
        made["gradient"].gather(),
    ]


def update_all(made, subset):
    ix = np.sort(np.random.default_rng(subset).permutation(20)[:5])
    made["hessian"].update_symmetric(np.full((5, 5), float(subset)), ix)
    made["counts"].update(np.ones((5, 5), int), ix, ix)
    made["packed"].update_symmetric(np.full((5, 5), 1j * subset, "complex64"), ix)
    made["sums"].update(np.full((5, 5), 0.1 * subset, "float32"), ix, ix)
    made["gradient"].update(np.full(5, float(subset)), ix)


def test_what_was_saved_comes_back(world, tmp_path):
    path = tmp_path / "c.h5"
    checkpoint, made = add_all(world, path, hints={"striping_factor": "2"}, buffer_bytes=1 << 12, keep_previous=False)
    assert checkpoint.resume() is None
    np.testing.assert_array_equal(checkpoint.missing(4), range(4))

    def work(checkpoint, part):
        for subset in part:
            with checkpoint.begin(subset) as new:
                assert new
                update_all(made, subset)

    team = [threading.Thread(target=work, args=(checkpoint, range(first, 12, 3))) for first in range(3)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    subset = checkpoint.begin(17)
    update_all(made, 17)
    subset.finish()
    with pytest.raises(craton.UserError, match="finished or abandoned already"):
        subset.finish()
    checkpoint.save({"iteration": 3, "misfit": 0.25, "seed": np.int64(5)})
    assert checkpoint.counted == [(0, 11), (17, 17)]
    kept = contents(made)
    with checkpoint.begin(20):
        with pytest.raises(craton.UserError, match=r"close\(\) while a subset is open"):
            checkpoint.close()
        update_all(made, 20)  # after the last save: to be done again
    checkpoint.close()
    with pytest.raises(craton.UserError, match="it has been closed"):
        checkpoint.save()

    again, made = add_all(world, path)
    numbers, notice = again.resume()
    assert numbers == {"iteration": 3, "misfit": 0.25, "seed": 5} and notice == ""
    assert isinstance(numbers["iteration"], int) and isinstance(numbers["misfit"], float)
    for now, then in zip(contents(made), kept, strict=True):
        assert now.tobytes() == then.tobytes() and np.count_nonzero(then) > 0
    np.testing.assert_array_equal(again.missing(21), [12, 13, 14, 15, 16, 18, 19, 20])
    with again.begin(11) as new:
        assert not new
    with pytest.raises(craton.UserError, match="resume"):
        again.add("late", made["hessian"])


def test_an_abandoned_subset_is_not_saved(world, tmp_path):
    checkpoint, made = add_all(world, tmp_path / "c.h5")
    with checkpoint as entered:
        assert entered.resume() is None
        checkpoint.save()
    checkpoint, made = add_all(world, tmp_path / "c.h5")
    checkpoint.resume()
    with pytest.raises(KeyError), checkpoint.begin(1):
        update_all(made, 1)
        raise KeyError
    with pytest.raises(craton.UserError):
        checkpoint.save()


def test_errors(world, tmp_path):
    checkpoint, made = add_all(world, tmp_path / "c.h5")
    for name in ("hessian", "", "a/b"):
        with pytest.raises(craton.UserError):
            checkpoint.add(name, craton.ConvergentVector(world, 5))
    for call in (checkpoint.save, lambda: checkpoint.begin(0)):
        with pytest.raises(craton.UserError, match="resume"):
            call()
    with pytest.raises(craton.UserError):
        add_all(world, tmp_path / "c.h5", wait_for_other_job_s=0.1)
    checkpoint.resume()
    for wrong in ({"a": "text"}, {1: 2}, {"a": 1 << 70}):
        with pytest.raises(craton.UserError, match=r"save: numbers\["):
            checkpoint.save(wrong)
    with pytest.raises(craton.UserError, match="nowhere"):
        craton.Checkpoint(world, str(tmp_path / "nowhere" / "c.h5"))
    with pytest.raises(TypeError):
        checkpoint.add("list", [1, 2])


def test_hints(world, tmp_path, monkeypatch):
    monkeypatch.setenv("CRATON_IO_HINTS", "striping_factor=8;cb_nodes=2")
    assert craton._craton.hints_from_environment() == {"striping_factor": "8", "cb_nodes": "2"}
    matrix = craton.ConvergentMatrix(world, 9, 9, dtype="complex128")
    matrix.update(1 + 2j, 3, 4)
    matrix.commit()
    matrix.save(str(tmp_path / "m.h5"), "a", hints={"striping_unit": "1048576"})
    other = craton.ConvergentMatrix(world, 9, 9, dtype="complex128")
    other.load(str(tmp_path / "m.h5"), "a", hints={"cb_nodes": "1"})
    assert other.read(3, 4) == 1 + 2j
    monkeypatch.setenv("CRATON_IO_HINTS", "nonsense")
    with pytest.raises(craton.UserError, match="nonsense"):
        craton._craton.hints_from_environment()
