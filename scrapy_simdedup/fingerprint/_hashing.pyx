# cython: boundscheck=False, wraparound=False
"""The compiled functions of :mod:`scrapy_simdedup.fingerprint.hashing`: character by character, a fifth of the time."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from unicodedata import normalize

import numpy as np

from scrapy_simdedup.fingerprint import hashing as _hashing

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    uint32_t PyUnicode_READ(int kind, void* data, Py_ssize_t place)
    int PyUnicode_4BYTE_KIND
    object PyUnicode_FromKindAndData(int kind, const void* codes, Py_ssize_t size)

cdef enum:
    TEXT_END = 30  # of hashing, as the next
    CODE_POINT_MASK = 0x1FFFFF
cdef str LIGATURE = _hashing.LIGATURE
cdef uint32_t IS_SIGN = _hashing.IS_SIGN
cdef uint32_t IS_OWN_WORD = _hashing.IS_OWN_WORD
cdef uint32_t IS_MARK = _hashing.IS_MARK
cdef uint32_t FAILS_QUICK_CHECK = _hashing.FAILS_QUICK_CHECK
cdef Py_ssize_t MAX_NFKC_GROWTH = _hashing.MAX_NFKC_GROWTH


def hash_words(texts, const uint64_t[::1] keys not None, digest):
    """See :func:`scrapy_simdedup.fingerprint.hashing.hash_words`."""
    cdef const uint32_t[::1] fold_table = _hashing.fold_table()
    cdef Words made = Words(keys, digest)
    counts = np.empty(len(texts), np.intp)
    cdef Py_ssize_t[::1] count = counts
    cdef Py_ssize_t number, before
    cdef str text
    for number, text in enumerate(texts):
        before = made.count
        if not made.add_text(text, &fold_table[0]):
            made.count = before
            if not made.add_normalised(text, &fold_table[0]):  # whether the page is depends on all its texts
                return _hashing.hash_words(texts, keys.base, digest)
        count[number] = made.count - before
    return made.hashes(), counts


def split_words(str text not None):
    """See :func:`scrapy_simdedup.fingerprint.hashing.split_words`."""
    cdef const uint32_t[::1] fold_table = _hashing.fold_table()
    cdef Words made = Words(None, None)
    made.words = []
    if made.add_text(text, &fold_table[0]):
        return made.words
    made.words = []
    return made.words if made.add_normalised(text, &fold_table[0]) else _hashing.split_words(text)


def hash_shingles(const uint64_t[::1] words not None, const Py_ssize_t[::1] counts not None, Py_ssize_t size):
    """See :func:`scrapy_simdedup.fingerprint.hashing.hash_shingles`."""
    cdef Py_ssize_t text, start, end = 0, first, ahead, made = 0, row = 0
    cdef uint64_t number
    found, rows = np.empty(len(words), np.uint64), np.empty((3, len(counts)), np.intp)
    cdef uint64_t[::1] shingles = found
    cdef Py_ssize_t[:, ::1] into = rows
    for text in range(counts.shape[0]):
        if not counts[text]:
            continue
        start = end
        end += counts[text]
        into[0, row], into[1, row], into[2, row] = text, made, max(1, counts[text] - size + 1)
        for first in range(start, start + into[2, row]):
            number = mixed(words[first])
            for ahead in range(first + 1, min(first + size, end)):
                number = mixed(number + words[ahead])
            shingles[made] = number
            made += 1
        row += 1
    return found[:made], rows[0, :row], rows[1, :row], rows[2, :row]


cdef inline uint64_t mixed(uint64_t number) noexcept:
    """See :func:`scrapy_simdedup.fingerprint.hashing.fmix64`."""
    number = (number ^ (number >> 33)) * <uint64_t> 0xFF51AFD7ED558CCD
    number = (number ^ (number >> 33)) * <uint64_t> 0xC4CEB9FE1A85EC53
    return number ^ (number >> 33)


@cython.final
cdef class Words:
    """The hashes of the words so far."""

    cdef const uint64_t[::1] keys
    cdef object digest
    cdef list words
    """Where to put the words, if these are wanted and not their hashes."""
    cdef uint64_t* numbers
    cdef Py_ssize_t count, room
    cdef Py_ssize_t letters, ligatures, normal
    """Characters and ligatures of the texts that were normalised, and their characters in normal form."""
    cdef unsigned char* word
    """Room for a word."""
    cdef Py_ssize_t word_room

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
        cdef unsigned char* here
        self.reserve(len(text))
        here = self.word
        for place in range(len(text)):
            code = fold_table[PyUnicode_READ(kind, data, place)]
            if TEXT_END < code < 0x80:
                here[0] = code
                here += 1
            elif code <= TEXT_END:
                if here is not self.word:
                    here = self.end(here)
            elif code < IS_SIGN:
                here = behind_letter(here, code)
            elif code < IS_OWN_WORD:
                here = self.behind_sign(here, code & CODE_POINT_MASK, text, place, fold_table)
            elif code & FAILS_QUICK_CHECK:
                return False
            else:
                self.end(here)
                here = self.end(behind_letter(self.word, code & CODE_POINT_MASK))
        self.end(here)
        return True

    cdef bint add_normalised(self, str text, const uint32_t* fold_table) except -1:
        """Add the words of a text in normal form, without marks that are no words; False if that may grow too much."""
        cdef str letters = _hashing.without_long_marks(folded(text, fold_table)), normal
        cdef Py_ssize_t place
        cdef uint32_t code
        cdef unsigned char* here
        self.letters += len(letters)
        self.ligatures += letters.count(LIGATURE)
        if 17 * self.ligatures > self.letters + MAX_NFKC_GROWTH:
            return False
        normal = normalize("NFKC", letters)
        self.normal += len(normal)
        if self.normal >= 2 * self.letters + MAX_NFKC_GROWTH:
            return False
        self.reserve(len(normal))
        here = self.word
        for place in range(len(normal)):
            code = fold_table[PyUnicode_READ(PyUnicode_KIND(normal), PyUnicode_DATA(normal), place)]
            if code <= TEXT_END:
                here = self.end(here)
            elif code & IS_SIGN:
                here = self.behind_sign(here, code & CODE_POINT_MASK, normal, place, fold_table)
            elif code & IS_OWN_WORD:
                self.end(here)
                here = self.end(behind_letter(self.word, code & CODE_POINT_MASK))
            elif not code & IS_MARK:
                here = behind_letter(here, code & CODE_POINT_MASK)
        self.end(here)
        return True

    cdef unsigned char* behind_sign(
        self, unsigned char* here, uint32_t sign, str text, Py_ssize_t place, const uint32_t* fold_table
    ) except NULL:
        """Write the sign at a place of a text if it ends a name, else end the word; see _SIGN_IN_WORDS of hashing."""
        cdef uint32_t code = IS_MARK
        if here is self.word or (sign == c"#" and not (here == self.word + 1 and c"a" <= self.word[0] <= c"z")):
            return self.end(here)
        while code & (IS_MARK | IS_OWN_WORD) == IS_MARK:  # what is left out in normal form
            place += 1
            code = 0
            if place < len(text):
                code = fold_table[PyUnicode_READ(PyUnicode_KIND(text), PyUnicode_DATA(text), place)]
        return self.end(here) if code & CODE_POINT_MASK > TEXT_END and not code & (IS_SIGN | IS_OWN_WORD) else (
            behind_letter(here, sign)
        )

    cdef int reserve(self, Py_ssize_t letters) except -1:
        """Make room for a word of so many letters, and for the zeros behind it."""
        if 4 * letters + 8 > self.word_room:
            self.word = <unsigned char*> grown(self.word, 4 * letters + 8)
            self.word_room = 4 * letters + 8
        return 0

    cdef inline unsigned char* end(self, unsigned char* here) except NULL:
        """End the word that ends at ``here``, if there is one; where the next begins."""
        cdef uint64_t made = 0
        cdef Py_ssize_t place, length = here - self.word
        cdef unsigned char* four
        if not length:
            return self.word
        if self.words is not None:
            self.words.append(<bytes> self.word[:length])
            return self.word
        if self.count == self.room:
            self.room = 2 * self.room + 500
            self.numbers = <uint64_t*> grown(self.numbers, self.room * sizeof(uint64_t))
        if length > 4 * self.keys.shape[0]:
            made = int.from_bytes(self.digest(self.word[:length]), "little")
        else:
            here[0] = here[1] = here[2] = 0
            for place in range((length + 3) >> 2):
                four = self.word + 4 * place
                made += self.keys[place] * (
                    four[0] | <uint64_t> four[1] << 8 | <uint64_t> four[2] << 16 | <uint64_t> four[3] << 24
                )
        self.numbers[self.count] = made
        self.count += 1
        return self.word

    cdef hashes(self):
        made = np.empty(self.count, np.uint64)
        cdef uint64_t[::1] into = made
        if self.count:
            memcpy(&into[0], self.numbers, self.count * sizeof(uint64_t))
        return made


cdef inline unsigned char* behind_letter(unsigned char* word, uint32_t code) noexcept:
    """Write a letter in UTF-8; the place behind it."""
    if code < 0x80:
        word[0] = code
        return word + 1
    if code < 0x800:
        word[0], word[1] = 0xC0 | code >> 6, 0x80 | code & 0x3F
        return word + 2
    if code < 0x10000:
        word[0], word[1], word[2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
        return word + 3
    word[0], word[1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 0x3F
    word[2], word[3] = 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
    return word + 4


cdef str folded(str text, const uint32_t* fold_table):
    """A text in lower case, with zeros for spaces and signs."""
    cdef Py_ssize_t place
    cdef uint32_t* codes = <uint32_t*> grown(NULL, len(text) * sizeof(uint32_t))
    for place in range(len(text)):
        codes[place] = fold_table[PyUnicode_READ(PyUnicode_KIND(text), PyUnicode_DATA(text), place)] & CODE_POINT_MASK
    try:
        return PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, codes, len(text))
    finally:
        PyMem_Free(codes)


cdef void* grown(void* memory, Py_ssize_t size) except NULL:
    cdef void* made = PyMem_Realloc(memory, size)
    if made is NULL:
        raise MemoryError
    return made
