"""Pictures of a posterior: uncertainty, a place's covariance and point spread, samples, trade-offs; of strengths of a prior."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from craton._craton import ModelBasis
from craton.inverse.posterior import correlation_of
from craton.pages import maps, projection
from craton.pages.figures import new_figure
from craton.pages.style import ACCENT, INK, MUTED, SECOND, drawing
from craton.runs.words import place_text
from craton.seismology.geometry.latitudes import geocentric_deg, geographic_deg
from craton.tomography.model.knots import knot_depths_km
from craton.tomography.model.parameters import blocks_in
from craton.tomography.model.pictures import CENTRE_DEG, DEPTHS_KM, field_at, models_figure
from craton.tomography.model.sphere import unit_vectors
from craton.tomography.model.splines import parts_of
from craton.tomography.posterior.criteria import Choice, StrengthSummary
from craton.tomography.posterior.findings import PointFindings, PosteriorSummary
from craton.tomography.posterior.questions import Place

f64 = NDArray[np.float64]

SAMPLES_DEPTHS_KM = (150.0, 1200.0, 2500.0)
STEP_DEG = 2.0
POINT_ARRAYS = ("covariance", "prior_covariance", "point_spread", "resolution_row")
"""What posterior.h5 has of each place."""
MARK: dict[str, Any] = {"marker": "x", "s": 40.0, "color": SECOND, "linewidths": 1.5, "zorder": 6}


def shown_knots(basis: ModelBasis) -> list[int]:
    """Radial knots nearest to the depths that are shown, from the top."""
    depths = knot_depths_km(basis)
    return list(dict.fromkeys(int(np.argmin(np.abs(depths - depth))) for depth in DEPTHS_KM))


def between_knots(basis: ModelBasis, values: f64, centre_deg: float = CENTRE_DEG) -> f64:
    """Values at the lateral knots on the maps' grid, weighted by distance to the nearest three."""
    latitude, longitude = np.broadcast_arrays(*projection.cells(centre_deg, STEP_DEG))
    knots = cKDTree(unit_vectors(np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg)))
    points = unit_vectors(geocentric_deg(latitude).ravel(), longitude.ravel())
    distance, nearest = knots.query(points, k=3)
    weights = 1.0 / np.maximum(distance, 1e-6) ** 2
    found = (weights * values[nearest]).sum(axis=1) / weights.sum(axis=1)
    return np.asarray(found.reshape(latitude.shape))


@drawing
def deviation_figure(
    basis: ModelBasis, name: str, first: int, arrays: dict[str, Any], centre_deg: float = CENTRE_DEG
) -> Figure:
    """Standard deviation of a parameter at the knots, as a part of what it was before the data, and the resolution's diagonal.

    basis: of the parameter alone. first: of its coefficients in the model. arrays: of posterior.h5. Maps of deviations have a
    scale each: from depth to depth they differ by far. The others share theirs in a column.
    """
    knots, depths = shown_knots(basis), knot_depths_km(basis)
    deviation = arrays[f"{name}/deviation"]
    part = deviation / arrays[f"{name}/prior_deviation"]
    resolution = arrays["resolution_diagonal"][first : first + deviation.size].reshape(deviation.shape)
    most = float(np.ceil(10.0 * np.quantile(part[:, knots], 0.995)) / 10.0)
    columns = (
        (100.0 * deviation, f"σ of {name}, %", "cividis", None),
        (part, "σ after / before", "cividis", (0.0, most)),
        (resolution, "resolution", "YlGnBu", (0.0, 1.0)),
    )
    figure = new_figure(13.0, 2.3 * len(knots) + 0.3)
    axes = figure.subplots(len(knots), len(columns), squeeze=False)
    for row, knot in zip(axes, knots, strict=True):
        for place, (values, title, colours, limits) in zip(row, columns, strict=True):
            layer = values[:, knot]
            lowest, highest = limits or map(float, np.quantile(layer, (0.005, 0.995)))
            mesh = maps.mesh_on_map(place, between_knots(basis, layer, centre_deg), STEP_DEG, colours, lowest, highest)
            maps.draw_globe(place, centre_deg)
            place.set_title(f"{title}: {depths[knot]:.0f} km", loc="left", pad=2.0)
            bar = figure.colorbar(mesh, ax=place, shrink=0.7, aspect=20, pad=0.01)
            bar.outline.set_visible(False)
    return figure


