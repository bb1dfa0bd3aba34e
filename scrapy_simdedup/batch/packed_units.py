"""The text units of a page in a third of their bytes, for tables that are sorted and sent about.

A judge asks three things of them: which of the sampled shingles other pages lack, what the unit table of an earlier
version would be, and which places are clocks. So of a shingle that no sample can have its place alone is kept, of one
that a sample can have 48 bits; and of the text of a unit what makes it an amount, a counter or a name.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from scrapy_simdedup.fingerprint.features import BOILERPLATE
from scrapy_simdedup.fingerprint.text_units import FILTER_SALT, MAX_SAMPLING, PageUnits, is_sampled
from scrapy_simdedup.page.amounts import has_number, is_amount, is_counter, is_name

_HEAD = struct.Struct("<B3I")
"""Words per shingle; shingles, blocks, and bytes of what describes the blocks."""
_UNSALT = np.uint64(pow(int(FILTER_SALT), -1, 1 << 64))
_UNSAMPLED = np.uint64((0xFFFF << 48) * int(_UNSALT) % (1 << 64))
"""The hash of a shingle that is in no sample."""
_SAMPLES = "", "x", "0", "0 x", "0 x $"
"""Texts of each kind: a long one, a name, an amount, a counter, and a name with a price."""


def pack_units(units: PageUnits) -> bytes:
    """The units of a page as bytes."""
    is_asked = ~units.pass_over | units.in_table
    sampled = np.repeat(is_asked, units.lengths) & is_sampled(units.hashes, MAX_SAMPLING)
    words = (units.hashes[sampled] * FILTER_SALT >> np.uint64(16)).astype("<u8").view(np.uint8).reshape(-1, 8)[:, :6]
    is_content = units.block_classes > BOILERPLATE
    kinds = [_KINDS.get(_kind(text), 0) for text in units.samples]
    arrays = (
        units.lengths.astype("<u4"),
        units.block_classes,
        units.pass_over,
        np.array(kinds, np.uint8),
        units.digests[is_content],
        units.places[is_content],
        np.packbits(sampled),
    )
    blocks = zlib.compress(b"".join(array.tobytes() for array in arrays), 1)
    head = _HEAD.pack(units.size, len(units.hashes), len(units.lengths), len(blocks))
    return b"".join((head, blocks, words.tobytes()))


def unpack_units(raw: bytes) -> PageUnits:
    """Units that a judge cannot tell from those that :func:`pack_units` packed."""
    size, shingles, count, packed = _HEAD.unpack_from(raw)
    end = _HEAD.size + packed
    blocks, at = zlib.decompress(raw[_HEAD.size : end]), 0

    def take(dtype: str, number: int) -> Any:
        nonlocal at
        found = np.frombuffer(blocks, dtype, number, at)
        at += found.nbytes
        return found

    lengths, classes, pass_over, kinds = take("<u4", count), take("u1", count), take("?", count), take("u1", count)
    is_content = classes > BOILERPLATE
    digests, places = np.zeros(count, np.uint64), np.zeros(count, np.uint32)
    digests[is_content] = take("<u8", int(np.count_nonzero(is_content)))
    places[is_content] = take("<u4", int(np.count_nonzero(is_content)))
    sampled = np.unpackbits(take("u1", shingles + 7 >> 3), count=shingles).astype(np.bool_)
    words = np.zeros((np.count_nonzero(sampled), 8), np.uint8)
    words[:, :6] = np.frombuffer(raw, np.uint8, 6 * len(words), end).reshape(-1, 6)
    hashes = np.full(shingles, _UNSAMPLED)
    hashes[sampled] = (words.view("<u8")[:, 0] << np.uint64(16)) * _UNSALT
    counts = lengths.astype(np.intp)
    samples = [_SAMPLES[kind] for kind in kinds.tolist()]
    return PageUnits(hashes, np.cumsum(counts) - counts, counts, digests, places, classes, pass_over, samples, size)


def _kind(text: str) -> tuple[bool, ...]:
    """All that is ever asked of the text of a unit."""
    return is_name(text), is_amount(text), is_counter(text), has_number(text)


_KINDS = {_kind(text): number for number, text in enumerate(_SAMPLES)}
