"""``check``: whether a store is sound, and what is in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scrapy_simdedup.commands.console import NO, YES, Action, Bad, Context, Good, format_table
from scrapy_simdedup.commands.stores import existing_store_url, open_store, records_with_progress
from scrapy_simdedup.display import format_bytes, plural
from scrapy_simdedup.errors import FingerprintMismatch
from scrapy_simdedup.fingerprint.fingerprint import PageFingerprint
from scrapy_simdedup.setting_checks import redact_password
from scrapy_simdedup.store.url import store_by_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simdedup.store.base import Record

SHOWN_ROWS = 20
"""Rows of each table that are shown."""


@dataclass(slots=True)
class StoreSummary:
    """Counts of what a store holds."""

    store: str
    """The store's URL without its password."""
    made_by: Counter[str] = field(default_factory=Counter)
    """Pages by the way in which their fingerprints were made."""
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

    @property
    def sound(self) -> bool:
        """Whether every record can be used."""
        return not self.unreadable

    def add(self, record: Record) -> None:
        """Count a record."""
        self.pages += 1
        self.states[record.state] += 1
        self.kinds[record.kind] += 1
        self.runs[record.run] += 1
        try:
            fp = PageFingerprint.from_bytes(record.fingerprint)
        except FingerprintMismatch:
            self.unreadable += 1
            return
        way = f"version {fp.algorithm}, {fp.bits} bits, {fp.shingle_size} words per shingle, {fp.extractor}"
        self.made_by[way] += 1

    def as_dict(self) -> dict[str, Any]:
        """The summary as JSON has it."""
        return {name: getattr(self, name) for name in self.__slots__} | {"sound": self.sound}

    def text(self) -> Iterator[str]:
        """The summary as lines for people."""
        if self.sound:
            yield Good(f"{self.store} is sound")
        else:
            yield Bad(f"{self.store} is damaged: {self.unreadable:,} records hold no fingerprint of this version")
        disk = "" if self.bytes_on_disk is None else f", {format_bytes(self.bytes_on_disk)} on disk"
        yield f"{plural(self.pages, 'page')} of {plural(self.sites, 'site')}{disk}"
        if self.orphans:
            yield f"{self.orphans:,} repeats have lost their original, which is fetched and kept again when it comes by"
        tables = {"state": self.states, "verdict": self.kinds, "run": self.runs, "fingerprints": self.made_by}
        for what, counts in tables.items():
            yield ""
            yield from format_table((what, "#pages"), counts.most_common(SHOWN_ROWS))
            if len(counts) > SHOWN_ROWS:
                yield f"and {len(counts) - SHOWN_ROWS:,} more"


async def run(context: Context) -> int:
    """Check the store; the answer is yes if it is sound."""
    url = existing_store_url(context)
    found = StoreSummary(redact_password(url), bytes_on_disk=store_by_url(url).bytes_on_disk())
    site = None
    keys: set[bytes] = set()
    originals: list[bytes] = []
    async with open_store(url) as store:
        async for home, record in records_with_progress(context, store, None, "pages checked"):
            if home != site:
                found.orphans += sum(original not in keys for original in originals)
                site, keys, originals = home, set(), []
                found.sites += 1
            found.add(record)
            keys.add(record.key)
            if record.state == "duplicate" and record.original is not None:
                originals.append(record.original)
    found.orphans += sum(original not in keys for original in originals)
    context.console.print_answer(found.as_dict(), found.text())
    return YES if found.sound else NO


CHECK = Action("tell whether a store is sound, and what is in it", run)
