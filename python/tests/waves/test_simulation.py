"""craton.waves.Simulation and the solver below it, from Python, in one process."""

from __future__ import annotations

import sys

import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI")

from craton import UserError, World, _craton
from craton._launch import run_under_mpi
from craton.waves import Simulation, load_config

CONFIG = """
[grid]
size_m = [2000, 1800, 1600]
spacing_m = 100
[time]
duration_s = 0.5
[boundary]
absorbing = "none"
[[source]]
position_m = [1010, 930, 600]
moment_Nm = [0, 0, 0, 1e15, 0, 0]
time_function = "gaussian"
sigma_s = 0.1
centre_s = 0.2
"""
CELLS = (14, 12, 13)


@pytest.fixture(scope="module")
def world():
    return World(MPI.COMM_SELF)


@pytest.fixture
def simulation(world, tmp_path):
    (tmp_path / "small.toml").write_text(CONFIG)
    return Simulation(load_config(tmp_path / "small.toml"), world, MPI.COMM_SELF)


def options(**values):
    made = _craton.WaveOptions()
    sides = _craton.WaveAbsorbing()
    sides.kind = "none"
    made.absorbing = sides
    for name, value in ({"spacing_m": 100.0, "dt_s": 0.008} | values).items():
        setattr(made, name, value)
    return made


def rock(x0, y0, z, spacing, nx, ny):
    vs = np.broadcast_to(2000 + 300 * np.sin((x0 + spacing * np.arange(nx)) / 300) + 0.2 * z, (ny, nx))
    return 1.8 * vs, vs, 2500.0


def test_a_module_sees_the_fields_as_they_are_then(simulation):
    seen = []
    simulation.watch(
        lambda *given: seen.append(given), ["vz", "xy"], 10, low=(2, 3, 0), high=(18, 17, 9), stride=(3, 2, 4)
    )
    simulation.advance(20)
    part = (slice(0, 9, 4), slice(3, 17, 2), slice(2, 18, 3))
    now = {name: simulation.run.field(name)[part] for name in ("vz", "xy")}
    simulation.advance(5)
    simulation.finish()
    assert [(step, first) for step, _, _, first in seen] == [(9, (0, 0, 0)), (19, (0, 0, 0))]
    assert seen[1][1] == pytest.approx(20 * simulation.dt_s)
    for name, values in now.items():
        assert np.abs(values).max() > 0
        np.testing.assert_array_equal(seen[1][2][name], values)


def test_a_pml_is_made_for_the_waves_of_the_ground_or_for_those_that_are_given(world, tmp_path):
    """Those are vp = 6000 m/s and 0.16 vs / h = 5.54 1/s, but for the 16 bits of the solver's moduli."""
    found = []
    for keys in ("", "damping_speed_m_s = 6000.0\nfrequency_shift_per_s = 5.5424", "damping_speed_m_s = 9000.0"):
        (tmp_path / "sides.toml").write_text(CONFIG.replace('"none"', f'"pml"\nwidth_cells = 4\n{keys}'))
        one = Simulation(load_config(tmp_path / "sides.toml"), world, MPI.COMM_SELF)
        one.advance(one.steps)
        found.append(one.run.field("vy"))
    own, given, other = found
    off = [np.linalg.norm(one - own) / np.linalg.norm(own) for one in (given, other)]
    print(off)
    assert off[0] < 1e-3 and off[1] > 20 * off[0]


def test_what_a_module_raises_is_raised_by_the_run(simulation):
    def fails(step, time_s, fields, first):
        raise ValueError(f"no more\nof step {step}")

    simulation.watch(fails, ["vx"], 3)
    with pytest.raises(UserError, match="in-situ module: the function raised ValueError: no more of step 2"):
        simulation.advance(20)


PROGRAM_THAT_FAILS_ON_ONE_RANK = """
import craton
from craton import waves
from mpi4py import MPI
simulation = waves.Simulation(waves.load_config("small.toml"), craton.World(MPI.COMM_WORLD), MPI.COMM_WORLD)
def fails(step, time_s, fields, first):
    if MPI.COMM_WORLD.rank == 1:
        raise ValueError("no more")
simulation.watch(fails, ["vx"], 3)
simulation.advance(20)
"""


