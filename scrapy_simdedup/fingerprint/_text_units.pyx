# cython: boundscheck=False, wraparound=False, cdivision=True
"""The compiled :mod:`scrapy_simdedup.fingerprint.text_units`: what is made of each page, block by block.

The functions stand before what they import of their twin, so that it does not matter which module is imported first.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from zlib import crc32

import numpy as np

from scrapy_simdedup.fingerprint.hashing import saying_signs as python_saying_signs
from scrapy_simdedup.fingerprint.hashing import sign_digest
from scrapy_simdedup.page import amounts as _amounts
from scrapy_simdedup.page import roles as _roles

cdef extern from "Python.h":
    int PyUnicode_4BYTE_KIND
    object PyUnicode_FromKindAndData(int kind, const void* codes, Py_ssize_t size)
    int Py_UNICODE_ISDECIMAL(Py_UCS4 character)
    int Py_UNICODE_ISSPACE(Py_UCS4 character)

cdef enum:
    BOILERPLATE = 1  # of classify, as the next
    CONTENT = 3
    MAX_BYTES = 424  # of text_units, as what follows
    MAX_FILTER_BITS = 2400
    BITS_PER_SAMPLE = 3
    LEAST_BITS_PER_SAMPLE = 2
    SAMPLE_OF = 1 << 16
    MAX_SAMPLING = 1 << 15
    SAMPLING_BITS = 4
    FIRST_UNITS = 6
    LAST_UNITS = 4
    KIND = 30
    LONG = 0
    LINK = 1
    SHORT = 2
    NUMBERED = 3
    ALONE = 4
    MOST_BITS = 14
    MAX_JOINED_BY = ALONE * MOST_BITS + 1
    HEAD_SIZE = 21
    ROW_SIZE = 4
    COMMENTS_PLACE = 2
    MAX_LENGTH = 100  # of amounts
cdef uint64_t FILTER_SALT = 0x9E3779B97F4A7C15
cdef uint32_t SPREAD = 0x9E3779B1
cdef object is_price = _amounts.is_price
cdef object is_sentence = _amounts.is_sentence
cdef object without_age = _amounts.without_age
cdef tuple AGE_MARKS = _amounts.AGE_MARKS
cdef tuple ASCII_MARKS = tuple(mark for mark in AGE_MARKS if mark.isascii())
cdef frozenset AGE_ENDS = _amounts.AGE_ENDS
cdef unsigned int BY_SHAPE = _roles.BY_SHAPE
cdef unsigned int BOILERPLATE_ROLES = _roles.BOILERPLATE_ROLES
cdef unsigned int COMMENT = _roles.COMMENT
cdef unsigned int COOKIE = _roles.COOKIE


def page_units(found, blocks, Py_ssize_t size, str h1=""):
    """See :func:`scrapy_simdedup.fingerprint.text_units.page_units`."""
    cdef const uint64_t[::1] hashes = found.hashes
    cdef const Py_ssize_t[::1] numbers = found.blocks
    cdef const Py_ssize_t[::1] lengths = found.lengths
    cdef Py_ssize_t row, place = 0, end, rows = numbers.shape[0]
    made = np.empty(rows, np.uint64), np.empty(rows, np.uint32), np.empty(rows, np.uint8), np.empty(rows, np.bool_)
    cdef uint64_t[::1] digests = made[0]
    cdef uint32_t[::1] places = made[1]
    cdef uint8_t[::1] classes = made[2]
    cdef uint8_t[::1] pass_over = made[3].view(np.uint8)
    cdef uint64_t digest, signs
    cdef uint32_t comments = 0, stand = 0
    cdef unsigned int roles, nobodys_own = _twin.NOBODYS_OWN
    cdef list samples = []
    cdef dict seen = {}
    cdef tuple block
    cdef str text, said
    cdef bint is_inset, is_counted, is_first = True  # of the headings
    cdef uint64_t kind = LONG
    cdef Py_ssize_t first_h1 = -1, first_heading = -1, first_line = -1
    for row in range(rows):
        block = <tuple> blocks[numbers[row]]
        text, roles, is_inset = block[0], block[2], block[6]
        text = beginning(text)
        samples.append(text)
        classes[row] = CONTENT if is_inset else block[1]
        pass_over[row] = (
            (bool(block[4]) and not (is_first and block[3] and <int> block[1] > BOILERPLATE))
            or roles & COOKIE != 0
            or (roles & nobodys_own != 0 and roles & BY_SHAPE == 0 and not is_inset)
        )
        is_first = is_first and not (block[3] and <int> block[1] > BOILERPLATE)
        places[row] = 0
        if classes[row] > BOILERPLATE:
            if pass_over[row]:
                pass_over[row] = not (len(text) <= MAX_LENGTH and has_digit(text) and is_price(text))
            if not pass_over[row]:
                first_line = row if first_line < 0 else first_line
                first_heading = row if first_heading < 0 and block[3] and not is_inset else first_heading
                first_h1 = row if first_h1 < 0 and block[3] and <str> block[0] == h1 else first_h1
            said = without_age(text) if may_have_age(text) else text
            kind = LONG if len(said) > MAX_LENGTH else NUMBERED if may_be_counter(said) else SHORT
            places[row] = place_of(block[5], said, seen, kind == NUMBERED)
        digest, end = 0, place + lengths[row]
        while place < end:
            digest += hashes[place]
            place += 1
        end = numbers[row + 1] if row + 1 < rows else len(blocks)
        signs = signs_of(blocks, numbers[row], end, classes[row] > BOILERPLATE)
        digests[row] = <uint32_t> ((mixed(digest) >> 32) + signs)
        if roles & BOILERPLATE_ROLES == COMMENT and classes[row] == BOILERPLATE and not block[4]:
            places[row] = COMMENTS_PLACE
            is_counted = len(text) <= MAX_LENGTH and may_be_counter(text)
            if not may_have_age(text) and (not is_counted or is_sentence(text)):
                digest = crc32(without_numbers(text).encode("utf-8", "surrogatepass")) if is_counted else digests[row]
                comments += <uint32_t> digest
                stand |= 1u << (<uint32_t> block[5] * SPREAD >> 28)
        if classes[row] > BOILERPLATE:
            if said != text:
                digests[row] = crc32(said.encode("utf-8", "surrogatepass"))
            digests[row] = digests[row] & ((<uint64_t> 1 << KIND) - 1) | kind << KIND
    comments = (comments & 0xFFFF) << 16 | stand
    headline = max(0, first_h1 if first_h1 >= 0 else first_heading if first_heading >= 0 else first_line)
    made += samples, size, comments
    return _twin.PageUnits(found.hashes, found.starts, found.lengths, *made, headline=headline)


cdef uint64_t signs_of(blocks, Py_ssize_t at, Py_ssize_t end, bint in_content) except? 0:
    """The digest of the signs of some blocks."""
    cdef str found = "", signs
    cdef tuple block
    while at < end:
        block = <tuple> blocks[at]
        if (block[6] or <int> block[1] > BOILERPLATE) == in_content:
            signs = saying_signs(<str> block[0])
            found = found + signs if signs else found
        at += 1
    return sign_digest(found) if found else 0


cpdef str saying_signs(str text):
    """See :func:`scrapy_simdedup.fingerprint.hashing.saying_signs`; most texts have none."""
    cdef Py_UCS4 character
    cdef Py_ssize_t at = 0, end = 0
    cdef str found = ""
    for character in text:
        if not c">" < character < 128 and at >= end:  # letters of ASCII, and signs that say nothing, are passed over
            end = end_of_sign(text, at, character)
            if end:
                found += text[at:end]
        at += 1
    return found


cdef Py_ssize_t end_of_sign(str text, Py_ssize_t at, Py_UCS4 sign) except -1:
    """The end of a sign that says something, with what it takes along; 0 for any other character."""
    if sign < 128:
        if sign == c"$" or sign == c"%" or sign == c"=":
            return at + 1
        if sign == c"-" or sign == c"+" or sign == c"<" or sign == c">":
            return end_of_joined_sign(text, at, sign)
        return 0
    if sign == 0x2212 or sign == 0x2013:
        return end_of_joined_sign(text, at, c"-")
    if (
        0xA2 <= sign <= 0xA5 or sign == 0xB1 or sign == 0xF7 or 0x58F <= sign <= 0x60B or 0x9F2 <= sign <= 0x9F3
        or sign == 0x17DB or sign == 0x2030 or 0x20A0 <= sign <= 0x20CF or 0x2248 <= sign <= 0x2265 or sign == 0x221E
        or 0x2605 <= sign <= 0x26AB or sign == 0x2B50 or 0xFDFC <= sign <= 0xFFE6 or sign >= 0x1F44D
    ):
        return at + 1 if python_saying_signs(text[at]) else 0
    return 0


cdef Py_ssize_t end_of_joined_sign(str text, Py_ssize_t at, Py_UCS4 sign):
    """A dash is the minus of a number or a grade, a plus stands alone or before a number, and so on."""
    cdef Py_ssize_t size = len(text)
    cdef Py_UCS4 before = text[at - 1] if at else 32, first
    cdef Py_UCS4 behind = text[at + 1] if at + 1 < size else 32
    if sign == c"+":
        return at + 2 if behind.isdecimal() else at + 1 if before.isspace() and behind.isspace() else 0
    if sign == c"<" or sign == c">":
        if behind == c"=" or behind.isdecimal():
            return at + 2
        return at + 3 if behind.isspace() and at + 2 < size and (<Py_UCS4> text[at + 2]).isdecimal() else 0
    if behind.isdecimal():
        return 0 if before.isalnum() or before == c"_" or before == c")" else at + 2
    if before < c"A" or before > c"Z" or behind.isalnum() or behind == c"_" or behind == c"-":
        return 0
    first = text[at - 2] if at > 1 else 32
    return 0 if first.isalnum() or first == c"_" or first == c"-" else at + 1


cdef str beginning(str text):
    """See :func:`scrapy_simdedup.page.amounts.beginning`; most texts have no white space but single blanks."""
    cdef Py_UCS4 made[MAX_LENGTH + 1]
    cdef Py_UCS4 character
    cdef Py_ssize_t size = 0
    cdef bint behind_space = False, is_shown = True
    for character in text:
        if character == c" " or Py_UNICODE_ISSPACE(character):
            is_shown = is_shown and character == c" " and size and not behind_space
            behind_space = size > 0
            continue
        if behind_space:
            behind_space = False
            made[size] = c" "
            size += 1
        if size <= MAX_LENGTH:
            made[size] = character
            size += 1
        if size > MAX_LENGTH:
            break
    return text[:size] if is_shown else PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, made, size)


cdef bint has_digit(str text) noexcept:
    cdef Py_UCS4 character
    for character in text:
        if c"0" <= character <= c"9" or (character > 127 and Py_UNICODE_ISDECIMAL(character)):
            return True
    return False


cdef bint may_have_age(str text):
    """Whether a text is short, and ends like a day, or has a word of an age and a number, or what may stand for one."""
    cdef str mark
    if len(text) > MAX_LENGTH or u"\0" in text:
        return False
    if text[max(0, len(text) - 3) :] in AGE_ENDS:
        return True
    if may_be_counter(text) or u" ago" in text:
        for mark in ASCII_MARKS if text.isascii() else AGE_MARKS:
            if mark in text:
                return True
    return False


cdef uint32_t place_of(path, str text, dict seen, bint is_numbered) except? 0:
    """The place of a block of the content."""
    cdef uint32_t which
    if is_numbered:
        which = crc32(without_numbers(text).encode("utf-8", "surrogatepass"))
    else:
        seen[path] = number = seen.get(path, 0) + 1
        which = number
    return <uint32_t> path ^ which * SPREAD


cdef bint may_be_counter(str text) noexcept:
    """Whether a text has a number, or the sign that stands for one, and no character that separates texts."""
    cdef Py_UCS4 character
    cdef bint found = False
    for character in text:
        if character == 0:
            return False
        if c"0" <= character <= c"9" or character == c"#" or (character > 127 and Py_UNICODE_ISDECIMAL(character)):
            found = True
    return found


cdef str without_numbers(str text):
    """A short text with a sign for each number."""
    cdef char made[MAX_LENGTH]
    cdef Py_ssize_t size = 0
    cdef Py_UCS4 character
    cdef bint in_number = False
    if not text.isascii():
        return _twin.NUMBER.sub("#", text)
    for character in text:
        if c"0" <= character <= c"9":
            if not in_number:
                made[size] = c"#"
                size += 1
            in_number = True
        elif not (in_number and character in u".,:/"):
            in_number = False
            made[size] = character
            size += 1
    return made[:size].decode("ascii")


def keep_units(units, clocks=()):
    """See :func:`scrapy_simdedup.fingerprint.text_units.keep_units`."""
    sampling, shingle_filter = filter_of(units.hashes, units.lengths, units.pass_over.view(np.uint8))
    table = table_of(units, clocks, room_beside(len(shingle_filter)))
    return _twin.TextUnits(sampling, shingle_filter, *table, units.comments, units.title, units.offer)


cdef tuple filter_of(const uint64_t[::1] hashes, const Py_ssize_t[::1] lengths, const uint8_t[::1] pass_over):
    """The sampling of a page, and its shingle filter."""
    cdef Py_ssize_t row, place = 0, end, shingles = 0, sampled = 0, size, rest = 0
    cdef uint64_t salted, sampling, at
    cdef uint64_t* samples
    for row in range(lengths.shape[0]):
        if not pass_over[row]:
            shingles += lengths[row]
    sampling = MAX_FILTER_BITS * SAMPLE_OF // (LEAST_BITS_PER_SAMPLE * max(1, shingles))
    while sampling >> rest >= 1 << SAMPLING_BITS:
        rest += 1
    sampling = min(MAX_SAMPLING, sampling >> rest << rest)
    samples = <uint64_t*> PyMem_Malloc((shingles + 1) * sizeof(uint64_t))
    if samples is NULL:
        raise MemoryError
    for row in range(lengths.shape[0]):
        end = place + lengths[row]
        while place < end and not pass_over[row]:
            salted = hashes[place] * FILTER_SALT
            if salted >> 48 < sampling:
                samples[sampled] = salted
                sampled += 1
            place += 1
        place = end
    size = min(MAX_FILTER_BITS, BITS_PER_SAMPLE * sampled) + 7 >> 3
    cdef bytes made = PyBytes_FromStringAndSize(NULL, size)
    cdef uint8_t* bits = <uint8_t*> PyBytes_AS_STRING(made)
    memset(bits, 0, size)
    for place in range(sampled):
        at = (samples[place] >> 32 & 0xFFFF) * (8 * <uint64_t> size) >> 16
        bits[at >> 3] |= 1 << (at & 7)
    PyMem_Free(samples)
    return sampling, made


cdef inline Py_ssize_t room_beside(Py_ssize_t filter_size) noexcept:
    """The rows that a unit table may have beside a filter of so many bytes."""
    return (MAX_BYTES - HEAD_SIZE - filter_size) // ROW_SIZE


cdef tuple table_of(units, clocks, Py_ssize_t room):
    """The digest of the sequence of the units, by how many bits neighbours are joined, and the rows of the table."""
    cdef const uint64_t[::1] digests = units.digests
    cdef const uint32_t[::1] places = units.places
    cdef const Py_ssize_t[::1] lengths = units.lengths
    cdef const uint8_t[::1] classes = units.block_classes
    cdef const uint8_t[::1] pass_over = units.pass_over.view(np.uint8)
    cdef Py_ssize_t row, made = 0, kept = 0, joined_by = 0, in_texts = 0, in_content = 0
    cdef Py_ssize_t headline = units.headline, below_headline = 0
    cdef uint64_t sequence = 0
    cdef bint is_index
    of_table = np.empty(len(digests), np.uint64), np.empty(len(digests), np.uint16), np.zeros((2, len(digests)), np.uint8)
    cdef uint64_t[::1] into = of_table[0]
    cdef uint16_t[::1] into_places = of_table[1]
    cdef uint8_t[::1] are_clocks = of_table[2][0]
    cdef uint8_t[::1] kinds = of_table[2][1]
    for row in range(digests.shape[0]):
        if classes[row] > BOILERPLATE:
            in_content += lengths[row]
            in_texts += 0 if pass_over[row] else lengths[row]
    is_index = 2 * in_texts < in_content
    for row in range(digests.shape[0]):
        if classes[row] <= BOILERPLATE or (pass_over[row] and not is_index):
            continue
        into[made] = digests[row]
        into_places[made] = places[row] & 0xFFFF
        are_clocks[made] = bool(clocks) and places[row] in clocks
        kinds[made] = LINK if pass_over[row] else digests[row] >> KIND
        if made < FIRST_UNITS or (row >= headline and below_headline < FIRST_UNITS):
            kinds[made] = ALONE
        below_headline += row >= headline
        made += 1
    for row in range(max(0, made - LAST_UNITS), made):
        kinds[row] = ALONE
    while count_rows(into[:made], kinds, are_clocks, joined_by) > room and joined_by < MAX_JOINED_BY - 1:
        joined_by += 1
    for row in range(made):
        if not are_clocks[row] or is_alone(kinds[row], joined_by):
            sequence += mixed(into[row]) * (2 * <uint64_t> kept + 1)
            kept += 1
    return sequence, joined_by, packed_rows(into[:made], into_places, kinds, are_clocks, joined_by)


cdef inline bint is_alone(uint8_t kind, Py_ssize_t joined_by) noexcept:
    """Whether a unit shares its row with none."""
    return joined_by == 0 or kind > (joined_by - 1) // MOST_BITS


cdef inline bint ends_row(uint64_t digest, Py_ssize_t joined_by) noexcept:
    """Whether a unit that shares its row is the last one of it, whatever stands behind."""
    return (digest >> 16 & ((<uint64_t> 2 << (joined_by - 1) % MOST_BITS) - 1)) == 0


cdef Py_ssize_t count_rows(
    const uint64_t[::1] digests, const uint8_t[::1] kinds, const uint8_t[::1] are_clocks, Py_ssize_t joined_by
) noexcept:
    cdef Py_ssize_t row, made = 0
    cdef bint alone, is_open = False
    for row in range(digests.shape[0]):
        alone = is_alone(kinds[row], joined_by)
        if are_clocks[row] and not alone:
            continue
        made += alone or not is_open
        is_open = not alone and not ends_row(digests[row], joined_by)
    return made


cdef bytes packed_rows(
    const uint64_t[::1] digests,
    const uint16_t[::1] places,
    const uint8_t[::1] kinds,
    const uint8_t[::1] are_clocks,
    Py_ssize_t joined_by,
):
    """The rows of the table, each a sum of digests, and the place if it is of one unit; with the low byte first."""
    cdef bytes made = PyBytes_FromStringAndSize(NULL, ROW_SIZE * count_rows(digests, kinds, are_clocks, joined_by))
    cdef uint8_t* into = <uint8_t*> PyBytes_AS_STRING(made) - ROW_SIZE
    cdef Py_ssize_t row
    cdef uint64_t joined = 0
    cdef bint alone, is_open = False
    for row in range(digests.shape[0]):
        alone = is_alone(kinds[row], joined_by)
        if are_clocks[row] and not alone:
            continue
        if alone or not is_open:
            into, joined = into + ROW_SIZE, 0
            into[2], into[3] = places[row] & 0xFF, places[row] >> 8
        else:
            into[2], into[3] = 0, 0
        joined += digests[row]
        into[0], into[1] = joined & 0xFF, joined >> 8 & 0xFF
        is_open = not alone and not ends_row(digests[row], joined_by)
    return made


cdef inline uint64_t mixed(uint64_t number) noexcept:
    """See :func:`scrapy_simdedup.fingerprint.hashing.fmix64`."""
    number = (number ^ (number >> 33)) * <uint64_t> 0xFF51AFD7ED558CCD
    number = (number ^ (number >> 33)) * <uint64_t> 0xC4CEB9FE1A85EC53
    return number ^ (number >> 33)


from scrapy_simdedup.fingerprint import text_units as _twin
