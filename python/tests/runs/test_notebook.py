"""Progress in a notebook: one display, replaced a few times a second; and no notebook where there is none."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from craton.runs import notebook
from craton.runs.agreement import ALONE
from craton.runs.notebook import NotebookConsole, console_or_notebook
from craton.runs.progress import ProgressBar, make_console

IPython = pytest.importorskip("IPython")


class Cell:
    """What a cell would show: the objects that were displayed first, and those that replaced them."""

    def __init__(self) -> None:
        self.shown, self.replaced = [], []

    def display(self, thing, display_id):
        assert display_id is True
        self.shown.append(thing)
        return SimpleNamespace(update=self.replaced.append)


@pytest.fixture
def cell(monkeypatch):
    made = Cell()
    monkeypatch.setattr("IPython.display.display", made.display)
    return made


def test_a_thousand_steps_are_one_display(cell):
    console = NotebookConsole()
    with ProgressBar("Stepping", 1000, "steps", console) as bar:
        for _ in range(1000):
            bar.advance()
    assert len(cell.shown) == 1 and len(cell.replaced) < 40
    last = cell.replaced[-1]
    assert repr(last).startswith("Stepping: 100%  1000/1000 steps  ")
    assert '<progress max="1" value="1.000">' in last._repr_html_()


def test_bars_of_a_run_share_the_display(cell):
    console = NotebookConsole()
    for label in ("First", "Second"):
        with ProgressBar(label, 2, console=console) as bar:
            bar.update(2)
    assert len(cell.shown) == 1 and repr(cell.shown[0]).startswith("First:   0%")
    assert repr(cell.replaced[-1]).startswith("Second: 100%")


def test_labels_are_text_and_no_html(cell):
    with ProgressBar("<script>alert(1)</script>", 1, "<b>", NotebookConsole()):
        pass
    html = cell.replaced[-1]._repr_html_()
    assert "<script" not in html and "<b>" not in html and "&lt;script&gt;" in html


def test_a_failed_run_shows_how_far_it_came(cell):
    with pytest.raises(ZeroDivisionError), ProgressBar("Steps", 10, "steps", NotebookConsole()) as bar:
        bar.update(3)
        bar.update(1 // 0)
    assert repr(cell.replaced[-1]).startswith("Steps:  30%  3/10 steps")


def test_without_a_kernel_a_run_is_silent():
    assert notebook._kernel() is None
    assert console_or_notebook(ALONE, None) is None


def test_a_kernel_gets_its_console_on_rank_0_alone(monkeypatch):
    monkeypatch.setattr(notebook, "_kernel", lambda: object())
    assert isinstance(console_or_notebook(ALONE, None), NotebookConsole)
    assert console_or_notebook(SimpleNamespace(rank=1), None) is None
    quiet = make_console(quiet=True)
    assert console_or_notebook(ALONE, quiet) is quiet


def test_an_engine_of_ipyparallel_gets_lines(monkeypatch, capsys):
    kernel = type("Kernel", (), {"__module__": "ipyparallel.engine.kernel"})()
    monkeypatch.setattr(notebook, "_kernel", lambda: kernel)
    console = console_or_notebook(ALONE, None)
    assert console is not None and not isinstance(console, NotebookConsole)
    with ProgressBar("Stepping", 10, "steps", console) as bar:
        bar.update(10)
    assert capsys.readouterr().out.startswith("Stepping: 100%  10/10 steps")
