"""What tags, ARIA roles and the words of class and id say about the part of a page they mark. Data, and one look-up."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAV, HEADER, BRANDING, FOOTER, ASIDE, WIDGET, FORM, COOKIE, AD, RELATED, COMMENT, SOCIAL, META = (
    1 << i for i in range(13)
)
"""Parts that surround the content. Bits, because an element collects those of all elements around it."""

MAIN, MAIN_TAG, HEADING, H1, PARAGRAPH = (1 << i for i in range(13, 18))
"""Parts of the content: inside ``<main>`` or ``<article>``, ``<main>`` itself, and what the text is."""

FRAME_ROLES = (1 << 13) - 1
"""All that surrounds the content."""

WEAK_ROLES = HEADER | BRANDING | WIDGET | FORM | AD | RELATED | COMMENT | SOCIAL | META
"""Roles that themes also write on what holds the content, such as one ``<form>`` around the page."""

LAYOUT_ROLES = NAV | FOOTER | ASIDE | WIDGET
"""Roles of the site's own layout: if any name gives one, the names of the page speak. Notices, advertisements and
buttons for sharing come from elsewhere and have names on every site."""

TEXT_ROLES = HEADING | H1 | PARAGRAPH
"""Roles that inline elements inside keep, but which no element around gives on."""

ROLE_NAMES: dict[int, str] = {
    NAV: "navigation",
    HEADER: "header",
    BRANDING: "branding",
    FOOTER: "footer",
    ASIDE: "aside",
    WIDGET: "widget",
    FORM: "form",
    COOKIE: "cookie notice",
    AD: "advertisement",
    RELATED: "related pages",
    COMMENT: "comments",
    SOCIAL: "sharing",
    META: "dates and counters",
}
"""The frame roles in words, for reports and as keys of role words in settings."""

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
    "p": PARAGRAPH,
    "h1": HEADING | H1,
    **dict.fromkeys(("h2", "h3", "h4", "h5", "h6"), HEADING),
}

ARIA_ROLES: dict[str, int] = {
    "main": MAIN | MAIN_TAG,
    "article": MAIN,
    "navigation": NAV,
    "menu": NAV,
    "menubar": NAV,
    "banner": HEADER,
    "contentinfo": FOOTER,
    "complementary": ASIDE,
    "search": FORM,
    "form": FORM,
    "dialog": COOKIE,
    "alertdialog": COOKIE,
    "heading": HEADING,
}

ROLE_WORDS: dict[int, str] = {
    NAV: """
        breadcrumb breadcrumbs crumbs mainmenu menu menus nav navbar navigation navigator pager paginate pagination
        paging sitemap submenu subnav toc toolbar topbar topnav
        hauptmenue inhaltsverzeichnis filariane migas navegacion navegacao paginacion paginacao navigazione
        paginazione daohang меню навигация 导航 菜单 面包屑 ナビ メニュー パンくず""",
    BRANDING: "branding masthead",
    FOOTER: """
        colophon copyright footer
        fusszeile piepagina rodape piedipagina podval подвал 页脚 フッター""",
    ASIDE: "aside sidebar seitenleiste barralateral 侧栏 侧边栏 サイドバー",
    WIDGET: "gadget widget widgets",
    COOKIE: "cmp consent cookie cookiebar cookies didomi gdpr lightbox modal onetrust popup dsgvo rgpd lgpd",
    AD: """
        ad ads adsense adslot advert advertisement advertising adverts banner banners dfp outbrain promo promoted
        promotion sponsor sponsored sponsors taboola
        werbung publicite publicidad publicidade pubblicita reklama guanggao реклама 广告 広告""",
    RELATED: """
        alsolike crosssell popular readmore recommend recommendation recommendations recommended related similar
        suggested suggestions trending upsell
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
        byline counter date dateline likes meta modified postmeta pubdate stats tags timestamp updated views
        datum fecha дата 日期 日付""",
}
"""Words of class and id names by the role they give. Words that also name sizes or places (``bottom``, ``side``,
``top``, ``more``, ``time``) are not here: ``padding-bottom`` is no footer."""

UNNAMED_TAGS = frozenset(
    {*("html", "body", "main", "article"), *("h1", "h2", "h3", "h4", "h5", "h6")}
    | {*("a", "b", "i", "em", "strong", "code", "pre"), *("td", "th", "tr", "dt", "dd")}
)
"""Elements whose class and id say nothing: headings and links have them from their text, pages from their theme."""

SLUG_TAGS = frozenset({"section", "li", "p", "span"})
"""Elements whose id is often a slug of the heading inside, such as ``id="related-work"``."""

_NO_WIDGET = "elementor-widget"  # this page builder writes it on all content
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+")
_MEMO = 50_000
_MEMO_LENGTH = 300
_READ = 2_000  # characters of a class that are looked at: what follows was put there to cost time


class RoleWords(dict[str, int]):
    """Frame roles of a class or id value, found on first use: ``RoleWords()["site-footer wide"]`` is ``FOOTER``."""

    def __init__(self, more: Mapping[int, Iterable[str]] | None = None) -> None:
        """Take the words of :data:`ROLE_WORDS` and ``more``, from role to words."""
        super().__init__()
        said = repr(sorted((role, sorted(words)) for role, words in (more or {}).items())).encode()
        self.words_id = int.from_bytes(blake2b(said, digest_size=2).digest(), "little") or 1 if more else 0
        """16 bits that tell such tables apart; 0 without ``more``."""
        self._roles: dict[str, int] = {}
        for table in ({role: words.split() for role, words in ROLE_WORDS.items()}, more or {}):
            for role, words in table.items():
                for word in words:
                    self._roles[word.lower()] = self._roles.get(word.lower(), 0) | role

    def __repr__(self) -> str:
        return f"RoleWords({self.words_id})"  # what was found in them so far says nothing about them

    def __missing__(self, value: str) -> int:
        role = 0
        names = value[:_READ].replace(_NO_WIDGET, "")
        for match in _NAME_WORD.finditer(names):
            word = match.group().lower()
            if word in self._roles and not _is_part_of_a_hash(names, *match.span()):
                role |= self._roles[word]
        if len(value) <= _MEMO_LENGTH:
            if len(self) >= _MEMO:
                self.clear()
            self[value] = role
        return role


def _is_part_of_a_hash(value: str, start: int, end: int) -> bool:
    """Whether letters that look like a word only stand between digits: there is no ``ad`` in ``x3ad9f``."""
    follows_digit = start > 0 and value[start - 1].isdigit()
    return follows_digit or (end - start <= 3 and end < len(value) and value[end].isdigit())


DEFAULT_WORDS = RoleWords()
"""The words that come with the package; one memo for the process."""


@lru_cache(maxsize=4)
def role_words(more: tuple[tuple[str, tuple[str, ...]], ...]) -> RoleWords:
    """The words that come with the package and more, by the names of :data:`ROLE_NAMES`; one memo for the process."""
    if not more:
        return DEFAULT_WORDS
    roles = {name: role for role, name in ROLE_NAMES.items()}
    return RoleWords({roles[name]: words for name, words in more})
