"""What a configuration may say of a forecast: tables [forecast] and [variations], any number of [[fault]] and [[model]].

forecast_of(forecast, faults, models, place)     # a Forecast of all of them, faults first
variation_rules(variations)                      # a VariationRules
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.hazard.forecast.faults import (
    RIGIDITY_PA,
    Floating,
    SimpleFault,
    fault_ruptures,
    simple_fault,
    whole_surface_ruptures,
)
from craton.hazard.forecast.forecast import Forecast
from craton.hazard.forecast.magnitude_area import RELATIONS, relation
from craton.hazard.forecast.magnitude_frequency import (
    BOX,
    MagnitudeFrequency,
    characteristic,
    gutenberg_richter,
    moment_Nm,
    youngs_coppersmith,
)
from craton.hazard.forecast.nrml import read_nrml
from craton.hazard.forecast.rupture import Rupture
from craton.hazard.forecast.srf_ruptures import read_srf_rupture
from craton.hazard.forecast.tables import read_opensha_rupture, read_table
from craton.hazard.forecast.variations import RISE_TIMES, VariationRules
from craton.seismology.geometry.grid import Grid
from craton.seismology.wave_run.config_tables import listed
from craton.settings import REQUIRED, choice, finite, integer, number, setting, text

__all__ = ["FaultConfig", "ForecastConfig", "ModelConfig", "VariationsConfig", "forecast_of", "variation_rules"]

FREQUENCIES = ("characteristic", "gutenberg_richter", "youngs_coppersmith")
MODELS = ("nrml", "table", "opensha", "srf")
KM = 1e3


def _trace(value: Any) -> tuple[tuple[float, float], ...]:
    allowed = "a list of two points or more, [[a, b], [a, b], ...]"
    found: tuple[tuple[float, float], ...] = listed(listed(finite, allowed, (2,)), allowed)(value)
    if len(found) == 1:
        raise ValueError(allowed)
    return found


def _rigidity(value: Any) -> float:
    found = finite(value)
    if found != 0 and not 1e6 <= found <= 1e13:
        raise ValueError("a number in [1e+06, 1e+13] Pa, or 0")
    return found


@dataclass(frozen=True)
class ForecastConfig:
    """How ruptures are made."""

    years: float = setting(
        1.0, number(1e-6, 1e6, "years"), "years; time span of curves, and of the files' probabilities"
    )
    subfault_m: float = setting(1000.0, number(1, 1e6, "m"), "m; side of a subfault, about")
    step_m: float = setting(0.0, number(0, 1e6, "m"), "m; between positions of floating ruptures; 0: one subfault")
    bin_width: float = setting(0.1, number(1e-3, 5), "of magnitudes")


@dataclass(frozen=True)
class FaultConfig:
    """A fault; any number of tables [[fault]]."""

    name: str = setting(REQUIRED, text, "name")
    trace_lon_lat: tuple[tuple[float, float], ...] = setting(
        (), _trace, "degrees; [[lon, lat], ...] at z = 0, or trace_m"
    )
    trace_m: tuple[tuple[float, float], ...] = setting((), _trace, "m; [[x, y], ...]; the fault dips to its right")
    upper_depth_km: float = setting(0.0, number(0, 1e3, "km"), "km")
    lower_depth_km: float = setting(REQUIRED, number(0, 1e3, "km"), "km")
    dip_deg: float = setting(90.0, number(1e-3, 90, "degrees"), "degrees")
    rake_deg: float = setting(REQUIRED, number(-360, 360, "degrees"), "degrees; 0 and 180 strike-slip, 90 reverse")
    slip_rate_mm_yr: float = setting(0.0, number(0, 1e4, "mm a year"), "mm a year, or annual_rate")
    annual_rate: float = setting(0.0, number(0, 1e3, "per year"), "per year; of all ruptures of the fault together")
    frequency: str = setting("characteristic", choice(*FREQUENCIES), "characteristic (all of the fault breaks), or ...")
    magnitude: float = setting(0.0, number(0, 10.5), "the characteristic one; 0: that of the fault's area")
    sigma: float = setting(0.0, number(0, 1), "standard deviation of the characteristic magnitude")
    b_value: float = setting(1.0, number(0, 5), "of Gutenberg and Richter")
    smallest: float = setting(6.0, number(-2, 10.5), "magnitude")
    largest: float = setting(0.0, number(0, 10.5), "magnitude; 0: that of the fault's area")
    relation: str = setting("WC1994", choice(*RELATIONS), "between magnitude and area")
    aspect_ratio: float = setting(1.5, number(1e-2, 1e3), "length over width of floating ruptures")
    rigidity_Pa: float = setting(3.0e10, number(1e6, 1e13, "Pa"), "Pa; of the moment rate")


@dataclass(frozen=True)
class ModelConfig:
    """A file of ruptures; any number of tables [[model]]."""

    kind: str = setting(
        REQUIRED, choice(*MODELS), "nrml, table, opensha (one rupture) or srf (one rupture with its slip)"
    )
    file: str = setting(REQUIRED, text, "relative to this file's folder", path="input")
    source: str = setting("", text, "name of an opensha or srf rupture's source; \"\": the file's")
    annual_rate: float = setting(0.0, number(0, 1e3, "per year"), "per year; of an srf rupture")


@dataclass(frozen=True)
class VariationsConfig:
    """Hypocentres times random slips of each rupture."""

    slips: int = setting(1, integer(1, 10**6), "random slips of each hypocentre")
    strike_spacing_km: float = setting(20.0, number(1e-3, 1e5, "km"), "km; about between hypocentres along strike")
    dip_spacing_km: float = setting(20.0, number(1e-3, 1e5, "km"), "km; and down dip")
    seed: int = setting(0, integer(0, 2**63 - 1), "of random numbers")
    variability: float = setting(
        0.85, number(0, 3), "standard deviation of slip over its mean, before it is cut off at 0"
    )
    hurst: float = setting(0.75, number(1e-3, 2), "exponent of von Karman's spectrum")
    speed: float = setting(0.8, number(1e-3, 2), "of rupture, as a part of vs")
    vs_m_s: float = setting(3500.0, number(1, 1e5, "m/s"), "m/s; of the rock round the faults")
    rigidity_Pa: float = setting(0.0, _rigidity, "Pa; that turns moment into slip; 0: the ground's at each subfault")
    rise_times: str = setting("graves_pitarka_2010", choice(*RISE_TIMES), "mean rise time of a magnitude")


def variation_rules(config: VariationsConfig) -> VariationRules:
    """The rules, in metres. Where the ground's rigidity is wanted (0), variations() has to be given it."""
    same = ("slips", "seed", "variability", "hurst", "speed", "vs_m_s", "rise_times")
    return VariationRules(
        **{name: getattr(config, name) for name in same},
        strike_spacing_m=config.strike_spacing_km * KM,
        dip_spacing_m=config.dip_spacing_km * KM,
        rigidity_Pa=config.rigidity_Pa or RIGIDITY_PA,
    )


