"""Edits and questions about many elements of a tree, in linear time.

lxml's own methods take one element: dropping it joins the texts around it, which copies a run of n texts n times, and
looking for what is around it walks up for each element of a deep tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.html import HtmlElement

_MARK = "simdedup-edited"
"""The tag that marks elements until all of them are edited at once."""


def drop_elements(root: HtmlElement, elements: Iterable[HtmlElement]) -> None:
    """Drop elements below a root with all that they hold; the text behind each stays."""
    is_any = False
    for element in elements:
        element.tag = _MARK
        is_any = True
    if is_any:
        etree.strip_elements(root, _MARK, with_tail=False)


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
