"""Modes of the reference Earth, computed once and kept in a cache on disk."""

from __future__ import annotations

import hashlib
import json
import pathlib
import warnings
import zipfile
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from mpi4py import MPI

import craton
from craton._craton import EarthModel, ModeCatalogue, SpheroidalCatalogue
from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.runs.files import replaced

if TYPE_CHECKING:
    from craton.tomography.config.load import Config
    from craton.tomography.config.stored import TheorySettings

Catalogue = TypeVar("Catalogue", ModeCatalogue, SpheroidalCatalogue)
DEFAULT_CACHE = pathlib.Path("~/.cache/craton")
DAMAGED = (OSError, EOFError, ValueError, KeyError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error, UserError)


def cache_folder(config: Config | TheorySettings) -> pathlib.Path:
    """Where mode catalogues are kept."""
    return pathlib.Path(config.modes.cache or DEFAULT_CACHE).expanduser()


def mode_options(config: Config | TheorySettings) -> dict[str, Any]:
    """What ModeCatalogue.solve depends on, beside the Earth."""
    return {
        "shortest_period_s": config.modes.shortest_period_s,
        "dispersion": config.earth.dispersion,
        "attenuation": config.earth.attenuation,
        "order": config.modes.order,
        "element_km": config.modes.element_km,
    }


def cache_file(earth: EarthModel, config: Config | TheorySettings) -> pathlib.Path:
    """One file per Earth, set of options and version of the program that solved for the modes."""
    key = json.dumps([earth.name, mode_options(config), craton.__version__], sort_keys=True)
    return cache_folder(config) / f"modes-{hashlib.sha256(key.encode()).hexdigest()[:16]}.npz"


def mode_catalogue(
    earth: EarthModel, config: Config | TheorySettings, note: Callable[[str], None] = warnings.warn
) -> ModeCatalogue:
    """The catalogue from the cache, or solved for and added to it. A damaged cache costs time, no more."""
    return _cached(ModeCatalogue, earth, mode_options(config), cache_file(earth, config), note)


def spheroidal_catalogue(
    earth: EarthModel,
    shortest_period_s: float,
    folder: pathlib.Path = DEFAULT_CACHE,
    note: Callable[[str], None] = warnings.warn,
    **options: Any,
) -> SpheroidalCatalogue:
    """The same for spheroidal modes; options are those of SpheroidalCatalogue.solve."""
    return _cached_in(folder, SpheroidalCatalogue, "spheroidal", earth, shortest_period_s, options, note)


def toroidal_catalogue(
    earth: EarthModel,
    shortest_period_s: float,
    folder: pathlib.Path = DEFAULT_CACHE,
    note: Callable[[str], None] = warnings.warn,
    **options: Any,
) -> ModeCatalogue:
    """The same for toroidal modes without a configuration; options are those of ModeCatalogue.solve."""
    return _cached_in(folder, ModeCatalogue, "toroidal", earth, shortest_period_s, options, note)


def _cached_in(
    folder: pathlib.Path,
    kind: type[Catalogue],
    name: str,
    earth: EarthModel,
    shortest_period_s: float,
    options: dict[str, Any],
    note: Callable[[str], None],
) -> Catalogue:
    options = {"shortest_period_s": shortest_period_s, **options}
    key = json.dumps([name, earth.name, options, craton.__version__], sort_keys=True)
    file = folder.expanduser() / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.npz"
    return _cached(kind, earth, options, file, note)


def _cached(
    kind: type[Catalogue],
    earth: EarthModel,
    options: dict[str, Any],
    file: pathlib.Path,
    note: Callable[[str], None],
) -> Catalogue:
    if file.exists():
        try:
            with np.load(file, allow_pickle=False) as stored:
                return kind.from_arrays(earth, {name: stored[name] for name in stored.files})
        except DAMAGED as problem:
            note(f"the mode cache {file} is damaged ({problem}); the modes are computed again")
    modes = kind.solve(earth, **options)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replaced(file) as aside, aside.open("wb") as stream:
            np.savez(stream, **modes.arrays())  # type: ignore[arg-type]
    except (OSError, UserError) as problem:
        note(f"the mode cache cannot be written: {problem}")
    return modes


def configured_spheroidal_catalogue(
    earth: EarthModel, config: Config | TheorySettings, note: Callable[[str], None] = warnings.warn
) -> SpheroidalCatalogue:
    """The spheroidal modes that a configuration's [earth] and [modes] name, from its cache."""
    options = {"dispersion": config.earth.dispersion, "attenuation": config.earth.attenuation}
    return spheroidal_catalogue(earth, config.modes.shortest_period_s, cache_folder(config), note, **options)


def shared_spheroidal_catalogue(
    earth: EarthModel, config: Config | TheorySettings, comm: MPI.Comm, note: Callable[[str], None] = warnings.warn
) -> SpheroidalCatalogue | None:
    """Collective: the same of spheroidal modes; None where the configuration asks for transverse motion alone."""
    if config.data.components == "T":
        return None
    return SpheroidalCatalogue.from_arrays(
        earth, on_root(comm, lambda: configured_spheroidal_catalogue(earth, config, note).arrays())
    )


def shared_mode_catalogue(
    earth: EarthModel, config: Config | TheorySettings, comm: MPI.Comm, note: Callable[[str], None] = warnings.warn
) -> ModeCatalogue:
    """Collective: rank 0's catalogue on every rank, so that all of them work with the same bits."""
    arrays = on_root(comm, lambda: mode_catalogue(earth, config, note).arrays())
    return ModeCatalogue.from_arrays(earth, arrays)
