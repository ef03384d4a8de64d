"""Strain Green's tensors of a site: files of two or three wave runs, in each of which a force along one axis acts at the site.

A run of craton.waves with one [[source]] of mode force_x, force_y or force_z (Cui et al. 2013, eq. 1) and [sgt] points writes the
tensor strains of displacement e_ij(r, t). Attributes of the file tell of the force:

    force_N                     [Fx, Fy, Fz]; the force is this times g(t)
    force_position_m            the site
    force_pulse                 name of the time function g, whose largest value is 1
    force_pulse_integral_s      the integral of g: force times it is the impulse, in N s
    force_pulse_centre_s        the centre of g: when the impulse acts

The file has lambda_Pa and mu_Pa of the ground at each point, too. For displacement's response G to an impulse of 1 N s,
H_ijn = (d_j G_in + d_i G_jn) / 2, and e = F I (H * g / I), where g / I is a pulse of unit integral. So motion that follows from
these files has gone through the pulse: a low pass, without a delay once the centre is taken off. Choose a pulse shorter than the
periods of interest (a Gaussian is best) that the grid carries.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError
from craton.runs.files import replaced
from craton.runs.hdf5_files import opened_hdf5
from craton.runs.hdf5_writing import written_hdf5

__all__ = ["COMPONENTS", "GreenTensors", "Placing", "write_tensors"]

Array = NDArray[np.float64]
COMPONENTS = ("xx", "yy", "zz", "xy", "xz", "yz")
FORCE = ("force_N", "force_position_m", "force_pulse_integral_s", "force_pulse_centre_s")
FACTS = ("dt_s", "first_time_s", "h_m", *FORCE)
"""Attributes that a file must have."""
UNITS = {"s": " s", "m": " m", "deg": " degrees", "samples": ""}
"""By the end of a name."""
WRITTEN = "strain Green's tensors that craton waves run has written to their end"
KEPT_BYTES = 1 << 25
"""Of all tensors of a site, 32 MiB: if they have no more, they are read once and kept."""
READ_BYTES = 2**26
"""Read from a file at a time, at most (but a point at least)."""
NEIGHBOURS = 4
ALIKE = 1e-9
"""Of times and lengths in files of one site, relative."""
AT_A_POINT = 1e-3
"""A place nearer to a point than so many cells is that point."""


@dataclass(frozen=True)
class Placing:
    """Where places are among the points: up to four neighbours each, weights that add up to 1 (0: not used)."""

    point: NDArray[np.int64]
    """(n, neighbours)"""
    weight: Array

    def mean(self, values: Array) -> Array:
        """Means (n,) of the neighbours' values (points,), by the weights."""
        return np.asarray((self.weight * values[self.point]).sum(axis=1))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Facts:
    """What all files of a site have in common."""

    site_m: Array
    """(3,)"""
    position_m: Array
    """(points, 3)"""
    dt_s: float
    first_time_s: float
    """of the first sample, from the beginning of the run"""
    samples: int
    h_m: float
    """side of a cell"""
    azimuth_deg: float
    """of the x axis, clockwise from north"""
    pulse: str
    centre_s: float
    """of the pulse: time 0 of what it stands for"""


@dataclass(frozen=True, eq=False, kw_only=True)
class _File(_Facts):
    path: Path
    axis: int
    force_N: float
    impulse_s: float


