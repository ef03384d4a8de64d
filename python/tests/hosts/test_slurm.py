"""Jobs of Slurm: the examples' batch scripts, on a cluster of two network namespaces (tools/two_hosts --slurm). Needs root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import command_of, environment_without_mpi
from hosts import TWO_HOSTS, datasets

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
SECONDS_ALLOWED = 900
CURVES = ("curves.csv", "maps.csv", "disaggregation.csv")


def on_a_cluster(script: str, cwd: Path) -> None:
    """Runs lines of bash on the first of two nodes of a Slurm cluster."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = environment_without_mpi("SLURM_", "OMP_", "OPENBLAS_", PATH=path)
    command = ["timeout", "--kill-after=20", str(SECONDS_ALLOWED), str(TWO_HOSTS), "--slurm", "bash", "-ec", script]
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS_ALLOWED + 60
    )
    logs = "\n".join(file.read_text()[-2000:] for file in cwd.rglob("*.log"))
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}\n{logs}"


def why_not() -> str:
    if not TWO_HOSTS.exists():
        return f"there is no {TWO_HOSTS}"
    command = [str(TWO_HOSTS), "--slurm", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no Slurm"])[0]


@pytest.fixture(scope="module", autouse=True)
def slurm():
    if reason := why_not():
        pytest.skip(reason)


def copied(example: str, to: Path) -> Path:
    """An example as `craton example` gives it."""
    return Path(shutil.copytree(EXAMPLES / example, to / example, ignore=shutil.ignore_patterns("*-run", "*.log")))


def ended(run: Path) -> dict:
    record = json.loads((run / "record.json").read_text())
    assert record["finished"]
    return record


@pytest.mark.long
@pytest.mark.parametrize(
    "script", sorted(file.relative_to(EXAMPLES).as_posix() for file in EXAMPLES.glob("*/*.sbatch"))
)
def test_the_examples_are_jobs(script, tmp_path):
    example, name = script.split("/")
    folder = copied(example, tmp_path)
    on_a_cluster(f"sbatch --wait {name}", folder)
    run = folder / f"{name.removesuffix('.sbatch')}-run"
    record = ended(run)
    assert (run / "report.html").stat().st_size > 1000
    if example != "hazard":  # its wave runs have one rank
        assert record["ranks"] == record["nodes"] == 2


@pytest.mark.long
def test_a_folder_of_a_start_that_failed_is_no_obstacle(tmp_path):
    folder = copied("multigrid", tmp_path)
    (folder / "charges-run").mkdir()
    on_a_cluster("sbatch --wait charges.sbatch; sbatch --wait charges.sbatch", folder)
    assert len(ended(folder / "charges-run")["sessions"]) == 1  # the second job had nothing to do


@pytest.mark.long
def test_hazard_asks_slurm_for_nodes(tmp_path):
    """By the example's Parsl configuration; curves are those of this machine alone, to the byte."""
    pytest.importorskip("parsl")
    folders = []
    for where in ("nodes", "here"):
        (tmp_path / where).mkdir()
        folders.append(copied("hazard", tmp_path / where))
    on_a_cluster("craton hazard run basin.toml --parsl-config slurm_nodes.py", folders[0])
    subprocess.run(
        command_of("hazard", "run", "basin.toml"),
        cwd=folders[1],
        check=True,
        env=environment_without_mpi(),
        timeout=SECONDS_ALLOWED,
    )
    on_nodes, here = (folder / "basin-run" for folder in folders)
    for name in (*CURVES, "hazard.h5"):
        assert (on_nodes / name).read_bytes() == (here / name).read_bytes(), name


CUT_OFF = """
sbatch layer.sbatch
for _ in $(seq 600); do [ -e layer-run/checkpoint.h5 ] && break; sleep 0.1; done
scancel --name layer
while [ -n "$(squeue --noheader)" ]; do sleep 0.2; done
"""


@pytest.mark.long
def test_a_job_that_was_cut_off_goes_on(tmp_path):
    """Slurm ends it (scancel) while it computes; the same script, submitted again, ends with what an undisturbed job has."""
    results = []
    for cut_off in (False, True):
        (tmp_path / str(cut_off)).mkdir()
        folder = copied("waves", tmp_path / str(cut_off))
        text = (folder / "layer.toml").read_text()
        assert "every_s = 5.0" in text
        (folder / "layer.toml").write_text(text.replace("every_s = 5.0", "every_steps = 100"))
        on_a_cluster((CUT_OFF if cut_off else "") + "sbatch --wait layer.sbatch", folder)
        record = ended(folder / "layer-run")
        assert len(record["sessions"]) == 1 + cut_off
        assert not cut_off or record["resumed_at_step"] >= 100
        results.append(datasets(folder / "layer-run" / "seismograms.h5"))
    assert results[0].keys() == results[1].keys()
    for name, values in results[0].items():
        np.testing.assert_array_equal(values, results[1][name], err_msg=name)


SETTINGS = """
import json, os, socket
from mpi4py import MPI
names = ("CRATON_", "OMP_", "OPENBLAS_", "MKL_", "BLIS_", "PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
mine = {name: value for name, value in os.environ.items() if name.startswith(names) and name != "CRATON_LAUNCHED"}
all = MPI.COMM_WORLD.gather((socket.gethostname(), mine))
if MPI.COMM_WORLD.rank == 0:
    print("SETTINGS", json.dumps(all))
"""


@pytest.mark.long
def test_both_nodes_have_the_same_settings(tmp_path):
    (tmp_path / "settings.py").write_text(SETTINGS)
    (tmp_path / "job.sbatch").write_text(
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --output=job.log\n"
        "export OMP_NUM_THREADS=3 OPENBLAS_NUM_THREADS=2 CRATON_NO_SUCH_THING=yes\n"
        'python -c "import sys; from craton._launch import run_under_mpi; '
        "sys.exit(run_under_mpi(['settings.py'], 2, program=[sys.executable]))\"\n"
    )
    on_a_cluster("sbatch --wait job.sbatch", tmp_path)
    line = next(line for line in (tmp_path / "job.log").read_text().splitlines() if line.startswith("SETTINGS"))
    (first, one), (second, other) = json.loads(line.removeprefix("SETTINGS "))
    assert {first, second} == {"n1", "n2"}
    assert one == other
    assert (one["OMP_NUM_THREADS"], one["OPENBLAS_NUM_THREADS"], one["CRATON_NO_SUCH_THING"]) == ("3", "2", "yes")
