"""`craton bench` and `craton study`. The command `craton` finds them where this package is installed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from craton._launch import checked_ranks, launched_size
from craton.cli.group import group
from craton.cli.launching import communicator, console_of, launch, must_launch
from craton.cli.options import Json, Ranks, RanksPerNode, Threads, choice, count
from craton.cli.output import check_folders, print_json, save_json
from craton.errors import UserError

app = typer.Typer()
study = group(
    """Reproduce figures of papers on multigrid, on this machine or by a model.

    Start with:

        craton study hpgmg 5 4 --ranks 2
    """
)
app.add_typer(study, name="study")

JsonFile = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the result there too, as JSON.")
]
Operator = Annotated[
    str, choice("7pt", "fv2", "fv4", text="Discretisation and order: 7 points, or finite volumes of order 2 or 4.")
]
Smoother = Annotated[str, choice("gsrb", "chebyshev", "jacobi", text="Smoother.")]
Order = Annotated[str, choice("morton", "hilbert", "lexicographic", text="Order in which boxes are dealt to ranks.")]


@study.command()
def hpgmg(
    log2_box: Annotated[
        int, typer.Argument(metavar="LOG2_BOX", parser=count, help="Boxes have 2^LOG2_BOX cells per side; 2 to 9.")
    ],
    boxes_per_rank: Annotated[
        int,
        typer.Argument(
            metavar="BOXES_PER_RANK",
            parser=count,
            help="Boxes of each rank, at most. The grid is the largest cube of boxes that this allows.",
        ),
    ],
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = 1,
    operator: Operator = "fv4",
    smoother: Smoother = "gsrb",
    order: Order = "morton",
    helmholtz: Annotated[
        bool, typer.Option("--helmholtz", help="Solve u - div(beta grad u) = f instead of -div(beta grad u) = f.")
    ] = False,
    repeats: Annotated[int, typer.Option(metavar="R", parser=count, help="F-cycles to measure at each size.")] = 5,
    as_json: Json = False,
) -> None:
    """Run the test problem of HPGMG-FV. Print levels, residual, error, order and unknowns solved per second.

    64^3 cells on one rank:

        craton study hpgmg 5 8

    The same on two ranks:

        craton study hpgmg 5 4 --ranks 2

    128^3 cells, second order:

        craton study hpgmg 6 4 --ranks 2 --operator 7pt --smoother chebyshev

    The relative residual and the error estimate equal those of HPGMG-FV digit by digit. Rates are unknowns of the grid over the
    time of an F-cycle: on the finest grid (h), and with half (2h) and a quarter (4h) of its cells per side.
    """
    from craton_studies.multigrid import hpgmg as benchmark

    checked_ranks(ranks)
    if launched_size() is None:
        benchmark.check(log2_box, boxes_per_rank, ranks or 1)
    if must_launch(ranks):
        launch(ranks, ranks_per_node, None, threads or 1)
    comm = communicator()
    figures = benchmark.run(
        comm,
        log2_box,
        boxes_per_rank,
        operator=operator,
        smoother=smoother,
        a=1.0 if helmholtz else 0.0,
        order=order,
        repeats=repeats,
        ranks_per_node=ranks_per_node or 0,
        threads=threads or 1,
    )
    if comm.rank == 0 and as_json:
        print_json(asdict(figures))
    elif comm.rank == 0:
        typer.echo(benchmark.report(figures, operator, smoother, comm.size))


@study.command()
def ladder(
    log2_box: Annotated[
        int, typer.Argument(metavar="LOG2_BOX", parser=count, help="Boxes have 2^LOG2_BOX cells per side; 2 to 9.")
    ] = 6,
    log2_cells: Annotated[
        int,
        typer.Argument(
            metavar="LOG2_CELLS", parser=count, help="The grid has 2^LOG2_CELLS cells per side; LOG2_BOX to 11."
        ),
    ] = 7,
    ranks: Ranks = 4,
    ranks_per_node: RanksPerNode = None,
    operator: Operator = "7pt",
    smoother: Smoother = "chebyshev",
    repeats: Annotated[
        int, typer.Option(metavar="R", parser=count, help="Rounds. In each, every rung runs 4 F-cycles.")
    ] = 8,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw rates against ranks (.png).")] = None,
    output: JsonFile = None,
    as_json: Json = False,
) -> None:
    """Measure the steps of halo exchange beside buffers packed by hand: figure 6 of Shan et al. (2015).

    On 2 and 4 ranks, and on 2 and 4 virtual nodes:

        craton study ladder --picture ladder.png

    Small boxes, where exchange takes a larger part of the time:

        craton study ladder 5 7 --ranks 2

    The baseline copies each contiguous piece by messages, even within a node, between barriers. The rungs add shared memory, local
    loops, strided copies, waiting for neighbours only, and one wait per exchange. Bulk is packed by hand. Every rung must reach the
    same relative residual bit for bit. Rungs take turns, so that other load on the machine affects all of them.
    """
    from craton_studies.multigrid import ladder as rungs

    checked_ranks(ranks)
    rungs.check(log2_box, log2_cells)
    check_folders(picture=picture, output=output)
    if must_launch(ranks):
        launch(ranks, ranks_per_node, None)
    comm = communicator()
    cells, box = 2**log2_cells, 2**log2_box
    console = console_of(comm)
    columns = rungs.climb(
        comm,
        cells,
        box,
        operator=operator,
        smoother=smoother,
        repeats=repeats,
        ranks_per_node=ranks_per_node or 0,
        say=lambda text: console.print(text, style="dim") if console and not as_json else None,
    )
    if console:
        title = f"{operator} {smoother}, {cells}^3 cells in boxes of {box}^3"
        figures = rungs.to_dict(columns, {"operator": operator, "smoother": smoother, "cells": cells, "box": box})
        if as_json:
            print_json(figures)
        else:
            console.print(rungs.table(columns, title))
        if output is not None:
            save_json(output, figures)
        if picture is not None:
            rungs.draw(picture, columns, title)


@study.command()
def scale(
    ranks_up_to: Annotated[
        int,
        typer.Option(
            metavar="P", parser=count, help="Largest number of ranks, up to 262144. The model has 1, 8, 64 and so on."
        ),
    ] = 32768,
    machine: Annotated[
        str,
        typer.Option(
            metavar="edison|this|FILE.json",
            help="Machine of the model: edison is the paper's Cray XC30, `this` uses rates measured here. A file has figures of "
            "your own, as --output writes them.",
        ),
    ] = "edison",
    operator: Operator = "7pt",
    smoother: Smoother = "chebyshev",
    order: Annotated[
        str, choice("lexicographic", "morton", text="Order in which boxes are dealt to ranks.")
    ] = "lexicographic",
    log2_box: Annotated[
        int, typer.Option(metavar="B", parser=count, help="Each rank has one box of 2^B cells per side; 3 to 9.")
    ] = 7,
    network: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Network figures of this machine, {between_nodes: ..., on_node: ...}, as runtime_benchmark measures them. "
            "Default: those of two virtual cores of a Xeon.",
        ),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw seconds over ranks, like the paper's figure 6.")
    ] = None,
    output: JsonFile = None,
    as_json: Json = False,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Also print how the time changes when a figure doubles.")
    ] = False,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
) -> None:
    """Model the weak scaling of an F-cycle to thousands of ranks of a dragonfly network, beside Shan et al. (2015).

    Up to 32,768 ranks, like the paper:

        craton study scale --picture scale.png

    The model beside a real run, on two ranks as on two nodes:

        craton study scale --ranks 2 --ranks-per-node 1

    Each rank has one box. The model counts the messages of every rank at each step of the paper's ladder. Latencies, overheads and
    bandwidths of the machine turn them into seconds; they are printed with their sources.
    """
    from craton_studies.multigrid import scaling, scaling_report

    scaling.check_arguments(ranks_up_to, machine, log2_box, network)
    checked_ranks(ranks)
    check_folders(picture=picture, output=output)
    beside_a_run = ranks is not None or launched_size() is not None
    if beside_a_run:
        for name, given in {"picture": picture, "output": output, "json": as_json, "sensitivity": sensitivity}.items():
            if given:
                raise UserError(
                    f"study scale: --{name} beside a real run; allowed: of the model alone, without --ranks"
                )
    if must_launch(ranks):
        launch(ranks, ranks_per_node, None)
    if beside_a_run:
        comm = communicator()
        said = scaling.beside_a_run(comm, operator, smoother, order, log2_box, ranks_per_node or 0, network)
        if comm.rank == 0:
            typer.echo(said)
        return
    found = scaling.by_model(machine, operator, smoother, order, log2_box, ranks_up_to, network)
    if output is not None:
        save_json(output, found.to_dict())
    if picture is not None:
        scaling_report.draw(picture, found)
    if as_json:
        print_json(found.to_dict())
        return
    typer.echo(scaling_report.report(found, picture, doubled=sensitivity))


def _names() -> list[str]:
    from craton_studies.bench import registry

    return list(registry.known())


@app.command()
def bench(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name of a benchmark. Without it all are listed.", autocompletion=_names),
    ] = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = 1,
    repeats: Annotated[
        int, typer.Option(metavar="R", parser=count, help="Number of measurements, of which the median counts.")
    ] = 5,
    output: JsonFile = None,
    as_json: Json = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Change a setting of the benchmark. May be given several times."
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain the benchmark and what --set changes; run nothing.")
    ] = False,
) -> None:
    """Measure Craton beside limits of the machine, in the same run.

    List the benchmarks:

        craton bench

    Explain one and its settings:

        craton bench assembly --explain

    Run one on its own number of ranks:

        craton bench assembly

    Run a smaller case and keep its figures:

        craton bench assembly --ranks 2 --set cases=8192:256 -o assembly.json

    Each line of the table is a figure: its median and best, the limit, the ratios of medians and of bests, and the target of the
    ratio of bests where the project has one. With --output, pictures are written beside the file.
    """
    from craton_studies.bench import registry

    if name is None:
        if as_json:
            print_json(registry.list_of_dicts())
        else:
            registry.show_list()
        return
    benchmark = registry.find(name)
    if explain:
        registry.show_help(benchmark)
        return
    benchmark.chosen(settings or [])
    check_folders(output=output)
    checked_ranks(ranks)
    if launched_size() is None:
        # one rank too: the launcher gives it one BLAS thread, of NumPy too, which must be known before they are loaded
        launch(ranks or benchmark.ranks, ranks_per_node, None, threads or 1)
    comm = communicator()
    records = registry.measure(
        benchmark, comm, threads or 1, repeats, ranks_per_node or 0, settings=settings or [], output=output
    )
    if comm.rank == 0:
        if as_json:
            print_json(registry.to_dicts(records))
        else:
            registry.show_records(records)
        if output is not None:
            save_json(output, registry.to_dicts(records))
