"""The blocks that are a page's main content, as the content model or Readability chooses them.

The Markdown of a page is made of them. Where ``SIMDEDUP_EXTRACTOR`` asks for it, they are also the blocks that count in
full in its fingerprint.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_simdedup.page.classify import BlockClass, classify_blocks
from scrapy_simdedup.page.roles import H1

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from scrapy_simdedup.page.block_tree import BlockTree
    from scrapy_simdedup.settings import Extractor

logger = logging.getLogger(__name__)


def find_content_blocks(root: HtmlElement, tree: BlockTree, extractor: Extractor) -> list[bool]:
    """For each block, whether it is main content; on a page that has text, some block is.

    Where nothing is found, the blocks of the highest class are taken.

    Args:
        root: The ``<html>`` element; it stays as it is.
        tree: Its block tree, from :func:`~scrapy_simdedup.page.block_tree.build_block_tree` with ``detailed=True``.
        extractor: With ``"readability"``, Readability's article is the main content; else the content model finds it.
    """
    try:
        chosen = _blocks_of_article(root, tree) if extractor == "readability" else _blocks_of_model(tree)
    except Exception:  # what no test has thought of must not cost the page: its roles still say enough
        logger.warning("No main content could be found in a page, its roles stand in", exc_info=True)
        chosen = []
    return chosen if any(chosen) else _blocks_of_highest_class(tree)


def _blocks_of_model(tree: BlockTree) -> list[bool]:
    from scrapy_simdedup.page.content_model import main_content  # noqa: PLC0415 - few fingerprints need the model

    chosen: list[bool] = main_content(tree).tolist()
    _add_headline(tree, chosen)
    return chosen


def _add_headline(tree: BlockTree, chosen: list[bool]) -> None:
    """Choose the last ``<h1>`` above the chosen blocks, if none is among them and it is no boilerplate.

    The references that the model learned from are bodies of texts, most of them without their headline.
    """
    headlines = [number for number, roles in enumerate(tree.text_roles) if roles & H1]
    if not headlines or True not in chosen or any(chosen[number] for number in headlines):
        return
    above = [number for number in headlines if number < chosen.index(True)]
    if above and not classify_blocks(tree)[1][above[-1]]:
        chosen[above[-1]] = True


def _blocks_of_article(root: HtmlElement, tree: BlockTree) -> list[bool]:
    from scrapy_simdedup.page.readability import find_article_blocks  # noqa: PLC0415 - few ask for it

    return find_article_blocks(root, tree, *classify_blocks(tree))


def _blocks_of_highest_class(tree: BlockTree) -> list[bool]:
    classes, _ = classify_blocks(tree)
    highest = max(classes, default=BlockClass.CONTENT)
    return [found is highest for found in classes]
