"""What is done with the tensors of a site's waves, in jobs that leave one file each, whole under its name or not at all.

measure_portion(): tensors -> seismograms -> intensity measures of a portion of the ruptures. finish_site(): measures -> curves,
disaggregation, seismograms of the rupture that matters most.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.hazard.curves.curves import HazardCurve, combined, rupture_exceedances
from craton.hazard.curves.disaggregation import EPSILON_EDGES, Disaggregation, disaggregate, distances_to
from craton.hazard.folder import HazardFolder
from craton.hazard.motion.green_tensors import GreenTensors
from craton.hazard.motion.intensity import TABLES, Measures
from craton.hazard.motion.reciprocity import SiteMeasures, measure_rupture
from craton.hazard.motion.seismograms import RuptureAtSite
from craton.hazard.pipeline.work import Work
from craton.runs.files import replaced
from craton.runs.hdf5_files import opened_hdf5
from craton.runs.hdf5_writing import written_hdf5

__all__ = [
    "WRITTEN",
    "disaggregated",
    "finish_site",
    "imt",
    "measure_portion",
    "read_measures",
    "shaking_of",
    "tensors_of",
]

Array = NDArray[np.float64]
GRAVITY = 9.80665
"""m/s^2: a g."""
WRITTEN = "what craton hazard run has written to its end"


def tensors_of(work: Work, folder: HazardFolder, site: int) -> GreenTensors:
    """The tensors of a site by its number. UserError for files of another site, time step or list of points."""
    name = work.config.all_sites[site].name
    paths = [folder.waves(name, direction) / "sgt.h5" for direction in work.config.green.directions]
    green = GreenTensors.open(paths, work.position_m[site])
    at, wanted = green.position_m, work.points_m
    if at.shape != wanted.shape or not np.allclose(at, wanted, rtol=0, atol=0.01):
        raise UserError(f"{paths[0]}: tensors at other points than the faults have; allowed: of this run")
    return green


def measure_portion(work: Work, folder: HazardFolder, site: int, portion: int) -> Path:
    """Writes a row for each variation of the portion's ruptures."""
    green, wanted = tensors_of(work, folder, site), work.config.measures
    parts = [
        measure_rupture(
            green,
            work.forecast.ruptures[index],
            work.variations(index, green),
            wanted.periods_s,
            index=index,
            damping=wanted.damping,
            slip_rate=wanted.slip_rate,
            memory_mb=work.config.run.memory_mb,
        )
        for index in work.portions[portion]
    ]
    path = folder.measures(work.config.all_sites[site].name, work.portions[portion])
    with replaced(path) as aside, written_hdf5(aside) as file:
        _write_measures(file, SiteMeasures.joined(parts))
    return path


def finish_site(work: Work, folder: HazardFolder, site: int) -> Path:
    """Writes site.h5 from all portions."""
    name, at = work.config.all_sites[site].name, work.position_m[site]
    found = SiteMeasures.joined([read_measures(folder.measures(name, portion)) for portion in work.portions])
    if tuple(np.bincount(found.rupture, minlength=len(work.counts))) != work.counts:
        raise UserError(
            f"{folder.site(name)}: measures of {len(found)} variations; allowed: {sum(work.counts)}, those of this forecast: files "
            "of another run have to go"
        )
    forecast, years, levels = work.forecast, work.config.forecast.years, work.levels_g()
    shaking, distance = shaking_of(work, found), distances_to(forecast, at)
    curves: dict[float, HazardCurve] = {}
    path = folder.finished(name)
    with replaced(path) as aside, written_hdf5(aside) as file:
        _write_measures(file.create_group("measures"), found)
        file.attrs.update({"site": name, "position_m": at, "years": years})
        ruptures = file.create_group("ruptures")
        ruptures["source"], ruptures["number"] = list(forecast.sources), [one.number for one in forecast.ruptures]
        ruptures["magnitude"], ruptures["annual_rate"] = forecast.magnitudes, forecast.annual_rates
        ruptures["distance_m"] = distance
        for column, period in enumerate(work.config.measures.periods_s):
            above = rupture_exceedances(found.rupture, shaking[:, column], len(forecast.ruptures), levels)
            probability = combined(above, forecast.annual_rates, years)
            curves[period] = HazardCurve(name, imt(period), years, levels, probability)
            group = file.create_group(f"curves/{imt(period)}")
            group["levels"], group["exceedance"], group["probability"] = levels, above, probability
            group.attrs["period_s"] = period
            if note := work.note(period):
                group.attrs["note"] = f"not resolved: {note}"
        period = work.config.periods_s[0]
        first = shaking[:, work.config.measures.periods_s.index(period)]
        level = looked_at(curves[period], work.config.hazard.probabilities[0], float(first.max()))
        if level > 0 and np.any(first > level):
            shares = disaggregated(work, found.rupture, first, distance, level)
            _write_disaggregation(file.create_group("disaggregation"), work, shares)
            index = shares.largest_rupture()
            _write_rupture(file.create_group("rupture"), work, tensors_of(work, folder, site), index, found, first)
    return path


