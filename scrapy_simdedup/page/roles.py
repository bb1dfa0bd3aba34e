"""The roles of the parts of a page, and what gives them: tags, ARIA roles, and the words of class and id names.

A new word is one word in :data:`ROLE_WORDS`. A new role is a name in the settings' ``RoleName``, a bit and its words.
This module is data and one look-up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce
from hashlib import blake2b
from typing import get_args

from scrapy_simdedup.settings import RoleName

ROLE_NAMES: dict[int, RoleName] = {1 << bit: name for bit, name in enumerate(get_args(RoleName)) if name != "content"}
"""The name of each boilerplate role. Roles are bits, because an element collects those of all elements around it."""
NAV, HEADER, BRANDING, FOOTER, ASIDE, WIDGET, FORM, COOKIE, AD, RELATED, COMMENT, SOCIAL, META = ROLE_NAMES
BOILERPLATE_ROLES = sum(ROLE_NAMES)
MAIN, MAIN_TAG, HEADING, H1, PARAGRAPH = (1 << len(ROLE_NAMES) + bit for bit in range(5))
"""Roles of the content: inside ``<main>`` or ``<article>``, ``<main>`` itself, headings, ``<h1>`` and paragraphs."""
WEAK_ROLES = HEADER | BRANDING | WIDGET | FORM | AD | RELATED | COMMENT | SOCIAL | META
"""Boilerplate roles that themes also write on what holds the content, such as one ``<form>`` around the page."""
WRAPPER_ROLES = WEAK_ROLES | ASIDE
"""Boilerplate roles that themes write on what wraps the content: ``layout--sidebar-right`` has the sidebar inside."""
LAYOUT_ROLES = NAV | FOOTER | ASIDE | WIDGET
"""Roles of the site's own layout. A page whose classes and ids give one of them has names that can be relied on; those
of notices, advertisements and buttons for sharing come from elsewhere and stand on every site."""
TEXT_ROLES = HEADING | H1 | PARAGRAPH
BY_SETTING = 1 << len(ROLE_NAMES) + 5
"""Beside a boilerplate role that a word of ``SIMDEDUP_ROLE_WORDS`` gives: somebody who knows the site named the box."""
BY_SHAPE = 1 << len(ROLE_NAMES) + 6
"""Beside the role of a block that no name and no tag gave it: it stands beside the content, or is a link."""
FACTS = 1 << len(ROLE_NAMES) + 7
"""The role of a list of terms, and of a table: what they say are facts more often than a dateline is."""
NODE_ROLES = BOILERPLATE_ROLES | MAIN | MAIN_TAG | BY_SETTING | FACTS
"""Roles that an element gives to all it holds."""
TAG_ROLES: dict[str, int] = {
    "main": MAIN | MAIN_TAG,
    "article": MAIN,
    "nav": NAV,
    "menu": NAV,
    "header": HEADER,
    "footer": FOOTER,
    "aside": ASIDE,
    "form": FORM,
    "dialog": COOKIE,
    "dl": FACTS,
    "table": FACTS,
    "p": PARAGRAPH,
    "h1": HEADING | H1,
    **dict.fromkeys(("h2", "h3", "h4", "h5", "h6"), HEADING),
}
ARIA_ROLES: dict[str, int] = {
    "main": MAIN | MAIN_TAG,
    "article": MAIN,
    **dict.fromkeys(("navigation", "menu", "menubar"), NAV),
    "banner": HEADER,
    "contentinfo": FOOTER,
    "complementary": ASIDE,
    **dict.fromkeys(("search", "form"), FORM),
    **dict.fromkeys(("dialog", "alertdialog"), COOKIE),
    "heading": HEADING,
}
ROLE_WORDS: dict[int, str] = {
    NAV: """
        breadcrumb breadcrumbs bread-crumb bread-crumbs crumbs mainmenu menu menus nav navbar navigation navigator pager
        paginate pagination paging sitemap submenu subnav toc toolbar topbar topnav
        hauptmenue inhaltsverzeichnis filariane migas navegacion navegacao paginacion paginacao navigazione
        paginazione daohang меню навигация 导航 菜单 面包屑 ナビ メニュー パンくず""",
    BRANDING: "branding masthead",
    FOOTER: """
        colophon copyright footer
        fusszeile piepagina rodape piedipagina podval подвал 页脚 フッター""",
    ASIDE: """
        aside sidebar side-bar sideblock side-block sidebox side-box sidecolumn side-column sidepanel side-panel
        seitenleiste barralateral 侧栏 侧边栏 サイドバー""",
    WIDGET: "gadget widget widgets",
    COOKIE: "cmpbox consent cookie cookiebar cookies didomi gdpr modal onetrust popup dsgvo rgpd lgpd",
    AD: """
        ad ads adsense adslot advert advertisement advertising adverts banner banners dfp outbrain promo promoted
        promotion sponsor sponsored sponsors taboola
        werbung publicite publicidad publicidade pubblicita reklama guanggao реклама 广告 広告""",
    RELATED: """
        alsolike also-like crosssell cross-sell cross-sells popular readmore recently-viewed recommend recommendation
        recommendations recommended related similar
        suggested suggestions trending upsell upsells up-sell up-sells
        empfehlungen similaires relacionados relacionadas correlati pohozhie похожие рекомендации 相关 推荐
        関連 おすすめ""",
    COMMENT: """
        comment commentlist comments disqus replies respond
        kommentar kommentare commentaire commentaires comentario comentarios commenti commento kommentarii pinglun
        комментарии 评论 コメント""",
    SOCIAL: """
        addthis follow newsletter share sharedaddy sharing social subscribe subscription
        teilen partager partage compartir compartilhar condividi podelitsya fenxiang поделиться 分享""",
    META: """
        byline counter date dateline likes meta modified postmeta pubdate stats timestamp updated views
        datum fecha дата 日期 日付""",
}
"""Words of class and id names by the role they give. Words that also name sizes or places (``bottom``, ``side``,
``top``, ``more``, ``time``) are left out: ``padding-bottom`` is no footer.
A word with a dash is two words in a row: ``side-box`` is found in ``leftSideBox``."""
NON_TEXT_TAGS = frozenset(
    "title script style template audio canvas embed iframe map object svg video button datalist option select"
    " noembed noframes noscript".split()
)
"""Elements whose text is not the page's own: code, choices, and what shows only where something else fails."""
BLOCK_TAGS = frozenset(
    "html body main article section div header footer nav aside center p pre xmp blockquote address figure figcaption"
    " details summary dialog br hr h1 h2 h3 h4 h5 h6 hgroup ul ol menu li dl dt dd form fieldset legend table caption"
    " thead tbody tfoot tr td th textarea".split()
)
"""Elements that begin and end a block of text; all others, unknown ones too, stand inside a line."""
TAGS_THAT_IGNORE_NAMES = frozenset(
    "html body main article h1 h2 h3 h4 h5 h6 a b i em strong code pre td th tr dt dd".split()
)
"""Elements whose class and id give no role: those of headings and links come from their text, of pages from a theme."""
SLUG_TAGS = frozenset({"section", "li", "p", "span"})
"""Elements whose id is often a slug of the heading inside, such as ``id="related-work"``."""
BLOCK, BOX, SKIPPED, LINK, IGNORES_NAMES, HAS_SLUG_ID = (1 << bit for bit in range(24, 30))
"""Flags of tags, above all roles. A box is a block with an inside; of a skipped element no text is read."""
TAG_FLAGS = {
    tag: TAG_ROLES.get(tag, 0)
    | sum(
        flag
        for flag, tags in (
            *((BLOCK, BLOCK_TAGS), (BOX, BLOCK_TAGS - {"br", "hr"}), (SKIPPED, NON_TEXT_TAGS), (LINK, {"a"})),
            *((IGNORES_NAMES, TAGS_THAT_IGNORE_NAMES), (HAS_SLUG_ID, SLUG_TAGS)),
        )
        if tag in tags
    )
    for tag in (*TAG_ROLES, *BLOCK_TAGS, *NON_TEXT_TAGS, *TAGS_THAT_IGNORE_NAMES, *SLUG_TAGS)
}
"""The roles and flags of a tag, which the walk over a page gets in one look-up; any other tag has none."""
TAG_IDS = {
    tag: number
    for number, tag in enumerate(
        "p li td th dt dd pre blockquote figcaption h1 h2 h3 h4 h5 h6 div section article main nav header footer aside"
        " form ul ol table tr dl figure details summary address fieldset a span".split(),
        start=1,
    )
}
"""Numbers of the tags that tell the content model something; any other tag is 0."""
_NO_PAGE = re.compile(
    r"(?:mailto|sms|tel):[^?]"
    r"|[^#]*\.(?:7z|apk|bz2|csv|deb|diff|dmg|docx?|epub|exe|flac|gz|ics|iso|jar|m4a|mkv|mobi|mov|mp[34]|msi|od[pst]|og[gv]"
    r"|patch|pdf|pptx?|ps|rar|rpm|rtf|tar|tgz|txt|vcf|wav|webm|xlsx?|xz|zip)(?:[?#]|\Z)",
    re.ASCII | re.IGNORECASE,
)
"""How links begin that lead to an address, a number or a file; without an address, a mail is to share the page."""
BODY_PROPERTIES = frozenset({"articleBody", "text", "description", "reviewBody", "recipeInstructions"})
"""Values of ``itemprop`` with which a box says that it is the text of an article, a review or a product."""
_NAMES_OF_SYSTEMS = re.compile(
    r"elementor-widget"
    r"|(?<![\w-])(?:block-views(?:-promoted)?|views-(?!count|num|total))"
    r"|(?<![\w-])(?:node-?|view(?:-id)?)-promoted"
)
"""What systems write on all content: Elementor; Drupal on what Views lists, and on what its front page has."""
_MARKS_OF_SYSTEMS = ("elementor-widget", "views-", "-views", "-promoted")
"""Parts of such names; a search for a part is faster than one for the names."""
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+")
_LETTERS = bytes(code if chr(code).isalpha() else ord(" ") for code in range(128)).ljust(256)
"""A table for ``bytes.translate`` that leaves the letters of ASCII."""
_OF_THE_INSIDE = frozenset("no non not without with has".split())
"""Words before a word that tell what an element holds or lacks, not what it is: ``has-sidebar``, ``no-footer``."""
_OF_AN_EVENT = frozenset("field start begin end closing due exam release".split())
"""Words before ``date`` that tell what happens on that day: it is a fact, not when a page was written. In Drupal,
``field-`` begins the names that the owners of a site gave."""
_THINGS, _FACTS_OF_THINGS = ("event", "product", "recipe", "job", "course", "property"), frozenset({"date", "meta"})
"""How words begin behind which these words tell facts of a thing, not when a page was written: ``eventitem-meta``."""
_JOINED = frozenset({"", "-", "_"})
"""The space between two words of one name."""
_CACHE_SIZE = 50_000
_MAX_CACHED_LENGTH = 300
MARKS = 1 << 14
"""Bits among which the words have theirs, so that few other words seem to be one."""
_MAX_NAME_LENGTH = 2_000  # characters of a class that are looked at: what follows was put there to cost time


