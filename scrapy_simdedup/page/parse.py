"""Parsing HTML: never raises, takes linear time, and notices when a part of the page is missing from the tree.

1. The bytes are sanitised: what ends a page early or stops the parser goes, and control characters are counted. Where
   only roles are asked for, attributes that give none go as well.
2. Bytes that are no HTML, or that would cost the parser quadratic time, are not parsed.
3. A sentinel element is put behind the page. Where it is not the last element of the tree, the end of the page was
   swallowed: by a comment, script, quote or tag that is never closed, or by the parser's limits.
4. A tree with too many elements, links or characters, or of a wrong encoding, is not judged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, cast

from lxml import etree
from lxml.html import HtmlElement, HTMLParser

from scrapy_simdedup.page.roles import NON_TEXT_TAGS
from scrapy_simdedup.unjudged import UnjudgedReason

MAX_ATTRIBUTES = 500
"""Attributes of one tag: libxml2 compares each with all before it, so 32,000 of them take a second."""
MIN_ATTRIBUTES_LENGTH = 64_000
"""Bytes of a page below which no number of attributes takes noticeable time."""
MAX_ELEMENTS = 50_000
MAX_LINKS = 5_000
"""Links of one page; an index of this size has no text of its own."""
MAX_TEXT = 1_000_000
"""Characters of text without scripts and white space: a novel. In some languages each character is a word."""
MAX_DEPTH_OF_ENDING = 16
"""Elements around the last one, at most, by which it is told how a page ends."""
MAX_UNDECODABLE_SHARE = 0.1
"""Share of U+FFFD in the text above which the page was decoded with a wrong encoding."""
MAX_CONTROL_SHARE = 0.01
"""Share of control characters above which the bytes are an image or archive labelled as HTML."""


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """A parsed page, or the reason why there is none."""

    root: HtmlElement | None
    """The ``<html>`` element, without comments and processing instructions; None exactly if ``unjudged`` is set."""
    unjudged: UnjudgedReason | None
    """Why the page must not be compared by its text, such as ``"cut"``; None for a page that is all there."""


def parse(
    html: str, *, max_bytes: int = 5_000_000, with_html_methods: bool = True, with_idle_attributes: bool = True
) -> ParsedPage:
    """Parse a page of any kind; never raises.

    A page of more than ``max_bytes`` characters is not parsed. A walk is faster if elements lack the methods of
    lxml.html, and parsing by a third if they lack the attributes that give no role.
    """
    text, unjudged, tags = _text_to_parse(html, max_bytes)
    if unjudged:
        return ParsedPage(None, unjudged)
    try:
        root = _tree(text if with_idle_attributes else drop_idle_attributes(text), with_html_methods=with_html_methods)
    except (etree.LxmlError, ValueError):
        return ParsedPage(None, "unparsable")
    if root is None or not _remove_sentinel(root):
        return ParsedPage(None, "cut")
    unjudged = _reason_not_to_judge(html, tags, root)
    return ParsedPage(None, unjudged) if unjudged else ParsedPage(root, None)


def _text_to_parse(html: str, max_bytes: int) -> tuple[bytes, UnjudgedReason | None, int]:
    """The bytes that may be parsed, why they are not to be, and how many ``<`` there are."""
    if len(html) > max_bytes:
        return b"", "too_big", 0
    if "\ufffe" in html or "\uffff" in html:  # these two stop the parser, as 0 does
        html = html.replace("\ufffe", " ").replace("\uffff", " ")
    text, controls, tags = sanitise(utf8(html, "replace"))
    return text, _reason_not_to_parse(text, controls, tags), tags


def _tree(text: bytes, *, with_html_methods: bool) -> HtmlElement | None:
    """The tree of a page with the sentinel behind it; may raise an LxmlError or a ValueError."""
    return cast("HtmlElement | None", etree.fromstring(text + _SENTINEL_TAG, _PARSERS[with_html_methods]))


@dataclass(frozen=True, slots=True)
class Ending:
    """How a page ends. An element is named by its tag, class and id, behind the tags of the elements around it."""

    last: str | None
    """The last element, which has ended; None where the last words stand in one that has not, or introduce others."""
    open: frozenset[str]
    """The elements around it, which have not ended; with a slash behind each."""
    elsewhere: frozenset[str]
    """Elements with which no page of this template ends: others follow, or, with a slash behind, they have ended."""


def ending(html: str, *, max_bytes: int = 5_000_000) -> Ending:
    """How a page ends.

    >>> ending("<nav>Home</nav><main><p>All of it.</p></main>").last
    'html/body/main'
    >>> ending("<nav>Home</nav><main><p>Half</p>").last, ending("<nav>Home</nav><main><p>Half").last
    ('html/body/main/p', None)
    >>> sorted(ending("<nav>Home</nav><main><p>Half</p>").open), sorted(ending("<nav>Home</nav><main>").elsewhere)
    (['html/body/', 'html/body/main/'], ['html/body/nav', 'html/body/nav/'])
    """
    text, unjudged, _ = _text_to_parse(html, max_bytes)
    root = None
    with suppress(etree.LxmlError, ValueError):
        root = None if unjudged else _tree(text, with_html_methods=False)
    sentinel = None if root is None else next(root.iter(_SENTINEL), None)
    if root is None or sentinel is None:
        return Ending(None, frozenset(), frozenset())
    around_end = set(sentinel.iterancestors())
    last: str | None = None
    still_open, elsewhere = set[str](), set[str]()
    walk = [(root, "", 0)]
    while walk:
        element, around, depth = walk.pop()
        inside = f"{around}{element.tag}/"
        children = [child for child in element if child.tag not in _TELLS_NOTHING and child is not sentinel]
        names = [inside + _element_name(child) for child in children]
        elsewhere.update(names[:-1])
        for child, name in zip(children, names, strict=True):
            (still_open if child in around_end else elsewhere).add(name + "/")
        if children and sentinel.getparent() is element and _ends_a_page(sentinel):
            last = names[-1]
        if depth < MAX_DEPTH_OF_ENDING:
            walk += [(child, inside, depth + 1) for child in children]
    return Ending(last, frozenset(still_open), frozenset(elsewhere))


def _ends_a_page(sentinel: HtmlElement) -> bool:
    """Whether an element has ended before the sentinel, and nothing was said since."""
    before = sentinel.getprevious()
    while before is not None and before.tag in _TELLS_NOTHING and _is_blank(before.tail):
        before = before.getprevious()
    return before is not None and before.tag not in _TELLS_NOTHING | _INTRODUCES and _is_blank(before.tail)


def _element_name(element: etree._Element) -> str:
    marks = f"{element.get('class') or ''}#{element.get('id') or ''}".rstrip("#")
    return str(element.tag) + (f".{_NUMBER.sub('0', marks)}" if marks else "")


def _is_blank(text: str | None) -> bool:
    return text is None or not text.strip()


_latest = "", b""
"""The page that was encoded last, and its bytes."""


def utf8(html: str, errors: Literal["replace", "surrogatepass"]) -> bytes:
    """A page in UTF-8. Its digest is made, and then it is parsed: the bytes of the latest page are kept for that."""
    global _latest  # noqa: PLW0603 - one page, whichever thread it belongs to
    latest, raw = _latest
    if latest is not html:
        try:
            raw = html.encode()
        except UnicodeEncodeError:
            return html.encode("utf-8", errors)
        _latest = html, raw
    return raw


def remember_utf8(html: str, raw: bytes) -> None:
    """Remember the UTF-8 bytes of a text, to save its next encoding."""
    global _latest  # noqa: PLW0603 - see utf8
    _latest = html, raw


def _reason_not_to_parse(text: bytes, controls: int, tags: int) -> UnjudgedReason | None:
    if not text or text.isspace():
        return "empty"
    if controls > MAX_CONTROL_SHARE * len(text):
        return "binary"
    if tags > 2 * MAX_ELEMENTS:
        return "too_many_elements"
    if len(text) > MIN_ATTRIBUTES_LENGTH:
        tags_with_many = long_tags(text, 2 * MAX_ATTRIBUTES)
        if any(len(_ATTRIBUTE.findall(tag)) > MAX_ATTRIBUTES for tag in tags_with_many):
            return "too_many_attributes"
    return None


def _reason_not_to_judge(html: str, tags: int, root: HtmlElement) -> UnjudgedReason | None:
    if tags > MAX_ELEMENTS and cast("float", _count_elements(root)) > MAX_ELEMENTS:
        return "too_many_elements"
    if tags > MAX_LINKS and cast("float", _count_links(root)) > MAX_LINKS:
        return "too_many_links"
    if len(html) > MAX_TEXT and _text_length(root) > MAX_TEXT:
        return "too_much_text"
    if "\ufffd" in html:
        text = "".join(root.itertext())
        if text.count("\ufffd") > MAX_UNDECODABLE_SHARE * len(text):
            return "undecodable"
    return None


_count_elements, _count_links = etree.XPath("count(//*)"), etree.XPath("count(//a)")
_PARSERS = {
    rich: make(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, collect_ids=False)
    for rich, make in ((True, HTMLParser), (False, etree.HTMLParser))
}
"""A parser is made once, which saves a twentieth of the parsing; it locks itself while another thread uses it."""
_SENTINEL = f"end-of-page-{os.urandom(8).hex()}"
"""An element that no page can have, as its name is drawn anew in each process."""
_SENTINEL_TAG = f"<{_SENTINEL}>".encode()
_TELLS_NOTHING = NON_TEXT_TAGS | {"br", "hr", "img", "input", "link", "meta", "wbr"}
"""Elements behind the last words of a page; none of them shows that what was before them has ended."""
_INTRODUCES = frozenset("h1 h2 h3 h4 h5 h6 hgroup header nav caption legend summary thead dt".split())
"""Elements that others follow on any whole page."""
_NUMBER = re.compile(r"\d+")
_ATTRIBUTE = re.compile(rb"""[^\s/>=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"'][^\s>]*))?""")


