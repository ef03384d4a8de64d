"""`craton regional plan` and `export`: beside sums by hand, and what other programs read."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

import command_line
from craton import UserError
from craton.regional.config import load_config
from craton.regional.plan.estimate import make_plan
from craton.regional.plan.study import SOUTHERN, STATEWIDE, study_of
from craton.seismology.plan.machine import PROFILES
from regional_config import written

CLUSTER = PROFILES["cluster"]


def test_a_plan_is_a_sum_by_hand():
    """Southern California on 100 nodes of 64 cores: 760 wave runs an iteration."""
    found = make_plan(SOUTHERN, CLUSTER)
    assert found.wave_runs == 5 * (200 * 3 + 160) + 160 and found.nodes_of_run == 1
    of_run_s = 1.3 * 1.35e9 * 20_000 / (64 * 60e6 * 0.6) + 30
    assert found.wave_run_s == pytest.approx(of_run_s) and found.wave_node_s == pytest.approx(
        found.wave_runs * of_run_s
    )
    windows = 5 * 0.5 * 160 * 200 * 3
    assert found.kernels_core_s == pytest.approx(windows * SOUTHERN.points * 180 * 70e-9)
    assert found.gram_core_s == pytest.approx(windows * 200 * (0.3 * 108_000) ** 2 / 20e9)
    assert found.hessian_bytes == pytest.approx(8 * 108_000 * 108_001 / 2)
    assert found.spectra_bytes == pytest.approx(760 * 2 * 2 * 6 * SOUTHERN.points * 180)
    assert found.wall_s >= found.file_s and found.node_s == found.nodes * found.wall_s


def test_more_of_everything_takes_more():
    smaller, larger = (make_plan(one, CLUSTER) for one in (SOUTHERN, STATEWIDE))
    for name in (
        "wave_runs",
        "wave_node_s",
        "kernels_core_s",
        "gram_core_s",
        "spectra_bytes",
        "hessian_bytes",
        "node_s",
    ):
        assert getattr(larger, name) > getattr(smaller, name), name
    fewer = make_plan(SOUTHERN, CLUSTER, 50)
    assert fewer.wall_s > smaller.wall_s and fewer.wave_node_s == smaller.wave_node_s


def test_what_does_not_fit_is_refused():
    with pytest.raises(
        UserError, match=r"a wave run of 9.6e\+09 cells needs 7 nodes of cluster; allowed: --nodes 7 or more"
    ):
        make_plan(STATEWIDE, CLUSTER, 2)
    with pytest.raises(UserError, match="--nodes 101: cluster has 100"):
        make_plan(SOUTHERN, CLUSTER, 101)
    with pytest.raises(UserError, match="a Hessian of 2,000,000 unknowns needs"):
        make_plan(replace(SOUTHERN, unknowns=2_000_000), CLUSTER, 10)


def test_a_configuration_is_a_study(tmp_path):
    found = study_of(load_config(written(tmp_path)))
    assert (found.events, found.stations, found.components, found.windows) == (2, 2, 2, 1.0)
    assert (
        found.cells == 24 * 22 * 14 and 0 < found.touched <= 1 and set(found.origin.values()) == {"the configuration"}
    )
    done = command_line.craton(
        "regional", "plan", written(tmp_path), "--machine", "workstation", "--json", cwd=tmp_path
    )
    assert json.loads(done.stdout)["plans"][0]["wave_runs"] == 2 * 6 + 2
    shown = command_line.craton("regional", "plan", cwd=tmp_path).stdout
    for words in ("Southern California", "California", "node hours in all", "Assumed", "of an adjoint method"):
        assert words in shown, words
    wrong = command_line.craton("regional", "plan", written(tmp_path), "--study", "southern", cwd=tmp_path)
    assert wrong.returncode == 2 and "allowed: one of them" in wrong.stderr


def test_a_model_is_read_again_by_waves(tmp_path):
    """EMC's NetCDF: what the waves' reader finds at a point is what the inversion has there."""
    pytest.importorskip("h5netcdf")
    from craton import regional
    from craton.seismology.ground.media_files import open_netcdf

    config = written(
        tmp_path,
        ("iterations = 2", "iterations = 1"),
        ("spacing_m = 1000.0\n", "spacing_m = 1000.0\norigin_lon_lat = [10.0, 46.0]\n"),
    )
    assert command_line.craton("regional", "run", config, "--no-report", cwd=tmp_path, seconds=300).returncode == 0
    done = command_line.craton(
        "regional", "export", "small-run", "-o", "ground.nc", "--step", "0.005", "--depth-step", "0.5", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    results = regional.read_results(tmp_path / "small-run")
    grid, points = results.study.setup.grid, np.array([[11000.0, 12000.0, 2000.0], [14000.0, 9000.0, 5500.0]])
    there = open_netcdf(tmp_path / "ground.nc", outside="nearest").at(grid, *points.T)
    start = results.study.ground_at(points, target=False)["vs"]
    right = start * np.exp(results.field("vs", points))
    assert np.allclose(there.vs, right, rtol=2e-3)
    assert np.abs(results.field("vs", points)).max() > 0.005  # there is a change to be seen


def test_a_model_without_a_place_is_not_exported(tmp_path):
    config = written(tmp_path, ("iterations = 2", "iterations = 1"))
    assert command_line.craton("regional", "run", config, "--no-report", cwd=tmp_path, seconds=300).returncode == 0
    done = command_line.craton("regional", "export", "small-run", "-o", "ground.nc", cwd=tmp_path)
    assert done.returncode == 2 and "origin_lon_lat" in done.stderr
