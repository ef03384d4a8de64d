"""Long periods first: the filter, which windows are left out, the order of periods, and runs that need it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import command_line
import numpy as np
import pytest
from craton import UserError
from craton._craton import EarthModel
from craton.runs.files import write_hdf5
from craton.tomography.config.tables import InversionConfig
from craton.tomography.data.emphasis import COMPARED, LEFT_OUT, Emphasis, filtered, low_pass_taps
from craton.tomography.data.observations import Observations
from craton.tomography.folder import IterationRecord, RunFolder
from craton.tomography.inversion.judgement import skipped_windows
from craton.tomography.inversion.schedule import MOST_ITERATIONS, Schedule, usual_first_periods_s
from craton.tomography.model.splines import make_basis
from craton.tomography.prior.draw import drawn_model
from craton.tomography.stored.run import read_problem, stored_emphasis
from helpers import OF_OPEN_MPI
from wave_packets import HALF_PERIOD_S, observations, waves

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start

PROGRAM = Path(__file__).parents[1] / "programs" / "ended_inversion.py"
BAND_S = (400.0, 250.0, 100.0, 80.0)


def test_the_gain_is_a_half_at_the_period():
    taps = low_pass_taps(200.0, 5.0)
    both = np.concatenate([taps[:0:-1], taps])
    lags_s = 5.0 * (np.arange(len(both)) - len(taps) + 1)
    for period_s, gain in ((1e9, 1.0), (400.0, 2.0**-0.25), (200.0, 0.5), (100.0, 2.0**-4)):
        assert both @ np.cos(2 * np.pi * lags_s / period_s) == pytest.approx(gain, abs=3e-4)


def test_windows_are_filtered_by_themselves():
    taps = np.array([0.5, 0.2, 0.1])
    traces, offsets = np.zeros(12), np.array([0, 4, 12])
    traces[[3, 6]] = 1.0
    expected = [0.0, 0.1, 0.2, 0.5, 0.1, 0.2, 0.5, 0.2, 0.1, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(filtered(traces, taps, offsets), expected, atol=1e-15)


def test_what_is_left_out_weighs_nothing():
    data = observations(waves())
    left_out = np.zeros(len(data.paths), bool)
    left_out[3:] = True
    whole = data.weighted(data.observed)
    np.testing.assert_array_equal(whole, data.whitened(data.observed))
    data.emphasis.left_out = left_out
    kept = data.weighted(data.observed)
    first = data.paths.offsets[3]
    np.testing.assert_array_equal(kept[:first], whole[:first])
    np.testing.assert_allclose(kept[first:], whole[first:] / LEFT_OUT)
    data.emphasis.period_s = 200.0
    assert np.abs(data.weighted(data.observed)[:first]).max() < np.abs(kept[:first]).max()
    data.emphasis.clear()
    assert data.emphasis == Emphasis()


def test_a_hessian_says_what_it_is_of(tmp_path):
    data, file = observations(waves()), tmp_path / "hessian.h5"
    write_hdf5(file, data.emphasis.stored())
    assert stored_emphasis(file) == Emphasis()
    data.emphasis.period_s, data.emphasis.left_out = 250.0, np.arange(len(data.paths)) % 3 == 0
    data.emphasis.misfit, data.emphasis.furthest_s = "arrival_time", 120.0
    write_hdf5(file, data.emphasis.stored())
    found, keep = stored_emphasis(file), np.arange(len(data.paths)) < 5
    assert (found.period_s, found.misfit, found.furthest_s) == (250.0, "arrival_time", 120.0)
    assert data.where(keep).emphasis.misfit == "arrival_time"
    assert found.left_out.tolist() == data.emphasis.left_out.tolist()
    assert data.where(keep).emphasis.left_out.tolist() == [True, False, False, True, False]
    assert data.counted_samples == int(np.sum(~found.left_out))  # arrival times
    data.emphasis.misfit = "waveform"
    assert data.counted_samples == int(data.paths.samples[~found.left_out].sum())


@pytest.mark.parametrize(
    ("table", "settings", "words"),
    [
        (
            "inversion",
            {"first_periods_s": (500.0,)},
            "first_periods_s = [500] has 500 s; allowed: above 120 and at most 400 s",
        ),
        ("inversion", {"first_periods_s": (300.0, 110.0)}, "first_periods_s = [300, 110] has 110 s"),
        ("prior", {"kind": "matern"}, 'random_rms = 0.03 with [prior] kind = "matern"; allowed: 0'),
    ],
)
def test_settings_that_cannot_be(small_config, table, settings, words):
    drawn = small_config.replaced("target", random_rms=0.03)
    with pytest.raises(UserError, match=re.escape(words)):
        drawn.replaced(table, **settings)


def test_lengths_that_make_a_singular_covariance(small_config):
    basis = make_basis(small_config, EarthModel.by_name("prem_isotropic"))
    long = replace(small_config.prior, correlation_km=20000.0, nugget=1e-12)
    with pytest.raises(UserError, match="random_rms with .* numerically singular"):
        drawn_model(basis, long, 0.02, 1)
    drawn = [drawn_model(basis, small_config.prior, 0.02, seed) for seed in (1, 1, 2)]
    assert np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[0], drawn[2])
    assert np.sqrt(np.mean(drawn[0] ** 2)) == pytest.approx(0.02, rel=0.5)


def schedule(**settings):
    data = observations(waves())
    config = SimpleNamespace(inversion=InversionConfig(**settings), data=SimpleNamespace(filter_periods_s=BAND_S))
    return Schedule(config, data), data


def test_only_who_skips_cycles_begins_with_long_periods():
    order, _ = schedule()
    assert order.first_periods_s == usual_first_periods_s(BAND_S)
    assert order.first_periods_s == pytest.approx((316.2, 250.0, 158.1), abs=0.1)
    assert order.first(waves().ravel()) == (0.0, "")
    late = waves()
    late[5] = waves(110.0)[5]
    period_s, why = order.first(late.ravel())
    assert period_s == order.first_periods_s[0]
    assert (
        "skips cycles in 1 window of 48" in why
        and "the first iterations fit arrival times of periods beyond 316 s" in why
    )
    assert "fit periods beyond 316 s" in schedule(first_misfit="waveform")[0].first(late.ravel())[1]
    assert schedule(long_periods_first=False)[0].first(late.ravel()) == (0.0, "")
    assert schedule(first_periods_s=(300.0, 120.0))[0].first(late.ravel())[0] == 300.0


def test_periods_follow_each_other():
    order, _ = schedule(first_periods_s=(300.0, 200.0))
    assert [order.after(period_s) for period_s in (300.0, 200.0)] == [200.0, 0.0]

    def done(*falls, period_s=300.0, **more):
        start = IterationRecord(0, 1.0, 0.0, 0.0, 0.0)
        return [start, *(replace(start, iteration=1, fall=fall, period_s=period_s, **more) for fall in falls)]

    assert not order.is_done_with(300.0, done())
    assert not order.is_done_with(300.0, done(0.5))
    assert order.is_done_with(300.0, done(0.5, 0.05))
    assert order.is_done_with(300.0, done(*[0.5] * MOST_ITERATIONS))
    assert not order.is_done_with(200.0, done(0.5, 0.05))  # iterations of other periods
    assert order.is_done_with(300.0, done(0.5, misfit="arrival_time", fitted=0.9))  # times fit
    assert not order.is_done_with(300.0, done(0.5, misfit="arrival_time", fitted=1.1))
    assert not order.is_done_with(300.0, done(0.5, misfit="waveform", fitted=0.9))
    assert not order.is_done_with(0.0, done(0.001, period_s=0.0))


def test_longer_periods_bear_larger_shifts():
    order, data = schedule()
    assert order.half_period_s(0.0) == pytest.approx(79.1, abs=0.1) and order.half_period_s(250.0) == 125.0
    late = waves(1.25 * HALF_PERIOD_S)
    assert order.skipped(late.ravel(), 0.0).all() == skipped_windows(data, data.observed, late.ravel(), 79.1).all()


def test_what_is_compared_of_a_window():
    data, late_s = observations(waves(), noise=0.0), 12.0
    late = waves(late_s).ravel()
    assert data.chi(late) == pytest.approx(0.5 * np.sum(data.whitened(data.observed - late) ** 2))
    data.emphasis.misfit, data.emphasis.furthest_s = "arrival_time", 100.0
    assert data.furthest == int(100.0 / data.paths.sample_interval_s)
    speed = data.weighted((waves(late_s + 0.1) - waves(late_s - 0.1)).ravel()) / 0.2
    assert data.chi(late) == pytest.approx(0.5 * late_s**2 * np.sum(speed**2), rel=0.02)
    data.emphasis.misfit = "envelope"
    assert data.chi(0.5 * data.observed) > 0.0 and data.chi(data.observed) == 0.0
    assert data.chi(late) < 0.2 * 0.5 * np.sum(data.whitened(data.observed - late) ** 2)  # an envelope has no cycles


def test_ranks_share_what_is_compared():
    """Of each kind the misfit is the same on any ranks, also on more ranks than windows: bit for bit."""
    data, late = observations(waves()), waves(20.0).ravel()
    data.emphasis.furthest_s, data.emphasis.period_s = 100.0, 200.0
    data.emphasis.weights = np.linspace(0.5, 1.0, len(data.paths))
    data.emphasis.left_out = np.arange(len(data.paths)) == 2

    def alone(size, parts):
        """A rank's communicator: what the others say is what they said."""
        return [
            SimpleNamespace(rank=rank, size=size, allgather=lambda mine: parts.append(mine) or parts)
            for rank in range(size)
        ]

    def on_ranks(size, ask):
        """What the last rank finds, who hears all others."""
        said = []
        found = [ask(comm) for comm in alone(size, said)]
        return found[-1]

    order, _ = schedule(first_misfit="arrival_time")
    skipping = waves(110.0).ravel()
    for size in (1, 3, 2 * len(data.paths)):
        for data.emphasis.misfit in ("waveform", "arrival_time", "envelope"):
            assert on_ranks(size, lambda comm: data.chi(late, comm)) == data.chi(late) > 0.0
        data.emphasis.misfit = "waveform"
        assert on_ranks(size, data.weighted_norm) == data.weighted_norm() > 0.0
        found = on_ranks(size, lambda comm: data.of_windows(Observations.white_squares, late, comm))
        assert np.array_equal(found / data.independent, data.window_misfits(late))
        for period_s in (0.0, 250.0):
            alone_finds = order.left_out(skipping, period_s)
            shared, _ = schedule(first_misfit="arrival_time")

            def left_out(comm, shared=shared, period_s=period_s):
                shared.comm = comm
                return shared.left_out(skipping, period_s)

            found = on_ranks(size, left_out)
            assert found.dtype == bool and np.array_equal(found, alone_finds)
        assert alone_finds.shape == (len(data.paths),) and order.left_out(skipping, 0.0).any()


