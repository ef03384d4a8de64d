"""Applications between hosts: what they find is what as many ranks of one host find, also where packets are late or lost.

Hosts are network namespaces of this machine, with MPI over TCP between them (tools/two_hosts). Needs root.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from craton.tomography.inversion.hessian_file import whole_hessian
from helpers import command_of
from hosts import Network, Results, between_hosts, datasets, on_one_host, why_not
from wave_config import write_config


@pytest.fixture(scope="module", autouse=True)
def hosts_can_be():
    if reason := why_not():
        pytest.skip(reason)


CABLE, LATE_AND_LOST = Network(), Network(delay_ms=2.0, loss_percent=0.1)


def multigrid(folder: Path) -> list[str]:
    (folder / "m.toml").write_text("[problem]\ncells = 32\n[grid]\nbox = 8\n")
    return command_of("multigrid", "run", "m.toml")


def scf(folder: Path) -> list[str]:
    (folder / "water.xyz").write_text("3\n\nO 0 0 0.1173\nH 0 0.7572 -0.4692\nH 0 -0.7572 -0.4692\n")
    (folder / "m.toml").write_text('[molecule]\nfile = "water.xyz"\n[method]\nbasis = "6-31g"\n')
    return command_of("scf", "run", "m.toml")


def waves(folder: Path) -> list[str]:
    return command_of("waves", "run", write_config(folder))


@pytest.fixture(scope="module")
def tomography(small_config):
    config = small_config.replaced("basis", lateral_level=2).replaced("paths", maximum=60)
    config = config.replaced("inversion", max_iterations=2, precision="float64", reproducible=True)

    def command(folder: Path) -> list[str]:
        path = folder / "m.toml"
        path.write_text(config.replaced("run", directory=str(folder / "m-run")).to_toml(), encoding="utf-8")
        return command_of("tomography", "run", path)

    return command


def found_by_multigrid(run: Path) -> Results:
    return datasets(run / "solution.h5")


def found_by_scf(run: Path) -> Results:
    record = json.loads((run / "record.json").read_text())
    names = ("energy_hartree", "orbital_energies_hartree", "dipole_debye")
    return {name: np.array(record[name]) for name in names}


def found_by_waves(run: Path) -> Results:
    return {name: values for file in sorted(run.glob("*.h5")) for name, values in datasets(file).items()}


def found_by_tomography(run: Path) -> Results:
    models = {name: values for name, values in datasets(run / "model.h5").items() if name.endswith("/models")}
    return models | {"hessian": whole_hessian(run / "hessian.h5")}


@dataclass(frozen=True)
class Application:
    """How it is run in a folder, what it finds, and by how much that may differ: 0 where the same bits are promised."""

    command: Callable[[Path], list[str]]
    found: Callable[[Path], Results]
    tolerance: float = 0.0


@pytest.fixture(scope="module")
def applications(tomography):
    return {
        "tomography": Application(tomography, found_by_tomography),
        "waves": Application(waves, found_by_waves),
        "multigrid": Application(multigrid, found_by_multigrid, 1e-13),  # sums of the coarsest grid's solver
        "scf": Application(scf, found_by_scf, 1e-9),  # ranks steal tasks from one another
    }


@pytest.fixture(scope="module")
def of_one_host(applications, tmp_path_factory):
    """A function: what as many ranks of one host find. Each job runs once."""

    @cache
    def found(name: str, ranks: int) -> Results:
        folder = tmp_path_factory.mktemp("one-host")
        application = applications[name]
        on_one_host(application.command(folder), ranks, folder)
        return application.found(next(folder.glob("*-run")))

    return found


long = pytest.mark.long
NETWORKS = {
    "2 hosts": (2, CABLE),
    "2 hosts, late and lost": (2, LATE_AND_LOST),
    "4 hosts, late and lost": (4, LATE_AND_LOST),
}
CASES = [
    pytest.param(name, network, marks=() if (name, network) == ("multigrid", "2 hosts, late and lost") else long)
    for name in ("tomography", "waves", "multigrid", "scf")
    for network in NETWORKS
]


@pytest.mark.parametrize(("name", "network"), CASES)
def test_hosts_find_what_one_finds(name, network, applications, of_one_host, tmp_path):
    application = applications[name]
    hosts, cables = NETWORKS[network]
    expected = of_one_host(name, hosts)
    begin = time.monotonic()
    said = between_hosts(application.command(tmp_path), hosts, cables, tmp_path)
    took = time.monotonic() - begin
    run = next(tmp_path.glob("*-run"))
    assert json.loads((run / "record.json").read_text())["nodes"] == hosts
    found = application.found(run)
    assert found.keys() == expected.keys() and found
    largest = max(difference(found[name], values) for name, values in expected.items())
    print(f"{name}, {network}: {took:.1f} s, largest difference {largest:.1e}; {said.strip().splitlines()[-1:]}")
    if application.tolerance == 0.0:
        assert all(found[name].tobytes() == values.tobytes() for name, values in expected.items())
    assert largest <= application.tolerance
    if cables.loss_percent:
        packets = re.search(r"(\d+) packets passed on, (\d+) lost", said)
        assert packets and int(packets[1]) > 1000 and int(packets[2]) > 0


def difference(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest, relative to the largest value, or to 1 if that is less."""
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert np.isfinite(found).all() and np.isfinite(expected).all()
    return float(np.abs(found - expected).max(initial=0)) / max(float(np.abs(expected).max(initial=0)), 1.0)


ANSWER = """
import time
from mpi4py import MPI
world = MPI.COMM_WORLD
for turn in range(6):
    begin = time.perf_counter()
    if world.rank == 0:
        world.send(1, 1)
        world.recv(source=1)
    else:
        world.send(world.recv(source=0), 0)
    took = time.perf_counter() - begin
if world.rank == 0:
    assert took >= 0.02, took
"""


def test_packets_are_late(tmp_path):
    """A message and its answer between two hosts take at least what both packets are on their way."""
    (tmp_path / "answer.py").write_text(ANSWER)
    between_hosts([sys.executable, "answer.py"], 2, Network(delay_ms=10.0), tmp_path)
