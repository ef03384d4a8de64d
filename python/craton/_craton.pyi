"""Type stubs of the compiled extension: the C++ objects, one to one.

Arrays of the tomography part are C-contiguous NumPy arrays; those of the distributed arrays have any strides. Angles are radians unless a name says degrees; lengths are metres unless a name
says km; times are seconds. "Collective" means that every rank of the world must call.
"""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Literal, TypedDict, TypeVar, overload

import numpy as np
from mpi4py import MPI
from numpy.typing import ArrayLike, NDArray

f32 = NDArray[np.float32]
f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

# Rows or columns: any array-like of integers. A block that is no array yet becomes one of the matrix's element type.
Indices = NDArray[np.integer[Any]] | Sequence[int] | range
_Nested = Sequence[Sequence[complex]]

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
    kernels for narrower registers; `slow`: far below the peak, and then `remedy` says what to do. Not collective.
    """

def gemm_gflops(n: int, single: bool = True, threads: int = 1) -> float:
    """Measured GEMM rate of the linked BLAS, best of several, in GFLOP/s. Not collective."""

# ---------------------------------------------------------------------------------------------------------- runtime

class World:
    """Ranks that share one address space. Collective constructor; duplicates the communicator."""

    def __init__(self, comm: MPI.Comm, ranks_per_node: int = 0, max_bytes_in_flight: int = 64 << 20) -> None:
        """ranks_per_node = k > 0 makes virtual nodes of k consecutive ranks; 0 takes the machine's real nodes
        (or CRATON_RANKS_PER_NODE where that is set).
        """
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def node_count(self) -> int: ...
    @property
    def node_size(self) -> int:
        """Ranks on this rank's node, itself included."""
    def shares_memory_with(self, rank: int) -> bool:
        """True when that rank is on this rank's node: its memory is mapped here, and updates are made in place."""
    max_bytes_in_flight: int
    """Bytes of messages this rank may have under way before an update waits for room; 1 or more. May be set at any time
    and differ per rank."""
    @property
    def bytes_in_flight(self) -> int: ...
    def flush(self) -> None:
        """Starts every message that waits for company. Not collective, does not block."""
    def poll(self) -> int:
        """Runs the handlers of messages that have arrived; returns how many. Not collective, does not block."""
    def quiesce(self) -> None:
        """Collective, blocking: returns when every message ever sent has been executed."""
    def barrier(self) -> None:
        """Collective; polls while it waits."""
    def sum(self, values: ArrayLike) -> NDArray[np.float64]:
        """Collective, blocking: sums over the ranks, on every rank, in float64; of the shape of what is given. UserError on every
        rank where they give different numbers of values.
        """
    def agree(self, failure: str = "") -> None:
        """Collective, blocking: UserError on every rank with the words of the lowest rank that gives any; "" where nothing is wrong."""
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

class ProgressThread:
    """A thread that runs the handlers of arriving messages while the others compute: between `with ProgressThread(world):`
    and its end nobody needs to poll. It sleeps when nothing happens. Not collective; any thread; stops by itself when
    MPI is finalised.
    """

    def __init__(self, world: World) -> None:
        """Does not start it."""
    def start(self) -> None:
        """Makes the thread, or wakes it after pause(). Not blocking. UserError after MPI has been finalised."""
    def pause(self) -> None:
        """It looks no more until resume(). Blocks until a handler that it is running has ended."""
    def resume(self) -> None: ...
    def stop(self) -> None:
        """Ends it; start() makes another. Blocks as pause()."""
    @property
    def running(self) -> bool: ...
    def __enter__(self) -> ProgressThread: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class WorkQueue:
    """Hands out task numbers 0 to n - 1, each to exactly one caller on one rank: first every rank's own share of about equal
    predicted cost, then what it can steal from others. `for task in queue:` on any number of threads. Collective
    constructor. UserError on every rank for a cost that is negative or not finite, 2^32 tasks or more, and numbers of tasks
    that differ between ranks.
    """

    def __init__(self, world: World, tasks: int | ArrayLike) -> None:
        """tasks: how many, or the predicted cost of each (any unit), the same on every rank."""
    def next(self) -> int | None:
        """The next task; None when there are none left. Blocks, and polls, while it steals; the victim must poll or have a
        ProgressThread if it is on another node.
        """
    def __iter__(self) -> WorkQueue: ...
    def __next__(self) -> int: ...
    def reset(self) -> None:
        """Collective: all tasks are to be done again."""
    @property
    def own(self) -> tuple[int, int]:
        """Tasks [first, second) are this rank's before anything is stolen."""
    @property
    def stolen(self) -> int:
        """How many of the tasks that this rank was given it had stolen."""

class NeighbourSync:
    """Synchronises a rank with the ranks that it names, and nobody else. Collective constructor. The n-th wait for a rank is met
    by its n-th signal. UserError, before any signal, for a rank that does not exist.
    """

    def __init__(self, world: World) -> None: ...
    def signal(self, ranks: Sequence[int]) -> None:
        """Not blocking."""
    def wait(self, ranks: Sequence[int]) -> None:
        """Blocking, polls: returns when each of the ranks has signalled this one once more than it has waited for it. What
        a rank wrote to shared memory, or copied to the end, before its signal is there. One thread at a time.
        """
    def synchronise(self, ranks: Sequence[int]) -> None:
        """Signals and waits for the same list."""

class Copy:
    """A copy between memories that was started (Segment.start_rput, start_rget, copy_to). Any thread."""

    def test(self) -> bool:
        """True when it is complete; polls once when it is not."""
    def wait(self) -> Any:
        """Blocking; polls meanwhile. Returns the array of a get, else None."""

class SegmentBytes:
    """What craton.Segment is made of. Collective constructor. Offsets are bytes, strides elements."""

    def __init__(self, world: World, bytes: int) -> None: ...
    def bytes_of(self, rank: int) -> NDArray[np.uint8] | None: ...
    def size_of(self, rank: int) -> int: ...
    def start_put(self, rank: int, offset_bytes: int, array: NDArray[Any], strides: list[int]) -> Copy: ...
    def start_get(self, rank: int, offset_bytes: int, array: NDArray[Any], strides: list[int]) -> Copy: ...
    def start_copy(
        self,
        rank: int,
        offset_bytes: int,
        to: SegmentBytes,
        to_rank: int,
        to_offset_bytes: int,
        extents: list[int],
        strides: list[int],
        to_strides: list[int],
        element_bytes: int,
    ) -> Copy: ...

# ------------------------------------------------------------------------------------------------------------ memory

def memory_in_place_rate(threads: int) -> float:
    """GB/s read and written by so many threads of this process that change memory in place: best of five passes. UserError below
    1 thread.
    """

def memory_rates(threads: int) -> tuple[float, float]:
    """(memcpy, STREAM triad), GB/s on so many threads of this process: best of five passes. UserError below 1 thread."""

# ------------------------------------------------------------------------------------------------------------ array

class BlockCyclic:
    """ScaLAPACK's 2-d block-cyclic layout: pure arithmetic, 64-bit."""

    def __init__(
        self, rows: int, cols: int, block_rows: int, block_cols: int, grid_rows: int, grid_cols: int
    ) -> None: ...
    def owner(self, row: int, col: int) -> int:
        """Rank that owns a global element."""
    def local_rows(self, rank: int) -> int: ...
    def local_cols(self, rank: int) -> int: ...
    def local_index(self, row: int, col: int) -> tuple[int, int]:
        """Where a global element lies on its owner: (local row, local column)."""
    def global_index(self, rank: int, row: int, col: int) -> tuple[int, int]:
        """The global element at a local place of a rank."""

S = TypeVar("S", np.float32, np.float64, np.complex64, np.complex128, np.int64)
R = TypeVar("R", np.float32, np.float64)

