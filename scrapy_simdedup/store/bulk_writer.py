"""Writes records of other stores into a store, many at a time."""

from __future__ import annotations

from scrapy_simdedup.store.base import FingerprintStore, LogPart, Record

RECORDS_PER_LOAD, SITES_PER_LOAD = 2_000, 500
"""Records and sites that are written at a time: while one call of a busy server lasts, which has to end within seconds,
no other process can write to these sites."""


class BulkWriter:
    """Writes records to an open store, those of sites that the store does not have many at a time.

    A page that the store has already stays as it is.
    """

    def __init__(self, store: FingerprintStore) -> None:
        self.added: int = 0
        """Records that were added; those that wait to be written count as well."""
        self.known: int = 0
        """Records of pages that were there already."""
        self._store = store
        self._sites: set[str] | None = None
        """The sites that the store had before."""
        self._log: SiteLogWriter | None = None
        """Appends one by one to the log of the current site, where that was begun by others, or has versions."""
        self._site: str | None = None
        self._cursor = 0
        self._keys: set[bytes] = set()
        self._parts: list[LogPart] = []
        self._waiting = 0

    async def add(self, site: str, record: Record) -> None:
        """Add a record; the records of a site come together."""
        if site != self._site:
            await self._begin(site)
        if self._log is None and (record.key in self._keys or not record.settled):
            await self.flush()  # a version of a page, beside an older one or in its place
            self._log = self._log or SiteLogWriter(self._store, site, self._cursor)
        if self._log is not None:
            is_new = await self._log.add(record)
            self.added, self.known = self.added + is_new, self.known + (not is_new)
            return
        self._keys.add(record.key)
        if not self._parts or self._parts[-1].site != site:
            self._parts.append(LogPart(site, self._cursor, []))
        self._parts[-1].records.append(record)
        self.added += 1
        self._waiting += 1
        if self._waiting >= RECORDS_PER_LOAD:
            await self.flush()

    async def flush(self) -> None:
        """Write the records that wait."""
        parts, self._parts, self._waiting = self._parts, [], 0
        if not parts:
            return
        for part, counter in zip(parts, await self._store.load(parts), strict=True):
            if counter is None:  # somebody else came first
                log = SiteLogWriter(self._store, part.site, part.expected)
                news = [await log.add(record) for record in part.records]
                self.added, self.known = self.added - news.count(False), self.known + news.count(False)
                self._log = log if part.site == self._site else self._log
            elif part.site == self._site:
                self._cursor = counter

    async def _begin(self, site: str) -> None:
        if self._sites is None:
            self._sites = {name async for name in self._store.sites()}
        if len(self._parts) >= SITES_PER_LOAD:
            await self.flush()
        is_known = site in self._sites
        self._sites.add(site)  # a site that comes a second time goes on where it was left
        if is_known:
            await self.flush()
        self._site, self._cursor, self._keys = site, 0, set()
        self._log = SiteLogWriter(self._store, site) if is_known else None


class SiteLogWriter:
    """Appends the records of pages that a site's log does not have yet, in an open store."""

    def __init__(self, store: FingerprintStore, site: str, cursor: int = 0) -> None:
        self.site = site
        self._store = store
        self._known_keys: set[bytes] = set()
        self._cursor = cursor

    async def add(self, record: Record) -> bool:
        """Append the record; False if the log has its page already."""
        while record.key not in self._known_keys:
            id_ = await self._store.append(self.site, record, self._cursor)
            if id_ is not None:
                self._cursor = id_
                return True
            await self._read()  # the log has grown beyond what was read of it
        return False

    async def _read(self) -> None:
        complete = False
        while not complete:
            tail = await self._store.read(self.site, self._cursor)
            self._cursor, complete = tail.cursor, tail.complete
            self._known_keys.update(record.key for record in tail.records)
