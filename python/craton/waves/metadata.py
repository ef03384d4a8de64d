"""A run's seismograms, stations and earthquake as ObsPy has them: Stream, Inventory and Catalog."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from craton.seismology.geometry.grid import Grid
from craton.seismology.ground.topography import Topography
from craton.seismology.sources.point_sources import magnitude_of_moment, turned
from craton.seismology.wave_run.folder import WavesRecord
from craton.seismology.wave_run.results import Seismograms

__all__ = ["Centroid", "Metadata", "stream_of", "utc_of"]

NETWORK = "SY"
"""FDSN's network code of synthetics."""


@dataclass(frozen=True)
class Centroid:
    """The strongest moment-rate source at a point, on the Earth."""

    longitude_deg: float
    latitude_deg: float
    depth_m: float
    time_s: float
    """from t = 0"""
    north_east_down_Nm: tuple[float, ...]
    """xx, yy, zz, xy, xz, yz"""


@dataclass
class Metadata:
    """Of one run. notes: what cannot be said, and what to do about it."""

    record: WavesRecord
    found: Seismograms
    grid: Grid
    topography: Topography | None = None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.record.origin_time:
            self.notes.append(
                'times count from 1970-01-01; [time] origin_time = "2019-07-06T03:19:53" would say when t = 0 is'
            )
        if self.grid.projection is None:
            self.notes.append(
                "without StationXML and QuakeML; with [grid] origin_lon_lat the run has a place on the Earth"
            )
        elif self.centroid is None:
            self.notes.append("without QuakeML, because no source is a moment rate at a point")

    @property
    def origin_time(self) -> Any:
        """Of t = 0, an obspy.UTCDateTime."""
        return utc_of(self.record.origin_time)

    @property
    def _sea_level_m(self) -> float:
        """Z of elevation 0."""
        return 0.0 if self.topography is None else self.topography.z0_elevation_m

    @property
    def centroid(self) -> Centroid | None:
        """None without a source that is a moment rate at a point, or without a place on the Earth."""
        told = self.record.strongest
        if told is None or self.grid.projection is None:
            return None
        x, y, z = told.position_m
        longitude, latitude = (float(angle) for angle in self.grid.lon_lat(x, y))
        tensor = turned(told.moment_Nm, -float(self.grid.north_deg(x, y)))
        return Centroid(longitude, latitude, z - self._sea_level_m, told.centroid_s, tuple(tensor.tolist()))

    def direction(self, letter: str, station: int) -> tuple[float, float]:
        """Azimuth from true north, and dip, of a component, degrees."""
        if letter == "Z":
            return 0.0, -90.0
        x, y, _ = self.found.position_m[station]
        return (-float(self.grid.north_deg(x, y)) + (0.0 if letter in "N1" else 90.0)) % 360, 0.0

    def stream(self) -> Any:
        """An obspy.Stream, a trace for each component and station."""
        return stream_of(self.found, self.record.origin_time)

    def inventory(self) -> Any:
        """An obspy Inventory; None without a place on the Earth. The response is 1: what is recorded is m/s."""
        from obspy.core.inventory import Channel, Inventory, Network, Station
        from obspy.core.inventory.response import InstrumentSensitivity, Response

        placed = self.found.longitude_latitude_deg
        if placed is None:
            return None
        start = self.origin_time + self.found.first_time_s
        response = Response(
            instrument_sensitivity=InstrumentSensitivity(
                1.0, 1.0, "M/S", "M/S", input_units_description="velocity", output_units_description="velocity"
            )
        )
        networks: dict[str, list[Any]] = {}
        for number, (longitude, latitude) in enumerate(placed.tolist()):
            network, code = _codes(self.found, number)
            x, y, z = self.found.position_m[number]
            surface = 0.0 if self.topography is None else float(self.topography.depth_at(x, y))
            where = {"latitude": latitude, "longitude": longitude}
            channels = []
            for letter in self.found.components():
                azimuth, dip = self.direction(letter, number)
                channels.append(
                    Channel(
                        _channel(self.found, letter),
                        "",
                        elevation=self._sea_level_m - float(z),
                        depth=float(z) - surface,
                        azimuth=azimuth,
                        dip=dip,
                        sample_rate=1 / self.found.dt_s,
                        start_date=start,
                        response=response,
                        **where,
                    )
                )
            site = Station(code, elevation=0.0, channels=channels, start_date=start, creation_date=start, **where)
            site.description = self.found.names[number]
            networks.setdefault(network, []).append(site)
        made = [Network(code, stations=stations, start_date=start) for code, stations in networks.items()]
        return Inventory(networks=made, source="craton waves")

    def catalogue(self) -> Any:
        """An obspy Catalog of one event, the strongest source; None where there is none that can be told."""
        from obspy.core import event as quakeml

        centroid = self.centroid
        if centroid is None:
            return None
        xx, yy, zz, xy, xz, yz = centroid.north_east_down_Nm
        moment = math.sqrt(0.5 * (xx**2 + yy**2 + zz**2) + xy**2 + xz**2 + yz**2)
        identity = re.sub("[^A-Za-z0-9]+", "-", self.record.title).strip("-") or "run"

        def named(what: str) -> Any:
            return quakeml.ResourceIdentifier(f"smi:local/craton/{identity}/{what}")

        origin = quakeml.Origin(
            resource_id=named("origin"),
            time=self.origin_time + centroid.time_s,
            longitude=centroid.longitude_deg,
            latitude=centroid.latitude_deg,
            depth=centroid.depth_m,
            origin_type="centroid",
            evaluation_mode="manual",
        )
        tensor = quakeml.Tensor(m_rr=zz, m_tt=xx, m_pp=yy, m_rt=xz, m_rp=-yz, m_tp=-xy)  # up, south, east
        mechanism = quakeml.FocalMechanism(
            resource_id=named("mechanism"),
            moment_tensor=quakeml.MomentTensor(
                resource_id=named("tensor"), derived_origin_id=origin.resource_id, scalar_moment=moment, tensor=tensor
            ),
        )
        magnitude = quakeml.Magnitude(
            resource_id=named("magnitude"),
            mag=magnitude_of_moment(moment),
            magnitude_type="Mw",
            origin_id=origin.resource_id,
        )
        event = quakeml.Event(
            resource_id=named("event"),
            event_type="earthquake",
            event_descriptions=[quakeml.EventDescription(self.record.title, "earthquake name")],
            origins=[origin],
            magnitudes=[magnitude],
            focal_mechanisms=[mechanism],
            preferred_origin_id=origin.resource_id,
            preferred_magnitude_id=magnitude.resource_id,
            preferred_focal_mechanism_id=mechanism.resource_id,
        )
        return quakeml.Catalog([event], resource_id=named("catalogue"))


