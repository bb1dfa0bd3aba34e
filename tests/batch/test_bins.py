"""The largest sites of an archive are put together so that no part takes much longer than its largest site."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simdedup import SimdedupError
from scrapy_simdedup.batch import archives
from scrapy_simdedup.batch.archives import bins_of, check_sizes

SIZES = st.dictionaries(st.text(max_size=3), st.integers(1, 1_000), min_size=1)


@given(SIZES, st.integers(1, 9))
def test_no_bin_has_more_than_its_share_and_one_site(sizes: dict[str, int], count: int) -> None:
    loads = Counter[int]()
    for site, number in bins_of(sizes, count).items():
        loads[number] += sizes[site]
    assert loads.total() == sum(sizes.values())
    assert set(loads) <= set(range(count))
    assert max(loads.values()) <= loads.total() / count + max(sizes.values())


def test_only_the_largest_sites_are_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_PLACED_SITES", 2)
    assert bins_of({"a": 1, "b": 3, "c": 2}, 2) == {"b": 0, "c": 1}


def test_sites_above_the_limit_are_named_with_what_helps() -> None:
    sizes = {"small.example": 5, "large.example": archives.MAX_PAGES_OF_SITE + 1}
    with pytest.raises(SimdedupError, match=r"large\.example \(10,000,001\); set .* --by-host-above"):
        check_sizes(sizes, None)
    check_sizes(sizes, 1_000)
