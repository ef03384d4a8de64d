"""What saves itself while it runs, each as the smallest run of some seconds.

How it starts and goes on, when it has saved for the first time, and what must be the same in the end.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import hazard_config
import numpy as np
import regional_config
import wave_config
from helpers import command_of

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
PROGRAMS = ROOT / "python" / "tests" / "programs"
RANKS = 2


@dataclass(frozen=True)
class Place:
    """Where runs take place: always the same paths, one run after the other."""

    path: Path

    @property
    def inputs(self) -> Path:
        """What a run reads; commands begin here."""
        return self.path / "inputs"

    @property
    def disk(self) -> Path:
        """Where the run's folder is: a small disk of its own, if need be."""
        return self.path / "disk"

    @property
    def folder(self) -> Path:
        """Of the run."""
        return self.disk / "run"

    @property
    def temporary(self) -> Path:
        """TMPDIR."""
        return self.path / "tmp"

    @property
    def nodes(self) -> Path:
        """For checkpoints in two levels."""
        return self.path / "nodes"

    @property
    def cache(self) -> Path:
        """Of modes; stays from run to run."""
        return self.path / "modes"


@dataclass(frozen=True)
class Case:
    """A kind of run."""

    write: Callable[[Place], None]
    """Its inputs."""
    start: Callable[[Place], list[str]]
    """The command."""
    resume: Callable[[Place], list[str]]
    """The command that goes on."""
    saved: Callable[[Path], bool]
    """Whether there is a first save in the folder of a run."""
    done: Callable[[Path], bool] | None = None
    """Whether the last file is there; None where progress.json tells, which then goes."""
    phases: tuple[str, ...] = ("",)
    """Those that save, as progress.json names them; of a run without it one without a name."""
    within: float = 0.0
    """Of the largest of a dataset: by so much its numbers may differ from those of an undisturbed run. 0: not by a bit."""
    loose: Mapping[str, float] = field(default_factory=dict)
    """The same by dataset, where that is another."""
    left_out: tuple[str, ...] = ()
    """Datasets and attributes that are not compared."""
    files: tuple[str, ...] = ("**/*",)
    """Those that are compared."""
    promise: str = "bit for bit"
    """What the documentation says."""
    starts_again: str = ""
    """What a command says that goes on where, as documented, there is nothing to go on from: then the run is started again."""


CASES: dict[str, Case] = {}


# ---------------------------------------------------------------------------------------------------------------- comparison


def files_of(folder: Path) -> list[str]:
    """Names of files below a folder, without logs and the lock, which is free when its holder is gone."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".log" and path.name != ".lock")
    return sorted(str(path.relative_to(folder)) for path in files)


def differences(case: Case, found: Path, expected: Path) -> Iterator[str]:
    """A line for each file that is not as it must be."""
    ours, theirs = set(files_of(found)), set(files_of(expected))
    for name in sorted(ours ^ theirs):
        yield f"{name} is {'there' if name in ours else 'missing'}"
    compared = {str(path.relative_to(expected)) for pattern in case.files for path in expected.glob(pattern)}
    for name in sorted(ours & theirs & compared):
        one, other = found / name, expected / name
        if name.endswith(".h5"):
            yield from (f"{name}: {line}" for line in different_contents(case, one, other))
        elif name.endswith("record.json"):
            if not json.loads(one.read_text(encoding="utf-8")).get("finished", True):
                yield f"{name} is of a run that has not finished"
        elif not name.endswith(".json") and one.read_bytes() != other.read_bytes():
            yield f"{name} differs"


def different_contents(case: Case, found: Path, expected: Path) -> Iterator[str]:
    """A line for each dataset and attribute of an HDF5 file that is not as it must be."""
    with h5py.File(found) as ours, h5py.File(expected) as theirs:
        one, other = _values(ours, case.left_out), _values(theirs, case.left_out)
    for name in sorted(one.keys() ^ other.keys()):
        yield f"{name} is {'there' if name in one else 'missing'}"
    for name in sorted(one.keys() & other.keys()):
        a, b = one[name], other[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            yield f"{name} is {a.dtype} of shape {a.shape} instead of {b.dtype} of shape {b.shape}"
        elif a.tobytes() != b.tobytes():
            within = case.loose.get(name, case.within)
            if a.dtype.kind not in "fc":
                yield f"{name} differs"
                continue
            largest = float(np.abs(b).max())
            apart = float(np.abs(a - b).max()) / largest if largest else float("inf")
            if not apart <= within:
                yield f"{name} differs by {apart:.2g} of its largest; allowed: {within:g}"


def _values(file: h5py.File, left_out: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Datasets by name, attributes as name@attribute."""
    found: dict[str, np.ndarray] = {}

    def add(name: str, item: h5py.HLObject) -> None:
        if isinstance(item, h5py.Dataset):
            values = item[()]
            found[name] = np.asarray(repr(np.asarray(values).tolist()) if item.dtype.hasobject else values)
        for key, value in item.attrs.items():
            held = np.asarray(value)  # dimension scales hold references, which are objects of this process
            found[f"{name}@{key}"] = np.asarray(repr(held.tolist())) if held.dtype.hasobject else held

    add("", file)
    file.visititems(add)
    return {name: value for name, value in found.items() if name.split("@")[-1] not in left_out}


