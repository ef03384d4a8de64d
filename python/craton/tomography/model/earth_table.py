"""The reference Earth that a configuration names: PREM in one of its forms, or a table from a file.

    NAME.nd      depth (km), Vp, Vs (km/s), density (g/cm^3), and Q_p, Q_s where the file has them; lines with a name (mantle,
                 outer-core, inner-core) between two rows of one depth (TauP's named discontinuities)
    NAME.tvel    two lines of text, then depth, Vp, Vs, density (TauP)
    any other    a deck of mineos: a title, "ifanis tref ifdeck", "rows inner-core outer-core", then radius (m), density (kg/m^3),
                 Vpv, Vsv (m/s), Q_kappa, Q_mu, Vph, Vsh (m/s), eta

Speeds hold at 1 s. Where a file has no Q, PREM's at that radius stands for it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton._craton import EarthModel
from craton.errors import UserError

if TYPE_CHECKING:
    from craton.tomography.config.tables import EarthConfig

f64 = NDArray[np.float64]

COLUMNS = 9
"""Of EarthModel.from_table."""
Q_KAPPA = 57823.0
"""PREM's, of mantle and outer core."""
LARGEST = 1e5
"""Of speeds, m/s, and densities, kg/m^3."""
MOST_BYTES = 16 << 20
"""A table of a spherical Earth has some hundred lines."""


def reference_earth(settings: EarthConfig | dict[str, Any]) -> EarthModel:
    """The Earth of [earth]. settings: the table, or what a record has of it. UserError for a file that is not right."""
    if not isinstance(settings, dict):
        settings = {"model": settings.model, "file": settings.file}
    if settings.get("file"):
        return read_earth(Path(settings["file"]))
    return EarthModel.by_name(str(settings["model"]))


def earth_by_name_or_file(name: str) -> EarthModel:
    """PREM's forms by name, a table by its file."""
    if Path(name).is_file():
        return read_earth(Path(name))
    try:
        return EarthModel.by_name(name)
    except UserError as problem:
        raise UserError(f"{problem}, or the file of a table (.nd, .tvel, a deck of mineos)") from None


def read_earth(file: Path) -> EarthModel:
    """An Earth from a table; its name has the file's and a digest of what is in it. UserError names file, line and value."""
    try:
        if file.stat().st_size > MOST_BYTES:
            raise UserError(f"{file}: {file.stat().st_size} bytes; allowed: a table of at most {MOST_BYTES}")
        content = file.read_bytes()
        text = content.decode("utf-8")
    except OSError as problem:
        raise UserError(
            f"{file}: {problem.strerror}; allowed: a table of the Earth (.nd, .tvel, a deck of mineos)"
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"{file}: not text; allowed: a table of the Earth (.nd, .tvel, a deck of mineos)") from None
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1)]
    suffix = file.suffix.lower()
    with np.errstate(all="ignore"):  # what comes of numbers that are too large is refused below, without a warning
        rows, at = of_depth(file, lines, suffix == ".tvel") if suffix in (".nd", ".tvel") else of_deck(file, lines)
    check_sizes(file, rows, at)
    name = f"{file.name}:{hashlib.sha256(content).hexdigest()[:12]}"
    try:
        return EarthModel.from_table(name, np.ascontiguousarray(rows))
    except UserError as problem:
        raise UserError(f"{file}: {problem}") from None


def check_sizes(file: Path, rows: f64, at: list[int]) -> None:
    """UserError for speeds, densities and Q that no planet has, as in another unit, or that are no numbers any more.

    at: the line of the file that each row comes from.
    """
    for what, column, unit in (
        ("density", 1, " kg/m^3"),
        ("Vp", 2, " m/s"),
        ("Vs", 3, " m/s"),
        ("Q of shear", 5, ""),
        ("Vph", 6, " m/s"),
        ("Vsh", 7, " m/s"),
    ):
        values = rows[:, column]
        is_q = column == 5
        right = (values == 0.0) | (values >= 1.0) if is_q else (values >= 0.0) & (values <= LARGEST)
        if right.all():
            continue
        row = int(np.argmin(right))
        allowed = "0, or 1 and more" if is_q else f"0 to {LARGEST:g}. Is it in another unit?"
        raise UserError(f"{file}: line {at[row]}: {what} = {values[row]:g}{unit}; allowed: {allowed}")


