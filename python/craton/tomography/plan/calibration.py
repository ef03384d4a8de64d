"""Measures what machine.py keeps: with a configuration's own paths and the run's own routines.

As many ranks as the plan has on a node, or as its cores are enough for, measure at the same time, on one shared Hessian, as in
a run: rates are those of a rank beside the others. Run as a program under mpiexec:

    python -m craton.tomography.plan.calibration FOLDER

where FOLDER has config.toml, and gets machine.toml and counting.json.
"""

from __future__ import annotations

import json
import math
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import craton
from craton import _craton
from craton._launch import main_guard, mpiexec_command, run_under_mpi, usable_cores
from craton.errors import UserError
from craton.runs import process_memory
from craton.runs.agreement import on_root
from craton.runs.files import replaced, write_hdf5
from craton.tomography.config.load import load_config, process_grid
from craton.tomography.config.prior import PriorConfig
from craton.tomography.plan.machine import Machine, load_machine, save_machine
from craton.tomography.plan.work import (
    Geometry,
    Products,
    count_work,
    modes_within,
    products_of,
    rows_of_table,
    stacks_of,
)
from craton.tomography.prior.gaussian import gaussian_prior

if TYPE_CHECKING:
    from craton._craton import ForwardProblem
    from craton.tomography.config.load import Config

__all__ = ["calibrate_alone", "calibrate_on"]

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

CONFIG, MACHINE, COUNTING = "config.toml", "machine.toml", "counting.json"
MEASURING_S = 0.2
"""Of each of six measurements of assembly."""
REPEATS = 3
"""The best counts: what else the machine does only makes it slower."""
LARGE_ORDER = 5120
"""Of a matrix that one rank factorises to try; of several ranks, so that each has as much."""
FACTOR = 64
"""Order of the smaller factor of the Kronecker product that is added before."""
TOUCHED_BYTES = 1 << 29
"""Of a rank's memory that is touched for the first time."""
SAVED_ORDER = 16384
"""Of a matrix that is saved to try: a disk takes a small file in at another rate."""
OWN_PATHS = 6
"""Of each group (near, middling, far) and rank, at the least where there are as many."""
OWN_S = 0.1
"""That they take, at the least where there are paths enough."""
OWN_WEIGHT = 5.0
"""In the fit, beside panels on fewer splines."""
LARGEST_HESSIAN_BYTES = 1 << 29
"""Of the one that updates are measured on: beyond every cache."""
PERTURBATION = 0.01
"""Of the model that seismograms are measured in: dlnVs of each spline."""


def calibrate_alone(config: Config, geometry: Geometry, process_bytes: int) -> Machine:
    """In this process. process_bytes: resident set before the geometry was made."""
    node = this_node()
    with trial_folder(config) as inside:
        return replace(calibrate(config, geometry, process_bytes, MPI.COMM_SELF, inside), **node)


def calibrate_on(config: Config, ranks: int) -> tuple[Machine, dict[str, float]]:
    """Starts so many processes on this machine, which measure it together; and what counting took each of them
    (Geometry.spent_s).

    UserError where there is no mpiexec. SystemExit with their code where they fail, which they have explained by then.
    """
    node = this_node()
    try:
        mpiexec_command()
    except UserError as error:
        what = str(error).partition("; allowed: ")[0]
        raise UserError(
            f"{what}, to start {ranks} ranks that measure this machine together; allowed: an MPI installation whose mpiexec is "
            "on PATH or in CRATON_MPIEXEC, or --machine FILE"
        ) from None
    with trial_folder(config) as inside:
        (inside / CONFIG).write_text(config.to_toml(), encoding="utf-8")
        program = [sys.executable, "-m", "craton.tomography.plan.calibration"]
        code = run_under_mpi([str(inside)], ranks, ranks_per_node=ranks, program=program)
        if code:
            raise SystemExit(code)
        spent_s = json.loads((inside / COUNTING).read_text(encoding="utf-8"))
        return replace(load_machine(inside / MACHINE), **node), spent_s


