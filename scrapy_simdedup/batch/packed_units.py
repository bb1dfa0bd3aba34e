"""The text units of a page in a fifth of their bytes, for tables that are sorted and sent about.

A judge asks three things of them: which of the sampled shingles other pages lack, what the unit table of an earlier
version would be, and which places are clocks. So nothing is kept of a shingle that no sample can have; of one that a
sample can have, in which samples it is, and 16 bits for its place in a filter; and of the text of a unit what makes it
an amount, a counter or a name, and how many of its words have a letter. Nobody asks for the order of the shingles of a
unit.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from scrapy_simdedup.fingerprint.features import BOILERPLATE
from scrapy_simdedup.fingerprint.text_units import FILTER_SALT, MAX_SAMPLING, SAMPLING_BITS, PageUnits, is_sampled
from scrapy_simdedup.page.amounts import (
    MAX_LENGTH,
    MAX_LETTERED_WORDS,
    has_plain_number,
    is_amount,
    is_counter,
    is_name,
    is_short,
    lettered_words,
)

_HEAD = struct.Struct("<B4I3H")
"""Words per shingle; blocks, sampled shingles, bytes of what describes the blocks, the digests of the comments, of the
title and of the offer, and the block of the headline."""
_SALT_BITS, _PLACE_BITS, _PLACE = np.uint64(48), np.uint64(32), np.uint64(0xFFFF)
_UNSALT = np.uint64(pow(int(FILTER_SALT), -1, 1 << 64))
_UNSAMPLED = np.uint64((0xFFFF << 48) * int(_UNSALT) % (1 << 64))
"""The hash of a shingle that is in no sample."""
_SAMPLES = "", "x", "0", "0 x", "0 x $", "x0", "x0 $"
"""Texts of each kind: neither of what follows, a name, an amount, a counter, a name with a price; and the names with a
number again, with one that is part of a name."""
_KIND_BITS, _IS_LONG = 3, MAX_LETTERED_WORDS + 1
"""The bits of a kind, before those of the words with a letter; and what stands there for a long text."""
_STEPS = 1 << SAMPLING_BITS - 1
"""Samplings between one power of two and the next."""
_NUMBERS = np.unique([step << power for power in range(16) for step in range(2 * _STEPS) if step << power < 1 << 16])
_NUMBERS = _NUMBERS.astype(np.uint64)
"""The numbers that a sampling can be, in their order: hashes between one and the next are in the same samples."""


def pack_units(units: PageUnits) -> bytes:
    """The units of a page as bytes."""
    blocks = np.repeat(np.arange(len(units.lengths)), units.lengths)
    is_asked = ~units.pass_over | units.in_table
    sampled = (is_asked[blocks] & is_sampled(units.hashes, MAX_SAMPLING)).nonzero()[0]
    salted, blocks = units.hashes[sampled] * FILTER_SALT, blocks[sampled]
    levels = (np.searchsorted(_NUMBERS, salted >> _SALT_BITS, side="right") - 1).astype(np.uint8)
    order = np.lexsort((levels, blocks))
    is_content = units.block_classes > BOILERPLATE
    texts = [units.samples[at] for at in is_content.nonzero()[0].tolist()]
    kinds = [_KINDS.get(_kind(text), 0) | _lettered_words(text) << _KIND_BITS for text in texts]
    arrays = (
        units.lengths.astype("<u4"),
        np.bincount(blocks, minlength=len(units.lengths)).astype("<u4"),
        units.block_classes,
        units.pass_over,
        levels[order],
        np.array(kinds, np.uint8),
        units.digests.astype("<u2"),
        (units.digests[is_content] >> np.uint64(16)).astype("<u2"),
        units.places[is_content].astype("<u4"),
    )
    described = zlib.compress(b"".join(array.tobytes() for array in arrays), 6)
    of_page = units.comments, units.title, units.offer, units.headline
    head = _HEAD.pack(units.size, len(units.lengths), len(sampled), len(described), *of_page)
    return b"".join((head, described, (salted[order] >> _PLACE_BITS & _PLACE).astype("<u2").tobytes()))


def unpack_units(raw: bytes) -> PageUnits:
    """Units that a judge cannot tell from those that :func:`pack_units` packed."""
    size, count, shingles, packed, *of_page = _HEAD.unpack_from(raw)
    end = _HEAD.size + packed
    described, at = zlib.decompress(raw[_HEAD.size : end]), 0

    def take(dtype: str, number: int) -> Any:
        nonlocal at
        found = np.frombuffer(described, dtype, number, at)
        at += found.nbytes
        return found

    lengths, sampled = take("<u4", count).astype(np.intp), take("<u4", count).astype(np.intp)
    classes, pass_over = take("u1", count), take("?", count)
    is_content = classes > BOILERPLATE
    number = int(np.count_nonzero(is_content))
    kinds, levels = np.zeros(count, np.intp), take("u1", shingles)
    kinds[is_content] = take("u1", number)
    digests, places = take("<u2", count).astype(np.uint64), np.zeros(count, np.uint32)
    digests[is_content] |= take("<u2", number).astype(np.uint64) << np.uint64(16)
    places[is_content] = take("<u4", number)
    of_filter = np.frombuffer(raw, "<u2", shingles, end).astype(np.uint64)
    starts = np.cumsum(lengths) - lengths
    hashes = np.full(int(lengths.sum()), _UNSAMPLED)
    in_block = np.arange(shingles) - np.repeat(np.cumsum(sampled) - sampled, sampled)
    salted = _NUMBERS[levels] << _SALT_BITS | of_filter << _PLACE_BITS
    hashes[np.repeat(starts, sampled) + in_block] = salted * _UNSALT
    samples = [_sample(kind & (1 << _KIND_BITS) - 1, kind >> _KIND_BITS) for kind in kinds.tolist()]
    return PageUnits(hashes, starts, lengths, digests, places, classes, pass_over, samples, size, *of_page)


def _kind(text: str) -> tuple[bool, ...]:
    """What is asked of the text of a unit, besides the number of its words."""
    return is_name(text), is_amount(text), is_counter(text), has_plain_number(text)


def _lettered_words(text: str) -> int:
    return lettered_words(text) if is_short(text) else _IS_LONG


def _sample(kind: int, words: int) -> str:
    """A text of a kind with so many words that have a letter; those of what is no name are currencies."""
    if words == _IS_LONG:
        return "x" * (MAX_LENGTH + 1)
    text = _SAMPLES[kind]
    return text.replace("x", " ".join(["x"] * words)) if "x" in text else " ".join([text, *["kr"] * words])


_KINDS = {_kind(text): number for number, text in enumerate(_SAMPLES)}
