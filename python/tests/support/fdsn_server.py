"""A small FDSN web service on the loopback: what files hold, by earthquake, station and time."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import obspy

DESCRIPTIONS = Path(obspy.__file__).parent / "clients" / "fdsn" / "tests" / "data"
"""Of services, as ObsPy keeps them for its own tests."""
WADL = {name: DESCRIPTIONS / f"2014-01-07_iris_{name}.wadl" for name in ("event", "station", "dataselect")}


class Service:
    """Answers from one event file, one StationXML file and a stream; counts what it is asked."""

    def __init__(self, events: Path, stations: Path, waveforms: Any) -> None:
        self.events, self.stations, self.waveforms = events.read_bytes(), stations.read_bytes(), waveforms
        self.asked: list[str] = []
        self.failing: set[str] = set()
        """services that answer with an error, or stations whose waveforms do"""
        self.cut_short: set[str] = set()
        """stations whose waveforms are half an answer"""

    def answer(self, url: str) -> tuple[int, bytes]:
        parts = urlsplit(url)
        service, kind = parts.path.split("/")[2], parts.path.rpartition("/")[2]
        if kind == "application.wadl":
            return 200, WADL[service].read_bytes()
        if kind in ("catalogs", "contributors"):
            names = kind.capitalize(), kind.capitalize()[:-1]
            return 200, "<?xml version='1.0'?><{0}><{1}>GCMT</{1}></{0}>".format(*names).encode()
        if kind == "version":
            return 200, b"1.1.0"
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        station = query.get("station", "")
        self.asked.append(service if service != "dataselect" else f"dataselect {station}")
        if service in self.failing or station in self.failing:
            return 500, b"out of order"
        if service == "event":
            return 200, self.events
        if service == "station":
            return 200, self.stations
        start, end = obspy.UTCDateTime(query["starttime"]), obspy.UTCDateTime(query["endtime"])
        found = self.waveforms.select(network=query["network"], station=station).slice(start, end)
        if not found:
            return 204, b""
        buffer = io.BytesIO()
        found.write(buffer, format="MSEED")
        content = buffer.getvalue()
        return 200, content[:100] if station in self.cut_short else content


@contextmanager
def serving(service: Service) -> Iterator[str]:
    """The address of a server that runs until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content = service.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
