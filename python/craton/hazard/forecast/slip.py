"""Random slip with von Karman correlation, by the spectral method.

The power spectrum of slip on a plane is a_s a_d / (1 + (k_s a_s)^2 + (k_d a_d)^2)^(H + 1), k angular wavenumbers along strike
and down dip, H the Hurst exponent (Mai and Beroza 2002, table 1). White noise is given that spectrum on a plane at least twice
as large as the fault in both directions, and so large that the field's period exceeds its correlation. The fault is a corner of
this plane, so that opposite edges are not alike. The field has zero mean and unit variance over all realisations, at every
point.

Correlation lengths: log10 a_s = M / 2 - 2.5, log10 a_d = M / 3 - 1.5, in km (Mai and Beroza 2002 as Graves and Pitarka 2010 use
them).
"""

from __future__ import annotations

import functools

import numpy as np
import scipy

from craton.hazard.forecast.rupture import Array

__all__ = ["HURST", "correlation_lengths_m", "random_field"]

HURST = 0.75
CORRELATION_LENGTHS = 6.0
"""That the plane is larger than the fault, where that is more than twice."""


def correlation_lengths_m(magnitude: float) -> tuple[float, float]:
    """Correlation lengths along strike and down dip, m."""
    return 1e3 * 10 ** (magnitude / 2 - 2.5), 1e3 * 10 ** (magnitude / 3 - 1.5)


def random_field(
    generator: np.random.Generator,
    rows: int,
    columns: int,
    spacing_m: tuple[float, float],
    lengths_m: tuple[float, float],
    hurst: float = HURST,
) -> Array:
    """A field (rows, columns). spacing_m: of rows and of columns; lengths_m: of correlation along strike and down dip."""
    amplitude = _amplitudes(rows, columns, *spacing_m, *lengths_m, hurst)
    noise = generator.standard_normal(amplitude.shape[:1] + (_width(columns, spacing_m[1], lengths_m[0]),))
    field = scipy.fft.irfft2(scipy.fft.rfft2(noise) * amplitude, s=noise.shape)
    return np.ascontiguousarray(field[:rows, :columns])


def _width(cells: int, spacing: float, length: float) -> int:
    """Of the plane, in cells."""
    wanted = max(2 * cells, cells + int(np.ceil(CORRELATION_LENGTHS * length / spacing)))
    return int(scipy.fft.next_fast_len(wanted, real=True))


@functools.lru_cache(maxsize=64)
def _amplitudes(
    rows: int, columns: int, down_m: float, along_m: float, along_length: float, down_length: float, hurst: float
) -> Array:
    """Of rfft2: the root of the spectrum, scaled to unit variance."""
    shape = _width(rows, down_m, down_length), _width(columns, along_m, along_length)
    k_down = 2 * np.pi * np.fft.fftfreq(shape[0], down_m)[:, None]
    k_along = 2 * np.pi * np.fft.fftfreq(shape[1], along_m)[None, :]
    power = (1 + (k_along * along_length) ** 2 + (k_down * down_length) ** 2) ** -(hurst + 1)
    whole: Array = np.sqrt(power / power.mean())
    return whole[:, : shape[1] // 2 + 1]
