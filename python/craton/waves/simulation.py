"""A run in Python: from a configuration to a solver that steps, with sources fed to it as their time comes.

    from mpi4py import MPI
    import craton
    from craton import waves

    config = waves.load_config("run.toml")
    simulation = waves.Simulation(config, craton.World(MPI.COMM_WORLD), MPI.COMM_WORLD)
    simulation.watch(lambda step, time_s, fields, first: ..., fields=("vz",), every=20)
    simulation.advance(simulation.steps)
    simulation.finish()

All ranks make the same calls. `craton waves run` is this with a folder round it (start.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton import _craton
from craton.described import Described
from craton.runs.agreement import on_all, on_root
from craton.seismology.geometry.grid import Box
from craton.seismology.sources.point_sources import COMPONENTS, PointSources, Source
from craton.seismology.sources.streamed_source import StreamedSource
from craton.seismology.wave_run.check import check_outputs_of_parts, check_planes, check_sources
from craton.seismology.wave_run.refinement import COARSER, GridPart
from craton.seismology.wave_run.sampling import ground_of, samples_per_side
from craton.seismology.wave_run.setup import MARGIN_CELLS, AbsorbingSides, Setup
from craton.waves.file_hints import file_hints

if TYPE_CHECKING:
    from mpi4py import MPI

    from craton.seismology.wave_run.config import Config

__all__ = ["Simulation", "box_of", "solver_options"]

STEPS_BETWEEN_CHECKS = 100
"""Steps between checks that the fields are finite."""
RATE_VALUES = 2**22
"""Values of sources that a rank holds at a time: sources times steps."""
MOST_STEPS_FED = 512

Module = Callable[[int, float, dict[str, NDArray[np.float32]], tuple[int, int, int]], object]
"""(step, time_s of its stress, fields of this rank (nz, ny, nx), where they begin in the box, counted in strides)."""


class Simulation(Described):
    """A solver on all ranks, at step 0."""

    def __init__(
        self,
        config: Config,
        world: _craton.World,
        comm: MPI.Comm,
        *,
        threads: int = 0,
        brick_of_rank: Sequence[int] = (),
    ) -> None:
        """Collective. threads: instead of the configuration's. UserError on every rank for what the solver or a file refuses."""
        self.config, self.world, self.comm = config, world, comm
        self.setup = on_all(world, lambda: Setup(config))
        on_root(comm, lambda: check_sources(self.setup))
        on_all(world, lambda: check_planes(self.setup))
        on_all(world, lambda: check_outputs_of_parts(self.setup))
        self.dt_s = on_root(comm, lambda: self.setup.step_s())
        self.steps = self.setup.steps(self.dt_s)
        self.spectra = on_root(comm, lambda: self.setup.spectra(self.dt_s))
        self.bricks = self.setup.decomposition(comm.size)
        self.cuda_device = _cuda_device(config, comm)
        sides = on_root(comm, lambda: self.setup.sides)
        self.grids = [
            SolverGrid.on(part, self, threads or config.run.threads, brick_of_rank, sides) for part in self.setup.parts
        ]
        self.run = self.grids[0].run
        if len(self.grids) > 1:
            self.run.put_above(self.grids[1].run)
        self.own = self._own_columns()
        self.sources = on_all(world, lambda: self.setup.sources(self._reached(), self.dt_s))
        self._set_sources()
        self._fed_until = 0
        self._checked_at = 0

    def _facts(self) -> dict[str, object]:
        grid = " and ".join(f"{' x '.join(map(str, each.part.cells))} cells" for each in self.grids)
        return {
            "step": f"{self.step} of {self.steps}",
            "dt": f"{self.dt_s:.6g} s",
            "grid": grid,
            "ranks": self.comm.size,
        }

    @property
    def step(self) -> int:
        """Steps done."""
        return self.run.step

    @property
    def time_s(self) -> float:
        """Time of the stress; velocities are half a step earlier."""
        return self.run.time_s

    @property
    def points(self) -> int:
        """Points of all grids."""
        return sum(math.prod(each.part.cells) for each in self.grids)

    def grid_at(self, z_m: float) -> SolverGrid:
        """The grid that has a depth."""
        return next((one for one in reversed(self.grids) if z_m >= one.part.top_m), self.grids[0])

    def _own_columns(self) -> Box:
        """This rank's cells of the whole grid, in the finest cells."""
        own, cells = self.grids[0].own, self.config.cells
        return own if len(self.grids) == 1 else Box(own.first, (*own.last[:2], cells[2]))

    def _reached(self) -> Box:
        """From which sources reach into this rank's bricks: as far as coarse cells have it."""
        return self.own if len(self.grids) == 1 else self.own.grown((COARSER - 1) * MARGIN_CELLS)

    @property
    def bytes_per_point(self) -> float:
        """Least traffic with memory of a step by itself: each array of a sweep read or written once.

        Steps that share a passage through memory need less.
        """
        return 120.0 if self.config.attenuation is None else 176.0

    # ------------------------------------------------------------------------------------------------------------- stepping

    def advance(self, steps: int) -> None:
        """Collective. UserError on every rank when a field is not finite any more."""
        end = self.step + steps
        while self.step < end:
            self._feed()
            stop = min(end, self._fed_until, _next_multiple(self.step, STEPS_BETWEEN_CHECKS))
            self.run.advance(stop - self.step)
            if self.step % STEPS_BETWEEN_CHECKS == 0 or self.step == self.steps:
                self.check_finite()

    def check_finite(self) -> float:
        """Collective: the largest velocity, m/s."""
        peak = self.run.peak_velocity()
        if not math.isfinite(peak):
            raise self.config.wrong(
                f"velocities are not finite any more at step {self.step} of {self.steps}, t = {self.time_s:.6g} s (they were at "
                f"step {self._checked_at}); allowed: a smaller [time] dt_s than {self.dt_s:g} s, or a larger [boundary] "
                "multi_axial_ratio"
            )
        self._checked_at = self.step
        return peak

    def save(self, path: str) -> None:
        """Collective: a checkpoint, replaced when it is whole; what modules were given is on disk."""
        self.run.save(path, file_hints(self.config))

    def restore(self, path: str) -> None:
        """Collective, before modules are added: goes on from a checkpoint, bit for bit as the run that made it."""
        self.run.restore(path)
        self._fed_until = self._checked_at = self.step

    def finish(self) -> None:
        """Collective, once: files get their names."""
        self.run.finish()

    # -------------------------------------------------------------------------------------------------------------- sources

    def _set_sources(self) -> None:
        from mpi4py import MPI

        self._here: dict[str, list[NDArray[np.bool_]]] = {}
        of_grids: list[list[NDArray[np.float64]]] = [[] for _ in self.grids]
        for kind in ("moment", "force"):
            those = self._of_kind(kind)
            at = _rows([one.position_m for one in those], 3)
            pattern = _rows([one.pattern for one in those], len(COMPONENTS[kind]))
            self._here[kind] = [each.has(at[:, 2]) for each in self.grids]
            for arrays, each, here in zip(of_grids, self.grids, self._here[kind], strict=True):
                arrays += [np.ascontiguousarray(each.local(at[here])), np.ascontiguousarray(pattern[here])]
        for arrays, each in zip(of_grids, self.grids, strict=True):
            each.run.set_sources(*arrays)
        self._most_sources = self.comm.allreduce(sum(len(one.position_m) for one in self.sources), MPI.MAX)
        bounds = [one.steps_at_a_time for one in self.sources if isinstance(one, StreamedSource)]
        self._most_steps = self.comm.allreduce(min([MOST_STEPS_FED, *bounds]), MPI.MIN)

    def source_positions_m(self) -> NDArray[np.float64]:
        """Collective: (n, 3): the sources at points as they are configured; then those of faults, each place once."""
        self.world.barrier()
        faults = [one for one in self.sources if not isinstance(one, PointSources)]
        own = _rows([one.position_m for one in faults], 3)
        together = np.unique(np.concatenate(self.comm.allgather(own)), axis=0)
        return _rows([np.array([one.position_m for one in self.setup.points]).reshape(-1, 3), together], 3)

    def _of_kind(self, kind: str) -> list[Source]:
        return [one for one in self.sources if one.kind == kind]

    def _feed(self) -> None:
        """Rates of the steps to come, when those before are used up."""
        if self.step < self._fed_until:
            return
        steps = max(1, min(self._most_steps, RATE_VALUES // max(self._most_sources, 1)))
        self._fed_until = self.step + steps
        made = on_all(self.world, lambda: {kind: self._rates(kind, steps) for kind in ("moment", "force")})
        for n, each in enumerate(self.grids):
            if made["moment"] is not None:
                each.run.set_moment_rates(self.step, self._part_of(made["moment"], "moment", n))
            if made["force"] is not None:
                each.run.set_force_series(self.step, self._part_of(made["force"], "force", n))

    def _part_of(self, rates: NDArray[np.float32], kind: str, n: int) -> NDArray[np.float32]:
        """Those of the sources in grid n."""
        return rates if len(self.grids) == 1 else rates[self._here[kind][n]]

    def _rates(self, kind: str, steps: int) -> NDArray[np.float32] | None:
        those = self._of_kind(kind)
        if not those:
            return None
        rates = [one.rates(self.step, steps, self.dt_s) for one in those]
        return np.ascontiguousarray(np.concatenate(rates), np.float32)

    # -------------------------------------------------------------------------------------------------------------- modules

    def watch(
        self,
        module: Module,
        fields: Sequence[str],
        every: int,
        *,
        low: tuple[int, int, int] = (0, 0, 0),
        high: tuple[int, int, int] | None = None,
        stride: tuple[int, int, int] = (1, 1, 1),
    ) -> None:
        """Calls a function after every so many steps, on a thread of its own, while the solver goes on.

        The function gets this rank's part of fields of cells low <= (i, j, k) < high. The same call on every rank. With [grid]
        coarser_below_m these are cells above it.
        """
        when = self.schedule(every, "watch")
        self.run.call(module, when, list(fields), low, high or self.grids[0].part.cells, stride)

    def schedule(self, every: int, what: str) -> _craton.WaveSchedule:
        """After steps every, 2 every, ... UserError where that is never."""
        if every > self.steps:
            raise self.config.wrong(f"{what} every {every} steps, but the run has {self.steps}; allowed: at most that")
        return _craton.WaveSchedule(every - 1, every, self.steps)


@dataclass(frozen=True)
class SolverGrid:
    """One grid of the solver on all ranks. Positions in it count from its own first plane."""

    part: GridPart
    run: _craton.WaveRun
    own: Box
    """this rank's cells"""

    @classmethod
    def on(
        cls,
        part: GridPart,
        simulation: Simulation,
        threads: int,
        brick_of_rank: Sequence[int],
        sides: AbsorbingSides,
    ) -> SolverGrid:
        """Collective. UserError on every rank for what the solver or a file refuses."""
        s, setup = simulation, simulation.setup
        options = solver_options(setup, s.dt_s, threads, part, sides)
        if s.cuda_device is not None:
            options.use_cuda(s.cuda_device)
        own = box_of(part.cells, s.bricks, s.comm.rank, brick_of_rank, COARSER if part.below else 1)
        ground = on_all(s.world, lambda: ground_of(setup, s.comm, own, part))
        run = _craton.WaveRun(s.world, part.cells, s.bricks, options, ground, list(brick_of_rank))
        return cls(part, run, own)

    def has(self, z_m: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which depths lie in it; what lies on the plane that two grids share is the lower one's."""
        inside = np.ones(z_m.shape, np.bool_)
        if self.part.above:
            inside &= z_m >= self.part.top_m
        if self.part.below:
            inside &= z_m < self.part.bottom_m
        return inside

    def local(self, position_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Positions (n, 3) as this grid counts them."""
        return np.asarray(position_m - np.array([0.0, 0.0, self.part.top_m]))


def box_of(
    cells: tuple[int, int, int],
    bricks: tuple[int, int, int],
    rank: int,
    brick_of_rank: Sequence[int] = (),
    multiples_of: int = 1,
) -> Box:
    """Cells of a rank's brick, cut along x and y at multiples of so many."""
    (a, b, c), (d, e, f) = _craton.brick_of(cells, bricks, rank, list(brick_of_rank), (multiples_of, multiples_of, 1))
    return Box((a, b, c), (d, e, f))


def solver_options(setup: Setup, dt_s: float, threads: int, part: GridPart, pml: AbsorbingSides) -> _craton.WaveOptions:
    """What the solver is told: step, absorbing sides, attenuation, threads.

    part: of the solver's grids. pml: Setup.sides, for which the ground of two grids is read.
    """
    config = setup.config
    options = _craton.WaveOptions()
    options.spacing_m, options.dt_s, options.threads = part.spacing_m, dt_s, threads
    options.finer_above, options.coarser_below, options.top_m = part.above, part.below, part.top_m
    options.free_surface = config.boundary.top == "free"
    options.samples_per_side = samples_per_side(setup, part)
    if setup.topography is not None:
        options.set_topography(config.cells, np.ascontiguousarray(setup.topography.surface_m.T))
    sides = _craton.WaveAbsorbing()
    sides.kind, sides.width = config.boundary.absorbing, part.layer_cells or 1
    if sides.kind == "pml":
        sides.speed_m_s, sides.alpha_per_s = pml
        sides.multiaxial_ratio = config.boundary.multi_axial_ratio
        sides.multiaxial_power = config.boundary.multi_axial_power
    options.absorbing = sides
    options.attenuation = relaxation_of(config)
    return options


def relaxation_of(config: Config) -> _craton.WaveRelaxation | None:
    """What imitates Q(f); None for elastic ground."""
    given = config.attenuation
    if given is None:
        return None
    reference = given.reference_frequency_hz
    lowest, highest = given.band_hz
    return _craton.WaveRelaxation(lowest, highest, reference, given.exponent, reference)


def _cuda_device(config: Config, comm: MPI.Comm) -> int | None:
    """Collective: of this rank, with [run] device = "cuda": those of a machine in turn."""
    if config.run.device == "cpu":
        return None
    from mpi4py import MPI

    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    rank = here.rank
    here.Free()
    devices = _craton.cuda_devices()
    if comm.allreduce(devices, MPI.MIN) == 0:
        raise config.wrong(
            '[run] device = "cuda": no CUDA device that this process can use; allowed: "cpu", or a build with -DCRATON_CUDA=ON on '
            "a machine with one"
        )
    return rank % devices


def _rows(some: Sequence[NDArray[np.float64]], columns: int) -> NDArray[np.float64]:
    return np.ascontiguousarray(np.concatenate([np.empty((0, columns)), *some]), np.float64)


def _next_multiple(step: int, of: int) -> int:
    return (step // of + 1) * of
