# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled loops of the content model: the same numbers as its twins in Python, in a tenth of the time.

They are written in the order in which the twin of :mod:`scrapy_simdedup.page.content_features` names them.
"""

cimport cython
from libc.math cimport exp, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset

from functools import lru_cache
from random import SystemRandom

import numpy as np

from scrapy_simdedup.page import content_boxes as _boxes
from scrapy_simdedup.page import content_features as _features
from scrapy_simdedup.page import roles as _roles

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    uint64_t Py_UNICODE_TOLOWER(Py_UCS4 sign)
    void* PyUnicode_DATA(object text)
    Py_UCS4 PyUnicode_READ(int kind, void* data, Py_ssize_t place)
    object PyUnicode_FromKindAndData(int kind, const void* data, Py_ssize_t size)

cdef enum:
    OTHER, SPACE, STOP, COMMA, DIGIT, UPPER, LOWER, MONEY, KINDS  # of content_boxes, and signs of money
    TAGS = 64
    LONGEST_KEY = 100
    MAX_MASKS = 40
    MAX_TAG_KINDS = 2

cdef int64_t HEADING = _roles.HEADING
cdef int64_t H1 = _roles.H1
cdef int64_t PARAGRAPH = _roles.PARAGRAPH
cdef int64_t BODY_PROPERTY_BIT = _boxes.BITS["body_property"]
cdef int64_t PROSE = _features.PROSE
cdef int64_t LONG_PROSE = _features.LONG_PROSE
cdef int64_t FAR = _features.FAR
cdef int64_t MAX_TITLE_LENGTH = _boxes.MAX_TITLE_LENGTH
cdef int64_t MAX_REPEATED_LENGTH = _boxes.MAX_REPEATED_LENGTH
cdef int64_t MAX_PATTERN_LENGTH = _boxes.MAX_PATTERN_LENGTH
cdef int LEVELS_UP = _boxes.LEVELS_UP
cdef int LEVELS_DOWN = _boxes.LEVELS_DOWN
cdef str STOPS = "".join(sorted(_boxes.STOPS))
cdef object PRICE = _boxes.PRICE.search
cdef object WORDS = _boxes.WORD.findall

if MAX_REPEATED_LENGTH > LONGEST_KEY or len(_features._MASKS) > MAX_MASKS or len(_features._TAG_KINDS) != MAX_TAG_KINDS:
    raise ImportError("compiled for other features")

cdef uint64_t CODE_FACTOR = SystemRandom().getrandbits(64) | 1
"""Unknown outside of the process, so that nobody writes a page of words with the same hash."""
cdef uint8_t KIND_OF_LATIN[256]
cdef uint8_t IN_WORD[256]
"""The character in lower case where it is of a word, else 0."""
cdef int64_t BITS_OF_TAG[TAGS]
cdef int64_t HEADING_LEVEL[TAGS]
cdef uint8_t TAG_KINDS[MAX_TAG_KINDS][TAGS]
cdef int64_t MASKS[MAX_MASKS]
cdef int MASK_COUNT = len(_features._MASKS)
cdef list OWN_BITS = list(_features._OWN_BITS.values())
cdef list PROSE_MASKS = [list(_boxes.BITS).index(name) for name in _features._PROSE_BITS]
cdef Py_ssize_t OF_BLOCKS = _features._OF_BLOCKS
cdef Py_ssize_t OF_PAGE = _features._OF_PAGE
cdef double FULL_WEIGHT = _features.FULL_WEIGHT
cdef Py_ssize_t SAID = len(_features.SAID_NAMES)
cdef list PAGE_MASKS = [list(_boxes.BITS).index(name) for name in _features._PAGE_BITS]


def _fill_tables():
    cdef int place
    for place in range(128):
        KIND_OF_LATIN[place], KIND_OF_LATIN[place + 128] = _boxes.KIND_OF_BYTE[place], OTHER
    KIND_OF_LATIN[ord("$")] = KIND_OF_LATIN[0xA3] = KIND_OF_LATIN[0xA5] = MONEY
    for place in range(256):
        IN_WORD[place] = ord(chr(place).lower()) if chr(place).isalnum() or chr(place) == "_" else 0
    for place in range(TAGS):
        BITS_OF_TAG[place] = _boxes.BITS_OF_TAG[place]
        HEADING_LEVEL[place] = _features._HEADING_LEVEL[place]
        for kind, table in enumerate(_features._TAG_KINDS.values()):
            TAG_KINDS[<int> kind][place] = table[place]
    for place in range(MASK_COUNT):
        MASKS[place] = _features._MASKS[place]


_fill_tables()


@lru_cache(1)
def names():
    """The names of the numbers, as the twin has them for the smallest of pages."""
    from scrapy_simdedup.page.block_tree import BlockTree

    one = BlockTree(["a"], *[[0]] * 3, [-1], [0], [0], [0], [-1], *[[0]] * 9, 0, "")
    return _features.python_counted_features(one)[:3]


cdef struct Keyed:
    int64_t key
    int64_t place


cdef int by_key(const void* one, const void* other) noexcept nogil:
    cdef const Keyed* a = <const Keyed*> one
    cdef const Keyed* b = <const Keyed*> other
    if a.key != b.key:
        return -1 if a.key < b.key else 1
    return -1 if a.place < b.place else 1 if a.place > b.place else 0


cdef int64_t number_groups(const int64_t* keys, int64_t count, int64_t* groups) except -1:
    """Number the distinct keys in their order; how many there are. Only the distinct ones are sorted, which are few."""
    cdef int64_t i, number, slot, before = -1, found = 0, mask = 15
    while mask < 2 * count:
        mask = 2 * mask + 1
    cdef int64_t[::1] room = np.zeros(mask + 1 + 3 * count, np.int64)
    cdef int64_t* slots = &room[0]  # the number of a distinct key, and 1
    cdef int64_t* ranks = slots + mask + 1
    cdef Keyed* distinct = <Keyed*> (ranks + count)
    for i in range(count):
        if before < 0 or distinct[before].key != keys[i]:
            slot = (((<uint64_t> keys[i] + 1) * CODE_FACTOR) >> 20) & mask
            while slots[slot] and distinct[slots[slot] - 1].key != keys[i]:
                slot = (slot + 1) & mask
            if not slots[slot]:
                distinct[found].key = keys[i]
                distinct[found].place = found
                found += 1
                slots[slot] = found
            before = slots[slot] - 1
        groups[i] = before
    qsort(distinct, found, sizeof(Keyed), by_key)
    for number in range(found):
        ranks[distinct[number].place] = number
    for i in range(count):
        groups[i] = ranks[groups[i]]
    return found


cdef inline void put(float** at, int64_t step, double value) noexcept nogil:
    """Write a number, and go on to the row of the next."""
    at[0][0] = <float> value
    at[0] += step


cdef inline double over(int64_t one, int64_t other) noexcept nogil:
    return <double> one / <double> other


cdef inline int64_t slot_of(uint64_t code, int64_t mask, const uint64_t* codes) noexcept nogil:
    """The slot of a table that has a code, or the empty one where it belongs."""
    cdef int64_t slot = (code >> 20) & mask
    while codes[slot] != 0 and codes[slot] != code:
        slot = (slot + 1) & mask
    return slot


cdef inline uint64_t in_word(Py_UCS4 sign) noexcept:
    """The character in lower case where it is of a word, else 0."""
    return IN_WORD[sign] if sign < 256 else Py_UNICODE_TOLOWER(sign) if sign.isalnum() else 0


cdef uint64_t code_of(int kind, void* data, Py_ssize_t first, Py_ssize_t end) noexcept:
    """The hash of a word that stands in a text, in lower case."""
    cdef uint64_t code = 1
    cdef Py_ssize_t i
    for i in range(first, end):
        code = code * CODE_FACTOR + in_word(PyUnicode_READ(kind, data, i))
    return code


cdef int fill(int64_t* made, list values) except -1:
    cdef Py_ssize_t i
    for i in range(len(values)):
        made[i] = values[i]
    return 0


cdef int cumulate(int64_t* made, const int64_t* values, int64_t count) except -1:
    cdef int64_t i
    made[0] = 0
    for i in range(count):
        made[i + 1] = made[i] + values[i]
    return 0


cdef enum:  # rows of numbers that the features are made of: first of blocks, then of boxes
    LENGTH, LINKS, WORD_COUNT, STOP_COUNT, IS_STOP_END, IS_HEADING, ANCHORS, IS_REPEATED, IMAGES, IS_PRICE, PROSES
    IN_PARAGRAPH, IS_TITLE, COPIED, SUMMED  # the rows above are summed up
    COMMAS, UPPERS, LOWERS, REPEATS, COPIES
    ELEMENTS, LEVEL, TEXT_ROLES, IN_BOX, TAG, CLASS_PATH, PATH, GROUP, TAG_GROUP, HERE, ROWS_OF_BLOCKS


@cython.final
cdef class Page:
    """One page: its numbers, and the place where the next feature is written."""

    cdef list texts
    cdef int64_t count, total, prose_total, h1, groups
    cdef int64_t[:, ::1] rows
    cdef int64_t[:, ::1] sums
    cdef double[:, ::1] shares
    """The share of links of each block, and that of the title in its words."""
    cdef float* out

    def __cinit__(self, tree):
        self.texts = tree.texts
        self.count = len(self.texts)
        of_blocks = tree.link_lengths, tree.link_counts, tree.image_counts, tree.last_elements, tree.text_roles, tree.boxes
        of_boxes = tree.box_roles, tree.box_tags, tree.box_class_paths, tree.box_paths, tree.box_bodies
        if (
            not self.count
            or {len(values) for values in of_blocks} != {self.count}
            or {len(values) for values in of_boxes} != {len(tree.box_parents)}
        ):  # nothing below looks whether there is a number for each block and box
            raise ValueError("a tree of a page with text, made with detailed=True, is needed")
        self.rows = np.empty((ROWS_OF_BLOCKS, self.count), np.int64)
        self.sums = np.empty((SUMMED, self.count + 1), np.int64)
        self.shares = np.zeros((2, self.count), np.float64)
        fill(&self.rows[LINKS, 0], tree.link_lengths)
        fill(&self.rows[ANCHORS, 0], tree.link_counts)
        fill(&self.rows[IMAGES, 0], tree.image_counts)
        fill(&self.rows[ELEMENTS, 0], tree.last_elements)
        fill(&self.rows[TEXT_ROLES, 0], tree.text_roles)
        fill(&self.rows[IN_BOX, 0], tree.boxes)

    cdef int64_t* row(self, int number) noexcept:
        return &self.rows[number, 0]

    cdef int read(self, tree) except -1:
        """Read the texts, and what the boxes of the blocks say."""
        cdef int64_t i, box, roles, length, links
        cdef list tags = tree.box_tags, class_paths = tree.box_class_paths, paths = tree.box_paths
        cdef int64_t* like = self.row(GROUP)  # the first block with the same text, until the groups are numbered
        cdef dict first_like = {}
        cdef dict seen = {}
        cdef str text
        cdef object found
        for i in range(self.count):
            text = <str> self.texts[i]
            found = first_like.setdefault(self.read_text(text, i), i)
            like[i] = found
            self.rows[REPEATS, i] = 0
            self.rows[REPEATS, like[i]] += 1
            box = self.rows[IN_BOX, i]
            self.rows[TAG, i] = tags[box]
            self.rows[CLASS_PATH, i] = class_paths[box]
            self.rows[PATH, i] = paths[box]
        self.h1 = -1
        for i in range(self.count):
            roles, length, links = self.rows[TEXT_ROLES, i], self.rows[LENGTH, i], self.rows[LINKS, i]
            self.rows[REPEATS, i] = self.rows[REPEATS, like[i]]
            self.rows[IS_REPEATED, i] = self.rows[REPEATS, i] > 1
            self.rows[COPIES, i] = self.rows[COPIED, i] = 0
            if self.rows[IS_REPEATED, i]:
                found = seen.get(self.texts[i])
                self.rows[COPIES, i] = 0 if found is None else found
                seen[self.texts[i]] = self.rows[COPIES, i] + 1
                self.rows[COPIED, i] = length if self.rows[COPIES, i] else 0
            self.rows[IS_HEADING, i] = roles & HEADING != 0
            self.rows[IN_PARAGRAPH, i] = length if roles & PARAGRAPH else 0
            self.rows[LEVEL, i] = HEADING_LEVEL[self.rows[TAG, i]]
            if roles & HEADING and not self.rows[LEVEL, i]:
                self.rows[LEVEL, i] = 7
            self.rows[PROSES, i] = length - links if length - links >= PROSE and 2 * links < length else 0
            self.shares[0, i] = over(links, length)
            if roles & H1 and self.h1 < 0:
                self.h1 = i
        self.compare_with_title(tree.title)
        for i in range(self.count):
            self.rows[IS_TITLE, i] = self.shares[1, i] > 0.5
        for i in range(SUMMED):
            cumulate(&self.sums[i, 0], &self.rows[i, 0], self.count)
        self.total = self.sums[LENGTH, self.count]
        self.prose_total = max(1, self.sums[PROSES, self.count])
        self.groups = number_groups(self.row(CLASS_PATH), self.count, self.row(GROUP))
        return 0

    cdef str read_text(self, str text, int64_t number):
        """Count the characters of a text by their kinds, and look for what has a form of its own.

        What comes back is the same for short texts that differ in numbers.
        """
        cdef int kind = PyUnicode_KIND(text)
        cdef void* data = PyUnicode_DATA(text)
        cdef Py_ssize_t i, size = len(text), key_size = 0
        cdef const uint8_t* latin = <const uint8_t*> data
        cdef int64_t counts[KINDS]
        cdef int64_t others[KINDS]
        cdef Py_UCS4 sign = 0
        cdef Py_UCS4 key[LONGEST_KEY]
        cdef bint may_be_price = False, is_digit, was_digit = False
        memset(counts, 0, sizeof(counts))
        memset(others, 0, sizeof(others))
        if kind == 1:
            for i in range(size // 2):  # in two places, as most characters are of the same kind as the one before
                counts[KIND_OF_LATIN[latin[2 * i]]] += 1
                others[KIND_OF_LATIN[latin[2 * i + 1]]] += 1
            if size & 1:
                counts[KIND_OF_LATIN[latin[size - 1]]] += 1
        else:
            for i in range(size):
                sign = PyUnicode_READ(kind, data, i)
                if sign < 256:
                    counts[KIND_OF_LATIN[sign]] += 1
                elif 0xD800 <= sign < 0xE000:  # becomes a question mark
                    counts[STOP] += 1
                elif 0x20A0 <= sign < 0x20D0:
                    may_be_price = True
        for i in range(KINDS):
            counts[i] += others[i]
        may_be_price = may_be_price or counts[MONEY]
        sign = PyUnicode_READ(kind, data, size - 1)
        self.rows[LENGTH, number] = size
        self.rows[WORD_COUNT, number] = counts[SPACE] + 1
        self.rows[STOP_COUNT, number] = counts[STOP]
        self.rows[COMMAS, number] = counts[COMMA]
        self.rows[UPPERS, number] = counts[UPPER]
        self.rows[LOWERS, number] = counts[LOWER]
        self.rows[IS_STOP_END, number] = KIND_OF_LATIN[sign] == STOP if sign < 256 else sign in STOPS
        self.rows[IS_PRICE, number] = (
            counts[DIGIT] and may_be_price and size < MAX_PATTERN_LENGTH and PRICE(text) is not None
        )
        if counts[DIGIT] and size < MAX_REPEATED_LENGTH:
            for i in range(size):
                sign = PyUnicode_READ(kind, data, i)
                is_digit = 48 <= sign <= 57 if sign < 128 else sign.isdecimal()
                if not (is_digit and was_digit):
                    key[key_size] = 48 if is_digit else sign
                    key_size += 1
                was_digit = is_digit
            return PyUnicode_FromKindAndData(4, key, key_size)
        return text

    cdef int compare_with_title(self, str title) except -1:
        """For each short block, the share of the title's words that it has; words are compared by their hashes."""
        cdef set wanted = set(WORDS(title.lower()))
        cdef int64_t number, slot, mask = 15, found, count = len(wanted)
        cdef Py_ssize_t i, first
        cdef uint64_t code
        cdef uint64_t lengths[128]
        cdef str text, word
        cdef int kind
        cdef void* data
        if not count:
            return 0
        while mask < 2 * count:
            mask = 2 * mask + 1
        cdef uint64_t[::1] codes = np.zeros(mask + 1, np.uint64)
        cdef int64_t[::1] seen_in = np.full(mask + 1, -1, np.int64)
        memset(lengths, 0, sizeof(lengths))  # of the words that begin with a character: most others need no hash
        for word in wanted:
            kind, data = PyUnicode_KIND(word), PyUnicode_DATA(word)
            lengths[in_word(PyUnicode_READ(kind, data, 0)) & 127] |= <uint64_t> 1 << (len(word) & 63)
            code = code_of(kind, data, 0, len(word))
            slot = slot_of(code, mask, &codes[0])
            codes[slot] = code
        for number in range(self.count):
            if self.rows[LENGTH, number] > MAX_TITLE_LENGTH:
                continue
            text = <str> self.texts[number]
            if PyUnicode_KIND(text) > 1 and ("\u0130" in text or "\u03a3" in text):
                text = text.lower()  # all others become one letter, whatever stands beside them
            kind, data = PyUnicode_KIND(text), PyUnicode_DATA(text)
            i = found = 0
            while i < len(text):  # behind the text there is a 0
                first = i
                if kind == 1:
                    while IN_WORD[(<const uint8_t*> data)[i]]:
                        i += 1
                else:
                    while in_word(PyUnicode_READ(kind, data, i)):
                        i += 1
                if lengths[in_word(PyUnicode_READ(kind, data, first)) & 127] >> ((i - first) & 63) & 1:
                    code = code_of(kind, data, first, i)
                    slot = slot_of(code, mask, &codes[0])
                    if codes[slot] == code and seen_in[slot] != number:
                        seen_in[slot] = number
                        found += 1
                i += 1
            self.shares[1, number] = over(found, count)
        return 0

    cdef int put_blocks(self) except -1:
        """Numbers of each block by itself."""
        cdef int64_t i, kind, n = self.count, h1 = self.h1, words, length, long_prose = -1
        cdef const int64_t* start = &self.sums[LENGTH, 0]
        cdef float* at = self.out
        for i in range(n):
            at = self.out + i
            words, length = self.rows[WORD_COUNT, i], self.rows[LENGTH, i]
            put(&at, n, over(length, words))
            put(&at, n, self.shares[0, i])
            put(&at, n, over(self.rows[COMMAS, i], words))
            put(&at, n, over(self.rows[UPPERS, i], max(self.rows[UPPERS, i] + self.rows[LOWERS, i], 1)))
            put(&at, n, self.rows[REPEATS, i])
            put(&at, n, self.rows[COPIES, i] if self.rows[LENGTH, i] >= PROSE else -1)
            for kind in range(MAX_TAG_KINDS):
                put(&at, n, TAG_KINDS[kind][self.rows[TAG, i]])
            put(&at, n, over(i, n))
            put(&at, n, over(self.sums[PROSES, i], self.prose_total))
            put(&at, n, i - h1 if h1 >= 0 else -999)
            put(&at, n, start[i] - start[h1] if h1 >= 0 else -99999)
            put(&at, n, i - long_prose if long_prose >= 0 else FAR)
            if self.rows[PROSES, i] > LONG_PROSE:
                long_prose = i
        self.out = at - (n - 1)
        return 0

    cdef int put_under_headings(self) except -1:
        """What stands between the heading before each block, or the begin of the page, and the next one."""
        cdef int64_t i, heading = -1, first, following = -1, under, n = self.count
        cdef float* at = self.out
        for i in range(n):
            if self.rows[IS_HEADING, i]:
                heading = i
            if following <= i:
                following = i + 1
                while following < n and not self.rows[IS_HEADING, following]:
                    following += 1
            first = max(heading, 0)
            under = max(self.sums[LENGTH, following] - self.sums[LENGTH, first], 1)
            at = self.out + i
            put(&at, n, FAR if heading < 0 else i - heading)
            put(&at, n, following - i)
            put(&at, n, under)
            put(&at, n, over(self.sums[LINKS, following] - self.sums[LINKS, first], under))
            put(&at, n, 0 if heading < 0 else self.rows[LEVEL, first])
        self.out = at - (n - 1)
        return 0

    cdef int put_title(self) except -1:
        cdef int64_t i, best = 0, n = self.count
        for i in range(n):
            if self.shares[1, i] > self.shares[1, best]:
                best = i
        for i in range(n):
            self.out[i] = <float> self.shares[1, i]
            self.out[n + i] = i - best if self.shares[1, best] > 0.4 else -999
            self.out[2 * n + i] = <float> self.shares[0, i + 1] if i < n - 1 else -1  # of the block behind it
            self.out[3 * n + i] = self.rows[REPEATS, i + 1] if i < n - 1 else -1
        self.out += 4 * n
        return 0

    cdef int put_windows(self) except -1:
        """Numbers of the blocks around each block."""
        cdef int64_t i, low, high, chars, radius, n = self.count
        cdef float* at = self.out
        for radius in (2, 5, 12):
            for i in range(n):
                at = self.out + i
                low, high = max(i - radius, 0), min(i + radius + 1, n)
                chars = self.sums[LENGTH, high] - self.sums[LENGTH, low]
                put(&at, n, over(self.sums[LINKS, high] - self.sums[LINKS, low], chars))
                put(&at, n, over(chars, high - low))
                put(&at, n, over(self.rows[ELEMENTS, high - 1] - self.rows[ELEMENTS, low], chars))
            self.out = at - (n - 1)
        return 0

    cdef int put_groups(self, const int64_t* group, int64_t groups) except -1:
        """Numbers of the blocks at the same path."""
        cdef int64_t[:, ::1] made = np.zeros((7, groups), np.int64)
        cdef int64_t i, g, n = self.count, counts, spread
        cdef float* at = self.out
        for i in range(n):
            g = group[i]
            if not made[0, g]:
                made[5, g] = i
            made[6, g] = i
            made[0, g] += 1
            made[1, g] += self.rows[LENGTH, i]
            made[2, g] += self.rows[LINKS, i]
            made[3, g] += self.rows[IS_STOP_END, i]
            made[4, g] += self.rows[IS_REPEATED, i]
        for i in range(n):
            at = self.out + i
            g = group[i]
            counts = made[0, g]
            spread = made[6, g] - made[5, g] + 1
            put(&at, n, counts)
            put(&at, n, made[1, g])
            put(&at, n, over(made[1, g], self.total))
            put(&at, n, over(made[2, g], made[1, g]))
            put(&at, n, over(made[1, g], counts))
            put(&at, n, over(made[3, g], counts))
            put(&at, n, over(spread, n))
            put(&at, n, over(counts, spread))
            put(&at, n, over(made[4, g], counts))
            put(&at, n, over(made[5, g], n))
        self.out = at - (n - 1)
        return 0


