"""Names from files are shown as they are written: no report makes an element, an attribute or a formula of them.

Every text of every report is replaced (hostile_pages.py). The page has the elements that templates write, and no other. Chromium,
where it is installed (`make browser`), opens it, runs nothing and asks nobody.
"""

import functools
import html
import re

import chromium
import pytest
from craton.pages import page as pages
from craton.pages.page import Notice, Numbers, Page, Part, Picture, Section, Table, Text, render
from hostile_pages import CLOSED, ELEMENTS, HOSTILE, PRODUCT, REFRESH, REPORTS, REQUESTS, SCRIPTS
from html_pages import checked

pytest.importorskip("mpi4py.MPI")

pytestmark = pytest.mark.filterwarnings(
    "ignore:constrained_layout not applied"
)  # names are as long as a figure is wide

in_chromium = pytest.mark.skipif(bool(chromium.WHY_NOT), reason=chromium.WHY_NOT)


@pytest.fixture(scope="module")
def report(tmp_path_factory, small_config):
    """Makes an application's report, once."""
    return functools.cache(lambda name: REPORTS[name](tmp_path_factory.mktemp(name), small_config))


def nothing_interpreted(page, at_least):
    """HOSTILE stands in the page's text so many times at least, whole; nothing is made of it."""
    read = checked(page)
    assert str(PRODUCT) not in page
    assert html.unescape(page).count(HOSTILE) >= at_least
    assert page.count("<script") == page.count(CLOSED) == page.count(REFRESH) == 0
    return read


def test_tomography(report):
    read = nothing_interpreted(report("tomography").read_text(), at_least=20)
    assert f"(seed {HOSTILE})" in read.text and f"below {HOSTILE} and 90° east" in read.text
    assert "Not drawn: posterior/posterior.json" in read.text and "No sensitivities" in read.text


def test_waves(report):
    read = nothing_interpreted(report("waves").read_text(), at_least=19)
    assert len(read.pictures) == 4
    assert f"{HOSTILE}NEAR 1.3 1.48 0" in read.text and "Not checked again: " in read.text


def test_hazard(report):
    read = nothing_interpreted(report("hazard").read_text(), at_least=20)
    assert len(read.pictures) == 15
    assert f"Every job job cores begun, s took, s of processors, s {HOSTILE} 0 0.0 1.0 1.0" in read.text


def test_multigrid(report):
    assert len(nothing_interpreted(report("multigrid").read_text(), at_least=10).pictures) == 3


def test_scf(report):
    nothing_interpreted(report("scf").read_text(), at_least=10)


@in_chromium
@pytest.mark.parametrize("name", REPORTS)
def test_a_browser_runs_nothing_and_asks_nobody(report, name):
    """What it has made of the page has the same text and pictures; there was nothing for the policy to refuse."""
    path = report(name)
    seen = chromium.opened(path)
    assert seen.requests == seen.refused == []
    as_written, as_made = checked(path.read_text()), checked(seen.dom)
    assert (as_made.text, as_made.pictures) == (as_written.text, as_written.pictures)


# --------------------------------------------------------------------------------- the same texts where a page would let them


def ran(seen):
    """Kinds of scripts that have left their mark."""
    return set(re.findall(f"{PRODUCT}([a-z]+)", seen.dom))


def in_every_place(monkeypatch, text):
    """A page of the house whose templates escape nothing: title, header, attributes, cells, and a part as a file may hold it."""
    picture = Picture(b"GIF89a" + bytes([1, 0, 1, 0]), text, text)
    blocks = [
        Notice(text, text),
        Numbers([(text, text)]),
        Section(text, [Text(text), picture], "a"),
        Table([text], [[text]]),
    ]
    with monkeypatch.context() as patch:
        environment = pages._environment().overlay(autoescape=False)
        patch.setattr(pages, "_environment", lambda: environment)
        page = render(Page(text, text, text, [*blocks, Part(text)]))
    assert page.count(text) == 19
    return page


@in_chromium
def test_every_kind_can_do_harm(tmp_path):
    """Else the tests above would show nothing."""
    (tmp_path / "page.html").write_text(f"<!doctype html><title>t</title><body>{ELEMENTS}")
    seen = chromium.opened(tmp_path / "page.html")
    assert ran(seen) == set(SCRIPTS)
    assert seen.paths == {*SCRIPTS, *REQUESTS}
    (tmp_path / "page.html").write_text(f"<!doctype html><title>t</title><body>{REFRESH}")
    assert chromium.asks_for(tmp_path / "page.html", "refresh")


@in_chromium
def test_the_policy_holds_where_nothing_is_escaped(tmp_path, monkeypatch):
    """No script, no request; the page's own style and pictures are let through. Without it both come from the same page."""
    page = in_every_place(monkeypatch, ELEMENTS)
    free = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    assert len(free) < len(page)
    for name, text in (("held", page), ("free", free)):
        (tmp_path / name).with_suffix(".html").write_text(text)
    held, free = chromium.opened(tmp_path / "held.html"), chromium.opened(tmp_path / "free.html")
    assert (ran(held), held.requests) == (set(), []) and held.refused
    assert ran(free) == set(SCRIPTS) and free.paths >= {*SCRIPTS, *REQUESTS} and not free.refused


@in_chromium
def test_no_policy_forbids_a_refresh(tmp_path):
    """Of all kinds this one is left to the escaping (docs/durability.md)."""
    (tmp_path / "page.html").write_text(render(Page("t", "w", "a", [Part(REFRESH)])))
    assert chromium.asks_for(tmp_path / "page.html", "refresh")


@in_chromium
def test_the_policy_lets_style_and_pictures_through(tmp_path):
    """One byte more in the style, and Chromium refuses it: what it tells of refusals would be seen."""
    page = render(Page("t", "w", "a", [Picture(b"GIF89a" + bytes([1, 0, 1, 0]), "c", "s")]))
    (tmp_path / "page.html").write_text(page)
    assert chromium.opened(tmp_path / "page.html").refused == []
    (tmp_path / "page.html").write_text(page.replace("</style>", " </style>"))
    (refused,) = chromium.opened(tmp_path / "page.html").refused
    assert "style" in refused
