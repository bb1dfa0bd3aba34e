"""The methods, as settings that every contract is tested with."""

from __future__ import annotations

from typing import Any

METHODS: dict[str, dict[str, Any]] = {
    "simhash": {"method": "simhash"},
    "simhash, 128 bits": {"method": "simhash", "bits": 128},
    "exact content": {"method": "exact"},
    "exact masked text": {"method": "exact", "exact": "text", "ignore": ["case", "dates", "times", "numbers"]},
    "exact body": {"method": "exact", "exact": "body"},
    "minhash": {"method": "minhash"},
    "shingles": {"method": "shingles"},
    "bits": {"method": "bits", "shingle_size": 1},
    "128 bits of runs": {"method": "bits", "bits": 128},
}
EXACT = [name for name in METHODS if name.startswith("exact")]
BITS = [name for name in METHODS if METHODS[name]["method"] == "bits"]
GRADED = [name for name in METHODS if name not in EXACT + BITS]
"""The methods that tell how alike two pages are."""
