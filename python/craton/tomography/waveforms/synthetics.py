"""Seismograms of a model, g(m): of the mode sum, another solver's files, or an AxiSEM database.

All are in the inversion's band, at the inversion's times, in metres. In the hybrid method (French et al. 2015, section II) an
outside solver gives the residual d - g(m), and the mode sum the Jacobian. `predicted` gives that g(m), window after window in the
order of `observed` in data.h5.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from craton._craton import ForwardProblem, ModelBasis, PathSet, SpheroidalCatalogue
from craton._craton import ModeSynthetics as CompleteSynthetics
from craton.errors import UserError, words_of
from craton.seismology.files import need_obspy, read_by_obspy, readable
from craton.seismology.geometry.latitudes import geocentric_deg
from craton.tomography.data.catalogue import Events, Stations
from craton.tomography.data.paths import PathTable
from craton.tomography.model.earth_table import reference_earth
from craton.tomography.theory.modes import configured_spheroidal_catalogue, mode_catalogue
from craton.tomography.waveforms.config import COMPONENTS, WaveformConfig
from craton.tomography.waveforms.records.asdf import ENDINGS as ENDINGS_OF_ASDF
from craton.tomography.waveforms.records.asdf import AsdfTrace, traces_of
from craton.tomography.waveforms.records.rotation import back_azimuth_deg, component_vector, place_of
from craton.tomography.waveforms.records.spectra import in_band, triangle_gain, with_ends_tapered

if TYPE_CHECKING:
    from craton.tomography.config.load import TheorySettings

f64 = NDArray[np.float64]

ASCII_ENDINGS = (".sem.ascii", ".ascii", ".semd", ".sem")
HORIZONTAL = ("N", "E")
OF_AXISEM = re.compile(r"(?P<station>[^_]+)_(?P<network>[^_]+)_disp_post(_.*)?_(?P<component>[ENZ])\.dat")
"""Names of AxiSEM's seismograms after its post-processing, with receiver components enz."""


ORIGIN_WITHIN_S = 60.0
"""A file's origin may be a hypocentre's, which is before the centroid by about the half duration, and wrong by some seconds."""
LAST_YEAR_OF_NO_DATE = 1970
"""Times of synthetic seismograms may count from nowhere: ObsPy takes a date that is unset for 1970, and SAC's year 0 for 1900."""
SHORTEST_STEP_S = 1e-3
"""Between samples. No solver of the whole Earth takes shorter steps; a trace is lengthened by two longest periods of them."""
MOST_M = 1e30
"""Of a displacement: its square and its sums are still numbers."""


class SyntheticSource(Protocol):
    """Where synthetic seismograms come from. Not collective; not thread-safe."""

    def describe(self) -> str:
        """For the record."""
        ...

    def trace(self, event: int, station: int, component: str) -> f64 | None:
        """Displacement in metres at 0, dt, 2 dt, ... after the centroid time: `samples` values. component: Z, R or T.

        NaN where the solver did not get that far; None where the source has no such seismogram.
        """
        ...


def synthetic_source(config: WaveformConfig, events: Events, stations: Stations, samples: int) -> SyntheticSource:
    """As [synthetics] says. UserError where a package, a folder or a database is missing."""
    kinds: dict[str, Callable[..., SyntheticSource]] = {
        "modes": ModeSynthetics,
        "folder": FolderSynthetics,
        "instaseis": InstaseisSynthetics,
    }
    return kinds[config.synthetics.kind](config, events, stations, samples)


def predicted(source: SyntheticSource, paths: PathTable) -> f64:
    """g(m) of all windows, one after the other. UserError names the first window that the source does not have."""
    out = np.empty(int(paths.offsets[-1]))
    kept: tuple[Any, f64 | None] = (None, None)
    for path in range(len(paths)):
        key = int(paths.event[path]), int(paths.station[path]), paths.component[path]
        if kept[0] != key:
            kept = key, source.trace(*key)
        first, rest = whole_and_rest(float(paths.t_first_s[path]) / paths.sample_interval_s)
        trace = kept[1] if kept[1] is None or not rest else earlier(kept[1], rest)
        if trace is not None and first < 0:  # before the source, where nothing has moved
            trace, first = np.concatenate([np.zeros(-first), trace]), 0
        window = None if trace is None else trace[first : first + int(paths.samples[path])]
        if window is None or len(window) < paths.samples[path] or not np.all(np.isfinite(window)):
            raise UserError(
                f"{source.describe()}: no {key[2]} seismogram for {paths.describe(path)} at {paths.t_first_s[path]:g} s and the "
                f"{paths.samples[path]} samples from there; allowed: a source that has all windows"
            )
        out[paths.offsets[path] : paths.offsets[path + 1]] = window if paths.gain is None else paths.gain[path] * window
    return out


