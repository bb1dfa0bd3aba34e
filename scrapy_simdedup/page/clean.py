"""A page without what is not its own: frames by their roles, what nobody sees, lists of links. Changes the tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

from scrapy_simdedup.page.addresses import resolve_addresses
from scrapy_simdedup.page.blocks import outline
from scrapy_simdedup.page.kinds import judge_blocks
from scrapy_simdedup.page.parse import NOT_TEXT
from scrapy_simdedup.page.roles import DEFAULT_WORDS, FRAME_ROLES, HEADER, META
from scrapy_simdedup.page.xpath import finder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.html import HtmlElement

    from scrapy_simdedup.page.blocks import Outline
    from scrapy_simdedup.page.roles import RoleWords

MANY_LINKS = 3
LINKED = 0.6
"""Share of its text inside of links from which a list is navigation."""
LINKS_ARE_THE_PAGE = 0.5
"""Lists of links with more than this share of the other text are the page: an index, a search result."""
MAJOR = 0.5
"""Share of the page's text from which an element is not dropped because it is hidden: a script will show it."""

_DROPPED = FRAME_ROLES & ~META
"""The author and the date of a text are worth reading."""

_styled_or_hidden = finder("./descendant::*[@hidden or @style]")
_NOT_SHOWN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)


def clean(root: HtmlElement, url: str = "", words: RoleWords = DEFAULT_WORDS) -> HtmlElement:
    """Leave the page's own content, in place, with absolute links; a page that has text keeps some.

    Args:
        root: The ``<html>`` element of a tree that nobody else uses.
        url: The page's address.
        words: What class and id names say.
    """
    resolve_addresses(root, url)
    page = outline(root, words)
    _, frames = judge_blocks(page)
    remove_boilerplate(root, page, frames)
    return root


def remove_boilerplate(root: HtmlElement, page: Outline, frames: Sequence[int]) -> None:
    """Take off frames, scripts, hidden elements and lists of links.

    Args:
        root: The ``<html>`` element; it is changed.
        page: Its outline.
        frames: Frame roles of each block, as :func:`~scrapy_simdedup.page.kinds.judge_blocks` returns them.
    """
    for element in _framed(root, page, frames):
        element.drop_tree()
    _write_check_boxes(root)
    for template in list(root.iter("template")):
        if template.get("shadowrootmode") is not None:
            template.tag = "div"
    etree.strip_elements(root, *NOT_TEXT, with_tail=False)
    _drop(root, [element for element in _styled_or_hidden(root) if _is_hidden(element)])
    _drop(root, _lists_of_links(root))


def _framed(root: HtmlElement, page: Outline, frames: Sequence[int]) -> list[HtmlElement]:
    """The elements that have a frame role and hold no content; none if there is no content at all."""
    content = [0] * len(page.parents)
    size = [0] * len(page.parents)
    for text, node, frame in zip(page.texts, page.nodes, frames, strict=True):
        size[node] += len(text)
        if not frame & _DROPPED:
            content[node] += len(text)
    for node in range(len(content) - 1, 0, -1):
        size[page.parents[node]] += size[node]
        content[page.parents[node]] += content[node]
    if not content[0]:
        return []
    framed = {
        page.numbers[node]
        for node, roles in enumerate(page.roles)
        if not content[node] and roles & (_DROPPED if size[node] else _DROPPED & ~HEADER)
    }
    return [element for number, element in enumerate(root.iter("*")) if number in framed]


def _write_check_boxes(root: HtmlElement) -> None:
    """Write the boxes of task lists as the text that stands for them in Markdown."""
    for box in list(root.iter("input")):
        if box.get("type", "").lower() != "checkbox" or next(box.iterancestors("li"), None) is None:
            continue
        box.text = "[ ]" if box.get("checked") is None else "[x]"
        if not (box.tail or "")[:1].isspace():
            box.text += " "
        box.tag = "span"


def _is_hidden(element: HtmlElement) -> bool:
    hidden = element.get("hidden")
    return (hidden is not None and hidden != "until-found") or _NOT_SHOWN.search(element.get("style", "")) is not None


def _lists_of_links(root: HtmlElement) -> list[HtmlElement]:
    """The lists outside of the main part that are navigation; none if such lists are what the page is about."""
    lists = [element for element in root.iter("ul", "ol") if not _is_content(element) and _is_navigation(element)]
    linked = sum(map(_characters, lists))
    return lists if linked <= LINKS_ARE_THE_PAGE * (_characters(root) - linked) else []


def _is_content(element: HtmlElement) -> bool:
    """Whether a list lies in the main part. Lists in lists are left to those around them."""
    return next(element.iterancestors("main", "article", "ul", "ol"), None) is not None


def _is_navigation(element: HtmlElement) -> bool:
    links = element.findall(".//a")
    return len(links) >= MANY_LINKS and sum(map(_characters, links)) >= LINKED * _characters(element)


def _drop(root: HtmlElement, elements: Sequence[HtmlElement]) -> None:
    """Take elements off, except what holds most of the page; take none off if together they are the page."""
    if not elements:
        return
    chosen = set(elements)
    page = _characters(root)
    sizes = {e: _characters(e) for e in elements if chosen.isdisjoint(e.iterancestors())}
    minor = {element: size for element, size in sizes.items() if size <= MAJOR * page}
    if sum(minor.values()) < page:
        for element in minor:
            element.drop_tree()


def _characters(element: HtmlElement) -> int:
    return len("".join(element.text_content().split()))
