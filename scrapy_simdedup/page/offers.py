"""The offer of a page: what it says of prices and stock beside its text.

A shop may show one text for an article that is there and for one that is sold out, and say which it is on the button
of the cart, in the list of its sizes, or in data for search engines: JSON-LD, microdata or Open Graph, in the terms of
schema.org/Offer. All of it together is one more text of the page, of which an edit is news.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING

from scrapy_simdedup.page.amounts import is_price
from scrapy_simdedup.page.metadata import attributes_of_tag

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MAX_FORMS, MAX_FORM_LENGTH = 20, 100_000
"""Forms that are looked at, and how many characters of each: some sites have one around the whole page."""
_IS_POSTED = re.compile(r"<form\b[^>]{0,1000}\smethod\s*=\s*[\"']?post", re.IGNORECASE).match
_OPTION, MAX_OPTIONS = re.compile(r"<option\b([^>]{0,1000})>([^<]{0,200})"), 200
"""A choice: its attributes and its text; and how many of them are read of a form."""
_IS_DISABLED = re.compile(r"\sdisabled(?=[\s=]|$)").search
_WORD, _MARK = "vailability", 'vailability"'
"""Both stand in all data that tells whether something is to be had. The first is in some texts as well, but is found
faster, as quotation marks are many."""
_PROPERTY = re.compile(r'"(price|lowPrice|highPrice|availability)"\s*:\s*"?([^\s",}\]]{1,80})')
_IN_TAGS = _MARK, 'price:amount"', 'itemprop="price"'
"""One of these stands in the tag of each fact of microdata or Open Graph; to look for tags takes ten times as long."""
MAX_TAGS, MAX_TAG_LENGTH = 200, 500
_NAME = re.compile(r"(?:(?:product|og):)?(price|availability)(?::amount)?").fullmatch
_ANY_TAG, _NUMBER = re.compile(r"<[^<>]*>"), re.compile(r"\d+")


def find_offer(root: HtmlElement, html: str, *, has_form: bool) -> str:
    """The offer of a page that was parsed from some HTML; empty for none. Never raises.

    Numbers on buttons and in choices do not count, as they are counters, but for prices.
    """
    facts = list(_of_forms(html)) if has_form else []
    if _WORD in html and _MARK in html:
        facts += _of_json_ld(root)
        facts += _of_tags(html)
    return "\n".join(sorted(facts))


def _of_forms(html: str) -> Iterator[str]:
    """What buttons and choices of forms say; to look for them in the tree takes a tenth of the time of parsing it."""
    end = 0
    for _ in range(MAX_FORMS):
        at = html.find("<form", end)
        if at < 0:
            return
        end = html.find("</form", at, at + MAX_FORM_LENGTH)
        end = at + MAX_FORM_LENGTH if end < 0 else end
        form = html[at:end]
        yield from _of_choices(form)
        at = 0
        while (at := form.find("<button", at)) >= 0 and (close := form.find("</button", at)) >= 0:
            yield _label(form[at:close])
            at = close


def _of_choices(form: str) -> set[str]:
    """The choices of a form that is posted, such as the sizes of an article, and which of them cannot be chosen.

    Forms that search, filter and sort are not posted as a rule, and their lists may change without the page.
    """
    if "<option" not in form or not _IS_POSTED(form):
        return set()
    return {
        _label(found[2]) + (" (disabled)" if _IS_DISABLED(found[1]) else "")
        for found in islice(_OPTION.finditer(form), MAX_OPTIONS)
    }


def _label(html: str) -> str:
    text = " ".join(unescape(_ANY_TAG.sub(" ", html)).split())
    return text if is_price(text) else _NUMBER.sub("#", text)


def _of_json_ld(root: HtmlElement) -> Iterator[str]:
    for script in root.iter("script"):
        if "ld+json" in script.get("type", "").lower():
            for name, value in _PROPERTY.findall(script.text or ""):
                yield _fact(name, value)


def _of_tags(html: str) -> Iterator[str]:
    for mark in _IN_TAGS:
        at = 0
        for _ in range(MAX_TAGS):
            at = html.find(mark, at) + len(mark)
            if at < len(mark):
                break
            start, end = html.rfind("<", max(0, at - MAX_TAG_LENGTH), at), html.find(">", at, at + MAX_TAG_LENGTH)
            if start >= 0 and end >= 0 and html[start : start + 5].lower() in {"<meta", "<link"}:
                yield from _of_tag(attributes_of_tag(html[start : end + 1]))


def _of_tag(attributes: dict[str, str]) -> Iterator[str]:
    named = _NAME(attributes.get("itemprop") or attributes.get("property") or "")
    if named:
        yield _fact(named[1], attributes.get("content") or attributes.get("href") or "")


def _fact(name: str, value: str) -> str:
    """A property with its value, of an address the last part: ``InStock`` has several."""
    return f"{name} {value.rstrip('/').rpartition('/')[2]}"
