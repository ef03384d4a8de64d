"""An outside solver for Craton's hybrid inversion: python solver.py FOLDER [--theory nact|pava] [--threads N] ...

It takes from FOLDER what any solver is given (model.csv, sources/CMTSOLUTION_*, STATIONS, windows.csv) and leaves what any solver
leaves: seismograms/<event>/NET.STA.MXN.sem.ascii and ...MXE..., two columns, seconds after the centroid time and metres. In the
place of a spectral-element code, which takes a cluster, it sums Craton's own modes with their coupling across branches: a better
theory than the path averages of the inversion that asks for it. Nothing is filtered here but what the modes leave out.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from craton._craton import EarthModel, ForwardProblem, ModelBasis, PathSet
from craton.seismology.geometry.latitudes import geocentric_deg
from craton.tomography.model.target import project
from craton.tomography.theory.modes import toroidal_catalogue

STEP_S = 10.0
TAIL_S = 1200.0  # after the last window: whoever filters looks that far ahead
EARTH_RADIUS_KM = 6371.0


def read_model(file: Path, basis: ModelBasis) -> np.ndarray:
    """The grid of model.csv, least squares on splines of our own."""
    table = np.genfromtxt(file, delimiter=",", names=True)
    depth_km, latitude, longitude = (np.unique(table[name]) for name in ("depth_km", "latitude_deg", "longitude_deg"))
    percent = table["dvs_percent"].reshape(len(depth_km), -1).T  # places x depths
    places = np.meshgrid(latitude, longitude, indexing="ij")
    inside = np.abs(places[0].ravel()) < 90.0
    bottom_m, top_m = basis.radial_knots_m[0], basis.radial_knots_m[-1]
    radius_m = np.clip(1e3 * (EARTH_RADIUS_KM - depth_km), bottom_m, top_m)
    north, east = (place.ravel()[inside] for place in places)
    return project(basis, percent[inside] / 100.0, geocentric_deg(north), east, radius_m)


def read_source(file: Path) -> dict[str, float]:
    """Centroid, half duration and moments in N m of a CMTSOLUTION."""
    lines = file.read_text(encoding="utf-8").splitlines()[1:]
    found = dict(line.split(":") for line in lines if ":" in line)
    return {name: float(value) for name, value in found.items() if name != "event name"}


def read_stations(file: Path) -> dict[str, tuple[float, float]]:
    """Latitude and longitude of NET.STA."""
    rows = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    return {f"{network}.{station}": (float(north), float(east)) for station, network, north, east, *_ in rows}


def bearing(source: tuple[float, float], station: tuple[float, float]) -> tuple[float, float]:
    """North and east parts of the transverse direction at the station: to the right of whoever comes from the source."""
    (north, east), (to_north, to_east) = (
        (np.radians(geocentric_deg(at[0])), np.radians(at[1])) for at in (station, source)
    )
    across = np.sin(to_east - east) * np.cos(to_north)
    along = np.cos(north) * np.sin(to_north) - np.sin(north) * np.cos(to_north) * np.cos(to_east - east)
    back = np.arctan2(across, along)
    return float(np.sin(back)), float(-np.cos(back))


def main() -> None:
    """Every event, every station that somebody wants it at."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--theory", default="nact", choices=("nact", "pava"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--period", type=float, default=80.0, help="shortest of the modes, s")
    parser.add_argument("--elastic", action="store_true", help="without attenuation")
    parser.add_argument("--level", type=int, default=4, help="of the splines over the sphere")
    parser.add_argument("--radial", type=int, default=10, help="splines in depth")
    given = parser.parse_args()
    earth = EarthModel.by_name("prem_isotropic")
    modes = toroidal_catalogue(earth, given.period, attenuation=not given.elastic)
    basis = ModelBasis(given.level, np.linspace(earth.cmb_radius_m, earth.solid_surface_radius_m, given.radial))
    forward = ForwardProblem(modes, basis, (20000.0, 10000.0, 1.005 * given.period, given.period), given.theory)
    model = read_model(given.folder / "model.csv", basis)
    stations = read_stations(given.folder / "STATIONS")
    wanted: dict[str, dict[str, float]] = defaultdict(dict)
    with (given.folder / "windows.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            of_event = wanted[row["event"]]
            of_event[row["station"]] = max(of_event.get(row["station"], 0.0), float(row["last_s"]))
    for event, ends in wanted.items():
        source = read_source(given.folder / "sources" / f"CMTSOLUTION_{event}")
        names = list(ends)
        samples = round((max(ends.values()) + TAIL_S) / STEP_S)
        places = np.array([stations[name] for name in names])
        rows, zeros = np.arange(len(names)), np.zeros(len(names), np.int64)
        moments = 1e-7 * np.array([[source[name] for name in ("Mrr", "Mtt", "Mpp", "Mrt", "Mrp", "Mtp")]])
        paths = PathSet(
            forward, np.array([source["latitude"]]), np.array([source["longitude"]]), 1e3 * np.array([source["depth"]]),
            moments, np.array([source["half duration"]]), np.ascontiguousarray(places[:, 0]),
            np.ascontiguousarray(places[:, 1]), zeros, rows, np.zeros(len(names)), STEP_S, np.full(len(names), samples),
        )  # fmt: skip
        traces = np.asarray(forward.seismograms(paths, 0, len(names), model, given.threads)).reshape(
            len(names), samples
        )
        traces = traces - traces[:, :1]  # sums of cosines lack the static displacement, with which they begin at rest
        times = STEP_S * np.arange(samples)
        for name, place, trace in zip(names, places, traces, strict=True):
            north, east = bearing((source["latitude"], source["longitude"]), (float(place[0]), float(place[1])))
            for letter, part in (("N", north), ("E", east)):
                file = given.folder / "seismograms" / event / f"{name}.MX{letter}.sem.ascii"
                np.savetxt(file, np.column_stack([times, part * trace]), fmt="%.6g")
    (given.folder / "solver.txt").write_text(f"Craton's modes, {given.theory}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
