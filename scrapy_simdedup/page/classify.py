"""The class of each block of a page: boilerplate, unmarked or content.

1. Each node has the roles of its own tag, ARIA role, class and id, except those that its size contradicts: what wraps
   most of the page is no boilerplate, whatever it is called. Nodes inherit roles from the nodes around them.
2. A block with a boilerplate role is boilerplate; of the others, paragraphs, headings and what lies in the main part
   are content, and the rest is unmarked. Where that would leave hardly any content, weak roles are ignored.
3. Nor counts a role that a box contradicts by what it holds, as the words for the parts of a layout are also the words
   of trades: a restaurant's ``menu-item`` is a dish, and the ``ad-title`` of a site with small advertisements is what
   its page is about. See :func:`find_misnomers`.
4. Related lists and consent notices are boilerplate, whatever they are called: see
   :mod:`~scrapy_simdedup.page.boilerplate_texts`.
5. On a page whose names give no role of a layout, as on sites that hash their names, blocks lose one class or two:
   links and lists of links, unless the page is a list, and what lies outside the box with the headline and most of the
   prose, or outside the main part.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from enum import IntEnum
from itertools import compress

from scrapy_simdedup.page import roles as role
from scrapy_simdedup.page.amounts import has_number
from scrapy_simdedup.page.block_tree import BlockTree, mark_ancestors, mark_descendants, self_and_above, subtree_totals
from scrapy_simdedup.page.boilerplate_texts import find_consent_notices, find_related_lists

WRAPPER_SHARE = 0.8
"""An element with a larger share of the page's text is no boilerplate, whatever it is called."""
WEAK_WRAPPER_SHARE = 0.5
"""The share from which an element with a weak role is none either, but for comments without the headline; also a share
of the paragraphs of the main part, and of the text of all main parts."""
MIN_CONTENT_SHARE = 0.05
"""Share of the page's text that content must exceed; else what has weak roles only is content as well."""
MAX_LINK_DENSITY = 0.6
"""Share of its characters inside of links from which a block, or a group of blocks, is links."""
MIN_LINK_GROUP = 3
"""A group of links has at least this many blocks with ``BLOCK_LINK_DENSITY``, and no long block without links."""
BLOCK_LINK_DENSITY = 0.5
"""Share of its characters inside of links from which a block counts for a group of links."""
MIN_PROSE_LENGTH = 200
"""Characters from which a block with fewer links is prose, and what holds it is no group of links."""
INDEX_PAGE_LINK_SHARE = 0.5
"""Links with more than this share of the other text are what the page is about: an index, a list of results."""
MIN_ENTRIES, ENTRY_SHARE = 5, 0.25
"""A page without prose is a list if it has so many links by themselves, and this share of its content blocks, outside
of groups of links, are such links: one and at most three lines below it."""
ROOT_WITH_HEADLINE, ROOT_WITHOUT_HEADLINE = 0.4, 0.8
"""Shares of the page's prose that the content root must hold: with the headline, and on a page without one."""
MIN_ROOT_SHARE = 0.3
"""Share of the page's text that the content root must hold."""
MIN_MAIN_SHARE = 0.5
"""Share of the text from which ``<main>`` and ``<article>`` hold the content."""
MIN_MENU_LENGTH = 200
"""Characters from which navigation may be none: more than the paragraphs and numbers between links have."""
MAX_TITLE = 500
"""Characters of a title in which headings are looked for: a hostile page may have many of both."""


class BlockClass(IntEnum):
    """How far a block belongs to the page itself, and not to its site."""

    BOILERPLATE = 1
    """Navigation, footer, advertisement: text that other pages of the site share."""
    UNMARKED = 2
    """Marked neither as content nor as boilerplate."""
    CONTENT = 3
    """A paragraph or heading, or anything inside the main part."""


