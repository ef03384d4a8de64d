"""Seismograms from strain Green's tensors against their definition in the time domain, and tensors that do not fit."""

from __future__ import annotations

import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
from craton import UserError
from craton._launch import mpiexec_command
from craton.hazard import GreenTensors, Rupture, RuptureAtSite, Surface, Variation, measure
from craton.hazard.motion.seismograms import seismograms
from craton.hazard.motion.slip_rates import SHAPES, slip_rates, time_function
from craton.seismology.sources.point_sources import double_couple
from hazard_runs import made_up
from hazard_variations import rupture_at, variation_of
from helpers import OF_OPEN_MPI, environment_without_mpi


def by_definition(tensors, mu, rupture, variation, slip_rate, dt, first_time, centre, impulse, samples):
    """Sum over subfaults of (M : e) * slip rate.

    Tensors (axis, subfault, 6, time) are at its subfaults; time functions at the samples' own times from each onset. Their sum
    over samples is the convolution's integral where both are band limited.
    """
    surface = rupture.surface
    t = dt * np.arange(samples)
    out = np.zeros((len(tensors), samples))
    for k in range(len(surface)):
        six = mu[k] * surface.area[k] * double_couple(surface.strike[k], surface.dip[k], surface.rake[k])
        series = np.einsum("c,act->at", six * [1, 1, 1, 2, 2, 2], tensors[:, k].astype(float)) / impulse
        # finer samples: slip rates have corners
        fine = 10
        times = first_time - centre + dt / fine * np.arange(series.shape[1] * fine)
        padded = np.fft.irfft(np.fft.rfft(series, axis=1), series.shape[1] * fine, axis=1) * fine
        rate = time_function(slip_rate, variation.rise[k])
        for n in range(samples):
            out[:, n] += variation.slip[k] * padded @ rate.rate(t[n] - variation.onset[k] - times) * dt / fine
    return out


@pytest.mark.parametrize("slip_rate", sorted(SHAPES))
def test_seismograms_are_their_definition(tmp_path, slip_rate):
    paths, tensors, position = made_up(tmp_path)
    green = GreenTensors.open(paths, (1e3, 2e3, 0.0))
    chosen = np.array([31, 4, 17, 8, 25, 12])
    rupture = rupture_at(position[chosen], 2, 3)
    variations = [variation_of(6, n) for n in range(3)]
    found = np.concatenate(list(seismograms(green, rupture, variations, slip_rate=slip_rate, batch=2)))
    assert found.shape[:2] == (3, 3)
    mu = 2e10 + 1e9 * chosen
    for variation, velocity in zip(variations, found, strict=True):
        wanted = by_definition(
            tensors[:, chosen],
            mu,
            rupture,
            variation,
            slip_rate,
            0.1,
            0.05,
            1.8,
            1e15 * np.sqrt(2 * np.pi) * 0.3,
            found.shape[2],
        )
        error = np.linalg.norm(velocity - wanted) / np.linalg.norm(wanted)
        print(slip_rate, error)
        assert error <= 3e-4


def test_onsets_are_exact_between_samples(tmp_path):
    """A later onset is a later seismogram, by a fraction of a sample.

    Compared through another sampling of the same smooth tensors.
    """
    paths, _, position = made_up(tmp_path)
    green = GreenTensors.open(paths)
    rupture = rupture_at(position[:4], 2, 2)
    one = variation_of(4, 1)
    found = []
    for shift in (0.0, 0.037, 0.1):
        later = Variation(0, 1, one.slip, one.onset + shift, one.rise, one.hypocentre, 1)
        found.append(next(seismograms(green, rupture, [later]))[0].astype(float))
    scale = np.abs(found[0]).max()
    assert np.abs(found[2][:, 1:] - found[0][:, :-1]).max() <= 1e-5 * scale
    frequency = np.fft.rfftfreq(4 * found[0].shape[1], 0.1)
    turned = np.fft.irfft(
        np.fft.rfft(found[0], 4 * found[0].shape[1], axis=1) * np.exp(-2j * np.pi * frequency * 0.037), axis=1
    )[:, : found[0].shape[1]]
    assert np.abs(found[1] - turned).max() <= 1e-3 * scale