def imt(period_s: float) -> str:
    """The name of a measure, as OpenQuake writes it."""
    return f"SA({period_s!r})"


def shaking_of(work: Work, found: SiteMeasures) -> Array:
    """The measure of shaking (variation, period) that the configuration chooses, in g."""
    values: Array = getattr(found.measures, work.config.measures.shaking)
    return values / GRAVITY


def looked_at(curve: HazardCurve, probability: float, largest: float) -> float:
    """The level of a probability: 0 where the curve begins below it, NaN where it ends above.

    Where straight lines between levels lead beyond the largest shaking of all, it is the level of the curve below.
    """
    level = curve.level_at(probability)
    if not level >= largest:
        return level
    return float(curve.levels[curve.probability >= probability].max(initial=0.0))


def disaggregated(
    work: Work, rupture: NDArray[np.int64], shaking: Array, distance_m: Array, level: float
) -> Disaggregation:
    """Shares at a level, g, from the rupture and the shaking of all variations. UserError where nothing exceeds it."""
    count, wanted = len(work.forecast.ruptures), work.config.hazard
    above = np.bincount(rupture, shaking > level, count) / np.bincount(rupture, minlength=count)
    widths = {"magnitude_width": wanted.magnitude_width, "distance_width_m": 1e3 * wanted.distance_width_km}
    return disaggregate(work.forecast, above, distance_m, level, **widths, variations=(rupture, shaking))


def _write_disaggregation(group: Any, work: Work, found: Disaggregation) -> None:
    for name in ("magnitude_edges", "distance_edges_m", "shares", "epsilon_shares", "ruptures"):
        group[name] = getattr(found, name)
    group["epsilon_edges"] = EPSILON_EDGES
    group["sources"] = list(found.sources)
    for name in ("level", "annual_rate", "mean_magnitude", "mean_distance_m", "mean_epsilon"):
        group.attrs[name] = getattr(found, name)
    first = {"imt": imt(work.config.periods_s[0]), "probability": work.config.hazard.probabilities[0]}
    group.attrs.update(first | {"largest_rupture": found.largest_rupture()})


def _write_rupture(
    group: Any, work: Work, green: GreenTensors, index: int, found: SiteMeasures, shaking: Array
) -> None:
    """A rupture, and of its variations that of median and that of largest shaking: slip and seismogram."""
    rupture, surface = work.forecast.ruptures[index], work.forecast.ruptures[index].surface
    rows = np.flatnonzero(found.rupture == index)
    order = rows[np.argsort(shaking[rows], kind="stable")]
    here = RuptureAtSite(green, rupture, slip_rate=work.config.measures.slip_rate, memory_mb=work.config.run.memory_mb)
    group.attrs.update(
        {"source": rupture.source, "number": rupture.number, "magnitude": rupture.magnitude, "index": index}
    )
    group.attrs.update(
        {"rows": surface.rows, "columns": surface.columns, "dt_s": green.dt_s, "directions": "".join(green.directions)}
    )
    group["positions_m"] = surface.positions
    for name, row in (("median", order[len(order) // 2]), ("largest", order[-1])):
        one = work.variation(index, int(found.number[row]), green)
        part = group.create_group(name)
        part["slip_m"], part["onset_s"], part["velocity_m_s"] = one.slip, one.onset, here.velocities([one])[0]
        part.attrs.update({"number": one.number, "hypocentre": one.hypocentre, "shaking_g": shaking[row]})


def _write_measures(group: Any, found: SiteMeasures) -> None:
    group["rupture"], group["variation"] = found.rupture, found.number
    for name in TABLES:
        group[name] = getattr(found.measures, name)
    group["periods_s"] = found.measures.periods_s
    group.attrs["components"] = "".join(found.measures.components)
    group.attrs["damping"] = found.measures.damping


def read_measures(path: Path, group: str = "/") -> SiteMeasures:
    """The measures in a file. UserError for a file that is not there, or not whole."""
    with opened_hdf5(path, WRITTEN, wrong="not a whole file of measures") as file:
        part = file[group]
        values: dict[str, Any] = {name: part[name][()] for name in (*TABLES, "periods_s")}
        values |= {"components": tuple(part.attrs["components"]), "damping": float(part.attrs["damping"])}
        return SiteMeasures(part["rupture"][()], part["variation"][()], Measures(**values))
