"""The configuration of observed seismograms: the template is a valid one, and what is wrong is one line that says so."""

import tomllib

import pytest
from craton.errors import UserError
from craton.tomography.waveforms.config import PHASES, load_waveform_config, waveform_template


def loaded(tmp_path, text):
    file = tmp_path / "data.toml"
    file.write_text(text)
    return load_waveform_config(file)


def test_the_template_is_what_an_empty_file_means(tmp_path):
    written, empty = loaded(tmp_path, waveform_template()), loaded(tmp_path, "")
    assert written.to_dict() == empty.to_dict()
    assert len(tomllib.loads(waveform_template())["phases"]) == len(PHASES)


def test_folders_are_named_after_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = loaded(tmp_path, "")
    assert config.output.directory == str(tmp_path / "data-data")
    assert config.fetch.directory == str(tmp_path / "data-fetched")


def test_one_phase_replaces_all(tmp_path):
    config = loaded(tmp_path, '[[phases]]\nname = "all"\ncomponents = ["T"]\nfastest_km_s = 9.0\nslowest_km_s = 3.4\n')
    assert [phase.name for phase in config.phases_of("T")] == ["all"]
    assert config.phases_of("Z") == ()


def test_copies_are_checked(tmp_path):
    config = loaded(tmp_path, "")
    assert config.replaced("windows", components=["Z", "R"]).windows.components == ("Z", "R")
    with pytest.raises(UserError, match="min_correlation = 2; allowed: a number in"):
        config.replaced("windows", min_correlation=2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[window]\n", "unknown table [window]; did you mean [windows]?"),
        ("[windows]\ncomponents = []\n", "components = []; allowed: a list with at least one of Z, R, T, each once"),
        ('[windows]\ncomponents = ["T", "X"]\n', "allowed: a list with at least one of Z, R, T, each once"),
        ('[windows]\narcs = ["minor", "minor"]\n', "allowed: a list with at least one of minor, major, each once"),
        ("[windows]\namplitude_ratio = [2, 1]\n", "allowed: [least, most] with 0 < least < most <= 1e6"),
        ("[windows]\namplitude_ratio = 3\n", "allowed: [least, most] with 0 < least < most <= 1e6"),
        ("[windows]\nmin_distance_deg = 170\n", "min_distance_deg = 170; allowed: less than max_distance_deg = 160"),
        ("[processing]\nfilter_periods_s = [80, 100, 250, 400]\n", "allowed: four decreasing periods in seconds"),
        ("[processing]\nsample_interval_s = 50\n", "allowed: at most half of the shortest period let through, 40 s"),
        ("[processing]\npre_filter_periods_s = [500, 300, 70, 60]\n", "allowed: a band that passes all between 400 and 80 s"),
        ("[processing]\npre_filter_periods_s = [1, 2]\n", "allowed: [] for none, or four decreasing periods"),
        ("[processing]\nbands = []\n", "allowed: a list of band and instrument codes such as LH"),
        ("[processing]\nlocations = [0]\n", "allowed: a list of location codes"),
        ('[synthetics]\nkind = "sem"\n', 'allowed: "modes" or "folder" or "instaseis"'),
        ('[synthetics]\nkind = "folder"\n', 'folder is missing; allowed: a folder, because kind = "folder"'),
        ("[modes]\nshortest_period_s = 90\n", "allowed: not below [modes] shortest_period_s = 90 s"),
        ('[fetch]\nstart = "yesterday"\n', "start = \"yesterday\"; allowed: a date and time in UTC, 2013-05-24T05:40:00"),
        ('[fetch]\nstart = "2013-05-24T05:40:00+02:00"\n', "allowed: a date and time in UTC"),
        ("phases = []\n", "allowed: one or more tables [[phases]]"),
        ('[[phases]]\nname = "a b"\n', "name = \"a b\"; allowed: a name of letters, digits, - and _"),
        ("[[phases]]\nfastest_km_s = 3.0\n", "[[phases]] fundamental: slowest_km_s = 4.1; allowed: less than fastest_km_s = 3"),
        ('[[phases]]\ncomponents = ["Z"]\n', "names T, but no [[phases]] is on T; allowed: one that is"),
        ("[[phases]]\n[[phases]]\n", "[[phases]] fundamental stands twice for component T; allowed: each name once"),
        ("[input]\nwaveforms = 3\n", "allowed: a list of file patterns"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(tmp_path, text, words):
    with pytest.raises(UserError) as caught:
        loaded(tmp_path, text)
    assert words in str(caught.value)
    assert "data.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_dates_of_toml(tmp_path):
    assert loaded(tmp_path, "[fetch]\nstart = 2013-05-24T05:40:00\n").fetch.start == "2013-05-24T05:40:00"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "[input] waveforms names no files, and"),
        ('[input]\nwaveforms = ["*.mseed"]\n', "[input] waveforms = '*.mseed': no file in"),
        ('[input]\nwaveforms = ["records"]\n', "= 'records' is a folder; allowed: a pattern, such as records/**/*"),
        ('[input]\nwaveforms = ["*.toml"]\n', "data.toml: [input] waveforms: none of 1 files holds a waveform"),
    ],
)
def test_nothing_to_read(tmp_path, text, words):
    pytest.importorskip("obspy", reason="ObsPy is not installed")
    from craton.tomography.waveforms.preparation import prepare

    (tmp_path / "records").mkdir()
    with pytest.raises(UserError) as caught:
        prepare(loaded(tmp_path, text))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
