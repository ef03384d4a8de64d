"""The command `craton` before anything is imported, which takes most of a second: Ctrl-C ends it then without a traceback.

A package of its own, because `craton` begins with its extension.
"""

from __future__ import annotations

import signal


def main() -> None:
    """Runs the command line of this process, and exits."""
    # Whoever started this process may have decided otherwise, as a shell does for what runs in the background.
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from craton.commands.main import main as command

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command()
