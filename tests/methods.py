"""The methods, as settings that every contract is tested with."""

from __future__ import annotations

from typing import Any

METHODS: dict[str, dict[str, Any]] = {
    "simhash": {"method": "simhash"},
    "simhash, 128 bits": {"method": "simhash", "bits": 128},
    "exact content": {"method": "exact"},
    "exact masked text": {"method": "exact", "exact": "text", "masked": ["case", "dates", "times", "numbers"]},
    "exact body": {"method": "exact", "exact": "body"},
    "minhash": {"method": "minhash"},
    "shingles": {"method": "shingles"},
}
EXACT = [name for name in METHODS if name.startswith("exact")]
GRADED = [name for name in METHODS if name not in EXACT]
"""The methods that tell how alike two pages are, and not only whether they are the same."""
