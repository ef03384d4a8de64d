"""Earthquakes with a moment tensor, as ObsPy reads them from CMTSOLUTION, NDK and QuakeML."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

TENSOR = ("rr", "tt", "pp", "rt", "rp", "tp")
CMT_NAME = re.compile(r"(?<![A-Za-z0-9])([BCMSL]?\d{12,14}[A-Z])(?![A-Za-z0-9])")
"""Of the Global CMT project: C201305240544A."""


WITHOUT_TENSOR = (
    "it has no moment tensor; allowed: an event with one, such as its Global CMT solution, an .ndk or CMTSOLUTION file "
    "(craton tomography takes it in [input] events, craton waves as event_file, ObsPy by read_events)"
)


@dataclass(frozen=True)
class MomentTensorEvent:
    """A point source as catalogues give it: the centroid, where they give one."""

    name: str
    """the Global CMT project's where it is found, else the time as in 20130524T054507"""
    time: str
    """ISO 8601, UTC: the centroid time, on which the moment rate is centred"""
    longitude_deg: float
    latitude_deg: float
    depth_m: float
    tensor_r_theta_phi: tuple[float, ...]
    """rr, tt, pp, rt, rp, tp, N m"""
    half_duration_s: float
    """0: not given"""
    region: str
    is_centroid: bool
    """False where the file has a hypocentre only"""


def moment_tensor_event(event: Any) -> MomentTensorEvent:
    """From an ObsPy Event. ValueError says what is missing, as in "it has no moment tensor"."""
    mechanisms = [m for m in event.focal_mechanisms if m.moment_tensor and m.moment_tensor.tensor]
    if not mechanisms:
        raise ValueError(WITHOUT_TENSOR)
    preferred = event.preferred_focal_mechanism()
    moment = (preferred if preferred in mechanisms else mechanisms[0]).moment_tensor
    tensor = tuple(getattr(moment.tensor, f"m_{name}") for name in TENSOR)
    if None in tensor:
        raise ValueError("its moment tensor lacks a component; allowed: all six")
    origin, is_centroid = _origin(event, moment)
    if origin is None or None in (origin.time, origin.longitude, origin.latitude, origin.depth):
        raise ValueError("it has no origin with a depth; allowed: an event with time, longitude, latitude and depth")
    duration = moment.source_time_function.duration if moment.source_time_function else None
    try:
        name, time = _name(event, moment, origin), str(origin.time).rstrip("Z")
    except OverflowError:
        raise ValueError("its time is in no calendar; allowed: years 1 to 9999") from None
    regions = [d.text for d in event.event_descriptions if d.type in ("region name", "Flinn-Engdahl region")]
    return MomentTensorEvent(
        name=name,
        time=time,
        longitude_deg=origin.longitude,
        latitude_deg=origin.latitude,
        depth_m=origin.depth,
        tensor_r_theta_phi=tensor,
        half_duration_s=0.5 * duration if duration else 0.0,
        region=(regions[0] or "").lstrip("=+-@ \t") if regions else "",  # a spreadsheet would compute such a text
        is_centroid=is_centroid,
    )


def named_event(event: Any) -> str:
    """What an ObsPy Event is called in errors: identifier, origin time and magnitude, as far as it has them."""
    origin = event.preferred_origin() or (event.origins or [None])[0]
    magnitude = event.preferred_magnitude() or (event.magnitudes or [None])[0]
    words = [str(event.resource_id)]
    if origin is not None and origin.time is not None:
        with suppress(OverflowError, ValueError):  # a time that is in no calendar
            words.append(origin.time.strftime("%Y-%m-%dT%H:%M:%S"))
    if magnitude is not None and magnitude.mag is not None:
        words.append(f"{magnitude.magnitude_type or 'magnitude'} {magnitude.mag:g}")
    return ", ".join(words)


def _origin(event: Any, moment: Any) -> tuple[Any, bool]:
    """The centroid that belongs to the tensor, and True; or another origin, or None, and False.

    Some files (of the SPUD service) let the tensor refer to the hypocentre, and call the centroid so in its identifier only.
    """
    derived = moment.derived_origin_id.get_referred_object() if moment.derived_origin_id else None
    centroids = [
        origin
        for origin in event.origins
        if origin.origin_type == "centroid" or str(origin.resource_id).endswith("cmtorigin")
    ]
    if derived is not None and derived in centroids:
        return derived, True
    if centroids:
        return centroids[0], True
    return derived or event.preferred_origin() or (event.origins or [None])[0], False


def _name(event: Any, moment: Any, origin: Any) -> str:
    texts = [description.text or "" for description in event.event_descriptions]
    texts += [str(item.resource_id) for item in (event, moment, origin)]
    found = next((match for text in texts if (match := CMT_NAME.search(text))), None)
    return found[1] if found else origin.time.strftime("%Y%m%dT%H%M%S")
