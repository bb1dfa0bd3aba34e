"""Cleaning a page in place: boilerplate, hidden elements and lists of links go, addresses become absolute."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from lxml import etree

from scrapy_simdedup.page.block_tree import build_block_tree, subtree_totals
from scrapy_simdedup.page.classify import INDEX_PAGE_LINK_SHARE, MAX_LINK_DENSITY, classify_blocks
from scrapy_simdedup.page.parse import xpath_elements
from scrapy_simdedup.page.roles import BOILERPLATE_ROLES, DEFAULT_ROLE_WORDS, HEADER, META, NON_TEXT_TAGS
from scrapy_simdedup.page.tree_edits import drop_elements, outermost, with_surroundings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lxml.html import HtmlElement

    from scrapy_simdedup.page.block_tree import BlockTree
    from scrapy_simdedup.page.roles import RoleWords

MIN_LINKS = 3
"""Links from which a list can be navigation."""
MAX_HIDDEN_SHARE = 0.5
"""Share of the page's text up to which a hidden element is dropped; a larger one is shown by a script."""
MAX_BASE_LENGTH = 1_000
"""Characters of a base address; with a longer one the links of a page could take up memory without bounds."""

_REMOVED_ROLES = BOILERPLATE_ROLES & ~META
"""All but the author and the date of a text, which are worth reading."""

_maybe_hidden_elements = xpath_elements("./descendant::*[@hidden or @style]")
_NOT_SHOWN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_LAZY_ATTRIBUTES = ("data-src", "data-lazy-src", "data-original", "data-lazy")
_SRCSET_ATTRIBUTES = ("data-srcset", "data-lazy-srcset", "srcset")
_UNUSABLE_SCHEME = re.compile(r"(?:javascript|vbscript|data|about|blob):", re.IGNORECASE)


def clean_page(root: HtmlElement, url: str = "", words: RoleWords = DEFAULT_ROLE_WORDS) -> HtmlElement:
    """Leave only the page's own content, with absolute links; a page that has text keeps some.

    Args:
        root: The ``<html>`` element; it is changed and returned.
        url: The page's address.
        words: The roles that class and id names give.
    """
    resolve_urls(root, url)
    tree = build_block_tree(root, words)
    _, roles = classify_blocks(tree)
    remove_boilerplate(root, tree, roles)
    return root


def remove_boilerplate(root: HtmlElement, tree: BlockTree, roles: Sequence[int]) -> None:
    """Drop boilerplate, scripts, hidden elements and lists of links.

    Args:
        root: The ``<html>`` element; it is changed.
        tree: Its block tree.
        roles: The boilerplate roles of each block, from :func:`~scrapy_simdedup.page.classify.classify_blocks`.
    """
    drop_elements(root, _boilerplate_elements(root, tree, roles))
    _write_check_boxes(root)
    for template in list(root.iter("template")):
        if template.get("shadowrootmode") is not None:
            template.tag = "div"
    etree.strip_elements(root, *NON_TEXT_TAGS, with_tail=False)
    _drop_minor_elements(root, [element for element in _maybe_hidden_elements(root) if _is_hidden(element)])
    _drop_minor_elements(root, _lists_of_links(root))


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


def _write_check_boxes(root: HtmlElement) -> None:
    """Replace the check boxes of task lists by ``[ ]`` and ``[x]``, as Markdown writes them."""
    for box, is_in_item in list(with_surroundings(root, ("input",), ("li",))):
        if box.get("type", "").lower() != "checkbox" or not is_in_item:
            continue
        box.text = "[ ]" if box.get("checked") is None else "[x]"
        if not (box.tail or "")[:1].isspace():
            box.text += " "
        box.tag = "span"


def _is_hidden(element: HtmlElement) -> bool:
    hidden = element.get("hidden")
    return (hidden is not None and hidden != "until-found") or _NOT_SHOWN.search(element.get("style", "")) is not None


def _lists_of_links(root: HtmlElement) -> list[HtmlElement]:
    """The lists outside of the main part that are navigation; none if the page is about such lists."""
    lists = [
        element
        for element, is_inside in list(with_surroundings(root, ("ul", "ol"), ("main", "article", "ul", "ol")))
        if not is_inside and _is_navigation(element)  # a list in a list is judged with it
    ]
    linked = sum(map(_count_letters, lists))
    return lists if linked <= INDEX_PAGE_LINK_SHARE * (_count_letters(root) - linked) else []


