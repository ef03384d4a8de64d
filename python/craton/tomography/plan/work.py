"""What a run will have to do, in counts: paths, samples, touched parameters, bytes. Nothing in here depends on a machine.

All windows of one event, station and arc are one update of the Hessian (a stack). Path averages make it a Kronecker product,
whose factor has a column for each radial spline; coupled modes a product of panels, each of which may be compressed to its
numerical rank.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from craton._craton import ForwardProblem, PathSet, SpheroidalCatalogue
from craton.runs.agreement import on_root
from craton.tomography.config.load import Config, hessian_block
from craton.tomography.data.corrections import Corrections
from craton.tomography.data.paths import PathTable, build_paths
from craton.tomography.data.sources import file_observations, read_catalogues
from craton.tomography.inversion.forward import forward_problems
from craton.tomography.inversion.theory_check import MOST_BYTES, RICHER
from craton.tomography.model.earth_table import reference_earth
from craton.tomography.model.splines import make_basis, parts_of
from craton.tomography.model.starting import read_parts
from craton.tomography.prior.gaussian import different_lengths
from craton.tomography.prior.make import is_dealt
from craton.tomography.theory.coupling_tables import coupling_bytes, modes_within
from craton.tomography.theory.crust import crust_effects, on_crust, shared_crusts
from craton.tomography.theory.figure import shared_figure
from craton.tomography.theory.modes import shared_mode_catalogue, shared_spheroidal_catalogue

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

LEAST_IN_FLOAT = 8e-7
"""Tolerance from which on ranks of float32 panels are found without double precision (gram_kernels.hpp)."""
EXACT_PATHS = 5000
"""Up to so many, every path's touched parameters are counted; of more, those of a random sample of so many."""


@dataclass(frozen=True)
class Work:
    """Counts of one run; sums are over all paths, n is what a path touches and k its samples."""

    paths: int
    counted_paths: int
    """Paths whose touched parameters were counted; the sums are scaled from them."""
    events: int
    stations: int
    samples: int
    modes: int
    """Modes of the catalogue."""
    modes_used: int
    """Those within the filter."""
    lateral: int
    """Knots of dlnVs."""
    radial: int
    xi_lateral: int
    """Knots of dlnxi where they are others; 0 else."""
    parameters: int
    structure: int
    """Coefficients of all parameters."""
    block: int
    element_bytes: int
    solve_bytes: int
    """Bytes of an element of the copy that is factored."""
    refined: bool
    in_place: bool
    reproducible: bool
    """One rank factors a copy of the whole."""
    outside: bool
    """Seismograms come from another solver."""
    checked: int
    """Windows that the end computes by a richer theory too."""
    richer_bytes: float
    """What that theory's tables of coupled pairs take."""
    keep_hessians: str
    checkpoint_s: float
    iterations: int
    threads: int
    subset: int
    coupled: bool
    """Panels are multiplied: without, they are Kronecker products."""
    coupled_synthetics: bool
    """Seismograms are of coupled modes."""
    coupling_bytes: float
    """Tables of coupled pairs of modes, which every rank has."""
    synthetic: bool
    finer: bool
    """Data are made on splines half as far apart."""
    prior_kind: str
    prior_lengths: tuple[int, ...]
    """Of each parameter with knots of its own: how many lateral correlation lengths its radial knots have."""
    prior_dealt: tuple[bool, ...]
    """Whether its lateral part is dealt over all ranks."""
    corrections: int
    """Unknowns of earthquakes and stations."""
    corrections_touched: int
    """Those of a path."""
    corrections_sums: int
    """Sums over modes that their derivatives take, of which a seismogram is one: columns beside the radial splines' of path
    averages, whole seismograms of coupled modes."""
    touched: float
    """Mean n."""
    updates: float
    """Updates of the Hessian: stacks of windows."""
    rows: float
    """Rows of panels that are multiplied: samples, or fewer after compression."""
    elements_of_panels: float
    """sum k c, with c columns of a panel (n) or of the factor of a Kronecker product"""
    elements_of_products: float
    """sum over updates of n (n + 1) / 2"""
    product_flop: float
    """sum of rows c (c + 1), and of what compression takes"""
    panel_bytes: float
    """that a thread holds for the largest stack: panels as they are computed, stacked, compressed and packed"""

    @property
    def unknowns(self) -> int:
        """Parameters of the model."""
        return self.structure + self.corrections

    @property
    def sample_modes(self) -> float:
        """Sum k times modes used: terms of all seismograms once."""
        return float(self.samples) * self.modes_used


@dataclass(frozen=True)
class Geometry:
    """What counting has made: forecasts need it, and measurements in the same process go on with it."""

    forward: ForwardProblem
    """What gives the panels."""
    synthetics: ForwardProblem
    """What gives g: the same, or another theory."""
    spheroidal: SpheroidalCatalogue | None
    table: PathTable
    """The paths that were counted."""
    paths: PathSet
    products: Products
    samples: i64
    """Samples of each path of the run, counted or not."""
    spent_s: dict[str, float]
    """On modes, kernels, catalogues, and the paths (all of the run's), as a run does the same."""


