"""The notebooks of examples/notebooks, executed by nbclient in a kernel of this Python; and what is wrong with their outputs."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import textwrap
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbclient
import nbformat

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "notebooks"
LONGEST_S = 300
MARK = "CRATON_TEST_OF_NOTEBOOKS"
NOT_TO_BE_SEEN = re.compile(r" at 0x[0-9a-f]+|warning|traceback", re.IGNORECASE)


@dataclass
class Executed:
    """A notebook with the outputs of all cells."""

    notebook: Any
    updates: int
    """Messages that replaced a display."""

    def cell(self, words: str) -> Any:
        """The one cell of code that contains these words."""
        [found] = [cell for cell in self.codes if words in cell.source]
        return found

    @property
    def codes(self) -> list[Any]:
        """Cells of code in their order."""
        return [cell for cell in self.notebook.cells if cell.cell_type == "code"]

    def text(self, words: str) -> str:
        """What the cell with these words printed, and the text of its displays and of its result."""
        return "".join(map(text_of, self.cell(words).outputs))

    def has(self, words: str, kind: str) -> bool:
        """Whether the cell with these words shows something of a MIME type."""
        return any(kind in output.get("data", {}) for output in self.cell(words).outputs)


class _Client(nbclient.NotebookClient):  # type: ignore[misc]  # traitlets
    updates = 0

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        """As nbclient; counts."""
        self.updates += msg["msg_type"] == "update_display_data"
        return super().process_message(msg, cell, cell_index)


def execute(name: str, folder: Path, checks: str = "") -> Executed:
    """Executes a notebook in a folder, and after its last cell `checks`: assertions about what its names are then."""
    notebook = nbformat.read(FOLDER / name, as_version=4)
    if checks:
        notebook.cells.append(nbformat.v4.new_code_cell(textwrap.dedent(checks)))
    client = _Client(notebook, timeout=LONGEST_S, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    with nothing_left_running():
        client.execute()
    return Executed(notebook, client.updates)


def text_of(output: Any) -> str:
    """The text of one output."""
    data = output.get("data", {})
    return str(output.get("text", "")) + str(data.get("text/plain", "")) + str(data.get("text/html", ""))


def complaints(executed: Executed) -> list[str]:
    """Whatever should not be seen in outputs: addresses, warnings, errors, what went to the standard error."""
    found = []
    for cell in executed.codes:
        for output in cell.outputs:
            text = text_of(output)
            bad = output.output_type == "error" or output.get("name") == "stderr" or NOT_TO_BE_SEEN.search(text)
            found += [f"{cell.source[:60]!r}: {text[:300] or output}"] if bad else []
    return found


@contextlib.contextmanager
def nothing_left_running() -> Iterator[None]:
    """Ends what was started inside and is still there, whatever happens; that is an error where nothing else was."""
    mark = uuid.uuid4().hex
    os.environ[MARK] = mark
    try:
        yield
        deadline = time.monotonic() + 20
        while (left := _marked(mark)) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert not left, f"still running: {left}"
    finally:
        del os.environ[MARK]
        for process in _marked(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def _marked(mark: str) -> list[int]:
    """Processes, other than this one, that have inherited the mark."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found
