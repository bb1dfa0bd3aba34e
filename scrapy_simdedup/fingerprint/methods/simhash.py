"""The default: weighted features, found by their simhash and confirmed by sketches that know their kinds."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from scrapy_simdedup.fingerprint.evidence import EVIDENCE, HEADING_BITS, UNIT_BITS, weigh
from scrapy_simdedup.fingerprint.features import set_digest
from scrapy_simdedup.fingerprint.methods.base import Kept, Method, Text
from scrapy_simdedup.fingerprint.odd_sketch import odd_sketch
from scrapy_simdedup.fingerprint.sketch import sketch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.evidence import Evidence
    from scrapy_simdedup.settings import DedupSettings

_KEPT = struct.Struct(
    "".join(f"{EVIDENCE[name].itemsize}s" for name in ("exact", "odd_units", "odd_headings", "cells"))
)


class Simhash(Method):
    """See :mod:`scrapy_simdedup.fingerprint.evidence`."""

    evidence = EVIDENCE
    learns = True

    def keep(self, text: Text, settings: DedupSettings, secret: bytes) -> Kept:  # noqa: ARG002
        """The sketch of the features, and the odd sketches of units and headings."""
        return Kept(
            exact=set_digest(text.features.hashes),
            sketch=sketch(*text.features),
            odd_units=odd_sketch(text.units.texts, UNIT_BITS),
            odd_headings=odd_sketch(text.units.headings, HEADING_BITS),
        )

    def read(self, raw: bytes) -> Kept:
        """In the order in which they are compared."""
        return Kept(*_KEPT.unpack(raw))

    def weigh(self, one: np.void, many: NDArray[np.void]) -> Evidence:
        """The weighted resemblance, less what speaks against it."""
        return weigh(one, many)
