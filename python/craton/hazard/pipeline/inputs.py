"""What the jobs of a run read: written when it is started or resumed."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import numpy as np

from craton.hazard.config import waves_config
from craton.hazard.folder import HazardFolder
from craton.hazard.motion.pulses import flat_text
from craton.hazard.pipeline.work import Work
from craton.runs.files import remove_half_written, replaced, write_text
from craton.seismology.wave_run.folder import WavesFolder

__all__ = ["write_inputs"]

SECONDS_TO_END = 15.0


def write_inputs(work: Work, folder: HazardFolder) -> None:
    """Writes what jobs read, anew when a run is resumed: the same, but for [run].

    A checkpoint belongs to the bricks that it was written from: where others are wanted now, waves that have not come to their end
    begin anew.
    """
    wanted = _bricks_of(asdict(work.config.run))
    other_bricks = folder.run_settings.is_file() and _bricks_of(folder.read_run()) != wanted
    folder.write_config(work.config)
    with replaced(folder.points) as aside, aside.open("wb") as stream:
        np.save(stream, work.points_m)
    if work.config.green.highest_hz:
        write_text(folder.pulse, flat_text(work.config.green.highest_hz))
    for site in work.config.all_sites:
        own = folder.site(site.name)
        own.mkdir(parents=True, exist_ok=True)
    own_folders = [folder.site(site.name) for site in work.config.all_sites]
    remove_half_written([folder.pictures, folder.openquake, folder.models, *own_folders])
    for site, at in zip(work.config.all_sites, work.position_m, strict=True):
        for direction in work.config.green.directions:
            waves = WavesFolder(folder.waves(site.name, direction))
            _wait_until_free(waves)
            if other_bricks and not waves.record.is_file():
                waves.discard()
            made = waves_config(
                work.config,
                at,
                direction,
                folder.points,
                folder.pulse,
                threads=work.config.run.rank_threads,
                decomposition=list(work.config.run.decomposition),
                directory=str(folder.waves(site.name, direction)),
            )
            write_text(folder.waves_config(site.name, direction), made.to_toml())
    # last, because it stands for what checkpoints there are
    folder.write_run(work.config.run)


def _bricks_of(run: dict[str, Any]) -> tuple[int, list[int]]:
    """Of a table [run]."""
    return int(run["ranks"]), list(run["decomposition"])


def _wait_until_free(waves: WavesFolder) -> None:
    """Ranks of a run that was killed take a moment to end."""
    until = time.monotonic() + SECONDS_TO_END
    while waves.owner is not None and time.monotonic() < until:
        time.sleep(0.1)
