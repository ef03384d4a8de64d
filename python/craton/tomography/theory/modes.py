"""Modes of the reference Earth, computed once and kept in a cache on disk."""

from __future__ import annotations

import hashlib
import json
import math
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
    from craton.tomography.config.load import Config, TheorySettings

Catalogue = TypeVar("Catalogue", ModeCatalogue, SpheroidalCatalogue)
Note = Callable[[str], None]
DEFAULT_CACHE = pathlib.Path("~/.cache/craton")
DAMAGED = (OSError, EOFError, ValueError, KeyError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error, UserError)


def spheroidal_catalogue(
    earth: EarthModel,
    shortest_period_s: float,
    folder: pathlib.Path = DEFAULT_CACHE,
    note: Note = warnings.warn,
    **options: Any,
) -> SpheroidalCatalogue:
    """Spheroidal modes from the cache, or solved for and added to it. A damaged cache costs time, no more.

    options: those of SpheroidalCatalogue.solve. note: is told where the cache is damaged or cannot be written. Not collective.
    """
    return _cached(SpheroidalCatalogue, earth, folder, note, shortest_period_s=shortest_period_s, **options)


def toroidal_catalogue(
    earth: EarthModel,
    shortest_period_s: float,
    folder: pathlib.Path = DEFAULT_CACHE,
    note: Note = warnings.warn,
    **options: Any,
) -> ModeCatalogue:
    """The same for toroidal modes; options are those of ModeCatalogue.solve."""
    return _cached(ModeCatalogue, earth, folder, note, shortest_period_s=shortest_period_s, **options)


def cache_file(kind: type[Catalogue], earth: EarthModel, folder: pathlib.Path, options: dict[str, Any]) -> pathlib.Path:
    """One file per type of modes, Earth, set of options and version of the program that solved for the modes."""
    name = "spheroidal" if kind is SpheroidalCatalogue else "toroidal"
    key = json.dumps([name, earth.name, options, craton.__version__], sort_keys=True)
    return folder.expanduser() / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.npz"


def frequencies(
    kind: type[ModeCatalogue] | type[SpheroidalCatalogue],
    earth: EarthModel,
    folder: pathlib.Path,
    note: Note = warnings.warn,
    **options: Any,
) -> dict[tuple[int, int], float]:
    """Angular frequency, rad/s, by overtone number and degree: from the cache, which holds nothing else of them, or solved for.

    options: of the catalogue's solve. note: as above. Not collective.
    """
    whole = cache_file(kind, earth, folder, options)  # type: ignore[type-var]
    file = whole.with_name(f"frequencies-{whole.name}")
    if file.exists():
        try:
            stored = stored_arrays(file)
            return _by_name(stored["n"], stored["l"], stored["omega_rad_s"])
        except DAMAGED as problem:
            note(f"the mode cache {file} is damaged ({problem}); the modes are computed again")
    arrays = kind.solve(earth, **options).arrays()
    kept = {name: arrays[name] for name in ("n", "l", "omega_rad_s")}
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replaced(file) as aside, aside.open("wb") as stream:
            np.savez(stream, **kept)  # type: ignore[arg-type]
    except (OSError, UserError) as problem:
        note(f"the mode cache cannot be written: {problem}")
    return _by_name(*kept.values())


def stored_arrays(file: pathlib.Path) -> dict[str, Any]:
    """The arrays of a file that np.savez wrote. One of DAMAGED where it is not whole.

    Nothing is allocated for more than the file holds.
    """
    with zipfile.ZipFile(file) as archive:
        held = sum(member.file_size for member in archive.infolist())
    if held > file.stat().st_size:  # they lie in it as they are
        raise ValueError(f"its arrays are said to have {held} bytes, and it has {file.stat().st_size}")
    found = {}
    with np.load(file, allow_pickle=False) as stored:
        for name in stored.files:
            with stored.zip.open(f"{name}.npy") as member:
                version = np.lib.format.read_magic(member)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(member)
            if math.prod(shape) * dtype.itemsize > held:
                raise ValueError(
                    f"array {name!r} is said to have the shape {shape}, and the file has {held} bytes of arrays"
                )
            found[name] = stored[name]
    return found


def _by_name(n: Any, l: Any, omega_rad_s: Any) -> dict[tuple[int, int], float]:  # noqa: E741 (the field's name)
    return dict(zip(zip(n.tolist(), l.tolist(), strict=True), omega_rad_s.tolist(), strict=True))


def _cached(kind: type[Catalogue], earth: EarthModel, folder: pathlib.Path, note: Note, **options: Any) -> Catalogue:
    file = cache_file(kind, earth, folder, options)
    if file.exists():
        try:
            return kind.from_arrays(earth, stored_arrays(file))
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


# ------------------------------------------------------------------------------------------- as a configuration names them


def cache_folder(config: Config | TheorySettings) -> pathlib.Path:
    """Where mode catalogues are kept."""
    return pathlib.Path(config.modes.cache or DEFAULT_CACHE)


def mode_options(config: Config | TheorySettings) -> dict[str, Any]:
    """What ModeCatalogue.solve depends on, beside the Earth."""
    return {
        "shortest_period_s": config.modes.shortest_period_s,
        "dispersion": config.earth.dispersion,
        "attenuation": config.earth.attenuation,
        "order": config.modes.order,
        "element_km": config.modes.element_km,
    }


def mode_catalogue(earth: EarthModel, config: Config | TheorySettings, note: Note = warnings.warn) -> ModeCatalogue:
    """The toroidal modes that [earth] and [modes] of a configuration name."""
    return _cached(ModeCatalogue, earth, cache_folder(config), note, **mode_options(config))


def configured_spheroidal_catalogue(
    earth: EarthModel, config: Config | TheorySettings, note: Note = warnings.warn
) -> SpheroidalCatalogue:
    """The spheroidal modes that [earth] and [modes] of a configuration name."""
    options = {name: mode_options(config)[name] for name in ("shortest_period_s", "dispersion", "attenuation")}
    return _cached(SpheroidalCatalogue, earth, cache_folder(config), note, **options)


def shared_mode_catalogue(
    earth: EarthModel, config: Config | TheorySettings, comm: MPI.Comm, note: Note = warnings.warn
) -> ModeCatalogue:
    """Collective: rank 0's mode_catalogue on every rank, so that all of them work with the same bits."""
    arrays = on_root(comm, lambda: mode_catalogue(earth, config, note).arrays())
    return ModeCatalogue.from_arrays(earth, arrays)


def shared_spheroidal_catalogue(
    earth: EarthModel, config: Config | TheorySettings, comm: MPI.Comm, note: Note = warnings.warn
) -> SpheroidalCatalogue | None:
    """Collective: the same of spheroidal modes; None where the configuration asks for toroidal motion alone."""
    components = config.data.components
    if components == "T" and not config.theory.is_complete(components):
        return None
    arrays = on_root(comm, lambda: configured_spheroidal_catalogue(earth, config, note).arrays())
    return SpheroidalCatalogue.from_arrays(earth, arrays)
