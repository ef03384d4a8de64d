"""Ground-motion models beside a run's own curves: the dashed lines of Cui et al. 2013, figure 4."""

from __future__ import annotations

import numpy as np

from craton.errors import UserError
from craton.hazard.curves.curves import HazardCurve
from craton.hazard.curves.export import read_curves_csv, write_curves_csv
from craton.hazard.folder import HazardFolder
from craton.hazard.pipeline.post_processing import imt
from craton.hazard.pipeline.work import Work

__all__ = ["Beside", "models_beside", "read_beside", "write_beside"]

Beside = dict[str, list[HazardCurve]]
"""Of each model the curves of all sites and measures."""


def models_beside(work: Work) -> Beside:
    """Of the configuration's models (none: nothing), for the forecast, sites and levels of the run. UserError without OpenQuake's
    hazardlib, and for a model that it does not have.
    """
    if not work.config.hazard.models:
        return {}
    from craton.hazard.curves.ground_motion_models import SiteConditions, model_curves

    conditions = [
        SiteConditions(site.name, site.longitude_deg, site.latitude_deg, vs30_m_s=vs30)
        for site, vs30 in zip(work.sites, _vs30(work), strict=True)
    ]
    measures = [imt(period) for period in work.config.periods_s]
    years, levels = work.config.forecast.years, work.levels_g()
    names = work.config.hazard.models
    return model_curves(work.forecast, work.grid, conditions, measures, models=names, years=years, levels=levels)


def write_beside(work: Work, folder: HazardFolder, beside: Beside) -> None:
    """models/<name>.csv of each model, of all sites of the configuration. UserError where it cannot be written."""
    for model, curves in beside.items():
        folder.models.mkdir(exist_ok=True)
        write_curves_csv(folder.models / f"{model}.csv", work.sites, curves)


def read_beside(work: Work, folder: HazardFolder, site: str) -> Beside:
    """Of one site, what write_beside() has left; without OpenQuake. UserError for files that are not there, or not whole."""
    found, levels = {}, len(work.levels_g())
    for model in work.config.hazard.models:
        path = folder.models / f"{model}.csv"
        found[model] = curves = read_curves_csv(path, site)
        for period in work.config.periods_s:
            if [len(one.levels) for one in curves if one.measure == imt(period)] != [levels]:
                raise UserError(f"{path}: no whole curve of {imt(period)} at {site}; allowed: {levels} levels")
    return found


def _vs30(work: Work) -> list[float]:
    """m/s: given, or that of the ground at the surface."""
    from craton.seismology.wave_run.setup import medium_of

    x, y, _ = np.array(work.position_m).T
    material = medium_of(work.config.ground, work.grid).at(work.grid, x, y, np.full(len(x), 0.25 * work.grid.spacing_m))
    vs = np.sqrt(material.mu / material.rho)
    return [site.vs30_m_s or float(found) for site, found in zip(work.config.sites, vs, strict=True)]
