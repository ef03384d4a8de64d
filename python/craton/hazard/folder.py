"""The folder that `craton hazard run` leaves behind.

    config.toml             the configuration with every default written out, but for [run], which is in
    run.toml                    and may be another one when the run is resumed
    points.npy              where Green's tensors are wanted, (n, 3) m       pulse.txt    the forces' time function
    sites/<name>/x, y, z    folders of craton waves run: a force along that axis at the site; sgt.h5
    sites/<name>/measures-<a>-<b>.h5    intensity measures of ruptures a to b, a row for each variation
    sites/<name>/site.h5    all of them together, curves, disaggregation, seismograms of the rupture that matters most
    sites/<name>/section.part    the site's part of the report          overview.part    that of all sites
    sites/<name>/*.log      what each job said
    models/                 curves of ground-motion models for all sites of the configuration
    hazard.h5, curves.csv, maps.csv, disaggregation.csv, disaggregation_epsilon.csv, openquake/    results of finished sites
    report.html, pictures/  the same to be looked at
    engine/                 what Parsl said, where it ran the jobs
    record.json             what was done when, on which cores
    progress.json           where the run is, while it has not finished

A file has its name once it is whole; a task whose file is there is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from craton.runs.folder import RunFile
from craton.runs.job_folder import JobFolder
from craton.runs.record import Record

__all__ = ["HazardFolder", "HazardRecord"]


@dataclass(kw_only=True, repr=False)
class HazardRecord(Record):
    """record.json. Times in s. What was computed in the last session that computed something."""

    schedule: str
    cores: int
    jobs: int
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

    @property
    def told(self) -> dict[str, str]:
        """Ruptures and what was simulated of them."""
        found = {
            "ruptures": f"{self.variations:,} variations of {self.ruptures:,} ruptures at each site",
            "waves": f"{' x '.join(map(str, self.cells))} cells, {self.steps:,} steps",
        }
        return found | ({"failed": "; ".join(self.failures)} if self.failures else {})

    @property
    def jobs_s(self) -> float:
        """Seconds from the first job's beginning to the last one's end."""
        return self.seconds.get("jobs", 0.0)


class HazardFolder(JobFolder[HazardRecord]):
    """Names of the files."""

    app, record_type = "hazard", HazardRecord

    points = RunFile("points.npy", "input")
    pulse = RunFile("pulse.txt", "input")
    hdf5 = RunFile("hazard.h5")
    curves = RunFile("curves.csv")
    maps = RunFile("maps.csv")
    disaggregation = RunFile("disaggregation.csv")
    epsilon = RunFile("disaggregation_epsilon.csv")
    openquake = RunFile("openquake")
    models = RunFile("models")
    overview = RunFile("overview.part")
    """Part of the report. Parts are not named .html: a browser would open them without the page's policy."""
    overview_log = RunFile("overview.log")
    pictures = RunFile("pictures")
    sites = RunFile("sites")

    def site(self, name: str) -> Path:
        """All files of a site."""
        return self.sites / name

    def waves(self, site: str, direction: str) -> Path:
        """The folder of a wave run."""
        return self.site(site) / direction

    def waves_config(self, site: str, direction: str) -> Path:
        """The configuration of a wave run."""
        return self.site(site) / f"{direction}.toml"

    def measures(self, site: str, ruptures: Sequence[int]) -> Path:
        """The measures of a portion: ruptures one after the other."""
        return self.site(site) / f"measures-{ruptures[0]:04d}-{ruptures[-1]:04d}.h5"

    def finished(self, site: str) -> Path:
        """Curves and all else of a site; it is finished when this is there."""
        return self.site(site) / "site.h5"

    def section(self, site: str) -> Path:
        """Part of the report."""
        return self.site(site) / "section.part"

    @property
    def worth_resuming(self) -> bool:
        """Whether a job has left something: files are all that a run goes on from."""
        return self.sites.is_dir()
