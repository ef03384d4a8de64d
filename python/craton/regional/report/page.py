"""report.html of an inversion of regional waveforms: one file, which needs nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from craton.pages.page import (
    Block,
    Columns,
    Notice,
    Numbers,
    Page,
    Picture,
    Section,
    Table,
    Text,
    how_to_go_on,
    made_by,
    name_of,
    provenance,
    render,
    summary,
)
from craton.regional.report import pictures
from craton.regional.results import Results, read_results
from craton.runs.files import write_text
from craton.runs.words import counted, duration

__all__ = ["write_report"]

FITS = 1.2
"""2 chi / N up to which the data count as fitted."""


def write_report(path: str | os.PathLike[str]) -> Path:
    """Draws report.html from the other files of a run's folder. Not collective. UserError as of read_results."""
    results = read_results(path)
    write_text(results.folder.report, render(page_of(results)))
    return results.folder.report


def page_of(results: Results) -> Page:
    """The report as data."""
    record = results.record
    blocks: list[Block] = [
        summary([*_notices(results), _words(results)], _key_numbers(results)),
        Section("The ground", [block for name in results.parameters for block in _ground(results, name)], "ground"),
        Section(
            "What the data tell",
            [block for name in results.parameters for block in _resolution(results, name)],
            "resolution",
        ),
        *(
            [Section("Earthquakes and stations", [_corrections(results)], "corrections")]
            if results.corrections.size
            else []
        ),
        Section("Fits", [_fits(results)], "fits"),
        Section("Iterations", [Columns([[_misfit(results)], [_iterations(results)]])], "iterations"),
        _next(results),
        provenance(record, counted(record.threads, "core")),
    ]
    return Page(
        record.title, "an inversion of regional waveforms", f"{made_by(record.versions, record.started)}.", blocks
    )


def _notices(results: Results) -> list[Block]:
    """What a reader must know before he believes the pictures."""
    found: list[Block] = []
    if not results.record.fit <= FITS:
        found.append(
            Notice(
                f"2 χ / N = {results.record.fit:.3g}; 1 is what the noise lets. The run ended for this reason: "
                f"{results.record.stopped_because or 'it has not come to its end'}.",
                "The data are not fitted:",
            )
        )
    if results.study.config.is_synthetic:
        found.append(
            Notice(
                "the data were made by wave runs of the same solver, with noise; real data hold more.",
                "A test of the method:",
            )
        )
    return found


def _words(results: Results) -> Text:
    record, unresolved = results.record, pictures.unresolved_part(results)
    words = (
        f"{record.windows:,} windows of {counted(len(record.events), 'earthquake')} at {counted(record.stations, 'station')} were "
        f"inverted for {' and '.join(record.parameters)} by {record.simulations} wave runs in three dimensions. 2 χ / N "
        f"{'fell from' if len(record.iterations) > 1 else 'is still'} {results.fit(results.first):.3g}"
        f"{f' to {record.fit:.3g}' if len(record.iterations) > 1 else ''}. At {unresolved:.0%} of the knots "
        "more than a third of the standard deviation before is left: these are not resolved, and hatched."
    )
    if record.correlation is not None:
        words += f" The correlation with the target is {record.correlation:.3f}"
        if record.resolved_correlation is not None:
            words += f", and {record.resolved_correlation:.3f} where the data resolve it"
        words += "."
    return Text(words)


def _key_numbers(results: Results) -> Numbers:
    record = results.record
    return Numbers(
        [
            (f"{record.fit:.3g}", "2 χ / N of the data; 1 is what noise lets"),
            (f"{len(record.iterations) - 1}", "Gauss-Newton iterations"),
            (
                f"{record.simulations}",
                f"wave runs of {' × '.join(map(str, record.cells))} cells, {record.steps:,} steps",
            ),
            (f"{np.prod(record.knots) * len(record.parameters):,}", "unknowns"),
            *(
                [
                    (
                        f"{100 * record.reciprocity:.2g} %",
                        "between seismograms by reciprocity and by the earthquakes' own runs",
                    )
                ]
                if record.reciprocity is not None
                else []
            ),
            (duration(record.spent_s), f"on {counted(record.threads, 'core')}"),
        ]
    )


