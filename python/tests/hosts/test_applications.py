"""Applications between hosts: what they find is what as many ranks of one host find, also where packets are late or lost.

Hosts are network namespaces of this machine, with MPI over TCP between them (tools/two_hosts). Needs root.
"""

from __future__ import annotations

import json
import re
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

unable = why_not()
pytestmark = pytest.mark.skipif(unable != "", reason=unable)

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
    largest = 0.0
    for key, values in expected.items():
        largest = max(
            largest,
            float(np.max(np.abs(found[key] - values), initial=0)) / max(float(np.max(np.abs(values), initial=0)), 1.0),
        )
    print(f"{name}, {network}: {took:.1f} s, largest difference {largest:.1e}; {said.strip().splitlines()[-1:]}")
    assert largest <= application.tolerance
    if cables.loss_percent:
        lost = re.search(r"(\d+) packets passed on, (\d+) lost", said)
        assert lost and int(lost[1]) > 100
