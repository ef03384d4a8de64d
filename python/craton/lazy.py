"""Names of a package that are loaded when first used, so that `import craton.waves` neither starts MPI nor loads SciPy."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]] | None = None
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package whose public names are loaded when they are first used.

    `homes`: module -> names. Without it they are those that the package imports under `if TYPE_CHECKING:`, so that one list serves
    editors, type checkers and this function. A name is looked up once; afterwards it is an attribute of the package like any other.
    AttributeError, with the names that there are, for an unknown one.
    """
    given = _imported_for_types(package) if homes is None else homes
    home_of = {name: module for module, names in given.items() for name in names}

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}; its names: {', '.join(sorted(home_of))}"
            )
        value = getattr(importlib.import_module(home_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*home_of, *(name for name in vars(sys.modules[package]) if name.startswith("__"))})

    return sorted(home_of), find, names


def _imported_for_types(package: str) -> dict[str, list[str]]:
    """Module -> names, of the package's block `if TYPE_CHECKING:`."""
    spec = sys.modules[package].__spec__
    source = getattr(spec and spec.loader, "get_source", lambda _: "")(package)
    return {
        str(line.module): [one.name for one in line.names]
        for block in ast.parse(source or "").body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for line in block.body
        if isinstance(line, ast.ImportFrom)
    }
