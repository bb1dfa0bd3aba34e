"""What users rely on changes only on purpose."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

import scrapy_simdedup
from helpers.public_api import FROZEN, describe

ADVICE = """
What users rely on is not what {name} says: see the lines above.

If you did not mean to change it, change it back.
If it is new: run `python tests/helpers/public_api.py`, look at the difference, and add a line to CHANGELOG.md.
If something is gone or takes other values: keep the old form for one version, with a DeprecationWarning that names the
new one, and say so in CHANGELOG.md under "Deprecated"; only what has warned in a released version may go.
"""


def test_names_signatures_settings_stats_and_commands_are_those_that_were_promised() -> None:
    frozen = FROZEN.read_text(encoding="utf-8")
    found = describe()
    changes = difflib.unified_diff(
        frozen.splitlines(), found.splitlines(), FROZEN.name, "the package", lineterm="", n=1
    )
    assert found == frozen, "\n".join(changes) + ADVICE.format(name=FROZEN.name)


def test_type_checkers_find_the_public_names_where_they_are_loaded_from() -> None:
    tree = ast.parse(Path(scrapy_simdedup.__file__).read_text(encoding="utf-8"))
    typed = {
        (name.asname, node.module)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert typed == set(scrapy_simdedup._MODULES.items())
