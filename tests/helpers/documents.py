"""The Markdown documents of the project, and the blocks of code in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
START = ROOT / "docs" / "start.md"
OWN_STORE = ROOT / "docs" / "guides" / "own-store.md"
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

_FENCE = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+) -->\n)?(?P<fence>`{3,})(?P<language>[^\n{`]*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_INLINE_SETTING = re.compile(r"`(SIMDEDUP_[A-Z_]+ = [^`]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block, ``python`` or ``sh`` or what else stands behind the fence."""

    document: Path
    language: str
    text: str
    why_not_run: str | None
    """From a line ``<!-- not run: the reason -->`` above it."""

    @property
    def file(self) -> str | None:
        """The file that the reader is told to write, by the first line."""
        first = re.match(r"# (\S+\.\w+)\n", self.text)
        return first[1] if first else None

    @property
    def is_settings(self) -> bool:
        """Whether it does nothing but set what settings.py sets."""
        if self.language != "python":
            return False
        lines = ast.parse(self.text).body
        targets = [target for line in lines if isinstance(line, ast.Assign) for target in line.targets]
        return len(targets) == len(lines) > 0 and all(isinstance(t, ast.Name) and t.id.isupper() for t in targets)


def blocks_of(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [Block(document, m["language"].strip(), m["text"], m["why"]) for m in _FENCE.finditer(text)]


def inline_settings(document: Path) -> Iterator[str]:
    """Settings that the text names with a value: ``SIMDEDUP_MODE = "items"``."""
    yield from _INLINE_SETTING.findall(document.read_text(encoding="utf-8"))


def setting_names(document: Path) -> set[str]:
    """Every setting that is mentioned."""
    return set(re.findall(r"\bSIMDEDUP_[A-Z_]*[A-Z]\b", document.read_text(encoding="utf-8")))
