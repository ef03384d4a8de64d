"""Runs a command that ends when its parent does, by kill -9 too: python -m craton.tasks.with_parent COMMAND [ARGUMENT ...]."""

from __future__ import annotations

import os
import sys

from craton._launch import _die_with_parent

if __name__ == "__main__":
    _die_with_parent()
    os.execvp(sys.argv[1], sys.argv[1:])
