"""The search finds what looking at every page one by one would find."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.prints import asking, log, print_of, record, unjudged_print
from scrapy_simdedup.detect import candidate_index
from scrapy_simdedup.detect.candidate_index import SEARCH_RADIUS
from scrapy_simdedup.detect.site_index import SiteIndex
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.similarity import BELOW_THRESHOLD_FACTOR
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import Record
from scrapy_simdedup.store.memory import MemoryStore

SITE = "shop.example"


def index_of(*records: Record, bits: int = 64, run: str | None = None) -> SiteIndex:
    made = SiteIndex(SITE, DedupSettings(bits=bits), run)
    made.apply(log(*records))
    return made


def found(index: SiteIndex, fp: PageFingerprint, key: bytes = b"asking", drop: float = 0.95, near: float = 0.85) -> Any:
    match = index.best_match(asking(fp, key, drop=drop, near=near))
    return match and (match.record.key, match.similarity, match.distance)


KEYS = st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"f"])


@st.composite
def prints(draw: st.DrawFn, bits: int = 64) -> PageFingerprint:
    seed, edits, headline = draw(st.tuples(st.integers(0, 3), st.integers(0, 24), st.sampled_from([0, 0, 1, 2])))
    made = print_of(seed, edits, headline=headline, bits=bits)
    if draw(st.integers(0, 9)) == 0:
        made = made._replace(sketch=bytes(len(made.sketch)))  # of a page that is all frame
    return made


@given(st.data(), st.sampled_from([64, 128]), st.sampled_from([(0.95, 0.85), (0.85, 0.85), (0.99, 0.3), (1.0, 0.9)]))
def test_the_scan_equals_a_look_at_every_page(data: st.DataObject, bits: int, lines: tuple[float, float]) -> None:
    """The same original, similarity and distance, for both widths and any thresholds."""
    drop, near = lines
    states = st.sampled_from(["reserved", "confirmed"])
    drawn = data.draw(st.lists(st.tuples(prints(bits), KEYS, states), max_size=30))
    records = [record(fp, b"%s%d" % (key, at), state) for at, (fp, key, state) in enumerate(drawn)]
    index, asked = index_of(*records, bits=bits), data.draw(prints(bits))
    key = data.draw(st.sampled_from([b"asking", *(made.key for made in records)]))

    def look() -> Any:
        best: tuple[Any, ...] = ()
        for at, made in enumerate(records):
            other = PageFingerprint.from_bytes(made.fingerprint)
            result = asked.compare(other)
            within = result.distance <= SEARCH_RADIUS * bits // 64 or asked.exact == other.exact
            alike = result.similarity
            if alike >= drop and index.copy_check.is_only_boilerplate(asked, other, drop):
                alike = BELOW_THRESHOLD_FACTOR * drop
            if made.key == key or not within or alike < near:
                continue
            rank = (alike >= drop) * (1 + (made.state == "confirmed"))
            best = max(best, ((rank, alike, -at), made.key, alike, result.distance))
        return best[1:] or None

    assert found(index, asked, key, drop, near) == look()


def test_nothing_is_missed_at_the_border_of_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_index, "CHUNK", 3)
    index = index_of(*(record(print_of(seed), b"%d" % seed) for seed in range(11)))
    assert [found(index, print_of(seed, 1))[0] for seed in range(11)] == [b"%d" % seed for seed in range(11)]


def test_the_nearest_are_looked_at_where_too_many_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pages crowd around one, the time it takes is bounded; its copy is among the nearest."""
    monkeypatch.setattr(candidate_index, "MAX_IN_RADIUS", 5)
    crowd = [record(print_of(2)._replace(simhash=print_of(1).simhash ^ (1 << 60)), b"%d" % at) for at in range(50)]
    index = index_of(*crowd, record(print_of(1)._replace(exact=b"8 bytes."), b"copy"), *crowd)
    assert found(index, print_of(1))[0] == b"copy"


