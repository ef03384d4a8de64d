"""OpenQuake's hazardlib with those of its ground-motion models that are asked for, and no others.

Importing hazardlib imports every module of openquake.hazardlib.gsim and the tables of some, which takes minutes on a busy machine.
Here that package is put in place without running its __init__; a model's own module is imported when the model is wanted. Whoever
asks the package for all its models (get_available_gsims) gets them, at that price.

hazardlib also has numba compile some fifty functions for given types while it is imported: a minute of a core the first time, in
every new environment. Imported from here, each is compiled when it is first called, for the types that it is called with.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["load", "model_class"]

GSIM = "openquake.hazardlib.gsim"


def load(parts: Sequence[str] = ()) -> Any:
    """openquake.hazardlib with modules of it. ImportError without it."""
    if GSIM not in sys.modules:
        _put_in_place()
    with _compiled_when_called():
        from openquake import hazardlib as library

        for part in parts:
            importlib.import_module(f"openquake.hazardlib.{part}")
    library.gsim = sys.modules[GSIM]
    return library


def model_class(name: str) -> Any:
    """What makes the model of that name; None where hazardlib has none. Imports the module that it is in."""
    registry: dict[str, Any] = importlib.import_module(f"{GSIM}.base").registry
    if name not in registry:
        for module in _modules_with(name):
            importlib.import_module(module)
    return registry.get(name)


@contextlib.contextmanager
def _compiled_when_called() -> Iterator[None]:
    """Decorators of numba forget the types that a function is declared for: it is not compiled before it is called."""
    try:
        import numba
    except ImportError:  # hazardlib says what it needs
        yield
        return
    own = {name: getattr(numba, name) for name in ("njit", "vectorize")}

    def without_types(decorator: Callable[..., Any]) -> Callable[..., Any]:
        def made(*given: Any, **settings: Any) -> Any:
            is_function = bool(given) and callable(given[0]) and hasattr(given[0], "__code__")
            return decorator(*given[: int(is_function)], **settings)

        return made

    for name, decorator in own.items():
        setattr(numba, name, without_types(decorator))
    try:
        yield
    finally:
        for name, decorator in own.items():
            setattr(numba, name, decorator)


def _modules_with(name: str) -> list[str]:
    """Of hazardlib's models: those that define a class or an alias of that name."""
    if not name.isidentifier():
        return []
    wanted = re.compile(rf"^class {name}\b|add_alias\(\s*['\"]{name}['\"]", re.MULTILINE)
    (folder,) = map(Path, sys.modules[GSIM].__path__)
    found = [file for file in sorted(folder.rglob("*.py")) if wanted.search(file.read_text(encoding="utf-8"))]
    return [".".join([GSIM, *file.relative_to(folder).with_suffix("").parts]) for file in found]


def _put_in_place() -> None:
    """The package of models, with its path but without what it imports, until somebody asks for all."""
    parent = importlib.util.find_spec("openquake.hazardlib")
    spec = parent and PathFinder.find_spec(GSIM, parent.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise ImportError("no openquake.hazardlib")
    loader, package = spec.loader, importlib.util.module_from_spec(spec)
    package.__dict__["get_available_gsims"] = lambda: _available(package, loader)
    sys.modules[GSIM] = package


def _available(package: ModuleType, loader: Any) -> dict[str, Any]:
    """All models. While hazardlib itself is imported, which keeps them without looking: those that there are by then."""
    if not hasattr(sys.modules["openquake.hazardlib"], "gsim"):
        registry: dict[str, Any] = sys.modules[f"{GSIM}.base"].registry
        return registry
    loader.exec_module(package)
    found: dict[str, Any] = package.get_available_gsims()
    return found
