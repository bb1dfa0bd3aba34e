"""Related lists: links to other pages under a heading that says so, such as "Recently viewed" or "Similar products".

Their names are often those of any list of the site, with the same cards as its catalogue, and they change with each
visit. So a heading counts, if what follows it is what it says: items that each have a link, and no long text.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from scrapy_simdedup.page.roles import H1, HEADING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.page.block_tree import BlockTree

MAX_HEADING_LENGTH = 60
"""Characters of a heading; a longer one is a sentence."""
MAX_TEXT_LENGTH = 200
"""Characters without links of a block of an item; a longer one is a text of the page's own."""
LINK_DENSITY = 0.5
"""Share of its characters inside of links from which a block is the link of its item."""
MAX_BLOCKS_OF_ITEM = 12
"""Blocks of an item without a link; what has more of them is a part of the page."""

MIN_ITEMS_BESIDE = 3
"""Items that stand beside their heading, without a box of their own around them, from which they are a list."""
MAX_SHARE = 0.8
"""Share of the page's text without a role above which such lists are what the page is about."""

_SAYS_RELATED = re.compile(
    r"""
    \b(?: recommended | recommendations | suggested | similar | related (?!\ (?:work|literature|research)\b)
    | (?:recently|last|also|often|frequently)\ (?:viewed|bought|purchased) | bought\ together
    | (?:may|might|will)\ also\ (?:like|enjoy) | you\ (?:may|might)\ (?:like|enjoy) | more\ like\ this
    | (?:zuletzt|kürzlich)\ angesehen\w* | empfohlene\w* | empfehlungen | ähnliche\w* | verwandte\w*
    | (?:kauften|kaufte|interessierten)\ auch | auch\ (?:interessieren|gefallen|gekauft|angesehen)
    | recommandé\w* | recommandations | similaires | vus\ récemment | (?:aimerez|intéresser)\ aussi
    | recomendad\w+ | relacionad\w+ | similares | vistos\ reci?ent\w+
    | correlati | simili | consigliat\w+ | visti\ di\ recente
    | gerelateerde? | vergelijkbare | aanbevolen | onlangs\ bekeken
    | похожие | рекомендуем\w* | недавно\ просмотренн\w+ )\b
    | 相关 | 相關 | 推荐 | 推薦 | 猜你喜欢 | 関連 | おすすめ
    """,
    re.IGNORECASE | re.VERBOSE,
)
_STEMS = tuple(
    """
    recommend suggest simil relat viewed bought purchased like enjoy
    angesehen empf ähnlich kaufte auch verwandt récemment aussi recomend relacion vistos correlat consigli visti
    aanbevolen vergelijkbar bekeken похож рекоменд просмотр 相关 相關 推荐 推薦 猜你 関連 おすすめ
    """.split()
)
"""Each of these phrases has one of these, which are looked for much faster, in all headings of a page at once."""


def find_related_lists(tree: BlockTree, roles: Sequence[int]) -> list[int]:
    """The blocks of all related lists, with their headings.

    1. A short heading that is no headline and has no role says that such a list follows.
    2. The list is the box after it, inside the box that holds both; or, where that box is one item, those beside it, of
       one kind, up to the next heading there.
    3. It is one if it has links, no headline, no long text without links, and never many blocks without a link.
    4. Where nearly all of the page is in such lists, they are what it is about.

    Args:
        tree: The blocks, and the boxes around them.
        roles: For each block, its boilerplate roles.
    """
    headings = [
        number
        for number, of_text in enumerate(tree.text_roles)
        if of_text & HEADING
        and not of_text & H1
        and not roles[number]
        and len(tree.texts[number]) <= MAX_HEADING_LENGTH
    ]
    said = "\n".join([tree.texts[number] for number in headings]).lower()
    if not any(stem in said for stem in _STEMS):
        return []
    found: list[int] = []
    for number in headings:
        if _SAYS_RELATED.search(tree.texts[number]):
            end = _end_of_list(tree, number)
            found.extend(range(number, end) if end > number + 1 else ())
    size = sum(len(text) for text, role in zip(tree.texts, roles, strict=True) if not role)
    return found if sum(len(tree.texts[at]) for at in found) <= MAX_SHARE * size else []


def _end_of_list(tree: BlockTree, heading: int) -> int:
    """The block after the list below a heading; ``heading`` itself where there is none."""
    first = heading + 1
    if first == len(tree.texts):
        return heading
    around = _common_box(tree.box_parents, tree.boxes[heading], tree.boxes[first])
    beside: list[int] = []  # for each block after the heading, the child of the common box that it lies in
    for number in range(first, len(tree.texts)):
        child = _child_around(tree.box_parents, around, tree.boxes[number])
        if child < 0 or (tree.text_roles[number] & HEADING and tree.boxes[number] == child):
            break
        beside.append(child)
    if not beside:
        return heading
    in_box, children = beside.count(beside[0]), dict.fromkeys(beside)
    if _count_links(tree, range(first, first + in_box)) > 1:
        return first + in_box
    are_alike = len({tree.box_paths[child] for child in children}) == 1
    if len(children) >= MIN_ITEMS_BESIDE and are_alike:
        starts = [first + beside.index(child) for child in children] + [first + len(beside)]
        if all(_count_links(tree, range(*pair)) for pair in pairwise(starts)):
            return starts[-1]
    return first + in_box if _count_links(tree, range(first, first + in_box)) else heading


def _count_links(tree: BlockTree, blocks: range) -> int:
    """How many of some blocks are links; 0 where a long text, a headline, or many blocks in a row without any are."""
    links = since_link = 0
    for number in blocks:
        length, linked = len(tree.texts[number]), tree.link_lengths[number]
        is_link = linked >= LINK_DENSITY * length
        links += is_link
        since_link = 0 if is_link else since_link + 1
        if length - linked > MAX_TEXT_LENGTH or tree.text_roles[number] & H1 or since_link > MAX_BLOCKS_OF_ITEM:
            return 0
    return links


def _common_box(parents: Sequence[int], one: int, other: int) -> int:
    """The innermost box around two boxes; boxes are numbered in their order, so the later one is never around."""
    while one != other:
        if one > other:
            one = parents[one]
        else:
            other = parents[other]
    return one


def _child_around(parents: Sequence[int], outer: int, box: int) -> int:
    """The child of a box that another box is or lies in; -1 if it lies outside."""
    while box > outer and parents[box] != outer:
        box = parents[box]
    return box if box > outer else -1
