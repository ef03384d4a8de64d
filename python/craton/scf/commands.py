"""The commands of `craton scf`."""

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
    integer,
)
from craton.cli.output import print_found
from craton.cli.verbs import add_verbs

if TYPE_CHECKING:
    from craton.scf.config import Config

REPORT = "craton.scf.report"
app = group(
    """Compute energies of molecules by Hartree-Fock or density functionals, and their geometries and vibrations by Hartree-Fock.

    Start with:

        craton example scf
        cd scf
        craton scf run water.toml

    The word `run` may be left out.
    """,
    short_form="run",
)

Calculation = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG",
        help="TOML file; the command `template` prints one with every key explained. Or an XYZ file: number of atoms, "
        "a comment line, then symbol and x, y, z in Angstrom of each atom.",
    ),
]
Basis = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Basis set, as basissetexchange.org names it: sto-3g, 6-31g*, cc-pvtz."),
]
Cartesian = Annotated[
    bool | None,
    typer.Option("--cartesian/--spherical", help="Functions of d shells and beyond: 6 of a d shell, or 5 (default)."),
]
Charge = Annotated[int | None, typer.Option(metavar="Q", parser=integer, help="Total charge, in e.")]
Multiplicity = Annotated[
    int | None,
    typer.Option(metavar="M", parser=count, help="Spin multiplicity, 2 S + 1. Default: the lowest possible."),
]
Method = Annotated[
    str | None,
    choice(
        "rhf",
        "uhf",
        "rohf",
        text="Restricted, unrestricted or restricted open-shell. Default: rhf for multiplicity 1, else uhf.",
    ),
]
Functional = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Density functional: lda, pbe, blyp, b3lyp, pbe0 ... Default: Hartree-Fock."),
]
Tolerance = Annotated[
    float | None,
    typer.Option(metavar="E", help="Largest change of the energy at convergence, in hartree. Default: 1e-9."),
]
Optimise = Annotated[
    bool | None, typer.Option("--optimise/--no-optimise", help="Move the nuclei to where the energy is least.")
]
Frequencies = Annotated[
    bool | None, typer.Option("--frequencies/--no-frequencies", help="Compute harmonic vibrations at the end.")
]
StartFrom = Annotated[
    Path | None,
    typer.Option(metavar="FILE.h5", help="Begin with orbitals.h5 of another run. Basis set and geometry may differ."),
]


def _load(config: Path, **options: Any) -> Config:
    """The configuration, with what the command line says instead."""
    from craton.scf.config import load_config

    table_of = {
        "basis": ("method", "basis"),
        "cartesian": ("method", "cartesian"),
        "method": ("method", "kind"),
        "start": ("method", "start"),
        "charge": ("molecule", "charge"),
        "multiplicity": ("molecule", "multiplicity"),
        "tolerance": ("convergence", "energy"),
        "xc": ("method", "xc"),
        "optimise": ("geometry", "optimise"),
        "frequencies": ("geometry", "frequencies"),
    }
    return load_config(config, {table_of.get(name, ("run", name)): value for name, value in options.items()})


@app.command("run")
def run(
    config: Calculation,
    basis: Basis = None,
    cartesian: Cartesian = None,
    charge: Charge = None,
    multiplicity: Multiplicity = None,
    method: Method = None,
    xc: Functional = None,
    tolerance: Tolerance = None,
    start: StartFrom = None,
    optimise: Optimise = None,
    frequencies: Frequencies = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    directory: Directory = None,
    overwrite: Overwrite = False,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Compute a molecule. Options override the configuration.

    Water, in a second:

        craton scf run water.xyz --basis cc-pvdz

    Its geometry and vibrations:

        craton scf run water.xyz --basis cc-pvdz --optimise --frequencies

    Orbitals as cube files:

        craton scf run benzene.toml --threads 2

    With a density functional:

        craton scf run benzene.toml --xc b3lyp

    A triplet:

        craton scf run oxygen.xyz --basis cc-pvtz --multiplicity 3

    On two ranks, with matrices distributed over them:

        craton scf run my.toml --ranks 2

    In a larger basis set, from the orbitals of a smaller one:

        craton scf run my.xyz --basis cc-pvtz --start small-run/orbitals.h5

    The folder of results has record.json, orbitals.h5, report.html and the files that the table [output] names. The exit code is 3
    if the iterations do not converge. `craton scf resume` then continues them.
    """

    def load() -> Config:
        options: dict[str, Any] = {"basis": basis, "charge": charge, "multiplicity": multiplicity, "method": method}
        options |= {"cartesian": cartesian, "xc": xc, "optimise": optimise, "frequencies": frequencies}
        return _load(
            config, **options, tolerance=tolerance, start=start, ranks=ranks, threads=threads, directory=directory
        )

    from craton.scf.check import examine

    job = start_ranks(load, ranks, ranks_per_node, as_json, examine, report=RunReport("scf", REPORT, report, as_json))
    from craton.scf import start as command

    found = command.run(job.settings, job.comm, **job.means, overwrite=overwrite, report=job.report)
    end_run(found, job.comm, as_json, command.not_converged(found, Path(job.settings.run.directory)))


@app.command("resume")
def resume(
    directory: RunDirectory,
    iterations: Annotated[
        int | None,
        typer.Option(metavar="I", parser=count, help="Further iterations, at most. Default: as in the configuration."),
    ] = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Continue a run that was interrupted or has not converged, on any number of ranks.

    Example:
        craton scf resume water-run --iterations 100

    Iterations continue from the density of the last checkpoint; DIIS starts anew. A run that has converged stays as it is. To
    change the method or the convergence, start a new run with --start.
    """
    from craton.scf import start as command
    from craton.scf.folder import ScfFolder

    if finished_already(ScfFolder(directory), as_json):
        return

    def load() -> Config:
        return command.config_to_resume(directory, iterations=iterations, ranks=ranks, threads=threads)

    job = start_ranks(load, ranks, ranks_per_node, as_json, report=RunReport("scf", REPORT, report, as_json))
    found = command.resume(directory, job.settings, job.comm, **job.means, report=job.report)
    end_run(found, job.comm, as_json, command.not_converged(found, directory))


@app.command("check")
def check(
    config: Calculation,
    basis: Basis = None,
    cartesian: Cartesian = None,
    charge: Charge = None,
    multiplicity: Multiplicity = None,
    method: Method = None,
    xc: Functional = None,
    tolerance: Tolerance = None,
    start: StartFrom = None,
    optimise: Optimise = None,
    frequencies: Frequencies = None,
    ranks: PlannedRanks = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Check a configuration. Show electrons, method, basis functions and memory of the run; compute nothing.

    Example:
        craton scf check graphene.xyz --basis cc-pvdz --ranks 4

    It tells how many gradients an optimisation or vibrations take, but no time.
    """
    from craton.scf.check import examine

    settings = _load(
        config, basis=basis, cartesian=cartesian, charge=charge, multiplicity=multiplicity, method=method, xc=xc,
        tolerance=tolerance, start=start, optimise=optimise, frequencies=frequencies, ranks=ranks, threads=threads,
    )  # fmt: skip
    found = examine(settings)
    print_found(found, as_json)


add_verbs(
    app,
    "scf",
    config="craton.scf.config",
    status="craton.scf.start",
    report=REPORT,
    shows="iteration, energy, time spent and left, files on disk",
    example="water-run",
)
