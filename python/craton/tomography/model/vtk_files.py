"""VTK's XML files of grids whose cells are hexahedra, for ParaView: appended raw binary, little endian.

The format: VTK User's Guide, "VTK File Formats", XML; appended data are, for each array, a UInt64 count of bytes and the bytes.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from craton.runs.files import replaced

__all__ = ["write_structured_grid", "write_unstructured_grid"]

Array = NDArray[np.generic]

VTK_HEXAHEDRON = 12
KINDS = {"f4": "Float32", "f8": "Float64", "i4": "Int32", "i8": "Int64", "u1": "UInt8"}


class Appended:
    """The arrays of a file, and the elements that say where each begins."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()

    def element(self, name: str, values: Array) -> str:
        """One DataArray; several components where the array has columns."""
        little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        offset = self._bytes.tell()
        self._bytes.write(np.uint64(little.nbytes).astype("<u8").tobytes())
        self._bytes.write(little.tobytes())
        components = f' NumberOfComponents="{values.shape[1]}"' if values.ndim == 2 else ""
        kind = KINDS[values.dtype.newbyteorder("=").str[1:]]
        return f'<DataArray type="{kind}" Name={quoteattr(name)}{components} format="appended" offset="{offset}"/>'

    def tail(self) -> bytes:
        """The arrays and the end of the file."""
        return b'<AppendedData encoding="raw">\n_' + self._bytes.getvalue() + b"\n</AppendedData>\n</VTKFile>\n"


def write_structured_grid(path: Path, shape: Sequence[int], points: Array, point_data: Mapping[str, Array]) -> None:
    """.vts: points (n, 3) and values (n,) at them, the first index of `shape` (ni, nj, nk) fastest; ni nj nk = n."""
    appended = Appended()
    extent = " ".join(f"0 {count - 1}" for count in shape)
    body = (
        f'<StructuredGrid WholeExtent="{extent}"><Piece Extent="{extent}">'
        f"{_point_data(appended, point_data)}<Points>{appended.element('Points', points)}</Points>"
        "</Piece></StructuredGrid>"
    )
    _write(path, "StructuredGrid", body, appended)


def write_unstructured_grid(
    path: Path, points: Array, cells: NDArray[np.int64], point_data: Mapping[str, Array]
) -> None:
    """.vtu: points (n, 3), hexahedra (m, 8) of points in VTK's order, values (n,) at the points."""
    appended = Appended()
    body = (
        f'<UnstructuredGrid><Piece NumberOfPoints="{len(points)}" NumberOfCells="{len(cells)}">'
        f"{_point_data(appended, point_data)}<Points>{appended.element('Points', points)}</Points><Cells>"
        f"{appended.element('connectivity', cells.ravel())}"
        f"{appended.element('offsets', np.arange(8, 8 * len(cells) + 1, 8, dtype=np.int64))}"
        f"{appended.element('types', np.full(len(cells), VTK_HEXAHEDRON, np.uint8))}"
        "</Cells></Piece></UnstructuredGrid>"
    )
    _write(path, "UnstructuredGrid", body, appended)


def _point_data(appended: Appended, values: Mapping[str, Array]) -> str:
    arrays = "".join(appended.element(name, array) for name, array in values.items())
    return f"<PointData Scalars={quoteattr(next(iter(values)))}>{arrays}</PointData>"


def _write(path: Path, kind: str, body: str, appended: Appended) -> None:
    head = (
        f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'
    )
    with replaced(path) as aside:
        aside.write_bytes(head.encode() + body.encode() + b"\n" + appended.tail())
