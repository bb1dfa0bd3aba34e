"""What a page says about itself beside its text: its identity, and its canonical URL.

The identity tells it from a page with the same text, such as an article number or a date. The canonical URL is often a
wrong one, so it is verified like any guess.
"""

from __future__ import annotations

import json
import re
from collections import deque
from functools import lru_cache
from html import unescape
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urljoin

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.html import HtmlElement

IS_PROPERTY = re.compile(r"[A-Za-z][A-Za-z0-9_]*").fullmatch
"""Whether a place is the name of a property of JSON-LD. Any other place is a CSS selector."""

_WRAPPER = re.compile(r"\A(?:\s|/\*|\*/|//|<!--|<!\[CDATA\[)+")
"""What templates put before JSON-LD: white space, the beginning of a comment or of CDATA."""
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)
"""Takes control characters in texts, and leaves numbers as they are written, however long."""

_VALUE_KEYS = ("@value", "@id", "name")
"""Keys of an object of JSON-LD under which it says what it is, the first that is there."""

MAX_HEAD = 65_536
"""Characters of a page in which its canonical URL is looked for."""

_LINK = re.compile(r"<link\b[^<>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""(?<![\w-])([a-z]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""", re.IGNORECASE)
"""An attribute with its whole name: ``data-href`` is not ``href``, and a name tried from each of its letters takes
quadratic time."""


def find_identity(root: HtmlElement, places: Sequence[str]) -> str:
    """The values that a page has in some places, together; empty if it has none of them. Never raises.

    Args:
        root: The ``<html>`` element of the page.
        places: Names of properties of JSON-LD, such as ``sku``, and CSS selectors, such as ``.date::attr(datetime)``.
    """
    properties = _find_properties(root, {place for place in places if IS_PROPERTY(place)})
    found = [properties.get(place, "") if IS_PROPERTY(place) else _select(root, place) for place in places]
    return "\0".join(found) if any(found) else ""


def _select(root: HtmlElement, css: str) -> str:
    """The first text that is not blank of those that a CSS selector finds."""
    try:
        matches = _xpath(css)(root)
    except etree.XPathError:  # what the page makes of the selector is no reason to lose the page
        return ""
    for match in cast("Iterable[Any]", matches):
        text = _one_line(match if isinstance(match, str) else "".join(match.itertext()))
        if text:
            return text
    return ""


@lru_cache(64)
def _xpath(css: str) -> etree.XPath:
    from parsel.csstranslator import HTMLTranslator  # noqa: PLC0415 - few ask for it

    return etree.XPath(HTMLTranslator().css_to_xpath(css), smart_strings=False)


def _find_properties(root: HtmlElement, names: set[str]) -> dict[str, str]:
    """The values of some properties in the page's JSON-LD: of the outermost object that has one, the first of these.

    Takes linear time: each object is looked at once, level by level, without recursion.
    """
    found: dict[str, str] = {}
    if not names:
        return found
    scripts = (script for script in root.iter("script") if "ld+json" in script.get("type", "").lower())
    queue = deque(filter(None, (_load(script.text or "") for script in scripts)))
    while queue and len(found) < len(names):
        value = queue.popleft()
        if isinstance(value, list):
            queue.extend(value)
        elif isinstance(value, dict):
            for name in names & value.keys():
                text = _text(value[name])
                if text:
                    found.setdefault(name, text)
            queue.extend(value.values())
    return found


def _load(text: str) -> Any:
    """The value of a text of JSON, numbers as they are written; None for what is none, or is nested too deep."""
    try:
        return _DECODER.raw_decode(_WRAPPER.sub("", text))[0]  # whatever is behind it
    except (ValueError, RecursionError):
        return None


def _text(value: Any) -> str:
    """The text of a property: of several values the first; of an object what it is called."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = next((value[key] for key in _VALUE_KEYS if key in value), None)
    return "" if value is None or isinstance(value, (list, dict)) else _one_line(str(value))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def declared_canonical_url(html: str, url: str) -> str | None:
    """The URL of a page's ``rel=canonical``, else of its ``hreflang=x-default``; None where it declares neither.

    The HTML is searched and not a parsed page, because workers and known bytes spare the parsing.

    Args:
        html: The decoded page.
        url: The page's own URL, against which a relative one is resolved.

    >>> declared_canonical_url('<link href="/a?b=1&amp;c=2" rel=canonical>', "https://site.example/a?c=2&b=1&sid=7")
    'https://site.example/a?b=1&c=2'
    """
    default = None
    for tag in _LINK.findall(html[:MAX_HEAD]):
        attributes = {name.lower(): unescape(one or two or three) for name, one, two, three in _ATTRIBUTE.findall(tag)}
        relations = attributes.get("rel", "").lower().split()
        if "canonical" in relations:
            return _absolute_url(url, attributes.get("href", ""))
        if "alternate" in relations and attributes.get("hreflang", "").lower() == "x-default":
            default = default or _absolute_url(url, attributes.get("href", ""))
    return default


def _absolute_url(url: str, href: str) -> str | None:
    try:
        return urljoin(url, href.strip()) if href.strip() else None
    except ValueError:
        return None
