"""craton study ladder, craton bench multigrid, and what measures both."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from command_line import craton
from craton import UserError, World, _craton, multigrid
from craton_studies.bench.multigrid import bytes_per_unknown, problems
from craton_studies.multigrid.ladder import BULK, NATURAL, RUNGS, Column, climb, draw, places, table
from craton_studies.multigrid.timing import Contender, rates_in_turn
from mpi4py import MPI


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("craton: error:")]


def test_ladder_measures_every_rung_on_nodes_and_between_them(tmp_path: Path) -> None:
    picture, file = tmp_path / "ladder.png", tmp_path / "ladder.json"
    done = craton("study", "ladder", 3, 4, "--ranks", 2, "--repeats", 2, "--picture", picture, "--output", file)
    assert done.returncode == 0, done.stderr
    for rung in RUNGS:
        assert rung.name in done.stdout
    assert "2 ranks" in done.stdout and "2 virtual nodes" in done.stdout
    found = json.loads(file.read_text())
    assert [(column["ranks"], column["ranks_per_node"]) for column in found["columns"]] == [(2, 0), (2, 1)]
    for column in found["columns"]:
        assert set(column["million_unknowns_per_s"]) == {rung.name for rung in RUNGS}
        assert all(len(rates) == 8 and min(rates) > 0 for rates in column["million_unknowns_per_s"].values())
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_columns_are_powers_of_two_and_the_job() -> None:
    assert places(2, 0) == [(2, 0), (2, 1)]
    assert places(4, 0) == [(2, 0), (4, 0), (2, 1), (4, 1)]
    assert places(6, 0) == [(2, 0), (4, 0), (6, 0), (2, 1), (4, 1), (6, 1)]
    assert places(4, 2) == [(2, 2), (4, 2)]


def test_the_table_compares_with_packed_buffers() -> None:
    from rich.console import Console

    rates = {rung.name: [1.0, 2.0] for rung in RUNGS} | {BULK: [4.0, 3.0]}
    column = Column(4, 2, rates)
    assert (column.best(NATURAL), column.median(BULK)) == (2.0, 3.5)
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(table([column], "title"))
    text = console.export_text()
    assert "2 virtual nodes, 4 ranks" in text and "2.0 (1.5) 0.50" in text and "4.0 (3.5) 1.00" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("3", "4", "--ranks", 1), "1 rank; allowed: at least 2"),
        (("4", "3", "--ranks", 2), "LOG2_CELLS = 3 with LOG2_BOX = 4; allowed: 4 to 11"),
        (("6", "100", "--ranks", 2), "LOG2_CELLS = 100 with LOG2_BOX = 6; allowed: 6 to 11"),
        (("5", "15", "--ranks", 2), "LOG2_CELLS = 15 with LOG2_BOX = 5; allowed: 5 to 11"),
        (("6", "2000000000", "--ranks", 2), "LOG2_CELLS = 2000000000 with LOG2_BOX = 6; allowed: 6 to 11"),
        (("1", "4", "--ranks", 2), "LOG2_BOX = 1; allowed: 2 to 9"),
        (("10", "11", "--ranks", 2), "LOG2_BOX = 10; allowed: 2 to 9"),
        (("4", "4", "--ranks", 2), "on 2 ranks"),
        (("3", "4", "--ranks", 2, "--operator", "9pt"), "7pt, fv2, fv4"),
        (("3", "4", "--ranks", 2, "--picture", "/nowhere/ladder.png"), "no such folder /nowhere"),
    ],
)
def test_ladder_refuses_what_cannot_be(arguments: tuple[object, ...], words: str) -> None:
    done = craton("study", "ladder", *arguments)
    assert done.returncode == 2
    assert len(errors(done)) == 1 and words in errors(done)[0]


def test_climbing_refuses_what_cannot_be() -> None:
    with pytest.raises(UserError, match=r"study ladder: 10\^3 cells in boxes of 4\^3 on 1 ranks"):
        climb(MPI.COMM_SELF, 10, 4)
    with pytest.raises(UserError, match="1 rank; allowed: at least 2"):
        climb(MPI.COMM_SELF, 8, 4)


def test_the_ladder_is_drawn_without_a_warning(tmp_path: Path) -> None:
    rates = {rung.name: [1.0, 2.0] for rung in RUNGS}
    columns = [Column(2, 0, rates), Column(4, 0, rates), Column(2, 1, rates)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(tmp_path / "ladder.png", columns, "title")
    assert (tmp_path / "ladder.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["none/ladder.png", "ladder.text"])
def test_pictures_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=rf"picture .*{name}: cannot be written: .*; allowed: a \.png file"):
        draw(tmp_path / name, [Column(2, 0, {rung.name: [1.0] for rung in RUNGS})], "title")


def test_ladder_says_where_it_cannot_write(tmp_path: Path) -> None:
    file = tmp_path / "ladder.json"
    file.mkdir()
    done = craton("study", "ladder", 3, 4, "--ranks", 2, "--repeats", 1, "--output", file)
    assert done.returncode == 2
    assert len(errors(done)) == 1 and str(file) in errors(done)[0]


def test_bench_has_the_triad_and_threads_beside_ranks(tmp_path: Path) -> None:
    file = tmp_path / "records.json"
    settings = ["--set", "cells=16", "--set", "box=8", "--set", "cases=7pt:chebyshev,fv4:gsrb", "--set", "cycles=2"]
    done = craton("bench", "multigrid", "--ranks", 2, "--repeats", 2, *settings, "--output", file)
    assert done.returncode == 0, done.stderr
    records = json.loads(file.read_text())
    assert len(records) == 12
    for name, package, cycles in (
        ("hypre", "libhypre-dev", "V-cycles"),
        ("PETSc", "libpetsc-real", "preconditioned steps"),
    ):
        [peer] = [record for record in records if name in record["name"]]
        if peer["value"] is None:
            assert f"apt-get install {package}" in peer["note"]
        else:
            assert peer["limit_value"] > 0
            assert f"{cycles} to a relative residual" in peer["note"]
    by_name = {record["name"].split(": ")[1]: record for record in records[:5]}
    ours = by_name["2 ranks"]
    assert (ours["target"], ours["limit_name"], ours["repeats"]) == (1.3, "triad, GB/s", 4)
    assert ours["ratio_of_bests"] == pytest.approx(ours["best"] / ours["limit_best"])
    threads = by_name["1 rank x 2 threads / 2 ranks"]
    assert threads["target"] == 0.85 and threads["limit_value"] == ours["value"]


@pytest.mark.parametrize(
    ("setting", "words"),
    [("box=3", "a multiple of boxes"), ("cases=7pt", "pairs operator:smoother"), ("cases=7pt:sor", "'sor'")],
)
def test_bench_refuses_what_cannot_be(setting: str, words: str) -> None:
    done = craton("bench", "multigrid", "--ranks", 2, "--set", setting)
    assert done.returncode == 2
    assert len(errors(done)) == 1 and words in errors(done)[0]


def test_problems_are_pairs() -> None:
    assert problems("7pt:gsrb,fv4:jacobi") == [("7pt", "gsrb"), ("fv4", "jacobi")]
    with pytest.raises(UserError, match="pairs operator:smoother"):
        problems("7pt:gsrb:4")


def test_bytes_are_those_of_a_count_by_hand() -> None:
    # fv4: 12 half sweeps of 7 words, 6 for the residual, 1.125 down and 2.125 up, in a V-cycle; 3.25 more in an F-cycle
    assert bytes_per_unknown("fv4", "gsrb") == pytest.approx(8 * ((84 + 6 + 3.25) * 64 / 49 + 3.25 * 8 / 7))
    # 7pt: 8 Chebyshev steps, two in 9 words
    assert bytes_per_unknown("7pt", "chebyshev") == pytest.approx(8 * ((36 + 6 + 3.25) * 64 / 49 + 3.25 * 8 / 7))
    assert bytes_per_unknown("fv4", "chebyshev") > bytes_per_unknown("fv2", "chebyshev")


def test_contenders_take_turns_on_one_problem() -> None:
    contenders = [Contender("one", 1), Contender("two threads", 1, 2), Contender("packed", 1, exchange="bulk")]
    found = rates_in_turn(MPI.COMM_SELF, contenders, "fv4", "gsrb", 16, 8, 3, 2, triad_threads=1)
    assert {name: len(rates) for name, rates in found.rates.items()} == {"one": 6, "two threads": 6, "packed": 6}
    assert len(found.triad_gb_s) == 3 and min(found.triad_gb_s) > 0


def test_threads_do_not_show_in_a_single_bit() -> None:
    world = World(MPI.COMM_SELF)
    f = np.random.default_rng(5).normal(size=(16, 16, 16))
    one, three = (multigrid.Solver(world, 16, 4, operator="fv2", threads=threads).solve(f) for threads in (1, 3))
    np.testing.assert_array_equal(one.u, three.u)
    assert one.residuals == three.residuals
    with pytest.raises(UserError, match="0 threads; allowed: at least 1"):
        multigrid.Solver(world, 16, 4, threads=0)


def test_memory_rates_want_a_thread() -> None:
    with pytest.raises(UserError, match="0 threads; allowed: at least 1"):
        _craton.memory_rates(0)


def test_exchange_takes_a_third_of_the_lines_at_most() -> None:
    done = subprocess.run(
        [sys.executable, Path(__file__).parents[3] / "tools/exchange_lines"], capture_output=True, text=True, check=True
    )
    found = re.findall(r"^(\S.*?) {2,}([0-9.]+)$", done.stdout, flags=re.M)
    (_, natural), (_, packed), (_, ratio), (_, library) = found
    assert 3 * int(natural) <= int(packed) and float(ratio) <= 0.34
    assert int(natural) > 20 and int(library) > 100  # something is counted
