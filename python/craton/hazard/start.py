"""A hazard run, from a configuration to a folder of results: the driver. It starts the jobs and computes nothing itself.

Of each site: a wave run for each direction of the force, then post-processing of portions of the ruptures, then one job that puts
them together, then one that draws the site's part of the report. In a pipeline (Cui et al. 2013, section VII.A) post-processing of
a site shares the machine with the waves of the next; in a sequence each phase of each site has all cores, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from craton.cli.output import say
from craton.errors import UserError
from craton.hazard.config import Config, load_config
from craton.hazard.folder import HazardFolder, HazardRecord
from craton.hazard.pipeline.band import check_periods
from craton.hazard.pipeline.beside_models import Beside, models_beside, write_beside
from craton.hazard.pipeline.graph import tasks_of
from craton.hazard.pipeline.inputs import write_inputs
from craton.hazard.pipeline.progress import Display
from craton.hazard.pipeline.wave_runs import waves_of
from craton.hazard.pipeline.work import Work
from craton.hazard.report.page import write_results
from craton.hazard.results import read_results, write_files
from craton.runs.agreement import ALONE
from craton.runs.files import remove
from craton.runs.notebook import console_or_notebook
from craton.runs.progress_file import Progress, ProgressFile, Start, read_progress
from craton.runs.record import facts_of
from craton.runs.running import begun, finished, resumed
from craton.runs.status import Status, find_status
from craton.runs.words import counted
from craton.tasks import Outcome, Task, TaskRecord, run_tasks, utilisation

__all__ = ["resume", "run", "status"]

PHASES = ("jobs", "results")
NAMED = 8
"""Sites that status() names; of more it gives the number."""


def run(config: Config, *, console: Any = None, overwrite: bool = False, report: bool = False) -> HazardRecord:
    """Does a new run in this process, which starts others.

    report: with pictures and report.html; the record's write_report() draws them later. console: of rich; None for nowhere, in a
    notebook for the cell's output.

    UserError for what cannot be computed, before anything in the folder is touched. UserError for what failed, once everything else
    is done and the results of finished sites are written.
    """
    check_periods(config)
    job = _Run.of(config, report, console_or_notebook(ALONE, console))
    inputs = {"the configuration": str(config.path)}
    with begun(ALONE, job.folder, job.start, overwrite, inputs) as (_, progress):
        return job.go(progress)


def resume(
    directory: Path, given: Config | None = None, *, console: Any = None, report: bool = False, **settings: Any
) -> HazardRecord:
    """Does what is missing in a folder, also in that of a run that has finished. Errors are those of `run`.

    given: the run's configuration, which may differ in [run]; without it the run goes on as it was last started. settings: of
    [run] instead of both; None leaves one as it is.
    """
    folder = HazardFolder(directory)
    known = _stored(folder)
    if given is not None:
        folder.check_same(given)
    changed = {name: value for name, value in settings.items() if value is not None} | {"directory": str(directory)}
    shown = console_or_notebook(ALONE, console)
    job = _Run.of((given or known).replaced("run", **changed), report, shown)
    if folder.unfinished is None and folder.owner is None:
        folder.reopen(job.start)
    with resumed(ALONE, folder, job.start) as (_, progress):
        return job.go(progress)


def status(directory: Path) -> Status:
    """Tells where the run in a folder is. UserError where there is none."""
    folder = HazardFolder(directory)
    found = find_status(folder)
    if folder.config.is_file():
        sites = [site.name for site in load_config(folder.config).all_sites]
        done = [name for name in sites if folder.finished(name).is_file()]
        told = f": {', '.join(done[:NAMED])}{', ...' * (len(done) > NAMED)}" if done else ""
        found.rows["sites finished"] = f"{len(done)} of {len(sites)}{told}"
    if found.state == "running" and folder.progress.is_file():
        facts = read_progress(folder.progress).facts
        found.rows["now"] = ", ".join(facts.get("now", [])) or "nothing"
        part = facts.get("part", 0.0)
        found.left_s = found.phase_s * (1 - part) / part if part else None
    return found


@dataclass(frozen=True)
class _Run:
    """The run of a configuration that can be computed."""

    work: Work
    folder: HazardFolder
    tasks: Sequence[Task]
    beside: Beside
    steps: int
    """of each wave run"""
    start: Start
    report: bool
    console: Any

    @staticmethod
    def of(config: Config, report: bool, console: Any) -> _Run:
        """The run of a configuration. UserError for what cannot be computed. Writes nothing."""
        folder = HazardFolder(config.run.directory)
        work = Work.of(config)
        steps = waves_of(work).steps
        tasks = tasks_of(work, folder, report)
        beside = models_beside(work, lambda line: say(console, line))
        config.run.runs_on.check(tasks, config.run.all_cores)
        start = Start("hazard", config.to_dict(), str(config.path), PHASES, threads=config.run.all_cores)
        return _Run(work, folder, tasks, beside, steps, start, report, console)

    def go(self, progress: ProgressFile) -> HazardRecord:
        """Does what is missing, in a folder that is locked."""
        work, folder, settings = self.work, self.folder, self.work.config.run
        write_inputs(work, folder)
        write_beside(work, folder, self.beside)
        self._discard_old_parts()
        present = sum(task.result.is_file() for task in self.tasks)
        self._say(self._introduction(Path(progress.progress.source).name, present))
        display = Display(work, self.tasks, self.steps, progress, self.console)
        with display.bar:
            outcome = run_tasks(
                self.tasks,
                cores=settings.all_cores,
                jobs=settings.most_jobs,
                backend=settings.runs_on.backend(folder.engine),
                sequential=settings.schedule == "sequential",
                progress=display,
            )
        self._forgive_drawing(outcome)
        progress.enter("results")
        record = self._record(outcome, present, progress.progress)
        stays = not any(one.kind != "pictures" for one in outcome.records) and folder.record.is_file()
        if not stays:  # else what was recorded of the computing stays
            record.sessions = progress.sessions()
            folder.write_record(record)
        self._write_results(outcome)
        self._say(
            f"{outcome.seconds:.1f} s, {settings.schedule}: jobs had {record.given:.0%} of {settings.all_cores} cores "
            f"and computed in {record.computed:.0%}",
        )
        self._complain(outcome)
        if stays and folder.read_record().finished:
            folder.discard_working()
            progress.file = None
        else:
            finished(ALONE, folder, folder, progress, folder.read_record())
        self._say(f"{folder.report if self.report else folder.hdf5}")
        return folder.read_record()

    def _discard_old_parts(self) -> None:
        """Of the report: those of sites whose results are to be made, perhaps again."""
        sites = [site.name for site in self.work.config.all_sites]
        unfinished = [site for site in sites if not self.folder.finished(site).is_file()]
        for part in [self.folder.section(site) for site in unfinished] + [self.folder.overview] * bool(unfinished):
            remove(part)

    def _forgive_drawing(self, outcome: Outcome) -> None:
        """What a job could not draw is drawn with the report, which says so if it cannot be."""
        drawing = tuple(f"{task.name}: " for task in self.tasks if task.kind == "pictures")
        outcome.failures = [line for line in outcome.failures if not line.startswith(drawing)]

    def _write_results(self, outcome: Outcome) -> None:
        try:
            if self.report:
                self._say(write_results(self.work, self.folder, self.folder.read_record(), self.beside))
            elif any(self.folder.finished(site.name).is_file() for site in self.work.config.all_sites):
                write_files(read_results(self.folder, self.work))
        except UserError as problem:
            outcome.failures.append(str(problem))  # after what a job has failed of

    def _complain(self, outcome: Outcome) -> None:
        if outcome.failures:
            left = f", {len(outcome.left)} tasks wait for it" if outcome.left else ""
            more = f" (and {len(outcome.failures) - 1} more)" if len(outcome.failures) > 1 else ""
            raise UserError(
                f"{outcome.failures[0]}{more}{left}; finished results are kept, `craton hazard resume {self.folder.path}` "
                "does what is missing"
            )

    def _say(self, text: str) -> None:
        if self.console is not None and text:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _introduction(self, name: str, present: int) -> str:
        work, config = self.work, self.work.config
        cells = " x ".join(map(str, config.ground.cells))
        done = f", {present} of {len(self.tasks)} tasks done already" if present else f", {len(self.tasks)} tasks"
        return (
            f"{name}: {counted(len(work.position_m), 'site')}, {counted(len(work.forecast.ruptures), 'rupture')}, "
            f"{sum(work.counts):,} variations, {len(work.points_m):,} points; {cells} cells, {self.steps} steps, "
            f"{len(config.green.directions)} directions; {config.run.schedule}, {counted(config.run.all_cores, 'core')}{done}"
        )

    def _record(self, outcome: Outcome, present: int, progress: Progress) -> HazardRecord:
        """With title, command and time of the first start."""
        work, config = self.work, self.work.config
        facts = facts_of("hazard", Path(progress.source), config.to_dict())
        first = {"command": progress.command, "started": progress.sessions[0].started}
        given, computed = utilisation(outcome.records, config.run.all_cores, outcome.seconds)
        return HazardRecord(
            **(facts | first),
            seconds={"jobs": outcome.seconds},
            schedule=config.run.schedule,
            cores=config.run.all_cores,
            jobs=config.run.most_jobs,
            given=given,
            computed=computed,
            resumed=present,
            variations=sum(work.counts),
            ruptures=len(work.forecast.ruptures),
            cells=list(config.ground.cells),
            steps=self.steps,
            points=len(work.points_m),
            tasks=[_of_site(one) for one in outcome.records],
            failures=list(outcome.failures),
        )


def _of_site(record: TaskRecord) -> dict[str, Any]:
    """As record.json has it: the group of a task is a site."""
    return {{"group": "site"}.get(name, name): value for name, value in asdict(record).items()}


def _stored(folder: HazardFolder) -> Config:
    """What the run in a folder was last started with. UserError where there is none."""
    folder.require_config()
    return load_config(folder.config).replaced("run", **folder.read_run())
