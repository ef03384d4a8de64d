"""report.html drawn by two processes: this one, and `python -m craton.tomography.report.two_processes FOLDER` beside it."""

from __future__ import annotations

import os
import pathlib
import pickle
import subprocess
import sys

from craton._launch import usable_cores
from craton.errors import UserError
from craton.tomography.report import page


def write_report(path: str | pathlib.Path) -> pathlib.Path:
    """As page.write_report; where there are two cores, both draw."""
    folder = page.folder_of_run(path)
    if usable_cores() == 1:
        return page.write_report(path)
    command = [sys.executable, "-m", __name__, str(folder.path)]
    # Python read its environment before MPI added to it; Ctrl-C is for this process, which ends the other.
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(os.environ), start_new_session=True) as beside:
        assert beside.stdout is not None
        try:
            own = page.draw_share(path, 0, 2)
            answer = beside.stdout.read()
        except BaseException:
            beside.kill()
            raise
    if beside.returncode != 0:
        raise RuntimeError(f"drawing the second half of the report ended with code {beside.returncode}")
    other, problem = pickle.loads(answer)
    if problem:
        raise UserError(problem)
    return page.write_sections(path, [own, other])


def _draw_beside(path: str) -> None:
    """Answers on standard output with the second share, or with what is wrong. What libraries print goes to standard error."""
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)
        share: page.Share = {}
        problem = ""
        try:
            share = page.draw_share(path, 1, 2)
        except UserError as error:
            problem = str(error)
        answer.write(pickle.dumps((share, problem)))


if __name__ == "__main__":
    _draw_beside(sys.argv[1])
