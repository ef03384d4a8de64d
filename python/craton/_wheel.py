"""An installed wheel: where its extensions lie."""

from __future__ import annotations

from pathlib import Path

__all__ = ["BUILDS"]

BUILDS = Path(__file__).with_name("_builds")
"""Folders MPI/LEVEL with an extension each; not there where the extension was compiled on this machine."""
