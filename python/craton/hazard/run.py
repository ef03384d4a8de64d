"""`craton hazard run`: from a configuration to a folder of results, through jobs that a scheduler keeps going.

Of each site: a wave run for each direction of the force, then post-processing of portions of the ruptures, then one job that puts
them together, then one that draws the site's part of the report. In a pipeline (Cui et al. 2013, section VII.A) post-processing of
a site shares the machine with the waves of the next; in a sequence each phase of each site has all cores, one after the other.
"""

from __future__ import annotations

import datetime
import math
import platform
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from craton import _craton
from craton._launch import CRATON, usable_cores
from craton.errors import UserError
from craton.hazard.config import Config, load_config, waves_config
from craton.hazard.folder import HazardFolder, HazardRecord
from craton.hazard.motion.pulses import flat_spectrum, flat_text
from craton.hazard.pipeline.beside_models import Beside, models_beside, write_beside
from craton.hazard.pipeline.work import Work
from craton.runs.files import replaced
from craton.runs.progress import ProgressBar
from craton.runs.words import rate_text
from craton.seismology.geometry.grid import Box
from craton.seismology.ground.media import Range
from craton.seismology.wave_run.check import check_sources, memory_bytes
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.setup import Setup, largest_step_s
from craton.settings import table_to_toml
from craton.tasks import Outcome, Task, TaskRecord, check_cores, run_tasks, utilisation

__all__ = ["cores_of", "loaded", "run", "tasks_of", "threads_of"]

JOBS = "craton.hazard.jobs"
SECONDS_PER_POINT = 1e-8
"""Of a step of waves on a core, about."""
SECONDS_PER_SUBFAULT = 4e-6
"""Of a variation, with its measures, about: both weigh tasks against each other, for the progress bar and the order."""
SECONDS_TO_END = 15.0
START_S = 1.5
"""That a wave run takes before its first step, about."""
FORK_S, CURVES_S = 0.1, 0.2
"""Of other tasks, about: to begin, and to put a site's measures together."""
DRAWING_S = 1.0
"""Of a part of the report, about."""


def loaded(path: Path, *, directory: Path | None = None, **changes: Any) -> Config:
    """The configuration with what the command line says instead of it."""
    config = load_config(path)
    given = {name: value for name, value in changes.items() if value is not None}
    if directory is not None:
        given["directory"] = str(directory)
    return config.replaced("run", **given) if given else config


def cores_of(config: Config) -> int:
    """That the run may use."""
    return config.run.cores or usable_cores()


