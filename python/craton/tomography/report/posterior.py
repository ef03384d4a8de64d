"""The part of report.html that says what the data resolve: from `posterior` inside the run's folder, or the command
that makes it.
"""

from __future__ import annotations

import json
import pathlib
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.pages.page import Block, Code, Picture, Section, Text
from craton.runs.files import read_hdf5
from craton.tomography.posterior.findings import posterior_folder
from craton.tomography.posterior.pictures import deviation_figure, knot_depths_km, point_figure, shown_knots
from craton.tomography.posterior.questions import Place
from craton.tomography.prior.words import explained
from craton.tomography.results import Results

if TYPE_CHECKING:
    from craton._craton import ModelBasis
    from craton.tomography.config.prior import PriorConfig

f64 = NDArray[np.float64]

MOST_PLACES = 3
SAME_MISFIT = 1e-3
"""Relative difference up to which the misfit of the Hessian's model is taken for that of the run's."""


@dataclass(frozen=True)
class Findings:
    """posterior.json and posterior.h5."""

    summary: dict[str, Any]
    arrays: dict[str, Any]
    prior: PriorConfig


def read_findings(results: Results, run: pathlib.Path) -> Findings | None:
    """The posterior of a run, None where there is none. UserError where it is damaged, or of another run: of an
    earlier one, say, that this has replaced.
    """
    from craton.tomography.config.prior import prior_from_dict

    folder = posterior_folder(run)
    if not folder.summary.is_file():
        return None
    try:
        summary = json.loads(folder.summary.read_text(encoding="utf-8"))
        iteration, chi = int(summary["linearised_at_iteration"]), summary["chi_data_there"]
        prior = prior_from_dict(summary["prior"], str(folder.summary))
        parameters, points = int(summary["parameters"]), list(summary["points"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise UserError(f"{folder.summary}: not a summary of craton tomography posterior ({problem})") from problem
    done = {entry.iteration: entry.chi_data for entry in results.record.iterations}
    same = iteration in done and (chi is None or abs(chi - done[iteration]) <= SAME_MISFIT * abs(done[iteration]))
    if parameters != results.basis.size or not same:
        raise UserError(f"{folder.path} is of another run; allowed: the posterior of this one")
    arrays = read_hdf5(folder.arrays)
    wanted = ["resolution_diagonal"]
    wanted += [f"{name}/{which}" for name in results.fields.parameters for which in ("deviation", "prior_deviation")]
    wanted += [f"points/{number}/{name}" for number in range(len(points)) for name in POINT_ARRAYS]
    missing = [name for name in wanted if name not in arrays]
    if missing:
        raise UserError(f"{folder.arrays}: '{missing[0]}' is missing; allowed: posterior.h5 as the command leaves it")
    return Findings(summary, arrays, prior)


def posterior_section(results: Results, run: pathlib.Path) -> Section:
    """Words and pictures, or the command that makes them."""
    try:
        found = read_findings(results, run)
    except UserError as problem:
        not_drawn = Text(f"Not drawn: {short(str(problem), run)}.", muted=True)
        blocks: list[Block] = [not_drawn, *how_to_get_it(results, run, " --overwrite")]
    else:
        if found is None:
            blocks = how_to_get_it(results, run)
        else:
            blocks = [words(results, found), *deviation_pictures(results, found), *point_pictures(results, found)]
    return Section("What the data resolve", blocks, "resolution", "Resolution")


def short(text: str, run: pathlib.Path) -> str:
    """Without the folders of the computer."""
    return text.replace(f"{run}/", "")


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
    at = ",".join(f"{value:.1f}" for value in (results.plume["latitude"], results.plume["longitude"])) + ",300"
    commands = f"craton tomography posterior {name} --at {at}{options}\ncraton tomography report {name}"
    return [
        Text(
            "Standard deviations, resolution and the point spread at a place are drawn here once they have been "
            "computed from the run's Hessian:"
        ),
        Code(commands),
    ]


def words(results: Results, found: Findings) -> Text:
    """How many parameters the data determine, and what is left of the prior's standard deviation."""
    summary = found.summary
    ours = results.record.config.get("prior", {})
    theirs = (
        "the run's own prior"
        if same_prior(summary["prior"], ours)
        else f"another prior than the run's ({explained(found.prior)})"
    )
    return Text(
        f"Of {summary['parameters']} parameters the data determine {summary['resolved']:.1f} (the trace of the "
        "resolution); the prior decides the rest. The standard deviation of dlnVs at the knots is "
        f"{100 * summary['rms_deviation']:.2f}%, where it was {100 * summary['rms_prior_deviation']:.2f}% before the "
        f"data (root mean squares), under {theirs}, with the seismograms linearised at the model of "
        f"iteration {summary['linearised_at_iteration']}."
    )


def same_prior(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """As JSON has them: settings that a file does not name are not compared."""
    plain = json.loads(json.dumps(one))
    return all(plain.get(key) == value for key, value in other.items())


def deviation_pictures(results: Results, found: Findings) -> list[Block]:
    """A figure for each parameter."""
    basis = results.fields.basis
    out: list[Block] = []
    diagonal = np.asarray(found.arrays["resolution_diagonal"]).reshape(-1, basis.n_lateral, basis.n_radial)
    depths = knot_depths_km(basis)[shown_knots(basis)]
    for name, resolution in zip(results.fields.parameters, diagonal, strict=True):
        after, before = (found.arrays[f"{name}/{which}"] for which in ("deviation", "prior_deviation"))
        figure = deviation_figure(basis, after, before, resolution, name, results.centre_deg)
        out.append(Picture(
            figure,
            f"At the knots nearest to {', '.join(f'{depth:.0f}' for depth in depths)} km. Left: standard deviation σ "
            f"of {name} after the data, each depth on a scale of its own. Middle: the part of the prior's σ that is "
            "left, 1 where the data say nothing. Right: diagonal of the resolution, how much of a true coefficient "
            "is found again, from 0 (the prior's guess) to 1.",
        ))  # fmt: skip
    return out


def point_pictures(results: Results, found: Findings) -> list[Block]:
    """The first places."""
    basis = results.basis
    out: list[Block] = []
    for number, point in enumerate(found.summary["points"][:MOST_PLACES]):
        arrays = {name: np.ascontiguousarray(found.arrays[f"points/{number}/{name}"]) for name in POINT_ARRAYS}
        place = Place(point["latitude_deg"], point["longitude_deg"], point["depth_km"])
        knot = Place(point["spread_latitude_deg"], point["spread_longitude_deg"], point["spread_depth_km"])
        out.append(Picture(point_of(basis, place, knot, point, arrays, results.centre_deg), (
            f"{place.text}: dlnVs = {100 * point['mean']:.2f} ± {100 * point['deviation']:.2f}% (before the data ± "
            f"{100 * point['prior_deviation']:.2f}%). Left: what else must change where dlnVs there is one standard "
            "deviation too high; below, against depth, with the prior's. Middle: the image of a spike of 1 at the "
            f"nearest knot, of which {100 * point['recovered']:.0f}% is found at its place; the rest is smeared over "
            "what is coloured. Right: the row of the resolution, with which weight true structure elsewhere enters "
            "what is found at the place."
        )))  # fmt: skip
    return out


POINT_ARRAYS = ("covariance", "prior_covariance", "point_spread", "resolution_row")


def point_of(
    basis: ModelBasis, place: Place, knot: Place, point: dict[str, Any], arrays: dict[str, f64], centre_deg: float
) -> Any:
    """Covariances divided by the deviation at the place: what one deviation there goes with."""
    after, before = arrays["covariance"] / point["deviation"], arrays["prior_covariance"] / point["prior_deviation"]
    return point_figure(basis, place, knot, after, before, arrays["point_spread"], arrays["resolution_row"], centre_deg)
