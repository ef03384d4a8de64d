"""report.html of a hazard run: from the map to curves, to what makes them, to a rupture and to its seismogram (Cui et al. 2013,
figure 1). One file, which needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from craton.errors import UserError
from craton.hazard.folder import HazardFolder, HazardRecord
from craton.hazard.pipeline.beside_models import Beside
from craton.hazard.pipeline.work import Work
from craton.hazard.report import pictures
from craton.hazard.report.sections import draw, element_id, overview, site_section, written_picture
from craton.hazard.result_files import write_files
from craton.hazard.results import Results, read_results
from craton.pages.page import style, table
from craton.pages.style import styled
from craton.runs.files import replaced

__all__ = ["write_report", "write_results"]


def write_results(work: Work, folder: HazardFolder, record: HazardRecord, beside: Beside, *, anew: bool = False) -> str:
    """Files, pictures and report of all finished sites, beside ground-motion models; says what there is, "" where no site is
    finished. anew: what jobs have drawn is drawn again, too."""
    try:
        results = read_results(folder, work)
    except UserError:
        return ""
    written = [path.name for path in write_files(results)]
    write_report(results, record, beside, anew=anew)
    unfinished = f"; not finished: {', '.join(results.missing)}" if results.missing else ""
    return f"{folder.path}: {', '.join(written)}, openquake/, report.html{unfinished}"


def write_report(results: Results, record: HazardRecord, beside: Beside, *, anew: bool = False) -> Path:
    """The page, and its pictures as files. Parts that jobs of the run have drawn are taken as they are; anew: they are drawn again.
    UserError for results that are not there, or not whole."""
    folder = results.folder
    shared = folder.overview if not results.missing else None  # of some sites: not what its name says
    parts = [(shared, lambda: overview(results))]
    parts += [(folder.section(name), partial(site_section, results, name, beside)) for name in results.names]
    common, *sections = (_part(path, make, anew) for path, make in parts)
    with styled():
        body = "\n".join(_page(results, record, common, sections))
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(record.title)}: hazard by Craton</title><style>{style()}{OWN_STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )
    with replaced(folder.report) as aside:
        aside.write_text(page, encoding="utf-8")
    return folder.report


OWN_STYLE = """
nav { position: sticky; top: 0; background: var(--page); padding: .5rem 0; border-bottom: 1px solid var(--line); z-index: 2; }
nav a, .walk a { margin-right: 1rem; color: var(--accent); }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 0 1rem; } h3 { margin: 1.4rem 0 .3rem; }
section { scroll-margin-top: 3rem; } h3 { scroll-margin-top: 3rem; }
"""


def _part(path: Path | None, make: Callable[[], str], anew: bool) -> str:
    if path is None:
        with styled():
            return make()
    if anew or not path.is_file():
        draw(path, make)
    return path.read_text(encoding="utf-8")


def _page(results: Results, record: HazardRecord, common: str, sections: Sequence[str]) -> list[str]:
    missing = (
        f'<p class="notice">Not finished: {html.escape(", ".join(results.missing))}. '
        f"{html.escape(' '.join(record.failures[:1]))}</p>"
        if results.missing
        else ""
    )
    return [
        f"<h1>{html.escape(record.title)}</h1>",
        f'<p class="muted">Craton {html.escape(record.versions.get("version", ""))}, started {html.escape(record.started)}.</p>',
        _navigation(results),
        missing,
        _cards(results, record),
        "<h2 id=map>Map</h2>",
        "<p>From a site on the map to its curves, from a curve to the ruptures that make it, from the rupture that matters most to "
        "its slip, and from there to the ground's motion at the site.</p>",
        common,
        *sections,
        "<h2 id=time>Where the time went</h2>",
        written_picture(
            results,
            "timeline",
            pictures.timeline_figure(record),
            f"Jobs on {record.cores} cores. "
            f"{'Phase after phase' if record.schedule == 'sequential' else 'Sites in a pipeline'}: "
            f"{record.seconds:.1f} s"
            + (
                f"; {record.resumed} tasks were done by an earlier run and are not in the picture."
                if record.resumed
                else "."
            ),
        ),
        _tasks(record),
        "<h2>How to get this again</h2>",
        f"<pre>{html.escape(_portable(record.command))}</pre>",
        "<details><summary>Versions</summary>"
        + table(["what", "version"], [[a, b.splitlines()[0] if b else ""] for a, b in record.versions.items()])
        + "</details>",
    ]


def _navigation(results: Results) -> str:
    sites = "".join(f'<a href="#site-{element_id(name)}">{html.escape(name)}</a>' for name in results.names)
    return f'<nav><a href="#map">Map</a>{sites}<a href="#time">Time</a></nav>'


def _cards(results: Results, record: HazardRecord) -> str:
    entries = [
        (f"{len(results.names)}", f"of {len(results.work.config.sites)} sites finished"),
        (f"{record.variations:,}", f"variations of {record.ruptures:,} ruptures at each"),
        (f"{record.points:,}", "points of strain Green's tensors"),
        (
            f"{np.prod(record.cells):,}",
            f"cells, {record.steps:,} steps, {len(results.work.config.green.directions)} runs for each site",
        ),
        (f"{record.seconds:.0f} s", f"on {record.cores} cores, {record.schedule}; {record.computed:.0%} computing"),
    ]
    return (
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{a}</b>{html.escape(b)}</div>' for a, b in entries)
        + "</div>"
    )


def _tasks(record: HazardRecord) -> str:
    rows = [
        [
            task["name"],
            ", ".join(map(str, task["cores"])),
            f"{task['begun_s']:.1f}",
            f"{task['ended_s'] - task['begun_s']:.1f}",
            f"{task['cpu_s']:.1f}",
        ]
        for task in sorted(record.tasks, key=lambda task: task["begun_s"])
    ]
    return (
        "<details><summary>Every job</summary>"
        + table(["job", "cores", "begun, s", "took, s", "of processors, s"], rows)
        + "</details>"
    )


def _portable(command: str) -> str:
    """Without the folders of this computer."""
    return " ".join(Path(word).name if word.startswith("/") else word for word in command.split())
