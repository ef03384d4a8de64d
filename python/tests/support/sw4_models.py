"""Small velocity models in the formats of other programs, written from their descriptions."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

PROJECTION = "+proj=tmerc +datum=NAD83 +units=m +lon_0=-119.0 +lat_0=35.0 +k=0.9996"
Function = Callable[[np.ndarray, np.ndarray, np.ndarray], Sequence[np.ndarray]]
"""Vp, vs, rho (qp, qs) at x, y and depth in m of the file's frame."""


@dataclass
class Frame:
    """Where a file lies."""

    longitude: float = -118.01
    latitude: float = 33.99
    azimuth: float = 20.0
    size_m: tuple[float, float] = (4000.0, 3200.0)


def levels(shape, spacing_m):
    """X and y of points."""
    return np.meshgrid(*(spacing_m * np.arange(n) for n in shape[:2]), indexing="ij")


def write_rfile(
    path: Path,
    ground: Function,
    height: Callable[[np.ndarray, np.ndarray], np.ndarray],
    blocks: Sequence[tuple[float, float, float, int]],
    frame: Frame | None = None,
    *,
    order: str = "<",
    precision: int = 4,
    attenuation: bool = False,
    projection: str = PROJECTION,
    air: bool = True,
) -> Path:
    """Blocks: horizontal and vertical spacing, depth of the top, levels. With `air` points above the ground are -999."""
    frame = frame or Frame()
    components = 5 if attenuation else 3
    text = projection.encode()
    head = struct.pack(
        f"{order}iiidddi", 1, precision, attenuation, frame.azimuth, frame.longitude, frame.latitude, len(text)
    )
    head += text + struct.pack(f"{order}i", 1 + len(blocks))
    kind, body = np.dtype(f"{order}f{precision}"), b""
    for number, (h, step, top, nk) in enumerate([(blocks[0][0], 0.0, 0.0, 1), *blocks]):
        ni, nj = (round(size / h) + 1 for size in frame.size_m)
        head += struct.pack(f"{order}dddiiii", h, step, top, components if number else 1, ni, nj, nk)
        x, y = levels((ni, nj), h)
        if number == 0:
            body += height(x, y).astype(kind).tobytes()
            continue
        z = top + step * np.arange(nk)
        at = np.broadcast_arrays(x[..., None], y[..., None], z)
        vp, vs, rho, *quality = (np.broadcast_to(values, (ni, nj, nk)) for values in ground(*at))
        together = np.stack([rho, vp, vs, *quality][:components], axis=-1).astype(kind)
        if air:
            together[at[2] < -height(x, y)[..., None]] = -999.0
        body += together.tobytes()
    path.write_bytes(head + body)
    return path


def write_sfile(
    path: Path,
    ground: Function,
    interfaces: Sequence[Callable[[np.ndarray, np.ndarray], np.ndarray]],
    blocks: Sequence[tuple[float, int]],
    frame: Frame | None = None,
    *,
    attenuation: bool = False,
) -> Path:
    """Blocks: horizontal spacing and levels. Interfaces: depths, one more, each at the spacing of the block above it."""
    frame = frame or Frame()
    with h5py.File(path, "w") as file:
        file.attrs["Origin longitude, latitude, azimuth"] = [frame.longitude, frame.latitude, frame.azimuth]
        file.attrs["Coarsest horizontal grid spacing"] = blocks[-1][0]
        file.attrs["Attenuation"] = np.int32(attenuation)
        file.attrs["ngrids"] = np.int32(len(blocks))
        file.attrs["Min, max depth"] = [0.0, 0.0]
        for number, interface in enumerate(interfaces):
            h = blocks[max(number - 1, 0)][0]
            x, y = levels([round(size / h) + 1 for size in frame.size_m], h)
            file[f"Z_interfaces/z_values_{number}"] = np.asarray(interface(x, y) + 0 * x, np.float32)
        for number, (h, nk) in enumerate(blocks):
            ni, nj = (round(size / h) + 1 for size in frame.size_m)
            x, y = levels((ni, nj), h)
            part = np.linspace(0, 1, nk)
            top, bottom = (interfaces[n](x, y)[..., None] + 0 * x[..., None] for n in (number, number + 1))
            at = np.broadcast_arrays(x[..., None], y[..., None], top + (bottom - top) * part)
            group = file.create_group(f"Material_model/grid_{number}")
            group.attrs["Horizontal grid size"] = float(h)
            group.attrs["Number of components"] = np.int32(5 if attenuation else 3)
            for name, values in zip(("Cp", "Cs", "Rho", "Qp", "Qs"), ground(*at), strict=False):
                group[name] = np.broadcast_to(values, (ni, nj, nk)).astype(np.float32)
    return path


def write_ucvm_text(path: Path, axes: Sequence[np.ndarray], ground: Function, *, shuffled: int | None = None) -> Path:
    """As ucvm_query prints: the last three columns count, the others are other numbers."""
    at = [values.ravel() for values in np.meshgrid(*axes, indexing="ij")]
    rows = [
        f"{lon:10.4f} {lat:10.4f} {z:10.3f} {280.9:10.3f} {390:10.3f} {'cvmh':>10} {1.0:10.3f} {2.0:10.3f} {3.0:10.3f} "
        f"{'none':>10} {0:10.3f} {0:10.3f} {0:10.3f} {'crust':>10} {vp:10.3f} {vs:10.3f} {rho:10.3f}"
        for lon, lat, z, vp, vs, rho in zip(*at, *ground(*at), strict=True)
    ]
    if shuffled is not None:
        np.random.default_rng(shuffled).shuffle(rows)
    path.write_text("\n".join(rows) + "\n")
    return path