def test_between_points_the_nearest_four_count_by_inverse_distance(tmp_path):
    paths, tensors, position = made_up(tmp_path)
    green = GreenTensors.open(paths)
    place = position[[3, 20]] + [[40.0, 500.0, -300.0], [0.0, 0.0, 0.05]]
    placing = green.place(place, "here", reach_m=1e5)
    distance = np.linalg.norm(position - place[0], axis=1)
    nearest = np.argsort(distance)[:4]
    assert set(placing.point[0]) == set(nearest)
    by_point = dict(zip(placing.point[0], placing.weight[0], strict=True))
    for point in nearest:
        assert by_point[point] == pytest.approx(1 / distance[point] / (1 / distance[nearest]).sum())
    assert placing.point[1, 0] == 20 and list(placing.weight[1]) == [1, 0, 0, 0]
    alone = green.place(place, "here", interpolation="nearest", reach_m=1e5)
    assert alone.point.shape == (2, 1) and alone.point[0, 0] == nearest[0] and (alone.weight == 1).all()
    # a subfault between points moves as the mean of four that lie on them, each with the mean rigidity
    rupture = rupture_at(place[:1], 1, 1)
    motion = variation_of(1, 2)
    found = RuptureAtSite(green, rupture, reach_m=1e5).velocities([motion])[0]
    wanted = 0
    surface = rupture.surface
    mu = sum(by_point[p] * (2e10 + 1e9 * p) for p in nearest)
    for point in nearest:
        there = Surface(
            position[point][None],
            surface.strike,
            surface.dip,
            surface.rake,
            surface.area * mu / (2e10 + 1e9 * point),
            1,
            1,
        )
        one = RuptureAtSite(green, Rupture("there", 0, 6, 0.1, there)).velocities([motion])[0]
        wanted = wanted + by_point[point] * one
    assert np.abs(found - wanted).max() <= 1e-4 * np.abs(wanted).max()


def test_points_are_read_as_they_are(tmp_path):
    paths, tensors, _ = made_up(tmp_path, axes="zx")
    green = GreenTensors.open(paths)
    assert green.directions == ("x", "z")
    for points in ([5], [7, 3, 3, 39, 0], list(range(40)), []):
        found = green.extract(np.array(points, int))
        assert np.array_equal(found, tensors[::-1, points].transpose(1, 0, 2, 3))
    with pytest.raises(UserError, match="point 40; allowed: 0 to 39"):
        green.extract(np.array([2, 40]))


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_the_table_of_slip_rates(shape):
    """Between rise times of the table to 2e-4, against a sum over the function itself."""
    period, count = 200.0, 200
    table = slip_rates(shape, 0.7, 6.0, period, count)
    s = (np.arange(20000) + 0.5) / 20000
    worst = 0.0
    for rise in (0.7, 1.234, 2.5, 5.99):
        place = table.places(np.array([rise]))[0]
        before = int(place)
        found = table.values[before] * (1 - place + before) + table.values[before + 1] * (place - before)
        rate = time_function(shape, 1.0).rate(s)
        x = 2 * np.pi / period * np.arange(count) * rise
        wanted = np.exp(-1j * np.outer(x, s - table.centre)) @ (rate / rate.sum())
        worst = max(worst, np.abs(found - wanted).max())
    print(shape, worst)
    assert worst <= 2e-4
    assert table.covers(0.7, 6.0) and not table.covers(0.6, 6.0) and not table.covers(0.7, 6.5)


