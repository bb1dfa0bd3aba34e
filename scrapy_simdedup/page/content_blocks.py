"""The blocks that are a page's main content, as the content model or Readability chooses them.

The Markdown of a page is made of them. Where ``SIMDEDUP_EXTRACTOR`` asks for it, they are also the blocks that count in
full in its fingerprint.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_simdedup.page.classify import BlockClass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.html import HtmlElement

    from scrapy_simdedup.page.block_tree import BlockTree

logger = logging.getLogger(__name__)


def content_blocks(
    root: HtmlElement,  # noqa: ARG001 - as below
    tree: BlockTree,
    classes: Sequence[BlockClass],
    roles: Sequence[int],  # noqa: ARG001
) -> list[bool]:
    """For each block, whether the content model takes it for main content; on a page that has text, some block is.

    Args:
        root: The ``<html>`` element.
        tree: Its block tree, from :func:`~scrapy_simdedup.page.block_tree.build_block_tree` with ``detailed=True``.
        classes: The class of each block; where the model finds nothing, the blocks of the highest one are taken.
        roles: The boilerplate roles of each block.
    """
    from scrapy_simdedup.page.content_model import main_content  # noqa: PLC0415 - few fingerprints need the model

    chosen: list[bool] = main_content(tree).tolist()
    return chosen if any(chosen) else _blocks_of_highest_class(classes)


def blocks_of_readability(
    root: HtmlElement, tree: BlockTree, classes: Sequence[BlockClass], roles: Sequence[int]
) -> list[bool]:
    """For each block, whether it stands in Readability's article; the highest class where there is no article.

    Args:
        root: The ``<html>`` element; it stays as it is.
        tree: Its block tree.
        classes: The class of each block.
        roles: The boilerplate roles of each block.
    """
    from scrapy_simdedup.page.readability import find_article_blocks  # noqa: PLC0415 - few ask for it

    try:
        chosen = find_article_blocks(root, tree, classes, roles)
    except Exception:  # what no test has thought of must not cost the page: its roles still say enough
        logger.warning("No main content could be found in a page, its roles stand in", exc_info=True)
        chosen = []
    return chosen if any(chosen) else _blocks_of_highest_class(classes)


def _blocks_of_highest_class(classes: Sequence[BlockClass]) -> list[bool]:
    highest = max(classes, default=BlockClass.CONTENT)
    return [found is highest for found in classes]
