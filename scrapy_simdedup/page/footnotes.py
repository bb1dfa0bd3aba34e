"""The notes of a page: what a text points to, and what points back to it, as footnotes do in any software and language.

A note stands far below its text, often among lists of links, so the content model leaves many of them out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.html import HtmlElement

    from scrapy_simdedup.page.block_tree import BlockTree

MAX_ELEMENTS = 100
"""Elements inside of a note; what holds more is a part of the page."""
MAX_LENGTH = 2_000
"""Characters of a note at most."""

_links_inside = etree.XPath("//a[starts-with(@href, '#') and string-length(@href) > 1]")


def notes_of(root: HtmlElement, tree: BlockTree, chosen: Sequence[bool]) -> set[int]:
    """The blocks of the notes that chosen blocks above them point to; each has a link back to such a block.

    Args:
        root: The ``<html>`` element; it stays as it is.
        tree: Its block tree, made with ``detailed=True``.
        chosen: Whether each block of the tree is chosen.
    """
    links: list[Any] = cast("list[Any]", _links_inside(root))
    if len(links) < 2:  # one there and one back
        return set()
    last = tree.last_elements
    block_of, targets = _blocks_of(root, last, links)
    pointed: dict[int, set[int]] = defaultdict(set)
    """For each block, the first blocks of what its links lead to."""
    notes: dict[tuple[int, int], range] = {}
    for link, block in zip(links, block_of, strict=True):
        note = targets.get(link.get("href")[1:])
        if note:
            pointed[block].add(note[0])
            if block < note[0] and chosen[block]:
                notes[block, note[0]] = note
    found: set[int] = set()
    for (block, _), note in notes.items():
        is_mutual = any(block in pointed.get(other, ()) for other in note)
        if is_mutual and sum(len(tree.texts[other]) for other in note) <= MAX_LENGTH:
            found.update(note)
    return found


def _blocks_of(root: HtmlElement, last: Sequence[int], links: Sequence[Any]) -> tuple[list[int], dict[str, range]]:
    """The block of each link, and the blocks of each element that the links name and that may be a note."""
    wanted = {link.get("href")[1:] for link in links}
    of_links = dict.fromkeys(links, 0)
    targets: dict[str, range] = {}
    for number, element in enumerate(root.iter("*")):
        if element in of_links:
            of_links[element] = bisect_left(last, number)
        name = element.get("id") or (element.get("name") if element.tag == "a" else None)
        if name is not None and name in wanted and name not in targets:
            inside = sum(1 for _ in islice(element.iterdescendants("*"), MAX_ELEMENTS + 1))
            first = bisect_left(last, number)
            end = min(max(bisect_right(last, number + inside), first + 1), len(last))
            targets[name] = range(first, end if inside <= MAX_ELEMENTS else first + 1)
    return [of_links[link] for link in links], targets
