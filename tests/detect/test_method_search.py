"""Every method's search finds what looking at every page one by one would find, in bounded memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from helpers.methods import METHODS
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, words
from helpers.prints import asking, record
from scrapy_simdedup import NearDuplicateDetector, PageFingerprint, StoreError, fingerprint_page
from scrapy_simdedup.detect.site_index import SiteIndex
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import Tail
from scrapy_simdedup.store.memory import MemoryStore

every_method = pytest.mark.parametrize("name", METHODS)
KEYED = {"minhash": 42, "shingles": 16}
"""Keys of a page at most, with the default thresholds."""


def article(seed: object, share: float, wrapping: object = 0) -> str:
    """An article of 300 words, of which a share was rewritten."""
    text = words(seed, 300)
    count = round(300 * share)
    return page(seed, wrapping, body=f"<p>{' '.join(text[: 300 - count] + words(f'{seed} {share}', count))}</p>")


def index_of(name: str, near: float = 0.85) -> SiteIndex:
    return SiteIndex("site.example", DedupSettings.from_keywords(**METHODS[name], near=near))


def versions(fp: PageFingerprint, count: int, rng: random.Random) -> Iterator[PageFingerprint]:
    """Prints of other pages, as far as their method can tell."""
    for _ in range(count):
        level = fp.sketch[:1] if fp.method == "shingles" else b""
        sketch = level + rng.randbytes(len(fp.sketch) - len(level))
        yield fp._replace(
            sketch=sketch, exact=rng.randbytes(8), simhash=rng.getrandbits(fp.bits), body=rng.randbytes(8)
        )


@every_method
@pytest.mark.parametrize("near", [0.85, 0.6])
def test_the_search_equals_a_look_at_every_page(name: str, near: float) -> None:
    """The most similar one from the line on, or none."""
    shares = [0, 0, 0.02, 0.05, 0.1, 0.15, 0.2]
    htmls = [article(seed, share, f"{seed} {share}") for seed in range(8) for share in shares]
    prints = [fingerprint_page(html, **METHODS[name]) for html in htmls]
    index = index_of(name, near)
    records = [record(fp, b"%d" % at) for at, fp in enumerate(prints)]
    index.apply(Tail(tuple(made._replace(id=at, position=at) for at, made in enumerate(records, 1)), len(records)))
    for at, fp in enumerate(prints):
        alike = [
            0 if fp is other else fp.compare(other, identical=1.0, novel_words=None).similarity for other in prints
        ]
        found = index.best_match(asking(fp, b"%d" % at, drop=1.0, near=near))
        best = max(alike)
        if best < near or (fp.method == "simhash" and near < 0.85):
            assert found is None or found.similarity >= near
        else:
            assert found is not None
            assert found.similarity == best


@pytest.mark.parametrize("name", KEYED)
def test_keys_take_bounded_memory(name: str) -> None:
    """Nine bytes each, and a little to begin with."""
    fp, rng, pages = fingerprint_page(page("tides", count=2_000), **METHODS[name]), random.Random(1), 3_000
    index, plain = index_of(name), SiteIndex("site.example", DedupSettings())
    for at, other in enumerate(versions(fp, pages, rng), 1):
        tail = Tail((record(other, b"%d" % at)._replace(id=at, position=at),), at)
        index.apply(tail)
    simhash = fingerprint_page(page("tides"))
    for at, other in enumerate(versions(simhash, pages, rng), 1):
        plain.apply(Tail((record(other, b"%d" % at)._replace(id=at, position=at),), at))
    assert index._originals.size - plain._originals.size <= 9 * KEYED[name] * pages + 20_000


@pytest.mark.parametrize("name", KEYED)
def test_pages_that_change_again_and_again_leave_no_keys_behind(name: str) -> None:
    """However often 100 pages are another content, the index grows no more, and finds the last one of each."""
    fp, rng = fingerprint_page(page("tides"), **METHODS[name]), random.Random(1)
    index, sizes, last = index_of(name), [], {}
    for at, other in enumerate(versions(fp, 6_000, rng), 1):
        last[at % 100] = other
        index.apply(Tail((record(other, b"%d" % (at % 100))._replace(id=at, position=at),), at))
        sizes.append(index._originals.size)
    assert max(sizes[3_000:]) <= 1.1 * max(sizes[:3_000])
    for key, other in last.items():
        asked = other._replace(exact=bytes(8))
        match = index.best_match(asking(asked))
        assert match is not None
        assert match.record.key == b"%d" % key


@every_method
@on_asyncio
async def test_a_detector_drops_repeats_and_keeps_the_rest(name: str) -> None:
    """Of a page that came before under another URL, whatever the method."""
    detector = NearDuplicateDetector(**METHODS[name])
    await detector.open()
    kinds = [
        (await detector.add(html, url=f"https://shop.example/{at}")).kind
        for at, html in enumerate([page("a", 1), page("b", 1), page("a", 1), page("c", 2), page("b", 1)])
    ]
    assert kinds == ["new", "new", "identical", "new", "identical"]
    await detector.close()


@on_asyncio
async def test_a_store_holds_to_one_method() -> None:
    """And to what it was told; the error names both."""
    store = MemoryStore()
    for settings, refused in [
        ({"method": "exact", "ignore": "dates"}, None),
        ({"method": "exact", "ignore": "dates"}, None),
        ({"method": "exact"}, "exact content without dates"),
        ({"method": "minhash"}, "exact content without dates"),
        ({}, "exact content without dates"),
    ]:
        detector = NearDuplicateDetector(store, **settings)
        if refused:
            with pytest.raises(StoreError, match=refused):
                await detector.open()
        else:
            await detector.open()
            await detector.close()


@pytest.mark.parametrize("name", KEYED)
@on_asyncio
async def test_a_site_may_have_a_lower_line_than_the_others(name: str) -> None:
    """Its near-duplicates are found, too."""
    sites = {"shop.example": {"near": 0.5}}
    detector = NearDuplicateDetector(site_settings=sites, **METHODS[name])
    await detector.open()
    verdicts: list[Any] = [
        await detector.add(article("tides", share), url=f"https://{host}/{share}")
        for host in ("shop.example", "news.example")
        for share in (0.0, 0.3)
    ]
    assert [verdict.kind for verdict in verdicts] == ["new", "near", "new", "new"]
    await detector.close()