def test_long_periods_may_compare_other_things_than_waveforms():
    order, data = schedule(first_misfit="arrival_time")
    assert order.misfit(0.0) == ("waveform", 0.0) and order.misfit(250.0) == ("arrival_time", 125.0)
    late = waves()
    late[5], late[7] = waves(110.0)[5], np.random.default_rng(1).normal(size=late.shape[1])
    assert np.flatnonzero(order.left_out(late.ravel(), 0.0)).tolist() == [5]  # whose cycles are skipped
    assert np.flatnonzero(order.left_out(late.ravel(), 250.0)).tolist() == [7]  # which no shift makes alike
    late[3] = -waves()[3]  # of the other sign
    assert np.flatnonzero(order.left_out(late.ravel(), 0.0)).tolist() == [3, 5]
    assert np.flatnonzero(order.left_out(late.ravel(), 250.0)).tolist() == [3, 7]
    late[3], late[6] = waves()[3], waves(140.0)[6]
    assert np.flatnonzero(order.left_out(late.ravel(), 250.0)).tolist() == [6, 7]
    assert data.emphasis == Emphasis()
    order, _ = schedule(first_misfit="envelope")
    assert order.misfit(250.0) == ("envelope", 0.0) and not order.left_out(late.ravel(), 250.0).any()


