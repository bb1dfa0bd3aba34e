"""The compact containers behave like the simple ones they replace."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simdedup.urls.compact import BLOCK, BY_CONTENT, BY_RULES, SkipLog, SortedMap, UrlLog

numbers = st.integers(0, 2**64 - 1)


@given(st.lists(st.tuples(numbers | st.integers(0, 50), numbers), max_size=200))
def test_a_sorted_map_is_a_dictionary(pairs: list[tuple[int, int]]) -> None:
    made = SortedMap()
    for key, value in pairs:
        made.put(key, value)
    for key, value in dict(pairs).items():
        assert made.get(key) == value
    assert len(made) == len(dict(pairs))
    assert made.get(2**63 + 12345) == dict(pairs).get(2**63 + 12345)


def test_a_sorted_map_splits_its_chunks() -> None:
    made = SortedMap()
    for key in range(5000):
        made.put(key * 7919 % 5003, key)
    assert len(made) == 5000
    assert [made.get(key * 7919 % 5003) for key in range(5000)] == list(range(5000))


def test_a_log_gives_each_url_by_its_number() -> None:
    log = UrlLog()
    urls = [f"http://e.com/ä?{n}" for n in range(3 * BLOCK + 5)]
    for url in urls:
        log.append(url)
    assert [log[n] for n in range(len(log))] == urls


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=400),
    st.lists(st.tuples(st.sampled_from([BY_RULES, BY_CONTENT]), st.integers(0, 5)), max_size=5),
)
def test_exactly_what_was_skipped_by_a_rule_or_for_a_content_is_given_back_once(
    skips: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    log = SkipLog()
    latest: dict[tuple[int, int], int] = {}
    for number, (rule, content) in enumerate(skips):
        mine = ((BY_RULES, rule), (BY_CONTENT, content))
        added = log.add(str(number), latest.get(mine[0], 0), latest.get(mine[1], 0))
        latest.update(dict.fromkeys(mine, added))
    for chain in asked:
        log.readmit_chain(chain[0], latest.get(chain, 0))
    back: list[str] = []
    while log.pending:
        back += log.pop_readmitted(links=7, blocks=2)
    wanted = [
        str(n) for n, (rule, content) in enumerate(skips) if {(BY_RULES, rule), (BY_CONTENT, content)} & set(asked)
    ]
    assert sorted(back) == sorted(wanted)
