"""A finished run read back: the linearised problem that hessian.h5 holds, and what it was assembled from."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import craton
from craton import ConvergentMatrix, ConvergentVector, SymmetricMatrix, World
from craton.arrays.matrix import TrianglePart
from craton.errors import UserError
from craton.inverse.blocks import ParameterBlock
from craton.runs.agreement import on_root
from craton.runs.hdf5_files import opened_hdf5
from craton.runs.node_copies import NodeCopies
from craton.tomography.config.load import hessian_block, theory_settings
from craton.tomography.config.prior import PriorConfig
from craton.tomography.config.tables import AssemblyConfig
from craton.tomography.data.corrections import Corrections
from craton.tomography.data.data_file import load_observations
from craton.tomography.data.emphasis import Emphasis
from craton.tomography.data.observations import Observations
from craton.tomography.data.sources import shared_observations
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.forward import ModeTheory, forward_problems, predicted_elsewhere
from craton.tomography.inversion.hessian_file import read_system, run_prior
from craton.tomography.inversion.persistence import check_same_earth
from craton.tomography.model.earth_table import reference_earth
from craton.tomography.model.parameters import blocks_in
from craton.tomography.model.splines import basis_of, parts_of
from craton.tomography.stored.marginal import without_corrections
from craton.tomography.theory.crust import crust_effects, earth_name, on_crust, shared_crusts
from craton.tomography.theory.figure import shared_figure
from craton.tomography.theory.modes import shared_mode_catalogue, shared_spheroidal_catalogue

if TYPE_CHECKING:
    from craton._craton import ForwardProblem, ModelBasis


f64 = NDArray[np.float64]


@dataclass
class LinearisedProblem:
    """Equation 2 as a run left it, at the model of its last Hessian. The same on every rank but for the matrix."""

    source: pathlib.Path
    """The run's hessian.h5."""
    basis: ModelBasis
    world: World
    comm: MPI.Comm
    hessian: SymmetricMatrix
    """Distributed; of the run's precision."""
    gradient: f64
    model: f64
    prior_mean: f64
    chi_data: float | None
    """First part of equation 1 at the model; None where neither hessian.h5 nor record.json tells. With corrections their prior's
    part is in it, and it is that of the corrections which fit best."""
    samples: int | None
    linearised_at: int
    """The iteration whose model it is."""
    damping: float
    prior: PriorConfig | None
    """The run's; None where hessian.h5 does not tell."""
    config: dict[str, Any]
    """The run's configuration."""
    corrections: f64 = field(default_factory=lambda: np.empty(0))
    """Of earthquakes and stations, at the model: they are integrated out of everything else here (marginal.py)."""
    compared: str = ""
    """What its iteration compared where that was not waveforms of all periods, in words."""

    @property
    def parameters(self) -> list[tuple[ParameterBlock, ModelBasis]]:
        """What the model is made up of, and the splines of each."""
        return list(zip(blocks_in(self.basis), parts_of(self.basis), strict=True))

    def system(self, dtype: str = "float64") -> SymmetricMatrix:
        """Collective: a copy of the Hessian, to be overwritten."""
        return self.hessian.copy(dtype)

    def taken(self, dtype: str = "float64") -> SymmetricMatrix:
        """Collective: the same where the Hessian itself is not wanted any more, and its memory is given back."""
        system = self.hessian if self.hessian.dtype == np.dtype(dtype) else self.system(dtype)
        del self.hessian
        return system


