"""Processes that end when their parent does, by kill -9 too.

As a program, `python _with_parent.py COMMAND [ARGUMENT ...]` becomes the command. It imports no more than this file, not even the
package that it is in, since it may be on the way of each start.
"""

import ctypes  # here, not in a child between its fork and its program, where other threads' locks may be held
import os
import signal
import sys

__all__ = ["die_with_parent"]


def die_with_parent() -> None:
    """Linux: this process, and what it becomes, is terminated if its parent disappears."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGTERM)


if __name__ == "__main__":
    die_with_parent()
    os.execvp(sys.argv[1], sys.argv[1:])
