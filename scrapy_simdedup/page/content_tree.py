"""The content tree of a page: the elements around its chosen blocks, and the addresses to which these lead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import urljoin

from lxml import etree

from scrapy_simdedup.page.roles import BLOCK, BLOCK_TAGS, SKIPPED, TAG_FLAGS

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_INNER_BLOCK_TAGS = BLOCK_TAGS - {"br"}
_CELL_TAGS = frozenset({"td", "th", "tr"})
"""Elements that are kept where they are empty, as the cells behind them would move otherwise."""
MAX_BASE_LENGTH = 1_000
"""Characters of a base address; with a longer one the links of a page could take up memory without bounds."""
MAX_INSIDE = 100
"""Elements inside of another that are counted; what holds more is a part of the page."""
MAX_LEVELS_TO_PICTURE = 8
"""Elements between an image and the ``<picture>`` around it."""
_base_of = cast(
    "Callable[[HtmlElement], str]", etree.XPath("string((head | body)/base[@href][1]/@href)", smart_strings=False)
)
_LAZY_ATTRIBUTES = ("data-src", "data-lazy-src", "data-original", "data-lazy")
_SRCSET_ATTRIBUTES = ("data-srcset", "data-lazy-srcset", "srcset")
_UNUSABLE_SCHEME = re.compile(r"\s*(?:javascript|vbscript|data|about|blob):", re.IGNORECASE)
_LINE_BREAKS = re.compile(r"[\t\n\r]")
_IS_ABSOLUTE = re.compile(r"https?://[^\s/?#\[\]]+(?:[/?#]\S*)?", re.IGNORECASE).fullmatch
_ORIGIN = re.compile(r"https?://[^\s/?#\[\]]+", re.IGNORECASE)
_IS_PATH = re.compile(r"/(?!/)[^\s?#.]*(?:[?#]\S*)?").fullmatch
"""Whether an address is a path of the same host that needs no work: no host, no dots, no white space."""


class ContentNode:
    """An element of a page, with those of its texts and elements that belong to the chosen blocks."""

    __slots__ = ("children", "element", "holds_block", "tag")

    def __init__(self, element: HtmlElement, children: Sequence[Child], *, holds_block: bool = False) -> None:
        self.tag: str = element.tag
        self.element = element
        self.children = children
        self.holds_block = holds_block
        """Whether a block element lies in it, at any depth."""

    @property
    def is_block(self) -> bool:
        """Whether the element stands in lines of its own: a block element, or what holds one."""
        return self.holds_block or self.tag in _INNER_BLOCK_TAGS

    def nodes(self, *tags: str) -> Iterator[ContentNode]:
        """The child nodes, of any tag or of the given ones."""
        return (child for child in self.children if isinstance(child, ContentNode) and (not tags or child.tag in tags))

    def walk(self) -> Iterator[Child]:
        """The texts and nodes inside, at any depth, in their order."""
        waiting: list[Child] = list(reversed(self.children))
        while waiting:
            child = waiting.pop()
            yield child
            if isinstance(child, ContentNode):
                waiting.extend(reversed(child.children))

    def text(self) -> str:
        """The text inside, with spaces around blocks."""
        parts: list[str] = []
        waiting: list[Child] = list(reversed(self.children))
        while waiting:
            child = waiting.pop()
            if isinstance(child, str):
                parts.append(child)
                continue
            if child.is_block or child.tag == "br":
                parts.append(" ")
                waiting.append(" ")
            waiting.extend(reversed(child.children))
        return "".join(parts)


Child: TypeAlias = "str | ContentNode"
_END: Any = etree.Element("br")
"""An element behind the page: a line break outside of all others ends what is open."""
_DROPPED = ""
"""The tag of a picture that belongs to no chosen block after all."""
_BREAK = "div"
"""The tag of what stands for a block element that holds nothing chosen, between two lines that it parts."""


def python_build_content_tree(root: HtmlElement, is_chosen: Iterable[bool]) -> ContentNode | None:  # noqa: PLR0912, PLR0915 - calls cost as much again
    """The content tree of a page; None where nothing is chosen. Of a page without any text the pictures are kept.

    1. The elements are walked as in :func:`~scrapy_simdedup.page.block_tree.python_walk`, so that blocks are the same.
    2. A text is kept where its block is chosen. An element is kept where it holds something that is kept. A block
       element that does not still parts the lines before and behind it: an empty node stands for it.
    3. Pictures and rules have no text. One in the line of a block goes with it. Any other is kept where the blocks
       before and behind it are chosen, of those inside the smallest element around it that holds any.

    Where the package was installed with its compiled part, :mod:`scrapy_simdedup.page._content_tree` does the same.
    """
    chosen = list(map(bool, is_chosen))
    if chosen and True not in chosen:
        return None
    last = len(chosen) - chosen[::-1].index(True) if chosen else 0
    chosen.append(False)
    number = 0
    """The block that the line belongs to, if it is not blank."""
    has_text = False
    line_leaves: list[ContentNode] = []
    leaves: list[tuple[int, ContentNode]] = []
    """The pictures outside of lines with text, and the block behind each, in elements that hold no block so far."""

    def end_line() -> None:
        nonlocal number, has_text
        if has_text:
            if not chosen[number]:
                for leaf in line_leaves:
                    leaf.tag = _DROPPED
            number += 1
            has_text = False
        else:
            for leaf in line_leaves:
                if leaf.tag == "input":
                    leaf.tag = _DROPPED
                else:
                    leaves.append((number, leaf))
        line_leaves.clear()

    has_gap = False
    """Whether a block element that is not kept parts the line before from what comes next."""

    def mark_gap(element: HtmlElement) -> None:
        nonlocal has_gap
        has_gap = False
        before = children[-1] if children else ""
        if isinstance(before, str) or not before.is_block:
            gap = ContentNode(element, ())
            gap.tag = _BREAK
            children.append(gap)

    inside: Any = None
    children: list[Child] = []
    is_block = in_pre = holds_block = False
    first = first_leaf = 0
    around: list[tuple[Any, list[Child], bool, bool, bool, int, int]] = []
    elements = chain(root.iter("*"), [_END])
    for element in elements:
        if number > last:  # one block behind the last that is chosen: nothing that follows is kept
            element = _END  # noqa: PLW2901 - ends what is open
        above = element.getparent()
        while inside is not above:
            if is_block:
                if has_text or line_leaves:
                    end_line()
                if len(leaves) > first_leaf and number > first:
                    for place, leaf in leaves[first_leaf:]:
                        if (place > first and not chosen[place - 1]) or (place < number and not chosen[place]):
                            leaf.tag = _DROPPED
                    del leaves[first_leaf:]
            left, kept, was_block, held_block = inside, children, is_block, holds_block
            inside, children, is_block, in_pre, holds_block, first, first_leaf = around.pop()
            if kept or left.tag in _CELL_TAGS:
                children.append(ContentNode(left, kept, holds_block=held_block))
                holds_block = holds_block or held_block or (was_block and left.tag != "br")
                has_gap = has_gap and not was_block
            elif left.tag != "br":
                has_gap = has_gap or was_block
                if has_gap and children:
                    mark_gap(left)
            tail = left.tail
            if tail:
                if not has_text and not tail.isspace():
                    has_text = True
                if chosen[number] and (has_text or in_pre):
                    if has_gap:
                        mark_gap(left)
                    children.append(tail)
        if element is _END:
            break
        flags = TAG_FLAGS.get(element.tag, 0)
        starts_block = flags & BLOCK != 0
        if starts_block and (has_text or line_leaves):
            end_line()
        tag = element.tag
        if tag == "br":
            if chosen[number] or (number and chosen[number - 1]):
                children.append(ContentNode(element, ()))
        elif tag in ("hr", "img") or (tag == "input" and element.get("type", "").lower() == "checkbox"):
            leaf = ContentNode(element, ())
            children.append(leaf)
            if tag == "hr":
                leaves.append((number, leaf))
                holds_block = True
            else:
                line_leaves.append(leaf)
        around.append((inside, children, is_block, in_pre, holds_block, first, first_leaf))
        inside, is_block, holds_block, first, first_leaf = element, starts_block, False, number, len(leaves)
        children = []
        has_gap = has_gap and (not starts_block or tag == "br")
        if flags & SKIPPED and element.get("shadowrootmode") is None:
            for _ in element.iterdescendants("*"):
                next(elements)
            continue
        in_pre = in_pre or tag == "pre"
        text = element.text
        if text:
            if not has_text and not text.isspace():
                has_text = True
            if chosen[number] and (has_text or in_pre):
                if has_gap:
                    mark_gap(element)
                children.append(text)
    return children[0] if children and isinstance(children[0], ContentNode) else None


def python_single_spaced(text: str) -> str:
    """A text with single blanks for all white space, and none around it; most texts are so already."""
    return " ".join(text.split())


def python_inner_links(root: HtmlElement) -> tuple[list[tuple[int, str]], dict[str, tuple[int, int]]]:
    """The links of a page to places of its own, and these places.

    Of each link the number of its element in document order and the name that it leads to; for each name the number of
    the first element that has it, and how many elements lie inside, at most one more than :data:`MAX_INSIDE`. Nothing
    where there are no two links.
    """
    links: list[tuple[int, str]] = []
    named: dict[str, tuple[int, HtmlElement]] = {}
    for number, element in enumerate(root.iter("*")):
        is_link = element.tag == "a"
        if is_link and (href := element.get("href", "")).startswith("#") and len(href) > 1:
            links.append((number, href[1:]))
        name = element.get("id") or (element.get("name") if is_link else None)
        if name:
            named.setdefault(name, (number, element))
    if len(links) < 2:
        return [], {}
    places = {name: named[name] for _, name in links if name in named}
    return links, {
        name: (number, sum(1 for _ in islice(element.iterdescendants("*"), MAX_INSIDE + 1)))
        for name, (number, element) in places.items()
    }


try:
    from scrapy_simdedup.page._content_tree import build_content_tree as build_content_tree  # noqa: PLC0414 - for others, too
    from scrapy_simdedup.page._content_tree import inner_links as inner_links  # noqa: PLC0414 - for others, too
    from scrapy_simdedup.page._content_tree import single_spaced as single_spaced  # noqa: PLC0414 - for others, too
except (ImportError, TypeError, ValueError):  # installed without a compiler, or beside an lxml it was not compiled for
    build_content_tree, inner_links = python_build_content_tree, python_inner_links
    single_spaced = python_single_spaced


class Addresses:
    """The absolute addresses of one page's links and images.

    Without the page's ``url`` and a ``<base>``, relative addresses stay as they are.
    """

    def __init__(self, root: HtmlElement, url: str = "") -> None:
        base = _base_of(root)
        joined = "" if _UNUSABLE_SCHEME.match(base) else _joined(url, base.strip())
        self._base: str = joined if len(joined) <= MAX_BASE_LENGTH else ""
        found = _ORIGIN.match(self._base)
        self._origin: str = found[0] if found else ""

    def absolute(self, address: str) -> str:
        """The absolute address, or "" for one that cannot be followed."""
        if _IS_ABSOLUTE(address):
            return address
        if self._origin and _IS_PATH(address):
            return self._origin + address
        address = _LINE_BREAKS.sub("", address).strip()
        return "" if _UNUSABLE_SCHEME.match(address) else _joined(self._base, address)

    def of_link(self, link: HtmlElement) -> str:
        """The absolute address of an ``<a>``; "" for one that leads nowhere, or to a part of the same page."""
        address = link.get("href")
        return "" if not address or address.startswith("#") else self.absolute(address)

    def of_image(self, image: HtmlElement) -> str:
        """The absolute address of an ``<img>``, also where a script loads it when the reader scrolls down."""
        lazy = next(filter(None, map(image.get, _LAZY_ATTRIBUTES)), "")
        address = image.get("src", "")
        found = lazy or ("" if _UNUSABLE_SCHEME.match(address) else address) or _address_in_srcset(image)
        if not found:
            around = next((e for e in islice(image.iterancestors(), MAX_LEVELS_TO_PICTURE) if e.tag == "picture"), None)
            sources = () if around is None else around.iterdescendants("source")
            found = next(filter(None, map(_address_in_srcset, sources)), "")
        return self.absolute(found) if found else ""


def _joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address)
    except ValueError:  # such as http://[
        return ""


def _address_in_srcset(element: HtmlElement) -> str:
    return next(filter(None, (_largest_in_srcset(element.get(name, "")) for name in _SRCSET_ATTRIBUTES)), "")


def _largest_in_srcset(srcset: str) -> str:
    """The address of the largest image of a ``srcset`` such as ``"small.png 480w, large.png 2x"``."""
    candidates = [words for part in re.split(r",\s", srcset) if (words := part.split())]
    return max(candidates, key=_size, default=[""])[0].strip(",")


def _size(candidate: list[str]) -> float:
    size = re.fullmatch(r"(\d+(?:\.\d+)?)[wx],?", candidate[-1])
    return float(size[1]) if size else 1.0
