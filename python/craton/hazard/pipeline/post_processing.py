"""What is done with the tensors of a site's waves: tensors -> seismograms -> intensity measures of a portion of the ruptures; then
measures -> curves, disaggregation, seismograms of the rupture that matters most. measure_portion() and finish_site() leave
one file each, whole under its name or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.hazard.curves.curves import HazardCurve, combined, rupture_exceedances
from craton.hazard.curves.disaggregation import disaggregate, distances_to
from craton.hazard.folder import HazardFolder
from craton.hazard.motion.green_tensors import GreenTensors
from craton.hazard.motion.intensity import TABLES, Measures
from craton.hazard.motion.reciprocity import SiteMeasures, measure_rupture
from craton.hazard.motion.seismograms import RuptureAtSite
from craton.hazard.pipeline.work import Work
from craton.runs.files import replaced

__all__ = ["GRAVITY", "finish_site", "measure_portion", "read_measures", "tensors_of"]

Array = NDArray[np.float64]
GRAVITY = 9.80665
"""m/s^2: a g."""


def tensors_of(work: Work, folder: HazardFolder, site: int) -> GreenTensors:
    """UserError for files of another site, time step or list of points."""
    name = work.config.sites[site].name
    paths = [folder.waves(name, direction) / "sgt.h5" for direction in work.config.green.directions]
    green = GreenTensors.open(paths, work.position_m[site])
    if green.position_m.shape != work.points_m.shape or not np.allclose(
        green.position_m, work.points_m, rtol=0, atol=0.01
    ):
        raise UserError(f"{paths[0]}: tensors at other points than the faults have; allowed: of this run")
    return green


def measure_portion(work: Work, folder: HazardFolder, site: int, portion: int) -> Path:
    """A row for each variation of the portion's ruptures."""
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
    path = folder.measures(work.config.sites[site].name, work.portions[portion])
    with replaced(path) as aside, h5py.File(aside, "w") as file:
        _write_measures(file, _joined(parts))
    return path


def finish_site(work: Work, folder: HazardFolder, site: int) -> Path:
    """site.h5 from all portions."""
    name = work.config.sites[site].name
    found = _joined([read_measures(folder.measures(name, portion)) for portion in work.portions])
    _check_rows(work, found, folder.site(name))
    path = folder.finished(name)
    with replaced(path) as aside, h5py.File(aside, "w") as file:
        _write_measures(file.create_group("measures"), found)
        at = work.position_m[site]
        file.attrs.update({"site": name, "position_m": at, "years": work.config.forecast.years})
        distance = distances_to(work.forecast, at)
        _write_ruptures(file.create_group("ruptures"), work, distance)
        shaking = getattr(found.measures, work.config.measures.shaking) / GRAVITY
        periods = list(work.config.measures.periods_s)
        levels = work.levels_g()
        for column, period in enumerate(periods):
            above = rupture_exceedances(found.rupture, shaking[:, column], len(work.forecast.ruptures), levels)
            group = file.create_group(f"curves/{imt(period)}")
            group["levels"], group["exceedance"] = levels, above
            group["probability"] = combined(above, work.forecast.annual_rates, work.config.forecast.years)
            group.attrs["period_s"] = period
        first = periods.index(work.config.periods_s[0])
        _disaggregated(file, work, found, shaking[:, first], distance)
        _largest(file, work, folder, site, found, shaking[:, first])
    return path


def imt(period_s: float) -> str:
    """As OpenQuake writes it."""
    return f"SA({period_s!r})"


def looked_at(curve: HazardCurve, probability: float, largest: float) -> float:
    """The level of that probability; where straight lines between levels lead beyond the largest shaking of all, the level of the
    curve below. 0 where the curve begins below the probability, NaN where it ends above.
    """
    level = curve.level_at(probability)
    if not level >= largest:
        return level
    return float(curve.levels[curve.probability >= probability].max(initial=0.0))