@dataclass(frozen=True, eq=False, kw_only=True)
class GreenTensors(_Facts):
    """What the files of a site say, and their tensors when they are asked for. Not collective: any rank opens them by itself."""

    paths: tuple[Path, ...]
    """in the order of the directions"""
    directions: tuple[str, ...]
    """of the forces, and so of the ground motion: some of x, y, z, in this order"""
    lambda_Pa: Array
    """(points,)"""
    mu_Pa: Array
    impulse_Ns: tuple[float, ...]
    """of each direction"""

    @staticmethod
    def open(paths: Sequence[str | os.PathLike[str]], site: Sequence[float] | None = None) -> GreenTensors:
        """The tensors in one to three files, given in any order. site: where it should be, x, y, z in m.

        UserError for a file that is not there, not whole or not of a force, and for files of different sites, time steps, points
        or pulses.
        """
        if not 1 <= len(paths) <= 3:
            raise UserError(f"{len(paths)} SGT files; allowed: 1 to 3, one for each direction of the force")
        files = sorted((_read(Path(path)) for path in paths), key=lambda file: file.axis)
        first = files[0]
        for other in files[1:]:
            _check_alike(first, other)
        if site is not None:
            _check_site(first, np.asarray(site, float))
        lam, mu = _moduli(first.path, len(first.position_m))
        return GreenTensors(
            **{item.name: getattr(first, item.name) for item in fields(_Facts)},
            paths=tuple(file.path for file in files),
            directions=tuple("xyz"[file.axis] for file in files),
            lambda_Pa=lam,
            mu_Pa=mu,
            impulse_Ns=tuple(file.force_N * file.impulse_s for file in files),
        )

    @property
    def bytes_per_point(self) -> int:
        """Bytes in memory of a point: all directions, six components, all samples, float32."""
        return len(self.directions) * len(COMPONENTS) * self.samples * 4

    @property
    def duration_s(self) -> float:
        """Seconds after the impulse for which the tensors are known."""
        return self.first_time_s + (self.samples - 1) * self.dt_s - self.centre_s

    @cached_property
    def reach_m(self) -> float:
        """How far from the nearest point a place may be: sqrt(3) times the largest distance of a point from its nearest.

        It is the side of a cell at least.
        """
        if len(self.position_m) < 2:
            return self.h_m
        nearest, _ = self._tree.query(self.position_m, k=2)
        return max(self.h_m, float(np.sqrt(3) * nearest[:, 1].max()))

    def place(
        self, position_m: Array, where: str, *, interpolation: str = "inverse_distance", reach_m: float | None = None
    ) -> Placing:
        """Neighbours of places (n, 3), weighted by inverse distance, or the nearest alone (interpolation = "nearest").

        UserError, which begins with `where`, for the first place that is farther than reach_m from every point.
        """
        if interpolation not in ("inverse_distance", "nearest"):
            raise UserError(f"interpolation = '{interpolation}'; allowed: inverse_distance, nearest")
        reach = self.reach_m if reach_m is None else reach_m
        count = min(NEIGHBOURS if interpolation == "inverse_distance" else 1, len(self.position_m))
        distance, point = self._tree.query(position_m, k=range(1, count + 1))
        if (distance[:, 0] > reach).any():
            self._refuse(position_m, distance[:, 0], reach, where)
        near = distance[:, 0] <= AT_A_POINT * self.h_m
        weight = np.where(distance <= reach, 1 / np.maximum(distance, 1e-12), 0.0)
        weight[near, 0], weight[near, 1:] = 1.0, 0.0
        return Placing(point.astype(np.int64), weight / weight.sum(axis=1, keepdims=True))

    def rigidity_Pa(
        self, position_m: Array, where: str, *, interpolation: str = "inverse_distance", reach_m: float | None = None
    ) -> Array:
        """Rigidity (n,) of the ground at places, from the points that place() chooses: what slip there is multiplied with."""
        return self.place(position_m, where, interpolation=interpolation, reach_m=reach_m).mean(self.mu_Pa)

    def _refuse(self, position_m: Array, distance: Array, reach: float, where: str) -> None:
        at = int(np.argmax(distance > reach))
        x, y, z = position_m[at]
        low, high = self.position_m.min(axis=0), self.position_m.max(axis=0)
        ranges = ", ".join(f"{axis} in [{a:.6g}, {b:.6g}]" for axis, a, b in zip("xyz", low, high, strict=True))
        raise UserError(
            f"{where}: subfault {at} at (x, y, z) = ({x:.6g}, {y:.6g}, {z:.6g}) m is {distance[at]:.6g} m from the nearest of "
            f"{len(self.position_m)} points of {self.paths[0]}; allowed: within {reach:.6g} m ({ranges} m)"
        )

    def extract(self, points: NDArray[np.int64]) -> NDArray[np.float32]:
        """Tensors (points, directions, 6, samples) of points by their numbers, in the order given, each as often as it is.

        Neighbours in the file are read together; besides the result at most READ_BYTES are in memory. Small files are read once.
        """
        wanted, back = np.unique(np.asarray(points, np.int64), return_inverse=True)
        if len(wanted) and not 0 <= wanted[0] <= wanted[-1] < len(self.position_m):
            raise UserError(
                f"point {wanted[0] if wanted[0] < 0 else wanted[-1]}; allowed: 0 to {len(self.position_m) - 1}"
            )
        if len(self.position_m) * self.bytes_per_point <= KEPT_BYTES:
            for at, path in enumerate(self.paths):
                _check_finite(path, self._every[wanted, at], wanted)
            return np.asarray(self._every[points])
        found = self._read(wanted)
        return found if np.array_equal(back, np.arange(len(wanted))) else found[back]

    @cached_property
    def _every(self) -> NDArray[np.float32]:
        """The tensors of all points; what is not finite is told when it is wanted."""
        return self._read(np.arange(len(self.position_m)), check=False)

    def _read(self, wanted: NDArray[np.int64], check: bool = True) -> NDArray[np.float32]:
        """The tensors of some points, each once, in the file's order. UserError for what is not finite, if that is checked."""
        out = np.empty((len(wanted), len(self.directions), len(COMPONENTS), self.samples), np.float32)
        for at, path in enumerate(self.paths):
            with opened_hdf5(path, WRITTEN) as file:
                tensors = _dataset(path, file, "sgt")
                for first, last in _runs(wanted, tensors):
                    low = int(wanted[first])
                    rows = _values(path, tensors, low, int(wanted[last - 1]) + 1)
                    if check:
                        _check_finite(path, rows, np.arange(low, low + len(rows)))
                    out[first:last, at] = rows[wanted[first:last] - low]
        return out

    @cached_property
    def _tree(self) -> Any:
        return scipy.spatial.cKDTree(self.position_m)


