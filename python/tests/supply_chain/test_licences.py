"""Licences that packages declare, and which of them pyproject.toml allows where (tools/check_licences)."""

from email.message import Message
from types import SimpleNamespace

import pytest
from tool_programs import tool

check_licences = tool("check_licences")


def metadata(**fields: str | list[str]) -> Message:
    """The metadata of a package; `_` in a field's name stands for a hyphen."""
    message = Message()
    for name, values in fields.items():
        for value in [values] if isinstance(values, str) else values:
            message[name.replace("_", "-")] = value
    return message


BSD = "License :: OSI Approved :: BSD License"
MIT = "License :: OSI Approved :: MIT License"


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ({"License_Expression": "mit and BSD-3-Clause"}, "MIT AND BSD-3-Clause"),
        ({"License_Expression": "MIT", "License": "GPL-3.0-only"}, "MIT"),
        ({"License": "BSD-2-Clause", "Classifier": BSD}, "BSD-2-Clause"),
        ({"License": "The terms\n        of several lines", "Classifier": MIT}, "MIT"),
        ({"License": "GPL", "Classifier": BSD}, "LicenseRef-BSD"),
        ({"Classifier": ["Programming Language :: C", MIT, MIT]}, "MIT"),
        ({"Classifier": [BSD, MIT]}, ""),  # both together, or one of them? The package does not say
        ({"License": "ask us"}, ""),
        ({}, ""),
    ],
)
def test_declared_licence(fields, licence):
    assert check_licences.declared(metadata(**fields)) == licence


RULES = {
    "everywhere": ["MIT", "BSD-3-Clause"],
    "stated": {"quiet": "BSD-3-Clause"},
    "exceptions": [{"licence": "LGPL-3.0-only", "packages": ["seismic"], "locks": ["development"], "reason": "tests"}],
}
HELD = {
    "demo": [("plain", "1.0", ""), ("absent", "1.0", "sys_platform == 'win32'")],
    "development": [("plain", "1.0", ""), ("quiet", "2.0", ""), ("seismic", "3.0", "")],
}
LICENCES = {"plain": "MIT OR GPL-3.0-only", "quiet": "", "seismic": "LGPL-3.0-only AND MIT"}


def found_with(*, rules=RULES, held=HELD, licences=LICENCES, versions=None):
    locks = {lock: [check_licences.Package(*each) for each in packages] for lock, packages in held.items()}
    of_locks = {name: version for packages in held.values() for name, version, _ in packages}
    installed = {
        name: SimpleNamespace(
            version=(versions or of_locks)[name],
            metadata=metadata(**({"License_Expression": licence} if licence else {})),
        )
        for name, licence in licences.items()
    }
    return list(check_licences.findings(locks, installed, rules))


def test_allowed_licences_and_exceptions():
    assert found_with() == []


def test_licence_that_nothing_allows():
    [found] = found_with(licences=LICENCES | {"plain": "GPL-3.0-only"}, held=HELD | {"demo": []})
    assert (
        found
        == "plain 1.0 of locks/development.lock has the licence GPL-3.0-only, which pyproject.toml does not allow there"
    )


def test_exception_holds_for_its_locks_alone():
    [found] = found_with(held=HELD | {"demo": [("seismic", "3.0", "")]})
    assert found.startswith("seismic 3.0 of locks/demo.lock has the licence LGPL-3.0-only AND MIT")


def test_both_licences_must_be_allowed_where_both_hold():
    [found] = found_with(licences=LICENCES | {"seismic": "LGPL-3.0-only AND AGPL-3.0-only"})
    assert "AGPL-3.0-only" in found


def test_package_without_a_licence():
    [found] = found_with(rules=RULES | {"stated": {}})
    assert found.startswith("quiet 2.0 of locks/development.lock declares no licence")


def test_other_version_or_none_installed():
    versions = {"plain": "1.0", "quiet": "2.1", "seismic": "3.0"}
    [found] = found_with(versions=versions)
    assert found.startswith("quiet 2.0 of locks/development.lock is installed as 2.1")
    [found] = found_with(licences={name: LICENCES[name] for name in ("plain", "seismic")})
    assert found.startswith("quiet 2.0 of locks/development.lock is not installed")


def test_rules_that_nothing_needs():
    found = found_with(licences=LICENCES | {"quiet": "MIT"})
    assert found == ["[tool.craton.licences.stated] has quiet, which now declares MIT itself"]
    found = found_with(rules=RULES | {"stated": RULES["stated"] | {"gone": "MIT"}})
    assert found == ["[tool.craton.licences.stated] has gone, which is in no lock"]
    gone = {"licence": "MPL-2.0", "packages": ["gone"], "locks": ["demo"], "reason": "tests"}
    found = found_with(rules=RULES | {"exceptions": [*RULES["exceptions"], gone]})
    assert found == ["[[tool.craton.licences.exceptions]] for MPL-2.0 has gone, which is in no lock"]


def test_declared_licence_where_a_missing_field_is_an_error():
    """The package importlib_metadata, once imported, hands out metadata whose square brackets raise KeyError."""

    class Strict(Message):
        def __getitem__(self, name):
            if name not in self:
                raise KeyError(name)
            return super().__getitem__(name)

    strict = Strict()
    strict["License"] = "BSD-2-Clause"
    assert check_licences.declared(strict) == "BSD-2-Clause"
    assert check_licences.declared(Strict()) == ""
