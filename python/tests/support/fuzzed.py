"""A reader under atheris, which looks for inputs that take another way through the code.

fuzzed.py READER FOLDER [LIBFUZZER OPTION ...]. FOLDER has corpus/, to which inputs with new ways are added, and gets crash-* where
a reader raised something else than UserError in one line. Only Craton's own modules are instrumented. Started by tools/fuzz.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import sys
import warnings
from pathlib import Path
from typing import Any

import atheris
import readers


def instrumented() -> None:
    """Imports what reads files, so that each branch in it is counted."""
    with atheris.instrument_imports(include=["craton"]):
        import craton

        for each in pkgutil.walk_packages(craton.__path__, "craton."):
            if ".commands" not in each.name and "__main__" not in each.name:
                with contextlib.suppress(Exception):  # of an optional package that is not installed
                    importlib.import_module(each.name)


def main() -> None:
    """Never returns: libFuzzer ends the process."""
    name, folder, *options = sys.argv[1:]
    reader, place = readers.READERS[name], Path(folder)
    corpus = place / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    instrumented()
    from craton.errors import UserError

    path = reader.make(place)
    (corpus / "whole").write_bytes(path.read_bytes())
    warnings.simplefilter("ignore")

    def read(content: bytes) -> None:
        path.write_bytes(content)
        try:
            reader.read(path)
        except UserError as problem:
            if "\n" in str(problem):
                raise RuntimeError(f"several lines: {problem}") from None

    arguments: list[Any] = [sys.argv[0], f"-artifact_prefix={place}{os.sep}", *options, str(corpus)]
    atheris.Setup(arguments, read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
