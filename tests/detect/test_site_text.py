"""What a site repeats on all its pages makes no two of them copies."""

from __future__ import annotations

import pytest

from helpers.pages import prose, words
from helpers.prints import asking, log, record
from scrapy_simdedup.detect.site_boilerplate import MIN_SAMPLE, SAMPLE_SIZE
from scrapy_simdedup.detect.site_index import Match, SiteIndex
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.make import fingerprint_page
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import Record, Tail

TERMS = prose("terms", 4_800)
LINES = [words(f"line {number}", 20) for number in range(40)]


def product(name: object, *, title: str = "", extra: str = "", terms: str = TERMS) -> PageFingerprint:
    """Of a page with a title and a short text of its own, above long terms that its whole site carries."""
    return fingerprint_page(f"<title>{title or name}</title>{prose(name, 70)}{extra}<div>{terms}</div>")


def of_lines(lines: list[list[str]], *, title: str = "Rooms", h1: str = "Rooms", secret: str = "") -> PageFingerprint:
    said = "".join(f"<p>{' '.join(line)}</p>" for line in lines)
    return fingerprint_page(f"<title>{title}</title><main><h1>{h1}</h1>{said}</main>", secret=secret or None)


def mended(count: int) -> list[list[str]]:
    """:data:`LINES` with another word in some of them."""
    return [[*line[:10], "otherwise", *line[11:]] if at < count else line for at, line in enumerate(LINES)]


def products(count: int) -> list[Record]:
    return [record(product(number), b"%d" % number) for number in range(count)]


def index_of(*records: Record) -> SiteIndex:
    made = SiteIndex("site.example", DedupSettings())
    made.apply(log(*records))
    return made


def closest(index: SiteIndex, fp: PageFingerprint, drop: float = 0.95) -> Match | None:
    return index.best_match(asking(fp, drop=drop))


def kind(match: Match | None) -> str:
    return "new" if match is None else "identical" if match.similarity >= 0.95 else "near"


def test_pages_that_share_their_sites_text_alone_are_no_copies_once_the_site_is_known() -> None:
    """Two pages cannot tell, five can."""
    assert product("a").compare(product("b"), novel_words=None).kind == "identical"
    assert kind(closest(index_of(*products(1)), product("new"))) == "identical"
    assert kind(closest(index_of(*products(MIN_SAMPLE)), product("new"))) == "near"


def test_a_repeat_is_a_copy_on_a_known_site_too() -> None:
    """Its own text is the same."""
    index = index_of(*products(2 * MIN_SAMPLE))
    assert kind(closest(index, product(3))) == "identical"
    repeat = closest(index, product(3, extra="<p>3 people look at this.</p>"))
    assert repeat is not None
    assert (repeat.record.key, kind(repeat)) == (b"3", "identical")


def test_where_near_pages_are_dropped_the_text_of_a_site_is_no_reason_either() -> None:
    """A page with a text of its own is not even near."""
    index = index_of(*products(2 * MIN_SAMPLE))
    assert closest(index, product("new"), drop=0.85) is None
    assert kind(closest(index, product(3), drop=0.85)) == "identical"


def test_on_an_unknown_site_another_title_is_another_page() -> None:
    """On the safe side, until five pages have told what belongs to the site."""
    terms = prose("short terms", 1_200)
    original = product("a", title="Blue paint", terms=terms)
    repeat = product("a", title="Blue paint - sale", extra="<p>Now.</p>", terms=terms)
    others = [record(product(n, terms=terms), b"%d" % n) for n in range(MIN_SAMPLE)]
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
    whole = log(*products(3 * MIN_SAMPLE))
    at_once, grown = SiteIndex("site.example", DedupSettings()), SiteIndex("site.example", DedupSettings())
    at_once.apply(whole)
    for start in range(0, len(whole.records), step):
        part = whole.records[start : start + step]
        reserved = tuple(one._replace(state="reserved") for one in part)
        grown.apply(Tail(reserved, part[-1].position))
        later = tuple(one._replace(position=one.position + 1_000) for one in part)
        grown.apply(Tail(later, part[-1].position))
    for asked in (product("new"), product(5), product(5, extra="<p>Another line of it.</p>")):
        found = [closest(index, asked) for index in (at_once, grown)]
        assert [(match.similarity, match.record.key) for match in found if match] == [
            (match.similarity, match.record.key) for match in found[:1] if match
        ] * 2


def test_dropped_pages_do_not_vote() -> None:
    """A repeat would make its original's text the site's."""
    index = index_of(*products(2), *(record(product("a"), b"duplicate %d" % n, "duplicate") for n in range(9)))
    assert kind(closest(index, product("new"))) == "identical", "two pages have voted"


def test_a_site_may_change_what_it_repeats() -> None:
    """The newest pages say what that is."""
    newer = prose("newer terms", 4_800)
    records = [*products(SAMPLE_SIZE), *(record(product(n, terms=newer), b"n%d" % n) for n in range(SAMPLE_SIZE))]
    for terms, seen in ((newer, "near"), (TERMS, "identical")):
        assert kind(closest(index_of(*records), product("asked", terms=terms))) == seen


