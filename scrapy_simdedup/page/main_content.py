"""The main content of a cleaned page: Readability's article, else the element that tags or size point to."""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from lxml import etree
from lxml.html import Element, HtmlElement, fragment_fromstring
from readability import Document
from readability.readability import REGEXES, Unparseable

from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.clean import remove_boilerplate
from scrapy_simdedup.page.parse import xpath_elements
from scrapy_simdedup.page.roles import H1
from scrapy_simdedup.page.tree_edits import drop_elements, outermost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lxml.html import HtmlElement

    from scrapy_simdedup.page.block_tree import BlockTree

CHAR_THRESHOLD = 400
"""Characters from which Readability's article is taken; on lists and short pages it finds some fragment."""
MAX_READABILITY_ELEMENTS = 10_000
"""Elements above which Readability is not asked: some of its rules compare each element with all others."""
MIN_TAGGED_SHARE = 0.5
"""Share of the page's text that an element must hold to be taken for its main content."""
MIN_UNTAGGED_SHARE = 0.8
"""The same share where no tag says that the element is the main content."""
MAX_DESCENT = 50
"""Levels below the body in which the smallest element with most of the text is looked for."""
MAX_READABILITY_COST = 30_000_000
"""Levels of elements times characters (an element counts as 50) above which Readability is not asked: it counts the
text of nested elements again and again."""
MIN_PROSE_LETTERS = 60
"""Letters from which a block under a headline is its text, and not its date or author."""
MAX_MATCHING_COST = 500_000_000
"""Blocks times letters of the main content above which the blocks are not looked for in it."""

_SELECTORS = tuple(
    xpath_elements(f"./descendant::{step}") for step in ("article", "main", "*[@role='main']", "*[@id='content']")
)
_TABLE_PARTS = ("thead", "tbody", "tfoot", "tr")
_CONTAINERS = ("article", "center", "div", "fieldset", "form", "main", "section", "table", "td", *_TABLE_PARTS)
_IS_DEEPER_THAN = {depth: etree.XPath("boolean(." + "/*" * depth + ")") for depth in (16, 32, 64, 128, 256, 512, 1024)}
_count = etree.XPath("count(.//*)")


def main_content(root: HtmlElement) -> HtmlElement:
    """The element with the main content: the first of these that holds enough text.

    1. Readability's article (Arc90's algorithm, by readability-lxml).
    2. The largest ``<article>``, ``<main>``, ``role="main"`` or ``id="content"``.
    3. The smallest element that holds most of the text, which may be the body.

    Args:
        root: The ``<html>`` element of a page without boilerplate; it stays as it is.

    Returns:
        An element of the tree or, where Readability found it, of another one.
    """
    article = _readability_article(root)
    if article is not None:
        return article
    body = root.find("body")
    body = root if body is None else body
    least = MIN_TAGGED_SHARE * text_length(body)
    for select in _SELECTORS:
        found = max(outermost(select(body)), key=text_length, default=None)  # none inside has more text
        if found is not None and text_length(found) >= least:
            return found
    return _largest_block(body)


def _readability_article(root: HtmlElement) -> HtmlElement | None:
    if _is_too_costly(root):
        return None
    try:
        article = ArticleDocument(root).article()
    except Unparseable:
        return None
    return article if text_length(article) >= CHAR_THRESHOLD else None


def _is_too_costly(root: HtmlElement) -> bool:
    count = cast("float", _count(root))
    depth = next((depth for depth, is_deeper in _IS_DEEPER_THAN.items() if not is_deeper(root)), 2048)
    return count > MAX_READABILITY_ELEMENTS or depth * (len(root.text_content()) + 50 * count) > MAX_READABILITY_COST


def _largest_block(body: HtmlElement) -> HtmlElement:
    """The smallest element that holds most of the text, without what stands around it."""
    least = MIN_UNTAGGED_SHARE * text_length(body)
    block = body
    for _ in range(MAX_DESCENT):
        inner = next((child for child in block if child.tag in _CONTAINERS and text_length(child) >= least), None)
        if inner is None:
            break
        block = inner
    return block if block.tag not in _TABLE_PARTS else next(block.iterancestors("table"), block)


def classify_by_main_content(
    root: HtmlElement, tree: BlockTree, classes: list[BlockClass], roles: Sequence[int]
) -> list[BlockClass]:
    """The classes of blocks for ``SIMDEDUP_EXTRACTOR="readability"``: content outside the main content is unmarked.

    Where the text under the page's headline lies outside of it, Readability found something else, such as the terms
    of a shop below a short article, and the classes stay.

    Args:
        root: The ``<html>`` element; it is used up.
        tree: Its block tree.
        classes: The class of each block by its roles.
        roles: The boilerplate roles of each block.
    """
    remove_boilerplate(root, tree, roles)
    main = _letters(main_content(root).text_content())
    content = {number: _letters(tree.texts[number]) for number, c in enumerate(classes) if c is BlockClass.CONTENT}
    if len(content) * len(main) > MAX_MATCHING_COST:
        return classes
    # Readability cuts and joins blocks, so that only their letters can be found again.
    outside = {number for number, letters in content.items() if letters not in main}
    if _text_under_headline(tree, content) in outside:
        return classes
    return [BlockClass.UNMARKED if number in outside else found for number, found in enumerate(classes)]


def _text_under_headline(tree: BlockTree, content: Mapping[int, str]) -> int | None:
    """The number of the first prose after the first ``<h1>`` of the content."""
    numbers = iter(content)
    if not any(tree.text_roles[number] & H1 for number in numbers):  # stops behind the headline
        return None
    return next((number for number in numbers if len(content[number]) >= MIN_PROSE_LETTERS), None)


def _letters(text: str) -> str:
    return "".join(text.split())


class ArticleDocument(Document):  # type: ignore[misc]  # readability-lxml ships no types
    """The article of a parsed page as readability-lxml finds it, at about half the cost.

    The algorithm is Arc90's Readability as readability-lxml implements it. A third of its time goes into a cleaning of
    the page that :mod:`.clean` has done already, another third into counting characters with three regular expressions
    per element, and an eighth into writing out all that each ``<div>`` holds. These are replaced here, and names of
    classes are looked up once. The scores stay as they are.

    It is ``Document`` on a tree instead of a string: ``ArticleDocument(root).article()``.

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
