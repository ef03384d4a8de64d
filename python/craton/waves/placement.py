"""Which brick each rank has, and media in a file for each brick."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from craton import _craton
from craton.errors import UserError
from craton.runs.files import read_json, write_json
from craton.seismology.ground.media_partition import PartitionedMedium, write_partitions
from craton.seismology.wave_run.config import Config
from craton.seismology.wave_run.setup import Setup, process_grid

__all__ = ["check_ranks", "partition", "place", "read_placement"]

FACE_BYTES = (72.0, 72.0, 72.0)
"""Bytes that both sides of a cell's face send in a step: 3 planes of 3 velocities and of 3 stresses, float32."""


def check_ranks(config: Config, ranks: int, placed: Sequence[int] | None) -> None:
    """UserError where the grid cannot be cut for so many ranks, or a placement is for others."""
    process_grid(config, ranks)
    if placed is not None and len(placed) != ranks:
        raise UserError(f"--placement: for {len(placed)} ranks, but the run has {ranks}; allowed: one made for {ranks}")


def read_placement(path: Path) -> list[int]:
    """What place() has written."""
    allowed = "what craton waves place --output wrote"
    content = read_json(path, "a placement", allowed)
    try:
        found = content["brick_of_rank"]
        if sorted(found) != list(range(len(found))):
            raise ValueError("not each brick once")
    except (ValueError, KeyError, TypeError) as problem:
        raise UserError(f"{path}: not a placement ({problem}); allowed: {allowed}") from None
    return [int(brick) for brick in found]


def place(nodes: Path, config: Config, ranks: int, output: Path | None = None) -> dict[str, Any]:
    """Places bricks on ranks so that there are few hop-bytes: brick_of_rank, and in_words before and after. Not collective.

    nodes: a list of nodes, as `craton waves place --help` has it. output: a file of JSON, which read_placement() reads.
    """
    if config.grid.coarser_below_m:
        raise config.wrong(
            "[grid] coarser_below_m: bricks of two grids are not placed; allowed: cells that are all alike"
        )
    try:
        text = nodes.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UserError(f"{nodes}: cannot be read: {problem}; allowed: a list of nodes") from None
    bricks = process_grid(config, ranks)
    found = dict(_craton.place_bricks(config.cells, bricks, text, str(nodes), FACE_BYTES))
    found |= {"bricks": list(bricks), "cells": list(config.cells)}
    if output is not None:
        write_json(output, found)
    return found


def partition(config: Config, ranks: int, folder: Path) -> dict[str, Any]:
    """Writes the media in a file for each rank's brick. Not collective. Returns bricks, and file: what [media] file is to be."""
    setup = Setup(config)
    if isinstance(setup.medium, PartitionedMedium):
        raise config.wrong('[media] read = "partitioned"; allowed: media that are not in parts yet')
    if len(setup.parts) > 1:
        raise config.wrong(
            '[grid] coarser_below_m: its media are read with read = "parallel"; allowed: cells that are all alike'
        )
    parts = setup.decomposition(ranks)
    manifest = write_partitions(setup.medium, setup.grid, parts, folder, subsamples=setup.subsamples)
    return {"bricks": list(parts), "file": str(manifest)}
