"""A prior in words: what its numbers mean, printed wherever a prior is chosen."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from craton.settings import toml_value
from craton.tomography.config.values import Profile
from craton.tomography.model.sphere import EARTH_RADIUS_KM

if TYPE_CHECKING:
    from craton._craton import ModelBasis
    from craton.tomography.config.prior import PriorConfig


def ranged(profile: Profile, unit: str, factor: float = 1.0) -> str:
    """ "1000 km", or "500 to 1500 km, by depth"."""
    if isinstance(profile, float | int):
        return f"{factor * profile:.4g}{unit}"
    values = [factor * value for _, value in profile]
    return f"{min(values):.4g} to {max(values):.4g}{unit}, by depth"


def explained(config: PriorConfig) -> str:
    """What the prior believes."""
    strength = ranged(config.strength, "%", 100.0)
    lateral = ranged(config.correlation_km, " km")
    if config.kind == "matern":
        shape = (
            f"alike over {lateral} in every direction: two places so far apart correlate by 0.37, twice as far by 0.14"
        )
    else:
        depth = ranged(config.correlation_depth_km, " km")
        shape = (
            f"alike over {lateral} laterally and {depth} in depth: two places so far apart correlate by 0.61, twice as far "
            "by 0.14"
        )
    return f"prior ({config.kind}): before the data, dlnVs is 0 give or take {strength} (one standard deviation), and {shape}."


def about_lengths(basis: ModelBasis) -> str:
    """What a correlation length does, in a sentence or two."""
    spacing_km = EARTH_RADIUS_KM * float(basis.spacing_rad)
    return (
        f"  A correlation length smooths nothing that the data determine. Where no path goes the model returns to 0 over about one "
        f"length; knots are {spacing_km:.0f} km apart, and a length below half of that leaves them uncorrelated."
    )


def changes(config: PriorConfig, base: PriorConfig) -> str:
    """What differs from another prior, as the command line takes it."""
    ours, theirs = dataclasses.asdict(config), dataclasses.asdict(base)
    changed = [f"{name}={plain(value)}" for name, value in ours.items() if value != theirs[name]]
    return ",".join(changed) or "as in the run"


def plain(value: object) -> str:
    if isinstance(value, float) and not isinstance(value, bool):
        return f"{value:g}"
    return value if isinstance(value, str) else toml_value(value)


def largest(profile: Profile) -> float:
    return float(profile) if isinstance(profile, float | int) else float(np.max([value for _, value in profile]))