def forecast_of(
    config: ForecastConfig,
    faults: Sequence[FaultConfig],
    models: Sequence[ModelConfig],
    place: Grid | None,
    path: object = "",
) -> Forecast:
    """The ruptures of all faults, then of all files, in their order. path: of the configuration, for messages.

    UserError for what cannot be, for a name that two have, and for no rupture.
    """
    whole, in_file = Forecast(()), f"{path}: " if path else ""
    for at, fault in enumerate(faults, 1):
        where = f"{in_file}[[fault]] {at}"
        try:
            ruptures = _fault_ruptures(config, fault, place, where)
        except UserError as error:
            raise error if str(error).startswith(where) else UserError(f"{where}: {error}") from None
        whole = _added(whole, Forecast(tuple(ruptures)), where)
    numbers: dict[str, int] = {}
    for model in models:
        whole = _added(whole, _read(config, model, place, numbers), model.file)
    if not any(one.annual_rate > 0 for one in whole.ruptures):
        raise UserError(
            f"{in_file}a forecast without ruptures that happen; allowed: one [[fault]] or [[model]] at least, with a rate"
        )
    return whole


def _added(whole: Forecast, more: Forecast, what: str) -> Forecast:
    """Both, where no two ruptures have the same source and number: these tell ruptures apart in all that follows."""
    have = {(one.source, one.number) for one in whole.ruptures}
    for one in more.ruptures:
        if (one.source, one.number) in have:
            raise UserError(f"{what}: {one.name} again; allowed: other names of sources")
    return whole + more


