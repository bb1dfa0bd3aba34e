"""Pages, fingerprints and clocks for the tests of what a site has."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from helpers import store_records
from helpers.pages import page, words
from scrapy_simdedup.detect.verdict import FetchedPage
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.fingerprint.make import fingerprint
from scrapy_simdedup.settings import DedupSettings
from scrapy_simdedup.store.base import Record, Tail


@dataclass
class Clock:
    """Time that passes when a test says so."""

    seconds: float = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


def edited(seed: object, wrapping: object = 0, share: float = 0.1) -> str:
    """The page of a seed with the last part of its text rewritten; a tenth makes it near, but not identical."""
    text = words(seed, 240)
    changed = int(len(text) * share)
    text[-changed:] = words(f"edit of {seed}", changed)
    body = "\n".join(f"<p>{' '.join(text[i : i + 40]).capitalize()}.</p>" for i in range(0, 240, 40))
    return page(seed, wrapping, body=body)


def print_of(seed: int, edits: int = 0, *, headline: int = 0, bits: int = 64) -> PageFingerprint:
    """A fingerprint as of a short page: identical to its seed's up to 6 edits, near up to 16, and soon out of reach."""
    rng = random.Random(seed)
    made = fingerprint(f"<p>{' '.join(words('any', 60))}</p>", DedupSettings(bits=bits))
    simhash, sketch = rng.getrandbits(bits), bytearray(rng.randbytes(len(made.sketch)))
    for edit in range(edits):
        simhash ^= (1 << bits // 64) - 1 << edit * bits // 64
        for _ in range(8):
            sketch[rng.randrange(len(sketch))] = rng.randrange(256)
    exact, body = rng.randbytes(8), rng.randbytes(8)
    return made._replace(simhash=simhash, sketch=bytes(sketch), exact=exact, body=body, title=headline, h1=headline)


def asking(
    fp: PageFingerprint, key: bytes = b"asking", *, drop: float = 0.95, near: float = 0.85, handler: str = ""
) -> FetchedPage:
    """A page for which a match is looked for, whatever text of its own it has."""
    settings = DedupSettings(identical=drop, near=near, novel_words=None)
    url = "https://shop.example/asking"
    return FetchedPage("shop.example", key, url, fp, "monday", "w1", 1_000_000.0, settings, handler=handler)


def unjudged_print(seed: int, reason: str) -> PageFingerprint:
    """A fingerprint of a page that could not be judged."""
    return fingerprint("", DedupSettings())._replace(unjudged=reason, body=random.Random(seed).randbytes(8))


def record(fp: PageFingerprint, key: bytes, state: Any = "confirmed", run: str = "monday", **changes: Any) -> Record:
    """What a store has of a page."""
    url = f"https://shop.example/{key.decode()}"
    made = store_records.record(key, 1.0, url=url, fingerprint=bytes(fp), state=state, run=run)
    return made._replace(**changes)


def log(*records: Record) -> Tail:
    """A log to which these were appended one after the other."""
    numbered = tuple(made._replace(id=at, position=at) for at, made in enumerate(records, 1))
    return Tail(numbered, len(numbered))
