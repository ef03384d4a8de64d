"""Striping and aggregation of a wave run's files: checked, and passed on to MPI-IO with each of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("mpi4py.MPI")

from craton import UserError
from craton.seismology.wave_run.config import load_config
from craton.waves.file_hints import file_hints
from helpers import environment_without_mpi
from wave_config import write_config

RUN = "[run]\nstriping_factor = 8\nstriping_unit_mb = 4.0\ncb_nodes = 2\n\n[grid]\nsize_km"


def test_hints_have_the_names_of_mpi(tmp_path):
    config = load_config(write_config(tmp_path, ("[grid]\nsize_km", RUN)))
    assert file_hints(config) == {"striping_factor": "8", "striping_unit": "4194304", "cb_nodes": "2"}
    assert file_hints(config, 0.0625)["striping_unit"] == "65536"
    assert file_hints(load_config(write_config(tmp_path))) == {}


@pytest.mark.parametrize(
    ("table", "line", "words"),
    [
        ("run", "striping_factor = -1", "striping_factor = -1; allowed: a whole number in [0, 100000]"),
        ("run", "cb_nodes = 2.0", "cb_nodes = 2.0; allowed: a whole number in [0, 1000000]"),
        (
            "run",
            "striping_unit_mb = 0.1",
            "striping_unit_mb = 0.1; allowed: 0, or a multiple of 0.0625 MB (64 KiB) below 4096",
        ),
        ("run", "striping_unit_mb = 4096.0", "striping_unit_mb = 4096.0; allowed: 0, or a multiple of 0.0625 MB"),
        ("run", "striping_unit_mb = -1.0", "striping_unit_mb = -1.0; allowed: 0, or a multiple of 0.0625 MB"),
        ("sgt", "stripe_mb = 0.3", "stripe_mb = 0.3; allowed: 0, or a multiple of 0.0625 MB"),
    ],
)
def test_what_no_file_system_takes_is_refused(tmp_path, table, line, words):
    text = "[grid]\nsize_km" if table == "run" else f"[{table}]\n"
    path = write_config(tmp_path, (text, f"[{table}]\n{line}\n" + (text if table == "run" else "")))
    with pytest.raises(UserError) as caught:
        load_config(path)
    assert words in str(caught.value) and f"[{table}]" in str(caught.value)


# Ranks that ask for different hints are told so by what opens the file: it has got them.
DIFFERENT = """
from pathlib import Path

import craton
from craton._launch import main_guard
from craton.seismology.wave_run.config import load_config
from craton.seismology.wave_run.folder import WavesFolder
from craton.waves.outputs import open_outputs
from craton.waves.simulation import Simulation
from mpi4py import MPI

NONE = {"receivers": {"stations": []}, "sgt": {"points": ""}, "snapshots": {"every": 0}, "movie": {"every": 0}}

with main_guard():
    comm = MPI.COMM_WORLD
    world = craton.World(comm)
    Path("out").mkdir(exist_ok=True)
    for only in (*NONE, "checkpoint"):
        config = load_config("small.toml").replaced("run", cb_nodes=1 + comm.rank, striping_factor=3, striping_unit_mb=0.5)
        for table, values in NONE.items():
            if table != only:
                config = config.replaced(table, **values)
        simulation = Simulation(config, world, comm)
        try:
            if only == "checkpoint":
                simulation.save("out/checkpoint.h5")
            else:
                open_outputs(simulation, WavesFolder("out"))
        except craton.UserError as error:
            if comm.rank == 1:
                print(only, error, flush=True)
        simulation.finish()
"""


def test_every_file_gets_them(tmp_path):
    write_config(tmp_path)
    (tmp_path / "different.py").write_text(DIFFERENT)
    command = [
        sys.executable,
        "-c",
        "from craton._launch import run_under_mpi; import sys; "
        "sys.exit(run_under_mpi(['different.py'], 2, program=[sys.executable]))",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=environment_without_mpi(), check=False
    )
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert list(told) == ["receivers", "sgt", "snapshots", "movie", "checkpoint"], done.stdout + done.stderr
    for line in told.values():
        assert "cb_nodes=2; striping_factor=3; striping_unit=524288 but rank 0 for" in line
        assert "cb_nodes=1; striping_factor=3; striping_unit=524288; allowed: the same hints" in line