def write_tensors(
    path: str | os.PathLike[str],
    tensors: NDArray[np.float32],
    position_m: Array,
    *,
    direction: str,
    site_m: Sequence[float],
    dt_s: float,
    first_time_s: float,
    h_m: float,
    lambda_Pa: ArrayLike,
    mu_Pa: ArrayLike,
    force_N: float = 1.0,
    pulse: str = "impulse",
    pulse_integral_s: float = 1.0,
    pulse_centre_s: float = 0.0,
    azimuth_deg: float = 0.0,
) -> Path:
    """Writes a file that open() reads, of tensors (points, 6, samples) that another program has computed.

    They are tensor strains after a force along direction x, y or z. Not collective.
    """
    path = Path(path)
    count = len(position_m)
    with replaced(path) as aside, written_hdf5(aside) as file:
        chunk = max(1, min(count, 2**20 // (4 * len(COMPONENTS) * tensors.shape[2])))
        made = file.create_dataset(
            "sgt", data=np.asarray(tensors, np.float32), chunks=(chunk, len(COMPONENTS), tensors.shape[2])
        )
        made.attrs.update(
            {
                "dt_s": dt_s,
                "first_time_s": first_time_s,
                "h_m": h_m,
                "unit": "1",
                "azimuth_deg": azimuth_deg,
                "force_N": [force_N * (axis == direction) for axis in "xyz"],
                "force_position_m": [float(p) for p in site_m],
                "force_pulse": pulse,
                "force_pulse_integral_s": pulse_integral_s,
                "force_pulse_centre_s": pulse_centre_s,
            }
        )
        file["coordinates"] = np.asarray(position_m, np.float64)
        file["samples_written"] = np.int64(tensors.shape[2])
        for name, values in (("lambda_Pa", lambda_Pa), ("mu_Pa", mu_Pa)):
            file[name] = np.broadcast_to(np.asarray(values, np.float64), (count,))
    return path


def _runs(wanted: NDArray[np.int64], tensors: Any) -> Iterator[tuple[int, int]]:
    """Ranges of the list whose points are read in one go: gaps within a chunk of the file cost nothing."""
    per_chunk = tensors.chunks[0] if tensors.chunks else 1
    most = max(1, READ_BYTES // (4 * tensors.shape[1] * tensors.shape[2]))
    first = 0
    for at in range(1, len(wanted) + 1):
        if at == len(wanted) or wanted[at] - wanted[at - 1] > per_chunk or wanted[at] - wanted[first] >= most:
            yield first, at
            first = at


def _read(path: Path) -> _File:
    with opened_hdf5(path, WRITTEN) as file:
        tensors = _dataset(path, file, "sgt")
        if tensors.ndim != 3 or tensors.shape[1] != len(COMPONENTS):
            raise UserError(f"{path}: sgt of shape {tensors.shape}; allowed: [point][xx yy zz xy xz yz][time]")
        facts = dict(tensors.attrs)
        for name in FACTS:
            if name not in facts:
                raise UserError(
                    f"{path}: no attribute {name} of sgt; allowed: what craton waves run writes of one force whose time function "
                    "comes back to 0 (gaussian, triangle, cosine, liu, brune, file)"
                )
        written = int(np.ravel(_dataset(path, file, "samples_written")[()])[0])
        if written != tensors.shape[2]:
            raise UserError(
                f"{path}: {written} of {tensors.shape[2]} samples; allowed: the file of a run that has ended"
            )
        position = np.asarray(_dataset(path, file, "coordinates"), np.float64)
        force = np.ravel(np.asarray(facts["force_N"], float))
        along = np.flatnonzero(force)
        if len(force) != 3 or len(along) != 1:
            raise UserError(f"{path}: force_N = {force.tolist()}; allowed: a force along one of the axes")
        impulse = float(facts["force_pulse_integral_s"])
        if not impulse > 0:
            raise UserError(
                f"{path}: force_pulse_integral_s = {impulse:g}; allowed: above 0 s, a pulse that stands for an impulse"
            )
        return _File(
            path=path,
            axis=int(along[0]),
            force_N=float(force[along[0]]),
            impulse_s=impulse,
            site_m=np.ravel(np.asarray(facts["force_position_m"], float)),
            position_m=position,
            samples=int(tensors.shape[2]),
            azimuth_deg=float(facts.get("azimuth_deg", 0.0)),
            pulse=np.asarray(facts.get("force_pulse", ""), np.str_).item(),  # of C++ a string of bytes
            centre_s=float(facts["force_pulse_centre_s"]),
            **{name: float(facts[name]) for name in ("dt_s", "first_time_s", "h_m")},
        )


def _check_alike(one: _File, other: _File) -> None:
    def wrong(what: str) -> UserError:
        return UserError(
            f"{other.path}: SGT file of another site or time step than {one.path}: {what}; allowed: files of one site, one list of "
            "points, one time step and one pulse, a direction of the force each"
        )

    if one.axis == other.axis:
        raise wrong(f"both of a force along {'xyz'[one.axis]}")
    if not np.allclose(one.site_m, other.site_m, rtol=0, atol=AT_A_POINT * one.h_m):
        raise wrong(f"site at {_triple(other.site_m)}, not {_triple(one.site_m)} m")
    for name in ("dt_s", "h_m", "samples", "first_time_s", "azimuth_deg", "impulse_s", "centre_s"):
        a, b = getattr(one, name), getattr(other, name)
        if abs(a - b) > ALIKE * max(abs(a), abs(b)):
            raise wrong(f"{name} = {b:.9g}, not {a:.9g}{UNITS[name.rpartition('_')[2]]}")
    if one.position_m.shape != other.position_m.shape:
        raise wrong(f"{len(other.position_m)} points, not {len(one.position_m)}")
    apart = np.abs(one.position_m - other.position_m).max(axis=1)
    if apart.max() > AT_A_POINT * one.h_m:
        at = int(np.argmax(apart))
        raise wrong(f"point {at} at {_triple(other.position_m[at])}, not {_triple(one.position_m[at])} m")


def _check_site(file: _File, site: Array) -> None:
    if site.shape != (3,) or not np.allclose(site, file.site_m, rtol=0, atol=0.5 * file.h_m):
        raise UserError(
            f"{file.path}: SGT file of another site or time step: its force acts at {_triple(file.site_m)} m; allowed: at "
            f"{_triple(site)} m, the site, within half a cell"
        )


def _moduli(path: Path, count: int) -> tuple[Array, Array]:
    with opened_hdf5(path, WRITTEN) as file:
        lam, mu = (np.asarray(_dataset(path, file, name), np.float64) for name in ("lambda_Pa", "mu_Pa"))
    if lam.shape != (count,) or mu.shape != (count,):
        raise UserError(f"{path}: {mu.shape} moduli for {count} points; allowed: one of each for each")
    return lam, mu


def _dataset(path: Path, file: h5py.File, name: str) -> Any:
    if name not in file:
        raise UserError(f"{path}: no dataset {name}; allowed: strain Green's tensors that craton waves run wrote")
    return file[name]


def _values(path: Path, tensors: Any, first: int, last: int) -> NDArray[np.float32]:
    try:
        values = np.asarray(tensors[first:last], np.float32)
    except OSError as problem:
        raise UserError(
            f"{path}: cannot be read to its end: {' '.join(str(problem).split())}; allowed: a whole file"
        ) from None
    return values


def _check_finite(path: Path, values: NDArray[np.float32], numbers: NDArray[np.int64]) -> None:
    bad = ~np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    if bad.any():
        raise UserError(f"{path}: point {numbers[np.argmax(bad)]} holds NaN; allowed: finite strains")


def _triple(place: Array) -> str:
    return "({:.6g}, {:.6g}, {:.6g})".format(*place)
