"""The code blocks of README.md, CONTRIBUTING.md and docs/ do what they say: tools/doc_blocks.py has how each is marked."""

import shutil

import pytest
from tool_programs import tool

tool_of_blocks = tool("run_doc_blocks")
import doc_blocks  # which the tool has found beside it

DONE = ("run", "check", "save")
BLOCKS = tool_of_blocks.every_block()


def test_every_block_is_classified():
    unclassified = [block.place for block in BLOCKS if block.kind == doc_blocks.UNCLASSIFIED]
    assert len(unclassified) <= tool_of_blocks.MOST_UNCLASSIFIED, unclassified


def test_what_blocks_are_marked_as_can_be_done():
    assert not list(doc_blocks.faults(BLOCKS))


def pages(*, long=False):
    """The pages with blocks to be done: with some that take minutes, or with others."""
    wanted = {block.page for block in BLOCKS if block.kind in DONE and block.is_long == long}
    return [pytest.param(page, id=page.name) for page in sorted(wanted)]


def do(page, folder, *, long):
    """The blocks of a page, one after the other in one folder."""
    for block in doc_blocks.blocks(page):
        if block.kind in DONE and (long or not block.is_long):
            tool_of_blocks.do(block, folder)


@pytest.mark.parametrize("page", pages())
def test_the_blocks_of_a_page(page, tmp_path):
    for name in ("obspy", "parsl", "pyscf", "basis_set_exchange", "xarray"):
        pytest.importorskip(name)
    do(page, tmp_path, long=False)


@pytest.mark.long
@pytest.mark.parametrize("page", pages(long=True))
def test_the_long_blocks_of_a_page(page, tmp_path):
    do(page, tmp_path, long=True)


@pytest.mark.parametrize("block", [pytest.param(b, id=b.place) for b in BLOCKS if b.kind == "compile"])
def test_a_block_of_cpp_compiles(block, tmp_path):
    if shutil.which("mpicxx") is None:
        pytest.skip("there is no mpicxx")
    tool_of_blocks.do(block, tmp_path)


# -------------------------------------------------------------------------------------------------------- the tool itself


def page_of(folder, text):
    """A page with this text."""
    page = folder / "page.md"
    page.write_text(text)
    return page


def test_comments_are_read(tmp_path):
    page = page_of(
        tmp_path,
        "<!-- run: long folder=examples/scf\nx = 1\n-->\n```python\nprint(x)\n```\n\n```\nbare\n```\n\n"
        "<!-- a comment of another kind -->\n```\nbare too\n```\n",
    )
    first, second, third = doc_blocks.blocks(page)
    assert (first.kind, first.is_long, first.folder, first.before) == ("run", True, "examples/scf", "x = 1")
    assert (first.text, first.line, first.language) == ("print(x)\n", 4, "python")
    assert [second.kind, third.kind] == [doc_blocks.UNCLASSIFIED] * 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<!-- run -->\n```toml\n```\n", "run, of toml"),
        ("<!-- compile -->\n```python\n```\n", "compile, of python"),
        ("<!-- check: -->\n```toml\n```\n", "allowed: an application"),
        ("<!-- compile: half -->\n```cpp\n```\n", "compile: half; allowed: whole"),
        ("<!-- save -->\n```\n```\n", "allowed: the name of a file"),
        ("<!-- save: a.toml, somewhere -->\n```\n```\n", "or NAME, below what is there"),
        ("<!-- not run: hm -->\n```\n```\n", "not run: hm; allowed: the reason"),
        ("<!-- tested: python/tests/docs/missing.py -->\n```\n```\n", "names page.md"),
    ],
)
def test_comments_that_say_what_cannot_be_done(tmp_path, text, said):
    found = list(doc_blocks.blocks(page_of(tmp_path, text)))
    [fault] = doc_blocks.faults(found)
    assert said in fault


@pytest.mark.parametrize(
    "text",
    [
        "<!-- run -->\n```python\nraise SystemExit(3)\n```\n",
        "<!-- run -->\n```\nfalse\ntrue\n```\n",
        "<!-- check: waves -->\n```toml\n[run]\nthreads = -1\n```\n",
        "<!-- check: waves -->\n```toml\n[run]\nthread = 1\n```\n",
    ],
)
def test_a_block_that_fails_is_found(tmp_path, text):
    [block] = doc_blocks.blocks(page_of(tmp_path, text))
    with pytest.raises(tool_of_blocks.Failed, match="exit code"):
        tool_of_blocks.do(block, tmp_path)


def test_cpp_that_does_not_compile_is_found(tmp_path):
    if shutil.which("mpicxx") is None:
        pytest.skip("there is no mpicxx")
    [block] = doc_blocks.blocks(page_of(tmp_path, "<!-- compile -->\n```cpp\nint x = unknown;\n```\n"))
    with pytest.raises(tool_of_blocks.Failed, match="unknown"):
        tool_of_blocks.do(block, tmp_path)


def test_files_that_later_blocks_need_are_saved(tmp_path):
    below = "<!-- save: folder/a.toml, below what is there -->\n```toml\ny = 2\n```\n"
    page = page_of(tmp_path, f"<!-- save: folder/a.toml -->\n```toml\nx = 1\n```\n\n{below}")
    for block in doc_blocks.blocks(page):
        tool_of_blocks.do(block, tmp_path)
    assert (tmp_path / "folder" / "a.toml").read_text() == "x = 1\n\ny = 2\n"


def test_a_whole_program_in_cpp_is_compiled_as_it_stands(tmp_path):
    if shutil.which("mpicxx") is None:
        pytest.skip("there is no mpicxx")
    program = "```cpp\nint main() { return 0; }\n```\n"
    whole, body = doc_blocks.blocks(
        page_of(tmp_path, f"<!-- compile: whole -->\n{program}\n<!-- compile -->\n{program}")
    )
    tool_of_blocks.do(whole, tmp_path)
    with pytest.raises(tool_of_blocks.Failed, match="exit code"):
        tool_of_blocks.do(body, tmp_path)


def test_the_counts_are_printed():
    printed = tool_of_blocks.table(BLOCKS)
    assert printed.startswith(f"code blocks: {len(BLOCKS)}")
    numbers = [int(line.split()[0]) for line in printed.splitlines()[1:]]
    assert sum(numbers) == len(BLOCKS)