@dataclass(frozen=True)
class Products:
    """The updates of some paths, one entry per stack."""

    touched: f64
    """n"""
    rows: f64
    """multiplied"""
    panel_elements: float
    """of all windows: sum k c"""
    flop: float
    panel_bytes: float

    @property
    def elements(self) -> float:
        """Added to the Hessian."""
        return float(np.sum(self.touched * (self.touched + 1) / 2))


def stacks_of(table: PathTable) -> i64:
    """The number of each path's stack: paths of one event, station and arc have the same."""
    arcs = np.array([arc != "minor" for arc in table.arc], np.int64)
    keys = np.stack([table.event, table.station, arcs])
    return np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def numerical_rank(window_s: f64, band_hz: float, compress: float) -> f64:
    """Singular values above `compress` of signals in a band, cut out of a window.

    Twice the bandwidth times the window, and those on the two edges, whose squares fall off as Landau & Widom (1980,
    doi:10.1016/0022-247X(80)90241-3) have it.
    """
    half = np.maximum(band_hz * window_s, 1.0)
    return np.asarray(2.0 * (half + math.log(compress**-2.0) * np.log(math.pi * half) / math.pi**2))


def products_of(
    table: PathTable,
    paths: PathSet,
    forward: ForwardProblem,
    coupled: bool,
    rows: f64,
    element_bytes: int,
    corrections: int = 0,
) -> Products:
    """The updates of some paths. rows: those of each path's panel that are multiplied. corrections: that a path touches."""
    columns = forward.basis.columns
    n = np.array([paths[i].touched for i in range(len(paths))], float) + corrections
    columns += corrections
    k, stack = table.samples.astype(float), stacks_of(table)
    first = np.unique(stack, return_index=True)[1]
    touched, k_of = n[first], np.asarray(np.bincount(stack, weights=k), float)
    if not coupled:
        largest = float(np.max(k_of)) * columns
        flop = float(np.sum(k)) * columns * (columns + 1)
        held = 4.0 * float(np.max(k)) * columns + 2.0 * element_bytes * largest + (16.0 + element_bytes) * np.max(n)
        return Products(touched, k_of, float(np.sum(k)) * columns, flop, held)
    rows_of = np.asarray(np.bincount(stack, weights=rows), float)
    smaller = rows < k
    flop = float(np.sum(rows_of * touched * (touched + 1)) + np.sum((n * k * (k + 2.0 * rows))[smaller]))
    largest = 4.0 * float(np.max(k * n)) + element_bytes * float(np.max((2.0 * k_of + rows_of) * touched))
    if smaller.any():  # one panel at a time, in double too
        largest += float(np.max(((element_bytes + 8.0) * k + element_bytes * rows) * n))
    return Products(touched, rows_of, float(k @ n), flop, largest)


def rows_after_compression(table: PathTable, n: f64, config: Config) -> f64:
    """Rows of each path's panel: its samples, or its numerical rank where finding that is expected to pay (gram_updater.cpp)."""
    k, compress = table.samples.astype(float), config.assembly.compress
    if compress == 0.0:
        return k
    edges_hz = 1.0 / np.array(config.data.filter_periods_s)
    between_half_amplitudes_hz = float(np.mean(edges_hz[2:]) - np.mean(edges_hz[:2]))
    rank = numerical_rank(k * table.sample_interval_s, between_half_amplitudes_hz, compress)
    rank = np.minimum(np.minimum(rank, k), n)
    precise = 3.0 if config.inversion.precision == "float32" and compress**2 < LEAST_IN_FLOAT else 1.0
    pays = n**2 * (k - rank) > precise * n * k**2 + 2.0 * n * k * rank + 40.0 * k * rank**2
    return np.where(pays, rank, k)


