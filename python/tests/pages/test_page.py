"""A page is data; templates write it, and no text becomes an element."""

import dataclasses
from xml.etree import ElementTree

import matplotlib
import pytest
from craton.pages.figures import new_figure, save_picture
from craton.pages.page import (
    Code,
    Columns,
    Details,
    Link,
    Links,
    Notice,
    Numbers,
    Page,
    Part,
    Picture,
    Section,
    Table,
    Text,
    anchor,
    how_to_go_on,
    made_by,
    name_of,
    portable_command,
    provenance,
    render,
    render_part,
    summary,
)
from craton.pages.style import drawing
from craton.runs.record import Record
from craton.runs.words import counted
from html_pages import checked

HOSTILE = "<script>alert(1)</script> \"><img src=x onerror=alert(1)> ' {{7*7}} ${x} $\\frac{$ {% raw %} <!-- & --> é"


@drawing
def figure(text):
    drawn = new_figure(30.0, 16.0)
    axes = drawn.subplots()
    axes.loglog([1, 10], [1, 100], label=text)
    axes.set(title=text, xlabel=text)
    axes.secondary_yaxis("right").set_yticks([1, 100], [text, text])
    axes.legend()
    return drawn


def record(command, config, versions, **more):
    return Record(app="a", title="t", command=command, config=config, versions=versions, started="", **more)


def every_block(text):
    picture = Picture(figure(text), text, text)
    return [
        Notice(text, text),
        Numbers([(text, text)]),
        Section(text, [Text(text), Text(text, muted=True), picture, Section(text, [], level=3)], anchor(text), text),
        Columns([[picture], [dataclasses.replace(picture, narrow=True)]]),
        Table([text, text], [[text, text], [Link(text, f"#{anchor(text)}"), text]]),
        Links([Link(text, f"#{anchor(text)}")]),
        Code(text),
        Details(text, [Text(text)]),
        Part(render_part([Text(text)])),
        how_to_go_on([(text, text)]),
        provenance(record(text, {text: [text, {text: text}]}, {text: text})),
    ]


def test_no_text_becomes_an_element():
    page = render(Page(HOSTILE, HOSTILE, HOSTILE, every_block(HOSTILE)))
    read = checked(page)
    assert len(read.pictures) == 3
    assert "49" not in read.text
    assert read.text.count(" ".join(HOSTILE.split())) > 20
    tame = render(Page("a", "a", "a", every_block("a")))
    assert page.count("<") == tame.count("<")


def test_names_are_drawn_as_they_are_written():
    """Dollar signs set no formula, which an unpaired brace would end in an error; the axes' own powers of ten are set."""
    drawn = figure("${x}$ $\\frac{$")
    drawn.canvas.draw()
    texts = [text.get_text() for text in drawn.findobj(lambda item: hasattr(item, "get_parse_math"))]
    assert sum(text == "\\${x}\\$ \\$\\frac{\\$" for text in texts) >= 5
    assert any(text.startswith("$\\mathdefault{10^{") for text in texts)


@pytest.mark.parametrize("letters", ["path", "none"])
def test_no_text_becomes_an_element_of_an_svg(tmp_path, letters):
    """Whether its letters are outlines, as matplotlib has it, or text, as a user may set it."""
    with matplotlib.rc_context({"svg.fonttype": letters}):
        found = ElementTree.parse(save_picture(figure(HOSTILE + " --> ]]>"), tmp_path / "a.svg"))
    elements = [one for one in found.iter() if one.tag.startswith("{http://www.w3.org/2000/svg}")]
    tags = {one.tag.rpartition("}")[2] for one in elements}
    assert tags <= {"svg", "metadata", "defs", "style", "g", "path", "use", "text", "tspan", "clipPath", "rect"}
    assert ("text" in tags) == (letters == "none")
    attributes = [(name.rpartition("}")[2], value) for one in elements for name, value in one.attrib.items()]
    assert not any(name.startswith("on") for name, _ in attributes)
    assert all(value.startswith("#") for name, value in attributes if name == "href")


def test_links_lead_nowhere_else():
    for target in ("https://example.org", "javascript:alert(1)", "//example.org", "/etc/passwd", ""):
        with pytest.raises(ValueError, match="allowed: #place, or a file beside the page"):
            Link("there", target)
    assert Link("there", "#a b").address == "#a%20b"


def test_ids_of_different_names_differ():
    names = ["a b", "a-b", "a_b", "ab", "ä", '"', "<", "a_20_b"]
    assert len({anchor(name) for name in names}) == len(names)
    assert anchor("LA.1-x") == "LA.1-x"


def test_a_page_has_contents():
    """Sections and parts, in their order; a section without a name for them has its title there."""
    part = Part(render_part([Section("Drawn", [], "drawn")]), [Link("drawn", "#drawn")])
    page = render(Page("t", "w", "a", [Section("Long title", [], "there", "Short"), part, Section("Two words", [])]))
    items = "".join(
        f'<li><a href="#{id}">{name}</a></li>'
        for id, name in (("there", "Short"), ("drawn", "drawn"), ("two-words", "Two words"))
    )
    assert f'<nav aria-label="Contents"><b>Contents</b><ul>{items}</ul></nav>' in page
    assert '<section id="two-words">' in page
    assert "<title>t: w by Craton</title>" in page
    assert "<nav" not in render(Page("t", "w", "a", []))


def test_a_page_begins_with_words_and_ends_with_where_it_comes_from():
    made = record("craton a run", {}, {"version": "0.1.0"}, host="node1", ranks=2, threads=3)
    first = summary([Text("It went well.")], Numbers([("1", "result")]))
    page = render(Page("t", "w", "a", [first, how_to_go_on([("Again", "craton a report b")]), provenance(made)]))
    read = checked(page)
    assert (
        read.text.index("It went well.")
        < read.text.index("craton a report b")
        < read.text.index("node1, 2 ranks × 3 threads, 1 node")
    )
    assert "2 cores" in render_part([provenance(made, "2 cores")])


def test_names_of_folders_are_words_of_a_command(tmp_path):
    assert name_of(tmp_path / "a b") == "'a b'" and name_of(tmp_path / "x" / "..") == tmp_path.name


def test_what_is_repeated_names_no_folder_of_the_machine():
    section = provenance(
        record(
            "craton waves run /home/me/a.toml --directory /tmp/x",
            {"a": {"b": "/home/me/c"}, "d": ["/e/f"]},
            {"p": "1\n2"},
        )
    )
    text = render_part([section])
    assert "craton waves run a.toml --directory x" in text and "/home" not in text and "/e/f" not in text
    assert portable_command("craton 'one two' \"") == "craton ''\"'\"'one' 'two'\"'\"'' '\"'"
    assert counted(1, "rank") == "1 rank" and counted(0, "rank") == "0 ranks"


def test_when_a_run_was_made():
    versions = {"version": "0.1.0\nmore"}
    assert made_by(versions, "2026-11-23T22:19:51+00:00") == "Craton 0.1.0, started 2026-11-23 22:19 UTC"
    assert made_by({}, "<b>") == "Craton , started <b>"


def test_a_gif_is_a_picture():
    gif = Picture(b"GIF89a" + bytes([0x40, 0x02, 0, 1]), "c", "s")
    assert gif.source.startswith("data:image/gif;base64,") and gif.width == 0x240


def test_letters_have_one_size_in_all_figures():
    assert Picture(figure("a"), "c", "s").width == 30 * 96
