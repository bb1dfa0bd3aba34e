"""Whoever knows the hashes can build a page whose simhash is another's; under a store's secret nobody knows them."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page, words
from scrapy_simdedup import NearDuplicateDetector
from scrapy_simdedup.detect.candidate_index import SEARCH_RADIUS
from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.features import VOTES, distinct_features, find_shingles
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.hashing import word_hasher
from scrapy_simdedup.fingerprint.make import fingerprint, fingerprint_page
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Block, read_page
from scrapy_simdedup.settings import DedupSettings

CRAFTED = 55
"""Shingles that are added to a page of 300 to move its simhash."""
SHINGLES = 300
VICTIM, OWN = page("victim", count=SHINGLES), page("forger", count=SHINGLES)


def bits_of(hashes: np.ndarray) -> np.ndarray:
    """Votes of 1 or -1 for each bit; shape (n, 64)."""
    bits = np.unpackbits(hashes.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    return 2 * bits.astype(np.int64) - 1


def forge(own: str, target: int, secret: bytes = b"") -> str:
    """The page with crafted paragraphs of three words, chosen one by one, that pull its simhash to the target."""
    vocabulary = words("vocabulary", 500)
    rng = np.random.default_rng(7)
    candidates = [" ".join(vocabulary[number] for number in row) for row in rng.integers(0, 500, (20_000, 3))]
    hashed = word_hasher(secret)
    wanted = bits_of(np.array([target], np.uint64))[0]
    pulls = bits_of(find_shingles([Block(text, BlockClass.CONTENT, 0) for text in candidates], hashed).hashes) * wanted
    blocks = read_page(own).blocks
    features = distinct_features(find_shingles(blocks, hashed), blocks)
    weights = np.array([VOTES[BlockClass(kind)] for kind in features.block_classes])
    lead = (weights[:, None] * bits_of(features.hashes) * wanted).sum(axis=0) / VOTES[BlockClass.CONTENT]
    crafted = []
    for left in range(CRAFTED, 0, -1):
        # What counts is how far each bit is from having the right sign once all are added.
        missing = np.clip(1 + left / 3 - lead, 0, None)
        best = int(np.argmax(pulls @ missing))
        crafted.append(f"<p>{candidates[best]}</p>")
        lead = lead + pulls[best]
        pulls[best] = 0
    return own.replace("</article>", "".join(crafted) + "</article>")


async def opened() -> NearDuplicateDetector:
    detector = NearDuplicateDetector("memory:")
    await detector.open()
    return detector


def test_public_hashes_can_be_forged() -> None:
    """Without a secret it takes a moment to give a page another's simhash; the sketch still tells the two apart."""
    victim = fingerprint_page(VICTIM)
    found = fingerprint_page(forge(OWN, victim.simhash)).compare(victim)
    assert fingerprint_page(OWN).compare(victim).distance > SEARCH_RADIUS
    assert found.distance <= 3
    assert found.kind == "different"


@on_asyncio
async def test_no_store_is_deceived_by_what_was_forged_without_its_secret() -> None:
    """Ten of ten stores, each with the secret that it made for itself."""
    forged = forge(OWN, fingerprint_page(VICTIM).simhash)
    for _ in range(10):
        detector = await opened()
        victim, other = [await detector.fingerprint(html, url="https://shop.example/") for html in (VICTIM, forged)]
        assert other.compare(victim).distance > SEARCH_RADIUS
        assert (await detector.add(VICTIM, url="https://shop.example/a")).kind == "new"
        assert (await detector.add(forged, url="https://shop.example/b")).kind == "new"
        await detector.close()


@on_asyncio
async def test_what_is_captured_from_one_store_is_no_use_against_another() -> None:
    """Not even a store's secret, with which pages can be forged for it."""
    one, other = await opened(), await opened()
    captured = await one.fingerprint(VICTIM, url="https://shop.example/")
    forged = forge(OWN, captured.simhash, one.secret)
    distances = [
        made.compare(victim).distance
        for detector in (one, other)
        for made, victim in [[fingerprint(html, DedupSettings(), detector.secret) for html in (forged, VICTIM)]]
    ]
    assert distances[0] <= 3
    assert distances[1] > SEARCH_RADIUS
    with pytest.raises(FingerprintMismatch, match="secret id"):
        await other.judge_page(other.page_of(captured, url="https://shop.example/"))
    await one.close()
    await other.close()


@on_asyncio
async def test_fingerprints_of_one_page_in_two_stores_have_nothing_in_common() -> None:
    """So that who holds two stores cannot tell which pages they share."""
    one, other = [(await (await opened()).fingerprint(VICTIM, url="https://shop.example/")) for _ in range(2)]
    for name in ("simhash", "exact", "body", "title", "h1", "secret_id", "odd_signatures", "odd_headings", "sketch"):
        assert getattr(one, name) != getattr(other, name), name
    same = np.mean(np.frombuffer(one.sketch, np.uint8) == np.frombuffer(other.sketch, np.uint8))
    assert same < 0.3, "empty cells and chance"


def test_without_a_store_anyone_can_make_the_same_fingerprint() -> None:
    """Public hashes serve those who compare two pages; a secret of their own serves those who share one."""
    assert fingerprint_page(VICTIM) == PageFingerprint.from_bytes(bytes(fingerprint_page(VICTIM)))
    assert fingerprint_page(VICTIM).secret_id == 0
    assert fingerprint_page(VICTIM, secret="ours") == fingerprint_page(VICTIM, secret="ours")
    assert fingerprint_page(VICTIM, secret="ours").simhash != fingerprint_page(VICTIM).simhash
