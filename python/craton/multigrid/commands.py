"""The commands of `craton multigrid`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from craton.cli.group import group
from craton.cli.launching import RunReport, end_run, finished_already, start_ranks
from craton.cli.options import (
    Directory,
    Json,
    Overwrite,
    PlannedRanks,
    Ranks,
    RanksPerNode,
    Report,
    RunDirectory,
    Threads,
    choice,
    count,
)
from craton.cli.output import print_found
from craton.cli.verbs import add_verbs

if TYPE_CHECKING:
    from craton.multigrid.config import Config

REPORT = "craton.multigrid.report"
app = group(
    """Solve elliptic equations on structured grids of boxes by full multigrid.

    Start with:

        craton example multigrid
        cd multigrid
        craton multigrid run charges.toml --ranks 2
    """,
)

Solve = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG",
        help="TOML file; the command `template` prints one with every key explained. Or an HDF5 file of a problem, PROBLEM.h5.",
    ),
]
Box = Annotated[
    int | None,
    typer.Option(
        metavar="B",
        parser=count,
        help="Cells of a box along each dimension; the last box has the rest. Default: 16.",
    ),
]
Operator = Annotated[
    str | None,
    choice("7pt", "fv2", "fv4", text="Discretisation and order: 7 points, or finite volumes of order 2 or 4."),
]
Method = Annotated[
    str | None,
    choice("cycles", "cg", text="V-cycles, or conjugate gradients, for beta with jumps of orders of magnitude."),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        metavar="T", help="Largest residual at convergence, over the largest right-hand side as given. Default: 1e-8."
    ),
]


def _load(config: Path, **options: Any) -> Config:
    """The configuration, with what the command line says instead."""
    from craton.multigrid.config import load_config

    table_of = {"box": "grid", "operator": "solver", "method": "solver", "tolerance": "solver"}
    return load_config(config, {(table_of.get(name, "run"), name): value for name, value in options.items()})


@app.command("run")
def run(
    config: Solve,
    box: Box = None,
    operator: Operator = None,
    method: Method = None,
    tolerance: Tolerance = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    directory: Directory = None,
    overwrite: Overwrite = False,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Solve a alpha u - b div(beta grad u) = f. Options override the configuration.

    Two charges in a box:

        craton multigrid run charges.toml --ranks 2

    Fields from a file, in boxes of 32^3 cells:

        craton multigrid run my-problem.h5 --box 32 --ranks 2

    A problem file has the dataset f (nx, ny, nz). It may have alpha and beta of that shape, or beta_x, beta_y and beta_z of faces.
    It may have a group boundary_values, and attributes a, b, beta, boundary, operator and spacing. Each rank reads its own boxes.

    The folder of results has solution.h5 with the dataset u, record.json and report.html. The exit code is 3 if the tolerance is
    not reached. `craton multigrid resume` then solves with more cycles.
    """

    def load() -> Config:
        return _load(
            config,
            box=box,
            operator=operator,
            method=method,
            tolerance=tolerance,
            ranks=ranks,
            threads=threads,
            directory=directory,
        )

    from craton.multigrid.check import examine

    job = start_ranks(
        load, ranks, ranks_per_node, as_json, examine, report=RunReport("multigrid", REPORT, report, as_json)
    )
    from craton.multigrid import start as command

    found = command.run(job.settings, job.comm, **job.means, overwrite=overwrite, report=job.report)
    end_run(found, job.comm, as_json, command.not_converged(found, Path(job.settings.run.directory)))


@app.command("resume")
def resume(
    directory: RunDirectory,
    cycles: Annotated[
        int | None, typer.Option(metavar="M", parser=count, help="Cycles, at most. Default: as in the configuration.")
    ] = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Repeat a solve that was interrupted or has not converged, on any number of ranks.

    Example:
        craton multigrid resume charges-run --cycles 100

    The solve starts anew: it takes minutes at most and has no checkpoints. A run that has converged stays as it is.
    """
    from craton.multigrid import start as command
    from craton.multigrid.folder import MultigridFolder

    if finished_already(MultigridFolder(directory), as_json):
        return

    def load() -> Config:
        return command.config_to_resume(directory, cycles=cycles, ranks=ranks, threads=threads)

    job = start_ranks(load, ranks, ranks_per_node, as_json, report=RunReport("multigrid", REPORT, report, as_json))
    found = command.resume(directory, job.settings, job.comm, **job.means, report=job.report)
    end_run(found, job.comm, as_json, command.not_converged(found, directory))


@app.command("check")
def check(
    config: Solve,
    box: Box = None,
    operator: Operator = None,
    ranks: PlannedRanks = None,
    threads: Threads = None,
    unknowns_per_s: Annotated[
        float | None,
        typer.Option(
            metavar="R", help="Unknowns per second of all ranks together, from an earlier run, to predict the time."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a configuration. Show levels, boxes per rank, memory and time of the solve; compute nothing.

    Example:
        craton multigrid check charges.toml --ranks 2
    """
    from craton.multigrid.check import examine

    settings = _load(config, box=box, operator=operator, ranks=ranks, threads=threads)
    found = examine(settings, unknowns_per_s=unknowns_per_s)
    print_found(found, as_json)


add_verbs(
    app,
    "multigrid",
    config="craton.multigrid.config",
    status="craton.multigrid.start",
    report=REPORT,
    shows="cycle, residual, time spent, files on disk",
    example="charges-run",
)
