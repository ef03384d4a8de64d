"""What a run was started with, and what may be another when it goes on."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from craton.errors import UserError
from craton.tomography.config.load import config_from_dict, load_config

if TYPE_CHECKING:
    from craton.tomography.config.load import Config
    from craton.tomography.folder import RunFolder

FREE = (
    ("run", "directory"), ("modes", "cache"), ("inversion", "max_iterations"), ("inversion", "tolerance"),
    ("inversion", "keep_hessians"), ("inversion", "step_halvings"), ("assembly", "subset"), ("assembly", "threads"),
    ("assembly", "compress"), ("assembly", "checkpoint_minutes"), ("report", "resolution"),
)  # fmt: skip
"""Settings that may be others when a run is resumed: nothing that has been computed depends on them."""


def config_to_resume(folder: RunFolder, config: Config | None = None) -> Config | None:
    """The configuration of the run in a folder, with the free settings of `config`; None where the run has finished. UserError
    where no run is, one goes on, and for any other difference. Not collective.
    """
    ended = folder.path.is_dir() and folder.owner is None and folder.unfinished is None and folder.record.is_file()
    if ended and folder.read_record().finished:
        return None
    stored = folder.to_resume()
    here = str(folder.path.absolute())
    if config is None:
        return config_from_dict(stored.configuration, stored.source).replaced("run", directory=here)
    folder.check_resume(json.loads(json.dumps(config.to_dict())), str(config.source), FREE)
    return config.replaced("run", directory=here)


def command_line(config: Config, ranks: int, ranks_per_node: int = 0) -> str:
    """The command that repeats a run: options are what differs from the configuration file."""
    try:
        written = load_config(config.source)
    except UserError:
        written = config
    words = ["craton", "tomography", "run", str(config.source), "--ranks", str(ranks)]
    if ranks_per_node:
        words += ["--ranks-per-node", str(ranks_per_node)]
    if config.assembly.threads != written.assembly.threads:
        words += ["--threads", str(config.assembly.threads)]
    if config.inversion.max_iterations != written.inversion.max_iterations:
        words += ["--iterations", str(config.inversion.max_iterations)]
    if config.run.directory != written.run.directory:
        directory, here = Path(config.run.directory), Path.cwd()
        below = directory.relative_to(here) if directory.is_relative_to(here) else directory
        words += ["--directory", str(below)]
    return shlex.join(words)
