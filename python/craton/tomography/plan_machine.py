"""What a machine does per second, measured with a configuration's own paths in a few seconds; machine.toml keeps it.

Measured with the run's own routines on one rank of this machine: each rate is of one thread. What one process cannot
measure, the network, is an assumption that machine.toml states and lets you change.
"""

from __future__ import annotations

import dataclasses
import math
import os
import platform
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import craton
from craton import _craton, process_memory
from craton.errors import UserError
from craton.run_folder import replaced, write_hdf5
from craton.settings import REQUIRED, check_keys, integer, number, read_table, read_toml, setting, table_to_toml, text
from craton.tomography.config import PriorConfig
from craton.tomography.plan_work import Geometry, Products, modes_within, products_of, rows_of_table, stacks_of
from craton.tomography.prior import gaussian_prior

if TYPE_CHECKING:
    from craton._craton import ForwardProblem
    from craton.tomography.config import Config

__all__ = ["Machine", "calibrate", "load_machine", "save_machine"]

f64 = NDArray[np.float64]

POSITIVE = number(1e-6, 1e12)
MEASURING_S = 0.2
"""Of each of six measurements of assembly."""
REPEATS = 3
"""The best counts: what else the machine does only makes it slower."""
LARGE_ORDER = 5120
"""Of a matrix that is factorised to try."""
OWN_PANELS = 6
"""Of each group of paths: near, middling, far."""
OWN_WEIGHT = 5.0
"""In the fit, beside panels on fewer splines."""
LARGEST_HESSIAN_BYTES = 1 << 29
"""Of the one that updates are measured on: beyond every cache."""


@dataclass(frozen=True)
class Machine:
    """One node, and what connects nodes. Rates are of one thread."""

    name: str = setting("unnamed", text, "where the rates were measured")
    cores_per_node: int = setting(REQUIRED, integer(1, 10**6), "that threads of ranks share")
    memory_per_node_gib: float = setting(REQUIRED, number(0.01, 1e7, "GiB"), "GiB free for a run")
    panel_ns_per_term: float = setting(
        REQUIRED, POSITIVE, "ns per sample and mode of a panel, without its radial splines"
    )
    panel_ns_per_radial_term: float = setting(
        REQUIRED, number(0, 1e12), "ns per sample, mode and radial spline of a panel"
    )
    panel_ns_per_element: float = setting(REQUIRED, number(0, 1e12), "ns per element of a panel")
    seismogram_ns_per_term: float = setting(REQUIRED, POSITIVE, "ns per sample and mode of a seismogram alone")
    product_gflops: float = setting(REQUIRED, POSITIVE, "GFLOP/s of products of panels")
    update_ns_per_element: float = setting(
        REQUIRED, POSITIVE, "ns per element added to the Hessian in this node's memory"
    )
    prior_ns_per_element: float = setting(REQUIRED, POSITIVE, "ns per element of the Hessian to which C_m^-1 is added")
    prior_ns_per_knot3: float = setting(
        REQUIRED, POSITIVE, "ns times lateral knots cubed: inverting the prior's covariance"
    )
    cholesky_gflops: float = setting(
        REQUIRED, POSITIVE, "GFLOP/s of factorising a large matrix, in the run's precision and block"
    )
    cholesky_half_order: float = setting(REQUIRED, number(0, 1e6), "order of the matrix at which it runs at half that")
    memory_gb_s: float = setting(REQUIRED, POSITIVE, "GB/s of memory, STREAM triad")
    first_touch_gb_s: float = setting(REQUIRED, POSITIVE, "GB/s of zeros in memory that the system has yet to hand out")
    disk_gb_s: float = setting(REQUIRED, POSITIVE, "GB/s of a matrix saved to the run's folder, all ranks together")
    file_s: float = setting(REQUIRED, number(0, 1e4, "s"), "seconds to make, synchronise and rename a file")
    network_gb_s: float = setting(10.0, POSITIVE, "GB/s into and out of a node; not measured, an assumption")
    process_mib: float = setting(REQUIRED, number(1, 1e6, "MiB"), "MiB of a rank before it holds anything")


