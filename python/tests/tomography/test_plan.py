"""`craton tomography plan`: counts are those of the run, times and bytes follow from them, and a run says what it took."""

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI")

from craton import UserError
from craton._launch import run_under_mpi, usable_cores
from craton.commands import main as cli
from craton.runs import process_memory
from craton.tomography import start as inversion
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.context import Phases
from craton.tomography.inversion.step import StepSearch
from craton.tomography.model.sphere import unit_vectors
from craton.tomography.plan import calibration, profiles
from craton.tomography.plan import forecast as planning
from craton.tomography.plan import work as plan_work
from craton.tomography.plan.calibration import calibrate_alone, calibrate_on
from craton.tomography.plan.estimate import (
    AFTER,
    BEFORE,
    CHUNK_BYTES,
    HEAP_KEPT_BYTES,
    MEETINGS,
    PANEL_ROWS,
    PHASES,
    REFINEMENTS,
)
from craton.tomography.plan.forecast import plan_of_run
from craton.tomography.plan.machine import Machine, load_machine, save_machine
from craton.tomography.prior import make

ROUND = Machine(
    name="round numbers",
    cores_per_node=4,
    memory_per_node_gib=8.0,
    measured_ranks=4,
    panel_ns_per_term=1.0,
    panel_ns_per_radial_term=0.5,
    panel_ns_per_element=2.0,
    seismogram_ns_per_term=3.0,
    product_gflops=10.0,
    update_ns_per_element=4.0,
    prior_ns_per_element=2.0,
    prior_ns_per_knot3=5.0,
    cholesky_gflops=20.0,
    cholesky_half_order=0.0,
    memory_gb_s=10.0,
    first_touch_gb_s=1.0,
    disk_gb_s=0.5,
    file_s=0.01,
    network_gb_s=5.0,
    network_latency_us=0.0,
    message_us=0.0,
    jitter=0.0,
    start_s=7.0,
    report_s=11.0,
    process_mib=100.0,
)


@pytest.fixture(scope="module")
def counted(small_config):
    return plan_work.count_work(small_config.replaced("paths", maximum=60))


def phases(plan):
    return {phase.name: phase for phase in plan.phases + plan.parts}


def test_touched_parameters_are_counted(counted):
    """Knots whose spline is not zero somewhere on the arc: found by walking along it.

    One that is only grazed has a weight of nearly zero, and may be left out.
    """
    work, geometry = counted
    table, basis = geometry.table, geometry.forward.basis
    knots = unit_vectors(np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))
    touched = []
    for path in range(len(table)):
        ends = []
        for catalogue, row in ((table.events, table.event[path]), (table.stations, table.station[path])):
            geocentric = np.degrees(
                np.arctan((1 - 1 / 298.257223563) ** 2 * np.tan(np.radians(catalogue.latitude_deg[row])))
            )
            ends.append(unit_vectors(np.array([geocentric]), np.array([catalogue.longitude_deg[row]]))[0])
        distance = np.arccos(ends[0] @ ends[1])
        t = np.linspace(0.0, 1.0, 4001)[:, None]
        arc = (np.sin((1 - t) * distance) * ends[0] + np.sin(t * distance) * ends[1]) / np.sin(distance)
        nearest = np.arccos(np.clip((arc @ knots.T).max(axis=0), -1, 1))
        touched.append([np.count_nonzero(nearest < part * basis.spacing_rad) * basis.n_radial for part in (1.9, 2.0)])
    assert work.counted_paths == work.paths == 60
    k, n = table.samples, np.array(touched).T
    low, high = ([m.mean(), np.sum(m * (m + 1) / 2)] for m in n)
    found = (work.touched, work.elements_of_products)
    assert np.all(np.array(low) <= found) and np.all(found <= np.array(high))
    assert np.all(np.array(low) > 0.85 * np.array(high))
    assert work.samples == k.sum() and work.unknowns == 972
    # Kronecker products of factors with a column for each of six radial splines.
    assert (work.updates, work.rows) == (60, k.sum())
    assert (work.elements_of_panels, work.product_flop) == (6 * k.sum(), 6 * 7 * k.sum())


def windows(table, count):
    """The same paths with so many windows each, one component after the other."""
    times = np.tile(np.arange(count), len(table))
    repeated = {name: np.repeat(getattr(table, name), count) for name in ("event", "station", "samples")}
    t_first_s = np.repeat(table.t_first_s, count) + 100.0 * times
    labels = {name: tuple(np.repeat(getattr(table, name), count)) for name in ("component", "arc", "phase")}
    return dataclasses.replace(table, t_first_s=t_first_s, **repeated, **labels)


