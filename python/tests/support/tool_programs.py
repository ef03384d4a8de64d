"""Programs of the folder tools/, as modules."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TOOLS = Path(__file__).resolve().parents[3] / "tools"


def tool(name: str) -> ModuleType:
    """What the file tools/NAME defines; its modules beside it are found."""
    loader = importlib.machinery.SourceFileLoader(f"tool_{name}", str(TOOLS / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(TOOLS))
    try:
        loader.exec_module(module)
    finally:
        sys.path.remove(str(TOOLS))
    return module
