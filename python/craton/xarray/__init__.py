"""Gives xarray Datasets of models and of wave runs an accessor, `ds.craton`.

    import xarray
    import craton.xarray    # registers it

    model = xarray.open_dataset("model.nc", engine="h5netcdf")           # or tomography.to_dataset(...)
    model.craton.depth_slice(150.0)                                      # a Dataset over latitude, longitude
    model.craton.section((20.0, -160.0), (45.0, -70.0)).dvs              # over depth and distance
    model.craton.figure([100.0, 300.0]).savefig("maps.png")              # maps with coastlines

    motion = xarray.open_dataset("layer-run/seismograms.h5", engine="h5netcdf")
    motion.craton.station("A3").Z.plot()                                 # m/s, up
    motion.craton.stream().filter("lowpass", freq=1.0)                   # an obspy.Stream
    motion.craton.record_section()                                       # a matplotlib Figure
    xarray.open_dataset("layer-run/snapshots.h5", engine="h5netcdf").craton.snapshot(2.0)

A Dataset that a method has no use for is a UserError that names what it has and what is allowed. Nothing is collective.
"""

from __future__ import annotations

from craton.errors import UserError

try:
    import xarray
except ImportError:
    raise UserError("craton.xarray: the package xarray is not installed; allowed: pip install xarray") from None

from craton.xarray.accessor import CratonAccessor

__all__ = ["CratonAccessor"]

xarray.register_dataset_accessor("craton")(CratonAccessor)  # type: ignore[no-untyped-call]  # of xarray
