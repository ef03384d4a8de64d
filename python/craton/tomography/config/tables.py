"""The tables of an inversion: what may be written in each, its default, and what is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from craton.settings import REQUIRED, boolean, choice, directory_setting, integer, number, setting, text
from craton.tasks import ENGINES, Engine
from craton.tomography.config.values import (
    CMB_DEPTH_KM,
    EARTH_RADIUS_KM,
    Profile,
    amplitude,
    at_depth,
    falling_periods,
    filter_periods,
    knot_depths,
    knots_of_level,
    none_or,
    profile,
)


@dataclass(frozen=True)
class RunConfig:
    """Where the results go."""

    directory: str = directory_setting()
    seed: int = setting(2015, integer(0, 2**31 - 1), "seed of everything random: the noise, and the choice of paths")


@dataclass(frozen=True)
class EarthConfig:
    """The spherically symmetric reference Earth."""

    model: str = setting(
        "prem_isotropic",
        choice("prem_isotropic", "prem_iso_light", "prem"),
        "prem_isotropic, prem_iso_light (no crust and ocean), or prem (anisotropic)",
    )
    file: str = setting(
        "",
        text,
        'an Earth of your own in the place of `model`: a table as .nd, .tvel or a deck of mineos, speeds at 1 s; "": none',
        path="input",
    )
    dispersion: bool = setting(True, boolean, "velocities at each mode's own frequency (physical dispersion)")
    attenuation: bool = setting(True, boolean, "seismograms decay with each mode's quality factor")
    ellipticity: bool = setting(
        False, boolean, "the Earth's ellipticity shifts frequencies along each path, as in observed data it does"
    )
    rotation: bool = setting(False, boolean, "so does the Coriolis force: waves to the west are faster")
    crust: str = setting(
        "",
        text,
        'a grid of the crust: text of longitude latitude moho_depth_km [vs_km_s], or NetCDF; "": the reference Earth\'s',
        path="input",
    )


@dataclass(frozen=True)
class TheoryConfig:
    """What structure does to seismograms."""

    kind: str = setting(
        "pava",
        choice("pava", "nact", "nact_in_plane"),
        "pava: each mode's frequency shifts by the average along the path; nact: overtones couple as well, which sees "
        "structure in the great circle's plane and somewhat beside it, and takes a hundred times as long; nact_in_plane: "
        "without what is beside it, in two thirds of that time",
    )
    derivatives: str = setting(
        "",
        choice("", "pava", "nact", "nact_in_plane"),
        'theory of the derivatives, of which the Hessian is made; "": that of the seismograms. "pava" with kind = "nact": the '
        "hybrid method, with the seismograms of the one and a Hessian as quick as the other's",
    )
    complete: str = setting(
        "auto",
        choice("auto", "always", "never"),
        "R and T have the motion of both types of modes, as the ground has it; auto: where both are there, because [data] "
        "components has Z or R; never: spheroidal modes move Z and R, toroidal ones T",
    )
    vp_over_vs: Profile = setting(
        0.0,
        profile("ratio", -2, 2),
        "dlnVp / dlnVs, or [[depth_km, ratio], ...]: Vp follows Vs (0.3 to 0.6 are found); 0: it stays",
    )
    density_over_vs: Profile = setting(
        0.0,
        profile("ratio", -2, 2),
        "dlnrho / dlnVs, the same (0 to 0.4 are found); without what it does through gravity; 0: density stays",
    )
    check_windows: int = setting(
        100,
        integer(0, 10**6),
        "windows that the end of a run computes by the next richer theory too, to see whether the data ask for it; 0: none",
    )

    @property
    def of_panels(self) -> str:
        """The theory of the derivatives."""
        return self.derivatives or self.kind

    def scaling(self) -> list[tuple[float, float, float]]:
        """Rows of radius in m, dlnVp / dlnVs and dlnrho / dlnVs, from the core up; [] where both are 0."""
        both = self.vp_over_vs, self.density_over_vs
        if both == (0.0, 0.0):
            return []
        depths = {depth for each in both if not isinstance(each, float) for depth, _ in each} or {0.0}
        vp, density = both
        return [
            (1e3 * (EARTH_RADIUS_KM - depth), at_depth(vp, depth), at_depth(density, depth))
            for depth in sorted(depths, reverse=True)
        ]

    def is_complete(self, components: str) -> bool:
        """Whether both types of modes move R and T."""
        return self.complete == "always" or (self.complete == "auto" and components != "T")


@dataclass(frozen=True)
class ModesConfig:
    """The toroidal modes that the seismograms are summed from; they are computed once and kept in the cache."""

    shortest_period_s: float = setting(
        80.0, number(5, 1000, "s"), "seconds; halving it makes about four times as many modes"
    )
    element_km: float = setting(80.0, number(1, 500, "km"), "km; thickness of the radial finite elements")
    order: int = setting(3, integer(2, 8), "polynomial order of the radial finite elements")
    cache: str = setting("", text, 'folder of computed mode catalogues; "" is ~/.cache/craton', path="output")


@dataclass(frozen=True)
class BasisConfig:
    """The model: spherical splines on a subdivided icosahedron times cubic B-splines in radius."""

    lateral_level: int = setting(
        4, integer(1, 8), "level L has 10 * 4^(L-1) + 2 knots: 1: 12, 2: 42, 3: 162, 4: 642, 5: 2562, 6: 10242"
    )
    radial: int = setting(10, integer(4, 100), "number of B-splines between the core and the surface")
    radial_depths_km: tuple[float, ...] = setting(
        (), knot_depths, f"km; knot depths from 0 to {CMB_DEPTH_KM:g} instead of even ones; [] uses `radial`"
    )
    xi: bool = setting(
        False,
        boolean,
        "radial anisotropy xi = (Vsh / Vsv)^2 as well, as dlnxi, which doubles the unknowns on the same knots",
    )
    xi_level: int = setting(0, integer(0, 8), "lateral level of dlnxi, usually coarser; 0: that of dlnVs")
    xi_depths_km: tuple[float, ...] = setting((), knot_depths, "km; knot depths of dlnxi; []: those of dlnVs")

    @property
    def lateral_levels(self) -> list[int]:
        """Of each parameter."""
        return [self.lateral_level, self.xi_level or self.lateral_level][: 1 + self.xi]

    @property
    def unknowns(self) -> int:
        """Coefficients of all parameters."""
        radial = len(self.radial_depths_km) or self.radial
        knots = [radial, len(self.xi_depths_km) or radial]
        return sum(knots_of_level(level) * count for level, count in zip(self.lateral_levels, knots, strict=False))


@dataclass(frozen=True)
class EventsConfig:
    """Earthquakes: a CSV table of places and moment tensors (its header explains the columns)."""

    file: str = setting(REQUIRED, text, "CSV file, relative to this file's folder", path="input")
    maximum: int = setting(0, integer(0, 10**6), "use only the first so many; 0 uses all")


@dataclass(frozen=True)
class StationsConfig:
    """Stations: a CSV table of places."""

    file: str = setting(REQUIRED, text, "CSV file, relative to this file's folder", path="input")
    maximum: int = setting(0, integer(0, 10**6), "use only the first so many; 0 uses all")


@dataclass(frozen=True)
class StartConfig:
    """The model that the iterations begin at: the reference Earth, or one from a file, projected onto the splines."""

    file: str = setting(
        "",
        text,
        "model.h5 of a run or a solution, NetCDF as the Earth Model Collaboration has it (.nc), or spherical harmonics as of "
        'S40RTS; "": the reference Earth',
        path="input",
    )
    prior_mean: bool = setting(
        False, boolean, "the prior expects that model, and weighs deviations from it; false: from the reference Earth"
    )


@dataclass(frozen=True)
class PathsConfig:
    """Which event-station pairs are used."""

    min_distance_deg: float = setting(25.0, number(0, 180, "degrees"), "degrees")
    max_distance_deg: float = setting(
        155.0, number(0, 180, "degrees"), "degrees; minor-arc theory fails near the antipode"
    )
    maximum: int = setting(0, integer(0, 10**9), "take a random subset of so many paths (by run.seed); 0 takes all")


@dataclass(frozen=True)
class DataConfig:
    """Seismograms: made from the target model, or read from a file; filter and time windows."""

    kind: str = setting(
        "synthetic", choice("synthetic", "file"), '"synthetic" makes data from [target]; "file" reads them'
    )
    file: str = setting(
        "", text, "HDF5 file with the observed samples (data.h5 of a run), relative to this file's folder", path="input"
    )
    noise: float = setting(0.05, number(1e-4, 10), "noise's standard deviation as a fraction of each trace's rms")
    filter_periods_s: tuple[float, float, float, float] = setting(
        (400.0, 250.0, 100.0, 80.0), filter_periods, "seconds; cosine taper T1..T2, pass T2..T3, taper T3..T4"
    )
    components: str = setting(
        "T",
        choice("T", "Z", "R", "ZR", "ZT", "RT", "ZRT"),
        "Z (up), R (away from the source), T (transverse), a window for each; of the windows in a file, those",
    )
    sample_interval_s: float = setting(10.0, number(0.1, 200, "s"), "seconds")
    fastest_km_s: float = setting(9.0, number(0.5, 50, "km/s"), "km/s; the window opens at distance / fastest - pad")
    slowest_km_s: float = setting(3.4, number(0.5, 50, "km/s"), "km/s; the window closes at distance / slowest + pad")
    pad_s: float = setting(100.0, number(0, 10000, "s"), "seconds")
    correlation_s: float = setting(
        0.0, number(0, 10000, "s"), "seconds over which the noise's correlation falls to 1/e; 0: independent samples"
    )
    redundancy_km: float = setting(
        0.0,
        number(0, 5000, "km"),
        "km; windows whose earthquakes and stations are both this close together count as one; 0: each for itself",
    )
    noise_in_band: bool = setting(
        False,
        boolean,
        "the noise has gone through the data's filter: a window counts as the independent samples of its band, not as all it has",
    )


@dataclass(frozen=True)
class SyntheticsConfig:
    """Where the seismograms g(m) of a model come from. Their derivatives are always those of [theory]."""

    kind: str = setting(
        "modes",
        choice("modes", "command", "wait"),
        'by [theory]; "command": an outside solver is started; "wait": the run ends until its seismograms are there',
    )
    command: str = setting(
        "",
        text,
        "of an outside solver, for each earthquake where it names {event} or {source}, else for all; also {python}, {folder}, "
        "{model} (.nc, .csv, .dat), {sources}, {stations}, {windows}, {seismograms}",
    )
    together: int = setting(1, integer(1, 10000), "commands at a time")
    engine: str = setting(
        "local", choice(*ENGINES), "commands are processes of rank 0's machine; parsl: of where parsl_config says"
    )
    parsl_config: str = setting(
        "", text, "Python file with config = parsl.Config(...), as Parsl's documentation has it", path="input"
    )
    cores: int = setting(1, integer(1, 10**6), "of a command, on an engine: what it starts may use them")
    convolve: bool = setting(
        False, boolean, "outside seismograms are of an impulse: convolve them with the moment rate"
    )
    taper_s: float = setting(
        120.0, number(0, 1e4, "s"), "seconds at the end of outside seismograms that are tapered, and not used"
    )
    step_deg: float = setting(
        0.0, none_or(0.05, 30, "degrees"), "degrees between points of the model's grid; 0: half of the knots' distance"
    )
    depth_step_km: float = setting(
        0.0, none_or(1, 1000, "km"), "km between its depths; 0: half of the knots' distance, at most 100"
    )

    @cached_property
    def runs_on(self) -> Engine:
        """What runs commands. Using it raises UserError where its configuration cannot be used."""
        return Engine(self.engine, self.parsl_config)


@dataclass(frozen=True)
class CorrectionsConfig:
    """Unknowns of earthquakes and stations beside the model, each by the standard deviation that the prior gives it; 0: none."""

    origin_time_s: float = setting(
        0.0, none_or(0.01, 100, "s"), "s; by how much each earthquake came later than its catalogue has it"
    )
    centroid_km: float = setting(
        0.0, none_or(0.1, 500, "km"), "km; how far its centroid lies to the north, to the east and further down"
    )
    moment_tensor: float = setting(
        0.0,
        none_or(1e-3, 10, "of the moment"),
        "parts of its scalar moment, by which its tensor differs in each of five directions without a change of volume",
    )
    station_time_s: float = setting(0.0, none_or(0.01, 100, "s"), "s; by how much all waves come later to a station")
    station_gain: float = setting(
        0.0, none_or(1e-3, 3, "of the amplitude"), "relative error of a station's amplitudes, as a natural logarithm"
    )


@dataclass(frozen=True)
class TargetConfig:
    """The Earth that synthetic data are made from: the sum of a checkerboard, a cylinder of slow (or fast) rock, a random Earth."""

    checkerboard_degree: int = setting(
        8, integer(1, 60), "spherical-harmonic degree: cells are about 20000 km / degree wide"
    )
    checkerboard_amplitude: float = setting(
        0.02, amplitude(0.2), "largest dlnVs of the checkerboard (0.02 is 2%); 0 for none"
    )
    checkerboard_depth_nodes: int = setting(
        2, integer(0, 20), "how often the pattern changes sign between surface and core"
    )
    plume_latitude_deg: float = setting(19.4, number(-90, 90, "degrees"), "degrees north, geographic")
    plume_longitude_deg: float = setting(-155.3, number(-180, 360, "degrees"), "degrees east")
    plume_radius_km: float = setting(
        800.0, number(10, 5000, "km"), "km; distance from the axis at which the anomaly has fallen to 1/e"
    )
    plume_amplitude: float = setting(-0.03, amplitude(0.2), "dlnVs on the axis (-0.03 is 3% slow); 0 for none")
    plume_name: str = setting("Hawaii", text, "the plume's name on the maps")
    random_rms: float = setting(
        0.0, number(0, 0.2), "rms of a random dlnVs with the correlation lengths of [prior], by run.seed; 0 for none"
    )
    finer: bool = setting(
        False,
        boolean,
        "made on splines half as far apart as those of [basis], which then cannot hold all structure that is in the data",
    )
    theory: str = setting(
        "",
        choice("", "pava", "nact"),
        'that the data are made by; "" is that of [theory], and then the inversion has no error of theory',
    )
    wrong_origin_time_s: float = setting(
        0.0,
        none_or(0.01, 100, "s"),
        "s; standard deviation of random errors of the catalogue that the inversion is given",
    )
    wrong_centroid_km: float = setting(0.0, none_or(0.1, 500, "km"), "km; the same of centroids, in each direction")
    wrong_moment_tensor: float = setting(
        0.0, none_or(1e-3, 10, "of the moment"), "the same of moment tensors, as in [corrections]"
    )
    wrong_station_time_s: float = setting(0.0, none_or(0.01, 100, "s"), "s; the same of the times at stations")
    wrong_station_gain: float = setting(0.0, none_or(1e-3, 3, "of the amplitude"), "the same of amplitudes there")

    @property
    def errors(self) -> CorrectionsConfig:
        """What is wrong with the earthquakes and stations that the inversion is given."""
        return CorrectionsConfig(
            self.wrong_origin_time_s,
            self.wrong_centroid_km,
            self.wrong_moment_tensor,
            self.wrong_station_time_s,
            self.wrong_station_gain,
        )


@dataclass(frozen=True)
class InversionConfig:
    """The Gauss-Newton iterations."""

    max_iterations: int = setting(4, integer(1, 100), "stop after so many")
    tolerance: float = setting(0.01, number(0, 1), "stop when the misfit falls by less than this fraction")
    robust: str = setting(
        "none",
        choice("none", "huber", "student"),
        "weights of windows that fit much worse than the others, anew in each iteration; huber: a misfit that grows linearly; "
        "student: one that hardly grows",
    )
    long_periods_first: bool = setting(
        True,
        boolean,
        "where the starting model skips cycles, fit long periods first, and leave out windows whose cycles are skipped",
    )
    first_periods_s: tuple[float, ...] = setting(
        (),
        falling_periods,
        "seconds; periods beyond the first of these, then beyond the next, then all; [] chooses them by data.filter_periods_s",
    )
    first_misfit: str = setting(
        "arrival_time",
        choice("arrival_time", "envelope", "waveform"),
        "what iterations that fit long periods first compare of each window; those that fit all periods compare waveforms",
    )
    precision: str = setting("float32", choice("float32", "float64"), "of the Hessian's elements")
    solve_precision: str = setting(
        "refined",
        choice("refined", "float64", "float32"),
        'of the Cholesky factorisation; "refined": in float32, and then refined to the residual of float64',
    )
    in_place: bool = setting(
        False,
        boolean,
        "factor the Hessian in its own memory: half of the peak; each is then written to hessian.h5, and read there to refine",
    )
    reproducible: bool = setting(
        False,
        boolean,
        "the same bits on any ranks, threads and deliveries: exact sums in float64, and equation 2 solved in copies that have one "
        "order of sums",
    )
    block: int = setting(64, integer(1, 4096), "rows and columns of a block of the distributed Hessian")
    damping: float = setting(0.0, number(0, 1e6), "added to the diagonal, as a fraction of its mean; 0 for none")
    step_percent: float = setting(
        0.0,
        none_or(0.001, 1000, "%"),
        "%; bound on the largest change of dlnVs at a knot in one iteration: a longer step is shortened; 0 for none",
    )
    step_halvings: int = setting(
        4, integer(0, 30), "how often a step is halved that would raise the misfit, before the run ends"
    )
    keep_hessians: str = setting(
        "last",
        choice("last", "all", "none"),
        '"last": written at the end; "all": those before as hessian-1.h5, hessian-2.h5, ...; "none"',
    )


@dataclass(frozen=True)
class AssemblyConfig:
    """How the work is shared out."""

    subset: int = setting(16, integer(1, 100000), "paths handed out at a time")
    threads: int = setting(1, integer(1, 1024), "worker threads of each rank")
    compress: float = setting(
        1e-4,
        number(0, 0.1),
        "kind = nact: what is below this part of a panel's norm may be left out of its product, where that saves time; "
        "0: nothing",
    )
    checkpoint_minutes: float = setting(
        10.0,
        none_or(1e-4, 1e5, "minutes"),
        "minutes of assembly between checkpoints, which `craton tomography resume` goes on from; 0 for none",
    )
    checkpoint_local: str = setting(
        "",
        text,
        "a folder of each node, on its disk or in its memory: ranks leave checkpoints there and go on, and a thread brings "
        'them to the run\'s folder; "": ranks wait until they are there',
        path="output",
    )


@dataclass(frozen=True)
class ReportConfig:
    """What is computed at the end, for the report."""

    resolution: bool = setting(
        False,
        boolean,
        "resolution and standard deviations, as by `craton tomography posterior`; takes about as long as three steps' "
        "factorisations",
    )
