"""The compiled loops of :mod:`scrapy_simdedup.page.classify`, of what it asks, and of the blocks that are made then.

They take a twelfth of the time, consent notices a fifth.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_Tailmatch
from libc.string cimport memchr, memcmp

from zlib import crc32

from scrapy_simdedup.page import amounts as _amounts
from scrapy_simdedup.page import roles as _roles

cdef extern from "Python.h":
    int PyUnicode_1BYTE_KIND
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    int Py_UNICODE_ISDECIMAL(Py_UCS4 character)
    ctypedef struct PyTypeObject
    tuple PyType_GenericAlloc(PyTypeObject* kind, Py_ssize_t size)

cdef Py_ssize_t AD = _roles.AD
cdef Py_ssize_t ASIDE = _roles.ASIDE
cdef Py_ssize_t BOILERPLATE_ROLES = _roles.BOILERPLATE_ROLES
cdef Py_ssize_t BRANDING = _roles.BRANDING
cdef Py_ssize_t BY_SETTING = _roles.BY_SETTING
cdef Py_ssize_t BY_SHAPE = _roles.BY_SHAPE
cdef Py_ssize_t COMMENT = _roles.COMMENT
cdef Py_ssize_t FACTS = _roles.FACTS
cdef Py_ssize_t FOOTER = _roles.FOOTER
cdef Py_ssize_t FORM = _roles.FORM
cdef Py_ssize_t H1 = _roles.H1
cdef Py_ssize_t HEADING = _roles.HEADING
cdef Py_ssize_t HEADER = _roles.HEADER
cdef Py_ssize_t MAIN = _roles.MAIN
cdef Py_ssize_t MAIN_TAG = _roles.MAIN_TAG
cdef Py_ssize_t META = _roles.META
cdef Py_ssize_t NAV = _roles.NAV
cdef Py_ssize_t PARAGRAPH = _roles.PARAGRAPH
cdef Py_ssize_t TEXT_ROLES = _roles.TEXT_ROLES
cdef Py_ssize_t WEAK_ROLES = _roles.WEAK_ROLES
cdef Py_ssize_t WIDGET = _roles.WIDGET
cdef Py_ssize_t WRAPPER_ROLES = _roles.WRAPPER_ROLES
cdef Py_ssize_t INSET_ROLES = ASIDE | _roles.FOOTER | FORM | META | WIDGET  # of page
cdef Py_ssize_t COLUMN_ROLES = ASIDE | WIDGET  # of page
cdef Py_ssize_t BESIDE_ROLES = COLUMN_ROLES | _roles.FOOTER  # of page
cdef Py_ssize_t LINK_LIST = NAV | BY_SHAPE
cdef Py_ssize_t MIN_MENU_LENGTH = 200  # of classify, as the next
cdef Py_ssize_t MIN_PROSE_LENGTH = 200
cdef enum:
    BOILERPLATE = 1
    BLOCK_FIELDS = 7  # of page.Block
    MAX_LENGTH = 100  # of amounts, as the next
    MAX_LENGTH_OF_FIGURE = 20
cdef unsigned int PATH_FACTOR = 0x9E3779B1  # of block_tree
cdef unsigned int CELL = crc32(b"td"), HEAD = crc32(b"th"), TERM = crc32(b"dt"), VALUE = crc32(b"dd")  # of page
cdef object is_figure = _amounts.is_figure
cdef double WRAPPER_SHARE = 0.8
cdef double WEAK_WRAPPER_SHARE = 0.5
cdef double MIN_CONTENT_SHARE = 0.05


def subtree_totals(list parents not None, list places not None, values):
    """See :func:`scrapy_simdedup.page.block_tree.subtree_totals`."""
    cdef Py_ssize_t number = 0, value
    cdef Py_ssize_t* totals = <Py_ssize_t*> PyMem_Calloc(len(parents) + 1, sizeof(Py_ssize_t))
    if totals is NULL:
        raise MemoryError
    try:
        for value in values:
            totals[<Py_ssize_t> places[number]] += value
            number += 1
        add_up(totals, parents)
        return [totals[number] for number in range(len(parents))]
    finally:
        PyMem_Free(totals)


def mark_ancestors(list parents not None, places):
    """See :func:`scrapy_simdedup.page.block_tree.mark_ancestors`."""
    cdef list around = [False] * len(parents)
    cdef Py_ssize_t place
    for place in places:
        while place >= 0 and around[place] is False:
            around[place] = True
            place = parents[place]
    return around


def mark_descendants(list parents not None, marked):
    """See :func:`scrapy_simdedup.page.block_tree.mark_descendants`."""
    cdef list inside = []
    cdef Py_ssize_t parent, number = 0
    for mark in marked:
        parent = parents[number]
        inside.append(bool(mark) or (parent >= 0 and inside[parent] is True))
        number += 1
    return inside


def count_mentions(texts):
    """See :func:`scrapy_simdedup.page.boilerplate_texts.count_mentions`."""
    cdef tuple cookie_words = texts_twin().COOKIE_WORDS
    return [count_words(text, cookie_words) for text in texts]


cdef Py_ssize_t count_words(str text, tuple words) except -1:
    """How often one of the words for cookies stands in a text; their first two letters say where to look."""
    cdef Py_ssize_t place = 0, made = 0
    cdef Py_UCS4 before = 0, letter
    if PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND:
        return count_latin_words(<const unsigned char*> PyUnicode_DATA(text), len(text))
    for letter in text:
        if before in u"cCкКクע쿠" and letter in u"oOуッו키":
            for word in words:
                made += PyUnicode_Tailmatch(text, word, place - 1, len(text), -1)
        before = letter
        place += 1
    return made


cdef Py_ssize_t count_latin_words(const unsigned char* text, Py_ssize_t size) noexcept:
    """The same where there are Latin letters alone: there is no other ``k`` in these words, and it is rare."""
    cdef const unsigned char* here = text
    cdef const unsigned char* end = text + size
    cdef Py_ssize_t made = 0
    while True:
        here = <const unsigned char*> memchr(here, c"k", end - here)
        if here is NULL:
            break
        if here - text >= 3 and end - here >= 3 and memcmp(here - 2, b"ookie", 5) == 0:
            made += here[-3] == c"c" or here[-3] == c"C"
        here += 1
    here = text
    while True:
        here = <const unsigned char*> memchr(here, c"K", end - here)
        if here is NULL:
            return made
        made += here - text >= 3 and end - here >= 3 and memcmp(here - 3, b"COOKIE", 6) == 0
        here += 1


cdef int add_up(Py_ssize_t* totals, list parents) except -1:
    """Add what lies deeper to each place of a tree."""
    cdef Py_ssize_t place
    for place in range(len(parents) - 1, 0, -1):
        totals[<Py_ssize_t> parents[place]] += totals[place]
    return 0


cdef struct Node:
    Py_ssize_t parent
    Py_ssize_t own  # roles, as the next three
    Py_ssize_t plausible
    Py_ssize_t of_post  # the own roles of the post beside a long one that it is or lies in, or 0
    Py_ssize_t inherited
    Py_ssize_t text  # characters inside, as the next
    Py_ssize_t paragraphs
    Py_ssize_t part  # the innermost main part that it is or lies in, or -1
    bint holds_headline


def classify_by_roles(tree):
    """See :func:`scrapy_simdedup.page.classify.classify_by_roles`."""
    cdef Node* nodes = <Node*> PyMem_Calloc(len(tree.role_parents), sizeof(Node))
    if nodes is NULL:
        raise MemoryError
    try:
        measure_nodes(nodes, tree.role_parents, tree.node_roles, tree.role_nodes, tree.text_roles, tree.texts)
        find_plausible_roles(nodes, len(tree.role_parents))
        inherit_roles(nodes, len(tree.role_parents))
        return classes_of_blocks(nodes, len(tree.role_parents), tree.role_nodes, tree.text_roles, tree.texts)
    finally:
        PyMem_Free(nodes)


cdef int measure_nodes(
    Node* nodes, list parents, list node_roles, list role_nodes, list text_roles, list texts
) except -1:
    """Fill in all but what a node inherits."""
    cdef Py_ssize_t number, roles, length, count = len(parents)
    cdef Node* node
    for number in range(count):
        node = &nodes[number]
        node.parent, node.own = parents[number], node_roles[number]
        node.part = number if node.own & MAIN else nodes[node.parent].part if number else -1
    for number in range(len(texts)):
        node = &nodes[<Py_ssize_t> role_nodes[number]]
        roles, length = text_roles[number], len(<str> texts[number])
        node.text += length
        if roles & PARAGRAPH:
            node.paragraphs += length
        if roles & H1:
            node.holds_headline = True
    for number in range(count - 1, 0, -1):
        node = &nodes[nodes[number].parent]
        node.text += nodes[number].text
        node.paragraphs += nodes[number].paragraphs
        node.holds_headline = node.holds_headline or nodes[number].holds_headline
    return 0


cdef int find_plausible_roles(Node* nodes, Py_ssize_t count) except -1:
    """See ``_plausible_roles``."""
    cdef Py_ssize_t number
    cdef Node* node
    cdef set posts = set()
    for number in range(count):
        node = &nodes[number]
        node.plausible = roles_by_size(nodes, node)
        if node.plausible < 0:
            node.plausible = node.own & (~WEAK_ROLES | HEADER | BRANDING) if node.holds_headline else node.own
        elif node.own & ~node.plausible & COMMENT:
            posts.add((node.parent, node.own))
    if posts:
        for number in range(count):
            node = &nodes[number]
            if node.plausible & COMMENT and (node.parent, node.own) in posts:
                node.of_post = node.own
            elif number:
                node.of_post = nodes[node.parent].of_post
            if node.of_post and node.of_post == node.own:
                node.plausible &= ~COMMENT
    return 0


cdef Py_ssize_t roles_by_size(Node* nodes, Node* node) noexcept:
    """The roles of a node without those that its size contradicts; -1 if it contradicts none."""
    if node.text > WRAPPER_SHARE * nodes.text:
        return node.own & ~BOILERPLATE_ROLES
    cdef double share = WRAPPER_SHARE if node.own & COMMENT and not node.holds_headline else WEAK_WRAPPER_SHARE
    if node.text > share * nodes.text or (node.part >= 0 and node.paragraphs > share * nodes[node.part].paragraphs):
        return node.own & ~(WRAPPER_ROLES if node.holds_headline else WEAK_ROLES)
    return -1


cdef void inherit_roles(Node* nodes, Py_ssize_t count) noexcept:
    """See ``_inherited_roles``."""
    cdef Py_ssize_t number, roles, around, in_parts = 0
    cdef Node* node
    for number in range(1, count):
        node = &nodes[number]
        if node.part == number and nodes[node.parent].part < 0:
            in_parts += node.text
    for number in range(count):
        node = &nodes[number]
        roles = node.plausible
        around = nodes[node.parent].inherited if number else 0
        if roles & MAIN_TAG:
            around = 0
        elif roles & MAIN and node.text > WEAK_WRAPPER_SHARE * in_parts:
            around &= ~WEAK_ROLES
        if roles & COMMENT:
            roles &= ~ASIDE
            if around & MAIN:
                around &= ~FOOTER
        node.inherited = roles | around
        if node.inherited & MAIN:
            node.inherited &= ~HEADER


cdef tuple classes_of_blocks(Node* nodes, Py_ssize_t count, list role_nodes, list text_roles, list texts):
    """The class of each block, and the boilerplate roles that made it so."""
    cdef Py_ssize_t number, inherited, found, ignored = roles_to_ignore(nodes, count, role_nodes, texts)
    cdef list classes = [], roles = []
    boilerplate, unmarked, content = twin().BlockClass
    for number in range(len(texts)):
        inherited = nodes[<Py_ssize_t> role_nodes[number]].inherited
        found = inherited & BOILERPLATE_ROLES
        if ignored and not found & ~ignored:
            found = 0
        roles.append(found)
        classes.append(boilerplate if found else content if text_roles[number] or inherited & MAIN else unmarked)
    return classes, roles


cdef Py_ssize_t roles_to_ignore(Node* nodes, Py_ssize_t count, list role_nodes, list texts) except -1:
    """See ``_roles_to_ignore``."""
    cdef Py_ssize_t number, length, inherited, found, ignored
    cdef Py_ssize_t everything = 0, content = 0, comments = 0, widgets = 0, ads = 0, in_main = 0
    for number in range(len(texts)):
        inherited, length = nodes[<Py_ssize_t> role_nodes[number]].inherited, len(<str> texts[number])
        found = inherited & BOILERPLATE_ROLES
        everything += length
        content += 0 if found else length
        comments += length if found == COMMENT else 0
        widgets += length if found == WIDGET else 0
        ads += length if found == AD else 0
        in_main += length if inherited & MAIN else 0
    if content > MIN_CONTENT_SHARE * everything:
        ignored = (COMMENT if comments > content else 0) | (WIDGET if widgets > content else 0)
        return ignored | (AD if ads > content else 0)
    for number in range(count):
        if nodes[number].own & MAIN:
            if in_main > MIN_CONTENT_SHARE * everything:
                return WEAK_ROLES
            return WIDGET if has_main_in_widget(nodes, count) else 0
    return WEAK_ROLES


cdef bint has_main_in_widget(Node* nodes, Py_ssize_t count) noexcept:
    """Whether ``<main>`` stands in a widget."""
    cdef Py_ssize_t number, above
    for number in range(count):
        if nodes[number].own & MAIN_TAG:
            above = number
            while above > 0 and not nodes[above].own & WIDGET:
                above = nodes[above].parent
            if nodes[above].own & WIDGET:
                return True
    return False


def unlinked_navigation(tree, list roles not None):
    """See :func:`scrapy_simdedup.page.classify.unlinked_navigation`."""
    cdef list texts = tree.texts, links = tree.link_lengths, text_roles = tree.text_roles, nodes = tree.role_nodes
    cdef list named = None
    cdef Py_ssize_t number, linked, in_links = 0, said = 0
    cdef list is_menu = []
    cdef bint called
    cdef str text
    if tree.named_roles & BY_SETTING:
        named = mark_descendants(tree.role_parents, [found & BY_SETTING > 0 for found in tree.node_roles])
    for number in range(len(texts)):
        called = is_navigation(roles[number]) and (named is None or named[<Py_ssize_t> nodes[number]] is False)
        is_menu.append(called)
        if called:
            text, linked = texts[number], links[number]
            in_links += linked
            if not linked and (<Py_ssize_t> text_roles[number] & TEXT_ROLES or has_digit(text)):
                said += len(text)
    if said < MIN_MENU_LENGTH or said <= in_links:
        return []
    for number in range(len(texts)):
        called = is_menu[number] is True and 2 * <Py_ssize_t> links[number] < len(<str> texts[number])
        is_menu[number] = (NAV | WEAK_ROLES) if called else 0
    return is_menu


cdef inline bint is_navigation(Py_ssize_t roles) noexcept:
    """Whether these are the roles of navigation, and no other but those that are ignored with it."""
    return roles & NAV and not roles & (~(NAV | WEAK_ROLES) | HEADER)


cdef bint has_digit(str text) noexcept:
    cdef Py_UCS4 character
    for character in text:
        if c"0" <= character <= c"9" or (character > 127 and Py_UNICODE_ISDECIMAL(character)):
            return True
    return False


cdef struct Box:
    Py_ssize_t roles  # of the box and of those around it
    Py_ssize_t outermost  # the outermost box with a role of insets, or 0
    Py_ssize_t prose  # characters of content in the boxes that stand in it
    bint has_links  # whether a link stands in it, if it is the outermost one
    bint in_headlined  # whether a headline stands beside other texts in it or in a box around it


def find_insets(tree, list classes not None, list roles not None):
    """See :func:`scrapy_simdedup.page.page.find_insets`."""
    cdef list texts = tree.texts, of_blocks = tree.boxes, parents = tree.box_parents, box_roles = tree.box_roles
    cdef list links = tree.link_lengths
    cdef list insets = [False] * len(roles)
    cdef list paths = tree.box_paths
    cdef Py_ssize_t number, parent, found, prose, asked = 0, priced_links = 0
    cdef Box* boxes
    cdef Box* box
    cdef bint among_text, in_text, is_note
    cdef str text
    for number in range(len(roles)):
        found = roles[number]
        if found == LINK_LIST:
            asked += is_fact_of_table(number, texts, links, of_blocks, parents, paths)
        elif may_be_inset(found):
            asked += 1
            priced_links += is_priced_link(roles[number], links[number], texts[number])
    if not asked:
        return insets
    boxes = <Box*> PyMem_Calloc(len(parents), sizeof(Box))
    if boxes is NULL:
        raise MemoryError
    try:
        mark_headlines(boxes, tree, classes)
        for number in range(1, len(parents)):
            box, parent, found = &boxes[number], parents[number], box_roles[number]
            box.roles = boxes[parent].roles | found
            box.in_headlined |= boxes[parent].in_headlined
            box.outermost = boxes[parent].outermost
            if not box.outermost and found & INSET_ROLES:
                box.outermost = number
            if not box.outermost:
                box.roles &= ~FACTS
        for number in range(len(texts)):
            parent = parents[<Py_ssize_t> of_blocks[number]]
            if links[number]:
                boxes[boxes[<Py_ssize_t> of_blocks[number]].outermost].has_links = True
            if parent >= 0 and <Py_ssize_t> classes[number] != BOILERPLATE:
                boxes[parent].prose += len(<str> texts[number])
        for number in range(len(roles)):
            found = roles[number]
            if found != LINK_LIST and not may_be_inset(found):
                continue
            box = &boxes[<Py_ssize_t> of_blocks[number]]
            prose = boxes[<Py_ssize_t> parents[box.outermost]].prose if box.outermost else 0
            among_text = prose > MIN_PROSE_LENGTH
            if found == LINK_LIST:
                if box.roles & MAIN and not box.roles & BY_SETTING:
                    insets[number] = is_fact_of_table(number, texts, links, of_blocks, parents, paths)
                continue
            in_text = among_text or box.roles & MAIN or (box.in_headlined and not found & BESIDE_ROLES)
            if box.roles & BY_SETTING or not (in_text or not found & ~COLUMN_ROLES):
                continue
            if priced_links > 1 and is_priced_link(found, links[number], texts[number]):
                continue
            is_note = among_text or (prose > 0 and box.roles & MAIN and not boxes[box.outermost].has_links)
            if is_note and found & INSET_ROLES == ASIDE:
                insets[number] = True
                continue
            text = _amounts.beginning(texts[number])
            insets[number] = (
                not found & (FORM | BY_SHAPE)
                and _amounts.is_fact(text, in_sheet=box.roles & FACTS > 0)
                and (in_text or not _amounts.has_plain_number(text))
            ) or (in_text and ((found & FORM > 0 and _amounts.is_short(text)) or _amounts.is_price(text)))
        return insets
    finally:
        PyMem_Free(boxes)


cdef int mark_headlines(Box* boxes, tree, list classes) except -1:
    """Mark the boxes in which a headline of the content stands beside other texts: each h1, or else the first heading."""
    cdef list of_blocks = tree.boxes, parents = tree.box_parents, text_roles = tree.text_roles
    cdef Py_ssize_t at, other, box, beside, innermost, first = -1
    cdef bint has_h1 = False
    for at in tree.headings:
        if <Py_ssize_t> classes[at] != BOILERPLATE:
            first = at if first < 0 else first
            has_h1 |= <Py_ssize_t> text_roles[at] & H1 > 0
    for at in tree.headings:
        if <Py_ssize_t> classes[at] == BOILERPLATE or not (<Py_ssize_t> text_roles[at] & H1 if has_h1 else at == first):
            continue
        innermost = 0
        for other in range(max(0, at - 1), min(len(of_blocks), at + 2)):
            if other != at:
                box, beside = parents[<Py_ssize_t> of_blocks[at]], of_blocks[other]
                while box != beside:
                    if box > beside:
                        box = parents[box]
                    else:
                        beside = parents[beside]
                innermost = max(innermost, box)
        boxes[innermost].in_headlined = True
    return 0


cdef bint is_priced_link(Py_ssize_t roles, Py_ssize_t linked, str text):
    if not roles & BESIDE_ROLES or 2 * linked < len(text) or not has_digit(text):
        return False
    return _amounts.is_price(_amounts.beginning(text))


cdef inline bint may_be_inset(Py_ssize_t roles) noexcept:
    return roles != 0 and not roles & ~(INSET_ROLES | BY_SHAPE)


def make_blocks(block, tree, list classes not None, list roles not None, list insets not None):
    """See :func:`scrapy_simdedup.page.page.make_blocks`."""
    cdef list texts = tree.texts, links = tree.link_lengths, text_roles = tree.text_roles
    cdef list boxes = tree.boxes, paths = tree.box_paths, parents = tree.box_parents
    cdef bint is_link
    cdef Py_ssize_t number, size = len(texts)
    cdef tuple made = PyTuple_New(size), one
    for number in range(size):
        one = PyType_GenericAlloc(<PyTypeObject*> block, BLOCK_FIELDS)
        put(one, 0, texts[number])
        put(one, 1, classes[number])
        put(one, 2, roles[number])
        put(one, 3, <Py_ssize_t> text_roles[number] & HEADING > 0)
        is_link = 2 * <Py_ssize_t> links[number] >= len(<str> texts[number])
        put(one, 4, is_link and not is_fact_of_table(number, texts, links, boxes, parents, paths))
        put(one, 5, paths[<Py_ssize_t> boxes[number]])
        put(one, 6, insets[number])
        put(made, number, one)
    return made


cdef bint is_fact_of_table(Py_ssize_t at, list texts, list links, list boxes, list parents, list paths):
    """See :func:`scrapy_simdedup.page.page._is_fact_of_table`."""
    cdef Cell cell, named
    cdef str text = texts[at], label
    if len(text) > MAX_LENGTH:
        return False
    cell = cell_of(boxes[at], parents, paths)
    if cell.kind == CELL and len(text) <= MAX_LENGTH_OF_FIGURE and has_digit(text) and is_figure(text):
        return True
    if not at or cell.kind not in (CELL, VALUE):
        return False
    label = texts[at - 1]
    named = cell_of(boxes[at - 1], parents, paths)
    if not named.kind or named.box == cell.box or len(label) > MAX_LENGTH:
        return False
    if <Py_ssize_t> parents[named.box] != <Py_ssize_t> parents[cell.box]:
        return False
    if cell.kind == CELL and named.kind == HEAD:
        return True
    if 2 * <Py_ssize_t> links[at - 1] >= len(label):
        return False
    return named.kind == TERM if cell.kind == VALUE else named.kind == CELL and label[len(label) - 1] in ":\uff1a"


cdef struct Cell:
    Py_ssize_t box
    unsigned int kind  # CELL, HEAD, TERM, VALUE, or 0


cdef Cell cell_of(Py_ssize_t box, list parents, list paths):
    """See :func:`scrapy_simdedup.page.page._cell_of`."""
    cdef Cell found
    cdef Py_ssize_t around, step
    found.box = found.kind = 0
    for step in range(2):
        around = parents[box]
        if around < 0:
            break
        found.kind = <unsigned int> paths[box] - <unsigned int> paths[around] * PATH_FACTOR
        if found.kind in (CELL, HEAD, TERM, VALUE):
            found.box = box
            return found
        box = around
    found.kind = 0
    return found


cdef inline void put(tuple made, Py_ssize_t place, value) noexcept:
    """Fill a place of a new tuple, which nobody else has seen."""
    Py_INCREF(value)
    PyTuple_SET_ITEM(made, place, value)


cdef struct Banner:
    Py_ssize_t parent
    Py_ssize_t size  # characters of content inside, as the next
    Py_ssize_t mentioning  # in blocks that mention cookies
    Py_ssize_t mentions
    Py_ssize_t start  # characters of content before it
    Py_ssize_t said  # characters of content inside without links, as the next
    Py_ssize_t said_start
    bint is_page  # it holds the headline or a main part
    bint is_notice  # it is a candidate, or lies in one
    bint at_edge  # it is a notice, or lies in one


def find_consent_notices(tree, list roles not None):
    """See :func:`scrapy_simdedup.page.boilerplate_texts.find_consent_notices`."""
    cdef list texts = tree.texts, boxes = tree.boxes
    cdef list mentions = count_mentions(texts)
    cdef Py_ssize_t number, count = len(tree.box_parents), own = 0, least = texts_twin().MIN_MENTIONS
    cdef Banner* banners
    for number in range(len(texts)):
        own += 0 if roles[number] else <Py_ssize_t> mentions[number]
    if own < least or count_words(tree.title, texts_twin().COOKIE_WORDS):
        return []
    banners = <Banner*> PyMem_Calloc(count, sizeof(Banner))
    if banners is NULL:
        raise MemoryError
    try:
        measure_banners(banners, tree, roles, mentions)
        if not choose_notices(banners, count, least):
            return []
        return [bool(banners[<Py_ssize_t> box].at_edge) for box in boxes]
    finally:
        PyMem_Free(banners)


cdef int measure_banners(Banner* banners, tree, list roles, list mentions) except -1:
    """Fill in all but what is a notice."""
    cdef list texts = tree.texts, text_roles = tree.text_roles, boxes = tree.boxes
    cdef list parents = tree.box_parents, box_roles = tree.box_roles
    cdef list links = tree.link_lengths
    cdef Py_ssize_t number, length, position = 0, said = 0, count = len(parents)
    cdef Banner* banner
    for number in range(count):
        banners[number].parent = parents[number]
        banners[number].is_page = <Py_ssize_t> box_roles[number] & MAIN != 0
        banners[number].start = banners[number].said_start = -1
    for number in range(len(texts)):
        if roles[number]:
            continue
        banner = &banners[<Py_ssize_t> boxes[number]]
        length = len(<str> texts[number])
        banner.size += length
        banner.mentions += <Py_ssize_t> mentions[number]
        banner.mentioning += length if mentions[number] else 0
        banner.is_page = banner.is_page or <Py_ssize_t> text_roles[number] & H1 != 0
        if banner.start < 0:
            banner.start = position
        position += length
        if 2 * <Py_ssize_t> links[number] < length:
            banner.said += length
            if banner.said_start < 0:
                banner.said_start = said
            said += length
    for number in range(count - 1, 0, -1):
        banner = &banners[banners[number].parent]
        banner.size += banners[number].size
        banner.mentions += banners[number].mentions
        banner.mentioning += banners[number].mentioning
        banner.is_page = banner.is_page or banners[number].is_page
        if banner.start < 0 or 0 <= banners[number].start < banner.start:
            banner.start = banners[number].start
        banner.said += banners[number].said
        if banner.said_start < 0 or 0 <= banners[number].said_start < banner.said_start:
            banner.said_start = banners[number].said_start
    return 0


cdef bint choose_notices(Banner* banners, Py_ssize_t count, Py_ssize_t least) except -1:
    """Find the notices; whether there may be any."""
    cdef object of = texts_twin()
    cdef double of_mentions = of.MIN_MENTIONING_SHARE, most = of.MAX_NOTICE_SHARE, edge = of.MAX_EDGE_DISTANCE
    cdef double rest = max(of.MIN_REST, of.MIN_REST_SHARE * banners.size)
    cdef Py_ssize_t number, left = banners.size, said_left = banners.said, passed = 0, said_passed = 0, before
    cdef Py_ssize_t least_said = of.MIN_REST
    cdef bint found = False, inside
    cdef Banner* banner
    for number in range(1, count):
        banner = &banners[number]
        inside = banners[banner.parent].is_notice
        banner.is_notice = inside or (
            banner.mentions >= least
            and banner.mentioning >= of_mentions * banner.size
            and banner.size < most * banners.size
            and not banner.is_page
        )
        if banner.is_notice and not inside:
            left -= banner.size
            said_left -= banner.said
            found = True
    if not found or left < rest:
        return False
    for number in range(1, count):
        banner = &banners[number]
        inside = banners[banner.parent].is_notice
        banner.at_edge = banners[banner.parent].at_edge
        if banner.is_notice and not inside:
            before = banner.start - passed
            banner.at_edge = min(before, left - before) <= edge * left
            passed += banner.size
            if banner.said and said_left >= least_said:
                before = banner.said_start - said_passed
                banner.at_edge = banner.at_edge or min(before, said_left - before) <= edge * said_left
            said_passed += banner.said
    return True


cdef object twin():
    """The module with the constants, imported late: it may be the one that is just importing this one."""
    from scrapy_simdedup.page import classify

    return classify


cdef object texts_twin():
    """The module with the constants of consent notices, imported late for the same reason."""
    from scrapy_simdedup.page import boilerplate_texts

    return boilerplate_texts
