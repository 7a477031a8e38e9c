"""Settings of the documentation site: ``make docs`` builds it into build/site.

The source folder is the root of the repository, so that links between README.md, docs/ and the other pages lead to
the same places on the site, in a clone and on a code host. `site_pages` makes what no file holds: reference, tables of
measurements.
"""

import re
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

project = "sthash"
author = "the sthash developers"
copyright = "the sthash developers, Apache-2.0"  # noqa: A001 - Sphinx's name
version = release = re.search(r'__version__ = "(.+)"', (ROOT / "src/sthash/__init__.py").read_text())[1]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "site_pages"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "examples/**.md", "benchmarks/*.md"]
exclude_patterns = ["build", "dist", "src", "tests", "tools", ".*", "**/.*"]
nitpicky = False
default_role = "py:obj"

# Pages: headings get the anchors that code hosts give them, and a link to a missing one is a warning.
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Docstrings: numpydoc, types in the text and not in the signature.
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autodoc_mock_imports = [name for name in ("pyspark", "pymilvus", "fastapi", "httpx2") if find_spec(name) is None]

# Looks: the fonts of the system, nothing from other sites.
html_theme = "furo"
html_title = f"sthash {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_math_renderer = "mathml"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1c5fa8", "color-brand-content": "#1c5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7db8f5", "color-brand-content": "#7db8f5"},
}
pygments_style = "friendly"
pygments_dark_style = "monokai"
