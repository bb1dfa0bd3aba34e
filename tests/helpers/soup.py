"""Hypothesis strategies for what servers send instead of HTML: tag soup, and bytes under any declaration."""

from __future__ import annotations

from hypothesis import strategies as st

from scrapy_simdedup.page.roles import BLOCK_TAGS, NON_TEXT_TAGS

TAGS = sorted(
    BLOCK_TAGS | NON_TEXT_TAGS | {"a", "b", "i", "em", "span", "font", "code", "img", "input", "math", "frameset"}
)
NAMES = ("class", "id", "role", "style", "hidden", "href", "src", "shadowrootmode", "colspan", "start", "lang", "x:y")
SYNTAX = (
    *("<", ">", "</", "/>", "<!--", "-->", "--!>", "<!", "<![CDATA[", "]]>", "<?", "?>", "&", "&#", "&#x", ";"),
    *("'", '"', "=", "&amp", "&nbsp;", "&#0;", "&#xd800;", "&#x110000;", "&bogus;", "\x00", "\x0b", "\x1a", "\x7f"),
    *("</html>", "</body>", "<!DOCTYPE html>", "<?xml version='1.0' encoding='utf-16'?>", "<html>", "<body", "data:,"),
)
SIGNS = (
    *("\ufffd", "\ufffe", "\ud800", "\udfff", "\u200b", "\u202e", "\u0301", "\ufdfa", "\u3300", "\u0130", "\xad"),
    *("東", "ก", "가", "ᄀ", "\u2028", "\x85", "\U0010ffff"),
)
VALUES = (
    "main",
    "nav footer",
    "cookie",
    "comment-list",
    "article__body",
    "banner",
    "content",
    "display:none",
    "9",
    "-1",
)

_names = st.sampled_from(NAMES)
_values = st.one_of(st.sampled_from(VALUES), st.text(max_size=8))
_attributes = st.lists(st.builds("{}={!r}".format, _names, _values), max_size=3).map(" ".join)
_tags = st.builds("<{}{} {}>".format, st.sampled_from(["", "", "/"]), st.sampled_from(TAGS), _attributes)
_texts = st.one_of(
    st.text(max_size=12),
    st.text(st.characters(categories=["Cs", "Cc", "Cf", "Co", "Mn"]), max_size=4),
    st.sampled_from(["Some words, with commas. ", "cookie ", " ", "\n\t"]),
)
_signs = st.sampled_from(SYNTAX + SIGNS)


def _runs(pieces: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda piece, times: piece * times, pieces, st.sampled_from([1, 1, 1, 1, 2, 300, 3_000]))


markup = st.lists(st.one_of(_runs(_tags), _texts, _signs), max_size=40).map("".join)
"""Any tag anywhere, unclosed, thousands of levels deep, with up to a thousand characters of text."""

soup = st.lists(_runs(st.one_of(_tags, _tags, _texts, _signs)), max_size=40).map("".join)
"""The same with texts and signs repeated, too: up to a few hundred thousand characters."""

CODECS = (
    *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1251", "koi8-r"),
    *("shift_jis", "euc-jp", "iso2022_jp", "gb18030", "big5", "euc-kr"),
)
DECLARATIONS = (*CODECS, "gb2312", "utf-7", "unicode", "idna", "base64", "x-user-defined", "none", "\x00", "'\"", "")

bodies = st.one_of(
    st.binary(max_size=2_000),
    st.builds(lambda html, codec: html.encode(codec, "replace"), soup, st.sampled_from(CODECS)),
)
"""The bytes of a response, text or not."""

declarations = st.sampled_from(DECLARATIONS)
"""What a header or a ``<meta>`` calls their encoding, which need not be true, nor the name of one."""
