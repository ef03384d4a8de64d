"""The configuration and the catalogues: what is accepted, what it becomes, and what an error says."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import numpy as np
import pytest
from craton.errors import UserError
from craton.tomography.config.load import TABLES, check_ranks, load_config, load_prior, template
from craton.tomography.config.prior import PriorConfig
from craton.tomography.config.values import at_depth
from craton.tomography.data.catalogue import EVENT_COLUMNS, STATION_COLUMNS, read_events, read_stations

EXAMPLE = Path(__file__).parents[3] / "examples" / "global"

MINIMAL = """
[events]
file = "events.csv"
[stations]
file = "stations.csv"
[target]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events.csv").touch()
    (tmp_path / "stations.csv").touch()
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "my.toml"
    path.write_text(text)
    return path


def test_defaults_and_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(folder, MINIMAL)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    config = load_config(path)
    assert config.events.file == str(folder / "events.csv")
    assert config.run.directory == str(folder / "elsewhere" / "my-run")
    assert config.prior == PriorConfig()
    assert config.data.filter_periods_s == (400.0, 250.0, 100.0, 80.0)


def test_toml_of_a_configuration_reads_back_the_same(folder: Path) -> None:
    config = load_config(written(folder, MINIMAL + "[prior]\nstrength = [[0, 0.05], [660, 0.02]]"))
    (folder / "sub").mkdir()
    copy = folder / "sub" / "copy.toml"
    copy.write_text(config.to_toml())
    assert dataclasses.replace(load_config(copy), path=config.path) == config


def test_template_explains_every_key_with_its_default(folder: Path) -> None:
    text = template()
    tables = tomllib.loads(text)
    assert list(tables) == list(TABLES)
    for name, table in TABLES.items():
        assert list(tables[name]) == [item.name for item in dataclasses.fields(table)]
    config = load_config(written(folder, text))
    assert config.prior == PriorConfig()