def test_windows_of_a_path_are_one_update(counted):
    _, geometry = counted
    table, forward = geometry.table, geometry.forward
    three = windows(table, 3)
    k, k3 = table.samples.astype(float), three.samples.astype(float)
    n = np.array([len(geometry.paths[i].lateral_knots) for i in range(len(table))]) * 6.0
    once = plan_work.products_of(table, geometry.paths, forward, True, k, 4)
    thrice = plan_work.products_of(three, three.path_set(forward), forward, True, k3, 4)
    assert (len(once.touched), len(thrice.touched)) == (60, 60)
    assert thrice.elements == once.elements == np.sum(n * (n + 1) / 2)
    assert once.flop == k @ (n * (n + 1)) and thrice.flop == pytest.approx(3 * once.flop)
    assert thrice.panel_elements == 3 * once.panel_elements == 3 * (k @ n)
    assert once.panel_bytes < thrice.panel_bytes < 3 * once.panel_bytes  # of one window at a time as it is computed
    third = plan_work.products_of(three, three.path_set(forward), forward, True, k3 / 3, 4)
    assert np.all(third.rows == thrice.rows / 3)
    # Compressing costs n k^2 + 2 n k r of each window.
    assert third.flop == pytest.approx(thrice.flop / 3 + 3 * np.sum(n * k * (k + 2 * k / 3)))
    factors = plan_work.products_of(three, three.path_set(forward), forward, False, k3, 4)
    assert factors.elements == once.elements and factors.flop == 42 * k3.sum()
    # The other arc touches other parameters.
    arcs = dataclasses.replace(three, arc=("minor", "minor", "major") * 60)
    assert len(np.unique(plan_work.stacks_of(arcs))) == 120
    some = plan_work.some_paths(three, 100, 1)
    assert len(some) == 99 and np.all(np.bincount(plan_work.stacks_of(some)) == 3)


@pytest.mark.parametrize(("window_s", "interval_s"), [(600.0, 10.0), (1000.0, 10.0), (2500.0, 20.0)])
@pytest.mark.parametrize("compress", [1e-2, 1e-4])
def test_the_numerical_rank_is_that_of_waves_in_a_band(window_s, interval_s, compress):
    random = np.random.default_rng(3)
    omega = 2 * np.pi * random.uniform(1 / 400, 1 / 80, 1000)
    t = np.arange(0, window_s, interval_s)[:, None]
    singular = np.linalg.svd(np.cos(omega * t + random.uniform(0, 2 * np.pi, 1000)), compute_uv=False)
    found = np.count_nonzero(singular > compress * singular[0])
    assert plan_work.numerical_rank(np.array([window_s]), 1 / 80 - 1 / 400, compress)[0] == pytest.approx(
        found, rel=0.15
    )


def test_rows_of_coupled_panels(counted, small_config):
    _, geometry = counted
    n = np.array([100.0, 1000.0, 4000.0])
    table = dataclasses.replace(
        geometry.table.rows(np.arange(60) < 3), samples=np.array([60, 60, 150]), sample_interval_s=10.0
    )
    off = plan_work.rows_after_compression(table, n, small_config.replaced("assembly", compress=0.0))
    assert list(off) == [60, 60, 150]
    rows = plan_work.rows_after_compression(table, n, small_config)
    assert rows[0] == 60  # of a panel as small as its product
    assert np.all(rows[1:] < 0.5 * table.samples[1:])
    loose = plan_work.rows_after_compression(table, n, small_config.replaced("assembly", compress=0.01))
    assert np.all(loose[1:] < rows[1:])


def test_fewer_rows_are_sent_where_owners_multiply(counted):
    work, geometry = counted
    touched, few, many = np.full(50, 2000.0), np.full(50, 60.0), np.full(50, 450.0)
    sent = []
    for rows in (few, many):
        products = dataclasses.replace(geometry.products, touched=touched, rows=rows)
        changed = dataclasses.replace(geometry, products=products)
        for coupled in (True, False):
            plan = planning.predict(dataclasses.replace(work, coupled=coupled), changed, ROUND, 4, 1)
            sent.append(phases(plan)["assemble"].sent_bytes)
    # A quarter of the rows and columns is 1000 x 1000 / 2 elements, or 2000 columns of 60 samples.
    gradients = 3 * 0.75 * 8 * work.updates * work.touched
    assert sent[0] - gradients == pytest.approx((sent[1] - gradients) * 2000 * 60 / 500000)
    assert sent[2] == sent[3] == sent[1]


def test_a_sample_of_paths_stands_for_all(small_config, monkeypatch):
    config = small_config.replaced("paths", maximum=1000)
    exact, _ = plan_work.count_work(config)
    monkeypatch.setattr(plan_work, "EXACT_PATHS", 250)
    sampled, _ = plan_work.count_work(config)
    assert (exact.counted_paths, sampled.counted_paths, sampled.paths) == (1000, 250, 1000)
    assert sampled.elements_of_products != exact.elements_of_products
    assert sampled.elements_of_products == pytest.approx(exact.elements_of_products, rel=0.1)
    assert sampled.samples == exact.samples


def test_times_follow_from_counts_and_rates(counted):
    work, geometry = counted
    alone = planning.predict(work, geometry, ROUND, 1)
    found = phases(alone)
    terms = work.samples * work.modes_used
    assert found["panels"].seconds == pytest.approx(3e-9 * ((1 + 0.5 * 6) * terms + 2 * work.elements_of_panels))
    assert found["products"].seconds == pytest.approx(3e-10 * work.product_flop)
    assert found["updates"].seconds == pytest.approx(3 * 4e-9 * work.elements_of_products)
    assert found["prior"].seconds == pytest.approx(5e-9 * 162**3)
    packed = 990.0 * 492.0  # 16 and 17 blocks of 30, and one between the triangles
    passes = 8 + REFINEMENTS * 12  # bytes of an element: of the copy, and of Hessian and factor at each refinement
    assert found["factorise"].seconds == pytest.approx(3 * (972**3 / 3 / 20e9 + 2e-9 * packed + passes * packed / 10e9))
    assert found["assemble"].sent_bytes == 0.0 and alone.nodes == 1
    parts = sum(part.seconds for part in alone.parts)
    assert found["assemble"].seconds == pytest.approx(parts + 3 * 4 * packed / 10e9 + 4 * packed / 1e9)
    assert alone.seconds == pytest.approx(sum(phase.seconds for phase in alone.phases))


