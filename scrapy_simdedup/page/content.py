"""The content of a page, for people and for what feeds on text: its main content as Markdown, and its metadata.

The content model, or Readability, chooses the blocks that are main content, and the Markdown is made of them. Where
``SIMDEDUP_EXTRACTOR`` asks for it, they are also the blocks that count in full in the page's fingerprint.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lxml.html import HtmlElement

from scrapy_simdedup.page.amounts import is_price
from scrapy_simdedup.page.block_tree import BlockTree, build_block_tree
from scrapy_simdedup.page.classify import BlockClass, classify_blocks, classify_by_roles, is_boilerplate
from scrapy_simdedup.page.content_tree import MAX_INSIDE, inner_links, single_spaced
from scrapy_simdedup.page.metadata import find_metadata
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import COMMENT, H1, HEADING, NAV, TAG_IDS, role_words
from scrapy_simdedup.setting_checks import require_text
from scrapy_simdedup.settings import DedupSettings, Extractor

MAX_GROWTH = 4
"""Characters of Markdown per character of HTML at most."""
MIN_LIMIT = 1_000
"""Characters of Markdown that are allowed however short the HTML is."""
MAX_ROW_LENGTH = 2_000
"""Characters of a row above which a table is taken for the layout of a page."""
MAX_NOTE_LENGTH = 2_000
MAX_TO_PRICE = 10
"""Blocks from a price to the text below it that is chosen."""
MIN_COMMENT_LENGTH = 12
"""Characters outside of links that a comment has; with less it may be a name or a number of votes."""
_TABLE = TAG_IDS["table"]
_CELLS = frozenset({TAG_IDS["td"], TAG_IDS["th"]})
_DIV = TAG_IDS["div"]
_H1 = TAG_IDS["h1"]
_WORD = re.compile(r"\w+")
_DEFINITIONS = TAG_IDS["dl"]
_NOT_IN_DEFINITIONS = frozenset(TAG_IDS[tag] for tag in ("h1", "h2", "h3", "h4", "form"))
_ROWS = frozenset({TAG_IDS["tr"], TAG_IDS["pre"]})
_NOT_IN_TABLES_OF_DATA = frozenset(TAG_IDS[tag] for tag in ("table", "h1", "h2", "h3", "h4", "h5", "h6", "form"))
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a page without the site around it; an unknown field is ``""``."""

    markdown: str = ""
    """The main content as GitHub-flavoured Markdown, with absolute links and images."""
    text: str = ""
    """The words of the Markdown without marks: a line for each block of text."""
    title: str = ""
    """The headline that the page names, else its ``<title>``."""
    author: str = ""
    """The names of the authors, with commas between them."""
    date: str = ""
    """When the page was published: ``2026-11-22``, or with the time as ISO 8601 writes it."""
    language: str = ""
    """The page's language as BCP 47 writes it, such as ``en`` or ``pt-BR``."""
    site_name: str = ""
    """What the site calls itself."""
    canonical: str = ""
    """The absolute URL that the page declares to be its own."""


def page_content(html: str, *, url: str = "", **settings: Any) -> Content:
    """The main content of a page and its metadata; never raises for any HTML.

    Args:
        html: The decoded page.
        url: The page's URL, against which links and images are made absolute.
        settings: Settings as keywords, in lower case and without their prefix: ``role_words``, ``max_page_bytes``, and
            ``extractor``, of which ``"readability"`` lets Readability choose the blocks instead of the content model.

    Returns:
        Markdown of at most four times as many characters as the page has, and a thousand; what exceeds them is left
        off. Empty fields for a page that is not read: over ``max_page_bytes``, cut by the parser's limits, thousands of
        links, not text. The page's text, should an error of ours come up.

    Raises:
        SettingError: a setting cannot be used.
        TypeError: the page is no text.
    """
    require_text(html, "html")
    return content_with_settings(html, url, DedupSettings.from_keywords(**settings))


def page_markdown(html: str, *, url: str = "", **settings: Any) -> str:
    """The Markdown of :func:`page_content`, which takes the same arguments, without looking for metadata."""
    require_text(html, "html")
    return content_with_settings(html, url, DedupSettings.from_keywords(**settings), metadata=False).markdown


