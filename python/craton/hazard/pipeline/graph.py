"""The graph of a hazard run: its tasks, their files, and what each waits for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from craton._launch import CRATON
from craton.hazard.folder import HazardFolder
from craton.hazard.pipeline.work import Work
from craton.seismology.wave_run.folder import WavesFolder
from craton.tasks import Task

__all__ = ["tasks_of"]

JOBS = "craton.hazard.jobs"
SECONDS_PER_POINT = 1e-8
"""Of a step of waves on a core, about."""
SECONDS_PER_SUBFAULT = 4e-6
"""Of a variation, with its measures, about: both weigh tasks against each other, for the progress bar and the order."""
START_S = 1.5
"""That a wave run takes before its first step, about."""
FORK_S, CURVES_S = 0.1, 0.2
"""Of other tasks, about: to begin, and to put a site's measures together."""
DRAWING_S = 1.0
"""Of a part of the report, about."""
PHASES = 10
"""Of a site, at most: numbers of the next one's begin above them."""


def _words(*words: object) -> Callable[[], list[str]]:
    """A command that is known beforehand."""
    return lambda: [str(word) for word in words]


def tasks_of(work: Work, folder: HazardFolder, report: bool = True) -> list[Task]:
    """Of all sites, in the order of a sequence. report: with those that draw its parts."""
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
            command=_words("site", folder.path, name),
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
            command=_words("section", folder.path, name),
            log=folder.site(name) / "pictures.log",
            after=(third.name,),
            cost=DRAWING_S,
        )
        tasks += [*first, *second, third, *([last] if report else [])]
    return [*tasks, _overview_task(tasks, folder)] if report else tasks


def _overview_task(tasks: Sequence[Task], folder: HazardFolder) -> Task:
    return Task(
        name="all sites: pictures",
        kind="pictures",
        group="all sites",
        phase=tasks[-1].phase + 1,
        result=folder.overview,
        module=JOBS,
        command=_words("overview", folder.path),
        log=folder.overview_log,
        after=tuple(task.name for task in tasks if task.kind == "curves"),
        cost=DRAWING_S,
    )


def _waves_tasks(work: Work, folder: HazardFolder, site: int) -> list[Task]:
    name, threads, ranks = work.config.sites[site].name, work.config.run.rank_threads, work.config.run.ranks
    duration, h = work.config.ground.time.duration_s, work.grid.spacing_m
    steps = duration / (0.5 * h / 6000.0)
    cost = START_S + np.prod(work.config.ground.cells) * steps * SECONDS_PER_POINT

    def command(direction: str) -> list[str]:
        own = WavesFolder(folder.waves(name, direction))
        place, file = own.unfinished, str(folder.waves_config(name, direction))
        if place is not None and place.worth_resuming:
            what = ["resume", str(own.path), file]
        else:
            what = ["run", file, "--overwrite"]
        shared = ["--no-report", "--threads", str(threads), *(["--ranks", str(ranks)] if ranks > 1 else [])]
        return [*CRATON, "waves", *what, *shared]

    return [
        Task(
            name=f"{name}: waves {direction}",
            kind="waves",
            group=name,
            phase=PHASES * site + at,
            cores=ranks * threads,
            result=folder.waves(name, direction) / "record.json",
            command=partial(command, direction),
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
                command=_words("measures", folder.path, name, number),
                log=folder.measures(name, portion).with_suffix(".log"),
                after=after,
                cost=FORK_S + subfaults * SECONDS_PER_SUBFAULT,
            )
        )
    return found
