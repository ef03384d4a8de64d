"""Makes python/craton/pages/coastlines.npz, the table of coastlines that the maps draw.

Source: Natural Earth, 1:110m countries (naturalearth_lowres, public domain, https://www.naturalearthdata.com),
as shipped in the PyPI package geopandas 0.14.4. Needed once, by whoever changes the table:

    pip install geopandas==0.14.4
    python tools/make_coastlines.py

The countries are merged, so that inner borders vanish, and what is left (islands, continents, lakes' shores) is
rounded to 0.1 degrees and stored as 16-bit tenths of degrees. Craton itself does not depend on geopandas.
"""

import pathlib
import warnings

import geopandas
import numpy as np

TARGET = pathlib.Path(__file__).resolve().parent.parent / "python/craton/pages/coastlines.npz"
TENTHS_PER_DEGREE = 10
EDGE_DEG = 179.95


def rings(geometry):
    """Longitude and latitude of every closed ring, one array each."""
    for polygon in geometry.geoms:
        yield np.asarray(polygon.exterior.coords)
        for hole in polygon.interiors:
            yield np.asarray(hole.coords)


def open_lines(ring):
    """Cuts a ring where it runs along the edge of the map or along the south pole: no coast lies there."""
    artificial = (np.abs(ring[:, 0]) > EDGE_DEG) | (ring[:, 1] < -89.0)
    hidden = artificial[:-1] & artificial[1:]
    start = 0
    for index in [*np.flatnonzero(hidden), len(hidden)]:
        if index - start >= 1:
            yield ring[start : index + 1]
        start = index + 1


def main():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world = geopandas.read_file(geopandas.datasets.get_path("naturalearth_lowres"))
        land = world.geometry.buffer(0.01).unary_union.buffer(-0.01)
    lines = []
    for ring in rings(land):
        for line in open_lines(ring):
            tenths = np.round(line * TENTHS_PER_DEGREE).astype(np.int16)
            moved = np.any(np.diff(tenths, axis=0, prepend=tenths[:1] - 1) != 0, axis=1)
            if np.count_nonzero(moved) >= 3:
                lines.append(tenths[moved])
    offsets = np.cumsum([0, *map(len, lines)]).astype(np.int32)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        TARGET,
        longitude_tenths=np.concatenate(lines)[:, 0],
        latitude_tenths=np.concatenate(lines)[:, 1],
        offsets=offsets,
        provenance=np.array(
            "Natural Earth 1:110m (public domain), from geopandas 0.14.4; made by tools/make_coastlines.py"
        ),
    )
    print(f"{TARGET.name}: {len(lines)} lines, {offsets[-1]} points, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
