"""The snippets of docs/python.md, one after the other as one program; and of docs/multigrid.md."""

import re
import sys
from pathlib import Path

import pytest
from craton._launch import run_under_mpi

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"
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
def test_the_multigrid_snippet_runs(ranks, tmp_path, capfd):
    [snippet] = re.findall(
        r"^```python\n(.*?)^```$", PAGE.with_name("multigrid.md").read_text(), re.DOTALL | re.MULTILINE
    )
    program = tmp_path / "snippet.py"
    program.write_text(snippet)
    assert run_under_mpi([str(program)], ranks, program=[sys.executable]) == 0, capfd.readouterr().err
