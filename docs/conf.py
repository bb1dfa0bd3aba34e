"""How the documentation is built: ``tox -e docs`` or ``make docs``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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

SETTINGS = "<!-- settings of the README -->"
"""Stands in docs/reference/settings.md where each setting is to have a heading, and so an address."""


def with_settings(text: str) -> str:
    """A document with a heading for each setting of the README's tables in the place of its mark."""
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    _, _, tables = readme.partition("<!-- settings -->\n")
    tables, _, _ = tables.partition("<!-- settings end -->")
    made = []
    for line in tables.replace("](docs/", "](../").splitlines():
        if line.startswith("### "):
            made.append(line[1:])
        elif line.startswith("| `SIMDEDUP_"):
            cell, default, meaning = line.strip("| ").split(" | ", 2)
            names, defaults = cell.split(", "), default.split(", ")
            if len(defaults) < len(names):
                defaults = [default] * len(names)
            sentence = meaning if meaning.startswith("`") else meaning[0].upper() + meaning[1:]
            made += [f"### {name}\n\nDefault: {its}\n\n{sentence}." for name, its in zip(names, defaults, strict=True)]
    return text.replace(SETTINGS, "\n\n".join(made))


def setup(app: Any) -> None:
    """Called by Sphinx."""

    def read(_app: Any, _name: str, source: list[str]) -> None:
        if SETTINGS in source[0]:
            source[0] = with_settings(source[0])

    # Napoleon takes what stands before the first colon of an attribute's docstring for its type.
    written: list[str] = []

    def keep(_app: Any, _what: str, _name: str, _member: object, _options: object, lines: list[str]) -> None:
        written[:] = lines

    def restore(_app: Any, what: str, _name: str, _member: object, _options: object, lines: list[str]) -> None:
        if what in {"attribute", "data", "property"}:
            lines[:] = written

    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", keep, priority=400)
    app.connect("autodoc-process-docstring", restore, priority=600)
