"""Measures what machine.py keeps: with a configuration's own paths and the run's own routines.

As many ranks as the plan has on a node, or as its cores are enough for, measure at the same time, on one shared Hessian, as in
a run: rates are those of a rank beside the others. As a program under mpiexec:

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
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import craton
from craton import ConvergentVector, SymmetricMatrix, World, _craton
from craton._craton import ForwardProblem
from craton._launch import main_guard, mpiexec_command, run_under_mpi, usable_cores
from craton.errors import UserError
from craton.runs import process_memory
from craton.runs.agreement import on_root
from craton.runs.files import replaced, write_hdf5, write_json, write_text
from craton.tomography.config.load import Config, hessian_block, load_config
from craton.tomography.config.prior import PriorConfig
from craton.tomography.config.values import knots_of_level
from craton.tomography.model.splines import level_of, parts_of, together
from craton.tomography.plan.machine import Machine, load_machine, save_machine
from craton.tomography.plan.work import Geometry, Products, count_work, products_of, stacks_of
from craton.tomography.prior.gaussian import gaussian_prior
from craton.tomography.theory.coupling_tables import modes_within

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

CONFIG, MACHINE, COUNTING = "config.toml", "machine.toml", "counting.json"
MEASURING_S = 0.2
"""Time of each of six measurements of assembly, at the least."""
REPEATS = 3
"""The best counts: what else the machine does only makes it slower."""
LARGE_ORDER = 5120
"""Order of the matrix that one rank factorises to try. Several ranks take a larger one, so that each has as much."""
FACTOR = 64
"""Order of the smaller factor of the Kronecker product that is added before."""
TOUCHED_BYTES = 1 << 29
"""Memory of a rank that is touched for the first time."""
SAVED_ORDER = 16384
"""Order of the matrix that is saved to try: a disk takes a small file in at another rate."""
OWN_PATHS = 6
"""Paths of each group (near, middling, far) and rank, at the least where there are as many."""
OWN_S = 0.1
"""Time that they take, at the least where there are paths enough."""
OWN_WEIGHT = 5.0
"""Weight in the fit, where panels on fewer splines have 1."""
LARGEST_HESSIAN_BYTES = 1 << 29
"""The Hessian that updates are measured on is beyond every cache."""
PERTURBATION = 0.01
"""Standard deviation of dlnVs, spline by spline, in the model that seismograms are measured in."""


def calibrate_alone(config: Config, geometry: Geometry, process_bytes: int) -> Machine:
    """Measures this machine in this process. process_bytes: resident set before the geometry was made."""
    node = this_node()
    with trial_folder(config) as inside:
        return replace(Trials(config, geometry, MPI.COMM_SELF).machine(process_bytes, inside), **node)


def calibrate_on(config: Config, ranks: int) -> tuple[Machine, dict[str, float]]:
    """The rates that so many processes, started on this machine, measure together; and Geometry.spent_s of the slowest.

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
        write_text(inside / CONFIG, config.to_toml())
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
    """A folder on the disk where the run's folder is or will be; gone afterwards."""
    folder = Path(config.run.directory)
    place = next(parent for parent in (folder, *folder.absolute().parents) if parent.is_dir())
    try:
        made = tempfile.TemporaryDirectory(dir=place, prefix=".craton-plan-")
    except OSError as error:
        raise UserError(f"{place}: cannot be written to: {error.strerror}; allowed: a folder of your own") from None
    with made as inside:
        yield Path(inside).absolute()


