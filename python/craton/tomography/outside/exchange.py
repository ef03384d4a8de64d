"""The folder in which a model goes out to a solver, and its seismograms come back.

    synthetics/3/                      the third model whose seismograms were wanted
        model.nc  model.csv            dlnVs in percent and Vs on a grid: NetCDF as the Earth Model Collaboration has it, a table
        model.dat                      dlnVs as spherical harmonics up to degree 40: S40RTS.dat of SPECFEM3D_GLOBE
        sources/CMTSOLUTION_<event>    one for each earthquake
        STATIONS                       as SPECFEM3D_GLOBE reads it
        windows.csv                    which component is wanted where, until when
        seismograms/<event>/           what the solver leaves: NET.STA.CHANNEL.sem.ascii, SAC, MiniSEED, ...; displacement in metres
        solver.txt                     optional: how the solver names itself, kept in g.h5 and the run's record
        solver.log                     what a command has printed
        solver/<event>.log             the same through an engine; all.log of a command for all
        engine/                        what an engine keeps
        done/                          for which earthquakes a command has ended well
        coefficients.h5                the model on its splines, by which a resumed run knows the folder
        g.h5                           the windows, once they have been read

coefficients.h5 is written last: where it is, everything for the solver is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.files import read_hdf5, remove_half_written, replaced, write_hdf5, write_text
from craton.tomography.data.catalogue import Events, Stations
from craton.tomography.data.paths import PathTable
from craton.tomography.model.export import export, write_csv
from craton.tomography.model.fields import Fields
from craton.tomography.model.harmonics_export import export_harmonics
from craton.tomography.waveforms.synthetics import ON_THE_GRID

if TYPE_CHECKING:
    from craton._craton import ModelBasis

f64 = NDArray[np.float64]

DYN_CM_PER_N_M = 1e7


@dataclass(frozen=True)
class ExchangeFolder:
    """One model's folder. Not collective."""

    path: Path

    @property
    def seismograms(self) -> Path:
        """Where the solver leaves a folder for each event."""
        return self.path / "seismograms"

    def done(self, event: str) -> Path:
        """A mark that the command of an event, or the one of all, has ended well."""
        return self.path / "done" / event

    @property
    def ready(self) -> bool:
        """Whether everything is there that a solver needs."""
        return (self.path / "coefficients.h5").is_file()

    @property
    def read(self) -> bool:
        """Whether the seismograms have been read."""
        return (self.path / "g.h5").is_file()

    def write(self, model: f64, fields: Fields, table: PathTable, grid: tuple[float, float]) -> None:
        """Everything for the solver. grid: steps in degrees and km. UserError where the disk is full.

        model: all unknowns, by which a resumed run knows the folder. table: with its corrections.
        """
        for folder in (self.path, self.path / "sources", self.path / "done", self.seismograms):
            folder.mkdir(parents=True, exist_ok=True)
        remove_half_written([self.path, self.path / "sources"])
        for name in ("model.nc", "model.csv"):
            export(fields, self.path / name, *grid)
        export_harmonics(fields, self.path / "model.dat")
        for event in table.event_rows:
            name = table.events.name[event]
            write_text(self.path / "sources" / f"CMTSOLUTION_{name}", cmtsolution(table.events, int(event)))
            (self.seismograms / name).mkdir(exist_ok=True)
        write_text(self.path / "STATIONS", stations_text(table.stations, table.station_rows))
        write_windows(self.path / "windows.csv", table)
        with replaced(self.path / "coefficients.h5") as aside:
            write_hdf5(aside, {"model": model})

    def holds(self, model: f64) -> bool:
        """Whether this is the folder of a model."""
        return self.ready and np.array_equal(read_hdf5(self.path / "coefficients.h5")["model"], model)

    def solver(self) -> str:
        """How the solver names itself; "" where it does not."""
        file = self.path / "solver.txt"
        return " ".join(file.read_text(encoding="utf-8", errors="replace").split())[:200] if file.is_file() else ""

    def save(self, g: f64) -> None:
        """Keeps the windows."""
        remove_half_written([self.path])
        with replaced(self.path / "g.h5") as aside:
            write_hdf5(aside, {"g": g, "units": "m, all windows one after the other", "solver": self.solver()})

    def solver_of_g(self) -> str:
        """The name that is kept with the windows; "" where there is none, or no windows yet."""
        return str(read_hdf5(self.path / "g.h5", leave_out=("g",)).get("solver", "")) if self.read else ""

    def load(self) -> f64:
        """The windows."""
        return np.ascontiguousarray(read_hdf5(self.path / "g.h5")["g"])


STEPS_DEG = (15.0, 10.0, 9.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.75, 0.5)
"""They divide 180."""
LARGEST_DEPTH_STEP_KM, SMALLEST_DEPTH_STEP_KM = 100.0, 5.0


