"""The configuration of `craton tomography data fetch`, `check` and `windows`: what may be written, its defaults, what is allowed.

`craton tomography data template` prints all of it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from craton.errors import UserError
from craton.seismology.wave_run.config_tables import listed
from craton.settings import (
    Configuration,
    Reader,
    boolean,
    check_keys,
    choice,
    number,
    read_table,
    read_toml,
    setting,
    template_of,
    text,
)
from craton.tomography.config.tables import DataConfig, EarthConfig, ModesConfig

COMPONENTS = ("Z", "R", "T")
ARCS = ("minor", "major")
Texts = tuple[str, ...]
INVERSION = {item.name: item for item in dataclasses.fields(DataConfig)}
"""filter_periods_s and sample_interval_s must mean the same here and in the inversion's [data]."""
NEEDS = {"folder": "folder", "instaseis": "database"}
"""The setting of [synthetics] that a kind cannot do without."""


def _as_in_data(name: str, text: str) -> Any:
    """A setting with the default and the reader of the inversion's [data]."""
    return setting(INVERSION[name].default, INVERSION[name].metadata["read"], text)


def _texts(allowed: str, *, least: int = 0) -> Reader:
    """A list of strings, or one string for a list of one."""

    def read(value: Any) -> tuple[str, ...]:
        items: tuple[str, ...] = listed(text, allowed)([value] if isinstance(value, str) else value)
        if len(items) < least:
            raise ValueError(allowed)
        return items

    return read


def _some_of(*choices: str) -> Reader:
    allowed = f"a list with at least one of {', '.join(choices)}, each once"

    def read(value: Any) -> tuple[str, ...]:
        items: tuple[str, ...] = _texts(allowed, least=1)(value)
        if len(set(items)) != len(items) or not set(items) <= set(choices):
            raise ValueError(allowed)
        return items

    return read


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.replace("_", "").replace("-", "").isalnum():
        raise ValueError("a name of letters, digits, - and _")
    return value


def _utc(value: Any) -> str:
    """An empty text, or a date and time; TOML's own dates are taken too."""
    shown = value.isoformat() if hasattr(value, "isoformat") else value
    try:
        if shown == "" or not datetime.fromisoformat(shown).utcoffset():
            return str(shown)
    except (TypeError, ValueError):
        pass
    raise ValueError("a date and time in UTC, 2013-05-24T05:40:00")


def _pre_filter(value: Any) -> tuple[float, ...]:
    try:
        return () if value in ([], ()) else tuple(INVERSION["filter_periods_s"].metadata["read"](value))
    except ValueError as error:
        raise ValueError(f"[] for none, or {error}") from None


def _interval(value: Any) -> tuple[float, float]:
    allowed = "[least, most] with 0 < least < most <= 1e6"
    least, most = listed(number(1e-6, 1e6), allowed, (2,))(value)
    if not least < most:
        raise ValueError(allowed)
    return least, most


@dataclass(frozen=True)
class OutputConfig:
    """Where the results go."""

    directory: str = setting(
        "",
        text,
        'folder of the results, relative to where you start craton; "" is <name of this file>-data',
        path="output",
    )


@dataclass(frozen=True)
class InputConfig:
    """Observed waveforms, instrument responses and earthquakes; patterns (*, **) are relative to this file's folder."""

    waveforms: Texts = setting(
        (),
        _texts("a list of file patterns"),
        "MiniSEED, SAC, ASDF and what else ObsPy reads; [] is what fetch has left",
    )
    responses: Texts = setting(
        (), _texts("a list of file patterns"), "StationXML, RESP, dataless SEED; [] is what fetch or an ASDF file has"
    )
    events: Texts = setting(
        (), _texts("a list of file patterns"), "QuakeML, NDK, CMTSOLUTION; [] is what fetch or an ASDF file has"
    )