def test_anisotropy_has_knots_of_its_own(small_config, tmp_path, monkeypatch):
    """Each parameter's prior by its own knots; a machine is measured on both."""
    config = small_config.replaced("basis", xi=True, xi_level=1, xi_depths_km=(0.0, 400.0, 1000.0, 1900.0, 2891.0))
    config = config.replaced("paths", maximum=60).replaced("run", directory=str(tmp_path))
    work, geometry = plan_work.count_work(config)
    assert (work.lateral, work.xi_lateral, work.structure) == (162, 12, config.basis.unknowns)
    alone = phases(planning.predict(work, geometry, ROUND, 1))
    assert alone["prior"].seconds == pytest.approx(5e-9 * (162**3 + 12**3))
    monkeypatch.setattr(make, "KNOTS_ON_EACH_NODE", 100)
    assert plan_work.count_work(config)[0].prior_dealt == (True, False)
    assert plan_work.count_work(config.replaced("inversion", reproducible=True, precision="float64"))[
        0
    ].prior_dealt == (True, False)
    machine = calibrate_alone(config, geometry, 100 << 20)
    assert 0.1 < machine.product_gflops < 1000 and machine.panel_ns_per_term > 0


def prior_phase(work, geometry, ranks, per_node=1, **settings):
    """Its forecast, and that of a factorisation."""
    found = phases(planning.predict(dataclasses.replace(work, **settings), geometry, ROUND, ranks, per_node))
    return found["prior"], found["factorise"]


def test_a_dealt_prior_takes_less_of_a_rank_the_more_there_are(counted):
    """Each form by hand, on nodes of one rank: a triangle of each length, in one order two."""
    work, geometry = counted
    knots = 10242
    square, flop_s = 8.0 * knots**2, knots**3 / 20e9
    many = dataclasses.replace(work, lateral=knots, structure=knots * work.radial, solve_bytes=8)
    none = prior_phase(many, geometry, 4, prior_kind="none")[0].rank_bytes
    for ranks in (4, 16):
        for lengths, ordered, kept, meanwhile, seconds in (
            (1, False, 0.5, 0.0, flop_s),
            (1, True, 1.0, 0.5, flop_s / 3.0 + 8.0 * knots**3 / 10e9),
            (3, False, 1.5, 3.0, 27.0 * flop_s),
        ):
            setting = {"prior_lengths": (lengths,), "reproducible": ordered}
            made, solved = prior_phase(many, geometry, ranks, prior_dealt=(True,), **setting)
            piece = 4.0 * min(CHUNK_BYTES, 0.5 * square / ranks)
            assert made.rank_bytes - none == pytest.approx((kept + meanwhile) * square / ranks + piece, rel=1e-6)
            assert made.seconds == pytest.approx(seconds / ranks)
            if lengths > 1:
                one_length = prior_phase(many, geometry, ranks, prior_dealt=(True,), prior_lengths=(1,))[1]
                more = solved.seconds - one_length.seconds
                assert more == pytest.approx(work.iterations * 3 * 4 * flop_s / ranks)
    whole = prior_phase(many, geometry, 4, prior_dealt=(False,), prior_lengths=(3,))[0]
    assert whole.rank_bytes - none == pytest.approx((3.0 + 6.0) * square)


def test_a_matern_prior_of_many_knots_takes_no_square_of_them(counted):
    work, geometry = counted
    many = dataclasses.replace(work, lateral=40962, structure=40962 * work.radial)
    none = prior_phase(many, geometry, 4, prior_kind="none")[0].rank_bytes
    for ranks in (4, 64):
        phase = prior_phase(many, geometry, ranks, prior_kind="matern")[0]
        made = phase.rank_bytes - none
        assert phase.seconds == 0.0  # no inverse
        assert made == pytest.approx(5500.0 * 40962 + 12.0 * 64 * many.structure / ranks)
        assert made < 0.05 * 8.0 * 40962**2
    few = prior_phase(work, geometry, 1, prior_kind="matern")[0].rank_bytes
    few -= prior_phase(work, geometry, 1, prior_kind="none")[0].rank_bytes
    assert few == pytest.approx(24.0 * 162**2 + 12.0 * 64 * work.structure)


def test_lengths_of_a_prior_are_counted(small_config):
    by_depth = small_config.replaced("prior", correlation_km=((0.0, 1000.0), (2891.0, 2000.0)))
    for config, lengths in ((small_config, (1,)), (by_depth, (6,))):
        assert plan_work.count_work(config.replaced("paths", maximum=20))[0].prior_lengths == lengths


