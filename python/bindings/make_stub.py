"""Writes the stub of an extension module, from its signatures and docstrings, by nanobind's stubgen.

    python make_stub.py --stubgen FOLDER --names PATTERNS --output FILE [--copy FILE] MODULE=FOLDER ...

The last module is described; those before it are imported first. Their packages are stand-ins, so that nothing but the
extensions is imported: that starts no MPI. Where a module cannot be imported here, as one that was compiled for another
processor, one line says so, no stub is written, and the exit code is 0: the extension works without.
"""

import argparse
import importlib
import re
import signal
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

WIDTH = 120
"""Signatures that are longer get a line per parameter."""
NOT_IMPORTABLE = 3
"""Exit code of the process that imports."""


def parts(text: str) -> Iterator[str]:
    """What the commas outside brackets and strings separate."""
    depth, quote, begin = 0, "", 0
    for at, character in enumerate(text):
        if quote or character in "'\"":
            quote = "" if character == quote else quote or character
        elif character == "," and depth == 0:
            yield text[begin:at].strip()
            begin = at + 1
        depth += 0 if quote else (character in "([{") - (character in ")]}")
    yield text[begin:].strip()


def docstring(found: re.Match[str]) -> str:
    """Its first line beside the quotation marks, and all of it in one line where that is short."""
    margin, text = found.groups()
    first, *rest = [line.rstrip() for line in text.strip("\n").splitlines()]
    if rest:
        return "\n".join([f'{margin}"""{first.lstrip()}', *rest, f'{margin}"""'])
    return f'{margin}"""{first.lstrip()}"""'


def wrapped(line: str) -> str:
    """The line, or a line per parameter where it is a long signature."""
    margin = line[: len(line) - len(line.lstrip())]
    first, bracket, rest = line.partition("(")
    if len(line) <= WIDTH or not line.lstrip().startswith("def ") or not bracket:
        return line
    inside, _, result = rest.rpartition(") -> ")
    return "\n".join([f"{first}(", *(f"{margin}    {each}," for each in parts(inside)), f"{margin}) -> {result}"])


def stub_of(modules: dict[str, str], stubgen_folder: str, names: str) -> str:
    """The text. Ends the program with NOT_IMPORTABLE and one line where a module cannot be imported."""
    for name, folder in modules.items():
        package = types.ModuleType(name.rpartition(".")[0])
        package.__path__ = [folder]
        sys.modules[package.__name__] = package
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            print(error, file=sys.stderr)
            sys.exit(NOT_IMPORTABLE)
    sys.path.insert(0, stubgen_folder)
    stubgen = importlib.import_module("stubgen")
    generator = stubgen.StubGen(module, include_private=True, patterns=stubgen.load_pattern_file(names))
    generator.put(module)
    text = re.sub(r'^( *)"""\n(.*?)\n *"""$', docstring, generator.get(), flags=re.MULTILINE | re.DOTALL)
    return "\n".join(wrapped(line) for line in text.splitlines()) + "\n"


def main() -> None:
    """Imports in a process of its own, which may end by a signal, and reports what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stubgen", required=True, help="the folder of nanobind's stubgen.py")
    parser.add_argument("--names", required=True, help="a pattern file of stubgen")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--copy", type=Path, help="beside the sources, for editable installs and type checkers")
    parser.add_argument("--import-here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("modules", nargs="+", metavar="MODULE=FOLDER")
    given = parser.parse_args()
    modules = dict(each.split("=", 1) for each in given.modules)
    if given.import_here:
        given.output.write_text(stub_of(modules, given.stubgen, given.names))
        return
    for each in filter(None, (given.output, given.copy)):
        each.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, __file__, "--import-here", *sys.argv[1:]], capture_output=True, text=True)
    if done.returncode not in (0, NOT_IMPORTABLE) and done.returncode > 0:
        sys.exit(done.stderr)
    if done.returncode != 0:
        why = done.stderr.strip().splitlines()
        reason = signal.strsignal(-done.returncode) if done.returncode < 0 else why[-1] if why else "no reason given"
        print(
            f"craton: no type stub: {list(modules)[-1]} cannot be imported on this machine ({reason})", file=sys.stderr
        )
        return
    if given.copy:
        given.copy.write_text(given.output.read_text())


if __name__ == "__main__":
    main()