# The classes whose names begin with _ are bases of the public ones; objects inside others (ReproducibleMatrix.sums) are of them.

class _ConvergentMatrix(Generic[S]):
    """Dense block-cyclic matrix to which any thread of any rank adds blocks at any time.

    An update is applied exactly once between its call and the return of the next commit(); concurrent updates leave what
    some serial order of them would. Read elements after a commit() and before the next update. Blocks are NumPy arrays
    of the matrix's own element type with any strides (Fortran order, slices, transposes): they are read where they
    lie, and another type is refused rather than converted. Indices are array-likes of integers. Every method
    releases the GIL, and any thread may call those that are not collective.
    """

    @property
    def world(self) -> World: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def block(self) -> tuple[int, int]:
        """Rows and columns of a block."""
    @property
    def grid(self) -> tuple[int, int]:
        """Process rows and columns."""
    @property
    def layout(self) -> BlockCyclic: ...
    @property
    def dtype(self) -> np.dtype[S]: ...
    @property
    def local(self) -> NDArray[S]:
        """View (no copy) of this rank's storage, shape (local_rows, local_cols), Fortran order. Keeps the matrix alive.
        Read and written between a commit() and the next update.
        """
    @property
    def local_rows_global(self) -> i64:
        """Global row index of each local row."""
    @property
    def local_cols_global(self) -> i64:
        """Global column index of each local column."""
    @overload
    def update(self, block: NDArray[S] | _Nested, rows: Indices, cols: Indices) -> None:
        """Merges block[a, b] into element (rows[a], cols[b]); repeated indices merge repeatedly. Any thread; not collective;
        blocks only while the bound on bytes in flight is reached; `block` may be reused on return.
        UserError when an index is out of range or a shape does not match: nothing of that update is applied.
        """
    @overload
    def update(self, block: complex, rows: int, cols: int) -> None:
        """One number into one element."""
    def update_symmetric(self, block: NDArray[S] | _Nested, indices: Indices) -> None:
        """Merges a symmetric block into the upper triangle: element (indices[a], indices[b]) only where row <= column.
        Otherwise as update. The matrix must be square.
        """
    def update_trapezoid(
        self,
        block: NDArray[S] | _Nested,
        rows: Indices,
        cols: Indices,
        side: Literal["upper", "lower"] = "upper",
        offset: int = 0,
    ) -> None:
        """As update, but takes element (i, j) only where i <= j + offset (upper) or i >= j + offset (lower)."""
    def commit(self) -> None:
        """Collective, blocking: every update made before it on any rank has been applied exactly once when it returns. The
        threads of this rank must have returned from their updates.
        """
    def reset(self) -> None:
        """Collective: commits, then makes all elements the merge's identity (zero for sums)."""
    def scale(self, factor: complex) -> None:
        """Collective: commits, then multiplies every element."""
    def fill_lower(self) -> None:
        """Collective: commits, then makes the strict lower triangle of a square matrix the transpose of the upper one."""
    def read(self, row: int, col: int) -> Any:
        """One element from its owner, after a commit. Blocking, not collective; the owner must poll if on another node."""
    def read_slice(self, rows: Indices, cols: Indices) -> NDArray[S]:
        """The block at (rows, cols), shape (len(rows), len(cols)). As read."""
    def read_block(self, row: int, col: int, rows: int, cols: int) -> NDArray[S]:
        """The rectangle of rows x cols elements that begins at (row, col). As read."""
    def diagonal(self) -> NDArray[Any]:
        """Collective: the whole diagonal on every rank; float64 of a float32 matrix. The matrix must be square."""
    def save(
        self, path: str, dataset: str, symmetric: bool = False, append: bool = False, hints: dict[str, str] = {}
    ) -> None:
        """Collective HDF5 in global order; written aside and renamed. append adds the dataset to an existing file in place.
        symmetric: records that only the upper triangle is meaningful. hints go to MPI-IO (striping_factor, ...), over those
        of CRATON_IO_HINTS; the same on every rank. UserError on every rank when the file cannot be written.
        """
    def load(self, path: str, dataset: str, hints: dict[str, str] = {}) -> None:
        """Collective; any number of ranks may load what any other number saved. UserError: missing file or dataset,
        file cut short, other shape, other precision (both named).
        """

class _RealConvergentMatrix(_ConvergentMatrix[R]):
    def update_gram(
        self,
        panel: NDArray[R] | Sequence[NDArray[R]],
        indices: Indices,
        weights: NDArray[R] | Sequence[NDArray[R] | None] | None = None,
        tolerance: float = 0.0,
        method: Literal["auto", "origin", "owner"] = "auto",
        always_compress: bool = False,
    ) -> GramReport:
        """Adds G^T W G to the upper triangle without forming it: G is k x n, column b belongs to indices[b]; weights are of
        its k rows (None: one). A list of panels with the same indices, and of their weights, is stacked. Any strides.
        tolerance > 0: the panel may first be compressed to its numerical rank; the trace norm of what is lost is at most
        tolerance * trace(G^T W G). method: where products for other nodes are made; "auto" asks the cost model.
        Any thread, not collective, blocks as update. UserError: shapes that do not match, indices out of range,
        negative weights, a matrix that is not square or whose merge is not "add".
        """
    def update_kronecker(
        self, lateral: NDArray[R], radial: NDArray[R], indices: Indices, weights: NDArray[R] | None = None
    ) -> None:
        """As update_gram for a panel that is a Kronecker product, never expanded: G[t, a * n_radial + i] =
        lateral[a] * radial[t, i]; len(lateral) * radial.shape[1] indices in that order.
        """
    def explain_gram(
        self, n: int, k: int, tolerance: float = 0.0, method: Literal["auto", "origin", "owner"] = "auto"
    ) -> str:
        """What the cost model expects of an update of n columns and k samples: one line per way, and the choice."""
    gram_wire_bytes_per_s: float
    """Bytes per second between nodes that the cost model takes."""
    def add_kronecker(self, lateral: f64, radial: f64, scale: float = 1.0, offset: int = 0) -> None:
        """Local on every rank (call on all): element (offset+a*nr+i, offset+b*nr+j) += scale * lateral[a,b] * radial[i,j], upper
        triangle only. commit() again before the next update or read. UserError where the product does not lie within the matrix.
        """
    def copy_as_f64(self) -> ConvergentMatrix_f64:
        """Collective: the same matrix, same layout, in double precision."""

class GramReport:
    """What one update_gram did."""

    @property
    def samples(self) -> int:
        """k, of all panels together."""
    @property
    def rank(self) -> int:
        """Rows that were multiplied: k, or fewer after compression."""
    @property
    def targets_at_origin(self) -> int: ...
    @property
    def targets_at_owner(self) -> int: ...

class ArrayOperation:
    """An operation of a DistArray that was started. Any thread."""

    def test(self) -> bool:
        """True when it is complete; polls when it is not."""
    def wait(self) -> Any:
        """Blocking; polls meanwhile. Returns the array of a get, else None."""

