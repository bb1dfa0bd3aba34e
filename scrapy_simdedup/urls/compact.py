"""Containers for a site with millions of pages and URLs, and the keyed hashes that URLs and contents are known by."""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from hashlib import blake2b

U64_MASK = (1 << 64) - 1
"""The identity of a URL is a sum of hashes modulo 2**64."""
_CHUNK_SIZE = 512
BLOCK = 128
"""URLs of a log that are compressed together."""
BY_RULES, BY_CONTENT = 0, 1
"""The two chains of a skip log that each skip is a link of."""


class KeyedHash:
    """Texts → 64 bits (BLAKE2b, RFC 7693). Without the key nobody can choose URLs that collide."""

    __slots__ = ("_keyed", "key")

    def __init__(self, key: bytes) -> None:
        self.key: bytes = key
        self._keyed = blake2b(digest_size=8, key=key)

    def __call__(self, *texts: str) -> int:
        """The hash of texts; where one text ends and the next begins matters."""
        message = "\0".join(texts).encode("utf-8", "surrogatepass")
        hashed = self._keyed.copy()
        hashed.update(message)
        return int.from_bytes(hashed.digest(), "big")


class KeyedRandom:
    """A stream of random numbers in [0, 1), which a site without the key cannot foresee."""

    __slots__ = ("_hash", "state")

    def __init__(self, keyed_hash: KeyedHash, state: int) -> None:
        self._hash = keyed_hash
        self.state: int = state

    def next_float(self) -> float:
        """The next number of the stream."""
        self.state = self._hash("chance", str(self.state))
        return self.state / 2**64


class SortedMap:
    """A map from 64-bit to 64-bit numbers that takes 16-18 bytes per entry and never pauses to grow.

    It is a list of sorted chunks of at most 512 keys with their values beside them; a full chunk is split in two. A
    dictionary would take five times the memory; a hash table in one array would stop the crawl whenever it doubles.
    """

    __slots__ = ("_heads", "_keys", "_size", "_values")

    def __init__(self) -> None:
        self._heads = [0]
        self._keys = [array("Q")]
        self._values = [array("Q")]
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def get(self, key: int) -> int | None:
        """The value at a key; None if there is no such key."""
        chunk = bisect_right(self._heads, key) - 1
        keys = self._keys[chunk]
        place = bisect_left(keys, key)
        return self._values[chunk][place] if place < len(keys) and keys[place] == key else None

    def items(self) -> Iterator[tuple[int, int]]:
        """All keys with their values."""
        for keys, values in zip(self._keys, self._values, strict=True):
            yield from zip(keys, values, strict=True)

    def put(self, key: int, value: int) -> None:
        """Set the value at a key."""
        chunk = bisect_right(self._heads, key) - 1
        keys, values = self._keys[chunk], self._values[chunk]
        place = bisect_left(keys, key)
        if place < len(keys) and keys[place] == key:
            values[place] = value
            return
        keys.insert(place, key)
        values.insert(place, value)
        self._size += 1
        if len(keys) > _CHUNK_SIZE:
            half = _CHUNK_SIZE // 2
            self._heads.insert(chunk + 1, keys[half])
            self._keys[chunk : chunk + 1] = [keys[:half], keys[half:]]
            self._values[chunk : chunk + 1] = [values[:half], values[half:]]


class KeyTable:
    """A hash table with linear probing, from keys to slots: those that may have a key, or had it once.

    It keeps no key itself, so it takes 8 to 16 bytes for each of ``count`` keys, and a third more. The hash never
    leaves this process.
    """

    __slots__ = ("_cells", "_taken")

    def __init__(self, count: int) -> None:
        self._cells = array("I", bytes(4 << (2 * count).bit_length()))
        """Slots plus one; 0 is none."""
        self._taken = 0

    @property
    def is_full(self) -> bool:
        """Whether a new table is due; cells of deleted keys count as full."""
        return 3 * self._taken >= 2 * len(self._cells)

    @property
    def size(self) -> int:
        """How many bytes of memory the table takes."""
        return 4 * len(self._cells)

    def enter(self, key: bytes, slot: int) -> None:
        """Note that a slot has a key."""
        cells, number = self._cells, slot + 1
        mask = len(cells) - 1
        cell = hash(key) & mask
        while (taken := cells[cell]) and taken != number:
            cell = cell + 1 & mask
        self._taken += not taken
        cells[cell] = number

    def probe(self, key: bytes) -> Iterable[int]:
        """Slots that may be the key's, some of them more than once."""
        cells, found = self._cells, []
        mask = len(cells) - 1
        cell = hash(key) & mask
        while taken := cells[cell]:
            found.append(taken - 1)
            cell = cell + 1 & mask
        return found


