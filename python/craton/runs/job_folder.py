"""The folder of a run whose work is done by jobs: processes of their own, that read its configuration and leave files in it.

A job is done when its file is there. So such a run goes on by doing what is missing, also when it has finished.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Self

from craton.errors import UserError
from craton.runs.files import remove, write_json, write_text
from craton.runs.folder import RecordType, RunFile, RunFolder
from craton.runs.progress_file import Progress, Start
from craton.settings import Configuration, read_toml, table_to_toml

__all__ = ["JobFolder"]


class JobFolder(RunFolder[RecordType]):
    """Its files, beside those of the application.

    A new run takes the place of an earlier one at once: its jobs are told of files in this folder.
    """

    run_settings = RunFile("run.toml", "input")
    """[run], which may be another one when the run is resumed; config.toml has all else."""
    engine = RunFile("engine")
    """Parsl's logs."""

    def read_run(self) -> dict[str, Any]:
        """[run], as it was when the run was last started. UserError where it is not there, or not whole."""
        return read_toml(self.run_settings, f"craton {self.app} run")["run"]  # type: ignore[no-any-return]

    def write_config(self, config: Configuration) -> None:
        """What jobs read, but for [run]: write_run comes last, when all else that they read is there."""
        write_text(self.config, config.to_toml(leave_out=("run",)))

    def write_run(self, run: Any) -> None:
        """run: the table [run]."""
        write_text(self.run_settings, table_to_toml("run", run))

    def require_config(self) -> None:
        """UserError where no run has left its configuration."""
        self.require()
        if not self.config.is_file():
            raise UserError(f"{self.config}: no such file; allowed: the folder of a run of `craton {self.app} run`")

    def check_same(self, given: Configuration) -> None:
        """UserError for another configuration than the run's, but for [run], on which no result depends."""
        text, known = given.to_toml(leave_out=("run",)), self.config.read_text(encoding="utf-8")
        if known != text:
            line = next(
                (a for a, b in zip(known.splitlines(), text.splitlines(), strict=False) if a != b), "its length"
            )
            raise UserError(
                f"{self.config}: not the configuration of this run: '{line}' is different; allowed: the same configuration, but "
                "for [run], or another folder"
            )

    def reopen(self, start: Start) -> None:
        """A run that has finished, or was ended before it had begun: with progress.json it can go on."""
        progress = Progress.of(start)
        if self.record.is_file():
            known = self.read_record()
            progress.sessions, progress.command = known.sessions or progress.sessions, known.command
            progress.source = known.title  # all that is known of the file's name
        write_json(self.progress, asdict(progress))

    def place_to_write(self) -> Self:
        """The folder itself, emptied."""
        for file in (*self.results, *self.working, *self.inputs):
            remove(file)
        return self
