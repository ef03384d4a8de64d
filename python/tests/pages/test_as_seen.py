"""Reports as readers see them, in windows of 1280 and 400 pixels, light and dark: nothing is cut, nothing is hard to read.

The reports are those of test_hostile_names.py, whose names are longer than any that a user gives. What a page must have for readers
who do not see it is judged by axe-core, which comes with the package axe-core-python.
"""

import functools
import importlib.resources
import importlib.util

import chromium
import pytest
from hostile_pages import REPORTS

pytest.importorskip("mpi4py.MPI")

pytestmark = [
    pytest.mark.filterwarnings("ignore:constrained_layout not applied"),
    pytest.mark.skipif(bool(chromium.WHY_NOT), reason=chromium.WHY_NOT),
]

WINDOWS = [(width, dark) for width in (1280, 400) for dark in (False, True)]
AXE = [name for name in ("axe_playwright_python", "axe_core_python") if importlib.util.find_spec(name)]
"""Packages that have axe.min.js; the first has a newer one, and asks for a browser of its own."""

WIDER = """(() => {
    const inside = one => !!one.closest(".scroll, pre") && !one.matches(".scroll, pre");
    const all = [...document.querySelectorAll("body *")].filter(one => one.checkVisibility() && !inside(one));
    const box = one => one.getBoundingClientRect();
    const cut = all.filter(one => box(one).right > innerWidth + 1 || box(one).left < -1);
    const pictures = [...document.querySelectorAll("figure img")].filter(one => one.checkVisibility());
    const shrunk = pictures.filter(one => box(one).right > box(one.closest(".scroll")).right + 1);
    const dark = getComputedStyle(document.body).backgroundColor;
    const names = list => list.map(one => one.outerHTML.slice(0, 200));
    return { width: innerWidth, document: document.documentElement.scrollWidth, cut: names(cut), pictures: names(shrunk),
             shown: pictures.filter(one => one.naturalWidth > 0).length, all: pictures.length, background: dark };
})()"""
"""What is wider than the window, but for what a box scrolls."""

ENLARGED = """(() => {
    const box = document.querySelector(".zoom input"), frame = box.closest(".scroll"), picture = frame.querySelector("img");
    const size = one => [one.getBoundingClientRect().width, one.getBoundingClientRect().height];
    const before = size(picture);
    picture.click();
    const after = size(picture), window_ = size(frame);
    const top = document.elementFromPoint(innerWidth / 2, 40);
    const found = { before, after, frame: window_, window: [innerWidth, innerHeight], on_top: frame.contains(top) };
    picture.click();
    return { ...found, again: size(picture) };
})()"""
"""The first picture: its size, and after a click, and after another."""


@pytest.fixture(scope="module")
def report(tmp_path_factory, small_config):
    """Makes an application's report, once."""
    return functools.cache(lambda name: REPORTS[name](tmp_path_factory.mktemp(name), small_config))


def violations(page, width, dark):
    """What axe-core has against a page: rule, and the first elements."""
    script = (importlib.resources.files(AXE[0]) / "axe.min.js").read_text(encoding="utf-8")
    run = "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(one => "
    told = "`${one.id}: ${one.nodes.length}: ${one.nodes.slice(0, 3).map(node => node.html.slice(0, 150)).join(' ')}`))"
    return chromium.looked_at(page, f"(() => {{ {script}\nreturn {run}{told} }})()", width, dark=dark)


@pytest.mark.parametrize(("width", "dark"), WINDOWS)
@pytest.mark.parametrize("name", REPORTS)
def test_nothing_is_cut(report, name, width, dark):
    found = chromium.looked_at(report(name), WIDER, width, dark=dark)
    assert found["width"] == width
    assert (found["document"], found["cut"], found["pictures"]) == (width, [], [])
    assert found["shown"] == found["all"] > 0
    assert found["background"] == ("rgb(20, 25, 29)" if dark else "rgb(251, 251, 249)")


@pytest.mark.parametrize("width", [1280, 400])
def test_a_click_enlarges_a_picture_and_another_one_puts_it_back(report, width):
    """Without a script of the page: by a box that the click ticks."""
    found = chromium.looked_at(report("multigrid"), ENLARGED, width, dark=False)
    assert found["before"] == found["again"] and found["on_top"]
    assert found["after"][0] >= 1300 > found["before"][0]
    assert found["frame"] == found["window"]


@pytest.mark.skipif(not AXE, reason="no axe-core-python")
@pytest.mark.parametrize(("width", "dark"), WINDOWS)
@pytest.mark.parametrize("name", REPORTS)
def test_axe_has_nothing_against_a_page(report, name, width, dark):
    assert violations(report(name), width, dark) == []


@pytest.mark.skipif(not AXE, reason="no axe-core-python")
def test_axe_sees_what_is_wrong(report, tmp_path):
    """Else the test above would show nothing."""
    page = report("multigrid").read_text(encoding="utf-8")
    worse = (
        page.replace("--muted: #5d6d79", "--muted: #b0b8bd")
        .replace('<html lang="en">', "<html>")
        .replace("<h2>", "<h4>", 1)
    )
    (tmp_path / "page.html").write_text(worse.replace("</h2>", "</h4>", 1), encoding="utf-8")
    rules = {one.partition(":")[0] for one in violations(tmp_path / "page.html", 1280, False)}
    assert {"color-contrast", "html-has-lang", "heading-order"} <= rules