class DistArrayCore:
    """What craton.DistArray is made of: rectangles low <= i < high, one number per dimension; memory of the array's own element
    type and the rectangle's shape, any strides. Which are collective, and what they throw, is in array/dist_array.hpp.
    """

    @property
    def world(self) -> World: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def boundaries(self) -> list[list[int]]: ...
    @property
    def owners(self) -> list[int]:
        """Of the tiles in row-major order."""
    def start_get(self, low: Sequence[int], high: Sequence[int], out: NDArray[Any]) -> ArrayOperation: ...
    def start_put(self, low: Sequence[int], high: Sequence[int], block: NDArray[Any]) -> ArrayOperation: ...
    def start_accumulate(self, low: Sequence[int], high: Sequence[int], block: NDArray[Any]) -> ArrayOperation: ...
    def post_accumulate(self, low: Sequence[int], high: Sequence[int], block: NDArray[Any]) -> None: ...
    def get_above(
        self, low: Sequence[int], high: Sequence[int], threshold: float, out: NDArray[Any]
    ) -> list[tuple[int, list[int], list[int], float, bool]]:
        """(tile, low, high, largest |element|, whether it came) of each tile's piece."""
    def register_function(self, call: Callable[[NDArray[Any], list[int], bytes], None]) -> int:
        """call(view of a piece, its first indices in the array, argument) must not raise, nor keep the array alive."""
    def start_apply(
        self, low: Sequence[int], high: Sequence[int], function: int, argument: bytes
    ) -> ArrayOperation: ...
    def own_tiles(self) -> list[int]: ...
    def tile_view(self, tile: int) -> NDArray[Any]:
        """View (no copy) of a tile of this rank. Keeps the array alive."""
    def sync(self) -> None: ...
    def fill(self, value: complex) -> None: ...
    def scale(self, by: complex) -> None: ...
    def copy(self, source: DistArrayCore) -> None: ...
    def add(self, alpha: complex, a: DistArrayCore, beta: complex, b: DistArrayCore) -> None: ...
    def redistribute_to(self, to: DistArrayCore) -> None: ...
    def transpose_to(self, to: DistArrayCore) -> None: ...
    def trace(self) -> Any: ...
    def dot(self, other: DistArrayCore) -> Any: ...
    def norm(self, kind: str) -> float: ...
    def save(self, path: str, dataset: str, append: bool, hints: dict[str, str]) -> None: ...
    def load(self, path: str, dataset: str, hints: dict[str, str]) -> None: ...

def _dist_array(world: World, dtype: str, boundaries: list[list[int]], owners: list[int]) -> DistArrayCore:
    """Collective."""

def _dist_matmul(
    alpha: float,
    a: DistArrayCore,
    a_transposed: bool,
    b: DistArrayCore,
    b_transposed: bool,
    beta: float,
    c: DistArrayCore,
) -> None: ...
def _dist_eigvalsh(matrix: DistArrayCore, workers: str) -> f64: ...
def _dist_eigh(matrix: DistArrayCore, vectors: DistArrayCore, workers: str) -> f64: ...
def _dist_cholesky(matrix: DistArrayCore, lower: DistArrayCore, workers: str) -> None: ...
def _dist_triangular_inv(lower: DistArrayCore, inverse: DistArrayCore, workers: str) -> None: ...

