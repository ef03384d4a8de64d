"""A program of the user's that leaves no file of its own to tell that it is done: it is marked when it has ended well.

`main` does it as a task: Task(module="craton.tasks.marked", command=lambda: words_for(...)).
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from craton._launch import environment_of_a_program
from craton._with_parent import die_with_parent
from craton.errors import UserError

__all__ = ["main", "run_marked", "words_for"]


def run_marked(words: Sequence[str], begin_in: Path, marks: Sequence[Path], output: IO[bytes] | None = None) -> str:
    """Runs a program in a folder; "" if it ended well and is marked, else why not. It ends with this process.

    output: for what it prints; None: where this process prints. Of several marks the first is made last.
    """
    try:
        done = subprocess.run(
            words, cwd=begin_in, env=environment_of_a_program(), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT if output is not None else None, check=False, preexec_fn=die_with_parent,
        )  # fmt: skip
    except OSError as problem:
        return f"{problem.filename}: {problem.strerror}"
    if done.returncode:
        return f"ended with {done.returncode}"
    try:
        for mark in reversed(marks):
            mark.touch()
    except OSError as problem:
        return f"{problem.filename}: {problem.strerror}"
    return ""


def words_for(words: Sequence[str], begin_in: Path, marks: Sequence[Path]) -> list[str]:
    """For main. Paths are made absolute: a worker may be elsewhere."""
    return [str(begin_in.absolute()), str(len(marks)), *(str(mark.absolute()) for mark in marks), *words]


def main(arguments: Sequence[str]) -> None:
    """In a process of its own. UserError that says why, if the program does not end well."""
    begin_in, count, *rest = arguments
    marks, words = rest[: int(count)], rest[int(count) :]
    if problem := run_marked(words, Path(begin_in), [Path(mark) for mark in marks]):
        raise UserError(problem)