def this_node() -> dict[str, Any]:
    """What is known without measuring, before there are ranks that take memory."""
    return {
        "name": platform.node() or "here",
        "cores_per_node": usable_cores(),
        "memory_per_node_gib": max(0.01, round(process_memory.available_bytes() / 2**30, 2)),
    }


@contextmanager
def trial_folder(config: Config) -> Iterator[Path]:
    """On the disk where the run's folder is or will be; gone afterwards."""
    folder = Path(config.run.directory)
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    try:
        made = tempfile.TemporaryDirectory(dir=place, prefix=".craton-plan-")
    except OSError as error:
        raise UserError(f"{place}: cannot be written to: {error.strerror}; allowed: a folder of your own") from None
    with made as inside:
        yield Path(inside).absolute()


def calibrate(config: Config, geometry: Geometry, process_bytes: int, comm: MPI.Comm, inside: Path) -> Machine:
    """Collective: the same rates on every rank. inside: a folder on the disk to measure."""
    world = craton.World(comm)
    cholesky, half, prior_element = factorisation(world, comm, config, geometry.forward.basis.size)
    disk, file_s = disk_rates(world, comm, inside, geometry.forward.basis.size)
    comm.Barrier()
    memory = float(_craton.memory_rates(1)[1])
    found = {
        "prior_ns_per_element": prior_element,
        "prior_ns_per_knot3": on_root(comm, lambda: prior_inverse(geometry.forward, config)),
        "cholesky_gflops": cholesky,
        "cholesky_half_order": half,
        "memory_gb_s": comm.allreduce(memory) / comm.size,
        "first_touch_gb_s": first_touch(world, comm, geometry.forward.basis.size),
        "disk_gb_s": disk,
        "file_s": file_s,
        "process_mib": max(1.0, comm.allreduce(process_bytes, MPI.MAX) / 2**20),
        **assembly_rates(world, comm, config, geometry),
    }
    rates: dict[str, Any] = {name: float(f"{value:.4g}") for name, value in found.items()}
    return Machine(measured_ranks=comm.size, **this_node(), **rates)


