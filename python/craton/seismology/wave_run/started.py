"""How an application starts a wave run as a task of its own: the words, the module that forks for it, about how long it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from craton._launch import CRATON

__all__ = ["forked_module", "part_done", "predicted_s", "start_ranks", "words"]

SECONDS_PER_POINT = 1e-8
"""Of a step of waves on a core, about."""
START_S, START_OF_RANKS_S = 0.4, 1.5
"""That a wave run takes before its first step, about: of one rank, which is forked, and of several, which are started."""


def forked_module(ranks: int) -> str:
    """The module whose main() does a run of one rank in a process that has imported it; "" for several: a program."""
    return "craton.waves.forked_run" if ranks == 1 else ""


def start_ranks(ranks: int) -> tuple[str, ...]:
    """Words after the others that start several ranks."""
    return ("--ranks", str(ranks)) if ranks > 1 else ()


def words(config: Path, ranks: int, threads: int, unfinished: Path | None = None) -> list[str]:
    """What does a run, or goes on with it. unfinished: its folder, where it has left something to go on from."""
    if ranks == 1:
        return [*(("resume", str(unfinished)) if unfinished is not None else ("run",)), str(config), str(threads)]
    what = ["resume", str(unfinished), str(config)] if unfinished is not None else ["run", str(config), "--overwrite"]
    return [*CRATON, "waves", *what, "--no-report", "--threads", str(threads)]


def predicted_s(cells: Sequence[int], steps: float, ranks: int) -> float:
    """Seconds of a core, about."""
    return (START_S if ranks == 1 else START_OF_RANKS_S) + math.prod(cells) * steps * SECONDS_PER_POINT


def part_done(log: Path) -> float:
    """The part of a wave run that its own lines tell of: `Waves:  30%  ...`."""
    try:
        words = log.read_text(encoding="utf-8", errors="replace").rpartition("Waves:")[2].split()
    except OSError:
        return 0.0
    return float(words[0][:-1]) / 100 if words and words[0][:-1].isdigit() and words[0].endswith("%") else 0.0
