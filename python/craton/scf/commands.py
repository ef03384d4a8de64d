"""The commands of `craton scf`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from craton._launch import launched_size
from craton.cli.group import group
from craton.cli.launching import communicator, launch
from craton.cli.options import (
    Directory,
    Json,
    Overwrite,
    Ranks,
    RanksPerNode,
    Report,
    RunDirectory,
    Threads,
    choice,
    count,
    integer,
)
from craton.cli.output import print_json, print_table

if TYPE_CHECKING:
    from craton.scf.config import Config
    from craton.scf.folder import ScfRecord

NOT_CONVERGED = 3
"""The exit code where iterations end before they converge."""

app = group(
    "Compute energies and orbitals of molecules by Hartree-Fock, in Gaussian basis sets.\n\n"
    "Start with: [bold]craton scf run examples/scf/water.xyz --basis cc-pvdz[/bold]    or without the word run.",
    short_form="run",
)

Calculation = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG|FILE.xyz",
        help="TOML file, as `craton scf template` prints one; or an XYZ file: number of atoms, a line of your own, then symbol "
        "and x y z in Angstrom per atom.",
    ),
]
Basis = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Basis set by its name at basissetexchange.org: sto-3g, 6-31g*, cc-pvtz."),
]
Charge = Annotated[int | None, typer.Option(metavar="Q", parser=integer, help="Total charge, in e.")]
Multiplicity = Annotated[
    int | None, typer.Option(metavar="M", parser=count, help="2 S + 1; else the lowest that the electrons allow.")
]
Method = Annotated[
    str | None, choice("rhf", "uhf", text="Restricted or unrestricted; restricted where the multiplicity is 1.")
]
Tolerance = Annotated[
    float | None, typer.Option(metavar="E", help="Converged where the energy changes by less, hartree; 1e-9.")
]
StartFrom = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.h5", help="Begin with orbitals.h5 of another run, also of another basis set or geometry."
    ),
]


def _load(config: Path, **options: Any) -> Config:
    """The configuration, with what the command line says instead."""
    from craton.scf.config import load_config

    table_of = {
        "basis": ("method", "basis"),
        "method": ("method", "kind"),
        "start": ("method", "start"),
        "charge": ("molecule", "charge"),
        "multiplicity": ("molecule", "multiplicity"),
        "tolerance": ("convergence", "energy"),
    }
    return load_config(config, {table_of.get(name, ("run", name)): value for name, value in options.items()})


@app.command("run")
def run(
    config: Calculation,
    basis: Basis = None,
    charge: Charge = None,
    multiplicity: Multiplicity = None,
    method: Method = None,
    tolerance: Tolerance = None,
    start: StartFrom = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    directory: Directory = None,
    overwrite: Overwrite = False,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Compute a molecule, as a TOML file or an XYZ file with options says; options go before the file.

    Water, in a second:    [bold]craton scf run examples/scf/water.xyz --basis cc-pvdz[/bold]

    With orbitals as cube files:    [bold]craton scf run examples/scf/benzene.toml --threads 2[/bold]

    A triplet, to all digits:    [bold]craton scf run examples/scf/oxygen.xyz --basis cc-pvtz --multiplicity 3 --tolerance
    1e-10[/bold]

    On two ranks, whose matrices are spread over them:    [bold]craton scf run my.toml --ranks 2[/bold]

    In a larger basis, from the orbitals of a smaller:    [bold]craton scf run m.xyz --basis cc-pvtz --start m-run/orbitals.h5
    --directory m-large[/bold]

    The results are in a folder: record.json, orbitals.h5, report.html, and the files that \\[output] names. The exit code is 3
    where it has not converged: the folder has what was found, and [bold]craton scf resume DIR[/bold] goes on.
    """

    def load() -> Config:
        options = {"basis": basis, "charge": charge, "multiplicity": multiplicity, "method": method}
        return _load(
            config, **options, tolerance=tolerance, start=start, ranks=ranks, threads=threads, directory=directory
        )

    if launched_size() is None:
        planned = load()
        if planned.run.ranks > 1:
            from craton.scf.setup import made_calculation, read_start

            read_start(planned, made_calculation(planned, None).molecule, whole=False)
            launch(planned.run.ranks, ranks_per_node, Path(planned.run.directory), planned.run.threads)
    from craton.runs.agreement import on_root
    from craton.runs.progress import make_console
    from craton.scf import run as command

    comm = communicator()
    settings = on_root(comm, load)
    console = make_console(stderr=as_json) if comm.rank == 0 else None
    found = command.run(
        settings, comm, ranks_per_node=ranks_per_node or 0, console=console, overwrite=overwrite, report=report
    )
    _end(found, Path(settings.run.directory), as_json, comm.rank)


