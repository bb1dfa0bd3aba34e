"""How many pages of a content are kept does not depend on which of them comes first."""

from __future__ import annotations

from itertools import permutations

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page, words
from helpers.prints import asking, log, record
from scrapy_simdedup.detect.copy_check import MAX_MEMBERS
from scrapy_simdedup.detect.detector import NearDuplicateDetector
from scrapy_simdedup.detect.site_index import SiteIndex
from scrapy_simdedup.fingerprint.make import fingerprint_page
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import Record, Tail

LINE = 0.95


def version(rewritten: int | None = None, wrapping: int = 0) -> str:
    """Of one text of 25 sentences, one of them rewritten."""
    said = [words(f"sentence {at}{' rewritten' * (at == rewritten)}", 20) for at in range(25)]
    return page("chain", wrapping, body="".join(f"<p>{' '.join(sentence)}</p>" for sentence in said))


MIDDLE, LEFT, RIGHT = version(), version(3), version(17)
"""A page and two versions of it, each of which is like the page and not like the other."""
OTHERS = [record(fingerprint_page(page(number)), b"other %d" % number) for number in range(6)]
"""What tells what belongs to the site."""


def repeats(count: int, html: str = LEFT, original: bytes = b"middle") -> list[Record]:
    return [record(fingerprint_page(html), b"repeat %d" % at, "duplicate", original=original) for at in range(count)]


def is_copy(html: str, *records: Record, key: bytes = b"asking", parts: int = 1) -> bool:
    """Whether it would be dropped on a site of these records, whose log is read in so many parts."""
    tail, index = log(*OTHERS, *records), SiteIndex("site.example", DedupSettings())
    step = -(-len(tail.records) // parts)
    for start in range(0, len(tail.records), step):
        part = tail.records[start : start + step]
        index.apply(Tail(part, part[-1].position))
    found = index.best_match(asking(fingerprint_page(html), key, drop=LINE))
    return found is not None and found.similarity >= LINE


def test_likeness_is_not_transitive() -> None:
    middle, left, right = map(fingerprint_page, (MIDDLE, LEFT, RIGHT))
    assert min(middle.compare(left).similarity, middle.compare(right).similarity) >= LINE
    assert left.compare(right).similarity < LINE


@pytest.mark.parametrize("order", list(permutations((MIDDLE, LEFT, RIGHT))))
@on_asyncio
async def test_as_many_of_a_chain_are_kept_whichever_comes_first(order: tuple[str, ...]) -> None:
    detector = NearDuplicateDetector(secret="k")
    await detector.open()
    for number in range(6):
        await detector.add(page(number), url=f"https://shop.example/{number}")
    verdicts = [await detector.add(html, url=f"https://shop.example/chain/{at}") for at, html in enumerate(order)]
    await detector.close()
    assert sum(not verdict.is_duplicate for verdict in verdicts) == 2


@pytest.mark.parametrize("parts", [1, 4, 100])
def test_where_many_pages_were_dropped_their_original_alone_decides(parts: int) -> None:
    """What they differ in is noise."""
    middle = record(fingerprint_page(MIDDLE), b"middle")
    assert is_copy(RIGHT, middle, parts=parts)
    assert not is_copy(RIGHT, middle, *repeats(1), parts=parts)
    assert not is_copy(RIGHT, middle, *repeats(MAX_MEMBERS - 1), parts=parts)
    assert is_copy(RIGHT, middle, *repeats(MAX_MEMBERS), parts=parts)


def test_a_page_that_was_dropped_is_again_whatever_it_was_like() -> None:
    """Nobody asks that it be like what it gave itself."""
    middle = record(fingerprint_page(MIDDLE), b"middle")
    assert is_copy(RIGHT, middle, *repeats(1), key=b"repeat 0")


def test_pages_dropped_for_what_an_original_was_before_do_not_count() -> None:
    """The page has another content by now."""
    changed = record(fingerprint_page(RIGHT), b"middle", run="tuesday")
    assert is_copy(version(17, wrapping=1), changed, *repeats(1))


def test_what_is_no_repeat_any_more_does_not_count() -> None:
    """Such as a page that came with another content, and was kept."""
    middle = record(fingerprint_page(MIDDLE), b"middle")
    kept = repeats(1)[0]._replace(state="confirmed", original=None, fingerprint=bytes(fingerprint_page(page("new"))))
    assert is_copy(RIGHT, middle, *repeats(1), kept)
