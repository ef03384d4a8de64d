"""What the tests of observed waveforms share: earthquakes, stations and files made for them, and real ones that packages bring."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CENTROID = "2013-05-24T05:45:07.9"
"""Of the earthquake below the Sea of Okhotsk, Mw 8.3, 607 km deep."""


def okhotsk_files(folder: Path) -> Path:
    """Six raw records of BH channels, StationXML, and QuakeML with the Global CMT solution.

    MiniSEED, 40 Hz, two stations: what pyasdf brings for its own tests.
    """
    pyasdf = pytest.importorskip("pyasdf", reason="pyasdf, whose test data these are, is not installed")
    source = Path(pyasdf.__file__).parent / "tests" / "data" / "small_sample_data_set"
    if not source.is_dir():
        pytest.skip(f"this pyasdf comes without its test data ({source})")
    folder.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        shutil.copy(file, folder / file.name)
    return folder


OKHOTSK = """
[input]
waveforms = ["*.mseed"]
responses = ["*.BH_.xml"]
events = ["quake.xml"]
"""

POLES = [complex(-0.01234, 0.01234), complex(-0.01234, -0.01234), complex(-39.18, 49.12), complex(-39.18, -49.12)]
ZEROS = [0j, 0j]
SENSITIVITY = 5e9
"""Counts per m/s at 0.02 Hz: an STS-1, corner 360 s."""


def counts_of(displacement: Any, delta_s: float) -> Any:
    """What the instrument makes of a ground displacement in metres that is 0 at both ends; nothing of ObsPy's is used."""
    n = 2 * len(displacement)
    s = 2j * np.pi * np.fft.rfftfreq(n, delta_s)
    return np.fft.irfft(np.fft.rfft(displacement, n) * s * seismometer(s), n)[: len(displacement)]


def seismometer(s: Any) -> Any:
    """Counts per m/s."""

    def ratio(at: Any) -> Any:
        top = np.prod([at - zero for zero in ZEROS], axis=0)
        return top / np.prod([at - pole for pole in POLES], axis=0)

    return SENSITIVITY * ratio(s) / abs(ratio(np.array([2j * np.pi * 0.02])))[0]


def response() -> Any:
    """The same instrument as ObsPy has it."""
    from obspy.core.inventory.response import Response

    found = Response.from_paz(
        zeros=ZEROS,
        poles=POLES,
        stage_gain=SENSITIVITY,
        stage_gain_frequency=0.02,
        input_units="M/S",
        output_units="COUNTS",
    )
    found.response_stages[0].normalization_frequency = 0.02
    at = np.array([2j * np.pi * 0.02])
    top = np.prod([at - zero for zero in ZEROS], axis=0)
    found.response_stages[0].normalization_factor = float(abs(np.prod([at - pole for pole in POLES], axis=0) / top)[0])
    return found


def inventory(name: str, place: tuple[float, float], channels: dict[str, tuple[float, float]], **more: Any) -> Any:
    """One station. `channels`: azimuth and dip by LOC.CHA; `more` goes to each channel (response=None leaves it out)."""
    from obspy import UTCDateTime
    from obspy.core.inventory import Channel, Inventory, Network, Station

    network, station = name.split(".")
    latitude, longitude = place
    listed = []
    for key, (azimuth, dip) in channels.items():
        location, code = key.split(".")
        settings = {
            "response": response(),
            "azimuth": azimuth,
            "dip": dip,
            "start_date": UTCDateTime(2000, 1, 1),
            **more,
        }
        listed.append(Channel(code, location, latitude, longitude, 0.0, 0.0, sample_rate=1.0, **settings))
    return Inventory([Network(network, [Station(station, latitude, longitude, 0.0, channels=listed)])], "craton")


def trace(name: str, samples: Any, start: Any, delta_s: float = 1.0, file: str = "a.mseed") -> Any:
    """An ObsPy Trace as the archive gives it."""
    from obspy import Trace, UTCDateTime

    network, station, location, channel = name.split(".")
    header = {
        "network": network, "station": station, "location": location, "channel": channel,
        "starttime": UTCDateTime(start), "delta": delta_s,
    }  # fmt: skip
    made = Trace(np.asarray(samples), header)
    made.stats.craton_file = file
    return made


def wave_train(times_s: Any, at_s: float = 1500.0, period_s: float = 150.0) -> Any:
    """A few oscillations under a Gaussian, in metres."""
    return (
        1e-4
        * np.exp(-(((np.asarray(times_s) - at_s) / (1.2 * period_s)) ** 2))
        * np.cos(2 * np.pi * (np.asarray(times_s) - at_s) / period_s)
    )


def double_couple(strike_deg: float, dip_deg: float, rake_deg: float, moment: float) -> dict[str, float]:
    """Moment tensor of a fault, r up, t south, p east (Aki and Richards 2002, box 4.4)."""
    s, d, r = np.radians([strike_deg, dip_deg, rake_deg])
    xx = -(np.sin(d) * np.cos(r) * np.sin(2 * s) + np.sin(2 * d) * np.sin(r) * np.sin(s) ** 2)
    yy = np.sin(d) * np.cos(r) * np.sin(2 * s) - np.sin(2 * d) * np.sin(r) * np.cos(s) ** 2
    zz = np.sin(2 * d) * np.sin(r)
    xy = np.sin(d) * np.cos(r) * np.cos(2 * s) + 0.5 * np.sin(2 * d) * np.sin(r) * np.sin(2 * s)
    xz = -(np.cos(d) * np.cos(r) * np.cos(s) + np.cos(2 * d) * np.sin(r) * np.sin(s))
    yz = -(np.cos(d) * np.cos(r) * np.sin(s) - np.cos(2 * d) * np.sin(r) * np.cos(s))
    return {
        "rr": moment * zz,
        "tt": moment * xx,
        "pp": moment * yy,
        "rt": moment * xz,
        "rp": -moment * yz,
        "tp": -moment * xy,
    }


def cmtsolution(name: str = "C201305240544A", half_duration_s: float = 36.2) -> str:
    """The same earthquake as SPECFEM writes it, dyn cm."""
    lines = [
        " PDEW 2013  5 24  5 44 49.60  54.8700  153.2800 608.9 0.0 8.3 SEA OF OKHOTSK",
        f"event name:     {name}",
        "time shift:     18.3000",
        f"half duration:  {half_duration_s:.4f}",
        "latitude:       54.5400",
        "longitude:     153.9400",
        "depth:         607.4000",
    ]
    moments = {"rr": -1.75e28, "tt": 4.11e27, "pp": 1.34e28, "rt": -8.96e27, "rp": -3.69e28, "tp": 1.99e27}
    lines += [f"M{key}:      {value:.6e}" for key, value in moments.items()]
    return "\n".join(lines) + "\n"
