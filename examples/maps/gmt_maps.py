"""Maps by GMT, through PyGMT: a depth slice of a tomographic model, and a hazard map.

apt-get install gmt ghostscript && pip install pygmt
craton tomography export demo-run -o model.nc
python gmt_maps.py model.nc slice.png --depth 100
craton hazard run basin.toml
python gmt_maps.py basin-run/maps.csv hazard.png
"""

import argparse
import csv
from pathlib import Path

import numpy as np
import pygmt
import xarray


def depth_slice(model: Path, depth_km: float, variable: str) -> pygmt.Figure:
    """The relative change at a depth, in percent, on the whole Earth."""
    with xarray.open_dataset(model, engine="h5netcdf") as found:
        layer = found[variable].interp(depth=depth_km).astype("f8").load()
    layer.gmt.registration, layer.gmt.gtype = 0, 1  # values at the lines of a geographic grid, which goes once round
    limit = max(0.5, float(np.ceil(abs(layer).max())))
    figure = pygmt.Figure()
    pygmt.makecpt(cmap="polar", series=[-limit, limit], reverse=True)
    figure.grdimage(layer, region="g", projection="N-160/18c", cmap=True, frame=["af", f"+t{depth_km:g} km"])
    figure.coast(shorelines="0.25p,gray30", resolution="l", area_thresh=10000)
    figure.colorbar(frame=f"xaf+l{variable} (%)")
    return figure


def hazard_map(table: Path, column: int) -> pygmt.Figure:
    """One of the maps of a table, at its sites; column: counted from 0, of the table."""
    with table.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    longitude, latitude = (np.array([float(row[header.index(name)]) for row in rows]) for name in PLACE)
    values = np.array([float(row[column]) for row in rows])
    known = np.isfinite(values)
    margin = 0.1 * max(np.ptp(longitude), np.ptp(latitude), 0.01)
    region = [longitude.min() - margin, longitude.max() + margin, latitude.min() - margin, latitude.max() + margin]
    figure = pygmt.Figure()
    pygmt.makecpt(cmap="lajolla", series=[0.0, float(values[known].max())])
    figure.basemap(region=region, projection="M15c", frame=["af", f"+t{header[column]}"])
    figure.plot(x=longitude[known], y=latitude[known], fill=values[known], style="s0.6c", cmap=True, pen="0.25p")
    figure.colorbar(frame="xaf")
    return figure


PLACE = ("longitude_deg", "latitude_deg")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("file", type=Path, help="model.nc, or maps.csv of a hazard run")
    words.add_argument("picture", type=Path, help=".png or .pdf to write")
    words.add_argument("--depth", type=float, default=100.0, help="km, of a model")
    words.add_argument("--variable", default="dvs", help="of a model")
    words.add_argument("--column", type=int, default=3, help="of a table of hazard maps, counted from 0")
    given = words.parse_args()
    if given.file.suffix == ".nc":
        figure = depth_slice(given.file, given.depth, given.variable)
    else:
        figure = hazard_map(given.file, given.column)
    figure.savefig(given.picture)


if __name__ == "__main__":
    main()
