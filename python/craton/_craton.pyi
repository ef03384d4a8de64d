"""Type stubs of the compiled extension: the C++ objects, one to one.

Arrays are C-contiguous NumPy arrays. Angles are radians unless a name says degrees; lengths are metres unless a name
says km; times are seconds. "Collective" means that every rank of the world must call.
"""

from collections.abc import Callable
from typing import Any, TypedDict

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

f32 = NDArray[np.float32]
f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

class UserError(Exception):
    """The user's or the environment's fault: one line that says what, where, the value and what is allowed."""

def build_info() -> dict[str, str]:
    """version, commit, compiler, flags, build_type, mpi (library version string), blas (config string), hdf5, scalapack."""

def mpi_library_version() -> str:
    """What MPI_Get_library_version prints in the extension: must equal mpi4py's."""

def blas_core() -> str:
    """The processor OpenBLAS believes it runs on (openblas_get_corename), e.g. 'SkylakeX'; 'unknown' for another BLAS."""

def set_blas_threads(threads: int) -> None:
    """Threads the extension's BLAS uses per call (OpenBLAS; without effect on others)."""

class _BlasReport(TypedDict):
    """Rates and peaks are GFLOP/s of one thread."""

    core: str
    units: str
    flops_per_cycle: int
    clock_ghz: float
    sgemm_gflops: float
    dgemm_gflops: float
    sgemm_peak: float
    dgemm_peak: float
    mistaken: bool
    slow: bool
    remedy: str

def blas_check() -> _BlasReport:
    """How the linked BLAS fits this processor: products measured on one thread, best of five, beside the peak of its vector
    units (flops_per_cycle in single precision, half in double, at the measured clock). `mistaken`: OpenBLAS chose
    kernels for narrower registers; `slow`: far below the peak, and then `remedy` says what to do. Not collective."""

def gemm_gflops(n: int, single: bool = True, threads: int = 1) -> float:
    """Measured GEMM rate of the linked BLAS, best of several, in GFLOP/s. Not collective."""

# ---------------------------------------------------------------------------------------------------------- runtime

class World:
    """Ranks that share one address space. Collective constructor; duplicates the communicator."""

    def __init__(self, comm: MPI.Comm, ranks_per_node: int = 0, max_bytes_in_flight: int = 64 << 20) -> None:
        """ranks_per_node = k > 0 makes virtual nodes of k consecutive ranks; 0 takes the machine's real nodes
        (or CRATON_RANKS_PER_NODE where that is set)."""
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def node_count(self) -> int: ...
    @property
    def node_size(self) -> int:
        """Ranks on this rank's node, itself included."""
    def poll(self) -> int:
        """Runs the handlers of messages that have arrived; returns how many. Not collective, does not block."""
    def quiesce(self) -> None:
        """Collective, blocking: returns when every message ever sent has been executed."""
    def barrier(self) -> None:
        """Collective; polls while it waits."""
    def abort(self, message: str, code: int = 2) -> None:
        """Prints one line that names the rank and ends the job. Does not return."""
    def stats(self) -> dict[str, int]:
        """messages_sent, messages_executed, bytes_sent, direct_updates, peak_bytes_in_flight (this rank)."""

class Counter:
    """A 64-bit integer at rank `owner`. Collective constructor."""

    def __init__(self, world: World, owner: int = 0) -> None: ...
    def fetch_add(self, increment: int = 1) -> int:
        """Any thread; blocking (polls while the reply travels)."""
    def read(self) -> int: ...
    def reset(self) -> None:
        """Collective."""

# -------------------------------------------------------------------------------------------------------- benchmarks
# What `craton bench` measures with; each is described in benchmarks/*/*.hpp. Collective over comm unless it has none.

