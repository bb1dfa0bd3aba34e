"""The compiled functions of :mod:`scrapy_simdedup.fingerprint.hashing`: character by character, a fifth of the time."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from scrapy_simdedup.fingerprint import hashing as _hashing
from scrapy_simdedup.fingerprint import words as _words

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    uint32_t PyUnicode_READ(int kind, void* data, Py_ssize_t place)

cdef uint32_t TEXT_END = _words.TEXT_END
cdef uint32_t IS_OWN_WORD = _words.IS_OWN_WORD
cdef uint32_t FAILS_QUICK_CHECK = _words.FAILS_QUICK_CHECK
cdef uint32_t CODE_POINT_MASK = _words.CODE_POINT_MASK
cdef Py_ssize_t MAX_QUICK_CHECK_FAILURES = _words.MAX_QUICK_CHECK_FAILURES


def hash_words(texts, const uint64_t[::1] keys not None, digest):
    """See :func:`scrapy_simdedup.fingerprint.hashing.hash_words`."""
    cdef const uint32_t[::1] fold_table = _words.fold_table()
    cdef Words made = Words(keys, digest)
    counts = np.empty(len(texts), np.intp)
    cdef Py_ssize_t[::1] count = counts
    cdef Py_ssize_t number, before, failures = 0
    cdef str text
    for number, text in enumerate(texts):
        before = made.count
        if not made.add_text(text, &fold_table[0]):
            failures += count_quick_check_failures(text, &fold_table[0])
            if failures > MAX_QUICK_CHECK_FAILURES:  # whether the page is normalised depends on all its texts
                return _hashing.hash_words(texts, keys.base, digest)
            made.count = before
            made.length = 0
            made.add_plain(_words.normalised_words(text))
        count[number] = made.count - before
    return made.hashes(), counts


def hash_shingles(const uint64_t[::1] words not None, const Py_ssize_t[::1] counts not None, Py_ssize_t size):
    """See :func:`scrapy_simdedup.fingerprint.hashing.hash_shingles`."""
    cdef Py_ssize_t text, start, end = 0, first, ahead, made = 0
    cdef uint64_t number
    found = np.empty(len(words), np.uint64)
    cdef uint64_t[::1] shingles = found
    for text in range(counts.shape[0]):
        start = end
        end += counts[text]
        for first in range(start, max(end - size, min(start, end - 1)) + 1):
            number = mixed(words[first])
            for ahead in range(first + 1, min(first + size, end)):
                number = mixed(number + words[ahead])
            shingles[made] = number
            made += 1
    return found[:made]


cdef inline uint64_t mixed(uint64_t number) noexcept:
    """See :func:`scrapy_simdedup.fingerprint.hashing.fmix64`."""
    number = (number ^ (number >> 33)) * <uint64_t> 0xFF51AFD7ED558CCD
    number = (number ^ (number >> 33)) * <uint64_t> 0xC4CEB9FE1A85EC53
    return number ^ (number >> 33)


cdef Py_ssize_t count_quick_check_failures(str text, const uint32_t* fold_table) noexcept:
    cdef Py_ssize_t place, count = 0
    for place in range(len(text)):
        count += fold_table[PyUnicode_READ(PyUnicode_KIND(text), PyUnicode_DATA(text), place)] & FAILS_QUICK_CHECK != 0
    return count


@cython.final
cdef class Words:
    """The hashes of the words so far, and the bytes of the one that has not ended."""

    cdef const uint64_t[::1] keys
    cdef object digest
    cdef uint64_t* numbers
    cdef Py_ssize_t count, room
    cdef unsigned char* word
    cdef Py_ssize_t length, word_room

    def __cinit__(self, const uint64_t[::1] keys, digest):
        self.keys, self.digest = keys, digest

    def __dealloc__(self):
        PyMem_Free(self.numbers)
        PyMem_Free(self.word)

    cdef bint add_text(self, str text, const uint32_t* fold_table) except -1:
        """Add the words of a text up to the first character that fails the quick check; whether there was none."""
        cdef int kind = PyUnicode_KIND(text)
        cdef void* data = PyUnicode_DATA(text)
        cdef Py_ssize_t place
        cdef uint32_t code
        self.reserve(len(text))
        for place in range(len(text)):
            code = fold_table[PyUnicode_READ(kind, data, place)]
            if TEXT_END < code < IS_OWN_WORD:
                self.add(code)
            elif code <= TEXT_END:
                self.end()
            elif code & FAILS_QUICK_CHECK:
                return False
            else:
                self.end()
                self.add(code & CODE_POINT_MASK)
                self.end()
        self.end()
        return True

    cdef int add_plain(self, str text) except -1:
        """Add a text of words that are separated by zeros and text ends."""
        cdef Py_ssize_t place
        cdef uint32_t code
        self.reserve(len(text))
        for place in range(len(text)):
            code = PyUnicode_READ(PyUnicode_KIND(text), PyUnicode_DATA(text), place)
            if code > TEXT_END:
                self.add(code)
            else:
                self.end()
        self.end()
        return 0

    cdef int reserve(self, Py_ssize_t letters) except -1:
        """Make room for a word of so many letters, and for the zeros behind it."""
        if 4 * letters + 8 > self.word_room:
            self.word = <unsigned char*> grown(self.word, 4 * letters + 8)
            self.word_room = 4 * letters + 8
        return 0

    cdef inline void add(self, uint32_t code) noexcept:
        """Add a letter, in UTF-8."""
        cdef unsigned char* word = self.word + self.length
        if code < 0x80:
            word[0] = code
            self.length += 1
        elif code < 0x800:
            word[0], word[1] = 0xC0 | code >> 6, 0x80 | code & 0x3F
            self.length += 2
        elif code < 0x10000:
            word[0], word[1], word[2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
            self.length += 3
        else:
            word[0], word[1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 0x3F
            word[2], word[3] = 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
            self.length += 4

    cdef inline int end(self) except -1:
        """End the word, if there is one."""
        cdef uint64_t made = 0
        cdef Py_ssize_t place
        cdef unsigned char* four
        if not self.length:
            return 0
        if self.count == self.room:
            self.room = 2 * self.room + 500
            self.numbers = <uint64_t*> grown(self.numbers, self.room * sizeof(uint64_t))
        if self.length > 4 * self.keys.shape[0]:
            made = int.from_bytes(self.digest(self.word[: self.length]), "little")
        else:
            for place in range(3):
                self.word[self.length + place] = 0
            for place in range((self.length + 3) >> 2):
                four = self.word + 4 * place
                made += self.keys[place] * (
                    four[0] | <uint64_t> four[1] << 8 | <uint64_t> four[2] << 16 | <uint64_t> four[3] << 24
                )
        self.numbers[self.count] = made
        self.count += 1
        self.length = 0
        return 0

    cdef hashes(self):
        made = np.empty(self.count, np.uint64)
        cdef uint64_t[::1] into = made
        if self.count:
            memcpy(&into[0], self.numbers, self.count * sizeof(uint64_t))
        return made


cdef void* grown(void* memory, Py_ssize_t size) except NULL:
    cdef void* made = PyMem_Realloc(memory, size)
    if made is NULL:
        raise MemoryError
    return made