def classify_blocks(tree: BlockTree) -> tuple[list[BlockClass], list[int]]:
    """The class of each block, and the boilerplate roles that made it so (0 where it is no boilerplate)."""
    classes, roles = classify_by_roles(tree)
    for number, contradicted in enumerate(find_misnomers(tree, roles)):
        if contradicted:
            roles[number] &= ~contradicted
            if not roles[number]:
                classes[number] = BlockClass.CONTENT if tree.text_roles[number] else BlockClass.UNMARKED
    for number in find_related_lists(tree, roles):
        classes[number], roles[number] = BlockClass.BOILERPLATE, role.RELATED
    for number, is_notice in enumerate(find_consent_notices(tree, roles)):
        if is_notice:
            classes[number], roles[number] = BlockClass.BOILERPLATE, role.COOKIE
    return (classes, roles) if tree.named_roles & role.LAYOUT_ROLES else _classify_by_shape(tree, classes, roles)


def is_boilerplate(tree: BlockTree, headline: int) -> bool:
    """Whether :func:`classify_blocks` gives a role to an ``<h1>``; it is asked only where less does not decide.

    No notice holds a headline, and shapes count only where names do not.
    """
    _, roles = classify_by_roles(tree)
    if roles[headline] or tree.named_roles & role.LAYOUT_ROLES:
        return roles[headline] != 0
    return classify_blocks(tree)[1][headline] != 0


def python_classify_by_roles(tree: BlockTree) -> tuple[list[BlockClass], list[int]]:
    """What :func:`classify_blocks` returns, by the roles of the nodes alone."""
    inherited = _inherited_roles(tree)
    roles = [inherited[node] & role.BOILERPLATE_ROLES for node in tree.role_nodes]
    ignored = _roles_to_ignore(tree, roles, [inherited[node] & role.MAIN for node in tree.role_nodes])
    if ignored:
        roles = [found if found & ~ignored else 0 for found in roles]
    boilerplate, unmarked, content = BlockClass
    classes = [
        boilerplate if found else content if of_text or inherited[node] & role.MAIN else unmarked
        for found, of_text, node in zip(roles, tree.text_roles, tree.role_nodes, strict=True)
    ]
    return classes, roles


def _classify_by_shape(
    tree: BlockTree, classes: list[BlockClass], roles: list[int]
) -> tuple[list[BlockClass], list[int]]:
    """Lower the classes of links, and of what lies around the content root or outside the main part."""
    is_content = [not found for found in roles]
    links = find_link_lists(tree, is_content)
    around = outside_content_root(tree, is_content, [found is BlockClass.CONTENT for found in classes])
    outside = outside_main(tree, is_content)
    for number, link in enumerate(links):
        steps = link + around[number] or outside[number]
        if steps and is_content[number]:
            classes[number] = BlockClass(max(BlockClass.BOILERPLATE, classes[number] - steps))
            if classes[number] is BlockClass.BOILERPLATE:
                roles[number] = role.BY_SHAPE | (role.NAV if link else role.ASIDE)
    return classes, roles


def _inherited_roles(tree: BlockTree) -> list[int]:
    """For each node, the plausible roles of the node and of all nodes around it."""
    text = subtree_totals(tree.role_parents, tree.role_nodes, map(len, tree.texts))
    parts: list[int] = []  # for each node, the innermost main part that it is or lies in; -1 outside of all
    for node, (roles, parent) in enumerate(zip(tree.node_roles, tree.role_parents, strict=True)):
        parts.append(node if roles & role.MAIN else parts[parent] if node else -1)
    plausible = _plausible_roles(tree, text, parts)
    in_parts = sum(text[node] for node, part in enumerate(parts) if part == node and parts[tree.role_parents[node]] < 0)
    made: list[int] = []
    for node, roles in enumerate(plausible):
        own, around = roles, made[tree.role_parents[node]] if node else 0
        if roles & role.MAIN_TAG:
            around = 0
        elif roles & role.MAIN and text[node] > WEAK_WRAPPER_SHARE * in_parts:
            around &= ~role.WEAK_ROLES
        if roles & role.COMMENT:
            own &= ~role.ASIDE  # comments may stand aside, but a widget shows those of the whole site
            if around & role.MAIN:  # the footer of an article may hold its comments
                around &= ~role.FOOTER
        both = own | around
        made.append(both & ~role.HEADER if both & role.MAIN else both)  # the header of an article holds its title
    return made


