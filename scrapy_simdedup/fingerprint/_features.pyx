# cython: boundscheck=False, wraparound=False
"""The compiled loops over a page's shingles: one pass for each of features, block signatures, simhash and sketches.

The functions stand before what they import of their twins, so that it does not matter which module is imported first.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

cdef extern from "Python.h":
    int Py_UNICODE_ISDECIMAL(Py_UCS4 character)

cdef enum:
    BOILERPLATE = 1  # of classify, as the next
    CLASSES = 3
    MAX_SIGNATURES = 10  # of features
    BOILERPLATE_VOTES = 1  # of features, as the next
    CONTENT_VOTES = 10
    BINS = 776  # of sketch, as the next
    BOILERPLATE_SAMPLING = 1 << 22
    MOST_BEFORE = 63
    MOST_EXCEPTIONS = 255
    SHIFTS = 8  # the bits of a byte
    MOST_IN_A_BYTE = 255
cdef uint64_t GOLDEN = 0x9E3779B97F4A7C15
cdef uint64_t EACH_BYTE = 0x0101010101010101


def distinct_features(found, blocks):
    """See :func:`scrapy_simdedup.fingerprint.features.distinct_features`.

    The shingles of each class are sorted by themselves, and merged: to sort them with their classes takes longer.
    """
    cdef const uint64_t[::1] hashes = found.hashes
    cdef const Py_ssize_t[::1] numbers = found.blocks
    cdef const Py_ssize_t[::1] lengths = found.lengths
    cdef Py_ssize_t row, place = 0, made = 0, size = hashes.shape[0]
    cdef int kind, highest = CLASSES
    cdef uint64_t least = 0
    by_class, distinct = np.empty((CLASSES, size), np.uint64), np.empty(size, np.uint64)
    block_classes = np.empty(size, np.uint8)
    cdef uint64_t[:, ::1] parts = by_class
    cdef uint64_t[::1] into = distinct
    cdef uint8_t[::1] classes = block_classes
    cdef uint64_t* here[CLASSES]
    cdef uint64_t* ends[CLASSES]
    for kind in range(CLASSES):
        here[kind] = ends[kind] = &parts[kind, 0]
    for row in range(numbers.shape[0]):
        kind = (<tuple> blocks[numbers[row]])[1] - 1
        memcpy(ends[kind], &hashes[place], lengths[row] * sizeof(uint64_t))
        ends[kind] += lengths[row]
        place += lengths[row]
    for kind in range(CLASSES):
        by_class[kind, : ends[kind] - here[kind]].sort()
    while highest:
        highest = 0
        for kind in range(CLASSES):
            if here[kind] < ends[kind] and (not highest or here[kind][0] <= least):
                least, highest = here[kind][0], kind + 1
        if highest:
            into[made], classes[made] = least, highest
            made += 1
        for kind in range(CLASSES):
            while here[kind] < ends[kind] and here[kind][0] == least:
                here[kind] += 1
    return _twin.Features(distinct[:made], block_classes[:made])


def find_block_signatures(found, blocks):
    """See :func:`scrapy_simdedup.fingerprint.features.find_block_signatures`."""
    cdef const uint64_t[::1] hashes = found.hashes
    cdef const Py_ssize_t[::1] numbers = found.blocks
    cdef const Py_ssize_t[::1] lengths = found.lengths
    cdef Py_ssize_t row, place = 0, end, of_texts = 0, of_headings = 0, rows = numbers.shape[0]
    cdef uint64_t low, high
    cdef int number
    cdef tuple block
    texts, headings = np.empty(2 * MAX_SIGNATURES * rows, np.uint64), np.empty(2 * rows, np.uint64)
    cdef uint64_t[::1] into_texts = texts
    cdef uint64_t[::1] into_headings = headings
    for row in range(rows):
        end = place + lengths[row]
        block = <tuple> blocks[numbers[row]]
        if <int> block[1] > BOILERPLATE:
            low = high = hashes[place]
            while place < end:
                low, high = min(low, hashes[place]), max(high, hashes[place])
                place += 1
            for number in range(signatures_of(lengths[row])):
                into_texts[of_texts], into_texts[of_texts + 1] = low ^ salt(0, number), high ^ salt(1, number)
                of_texts += 2
            if block[3]:
                into_headings[of_headings], into_headings[of_headings + 1] = low ^ salt(0, 0), high ^ salt(1, 0)
                of_headings += 2
        place = end
    return _twin.BlockSignatures(without_repeats(texts[:of_texts]), without_repeats(headings[:of_headings]))


cdef inline uint64_t salt(int which, int number) noexcept:
    """The salt of the smallest (0) or the largest (1) shingle in one of a block's signatures."""
    return <uint64_t> (MAX_SIGNATURES * which + number + 1) * GOLDEN


