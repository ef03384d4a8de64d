"""The folder that `craton waves run` leaves behind.

    config.toml        the configuration with every default written out
    seismograms.h5     velocity [station][x, y, z][time], m/s          stations.csv   who and where they are
    sgt.h5             sgt [point][xx, yy, zz, xy, xz, yz][time]       strains
    snapshots.h5       a dataset per field [time][z][y][x]
    surface.h5         the same of the surface, for the movie
    record.json        what was run, and how fast; written last: a folder with it holds a whole run
    pictures/          record section, snapshots, movie

While a run goes on, its files end in .partial, and checkpoint.h5 and checkpoint.h5.layers are what it can be resumed from.
"""

from __future__ import annotations

import json
import pathlib
import shutil
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from craton.errors import UserError
from craton.runs.files import replaced
from craton.runs.folder import Folder

__all__ = ["SOURCES_TOLD", "RunRecord", "WavesFolder"]

SOURCES_TOLD = 2000


@dataclass
class RunRecord:
    """record.json. Times in s."""

    title: str
    config: dict[str, Any]
    versions: dict[str, str]
    command: str
    started: str
    ranks: int
    nodes: int
    threads: int
    bricks: list[int]
    """along x, y, z"""
    sources_m: list[list[float]]
    """x, y, z of points, the first SOURCES_TOLD of them."""
    cells: list[int]
    spacing_m: float
    dt_s: float
    steps: int
    resumed_at_step: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall clock of rank 0: set-up, steps, and in them what modules took."""
    points_per_s: float = 0.0
    bytes_per_point: float = 0.0
    memory_gb_s: float = 0.0
    """Measured before the first step, all ranks together."""
    peak_velocity_m_s: float = 0.0
    """Largest |v| of a component anywhere at the end."""
    files: list[str] = field(default_factory=list)

    @property
    def memory_fraction(self) -> float:
        """Of the measured bandwidth."""
        return self.points_per_s * self.bytes_per_point / (1e9 * self.memory_gb_s) if self.memory_gb_s else 0.0

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, allow_nan=False)


class WavesFolder(Folder):
    """Names of the files."""

    def __getattr__(self, name: str) -> pathlib.Path:
        if name not in NAMES:
            raise AttributeError(name)
        return self.path / NAMES[name]

    @property
    def files(self) -> tuple[pathlib.Path, ...]:
        return tuple(self.path / name for name in NAMES.values() if name not in ("pictures", "checkpoint.h5"))

    @property
    def results(self) -> list[pathlib.Path]:
        """config.toml and stations.csv alone are none."""
        return [file for file in super().results if file not in (self.config, self.stations)]

    @property
    def checkpoints(self) -> list[pathlib.Path]:
        """The checkpoint, and what belongs to it."""
        return sorted(file for file in self.path.glob(f"{self.checkpoint.name}*") if file.is_file())

    @property
    def unfinished(self) -> list[pathlib.Path]:
        """What a run has left that did not come to its end."""
        left = [file for file in self.path.glob("*.h5.partial") if file.is_file()]
        return left + self.checkpoints

    def check_new(self, overwrite: bool, inputs: dict[str, str]) -> None:
        """UserError for the results of another run, finished or not, unless they may be replaced."""
        self.check(overwrite, inputs)
        if self.unfinished and not overwrite:
            resume = "--resume, which goes on with it, " if self.checkpoint.is_file() else ""
            raise UserError(
                f"output folder {self.path}: {self.unfinished[0].name} is of a run that was ended; allowed: {resume}"
                "--overwrite, or another folder"
            )

    def check_resume(self, text: str) -> None:
        """UserError unless a run of the same configuration can go on here. text: the configuration's TOML."""
        if not self.checkpoint.is_file():
            raise UserError(
                f"output folder {self.path}: no {self.checkpoint.name} to go on from; allowed: a folder of a run with "
                "[checkpoint] that was ended, or no --resume"
            )
        try:
            known = self.config.read_text(encoding="utf-8")
        except OSError as problem:
            raise UserError(f"{self.config}: {problem.strerror or problem}; allowed: the folder of a run") from None
        if known != text:
            line = next(
                (a for a, b in zip(known.splitlines(), text.splitlines(), strict=False) if a != b), "its length"
            )
            raise UserError(
                f"{self.config}: not the configuration of this run: '{line}' is different; allowed: the same "
                "configuration, but for [run] and [checkpoint]"
            )

    def discard(self) -> None:
        """Of a run before that did not come to its end."""
        for file in self.unfinished:
            file.unlink(missing_ok=True)

    def adopt(self, written: list[pathlib.Path]) -> None:
        """Before the files of this run get their names: those of an earlier one that they do not replace go, its record first."""
        self.record.unlink(missing_ok=True)
        for file in self.results:
            if file not in written:
                file.unlink(missing_ok=True)
        shutil.rmtree(self.pictures, ignore_errors=True)

    def write_text(self, path: pathlib.Path, text: str) -> None:
        with replaced(path) as aside:
            aside.write_text(text, encoding="utf-8")

    def read_record(self) -> RunRecord:
        """UserError where there is none."""
        try:
            content = json.loads(self.record.read_text(encoding="utf-8"))
            known = {entry.name for entry in fields(RunRecord)}
            return RunRecord(**{key: value for key, value in content.items() if key in known})
        except OSError as problem:
            raise UserError(
                f"{self.record}: {problem.strerror or problem}; allowed: the folder of a run of `craton waves run` that has ended"
            ) from None
        except (ValueError, TypeError, AttributeError) as problem:
            raise UserError(
                f"{self.record}: not a run's record ({problem}); allowed: what craton waves run wrote"
            ) from None


NAMES = {
    "config": "config.toml",
    "stations": "stations.csv",
    "seismograms": "seismograms.h5",
    "sgt": "sgt.h5",
    "snapshots": "snapshots.h5",
    "surface": "surface.h5",
    "record": "record.json",
    "checkpoint": "checkpoint.h5",
    "pictures": "pictures",
}
