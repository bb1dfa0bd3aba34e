"""The compiled part, and the README as the package index shows it.

What is compiled are the loops that take most of a page's time. Each has a twin in Python, which stands in without it. A
machine that cannot compile installs the package all the same; ``SCRAPY_SIMDEDUP_PURE=1`` asks for that.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import lxml
from Cython.Build import cythonize
from setuptools import Extension, setup

DOCUMENTATION = "https://scrapy-simdedup.readthedocs.io/en/latest/"
MODULES = (
    *("page/_raw", "page/_walk", "page/_classify", "page/_content_model", "page/_content_tree"),
    *("fingerprint/_hashing", "fingerprint/_features", "fingerprint/_text_units", "fingerprint/_comparison"),
)


def extensions() -> list[Extension]:
    """The compiled modules; what cannot be compiled is passed over with a warning."""
    paths = [f"scrapy_simdedup/{module}" for module in MODULES]
    sources = [Extension(path.replace("/", "."), [f"{path}.pyx"], include_dirs=lxml.get_include()) for path in paths]
    made: list[Extension] = cythonize(sources, build_dir="build")
    for extension in made:
        extension.optional = True  # here, since Cython makes new ones
        # A fifth of the size, and sooner there; and numbers that are rounded where numpy rounds them, on any processor.
        extension.extra_compile_args = ["-g0", "-ffp-contract=off"] if os.name == "posix" else []
    return made


def readme() -> str:
    """The README as the package index shows it, which has no files beside it.

    Links to pages of the documentation lead to where it is published. Links to other files are left out.
    """
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    text = re.sub(r"(\]\(|^\[\w+\]: )docs/([\w/-]+)\.md", rf"\1{DOCUMENTATION}\2.html", text, flags=re.MULTILINE)
    return re.sub(r"(?<!!)\[([^]]+)\]\((?!https?:)[^)]+\)", r"\1", text)


is_pure = os.environ.get("SCRAPY_SIMDEDUP_PURE", "0") != "0"
setup(
    ext_modules=[] if is_pure else extensions(),
    options={"build_ext": {"parallel": True}},
    long_description=readme(),
    long_description_content_type="text/markdown",
)