def threads_of(config: Config) -> int:
    """Of each rank of a wave run."""
    if config.run.threads:
        return config.run.threads
    return max(1, cores_of(config) // config.run.ranks) if config.run.schedule == "sequential" else 1


def run(config: Config, *, console: Any = None, overwrite: bool = False, resume: bool = False) -> HazardRecord:
    """In this process, which starts others. UserError for what cannot be computed, before anything in the folder is touched; for
    what failed, once everything else is done and the results of finished sites are written."""
    folder = HazardFolder(config.run.directory)
    work = Work.of(config)
    steps = waves_of(work).steps
    tasks, beside = tasks_of(work, folder), models_beside(work)
    check_cores(tasks, cores_of(config))
    folder.make()
    folder.lock()
    try:
        if resume:
            folder.check_resume(config.to_toml(run=False))
        else:
            folder.check_new(overwrite, {"the configuration": str(config.path)})
            folder.discard()
        return _run_locked(work, folder, steps, tasks, beside, console)
    finally:
        folder.release()


def _run_locked(
    work: Work, folder: HazardFolder, steps: int, tasks: Sequence[Task], beside: Beside, console: Any
) -> HazardRecord:
    """steps: of each wave run."""
    config, started = work.config, datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    write_inputs(work, folder)
    write_beside(work, folder, beside)
    _discard_old_parts(folder, [site.name for site in config.sites])
    cores = cores_of(config)
    present = sum(task.result.is_file() for task in tasks)
    _say(console, _introduction(work, steps, cores, present, len(tasks)))
    outcome = _do(work, tasks, cores, steps, console)
    _forgive_drawing(outcome, tasks)
    record = _record(work, outcome, cores, steps, present, started)
    computed = any(one.kind != "pictures" for one in outcome.records)
    if computed or not folder.record.is_file():  # else what was recorded of the computing stays
        folder.write_text(folder.record, record.to_json() + "\n")
    from craton.hazard.report.page import write_results

    try:
        _say(console, write_results(work, folder, folder.read_record(), beside))
    except UserError as problem:
        outcome.failures.append(str(problem))  # after what a job has failed of
    _say(
        console,
        f"{outcome.seconds:.1f} s, {config.run.schedule}: jobs had {record.given:.0%} of {cores} cores "
        f"and computed in {record.computed:.0%}",
    )
    if outcome.failures:
        left = f", {len(outcome.left)} tasks wait for it" if outcome.left else ""
        more = f" (and {len(outcome.failures) - 1} more)" if len(outcome.failures) > 1 else ""
        raise UserError(f"{outcome.failures[0]}{more}{left}; finished results are kept, --resume does what is missing")
    _say(console, f"{folder.report}")
    return record


def _discard_old_parts(folder: HazardFolder, sites: Sequence[str]) -> None:
    """Of the report: those of sites whose results are to be made, perhaps again."""
    unfinished = [site for site in sites if not folder.finished(site).is_file()]
    for part in [folder.section(site) for site in unfinished] + [folder.overview] * bool(unfinished):
        part.unlink(missing_ok=True)


def _forgive_drawing(outcome: Outcome, tasks: Sequence[Task]) -> None:
    """What a job could not draw is drawn with the report, which says so if it cannot be."""
    drawing = tuple(f"{task.name}: " for task in tasks if task.kind == "pictures")
    outcome.failures = [line for line in outcome.failures if not line.startswith(drawing)]


def _wait_until_free(run: WavesFolder) -> None:
    """Ranks of a run that was killed take a moment to end."""
    until = time.monotonic() + SECONDS_TO_END
    while (run.path / ".lock").exists():
        try:
            run.lock()
            run.release()
        except UserError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def _say(console: Any, text: str) -> None:
    if console is not None and text:
        console.print(text, highlight=False, markup=False, soft_wrap=True)


def _introduction(work: Work, steps: int, cores: int, present: int, tasks: int) -> str:
    cells = " x ".join(map(str, work.config.ground.cells))
    done = f", {present} of {tasks} tasks done already" if present else f", {tasks} tasks"
    return (
        f"{work.config.path.name}: {_many(len(work.position_m), 'site')}, {_many(len(work.forecast.ruptures), 'rupture')}, "
        f"{sum(work.counts):,} variations, {len(work.points_m):,} points; {cells} cells, {steps} steps, "
        f"{len(work.config.green.directions)} directions; {work.config.run.schedule}, {_many(cores, 'core')}{done}"
    )


def write_inputs(work: Work, folder: HazardFolder) -> None:
    """What jobs read. Anew when a run is resumed: the same, but for [run]. A checkpoint belongs to the bricks that it was written
    from: where others are wanted now, waves that have not come to their end begin anew."""
    wanted = _bricks_of(asdict(work.config.run))
    other_bricks = folder.run_settings.is_file() and _bricks_of(folder.read_run()) != wanted
    with replaced(folder.config) as aside:
        aside.write_text(work.config.to_toml(run=False), encoding="utf-8")
    with replaced(folder.points) as aside, aside.open("wb") as stream:
        np.save(stream, work.points_m)
    if work.config.green.highest_hz:
        folder.write_text(folder.pulse, flat_text(work.config.green.highest_hz))
    for site in work.config.sites:
        own = folder.site(site.name)
        own.mkdir(parents=True, exist_ok=True)
    for left_behind in [*folder.pictures.glob("*.new"), *folder.path.glob("sites/*/*.new")]:
        left_behind.unlink()
    for site, at in zip(work.config.sites, work.position_m, strict=True):
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
                threads=threads_of(work.config),
                decomposition=list(work.config.run.decomposition),
                directory=str(folder.waves(site.name, direction)),
            )
            folder.write_text(_waves_file(folder, site.name, direction), made.to_toml())
    # last, because it stands for what checkpoints there are
    folder.write_text(folder.run_settings, table_to_toml("run", work.config.run))


def _bricks_of(run: dict[str, Any]) -> tuple[int, list[int]]:
    """Of a table [run]."""
    return int(run["ranks"]), list(run["decomposition"])


def _waves_file(folder: HazardFolder, site: str, direction: str) -> Path:
    return folder.site(site) / f"{direction}.toml"


