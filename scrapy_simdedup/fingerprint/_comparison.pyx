# cython: boundscheck=False, wraparound=False, cdivision=True
"""The compiled comparison of one page with many: the scores, and the resemblances of sketches.

numpy takes a microsecond for each of some hundred steps, however few pages there are, and they are few as a rule.
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AS_STRING
from libc.math cimport INFINITY, fmax, fmin
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport abs
from libc.string cimport memcpy, memset

import numpy as np

cdef enum:
    SKETCH_BYTES = 388  # of sketch, as the next
    SECOND_SHIFT = 21
    THIRD_SHIFT = 42
    FIELD = (1 << 21) - 1
    SIGNATURE_WORDS = 8  # of similarity, as the next and the row
    HEADING_WORDS = 1
    WORD_BYTES = 8

cdef packed struct Row:
    uint16_t content
    uint16_t title
    uint16_t signatures
    uint16_t headings
    uint16_t numbers
    uint32_t h1
    uint32_t identity
    uint32_t data
    uint64_t exact
    uint64_t odd_signatures[SIGNATURE_WORDS]
    uint64_t odd_headings[HEADING_WORDS]
    uint8_t sketch[SKETCH_BYTES]


def score(one, many, resemblance=None):
    """See :func:`scrapy_simdedup.fingerprint.similarity.python_score`."""
    cdef bytes page = one.tobytes()
    cdef bytes pages = many.tobytes()
    cdef const Row* mine = <const Row*> PyBytes_AS_STRING(page)
    cdef const Row* theirs = <const Row*> PyBytes_AS_STRING(pages)
    cdef Py_ssize_t count = len(many)
    cdef Py_ssize_t number
    if len(page) != sizeof(Row) or len(pages) != count * <Py_ssize_t> sizeof(Row):
        raise ValueError("these are no rows that are compared")
    if resemblance is None:
        resemblance = estimate_resemblance(one["cells"], many["cells"])[0]
    cdef const double[::1] alike = resemblance
    if alike.shape[0] != count:
        raise ValueError("each page has one resemblance")
    made = PyByteArray_FromStringAndSize(NULL, 20 * count)
    cdef double* adjusted = <double*> PyByteArray_AS_STRING(made)
    cdef double* unshared = adjusted + count
    cdef uint8_t* equal = <uint8_t*> (unshared + count)
    cdef uint8_t* differs = equal + count
    cdef uint8_t* long_ = differs + count
    cdef uint8_t* twins = long_ + count
    cdef double headings, limit
    cdef bint title, surely
    for number in range(count):
        unshared[number] = exchanged(
            &mine.odd_signatures, &theirs.odd_signatures, sizes_by_signatures, mine.signatures - theirs.signatures
        )
        headings = exchanged(
            &mine.odd_headings, &theirs.odd_headings, sizes_by_headings, mine.headings - theirs.headings
        )
        title = differ(mine.title, theirs.title)
        surely = title or differ(mine.h1, theirs.h1) or headings >= SURELY_OTHER_HEADLINE
        long_[number] = min(mine.signatures, theirs.signatures) > HASHES_PER_SIGNATURE * LONG_PAGE
        limit = MAX_PENALTY_LONG_PAGE if long_[number] else INFINITY if surely else MAX_PENALTY_SAME_HEADLINE
        limit = fmin(UNSHARED_PENALTY * fmax(unshared[number] - FREE_SIGNATURES, 0), limit)
        equal[number] = mine.exact == theirs.exact
        twins[number] = are_twins(mine, theirs) or (
            equal[number] and title and headings >= MAYBE_OTHER_HEADLINE and not mine.h1 and not theirs.h1
        )
        adjusted[number] = (
            1.0 if equal[number] else fmax(alike[number] - limit, fmin(alike[number], NEAR_RESEMBLANCE))
        )
        if twins[number] or (
            surely
            and not long_[number]
            and not equal[number]
            and unshared[number] + HEADING_WEIGHT * headings >= OTHER_HEADLINE_UNSHARED
        ):
            adjusted[number] = fmin(adjusted[number], BELOW_IDENTICAL)
        differs[number] = surely or headings >= MAYBE_OTHER_HEADLINE
        theirs += 1
    numbers, flags = np.ndarray((2, count), np.float64, made), np.ndarray((4, count), np.bool_, made, 16 * count)
    return Scores(resemblance, numbers[0], flags[0], flags[1], flags[2], numbers[1], flags[3])


def estimate_resemblance(const uint8_t[::1] one not None, const uint8_t[:, :] many not None):
    """See :func:`scrapy_simdedup.fingerprint.sketch.estimate_resemblance`."""
    cdef Py_ssize_t count = many.shape[0]
    cdef Py_ssize_t number, place
    cdef uint64_t total
    cdef uint8_t mine, theirs
    check_sketches(one, many)
    made = np.empty((2, count))
    cdef double[:, ::1] estimates = made
    for number in range(count):
        total = 0
        for place in range(SKETCH_BYTES):
            mine, theirs = one[place], many[number, place]
            total += terms[1, (mine & 0xF0) | theirs >> 4] + terms[1, (mine & 15) << 4 | (theirs & 15)]
        estimate(total, &estimates[0, number], &estimates[1, number])
    return ResemblanceEstimates(made[0], made[1])


def estimate_own_resemblance(
    const uint8_t[::1] one not None, const uint8_t[:, :] many not None, const uint8_t[:, :] sample not None, int least
):
    """See :func:`scrapy_simdedup.fingerprint.sketch.estimate_own_resemblance`."""
    cdef Py_ssize_t count = many.shape[0]
    cdef Py_ssize_t number, place
    cdef uint64_t of_content, of_all
    cdef int half, pair
    cdef uint8_t mine, theirs
    check_sketches(one, many)
    check_sketches(one, sample)
    cdef uint8_t have[2][SKETCH_BYTES]  # how many pages of the sample have the cell of the page, in each half of a byte
    memset(have, 0, sizeof(have))
    for number in range(sample.shape[0]):
        for place in range(SKETCH_BYTES):
            have[0][place] += (sample[number, place] ^ one[place]) < 16
            have[1][place] += ((sample[number, place] ^ one[place]) & 15) == 0
    made = np.empty((2, 2, count))
    cdef double[:, :, ::1] estimates = made
    for number in range(count):
        of_content = of_all = 0
        for place in range(SKETCH_BYTES):
            for half in range(2):
                mine, theirs = one[place] >> 4 * (1 - half) & 15, many[number, place] >> 4 * (1 - half) & 15
                pair = mine << 4 | theirs
                if are_shared[pair] and (
                    have[half][place] >= least
                    or (mine != theirs and pages_with(sample, place, half, theirs) >= least)
                ):
                    continue
                of_content += terms[0, pair]
                of_all += terms[1, pair]
        estimate(of_content, &estimates[0, 0, number], &estimates[1, 0, number])
        estimate(of_all, &estimates[0, 1, number], &estimates[1, 1, number])
    return ResemblanceEstimates(made[0], made[1])


cdef int check_sketches(const uint8_t[::1] one, const uint8_t[:, :] many) except -1:
    if one.shape[0] != SKETCH_BYTES or many.shape[1] != SKETCH_BYTES:
        raise ValueError(f"a sketch has {SKETCH_BYTES} bytes")
    return 0


cdef int pages_with(const uint8_t[:, :] sample, Py_ssize_t place, int half, uint8_t cell) noexcept:
    cdef Py_ssize_t number
    cdef int found = 0
    for number in range(sample.shape[0]):
        found += (sample[number, place] >> 4 * (1 - half) & 15) == cell
    return found


cdef inline void estimate(uint64_t total, double* resemblance, double* weight) noexcept:
    """The estimates from the sum of the terms of all bins."""
    cdef double shared = total & FIELD
    cdef double unlike = total >> SECOND_SHIFT & FIELD
    cdef double everything = shared + unlike + <double> (total >> THIRD_SHIFT & FIELD)
    shared -= fmin(unlike / 3, shared)
    resemblance[0] = shared / everything if everything > 0 else 0
    weight[0] = everything / UNIT_TERM


cdef inline double exchanged(
    const void* one, const void* other, const double[::1] sizes, int difference
) noexcept:
    """The signatures that each of two pages has and the other lacks, by odd sketches and by how many they have."""
    cdef Py_ssize_t place
    cdef Py_ssize_t ones = 0
    cdef uint64_t word
    cdef uint64_t other_word
    for place in range(0, sizes.shape[0] // 4, WORD_BYTES):  # half as many sizes as bits
        memcpy(&word, <const char*> one + place, WORD_BYTES)
        memcpy(&other_word, <const char*> other + place, WORD_BYTES)
        ones += bit_count(word ^ other_word)
    return fmax(0.0, sizes[min(ones, sizes.shape[0] - 1)] - abs(difference)) / 2 / HASHES_PER_SIGNATURE


cdef inline int bit_count(uint64_t number) noexcept:
    number -= number >> 1 & <uint64_t> 0x5555555555555555
    number = (number & <uint64_t> 0x3333333333333333) + (number >> 2 & <uint64_t> 0x3333333333333333)
    return ((number + (number >> 4) & <uint64_t> 0x0F0F0F0F0F0F0F0F) * <uint64_t> 0x0101010101010101) >> 56


cdef inline bint are_twins(const Row* one, const Row* other) noexcept:
    """See :func:`scrapy_simdedup.fingerprint.similarity.are_twins`."""
    if differ(one.identity, other.identity) or differ(one.data, other.data):
        return True
    if one.h1:
        return differ(one.h1, other.h1)
    return (
        differ(one.title, other.title)
        and one.numbers != other.numbers
        and not other.h1
        and one.exact != other.exact
    )


cdef inline bint differ(uint32_t one, uint32_t other) noexcept:
    return one != other and one and other


from scrapy_simdedup.fingerprint import features as _features
from scrapy_simdedup.fingerprint import similarity as _twin
from scrapy_simdedup.fingerprint import sketch as _sketch
from scrapy_simdedup.fingerprint.similarity import Scores
from scrapy_simdedup.fingerprint.sketch import ResemblanceEstimates

cdef const uint64_t[:, ::1] terms = _sketch.PAIR_TERMS
cdef const uint8_t[::1] are_shared = _sketch.ARE_SHARED.view(np.uint8)
cdef const double[::1] sizes_by_signatures = _sketch.difference_sizes(_twin.SIGNATURE_BITS)
cdef const double[::1] sizes_by_headings = _sketch.difference_sizes(_twin.HEADING_BITS)
cdef double UNIT_TERM = _sketch.UNIT_TERM
cdef double HASHES_PER_SIGNATURE = _features.HASHES_PER_SIGNATURE
cdef double FREE_SIGNATURES = _twin.FREE_SIGNATURES
cdef double UNSHARED_PENALTY = _twin.UNSHARED_PENALTY
cdef double MAX_PENALTY_SAME_HEADLINE = _twin.MAX_PENALTY_SAME_HEADLINE
cdef double LONG_PAGE = _twin.LONG_PAGE
cdef double MAX_PENALTY_LONG_PAGE = _twin.MAX_PENALTY_LONG_PAGE
cdef double OTHER_HEADLINE_UNSHARED = _twin.OTHER_HEADLINE_UNSHARED
cdef double HEADING_WEIGHT = _twin.HEADING_WEIGHT
cdef double MAYBE_OTHER_HEADLINE = _twin.MAYBE_OTHER_HEADLINE
cdef double SURELY_OTHER_HEADLINE = _twin.SURELY_OTHER_HEADLINE
cdef double NEAR_RESEMBLANCE = _twin.NEAR_RESEMBLANCE
cdef double BELOW_IDENTICAL = _twin.BELOW_IDENTICAL
