"""The ground that was found, as the Earth Model Collaboration has its models: NetCDF over depth, latitude and longitude.

What `craton waves` and `craton regional` take as [media] file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.regional.results import Results
from craton.runs.files import replaced

__all__ = ["write_netcdf"]

f64 = NDArray[np.float64]

FILL = np.float32(99999.0)
LARGEST = 4e7
"""Points of a file."""
UNITS = {
    "vp": ("P-wave velocity", "km.s-1", 1e-3),
    "vs": ("Shear-wave velocity", "km.s-1", 1e-3),
    "rho": ("Density", "g.cm-3", 1e-3),
}


def write_netcdf(results: Results, path: Path, step_deg: float = 0.0, depth_step_km: float = 0.0) -> Path:
    """Writes vp, vs, rho, changes in percent and their standard deviations; without a value where the grid ends. Not collective.

    step_deg, depth_step_km: between points; 0: about half of that between knots. UserError for a grid without a place on the Earth.
    """
    study = results.study
    grid, knots, config = study.setup.grid, study.knots, study.config
    if not config.grid.origin_lon_lat:
        raise UserError(f"{config.path}: no place on the Earth; allowed: a run with [grid] origin_lon_lat = [lon, lat]")
    corners = np.array([(x, y) for x in (0.0, grid.size_m[0]) for y in (0.0, grid.size_m[1])])
    lon, lat = grid.lon_lat(corners[:, 0], corners[:, 1])
    step_deg = step_deg or 0.5 * float(np.diff(knots.x_m).min()) / 111.2e3
    depth_step_km = depth_step_km or 0.5e-3 * float(np.diff(knots.z_m).min())
    spans = 1e-3 * grid.size_m[2] / depth_step_km, np.ptp(lat) / step_deg, np.ptp(lon) / step_deg
    count = float(np.prod(np.ceil(spans)))
    if not 1 <= count <= LARGEST:
        raise UserError(
            f"--step {step_deg:g} degrees and --depth-step {depth_step_km:g} km: {count:.3g} points; allowed: 1 to {LARGEST:g}"
        )
    axes = {
        "depth": np.arange(0.0, 1e-3 * grid.size_m[2], depth_step_km),
        "latitude": np.arange(float(lat.min()), float(lat.max()), step_deg),
        "longitude": np.arange(float(lon.min()), float(lon.max()), step_deg),
    }
    values = _sampled(results, axes)
    with replaced(path) as aside:
        _write(aside, axes, values, results)
    return path


def _sampled(results: Results, axes: dict[str, f64]) -> dict[str, NDArray[np.float32]]:
    """Fields over (depth, latitude, longitude); NaN outside the grid."""
    study = results.study
    grid = study.setup.grid
    latitude, longitude = np.meshgrid(axes["latitude"], axes["longitude"], indexing="ij")
    x, y = (np.asarray(at, float).ravel() for at in grid.x_y(longitude.ravel(), latitude.ravel()))
    inside = (x >= 0) & (x <= grid.size_m[0]) & (y >= 0) & (y <= grid.size_m[1])
    shape = (len(axes["depth"]), *latitude.shape)
    names = ["vp", "vs", "rho", *(f"d{one}" for one in results.parameters)]
    if results.deviation is not None:
        names += [f"d{one}_error" for one in results.parameters]
    found = {name: np.full((shape[0], latitude.size), np.nan, np.float32) for name in names}
    model = np.concatenate([results.change.ravel(), np.zeros(study.corrections.size)])
    for layer, depth_km in enumerate(axes["depth"]):
        points = np.stack([x[inside], y[inside], np.full(int(inside.sum()), 1e3 * depth_km)], axis=1)
        changes, ground = study.changes(model, points), study.ground_at(points, target=False)
        for name in ("vp", "vs", "rho"):
            found[name][layer, inside] = UNITS[name][2] * ground[name] * np.exp(changes[name])
        for number, name in enumerate(results.parameters):
            found[f"d{name}"][layer, inside] = 100 * results.field(name, points)
            if results.deviation is not None:
                error = study.knots.field(results.deviation[number].ravel(), points)
                found[f"d{name}_error"][layer, inside] = 100 * error
    return {name: field.reshape(shape) for name, field in found.items()}


def _write(path: Path, axes: dict[str, f64], values: dict[str, NDArray[np.float32]], results: Results) -> None:
    import h5netcdf

    told = {
        "depth": ("depth below the surface", "km"),
        "latitude": ("Latitude; positive north", "degrees_north"),
        "longitude": ("Longitude; positive east", "degrees_east"),
    }
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {name: len(axis) for name, axis in axes.items()}
        for name, axis in axes.items():
            variable = file.create_variable(name, (name,), "f8", data=axis)
            variable.attrs.update(_text({"long_name": told[name][0], "standard_name": name, "units": told[name][1]}))
        file["depth"].attrs.update(_text({"positive": "down"}))
        for name, field in values.items():
            known = UNITS.get(name)
            error = name.endswith("_error")
            label = (
                known[0]
                if known
                else f"{'Standard deviation' if error else 'Change'} of ln {name[1:].removesuffix('_error')}"
            )
            filled = np.where(np.isfinite(field), field, FILL)
            variable = file.create_variable(
                name, tuple(axes), "f4", data=filled, fillvalue=FILL, chunks=(1, *field.shape[1:]), compression="gzip"
            )
            variable.attrs["missing_value"] = FILL
            variable.attrs.update(_text({"long_name": label, "units": known[1] if known else "percent"}))
        file.attrs.update(
            _text(
                {
                    "title": f"Inversion of regional waveforms: {results.record.title}",
                    "id": results.record.title,
                    "Conventions": "CF-1.8",
                    "source": f"Craton {results.record.versions.get('version', '')}, craton regional run",
                    "history": results.record.command,
                    "comment": "changes are of the starting model; errors are standard deviations that data and prior leave",
                }
            )
        )


def _text(attributes: dict[str, str]) -> dict[str, Any]:
    """As characters: strings of variable length are not in the classic model."""
    return {name: np.bytes_(value.encode()) for name, value in attributes.items()}