class UrlLog:
    """A list of URLs, compressed to 10-20 bytes each, numbered from 0, readable one by one."""

    __slots__ = ("blocks", "tail")

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.tail: list[str] = []

    def __len__(self) -> int:
        return BLOCK * len(self.blocks) + len(self.tail)

    def __getitem__(self, number: int) -> str:
        return self.block(number // BLOCK)[number % BLOCK]

    def append(self, url: str) -> None:
        """Add a URL at the end."""
        self.tail.append(url)
        if len(self.tail) == BLOCK:
            self.blocks.append(zlib.compress("\n".join(self.tail).encode("utf-8", "surrogatepass"), 6))
            self.tail.clear()

    def block(self, number: int) -> list[str]:
        """A block of the log: the URLs from ``number * BLOCK`` on."""
        if number < len(self.blocks):
            return zlib.decompress(self.blocks[number]).decode("utf-8", "surrogatepass").split("\n")
        return self.tail


class SkipLog:
    """Skipped URLs, numbered from 1, which may have to be fetched after all.

    Each skip is a link of two chains: one of the rules that skipped the URL, one of the content that the URL was
    skipped in favour of. So a chain of any length is readmitted in no time, and walked little by little.
    """

    __slots__ = ("pending", "previous", "readmitted", "urls")

    def __init__(self) -> None:
        self.urls: UrlLog = UrlLog()
        self.previous: tuple[array[int], array[int]] = (array("I"), array("I"))
        """Per kind of chain: skip → the skip before it; 0 ends a chain."""
        self.readmitted: bytearray = bytearray()
        """One bit per skip: whether it was readmitted."""
        self.pending: list[tuple[int, int]] = []
        """Chains that are being readmitted: kind of chain, and the skip to go on with."""

    def add(self, url: str, before_by_rules: int, before_by_content: int) -> int:
        """Log a skip behind the latest skips of its two chains; returns its number."""
        self.urls.append(url)
        self.previous[BY_RULES].append(before_by_rules)
        self.previous[BY_CONTENT].append(before_by_content)
        number = len(self.urls)
        if number > 8 * len(self.readmitted):
            self.readmitted.append(0)
        return number

    def readmit_chain(self, chain: int, latest: int) -> None:
        """Readmit a chain, from its latest skip back; 0 is the latest skip of an empty chain."""
        if latest:
            self.pending.append((chain, latest))

    def is_readmitted(self, skip: int) -> bool:
        """Whether a skip was readmitted."""
        return bool(self.readmitted[skip - 1 >> 3] & 1 << (skip - 1 & 7))

    def mark_readmitted(self, skip: int) -> None:
        """Take a skip out of what can be readmitted."""
        self.readmitted[skip - 1 >> 3] |= 1 << (skip - 1 & 7)

    def latest_skipped(self, chain: int, latest: int) -> int:
        """The latest skip of a chain that was not readmitted; 0 if there is none."""
        while latest and self.is_readmitted(latest):
            latest = self.previous[chain][latest - 1]
        return latest

    def pop_readmitted(self, links: int = 4000, blocks: int = 60) -> list[str]:
        """Take readmitted URLs; walks so many links and decompresses so many blocks at most (some milliseconds)."""
        taken: list[str] = []
        at, urls = -1, list[str]()
        while self.pending and links:
            chain, skip = self.pending.pop()
            before = self.previous[chain]
            while skip and links:
                links -= 1
                if not self.is_readmitted(skip):
                    block, offset = divmod(skip - 1, BLOCK)
                    if block != at:
                        if not blocks:
                            links = 0
                            break
                        at, urls, blocks = block, self.urls.block(block), blocks - 1
                    self.mark_readmitted(skip)
                    taken.append(urls[offset])
                skip = before[skip - 1]
            if skip:
                self.pending.append((chain, skip))
        return taken
