"""What a site repeats on all its pages makes no two of them copies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prints import log, record

from pages import prose
from scrapy_simdedup.detect.site_index import Match, SiteIndex
from scrapy_simdedup.detect.site_text import KNOWN, SiteText
from scrapy_simdedup.fingerprint.evidence import weigh
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.making import fingerprint_page
from scrapy_simdedup.store.base import Record, Tail

TERMS = prose("terms", 4_800)


def product(name: object, *, title: str = "", extra: str = "", terms: str = TERMS) -> PageFingerprint:
    """Of a page with a title and a short text of its own, above long terms that its whole site carries."""
    return fingerprint_page(f"<title>{title or name}</title>{prose(name, 70)}{extra}<div>{terms}</div>")


def products(count: int) -> list[Record]:
    return [record(product(number), b"%d" % number) for number in range(count)]


def index_of(*records: Record) -> SiteIndex:
    made = SiteIndex(64)
    made.apply(log(*records))
    return made


def closest(index: SiteIndex, fp: PageFingerprint, drop: float = 0.95) -> Match | None:
    return index.closest(fp, b"asking", "https://shop.example/asking", drop=drop, near=0.85)


def kind(match: Match | None) -> str:
    return "new" if match is None else "identical" if match.similarity >= 0.95 else "near"


def test_pages_that_share_their_sites_text_alone_are_no_copies_once_the_site_is_known() -> None:
    """Two pages cannot tell, six can."""
    assert product("a").compare(product("b")).kind == "identical"
    assert kind(closest(index_of(*products(1)), product("new"))) == "identical"
    assert kind(closest(index_of(*products(KNOWN)), product("new"))) == "near"


def test_a_repeat_is_a_copy_on_a_known_site_too() -> None:
    """Its own text is the same."""
    index = index_of(*products(2 * KNOWN))
    assert kind(closest(index, product(3))) == "identical"
    repeat = closest(index, product(3, extra="<p>3 people look at this.</p>"))
    assert repeat is not None
    assert (repeat.record.key, kind(repeat)) == (b"3", "identical")


def test_where_near_pages_are_dropped_the_text_of_a_site_is_no_reason_either() -> None:
    """A page with a text of its own is not even near."""
    index = index_of(*products(2 * KNOWN))
    assert closest(index, product("new"), drop=0.85) is None
    assert kind(closest(index, product(3), drop=0.85)) == "identical"


def test_on_an_unknown_site_another_title_is_another_page() -> None:
    """On the safe side, until six pages have told what belongs to the site."""
    terms = prose("short terms", 1_200)
    original = product("a", title="Blue paint", terms=terms)
    repeat = product("a", title="Blue paint - sale", extra="<p>Now.</p>", terms=terms)
    others = [record(product(n, terms=terms), b"%d" % n) for n in range(KNOWN)]
    assert original.compare(repeat).kind == "identical"
    assert kind(closest(index_of(record(original, b"a")), repeat)) == "near"
    assert kind(closest(index_of(record(original, b"a"), *others), repeat)) == "identical"


def test_versions_of_a_page_say_nothing_about_its_site() -> None:
    """What they share is the page's own."""
    versions = [
        record(product("a", extra=f"<p>Seen {n} times.</p>"), b"%d" % n, similarity=0.9, kind="near") for n in range(20)
    ]
    assert kind(closest(index_of(*versions), product("a", extra="<p>Seen often.</p>"))) == "identical"


@pytest.mark.parametrize("step", [1, 3, 5])
def test_a_site_is_known_alike_to_who_reads_its_log_at_once_and_to_who_saw_it_grow(step: int) -> None:
    """A worker that starts again, or reads what others wrote, comes to the same verdicts."""
    whole = log(*products(3 * KNOWN))
    at_once, grown = SiteIndex(64), SiteIndex(64)
    at_once.apply(whole)
    for start in range(0, len(whole.records), step):
        part = whole.records[start : start + step]
        reserved = tuple(replace(one, state="reserved") for one in part)
        grown.apply(Tail(reserved, part[-1].position))
        later = tuple(replace(one, position=one.position + 1_000) for one in part)
        grown.apply(Tail(later, part[-1].position))
    for asked in (product("new"), product(5), product(5, extra="<p>Another line of it.</p>")):
        found = [closest(index, asked) for index in (at_once, grown)]
        assert [(match.similarity, match.record.key) for match in found if match] == [
            (match.similarity, match.record.key) for match in found[:1] if match
        ] * 2


def test_dropped_pages_do_not_vote() -> None:
    """A repeat would make its original's text the site's."""
    index = index_of(*products(2), *(record(product("a"), b"alias %d" % n, "alias") for n in range(9)))
    assert kind(closest(index, product("new"))) == "identical", "two pages have voted"


def test_old_votes_fade() -> None:
    """A site may change what it repeats."""
    text = SiteText()
    old, new = product("old").evidence[0], fingerprint_page(prose("new terms", 900)).evidence
    for _ in range(70):
        text.vote(old["cells"])
    edited = fingerprint_page(prose("new terms", 900) + prose("edit", 40)).evidence
    assert not text.explains(new[0], edited, weigh(new[0], edited))[0]
    for _ in range(300):
        text.vote(new[0]["cells"])
    assert text.explains(new[0], edited, weigh(new[0], edited))[0]