def test_batches_and_longer_delays_change_nothing(tmp_path):
    """Many variations one by one and together; a delay beyond those before has the spectra made again."""
    paths, _, position = made_up(tmp_path)
    green = GreenTensors.open(paths)
    rupture = rupture_at(position[:6], 2, 3)
    variations = [variation_of(6, n, longest=5.0 if n < 4 else 25.0) for n in range(7)]
    together = np.concatenate(list(seismograms(green, rupture, iter(variations), batch=7)))
    single = np.concatenate(list(seismograms(green, rupture, variations, batch=1)))
    assert np.abs(together - single).max() <= 2e-5 * np.abs(together).max()
    alike = np.concatenate(list(seismograms(green, rupture, variations[:4], batch=4)))
    again = np.concatenate(list(seismograms(green, rupture, variations[:4], batch=4)))
    assert np.array_equal(alike, again)


RANKS = """
import sys
import numpy as np
from craton._launch import main_guard
with main_guard():
    from mpi4py import MPI
    import craton
    from craton.hazard import GreenTensors, measure
    from hazard_variations import rupture_at, variation_of
    folder, target = sys.argv[1:]
    green = GreenTensors.open([f"{folder}/{axis}.h5" for axis in "xyz"])
    ruptures = [rupture_at(green.position_m[n : n + 6], 2, 3, n) for n in range(9)]
    comm = MPI.COMM_WORLD
    made = []
    found = measure(
        green,
        ruptures,
        lambda n: (variation_of(6, v, n) for v in range(3 + 2 * n)),
        [1.0, 3.0],
        batch=4,
        progress=made.append,
        world=craton.World(comm),
        comm=comm,
    )
    assert comm.rank == 0 or len(found) == sum(made)
    assert comm.allreduce(sum(made)) == 9 * 3 + 2 * 36
    np.savez(f"{target}-{comm.rank}.npz", rupture=found.rupture, number=found.number, table=found.measures.table())
"""


def test_any_number_of_ranks_gives_the_same_bits(tmp_path):
    paths, _, position = made_up(tmp_path)
    green = GreenTensors.open(paths)
    ruptures = [rupture_at(position[n : n + 6], 2, 3, n) for n in range(9)]
    everything = [variation_of(6, v, n) for n in range(9) for v in range(3 + 2 * n)]
    alone = measure(green, ruptures, everything, [1.0, 3.0], batch=4)
    assert list(alone.rupture) == [one.rupture for one in everything]
    assert list(alone.number) == [one.number for one in everything]
    assert alone.measures.table().min() >= 0 and (alone.measures.rotd50 > 0).all()
    for ranks, ranks_per_node in ((1, 0), (3, 0), (2, 1)):
        environment = environment_without_mpi(
            OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", PYTHONPATH=os.pathsep.join(sys.path)
        )
        if os.geteuid() == 0:
            environment |= OF_OPEN_MPI
        if ranks_per_node:
            environment["CRATON_RANKS_PER_NODE"] = str(ranks_per_node)
        target = tmp_path / f"of-{ranks}"
        command = [*mpiexec_command(), "--oversubscribe", "-n", str(ranks), sys.executable, "-c", RANKS]
        done = subprocess.run(
            [*command, str(tmp_path), str(target)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        rows = list(zip(alone.rupture, alone.number, strict=True))
        own: list[int] = []
        for rank in range(ranks):  # rank 0 has all rows, the others their own
            with np.load(f"{target}-{rank}.npz") as found:
                those = [rows.index(row) for row in zip(found["rupture"], found["number"], strict=True)]
                assert np.array_equal(found["table"], alone.measures.table()[those])
            assert rank or those == list(range(len(rows)))
            assert those == sorted(those)
            own += those if rank else []
        assert len(set(own)) == len(own)


def changed(path, name, value):
    with h5py.File(path, "r+") as file:
        file["sgt"].attrs[name] = value


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("dt_s", 0.2, "another site or time step"),
        ("force_position_m", [1e3, 2.5e3, 0.0], "another site or time step"),
        ("h_m", 200.0, "another site or time step"),
        ("first_time_s", 0.1, "another site or time step"),
        ("force_pulse_centre_s", 2.0, "another site or time step"),
        ("force_N", [1e15, 0.0, 0.0], "both of a force along x"),
        ("force_N", [1e15, 1e15, 0.0], "a force along one of the axes"),
        ("force_pulse_integral_s", 0.0, "a pulse that stands for an impulse"),
    ],
)
def test_tensors_of_another_site_or_step_are_refused(tmp_path, name, value, words):
    paths, _, _ = made_up(tmp_path, axes="xy")
    changed(paths[1], name, value)
    with pytest.raises(UserError) as error:
        GreenTensors.open(paths)
    assert words in str(error.value) and "y.h5" in str(error.value) and "\n" not in str(error.value)