ON_THE_GRID = 1e-6
"""A time that is so few samples off the grid is on it (outside/exchange.py)."""


def whole_and_rest(samples: float) -> tuple[int, float]:
    """A number of samples as a whole one and what is beyond it, 0 where that is rounding."""
    nearest = round(samples)
    if abs(samples - nearest) <= ON_THE_GRID:
        return nearest, 0.0
    return int(np.floor(samples)), samples - np.floor(samples)


def earlier(trace: f64, samples: float) -> f64:
    """A trace whose samples are those between, `samples` < 1 further on: of its band, by its spectrum.

    NaN, where the trace does not begin or has ended, stays so.
    """
    there = np.flatnonzero(np.isfinite(trace))
    out = np.full(len(trace), np.nan)
    if len(there):
        known = slice(there[0], there[-1] + 1)
        mirrored = np.concatenate([trace[known], trace[known][::-1]])  # no step at either end
        turned = np.fft.rfft(mirrored) * np.exp(2j * np.pi * samples * np.fft.rfftfreq(len(mirrored)))
        out[known] = np.fft.irfft(turned, len(mirrored))[: len(mirrored) // 2]
    return out


class ModeSynthetics:
    """Sums of modes of the reference Earth: toroidal ones for T and spheroidal ones for Z and R.

    With `complete` all of them on each component, as a seismometer shows them, which gravity and tilt act on.
    """

    def __init__(self, config: WaveformConfig, events: Events, stations: Stations, samples: int) -> None:
        self._config = config
        self._earth = reference_earth(config.earth)
        self._theory = cast("TheorySettings", config)  # of which modes ask for [earth] and [modes] alone
        self._toroidal = mode_catalogue(self._earth, self._theory, lambda _: None)
        self._basis = ModelBasis(1, np.linspace(self._earth.cmb_radius_m, self._earth.solid_surface_radius_m, 4))
        self._reference = np.zeros(self._basis.size)
        self._events, self._stations, self._samples = events, stations, samples
        self._kept: tuple[tuple[int, int], f64] = (-1, -1), np.empty(0)

    def describe(self) -> str:
        """For the record."""
        if self._config.synthetics.complete:
            return f"all modes of {self._earth.name}, as a seismometer shows them"
        asked = self._config.windows.components
        kinds = [name for name, of in (("toroidal", "T"), ("spheroidal", "ZR")) if set(asked) & set(of)]
        return f"{' and '.join(kinds)} modes of {self._earth.name}"

    @cached_property
    def _transverse(self) -> ForwardProblem:
        return ForwardProblem(self._toroidal, self._basis, self._config.processing.filter_periods_s)

    @cached_property
    def _spheroidal(self) -> SpheroidalCatalogue:
        """They take longer to compute than toroidal ones, and are left alone where nobody asks."""
        return configured_spheroidal_catalogue(self._earth, self._theory, lambda _: None)

    @cached_property
    def _three_components(self) -> ForwardProblem:
        periods_s = self._config.processing.filter_periods_s
        return ForwardProblem(self._toroidal, self._basis, periods_s, "pava", self._spheroidal)

    @cached_property
    def _complete(self) -> CompleteSynthetics:
        periods_s = self._config.processing.filter_periods_s
        return CompleteSynthetics(self._spheroidal, self._toroidal, periods_s, seismometer=True)

    def trace(self, event: int, station: int, component: str) -> f64 | None:
        """As of SyntheticSource; there is always one."""
        if self._config.synthetics.complete:
            return np.array(self._complete_traces(event, station)[COMPONENTS.index(component)])
        forward = self._transverse if component == "T" else self._three_components
        events, stations, one = self._events, self._stations, np.zeros(1, np.int64)
        paths = PathSet(
            forward, events.latitude_deg[[event]], events.longitude_deg[[event]], 1e3 * events.depth_km[[event]],
            np.ascontiguousarray(events.moment_tensor_Nm[[event]]), events.half_duration_s[[event]],
            stations.latitude_deg[[station]], stations.longitude_deg[[station]], one, one, np.zeros(1),
            self._config.processing.sample_interval_s, np.array([self._samples]), component=[component],
        )  # fmt: skip
        return np.asarray(forward.seismograms(paths, 0, 1, self._reference, 1), np.float64)

    def _complete_traces(self, event: int, station: int) -> f64:
        """(3, samples): Z, R, T; those of the last pair are kept."""
        if self._kept[0] != (event, station):
            events, stations = self._events, self._stations
            shallowest_m = 6371e3 - self._earth.solid_surface_radius_m  # as in the inversion, a source is in rock
            found = self._complete.seismograms(
                float(events.latitude_deg[event]), float(events.longitude_deg[event]),
                max(1e3 * float(events.depth_km[event]), shallowest_m),
                np.ascontiguousarray(events.moment_tensor_Nm[event]), stations.latitude_deg[[station]],
                stations.longitude_deg[[station]], 0.0, self._config.processing.sample_interval_s, self._samples,
                float(events.half_duration_s[event]),
            )  # fmt: skip
            self._kept = (event, station), np.asarray(found)[0]
        return self._kept[1]


class _OtherSolver:
    """What the two below share: into the band and onto the grid."""

    def __init__(self, config: WaveformConfig, events: Events, stations: Stations, samples: int) -> None:
        self._config, self._events, self._stations, self._samples = config, events, stations, samples
        self._periods = config.processing.filter_periods_s
        self._times_s = config.processing.sample_interval_s * np.arange(samples, dtype=float)

    def _on_grid(self, samples: f64, start_s: float, delta_s: float, transfer: Any, where: str) -> f64:
        if not SHORTEST_STEP_S <= delta_s <= 0.5 * self._periods[3]:
            raise UserError(
                f"{where}: samples every {delta_s:g} s; allowed: {0.5 * self._periods[3]:g} s, twice in the shortest period of "
                f"[processing] filter_periods_s, or less, down to {SHORTEST_STEP_S:g} s"
            )
        taper_s = self._config.processing.taper_s
        tapered = with_ends_tapered(samples, 0, int(np.ceil(taper_s / delta_s)))  # it begins at rest
        found = in_band(tapered, start_s, delta_s, self._periods, self._times_s, transfer)
        found[(self._times_s < start_s) | (self._times_s > start_s + (len(samples) - 1) * delta_s - taper_s)] = np.nan
        return found


class FolderSynthetics(_OtherSolver):
    """Files of another solver, displacement in metres.

    SPECFEM3D_GLOBE's ASCII (two columns, seconds after the centroid time and metres; NET.STA.CHA.sem.ascii) and SAC. AxiSEM's
    post-processed text (the same columns; STA_NET_disp_post..._Z.dat, on N, E and Z). Any SAC or MiniSEED; ASDF, which holds many.
    UserError for a folder that is missing, or a file that is not so.
    """

    def __init__(self, config: WaveformConfig, events: Events, stations: Stations, samples: int) -> None:
        super().__init__(config, events, stations, samples)
        self._pattern = config.synthetics.folder
        self._files: dict[str, dict[tuple[str, str], Path | AsdfTrace]] = {}

    def describe(self) -> str:
        """For the record."""
        return f"folder {self._pattern}"

    def trace(self, event: int, station: int, component: str) -> f64 | None:
        """As of SyntheticSource. UserError for a folder that is missing, or a file that cannot be read."""
        name = self._stations.name[station]
        files = self._files_of(event)
        direct = self._component(event, files.get((name, component)))
        if direct is not None or component == "Z":
            return direct
        north, east = (self._component(event, files.get((name, letter))) for letter in HORIZONTAL)
        if north is None or east is None:
            return None
        toward = back_azimuth_deg(place_of(self._events, event), place_of(self._stations, station))
        _, to_north, to_east = component_vector(component, toward)
        return np.asarray(to_north * north + to_east * east)

    def _files_of(self, event: int) -> dict[tuple[str, str], Path | AsdfTrace]:
        """By station and component."""
        name = self._events.name[event]
        if name not in self._files:
            folder = self._config.folder / Path(self._pattern.replace("{event}", name)).expanduser()
            if not folder.is_dir():
                raise UserError(
                    f"[synthetics] folder = {self._pattern!r}: no folder {folder}; allowed: a folder of seismograms"
                )
            self._files[name] = dict(self._named(sorted(folder.iterdir())))
        return self._files[name]

    @staticmethod
    def _named(files: Iterable[Path]) -> Iterable[tuple[tuple[str, str], Path | AsdfTrace]]:
        for file in files:
            if not file.is_file():
                continue
            if file.suffix in ENDINGS_OF_ASDF:
                yield from traces_of(file)
                continue
            if named := OF_AXISEM.fullmatch(file.name):
                yield (f"{named['network']}.{named['station']}", named["component"]), file
                continue
            if file.name.endswith(ASCII_ENDINGS):
                network, station, channel = [*file.name.split("."), "", ""][:3]
                for name in (f"{network}.{station}", f"{station}.{network}") if channel else ():
                    yield (name, channel[-1]), file  # older versions begin with the station
                continue
            need_obspy(file)
            from obspy import read

            try:
                with warnings.catch_warnings(action="ignore"):
                    stats = read(str(file), headonly=True)[0].stats
            except Exception:  # of many readers: the folder may hold other things
                continue
            yield (f"{stats.network}.{stats.station}", (stats.channel or " ")[-1]), file

    def _read(self, event: int, file: Path | AsdfTrace) -> tuple[f64, float, float]:
        """Samples, seconds of the first one after the centroid time, seconds between them."""
        if isinstance(file, AsdfTrace):
            return file.read(str(self._events.origin_time[event]))
        in_columns = file.name.endswith(ASCII_ENDINGS) or OF_AXISEM.fullmatch(file.name)
        return self._ascii(file) if in_columns else self._by_obspy(event, file)

    def _component(self, event: int, file: Path | AsdfTrace | None) -> f64 | None:
        if file is None:
            return None
        samples, start_s, delta_s = self._read(event, file)
        where = f"{file.file}: {file.name}" if isinstance(file, AsdfTrace) else str(file)
        if not np.all(np.abs(samples) < MOST_M):  # nor NaN
            raise UserError(f"{where}: holds samples that are not finite, or above {MOST_M:g}; allowed: metres")
        half_duration_s = float(self._events.half_duration_s[event]) if self._config.synthetics.convolve else 0.0
        return self._on_grid(samples, start_s, delta_s, lambda f: triangle_gain(half_duration_s, f), where)

    @staticmethod
    def _ascii(file: Path) -> tuple[f64, float, float]:
        with readable(file, "two columns, seconds and metres", ""), warnings.catch_warnings(action="error"):
            table = np.loadtxt(file, ndmin=2)  # warns of an empty file
        steps = np.diff(table[:, 0]) if table.shape[1] == 2 and np.isfinite(table[:, 0]).all() else np.empty(0)
        step = float(steps.mean()) if len(steps) > 1 else 0.0
        if not (step > 0.0 and np.all(np.abs(steps - step) <= 1e-2 * step)):
            raise UserError(
                f"{file}: {table.shape[0]} rows of {table.shape[1]} columns; allowed: two columns, "
                "seconds (evenly spaced) and metres"
            )
        return table[:, 1].copy(), float(table[0, 0]), step

    def _by_obspy(self, event: int, file: Path) -> tuple[f64, float, float]:
        """SAC files may count from the event (its origin time in `o`); other times are absolute. UserError for another event's."""
        from obspy import UTCDateTime

        allowed = "SAC or MiniSEED, metres"
        stream = read_by_obspy("read", file, allowed)
        with readable(file, allowed, ""):  # a header may say anything
            trace = stream[0]
            sac, centroid = trace.stats.get("sac", {}), UTCDateTime(self._events.origin_time[event])
            samples, delta_s = np.asarray(trace.data, float), float(trace.stats.delta)
            if "o" not in sac:
                return samples, float(trace.stats.starttime - centroid), delta_s
            start_s = float(sac["b"]) - float(sac["o"])
            origin = trace.stats.starttime - start_s
        most_s = float(self._events.half_duration_s[event]) + ORIGIN_WITHIN_S
        if origin.year > LAST_YEAR_OF_NO_DATE and abs(origin - centroid) > most_s:
            raise UserError(
                f"{file}: its origin time is {origin}, that of event {self._events.name[event]} {centroid}; "
                f"allowed: at most {most_s:.0f} s apart, or no date"
            )
        return samples, start_s, delta_s


class InstaseisSynthetics(_OtherSolver):
    """A database of Green's functions that AxiSEM has computed (van Driel et al. 2015, doi:10.5194/se-6-701-2015).

    The source that it was computed with is divided out; the event's triangle takes its place. UserError where the package instaseis
    is missing, or the database is, or its period is too long for the band.
    """

    def __init__(self, config: WaveformConfig, events: Events, stations: Stations, samples: int) -> None:
        super().__init__(config, events, stations, samples)
        try:
            import instaseis
        except ImportError:
            raise UserError(
                '[synthetics] kind = "instaseis": the package instaseis is not installed; allowed: pip install instaseis, '
                'or kind = "modes" or "folder"'
            ) from None
        folder = config.folder / Path(config.synthetics.database).expanduser()
        try:
            self._database = instaseis.open_db(str(folder))
        except Exception as error:  # of many kinds
            raise UserError(
                f"[synthetics] database = {folder}: {words_of(error)}; allowed: a folder of AxiSEM's"
            ) from None
        self._instaseis = instaseis
        info = self._database.info
        self._delta_s, self._start_s = float(info.dt), -float(info.src_shift)
        rate = np.asarray(info.sliprate, float)
        self._rate = rate / (rate.sum() * self._delta_s)
        if self._periods[3] < info.period:
            raise UserError(
                f"[synthetics] database = {folder}: of {info.period:g} s, while [processing] filter_periods_s ends at "
                f"{self._periods[3]:g} s; allowed: a band that ends at {info.period:g} s or above"
            )

    def describe(self) -> str:
        """For the record."""
        return f"Instaseis database {self._config.synthetics.database} ({self._database.info.velocity_model})"

    def trace(self, event: int, station: int, component: str) -> f64 | None:
        """As of SyntheticSource. UserError where the database refuses the source."""
        info, events = self._database.info, self._events
        if info.is_reciprocal and ("vertical" if component == "Z" else "horizontal") not in info.components:
            return None
        # Instaseis's constructors take geocentric latitudes, and the tensor's components in their order here
        (lat, lon), tensor = place_of(events, event), map(float, events.moment_tensor_Nm[event])
        source = self._instaseis.Source(
            float(geocentric_deg(np.float64(lat))), lon, 1e3 * float(events.depth_km[event]), *tensor
        )
        lat, lon = place_of(self._stations, station)
        receiver = self._instaseis.Receiver(float(geocentric_deg(np.float64(lat))), lon)
        try:
            found = self._database.get_seismograms(
                source, receiver, (component,), remove_source_shift=False, return_obspy_stream=False
            )
        except ValueError as error:
            raise UserError(
                f"{self.describe()}: event {events.name[event]}, station {self._stations.name[station]}: {words_of(error)}"
            ) from None
        half_duration_s, samples = float(events.half_duration_s[event]), np.asarray(found[component], float)

        def transfer(frequency_Hz: f64) -> NDArray[np.complex128]:
            return np.asarray(triangle_gain(half_duration_s, frequency_Hz) / self._own_source(frequency_Hz))

        return self._on_grid(samples, self._start_s, self._delta_s, transfer, self.describe())

    def _own_source(self, frequency_Hz: f64) -> NDArray[np.complex128]:
        """Spectrum of the slip rate that the database was computed with; 1 at frequency 0. It begins where the records begin."""
        times_s = self._start_s + self._delta_s * np.arange(len(self._rate))
        return np.asarray(self._delta_s * np.exp(-2j * np.pi * np.outer(frequency_Hz, times_s)) @ self._rate)
