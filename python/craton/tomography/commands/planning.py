"""What a run will take, before it is started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from craton.cli.launching import check_alone
from craton.cli.options import ConfigFile, Json, PlannedRanks, count
from craton.cli.output import check_folders, print_json
from craton.errors import UserError

if TYPE_CHECKING:
    from craton.tomography.plan.forecast import Plan

app = typer.Typer()

RanksOfNode = Annotated[
    int | None,
    typer.Option(
        "--ranks-per-node", metavar="K", parser=count, help="Ranks on each node. Default: as many as it has cores for."
    ),
]
RatesFile = Annotated[
    Path | None,
    typer.Option(
        "--machine",
        metavar="FILE|NAME",
        help="Rates of the machine: a file of `plan --calibrate`; or stated ones, of a `workstation` (default) or a `cluster`.",
    ),
]


@app.command()
def check(
    config: ConfigFile,
    ranks: PlannedRanks = None,
    ranks_per_node: RanksOfNode = None,
    machine: RatesFile = None,
    as_json: Json = False,
) -> None:
    """Check a configuration: its settings and files, how much there is to compute, memory and time. Nothing is computed.

    Example:
        craton tomography check demo.toml --ranks 4

    `craton tomography plan` predicts each phase.
    """
    from craton.tomography.config.load import load_config
    from craton.tomography.outside.commands import check_engine
    from craton.tomography.plan.forecast import make_plan

    check_alone("craton tomography check", "alone; --ranks says what is planned")
    settings = load_config(config)
    if settings.synthetics.kind == "command":
        check_engine(settings.synthetics.runs_on, settings.synthetics.cores)
    tell = (lambda _: None) if as_json else typer.echo
    planned = make_plan(settings, ranks or 1, ranks_per_node or 0, machine, None, tell)
    facts = _facts(planned)
    if as_json:
        print_json({"config": settings.to_dict(), **facts})
        return
    for name, value in facts.items():
        if name != "warnings":
            typer.echo(f"{name.replace('_', ' '):<22} {value}")
    for warning in planned.warnings:
        typer.echo(f"note: {warning}")


def _facts(planned: Plan) -> dict[str, Any]:
    """The forecast in short."""
    from craton.tomography.plan.forecast import duration, size

    work = planned.work
    return {
        "paths": work.paths,
        "events": work.events,
        "stations": work.stations,
        "samples": work.samples,
        "modes": work.modes,
        "parameters": work.unknowns,
        "iterations_at_most": work.iterations,
        "ranks": planned.ranks,
        "nodes": planned.nodes,
        "memory_of_a_node": size(planned.node_bytes),
        "time": duration(planned.seconds),
        "what_takes_longest": planned.limit,
        "warnings": list(planned.warnings),
    }


@app.command("plan")
def plan(
    config: Annotated[Path, typer.Argument(metavar="CONFIG|RUN", help="A configuration; or the folder of a run.")],
    ranks: PlannedRanks = None,
    ranks_per_node: RanksOfNode = None,
    machine: RatesFile = None,
    calibrate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the rates measured on this machine in a TOML file.")
    ] = None,
    measure: Annotated[bool, typer.Option("--measure", help="By rates that are measured on this machine now.")] = False,
    as_json: Json = False,
) -> None:
    """Predict time, memory, messages and files of a run, phase by phase, before it is started; compute no inversion.

    Example:
        craton tomography plan demo.toml --ranks 2 --measure

    Without --measure it answers at once, by stated rates. For another machine, measure one of its nodes with as many ranks as a run
    will have there, and keep its rates:

        craton tomography plan demo.toml --ranks 64 --calibrate machine.toml

    Then plan anywhere:

        craton tomography plan demo.toml --ranks 1024 --machine machine.toml

    Of the folder of a run, what was predicted stands beside what it took. Without --machine this machine is measured for that.
    """
    from craton.runs.progress import make_console
    from craton.tomography.config.load import load_config
    from craton.tomography.plan.forecast import make_plan, plan_of_run
    from craton.tomography.plan.tables import compared_table, plan_table

    check_alone("craton tomography plan", "alone; --ranks says what is planned")
    for option, given in (("--calibrate", calibrate is not None), ("--measure", measure)):
        if machine is not None and given:
            raise UserError(f"--machine with {option}; allowed: one of them")
    check_folders(calibrate=calibrate)
    console = make_console()
    if config.is_dir():
        refused = {"--ranks": ranks, "--ranks-per-node": ranks_per_node, "--calibrate": calibrate, "--measure": measure}
        for option, value in refused.items():
            if value:
                raise UserError(
                    f"{option} with {config}, the folder of a run: its record says; allowed: with a configuration"
                )
        planned, compared = plan_of_run(config, machine)
        table, content = compared_table(planned, compared), [vars(row) for row in compared]
        shown = {**planned.to_dict(), "compared": content}
    else:
        tell = (lambda _: None) if as_json else typer.echo
        planned = make_plan(load_config(config), ranks or 1, ranks_per_node or 0, machine, calibrate, tell, measure)
        table, shown = plan_table(planned), planned.to_dict()
    if as_json:
        print_json(shown)
        return
    console.print(table)
    console.print(f"what takes longest: {planned.limit}", highlight=False, soft_wrap=True)
    for warning in planned.warnings:
        console.print(f"note: {warning}", style="yellow", highlight=False, markup=False, soft_wrap=True)