def content_with_settings(html: str, url: str, settings: DedupSettings, *, metadata: bool = True) -> Content:
    """What :func:`page_content` returns, under settings that are already checked; without metadata where not asked."""
    root = parse(html, max_bytes=settings.max_page_bytes, with_html_methods=settings.extractor == "readability").root
    if root is None:
        return Content()
    from scrapy_simdedup.page.markdown import to_markdown  # noqa: PLC0415 - fingerprints need none

    found = dict[str, str]()
    try:
        found = find_metadata(root, url) if metadata else found
    except Exception:  # metadata are written by all kinds of plugins, and are no reason to lose the text
        logger.warning("No metadata could be read from %s", url or "a page", exc_info=True)
    try:
        tree = build_block_tree(root, role_words(settings.role_words), detailed=True)
        chosen = find_content_blocks(root, tree, settings.extractor)
        markdown = to_markdown(root, chosen, url=url, limit=MAX_GROWTH * len(html) + MIN_LIMIT)
        text = "\n".join(single_spaced(block) for block, is_own in zip(tree.texts, chosen, strict=True) if is_own)
    except Exception:  # what no test has thought of must not cost the item that carries the content
        logger.warning("No Markdown could be made of %s, its text stands in", url or "a page", exc_info=True)
        markdown = text = " ".join("".join(root.itertext()).split())
    return Content(markdown, text, **found)


def find_content_blocks(root: HtmlElement, tree: BlockTree, extractor: Extractor) -> list[bool]:
    """For each block, whether it is main content; on a page that has text, some block is.

    Where nothing is found, the blocks of the highest class are taken. With the extractor ``"readability"``
    Readability's article is the main content; else the content model finds it. The tree is made with ``detailed=True``.
    """
    try:
        chosen = _blocks_of_article(root, tree) if extractor == "readability" else _blocks_of_model(root, tree)
    except Exception:  # what no test has thought of must not cost the page: its roles still say enough
        logger.warning("No main content could be found in a page, its roles stand in", exc_info=True)
        chosen = []
    if any(chosen):
        return chosen
    classes, _ = classify_blocks(tree)
    highest = max(classes, default=BlockClass.CONTENT)
    return [found is highest for found in classes]


def _blocks_of_model(root: HtmlElement, tree: BlockTree) -> list[bool]:
    from scrapy_simdedup.page.content_model import main_content  # noqa: PLC0415 - few fingerprints need the model

    chosen: list[bool] = main_content(tree).tolist()
    if True in chosen:
        _leave_out_menus(tree, chosen)
        _add_headline(tree, chosen)
        _round_off_definitions(tree, chosen)
        _round_off_tables(tree, chosen)
        _choose(notes_of(root, tree, chosen), chosen, True)
        _add_comments(tree, chosen)
    return chosen


def _leave_out_menus(tree: BlockTree, chosen: list[bool]) -> None:
    """Leave out what is named navigation above all other text that is chosen, if there is such text.

    Beside a text of a few words the model finds the menu of its site as likely, and that is much longer.
    """
    _, roles = classify_by_roles(tree)
    first = next((number for number, is_own in enumerate(chosen) if is_own and not roles[number] & NAV), 0)
    _choose(range(first), chosen, False)


def _round_off_definitions(tree: BlockTree, chosen: list[bool]) -> None:
    """Choose a list of definitions as a whole where most of its text is chosen, or it stands between chosen blocks.

    A term says nothing without its definition, and the definition of a function without its signature. A list that
    holds a headline or a form lays out the page, and one that is mostly links is a menu.
    """
    if _DEFINITIONS not in tree.box_tags:
        return
    of_list, layouts = _blocks_inside(tree, {_DEFINITIONS}, _NOT_IN_DEFINITIONS, outermost=True)
    length = [len(text) for text in tree.texts]
    for blocks in (blocks for around, blocks in of_list.items() if around not in layouts):
        is_menu = 2 * sum(tree.link_lengths[number] for number in blocks) >= sum(length[number] for number in blocks)
        belongs = _is_mostly_chosen(blocks, chosen, length) or _belongs_to_text(tree, blocks, chosen)
        if belongs and not is_menu:
            _choose(blocks, chosen, True)