def count_work(config: Config, comm: MPI.Comm = MPI.COMM_SELF) -> tuple[Work, Geometry]:
    """Collective. Reads the files that the configuration names (of data their header); computes or reads the modes.

    UserErrors as of a run.
    """
    spent_s = {}
    earth = reference_earth(config.earth)
    crusts = shared_crusts(earth, config, comm)
    if config.start.file:
        on_root(comm, lambda: bool(read_parts(Path(config.start.file), earth)))  # refused before what takes longer
    clock = time.perf_counter()
    modes = shared_mode_catalogue(earth, config, comm)
    spent_s["modes"], clock = time.perf_counter() - clock, time.perf_counter()
    basis = make_basis(config, earth)
    parts = parts_of(basis)[: 1 if basis.same_splines else None]
    lengths = [different_lengths(part, config.prior) for part in parts]
    spheroidal = shared_spheroidal_catalogue(earth, config, comm)
    figure = shared_figure(earth, config, modes, spheroidal, comm)
    figure |= crust_effects(crusts, config, modes, spheroidal, comm)
    synthetics, forward = forward_problems(config, basis, modes, spheroidal, figure)
    spent_s["kernels"], clock = time.perf_counter() - clock, time.perf_counter()
    table = path_table(config, comm)
    spent_s["catalogues"] = time.perf_counter() - clock
    counted = on_crust(some_paths(table, EXACT_PATHS, config.run.seed), crusts)
    clock = time.perf_counter()
    paths = counted.path_set(forward)
    spent_s["paths"] = (time.perf_counter() - clock) * len(table) / len(counted)
    columns, types = basis.columns, [each for each in (modes, spheroidal) if each is not None]
    n = np.array([paths[i].touched for i in range(len(paths))], float)
    scale, coupled = len(table) / len(counted), config.theory.of_panels != "pava"
    settings = config.inversion
    element_bytes = 4 if settings.precision == "float32" else 8
    rows = rows_after_compression(counted, n, config) if coupled else counted.samples.astype(float)
    corrections = Corrections(table, config.corrections)
    touched = sum(len(kind.labels) for kind in corrections.kinds)
    products = products_of(counted, paths, forward, coupled, rows, element_bytes, touched)
    richer_bytes = coupling_bytes(columns, [modes_within(config.data.filter_periods_s, each) for each in types])
    has_richer = config.theory.kind in RICHER and config.synthetics.kind == "modes" and richer_bytes <= MOST_BYTES
    checked = min(config.theory.check_windows, len(table)) if has_richer else 0
    work = Work(
        paths=len(table),
        counted_paths=len(counted),
        events=len(table.event_rows),
        stations=len(table.station_rows),
        samples=int(table.samples.sum()),
        modes=len(modes),
        modes_used=modes_within(config.data.filter_periods_s, modes),
        lateral=basis.n_lateral,
        radial=basis.n_radial,
        xi_lateral=0 if basis.same_splines else basis.part(1).n_lateral,
        parameters=basis.parameters,
        structure=basis.size,
        block=hessian_block(settings.block, basis.size + corrections.size),
        element_bytes=element_bytes,
        solve_bytes=8 if "float64" in (settings.solve_precision, settings.precision * settings.in_place) else 4,
        refined=settings.solve_precision == "refined" and not (settings.in_place and element_bytes == 8),
        outside=config.synthetics.kind != "modes",
        in_place=settings.in_place,
        reproducible=settings.reproducible,
        checked=checked,
        richer_bytes=richer_bytes if checked else 0.0,
        keep_hessians=settings.keep_hessians,
        checkpoint_s=60.0 * config.assembly.checkpoint_minutes,
        iterations=settings.max_iterations,
        threads=config.assembly.threads,
        subset=config.assembly.subset,
        coupled=coupled,
        coupled_synthetics=config.theory.kind != "pava",
        coupling_bytes=coupling_bytes(columns, [modes_within(config.data.filter_periods_s, each) for each in types])
        if coupled or config.theory.kind != "pava"
        else 0.0,
        synthetic=config.data.kind == "synthetic",
        finer=config.target is not None and config.target.finer,
        prior_kind=config.prior.kind,
        prior_lengths=tuple(lengths),
        prior_dealt=tuple(
            config.prior.kind == "gaussian" and is_dealt(part.n_lateral, number == 1, settings.reproducible)
            for part, number in zip(parts, lengths, strict=True)
        ),
        corrections=corrections.size,
        corrections_touched=touched,
        corrections_sums=sums_of(corrections),
        touched=float(n.mean()) + touched,
        updates=scale * len(products.touched),
        rows=scale * float(np.sum(products.rows)),
        elements_of_panels=scale * products.panel_elements,
        elements_of_products=scale * products.elements,
        product_flop=scale * products.flop,
        panel_bytes=products.panel_bytes,
    )
    return work, Geometry(
        forward, synthetics, spheroidal, counted, paths, products, np.asarray(table.samples, np.int64), spent_s
    )


def sums_of(corrections: Corrections) -> int:
    """Sums over modes that the derivatives of a window by its earthquake and station take (corrections.cpp)."""
    names = {kind.name for kind in corrections.kinds}
    timed = bool(names & {"origin_time_s", "station_time_s"})
    return 2 * timed + 6 * ("centroid_km" in names) + 5 * ("moment_tensor" in names)


def path_table(config: Config, comm: MPI.Comm) -> PathTable:
    """Collective: the paths that a run of this configuration would have."""
    events, stations = read_catalogues(config, comm)
    if config.data.kind == "synthetic":
        return build_paths(config, events, stations)
    return file_observations(config, events, stations).paths


def some_paths(table: PathTable, most: int, seed: int) -> PathTable:
    """All paths, or a random sample of them, in whole stacks."""
    if len(table) <= most:
        return table
    stack = stacks_of(table)
    sizes = np.bincount(stack)
    drawn = np.random.default_rng(seed).permutation(len(sizes))
    count = max(1, int(np.searchsorted(np.cumsum(sizes[drawn]), most, side="right")))
    return table.rows(np.isin(stack, drawn[:count]))
