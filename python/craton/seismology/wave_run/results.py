"""What a run has left in its folder, as arrays."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.described import Described
from craton.errors import UserError
from craton.runs.hdf5_files import opened_hdf5
from craton.seismology.files import present, readable
from craton.seismology.wave_run.folder import WavesFolder

WRITTEN = "what craton waves run has written to its end"


@dataclass(frozen=True, repr=False)
class Seismograms(Described):
    """velocity (station, 3, time), m/s, along the grid's x, y and z (down); the first sample at first_time_s."""

    names: list[str]
    position_m: NDArray[np.float64]
    longitude_latitude_deg: NDArray[np.float64] | None
    velocity: NDArray[np.float32]
    first_time_s: float
    dt_s: float
    azimuth_deg: float
    """of x, clockwise from north"""

    def _facts(self) -> dict[str, object]:
        samples = self.velocity.shape[-1]
        return {
            "stations": len(self.names),
            "samples": samples,
            "dt": f"{self.dt_s:g} s",
            "largest": f"{abs(self.velocity).max():.3g} m/s",
        }

    @property
    def time_s(self) -> NDArray[np.float64]:
        """(time), s."""
        return np.asarray(self.first_time_s + self.dt_s * np.arange(self.velocity.shape[-1]), np.float64)

    def components(self) -> dict[str, NDArray[np.float32]]:
        """Up, north and east where x is north; else up, and x and y as 1 and 2."""
        x, y, down = self.velocity[:, 0], self.velocity[:, 1], self.velocity[:, 2]
        return {"Z": -down, **({"N": x, "E": y} if self.azimuth_deg == 0 else {"1": x, "2": y})}


@dataclass(frozen=True, repr=False)
class Snapshots(Described):
    """Fields (time, z, y, x) of every stride-th cell."""

    fields: dict[str, NDArray[np.float32]]
    first_time_s: float
    dt_s: float
    h_m: float
    stride: tuple[int, int, int]

    def _facts(self) -> dict[str, object]:
        times, *extent = next(iter(self.fields.values())).shape
        return {
            "fields": ", ".join(self.fields),
            "times": times,
            "z, y, x": " x ".join(map(str, extent)),
            "cells of": f"{self.h_m:g} m",
        }

    @property
    def time_s(self) -> NDArray[np.float64]:
        """(time), s."""
        count = next(iter(self.fields.values())).shape[0]
        return np.asarray(self.first_time_s + self.dt_s * np.arange(count), np.float64)

    @property
    def extent_km(self) -> tuple[float, float, float, float]:
        """Y from, to, x from, to: of an image whose pixels are every stride-th cell."""
        _, _, ny, nx = next(iter(self.fields.values())).shape
        step = 1e-3 * self.h_m
        return 0.0, step * self.stride[1] * ny, 0.0, step * self.stride[0] * nx


def read_seismograms(folder: WavesFolder | str | os.PathLike[str]) -> Seismograms:
    """The seismograms of the run in a folder. UserError where they are not there, or not whole."""
    folder = folder if isinstance(folder, WavesFolder) else WavesFolder(folder)
    names, position, placed = _read_stations(folder.stations)
    with opened_hdf5(folder.seismograms, WRITTEN) as file:
        if "velocity" not in file:
            raise UserError(f"{folder.seismograms}: no dataset velocity; allowed: what craton waves run wrote")
        facts = dict(file["velocity"].attrs)
        velocity = np.asarray(file["velocity"], np.float32)
    if velocity.ndim != 3 or len(velocity) != len(names):
        raise UserError(
            f"{folder.seismograms}: {velocity.shape} for {len(names)} stations; allowed: a file of this run"
        )
    first_time_s, dt_s, azimuth_deg = facts["first_time_s"], facts["dt_s"], facts.get("azimuth_deg", 0.0)
    return Seismograms(names, position, placed, velocity, float(first_time_s), float(dt_s), float(azimuth_deg))


