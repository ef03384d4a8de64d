"""`craton tomography export`: a model for other programs: NetCDF as the IRIS Earth Model Collaboration has it, VTK, CSV.

All are values on a grid of longitude, latitude and depth. Latitudes are geographic, depths below 6371 km. NetCDF: variables
over (depth, latitude, longitude), each with its units, and the global attributes by which that repository's tools find their
way (geospatial_lat_min ...). VTK: the same grid as a spherical shell in kilometres from the Earth's centre, x to 0 N 0 E, z to
the north pole.
"""

from __future__ import annotations

import csv
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import craton
from craton.errors import UserError
from craton.runs.files import check_room, replaced
from craton.seismology.geometry.latitudes import geocentric_deg
from craton.tomography.model.fields import Fields, quantity_of
from craton.tomography.model.sphere import EARTH_RADIUS_KM, unit_vectors
from craton.tomography.model.splines import described, together
from craton.tomography.model.vtk_files import write_structured_grid, write_unstructured_grid

__all__ = ["MOST_POINTS", "ModelGrid", "export", "sample", "write_csv"]

f64 = NDArray[np.float64]

FILL = np.float32(99999.0)
"""The repository's mark of a missing value; there is none in a model of the whole mantle."""
MOST_POINTS = 50_000_000
ENDINGS = (".nc", ".vts", ".vtu", ".csv")


@dataclass(frozen=True)
class ModelGrid:
    """Values over (depth, latitude, longitude), float32."""

    depth_km: f64
    latitude_deg: f64
    longitude_deg: f64
    values: dict[str, NDArray[np.float32]]
    attributes: dict[str, dict[str, str]]
    """Of each variable: units, long_name, display_name."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of depths, latitudes and longitudes."""
        return len(self.depth_km), len(self.latitude_deg), len(self.longitude_deg)

    def facts(self) -> dict[str, Any]:
        """Axes, and the range of each variable, as JSON takes them."""
        ranges = {
            name: {
                "units": self.attributes[name]["units"],
                "least": float(values.min()),
                "greatest": float(values.max()),
            }
            for name, values in self.values.items()
        }
        axes = ("depth_km", "latitude_deg", "longitude_deg")
        return {**{name: list(getattr(self, name).tolist()) for name in axes}, "variables": ranges}


def export(
    fields: Fields,
    path: Path,
    step_deg: float = 2.0,
    depth_step_km: float = 50.0,
    parameters: str = "",
    command: str = "",
) -> ModelGrid:
    """Writes .nc, .vts, .vtu or .csv. UserError for another ending, steps that make no grid, a file that cannot be written."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise UserError(f"--output {path}: ends in '{path.suffix}'; allowed: {', '.join(ENDINGS)}, .sph, .dat")
    grid = sample(fields, step_deg, depth_step_km, parameters)
    check_room(path.absolute(), 4 * int(np.prod(grid.shape)) * len(grid.values))
    if ending == ".nc":
        write_netcdf(path, grid, fields, command)
    elif ending == ".csv":
        parts = np.meshgrid(grid.depth_km, grid.latitude_deg, grid.longitude_deg, indexing="ij")
        header = ("depth_km", "latitude_deg", "longitude_deg", *(column_name(name, grid) for name in grid.values))
        columns = [part.ravel() for part in (*parts, *(values.astype(float) for values in grid.values.values()))]
        write_csv(path, header, columns)
    else:
        write_shell(path, grid)
    return grid


def column_name(name: str, grid: ModelGrid) -> str:
    """A variable's name with its unit."""
    return name + {"percent": "_percent", "km.s-1": "_km_s"}[grid.attributes[name]["units"]]