def bench_update(matrix_side: int, update_side: int, order: int, number: int) -> tuple[i64, f32]: ...
def bench_expected_sum(matrix_side: int, update_side: int, order: int, updates: int) -> int: ...
def bench_sum_of_matrix(transposed: f32) -> int: ...
def bench_assembly(
    comm: MPI.Comm,
    matrix_side: int,
    update_side: int,
    order: int,
    updates: int,
    repeats: int,
    ranks: list[int],
    peers: bool,
) -> dict[str, Any]: ...
def bench_overlap(
    comm: MPI.Comm,
    matrix_side: int,
    update_side: int,
    periods: int,
    period_s: float,
    computing: float,
    repeats: int,
    ranks_per_node: int,
) -> dict[str, list[float]]: ...
def bench_busy_target(
    comm: MPI.Comm,
    busy_s: float,
    updates: int,
    update_side: int,
    repeats: int,
    ranks_per_node: int,
    max_bytes_in_flight: int,
) -> dict[str, list[float]]: ...
def bench_gram(
    comm: MPI.Comm,
    cells: int,
    cells_touched: int,
    radial_splines: int,
    samples: int,
    rank: int,
    noise: float,
    tolerance: float,
    updates: int,
    repeats: int,
    ranks_per_node: int,
) -> dict[str, list[float]]: ...
def bench_memory(
    comm: MPI.Comm, matrix_side: int, update_side: int, updates: int, max_bytes_in_flight: int, ranks_per_node: int
) -> dict[str, list[float]]: ...
def bench_scaling(
    comm: MPI.Comm,
    matrix_side: int,
    update_side: int,
    updates: int,
    ranks: int,
    producers: int,
    making_s: float,
    by: int,
) -> dict[str, list[float]]: ...

# ------------------------------------------------------------------------------------------------------------ array

class BlockCyclic:
    """ScaLAPACK's 2-d block-cyclic layout: pure arithmetic, 64-bit."""

    def __init__(
        self, rows: int, cols: int, block_rows: int, block_cols: int, grid_rows: int, grid_cols: int
    ) -> None: ...

