"""Item notes: what the store remembers of the values of items, by page or by identity, and what is compared with it."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from scrapy_simdedup.detect.events import event_key, journal_name

JOURNAL = "item-values:"
"""What stands in the place of a run in the names of the journals of item values, which are those of all runs."""
ItemChange: TypeAlias = Literal["new", "changed", "unchanged"]
DIGEST_BYTES = 8
_HEADER, _ENTRY_BYTES = struct.Struct(">d8s8s"), 3 * DIGEST_BYTES


class Entry(NamedTuple):
    """What is remembered of an item: three digests."""

    name: bytes
    """Of what the item says about which one it is."""
    others: bytes
    """Of the fields that do not decide."""
    values: bytes
    """Of the fields that decide."""


class Note(NamedTuple):
    """The items of one page, or those with one identity, as they were delivered last."""

    at: float
    """When, in seconds since the epoch."""
    run: bytes
    """A digest of the name of the run that wrote the note."""
    page: bytes
    """A digest of the page that gave the items."""
    entries: tuple[Entry, ...] = ()

    def __bytes__(self) -> bytes:
        return _HEADER.pack(*self[:3]) + b"".join(map(b"".join, self.entries))

    @classmethod
    def from_bytes(cls, raw: bytes | None) -> Note | None:
        """The note that was written; None where there is none, or what is no note."""
        if not raw or (len(raw) - _HEADER.size) % _ENTRY_BYTES:
            return None
        digests = [raw[start : start + DIGEST_BYTES] for start in range(_HEADER.size, len(raw), DIGEST_BYTES)]
        entries = tuple(Entry(*digests[start : start + 3]) for start in range(0, len(digests), 3))
        at, run, page = _HEADER.unpack_from(raw)
        return cls(at, run, page, entries)


def item_values_journal(site: str) -> str:
    """The name of the journal with the values of a site's items."""
    return journal_name(JOURNAL, site)


def page_note_key(key: bytes, handler: str) -> bytes:
    """The key of the note about a page's items."""
    return event_key("page", handler, key.hex())


def forgotten_note(now: float) -> bytes:
    """The note in place of that of a page that is forgotten: what was delivered before does not count there."""
    return bytes(Note(now, b"", b""))


class ItemGroup:
    """The items that are told apart among each other: those of a page, or those with one identity.

    ``raw`` is the note as it is in the store, ``known`` the one that counts. Where items have an identity, other pages
    may have items of the group.
    """

    def __init__(self, key: bytes, raw: bytes | None, known: Note | None, *, has_identity: bool = False) -> None:
        self.key, self.raw, self.has_identity = key, raw, has_identity
        self.is_shared = False
        """Whether another page of this run has items of the group, so that nobody knows whose past is whose."""
        self.past: tuple[Entry, ...] = known.entries if known else ()
        self._by_name: defaultdict[bytes, list[Entry]] = defaultdict(list)
        for entry in self.past:
            self._by_name[entry.name].append(entry)
        self.is_void = False
        """Whether the note in the store was emptied."""
        self.seen: list[Entry] = []
        self._names: set[bytes] = set()

    def compare(self, entry: Entry, *, is_page: bool = False) -> ItemChange:
        """Compare an item with those of the past, and count it among those that were seen.

        Of several items with one name all other fields tell which one it is. An item that ``is_page``, by its URL, may
        have another name than before where it was the page's only one.
        """
        past = self._by_name.get(entry.name, [])
        if is_page and not past and not self.seen and len(self.past) == 1:
            past = list(self.past)
        if len(past) == 1 and entry.name not in self._names:
            found: ItemChange = "unchanged" if past[0].values == entry.values else "changed"
        elif len(past) > 1:
            found = "unchanged" if entry in past else "changed"
        else:
            found = "new"
        self.seen.append(entry)
        self._names.add(entry.name)
        return found

    def entries(self, lost: Sequence[Entry], *, is_complete: bool) -> tuple[Entry, ...]:
        """What is to be remembered: what was seen and not lost, and the past of what an incomplete visit missed."""
        gone, kept = Counter(lost), []
        for entry in self.seen:
            if gone[entry]:
                gone[entry] -= 1
            else:
                kept.append(entry)
        missed = () if is_complete else (entry for entry in self.past if entry.name not in self._names)
        return (*kept, *missed)
