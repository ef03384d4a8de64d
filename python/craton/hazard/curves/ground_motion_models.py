"""The same forecast's hazard curves by ground-motion models, through OpenQuake's hazardlib.

    curves = model_curves(forecast, place, [SiteConditions("A", -118.3, 34.0, vs30_m_s=390)], ["SA(3.0)"], years=50)

F of a rupture is then log-normal, with the median and the standard deviation that the model has for its magnitude, its style and
its distances; distances and rupture parameters are hazardlib's, from the nodes of each surface. The rest (F, and what ruptures make
together) is Craton's own: curves.py. hazardlib is loaded when it is first needed; without it UserError says how to install it.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.special import ndtr

from craton.errors import UserError
from craton.hazard.curves import hazardlib
from craton.hazard.curves.curves import HazardCurve, combined, levels_g
from craton.hazard.forecast.forecast import Forecast, checked_years
from craton.hazard.forecast.rupture import Array, Rupture, Surface
from craton.hazard.forecast.surfaces import nodes_of
from craton.seismology.geometry.grid import Grid

__all__ = [
    "INSTALL",
    "MODELS",
    "SiteConditions",
    "is_installed",
    "model_curves",
    "model_exceedances",
    "openquake_source",
]

MODELS = ("BooreAtkinson2008", "CampbellBozorgnia2008", "ChiouYoungs2008", "AbrahamsonSilva2008")
TECTONIC_REGION = "Active Shallow Crust"
FARTHEST_KM = 1e4
"""No rupture of a forecast is left out for its distance."""
PARTS = ("contexts", "gsim", "imt", "site", "tom", "geo.mesh", "geo.surface.simple_fault", "source.base")
"""Modules of hazardlib that are used here."""
INSTALL = "pip install 'craton[hazard]', then pip install --no-deps 'openquake.engine>=3.26,<4'"


@dataclass(frozen=True)
class SiteConditions:
    """A site as ground-motion models see it."""

    name: str
    longitude_deg: float
    latitude_deg: float
    vs30_m_s: float = 760.0
    vs30_measured: bool = False
    z1_0_m: float | None = None
    """depth of vs = 1 km/s; None: the mean of vs30 (Chiou and Youngs 2008, eq. 1)"""
    z2_5_km: float | None = None
    """depth of vs = 2.5 km/s; None: from z1.0 (Campbell and Bozorgnia 2007)"""

    def __post_init__(self) -> None:
        for name in ("vs30_m_s", "z1_0_m", "z2_5_km"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise UserError(f"site '{self.name}': {name} = {value:g}; allowed: above 0")

    @property
    def basin_m_km(self) -> tuple[float, float]:
        """Depths z1.0 in m and z2.5 in km."""
        v8 = self.vs30_m_s**8 + 378.7**8
        z1 = math.exp(28.5 - 3.82 / 8 * math.log(v8)) if self.z1_0_m is None else self.z1_0_m
        return z1, 0.519 + 3.595 * z1 / 1e3 if self.z2_5_km is None else self.z2_5_km


def model_curves(
    forecast: Forecast,
    place: Grid,
    sites: Sequence[SiteConditions],
    measures: Sequence[str],
    *,
    models: Sequence[str] = MODELS,
    years: float = 1.0,
    levels: Array | None = None,
    truncation: float | None = 3.0,
    say: Callable[[str], None] | None = None,
) -> dict[str, list[HazardCurve]]:
    """The curves of each model, of all sites and measures (PGA, PGV, SA(period)), sites first. Not collective.

    say: is told in a line what is being done, before it is.
    truncation: of the log-normal distribution, in standard deviations to both sides; None: none.
    """
    checked_years(years)
    at = levels_g() if levels is None else np.asarray(levels, float)
    rates = forecast.annual_rates
    found: dict[str, list[HazardCurve]] = {}
    tell = say or (lambda _: None)
    tell("loading OpenQuake's hazardlib for ground-motion models")
    _hazardlib()
    for number, name in enumerate(models, 1):
        tell(f"ground-motion model {number} of {len(models)}: {name}")
        above = model_exceedances(forecast, place, sites, measures, at, model=name, truncation=truncation)
        found[name] = [
            HazardCurve(site.name, measure, float(years), at, combined(above[:, s, m], rates, years))
            for m, measure in enumerate(measures)
            for s, site in enumerate(sites)
        ]
    return found


def model_exceedances(
    forecast: Forecast,
    place: Grid,
    sites: Sequence[SiteConditions],
    measures: Sequence[str],
    levels: Array,
    *,
    model: str,
    truncation: float | None = 3.0,
) -> Array:
    """1 - F of a model, (ruptures, sites, measures, levels). For disaggregation too."""
    at = np.asarray(levels, float)
    if not len(at) or np.any(at <= 0) or np.any(np.diff(at) <= 0):
        raise UserError(f"{len(at)} levels; allowed: above 0, growing")
    if truncation is not None and not 0 < truncation < math.inf:
        raise UserError(f"truncation = {truncation:g} standard deviations; allowed: above 0, or none")
    if not forecast.ruptures or not sites or not measures:
        raise UserError(
            f"{len(forecast.ruptures)} ruptures, {len(sites)} sites, {len(measures)} measures; allowed: one at least of each"
        )
    library = _hazardlib()
    gsim = _model(library, model)
    maker = library.contexts.ContextMaker(TECTONIC_REGION, [gsim], _parameters(library, measures, at))
    source = openquake_source(forecast, place)
    above = np.zeros((len(forecast.ruptures), len(sites), len(measures), len(at)))
    contexts = maker.get_ctxs(source, _site_collection(library, sites, maker.REQUIRES_SITES_PARAMETERS))
    # models take one magnitude at a time
    for _, same in itertools.groupby(contexts, key=lambda context: float(context.mag[0])):
        context = np.concatenate(list(same)).view(np.recarray)
        try:
            mean, sigma = maker.get_mean_stds([context], split_by_mag=False)[:2, 0]
        except (KeyError, ValueError) as error:
            raise UserError(
                f"{model} of {', '.join(measures)}: {error}; allowed: the measures that it was made for"
            ) from None
        epsilon = (np.log(at) - mean[..., None]) / sigma[..., None]
        above[source.indices[context.rup_id], context.sids] = _above(epsilon, truncation).transpose(1, 0, 2)
    return above


def openquake_source(forecast: Forecast, place: Grid, years: float = 1.0, name: str = "forecast") -> Any:
    """The forecast as a seismic source of hazardlib, one Poisson rupture for each: what its calculators take.

    Ruptures of rate 0 are not in it; source.indices has the index in the forecast of each that is.
    """
    return _source_class()(forecast, place, years, name)


def _above(epsilon: Array, truncation: float | None) -> Array:
    """1 - F of a normal distribution cut at +- truncation."""
    if truncation is None:
        return np.asarray(ndtr(-epsilon))
    return np.asarray(np.clip((ndtr(-epsilon) - ndtr(-truncation)) / (1 - 2 * ndtr(-truncation)), 0, 1))


def is_installed() -> bool:
    """Whether there is a hazardlib; nothing is loaded."""
    try:
        return importlib.util.find_spec("openquake.hazardlib") is not None
    except ModuleNotFoundError:  # of openquake
        return False


@functools.cache
def _hazardlib() -> Any:
    """openquake.hazardlib with its parts loaded."""
    try:
        library = hazardlib.load(PARTS)
    except ImportError as error:
        raise UserError(f"ground-motion models need OpenQuake's hazardlib ({error}); allowed: {INSTALL}") from None
    return library


def _model(library: Any, name: str) -> Any:
    made = hazardlib.model_class(name)
    if made is None:
        raise UserError(f"ground-motion model '{name}'; allowed: {', '.join(MODELS)}, or another one of hazardlib's")
    try:
        try:
            return made()
        except KeyError:  # made of others by their names, which must be there
            return library.gsim.get_available_gsims()[name]()
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"ground-motion model '{name}' needs more than its name ({error}); allowed: {', '.join(MODELS)}"
        ) from None


def _parameters(library: Any, measures: Sequence[str], levels: Array) -> dict[str, Any]:
    for measure in measures:
        try:
            library.imt.from_string(measure)
        except (KeyError, ValueError, TypeError):
            raise UserError(f"measure '{measure}'; allowed: PGA, PGV, SA(period in s)") from None
    return {
        "imtls": {measure: list(levels) for measure in measures},
        "maximum_distance": {"default": [(1.0, FARTHEST_KM), (11.0, FARTHEST_KM)]},
    }


def _site_collection(library: Any, sites: Sequence[SiteConditions], needed: set[str]) -> Any:
    basins = [site.basin_m_km for site in sites]
    model = SimpleNamespace(
        vs30=np.array([site.vs30_m_s for site in sites]),
        vs30measured=np.array([site.vs30_measured for site in sites]),
        z1pt0=np.array([basin[0] for basin in basins]),
        z2pt5=np.array([basin[1] for basin in basins]),
    )
    unknown = needed - set(vars(model)) - {"lon", "lat"}
    if unknown:
        raise UserError(
            f"a ground-motion model that needs {', '.join(sorted(unknown))} of sites; allowed: {', '.join(vars(model))}"
        )
    lon, lat = [site.longitude_deg for site in sites], [site.latitude_deg for site in sites]
    try:
        return library.site.SiteCollection.from_points(lon, lat, sitemodel=model, req_site_params=set(vars(model)))
    except ValueError as error:
        raise UserError(f"sites: {error}; allowed: sites that lie apart") from None


def _openquake_surface(library: Any, surface: Surface, place: Grid) -> Any:
    nodes = nodes_of(surface)
    lon, lat = place.lon_lat(nodes[..., 0], nodes[..., 1])
    depth = np.maximum(nodes[..., 2], 0) / 1e3
    return library.geo.surface.simple_fault.SimpleFaultSurface(library.geo.mesh.RectangularMesh(lon, lat, depth))


@functools.cache
def _source_class() -> Any:
    """Made when hazardlib is there to be derived from."""
    library = _hazardlib()

    class RuptureList(library.source.base.BaseSeismicSource):  # type: ignore[misc, name-defined]
        code = b"X"
        MODIFICATIONS: frozenset[str] = frozenset()

        def __init__(self, forecast: Forecast, place: Grid, years: float, name: str) -> None:
            self.source_id = self.name = name
            self.tectonic_region_type = TECTONIC_REGION
            self.forecast, self.place = forecast, place
            self.temporal_occurrence_model = library.tom.PoissonTOM(checked_years(years))
            self.offset, self.id = 0, 0
            self.indices = np.flatnonzero(forecast.annual_rates > 0)
            self.surfaces: dict[int, Any] = {}

        def iter_ruptures(self, **_: Any) -> Iterator[Any]:
            return (self._rupture(self.forecast.ruptures[index]) for index in self.indices)

        def _rupture(self, one: Rupture) -> Any:
            if id(one.surface) not in self.surfaces:  # characteristic faults share one
                self.surfaces[id(one.surface)] = _openquake_surface(library, one.surface, self.place)
            surface = self.surfaces[id(one.surface)]
            return library.source.rupture.ParametricProbabilisticRupture(
                one.magnitude,
                _mean_rake(one.surface),
                TECTONIC_REGION,
                surface.get_middle_point(),
                surface,
                one.annual_rate,
                self.temporal_occurrence_model,
            )

        def count_ruptures(self) -> int:
            return len(self.indices)

        def get_min_max_mag(self) -> tuple[float, float]:
            return float(self.forecast.magnitudes.min()), float(self.forecast.magnitudes.max())

        def get_bounding_box(self, _: float) -> tuple[float, float, float, float]:
            return -180.0, -90.0, 180.0, 90.0

    return RuptureList


def _mean_rake(surface: Surface) -> float:
    """Of the sum of unit vectors, over the area; above -180, to 180 degrees, as hazardlib has it."""
    angle = np.radians(surface.rake)
    total = complex((surface.area * np.cos(angle)).sum(), (surface.area * np.sin(angle)).sum())
    rake = math.degrees(math.atan2(total.imag, total.real))
    return rake if rake > -180 else 180.0
