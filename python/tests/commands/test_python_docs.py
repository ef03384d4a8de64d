"""The snippets of docs/python.md, one after the other as one program; and those of other pages.

docs/multigrid.md, docs/waves.md and docs/scf.md.
"""

import re
import sys
from pathlib import Path

import pytest
from craton._launch import run_under_mpi

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


@pytest.mark.parametrize("ranks", [1, 3])
def test_the_snippets_run(ranks, tmp_path, capfd):
    snippets = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(snippets) > 5
    program = tmp_path / "snippets.py"
    text = "\n\n".join(snippets).replace('"counts.checkpoint.h5"', repr(str(tmp_path / "counts.checkpoint.h5")))
    program.write_text(text)
    code = run_under_mpi([str(program)], ranks, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert "4060 columns, 150 samples" in out


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("page", ["multigrid.md", "waves.md"])
def test_the_snippets_of_a_page_run(page, ranks, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"^```python\n(.*?)^```$", PAGE.with_name(page).read_text(), re.DOTALL | re.MULTILINE)
    assert snippets
    program = tmp_path / "snippets.py"
    program.write_text("\n\n".join(snippets))
    assert run_under_mpi([str(program)], ranks, program=[sys.executable]) == 0, capfd.readouterr().err


def test_the_snippet_of_hartree_fock_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("pyscf")
    pytest.importorskip("basis_set_exchange")
    pytest.importorskip("ase")
    first, *others = re.findall(
        r"^```python\n(.*?)^```$", PAGE.with_name("scf.md").read_text(), re.DOTALL | re.MULTILINE
    )
    exec(compile(first, "scf.md", "exec"), found := {})
    assert found["radical"].converged
    assert len(others) == 5
    for snippet in others:
        exec(compile(snippet, "scf.md", "exec"), {})
