"""Recipes, container, hooks and forms beside pyproject.toml and tools/bootstrap (tools/check_packaging)."""

import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("yaml")

from tool_programs import tool

check_packaging = tool("check_packaging")
sbom = tool("sbom")

LIBRARY, PYTHON = check_packaging.SPACK_LIBRARY, check_packaging.SPACK_PYTHON
CONDA, CONTAINER = check_packaging.CONDA, check_packaging.CONTAINER
WORKFLOW, HOOKS = check_packaging.WORKFLOW, check_packaging.HOOKS


def findings(texts: dict[str, str]) -> list[str]:
    return check_packaging.findings(check_packaging.pyproject(), texts)


def test_packaging_of_this_checkout_agrees():
    assert findings(check_packaging.texts_of_checkout()) == []


def test_forms_of_this_checkout_are_as_their_schemas_say():
    if not Path(sys.executable).with_name("check-jsonschema").exists():
        pytest.skip("check-jsonschema is not installed")
    assert list(check_packaging.wrong_forms()) == []


def test_form_that_is_not_as_its_schema_says_is_found(tmp_path, monkeypatch):
    if not Path(sys.executable).with_name("check-jsonschema").exists():
        pytest.skip("check-jsonschema is not installed")
    for name in (".github", "CITATION.cff"):
        source = check_packaging.ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    workflow = tmp_path / WORKFLOW
    workflow.write_text(workflow.read_text().replace("    timeout-minutes: 120\n", "", 1))
    form = tmp_path / ".github/ISSUE_TEMPLATE/bug.yml"
    form.write_text(form.read_text().replace("type: textarea", "type: textbox", 1))
    (tmp_path / ".github/ISSUE_TEMPLATE/config.yml").unlink()
    monkeypatch.setattr(check_packaging, "ROOT", tmp_path)
    without_end, wrong_type, missing = check_packaging.wrong_forms()
    assert "timeout-minutes" in without_end
    assert "textbox" in wrong_type
    assert missing == "there is no .github/ISSUE_TEMPLATE/config.yml"


@pytest.mark.parametrize(
    ("place", "old", "new", "finding"),
    [
        (
            "CITATION.cff",
            "version: 0.2.0",
            "version: 0.9.0",
            "CITATION.cff has version 0.9.0; CMakeLists.txt has 0.2.0",
        ),
        ("CMakeLists.txt", "VERSION 0.2.0", "VERSION 0.2.1", f"{CONDA} has version 0.2.0; CMakeLists.txt has 0.2.1"),
        (CONDA, 'version: "0.2.0"', 'version: "1"', f"{CONDA} has version 1; CMakeLists.txt has 0.2.0"),
        (LIBRARY, 'version("0.2.0")', 'version("0.3.0")', f"{LIBRARY} has version 0.3.0"),
        (PYTHON, "/craton-0.2.0.tar", "/craton-0.0.9.tar", f"{PYTHON} has version 0.0.9"),
        (PYTHON, "py-numpy@1.26:2", "py-numpy@1.26:", "lacks py-numpy@1.26:2, which pyproject.toml asks for"),
        (PYTHON, "py-rich@13:15", "py-riche@13:15", "has py-riche@13:15, which pyproject.toml does not ask for"),
        (PYTHON, "py-nanobind@2.4:3", "py-nanobind@2.4:4", "lacks py-nanobind@2.4:3"),
        (PYTHON, "python@3.11:", "python@3.9:", "lacks python@3.11:"),
        (PYTHON, '"hdf5@1.10:1+mpi"', '"silo"', "lacks hdf5 (Debian's libhdf5-openmpi-dev)"),
        (LIBRARY, '"netlib-scalapack"', '"scalapack"', "lacks netlib-scalapack (Debian's libscalapack-openmpi-dev)"),
        (LIBRARY, "CMakePackage, generator", "CMakePackage", f"{LIBRARY} calls generator and does not import it"),
        (CONDA, "scipy >=1.11,<2", "scipy >=1.11", "run, lacks scipy >=1.11,<2"),
        (CONDA, "matplotlib-base", "matplotlib", "run, has matplotlib >=3.8,<4"),
        (CONDA, "nanobind >=2.4,<4", "pybind11", "host, has pybind11"),
        (CONDA, "    - openblas\n", "", "lacks openblas (Debian's libopenblas-dev)"),
        (CONDA, "cmake >=3.25", "cmake", "lacks cmake >=3.25"),
        (CONDA, "<3.11", "<3.9", "does not skip Python below 3.11"),
        (
            "tools/bootstrap",
            "libfmt-dev",
            "libfmt-dev libpng-dev",
            "check_packaging lacks libpng-dev, which tools/bootstrap",
        ),
        ("tools/bootstrap", "packages=", "wanted=", "tools/bootstrap has no list of packages"),
        (CONTAINER, "ninja-build", "", "where it builds, lacks ninja-build, which tools/bootstrap asks for"),
        (CONTAINER, "libopenmpi3", "libopenmpi3 vim", "where it runs, has vim"),
        (CONTAINER, "libfmt9", "", "where it runs, lacks libfmt9"),
        (CONTAINER, "FROM debian:12-slim\n", "RUN true\n", "has 1 stages"),
        (HOOKS, "tools/check_storeys", "tools/check_stores", "lacks tools/check_storeys, which make lint asks for"),
        ("Makefile", "$(BIN)/mypy", "$(BIN)/pyright", "has mypy, which make lint does not ask for"),
        (WORKFLOW, "contents: read", "contents: write", "has the permissions {'contents': 'write'}"),
        (WORKFLOW, "    name: Debian 12\n", "    permissions: write-all\n", "job debian, has permissions of its own"),
        (WORKFLOW, "bash .ci/run", "make test", "job ubuntu, does not call bash .ci/run"),
        (WORKFLOW, "@3d3c42e5aac5ba805825da76410c181273ba90b1", "@v7", "uses actions/checkout@v7 # v7.0.1"),
    ],
)
def test_what_does_not_agree_is_found(place, old, new, finding):
    texts = check_packaging.texts_of_checkout()
    assert old in texts[place]
    texts[place] = texts[place].replace(old, new)
    assert any(finding in each for each in findings(texts)), findings(texts)


@pytest.mark.parametrize("text", ["numpy>=1.26", "numpy==2.0", "numpy>=1.26,<2.3", "numpy>=1.26,<3,!=2.0"])
def test_range_that_recipes_cannot_have_is_refused(text):
    with pytest.raises(ValueError, match="no range such as"):
        check_packaging.as_spack(check_packaging.Requirement(text))


def test_container_runs_with_the_libraries_that_the_extension_asks_for():
    if not all(map(shutil.which, ("dpkg", "ldd", "objdump"))) or "bookworm" not in Path("/etc/os-release").read_text():
        pytest.skip("dpkg, ldd and objdump of Debian 12 are needed")
    files = sbom.extensions(sbom.installed()["craton"])
    asked = sbom.asked_by(files)
    owners = {package for library, package in sbom.owners(sbom.loaded(files)).items() if library.name in asked}
    names = {owner.partition(":")[0] for owner in owners}
    assert {"libopenmpi3", "libfmt9"} <= names
    base = {"libc6", "libgcc-s1", "libstdc++6"}  # every package with a library of C++ brings them
    assert names - base <= set(check_packaging.RUNS_WITH.values())


def test_schemas_are_asked_for_where_they_are_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(check_packaging.sys, "executable", str(tmp_path / "python"))
    assert list(check_packaging.wrong_forms()) == [
        "check-jsonschema is not installed beside this Python; tools/bootstrap installs it"
    ]