class _SymmetricMatrix(Generic[S]):
    """A symmetric matrix that keeps its upper triangle only, in half the memory, where Cholesky factors it. Contract and
    arguments are ConvergentMatrix's.
    """

    @property
    def world(self) -> World: ...
    @property
    def order(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def block(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[S]: ...
    @property
    def packed(self) -> _ConvergentMatrix[S]:
        """The packed array itself (no copy), for files: a block version of the rectangular full packed format."""
    def update(self, block: NDArray[S] | _Nested, rows: Indices, cols: Indices) -> None:
        """Merges block[a, b] into element (rows[a], cols[b]) wherever rows[a] <= cols[b]; what lies below the diagonal is left
        out. Any thread; not collective.
        """
    def update_symmetric(self, block: NDArray[S] | _Nested, indices: Indices) -> None:
        """Merges a symmetric block, as ConvergentMatrix.update_symmetric."""
    def commit(self) -> None:
        """Collective, blocking: every earlier update has been applied when it returns."""
    def reset(self) -> None:
        """Collective: commits, then makes all elements the merge's identity."""
    def scale(self, factor: complex) -> None:
        """Collective: commits, then multiplies every element."""
    def read(self, row: int, col: int) -> Any:
        """One element of either triangle. Blocking, not collective."""
    def read_slice(self, rows: Indices, cols: Indices) -> NDArray[S]:
        """The block at (rows, cols) of either triangle. As read."""
    def diagonal(self) -> NDArray[S]:
        """Collective: the whole diagonal on every rank."""
    def expand(self, full: _ConvergentMatrix[S], fill_lower: bool = False) -> None:
        """Collective, blocking: replaces `full`, of the same order, by this committed matrix; its lower triangle by the
        identity, or (fill_lower) by the mirror image.
        """
    def compress(self, full: _ConvergentMatrix[S]) -> None:
        """Collective, blocking: replaces this matrix by the upper triangle of `full`, committed and of the same order."""

class _ReproducibleMatrix(Generic[R]):
    """Sums whose bits depend neither on the number of ranks and threads nor on the order of updates. Arguments are
    ConvergentMatrix's.
    """

    @property
    def world(self) -> World: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def layout(self) -> BlockCyclic: ...
    @property
    def dtype(self) -> np.dtype[R]: ...
    @property
    def largest(self) -> float:
        """The bound on the sum over all updates of their largest magnitudes."""
    @property
    def resolution(self) -> float:
        """Every contribution is rounded once to a whole multiple of it."""
    @property
    def sums(self) -> _ConvergentMatrix[np.int64]:
        """The sums as multiples of `resolution` (no copy)."""
    def update(self, block: NDArray[R] | _Nested, rows: Indices, cols: Indices) -> None:
        """As ConvergentMatrix.update. UserError also for an element that is not finite or larger than `largest`."""
    def update_symmetric(self, block: NDArray[R] | _Nested, indices: Indices) -> None: ...
    def commit(self) -> None:
        """Collective, blocking. UserError on every rank when the updates together may have exceeded `largest`."""
    def reset(self) -> None:
        """Collective."""
    def read(self, row: int, col: int) -> float: ...
    def read_slice(self, rows: Indices, cols: Indices) -> NDArray[R]: ...

class _ConvergentVector(Generic[S]):
    """One-dimensional, block-cyclic over all ranks. Contract and arguments are ConvergentMatrix's; sums only."""

    @property
    def size(self) -> int: ...
    @property
    def block(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[S]: ...
    @property
    def local(self) -> NDArray[S]:
        """View (no copy) of this rank's elements."""
    def update(self, values: NDArray[S] | Sequence[complex], indices: Indices) -> None:
        """Adds values[a] to element indices[a]. Any thread; not collective. UserError: an index out of range, or lengths that
        differ: nothing is applied.
        """
    def commit(self) -> None:
        """Collective, blocking: every earlier update has been applied when it returns."""
    def reset(self) -> None:
        """Collective: all elements become zero."""
    def gather(self) -> NDArray[S]:
        """Collective: the whole vector on every rank."""

# What the constructors take, once for all element types: N is Python's kind of number, M the matrix that to_matrix makes.

N = TypeVar("N", int, float, complex)
M = TypeVar("M")

class _MadeMatrix(Generic[N]):
    def __init__(
        self,
        world: World,
        rows: int,
        cols: int,
        block: int | tuple[int, int] = 64,
        grid: tuple[int, int] = (0, 0),
        merge: str | Callable[..., object] = "add",
        identity: N | None = None,
    ) -> None:
        """Made by craton.ConvergentMatrix. Collective. UserError if the grid does not match the number of ranks, or if a rank
        would own nothing (more ranks than blocks), or there is not enough memory.
        """

class _MadeSymmetricMatrix(Generic[N, M]):
    def __init__(
        self,
        world: World,
        order: int,
        block: int = 64,
        grid: tuple[int, int] = (0, 0),
        merge: str | Callable[..., object] = "add",
        identity: N | None = None,
    ) -> None:
        """Made by craton.SymmetricMatrix. Collective."""
    def to_matrix(self, fill_lower: bool = False) -> M:
        """Collective: a full matrix of the same elements (expand)."""

class _MadeReproducibleMatrix(Generic[M]):
    def __init__(
        self,
        world: World,
        rows: int,
        cols: int,
        largest: float,
        block: int | tuple[int, int] = 64,
        grid: tuple[int, int] = (0, 0),
    ) -> None:
        """Made by craton.ReproducibleMatrix. Collective."""
    def to_matrix(self) -> M:
        """Collective: the sums, rounded once more, in a matrix of the same layout, for linear algebra."""

class _MadeVector:
    def __init__(self, world: World, size: int, block: int = 64) -> None:
        """Made by craton.ConvergentVector. Collective."""

class _Cholesky(Generic[R]):
    """U^T U of a symmetric positive-definite matrix, in place (its upper triangle). Collective constructor; the matrix is to
    be left alone while the factor is wanted. UserError (with the order of the leading minor) when it is not positive definite.
    """

    def __init__(self, matrix: _ConvergentMatrix[R] | _SymmetricMatrix[R]) -> None: ...
    @overload
    def solve(self, rhs: _ConvergentMatrix[R]) -> None:
        """Collective: A X = B for all columns of a committed matrix on the same process grid, in place."""
    @overload
    def solve(self, rhs: ArrayLike) -> f64:
        """Collective: rhs is the same whole vector on every rank; the solution is returned on every rank."""
    @overload
    def solve_transposed_factor(self, rhs: _ConvergentMatrix[R]) -> None: ...
    @overload
    def solve_transposed_factor(self, rhs: ArrayLike) -> f64:
        """Collective: U^-T rhs, half of a solution: its squared norm is rhs . A^-1 rhs. Otherwise as solve."""
    @overload
    def solve_factor(self, rhs: _ConvergentMatrix[R]) -> None: ...
    @overload
    def solve_factor(self, rhs: ArrayLike) -> f64:
        """Collective: U^-1 rhs, the other half: of independent standard normal numbers a draw of covariance A^-1. Otherwise as
        solve.
        """
    def log_determinant(self) -> float:
        """Collective: the natural logarithm of A's determinant. UserError after invert or inverse_diagonal."""
    def inverse_diagonal(self) -> f64:
        """Collective: the diagonal of the inverse on every rank. Overwrites the factor: solve is not possible any more."""
    def invert(self) -> None:
        """Collective: overwrites the upper triangle of the matrix with that of its inverse."""

class _ConvergentMatrix_f32(_RealConvergentMatrix[np.float32]): ...
class ConvergentMatrix_f32(_ConvergentMatrix_f32, _MadeMatrix[float]): ...
class _SymmetricMatrix_f32(_SymmetricMatrix[np.float32]): ...
class SymmetricMatrix_f32(_SymmetricMatrix_f32, _MadeSymmetricMatrix[float, ConvergentMatrix_f32]): ...
class ConvergentVector_f32(_ConvergentVector[np.float32], _MadeVector): ...
class ReproducibleMatrix_f32(_ReproducibleMatrix[np.float32], _MadeReproducibleMatrix[ConvergentMatrix_f32]): ...
class Cholesky_f32(_Cholesky[np.float32]): ...
class _ConvergentMatrix_f64(_RealConvergentMatrix[np.float64]): ...
class ConvergentMatrix_f64(_ConvergentMatrix_f64, _MadeMatrix[float]): ...
class _SymmetricMatrix_f64(_SymmetricMatrix[np.float64]): ...
class SymmetricMatrix_f64(_SymmetricMatrix_f64, _MadeSymmetricMatrix[float, ConvergentMatrix_f64]): ...
class ConvergentVector_f64(_ConvergentVector[np.float64], _MadeVector): ...
class ReproducibleMatrix_f64(_ReproducibleMatrix[np.float64], _MadeReproducibleMatrix[ConvergentMatrix_f64]): ...
class Cholesky_f64(_Cholesky[np.float64]): ...
class _ConvergentMatrix_c64(_ConvergentMatrix[np.complex64]): ...
class ConvergentMatrix_c64(_ConvergentMatrix_c64, _MadeMatrix[complex]): ...
class _SymmetricMatrix_c64(_SymmetricMatrix[np.complex64]): ...
class SymmetricMatrix_c64(_SymmetricMatrix_c64, _MadeSymmetricMatrix[complex, ConvergentMatrix_c64]): ...
class ConvergentVector_c64(_ConvergentVector[np.complex64], _MadeVector): ...
class _ConvergentMatrix_c128(_ConvergentMatrix[np.complex128]): ...
class ConvergentMatrix_c128(_ConvergentMatrix_c128, _MadeMatrix[complex]): ...
class _SymmetricMatrix_c128(_SymmetricMatrix[np.complex128]): ...
class SymmetricMatrix_c128(_SymmetricMatrix_c128, _MadeSymmetricMatrix[complex, ConvergentMatrix_c128]): ...
class ConvergentVector_c128(_ConvergentVector[np.complex128], _MadeVector): ...
class _ConvergentMatrix_i64(_ConvergentMatrix[np.int64]): ...
class ConvergentMatrix_i64(_ConvergentMatrix_i64, _MadeMatrix[int]): ...
class _SymmetricMatrix_i64(_SymmetricMatrix[np.int64]): ...
class SymmetricMatrix_i64(_SymmetricMatrix_i64, _MadeSymmetricMatrix[int, ConvergentMatrix_i64]): ...
class ConvergentVector_i64(_ConvergentVector[np.int64], _MadeVector): ...

# ---------------------------------------------------------------------------------------- linear algebra (craton.linalg)

def _matvec(a: Any, x: ArrayLike, transposed: bool, /) -> f64: ...
def _symmetric_matvec(a: Any, x: ArrayLike, /) -> f64: ...
def _matmul(alpha: float, a: Any, a_transposed: bool, b: Any, b_transposed: bool, beta: float, c: Any, /) -> None: ...
def _symmetric_matmul(right: bool, alpha: float, a: Any, b: Any, beta: float, c: Any, /) -> None: ...
def _eigvalsh(a: Any, /) -> f64: ...
def _eigh(a: Any, vectors: Any, /) -> f64: ...
def _invert_triangle(a: Any, lower: bool, /) -> None: ...

# ------------------------------------------------------------------------------------------------------ checkpoints

class Subset:
    """The updates of one work subset, from Checkpoint.begin to finish(); true when they are to be made, false when they
    are counted already. In a `with` block the end without an exception finishes it; with one the subset is
    abandoned, its updates are in the arrays in part, and save() refuses from then on.
    """

    def __bool__(self) -> bool: ...
    def finish(self) -> None:
        """All updates of the subset have been called and have returned. Any thread."""
    def __enter__(self) -> Subset: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

class Checkpoint:
    """Named arrays, and which work subsets are counted in them, together in one file that survives any kill
    (docs/durability.md). Collective constructor; takes `<path>.lock`.

    keep_previous: the checkpoint before the last one stays as `<path>.previous`. wait_for_other_job_s: for one that was
    killed a moment ago. hints go to MPI-IO; buffer_bytes of each rank on the way to the file; verify reads back what was
    written; after patience_s in one transfer the job ends. UserError on every rank when another job holds the
    checkpoint, or the folder is missing or may not be written.
    """

    def __init__(
        self,
        world: World,
        path: str,
        *,
        keep_previous: bool = True,
        wait_for_other_job_s: float = 10.0,
        hints: dict[str, str] = {},
        buffer_bytes: int = 64 << 20,
        verify: bool = True,
        patience_s: float = 600.0,
    ) -> None: ...
    def close(self) -> None:
        """Gives the lock back; nothing else may be called after. Not collective. UserError while a subset is open. The end of a
        `with` block without an exception closes, as does the end of the object.
        """
    def __enter__(self) -> Checkpoint: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def add(
        self,
        name: str,
        array: Any,
    ) -> None:
        """Names a matrix or a vector of craton's: the same names in the same order on every rank, before resume(). A SymmetricMatrix is resumed
        with the block size it was saved with. UserError: a name given twice, empty or with '/'; after resume().
        """
    def resume(self) -> tuple[dict[str, int | float], str] | None:
        """Collective, blocking; call it once after add(), also when starting afresh. Fills the arrays and the list of counted
        subsets from the last checkpoint, whatever number of ranks wrote it. Returns the numbers saved and a notice (empty, or
        that the checkpoint before the last was used), or None when there is no checkpoint. UserError on every rank for a
        file that is no checkpoint, holds other arrays, or is damaged.
        """
    def begin(self, subset: int) -> Subset:
        """Opens a subset for the calling thread. Any thread; not collective; waits while a save is under way."""
    def save(self, numbers: dict[str, int | float] = {}) -> None:
        """Collective, blocking; waits for subsets that other threads have open. When it returns all finished subsets are
        on disk. UserError on every rank when it cannot be written; the checkpoint before stays in place.
        """
    @property
    def counted(self) -> list[tuple[int, int]]:
        """Subsets in the last checkpoint as runs (first, last), both included; the same on every rank."""
    def missing(self, total: int) -> i64:
        """Those of 0 ... total - 1 that are not in the last checkpoint, ascending: what is left to do."""

def hints_from_environment() -> dict[str, str]:
    """What CRATON_IO_HINTS ("name=value;name=value") says to MPI-IO. UserError for what is not of that form."""

# ------------------------------------------------------------------------------------------------------- tomography

class EarthModel:
    """Spherically symmetric Earth, isotropic or radially anisotropic: polynomial layers (PREM's form, x = r / 6371 km),
    reference period 1 s.
    """

    @staticmethod
    def prem() -> EarthModel:
        """PREM as published: anisotropic between 24.4 and 220 km depth, with its ocean."""
    @staticmethod
    def prem_isotropic_ocean() -> EarthModel:
        """Isotropic PREM with its ocean, 6368 to 6371 km."""
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
    @property
    def solid_surface_radius_m(self) -> float:
        """The ocean floor, or the surface where there is no ocean."""
    def gravity_m_s2(self, radius_m: float) -> float: ...
    def evaluate(self, radius_m: float, below: bool = False) -> tuple[float, float, float, float]:
        """(density kg/m^3, vpv m/s, vsv m/s, Q_mu); at a discontinuity the value above, or below."""
    def love_Pa(self, radius_m: float, below: bool = False) -> tuple[float, float, float, float, float]:
        """Love's moduli (A, C, F, L, N) at 1 s; at a discontinuity the values above, or below."""
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
    def scalars(self, source_depth_m: float) -> dict[str, f64]:
        """Excitation and receiver factors of every mode, as SpheroidalCatalogue.scalars has them."""
    def pair_kernel(self, mode: int, other: int, radius_m: f64) -> f64:
        """Factors of dA, dC, dF, dL, dN in the pair's strain energy, shape (len(radius_m), 5)."""
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything needed to rebuild the catalogue (the on-disk cache holds exactly this)."""
    @staticmethod
    def from_arrays(earth: EarthModel, arrays: dict[str, NDArray[Any]]) -> ModeCatalogue: ...

class SpheroidalCatalogue:
    """Spheroidal and radial modes of the whole, self-gravitating Earth: eigenfrequencies, Q, group velocities,
    eigenfunctions.
    """

    @staticmethod
    def solve(
        earth: EarthModel,
        shortest_period_s: float,
        dispersion: bool = True,
        attenuation: bool = True,
        order: int = 6,
        elements_per_wavelength: float = 1.5,
        gravity: str = "full",
    ) -> SpheroidalCatalogue:
        """gravity: full, cowling (initial gravity alone) or none."""
    def __len__(self) -> int: ...
    @property
    def n(self) -> i64:
        """Overtone number of each mode; l = 1 starts with 2 (0S1 is a translation, 1S1 the Slichter mode)."""
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
        """At the solid surface; 0 for radial modes."""
    def eigenfunction(self, index: int, radius_m: f64, below: bool = False) -> f64:
        """(U, dU/dr, V, dV/dr, P, dP/dr), shape (len(radius_m), 6), normalised to int rho r^2 (U^2 + V^2) dr = 1 (SI); at
        a discontinuity the values above, or below.
        """
    def scalars(self, source_depth_m: float, seismometer: bool = False) -> dict[str, f64]:
        """Excitation and receiver factors of every mode: strain_rr = U', strain_h = (U - k V / 2) / r,
        strain_1 = (V' - V / r + k U / r) / k, strain_2 = V / (k r) at the source; vertical = U, horizontal = V / k at the
        receiver. Toroidal: strain_1 = (W' - W / r) / k, strain_2 = W / (k r), horizontal = W / k.
        """
    def pair_kernel(self, mode: int, other: int, radius_m: f64, below: bool = False) -> f64:
        """Factors of dA, dC, dF, dL, dN in the pair's strain energy, shape (len(radius_m), 5): for mode = other, w^2 changes
        by their integral over the radius.
        """
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything needed to rebuild the catalogue (the on-disk cache holds exactly this)."""
    @staticmethod
    def from_arrays(earth: EarthModel, arrays: dict[str, NDArray[Any]]) -> SpheroidalCatalogue: ...

class ModeSynthetics:
    """Three-component seismograms of a spherically symmetric Earth by summation of toroidal and spheroidal modes.
    Immutable: every method may be called from any thread.
    """

    def __init__(
        self,
        spheroidal: SpheroidalCatalogue,
        toroidal: ModeCatalogue,
        filter_periods_s: tuple[float, float, float, float] | None = None,
        seismometer: bool = False,
    ) -> None: ...
    def seismograms(
        self,
        latitude_deg: float,
        longitude_deg: float,
        depth_m: float,
        moment_tensor_Nm: f64,
        station_latitude_deg: f64,
        station_longitude_deg: f64,
        t_first_s: float,
        sample_interval_s: float,
        samples: int,
        half_duration_s: float = 0.0,
    ) -> f64:
        """(stations, 3, samples) in metres: up, away from the source, right of the direction of propagation (Z, R, T of
        ObsPy). Geographic latitudes; moment tensor rr, tt, pp, rt, rp, tp; depth below 6371 km.
        """

class ModelBasis:
    """dlnVs(r, theta, phi) = sum m[a * n_radial + i] S_a(theta, phi) B_i(r): spherical splines times cubic B-splines."""

    def __init__(self, level: int, radial_knots_m: f64, parameters: int = 1) -> None:
        """Level L: 10 * 4^(L-1) + 2 knots on a subdivided icosahedron (L = 1..8). radial_knots_m: increasing, from
        the core-mantle boundary to the Earth's outer solid surface, one B-spline per knot (clamped ends). parameters:
        1 for dlnVs, 2 for dlnVs and then dlnxi, xi = (Vsh / Vsv)^2.
        """
    @property
    def parameters(self) -> int: ...
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
        """Shape (len(radius_m), n_radial)"""
    def lateral_weights(self, latitude_deg: f64, longitude_deg: f64) -> tuple[i64, i64, f64]:
        """CSR (offsets, knot, value) of S_a at each point."""
    def evaluate(self, model: f64, latitude_deg: f64, longitude_deg: f64, radius_m: f64, parameter: int = 0) -> f64:
        """One parameter (0: dlnVs, 1: dlnxi) at points (1-d arrays of one length)."""

class ForwardProblem:
    """g(m) and its Jacobian for transverse mode-sum seismograms under the path-average approximation with
    exponentiated frequency shifts. Immutable: every method may be called from any thread.
    """

    def __init__(
        self,
        modes: ModeCatalogue,
        basis: ModelBasis,
        filter_periods_s: tuple[float, float, float, float],
        theory: str = "pava",
        spheroidal: SpheroidalCatalogue | None = None,
    ) -> None:
        """filter_periods_s = (T1, T2, T3, T4), T1 > T2 > T3 > T4: cosine taper in frequency, 1 between T2 and T3.
        theory: pava (frequencies shift by the path's average), nact (that along branches of overtones, and coupling across
        them: sensitivity in the great circle's plane and, to first order, beside it), nact_in_plane (without what is
        beside it), born and born_in_plane (coupling of all pairs, linear in the model). spheroidal: modes for vertical
        and radial motion.
        """
    @property
    def theory(self) -> str: ...
    @property
    def basis(self) -> ModelBasis: ...
    @property
    def modes(self) -> ModeCatalogue: ...
    def seismogram(self, path: Path, model: f64) -> f64:
        """Transverse displacement in metres (positive: clockwise about the source seen from above, i.e. 90 degrees
        clockwise of the propagation direction as seen from above the receiver), path.k samples.
        """
    def panel(self, path: Path, model: f64) -> tuple[f32, i64]:
        """(G_(i), k x n, n touched parameters; their indices, ascending)."""
    def plane_kernel(self, path: Path, angle_rad: f64, radius_m: f64) -> f32:
        """What dlnVs at points of the great circle's plane does to the reference Earth's seismogram: samples x angles (from
        the source) x radii, metres per metre of radius and radian.
        """
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
        along: Sequence[str] = (),
        component: Sequence[str] = (),
    ) -> None:
        """Per event: position and moment tensor (n_events x 6: rr, tt, pp, rt, rp, tp in N m). Per station: position.
        Per path: event index, station index, first sample's time after the origin time, number of samples, and the way
        that the wave came: minor (where left out), major, or whole (all round, for comparison), and component: Z (up),
        R (away from the source), T (to its right; where left out).
        Geographic latitudes; converted to geocentric inside.
        """
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
    gradient: Any,
    threads: int = 1,
    subset: int = 16,
    progress: Callable[[int, int], None] | None = None,
    correlation: f64 | None = None,
    checkpoint: Checkpoint | None = None,
    pause_after_s: float = 0.0,
    compress: float = 0.0,
) -> dict[str, float]:
    """Collective: adds G^T C_d^-1 G to hessian (a ConvergentMatrix of float32 or float64) and G^T C_d^-1 (d - g(m)) to gradient, then commits both.

    observed: all samples, concatenated in path order, the same on every rank. sigma: noise standard deviation per path,
    metres. correlation: of neighbouring samples' noise, per path, in [0, 1): C_d[t, u] = sigma^2 correlation^|t - u| within a
    path; None: 0 for all. progress(done, total) is called on rank 0 a few times per second. UserError names the path of a NaN.
    Returns sums over all ranks: chi_data (half the weighted squared residual), data_norm (half the weighted squared data),
    samples; this rank's seconds: panel_s (g and G), product_s (G^T G, G^T r), update_s, commit_s, poll_s, wall_s; and
    paths, how many this rank did; and left, the paths that a pause has left to do, the same on every rank.

    checkpoint: one of hessian and gradient, resumed, whose subsets are the paths' numbers; paths counted in it are left out.
    pause_after_s: after so many seconds no more paths are handed out, and it returns when those that were are done: the moment
    for checkpoint.save(). 0: no pause. Sums are of the paths done in this call.

    All windows of one event, station and arc are one update of the Hessian: updates says how many this rank made. compress, in
    [0, 1): where it pays, what each panel G of a coupled theory has below `compress` times its Frobenius norm may be left out of
    G^T G (its trace falls by compress^2 at most); 0: nothing. rows: of panels, that this rank multiplied, of row_samples.
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
    progress: Callable[[int, int], None] | None = None,
    correlation: f64 | None = None,
) -> dict[str, float]:
    """Collective: chi_data, data_norm, samples at a model, without the Jacobian."""

# ---------------------------------------------------------------------------------------------------------------- multigrid

_Three = tuple[int, int, int]

class MultigridSolver:
    """Full geometric multigrid on boxes; craton.multigrid.Solver is its face. Values are those of this rank's cells: box after box
    in the order of boxes_of_rank, i fastest. Constructors are collective.
    """

    @overload
    def __init__(
        self,
        world: World,
        boxes: _Three,
        side: int,
        periodic: tuple[bool, bool, bool],
        order: str,
        discretisation: str,
        smoother: str,
        a: float,
        b: float,
        sides: Sequence[tuple[str, str]],
        beta: tuple[f64, f64, f64],
        alpha: f64,
        threads: int = 1,
    ) -> None:
        """beta: of each box all faces along the dimension (side + 1), those that two boxes share in both. alpha: empty for none. UserError
        on every rank for what craton.multigrid.Solver refuses.
        """
    @overload
    def __init__(
        self,
        world: World,
        boxes: _Three,
        side: int,
        order: str,
        discretisation: str,
        smoother: str,
        a: float,
        b: float,
        exchange: str = "one-wait",
        threads: int = 1,
    ) -> None:
        """The test problem of HPGMG-FV. exchange: small-copies, local-loops, strided, neighbours, one-wait or bulk."""
    @property
    def levels(self) -> list[tuple[int, _Three, int]]:
        """Per level, the finest first: cells of a box along each side, boxes along each dimension, ranks that have some."""
    @property
    def singular(self) -> bool: ...
    @property
    def own_cells(self) -> int: ...
    def set_right_hand_side(self, f: f64, on_boundary: Sequence[tuple[f64, f64]]) -> None:
        """Collective. on_boundary: per dimension those of the faces before the first and behind the last cell, of whole sides, the lower of
        a side's dimensions fastest; empty: 0. UserError on every rank: values that are not finite, or have a mean where the problem
        is singular.
        """
    def solve(
        self, tolerance: float, most_cycles: int, progress: Callable[[int, float], object] | None = None
    ) -> tuple[list[float], bool]:
        """Collective: relative residuals, and whether the last is within the tolerance. progress(step, residual) is called by every
        rank.
        """
    def solve_by_conjugate_gradients(
        self, tolerance: float, most_steps: int, progress: Callable[[int, float], object] | None = None
    ) -> tuple[list[float], bool]:
        """Collective: as solve()."""
    def f_cycle(self, level: int = 0) -> None:
        """Collective."""
    def v_cycle(self) -> None:
        """Collective."""
    def relative_residual(self, level: int = 0) -> float:
        """Collective."""
    def richardson(self) -> tuple[float, float]:
        """Collective: Richardson's estimate of the error, and the order."""
    def apply(self, u: f64) -> f64:
        """Collective: A u."""
    def precondition(self, r: f64) -> f64:
        """Collective: a V-cycle from zero."""
    def record_times(self, on: bool = True) -> None:
        """Collective: from now on seconds are counted, from zero; or no more."""
    def longest_times(self) -> list[list[tuple[str, float]]]:
        """Collective: per level, the finest first, (phase, seconds) of the rank that has spent most."""
    def solution(self) -> f64:
        """U of this rank's cells. Not collective."""
    def sum_over_ranks(self, values: f64) -> f64:
        """Collective: element by element; as many on every rank."""

def agree(world: World, failure: str) -> None:
    """Collective: UserError on every rank when any has a failure to report (a text that is not empty)."""

def boxes_of_rank(world: World, boxes: _Three, side: int, order: str) -> i64:
    """(i, j, k) of the first cell of each of this rank's boxes, shape (boxes, 3). Not collective."""

# -------------------------------------------------------------------------------------------------------------------- waves

class WaveAbsorbing:
    """What takes waves away at the sides of the grid: the C++ absorbing_settings."""

    kind: str
    """none, pml or sponge"""
    width: int
    """cells"""
    reflection: float
    """pml: what theory leaves of a wave of speed_m_s at normal incidence."""
    power: float
    speed_m_s: float
    """0: the largest P velocity of the grid."""
    alpha_per_s: float
    """0: 0.16 times the smallest vs by the spacing."""
    multiaxial_ratio: float
    multiaxial_power: float
    sponge_alpha: float
    def __init__(self) -> None: ...

class WaveRelaxation:
    """Eight relaxation mechanisms that imitate Q(f) over a band of frequencies: Q up to corner_hz, Q (f / corner_hz)^exponent above."""

    def __init__(
        self, lowest_hz: float, highest_hz: float, reference_hz: float, exponent: float = 0.0, corner_hz: float = 1.0
    ) -> None:
        """UserError unless 0 < lowest_hz < highest_hz / 3, reference_hz > 0 and 0 <= exponent < 1."""
    @property
    def times_s(self) -> list[float]: ...
    def weight(self, q: float) -> float:
        """The same for all mechanisms."""
    def unrelaxed(self, q: float) -> float:
        """Unrelaxed modulus over rho v^2, v the phase velocity at the reference frequency."""
    def at(self, frequency_hz: float, q: float) -> tuple[float, float]:
        """What the mechanisms give together: Q, and phase velocity over that at infinite frequency."""

class WaveOptions:
    """Of a run: everything but the ground. Lengths in m, times in s."""

    spacing_m: float
    dt_s: float
    free_surface: bool
    absorbing: WaveAbsorbing
    attenuation: WaveRelaxation | None
    source_points: int
    """Of the polynomial per axis that spreads a source between grid points."""
    samples_per_side: int
    threads: int
    overlap: bool
    def __init__(self) -> None: ...
    def use_cuda(self, device: int) -> None:
        """The steps are taken on that CUDA device. UserError where this build has no CUDA; what else there is to say, WaveRun says."""

class WaveSchedule:
    """Which steps a module sees: first, first + every, ... of a run of `steps`, counted from 0."""

    def __init__(self, first: int, every: int, steps: int) -> None: ...
    @property
    def samples(self) -> int: ...

_WavePlanes = Sequence[NDArray[np.float32] | float | None]

class WaveRun:
    """An anelastic wave computation and the modules that look at it; craton.waves.Simulation is its face. All ranks make the same
    calls. Fields of a rank have the shape (nz, ny, nx).
    """

    def __init__(
        self,
        world: World,
        cells: Sequence[int],
        processes: Sequence[int],
        options: WaveOptions,
        ground: Callable[[float, float, float, float, int, int], _WavePlanes],
        brick_of_rank: Sequence[int] = ...,
    ) -> None:
        """Collective. ground(x0_m, y0_m, z_m, spacing_m, nx, ny) gives vp, vs, rho and, where there is attenuation, qp, qs at the points
        (x0 + i spacing, y0 + j spacing, z), as arrays (ny, nx) or what can be broadcast to them. UserError on every rank for what is no
        ground, a step that is not stable, and what ground raises.
        """
    @property
    def step(self) -> int: ...
    @property
    def time_s(self) -> float:
        """Of stress; velocities are half a step earlier."""
    @property
    def options(self) -> WaveOptions: ...
    @property
    def own_cells(self) -> tuple[list[int], list[int]]:
        """This rank's: from, to (exclusive), along x, y, z."""
    def set_sources(self, moment_at: f64, moments: f64, force_at: f64, forces: f64) -> None:
        """Positions (n, 3) in m; moments (n, 6) xx, yy, zz, xy, xz, yz in N m; forces (n, 3) in N; of this rank's brick at least. Not
        collective. UserError for one outside the grid.
        """
    def set_moment_rates(self, first_step: int, values: f32) -> None:
        """(sources, steps), 1/s; 0 outside those steps. Not collective."""
    def set_force_series(self, first_step: int, values: f32) -> None:
        """(forces, steps). Not collective."""
    def advance(self, steps: int) -> None:
        """Collective."""
    def field(self, name: str) -> f32:
        """A copy of this rank's: vx, vy, vz (m/s), xx, yy, zz, xy, xz, yz (Pa)."""
    def set_field(self, name: str, values: f32) -> None: ...
    def energy(self) -> float:
        """Collective: J, kinetic and elastic."""
    def peak_velocity(self) -> float:
        """Collective: the largest component of a velocity anywhere, m/s; NaN where a field is not finite any more."""
    def write_stations(
        self,
        path: str,
        when: WaveSchedule,
        at: f64,
        attributes: Mapping[str, int | float | str | Sequence[float]] = ...,
        samples_at_once: int = 100,
        resume_at_step: int = 0,
        hints: Mapping[str, str] = ...,
    ) -> None:
        """Collective: velocities at positions (n, 3), dataset velocity [station][x, y, z][time]. The file is path.partial until finish()."""
    def write_strains(
        self,
        path: str,
        when: WaveSchedule,
        at: f64,
        attributes: Mapping[str, int | float | str | Sequence[float]] = ...,
        samples_at_once: int = 100,
        resume_at_step: int = 0,
        hints: Mapping[str, str] = ...,
    ) -> None:
        """Collective: strains at positions (n, 3), dataset sgt [point][xx, yy, zz, xy, xz, yz][time]."""
    def write_snapshots(
        self,
        path: str,
        when: WaveSchedule,
        fields: Sequence[str],
        low: Sequence[int],
        high: Sequence[int],
        stride: Sequence[int] = ...,
        attributes: Mapping[str, int | float | str | Sequence[float]] = ...,
        samples_at_once: int = 10,
        resume_at_step: int = 0,
        hints: Mapping[str, str] = ...,
    ) -> None:
        """Collective: fields of cells low to high (exclusive), every stride-th; a dataset each, [time][z][y][x]."""
    def call(
        self,
        function: Callable[[int, float, dict[str, f32], tuple[int, int, int]], object],
        when: WaveSchedule,
        fields: Sequence[str],
        low: Sequence[int],
        high: Sequence[int],
        stride: Sequence[int] = ...,
    ) -> None:
        """function(step, time_s, {name: (nz, ny, nx)}, first) gets this rank's part of a box on a thread of its own, where the box's part
        begins at `first` (x, y, z), counted in strides. What it raises ends the run.
        """
    def save(self, path: str) -> None:
        """Collective: a checkpoint, whole or not at all; what modules were given is on disk too."""
    def restore(self, path: str) -> None:
        """Collective: goes on from a checkpoint. UserError on every rank for one of another grid, step or physics."""
    def finish(self) -> None:
        """Collective, once: files are whole and get their names."""
    @property
    def module_seconds(self) -> dict[str, float]:
        """What modules took of the solver's own thread: copying, waiting, meeting."""

def best_process_grid(cells: Sequence[int], ranks: int, fixed: Sequence[int] = ...) -> list[int]:
    """Bricks along x, y, z with the least area between them; fixed: numbers that are given, 0 where free."""

def brick_of(
    cells: Sequence[int], processes: Sequence[int], rank: int, brick_of_rank: Sequence[int] = ...
) -> tuple[list[int], list[int]]:
    """A rank's cells: from, to (exclusive), along x, y, z."""

def cuda_devices() -> int:
    """That this process can use; 0 also where this build has no CUDA."""

def cuda_copy_gb_s(device: int) -> float:
    """Read and written together, of copies within a device's memory. UserError where there is none."""

def place_bricks(
    cells: Sequence[int],
    processes: Sequence[int],
    network: str,
    origin: str,
    bytes_per_face_cell: Sequence[float],
    evaluations: int = 20_000_000,
) -> dict[str, Any]:
    """brick_of_rank with few hop-bytes on a network given as a node list's text (origin: its path, for messages); before, after, tile,
    in_words.
    """

class GaussianBasis:
    """Nuclei and shells of contracted Gaussians (spherical), in atomic units. Immutable."""

    def __init__(
        self,
        charges: NDArray[np.float64],
        positions_bohr: NDArray[np.float64],
        shells: Sequence[tuple[int, int, Sequence[float], Sequence[Sequence[float]]]],
    ) -> None:
        """shells: (atom, l, exponents, contractions), each contraction with a coefficient per exponent, of normalised primitives. UserError
        for what is out of range, and for nuclei nearer than 0.05 bohr.
        """
    @property
    def size(self) -> int:
        """The number of functions n."""
    @property
    def shell_count(self) -> int: ...
    @property
    def first_function(self) -> NDArray[np.int32]:
        """Of each shell, and n."""
    @property
    def nuclear_repulsion(self) -> float:
        """In hartree."""
    def spatial_order(self) -> NDArray[np.int32]:
        """The shells in an order in which neighbours in the list are neighbours in space: element n is the number of the n-th."""
    def reordered(self, order: Sequence[int]) -> GaussianBasis:
        """The same functions, shell order[n] as the n-th. UserError unless every shell is there once."""
    def function_order(self, order: Sequence[int]) -> NDArray[np.int32]:
        """The number here of every function of reordered(order)."""

class IntegralLibrary:
    """libcint, opened at run time. UserError where `path` is not such a file."""

    def __init__(self, path: str) -> None: ...
    @property
    def path(self) -> str: ...
    def overlap(self, basis: GaussianBasis) -> NDArray[np.float64]: ...
    def kinetic(self, basis: GaussianBasis) -> NDArray[np.float64]: ...
    def nuclear_attraction(self, basis: GaussianBasis) -> NDArray[np.float64]: ...
    def position(self, basis: GaussianBasis) -> NDArray[np.float64]:
        """(3, n, n): x, y, z about the origin, in bohr."""
    def block(
        self, which: str, basis: GaussianBasis, rows: tuple[int, int], columns: tuple[int, int]
    ) -> NDArray[np.float64]:
        """overlap, kinetic, nuclear_attraction or position (first dimension x, y, z): functions of the shells from rows[0] to rows[1] (exclusive)
        by those of columns. UserError for shells out of range.
        """

class FockBuilder:
    """J and K directly from integrals, on `threads` threads; integrals that matter less than `threshold` hartree are left out. Quartets of s and
    p shells are computed by kernels of Craton's own, unless own_kernels is False.
    """

    def __init__(
        self,
        library: IntegralLibrary,
        basis: GaussianBasis,
        threshold: float = 1e-12,
        threads: int = 1,
        own_kernels: bool = True,
    ) -> None: ...
    def build(self, densities: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Densities (spins, n, n), each symmetric: J of their sum (n, n), K of each (spins, n, n). Releases the GIL."""
    @property
    def counts(self) -> dict[str, int]:
        """quartets, coulomb_quartets, exchange_quartets of the last build, and unique_quartets, which there are without screening."""

class DistributedFock:
    """J and K directly from integrals, by all ranks of a world and `threads` threads of each. Arrays are in the order of `basis`: that of
    basis.spatial_order() makes what a task touches compact (craton.scf.DistributedFock sees to it).

    strategy: "static" (each rank does what was predicted to be its part), "counter" (one shared counter) or "stealing" (its part,
    then half of what another has left). progress: a thread answers other ranks meanwhile (None: where messages travel).
    buffer_bytes: what a rank may keep of densities, of sums, of expansions of pairs (0: twice its share, at least 1 MiB), and of libcint's
    table of primitive pairs (0: 16 MiB; it goes without where that might be more). Collective.
    """

    def __init__(
        self,
        world: World,
        library: IntegralLibrary,
        basis: GaussianBasis,
        threshold: float = 1e-12,
        threads: int = 1,
        strategy: str = "stealing",
        own_kernels: bool = True,
        functions_per_range: int = 0,
        progress: bool | None = None,
        buffer_bytes: int = 0,
    ) -> None: ...
    def build(self, densities: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Collective. densities (spins, n, n), each symmetric, the same on every rank: J of their sum (n, n), K of each (spins, n, n),
        on every rank. Releases the GIL.
        """
    def build_into(
        self, densities: Sequence[DistArrayCore], coulomb: DistArrayCore, exchange: Sequence[DistArrayCore]
    ) -> None:
        """Collective. The same with arrays over the ranks, of any layouts. Releases the GIL."""
    @property
    def size(self) -> int:
        """The number of functions n."""
    @property
    def tasks(self) -> int: ...
    @property
    def boundaries(self) -> list[list[int]]:
        """Of the tiles that matrices lie best in, one per rank: first functions along rows and along columns, and n."""
    @property
    def owners(self) -> list[int]:
        """The rank of each of those tiles, row by row."""
    @property
    def counts(self) -> dict[str, int]:
        """This rank's quartets, coulomb_quartets and exchange_quartets of the last build; unique_quartets of all without screening."""
    @property
    def statistics(self) -> dict[str, float]:
        """This rank's part of the last build: own_tasks and stolen_tasks; build_s = prepare_s + loop_s + finish_s, and of the loop, as means
        of the threads, compute_s, get_s, accumulate_s, queue_s and idle_s (after its last task, until the last rank had ended);
        fetched_bytes, added_bytes; memory in peak_buffer_bytes, source_bytes (expansions of pairs, at most) and pair_bytes (the
        list of pairs and tasks).
        """
    @property
    def timeline(self) -> NDArray[np.float64]:
        """A row for each task that this rank did in the last build, thread by thread: number, thread, begin and end in seconds since the
        common start, predicted cost.
        """

class RuptureSpectra:
    """What slip of a rupture's subfaults gives at a site, by frequency: many variations from spectra that are prepared once
    (include/craton/apps/hazard/rupture_spectra.hpp). Not changed once made; any thread.
    """

    def __init__(self, spectra: NDArray[np.complex64], slip_rates: NDArray[np.complex64]) -> None:
        """Spectra (subfault, component, frequency), of unit slip at once; slip_rates (rise time, frequency), about their centres. UserError
        for shapes that do not fit, fewer than 2 rise times, and components other than 1 to 3.
        """
    def sum(
        self, slip: NDArray[np.float64], delay: NDArray[np.float64], rise: NDArray[np.float64]
    ) -> NDArray[np.complex64]:
        """(variation, component, frequency) from (variation, subfault): slip in m; the delay of the slip rate's centre in periods of the
        lowest frequency; the place of the rise time in the table. Releases the GIL. UserError for what does not fit or is not
        finite, and a place beyond the table.
        """
    @property
    def bytes(self) -> int:
        """Of memory that it holds."""
    @property
    def operations(self) -> float:
        """On real numbers, for one variation."""

def response_spectra(
    acceleration: NDArray[np.float64],
    dt_s: float,
    periods_s: NDArray[np.float64],
    damping: float = 0.05,
    rotated: bool = True,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """PSA (record, component, period), RotD50 and RotD100 (record, period) of accelerations (record, component, time). Without
    `rotated` the last two have no records. Releases the GIL. UserError for a damping not in (0, 1), a period below 0, and numbers that are not
    finite.
    """

def accelerations(velocity: NDArray[np.float32], dt_s: float) -> NDArray[np.float64]:
    """Of (record, component, time): differences of sixth order."""

def significant_durations(
    acceleration: NDArray[np.float64], dt_s: float, from_part: float, to_part: float
) -> NDArray[np.float64]:
    """(record, component), s, of (record, component, time): between two parts of the Arias integral."""
