"""Runs the command `craton` as a user would, in a process of its own."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from helpers import command_of, environment_without_mpi

READ_AT_START = (
    "OMP_",
    "OPENBLAS_",
    "MPL",
    "PYTHON",
    "LD_",
    "XDG_",
    "HOME",
    "TERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "NUMBA_",
)
"""Where one of these is to be another, an interpreter must start with it."""


def craton(
    *arguments: object, cwd: Path | None = None, seconds: float = 60, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The command, forked from a process that has imported what it needs: exit code, output and error are those of `started`.

    A time-out is a failure: bad input must not hang.
    """
    if any(name.startswith(READ_AT_START) for name in environment):
        return started(*arguments, cwd=cwd, seconds=seconds, **environment)
    return _forked({"words": command_of(*arguments)[3:]}, command_of(*arguments), cwd, seconds, environment)


def program(
    file: Path, *arguments: object, cwd: Path | None = None, seconds: float = 300, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`python FILE ARGUMENTS` on one rank, forked as `craton` is."""
    assert not any(name.startswith(READ_AT_START) for name in environment), "an interpreter must start with these"
    words = [str(word) for word in arguments]
    request = {"words": words, "program": str(file)}
    return _forked(request, [sys.executable, str(file), *words], cwd, seconds, environment)


def _forked(
    request: dict, command: list[str], cwd: Path | None, seconds: float, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    request |= {
        "cwd": str(cwd or os.getcwd()),
        "environment": environment_without_mpi(**OF_COMMANDS | environment),
    }
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as error:
        try:
            code = the_server().run(request, [output.fileno(), error.fileno()], seconds)
        except TimeoutError:
            said = "".join(f"\n{_content(stream)}" for stream in (output, error))
            raise AssertionError(f"{' '.join(request['words'])}: not over after {seconds} s{said}") from None
        return subprocess.CompletedProcess(command, code, _content(output), _content(error))


def _content(stream: IO[str]) -> str:
    stream.seek(0)
    return stream.read()


def started(
    *arguments: object, cwd: Path | None = None, seconds: float = 60, **environment: str
) -> subprocess.CompletedProcess[str]:
    """By an interpreter that starts for it: where the start itself is looked at, or settings that are read there."""
    env = environment_without_mpi(**environment)
    return subprocess.run(
        command_of(*arguments), cwd=cwd, capture_output=True, text=True, timeout=seconds, env=env, check=False
    )


OF_COMMANDS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}
"""What commands run with; the last makes SIGABRT say where a process is."""


def _ask_where_they_are(process: int) -> None:
    """Python in a process and its descendants says on its standard error where it is, and ends: ranks before their parents."""
    generation, seconds_to_pass_on = [process], 2.0
    generations = []
    while generation:
        generations.append(generation)
        generation = [child for parent in generation for child in _children(parent)]
    for generation in reversed(generations):
        python = [one for one in generation if "python" in os.path.basename(os.path.realpath(f"/proc/{one}/exe"))]
        for one in python:
            with contextlib.suppress(OSError):
                os.kill(one, signal.SIGABRT)  # by PYTHONFAULTHANDLER
        time.sleep(seconds_to_pass_on if python else 0.0)


def _children(process: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


class Server:
    """command_server.py as its parent sees it: one command at a time."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self.process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("command_server.py")), str(other.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                env=environment_without_mpi(**OF_COMMANDS),
                start_new_session=True,
            )
        atexit.register(self.close)

    def run(self, request: dict, descriptors: list[int], seconds: float) -> int:
        """Its exit code; -N if signal N ended it. TimeoutError after so many seconds: it is ended, and has said where it was."""
        socket.send_fds(self.channel, [json.dumps(request).encode()], descriptors)
        self.channel.settimeout(None)
        process = self._answer()
        self.channel.settimeout(seconds)
        try:
            return self._answer()
        except BaseException as ended:  # the time is over, or somebody has typed Ctrl-C
            if isinstance(ended, TimeoutError):
                _ask_where_they_are(process)
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
            self.close()
            raise

    def _answer(self) -> int:
        said = self.channel.recv(64)
        assert said, "the server of commands has ended"
        return int(said)

    def close(self) -> None:
        if os.getpid() == self.owner:
            self.channel.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=5)


_servers: list[Server] = []


def the_server() -> Server:
    """This process's one; a new one where there is none, or the last was closed."""
    if not _servers or _servers[-1].owner != os.getpid() or _servers[-1].channel.fileno() == -1:
        _servers.append(Server())
    return _servers[-1]
