"""_craton.pyi says what the extension has: no name more, no name less."""

import ast
from pathlib import Path

import craton
import pytest
from craton import _craton

STUB = ast.parse((Path(craton.__file__).parent / "_craton.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def names_in(body):
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def names_of_class(name):
    """Its own and those of its bases in the stub."""
    found = set(names_in(CLASSES[name].body))
    for base in CLASSES[name].bases:
        of = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(of, ast.Name) and of.id in CLASSES:
            found |= names_of_class(of.id)
    return found


def test_functions_are_those_of_the_extension():
    described = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef)}
    built_in = {
        name for name in dir(_craton) if not name.startswith("__") and not isinstance(getattr(_craton, name), type)
    }
    assert described == built_in


# The bases, whose names begin with _, are drawn together in the stub: what is said of them is tested with what derives from them.
PUBLIC = [name for name in dir(_craton) if isinstance(getattr(_craton, name), type) and not name.startswith("_")]


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "UserError"])
def test_classes_have_what_is_described(name):
    kind, described = getattr(_craton, name), names_of_class(name)
    has = {member for member in dir(kind) if not member.startswith("_")}
    assert {member for member in described if not member.startswith("_")} == has
    for member in described - has:
        assert hasattr(kind, member), member