def dealt_block(comm: MPI.Comm, block: int, order: int) -> int:
    """The largest up to `block` of which a trial matrix, smaller than the run's, has one for every rank."""
    columns = process_grid(comm.size)[1]
    return block if columns == 1 else max(1, min(block, (order - 1) // (columns - 1)))


def together_s(comm: MPI.Comm, work: Callable[[], Any]) -> float:
    """Collective: seconds that all ranks took for the same work, begun at the same time."""
    comm.Barrier()
    clock = time.perf_counter()
    work()
    return float(comm.allreduce(time.perf_counter() - clock, MPI.MAX))


# ------------------------------------------------------------------------------------------------------------ assembly


def assembly_rates(world: Any, comm: MPI.Comm, config: Config, geometry: Geometry) -> dict[str, float]:
    """Collective: of panels, seismograms, products and updates, of near, middling and far paths. Products and updates of
    Hessians that are not too large to try, with all radial splines and with half; panels and seismograms, which need none, on
    the run's own, too.
    """
    from scipy.optimize import nnls  # not before a process's own memory has been measured: a run does not need it

    terms, panel_s, seismogram = [], [], np.zeros(2)
    product, update = np.zeros(2), np.zeros(2)
    weights: list[float] = []
    stack = stacks_of(geometry.table)
    order = np.argsort(np.bincount(stack, weights=geometry.table.samples), kind="stable")
    groups = [part for part in np.array_split(order, 3) if len(part)]
    modes = modes_within(config, geometry.forward.modes)
    for forward in (coarser(geometry, config, 1), coarser(geometry, config, 2)):
        size, settings = forward.basis.size, config.inversion
        block = dealt_block(comm, settings.block, size)
        hessian = craton.ConvergentMatrix(world, size, size, dtype=settings.precision, block=block)
        gradient = craton.ConvergentVector(world, size, block)
        hessian.reset()  # pages that are touched for the first time take longer
        for stacks in groups:
            samples, made, sums = measure_group(world, comm, forward, config, geometry, stacks, hessian, gradient)
            terms.append([samples * modes, samples * modes * forward.basis.n_radial, made.panel_elements])
            panel_s.append(sums["panel_s"])
            weights.append(1.0)
            product += made.flop, sums["product_s"]
            update += made.elements, sums["update_s"]
    for stacks in groups:
        rows = np.flatnonzero(np.isin(stack, stacks))
        own = measure_own(comm, config, geometry, rows)
        seismogram += own[0], own[4]
        if config.theory.kind != "pava":
            terms.append(list(own[:3]))
            panel_s.append(own[3])
            weights.append(OWN_WEIGHT)
    matrix, wanted, weight = np.array(terms), np.array(panel_s), np.array(weights)
    fitted, _ = nnls(matrix * (weight / wanted)[:, None], weight)  # relative errors
    return {
        "panel_ns_per_term": max(1e9 * fitted[0], 1e-5),
        "panel_ns_per_radial_term": 1e9 * fitted[1],
        "panel_ns_per_element": 1e9 * fitted[2],
        "seismogram_ns_per_term": 1e9 * seismogram[1] / seismogram[0],
        "product_gflops": 1e-9 * product[0] / product[1],
        "update_ns_per_element": 1e9 * update[1] / update[0],
    }


def measure_own(comm: MPI.Comm, config: Config, geometry: Geometry, rows: i64) -> f64:
    """Collective, of some paths on the run's own splines: terms, terms times radial splines, elements of panels; seconds of
    the panels (of coupled modes: path averages, as assembled, have smaller ones) and of seismograms alone, summed over ranks:
    the faster of two trials.
    """
    coupled = config.theory.kind != "pava"
    forward = geometry.forward
    model = PERTURBATION * np.random.default_rng(4).standard_normal(forward.basis.size)
    count = min(OWN_PATHS, len(rows))
    while True:
        chosen = np.random.default_rng([2, comm.rank]).choice(rows, count, replace=False)
        table = rows_of_table(geometry.table, chosen)
        paths, trials, elements = table.path_set(forward), [], 0
        for _ in range(2):
            comm.Barrier()
            clock = time.perf_counter()
            if coupled:
                elements = sum(forward.panel(paths[i], model)[0].size for i in range(len(paths)))
            panel_s = time.perf_counter() - clock
            comm.Barrier()
            clock = time.perf_counter()
            forward.seismograms(paths, 0, len(paths), model, 1)
            trials.append([panel_s, time.perf_counter() - clock])
        best = np.min(trials, axis=0)
        terms = float(table.samples.sum()) * modes_within(config, forward.modes)
        found = comm.allreduce(np.array([terms, terms * forward.basis.n_radial, elements, *best]))
        if count == len(rows) or found[4] > OWN_S * comm.size:
            return np.asarray(found)
        count = min(4 * count, len(rows))


def coarser(geometry: Geometry, config: Config, divisor: int) -> ForwardProblem:
    """With fewer radial splines, and a Hessian that is not too large to try."""
    forward, basis = geometry.forward, geometry.forward.basis
    radial = max(4, basis.n_radial // divisor)
    level = config.basis.lateral_level
    element = 4 if config.inversion.precision == "float32" else 8
    while (
        level > 1 and element * ((10 * 4 ** (level - 1) + 2) * radial * basis.parameters) ** 2 > LARGEST_HESSIAN_BYTES
    ):
        level -= 1
    if radial == basis.n_radial and level == config.basis.lateral_level:
        return forward
    knots = np.asarray(basis.radial_knots_m)
    knots = np.interp(np.linspace(0, len(knots) - 1, radial), np.arange(len(knots)), knots)
    fewer = _craton.ModelBasis(level, np.ascontiguousarray(knots), basis.parameters)
    return _craton.ForwardProblem(
        forward.modes, fewer, config.data.filter_periods_s, config.theory.kind, geometry.spheroidal
    )


def measure_group(
    world: Any,
    comm: MPI.Comm,
    forward: ForwardProblem,
    config: Config,
    geometry: Geometry,
    stacks: i64,
    hessian: Any,
    gradient: Any,
) -> tuple[int, Products, dict[str, float]]:
    """Collective: assembles some stacks of a group: samples, what was multiplied, seconds of each part, summed over ranks."""
    random = np.random.default_rng(1)
    count = min(4 * comm.size, len(stacks))
    while True:
        chosen = random.choice(stacks, count, replace=False)
        table = rows_of_table(geometry.table, np.flatnonzero(np.isin(stacks_of(geometry.table), chosen)))
        paths = table.path_set(forward)
        model, zeros = np.zeros(forward.basis.size), np.zeros(int(table.samples.sum()))
        arguments = (world, forward, paths, zeros, np.ones(len(table)), model, hessian, gradient)
        sums = assembled(comm, arguments, config)
        spent = (sums["panel_s"] + sums["product_s"] + sums["update_s"]) / comm.size
        if spent > MEASURING_S or count == len(stacks):
            break
        count = min(len(stacks), max(2 * count, int(1.2 * count * MEASURING_S / max(spent, 1e-4))))
    for _ in range(REPEATS):
        again = assembled(comm, arguments, config)
        sums = {name: min(value, sums[name]) for name, value in again.items()}
    samples = table.samples.astype(float)
    multiplied = samples * sums["rows"] / sums["row_samples"]
    coupled, element = config.theory.kind != "pava", 4 if config.inversion.precision == "float32" else 8
    return int(samples.sum()), products_of(table, paths, forward, coupled, multiplied, element), sums


def assembled(comm: MPI.Comm, arguments: tuple[Any, ...], config: Config) -> dict[str, float]:
    """Collective: sums over ranks."""
    found = _craton.assemble(*arguments, subset=1, compress=config.assembly.compress)
    names = ("panel_s", "product_s", "update_s", "rows", "row_samples")
    return dict(zip(names, comm.allreduce(np.array([found[name] for name in names])).tolist(), strict=True))


# -------------------------------------------------------------------------------------------------------- linear algebra


def factorisation(world: Any, comm: MPI.Comm, config: Config, unknowns: int) -> tuple[float, float, float]:
    """Collective: (GFLOP/s of each rank in a large Cholesky factorisation, order of its part at half of that, ns per element of
    adding C_m^-1): from two orders, with the run's precision and blocks, the larger one beyond every cache.
    """
    settings, room = config.inversion, math.isqrt(process_memory.available_bytes() // 64)
    dtype = "float64" if settings.solve_precision == "float64" else settings.precision
    ranks = comm.size
    wanted = int(LARGE_ORDER * math.sqrt(ranks))
    large = comm.bcast(max(2, min(wanted, unknowns, room) // FACTOR)) * FACTOR
    orders = (max(1, large // (4 * FACTOR)) * FACTOR, large)
    seconds, elements_s = [], []
    for order in orders:
        block = dealt_block(comm, settings.block, order)
        matrix = craton.ConvergentMatrix(world, order, order, dtype=dtype, block=block)
        trials = [factorise_once(comm, matrix, order) for _ in range(2)]
        elements_s.append(min(added for added, _ in trials) / (order**2 / ranks))
        seconds.append(min(factored for _, factored in trials))
    rates = [order**3 / 3e9 / spent / ranks for order, spent in zip(orders, seconds, strict=True)]
    parts = [order / math.sqrt(ranks) for order in orders]
    # rate = peak n / (n + half), so 1/rate is linear in 1/n
    slope = (1 / rates[0] - 1 / rates[1]) / (1 / parts[0] - 1 / parts[1])
    if slope <= 0:
        return rates[1], 0.0, 1e9 * elements_s[1]
    inverse_peak = max(1 / rates[1] - slope / parts[1], 0.5 / rates[1])
    return 1 / inverse_peak, slope / inverse_peak, 1e9 * elements_s[1]


def factorise_once(comm: MPI.Comm, matrix: Any, order: int) -> tuple[float, float]:
    """Collective: seconds of adding a Kronecker product, and of the factorisation."""
    matrix.reset()
    added = together_s(comm, lambda: matrix.add_kronecker(np.eye(order // FACTOR), 3.0 * np.eye(FACTOR), 1.0))
    return added, together_s(comm, lambda: craton.Cholesky(matrix))


def prior_inverse(forward: ForwardProblem, config: Config) -> float:
    """Ns per cube of the lateral knots, of the covariances' inverses: with 2,562 knots, or fewer where the basis has fewer. One
    rank of a node makes it, while the others wait.
    """
    level = min(config.basis.lateral_level, 5)
    basis = _craton.ModelBasis(level, np.ascontiguousarray(forward.basis.radial_knots_m))
    usual = PriorConfig(nugget=0.01)
    spent = []
    for _ in range(1 if level == 5 else 2):
        clock = time.perf_counter()
        gaussian_prior(basis, usual)
        spent.append(time.perf_counter() - clock)
    return 1e9 * min(spent) / basis.n_lateral**3


def first_touch(world: Any, comm: MPI.Comm, unknowns: int) -> float:
    """Collective: GB/s at which the system hands out a rank's part of a Hessian, half a GiB or a part of what is free."""
    room = min(comm.size * TOUCHED_BYTES, process_memory.available_bytes() // 8)
    order = comm.bcast(max(64, min(unknowns, math.isqrt(room // 4))))
    kept = []

    def touch() -> None:
        block = dealt_block(comm, 128, order)
        kept.append(craton.ConvergentMatrix(world, order, order, dtype="float32", block=block))
        if comm.size == 1:  # what ranks share is touched when it is made
            kept[0].reset()

    return 4e-9 * order**2 / comm.size / together_s(comm, touch)


def disk_rates(world: Any, comm: MPI.Comm, inside: Path, unknowns: int) -> tuple[float, float]:
    """Collective: (GB/s of a Hessian, seconds of a small file)."""
    room = process_memory.available_bytes() // 8
    order = comm.bcast(max(64, min(SAVED_ORDER, unknowns, math.isqrt(room // 4))))
    matrix = craton.ConvergentMatrix(world, order, order, dtype="float32", block=dealt_block(comm, 128, order))
    matrix.reset()
    large = inside / "large"

    def save() -> None:
        matrix.save(str(large), "hessian", symmetric=True)
        on_root(comm, lambda: put_in_place(large))

    small_s = on_root(comm, lambda: min(timed_write(inside / "small") for _ in range(REPEATS)))
    large_s = together_s(comm, save)
    on_root(comm, large.unlink)
    return 4e-9 * order**2 / large_s, small_s


def put_in_place(file: Path) -> None:
    """On one rank: synchronised with the disk, as a run's files are."""
    with replaced(file) as aside:
        file.rename(aside)


def timed_write(path: Path) -> float:
    """Seconds until a small HDF5 file is on the disk under its name."""
    clock = time.perf_counter()
    with replaced(path) as aside:
        write_hdf5(aside, {"a": np.zeros(1000), "b": 1, "c": "text"})
    return time.perf_counter() - clock


def main(inside: Path) -> None:
    """Collective: measures, and rank 0 writes the files."""
    process_bytes, comm = process_memory.resident_bytes(), MPI.COMM_WORLD
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    here = node.size
    node.Free()
    if here < comm.size:
        raise UserError(
            f"mpiexec: {comm.size} ranks that measure this machine were started on several; allowed: an mpiexec that "
            "starts them on this one (CRATON_MPIEXEC), or --machine FILE"
        )
    config = load_config(inside / CONFIG)
    comm.Barrier()
    _, geometry = count_work(config, comm)
    spent_s = {name: comm.allreduce(spent, MPI.MAX) for name, spent in geometry.spent_s.items()}
    found = calibrate(config, geometry, process_bytes, comm, inside)
    on_root(comm, lambda: save_machine(found, inside / MACHINE))
    on_root(comm, lambda: (inside / COUNTING).write_text(json.dumps(spent_s), encoding="utf-8"))


if __name__ == "__main__":
    with main_guard():
        main(Path(sys.argv[1]))
