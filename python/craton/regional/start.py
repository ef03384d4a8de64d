"""An inversion of regional waveforms, from a configuration to a folder of results. It starts jobs and computes little itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from craton.errors import UserError
from craton.regional.check import check_waves
from craton.regional.comparison import correlations
from craton.regional.config import Config, load_config
from craton.regional.folder import RegionalFolder, RegionalRecord
from craton.regional.inversion import Inversion, write_model
from craton.regional.prior import prior_of
from craton.regional.records import recorded
from craton.regional.study import Study
from craton.runs.agreement import ALONE
from craton.runs.files import read_hdf5, remove_half_written, replaced
from craton.runs.notebook import console_or_notebook
from craton.runs.progress_file import ProgressFile, Start, read_progress
from craton.runs.record import facts_of
from craton.runs.running import begun, finished, resumed
from craton.runs.status import Status, find_status
from craton.runs.words import counted
from craton.tasks import Task

__all__ = ["resume", "run", "status"]

UNLIKE = 0.005
"""Seismograms by reciprocity and by the earthquakes' own runs, as a part, from where the run says so."""
PHASES = ("data", "earthquakes", "derivatives", "results")


def run(config: Config, *, console: Any = None, overwrite: bool = False, report: bool = False) -> RegionalRecord:
    """Does a new run in this process, which starts others.

    report: with report.html; the record's write_report() draws it later. console: of rich; None for nowhere, in a notebook for the
    cell's output. UserError for what cannot be computed, before anything in the folder is touched, and for what failed.
    """
    job = _Run.of(config, report, console_or_notebook(ALONE, console))
    inputs = {"the configuration": str(config.path)}
    with begun(ALONE, job.folder, job.start, overwrite, inputs) as (_, progress):
        return job.go(progress)


def resume(
    directory: Path, given: Config | None = None, *, console: Any = None, report: bool = False, **settings: Any
) -> RegionalRecord:
    """Does what is missing in a folder, also in that of a run that has finished. Errors are those of `run`.

    given: the run's configuration, which may differ in [run]; without it the run goes on as it was last started. settings: of
    [run] instead of both; None leaves one as it is.
    """
    folder = RegionalFolder(directory)
    folder.require_config()
    known = load_config(folder.config).replaced("run", **folder.read_run())
    if given is not None:
        folder.check_same(given)
    changed = {name: value for name, value in settings.items() if value is not None} | {"directory": str(directory)}
    job = _Run.of((given or known).replaced("run", **changed), report, console_or_notebook(ALONE, console))
    if folder.unfinished is None and folder.owner is None:
        folder.reopen(job.start)
    with resumed(ALONE, folder, job.start) as (_, progress):
        return job.go(progress)


def status(directory: Path) -> Status:
    """Tells where the run in a folder is. UserError where there is none."""
    folder = RegionalFolder(directory)
    found = find_status(folder)
    if folder.record.is_file():
        known = folder.read_record()
        if known.iterations:
            last = known.iterations[-1]
            found.rows["iteration"] = (
                f"{last.iteration}: 2 chi / N = {known.fit:.4g}, {counted(last.simulations, 'wave run')}"
            )
    if found.state == "running" and folder.progress.is_file():
        facts = read_progress(folder.progress).facts
        found.rows["now"] = ", ".join(facts.get("now", [])) or "nothing"
        part = facts.get("part", 0.0)
        found.phase_left_s = found.phase_s * (1 - part) / part if part else None
    return found


def _check_jobs(config: Config) -> None:
    """UserError for wave runs, or a step, that could never begin."""
    settings = config.run
    sizes = {"a wave run": settings.ranks * settings.threads, "a step": settings.ranks_of_step}
    tasks = [Task(name, Path(name), list, Path(name), cores=cores, ranks=cores) for name, cores in sizes.items()]
    settings.runs_on.check(tasks, settings.all_cores)


def _check_records(study: Study) -> None:
    """UserError for records that are not there, or would go with an earlier run's results. Not again once data.h5 has them."""
    folder, run = Path(study.config.data.folder).resolve(), RegionalFolder(study.config.run.directory)
    if folder.is_relative_to(run.path.resolve()):
        raise study.config.wrong(
            f"[data] folder = {folder} lies in the output folder {run.path}, which this run would replace; allowed: another output "
            "folder, or a copy elsewhere"
        )
    if not run.data.is_file() or run.record.is_file():
        recorded(study, folder)


