"""MinHash: the resemblance of the contents by 256 values of 16 bits, candidates by bands of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.fingerprint.evidence import COMMON
from scrapy_simdedup.fingerprint.features import set_digest
from scrapy_simdedup.fingerprint.methods.base import Kept, Method, Text, plain
from scrapy_simdedup.fingerprint.minhash import PERMUTATIONS, band_keys, choose_bands, low_bits, minhash, resemblance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scrapy_simdedup.fingerprint.evidence import Evidence
    from scrapy_simdedup.settings import DedupSettings

_BITS = 16


class MinHash(Method):
    """See :mod:`scrapy_simdedup.fingerprint.minhash`."""

    evidence = np.dtype([*COMMON, ("values", f"<u{_BITS // 8}", PERMUTATIONS)])

    def keep(self, text: Text, settings: DedupSettings, secret: bytes) -> Kept:  # noqa: ARG002
        """The values of the content's shingles."""
        hashes = text.own_hashes
        values = low_bits(minhash(hashes), _BITS)
        return Kept(set_digest(hashes), sketch=values.astype(self.evidence["values"].base).tobytes())

    def weigh(self, one: np.void, many: NDArray[np.void]) -> Evidence:
        """The share of equal values."""
        return plain(resemblance(one["values"], many["values"]), one, many)

    def keys(self, one: np.void, resemblance: float) -> NDArray[np.uint32]:
        """One for each band."""
        return band_keys(one["values"], choose_bands(resemblance))
