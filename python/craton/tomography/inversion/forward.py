"""What gives g(m), and what gives the panels of its derivative.

The method is hybrid (French et al. 2015, figure 2): seismograms g(m) may come from an accurate, expensive solver while the
derivatives G_(i) come from a cheap theory. An inversion therefore asks for two things:

    Synthetics    g(m) of all windows, and the misfit of a model
    Panels        H = G^T C_d^-1 G and G^T C_d^-1 (d - g) at a model, panel by panel

`ModeTheory` gives both, from the Earth's modes. What solves for g elsewhere implements Synthetics alone, and the panels are told
what it predicts (`predicted_elsewhere`). So may a `ModeTheory` of coupled modes, beside panels from path averages:
`[theory] derivatives`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from craton import _craton
from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.runs.node_copies import NodeCopies
from craton.tomography.data.corrections import Corrections
from craton.tomography.inversion.exact_sums import Quanta, quanta_for

if TYPE_CHECKING:
    from mpi4py import MPI

    from craton import Checkpoint, ConvergentVector, SymmetricMatrix, World
    from craton._craton import ForwardProblem, ModeCatalogue, ModelBasis, PathSet, SpheroidalCatalogue
    from craton.tomography.config.load import Config, TheorySettings
    from craton.tomography.config.tables import AssemblyConfig
    from craton.tomography.data.observations import Observations

f64 = NDArray[np.float64]

ROUNDED = Quanta()

Told = Callable[[int, int], None]
"""A function of how many paths are done, of how many."""


class CorrectedTooFar(UserError):
    """A model's corrections leave a path that the theory cannot take: a station at the source, say."""


class Synthetics(Protocol):
    """What gives g(m)."""

    def seismograms(self, model: f64) -> f64:
        """Collective: g(m) of all windows, one after the other, in metres, on every rank."""

    def chi_data(self, model: f64) -> float:
        """Collective: the first part of equation 1, half the squared residual weighted by C_d^-1, of what the data emphasise."""


class Panels(Synthetics, Protocol):
    """What gives the linearised problem at a model, and seismograms by the same theory."""

    def assemble(
        self,
        model: f64,
        hessian: SymmetricMatrix,
        gradient: ConvergentVector,
        predicted: f64 | None = None,
        told: Told | None = None,
        saved: Checkpoint | None = None,
        pause_after_s: float = 0.0,
        quanta: Quanta = ROUNDED,
    ) -> dict[str, Any]:
        """Collective: adds each path's G_(i)^T C_d^-1 G_(i) to the Hessian and G_(i)^T C_d^-1 (d - g) to the gradient.

        - predicted: g of another theory, all windows one after the other, in metres, the same on every rank; None: the panels'.
        - told: is told the progress, on rank 0.
        - saved: the checkpoint that counts paths; those in it are left out.
        - pause_after_s: returns after so long; 0 for the end.
        - quanta: of what is added, for sums that do not depend on their order.

        Returns chi_data and data_norm of the paths done, `left` (how many are not), and what it took.
        """

    def coverage(self, basis: ModelBasis) -> f64:
        """Number of paths that see each lateral knot, shape (n_lateral,)."""

    def quanta(self, model: f64, chi_data: float) -> Quanta:
        """Collective: for an assembly at a model whose sums do not depend on their order. chi_data: of the model."""


def predicted_elsewhere(synthetics: Synthetics, panels: Panels, model: f64) -> f64 | None:
    """Collective: g where it is not of the panels' own theory."""
    return None if synthetics is panels else synthetics.seismograms(model)


def forward_problems(
    settings: Config | TheorySettings,
    basis: ModelBasis,
    modes: ModeCatalogue,
    spheroidal: SpheroidalCatalogue | None,
    figure: dict[str, f64] | None = None,
) -> tuple[ForwardProblem, ForwardProblem]:
    """The theories of seismograms and of derivatives that a configuration names: one object where they are the same.

    spheroidal: None where only toroidal motion is asked for. figure: what ellipticity, rotation and crust do (theory/figure.py,
    theory/crust.py); None: nothing. Not collective.
    """
    of, data = settings.theory, settings.data
    complete = of.is_complete(data.components)
    rates = {name: values.tolist() for name, values in (figure or {}).items()}
    g = _craton.ForwardProblem(modes, basis, data.filter_periods_s, of.kind, spheroidal, complete, rates, of.scaling())
    return g, g if of.of_panels == of.kind else g.of_theory(of.of_panels)


