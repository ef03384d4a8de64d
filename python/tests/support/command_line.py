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
from pathlib import Path

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
        "environment": environment_without_mpi(**ONE_THREAD | environment),
    }
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as error:
        code = the_server().run(request, [output.fileno(), error.fileno()], seconds)
        said = []
        for stream in (output, error):
            stream.seek(0)
            said.append(stream.read())
    return subprocess.CompletedProcess(command, code, *said)


def started(
    *arguments: object, cwd: Path | None = None, seconds: float = 60, **environment: str
) -> subprocess.CompletedProcess[str]:
    """By an interpreter that starts for it: where the start itself is looked at, or settings that are read there."""
    env = environment_without_mpi(**environment)
    return subprocess.run(
        command_of(*arguments), cwd=cwd, capture_output=True, text=True, timeout=seconds, env=env, check=False
    )


ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


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
                env=environment_without_mpi(**ONE_THREAD),
                start_new_session=True,
            )
        atexit.register(self.close)

    def run(self, request: dict, descriptors: list[int], seconds: float) -> int:
        """Its exit code; -N if signal N ended it."""
        socket.send_fds(self.channel, [json.dumps(request).encode()], descriptors)
        self.channel.settimeout(None)
        process = self._answer()
        self.channel.settimeout(seconds)
        try:
            return self._answer()
        except BaseException as ended:  # the time is over, or somebody has typed Ctrl-C
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
            self.close()
            if isinstance(ended, TimeoutError):
                raise subprocess.TimeoutExpired(request["words"], seconds) from None
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