Lines = list[tuple[int, list[str]]]


def numbers(file: Path, number: int, words: list[str], wanted: tuple[int, ...]) -> list[float]:
    """The numbers of a line. UserError for another count, or for what is none."""
    try:
        found = [float(word) for word in words]
    except ValueError:
        found = [np.nan]
    if len(found) in wanted and np.isfinite(found).all():
        return found
    columns = " or ".join(str(count) for count in wanted)
    raise UserError(f"{file}: line {number}: '{' '.join(words)[:60]}'; allowed: {columns} numbers")


def of_depth(file: Path, lines: Lines, is_tvel: bool) -> tuple[f64, list[int]]:
    """Rows of .nd or .tvel, from the centre up, and the line of each."""
    found: list[list[float]] = []
    at: list[int] = []
    for number, words in lines[2 if is_tvel else 0 :]:
        if not words or (not is_tvel and len(words) == 1 and words[0].replace("-", "").isalpha()):
            continue
        found.append([*numbers(file, number, words, (4, 5, 6) if is_tvel else (4, 6)), 0.0, 0.0][:6])
        at.append(number)
    if len(found) < 2:
        raise UserError(f"{file}: {len(found)} rows; allowed: at least two, down to the centre")
    depth_km, vp, vs, density, q_p, q_s = np.array(found[::-1]).T
    radius_m = 1e3 * (depth_km[0] - depth_km)
    q_mu = np.where((q_s > 0.0) & (vs > 0.0), q_s, 0.0) if q_s.any() else prem_q(radius_m, vs)
    q_kappa = np.full(len(q_mu), Q_KAPPA)
    if q_p.any():  # 1 / Q_p = (1 - f) / Q_kappa + f / Q_mu, f = 4/3 Vs^2 / Vp^2
        share = 4.0 / 3.0 * vs**2 / vp**2
        of_shear = np.divide(share, q_mu, out=np.zeros_like(q_mu), where=q_mu > 0.0)
        left = np.divide(1.0, q_p, out=np.zeros_like(q_p), where=q_p > 0.0) - of_shear
        q_kappa = np.divide(1.0 - share, left, out=np.zeros_like(left), where=left > 1e-3 * of_shear)
    km, ones = 1e3, np.ones(len(vp))
    rows = np.column_stack([radius_m, km * density, km * vp, km * vs, q_kappa, q_mu, km * vp, km * vs, ones])
    return rows, at[::-1]


def prem_q(radius_m: f64, vs: f64) -> f64:
    """Q_mu of PREM without crust and ocean; 0 where the Earth is fluid."""
    prem = EarthModel.prem_iso_light()
    scaled = np.minimum(radius_m, prem.surface_radius_m)
    q = np.array([prem.evaluate(radius, below=True)[3] for radius in scaled.tolist()])
    core = prem.cmb_radius_m
    mantle_bottom = prem.evaluate(core)[3]
    q = np.where(np.isfinite(q), q, np.where(radius_m >= core, mantle_bottom, prem.evaluate(0.0)[3]))
    return np.where(vs > 0.0, q, 0.0)


def of_deck(file: Path, lines: Lines) -> tuple[f64, list[int]]:
    """Rows of a deck of mineos, and the line of each."""
    lines = [(number, words) for number, words in lines if words]
    if len(lines) < 5:
        raise UserError(f"{file}: {len(lines)} lines; allowed: a table of the Earth (.nd, .tvel, a deck of mineos)")
    _, reference_s, is_deck = numbers(file, *lines[1], (3,))
    if is_deck != 1:
        raise UserError(f"{file}: line {lines[1][0]}: ifdeck = {is_deck:g}; allowed: 1, rows of radii")
    if reference_s > 0.0 and reference_s != 1.0:
        raise UserError(f"{file}: line {lines[1][0]}: speeds of a period of {reference_s:g} s; allowed: 1 s")
    count = int(numbers(file, *lines[2], (3, 4))[0])
    if count != len(lines) - 3:
        raise UserError(f"{file}: line {lines[2][0]}: {count} rows are told, {len(lines) - 3} follow; allowed: as many")
    rows = np.array([numbers(file, number, words, (COLUMNS,)) for number, words in lines[3:]])
    return rows, [number for number, _ in lines[3:]]
