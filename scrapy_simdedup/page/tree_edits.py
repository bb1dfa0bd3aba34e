"""Edits and questions about many elements of a tree, in linear time.

lxml's own methods take one element: dropping it joins the texts around it, which copies a run of n texts n times, and
looking for what is around it walks up for each element of a deep tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from lxml.html import HtmlElement

_MARK = "simdedup-edited"
"""The tag that marks elements until all of them are edited at once."""


def drop_elements(root: HtmlElement, elements: Iterable[HtmlElement]) -> None:
    """Drop elements below a root with all that they hold; the text behind each stays."""
    if _mark(elements):
        etree.strip_elements(root, _MARK, with_tail=False)


def unwrap_elements(root: HtmlElement, elements: Iterable[HtmlElement]) -> None:
    """Drop the tags of elements below a root; what they hold stays in their place."""
    if _mark(elements):
        etree.strip_tags(root, _MARK)


def _mark(elements: Iterable[HtmlElement]) -> bool:
    is_any = False
    for element in elements:
        element.tag = _MARK
        is_any = True
    return is_any


def outermost(elements: Sequence[HtmlElement]) -> list[HtmlElement]:
    """Those of some elements that lie in no other of them, in their order."""
    is_inside = dict.fromkeys(elements, True)
    """Of each element that was looked at, whether it is one of them or lies in one."""
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


def with_surroundings(
    root: HtmlElement, tags: Collection[str], around: Collection[str]
) -> Iterator[tuple[HtmlElement, bool]]:
    """The elements with some tags in document order, and whether each lies in an element with one of other tags.

    Args:
        root: The root, which counts as an element around.
        tags: The tags of the elements; the tree must not change in between.
        around: The tags of the elements around; may have tags in common with ``tags``.
    """
    depth = 0
    for event, element in etree.iterwalk(root, events=("start", "end"), tag=(*tags, *around)):
        is_around = element.tag in around
        if event == "end":
            depth -= is_around
            continue
        if element.tag in tags:
            yield element, depth > 0
        depth += is_around