# ---------------------------------------------------------------------------------------------------------------- arrays, tasks


def no_inputs(_place: Place) -> None:
    """Of a program that reads none."""


def program(name: str, *more: str) -> Callable[[Place], list[str]]:
    """A program of the tests in the run's folder, which is started again to go on. more: names of the place's other folders."""
    return lambda place: [
        sys.executable, str(PROGRAMS / name), str(place.folder), *(str(getattr(place, one)) for one in more)
    ]  # fmt: skip


def has_result(folder: Path) -> bool:
    """Of an assembly: its last file."""
    return (folder / "result.h5").is_file()


ASSEMBLY, IN_TWO_LEVELS = program("saved_assembly.py"), program("saved_assembly.py", "nodes")
CASES["checkpoint"] = Case(
    no_inputs, ASSEMBLY, ASSEMBLY, lambda folder: (folder / "checkpoint.h5").is_file(), has_result,
    files=("result.h5",),
)  # fmt: skip
CASES["checkpoint in two levels"] = Case(
    no_inputs, IN_TWO_LEVELS, IN_TWO_LEVELS, lambda folder: (folder / "checkpoint.h5.levels").is_file(),
    has_result, files=("result.h5",),
)  # fmt: skip
TASKS = program("saved_tasks.py")
CASES["tasks"] = Case(
    no_inputs, TASKS, TASKS, lambda folder: (folder / "0.txt").is_file(),
    lambda folder: all((folder / f"{number}.txt").is_file() for number in (13, 14, 15)),
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- applications


def command(app: str, config: str, *options: object, resume: tuple[object, ...] | None = None) -> dict:
    """Start and resume of an application's run. resume: options of it, where they are others."""
    more = options if resume is None else resume
    return {
        "start": lambda place: command_of(app, "run", config, "--directory", place.folder, *options, "--no-report"),
        "resume": lambda place: command_of(app, "resume", place.folder, *more, "--no-report"),
    }


ON_RANKS = ("--ranks", RANKS)

TOMOGRAPHY = """
[run]
seed = 1
[modes]
shortest_period_s = 120.0
cache = "{place.cache}"
[basis]
lateral_level = 2
radial = 5
[events]
file = "{events}"
[stations]
file = "{stations}"
[paths]
maximum = {paths}
[data]
filter_periods_s = [400.0, 250.0, 150.0, 120.0]
sample_interval_s = 15.0
[target]
checkerboard_degree = 5
checkerboard_depth_nodes = 1
plume_radius_km = 1200.0
[prior]
correlation_km = 1500.0
correlation_depth_km = 500.0
[inversion]
max_iterations = {iterations}
tolerance = 0.0
precision = "float64"
reproducible = {reproducible}
block = 32
[assembly]
checkpoint_minutes = 1e-4
subset = 2
"""


def tomography(more: str = "", **settings: object) -> Callable[[Place], None]:
    """Writes its configuration, with checkpoints at every pause and every Hessian kept until its step is found."""
    given = {"paths": 600, "iterations": 3, "reproducible": "true"} | settings

    def write(place: Place) -> None:
        (place.inputs / "case.toml").write_text(
            (TOMOGRAPHY + more).format(
                place=place,
                events=EXAMPLES / "global" / "earthquakes.csv",
                stations=EXAMPLES / "global" / "stations.csv",
                solver=EXAMPLES / "global" / "solver.py",
                **given,
            ),
            encoding="utf-8",
        )

    return write


def has_data(folder: Path) -> bool:
    """Of an inversion: its first file."""
    return (folder / "data.h5").is_file()


OF_INVERSION = {
    **command("tomography", "case.toml", *ON_RANKS),
    "saved": has_data,
    "left_out": ("assemble_s", "iterations"),  # they hold times
}
CASES["tomography"] = Case(tomography(), phases=("assembly", "step", "line search", "finish"), **OF_INVERSION)
CASES["tomography in two levels"] = Case(
    tomography('checkpoint_local = "{place.nodes}"\n'), phases=("assembly",), **OF_INVERSION
)
CASES["tomography, sums as they come"] = Case(
    tomography(reproducible="false"),
    phases=("assembly", "step"),
    within=1e-7,
    promise="as close as two undisturbed runs, of float64",
    **(OF_INVERSION | {"left_out": (*OF_INVERSION["left_out"], "craton_checksum")}),
)
CASES["tomography, outside solver"] = Case(
    tomography(
        '[synthetics]\nkind = "command"\n'
        'command = "env MPI4PY_RC_INITIALIZE=false {{python}} {solver} {{folder}} '
        '--theory pava --period 120 --level 2 --radial 5"\n',
        paths=12,
        iterations=2,
    ),
    phases=("synthetics", "assembly"),
    files=("*.h5", "synthetics/*/g.h5", "synthetics/*/model.csv", "synthetics/*/seismograms/**/*"),
    **OF_INVERSION,
)


def waves(place: Place) -> None:
    """Seismograms, strain Green's tensors, snapshots, a movie, and a checkpoint every fifty steps."""
    wave_config.write_config(place.inputs, ("duration_s = 0.9", "duration_s = 9.0"))


CASES["waves"] = Case(
    waves,
    **command("waves", "small.toml", *ON_RANKS),
    saved=lambda folder: (folder / "checkpoint.h5").is_file(),
    phases=("steps",),
)


def hazard(ranks: int) -> Callable[[Place], None]:
    """One site, whose wave runs have checkpoints; ranks: of each of them."""

    def write(place: Place) -> None:
        hazard_config.one_site(place.inputs, ("cores = 2\n", f"cores = 2\nranks = {ranks}\n"))

    return write


def has_waves(folder: Path) -> bool:
    """Of a hazard run: a checkpoint of its first wave run, or the whole of it."""
    own = folder / "sites" / "A" / "x"
    return (own / "checkpoint.h5").is_file() or (own / "record.json").is_file()


for ranks in (1, RANKS):
    CASES["hazard" if ranks == 1 else f"hazard, waves on {ranks} ranks"] = Case(
        hazard(ranks),
        **command("hazard", "small.toml"),
        saved=has_waves,
        phases=("jobs", "results")[: 3 - ranks],
        files=("**/*.h5", "*.csv", "**/*.toml", "points.npy"),  # those for OpenQuake hold a date
    )


def regional(place: Place) -> None:
    """Two earthquakes and two stations, one iteration, assembled on one rank, so that its sums have one order."""
    regional_config.written(
        place.inputs,
        ("iterations = 2", "iterations = 1"),
        ("[inversion]\n", "[run]\ncores = 2\nstep_ranks = 1\n[inversion]\n"),
    )


CASES["regional"] = Case(
    regional,
    **command("regional", "small.toml"),
    saved=lambda folder: (folder / "target" / "events" / "one" / "record.json").is_file(),
    phases=("data", "earthquakes", "derivatives"),
    within=1e-6,
    left_out=("assemble_s", "solve_s", "peak_bytes"),
    files=("*.h5", "states/*/*.h5", "states/*/*/*/seismograms.h5"),
    promise="to a millionth of the largest change",
)


def scf(place: Place) -> None:
    """Benzene, with a checkpoint after each iteration."""
    (place.inputs / "case.toml").write_text(
        f'[molecule]\nfile = "{EXAMPLES / "scf" / "benzene.xyz"}"\n[method]\nbasis = "6-31g*"\n'
        "[convergence]\nenergy = 1e-10\n[run]\ncheckpoint_every_s = 0.0\n",
        encoding="utf-8",
    )


CASES["scf"] = Case(
    scf,
    **command("scf", "case.toml", *ON_RANKS),
    saved=lambda folder: (folder / "checkpoint.h5").is_file(),
    phases=("iterations", "results"),
    within=1e-5,
    loose={"@energy_hartree": 1e-8 / 230.7},
    left_out=("iterations", "mo_coeff"),
    files=("orbitals.h5",),
    promise="converged to 1e-10 hartree, with a gradient of 1e-5",
)


def multigrid(place: Place) -> None:
    """Poisson's equation, to what rounding leaves."""
    text = (EXAMPLES / "multigrid" / "charges.toml").read_text(encoding="utf-8")
    (place.inputs / "case.toml").write_text(text.replace("cells = 64", "cells = 96"), encoding="utf-8")


CASES["multigrid"] = Case(
    multigrid,
    **command("multigrid", "case.toml", *ON_RANKS),
    saved=lambda folder: (folder / "progress.json").is_file(),
    phases=("solve", "results"),
    within=1e-12,
    promise="up to rounding",
    starts_again="no progress.json to go on from",  # a solve that has failed leaves nothing
)
