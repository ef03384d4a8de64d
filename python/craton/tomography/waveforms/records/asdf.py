"""Seismograms in ASDF files (Krischer et al. 2016, doi:10.1093/gji/ggw319), as SPECFEM3D_GLOBE writes them: one file, many traces.

An ASDF file is HDF5: /Waveforms/NET.STA/NET.STA.LOC.CHA__START__END__TAG is a trace. Its attributes are `starttime`, in nanoseconds
since 1970, and `sampling_rate`, in Hz.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.hdf5_files import check_claim, opened_hdf5

f64 = NDArray[np.float64]

ENDINGS = (".h5", ".asdf")


@dataclass(frozen=True)
class AsdfTrace:
    """One trace of a file."""

    file: Path
    name: str
    """Of its dataset."""

    def read(self, origin_time: str) -> tuple[f64, float, float]:
        """Samples, the first one's seconds after the origin time, and seconds between them. UserError where that is missing."""
        with opened_hdf5(self.file, "ASDF", look_at_all=False) as file:
            trace = file[self.name]
            check_claim(self.file, trace)
            start_ns, rate_hz = (trace.attrs.get(name) for name in ("starttime", "sampling_rate"))
            if start_ns is None or rate_hz is None or not float(rate_hz) > 0.0 or trace.ndim != 1:
                raise UserError(
                    f"{self.file}: {self.name}: not a trace with starttime and sampling_rate; allowed: ASDF, displacement in metres"
                )
            samples = np.asarray(trace, np.float64)
        origin_ns = np.datetime64(origin_time.rstrip("Z"), "ns").astype(np.int64)
        return samples, 1e-9 * float(int(start_ns) - int(origin_ns)), 1.0 / float(rate_hz)


def traces_of(path: Path) -> Iterator[tuple[tuple[str, str], AsdfTrace]]:
    """(NET.STA, last letter of the channel) of each trace. UserError for a file that is no HDF5; nothing of one that is no ASDF."""
    with opened_hdf5(path, "ASDF", look_at_all=False) as file:
        stations = file.get("Waveforms")
        found = [
            ((station, name.partition("__")[0].split(".")[-1][-1:]), AsdfTrace(path, f"Waveforms/{station}/{name}"))
            for station in (stations or ())
            for name, held in stations[station].items()
            if isinstance(held, h5py.Dataset) and "__" in name
        ]
    yield from found
