"""Which brick each rank has, and media in a file for each brick."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from craton import _craton
from craton.errors import UserError
from craton.runs.files import write_text
from craton.seismology.ground.media_partition import PartitionedMedium, write_partitions
from craton.seismology.wave_run.config import Config
from craton.seismology.wave_run.setup import Setup, process_grid

__all__ = ["check_ranks", "partition", "place", "read_placement"]

FACE_BYTES = (72.0, 72.0, 72.0)
"""Of each cell of a face, what both sides send in a step: of 3 velocities and 3 stresses 3 planes each, float32."""


def check_ranks(config: Config, ranks: int, placed: Sequence[int] | None) -> None:
    """UserError where the grid cannot be cut for so many ranks, or a placement is for others."""
    process_grid(config, ranks)
    if placed is not None and len(placed) != ranks:
        raise UserError(f"--placement: for {len(placed)} ranks, but the run has {ranks}; allowed: one made for {ranks}")


def read_placement(path: Path) -> list[int]:
    """What place() has written."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["brick_of_rank"]
        if sorted(found) != list(range(len(found))):
            raise ValueError("not each brick once")
    except OSError as problem:
        raise UserError(
            f"{path}: {problem.strerror or problem}; allowed: what craton waves place --output wrote"
        ) from None
    except (ValueError, KeyError, TypeError) as problem:
        raise UserError(
            f"{path}: not a placement ({problem}); allowed: what craton waves place --output wrote"
        ) from None
    return [int(brick) for brick in found]


def place(nodes: Path, config: Config, ranks: int, output: Path | None) -> str:
    """Hop-bytes before and after, in words. Not collective."""
    try:
        text = nodes.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UserError(f"{nodes}: cannot be read: {problem}; allowed: a list of nodes") from None
    bricks = process_grid(config, ranks)
    found = _craton.place_bricks(config.cells, bricks, text, str(nodes), FACE_BYTES)
    if output is not None:
        write_text(output, json.dumps(found | {"bricks": bricks, "cells": config.cells}, indent=1) + "\n")
    return f"{' x '.join(map(str, bricks))} bricks\n{found['in_words']}"


def partition(config: Config, ranks: int, folder: Path) -> str:
    """Writes the media in a file for each rank's brick; says where. Not collective."""
    setup = Setup(config)
    if isinstance(setup.medium, PartitionedMedium):
        raise config.wrong('[media] read = "partitioned"; allowed: media that are not in parts yet')
    parts = setup.decomposition(ranks)
    manifest = write_partitions(setup.medium, setup.grid, parts, folder, subsamples=setup.subsamples)
    return f'{" x ".join(map(str, parts))} bricks\n[media] kind = "file", file = "{manifest}", read = "partitioned"'
