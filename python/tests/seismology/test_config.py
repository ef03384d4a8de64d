"""The configuration of a run: what is accepted, what it becomes, what a check finds, and what an error says."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest
from command_line import craton
from craton.errors import UserError
from craton.seismology.geometry.grid import Box
from craton.seismology.ground.media import Constant
from craton.seismology.ground.media_files import write_awp
from craton.seismology.ground.media_partition import write_partitions
from craton.seismology.sources.partitioned_source import partition_source
from craton.seismology.sources.srf import Subfault, write_srf
from craton.seismology.sources.streamed_source import StreamedSource
from craton.seismology.wave_run.check import examine, memory_bytes
from craton.seismology.wave_run.config import TABLES, SourceConfig, load_config, template
from craton.seismology.wave_run.setup import Setup, grid_of, rigidity_of
from rich.console import Console

GRID = "[grid]\nsize_km = [8, 6, 5]\nspacing_m = 100\n"
TIME = "[time]\nduration_s = 2\n"
SOURCE = """
[[source]]
position_m = [4000, 3000, 2000]
moment_Nm = [0, 0, 0, 1e18, 0, 0]
time_function = "gaussian"
sigma_s = 0.2
"""
FORCE = "[[source]]\nmode = 'force_z'\nposition_m = [4e3, 3e3, 0]\nforce_N = [1e9]\ntime_function = 'ricker'\nfrequency_hz = 1\n"
PLACED = GRID + "origin_lon_lat = [-118, 34]\n"


def written(folder: Path, *texts: str, name: str = "my.toml") -> Path:
    path = folder / name
    path.write_text("\n".join(texts))
    return path


def test_defaults(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = load_config(written(tmp_path, GRID, TIME, SOURCE, SOURCE))
    assert config.cells == (80, 60, 50) and len(config.sources) == 2 and config.attenuation is None
    assert config.run.directory == str(tmp_path / "my-run")
    assert config.boundary.top == "free" and config.boundary.absorbing == "pml"
    assert load_config(
        written(tmp_path, GRID.replace("size_km = [8, 6, 5]", "size_m = [8e3, 6e3, 5e3]"), TIME)
    ).cells == (80, 60, 50)


def test_what_is_written_out_reads_back_the_same(tmp_path):
    layers = "[media]\nkind = 'layers'\nlayers = [[1e3, 4e3, 2e3, 2600], [0, 6e3, 3e3, 2700]]"
    stations = "[receivers]\nstations = [['a', 1, 2], ['b', 3, 4, 5]]"
    config = load_config(written(tmp_path, GRID, TIME, "[attenuation]", layers, stations, SOURCE, FORCE))
    copy = written(tmp_path, config.to_toml(), name="copy.toml")
    assert dataclasses.replace(load_config(copy), path=config.path) == config
    assert config.replaced("time", dt_s=0.001).time.dt_s == 0.001


def test_the_template_explains_every_key_and_runs(tmp_path):
    shown = template()
    optional = shown[shown.index("# [topography]") :].partition("\n\n")[0].splitlines()
    tables = tomllib.loads(shown) | tomllib.loads("\n".join(line.removeprefix("# ") for line in optional))
    for name, table in TABLES.items():
        assert list(tables[name]) == [item.name for item in dataclasses.fields(table)]
    assert list(tables["source"][0]) == [item.name for item in dataclasses.fields(SourceConfig)]
    found = examine(load_config(written(tmp_path, template())))
    assert found.stations == 2 and found.warnings == ()  # it shows something at once


def test_a_run_that_records_nothing_is_noted(tmp_path):
    note = "nothing is recorded"
    assert any(note in text for text in examine(load_config(written(tmp_path, GRID, TIME, SOURCE))).warnings)
    recorded = written(tmp_path, GRID, TIME, SOURCE, "[movie]\nevery = 10\n")
    assert not any(note in text for text in examine(load_config(recorded)).warnings)


def test_names_of_tables_are_printed_with_their_brackets(tmp_path):
    console = Console(width=200, file=io.StringIO())
    console.print(examine(load_config(written(tmp_path, GRID, TIME, SOURCE))).table())
    assert (
        "allowed: [receivers] stations, [sgt] points, [spectra] band_hz, every of [snapshots] or [movie]"
        in console.file.getvalue()
    )


def test_a_time_of_the_run_is_shown(tmp_path):
    dated = written(tmp_path, GRID, TIME + "origin_time = 2019-07-06T03:19:53\n", SOURCE)
    assert ("t = 0", "2019-07-06T03:19:53 UTC") in examine(load_config(dated)).rows()
    assert "t = 0" not in dict(examine(load_config(written(tmp_path, GRID, TIME, SOURCE))).rows())


def source(text: str) -> str:
    return GRID + TIME + "[[source]]\n" + text.replace(";", "\n")


POINT, MOMENT, BELL = (
    "position_m = [1, 2, 3];",
    "moment_Nm = [1, 0, 0, 0, 0, 0];",
    "time_function = 'gaussian';sigma_s = 1;",
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GRID + TIME + "[grids]", r"unknown table \[grids\]; did you mean \[grid\]\? allowed: run, grid"),
        (GRID + "spacing = 3\n" + TIME, r"\[grid\] unknown key 'spacing'; did you mean 'spacing_m'\?"),
        (TIME, r"\[grid\] spacing_m is missing; allowed: m; side of a cell"),
        (GRID, r"\[time\] duration_s is missing"),
        ("[grid]\nspacing_m = 100\n" + TIME, r"\[grid\] no size; allowed: size_km or size_m"),
        (GRID + "size_m = [1, 2, 3]\n" + TIME, r"\[grid\] both size_km and size_m; allowed"),
        (GRID.replace("= 100", "= -1") + TIME, r"spacing_m = -1; allowed: a number in \[0.001, 1e\+06\] m"),
        (GRID.replace("= 100", "= 150") + TIME, r"size along x = 8000 m; allowed: a whole number of cells of spacing_m = 150 m"),
        (GRID.replace("[8, 6, 5]", "[8, 6]") + TIME, r"size_km = \[8, 6\]; allowed: a list of 3 numbers in .* km"),
        (GRID.replace("[8, 6, 5]", "[8, 6, nan]") + TIME, r"size_km = \[8, 6, nan\]; allowed: a list of 3 numbers"),
        (GRID + TIME + "[boundary]\nwidth_cells = 30", r"60 cells along y; allowed: 68 or more, 2 absorbing layers"),
        (GRID + TIME + "[boundary]\ntop = 'absorbing'\nabsorbing = 'none'", r'top = "absorbing" with absorbing = "none"'),
        (GRID + TIME + "[boundary]\nabsorbing = 'cerjan'", r'absorbing = "cerjan"; allowed: "pml" or "sponge" or "none"'),
        (GRID + TIME + "[boundary]\ndamping_speed_m_s = -1", r"damping_speed_m_s = -1; allowed: a number in .* m/s"),
        (GRID + TIME + "[boundary]\nfrequency_shift_per_s = nan", r"frequency_shift_per_s = nan; allowed: a number in .* 1/s"),
        (GRID + "origin_lon_lat = [34, -118]\n" + TIME, r"origin_lon_lat = .*; allowed: a latitude in \[-89, 89\] degrees"),
        (GRID + TIME + "[run]\ndecomposition = [2, 2]", r"decomposition = \[2, 2\]; allowed: a list of 3 whole numbers"),
        (GRID + TIME + "[run]\ndecomposition = [2, 2, 1]\nranks = 3", r"of 4 bricks; allowed: ranks = 3 of them"),
        (GRID + TIME + "[run]\ndecomposition = [2, 61, 1]", r"allowed: at most \[20, 15, 12\], for bricks of 4 cells a side"),
        (GRID + TIME + "[media]\nkind = 'layers'", r"\[media\] no layers; allowed: layers, or a file of them"),
        (GRID + TIME + "[media]\nkind = 'layers'\nlayers = [[1, 2]]", r"layers = \[\[1, 2\]\]; allowed: a list of layers"),
        (
            GRID + TIME + "[media]\nkind = 'layers'\nlayers = [[1, 3e3, 1.9, 2300], [0, 6, 3.5, 2.7]]",
            r"\[media\] layers: layer 1 has vs = 1.9 m/s; allowed: 20 or more \(m/s, not km/s\?\)",
        ),
        (
            GRID + TIME + "[media]\nkind = 'layers'\nlayers = [[1, 3e3, 0, 1000], [0, 6e3, 3.5e3, 2.7]]",
            r"layer 2 has rho = 2.7 kg/m\^3; allowed: 100 or more \(kg/m\^3, not g/cm\^3\?\)",
        ),
        (GRID + TIME + "[media]\nkind = 'file'", r"\[media\] file is missing"),
        (GRID + TIME + "[media]\nkind = 'file'\nfile = 'no.nc'", r'file = "no.nc": no such file'),
        (GRID + TIME + "[media]\nlayers = [[0, 2, 1, 3]]", r'layers with kind = "constant"'),
        (GRID + TIME + "[media]\nread = 'partitioned'", r'read = "partitioned"; allowed: with kind = "file"'),
        (GRID + TIME + "[attenuation]\nqs = '0.05 vz'", r'qs = "0.05 vz"; allowed: a number above 0, or one times vp or vs'),
        (GRID + TIME + "[attenuation]\nqs = -3", r"qs = -3; allowed: a number above 0"),
        (GRID + TIME + "[attenuation]\nqs = ''", r'only one of qp and qs is ""'),
        (GRID + TIME + "[attenuation]\nqs = ''\nqp = ''", r'qp = "" with constant media'),
        (GRID + TIME + "[attenuation]\nband_hz = [5, 1]", r"band_hz = \[5.0, 1.0\]; allowed: \[lower, higher\] Hz, more"),
        (GRID + TIME + "[attenuation]\nexponent = 2", r"exponent = 2; allowed: a number in \[0, 0.99\]"),
        (GRID + TIME + "[snapshots]\nfields = ['vq']", r'fields = \["vq"\]; allowed: a list of one or more of vx, vy'),
        (GRID + TIME + "[receivers]\nstations = [['a', 1]]", r"stations = .*; allowed: a list of stations"),
        (GRID + TIME + "[source]\nmode = 'force_x'", r"\[source\] is one table; allowed: \[\[source\]\]"),
        (source("mod = 1"), r"\[\[source\]\] 1 unknown key 'mod'; did you mean 'mode'\?"),
        (source("mode = 'force'"), r'\[\[source\]\] 1 mode = "force"; allowed: "moment_rate" or "force_x"'),
        (source(MOMENT + BELL), r"neither position_m and lon_lat; allowed: position_m, or lon_lat and depth_m"),
        (source(POINT + "lon_lat = [1, 2];" + MOMENT + BELL), r"both position_m and lon_lat"),
        (source(POINT + BELL), r"moment_rate with no moment; allowed: moment_Nm, or strike_dip_rake_deg with m0_Nm or mw"),
        (source(POINT + MOMENT + "force_N = [1];" + BELL), r"moment_rate with moment_Nm, force_N"),
        (source(POINT + "strike_dip_rake_deg = [1, 2, 3];" + BELL), r"needs a moment; allowed: one of m0_Nm \(above 0\) and mw"),
        (source(POINT + "mode = 'force_x';force_N = [1, 2, 3];" + BELL), r"force_x with force_N = .*; allowed: \[F\] in N"),
        (source(POINT + "mode = 'force_xyz';force_N = [1];" + BELL), r"force_xyz with force_N = .*; allowed: \[Fx, Fy, Fz\] in N"),
        (source("lon_lat = [1, 2];" + MOMENT + BELL), r"lon_lat needs a place on the Earth; allowed: \[grid\] origin_lon_lat"),
        (source(POINT + MOMENT), r"time_function is missing; allowed: gaussian, brune"),
        (source(POINT + MOMENT + "time_function = 'brune'"), r'"brune": period_s is missing; allowed: period_s above 0'),
        (source(POINT + MOMENT + BELL + "period_s = 1"), r'time_function = "gaussian": period_s is not of it'),
        (source(POINT + MOMENT + "time_function = 'liu';duration_s = 1;centre_s = 1"), r"centre_s = 1; allowed: of gaussian"),
        (source(POINT + MOMENT + "time_function = 'file'"), r"time_file is missing"),
        (source("fault_file = 'my.toml';" + POINT), r"fault_file with position_m; allowed: fault_file alone"),
        (source("fault_file = 'my.toml'"), r"fault_file needs a place on the Earth"),
        (PLACED + TIME + "[[source]]\nfault_file = 'my.toml'\n" + BELL.replace(";", "\n"), r"fault_file with time_function"),
        (PLACED + TIME + "[[source]]\nlon_lat = [1, 92]\n" + (MOMENT + BELL).replace(";", "\n"), r"allowed: a latitude"),
        (source(POINT + "mode = 'stress_xz';" + BELL), r"stress_xz with stress_Nm = \[\]; allowed: stress_Nm = \[S\] in N m"),
        (source(POINT + "mode = 'stress_xz';stress_Nm = [1];force_N = [1];" + BELL), r"with stress_Nm = .*, force_N; allowed"),
        (source(POINT + "mode = 'force_x';stress_Nm = [1];force_N = [1];" + BELL), r"and more; allowed: \[F\] in N"),
        (source(POINT + "moment_Nm = [1,0,0,0,0,0];stress_Nm = [1];" + BELL), r"moment_rate with moment_Nm, stress_Nm; allowed"),
        (
            source("position_m = [500, 500, 0];mode = 'stress_yz';stress_Nm = [1];" + BELL),
            r"stress_yz at z = 0; allowed: below the free surface, on which that stress is 0, or traction_yz",
        ),
        (source(POINT + "mode = 'traction_zz';force_N = [1];" + BELL) + "[boundary]\ntop = 'absorbing'", r"allowed: on a free"),
    ],
)  # fmt: skip
def test_wrong_settings(tmp_path, text, message):
    with pytest.raises(UserError, match=message) as caught:
        load_config(written(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "my.toml"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ((GRID, TIME + "dt_s = 0.01"), r"my.toml: \[time\] dt_s = 0.01: unstable, because vp dt / h = 6000 m/s x 0.01 s / 100 m = "
         r"0.6 is not below 0.4944; allowed: below 0.00823981 s, or 0 to have 0.00782782 s chosen"),
        ((GRID, TIME, "[media]\nvs = 0"), r"media: vs = 0 at .*\[media\] water = true"),
        ((GRID, TIME, "[media]\nrho = -2700"), r"media: rho = -2700 at .*; allowed: a density above 0"),
        ((GRID, TIME, "[media]\nvs = 5000"), r"media: vs = 5000 \(vp = 6000\) at .*; allowed: at most vp / sqrt\(2\)"),
        ((GRID, TIME, SOURCE.replace("2000]", "5001]")), r"\[\[source\]\] 1: at \(x, y, z\) = \(4000, 3000, 5001\) m, outside"),
        ((GRID, TIME, SOURCE.replace("0.2", "0.01")), r"point source 1: its spectrum reaches .* Hz .* carry 6.93 Hz at 5"),
        ((GRID, TIME, "[receivers]\nstations = [['a', 1, 2], ['b', nan, 2]]"),
         r"stations: receiver 2 \(b\) at \(x, y, z\) = \(nan, 2, 0\) m, and 0 others; allowed: finite"),
        ((GRID, TIME, "[receivers]\nstations = [['a', 1, 2], ['a', 3, 2]]"), r"station 'a' twice; allowed: a name of its own"),
        ((GRID, TIME, "[receivers]\nstations = [['a', 1, 6001]]"), r"receiver 1 \(a\) at .*; allowed: inside the grid"),
        ((GRID, TIME, "[receivers]\nfile = 'nan.csv'"), r"nan.csv: receiver 2 \(two\) at \(x, y, z\) = \(3, nan, 0\)"),
        ((GRID, TIME, "[sgt]\npoints = 'nan.txt'"), r"nan.txt: receiver 3 at .*nan.*; allowed: finite x, y and z"),
        ((GRID, TIME, "[media]\nkind = 'file'\nfile = 'other.nc'"), r"other.nc: vp over the dimensions \(a, b, c\), which do not"),
        ((GRID, TIME, "[media]\nkind = 'file'\nfile = 'nan.txt'"), r'file = ".*nan.txt": unknown ending; allowed: .nc'),
    ],
)  # fmt: skip
def test_what_would_keep_a_run_from_working(tmp_path, texts, message):
    """One line each, before the first step."""
    import h5netcdf

    written(tmp_path, "name,x_m,y_m\none,1,2\ntwo,3,nan\n", name="nan.csv")
    written(tmp_path, "1 2 3\n4 5 6\n7 8 nan\n", name="nan.txt")
    with h5netcdf.File(tmp_path / "other.nc", "w") as file:
        for name in "abc":
            file.dimensions[name] = 3
            file.create_variable(name, (name,), "f8")[...] = np.arange(3.0)
        for name in ("vp", "vs", "rho"):
            file.create_variable(name, tuple("abc"), "f4")[...] = np.ones((3, 3, 3))
    with pytest.raises(UserError, match=message) as caught:
        examine(load_config(written(tmp_path, *texts)))
    assert "\n" not in str(caught.value)


def test_a_check_says_what_the_grid_resolves(tmp_path):
    text = "[media]\nkind = 'layers'\nlayers = [[1000, 4000, 2000, 2600], [0, 6000, 3464, 2700]]\n"
    config = load_config(
        written(tmp_path, GRID, TIME, text, SOURCE, "[receivers]\nstations = [['a', 4000, 3000], ['b', 10, 3000]]")
    )
    found = examine(config, ranks=2, points_per_s=1e8)
    assert found.largest_dt_s == pytest.approx(6 / (7 * math.sqrt(3)) / (1 + 1 / 1024) * 100 / 6000)
    assert found.dt_s == pytest.approx(0.95 * found.largest_dt_s) and found.courant == pytest.approx(
        0.95 * 0.494389, rel=1e-5
    )
    assert found.steps == math.ceil(2 / found.dt_s)
    assert found.carried_hz == pytest.approx(2000 / 500) and found.range.slowest_vs == 2000
    assert found.source_points_per_wavelength == pytest.approx(2000 / (100 * found.highest_source_hz))
    assert found.time_s == pytest.approx(80 * 60 * 50 * found.steps / 1e8)
    assert found.ranks == (1, 2, 1) or found.ranks == (2, 1, 1)
    assert any("1 stations lie in an absorbing side: b" in note for note in found.warnings)
    assert any("longer than the run" in note for note in found.warnings)
    plain = found.to_dict()
    assert plain["points"] == 240000 and plain["lowest_qs"] is None
    assert any("4 Hz at 5 points per wavelength" in value for _, value in found.rows())
    assert found.table().row_count == len(found.rows()) + len(found.warnings)


def test_memory_counts_fields_media_halos_and_absorbing_sides(tmp_path):
    config = load_config(written(tmp_path, GRID, TIME, "[boundary]\nabsorbing = 'none'"))
    box = Box((0, 0, 0), (80, 60, 50))
    assert memory_bytes(box, config, False) == 52 * 96 * 64 * 54
    assert memory_bytes(box, config, True) == 80 * 96 * 64 * 54
    config = load_config(written(tmp_path, GRID, TIME, "[boundary]\nwidth_cells = 10"))
    sides = 2 * 10 * 60 * 50 + 2 * 10 * 80 * 50 + 10 * 80 * 60
    assert memory_bytes(box, config, False) == 52 * 96 * 64 * 54 + 24 * sides
    corner = Box((0, 0, 0), (15, 30, 50))
    sides = 10 * 30 * 50 + 10 * 15 * 50 + 10 * 15 * 30
    assert memory_bytes(corner, config, False) == 52 * 32 * 34 * 54 + 24 * sides


def test_attenuation_makes_the_step_smaller(tmp_path):
    """Waves of infinite frequency are faster than those at the reference frequency."""
    elastic = examine(load_config(written(tmp_path, GRID, TIME)))
    lossy = examine(load_config(written(tmp_path, GRID, TIME, "[attenuation]\nqp = 50\nqs = 40")))
    assert lossy.anelastic and not elastic.anelastic
    assert lossy.dt_s == pytest.approx(elastic.dt_s * 6000 / lossy.fastest_m_s)


@pytest.mark.parametrize(
    ("q", "band", "reference", "exponent", "factor"),
    [
        # what eight mechanisms fitted to the band have (craton::waves::relaxation)
        (5, (0.01, 25), 1, 0, 1.3556),
        (10, (0.01, 25), 1, 0, 1.1698),
        (50, (0.01, 25), 1, 0, 1.0326),
        (200, (0.01, 25), 1, 0, 1.0081),
        (20, (0.05, 5), 1, 0, 1.0537),
        (20, (0.01, 25), 25, 0, 1.0273),
        (50, (0.1, 10), 0.1, 0, 1.0417),
        (50, (0.01, 25), 1, 0.6, 1.0090),
    ],
)
def test_the_step_has_room_for_unrelaxed_waves(tmp_path, q, band, reference, exponent, factor):
    text = (
        f"[attenuation]\nqp = {q}\nqs = {q}\nband_hz = {list(band)}\nreference_frequency_hz = {reference}\n"
        f"exponent = {exponent}"
    )
    found = examine(load_config(written(tmp_path, GRID, TIME, text)))
    assert factor <= found.fastest_m_s / 6000 < factor + 0.3 / q


def test_sources_are_placed_and_turned(tmp_path):
    text = """
