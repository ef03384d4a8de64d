"""What `craton doctor` looks at: the libraries and traits of the machine that Craton's working or speed depend on."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import craton
from craton import _craton
from craton._launch import mpiexec_command, usable_cores
from craton.errors import UserError
from craton.runs import process_memory

__all__ = ["Finding", "examine", "show"]

Status = Literal["ok", "warn", "fail"]

GIB = 2.0**30


@dataclass(frozen=True)
class Finding:
    """One line of the table."""

    name: str
    status: Status
    value: str
    advice: str = ""

    @classmethod
    def judged(cls, name: str, wrong: object, value: str, advice: str) -> Finding:
        """A warning, with the advice, where something is wrong; else "ok"."""
        return cls(name, "warn", value, advice) if wrong else cls(name, "ok", value)

    def to_dict(self) -> dict[str, str]:
        """Plain text, for JSON."""
        return asdict(self)


def examine() -> list[Finding]:
    """All findings. An examination that itself fails becomes a finding."""
    findings: list[Finding] = []
    for name, look in EXAMINATIONS.items():
        try:
            findings += look()
        except Exception as error:
            findings.append(Finding(name, "fail", f"{type(error).__name__}: {' '.join(str(error).split())}"))
    return findings


def show(findings: list[Finding]) -> None:
    """The table for people."""
    from rich.markup import escape
    from rich.table import Table

    from craton.runs.progress import make_console

    table = Table(title="craton doctor", title_justify="left")
    for heading in ("", "what", "found"):
        table.add_column(heading, overflow="fold")
    marks = {"ok": "[green]ok[/green]", "warn": "[yellow]warn[/yellow]", "fail": "[red]FAIL[/red]"}
    for finding in findings:
        advice = f"\n[bold]{escape(finding.advice)}[/bold]" if finding.advice else ""
        table.add_row(marks[finding.status], finding.name, escape(finding.value) + advice)
    make_console().print(table)


def _python() -> Iterator[Finding]:
    yield Finding("Python", "ok", f"{platform.python_version()} ({sys.executable})")


def _craton_itself() -> Iterator[Finding]:
    build = craton.build_info()
    text = ", ".join(build.get(key, "?") for key in ("commit", "build_type", "compiler", "flags"))
    slow = build.get("build_type", "Release").lower() in {"debug", ""}
    yield Finding.judged("craton", slow, f"{craton.__version__} ({text})", "a debug build is slow: rebuild as Release")


def _mpi() -> Iterator[Finding]:
    ours = _craton.mpi_library_version().strip("\0 \n").splitlines()[0]
    try:
        craton.check_mpi()
    except ImportError as error:
        yield Finding("MPI", "fail", str(error), "pip install --no-binary mpi4py --force-reinstall mpi4py")
        return
    yield Finding("MPI", "ok", f"{ours} (craton and mpi4py {metadata.version('mpi4py')})")
    from mpi4py import MPI

    names = {getattr(MPI, name): name for name in dir(MPI) if name.startswith("THREAD_")}
    level = MPI.Query_thread()
    found = names.get(level, f"THREAD_{level}")
    if level == MPI.THREAD_MULTIPLE:
        yield Finding("MPI threads", "ok", found)
    else:
        advice = "worker threads need MULTIPLE: use an MPI built with it, and do not lower mpi4py.rc.thread_level"
        yield Finding("MPI threads", "fail", found, advice)


def _mpiexec() -> Iterator[Finding]:
    try:
        command = mpiexec_command()
    except UserError as error:
        yield Finding("mpiexec", "warn", str(error), "only --ranks needs it")
        return
    asked = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, timeout=20)
    said = [line.strip() for line in asked.stdout.splitlines() if line.strip()]
    version = next(
        (line for line in said if re.search(r"\d+\.\d+", line)), "version unknown"
    )  # MPICH's first line has none
    theirs, ours = (re.search(r"\d+\.\d+\.\d+", text) for text in (version, _craton.mpi_library_version()))
    other = theirs and ours and theirs[0] != ours[0]
    advice = f"the library is {ours and ours[0]}: put its own mpiexec first on PATH, or in CRATON_MPIEXEC"
    yield Finding.judged("mpiexec", other, f"{version} ({command[0]})", advice)


def _blas() -> Iterator[Finding]:
    check = _craton.blas_check()
    wanted = craton.openblas_core()
    asked = os.environ.get("OPENBLAS_CORETYPE")
    how = f"asked for {wanted}" if wanted else "its own choice"
    if asked:
        how = f"OPENBLAS_CORETYPE={asked} of the environment"
    cure = (
        f"OpenBLAS runs kernels for narrower registers than this processor's {check['units']}: "
        f"export OPENBLAS_CORETYPE={wanted or 'Haswell'}"
    )
    kernels = f"{check['core']} ({how}; {craton.build_info().get('blas', '?')})"
    yield Finding.judged("BLAS kernels", check["mistaken"], kernels, cure)
    per_cycle, clock = check["flops_per_cycle"], check["clock_ghz"]
    rates = (
        ("sgemm", check["sgemm_gflops"], check["sgemm_peak"], per_cycle),
        ("dgemm", check["dgemm_gflops"], check["dgemm_peak"], per_cycle // 2),
    )
    for name, rate, peak, flops in rates:
        yield Finding(
            f"{name}, 1 thread",
            "warn" if check["slow"] else "ok",
            f"{rate:.0f} GFLOP/s, {rate / peak:.0%} of the {peak:.0f} that one core's {check['units']} units can do "
            f"({flops} flop/cycle, {clock:.2f} GHz measured)",
            check["remedy"],
        )


def _scalapack() -> Iterator[Finding]:
    """It tells no version itself; the file that was loaded does."""
    name = craton.build_info().get("scalapack") or _loaded_library("scalapack")
    yield Finding("ScaLAPACK", "ok", name or "linked statically")


def _hdf5() -> Iterator[Finding]:
    import h5py

    yield Finding(
        "HDF5",
        "ok",
        f"{craton.build_info().get('hdf5', '?')} (craton), {h5py.version.hdf5_version} (h5py {h5py.__version__})",
    )


def _processor() -> Iterator[Finding]:
    usable = usable_cores()
    quota = _cgroup_cores()
    text = f"{usable} usable of {os.cpu_count()}, {_cpuinfo('model name') or platform.processor()}"
    if quota is None or quota >= usable:
        yield Finding("cores", "ok", text)
    else:
        advice = f"more than {max(1, int(quota))} ranks times threads will be slowed down"
        yield Finding("cores", "warn", f"{text}; a quota allows {quota:g}", advice)


def _memory() -> Iterator[Finding]:
    total, available = process_memory.total_bytes(), process_memory.available_bytes()
    side = int((0.5 * available / 4) ** 0.5)
    yield Finding(
        "memory",
        "ok",
        f"{available / GIB:.1f} GiB free of {total / GIB:.1f}; half of it holds a float32 Hessian "
        f"of {side // 1000 * 1000} unknowns",
    )


def _temporary_space() -> Iterator[Finding]:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free / GIB
    yield Finding.judged(
        "temporary space", free < 1, f"{free:.1f} GiB free in {folder}", "Open MPI keeps its session there"
    )


def _shared_memory() -> Iterator[Finding]:
    """Neighbouring ranks open each other's anonymous memory files: try it between this process and a child."""
    descriptor = os.memfd_create("craton-doctor")
    try:
        os.write(descriptor, b"shared")
        path = f"/proc/{os.getpid()}/fd/{descriptor}"
        reader = "import sys; sys.exit(0 if open(sys.argv[1], 'rb').read() == b'shared' else 1)"
        done = subprocess.run([sys.executable, "-S", "-c", reader, path], capture_output=True, timeout=20, check=False)
    finally:
        os.close(descriptor)
    if done.returncode == 0:
        yield Finding("shared memory", "ok", "ranks of a machine can map each other's memory (memfd through /proc)")
    else:
        found = "memory files of a neighbour cannot be opened; every update will be a message"
        cure = "a container may hide /proc or forbid it: start it with --cap-add=SYS_PTRACE, or without a hidepid mount"
        yield Finding("shared memory", "warn", found, cure)


EXAMINATIONS: dict[str, Callable[[], Any]] = {
    "Python": _python,
    "craton": _craton_itself,
    "MPI": _mpi,
    "mpiexec": _mpiexec,
    "BLAS": _blas,
    "ScaLAPACK": _scalapack,
    "HDF5": _hdf5,
    "cores": _processor,
    "memory": _memory,
    "temporary space": _temporary_space,
    "shared memory": _shared_memory,
}


def _cpuinfo(key: str) -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() == key), "")


def _loaded_library(part: str) -> str:
    """Path of a shared library of this process, with the version that its links lead to."""
    paths = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
    return next((os.path.realpath(path) for path in sorted(paths) if part in os.path.basename(path)), "")


def _cgroup_cores() -> float | None:
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else float(quota) / float(period)
