"""The accessor `ds.craton` of xarray Datasets: what is done with a model, and what with the output of a wave run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import xarray

from craton.described import Described
from craton.xarray import models, wave_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from craton.tomography.model.fields import Fields

__all__ = ["CratonAccessor"]


class CratonAccessor(Described):
    """`ds.craton` of a Dataset, once `craton.xarray` has been imported.

    A model has variables over depth (km, or m), latitude and longitude (degrees), as `tomography.to_dataset` and files of the IRIS
    EMC have them, of the whole Earth or of a region. Seismograms and snapshots are files of a wave run that
    `xarray.open_dataset(path, engine="h5netcdf")` has opened.
    """

    def __init__(self, dataset: xarray.Dataset) -> None:
        self._dataset = dataset

    def _facts(self) -> Mapping[str, object]:
        model, fields = models.variables_of(self._dataset), wave_output.fields_of(self._dataset)
        if model:
            return {"model": ", ".join(model), "methods": "depth_slice, section, figure, to_model"}
        if wave_output.has_seismograms(self._dataset):
            return {"seismograms": "velocity", "methods": "station, stream, record_section"}
        if fields:
            return {"snapshots": ", ".join(fields), "methods": "snapshot"}
        return {"variables": ", ".join(map(str, self._dataset.data_vars)), "methods": "none for these"}

    # ------------------------------------------------------------------------------------------------------------ models

    def depth_slice(self, depth_km: float) -> xarray.Dataset:
        """A model at one depth in km, linear between its depths: a Dataset over latitude and longitude.

        Units are those of the model. A point has no value (NaN) where one of its neighbours above and below has none. UserError for
        a depth outside the model.
        """
        return models.depth_slice(self._dataset, depth_km)

    def section(self, start: tuple[float, float], end: tuple[float, float]) -> xarray.Dataset:
        """A model below the shorter great circle between two places, linear between its points: a Dataset over depth and distance.

        start, end: geographic latitude and longitude, degrees, 1 to 179.9 degrees apart. Coordinates: depth in km, distance from
        the start in degrees at the Earth's centre, and along it distance_km at a radius of 6371 km, latitude and longitude.
        UserError where the arc leaves the model.
        """
        return models.section(self._dataset, start, end)

    def figure(self, depths_km: float | Sequence[float], variable: str = "", centre_deg: float = 0.0) -> Figure:
        """Maps of a variable at depths in km, in percent, on one scale: a matplotlib Figure.

        variable: the first one, unless it is named. A relative change (dvs, dxi, or any in percent) is shown as it is. A speed is
        shown as its change from its mean at that depth. centre_deg: longitude of the map's middle. A regional model leaves the rest
        of the map white.
        """
        return models.figure(self._dataset, depths_km, variable, centre_deg)

    def to_model(self, like: Fields) -> Fields:
        """The model on the splines of another one, by least squares, as `tomography.from_dataset(ds, like)` makes it.

        UserError for a regional model, and for variables that make no dlnVs.
        """
        return models.to_model(self._dataset, like)

    # ------------------------------------------------------------------------------------------------------- wave output

    def station(self, name: str) -> xarray.Dataset:
        """Seismograms of one station: a Dataset over time (s), in m/s.

        Variables: Z (up), N and E; Z, 1 and 2, along the grid's x and y, where x does not point north. Coordinates: the place x, y,
        z in m from the grid's corner, and longitude and latitude where the run has them. UserError names the stations next in
        spelling.
        """
        return wave_output.station(self._dataset, name)

    def stream(self) -> Any:
        """All seismograms as an obspy.Stream, in m/s: a trace for each component and station.

        Traces are those of `waves.read_metadata(run).stream()`. A name that is no code of at most five letters and digits becomes
        the station's number in this Dataset: S0003. Times count from 1970-01-01 where the run does not say when it takes place.
        """
        return wave_output.stream(self._dataset)

    def record_section(self, run: str | os.PathLike[str] | None = None) -> Figure:
        """Seismograms at their distances from the source: a matplotlib Figure with a panel for each component.

        run: the run's folder, which has the record of its sources; by default that of the file which the Dataset is from.
        """
        return wave_output.record_section(self._dataset, run)

    def snapshot(
        self, times_s: float | Sequence[float], field: str = "", run: str | os.PathLike[str] | None = None
    ) -> Figure:
        """Maps of a field of snapshots.h5 or surface.h5, next to some times (s): a matplotlib Figure.

        They show the uppermost plane of the Dataset without absorbing layers, on one scale for all its times. field: vz, drawn
        positive up, or the first one without it; m/s, of stresses Pa. run: as of `record_section`.
        """
        return wave_output.snapshot(self._dataset, times_s, field, run)