[[source]]
lon_lat = [-118, 34]
depth_m = 2500
strike_dip_rake_deg = [30, 90, 0]
mw = 6
time_function = "brune"
period_s = 0.3
[[source]]
mode = "force_xyz"
position_m = [1, 2, 3]
force_N = [1, 2, 3]
time_function = "step"
duration_s = 1
start_s = 0.5
"""
    config = load_config(written(tmp_path, PLACED, "origin_at = 'centre'\nazimuth_deg = 30\n", TIME, text))
    setup = Setup(config)
    moment, force = setup.points
    assert moment.position_m == pytest.approx((4000, 3000, 2500), abs=1e-6)
    # the fault strikes along x
    np.testing.assert_allclose(moment.tensor, np.array([0, 0, 0, 1, 0, 0]) * 10**18.1, atol=1e12)
    assert force.tensor == (1, 2, 3) and force.start_s == 0.5
    both = setup.sources(grid_of(config).box, 0.01)
    assert [one.kind for one in both] == ["moment", "force"]
    assert both[1].rates(0, 400, 0.01)[0, [0, 50, 399]] == pytest.approx([0, 0, 1])


def test_media_and_faults_from_files(tmp_path):
    config = load_config(written(tmp_path, PLACED, TIME, "[attenuation]\nqp = 200\nqs = 100\n"))
    grid = grid_of(config)
    write_awp(tmp_path / "m.bin", Constant(vp=5000, vs=2500, rho=2600), grid)
    file = f"[media]\nkind = 'file'\nfile = '{tmp_path / 'm.bin'}'\n"
    setup = Setup(load_config(written(tmp_path, PLACED, TIME, file, "[attenuation]\nqp = 200\nqs = 100\n")))
    found = setup.medium.sample(grid, Box((0, 0, 0), (2, 2, 2)))
    assert np.all(found.vp == 5000) and np.all(found.qs == 100)
    manifest = write_partitions(setup.medium, grid, (2, 1, 1), tmp_path / "media")
    file = f"[media]\nkind = 'file'\nread = 'partitioned'\nfile = '{manifest}'\n"
    lon, lat = grid.lon_lat(4000.0, 3000.0)
    none = np.empty(0, np.float32)
    rates = np.full(10, 0.5, np.float32)
    one = Subfault(float(lon), float(lat), 1000.0, 0.0, 90.0, 0.0, 1e6, 0.1, 0.02, (rates, none, none))
    write_srf(tmp_path / "fault.srf", [one])
    parts = partition_source(tmp_path / "fault.srf", tmp_path / "fault.h5", grid, rigidity_of(setup.medium, grid))
    moments = []
    for name in ("fault.srf", parts):
        fault = f"[[source]]\nfault_file = '{tmp_path / name}'\n"
        setup = Setup(load_config(written(tmp_path, PLACED, TIME, "[attenuation]\nqp = 200\nqs = 100\n", fault)))
        (source,) = setup.sources(grid.box, 0.01)
        moments.append(source.pattern[0, 3] * source.rates(0, 100, 0.01)[0].sum() * 0.01)
    assert isinstance(source, StreamedSource)
    # the partitioned one took mu from the file's medium, the other from the constant one
    assert moments[1] == pytest.approx(2600 * 2500**2 * 1e6 * 0.1, rel=1e-5)
    assert moments[0] == pytest.approx(2700 * 3464**2 * 1e6 * 0.1, rel=1e-5)
    setup = Setup(load_config(written(tmp_path, PLACED, TIME, file)))
    assert np.all(setup.medium.sample(grid, Box((0, 0, 0), (40, 60, 50))).vp == 5000)
    assert setup.medium.range(grid).lowest_qs == 100


def check(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return craton("waves", "check", path, *arguments, seconds=120)


def test_the_command_checks_and_ends_with_2_where_it_must(tmp_path):
    path = written(tmp_path, GRID, TIME, SOURCE)
    done = check(path, "--points-per-s", "2e8")
    assert done.returncode == 0, done.stderr
    assert "240,000 points" in done.stdout and "at 200 million points/s" in done.stdout
    assert math.prod(json.loads(check(path, "--ranks", "4", "--json").stdout)["ranks"]) == 4
    done = check(written(tmp_path, GRID, TIME + "dt_s = 0.01"))
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "dt_s = 0.01: unstable" in done.stderr
