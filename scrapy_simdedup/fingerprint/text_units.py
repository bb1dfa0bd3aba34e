"""Text units: the blocks of a page that say something, as its record keeps them.

Two questions are asked of a page whose text is gone: does it say what another page says, and did its own text change?
The first is a matter of shingles, in whatever blocks they stand. The second is a matter of blocks. So a record keeps

1. a *shingle filter*: of the shingles of all units, in content or boilerplate, a sample as the bits of a hash table (a
   Bloom filter with one hash, Bloom 1970). A shingle that the page has is in the filter for certain, another one with a
   chance of a quarter to two fifths; a run of shingles that are in it is on the page.
2. a *unit table*: of the units of the content in their order, 16 bits of the text and 16 of the place, and one
   digest of all. Where a page has more units than the table has room for, neighbours behind the first ones share a row:
   long ones first, of which the filter tells much, then links, short lines without a number, and all only where there
   is no other way. So the counter at the foot of a long text has a row for itself, and so has the price beside a menu.
3. a *digest of the comments*, in whatever order: they are boilerplate, and an edit in them is one nevertheless.
4. a *digest of the title*, without what the site adds to it (:func:`~scrapy_simdedup.page.page.own_title`), and one of
   the *offer*, what data and buttons say of prices and stock (:mod:`scrapy_simdedup.page.hidden_texts`).

A box in the text is content here, whatever it is called: an edit in it is one, and it is lost with the page that alone
has it. Blocks that are mostly links are no units, unless the content of the page is links; nor are consent notices,
and what is called an advertisement, a teaser or a column beside the text. The first heading of the content is one,
though it is a link, as many headlines lead to their own page, and so is a score or a price in a table, and what stands
behind a label there. Numbers count like any words, and so do signs such as those of currencies, though no shingle has
them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from scrapy_simdedup.fingerprint.features import BOILERPLATE, BlockClasses, Shingles, are_among, as_uint8
from scrapy_simdedup.fingerprint.hashing import Hashes, Rows, fmix64, saying_signs, sign_digest
from scrapy_simdedup.page.amounts import AGE_ENDS, AGE_MARKS, MAX_LENGTH, beginning, is_price, is_sentence, without_age
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Block
from scrapy_simdedup.page.roles import AD, ASIDE, BOILERPLATE_ROLES, BY_SHAPE, COMMENT, COOKIE, RELATED, SOCIAL, WIDGET

Places: TypeAlias = NDArray[np.uint32]
Mask: TypeAlias = NDArray[np.bool_]
MAX_BYTES = 424
"""Bytes that a record keeps of the text units of a page at most."""
MAX_FILTER_BITS = 2400
"""Bits of a shingle filter at most."""
BITS_PER_SAMPLE, LEAST_BITS_PER_SAMPLE = 3, 2
"""Bits of the filter for each shingle of the sample, and where it is full: then 28 % and 39 % of the shingles that a
page lacks seem to be there. With fewer bits more are sampled; 2 show nearly as many of the missing ones as any."""
SAMPLE_OF, MAX_SAMPLING = 1 << 16, 1 << 15
"""The scale of samplings; and of so many shingles, how many are in the sample at most."""
SAMPLING_BITS = 4
"""The leading bits of a sampling that are not zero at most: so an archive keeps of each shingle little more than these,
and 16 bits for its place in a filter."""
NOBODYS_OWN = AD | RELATED | SOCIAL | ASIDE | WIDGET
"""Roles of what is nobody's own text where a name or a tag gave them: another advertisement or teaser at each visit. A
block that is boilerplate for its place alone may be a comment."""
FIRST_UNITS, LAST_UNITS = 6, 4
"""The first units of the content, those from its headline on, and the last ones, which share no row: the name of a
thing and its facts are among the former, clocks and counters among the latter."""
_KIND, LONG, LINK, SHORT, NUMBERED, _ALONE = 30, 0, 1, 2, 3, 4
"""The highest two of the 32 bits of a digest of the content tell long texts, short lines, and those with a number; of
links it is known that they are passed over, and these units are of no kind that shares rows."""
_MOST_BITS = 14
"""The bits of a digest by which neighbours are joined at most."""
SHARED_PLACE = 0
"""What the table has in place of the place of a row of several units."""
COMMENTS_PLACE = 2
"""The place of all comments together."""
_MAX_JOINED_BY = _ALONE * _MOST_BITS + 1
"""One more than the steps by which neighbours are joined: after each :data:`_MOST_BITS` of them one kind more is."""
_HEAD = struct.Struct("<2HBQI2H")
"""Sampling, bytes of the filter, the number of bits by which neighbours are joined, the digests of the sequence, of the
comments, of the title and of the offer."""
_TABLE_DTYPE = np.dtype([("digest", "<u2"), ("place", "<u2")])
_KEPT = 0xFFFF
"""The bits of a place that a row of the table has."""
FILTER_SALT = np.uint64(0x9E3779B97F4A7C15)
_PATH_BITS = 28
_SPREAD = 0x9E3779B1
_HALF = np.uint64(32)
NUMBER = re.compile(r"\d[\d.,:/]*")


class PageUnits(NamedTuple):
    """The blocks of a page that is at hand, links and boilerplate among them, with their shingles."""

    hashes: Hashes
    """The hashes of the shingles of all blocks in their order; shape (n,)."""
    starts: Rows
    """Where the shingles of each block begin; shape (m,)."""
    lengths: Rows
    """How many shingles each block has; shape (m,)."""
    digests: Hashes
    """A digest of the text of each block, 32 bits, of which two tell the kind of a block of the content; shape (m,)."""
    places: Places
    """The place of each block of the content in the layout, :data:`COMMENTS_PLACE` for comments, 0 for others; shape
    (m,)."""
    block_classes: BlockClasses
    """The :class:`~scrapy_simdedup.page.classify.BlockClass` of each block, but for insets, which are content; shape
    (m,)."""
    pass_over: Mask
    """Whether each block is no unit, as it is mostly links, or a consent notice; shape (m,)."""
    samples: list[str]
    """The :func:`~scrapy_simdedup.page.amounts.beginning` of each block's text."""
    size: int
    """Words per shingle."""
    comments: int = 0
    """16 bits of the comments in any order, without short lines that may be dates, ages or counters, and below them 16
    that say between which tags they stand; 0 without any."""
    title: int = 0
    """16 bits of what the title says of the page; 0 without any."""
    offer: int = 0
    """16 bits of what the page says of prices and stock beside its text; 0 without any."""
    headline: int = 0
    """The block of the content with the h1 that names the page, or else its first heading, or its first block; or 0."""
    title_words: str = ""
    """The words of the title that the h1 lacks; see ``words_of_title`` in ``scrapy_simdedup.page.page``."""
    is_unlisted: bool = False
    """Whether the page asks not to be listed; see :attr:`~scrapy_simdedup.page.page.Page.is_unlisted`."""

    @property
    def of_content(self) -> Mask:
        """Which blocks are units of the content; shape (m,)."""
        texts: Mask = (self.block_classes > BOILERPLATE) & ~self.pass_over
        return texts

    @property
    def in_comments(self) -> Mask:
        """Which blocks are boilerplate for nothing but that they are called comments; shape (m,)."""
        found: Mask = self.places == COMMENTS_PLACE
        return found

    @property
    def is_index(self) -> bool:
        """Whether most of the content is links."""
        content, texts = self.block_classes > BOILERPLATE, self.of_content
        return bool(2 * self.lengths[texts].sum() < self.lengths[content].sum())

    @property
    def in_table(self) -> Mask:
        """Which blocks are rows of the unit table: those of the content, with its links if most of it is links."""
        return self.block_classes > BOILERPLATE if self.is_index else self.of_content

    def joined(self, chosen: Mask) -> PageUnits:
        """The shingles of some blocks as those of one block, of which nothing else is known."""
        hashes = self.hashes[np.repeat(chosen, self.lengths)]
        return self._replace(hashes=hashes, lengths=np.array([len(hashes)]))

    def that_say(self, blocks: Mask, test: Callable[[str], bool]) -> Mask:
        """Those of some blocks whose texts pass a test, which is given their beginnings; shape (m,)."""
        found: Mask = blocks.copy()
        for at in blocks.nonzero()[0].tolist():
            found[at] = test(self.samples[at])
        return found

    def without(self, clocks: Collection[int]) -> Mask:
        """Which blocks are rows of the unit table and stand at none of some places."""
        chosen = self.in_table
        return chosen & ~are_among(self.places, list(clocks)) if clocks else chosen


