"""report.html of a hazard run: one file, which needs nothing else.

It leads from the map to curves, to what makes them, to a rupture and to its seismogram (Cui et al. 2013, figure 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from craton.errors import UserError
from craton.hazard.folder import HazardFolder, HazardRecord
from craton.hazard.pipeline.beside_models import Beside, models_beside, stored_beside, write_beside
from craton.hazard.pipeline.work import Work
from craton.hazard.report import pictures
from craton.hazard.report.sections import draw, overview, site_section, written_picture
from craton.hazard.results import Results, read_results, write_files
from craton.pages.page import (
    Block,
    Details,
    Link,
    Notice,
    Numbers,
    Page,
    Part,
    Picture,
    Section,
    Table,
    Text,
    anchor,
    how_to_go_on,
    made_by,
    name_of,
    provenance,
    render,
    render_part,
    summary,
)
from craton.runs.files import write_text
from craton.runs.words import counted

__all__ = ["write_page", "write_report", "write_results"]


def write_results(work: Work, folder: HazardFolder, record: HazardRecord, beside: Beside, *, anew: bool = False) -> str:
    """Writes files, pictures and report of all finished sites; returns what there is, "" where no site is finished.

    anew: what jobs have drawn is drawn again, too.
    """
    try:
        results = read_results(folder, work)
    except UserError:
        return ""
    written = [path.name for path in write_files(results)]
    write_page(results, record, beside, anew=anew)
    unfinished = f"; not finished: {', '.join(results.missing)}" if results.missing else ""
    return f"{folder.path}: {', '.join(written)}, openquake/, report.html{unfinished}"


def write_report(path: str | Path) -> Path:
    """Writes files, pictures and report.html of a run once more, from what its finished sites have left. Not collective.

    All is drawn anew. UserError where no site is finished.
    """
    folder = HazardFolder(path)
    work = read_results(folder).work
    beside = models_beside(work) or stored_beside(work, folder)
    write_beside(work, folder, beside)
    write_results(work, folder, folder.read_record(), beside, anew=True)
    return folder.report


def write_page(results: Results, record: HazardRecord, beside: Beside, *, anew: bool = False) -> Path:
    """Writes the page, and its pictures as files. UserError for results that are not there, or not whole.

    Parts that jobs of the run have drawn are taken as they are; anew: they are drawn again.
    """
    folder = results.folder
    shared = folder.overview if not results.missing else None  # of some sites: not what its name says
    common = _part(shared, lambda: overview(results), anew)
    sites = [
        replace(
            _part(folder.section(name), partial(site_section, results, name, beside), anew),
            links=[Link(name, f"#site-{anchor(name)}")],
        )
        for name in results.described
    ]
    write_text(folder.report, render(_page(results, record, common, sites)))
    return folder.report


def _part(path: Path | None, make: Callable[[], Sequence[Block]], anew: bool) -> Part:
    if path is None:
        return Part(render_part(make()))
    if anew or not path.is_file():
        draw(path, make)
    return Part(path.read_text(encoding="utf-8"))


def _page(results: Results, record: HazardRecord, common: Part, sites: Sequence[Part]) -> Page:
    missing = Notice(f"{', '.join(results.missing)}. {' '.join(record.failures[:1])}", "Not finished:")
    walk = Text(
        "From a site on the map to its curves, from a curve to the ruptures that make it, from the rupture that matters most to "
        "its slip, and from there to the ground's motion at the site."
    )
    first = [*([missing] if results.missing else []), *_unresolved(results), _words(results, record)]
    blocks: list[Block] = [
        summary(first, _key_numbers(results, record)),
        Section("Map", [walk, common], "map"),
        *sites,
        Section("Where the time went", [_timeline(results, record), _tasks(record)], "time", "Time"),
        _next(results),
        provenance(record, f"{record.cores} cores"),
    ]
    return Page(record.title, "a hazard run", f"{made_by(record.versions, record.started)}.", blocks)


def _words(results: Results, record: HazardRecord) -> Text:
    """What was computed."""
    probability, measure = results.work.config.hazard.probabilities[0], results.imts[0]
    return Text(
        f"How strongly the ground may shake at {counted(len(results.names), 'site')}: {record.variations:,} variations of "
        f"{counted(record.ruptures, 'rupture')} were simulated at each, by waves that begin at the site (reciprocity). The "
        f"map shows {measure} that is exceeded with a probability of {probability:g} in "
        f"{results.work.config.forecast.years:g} years."
    )


def _next(results: Results) -> Section:
    """Commands for this folder."""
    name = name_of(results.folder.path)
    map_of = f"craton hazard map {name} --probability {results.work.config.hazard.probabilities[0]:g} --output map.png"
    missing = [("The jobs that are missing", f"craton hazard resume {name}")] if results.missing else []
    return how_to_go_on(
        [
            *missing,
            ("The map as a picture of its own", map_of),
            ("Write files, pictures and this page again", f"craton hazard report {name}"),
            ("A configuration of your own, with every key explained", "craton hazard template > my.toml"),
        ]
    )


def _unresolved(results: Results) -> list[Block]:
    """What is hatched, and why."""
    if not results.unresolved:
        return []
    found = "; ".join(f"{measure}: {why}" for measure, why in results.unresolved.items())
    return [Notice(f"{found}. The waves resolve {results.work.band}. What is outside is hatched.", "Not resolved:")]


def _key_numbers(results: Results, record: HazardRecord) -> Numbers:
    directions, cells = len(results.work.config.green.directions), f"{np.prod(record.cells):,}"
    waves_s = sum(task["cpu_s"] for task in record.tasks if task["kind"] == "waves")
    computed = len({task["site"] for task in record.tasks if task["kind"] == "waves"})
    costs = [(f"{waves_s / max(computed, 1):.2g} s", f"of a core for the {directions} wave runs of a site")]
    return Numbers(
        [
            (f"{len(results.names)}", f"of {len(results.work.config.all_sites)} sites finished"),
            (f"{record.variations:,}", f"variations of {record.ruptures:,} ruptures at each"),
            (f"{record.points:,}", "points of strain Green's tensors"),
            (cells, f"cells, {record.steps:,} steps, {directions} runs for each site"),
            *costs[:computed],
            (f"{record.jobs_s:.0f} s", f"on {record.cores} cores, {record.schedule}; {record.computed:.0%} computing"),
        ]
    )


def _timeline(results: Results, record: HazardRecord) -> Picture:
    how = "Phase after phase" if record.schedule == "sequential" else "Sites in a pipeline"
    before = (
        f"; {record.resumed} tasks were done by an earlier run and are not in the picture" if record.resumed else ""
    )
    text = f"Jobs on {record.cores} cores. {how}: {record.jobs_s:.1f} s{before}."
    seen = (
        f"A row of coloured blocks for each of {counted(record.cores, 'core')} over {record.jobs_s:.0f} s, {record.computed:.0%} "
        "of it computing."
    )
    return written_picture(results, "timeline", pictures.timeline_figure(record), text, seen, narrow=True)


def _tasks(record: HazardRecord) -> Details:
    rows = [
        [
            str(task["name"]),
            ", ".join(map(str, task["cores"])),
            f"{task['begun_s']:.1f}",
            f"{task['ended_s'] - task['begun_s']:.1f}",
            f"{task['cpu_s']:.1f}",
        ]
        for task in sorted(record.tasks, key=lambda task: task["begun_s"])
    ]
    return Details("Every job", [Table(["job", "cores", "begun, s", "took, s", "of processors, s"], rows)])
