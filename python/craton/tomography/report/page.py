"""report.html: one file that shows what an inversion did, for reading without anything else at hand.

Everything comes from the run folder, so a report can be made again at any time. Each part of the page is a module of this
folder that turns results into a section.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from craton.pages.page import (
    Block,
    Notice,
    Numbers,
    Page,
    Section,
    how_to_go_on,
    made_by,
    name_of,
    provenance,
    render,
    summary,
)
from craton.runs.files import write_text
from craton.runs.words import counted
from craton.tomography.data.corrections import KINDS
from craton.tomography.data.noise import QUIETEST_TRACE
from craton.tomography.folder import RunFolder
from craton.tomography.model.splines import described
from craton.tomography.report.corrections import corrections_section
from craton.tomography.report.coverage import coverage_section
from craton.tomography.report.fits import fits_section
from craton.tomography.report.kernels import kernel_section
from craton.tomography.report.misfit import misfit_section
from craton.tomography.report.model import model_sections
from craton.tomography.report.posterior import posterior_section
from craton.tomography.report.timing import timing_section
from craton.tomography.results import Results, read_results
from craton.tomography.theory.names import theory_name


def write_report(path: str | pathlib.Path) -> pathlib.Path:
    """Makes report.html from the other files of a run folder, whether or not the run came to its end.

    Not collective. UserError for a folder that holds no run.
    """
    return write_sections(path, [draw_share(path, 0, 1)])


def write_sections(path: str | pathlib.Path, shares: Sequence[Share]) -> pathlib.Path:
    """As write_report, of sections that `draw_share` has drawn for this folder. Not collective."""
    folder = folder_of_run(path)
    drawn = {name: blocks for share in shares for name, blocks in share.items()}
    write_text(folder.report, render(page_of(read_results(folder), drawn)))
    return folder.report


def draw_share(path: str | pathlib.Path, share: int, shares: int) -> Share:
    """The sections of a run's report that fall to one of some processes, which take about as long as those of each other.

    Not collective. UserError for a folder that holds no run.
    """
    results = read_results(folder_of_run(path))
    taken_s = [0.0] * shares
    drawn: Share = {}
    for name in sorted(SECTIONS, key=lambda each: -SECTIONS[each].seconds):
        least = taken_s.index(min(taken_s))
        taken_s[least] += SECTIONS[name].seconds
        if least == share:
            drawn[name] = [block for block in SECTIONS[name].draw(results) if block is not None]
    return drawn


def folder_of_run(path: str | pathlib.Path) -> RunFolder:
    """UserError where there is none."""
    folder = RunFolder(path)
    folder.require()
    return folder


Share: TypeAlias = dict[str, list[Block]]
"""Blocks of some of the sections, by name."""


@dataclass(frozen=True)
class Drawn:
    """A part of the page that can be drawn without the others, and how long that takes for the demo, s."""

    draw: Callable[[Results], Sequence[Block | None]]
    seconds: float


SECTIONS = {
    "misfit": Drawn(lambda results: [misfit_section(results)], 0.2),
    "model": Drawn(lambda results: model_sections(results), 1.6),
    "corrections": Drawn(lambda results: [corrections_section(results)], 0.1),
    "posterior": Drawn(lambda results: [posterior_section(results, results.folder)], 1.6),
    "coverage": Drawn(lambda results: [coverage_section(results)] if results.finished else [], 0.6),
    "fits": Drawn(lambda results: [fits_section(results)] if results.finished else [], 0.3),
    "kernels": Drawn(lambda results: [kernel_section(results)], 0.6),
    "timing": Drawn(lambda results: [timing_section(results)], 0.1),
}
"""In the order of the page."""


def page_of(results: Results, drawn: Share) -> Page:
    """The report as data. drawn: every section."""
    record = results.record
    words = [block for block in (statement(results), verdict(results)) if block is not None]
    blocks: list[Block] = [
        summary(words, key_numbers(results)),
        *(block for name in SECTIONS for block in drawn[name]),
        next_commands(results),
        provenance(record),
    ]
    about = f"{made_by(record.versions, record.started)}; {how_it_ended(results)}."
    return Page(record.title, "an inversion", about, blocks)


def next_commands(results: Results) -> Section:
    """For this folder."""
    name = name_of(pathlib.Path(results.record.folder) if results.record.folder else results.folder)
    place = results.plume
    at = f"{place['latitude']:.1f},{place['longitude']:.1f}"
    more = [] if results.record.finished else [("Go on with the run", f"craton tomography resume {name}")]
    return how_to_go_on(
        [
            *more,
            ("Maps at depths of your choice", f"craton tomography slice {name} --depth 100,300 -o maps.pdf"),
            ("The mantle along a great circle", f"craton tomography section {name} --through {at} --azimuth 60"),
            ("Draw this page again", f"craton tomography report {name}"),
            ("A configuration of your own, with every key explained", "craton tomography template > my.toml"),
        ]
    )


def how_it_ended(results: Results) -> str:
    """Why it stopped, or how far it has come, and where it began."""
    record = results.record
    if record.finished:
        began = "" if record.start is None else f"; {record.start.text}"
        return f"stopped because {record.stopped_because}{began}"
    last = record.iterations[-1].iteration if record.iterations else 0
    return (
        f"unfinished: this is what was saved up to iteration {last}; path coverage and waveforms are computed at the end "
        "of a run"
    )


def outside_solver(name: str) -> str:
    """A sentence on the inversion's seismograms. name: the solver's own; "" where it has none."""
    return f"The inversion's seismograms are an outside solver's{f' ({name})' if name else ''}."


def statement(results: Results) -> Notice:
    """Where the data come from: the first thing a reader must know."""
    record, attributes = results.record, results.observations.attributes
    synthetic = "The observed data are synthetic."
    own = record.config.get("synthetics", {}).get("kind", "modes") == "modes"
    if results.target is None:
        outside = "" if own else f" {outside_solver(record.solver)}"
        origin = f"read from a file; their origin: {attributes.get('origin', 'unknown')}."
        if attributes.get("kind") == "synthetic":
            return Notice(f"They were {origin}{outside}", synthetic)
        return Notice(f"Data: {origin}{outside}")
    percent = 100 * float(attributes.get("noise_fraction", 0))
    wanted, of = record.config.get("target") or {}, record.config["theory"]
    theory = theory_name(of["kind"])
    by = f"with the same theory as the inversion's seismograms ({theory})"
    made = wanted.get("theory", "") or of["kind"]
    if not own:
        by = f"with {theory_name(made)},"
    elif made != of["kind"]:
        by = f"with another theory ({theory_name(made)}) than the inversion's seismograms ({theory}),"
    derivatives = ""
    if not own or of.get("derivatives"):
        derivatives = f" The inversion's derivatives are from {theory_name(results.theory_of_derivatives)}."
        derivatives += "" if own else f" {outside_solver(record.solver)}"
    in_band = " in the filter's band" if "independent_part" in attributes else ""
    wrong = [kind.text for kind in KINDS if wanted.get(f"wrong_{kind.name}")]
    spoilt = f" The inversion was given wrong values of: {', '.join(wrong)}." if wrong else ""
    by += " on splines half as far apart as the model's" if wanted.get("finer") else " on the same spline basis"
    text = (
        f"They are seismograms of the input model, computed {by}, plus Gaussian noise{in_band} whose "
        f"standard deviation is {percent:g}% of each trace's rms (seed {attributes.get('seed')}). A trace weaker than "
        f"{100 * QUIETEST_TRACE:g}% of its event's median gets the noise of a trace of that strength. The inversion "
        f"knows the noise's standard deviation.{derivatives}{spoilt} The earthquakes and stations are real places; the Earth in "
        "this report is not. What it shows is how well these paths can resolve a known model, not what the mantle looks like."
    )
    return Notice(text, synthetic)


def verdict(results: Results) -> Notice | None:
    """Whether the end can be believed: the second thing a reader must know. None for a run that has not ended."""
    found = results.record.judgement
    if found is None:
        return None
    lines = [f"{line[0].upper()}{line[1:]}." for line in found.warnings]
    if not lines:
        lines = ["The data are fitted to their noise, no cycle is skipped, and the prior admits the model."]
    figures = f" (2χ/N = {found.fit:.3f}, 1 is expected; 2χ of the prior / n = {found.prior:.3f}, at most 1 is)"
    if found.periods:
        figures += f" {found.by_period.replace('2 chi/N by', '2χ/N by')}."
    if found.theory is not None:
        figures += f" Theory: {found.theory.text}."
    return Notice(" ".join(lines) + figures, "Read with care." if found.warnings else "How it ended.")


def key_numbers(results: Results) -> Numbers:
    """Fit, paths, parameters, time."""
    record, last = results.record, results.record.iterations[-1]
    fit = f"variance reduction after {counted(last.iteration, 'iteration')}"
    found = [(f"{100 * last.variance_reduction:.1f}%", fit)]
    if record.correlation:
        found.append((f"{record.correlation.overall:.3f}", "correlation with the input, upper half of coverage"))
    found.append((f"{record.paths}", f"paths: {record.events} earthquakes, {record.stations} stations"))
    found.append((f"{results.basis.size}", f"parameters: {described(results.basis).replace(' x ', ' × ')}"))
    assemble_s = sum(entry.assemble_s for entry in record.iterations)
    crew = f"{counted(record.ranks, 'rank')} × {counted(record.threads, 'thread')}"
    return Numbers([*found, (f"{assemble_s:.1f} s", f"assembling Hessians on {crew}")])