def read_problem(
    source: pathlib.Path, comm: MPI.Comm, world: World | None = None, stored: dict[str, Any] | None = None
) -> LinearisedProblem:
    """Collective: reads hessian.h5, the matrix to where it is dealt. UserError for what is not a run's.

    world: of comm; None makes one. stored: what read_system has found in the file; None reads it.
    """
    craton.check_mpi()
    there = stored or on_root(comm, lambda: read_system(source))
    chi_data, samples = on_root(comm, lambda: misfit_of(source, there))
    world = world or World(comm)
    basis = basis_of(there)
    gradient, model, mean = (np.ascontiguousarray(there[name]) for name in ("gradient", "model", "prior_mean"))
    hessian, values = load_hessian(source, there, len(model), world, comm), model[basis.size :]
    damping = float(there["inversion"]["damping"])
    if len(values):
        of_structure = np.mean(np.asarray(hessian.diagonal(), np.float64)[: basis.size])
        block = hessian_block(there["inversion"]["block"], basis.size)
        hessian, gradient, change = without_corrections(
            hessian, gradient, values, there["corrections_precision"], block, world, comm
        )
        chi_data = None if chi_data is None else chi_data + change
        damping *= float(of_structure / np.mean(np.asarray(hessian.diagonal(), np.float64)))  # the same amount
    return LinearisedProblem(
        source, basis, world, comm, hessian, gradient, model[: basis.size].copy(), mean[: basis.size].copy(), chi_data,
        samples, int(there["linearised_at_iteration"]), damping, run_prior(there),
        json.loads(there.get("config", "{}")), values, on_root(comm, lambda: stored_emphasis(source).text),
    )  # fmt: skip


def load_hessian(
    source: pathlib.Path, stored: dict[str, Any], size: int, world: World, comm: MPI.Comm
) -> SymmetricMatrix:
    """Collective: the distributed matrix in hessian.h5, checked. A full one, as earlier versions wrote it, is compressed."""
    packed_block = stored["packed_block"]
    block = hessian_block(stored["inversion"]["block"], size) if packed_block is None else packed_block
    system = SymmetricMatrix(world, size, dtype=stored["precision"], block=block)
    if packed_block is None:
        full = ConvergentMatrix(world, size, size, dtype=stored["precision"], block=block, grid=system.grid)
        full.load(str(source), "hessian")
        system.compress(full)
    else:
        system.load(str(source), "hessian")
    check_matrix(system, source, comm)
    return system


def check_matrix(system: SymmetricMatrix, source: pathlib.Path, comm: MPI.Comm) -> None:
    """Collective: UserError unless every element is finite."""
    found = next((place for part in system.triangle for place in not_finite(part)), None)
    first = comm.allreduce(comm.size if found is None else comm.rank, MPI.MIN)
    if first < comm.size:
        row, col, value = comm.bcast(found, root=first)
        raise UserError(f"{source}: hessian[{row}, {col}] = {value}; allowed: finite numbers")


def not_finite(part: TrianglePart) -> Iterator[tuple[int, int, float]]:
    """Row, column and value of the first element of each column of a part that is not finite."""
    for col in range(len(part.cols)):
        bad = np.flatnonzero(~np.isfinite(part.local[:, col]) & part.taken(cols=[col])[:, 0])
        if len(bad):
            row, column = int(part.rows[bad[0]]), int(part.cols[col])
            yield min(row, column), max(row, column), float(part.local[bad[0], col])


def misfit_of(source: pathlib.Path, stored: dict[str, Any]) -> tuple[float | None, int | None]:
    """chi_data at the Hessian's model and the number of samples: hessian.h5 has them, or record.json beside it."""
    if "chi_data" in stored and "samples" in stored:
        return float(stored["chi_data"]), int(stored["samples"])
    try:
        record = RunFolder(source.parent).read_record()
        return record.iterations[
            int(stored["linearised_at_iteration"])
        ].chi_data, record.independent_samples or record.samples
    except (UserError, IndexError):
        return None, None