def python_page_units(found: Shingles, blocks: Sequence[Block], size: int, h1: str = "") -> PageUnits:
    """The blocks of a page with their shingles, which :func:`find_shingles` found with ``size`` words each.

    The place of a block of the content are the tags around it, and which of the blocks with these tags it is. A short
    one with a number is known by its other words instead, as a counter below a text of any length. The signs of blocks
    without words belong to the block before them, but content and boilerplate are apart.
    """
    digests = (fmix64(np.add.reduceat(found.hashes, found.starts)) >> _HALF).tolist()
    classes, samples, places, pass_over = list[int](), list[str](), [0] * len(digests), list[bool]()
    seen: dict[int, int] = {}
    first_h1 = first_heading = first_line = None
    has_heading, comments, stand = False, 0, 0
    for at, (number, end) in enumerate(pairwise([*found.blocks.tolist(), len(blocks)])):
        text, block_class, roles, heading, links, path, inset = blocks[number]
        text, in_content = beginning(text), inset or block_class > BlockClass.BOILERPLATE
        is_heading = heading and block_class > BlockClass.BOILERPLATE
        is_passed = (
            (links and (has_heading or not is_heading))
            or roles & COOKIE > 0
            or (roles & NOBODYS_OWN > 0 and not roles & BY_SHAPE and not inset)
        )
        has_heading |= is_heading
        around = (
            of for of in blocks[number:end] if (of.inset or of.block_class > BlockClass.BOILERPLATE) == in_content
        )
        digest = digests[at] + sign_digest("".join(saying_signs(of.text) for of in around)) & 0xFFFF_FFFF
        if in_content:
            is_passed = is_passed and not is_price(text)
            if not is_passed:
                first_line = at if first_line is None else first_line
                first_heading = at if first_heading is None and heading and not inset else first_heading
                first_h1 = at if first_h1 is None and heading and blocks[number].text == h1 else first_h1
            said = without_age(text) if _may_have_age(text) else text
            kind = NUMBERED if _may_be_counter(said) else SHORT if len(said) <= MAX_LENGTH else LONG
            if kind == NUMBERED:
                which = _crc32(NUMBER.sub("#", said))
            else:
                which = seen[path] = seen.get(path, 0) + 1
            places[at] = path ^ which * _SPREAD & 0xFFFF_FFFF
            digest = (digest if said == text else _crc32(said)) & (1 << _KIND) - 1 | kind << _KIND
        elif roles & BOILERPLATE_ROLES == COMMENT and not links:
            places[at], is_counted = COMMENTS_PLACE, _may_be_counter(text)
            if not _may_have_age(text) and (not is_counted or is_sentence(text)):
                comments += _crc32(NUMBER.sub("#", text)) if is_counted else digest
                stand |= 1 << ((path * _SPREAD & 0xFFFF_FFFF) >> _PATH_BITS)
        digests[at] = digest
        classes.append(BlockClass.CONTENT if inset else block_class)
        pass_over.append(is_passed)
        samples.append(text)
    return PageUnits(
        found.hashes,
        found.starts,
        found.lengths,
        np.array(digests, np.uint64),
        np.array(places, np.uint32),
        as_uint8(classes),
        np.array(pass_over, np.bool_),
        samples,
        size,
        (comments & _KEPT) << 16 | stand,
        headline=next((at for at in (first_h1, first_heading, first_line) if at is not None), 0),
    )


