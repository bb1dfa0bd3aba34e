"""Shells: pages that scripts build, whose text stands in ``<noscript>``, in JSON, or in the state of an application.

1. As a rule a ``<noscript>`` holds a tracking pixel, an image that is loaded late, or the plea to enable JavaScript,
   which is the same on all pages of a site. But forums that scripts build show search engines their text there. It is
   read only where it holds more text than all of the page besides, and looks like a page: it has a main part or an
   article, or is far longer than a plea.
2. What a page says that is a shell around data stands in the texts of its data. Keys, numbers, tokens, addresses and
   times do not say it: they differ each time that the same page is fetched. So a text is a string of three words or
   more, without a time of day. A page that shows enough text, or far more than its data has, speaks for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import pairwise

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simdedup.page.parse import outermost

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
_UNICODE_ESCAPE = re.compile(r"\\{1,4}u([0-9a-fA-F]{4})")
_OTHER_ESCAPE = re.compile(r"\\+[nrtbf]?")
_TAG = re.compile(r"<[^<>]*>")
_TIME_OF_DAY = re.compile(r"\d:\d\d")
_WORD = re.compile(r"[^\W\d_]{2}")
_DIGIT = re.compile(r"\d")
_UNSPACED_TEXT = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{6}")
"""A text in a script that writes no or few spaces."""
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
        code = _OTHER_ESCAPE.sub(lambda found: " " if found[0][-1] != "\\" else "", code)
    parts = code.split('"' if '"' in code else "'")
    for part, following in pairwise((*parts, "")):
        if (" " not in part and part.isascii()) or following.lstrip().startswith(":"):
            continue
        words = [word for word in _TAG.sub(" ", unescape(part)).split() if not _is_token(word)]
        text = " ".join(words)
        count = sum(_WORD.search(word) is not None for word in words)
        if count < MIN_WORDS and not _UNSPACED_TEXT.search(text):
            continue
        if len(words) > MAX_TIMED_WORDS or not _TIME_OF_DAY.search(text):
            yield text


def _is_token(word: str) -> bool:
    """Whether a word is an address, or a name that a machine made."""
    return "://" in word or (len(word) > MAX_TOKEN_LENGTH and _DIGIT.search(word) is not None)


def open_noscripts(root: HtmlElement, texts: Sequence[str]) -> bool:
    """Make each ``<noscript>`` that is the page an element whose text is read; whether there is one.

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
    parts = []
    depth = 0
    for event, found in etree.iterwalk(element, events=("start", "end")):
        is_code = found.tag in _CODE
        if event == "start":
            depth += is_code
            text = found.text
        else:
            depth -= is_code
            text = found.tail if found is not element else None
        if text and not depth:
            parts.append(text)
    return "".join("".join(parts).split())