@dataclass(frozen=True)
class ProcessingConfig:
    """From counts to displacement in the inversion's band."""

    filter_periods_s: tuple[float, float, float, float] = _as_in_data(
        "filter_periods_s", "seconds; cosine taper T1..T2, pass T2..T3, taper T3..T4: as in the inversion's [data]"
    )
    sample_interval_s: float = _as_in_data("sample_interval_s", "seconds; as in the inversion's [data]")
    before_s: float = setting(
        1800.0, number(0, 1e5, "s"), "seconds before the centroid time that are read, for the noise"
    )
    after_s: float = setting(10800.0, number(60, 1e6, "s"), "seconds after the centroid time that are read, at most")
    taper_s: float = setting(
        120.0, number(0, 1e4, "s"), "seconds at both ends that are tapered, and not used afterwards"
    )
    water_level_dB: float = setting(
        0.0,
        number(0, 400, "dB"),
        "a response weaker than its largest in the band by more than this is raised to there; 0 for no water level",
    )
    pre_filter_periods_s: tuple[float, ...] = setting(
        (), _pre_filter, "seconds; one more taper, wider than the band, with which the response is removed; [] for none"
    )
    largest_gap_s: float = setting(10.0, number(0, 1e4, "s"), "seconds; shorter gaps are bridged by a line")
    locations: Texts = setting(
        ("00", "", "10"),
        _texts("a list of location codes"),
        "preferred location codes, the best first; others come after",
    )
    bands: Texts = setting(
        ("LH", "VH", "MH", "BH", "HH"),
        _texts("a list of band and instrument codes such as LH", least=1),
        "band and instrument codes that are used, the best first",
    )


@dataclass(frozen=True)
class WindowsConfig:
    """Which windows are looked for, and what a window must be like to be accepted."""

    components: Texts = setting(("T",), _some_of(*COMPONENTS), "of Z (up), R (away from the source), T (transverse)")
    arcs: Texts = setting(ARCS, _some_of(*ARCS), "of minor (the short way round the Earth) and major (the long way)")
    min_distance_deg: float = setting(20.0, number(0, 180, "degrees"), "degrees")
    max_distance_deg: float = setting(160.0, number(0, 180, "degrees"), "degrees")
    min_signal_to_noise: float = setting(3.0, number(0, 1e6), "rms of the window over rms of the noise, at least")
    min_correlation: float = setting(0.75, number(-1, 1), "of observed and synthetic at the best time shift, at least")
    max_shift_s: float = setting(40.0, number(0, 1000, "s"), "seconds; size of the best time shift, at most")
    amplitude_ratio: tuple[float, ...] = setting(
        (0.4, 2.5),
        _interval,
        "[least, most] of the rms of the observed over that of the synthetic, at the best time shift",
    )
    max_arc_overlap: float = setting(0.3, number(0, 1), "part of a window that windows of the other arc cover, at most")
    min_length_s: float = setting(
        200.0, number(0, 1e5, "s"), "seconds; what is left of a window beside its neighbours, at least"
    )
    min_noise_s: float = setting(200.0, number(0, 1e5, "s"), "seconds of noise before the first arrival, at least")
    fastest_arrival_km_s: float = setting(
        14.0, number(1, 100, "km/s"), "km/s; noise is what comes before distance / this, and before the first window"
    )
    noise_floor: float = setting(
        0.05,
        number(0, 10),
        "part of a window's rms that is added (in squares) to the noise: what the theory cannot explain",
    )


@dataclass(frozen=True)
class PhaseConfig:
    """Waves of one kind: they arrive between distance / fastest - pad and distance / slowest + pad."""

    name: str = setting("fundamental", _name, "as it stands in data.h5")
    components: Texts = setting(COMPONENTS, _some_of(*COMPONENTS), "on which it is looked for")
    fastest_km_s: float = setting(4.7, number(0.5, 50, "km/s"), "km/s; group velocity")
    slowest_km_s: float = setting(4.1, number(0.5, 50, "km/s"), "km/s; group velocity")
    pad_s: float = setting(100.0, number(0, 10000, "s"), "seconds")


PHASES = (
    PhaseConfig("fundamental", ("T",), 4.7, 4.1, 100.0),
    PhaseConfig("overtones", ("T",), 8.0, 4.7, 50.0),
    PhaseConfig("fundamental", ("Z", "R"), 4.2, 3.5, 100.0),
    PhaseConfig("overtones", ("Z", "R"), 8.0, 4.4, 50.0),
)
"""Love and Rayleigh waves between 80 and 400 s, and what comes before them from S on."""