def _is_navigation(element: HtmlElement) -> bool:
    links = element.findall(".//a")
    if len(links) < MIN_LINKS:
        return False
    return sum(map(_count_letters, outermost(links))) >= MAX_LINK_DENSITY * _count_letters(element)


def _drop_minor_elements(root: HtmlElement, elements: Sequence[HtmlElement]) -> None:
    """Drop elements, except one that holds most of the page's text; none if together they hold all of it."""
    if not elements:
        return
    page = _count_letters(root)
    sizes = {element: _count_letters(element) for element in outermost(elements)}
    minor = {element: size for element, size in sizes.items() if size <= MAX_HIDDEN_SHARE * page}
    if sum(minor.values()) < page:
        drop_elements(root, minor)


def _count_letters(element: HtmlElement) -> int:
    return len("".join(element.text_content().split()))


def resolve_urls(root: HtmlElement, url: str = "") -> None:
    """Make the addresses of links and images absolute, in place; those that lead nowhere are removed.

    Args:
        root: The ``<html>`` element.
        url: The page's address. Without it, and without a ``<base>``, relative addresses stay as they are.
    """
    base = _absolute_url(url, next((element.get("href") for element in root.iter("base") if element.get("href")), ""))
    if len(base) > MAX_BASE_LENGTH:
        base = ""
    for image, others in list(_images(root)):
        _set_address(image, "src", _absolute_url(base, _source(image, others)))
    for link in root.iter("a"):
        address = link.get("href")
        if address is not None and not address.startswith("#"):
            _set_address(link, "href", _absolute_url(base, address))


class _Picture:
    """A ``<picture>``, which offers one image in several files."""

    def __init__(self) -> None:
        self.sources: list[HtmlElement] = []

    @cached_property
    def address(self) -> str:
        """The address of its first source that names one."""
        return next(filter(None, map(_address_in_srcset, self.sources)), "")


def _images(root: HtmlElement) -> Iterator[tuple[HtmlElement, _Picture | None]]:
    """The images of a page, each with the innermost picture around it."""
    around: list[_Picture] = []
    for event, element in etree.iterwalk(root, events=("start", "end"), tag=("picture", "source", "img")):
        if element.tag == "picture":
            if event == "start":
                around.append(_Picture())
            else:
                around.pop()
        elif event == "start":
            if element.tag == "img":
                yield element, around[-1] if around else None
            elif around:
                around[-1].sources.append(element)


def _source(image: HtmlElement, picture: _Picture | None) -> str:
    """The address of an image, also where a script loads it when the reader scrolls down."""
    lazy = next(filter(None, map(image.get, _LAZY_ATTRIBUTES)), "")
    address = image.get("src", "")
    found = lazy or ("" if _UNUSABLE_SCHEME.match(address.strip()) else address) or _address_in_srcset(image)
    return found or (picture.address if picture else "")


def _address_in_srcset(element: HtmlElement) -> str:
    return next(filter(None, (_largest_in_srcset(element.get(name, "")) for name in _SRCSET_ATTRIBUTES)), "")


def _largest_in_srcset(srcset: str) -> str:
    """The address of the largest image of a ``srcset`` such as ``"small.png 480w, large.png 2x"``."""
    candidates = [words for part in re.split(r",\s", srcset) if (words := part.split())]
    return max(candidates, key=_size, default=[""])[0].strip(",")


def _size(candidate: list[str]) -> float:
    size = re.fullmatch(r"(\d+(?:\.\d+)?)[wx],?", candidate[-1])
    return float(size[1]) if size else 1.0


def _absolute_url(base: str, address: str) -> str:
    """The absolute address, or "" for one that cannot be followed."""
    address = re.sub(r"[\t\n\r]", "", address).strip()
    if _UNUSABLE_SCHEME.match(address):
        return ""
    try:
        return urljoin(base, address)
    except ValueError:  # such as http://[
        return ""


def _set_address(element: HtmlElement, name: str, address: str) -> None:
    if address:
        element.set(name, address)
    elif name in element.attrib:
        del element.attrib[name]
