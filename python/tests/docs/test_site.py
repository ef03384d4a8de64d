"""What docs/site makes of the code for the documentation site: keys, commands, declarations, docstrings, links."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / "docs" / "site"
pytest.importorskip("docutils")


@pytest.fixture(autouse=True)
def extensions(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(SITE / "extensions"), str(ROOT / "tools"), *sys.path])


CONFIGURATIONS = {
    "tomography": "craton.tomography.config.template",
    "tomography_data": "craton.tomography.waveforms.config.waveform_template",
    "waves": "craton.seismology.wave_run.config.template",
    "hazard": "craton.hazard.config.template",
    "multigrid": "craton.multigrid.config.template",
    "scf": "craton.scf.config.template",
}
"""The page of each in docs/site/configuration, and who prints its template."""


def keys_of(template):
    """Table and key of every line of a template, commented out or not."""
    table, keys = "", set()
    for line in template.splitlines():
        if head := re.fullmatch(r"(?:# )?(\[+\w+\]+)", line.strip()):
            table = head[1]
        elif key := re.match(r"(?:# )?(\w+) = ", line):
            keys.add((table, key[1]))
    return keys


@pytest.mark.parametrize("page", CONFIGURATIONS)
def test_the_page_of_a_configuration_has_the_keys_of_its_template(page):
    import configuration_reference

    [given] = re.findall(r"\{configuration\} (.*)", (SITE / "configuration" / f"{page}.md").read_text())
    shown = set()
    for name, table, _ in configuration_reference.tables_of(given.split()):
        for key, _, meaning in configuration_reference.key_rows(table):
            shown.add((name, key[0].astext()))
            assert meaning[0].astext(), f"{name} {key[0].astext()} has no meaning"
    assert shown == keys_of(configuration_reference.named(CONFIGURATIONS[page])())
    assert len(list(configuration_reference.sections(given.split()))) == len({name for name, _ in shown})


def test_a_key_has_its_default_and_what_is_allowed():
    import configuration_reference

    tables = configuration_reference.tables_of(["craton.multigrid.config.Config"])
    rows = [row for _, table, _ in tables for row in configuration_reference.key_rows(table)]
    [(default, meaning)] = [row[1:] for row in rows if row[0][0].astext() == "threads"]
    assert default[0].astext() == "1"
    assert meaning[1].astext().startswith("Allowed: a whole number in [1, ")


def test_the_pages_of_commands_have_all_commands_and_options():
    import command_reference
    from craton.commands.main import APPLICATIONS, app
    from typer.main import get_command

    shown = "\n".join(
        section.astext() for word in (*APPLICATIONS, None) for section in command_reference.sections(word)
    )

    def below(command, words):
        for parameter in command.params:
            if not getattr(parameter, "hidden", False) and "--help" not in parameter.opts:
                yield from (each for each in parameter.opts if each.startswith("--"))
        for name, one in getattr(command, "commands", {}).items():
            yield f"{words} {name}"
            yield from below(one, f"{words} {name}")

    command = get_command(app)
    expected = {word for name, one in command.commands.items() for word in below(one, f"craton {name}")}
    assert len(expected) > 80
    assert not {word for word in expected if word not in shown}
    assert "[bold]" not in shown
    assert {page.stem for page in (SITE / "commands").glob("*.md")} == {*APPLICATIONS, "index", "tools"}


def test_every_storey_has_a_page():
    storeys = {path.parent.name for path in (ROOT / "include/craton").glob("*/*.hpp")}
    storeys |= {f"apps/{path.name}" for path in (ROOT / "include/craton/apps").iterdir()}
    shown = {re.findall(r"\{headers\} (\S+)", page.read_text())[0] for page in (SITE / "cpp").glob("[!i]*.md")}
    shown |= set(re.findall(r"\{headers\} (\S+)", (SITE / "cpp/io.md").read_text()))
    assert shown == storeys


HEADER = """#pragma once
namespace craton::thing {
/// A pair of numbers.
struct pair {
    pair() = default;
    int first = 0; ///< one

    int second = 0;
    /// Rows and columns, of `this`.
    [[nodiscard]] int rows() const;
    [[nodiscard]] int cols() const;
  private:
    int hidden_ = 0;
};

template <class T> T twice(const T& value);
extern template int twice(const int&);
namespace detail {
int hidden();
}
} // namespace craton::thing
"""


@pytest.mark.skipif(shutil.which("doxygen") is None, reason="there is no doxygen")
def test_declarations_of_a_header(tmp_path):
    import cpp_declarations
    import cpp_reference

    header = tmp_path / "include/craton/thing/pair.hpp"
    header.parent.mkdir(parents=True)
    header.write_text(HEADER)
    (tmp_path / "build/docs").mkdir(parents=True)
    subprocess.run(["doxygen", str(SITE / "Doxyfile")], cwd=tmp_path, check=True)
    [(name, found)] = cpp_declarations.read(tmp_path / "build/docs/xml", tmp_path / "include").items()
    assert name == "craton/thing/pair.hpp"
    assert cpp_declarations.storey(name) == "thing"
    pair, twice = found
    assert [one.name for one in pair.members] == ["pair", "first", "second", "rows", "cols"]
    assert twice.text == "template <class T>\nT twice(const T &value);"
    counted = {one.name: one.is_documented or one.shares for one in cpp_declarations.every(found)}
    assert counted == {"pair": True, "first": True, "second": False, "rows": True, "cols": True, "twice": False}
    shown = cpp_reference.header_section(name, found).astext()
    assert "Rows and columns, of this." in shown
    assert "hidden" not in shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A *word* of `code`, |x| and a_b_.", r"A \*word\* of \ ``code``\ , \|x\| and a\_b\_."),
        ("First:\n\n    a = 1\n\n    b = 2\n\nThen.", "First:\n\n::\n\n    a = 1\n\n    b = 2\n\nThen."),
        ("Of two:\n- one\n  more\n- two", "Of two:\n\n- one more\n\n- two"),
    ],
)
def test_a_docstring_becomes_restructured_text(text, expected):
    import plain_docstrings

    assert "\n".join(plain_docstrings.restructured(text.splitlines())).strip() == expected


def test_links_out_of_the_pages_lead_to_pages_of_the_site():
    import checkout_links

    docs = ROOT / "docs"

    def followed(text, source="docs/cli.md", page="docs/cli.md"):
        return checkout_links.followed(text, ROOT / source, ROOT / page, docs)

    assert followed("[a](../README.md#start)") == "[a](site/readme.md#start)"
    assert followed("[a](../examples/host_programs)") == "a"
    assert followed("[a](waves.md) [b](https://doi.org/1)") == "[a](waves.md) [b](https://doi.org/1)"
    assert followed("![a](docs/images/demo.png)", "README.md", "docs/site/readme.md") == "![a](../images/demo.png)"