@drawing
def point_figure(
    basis: ModelBasis, point: PointFindings, number: int, arrays: dict[str, Any], centre_deg: float = CENTRE_DEG
) -> Figure:
    """Covariance with a place, a point spread and a row of the resolution: maps above, the same against depth below.

    number: of the place in posterior.h5, whose arrays these are. Covariances are divided by the standard deviation at the place:
    what is expected elsewhere where dlnVs there is one standard deviation too high.
    """
    place, knot, depths_km = point.place, point.knot, knot_depths_km(basis)
    after, before, image, weights = (np.ascontiguousarray(arrays[f"points/{number}/{name}"]) for name in POINT_ARRAYS)
    after, before = after / point.deviation, before / point.prior_deviation
    weights = weights[: basis.n_lateral * basis.n_radial].reshape(basis.n_lateral, -1)  # of dlnVs
    layer = int(np.argmin(np.abs(depths_km - place.depth_km)))
    figure = new_figure(13.0, 5.6)
    (first, second, third), below = figure.subplots(2, 3)
    limit = 100.0 * float(np.abs(values_below(basis, after, place, depths_km)).max())
    mesh = maps.field_on_map(first, basis, after, place.depth_km, centre_deg, max(limit, 1e-6))
    label(figure, mesh, first, f"covariance with the place, {place.depth_km:.0f} km", "one deviation there: dlnVs, %")
    mesh = maps.field_on_map(second, basis, 0.01 * image, knot.depth_km, centre_deg, 1.0)
    label(figure, mesh, second, f"point spread, {knot.depth_km:.0f} km", "of a spike of 1")
    largest = float(np.abs(weights[:, layer]).max()) or 1.0
    longitude, latitude = projection.relative_longitude(np.asarray(basis.longitude_deg), centre_deg), basis.latitude_deg
    x, y = projection.robinson(longitude, geographic_deg(latitude))
    dots = third.scatter(x, y, c=weights[:, layer], s=14.0, cmap="PuOr", vmin=-largest, vmax=largest, zorder=4)
    label(figure, dots, third, f"resolution row, {depths_km[layer]:.0f} km", "weight of each coefficient")
    for axes, at in ((first, place), (second, knot), (third, place)):
        maps.draw_globe(axes, centre_deg)
        maps.draw_points(axes, np.array([at.latitude_deg]), np.array([at.longitude_deg]), centre_deg, **MARK)
    profiles, spread, layers = below
    depths = np.linspace(depths_km[-1], depths_km[0], 200)
    for model, name, colour in ((before, "before the data", MUTED), (after, "after", ACCENT)):
        profiles.plot(100.0 * values_below(basis, model, place, depths), depths, color=colour, label=name)
    spread.plot(values_below(basis, image, knot, depths), depths, color=ACCENT, label="found of the spike")
    layers.plot(weights.sum(axis=0), depths_km, "o-", color=ACCENT, markersize=4, label="all lateral knots together")
    for axes, at, text in (
        (profiles, place, "one deviation there: dlnVs, %"),
        (spread, knot, "of a spike of 1"),
        (layers, place, "weight of all coefficients of a radial knot"),
    ):
        axes.axhline(at.depth_km, color=SECOND, linestyle=":", linewidth=1.0)
        axes.set(xlabel=text, ylabel="depth, km")
        axes.invert_yaxis()
        axes.axvline(0.0, color=INK, linewidth=0.5)
        axes.legend()
    figure.suptitle(place.text, x=0.01, ha="left", fontsize=10.0)
    return figure


def label(figure: Figure, mesh: Any, axes: Any, title: str, text: str) -> None:
    """A title above, and a colour scale below that says what is drawn."""
    axes.set_title(title, loc="left", pad=2.0)
    bar = figure.colorbar(mesh, ax=axes, orientation="horizontal", shrink=0.6, aspect=30, pad=0.02)
    bar.set_label(text)
    bar.outline.set_visible(False)


def values_below(basis: ModelBasis, model: f64, place: Place, depths_km: f64) -> f64:
    """The field below a place."""
    return field_at(basis, model, geocentric_deg(np.array([place.latitude_deg])), place.longitude_deg, depths_km)


@drawing
def trade_off_figure(correlation: f64, labels: list[str], place: Place) -> Figure:
    """Posterior correlations of everything below a place with everything else there."""
    size = 2.4 + 0.3 * len(labels)
    figure = new_figure(size + 1.0, size)
    axes = figure.subplots()
    mesh = axes.imshow(correlation, cmap="PuOr", vmin=-1.0, vmax=1.0)
    axes.set_xticks(range(len(labels)), labels, rotation=90)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_title(f"posterior correlation below {place_text(place.latitude_deg, place.longitude_deg)}", loc="left")
    figure.colorbar(mesh, ax=axes, shrink=0.7).outline.set_visible(False)
    return figure


