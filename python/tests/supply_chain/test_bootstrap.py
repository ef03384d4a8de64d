"""Which files of locks/ tools/bootstrap has pip install, and when: with a pip that only writes down what it is asked for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PYTHON = """#!/bin/sh
case "$*" in
"-m pip install "*) echo "$*" >>pip.log; [ ! -e pip-fails ] ;;
tools/requirements*) shift; for group in "$@"; do echo "of-$group"; done ;;
--version) echo Python 3.99 ;;
esac
"""
"""A Python whose pip writes down its arguments, and fails where the file pip-fails lies."""
DEMO, DEVELOPMENT = ["build", "demo"], ["build", "demo", "development", "alone"]


class Checkout:
    """A folder with what tools/bootstrap reads, and an environment in .venv that nothing is installed in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "tools").mkdir()
        for tool in ("bootstrap", "progress"):
            shutil.copy(ROOT / "tools" / tool, folder / "tools")
        shutil.copytree(ROOT / "locks", folder / "locks")
        self.program(".venv/bin/python", PYTHON)
        self.program("programs/dpkg-query", "#!/bin/sh\necho installed\n")  # else it would install what is missing
        for name in ("cmake", "mpiexec"):
            self.program(f"programs/{name}", f"#!/bin/sh\necho {name}\n")

    def program(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def bootstrap(self, *words: str, code: int = 0, **settings: str) -> str:
        """What it says on either stream."""
        path = f"{self.folder / 'programs'}{os.pathsep}{os.environ['PATH']}"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CRATON_")}
        done = subprocess.run(
            [self.folder / "tools" / "bootstrap", *words],
            env=environment | {"PATH": path, "CRATON_PYTHON": sys.executable} | settings,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def asked(self) -> list[str]:
        """What pip was asked for since the last call."""
        log = self.folder / "pip.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    def installed(self) -> list[str]:
        """The locks that pip was given since the last call, in their order. Nothing else was installed, or unchecked."""
        calls = self.asked()
        assert all("--require-hashes" in call and "--no-build-isolation" in call for call in calls)
        assert all("--no-binary mpi4py" in call for call in calls if not call.endswith("-r locks/build.lock"))
        assert all(("--no-deps" in call) == call.endswith("-r locks/alone.lock") for call in calls)
        return [call.rpartition("-r locks/")[2].removesuffix(".lock") for call in calls]

    def is_newer(self, stamp: str, than: str) -> bool:
        """As make compares them."""
        return (self.folder / stamp).stat().st_mtime_ns > (self.folder / than).stat().st_mtime_ns


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def test_demo_then_development(checkout):
    checkout.bootstrap("--demo")
    assert checkout.installed() == DEMO
    assert not (checkout.folder / ".venv/craton-bootstrapped").exists()
    checkout.bootstrap("--demo")
    assert checkout.installed() == []
    checkout.bootstrap()
    assert checkout.installed() == DEVELOPMENT
    checkout.bootstrap()
    checkout.bootstrap("--demo")
    assert checkout.installed() == []
    assert (checkout.folder / ".venv/craton-bootstrapped").exists()


@pytest.mark.parametrize(("lock", "in_demo"), [("build", DEMO), ("demo", DEMO), ("development", []), ("alone", [])])
def test_lock_that_changed(checkout, lock, in_demo):
    checkout.bootstrap("--demo")
    checkout.asked()
    with open(checkout.folder / "locks" / f"{lock}.lock", "a") as file:
        file.write("# changed\n")
    if in_demo:
        assert "other versions" in checkout.bootstrap("--demo", "--check", code=2)
    checkout.bootstrap("--demo")
    assert checkout.installed() == in_demo
    checkout.bootstrap()
    assert checkout.installed() == DEVELOPMENT


def test_environment_for_development_stays_one(checkout):
    checkout.bootstrap()
    checkout.asked()
    (checkout.folder / "locks/demo.lock").write_text("# changed\n")
    checkout.bootstrap("--demo")
    assert checkout.installed() == DEVELOPMENT


def test_environment_of_before_there_were_locks(checkout):
    for name in ("craton-bootstrapped", "craton-requirements.txt", "craton-alone.txt"):
        (checkout.folder / ".venv" / name).write_text("numpy>=1.26,<3\n")
    checkout.bootstrap("--demo")
    assert checkout.installed() == DEVELOPMENT
    assert sorted(path.name for path in (checkout.folder / ".venv").glob("craton-*")) == [
        "craton-bootstrapped",
        "craton-demo",
        "craton-packages.txt",
    ]


def test_installation_that_fails_is_tried_again(checkout):
    checkout.bootstrap()
    checkout.asked()
    (checkout.folder / "locks/alone.lock").write_text("# changed\n")
    (checkout.folder / "pip-fails").touch()
    said = checkout.bootstrap(code=2)
    assert "could not install the packages of locks/build.lock" in said
    assert "CRATON_LOCKED=no" in said
    assert not checkout.is_newer(".venv/craton-bootstrapped", "tools/bootstrap")
    assert not checkout.is_newer(".venv/craton-demo", "tools/bootstrap")
    (checkout.folder / "pip-fails").unlink()
    checkout.asked()
    checkout.bootstrap("--demo")  # the kind is not forgotten
    assert checkout.installed() == DEVELOPMENT
    assert checkout.is_newer(".venv/craton-bootstrapped", "locks/alone.lock")


def test_ranges_in_place_of_locks(checkout):
    said = checkout.bootstrap("--demo", CRATON_LOCKED="no")
    assert "whose files are not checked" in said
    assert not any("require-hashes" in call or "locks/" in call for call in checkout.asked())
    checkout.bootstrap("--demo", CRATON_LOCKED="no")
    assert checkout.asked() == []
    assert "of-project" in (checkout.folder / ".venv/craton-packages.txt").read_text()
    checkout.bootstrap(CRATON_LOCKED="no")
    assert [("--no-deps" in call) for call in checkout.asked()] == [False, False, True]
    checkout.bootstrap()
    assert checkout.installed() == DEVELOPMENT


def test_words_that_it_does_not_know(checkout):
    assert "unknown option --demos; allowed: --browser, --check, --demo," in checkout.bootstrap("--demos", code=2)
    assert "CRATON_LOCKED=perhaps; allowed: yes" in checkout.bootstrap(CRATON_LOCKED="perhaps", code=2)
    assert "lacks packages" in checkout.bootstrap("--check", "--demo", code=2)
    assert checkout.asked() == []


def test_docs_have_an_environment_of_their_own(checkout):
    (checkout.folder / "locks/docs.lock").write_text("sphinx==1\n")
    checkout.program("build/documentation/bin/python", PYTHON)
    assert "installing Sphinx in build/documentation" in checkout.bootstrap("--docs")
    *others, docs = checkout.asked()
    assert docs.endswith("--require-hashes --only-binary :all: -r locks/docs.lock")
    assert not any("docs.lock" in call for call in others)
    checkout.bootstrap("--docs")
    assert checkout.asked() == []
    (checkout.folder / "locks/docs.lock").write_text("sphinx==2\n")
    checkout.bootstrap("--docs")
    assert len(checkout.asked()) == 1