class Trials:
    """Measurements with a configuration's own paths, by all ranks of a communicator: every method is collective."""

    def __init__(self, config: Config, geometry: Geometry, comm: MPI.Comm) -> None:
        self.config, self.geometry, self.comm = config, geometry, comm
        self.world = World(comm)
        self.coupled = config.theory.of_panels != "pava"
        self.element_bytes = 4 if config.inversion.precision == "float32" else 8
        self.unknowns = geometry.forward.basis.size
        self.modes = modes_within(config.data.filter_periods_s, geometry.forward.modes)

    def machine(self, process_bytes: int, inside: Path) -> Machine:
        """All rates, the same on every rank. inside: a folder on the disk to measure."""
        cholesky, half, prior_element = self.factorisation()
        disk, file_s = self.disk(inside)
        self.comm.Barrier()
        memory = float(_craton.memory_rates(1)[1])
        found = {
            "prior_ns_per_element": prior_element,
            "prior_ns_per_knot3": on_root(self.comm, self.prior_inverse),
            "cholesky_gflops": cholesky,
            "cholesky_half_order": half,
            "memory_gb_s": self.comm.allreduce(memory) / self.comm.size,
            "first_touch_gb_s": self.first_touch(),
            "disk_gb_s": disk,
            "file_s": file_s,
            "process_mib": max(1.0, self.comm.allreduce(process_bytes, MPI.MAX) / 2**20),
            **self.assembly(),
        }
        rates: dict[str, Any] = {name: float(f"{value:.4g}") for name, value in found.items()}
        return Machine(measured_ranks=self.comm.size, **this_node(), **rates)

    def matrix(self, order: int, dtype: str, block: int) -> SymmetricMatrix:
        """A trial matrix, smaller than the run's."""
        return SymmetricMatrix(self.world, order, dtype=dtype, block=hessian_block(block, order))

    def together_s(self, work: Callable[[], Any]) -> float:
        """Seconds that all ranks took for the same work, begun at the same time."""
        self.comm.Barrier()
        clock = time.perf_counter()
        work()
        return float(self.comm.allreduce(time.perf_counter() - clock, MPI.MAX))

    # -------------------------------------------------------------------------------------------------------- assembly

    def assembly(self) -> dict[str, float]:
        """Rates of panels, seismograms, products and updates, of near, middling and far paths.

        Products and updates are of Hessians that are not too large to try, with all radial splines and with half. Panels and
        seismograms, which need none, are measured on the run's own, too.
        """
        from scipy.optimize import nnls  # not before a process's own memory has been measured: a run does not need it

        panels = []  # terms, terms times radial splines, elements, seconds, weight in the fit
        seismogram, product, update = np.zeros(2), np.zeros(2), np.zeros(2)
        stack = stacks_of(self.geometry.table)
        order = np.argsort(np.bincount(stack, weights=self.geometry.table.samples), kind="stable")
        groups = [part for part in np.array_split(order, 3) if len(part)]
        for forward in (self.coarser(1), self.coarser(2)):
            size, settings = forward.basis.size, self.config.inversion
            hessian = self.matrix(size, settings.precision, settings.block)
            gradient = ConvergentVector(self.world, size, hessian.block)
            hessian.reset()  # pages that are touched for the first time take longer
            for stacks in groups:
                samples, made, sums = self.group(forward, stacks, hessian, gradient)
                terms = samples * self.modes
                panels.append([terms, terms * forward.basis.n_radial, made.panel_elements, sums["panel_s"], 1.0])
                product += made.flop, sums["product_s"]
                update += made.elements, sums["update_s"]
        for stacks in groups:
            own = self.own_splines(np.flatnonzero(np.isin(stack, stacks)))
            seismogram += own[0], own[4]
            if self.coupled:
                panels.append([*own[:4], OWN_WEIGHT])
        *matrix, wanted, weight = np.array(panels).T
        fitted, _ = nnls(np.transpose(matrix) * (weight / wanted)[:, None], weight)  # relative errors
        return {
            "panel_ns_per_term": max(1e9 * fitted[0], 1e-5),
            "panel_ns_per_radial_term": 1e9 * fitted[1],
            "panel_ns_per_element": 1e9 * fitted[2],
            "seismogram_ns_per_term": 1e9 * seismogram[1] / seismogram[0],
            "product_gflops": 1e-9 * product[0] / product[1],
            "update_ns_per_element": 1e9 * update[1] / update[0],
        }

    def own_splines(self, rows: i64) -> f64:
        """Counts and seconds of some paths on the run's own splines, summed over ranks.

        Terms, terms times radial splines, elements of panels; seconds of the panels (of coupled modes: path averages, as
        assembled, have smaller ones) and of seismograms alone, the faster of two trials.
        """
        forward, synthetics = self.geometry.forward, self.geometry.synthetics
        model = PERTURBATION * np.random.default_rng(4).standard_normal(self.unknowns)
        count = min(OWN_PATHS, len(rows))
        while True:
            chosen = np.random.default_rng([2, self.comm.rank]).choice(rows, count, replace=False)
            table = self.geometry.table.rows(np.isin(np.arange(len(self.geometry.table)), chosen))
            paths, of_synthetics, trials, elements = table.path_set(forward), table.path_set(synthetics), [], 0
            for _ in range(2):
                self.comm.Barrier()
                clock = time.perf_counter()
                if self.coupled:
                    elements = sum(forward.panel(paths[i], model)[0].size for i in range(len(paths)))
                panel_s = time.perf_counter() - clock
                self.comm.Barrier()
                clock = time.perf_counter()
                synthetics.seismograms(of_synthetics, 0, len(of_synthetics), model, 1)
                trials.append([panel_s, time.perf_counter() - clock])
            terms = float(table.samples.sum()) * self.modes
            own = [terms, terms * forward.basis.n_radial, elements, *np.min(trials, axis=0)]
            found = self.comm.allreduce(np.array(own))
            if count == len(rows) or found[4] > OWN_S * self.comm.size:
                return np.asarray(found)
            count = min(4 * count, len(rows))

    def coarser(self, divisor: int) -> ForwardProblem:
        """The forward problem with fewer radial splines, and a Hessian that is not too large to try."""
        forward, basis, config = self.geometry.forward, self.geometry.forward.basis, self.config
        parts = parts_of(basis)
        radial, levels = [max(4, part.n_radial // divisor) for part in parts], [level_of(part) for part in parts]
        coarser, finest = 0, max(levels)
        while coarser < finest - 1:
            wanted = [max(1, level - coarser) for level in levels]
            unknowns = sum(knots_of_level(level) * count for level, count in zip(wanted, radial, strict=True))
            if self.element_bytes * unknowns**2 // 2 <= LARGEST_HESSIAN_BYTES:
                break
            coarser += 1
        if not coarser and radial == [part.n_radial for part in parts]:
            return forward
        fewer = together(
            *(
                _craton.ModelBasis(max(1, level - coarser), fewer_knots(part, count))
                for part, level, count in zip(parts, levels, radial, strict=True)
            )
        )
        return forward.of_theory(config.theory.of_panels, fewer)

    def group(
        self, forward: ForwardProblem, stacks: i64, hessian: SymmetricMatrix, gradient: ConvergentVector
    ) -> tuple[int, Products, dict[str, float]]:
        """Assembles some stacks: samples, what was multiplied, seconds of each part, summed over ranks."""
        random, stack = np.random.default_rng(1), stacks_of(self.geometry.table)
        count = min(4 * self.comm.size, len(stacks))

        def assembled() -> dict[str, float]:
            found = _craton.assemble(
                self.world, forward, paths, zeros, ones, model, hessian, gradient,
                subset=1, compress=self.config.assembly.compress,
            )  # fmt: skip
            names = ("panel_s", "product_s", "update_s", "rows", "row_samples")
            told = self.comm.allreduce(np.array([found[name] for name in names]))
            return dict(zip(names, told.tolist(), strict=True))

        while True:
            chosen = random.choice(stacks, count, replace=False)
            table = self.geometry.table.rows(np.isin(stack, chosen))
            paths = table.path_set(forward)
            model, zeros, ones = np.zeros(forward.basis.size), np.zeros(int(table.samples.sum())), np.ones(len(table))
            sums = assembled()
            spent = (sums["panel_s"] + sums["product_s"] + sums["update_s"]) / self.comm.size
            if spent > MEASURING_S or count == len(stacks):
                break
            count = min(len(stacks), max(2 * count, int(1.2 * count * MEASURING_S / max(spent, 1e-4))))
        for _ in range(REPEATS):
            sums = {name: min(value, sums[name]) for name, value in assembled().items()}
        samples = table.samples.astype(float)
        multiplied = samples * sums["rows"] / sums["row_samples"]
        products = products_of(table, paths, forward, self.coupled, multiplied, self.element_bytes)
        return int(samples.sum()), products, sums

    # -------------------------------------------------------------------------------------------------- linear algebra

    def factorisation(self) -> tuple[float, float, float]:
        """Each rank's GFLOP/s in a large Cholesky factorisation, order at half of that, ns to add an element of C_m^-1.

        From two orders, with the run's precision and blocks, the larger one beyond every cache.
        """
        settings, room = self.config.inversion, math.isqrt(process_memory.available_bytes() // 64)
        dtype = "float64" if settings.solve_precision == "float64" else "float32"
        ranks = self.comm.size
        wanted = min(int(LARGE_ORDER * math.sqrt(ranks)), self.unknowns, room)
        large = self.comm.bcast(max(2, wanted // FACTOR)) * FACTOR
        rates, parts, element_ns = [], [], 0.0
        for order in (max(1, large // (4 * FACTOR)) * FACTOR, large):
            matrix = self.matrix(order, dtype, settings.block)
            added, factored = np.min([self.factorise_once(matrix, order) for _ in range(2)], axis=0)
            element_ns = 1e9 * float(added) / (order**2 / 2 / ranks)
            rates.append(order**3 / 3e9 / float(factored) / ranks)
            parts.append(order / math.sqrt(ranks))
        # rate = peak n / (n + half), so 1/rate is linear in 1/n
        slope = (1 / rates[0] - 1 / rates[1]) / (1 / parts[0] - 1 / parts[1])
        if slope <= 0:
            return rates[1], 0.0, element_ns
        inverse_peak = max(1 / rates[1] - slope / parts[1], 0.5 / rates[1])
        return 1 / inverse_peak, slope / inverse_peak, element_ns

    def factorise_once(self, matrix: SymmetricMatrix, order: int) -> tuple[float, float]:
        """Seconds of adding a Kronecker product, and of the factorisation."""
        matrix.reset()
        factors = np.eye(order // FACTOR), 3.0 * np.eye(FACTOR)
        added_s = self.together_s(lambda: matrix.add_kronecker(*factors, 1.0))
        return added_s, self.together_s(lambda: craton.Cholesky(matrix))

    def prior_inverse(self) -> float:
        """Ns per cube of the lateral knots, of the covariances' inverses; not collective.

        With 2,562 knots, or fewer where the basis has fewer. One rank of a node makes it, while the others wait.
        """
        level = min(self.config.basis.lateral_level, 5)
        basis = _craton.ModelBasis(level, np.ascontiguousarray(self.geometry.forward.basis.radial_knots_m))
        spent = []
        for _ in range(1 if level == 5 else 2):
            clock = time.perf_counter()
            gaussian_prior(basis, PriorConfig(nugget=0.01))
            spent.append(time.perf_counter() - clock)
        return 1e9 * min(spent) / basis.n_lateral**3

    def large_order(self, most_bytes: float, most: int) -> int:
        """Order of a packed float32 matrix that takes so much and at most an eighth of what is free; the run's at most."""
        room = min(most_bytes, process_memory.available_bytes() // 8)
        return int(self.comm.bcast(max(64, min(most, self.unknowns, math.isqrt(int(room) // 2)))))

    def first_touch(self) -> float:
        """GB/s at which the system hands out a rank's part of a Hessian, half a GiB or a part of what is free."""
        order = self.large_order(self.comm.size * TOUCHED_BYTES, self.unknowns)
        kept = []

        def touch() -> None:
            kept.append(self.matrix(order, "float32", 128))
            if self.comm.size == 1:  # what ranks share is touched when it is made
                kept[0].reset()

        spent_s = self.together_s(touch)
        return 4e-9 * math.prod(kept[0].packed.shape) / self.comm.size / spent_s

    def disk(self, inside: Path) -> tuple[float, float]:
        """GB/s of a Hessian, and seconds of a small file."""
        order, large = self.large_order(math.inf, SAVED_ORDER), inside / "large"
        matrix = self.matrix(order, "float32", 128)
        matrix.reset()

        def put_in_place() -> None:
            with replaced(
                large, own_checksums=("hessian",)
            ) as aside:  # synchronised with the disk, as a run's files are
                large.rename(aside)

        def save() -> None:
            matrix.save(str(large), "hessian")
            on_root(self.comm, put_in_place)

        small_s = on_root(self.comm, lambda: min(timed_write(inside / "small") for _ in range(REPEATS)))
        large_s = self.together_s(save)
        on_root(self.comm, large.unlink)
        return 4e-9 * math.prod(matrix.packed.shape) / large_s, small_s


def fewer_knots(basis: _craton.ModelBasis, count: int) -> f64:
    """So many radii in m, between the same ends and spread in the same way."""
    knots_m = np.asarray(basis.radial_knots_m)
    at = np.linspace(0, len(knots_m) - 1, count)
    return np.ascontiguousarray(np.interp(at, np.arange(len(knots_m)), knots_m))


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
    found = Trials(config, geometry, comm).machine(process_bytes, inside)
    on_root(comm, lambda: save_machine(found, inside / MACHINE))
    on_root(comm, lambda: write_json(inside / COUNTING, spent_s))


if __name__ == "__main__":
    with main_guard():
        main(Path(sys.argv[1]))
