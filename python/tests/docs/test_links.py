"""tools/check_links: every link of the checkout's pages leads somewhere, and one that does not is found."""

import pytest
from tool_programs import tool

check_links = tool("check_links")


def test_links_of_the_checkout():
    found = [(page.name, *fault) for page in check_links.pages() for fault in check_links.faults(page)]
    assert not found


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A page to be linked to, in a checkout of its own."""
    monkeypatch.setattr(check_links, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/other.md").write_text(
        "# A page, `with` a word\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("other.md", ""),
        ("other.md#a-page-with-a-word", ""),
        ("other.md#twice-1", ""),
        ("https://doi.org/10.1109/ipdps.2015.58", ""),
        ("other.md#no-heading", "other.md has no heading with this anchor"),
        ("other.md#twice-2", "other.md has no heading with this anchor"),
        ("missing.md", "leads to no file"),
        ("../../elsewhere.md", "leads out of the checkout"),
        ("https://nowhere", "no address of the web"),
        ("htp://example.org", "no address of the web"),
    ],
)
def test_a_link(checkout, link, fault):
    page = checkout / "docs" / "page.md"
    page.write_text(f"# Title\n\nwords [and\na link]({link}).\n")
    assert list(check_links.faults(page)) == ([(3, link, fault)] if fault else [])


def test_code_has_no_links(checkout):
    page = checkout / "docs" / "page.md"
    page.write_text("```\n[a](missing.md)\n```\n\nand `[b](missing.md)`\n")
    assert not list(check_links.faults(page))
