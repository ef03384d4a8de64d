"""`craton study scale`: weak scaling by model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from craton.errors import UserError

from craton_studies.multigrid import scaling_machine as machines
from craton_studies.multigrid import scaling_model as model
from craton_studies.multigrid.scaling_layout import Method

if TYPE_CHECKING:
    from mpi4py import MPI

SMALLEST_LOG2_BOX, LARGEST_LOG2_BOX = 3, 9


def check_arguments(ranks_up_to: int, machine: str, log2_box: int, network: Path | None) -> None:
    """UserError for what cannot be modelled, before anything is measured."""
    model.ranks_up_to(ranks_up_to)
    if not SMALLEST_LOG2_BOX <= log2_box <= LARGEST_LOG2_BOX:
        raise UserError(
            f"study scale: --log2-box {log2_box}; allowed: {SMALLEST_LOG2_BOX} to {LARGEST_LOG2_BOX} (boxes of 8 to 512 "
            "cells a side)"
        )
    if machine not in ("edison", "this"):
        if Path(machine).suffix != ".json":
            raise UserError(f"study scale: --machine {machine}; allowed: edison, this, or a .json file")
        machines.from_file(Path(machine))
    if network is not None:
        machines.network_figures(network)


def by_model(
    machine: str, operator: str, smoother: str, order: str, log2_box: int, ranks_up_to: int, network: Path | None = None
) -> model.Scaling:
    """An F-cycle on 1, 8, 64 ... ranks of a machine: edison, this, or a file of figures."""
    if machine == "edison":
        found = model.fitted(machines.edison())
    elif machine == "this":
        method = Method(operator, smoother, pairs=True)
        found = machines.this_machine(method, *machines.measured_seconds_per_cell(method, 1 << log2_box), network)
    else:
        found = machines.from_file(Path(machine))
    method = Method(operator, smoother, found.method.pairs)
    return model.scale(found, method, ranks_up_to, 1 << log2_box, order)


def beside_a_run(
    comm: MPI.Comm, operator: str, smoother: str, order: str, log2_box: int, ranks_per_node: int, network: Path | None
) -> str:
    """Collective: the model and a measurement of the same."""
    from craton_studies.multigrid import scaling_check

    method = Method(operator, smoother, pairs=True)
    check = scaling_check.run(comm, method, 1 << log2_box, order, ranks_per_node, network=network)
    return scaling_check.report(check, method)
