"""The article of a parsed page as readability-lxml finds it, at about half the cost.

The algorithm is Arc90's Readability as readability-lxml implements it. A third of its time goes into a cleaning of the
page that :mod:`.clean` has done already, another third into counting characters with three regular expressions per
element, and an eighth into writing out all that each ``<div>`` holds. These are replaced here, and names of classes are
looked up once. The scores stay as they are.
"""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache

from lxml import etree
from lxml.html import Element, HtmlElement, fragment_fromstring
from readability import Document
from readability.readability import REGEXES

from scrapy_simdedup.page.tree_edits import drop_elements


class ArticleDocument(Document):  # type: ignore[misc]  # readability-lxml ships no types
    """``Document`` on a tree instead of a string: ``ArticleDocument(root).article()``.

    Each override stands by itself. Where a version of readability-lxml no longer calls one, its own code takes over,
    which is slower and finds the same words.

    Args:
        root: The ``<html>`` element of a page without scripts, comments and hidden elements; it stays as it is.
    """

    def __init__(self, root: HtmlElement) -> None:
        super().__init__(root)
        self._article: HtmlElement | None = None

    def article(self) -> HtmlElement:
        """The article, as a ``<div>`` of its own.

        Raises:
            readability.readability.Unparseable: whatever went wrong inside.
        """
        summary = self.summary(html_partial=True)
        return fragment_fromstring(summary, create_parent="div") if self._article is None else self._article

    def _parse(self, root: HtmlElement) -> HtmlElement:
        return deepcopy(root)

    def get_clean_html(self) -> str:
        """The found article as HTML. The tree itself is kept, which saves parsing it again."""
        self._article = self.html
        return etree.tostring(self.html, encoding="unicode", method="html")

    def remove_unlikely_candidates(self) -> None:
        """Drop elements whose class and id say boilerplate, unless they hold the main part or belong to code."""
        unlikely = []
        for element in self.html.findall(".//*"):
            names = f"{element.get('class', '')} {element.get('id', '')}"
            if len(names) > 1 and _are_unlikely(names) and element.tag != "body" and not _is_kept(element):
                unlikely.append(element)
        drop_elements(self.html, unlikely)

    def transform_misused_divs_into_paragraphs(self) -> None:
        """Make paragraphs of the text that stands in ``<div>`` elements without them."""
        for div in self.html.findall(".//div"):
            if not _holds_blocks(div):
                div.tag = "p"
        divs = self.html.findall(".//div")
        for div in divs:
            _wrap_lines(div)
        drop_elements(self.html, [line_break for div in divs for line_break in div.iterchildren("br")])

    def get_link_density(self, elem: HtmlElement) -> float:
        """The share of an element's characters that lies in links; a run of white space is one character."""
        links = elem.findall(".//a")
        return sum(map(text_length, links)) / max(text_length(elem), 1) if links else 0.0


_INLINE = frozenset("a b cite code em font i small span strong sub sup u".split())
_BLOCKS = (
    *("blockquote", "div", "dl", "img", "ol", "p", "pre", "table", "ul"),
    *("param", "path", "pattern", "picture", "polygon", "polyline", "progress"),
)
"""The elements that Readability finds as ``<(blockquote|dl|div|img|ol|p|pre|table|ul)`` in the HTML of an element."""


def _holds_blocks(element: HtmlElement) -> bool:
    return next(element.iterdescendants(*_BLOCKS), None) is not None


def _wrap_lines(div: HtmlElement) -> None:
    """Put the text and the inline elements between the blocks of a ``<div>`` into paragraphs."""
    children = list(div)
    line = None
    if div.text and div.text.strip():
        line, div.text = _paragraph(div.text), None
        div.insert(0, line)
    for child in children:
        if child.tag not in _INLINE or _holds_blocks(child):
            line = None
            continue
        if line is None:
            line = _paragraph()
            child.addprevious(line)
        line.append(child)
    for child in list(div):
        tail = child.tail
        if tail and tail.strip():
            child.tail = None
            child.addnext(_paragraph(tail))


def _paragraph(text: str | None = None) -> HtmlElement:
    made: HtmlElement = Element("p")
    made.text = text
    return made


_is_kept = etree.XPath(
    "boolean(ancestor-or-self::*[self::pre or self::code]"
    " | descendant-or-self::*[self::main or self::article or self::math])"
)


@lru_cache(maxsize=20_000)
def _are_unlikely(names: str) -> bool:
    """Whether Readability takes a class and an id for boilerplate; the values of a site's pages are few."""
    unlikely, maybe = REGEXES["unlikelyCandidatesRe"], REGEXES["okMaybeItsACandidateRe"]
    return unlikely.search(names) is not None and maybe.search(names) is None


def text_length(element: HtmlElement) -> int:
    """Characters of an element's text, a run of white space as one."""
    return len(" ".join(element.text_content().split()))