def load_machine(path: Path) -> Machine:
    """machine.toml; UserError names the key, the value and what is allowed."""
    tables = read_toml(path, "craton tomography plan CONFIG --calibrate machine.toml")
    check_keys(tables, {"machine": Machine}, f"{path}: unknown table", brackets=True)
    return read_table(Machine, "machine", tables.get("machine", {}), str(path), path.absolute().parent)


def save_machine(machine: Machine, path: Path) -> None:
    """With the meaning of each figure beside it."""
    lines = ["# Rates of one thread, as `craton tomography plan` measured them; change what you know better.", ""]
    help_of = {item.name: item.metadata["help"] for item in dataclasses.fields(Machine)}
    for line in table_to_toml("machine", machine).splitlines():
        name = line.partition(" ")[0]
        lines.append(f"{line:<44} # {help_of[name]}" if name in help_of else line)
    with replaced(path) as aside:
        aside.write_text("\n".join(lines) + "\n", encoding="utf-8")


def calibrate(config: Config, geometry: Geometry, process_bytes: int) -> Machine:
    """Collective over one process: about ten seconds. process_bytes: resident set before the geometry was made."""
    world = craton.World(MPI.COMM_SELF)
    cholesky, half, prior_element = factorisation(world, config, geometry.forward.basis.size)
    disk, file_s = disk_rates(world, Path(config.run.directory))
    found = {
        "prior_ns_per_element": prior_element,
        "prior_ns_per_knot3": prior_inverse(geometry.forward, config),
        "cholesky_gflops": cholesky,
        "cholesky_half_order": half,
        "memory_gb_s": float(_craton.bench_memory_rates(1)[1]),
        "first_touch_gb_s": first_touch(world, geometry.forward.basis.size),
        "disk_gb_s": disk,
        "file_s": file_s,
        "process_mib": max(1.0, process_bytes / 2**20),
        **assembly_rates(world, config, geometry),
    }
    return Machine(
        name=platform.node() or "here",
        cores_per_node=len(os.sched_getaffinity(0)),
        memory_per_node_gib=max(0.01, round(process_memory.available_bytes() / 2**30, 2)),
        **{name: float(f"{value:.4g}") for name, value in found.items()},
    )


# ------------------------------------------------------------------------------------------------------------ assembly


def assembly_rates(world: Any, config: Config, geometry: Geometry) -> dict[str, float]:
    """Of panels, seismograms, products and updates: near, middling and far paths, with all radial splines and with half."""
    from scipy.optimize import nnls  # not before a process's own memory has been measured: a run does not need it

    terms, panel_s, seismogram = [], [], [0.0, 0.0]
    product, update = [0.0, 0.0], [0.0, 0.0]
    stack = stacks_of(geometry.table)
    order = np.argsort(np.bincount(stack, weights=geometry.table.samples), kind="stable")
    groups = [part for part in np.array_split(order, 3) if len(part)]
    for forward in (coarser(geometry, config, 1), coarser(geometry, config, 2)):
        size = forward.basis.size
        hessian = craton.ConvergentMatrix(
            world, size, size, dtype=config.inversion.precision, block=config.inversion.block
        )
        gradient = craton.ConvergentVector(world, size, config.inversion.block)
        hessian.reset()  # pages that are touched for the first time take longer
        for stacks in groups:
            samples, made, sums = measure_group(world, forward, config, geometry, stacks, hessian, gradient)
            modes = modes_within(config, forward.modes)
            terms.append([samples * modes, samples * modes * forward.basis.n_radial, made.panel_elements])
            panel_s.append(sums["panel_s"])
            product[0] += made.flop
            product[1] += sums["product_s"]
            update[0] += made.elements
            update[1] += sums["update_s"]
            seismogram[0] += samples * modes
            seismogram[1] += sums["seismogram_s"]
    weights = np.ones(len(terms))
    if coarser(geometry, config, 1) is not geometry.forward:  # a panel needs no Hessian: on the run's own splines, too
        for stacks in groups:
            row, seconds = own_panels(config, geometry, np.flatnonzero(np.isin(stack, stacks)))
            terms.append(row)
            panel_s.append(seconds)
            weights = np.append(weights, OWN_WEIGHT)
    matrix, wanted = np.array(terms), np.array(panel_s)
    fitted, _ = nnls(matrix * (weights / wanted)[:, None], weights)  # relative errors
    return {
        "panel_ns_per_term": max(1e9 * fitted[0], 1e-5),
        "panel_ns_per_radial_term": 1e9 * fitted[1],
        "panel_ns_per_element": 1e9 * fitted[2],
        "seismogram_ns_per_term": 1e9 * seismogram[1] / seismogram[0],
        "product_gflops": 1e-9 * product[0] / product[1],
        "update_ns_per_element": 1e9 * update[1] / update[0],
    }