def _plausible_roles(tree: BlockTree, text: list[int], parts: list[int]) -> list[int]:
    """For each node, its own roles but those that its size contradicts: what wraps the content is no boilerplate.

    A comment that is nearly all of the page is a post of a thread. So are those beside it that have the same roles,
    with what has these roles inside of them. Comments about as long as their article are comments, whatever a line more
    or less says.
    """
    in_paragraphs = [
        len(t) if roles & role.PARAGRAPH else 0 for t, roles in zip(tree.texts, tree.text_roles, strict=True)
    ]
    paragraphs = subtree_totals(tree.role_parents, tree.role_nodes, in_paragraphs)
    headlines = (node for node, roles in zip(tree.role_nodes, tree.text_roles, strict=True) if roles & role.H1)
    holds_headline = mark_ancestors(tree.role_parents, headlines)
    made = list(tree.node_roles)
    posts: set[tuple[int, int]] = set()
    for node, part in enumerate(parts):
        is_comment = tree.node_roles[node] & role.COMMENT and not holds_headline[node]
        share = WRAPPER_SHARE if is_comment else WEAK_WRAPPER_SHARE
        if text[node] > WRAPPER_SHARE * text[0]:
            made[node] &= ~role.BOILERPLATE_ROLES
        elif text[node] > share * text[0] or (part >= 0 and paragraphs[node] > share * paragraphs[part]):
            # What is called a sidebar and has no headline may be one: it can be most of a short page.
            made[node] &= ~(role.WRAPPER_ROLES if holds_headline[node] else role.WEAK_ROLES)
        elif holds_headline[node]:
            made[node] &= ~role.WEAK_ROLES | role.HEADER | role.BRANDING
            continue
        if tree.node_roles[node] & ~made[node] & role.COMMENT:
            posts.add((tree.role_parents[node], tree.node_roles[node]))
    inside: dict[int, int] = {}  # each node of a post beside it, with the roles of the post
    for node, named in enumerate(zip(tree.role_parents, tree.node_roles, strict=True) if posts else ()):
        parent, roles = named
        if named in posts and made[node] & role.COMMENT:
            inside[node] = roles
        elif parent in inside:
            inside[node] = inside[parent]
        if inside.get(node) == roles:
            made[node] &= ~role.COMMENT
    return made


def _roles_to_ignore(tree: BlockTree, block_roles: list[int], is_in_main: list[int]) -> int:
    """The boilerplate roles that are ignored on a page because hardly any content would be left.

    Where hardly any text lies in the main parts, nothing is ignored: the page is empty, and a header is no content. But
    where ``<main>`` itself is in a widget, all parts of the page are widgets, and the header alone may call itself so.
    """
    size: dict[int, int] = defaultdict(int)
    for text, roles in zip(tree.texts, block_roles, strict=True):
        size[roles] += len(text)
    content = size[0]
    least = MIN_CONTENT_SHARE * sum(size.values())
    if content <= least:
        has_main = any(roles & role.MAIN for roles in tree.node_roles)
        in_main = sum(map(len, compress(tree.texts, is_in_main)))
        if not has_main or in_main > least:
            return role.WEAK_ROLES
        in_widget = mark_descendants(tree.role_parents, [roles & role.WIDGET > 0 for roles in tree.node_roles])
        is_in = any(inside and of & role.MAIN_TAG for inside, of in zip(in_widget, tree.node_roles, strict=True))
        return role.WIDGET if is_in else 0
    return sum(weak for weak in (role.COMMENT, role.WIDGET, role.AD) if size[weak] > content)