def sample(fields: Fields, step_deg: float, depth_step_km: float, parameters: str = "") -> ModelGrid:
    """Every parameter as a relative change in percent, and speeds in km/s where the reference Earth has them.

    Longitudes from -180 to 180 and latitudes from -90 to 90, ends included; depths from the solid surface to the core.
    """
    whole = 180.0 / step_deg if 0.05 <= step_deg <= 30.0 else 0.5
    if abs(whole - round(whole)) > 1e-9:
        raise UserError(f"--step {step_deg:g}; allowed: degrees from 0.05 to 30 that divide 180")
    top, bottom = fields.depth_range_km
    if not 1.0 <= depth_step_km <= 0.5 * (bottom - top):
        raise UserError(f"--depth-step {depth_step_km:g}; allowed: 1 to {0.5 * (bottom - top):g} km")
    latitude = np.linspace(-90.0, 90.0, round(whole) + 1)
    longitude = np.linspace(-180.0, 180.0, 2 * round(whole) + 1)
    inner = np.arange(np.floor(top / depth_step_km + 1) * depth_step_km, bottom, depth_step_km)
    depth = np.concatenate([[top], inner, [bottom]])
    depth = depth[np.concatenate([[True], np.diff(depth) > 1e-6])]
    points = len(depth) * len(latitude) * len(longitude)
    if points > MOST_POINTS:
        raise UserError(f"--step {step_deg:g} --depth-step {depth_step_km:g}: {points} points; allowed: {MOST_POINTS}")
    values: dict[str, NDArray[np.float32]] = {}
    attributes: dict[str, dict[str, str]] = {}
    for name in fields.chosen(parameters):
        percent = np.empty((len(depth), len(latitude), len(longitude)), np.float32)
        for layer, at in zip(
            percent, depth, strict=True
        ):  # layer by layer: evaluation needs much more room than the result
            layer[:] = fields.percent(name, latitude[:, None], longitude[None, :], np.float64(at))
        quantity = quantity_of(name)
        short = "d" + quantity.lower()
        values[short] = percent
        attributes[short] = {
            "long_name": f"Relative change of {quantity} from {fields.earth.name}",
            "display_name": f"{name} (%)",
            "units": "percent",
        }
        reference = fields.reference(quantity, depth)
        if reference is not None:
            values[quantity.lower()] = (reference[:, None, None] * (1.0 + percent / 100.0)).astype(np.float32)
            attributes[quantity.lower()] = {
                "long_name": {"Vs": "Shear-wave velocity", "Vp": "P-wave velocity"}[quantity],
                "display_name": f"{quantity} (km/s)",
                "units": "km.s-1",
            }
    return ModelGrid(depth, latitude, longitude, values, attributes)


# ------------------------------------------------------------------------------------------------------------- NetCDF


def write_netcdf(path: Path, grid: ModelGrid, fields: Fields, command: str = "") -> None:
    """NetCDF-4 of the classic model: no groups, no types of one's own, no unlimited dimension."""
    import h5netcdf

    axes = {
        "depth": (grid.depth_km, "depth below the sphere of 6371 km", "km"),
        "latitude": (grid.latitude_deg, "Latitude; positive north", "degrees_north"),
        "longitude": (grid.longitude_deg, "Longitude; positive east", "degrees_east"),
    }
    with replaced(path) as aside, h5netcdf.File(aside, "w") as file:
        file.dimensions = {name: len(values) for name, (values, _, _) in axes.items()}
        for name, (values, long_name, units) in axes.items():
            variable = file.create_variable(name, (name,), "f4", data=values.astype(np.float32))
            variable.attrs.update(classic({"long_name": long_name, "standard_name": name, "units": units}))
        file["depth"].attrs.update(classic({"positive": "down"}))
        for name, field in grid.values.items():
            variable = file.create_variable(
                name, tuple(axes), "f4", data=field, fillvalue=FILL, chunks=(1, *field.shape[1:]), compression="gzip"
            )
            variable.attrs["missing_value"] = FILL
            variable.attrs.update(classic(grid.attributes[name]))
        file.attrs.update(classic(global_attributes(grid, fields, path.stem, command)))