def all_pictures(
    basis: ModelBasis, summary: PosteriorSummary, arrays: dict[str, Any], samples: f64
) -> Iterator[tuple[str, Figure]]:
    """File name and figure of each picture of a posterior.

    arrays: of posterior.h5. samples: a few, shape (draws, parameters).
    """
    blocks, parts = blocks_in(basis), parts_of(basis)
    for block, part in zip(blocks, parts, strict=True):
        file = f"deviation-{block.name}.png" if block.offset else "deviation.png"
        yield file, deviation_figure(part, block.name, block.offset, arrays)
    mean = arrays["mean"]
    if len(samples):
        shown = [("mean", mean), *((f"sample {k}", model) for k, model in enumerate(samples))]
        yield "samples.png", models_figure(basis, shown, SAMPLES_DEPTHS_KM)
    labels = [
        f"{block.name}, {depth:.0f} km"
        for block, part in zip(blocks, parts, strict=True)
        for depth in knot_depths_km(part)
    ]
    for number, point in enumerate(summary.points):
        yield f"point-{number}.png", point_figure(basis, point, number, arrays)
        if (covariance := arrays.get(f"points/{number}/trade_off")) is not None:
            yield f"trade-off-{number}.png", trade_off_figure(correlation_of(covariance), labels, point.place)
    if summary.shuttle is not None:
        given, unseen = arrays["shuttle/given"], arrays["shuttle/unseen"]
        shown = [("given", given), ("mean", mean), ("unseen part", unseen), ("mean + unseen", mean + unseen)]
        yield "shuttle.png", models_figure(basis, shown, SAMPLES_DEPTHS_KM)


# -------------------------------------------------------------------------------------------------- the strength of a prior


@drawing
def strength_figure(summary: StrengthSummary) -> Figure:
    """Four panels: evidence, cross-validations, the L-curve, and misfit and resolved parameters."""
    trials = summary.trials
    strengths = np.array([trial.strength for trial in trials])
    choices = {choice.criterion: choice for choice in summary.choices}
    figure = new_figure(9.6, 6.4)
    (one, two), (three, four) = figure.subplots(2, 2)
    evidence = np.array([trial.log_evidence for trial in trials])
    by_strength(one, strengths, evidence - evidence.max(), choices["evidence"])
    one.set_yscale("symlog", linthresh=10.0)
    one.set(ylim=(None, 1.0), ylabel="ln evidence, from the best")
    generalised = np.array([trial.generalised for trial in trials])
    by_strength(two, strengths, generalised, choices["generalised cross-validation"], "generalised: ")
    if "cross-validation" in choices:
        left_out = np.array([trial.left_out for trial in trials], dtype=float)
        by_strength(two, strengths, left_out, choices["cross-validation"], "folds left out: ", SECOND)
    two.set_ylabel("misfit per sample")
    l_curve(three, summary, choices["L-curve"])
    four.semilogx(strengths, [trial.chi_data for trial in trials], "o-", color=ACCENT, markersize=4.0)
    four.axhline(summary.samples / 2, color=MUTED, linestyle=":", linewidth=1.0)
    four.set_ylabel("chi_data (dotted: noise alone)")
    beside = four.twinx()
    beside.semilogx(strengths, [trial.resolved for trial in trials], "s--", color=SECOND, markersize=4.0)
    beside.set_ylabel("parameters resolved", color=SECOND)
    four.set_xlabel("prior strength")
    titles = ("evidence", "cross-validation", "L-curve", "misfit, resolution")
    for axes, title in zip((one, two, three, four), titles, strict=True):
        axes.set_title(title, loc="left")
    return figure


def by_strength(axes: Axes, strengths: f64, values: f64, choice: Choice, name: str = "", colour: str = ACCENT) -> None:
    """A criterion, and a line where it chooses."""
    best = "" if choice.strength is None else f"{choice.strength:.3g}"
    axes.plot(strengths, values, "o-", color=colour, markersize=4.0, label=name + best)
    if choice.strength is not None:
        axes.axvline(choice.strength, color=colour, linestyle=":", linewidth=1.0)
    axes.legend()
    axes.set(xscale="log", xlabel="prior strength")


def l_curve(axes: Axes, summary: StrengthSummary, choice: Choice) -> None:
    """Misfit against the model's norm, a strength at each point."""
    x, y = ([getattr(trial, name) for trial in summary.trials] for name in ("chi_data", "model_norm"))
    axes.semilogy(x, y, "o-", color=ACCENT, markersize=4.0)
    for trial in summary.trials:
        chosen = trial.strength == choice.strength
        axes.annotate(
            f"{trial.strength:.2g}",
            (trial.chi_data, trial.model_norm),
            xytext=(4, 3),
            textcoords="offset points",
            fontsize=7.0,
            color=SECOND if chosen else MUTED,
            weight="bold" if chosen else "normal",
        )
    axes.set_xlabel("chi_data")
    axes.set_ylabel("model norm, prior of strength 1")