def predict(forward: ForwardProblem, paths: PathSet, model: f64, nodes: NodeCopies, threads: int) -> f64:
    """Collective: g(m) of all paths by the theory of the modes, in metres, once in each node's memory. Ranks share the work."""
    first, last = nodes.part(len(paths))
    mine = np.ascontiguousarray(forward.seismograms(paths, first, last, model, threads))
    return nodes.of_parts(mine, np.asarray(paths.offsets))


class ModeTheory:
    """Synthetics and Panels of some windows, from the Earth's modes: seismograms and derivatives by one theory.

    world: of comm. settings: threads, paths handed out at a time, and what is small enough to be left out of a product.
    """

    def __init__(
        self,
        problem: ForwardProblem,
        observations: Observations,
        world: World,
        comm: MPI.Comm,
        settings: AssemblyConfig,
        corrections: Corrections | None = None,
        nodes: NodeCopies | None = None,
    ) -> None:
        """Collective. corrections: unknowns of the observations' earthquakes and stations, behind the model's; None: none.

        nodes: of world and comm; None: it makes them.
        """
        self.problem, self.observations, self.settings = problem, observations, settings
        self.corrections = corrections or Corrections(observations.paths)
        self.paths = observations.paths.path_set(problem, world)
        """As the catalogues have them, or with the corrections of the last model."""
        self._at = np.zeros(self.corrections.size)
        self._world, self._comm, self._nodes = world, comm, nodes or NodeCopies(world, comm)
        self._last: tuple[f64, f64] | None = None

    def structure_of(self, model: f64) -> f64:
        """Collective: the coefficients of a model without its corrections, which the paths have from now on.

        CorrectedTooFar, on every rank, where no path can have them.
        """
        structure, values = np.split(model, [self.problem.basis.size])
        if not np.array_equal(values, self._at):
            table = self.corrections.applied(values)
            try:
                self.paths, self._at = table.path_set(self.problem, self._world), values.copy()
            except UserError as problem:
                raise CorrectedTooFar(f"with the corrections found so far: {problem}") from None
        return np.ascontiguousarray(structure)

    def seismograms(self, model: f64) -> f64:
        """As Synthetics says. Those of the last model are kept."""
        if self._last is None or not np.array_equal(self._last[0], model):
            structure = self.structure_of(model)
            self._last = model.copy(), predict(self.problem, self.paths, structure, self._nodes, self.settings.threads)
        return self._last[1]

    def chi_data(self, model: f64) -> float:
        """As Synthetics says."""
        return self.observations.chi(self.seismograms(model), self._comm)

    def assemble(
        self,
        model: f64,
        hessian: SymmetricMatrix,
        gradient: ConvergentVector,
        predicted: f64 | None = None,
        told: Told | None = None,
        saved: Checkpoint | None = None,
        pause_after_s: float = 0.0,
        quanta: Quanta = ROUNDED,
    ) -> dict[str, Any]:
        """As Panels says. With quanta no panel is compressed."""
        data, settings, structure = self.observations, self.settings, self.structure_of(model)
        return _craton.assemble(
            self._world, self.problem, self.paths, data.observed, data.emphasis.sigma(data.sigma), structure, hessian, gradient,
            settings.threads, settings.subset, told, data.correlation, saved, pause_after_s,
            0.0 if quanta.hessian else settings.compress, data.emphasis.taps(data.paths.sample_interval_s), quanta.pair,
            self.corrections.derivatives(self.paths), predicted, data.emphasis.misfit, data.furthest,
        )  # fmt: skip

    def quanta(self, model: f64, chi_data: float) -> Quanta:
        """As Panels says."""
        structure = self.structure_of(model)
        return on_root(self._comm, lambda: quanta_for(self.problem, self.paths, self.observations, structure, chi_data))

    def coverage(self, basis: ModelBasis) -> f64:
        """As Panels says."""
        return np.asarray(self.paths.coverage(basis))