def _round_off_tables(tree: BlockTree, chosen: list[bool]) -> None:
    """Choose all or none of the blocks of a row of data, and of a code: one with holes says something else.

    1. Rows and codes go with the larger part of their text. A row with more than one ``<div>`` of text in a cell loses
       nothing, as it may lay out a post: two words would go for the name, the date and the buttons beside them.
    2. A table is chosen as a whole where most of its text is. So are a table and a code between chosen blocks, or right
       under a heading that is chosen: they belong to the text there, however little they look like text.
    3. A table that holds another table or a heading, or a long row, lays out the page, and stays as it is.
    """
    if _ROWS.isdisjoint(tree.box_tags) and _TABLE not in tree.box_tags:
        return
    of_table, layouts = _blocks_inside(tree, {_TABLE}, _NOT_IN_TABLES_OF_DATA)
    of_row, _ = _blocks_inside(tree, _ROWS | {_TABLE})
    table_of = {number: table for table, blocks in of_table.items() for number in blocks}
    length = [len(text) for text in tree.texts]
    rows = [(table_of.get(blocks[0]), blocks) for row, blocks in of_row.items() if tree.box_tags[row] != _TABLE]
    layouts |= {table for table, blocks in rows if table and sum(length[n] for n in blocks) > MAX_ROW_LENGTH}
    posts = set[int]()
    for blocks in _blocks_inside(tree, _CELLS)[0].values():
        if len({box for box in map(tree.boxes.__getitem__, blocks) if tree.box_tags[box] == _DIV}) > 1:
            posts.update(blocks)
    for table, blocks in rows:
        if table not in layouts:
            is_mostly_chosen = _is_mostly_chosen(blocks, chosen, length)
            if is_mostly_chosen or posts.isdisjoint(blocks):
                _choose(blocks, chosen, is_mostly_chosen)
            if table is None and _belongs_to_text(tree, blocks, chosen):
                _choose(blocks, chosen, True)
    for table, blocks in of_table.items():
        if table not in layouts and (
            _is_mostly_chosen(blocks, chosen, length) or _belongs_to_text(tree, blocks, chosen)
        ):
            _choose(blocks, chosen, True)


def _choose(blocks: Iterable[int], chosen: list[bool], is_chosen: bool) -> None:
    for number in blocks:
        chosen[number] = is_chosen


def _is_mostly_chosen(blocks: Sequence[int], chosen: Sequence[bool], length: Sequence[int]) -> bool:
    return 2 * sum(length[number] for number in blocks if chosen[number]) >= sum(length[number] for number in blocks)


def _belongs_to_text(tree: BlockTree, blocks: Sequence[int], chosen: Sequence[bool]) -> bool:
    """Whether blocks that follow one another stand between chosen ones, or under a chosen heading."""
    before, behind = blocks[0] - 1, blocks[-1] + 1
    if before < 0 or not chosen[before]:
        return False
    return tree.text_roles[before] & HEADING > 0 or (behind < len(chosen) and chosen[behind])


def _blocks_inside(
    tree: BlockTree, tags: Collection[int], not_inside: Collection[int] = (), *, outermost: bool = False
) -> tuple[dict[int, list[int]], set[int]]:
    """The blocks of each innermost (or outermost) box with one of some tags; and such boxes with a tag not meant there.

    The tags are numbers of ``TAG_IDS``.
    """
    around, mixed = [0], set[int]()
    for box, (tag, parent) in enumerate(zip(tree.box_tags[1:], tree.box_parents[1:], strict=True), start=1):
        outer = around[parent]
        if outer and tag in not_inside:
            mixed.add(outer)
        around.append(outer if tag not in tags or (outer and outermost) else box)
    found: dict[int, list[int]] = defaultdict(list)
    for number, box in enumerate(tree.boxes):
        if around[box]:
            found[around[box]].append(number)
    return found, mixed


def notes_of(root: HtmlElement, tree: BlockTree, chosen: Sequence[bool]) -> set[int]:
    """The blocks of the notes that chosen blocks above them point to; each has a link back to such a block.

    So do footnotes in any software and language. They stand far below their text, often among lists of links, so that
    the content model leaves many of them out. The tree is made with ``detailed=True``.
    """
    links, places = inner_links(root)
    if not links:  # it takes one there and one back
        return set()
    last = tree.last_elements
    notes_at = {name: _blocks_of(last, *place) for name, place in places.items()}
    pointed: dict[int, set[int]] = defaultdict(set)
    """For each block, the first blocks of what its links lead to."""
    notes: dict[tuple[int, int], range] = {}
    for number, name in links:
        note, block = notes_at.get(name), bisect_left(last, number)
        if note:
            pointed[block].add(note[0])
            if block < note[0] and chosen[block]:
                notes[block, note[0]] = note
    found: set[int] = set()
    for (block, _), note in notes.items():
        is_mutual = any(block in pointed.get(other, ()) for other in note)
        if is_mutual and sum(len(tree.texts[other]) for other in note) <= MAX_NOTE_LENGTH:
            found.update(note)
    return found