def _crc32(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _may_be_counter(text: str) -> bool:
    """Whether a text is short, and has a number or what may stand for one, as dates and counters do."""
    return len(text) <= MAX_LENGTH and "\0" not in text and ("#" in text or NUMBER.search(text) is not None)


def _may_have_age(text: str) -> bool:
    """Whether a text is short, and ends like a day, or has a word of an age and a number, or what may stand for one."""
    if len(text) > MAX_LENGTH or "\0" in text:
        return False
    if text[-3:] in AGE_ENDS:
        return True
    return ("#" in text or " ago" in text or NUMBER.search(text) is not None) and any(m in text for m in AGE_MARKS)


def place_behind(first: int, number: int) -> int:
    """The place of the unit behind the first ones with the same tags around them, by the place of the first of all."""
    return first ^ (_SPREAD ^ (number + 1) * _SPREAD) & 0xFFFF_FFFF


class TextUnits(NamedTuple):
    """What a record keeps of the text units of a page."""

    sampling: int
    """Of 65,536 shingles, how many are in the sample."""
    shingle_filter: bytes
    """The shingle filter; empty for a page without text."""
    sequence: int = 0
    """64 bits of the units of the content in their order."""
    joined_by: int = 0
    """How units share rows, a step of :func:`table_rows`; 0 where each has its own."""
    table: bytes = b""
    """The unit table; see :attr:`rows`."""
    comments: int = 0
    """The digest of the comments; see :attr:`PageUnits.comments`."""
    title: int = 0
    """The digest of the title; see :attr:`PageUnits.title`."""
    offer: int = 0
    """The digest of the offer; see :attr:`PageUnits.offer`."""

    def has_other_comments(self, other: TextUnits) -> bool:
        """Whether the comments differ, where both pages have the markup of one template: another parts their lines."""
        return self.comments >> 16 != other.comments >> 16 and self.has_template_of(other)

    def has_template_of(self, other: TextUnits) -> bool:
        """Whether the comments stand in the same markup; that of the content tells it of a page without comments."""
        mine, theirs = self.comments & _KEPT, other.comments & _KEPT
        return mine & theirs in {mine, theirs} if mine and theirs else self._has_places_of(other)

    def _has_places_of(self, other: TextUnits) -> bool:
        mine, theirs = set(self.rows["place"].tolist()), set(other.rows["place"].tolist())
        return 2 * len(mine & theirs) > min(len(mine), len(theirs))

    @property
    def rows(self) -> NDArray[np.void]:
        """The rows of the unit table, with the fields ``digest`` and ``place``; shape (n,)."""
        return np.frombuffer(self.table, _TABLE_DTYPE)

    def __bytes__(self) -> bytes:
        digests = self.sequence, self.comments, self.title, self.offer
        head = _HEAD.pack(self.sampling, len(self.shingle_filter), self.joined_by, *digests)
        return head + self.shingle_filter + self.table

    @classmethod
    def from_bytes(cls, raw: bytes) -> TextUnits:
        """The text units from their bytes; raises a ValueError for other bytes."""
        head = _HEAD.unpack_from(raw) if len(raw) >= _HEAD.size else (0, len(raw), 0, 0, 0, 0, 0)
        sampling, size, joined_by, sequence, *of_page = head
        end = _HEAD.size + size
        if end > len(raw) or (len(raw) - end) % _TABLE_DTYPE.itemsize or joined_by >= _MAX_JOINED_BY:
            raise ValueError(f"{len(raw)} bytes are no text units")
        return cls(sampling, raw[_HEAD.size : end], sequence, joined_by, raw[end:], *of_page)

    def holds(self, hashes: Hashes) -> Mask:
        """Whether each shingle is in the filter; of a shingle that is not in the sample this says nothing."""
        if not self.shingle_filter:
            return np.zeros(len(hashes), np.bool_)
        bits = np.frombuffer(self.shingle_filter, np.uint8)
        at = filter_places(hashes, len(bits))
        found: Mask = bits[at >> 3] >> (at & 7).astype(np.uint8) & 1 > 0
        return found

    @property
    def false_share(self) -> float:
        """The share of the shingles that the page lacks and that seem to be in the filter, 0..1."""
        bits = 8 * len(self.shingle_filter)
        return int.from_bytes(self.shingle_filter, "little").bit_count() / bits if bits else 0.0


def python_keep_units(units: PageUnits, clocks: Collection[int] = ()) -> TextUnits:
    """What is kept of the text units of a page.

    Clocks are left out of the rows that they would share with other units, which would always differ.
    """
    hashes = units.hashes[np.repeat(~units.pass_over, units.lengths)]
    most = MAX_FILTER_BITS * SAMPLE_OF // (LEAST_BITS_PER_SAMPLE * max(1, len(hashes)))
    rest = max(0, most.bit_length() - SAMPLING_BITS)
    sampling = min(MAX_SAMPLING, most >> rest << rest)
    sample = hashes[is_sampled(hashes, sampling)]
    size = min(MAX_FILTER_BITS, BITS_PER_SAMPLE * len(sample)) + 7 >> 3
    bits = np.zeros(8 * size, np.uint8)
    bits[filter_places(sample, size)] = 1
    packed = np.packbits(bits, bitorder="little").tobytes()
    room = (MAX_BYTES - _HEAD.size - size) // _TABLE_DTYPE.itemsize
    joined_by = 0
    table = table_rows(units, joined_by, clocks)
    while len(table.rows) > room and joined_by < _MAX_JOINED_BY - 1:
        joined_by += 1
        table = table_rows(units, joined_by, clocks)
    made = sequence_digest(units.digests[table.blocks]), joined_by, table.rows.tobytes()
    return TextUnits(sampling, packed, *made, units.comments, units.title, units.offer)


def is_sampled(hashes: Hashes, sampling: int | NDArray[np.uint64]) -> Mask:
    """Which shingles are in a sample of so many of 65,536; a smaller sample is part of a larger one."""
    chosen: Mask = hashes * FILTER_SALT >> np.uint64(48) < np.asarray(sampling, np.uint64)
    return chosen


def filter_places(hashes: Hashes, size: int | NDArray[np.uint64]) -> Rows:
    """The bit of each shingle in a filter of so many bytes; shapes are as in :func:`is_sampled`."""
    low = hashes * FILTER_SALT >> _HALF & np.uint64(0xFFFF)
    places: Rows = (low * (np.uint64(8) * np.asarray(size, np.uint64)) >> np.uint64(16)).astype(np.intp)
    return places


def sequence_digest(digests: Hashes) -> int:
    """64 bits of texts in their order, of which the digests are given."""
    weights = 2 * np.arange(len(digests), dtype=np.uint64) + np.uint64(1)
    return int((fmix64(digests) * weights).sum(dtype=np.uint64))


class PageRows(NamedTuple):
    """The rows that a page has in a unit table."""

    rows: NDArray[np.void]
    """Rows as :attr:`TextUnits.rows` has them; shape (n,)."""
    blocks: Rows
    """Which blocks of the page are in the rows, in their order; shape (k,)."""
    first: Rows
    """Where among these the blocks of each row begin; shape (n,)."""
    counts: Rows
    """How many blocks each row has, shape (n,)."""
    are_alone: Mask
    """Which rows have a block that would share none with other neighbours either, shape (n,)."""


def table_rows(units: PageUnits, joined_by: int, clocks: Collection[int] = ()) -> PageRows:
    """The rows of a page in a unit table.

    Neighbours are joined by their content, so that most rows behind an added unit stay as they are: a row ends behind a
    unit whose digest ends with so many zeros. Behind and before each of the first units, of those from the headline on
    and of the last ones it ends as well, and of each whose kind shares no row yet: long texts do from the first step
    on, links after :data:`_MOST_BITS` more of them, then short lines, and those with a number at last. Clocks share
    none, and are in no row.
    """
    blocks = units.in_table.nonzero()[0]
    digests = units.digests[blocks]
    if not joined_by or not len(blocks):
        rows, ones = rows_of(digests, units.places[blocks]), np.ones_like(blocks)
        return PageRows(rows, blocks, np.arange(len(blocks)), ones, ones > 0)
    step, bits = divmod(joined_by - 1, _MOST_BITS)
    kinds = np.where(units.pass_over[blocks], LINK, digests >> np.uint64(_KIND))
    below = int(np.searchsorted(blocks, units.headline))
    kinds[:FIRST_UNITS] = kinds[below : below + FIRST_UNITS] = kinds[-LAST_UNITS:] = _ALONE
    is_alone = kinds > step
    if clocks:
        kept = is_alone | ~are_among(units.places[blocks], list(clocks))
        blocks, digests, is_alone = blocks[kept], digests[kept], is_alone[kept]
    ends = is_alone | (digests >> np.uint64(16) & np.uint64((2 << bits) - 1) == 0)
    ends[:-1] |= is_alone[1:]
    first = np.concatenate(([0], ends[:-1].nonzero()[0] + 1))
    counts = np.diff(first, append=len(blocks))
    rows = rows_of(np.add.reduceat(digests, first), units.places[blocks[first]])
    rows["place"][counts > 1] = SHARED_PLACE
    return PageRows(rows, blocks, first, counts, is_alone[first])


def rows_of(digests: Hashes, places: Places) -> NDArray[np.void]:
    """Rows of a unit table, made of digests and places of any length."""
    rows = np.empty(len(digests), _TABLE_DTYPE)
    rows["digest"], rows["place"] = digests & np.uint64(_KEPT), places & _KEPT
    return rows


def kept_places(places: Iterable[int]) -> list[int]:
    """What a unit table keeps of places."""
    return [place & _KEPT for place in places]


try:
    from scrapy_simdedup.fingerprint._text_units import keep_units, page_units
except ImportError:  # installed without a compiler
    keep_units, page_units = python_keep_units, python_page_units