@dataclass(frozen=True)
class Waves:
    """What all wave runs of a work have in common."""

    setup: Setup
    found: Range
    """velocities of the ground"""
    highest_hz: float
    """that the pulse reaches"""
    dt_s: float
    boxes: list[Box]
    """of the ranks"""

    @property
    def steps(self) -> int:
        return self.setup.steps(self.dt_s)

    @property
    def seismogram_s(self) -> float:
        """From the beginning of a rupture: what of a wave run is left after the middle of its pulse."""
        (force,) = self.setup.points
        pulse = force.time_function.pulse_s
        return self.setup.config.time.duration_s - (pulse[1] if pulse is not None else 0.0)


def waves_of(work: Work) -> Waves:
    """UserError for what every wave run would refuse: a pulse that the grid does not carry, a step that is unstable, bricks that
    cannot be cut. Writes nothing that stays."""
    config = work.config
    with tempfile.TemporaryDirectory(prefix="craton-hazard-") as own:
        pulse = Path(own) / "pulse.txt"
        pulse.write_text(flat_text(config.green.highest_hz or 1.0), encoding="utf-8")
        bricks = list(config.run.decomposition)
        made = waves_config(config, work.position_m[0], config.green.directions[0], None, pulse, decomposition=bricks)
        setup = Setup(made)
        found = setup.medium.range(setup.grid)
        highest_hz = check_sources(setup, found)
    waves = Waves(setup, found, highest_hz, setup.step_s(found), setup.boxes(config.run.ranks))
    if config.green.every > waves.steps:
        raise config.wrong(
            f"[green] every = {config.green.every}, but a wave run has {waves.steps} steps; allowed: at most that"
        )
    _check_duration(work, waves)
    return waves


def _check_duration(work: Work, waves: Waves) -> None:
    """UserError where seismograms end before S waves from all of a rupture can have come, even if all of it broke at once: in
    ground of the largest vp, and of the largest vs that it can have with that (lambda = 0)."""
    ends_s, fastest = waves.seismogram_s, waves.found.fastest_vp / math.sqrt(2)
    for site, at in zip(work.config.sites, work.position_m, strict=True):
        for rupture in work.forecast.ruptures:
            distance = float(np.linalg.norm(rupture.surface.positions - at, axis=1).max())
            if distance / fastest > ends_s:
                raise work.config.wrong(
                    f"[time] duration_s = {work.config.ground.time.duration_s:g}: seismograms end {ends_s:.3g} s after a rupture "
                    f"begins, and S waves from {1e-3 * distance:.3g} km away, as of {rupture.name}, take "
                    f"{distance / fastest:.3g} s to site {site.name} at least; allowed: longer than that, and than ruptures take"
                )


# ------------------------------------------------------------------------------------------------------------------- tasks


def tasks_of(work: Work, folder: HazardFolder) -> list[Task]:
    """Of all sites, in the order of a sequence. A record of each is in the folder's record.json."""
    tasks: list[Task] = []
    for site in range(len(work.position_m)):
        first = _waves_tasks(work, folder, site)
        second = _measures_tasks(work, folder, site, tuple(task.name for task in first))
        name = work.config.sites[site].name
        third = Task(
            name=f"{name}: curves",
            kind="curves",
            group=name,
            phase=second[-1].phase + 1,
            result=folder.finished(name),
            module=JOBS,
            command=lambda name=name: ["site", str(folder.path), name],
            log=folder.site(name) / "curves.log",
            after=tuple(task.name for task in second),
            cost=CURVES_S,
        )
        last = Task(
            name=f"{name}: pictures",
            kind="pictures",
            group=name,
            phase=third.phase + 1,
            result=folder.section(name),
            module=JOBS,
            command=lambda name=name: ["section", str(folder.path), name],
            log=folder.site(name) / "pictures.log",
            after=(third.name,),
            cost=DRAWING_S,
        )
        tasks += [*first, *second, third, last]
    return [*tasks, _overview_task(tasks, folder)]


PHASES = 10
"""Of a site, at most: numbers of the next one's begin above them."""


def _overview_task(tasks: Sequence[Task], folder: HazardFolder) -> Task:
    return Task(
        name="all sites: pictures",
        kind="pictures",
        group="all sites",
        phase=tasks[-1].phase + 1,
        result=folder.overview,
        module=JOBS,
        command=lambda: ["overview", str(folder.path)],
        log=folder.overview.with_suffix(".log"),
        after=tuple(task.name for task in tasks if task.kind == "curves"),
        cost=DRAWING_S,
    )


