"""Hidden texts: what a page says in places of which no block is made.

1. As a rule a ``<noscript>`` holds a tracking pixel, an image that is loaded late, or the plea to enable JavaScript,
   which is the same on all pages of a site. But forums that scripts build show search engines their text there. It is
   read only where it holds more text than all of the page besides, and looks like a page: it has a main part or an
   article, or is far longer than a plea.
2. What a page says that is a *shell* around data stands in the texts of its data: JSON, or the state of an application.
   Keys, numbers, tokens, addresses and times do not say it: they differ each time that the same page is fetched. So a
   text is a string of three words or more, without a time of day. A page that shows enough text, or far more than its
   data has, speaks for itself.
3. A shop may show one text for an article that is there and for one that is sold out, and say which it is on the
   button of the cart, in the list of its sizes, or in data for search engines: JSON-LD, microdata or Open Graph, in the
   terms of schema.org/Offer. All of it together, the *offer*, is one more text of the page, of which an edit is news.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import unescape
from itertools import islice, pairwise
from operator import itemgetter
from typing import Any

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simdedup.page.amounts import TIME_OF_DAY, UNSPACED_TEXT, is_price
from scrapy_simdedup.page.metadata import OFFER_PROPERTIES, attributes_of_tag
from scrapy_simdedup.page.parse import mentions, outermost, utf8

MAX_SHELL_LENGTH = 2_000
"""Characters of content above which a page is no shell, whatever data it has: some 300 words."""
MIN_DATA_SHARE = 0.5
"""The texts of the data by the text of the content, in characters, from which the page is a shell around them."""
MIN_DATA_LENGTH = 60
"""Characters of texts below which data say nothing, such as the name of a site and of its search."""
MIN_WORDS = 3
"""Words of a string from which it is a text."""
MAX_TIMED_WORDS = 12
"""Words of a string up to which a time of day makes it one that changes each time."""
MAX_TOKEN_LENGTH = 16
"""Characters of a word with digits above which it is a token."""
_CODE_TYPES = frozenset({"", "module", "text/javascript", "application/javascript"})
_STATES = {
    "__": re.compile(r"__(?:next_f\b|[A-Z]\w{0,40}[\"']?\]?\s{0,9}=(?![=>]))"),
    "window.": re.compile(r"window\.\w{0,40}?(?i:state|data|props|store)\s{0,9}=(?![=>])"),
}
"""What gives an application its state, such as ``window["__INITIAL_STATE__"] = ...``, by how it begins: that is found
in a third of the time."""
# One backslash leads, as a search then skips all else: that is ten times as fast.
_UNICODE_ESCAPE = re.compile(r"\\\\{0,3}u([0-9a-fA-F]{4})")
_SPACE_ESCAPE = re.compile(r"\\(?<!\\\\)\\*[nrtbf]")
"""From the first backslash of a row: a row without end would be looked through anew from each."""
_TAG = re.compile(r"<[^<>]*>")
_WORD = re.compile(r"[^\W\d_]{2}")
_DIGIT = re.compile(r"\d")
MAX_TEXT_BESIDE = 2_000
"""Characters of other text above which a ``<noscript>`` is not read."""
MIN_NOSCRIPT_WITH_MAIN = 200
"""Characters from which a ``<noscript>`` with a main part or an article may be the page."""
MIN_NOSCRIPT = 1_500
"""Characters from which any other may be."""
LENGTH_PER_MENTION = 400
"""Characters of a page for each time that it mentions JavaScript; what mentions it more often is a plea."""
_has_main_part = etree.XPath("boolean(descendant::*[self::main or self::article or @role='main' or @itemprop])")
_CODE = ("script", "style", "template", "iframe", "svg")
_IS_POSTED = re.compile(r"<form\b[^>]{0,1000}\smethod\s*=\s*[\"']?post", re.IGNORECASE).match
_OPTION, MAX_OPTIONS = re.compile(r"<option\b([^>]{0,1000})>([^<]{0,200})"), 200
"""A choice: its attributes and its text; and how many of them are read of a form."""
_INPUT = re.compile(r"<input\b[^<>]{0,1000}>")
_asks_who_one_is = re.compile(
    r"<input\b[^<>]{0,1000}?\s(?:type\s*=\s*[\"']?(?:email|password)\b|name\s*=\s*[\"']?\w{0,30}mail)", re.IGNORECASE
).search
MAX_PERSONAL_LENGTH = 4_000
"""Characters of such a form up to which it is for nothing else; one around a whole page has the article's cart."""
_IS_BUTTON = re.compile(r"\stype\s*=\s*[\"']?(?:submit|button)\b", re.IGNORECASE).search
_IS_DISABLED = re.compile(r"\sdisabled(?=[\s=]|$)").search
MAX_FORMS, MAX_FORM_LENGTH = 20, 100_000
"""Forms that are looked at, and how many characters of each: some sites have one around the whole page."""
MAX_BOXES_OF_CARD, MAX_TEXTS_OF_CARD, MAX_RELATED_LENGTH = 5, 100, 20_000
"""Boxes around the form of an article in which its name is looked for, texts beside the form, and the characters of
all related articles, up to which that is done."""
_OFFER_WORD, _has_offer_mark = "vailability", re.compile(r"vailability(?=[\"'\s/>])").search
"""Both stand in all data that tells whether something is to be had. The first is in some texts as well, but is found
faster."""
_PROPERTY = re.compile(r'"(price|lowPrice|highPrice|availability)"\s*:\s*"?([^\s",}\]]{1,80})')
_IN_TAGS = _OFFER_WORD, "price:amount", 'itemprop="price', "itemprop='price", "itemprop=price"
"""One of these stands in the tag of each fact of microdata or Open Graph; to look for tags takes ten times as long."""
MAX_TAGS, MAX_TAG_LENGTH = 200, 500
_NAME = re.compile(r"(?:(?:product|og):)?(price|availability)(?::amount)?").fullmatch
_NUMBER = re.compile(r"\d+")