@dataclass(frozen=True)
class _Run:
    """The run of a configuration that can be computed."""

    study: Study
    folder: RegionalFolder
    start: Start
    report: bool
    console: Any

    @staticmethod
    def of(config: Config, report: bool, console: Any) -> _Run:
        """The run of a configuration. UserError for what cannot be computed. Writes nothing."""
        study = Study(config)
        check_waves(study)
        prior_of(study)
        _check_jobs(config)
        if not config.is_synthetic:
            _check_records(study)
        start = Start("regional", config.to_dict(), str(config.path), PHASES, threads=config.run.all_cores)
        return _Run(study, RegionalFolder(config.run.directory), start, report, console)

    def go(self, progress: ProgressFile) -> RegionalRecord:
        """Does what is missing, in a folder that is locked."""
        study, folder = self.study, self.folder
        folder.write_config(study.config)
        remove_half_written([folder.path, *folder.path.glob("states/*"), folder.target])
        with replaced(folder.points) as aside, aside.open("wb") as stream:
            np.save(stream, study.sources_m)
        folder.write_run(study.config.run)
        self._say(self._introduction(Path(progress.progress.source).name))
        record = self._record(progress)
        work = Inversion(study, folder, progress, self.console, self._say)
        record.iterations = work.iterations

        def saved() -> None:
            record.windows = sum(work.data.uses(one) for one in study.pairings)
            record.samples = work.data.size
            folder.write_record(record)

        work.saved = saved
        try:
            now = work.go()
        except UserError as problem:
            record.failures = [str(problem)]
            folder.write_record(record)
            raise
        progress.enter("results")
        linearised = [one for one in reversed(work.iterations) if folder.state(one.state).step.is_file()]
        step = read_hdf5(folder.state(linearised[0].state).step) if linearised else None
        record.stopped_because, record.simulations = work.stopped_because, work.simulations
        if step is not None:
            record.reciprocity = float(step["reciprocity"])
        if study.config.is_synthetic:
            deviation = None if step is None else np.asarray(step["deviation"])
            record.correlation, record.resolved_correlation = correlations(study, now.model, deviation)
        write_model(folder.model, study, now, step)
        if not study.config.run.keep_spectra:
            now.state.drop_spectra()
        folder.write_record(record)
        self._say(self._ending(record))
        finished(ALONE, folder, folder, progress, record)
        if self.report:
            from craton.regional.report.page import write_report

            self._say(f"report: {write_report(folder.path)}")
        return folder.read_record()

    def _say(self, text: str) -> None:
        if self.console is not None and text:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _introduction(self, name: str) -> str:
        study, config = self.study, self.study.config
        cells, knots = (" x ".join(map(str, one)) for one in (config.grid.cells, study.knots.counts))
        return (
            f"{name}: {counted(len(config.events), 'earthquake')}, {counted(len(study.receivers), 'station')}, "
            f"{len(study.pairings):,} windows of {study.samples:,} samples; {', '.join(config.model.parameters)} at {knots} knots, "
            f"{study.unknowns:,} unknowns; {cells} cells, {study.steps:,} steps; {counted(config.run.all_cores, 'core')}"
        )

    def _ending(self, record: RegionalRecord) -> str:
        told = [
            f"ended: {record.stopped_because}",
            f"2 chi / N = {record.fit:.3f}: data that fit as their noise lets them have 1",
        ]
        if record.reciprocity is not None and record.reciprocity > UNLIKE:
            told.append(
                f"seismograms by reciprocity and by the earthquakes' own runs differ by {100 * record.reciprocity:.2g} %, of "
                "wave runs that are right by less than 0.5 %: finer cells, or sources and stations farther from steps of the ground"
            )
        if record.resolved_correlation is not None:
            told.append(
                f"correlation with the target {record.correlation:.3f}, {record.resolved_correlation:.3f} where the data resolve it"
            )
        return "\n".join(told)

    def _record(self, progress: ProgressFile) -> RegionalRecord:
        """With title, command and time of the first start."""
        study, config, known = self.study, self.study.config, progress.progress
        facts = facts_of("regional", Path(known.source), config.to_dict(), threads=config.run.all_cores)
        first = {"command": known.command, "started": known.sessions[0].started}
        return RegionalRecord(
            **(facts | first),
            cells=list(config.grid.cells),
            steps=study.steps,
            knots=list(study.knots.counts),
            parameters=list(config.model.parameters),
            events=[one.name for one in config.events],
            stations=len(study.receivers),
            windows=0,
            samples=0,
        )
