"""What the data resolve, from `posterior` inside the run's folder; or the command that makes it."""

from __future__ import annotations

import json
import pathlib
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.pages.page import Block, Code, Picture, Section, Text
from craton.runs.files import read_hdf5
from craton.runs.words import range_text
from craton.tomography.config.prior import prior_from_dict
from craton.tomography.model.knots import knot_depths_km
from craton.tomography.model.parameters import blocks_in
from craton.tomography.model.splines import parts_of
from craton.tomography.posterior.findings import PointFindings, PosteriorSummary, posterior_folder
from craton.tomography.posterior.pictures import POINT_ARRAYS, deviation_figure, point_figure, shown_knots
from craton.tomography.prior.words import explained
from craton.tomography.results import Results

if TYPE_CHECKING:
    from craton._craton import ModelBasis

MOST_PLACES = 3
SAME_MISFIT = 1e-3
"""Relative difference up to which the misfit of the Hessian's model is taken for that of the run's."""


def read_findings(results: Results, run: pathlib.Path) -> tuple[PosteriorSummary, dict[str, Any]] | None:
    """What posterior.json and posterior.h5 of a run hold, None where there is none.

    UserError where it is damaged, or of another run: of an earlier one, say, that this has replaced.
    """
    folder = posterior_folder(run)
    if not folder.summary.is_file():
        return None
    try:
        content = json.loads(folder.summary.read_text(encoding="utf-8"))
        points = [PointFindings(**point) for point in content["points"]]
        summary = PosteriorSummary(**{**content, "points": points})
        prior_from_dict(summary.prior, str(folder.summary))
        iteration = int(summary.linearised_at_iteration)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise UserError(f"{folder.summary}: not a summary of craton tomography posterior ({problem})") from problem
    done = {
        entry.iteration: entry.chi_data if entry.chi_fitted is None else entry.chi_fitted
        for entry in results.record.iterations
    }
    there, chi = done.get(iteration), summary.chi_data_there
    same = there is not None and (chi is None or abs(chi - there) <= SAME_MISFIT * abs(there))
    if summary.parameters != results.basis.size or not same:
        raise UserError(f"{folder.path} is of another run; allowed: the posterior of this one")
    arrays = read_hdf5(folder.arrays)
    wanted = ["resolution_diagonal"]
    wanted += [f"{name}/{which}" for name in results.fields.parameters for which in ("deviation", "prior_deviation")]
    wanted += [f"points/{number}/{name}" for number in range(len(points)) for name in POINT_ARRAYS]
    missing = [name for name in wanted if name not in arrays]
    if missing:
        raise UserError(f"{folder.arrays}: '{missing[0]}' is missing; allowed: posterior.h5 as the command leaves it")
    return summary, arrays


def posterior_section(results: Results, run: pathlib.Path) -> Section:
    """Words and pictures, or the command that makes them."""
    try:
        found = read_findings(results, run)
    except UserError as problem:
        text = str(problem).replace(f"{run}/", "")  # without the folders of the computer
        blocks: list[Block] = [Text(f"Not drawn: {text}.", muted=True), *how_to_get_it(results, run, " --overwrite")]
    else:
        if found is None:
            blocks = how_to_get_it(results, run)
        else:
            summary, arrays = found
            pictures = [*deviation_pictures(results, arrays), *point_pictures(results, summary, arrays)]
            blocks = [words(results, summary), *pictures]
    return Section("What the data resolve", blocks, "resolution", "Resolution")


def how_to_get_it(results: Results, run: pathlib.Path, options: str = "") -> list[Block]:
    """The commands, of this run's own name and place."""
    if results.record.config.get("inversion", {}).get("keep_hessians") == "none":
        return [
            Text(
                "Resolution and standard deviations come from the Hessian, which this run has not kept: "
                '[inversion] keep_hessians = "last" does.'
            )
        ]
    name = shlex.quote(results.record.folder or run.name)
    at = f"{results.plume['latitude']:.1f},{results.plume['longitude']:.1f},300"
    text = (
        "Standard deviations, resolution and the point spread at a place are drawn here once they have been computed from the "
        "run's Hessian:"
    )
    commands = f"craton tomography posterior {name} --at {at}{options}\ncraton tomography report {name}"
    return [Text(text), Code(commands)]


def words(results: Results, summary: PosteriorSummary) -> Text:
    """How many parameters the data determine, and what is left of the prior's standard deviation."""
    prior = "the run's own prior"
    # settings that a record does not name are not compared
    if any(summary.prior.get(key) != value for key, value in results.record.config.get("prior", {}).items()):
        prior = f"another prior than the run's ({explained(prior_from_dict(summary.prior, 'posterior.json'))})"
    return Text(
        f"Of {summary.parameters} parameters the data determine {summary.resolved:.1f} (the trace of the resolution); the prior "
        f"decides the rest. The standard deviation of dlnVs at the knots is {100 * summary.rms_deviation:.2f}%, where it was "
        f"{100 * summary.rms_prior_deviation:.2f}% before the data (root mean squares), under {prior}, with the seismograms "
        f"linearised at the model of iteration {summary.linearised_at_iteration}."
    )


def deviation_pictures(results: Results, arrays: dict[str, Any]) -> list[Block]:
    """A figure for each parameter."""
    parameters = zip(blocks_in(results.basis), parts_of(results.basis), strict=True)
    return [
        Picture(
            deviation_figure(part, block.name, block.offset, arrays, results.centre_deg),
            f"At the knots nearest to {depths_of(part)} km. Left: standard deviation σ of {block.name} after the data, each "
            "depth on a scale of its own. Middle: the part of the prior's σ that is left, 1 where the data say nothing. Right: "
            "diagonal of the resolution, how much of a true coefficient is found again, from 0 (the prior's guess) to 1.",
            f"Rows of three world maps at depths of {depths_of(part)} km: σ "
            f"{range_text(100 * shown(arrays, block.name, part, 'deviation'), '%', 2)}, of the prior's "
            f"{range_text(100 * shown(arrays, block.name, part, 'prior_deviation'), '%', 2)}.",
        )
        for block, part in parameters
    ]


def depths_of(basis: ModelBasis) -> str:
    """Of the knots that are drawn."""
    return ", ".join(f"{depth:.0f}" for depth in knot_depths_km(basis)[shown_knots(basis)])


def shown(arrays: dict[str, Any], name: str, basis: ModelBasis, which: str) -> NDArray[np.float64]:
    """Values at the knots that are drawn."""
    return np.asarray(arrays[f"{name}/{which}"])[:, shown_knots(basis)]


def point_pictures(results: Results, summary: PosteriorSummary, arrays: dict[str, Any]) -> list[Block]:
    """The first places."""
    return [
        Picture(
            point_figure(results.basis, point, number, arrays, results.centre_deg),
            f"{point.place.text}: dlnVs = {100 * point.mean:.2f} ± {100 * point.deviation:.2f}% (before the data ± "
            f"{100 * point.prior_deviation:.2f}%). Left: what else must change where dlnVs there is one standard "
            "deviation too high; below, against depth, with the prior's. Middle: the image of a spike of 1 at the "
            f"nearest knot, of which {100 * point.recovered:.0f}% is found at its place; the rest is smeared over "
            "what is coloured. Right: the row of the resolution, with which weight true structure elsewhere enters "
            "what is found at the place.",
            f"Three world maps with coloured spots about {point.place.text}, each above a curve over depth; the spike comes back "
            f"with {100 * point.recovered:.0f}% of its height.",
        )
        for number, point in enumerate(summary.points[:MOST_PLACES])
    ]