def _blocks_of(last: Sequence[int], number: int, inside: int) -> range:
    """The blocks of an element, which may be a note; the first one alone where too many elements lie in it."""
    first = bisect_left(last, number)
    end = min(max(bisect_right(last, number + inside), first + 1), len(last))
    return range(first, end if inside <= MAX_INSIDE else first + 1)


def _add_comments(tree: BlockTree, chosen: list[bool]) -> None:
    """Choose the texts of comments between chosen blocks, such as those on a question above its answers.

    The references that the model learned from have none of them. With them go those at such places below, as on the
    last answer; not the comments below an article, and no box that holds a chosen block.
    """
    if not tree.named_roles & COMMENT or tree.declared.is_article:
        return
    around = [0]
    for box in range(1, len(tree.box_parents)):
        around.append(around[tree.box_parents[box]] or (box if tree.box_roles[box] & COMMENT else 0))
    found: dict[int, list[int]] = defaultdict(list)
    for number, box in enumerate(tree.boxes):
        found[around[box]].append(number)
    first, last = chosen.index(True), len(chosen) - 1 - chosen[::-1].index(True)
    whole = {box: blocks for box, blocks in found.items() if box and not any(chosen[number] for number in blocks)}
    paths = {tree.box_paths[box] for box, blocks in whole.items() if first < blocks[0] and blocks[-1] < last}
    for box, blocks in whole.items():
        if tree.box_paths[box] in paths:
            _choose(
                (n for n in blocks if len(tree.texts[n]) - tree.link_lengths[n] >= MIN_COMMENT_LENGTH), chosen, True
            )


def _add_headline(tree: BlockTree, chosen: list[bool]) -> None:
    """Choose the headline above the chosen blocks with the prices below it, if it is not among them and no boilerplate.

    That is the last ``<h1>`` there, or else, as on the pages of a manual in chapters, the last heading or line that
    repeats the title. An ``<h1>`` that repeats it may also stand between the blocks. The references that the model
    learned from are bodies of texts, most of them without their headline, and without the prices between it and the
    text. An ``<h1>`` with line breaks is chosen with all its lines.
    """
    if True not in chosen:
        return
    headlines = [number for number in tree.headings if tree.text_roles[number] & H1]
    if not any(chosen[number] for number in headlines):
        first = chosen.index(True)
        above = [number for number in headlines if number < first] or _titled_texts(tree, chosen, first)
        if above and not is_boilerplate(tree, above[-1]):
            chosen[above[-1]] = True
            between = range(max(above[-1], first - MAX_TO_PRICE), first)
            _choose((n for n in between if is_price(tree.texts[n]) and not tree.link_lengths[n]), chosen, True)
    boxes = {tree.boxes[number] for number in headlines if chosen[number]}
    _choose((n for n in headlines if tree.boxes[n] in boxes and tree.box_tags[tree.boxes[n]] == _H1), chosen, True)


def _titled_texts(tree: BlockTree, chosen: Sequence[bool], first: int) -> list[int]:
    """The headings that repeat most of the title, above the first chosen block; none if one of them is chosen.

    An ``<h1>`` may also stand behind that block. Where no heading repeats half of the title, a text without a link may:
    the references that Doxygen makes, and old forums, have their headline in a ``<div>``.
    """
    title = _words_of(tree.title)
    if not title.strip():
        return []
    headings = {number: _words_of(tree.texts[number]) for number in tree.headings}
    lines = {number: _words_of(tree.texts[number]) for number in range(first) if not tree.link_lengths[number]}
    titled = list[int]()
    for words, least in ((headings, len(title) / 2), (lines, len(title) / 2), (headings, 0)):
        most = max((len(of) for of in words.values() if of in title), default=0)
        titled = titled or [number for number, of in words.items() if len(of) == most > least and of in title]
    if any(chosen[number] for number in titled):
        return []
    last = len(chosen) - 1 - chosen[::-1].index(True)
    return [number for number in titled if number < (last if tree.text_roles[number] & H1 else first)]


def _words_of(text: str) -> str:
    """The words of a text between spaces, so that one text stands in another as whole words or not at all."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _blocks_of_article(root: HtmlElement, tree: BlockTree) -> list[bool]:
    from scrapy_simdedup.page.readability import find_article_blocks  # noqa: PLC0415 - few ask for it

    return find_article_blocks(root, tree, *classify_blocks(tree))