cdef int signatures_of(Py_ssize_t shingles) noexcept:
    cdef int made = 0
    while shingles > 1 and made < MAX_SIGNATURES:
        shingles >>= 1
        made += 1
    return made


cdef without_repeats(hashes):
    cdef uint64_t[::1] numbers = hashes
    cdef Py_ssize_t place, made = 0
    hashes.sort()
    for place in range(numbers.shape[0]):
        if not made or numbers[place] != numbers[made - 1]:
            numbers[made] = numbers[place]
            made += 1
    return hashes[:made]


def majority_bits(const uint64_t[::1] hashes not None, const uint8_t[::1] block_classes not None):
    """See :func:`scrapy_simdedup.fingerprint.features.majority_bits`."""
    cdef uint64_t lanes[2][SHIFTS]  # each byte counts for one bit, of boilerplate and of content
    cdef Py_ssize_t votes[64]
    cdef Py_ssize_t place, everything = 0
    cdef int in_lanes[2]
    cdef int is_content, bit
    cdef uint64_t made = 0
    memset(lanes, 0, sizeof(lanes))
    memset(votes, 0, sizeof(votes))
    in_lanes[0] = in_lanes[1] = 0
    for place in range(hashes.shape[0]):
        is_content = block_classes[place] > BOILERPLATE
        if in_lanes[is_content] == MOST_IN_A_BYTE:
            everything += add_votes(lanes[is_content], &in_lanes[is_content], is_content, votes)
        for bit in range(SHIFTS):
            lanes[is_content][bit] += hashes[place] >> bit & EACH_BYTE
        in_lanes[is_content] += 1
    for is_content in range(2):
        everything += add_votes(lanes[is_content], &in_lanes[is_content], is_content, votes)
    for bit in range(64):
        made |= <uint64_t> (2 * votes[bit] > everything) << bit
    return made


cdef Py_ssize_t add_votes(uint64_t* lanes, int* in_lanes, bint is_content, Py_ssize_t* votes) noexcept:
    """Count the votes of some hashes, and begin anew; the votes of all of them."""
    cdef int weight = CONTENT_VOTES if is_content else BOILERPLATE_VOTES
    cdef Py_ssize_t made = in_lanes[0] * weight
    cdef int bit
    for bit in range(64):
        votes[bit] += weight * (lanes[bit % SHIFTS] >> (bit - bit % SHIFTS) & 0xFF)
    memset(lanes, 0, SHIFTS * sizeof(uint64_t))
    in_lanes[0] = 0
    return made