def _ground(results: Results, name: str) -> list[Block]:
    found = pictures.fields_of(results, name)["found"]
    seen = f"Slices from red (slow) to blue (fast), {found.min():.2g} to {found.max():.2g} %."
    what = pictures.LABELS[name]
    return [
        Picture(
            pictures.slices_figure(results, name),
            f"{what} at depths, beside the starting model. Hatched: not resolved. "
            "Triangles: stations; stars: earthquakes.",
            seen,
        ),
        Picture(
            pictures.sections_figure(results, name),
            f"Sections of {what} through the largest change that was found.",
            seen,
        ),
    ]


def _resolution(results: Results, name: str) -> list[Block]:
    if results.resolution is None or results.deviation is None:
        return [Text("No step was taken: nothing is known of the resolution.")]
    number = results.parameters.index(name)
    before, after = results.study.config.strength(name), results.deviation[number]
    trace = float(results.resolution[number].sum())
    return [
        Picture(
            pictures.resolution_figure(results, name),
            f"What the data leave of the standard deviation of {pictures.LABELS[name]} before: dark where they say nothing.",
            f"Slices from bright to dark, {after.min() / before:.2f} to {after.max() / before:.2f}.",
        ),
        Text(
            f"The data determine {trace:.0f} of {results.resolution[number].size} unknowns of {name} (the trace of "
            f"the resolution). Standard deviations: "
            f"{100 * before:.3g} % before, {100 * after.min():.2g} to {100 * after.max():.2g} % after."
        ),
    ]


def _corrections(results: Results) -> Table:
    """What was found of origin times, moments, delays and amplification."""
    names = [one.name for one in results.study.config.events], results.study.receivers.names
    errors = results.corrections_deviation
    rows = []
    for number, (name, kind) in enumerate(results.study.corrections.names(*names)):
        found, error = results.corrections[number], None if errors is None else errors[number]
        of, _, what = kind.partition("_")
        if kind.endswith("time_s"):
            shown, told = f"{found:+.3g} s", "" if error is None else f"{error:.2g} s"
        else:
            shown, told = f"{100 * np.expm1(found):+.3g} %", "" if error is None else f"{100 * error:.2g} %"
        rows.append([f"{of} {name}", "time" if what == "time_s" else "amplitude", shown, told])
    return Table(["", "", "found", "standard deviation"], rows)


def _fits(results: Results) -> Picture:
    return Picture(
        pictures.fits_figure(results),
        "Filtered motion in windows, each to its own scale, from the worst fit of the starting model to its best.",
        "Panels of three lines each; observed and found lie on each other where the data are fitted.",
    )


def _misfit(results: Results) -> Picture:
    return Picture(
        pictures.misfit_figure(results),
        "The misfit of the data over all wave runs so far.",
        f"A line that falls from {results.fit(results.first):.3g} to {results.record.fit:.3g}.",
        narrow=True,
    )


def _iterations(results: Results) -> Table:
    rows = [
        [
            str(one.iteration),
            f"{2 * one.chi_data / results.record.samples:.4g}",
            f"{one.chi_prior:.4g}",
            f"{one.step_length:g}",
            str(one.simulations),
            "" if one.correlation is None else f"{one.correlation:.3f}",
        ]
        for one in results.record.iterations
    ]
    return Table(["iteration", "2 χ / N", "χ of the prior", "step", "wave runs", "correlation"], rows)


def _next(results: Results) -> Section:
    """Commands for this folder."""
    name = name_of(results.folder.path)
    return how_to_go_on(
        [
            ("Draw this page again", f"craton regional report {name}"),
            *(
                [("The ground for other programs, as NetCDF", f"craton regional export {name} --output ground.nc")]
                if results.study.config.grid.origin_lon_lat
                else []
            ),
            ("What is there, and what it took", f"craton regional status {name}"),
            ("A configuration of your own, with every key explained", "craton regional template > my.toml"),
        ]
    )