def test_versions_of_one_page_have_one_vote() -> None:
    """However often it came with another text, and whether or not the older ones were seen."""
    versions = [record(product(n), b"a") for n in range(2 * MIN_SAMPLE)]
    assert kind(closest(index_of(*versions), product("new"))) == "identical"
    reserved = [version._replace(state="reserved") for version in versions]
    assert kind(closest(index_of(*reserved), product("new"))) == "identical"


def test_a_page_that_failed_and_was_delivered_after_all_has_one_vote() -> None:
    index = index_of(*products(MIN_SAMPLE - 1))
    last = products(MIN_SAMPLE)[MIN_SAMPLE - 2]._replace(id=MIN_SAMPLE - 1)
    for position, state in enumerate(["released", "confirmed"] * 3, 100):
        index.apply(Tail((last._replace(state=state, position=position),), position))
    assert kind(closest(index, product("new"))) == "identical", "one vote is missing"


def test_a_page_that_stands_for_others_leaves_its_vote_to_them() -> None:
    """Once it failed, its version is a page that is no version of any other."""
    pages = [*products(MIN_SAMPLE - 1), record(product("a"), b"a", "reserved")]
    version = record(product("a", extra="<p>A line of the later version.</p>"), b"b")
    index = index_of(*pages, version)
    assert kind(closest(index, product("new"))) == "near", "the site is known"
    failed = pages[-1]._replace(state="released", id=MIN_SAMPLE, position=100)
    index.apply(Tail((failed,), 100))
    assert kind(closest(index, product("new"))) == "near"


def test_on_an_unknown_site_pages_with_own_passages_must_be_far_above_the_line() -> None:
    """On the safe side: two sentences each, and nobody knows whether the rest is the site's."""
    one, other = (
        fingerprint_page(f"<title>Rooms</title>{prose(name, 80)}<main>{prose('hotel', 900)}</main>") for name in "ab"
    )
    site = [record(fingerprint_page(prose(n, 200)), b"%d" % n) for n in range(MIN_SAMPLE)]
    assert one.compare(other, novel_words=None).kind == "identical"
    assert kind(closest(index_of(record(one, b"a")), other)) == "near"
    assert kind(closest(index_of(record(one, b"a"), *site), other)) == "identical"


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [(prose("one", 40), prose("other", 40)), (prose("long", 200), ""), ("", prose("long", 200))],
    ids=["each has a passage", "it has more", "the other has more"],
)
def test_on_an_unknown_site_short_pages_with_text_of_their_own_are_no_copies(mine: str, theirs: str) -> None:
    """What they have in common, far more than that, may be on every page; nothing longer than a site's text is."""
    site = [record(fingerprint_page(prose(n, 200)), b"%d" % n) for n in range(MIN_SAMPLE)]
    for count, unknown in ((1_500, "near"), (4_800, "identical")):
        one, other = (fingerprint_page(f"<main>{own}{prose('rooms', count)}</main>") for own in (mine, theirs))
        assert one.compare(other, novel_words=None).kind == "identical"
        assert kind(closest(index_of(record(one, b"a")), other)) == unknown
        assert kind(closest(index_of(record(one, b"a"), *site), other)) == "identical"


def test_on_an_unknown_site_a_page_of_which_some_lines_were_mended_is_a_copy() -> None:
    """One word in each of two lines, under most secrets; two lines that are all new are a passage under each."""
    secrets = "abcdefghijklmnopqrst"

    def copies(lines: list[list[str]]) -> list[int]:
        both = [(of_lines(LINES, secret=secret), of_lines(lines, secret=secret)) for secret in secrets]
        found = [
            [kind(closest(index_of(record(first, b"a")), second)) == "identical" for first, second in ((a, b), (b, a))]
            for a, b in both
        ]
        return [sum(order) for order in zip(*found, strict=True)]

    rewritten = [words("new", 20), words("newer", 20), *LINES[2:]]
    assert of_lines(LINES).compare(of_lines(rewritten)).kind == "identical", "but for what is not known of the site"
    assert min(copies(mended(2))) >= 0.8 * len(secrets)
    assert copies(rewritten) == [0, 0]


@pytest.mark.parametrize(("title", "h1"), [("", ""), ("Rooms", ""), ("", "Rooms")])
def test_on_an_unknown_site_pages_without_a_title_and_an_h1_are_not_taken_for_mended(title: str, h1: str) -> None:
    """They may be products under the one title of their shop, with short lines of their own."""
    for names, seen in (({}, "identical"), ({"title": title, "h1": h1}, "near")):
        original, version = of_lines(LINES, **names), of_lines(mended(1), **names)
        assert original.compare(version).kind == "identical"
        assert kind(closest(index_of(record(original, b"a")), version)) == seen


def test_where_near_pages_are_dropped_passages_of_their_own_save_none() -> None:
    one, other = (fingerprint_page(f"<main>{prose(name, 40)}{prose('rooms', 1_500)}</main>") for name in "ab")
    assert kind(closest(index_of(record(one, b"a")), other, drop=0.85)) == "identical"
