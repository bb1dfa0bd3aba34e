"""``check``: whether a store is sound, and what is in it."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.commands.call import NO, YES
from scrapy_simdedup.commands.stores import opened, records, store_url
from scrapy_simdedup.commands.text import Bad, Good, table
from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.store_urls import without_password
from scrapy_simdedup.wording import plural, size

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator

    from scrapy_simdedup.commands.call import Call
    from scrapy_simdedup.store.base import Record

SUMMARY = "tell whether a store is sound, and what is in it"


def add_options(parser: ArgumentParser) -> None:
    """Nothing but the store."""


@dataclass(slots=True)
class Findings:
    """What a store holds."""

    store: str
    made_by: Counter[str] = field(default_factory=Counter)
    """How its fingerprints are made."""
    bytes_on_disk: int | None = None
    pages: int = 0
    sites: int = 0
    states: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    """Records whose fingerprint is none of this version."""
    orphans: int = 0
    """Repeats whose original is not in the store any more."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name) for name in self.__slots__} | {"sound": self.sound}

    @property
    def sound(self) -> bool:
        """Whether everything in it can be used."""
        return not self.unreadable

    def text(self) -> Iterator[str]:
        """The same in lines."""
        if self.sound:
            yield Good(f"{self.store} is sound")
        else:
            problem = f"{self.unreadable:,} records hold no fingerprint of this version"
            yield Bad(f"{self.store} is damaged: {problem}")
        disk = "" if self.bytes_on_disk is None else f", {size(self.bytes_on_disk)} on disk"
        yield f"{plural(self.pages, 'page')} of {plural(self.sites, 'site')}{disk}"
        if self.orphans:
            yield f"{self.orphans:,} repeats have lost their original, which is fetched and kept again when it comes by"
        for what, counts in (
            *(("state", self.states), ("verdict", self.kinds)),
            *(("run", self.runs), ("fingerprints", self.made_by)),
        ):
            yield ""
            yield from table((what, "#pages"), counts.most_common(20))
            if len(counts) > 20:
                yield f"and {len(counts) - 20:,} more"


def run(call: Call) -> int:
    """Check it; yes if it is sound."""
    found = asyncio.run(_check(call, store_url(call)))
    call.console.answer(found.as_dict(), found.text())
    return YES if found.sound else NO


async def _check(call: Call, url: str) -> Findings:
    found = Findings(without_password(url), bytes_on_disk=_bytes_on_disk(url))
    async with opened(url) as store:
        site = None
        keys: set[bytes] = set()
        originals: list[bytes] = []
        async for home, record in records(call, store, None, "pages checked"):
            if home != site:
                found.orphans += sum(original not in keys for original in originals)
                site, keys, originals = home, set(), []
                found.sites += 1
            _count(found, record)
            keys.add(record.key)
            if record.state == "alias" and record.original is not None:
                originals.append(record.original)
        found.orphans += sum(original not in keys for original in originals)
    return found


def _count(found: Findings, record: Record) -> None:
    found.pages += 1
    found.states[record.state] += 1
    found.kinds[record.kind] += 1
    found.runs[record.run] += 1
    try:
        fp = PageFingerprint.from_bytes(record.fingerprint)
    except FingerprintMismatch:
        found.unreadable += 1
        return
    found.made_by[f"version {fp.algorithm}, {fp.bits} bits, {fp.shingle_size} words per shingle, {fp.extractor}"] += 1


def _bytes_on_disk(url: str) -> int | None:
    scheme, _, path = url.partition(":///")
    if scheme != "sqlite":
        return None
    return sum(file.stat().st_size for suffix in ("", "-wal", "-shm") if (file := Path(path + suffix)).is_file())