def test_a_solution_in_one_order_takes_copies(counted):
    work, geometry = counted
    ordered = dataclasses.replace(work, reproducible=True, element_bytes=8)
    plain = dataclasses.replace(ordered, reproducible=False)
    for ranks in (2, 8):
        ours, usual = (planning.predict(each, geometry, ROUND, ranks, ranks) for each in (ordered, plain))
        copy = max(work.solve_bytes, 8 * work.refined) * work.unknowns * (work.unknowns + 256) / 2
        more = phases(ours)["factorise"].node_bytes - phases(usual)["factorise"].node_bytes
        assert more == pytest.approx(copy - ranks * usual.panel_bytes, rel=1e-6)
    late = dataclasses.replace(ROUND, network_latency_us=1.0)
    away = [planning.predict(each, geometry, late, 8, 1).factorise_costs["latency"] for each in (ordered, plain)]
    meetings = (2 + 4 * (1 + REFINEMENTS * work.refined)) / 256
    assert away[0] / away[1] == pytest.approx(meetings / (MEETINGS / PANEL_ROWS))


def test_more_ranks_share_the_work_and_more_nodes_send(counted):
    work, geometry = counted
    work = dataclasses.replace(work, paths=100000, subset=1)
    one, four, two_nodes, crowded = (
        planning.predict(work, geometry, ROUND, ranks, per_node) for ranks, per_node in ((1, 0), (4, 0), (8, 4), (8, 8))
    )
    seconds = [phases(plan)["products"].seconds for plan in (one, four, two_nodes, crowded)]
    assert seconds == pytest.approx([seconds[0], seconds[0] / 4, seconds[0] / 8, seconds[0] / 4])
    assert [plan.nodes for plan in (one, four, two_nodes, crowded)] == [1, 1, 2, 1]
    sent = phases(two_nodes)["assemble"].sent_bytes
    assert sent == pytest.approx(3 * 0.5 * (4 * work.elements_of_products + 8 * work.updates * work.touched))
    assert phases(two_nodes)["updates"].seconds == pytest.approx(1.5 / 8 * phases(one)["updates"].seconds)
    assert any("take turns" in warning for warning in crowded.warnings)
    assert not any("take turns" in warning for warning in two_nodes.warnings)


def test_the_hessian_is_counted_once_on_a_node(counted):
    work, geometry = counted
    work = dataclasses.replace(work, lateral=2562, radial=20, structure=2562 * 20, iterations=1)
    hessian = 4.0 * 51270 * 25620  # blocks of 30
    for ranks, per_node, nodes in ((4, 4, 1), (8, 4, 2), (16, 1, 16)):
        found = phases(planning.predict(work, geometry, ROUND, ranks, per_node))["misfit"]
        # The lateral prior and the samples are there once, too, and what one rank has kept of the work on the prior.
        kept = (per_node - 1) * HEAP_KEPT_BYTES
        shared = hessian / nodes + 8.0 * 2562**2 + 24.0 * work.samples - kept if per_node > 1 else 0.0
        assert found.node_bytes - per_node * found.rank_bytes == pytest.approx(shared)
        assert found.node_bytes > hessian / nodes
    beside = phases(planning.predict(work, geometry, ROUND, 4, 4))["factorise"].node_bytes
    wide = dataclasses.replace(work, solve_bytes=8, refined=False)
    assert 2 * hessian < beside < 2.5 * hessian  # and its copy
    assert phases(planning.predict(wide, geometry, ROUND, 4, 4))["factorise"].node_bytes > 3 * hessian
    in_place = phases(planning.predict(dataclasses.replace(work, in_place=True), geometry, ROUND, 4, 4))["factorise"]
    assert beside - in_place.node_bytes == pytest.approx(hessian)


def test_hessians_are_written_once_or_in_each_iteration(counted):
    work, geometry = counted
    hessian = 4.0 * 990 * 492

    def written(**settings):
        return phases(planning.predict(dataclasses.replace(work, **settings), geometry, ROUND, 1))["save"].written_bytes

    none, last = written(keep_hessians="none"), written(keep_hessians="last")
    assert last - none == pytest.approx(hessian)
    assert written(keep_hessians="all") - none == pytest.approx(3 * hessian)
    assert written(keep_hessians="none", checkpoint_s=1e-6) - none == pytest.approx(3 * hessian)
    assert written(in_place=True) - none == pytest.approx(3 * hessian)