def find_link_lists(tree: BlockTree, is_content: Sequence[bool]) -> list[int]:
    """For each block, 2 in a group of links, 1 if it is a link by itself, else 0; all 0 on a page of links.

    On a page without prose, links by themselves with a few lines below each are the entries of a list, however long the
    lines are: the messages of an archive, each with its author. They count as 0.
    """
    lengths = list(map(len, tree.texts))
    blocks = list(zip(lengths, tree.link_lengths, strict=True))
    parents, boxes = tree.box_parents, tree.boxes
    size, linked = subtree_totals(parents, boxes, lengths), subtree_totals(parents, boxes, tree.link_lengths)
    many = subtree_totals(parents, boxes, [links >= BLOCK_LINK_DENSITY * length for length, links in blocks])
    is_prose = [links < BLOCK_LINK_DENSITY * length and length > MIN_PROSE_LENGTH for length, links in blocks]
    prose = mark_ancestors(parents, compress(boxes, is_prose))
    groups = [
        many[k] >= MIN_LINK_GROUP and linked[k] >= MAX_LINK_DENSITY * size[k] and not prose[k]
        for k in range(len(parents))
    ]
    groups[0] = False
    in_group = mark_descendants(parents, groups)
    found = [
        2 if in_group[box] else int(links >= MAX_LINK_DENSITY * length)
        for box, (length, links) in zip(boxes, blocks, strict=True)
    ]
    content = _content_lengths(tree, is_content)
    in_links = sum(compress(content, found))
    others = sum(content) - in_links
    if in_links > INDEX_PAGE_LINK_SHARE * others:
        return [0] * len(found)
    steps = Counter(compress(found, is_content))
    are_entries = steps[1] >= max(MIN_ENTRIES, ENTRY_SHARE * (steps[0] + steps[1]))
    if are_entries and not any(compress(is_prose, is_content)):
        return [step if step > 1 else 0 for step in found]
    return found


def outside_content_root(tree: BlockTree, is_content: Sequence[bool], is_marked: Sequence[bool]) -> list[bool]:
    """For each block, whether it lies outside the content root: the box with the headline and most of the prose.

    A paragraph by itself is no root, however long: the name of a product stands beside its description. Where there is
    no headline, a heading right before the root is one, though it is a link; and what stands in one box with the root,
    up to the next links, may be the name and the price of a product. What follows the root in the box of the whole page
    is its footer. Blocks that ``is_marked`` have the class ``CONTENT``.
    """
    parents, boxes = tree.box_parents, tree.boxes
    lengths = _content_lengths(tree, is_content)
    text = subtree_totals(parents, boxes, lengths)
    unlinked = (max(0, length - links) for length, links in zip(lengths, tree.link_lengths, strict=True))
    prose = subtree_totals(parents, boxes, unlinked)
    blocks = zip(boxes, tree.text_roles, is_marked, strict=True)
    heads = mark_ancestors(parents, (box for box, roles, marked in blocks if marked and roles & role.H1))
    count = subtree_totals(parents, boxes, [length > 0 for length in lengths])
    root = 0
    if prose[0]:
        share = ROOT_WITH_HEADLINE if heads[0] else ROOT_WITHOUT_HEADLINE
        for box in range(1, len(parents)):
            if (
                parents[box] == root
                and count[box] > 1
                and text[box] >= MIN_ROOT_SHARE * text[0]
                and prose[box] >= share * prose[0]
                and (heads[box] or not heads[0])
            ):
                root = box
    inside = mark_descendants(parents, (box == root for box in range(len(parents))))
    outside = [not inside[box] for box in boxes]
    if root and not heads[0]:
        around = parents[root]
        is_whole = text[around] == text[0]
        beside = mark_descendants(parents, (box == around for box in range(len(parents))))
        first, end = outside.index(False), len(outside) - outside[::-1].index(False)
        if first and tree.text_roles[first - 1] & role.HEADING:
            first -= 1
            outside[first] = False
        for numbers in range(first - 1, -1, -1), range(end, len(outside) if not is_whole else end):
            for number in numbers:
                is_link = 2 * tree.link_lengths[number] >= len(tree.texts[number])
                if is_link or not is_content[number] or not beside[boxes[number]]:
                    break
                outside[number] = False
    return outside


