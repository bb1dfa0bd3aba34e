"""Boilerplate that is known by what it says: related lists and consent notices.

A *related list* is one of links to other pages under a heading such as "Recently viewed" or "Similar products". Its
names are often those of any list of the site, with the same cards as its catalogue, and it changes with each visit. So
a heading counts, if what follows it is what it says: items that each have a link, and no long text. A *consent notice*
is a text about cookies at the edge of a page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from scrapy_simdedup.page.block_tree import (
    BlockTree,
    innermost_around,
    mark_ancestors,
    mark_descendants,
    subtree_totals,
)
from scrapy_simdedup.page.roles import ASIDE, FOOTER, H1, HEADING, MAIN, MAIN_TAG, WIDGET

BESIDE_ROLES = ASIDE | FOOTER | WIDGET
"""Roles of boxes that may hold a related list beside what is the page's own, such as its price."""
MAX_HEADING_LENGTH = 60
"""Characters of a heading; a longer one is a sentence."""
MAX_TEXT_LENGTH = 200
"""Characters without links of a block of an item; a longer one is a text of the page's own."""
LINK_DENSITY = 0.3
"""Share of its characters inside of links from which a block is the link of its item."""
MAX_BLOCKS_OF_ITEM = 12
"""Blocks of an item without a link; what has more of them is a part of the page."""
MIN_ITEMS_BESIDE = 3
"""Items that stand beside their heading, without a box of their own around them, from which they are a list."""
MAX_SHARE = 0.8
"""Share of the page's text without a role above which such lists are what the page is about."""
MIN_LINKED_SHARE = 0.8
"""Share of its characters inside of links from which a list outside of ``<main>`` is of other pages."""
_SAYS_RELATED = re.compile(
    r"""
    \b(?: recommended | recommendations | suggested | similar | related (?!\ (?:work|literature|research)\b)
    | (?:recently|last|also|often|frequently)\ (?:viewed|bought|purchased) | bought\ together
    | (?:may|might|will)\ also\ (?:like|enjoy) | you\ (?:may|might)\ (?:like|enjoy) | be\ interested | more\ like\ this
    | (?:zuletzt|kürzlich)\ angesehen\w* | empfohlene\w* | empfehlungen | ähnliche\w* | verwandte\w*
    | (?:kauften|kaufte|interessierten)\ auch | auch\ (?:interessieren|gefallen|gekauft|angesehen)
    | recommandé\w* | recommandations | similaires | vus\ récemment | (?:aimerez|intéresser)\ aussi
    | recomendad\w+ | relacionad\w+ | similares | vistos\ reci?ent\w+
    | correlati | simili | consigliat\w+ | visti\ di\ recente
    | gerelateerde? | vergelijkbare | aanbevolen | onlangs\ bekeken
    | похожие | рекомендуем\w* | недавно\ просмотренн\w+
    | same\ category | (?:gleichen|selben)\ kategorie | même\ catégorie | misma\ categoría | (?:stessa|mesma)\ categoria
    | dezelfde\ categorie | tej\ samej\ kategorii | той\ же\ категории
    | other\ (?:ads|articles|items|listings|offers|products)\ (?:by|from|in|of)
    | most\ (?:read|viewed|popular|shared|commented|discussed|watched) | trending
    | popular\ (?:now|posts?|articles|stories)
    | meist\ ?(?:gelesen|geklickt|kommentiert|geteilt)\w* | am\ meisten\ gelesen\w* | beliebte\ (?:artikel|beiträge)
    | (?:les|articles)\ (?:les\ )?plus\ (?:lus|lues|vus|partagés|populaires) | articles\ populaires
    | m[áa]i?s\ (?:leíd[oa]s?|vist[oa]s?|lid[oa]s?|compartidas) | più\ (?:lett[ie]|vist[ie]|condivis[ie])
    | meest\ (?:gelezen|bekeken) | mest\ läst\w* | najczęściej\ czytane | najpopularniejsze
    | самое\ читаемое | популярное )\b
    | 相关 | 相關 | 推荐 | 推薦 | 猜你喜欢 | 関連 | おすすめ | 热门 | 熱門 | 人気
    """,
    re.IGNORECASE | re.VERBOSE,
)
_STEMS = tuple(
    """
    recommend suggest simil relat viewed bought purchased like enjoy
    angesehen empf ähnlich kaufte auch verwandt récemment aussi recomend relacion vistos correlat consigli visti
    aanbevolen vergelijkbar bekeken похож рекоменд просмотр 相关 相關 推荐 推薦 猜你 関連 おすすめ
    ategor ategór atégor категор interested other
    most trending popul meist beliebt plus más mas mais máis più gelezen läst czytane читаем популярн 热门 熱門 人気
    """.split()
)
"""Parts of which each of the phrases above has one; they are looked for faster, in all headings of a page at once."""
MIN_MENTIONS = 2
"""A notice mentions cookies at least twice."""
MIN_MENTIONING_SHARE = 0.4
"""At least this share of a notice stands in blocks that mention cookies."""
MAX_NOTICE_SHARE = 0.9
"""A notice holds less than this share of the page's text."""
MAX_EDGE_DISTANCE = 0.02
"""A notice lies within the first or last 2 % of the page's other text; a chapter about cookies lies in the middle."""
MIN_REST, MIN_REST_SHARE = 300, 0.1
"""The characters, and the share of its text, that a page must have besides its notices."""
COOKIE_WORDS = ("cookie", "Cookie", "COOKIE", "куки", "Куки", "クッキー", "עוגי", "쿠키")


