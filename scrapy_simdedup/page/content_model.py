"""The content model: how likely each block of a page is its main content, and which blocks are taken for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.page.classify import BlockClass, classify_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.page.block_tree import BlockTree

MODEL_DIGEST = "0001"
"""The SHA-256 of the model's file, in hexadecimal digits."""
_OF_CLASS = {BlockClass.BOILERPLATE: 0.05, BlockClass.UNMARKED: 0.4, BlockClass.CONTENT: 0.9}


def content_probabilities(tree: BlockTree) -> NDArray[np.float64]:
    """For each block of a page, how likely it is main content.

    Args:
        tree: A tree that :func:`~scrapy_simdedup.page.block_tree.build_block_tree` made with ``detailed=True``.
    """
    return np.array([_OF_CLASS[found] for found in classify_blocks(tree)[0]], np.float64)


def main_content(tree: BlockTree) -> NDArray[np.bool_]:
    """For each block of a page, whether it is main content; nothing is on a page without text.

    Args:
        tree: A tree that :func:`~scrapy_simdedup.page.block_tree.build_block_tree` made with ``detailed=True``.
    """
    return content_probabilities(tree) >= 0.5
