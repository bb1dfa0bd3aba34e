"""Logs and journals from beginning to end, which stores give in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.store.base import Notes, Tail

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy_simdedup.store.base import FingerprintStore, Record


async def whole_log(store: FingerprintStore, site: str) -> AsyncIterator[Record]:
    """All records of a site; one that changes meanwhile may come twice."""
    tail = Tail((), 0, complete=False)
    while not tail.complete:
        tail = await store.read(site, tail.cursor)
        for record in tail.records:
            yield record


async def whole_journal(store: FingerprintStore, journal: str) -> AsyncIterator[bytes]:
    """All notes of a journal; one that changes meanwhile may come twice."""
    tail = Notes((), 0, complete=False)
    while not tail.complete:
        tail = await store.notes(journal, tail.cursor)
        for value in tail.values:
            yield value