cdef enum:  # rows of numbers of boxes of the tree
    UP, FIRST, END, OWN, AROUND, NUMBER_OF, ROWS_OF_TREE
cdef enum:  # rows of numbers of boxes that hold text
    PARENT, BITS, KIN_KEY, KIN, DEPTH, LONGEST, CHILDREN, KIN_COUNT, KIN_LENGTH, KIN_LINKS
    OUTER, ROWS_OF_BOXES = OUTER + 8


def counted_features(tree):
    """See :func:`scrapy_simdedup.page.content_features.python_counted_features`."""
    cdef Page page = Page(tree)
    cdef int64_t n = page.count, i, box, parent, place, down, first, end, length, above
    page.read(tree)
    block_names, box_names, page_names = names()
    blocks = np.empty((len(block_names), n), np.float32)
    cdef float[:, ::1] of_blocks = blocks
    page.out = &of_blocks[0, 0]
    page.put_blocks()
    page.put_under_headings()
    page.put_title()
    page.put_windows()
    page.put_groups(page.row(GROUP), page.groups)
    page.put_groups(page.row(TAG_GROUP), number_groups(page.row(PATH), n, page.row(TAG_GROUP)))

    # the boxes of the tree, and those of them that hold other blocks than the box around them
    cdef int64_t in_tree = len(tree.box_parents), kept = 0
    cdef int64_t[:, ::1] rows = np.empty((ROWS_OF_TREE, in_tree), np.int64)
    cdef list tags = tree.box_tags, bodies = tree.box_bodies, roles = tree.box_roles, paths = tree.box_class_paths
    fill(&rows[UP, 0], tree.box_parents)
    for box in range(in_tree):
        rows[FIRST, box], rows[END, box] = n, 0
        rows[OWN, box] = (
            <int64_t> roles[box]
            | BITS_OF_TAG[<int64_t> tags[box]]
            | (BODY_PROPERTY_BIT if bodies[box] else 0)
        )
        rows[AROUND, box] = rows[OWN, box] | (rows[AROUND, rows[UP, box]] if box else 0)
    for i in range(n):
        box = page.rows[IN_BOX, i]
        rows[FIRST, box] = min(rows[FIRST, box], i)
        rows[END, box] = i + 1
    for box in range(in_tree - 1, 0, -1):
        parent = rows[UP, box]
        rows[FIRST, parent] = min(rows[FIRST, parent], rows[FIRST, box])
        rows[END, parent] = max(rows[END, parent], rows[END, box])
    for box in range(in_tree):
        if rows[END, box] > rows[FIRST, box]:
            parent = rows[UP, box]
            kept += box == 0 or rows[FIRST, box] != rows[FIRST, parent] or rows[END, box] != rows[END, parent]
            rows[NUMBER_OF, box] = kept - 1
    numbers = np.empty((len(box_names), kept), np.float32)
    firsts, ends = np.empty((2, kept), np.int64)
    cdef int64_t[::1] first_of = firsts
    cdef int64_t[::1] end_of = ends
    cdef int64_t[:, ::1] made = np.zeros((ROWS_OF_BOXES, kept), np.int64)
    above = -1
    for box in range(in_tree):
        if rows[END, box] > rows[FIRST, box]:
            place = rows[NUMBER_OF, box]
            made[BITS, place] |= rows[OWN, box]
            if place > above:
                above = place
                first_of[place], end_of[place] = rows[FIRST, box], rows[END, box]
                made[PARENT, place] = rows[NUMBER_OF, rows[UP, box]] if box else 0
                made[KIN_KEY, place] = made[PARENT, place] * (<int64_t> 1 << 33) + <int64_t> paths[box]
    for i in range(n):
        place = rows[NUMBER_OF, page.rows[IN_BOX, i]]
        page.rows[HERE, i] = place
        made[LONGEST, place] = max(made[LONGEST, place], page.rows[LENGTH, i])
    for place in range(kept):
        parent = made[PARENT, place]
        if place:
            made[DEPTH, place] = made[DEPTH, parent] + 1
            made[CHILDREN, parent] += 1
        for down in range(LEVELS_DOWN):
            made[OUTER + down, place] = made[OUTER + down, parent] if made[DEPTH, place] > down + 1 else place
    for place in range(kept - 1, 0, -1):
        parent = made[PARENT, place]
        made[LONGEST, parent] = max(made[LONGEST, parent], made[LONGEST, place])
    number_groups(&made[KIN_KEY, 0], kept, &made[KIN, 0])
    for place in range(kept):
        parent = made[KIN, place]
        first, end = first_of[place], end_of[place]
        made[KIN_COUNT, parent] += 1
        made[KIN_LENGTH, parent] += page.sums[LENGTH, end] - page.sums[LENGTH, first]
        made[KIN_LINKS, parent] += page.sums[LINKS, end] - page.sums[LINKS, first]

    cdef float[:, ::1] of_boxes = numbers
    cdef float* at = &of_boxes[0, 0]
    cdef int64_t of_kin, size, elements, bits
    cdef int64_t whole_paragraphs = max(1, page.sums[IN_PARAGRAPH, n])
    for place in range(kept):
        at = &of_boxes[0, 0] + place
        first, end, of_kin = first_of[place], end_of[place], made[KIN, place]
        length, size = page.sums[LENGTH, end] - page.sums[LENGTH, first], end - first
        elements = page.rows[ELEMENTS, end - 1] - (page.rows[ELEMENTS, first - 1] if first > 0 else 0)
        put(&at, kept, length)
        put(&at, kept, over(length, page.total))
        put(&at, kept, over(page.sums[LINKS, end] - page.sums[LINKS, first], length))
        put(&at, kept, size)
        put(&at, kept, over(length, size))
        put(&at, kept, over(page.sums[PROSES, end] - page.sums[PROSES, first], page.prose_total))
        put(
            &at,
            kept,
            over(
                page.sums[STOP_COUNT, end] - page.sums[STOP_COUNT, first],
                page.sums[WORD_COUNT, end] - page.sums[WORD_COUNT, first],
            ),
        )
        put(&at, kept, over(page.sums[IS_STOP_END, end] - page.sums[IS_STOP_END, first], size))
        put(&at, kept, made[KIN_COUNT, of_kin])
        put(&at, kept, over(made[KIN_LENGTH, of_kin], page.total))
        put(&at, kept, over(made[KIN_LINKS, of_kin], made[KIN_LENGTH, of_kin]))
        put(&at, kept, over(made[KIN_LENGTH, of_kin], made[KIN_COUNT, of_kin]))
        put(&at, kept, over(page.sums[IN_PARAGRAPH, end] - page.sums[IN_PARAGRAPH, first], whole_paragraphs))
        put(&at, kept, over(page.sums[IN_PARAGRAPH, end] - page.sums[IN_PARAGRAPH, first], length))
        put(&at, kept, over(page.sums[IS_HEADING, end] - page.sums[IS_HEADING, first], size))
        put(&at, kept, over(page.sums[LENGTH, first], page.total))
        put(&at, kept, over(page.total - page.sums[LENGTH, end], page.total))
        put(&at, kept, made[CHILDREN, place])
        put(&at, kept, over(page.sums[ANCHORS, end] - page.sums[ANCHORS, first], size))
        put(&at, kept, page.sums[IMAGES, end] - page.sums[IMAGES, first])
        put(&at, kept, over(page.sums[IMAGES, end] - page.sums[IMAGES, first], size))
        put(&at, kept, over(elements, length))
        put(&at, kept, over(page.sums[IS_REPEATED, end] - page.sums[IS_REPEATED, first], size))
        put(&at, kept, over(page.sums[COPIED, end] - page.sums[COPIED, first], length))
        put(&at, kept, page.sums[IS_PRICE, end] - page.sums[IS_PRICE, first])
        put(&at, kept, made[LONGEST, place])
        put(&at, kept, page.sums[IS_TITLE, end] > page.sums[IS_TITLE, first])
        for bits in OWN_BITS:
            put(&at, kept, made[BITS, place] & bits != 0)

    of_places = np.empty((LEVELS_UP + LEVELS_DOWN, n), np.int64)
    cdef int64_t[:, ::1] places = of_places
    for i in range(n):
        place = page.rows[HERE, i]
        for down in range(LEVELS_DOWN):
            places[LEVELS_UP + down, i] = made[OUTER + down, place]
        for down in range(LEVELS_UP):
            places[down, i] = place
            place = made[PARENT, place]

    # the box that stands for the content: a block gives its box its prose, and the box around it half of that
    cdef int64_t top = 0, longest = 0, repeated = 0, best = 0, value
    cdef int64_t[::1] doubled = np.zeros(kept, np.int64)
    for i in range(n):
        place = page.rows[HERE, i]
        doubled[place] += 2 * page.rows[PROSES, i]
        doubled[made[PARENT, place]] += page.rows[PROSES, i]
        if page.rows[PROSES, i] > page.rows[PROSES, longest]:
            longest = i
    for place in range(kept):
        if doubled[place] > doubled[top]:
            top = place
        value = made[KIN_LENGTH, place] - made[KIN_LINKS, place] if made[KIN_COUNT, place] >= 3 else 0
        if value > repeated:
            repeated, best = value, place  # the number of the group
    of_kin = 0
    if repeated:
        place = 0
        while made[KIN, place] != best:
            place += 1
        of_kin = made[PARENT, place]
    cdef int64_t anchor, step, steps, chained, common, common_length
    cdef int64_t[::1] chain = np.empty(kept, np.int64)
    for anchor in (top, page.rows[HERE, page.h1] if page.h1 >= 0 else 0, page.rows[HERE, longest], of_kin):
        chained = 1
        chain[0] = anchor
        while chain[chained - 1]:
            chain[chained] = made[PARENT, chain[chained - 1]]
            chained += 1
        step = chained  # of the boxes in the chain, those that begin behind the block
        steps = 0  # and those that end before it
        for i in range(n):
            while step and first_of[chain[step - 1]] <= i:
                step -= 1
            while steps < chained and end_of[chain[steps]] <= i:
                steps += 1
            place = page.rows[HERE, i]
            value = min(max(step, steps), chained - 1)
            common = chain[value]
            first, end = first_of[common], end_of[common]
            common_length = page.sums[LENGTH, end] - page.sums[LENGTH, first]
            at = page.out + i
            put(&at, n, value)
            put(&at, n, over(common_length, page.total))
            put(&at, n, over(page.sums[PROSES, end] - page.sums[PROSES, first], page.prose_total))
            put(&at, n, over(page.sums[LINKS, end] - page.sums[LINKS, first], common_length))
            put(&at, n, i - first_of[anchor] if i < first_of[anchor] else max(i - end_of[anchor] + 1, 0))
            put(&at, n, made[DEPTH, place] - made[DEPTH, common])
        page.out = at - (n - 1)

    # roles of the boxes around
    cdef double shares[MAX_MASKS]
    cdef double prose_shares[MAX_MASKS]
    cdef int64_t with_mask, prose_with_mask
    cdef int64_t mask
    cdef int64_t* around = page.row(IN_BOX)  # from here on, the roles around it instead of the box
    for i in range(n):
        around[i] = rows[AROUND, around[i]]
    for mask in range(MASK_COUNT):
        with_mask = prose_with_mask = 0
        for i in range(n):
            if around[i] & MASKS[mask]:
                with_mask += page.rows[LENGTH, i]
                prose_with_mask += page.rows[PROSES, i]
        shares[mask] = over(with_mask, page.total)
        prose_shares[mask] = over(prose_with_mask, page.prose_total)
        for i in range(n):
            page.out[i] = <float> shares[mask] if around[i] & MASKS[mask] else -1
        page.out += n
    for mask in PROSE_MASKS:
        for i in range(n):
            page.out[i] = <float> prose_shares[mask] if around[i] & MASKS[mask] else -1
        page.out += n
    if page.out - &of_blocks[0, 0] != of_blocks.shape[0] * n:
        raise AssertionError("as many features of blocks as they have names")

    cdef int64_t prose_blocks = 0, longest_text = 0, most_kin = 0, in_lists = 0
    for i in range(n):
        prose_blocks += page.rows[PROSES, i] > 0
        longest_text = max(longest_text, page.rows[LENGTH, i])
        in_lists += page.rows[LENGTH, i] if TAG_KINDS[0][page.rows[TAG, i]] else 0
    for place in range(kept):
        most_kin = max(most_kin, made[KIN_COUNT, place])
    of_page = [
        page.total,
        over(page.sums[PROSES, n], page.total),
        prose_blocks,
        over(page.sums[IN_PARAGRAPH, n], page.total),
        over(page.sums[IS_HEADING, n], n),
        most_kin,
        over(repeated, page.total),
        over(page.sums[IMAGES, n], n),
        page.sums[IS_PRICE, n],
        longest_text,
        over(page.sums[IS_STOP_END, n], n),
        over(in_lists, page.total),
        *[shares[mask] for mask in PAGE_MASKS],
    ]
    return _features.Features(
        block_names,
        box_names,
        page_names,
        blocks,
        numbers,
        np.array(of_page, np.float32),
        of_places,
        page.rows.base[LENGTH],
        page.rows.base[GROUP],
        firsts,
        ends,
    )


