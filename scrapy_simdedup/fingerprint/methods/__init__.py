"""The methods by which pages are compared, by their names in ``SIMDEDUP_METHOD``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.fingerprint.methods.bits import Bits
from scrapy_simdedup.fingerprint.methods.exact import Exact
from scrapy_simdedup.fingerprint.methods.minhash import MinHash
from scrapy_simdedup.fingerprint.methods.shingles import SampledShingles
from scrapy_simdedup.fingerprint.methods.simhash import Simhash

if TYPE_CHECKING:
    from scrapy_simdedup.fingerprint.methods.base import Method

METHODS: dict[str, Method] = {
    "simhash": Simhash(),
    "exact": Exact(),
    "minhash": MinHash(),
    "shingles": SampledShingles(),
    "bits": Bits(),
}
"""Their places are written into fingerprints, so new ones come last."""
