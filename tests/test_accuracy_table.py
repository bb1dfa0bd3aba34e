"""The table of the accuracy benchmark comes about, and on generated sites it says what it should."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.on_asyncio import on_asyncio

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def accuracy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script, which imports its neighbours by their bare names."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module("accuracy")
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(BENCHMARKS)):
            del sys.modules[name]


def test_repeats_are_found_and_different_pages_are_not_dropped(accuracy: Any) -> None:
    risks = sys.modules["risks"]
    labelled = risks.generated(7, sites=1, documents=2)
    found, _ = accuracy.contenders()
    everything = accuracy.shares(labelled, found["all on"])
    repeats = [share for (label, _), share in everything.items() if label == "same"]
    assert sum(share.identical for share in repeats) >= 0.9 * sum(share.pairs for share in repeats)
    different = {group: share for (label, group), share in everything.items() if label == "different"}
    assert {group for group, share in different.items() if share.identical} <= {"the same under one title"}
    assert len(different) == len(risks.RISKS)
    rows = accuracy.pair_rows({"all on": everything})
    assert rows[0] == ["judged identical, %", "pairs", "all on"]
    assert rows[-1][0] == "different: all"


@on_asyncio
async def test_what_a_site_repeats_is_learned_in_a_crawl(accuracy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of pages under one title and the same terms none is dropped for another.

    Without that knowledge most are, unless the texts that each has of its own keep them.
    """
    group = "the same under one title"
    risks = sys.modules["risks"]
    monkeypatch.setattr(risks, "RISKS", {group: risks.RISKS[group]})
    labelled = risks.generated(1, sites=1)
    on = (await accuracy.crawl(labelled, list(labelled.pages))).counted
    with accuracy.without_site_text():
        off = (await accuracy.crawl(labelled, list(labelled.pages), novel_words=None)).counted
        own = (await accuracy.crawl(labelled, list(labelled.pages))).counted
    assert on[group] == {"pages": 16, "dropped for a different page": 0, "kept twice": 0}
    assert off[group]["dropped for a different page"] > 8
    assert own[group]["dropped for a different page"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("prose", [0, 300, 600])
@on_asyncio
async def test_the_order_of_a_crawl_changes_no_verdict_on_a_content(accuracy: Any, prose: int) -> None:
    """Of two copies the one that comes first is kept, and none is dropped for a different page.

    Nor is one where all pages of a site carry a long text. Where one of two says more than the other, both are kept if
    it comes second.
    """
    labelled = sys.modules["labelled"].with_prose(sys.modules["risks"].generated(1, sites=1, documents=3), prose)
    _, *rows = accuracy.order_rows(await accuracy.in_three_orders(labelled, 1), len(labelled.pages))
    assert [row[2] for row in rows] == ["0", "0", "0"]
    assert all(int(row[3]) <= 0.04 * len(labelled.pages) for row in rows)
    assert all(float(row[4]) <= 3 for row in rows), "of a hundred pages, three"


def test_decided_otherwise_is_what_is_kept_of_a_content_and_not_which_page(accuracy: Any) -> None:
    one, other, third = (
        accuracy.Crawl({}, dropped, 0.0)
        for dropped in ({"b": "a", "c": "a", "y": "x"}, {"a": "b", "c": "b", "x": "y"}, {"b": "a", "x": "y"})
    )
    assert accuracy.decided_otherwise(one, one) == 0
    assert accuracy.decided_otherwise(one, other) == 0
    assert accuracy.decided_otherwise(one, third) == accuracy.decided_otherwise(third, other) == 1


@pytest.mark.usefixtures("accuracy")
def test_generated_pages_are_the_same_for_the_same_seed() -> None:
    risks = sys.modules["risks"]
    one, other = (risks.generated(3, sites=1, documents=1) for _ in range(2))
    assert one.pages == other.pages
    assert one.pages != risks.generated(4, sites=1, documents=1).pages
