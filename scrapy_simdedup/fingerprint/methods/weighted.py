"""The method ``simhash``, the default: candidates by the simhash of weighted features, confirmed by their sketches."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from scrapy_simdedup.fingerprint.features import set_digest
from scrapy_simdedup.fingerprint.methods.base import ComparableText, Digests, Method
from scrapy_simdedup.fingerprint.similarity import COMPARISON_DTYPE, HEADING_BITS, SIGNATURE_BITS, score
from scrapy_simdedup.fingerprint.sketch import odd_sketch, sketch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.similarity import Scores
    from scrapy_simdedup.settings import DedupSettings

_DIGESTS = struct.Struct(
    "".join(f"{COMPARISON_DTYPE[name].itemsize}s" for name in ("exact", "odd_signatures", "odd_headings", "cells"))
)


class WeightedSimhash(Method):
    """Weighted features; see :mod:`scrapy_simdedup.fingerprint.similarity`."""

    row_dtype: np.dtype[np.void] = COMPARISON_DTYPE
    learns_boilerplate = True

    def digest(self, text: ComparableText, settings: DedupSettings, secret: bytes) -> Digests:  # noqa: ARG002
        """The sketch of the features, and the odd sketches of block signatures and headings."""
        return Digests(
            sketch=sketch(*text.features),
            exact=set_digest(text.features.hashes),
            odd_signatures=odd_sketch(text.signatures.blocks, SIGNATURE_BITS),
            odd_headings=odd_sketch(text.signatures.headings, HEADING_BITS),
        )

    def unpack(self, raw: bytes) -> Digests:
        """The digests in the order of the row that is compared."""
        return Digests(*_DIGESTS.unpack(raw))

    def score(self, one: np.void, many: NDArray[np.void]) -> Scores:
        """See :func:`~scrapy_simdedup.fingerprint.similarity.score`."""
        return score(one, many)
