"""The report is one page that needs nothing else; maps put places where they belong."""

import base64
import html.parser
import re

import numpy as np
import pytest

MPI = pytest.importorskip("mpi4py.MPI")

from craton import UserError  # noqa: E402
from craton.tomography import inversion, maps  # noqa: E402
from craton.tomography.report import write_report  # noqa: E402


@pytest.fixture(scope="module")
def page(small_config, tmp_path_factory):
    config = small_config.replaced("run", directory=str(tmp_path_factory.mktemp("report") / "run"))
    inversion.run(config.replaced("inversion", max_iterations=1), MPI.COMM_SELF)
    return (tmp_path_factory.getbasetemp() / config.run.directory / "report.html").read_text(encoding="utf-8")


class Checker(html.parser.HTMLParser):
    """Counts pictures and checks that what is opened is closed."""

    VOID = frozenset({"meta", "img", "br", "link", "!doctype"})

    def __init__(self):
        super().__init__()
        self.open, self.pictures, self.sources = [], [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.sources += [attributes[name] for name in ("src", "href") if name in attributes]
        if tag == "img":
            self.pictures.append(attributes)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_well_formed_and_self_contained(page):
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert len(checker.pictures) == 7
    for picture in checker.pictures:
        assert picture["alt"]
        assert base64.b64decode(picture["src"].removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")
    assert all(source.startswith("data:") for source in checker.sources)
    assert not re.search(r"https?://|@import|url\(", page)


def test_page_says_what_it_must(page):
    for text in (
        "The observed data are synthetic",
        "variance reduction",
        "seed 2015",
        "prefers-color-scheme",
        "--ranks 1 --iterations 1 --directory run",
        "1 rank × 1 thread",
        "from 100 to 2800 km",
        "A trace weaker than 10% of its event's median",
        "noise ceiling",
        "(19.4°N 155.3°W), 60° to either side",
        "in the azimuth 60° at the middle",
    ):
        assert text in page


def test_page_names_no_folder_of_the_machine(page, small_config):
    assert str(inversion.RunFolder(small_config.run.directory).path.parent) not in page


def test_an_interrupted_run_has_a_report_without_what_it_lacks(small_config, tmp_path, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(inversion.Inversion, "finish", interrupted)
    config = small_config.replaced("run", directory=str(tmp_path / "run")).replaced("inversion", max_iterations=1)
    with pytest.raises(KeyboardInterrupt):
        inversion.run(config, MPI.COMM_SELF)
    text = write_report(tmp_path / "run").read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(text)
    assert checker.open == [] and len(checker.pictures) == 4
    assert "unfinished: this is what was saved up to iteration 1" in text
    assert "<h2>Waveforms" not in text and "stopped because" not in text


def test_report_on_data_from_a_file_speaks_of_no_input_model(small_config, tmp_path):
    config = small_config.replaced("inversion", max_iterations=1).replaced("paths", maximum=20)
    first = config.replaced("run", directory=str(tmp_path / "first"))
    inversion.run(first, MPI.COMM_SELF, report=False)
    second = config.replaced("run", directory=str(tmp_path / "second"))
    second = second.replaced("data", kind="file", file=str(tmp_path / "first" / "data.h5"))
    inversion.run(second, MPI.COMM_SELF)
    text = (tmp_path / "second" / "report.html").read_text(encoding="utf-8")
    assert "<b>The observed data are synthetic.</b> They were read from a file" in text
    assert "input model" not in text and "spline basis" not in text and "Input and output" not in text
    assert "The recovered model from the core to the surface" in text and "slowest place" in text


def test_report_of_nothing_is_the_users_fault(tmp_path):
    with pytest.raises(UserError, match=r"model\.h5: no such file"):
        write_report(tmp_path)


def test_robinson_projection():
    """Published table: the pole is 0.5322 as long as the equator and the map's height is 0.5072 of its width."""
    right, _ = maps.robinson(np.array([180.0]), np.array([0.0]))
    corner, top = maps.robinson(np.array([180.0]), np.array([90.0]))
    assert corner[0] / right[0] == pytest.approx(0.5322)
    assert top[0] / right[0] == pytest.approx(0.5072, abs=1e-4)


def test_lines_are_cut_at_the_edge_of_the_map():
    longitude = np.array([170.0, 179.0, -179.0, -170.0])
    assert len(list(maps.pieces_within_map(longitude, np.zeros(4), 0.0))) == 2
    assert len(list(maps.pieces_within_map(longitude, np.zeros(4), 180.0))) == 1


def test_coastlines_know_the_world():
    """The table's easternmost point of Africa is Cape Hafun (51.4 E, 10.4 N); Iceland is an island of its own."""
    points = np.concatenate(maps.coastlines())
    assert np.min(np.hypot(points[:, 0] - 51.1, points[:, 1] - 10.6)) < 1.0
    iceland = [
        line for line in maps.coastlines() if np.all((line[:, 0] > -25) & (line[:, 0] < -13) & (line[:, 1] > 63))
    ]
    assert len(iceland) == 1


def test_great_circle_keeps_its_distance():
    latitude, longitude = maps.great_circle(19.4, -155.3, 60.0, np.array([-90.0, 0.0, 30.0]))
    here, there = (np.radians([latitude[i], longitude[i]]) for i in (1, 2))
    cosine = np.sin(here[0]) * np.sin(there[0]) + np.cos(here[0]) * np.cos(there[0]) * np.cos(here[1] - there[1])
    assert np.degrees(np.arccos(cosine)) == pytest.approx(30.0)
    assert (latitude[1], longitude[1]) == pytest.approx((19.4, -155.3))