class ConvergentMatrix_f32:
    """Dense block-cyclic matrix to which any thread of any rank adds blocks at any time. Collective constructor."""

    def __init__(self, world: World, rows: int, cols: int, block: int = 64, grid: tuple[int, int] = (0, 0)) -> None:
        """grid (0, 0) chooses the most square grid. UserError if the grid does not match the number of ranks, or if
        a rank would own nothing (more ranks than blocks)."""
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def block(self) -> tuple[int, int]: ...
    @property
    def grid(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def local(self) -> f32:
        """View (no copy) of this rank's storage, shape (local_rows, local_cols), Fortran order."""
    @property
    def local_rows_global(self) -> i64:
        """Global row index of each local row."""
    @property
    def local_cols_global(self) -> i64: ...
    def update(self, block: f32, rows: i64, cols: i64) -> None:
        """Adds block[a, b] to element (rows[a], cols[b]). Any thread; GIL released; not collective.
        UserError when an index is out of range (nothing of that update is applied)."""
    def update_symmetric(self, block: f32, indices: i64) -> None:
        """Adds the symmetric block to the upper triangle: element (i, j) with i <= j only."""
    def commit(self) -> None:
        """Collective, blocking: every update made before it on any rank has been applied exactly once when it returns."""
    def reset(self) -> None:
        """Collective: all elements become zero."""
    def read(self, row: int, col: int) -> float:
        """One element from its owner, after a commit. Blocking, not collective."""
    def read_slice(self, rows: i64, cols: i64) -> f32:
        """The block at (rows, cols), from its owners. Blocking, not collective."""
    def add_kronecker(self, lateral: f64, radial: f64, scale: float = 1.0) -> None:
        """Local on every rank (call on all): element (a*nr+i, b*nr+j) += scale * lateral[a,b] * radial[i,j], upper triangle only."""
    def diagonal(self) -> f64:
        """Collective: the whole diagonal on every rank."""
    def copy_as_f64(self) -> ConvergentMatrix_f64:
        """Collective: the same matrix, same layout, in double precision."""
    def save(self, path: str, dataset: str, symmetric: bool = False, append: bool = False) -> None:
        """Collective HDF5 in global order; written aside and renamed. append adds the dataset to an existing file in place."""
    def load(self, path: str, dataset: str) -> None:
        """Collective; any number of ranks may load what any other number saved. UserError: missing file or dataset,
        file cut short, other shape, other precision (both named)."""

class ConvergentMatrix_f64:
    """As ConvergentMatrix_f32, in double precision."""

    def __init__(self, world: World, rows: int, cols: int, block: int = 64, grid: tuple[int, int] = (0, 0)) -> None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def block(self) -> tuple[int, int]: ...
    @property
    def grid(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def local(self) -> f64: ...
    @property
    def local_rows_global(self) -> i64: ...
    @property
    def local_cols_global(self) -> i64: ...
    def update(self, block: f64, rows: i64, cols: i64) -> None: ...
    def update_symmetric(self, block: f64, indices: i64) -> None: ...
    def commit(self) -> None: ...
    def reset(self) -> None: ...
    def read(self, row: int, col: int) -> float: ...
    def read_slice(self, rows: i64, cols: i64) -> f64: ...
    def add_kronecker(self, lateral: f64, radial: f64, scale: float = 1.0) -> None: ...
    def diagonal(self) -> f64: ...
    def copy_as_f64(self) -> ConvergentMatrix_f64: ...
    def save(self, path: str, dataset: str, symmetric: bool = False, append: bool = False) -> None: ...
    def load(self, path: str, dataset: str) -> None: ...

class ConvergentVector_f64:
    """One-dimensional, block-cyclic over all ranks. Collective constructor."""

    def __init__(self, world: World, size: int, block: int = 64) -> None: ...
    def update(self, values: f64, indices: i64) -> None: ...
    def commit(self) -> None: ...
    def reset(self) -> None: ...
    def gather(self) -> f64:
        """Collective: the whole vector on every rank."""

class Cholesky_f32:
    """Factorises a symmetric positive-definite convergent matrix in place (upper triangle). Collective constructor.
    UserError (with the order of the leading minor) when it is not positive definite."""

    def __init__(self, matrix: ConvergentMatrix_f32) -> None: ...
    def solve(self, rhs: f64) -> f64:
        """Collective: rhs is the same whole vector on every rank; the solution is returned on every rank."""

class Cholesky_f64:
    """As Cholesky_f32, in double precision."""

    def __init__(self, matrix: ConvergentMatrix_f64) -> None: ...
    def solve(self, rhs: f64) -> f64: ...

# ------------------------------------------------------------------------------------------------------- tomography

class EarthModel:
    """Spherically symmetric isotropic Earth: polynomial layers (PREM's form, x = r / 6371 km), reference period 1 s."""

    @staticmethod
    def prem_isotropic() -> EarthModel:
        """Isotropic PREM; the solid outer surface is the ocean floor, 6368 km."""
    @staticmethod
    def prem_iso_light() -> EarthModel:
        """PREM without crust and ocean (AxiSEM's prem_iso_light): the mantle's lid extended to 6371 km."""
    @staticmethod
    def by_name(name: str) -> EarthModel: ...
    @property
    def name(self) -> str: ...
    @property
    def cmb_radius_m(self) -> float: ...
    @property
    def surface_radius_m(self) -> float: ...
    def evaluate(self, radius_m: float, below: bool = False) -> tuple[float, float, float, float]:
        """(density kg/m^3, vp m/s, vs m/s, Q_mu); at a discontinuity the value above, or below."""
    @property
    def discontinuities_m(self) -> f64: ...

class ModeCatalogue:
    """Toroidal modes of mantle and crust: eigenfrequencies, Q, group velocities and radial eigenfunctions."""

    @staticmethod
    def solve(
        earth: EarthModel,
        shortest_period_s: float,
        dispersion: bool = True,
        attenuation: bool = True,
        order: int = 3,
        element_km: float = 80.0,
    ) -> ModeCatalogue: ...
    def __len__(self) -> int: ...
    @property
    def n(self) -> i64:
        """Overtone number of each mode."""
    @property
    def l(self) -> i64:
        """Angular degree of each mode."""
    @property
    def period_s(self) -> f64: ...
    @property
    def q(self) -> f64:
        """Quality factor of each mode (infinity without attenuation)."""
    @property
    def group_velocity_km_s(self) -> f64:
        """At the surface radius."""
    def eigenfunction(self, index: int, radius_m: f64) -> tuple[f64, f64]:
        """(W, dW/dr), normalised to int rho r^2 W^2 dr = 1."""
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything needed to rebuild the catalogue (the on-disk cache holds exactly this)."""
    @staticmethod
    def from_arrays(earth: EarthModel, arrays: dict[str, NDArray[Any]]) -> ModeCatalogue: ...

class ModelBasis:
    """dlnVs(r, theta, phi) = sum m[a * n_radial + i] S_a(theta, phi) B_i(r): spherical splines times cubic B-splines."""

    def __init__(self, level: int, radial_knots_m: f64) -> None:
        """level L: 10 * 4^(L-1) + 2 knots on a subdivided icosahedron (L = 1..8). radial_knots_m: increasing, from
        the core-mantle boundary to the Earth's outer solid surface, one B-spline per knot (clamped ends)."""
    @property
    def n_lateral(self) -> int: ...
    @property
    def n_radial(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def latitude_deg(self) -> f64:
        """Geocentric latitude of each lateral knot."""
    @property
    def longitude_deg(self) -> f64: ...
    @property
    def spacing_rad(self) -> float: ...
    @property
    def radial_knots_m(self) -> f64: ...
    def radial_values(self, radius_m: f64) -> f64:
        """shape (len(radius_m), n_radial)"""
    def lateral_weights(self, latitude_deg: f64, longitude_deg: f64) -> tuple[i64, i64, f64]:
        """CSR (offsets, knot, value) of S_a at each point."""
    def evaluate(self, model: f64, latitude_deg: f64, longitude_deg: f64, radius_m: f64) -> f64:
        """dlnVs at points (1-d arrays of one length)."""

class ForwardProblem:
    """g(m) and its Jacobian for transverse mode-sum seismograms under the path-average approximation with
    exponentiated frequency shifts. Immutable: every method may be called from any thread."""

    def __init__(
        self, modes: ModeCatalogue, basis: ModelBasis, filter_periods_s: tuple[float, float, float, float]
    ) -> None:
        """filter_periods_s = (T1, T2, T3, T4), T1 > T2 > T3 > T4: cosine taper in frequency, 1 between T2 and T3."""
    @property
    def basis(self) -> ModelBasis: ...
    @property
    def modes(self) -> ModeCatalogue: ...
    def seismogram(self, path: Path, model: f64) -> f64:
        """Transverse displacement in metres (positive: clockwise about the source seen from above, i.e. 90 degrees
        clockwise of the propagation direction as seen from above the receiver), path.k samples."""
    def panel(self, path: Path, model: f64) -> tuple[f32, i64]:
        """(G_(i), k x n, n touched parameters; their indices, ascending)."""
    def seismograms(self, paths: PathSet, first: int, last: int, model: f64, threads: int = 1) -> f64:
        """Samples of paths first..last-1, one after the other. GIL released."""

class PathSet:
    """All source-receiver paths of an inversion: geometry, excitation, time window. Immutable."""

    def __init__(
        self,
        forward: ForwardProblem,
        event_latitude_deg: f64,
        event_longitude_deg: f64,
        event_depth_m: f64,
        moment_tensor_Nm: f64,
        half_duration_s: f64,
        station_latitude_deg: f64,
        station_longitude_deg: f64,
        event: i64,
        station: i64,
        t_first_s: f64,
        sample_interval_s: float,
        samples: i64,
    ) -> None:
        """Per event: position and moment tensor (n_events x 6: rr, tt, pp, rt, rp, tp in N m). Per station: position.
        Per path: event index, station index, first sample's time after the origin time, number of samples.
        Geographic latitudes; converted to geocentric inside."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Path: ...
    @property
    def offsets(self) -> i64:
        """Where each path's samples start in a concatenated vector; len + 1 entries."""
    @property
    def distance_rad(self) -> f64: ...
    def coverage(self, basis: ModelBasis) -> f64:
        """Per lateral knot: the sum over paths of the path-average weight h (dimensionless)."""

class Path:
    @property
    def k(self) -> int: ...
    @property
    def times_s(self) -> f64: ...
    @property
    def distance_rad(self) -> float: ...
    @property
    def azimuth_rad(self) -> float:
        """At the source, clockwise from north."""
    @property
    def lateral_knots(self) -> i64: ...
    @property
    def lateral_weights(self) -> f64:
        """(1/Delta) times the integral of S_a along the minor arc."""

def assemble(
    world: World,
    forward: ForwardProblem,
    paths: PathSet,
    observed: f64,
    sigma: f64,
    model: f64,
    hessian: Any,
    gradient: ConvergentVector_f64,
    threads: int = 1,
    subset: int = 16,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, float]:
    """Collective: adds G^T C_d^-1 G to hessian (f32 or f64 matrix) and G^T C_d^-1 (d - g(m)) to gradient, then commits both.

    observed: all samples, concatenated in path order, the same on every rank. sigma: noise standard deviation per path,
    metres. progress(done, total) is called on rank 0 a few times per second. UserError names the path of a NaN.
    Returns sums over all ranks: chi_data (half the weighted squared residual), data_norm (half the weighted squared data),
    samples; this rank's seconds: panel_s (g and G), product_s (G^T G, G^T r), update_s, commit_s, poll_s, wall_s; and
    paths, how many this rank did.
    """

def evaluate_misfit(
    world: World,
    forward: ForwardProblem,
    paths: PathSet,
    observed: f64,
    sigma: f64,
    model: f64,
    threads: int = 1,
    subset: int = 16,
) -> dict[str, float]:
    """Collective: chi_data, data_norm, samples at a model, without the Jacobian."""
