"""What equation 2 gives at a model whose wave runs are there: the job of some ranks between wave runs.

    (H + C_m^-1) dm = G^T C_d^-1 (d - g(m)) - C_m^-1 (m - m^p)

Its file has dm, C_m^-1 (m + dm - m^p), the gradient, the Hessian's diagonal, and what data and prior together know of the model:
the standard deviations of its changes and the diagonal of the resolution.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import craton
from craton import ConvergentMatrix, SymmetricMatrix
from craton.errors import UserError
from craton.inverse.normal_equations import NormalEquations
from craton.inverse.parts import summed
from craton.inverse.posterior import Posterior
from craton.inverse.prior import misfit
from craton.regional.assembly import Kernels, add_panels
from craton.regional.config import load_config
from craton.regional.folder import RegionalFolder, StateFolder
from craton.regional.measurements import Misfit
from craton.regional.observations import Observations, Predicted, read_data
from craton.regional.predictions import predicted_of_state, reciprocity_error
from craton.regional.prior import prior_of
from craton.regional.study import Study
from craton.runs.agreement import on_root
from craton.runs.files import replaced, write_hdf5
from craton.runs.process_memory import peak_bytes
from craton.runs.progress import ProgressBar

if TYPE_CHECKING:
    from mpi4py import MPI
    from rich.console import Console

__all__ = ["solve_state"]

f64 = NDArray[np.float64]


def solve_state(
    folder: RegionalFolder, number: int, comm: MPI.Comm, ranks_per_node: int = 0, console: Console | None = None
) -> None:
    """Collective: writes step.h5 of a model. UserError, on every rank, for wave runs or data that are missing or damaged."""
    config = on_root(comm, lambda: load_config(folder.config).replaced("run", **folder.read_run()))
    study, state = Study(config), folder.state(number)
    data, at = on_root(comm, lambda: _what_is_known(folder, study, state))
    compared = Misfit(study, data)
    apart = on_root(comm, lambda: reciprocity_error(study, state, at["model"]))
    world = craton.World(comm, ranks_per_node)
    hessian = SymmetricMatrix(world, study.unknowns, dtype="float64")
    begun = time.monotonic()
    gradient, coverage = _assembled(study, state, at["model"], compared, at["predicted"], hessian, comm, console)
    assemble_s = time.monotonic() - begun
    if config.inversion.keep_hessian:
        full = ConvergentMatrix(world, study.unknowns, study.unknowns)
        hessian.expand(full, fill_lower=True)
        aside = state.hessian.with_name(f"{state.hessian.name}.new")
        full.save(str(aside), "hessian")
        on_root(comm, lambda: aside.replace(state.hessian))
        del full
    prior = prior_of(study)

    def say(line: str) -> None:
        if console is not None:
            console.print(line, highlight=False, markup=False)

    begun = time.monotonic()
    equations = NormalEquations(hessian, comm, config.inversion.solve_precision, say=say)
    step = prior.step(equations, gradient, at["model"])
    solve_s = time.monotonic() - begun
    diagonal = np.asarray(hessian.diagonal())
    posterior = Posterior(hessian, prior, gradient, at["model"], comm)
    deviation, resolution = np.sqrt(posterior.variance()), posterior.resolution_diagonal()
    content = {
        "step": step.model,
        "weights": step.weights,
        "gradient": gradient,
        "hessian_diagonal": diagonal,
        "coverage": coverage,
        "deviation": deviation,
        "resolution": resolution,
        "chi_data": compared.chi(at["predicted"].samples),
        "chi_prior": misfit(at["model"] - prior.mean, at["weights"]),
        "reciprocity": apart,
        "solved_in": equations.told,
        "assemble_s": assemble_s,
        "solve_s": solve_s,
        "ranks": comm.size,
        "peak_bytes": max(comm.allgather(peak_bytes())),
    }

    def write() -> None:
        with replaced(state.step) as aside:
            write_hdf5(aside, content)

    on_root(comm, write)
    say(f"seismograms by reciprocity and by the earthquakes' own runs differ by {100 * apart:.2g} %")
    say(
        f"{len(study.pairings)} windows assembled in {assemble_s:.1f} s, {study.unknowns} unknowns solved in {solve_s:.1f} s"
    )


def _what_is_known(folder: RegionalFolder, study: Study, state: StateFolder) -> tuple[Observations, dict[str, Any]]:
    """Data, and a model with what its wave runs predict."""
    known = state.read_model(study.unknowns)
    known["predicted"] = predicted_of_state(study, state, known["model"])
    return read_data(folder.data, study), known


def _assembled(
    study: Study,
    state: StateFolder,
    model: f64,
    compared: Misfit,
    predicted: Predicted,
    hessian: SymmetricMatrix,
    comm: MPI.Comm,
    console: Console | None,
) -> tuple[f64, f64]:
    """Collective: fills the Hessian; gives gradient and coverage. UserError on every rank for what one of them cannot read."""
    problem: UserError | None = None
    parts = np.zeros((2, study.unknowns))
    with ProgressBar("Assembling", 1, "windows", console) as bar:
        try:
            kernels = Kernels(study, state, model[study.unknowns_of_ground :])
            parts[:] = add_panels(kernels, compared, predicted, hessian, comm.rank, comm.size, bar.update)
        except UserError as found:
            problem = found
    problems = [one for one in comm.allgather(None if problem is None else str(problem)) if one]
    if problems:
        raise UserError(problems[0])
    hessian.commit()
    gradient, coverage = summed(parts, comm)
    return gradient, coverage