def find_related_lists(tree: BlockTree, roles: Sequence[int]) -> list[int]:
    """The blocks of all related lists, with their headings.

    1. A short heading that is no headline, and that no role but that of a column or a footer, says that such a list
       follows. So does any heading without a role outside of the ``<main>`` whose article has the headline, such
       as "Read more", if what follows is hardly anything but links.
    2. The list is the boxes beside it, of one kind and each with a link, up to the next heading there; or else the box
       after it, inside the box that holds both.
    3. It is one if it has links, no headline, no long text without links, and never many blocks without a link.
    4. Where nearly all of the page is in such lists, they are what it is about, but for those outside of ``<main>``.
    """
    headings = [
        number
        for number in tree.headings
        if not roles[number] & ~BESIDE_ROLES | tree.text_roles[number] & H1
        and len(tree.texts[number]) <= MAX_HEADING_LENGTH
    ]
    said = [tree.texts[number].lower() for number in headings]
    everything = "\n".join(said)
    stems = [stem for stem in _STEMS if stem in everything]
    found: list[int] = []
    for number, lowered in zip(headings if stems else (), said, strict=False):
        if any(stem in lowered for stem in stems) and _SAYS_RELATED.search(tree.texts[number]):
            end = _end_of_list(tree, number)
            found.extend(range(number, end) if end > number + 1 else ())
    if found:
        size = sum(len(text) for text, role in zip(tree.texts, roles, strict=True) if not role)
        found = found if sum(len(tree.texts[at]) for at in found if not roles[at]) <= MAX_SHARE * size else []
    return found + _lists_outside_main(tree, [number for number in headings if not roles[number]])


def _lists_outside_main(tree: BlockTree, headings: Sequence[int]) -> list[int]:
    """The blocks of lists of links below some headings, outside of the ``<main>`` whose article has the headline.

    The headline of an index, which may have its list there, stands in no article.
    """
    if not headings or not any(roles & MAIN_TAG for roles in tree.box_roles):
        return []
    mains = mark_descendants(tree.box_parents, (roles & MAIN_TAG > 0 for roles in tree.box_roles))
    outside = [number for number in headings if not mains[tree.boxes[number]]]
    if not outside:
        return []
    parts = (main and roles & (MAIN | MAIN_TAG) == MAIN for main, roles in zip(mains, tree.box_roles, strict=True))
    articles = mark_descendants(tree.box_parents, parts)
    in_article = [at for at, box in enumerate(tree.boxes) if articles[box]]
    has_text = any(not (tree.text_roles[at] & HEADING or tree.link_lengths[at]) for at in in_article)
    if not has_text or not any(tree.text_roles[at] & H1 for at in in_article):
        return []
    found: list[int] = []
    for number in outside:
        end = _end_of_list(tree, number)
        listed = range(number + 1, end)
        linked = sum(tree.link_lengths[at] for at in listed)
        if listed and linked >= MIN_LINKED_SHARE * sum(len(tree.texts[at]) for at in listed):
            found.extend(range(number, end))
    return found


def _end_of_list(tree: BlockTree, heading: int) -> int:
    """The block after the list below a heading; ``heading`` itself where there is none."""
    first = heading + 1
    if first == len(tree.texts):
        return heading
    around = innermost_around(tree.box_parents, tree.boxes[heading], tree.boxes[first])
    beside: list[int] = []  # for each block after the heading, the child of the common box that it lies in
    for number in range(first, len(tree.texts)):
        child = _child_around(tree.box_parents, around, tree.boxes[number])
        if child < 0 or (tree.text_roles[number] & HEADING and tree.boxes[number] == child):
            break
        beside.append(child)
    if not beside:
        return heading
    in_box, children = beside.count(beside[0]), dict.fromkeys(beside)
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


