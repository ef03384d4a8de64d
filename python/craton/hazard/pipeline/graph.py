"""The graph of a hazard run: its tasks, their files, and what each waits for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from craton.hazard.folder import HazardFolder
from craton.hazard.pipeline.work import Work
from craton.seismology.wave_run import started
from craton.seismology.wave_run.folder import WavesFolder
from craton.tasks import Task

__all__ = ["tasks_of"]

SECONDS_PER_SUBFAULT = 4e-6
"""Of a variation, with its measures, about: it weighs tasks against each other, for the progress bar and the order."""
FORK_S, CURVES_S = 0.1, 0.2
"""Of other tasks, about: to begin, and to put a site's measures together."""
DRAWING_S = 1.0
"""Of a part of the report, about."""
PHASES = 10
MEASURES, CURVES, PICTURES = 3, 4, 5
"""Phases of a site after those of its wave runs, 0 to 2; those of the next site are PHASES higher."""


def tasks_of(work: Work, folder: HazardFolder, report: bool = True) -> list[Task]:
    """The tasks of all sites, in the order of a sequence. report: with those that draw its parts."""
    tasks: list[Task] = []
    for site in range(len(work.position_m)):
        name, phase = work.config.all_sites[site].name, PHASES * site
        words, own = (folder.path, name), folder.site(name)
        waves = _waves_tasks(work, folder, site)
        measures = [
            _job(
                name,
                "measures",
                ("measures", *words, number),
                waves,
                result=folder.measures(name, portion),
                log=folder.measures(name, portion).with_suffix(".log"),
                phase=phase + MEASURES,
                cost=FORK_S + SECONDS_PER_SUBFAULT * _subfaults(work, portion),
                number=f" {number}",
            )
            for number, portion in enumerate(work.portions)
        ]
        result, log = folder.finished(name), own / "curves.log"
        curves = _job(name, "curves", ("site", *words), measures, result, log, phase + CURVES, CURVES_S)
        result, log = folder.section(name), own / "pictures.log"
        pictures = _job(name, "pictures", ("section", *words), [curves], result, log, phase + PICTURES, DRAWING_S)
        described = report and site < len(work.config.sites)
        tasks += [*waves, *measures, curves, *([pictures] if described else [])]
    if report:
        finished = [task for task in tasks if task.kind == "curves"]
        wanted, phase = ("overview", folder.path), tasks[-1].phase + 1
        result, log = folder.overview, folder.overview_log
        tasks.append(_job("all sites", "pictures", wanted, finished, result, log, phase, DRAWING_S))
    return tasks


def _job(
    group: str,
    kind: str,
    words: Sequence[object],
    after: Sequence[Task],
    result: Path,
    log: Path,
    phase: int,
    cost: float,
    number: str = "",
) -> Task:
    """A task that craton.hazard.jobs does, given the words."""
    return Task(
        name=f"{group}: {kind}{number}",
        kind=kind,
        group=group,
        phase=phase,
        result=result,
        module="craton.hazard.jobs",
        command=lambda: [str(word) for word in words],
        log=log,
        after=tuple(task.name for task in after),
        cost=cost,
    )


def _subfaults(work: Work, portion: Sequence[int]) -> int:
    """Of all variations of a portion's ruptures together."""
    return sum(work.counts[i] * len(work.forecast.ruptures[i].surface) for i in portion)


def _waves_tasks(work: Work, folder: HazardFolder, site: int) -> list[Task]:
    name, threads, ranks = work.config.all_sites[site].name, work.config.run.rank_threads, work.config.run.ranks
    steps = work.config.ground.time.duration_s / (0.5 * work.grid.spacing_m / 6000.0)

    def command(direction: str) -> list[str]:
        own, config = WavesFolder(folder.waves(name, direction)), folder.waves_config(name, direction)
        place = own.unfinished
        goes_on = place is not None and place.worth_resuming
        return started.words(config, ranks, threads, own.path if goes_on else None)

    return [
        Task(
            name=f"{name}: waves {direction}",
            kind="waves",
            group=name,
            phase=PHASES * site + at,
            cores=ranks * threads,
            ranks=ranks,
            start_ranks=started.start_ranks(ranks),
            module=started.forked_module(ranks),
            result=folder.waves(name, direction) / "record.json",
            command=partial(command, direction),
            log=folder.site(name) / f"waves-{direction}.log",
            cost=started.predicted_s(work.config.ground.cells, steps, ranks),
            leading=True,
        )
        for at, direction in enumerate(work.config.green.directions)
    ]