def read_snapshots(path: str | os.PathLike[str]) -> Snapshots:
    """The fields of a file: snapshots.h5 or surface.h5 of a run. UserError where they are not there, or not whole."""
    path = Path(path)
    with opened_hdf5(path, WRITTEN) as file:
        fields = {
            name: np.asarray(item, np.float32)
            for name, item in file.items()
            if isinstance(item, h5py.Dataset) and item.ndim == 4
        }
        if not fields:
            raise UserError(f"{path}: no fields (time, z, y, x); allowed: a file of snapshots")
        facts: dict[str, Any] = dict(file[next(iter(fields))].attrs)
    h_m = float(facts["h_m"])
    a, b, c = (round(float(by) / h_m) for by in facts["spacing_xyz_m"])
    return Snapshots(fields, float(facts["first_time_s"]), float(facts["dt_s"]), h_m, (a, b, c))


@dataclass(frozen=True, repr=False)
class Spectra(Described):
    """Fourier transforms at points of a lattice: values (point, component, frequency), F(f) = integral of exp(-2 pi i f t) dt."""

    position_m: NDArray[np.float64]
    """(point, 3)"""
    components: tuple[str, ...]
    """xx, yy, zz, xy, xz, yz of strain, in s; x, y, z of velocity, in m"""
    frequencies_hz: NDArray[np.float64]
    values: NDArray[np.complex64]
    moduli: NDArray[np.float64]
    """(3, point): lambda and mu, Pa, and density, kg/m^3"""
    counts: tuple[int, int, int]
    """of the lattice along x, y and z, the fastest"""
    attributes: dict[str, Any]
    """of the dataset: force_N, force_position_m and more, where one force made the waves"""

    def _facts(self) -> dict[str, object]:
        f = self.frequencies_hz
        return {
            "points": " x ".join(map(str, self.counts)),
            "components": " ".join(self.components),
            "frequencies": f"{len(f)}, {f[0]:.4g} to {f[-1]:.4g} Hz",
        }


def read_spectra(path: str | os.PathLike[str]) -> Spectra:
    """What a run with [spectra] has left: spectra-strain.h5 or spectra-velocity.h5.

    UserError where it is not there, or not whole.
    """
    path = Path(path)
    with opened_hdf5(path, WRITTEN) as file:
        if "spectra" not in file:
            raise UserError(f"{path}: no dataset spectra; allowed: what a run with [spectra] wrote")
        table = file["spectra"]
        facts = dict(table.attrs)
        rows = np.asarray(table, np.float32)
        if "exponents" in file:
            rows = np.ldexp(rows, np.asarray(file["exponents"]).astype(np.int32)[..., None])
        position = np.asarray(file["coordinates"], np.float64)
        moduli = np.stack([np.asarray(file[name], np.float64) for name in ("lambda_Pa", "mu_Pa", "rho_kg_m3")])
        a, b, c = (int(n) for n in facts["lattice"])
        values = np.ascontiguousarray(rows).view(np.complex64)
        named = facts["components"]
        components = tuple((named.decode() if isinstance(named, bytes) else str(named)).split())
        frequencies = np.asarray(facts["frequencies_hz"], np.float64)
    if values.shape != (a * b * c, len(components), len(frequencies)) or moduli.shape[1] != a * b * c:
        raise UserError(
            f"{path}: spectra of shape {rows.shape} for {a} x {b} x {c} points, {len(components)} components and "
            f"{len(frequencies)} frequencies; allowed: a file of {WRITTEN}"
        )
    return Spectra(position, components, frequencies, values, moduli, (a, b, c), facts)


def _read_stations(path: Path) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64] | None]:
    present(path, "the folder of a run with stations")
    with readable(path, "what craton waves run wrote", "not a table of stations: "):
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        names = [row["name"] for row in rows]
        position = np.array([[float(row[c]) for c in ("x_m", "y_m", "z_m")] for row in rows])
        placed = None
        if rows and "longitude_deg" in rows[0]:
            placed = np.array([[float(row[c]) for c in ("longitude_deg", "latitude_deg")] for row in rows])
    return names, position, placed
