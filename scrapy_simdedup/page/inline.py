"""The inside of a line as Markdown: emphasis, links, images, code. html2text does it, once for all lines of a page."""

from __future__ import annotations

import re
from html import escape, unescape
from typing import TYPE_CHECKING

import html2text
from lxml import etree

from scrapy_simdedup.page.code import longest_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.html import HtmlElement

MAX_MARKUP = 50_000
"""Tags and references that html2text is given of a page, at some 10 µs each; lines beyond come as their text."""

EMPHASIS = ("b", "strong", "em", "i", "u", "del", "s", "strike")

_LINE = "\ufdd0%d\ufdd1"
_CODE = "\ufdd2%d\ufdd3"
"""Marks that stand for a line and for a piece of code. Unicode keeps these characters free for such use."""

_LINE_MARK = re.compile("\ufdd0([0-9]{1,7})\ufdd1")
_CODE_MARK = re.compile("\ufdd2([0-9]{1,7})\ufdd3")
_TAG_IN_TEXT = re.compile("&lt;(?=[a-zA-Z/!?])")
_ESCAPED_TAG = r"\\&lt;"
_TAG = re.compile("<[^>]*>")
_BLOCK_START = re.compile(r"^(#{1,6}(?=\s|$)|[>=]|[-*+](?=\s|$)|_{3}|`{3}|~{3})", re.MULTILINE)
_ITEM_START = re.compile(r"^(\d{1,9})([.)])(?=\s|$)", re.MULTILINE)
_EMPTY_LINES = re.compile(r"[ \n]*\n[ \n]*\n[ \n]*")


def serialise(element: HtmlElement) -> str:
    """An inline element and the text behind it as HTML."""
    return etree.tostring(element, encoding="unicode", method="html")


def text_html(text: str | None) -> str:
    """A text as HTML."""
    return escape(text, quote=False) if text else ""


def mark_code(root: HtmlElement) -> list[str]:
    """Put a mark in place of each inline code, so that nobody takes what is in it for markup; return the codes."""
    codes: list[str] = []
    for element in list(root.iter("code", "kbd", "samp", "tt")):
        if next(element.iterancestors("pre"), None) is None:
            text = " ".join(element.text_content().split())
            element.clear(keep_tail=True)
            element.tag = "span"
            if text:
                element.text = _CODE % len(codes)
                codes.append(text)
    return codes


def to_lines(pieces: Sequence[str], codes: Sequence[str]) -> list[str]:
    """Convert pieces of HTML that hold no block elements.

    White space is collapsed before html2text sees it: its patterns take quadratic time on long runs.

    Args:
        pieces: HTML of each line.
        codes: What the marks of :func:`mark_code` stand for.

    Returns:
        Markdown of each piece. A ``<br>`` is a hard line break in it, two of them are an empty line.
    """
    converter = html2text.HTML2Text(bodywidth=0)
    converter.unicode_snob = True
    lines = [""] * len(pieces)
    html = []
    markup = 0
    for number, piece in enumerate(pieces):
        if piece:
            line = _TAG_IN_TEXT.sub(_ESCAPED_TAG, " ".join(piece.split()))
            markup += 3 + line.count("<") + line.count("&")
            if markup > MAX_MARKUP:
                lines[number] = _finish(unescape(_TAG.sub("", line)), codes)
            else:
                html.append(f"<p>{_LINE % number}<wbr>{line}</p>")
    marked = _LINE_MARK.split(converter.handle("".join(html)))
    for number, text in zip(map(int, marked[1::2]), marked[2::2], strict=True):
        if number < len(lines):
            lines[number] = _finish(text, codes)
    return lines


def _finish(text: str, codes: Sequence[str]) -> str:
    """Escape what would begin a block, which html2text does in part, and put the code back."""
    text = _EMPTY_LINES.sub("\n\n", text.strip())
    text = _BLOCK_START.sub(r"\\\1", text)
    text = _ITEM_START.sub(r"\1\\\2", text)
    return _CODE_MARK.sub(lambda mark: _code_span(codes, int(mark[1])), text)


def _code_span(codes: Sequence[str], number: int) -> str:
    code = codes[number] if number < len(codes) else ""
    ticks = "`" * (longest_run(code, "`") + 1)
    pad = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{ticks}{pad}{code}{pad}{ticks}"
