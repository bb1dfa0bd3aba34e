"""The methods by which pages are compared, by their names in ``SIMDEDUP_METHOD``."""

from __future__ import annotations

from scrapy_simdedup.fingerprint.methods.base import Method, WeightedSimhash
from scrapy_simdedup.fingerprint.methods.bits import ClassicSimhash
from scrapy_simdedup.fingerprint.methods.exact import Exact
from scrapy_simdedup.fingerprint.methods.minhash import MinHash
from scrapy_simdedup.fingerprint.methods.shingles import SampledShingles

METHODS: dict[str, Method] = {
    "simhash": WeightedSimhash(),
    "exact": Exact(),
    "minhash": MinHash(),
    "shingles": SampledShingles(),
    "bits": ClassicSimhash(),
}
"""The methods by name. Fingerprints contain a method's place in this table, so new methods come last."""