def sketch(const uint64_t[::1] hashes not None, const uint8_t[::1] block_classes not None):
    """See :func:`scrapy_simdedup.fingerprint.sketch.sketch`."""
    cdef bytes made = PyBytes_FromStringAndSize(NULL, BINS // 2)
    cdef uint8_t* cells = <uint8_t*> PyBytes_AS_STRING(made)
    cdef Py_ssize_t place, bin, before = -1
    cdef uint64_t found
    memset(cells, 0, BINS // 2)
    for place in range(hashes.shape[0]):
        found = hashes[place]
        if block_classes[place] <= BOILERPLATE and (found * <uint64_t> 0xA24BAED4963EE407) >> 40 >= BOILERPLATE_SAMPLING:
            continue
        bin = (found >> 40) * BINS >> 24
        if bin != before:
            cells[bin >> 1] |= <uint8_t> (block_classes[place] << 2 | (found & 3)) << (0 if bin & 1 else 4)
            before = bin
    return made


def pack_row(bytes row not None):
    """See :func:`scrapy_simdedup.fingerprint.sketch.pack_row`."""
    cdef Py_ssize_t place, end, count = 0, made = 0, marks = len(row) - (BINS >> 1)
    cdef const uint8_t* pairs = <const uint8_t*> PyBytes_AS_STRING(row) + marks
    cdef uint8_t there[BINS + 4]
    cdef uint8_t packed[2 * BINS]
    cdef Py_ssize_t of_class[4]
    cdef uint8_t bits, usual = 0
    memset(packed, 0, BINS >> 3)
    memset(of_class, 0, sizeof(of_class))
    for place in range(BINS >> 1):
        there[count] = pairs[place] >> 4
        bits = there[count] > 0
        count += bits
        there[count] = pairs[place] & 15
        bits |= (there[count] > 0) << 1
        count += bits >> 1
        packed[place >> 2] |= bits << 2 * (place & 3)
    for place in range(count):
        of_class[there[place] >> 2] += 1
    for place in range(1, 4):
        if of_class[place] > of_class[usual]:
            usual = <uint8_t> place
    made, end = (BINS >> 3) + 2, 0
    for place in range(count):
        if there[place] >> 2 != usual:
            while place - end >= MOST_BEFORE:
                packed[made] = MOST_BEFORE << 2
                made += 1
                end += MOST_BEFORE
            packed[made] = <uint8_t> (place - end << 2 | there[place] >> 2)
            made += 1
            end = place + 1
    if of_class[0] or made - (BINS >> 3) - 2 > MOST_EXCEPTIONS:
        return row[marks:] + row[:marks]
    packed[BINS >> 3], packed[(BINS >> 3) + 1] = <uint8_t> (made - (BINS >> 3) - 2), usual
    there[count] = there[count + 1] = there[count + 2] = 0
    for place in range(0, count, 4):
        packed[made] = there[place] & 3 | (there[place + 1] & 3) << 2 | (there[place + 2] & 3) << 4 | (there[place + 3] & 3) << 6
        made += 1
    return (packed[:made] if made < BINS >> 1 else row[marks:]) + row[:marks]


def unpack_row(bytes packed not None, Py_ssize_t marks):
    """See :func:`scrapy_simdedup.fingerprint.sketch.unpack_row`."""
    cdef const uint8_t* pairs = <const uint8_t*> PyBytes_AS_STRING(packed)
    cdef Py_ssize_t place, start, count = 0, size = len(packed) - marks
    cdef bytes row = PyBytes_FromStringAndSize(NULL, marks + (BINS >> 1))
    cdef uint8_t* cells = <uint8_t*> PyBytes_AS_STRING(row) + marks
    cdef uint8_t there[BINS << 1]
    cdef uint8_t bits, usual
    memcpy(cells - marks, pairs + size, marks)
    if size >= BINS >> 1:
        memcpy(cells, pairs, BINS >> 1)
        return row
    start, usual = (BINS >> 3) + 2 + pairs[BINS >> 3], <uint8_t> (pairs[(BINS >> 3) + 1] << 2)
    for place in range(start, size):
        bits = pairs[place]
        there[count], there[count + 1] = usual | bits & 3, usual | bits >> 2 & 3
        there[count + 2], there[count + 3] = usual | bits >> 4 & 3, usual | bits >> 6
        count += 4
    there[count], count = 0, 0
    for place in range((BINS >> 3) + 2, start):
        count += pairs[place] >> 2
        if pairs[place] & 3:
            there[count] = there[count] & 3 | (pairs[place] & 3) << 2
            count += 1
    count = 0
    for place in range(BINS >> 1):
        bits = pairs[place >> 2] >> 2 * (place & 3)
        cells[place] = there[count] * (bits & 1) << 4
        count += bits & 1
        cells[place] |= there[count] * (bits >> 1 & 1)
        count += bits >> 1 & 1
    return row


def numbers_of(blocks):
    """See :func:`scrapy_simdedup.fingerprint.features.numbers_of`."""
    cdef set found = set()
    cdef str text
    cdef Py_ssize_t place, start
    cdef Py_UCS4 character
    for block in blocks:
        if <int> (<tuple> block)[1] == BOILERPLATE:
            continue
        text, place, start = (<tuple> block)[0], 0, -1
        for character in text:
            if c"0" <= character <= c"9" or (character > 127 and Py_UNICODE_ISDECIMAL(character)):
                start = place if start < 0 else start
            elif start >= 0:
                found.add(text[start:place])
                start = -1
            place += 1
        if start >= 0:
            found.add(text[start:])
    return found


def odd_sketch(const uint64_t[::1] elements not None, unsigned int bits):
    """See :func:`scrapy_simdedup.fingerprint.sketch.odd_sketch`."""
    cdef bytes made = PyBytes_FromStringAndSize(NULL, bits // 8)
    cdef uint8_t* into = <uint8_t*> PyBytes_AS_STRING(made)
    cdef Py_ssize_t number
    cdef uint64_t place
    memset(into, 0, bits // 8)
    for number in range(elements.shape[0]):
        place = (mixed(elements[number]) >> 40) % bits
        into[place >> 3] ^= 1 << (place & 7)
    return made


cdef inline uint64_t mixed(uint64_t number) noexcept:
    """See :func:`scrapy_simdedup.fingerprint.hashing.fmix64`."""
    number = (number ^ (number >> 33)) * <uint64_t> 0xFF51AFD7ED558CCD
    number = (number ^ (number >> 33)) * <uint64_t> 0xC4CEB9FE1A85EC53
    return number ^ (number >> 33)


from scrapy_simdedup.fingerprint import features as _twin