def test_tensors_that_are_not_whole_are_refused(tmp_path):
    paths, _, position = made_up(tmp_path, axes="x")
    with pytest.raises(UserError, match="allowed: at \\(0, 0, 0\\) m, the site"):
        GreenTensors.open(paths, (0.0, 0.0, 0.0))
    with pytest.raises(UserError, match="no such file"):
        GreenTensors.open([tmp_path / "y.h5"])
    with pytest.raises(UserError, match="0 SGT files; allowed: 1 to 3"):
        GreenTensors.open([])
    with h5py.File(paths[0], "r+") as file:
        file["samples_written"][...] = 200
    with pytest.raises(UserError, match="200 of 300 samples; allowed: the file of a run that has ended"):
        GreenTensors.open(paths)
    with h5py.File(paths[0], "r+") as file:
        del file["sgt"].attrs["force_N"]
    with pytest.raises(UserError, match="no attribute force_N of sgt"):
        GreenTensors.open(paths)
    whole = paths[0].read_bytes()
    paths[0].write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="not a complete HDF5 file"):
        GreenTensors.open(paths)


def test_tensors_with_nan_are_refused(tmp_path):
    paths, _, _ = made_up(tmp_path, axes="x")
    with h5py.File(paths[0], "r+") as file:
        file["sgt"][5, 2, 10] = np.nan
    green = GreenTensors.open(paths)
    green.extract(np.array([4]))
    with pytest.raises(UserError, match="point 5 holds NaN; allowed: finite strains"):
        green.extract(np.array([5]))


def test_a_rupture_outside_the_points_is_refused_by_name(tmp_path):
    paths, _, position = made_up(tmp_path, axes="x")
    green = GreenTensors.open(paths)
    at = position[:6].copy()
    at[4] += [0.0, 0.0, 30e3]
    with pytest.raises(UserError) as error:
        RuptureAtSite(green, rupture_at(at, 2, 3, number=7, source="far away"))
    assert "rupture 7 of 'far away': subfault 4 at" in str(error.value) and "allowed: within" in str(error.value)


def test_how_far_points_may_be_is_for_the_caller_to_say(tmp_path):
    """By seismograms and by measure alike."""
    paths, _, position = made_up(tmp_path, axes="xy")
    green = GreenTensors.open(paths)
    rupture = rupture_at(position[:2] + [0.0, 0.0, 30e3], 1, 2)
    motion = variation_of(2, 0)
    for ask in (
        lambda **how: next(seismograms(green, rupture, [motion], **how)),
        lambda **how: measure(green, [rupture], [motion], [2.0], **how).measures.psa,
    ):
        with pytest.raises(UserError, match="allowed: within"):
            ask()
        four, nearest = ask(reach_m=1e5), ask(reach_m=1e5, interpolation="nearest")
        assert np.abs(four - nearest).max() > 1e-3 * np.abs(four).max() > 0
        with pytest.raises(UserError, match="interpolation = 'cubic'"):
            ask(interpolation="cubic")
    assert green.rigidity_Pa(position[:3], "here") == pytest.approx(green.mu_Pa[:3])


