"""The verdict as a value."""

from __future__ import annotations

import pickle

from scrapy_simdedup.detect.verdict import PageRef, Verdict

PENDING = PageRef("shop.example", 7, b"key", "https://shop.example/a")


def test_a_verdict_can_be_pickled_with_its_request() -> None:
    verdict = Verdict("identical", original="https://shop.example/a", similarity=0.99, distance=1, pending=PENDING)
    assert pickle.loads(pickle.dumps(verdict)) == verdict


def test_as_a_dictionary_it_has_plain_values_only() -> None:
    made = Verdict("new", page=PENDING).as_dict()
    assert made["kind"] == "new"
    assert made["page"] == {"site": "shop.example", "id": 7, "key": b"key", "url": "https://shop.example/a"}
    assert {type(value) for value in made.values()} <= {str, bool, dict, type(None)}


def test_it_says_in_a_line_what_it_is() -> None:
    verdict = Verdict("near", is_duplicate=True, original="https://shop.example/a", similarity=0.9)
    assert repr(verdict) == "<Verdict near, duplicate, 0.900 like https://shop.example/a>"
    assert repr(Verdict("unjudged", reason="too_short")) == "<Verdict unjudged, too_short>"
    kept = Verdict("near", original="https://shop.example/a", similarity=0.97, reason="own_text", own_words=23)
    assert repr(kept) == "<Verdict near, own_text, 0.970 like https://shop.example/a, 23 words of its own>"
    waiting = Verdict("identical", original="https://shop.example/a", similarity=1.0, pending=PENDING)
    assert repr(waiting) == "<Verdict identical, 1.000 like https://shop.example/a, which is still in work>"