@dataclass(frozen=True)
class SyntheticsConfig:
    """Seismograms of the model, g(m), that windows are picked against."""

    kind: str = setting(
        "modes",
        choice("modes", "folder", "instaseis"),
        '"modes" sums modes of [earth], as the inversion does; "folder" reads another solver\'s files; "instaseis" a '
        "database",
    )
    complete: bool = setting(
        False,
        boolean,
        "sums of modes: all of them on each component, as a seismometer shows them (gravity, tilt), where the "
        "inversion has toroidal ones on T and spheroidal ones on Z and R",
    )
    folder: str = setting(
        "", text, "of SPECFEM3D_GLOBE's .sem.ascii or .sem.sac, or any SAC or MiniSEED files; {event} is its name"
    )
    database: str = setting("", text, "folder of an AxiSEM database, for Instaseis")
    convolve: bool = setting(
        False, boolean, "the folder's seismograms are of an impulse: convolve them with the event's moment rate"
    )


@dataclass(frozen=True)
class FetchConfig:
    """What `craton tomography data fetch` asks of an FDSN web service."""

    server: str = setting("IRIS", text, "a name that ObsPy knows (IRIS, GEOFON, ORFEUS, ...) or http://...")
    event_server: str = setting("", text, 'of the events, where it is another one; "" is `server`')
    directory: str = setting("", text, 'folder of what is fetched; "" is <name of this file>-fetched', path="output")
    start: str = setting("", _utc, "earthquakes from this time on, UTC; needed unless [input] events names files")
    end: str = setting("", _utc, "to this time")
    min_magnitude: float = setting(6.5, number(0, 10), "of the earthquakes")
    max_magnitude: float = setting(10.0, number(0, 10), "of the earthquakes")
    max_depth_km: float = setting(800.0, number(0, 800, "km"), "km")
    catalog: str = setting("", text, 'of earthquakes, as the server names it (GCMT); "" is the server\'s own')
    networks: Texts = setting(
        ("II", "IU", "G", "GE"), _texts("a list of network codes", least=1), "network codes; * and ? stand for any"
    )
    stations: Texts = setting(("*",), _texts("a list of station codes", least=1), "station codes")
    locations: Texts = setting(("*",), _texts("a list of location codes", least=1), '"--" is the empty one')
    channels: Texts = setting(("LH*",), _texts("a list of channel codes", least=1), "channel codes")
    timeout_s: float = setting(60.0, number(1, 3600, "s"), "seconds to wait for an answer")