def _remove_sentinel(root: HtmlElement) -> bool:
    """Remove the sentinel; whether it was the last element, and outside of elements without text of the page's own.

    A ``<button>`` around it holds the rest of the page, as libxml2 does not end one in which another element is open.
    Such a button becomes an element whose text is read.
    """
    last = root
    while len(last):
        last = last[-1]
    if last.tag != _SENTINEL:
        return False
    for above in last.iterancestors():
        if above.tag == "button":
            above.tag = "div"
        elif above.tag in NON_TEXT_TAGS:
            return False
    parent = last.getparent()
    if parent is not None:
        parent.remove(last)
    return True


def _text_length(root: HtmlElement) -> int:
    text = "".join(root.itertext())
    code = sum(len(element.text or "") for element in root.iter("script", "style"))
    return len(text) - sum(map(text.count, " \n\t")) - code


def python_sanitise(raw: bytes) -> tuple[bytes, int, int]:
    """The bytes of a page that may be parsed, how many control characters became spaces, and how many ``<`` there are.

    What goes: the ends of ``<html>`` and ``<body>``, behind which libxml2 drops all that browsers show; references to
    control characters; the data of images. libxml2 accepts control characters, but lxml does not move a text with one.
    Where the package was installed with its compiled part, :mod:`scrapy_simdedup.page._raw` does the same.
    """
    raw = _DATA_ADDRESS.sub(b"data:,", _CONTROL_REFERENCE.sub(b" ", _HTML_END.sub(b"", raw.replace(b"\0", b""))))
    text = raw.translate(_CONTROLS_AS_SPACES)
    controls = 0 if text == raw else len(raw) - len(raw.translate(None, _CONTROLS))
    return text, controls, text.count(b"<")


