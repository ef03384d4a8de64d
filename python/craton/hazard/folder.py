"""The folder that `craton hazard run` leaves behind.

    config.toml             the configuration with every default written out, but for [run], which is in
    run.toml                    and may be another one when the run is resumed
    points.npy              where Green's tensors are wanted, (n, 3) m       pulse.txt    the forces' time function
    sites/<name>/x, y, z    folders of craton waves run: a force along that axis at the site; sgt.h5
    sites/<name>/measures-<a>-<b>.h5    intensity measures of ruptures a to b, a row for each variation
    sites/<name>/site.h5    all of them together, curves, disaggregation, seismograms of the rupture that matters most
    sites/<name>/section.html    the site's part of the report          overview.html    that of all sites
    sites/<name>/*.log      what each job said
    models/                 curves of ground-motion models for all sites of the configuration
    hazard.h5, curves.csv, maps.csv, disaggregation.csv, openquake/    results of the sites that are finished
    report.html, pictures/  the same to be looked at
    record.json             what was done when, on which cores

A file has its name once it is whole; a task whose file is there is done.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.runs.files import replaced
from craton.runs.folder import Folder
from craton.settings import read_toml

__all__ = ["HazardFolder", "HazardRecord"]

RESULTS = (
    "hazard.h5",
    "curves.csv",
    "maps.csv",
    "disaggregation.csv",
    "openquake",
    "models",
    "overview.html",
    "overview.log",
    "report.html",
    "pictures",
    "record.json",
)


@dataclass
class HazardRecord:
    """record.json. Times in s."""

    title: str
    command: str
    started: str
    versions: dict[str, str]
    schedule: str
    cores: int
    jobs: int
    seconds: float
    """from the first job's beginning to the last one's end"""
    given: float
    """part of cores x seconds in which a job had the core"""
    computed: float
    """part in which it computed"""
    resumed: int
    """tasks that were done already"""
    variations: int
    """of each site"""
    ruptures: int
    cells: list[int]
    steps: int
    points: int
    """of Green's tensors"""
    tasks: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, allow_nan=False)


class HazardFolder(Folder):
    """Names of the files."""

    @property
    def config(self) -> Path:
        return self.path / "config.toml"

    @property
    def run_settings(self) -> Path:
        return self.path / "run.toml"

    @property
    def points(self) -> Path:
        return self.path / "points.npy"

    @property
    def pulse(self) -> Path:
        return self.path / "pulse.txt"

    @property
    def record(self) -> Path:
        return self.path / "record.json"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def pictures(self) -> Path:
        return self.path / "pictures"

    def site(self, name: str) -> Path:
        return self.path / "sites" / name

    def waves(self, site: str, direction: str) -> Path:
        return self.site(site) / direction

    def measures(self, site: str, ruptures: Sequence[int]) -> Path:
        """Of a portion: ruptures one after the other."""
        return self.site(site) / f"measures-{ruptures[0]:04d}-{ruptures[-1]:04d}.h5"

    def finished(self, site: str) -> Path:
        return self.site(site) / "site.h5"

    def section(self, site: str) -> Path:
        """Part of the report."""
        return self.site(site) / "section.html"

    @property
    def overview(self) -> Path:
        """Part of the report."""
        return self.path / "overview.html"

    @property
    def models(self) -> Path:
        return self.path / "models"

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path / "sites", self.points, self.pulse, *(self.path / name for name in RESULTS))

    @property
    def results(self) -> list[Path]:
        """points.npy and pulse.txt alone are none."""
        return [file for file in super().results if file not in (self.points, self.pulse)]

    def check_new(self, overwrite: bool, inputs: dict[str, str]) -> None:
        """UserError for the results of another run, finished or not, unless they may be replaced."""
        present = self.results
        if present and not overwrite:
            raise UserError(
                f"output folder {self.path}: {present[0].name} is there already; allowed: --resume, which does what is missing, "
                "--overwrite, or another folder"
            )
        self.check(overwrite, inputs)

    def check_resume(self, text: str) -> None:
        """UserError unless a run of the same configuration can go on here. text: the configuration's TOML."""
        try:
            known = self.config.read_text(encoding="utf-8")
        except OSError as problem:
            raise UserError(
                f"{self.config}: {problem.strerror or problem}; allowed: the folder of a run of craton hazard, or no --resume"
            ) from None
        if known != text:
            line = next(
                (a for a, b in zip(known.splitlines(), text.splitlines(), strict=False) if a != b), "its length"
            )
            raise UserError(
                f"{self.config}: not the configuration of this run: '{line}' is different; allowed: the same configuration, but "
                "for [run], or --overwrite"
            )

    def discard(self) -> None:
        """All that an earlier run has left."""
        for file in self.files:
            if file.is_dir():
                shutil.rmtree(file)
            else:
                file.unlink(missing_ok=True)

    def write_text(self, path: Path, text: str) -> None:
        with replaced(path) as aside:
            aside.write_text(text, encoding="utf-8")

    def read_run(self) -> dict[str, Any]:
        """[run], as it was when the run was last started. UserError where it is not there, or not whole."""
        return read_toml(self.run_settings, "craton hazard run")["run"]  # type: ignore[no-any-return]

    def read_record(self) -> HazardRecord:
        """UserError where there is none."""
        try:
            return HazardRecord(**json.loads(self.record.read_text(encoding="utf-8")))
        except OSError as problem:
            raise UserError(
                f"{self.record}: {problem.strerror or problem}; allowed: the folder of a run of `craton hazard run`"
            ) from None
        except (ValueError, TypeError) as problem:
            raise UserError(
                f"{self.record}: not a run's record ({problem}); allowed: what craton hazard run wrote"
            ) from None
