"""Ground-motion models beside a run's own curves: the dashed lines of Cui et al. 2013, figure 4."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from craton.errors import UserError
from craton.hazard.curves.curves import HazardCurve
from craton.hazard.curves.export import read_curves_csv, write_curves_csv
from craton.hazard.folder import HazardFolder
from craton.hazard.pipeline.post_processing import imt
from craton.hazard.pipeline.work import Work

__all__ = ["Beside", "models_beside", "read_beside", "write_beside"]

Beside = dict[str, list[HazardCurve]]
"""By the name of a model: the curves of all sites and measures."""


def models_beside(work: Work, say: Callable[[str], None] | None = None) -> Beside:
    """The curves of the configuration's models (none: nothing), for the forecast, sites and levels of the run.

    say: is told in a line what is being done. UserError without OpenQuake's hazardlib, and for a model that it does not have.
    """
    if not work.config.hazard.models:
        return {}
    from craton.hazard.curves.ground_motion_models import SiteConditions, model_curves

    x, y, _ = np.array(work.position_m).T
    conditions = [
        SiteConditions(site.name, site.longitude_deg, site.latitude_deg, vs30_m_s=given.vs30_m_s or float(found))
        for given, site, found in zip(work.config.all_sites, work.sites, work.surface_vs(x, y), strict=True)
    ]
    measures = [imt(period) for period in work.config.periods_s]
    years, levels = work.config.forecast.years, work.levels_g()
    names = work.config.hazard.models
    return model_curves(
        work.forecast, work.grid, conditions, measures, models=names, years=years, levels=levels, say=say
    )


def write_beside(work: Work, folder: HazardFolder, beside: Beside) -> None:
    """Writes models/<name>.csv of each model, of all sites of the configuration. UserError where it cannot be written."""
    for model, curves in beside.items():
        folder.models.mkdir(exist_ok=True)
        write_curves_csv(folder.models / f"{model}.csv", work.sites, curves)


def read_beside(work: Work, folder: HazardFolder, site: str) -> Beside:
    """What write_beside() has left of one site; without OpenQuake. UserError for files that are not there, or not whole."""
    found, levels = {}, len(work.levels_g())
    for model in work.config.hazard.models:
        path = folder.models / f"{model}.csv"
        found[model] = curves = read_curves_csv(path, site)
        for period in work.config.periods_s:
            if [len(one.levels) for one in curves if one.measure == imt(period)] != [levels]:
                raise UserError(f"{path}: no whole curve of {imt(period)} at {site}; allowed: {levels} levels")
    return found