def test_messages_latency_and_jitter_of_many_ranks(counted):
    """Each alone, by hand, on 16 nodes of one rank."""
    work, geometry = counted
    work = dataclasses.replace(work, paths=10000, subset=1)

    def costs(ranks=16, **rates):
        plan = planning.predict(work, geometry, dataclasses.replace(ROUND, **rates), ranks, 1)
        return phases(plan), plan.assembly_costs, plan.factorise_costs

    still, assembly, factorise = costs()
    per_message, busier, _ = costs(message_us=3.0)
    messages = 15 / 16 * work.updates * 16  # a message to each rank but this one
    assert busier["cores"] - assembly["cores"] == pytest.approx(2 * 3e-6 * messages / 16)
    assert per_message["updates"].seconds > still["updates"].seconds
    _, _, later = costs(network_latency_us=5.0)
    assert factorise["latency"] == 0.0
    assert later["latency"] == pytest.approx(5e-6 * MEETINGS * 972 / PANEL_ROWS * 4)
    uneven, uneven_assembly, slower = costs(jitter=0.1)
    slowest = 1 + 0.1 * np.sqrt(2 * np.log(16))
    assert slower["cores"] == pytest.approx(slowest * factorise["cores"])
    assert uneven["misfit"].seconds == pytest.approx(slowest * still["misfit"].seconds)
    assert uneven_assembly["last paths"] == pytest.approx((slowest - 0.5) / 0.5 * assembly["last paths"])
    alone, _, _ = costs(ranks=1, jitter=0.1)
    assert alone["misfit"].seconds == pytest.approx(costs(ranks=1)[0]["misfit"].seconds)
    assert (still[BEFORE].seconds, still[AFTER].seconds) == (7.0, 11.0)


def test_one_thread_of_a_rank_adds_what_arrives(counted):
    """By hand, on 16 nodes of one rank of 12 threads: no more threads make it faster."""
    work, geometry = counted
    work = dataclasses.replace(work, paths=10000, subset=1, threads=12)
    machine = dataclasses.replace(ROUND, cores_per_node=12, message_us=300.0)
    plan = planning.predict(work, geometry, machine, 16, 1)
    messages = 15 / 16 * work.updates * 16
    elements = 15 / 16 * work.elements_of_products
    merging_s = (1e-9 * machine.update_ns_per_element * elements + 300e-6 * messages) / 16
    assert plan.assembly_costs["merging"] == pytest.approx(merging_s)
    assert plan.assembly_limit == "merging"
    assert plan.assembly_s == pytest.approx(merging_s + plan.assembly_costs["memory"])
    more = planning.predict(
        dataclasses.replace(work, threads=24), geometry, dataclasses.replace(machine, cores_per_node=24), 16, 1
    )
    assert more.assembly_costs["merging"] == plan.assembly_costs["merging"]
    assert more.assembly_costs["cores"] < plan.assembly_costs["cores"]
    assert planning.predict(work, geometry, machine, 16, 16).assembly_costs["merging"] == 0.0


@pytest.mark.parametrize(
    ("rates", "phase", "limit"),
    [
        ({}, "assemble", "cores"),
        ({"network_gb_s": 1e-6}, "assemble", "network"),
        ({"network_gb_s": 1e-6}, "factorise", "network"),
        ({"memory_gb_s": 1e-5}, "assemble", "memory"),
        ({"memory_gb_s": 1e-5}, "factorise", "memory"),
        ({"network_latency_us": 1e6}, "factorise", "latency"),
        ({"cholesky_gflops": 1e-3}, "factorise", "cores"),
        ({"file_s": 100.0}, "save", "files"),
        ({"disk_gb_s": 1e-5}, "save", "disk"),
    ],
)
def test_what_a_phase_is_limited_by(counted, rates, phase, limit):
    work, geometry = counted
    work = dataclasses.replace(work, paths=10000, subset=1)
    plan = planning.predict(work, geometry, dataclasses.replace(ROUND, **rates), 4, 1)
    assert phases(plan)[phase].limit == limit
    of = {one.name: one.limit for one in plan.phases}
    assert (of["misfit"], of["kernels"], of[BEFORE], of[AFTER]) == ("cores", "each rank", "start", "one core")


def test_what_hides_behind_something_else_is_no_limit(counted):
    """Updates travel while others are computed: a network that takes longer than cores, and less than the whole, limits nothing."""
    work, geometry = counted
    work = dataclasses.replace(work, subset=8)
    costs = planning.predict(work, geometry, ROUND, 8, 1).assembly_costs
    between = costs["cores"] + 0.5 * costs["last paths"]
    slower = dataclasses.replace(ROUND, network_gb_s=ROUND.network_gb_s * costs["network"] / between)
    plan = planning.predict(work, geometry, slower, 8, 1)
    assert plan.assembly_costs["network"] == pytest.approx(between)
    assert plan.assembly_limit in ("cores", "last paths")
    assert plan.assembly_s == pytest.approx(costs["cores"] + costs["last paths"] + costs["memory"])


def test_stated_rates_need_no_measuring(small_config, monkeypatch, tmp_path):
    monkeypatch.setattr(calibration, "calibrate_alone", lambda *_: pytest.fail("measured"))
    monkeypatch.setattr(calibration, "calibrate_on", lambda *_: pytest.fail("measured"))
    config = small_config.replaced("paths", maximum=60)
    plan = planning.make_plan(config, 2)
    stated = profiles.profile("workstation", coupled=False)
    here = {"cores_per_node": usable_cores(), "memory_per_node_gib": plan.machine.memory_per_node_gib}
    assert plan.machine == dataclasses.replace(stated, **here)
    assert planning.make_plan(config, 2, 1, Path("workstation")).machine == stated
    assert any("rates are stated, not measured" in warning for warning in plan.warnings)
    coupled = planning.make_plan(config.replaced("theory", kind="nact"), 2, 1, Path("cluster"))
    assert coupled.machine == profiles.profile("cluster", coupled=True)
    assert coupled.machine.panel_ns_per_term > 10 * plan.machine.panel_ns_per_term
    assert coupled.machine.network_gb_s == profiles.PROFILES["cluster"].network_gb_s
    double = config.replaced("inversion", precision="float64", solve_precision="float64")
    slower = planning.make_plan(double, 2, 1, Path("workstation")).machine
    assert slower == profiles.profile("workstation", coupled=False, element_bytes=8, solve_bytes=8)
    assert slower.cholesky_gflops == 0.5 * stated.cholesky_gflops
    assert slower.update_ns_per_element == 2.0 * stated.update_ns_per_element
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workstation").mkdir()  # a folder is not meant, a file is
    assert planning.make_plan(config, 2).machine.measured_ranks == 0
    save_machine(ROUND, tmp_path / "cluster")
    assert planning.make_plan(config, 2, 1, Path("cluster")).machine == ROUND


