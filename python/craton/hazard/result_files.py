"""The files that hold what a run has come to: HDF5, CSV, and CSV as OpenQuake's."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from craton.hazard.curves.export import (
    write_curves_csv,
    write_hdf5,
    write_maps_csv,
    write_openquake_curves,
    write_openquake_map,
)
from craton.hazard.results import Results
from craton.runs.files import write_text

__all__ = ["write_files"]


def write_files(results: Results) -> list[Path]:
    """hazard.h5, curves.csv, maps.csv, disaggregation.csv and openquake/, of all finished sites; returns the first four."""
    folder, sites = results.folder, results.sites
    curves, maps = results.all_curves(), results.maps()
    folder.openquake.mkdir(exist_ok=True)
    written = [
        write_hdf5(folder.hdf5, sites, curves, maps),
        write_curves_csv(folder.curves, sites, curves),
        write_maps_csv(folder.maps, sites, maps),
    ]
    write_openquake_curves(folder.openquake, sites, curves)
    write_openquake_map(folder.openquake, sites, maps)
    write_text(folder.disaggregation, _disaggregations(results))
    return [*written, folder.disaggregation]


def _disaggregations(results: Results) -> str:
    """CSV: a line for each bin that has a share, at the first probability."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["site", "measure", "level_g", "annual_rate", "source", "magnitude", "distance_km", "share"])
    for site in results.names:
        found = results.at_first_probability(site)
        if found is None:
            continue
        m = 0.5 * (found.magnitude_edges[1:] + found.magnitude_edges[:-1])
        d = 0.5e-3 * (found.distance_edges_m[1:] + found.distance_edges_m[:-1])
        for i, j, k in np.argwhere(found.shares > 0):
            values = [f"{m[i]:.6g}", f"{d[j]:.6g}", f"{found.shares[i, j, k]:.9g}"]
            writer.writerow(
                [site, results.imts[0], f"{found.level:.9g}", f"{found.annual_rate:.9g}", found.sources[k], *values]
            )
    return out.getvalue()
