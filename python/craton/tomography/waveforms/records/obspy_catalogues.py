"""ObsPy's Catalog and Inventory as the inversion's tables of earthquakes and stations, and back.

events = events_from_catalog(obspy.read_events("quakes.ndk"))
stations = stations_from_inventory(obspy.read_inventory("stations.xml"))
write_events(Path("earthquakes.csv"), events)          # [events] file; write_stations for [stations] file
events_to_catalog(events).write("quakes.xml", format="QUAKEML")
stations_to_inventory(stations).write("stations.xml", format="STATIONXML")
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import numpy as np

from craton.errors import UserError
from craton.seismology.files import need_obspy
from craton.seismology.sources.moment_tensor_events import moment_tensor_event, named_event
from craton.seismology.sources.point_sources import magnitude_of_moment
from craton.tomography.data.catalogue import RANGES, Events, Stations
from craton.tomography.waveforms.records.earthquakes import as_events, check, usual_half_duration_s

__all__ = ["events_from_catalog", "events_to_catalog", "stations_from_inventory", "stations_to_inventory"]


def events_from_catalog(catalog: Any) -> Events:
    """All events of an ObsPy Catalog, by time. Latitudes stay geographic, times and places are those of the centroids.

    A half duration that is missing is the Global CMT project's usual one. UserError for the first event that cannot be used: of one
    without a moment tensor it says what gives it one.
    """
    if not hasattr(catalog, "events") or not len(catalog):
        raise UserError(f"catalogue: {type(catalog).__name__} without events; allowed: an ObsPy Catalog of one or more")
    found = {}
    for number, event in enumerate(catalog, 1):
        where = f"catalogue: event {number} ({named_event(event)})"
        try:
            one = moment_tensor_event(event)
            check(one)
        except ValueError as error:
            raise UserError(f"{where}: {error}") from None
        if one.name in found:
            raise UserError(f"{where}: '{one.name}' twice; allowed: each event once")
        if not one.half_duration_s:
            one = dataclasses.replace(one, half_duration_s=usual_half_duration_s(one.tensor_r_theta_phi))
        found[one.name] = one
    return as_events(sorted(found.values(), key=lambda one: one.time))


def events_to_catalog(events: Events) -> Any:
    """An ObsPy Catalog: of each event the centroid, moment tensor, moment magnitude, half duration and region."""
    need_obspy("events_to_catalog")
    from obspy import UTCDateTime
    from obspy.core import event as quakeml

    made = []
    for n, name in enumerate(events.name):
        identity = re.sub("[^A-Za-z0-9]+", "-", name).strip("-") or f"event-{n + 1}"

        def named(what: str, identity: str = identity) -> Any:
            return quakeml.ResourceIdentifier(f"smi:local/craton/{identity}/{what}")

        values = events.moment_tensor_Nm[n].tolist()
        moment = math.sqrt(0.5 * sum(one**2 for one in values[:3]) + sum(one**2 for one in values[3:]))
        origin = quakeml.Origin(
            resource_id=named("origin"),
            time=UTCDateTime(events.origin_time[n]),
            latitude=float(events.latitude_deg[n]),
            longitude=float(events.longitude_deg[n]),
            depth=1e3 * float(events.depth_km[n]),
            origin_type="centroid",
        )
        tensor = quakeml.MomentTensor(
            resource_id=named("tensor"),
            derived_origin_id=origin.resource_id,
            scalar_moment=moment,
            tensor=quakeml.Tensor(**dict(zip(("m_rr", "m_tt", "m_pp", "m_rt", "m_rp", "m_tp"), values, strict=True))),
            source_time_function=quakeml.SourceTimeFunction(
                type="triangle", duration=2 * float(events.half_duration_s[n])
            ),
        )
        mechanism = quakeml.FocalMechanism(resource_id=named("mechanism"), moment_tensor=tensor)
        magnitude = quakeml.Magnitude(
            resource_id=named("magnitude"),
            mag=magnitude_of_moment(moment),
            magnitude_type="Mw",
            origin_id=origin.resource_id,
        )
        descriptions = [quakeml.EventDescription(name, "earthquake name")]
        if events.region[n]:
            descriptions.append(quakeml.EventDescription(events.region[n], "region name"))
        made.append(
            quakeml.Event(
                resource_id=named("event"),
                event_type="earthquake",
                event_descriptions=descriptions,
                origins=[origin],
                magnitudes=[magnitude],
                focal_mechanisms=[mechanism],
                preferred_origin_id=origin.resource_id,
                preferred_magnitude_id=magnitude.resource_id,
                preferred_focal_mechanism_id=mechanism.resource_id,
            )
        )
    return quakeml.Catalog(made)


def stations_from_inventory(inventory: Any) -> Stations:
    """All stations of an ObsPy Inventory by name, NET.STA; of several epochs the first.

    UserError for an empty one, and for a place or an elevation that no station has.
    """
    if not hasattr(inventory, "networks"):
        raise UserError(f"inventory: an object of type {type(inventory).__name__}; allowed: an ObsPy Inventory")
    found: dict[str, tuple[float, float, float]] = {}
    for network in inventory:
        for station in network:
            place = float(station.latitude), float(station.longitude), float(station.elevation or 0.0)
            found.setdefault(f"{network.code}.{station.code}", place)
    if not found:
        raise UserError("inventory: no stations; allowed: one or more")
    columns = np.array(list(found.values())).T
    for column, values in zip(("latitude_deg", "longitude_deg", "elevation_m"), columns, strict=True):
        low, high, unit = RANGES[column]
        for name, value in zip(found, values.tolist(), strict=True):
            if not low <= value <= high:
                raise UserError(
                    f"inventory: station {name}: {column} = {value:g}; allowed: a number in [{low:g}, {high:g}] {unit}"
                )
    return Stations(tuple(found), *columns)


def stations_to_inventory(stations: Stations) -> Any:
    """An ObsPy Inventory without channels. A name NET.STA is taken apart; one without a dot belongs to the network XX."""
    need_obspy("stations_to_inventory")
    from obspy.core.inventory import Inventory, Network, Station

    networks: dict[str, list[Any]] = {}
    for name, latitude, longitude, elevation in zip(
        stations.name,
        stations.latitude_deg.tolist(),
        stations.longitude_deg.tolist(),
        stations.elevation_m.tolist(),
        strict=True,
    ):
        network, _, code = name.rpartition(".")
        east = (longitude + 180.0) % 360.0 - 180.0 if longitude > 180.0 else longitude
        station = Station(code, latitude=latitude, longitude=east, elevation=elevation)
        networks.setdefault(network or "XX", []).append(station)
    return Inventory([Network(code, stations=of) for code, of in networks.items()], source="craton tomography")