@dataclass
class RunData:
    """What a Hessian was assembled from: seismograms, noise, and the theory."""

    forward: ForwardProblem
    derivatives: ForwardProblem
    """`forward` itself, or another theory."""
    observations: Observations
    assembly: AssemblyConfig
    nodes: NodeCopies
    """What makes vectors that all ranks read."""

    def theory(self, world: World, problem: ForwardProblem | None = None) -> ModeTheory:
        """Collective: synthetics and panels of these windows. problem: `forward`, unless it is given."""
        of = problem or self.forward
        return ModeTheory(of, self.observations, world, self.nodes.comm, self.assembly, nodes=self.nodes)

    def misfit(self, world: World, model: f64) -> float:
        """Collective: chi_data of a model, by the theory itself, not by its tangent."""
        return self.theory(world).chi_data(model)

    def assemble(self, world: World, model: f64, like: SymmetricMatrix) -> tuple[SymmetricMatrix, f64, float]:
        """Collective: H, G^T C_d^-1 (d - g) and chi_data at a model; the matrix is float64, dealt as `like`."""
        hessian, gradient = like.like("float64"), ConvergentVector(world, len(model), like.block)
        synthetics = panels = self.theory(world)
        if self.derivatives is not self.forward:
            panels = self.theory(world, self.derivatives)
        predicted = predicted_elsewhere(synthetics, panels, model)
        sums = panels.assemble(model, hessian, gradient, predicted)
        return hessian, np.asarray(gradient.gather()), float(sums["chi_data"])

    def where(self, keep: NDArray[np.bool_]) -> RunData:
        """The same of some paths. keep: of each path."""
        return dataclasses.replace(self, observations=self.observations.where(keep))


def stored_emphasis(hessian: pathlib.Path) -> Emphasis:
    """Which periods and windows a Hessian is of. Not collective."""
    with opened_hdf5(hessian, "hessian.h5 of a run") as file:
        left_out = np.asarray(file["left_out"], bool) if "left_out" in file else None
        weights = np.asarray(file["window_weights"], float) if "window_weights" in file else None
        of = file.attrs
        misfit, furthest_s = str(of.get("misfit", "waveform")), float(of.get("furthest_s", 0.0))
        return Emphasis(float(of.get("period_s", 0.0)), left_out, weights, misfit, furthest_s)


def recorded_earth(hessian: pathlib.Path) -> str:
    """The name of the run's Earth; "" where there is no record, or none that says. Not collective."""
    try:
        return RunFolder(hessian.parent).read_record().earth
    except UserError:
        return ""


def read_data(problem: LinearisedProblem) -> RunData:
    """Collective: the data.h5 beside a run's hessian.h5, and the theory that the run's configuration names.

    Earthquakes and stations are as the run's corrections have them at the Hessian's model.
    """
    file, comm = problem.source.parent / "data.h5", problem.comm
    nodes = NodeCopies(problem.world, comm)
    observations = shared_observations(
        comm,
        nodes,
        lambda: dataclasses.replace(load_observations(file), emphasis=stored_emphasis(problem.source)),
    )
    settings = theory_settings(problem.config, str(problem.source))
    if observations.correlation_s is None and settings.data.correlation_s:
        lengths = np.full(len(observations.paths), settings.data.correlation_s)
        observations = dataclasses.replace(observations, correlation_s=lengths)
    earth = reference_earth(settings.earth)
    crusts = shared_crusts(earth, settings, comm)
    on_root(comm, lambda: check_same_earth(recorded_earth(problem.source), earth_name(earth, crusts), settings.earth))
    observations = dataclasses.replace(observations, paths=on_crust(observations.paths, crusts))
    corrections = Corrections(observations.paths, settings.corrections)
    if corrections.size != len(problem.corrections):
        raise UserError(
            f"{file}: its earthquakes and stations have {corrections.size} unknowns; allowed: {len(problem.corrections)}, as in "
            f"{problem.source}"
        )
    observations = dataclasses.replace(observations, paths=corrections.applied(problem.corrections))
    modes = shared_mode_catalogue(earth, settings, comm)
    spheroidal = shared_spheroidal_catalogue(earth, settings, comm)
    figure = shared_figure(earth, settings, modes, spheroidal, comm)
    figure |= crust_effects(crusts, settings, modes, spheroidal, comm)
    problems = forward_problems(settings, problem.basis, modes, spheroidal, figure)
    return RunData(*problems, observations, settings.assembly, nodes)