def _waves_tasks(work: Work, folder: HazardFolder, site: int) -> list[Task]:
    name, threads, ranks = work.config.sites[site].name, threads_of(work.config), work.config.run.ranks
    duration, h = work.config.ground.time.duration_s, work.grid.spacing_m
    steps = duration / (0.5 * h / 6000.0)
    cost = START_S + np.prod(work.config.ground.cells) * steps * SECONDS_PER_POINT

    def command(direction: str) -> list[str]:
        own = WavesFolder(folder.waves(name, direction))
        place = own.unfinished
        if place is not None and place.worth_resuming:
            what = ["resume", str(own.path), "--config", str(_waves_file(folder, name, direction))]
        else:
            what = ["run", str(_waves_file(folder, name, direction)), "--overwrite"]
        return [
            *CRATON,
            "waves",
            *what,
            "--no-report",
            "--threads",
            str(threads),
            *(["--ranks", str(ranks)] if ranks > 1 else []),
        ]

    return [
        Task(
            name=f"{name}: waves {direction}",
            kind="waves",
            group=name,
            phase=PHASES * site + at,
            cores=ranks * threads,
            result=folder.waves(name, direction) / "record.json",
            command=lambda direction=direction: command(direction),
            log=folder.site(name) / f"waves-{direction}.log",
            cost=float(cost),
            leading=True,
        )
        for at, direction in enumerate(work.config.green.directions)
    ]


def _measures_tasks(work: Work, folder: HazardFolder, site: int, after: tuple[str, ...]) -> list[Task]:
    name = work.config.sites[site].name
    found = []
    for number, portion in enumerate(work.portions):
        subfaults = sum(work.counts[i] * len(work.forecast.ruptures[i].surface) for i in portion)
        found.append(
            Task(
                name=f"{name}: measures {number}",
                kind="measures",
                group=name,
                phase=PHASES * site + 3,
                result=folder.measures(name, portion),
                module=JOBS,
                command=lambda number=number: ["measures", str(folder.path), name, str(number)],
                log=folder.measures(name, portion).with_suffix(".log"),
                after=after,
                cost=FORK_S + subfaults * SECONDS_PER_SUBFAULT,
            )
        )
    return found


# ------------------------------------------------------------------------------------------------------------------- doing


def _do(work: Work, tasks: Sequence[Task], cores: int, steps: int, console: Any) -> Outcome:
    """With a bar of predicted work."""
    cost = {task.name: task.cost for task in tasks}
    log = {task.name: task.log for task in tasks}
    total = sum(task.cost for task in tasks if not task.result.is_file())
    rates = _Rates(work, steps)

    with ProgressBar("Hazard", max(1, round(100 * total)), "of the work", console, rates.text) as bar:

        def show(ended: Sequence[TaskRecord], running: Sequence[TaskRecord]) -> None:
            rates.ended, rates.running = ended, running
            done = sum(cost[one.name] for one in ended)
            done += sum(cost[one.name] * part_done(log[one.name]) for one in running if one.kind == "waves")
            bar.update(round(100 * done))

        return run_tasks(
            tasks,
            cores=cores,
            jobs=work.config.run.jobs,
            sequential=work.config.run.schedule == "sequential",
            progress=show,
        )


class _Rates:
    """What the bar says: points per second of a wave run, variations per second of a core, and what runs."""

    def __init__(self, work: Work, steps: int) -> None:
        self.points = float(np.prod(work.config.ground.cells)) * steps
        self.variations = {
            f"{site.name}: measures {n}": sum(work.counts[i] for i in portion)
            for site in work.config.sites
            for n, portion in enumerate(work.portions)
        }
        self.ended: Sequence[TaskRecord] = ()
        self.running: Sequence[TaskRecord] = ()

    def text(self, _per_s: float) -> str:
        waves = [one.seconds for one in self.ended if one.kind == "waves" and one.code == 0]
        measures = [one for one in self.ended if one.kind == "measures" and one.code == 0]
        said = []
        if waves:
            said.append(rate_text(self.points * len(waves) / sum(waves), "points"))
        if measures:
            made = sum(self.variations[one.name] for one in measures)
            said.append(rate_text(made / sum(one.seconds for one in measures), "variations"))
        said.append("now " + (", ".join(one.name for one in self.running) or "nothing"))
        return "; ".join(said)


def part_done(log: Path) -> float:
    """From a wave run's own lines: `Waves:  30%  ...`."""
    try:
        words = log.read_text(encoding="utf-8", errors="replace").rpartition("Waves:")[2].split()
    except OSError:
        return 0.0
    return float(words[0][:-1]) / 100 if words and words[0][:-1].isdigit() and words[0].endswith("%") else 0.0


