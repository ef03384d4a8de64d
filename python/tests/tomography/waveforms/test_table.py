"""data.h5 with windows of several kinds: written, read, and what an inversion makes of it; older files stay readable."""

import dataclasses

import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.tomography.data.catalogue import Events, Stations
from craton.tomography.data.data_file import load_observations, save_observations
from craton.tomography.data.paths import LABELS
from craton.tomography.data.sources import without_other_windows
from craton.tomography.waveforms.table import Window, WindowTable
from helpers import replaced_dataset

PERIODS = (400.0, 250.0, 100.0, 80.0)


@pytest.fixture
def table():
    one = np.ones(1)
    events = Events(
        ("E1",),
        ("2013-05-24T05:45:07.9",),
        54.54 * one,
        153.94 * one,
        607.4 * one,
        36.2 * one,
        1e20 * np.ones((1, 6)),
        ("",),
    )
    stations = Stations(("A.B", "C.D"), np.array([10.0, 20.0]), np.array([30.0, -40.0]), np.zeros(2))
    kinds = [
        (0, "T", "minor", "overtones"),
        (0, "T", "minor", "fundamental"),
        (0, "T", "major", "fundamental"),
        (1, "Z", "minor", "fundamental"),
    ]
    rng = np.random.default_rng(1)
    windows = [
        Window(0, station, component, arc, phase, 100.0 * k, 30 + k, "", "", {"correlation": 0.9, "shift_s": -3.0},
               1e-5 * rng.standard_normal(30 + k), 1e-6 * (k + 1))
        for k, (station, component, arc, phase) in enumerate(kinds)
    ]  # fmt: skip
    windows.insert(
        1,
        Window(
            0, 1, "T", "major", "overtones", 500.0, 12, "noise", "signal to noise 1; allowed: 3", {"correlation": 0.1}
        ),
    )
    return WindowTable(events, stations, tuple(windows), 10.0, PERIODS, ('{"event": "E1"}',), {"origin": "a test"})


def test_round_trip(table, tmp_path):
    table.save(tmp_path / "data.h5")
    found = WindowTable.load(tmp_path / "data.h5")
    assert len(found.windows) == 5
    for mine, theirs in zip(table.accepted + table.rejected, found.windows, strict=True):
        for item in dataclasses.fields(Window):
            a, b = getattr(mine, item.name), getattr(theirs, item.name)
            if item.name == "quality":
                a = {**dict.fromkeys(b, np.nan), **a}
                assert list(b.values()) == pytest.approx(list(a.values()), nan_ok=True)
            elif item.name == "observed":
                assert a is b is None or np.array_equal(a, b)
            else:
                assert a == b or (a != a and b != b)
    assert found.provenance == table.provenance
    assert found.filter_periods_s == PERIODS
    assert found.attributes["origin"] == "a test"


def test_layout(table, tmp_path):
    """The names that docs/tomography_data.md gives."""
    table.save(tmp_path / "data.h5")
    with h5py.File(tmp_path / "data.h5") as file:
        assert [item.decode() for item in file["paths/component"][:]] == ["T", "T", "T", "Z"]
        assert [item.decode() for item in file["paths/arc"][:]] == ["minor", "minor", "major", "minor"]
        assert file["paths/samples"][:].tolist() == [30, 31, 32, 33]
        assert file["sigma"][:] == pytest.approx([1e-6, 2e-6, 3e-6, 4e-6])
        assert len(file["observed"]) == 30 + 31 + 32 + 33
        assert file["quality/correlation"][:] == pytest.approx([0.9] * 4)
        assert file["rejected/code"].asstr()[0] == "noise"
        assert file["rejected/quality/correlation"][0] == 0.1
        assert file.attrs["sample_interval_s"] == 10.0


def test_files_without_labels_are_read(table, tmp_path):
    """As they were before windows had kinds: all transverse, along the minor arc."""
    table.save(tmp_path / "data.h5")
    with h5py.File(tmp_path / "data.h5", "a") as file:
        for name in [f"paths/{label}" for label in LABELS] + ["quality", "rejected", "provenance"]:
            del file[name]
    found = load_observations(tmp_path / "data.h5")
    assert found.paths.component == ("T",) * 4
    assert found.paths.arc == ("minor",) * 4
    assert len(WindowTable.load(tmp_path / "data.h5").accepted) == 4


def test_an_inversion_takes_the_components_it_is_told_to(table, tmp_path):
    table.save(tmp_path / "data.h5")
    notes = []
    data = load_observations(tmp_path / "data.h5")
    assert without_other_windows(data, "ZRT", "data.h5", notes.append) is data
    found = without_other_windows(data, "T", "data.h5", notes.append)
    keep = [letter == "T" for letter in data.paths.component]
    assert found.paths.samples.tolist() == data.paths.samples[keep].tolist()
    if not all(keep):
        assert notes == [f"left out: {keep.count(False)} windows, the first on "
                         f"{data.paths.component[keep.index(False)]}; [data] components = T"]  # fmt: skip
    # what it saves again keeps the labels
    save_observations(tmp_path / "again.h5", found, PERIODS)
    assert load_observations(tmp_path / "again.h5").paths.phase == found.paths.phase
    with pytest.raises(
        UserError, match=r"data.h5: \d windows, the first on [ZRT]; allowed: some on [ZR], as \[data\] components"
    ):
        without_other_windows(found, "Z" if "Z" not in found.paths.component else "R", "data.h5", notes.append)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            replaced_dataset("paths/component", ["T", "T", "X", "Z"]),
            "path 2 (event E1, station A.B): component = 'X'; allowed: Z, R, T",
        ),
        (replaced_dataset("paths/arc", ["minor", "left", "minor", "minor"]), "arc = 'left'; allowed: minor, major"),
        (replaced_dataset("paths/component", ["T"]), "paths/component has 1"),
        (replaced_dataset("paths/arc", np.zeros(4)), "paths/arc is float64 of shape (4,); allowed: text"),
        (replaced_dataset("rejected/station", ["NO.NE"]), "not a complete table of windows"),
        (replaced_dataset("rejected/samples", np.zeros(0)), "not a complete table of windows"),
    ],
)
def test_damaged_files(table, tmp_path, change, words):
    table.save(tmp_path / "data.h5")
    with h5py.File(tmp_path / "data.h5", "a") as file:
        change(file)
    with pytest.raises(UserError) as caught:
        WindowTable.load(tmp_path / "data.h5")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nothing_accepted(table, tmp_path):
    none = dataclasses.replace(table, windows=table.rejected)
    with pytest.raises(UserError, match="none of 1 windows was accepted"):
        none.save(tmp_path / "data.h5")
    assert not (tmp_path / "data.h5").exists()