def test_warnings(counted):
    work, geometry = counted
    small = dataclasses.replace(ROUND, memory_per_node_gib=0.05)
    text = "\n".join(planning.predict(work, geometry, small, 16, 4).warnings)
    for part in (
        "memory does not suffice: ",
        "more nodes, fewer ranks",
        "make [assembly] subset smaller",
        "5 GB/s and 0 us of the network",
    ):
        assert part in text
    matern = dataclasses.replace(work, prior_kind="matern", counted_paths=10)
    text = "\n".join(planning.predict(matern, geometry, ROUND, 1).warnings)
    assert "not in this plan" in text and "counted for 10 of 60 paths" in text
    assert planning.predict(work, geometry, ROUND, 1).warnings == ()
    alone = dataclasses.replace(ROUND, measured_ranks=1)
    (text,) = planning.predict(work, geometry, alone, 3).warnings
    assert "with 1 of a node's cores busy, the run has 3" in text


def test_rates_are_measured_and_kept(counted, small_config, tmp_path):
    _, geometry = counted
    machine = calibrate_alone(small_config.replaced("run", directory=str(tmp_path)), geometry, 100 << 20)
    for name, value in vars(machine).items():
        if name not in ("name", "panel_ns_per_radial_term", "panel_ns_per_element", "cholesky_half_order"):
            assert value > 0, name
    assert 0.1 < machine.product_gflops < 1000 and 0.01 < machine.update_ns_per_element < 100
    assert (machine.process_mib, machine.measured_ranks) == (100.0, 1)
    assert list(tmp_path.iterdir()) == []  # what was written to measure the disk is gone
    save_machine(machine, tmp_path / "machine.toml")
    assert load_machine(tmp_path / "machine.toml") == machine
    assert "# GFLOP/s of products of panels" in (tmp_path / "machine.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("ranks", "block"), [(2, 64), (4, 256)])
def test_ranks_measure_a_machine_together(small_config, tmp_path, ranks, block):
    """Also where trial matrices have fewer of the run's blocks than ranks."""
    config = small_config.replaced("run", directory=str(tmp_path / "run")).replaced("inversion", block=block)
    machine, spent_s = calibrate_on(config, ranks)
    assert machine.measured_ranks == ranks and list(tmp_path.iterdir()) == []
    assert machine.cores_per_node == usable_cores()
    assert machine.memory_per_node_gib == pytest.approx(process_memory.available_bytes() / 2**30, rel=0.5)
    for name, value in vars(machine).items():
        if name not in ("name", "panel_ns_per_radial_term", "panel_ns_per_element", "cholesky_half_order"):
            assert value > 0, name
    assert set(spent_s) == {"modes", "kernels", "catalogues", "paths"} and min(spent_s.values()) > 0


def test_the_smallest_model_is_measured(small_config, tmp_path):
    """Fewer unknowns than the smallest trial has."""
    config = small_config.replaced("run", directory=str(tmp_path)).replaced("paths", maximum=10)
    config = config.replaced("basis", lateral_level=1, radial=4)
    work, geometry = plan_work.count_work(config)
    assert work.unknowns == 48
    assert calibrate_alone(config, geometry, 100 << 20).cholesky_gflops > 0


def test_machines_that_cannot_be_measured(small_config, tmp_path, monkeypatch, capfd):
    config = small_config.replaced("run", directory="/proc/no/folder")
    with pytest.raises(UserError, match="/proc: cannot be written to: .*; allowed: a folder of your own"):
        calibrate_on(config, 2)
    config = small_config.replaced("run", directory=str(tmp_path / "run"))
    wrong = tmp_path / "events.csv"
    wrong.write_text("no catalogue\n")
    with pytest.raises(SystemExit) as ended:  # what a rank says is all that is said
        calibrate_on(config.replaced("events", file=str(wrong)), 2)
    said = capfd.readouterr().err
    assert ended.value.code == 2 and said.count("craton: error: ") == 1 and str(wrong) in said
    monkeypatch.setenv("CRATON_MPIEXEC", "no-such-mpiexec")
    with pytest.raises(
        UserError, match="'no-such-mpiexec' was not found .* to start 2 ranks .*; allowed: .* --machine FILE$"
    ):
        calibrate_on(config, 2)
    assert list(tmp_path.iterdir()) == [wrong]


@pytest.mark.parametrize(
    ("ranks", "per_node", "threads", "launched", "measured"),
    [
        (1, 0, 1, None, 1),
        (2, 0, 1, None, 2),
        (64, 0, 1, None, 4),
        (64, 3, 1, None, 3),
        (1, 0, 2, None, 2),
        (2, 0, 1, 1, 1),
    ],
)
def test_as_many_cores_are_measured_as_a_run_has(
    small_config, monkeypatch, ranks, per_node, threads, launched, measured
):
    found = []
    spent_s = {"modes": 11.0, "kernels": 12.0, "catalogues": 13.0, "paths": 14.0}
    monkeypatch.setattr(planning, "usable_cores", lambda: 4)
    monkeypatch.setattr(planning, "launched_size", lambda: launched)
    monkeypatch.setattr(calibration, "calibrate_alone", lambda *_: found.append(1) or ROUND)
    monkeypatch.setattr(calibration, "calibrate_on", lambda _, count: found.append(count) or (ROUND, spent_s))
    config = small_config.replaced("paths", maximum=20).replaced("assembly", threads=threads, subset=1)
    config = config.replaced("inversion", block=8)
    told: list[str] = []
    plan = planning.make_plan(config, ranks, per_node, tell=told.append, measure=True)
    assert found == [measured]
    assert told == [
        f"measuring this machine with {measured} of its 4 cores busy: half a minute, or more with many cores"
    ]
    assert (phases(plan)["modes"].seconds == 11.0) == (measured > 1)


def test_fixed_shares_of_paths_are_those_of_all(counted):
    """The longest share of samples; also where only some of the paths were counted."""
    work, geometry = counted
    lengths = np.array([300] * 500 + [100] * 500)
    uneven = dataclasses.replace(geometry, samples=lengths)
    for ranks, longest in ((1, 1.0), (2, 0.75), (4, 0.375)):
        found = phases(planning.predict(work, uneven, ROUND, ranks))["misfit"].seconds
        of_one_model = 3e-9 * work.samples * work.modes_used * longest
        assert found == pytest.approx((work.iterations + 1) * of_one_model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("product_gflops = 10.0", ""), r"\[machine\] product_gflops is missing"),
        (("product_gflops = 10.0", "product_gflops = 0"), r"product_gflops = 0; allowed: a number in"),
        (("product_gflops", "products"), r"unknown key 'products'"),
        (("[machine]", "[machines]"), r"unknown table \[machines\]; did you mean \[machine\]"),
    ],
)
def test_a_machine_file_is_checked(tmp_path, change, message):
    file = tmp_path / "machine.toml"
    save_machine(ROUND, file)
    file.write_text(file.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        load_machine(file)


def test_the_command_prints_a_table_and_json(small_config, tmp_path, capsys):
    config, machine = tmp_path / "my.toml", tmp_path / "machine.toml"
    config.write_text(small_config.replaced("run", directory=str(tmp_path / "r")).to_toml(), encoding="utf-8")
    save_machine(ROUND, machine)
    words = ["tomography", "plan", str(config), "--ranks", "8", "--ranks-per-node", "2", "--machine", str(machine)]
    assert cli.invoke(words) == 0
    text = capsys.readouterr().out
    for part in ("200 paths, 972 unknowns", "8 ranks on 4 nodes", "factorise", "panels", "what takes longest: "):
        assert part in text
    assert cli.invoke([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["nodes"], found["work"]["unknowns"]) == (4, 972) and not (tmp_path / "r").exists()
    assert [phase["name"] for phase in found["phases"]] == [BEFORE, *PHASES, AFTER]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.toml"], r"none\.toml: no such file"),
        (["CONFIG", "--machine", "none.toml"], r"none\.toml: no such file; allowed: workstation, cluster, or a file"),
        (["CONFIG", "--machine", "/no/none.toml"], r"/no/none\.toml: no such file; allowed: a TOML file"),
        (["CONFIG", "--machine", "a", "--calibrate", "b"], "--machine with --calibrate; allowed: one of them"),
        (["CONFIG", "--machine", "a", "--measure"], "--machine with --measure; allowed: one of them"),
        (
            ["CONFIG", "--machine", "clusters"],
            "--machine clusters: no such file; allowed: workstation, cluster, or a file",
        ),
        (["FOLDER", "--measure"], "--measure with .*, the folder of a run"),
        (["CONFIG", "--calibrate", "/no/such/folder/m.toml"], "--calibrate /no/such/folder/m.toml: no such folder"),
        (["CONFIG", "--ranks", "100000"], "more ranks than blocks"),
        (["FOLDER"], r"record\.json"),
        (["FOLDER", "--ranks", "2"], "--ranks with .*, the folder of a run"),
    ],
)
def test_errors_of_the_command(small_config, tmp_path, words, message):
    (tmp_path / "my.toml").write_text(small_config.to_toml(), encoding="utf-8")
    words = [str(tmp_path / "my.toml") if word == "CONFIG" else word.replace("FOLDER", str(tmp_path)) for word in words]
    with pytest.raises(UserError, match=message):
        cli.invoke(["tomography", "plan", *words])