@pytest.fixture(scope="module")
def skipping(small_config):
    """An Earth so far from the starting model that cycles are skipped."""
    return (
        small_config.replaced("target", checkerboard_amplitude=0.0, plume_amplitude=0.0, random_rms=0.03)
        .replaced("prior", strength=0.03)
        .replaced("modes", shortest_period_s=100.0)
        .replaced("data", filter_periods_s=(400.0, 250.0, 120.0, 100.0), sample_interval_s=15.0)
        .replaced("inversion", max_iterations=5, precision="float64")
        .replaced("assembly", checkpoint_minutes=0.0)
    )


def run_of(config, folder, **inversion):
    there = config.replaced("run", directory=str(folder)).replaced("inversion", **inversion)
    return start.run(there, MPI.COMM_SELF, report=False)


def test_an_earth_that_skips_cycles_is_found_by_long_periods_first(skipping, tmp_path):
    record = run_of(skipping, tmp_path / "first", first_misfit="waveform")
    other = run_of(skipping, tmp_path / "all", long_periods_first=False, max_iterations=len(record.iterations) - 1)
    periods = [entry.period_s for entry in record.iterations[1:]]
    assert (
        periods[0] == pytest.approx(316.2, abs=0.1) and periods[-1] == 0.0 and periods == sorted(periods, reverse=True)
    )
    assert not any(entry.period_s or entry.left_out for entry in other.iterations)
    print(record.judgement.fit, other.judgement.fit, record.correlation.overall, other.correlation.overall)
    assert record.judgement.fit < 1.1 and record.correlation.overall > other.correlation.overall
    # Misfits are those of all windows and periods, whatever an iteration fits.
    assert record.iterations[0].chi_data == pytest.approx(other.iterations[0].chi_data)
    assert 2 * record.iterations[-1].chi_data / record.samples == pytest.approx(record.judgement.fit)


