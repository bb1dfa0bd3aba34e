"""HTML elements from plain values: everything is text until an element says otherwise."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterable

Element: TypeAlias = "etree._Element"  # noqa: SLF001 - its only name
Child: TypeAlias = "str | Element | None"

SHOWN = 120
"""Characters of an address that are shown; the whole is in its link."""
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def h(tag: str, *children: Child | Iterable[Child], **attributes: str | None) -> Element:
    """An element.

    >>> to_html(h("p", "1 < 2 ", h("b", "!"), class_="sum", aria_label="so"))
    '<p class="sum" aria-label="so">1 &lt; 2 <b>!</b></p>'

    Args:
        tag: its name.
        children: texts and elements, also in lists; None is nothing.
        attributes: an underscore at the end is dropped, others are hyphens; None is no attribute.
    """
    made = etree.Element(tag)
    for name, value in attributes.items():
        if value is not None:
            made.set(name.rstrip("_").replace("_", "-"), clean(value))
    for child in children:
        for part in [child] if child is None or isinstance(child, (str, etree._Element)) else child:  # noqa: SLF001
            _append(made, part)
    return made


def _append(made: Element, part: Child) -> None:
    if part is None:
        return
    if not isinstance(part, str):
        made.append(part)
    elif len(made):
        made[-1].tail = (made[-1].tail or "") + clean(part)
    else:
        made.text = (made.text or "") + clean(part)


def clean(text: str) -> str:
    """The text without what no document may contain."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def to_html(element: Element) -> str:
    """The element as HTML."""
    return etree.tostring(element, method="html", encoding="unicode")


def link(url: str) -> Element:
    """An address; only those of the web can be followed, and nobody is told where from."""
    if not url.startswith(("http://", "https://")):
        return h("span", shorten(url), class_="url")
    return h("a", shorten(url), href=url, class_="url", rel="noreferrer noopener")


def shorten(url: str) -> str:
    """What is shown of an address: without signs that would turn what follows around, and without its middle."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in url)
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN * 2 // 3]}…{shown[-SHOWN // 3 :]}"


def number(value: float, digits: int = 0) -> str:
    """A number for people.

    >>> number(1234567), number(0.98765, 3)
    ('1,234,567', '0.988')
    """
    return f"{value:,.{digits}f}"