def shell_texts(root: HtmlElement, content: int) -> frozenset[str]:
    """The texts in the data of a page; empty unless it is a shell around them, by the characters of its ``content``."""
    if content > MAX_SHELL_LENGTH:
        return frozenset()
    data = [_data(script) for script in root.iter("script")]
    least = max(MIN_DATA_SHARE * content, MIN_DATA_LENGTH)
    if sum(map(len, data)) <= least:
        return frozenset()
    texts = frozenset(text for code in data for text in _texts(code))
    return texts if sum(map(len, texts)) > least else frozenset()


def _data(script: HtmlElement) -> str:
    """The code of a script that holds data; "" for others."""
    code = script.text
    if not code or len(code) < MIN_DATA_LENGTH:
        return ""
    kind = script.get("type", "").partition(";")[0].strip().lower()
    is_data = kind.endswith("json") or (
        kind in _CODE_TYPES and any(mark in code and state.search(code) for mark, state in _STATES.items())
    )
    return code if is_data else ""


def _texts(code: str) -> Iterator[str]:
    """The texts between the quotation marks of some data, which may be a string in data itself."""
    if "\\" in code:
        code = _UNICODE_ESCAPE.sub(lambda found: chr(int(found[1], 16)), code.replace("\\/", "/"))
        code = _SPACE_ESCAPE.sub(" ", code).replace("\\", "")
    parts = code.split('"' if '"' in code else "'")
    for part, following in pairwise((*parts, "")):
        if (" " not in part and part.isascii()) or following.lstrip().startswith(":"):
            continue
        words = [word for word in _TAG.sub(" ", unescape(part)).split() if not _is_token(word)]
        text = " ".join(words)
        found = list(islice(filter(_WORD.search, words), MIN_WORDS))
        if len(found) < MIN_WORDS and not UNSPACED_TEXT.search(text):
            continue
        if len(words) > MAX_TIMED_WORDS or not TIME_OF_DAY.search(text):
            yield text


def _is_token(word: str) -> bool:
    """Whether a word is an address, or a name that a machine made."""
    return "://" in word or (len(word) > MAX_TOKEN_LENGTH and _DIGIT.search(word) is not None)


def open_noscripts(root: HtmlElement, texts: Sequence[str]) -> bool:
    """Turn each ``<noscript>`` that holds the page into a ``<div>``; whether there is one.

    The page's other texts decide.
    """
    rest = sum(map(len, texts))
    if rest > MAX_TEXT_BESIDE:
        return False
    opened = False
    for element in outermost(list(root.iter("noscript"))):
        text = _letters(element)
        if len(text) > max(rest, MIN_NOSCRIPT_WITH_MAIN, LENGTH_PER_MENTION * text.lower().count("javascript")) and (
            len(text) >= MIN_NOSCRIPT or _has_main_part(element)
        ):
            element.tag = "div"
            opened = True
    return opened


def _letters(element: HtmlElement) -> str:
    """The text of an element without white space and code."""
    parts: list[str | None] = []
    walker = etree.iterwalk(element, events=("start", "end"))
    for event, found in walker:
        if event == "end":
            parts.append(found.tail if found is not element else None)
        elif found.tag in _CODE:
            walker.skip_subtree()
        else:
            parts.append(found.text)
    return "".join("".join(filter(None, parts)).split())


def tells_availability(html: str) -> bool:
    """Whether a page has data that tell whether something is to be had."""
    return mentions(utf8(html, "replace"), _OFFER_WORD.encode()) and _has_offer_mark(html) is not None


