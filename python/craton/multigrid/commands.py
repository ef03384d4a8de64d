"""The commands of `craton multigrid`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from craton._launch import checked_ranks
from craton.cli.group import group
from craton.cli.launching import communicator, launch, must_launch
from craton.cli.options import Overwrite, Ranks, RanksPerNode, choice, count

app = group(
    "Solve elliptic equations on structured grids of boxes by full multigrid.\n\n"
    "Start with: [bold]craton multigrid solve problem.h5 --ranks 2[/bold]",
)


BoxThreads = Annotated[
    int, typer.Option(metavar="T", parser=count, help="Threads of each rank, which share its boxes.")
]
Operator = Annotated[
    str,
    choice(
        "7pt",
        "fv2",
        "fv4",
        text="How the equation is made discrete: second order in points, second or fourth in averages.",
    ),
]
Smoother = Annotated[
    str,
    choice("gsrb", "chebyshev", "jacobi", text="What relaxes each level."),
]
Order = Annotated[
    str,
    choice("morton", "hilbert", "lexicographic", text="The curve along which boxes are dealt to ranks."),
]


@app.command("solve")
def solve(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM", help="An HDF5 file with f, coefficients and boundary.")],
    box: Annotated[
        int,
        typer.Option(
            metavar="B", parser=count, help="Cells of a box along each dimension, which the grid's are multiples of."
        ),
    ] = 16,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: BoxThreads = 1,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where u goes; else PROBLEM with the ending .solution.h5.")
    ] = None,
    overwrite: Overwrite = False,
    operator: Annotated[
        str | None,
        choice("7pt", "fv2", "fv4", text="Instead of the file's; 7pt if it names none."),
    ] = None,
    smoother: Smoother = "gsrb",
    order: Order = "morton",
    method: Annotated[
        str,
        choice(
            "cycles",
            "cg",
            text="V-cycles, or conjugate gradients preconditioned by a V-cycle, for beta with large jumps.",
        ),
    ] = "cycles",
    tolerance: Annotated[
        float,
        typer.Option(metavar="T", help="Solve until the largest residual is T times the largest right-hand side."),
    ] = 1e-8,
    most: Annotated[int, typer.Option(metavar="M", parser=count, help="At most so many V-cycles or steps.")] = 50,
) -> None:
    """Solve a alpha u - b div(beta grad u) = f for fields in an HDF5 file.

    On two ranks, in boxes of 32^3 cells:    [bold]craton multigrid solve problem.h5 --box 32 --ranks 2[/bold]

    The file has a dataset f (nx, ny, nz) and, if wanted, alpha and beta of that shape or beta_x, beta_y, beta_z of faces, a
    group boundary_values, and attributes a, b, beta, boundary, operator (docs/multigrid.md). Each rank reads its own boxes. The
    solution has the dataset u and the attribute residuals, one after the F-cycle and each cycle. Where the tolerance is not
    reached it is written too, and the exit code is 2.
    """
    checked_ranks(ranks)
    if must_launch(ranks):
        launch(ranks, ranks_per_node, None, threads)
    from craton.runs.agreement import on_root

    comm = communicator()
    from craton.multigrid import run as command

    planned, target = on_root(comm, lambda: command.planned(problem, output, overwrite))
    command.solve(
        comm,
        planned,
        target,
        box,
        operator=operator,
        tolerance=tolerance,
        most=most,
        method=method,
        ranks_per_node=ranks_per_node or 0,
        smoother=smoother,
        order=order,
        threads=threads,
    )
