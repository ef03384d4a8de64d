"""The licence that an installed Python package declares, as an SPDX expression."""

import importlib.metadata
import re
from email.message import Message

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.utils import canonicalize_name

SPDX = {
    "apache 2.0": "Apache-2.0",
    "apache license": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "LicenseRef-BSD",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "bsd license": "LicenseRef-BSD",
    "gnu general public license v2 or later (gplv2+)": "GPL-2.0-or-later",
    "gnu lesser general public license v3 (lgplv3)": "LGPL-3.0-only",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "new bsd": "BSD-3-Clause",
    "python software foundation license": "PSF-2.0",
}
"""What classifiers and the free text of the field License say, in lower case. LicenseRef-BSD: one of the BSD licences."""


def installed() -> dict[str, importlib.metadata.Distribution]:
    """The packages beside this Python, by their canonical names."""
    found: dict[str, importlib.metadata.Distribution] = {}
    for distribution in importlib.metadata.distributions():
        found.setdefault(canonicalize_name(distribution.metadata["Name"]), distribution)
    return found


def expression(words: str) -> str:
    """The SPDX expression that these words are, or an empty string."""
    try:
        return canonicalize_license_expression(SPDX.get(words.strip().lower(), words.strip()))
    except InvalidLicenseExpression:
        return ""


def declared(metadata: Message) -> str:
    """The licence in a package's metadata, or an empty string where it names none, or several.

    The field License-Expression is meant for that. Older packages have a line of free text, a classifier, or both; the text is
    asked first, for it may tell one BSD licence from another. `get` gives None for a field that is missing; of the square brackets
    Python's own reader gives None, and that of the package importlib_metadata raises KeyError.
    """
    text = metadata.get("License") or ""
    classifiers = [
        classifier.rpartition(" :: ")[2]
        for classifier in metadata.get_all("Classifier") or []
        if classifier.startswith("License ::")
    ]
    for candidates in ([metadata.get("License-Expression") or ""], [text], classifiers):
        named = {expression(each) for each in candidates if each} - {""}
        if len(named) == 1:
            return named.pop()
    return ""


def parts(licence: str) -> list[list[str]]:
    """The licences of an expression: each list is a choice, whose licences hold together. Parentheses are not understood."""
    return [re.split(" AND ", choice) for choice in licence.split(" OR ")]