def _fault_ruptures(config: ForecastConfig, fault: FaultConfig, place: Grid | None, where: str) -> list[Rupture]:
    if not fault.lower_depth_km > fault.upper_depth_km:
        raise UserError(
            f"{where} lower_depth_km = {fault.lower_depth_km:g}; allowed: above upper_depth_km = {fault.upper_depth_km:g} km"
        )
    made = simple_fault(
        fault.name,
        upper_depth_m=fault.upper_depth_km * KM,
        lower_depth_m=fault.lower_depth_km * KM,
        dip_deg=fault.dip_deg,
        rake_deg=fault.rake_deg,
        trace_m=fault.trace_m or None,
        trace_lon_lat=fault.trace_lon_lat or None,
        place=place,
    )
    frequency = _frequency(config, fault, made, where)
    if fault.frequency == "characteristic":
        return whole_surface_ruptures(fault.name, made.surface(config.subfault_m), frequency)
    floating = Floating(config.subfault_m, config.step_m, fault.aspect_ratio, fault.relation)
    return fault_ruptures(made, frequency, floating)


def _frequency(config: ForecastConfig, fault: FaultConfig, made: SimpleFault, where: str) -> MagnitudeFrequency:
    if (fault.slip_rate_mm_yr > 0) == (fault.annual_rate > 0):
        what = "both" if fault.annual_rate > 0 else "neither"
        raise UserError(f"{where}: {what} of slip_rate_mm_yr and annual_rate; allowed: one of them above 0")
    of_area = relation(fault.relation).magnitude(made.length_m * made.width_m / 1e6, fault.rake_deg)
    magnitude, largest = fault.magnitude or of_area, fault.largest or of_area
    _check_smallest(fault, magnitude, largest, where)
    rate = made.moment_rate_Nm(fault.slip_rate_mm_yr, fault.rigidity_Pa) or float(moment_Nm(magnitude))
    width = config.bin_width
    if fault.frequency == "characteristic":
        found = characteristic(magnitude, rate, sigma=fault.sigma, bin_width=width)
    elif fault.frequency == "gutenberg_richter":
        found = gutenberg_richter(fault.b_value, fault.smallest, largest, moment_rate_Nm=rate, bin_width=width)
    else:
        found = youngs_coppersmith(fault.b_value, fault.smallest, magnitude, rate, bin_width=width)
    if fault.annual_rate > 0:
        return MagnitudeFrequency(
            found.magnitudes, found.annual_rates * (fault.annual_rate / math.fsum(found.annual_rates))
        )
    return found


def _check_smallest(fault: FaultConfig, magnitude: float, largest: float, where: str) -> None:
    """UserError where the smallest magnitude of a range is not below its end."""
    key, end, box = "largest", largest, ""
    if fault.frequency == "youngs_coppersmith":
        key, end, box = "magnitude", magnitude - BOX / 2, f" - {BOX / 2:g}, where the box begins"
    if fault.frequency == "characteristic" or fault.smallest < end:
        return
    given = getattr(fault, key)
    of_area = "" if given else f", that of the fault's area, or another {key}"
    raise UserError(f"{where} smallest = {fault.smallest:g}; allowed: below {end:.3g} ({key}{box}{of_area})")


def _read(config: ForecastConfig, model: ModelConfig, place: Grid | None, numbers: dict[str, int]) -> Forecast:
    if model.kind == "table":
        return read_table(model.file, place, years=config.years, spacing_m=config.subfault_m)
    if place is None:
        raise UserError(
            f"{model.file}: is in degrees, and the model has no place on the Earth; allowed: a grid with an origin"
        )
    if model.kind == "nrml":
        floating = Floating(config.subfault_m, config.step_m)
        return read_nrml(model.file, place, floating=floating, bin_width=config.bin_width)
    source = model.source or Path(model.file).stem
    number = numbers.get(source, 0)
    numbers[source] = number + 1
    if model.kind == "opensha":
        return Forecast((read_opensha_rupture(model.file, place, source=source, number=number, years=config.years),))
    rupture, variation = read_srf_rupture(
        model.file, place, source=source, annual_rate=model.annual_rate, number=number
    )
    return Forecast((rupture,), (variation,))
