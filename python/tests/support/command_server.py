"""A process that has imported what the command `craton` needs and forks for each command: a second less than an interpreter.

    python command_server.py FD

takes a request from the socket FD, {"words": [...], "cwd": "...", "environment": {...}} as JSON with the descriptors of standard
output and standard error, and answers with the process and then with its exit status. With "program": "FILE" it runs that file
with these words instead of the command. It has not started MPI: each command does, as in a process that was started for it alone.
command_line.py is the other end.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import socket
import sys
import traceback

LONGEST_REQUEST = 1 << 18
BEFOREHAND = (
    "craton.commands.main",
    "craton.pages.maps",
    "craton.pages.page",
    "h5py",
    "jinja2",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "numpy.random",
    "rich.progress",
    "rich.table",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse.linalg",
    "scipy.spatial",
    "scipy.special",
)
"""None of them starts MPI."""


def next_command(channel: socket.socket) -> dict | None:
    """In the server: never returns but at its end, with None. In the process of a command: what it has to do."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, LONGEST_REQUEST, 2)
        if not message:
            return None
        process = os.fork()
        if process == 0:
            channel.close()
            for number, descriptor in zip((1, 2), descriptors, strict=True):
                os.dup2(descriptor, number)
                os.close(descriptor)
            return json.loads(message)
        for descriptor in descriptors:
            os.close(descriptor)
        channel.send(str(process).encode())
        _, status = os.waitpid(process, 0)
        channel.send(str(os.waitstatus_to_exitcode(status)).encode())


def become(command: dict) -> int:
    """As if the shell had started `python -m craton.commands.main WORDS`, or `python FILE WORDS`, there; returns the exit code."""
    os.chdir(command["cwd"])
    os.environ.clear()
    os.environ.update(command["environment"])
    main = importlib.import_module("craton.commands.main")
    program = command.get("program")
    sys.argv = [program or main.__file__, *command["words"]]
    try:
        if program:
            sys.path.insert(0, os.path.dirname(program))
            runpy.run_path(program, run_name="__main__")
        else:
            main.main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def end(code: int) -> None:
    """Without taking the interpreter to pieces: that touches all memory that is shared with the server, and takes a second."""
    atexit._run_exitfuncs()
    if "mpi4py.MPI" in sys.modules:
        from mpi4py import MPI

        if MPI.Is_initialized() and not MPI.Is_finalized():
            MPI.Finalize()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file: a command does not have it
    for name in BEFOREHAND:
        importlib.import_module(name)
    with contextlib.redirect_stdout(io.StringIO()):
        importlib.import_module("craton.commands.main").invoke(["--version"])  # what the first command imports
    assert "mpi4py.MPI" not in sys.modules
    gc.freeze()
    request = next_command(socket.socket(fileno=int(sys.argv[1])))
    if request is not None:
        end(become(request))