def find_offer(
    root: HtmlElement, html: str, item: dict[str, Any], *, has_form: bool, has_data: bool, related: Sequence[str] = ()
) -> str:
    """The offer of a page that was parsed from some HTML; empty for none. Never raises.

    Where the ``item`` of microdata has one, see :func:`~scrapy_simdedup.page.metadata.item_around`, those of other
    things beside it do not count, and neither do the carts of articles that are ``related``, by all texts about such.
    Numbers on buttons and in choices do not count, as they are counters, but for prices.
    """
    facts = list(_of_forms(html)) if has_form else []
    is_asked = facts and 0 < sum(map(len, related)) <= MAX_RELATED_LENGTH
    if is_asked and utf8(html, "replace").lower().count(b"<form") <= MAX_FORMS:
        said = "\n".join(related)
        _take_out(facts, [form for form in root.iter("form") if _is_of_card(form, said)])
    if has_data:
        facts += _of_json_ld(root)
        of_item = [
            _fact(name, said[name])
            for said in (item, *item.get("offers", ()))
            for name in OFFER_PROPERTIES
            if name in said
        ]
        facts += of_item or _of_tags(html)
    return "\n".join(sorted(facts))


def _of_forms(html: str) -> Iterator[str]:
    """What buttons and choices of forms say; to look for them in the tree takes a tenth of the time of parsing it.

    A form that asks for an address or a password is for newsletters and members, and may be shown now and then only.
    """
    raw = utf8(html, "replace")
    if not mentions(raw, b"<form"):
        if not mentions(raw, b"<F"):
            return
        html = html.lower()  # its tags are in capitals
    end = 0
    for _ in range(MAX_FORMS):
        at = html.find("<form", end)
        if at < 0:
            return
        end = html.find("</form", at, at + MAX_FORM_LENGTH)
        end = at + MAX_FORM_LENGTH if end < 0 else end
        form = html[at:end]
        if len(form) <= MAX_PERSONAL_LENGTH and _asks_who_one_is(form):
            continue
        yield from _of_choices(form)
        yield from _of_buttons(form)


def _take_out(facts: list[str], forms: Iterable[HtmlElement]) -> None:
    """Take out what the buttons of some forms say.

    Whether they are disabled is not known of the elements: where there are buttons of both kinds, both stay.
    """
    for button in (button for form in forms for button in form.iter("button")):
        label = _label(etree.tostring(button, encoding="unicode", with_tail=False), "")
        known = [fact for fact in (label, f"{label} (disabled)") if fact in facts]
        if len(known) == 1:
            facts.remove(known[0])


def _is_of_card(form: HtmlElement, related: str) -> bool:
    """Whether a form stands with a link in a box of which each text is said about related articles."""
    inside: HtmlElement = form
    for around in islice(form.iterancestors(), MAX_BOXES_OF_CARD):
        texts = list(islice(filter(None, _texts_beside(inside, around)), MAX_TEXTS_OF_CARD + 1))
        if len(texts) > MAX_TEXTS_OF_CARD or any(text not in related for text in texts):
            return False
        if any(text.strip() for link in around.iter("a") for text in link.itertext()):
            return True
        inside = around
    return False


def _texts_beside(inside: HtmlElement, around: HtmlElement) -> Iterator[str]:
    """The texts in an element but for those in one of its children."""
    for element in around:
        for text in () if element is inside else element.itertext():
            yield " ".join(text.split())
        yield " ".join((element.tail or "").split())
    yield " ".join((around.text or "").split())


def _of_buttons(form: str) -> Iterator[str]:
    at = 0
    while (at := form.find("<button", at)) >= 0 and (close := form.find("</button", at)) >= 0:
        tag, _, label = form[at:close].partition(">")
        yield _label(label, tag)
        at = close
    for tag in islice(map(itemgetter(0), _INPUT.finditer(form)), MAX_OPTIONS):
        if _IS_BUTTON(tag):
            yield _label(attributes_of_tag(tag).get("value", ""), tag)


def _of_choices(form: str) -> set[str]:
    """The choices of a form that is posted, such as the sizes of an article, and which of them cannot be chosen.

    Forms that search, filter and sort are not posted as a rule, and their lists may change without the page.
    """
    if "<option" not in form or not _IS_POSTED(form):
        return set()
    return {_label(found[2], found[1]) for found in islice(_OPTION.finditer(form), MAX_OPTIONS)}


def _label(html: str, attributes: str) -> str:
    text = " ".join(unescape(_TAG.sub(" ", html)).split())
    label = text if is_price(text) else _NUMBER.sub("#", text)
    return f"{label} (disabled)" if _IS_DISABLED(attributes) else label


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
                attributes = attributes_of_tag(html[start : end + 1])
                named = _NAME(attributes.get("itemprop") or attributes.get("property") or "")
                if named:
                    yield _fact(named[1], attributes.get("content") or attributes.get("href") or "")


def _fact(name: str, value: str) -> str:
    """A property with its value, of an address the last part: ``InStock`` has several."""
    return f"{name} {value.rstrip('/').rpartition('/')[2]}"
