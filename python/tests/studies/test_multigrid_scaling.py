"""The scaling model: its counts beside cells enumerated one by one and beside what real solves send; its limits; its command."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from command_line import craton
from craton import UserError
from craton._launch import run_under_mpi
from craton_studies.multigrid import scaling, scaling_check
from craton_studies.multigrid import scaling_layout as layout
from craton_studies.multigrid import scaling_machine as machines
from craton_studies.multigrid import scaling_model as model
from craton_studies.multigrid import scaling_report as report
from craton_studies.multigrid.scaling_layout import Flows, Grid, Method

HPGMG = Method("7pt", "chebyshev", pairs=False)


@pytest.fixture(scope="module")
def edison() -> machines.Machine:
    return model.fitted(machines.edison())


def owners(along: int, ranks: int, order: str) -> dict[tuple[int, int, int], int]:
    """By (i, j, k), from places written in binary digits."""

    def place(box: tuple[int, int, int]) -> str:
        i, j, k = (format(n, "08b") for n in box)
        return "".join(a + b + c for a, b, c in zip(k, j, i, strict=True)) if order == "morton" else k + j + i

    boxes = sorted(product(range(along), repeat=3), key=place)
    return {box: ranks * position // len(boxes) for position, box in enumerate(boxes)}


def as_counts(flows: Flows) -> dict[tuple[int, int], tuple[int, int, int]]:
    columns = (flows.source, flows.target, flows.copies, flows.rows, flows.bytes)
    return {(a, b): (c, r, n) for a, b, c, r, n in zip(*(column.tolist() for column in columns), strict=True)}


CUBES = [(1, 2, 1), (2, 2, 1), (2, 4, 2), (2, 2, 8), (3, 3, 4), (4, 2, 5)]


@pytest.mark.parametrize("order", layout.ORDERS)
@pytest.mark.parametrize(("along", "side", "ranks"), CUBES)
@pytest.mark.parametrize(("most_off", "depth"), [(1, 1), (2, 2), (3, 1)])
def test_an_exchange_is_what_every_halo_cell_wants(along, side, ranks, order, most_off, depth):
    """For each box and each cell within `depth` of it: who owns it? Rows are cells that follow each other along i in one box."""
    owner = owners(along, ranks, order)
    expected: dict[tuple[int, int], list[set]] = defaultdict(lambda: [set(), set(), set()])
    for box in owner:
        low = [side * b for b in box]
        around = [range(-depth, side + depth)] * 3
        for offset in product(*around):
            off = sum(not 0 <= o < side for o in offset)
            cell = tuple(a + o for a, o in zip(low, offset, strict=True))
            other = tuple(c // side for c in cell)
            if not 1 <= off <= most_off or other not in owner:
                continue
            copies, rows, cells = expected[owner[other], owner[box]]
            copies.add((box, other))
            rows.add((box, other, cell[1:]))
            cells.add((box, cell))
    grid = Grid.dealt(along, side, ranks, order)
    found = as_counts(layout.exchange(grid, most_off, depth))
    assert found == {pair: (len(c), len(r), 8 * len(n)) for pair, (c, r, n) in expected.items()}


@pytest.mark.parametrize("order", layout.ORDERS)
@pytest.mark.parametrize(("ranks", "reach"), [(1, 0), (3, 1), (8, 2)])
def test_octants_go_between_the_owners_of_fine_and_coarse_boxes(order, ranks, reach):
    fine, coarse = Grid.dealt(4, 8, ranks, order), Grid.dealt(2, 8, ranks, order)
    of_fine, of_coarse = owners(4, ranks, order), owners(2, ranks, order)
    down, up = Counter(), Counter()
    for box, rank in of_fine.items():
        other = of_coarse[tuple(b // 2 for b in box)]
        down[rank, other] += 1
        up[other, rank] += 1
    wide = 4 + 2 * reach
    assert as_counts(layout.gather(fine, coarse)) == {pair: (n, 16 * n, 512 * n) for pair, n in down.items()}
    expected = {pair: (n, wide**2 * n, 8 * wide**3 * n) for pair, n in up.items()}
    assert as_counts(layout.spread(fine, coarse, reach)) == expected
    same = Grid.dealt(4, 4, ranks, order)
    assert len(layout.gather(fine, same).source) == 0


def test_long_copies_go_in_messages_of_half_a_mib():
    flows = Flows.of([(np.array([0]), np.array([1]), (2, 256, 256)), (np.array([0]), np.array([1]), (1, 256, 257))], 2)
    assert flows.messages.tolist() == [2 + 2]


COUNTED = """
import json
from craton._launch import main_guard
with main_guard():
    import craton
    from craton import _craton
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    world = craton.World(comm, {of_node})
    found = []
    for operator, smoother, along, side, order, step in {cases}:
        solver = _craton.MultigridSolver(world, (along,) * 3, side, order, operator, smoother, 0.0, 1.0, exchange=step)
        first = _craton.boxes_of_rank(world, (along * side,) * 3, side, order)[:, 0] // side
        solver.f_cycle()
        world.quiesce()
        before = world.stats()
        solver.f_cycle()
        world.quiesce()
        after = world.stats()
        counts = [after[name] - before[name] for name in ("messages_sent", "bytes_sent")]
        levels = [(box, boxes[0], busy) for box, boxes, busy in solver.levels]
        found.append((levels, comm.gather(counts), comm.gather(first.tolist())))
    if comm.rank == 0:
        print(json.dumps(found))
