"""What a reader of Markdown sees: its text without the marks, as a renderer of GitHub's dialect shows it."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

_RENDERER = MarkdownIt("commonmark", {"maxNesting": 1_000}).enable(["table", "strikethrough"])


def rendered_text(markdown: str) -> str:
    """The text of a Markdown document, a line for each of its lines; without pictures."""
    lines: list[str] = []
    for token in _RENDERER.parse(markdown):
        if token.type == "inline":
            lines.append("".join(_inline_texts(token.children or [])))
        elif token.type in ("fence", "code_block", "html_block"):
            lines.append(token.content)
    return "\n".join(lines)


def _inline_texts(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("text", "code_inline"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak", "html_inline"):
            yield "\n"
