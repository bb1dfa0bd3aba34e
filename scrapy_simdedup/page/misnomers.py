"""Misnomers: names that mean another thing on a page than they mean on most.

The words for the parts of a layout are also the words of trades. A restaurant's ``menu-item`` is a dish. The
``ad-title`` of a site with small advertisements is what its page is about. What a box holds can contradict its name:

* Navigation is made of links. Where paragraphs, headings and numbers that are called navigation are more than its
  links, what is no link of it is content. Labels of menus that scripts open are neither.
* An advertisement stands beside the page's own headline. Where the headline itself stands in a box that is called one,
  the page is about what is advertised.

What ``SIMDEDUP_ROLE_WORDS`` names is what it is called: somebody who knows the site said so.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from scrapy_simdedup.page.amounts import has_number
from scrapy_simdedup.page.block_tree import mark_descendants
from scrapy_simdedup.page.roles import AD, BY_SETTING, H1, HEADER, HEADING, NAV, TEXT_ROLES, WEAK_ROLES

if TYPE_CHECKING:
    from scrapy_simdedup.page.block_tree import BlockTree

MIN_MENU_LENGTH = 200
"""Characters from which navigation may be none: more than the paragraphs and numbers between links have."""

MAX_TITLE = 500
"""Characters of a title in which headings are looked for: a hostile page may have many of both."""


def find_misnomers(tree: BlockTree, roles: list[int]) -> list[int]:
    """The roles that are contradicted, for each block those that its names give and its page does not mean.

    Args:
        tree: The blocks.
        roles: For each block, its boilerplate roles.

    Returns:
        For each block, the roles to take from it; an empty list if no name of the page is contradicted.
    """
    dishes = unlinked_navigation(tree, roles) if tree.named_roles & NAV else []
    if tree.named_roles & AD and _headline_is_advertised(tree):
        return [found & (AD | dish) for found, dish in zip(roles, dishes or [0] * len(roles), strict=True)]
    return dishes


def python_unlinked_navigation(tree: BlockTree, roles: list[int]) -> list[int]:
    """For each block, ``NAV`` and the weak roles if it is called navigation, and is none; else 0. Empty without any."""
    other_roles = ~(NAV | WEAK_ROLES) | HEADER
    is_menu = [found & NAV > 0 and not found & other_roles for found in roles]
    if tree.named_roles & BY_SETTING:
        named = mark_descendants(tree.role_parents, [found & BY_SETTING > 0 for found in tree.node_roles])
        is_menu = [called and not named[node] for called, node in zip(is_menu, tree.role_nodes, strict=True)]
    menu = list(compress(zip(tree.texts, tree.link_lengths, tree.text_roles, strict=True), is_menu))
    in_links = sum(links for _, links, _ in menu)
    said = sum(len(text) for text, links, of in menu if not links and (of & TEXT_ROLES or has_number(text)))
    if said < MIN_MENU_LENGTH or said <= in_links:
        return []
    blocks = zip(tree.texts, tree.link_lengths, is_menu, strict=True)
    return [(NAV | WEAK_ROLES) * (called and 2 * links < len(text)) for text, links, called in blocks]


def _headline_is_advertised(tree: BlockTree) -> bool:
    """Whether the ``<h1>`` of the page, or the heading that its title repeats, stands in a box called advertisement."""
    headings = [number for number, of in enumerate(tree.text_roles) if of & HEADING]
    headlines = [number for number in headings if tree.text_roles[number] & H1]
    title = tree.title[:MAX_TITLE]
    headlines = headlines or [number for number in headings if tree.texts[number] in title]
    return bool(headlines) and all(_is_advertised(tree, tree.role_nodes[number]) for number in headlines)


def _is_advertised(tree: BlockTree, node: int) -> bool:
    """Whether a node is called advertisement by its page, or one of those around it."""
    while node >= 0 and not tree.node_roles[node] & AD:
        node = tree.role_parents[node]
    return node >= 0 and not tree.node_roles[node] & BY_SETTING


try:
    from scrapy_simdedup.page._classify import unlinked_navigation
except ImportError:  # installed without a compiler
    unlinked_navigation = python_unlinked_navigation
