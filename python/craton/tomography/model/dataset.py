"""A model as an xarray Dataset by the CF conventions, and a Dataset as a model on the splines of another.

    model = tomography.read_fields("demo-run")
    ds = to_dataset(model, step_deg=2.0, depth_step_km=50.0)
    ds.dvs.interp(depth=150).sel(latitude=20, longitude=-160)      # percent
    again = from_dataset(ds, model)                                # Fields

`import craton.xarray` gives Datasets slices, sections and maps: ds.craton.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import craton
from craton.errors import UserError
from craton.tomography.model.export import sample
from craton.tomography.model.fields import Fields, quantity_of
from craton.tomography.model.netcdf_model import SOURCES, grid_model
from craton.tomography.model.target import project, sample_points

if TYPE_CHECKING:
    import xarray

__all__ = ["from_dataset", "to_dataset"]

CONVENTIONS = "CF-1.8"
AXES = {
    "depth": ("km", "Z", {"positive": "down", "long_name": "depth below the sphere of 6371 km"}),
    "latitude": ("degrees_north", "Y", {"long_name": "geographic latitude"}),
    "longitude": ("degrees_east", "X", {"long_name": "longitude"}),
}
CF_UNITS = {"km.s-1": "km s-1"}
"""The Earth Model Collaboration's spelling, and that of CF."""


def to_dataset(
    fields: Fields, step_deg: float = 2.0, depth_step_km: float = 50.0, parameters: str = ""
) -> xarray.Dataset:
    """Relative changes in percent, and speeds in km/s, over (depth, latitude, longitude). Not collective.

    Names are those of `craton tomography export` to NetCDF: dvs, vs, dxi. UserError for steps that make no grid.
    """
    made = _xarray()
    grid = sample(fields, step_deg, depth_step_km, parameters)
    axes = {"depth": grid.depth_km, "latitude": grid.latitude_deg, "longitude": grid.longitude_deg}
    coordinates = {
        name: (name, values, {"standard_name": name, "units": AXES[name][0], "axis": AXES[name][1], **AXES[name][2]})
        for name, values in axes.items()
    }
    variables = {}
    for name, values in grid.values.items():
        told = grid.attributes[name]
        attributes = {"long_name": told["long_name"], "units": CF_UNITS.get(told["units"], told["units"])}
        variables[name] = (tuple(axes), values, attributes)
    about = {
        "Conventions": CONVENTIONS,
        "title": fields.label,
        "source": f"craton {craton.__version__}",
        "reference_earth": fields.earth.name,
    }
    dataset: xarray.Dataset = made.Dataset(variables, coordinates, about)
    return dataset


def from_dataset(dataset: Any, like: Fields, label: str = "model of a Dataset") -> Fields:
    """A Dataset's model on the splines of another model, by least squares. Not collective.

    dlnVs comes from the variables that `[start] file` takes from NetCDF (dvs in percent, vs in km/s, ...), relative to the
    reference Earth of `like`; dlnxi from dxi in percent, and is 0 without it. UserError names what is missing or wrong.
    """
    if not hasattr(dataset, "variables") or not hasattr(dataset, "data_vars"):
        raise UserError(f"from_dataset: an object of type {type(dataset).__name__}; allowed: an xarray Dataset")
    found = {str(name): Variable.of(one) for name, one in dataset.variables.items()}
    coefficients = {}
    for name, basis in like.bases.items():
        quantity = quantity_of(name).lower()
        sources = SOURCES if quantity == "vs" else ((f"d{quantity}",),)
        latitude_deg, longitude_deg, radius_m = sample_points(basis)
        if quantity != "vs" and f"d{quantity}" not in found:
            coefficients[name] = np.zeros(basis.size)
            continue
        grid = grid_model(Path("from_dataset"), found, like.earth, sources)
        field = grid.sampled(latitude_deg, longitude_deg, radius_m)
        coefficients[name] = project(basis, field, latitude_deg, longitude_deg, radius_m)
    return Fields(like.bases, coefficients, label, like.earth, like.record)


@dataclass(frozen=True)
class Variable:
    """A variable of a Dataset, as h5netcdf has those of a file."""

    values: NDArray[Any]
    dimensions: tuple[str, ...]
    attrs: dict[str, Any]

    @classmethod
    def of(cls, variable: Any) -> Variable:
        """Of an xarray Variable, or a DataArray."""
        return cls(np.atleast_1d(variable.values), tuple(map(str, variable.dims)), dict(variable.attrs))

    def __getitem__(self, key: Any) -> NDArray[Any]:
        return np.asarray(self.values[key])


def _xarray() -> Any:
    try:
        import xarray
    except ImportError:
        raise UserError("to_dataset: the package xarray is not installed; allowed: pip install xarray") from None
    return xarray