@dataclass(frozen=True, kw_only=True, repr=False)
class WaveformConfig(Configuration):
    """A whole configuration, checked. `folder` is what patterns are relative to."""

    tables = {
        "output": OutputConfig,
        "input": InputConfig,
        "processing": ProcessingConfig,
        "windows": WindowsConfig,
        "synthetics": SyntheticsConfig,
        "fetch": FetchConfig,
        "earth": EarthConfig,
        "modes": ModesConfig,
    }

    elsewhere = {
        "craton tomography run": (
            *(
                "run",
                "theory",
                "basis",
                "start",
                "events",
                "stations",
                "paths",
                "data",
                "target",
                "corrections",
                "prior",
            ),
            *("inversion", "assembly", "report"),
        )
    }

    output: OutputConfig
    input: InputConfig
    processing: ProcessingConfig
    windows: WindowsConfig
    synthetics: SyntheticsConfig
    fetch: FetchConfig
    earth: EarthConfig
    modes: ModesConfig
    phases: tuple[PhaseConfig, ...]

    @property
    def folder(self) -> Path:
        """The folder of the file, which patterns are relative to."""
        return self.path.absolute().parent

    @classmethod
    def build(cls, raw: Mapping[str, Any], path: Path) -> Self:
        """From what a TOML file holds, checked; [[phases]] in it replace all of PHASES. UserError as of Configuration.build."""
        allowed, what = {**cls.tables, "phases": PhaseConfig}, f"{path}: unknown table"
        check_keys(raw, allowed, what, brackets=True, elsewhere=cls.elsewhere)
        given = raw.get("phases", [dataclasses.asdict(phase) for phase in PHASES])
        if not isinstance(given, list) or not given:
            raise UserError(f"{path}: phases = {given!r}; allowed: one or more tables [[phases]]")
        phases = tuple(
            read_table(PhaseConfig, f"[[phases]] {at}", one, str(path), path.parent) for at, one in enumerate(given, 1)
        )
        values = cls._read(raw, path)
        for table, ending in (("output", "data"), ("fetch", "fetched")):
            if not values[table].directory:
                default = str(Path.cwd() / f"{path.stem}-{ending}")
                values[table] = dataclasses.replace(values[table], directory=default)
        config = cls(**values, phases=phases, path=path)
        config.check()
        return config

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a TOML or JSON file holds them."""
        return super().to_dict() | {"phases": [dataclasses.asdict(phase) for phase in self.phases]}

    def phases_of(self, component: str) -> tuple[PhaseConfig, ...]:
        """The waves that are looked for on a component."""
        return tuple(phase for phase in self.phases if component in phase.components)

    def check(self) -> None:
        """Refuses what no single setting can be wrong about alone. UserError."""
        for line in self._wrong_lines():
            raise self.wrong(line)

    def _wrong_lines(self) -> Iterator[str]:
        processing, windows, synthetics = self.processing, self.windows, self.synthetics
        periods, wide = processing.filter_periods_s, processing.pre_filter_periods_s
        if 2 * processing.sample_interval_s > periods[3]:
            yield (
                f"[processing] sample_interval_s = {processing.sample_interval_s:g}; allowed: at most half of the shortest "
                f"period let through, {periods[3] / 2:g} s"
            )
        if wide and not (wide[1] >= periods[0] and wide[2] <= periods[3]):
            yield (
                f"[processing] pre_filter_periods_s = {list(wide)}; allowed: a band that passes all between "
                f"{periods[0]:g} and {periods[3]:g} s untouched"
            )
        if windows.min_distance_deg >= windows.max_distance_deg:
            yield (
                f"[windows] min_distance_deg = {windows.min_distance_deg:g}; "
                f"allowed: less than max_distance_deg = {windows.max_distance_deg:g}"
            )
        for phase in self.phases:
            if phase.slowest_km_s >= phase.fastest_km_s:
                yield (
                    f"[[phases]] {phase.name}: slowest_km_s = {phase.slowest_km_s:g}; allowed: less than fastest_km_s = "
                    f"{phase.fastest_km_s:g}"
                )
        for component in windows.components:
            names = [phase.name for phase in self.phases_of(component)]
            if not names:
                yield f"[windows] components names {component}, but no [[phases]] is on {component}; allowed: one that is"
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice:
                yield f"[[phases]] {twice} stands twice for component {component}; allowed: each name once per component"
        if synthetics.kind == "modes" and periods[3] < self.modes.shortest_period_s:
            yield (
                f"[processing] filter_periods_s ends at {periods[3]:g} s; allowed: not below [modes] shortest_period_s = "
                f"{self.modes.shortest_period_s:g} s, because shorter modes are not computed"
            )
        needed = NEEDS.get(synthetics.kind)
        if needed and not getattr(synthetics, needed):
            yield f'[synthetics] {needed} is missing; allowed: a folder, because kind = "{synthetics.kind}"'


def load_waveform_config(path: str | os.PathLike[str]) -> WaveformConfig:
    """Reads and checks a configuration file. UserError names the key, the value and what is allowed."""
    path = Path(path)
    return WaveformConfig.build(read_toml(path, "craton tomography data template"), path)


def waveform_template() -> str:
    """A commented TOML file with every table, key and default."""
    heading = "Observed seismograms for a tomography run of Craton: craton tomography data windows THIS_FILE"
    phases = [template_of("", {"[phases]": PhaseConfig}, dataclasses.asdict(phase), width=52) for phase in PHASES]
    return "\n".join(
        [
            template_of(heading, WaveformConfig.tables, width=52),
            f"# {PhaseConfig.__doc__} One [[phases]] in a file replaces all of these.",
            *(text[text.index("[[phases]]") :] for text in phases),
        ]
    )