def _child_around(parents: Sequence[int], outer: int, box: int) -> int:
    """The child of a box that another box is or lies in; -1 if it lies outside."""
    while box > outer and parents[box] != outer:
        box = parents[box]
    return box if box > outer else -1


def python_count_mentions(texts: Sequence[str]) -> list[int]:
    """How often each text mentions cookies."""
    return [sum(map(text.count, COOKIE_WORDS)) for text in texts]


def python_find_consent_notices(tree: BlockTree, roles: Sequence[int]) -> list[bool]:
    """For each block, whether it belongs to a consent notice; an empty list if none does.

    1. A page that mentions cookies in its title is about cookies and has no notice.
    2. A candidate is an outermost box with two mentions or more, mostly in blocks with a mention, that holds neither
       the headline nor a main part nor nearly all of the page.
    3. The candidates must leave the page enough other text.
    4. A candidate is a notice if it lies at the beginning or the end of that other text, with its links or without, as
       a menu may stand before it.
    """
    mentions = count_mentions(tree.texts)
    if sum(mentions) < MIN_MENTIONS or any(count_mentions([tree.title])):
        return []
    is_content = [not found for found in roles]
    mentions = [count if is_own else 0 for count, is_own in zip(mentions, is_content, strict=True)]
    if sum(mentions) < MIN_MENTIONS:
        return []
    parents, boxes = tree.box_parents, tree.boxes
    lengths = [len(text) if is_own else 0 for text, is_own in zip(tree.texts, is_content, strict=True)]
    size = subtree_totals(parents, boxes, lengths)
    count = subtree_totals(parents, boxes, mentions)
    mentioning = (length if found else 0 for length, found in zip(lengths, mentions, strict=True))
    mentioning_size = subtree_totals(parents, boxes, mentioning)
    blocks = zip(boxes, tree.text_roles, is_content, strict=True)
    heads = mark_ancestors(parents, (box for box, roles, is_own in blocks if is_own and roles & H1))
    mains = mark_ancestors(parents, (box for box, roles in enumerate(tree.box_roles) if roles & MAIN))
    notices: list[int] = []
    inside = [False] * len(parents)
    for box in range(1, len(parents)):
        if count[box] >= MIN_MENTIONS:  # so has the box around it
            is_notice = (
                mentioning_size[box] >= MIN_MENTIONING_SHARE * size[box]
                and size[box] < MAX_NOTICE_SHARE * size[0]
                and not (heads[box] or mains[box])
            )
            if is_notice and not inside[parents[box]]:
                notices.append(box)
            inside[box] = is_notice or inside[parents[box]]
    left = size[0] - sum(size[box] for box in notices)
    if not notices or left < max(MIN_REST, MIN_REST_SHARE * size[0]):
        return []
    pairs = zip(lengths, tree.link_lengths, strict=True)
    said = [0 if 2 * links >= length else length for length, links in pairs]
    said_size = subtree_totals(parents, boxes, said)
    said_left = said_size[0] - sum(said_size[box] for box in notices)
    at_edge = [False] * len(parents)
    for measured, sizes, others in ((lengths, size, left), (said, said_size, said_left)):
        starts, passed = _starts(tree, measured), 0
        for box in notices if others >= MIN_REST else ():
            before = starts[box] - passed
            at_edge[box] |= sizes[box] > 0 and min(before, others - before) <= MAX_EDGE_DISTANCE * others
            passed += sizes[box]
    in_notice = mark_descendants(parents, at_edge)
    return [in_notice[box] for box in boxes]


def _starts(tree: BlockTree, lengths: Sequence[int]) -> list[int]:
    """For each box, the characters of content before it; boxes without any content lie at the end."""
    end = sum(lengths)
    starts = [end] * len(tree.box_parents)
    position = 0
    for box, length in zip(tree.boxes, lengths, strict=True):
        if length:
            starts[box] = min(starts[box], position)
        position += length
    for box in range(len(starts) - 1, 0, -1):
        parent = tree.box_parents[box]
        starts[parent] = min(starts[parent], starts[box])
    return starts


try:
    from scrapy_simdedup.page._classify import count_mentions, find_consent_notices
except ImportError:  # installed without a compiler
    count_mentions, find_consent_notices = python_count_mentions, python_find_consent_notices