@pytest.mark.parametrize("kind", ["arrival_time", pytest.param("envelope", marks=pytest.mark.long)])
def test_an_earth_that_skips_cycles_is_found_by_other_misfits(skipping, tmp_path, kind):
    """One step of arrival times or envelopes does what several of waveforms do, and the end is the same."""
    far = skipping.replaced("inversion", first_misfit=kind, keep_hessians="all")
    folder = tmp_path / "run"
    record = run_of(far, folder)
    fitted = [(entry.misfit, bool(entry.period_s)) for entry in record.iterations[1:]]
    assert fitted[0] == (kind, True) and fitted[-1] == ("waveform", False)
    assert all((misfit == kind) == long for misfit, long in fitted)
    assert "first_misfit" in RunFolder(folder).read_record().config["inversion"]
    assert record.iterations[1].chi_data < 0.5 * record.iterations[0].chi_data
    assert record.judgement.fit < 1.1 and record.correlation.overall > 0.9
    first, last = (stored_emphasis(folder / name) for name in ("hessian-1.h5", "hessian.h5"))
    assert first.misfit == kind and last.misfit == "waveform" and last.text == ""
    problem = read_problem(folder / "hessian-1.h5", MPI.COMM_SELF)
    assert problem.compared == f"{COMPARED[kind]} beyond 316 s"


@pytest.mark.parametrize(
    ("moment", "iteration", "kind"),
    [
        ("assembly", 2, "waveform"),
        ("assembly", 2, "arrival_time"),
        pytest.param("accepted", 1, "waveform", marks=pytest.mark.long),
    ],
)
def test_killed_among_long_periods(skipping, tmp_path, moment, iteration, kind):
    once = skipping.replaced("paths", maximum=60).replaced("inversion", max_iterations=1, first_misfit=kind)
    once = once.replaced("target", random_rms=0.05)
    run_of(once, tmp_path / "undisturbed")
    here = once.replaced("run", directory=str(tmp_path / "run"))
    here = here.replaced("assembly", checkpoint_minutes=1e-4, subset=2)
    (tmp_path / "killed.toml").write_text(here.to_toml(), encoding="utf-8")
    done = command_line.program(PROGRAM, str(tmp_path / "killed.toml"), moment, str(iteration), **OF_OPEN_MPI)
    assert done.returncode == -9, done.stderr
    record = start.resume(here.run.directory, None, MPI.COMM_SELF, report=False)
    assert record.iterations[1].period_s > 300.0 and len(record.sessions) == 2
    models, whole = (RunFolder(tmp_path / name).read_model()["models"] for name in ("run", "undisturbed"))
    assert models.shape == whole.shape
    assert np.abs(models - whole).max() < 1e-9 * np.abs(whole).max()