@pytest.mark.slow
@given(st.data(), st.booleans())
def test_a_log_taken_in_piece_by_piece_is_the_log_taken_in_at_once(data: st.DataObject, is_shared: bool) -> None:
    """Whatever was appended, confirmed, released, superseded, and read in overlapping parts, or known without reading.

    Where the store lends its records as well.
    """
    store, log_, own = MemoryStore(), 0, dict[int, bytes]()
    follower = SiteIndex("site.example", DedupSettings(), "monday", store.log(SITE) if is_shared else None)
    asked = [print_of(seed, edits) for seed in range(4) for edits in (0, 3, 9)]
    for _ in range(data.draw(st.integers(1, 25))):
        action = data.draw(st.sampled_from(["append", "append", "settle", "settle", "read", "read again"]))
        if action == "append":
            fp, key, run = (
                data.draw(prints()),
                data.draw(KEYS),
                data.draw(st.sampled_from(["monday", "monday", "tuesday"])),
            )
            state = data.draw(st.sampled_from(["reserved", "reserved", "reserved", "duplicate", "confirmed"]))
            # Of a page that both runs fetch, a follower keeps the version of its own run, which the log has no more.
            made = record(fp, key if run == "monday" else key.upper(), state, run)
            log_ = now(store.append(SITE, made, now(store.read(SITE)).cursor))
            if (run, state) == ("monday", "reserved"):
                own[log_] = key
                if follower.cursor == log_ - 1 and data.draw(st.booleans()):
                    follower.appended(made._replace(id=log_, position=log_), fp)
        elif action == "settle":
            id_, outcome = (
                data.draw(st.sampled_from([*own, *range(1, log_ + 2)])),
                data.draw(st.sampled_from(["confirmed", "confirmed", "itemless", "released"])),
            )
            position = now(store.settle(SITE, id_, outcome, 2.0))
            if id_ in own and data.draw(st.booleans()):
                follower.settle(own[id_], id_, outcome, 2.0, position)
        else:
            after = data.draw(st.integers(0, follower.cursor)) if action == "read again" else follower.cursor
            follower.apply(now(store.read(SITE, after)))
    follower.apply(now(store.read(SITE, follower.cursor)))
    fresh = SiteIndex("site.example", DedupSettings(), "monday")
    fresh.apply(now(store.read(SITE)))
    for fp in asked:
        assert found(follower, fp) == found(fresh, fp)
    for key in (b"a", b"b", b"c", b"d", b"e", b"f"):
        assert follower.previous_version(key, "monday") == fresh.previous_version(key, "monday")
    assert (follower.cursor, len(follower)) == (fresh.cursor, len(fresh))


def now(verb: Any) -> Any:
    """What a verb of the memory store gives, which never waits."""
    with pytest.raises(StopIteration) as done:
        verb.send(None)
    return done.value.value


# ------------------------------------------------------------------ what is searched


def test_of_those_alike_enough_a_delivered_one_comes_first() -> None:
    """Even if one in work is more similar: what was delivered can be relied on."""
    index = index_of(record(print_of(1), b"in work", "reserved"), record(print_of(1, 5), b"delivered"))
    assert found(index, print_of(1, 1))[0] == b"delivered"
    assert found(index, print_of(1, 1), drop=0.98)[0] == b"in work", "the delivered one is not alike enough"


def test_an_equal_page_is_found_before_all_that_are_like_it() -> None:
    index = index_of(record(print_of(1, 1), b"like"), record(print_of(1), b"equal"))
    assert found(index, print_of(1)) == (b"equal", 1.0, 0)


def test_equal_pages_are_equal_even_where_the_sketch_is_empty() -> None:
    """Of pages that are all frame it keeps so little that nothing may be left."""
    bare = print_of(1)._replace(sketch=bytes(len(print_of(1).sketch)))
    index = index_of(record(bare, b"in work", "reserved"), record(bare._replace(exact=b"8 bytes."), b"other"))
    assert found(index, bare) == (b"in work", 1.0, 0)


@pytest.mark.parametrize("state", ["duplicate", "released"])
def test_only_originals_are_searched(state: Any) -> None:
    assert found(index_of(record(print_of(1), b"a", state)), print_of(1)) is None


def test_a_page_does_not_find_itself() -> None:
    index = index_of(record(print_of(1), b"a"))
    assert found(index, print_of(1), key=b"a") is None
    assert found(index, print_of(1), key=b"b") == (b"a", 1.0, 0)


def test_only_the_named_run_is_searched() -> None:
    """A page's past is known from every run all the same."""
    old, new = record(print_of(1), b"a", run="sunday"), record(print_of(2), b"b", run="monday")
    for run, hits in (("monday", [False, True]), (None, [True, True])):
        index = index_of(old, new, run=run)
        assert [found(index, print_of(seed)) is not None for seed in (1, 2)] == hits
        assert index.previous_version(b"a", "monday") is not None


def test_what_another_run_has_in_work_is_no_past() -> None:
    index = index_of(record(print_of(1), b"a", run="sunday"), record(print_of(2), b"a", "reserved", run="sunday"))
    assert index.previous_version(b"a", "monday").id == 1
    assert index.previous_version(b"a", "sunday").id == 2


@pytest.mark.parametrize(("reason", "hit"), [("too_short", False), ("empty", False), ("cut", True), ("too_big", True)])
def test_what_was_not_judged_is_equal_only_byte_for_byte_and_only_if_it_has_content(reason: str, hit: bool) -> None:
    index = index_of(record(unjudged_print(1, reason), b"a"), record(print_of(3), b"b"))
    assert (found(index, unjudged_print(1, reason)) is not None) == hit
    assert found(index, unjudged_print(2, reason)) is None
    assert found(index, print_of(1)) is None


def test_texts_that_were_found_in_different_ways_are_not_compared() -> None:
    index = index_of(record(print_of(1), b"a"))
    assert found(index, print_of(1)._replace(extractor="readability")) is None


def test_a_body_seen_before_gives_its_fingerprint() -> None:
    """That of the page itself, dropped or not, or that of an original."""
    index = index_of(record(print_of(1), b"a", "duplicate"), record(print_of(2), b"b"))
    assert index.same_body(print_of(1).body, b"a", "roles") == print_of(1)
    assert index.same_body(print_of(2).body, b"c", "roles") == print_of(2)
    assert index.same_body(print_of(1).body, b"c", "roles") is None
