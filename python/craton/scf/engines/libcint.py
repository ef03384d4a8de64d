"""Where libcint is."""

from __future__ import annotations

from craton._craton import IntegralLibrary
from craton.scf.found_library import find_library


def find_libcint() -> str:
    """As find_library, with CRATON_LIBCINT. UserError where there is none."""
    return find_library("libcint", "CRATON_LIBCINT", ("lib/deps/lib/libcint.so", "lib/libcint.so"), "cint")


def open_libcint(path: str | None = None) -> IntegralLibrary:
    """The integral library at `path`, or the one that find_libcint finds. UserError where that is not one."""
    return IntegralLibrary(path or find_libcint())