def classic(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Text as characters: strings of variable length are not in the classic model."""
    return {name: np.bytes_(text.encode()) if isinstance(text, str) else text for name, text in attributes.items()}


def global_attributes(grid: ModelGrid, fields: Fields, name: str, command: str) -> dict[str, Any]:
    """What the repository asks of every file. Who the author is only the user knows: add it with `ncatted`, or by hand."""
    record = fields.record
    synthetic = " Made from synthetic data: this is a test of resolution, not the Earth." * (
        record.data_kind == "synthetic"
    )
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    found: dict[str, Any] = {
        "title": f"{', '.join(fields.parameters)} of the mantle: {fields.label}",
        "id": name,
        "model": name,
        "data_revision": "r0.0",
        "summary": f"Whole-mantle waveform inversion of {record.paths} seismograms of {record.events} earthquakes at "
        f"{record.stations} stations on {described(together(*fields.bases.values()))} splines." + synthetic,
        "reference": f"reference Earth: {fields.earth.name}",
        "keywords": "seismic, shear wave, s wave, mantle, waveform tomography",
        "Conventions": "CF-1.0",
        "Metadata_Conventions": "Unidata Dataset Discovery v1.0",
        "history": f"{now} craton {craton.__version__}" + (f": {command}" if command else ""),
        "comment": "latitudes are geographic (WGS84); depths are counted from a radius of 6371 km; dvs and other relative "
        "changes are in percent of the reference",
        "data_layout": "vertex",
    }
    for short, values, units, resolution in (
        ("lat", grid.latitude_deg, "degrees_north", True),
        ("lon", grid.longitude_deg, "degrees_east", True),
        ("vertical", grid.depth_km, "km", False),
    ):
        found[f"geospatial_{short}_min"] = float(values[0])
        found[f"geospatial_{short}_max"] = float(values[-1])
        found[f"geospatial_{short}_units"] = units
        if resolution:
            found[f"geospatial_{short}_resolution"] = float(values[1] - values[0])
    found["geospatial_vertical_positive"] = "down"
    return found


def write_csv(path: Path, header: Sequence[str], columns: Sequence[Any]) -> None:
    """Columns side by side, numbers with 9 digits; whole or not at all."""

    def text(value: Any) -> Any:
        return f"{value:.9g}" if isinstance(value, float) else value

    with replaced(path) as aside, aside.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        lists = (np.asarray(column).tolist() for column in columns)
        writer.writerows([text(value) for value in row] for row in zip(*lists, strict=True))


# ---------------------------------------------------------------------------------------------------------------- VTK


def write_shell(path: Path, grid: ModelGrid) -> None:
    """A spherical shell: .vts has the meridian of 180 degrees and the poles more than once, .vtu once."""
    if path.suffix.lower() == ".vts":
        points = shell_points(grid)
        shape = (len(grid.longitude_deg), len(grid.latitude_deg), len(grid.depth_km))
        write_structured_grid(path, shape, points, {name: values.ravel() for name, values in grid.values.items()})
        return
    row_of, first = merged_points(grid.shape)
    cells = row_of[hexahedra(grid.shape)]
    values = {name: field.ravel()[first] for name, field in grid.values.items()}
    write_unstructured_grid(path, shell_points(grid)[first], cells, values)


def shell_points(grid: ModelGrid) -> NDArray[np.float32]:
    """Cartesian kilometres of each point, longitude fastest, then latitude."""
    depth, latitude, longitude = np.meshgrid(grid.depth_km, grid.latitude_deg, grid.longitude_deg, indexing="ij")
    directions = unit_vectors(geocentric_deg(latitude.ravel()), longitude.ravel())
    return ((EARTH_RADIUS_KM - depth.ravel())[:, None] * directions).astype(np.float32)


def merged_points(shape: tuple[int, int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which merged point each point of the grid is, and the first grid point of each merged one."""
    layers, rows, columns = shape
    index = np.arange(layers * rows * columns).reshape(shape)
    same = index.copy()
    same[:, :, -1] = index[:, :, 0]  # 180 E is 180 W
    same[:, 0, :] = index[:, 0, :1]  # all longitudes of a pole
    same[:, -1, :] = index[:, -1, :1]
    first, row_of = np.unique(same.ravel(), return_inverse=True)
    return row_of.astype(np.int64).reshape(-1), first.astype(np.int64)


def hexahedra(shape: tuple[int, int, int]) -> NDArray[np.int64]:
    """Eight grid points of each cell, in VTK's order: four round the lower face, then the four above them."""
    index = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    # depth grows downwards, so the lower face comes second in it
    corners = [index[k:, :, :][: shape[0] - 1, j:, :][:, : shape[1] - 1, i:][:, :, : shape[2] - 1]
               for k in (1, 0) for j, i in ((0, 0), (0, 1), (1, 1), (1, 0))]  # fmt: skip
    return np.stack([corner.ravel() for corner in corners], axis=1)