def test_a_plan_stands_alone(monkeypatch):
    monkeypatch.setattr("craton.cli.launching.launched_size", lambda: 2)
    with pytest.raises(UserError, match="plan: started on 2 ranks; allowed: alone"):
        cli.invoke(["tomography", "plan", "my.toml"])


def test_a_run_of_one_rank_beside_its_plan(small_config, tmp_path, capfd):
    """In processes of their own, as users have it: within 25% in memory, in every phase.

    Times are of a machine that does other things too; benchmarks look at them.
    """
    config = small_config.replaced("run", directory=str(tmp_path / "run")).replaced("inversion", max_iterations=1)
    (tmp_path / "my.toml").write_text(config.to_toml(), encoding="utf-8")
    program = [sys.executable, "-m", "craton.commands.main", "tomography"]
    assert run_under_mpi([*program[3:], "run", str(tmp_path / "my.toml"), "--no-report"], 1, program=program[:3]) == 0
    record = RunFolder(tmp_path / "run").read_record()
    # The assembly's checkpoints are as often as the configuration says, and in no plan.
    assert set(record.peak_bytes[0]) - {"checkpoint"} == set(PHASES) == set(record.phase_s[0]) - {"checkpoint"}
    capfd.readouterr()
    assert run_under_mpi([*program[3:], "plan", str(tmp_path / "run"), "--json"], 1, program=program[:3]) == 0
    found = json.loads(capfd.readouterr().out)
    for row in found["compared"]:
        assert row["predicted_s"] >= 0 and row["measured_s"] > 0, row
        if row["name"] in PHASES:
            assert row["predicted_bytes"] == pytest.approx(row["measured_bytes"], rel=0.25), row


