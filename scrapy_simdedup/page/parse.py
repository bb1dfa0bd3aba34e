"""Parsing that never raises, takes linear time, and says so when a part of the page is missing from the tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from lxml import etree
from lxml.html import HtmlElement, HTMLParser

try:
    from scrapy_simdedup.page._raw import harmless, long_tags
except ImportError:  # installed without a compiler
    from scrapy_simdedup.page.raw import harmless, long_tags

MAX_ATTRIBUTES = 500
"""Attributes of one tag: libxml2 compares each with all before it, so 32,000 of them take a second."""
MAX_ELEMENTS = 50_000
MAX_LINKS = 5_000
"""Links of one page: in an index of this size a page's own text is lost."""
MAX_TEXT = 1_000_000
"""Characters of text, without scripts and white space: a novel. Some languages make a word of each."""
MAX_UNDECODABLE = 0.1
"""Share of U+FFFD in the text above which the page was decoded with a wrong encoding."""
MAX_CONTROLS = 0.01
"""Share of control characters above which the bytes are no text: an image or archive labelled as HTML."""

NOT_TEXT = frozenset(
    {
        *("title", "script", "style", "template"),
        *("audio", "canvas", "embed", "iframe", "map", "object", "svg", "video"),
        *("button", "datalist", "option", "select", "textarea"),
        *("noembed", "noframes", "noscript"),
    }
)
"""Elements whose text is not the page's own: code, choices, and what shows only where something else fails."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed page, or the reason why there is none."""

    root: HtmlElement | None
    """The ``<html>`` element, without comments and processing instructions; None exactly if ``unjudged`` is set."""
    unjudged: str | None
    """Why the tree must not stand for the page (``"cut"``, ``"too_big"``, ...); None for a page that is all there."""


def parse(html: str, *, max_bytes: int = 5_000_000, rich: bool = True) -> Document:
    """Parse a page of any kind; never raises.

    Args:
        html: The decoded page.
        max_bytes: Characters above which the page is not parsed at all.
        rich: Whether elements have the methods of lxml.html; without them a walk takes three quarters of the time.
    """
    if len(html) > max_bytes:
        return Document(None, "too_big")
    if "\ufffe" in html or "\uffff" in html:  # these two stop the parser, as 0 does
        html = html.replace("\ufffe", " ").replace("\uffff", " ")
    text, controls, tags = harmless(html.encode("utf-8", "replace"))
    unjudged = _why_not_parse(text, controls, tags)
    if unjudged:
        return Document(None, unjudged)
    try:
        root = cast("HtmlElement | None", etree.fromstring(b"%b<%b>" % (text, _MARK), _PARSERS[rich]))
    except (etree.LxmlError, ValueError):
        return Document(None, "unparsable")
    if root is None or not _take_mark(root):
        return Document(None, "cut")
    unjudged = _why_not_trust(html, tags, root)
    return Document(None, unjudged) if unjudged else Document(root, None)


def _why_not_parse(text: bytes, controls: int, tags: int) -> str | None:
    if not text.strip():
        return "empty"
    if controls > MAX_CONTROLS * len(text):
        return "binary"
    if tags > 2 * MAX_ELEMENTS:
        return "too_many_elements"
    if len(text) > _LONG and _has_too_many_attributes(text):
        return "too_many_attributes"
    return "cut" if _MARK in text else None


def _why_not_trust(html: str, tags: int, root: HtmlElement) -> str | None:
    if tags > MAX_ELEMENTS and cast("float", _count_elements(root)) > MAX_ELEMENTS:
        return "too_many_elements"
    if tags > MAX_LINKS and cast("float", _count_links(root)) > MAX_LINKS:
        return "too_many_links"
    if len(html) > MAX_TEXT and _text_length(root) > MAX_TEXT:
        return "too_much_text"
    if "\ufffd" in html:
        text = "".join(root.itertext())
        if text.count("\ufffd") > MAX_UNDECODABLE * len(text):
            return "undecodable"
    return None


_PARSERS = {
    rich: make(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, collect_ids=False)
    for rich, make in ((True, HTMLParser), (False, etree.HTMLParser))
}
"""Made once, which saves a twentieth of the parsing. A parser locks itself while another thread uses it."""

_MARK = b"simdedup-end-of-page"
"""An element put behind the page. Where it is not the last of the tree, or lies in something that is no text, the end
of the page was swallowed: by a comment, script, quote or tag that is never closed, or by the parser's limits."""

_LONG = 64_000
"""Below this length no number of attributes takes noticeable time."""

_ATTRIBUTE = re.compile(rb"""[^\s/>=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"'][^\s>]*))?""")


def _has_too_many_attributes(text: bytes) -> bool:
    """Whether a tag outside of comments and scripts has more than :data:`MAX_ATTRIBUTES`. Linear."""
    return any(len(_ATTRIBUTE.findall(tag)) > MAX_ATTRIBUTES for tag in long_tags(text, 2 * MAX_ATTRIBUTES))


def _take_mark(root: HtmlElement) -> bool:
    """Remove the mark from the tree and return whether it was where the end of a whole page is."""
    last = root
    while len(last):
        last = last[-1]
    if last.tag != _MARK.decode() or any(above.tag in NOT_TEXT for above in last.iterancestors()):
        return False
    parent = last.getparent()
    if parent is not None:
        parent.remove(last)
    return True


def _text_length(root: HtmlElement) -> int:
    text = "".join(root.itertext())
    code = sum(len(element.text or "") for element in root.iter("script", "style"))
    return len(text) - sum(map(text.count, " \n\t")) - code


_count_elements = etree.XPath("count(//*)")
_count_links = etree.XPath("count(//a)")
