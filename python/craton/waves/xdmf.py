"""XDMF beside a file of snapshots: with it ParaView and VisIt open the fields as they lie in the HDF5 file.

Fields are staggered, so there is a series of grids for each place and time that fields share. All normal stresses are in one; each
velocity has its own. x, y and z (down) are in m, as everywhere in a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import h5py

from craton.runs.files import write_text
from craton.runs.hdf5_files import opened_hdf5

__all__ = ["write_xdmf"]


def write_xdmf(path: Path, fields: Path) -> None:
    """For a whole file of snapshots, which lies beside it. Not collective. UserError where either cannot be read or written."""
    root = ElementTree.Element("Xdmf", Version="2.0")
    domain = ElementTree.SubElement(root, "Domain")
    with opened_hdf5(fields, "what craton waves run wrote") as file:
        for names in _together(file):
            _add_series(domain, fields.name, names, file[names[0]])
    ElementTree.indent(root)
    write_text(path, '<?xml version="1.0" ?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n")


def _together(file: h5py.File) -> list[list[str]]:
    """Names of fields by place and time, in the file's order."""
    found: dict[tuple[float, ...], list[str]] = {}
    for name, item in file.items():
        if isinstance(item, h5py.Dataset) and item.ndim == 4:
            place = (*item.attrs["origin_xyz_m"], item.attrs["first_time_s"])
            found.setdefault(tuple(map(float, place)), []).append(name)
    return list(found.values())


def _add_series(domain: ElementTree.Element, file_name: str, names: list[str], first: h5py.Dataset) -> None:
    add = ElementTree.SubElement
    series = add(domain, "Grid", Name=" ".join(names), GridType="Collection", CollectionType="Temporal")
    samples, *counts = first.shape
    size, whole = _words(counts), _words(first.shape)
    origin, spacing = (_words(first.attrs[key][::-1].tolist()) for key in ("origin_xyz_m", "spacing_xyz_m"))
    for sample in range(samples):
        grid = add(series, "Grid", Name=f"{names[0]} {sample}", GridType="Uniform")
        add(grid, "Time", Value=f"{first.attrs['first_time_s'] + first.attrs['dt_s'] * sample:.9g}")
        add(grid, "Topology", TopologyType="3DCoRectMesh", Dimensions=size)
        geometry = add(grid, "Geometry", GeometryType="ORIGIN_DXDYDZ")
        for what in (origin, spacing):  # z, y, x
            add(geometry, "DataItem", Dimensions="3", NumberType="Float", Precision="8", Format="XML").text = what
        for name in names:
            field = add(grid, "Attribute", Name=name, AttributeType="Scalar", Center="Node")
            part = add(field, "DataItem", ItemType="HyperSlab", Dimensions=size)
            chosen = f"{sample} 0 0 0  1 1 1 1  1 {size}"
            add(part, "DataItem", Dimensions="3 4", NumberType="Int", Format="XML").text = chosen
            stored = add(part, "DataItem", Dimensions=whole, NumberType="Float", Precision="4", Format="HDF")
            stored.text = f"{file_name}:/{name}"


def _words(values: Sequence[float]) -> str:
    return " ".join(f"{value:.12g}" for value in values)