"""
CASES = [
    ("7pt", "chebyshev", 2, 32, "morton", "one-wait"),
    ("fv2", "jacobi", 4, 4, "morton", "one-wait"),
    ("fv4", "gsrb", 4, 8, "lexicographic", "one-wait"),
    *(("7pt", "gsrb", 2, 16, "lexicographic", step) for step in scaling_check.STEPS.values()),
]


@pytest.mark.parametrize(("ranks", "of_node"), [(1, 1), (2, 1), (3, 1), (4, 2)])
def test_real_solves_send_as_many_messages(tmp_path, capfd, edison, ranks, of_node):
    """Of every rank in an F-cycle, as the runtime counts them: copies, acknowledgements and signals. Whose boxes are whose, too."""
    (tmp_path / "program.py").write_text(COUNTED.format(of_node=of_node, cases=CASES))
    assert run_under_mpi([str(tmp_path / "program.py")], ranks, program=[sys.executable]) == 0
    real = json.loads(capfd.readouterr().out)
    machine = edison.with_figures(ranks_per_node=of_node, ranks_per_socket=of_node)
    rung_of = {step: rung for rung, step in scaling_check.STEPS.items()}
    for (operator, smoother, along, side, order, step), (levels, sent, firsts) in zip(CASES, real, strict=True):
        counted = model.Counted.of(along, side, ranks, order, Method(operator, smoother))
        assert levels == [[g.side, g.along, np.count_nonzero(g.cells_of_ranks)] for g in counted.levels]
        for rank, boxes in enumerate(firsts):
            assert all(counted.levels[0].owner[k, j, i] == rank for i, j, k in boxes)
        total = model.cycle(machine, counted, rung_of[step]).total
        messages = total.messages + total.acknowledgements + total.signals
        counts = np.array([count for count, _ in sent])
        assert counts.tolist() == messages.tolist()
        of_values = np.array([size for _, size in sent])  # headers are less than 160 bytes of each message or copy
        copies = model.cycle(machine, counted, "strided").total.messages
        headers = 160 * np.maximum(messages, messages + copies if step == "one-wait" else 0)
        assert np.all(total.bytes <= of_values) and np.all(of_values <= total.bytes + headers)


TABLE_II = {
    8: ("socket", "socket", "socket"),
    64: ("socket", "node", "router"),
    512: ("socket", "router", "rank-1"),
    4096: ("node", "rank-1", "rank-2"),
    32768: ("router", "rank-1", "rank-3"),
}


@pytest.mark.parametrize("ranks", TABLE_II)
def test_neighbours_are_as_far_as_in_table_ii(edison, ranks):
    """The farthest neighbour along i, j and k; what the paper calls PCIe is a router here."""
    along = round(ranks ** (1 / 3))
    owner = Grid.dealt(along, 128, ranks, "lexicographic").owner
    found = []
    for axis in (2, 1, 0):
        here, there = (np.take(owner, range(start, along - 1 + start), axis=axis).ravel() for start in (0, 1))
        found.append(machines.PLACES[edison.distance(here, there).max()])
    assert tuple(found) == TABLE_II[ranks]


def without_communication(machine: machines.Machine) -> machines.Machine:
    free = dict.fromkeys(machines.SECONDS, 0.0) | dict.fromkeys(machines.BANDWIDTHS, math.inf)
    return machine.with_figures(**free)


@pytest.mark.parametrize("rung", model.RUNGS)
def test_one_rank_sends_nothing(edison, rung):
    one = model.cycle(edison, model.Counted.of(1, 128, 1, "morton", HPGMG), rung)
    assert sum(one.communication.values()) == 0
    assert not one.total.messages.any() and not one.total.signals.any() and not one.total.bytes.any()


def test_a_perfect_network_costs_nothing(edison):
    """Weak scaling is perfect then but for further levels of one box of 8^3 on a rank: level l is visited l + 1 times."""
    found = model.scale(without_communication(edison), HPGMG, 512)
    [per_cell] = edison.seconds_per_cell.values()
    for rung, cycles in found.cycles.items():
        for at, one in enumerate(cycles):
            sides = [128, 64, 32, 16, *[8] * (1 + at), 4, 2, 1]
            expected = sum((level + 1) * side**3 * per_cell for level, side in enumerate(sides))
            assert one.share == 0
            assert one.seconds == pytest.approx(expected, rel=1e-12)
            assert 0.99 < found.efficiency(rung, at) <= 1


@pytest.mark.parametrize("of", ["edison", "two cores"])
def test_every_step_of_the_ladder_pays(edison, of):
    figures = machines.network_figures(None)
    machine = edison if of == "edison" else replace(edison, figures=figures)
    found = model.scale(machine, HPGMG, 512)
    natural = [rung for rung in model.RUNGS if rung != "bulk"]
    for at in range(1, 4):
        seconds = [found.cycles[rung][at].seconds for rung in natural]
        assert all(slower >= faster for slower, faster in zip(seconds, seconds[1:], strict=False)), seconds
    for rung in model.RUNGS:
        shares = [one.share for one in found.cycles[rung]]
        assert shares == sorted(shares)


@pytest.mark.parametrize("name", [*machines.SECONDS, *machines.BANDWIDTHS])
def test_slower_is_never_faster(edison, name):
    counted = model.Counted.of(4, 16, 64, "morton", Method())
    worse = 0.5 if name in machines.BANDWIDTHS else 2.0
    other = edison.with_figures(**{name: worse * edison[name]})
    for rung in model.RUNGS:
        assert model.cycle(other, counted, rung).seconds >= model.cycle(edison, counted, rung).seconds


def test_a_message_between_two_nodes_by_hand():
    """Two boxes of 8^3 on two nodes: one face of 64 rows of 8 bytes each way, by every rung."""
    fill = {name: 0.0 for name in machines.SECONDS} | dict.fromkeys(machines.COUNTS, 1.0)
    fill |= {
        "latency_router": 5.0,
        "latency_chassis": 5.0,
        "put_overhead": 0.25,
        "put_overhead_target": 0.125,
        "message_overhead": 2.0,
        "acknowledgement_overhead": 0.5,
        "signal_overhead": 0.75,
        "row": 0.01,
        "copy_bandwidth": 512.0,
        "node_bandwidth": 256.0,
        "global_bandwidth": 256.0,
        "nodes_per_router": 2.0,
        "nodes_per_chassis": 2.0,
        "nodes_per_group": 2.0,
    }
    figures = {name: machines.Figure(value, "") for name, value in fill.items()}
    machine = machines.Machine("by hand", figures, {8: 0.0}, "")
    parts = [(np.array([0]), np.array([1]), (1, 8, 8)), (np.array([1]), np.array([0]), (1, 8, 8))]
    phase = layout.Phase("exchange", "smoothing", 0, 1, Flows.of(parts, 2), "last")
    barrier = 5 + 2 * 0.75
    wait = 2 * 0.75 + 5
    packing, wire, there_and_back = 2 * (1 + 64 * 0.01), 2.0, 10.0
    message = packing + 2 * 2.0 + 2 * 0.5 + wire + there_and_back
    expected = {
        "baseline": 64 * (0.25 + 0.125 + 2 * 0.5) + wire + there_and_back + 2 * barrier,
        "shared memory": 64 * (0.25 + 0.125 + 2 * 0.5) + wire + there_and_back + 2 * barrier,
        "local loops": 64 * (0.25 + 0.125 + 2 * 0.5) + wire + there_and_back + 2 * barrier,
        "strided": message + 2 * barrier,
        "neighbours": message + 2 * wait,
        "one wait": packing + 2 * 2.0 + wire + 5,
        "bulk": packing + 2 * 2.0 + wire + 5,
    }
    for rung, seconds in expected.items():
        assert model.tally(machine, phase, 2, rung).seconds == pytest.approx(seconds), rung


def test_levels_and_parts_add_up(edison):
    found = model.scale(edison, Method("fv4", "gsrb"), 64, 32)
    for cycles in found.cycles.values():
        for one in cycles:
            assert sum(level[3] for level in one.by_level) == pytest.approx(sum(one.computing.values()))
            assert sum(level[4] for level in one.by_level) == pytest.approx(sum(one.communication.values()))
    one = found.cycles["one wait"][-1]
    lines = [line.split() for line in report.by_level_and_part(found).splitlines()[1:]]
    assert [line[1:5] for line in lines[: len(one.by_level)]] == [
        [str(number), *map(str, level[:3])] for number, level in enumerate(one.by_level)
    ]
    total = sum(float(line[-1]) + float(line[-2]) for line in lines[len(one.by_level) :])
    assert total == pytest.approx(1e3 * one.seconds, abs=0.01)


def test_fitted_to_two_figures_of_the_paper(edison):
    found = model.scale(edison, HPGMG, 8)
    assert found.cycles["bulk"][1].seconds == pytest.approx(0.348)
    assert found.cycles["baseline"][1].seconds == pytest.approx(1.44 * 0.348)


def test_the_papers_bulk_times_to_a_tenth():
    """Table I up to 4,096 ranks, of which only the first was fitted to."""
    edison = model.fitted(machines.edison())
    found = model.scale(edison, HPGMG, 4096)
    for p, one in zip(found.ranks[1:], found.cycles["bulk"][1:], strict=True):
        assert one.seconds == pytest.approx(model.TABLE_I[p], rel=0.1)


# ----------------------------------------------------------------------------------------------------------- the command


def test_command_prints_assumptions_and_the_paper(tmp_path):
    done = craton(
        "study", "scale", "--ranks-up-to", 64, "--output", tmp_path / "s.json", "--picture", tmp_path / "s.png"
    )
    assert (done.returncode, done.stderr) == (0, "")
    for name in machines.EVERYWHERE:
        [line] = [line for line in done.stdout.splitlines() if line.startswith(f"  {name} ")]
        assert len(line.split(";")[-1].strip()) > 3, "where it is from"
    for words in (
        "table I, UPC++ bulk, s       64    0.366",
        "figure 6, baseline / bulk    64    2.200",
        "fitted to this figure",
    ):
        assert words in done.stdout
    for rung in model.RUNGS:
        assert f"\n  {rung:14} {model.RUNGS[rung]}" in done.stdout
        assert f"\n  {rung:14} {1:8} " in done.stdout
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")
    written = json.loads((tmp_path / "s.json").read_text())
    assert {one["ranks"] for one in written["cycles"]} == {1, 8, 64}
    again = machines.from_file(tmp_path / "s.json")
    counted = model.Counted.of(4, 128, 64, "lexicographic", again.method)
    for rung in model.RUNGS:
        [stored] = [one["seconds"] for one in written["cycles"] if (one["ranks"], one["rung"]) == (64, rung)]
        assert model.cycle(again, counted, rung).seconds == pytest.approx(stored, rel=1e-12)


def test_sensitivity(edison):
    """Doubling the cost of a small put adds to baseline what the puts cost, and nothing to steps that make none."""
    found = model.scale(edison, HPGMG, 64)
    lines = report.sensitivity(found).splitlines()
    assert "on 64 ranks" in lines[0] and len(lines) == 1 + len(machines.SECONDS) + len(machines.BANDWIDTHS)
    [line] = [line for line in lines if line.startswith("  put_overhead ")]
    baseline = found.cycles["baseline"][2]
    share = baseline.total.messages.max() * edison["put_overhead"] / baseline.seconds
    assert float(line.split()[1].rstrip("%")) == pytest.approx(100 * share, rel=0.02)
    assert line.split()[2:] == ["+0.0%"] * 3


def test_this_machine_is_measured():
    said = report.report(scaling.by_model("this", "fv4", "gsrb", "morton", 4, 8))
    assert "fv4 gsrb: this machine" in said and "on one rank, best of 8 to 40, just now" in said
    assert "computing, 16^3 cells" in said and "computing, 2^3 cells" in said


def test_a_run_stands_beside_the_model():
    done = craton("study", "scale", "--ranks", 2, "--ranks-per-node", 1, "--log2-box", 4)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.partition("  ")[2].partition("  ") for line in done.stdout.splitlines()[3:]]
    assert [rung for rung, _, _ in rows] == list(scaling_check.STEPS)
    for rung, _, figures in rows:
        model_counts, counted = (part.split()[-2:] for part in figures.split(";"))
        assert model_counts == counted, rung
        assert all(float(figure.rstrip("%")) > 0 for figure in figures.split()[:5])


def benchmarks(**changes: float) -> dict[str, dict[str, list[dict[str, object]]]]:
    """As runtime_benchmark writes them, with the values of TWO_CORES."""
    files: dict[str, dict[str, list[dict[str, object]]]] = {
        "between_nodes": {"figures": []},
        "on_node": {"figures": []},
    }
    for name, (where, operation, size, unit) in machines.WANTED.items():
        value = changes.get(name, machines.TWO_CORES[name])
        median = 1 / value if unit == "million/s" else value
        row = {"operation": operation, "by": "craton", "bytes": size, "unit": unit, "median": median}
        files[where]["figures"] += [row | {"by": "mpi", "median": -1.0}, row]
    return files


def test_a_network_measured_elsewhere(tmp_path):
    (tmp_path / "n.json").write_text(json.dumps(benchmarks()))
    expected = {name: figure.value for name, figure in machines.network_figures(None).items()}
    found = machines.network_figures(tmp_path / "n.json")
    assert {name: figure.value for name, figure in found.items()} == pytest.approx(expected)
    assert set(found) == set(machines.EVERYWHERE)
    assert all("n.json" in figure.source for name, figure in found.items() if name in ("put_overhead", "row", "flag"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no JSON"),
        ("[]", "no '"),
        ('{"between_nodes": {}, "on_node": {}}', "no 'message one-way' of 8 bytes in 'between_nodes'; allowed"),
        (
            json.dumps(benchmarks(sync_on_node=-1.0)),
            "two neighbours' of 0 bytes in 'on_node' = -1.0; allowed: more than 0",
        ),
    ],
)
def test_bad_networks(tmp_path, text, words):
    (tmp_path / "n.json").write_text(text)
    with pytest.raises(UserError, match=words):
        machines.network_figures(tmp_path / "n.json")


def machine_file(**changes: object) -> str:
    given = machines.edison().to_dict()
    for name, value in changes.items():
        if name in given:
            given[name] = value
        elif value is None:
            del given["figures"][name]
        else:
            given["figures"][name] = value
    return json.dumps(given)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing", "no JSON"),
        ("[1]", "no machine; allowed"),
        ('{"figures": {}}', "no machine; allowed"),
        (machine_file(row=None), "figure 'row' is missing; allowed"),
        (machine_file(rows=1.0), "figure 'rows' is unknown; allowed"),
        (machine_file(row=-1.0), "row = -1.0; allowed: a number of at least 0"),
        (machine_file(row=True), "row = True; allowed"),
        (machine_file(row=float("nan")), "row = nan; allowed"),
        (machine_file(copy_bandwidth=0), "copy_bandwidth = 0; allowed: more than 0"),
        (machine_file(ranks_per_node=1.5), "ranks_per_node = 1.5; allowed: a whole number"),
        (machine_file(seconds_per_cell={}), "seconds_per_cell of"),
        (machine_file(seconds_per_cell={"128": -1}), "seconds_per_cell 128 = -1; allowed"),
        (machine_file(seconds_per_cell={"x": 1}), "no machine; allowed"),
        (machine_file(operator="fv3"), "no machine; allowed"),
    ],
)
def test_bad_machines(tmp_path, text, words):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(UserError, match=words):
        machines.from_file(tmp_path / "m.json")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ranks-up-to", "0"], ["--ranks-up-to", "'0'", "at least 1"]),
        (["--ranks-up-to", "300000"], ["--ranks-up-to 300000", "allowed: 1 to 262144"]),
        (["--machine", "hopper"], ["--machine hopper", "allowed: edison, this, or a .json file"]),
        (["--machine", "none.json"], ["none.json", "allowed: a JSON file"]),
        (["--network", "none.json"], ["none.json", "allowed: a JSON file"]),
        (["--operator", "fv3"], ["--operator", "'fv3'", "7pt, fv2, fv4"]),
        (["--smoother", "sor"], ["--smoother", "'sor'", "chebyshev"]),
        (["--order", "hilbert"], ["--order", "'hilbert'", "lexicographic, morton"]),
        (["--log2-box", "2"], ["--log2-box 2", "allowed: 3 to 9"]),
        (["--log2-box", "10"], ["--log2-box 10", "allowed: 3 to 9"]),
        (
            ["--ranks-up-to", "8", "--picture", "/nowhere/p.png"],
            ["--picture /nowhere/p.png: no such folder", "allowed"],
        ),
        (["--ranks-up-to", "8", "--picture", "p.text"], ["picture p.text: cannot be written", "allowed: a .png file"]),
        (
            ["--ranks-up-to", "8", "--output", "/nowhere/f.json"],
            ["--output /nowhere/f.json: no such folder", "allowed"],
        ),
        (["--ranks-up-to", "8", "--output", "."], ["--output .: ", "allowed: a file"]),
        (["--ranks", "2", "--output", "f.json"], ["--output beside a real run", "allowed: of the model alone"]),
        (["--ranks", "1", "--picture", "p.png"], ["--picture beside a real run", "allowed: of the model alone"]),
        (["--ranks", "2", "--sensitivity"], ["--sensitivity beside a real run", "allowed: of the model alone"]),
    ],
)
def test_wrong_command_lines(arguments, words):
    done = craton("study", "scale", *arguments)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("craton: error: ")
    for word in words:
        assert word in line


def test_order_that_there_is_not():
    with pytest.raises(UserError, match="order 'peano'; allowed: lexicographic, morton"):
        Grid.dealt(2, 8, 1, "peano")


def test_help_has_examples():
    done = craton("study", "scale", "--help")
    assert done.returncode == 0
    for word in ("--ranks-up-to", "--machine", "--picture", "craton study scale --picture"):
        assert word in done.stdout