class RoleWords(dict[str, int]):
    """The roles that a class or id value gives, found on first use: ``RoleWords()["site-footer wide"]`` is ``FOOTER``.

    There can be ``more`` words by role, beside those of :data:`ROLE_WORDS`.
    """

    def __init__(self, more: Mapping[int, Iterable[str]] | None = None) -> None:
        super().__init__()
        listed = repr(sorted((role, sorted(words)) for role, words in (more or {}).items())).encode()
        self.words_id: int = int.from_bytes(blake2b(listed, digest_size=2).digest(), "little") or 1 if more else 0
        """16 bits that differ between tables with different words in ``more``; 0 without ``more``."""
        self._roles: dict[str, int] = {}
        listed_here = [(role, word) for role, words in ROLE_WORDS.items() for word in words.split()]
        by_setting = {role: role | BY_SETTING if role & BOILERPLATE_ROLES else role for role in more or ()}
        listed_there = [(by_setting[role], word) for role, words in (more or {}).items() for word in words]
        for role, word in listed_here + listed_there:
            self._roles[word.lower()] = self._roles.get(word.lower(), 0) | role
        self._last_words = frozenset(word.rpartition("-")[2] for word in self._roles)
        """The words, and of two in a row the second."""
        self.marks: bytes = _marks_of(self._last_words)
        """A bit for each of these words: the compiled walk passes over values without them."""

    def __repr__(self) -> str:
        return f"RoleWords({self.words_id})"  # without the values that were looked up so far

    def __missing__(self, value: str) -> int:
        role, read = 0, value[:_MAX_NAME_LENGTH]
        if any(map(read.__contains__, _MARKS_OF_SYSTEMS)):
            read = _NAMES_OF_SYSTEMS.sub("", read)
        written, words = _words_of(read)
        if not self._last_words.isdisjoint(words):  # most values have none
            names = read.split()
            if len(names) == 1:
                role = self._role_of(names[0], written, words)
            else:  # a page has few names, and many combinations of them
                for name in names:
                    role |= self[name]
        if len(value) <= _MAX_CACHED_LENGTH:
            if len(self) >= _CACHE_SIZE:
                self.clear()
            self[value] = role
        return role

    def _role_of(self, name: str, written: list[str], words: list[str]) -> int:
        role = 0
        before, start, end, was_of_the_inside, of_thing = "", 0, 0, False, False
        for as_written, word in zip(written, words, strict=True):
            at, after = name.index(as_written, end), end  # between two words is no letter
            end = at + len(as_written)
            of_the_inside = before in _OF_THE_INSIDE and name[after:at] in _JOINED
            if word in self._last_words:
                is_fact = word in _FACTS_OF_THINGS and (of_thing or (word == "date" and before in _OF_AN_EVENT))
                if word in self._roles and not (of_the_inside or is_fact or _is_part_of_a_hash(name, at, end)):
                    role |= self._roles[word]
                pair = f"{before}-{word}"
                if pair in self._roles and name[after:at] in _JOINED and not was_of_the_inside:
                    role |= 0 if _is_part_of_a_hash(name, start, end) else self._roles[pair]
            before, start, was_of_the_inside = word, at, of_the_inside
            of_thing = of_thing or word.startswith(_THINGS)
        return role


