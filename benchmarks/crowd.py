"""The fingerprints of a million pages of one template, made without the pages."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from scrapy_simdedup.store.base import FingerprintStore, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
    from scrapy_simdedup.store.base import State

STEP = 1_000
FIRM_CELLS = np.arange(12, 16, dtype=np.uint8)
"""What a feature of content can leave in a half-byte of a sketch."""


def crowd(one: PageFingerprint, count: int, seed: int = 1) -> Iterator[PageFingerprint]:
    """Fingerprints of pages that resemble each other as those of one template do, and repeat none.

    A bit of the simhash and a cell of the sketch is the template's with a probability of 0 to 0.8, more often low than
    high, and random else. Of the other pages 0.2 % come within 12 bits of a page, and 1.6 % within 18, as on large
    sites.

    Args:
        one: a judged fingerprint, whose other fields all of them take over.
        count: how many.
        seed: another seed makes other pages of the same template.
    """
    start = 0
    for simhashes, sketches in crowd_marks(one, count, seed):
        for number in range(len(simhashes)):
            digest = hashlib.blake2b(b"%d %d" % (seed, start + number), digest_size=20).digest()
            yield one._replace(
                simhash=int.from_bytes(simhashes[number].tobytes(), "little"),
                sketch=sketches[number].tobytes(),
                exact=digest[:8],
                body=digest[8:16],
                title=int.from_bytes(digest[16:18], "little"),
                h1=int.from_bytes(digest[18:], "little"),
            )
        start += len(simhashes)


def crowd_marks(one: PageFingerprint, count: int, seed: int = 1) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The bytes of the simhashes and of the sketches of :func:`crowd`, each page in a row, a thousand at a time."""
    template, rng = np.random.default_rng(0), np.random.default_rng((1, seed))
    bits, cells = template.integers(2, size=one.bits, dtype=np.uint8), template.choice(FIRM_CELLS, 2 * len(one.sketch))
    for start in range(0, count, STEP):
        size = min(STEP, count - start)
        share = 0.8 * rng.random((size, 1), np.float32) ** 3
        simhashes = np.packbits(_mix(rng, share, bits, np.arange(2, dtype=np.uint8)), axis=1, bitorder="little")
        nibbles = _mix(rng, share, cells, FIRM_CELLS)
        yield simhashes, nibbles[:, 0::2] << 4 | nibbles[:, 1::2]


def _mix(rng: np.random.Generator, share: np.ndarray, common: np.ndarray, values: np.ndarray) -> np.ndarray:
    shape = len(share), len(common)
    own = values[rng.integers(len(values), size=shape, dtype=np.uint8)]
    return np.where(rng.random(shape, np.float32) < share, common, own)


def record(fingerprint: PageFingerprint, number: int, site: str, run: str) -> Record:
    """A delivered page as the detector stores it."""
    url = f"https://{site}/articles/{number}"
    key = hashlib.sha1(url.encode(), usedforsecurity=False).digest()
    return first_visit(url, key, bytes(fingerprint), number, run=run, worker="benchmark", state="confirmed")


def first_visit(
    url: str, key: bytes, fingerprint: bytes, number: int, *, run: str, worker: str, state: State
) -> Record:
    """A page that repeats none and was met once, a second after the one before."""
    return Record(
        url=url,
        key=key,
        fingerprint=fingerprint,
        run=run,
        worker=worker,
        state=state,
        kind="new",
        similarity=None,
        original=None,
        first_seen=1.7e9 + number,
        last_seen=1.7e9 + number,
        last_changed=1.7e9 + number,
        visits=1,
        changes=0,
    )


async def fill(store: FingerprintStore, site: str, run: str, prints: Iterator[PageFingerprint], after: int = 0) -> None:
    """Store pages one by one, as a site whose counter is ``after`` grows."""
    for number, fingerprint in enumerate(prints, after):
        if await store.append(site, record(fingerprint, number, site, run), number) is None:
            raise RuntimeError(f"{site} has another counter than {number}")
