"""How the documentation is built: ``tox -e docs`` or ``make docs``."""

from scrapy_simdedup import __version__

project = "scrapy-simdedup"
author = "The scrapy-simdedup developers"
copyright = "The scrapy-simdedup developers"  # noqa: A001 - Sphinx's name
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"scrapy-simdedup {release}"

myst_heading_anchors = 3
suppress_warnings = ["epub.unknown_project_files"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
autodoc_default_options = {"members": True, "undoc-members": True, "exclude-members": "__init__, __new__"}
python_use_unqualified_type_names = True
