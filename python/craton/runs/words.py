"""Numbers for people: how many, how long, how large, how fast, where. The one home of such words.

`duration` and `size_text` tell of what was measured; `forecast_duration` and `forecast_size` of what is expected, to three digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = [
    "counted",
    "duration",
    "forecast_duration",
    "forecast_size",
    "place_text",
    "range_text",
    "rate_text",
    "size_text",
]

MIB, GIB, TIB = 2**20, 2**30, 2**40


def counted(number: int, what: str) -> str:
    """1, "rank" -> "1 rank"; 1200, "path" -> "1,200 paths"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """3725.0 -> "1:02:05"; 3.25 -> "3.2 s"."""
    if seconds < 60.0:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d} min"


def forecast_duration(seconds: float) -> str:
    """3725.0 -> "62.1 min"; 100.0 -> "100 s"; 9000.0 -> "2.5 h"; 864000.0 -> "10 days"."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    if seconds < 48 * 3600:
        return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
    return f"{seconds / 86400:.3g} days"


def size_text(size: float) -> str:
    """1234567 -> "1.2 MB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000.0:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100.0 else f"{size:.1f} {unit}"
        size /= 1000.0
    return f"{size:.1f} TB"


def forecast_size(size: float) -> str:
    """1234567 -> "1.18 MiB"; 2**31 -> "2 GiB"; 2**51 -> "2.05e+03 TiB"."""
    if size < 0.995 * GIB:
        return f"{size / MIB:.3g} MiB"
    return f"{size / GIB:.3g} GiB" if size < 999 * GIB else f"{size / TIB:.3g} TiB"


def rate_text(rate: float, unit: str) -> str:
    """1003.2, "paths" -> "1003 paths/s"; 12345.6 -> "12.3k paths/s"."""
    for scale, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= max(scale, 1e4):
            return f"{rate / scale:.3g}{letter} {unit}/s"
    return f"{rate:.0f} {unit}/s" if rate >= 100 else f"{rate:.3g} {unit}/s"


def range_text(values: ArrayLike, unit: str = "", digits: int = 3) -> str:
    """[-0.5, 2.0], "%" -> "from -0.5% to 2%"; [1, 2], "km" -> "from 1 to 2 km". Without any finite value, "without values"."""
    known = np.asarray(values, float)
    known = known[np.isfinite(known)]
    if not known.size:
        return "without values"
    least, largest = (f"{float(value):.{digits}g}" for value in (known.min(), known.max()))
    return (
        f"from {least}{unit} to {largest}{unit}" if unit in ("%", "°") else f"from {least} to {largest} {unit}".rstrip()
    )


def place_text(latitude_deg: float, longitude_deg: float) -> str:
    """12.34, -45.6 -> "12.3°N 45.6°W"; longitudes of 0 to 360 degrees too."""
    east = (longitude_deg + 180.0) % 360.0 - 180.0
    return f"{abs(latitude_deg):.1f}°{'S' if latitude_deg < 0 else 'N'} {abs(east):.1f}°{'W' if east < 0 else 'E'}"