def python_mentions(raw: bytes, mark: bytes, rare: int = 0) -> bool:  # noqa: ARG001 - it helps the other
    """Whether a mark stands in the bytes of a page; :mod:`scrapy_simdedup.page._raw` tells in a tenth of the time.

    It looks for one byte of the mark, which had better be a ``rare`` one.
    """
    return mark in raw


def python_long_tags(raw: bytes, longer: int) -> list[bytes]:
    """The attributes of the tags outside of comments and scripts that have more than so many bytes; in linear time."""
    return [attributes for _, attributes in _TAG.findall(raw) if len(attributes) > longer]


def python_drop_idle_attributes(raw: bytes) -> bytes:
    """The bytes of a page without its idle attributes; all of them here, as Python takes longer than that saves.

    :mod:`scrapy_simdedup.page._raw` leaves ``class``, ``download``, ``id``, ``itemprop``, ``role``, ``shadowrootmode``
    and ``type``, and each ``href`` that may lead to a place of the page, a file or an address. Of ``<a>``, ``<b>``
    and ``<i>``, whose names give no role, it leaves neither ``class`` nor ``id``. It follows the tags as HTML5 and
    libxml2 2.14 do, so that nothing else of the tree changes.
    """
    return raw


try:
    from scrapy_simdedup.page._raw import drop_idle_attributes, long_tags, mentions, sanitise
