"""The compiled functions of :mod:`scrapy_simdedup.page.parse`: byte by byte, a tenth of the time."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.string cimport memchr, memcmp, memcpy, strlen

ctypedef Py_ssize_t (*Length)(const unsigned char* text, const unsigned char* end) noexcept
"""Finds the length of something that begins at ``text``; 0 if it does not begin there."""

cdef enum:  # classes of bytes
    WORD = 1
    SPACE = 2
    HEX = 4
    IN_DATA_TYPE = 8
    IN_DATA = 16
    SPECIAL = 32
    ENDS_NAME = 64

cdef enum:
    BLOCK = 64  # bytes that are looked at together
    MAX_END = 7  # more than the end of a file has, with its dot, and a scheme without its colon

cdef unsigned char CLASSES[256]

for _byte in range(256):
    _letter = chr(_byte) if _byte < 128 else " "
    CLASSES[_byte] = (
        WORD * (_letter.isalnum() or _letter == "_")
        | SPACE * (_byte in b" \t\n\r\f\v")
        | HEX * (_letter in "0123456789abcdefABCDEF")
        | IN_DATA_TYPE * (_letter.isalnum() or _letter in "_/+.;=-")
        | IN_DATA * (_letter.isalnum() or _letter in "+/=%")
        | SPECIAL * (_letter in "<&:\f\x7f" or _byte < 32 and _letter not in "\t\n\r")
        | ENDS_NAME * (_byte in b" \t\n\r/>=")
    )


cdef inline bint is_in(unsigned char byte, int classes) noexcept:
    return CLASSES[byte] & classes != 0


def sanitise(bytes raw not None):
    """See :func:`scrapy_simdedup.page.parse.sanitise`."""
    made = None if b"\0" in raw else cleaned(raw, True)
    if made is None:
        raw = replaced(raw.replace(b"\0", b""), c"<", html_end, b"")
        raw = replaced(raw, c"&", control_reference, b" ")
        made = cleaned(replaced(raw, c"d", data_address, b"data:,"), False)
    return made


cdef tuple cleaned(bytes raw, bint whole):
    """The bytes with spaces for control characters.

    If ``whole``, without the ends of ``<html>`` and ``<body>`` too, which is all that most pages need; None for others.
    """
    cdef bytes made = PyBytes_FromStringAndSize(NULL, len(raw))
    cdef const unsigned char* begin = raw
    cdef const unsigned char* here = begin
    cdef const unsigned char* end = here + len(raw)
    cdef unsigned char* start = <unsigned char*> PyBytes_AS_STRING(made)
    cdef Kept kept = Kept(here, start)
    cdef Py_ssize_t controls = 0, tags, found
    cdef unsigned char byte
    while True:
        while end - here > BLOCK + 2 and is_plain(here):
            here += BLOCK
        while not is_in(here[0], SPECIAL):  # as is the zero behind the bytes
            here += 1
        if here == end:
            break
        byte = here[0]
        if byte == c"<":
            found = html_end(here, end) if whole and here[1] == c"/" else 0
            if found:
                keep(&kept, here, here + found)
                if kept.into > start and kept.into[-1] != c">" and not is_in(kept.into[-1], SPACE):
                    return None  # what stands on both sides might become one reference or address
                here += found
                continue
        elif byte == c"&":
            if whole and control_reference(here, end):
                return None
        elif byte == c":":
            if whole and here - begin >= 4 and here[-1] == c"a" and data_address(here - 4, end):
                return None
        else:
            controls += byte != c"\f"
            keep(&kept, here, here + 1)
            kept.into[0] = c" "
            kept.into += 1
        here += 1
    keep(&kept, end, end)
    tags = count_tags(start, kept.into)
    return made if kept.into - start == len(raw) else made[: kept.into - start], controls, tags


cdef inline bint is_plain(const unsigned char* text) noexcept:
    """Whether nothing begins in a block that would be taken out of it; compilers look at many of its bytes at once."""
    cdef unsigned char found = 0, byte
    cdef int place
    for place in range(BLOCK):
        byte = text[place]
        found |= (byte < 32) & (byte != c"\t") & (byte != c"\n") & (byte != c"\r") | (byte == 127)
        found |= (byte == c"&") & (text[place + 1] == c"#") | (byte == c"a") & (text[place + 1] == c":")
        found |= (byte == c"<") & (text[place + 1] == c"/") & (
            ((text[place + 2] | 0x20) == c"h") | ((text[place + 2] | 0x20) == c"b")
        )
    return not found


cdef Py_ssize_t count_tags(const unsigned char* text, const unsigned char* end) noexcept:
    cdef Py_ssize_t made = 0
    cdef unsigned char found
    cdef int place
    while end - text > BLOCK:  # as few as this fit into a byte, and many bytes are counted at once
        found = 0
        for place in range(BLOCK):
            found += text[place] == c"<"
        made += found
        text += BLOCK
    while text < end:
        made += text[0] == c"<"
        text += 1
    return made


cdef struct Kept:
    const unsigned char* until  # what stands before is copied, or dropped
    unsigned char* into


cdef inline void keep(Kept* kept, const unsigned char* end, const unsigned char* following) noexcept:
    """Copy what is left up to ``end``, and drop what stands from there to ``following``."""
    memcpy(kept.into, kept.until, end - kept.until)
    kept.into += end - kept.until
    kept.until = following


cdef bytes replaced(bytes raw, unsigned char first, Length length, bytes by):
    cdef const unsigned char* start = raw
    cdef const unsigned char* end = start + len(raw)
    cdef const unsigned char* kept = start
    cdef const unsigned char* here = start
    cdef Py_ssize_t found
    cdef list parts = None
    while True:
        here = <const unsigned char*> memchr(here, first, end - here)
        if here is NULL:
            break
        found = length(here, end)
        if not found:
            here += 1
            continue
        if parts is None:
            parts = []
        parts.append(kept[: here - kept])
        here += found
        kept = here
    if parts is None:
        return raw
    parts.append(kept[: end - kept])
    return by.join(parts)


cdef bint begins(const unsigned char* text, const unsigned char* end, const char* name) noexcept:
    """Whether a text begins with a name in lower case, in any case."""
    while name[0]:
        if text >= end or (text[0] | 0x20) != <unsigned char> name[0]:
            return False
        text += 1
        name += 1
    return True


cdef bint is_word(const unsigned char* text, const unsigned char* end, const char* name) noexcept:
    """Whether a text begins with a name as a whole word."""
    cdef Py_ssize_t length = 0
    while name[length]:
        length += 1
    return begins(text, end, name) and (text + length == end or not is_in(text[length], WORD))


cdef Py_ssize_t html_end(const unsigned char* text, const unsigned char* end) noexcept:
    cdef const unsigned char* here = text + 2
    if end - text < 6 or text[1] != c"/" or not (is_word(here, end, b"html") or is_word(here, end, b"body")):
        return 0
    while here < end and here[0] != c"<" and here[0] != c">":
        here += 1
    return here - text + (here < end and here[0] == c">")


cdef Py_ssize_t control_reference(const unsigned char* text, const unsigned char* end) noexcept:
    cdef const unsigned char* here = text + 2
    cdef int base = 10, value = 0
    cdef unsigned char digit
    if end - text < 3 or text[1] != c"#":
        return 0
    if (here[0] | 0x20) == c"x":
        base = 16
        here += 1
    while here < end and is_in(here[0], HEX) and (base == 16 or here[0] <= c"9"):
        digit = here[0] - c"0" if here[0] <= c"9" else (here[0] | 0x20) - c"a" + 10
        value = min(base * value + digit, 0x10000)
        here += 1
    if not (1 <= value <= 8 or 11 <= value <= 12 or 14 <= value <= 31 or 0xFFFE <= value <= 0xFFFF):
        return 0
    return here - text + (here < end and here[0] == c";")


cdef Py_ssize_t data_address(const unsigned char* text, const unsigned char* end) noexcept:
    cdef const unsigned char* here = text + 5
    cdef const unsigned char* start = here
    if end - text < 206 or text[0] != c"d" or text[1] != c"a" or text[2] != c"t" or text[3] != c"a" or text[4] != c":":
        return 0
    while here < end and here - start <= 60 and is_in(here[0], IN_DATA_TYPE):
        here += 1
    if here == end or here[0] != c"," or here - start > 60:
        return 0
    here += 1
    start = here
    while here < end and is_in(here[0], IN_DATA):
        here += 1
    return here - text if here - start >= 200 else 0


def mentions(bytes raw not None, bytes mark not None, Py_ssize_t rare=0):
    """See :func:`scrapy_simdedup.page.parse.mentions`."""
    cdef const unsigned char* sought = mark
    cdef const unsigned char* here = <const unsigned char*> raw + min(rare, len(raw))
    cdef const unsigned char* end = <const unsigned char*> raw + len(raw)
    while True:
        here = <const unsigned char*> memchr(here, sought[rare], end - here)
        if here is NULL or end - here < len(mark) - rare:
            return False
        if memcmp(here - rare, sought, len(mark)) == 0:
            return True
        here += 1


def long_tags(bytes raw not None, Py_ssize_t longer):
    """See :func:`scrapy_simdedup.page.parse.long_tags`."""
    cdef const unsigned char* here = raw
    cdef const unsigned char* end = here + len(raw)
    cdef const unsigned char* start
    cdef bint is_code
    cdef list found = []
    while True:
        here = <const unsigned char*> memchr(here, c"<", end - here)
        if here is NULL:
            return found
        here += 1
        if end - here >= 3 and here[0] == c"!" and here[1] == c"-" and here[2] == c"-":
            here = end_of_comment(here + 3, end)
        elif here < end and c"a" <= (here[0] | 0x20) <= c"z":
            is_code = is_word(here, end, b"script") or is_word(here, end, b"style")
            if is_code:
                here += 6 if (here[1] | 0x20) == c"c" else 5
            start = here
            here = end_of_attributes(here, end)
            if here - start > longer:
                found.append(start[: here - start])
            if is_code:
                here = end_of_code(here, end)


cdef const unsigned char* end_of_comment(const unsigned char* here, const unsigned char* end) noexcept:
    while True:
        here = <const unsigned char*> memchr(here, c"-", end - here)
        if here is NULL:
            return end
        if end - here >= 3 and here[1] == c"-" and here[2] == c">":
            return here
        here += 1


cdef const unsigned char* end_of_code(const unsigned char* here, const unsigned char* end) noexcept:
    while True:
        here = <const unsigned char*> memchr(here, c"<", end - here)
        if here is NULL:
            return end
        if end - here >= 2 and here[1] == c"/" and (begins(here + 2, end, b"script") or begins(here + 2, end, b"style")):
            return here
        here += 1


cdef const unsigned char* end_of_attributes(const unsigned char* here, const unsigned char* end) noexcept:
    """The end of a tag, or of what of it can be read: up to a quotation that never ends."""
    cdef const unsigned char* value
    while True:
        while here < end and here[0] != c">" and here[0] != c"=":
            here += 1
        if here == end or here[0] == c">":
            return here
        value = here + 1
        while value < end and is_in(value[0], SPACE):
            value += 1
        if value == end:
            return here
        if value[0] == c'"' or value[0] == c"'":
            value = <const unsigned char*> memchr(value + 1, value[0], end - value - 1)
            if value is NULL:
                return here
            value += 1
        else:
            while value < end and value[0] != c">" and not is_in(value[0], SPACE):
                value += 1
        here = value


def drop_idle_attributes(bytes raw not None):
    """See :func:`scrapy_simdedup.page.parse.drop_idle_attributes`."""
    cdef bytes made = PyBytes_FromStringAndSize(NULL, len(raw))
    cdef const unsigned char* here = raw
    cdef const unsigned char* end = here + len(raw)
    cdef unsigned char* start = <unsigned char*> PyBytes_AS_STRING(made)
    cdef Kept kept = Kept(here, start)
    while here < end:
        here = <const unsigned char*> memchr(here, c"<", end - here)
        if here is NULL:
            break
        here += 1
        if here < end and is_letter(here[0]):
            here = end_of_start_tag(here, end, &kept)
        elif end - here >= 2 and here[0] == c"/" and is_letter(here[1]):
            here = end_of_end_tag(here + 1, end)
        elif end - here >= 3 and here[0] == c"!" and here[1] == c"-" and here[2] == c"-":
            here = behind_comment(here + 3, end)
        elif here < end and (here[0] == c"!" or here[0] == c"?" or here[0] == c"/"):
            here = behind(here, end, c">")
    keep(&kept, end, end)
    return made[: kept.into - start]


cdef inline bint is_letter(unsigned char byte) noexcept:
    return c"a" <= (byte | 0x20) <= c"z"


cdef inline const unsigned char* skipped(const unsigned char* here, const unsigned char* end, int classes) noexcept:
    while here < end and is_in(here[0], classes):
        here += 1
    return here


cdef inline const unsigned char* behind(const unsigned char* here, const unsigned char* end, unsigned char byte) noexcept:
    here = <const unsigned char*> memchr(here, byte, end - here)
    return end if here is NULL else here + 1


cdef const unsigned char* behind_comment(const unsigned char* here, const unsigned char* end) noexcept:
    """The end of a comment: ``-->`` or ``--!>``, and right at its beginning ``>`` or ``->``."""
    cdef const unsigned char* start = here
    while True:
        here = behind(here, end, c">")
        if here == end or here - start < 2 or (here - start == 2 and start[0] == c"-"):
            return here
        if here - start > 2 and here[-2] == c"-" and here[-3] == c"-":
            return here
        if here - start > 3 and here[-2] == c"!" and here[-3] == c"-" and here[-4] == c"-":
            return here


cdef const unsigned char* end_of_start_tag(const unsigned char* name, const unsigned char* end, Kept* kept) noexcept:
    """The end of a tag from its name on, or of the text that it begins; what is idle of it is dropped.

    A tag that does not end is kept, and one in which a name begins with ``=``: it may be the value of the name before.
    """
    cdef Kept before = kept[0]
    cdef const unsigned char* here = end_of_tag_name(name, end)
    cdef Py_ssize_t length = here - name
    cdef const unsigned char* start
    cdef bint is_odd = False
    cdef bint ignores_names = length == 1 and name[0] | 0x20 in b"abi"  # such as most tags with a class
    while True:
        here = skipped(here, end, SPACE)
        if here == end or here[0] == c">" or (here[0] == c"/" and here + 1 < end and here[1] == c">"):
            break
        if here[0] == c"/":
            here += 1
            continue
        start = here
        is_odd = is_odd or here[0] == c"="
        here = end_of_attribute(here, end)
        if is_in(start[-1], SPACE) and not is_read(start, here, ignores_names):
            keep(kept, start, here)
    if is_odd or here == end:
        kept[0] = before
    return end_of_text(name, length, here, end) if here < end and here[0] == c">" else here


cdef const unsigned char* end_of_end_tag(const unsigned char* here, const unsigned char* end) noexcept:
    here = end_of_tag_name(here, end)
    while here < end and here[0] != c">":
        here = here + 1 if here[0] == c"/" or is_in(here[0], SPACE) else end_of_attribute(here, end)
    return here


cdef inline const unsigned char* end_of_tag_name(const unsigned char* here, const unsigned char* end) noexcept:
    while here < end and (here[0] == c"=" or not is_in(here[0], ENDS_NAME)):
        here += 1
    return here


cdef inline const unsigned char* end_of_attribute(const unsigned char* here, const unsigned char* end) noexcept:
    """The end of an attribute with its value; its name has one character at least."""
    cdef const unsigned char* value
    here += 1
    while here < end and not is_in(here[0], ENDS_NAME):
        here += 1
    value = skipped(here, end, SPACE)
    if value == end or value[0] != c"=":
        return here
    value = skipped(value + 1, end, SPACE)
    if value < end and (value[0] == c'"' or value[0] == c"'"):
        return behind(value + 1, end, value[0])
    while value < end and value[0] != c">" and not is_in(value[0], SPACE):
        value += 1
    return value


cdef inline bint is_read(const unsigned char* name, const unsigned char* end, bint ignores_names) noexcept:
    """Whether an attribute is one of those that are read."""
    cdef unsigned char first = name[0] | 0x20
    if first == c"h":
        return is_attribute(name, end, b"href") and may_lead_to_no_page(name + 4, end)
    if not (first == c"c" or first == c"d" or first == c"i" or first == c"r" or first == c"s" or first == c"t"):
        return False
    return (
        not ignores_names and (is_attribute(name, end, b"class") or is_attribute(name, end, b"id"))
        or is_attribute(name, end, b"role") or is_attribute(name, end, b"type") or is_attribute(name, end, b"itemprop")
        or is_attribute(name, end, b"shadowrootmode") or is_attribute(name, end, b"download")
    )


cdef inline bint may_lead_to_no_page(const unsigned char* here, const unsigned char* end) noexcept:
    """Whether a link may lead to a place of the page, or be such as ``leads_to_no_page`` finds, by its written value.

    That begins with a sign or a short scheme, or a short word stands at its end, behind a dot. What is written with an
    ampersand may be any of them.
    """
    cdef const unsigned char* start
    cdef const unsigned char* dot = NULL
    here = skipped(here, end, SPACE)
    if here == end or here[0] != c"=":
        return False
    here = skipped(here + 1, end, SPACE)
    if here < end and (here[0] == c'"' or here[0] == c"'"):
        here += 1
        end -= 1
    start = here
    while here < end and not (here[0] == c"#" and here > start):
        if here[0] == c"#" or here[0] == c"&":
            return True
        if here[0] == c":" and here - start < MAX_END and here + 1 < end and here[1] != c"/":
            return True
        if here[0] == c"?" and may_end_file(dot, here):
            return True
        if here[0] == c".":
            dot = here
        here += 1
    return may_end_file(dot, here)


cdef inline bint may_end_file(const unsigned char* dot, const unsigned char* end) noexcept:
    """Whether the end behind a dot, if there is any, is short and begins otherwise than ``html``."""
    return dot is not NULL and 1 < end - dot < MAX_END and dot[1] | 0x20 != c"h"


cdef inline bint is_attribute(const unsigned char* text, const unsigned char* end, const char* name) noexcept:
    cdef Py_ssize_t length = strlen(name)
    return begins(text, end, name) and (text + length == end or is_in(text[length], ENDS_NAME))


cdef const unsigned char* end_of_text(
    const unsigned char* name, Py_ssize_t length, const unsigned char* here, const unsigned char* end
) noexcept:
    """Where tags begin again behind the tag with a name: there, or at the end of an element in which there are none."""
    cdef bint is_script = is_tag(name, length, b"script")
    cdef int escaped = 0  # 1 behind a <!-- in a script, 2 behind a <script> in that
    if not (
        is_script or is_tag(name, length, b"style") or is_tag(name, length, b"title")
        or is_tag(name, length, b"textarea") or is_tag(name, length, b"iframe") or is_tag(name, length, b"xmp")
        or is_tag(name, length, b"noembed") or is_tag(name, length, b"noframes")
    ):
        return end if is_tag(name, length, b"plaintext") else here
    while here < end:
        if not escaped:
            here = <const unsigned char*> memchr(here, c"<", end - here)
            if here is NULL:
                return end
        if here[0] == c"<":
            if is_script and not escaped and end - here >= 4 and memcmp(here, b"<!--", 4) == 0:
                escaped = 1
            elif end - here >= 2 and here[1] == c"/" and names(here + 2, end, name, length):
                if escaped < 2:
                    return here
                escaped = 1
            elif escaped == 1 and names(here + 1, end, name, length):
                escaped = 2
        elif escaped and end - here >= 3 and memcmp(here, b"-->", 3) == 0:
            escaped = 0
        here += 1
    return end


cdef inline bint is_tag(const unsigned char* text, Py_ssize_t length, const char* name) noexcept:
    return <Py_ssize_t> strlen(name) == length and begins(text, text + length, name)


cdef inline bint names(
    const unsigned char* text, const unsigned char* end, const unsigned char* name, Py_ssize_t length
) noexcept:
    """Whether a text begins with the name of a tag, in any case, and with what ends it."""
    cdef Py_ssize_t place
    if end - text <= length or text[length] == c"=" or not is_in(text[length], ENDS_NAME):
        return False
    for place in range(length):
        if (text[place] | 0x20) != (name[place] | 0x20):
            return False
    return True
