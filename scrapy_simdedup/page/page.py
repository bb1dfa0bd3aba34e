"""A page as a value: its blocks of text with their classes, its title, its headline and the paths of its layout."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from itertools import combinations, compress
from operator import not_
from typing import NamedTuple
from zlib import crc32

from lxml.html import HtmlElement

from scrapy_simdedup.page import roles as role
from scrapy_simdedup.page.amounts import beginning, has_plain_number, is_fact, is_figure, is_price, is_short
from scrapy_simdedup.page.block_tree import PATH_FACTOR, BlockTree, build_block_tree, innermost_around, self_and_above
from scrapy_simdedup.page.classify import MIN_PROSE_LENGTH, BlockClass, classify_blocks
from scrapy_simdedup.page.content import find_content_blocks
from scrapy_simdedup.page.hidden_texts import find_offer, shell_texts, tells_availability
from scrapy_simdedup.page.metadata import (
    asks_not_to_be_listed,
    declared_identity,
    find_identity,
    has_microdata,
    item_around,
)
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.settings import Extractor
from scrapy_simdedup.unjudged import UnjudgedReason

PATH_LENGTH = 3
"""Elements of a layout path: a block element and those around it."""
_MAX_CLASS_LENGTH = 200
"""Characters of a class attribute that are read for a layout path."""
INSET_ROLES = role.ASIDE | role.FOOTER | role.FORM | role.META | role.WIDGET
"""Roles of boxes that may stand in the text and belong to it."""
COLUMN_ROLES = role.ASIDE | role.WIDGET
"""Roles of boxes beside the text, which may hold a data sheet."""
BESIDE_ROLES = COLUMN_ROLES | role.FOOTER
"""Roles of boxes whose links lead to other things as a rule, as those that were viewed before."""
_HEADLINE_ROLES = role.HEADER | role.BRANDING | role.NAV | COLUMN_ROLES | role.FORM | role.META | role.BY_SHAPE
"""Roles of boxes in which the headline of the page may stand."""
MAX_TITLE_LENGTH = 500
"""Characters from which a title is not taken apart."""
_MAX_PARTS = 8
"""Parts of a title that are looked for on the page."""
_BETWEEN_PARTS = re.compile(
    r"\s[-–—~:/\\<>]+\s|:\s|\s*[|•·»«→›｜—]+\s*"
    r"|(?<=[^\x00-\x7f])_|_(?=[^\x00-\x7f])"  # a site without spaces; elsewhere it is part of a name
    r"|\s?\((?=[^()]*\)$)|\)$"
)
"""What stands between the parts of a title: lines, dashes between spaces, colons, a bracket at the end."""
LINK_LIST = role.NAV | role.BY_SHAPE
"""The roles of a link among links, where no name gave them."""
_CELL, _HEAD, _TERM, _VALUE, _SECTION = map(crc32, (b"td", b"th", b"dt", b"dd", b"section"))
"""Of a path, the last part of cells of tables, of parts of lists of terms, of sections; see ``tag_number`` in
``block_tree``."""
_WORD, _TITLE_WORD = re.compile(r"\w+"), re.compile(r"[^\W\d_]{3,}")
_BOILERPLATE = BlockClass.BOILERPLATE


class Block(NamedTuple):
    """The text between two block boundaries; inline elements do not cut it."""

    text: str
    """The text without the white space around it; never blank."""
    block_class: BlockClass
    boilerplate_roles: int
    """The roles that made it ``BOILERPLATE``, as bits of :mod:`scrapy_simdedup.page.roles`; 0 for other classes."""
    heading: bool = False
    links: bool = False
    """Whether at least half of the text stands inside of links. A score in a table says something all the same, and so
    do what stands behind a label, and a headline that no other text repeats."""
    path: int = 0
    """32 bits of the tags around the block; the same for the paragraphs of one article."""
    inset: bool = False
    """Whether the block is boilerplate for the name of its box alone, which stands among paragraphs of the content."""


class Page(NamedTuple):
    """The text of a page, or the reason why it is not judged."""

    blocks: tuple[Block, ...]
    """All text of the page in document order; empty if the page is unjudged."""
    title: str
    """The text of ``<title>``; may be empty."""
    h1: str
    """The ``<h1>`` that names the page, mostly the first of the content; may be empty."""
    unjudged: UnjudgedReason | None
    """Why the page must not be compared by its text; see :func:`scrapy_simdedup.page.parse.parse`."""
    layout_paths: frozenset[str] = frozenset()
    """What :func:`layout_paths` returns, if it was asked for."""
    identity: str = ""
    """What tells the page from others with its text; see :mod:`scrapy_simdedup.page.metadata`."""
    shell_texts: frozenset[str] = frozenset()
    """The texts of the data around which the page is a shell; see :mod:`scrapy_simdedup.page.hidden_texts`."""
    own_title: str = ""
    """What the title says of the page; see :func:`own_title`."""
    title_words: str = ""
    """The words of the title that the h1 lacks; see :func:`words_of_title`. Empty without an h1."""
    offer: str = ""
    """What the page says of prices and stock beside its text; see ``find_offer`` in ``hidden_texts``."""
    is_unlisted: bool = False
    """Whether search engines are to leave the page out, and all that it says is in the content or in what is named as
    something else: there is no list that only looks like a menu, no text to be edited, and no word in the title alone.
    """


def read_page(
    html: str,
    *,
    max_bytes: int = 5_000_000,
    words: role.RoleWords = role.DEFAULT_ROLE_WORDS,
    extractor: Extractor = "roles",
    layout: bool = False,
    identity: tuple[str, ...] | None = None,
) -> Page:
    """Read a page of any kind; never raises.

    With the extractor ``"content"`` or ``"readability"`` those blocks have the class ``CONTENT`` that
    :func:`~scrapy_simdedup.page.content.page_content` makes its Markdown of, and no others. The identity is looked for
    in these places by :func:`~scrapy_simdedup.page.metadata.find_identity`; with None it is
    :func:`~scrapy_simdedup.page.metadata.declared_identity`.
    """
    is_offered = tells_availability(html)
    in_microdata = is_offered and has_microdata(html)
    document = parse(
        html,
        max_bytes=max_bytes,
        with_html_methods=extractor == "readability",
        with_idle_attributes=extractor != "roles" or bool(identity) or in_microdata,
    )
    root = document.root
    if root is None:
        return Page((), "", "", document.unjudged)
    tree = build_block_tree(root, words, detailed=extractor != "roles")
    classes, roles = classify_blocks(tree)
    data = shell_texts(root, sum(map(len, compress(tree.texts, map(not_, roles)))))
    if not tree.texts:
        return Page((), "", "", "empty", shell_texts=data)
    h1 = _find_h1(tree, classes)
    item = item_around(root, h1) if in_microdata and h1 else {}
    named = declared_identity(root, html, h1, tree.title, item) if identity is None else find_identity(root, identity)
    paths = layout_paths(root) if layout else frozenset()
    if extractor != "roles":
        chosen = find_content_blocks(root, tree, extractor)
        content, highest = BlockClass.CONTENT, BlockClass.UNMARKED  # the class of those that are chosen, and of others
        classes = [content if own else min(of, highest) for own, of in zip(chosen, classes, strict=True)]
        roles = [0 if own else of for own, of in zip(chosen, roles, strict=True)]
    insets = find_insets(tree, classes, roles)
    headlines = set(find_overlooked_headlines(tree, roles))
    for at in [*find_lines_of_header(tree, roles), *find_headers_of_sections(tree, classes, roles), *headlines]:
        insets[at] = roles[at] > 0
    blocks = make_blocks(Block, tree, classes, roles, insets)
    if headlines:
        blocks = tuple(block._replace(links=False) if at in headlines else block for at, block in enumerate(blocks))
    headings = [tree.texts[at] for at in tree.headings]
    title, title_words = own_title(tree.title, _headline_of_page(tree, h1), headings), words_of_title(tree.title, h1)
    has_form = any(roles & role.FORM for roles in tree.node_roles)
    related = [text for text, of in zip(tree.texts, roles, strict=True) if of & role.RELATED] if has_form else ()
    offer = find_offer(root, html, item, has_form=has_form, has_data=is_offered, related=related)
    is_unlisted = asks_not_to_be_listed(html) and _says_all_in_blocks(root, tree, roles, title_words)
    return Page(blocks, tree.title, h1, None, paths, named, data, title, title_words, offer, is_unlisted)


def _says_all_in_blocks(root: HtmlElement, tree: BlockTree, roles: list[int], title_words: str) -> bool:
    said = set(_TITLE_WORD.findall(" ".join(tree.texts).lower()))
    if any(of & role.BY_SHAPE for of in roles) or not said.issuperset(title_words.split()):
        return False
    return not any((area.text or "").strip() for area in root.iter("textarea"))


def _find_h1(tree: BlockTree, classes: list[BlockClass]) -> str:
    """The first ``<h1>`` of the content; of several that with which the title begins, or else that of ``<main>``.

    Others may name the site or its parts.
    """
    content = BlockClass.CONTENT
    found = [at for at in tree.headings if tree.text_roles[at] & role.H1 and classes[at] is content]
    if len(found) > 1:
        title = _words(tree.title[:MAX_TITLE_LENGTH])
        names_page = {at: title.startswith(_words(tree.texts[at])) for at in found}
        found.sort(key=lambda at: (not names_page[at], _outermost(tree, at, role.MAIN_TAG) < 0))
    return tree.texts[found[0]] if found else ""


def _headline_of_page(tree: BlockTree, h1: str) -> str:
    """The h1, or the first heading; one that is a link may be the name of the site, which leads home."""
    headings = [tree.texts[at] for at in tree.headings if 2 * tree.link_lengths[at] < len(tree.texts[at])]
    return h1 if h1 in headings else next(iter(headings), "")


def find_lines_of_header(tree: BlockTree, roles: list[int]) -> list[int]:
    """The blocks of boilerplate that say something of the page beside its headline, such as the place of a job.

    They stand with all h1s of the page in one header, which has no link. The header of the site has some: to its home
    page, or a menu. The headline itself is none of them, since without a menu it may name the site all the same.
    """
    headlines = [at for at in tree.headings if tree.text_roles[at] & role.H1]
    if any(roles[at] != role.HEADER for at in headlines):
        return []
    headers = {_outermost(tree, at, role.HEADER) for at in headlines}
    if len(headers) != 1:
        return []
    inside = [at for at, of in enumerate(roles) if of & role.HEADER and _outermost(tree, at, role.HEADER) in headers]
    if any(tree.link_lengths[at] for at in inside):
        return []
    return [at for at in inside if roles[at] == role.HEADER and not tree.text_roles[at] & role.HEADING]


def find_overlooked_headlines(tree: BlockTree, roles: list[int]) -> list[int]:
    """The blocks of boilerplate, and the links, that name the page, where no other text of the content does.

    They are an ``<h1>``, or what is a part of the title: many templates have the headline in a header, in a column
    beside the text, or at the end of the breadcrumbs, or it leads to the page itself. What names the site is found as
    well; it is the same on all pages. A link in a named box, such as a menu, that is no heading leads to what it names.
    """
    title, parts = tree.title.casefold(), _parts_of_title(tree.title)[:_MAX_PARTS]
    names = {_words(" ".join(parts[first:end])) for first, end in combinations(range(len(parts) + 1), 2)}
    short = (at for at, text in enumerate(tree.texts) if len(text) <= len(title) and text.casefold() in title)
    said = [at for at in short if _words(tree.texts[at]) in names]
    h1s = [at for at in tree.headings if tree.text_roles[at] & role.H1]
    texts = [at for at in said if tree.text_roles[at] & role.HEADING or not _is_link(tree, at)]
    if not all(roles[at] for at in (*h1s, *texts)):
        return []
    found = [at for at in (*h1s, *texts) if not roles[at] & ~_HEADLINE_ROLES and not _is_named_by_setting(tree, at)]
    return [*found, *(at for at in said if not roles[at] or roles[at] & role.BY_SHAPE)]


def find_headers_of_sections(tree: BlockTree, classes: list[BlockClass], roles: list[int]) -> list[int]:
    """The blocks of boilerplate in the header of a section, such as the description of a class above its methods.

    In HTML a header is that of the site outside of sections only. As some themes put all of a page into a section, a
    heading of the content stands before it.
    """
    asked = [at for at, of in enumerate(roles) if of == role.HEADER] if role.HEADER in roles else []
    headlines = [at for at in tree.headings if classes[at] is not _BOILERPLATE] if asked else []
    return [at for at in asked if headlines and headlines[0] < at and _is_in_header_of_section(tree, at)]


def _is_in_header_of_section(tree: BlockTree, at: int) -> bool:
    """Whether the outermost header around a block stands in a section, and no box around it has a role by a setting."""
    boxes, header = list(self_and_above(tree.box_parents, tree.boxes[at]))[:-1], _outermost(tree, at, role.HEADER)
    in_section = any(box < header and _kind_of(tree, box) == _SECTION for box in boxes)
    return in_section and not _is_named_by_setting(tree, at)


def _is_named_by_setting(tree: BlockTree, at: int) -> bool:
    return _outermost(tree, at, role.BY_SETTING) >= 0


def _outermost(tree: BlockTree, at: int, asked: int) -> int:
    """The outermost box around a block that has a role; -1 if none has."""
    around = self_and_above(tree.box_parents, tree.boxes[at])
    return min((box for box in around if tree.box_roles[box] & asked), default=-1)


def own_title(title: str, headline: str, headings: Collection[str]) -> str:
    """The title of a page without what the site adds to it, such as its name.

    Most sites add their name, a slogan or a version to the headline of a page, as in "Merger (tools 3.4 API)" and "Acme
    | Privacy policy". A site that changes what it adds has edited none of its pages. Where one part of the title is
    found in the headline, word for word, the title repeats the headline. Then those parts count that share a word with
    the headline, not only a number, that are a heading of the page themselves, or that name a price. Else all of it
    counts. The headline is the h1, or the first heading, but no link.

    >>> own_title("Blue chair | Acme - all for your home", "Blue chair", [])
    'Blue chair'
    >>> own_title("Merger (tools 3.4 API)", "Interface Merger<K, V>", [])
    'Merger'
    >>> own_title("Blue chair - 29 EUR | Acme", "Blue chair", []), own_title("Acme | Offers", "Blue chair", [])
    ('Blue chair|29 EUR', 'Acme | Offers')
    """
    parts = _parts_of_title(title)
    if len(parts) < 2 or not headline:
        return title
    of_headline, words = _words(headline), [_words(part) for part in parts]
    if not any(found in of_headline for found in words):
        return title
    own = (
        part
        for part, found in zip(parts, words, strict=True)
        if found in of_headline or _shares_word(found, of_headline) or is_price(part) or _is_one_of(headings, found)
    )
    return "|".join(own)


def _parts_of_title(title: str) -> list[str]:
    return [part for part in _BETWEEN_PARTS.split(title) if part.strip()] if len(title) <= MAX_TITLE_LENGTH else []


def words_of_title(title: str, h1: str) -> str:
    """The words of three letters or more that a title says beside the h1, among them what the site adds to each.

    >>> words_of_title("Linen shirt - Red | Acme", "Linen shirt")
    'acme red'
    """
    if not h1:
        return ""
    found, said = (set(_TITLE_WORD.findall(text.lower())) for text in (title, h1))
    return " ".join(sorted(found - said))


def _shares_word(one: str, other: str) -> bool:
    return any(f" {word} " in other for word in one.split() if not word.isdigit())


def _is_one_of(headings: Collection[str], words: str) -> bool:
    """Whether a heading has these words and no others; one that lacks the longest of them needs no closer look."""
    longest = max(words.split(), key=len)
    return any(longest in heading.casefold() and _words(heading) == words for heading in headings)


def _words(text: str) -> str:
    """The words of a text in lower case, with one blank before and behind each; a line for a text without any."""
    return f" {' '.join(_WORD.findall(text.casefold())) or '|'} "


def python_make_blocks(
    make: type[Block], tree: BlockTree, classes: list[BlockClass], roles: list[int], insets: list[bool]
) -> tuple[Block, ...]:
    """The blocks of a tree as values, with their classes and boilerplate roles, and whether they are insets."""
    headings = [of_text & role.HEADING > 0 for of_text in tree.text_roles]
    links = [_is_link(tree, at) and not _is_fact_of_table(tree, at) for at in range(len(tree.texts))]
    box_paths = map(tree.box_paths.__getitem__, tree.boxes)
    fields = zip(tree.texts, classes, roles, headings, links, box_paths, insets, strict=True)
    return tuple(map(make._make, fields))


def _is_priced_link(tree: BlockTree, roles: list[int], at: int) -> bool:
    """Whether a block is a link with a price in a column or a footer."""
    return roles[at] & BESIDE_ROLES > 0 and _is_link(tree, at) and is_price(beginning(tree.texts[at]))


def _is_link(tree: BlockTree, at: int) -> bool:
    return 2 * tree.link_lengths[at] >= len(tree.texts[at])


def _is_fact_of_table(tree: BlockTree, at: int) -> bool:
    """Whether a link is a score or a price, and alone in a cell of a table; or stands behind a label."""
    return (is_figure(tree.texts[at]) and _cell_of(tree, at)[1] == _CELL) or _is_labelled(tree, at)


def _is_labelled(tree: BlockTree, at: int) -> bool:
    """Whether a block is a short value, as of "Status: closed", and the first one behind its label.

    The label is the heading of a row of a table, a cell that ends in a colon, or a term of a list without a link: such
    links tell of the page, as the people and versions of a ticket do.
    """
    text, label = tree.texts[at], tree.texts[at - 1]
    if not at or not is_short(text) or not is_short(label):
        return False
    (value, kind), (named, kind_of_label) = _cell_of(tree, at), _cell_of(tree, at - 1)
    if value == named or tree.box_parents[value] != tree.box_parents[named]:
        return False
    if kind == _CELL and kind_of_label == _HEAD:
        return True
    is_named = (kind == _CELL == kind_of_label and label[-1] in ":：") or (kind == _VALUE and kind_of_label == _TERM)
    return is_named and not _is_link(tree, at - 1)


def _cell_of(tree: BlockTree, at: int) -> tuple[int, int]:
    """The cell of a table, or the part of a list of terms, in which a block stands alone or in a box, and its kind.

    Where it stands in none, the kind is 0.
    """
    box = tree.boxes[at]
    for _ in range(2):
        around = tree.box_parents[box]
        if around < 0:
            break
        kind = _kind_of(tree, box)
        if kind in {_CELL, _HEAD, _TERM, _VALUE}:
            return box, kind
        box = around
    return 0, 0


def _kind_of(tree: BlockTree, box: int) -> int:
    """The number of the tag of a box that is a block, and no page."""
    return (tree.box_paths[box] - tree.box_paths[tree.box_parents[box]] * PATH_FACTOR) & 0xFFFF_FFFF


def python_find_insets(tree: BlockTree, classes: list[BlockClass], roles: list[int]) -> list[bool]:
    """Which blocks of boilerplate belong to the text all the same.

    1. A box in the text that is called an aside or a sidebar, as the columns beside the text are. It stands in the box
       in which the paragraphs of the text stand; a column stands beside that one. However short the text is, so is a
       note in the main part beside it, which leads nowhere.
    2. A price in such a box, in a form or among what is said about the page, and what else a form says in a few words:
       there, or anywhere in the main part, or beside the headline of the page, but for columns and footers.
    3. There, what a list of terms, a table, or a line with a label says, such as the place of a job: that is a data
       sheet, whatever it is called, but for counters. In a column beside the text only what has no number.
    4. A score, a price or what stands behind a label in a table of the main part that is taken for a menu, as most of
       its cells are links.
    5. Where several links in columns and footers have a price, none of them, as they lead to other things. One alone
       may be to buy what the page is about.
    6. None of it in a box that ``SIMDEDUP_ROLE_WORDS`` names: that was said by somebody who knows the site.
    """
    insets = [False] * len(roles)
    asked = [at for at, of in enumerate(roles) if of == LINK_LIST or (of and not of & ~(INSET_ROLES | role.BY_SHAPE))]
    if not asked:
        return insets
    parents, around = tree.box_parents, [(0, 0)]
    """For each box all roles from there on, and the outermost box around it with one of the insets'."""
    for box in range(1, len(parents)):
        inherited, outermost = around[parents[box]]
        outermost = outermost or (box if tree.box_roles[box] & INSET_ROLES else 0)
        of_box = inherited | tree.box_roles[box]
        if not outermost:
            of_box &= ~role.FACTS  # a table around the page is its layout
        around.append((of_box, outermost))
    prose, with_links = Counter[int](), set[int]()
    for box, of_block, text, linked in zip(tree.boxes, classes, tree.texts, tree.link_lengths, strict=True):
        if of_block is not _BOILERPLATE:
            prose[parents[box]] += len(text)
        if linked:
            with_links.add(around[box][1])
    are_several = sum(_is_priced_link(tree, roles, at) for at in asked) > 1
    headlined = _boxes_with_headline(tree, classes)
    for at in asked:
        boxes_roles, outermost = around[tree.boxes[at]]
        in_main, said_beside = boxes_roles & role.MAIN > 0, prose[parents[outermost]] if outermost else 0
        among_text = said_beside > MIN_PROSE_LENGTH
        beside_headline = not (
            roles[at] & BESIDE_ROLES or headlined.isdisjoint(self_and_above(parents, tree.boxes[at]))
        )
        in_text = among_text or in_main or beside_headline
        if boxes_roles & role.BY_SETTING or not (in_text or roles[at] & ~COLUMN_ROLES == 0):
            continue
        if roles[at] == LINK_LIST:
            insets[at] = in_main and _is_fact_of_table(tree, at)
            continue
        if are_several and _is_priced_link(tree, roles, at):
            continue
        is_note = among_text or (in_main and said_beside > 0 and outermost not in with_links)
        text, named = beginning(tree.texts[at]), roles[at] & INSET_ROLES
        insets[at] = (
            (is_note and named == role.ASIDE)
            or (
                not roles[at] & (role.FORM | role.BY_SHAPE)
                and is_fact(text, in_sheet=boxes_roles & role.FACTS > 0)
                and (in_text or not has_plain_number(text))
            )
            or (in_text and ((named & role.FORM > 0 and is_short(text)) or is_price(text)))
        )
    return insets