def own_panels(config: Config, geometry: Geometry, rows: NDArray[np.int64]) -> tuple[list[float], float]:
    """(the terms that panels of some paths have, seconds of them all): the faster of two trials."""
    chosen = np.random.default_rng(2).choice(rows, min(OWN_PANELS, len(rows)), replace=False)
    table, forward = rows_of_table(geometry.table, chosen), geometry.forward
    paths, model, spent = table.path_set(forward), np.zeros(forward.basis.size), []
    for _ in range(2):
        clock = time.perf_counter()
        elements = [forward.panel(paths[i], model)[0].size for i in range(len(paths))]
        spent.append(time.perf_counter() - clock)
    terms = float(table.samples.sum()) * modes_within(config, forward.modes)
    return [terms, terms * forward.basis.n_radial, float(sum(elements))], min(spent)


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
    forward: ForwardProblem,
    config: Config,
    geometry: Geometry,
    stacks: NDArray[np.int64],
    hessian: Any,
    gradient: Any,
) -> tuple[int, Products, dict[str, float]]:
    """Assembles some stacks of a group: samples, what was multiplied, seconds of each part."""
    random = np.random.default_rng(1)
    count, sums, table, stack = min(4, len(stacks)), dict[str, float](), geometry.table, stacks_of(geometry.table)
    while True:
        chosen = random.choice(stacks, count, replace=False)
        table = rows_of_table(geometry.table, np.flatnonzero(np.isin(stack, chosen)))
        paths = table.path_set(forward)
        model, zeros = np.zeros(forward.basis.size), np.zeros(int(table.samples.sum()))
        sigma = np.ones(len(table))
        arguments = (world, forward, paths, zeros, sigma, model)
        sums = dict(_craton.assemble(*arguments, hessian, gradient, compress=config.assembly.compress))
        spent = sums["panel_s"] + sums["product_s"] + sums["update_s"]
        if spent > MEASURING_S or count == len(stacks):
            break
        count = min(len(stacks), max(2 * count, int(1.2 * count * MEASURING_S / max(spent, 1e-4))))
    for _ in range(REPEATS):
        again = dict(_craton.assemble(*arguments, hessian, gradient, compress=config.assembly.compress))
        again["seismogram_s"] = dict(_craton.evaluate_misfit(*arguments))["panel_s"]
        sums = {name: min(value, sums.get(name, value)) for name, value in again.items()}
    samples = table.samples.astype(float)
    multiplied = samples * sums["rows"] / sums["row_samples"]
    coupled, element = config.theory.kind != "pava", 4 if config.inversion.precision == "float32" else 8
    return int(samples.sum()), products_of(table, paths, forward, coupled, multiplied, element), sums


# -------------------------------------------------------------------------------------------------------- linear algebra


