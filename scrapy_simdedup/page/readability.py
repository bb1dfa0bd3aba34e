"""The main content of a page as Readability finds it: Arc90's algorithm, by readability-lxml."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import cast

from lxml import etree
from lxml.html import Element, HtmlElement, fragment_fromstring
from readability import Document
from readability.readability import REGEXES, Unparseable

from scrapy_simdedup.page.block_tree import BlockTree, subtree_totals
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.parse import outermost
from scrapy_simdedup.page.roles import BOILERPLATE_ROLES, H1, HEADER, META, NON_TEXT_TAGS

CHAR_THRESHOLD = 400
"""Characters from which Readability's article is taken; on lists and short pages it finds some fragment."""
MAX_READABILITY_ELEMENTS = 10_000
"""Elements above which Readability is not asked: some of its rules compare each element with all others."""
MAX_READABILITY_COST = 30_000_000
"""Levels of elements times characters (an element counts as 50) above which Readability is not asked: it counts the
text of nested elements again and again."""
MIN_PROSE_LETTERS = 60
"""Letters from which a block stands in the article wherever its letters do, and from which the text under a headline is
no date or author."""
MAX_MATCHING_COST = 500_000_000
"""Blocks times letters of the article above which the blocks are not looked for in it."""
MAX_HIDDEN_SHARE = 0.5
"""Share of the page's text up to which a hidden element is dropped; a larger one is shown by a script."""
_REMOVED_ROLES = BOILERPLATE_ROLES & ~META
"""All but the author and the date of a text, which are worth reading."""
_maybe_hidden = etree.XPath("./descendant::*[@hidden or @style]")
_NOT_SHOWN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_IS_DEEPER_THAN = {depth: etree.XPath("boolean(." + "/*" * depth + ")") for depth in (16, 32, 64, 128, 256, 512, 1024)}
_count = etree.XPath("count(.//*)")


def find_article_blocks(
    root: HtmlElement, tree: BlockTree, classes: Sequence[BlockClass], roles: Sequence[int]
) -> list[bool]:
    """For each block, whether it stands in the article that Readability finds; empty where it finds none.

    Where the text under the page's headline lies outside of it, Readability found something else, such as the terms of
    a shop below a short article.
    """
    cleaned = deepcopy(root)
    remove_boilerplate(cleaned, tree, roles)
    article = _find_article(cleaned)
    if article is None:
        return []
    main = _letters(article.text_content())
    letters = {n: _letters(tree.texts[n]) for n, found in enumerate(classes) if found is not BlockClass.BOILERPLATE}
    if len(letters) * len(main) > MAX_MATCHING_COST:
        return []
    content = {number: text for number, text in letters.items() if classes[number] is BlockClass.CONTENT}
    # Readability cuts and joins blocks, so that only their letters can be found again.
    chosen = [False] * len(classes)
    place = 0
    for number, text in letters.items():
        found = main.find(text, place)
        follows = found == place or (found > place and len(text) >= MIN_PROSE_LETTERS)
        if follows:
            place = found + len(text)
        chosen[number] = follows or (number in content and text in main)
    headed = _text_under_headline(tree, content)
    return chosen if headed is None or chosen[headed] else []


def _text_under_headline(tree: BlockTree, content: Mapping[int, str]) -> int | None:
    numbers = iter(content)
    if not any(tree.text_roles[number] & H1 for number in numbers):  # stops behind the headline
        return None
    return next((number for number in numbers if len(content[number]) >= MIN_PROSE_LETTERS), None)


def _letters(text: str) -> str:
    return "".join(text.split())


def remove_boilerplate(root: HtmlElement, tree: BlockTree, roles: Sequence[int]) -> None:
    """Drop boilerplate, code, and hidden elements; a page that has text keeps some."""
    drop_elements(root, _boilerplate_elements(root, tree, roles))
    for template in list(root.iter("template")):
        if template.get("shadowrootmode") is not None:
            template.tag = "div"
    etree.strip_elements(root, *NON_TEXT_TAGS, with_tail=False)
    _drop_minor_elements(root, list(filter(_is_hidden, cast("list[HtmlElement]", _maybe_hidden(root)))))


def _boilerplate_elements(root: HtmlElement, tree: BlockTree, block_roles: Sequence[int]) -> list[HtmlElement]:
    """The elements that have a boilerplate role and hold no content; none if there is no content at all."""
    own = (0 if roles & _REMOVED_ROLES else len(text) for text, roles in zip(tree.texts, block_roles, strict=True))
    content = subtree_totals(tree.role_parents, tree.role_nodes, own)
    if not content[0]:
        return []
    size = subtree_totals(tree.role_parents, tree.role_nodes, map(len, tree.texts))
    removed = {
        tree.element_numbers[node]
        for node, roles in enumerate(tree.node_roles)
        if not content[node] and roles & (_REMOVED_ROLES if size[node] else _REMOVED_ROLES & ~HEADER)
    }
    return [element for number, element in enumerate(root.iter("*")) if number in removed]


def _is_hidden(element: HtmlElement) -> bool:
    hidden = element.get("hidden")
    return (hidden is not None and hidden != "until-found") or _NOT_SHOWN.search(element.get("style", "")) is not None


def _drop_minor_elements(root: HtmlElement, elements: Sequence[HtmlElement]) -> None:
    """Drop elements, except one that holds most of the page's text; none if together they hold all of it."""
    if not elements:
        return
    page = len(_letters(root.text_content()))
    sizes = {element: len(_letters(element.text_content())) for element in outermost(elements)}
    minor = {element: size for element, size in sizes.items() if size <= MAX_HIDDEN_SHARE * page}
    if sum(minor.values()) < page:
        drop_elements(root, minor)


def _find_article(root: HtmlElement) -> HtmlElement | None:
    """The article as an element of another tree; None where there is none, or where it would take too long."""
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


class ArticleDocument(Document):  # type: ignore[misc]  # readability-lxml ships no types
    """The article of a parsed page as readability-lxml finds it, at about half the cost.

    The algorithm is Arc90's Readability as readability-lxml implements it. A third of its time goes into a cleaning of
    the page that :func:`remove_boilerplate` has done already, another third into counting characters with three regular
    expressions per element, and an eighth into writing out all that each ``<div>`` holds. These are replaced here, and
    names of classes are looked up once. The scores stay as they are.

    It is ``Document`` on a tree instead of a string: ``ArticleDocument(root).article()``.

    Each override stands by itself. Where a version of readability-lxml no longer calls one, its own code takes over,
    which is slower and finds the same words. The page is one without scripts, comments and hidden elements, and stays
    as it is.
    """

    def __init__(self, root: HtmlElement) -> None:
        super().__init__(root)
        self._article: HtmlElement | None = None

    def article(self) -> HtmlElement:
        """The article, as a ``<div>`` of its own."""
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


_DROPPED = "simdedup-dropped"
"""The tag that marks elements until all of them are dropped at once."""


def drop_elements(root: HtmlElement, elements: Iterable[HtmlElement]) -> None:
    """Drop elements below a root with all that they hold; the text behind each stays.

    Takes linear time. lxml's own method takes one element and joins the texts around it, which copies a run of n texts
    n times.
    """
    is_any = False
    for element in elements:
        element.tag = _DROPPED
        is_any = True
    if is_any:
        etree.strip_elements(root, _DROPPED, with_tail=False)