@pytest.mark.parametrize("kind", ["pava", "nact"])
def test_what_ranks_on_two_nodes_send_is_predicted(small_config, tmp_path, capfd, kind):
    config = small_config.replaced("run", directory=str(tmp_path / "run")).replaced("inversion", max_iterations=1)
    if kind == "nact":
        config = config.replaced("theory", kind=kind).replaced("paths", maximum=30)
        config = config.replaced("basis", radial=20).replaced("data", sample_interval_s=40.0)
        config = config.replaced("inversion", precision="float64")
    (tmp_path / "my.toml").write_text(config.to_toml(), encoding="utf-8")
    words = ["tomography", "run", str(tmp_path / "my.toml"), "--no-report", "--ranks-per-node", "1"]
    assert run_under_mpi(words, 2, 1, program=[sys.executable, "-m", "craton.commands.main"]) == 0, (
        capfd.readouterr().err
    )
    record = RunFolder(tmp_path / "run").read_record()
    save_machine(ROUND, tmp_path / "machine.toml")
    plan, compared = plan_of_run(tmp_path / "run", tmp_path / "machine.toml")
    assert plan.nodes == 2
    exact = 0.1 if kind == "pava" else 0.2  # the rank of panels is foretold less well than their columns
    assemble = next(row for row in compared if row.name == "assemble")
    assert assemble.measured_sent == sum(sent["assemble"] for sent in record.sent_bytes) > 0
    assert assemble.predicted_sent == pytest.approx(assemble.measured_sent, rel=exact)
    rows = sum(seconds["rows"] for seconds in record.assembly_s)
    assert plan.work.rows == pytest.approx(rows, rel=exact if kind == "nact" else 1e-12)
    assert kind == "pava" or rows < 0.7 * plan.work.samples
    assert sum(seconds["updates"] for seconds in record.assembly_s) == plan.work.updates


def test_a_run_without_iterations_cannot_be_compared(small_config, tmp_path, monkeypatch):
    def interrupted(self, *_):
        raise KeyboardInterrupt

    monkeypatch.setattr(StepSearch, "solve", interrupted)
    config = small_config.replaced("run", directory=str(tmp_path / "run")).replaced("paths", maximum=10)
    with pytest.raises(KeyboardInterrupt):
        inversion.run(config, MPI.COMM_SELF)
    with pytest.raises(UserError, match="no iteration was finished; allowed: a run with at least one"):
        plan_of_run(tmp_path / "run")


def test_peak_memory_is_of_this_phase():
    if not process_memory.peak_bytes():
        pytest.skip("no /proc/self/status")
    phases_ = Phases()
    with phases_("large"):
        np.ones(1 << 23)
    with phases_("small"):
        pass
    assert phases_.peak_bytes["large"] - phases_.peak_bytes["small"] > 60 << 20
    assert process_memory.resident_bytes() <= process_memory.peak_bytes()


def test_the_time_is_explained_and_one_rank_needs_no_subsets(small_config):
    """Start and report are most of a short run; one rank takes all paths, whatever the subset."""
    few = small_config.replaced("paths", maximum=3).replaced("assembly", subset=16)
    alone, two = (planning.make_plan(few, ranks) for ranks in (1, 2))
    assert not any("fewer than" in line for line in alone.warnings)
    assert any("3 paths in subsets of 16 are fewer than 2 ranks need" in line for line in two.warnings)
    begin, end = (next(one.seconds for one in alone.phases if one.name == name) for name in (BEFORE, AFTER))
    around = f"start-up {planning.duration(begin)}, report {planning.duration(end)}"
    assert alone.limit.endswith(f"; before and after: {around}")