def test_the_example_is_valid() -> None:
    config = load_config(EXAMPLE / "demo.toml")
    events = read_events(config.events.file)
    stations = read_stations(config.stations.file)
    assert len(events) == 60 and len(stations) == 120
    assert events.moment_tensor_Nm.shape == (60, 6)
    assert np.count_nonzero(events.depth_km > 300) >= 5
    assert config.paths.maximum >= 800
    # isotropic parts of centroid moment tensors are constrained to zero
    trace = events.moment_tensor_Nm[:, :3].sum(axis=1)
    assert np.all(np.abs(trace) < 0.02 * np.abs(events.moment_tensor_Nm).max(axis=1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[prior]\nstrenght = 1",
            r"\[prior\] unknown key 'strenght'; did you mean 'strength'\? allowed: kind, correlation_km",
        ),
        ("[priors]", r"unknown table \[priors\]; did you mean \[prior\]\? allowed: run, earth"),
        ("[prior]\nstrength = -1", r"\[prior\] strength = -1; allowed: a number in \[1e-06, 1\]"),
        ("[prior]\nstrength = 1e-300", r"strength = 1e-300; allowed: a number in \[1e-06, 1\]"),
        ("[prior]\nstrength = [[0, 1e-300]]", r"strength = \[\[0, 1e-300\]\]; allowed: a number in"),
        ("[prior]\ncorrelation_km = 1e-300", r"correlation_km = 1e-300; allowed: a number in \[1, 20000\] km"),
        ("[prior]\ncorrelation_depth_km = 0.1", r"correlation_depth_km = 0.1; allowed: a number in \[1, 3000\] km"),
        ("[prior]\nnugget = 1e-300", r"nugget = 1e-300; allowed: a number in \[1e-12, 1\]"),
        ("[data]\nnoise = 1e-30", r"noise = 1e-30; allowed: a number in \[0.0001, 10\]"),
        (f"[data]\nnoise = 1{'0' * 400}", r"noise = 10*\.\.\.; allowed: a number in \[0.0001, 10\]"),
        (f"[data]\nnoise = 1{'0' * 5000}", r"not valid TOML: "),
        (f"[data]\nnoise = {'[' * 9000}", r"not valid TOML: "),
        ("[data]\nfilter_periods_s = [1e9, 250, 100, 80]", r"filter_periods_s .*100000 >= T1"),
        ("[data]\nfile = 'a\\u0000b'".replace("'", '"'), r"\[data\] file = .*; allowed: .* without the character NUL"),
        (f"[data]\nfile = '{'a' * 300}'", r"\[data\] file = .*: File name too long; allowed: a file"),
        ("[data]\nfile = '.'", r'\[data\] file = ".": / .* is a directory; allowed: a file'.replace("/ ", "/")),
        ("[run]\ndirectory = '~no-such-user/x'", r"\[run\] directory = .*; allowed: a folder"),
        ("[basis]\nradial_depths_km = [0, 1e-9, 9, 2891]", r"radial_depths_km .*1 km apart"),
        (
            "[prior]\nstrength = [[600, 0.1], [100, 0.1]]",
            r"strength = \[\[600, 0.1\], \[100, 0.1\]\]; allowed: .*increasing",
        ),
        ("[prior]\ncorrelation_km = nan", r"correlation_km = nan; allowed: a number"),
        ("[run]\nseed = 1.5", r"\[run\] seed = 1.5; allowed: a whole number"),
        ("[run]\nseed = true", r"\[run\] seed = true; allowed: a whole number"),
        ("[earth]\nmodel = 'ak135'", r'model = "ak135"; allowed: "prem_isotropic" or "prem_iso_light" or "prem"'),
        ("[earth]\ndispersion = 1", r"dispersion = 1; allowed: true or false"),
        ("[data]\nfilter_periods_s = [80, 100, 250, 400]", r"filter_periods_s .*; allowed: four decreasing periods"),
        ("[data]\nfilter_periods_s = [400, 250, 100, 60]", r"ends at 60 s; allowed: .*shortest_period_s = 80 s"),
        ("[data]\nsample_interval_s = 50", r"sample_interval_s = 50; allowed: at most .* 40 s"),
        ("[data]\nkind = 'file'", r"\[data\] file is missing"),
        ("[data]\nfile = 'no.h5'", r'\[data\] file = "no.h5": no such file /.*no.h5'),
        ("[data]\nslowest_km_s = 9", r"slowest_km_s = 9; allowed: less than fastest_km_s = 9"),
        ("[paths]\nmin_distance_deg = 170", r"min_distance_deg = 170; allowed: less than max_distance_deg = 155"),
        (
            "[basis]\nradial_depths_km = [0, 100, 2891]",
            r"radial_depths_km .*; allowed: increasing depths in km, at least four",
        ),
        ("[basis]\nlateral_level = 9", r"lateral_level = 9; allowed: a whole number in \[1, 8\]"),
        ("[inversion]\nprecision = 'half'", r'precision = "half"; allowed: "float32" or "float64"'),
        (
            "[inversion]\nsolve_precision = 'half'",
            r'solve_precision = "half"; allowed: "refined" or "float64" or "float32"',
        ),
        (
            "[inversion]\nin_place = true\nsolve_precision = 'float64'",
            r'in_place = true with solve_precision = "float64"; allowed: "refined" or "float32"',
        ),
        ("[synthetics]\nstep_deg = 0.7", r"step_deg = 0.7; allowed: degrees that divide 180"),
        ("[inversion]\nstep_percent = -1", r"step_percent = -1; allowed: 0, or a number in \[0.001, 1000\] %"),
        ("[inversion]\nstep_halvings = -1", r"step_halvings = -1; allowed: a whole number in \[0, 30\]"),
        ("[inversion]\nkeep_hessians = 'some'", r'keep_hessians = "some"; allowed: "last" or "all" or "none"'),
        (
            "[assembly]\ncheckpoint_minutes = 1e-9",
            r"checkpoint_minutes = 1e-09; allowed: 0, or a number in \[0.0001, 1",
        ),
        ("[assembly]\ncheckpoint_minutes = inf", r"checkpoint_minutes = inf; allowed: 0, or a number in .* minutes"),
        ("[assembly]\ncompress = -1e-4", r"compress = -0.0001; allowed: a number in \[0, 0.1\]"),
        ("[assembly]\ncompress = 1.5", r"compress = 1.5; allowed: a number in \[0, 0.1\]"),
        ("[assembly]\ncompress = true", r"compress = true; allowed: a number in"),
        ("[run", r"not valid TOML: "),
    ],
)
def test_wrong_settings(folder: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        load_config(written(folder, MINIMAL + text))
    assert str(caught.value).startswith(str(folder / "my.toml"))
    assert "\n" not in str(caught.value)


def test_knots_may_lie_1_km_apart_though_their_difference_is_rounded_to_less(folder: Path) -> None:
    assert 2.3 - 1.3 < 1
    config = load_config(written(folder, MINIMAL + "[basis]\nradial_depths_km = [0, 1.3, 2.3, 2891]"))
    assert config.basis.radial_depths_km == (0, 1.3, 2.3, 2891)


def test_missing_settings(folder: Path) -> None:
    with pytest.raises(UserError, match=r"\[stations\] file is missing"):
        load_config(written(folder, "[events]\nfile = 'events.csv'\n[target]"))
    with pytest.raises(UserError, match=r"the table \[target\] is missing"):
        load_config(written(folder, MINIMAL.replace("[target]", "")))
    with pytest.raises(UserError, match="prior = 3 is not a table"):
        load_config(written(folder, "prior = 3\n" + MINIMAL))
    with pytest.raises(UserError, match="no such file"):
        load_config(folder / "none.toml")
    with pytest.raises(UserError, match="cannot be read"):
        load_config(folder)


def test_replaced_settings_are_checked_too(folder: Path) -> None:
    config = load_config(written(folder, MINIMAL))
    assert config.replaced("assembly", threads=3).assembly.threads == 3
    with pytest.raises(UserError, match="threads = 0; allowed"):
        config.replaced("assembly", threads=0)


def test_amplitudes_are_none_or_not_negligible(folder: Path) -> None:
    text = MINIMAL + "checkerboard_amplitude = {}"
    for amplitude in (0, 0.02, -0.02):
        target = load_config(written(folder, text.format(amplitude))).target
        assert target is not None and target.checkerboard_amplitude == amplitude
    for amplitude in (1e-300, -0.3, "nan"):
        with pytest.raises(UserError, match="0, or a number of size 1e-06 to 0.2 and either sign"):
            load_config(written(folder, text.format(amplitude)))


@pytest.mark.parametrize(
    ("block", "ranks", "allowed"),
    [(168, 1, ""), (168, 4, ""), (168, 17, ""), (168, 19, "at most 4"), (4, 19, ""), (1, 1009, "fewer ranks")],
)
def test_every_rank_owns_a_block(folder: Path, block: int, ranks: int, allowed: str) -> None:
    config = load_config(
        written(folder, MINIMAL + f"[basis]\nlateral_level = 2\nradial = 4\n[inversion]\nblock = {block}")
    )
    if allowed:
        with pytest.raises(UserError, match=rf"\[inversion\] block = {block}: more ranks than blocks.*{allowed}"):
            check_ranks(config, ranks)
    else:
        check_ranks(config, ranks)


def test_radial_anisotropy_makes_twice_as_many_blocks(folder: Path) -> None:
    text = MINIMAL + "[basis]\nlateral_level = 2\nradial = 4\nxi = {}\n[inversion]\nblock = 4"
    check_ranks(load_config(written(folder, text.format("true"))), 23)
    with pytest.raises(UserError, match="because 168 unknowns make 43 x 21 of 4 in the packed Hessian"):
        check_ranks(load_config(written(folder, text.format("false"))), 23)


def test_another_prior(folder: Path) -> None:
    base = PriorConfig(correlation_km=500.0)
    assert load_prior("strength=0.05,nugget=0.01", base) == PriorConfig(
        correlation_km=500.0, strength=0.05, nugget=0.01
    )
    layered = load_prior("strength=[[0, 0.06], [600, 0.02]],correlation_km=800", base)
    assert layered.correlation_km == 800.0
    assert at_depth(layered.strength, 300.0) == pytest.approx(0.04)
    assert at_depth(layered.strength, 2000.0) == 0.02
    path = written(folder, "[prior]\nstrength = 0.01")
    assert load_prior(str(path), base) == PriorConfig(strength=0.01)
    for wrong in (
        "strength=0",
        "strenght=1",
        "strength=",
        "",
        str(folder / "none.toml"),
        str(written(folder, "[run]")),
    ):
        with pytest.raises(UserError):
            load_prior(wrong, base)


GOOD_EVENT = "A1,2018-01-01T00:00:00,10,20,30,2,1e18,-1e18,0,0,0,1e17,somewhere"
GOOD_STATION = "II.ABC,10,20,100"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            GOOD_EVENT.replace(",10,", ",95,"),
            r":3: event 'A1': latitude_deg = 95; allowed: a number in \[-90, 90\] degrees",
        ),
        (GOOD_EVENT.replace(",20,", ",400,"), r"longitude_deg = 400; allowed"),
        (GOOD_EVENT.replace(",30,", ",-3,"), r"depth_km = -3; allowed: a number in \[0, 800\] km"),
        (
            GOOD_EVENT.replace("1e18", "0").replace("1e17", "0"),
            r":3: event 'A1': the moment tensor is all zeros; allowed",
        ),
        (GOOD_EVENT.replace("1e17", "nan"), r"Mtp_Nm = nan; allowed"),
        (GOOD_EVENT.replace("1e17", ""), r"Mtp_Nm = nothing; allowed"),
        (GOOD_EVENT.replace("1e17", "strong"), r"Mtp_Nm = strong; allowed"),
        (GOOD_EVENT + "\n" + GOOD_EVENT, r":4: event 'A1' appears twice, first on line 3"),
        (GOOD_EVENT + ",more", r":3: 14 values; allowed: 13, one per column"),
        (GOOD_EVENT.replace("A1", ""), r":3: the event has no name"),
        (
            GOOD_EVENT.replace("A1", "=1+1"),
            r":3: event '=1\+1'; allowed: a name that does not begin with =, \+, - or @",
        ),
        ("", r"no events in it"),
        (GOOD_EVENT.replace(",10,", ",1_0,"), r"latitude_deg = 1_0; allowed"),
        (GOOD_EVENT.replace("2018-01-01T00:00:00", "yesterday"), r"origin_time = yesterday; allowed: .* ISO 8601"),
        (GOOD_EVENT.replace("T00:00:00", "T00:00:00+02:00"), r"origin_time = .*; allowed: a date and time in UTC"),
        (GOOD_EVENT.replace("somewhere", '"somewhere'), r":3: a quote is not closed; allowed"),
        (GOOD_EVENT.replace("somewhere", '"some"where'), r":3: ',' expected after '\"'; allowed"),
        (GOOD_EVENT.replace("somewhere", "x" * 200000), r":3: field larger than field limit"),
        (GOOD_EVENT.replace("somewhere", "some\0where"), r":3: holds the control character '\\x00'"),
    ],
)
def test_wrong_events(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "events.csv"
    path.write_text("# a comment\n" + ",".join(EVENT_COLUMNS) + "\n" + row + "\n")
    with pytest.raises(UserError, match=message) as caught:
        read_events(path)
    assert str(caught.value).startswith(str(path))


def test_unusual_but_good_events(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    columns = ",".join(EVENT_COLUMNS).removesuffix(",region")
    row = GOOD_EVENT.removesuffix(",somewhere")
    path.write_text(f"{columns},,\n{row},,\n{row.replace('A1', 'A2').replace('00:00:00', '00:00:00.25Z')},,\n")
    events = read_events(path)
    assert events.name == ("A1", "A2") and events.region == ("", "")
    path.write_text(",".join(EVENT_COLUMNS) + "\n" + GOOD_EVENT.replace("somewhere", '"some, where"'))
    assert read_events(path).region == ("some, where",)


def test_wrong_stations(tmp_path: Path) -> None:
    path = tmp_path / "stations.csv"
    path.write_text(",".join(STATION_COLUMNS) + "\n" + GOOD_STATION + "\n\n")
    assert read_stations(path).name == ("II.ABC",)
    path.write_text(",".join(STATION_COLUMNS) + "\n" + GOOD_STATION.replace("10,", "-91,"))
    with pytest.raises(UserError, match=r":2: station 'II.ABC': latitude_deg = -91"):
        read_stations(path)
    path.write_text("name,latitude_deg,elevation_m\nA,1,2\n")
    with pytest.raises(UserError, match=r":1: column 'longitude_deg' is missing"):
        read_stations(path)
    path.write_text("name,latitude_deg,longitude_deg,elevation_m,latitude_deg\nA,1,2,3,4\n")
    with pytest.raises(UserError, match=r":1: column 'latitude_deg' appears twice"):
        read_stations(path)
    path.write_text(",".join(STATION_COLUMNS) + "\nA,1,2,3\nB,1,2,3\n")
    assert len(read_stations(path)) == 2  # a place may have several
    with pytest.raises(UserError, match="Is a directory"):
        read_stations(tmp_path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="not UTF-8"):
        read_stations(path)
    with pytest.raises(UserError, match="no such file"):
        read_stations(tmp_path / "none.csv")


def test_a_file_of_observed_seismograms_is_called_one(tmp_path):
    """And the other way round; each names tables that only the other has."""
    from craton.tomography.config.load import Config
    from craton.tomography.waveforms.config import WaveformConfig, load_waveform_config, waveform_template

    (tmp_path / "data.toml").write_text(waveform_template())
    (tmp_path / "run.toml").write_text("[earth]\n[inversion]\n")
    with pytest.raises(
        UserError, match=r"unknown table \[output\]; this is a file of craton tomography data; allowed: run"
    ):
        load_config(tmp_path / "data.toml")
    with pytest.raises(
        UserError, match=r"unknown table \[inversion\]; this is a file of craton tomography run; allowed: out"
    ):
        load_waveform_config(tmp_path / "run.toml")
    ours, theirs = set(Config.tables), {*WaveformConfig.tables, "phases"}
    assert set(Config.elsewhere["craton tomography data"]) == theirs - ours
    assert set(WaveformConfig.elsewhere["craton tomography run"]) == ours - theirs
