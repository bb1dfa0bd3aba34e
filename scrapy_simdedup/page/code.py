"""Blocks of code: their text as it came, and the language that their classes name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_LINES = ("div", "p", "li")
_LANGUAGE = re.compile(r"(?:^|\s)(?:(?:lang(?:uage)?|hljs|highlight(?:-source)?)-|hljs\s+(?!lang))([\w+#.-]+)")
_NO_LANGUAGE = frozenset({"default", "none", "plain", "plaintext", "text"})


def fenced(pre: HtmlElement) -> str:
    """A ``<pre>`` between fences of more backticks than it holds in a row; "" if it is empty."""
    code = _text(pre).strip("\n").rstrip()
    if not code:
        return ""
    fence = "`" * max(3, longest_run(code, "`") + 1)
    return f"{fence}{_language(pre)}\n{code}\n{fence}"


def longest_run(text: str, character: str) -> int:
    """How often a character is repeated in a row at most."""
    return max(map(len, re.findall(f"{re.escape(character)}+", text)), default=0)


def _text(pre: HtmlElement) -> str:
    """The text, with a line of its own for each block element inside."""
    text: list[str] = []
    for event, element in etree.iterwalk(pre, events=("start", "end")):
        if element.tag in _LINES and text and not text[-1].endswith("\n"):
            text.append("\n")
        if event == "start":
            found = "\n" if element.tag == "br" else element.text
        else:
            found = element.tail if element is not pre else None
        if found:
            text.append(found)
    return "".join(text)


def _language(pre: HtmlElement) -> str:
    """The language that the classes of a code block, or of the elements around it, name."""
    for element in (*pre.iterchildren("code"), pre, *list(pre.iterancestors("div", "figure"))[:2]):
        for language in _LANGUAGE.findall(element.get("class", "")):
            if language not in _NO_LANGUAGE:
                return str(language)
    return ""