@app.command("resume")
def resume(
    directory: RunDirectory,
    iterations: Annotated[
        int | None, typer.Option(metavar="I", parser=count, help="At most so many more; else as the run was begun.")
    ] = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Go on with a run that was killed or has not converged, on any number of ranks.

    [bold]craton scf resume water-run --iterations 100[/bold]

    It begins with the density of the last checkpoint; DIIS begins anew. To change what steers the iterations, begin a new run
    with --start.
    """
    from craton.scf import run as command

    def load() -> Config:
        found = command.config_to_resume(directory, iterations=iterations, threads=threads)
        return found if ranks is None else found.replaced("run", ranks=ranks)

    if launched_size() is None:
        planned = load()
        if planned.run.ranks > 1:
            launch(planned.run.ranks, ranks_per_node, directory, planned.run.threads)
    from craton.runs.agreement import on_root
    from craton.runs.progress import make_console

    comm = communicator()
    settings = on_root(comm, load)
    console = make_console(stderr=as_json) if comm.rank == 0 else None
    found = command.resume(
        directory, settings, comm, ranks_per_node=ranks_per_node or 0, console=console, report=report
    )
    _end(found, directory, as_json, comm.rank)


def _end(found: ScfRecord, directory: Path, as_json: bool, rank: int) -> None:
    """Prints the record if asked to; exit code 3 where it has not converged."""
    from craton.scf.run import not_converged

    if as_json and rank == 0:
        print_json(found.to_dict())
    if found.converged:
        return
    if rank == 0:
        print(f"craton: {not_converged(found, directory)}", file=sys.stderr, flush=True)
    raise typer.Exit(NOT_CONVERGED)


@app.command("check")
def check(
    config: Calculation,
    basis: Basis = None,
    charge: Charge = None,
    multiplicity: Multiplicity = None,
    method: Method = None,
    start: StartFrom = None,
    ranks: Ranks = None,
    as_json: Json = False,
) -> None:
    """Say what a run computes: electrons, method, functions, memory; compute nothing.

    [bold]craton scf check examples/scf/graphene.xyz --basis cc-pvdz --ranks 4[/bold]
    """
    from craton.scf.check import examine

    settings = _load(
        config, basis=basis, charge=charge, multiplicity=multiplicity, method=method, start=start, ranks=ranks
    )
    found = examine(settings)
    if as_json:
        print_json(found.to_dict())
    else:
        print_table(found.table())


@app.command("template")
def template() -> None:
    """Print a configuration file with every key, its default and what it means.

    To begin with:    [bold]craton scf template > my.toml[/bold]
    """
    from craton.scf import config

    typer.echo(config.template())


@app.command("status")
def status(directory: RunDirectory, as_json: Json = False) -> None:
    """Say where a run is: iteration, energy, time spent and left, what is on disk. It may be under way.

    [bold]craton scf status water-run[/bold]
    """
    from craton.scf.run import status

    found = status(directory)
    if as_json:
        print_json(found.to_dict())
    else:
        print_table(found.table())


@app.command("report")
def report(directory: RunDirectory) -> None:
    """Draw report.html again from what a run has left in its folder."""
    from craton.scf.report import write_report

    typer.echo(str(write_report(directory)))
