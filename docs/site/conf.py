"""Sphinx's configuration of the documentation site: the pages of docs/ where they lie, and a reference made from the code.

make docs           builds build/docs/html
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("docs/site/extensions", "tools", "python")]

project = "Craton"
author = "Craton maintainers"
[version] = re.findall(r"project\(craton VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
release = version

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "checkout_links",
    "command_reference",
    "configuration_reference",
    "cpp_reference",
    "plain_docstrings",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["site/extensions", "images"]

myst_heading_anchors = 4  # links to #a-heading, as repository browsers make them
suppress_warnings = [
    "ref.python",  # a word of a signature, such as range, that several names end in
]
highlight_language = "none"
smartquotes = False  # "" and --ranks stay what one types

autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "undoc-members": True}
maximum_signature_line_length = 90
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

craton_doxygen_xml = str(ROOT / "build/docs/xml")

html_theme = "furo"
html_title = f"Craton {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["craton.css"]
