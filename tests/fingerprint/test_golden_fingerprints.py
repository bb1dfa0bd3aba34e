"""The same page gives the same fingerprint in every version, on every platform and Python.

Where a change is wanted, ALGORITHM goes up, and running this file writes the fingerprints anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scrapy_simdedup.fingerprint.fingerprint import ALGORITHM, PageFingerprint
from scrapy_simdedup.fingerprint.make import fingerprint_page

GOLDEN = Path(__file__).with_name("golden.json")
CASES: dict[str, dict[str, Any]] = json.loads(GOLDEN.read_text("utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_a_page_has_the_fingerprint_that_it_always_had(name: str) -> None:
    """Stores outlive processes; a fingerprint that moves makes them worthless."""
    case = CASES[name]
    assert bytes(fingerprint_page(case["html"], **case["settings"])).hex() == case["fingerprint"]


def test_the_golden_fingerprints_can_be_read() -> None:
    """They are of the present version."""
    read = [PageFingerprint.from_bytes(bytes.fromhex(case["fingerprint"])) for case in CASES.values()]
    assert {fp.algorithm for fp in read} == {ALGORITHM}
    assert {fp.unjudged for fp in read} == {None, "too_short", "empty", "cut"}


if __name__ == "__main__":
    for case in CASES.values():
        case["fingerprint"] = bytes(fingerprint_page(case["html"], **case["settings"])).hex()
    GOLDEN.write_text(json.dumps(CASES, ensure_ascii=False, indent=1) + "\n", "utf-8")