def test_what_a_module_raises_on_one_rank_ends_the_job(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(CONFIG)
    (tmp_path / "program.py").write_text(PROGRAM_THAT_FAILS_ON_ONE_RANK)
    assert run_under_mpi(["program.py"], 2, program=[sys.executable]) == 2
    assert "rank 1: in-situ module: the function raised ValueError: no more\n" in capfd.readouterr().err


def test_velocities_that_are_not_finite_end_the_run(simulation):
    simulation.advance(10)
    broken = simulation.run.field("vy")
    broken[5, 6, 7] = np.nan
    simulation.run.set_field("vy", broken)
    with pytest.raises(
        UserError,
        match=r"small.toml: velocities are not finite any more at step \d+ of .*t = .* s .*they were at step 0",
    ):
        simulation.advance(simulation.steps - 10)
    assert simulation.step <= 100


def test_sources_come_in_parts(simulation, world, tmp_path, monkeypatch):
    from craton.waves import simulation as module

    monkeypatch.setattr(module, "MOST_STEPS_FED", 7)
    other = Simulation(simulation.config, world, MPI.COMM_SELF)
    for one in (simulation, other):
        one.advance(one.steps)
    np.testing.assert_array_equal(simulation.run.field("xz"), other.run.field("xz"))
    assert np.abs(other.run.field("xz")).max() > 0


def test_a_run_of_ones_own_ground_keeps_its_energy(world):
    run = _craton.WaveRun(world, CELLS, (1, 1, 1), options(), rock)
    assert run.own_cells == ([0, 0, 0], [14, 12, 13])
    k, j, i = np.meshgrid(*(np.arange(n) for n in CELLS[::-1]), indexing="ij")
    bump = np.exp(-((i - 6) ** 2 + (j - 6) ** 2 + (k - 5) ** 2) / 4).astype(np.float32)
    run.set_field("vz", bump)
    np.testing.assert_array_equal(run.field("vz"), bump)
    before = run.energy()
    assert before > 0
    run.advance(300)
    assert run.energy() == pytest.approx(before, rel=1e-4)
    assert run.step == 300 and run.time_s == pytest.approx(2.4)
    peak = run.peak_velocity()
    assert peak == max(np.abs(run.field(name)).max() for name in ("vx", "vy", "vz"))


def raises_user_error(*_):
    raise UserError("no such place; allowed: another")


BAD_GROUND = {
    "too few arrays": (lambda *_: (6000.0, 3464.0), {}, "ground: gave 2 arrays; allowed: 3"),
    "no shape of the plane": (lambda *_: (np.ones(5), 1.0, 1.0), {}, "ground: the function raised ValueError"),
    "its own words": (raises_user_error, {}, "^no such place; allowed: another$"),
    "a negative density": (lambda *_: (6000.0, 3464.0, -1.0), {}, "rho"),
    "an unstable step": (rock, {"dt_s": 0.05}, "vp dt / h"),
    "no Q": (rock, {"attenuation": _craton.WaveRelaxation(0.1, 10.0, 1.0)}, "ground: gave 3 arrays; allowed: 5"),
}


@pytest.mark.parametrize("what", BAD_GROUND)
def test_ground_that_cannot_be(world, what):
    ground, changes, expected = BAD_GROUND[what]
    with pytest.raises(UserError, match=expected):
        _craton.WaveRun(world, CELLS, (1, 1, 1), options(**changes), ground)


def test_arguments_that_cannot_be(world):
    run = _craton.WaveRun(world, CELLS, (1, 1, 1), options(), rock)
    none = np.empty((0, 3))
    with pytest.raises(UserError, match="field 'vq'; allowed: vx, vy, vz, xx"):
        run.field("vq")
    with pytest.raises(UserError, match=r"allowed: \(nz, ny, nx\) = \(13, 12, 14\)"):
        run.set_field("vx", np.ones((2, 2, 2), np.float32))
    with pytest.raises(UserError, match="moments: 3 columns; allowed: 6"):
        run.set_sources(none, none, none, none)
    with pytest.raises(UserError, match="as many positions as moments"):
        run.set_sources(np.ones((2, 3)), np.ones((1, 6)), none, none)
    with pytest.raises(UserError, match="every 0"):
        _craton.WaveSchedule(0, 0, 10)
    with pytest.raises(UserError, match="kind 'cerjan'; allowed: none, pml, sponge"):
        _craton.WaveAbsorbing().kind = "cerjan"
    with pytest.raises(UserError, match="14 cells along x on 9 bricks; allowed"):
        _craton.WaveRun(world, CELLS, (9, 1, 1), options(), rock)
    if not _craton.cuda_devices():
        with pytest.raises(UserError, match="CUDA"):
            options().use_cuda(0)
            _craton.cuda_copy_gb_s(0)


@pytest.mark.parametrize("exponent", [0.0, 0.4])
def test_q_is_what_was_asked_for(exponent):
    relaxation = _craton.WaveRelaxation(0.1, 10.0, 1.0, exponent, 1.0)
    assert len(relaxation.times_s) == 8
    # no sum of relaxations follows the kink at 1 Hz
    for frequency in (0.2, 0.5, 2.0, 5.0) + (() if exponent else (1.0,)):
        wanted = 50 * max(frequency, 1.0) ** exponent
        quality, velocity = relaxation.at(frequency, 50.0)
        assert quality == pytest.approx(wanted, rel=0.05)
        assert 0.9 < velocity < 1
    assert relaxation.unrelaxed(50.0) > 1


def test_bricks_have_the_least_area_between_them():
    assert list(_craton.best_process_grid((100, 50, 200), 4)) == [1, 1, 4]
    assert list(_craton.best_process_grid((100, 50, 200), 4, (2, 0, 0))) == [2, 1, 2]
    boxes = [_craton.brick_of((10, 9, 8), (1, 1, 2), rank, (1, 0)) for rank in range(2)]
    assert [(list(low), list(high)) for low, high in boxes] == [([0, 0, 4], [10, 9, 8]), ([0, 0, 0], [10, 9, 4])]
    with pytest.raises(UserError):
        _craton.best_process_grid((4, 4, 4), 3)


def test_a_placement_lowers_hop_bytes():
    nodes = "torus 4 2\nranks_per_node 2\n" + "".join(f"n{n} {(3 * n) % 4} {n // 4}\n" for n in range(8))
    found = _craton.place_bricks((64, 64, 64), (4, 2, 2), nodes, "nodes.txt", (72.0, 72.0, 72.0))
    assert sorted(found["brick_of_rank"]) == list(range(16))
    assert found["after"]["hop_bytes"] <= found["before"]["hop_bytes"]
    assert found["after"]["bytes"] == found["before"]["bytes"]
    with pytest.raises(UserError, match="nodes.txt:?1?"):
        _craton.place_bricks((64, 64, 64), (4, 2, 2), "ring 4\n", "nodes.txt", (72.0, 72.0, 72.0))