def outside_main(tree: BlockTree, is_content: Sequence[bool]) -> list[bool]:
    """For each block, whether it lies outside the main parts; none does if these hold too little of the text."""
    main = mark_descendants(tree.box_parents, (roles & role.MAIN > 0 for roles in tree.box_roles))
    outside = [not main[box] for box in tree.boxes]
    lengths = _content_lengths(tree, is_content)
    without = sum(compress(lengths, outside))
    return outside if sum(lengths) - without > MIN_MAIN_SHARE * sum(lengths) else [False] * len(outside)


def _content_lengths(tree: BlockTree, is_content: Sequence[bool]) -> list[int]:
    return [len(text) if is_own else 0 for text, is_own in zip(tree.texts, is_content, strict=True)]


def find_misnomers(tree: BlockTree, roles: list[int]) -> list[int]:
    """The roles that a page contradicts, for each block those that its names give; an empty list if there are none.

    1. Navigation is made of links. Where paragraphs, headings and numbers that are called navigation are more than its
       links, what is no link of it is content. Labels of menus that scripts open are neither.
    2. An advertisement stands beside the page's own headline. Where the headline itself stands in a box that is called
       one, the page is about what is advertised.
    3. What ``SIMDEDUP_ROLE_WORDS`` names is what it is called: somebody who knows the site said so.
    """
    dishes = unlinked_navigation(tree, roles) if tree.named_roles & role.NAV else []
    if tree.named_roles & role.AD and _headline_is_advertised(tree):
        return [found & (role.AD | dish) for found, dish in zip(roles, dishes or [0] * len(roles), strict=True)]
    return dishes


def python_unlinked_navigation(tree: BlockTree, roles: list[int]) -> list[int]:
    """For each block, ``NAV`` and the weak roles if it is called navigation, and is none; else 0. Empty without any."""
    other_roles = ~(role.NAV | role.WEAK_ROLES) | role.HEADER
    is_menu = [found & role.NAV > 0 and not found & other_roles for found in roles]
    if tree.named_roles & role.BY_SETTING:
        named = mark_descendants(tree.role_parents, [found & role.BY_SETTING > 0 for found in tree.node_roles])
        is_menu = [called and not named[node] for called, node in zip(is_menu, tree.role_nodes, strict=True)]
    menu = list(compress(zip(tree.texts, tree.link_lengths, tree.text_roles, strict=True), is_menu))
    in_links = sum(links for _, links, _ in menu)
    said = sum(len(text) for text, links, of in menu if not links and (of & role.TEXT_ROLES or has_number(text)))
    if said < MIN_MENU_LENGTH or said <= in_links:
        return []
    blocks = zip(tree.texts, tree.link_lengths, is_menu, strict=True)
    return [(role.NAV | role.WEAK_ROLES) * (called and 2 * links < len(text)) for text, links, called in blocks]


def _headline_is_advertised(tree: BlockTree) -> bool:
    """Whether the ``<h1>`` of the page, or the heading that its title repeats, stands in a box called advertisement."""
    headlines = [number for number in tree.headings if tree.text_roles[number] & role.H1]
    title = tree.title[:MAX_TITLE]
    headlines = headlines or [number for number in tree.headings if tree.texts[number] in title]
    around = (self_and_above(tree.role_parents, tree.role_nodes[number]) for number in headlines)
    innermost = (next((of for node in nodes if (of := tree.node_roles[node]) & role.AD), 0) for nodes in around)
    return bool(headlines) and all(of and not of & role.BY_SETTING for of in innermost)


try:
    from scrapy_simdedup.page._classify import classify_by_roles, unlinked_navigation
except ImportError:  # installed without a compiler
    classify_by_roles, unlinked_navigation = python_classify_by_roles, python_unlinked_navigation
