"""Processes that end when their parent does, by kill -9 too.

As a program, `python _with_parent.py PID COMMAND [ARGUMENT ...]` becomes the command, which ends when its parent, of that PID,
does. It needs the standard library alone, not the package that it is in: it may be on the way of each start.
"""

import ctypes
import os
import signal
import sys

__all__ = ["die_with_parent"]

SET_PARENT_DEATH_SIGNAL = 1
# Found here: between a fork and its program other threads' locks may be held for ever.
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
if _prctl is not None:
    _prctl.argtypes = [ctypes.c_int, ctypes.c_ulong]


def die_with_parent() -> None:
    """Linux: this process, and what it becomes, is terminated when the thread that started it ends."""
    if _prctl is not None:
        _prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def main(parent: int, command: list[str]) -> int:
    """Becomes the command; the exit status where it cannot."""
    die_with_parent()
    if os.getppid() != parent:  # it was gone before
        return 128 + signal.SIGTERM
    try:
        os.execvp(command[0], command)
    except OSError as problem:
        print(f"{command[0]}: does not start: {problem.strerror}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