def factorisation(world: Any, config: Config, unknowns: int) -> tuple[float, float, float]:
    """(GFLOP/s of a large Cholesky factorisation, order at half of that, ns per element of adding C_m^-1): from two orders, with
    the run's precision and blocks, the larger one beyond every cache."""
    settings, room = config.inversion, math.isqrt(process_memory.available_bytes() // 64)
    dtype = "float64" if settings.solve_precision == "float64" else settings.precision
    large = max(64, 8 * (min(LARGE_ORDER, unknowns, room) // 8))
    orders = (max(32, 8 * (large // 32)), large)
    seconds, elements_s = [], []
    for order in orders:
        matrix = craton.ConvergentMatrix(world, order, order, dtype=dtype, block=settings.block)
        trials = [factorise_once(matrix, order) for _ in range(2)]
        elements_s.append(min(added for added, _ in trials) / order**2)
        seconds.append(min(factored for _, factored in trials))
    rates = [order**3 / 3e9 / spent for order, spent in zip(orders, seconds, strict=True)]
    # rate = peak n / (n + half), so 1/rate is linear in 1/n
    slope = (1 / rates[0] - 1 / rates[1]) / (1 / orders[0] - 1 / orders[1])
    if slope <= 0:
        return rates[1], 0.0, 1e9 * elements_s[1]
    inverse_peak = max(1 / rates[1] - slope / orders[1], 0.5 / rates[1])
    return 1 / inverse_peak, slope / inverse_peak, 1e9 * elements_s[1]


def factorise_once(matrix: Any, order: int) -> tuple[float, float]:
    """Seconds of adding a Kronecker product, and of the factorisation."""
    matrix.reset()
    clock = time.perf_counter()
    matrix.add_kronecker(np.eye(order // 8), 3.0 * np.eye(8), 1.0)
    added, clock = time.perf_counter() - clock, time.perf_counter()
    craton.Cholesky(matrix)
    return added, time.perf_counter() - clock


def prior_inverse(forward: ForwardProblem, config: Config) -> float:
    """ns per cube of the lateral knots, of the covariances' inverses: with 2,562 knots, or fewer where the basis has fewer."""
    level = min(config.basis.lateral_level, 5)
    basis = _craton.ModelBasis(level, np.ascontiguousarray(forward.basis.radial_knots_m))
    usual = PriorConfig(nugget=0.01)
    spent = []
    for _ in range(1 if level == 5 else 2):
        clock = time.perf_counter()
        gaussian_prior(basis, usual)
        spent.append(time.perf_counter() - clock)
    return 1e9 * min(spent) / basis.n_lateral**3


def first_touch(world: Any, unknowns: int) -> float:
    """GB/s at which the system hands out the memory of a Hessian: of up to 1 GiB, an eighth of what is free at most."""
    order = min(unknowns, 1 << 14, math.isqrt(process_memory.available_bytes() // 32))
    clock = time.perf_counter()
    matrix = craton.ConvergentMatrix(world, order, order, dtype="float32", block=128)
    matrix.reset()
    return 4e-9 * order**2 / (time.perf_counter() - clock)


def disk_rates(world: Any, folder: Path) -> tuple[float, float]:
    """(GB/s of a Hessian, seconds of a small file) where the run's folder is or will be."""
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    order = 4096
    matrix = craton.ConvergentMatrix(world, order, order, dtype="float32", block=128)
    matrix.reset()
    try:
        with tempfile.TemporaryDirectory(dir=place, prefix=".craton-plan-") as inside:
            small = min(timed_write(Path(inside) / "small") for _ in range(REPEATS))
            clock = time.perf_counter()
            matrix.save(str(Path(inside) / "large"), "hessian", symmetric=True)
            with replaced(Path(inside) / "large") as aside:  # synchronised, as by a run
                (Path(inside) / "large").rename(aside)
            large = time.perf_counter() - clock
    except OSError as problem:
        raise UserError(f"{place}: cannot be written to: {problem.strerror}; allowed: a folder of your own") from None
    return 4e-9 * order**2 / large, small


def timed_write(path: Path) -> float:
    """Seconds until a small HDF5 file is on the disk under its name."""
    clock = time.perf_counter()
    with replaced(path) as aside:
        write_hdf5(aside, {"a": np.zeros(1000), "b": 1, "c": "text"})
    return time.perf_counter() - clock