def usual_grid(*bases: ModelBasis) -> tuple[float, float]:
    """Degrees and km between points, half of what lies between the knots of the finest splines."""
    between_deg = min(float(np.degrees(np.sqrt(4.0 * np.pi / basis.n_lateral))) for basis in bases)
    between_km = min(float(np.min(np.diff(np.asarray(basis.radial_knots_m)))) for basis in bases) / 1e3
    step_deg = next((step for step in STEPS_DEG if step <= 0.5 * between_deg), STEPS_DEG[-1])
    return step_deg, min(LARGEST_DEPTH_STEP_KM, max(SMALLEST_DEPTH_STEP_KM, 0.5 * between_km))


def check_names(table: PathTable) -> None:
    """UserError for names that make no file, or no line of STATIONS."""
    used = {
        "event": [table.events.name[event] for event in table.event_rows],
        "station": [table.stations.name[station] for station in table.station_rows],
    }
    for kind, names in used.items():
        for name in names:
            if not name or any(letter.isspace() or letter == "/" for letter in name) or name.startswith("."):
                raise UserError(
                    f"{kind} {name!r}: its seismograms are files of that name; allowed: names without spaces and '/' that do not "
                    "begin with a point"
                )
            if kind == "station" and name.count(".") != 1:
                raise UserError(f"station {name!r}: has no network, which STATIONS wants; allowed: NETWORK.STATION")


def check_times(table: PathTable) -> None:
    """UserError for windows between the samples at multiples of the interval, at which seismograms from outside are taken."""
    off = np.abs(table.t_first_s / table.sample_interval_s - np.round(table.t_first_s / table.sample_interval_s))
    if np.any(off > ON_THE_GRID):
        path = int(np.argmax(off))
        raise UserError(
            f"{table.describe(path)}: its window begins at {table.t_first_s[path]:g} s; allowed, with seismograms from outside: "
            f"multiples of [data] sample_interval_s = {table.sample_interval_s:g} s"
        )


def cmtsolution(events: Events, event: int) -> str:
    """An earthquake as the Global CMT project writes it: the centroid, moments in dyn cm; the time shift is 0."""
    moment = datetime.fromisoformat(events.origin_time[event].replace("Z", ""))
    name, latitude, longitude = events.name[event], events.latitude_deg[event], events.longitude_deg[event]
    seconds = moment.second + 1e-6 * moment.microsecond
    head = (
        f" PDE {moment.year:4d} {moment.month:2d} {moment.day:2d} {moment.hour:2d} {moment.minute:2d} {seconds:9.6f} "
        f"{latitude:9.4f} {longitude:9.4f} {events.depth_km[event]:6.2f} 0.0 0.0 {events.region[event] or name}"
    )
    rows = {
        "event name": name,
        "time shift": f"{0.0:.4f}",
        "half duration": f"{events.half_duration_s[event]:.4f}",
        "latitude": f"{latitude:.6f}",
        "longitude": f"{longitude:.6f}",
        "depth": f"{events.depth_km[event]:.6f}",
    }
    moments = DYN_CM_PER_N_M * events.moment_tensor_Nm[event]
    rows |= {
        name: f"{value:.9e}" for name, value in zip(("Mrr", "Mtt", "Mpp", "Mrt", "Mrp", "Mtp"), moments, strict=True)
    }
    width = max(map(len, rows)) + 1
    return "\n".join([head, *(f"{name + ':':<{width}} {value}" for name, value in rows.items())]) + "\n"


def stations_text(stations: Stations, rows: Sequence[int] | NDArray[np.int64]) -> str:
    """Station, network, latitude and longitude in degrees (geographic), elevation and burial in metres."""
    lines = []
    for row in rows:
        network, _, station = stations.name[row].partition(".")
        lines.append(
            f"{station} {network} {stations.latitude_deg[row]:.6f} "
            f"{stations.longitude_deg[row]:.6f} {stations.elevation_m[row]:.1f} 0.0"
        )
    return "\n".join(lines) + "\n"


def write_windows(file: Path, table: PathTable) -> None:
    """One line for each window: seconds after the centroid time."""
    last_s = table.t_first_s + (table.samples - 1) * table.sample_interval_s
    columns = [
        [table.events.name[event] for event in table.event], [table.stations.name[station] for station in table.station],
        list(table.component), table.t_first_s, last_s,
    ]  # fmt: skip
    write_csv(file, ("event", "station", "component", "first_s", "last_s"), columns)


def last_window_s(table: PathTable) -> float:
    """The end of the last window, s after the centroid time."""
    return float(np.max(table.t_first_s + (table.samples - 1) * table.sample_interval_s))
