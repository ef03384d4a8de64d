"""`craton hazard plan`: beside sums by hand, machines in files, and what cannot be planned."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from craton.errors import UserError
from craton.hazard.check import examine
from craton.hazard.config import load_config
from craton.hazard.plan.estimate import make_plan
from craton.hazard.plan.study import CUI_2013, study_of
from craton.seismology.plan.machine import PROFILES, machine_of, save_machine
from craton.seismology.plan.tables import assumed, duration, size
from hazard_config import write_config
from hazard_pipeline import assert_refused, craton

CLUSTER, GPU = PROFILES["cluster"], PROFILES["gpu"]


def test_a_plan_is_a_sum_by_hand():
    """The paper's 5,000 sites on 100 nodes of 64 cores: 1.2e9 cells, 20,000 steps, two directions, 415,000 variations."""
    found = make_plan(CUI_2013, CLUSTER, 5000)
    assert (found.wave_runs, found.seismograms, found.nodes_of_run) == (10_000, 5000 * 415_000 * 2, 1)
    of_run_s = 1.2e9 * 20_000 / (64 * 60e6 * 0.6) + 30
    assert found.wave_run_s == pytest.approx(of_run_s) and found.wave_node_s == pytest.approx(10_000 * of_run_s)
    of_variation_s = 400e-6 + 0.25e-9 * 1000 * 2 * 400 + 35e-9 * 2 * 2000
    of_ruptures_s = 40e-9 * 14_000 * 1000 * 2 * 2000
    assert found.post_core_s == pytest.approx(5000 * (415_000 * of_variation_s + of_ruptures_s))
    assert found.site_bytes == 500_000 * 2 * 6 * 2000 * 4 and found.tensor_bytes == 5000 * found.site_bytes
    assert found.file_s == pytest.approx(2 * found.tensor_bytes / 10e9)
    computing_s = (found.wave_node_s + found.post_core_s / 64) / (100 * 0.85)
    assert found.wall_s == pytest.approx(computing_s) and found.node_s == pytest.approx(100 * computing_s)
    assert found.limit == "waves"


def test_sites_cost_the_same_each():
    few, many = (make_plan(CUI_2013, CLUSTER, sites) for sites in (1144, 5000))
    for name in ("wave_runs", "seismograms", "wave_node_s", "post_core_s", "tensor_bytes", "wall_s"):
        assert getattr(many, name) / getattr(few, name) == pytest.approx(5000 / 1144), name
    half = make_plan(CUI_2013, CLUSTER, 5000, nodes=50)
    assert half.wall_s == pytest.approx(2 * many.wall_s) and half.node_s == pytest.approx(many.node_s)


def test_gpus_hide_post_processing():
    found = make_plan(CUI_2013, GPU, 1144)
    assert found.post_core_s > 0 and found.post_node_s == 0.0
    assert found.post_core_s / 64 < found.wave_node_s * 60 / 64, "what four GPUs leave of 64 cores"
    slow = make_plan(replace(CUI_2013, variations=10**9), GPU, 1144)
    assert slow.post_node_s == pytest.approx(slow.post_core_s / 64 - slow.wave_node_s * 60 / 64)
    assert slow.limit == "post-processing"


def test_what_memory_does_not_hold():
    """A wave run that needs several nodes has them, at their parallel rate; tensors are read for each rupture anew."""
    small = replace(CLUSTER, memory_per_node_gib=30.0)
    found = make_plan(CUI_2013, small, 1)
    assert found.nodes_of_run == 3 and found.runs_at_a_time == 33
    assert found.wave_run_s == pytest.approx(1.2e9 * 20_000 / (3 * 64 * 60e6 * 0.6 * 0.85) + 30)
    assert found.file_s == pytest.approx((1 + 14_000 * 1000 / 500_000) * 48e9 / 10e9)
    with pytest.raises(UserError, match=r"needs 89 GiB, 3 nodes of cluster; allowed: --nodes 3 or more"):
        make_plan(CUI_2013, small, 1, nodes=2)
    with pytest.raises(UserError, match=r"--nodes 101: cluster has 100; allowed: 1 to 100"):
        make_plan(CUI_2013, small, 1, nodes=101)


def test_a_configuration_is_planned_as_check_has_it(tmp_path):
    config = load_config(write_config(tmp_path))
    study, checked = study_of(config), examine(config)
    assert (study.steps, study.points, study.samples) == (checked.steps, checked.points, checked.samples)
    assert (study.variations, study.ruptures) == (checked.variations, checked.ruptures)
    assert study.cells * study.bytes_per_cell == pytest.approx(checked.wave_memory_bytes, rel=1e-6)
    assert make_plan(study, PROFILES["workstation"], 2).tensor_bytes == checked.disk_bytes
    assert make_plan(study, PROFILES["workstation"], 2).wave_runs == checked.wave_runs


def test_every_assumption_is_told():
    told = {name for name, _, _ in assumed(CUI_2013, GPU)}
    assert {"cells", "steps", "variations", "gpu mpoints per s", "file gb s", "busy", "rupture ns", "parallel"} <= told
    assert "core mpoints per s" not in told
    assert all(origin for _, _, origin in assumed(CUI_2013, CLUSTER))


def test_a_machine_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    save_machine(CLUSTER, path)
    assert machine_of(str(path)) == CLUSTER
    path.write_text(path.read_text().replace("nodes = 100", "nodes = 7"))
    assert machine_of(str(path)).nodes == 7
    path.write_text(path.read_text().replace("nodes = 7", "nodes = 0"))
    with pytest.raises(UserError, match=r"mine.toml: \[machine\] nodes = 0; allowed"):
        machine_of(str(path))
    path.write_text("[machines]\n")
    with pytest.raises(UserError, match="machines"):
        machine_of(str(path))
    with pytest.raises(
        UserError, match=r"--machine laptop: no profile and no file; allowed: workstation, cluster, gpu"
    ):
        machine_of("laptop")


def test_the_command(tmp_path):
    done = craton("plan", "--machine", "gpu", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("1,144 sites", "5,000 sites", "node hours in all", "wall clock", "section III.A", "assumed"):
        assert words in done.stdout, words
    told = json.loads(
        craton(
            "plan", write_config(tmp_path), "--sites", "200", "--sites", "300", "--nodes", "2", "--json", cwd=tmp_path
        ).stdout
    )
    assert [plan["sites"] for plan in told["plans"]] == [200, 300] and told["plans"][0]["nodes"] == 2
    assert told["plans"][0]["node_hours"] == pytest.approx(2 * told["plans"][0]["wall_hours"])
    assert_refused(craton("plan", "small.toml", "--study", "cui2013", cwd=tmp_path), "--study cui2013 with small.toml")


def test_units():
    assert [duration(s) for s in (90.0, 600.0, 3e4, 1e6, 1e8)] == [
        "90 s",
        "10 min",
        "8.33 h",
        "11.6 days",
        "3.17 years",
    ]
    assert [size(b) for b in (2e6, 4.8e10, 2.4e14, 1.5e15)] == ["2 MB", "48 GB", "240 TB", "1.5 PB"]
