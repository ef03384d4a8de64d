"""Earthquakes, responses and waveforms from an FDSN web service, through ObsPy's client.

What is on disk is not asked for again: a fetch that was ended goes on where it was. `windows` takes what it leaves:

    events.xml, stations.xml                 as the server gave them
    waveforms/EVENT/NET.STA.mseed            one file per earthquake and station, raw records
    waveforms/EVENT/NET.STA.nodata           the server has none
    fetch.json                               what was asked for
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from craton.errors import UserError, words_of
from craton.runs.files import read_json, remove_half_written, replaced, write_json
from craton.runs.folder import Folder, RunFile
from craton.runs.progress import ProgressBar
from craton.runs.words import rate_text
from craton.seismology.files import need_obspy, read_by_obspy
from craton.tomography.data.catalogue import Events
from craton.tomography.waveforms.config import WaveformConfig
from craton.tomography.waveforms.decisions import Ledger
from craton.tomography.waveforms.records.archive import matching_files
from craton.tomography.waveforms.records.earthquakes import read_earthquakes
from craton.tomography.waveforms.records.responses import runs_at
from craton.tomography.waveforms.records.rotation import distance_deg, place_of

MOST_FAILURES = 5
"""So many requests in a row that fail: the server is down, or does not want us."""


class FetchFolder(Folder):
    """Names of the files."""

    events = RunFile("events.xml")
    stations = RunFile("stations.xml")
    request = RunFile("fetch.json")

    def waveforms(self, event: str, station: str) -> Path:
        """The file of one earthquake and station."""
        return self.path / "waveforms" / event / f"{station}.mseed"

    @property
    def files(self) -> tuple[Path, ...]:
        """All but waveforms."""
        return self.events, self.stations, self.request


class RequestFailed(Exception):
    """A request that may succeed another time."""


class NoData(RequestFailed):
    """The server has none."""


def downloaded(file: Path, request: Callable[[str], None]) -> None:
    """Has `request` write a file, which takes its name when it is whole. RequestFailed; or NoData, when the server has none."""
    from obspy.clients.fdsn.header import FDSNNoDataException

    with replaced(file) as aside:
        try:
            request(str(aside))
        except FDSNNoDataException as error:
            raise NoData(words_of(error)) from None
        except Exception as error:  # of ObsPy, urllib, sockets, readers
            raise RequestFailed(words_of(error)) from None


@dataclass
class Fetched:
    """Counts of one fetch; waveforms are files, one per earthquake and station."""

    earthquakes: int = 0
    without_tensor: int = 0
    stations: int = 0
    there_before: int = 0
    new: int = 0
    no_data: int = 0
    failed: int = 0
    bytes: int = 0
    last_failure: str = ""

    def __str__(self) -> str:
        text = (
            f"{self.earthquakes} earthquakes, {self.stations} stations: {self.new} files of waveforms fetched "
            f"({self.bytes / 1e6:.1f} MB), {self.there_before} were there, {self.no_data} times the server has no data"
        )
        if self.without_tensor:
            text += f"; {self.without_tensor} earthquakes cannot be used (no moment tensor, or none that is whole): "
            text += "[input] events takes a file of Global CMT solutions (.ndk) in place of the server's"
        if self.failed:
            text += f"; {self.failed} requests failed, the last: {self.last_failure}: the same command tries them again"
        return text


def fetch(config: WaveformConfig, console: Any = None) -> Fetched:
    """Fetches everything that [fetch] names and the folder lacks. Not collective: one process asks.

    UserError where the server cannot be reached, where no earthquake is usable, or where the folder was fetched by another request.
    """
    need_obspy("craton tomography data fetch")
    folder = FetchFolder(config.fetch.directory)
    folder.make()
    folder.lock()
    remove_half_written(folder.path.glob("waveforms/*"))
    try:
        check_request(folder, config)
        return Fetcher(config, folder, console).run()
    finally:
        folder.release()


def check_request(folder: FetchFolder, config: WaveformConfig) -> None:
    """Two requests in one folder would be told apart by nobody."""
    settings, processing = config.fetch, config.processing
    request = {name: value for name, value in asdict(settings).items() if name not in ("directory", "timeout_s")}
    request |= {"before_s": processing.before_s, "after_s": processing.after_s, "events": config.input.events}
    if not folder.request.exists():
        write_json(folder.request, request)
        return
    before = read_json(folder.request, "the record of a fetch", "the file that a fetch has left")
    for name, value in json.loads(json.dumps(request)).items():  # lists, not tuples
        if before.get(name) != value:
            raise UserError(
                f"{config.path}: {name} = {json.dumps(value)}, but {folder.path} was fetched with "
                f"{json.dumps(before.get(name))}; allowed: the same, or another [fetch] directory"
            )


Wanted = tuple[int, str, str]
"""One file of waveforms: row of the event, network and station."""


@dataclass
class Fetcher:
    """One run of the command."""

    config: WaveformConfig
    folder: FetchFolder
    console: Any
    done: Fetched = field(default_factory=Fetched)
    clients: dict[str, Any] = field(default_factory=dict)
    """by server"""

    def run(self) -> Fetched:
        """Events, stations, then the waveforms that are not there yet."""
        done = self.done
        if not self.config.input.events and not self.folder.events.exists():
            self._fetch_events()
        events = self._usable_events()
        if not self.folder.stations.exists():
            self._fetch_stations(events)
        wanted = list(self._wanted(events))
        missing = [item for item in wanted if not self._is_there(self._file(events, item))]
        done.there_before = len(wanted) - len(missing)
        if missing:
            self._fetch_waveforms(events, wanted, missing)
        return done

    def _client(self, server: str) -> Any:
        from obspy.clients.fdsn import Client

        if server not in self.clients:
            try:
                with warnings.catch_warnings(action="ignore"):  # a short name that has been renamed
                    self.clients[server] = Client(server, timeout=self.config.fetch.timeout_s)
            except Exception as error:  # of ObsPy, urllib, the XML of the service description
                raise UserError(
                    f"[fetch] server = {server!r}: {words_of(error)}; allowed: an FDSN web service that answers"
                ) from None
        return self.clients[server]

    def _fetch_events(self) -> None:
        from obspy import UTCDateTime

        settings = self.config.fetch
        client = self._client(settings.event_server or settings.server)
        if not settings.start or not settings.end:
            raise self.config.wrong(
                "[fetch] start and end are missing; allowed: a date and time in UTC for both, or files in [input] events"
            )
        query = {
            "starttime": UTCDateTime(settings.start),
            "endtime": UTCDateTime(settings.end),
            "minmagnitude": settings.min_magnitude,
            "maxmagnitude": settings.max_magnitude,
            "maxdepth": settings.max_depth_km,
            **({"catalog": settings.catalog} if settings.catalog else {}),
        }
        self._ask("events", self.folder.events, lambda name: client.get_events(**query, filename=name))

    def _usable_events(self) -> Events:
        patterns, ledger = self.config.input.events, Ledger()
        files, setting = [self.folder.events], f"{self.config.path}: [fetch] events"
        if patterns:
            setting = f"{self.config.path}: [input] events"
            files = matching_files(patterns, self.config.folder, setting)
        events = read_earthquakes(files, (), ledger, setting)
        self.done.earthquakes = len(events)
        self.done.without_tensor = sum(item.stage == "event" and not item.accepted for item in ledger.decisions)
        return events

    def _fetch_stations(self, events: Events) -> None:
        from obspy import UTCDateTime

        settings, processing = self.config.fetch, self.config.processing
        client, times = self._client(settings.server), [UTCDateTime(text) for text in events.origin_time]
        query = {
            "network": ",".join(settings.networks),
            "station": ",".join(settings.stations),
            "location": ",".join(settings.locations),
            "channel": ",".join(settings.channels),
            "starttime": min(times) - processing.before_s,
            "endtime": max(times) + processing.after_s,
        }
        self._ask(
            "stations", self.folder.stations, lambda name: client.get_stations(**query, level="response", filename=name)
        )

    def _ask(self, what: str, file: Path, request: Callable[[str], None]) -> None:
        try:
            downloaded(file, request)
        except RequestFailed as error:
            raise UserError(f"[fetch] {what}: {error}; allowed: a request that the server answers") from None

    def _wanted(self, events: Events) -> Iterator[Wanted]:
        """Stations that ran at the time, within the distances of [windows]."""
        from obspy import UTCDateTime

        inventory = read_by_obspy("read_inventory", self.folder.stations, "StationXML (remove it to ask again)")
        stations = [(network.code, station) for network in inventory for station in network]
        self.done.stations = len({(network, station.code) for network, station in stations})
        limits = self.config.windows
        seen = set()
        for row, text in enumerate(events.origin_time):
            time = UTCDateTime(text)
            for network, station in stations:
                distance = distance_deg(place_of(events, row), (station.latitude, station.longitude))
                item = (row, network, station.code)
                if item in seen or not limits.min_distance_deg <= distance <= limits.max_distance_deg:
                    continue
                if any(runs_at(channel, time) for channel in station):
                    seen.add(item)
                    yield item

    def _file(self, events: Events, item: Wanted) -> Path:
        row, network, station = item
        return self.folder.waveforms(events.name[row], f"{network}.{station}")

    @staticmethod
    def _is_there(file: Path) -> bool:
        return file.exists() or file.with_suffix(".nodata").exists()

    def _fetch_waveforms(self, events: Events, wanted: list[Wanted], missing: list[Wanted]) -> None:
        done, started, failures = self.done, time.monotonic(), 0

        def rate(per_s: float) -> str:
            return f"{rate_text(per_s, 'files')}, {rate_text(done.bytes / max(time.monotonic() - started, 1e-9), 'B')}"

        with ProgressBar("fetching waveforms", len(wanted), "files", self.console, rate) as bar:
            bar.begin_at(len(wanted) - len(missing))
            for item in missing:
                failures = 0 if self._fetch_one(events, item) else failures + 1
                if failures == MOST_FAILURES:
                    raise UserError(
                        f"[fetch] waveforms: {failures} requests in a row failed, the last: {done.last_failure}; {done.new} files "
                        "were fetched; allowed: the same command again, which goes on from here"
                    )
                bar.advance()

    def _fetch_one(self, events: Events, item: Wanted) -> bool:
        """False where the request failed. A marker keeps what the server does not have from being asked again."""
        from obspy import UTCDateTime, read

        (row, network, station), file, done = item, self._file(events, item), self.done
        file.parent.mkdir(parents=True, exist_ok=True)
        settings, processing = self.config.fetch, self.config.processing
        centroid_time = UTCDateTime(events.origin_time[row])
        start, end = centroid_time - processing.before_s, centroid_time + processing.after_s
        codes = network, station, ",".join(settings.locations), ",".join(settings.channels)
        client = self._client(settings.server)

        def request(name: str) -> None:
            client.get_waveforms(*codes, start, end, filename=name)
            read(name, headonly=True)  # an answer that was cut short must not stay

        try:
            downloaded(file, request)
        except NoData:
            file.with_suffix(".nodata").write_text("the server has no data\n", encoding="utf-8")
            done.no_data += 1
        except RequestFailed as error:
            done.failed += 1
            done.last_failure = f"{network}.{station} of {events.name[row]}: {error}"
            return False
        else:
            done.bytes += file.stat().st_size
            done.new += 1
        return True
