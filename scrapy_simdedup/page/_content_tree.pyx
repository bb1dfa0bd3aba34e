# cython: cdivision=True
"""The compiled :mod:`scrapy_simdedup.page.content_tree`, over libxml2's own nodes: elements of lxml only for what is kept."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport strcmp
from lxml.includes.etreepublic cimport (
    _Document, _Element, attributeValueFromNsName, elementFactory, import_lxml__etree, tailOf, textOf
)
from lxml.includes.tree cimport XML_CDATA_SECTION_NODE, XML_ELEMENT_NODE, XML_TEXT_NODE, xmlAttr, xmlNode

from lxml import etree

from scrapy_simdedup.page import content_tree as _twin
from scrapy_simdedup.page import roles as _roles

cdef extern from "libxml/xmlversion.h":
    int LIBXML_VERSION

if LIBXML_VERSION // 100 != etree.LIBXML_VERSION[0] * 100 + etree.LIBXML_VERSION[1]:
    raise ImportError("compiled for another version of libxml2, whose nodes may look different")
import_lxml__etree()

cdef enum:
    TAGS = 64  # a power of two
    NO_TAG, BR, HR, IMG, INPUT, PRE, CELL  # what is asked of tags
cdef dict CODES = {"br": BR, "hr": HR, "img": IMG, "input": INPUT, "pre": PRE, **dict.fromkeys(_twin._CELL_TAGS, CELL)}
cdef dict TAG_FLAGS = _roles.TAG_FLAGS
cdef unsigned int BLOCK = _roles.BLOCK
cdef unsigned int SKIPPED = _roles.SKIPPED
cdef object ContentNode = _twin.ContentNode
cdef str DROPPED = _twin._DROPPED
cdef str BREAK = _twin._BREAK
cdef Py_ssize_t MAX_INSIDE = _twin.MAX_INSIDE


cdef struct Around:
    int code
    bint is_block
    bint in_pre
    bint holds_block
    Py_ssize_t first
    Py_ssize_t first_leaf


def build_content_tree(_Element root not None, is_chosen):
    """See :func:`scrapy_simdedup.page.content_tree.python_build_content_tree`."""
    cdef list chosen = [bool(one) for one in is_chosen]
    if chosen and True not in chosen:
        return None
    cdef Tree made = Tree(root._doc, chosen)
    made.over(root._c_node)
    cdef list children = made.children
    return children[0] if children and isinstance(children[0], ContentNode) else None


@cython.final
cdef class Tree:
    cdef _Document document
    cdef bytearray chosen
    cdef Py_ssize_t blocks, last
    cdef Py_ssize_t number
    """The block that the line belongs to, if it is not blank."""
    cdef bint has_text
    cdef bint has_gap
    """Whether a block element that is not kept parts the line before from what comes next."""
    cdef list line_leaves, leaves
    cdef list children
    """What is kept of the innermost element that is not over yet; None for nothing so far."""
    cdef list lists
    """What is kept of the elements around it."""
    cdef Around here
    cdef Around* around
    cdef Py_ssize_t depth, room
    cdef const void* names[TAGS]
    """Tags seen before, by the address of the name: libxml2 keeps each name once."""
    cdef unsigned int flags[TAGS]
    cdef int codes[TAGS]

    def __cinit__(self, _Document document, list chosen):
        self.document = document
        self.chosen = bytearray(chosen)
        self.blocks = len(chosen)
        self.last = self.blocks - chosen[::-1].index(True) if chosen else 0
        self.line_leaves, self.leaves, self.lists = [], [], []

    def __dealloc__(self):
        PyMem_Free(self.around)

    cdef bint is_kept(self, Py_ssize_t block) except -1:
        return block < self.blocks and self.chosen[block] != 0

    cdef int over(self, xmlNode* root) except -1:
        cdef xmlNode* element = root
        cdef xmlNode* following
        cdef bint ends = False
        while True:
            following = first_element(element.children) if self.enter(element) else NULL
            if self.number > self.last:  # one block behind the last that is chosen: nothing that follows is kept
                following, ends = NULL, True
            while following is NULL:
                self.leave(element)
                if element is root:
                    return 0
                following = NULL if ends else first_element(element.next)
                if following is NULL:
                    element = element.parent
            element = following

    cdef int enter(self, xmlNode* element) except -1:
        """Enter an element; whether to look inside."""
        cdef size_t place = 0
        cdef unsigned int flags = 0
        cdef int code = NO_TAG
        cdef bint starts_block
        cdef object leaf
        cdef str tag
        if element.ns is NULL or element.ns.href is NULL:
            place = (<size_t> element.name >> 3) & (TAGS - 1)
            if self.names[place] is not <const void*> element.name:
                tag = (<const char*> element.name).decode("utf-8")
                self.flags[place] = TAG_FLAGS.get(tag, 0)
                self.codes[place] = CODES.get(tag, NO_TAG)
                self.names[place] = <const void*> element.name
            flags, code = self.flags[place], self.codes[place]
        starts_block = flags & BLOCK != 0
        if starts_block:
            self.end_line()
        if code == BR:
            if self.is_kept(self.number) or (self.number and self.is_kept(self.number - 1)):
                self.keep(ContentNode(elementFactory(self.document, element), ()))
        elif code == HR or code == IMG or (code == INPUT and self.is_checkbox(element)):
            leaf = ContentNode(elementFactory(self.document, element), ())
            self.keep(leaf)
            if code == HR:
                self.leaves.append((self.number, leaf))
                self.here.holds_block = True
            else:
                self.line_leaves.append(leaf)
        self.push()
        self.lists.append(self.children)
        self.here.code = code
        self.here.is_block, self.here.holds_block = starts_block, False
        self.here.first, self.here.first_leaf = self.number, len(self.leaves)
        self.children = None
        if starts_block and code != BR:
            self.has_gap = False
        if flags & SKIPPED and not has_attribute(element, b"shadowrootmode"):
            return False
        if code == PRE:
            self.here.in_pre = True
        self.add_text(element, element.children, False)
        return True

    cdef int leave(self, xmlNode* element) except -1:
        cdef Around left
        cdef list kept
        cdef Py_ssize_t place
        if self.here.is_block:
            self.end_line()
            if len(self.leaves) > self.here.first_leaf and self.number > self.here.first:
                for place, leaf in self.leaves[self.here.first_leaf :]:
                    if (place > self.here.first and not self.is_kept(place - 1)) or (
                        place < self.number and not self.is_kept(place)
                    ):
                        leaf.tag = DROPPED
                del self.leaves[self.here.first_leaf :]
        left, kept = self.here, self.children
        self.depth -= 1
        self.here = self.around[self.depth]
        self.children = self.lists.pop()
        if kept is not None or left.code == CELL:
            self.keep(
                ContentNode(
                    elementFactory(self.document, element), [] if kept is None else kept, holds_block=left.holds_block
                )
            )
            self.here.holds_block = self.here.holds_block or left.holds_block or (left.is_block and left.code != BR)
            if left.is_block:
                self.has_gap = False
        elif left.code != BR:
            if left.is_block:
                self.has_gap = True
            if self.has_gap and self.children is not None:
                self.mark_gap(element)
        self.add_text(element, element.next, True)
        return 0

    cdef int push(self) except -1:
        cdef void* made
        if self.depth == self.room:
            made = PyMem_Realloc(self.around, (2 * self.depth + 64) * sizeof(Around))
            if made is NULL:
                raise MemoryError
            self.around = <Around*> made
            self.room = 2 * self.depth + 64
        self.around[self.depth] = self.here
        self.depth += 1
        return 0

    cdef int keep(self, object child) except -1:
        if self.children is None:
            self.children = []
        self.children.append(child)
        return 0

    cdef int mark_gap(self, xmlNode* element) except -1:
        cdef object before = self.children[len(self.children) - 1] if self.children else ""
        cdef object gap
        self.has_gap = False
        if type(before) is str or not before.is_block:
            gap = ContentNode(elementFactory(self.document, element), ())
            gap.tag = BREAK
            self.keep(gap)
        return 0

    cdef bint is_checkbox(self, xmlNode* element) except -1:
        return elementFactory(self.document, element).get("type", "").lower() == "checkbox"

    cdef int add_text(self, xmlNode* element, xmlNode* node, bint is_tail) except -1:
        """Add the text nodes that follow one another, if they belong to a chosen block."""
        cdef bint is_kept = self.is_kept(self.number)
        cdef object text = None
        cdef int blank
        if node is NULL or (node.type != XML_TEXT_NODE and node.type != XML_CDATA_SECTION_NODE):
            return 0
        if not self.has_text:
            blank = is_blank(node)
            if blank < 0:
                text = tailOf(element) if is_tail else textOf(element)
                blank = not text or text.isspace()
            self.has_text = not blank
        if is_kept and (self.has_text or self.here.in_pre):
            if text is None:
                text = tailOf(element) if is_tail else textOf(element)
            if text:
                if self.has_gap:
                    self.mark_gap(element)
                self.keep(text)
        return 0

    cdef int end_line(self) except -1:
        if self.has_text:
            if self.line_leaves and not self.is_kept(self.number):
                for leaf in self.line_leaves:
                    leaf.tag = DROPPED
            self.number += 1
            self.has_text = False
        else:
            for leaf in self.line_leaves:
                if leaf.tag == "input":
                    leaf.tag = DROPPED
                else:
                    self.leaves.append((self.number, leaf))
        if self.line_leaves:
            self.line_leaves.clear()
        return 0


def inner_links(_Element root not None):
    """See :func:`scrapy_simdedup.page.content_tree.python_inner_links`."""
    cdef list links = []
    cdef dict places = {}
    cdef xmlNode* element = root._c_node
    cdef xmlNode* within
    cdef Py_ssize_t number = 0, inside
    cdef object name
    while element is not NULL:
        if is_link(element) and has_attribute(element, b"href"):
            name = attributeValueFromNsName(element, NULL, b"href")
            if name[0:1] == "#" and len(name) > 1:
                links.append((number, name[1:]))
        element, number = next_element(element, root._c_node), number + 1
    if len(links) < 2:
        return [], {}
    for _, name in links:
        places[name] = None
    element, number = root._c_node, 0
    while element is not NULL:
        name = attributeValueFromNsName(element, NULL, b"id") if has_attribute(element, b"id") else None
        if not name and is_link(element) and has_attribute(element, b"name"):
            name = attributeValueFromNsName(element, NULL, b"name")
        if name and name in places and places[name] is None:
            within, inside = next_element(element, element), 0
            while within is not NULL and inside <= MAX_INSIDE:
                within, inside = next_element(within, element), inside + 1
            places[name] = number, inside
        element, number = next_element(element, root._c_node), number + 1
    return links, {name: place for name, place in places.items() if place is not None}


def single_spaced(str text not None):
    """See :func:`scrapy_simdedup.page.content_tree.python_single_spaced`."""
    cdef Py_UCS4 sign
    cdef bint is_after_blank = True
    for sign in text:
        if sign == 32 and not is_after_blank:
            is_after_blank = True
        elif (sign <= 32 or sign >= 127) and sign.isspace():
            return " ".join(text.split())
        else:
            is_after_blank = False
    return " ".join(text.split()) if is_after_blank else text


cdef inline bint is_link(xmlNode* element) noexcept:
    return strcmp(<const char*> element.name, b"a") == 0 and (element.ns is NULL or element.ns.href is NULL)


cdef xmlNode* next_element(xmlNode* element, xmlNode* around) noexcept:
    """The next element in document order, inside of another or that one."""
    cdef xmlNode* found = first_element(element.children)
    while found is NULL and element is not around:
        found = first_element(element.next)
        element = element.parent
    return found


cdef inline xmlNode* first_element(xmlNode* node) noexcept:
    while node is not NULL and node.type != XML_ELEMENT_NODE:
        node = node.next
    return node


cdef bint has_attribute(xmlNode* element, const char* name) noexcept:
    cdef xmlAttr* found = element.properties
    while found is not NULL:
        if found.ns is NULL and strcmp(<const char*> found.name, name) == 0:
            return True
        found = found.next
    return False


cdef int is_blank(xmlNode* node) noexcept:
    """Whether texts are white space; -1 where a character that is not ASCII decides."""
    cdef const unsigned char* at
    while node is not NULL and (node.type == XML_TEXT_NODE or node.type == XML_CDATA_SECTION_NODE):
        at = <const unsigned char*> node.content
        while at is not NULL and at[0]:
            if at[0] >= 128:
                return -1
            if not (at[0] == 32 or 9 <= at[0] <= 13 or 28 <= at[0] <= 31):
                return 0
            at += 1
        node = node.next
    return 1
