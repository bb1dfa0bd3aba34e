"""The units of a page's own text: what tells that two pages each have a passage which the other lacks.

A resemblance cannot tell this. Of a long text that two pages share and a short one that is each page's own, it sees the
long one; counted by passages, the short one is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_simdedup.fingerprint.features import is_content, of_blocks, starts_of_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_simdedup.fingerprint.features import Shingles
    from scrapy_simdedup.fingerprint.word_hashes import Hashes
    from scrapy_simdedup.page.page import Block

NAMES = 2
"""Elements that stand for a unit: a block is known by its smallest and by its largest shingle, so that of one that was
edited, and keeps one of them, half is there."""

MOST = 10
"""Units of a block at most; it counts the logarithm of its shingles, to the base 2."""

_SALT = np.arange(1, NAMES * MOST + 1, dtype=np.uint64).reshape(NAMES, MOST) * np.uint64(0x9E3779B97F4A7C15)
"""Of each of the names, by the number of a unit in its block."""

_NUMBERS = np.arange(MOST) < np.arange(-1, 63)[:, None]
"""The units of a block, by the binary digits of the number of its shingles."""


class Units(NamedTuple):
    """Two sets, each without repeats."""

    texts: Hashes
    """:data:`NAMES` elements for each unit of the content."""
    headings: Hashes
    """As many for each heading of the content."""


def find_units(found: Shingles, blocks: Sequence[Block]) -> Units:
    """The units of the blocks that are no frame.

    Args:
        found: The shingles of the blocks.
        blocks: The blocks, with their kinds.
    """
    if not len(found.hashes):
        return Units(found.hashes, found.hashes)
    content = is_content(of_blocks([block.kind for block in blocks]))[found.blocks]
    heading = of_blocks([block.heading for block in blocks])[found.blocks][content] > 0
    low = np.minimum.reduceat(found.hashes, found.starts)[content]
    high = np.maximum.reduceat(found.hashes, found.starts)[content]
    block, number = _NUMBERS[np.frexp(found.lengths[content])[1]].nonzero()
    texts = np.concatenate((low[block] ^ _SALT[0][number], high[block] ^ _SALT[1][number]))
    headings = np.concatenate((low[heading] ^ _SALT[0, 0], high[heading] ^ _SALT[1, 0]))
    return Units(_unique(texts), _unique(headings))


def _unique(numbers: Hashes) -> Hashes:
    if not len(numbers):
        return numbers
    ascending = np.sort(numbers)
    return ascending[starts_of_runs(ascending)]
