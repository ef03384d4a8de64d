"""The command `craton scf`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from craton._launch import checked_ranks, launched_size
from craton.cli.launching import communicator, console_of, launch, must_launch
from craton.cli.options import Overwrite, Ranks, RanksPerNode, choice, count, integer
from craton.cli.output import check_folders


def scf(
    molecule: Annotated[
        Path,
        typer.Argument(
            metavar="MOLECULE.xyz", help="Atoms: their number, a line of your own, then symbol and x y z in Angstrom."
        ),
    ],
    basis: Annotated[
        str,
        typer.Option(metavar="NAME", help="Basis set by its name at basissetexchange.org: sto-3g, 6-31g*, cc-pvtz."),
    ],
    charge: Annotated[int, typer.Option(metavar="Q", parser=integer, help="Of the whole molecule.")] = 0,
    multiplicity: Annotated[
        int | None,
        typer.Option(metavar="M", parser=count, help="2 S + 1; the lowest that the number of electrons allows."),
    ] = None,
    method: Annotated[
        str | None,
        choice("rhf", "uhf", text="Restricted or unrestricted; restricted where the multiplicity is 1."),
    ] = None,
    guess: Annotated[
        str,
        choice(
            "sad", "core", text="Begin with a superposition of atomic densities, or without repulsion of electrons."
        ),
    ] = "sad",
    conv_tol: Annotated[
        float,
        typer.Option(
            metavar="E", help="Converged where the energy changes by less, hartree, and the gradient is below its root."
        ),
    ] = 1e-9,
    max_cycle: Annotated[int, typer.Option(metavar="I", parser=count, help="Iterations at most.")] = 50,
    density_by: Annotated[
        str,
        choice(
            "diagonalisation",
            "canonical",
            "sp2",
            text="How densities are made: from eigenvectors, or by purification.",
        ),
    ] = "diagonalisation",
    level_shift: Annotated[
        float,
        typer.Option(metavar="E", help="Raise virtual orbitals by so many hartree while it iterates; 0.2 steadies."),
    ] = 0.0,
    damping: Annotated[
        float, typer.Option(metavar="D", help="Keep this part of the last Fock matrix until DIIS starts.")
    ] = 0.0,
    diis_space: Annotated[
        int, typer.Option(metavar="K", parser=integer, help="Fock matrices that DIIS combines; 0: none.")
    ] = 8,
    diis_start: Annotated[int, typer.Option(metavar="I", parser=count, help="The first iteration with DIIS.")] = 1,
    threshold: Annotated[
        float, typer.Option(metavar="E", help="Integrals that matter less, hartree, are left out.")
    ] = 1e-12,
    threads: Annotated[
        int, typer.Option(metavar="T", parser=count, help="Threads that compute integrals, of each rank.")
    ] = 1,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE.h5", help="Write the state there at each iteration.")
    ] = None,
    restart: Annotated[
        Path | None,
        typer.Option(metavar="FILE.h5", help="Begin with a checkpoint, also of another basis set or geometry."),
    ] = None,
    overwrite: Overwrite = False,
    molden: Annotated[
        Path | None, typer.Option(metavar="FILE.molden", help="Write geometry, basis and orbitals for other programs.")
    ] = None,
    cube: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="Write MOLECULE.WHAT.cube here: homo, lumo, homo-1, lumo+1, a number from 1 on (with :down of spin down), "
            "density, spin. May be given several times.",
        ),
    ] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw an orbital there.")] = None,
    orbital: Annotated[str, typer.Option(metavar="WHICH", help="Which: as with --cube.")] = "homo",
    load_balance: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw there who worked when on J and K, and who waited; with --ranks."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the results there too.")
    ] = None,
    library: Annotated[
        Path | None,
        typer.Option(metavar="FILE.so", help="libcint, instead of $CRATON_LIBCINT or the one that is found."),
    ] = None,
) -> None:
    """Energy and orbitals of a molecule by Hartree-Fock, in Gaussian basis sets.

    Water, in a second:    [bold]craton scf examples/scf/water.xyz --basis cc-pvdz[/bold]

    Two threads, and a picture of the lowest virtual orbital:    [bold]craton scf examples/scf/benzene.xyz --basis 6-31g*
    --threads 2 --picture lumo.png --orbital lumo[/bold]

    A triplet, to all digits:    [bold]craton scf examples/scf/oxygen.xyz --basis cc-pvtz --multiplicity 3 --conv-tol 1e-10[/bold]

    On two ranks, whose matrices are spread over them:    [bold]craton scf m.xyz --basis cc-pvdz --ranks 2
    --load-balance balance.png[/bold]

    To be able to go on, then in a larger basis:    [bold]craton scf m.xyz --basis 6-31g --checkpoint m.h5[/bold]    and
    [bold]craton scf m.xyz --basis cc-pvtz --restart m.h5[/bold]

    Each iteration prints a line; then come energies, dipole, charges and where the time went. The exit code is 3 where it has
    not converged: what is written then says so, the checkpoint has the state. If it does not: --level-shift 0.3, --damping 0.5
    --diis-start 6, the other --guess. docs/scf.md has the equations.
    """
    check_folders(checkpoint=checkpoint, molden=molden, picture=picture, load_balance=load_balance, json=json_file)
    from craton.runs.progress import make_console
    from craton.scf import run as command

    wanted = command.Wanted(
        molecule,
        basis,
        charge=charge,
        multiplicity=multiplicity,
        method=method,
        library=library,
        settings={
            "init_guess": guess,
            "conv_tol": conv_tol,
            "max_cycle": max_cycle,
            "density_by": density_by,
            "level_shift": level_shift,
            "damp": damping,
            "diis_space": diis_space,
            "diis_start_cycle": diis_start,
            "direct_scf_tol": threshold,
            "threads": threads,
        },
        checkpoint=checkpoint,
        restart=restart,
        overwrite=overwrite,
        molden=molden,
        cubes=cube or (),
        picture=picture,
        orbital=orbital,
        load_balance=load_balance,
        json_file=json_file,
    )
    checked_ranks(ranks)
    if must_launch(ranks):
        command.check(wanted)
        launch(ranks, ranks_per_node, None, threads)
    comm = None if ranks is None and launched_size() is None else communicator()
    console = make_console() if comm is None else console_of(comm)
    code, said = command.run(wanted, console, comm, ranks_per_node or 0)
    if said and console is not None:
        print(f"craton: {said}", file=sys.stderr, flush=True)
    if code:
        raise typer.Exit(code)
