"""``import FILE``: what ``export`` wrote, into this store."""

from __future__ import annotations

import asyncio
from typing import IO, TYPE_CHECKING

from scrapy_simdedup.commands.call import YES
from scrapy_simdedup.commands.files import reading
from scrapy_simdedup.commands.progress import share_of
from scrapy_simdedup.commands.stores import named_url, opened
from scrapy_simdedup.commands.transfer import from_line, read_head
from scrapy_simdedup.errors import SimdedupError, StoreError
from scrapy_simdedup.store_urls import without_password

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.store.base import FingerprintStore, Record

SUMMARY = "read what export wrote into this store, new or old; pages that it has already stay as they are"


def add_options(parser: ArgumentParser) -> None:
    """Where from."""
    parser.add_argument("file", metavar="FILE", help="what export wrote, or - for what is piped in")


def run(call: Call) -> int:
    """Read it."""
    url = named_url(call)
    with reading(call.options.file) as file:
        added, known = asyncio.run(_import(call, file, url))
    text = f"{added:,} pages were added; {known:,} were there already"
    call.console.answer({"added": added, "known": known, "store": without_password(url)}, [text])
    return YES


async def _import(call: Call, file: IO[bytes], url: str) -> tuple[int, int]:
    added = known = 0
    head = file.readline()
    if not head:
        return 0, 0
    async with opened(url) as store:
        for name, value in read_head(head).items():
            if await store.remember(name, value) != value:
                problem = "its fingerprints were made in another way, or under another secret, than those in the file"
                raise StoreError(without_password(url), problem, "name another store")
        log: Log | None = None
        with call.console.progress("pages read", share=share_of(file)) as show:
            for number, line in enumerate(file, start=2):
                try:
                    site, record = from_line(line)
                except SimdedupError as exc:
                    raise SimdedupError(f"line {number}: {exc}") from exc
                if log is None or log.site != site:
                    log = await Log.of(store, site)
                if await log.add(record):
                    added += 1
                else:
                    known += 1
                show(added + known)
    return added, known


class Log:
    """A site's log that is added to."""

    def __init__(self, store: FingerprintStore, site: str) -> None:
        self.site = site
        self._store = store
        self._before: set[bytes] = set()
        """The keys of the pages that were there already."""
        self._cursor = 0

    @classmethod
    async def of(cls, store: FingerprintStore, site: str) -> Log:
        """The site's log as it is in an open store."""
        log = cls(store, site)
        await log._read()
        return log

    async def _read(self) -> None:
        complete = False
        while not complete:
            tail = await self._store.read(self.site, self._cursor)
            self._cursor, complete = tail.cursor, tail.complete
            self._before.update(record.key for record in tail.records)

    async def add(self, record: Record) -> bool:
        """Whether it is of a page that was not there."""
        while record.key not in self._before:
            id_ = await self._store.append(self.site, record, self._cursor)
            if id_ is not None:
                self._cursor = id_
                return True
            await self._read()
        return False