def _record(work: Work, outcome: Outcome, cores: int, steps: int, present: int, started: str) -> HazardRecord:
    config = work.config
    given, computed = utilisation(outcome.records, cores, outcome.seconds)
    return HazardRecord(
        title=config.path.stem.replace("_", " ").replace("-", " "),
        command=shlex.join(["craton", *sys.argv[1:]]),
        started=started,
        versions={**_craton.build_info(), "numpy": np.__version__, "python": platform.python_version()},
        schedule=config.run.schedule,
        cores=cores,
        jobs=config.run.jobs,
        seconds=outcome.seconds,
        given=given,
        computed=computed,
        resumed=present,
        variations=sum(work.counts),
        ruptures=len(work.forecast.ruptures),
        cells=list(config.ground.cells),
        steps=steps,
        points=len(work.points_m),
        tasks=[_of_site(one) for one in outcome.records],
        failures=list(outcome.failures),
    )


def _of_site(record: TaskRecord) -> dict[str, Any]:
    """As record.json has it."""
    return {{"group": "site"}.get(name, name): value for name, value in asdict(record).items()}


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def examined(config: Config) -> list[tuple[str, str]]:
    """`craton hazard check`: what a run does and needs. Computes nothing. UserError for what would keep it from working."""
    work = Work.of(config)
    probe = HazardFolder(config.run.directory)
    waves = waves_of(work)
    check_cores(tasks_of(work, probe), cores_of(config))
    dt_s, steps, points = waves.dt_s, waves.steps, len(work.points_m)
    samples = steps // config.green.every
    anelastic = config.ground.attenuation is not None
    memory = sum(memory_bytes(box, waves.setup.config, anelastic) for box in waves.boxes)
    largest = max(len(one.surface) for one in work.forecast.ruptures)
    directions = len(config.green.directions)
    tensors = 4 * 6 * directions * samples
    cores = cores_of(config)
    core_s = sum(task.cost * (1 if task.kind != "waves" else 1 + anelastic) for task in tasks_of(work, probe))
    return [
        (
            "sites",
            ", ".join(
                f"{site.name} ({at[0]:g}, {at[1]:g}) m" for site, at in zip(config.sites, work.position_m, strict=True)
            ),
        ),
        (
            "ruptures",
            f"{len(work.forecast.ruptures):,} of {len(set(work.forecast.sources))} sources, {sum(work.counts):,} variations",
        ),
        (
            "grid",
            f"{' x '.join(map(str, config.ground.cells))} cells of {work.grid.spacing_m:g} m; "
            f"vs from {waves.found.slowest_vs:g} m/s",
        ),
        (
            "step",
            f"{dt_s:.6g} s, stable below {largest_step_s(waves.setup.config, waves.found):.6g} s; {steps:,} steps, "
            f"{directions * len(work.position_m)} wave runs",
        ),
        ("pulse", f"reaches {waves.highest_hz:.3g} Hz; leaves {_left(config)}"),
        ("tensors", f"{points:,} points, {samples:,} samples every {config.green.every * dt_s:.4g} s"),
        ("seismograms", f"{waves.seismogram_s:.3g} s from the beginning of a rupture"),
        ("peaks", _between_samples(config.green.every * dt_s, min(config.measures.periods_s))),
        (
            "memory",
            f"{memory / 2**20:.0f} MiB of a wave run; about {largest * tensors / 2 / 2**20:.0f} MiB of a rupture",
        ),
        ("disk", f"{points * tensors * len(work.position_m) / 2**20:.0f} MiB of tensors"),
        ("tasks", f"{len(tasks_of(work, probe))}, in {len(work.portions)} portions of post-processing of each site"),
        ("time", f"about {core_s / cores:.0f} s on {_many(cores, 'core')}, if all are busy"),
    ]


def _between_samples(dt_s: float, period_s: float) -> str:
    """How much of a response's peak may be missed between two samples (intensity.py)."""
    missed = 1 - math.cos(math.pi * min(dt_s / period_s, 0.5))
    return f"{period_s / dt_s:.3g} samples in {period_s:g} s: up to {100 * missed:.2g}% of PSA missed between two"


def _left(config: Config) -> str:
    """What the pulse leaves of each period."""
    frequency = 1 / np.array(config.measures.periods_s)
    if config.green.sigma_s:
        part = np.exp(-0.5 * (2 * np.pi * frequency * config.green.sigma_s) ** 2)
    else:
        part = flat_spectrum(frequency, config.green.highest_hz)
    return ", ".join(
        f"{100 * p:.0f}% of {period:g} s" for p, period in zip(part, config.measures.periods_s, strict=True)
    )
