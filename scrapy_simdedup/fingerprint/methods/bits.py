"""Plain bits: the textbook's simhash of the contents' words, and how far two are apart; nothing confirms it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.classic import NEAR_BITS, SAME_BITS, classic_simhash, count_ngrams, count_words
from scrapy_simdedup.fingerprint.evidence import COMMON, IDENTICAL, NEAR
from scrapy_simdedup.fingerprint.features import set_digest
from scrapy_simdedup.fingerprint.methods.base import Kept, Method, Text, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.evidence import Evidence
    from scrapy_simdedup.settings import DedupSettings

_DISTANCES = 0, SAME_BITS, NEAR_BITS, NEAR_BITS + 1, 64
_RESEMBLANCES = 1.0, IDENTICAL, NEAR, NEAR - 0.05, 0.0
"""What distances stand for, so that the lines of the other methods lie between the classes."""


class Bits(Method):
    """See :mod:`scrapy_simdedup.fingerprint.classic`."""

    evidence = np.dtype([*COMMON, ("words", "<u8", 2)])

    def simhash(self, text: Text, settings: DedupSettings, secret: bytes) -> int:
        """That of words of three letters or more, or of runs of ``shingle_size`` words, each as often as it occurs."""
        features: Counter[bytes] = Counter()
        for block in text.own_blocks:
            size = settings.shingle_size
            features.update(count_words(block.text) if size == 1 else count_ngrams(block.text, size))
        return classic_simhash(features, settings.bits, secret=secret)

    def keep(self, text: Text, settings: DedupSettings, secret: bytes) -> Kept:
        """The simhash once more, where it can be compared with many."""
        simhash = self.simhash(text, settings, secret)
        return Kept(set_digest(text.own_hashes), sketch=simhash.to_bytes(16, "little"))

    def weigh(self, one: np.void, many: NDArray[np.void]) -> Evidence:
        """By the distance alone: up to 3 bits identical, up to 8 near."""
        distance = np.bitwise_count(one["words"] ^ many["words"]).sum(axis=1)
        return plain(np.interp(distance, _DISTANCES, _RESEMBLANCES), one, many)
