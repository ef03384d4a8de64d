"""What the files of locks/ say: packages, their versions, the checksums of their files, and who asks for them.

`make lock` has uv write these files (tools/make_locks). tools/check_locks, tools/check_licences and tools/sbom read them.
"""

import re
from dataclasses import dataclass, field

from packaging.markers import Marker
from packaging.utils import canonicalize_name
from requirement_groups import ROOT

FOLDER = ROOT / "locks"
TOGETHER = ("build", "demo", "development", "alone")
"""The locks whose packages lie in one environment, .venv."""
ASKED_FOR = "pyproject.toml"
"""The parent of a package that pyproject.toml itself asks for."""

PACKAGE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+)(?: ; ([^\\]+?))?(?: \\)?")
CHECKSUM = re.compile(r" +--hash=sha256:([0-9a-f]{64})(?: \\)?")
PARENT = re.compile(r" +# +(?:via\b)?(?: *(-r )?([A-Za-z0-9._-]+).*)?")  # "via rich", or "via" and a line for each


@dataclass
class Package:
    """A package of a lock: `marker` says where it is installed and may be empty, `parents` ask for it."""

    name: str
    version: str
    marker: str
    checksums: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)

    @property
    def is_for_here(self) -> bool:
        """Whether this machine and this Python install it."""
        return not self.marker or Marker(self.marker).evaluate()


class LockError(ValueError):
    """A line of a lock that is neither package nor checksum nor comment."""


def parse(text: str) -> list[Package]:
    """The packages of a lock. Raises LockError for a line that says anything else, an option of pip for example."""
    packages: list[Package] = []
    for number, line in enumerate(text.splitlines(), 1):
        if "://" in line:
            raise LockError(f"line {number} names a host: {line.strip()}")
        if package := PACKAGE.fullmatch(line):
            packages.append(Package(canonicalize_name(package[1]), package[2], package[3] or ""))
        elif packages and (checksum := CHECKSUM.fullmatch(line)):
            packages[-1].checksums.append(checksum[1])
        elif packages and (parent := PARENT.fullmatch(line)):
            if parent[2]:
                packages[-1].parents.append(ASKED_FOR if parent[1] else canonicalize_name(parent[2]))
        elif line.strip() and not line.lstrip().startswith("#"):
            raise LockError(f"line {number} is no package with one version, checksum or comment: {line.strip()}")
    return packages


def read(lock: str) -> list[Package]:
    """The packages of locks/LOCK.lock. Raises LockError, FileNotFoundError."""
    return parse((FOLDER / f"{lock}.lock").read_text(encoding="utf-8"))
