"""A prior in words: what its numbers mean, printed wherever a prior is chosen."""

from __future__ import annotations

from craton._craton import ModelBasis
from craton.settings import toml_value
from craton.tomography.config.prior import PriorConfig
from craton.tomography.config.values import Profile
from craton.tomography.model.sphere import EARTH_RADIUS_KM
from craton.tomography.model.splines import parts_of


def values_of(profile: Profile) -> list[float]:
    """The values of a profile: its number, or those of all pairs."""
    return [float(profile)] if isinstance(profile, float | int) else [value for _, value in profile]


def largest(profile: Profile) -> float:
    """The largest value at any depth."""
    return max(values_of(profile))


def ranged(profile: Profile, unit: str, factor: float = 1.0) -> str:
    """The words "1000 km", or "500 to 1500 km, by depth"."""
    values = [f"{factor * value:.4g}" for value in sorted(values_of(profile))]
    return values[0] + unit if isinstance(profile, float | int) else f"{values[0]} to {values[-1]}{unit}, by depth"


def explained(config: PriorConfig) -> str:
    """What the prior believes."""
    over, apart = f"{ranged(config.correlation_km, ' km')} in every direction", 0.37
    if config.kind == "gaussian":
        depth = ranged(config.correlation_depth_km, " km")
        over, apart = f"{ranged(config.correlation_km, ' km')} laterally and {depth} in depth", 0.61
    return (
        f"prior ({config.kind}): before the data, dlnVs is 0 give or take {ranged(config.strength, '%', 100.0)} (one standard "
        f"deviation), and alike over {over}: two places so far apart correlate by {apart}, twice as far by 0.14."
    )


def about_lengths(basis: ModelBasis) -> str:
    """What a correlation length does, in a sentence or two."""
    parts = parts_of(basis)[: 1 if basis.same_splines else None]
    apart = [f"{EARTH_RADIUS_KM * float(part.spacing_rad):.0f} km" for part in parts]
    spacing = apart[0] if len(apart) == 1 else f"{apart[0]} (dlnVs) and {apart[1]} (dlnxi)"
    return (
        f"  A correlation length smooths nothing that the data determine. Where no path goes the model returns to 0 over about one "
        f"length; knots are at least {spacing} apart, and a length below half of that leaves them uncorrelated."
    )


def changes(config: PriorConfig, base: PriorConfig) -> str:
    """What differs from another prior, as the command line takes it."""

    def plain(value: object) -> str:
        if isinstance(value, float):
            return f"{value:g}"
        return value if isinstance(value, str) else toml_value(value)

    ours, theirs = config.to_dict(), base.to_dict()
    changed = [f"{name}={plain(value)}" for name, value in ours.items() if value != theirs[name]]
    return ",".join(changed) or "as in the run"
