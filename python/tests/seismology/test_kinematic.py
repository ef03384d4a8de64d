"""Finite faults: SRF files, and sources that are read in parts of space and time."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.seismology.geometry.grid import Grid, bricks
from craton.seismology.geometry.projection import projection_about
from craton.seismology.sources.kinematic import read_kinematic
from craton.seismology.sources.partitioned_source import partition_source
from craton.seismology.sources.srf import Plane, Subfault, iterate_hdf5, iterate_srf, read_planes, write_srf
from craton.seismology.sources.streamed_source import StreamedSource

LON, LAT = -118.0, 34.0
GRID = Grid((200, 160, 80), 100.0, projection_about("azimuthal_equidistant", LON, LAT), 20.0, (10000.0, 8000.0))
NONE = np.empty(0, np.float32)

VERSION_1 = """1.0
# a comment
PLANE 1
 -118.0 34.0 2 1 2.0 1.0
 30 60 0.5 0 0.5
POINTS 2
 -118.0 34.0 5.0 30 60 1.0e10 0.50 0.1
 90 30 3 0 0 10 2
 1.0 2.0
 3.0
 10 20
 -118.001 34.001 5.0 30 60 1.0e10 0.00 0.1
 0 0 0 0 0 0 0
"""


def rigidity(x, y, z):
    return np.full(x.shape, 3.0e10), np.full(x.shape, 2.0e10)


def subfaults(count: int, samples: int, *, seed: int = 3, known: bool = True) -> list[Subfault]:
    """A fault of points in the grid's middle that begin one after the other."""
    random = np.random.default_rng(seed)
    found = []
    for n in range(count):
        t = np.arange(samples) + 0.5
        rise = np.sin(np.pi * t / samples).astype(np.float32) * np.float32(random.uniform(0.5, 2))
        across = (0.3 * rise[: samples // 2]) if n % 3 == 0 else NONE
        x, y = random.uniform(500, 19500), random.uniform(500, 15500)
        lon, lat = GRID.lon_lat(x, y)
        found.append(
            Subfault(
                float(lon), float(lat), float(random.uniform(100, 7900)), *random.uniform((0, 10, -180), (360, 90, 180)),
                area_m2=1e6, start_s=float(random.uniform(0, 12)), sample_s=0.05 if n % 4 else 0.02,
                slip_rates_m_s=(rise, across, NONE), slips_m=(1.0, 0.3 if len(across) else 0.0, 0.0),
                vs_m_s=3000.0 if known else -1.0, density_kg_m3=2500.0 if known else -1.0,
            )
        )  # fmt: skip
    return found


@pytest.fixture(scope="module")
def fault(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("fault") / "fault.srf"
    write_srf(path, subfaults(60, 60), [Plane(LON, LAT, 12, 10, 12.0, 10.0, 30.0, 60.0, 0.5, 6.0, 5.0)])
    return path


def by_place(position: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    return np.lexsort((*pattern.T, *position.T))


def test_version_1_as_it_stands(tmp_path):
    path = tmp_path / "old.srf"
    path.write_text(VERSION_1)
    first, second = iterate_srf(path)
    assert (first.longitude_deg, first.latitude_deg, first.depth_m) == (-118.0, 34.0, 5000.0)
    assert (first.area_m2, first.start_s, first.sample_s, first.rake_deg) == (1e6, 0.5, 0.1, 90.0)
    assert first.slips_m == pytest.approx((0.3, 0, 0.1))
    np.testing.assert_allclose(first.slip_rates_m_s[0], [0.01, 0.02, 0.03])
    assert len(first.slip_rates_m_s[1]) == 0
    np.testing.assert_allclose(first.slip_rates_m_s[2], [0.1, 0.2])
    assert first.mu is None and [len(rates) for rates in second.slip_rates_m_s] == [0, 0, 0]
    assert read_planes(path) == [Plane(-118.0, 34.0, 2, 1, 2.0, 1.0, 30, 60, 0.5, 0, 0.5)]


def test_what_is_written_reads_back(tmp_path):
    written = subfaults(7, 20)
    write_srf(tmp_path / "new.srf", written)
    read = list(iterate_srf(tmp_path / "new.srf"))
    assert len(read) == 7 and not list(tmp_path.glob("*.partial"))
    for a, b in zip(written, read, strict=True):
        for name in ("longitude_deg", "latitude_deg", "depth_m", "strike_deg", "dip_deg", "rake_deg", "area_m2", "start_s",
                     "sample_s", "vs_m_s", "density_kg_m3"):  # fmt: skip
            assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-8), name
        for one, other in zip(a.slip_rates_m_s, b.slip_rates_m_s, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
    assert read[0].mu == pytest.approx(2500 * 3000**2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("1.0\n", "3.0\n"), r"old.srf:1: version '3.0'; allowed: 1.0 or 2.0"),
        (("POINTS 2", "POINTS x"), r"old.srf:6: POINTS 'x'; allowed: a whole number"),
        (("POINTS 2", "POINTS ²"), r"old.srf:6: POINTS '²'; allowed: a whole number"),
        (("POINTS 2", "POINTS " + 5000 * "9"), r"old.srf:6: POINTS '9{60}\.\.\.'; allowed: a whole number"),
        (("POINTS 2", "SPOTS 2"), r"old.srf:6: 'SPOTS 2'; allowed: PLANE n or POINTS n"),
        (("POINTS 2", "POINTS 3"), r"old.srf:13: 'the end of the file'; allowed: 8 finite numbers"),
        ((" 90 30 3", " 90 nan 3"), r"old.srf:8: .*; allowed: 7 finite numbers: rake"),
        ((" 90 30 3", " 90 30 4"), r"old.srf:12: 9 slip rates|old.srf:12: .* slip rates; allowed: 6"),
        ((" 1.0 2.0", " 1.0 nan"), r"old.srf:11: a slip rate that is no finite number; allowed: 5 finite numbers"),
        (("1.0e10 0.50", "-1.0 0.50"), r"old.srf:7: area = -1 cm\^2, dt = 0.1 s; allowed: above 0"),
        (("-118.0 34.0 5.0 30", "-118.0 134.0 5.0 30"), r"old.srf:7: lon = -118, lat = 134; allowed: degrees"),
    ],
)
def test_wrong_files(tmp_path, change, message):
    path = tmp_path / "old.srf"
    path.write_text(VERSION_1.replace(*change, 1))
    with pytest.raises(UserError, match=message) as caught:
        list(iterate_srf(path))
    assert "\n" not in str(caught.value)


def test_moment_tensors_are_of_area_rigidity_and_slip(tmp_path):
    one = subfaults(1, 40)[0]
    write_srf(tmp_path / "one.srf", [one])
    points = read_kinematic(tmp_path / "one.srf", GRID, rigidity)
    assert len(points.series) == 2  # along and across the rake
    dt, steps = 0.03, 600
    moment = points.pattern * (points.rates(0, steps, dt).sum(axis=1, dtype=float) * dt)[:, None]
    scalar = np.sqrt(0.5 * (moment[:, :3] ** 2).sum(axis=1) + (moment[:, 3:] ** 2).sum(axis=1))
    mu = 2500 * 3000**2
    expected = [mu * 1e6 * rates.sum(dtype=float) * one.sample_s for rates in one.slip_rates_m_s[:2]]
    np.testing.assert_allclose(scalar, expected, rtol=1e-5)
    np.testing.assert_allclose(moment[:, :3].sum(axis=1), 0, atol=1e-6 * scalar.max())


def test_rigidity_is_the_mediums_where_the_file_has_none_and_faults_may_open(tmp_path):
    closed = subfaults(1, 20, known=False)[0]
    write_srf(tmp_path / "one.srf", [closed])
    points = read_kinematic(tmp_path / "one.srf", GRID, rigidity)
    assert np.abs(points.pattern).max() <= 2.0e10 * 1e6 * 1.0001
    path = tmp_path / "old.srf"
    path.write_text(VERSION_1)
    points = read_kinematic(path, GRID, rigidity)
    # the opening part: lambda and 2 mu along the normal, whose trace is 3 lambda + 2 mu
    assert points.pattern[1, :3].sum() == pytest.approx(1e6 * (3 * 3.0e10 + 2 * 2.0e10))


def test_a_subfault_outside_the_grid_is_refused(tmp_path):
    path = tmp_path / "old.srf"
    path.write_text(VERSION_1.replace("-118.001 34.001", "-117.0 34.001"))
    with pytest.raises(UserError, match=r"subfault 2 at lon -117, .* outside the grid; allowed: x in \[0, 20000\]"):
        read_kinematic(path, GRID, rigidity)


def test_steps_take_the_mean_of_what_the_file_says(tmp_path):
    """Against fine sums over the straight lines between samples, which fall to 0 one interval beyond the ends."""
    write_srf(tmp_path / "some.srf", subfaults(4, 9))
    points = read_kinematic(tmp_path / "some.srf", GRID, rigidity)
    dt = 0.033
    rates = points.rates(0, 420, dt)
    for n, series in enumerate(points.series):
        at = points.begin_s[n] + np.arange(-1, len(series) + 1) * points.sample_s[n]
        fine = (np.arange(420 * 300) + 0.5) * dt / 300
        expected = np.interp(fine, at, [0, *series, 0], left=0, right=0).reshape(420, 300).mean(axis=1)
        np.testing.assert_allclose(rates[n], expected, atol=2e-4 * series.max())


@pytest.mark.parametrize("dt", [0.013, 0.02, 0.11])
def test_streamed_in_parts_is_all_at_once(tmp_path, fault, dt):
    """Bit for bit, for every brick, in steps of any length; together the bricks have every point."""
    steps = int(20 / dt)
    target = partition_source(
        fault, tmp_path / "parts.h5", GRID, rigidity, tile_cells=32, window_s=1.5, buffer_bytes=4000
    )
    seen = 0
    for box in bricks(GRID.cells, (2, 2, 1)):
        whole = read_kinematic(fault, GRID, rigidity, box=box, margin_cells=0)
        with StreamedSource(target, GRID, dt, box=box, margin_cells=0, memory_bytes=2**24) as streamed:
            assert len(streamed.position_m) == len(whole.series) > 0
            seen += len(whole.series)
            streamed.steps_at_a_time = 37
            parts = [rates for _, rates in streamed.blocks(0, steps)]
            a, b = by_place(whole.position_m, whole.pattern), by_place(streamed.position_m, streamed.pattern)
            np.testing.assert_array_equal(whole.position_m[a], streamed.position_m[b])
            np.testing.assert_array_equal(whole.pattern[a], streamed.pattern[b])
            joined = np.concatenate(parts, axis=1)
            np.testing.assert_array_equal(whole.rates(0, steps, dt)[a], joined[b])
            # a run that goes on from somewhere else meets the same bits
            np.testing.assert_array_equal(joined[:, 101:120], streamed.rates(101, 19, dt))
            assert joined.any(axis=1).all()
    assert seen == 60 + 20


def test_memory_stays_below_the_bound(tmp_path):
    """Of a source whose slip rates in the file and in steps are 15 MB, without what interpolates them."""
    path = tmp_path / "large.h5"
    count, samples = 400, 4800
    random = np.random.default_rng(5)
    lon, lat = GRID.lon_lat(random.uniform(0, 20000, count), random.uniform(0, 16000, count))
    with h5py.File(path, "w") as file:
        file["longitude_deg"], file["latitude_deg"] = lon, lat
        same = {"depth_m": 4e3, "strike_deg": 0, "dip_deg": 90, "rake_deg": 0, "area_m2": 1e4, "start_s": 0}
        for name, value in {**same, "vs_m_s": 3000, "density_kg_m3": 2500}.items():
            file[name] = np.full(count, float(value))
        file["slip_rate_m_s"] = random.uniform(0, 1, (count, samples)).astype(np.float32)
        file.attrs["sample_s"] = 0.01
    assert sum(one.slips_m[0] for one in iterate_hdf5(path)) > 0
    bound = 12 * 2**20
    target = partition_source(path, tmp_path / "parts.h5", GRID, rigidity, window_s=1.0, buffer_bytes=2**20)
    whole = read_kinematic(path, GRID, rigidity)
    order = by_place(whole.position_m, whole.pattern)
    dt, steps = 0.01, 4900
    expected = whole.rates(0, steps, dt)[order].sum(axis=1, dtype=float)
    tracemalloc.start()
    with StreamedSource(target, GRID, dt, memory_bytes=bound) as streamed:
        assert 1 < streamed.steps_at_a_time < steps / 3
        total = np.zeros(len(streamed.position_m))
        for _, rates in streamed.blocks(0, steps):
            total += rates.sum(axis=1, dtype=float)
        order = by_place(streamed.position_m, streamed.pattern)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < bound
    np.testing.assert_allclose(total[order], expected, rtol=1e-6)


def test_bounds_that_cannot_be_kept(tmp_path, fault):
    with pytest.raises(UserError, match=r"more than 0 MiB of slip rates in one brick; allowed: more memory_mb"):
        read_kinematic(fault, GRID, rigidity, memory_bytes=1000)
    target = partition_source(fault, tmp_path / "parts.h5", GRID, rigidity)
    with pytest.raises(UserError, match=r"need .* MiB for a single step; allowed: a bound above that"):
        StreamedSource(target, GRID, 0.01, memory_bytes=2**20)
    with (
        StreamedSource(target, GRID, 0.01, memory_bytes=2**24) as streamed,
        pytest.raises(UserError, match=r"allowed: \d+ in 16 MiB"),
    ):
        streamed.rates(0, 2**21, 0.01)


def test_a_partitioned_source_belongs_to_its_grid(tmp_path, fault):
    target = partition_source(fault, tmp_path / "parts.h5", GRID, rigidity)
    other = Grid((200, 160, 80), 100.0, GRID.projection, 21.0, GRID.origin_m)
    with pytest.raises(UserError, match="written for a grid placed otherwise; allowed: that place"):
        StreamedSource(target, other, 0.01)
    with pytest.raises(UserError, match="no such file; allowed: a partitioned source"):
        StreamedSource(tmp_path / "none.h5", GRID, 0.01)
    (tmp_path / "text.h5").write_text("text")
    with pytest.raises(UserError, match="not a complete HDF5 file"):
        StreamedSource(tmp_path / "text.h5", GRID, 0.01)
    with h5py.File(tmp_path / "empty.h5", "w"):
        pass
    with pytest.raises(UserError, match="not a partitioned source"):
        StreamedSource(tmp_path / "empty.h5", GRID, 0.01)
    with pytest.raises(UserError, match="no dataset longitude_deg"):
        read_kinematic(tmp_path / "empty.h5", GRID, rigidity)


def test_nothing_is_left_where_writing_fails(tmp_path, fault):
    (tmp_path / "parts.h5").mkdir()
    with pytest.raises(UserError, match=r"parts.h5: cannot be written"):
        partition_source(fault, tmp_path / "parts.h5", GRID, rigidity)
    assert not list(tmp_path.glob("*.partial"))
    quiet = subfaults(1, 4)[0]
    write_srf(tmp_path / "still.srf", [Subfault(**{**vars(quiet), "slip_rates_m_s": (NONE, NONE, NONE)})])
    with pytest.raises(UserError, match="no subfault slips"):
        partition_source(tmp_path / "still.srf", tmp_path / "still.h5", GRID, rigidity)
