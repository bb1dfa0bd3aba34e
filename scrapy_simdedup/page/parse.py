"""Parsing that never raises, takes linear time, and says so when a part of the page is missing from the tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from lxml import etree
from lxml.html import HtmlElement, HTMLParser

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
    raw = _without_what_misleads(html)
    text = raw.translate(_CONTROLS_AS_SPACES)
    tags = text.count(b"<")
    unjudged = _why_not_parse(raw, text, len(html), tags)
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


def _without_what_misleads(html: str) -> bytes:
    """The page without what ends it early or stops the parser, and without the data of images."""
    if "\ufffe" in html or "\uffff" in html:
        html = html.replace("\ufffe", " ").replace("\uffff", " ")
    raw = _HTML_END.sub(b"", html.encode("utf-8", "replace").replace(b"\x00", b""))
    return _DATA_URI.sub(b"data:,", _CONTROL_REFERENCE.sub(b" ", raw))


def _why_not_parse(raw: bytes, text: bytes, characters: int, tags: int) -> str | None:
    if not text.strip():
        return "empty"
    if text != raw and len(raw) - len(raw.translate(None, _CONTROLS)) > MAX_CONTROLS * len(raw):
        return "binary"
    if tags > 2 * MAX_ELEMENTS:
        return "too_many_elements"
    if characters > _LONG and _has_too_many_attributes(text):
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

_HTML_END = re.compile(rb"</(?:html|body)\b[^<>]*>?", re.IGNORECASE)
"""libxml2 drops all that follows ``</html>``; browsers show it."""

_DATA_URI = re.compile(rb"data:[\w/+.;=-]{0,60},[A-Za-z0-9+/=%]{200,}")

_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r")) + b"\x7f"

_CONTROLS_AS_SPACES = bytes.maketrans(_CONTROLS + b"\f", b" " * (len(_CONTROLS) + 1))
"""libxml2 lets control characters through, but lxml does not let a text that has any be moved in the tree."""

_CONTROL_REFERENCE = re.compile(
    rb"&#(?:x0*(?:[1-8bcef]|1[0-9a-f]|fff[ef])(?![0-9a-f])|0*(?:[1-8]|1[124-9]|2[0-9]|3[01]|6553[45])(?![0-9]));?",
    re.IGNORECASE,
)

_LONG = 64_000
"""Below this length no number of attributes takes noticeable time."""

_ATTRIBUTES = rb"""[^>=]*(?:=\s*(?:"[^"]*"|'[^']*'|[^\s>"'][^\s>]*(?=[\s>])|(?=>))[^>=]*)*"""
_TAG = re.compile(
    rb"<(?:!--[^-]*(?:-(?!->)[^-]*)*|(?=[a-z])(s(?:cript|tyle)\b)?(%b)(?(1)[^<]*(?:<(?!/s(?:cript|tyle))[^<]*)*))"
    % _ATTRIBUTES,
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(rb"""[^\s/>=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"'][^\s>]*))?""")


def _has_too_many_attributes(text: bytes) -> bool:
    """Whether a tag outside of comments and scripts has more than :data:`MAX_ATTRIBUTES`. Linear."""
    long = [attributes for _, attributes in _TAG.findall(text) if len(attributes) > 2 * MAX_ATTRIBUTES]
    return any(len(_ATTRIBUTE.findall(attributes)) > MAX_ATTRIBUTES for attributes in long)


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
