"""The bill of materials of this checkout and machine (tools/sbom)."""

import shutil

import pytest
from tool_programs import tool

sbom = tool("sbom")


def test_packages_of_an_extra_and_what_they_need():
    held = [
        ("a", []),
        ("b", ["a"]),
        ("c", ["b", "d"]),
        ("d", []),
        ("e", ["d"]),
        ("b2", ["c"]),
        ("loop", ["b2", "loop"]),
    ]
    packages = [sbom.Package(name, "1.0", "", parents=parents) for name, parents in held]
    assert sbom.with_what_they_need({"a"}, packages) == {"a", "b", "c", "b2", "loop"}
    assert sbom.with_what_they_need(set(), packages) == set()


@pytest.fixture(scope="module")
def bill():
    if not all(map(shutil.which, ("dpkg", "ldd", "objdump"))):
        pytest.skip("dpkg, ldd and objdump are needed: this is no Debian system")
    return sbom.bill()


def test_every_locked_package_is_in_the_bill(bill):
    locked = {(each.name, each.version): each for lock in sbom.TOGETHER for each in sbom.read(lock)}
    held = {
        (each["name"], each["version"]): each for each in bill["components"] if each["purl"].startswith("pkg:pypi/")
    }
    assert held.keys() == locked.keys()
    for key, component in held.items():
        [files] = component["externalReferences"]
        assert [each["content"] for each in files["hashes"]] == locked[key].checksums
    scopes = {name: component["scope"] for (name, _), component in held.items()}
    assert (scopes["numpy"], scopes["obspy"], scopes["unidecode"]) == ("required", "optional", "optional")
    assert (scopes["pytest"], scopes["cython"]) == ("excluded", "excluded")
    assert scopes["openquake-engine"] == "optional"


def test_libraries_that_the_extension_loads(bill):
    debian = {file["value"]: each for each in bill["components"] if "properties" in each for file in each["properties"]}
    needs = {each["ref"]: each.get("dependsOn", []) for each in bill["dependencies"]}
    for library, is_named in (
        ("libmpi.so", True),
        ("libhdf5", True),
        ("libscalapack", True),
        ("libc.so", True),
        ("libz.so", False),
    ):
        [component] = [each for file, each in debian.items() if file.startswith(library)]
        assert component["licenses"] and component["version"] and component["scope"] == "required"
        assert (component["bom-ref"] in needs["craton"]) == is_named


def test_references_are_of_components(bill):
    refs = [each["bom-ref"] for each in bill["components"]]
    assert len(refs) == len(set(refs))
    assert [each["ref"] for each in bill["dependencies"]] == ["craton", *refs]
    needs = {each["ref"]: each.get("dependsOn", []) for each in bill["dependencies"]}
    assert {each for of_one in needs.values() for each in of_one} <= set(refs)
    matplotlib = next(ref for ref in refs if ref.startswith("pkg:pypi/matplotlib@"))
    assert {each.rpartition("@")[0] for each in needs[matplotlib]} >= {"pkg:pypi/numpy", "pkg:pypi/pillow"}


def test_licences_of_what_is_installed(bill):
    licences = {each["name"]: each.get("licenses") for each in bill["components"]}
    assert licences["rich"] == [{"expression": "MIT", "acknowledgement": "declared"}]
    assert licences["instaseis"] == [{"expression": "LicenseRef-Instaseis", "acknowledgement": "declared"}]
