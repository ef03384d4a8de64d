"""A graph of tasks that leave their files in a FOLDER, as programs and as forked functions. Started again it does what is missing.

`main` is what the forked ones do.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

TASKS = 16
SECONDS = 0.3


def main(words: Sequence[str]) -> None:
    """Leaves a file with the sum of the numbers of those before it."""
    from craton.runs.files import write_text

    path, number, *before = words
    time.sleep(SECONDS)
    total = int(number) + sum(int(Path(one).read_text(encoding="utf-8")) for one in before)
    write_text(Path(path), f"{total}\n")


def run(folder: Path) -> None:
    """All of them, two at a time; each waits for the third before it."""
    from craton.errors import UserError
    from craton.tasks import Task, run_tasks

    tasks = []
    for number in range(TASKS):
        result, before = folder / f"{number}.txt", [folder / f"{number - 3}.txt"] if number >= 3 else []
        words = [str(word) for word in (result, number, *before)]
        served = number % 2 == 0
        tasks.append(
            Task(
                str(number),
                result=result,
                command=lambda words=words, served=served: words if served else [sys.executable, __file__, *words],
                log=folder / f"{number}.log",
                after=tuple(one.stem for one in before),
                module="saved_tasks" if served else "",
            )
        )
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    outcome = run_tasks(tasks, cores=2, jobs=2)
    if outcome.failures:
        raise UserError(outcome.failures[0])


if __name__ == "__main__":
    from craton._launch import main_guard

    with main_guard():
        if len(sys.argv) > 2:
            main(sys.argv[1:])
        else:
            run(Path(sys.argv[1]))
