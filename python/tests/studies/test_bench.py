"""The benchmarks behind `craton bench`: their workload and its check against NumPy, and a small run of each."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from command_line import craton
from craton import _craton
from craton.errors import UserError
from craton.scf import BOHR_ANGSTROM, Molecule
from craton_studies.bench import registry
from craton_studies.bench.assembly import compared
from craton_studies.bench.scaling import Strong
from craton_studies.bench.scf import alkane
from craton_studies.extension import extension as _studies

N, n, LAYERS = 1024, 128, 16


def bench(*arguments: object, timeout: int = 240, **environment: str) -> subprocess.CompletedProcess[str]:
    return craton("bench", *arguments, seconds=timeout, **environment)


def records_of(tmp_path: Path, *arguments: object, **environment: str) -> dict[str, dict[str, Any]]:
    file = tmp_path / "records.json"
    done = bench(*arguments, "--output", file, **environment)
    assert done.returncode == 0, done.stderr
    return {record["name"]: record for record in json.loads(file.read_text())}


def with_name(records: dict[str, dict[str, Any]], *parts: str) -> dict[str, Any]:
    found = [record for name, record in records.items() if all(part in name for part in parts)]
    assert len(found) == 1, (parts, list(records))
    return found[0]


def ending_with(records: dict[str, dict[str, Any]], end: str) -> dict[str, Any]:
    found = [record for name, record in records.items() if name.endswith(end)]
    assert len(found) == 1, (end, list(records))
    return found[0]


# ----------------------------------------------------------------------------------------------------------- workload


@pytest.mark.parametrize("order", [0, 1])
def test_an_update_is_symmetric_and_touches_all_layers_of_its_cells(order: int) -> None:
    indices, block = _studies.update(N, n, order, 3)
    assert len(indices) == n and block.shape == (n, n)
    assert np.all(np.diff(indices) > 0) and indices[0] >= 0 and indices[-1] < N
    assert np.array_equal(block, block.T)
    assert np.array_equal(block, np.round(block)) and np.abs(block).max() == 4
    cells = N // LAYERS
    cell, layer = (indices % cells, indices // cells) if order == 0 else (indices // LAYERS, indices % LAYERS)
    assert len(np.unique(cell)) == n // LAYERS
    assert np.array_equal(np.bincount(layer), np.full(LAYERS, n // LAYERS))


def test_both_orders_number_the_same_cells() -> None:
    cells = N // LAYERS
    assert np.array_equal(
        np.unique(_studies.update(N, n, 0, 5)[0] % cells), np.unique(_studies.update(N, n, 1, 5)[0] // LAYERS)
    )


@pytest.mark.parametrize(("order", "shortest", "longest"), [(0, 1.6, 2.5), (1, 25, 45)])
def test_runs_are_as_long_as_paths_make_them(order: int, shortest: float, longest: float) -> None:
    lists = [_studies.update(8192, 1024, order, number)[0] for number in range(20)]
    runs = sum(1 + int(np.sum(np.diff(indices) != 1)) for indices in lists)
    assert shortest <= 20 * 1024 / runs <= longest


def assembled(updates: int) -> np.ndarray:
    """The upper triangle that the updates make, by NumPy."""
    matrix = np.zeros((N, N), dtype=np.float32)
    for number in range(updates):
        indices, block = _studies.update(N, n, 0, number)
        matrix[np.ix_(indices, indices)] += np.triu(block)
    return matrix


def test_the_check_knows_the_right_matrix_and_sees_every_small_mistake() -> None:
    matrix = assembled(6)
    expected = _studies.expected_sum(N, n, 0, 6)
    assert _studies.sum_of_matrix(np.ascontiguousarray(matrix.T)) == expected
    filled = np.argwhere(matrix != 0)
    generator = np.random.default_rng(3)
    for i, j in generator.choice(filled, 20):
        for change in ("lost", "doubled", "one more", "transposed", "not whole", "not a number"):
            wrong = matrix.copy()
            if change == "lost":
                wrong[i, j] = 0
            elif change == "doubled":
                wrong[i, j] *= 2
            elif change == "one more":
                wrong[i, j] += 1
            elif change == "transposed" and i != j:
                wrong[i, j], wrong[j, i] = 0, wrong[i, j]
            elif change == "not whole":
                wrong[i, j] += 0.5
            elif change == "not a number":
                wrong[i, j] = np.nan
            else:
                continue
            assert _studies.sum_of_matrix(np.ascontiguousarray(wrong.T)) != expected, change


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((1000, 128), ["N is 1000", "multiple of 16"]),
        ((32, 16), ["N is 32", "at least 64"]),
        ((1024, 100), ["n is 100", "multiple of 16"]),
        ((1024, 0), ["n is 0"]),
        ((1024, 528), ["n is 528", "at most N / 2 = 512"]),
    ],
)
def test_shapes_that_make_no_sense_are_refused(shape: tuple[int, int], words: list[str]) -> None:
    with pytest.raises(_craton.UserError) as error:
        _studies.update(*shape, 0, 0)
    for word in words:
        assert word in str(error.value)


# ----------------------------------------------------------------------------------------------------------- records


RUN = registry.Run(SimpleNamespace(size=2, rank=0), 1, 3, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "less_is_better", "target", "reached"),
    [
        ([1.0, 3.0, 2.0], False, 1.4, True),
        ([1.0, 3.0, 2.0], False, 1.6, False),
        ([1.0, 3.0, 2.0], True, 1.1, True),
        ([1.0, 3.0, 2.0], True, 0.9, False),
        ([1.0, 3.0, 2.0], False, None, None),
        ([], False, 1.0, None),
    ],
)
def test_a_target_is_judged_by_the_best_of_both(
    values: list[float], less_is_better: bool, target: float | None, reached: bool | None
) -> None:
    limit = [1.0, 2.0, 1.5]
    found = registry.Measurement("x", values, "u", limit, "the limit", target, less_is_better, group="g")
    record = registry.condense(found, RUN, "another")
    assert record.reached is reached
    assert (record.name, record.limit_name, record.limit_value) == ("g: x", "the limit", 1.5)
    if values:
        assert (record.value, record.best) == (2.0, 1.0 if less_is_better else 3.0)
        assert record.limit_best == (1.0 if less_is_better else 2.0)
    else:
        assert (record.value, record.best, record.spread) == (None, None, None)


def test_a_peer_that_does_not_work_here_has_a_line_that_says_so() -> None:
    loops = [
        {"name": f"loop, own {what}", "ranks": 1, "rates": [1.0], "processor_rates": [1.0], "note": ""}
        for what in ("updates", "columns")
    ]
    none = {"name": "MPI-3 RMA", "ranks": 2, "rates": [], "processor_rates": [], "note": "MPI windows do not work here"}
    direct = {"name": "direct", "ranks": 2, "rates": [500.0], "processor_rates": [250.0], "note": ""}
    found = {
        "contenders": [*loops, none, direct],
        "mean_run": 2.0,
        "least_bytes": 60.0,
        "in_place_gb_s": 48.0,
        "memcpy_gb_s": [1.0, 2.0],
        "triad_gb_s": [1.0, 2.0],
    }
    records = [registry.condense(each, RUN, "loop") for each in compared(found, (16384, 1024, 0))]
    touched = next(record for record in records if "touched" in record.name)
    assert (touched.limit_value, touched.ratio, touched.target) == (800.0, 0.625, 0.65)
    rma = next(record for record in records if "RMA" in record.name)
    assert rma.value is None and rma.note == "MPI windows do not work here"
    registry.show_records(records)


def test_parallel_efficiency_is_that_of_the_paper() -> None:
    """The first column of table I of French et al. (2015)."""
    column = Strong("N_m = 1.1e5", [4, 16, 64], [5070.59, 1271.40, 322.24])
    assert [round(100 * e, 1) for e in column.efficiency] == [100.0, 99.7, 98.3]


def test_settings_have_the_type_of_their_default() -> None:
    chosen = registry.find("scaling").chosen(["making=0.5", "weak=3", "cases=64:16"])
    assert (chosen["making"], chosen["weak"], chosen["cases"]) == (0.5, 3, "64:16")
    for wrong, words in (
        ("weak=x", "a whole number"),
        ("making=x", "a number"),
        ("wek=1", "weak=..."),
        ("weak", "weak=..."),
    ):
        with pytest.raises(UserError, match=words):
            registry.find("scaling").chosen([wrong])


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("cases=8192", "pairs matrix side"),
        ("orders=first", "whole numbers"),
        ("cases=1000:100", "N is 1000"),
        ("orders=2", "0 or 1"),
    ],
)
def test_settings_that_make_no_sense_end_in_one_line(setting: str, words: str) -> None:
    done = bench("assembly", "--ranks", 2, "--set", setting)
    assert done.returncode == 2
    errors = [line for line in done.stderr.splitlines() if line.startswith("craton: error:")]
    assert len(errors) == 1 and words in errors[0]


@pytest.mark.parametrize(
    "name",
    [
        "assembly",
        "calls",
        "cholesky",
        "counters",
        "gram",
        "hazard",
        "lu",
        "memory",
        "multigrid",
        "overlap",
        "scaling",
        "scf",
    ],
)
def test_every_benchmark_explains_itself(name: str) -> None:
    done = bench(name, "--explain")
    assert (done.returncode, done.stderr) == (0, "")
    for option in registry.find(name).options:
        assert option in done.stdout


# ---------------------------------------------------------------------------------------------------- a run of each


def test_assembly_measures_every_contender(tmp_path: Path) -> None:
    records = records_of(
        tmp_path,
        "assembly",
        "--ranks",
        3,
        "--repeats",
        2,
        "--set",
        f"cases={N}:{n}",
        "--set",
        "updates=7",
        "--set",
        "orders=0",
    )
    for ranks in (2, 3):
        for name in ("direct", "messages", "MPI-3 RMA", "replicated"):
            record = ending_with(records, f": {name}, {ranks} ranks")
            assert record["value"] > 0 and record["ranks"] == ranks and record["limit_name"] == "plain loop"
            assert record["ratio_of_bests"] == pytest.approx(record["best"] / record["limit_best"])
    loop = with_name(records, "loop, own updates")
    assert loop["value"] == pytest.approx(loop["limit_value"])
    assert with_name(records, "loop, own columns")["value"] > 0
    assert with_name(records, "triad")["value"] > 0


@pytest.mark.skipif("Open MPI" not in _craton.mpi_library_version(), reason="switches off windows as Open MPI allows")
def test_without_mpi_windows_the_rma_version_says_so_and_the_others_are_measured(tmp_path: Path) -> None:
    sizes = (f"--set={text}" for text in (f"cases={N}:{n}", "updates=4", "orders=0"))
    windows_off = {"OMPI_MCA_osc": "^sm,rdma,pt2pt,ucx,monitoring,portals4"}
    records = records_of(tmp_path, "assembly", "--ranks", 2, "--repeats", 1, *sizes, **windows_off)
    rma = ending_with(records, ": MPI-3 RMA, 2 ranks")
    assert rma["value"] is None and rma["note"].startswith("MPI windows do not work here: MPI_Win_allocate says ")
    for name in ("direct", "messages", "replicated"):
        assert ending_with(records, f": {name}, 2 ranks")["value"] > 0


@pytest.mark.long
def test_overlap_measures_total_time_and_a_busy_target(tmp_path: Path) -> None:
    settings = [f"--set={text}" for text in ("N=1024", "n=128", "periods=3", "period=0.02", "busy=0.2")]
    records = records_of(tmp_path, "overlap", "--repeats", 2, *settings)
    for delivery in ("direct", "messages"):
        total = ending_with({name: each for name, each in records.items() if delivery in name}, ": total time")
        assert total["limit_value"] >= 0.9 * 3 * 0.02 and total["target"] == 1.03 and total["less_is_better"]
        longest = with_name(records, delivery, "longest update()")
        assert longest["value"] > 0 and longest["limit_value"] == 5.0
        # commit waits for the busy rank; the updates did not
        assert with_name(records, delivery, "until commit returned")["value"] > 0.15


def test_gram_adds_the_product_within_its_tolerance(tmp_path: Path) -> None:
    sizes = ("cells=40", "touched=20", "splines=10", "k=60", "rank=12", "updates=2")
    records = records_of(tmp_path, "gram", "--repeats", 2, *(f"--set={text}" for text in sizes))
    for delivery in ("direct", "messages"):
        error = with_name(records, delivery, "error of the compressed")
        assert error["reached"] is True and error["value"] <= 1.0
        compressed = with_name(records, delivery, "update_gram, compressed")
        assert compressed["target"] == 1.8 and compressed["limit_name"] == "ssyrk + update_symmetric"
        assert with_name(records, delivery, "sgemm + update")["value"] > 0


def test_cholesky_factors_both_storages_beside_lapack(tmp_path: Path) -> None:
    records = records_of(tmp_path, "cholesky", "--repeats", 1, "--set", "orders=300")
    for dtype in ("float64", "float32"):
        for kind in ("ConvergentMatrix", "SymmetricMatrix"):
            record = with_name(records, dtype, kind)
            assert record["value"] > 0 and record["limit_value"] > 0
    refused = bench("cholesky", "--set", "orders=many")
    assert refused.returncode == 2 and "whole numbers above 0" in refused.stderr


def test_lu_solves_in_place_and_of_an_array_beside_lapack(tmp_path: Path) -> None:
    records = records_of(tmp_path, "lu", "--repeats", 1, "--set", "order=150", "--set", "block=16")
    assert len(records) == 8
    for ranks in ("1 rank x", "2 ranks x"):
        for way in ("in place", "of a DistArray"):
            speed = with_name(records, f"N=150, {ranks}", f": {way}")
            assert speed["value"] > 0 and speed["limit_value"] > 0 and speed["ranks"] == int(ranks[0])
            left = with_name(records, f"N=150, {ranks}", f"residual, {way}")
            assert left["reached"] is True and 0 < left["value"] < 1
    refused = bench("lu", "--set", "order=0")
    assert refused.returncode == 2 and "order=0, block=64; allowed: whole numbers above 0" in refused.stderr


def test_stacked_windows_are_fewer_updates_and_send_less(tmp_path: Path) -> None:
    sizes = ("level=3", "radial=20", "paths=4", "windows=2", "samples=40")
    records = records_of(tmp_path, "stacks", "--repeats", 1, *(f"--set={text}" for text in sizes))
    names = ("a window an update", "stacked", "stacked, compressed")
    for delivery in ("direct", "messages"):
        there = {name: record for name, record in records.items() if name.startswith(delivery)}
        ways = [ending_with(there, f"parameters: {name}") for name in names]
        assert [way["note"].split()[0] for way in ways] == ["8", "4", "4"]  # updates
        assert all(way["value"] > 0 and way["limit_name"] == "a window an update" for way in ways)
        rows = [int(re.findall(r"(\d+) rows", way["note"])[0]) for way in ways]
        assert rows[0] == rows[1] == 4 * 2 * 40 > 1.5 * rows[2]
    sent = [ending_with(records, f": sent, {name}")["value"] for name in names]
    assert sent[0] > sent[1] > sent[2] > 0


def test_counters_count_what_was_added(tmp_path):
    records = records_of(tmp_path, "counters", "--ranks", 2, "--repeats", 2, "--set", "increments=2000")
    for delivery in ("direct", "messages"):
        assert with_name(records, delivery, "others")["value"] > 0
    assert records["direct: own"]["limit_name"] == "100 M/s"


def test_calls_from_python(tmp_path):
    records = records_of(tmp_path, "calls", "--ranks", 2, "--repeats", 2, "--set", "calls=200")
    assert set(records) == {"+= of 16 x 16", "+= beside NumPy", "update of 16 x 16"}
    assert all(record["value"] > 0 for record in records.values()) and records["+= of 16 x 16"]["unit"] == "us"


def test_memory_stays_within_its_bound(tmp_path: Path) -> None:
    records = records_of(tmp_path, "memory", "--set", "updates=200", "--set", "bound=4")
    ranks = [with_name(records, delivery, f"rank {rank}") for delivery in ("direct", "messages") for rank in range(4)]
    for record in ranks:
        assert record["reached"] is True, record
        assert record["value"] >= 16  # its own storage at least


def test_scaling_writes_tables_and_a_picture(tmp_path: Path) -> None:
    settings = [f"--set={text}" for text in (f"cases={N}:{n}", "strong=8", "weak=4", "making=0.005")]
    records = records_of(tmp_path, "scaling", "--ranks", 2, "--repeats", 1, *settings)
    for by in ("direct", "messages"):
        one, two = with_name(records, "strong", by, "T(1)"), with_name(records, "strong", by, "T(2)")
        assert one["value"] >= 4 * 0.005 and two["value"] >= 2 * 0.005  # two threads for each rank
        assert two["limit_value"] == pytest.approx(one["value"] / 2)
        weak = with_name(records, "weak", by, "T(2)")
        assert weak["value"] >= 2 * 0.005 and "copying" in weak["note"]
    assert with_name(records, "weak", "MPI-3 RMA", "T(2)")["ranks"] == 2
    assert (tmp_path / "records.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
@pytest.mark.skipif(
    not (importlib.util.find_spec("pyscf") and importlib.util.find_spec("basis_set_exchange")),
    reason="the packages pyscf and basis_set_exchange are not installed (pip install craton[chemistry])",
)
def test_scf_builds_what_pyscf_builds(tmp_path: Path) -> None:
    records = records_of(tmp_path, "scf", "--ranks", 2, "--repeats", 1, "--set", "carbons=1")
    pyscf = with_name(records, "PySCF, 2 threads")
    found = [float(word) for word in re.findall(r"[0-9.]+e[-+][0-9]+", pyscf["note"])]
    assert len(found) == 2 and max(found) < 1e-9
    for name in ("1 rank x 2 threads", "2 ranks x 1 thread"):
        assert ending_with(records, f": {name}")["limit_name"] == "PySCF"
        assert with_name(records, f"{name} / perfect")["target"] == pytest.approx(1 / 0.95)
    for way in ("stealing", "static", "counter", "busy victim, progress thread", "busy victim, no progress thread"):
        assert 0 <= ending_with(records, f"% of the build: {way}")["value"] <= 100
    assert with_name(records, "memory", "rank 1")["value"] > 0
    records = records_of(tmp_path, "scf", "--ranks", 3, "--repeats", 1, "--set", "carbons=1", "--set", "memory=1")
    assert len(records) == 4 and with_name(records, "3 ranks x 1 thread")["limit_name"] == ""


@pytest.mark.skipif(
    not (importlib.util.find_spec("pyscf") and importlib.util.find_spec("basis_set_exchange")),
    reason="the packages pyscf and basis_set_exchange are not installed (pip install craton[chemistry])",
)
def test_scf_says_what_a_whole_calculation_takes(tmp_path: Path) -> None:
    records = records_of(tmp_path, "scf", "--ranks", 2, "--repeats", 1, "--set", "carbons=1", "--set", "memory=2")
    iteration = with_name(records, "a whole calculation", "an iteration")
    assert 0 < iteration["value"] < 60 and re.match(r"converged after \d+: -40\.19\d+ hartree", iteration["note"])
    for rank in range(2):
        assert 0 < with_name(records, "memory grew", f"rank {rank}")["value"] < 500
    assert with_name(records, "density blocks", "fetched")["value"] > 0
    assert with_name(records, "density blocks", "spared")["value"] >= 0
    done = bench("scf", "--ranks", 1, "--repeats", 1, "--set", "carbons=1", "--set", "memory=3")
    assert done.returncode == 2 and "memory=3; allowed: 0, 1 or 2" in done.stderr


def test_alkanes_have_tetrahedral_angles() -> None:
    molecule = Molecule.from_xyz_text(alkane(4))
    assert "".join(molecule.symbols).count("C") == 4 and len(molecule.symbols) == 14
    at = molecule.positions_bohr
    apart = np.linalg.norm(at[:, None] - at, axis=2) * BOHR_ANGSTROM + np.eye(14) * 9
    for atom, symbol in enumerate(molecule.symbols):
        bonded = np.flatnonzero(apart[atom] < 1.6)
        assert len(bonded) == (4 if symbol == "C" else 1)
        if symbol != "C":
            assert apart[atom, bonded[0]] == pytest.approx(1.09)
            continue
        arms = at[bonded] - at[atom]
        arms /= np.linalg.norm(arms, axis=1)[:, None]
        assert arms @ arms.T == pytest.approx(np.full((4, 4), -1 / 3) + np.eye(4) * 4 / 3)


def test_tasks_take_as_long_among_many(tmp_path: Path) -> None:
    records = records_of(tmp_path, "tasks", "--repeats", 2, "--set", "tasks=1000", "--set", "starts=2")
    for order in ("pipeline", "sequence", "restart"):
        assert with_name(records, "1000 empty tasks", order)["value"] > 0
    for kind in ("forked", "forkserver", "program"):
        assert ending_with(records, f": {kind}")["repeats"] == 2


def test_checkpoints_in_one_level_and_in_two(tmp_path: Path) -> None:
    folders = [word for name in ("folder", "local") for word in ("--set", f"{name}={tmp_path / name}")]
    small = ("--set", "mib=4", "--set", "seconds=0.3")
    found = records_of(tmp_path, "checkpoint", "--ranks", 2, "--repeats", 2, *small, *folders)
    for name in ("lost, one level", "save, two levels", "drain"):
        assert with_name(found, "4 MiB on 2 ranks", name)["repeats"] == 2
    scaled = with_name(found, "1.34 TB on 512 nodes of 24 cores, every 10 min", "lost, two levels")
    assert (scaled["target"], scaled["limit_value"]) == (1.0, 5.0)
    left = [path for name in ("folder", "local") for path in (tmp_path / name).rglob("*") if path.is_file()]
    assert not left


def test_hazard_makes_and_measures_seismograms(tmp_path: Path) -> None:
    settings = ("variations=80", "ruptures=4", "rows=2", "columns=3", "duration=20", "directions=xy")
    chosen = [word for setting in settings for word in ("--set", setting)]
    found = records_of(tmp_path, "hazard", "--ranks", 2, "--repeats", 1, *chosen)
    records = {name.partition(": ")[2]: record for name, record in found.items()}
    assert records["sum over subfaults"]["ratio"] > 0
    for name in ("seismograms", "with measures"):
        assert records[name]["value"] > 0
        assert records[f"{name}: s per variation, all / a tenth"]["limit_value"] > 0
        assert records[f"{name}: memory, all beyond a tenth"]["limit_name"] == "bound of all"


@pytest.mark.parametrize(
    ("setting", "words"), [("directions=xx", "some of x, y and z"), ("variations=20", "at least 10 of each")]
)
def test_hazard_refuses_what_makes_no_sense(setting: str, words: str) -> None:
    done = bench("hazard", "--set", setting)
    assert done.returncode == 2 and words in done.stderr
