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

__all__ = ["Beside", "models_beside", "read_beside", "stored_beside", "write_beside"]

Beside = dict[str, list[HazardCurve]]
"""By the name of a model: the curves of all sites and measures."""


def models_beside(work: Work, say: Callable[[str], None] | None = None) -> Beside:
    """The curves of the configuration's models (none: nothing), for the forecast, sites and levels of the run.

    say: is told in a line what is being done, and that there are none where OpenQuake's hazardlib is not installed. UserError for a
    model that it does not have.
    """
    if not work.config.hazard.models:
        return {}
    from craton.hazard.curves.ground_motion_models import INSTALL, SiteConditions, is_installed, model_curves

    if not is_installed():
        if say is not None:
            say(
                f"warning: no ground-motion models beside the curves: OpenQuake's hazardlib is not installed; for them: {INSTALL}"
            )
        return {}
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
    """What write_beside() has left of one site; without OpenQuake. UserError for files that are not whole, or only some of them.

    Nothing where it has left nothing: a run without hazardlib has no models.
    """
    found: Beside = {}
    levels = len(work.levels_g())
    if not folder.models.is_dir():
        return found
    for model in work.config.hazard.models:
        path = folder.models / f"{model}.csv"
        found[model] = curves = read_curves_csv(path, site)
        for period in work.config.periods_s:
            if [len(one.levels) for one in curves if one.measure == imt(period)] != [levels]:
                raise UserError(f"{path}: no whole curve of {imt(period)} at {site}; allowed: {levels} levels")
    return found


def stored_beside(work: Work, folder: HazardFolder) -> Beside:
    """What write_beside() has left of all sites, as read_beside()."""
    by_site = [read_beside(work, folder, site.name) for site in work.sites]
    return {model: [curve for found in by_site for curve in found[model]] for model in (by_site[0] if by_site else {})}