def gather(
    float[:, ::1] made not None,
    const Py_ssize_t[:, ::1] rows not None,
    const float[:, ::1] blocks not None,
    const float[:, ::1] boxes not None,
    const float[::1] page not None,
    const int64_t[:, ::1] places not None,
):
    """See :func:`scrapy_simdedup.page.content_features.python_gather`."""
    cdef Py_ssize_t row, i, place, number, n = made.shape[1]
    for row in range(made.shape[0]):
        place, number = rows[row, 0], rows[row, 1]
        if place >= 0:
            for i in range(n):
                made[row, i] = boxes[number, places[place, i]]
        elif place == OF_BLOCKS:
            memcpy(&made[row, 0], &blocks[number, 0], n * sizeof(float))
        elif place == OF_PAGE:
            for i in range(n):
                made[row, i] = page[number]


cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
        #define WITH_LONGER_VECTORS __attribute__((target_clones("avx2", "default")))  // where the processor has them
        #define WITHOUT_VECTORS __attribute__((optimize("no-tree-vectorize")))  // numbers from anywhere would fill them
    #else
        #define WITH_LONGER_VECTORS
        #define WITHOUT_VECTORS
    #endif
    #define LEVELS 5
    #define LEAVES 32
    #define AT_ONCE 8     // trees
    #define BLOCKS 256    // as many as the processor has room for beside the leaves of these trees

    WITH_LONGER_VECTORS static void find_leaves(
        const float* values, Py_ssize_t n, const uint8_t* columns, const float* borders, Py_ssize_t trees, int count,
        int32_t* CYTHON_RESTRICT found
    ) {
        const float *a = values + n * columns[0], *b = values + n * columns[trees], *c = values + n * columns[2 * trees],
            *d = values + n * columns[3 * trees], *e = values + n * columns[4 * trees];
        const float of_a = borders[0], of_b = borders[trees], of_c = borders[2 * trees], of_d = borders[3 * trees],
            of_e = borders[4 * trees];
        for (int i = 0; i < count; i++)
            found[i] = (a[i] > of_a) | (b[i] > of_b) << 1 | (c[i] > of_c) << 2 | (d[i] > of_d) << 3 | (e[i] > of_e) << 4;
    }

    WITHOUT_VECTORS static void add_leaves(
        const int32_t* leaves, const int32_t (*leaf)[BLOCKS], int count, int64_t* CYTHON_RESTRICT sums
    ) {
        const int32_t (*of)[LEAVES] = (const int32_t (*)[LEAVES]) leaves;
        for (int i = 0; i < count; i++)
            sums[i] += of[0][leaf[0][i]] + of[1][leaf[1][i]] + of[2][leaf[2][i]] + of[3][leaf[3][i]]
                + of[4][leaf[4][i]] + of[5][leaf[5][i]] + of[6][leaf[6][i]] + of[7][leaf[7][i]];
    }
    """
    cdef enum:
        AT_ONCE, BLOCKS, LEAVES, LEVELS
    void find_leaves(
        const float* values, Py_ssize_t n, const uint8_t* columns, const float* borders, Py_ssize_t trees, int count,
        int32_t* found
    ) noexcept nogil
    void add_leaves(const int32_t* leaves, const int32_t (*of)[256], int count, int64_t* sums) noexcept nogil


def sum_leaves(
    const float[:, ::1] values not None,
    const uint8_t[:, ::1] columns not None,
    const float[:, ::1] borders not None,
    const int32_t[:, ::1] leaves not None,
):
    """See :func:`scrapy_simdedup.page.content_model.python_sum_leaves`."""
    cdef Py_ssize_t n = values.shape[1], trees = columns.shape[1], begin, tree, level
    cdef int count
    if not n or columns.shape[0] != LEVELS or leaves.shape[0] != trees or leaves.shape[1] != LEAVES or trees % AT_ONCE:
        raise ValueError(f"values of some blocks, and trees of {LEVELS} levels in groups of {AT_ONCE}, are needed")
    if borders.shape[0] != LEVELS or borders.shape[1] != trees:
        raise ValueError("a border for each question is needed")
    for level in range(LEVELS):
        for tree in range(trees):
            if columns[level, tree] >= values.shape[0]:
                raise IndexError("as many features as the trees ask for are needed")
    found = np.zeros(n, np.int64)
    cdef int64_t[::1] sums = found
    cdef int32_t leaf[8][256]  # AT_ONCE, BLOCKS
    for begin in range(0, n, BLOCKS):
        count = min(n - begin, BLOCKS)
        for tree in range(trees):
            find_leaves(
                &values[0, begin], n, &columns[0, tree], &borders[0, tree], trees, count, leaf[tree % AT_ONCE]
            )
            if tree % AT_ONCE == AT_ONCE - 1:
                add_leaves(&leaves[tree + 1 - AT_ONCE, 0], leaf, count, &sums[begin])
    return found


def what_was_said(const double[::1] said not None, features):
    """See :func:`scrapy_simdedup.page.content_model.python_what_was_said`."""
    cdef const int64_t[::1] lengths = features.lengths
    cdef const int64_t[::1] groups = features.groups
    cdef const int64_t[::1] firsts = features.firsts
    cdef const int64_t[::1] ends = features.ends
    cdef const int64_t[:, ::1] places = features.places
    cdef Py_ssize_t n = said.shape[0], i, at = 0, low, high, place, row, first_likely = -1, last_likely = -1
    cdef int by
    if not n or lengths.shape[0] != n:
        raise ValueError("a probability of each block is needed")
    made = np.empty((SAID, n), np.float64)
    cdef double[:, ::1] out = made
    # products have a row of their own, so that no processor adds them before they are rounded
    cdef double[:, ::1] room = np.zeros((8, n + 1), np.float64)
    cdef double* weights = &room[0, 0]
    cdef double* products = &room[1, 0]
    cdef double* weight = &room[2, 0]
    cdef double* weighted = &room[3, 0]
    cdef double* group_weight = &room[4, 0]
    cdef double* group_weighted = &room[5, 0]
    cdef double* group_most = &room[6, 0]
    cdef double most = said[0], rest, box_weight, box_said
    for i in range(n):
        weights[i] = min(lengths[i], FULL_WEIGHT)
        products[i] = weights[i] * said[i]
    for i in range(n):
        weight[i + 1] = weight[i] + weights[i]
        weighted[i + 1] = weighted[i] + products[i]
        group_weight[groups[i]] += weights[i]
        group_weighted[groups[i]] += products[i]
        group_most[groups[i]] = max(group_most[groups[i]], said[i])
        most = max(most, said[i])
        if said[i] >= 0.5:
            last_likely = i
            if first_likely < 0:
                first_likely = i
        out[0, i] = said[i]
    for by in (1, 2, 3, -1, -2, -3):
        at += 1
        for i in range(n):
            out[at, i] = said[i - by] if 0 <= i - by < n else -1
    for by in (3, 8, 25):
        at += 1
        for i in range(n):
            low, high = max(i - by, 0), min(i + by + 1, n)
            out[at, i] = (weighted[high] - weighted[low]) / (weight[high] - weight[low])
    for row in range(places.shape[0]):
        at += 2
        for i in range(n):
            place = places[row, i]
            box_weight = weight[ends[place]] - weight[firsts[place]]
            box_said = weighted[ends[place]] - weighted[firsts[place]]
            out[at - 1, i] = box_said / box_weight
            rest = box_weight - weights[i]
            out[at, i] = (box_said - products[i]) / max(rest, 1) if rest > 0 else -1
    for i in range(n):
        out[at + 1, i] = group_weighted[groups[i]] / group_weight[groups[i]]
        out[at + 2, i] = group_most[groups[i]]
        out[at + 3, i] = i - first_likely if first_likely >= 0 else -999
        out[at + 4, i] = last_likely - i if first_likely >= 0 else -999
        out[at + 5, i] = weighted[i] / max(weighted[n], 1e-9)
        out[at + 6, i] = weighted[n] / weight[n]
        out[at + 7, i] = weighted[n]
        out[at + 8, i] = most
    return made


def choose_blocks(const double[::1] probabilities not None, lengths):
    """See :func:`scrapy_simdedup.page.content_model.python_choose_blocks`."""
    from scrapy_simdedup.page import content_model as model  # which imports this module

    cdef Py_ssize_t n = probabilities.shape[0], i, error, best = 0
    chosen = np.zeros(n, np.bool_)
    if len(lengths) != n:
        raise ValueError("a length of each block is needed")
    if not n:
        return chosen
    cdef const double[:, ::1] odds_of_errors = model.ODDS_OF_ERRORS
    cdef const double[:, ::1] error_weights = model.ERROR_WEIGHTS
    cdef double[:, ::1] expected = np.zeros((len(model.ERROR_WEIGHTS), n + 1), np.float64)
    cdef int64_t[:, ::1] room = np.empty((n, 3), np.int64)
    cdef Keyed* order = <Keyed*> &room[0, 0]
    cdef int64_t* words = &room[0, 0] + 2 * n
    cdef int64_t characters = model.CHARACTERS_PER_WORD, words_above = 0
    cdef double certain = model.CERTAIN, tiny = model.TINY, sharpness = model.SHARPNESS, shift = model.SHIFT
    cdef double likely = 0, certainly = 0, said, odds, f1, most = -1
    for i in range(n):  # the bits of positive numbers have their order
        memcpy(&order[i].key, &probabilities[i], sizeof(double))
        order[i].key, order[i].place = -order[i].key, i
    qsort(order, n, sizeof(Keyed), by_key)
    for i in range(n):
        said, words[i] = probabilities[order[i].place], <int64_t> lengths[order[i].place] // characters + 1
        likely += words[i] * said
        if said >= certain:
            certainly = likely
    if certainly >= <double> model.MIN_CERTAIN_SHARE * likely:
        shift = model.ARTICLE_SHIFT
    for i in range(n):
        said = probabilities[order[i].place]
        odds = exp(-(sharpness * log((said + tiny) / (1 - said + tiny)) + shift))
        for error in range(expected.shape[0]):
            expected[error, i + 1] = expected[error, i] + words[i] / (1 + odds * odds_of_errors[error, 0])
    for i in range(n):
        words_above += words[i]
        f1 = 0
        for error in range(expected.shape[0]):
            f1 += error_weights[error, 0] * (2 * expected[error, i + 1] / (words_above + expected[error, n]))
        if f1 > most:
            most, best = f1, i
    cdef double cut = min(max(probabilities[order[best].place], <double> model.MIN_CUT), <double> model.MAX_CUT)
    cdef uint8_t[::1] is_chosen = chosen.view(np.uint8)
    for i in range(n):
        is_chosen[i] = probabilities[i] >= cut
    return chosen
