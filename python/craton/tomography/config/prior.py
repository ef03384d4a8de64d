"""The table [prior], and what it may be short for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.settings import choice, integer, number, read_table, setting
from craton.tomography.config.matern_grid import check_resolution
from craton.tomography.config.values import SMALLEST, Profile, profile


@dataclass(frozen=True)
class PriorConfig:
    """What is believed before the data: how strong the Earth's structure is, and over what distance it is alike."""

    kind: str = setting(
        "gaussian", choice("gaussian", "matern"), '"gaussian", or "matern": the same in all directions, rougher'
    )
    correlation_km: Profile = setting(
        1000.0,
        profile("length", 1, 20000, "km"),
        "km; distance over which structure is alike: laterally (gaussian; or [depth_km, length] pairs), or in every direction "
        "(matern)",
    )
    correlation_depth_km: Profile = setting(
        400.0, profile("length", 1, 3000, "km"), "km; the same in depth (gaussian only; or [depth_km, length] pairs)"
    )
    strength: Profile = setting(
        0.03,
        profile("strength", SMALLEST, 1),
        "standard deviation of dlnVs (0.03 is 3%), or a list of [depth_km, strength] pairs",
    )
    xi_strength: Profile = setting(
        0.02, profile("strength", SMALLEST, 1), "the same of dlnxi, where [basis] xi is true (gaussian only)"
    )
    nugget: float = setting(
        1e-3, number(1e-12, 1), "uncorrelated part of the variance; keeps C_m invertible (gaussian only)"
    )
    cells: int = setting(
        0,
        integer(0, 10**4),
        "cells along each side of the grid (matern only): a multiple of 16; 0 takes what is needed",
    )

    @property
    def one_length_km(self) -> float:
        """The correlation length of a Matern prior, which is the same at all depths."""
        assert isinstance(self.correlation_km, float | int)
        return float(self.correlation_km)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a TOML file holds them."""
        return dataclasses.asdict(self)


def prior_from_dict(values: Mapping[str, Any], where: str) -> PriorConfig:
    """The inverse of PriorConfig.to_dict, checked."""
    prior = read_table(PriorConfig, "prior", values, where, Path.cwd())
    check_grid(prior, where)
    return prior


def with_whole_prior(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tables of a file, in which `prior = "matern"` is short for a table [prior] with nothing but its kind."""
    return {**raw, "prior": {"kind": raw["prior"]}} if isinstance(raw.get("prior"), str) else raw


def check_grid(prior: PriorConfig, where: str) -> None:
    """UserError where the grid of a Matern prior cannot resolve its correlation length."""
    if prior.kind != "matern":
        return
    if not isinstance(prior.correlation_km, float | int):
        raise UserError(
            f'{where}: [prior] correlation_km varies with depth and kind = "matern"; allowed: one number, or '
            'kind = "gaussian"'
        )
    try:
        check_resolution(prior.cells, prior.one_length_km)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