def utc_of(origin_time: str) -> Any:
    """An obspy.UTCDateTime of t = 0; 1970-01-01 where a run does not say when it takes place."""
    from obspy import UTCDateTime

    return UTCDateTime(origin_time) if origin_time else UTCDateTime(0)


def stream_of(found: Seismograms, origin_time: str) -> Any:
    """An obspy.Stream of velocities in m/s, a trace for each component and station. origin_time: UTC of t = 0, or ""."""
    from obspy import Stream, Trace

    traces = []
    for letter, values in found.components().items():
        for number, series in enumerate(values):
            network, station = _codes(found, number)
            header = {
                "network": network,
                "station": station,
                "channel": _channel(found, letter),
                "starttime": utc_of(origin_time) + found.first_time_s,
                "delta": found.dt_s,
            }
            traces.append(Trace(series.copy(), header))
    return Stream(traces)


def _channel(found: Seismograms, letter: str) -> str:
    return f"{_band(1 / found.dt_s)}X{letter}"


def _codes(found: Seismograms, number: int) -> tuple[str, str]:
    """Network and station from a name such as CI.PAS; codes are short and of letters and digits."""
    network, dot, station = found.names[number].partition(".")
    if not dot:
        network, station = NETWORK, found.names[number]
    plain = re.sub("[^A-Za-z0-9]", "", station)
    network = re.sub("[^A-Za-z0-9]", "", network)[:2] or NETWORK
    return network, plain.upper() if 0 < len(plain) <= 5 else f"S{number:04d}"


def _band(rate_hz: float) -> str:
    """SEED's letter for the sampling rate."""
    for least, letter in ((1000, "F"), (250, "C"), (80, "H"), (10, "B"), (1.0001, "M"), (0.1, "L")):
        if rate_hz >= least:
            return letter
    return "V"