def _marks_of(words: Iterable[str]) -> bytes:
    marks = bytearray(MARKS // 8)
    for word in words:
        number = reduce(lambda made, letter: (31 * made + letter) % MARKS, word.encode("utf-8", "surrogatepass"), 0)
        marks[number // 8] |= 1 << number % 8
    return bytes(marks)


def leads_to_no_page(href: str) -> bool:
    """Whether a link leads to a file, an address or a number: what it says of that stands on no other page.

    >>> leads_to_no_page("/minutes/May.PDF?v=2"), leads_to_no_page("tel:+44205"), leads_to_no_page("/pdf")
    (True, True, False)
    """
    return _NO_PAGE.match(href) is not None


def _words_of(names: str) -> tuple[list[str], list[str]]:
    """The words of some names, as they are written and in lower case."""
    if names.islower() and names.isascii():  # as most are: what is no letter parts the words
        words = names.encode().translate(_LETTERS).decode().split()
        return words, words
    written = _NAME_WORD.findall(names)
    return written, list(map(str.lower, written))


def _is_part_of_a_hash(value: str, start: int, end: int) -> bool:
    """Whether letters that look like a word only stand between digits: there is no ``ad`` in ``x3ad9f``."""
    follows_digit = start > 0 and value[start - 1].isdigit()
    return follows_digit or (end - start <= 3 and end < len(value) and value[end].isdigit())


DEFAULT_ROLE_WORDS = RoleWords()
"""The words that come with the package, with one cache of look-ups for the process."""


@lru_cache(maxsize=4)
def role_words(more: tuple[tuple[RoleName, tuple[str, ...]], ...]) -> RoleWords:
    """The words that come with the package and those of ``SIMDEDUP_ROLE_WORDS``, made once for the process."""
    roles: dict[RoleName, int] = {name: role for role, name in ROLE_NAMES.items()} | {"content": MAIN}
    return RoleWords({roles[name]: words for name, words in more}) if more else DEFAULT_ROLE_WORDS