def _boxes_with_headline(tree: BlockTree, classes: list[BlockClass]) -> set[int]:
    """The boxes in which a headline of the content stands beside other texts: each h1, or else the first heading."""
    found = [at for at in tree.headings if classes[at] is not _BOILERPLATE]
    h1s = [at for at in found if tree.text_roles[at] & role.H1]
    boxes, parents, made = tree.boxes, tree.box_parents, set[int]()
    for at in h1s or found[:1]:
        beside = boxes[max(0, at - 1) : at] + boxes[at + 1 : at + 2]
        made.add(max([0, *(innermost_around(parents, parents[boxes[at]], box) for box in beside)]))
    return made


def layout_paths(root: HtmlElement) -> frozenset[str]:
    """The paths of the block elements of a page, such as ``"body > main > p"``: its layout, whatever its text.

    The paths are a set, so that a list may grow. A path has names of classes, but none with digits, which number pages
    and builds.
    """
    paths: dict[HtmlElement | None, tuple[str, ...]] = {}
    for element in root.iter(*role.BLOCK_TAGS - {"br", "hr"}):
        above = paths.get(element.getparent(), ())
        paths[element] = (*above[1 - PATH_LENGTH :], _label(element))
    return frozenset(" > ".join(path) for path in paths.values())


def _label(element: HtmlElement) -> str:
    classes = element.get("class", "")[:_MAX_CLASS_LENGTH].lower().split()
    return ".".join((str(element.tag), *sorted({name for name in classes if name.replace("-", "").isalpha()})))


try:
    from scrapy_simdedup.page._classify import find_insets, make_blocks
except ImportError:  # installed without a compiler
    find_insets, make_blocks = python_find_insets, python_make_blocks
