"""What is in a store, without what was forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simdedup.store.whole import whole_log

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy_simdedup.store.base import FingerprintStore, Record


async def records_of(store: FingerprintStore, site: str | None) -> AsyncIterator[tuple[str, Record]]:
    """Records with their sites: of one site, or of all. What was forgotten is passed over."""
    if site is None:
        async for home, record in store.records():
            if not record.forgotten:
                yield home, record
        return
    async for record in whole_log(store, site):
        if not record.forgotten:
            yield site, record