def test_what_does_not_fit_a_rupture_is_refused(tmp_path):
    paths, _, position = made_up(tmp_path, axes="x")
    green = GreenTensors.open(paths)
    rupture = rupture_at(position[:6], 2, 3)
    with pytest.raises(UserError, match="variation 3 of rupture 0 of 'somewhere': 5 subfaults; allowed: 6"):
        next(seismograms(green, rupture, [variation_of(5, 3)]))
    with pytest.raises(UserError, match="slip rate 'square'; allowed: liu, cosine, triangle"):
        next(seismograms(green, rupture, [variation_of(6, 3)], slip_rate="square"))
    with pytest.raises(UserError, match="MiB; allowed: memory_mb = 0.01 or less"):
        next(seismograms(green, rupture, [variation_of(6, 3)], memory_mb=0.01))
    with pytest.raises(UserError, match="batch = 0; allowed: 1 or more"):
        next(seismograms(green, rupture, [variation_of(6, 3)], batch=0))
    with pytest.raises(UserError, match="rupture 4; allowed: ruptures 0 to 0"):
        measure(green, [rupture], [variation_of(6, 3, rupture=4)], [2.0])
    with pytest.raises(TypeError, match="no argument slip_rates"):  # on every rank, also one that has no rupture to do
        measure(green, [], [], [2.0], **{"slip_rates": "liu"})
    assert len(measure(green, [], [], [2.0])) == 0
    assert len(measure(green, [rupture], [], [2.0])) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"positions": np.zeros((5, 3))}, "positions of shape (5, 3); allowed: (6, 3)"),
        ({"dip": np.full(6, 91.0)}, "dip of subfault 0 = 91; allowed: degrees in [0, 90]"),
        ({"strike": np.full(6, 400.0)}, "strike of subfault 0 = 400"),
        ({"rake": [0, 0, np.nan, 0, 0, 0]}, "rake of subfault 2 = nan"),
        ({"area": [1, 1, 1, 1, 1, 0]}, "area of subfault 5 = 0; allowed: above 0 m^2"),
        ({"rows": 0}, "rows = 0; allowed: a whole number, 1 or more"),
        ({"columns": 3.0}, "columns = 3.0; allowed: a whole number"),
        ({"strike": "north"}, "strike is no array of numbers"),
    ],
)
def test_surfaces_that_make_no_sense(change, words):
    good = {"positions": np.zeros((6, 3)), "rows": 2, "columns": 3}
    good |= {name: np.ones(6) for name in ("strike", "dip", "rake", "area")}
    assert len(Surface(**good)) == 6
    with pytest.raises(UserError) as error:
        Surface(**(good | change))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"annual_rate": -0.1}, "annual_rate = -0.1; allowed: 0 or more"),
        ({"annual_rate": np.inf}, "annual_rate = inf"),
        ({"magnitude": 40}, "magnitude = 40; allowed: in [-5, 12]"),
        ({"number": -1}, "number = -1; allowed: a whole number, 0 or more"),
        ({"source": ""}, "source = ''; allowed: a name"),
        ({"surface": None}, "surface is a NoneType; allowed: a Surface"),
    ],
)
def test_ruptures_that_make_no_sense(change, words):
    surface = Surface(np.zeros((1, 3)), [0], [90], [0], [1e6], 1, 1)
    good = {"source": "f", "number": 0, "magnitude": 7, "annual_rate": 0.01, "surface": surface}
    assert Rupture(**good).name == "rupture 0 of 'f'"
    with pytest.raises(UserError) as error:
        Rupture(**(good | change))
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"slip": [1.0, -1.0]}, "slip of subfault 1 = -1; allowed: 0 m or more"),
        ({"onset": [0.0]}, "onset of shape (1,); allowed: (2,)"),
        ({"rise": [1.0, 0.0]}, "rise of subfault 1 = 0; allowed: above 0 s"),
        ({"hypocentre": 2}, "hypocentre = 2; allowed: a subfault, 0 to 1"),
        ({"slip": 1.0}, "slip of shape (); allowed"),
        ({"seed": -3}, "seed = -3"),
    ],
)
def test_variations_that_make_no_sense(change, words):
    good = {"rupture": 0, "number": 1, "slip": [1, 2], "onset": [0, 1], "rise": [1, 1], "hypocentre": 0, "seed": 4}
    made = Variation(**good)
    assert len(made) == 2 and not made.slip.flags.writeable
    with pytest.raises(UserError) as error:
        Variation(**(good | change))
    assert words in str(error.value)