def _disaggregated(file: Any, work: Work, found: SiteMeasures, shaking: Array, distance: Array) -> None:
    """Where the first curve has the first probability; nothing where no level has it."""
    wanted, period = work.config.hazard, work.config.periods_s[0]
    curve = file[f"curves/{imt(period)}"]
    levels = curve["levels"][()]
    whole = HazardCurve("", imt(period), work.config.forecast.years, levels, curve["probability"][()])
    level = looked_at(whole, wanted.probabilities[0], float(shaking.max()))
    above = np.array([np.mean(shaking[found.rupture == i] > level) for i in range(len(work.forecast.ruptures))])
    if not (np.isfinite(level) and level > 0 and np.any(above * work.forecast.annual_rates > 0)):
        return
    result = disaggregate(
        work.forecast,
        above,
        distance,
        level,
        magnitude_width=wanted.magnitude_width,
        distance_width_m=1e3 * wanted.distance_width_km,
    )
    group = file.create_group("disaggregation")
    for name in ("magnitude_edges", "distance_edges_m", "shares", "ruptures"):
        group[name] = getattr(result, name)
    group["sources"] = list(result.sources)
    group.attrs.update(
        {name: getattr(result, name) for name in ("level", "annual_rate", "mean_magnitude", "mean_distance_m")}
    )
    group.attrs.update(
        {"imt": imt(period), "probability": wanted.probabilities[0], "largest_rupture": result.largest_rupture()}
    )


def _largest(file: Any, work: Work, folder: HazardFolder, site: int, found: SiteMeasures, shaking: Array) -> None:
    """The rupture that matters most, and of its variations that of median and that of largest shaking: slip and seismogram."""
    if "disaggregation" not in file:
        return
    index = int(file["disaggregation"].attrs["largest_rupture"])
    rows = np.flatnonzero(found.rupture == index)
    order = rows[np.argsort(shaking[rows], kind="stable")]
    chosen = {"median": order[len(order) // 2], "largest": order[-1]}
    rupture = work.forecast.ruptures[index]
    green = tensors_of(work, folder, site)
    here = RuptureAtSite(green, rupture, slip_rate=work.config.measures.slip_rate, memory_mb=work.config.run.memory_mb)
    group = file.create_group("rupture")
    surface = rupture.surface
    group.attrs.update(
        {"source": rupture.source, "number": rupture.number, "magnitude": rupture.magnitude, "index": index}
    )
    group.attrs.update(
        {"rows": surface.rows, "columns": surface.columns, "dt_s": green.dt_s, "directions": "".join(green.directions)}
    )
    group["positions_m"] = surface.positions
    for name, row in chosen.items():
        one = work.variation(index, int(found.number[row]), green)
        part = group.create_group(name)
        part["slip_m"], part["onset_s"], part["velocity_m_s"] = one.slip, one.onset, here.velocities([one])[0]
        part.attrs.update({"number": one.number, "hypocentre": one.hypocentre, "shaking_g": shaking[row]})


def _check_rows(work: Work, found: SiteMeasures, where: Path) -> None:
    counted = np.bincount(found.rupture, minlength=len(work.counts))
    if tuple(counted) != work.counts:
        raise UserError(
            f"{where}: measures of {len(found)} variations; allowed: {sum(work.counts)}, those of this forecast: files of another "
            "run have to go"
        )


def _write_ruptures(group: Any, work: Work, distance: Array) -> None:
    group["source"] = list(work.forecast.sources)
    group["number"] = np.array([one.number for one in work.forecast.ruptures])
    group["magnitude"], group["annual_rate"] = work.forecast.magnitudes, work.forecast.annual_rates
    group["distance_m"] = distance


def _joined(parts: Sequence[SiteMeasures]) -> SiteMeasures:
    return SiteMeasures(
        np.concatenate([part.rupture for part in parts]),
        np.concatenate([part.number for part in parts]),
        Measures.joined([part.measures for part in parts]),
    )


def _write_measures(group: Any, found: SiteMeasures) -> None:
    group["rupture"], group["variation"] = found.rupture, found.number
    for name in TABLES:
        group[name] = getattr(found.measures, name)
    group["periods_s"] = found.measures.periods_s
    group.attrs["components"] = "".join(found.measures.components)
    group.attrs["damping"] = found.measures.damping


def read_measures(path: Path, group: str = "/") -> SiteMeasures:
    """UserError for a file that is not there, or not whole."""
    try:
        with h5py.File(path, "r") as file:
            part = file[group]
            values: dict[str, Any] = {name: part[name][()] for name in TABLES}
            values["periods_s"] = part["periods_s"][()]
            values |= {"components": tuple(part.attrs["components"]), "damping": float(part.attrs["damping"])}
            known = {item.name for item in fields(Measures)}
            assert set(values) == known
            return SiteMeasures(part["rupture"][()], part["variation"][()], Measures(**values))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; allowed: what craton hazard run has written to its end") from None
    except (OSError, KeyError) as problem:
        raise UserError(f"{path}: not a whole file of measures: {' '.join(str(problem).split())}") from None
