"""The iteration that all kinds of Hartree-Fock, and Kohn-Sham, share."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from craton._craton import GaussianBasis
from craton.described import Described
from craton.errors import UserError
from craton.scf import properties
from craton.scf.basis_sets import Shell, atoms_of_functions, basis_of_shells, fitting_name, make_basis, placed_shells
from craton.scf.core_potentials import CorePotential, CorePotentials, core_potentials_of, with_cores
from craton.scf.engines.distributed import DistributedEngine
from craton.scf.engines.fitting import FittedEngine, check_products
from craton.scf.engines.integral_memory import integral_bytes
from craton.scf.engines.libcint import open_libcint
from craton.scf.engines.local import LocalEngine
from craton.scf.files.checkpoint import Checkpoint
from craton.scf.iteration import DENSITY_BY, GUESSES
from craton.scf.iteration.beginning import Beginning
from craton.scf.iteration.orthonormal import OrthonormalFunctions, make_symmetric
from craton.scf.iteration.steering import Steering
from craton.scf.molecule import Molecule

if TYPE_CHECKING:
    from craton._craton import World
    from craton.arrays.dist_array import DistArray

Matrix = NDArray[np.float64]
Engine = LocalEngine | DistributedEngine
"""They have the same members, for NumPy arrays and for DistArrays: the iterations are written once, for matrices of either kind."""


@dataclass(frozen=True)
class Iteration:
    """One line of the table of iterations.

    Total energy and its change in hartree, the norm of the orbital gradient, quartets of shells whose integrals were computed, and
    wall clock of J and K.
    """

    number: int
    energy: float
    change: float
    gradient: float
    quartets: int
    fock_s: float


class HartreeFock(Described):
    """What RHF, UHF, ROHF, RKS and UKS have in common: make one, set what should differ, run() or kernel(), look at the results.

    Settings, by the names of PySCF where it has them:

        conv_tol            change of the energy, hartree (1e-9)
        conv_tol_grad       norm of the orbital gradient; None: sqrt(conv_tol), of UHF a thirtieth of it: <S^2> is off by the
                            gradient, not by its square as the energy is
        max_cycle           iterations at most (50)
        init_guess          "sad": superposition of atomic densities; "core": no electrons' repulsion
        diis_space          Fock matrices that are kept (8); 0: no DIIS
        diis_start_cycle    the first iteration with DIIS (1)
        level_shift         hartree, by which virtual orbitals are raised while it iterates (0)
        damp                fraction of the Fock matrix before, in iterations before DIIS starts (0)
        density_by          "diagonalisation"; "canonical" or "sp2": purification, orbitals only at the end
        direct_scf_tol      of integrals, hartree (1e-12)
        df                  True: J and K of densities that are fitted by auxiliary functions; energies differ by some 1e-5
                            hartree an atom (False)
        auxbasis            name of the auxiliary set, or shells for each element (None: fitting_name of the basis)
        linear_dependence   eigenvalues of the overlap below it are left out (1e-8)
        threads             of this process (1)
        integral_memory_mb  MB of this process that keep two-electron integrals between iterations; what finds no room is
                            computed by each (None: a quarter of the machine's memory over its ranks, 4000 MB of it at most)
        checkpoint          a file to write while it iterates and at its end; None: none
        checkpoint_every_s  seconds from one to the next, at least (0: each iteration)
        callback            called with each Iteration

    Results: converged, e_tot, mo_energy, mo_coeff, mo_occ, left_out, iterations, seconds (by phase), make_rdm1() and what is
    derived of it. Energies in hartree; matrices n x n over the functions of `basis`, orbitals in the columns of mo_coeff.

    With `world` all its ranks compute together: the constructor and everything that computes is collective, matrices are
    DistArrays of the functions in the order `function_order`, and no rank has a whole one.
    """

    _gradient_part = 1.0
    """Of the root of conv_tol: the norm of the orbital gradient to reach."""

    SETTINGS = [
        "conv_tol", "conv_tol_grad", "max_cycle", "init_guess", "diis_space", "diis_start_cycle", "level_shift", "damp",
        "density_by", "direct_scf_tol", "df", "auxbasis", "linear_dependence", "threads", "integral_memory_mb", "checkpoint",
        "checkpoint_every_s", "callback",
    ]  # fmt: skip

    def __init__(
        self,
        molecule: Molecule,
        basis: str | dict[str, list[Shell]],
        *,
        cartesian: bool = False,
        library: str | Path | None = None,
        world: World | None = None,
    ) -> None:
        """cartesian: functions are x^i y^j z^k (6 of a d shell) instead of spherical (5), also those that fit densities.

        library: the file of libcint, found by itself where None. UserError as placed_shells and GaussianBasis.
        """
        self.potentials: dict[str, CorePotential] = (
            core_potentials_of(basis, frozenset(molecule.symbols)) if isinstance(basis, str) else {}
        )
        """Effective core potentials of elements."""
        self.molecule = molecule = with_cores(molecule, self.potentials)
        self._given_basis = basis
        self.basis_name = basis if isinstance(basis, str) else "of its own"
        self._occupied, self._weight = self._occupations()
        self.cartesian = cartesian
        self.shells = placed_shells(molecule, basis, cartesian)
        self.basis: GaussianBasis = basis_of_shells(molecule, self.shells)
        self.conv_tol = 1e-9
        self.conv_tol_grad: float | None = None
        self.max_cycle = 50
        self.init_guess = "sad"
        self.diis_space = 8
        self.diis_start_cycle = 1
        self.level_shift = 0.0
        self.damp = 0.0
        self.density_by = "diagonalisation"
        self.direct_scf_tol = 1e-12
        self.df = False
        self.auxbasis: str | dict[str, list[Shell]] | None = None
        self.linear_dependence = 1e-8
        self.threads = 1
        self.integral_memory_mb: float | None = None
        self.checkpoint: str | Path | None = None
        self.checkpoint_every_s = 0.0
        self.callback: Callable[[Iteration], None] | None = None

        self.converged = False
        self.e_tot = 0.0
        self.mo_energy: Any = None
        self.mo_coeff: Any = None
        self.mo_occ: Any = None
        self.left_out = 0
        """Combinations of functions that nearly depend on others (linear_dependence): so many orbitals less than functions."""
        self.iterations: list[Iteration] = []
        self.saved = 0
        """Iterations in the checkpoint."""
        self.seconds: dict[str, float] = {}

        self._beyond = 0.0
        """Of the energy, hartree: what half the product of densities and potentials has not."""
        self._library = open_libcint(None if library is None else str(library))
        self._world = world
        self._made: tuple[tuple[Any, ...], Engine] | None = None

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {"molecule": self.molecule.formula, "basis": self.basis_title}
        if self.iterations:
            state = "converged" if self.converged else "not converged"
            facts |= {"energy": f"{self.e_tot:.10f} hartree", "iterations": f"{len(self.iterations)}, {state}"}
        return facts | ({} if self._world is None else {"ranks": self._world.size})

    # ------------------------------------------------------------------------------------------------------------- pickling

    def __getstate__(self) -> dict[str, Any]:
        """Settings and results, to be pickled; the basis and the integrals are made anew. UserError with a world."""
        if self._world is not None:
            raise UserError(
                f"{type(self).__name__}: with a world it cannot be pickled, for its matrices are on {self._world.size} ranks; "
                "allowed: without a world, or a file (checkpoint)"
            )
        return vars(self) | {"basis": None, "_library": self._library.path, "_made": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.basis = basis_of_shells(self.molecule, self.shells)
        self._library = open_libcint(state["_library"])

    # -------------------------------------------------------------------------------------------- what the kinds differ in

    def _occupations(self) -> tuple[tuple[int, ...], float]:
        """Occupied orbitals of each density matrix, and the electrons in each of them.

        UserError where the molecule does not fit.
        """
        raise NotImplementedError

    def _shown(self, channels: Sequence[Any]) -> Any:
        """One array of what there is for each density matrix."""
        raise NotImplementedError

    def _split(self, shown: Any) -> list[Any]:
        """The inverse."""
        raise NotImplementedError

    def _channels(self, density: Any) -> list[Any]:
        """Density matrices as the engine has them, of what a user gives. UserError for another shape."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------------------ matrices

    @property
    def method(self) -> str:
        """RHF, UHF, ROHF, RKS or UKS."""
        return type(self).__name__

    @property
    def basis_title(self) -> str:
        """The basis set's name, and whether its functions are Cartesian."""
        return f"{self.basis_name} (Cartesian)" if self.cartesian else self.basis_name

    @property
    def occupied(self) -> tuple[int, int]:
        """Orbitals with electrons of spin up and down."""
        return self._occupied[0], self._occupied[-1]

    @property
    def engine(self) -> Engine:
        """Made anew when its settings have changed."""
        ranks = 1 if self._world is None else self._world.node_size
        settings = (self.direct_scf_tol, self.threads, integral_bytes(self.integral_memory_mb, ranks))
        fitting = (self.df, self.auxbasis)
        if self._made is None or self._made[0] != (settings, fitting):
            auxiliary = self.auxiliary()
            if self._world is None:
                made: Engine = LocalEngine(self._library, self.basis, *settings, auxiliary)
            elif auxiliary is None:
                made = DistributedEngine(self._world, self._library, self.basis, *settings)
            else:
                made = FittedEngine(self._world, self._library, self.basis, auxiliary, *settings[:2])
            if self.potentials:
                made.set_core_potentials(self.molecule, self.potentials)
            self._made = (settings, fitting), made
        return self._made[1]

    def auxiliary(self) -> GaussianBasis | None:
        """The functions that fit densities, None without df. UserError as make_basis, and for shells that cannot be fitted."""
        if not self.df:
            return None
        check_products(self.shells)
        return make_basis(self.molecule, self.auxbasis or self.auxbasis_name, self.cartesian)

    @property
    def auxbasis_name(self) -> str:
        """Of the auxiliary set that df takes."""
        if self.auxbasis is None:
            return fitting_name(self.basis_name, self.molecule.symbols)
        return self.auxbasis if isinstance(self.auxbasis, str) else "of its own"

    @property
    def function_order(self) -> NDArray[np.int64]:
        """The number in `basis` of each function of the matrices: 0, 1, 2 ... without a world."""
        return self.engine.order

    def get_ovlp(self) -> Matrix | DistArray:
        """Overlap."""
        return self.engine.overlap()

    def get_hcore(self) -> Matrix | DistArray:
        """Kinetic energy and attraction by the nuclei."""
        return self.engine.core()

    def get_jk(self, density: Any) -> tuple[Any, Any]:
        """Coulomb matrix of all electrons and exchange matrix of each density; shapes as make_rdm1.

        Integrals are screened with direct_scf_tol.
        """
        coulomb, exchange = self.engine.build(self._channels(density))
        return coulomb, self._shown(exchange)

    def get_veff(self, density: Any) -> Any:
        """The electrons' part of the Fock matrix: J - K / 2 of a closed shell's density, J - K of each spin's."""
        return self._shown(self._repulsion(self._channels(density)))

    def make_rdm1(self) -> Any:
        """Density matrix of the orbitals; its trace with the overlap is the number of electrons. UHF: of each spin, (2, n, n)."""
        return self._shown(self._orbital_densities())

    def whole_rdm1(self) -> NDArray[np.float64]:
        """make_rdm1() as a NumPy array of functions in the order of `basis`, on every rank. With a world collective."""
        return np.asarray(self._shown([self.engine.whole(each) for each in self._orbital_densities()]))

    def _orbital_densities(self) -> list[Any]:
        self._need_orbitals()
        algebra, found = self.engine.algebra, []
        for coefficients, occupations in self._filled_orbitals():
            half: Any = algebra.scaled_columns(coefficients, np.sqrt(occupations))
            [density] = self._matrices(1)
            algebra.product(half, half, density, transpose_b=True)
            make_symmetric(density, algebra)
            found.append(density)
        algebra.forget()
        return found

    def _filled_orbitals(self) -> Iterator[tuple[Any, NDArray[np.float64]]]:
        """Coefficients and occupations of each density matrix."""
        yield from zip(self._split(self.mo_coeff), self._split(self.mo_occ), strict=True)

    def _need_orbitals(self) -> None:
        if self.mo_coeff is None:
            raise UserError(f"{self.method}: there are no orbitals; allowed: after run() or kernel()")

    def _checked(self, density: Any) -> Any:
        """One density matrix, a NumPy array or one of the engine's own."""
        size = self.basis.size
        shape = np.shape(density) if isinstance(density, np.ndarray | list) else density.shape
        if tuple(shape) != (size, size):
            raise UserError(f"densities are {' x '.join(map(str, shape))}; allowed: {size} x {size}")
        if isinstance(density, np.ndarray | list):
            return self.engine.taken(np.asarray(density, dtype=np.float64))
        [found] = self._matrices(1)
        found.copy_from(density)
        return found

    def _matrices(self, count: int) -> list[Any]:
        """New ones of the engine's kind; zeros."""
        return [self.engine.matrix() for _ in range(count)]

    @property
    def _exchange_part(self) -> float:
        """Of K, in the Fock matrix of each density."""
        return 1 / self._weight

    def _potentials(self, densities: Sequence[Any], repulsion: Sequence[Any]) -> list[Any]:
        """What is added to the core for Fock matrices, of densities and their J and K; sets _beyond."""
        del densities
        return list(repulsion)

    def _repulsion(self, densities: Sequence[Any]) -> list[Any]:
        found = self._matrices(len(densities))
        self.engine.add_repulsion(densities, self._exchange_part, found)
        self.engine.algebra.forget()
        return self._potentials(densities, found)

    # ------------------------------------------------------------------------------------------------------------ settings

    def run(self, **settings: object) -> Self:
        """Sets the given settings, iterates, returns itself. Not converging is no error: `converged` says so."""
        for name, value in settings.items():
            if name not in self.SETTINGS:
                raise UserError(f"{self.method}: setting '{name}'; allowed: {', '.join(self.SETTINGS)}")
            setattr(self, name, value)
        self.kernel()
        return self

    def check_settings(self) -> None:
        """UserError for a setting out of its range; kernel() does so too."""
        for name, good, allowed in (
            ("conv_tol", self.conv_tol > 0, "a positive number of hartree"),
            ("conv_tol_grad", self.conv_tol_grad is None or self.conv_tol_grad > 0, "a positive number, or None"),
            ("max_cycle", self.max_cycle >= 1, "at least 1"),
            ("init_guess", self.init_guess in GUESSES, ", ".join(GUESSES)),
            ("diis_space", self.diis_space >= 0, "at least 0"),
            ("diis_start_cycle", self.diis_start_cycle >= 1, "at least 1"),
            ("level_shift", self.level_shift >= 0, "at least 0 hartree"),
            ("damp", 0 <= self.damp < 1, "at least 0 and less than 1"),
            ("density_by", self.density_by in DENSITY_BY, ", ".join(DENSITY_BY)),
            ("checkpoint_every_s", self.checkpoint_every_s >= 0, "at least 0 seconds"),
            ("linear_dependence", self.linear_dependence > 0, "a positive number"),
            (
                "integral_memory_mb",
                self.integral_memory_mb is None or 0 <= self.integral_memory_mb < math.inf,
                "at least 0 MB, or None",
            ),
        ):
            if not good:
                raise UserError(f"{self.method}: {name} = {getattr(self, name)}; allowed: {allowed}")

    # ---------------------------------------------------------------------------------------------------------- iterations

    def kernel(self, dm0: Matrix | Checkpoint | None = None, earlier: Sequence[Iteration] = ()) -> float:
        """Iterates, and returns the total energy in hartree. Collective over a world.

        dm0: a density (shape as make_rdm1; UHF also one for both spins), or a checkpoint. None: the initial guess. UserError as
        check_settings, and for a checkpoint of other atoms.

        earlier: iterations of a calculation that this one goes on with; they stay before its own, which are counted on.
        """
        self.check_settings()
        self.iterations, self.converged, self.seconds = list(earlier), False, {}
        self._saved_at, self.saved = time.monotonic(), len(earlier)
        self.mo_energy = self.mo_coeff = self.mo_occ = None
        algebra = self.engine.algebra
        try:
            self._iterate(dm0)
        finally:
            algebra.forget()
        return self.e_tot

    def _iterate(self, dm0: Any) -> None:
        """Fock matrices, errors and projectors are those among orthonormal functions."""
        algebra = self.engine.algebra
        with self._clock("integrals"):
            overlap, core = self.get_ovlp(), self.get_hcore()
            functions = self._orthonormal(overlap)
        with self._clock("guess"):
            densities = self._begin(dm0, overlap, core, functions)
            projectors = functions.projectors(densities, overlap)
        del overlap
        built_for, repulsion = (self._matrices(len(densities)) for _ in range(2))
        steering = self._steering()
        for cycle in range(1, self.max_cycle + 1):
            started = time.perf_counter()
            with self._clock("Fock"):
                self._add_change(densities, built_for, repulsion)
                potentials = self._potentials(densities, repulsion)
            fock_s = time.perf_counter() - started
            with self._clock("algebra"):
                focks = [self._fock(core, each, functions) for each in potentials]
                focks, errors = self._effective(focks, projectors, functions)
                last = self._note(cycle, *self._energy_and_gradient(densities, core, potentials, errors), fock_s)
            if last:
                break
            self._save_if_due(densities)
            with self._clock("algebra"):
                steered = self._steered(steering, cycle, focks, errors, projectors)
            with self._clock("density"):
                channels = steered * (len(densities) // len(steered))
                functions.fill(channels, self._occupied, self._weight, self.density_by, projectors, densities)
            algebra.give(*steered)
        with self._clock("orbitals"):
            self._set_orbitals(focks, functions.matrix)
        self._save(densities)

    def _orthonormal(self, overlap: Any) -> OrthonormalFunctions:
        found = OrthonormalFunctions(overlap, self.linear_dependence, self.engine.algebra)
        if found.count < max(self._occupied):
            raise UserError(
                f"{self.method}: {found.count} independent functions for {self.molecule.electrons} electrons; "
                f"allowed: at least {max(self._occupied)}"
            )
        self.left_out = self.basis.size - found.count
        return found

    def _begin(
        self, dm0: Matrix | Checkpoint | None, overlap: Any, core: Any, functions: OrthonormalFunctions
    ) -> list[Any]:
        beginning = Beginning(
            self.engine, self.molecule, self.shells, self._occupied, self._weight, functions, self.potentials
        )
        if isinstance(dm0, Checkpoint):
            return beginning.from_checkpoint(dm0)
        if dm0 is not None:
            return self._channels(dm0)
        if self.init_guess == "core":
            return beginning.from_core(core)
        return beginning.from_atoms(self._library, overlap)

    def _steering(self) -> Steering:
        return Steering(
            self.engine.algebra,
            self._weight,
            diis_space=self.diis_space,
            diis_start=self.diis_start_cycle,
            damp=self.damp,
            level_shift=self.level_shift,
        )

    # ------------------------------------------------------------------------------------------------------ steps of an iteration

    def _add_change(self, densities: Sequence[Any], built_for: Sequence[Any], repulsion: Sequence[Any]) -> None:
        """J and K are linear: the change of the density needs fewer integrals than the density. `built_for` becomes the density.

        Fitted ones are built anew: a density has fewer orbitals than a change.
        """
        algebra = self.engine.algebra
        if self.df:
            for each in repulsion:
                algebra.combine(each, [])
            self.engine.add_repulsion(densities, self._exchange_part, repulsion)
            return
        with algebra.work(densities[0], len(densities)) as changes:
            for change, density, before in zip(changes, densities, built_for, strict=True):
                algebra.combine(change, [(1.0, density), (-1.0, before)])
            self.engine.add_repulsion(changes, self._exchange_part, repulsion)
        for before, density in zip(built_for, densities, strict=True):
            algebra.combine(before, [(1.0, density)])

    def _fock(self, core: Any, repulsion: Any, functions: OrthonormalFunctions) -> Any:
        algebra = self.engine.algebra
        with algebra.work(core) as [fock]:
            algebra.combine(fock, [(1.0, core), (1.0, repulsion)])
            return functions.inside(fock)

    def _effective(
        self, focks: list[Any], projectors: Sequence[Any], functions: OrthonormalFunctions
    ) -> tuple[list[Any], list[Any]]:
        """Fock matrices whose orbitals are sought, and their errors, in work arrays; takes the given ones over."""
        return focks, [functions.error(fock, each) for fock, each in zip(focks, projectors, strict=True)]

    def _steered(
        self, steering: Steering, cycle: int, focks: list[Any], errors: list[Any], projectors: Sequence[Any]
    ) -> list[Any]:
        """As Steering.steered, of what _effective has made."""
        return steering.steered(cycle, focks, errors, projectors)

    def _energy_and_gradient(
        self, densities: Sequence[Any], core: Any, repulsion: Sequence[Any], errors: Sequence[Any]
    ) -> tuple[float, float]:
        spins = len(densities)
        pairs = [(d, core) for d in densities] + [(d, r) for d, r in zip(densities, repulsion, strict=True)]
        found = self.engine.algebra.inner(pairs + [(each, each) for each in errors])
        energy = sum(found[:spins]) + sum(found[spins : 2 * spins]) / 2 + self.basis.nuclear_repulsion + self._beyond
        return energy, sum(found[2 * spins :]) ** 0.5

    def _note(self, cycle: int, energy: float, gradient: float, fock_s: float) -> bool:
        """Records an iteration; whether it is the last."""
        change = energy - self.e_tot if cycle > 1 else np.inf
        number = self.iterations[-1].number + 1 if self.iterations else 1
        self.iterations.append(Iteration(number, energy, change, gradient, self.engine.quartets, fock_s))
        self.e_tot = energy
        allowed = self._gradient_part * self.conv_tol**0.5 if self.conv_tol_grad is None else self.conv_tol_grad
        self.converged = bool(abs(change) < self.conv_tol and gradient < allowed)
        if self.callback is not None:
            self.callback(self.iterations[-1])
        return self.converged

    def _save_if_due(self, densities: Sequence[Any]) -> None:
        if self.checkpoint is not None:
            waited_s = self.engine.agreed(time.monotonic() - self._saved_at)
            if waited_s >= self.checkpoint_every_s:
                self._save(densities)

    def _save(self, densities: Sequence[Any]) -> None:
        if self.checkpoint is not None:
            with self._clock("checkpoint"):
                self.engine.write(self._state(densities), Path(self.checkpoint))
            self._saved_at = time.monotonic()
            self.saved = len(self.iterations)

    def _state(self, densities: Sequence[Any]) -> Checkpoint:
        orbitals = {name: getattr(self, name) for name in ("mo_energy", "mo_coeff", "mo_occ")}
        return Checkpoint(
            self.molecule,
            self.method,
            self.basis_name,
            self.shells,
            list(densities),
            np.array([astuple(each) for each in self.iterations], dtype=np.float64).reshape(-1, 6),
            self.e_tot,
            self.converged,
            {name: value for name, value in orbitals.items() if value is not None},
        )

    @contextmanager
    def _clock(self, phase: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - started

    # ------------------------------------------------------------------------------------------------ orbitals and densities

    def _set_orbitals(self, focks: Sequence[Any], orthogonal: Any) -> None:
        algebra, energies, coefficients = self.engine.algebra, [], []
        for fock in focks:
            found: tuple[Matrix, Any] = algebra.eigh(fock)
            values, vectors = found
            energies.append(values)
            coefficients.append(algebra.take(orthogonal))  # and never given back
            algebra.product(orthogonal, vectors, coefficients[-1])
            algebra.give(vectors)
        self.mo_energy, self.mo_coeff = self._shown(energies), self._shown(coefficients)
        self.mo_occ = self._shown(
            [
                np.where(np.arange(len(values)) < occupied, self._weight, 0.0)
                for values, occupied in zip(energies, self._occupied, strict=True)
            ]
        )

    # ------------------------------------------------------------------------------------------------------------ geometry

    def gradient(self) -> NDArray[np.float64]:
        """Derivative of e_tot by the positions of the nuclei, (atoms, 3), in hartree per bohr. Collective over a world.

        It is off by about the orbital gradient: a tenth of conv_tol_grad gives a digit more. Every rank holds whole densities
        while it computes. UserError where the iterations have not converged, with df, and where libcint has no derivatives.
        """
        self._need_orbitals()
        if self.df:
            raise UserError(f"{self.method}: no gradient of fitted densities; allowed: df = False")
        if not self.converged:
            last = self.iterations[-1].gradient if self.iterations else math.inf
            raise UserError(
                f"{self.method}: no gradient, the iterations have not converged (orbital gradient {last:.2g}); "
                "allowed: after a run() that converges"
            )
        algebra, densities = self.engine.algebra, self._orbital_densities()
        core: Any = self.get_hcore()
        repulsion = self._repulsion(densities)
        [weighted] = self._matrices(1)
        with algebra.work(weighted, 2) as [fock, half]:
            for density, repelled in zip(densities, repulsion, strict=True):
                algebra.combine(fock, [(1.0, core), (1.0, repelled)])
                algebra.product(density, fock, half)
                # D F D: each orbital's part times its energy, and once more its electrons
                algebra.product(half, density, fock)
                algebra.combine(weighted, [(1 / self._weight, fock)], keep=1.0)
            make_symmetric(weighted, algebra)
        found = self.engine.gradient(densities, weighted, 1 / self._weight)
        if self.potentials:
            whole = np.sum([self.engine.whole(each) for each in densities], axis=0)
            given = CorePotentials(self.molecule, self.basis, self.potentials)
            found += given.gradient(whole, atoms_of_functions(self.shells), len(found))
        algebra.forget()
        return found

    def moved(self, positions_bohr: NDArray[np.float64]) -> Self:
        """A calculation of the same kind with the same settings, its nuclei elsewhere: (atoms, 3), in bohr. It has not run.

        With a world collective. UserError as Molecule.
        """
        if np.shape(positions_bohr) != (len(self.molecule.symbols), 3):
            shape = " x ".join(map(str, np.shape(positions_bohr)))
            raise UserError(f"{self.method}: positions are {shape}; allowed: {len(self.molecule.symbols)} x 3")
        molecule = replace(self.molecule, positions_bohr=np.array(positions_bohr, dtype=np.float64))
        made = type(self)(
            molecule, self._given_basis, cartesian=self.cartesian, library=self._library.path, world=self._world
        )
        made.basis_name = self.basis_name
        for name in self.SETTINGS:
            setattr(made, name, getattr(self, name))
        return made

    # ---------------------------------------------------------------------------------------------------------- properties

    def _total_density(self) -> Any:
        first, *others = self._orbital_densities()
        self.engine.algebra.combine(first, [(1.0, each) for each in others], keep=1.0)
        return first

    def dipole_debye(self) -> NDArray[np.float64]:
        """Dipole moment about the origin, x, y, z, in debye."""
        density = self._total_density()
        positions: Iterator[Any] = self.engine.positions()
        electrons = np.array([self.engine.algebra.inner([(each, density)])[0] for each in positions])
        nuclei = np.asarray(self.molecule.charges @ self.molecule.positions_bohr)
        return np.asarray(properties.DEBYE * (nuclei - electrons))

    def mulliken_charges(self) -> NDArray[np.float64]:
        """Mulliken's charge of each atom, in e. Source: R. S. Mulliken, J. Chem. Phys. 23, 1833 (1955)."""
        overlap: Any = self.get_ovlp()
        populations = self.engine.row_dots(self._total_density(), overlap)
        return properties.mulliken_charges(self.molecule, self.shells, populations)

    def frontier(self) -> tuple[float, float]:
        """Energies of the highest occupied and the lowest virtual orbital, of either spin; infinite where there is none."""
        self._need_orbitals()
        energies, full = np.ravel(self.mo_energy), np.ravel(self.mo_occ) > 0
        return float(energies[full].max(initial=-np.inf)), float(energies[~full].min(initial=np.inf))

    def orbital(self, which: str | int, spin: int = 0) -> tuple[NDArray[np.float64], int]:
        """Coefficients of an orbital, in the order of `basis`, and its number, from 1 on.

        `which`: "homo", "lumo", "homo-1", "lumo+2", or the number; spin: 0 (up) or 1, of UHF. Not collective. UserError for one
        that is not there.
        """
        self._need_orbitals()
        number = properties.orbital_number(which, self.occupied[spin], np.shape(self.mo_energy)[-1])
        return self.orbitals(number, number + 1, spin)[:, 0], number + 1

    def orbitals(self, first: int, last: int, spin: int = 0) -> NDArray[np.float64]:
        """Coefficients of orbitals first <= k < last, counted from 0, in the order of `basis`: (n, orbitals). Not collective."""
        self._need_orbitals()
        channels = self._split(self.mo_coeff)
        return self.engine.columns(channels[spin if len(channels) > 1 else 0], first, last)