except ImportError:  # installed without a compiler
    drop_idle_attributes, long_tags = python_drop_idle_attributes, python_long_tags
    mentions, sanitise = python_mentions, python_sanitise
if etree.LIBXML_VERSION < (2, 14):  # it finds other tags where quotation marks are missing
    drop_idle_attributes = python_drop_idle_attributes


_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r")) + b"\x7f"
_CONTROLS_AS_SPACES = bytes.maketrans(_CONTROLS + b"\f", b" " * (len(_CONTROLS) + 1))
_HTML_END = re.compile(rb"</(?:html|body)\b[^<>]*>?", re.IGNORECASE)
_DATA_ADDRESS = re.compile(rb"data:[\w/+.;=-]{0,60},[A-Za-z0-9+/=%]{200,}")
_CONTROL_REFERENCE = re.compile(
    rb"&#(?:x0*(?:[1-8bcef]|1[0-9a-f]|fff[ef])(?![0-9a-f])|0*(?:[1-8]|1[124-9]|2[0-9]|3[01]|6553[45])(?![0-9]));?",
    re.IGNORECASE,
)
_ATTRIBUTES = rb"""[^>=]*(?:=\s*(?:"[^"]*"|'[^']*'|[^\s>"'][^\s>]*|(?=>))[^>=]*)*"""
_TAG = re.compile(
    rb"<(?:!--[^-]*(?:-(?!->)[^-]*)*|(?=[a-z])(s(?:cript|tyle)\b)?(%b)(?(1)[^<]*(?:<(?!/s(?:cript|tyle))[^<]*)*))"
    % _ATTRIBUTES,
    re.IGNORECASE,
)


def outermost(elements: Sequence[HtmlElement]) -> list[HtmlElement]:
    """Those of some elements that lie in no other of them, in their order; takes linear time in a deep tree, too."""
    is_inside = dict.fromkeys(elements, True)
    """Element → whether it is in ``elements`` or lies inside of one of them."""
    made: list[HtmlElement] = []
    for element in elements:
        path: list[HtmlElement] = []
        above = element.getparent()
        while above is not None and above not in is_inside:
            path.append(above)
            above = above.getparent()
        nested = above is not None and is_inside[above]
        is_inside.update(dict.fromkeys(path, nested))
        if not nested:
            made.append(element)
    return made
